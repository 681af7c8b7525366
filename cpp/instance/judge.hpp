// What a finished tree costs and whether it keeps the limits, judged from the instance alone.
#pragma once

#include "instance/subset.hpp"

namespace certree {

// Cost (without λ) and leaves of a tree on all rows of an instance, or on some of them.
struct Judged {
    Amount cost = 0;
    int leaves = 0;
};
Judged judge(const Instance& instance, const NodePtr& tree);
Judged judge(const Instance& instance, const NodePtr& tree, const RowSet& rows);

// Whether a tree keeps the limits on the number and the size of leaves. A lone leaf always does.
bool keeps_limits(const Instance& instance, const Settings& settings, const NodePtr& tree, const RowSet& root);

// The same tree without splits that change nothing (both children the same label, or one side without rows).
NodePtr simplify(const Instance& instance, const NodePtr& tree, const RowSet& set);

}  // namespace certree
