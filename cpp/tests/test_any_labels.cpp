// Depth two of any number of labels against enumeration: by the search, and by itself with budgets, limits and stops.
#include <array>
#include <numeric>

#include "shallow/any_labels/standing_sides.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

TEST(any_labels_of_every_width) {
    // More labels than a vector holds, than four hold; four groups per axis without the cost model.
    Random random(36);
    for (int n = 0; n < 24; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 90);
        recipe.n_labels = std::array{3, 4, 8, 9, 20, 35}[static_cast<std::size_t>(n % 6)];
        recipe.weights = n % 5 == 4 ? Weights::close : all_weights[n % 5];
        recipe.is_classification = n % 3 == 0;
        recipe.signal = uniform(random, 0.3, 1.0);
        recipe.sizes = {pick(random, 20, 40), pick(random, 5, 20), pick(random, 2, 6)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        for (const std::uint32_t off : {0U, 0U + no_fine_grid, 0U + no_simd, 0U + no_interval, 0U + no_coarse}) {
            Options options;
            options.regularization = some_penalties[pick(random, 0, 3)];
            options.constraints.max_depth = 2;
            options.switches = off | (n % 4 == 3 ? 0U : no_cost_model);
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(any_labels_as_many_codes_as_rows) {
    // Below the root, categories have a last code without rows: as many codes as rows, yet two rows share one.
    Table table;
    table.n_rows = 8;
    table.n_labels = 4;
    table.is_classification = false;
    table.sizes = {5, 2, 4};
    table.categorical = {1, 0, 1};
    table.codes = {4, 1, 3, 0, 2, 1, 0, 3, 0, 0, 0, 0, 1, 1, 1, 0, 2, 3, 1, 1, 0, 2, 0, 0};
    table.weights.assign(8, 1.0);
    table.costs = {1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0};
    Options options;
    options.regularization = 0.0;
    options.constraints.max_depth = 3;
    options.normaliser = 1;
    Enumerator enumerator(table);
    check_optimal(table, enumerator, options);
}

TEST(any_labels_cut_inside_groups_in_doubt) {
    // One axis and a coarse grid: the best cut lies inside a group, the cuts between groups are far worse, and only
    // exact costs tell which root test is the best.
    Random random(39);
    for (int n = 0; n < 300; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 40);
        recipe.n_labels = 3;
        recipe.weights = Weights::lognormal;
        recipe.is_classification = false;
        recipe.sizes = {pick(random, 10, 20)};
        recipe.categorical = {0};
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        Options options;
        options.constraints.max_depth = 2;
        options.switches = no_fine_grid | no_cost_model;
        check_optimal(table, enumerator, options);
    }
}

TEST(any_labels_sides_without_a_split) {
    // Leaves and stumps of both sides of root tests in any order, summed over the whole set, beside those of the split
    // sides: they walk from one to the next, or stand anew where another axis or other codes are asked about.
    Random random(42);
    for (int n = 0; n < 60; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 10, 60);
        recipe.n_labels = std::array{2, 3, 9}[static_cast<std::size_t>(n % 3)];
        recipe.weights = all_weights[n % 4];
        recipe.is_classification = n % 2 == 0;
        recipe.n_arms = pick(random, 0, 2);
        recipe.sizes = {pick(random, 4, 30), pick(random, 2, 9), pick(random, 2, 6)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Options options;
        options.regularization = some_penalties[pick(random, 0, 2)];
        options.constraints.min_samples_leaf = chance(random, 0.5) ? pick(random, 2, 6) : 1;
        options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, 2) : 0;
        options.switches = n % 4 < 2 ? 0U + no_cost_model : 0U;  // two tests at a time, or all
        describe(text_of(table, options));
        const Run run(table, options);
        const RowSet root = all_rows(run.instance);
        const Local local(run.instance, root);
        const Stumps stumps(run.instance, run.settings, run.control);
        for (const LocalAxis& axis : local.axes) {
            const Order order(axis, local.n_rows, nullptr);
            StandingSides standing(stumps, root, axis, order, run.control, n % 5 == 0 ? 40 : 1'000'000);
            const auto pick_cuts = [&] {
                const LocalAxis& cut =
                    local.axes[static_cast<std::size_t>(pick(random, 0, static_cast<int>(local.axes.size()) - 1))];
                const std::int32_t first = pick(random, 0, cut.n_tests - 1);
                return SideCuts{&cut, first, pick(random, first, cut.n_tests - 1)};
            };
            SideCuts cuts[2] = {pick_cuts(), pick_cuts()};
            for (int look = 0; look < 3 * axis.n_tests; ++look) {
                const std::int32_t test = pick(random, 0, axis.n_tests - 1);
                for (SideCuts& own : cuts) {
                    if (chance(random, 0.2)) {
                        own = chance(random, 0.2) ? SideCuts{} : pick_cuts();
                    }
                }
                const Split split = split_rows(run.instance, root, axis, test);
                Outcome found[2] = {Outcome(2), Outcome(2)};
                standing.put(test, cuts, found);
                for (int side = 0; side < 2; ++side) {
                    const RowSet& rows = side == 0 ? split.left : split.right;
                    Outcome expected(2);
                    stumps.put_leaf(rows, expected);
                    for (std::int32_t t = cuts[side].first; t <= cuts[side].last; ++t) {
                        const LocalAxis& cut = *cuts[side].axis;
                        stumps.put_stump(rows, cut.axis, cut.code_of(t), expected);
                    }
                    CHECK(found[side].value == expected.value);
                    CHECK((found[side].tree[1] == nullptr) == (expected.tree[1] == nullptr));
                    if (expected.tree[1] != nullptr && !expected.tree[1]->is_leaf()) {
                        CHECK(found[side].tree[1]->axis == expected.tree[1]->axis);
                        CHECK(found[side].tree[1]->code == expected.tree[1]->code);
                        CHECK(found[side].tree[1]->left->label == expected.tree[1]->left->label);
                        CHECK(found[side].tree[1]->right->label == expected.tree[1]->right->label);
                    }
                }
            }
        }
    }
}

TEST(any_labels_under_limits) {
    // Minima that cut off the ends of axes, in the middle of groups and between them, and limits of leaves.
    Random random(38);
    for (int n = 0; n < 60; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 70);
        recipe.n_labels = std::array{2, 3, 5, 9}[static_cast<std::size_t>(n % 4)];
        recipe.weights = n % 5 == 4 ? Weights::close : all_weights[n % 5];
        recipe.is_classification = n % 3 == 0;
        recipe.signal = uniform(random, 0.2, 1.0);
        recipe.n_arms = n % 7 == 0 ? 10 : pick(random, 0, 2);
        recipe.sizes = {pick(random, 12, 30), pick(random, 5, 15), pick(random, 2, 6)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.min_samples_leaf = chance(random, 0.6) ? pick(random, 2, 12) : 1;
        options.constraints.min_weight_leaf =
            chance(random, 0.4) ? uniform(random, 0.0, 0.25) * table.normaliser() : 0.0;
        options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, table.n_arms == 10 ? 1 : 4) : 0;
        Enumerator enumerator(table, minima_of(options.constraints));
        for (const std::uint32_t off : {0U, 0U + no_fine_grid, 0U + no_simd, 0U + no_interval, 0U + no_coarse,
                                        0U + no_relaxation, no_relaxation | no_deepening}) {
            options.regularization = some_penalties[pick(random, 0, 3)];
            options.constraints.max_depth = chance(random, 0.8) ? 2 : 3;
            options.constraints.max_leaves = chance(random, 0.4) ? pick(random, 2, 6) : 0;
            options.switches = off | (n % 4 == 3 ? 0U : no_cost_model);
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(any_labels_minima_of_weights) {
    // What rows weigh in 32 bits beside what they weigh: no set misses a minimum that it meets; where nothing was
    // rounded, as where weights are whole numbers, none meets one that it misses. Many minima lie between two units.
    Random random(48);
    int n_rounded = 0;
    for (int n = 0; n < 300; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 1, 40);
        recipe.n_labels = 3;
        recipe.is_classification = n % 2 == 0;
        recipe.weights = n % 6 == 5 ? Weights::close : all_weights[n % 6];
        recipe.sizes = {40, 3};
        recipe.categorical = {0, 0};
        Table table = make_table(random, recipe);
        const bool is_whole = recipe.weights == Weights::unit || recipe.weights == Weights::whole;
        for (double& weight : table.weights) {
            weight *= is_whole ? 4.0 : 1.0;
        }
        Options options;
        options.constraints.min_weight_leaf =
            chance(random, 0.5) ? pick(random, 1, 40) : uniform(random, 0.0, 0.5) * table.normaliser();
        const Run run(table, options);
        const RowSet root = all_rows(run.instance);
        for (const bool is_fine : {true, false}) {
            const Tallies tallies(run.instance, run.settings, root, is_fine);
            CHECK(tallies.is_exact || !is_whole);
            n_rounded += tallies.is_exact ? 0 : 1;
            for (int look = 0; look < 40; ++look) {
                std::vector<std::int32_t> sums(tallies.width, 0);
                Amount weight = 0;
                for (std::size_t i = 0; i < root.rows.size(); ++i) {
                    if (chance(random, 0.3)) {
                        weight += run.instance.weight[static_cast<std::size_t>(root.rows[i])];
                        std::transform(sums.begin(), sums.end(), tallies.row(i), sums.begin(), std::plus<>());
                    }
                }
                // A minimum of weight comes with one of a row.
                const bool is_enough = weight >= run.settings.min_weight_leaf && sums[0] >= 1;
                const bool seems_enough = tallies.are_enough(sums);
                CHECK(tallies.is_exact ? seems_enough == is_enough : seems_enough || !is_enough);
            }
        }
    }
    CHECK(n_rounded > 0);
}

TEST(any_labels_under_minima_of_whole_weights) {
    // Weights are not rounded where costs are: what is found within minima is allowed, and only cuts that may be better
    // are in doubt. Minima lie on the units and between them.
    Random random(49);
    for (int n = 0; n < 120; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 60);
        recipe.n_labels = std::array{2, 3, 5}[static_cast<std::size_t>(n % 3)];
        recipe.weights = n % 2 == 0 ? Weights::unit : Weights::whole;
        recipe.is_classification = n % 4 == 0;
        recipe.signal = uniform(random, 0.0, 1.0);
        recipe.sizes = {pick(random, 12, 30), pick(random, 5, 15), pick(random, 2, 6)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 2;
        const int most = static_cast<int>(std::accumulate(table.weights.begin(), table.weights.end(), 0.0)) / 4;
        options.constraints.min_weight_leaf = pick(random, 1, most) + 0.25 * pick(random, 0, 3);
        Enumerator enumerator(table, minima_of(options.constraints));
        for (const std::uint32_t off : {0U, 0U + no_fine_grid, 0U + no_interval, 0U + no_relaxation}) {
            options.regularization = some_penalties[pick(random, 0, 2)];
            options.constraints.max_leaves = chance(random, 0.3) ? pick(random, 2, 4) : 0;
            options.switches = off | (n % 4 == 3 ? 0U : no_cost_model);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(any_labels_just_below_a_minimum_of_rounded_weights) {
    // The lightest leaf of one optimum misses the next minimum by next to nothing: with weights on a coarse grid it
    // seems to meet it, and what is found within the minima may not be allowed.
    Random random(50);
    for (int n = 0; n < 150; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 60);
        recipe.n_labels = pick(random, 2, 4);
        recipe.weights = Weights::lognormal;
        recipe.is_classification = n % 2 == 0;
        recipe.signal = uniform(random, 0.3, 1.0);
        recipe.sizes = {pick(random, 12, 30), pick(random, 5, 15), 2};
        recipe.categorical = {0, 0, 0};
        const Table table = make_table(random, recipe);
        Options options;
        options.regularization = 1e-3;
        options.constraints.max_depth = 2;
        options.switches = 0U + no_fine_grid + no_relaxation + (n % 3 == 0 ? 0U : no_cost_model);
        for (int round = 0; round < 5; ++round) {
            Enumerator enumerator(table, minima_of(options.constraints));
            check_optimal(table, enumerator, options);
            const Finished run(table, options);
            Followed followed;
            follow(table, run.instance, options.constraints, *run.result.tree, table.all_rows(), 0, followed);
            options.constraints.min_weight_leaf = followed.lightest * (1.0 + 1e-6);
        }
    }
}

TEST(any_labels_in_little_memory) {
    // Over rows that are all distinct: costs by label, and by axis each row's group and place in the order, where each
    // code's rows begin in it, and the groups of blocks of codes.
    Random random(37);
    Recipe recipe;
    recipe.n_rows = 20000;
    recipe.n_labels = 3;
    recipe.is_classification = false;
    recipe.sizes = {20000, 20000, 20000};
    recipe.categorical = {0, 0, 0};
    Table table = make_table(random, recipe);
    for (std::size_t i = 0; i < table.codes.size(); ++i) {
        table.codes[i] = static_cast<std::int32_t>((i * 37 + i / 20000) % 20000);
    }
    Options options;
    options.constraints.max_depth = 2;
    const Run run(table, options);
    const RowSet root = all_rows(run.instance);
    const Local local(run.instance, root);
    const Stumps exact(run.instance, run.settings, run.control);
    std::size_t numbers = root.rows.size() * Kernels::lanes;
    for (const LocalAxis& axis : local.axes) {
        numbers += 2 * root.rows.size() + static_cast<std::size_t>(axis.n_codes + many_codes);
    }
    const std::size_t bytes = numbers * sizeof(std::int32_t);
    CHECK(!AnyLabels(run.instance, run.settings, exact, run.control, bytes).fits(local));
    CHECK(AnyLabels(run.instance, run.settings, exact, run.control, bytes * 5 / 4).fits(local));
    // With minima, what they count too.
    options.constraints.min_samples_leaf = 2;
    const Run limited(table, options);
    const RowSet rows = all_rows(limited.instance);
    const Stumps stumps(limited.instance, limited.settings, limited.control);
    const std::size_t more = bytes + rows.rows.size() * Kernels::lanes * sizeof(std::int32_t);
    CHECK(!AnyLabels(limited.instance, limited.settings, stumps, limited.control, more)
               .fits(Local(limited.instance, rows)));
}

TEST(any_labels_bounds_hold_beyond_the_budget) {
    // The closed form by itself, with budgets below and above the optimum: entries below the budget are optima, `lower`
    // holds of trees that keep the minima and `relaxed` of those that need not, also where both exceed the budget.
    Random random(39);
    int n_beyond = 0;
    for (int n = 0; n < 400; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 10, 60);
        recipe.n_labels = std::array{2, 3, 5, 9}[static_cast<std::size_t>(n % 4)];
        recipe.weights = n % 5 == 4 ? Weights::close : all_weights[n % 5];
        recipe.is_classification = n % 3 == 0;
        recipe.signal = uniform(random, 0.2, 1.0);
        recipe.n_arms = pick(random, 0, 2);
        recipe.sizes = {pick(random, 12, 60), pick(random, 5, 15), pick(random, 2, 6)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 2;
        options.constraints.min_samples_leaf = chance(random, 0.5) ? pick(random, 2, recipe.n_rows / 3) : 1;
        options.constraints.min_weight_leaf =
            chance(random, 0.3) ? uniform(random, 0.0, 0.3) * table.normaliser() : 0.0;
        options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, 3) : 0;
        Enumerator kept(table, minima_of(options.constraints));
        Enumerator lifted(table);
        for (int repeat = 0; repeat < 4; ++repeat) {
            options.regularization = some_penalties[pick(random, 0, 2)];
            options.constraints.max_leaves = chance(random, 0.4) ? pick(random, 3, 4) : 0;
            options.switches = no_cost_model | (chance(random, 0.3) ? 0U + no_fine_grid : 0U);
            describe(text_of(table, options));
            const Run run(table, options);
            const RowSet root = all_rows(run.instance);
            const Local local(run.instance, root);
            const Stumps exact(run.instance, run.settings, run.control);
            const AnyLabels form(run.instance, run.settings, exact, run.control, std::size_t{1} << 40);
            const int leaf_limit = options.constraints.max_leaves;
            Outcome outcome(static_cast<std::size_t>(std::max(1, leaf_limit)));
            exact.put_leaf(root, outcome);
            if (local.n_tests == 0 || outcome.best() == unreachable) {
                continue;
            }
            const auto budget = static_cast<Amount>(uniform(random, 0.2, 1.2) * static_cast<double>(outcome.best()));
            form.solve(root, local, budget, pick(random, 1, 2), outcome);
            const double total = table.normaliser();
            const double penalty = options.regularization * total;
            const double slack = tolerance(table, run) + run.instance.rounding(options.regularization, 4);
            const auto to_value = [&](Amount amount) { return run.instance.to_lower(amount); };
            for (std::size_t m = 0; m < outcome.value.size(); ++m) {
                const int leaves = leaf_limit == 0 ? 0 : static_cast<int>(m) + 1;
                const double optimum = kept.optimum(table.all_rows(), 2, penalty, leaves) / total;
                CHECK(to_value(outcome.value[m]) >= optimum - slack);
                CHECK(to_value(outcome.value[m]) <= optimum + slack || optimum >= to_value(budget) - slack);
            }
            const double best = kept.optimum(table.all_rows(), 2, penalty, leaf_limit) / total;
            const double best_lifted = lifted.optimum(table.all_rows(), 2, penalty, leaf_limit) / total;
            CHECK(outcome.lower >= std::min(budget, outcome.best()));
            CHECK(to_value(outcome.lower) <= best + slack);
            CHECK(to_value(outcome.relaxed) <= best_lifted + slack);
            n_beyond += outcome.relaxed > budget ? 1 : 0;
        }
    }
    CHECK(n_beyond > 0);
}

TEST(any_labels_stopped_keeps_its_bounds) {
    // Categories that were not looked at have no neighbours to bound them.
    Random random(41);
    Recipe recipe;
    recipe.n_rows = 60;
    recipe.n_labels = 3;
    recipe.sizes = {6, 5};
    recipe.categorical = {1, 1};
    const Table table = make_table(random, recipe);
    Options options;
    options.constraints.max_depth = 2;
    const Run run(table, options);
    const RowSet root = all_rows(run.instance);
    const Local local(run.instance, root);
    const Stumps exact(run.instance, run.settings, run.control);
    const AnyLabels form(run.instance, run.settings, exact, run.control, std::size_t{1} << 40);
    Outcome outcome;
    exact.put_leaf(root, outcome);
    run.control.interrupt();
    form.solve(root, local, unreachable, 1, outcome);
    CHECK(outcome.lower == 0);
    CHECK(outcome.relaxed == 0);
}

TEST(any_labels_rounded_on_short_axes) {
    // Weights alike in their first forty bits: which category or two-valued axis is cut below a root test is decided by
    // what 32 bits round away. Sums are whole numbers below 2^53, so enumeration is exact and so must the engine be.
    Random random(44);
    for (int n = 0; n < 150; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 8, 60);
        recipe.n_labels = pick(random, 3, 5);
        recipe.weights = Weights::close;
        recipe.signal = uniform(random, 0.0, 0.7);
        recipe.sizes = {2, 3, 4, 2, 2};
        recipe.categorical = {0, 0, 1, 0, 0};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 2;
        options.constraints.min_samples_leaf = n % 3 == 0 ? pick(random, 2, 4) : 1;
        options.normaliser = 1.0;
        Enumerator enumerator(table, minima_of(options.constraints));
        for (const std::uint32_t off : {0U, 0U + no_fine_grid}) {
            options.regularization = pick(random, 0, 1) * 0x1p38;
            options.switches = off;
            describe(text_of(table, options));
            const Finished run(table, options);
            CHECK(run.instance.cost_rounding == 0.0);
            CHECK(run.upper() == optimum_of(table, enumerator, options));
        }
    }
}

}  // namespace certree::test
