// Which test to put at the root of a deep tree, guessed by growing a tree below each: every node of it takes the test
// that makes its sides purest, and it is cut back at λ. It is grown over few groups of codes per axis, in floating
// point: nothing rests on what it says but the order in which tests are tried.
#pragma once

#include <cstdint>
#include <vector>

#include "control.hpp"
#include "shallow/outcome.hpp"

namespace certree {

class Rollouts {
public:
    Rollouts(const Instance& instance, Amount penalty);

    // The tests in the order of the trees that they grow, best first. On a stop some are left out.
    std::vector<RootTest> rank(const RowSet& rows, const std::vector<RootTest>& tests, int depth,
                               const Control& control);

private:
    using Rows = std::int32_t*;

    struct GroupedAxis {
        std::size_t first = 0;  // its groups stand there in the sums
        std::size_t n_groups = 0;
        bool is_categorical = false;
        std::vector<std::int32_t> group_of;  // by code
    };
    // A test of a node: rows of an axis whose group is no later than this, or is this one.
    struct Cut {
        double purity = -1.0;
        std::size_t axis = 0;
        std::size_t group = 0;
    };

    // What the labels save on some rows: on all of them, and on those of each group.
    struct Sums {
        double worst = 0.0;
        std::vector<float> all;
        std::vector<float> groups;  // of the long axes, the labels of a group side by side
        std::vector<float> firsts;  // of the short axes, the axes of a label side by side
    };

    double grow(Rows begin, Rows end, int depth, const Sums& sums);
    double grow_sides(Rows begin, Rows middle, Rows end, int depth, const Sums& sums);
    void add_up(Rows begin, Rows end, Sums& sums) const;
    Cut purest(const Sums& sums) const;
    double purity(const float* left, const std::vector<float>& all) const;

    const Instance& instance_;
    double penalty_;
    std::size_t n_labels_;
    std::vector<GroupedAxis> axes_;     // those of more than two groups first
    std::size_t n_long_ = 0;            // how many those are
    std::size_t n_short_ = 0;           // the others
    std::vector<std::uint8_t> groups_;  // row-major, of the long axes
    std::vector<float> is_first_;       // row-major, of the short axes: 1 where the group is the first
    std::vector<float> saves_;          // row-major: what each label saves; what all weigh alike is part of each
    std::vector<float> worst_;
    std::size_t n_groups_ = 0;
    std::vector<Sums> sums_;  // by depth left: of the smaller side, and of the other
    std::vector<std::int32_t> scratch_;
};

}  // namespace certree
