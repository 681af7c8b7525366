// Best trees of depth one and two in closed form for any number of labels and any constraint on leaves.
//
// For a root test, the sums of every label (and of rows, weights, arms where a minimum asks for them) under every
// second test form one line; the best child of either side is read off the line. Lines of neighbouring codes differ by
// the rows of one code, so a whole axis of root tests costs one pass over the rows and one line a test.
#pragma once

#include "control.hpp"
#include "outcome.hpp"

namespace certree {

class AnyLabels {
public:
    AnyLabels(const Instance& instance, const Constraints& constraints);

    // depth is 1 or 2; width as in Outcome. On a stop the outcome's lower bound stays trivial.
    void solve(const RowSet& set, const Local& local, int depth, Outcome& outcome, const Control& control) const;

    // Operations of a closed form of depth two, against which the search weighs its alternatives.
    double pair_operations(const Local& local) const;

    Amount leaf_value(const RowSet& set) const;  // cost with λ, `unreachable` where a minimum is not met
    std::int32_t leaf_label(const RowSet& set) const;

private:
    struct Side;
    void add_row(std::int32_t row, Amount* channels) const;
    Amount gain(const Amount* channels) const;
    Amount gain_of_rest(const Amount* whole, const Amount* part) const;
    bool is_feasible(const Amount* channels) const;

    const Instance& instance_;
    const Constraints& constraints_;
    std::size_t n_labels_;
    std::size_t n_channels_;
    bool has_minimum_;
};

}  // namespace certree
