// A tree grown greedily, best stump first: what a search that runs out of time falls back on. It keeps every constraint
// on leaves.
#pragma once

#include "control.hpp"
#include "stumps.hpp"

namespace certree {

NodePtr grow_greedily(const Instance& instance, const Constraints& constraints, const Stumps& stumps,
                      const Control& control, const RowSet& root);

}  // namespace certree
