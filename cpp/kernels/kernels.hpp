// The inner loops of the closed forms, chosen once at run time. Every vector kernel has a plain twin;
// cpp/tests/test_kernels.cpp compares the two bit for bit.
//
// A "line" is one 32-bit signed sum per test, tests numbered through all axes, padded with zeros to a multiple of
// `lanes`. A zero is neutral everywhere: it stands for a test that holds on no row.
//
// Two tests cut a row set into four quadrants, numbered 0: both hold, 1: only the first, 2: only the second, 3:
// neither.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/segment_tree.hpp"

namespace certree {

// The largest and smallest sum of a left and a right side.
struct Extremes {
    std::int32_t high[2] = {0, 0};
    std::int32_t low[2] = {0, 0};
};

// The largest and smallest sums by quadrant, for one first test and all second tests j: high[q][j], low[q][j].
struct QuadrantExtremes {
    std::int32_t* high[4];
    std::int32_t* low[4];
};

// Best sums of |d| over the leaves of one side of a root test, by number of leaves.
struct SideGains {
    std::int32_t three = 0;
    std::int32_t four = 0;
};
struct RootGains {
    SideGains left;
    SideGains right;
};

// Sums in 64 bits, of one first test and n second tests j: of the rows on which both hold, of those on which the second
// does, and in both cases, behind them, whatever the second says. A quadrant's sums follow by subtraction.
struct QuadrantSums {
    const std::int64_t* both;
    const std::int64_t* second;
    std::int64_t first;
    std::int64_t all;
};

// Costs of the best stump of a left and a right side, in a table of groups of codes: with thresholds between groups
// (`exact`), and no stump at all may cost less than `bound`.
struct CoarseStumps {
    std::int32_t left_exact;
    std::int32_t left_bound;
    std::int32_t right_exact;
    std::int32_t right_bound;
};

// Root tests "code <= test" looked at together, one in each lane: the largest and smallest sums of stumps on their left
// and right sides. They may be of several axes: lane k is a test of the axis in slot k % slots.
template <class Lane>
struct SideBatch {
    static constexpr std::size_t size = 16;
    static constexpr std::size_t slots = 8 / sizeof(Lane);  // their codes of a row are loaded in one go
    Lane test[size];
    Lane high[2][size];
    Lane low[2][size];
};

// Tests a and b of one code each beside a third, c, in every lane. Lines and sums are by test c, `width` of them; a
// line has a row's amount at the tests that hold on it, and zeros elsewhere. Of pairs of tests (a, c) and (b, c) the
// extremes stand in eight runs of `width`: the largest sums of quadrants 0 to 3, then the smallest.
template <class Lane>
struct ThreeTests {
    static constexpr std::int32_t lanes = 32 / sizeof(Lane);
    const Lane* lines;
    std::size_t width;         // a multiple of `lanes`
    const std::int32_t* rows;  // on which both a and b hold
    std::size_t n_rows;
    const Lane* with_a;  // sums of the rows on which a and c hold
    const Lane* with_b;
    const Lane* total;  // on which c holds
    Lane a_sum;
    Lane b_sum;
    Lane both_sum;
    Lane* pairs_of_a;
    Lane* pairs_of_b;
};

// The extremes of one pair of tests by quadrant.
template <class Lane>
struct PairExtremes {
    Lane high[4] = {0, 0, 0, 0};
    Lane low[4] = {0, 0, 0, 0};
};

// Where codes end among the rows of an axis: at nearly every row or hardly any; at some; or the axis is categorical.
enum class CodeEnds { alike, mixed, categories };

struct Kernels {
    static constexpr std::int32_t lanes = 8;
    static constexpr std::int32_t root_batch = SideBatch<std::int16_t>::size;

    // x = slab[t] += line[t] (x = line[t] where slab is null); then over all tests t the extremes of x, first[t] − x,
    // second[t] − x, rest_of_first[t] − (second[t] − x) widen those of quadrants 0, 1, 2, 3 at second test j.
    void (*quadrants)(std::int32_t* slab, const std::int32_t* line, const std::int32_t* first,
                      const std::int32_t* second, const std::int32_t* rest_of_first, std::int32_t n,
                      const QuadrantExtremes& extremes, std::size_t j);

    // Extremes of line[t] (side 0) and total[t] − line[t] (side 1).
    void (*halves)(const std::int32_t* line, const std::int32_t* total, std::int32_t n, Extremes& extremes);

    // Extremes of upper[t] − lower[t] (side 0).
    void (*difference)(const std::int32_t* upper, const std::int32_t* lower, std::int32_t n, Extremes& extremes);

    // line += the rows' lines, `width` sums each; width is a multiple of `lanes`.
    void (*add_rows)(std::int32_t* line, const std::int32_t* lines, std::int32_t width, const std::int32_t* rows,
                     std::size_t n);

    // The same from 16-bit lines, where every sum of the rows fits in 16 bits; width is a multiple of 2 · lanes.
    void (*add_short_rows)(std::int32_t* line, const std::int16_t* lines, std::int32_t width, const std::int32_t* rows,
                           std::size_t n);

    // The numbers of the bits that are set in both of two rows of words, ascending; returns how many. May touch up to
    // `lanes` numbers beyond them.
    std::size_t (*common_bits)(const std::uint64_t* one, const std::uint64_t* two, std::size_t n_words,
                               std::int32_t* numbers);

    // With x the sum of the rows on which a, b and c hold, for every c from `from` (a multiple of the lanes) to the
    // width: widens the extremes of (a, b) by c, those of (a, c) by b, and those of (b, c) by a. In 32 bits and, where
    // every sum fits, in 16.
    void (*triples)(const ThreeTests<std::int32_t>& tests, std::size_t from, PairExtremes<std::int32_t>& extremes);
    void (*short_triples)(const ThreeTests<std::int16_t>& tests, std::size_t from,
                          PairExtremes<std::int16_t>& extremes);

    // For each row: line[t] += its amount for all tests t from its code to n_tests − 1. A row enters every test of an
    // ordered axis from its own code on. May touch, without changing, up to `lanes` sums beyond the axis.
    void (*add_steps)(std::int32_t* line, std::int32_t n_tests, const std::int32_t* codes, const std::int32_t* amounts,
                      const std::int32_t* rows, std::size_t n);

    // For one first test (sum a_sum) and second tests j = 0..n−1: the sums of the quadrants are both[j], a_sum −
    // both[j], b_sum[j] − both[j] and what remains of `all`. Raises the gains of the first test as root, and of each
    // second test (arrays of n) as root.
    void (*meet)(std::int32_t n, const std::int32_t* both, const std::int32_t* b_sum, std::int32_t a_sum,
                 std::int32_t all, const QuadrantExtremes& extremes, RootGains& first, std::int32_t* left_three,
                 std::int32_t* left_four, std::int32_t* right_three, std::int32_t* right_four);

    // Thresholds of the first test's own axis as stumps. Over those passed so far, run_high/run_low hold the extremes
    // of both[j] (and, second array, of a_sum − both[j]). `before`: they lie below the first test and widen quadrants 0
    // and 1; then the present threshold joins them.
    void (*own_before)(std::int32_t n, const std::int32_t* both, std::int32_t a_sum, std::int32_t* const run_high[2],
                       std::int32_t* const run_low[2], const QuadrantExtremes& extremes);
    // `after`: the extremes of the thresholds above, taken relative to the present one, widen quadrants 2 and 3.
    void (*own_after)(std::int32_t n, const std::int32_t* both, std::int32_t a_sum,
                      const std::int32_t* const run_high[2], const std::int32_t* const run_low[2],
                      const QuadrantExtremes& extremes);

    // Moves rows from the right side to the left, test by test of a root axis (rows of test i: rows[start[i]..start[i +
    // 1])), each at its code on the tree's axis (codes from n_codes on have no element), and widens the extremes of
    // every test.
    void (*walk)(SegmentTree& tree, const std::int32_t* rows, const std::int32_t* start, std::int32_t n_tests,
                 const std::int32_t* codes, std::int32_t n_codes, const std::int32_t* amounts, Extremes* extremes);

    // One axis of stumps under a batch of root tests. order: 2 · row, by the rows' codes on the axis, and 1 added to
    // the last row of each code; by row, its amount and, slot by slot, its codes on the root axes. Over the codes of
    // the axis, widens the extremes of x, the sum of the rows so far on which the root test holds, and of y − x, where
    // y is the sum of all so far; sums are of one code on a categorical axis. How codes end changes the time it takes,
    // and only for categories the result. The same in 16 bits, where every sum and code fits.
    void (*sides)(const std::int32_t* order, std::int32_t n, const std::int32_t* amounts,
                  const std::int32_t* root_codes, CodeEnds ends, SideBatch<std::int32_t>& batch);
    void (*short_sides)(const std::int32_t* order, std::int32_t n, const std::int16_t* amounts,
                        const std::int16_t* root_codes, CodeEnds ends, SideBatch<std::int16_t>& batch);

    // positive[h], negative[h], h = 0..n: amounts of each label on the left side in the first h groups of an axis; the
    // same for all rows. A threshold inside group h leaves at least the groups before h on one side and those after h
    // on the other. Lowers `stumps`.
    void (*coarse)(std::int32_t n, const std::int32_t* positive, const std::int32_t* negative,
                   const std::int32_t* all_positive, const std::int32_t* all_negative, CoarseStumps& stumps);

    // Costs of any labels: `width` sums side by side, a multiple of `lanes`. cells[place] += costs, at every place; or
    // −= costs.
    void (*add_costs)(std::int32_t* cells, const std::int32_t* places, std::int32_t n_places, const std::int32_t* costs,
                      std::int32_t width);
    void (*take_costs)(std::int32_t* cells, const std::int32_t* places, std::int32_t n_places,
                       const std::int32_t* costs, std::int32_t width);

    // By group g of an axis, the least cost of one label for: x, left − x, y − x, right − (y − x), where x is cells[g]
    // and y is all[g]; on an ordered axis (is_running) x is the sum of cells[0..g]. Four results per group.
    void (*least_costs)(const std::int32_t* cells, const std::int32_t* all, std::int32_t n, std::int32_t width,
                        bool is_running, const std::int32_t* left, const std::int32_t* right, std::int32_t* least);

    // The smallest sum of results 0 and 1, and of results 2 and 3, of a group.
    void (*least_sums)(const std::int32_t* least, std::int32_t n, std::int32_t sums[2]);

    // Rows join `run` in the order of their codes. Wherever the code changes, least(run) + least(whole − run) is what a
    // cut costs there; `best` and its code `at` change where a cut costs less.
    void (*cut_rows)(const std::int32_t* costs, std::int32_t width, const std::int32_t* rows, std::int32_t n,
                     const std::int32_t* codes, std::int32_t* run, const std::int32_t* whole, std::int32_t& best,
                     std::int32_t& at);

    // Arrays of quadrants have n entries each, one quadrant behind the other. The sums of all four.
    void (*part_sums)(std::size_t n, const QuadrantSums& sums, std::int64_t* parts);

    // A third test parts the rows: `sums` are of those on which it holds, `whole` of all, by quadrant. What a leaf
    // gains on either side of it: with one signed sum for two labels, or if it had this label, where that is more than
    // before.
    void (*weigh_signed)(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t* left,
                         std::int64_t* right);
    void (*weigh_label)(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t* left,
                        std::int64_t* right);

    // A side that has less than `least` gains so little that no stump is worth it.
    void (*forbid_small)(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t least,
                         std::int64_t* left, std::int64_t* right);

    // left + right, where it is more than `gain`, or as much and the number of the test is less.
    void (*keep_best)(std::size_t n, const std::int64_t* left, const std::int64_t* right, std::int64_t number,
                      std::int64_t* gain, std::int64_t* test);
};

const Kernels& plain_kernels();
const Kernels* avx2_kernels();  // null where this processor or build has none
bool has_avx2_build();          // whether the build has them, whatever the processor
const Kernels& choose_kernels(bool is_simd_allowed);

}  // namespace certree
