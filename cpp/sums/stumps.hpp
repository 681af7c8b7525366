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

#include "kernels/kernels.hpp"
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

// Two columns (or one, twice); the arrays of a pair have tests of the first × four quadrants × tests of the second:
// both tests hold, only the first, only the second, neither.
struct ColumnPair {
    std::int32_t first;
    std::int32_t second;
};

// What a leaf gains in each quadrant, of sets of one column (taken with itself) or two, one set behind the other. Cells
// are those of SortedRows::add_to.
std::vector<Amount> find_leaf_gains(std::span<const Amount> cells, std::span<const ColumnSet> sets,
                                    std::span<const std::int32_t> sizes, std::span<const ColumnTests> tests,
                                    const LeafRule& rule);

// The best stump of each quadrant of some pairs, as far as it has been told of sets: its test is on any column of a set
// that has both columns of the pair.
class BestStumps {
public:
    // Pre: every pair of columns of a set that will be added, doubles included where it has fewer than three columns,
    // is among `pairs`. What is referred to must stay.
    BestStumps(std::span<const ColumnTests> tests, std::span<const std::int32_t> sizes, const LeafRule& rule,
               std::span<const ColumnPair> pairs, const Kernels& kernels);

    void add(const ColumnSet& set, const Amount* cells);
    // What another one was told of other sets, with the same pairs.
    void merge(const BestStumps& other);

    // Of all pairs, one behind the other; `nothing` where no stump is allowed. The tests: the first of the best ones,
    // by number among those of all columns.
    const std::vector<Amount>& gains() const { return gain_; }
    const std::vector<std::int64_t>& best_tests() const { return test_; }
    // Where the arrays of a pair begin.
    std::size_t place(std::int32_t first, std::int32_t second) const {
        return place_[static_cast<std::size_t>(first) * tests_.size() + static_cast<std::size_t>(second)];
    }

private:
    struct TestSums;
    void add_spread(const ColumnSet& set, const ColumnSet& columns, const Amount* cells);
    void offer(const TestSums& sums, std::size_t a, std::size_t k, std::int32_t first_test, std::size_t place);

    std::span<const ColumnTests> tests_;
    std::span<const std::int32_t> sizes_;
    const LeafRule& rule_;
    const Kernels& kernels_;
    std::vector<std::size_t> place_;
    std::vector<Amount> gain_;
    std::vector<std::int64_t> test_;
    std::vector<Amount> whole_;  // by channel, quadrant and second test
    std::vector<Amount> left_;   // by quadrant and second test
    std::vector<Amount> right_;
    std::vector<Amount> sums_;
    std::vector<Amount> scratch_;
};

}  // namespace certree::sums
