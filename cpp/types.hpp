// Words shared by every room of the engine: amounts, row-set keys, switches.
#pragma once

#include <cstdint>
#include <limits>

namespace certree {

// Costs are integers inside the engine (fixed point): sums are exact, associative, and the same for every thread count.
using Amount = std::int64_t;

// Larger than any cost the engine can meet, small enough to be added to itself.
//
// Why sums of amounts stay in range: preparation keeps Σ worst (and with it every sum of costs, gains and balances over
// disjoint rows) below 2^56 but for the rounding of half a unit a row, and the penalty no larger than that sum plus
// one. A subproblem is looked at only where its lone leaf is allowed, so every value that a search keeps is at most a
// leaf's: below 2^57 + 2^31. A few of these, added or multiplied by a small constant, stay below 2^60. What is
// multiplied by a number of leaves, rows or levels is not in range by itself: such a product says above it why it is,
// or goes through `times`.
inline constexpr Amount unreachable = std::numeric_limits<Amount>::max() / 8;

// The product of two amounts that are not negative, `unreachable` where it is no less than that.
inline Amount times(Amount a, Amount b) {
    Amount product = 0;
    return __builtin_mul_overflow(a, b, &product) || product > unreachable ? unreachable : product;
}

// The identity of a set of rows: the sum, modulo 2^128, of one random number a row. Incremental under splits and
// independent of the path that led to the set.
struct SetKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    SetKey& operator+=(const SetKey& other) {
        low += other.low;
        high += other.high + (low < other.low ? 1U : 0U);
        return *this;
    }
    SetKey& operator-=(const SetKey& other) {
        high -= other.high + (low < other.low ? 1U : 0U);
        low -= other.low;
        return *this;
    }
    friend SetKey operator-(SetKey a, const SetKey& b) { return a -= b; }
    friend bool operator==(const SetKey&, const SetKey&) = default;
    friend auto operator<=>(const SetKey& a, const SetKey& b) {
        return a.high != b.high ? a.high <=> b.high : a.low <=> b.low;
    }
};

// Every bound, cache and kernel can be switched off; the optimum must not change. Tests do so one at a time.
enum Switch : std::uint32_t {
    no_interval = 1U << 0,       // bounds between neighbouring thresholds
    no_similarity = 1U << 1,     // bounds between any two row sets
    no_cache = 1U << 2,          // memory of solved subproblems
    no_leaf_bound = 1U << 3,     // "a split costs at least two penalties"
    no_triples = 1U << 4,        // depth three in closed form
    no_segment_trees = 1U << 5,  // depth two over many distinct values
    no_tables = 1U << 6,         // depth two by tables (segment trees instead)
    no_simd = 1U << 7,           // vector kernels
    no_fine_grid = 1U << 8,     // 32-bit amounts as fine as they can be: a coarse grid instead, and exact checks decide
    no_test_merging = 1U << 9,  // dropping tests that equal another test
    no_deepening = 1U << 10,    // solving shallower depths first
    no_relaxation = 1U << 11,   // trying without the leaf limits first
    no_steps = 1U << 12,        // adding rows to a line as steps
    no_cost_model = 1U << 13,   // weighing closed forms: every one is used wherever it can be
    no_coarse = 1U << 14,       // passing over depth-two roots by coarse tables
    no_greedy = 1U << 15,       // starting from a tree grown greedily
    no_rounds = 1U << 16,       // looking at depth-two roots in rounds, as many as intervals leave
};

}  // namespace certree
