// The search against enumeration: the optimum is the same for every closed form, bound, cache, thread count and limit,
// and a search that is stopped, or that uses guesses, keeps what it promises.
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <thread>

#include "shallow/two_labels/gains.hpp"
#include "tests/test_runs.hpp"
#include "workers.hpp"

namespace certree::test {

TEST(search_small_tables) {
    Random random(20);
    for (int n = 0; n < 150; ++n) {
        const Table table = draw_small(random, 14);
        Enumerator enumerator(table);
        for (int repeat = 0; repeat < 6; ++repeat) {
            Options options;
            options.regularization = some_penalties[pick(random, 0, 5)];
            options.constraints.max_depth = pick(random, 0, 4);
            options.constraints.max_leaves = chance(random, 0.4) ? pick(random, 1, 6) : 0;
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(search_without_a_depth_limit) {
    Random random(21);
    for (int n = 0; n < 60; ++n) {
        const Table table = draw_small(random, 8);
        Enumerator enumerator(table);
        for (const double regularization : {1e-6, 0.01, 0.1}) {
            Options options;
            options.regularization = regularization;
            options.constraints.max_leaves = chance(random, 0.3) ? pick(random, 2, 5) : 0;
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(search_leaf_minima) {
    Random random(22);
    for (int n = 0; n < 200; ++n) {
        const Table table = draw_small(random, 16, pick(random, 0, 2));
        Options options;
        options.constraints.min_samples_leaf = chance(random, 0.6) ? pick(random, 1, 4) : 1;
        options.constraints.min_weight_leaf =
            chance(random, 0.5) ? uniform(random, 0.0, 0.3) * table.normaliser() : 0.0;
        options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, 2) : 0;
        Enumerator enumerator(table, minima_of(options.constraints));
        for (int repeat = 0; repeat < 5; ++repeat) {
            options.regularization = some_penalties[pick(random, 0, 4)];
            options.constraints.max_depth = pick(random, 0, 4);
            options.constraints.max_leaves = chance(random, 0.4) ? pick(random, 1, 6) : 0;
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(search_intervals_of_thresholds) {
    // Ordered axes and depths beyond the closed forms: what is left out here is left out by bounds between thresholds.
    Random random(34);
    for (int n = 0; n < 60; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 20, 40);
        recipe.n_labels = pick(random, 2, 3);
        recipe.weights = all_weights[n % 4];
        recipe.signal = uniform(random, 0.2, 0.8);
        recipe.sizes = {pick(random, 5, 10), pick(random, 4, 7), 2};
        recipe.categorical = {0, 0, 0};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 3;
        options.constraints.min_samples_leaf = n % 2 == 0 ? 1 : pick(random, 2, 6);
        // Minima lift what bounds hold of; without closed forms of depth two, the search itself meets them at every
        // depth.
        options.switches = no_triples | (n % 3 == 0 ? 0U : no_relaxation | no_coarse);
        Enumerator enumerator(table, minima_of(options.constraints));
        for (const double regularization : {0.0, 0.002, 0.02}) {
            options.regularization = regularization;
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(search_prices_leaves_beyond_64_bits) {
    // Three heavy rows that no single split helps, and hundreds of light ones with a label each: a tree grown by single
    // splits spends its leaves on the light ones. One leaf more would spare it a third of everything, so the price of a
    // leaf is of the size of the total, and that price times the limit of leaves does not fit in 64 bits.
    constexpr int n_light = 600;
    constexpr double heavy = 0x1p40;
    Random random(44);
    Table table;
    table.n_rows = n_light + 3;
    table.n_labels = n_light + 2;
    table.sizes = {2, 2, n_light + 1};
    table.categorical = {0, 0, 0};
    table.codes.assign(3 * static_cast<std::size_t>(table.n_rows), 0);
    const auto code = [&](int axis, int row) -> std::int32_t& {
        return table.codes[static_cast<std::size_t>(axis * table.n_rows + row)];
    };
    for (int i = 0; i < table.n_rows; ++i) {
        code(2, i) = std::min(i, n_light);
        table.labels.push_back(i < n_light ? i + 2 : 0);
        table.weights.push_back(i < n_light ? pick(random, 2, 1 << 12) : heavy);
    }
    std::shuffle(table.codes.begin() + 2 * table.n_rows, table.codes.begin() + 2 * table.n_rows + n_light, random);
    code(0, n_light + 1) = code(0, n_light + 2) = code(1, n_light + 2) = 1;
    table.labels[n_light + 1] = 1;
    table.weights[n_light + 1] += 1.0;
    Options options;
    options.regularization = 0.0;
    options.seconds = 0.3;
    double light = 0.0;  // what a tree of four leaves costs that tells the heavy rows from each other and from the rest
    for (int i = 0; i < n_light; ++i) {
        light += table.weights[static_cast<std::size_t>(i)] / table.normaliser();
    }
    for (const std::uint32_t off : {0U, 0U + no_greedy}) {
        for (const int max_leaves : {n_light + 1, n_light + 2}) {
            options.switches = off;
            options.constraints.max_leaves = max_leaves;
            describe(text_of(table, options));
            const Finished run(table, options);
            CHECK(run.lower() <= light);
            CHECK(run.result.status != Status::optimal || run.upper() <= light);
        }
    }
}

TEST(two_labels_depth_two_keeps_its_budget) {
    // Below the budget the optimum, else a bound that reaches it; by rounds, coarse tables, lines and
    // segment trees, in 16 bits, in 32 and rounded.
    Random random(44);
    for (int n = 0; n < 240; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 6, 40);
        recipe.n_labels = 2;
        recipe.weights = all_weights[n % 4];
        recipe.signal = uniform(random, 0.0, 0.9);
        recipe.sizes = {pick(random, 2, 24), pick(random, 2, 12), pick(random, 2, 4)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 3 == 0 ? 1 : 0)};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 2;
        options.regularization = some_penalties[pick(random, 0, 4)];
        Enumerator enumerator(table);
        const double optimum = optimum_of(table, enumerator, options);
        for (const std::uint32_t off : {0U + no_cost_model, no_cost_model | no_fine_grid, no_cost_model | no_coarse,
                                        no_cost_model | no_coarse | no_fine_grid, no_cost_model | no_rounds,
                                        no_cost_model | no_coarse | no_simd, no_cost_model | no_coarse | no_tables}) {
            options.switches = off;
            describe(text_of(table, options));
            const Run run(table, options);
            const TwoLabels two_labels(run.instance, run.settings, run.control, std::size_t{1} << 30);
            const RowSet all = all_rows(run.instance);
            const Local local(run.instance, all);
            const TwoLabels::Answer whole = two_labels.solve(all, local, 2, unreachable);
            CHECK(std::abs(run.instance.to_lower(whole.value) - optimum) <= tolerance(table, run));
            CHECK(whole.lower == whole.value);
            const Amount leaf = two_labels.leaf_value(all);
            for (const Amount budget : {whole.value, whole.value + 1, whole.value - 1, whole.value / 2,
                                        (whole.value + leaf) / 2, leaf, leaf + 1}) {
                const TwoLabels::Answer answer = two_labels.solve(all, local, 2, budget);
                CHECK(answer.lower <= whole.value);
                CHECK(budget > whole.value ? answer.value == whole.value : answer.lower >= budget);
            }
        }
    }
}

TEST(two_labels_rounds_of_many_thresholds) {
    // Enough thresholds for whole batches and for what rounds leave to segment trees.
    Random random(45);
    for (int n = 0; n < 12; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 300, 900);
        recipe.n_labels = 2;
        recipe.weights = all_weights[n % 4];
        recipe.signal = uniform(random, 0.0, 0.9);
        recipe.sizes = {1000, 300, 40, 3};
        recipe.categorical = {0, 0, 0, 1};
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 2;
        options.regularization = some_penalties[n % 5];
        options.switches = no_rounds | no_coarse | no_segment_trees;
        const Finished plain(table, options);
        for (const std::uint32_t off : {0U, 0U + no_simd, 0U + no_coarse, no_coarse | no_fine_grid}) {
            options.switches = off;
            describe(text_of(table, options));
            const Finished run(table, options);
            CHECK(run.result.status == Status::optimal);
            CHECK(std::abs(run.upper() - plain.upper()) <= tolerance(table, run));
            const TwoLabels two_labels(run.instance, run.settings, run.control, std::size_t{1} << 30);
            const RowSet all = all_rows(run.instance);
            const Local local(run.instance, all);
            const Amount value = two_labels.solve(all, local, 2, unreachable).value;
            for (const Amount budget : {value, value + 1, value - value / 50, value - value / 10}) {
                const TwoLabels::Answer answer = two_labels.solve(all, local, 2, budget);
                CHECK(answer.lower <= value);
                CHECK(budget > value ? answer.value == value : answer.lower >= budget);
            }
        }
    }
}

TEST(search_loses_patience_with_root_tests) {
    // After two looks depth three is solved in closed form; what the looks found still counts.
    Random random(46);
    for (int n = 0; n < 60; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 12, 30);
        recipe.n_labels = 2;
        recipe.weights = all_weights[n % 4];
        recipe.signal = uniform(random, 0.0, 0.8);
        recipe.sizes = {pick(random, 4, 8), pick(random, 3, 6), pick(random, 2, 3)};
        recipe.categorical = {0, 0, static_cast<std::uint8_t>(n % 2)};
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        Options options;
        options.switches = no_cost_model;
        for (const int depth : {3, 4}) {
            options.constraints.max_depth = depth;
            options.regularization = some_penalties[pick(random, 0, 4)];
            options.n_threads = pick(random, 1, 2);
            check_optimal(table, enumerator, options);
        }
        options.constraints.max_depth = 3;
        options.regularization = 0.0;
        const Finished run(table, options);
        CHECK(run.search->statistics().probes <= 2 + options.n_threads);
    }
}

TEST(search_a_limit_of_leaves_limits_depth) {
    // Three leaves are depth two, whatever else is lifted: without a depth limit this is answered at once too.
    Random random(40);
    for (const int n_labels : {2, 3}) {
        const Table table = draw_mixed(random, 150, 20, n_labels, Weights::unit);
        Enumerator enumerator(table);
        Options options;
        options.constraints.max_depth = -1;
        options.constraints.max_leaves = 3;
        options.seconds = 30.0;
        describe(text_of(table, options));
        const Finished run(table, options);
        CHECK(run.result.status == Status::optimal);
        Options flat = options;
        flat.constraints.max_depth = 2;
        CHECK(std::abs(run.upper() - optimum_of(table, enumerator, flat)) <= tolerance(table, run));
        CHECK(run.search->statistics().subproblems < 1000);
    }
}

TEST(search_remembers_what_it_was_asked) {
    // Two-valued axes: the same rows are met by every order of the same tests, with other budgets each time.
    Random random(43);
    for (int n = 0; n < 120; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 14, 40);
        recipe.n_labels = 3;
        recipe.weights = all_weights[n % 4];
        recipe.is_classification = n % 2 == 0;
        recipe.signal = uniform(random, 0.0, 0.6);
        recipe.sizes.assign(6, 2);
        recipe.categorical.assign(6, 0);
        const Table table = make_table(random, recipe);
        Options options;
        options.constraints.max_depth = 5;
        options.constraints.min_samples_leaf = n % 3 == 0 ? pick(random, 2, 4) : 1;
        Enumerator enumerator(table, minima_of(options.constraints));
        for (const std::uint32_t off :
             {0U + no_greedy, no_greedy | no_deepening, no_greedy | no_interval | no_similarity}) {
            for (const double regularization : {0.005, 0.01, 0.02}) {
                options.regularization = regularization;
                options.switches = off;
                check_optimal(table, enumerator, options);
            }
        }
    }
}

namespace {

// Ordered axes, one text each with a digit per row, and one text of costs per row; weights are one.
Table table_of(const std::vector<std::string>& axes, const std::vector<std::string>& costs) {
    Table table;
    table.n_rows = static_cast<int>(costs.size());
    table.n_labels = static_cast<int>(costs.front().size());
    table.is_classification = false;
    for (const std::string& axis : axes) {
        table.sizes.push_back(*std::max_element(axis.begin(), axis.end()) - '0' + 1);
        table.categorical.push_back(0);
        for (const char code : axis) {
            table.codes.push_back(code - '0');
        }
    }
    for (const std::string& row : costs) {
        for (const char cost : row) {
            table.costs.push_back(cost - '0');
        }
    }
    table.weights.assign(costs.size(), 1.0);
    return table;
}

// Both by enumeration and by hand, so that a slip in the one is seen in the other.
void check_known(const Table& table, Options options, double optimum) {
    options.normaliser = 1.0;
    Enumerator enumerator(table, minima_of(options.constraints));
    CHECK(optimum_of(table, enumerator, options) == optimum);
    check_optimal(table, enumerator, options);
    // A first tree that is already the best one hides what the search would have ruled out.
    options.switches |= no_greedy;
    check_optimal(table, enumerator, options);
}

}  // namespace

// Problems on which a search with one rule broken goes wrong, made as small as they can be: hardly any other problem
// tells these rules from their broken twins.

TEST(search_relaxed_bounds_end_at_the_budget) {
    // With minima a subproblem's relaxed bound is worth no more than the budget: root tests that cost more were not
    // looked at.
    Options options;
    options.regularization = 0.5;
    options.constraints.max_depth = 4;
    options.constraints.min_weight_leaf = 1.0;
    options.switches = no_deepening | no_leaf_bound;
    check_known(table_of({"22011", "11100", "02202"}, {"100", "010", "001", "011", "100"}), options, 1.5);
    // The same where the smaller side is solved first.
    options = {};
    options.regularization = 0x1p-30;
    options.constraints.max_depth = 4;
    options.constraints.min_samples_leaf = 2;
    options.switches = no_leaf_bound;
    check_known(table_of({"00221011011", "10121121210", "00111110100", "00000011100"},
                         {"010", "000", "010", "100", "001", "000", "110", "001", "011", "100", "010"}),
                options, 0x5p-30);
}

TEST(search_remembers_the_budget_it_was_asked_with) {
    // What was remembered answers for budgets up to the one it was solved with, and no further.
    Options options;
    options.regularization = 0.875;
    options.constraints.max_depth = 5;
    options.switches = no_deepening | no_leaf_bound;
    check_known(table_of({"01101011", "11110001", "01010101", "01001000"},
                         {"101", "100", "011", "110", "010", "001", "100", "011"}),
                options, 4.375);
    // The same where the smaller side is solved first.
    options.regularization = 0.625;
    check_known(table_of({"111000101", "100110010", "110110100", "101010110", "011101011"},
                         {"010", "010", "011", "010", "101", "001", "001", "110", "101"}),
                options, 3.125);
}

TEST(search_sees_every_threshold_above_the_first_test) {
    // Two thresholds of the root's axis on one side of it, with a test of the other axis between them.
    Options options;
    options.regularization = 0.625;
    options.constraints.max_depth = 3;
    check_known(table_of({"3224212002", "1044311212"}, {"10", "01", "01", "10", "10", "10", "01", "10", "10", "10"}),
                options, 3.125);
}

TEST(search_bounds_sides_by_shallower_trees_without_minima) {
    // What a shallower tree costs within the minima says nothing about the parts of its rows.
    Options options;
    options.regularization = 0.0;
    options.constraints.max_depth = 3;
    options.constraints.min_samples_leaf = 2;
    options.switches = no_coarse;
    check_known(
        table_of({"43302101", "00110100"}, {"00000", "10001", "11110", "00000", "01111", "00000", "10000", "00000"}),
        options, 0.0);
}

TEST(search_remembers_bounds_with_and_without_minima) {
    // The second column repeats a test of the first. What is remembered of its sides, minima kept, must not bound the
    // sides of that test's neighbours.
    Table table =
        table_of({"30220221", "10110110", "00011111", "01110001"}, {"00", "00", "10", "01", "01", "00", "10", "00"});
    table.n_arms = 2;
    table.arms = {1, 1, 0, 0, 0, 0, 1, 1};
    Options options;
    options.regularization = 0.054;
    options.constraints.max_depth = 4;
    options.constraints.min_samples_arm = 1;
    options.switches = no_test_merging | no_deepening;
    check_known(table, options, 4 * 0.054);
}

TEST(search_rounds_want_what_is_gained_for_certain) {
    // On a grid of units, amounts of nearly half a unit count for nothing and those of half a unit count twice. What a
    // root test seems to gain may then rule out a better one, unless all that rounding can add is taken off.
    Table table = table_of({"1321403", "0111010"}, {"00", "00", "00", "00", "00", "00", "00"});
    table.costs = {0, 31, 2016, 0, 0, 0.4921875, 0, 0.4921875, 0.5, 0, 1.5078125, 0, 0.5, 0};
    Options options;
    options.regularization = 5.0;
    options.constraints.max_depth = 2;
    options.switches = no_fine_grid | no_cost_model;
    check_known(table, options, 11.5078125);
}

TEST(search_every_switch) {
    Random random(23);
    std::vector<std::uint32_t> sets{0};
    std::uint32_t everything = 0;
    for (const NamedSwitch& one : all_switches) {
        sets.push_back(one.off);
        everything |= one.off;
    }
    for (int n = 0; n < 4; ++n) {
        const int n_labels = n % 2 == 0 ? 2 : pick(random, 3, 4);
        const Table table = draw_mixed(random, pick(random, 25, 40), 5, n_labels, all_weights[n % 4]);
        Constraints minimum;
        minimum.min_samples_leaf = 3;
        Enumerator free(table);
        Enumerator bound(table, minima_of(minimum));
        for (const int depth : {2, 3, 4}) {
            if (depth == 4 && n >= 2) {
                continue;
            }
            for (const std::uint32_t off : sets) {
                Options options;
                options.regularization = some_penalties[pick(random, 1, 3)];
                options.constraints.max_depth = depth;
                options.n_threads = pick(random, 1, 2);
                options.switches = off;
                check_optimal(table, free, options);
                options.switches = off | no_cost_model;
                options.constraints.max_leaves = chance(random, 0.5) ? pick(random, 2, 7) : 0;
                check_optimal(table, free, options);
                options.switches = off;
                options.constraints.min_samples_leaf = minimum.min_samples_leaf;
                check_optimal(table, bound, options);
            }
            Options options;
            options.constraints.max_depth = depth;
            options.switches = everything;
            check_optimal(table, free, options);
        }
    }
}

TEST(search_triples_on_mixed_axes) {
    Random random(24);
    for (const Weights weights : {Weights::unit, Weights::lognormal, Weights::heavy}) {
        const Table table = draw_mixed(random, 160, 14, 2, weights);
        Enumerator enumerator(table);
        for (const std::uint32_t off : {0U, 0U + no_simd, 0U + no_steps, 0U + no_fine_grid, 0U + no_triples}) {
            for (const double regularization : {0.0, 0.005}) {
                Options options;
                options.regularization = regularization;
                options.constraints.max_depth = 3;
                options.switches = off | no_cost_model | no_cells;
                options.n_threads = off == 0 ? 2 : 1;
                check_optimal(table, enumerator, options);
                const Finished run(table, options);
                CHECK((run.search->statistics().triples > 0) == (off != no_triples));
            }
        }
    }
}

TEST(search_triples_on_two_valued_axes) {
    Random random(25);
    for (const Weights weights : {Weights::unit, Weights::lognormal}) {
        Recipe recipe;
        recipe.n_rows = 120;
        recipe.weights = weights;
        recipe.signal = 0.5;
        recipe.sizes.assign(11, 2);
        recipe.categorical.assign(11, 0);
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        for (const int depth : {3, 4}) {
            for (const std::uint32_t off : {0U, 0U + no_simd, 0U + no_triples, 0U + no_cache}) {
                Options options;
                options.regularization = 0.004;
                options.constraints.max_depth = depth;
                options.switches = off | no_cost_model;
                options.n_threads = pick(random, 1, 2);
                check_optimal(table, enumerator, options);
            }
        }
    }
}

TEST(search_segment_trees) {
    Random random(26);
    for (const Weights weights : {Weights::unit, Weights::lognormal, Weights::heavy}) {
        Recipe recipe;
        recipe.n_rows = 400;
        recipe.weights = weights;
        recipe.sizes = {350, 130, 6, 2};
        recipe.categorical = {0, 0, 1, 0};
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        for (const std::uint32_t off :
             {0U, 0U + no_tables, no_tables | no_simd, 0U + no_segment_trees, no_tables | no_fine_grid}) {
            for (const double regularization : {0.0, 0.002}) {
                Options options;
                options.regularization = regularization;
                options.constraints.max_depth = 2;
                options.switches = off;
                check_optimal(table, enumerator, options);
            }
        }
    }
}

TEST(search_coarse_to_fine) {
    // Without the cost model there are four groups per axis, so that most thresholds lie inside one.
    Random random(35);
    for (int n = 0; n < 24; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 60, 120);
        recipe.weights = n % 6 == 5 ? Weights::close : all_weights[n % 6];
        recipe.signal = uniform(random, 0.3, 1.0);
        recipe.sizes = {pick(random, 20, 60), pick(random, 5, 20), pick(random, 2, 6)};
        recipe.categorical = {0, 0, 0};
        const Table table = make_table(random, recipe);
        Enumerator enumerator(table);
        for (const std::uint32_t off : {0U, 0U + no_fine_grid, 0U + no_simd, 0U + no_tables, 0U + no_coarse}) {
            Options options;
            options.regularization = some_penalties[pick(random, 0, 3)];
            options.constraints.max_depth = 2;
            options.switches = off | no_cost_model;
            check_optimal(table, enumerator, options);
        }
    }
}

TEST(search_tells_apart_what_32_bits_cannot) {
    // All weights agree in their first forty bits: the filter sees ties everywhere, and the optimum is decided by what
    // it rounds away. Sums are whole numbers below 2^53, so enumeration is exact and so must the engine be.
    Random random(27);
    for (int n = 0; n < 12; ++n) {
        const Table table = draw_mixed(random, pick(random, 20, 70), 6, 2, Weights::close);
        Enumerator enumerator(table);
        for (const std::uint32_t off : {0U, 0U + no_cost_model, no_cost_model | no_fine_grid, 0U + no_triples}) {
            Options options;
            options.constraints.max_depth = pick(random, 2, 3);
            options.regularization = pick(random, 0, 2) * 0x1p38;
            options.normaliser = 1.0;
            options.switches = off;
            describe(text_of(table, options));
            const Finished run(table, options);
            CHECK(run.instance.cost_rounding == 0.0);
            CHECK(run.upper() == optimum_of(table, enumerator, options));
            CHECK(run.result.status == Status::optimal);
        }
    }
}

TEST(search_knows_a_planted_tree) {
    // Labels are the parity of three thresholds: no shallower tree helps at all, and eight leaves are needed.
    Table table;
    table.n_rows = 512;
    table.sizes = {8, 8, 8};
    table.categorical = {0, 0, 0};
    for (int axis = 0; axis < 3; ++axis) {
        for (int i = 0; i < table.n_rows; ++i) {
            table.codes.push_back((i >> (3 * axis)) & 7);
        }
    }
    Random random(28);
    for (int i = 0; i < table.n_rows; ++i) {
        const int label =
            (table.code(0, i) >= 4 ? 1 : 0) ^ (table.code(1, i) >= 4 ? 1 : 0) ^ (table.code(2, i) >= 4 ? 1 : 0);
        table.labels.push_back(label);
        table.weights.push_back(draw_weight(random, Weights::lognormal));
        table.costs.push_back(label == 0 ? 0.0 : table.weights.back());
        table.costs.push_back(label == 1 ? 0.0 : table.weights.back());
    }
    for (const std::uint32_t off : {0U, 0U + no_triples, 0U + no_cost_model}) {
        Options options;
        options.regularization = 0.001;
        options.constraints.max_depth = 3;
        options.switches = off;
        const Finished run(table, options);
        CHECK(run.result.cost == 0);
        CHECK(run.result.leaves == 8);
        CHECK(std::abs(run.upper() - 0.008) < 1e-12);
        CHECK(run.result.status == Status::optimal);
    }
}

TEST(search_in_little_memory) {
    Random random(29);
    const Table table = draw_mixed(random, 60, 8, 3, Weights::lognormal);
    Enumerator enumerator(table);
    Options options;
    options.regularization = 0.002;
    options.constraints.max_depth = 4;
    options.memory_bytes = 100000;
    check_optimal(table, enumerator, options);
    const Finished little(table, options);
    CHECK(little.search->statistics().cache_forgotten > 0);
    CHECK(little.search->statistics().cache_entries <= options.memory_bytes / 256);
    // Less than the table itself: a tree and a bound, and the reason.
    options.memory_bytes = 1;
    describe(text_of(table, options));
    const Finished none(table, options);
    CHECK(none.result.status == Status::memory_limit);
    check_between(table, optimum_of(table, enumerator, options), options, none);
}

TEST(search_guesses_keep_their_guarantee) {
    // A tree found with guesses costs no more than any tree does when it also pays for the reference's errors.
    Random random(30);
    int n_guessed_better = 0;
    for (int n = 0; n < 120; ++n) {
        Table table = n % 6 == 0 ? draw_mixed(random, pick(random, 20, 40), 5, pick(random, 2, 3), all_weights[n % 3])
                                 : draw_small(random, 16);
        const double share_wrong = uniform(random, 0.0, 0.6);
        for (int i = 0; i < table.n_rows; ++i) {
            const int label = chance(random, share_wrong) ? pick(random, 0, table.n_labels - 1)
                                                          : table.labels[static_cast<std::size_t>(i)];
            table.reference.push_back(table.cost(i, label));
        }
        Table both = table;
        for (int i = 0; i < table.n_rows; ++i) {
            for (int k = 0; k < table.n_labels; ++k) {
                double& cost = both.costs[static_cast<std::size_t>(i * table.n_labels + k)];
                cost = std::max(cost, table.reference[static_cast<std::size_t>(i)]);
            }
        }
        Options options;
        options.has_reference = true;
        options.constraints.min_samples_leaf = chance(random, 0.3) ? pick(random, 2, 3) : 1;
        Enumerator of_both(both, minima_of(options.constraints));
        Enumerator of_table(table, minima_of(options.constraints));
        for (int repeat = 0; repeat < 6; ++repeat) {
            options.regularization = some_penalties[pick(random, 0, 3)];
            options.constraints.max_depth = pick(random, 1, 4);
            options.constraints.max_leaves = chance(random, 0.2) ? pick(random, 2, 5) : 0;
            options.n_threads = pick(random, 1, 2);
            options.switches = chance(random, 0.5) ? 0U : 1U << pick(random, 0, 14);
            describe(text_of(table, options));
            const Finished run(table, options);
            check_tree(table, options, run);
            const double optimum = optimum_of(table, of_table, options);
            CHECK(run.result.status == Status::guessed);
            CHECK(run.upper() >= optimum - tolerance(table, run));
            CHECK(run.upper() <= optimum_of(both, of_both, options) + tolerance(table, run));
            n_guessed_better += run.upper() > optimum + tolerance(table, run) ? 1 : 0;
        }
    }
    CHECK(n_guessed_better > 0);  // else the guesses were never used
}

namespace {

struct Stopping {
    Table table;
    Options options;
    double optimum = 0.0;
};

// Problems that take a while, with their optima.
std::vector<Stopping> draw_stopping(Random& random) {
    std::vector<Stopping> problems;
    for (int n = 0; n < 4; ++n) {
        Stopping problem;
        problem.table = draw_mixed(random, n < 2 ? 150 : 90, n < 2 ? 12 : 8, n % 2 == 0 ? 2 : 3, Weights::lognormal);
        problem.options.regularization = 0.001;
        problem.options.constraints.max_depth = n < 2 ? 3 : 4;
        problem.options.constraints.min_samples_leaf = n == 3 ? 4 : 1;
        Enumerator enumerator(problem.table, minima_of(problem.options.constraints));
        problem.optimum = optimum_of(problem.table, enumerator, problem.options);
        problems.push_back(std::move(problem));
    }
    return problems;
}

}  // namespace

TEST(search_stopped_early) {
    Random random(31);
    for (Stopping& problem : draw_stopping(random)) {
        int n_stopped = 0;
        for (const double seconds : {0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2}) {
            for (const std::uint32_t off : {0U, 0U + no_triples, no_triples | no_deepening, 0U + no_cost_model}) {
                Options options = problem.options;
                options.seconds = seconds;
                options.switches = off;
                options.n_threads = pick(random, 1, 2);
                describe(text_of(problem.table, options));
                const Finished run(problem.table, options);
                check_between(problem.table, problem.optimum, options, run);
                CHECK(run.result.status == Status::optimal || run.result.status == Status::time_limit);
                n_stopped += run.result.status == Status::time_limit ? 1 : 0;
            }
        }
        CHECK(n_stopped > 0);
    }
}

TEST(search_stopped_between_slices) {
    // One closed form of depth three is stopped anywhere: what it is stopped with is true, and further on it is better
    // than what was known before it began, tree and bound.
    Random random(38);
    int n_better_trees = 0;
    int n_better_bounds = 0;
    for (int n = 0; n < 12; ++n) {
        const Table table = draw_mixed(random, 80, 9, 2, all_weights[n % 3]);
        Options options;
        options.regularization = n % 2 == 0 ? 0.0 : 0.001;
        options.constraints.max_depth = 3;
        options.switches = no_cost_model | no_cells | (n % 4 < 2 ? no_greedy : 0U) | (n % 3 == 0 ? no_fine_grid : 0U);
        Enumerator enumerator(table);
        const double optimum = optimum_of(table, enumerator, options);
        double upper = 1e9;
        double lower = -1.0;
        bool has_better_tree = false;
        bool has_better_bound = false;
        bool is_done = false;
        for (int n_asked = 0; !is_done; n_asked += 1 + n_asked / 24) {
            options.n_asked = n_asked;
            options.n_threads = 1 + n_asked % 2;
            describe(text_of(table, options));
            const Finished run(table, options);
            check_between(table, optimum, options, run);
            is_done = run.result.status == Status::optimal;
            if (run.search->statistics().triples == 0) {
                upper = std::min(upper, run.upper());
                lower = std::max(lower, run.lower());
            } else if (!is_done) {
                has_better_tree = has_better_tree || run.upper() < upper - tolerance(table, run);
                has_better_bound = has_better_bound || run.lower() > lower + tolerance(table, run);
            }
        }
        n_better_trees += has_better_tree ? 1 : 0;
        n_better_bounds += has_better_bound ? 1 : 0;
    }
    CHECK(n_better_trees >= 3);
    CHECK(n_better_bounds >= 3);
}

TEST(search_interrupted_and_watched) {
    Random random(32);
    for (Stopping& problem : draw_stopping(random)) {
        for (const int microseconds : {0, 50, 200, 1000, 4000}) {
            Options options = problem.options;
            options.switches = no_triples;
            options.n_threads = 2;
            describe(text_of(problem.table, options));
            Run run(problem.table, options);
            bool is_true_all_along = true;
            std::thread watcher([&] {
                const auto stop = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
                do {
                    const Amount upper = run.search->upper_now();
                    const double lower = run.instance.to_lower(run.search->lower_now());
                    is_true_all_along = is_true_all_along && lower <= problem.optimum + 1e-9;
                    is_true_all_along = is_true_all_along && (upper == unreachable ||
                                                              run.instance.to_lower(upper) >= problem.optimum - 1e-9);
                    std::this_thread::yield();
                } while (std::chrono::steady_clock::now() < stop);
                run.control.interrupt();
            });
            if (microseconds == 0) {
                run.control.interrupt();  // before the first look: only the lone leaf is known
            }
            run.go();
            watcher.join();
            CHECK(is_true_all_along);
            check_between(problem.table, problem.optimum, options, run);
            CHECK(run.result.status == Status::optimal || run.result.status == Status::interrupted);
            CHECK(microseconds > 0 || run.result.status == Status::interrupted);
        }
    }
}

TEST(search_same_tree_cost_for_every_thread_count) {
    Random random(33);
    for (int n = 0; n < 6; ++n) {
        const Table table = draw_mixed(random, 200, 12, n % 2 == 0 ? 2 : 3, Weights::lognormal);
        Options options;
        options.regularization = 0.001;
        options.constraints.max_depth = 3;
        options.switches = n < 4 ? no_triples : 0U;
        const Finished one(table, options);
        for (const int n_threads : {2, 3}) {
            options.n_threads = n_threads;
            describe(text_of(table, options));
            const Finished run(table, options);
            const Amount penalty = one.settings.penalty;
            CHECK(run.result.cost + run.result.leaves * penalty == one.result.cost + one.result.leaves * penalty);
        }
    }
}

TEST(gains_of_threads_are_put_together) {
    // On small tables one thread has done all the work before the next one starts, so a search would not show it.
    Random random(1);
    Gains mine(5);
    Gains theirs(5);
    for (Gains* gains : {&mine, &theirs}) {
        for (int m = 0; m < 4; ++m) {
            for (auto* side : {&gains->left[m], &gains->right[m]}) {
                std::generate(side->begin(), side->end(), [&] { return pick(random, 0, 9); });
            }
        }
    }
    Gains both = mine;
    both.merge(theirs);
    for (int m = 0; m < 4; ++m) {
        for (std::size_t t = 0; t < 5; ++t) {
            CHECK(both.left[m][t] == std::max(mine.left[m][t], theirs.left[m][t]));
            CHECK(both.right[m][t] == std::max(mine.right[m][t], theirs.right[m][t]));
        }
    }
}

TEST(workers_pass_on_what_one_of_them_throws) {
    for (const int n : {1, 2, 5}) {
        std::atomic<int> n_called{0};
        bool was_thrown = false;
        try {
            share_work(n, [&](int worker) {
                ++n_called;
                if (worker == n - 1) {
                    throw std::bad_alloc();
                }
            });
        } catch (const std::bad_alloc&) {
            was_thrown = true;
        }
        CHECK(was_thrown);
        CHECK(n_called == n);
    }
}

TEST(prepare_merges_shifts_and_drops) {
    // Rows 0 and 1 are equal and of opposite labels: the lighter weight is lost by every tree. Row 2 stands alone. The
    // second axis says what the first does, so it has no test left.
    Table table;
    table.n_rows = 3;
    table.sizes = {2, 2};
    table.categorical = {0, 0};
    table.codes = {0, 0, 1, 1, 1, 0};
    table.labels = {0, 1, 1};
    table.weights = {3.0, 1.0, 2.0};
    table.costs = {0.0, 3.0, 1.0, 0.0, 2.0, 0.0};
    Options options;
    options.constraints.max_depth = 1;
    const Finished run(table, options);
    const Instance& instance = run.instance;
    CHECK(instance.n_rows == 2);
    CHECK(instance.axes.size() == 1);
    CHECK(instance.n_tests == 1);
    CHECK(std::abs(instance.to_lower(0) - 1.0 / 6.0) < 1e-15);
    CHECK(instance.worst[0] == instance.worst[1]);
    CHECK(instance.balance[0] == -instance.balance[1]);
    CHECK(instance.cost_rounding == 0.0);
    options.switches = no_test_merging;
    CHECK(Run(table, options).instance.axes.size() == 2);
    // Weights of any scale leave the same integers.
    Table scaled = table;
    for (double& weight : scaled.weights) {
        weight *= 0x1p-40;
    }
    options.switches = 0;
    CHECK(Run(scaled, options).instance.worst == instance.worst);
    CHECK(Run(scaled, options).settings.penalty == run.settings.penalty);
}

// Whether most rows have a code of some axis to themselves, or few do, and whether all codes occur.
TEST(prepare_keeps_a_row_of_each_kind_and_the_tests_between_codes_that_occur) {
    Random random(11);
    for (int round = 0; round < 400; ++round) {
        Recipe recipe;
        recipe.n_rows = pick(random, 1, 24);
        recipe.sizes = {2, pick(random, 1, 2 * recipe.n_rows), pick(random, 1, 3)};
        recipe.categorical = {0, 0, 0};
        recipe.weights = Weights::lognormal;
        const Table table = make_table(random, recipe);
        std::set<std::vector<int>> kinds;
        std::set<std::pair<int, int>> codes;
        std::set<int> axes;
        for (int row = 0; row < table.n_rows; ++row) {
            std::vector<int> kind;
            for (int axis = 0; axis < table.n_axes(); ++axis) {
                kind.push_back(table.code(axis, row));
                codes.insert({axis, kind.back()});
                axes.insert(axis);
            }
            kinds.insert(kind);
        }
        const Instance instance = prepare(table.input(table.normaliser(), false), false, no_test_merging);
        CHECK(static_cast<std::size_t>(instance.n_rows) == kinds.size());
        CHECK(static_cast<std::size_t>(instance.n_tests) == codes.size() - axes.size());
    }
}

TEST(bin_numeric_gives_codes_in_value_order) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double step : {1.0, 0.37, 1e12}) {
        const std::vector<double> values{3 * step, -step, nan, 0.0, 3 * step, -0.0, 7 * step};
        std::vector<std::int32_t> codes(values.size());
        std::vector<double> distinct;
        bin_numeric(values, codes, distinct);
        CHECK((codes == std::vector<std::int32_t>{2, 0, -1, 1, 2, 1, 3}));
        CHECK((distinct == std::vector<double>{-step, 0.0, 3 * step, 7 * step}));
    }
    std::vector<std::int32_t> codes(2);
    std::vector<double> distinct;
    bin_numeric(std::vector<double>{nan, nan}, codes, distinct);
    CHECK((codes == std::vector<std::int32_t>{-1, -1}));
    CHECK(distinct.empty());
}

// Against a sort of the values: spread over all of the range, close together, with few distinct ones or one alone, and
// such that differ in the first bits and in the last ones, which the upper bits do not tell apart.
TEST(bin_numeric_sorts_values_of_any_kind) {
    std::mt19937_64 random(7);
    const auto uniform = [&] { return std::uniform_real_distribution<double>(-1.0, 1.0)(random); };
    const std::vector<std::function<double()>> kinds{
        [&] { return uniform(); },
        [&] { return std::ldexp(uniform(), static_cast<int>(random() % 2000) - 1000); },
        [&] { return 1e9 + uniform(); },
        [&] { return 1.7e9 + static_cast<double>(random() % 30'000'000); },
        [&] { return 5.0e9; },
        [&] { return 0.1 * static_cast<double>(random() % 50) - 2.0; },
        [&] { return (random() % 2 == 0 ? -1.0 : 1.0) + 0x1p-52 * static_cast<double>(random() % 4096); },
        [&] { return random() % 2 == 0 ? 0x1p-1074 * static_cast<double>(random() % 4096) : -0.0; },
        [&] { return random() % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 + 0x1p-40 * uniform(); },
    };
    for (const auto& draw : kinds) {
        for (const std::size_t n : {std::size_t{3}, std::size_t{40}, std::size_t{3000}}) {
            std::vector<double> values(n);
            std::generate(values.begin(), values.end(), draw);
            std::vector<double> expected;
            std::copy_if(values.begin(), values.end(), std::back_inserter(expected),
                         [](double value) { return !std::isnan(value); });
            std::sort(expected.begin(), expected.end());
            expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
            std::vector<std::int32_t> codes(n);
            std::vector<double> distinct;
            bin_numeric(values, codes, distinct);
            CHECK(distinct == expected);
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(std::isnan(values[i]) ? codes[i] == -1
                                            : distinct[static_cast<std::size_t>(codes[i])] == values[i]);
            }
        }
    }
}

}  // namespace certree::test
