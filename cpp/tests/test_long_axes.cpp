// Axes of many codes, which are numbered by bits and summed by groups: against sorts of the rows.
#include <algorithm>
#include <numeric>

#include "shallow/groups.hpp"
#include "shallow/two_labels/two_labels.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

TEST(best_stumps_of_long_axes) {
    // Axes with more codes than cells stay near for, and with few rows per code, beside a sort of the rows; of all rows
    // and of some of them, which are numbered anew by bits.
    Random random(43);
    for (int n = 0; n < 12; ++n) {
        Recipe recipe;
        recipe.n_rows = 40'000;
        recipe.n_labels = n % 2 == 0 ? 2 : 3;
        recipe.weights = all_weights[n % 4];
        recipe.is_classification = true;
        recipe.sizes = {30'000, 20'000, 5};
        recipe.categorical = {0, 0, 0};
        const Table table = make_table(random, recipe);
        Options options;
        options.regularization = 1e-6;
        options.constraints.min_samples_leaf = n % 3 == 0 ? 300 : 1;
        options.switches = n % 4 == 3 ? 0U + no_cost_model : 0U;
        const Run run(table, options);
        const RowSet all = all_rows(run.instance);
        const Local whole(run.instance, all);
        const LocalAxis& shortest =
            *std::min_element(whole.axes.begin(), whole.axes.end(),
                              [](const LocalAxis& x, const LocalAxis& y) { return x.n_codes < y.n_codes; });
        const Split split = split_rows(run.instance, all, shortest, 0);
        const Stumps stumps(run.instance, run.settings, run.control);
        for (const RowSet* set : {&all, &split.left, &split.right}) {
            const Local local(run.instance, *set);
            // Codes of a part are numbered as a sort numbers them, or the other way round.
            Outcome expected(2);
            stumps.put_leaf(*set, expected);
            for (const LocalAxis& axis : local.axes) {
                const Axis& own = run.instance.axes[static_cast<std::size_t>(axis.axis)];
                std::vector<std::int32_t> present;
                for (const std::int32_t row : set->rows) {
                    present.push_back(own.codes[static_cast<std::size_t>(row)]);
                }
                std::vector<std::int32_t> codes = present;
                std::sort(codes.begin(), codes.end());
                codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
                CHECK(axis.n_codes == static_cast<std::int32_t>(codes.size()));
                for (std::size_t i = 0; i < present.size(); ++i) {
                    const auto rank = static_cast<std::int32_t>(
                        std::lower_bound(codes.begin(), codes.end(), present[i]) - codes.begin());
                    CHECK(axis.codes[i] == (axis.is_reversed ? axis.n_codes - 1 - rank : rank));
                }
                // Sides grow by the rows of one code after the other.
                std::vector<std::size_t> by_code(present.size());
                std::iota(by_code.begin(), by_code.end(), std::size_t{0});
                std::stable_sort(by_code.begin(), by_code.end(),
                                 [&](std::size_t x, std::size_t y) { return present[x] < present[y]; });
                std::vector<Amount> left(stumps.sums_width(), 0);
                std::vector<Amount> right(stumps.sums_width(), 0);
                for (const std::int32_t row : set->rows) {
                    stumps.add_sums(row, right.data());
                }
                LocalAxis cut = axis;
                cut.is_reversed = false;
                for (std::size_t k = 0; k + 1 < by_code.size(); ++k) {
                    std::vector<Amount> moved(stumps.sums_width(), 0);
                    stumps.add_sums(set->rows[by_code[k]], moved.data());
                    for (std::size_t c = 0; c < moved.size(); ++c) {
                        left[c] += moved[c];
                        right[c] -= moved[c];
                    }
                    if (present[by_code[k]] != present[by_code[k + 1]]) {
                        stumps.put_stump_of(cut, 0, left.data(), right.data(), expected);
                    }
                }
            }
            Outcome found(2);
            stumps.put_leaf(*set, found);
            stumps.solve(*set, local, found);
            CHECK(found.value == expected.value);
            if (recipe.n_labels == 2 && options.constraints.min_samples_leaf == 1) {
                const TwoLabels two(run.instance, run.settings, run.control, std::size_t{1} << 30);
                CHECK(two.solve(*set, local, 1, unreachable).value == expected.value[1]);
            }
            const std::vector<RootTest> purest = stumps.purest_by_axis(*set);
            CHECK(purest.size() == local.axes.size());
            for (const RootTest& test : purest) {
                const Split sides = split_rows(run.instance, *set, test.axis, test.code);
                for (const RowSet& side : {sides.left, sides.right}) {
                    Amount counted = 0;
                    for (const std::int32_t row : side.rows) {
                        counted += run.instance.count.empty() ? 1 : run.instance.count[static_cast<std::size_t>(row)];
                    }
                    CHECK(counted >= options.constraints.min_samples_leaf);
                }
            }
        }
    }
}

TEST(stumps_of_many_labels_in_windows_of_codes) {
    // Of 80 labels not all codes have sums at a time; the test that parts the two labels there are lies behind the
    // first window of codes.
    Table table;
    table.n_rows = 10'000;
    table.n_labels = 80;
    table.sizes = {table.n_rows};
    table.categorical = {0};
    constexpr int cut = 7'999;
    for (int row = 0; row < table.n_rows; ++row) {
        table.codes.push_back(row);
        table.labels.push_back(row <= cut ? 0 : 79);
    }
    table.weights.assign(static_cast<std::size_t>(table.n_rows), 1.0);
    Options options;
    options.switches = 0U + no_test_merging;
    const Run run(table, options);
    const RowSet all = all_rows(run.instance);
    CHECK(run.instance.axes[0].n_codes == table.n_rows);
    const Stumps stumps(run.instance, run.settings, run.control);
    Outcome found(2);
    stumps.put_leaf(all, found);
    stumps.solve(all, Local(run.instance, all), found);
    CHECK(found.value[1] == 2 * run.settings.penalty);
    CHECK(found.tree[1]->axis == 0 && found.tree[1]->code == cut);
    CHECK(stumps.purest(all).code == cut);
}

TEST(purest_tests_inside_one_group) {
    // Most rows have one of a few neighbouring codes: no end of a group leaves enough rows on both sides, and the
    // purest test lies inside one group.
    Table table;
    table.n_rows = 60'000;
    constexpr int n_codes = 20'000;
    constexpr int first = 32;
    constexpr int n_frequent = 16;
    constexpr int cut = 39;
    table.sizes = {n_codes, 2'501};
    table.categorical = {0, 0};
    std::vector<std::int32_t> second;
    for (int row = 0; row < table.n_rows; ++row) {
        const int code = row < n_codes ? row : first + row % n_frequent;
        table.codes.push_back(code);
        second.push_back(row < n_codes ? 0 : 1 + (row - n_codes) / n_frequent);
        table.labels.push_back(code <= cut ? 0 : 1);
    }
    table.codes.insert(table.codes.end(), second.begin(), second.end());
    table.weights.assign(static_cast<std::size_t>(table.n_rows), 1.0);
    const auto find_purest = [](const Run& run, const RowSet& set) {
        return Stumps(run.instance, run.settings, run.control).purest(set);
    };
    Options options;
    const Run any(table, options);
    const Axis& axis = any.instance.axes[0];
    const RowSet all = all_rows(any.instance);
    const RowSet head = split_rows(any.instance, all, 0, first + n_frequent - 1).left;
    const RowSet frequent = split_rows(any.instance, head, 0, first - 1).right;
    CHECK(axis.n_codes == n_codes && frequent.rows.size() > 2 * n_codes);
    const RootTest inside = find_purest(any, frequent);
    CHECK(inside.axis == 0 && inside.code == cut);
    options.constraints.min_samples_leaf = 19'000;
    const Run limited(table, options);
    const RootTest allowed = find_purest(limited, all);
    CHECK(allowed.axis == 0 && allowed.code == cut);
}

TEST(stumps_of_long_axes_that_are_stopped) {
    // Wherever it is stopped, the bound is true and the value is that of a tree.
    Random random(45);
    for (int n = 0; n < 20; ++n) {
        Recipe recipe;
        recipe.n_rows = 60;
        recipe.sizes = {40, 30, 3};
        recipe.categorical = {0, 0, 0};
        recipe.weights = all_weights[n % 4];
        recipe.signal = 0.1;
        Options options;
        options.regularization = 0.0;
        options.switches = 0U + no_cost_model;
        const Table table = make_table(random, recipe);
        const Run run(table, options);
        const RowSet all = all_rows(run.instance);
        const Local local(run.instance, all);
        const auto solve = [&](const Control& control) {
            return TwoLabels(run.instance, run.settings, control, std::size_t{1} << 30)
                .solve(all, local, 1, unreachable);
        };
        const TwoLabels::Answer best = solve(run.control);
        CHECK(best.lower == best.value);
        // It asks before it passes over the rows: for the groups of the two long axes, and for the short axis.
        constexpr int n_passes = 3;
        int n_stopped = 0;
        for (int asked = 0; asked < 60; ++asked) {
            const Control control(Control::Asked{asked}, options.switches);
            const TwoLabels::Answer answer = solve(control);
            CHECK(answer.lower <= best.value && answer.value >= best.value);
            CHECK(asked > 0 || answer.axis < 0);
            CHECK(asked >= n_passes || answer.lower < best.value);
            n_stopped += answer.lower < best.value ? 1 : 0;
            if (answer.axis >= 0) {
                const Judged judged = judge(run.instance, TwoLabels(run.instance, run.settings, run.control, 0)
                                                              .extract_below(all, {1, answer.axis, answer.code}));
                CHECK(judged.cost + times(judged.leaves, run.settings.penalty) == answer.value);
            }
        }
        CHECK(n_stopped > 0);
    }
}

TEST(groups_of_long_axes) {
    // Every code in the group whose codes it stands among, and about as much mass in each.
    Random random(44);
    for (const std::int32_t n_codes : {300, 16'384, 16'385, 50'000, 300'000}) {
        std::vector<std::int32_t> codes(400'000);
        std::generate(codes.begin(), codes.end(), [&] { return pick(random, 0, n_codes - 1); });
        LocalAxis axis;
        axis.n_codes = n_codes;
        axis.n_tests = n_codes - 1;
        axis.codes = codes.data();
        constexpr std::int32_t most = 100;
        const Groups groups(axis, codes.size(), most, [](std::size_t) { return 1.0F; });
        CHECK(groups.size() > most / 2 && groups.size() <= most);
        CHECK(groups.end.back() == n_codes - 1);
        std::vector<std::size_t> mass(groups.end.size(), 0);
        for (const std::int32_t code : codes) {
            const auto g = static_cast<std::size_t>(groups.of(code));
            CHECK(code <= groups.end[g] && (g == 0 || code > groups.end[g - 1]));
            ++mass[g];
        }
        CHECK(*std::max_element(mass.begin(), mass.end()) < 3 * codes.size() / most);
    }
}

}  // namespace certree::test
