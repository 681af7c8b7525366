// Best trees of depth two for any number of labels over any number of distinct values, where nothing but depth and λ
// limits a tree.
//
// For a root test, the costs of every label are summed over the rows of its left side by groups of neighbouring codes
// of every axis. From these sums come the exact cost of stumps that cut between groups, and for a stump that cuts
// inside a group a bound: its rows are in neither leaf (Monotone). Only groups whose bound beats the best stump are
// looked at row by row, so a side's best stump is exact, and costs far less than one look at every threshold.
//
// Root tests are looked at a few to an axis, then halfway between two known ones wherever a better tree may hide:
//     cost(t) >= left(a) + right(b)   for every root test t between a and b   (Interval),
// until nowhere one may. Each round passes once over the rows of an axis, whatever the number of tests it looks at.
//
// Costs are rounded down to 32 bits, so every sum is a true bound; a tree counts by its exact cost, and what rounding
// leaves open is solved in 64 bits.
#pragma once

#include "any_labels.hpp"
#include "control.hpp"
#include "kernels.hpp"
#include "outcome.hpp"

namespace certree {

class ManyLabels {
public:
    // table_bytes: what the tables of one call may take.
    ManyLabels(const Instance& instance, const AnyLabels& exact, const Control& control, std::size_t table_bytes);

    bool fits(const Local& local) const;

    // The best tree of depth two; nothing is promised about trees that cost the budget or more. On a stop the outcome
    // holds the best tree seen, and its lower bound stays as it was.
    void solve(const RowSet& set, const Local& local, Amount budget, int n_threads, Outcome& outcome) const;

private:
    const Instance& instance_;
    const AnyLabels& exact_;
    const Control& control_;
    const Kernels& kernels_;
    std::size_t table_bytes_;
};

}  // namespace certree
