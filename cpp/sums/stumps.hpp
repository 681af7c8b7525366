// From sums over cells to gains: what the leaf, and what the best stump, gains in each quadrant of two tests. With
// these the best tree of depth three follows by looking at pairs of tests alone.
//
// A leaf gains what its best label saves; the cost of a tree is a constant less the gains of its leaves. With two
// labels one signed channel is enough: the amounts of label 0 less those of label 1. Its magnitude is twice what the
// better label saves above half of all amounts, so gains and penalties are then counted twice (docs/method.md, section
// 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sums/cells.hpp"
#include "types.hpp"

namespace certree::sums {

// What a leaf or stump gains that a minimum forbids. Gains are below 2^57 in magnitude, and eight of these can be
// added.
inline constexpr Amount nothing = -(Amount{1} << 59);

// The tests of one column, each a set of codes: those of an earlier test (base, or none: -1) and the codes added to it.
struct ColumnTests {
    std::int32_t first = 0;  // number of its first test among those of all columns
    std::int32_t n_tests = 0;
    std::vector<std::int32_t> base;
    std::vector<std::int32_t> start;  // n_tests + 1 places in `added`
    std::vector<std::int32_t> added;
};

struct LeafRule {
    std::size_t n_labels = 0;   // channels that are labels; 1: one signed channel for two labels
    std::vector<Amount> least;  // what each further channel must reach in every leaf

    std::size_t n_channels() const { return n_labels + least.size(); }
    Amount gain(const Amount* sums) const;
};

// Two columns (or one, twice); the arrays of a pair have tests of the first × tests of the second × four quadrants:
// both tests hold, only the first, only the second, neither.
struct ColumnPair {
    std::int32_t first;
    std::int32_t second;
};

struct BestStumps {
    std::vector<Amount> gain;        // `nothing` where no stump is allowed
    std::vector<std::int32_t> test;  // the first of the best ones, by number among those of all columns
};

// What a leaf gains in each quadrant, of sets of one column (taken with itself) or two, one set behind the other.
std::vector<Amount> find_leaf_gains(std::span<const Amount> cells, std::span<const ColumnSet> sets,
                                    std::span<const std::int32_t> sizes, std::span<const ColumnTests> tests,
                                    const LeafRule& rule);

// The best stump of each quadrant of the pairs, as far as the sets have it: its test is on any column of a set that has
// both columns of the pair. Pre: every pair of columns of a set, doubles included where it has fewer than three
// columns, is among `pairs`.
BestStumps find_stumps(std::span<const Amount> cells, std::span<const ColumnSet> sets,
                       std::span<const std::int32_t> sizes, std::span<const ColumnTests> tests, const LeafRule& rule,
                       std::span<const ColumnPair> pairs);

}  // namespace certree::sums
