// Trees to begin with: what a search that runs out of time falls back on. A tree is grown from the root down, one test
// for every node, and then pruned to the best of its parts. It keeps every constraint.
#pragma once

#include <functional>

#include "control.hpp"
#include "shallow/any_labels/stumps.hpp"

namespace certree {

// The test to put at a node with so much depth left; none where nothing tells the rows apart or the node is to stay a
// leaf. Both sides of a test meet the leaf minima.
using ChooseTest = std::function<RootTest(const RowSet& rows, int depth_left)>;

// Of all trees that grow and are cut back to a leaf wherever that pays: the best one at λ with at most max_leaves
// leaves. On a stop the tree has grown less. Pre: the depth is limited, or the penalty is.
NodePtr grow_tree(const Instance& instance, const Settings& settings, const Stumps& stumps, const Control& control,
                  const RowSet& root, const ChooseTest& choose);

}  // namespace certree
