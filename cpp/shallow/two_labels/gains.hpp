// What the closed forms of two labels work on and what they find.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>

#include "control.hpp"
#include "shallow/cost_model.hpp"
#include "shallow/two_labels/lines.hpp"
#include "shallow/two_labels/two_valued.hpp"

namespace certree {

inline void raise(std::int32_t& value, std::int32_t other) {
    value = std::max(value, other);
}

// Σ |d| over the two leaves of the best stump in a set of signed sum d whose tests reach from low to high.
inline std::int32_t stump_gain(std::int32_t d, std::int32_t high, std::int32_t low) {
    return static_cast<std::int32_t>(std::max(magnitude(2 * Amount{high} - d), magnitude(2 * Amount{low} - d)));
}

// By root test and side, the largest Σ |d(leaf)| of a tree of one, two, three and four leaves. λ plays no part in them.
// Tests that were not looked at have 0.
struct Gains {
    using Side = PooledVector<std::int32_t>[4];

    Side left;
    Side right;
    std::vector<std::int32_t> looked_at;  // tests whose gains of one and two leaves were put, each once
    int most_leaves;

    // Of sides with at most so many leaves; what is left empty is never read.
    explicit Gains(std::size_t n_tests, int n_leaves = 4) : most_leaves(n_leaves) {
        for (int m = 0; m < most_leaves; ++m) {
            left[m].assign(n_tests, 0);
            right[m].assign(n_tests, 0);
        }
    }

    // Of sides with at most two leaves, where few of very many tests may be looked at: only theirs may be read, and
    // only theirs take memory.
    static Gains of_few(std::size_t n_tests) {
        Gains gains(0, 2);
        for (int m = 0; m < gains.most_leaves; ++m) {
            gains.left[m].resize(n_tests);
            gains.right[m].resize(n_tests);
        }
        return gains;
    }

    void merge(const Gains& other) {
        for (int m = 0; m < most_leaves; ++m) {
            for (std::size_t t = 0; t < left[m].size(); ++t) {
                left[m][t] = std::max(left[m][t], other.left[m][t]);
                right[m][t] = std::max(right[m][t], other.right[m][t]);
            }
        }
    }

    // The sides of a root test by the sums d of their rows and the extremes of their stumps.
    void put_pair(std::size_t test, std::int32_t d_left, std::int32_t d_right, const Extremes& extremes) {
        looked_at.push_back(static_cast<std::int32_t>(test));
        left[0][test] = static_cast<std::int32_t>(magnitude(d_left));
        left[1][test] = stump_gain(d_left, extremes.high[0], extremes.low[0]);
        right[0][test] = static_cast<std::int32_t>(magnitude(d_right));
        right[1][test] = stump_gain(d_right, extremes.high[1], extremes.low[1]);
    }

    // The gain of the best tree on one side that has more leaves than `few` and no more than `many`: Σ |d(leaf)| −
    // 2λ · leaves, at the scale of λ: between −8λ and the total.
    Amount side(const Side& gains, std::size_t test, int shift, Amount penalty, int few, int many) const {
        Amount most = -unreachable;
        for (int m = few; m < many; ++m) {
            most = std::max(most, (Amount{gains[m][test]} << shift) - 2 * penalty * (m + 1));
        }
        return most;
    }
    Amount side(const Side& gains, std::size_t test, int shift, Amount penalty) const {
        return side(gains, test, shift, penalty, 0, most_leaves);
    }

    // The same of the best tree under a root test.
    Amount total(std::size_t test, int shift, Amount penalty) const {
        return side(left, test, shift, penalty) + side(right, test, shift, penalty);
    }
};

// For every pair of tests, the signed sum of the rows on which both hold.
struct PairTable {
    Layout layout;
    std::size_t stride;
    PooledVector<std::int32_t> cells;
    std::vector<std::int32_t> total;  // by test: the rows on which it holds
    std::int32_t all = 0;

    explicit PairTable(const Local& local)
        : layout(local, -1, -1),
          stride(LineBuilder::line_size(layout)),
          cells(stride * static_cast<std::size_t>(local.n_tests), 0) {}
    std::int32_t* row(std::int32_t test) { return cells.data() + stride * static_cast<std::size_t>(test); }
    const std::int32_t* row(std::int32_t test) const { return cells.data() + stride * static_cast<std::size_t>(test); }
};

// What the closed forms of one row set share.
struct Prepared {
    const Local& local;
    RoundedAmounts amounts;
    ActiveRows active;
    LineBuilder builder;

    const Kernels& kernels;
    const Control& control;
    Amount penalty;

    Prepared(const Instance& instance, Amount lambda, const RowSet& set, const Local& rows, const Kernels& chosen,
             const Control& limits)
        : local(rows),
          amounts(instance, set, !limits.is_off(no_fine_grid)),
          active(rows),
          builder(rows, amounts.small, chosen, !limits.is_off(no_steps),
                  forecast::are_rows_far(rows) || limits.is_off(no_cost_model)),
          kernels(chosen),
          control(limits),
          penalty(lambda) {}
};

// Consecutive tests of one axis.
struct Run {
    std::int32_t from = 0;
    std::int32_t to = 0;  // one past the last
};
using Runs = std::vector<std::vector<Run>>;  // by axis, in order

// The root tests among which an optimal depth-two root (if any split is optimal) must be. Coarse to fine: see
// coarse.cpp. Nothing where that is not worth trying, since only such a share of the tests is left to be looked at.
std::optional<Runs> find_promising_roots(const Prepared& prepared, double share);

// What a depth-two root test must gain to be of use, and what those that were passed over gain at the most. Both are
// gains of exact amounts: what is said of rounded ones is widened by their slack.
struct Wanted {
    Amount more_than = -unreachable;
    Amount passed_over = -unreachable;
};

// Rounds of batches of root tests, until intervals rule out the others: see root_rounds.cpp. Fills the gains of the
// tests looked at and returns, by axis, those that are left for find_pair_gains.
bool rounds_pay(const Prepared& prepared);
bool rounds_outrun_tables(const Prepared& prepared);
Runs look_in_rounds(const Prepared& prepared, Gains& gains, Wanted& wanted);

// Depth two: fills the gains of one and two leaves; of root tests that are not wanted they may stay 0. Stops early,
// gains unfinished, when the control says so; the same for all below.
void find_pair_gains(const Prepared& prepared, Gains& gains, Wanted& wanted);

// Largest and smallest sums of the tests on a left and a right side, in 64 bits.
struct WideExtremes {
    Amount high[2] = {0, 0};
    Amount low[2] = {0, 0};
};

// A root test: the sum of the rows on which it holds, and the stumps of its sides.
struct SideSums {
    Amount left = 0;
    WideExtremes extremes;
};

// Of some root tests, ascending, with these amounts of the rows: see sparse_roots.cpp. Empty where the control says
// stop.
std::vector<SideSums> find_side_sums(const Prepared& prepared, const std::vector<Amount>& amounts,
                                     const std::vector<std::int32_t>& tests);

// The same for every root test, and the pair table; of all rows, or of some alone, which `active` has too.
void find_all_pair_gains(const Prepared& prepared, Gains& gains, PairTable& table);
void find_all_pair_gains(const Prepared& prepared, const ActiveRows& active, std::span<const std::int32_t> rows,
                         Gains& gains, PairTable& table);

// Depth three: fills the gains of three and four leaves, given those of one and two, some milliseconds at a time. The
// work is done by pairs of axes, each of which serves the root tests of both, so an axis is finished with its last
// pair.
class TripleGains {
public:
    // axis_lower: by axis, what no tree with its root there costs less than.
    // stumps: for two-valued tests and one thread alone, see TwoValuedTriples.
    TripleGains(const Prepared& prepared, const PairTable& table, Gains& gains, std::vector<Amount> axis_lower,
                int n_threads, PairStumps* stumps = nullptr);

    // The next slice: pairs of axes one of which may have the root of a tree cheaper than the cap. False: there is
    // none left, or it was stopped, and what the slice has done counts for nothing.
    bool work(Amount cap);

    // No tree whose root is on an axis that is not finished costs less.
    Amount lower_of_unfinished() const;
    bool is_finished(std::size_t axis) const { return n_left_[axis] == 0; }

private:
    // Two axes; b is −1: all axes after a, which have one test each, in the order of two-valued ones where there are no
    // others.
    struct Task {
        std::int32_t a;
        std::int32_t b;
        double cost;
    };
    void list_tasks();
    template <class Do>
    void for_axes_of(const Task& task, Do act) const;
    std::vector<Task> next_slice(Amount cap);
    void work_off(const std::vector<Task>& slice, std::atomic<std::size_t>& next, Gains& gains);

    const Prepared& prepared_;
    const PairTable& table_;
    const Gains shallow_;
    Gains& gains_;
    std::vector<Amount> axis_lower_;
    int n_threads_;
    double slice_cost_ = 0.0;
    std::optional<TwoValuedTriples> two_valued_;
    std::vector<Task> tasks_;
    std::size_t next_task_ = 0;
    std::vector<std::int32_t> n_left_;  // by axis: tasks that are not done
};

// All of it.
void find_triple_gains(const Prepared& prepared, const PairTable& table, Gains& gains, int n_threads,
                       PairStumps* stumps = nullptr);

}  // namespace certree
