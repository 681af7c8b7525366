// Leaves and stumps for any number of labels and any constraint on leaves, in 64 bits.
#pragma once

#include "control.hpp"
#include "shallow/outcome.hpp"

namespace certree {

class Stumps {
public:
    Stumps(const Instance& instance, const Settings& settings, const Control& control);

    // Each puts its tree into the entries of the outcome that have room for its leaves, where it is better: the leaf,
    // the stump of one test, the best stump (on a stop the best one seen, and the lower bound stays as it was).
    void put_leaf(const RowSet& set, Outcome& outcome) const;
    void put_stump(const RowSet& set, std::int32_t axis, std::int32_t code, Outcome& outcome) const;
    void solve(const RowSet& set, const Local& local, Outcome& outcome) const;

    // The same leaf and stump of rows whose sums are known: so many numbers, one row after the other added to them.
    std::size_t sums_width() const { return n_channels_ + 1; }
    void add_sums(std::int32_t row, Amount* sums) const;
    void put_leaf_of(const Amount* sums, Outcome& outcome) const;
    void put_stump_of(const LocalAxis& cut, std::int32_t test, const Amount* left, const Amount* right,
                      Outcome& outcome) const;

    // The test that makes its sides purest (by Gini's index of what the labels weigh) of those whose sides both meet
    // the minima; or the purest of every axis that has one, best first. Of many rows and codes, it is the purest beside
    // the purest end of a group of codes. On a stop some or all are missing.
    RootTest purest(const RowSet& set) const;
    std::vector<RootTest> purest_by_axis(const RowSet& set) const;

private:
    using Channels = std::vector<Amount>;  // what each label saves; then what minima count: rows, weight, rows of arms

    void add_row(std::int32_t row, Amount* channels) const;
    Channels sum(const RowSet& set) const;
    bool is_enough(const Amount* channels) const;
    Amount most_saved(const Amount* channels) const;
    std::int32_t label_of(const Amount* channels) const;
    Amount stump_value(Amount worst, const Amount* left, const Amount* right) const;

    const Instance& instance_;
    const Settings& settings_;
    const Control& control_;
    std::size_t n_labels_;
    std::size_t n_arms_;
    std::size_t n_channels_;
};

}  // namespace certree
