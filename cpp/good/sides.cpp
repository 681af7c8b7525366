#include "good/sides.hpp"

#include <algorithm>
#include <functional>

#include "bounds.hpp"

namespace certree::good {

namespace {

constexpr std::size_t most_table_bytes = std::size_t{256} << 20;

std::size_t table_bytes(const Limits& limits) {
    return limits.memory_bytes <= 0 ? most_table_bytes
                                    : std::min(most_table_bytes, static_cast<std::size_t>(limits.memory_bytes) / 4);
}

Settings without_limits(const Settings& settings) {
    Settings unlimited;
    unlimited.penalty = settings.penalty;
    return unlimited;
}

}  // namespace

RootTestFinder::RootTestFinder(const Instance& instance, const Settings& settings, const Limits& limits,
                               const Control& control)
    : instance_(instance),
      control_(control),
      kernels_(choose_kernels(!control.is_off(no_simd))),
      unlimited_(without_limits(settings)),
      table_bytes_(table_bytes(limits)),
      search_(instance, unlimited_, limits, control),
      two_labels_(instance, unlimited_, control, table_bytes_),
      is_two_valued_(instance.n_labels == 2 && std::all_of(instance.axes.begin(), instance.axes.end(),
                                                           [](const Axis& axis) { return axis.n_codes == 2; })) {}

std::shared_ptr<const RootTestFinder::Ground> RootTestFinder::make_ground(const RowSet& set, Local&& local) const {
    return std::make_shared<Ground>(instance_, unlimited_.penalty, set, std::move(local), kernels_, control_);
}

// A look at one test costs a closed form of depth two on each of its sides; half of the tests are to be expected.
bool RootTestFinder::has_closed_form(const Local& local, int depth) const {
    if (instance_.n_labels != 2 || depth > 3) {
        return false;
    }
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    if (n_tests * n_tests > table_bytes_ / sizeof(std::int32_t)) {
        return false;
    }
    return depth == 2 || (!control_.is_off(no_triples) && 2 * two_labels_.looks_in_triples(local) < local.n_tests);
}

// What the best tree under a test costs at least, by its gain.
Amount RootTestFinder::least(Amount worst, const RootTests& found, const SidesOfTest& test) {
    return (worst - test.total - found.slack) >> 1;
}

std::optional<RootTestFinder::Range> RootTestFinder::bound(const RowSet& set, int depth) {
    Local local(instance_, set);
    if (depth < 2 || local.n_tests == 0 || !has_closed_form(local, depth)) {
        return std::nullopt;
    }
    const std::shared_ptr<const Ground> ground = make_ground(set, std::move(local));
    kept_ = find_closed(set, ground, depth, unreachable);
    if (!kept_->is_complete) {
        return std::nullopt;
    }
    Amount most = (set.balance < 0 ? -set.balance : set.balance) - 2 * unlimited_.penalty;
    for (const SidesOfTest& test : kept_->tests) {
        most = std::max(most, test.total);
    }
    return Range{(set.worst - most - kept_->slack) >> 1, (set.worst - most + kept_->slack + 1) >> 1};
}

RootTests RootTestFinder::find(const RowSet& set, int depth, Amount budget) {
    if (kept_) {
        RootTests found = std::move(*kept_);
        kept_.reset();
        std::erase_if(found.tests, [&](const SidesOfTest& test) { return least(set.worst, found, test) > budget; });
        return found;
    }
    leave_table();
    // With two codes on every axis a part has the tests of the whole, but for those that tell it nothing: what is made
    // ready for the whole will do.
    if (is_two_valued_ && depth == 2) {
        if (!whole_) {
            const RowSet all = all_rows(instance_);
            Local local(instance_, all);
            is_two_valued_ = has_closed_form(local, depth);
            whole_ = is_two_valued_ ? make_ground(all, std::move(local)) : nullptr;
        }
        if (whole_) {
            return find_closed(set, whole_, depth, budget);
        }
    }
    Local local(instance_, set);
    if (local.n_tests == 0) {
        return {};
    }
    return has_closed_form(local, depth) ? find_closed(set, make_ground(set, std::move(local)), depth, budget)
                                         : find_by_intervals(set, local, depth, budget);
}

// Rounded amounts make each gain wrong by at most the slack, that of both sides together included.
RootTests RootTestFinder::find_closed(const RowSet& set, std::shared_ptr<const Ground> ground, int depth,
                                      Amount budget) {
    const Amount penalty = unlimited_.penalty;
    const Local& local = ground->local;
    const Prepared& prepared = ground->prepared;
    const bool is_part = set.rows.size() < static_cast<std::size_t>(local.n_rows);
    const bool is_whole = is_two_valued_ && !is_part && local.n_rows == instance_.n_rows;
    if (is_whole) {
        whole_ = ground;
    }
    table_ = Table{std::move(ground), PairTable(local)};
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    const int shift = prepared.amounts.shift;
    const int most_leaves = depth == 2 ? 2 : 4;
    Gains gains(n_tests, most_leaves);
    if (is_part) {
        active_.reset(local, set.rows);
        find_all_pair_gains(prepared, active_, set.rows, gains, table_->pairs);
    } else {
        find_all_pair_gains(prepared, gains, table_->pairs);
    }
    if (depth == 3 && !control_.should_stop()) {
        PairStumps* stumps = has_lines() && is_whole ? &stumps_.emplace(n_tests) : nullptr;
        find_triple_gains(prepared, table_->pairs, gains, 1, stumps);
    }
    RootTests found;
    found.are_gains = true;
    found.slack = prepared.amounts.slack;
    if (control_.should_stop()) {
        found.is_complete = false;
        return found;
    }
    const auto split_gain = [&](const Gains::Side& side, std::size_t test) {
        Amount most = -unreachable;
        for (int m = 1; m < most_leaves; ++m) {
            most = std::max(most, (Amount{side[m][test]} << shift) - 2 * penalty * (m + 1));
        }
        return most;
    };
    for (const LocalAxis& axis : local.axes) {
        for (std::int32_t test = 0; test < axis.n_tests; ++test) {
            const auto t = static_cast<std::size_t>(axis.first_test + test);
            SidesOfTest sides{axis.axis, axis.code_of(test), 0, 0, gains.total(t, shift, penalty)};
            if (least(set.worst, found, sides) > budget) {
                continue;
            }
            sides.left = split_gain(gains.left, t);
            sides.right = split_gain(gains.right, t);
            if (axis.is_reversed) {
                std::swap(sides.left, sides.right);
            }
            found.tests.push_back(sides);
        }
    }
    return found;
}

void RootTestFinder::leave_table() {
    if (table_ && stumps_ && !whole_table_) {
        whole_table_ = std::move(table_);
    }
    table_.reset();
}

std::int32_t RootTestFinder::test_at(const Local& local, std::int32_t axis, std::int32_t code) {
    const auto own = std::find_if(local.axes.begin(), local.axes.end(),
                                  [&](const LocalAxis& candidate) { return candidate.axis == axis; });
    std::int32_t test = 0;
    while (own->code_of(test) != code) {
        ++test;
    }
    return own->first_test + test;
}

void Line::set_rest(const Line& set, const Line& some) {
    sums.resize(set.sums.size());
    std::transform(set.sums.begin(), set.sums.end(), some.sums.begin(), sums.begin(), std::minus<>());
    all = set.all - some.all;
}

void RootTestFinder::find_line(std::int32_t axis, std::int32_t code, bool is_left, Line& line) {
    leave_table();
    const Local& local = whole_->local;
    const PairTable& pairs = whole_table_->pairs;
    const std::int32_t test = test_at(local, axis, code);
    const bool is_inside = is_left != local.axes[local.axis_of(test)].is_reversed;
    const std::int32_t sum = pairs.total[static_cast<std::size_t>(test)];
    line.sums.assign(pairs.row(test), pairs.row(test) + pairs.stride);
    line.all = is_inside ? sum : pairs.all - sum;
    if (!is_inside) {
        std::transform(pairs.total.begin(), pairs.total.end(), line.sums.begin(), line.sums.begin(), std::minus<>());
    }
}

// The side has two quadrants under every other test, and of each the sum and the best stump are known.
RootTests RootTestFinder::find_seconds(std::int32_t axis, std::int32_t code, bool is_left, Amount worst,
                                       Amount budget) {
    find_line(axis, code, is_left, line_);
    const Local& local = whole_->local;
    const Layout& layout = whole_table_->pairs.layout;
    const RoundedAmounts& amounts = whole_->prepared.amounts;
    const Amount penalty = unlimited_.penalty;
    const auto first = static_cast<std::size_t>(test_at(local, axis, code));
    const bool is_inside = is_left != local.axes[local.axis_of(static_cast<std::int32_t>(first))].is_reversed;
    RootTests found;
    found.are_gains = true;
    found.slack = amounts.slack;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& other = local.axes[a];
        const auto second = static_cast<std::size_t>(other.first_test);
        if (second == first) {
            continue;
        }
        const Amount x = line_.sums[static_cast<std::size_t>(layout.offset[a])];
        const std::int32_t* stumps = stumps_->at(first, second) + (is_inside ? 0 : 2);
        const auto leaf_gain = [&](Amount d) { return (magnitude(d) << amounts.shift) - 2 * penalty; };
        const auto split_gain = [&](std::int32_t gain) { return (Amount{gain} << amounts.shift) - 4 * penalty; };
        SidesOfTest sides{other.axis, other.code_of(0), split_gain(stumps[0]), split_gain(stumps[1]), 0};
        sides.total = std::max(leaf_gain(x), sides.left) + std::max(leaf_gain(line_.all - x), sides.right);
        if (least(worst, found, sides) > budget) {
            continue;
        }
        if (other.is_reversed) {
            std::swap(sides.left, sides.right);
        }
        found.tests.push_back(sides);
    }
    return found;
}

// With y the signed sum of the side and x that of the side and a test, two leaves cost (D − |x| − |y − x|) / 2 + 2λ:
// (D − gain · 2^s − slack) / 2 + 2λ <= budget.
Amount RootTestFinder::least_gain_of_stump(const RoundedAmounts& amounts, Amount worst, Amount budget) const {
    return (worst - 2 * (budget - 2 * unlimited_.penalty) - amounts.slack - 1) >> amounts.shift;
}

void RootTestFinder::add_line(std::span<const std::int32_t> rows, Line& line) {
    const Prepared& prepared = whole_->prepared;
    const Layout layout(whole_->local, -1, -1);
    line.sums.assign(LineBuilder::line_size(layout), 0);
    scratch_.resize(prepared.builder.scratch_size());
    prepared.builder.add(line.sums.data(), rows.data(), rows.size(), layout, scratch_.data());
    line.all = 0;
    for (const std::int32_t row : rows) {
        line.all += prepared.amounts.small[static_cast<std::size_t>(row)];
    }
}

RootTests RootTestFinder::find_stumps(const Line& line, Amount worst, Amount budget) const {
    const Local& local = whole_->local;
    const Layout layout(local, -1, -1);
    const Amount y = line.all;
    const Amount least_gain = least_gain_of_stump(whole_->prepared.amounts, worst, budget);
    RootTests found;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const Amount x = line.sums[static_cast<std::size_t>(layout.offset[a])];
        if (magnitude(x) + magnitude(y - x) >= least_gain) {
            found.tests.push_back({local.axes[a].axis, local.axes[a].code_of(0), 0, 0});
        }
    }
    return found;
}

void RootTestFinder::add_stumps(std::int32_t axis, std::int32_t code, bool is_left, Amount worst, Amount budget,
                                std::vector<Stump>& to) const {
    const Local& local = table_->ground->local;
    const PairTable& pairs = table_->pairs;
    const RoundedAmounts& amounts = table_->ground->prepared.amounts;
    const std::int32_t test = test_at(local, axis, code);
    const bool is_inside = is_left != local.axes[local.axis_of(test)].is_reversed;
    const std::int32_t* inside = pairs.row(test);
    const std::int32_t y = is_inside ? pairs.total[static_cast<std::size_t>(test)]
                                     : pairs.all - pairs.total[static_cast<std::size_t>(test)];
    const Amount least_gain = least_gain_of_stump(amounts, worst, budget);
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& other = local.axes[a];
        const std::int32_t offset = pairs.layout.offset[a];
        for (std::int32_t t = 0; t < other.n_tests; ++t) {
            const std::int32_t both = inside[offset + t];
            const auto place = static_cast<std::size_t>(other.first_test + t);
            const std::int32_t x = is_inside ? both : pairs.total[place] - both;
            if (magnitude(x) + magnitude(Amount{y} - x) >= least_gain) {
                to.push_back({other.axis, other.code_of(t)});
            }
        }
    }
}

// The tests of an axis between two that were looked at are bounded by these (Interval); what is left is looked at, the
// middle first.
RootTests RootTestFinder::find_by_intervals(const RowSet& set, const Local& local, int depth, Amount budget) {
    using bounds::Sides;
    struct Part {
        std::int32_t from, to;  // tests, to: one past the last
        std::int32_t below_at, above_at;
        Sides below, above;
    };
    const Amount penalty = unlimited_.penalty;
    RootTests found;
    std::vector<Amount> mass;
    std::vector<Part> parts;
    for (const LocalAxis& axis : local.axes) {
        mass.assign(static_cast<std::size_t>(axis.n_codes) + 1, 0);
        for (std::size_t i = 0; i < set.rows.size(); ++i) {
            mass[static_cast<std::size_t>(axis.codes[i]) + 1] += instance_.worst[static_cast<std::size_t>(set.rows[i])];
        }
        for (std::size_t c = 1; c < mass.size(); ++c) {
            mass[c] += mass[c - 1];
        }
        const Sides unknown{penalty, penalty};
        const bool is_ordered = !axis.is_categorical && !control_.is_off(no_interval);
        if (is_ordered) {
            parts.assign(1, {0, axis.n_tests, -1, axis.n_tests, unknown, unknown});
        } else {
            parts.clear();
            for (std::int32_t test = 0; test < axis.n_tests; ++test) {
                parts.push_back({test, test + 1, -1, axis.n_tests, unknown, unknown});
            }
        }
        // Rows up to and with a test; the ends of the axis are no tests, and nothing is known of them.
        const auto upto = [&](std::int32_t test) { return mass[static_cast<std::size_t>(test) + 1]; };
        const auto sides_at = [&](const Part& part, std::int32_t test) {
            if (!is_ordered) {
                return unknown;
            }
            const Sides sides = bounds::interval(part.below, part.above, upto(test) - upto(part.below_at),
                                                 upto(part.above_at) - upto(test));
            return Sides{std::max(sides.left, penalty), std::max(sides.right, penalty)};
        };
        while (!parts.empty()) {
            Part part = parts.back();
            parts.pop_back();
            const auto is_out = [&](std::int32_t test) {
                const Sides sides = sides_at(part, test);
                return sides.left + sides.right > budget;
            };
            while (part.from < part.to && is_out(part.from)) {
                ++part.from;
            }
            while (part.from < part.to && is_out(part.to - 1)) {
                --part.to;
            }
            if (part.from == part.to) {
                continue;
            }
            const std::int32_t test = part.from + (part.to - part.from) / 2;
            Sides sides = sides_at(part, test);
            if (sides.left + sides.right <= budget) {
                const Split split = split_rows(instance_, set, axis, test);
                const Amount spare = is_ordered ? (upto(part.to - 1) - upto(part.from)) / 2 : 0;
                const auto solve = [&](const RowSet& side, Amount& own, Amount other) {
                    own = std::max(own, search_.lower_bound(side, depth - 1, budget + 1 - other + spare));
                };
                solve(split.left, sides.left, sides.right);
                if (sides.left + sides.right <= budget) {
                    solve(split.right, sides.right, sides.left);
                }
                if (control_.should_stop()) {
                    found.is_complete = false;
                    return found;
                }
                if (sides.left + sides.right <= budget) {
                    SidesOfTest kept{axis.axis, axis.code_of(test), sides.left, sides.right};
                    if (axis.is_reversed) {
                        std::swap(kept.left, kept.right);
                    }
                    found.tests.push_back(kept);
                }
            }
            parts.push_back({part.from, test, part.below_at, test, part.below, sides});
            parts.push_back({test + 1, part.to, test, part.above_at, sides, part.above});
        }
    }
    return found;
}

}  // namespace certree::good
