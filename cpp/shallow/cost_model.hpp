// What each way of solving a subproblem takes, foretold. Every choice of method depends on a forecast of this file and
// on nothing else. A forecast that errs costs time, never the optimum; the switch `cost_model` ignores them all.
//
// Cycles are of one core, a third of a nanosecond each. `make forecasts` prints how many each forecast takes per cycle
// foretold, on tables of 300 to 20,000 rows, 2 to 60 axes and 2 to 5,000 codes per axis; "measured" below is what it
// printed on an AMD EPYC (family 25). Setting up is measured with the work, so tables of
// few rows stand out. Two-valued columns are far faster than foretold, and depth three of short axes is slower.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "instance/subset.hpp"

namespace certree::forecast {

// --- Closed forms of a whole table, before it is looked at ---

// Closed forms of depth three over so many tests take milliseconds.
inline constexpr std::int64_t few_tests = 400;

// So many steps take some milliseconds. Measured, in cycles per step: 0.2 to 8 at depth two; at depth three 1 to 13,
// and 0.02 for two-valued columns.
inline constexpr double few_steps = 1e7;

// What a closed form does, about: rows are summed for every tuple of axes, and tuples of tests compared; over many
// distinct values, rows walk through trees of codes in place of the latter.
inline double closed_steps(double n_rows, double n_axes, double n_tests, int depth) {
    const double sums = n_rows * std::pow(n_axes, depth);
    const double walks = 4.0 * n_rows * n_axes * n_axes * std::log2(n_tests + 2.0);
    return sums + (depth > 2 ? n_tests * n_tests * n_tests / 8.0 : std::min(n_tests * n_tests, walks));
}

// --- Trees before proofs ---

// How many of the seconds left go to better trees when so many levels are still to be proved and those before took so
// long: none where the proof may well end in time, for which a level is taken to last ten times as long as all before
// it. The numbers are chosen, not fitted.
inline double seconds_for_trees(double seconds_so_far, int n_levels, double seconds_left) {
    constexpr double times_per_level = 10.0;
    const double needed = seconds_so_far * std::pow(times_per_level, n_levels);
    if (!(needed > seconds_left) || seconds_left <= 0.0) {
        return 0.0;
    }
    const bool is_hopeless = needed > times_per_level * seconds_left;
    return is_hopeless ? 0.7 * seconds_left : std::min(seconds_left / 2, std::max(0.5, seconds_left / 4));
}

// --- Depth two of two labels ---

// Rows walk through a segment tree over the tests of an axis, each once. Measured: 1.3 to 2.6 from 20 codes on.
inline double tree_cycles(double n_rows, double n_tests) {
    return n_tests * 8.0 + n_rows * 4.0 * std::log2(n_tests + 1.0);
}

// Some root tests over one axis by lines: a line is passed over for each of them, and the rows that join are added to
// it as steps or as sums. Measured: 1.1 to 2.9 from 200 codes on, 3 to 6 at 20 codes, 0.7 for two-valued columns.
inline double line_cycles(double n_roots, double n_rows, double n_tests) {
    return n_roots * n_tests * 0.4 +
           std::min<double>(n_rows * (n_tests / 14.0 + 3.0), n_rows + 1.5 * n_roots * n_tests);
}

// Whether so few rows walk through the tree of an axis that most of its codes are better put in as pieces. The factor
// is chosen, not fitted. Measured at depth two with a million rows and 10 continuous columns, in milliseconds, without
// and with: 498 and 451.
inline bool are_few_codes_touched(std::size_t n_moving, std::int32_t n_tests) {
    return 8 * n_moving < static_cast<std::size_t>(n_tests);
}

// Whether to look at the root tests between two runs, too, which so many rows join, is faster than to set up the trees
// of all axes anew: about eight cycles a row instead of sixty. Measured at depth two with 10 continuous columns of
// noise, in milliseconds, without and with: 225 and 86 (20,000 rows), 602 and 147 (35,000).
inline bool is_walking_on_faster(std::int32_t n_between, std::int32_t n_rows) {
    return n_between < n_rows / 8;
}

// Root tests few and far between over one axis: all rows move once, and blocks are summed anew for every test.
inline double sparse_cycles(double n_rows, double n_tests) {
    return n_rows * 12.0 + n_tests * 700.0;
}

// Of the root tests that rounding leaves in doubt the best ones are solved one after the other; the rest, where it is
// not few, side by side in 64 bits.
inline constexpr std::size_t first_doubts = 2;
inline constexpr std::size_t few_doubts = 8;

// Whether so many rows are added to the tests of an axis faster by a sum of each code than each as a step. Measured in
// cycles, steps and sums: 4 rows, 99 tests 74 and 231; 8 rows, 399 tests 300 and 790; 8 rows, 19 tests 123 and 75.
inline bool are_sums_cheaper(std::size_t n_rows, std::int32_t n_tests) {
    const auto n = static_cast<std::int64_t>(n_rows);
    return n > 6 && n * (n_tests / 12 + 3) > n + 2 * n_tests;
}

// Whether the codes of all rows outgrow a near cache, so that it pays to lay those of a row side by side. Measured with
// 100,000 rows and 20 axes of 33 codes, apart and side by side: depth two 185 and 118 ms, depth three 3.55 and 1.70 s.
inline bool are_rows_far(const Local& local) {
    constexpr std::size_t near_bytes = std::size_t{512} << 10;
    return static_cast<std::size_t>(local.n_rows) * local.axes.size() * sizeof(std::int32_t) > near_bytes;
}

// Depth two, whichever of its ways is the fastest: what a look at a side of a root test takes. Measured: 0.4 to 1.4,
// and 0.2 for two-valued columns.
inline double pair_cycles(const Local& local) {
    const double n_rows = local.n_rows;
    const auto n_axes = static_cast<double>(local.axes.size());
    double trees = 0.0;
    for (const LocalAxis& axis : local.axes) {
        trees += n_axes * tree_cycles(n_rows, axis.n_tests);
    }
    const double lines = n_rows * n_axes * n_axes * 2.0 + static_cast<double>(local.n_tests) * local.n_tests;
    const double rounds = n_rows * n_axes * n_axes * 12.0;
    const double setting_up = n_rows * n_axes * 60.0 + n_axes * 3000.0;
    return std::min({lines, trees, rounds}) + setting_up;
}

// Every root test by lines or by trees: what coarse tables and rounds may spare. Measured: 1.2 to 3.7.
inline double exact_cycles(const Local& local) {
    const auto n_axes = static_cast<double>(local.axes.size());
    const double n_rows = local.n_rows;
    double exact = 0.0;
    for (const LocalAxis& axis : local.axes) {
        exact += n_axes * std::min(n_rows * 5.0 * std::log2(axis.n_tests + 1.0),
                                   static_cast<double>(axis.n_tests) * local.n_tests / n_axes + 2.0 * n_rows);
    }
    return exact;
}

// An axis of many codes is summed by groups of them first: by so many at most, where a group's sums take so many cells,
// and then, inside groups, in so many cells at a time. Chosen, not fitted: sums of groups stay in a near cache, but for
// hundreds of labels, whose bounds would be worth little with fewer groups.
inline std::int32_t most_groups_of_long_axis(std::size_t width) {
    return static_cast<std::int32_t>(std::clamp<std::size_t>((std::size_t{1} << 14) / width, 64, 2048));
}
inline constexpr std::size_t most_cells_of_long_axis = std::size_t{1} << 19;

// So many codes at a time have sums of their own, each of so many cells, wherever those of a million codes would take
// more memory than the table.
inline std::size_t most_codes_at_once(std::size_t width) {
    return std::max<std::size_t>(64, most_cells_of_long_axis / width);
}

// So many sums of the sides of root tests stay where they are until an axis has its next test in doubt: some megabytes
// of all axes together.
inline std::size_t most_kept_sums(std::size_t n_axes) {
    return std::min(std::size_t{1} << 17, (std::size_t{1} << 20) / std::max<std::size_t>(1, n_axes));
}

// Groups of codes of an axis in coarse tables: more of them where rows outweigh the cells of a pair of axes, as long as
// these stay in a near cache. The factor is chosen, not fitted. Measured with a million rows and 10 axes of a million
// codes, in seconds, at most 1024, 512, 384 and 256 groups: planted 3.2, 3.1, 2.9 and 2.9; weighted 4.1, 3.9, 3.7 and
// 3.6; noise 43.9, 36.2 and 34.6 (256 was not tried).
inline std::int32_t most_coarse_groups(const Local& local) {
    return std::clamp(static_cast<std::int32_t>(0.72 * std::sqrt(static_cast<double>(local.n_rows))), 128, 384);
}

// Rows are summed for every pair of axes, and groups cost the square of their number. Measured: 1.8.
inline double coarse_cycles(const Local& local) {
    const auto n_axes = static_cast<double>(local.axes.size());
    double n_groups = 0.0;
    for (const LocalAxis& axis : local.axes) {
        n_groups += std::min(axis.n_codes, most_coarse_groups(local));
    }
    return n_axes * n_axes * local.n_rows * 2.0 + n_groups * n_groups * 8.0;
}
// `share`: of the root tests that are left to be looked at.
inline bool coarse_tables_pay(const Local& local, double share) {
    constexpr double gain_wanted = 4.0;  // part of the exact work remains, and it is not known beforehand how much
    return share * exact_cycles(local) > gain_wanted * coarse_cycles(local);
}

// Rounds of root tests, a few passes over the rows for every pair of axes: fewer the less the budget leaves. Measured
// at depth three, in milliseconds, with this factor, twice and four times as large: 4,597 rows with 57 axes and weights
// 905, 961 and 2,862, without 400, 439 and not tried; 1,599 rows with 11 axes and weights 90, 90 and 210.
inline bool rounds_pay(const Local& local) {
    const auto n_axes = static_cast<double>(local.axes.size());
    return exact_cycles(local) > n_axes * n_axes * local.n_rows * 4.0;
}

// Whether rounds come before coarse tables, wherever they pay: they end sooner where they leave few root tests, as long
// as their passes over the rows do not wait for memory. Measured at depth two with 10 continuous columns and weights,
// in milliseconds, tables and rounds first: planted 8.9 and 3.6 (10,000 rows), 12.3 and 6.9 (20,000), 21.7 and 17.5
// (50,000), 55.7 and 55.7 (100,000); noise 15.9 and 13.5, 82 and 99, 257 and 317, 692 and 794.
inline bool rounds_outrun_tables(const Local& local, bool is_short) {
    constexpr std::int32_t most_rows = 40'000;
    return is_short || local.n_rows <= most_rows;
}

// Whether a batch of root tests has some of several axes. Few of them are then looked at in vain, but no axis is spared
// the pass over its own rows. Measured at depth three, in milliseconds, one axis and four: 4,597 rows with 57 axes
// 1,010 and 665, 569 rows with 30 axes 274 and 156, 5,472 rows with 10 axes 248 and 207; 5,404 rows with 5 axes 120 and
// 141.
inline bool are_batches_packed(std::size_t n_axes) {
    return n_axes > 5;
}

// Whether a processor foresees at which rows of an axis a code ends: at few or at nearly all, or it learns them by
// heart, since the same rows are passed over again and again. The numbers are chosen, not fitted.
inline bool are_ends_foreseen(std::size_t n_rows_of_all_axes, std::int32_t n_rows, std::int32_t n_tests) {
    return n_rows_of_all_axes < 16000 || 16 * (n_rows - n_tests) < n_rows || 16 * n_tests < n_rows;
}

// After two rounds, in passes over the rows: whether those to come take more than trees for the tests still open, which
// are set up anew for every run of tests. Measured with 19,020 rows and 10 axes: a pass 0.15 ms, setting up 1 ms.
inline bool trees_outrun_rounds(std::int32_t n_open, std::int32_t n_runs, std::int32_t n_tests) {
    return n_open / 48.0 > 7.0 * n_runs + 10.0 * n_open / n_tests;
}

// --- Depth three of two labels ---

// The closed form: lines for every pair of tests, and rows added to them. Measured: 0.4 for two axes of 200 codes, 3 to
// 6 for axes of 20 codes, 0.05 to 0.1 for 20 to 60 two-valued columns.
inline double triple_cycles(const Local& local) {
    const double n_tests = local.n_tests;
    const auto n_axes = static_cast<double>(local.axes.size());
    double squares = 0.0;
    for (const LocalAxis& axis : local.axes) {
        squares += static_cast<double>(axis.n_tests) * axis.n_tests;
    }
    return 0.5 * (n_tests * n_tests - squares) * (n_tests * 0.8 + 40.0) +
           0.5 * local.n_rows * n_axes * n_axes * (n_axes + 5.0) + squares * n_tests * 0.15;
}

// In how many slices it is done: they take some milliseconds, and between two of them the best tree so far is read off
// at the root, which takes about as long as a look.
inline double triple_slices(const Local& local) {
    constexpr double slice_cycles = 1e7;
    return std::max(1.0, triple_cycles(local) / std::max(slice_cycles, 4.0 * pair_cycles(local)));
}

// Whether it may be under way when so many seconds are over, or a few seconds: then root tests are looked at first,
// whose bounds are what a stop leaves. Forecasts err by a factor of six.
inline bool are_triples_long(const Local& local, double seconds_left) {
    constexpr double cycles_per_second = 3e9;
    constexpr double most_seconds = 12.0;
    return 6.0 * triple_cycles(local) > cycles_per_second * std::min(seconds_left, most_seconds);
}

// One of its pairs of axes beside the others: they are handed out longest first.
inline double triple_share(double n_tests_a, double n_tests_b, bool is_one_axis) {
    return n_tests_a * n_tests_b * (is_one_axis ? 0.2 : 1.0);
}

// How many root tests intervals look at. The looks that an axis needs hardly grow with its tests: 6 to 35 per axis of
// hundreds to thousands of tests were measured, and four in ten tests of an axis with few.
inline double interval_looks(const Local& local) {
    double looks = 0.0;
    for (const LocalAxis& axis : local.axes) {
        looks += std::min(0.4 * axis.n_tests, 16.0);
    }
    return looks;
}

// Looks at root tests, each by closed forms of depth two, until intervals leave none.
inline double looked_cycles(const Local& local) {
    return interval_looks(local) * pair_cycles(local);
}

// The closed form above where rows are many and codes are few: what it takes is to add every row once for every pair of
// axes, to lines of two-valued ones in no time. Measured with 100,000 rows and 20 axes of 33 codes: 1.0.
inline double many_row_triple_cycles(const Local& local) {
    const auto n_axes = static_cast<double>(local.axes.size());
    const double n_single = local.n_single_axes;
    return 0.5 * local.n_rows * n_axes * n_axes * (13.0 * (n_axes - n_single) + 0.05 * n_single);
}

// Depth three by sums over cells: rows are sorted once for every axis and added once for every three, and a stump is
// compared for every three tests. `n_amounts`: of a row; `n_channels`: of a cell.
inline double cell_cycles(const Local& local, double n_amounts, double n_channels) {
    const auto n_axes = static_cast<double>(local.axes.size());
    double codes = 0.0;
    double squares = 0.0;
    double cubes = 0.0;
    for (const LocalAxis& axis : local.axes) {
        const double n = axis.n_codes;
        codes += n;
        squares += n * n;
        cubes += n * n * n;
    }
    const double n_cells = (codes * codes * codes + 3.0 * codes * squares + 2.0 * cubes) / 6.0;
    const double n_sums = n_axes * (n_axes - 1.0) * (n_axes - 2.0) / 6.0 * 2.5 + n_axes * n_axes * 4.0;
    return local.n_rows * n_amounts * n_sums + n_cells * 30.0 * n_channels;
}

// Depth two by sums over cells: codes are copied once, and rows added once for every two axes.
inline double pair_cell_cycles(const Local& local, double n_amounts, double n_channels) {
    const auto n_axes = static_cast<double>(local.axes.size());
    double codes = 0.0;
    double squares = 0.0;
    for (const LocalAxis& axis : local.axes) {
        codes += axis.n_codes;
        squares += static_cast<double>(axis.n_codes) * axis.n_codes;
    }
    const double n_sums = n_axes * (n_axes - 1.0) / 2.0 * 3.0 + n_axes * 8.0;
    return local.n_rows * n_amounts * n_sums + (codes * codes + squares) / 2.0 * 60.0 * n_channels;
}

// Depth two otherwise, where rows are many and codes are few: every row is added once for every two axes, in either
// order, to lines of two-valued ones in no time.
inline double many_row_pair_cycles(const Local& local) {
    const auto n_axes = static_cast<double>(local.axes.size());
    const double n_single = local.n_single_axes;
    return local.n_rows * n_axes * (9.0 * (n_axes - n_single) + 0.05 * n_single);
}

// Below the root, and at depth two, fewer rows than this are not worth sorting: the forecast of the other closed form
// is of many rows, and too high for few. Coupon at depth four, λ .01, 2,653 rows: 0.87 s, and 1.11 s without this.
inline constexpr std::int32_t least_rows_of_cells = 10'000;

// Whether it is by far the fastest way. Looks at root tests end sooner where a budget leaves few of them, and leave a
// bound where time is up: it must be over long before.
inline bool do_cells_pay(double cells, double others, double seconds_left) {
    constexpr double cycles_per_second = 3e9;
    return 2.0 * cells < std::min(others, cycles_per_second * seconds_left);
}

// Looks at the intervals that are left when patience ends, about; so many are worth it, so often. Chosen by one table
// (1,599 rows with 11 axes at depth three, λ .001): given up after 385 looks, 0.79 s; done after 393, 0.29 s.
inline double looks_to_come(std::size_t n_intervals) {
    return 2.0 * static_cast<double>(n_intervals);
}
inline double worthwhile_looks(double patience) {
    return patience / 4.0;
}
inline constexpr int most_renewals = 2;

// --- Deeper trees ---

// How many row sets of one depth a search remembers to compare others with. Measured on COMPAS: without a depth limit
// at λ .02, sets of each expansion alone 0.48 s, 96 of all 0.29 s, 512 and more 0.20 s; at depth six and λ .01 1,024
// sets 1.9 s, 4,096 sets 2.7 s.
inline constexpr std::size_t most_seen_sets = 1024;

// Whether it pays to look through more than the newest of them, by how often that was done and ruled out a test. A
// thousand comparisons take about an eighth of a look at a test. COMPAS at depth five and λ .001, where they rule out
// few tests: 1.81 s without, 1.95 s with all of them.
inline bool do_old_sets_pay(std::int64_t n_asked, std::int64_t n_found) {
    constexpr std::int64_t n_trials = 1024;
    return n_asked < n_trials + 8 * n_found;
}

// --- Depth two of any labels ---

// How many groups an axis with many codes is cut into. More make tighter bounds and larger tables; all tables together,
// of `width` sums per group, should stay in a near cache.
inline std::int32_t most_groups(const Local& local, std::size_t width) {
    constexpr std::size_t near_bytes = std::size_t{720} << 10;
    constexpr std::size_t few = 32;
    std::size_t n_long = 0;
    for (const LocalAxis& axis : local.axes) {
        n_long += static_cast<std::size_t>(axis.n_codes) > few ? 1 : 0;
    }
    const std::size_t fit = near_bytes / (std::max<std::size_t>(1, n_long) * width * sizeof(std::int32_t));
    return static_cast<std::int32_t>(std::clamp<std::size_t>(fit, few, 1024));
}

// How many groups one axis gets. A look at a root test passes over all groups, and into few of them: with hundreds of
// codes coarse ones are faster, with fewer every code by itself is. Measured at depth three, in milliseconds, as many
// as fit and this: 2,310 rows with 18 axes and seven labels 910 and 318, 790 and 449; with at most 256 codes as before.
inline std::int32_t groups_of_axis(std::int32_t n_codes, std::int32_t most) {
    constexpr std::int32_t few_codes = 256;
    return n_codes <= few_codes ? most : std::min(most, std::max(32, n_codes / 24));
}

// How many root tests of an axis are looked at on the first way along it. Where passing over the rows costs more than
// looking, it is worth looking at more tests on the way.
inline std::int32_t first_looks(const Local& local, std::size_t n_groups) {
    const auto n_axes = static_cast<double>(local.axes.size());
    const double looks_per_pass = local.n_rows * n_axes / (8.0 * static_cast<double>(n_groups));
    return static_cast<std::int32_t>(std::clamp(looks_per_pass, 8.0, 1e6));
}

}  // namespace certree::forecast
