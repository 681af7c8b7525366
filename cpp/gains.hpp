// What the closed forms of two labels work on and what they find.
#pragma once

#include <algorithm>

#include "control.hpp"
#include "lines.hpp"

namespace certree {

inline void raise(std::int32_t& value, std::int32_t other) {
    value = std::max(value, other);
}

// Σ |d| over the two leaves of the best stump in a set of signed sum d whose tests reach from low to high.
inline std::int32_t stump_gain(std::int32_t d, std::int32_t high, std::int32_t low) {
    return static_cast<std::int32_t>(std::max(magnitude(2 * Amount{high} - d), magnitude(2 * Amount{low} - d)));
}

// By root test and side, the largest Σ |d(leaf)| of a tree of one, two, three and four leaves. λ plays no part in them.
struct Gains {
    std::vector<std::int32_t> left[4];
    std::vector<std::int32_t> right[4];

    explicit Gains(std::size_t n_tests) {
        for (int m = 0; m < 4; ++m) {
            left[m].assign(n_tests, 0);
            right[m].assign(n_tests, 0);
        }
    }

    void merge(const Gains& other) {
        for (int m = 0; m < 4; ++m) {
            for (std::size_t t = 0; t < left[m].size(); ++t) {
                left[m][t] = std::max(left[m][t], other.left[m][t]);
                right[m][t] = std::max(right[m][t], other.right[m][t]);
            }
        }
    }

    // The gain of the best tree under a root test: Σ |d(leaf)| − 2λ · leaves, at the scale of λ: between −16λ and the
    // total.
    Amount total(std::size_t test, int shift, Amount penalty) const {
        Amount l = -unreachable;
        Amount r = -unreachable;
        for (int m = 0; m < 4; ++m) {
            l = std::max(l, (Amount{left[m][test]} << shift) - 2 * penalty * (m + 1));
            r = std::max(r, (Amount{right[m][test]} << shift) - 2 * penalty * (m + 1));
        }
        return l + r;
    }
};

// For every pair of tests, the signed sum of the rows on which both hold.
struct PairTable {
    Layout layout;
    std::size_t stride;
    std::vector<std::int32_t> cells;
    std::vector<std::int32_t> total;  // by test: the rows on which it holds
    std::int32_t all = 0;

    explicit PairTable(const Local& local)
        : layout(local, -1, -1),
          stride(LineBuilder::line_size(layout)),
          cells(stride * static_cast<std::size_t>(local.n_tests)) {}
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

    Prepared(const Instance& instance, const RowSet& set, const Local& rows, const Kernels& chosen,
             const Control& limits)
        : local(rows),
          amounts(instance, set, !limits.is_off(no_fine_grid)),
          active(rows),
          builder(rows, amounts.small, chosen, !limits.is_off(no_steps)),
          kernels(chosen),
          control(limits),
          penalty(instance.penalty) {}
};

// Consecutive tests of one axis.
struct Run {
    std::int32_t from = 0;
    std::int32_t to = 0;  // one past the last
};

// By axis, the root tests among which an optimal depth-two root (if any split is optimal) must be. Coarse to fine: see
// coarse.cpp. Empty where that is not worth trying.
std::vector<std::vector<Run>> find_promising_roots(const Prepared& prepared);

// Depth two: fills the gains of one and two leaves, and the pair table where one is given. Without a table, root tests
// that cannot be optimal may be passed over; their gains stay 0. Stops early, gains unfinished, when the control says
// so; the same for depth three.
void find_pair_gains(const Prepared& prepared, Gains& gains, PairTable* table);

// Depth three: fills the gains of three and four leaves, given those of one and two.
void find_triple_gains(const Prepared& prepared, const PairTable& table, Gains& gains, int n_threads);

}  // namespace certree
