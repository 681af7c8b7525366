// Trees to begin with: what a search that runs out of time falls back on. A tree is grown from the root down, one test
// for every node, and then pruned to the best of its parts. It keeps every constraint.
#pragma once

#include <functional>

#include "control.hpp"
#include "shallow/any_labels/stumps.hpp"

namespace certree {

// A tree of some rows, which keeps the limits, and what it costs there with λ. Without a tree: there is none.
struct Part {
    NodePtr tree;
    Amount value = unreachable;
    int n_leaves = 0;
};

// What is to become of a node.
struct Choice {
    RootTest test;              // none where nothing tells the rows apart or the node is to stay a leaf
    std::vector<Amount> value;  // where the whole part is known, by its number of leaves as in an Outcome;
    std::vector<NodePtr> tree;  // then it grows no further

    bool is_whole() const { return !tree.empty(); }
};

// The choice for a node with so much depth left. Both sides of a test meet the leaf minima, and so do the leaves of a
// whole part.
using Choose = std::function<Choice(const RowSet& rows, int depth_left)>;

// Of all trees that grow and are cut back to a leaf wherever that pays: the best one at λ within the depth and the
// number of leaves of the settings. On a stop the tree has grown less. Pre: the depth is limited, or the penalty is.
Part grow_tree(const Instance& instance, const Settings& settings, const Stumps& stumps, const Control& control,
               const RowSet& root, const Choose& choose);

}  // namespace certree
