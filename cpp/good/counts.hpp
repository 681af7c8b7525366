// How many good trees there are, by what they cost, and trees drawn from all of them with equal chances.
//
// Each node has the list of what its trees cost, in order, with how many cost so much. Lists of two sides make the list
// of an edge: every sum within the budget. At the root only their number is asked for, which takes one pass over both.
//
// Where the lists would be too long, costs are counted on a grid: a leaf's cost is rounded to the nearest multiple of
// its step, and a tree's is the sum of its leaves', off by half a step per leaf at most. So the trees within the budget
// less that are certainly good, and no good tree is beyond the budget and that: two numbers with the count between
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control.hpp"
#include "good/graph.hpp"

namespace certree::good {

__extension__ using Count = unsigned __int128;

// First the lone leaf, then each edge of the root; what they add up to is the count of the set.
struct CountRange {
    std::vector<Count> least;
    std::vector<Count> most;
    bool is_overflow = false;  // a count, or their sum, has more than 128 bits: the numbers are worth nothing
};

// A drawn or listed tree: its nodes in order of depth first, left before right; axis −1 for a leaf.
struct Trees {
    std::vector<std::int64_t> first_node{0};
    std::vector<std::int32_t> axis;
    std::vector<std::int32_t> code;
    std::vector<std::int32_t> label;
    std::vector<Amount> value;

    std::size_t size() const { return value.size(); }
    void close(Amount cost) {
        first_node.push_back(static_cast<std::int64_t>(axis.size()));
        value.push_back(cost);
    }
};

class Counts {
public:
    // At most so many entries in all lists together; `counts_ways`: a tree counts as often as it can be written with
    // the given tests.
    Counts(const Graph& graph, std::size_t most_entries, bool counts_ways, const Control& control);

    // Good trees that cost no more than this; the budget bounds it.
    CountRange count(Amount budget) const;

    // Of all good trees, each with the same chance; none where there is none. The count must not have overflowed.
    Trees draw(std::size_t n, std::uint64_t seed) const;

    bool is_exact() const { return step_ == 1; }

private:
    struct Entry {
        Amount value;  // in steps
        Count upto;    // how many trees cost no more
    };
    using List = std::span<const Entry>;

    Amount to_steps(Amount value) const;
    bool fill(std::size_t most_entries);
    bool has_listed_leaf(std::size_t node) const;
    bool has_idle_pair(std::size_t left, std::size_t right, Amount budget) const;
    Count count_pairs(std::size_t edge, Amount budget) const;
    std::vector<Count> count_root(Amount budget) const;
    List list_of(std::size_t node, Entry& leaf) const;
    static Count upto(List list, Amount budget);
    Amount draw_tree(std::size_t node, Amount least, Amount most, class Random& random, Trees& trees) const;

    const Graph& graph_;
    const Control& control_;
    bool counts_ways_;
    Amount step_ = 1;
    std::vector<int> most_leaves_;           // of a tree of the node
    std::vector<Amount> budget_;             // of each node, in steps, with what rounding may add
    std::vector<std::vector<Entry>> lists_;  // of all nodes but the root and the leaves
    mutable bool is_overflow_ = false;
    bool is_stopped_ = false;
};

// The best good trees from the first to the one before the last, in order of cost.
Trees list_trees(const Graph& graph, std::size_t first, std::size_t last, const Control& control);

// For every row and label the least cost of a good tree that gives the row this label, `unreachable` where there is
// none. `codes` are the caller's, axis-major; row-major, `n_labels` a row.
std::vector<Amount> find_row_labels(const Graph& graph, const std::int32_t* codes, const std::uint8_t* categorical,
                                    std::size_t n_rows, std::size_t n_labels, const Control& control);

}  // namespace certree::good
