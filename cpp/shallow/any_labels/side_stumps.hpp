// The two sides of one root test, and what their best stumps cost, for any number of labels.
//
// The costs of every label are summed over the left side's rows by groups of neighbouring codes of every axis. From
// these sums come the exact cost of stumps that cut between groups, and for a stump that cuts inside a group a bound:
// its rows are in neither leaf (Monotone). Only groups whose bound beats the best stump are looked at row by row, so a
// side's best stump is exact, and costs far less than one look at every threshold.
//
// Leaf minima: the further a cut of an ordered axis moves, the more one of its leaves has and the less the other. So
// the cuts that leave both enough stand side by side, and their ends are found from either end of the axis.
#pragma once

#include "shallow/any_labels/cost_tables.hpp"

namespace certree {

inline constexpr std::int32_t no_stump = std::numeric_limits<std::int32_t>::max();

// The best a side can do: a leaf, or a stump by `test` (numbered through all axes). No stump that is better than the
// leaf costs less than `bound`. `no_stump` stands for a leaf, too, where there is none.
struct SideBest {
    std::int32_t leaf = no_stump;
    std::int32_t stump = no_stump;
    std::int32_t bound = no_stump;
    std::int32_t test = -1;
};

// Tests of an axis of the tables, first to last: no stump by one of them costs less than `bound`, in rounded units.
struct Doubt {
    std::size_t axis = 0;
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t bound = 0;
};

// Numbers of every row (costs, or what minima count) summed over the left side of a root test.
class LeftSums {
public:
    LeftSums(const CostTables& tables, const PooledVector<std::int32_t>& numbers, std::size_t width);

    // Short ways from the test before are short work.
    void stand_at(std::size_t axis, std::int32_t test);

    std::span<const std::int32_t> all() const { return {group(static_cast<std::size_t>(all_)), width_}; }
    const std::int32_t* group(std::size_t number) const { return groups_.data() + number * width_; }

private:
    template <bool is_joining, bool is_far>
    void pass(std::int32_t from, std::int32_t to);

    const CostTables& tables_;
    const PooledVector<std::int32_t>& numbers_;
    std::size_t width_;
    std::size_t axis_ = 0;
    std::int32_t n_codes_ = 0;  // of an ordered axis: codes whose rows are on the left side
    std::int32_t all_;          // the whole side, as a group behind all others
    PooledVector<std::int32_t> groups_;
};

class SideStumps {
public:
    explicit SideStumps(const CostTables& tables);

    // The left side becomes the rows on which a root test holds: stumps that cut between groups, whatever their leaves
    // hold.
    void look(std::size_t axis, std::int32_t test, SideBest best[2]);

    // After `look`: the same of leaves that meet the minima.
    void look_within_minima(SideBest best[2]);

    // After either: stumps that cut inside groups as well, as far as it takes to raise the bound to `enough`. Where the
    // best stump costs no more than that, it is exact.
    void look_inside(int side, std::int32_t enough, bool is_within_minima, SideBest& best);

    // After `look`: by axis, from the first to the last stump of a side that may cost less than this.
    std::vector<Doubt> doubts_below(int side, std::int32_t cost) const;

private:
    // The groups behind which a cut leaves both leaves enough: first to last.
    struct Room {
        std::int32_t first = 0;
        std::int32_t last = 0;
    };
    Room room_for(std::size_t axis, int side);
    void tally_groups(std::size_t axis, int side, std::int32_t from, std::int32_t to);
    void tally_row(std::int32_t row);
    void look_inside(std::size_t axis, int side, std::int32_t enough, const Room& room, SideBest& best);
    std::pair<std::size_t, std::size_t> rows_to_cut(std::size_t axis, int side, std::int32_t group, const Room& room);

    const CostTables& tables_;
    std::size_t axis_ = 0;  // of the root test
    std::int32_t test_ = 0;
    LeftSums costs_;
    LeftSums tallies_;                 // brought up to the test only where minima are asked for
    std::vector<std::int32_t> least_;  // by group: least costs before and after its end, left side and right side
    std::vector<std::int32_t> sides_[2];
    std::vector<std::int32_t> before_;
    std::vector<std::int32_t> after_;
    std::vector<std::int32_t> run_;
    std::vector<std::int32_t> members_;
    std::vector<std::int32_t> tally_sides_[2];
    std::vector<std::int32_t> tally_;
    std::vector<std::int32_t> rest_;
};

}  // namespace certree
