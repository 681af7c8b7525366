// What a closed form of any labels sums: costs and leaf minima of every row in 32 bits, the rows of every axis in the
// order of their codes, and both summed by groups of neighbouring codes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "control.hpp"
#include "instance/subset.hpp"
#include "kernels/kernels.hpp"
#include "pool.hpp"
#include "shallow/groups.hpp"

namespace certree {

// Costs of every row and label, rounded down to a grid of 2^shift. Lanes beyond the last label repeat the first, which
// changes no minimum.
struct DenseCosts {
    std::size_t width;
    int shift = 0;
    bool is_exact = true;  // nothing was rounded
    PooledVector<std::int32_t> costs;

    DenseCosts(const Instance& instance, const RowSet& set, bool is_fine);
    const std::int32_t* row(std::size_t i) const { return costs.data() + i * width; }

    static std::size_t width_for(std::int32_t n_labels);
};

// What leaf minima count, side by side: rows, weight, rows of each arm. Weights are in the largest unit that divides
// them all; those that do not fit in 32 bits are rounded so that no leaf seems to miss a minimum that it meets.
struct Tallies {
    std::size_t width = 0;  // 0: there are no minima
    bool is_exact = true;   // nothing was rounded
    PooledVector<std::int32_t> tallies;
    std::vector<std::int32_t> least;

    Tallies(const Instance& instance, const Settings& settings, const RowSet& set, bool is_fine);
    const std::int32_t* row(std::size_t i) const { return tallies.data() + i * width; }
    bool are_enough(const std::vector<std::int32_t>& sums) const;

    static std::size_t width_for(const Instance& instance, const Settings& settings);
};

// Rows of the set in the order of an axis's codes.
struct Order {
    std::vector<std::int32_t> rows;
    std::span<const std::int32_t> start;  // of each code

    // other: of an axis of the same rows. Where each row has a code of its own on both, codes start alike.
    Order(const LocalAxis& axis, std::int32_t n_rows, const Order* other);

private:
    std::shared_ptr<const std::vector<std::int32_t>> store_;  // of `start`
    bool is_one_by_one_;                                      // whether each row has a code of its own
};

struct CostTables {
    const Local& local;
    const Kernels& kernels;
    std::size_t n_labels;
    DenseCosts costs;
    Tallies tallies;
    std::vector<Order> order;
    std::vector<Groups> groups;
    std::vector<std::size_t> first_group;
    std::size_t n_groups = 0;
    // The groups of each row, numbered through all axes. Where each group is one code, rows of the last one are left
    // out: no test holds on them.
    std::vector<std::int32_t> place;
    std::vector<std::int32_t> place_start;  // of each row
    // By group the costs of all rows: of the group alone (categories) or of everything up to its end.
    PooledVector<std::int32_t> all;
    std::vector<std::int32_t> total;
    PooledVector<std::int32_t> all_tallies;  // by group, of the group alone
    std::vector<std::int32_t> total_tallies;

    bool is_whole(std::size_t axis) const { return groups[axis].size() == local.axes[axis].n_codes; }

    CostTables(const Instance& instance, const Settings& settings, const RowSet& set, const Local& rows,
               const Kernels& chosen, const Control& control);

    static std::size_t bytes(const Instance& instance, const Settings& settings, const Local& local);
};

}  // namespace certree
