// All good trees as one graph. A node stands for a set of rows and the depth that is left below it: its trees are its
// leaf, and for each of its edges, which are tests, every tree of the one side with every tree of the other. A tree is
// good where it costs no more than the budget.
//
// Plain arrays: the graph crosses the door to Python and back, and no C++ object stays behind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "types.hpp"

namespace certree::good {

struct Graph {
    // Node 0 is the root, and a child has a larger number than its parents.
    std::vector<Amount> leaf;                 // what the leaf costs with its λ; `unreachable` where it is not allowed
    std::vector<std::int32_t> label;          // of the leaf
    std::vector<std::uint8_t> is_asked;       // 1: a leaf of a start, whose sibling may have the same label
    std::vector<std::int64_t> first_edge{0};  // of each node, and the end

    // Edges, in the caller's axes and codes. Left is where the test holds.
    std::vector<std::int32_t> axis;
    std::vector<std::int32_t> code;
    std::vector<std::int32_t> left;
    std::vector<std::int32_t> right;
    std::vector<std::int32_t> columns;  // number of the set of columns that could ask it
    std::vector<std::int32_t> ways;     // how many of the given tests part the rows so

    Amount budget = 0;
    // Whether a split into two leaves of one label makes a tree.
    bool has_idle = false;

    std::size_t n_nodes() const { return leaf.size(); }
    std::size_t n_edges() const { return axis.size(); }
    void add_edge(std::int32_t at_axis, std::int32_t at_code, std::int32_t to_left, std::int32_t to_right,
                  std::int32_t by_columns, std::int32_t in_ways) {
        axis.push_back(at_axis);
        code.push_back(at_code);
        left.push_back(to_left);
        right.push_back(to_right);
        columns.push_back(by_columns);
        ways.push_back(in_ways);
    }
    // The test of an edge of another graph, between nodes of this one.
    void add_edge(const Graph& other, std::size_t e, std::int32_t to_left, std::int32_t to_right) {
        add_edge(other.axis[e], other.code[e], to_left, to_right, other.columns[e], other.ways[e]);
    }
    void add_node(Amount leaf_cost, std::int32_t leaf_label, std::uint8_t is_leaf_of_start = 0) {
        leaf.push_back(leaf_cost);
        label.push_back(leaf_label);
        is_asked.push_back(is_leaf_of_start);
    }
    bool is_leaf(std::size_t node) const { return first_edge[node] == first_edge[node + 1]; }

    // Whether two leaves may not be the sides of one split.
    bool are_idle(std::size_t one, std::size_t two) const {
        return !has_idle && label[one] == label[two] && is_asked[one] == 0;
    }
};

// What the best trees of the nodes cost: any tree, and any tree that splits.
struct Optima {
    std::vector<Amount> any;
    std::vector<Amount> split;
    std::vector<Amount> edge;  // the best tree under each edge

    explicit Optima(const Graph& graph);
};

// For each edge what the best tree that has it costs, from the root on.
std::vector<Amount> best_through(const Graph& graph);

// A part of a graph that is not searched yet: the least that a tree of this node which the graph lacks may cost.
struct Open {
    std::int32_t node;
    Amount lower;
};

// Keeps the edges with a good tree, and the nodes below them. Returns what a tree that the graph lacks because of the
// open nodes costs at least, `unreachable` where there is none.
Amount prune(Graph& graph, const std::vector<Open>& open = {});

// The good trees of some edges alone, 1 for each that is kept, and with or without the lone leaf, within a budget.
Graph keep_edges(const Graph& graph, std::span<const std::uint8_t> is_kept, bool has_lone_leaf, Amount budget);

// The good trees with at least and at most so many leaves: a node for each number of leaves that trees of the old
// one have.
Graph with_leaves(const Graph& graph, int least, int most);

}  // namespace certree::good
