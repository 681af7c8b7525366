// What is known of a subproblem after looking at it.
#pragma once

#include <vector>

#include "instance/subset.hpp"

namespace certree {

// A test at the root of a tree, in the instance's axes and codes; axis −1: none, the tree is a leaf.
struct RootTest {
    std::int32_t axis = -1;
    std::int32_t code = 0;
};

// The root test that a closed form found, and the depth it was found for.
struct ClosedRoot {
    int depth = -1;
    std::int32_t axis = -1;
    std::int32_t code = 0;
};

// With no limit on leaves there is one entry: the best tree. With a limit, entry m − 1 is the best tree of at most m
// leaves. A value is the cost with λ per leaf; `unreachable` where no tree below the budget exists or was found.
struct Outcome {
    Amount lower = 0;    // no tree of the subproblem costs less
    Amount relaxed = 0;  // the same with every leaf minimum lifted: what Monotone and Difference may be applied to
    std::vector<Amount> value;
    std::vector<NodePtr> tree;  // null where the tree is to be read off a closed form on demand
    ClosedRoot closed;          // where to read it

    explicit Outcome(std::size_t width = 1) : value(width, unreachable), tree(width) {}
    Amount best() const { return value.back(); }
};

}  // namespace certree
