// Depth two and three by sums over cells against enumeration: every number of labels, every minimum, threads and stops.
#include "shallow/any_labels/cell_form.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

// The closed form by itself, on all rows of a table.
struct Form {
    Run run;
    RowSet set;
    Local local;
    Stumps stumps;
    CellForm form;
    Outcome outcome;

    Form(const Table& table, const Options& options, std::size_t table_bytes = std::size_t{1} << 30)
        : run(table, options),
          set(all_rows(run.instance)),
          local(run.instance, set),
          stumps(run.instance, run.settings, run.control),
          form(run.instance, run.settings, stumps, run.control, table_bytes) {
        stumps.put_leaf(set, outcome);
        outcome.lower = run.settings.penalty;
    }

    double value() const {
        return run.instance.to_lower(outcome.value[0] -
                                     judge(run.instance, outcome.tree[0]).leaves * run.settings.penalty) +
               judge(run.instance, outcome.tree[0]).leaves * run.regularization;
    }
};

Constraints draw_minima(Random& random, const Table& table) {
    Constraints constraints;
    constraints.max_depth = 3;
    if (chance(random, 0.3)) {
        constraints.min_samples_leaf = pick(random, 2, 4);
    }
    if (chance(random, 0.3)) {
        constraints.min_weight_leaf = uniform(random, 0.0, 0.3) * table.normaliser();
    }
    if (table.n_arms > 0) {
        constraints.min_samples_arm = pick(random, 0, 2);
    }
    return constraints;
}

}  // namespace

TEST(cells_find_the_optimum) {
    Random random(61);
    int n_minima = 0;
    for (int n = 0; n < 160; ++n) {
        const Table table = n % 4 == 0 ? draw_mixed(random, pick(random, 10, 40), 5, 2 + n % 3, all_weights[n % 5])
                                       : draw_small(random, 16, n % 3 == 1 ? 2 : 0);
        Options options;
        options.regularization = some_penalties[pick(random, 0, 4)];
        options.constraints = draw_minima(random, table);
        const int depth = options.constraints.max_depth = n % 3 == 2 ? 2 : 3;
        options.switches = (n % 2 == 0 ? 0U : 0U + no_simd) | (n % 3 == 0 ? 0U : 0U + no_cost_model);
        n_minima += options.constraints.has_leaf_minimum() ? 1 : 0;
        describe(text_of(table, options));
        Enumerator enumerator(table, minima_of(options.constraints));
        const double optimum = optimum_of(table, enumerator, options);
        Form one(table, options);
        if (one.outcome.value[0] == unreachable || one.local.n_tests == 0) {
            continue;
        }
        int n_reports = 0;
        Amount last = one.outcome.value[0];
        one.form.solve(
            one.set, one.local, depth, 1,
            [&](const Outcome& so_far) {
                ++n_reports;
                CHECK(so_far.best() < last);
                last = so_far.best();
            },
            one.outcome);
        const Judged judged = judge(one.run.instance, one.outcome.tree[0]);
        CHECK(judged.cost + judged.leaves * one.run.settings.penalty == one.outcome.value[0]);
        CHECK(keeps_limits(one.run.instance, one.run.settings, one.outcome.tree[0], one.set));
        CHECK(one.outcome.lower == one.outcome.value[0]);
        CHECK(last == one.outcome.value[0]);
        CHECK(std::abs(one.value() - optimum) <= 1e-9);
        Form three(table, options);
        three.form.solve(three.set, three.local, depth, 3, {}, three.outcome);
        CHECK(three.outcome.value[0] == one.outcome.value[0]);
        CHECK(three.outcome.lower == one.outcome.lower);
    }
    CHECK(n_minima > 40);
}

// A stop leaves a true bound and a tree that is what it is said to be.
TEST(cells_heed_a_stop) {
    Random random(62);
    int n_unfinished = 0;
    for (int n = 0; n < 20; ++n) {
        const Table table = n % 2 == 0 ? draw_mixed(random, 60, 6, 3, Weights::lognormal) : draw_small(random, 16);
        Options options;
        options.regularization = 0.01;
        const int depth = options.constraints.max_depth = n % 3 == 2 ? 2 : 3;
        options.switches = n % 4 < 2 ? 0U : 0U + no_cost_model;
        Form whole(table, options);
        if (whole.local.n_tests == 0) {
            continue;
        }
        whole.form.solve(whole.set, whole.local, depth, 1, {}, whole.outcome);
        for (int n_asked = 0; n_asked < 110; ++n_asked) {
            options.n_asked = n_asked;
            Form stopped(table, options);
            stopped.form.solve(stopped.set, stopped.local, depth, 1 + n_asked / 100, {}, stopped.outcome);
            const Judged judged = judge(stopped.run.instance, stopped.outcome.tree[0]);
            CHECK(judged.cost + judged.leaves * stopped.run.settings.penalty == stopped.outcome.value[0]);
            CHECK(stopped.outcome.lower <= whole.outcome.value[0]);
            CHECK(stopped.outcome.value[0] >= whole.outcome.value[0]);
            n_unfinished += stopped.outcome.lower < stopped.outcome.value[0] ? 1 : 0;
        }
    }
    CHECK(n_unfinished > 200);
}

TEST(cells_fit_into_what_is_left) {
    Random random(63);
    const Table table = draw_mixed(random, 100, 8, 2, Weights::unit);
    CHECK(!Form(table, {}, 0).form.fits(Form(table, {}).local, 3, 1));
    const Form roomy(table, {}, std::size_t{64} << 20);
    CHECK(roomy.form.fits(roomy.local, 3, 1));
    CHECK(!roomy.form.fits(roomy.local, 3, 100));
}

// The search takes it where rows are many and codes are few, at any node, and nowhere else.
TEST(cells_in_a_search) {
    Random random(64);
    for (const int n_labels : {2, 3}) {
        for (const std::uint32_t off : {0U, 0U + no_cells, 0U + no_simd}) {
            Table table = draw_mixed(random, 120, 6, n_labels, Weights::lognormal);
            Enumerator enumerator(table);
            Options options;
            options.constraints.max_depth = 3;
            options.switches = off | no_cost_model | no_row_dropping;
            check_optimal(table, enumerator, options);
            const Finished run(table, options);
            CHECK(off == no_cells || run.instance.n_rows % 2 == 1 || run.search->statistics().cells > 0);
            CHECK(off != no_cells || run.search->statistics().cells == 0);
        }
    }
    Recipe recipe;
    recipe.n_rows = 60000;
    recipe.n_labels = 2;
    recipe.weights = Weights::lognormal;
    recipe.sizes = {9, 9, 9, 9, 9, 9, 9, 9};
    recipe.categorical.assign(8, 0);
    const Table many = make_table(random, recipe);
    for (const int depth : {2, 3}) {
        Options options;
        options.regularization = 0.001;
        options.constraints.max_depth = depth;
        const Finished by_cells(many, options);
        CHECK(by_cells.search->statistics().cells == 1);
        options.switches = no_cells;
        const Finished otherwise(many, options);
        CHECK(otherwise.search->statistics().cells == 0);
        CHECK(by_cells.result.lower == otherwise.result.lower);
        CHECK(by_cells.result.cost == otherwise.result.cost);
    }
}

}  // namespace certree::test
