// Best trees of depth two for any number of labels over any number of distinct values, under leaf minima and a limit of
// leaves.
//
// The best stumps of a root test's two sides come from sums by groups of codes (SideStumps). Root tests are looked at a
// few per axis, then halfway between two known ones wherever a better tree may hide:
//     cost(t) >= left(a) + right(b)   for every root test t between a and b   (Interval, leaf minima lifted),
// until nowhere one may. A step to a test nearby moves few rows from side to side.
//
// Costs are rounded down to 32 bits, so every sum is a true bound; a tree counts by its exact cost, and what rounding
// leaves open is solved in 64 bits.
#pragma once

#include "control.hpp"
#include "kernels/kernels.hpp"
#include "shallow/any_labels/stumps.hpp"
#include "shallow/outcome.hpp"

namespace certree {

class AnyLabels {
public:
    // table_bytes: what the tables of one call may take.
    AnyLabels(const Instance& instance, const Settings& settings, const Stumps& exact, const Control& control,
              std::size_t table_bytes);

    bool fits(const Local& local) const;

    // The best trees of depth two, of every number of leaves that the outcome has an entry for; nothing is promised
    // about trees that cost the budget or more. Pre: the entries hold the set's leaf. On a stop they hold the best
    // trees seen, and the lower bounds stay as they were.
    void solve(const RowSet& set, const Local& local, Amount budget, int n_threads, Outcome& outcome) const;

private:
    const Instance& instance_;
    const Settings& settings_;
    const Stumps& exact_;
    const Control& control_;
    const Kernels& kernels_;
    std::size_t table_bytes_;
};

}  // namespace certree
