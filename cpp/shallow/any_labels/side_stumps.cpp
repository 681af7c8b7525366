#include "shallow/any_labels/side_stumps.hpp"

#include <algorithm>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"

namespace certree {

namespace {

std::int32_t smallest(const std::vector<std::int32_t>& sums) {
    return *std::min_element(sums.begin(), sums.end());
}

void subtract(const std::vector<std::int32_t>& all, const std::vector<std::int32_t>& part,
              std::vector<std::int32_t>& rest) {
    std::transform(all.begin(), all.end(), part.begin(), rest.begin(), std::minus<>());
}

// What a cut inside group g costs at least, by the least costs before and after the end of every group. Pre: an ordered
// axis. Sums over disjoint rows: no more than the total, which DenseCosts keeps below 2^31 − 1. Of categories the least
// costs are of rows that overlap.
std::int32_t least_inside(const std::int32_t* least, std::int32_t g) {
    return bounds::inside_group(g > 0 ? least[4 * (g - 1)] : 0, least[4 * g + 1]);
}

// The least before[i] + after[j] of two labels i ≠ j: with one label for both, a stump is a leaf. Pre: two labels at
// least. Sums over disjoint rows: no more than the total, which DenseCosts keeps below 2^31 − 1.
std::int32_t least_of_two_labels(const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after,
                                 std::size_t n_labels) {
    struct TwoLeast {
        std::size_t label = 0;
        std::int32_t least = no_stump;
        std::int32_t second = no_stump;

        TwoLeast(const std::vector<std::int32_t>& costs, std::size_t n) {
            for (std::size_t k = 0; k < n; ++k) {
                second = std::min(second, std::max(least, costs[k]));
                label = costs[k] < least ? k : label;
                least = std::min(least, costs[k]);
            }
        }
    };
    const TwoLeast b(before, n_labels);
    const TwoLeast a(after, n_labels);
    return b.label != a.label ? b.least + a.least : std::min(b.least + a.second, b.second + a.least);
}

}  // namespace

LeftSums::LeftSums(const CostTables& tables, const PooledVector<std::int32_t>& numbers, std::size_t width)
    : tables_(tables),
      numbers_(numbers),
      width_(width),
      all_(static_cast<std::int32_t>(tables.n_groups)),
      groups_((tables.n_groups + 1) * width, 0) {}

void LeftSums::stand_at(std::size_t axis, std::int32_t test) {
    const bool is_categorical = tables_.local.axes[axis].is_categorical;
    if (axis != axis_ || is_categorical) {
        std::fill(groups_.begin(), groups_.end(), 0);
        axis_ = axis;
        n_codes_ = is_categorical ? test : 0;
    }
    const bool is_far = forecast::are_rows_far(tables_.local);
    if (test >= n_codes_) {
        is_far ? pass<true, true>(n_codes_, test + 1) : pass<true, false>(n_codes_, test + 1);
    } else {
        is_far ? pass<false, true>(test + 1, n_codes_) : pass<false, false>(test + 1, n_codes_);
    }
    n_codes_ = test + 1;
}

// The rows of codes from..to − 1 join the left side, or leave it. In the order of one axis rows lie anywhere in memory:
// where they are far, each would be waited for.
template <bool is_joining, bool is_far>
void LeftSums::pass(std::int32_t from, std::int32_t to) {
    const Order& order = tables_.order[axis_];
    const auto width = static_cast<std::int32_t>(width_);
    const auto move = is_joining ? tables_.kernels.add_costs : tables_.kernels.take_costs;
    constexpr std::int32_t n_ahead = 16;
    const std::int32_t end = order.start[static_cast<std::size_t>(to)];
    for (auto o = order.start[static_cast<std::size_t>(from)]; o < end; ++o) {
        if (is_far && o + 2 * n_ahead < end) {
            const auto later = static_cast<std::size_t>(order.rows[static_cast<std::size_t>(o + 2 * n_ahead)]);
            __builtin_prefetch(tables_.place_start.data() + later);
            __builtin_prefetch(numbers_.data() + later * width_);
        }
        if (is_far && o + n_ahead < end) {
            const auto later = static_cast<std::size_t>(order.rows[static_cast<std::size_t>(o + n_ahead)]);
            const std::int32_t* places = tables_.place.data() + tables_.place_start[later];
            __builtin_prefetch(places);
            __builtin_prefetch(tables_.place.data() + tables_.place_start[later + 1]);  // often in the next line
        }
        const auto i = static_cast<std::size_t>(order.rows[static_cast<std::size_t>(o)]);
        const std::int32_t* numbers = numbers_.data() + i * width_;
        move(groups_.data(), tables_.place.data() + tables_.place_start[i],
             tables_.place_start[i + 1] - tables_.place_start[i], numbers, width);
        move(groups_.data(), &all_, 1, numbers, width);
    }
}

SideStumps::SideStumps(const CostTables& tables)
    : tables_(tables),
      costs_(tables, tables.costs.costs, tables.costs.width),
      tallies_(tables, tables.tallies.tallies, tables.tallies.width),
      least_(4 * tables.n_groups),
      sides_{std::vector<std::int32_t>(tables.costs.width), std::vector<std::int32_t>(tables.costs.width)},
      before_(tables.costs.width),
      after_(tables.costs.width),
      run_(tables.costs.width),
      tally_sides_{std::vector<std::int32_t>(tables.tallies.width), std::vector<std::int32_t>(tables.tallies.width)},
      tally_(tables.tallies.width),
      rest_(tables.tallies.width) {}

void SideStumps::look(std::size_t root, std::int32_t test, SideBest best[2]) {
    const std::size_t width = tables_.costs.width;
    axis_ = root;
    test_ = test;
    costs_.stand_at(root, test);
    const std::span<const std::int32_t> left = costs_.all();
    sides_[0].assign(left.begin(), left.end());
    subtract(tables_.total, sides_[0], sides_[1]);
    for (int side = 0; side < 2; ++side) {
        best[side] = {};
        best[side].leaf = smallest(sides_[side]);
    }
    for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
        const LocalAxis& axis = tables_.local.axes[c];
        const Groups& groups = tables_.groups[c];
        std::int32_t* least = least_.data() + 4 * tables_.first_group[c];
        tables_.kernels.least_costs(
            costs_.group(tables_.first_group[c]), tables_.all.data() + tables_.first_group[c] * width, groups.size(),
            static_cast<std::int32_t>(width), !axis.is_categorical, sides_[0].data(), sides_[1].data(), least);
        // Cuts: behind every group but the last of an ordered axis, at every category that has a test.
        const std::int32_t n_cuts = axis.is_categorical ? axis.n_tests : groups.size() - 1;
        std::int32_t sums[2];
        tables_.kernels.least_sums(least, n_cuts, sums);
        for (int side = 0; side < 2; ++side) {
            if (sums[side] < best[side].stump) {
                const std::int32_t* pair = least + 2 * side;
                while (pair[0] + pair[1] != sums[side]) {
                    pair += 4;
                }
                const auto group = static_cast<std::size_t>((pair - least) / 4);
                best[side].stump = sums[side];
                best[side].test = axis.first_test + groups.end[group];
            }
        }
    }
}

std::vector<Doubt> SideStumps::doubts_below(int side, std::int32_t cost) const {
    std::vector<Doubt> doubts;
    const auto join = [&](std::size_t axis, std::int32_t first, std::int32_t last, std::int32_t bound) {
        if (bound >= cost || first > last) {
            return;
        }
        if (doubts.empty() || doubts.back().axis != axis) {
            doubts.push_back({axis, first, last, bound});
        }
        doubts.back().last = last;
        doubts.back().bound = std::min(doubts.back().bound, bound);
    };
    for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
        const Groups& groups = tables_.groups[c];
        const std::int32_t* least = least_.data() + 4 * tables_.first_group[c] + 2 * side;
        for (std::int32_t g = 0; g < groups.size(); ++g) {
            const std::int32_t first = g > 0 ? groups.end[static_cast<std::size_t>(g) - 1] + 1 : 0;
            const std::int32_t last = groups.end[static_cast<std::size_t>(g)];
            if (first < last) {  // several codes: an ordered axis
                join(c, first, last - 1, least_inside(least, g));
            }
            if (last < tables_.local.axes[c].n_tests) {
                join(c, last, last, least[4 * g] + least[4 * g + 1]);
            }
        }
    }
    return doubts;
}

// Adds what the groups from..to − 1 of a side hold.
void SideStumps::tally_groups(std::size_t axis, int side, std::int32_t from, std::int32_t to) {
    const std::size_t width = tables_.tallies.width;
    for (std::int32_t g = from; g < to; ++g) {
        const std::size_t number = tables_.first_group[axis] + static_cast<std::size_t>(g);
        const std::int32_t* left = tallies_.group(number);
        const std::int32_t* both = tables_.all_tallies.data() + number * width;
        for (std::size_t k = 0; k < width; ++k) {
            tally_[k] += side == 0 ? left[k] : both[k] - left[k];
        }
    }
}

void SideStumps::tally_row(std::int32_t row) {
    const std::int32_t* tally = tables_.tallies.row(static_cast<std::size_t>(row));
    for (std::size_t k = 0; k < tally_.size(); ++k) {
        tally_[k] += tally[k];
    }
}

SideStumps::Room SideStumps::room_for(std::size_t axis, int side) {
    const std::int32_t n = tables_.groups[axis].size();
    Room room{n - 1, -1};
    std::fill(tally_.begin(), tally_.end(), 0);
    for (std::int32_t g = 0; g < n - 1; ++g) {
        tally_groups(axis, side, g, g + 1);
        if (room.first == n - 1 && tables_.tallies.are_enough(tally_)) {
            room.first = g;
        }
        subtract(tally_sides_[side], tally_, rest_);
        if (!tables_.tallies.are_enough(rest_)) {
            break;
        }
        room.last = g;
    }
    return room;
}

void SideStumps::look_within_minima(SideBest best[2]) {
    tallies_.stand_at(axis_, test_);
    const std::span<const std::int32_t> left = tallies_.all();
    tally_sides_[0].assign(left.begin(), left.end());
    subtract(tables_.total_tallies, tally_sides_[0], tally_sides_[1]);
    for (int side = 0; side < 2; ++side) {
        best[side] = {};
        if (!tables_.tallies.are_enough(tally_sides_[side])) {
            continue;  // and no part of it holds more
        }
        best[side].leaf = smallest(sides_[side]);
        const auto look_at = [&](std::size_t c, std::int32_t first, std::int32_t last) {
            const std::int32_t* least = least_.data() + 4 * tables_.first_group[c] + 2 * side;
            for (std::int32_t g = first; g <= last; ++g) {
                if (least[4 * g] + least[4 * g + 1] < best[side].stump) {
                    best[side].stump = least[4 * g] + least[4 * g + 1];
                    best[side].test =
                        tables_.local.axes[c].first_test + tables_.groups[c].end[static_cast<std::size_t>(g)];
                }
            }
        };
        for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
            const LocalAxis& axis = tables_.local.axes[c];
            if (!axis.is_categorical) {
                const Room room = room_for(c, side);
                look_at(c, room.first, room.last);
                continue;
            }
            for (std::int32_t g = 0; g < axis.n_tests; ++g) {
                std::fill(tally_.begin(), tally_.end(), 0);
                tally_groups(c, side, g, g + 1);
                subtract(tally_sides_[side], tally_, rest_);
                if (tables_.tallies.are_enough(tally_) && tables_.tallies.are_enough(rest_)) {
                    look_at(c, g, g);
                }
            }
        }
    }
}

void SideStumps::look_inside(int side, std::int32_t enough, bool is_within_minima, SideBest& best) {
    best.bound = best.stump;
    for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
        const std::int32_t n = tables_.groups[c].size();
        if (!tables_.is_whole(c)) {
            const Room room = is_within_minima ? room_for(c, side) : Room{-1, n};
            look_inside(c, side, enough, room, best);
        }
    }
    best.bound = std::min(best.bound, best.stump);
}

void SideStumps::look_inside(std::size_t axis, int side, std::int32_t enough, const Room& room, SideBest& best) {
    const LocalAxis& root = tables_.local.axes[axis_];
    const LocalAxis& cut = tables_.local.axes[axis];
    const Groups& groups = tables_.groups[axis];
    const Order& order = tables_.order[axis];
    const std::size_t width = tables_.costs.width;
    const std::int32_t* least = least_.data() + 4 * tables_.first_group[axis] + 2 * side;
    const std::int32_t* cells = costs_.group(tables_.first_group[axis]);
    const std::int32_t* all = tables_.all.data() + tables_.first_group[axis] * width;
    std::fill(before_.begin(), before_.end(), 0);  // the left side's costs before the group
    std::int32_t summed = 0;
    // Before the first group there is not enough on one side of a cut, beyond the one after the last on the other.
    const std::int32_t n_groups = std::min(groups.size(), room.last + 2);
    for (std::int32_t g = std::max(0, room.first); g < n_groups; ++g) {
        const std::int32_t first = g > 0 ? groups.end[static_cast<std::size_t>(g) - 1] + 1 : 0;
        const std::int32_t last = groups.end[static_cast<std::size_t>(g)];
        // A stump that is no better than a leaf is of no use.
        const auto is_enough = [&](std::int32_t bound) {
            if (bound >= enough && bound < best.stump) {
                best.bound = std::min(best.bound, bound);
            }
            return bound >= std::min({enough, best.stump, best.leaf});
        };
        if (first == last || is_enough(least_inside(least, g))) {
            continue;
        }
        for (; summed < g; ++summed) {
            for (std::size_t k = 0; k < width; ++k) {
                before_[k] += cells[static_cast<std::size_t>(summed) * width + k];
            }
        }
        const std::int32_t* in_left = cells + static_cast<std::size_t>(g) * width;
        const std::int32_t* up_to = all + static_cast<std::size_t>(g) * width;
        for (std::size_t k = 0; k < width; ++k) {
            const std::int32_t all_before = g > 0 ? *(up_to + k - width) : 0;
            const std::int32_t inside = side == 0 ? in_left[k] : up_to[k] - all_before - in_left[k];
            run_[k] = side == 0 ? before_[k] : all_before - before_[k];
            after_[k] = sides_[side][k] - run_[k] - inside;
        }
        if (is_enough(least_of_two_labels(run_, after_, tables_.n_labels))) {
            continue;
        }
        const auto from = static_cast<std::size_t>(order.start[static_cast<std::size_t>(first)]);
        const auto to = static_cast<std::size_t>(order.start[static_cast<std::size_t>(last) + 1]);
        members_.resize(to - from);
        std::size_t n_members = 0;
        for (std::size_t o = from; o < to; ++o) {  // without branches: which side a row is on is anyone's guess
            members_[n_members] = order.rows[o];
            n_members += root.holds(root.codes[order.rows[o]], test_) == (side == 0) ? 1 : 0;
        }
        members_.resize(n_members);
        const auto [begin, end] = rows_to_cut(axis, side, g, room);
        for (std::size_t m = 0; m < begin; ++m) {
            const std::int32_t* costs = tables_.costs.row(static_cast<std::size_t>(members_[m]));
            for (std::size_t k = 0; k < width; ++k) {
                run_[k] += costs[k];
            }
        }
        std::int32_t at = -1;
        tables_.kernels.cut_rows(tables_.costs.costs.data(), static_cast<std::int32_t>(width), members_.data() + begin,
                                 static_cast<std::int32_t>(end - begin), cut.codes, run_.data(), sides_[side].data(),
                                 best.stump, at);
        if (at >= 0) {
            best.test = cut.first_test + at;
        }
    }
}

// The rows of a group, from begin to end − 1, between any two of which a cut leaves enough.
std::pair<std::size_t, std::size_t> SideStumps::rows_to_cut(std::size_t axis, int side, std::int32_t group,
                                                            const Room& room) {
    std::size_t begin = 0;
    std::size_t end = members_.size();
    if (group == room.first) {
        std::fill(tally_.begin(), tally_.end(), 0);
        tally_groups(axis, side, 0, group);
        for (; begin < end; ++begin) {
            tally_row(members_[begin]);
            if (tables_.tallies.are_enough(tally_)) {
                break;
            }
        }
    }
    if (group == room.last + 1) {
        std::fill(tally_.begin(), tally_.end(), 0);
        tally_groups(axis, side, group + 1, tables_.groups[axis].size());
        for (; end > begin; --end) {
            tally_row(members_[end - 1]);
            if (tables_.tallies.are_enough(tally_)) {
                break;
            }
        }
    }
    return {begin, end};
}

}  // namespace certree
