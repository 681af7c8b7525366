#include "many_labels.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <thread>

#include "groups.hpp"

namespace certree {

namespace {

// Sums of all costs must fit in 32 bits. The coarse grid is for tests: it leaves the work to exact checks.
constexpr Amount fine_total = Amount{1} << 30;
constexpr Amount coarse_total = Amount{1} << 12;

std::size_t width_for(std::int32_t n_labels) {
    return static_cast<std::size_t>((n_labels + Kernels::lanes - 1) / Kernels::lanes * Kernels::lanes);
}

// Costs of every row and label, rounded down to a grid of 2^shift. Lanes beyond the last label repeat the first, which
// changes no minimum.
struct DenseCosts {
    std::size_t width;
    int shift = 0;
    std::vector<std::int32_t> costs;

    DenseCosts(const Instance& instance, const RowSet& set, bool is_fine) : width(width_for(instance.n_labels)) {
        Amount total = 0;
        std::uint64_t bits = 0;
        for (const std::int32_t row : set.rows) {
            const auto r = static_cast<std::size_t>(row);
            total += instance.worst[r];
            bits |= static_cast<std::uint64_t>(instance.worst[r]);
            for (auto g = instance.gain_start[r]; g < instance.gain_start[r + 1]; ++g) {
                bits |= static_cast<std::uint64_t>(instance.gains[static_cast<std::size_t>(g)].amount);
            }
        }
        shift = bits == 0 ? 0 : std::countr_zero(bits);
        while ((total >> shift) > (is_fine ? fine_total : coarse_total)) {
            ++shift;
        }
        costs.resize(set.rows.size() * width);
        std::vector<Amount> exact(static_cast<std::size_t>(instance.n_labels));
        for (std::size_t i = 0; i < set.rows.size(); ++i) {
            const auto r = static_cast<std::size_t>(set.rows[i]);
            std::fill(exact.begin(), exact.end(), instance.worst[r]);
            for (auto g = instance.gain_start[r]; g < instance.gain_start[r + 1]; ++g) {
                const Gain& gain = instance.gains[static_cast<std::size_t>(g)];
                exact[static_cast<std::size_t>(gain.label)] -= gain.amount;
            }
            for (std::size_t k = 0; k < width; ++k) {
                costs[i * width + k] = static_cast<std::int32_t>(exact[k < exact.size() ? k : 0] >> shift);
            }
        }
    }
    const std::int32_t* row(std::size_t i) const { return costs.data() + i * width; }
};

// Rows of the set in the order of an axis's codes.
struct Order {
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> start;  // of each code

    explicit Order(const LocalAxis& axis, std::int32_t n_rows)
        : rows(static_cast<std::size_t>(n_rows)), start(static_cast<std::size_t>(axis.n_codes) + 1, 0) {
        for (std::int32_t i = 0; i < n_rows; ++i) {
            ++start[static_cast<std::size_t>(axis.codes[i]) + 1];
        }
        std::partial_sum(start.begin(), start.end(), start.begin());
        std::vector<std::int32_t> next(start.begin(), start.end() - 1);
        for (std::int32_t i = 0; i < n_rows; ++i) {
            rows[static_cast<std::size_t>(next[static_cast<std::size_t>(axis.codes[i])]++)] = i;
        }
    }
};

// How many groups an axis is cut into. More make tighter bounds and larger tables; these should stay in a near cache.
std::int32_t most_groups_for(std::size_t n_axes, std::size_t width, bool is_forced) {
    constexpr std::size_t near_bytes = std::size_t{720} << 10;
    const std::size_t fit = near_bytes / (n_axes * width * sizeof(std::int32_t));
    return is_forced ? 4 : static_cast<std::int32_t>(std::clamp<std::size_t>(fit, 32, 512));
}

constexpr std::int32_t no_stump = std::numeric_limits<std::int32_t>::max();

// The best a side can do: a leaf, or a stump by `test` (numbered through all axes). No stump costs less than `bound`.
struct SideBest {
    std::int32_t leaf = 0;
    std::int32_t stump = no_stump;
    std::int32_t bound = no_stump;
    std::int32_t test = -1;
};

// What the workers of one call share and none of them changes.
struct Tables {
    const Local& local;
    const Kernels& kernels;
    DenseCosts costs;
    std::vector<Order> order;
    std::vector<Groups> groups;
    std::vector<std::size_t> first_group;
    std::size_t n_groups = 0;
    std::vector<std::int32_t> place;  // rows × axes: the group of each row, numbered through all axes
    // By group the costs of all rows: of the group alone (categories) or of everything up to its end.
    std::vector<std::int32_t> all;
    std::vector<std::int32_t> total;

    Tables(const Instance& instance, const RowSet& set, const Local& rows, const Kernels& chosen,
           const Control& control)
        : local(rows), kernels(chosen), costs(instance, set, !control.is_off(no_fine_grid)) {
        const std::size_t width = costs.width;
        const auto n_rows = static_cast<std::size_t>(local.n_rows);
        const std::size_t n_axes = local.axes.size();
        total.assign(width, 0);
        for (std::size_t i = 0; i < n_rows; ++i) {
            for (std::size_t k = 0; k < width; ++k) {
                total[k] += costs.row(i)[k];
            }
        }
        // Equal mass of what each label costs, so that what is dear for one label alone is looked at closely too.
        std::vector<double> share(n_rows, 0.0);
        for (std::size_t i = 0; i < n_rows; ++i) {
            for (std::size_t k = 0; k < static_cast<std::size_t>(instance.n_labels); ++k) {
                share[i] += static_cast<double>(costs.row(i)[k]) / std::max(1, total[k]);
            }
        }
        const std::int32_t most_groups = most_groups_for(n_axes, width, control.is_off(no_cost_model));
        std::vector<double> mass;
        for (const LocalAxis& axis : local.axes) {
            order.emplace_back(axis, local.n_rows);
            mass.assign(static_cast<std::size_t>(axis.n_codes), 0.0);
            for (std::size_t i = 0; i < n_rows; ++i) {
                mass[static_cast<std::size_t>(axis.codes[i])] += share[i];
            }
            groups.emplace_back(axis, mass, most_groups);
            first_group.push_back(n_groups);
            n_groups += static_cast<std::size_t>(groups.back().size());
        }
        place.resize(n_rows * n_axes);
        for (std::size_t c = 0; c < n_axes; ++c) {
            for (std::size_t i = 0; i < n_rows; ++i) {
                const auto code = static_cast<std::size_t>(local.axes[c].codes[i]);
                place[i * n_axes + c] = static_cast<std::int32_t>(first_group[c]) + groups[c].of_code[code];
            }
        }
        all.assign(n_groups * width, 0);
        for (std::size_t i = 0; i < n_rows; ++i) {
            kernels.add_costs(all.data(), place.data() + i * n_axes, static_cast<std::int32_t>(n_axes), costs.row(i),
                              static_cast<std::int32_t>(width));
        }
        for (std::size_t c = 0; c < n_axes; ++c) {
            if (local.axes[c].is_categorical) {
                continue;
            }
            std::int32_t* cells = all.data() + first_group[c] * width;
            for (std::size_t at = width; at < static_cast<std::size_t>(groups[c].size()) * width; ++at) {
                cells[at] += cells[at - width];
            }
        }
    }
};

// The left side of one root test, and what the best stumps of both sides cost.
class Walker {
public:
    explicit Walker(const Tables& tables)
        : tables_(tables),
          cells_(tables.n_groups * tables.costs.width),
          least_(4 * tables.n_groups),
          left_(tables.costs.width),
          right_(tables.costs.width),
          before_(tables.costs.width),
          run_(tables.costs.width) {}

    void clear() {
        std::fill(cells_.begin(), cells_.end(), 0);
        std::fill(left_.begin(), left_.end(), 0);
    }
    // The rows of codes from..to − 1 of an axis join the left side.
    void add(std::size_t axis, std::int32_t from, std::int32_t to);

    // Stumps that cut between groups. Pre: the left side holds the rows on which the test holds.
    void look(SideBest best[2]);

    // After `look`: stumps that cut inside groups as well, as far as it takes to raise the bound to `enough`. Where the
    // best stump is no dearer than that, it is exact.
    void look_inside(const LocalAxis& root, std::int32_t test, int side, std::int32_t enough, SideBest& best);

private:
    std::int32_t smallest(const std::vector<std::int32_t>& sums) const {
        return *std::min_element(sums.begin(), sums.end());
    }
    void look_inside(std::size_t axis, const LocalAxis& root, std::int32_t test, int side, std::int32_t enough,
                     SideBest& best);

    const Tables& tables_;
    std::vector<std::int32_t> cells_;  // by group, the costs of the left side's rows
    std::vector<std::int32_t> least_;  // by group: least costs before and after its end, left side and right side
    std::vector<std::int32_t> left_;
    std::vector<std::int32_t> right_;
    std::vector<std::int32_t> before_;
    std::vector<std::int32_t> run_;
    std::vector<std::int32_t> members_;
};

void Walker::add(std::size_t axis, std::int32_t from, std::int32_t to) {
    const Order& order = tables_.order[axis];
    const std::size_t width = tables_.costs.width;
    const std::size_t n_axes = tables_.local.axes.size();
    for (auto o = order.start[static_cast<std::size_t>(from)]; o < order.start[static_cast<std::size_t>(to)]; ++o) {
        const auto i = static_cast<std::size_t>(order.rows[static_cast<std::size_t>(o)]);
        tables_.kernels.add_costs(cells_.data(), tables_.place.data() + i * n_axes, static_cast<std::int32_t>(n_axes),
                                  tables_.costs.row(i), static_cast<std::int32_t>(width));
        for (std::size_t k = 0; k < width; ++k) {
            left_[k] += tables_.costs.row(i)[k];
        }
    }
}

void Walker::look(SideBest best[2]) {
    const std::size_t width = tables_.costs.width;
    for (std::size_t k = 0; k < width; ++k) {
        right_[k] = tables_.total[k] - left_[k];
    }
    best[0].leaf = smallest(left_);
    best[1].leaf = smallest(right_);
    for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
        const LocalAxis& axis = tables_.local.axes[c];
        const Groups& groups = tables_.groups[c];
        std::int32_t* least = least_.data() + 4 * tables_.first_group[c];
        tables_.kernels.least_costs(
            cells_.data() + tables_.first_group[c] * width, tables_.all.data() + tables_.first_group[c] * width,
            groups.size(), static_cast<std::int32_t>(width), !axis.is_categorical, left_.data(), right_.data(), least);
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

void Walker::look_inside(const LocalAxis& root, std::int32_t test, int side, std::int32_t enough, SideBest& best) {
    best.bound = best.stump;
    for (std::size_t c = 0; c < tables_.local.axes.size(); ++c) {
        if (tables_.groups[c].size() < tables_.local.axes[c].n_codes) {
            look_inside(c, root, test, side, enough, best);
        }
    }
    best.bound = std::min(best.bound, best.stump);
}

void Walker::look_inside(std::size_t axis, const LocalAxis& root, std::int32_t test, int side, std::int32_t enough,
                         SideBest& best) {
    const LocalAxis& cut = tables_.local.axes[axis];
    const Groups& groups = tables_.groups[axis];
    const Order& order = tables_.order[axis];
    const std::size_t width = tables_.costs.width;
    const std::int32_t* least = least_.data() + 4 * tables_.first_group[axis] + 2 * side;
    const std::int32_t* cells = cells_.data() + tables_.first_group[axis] * width;
    const std::int32_t* all = tables_.all.data() + tables_.first_group[axis] * width;
    const std::vector<std::int32_t>& whole = side == 0 ? left_ : right_;
    std::fill(before_.begin(), before_.end(), 0);  // the left side's costs before the group
    std::int32_t summed = 0;
    for (std::int32_t g = 0; g < groups.size(); ++g) {
        const std::int32_t bound = (g > 0 ? least[4 * (g - 1)] : 0) + least[4 * g + 1];
        const std::int32_t first = g > 0 ? groups.end[static_cast<std::size_t>(g) - 1] + 1 : 0;
        const std::int32_t last = groups.end[static_cast<std::size_t>(g)];
        if (bound >= best.stump || first == last) {
            continue;
        }
        if (bound >= enough) {
            best.bound = std::min(best.bound, bound);
            continue;
        }
        for (; summed < g; ++summed) {
            for (std::size_t k = 0; k < width; ++k) {
                before_[k] += cells[static_cast<std::size_t>(summed) * width + k];
            }
        }
        for (std::size_t k = 0; k < width; ++k) {
            run_[k] =
                side == 0 ? before_[k] : (g > 0 ? all[(static_cast<std::size_t>(g) - 1) * width + k] : 0) - before_[k];
        }
        const auto from = static_cast<std::size_t>(order.start[static_cast<std::size_t>(first)]);
        const auto to = static_cast<std::size_t>(order.start[static_cast<std::size_t>(last) + 1]);
        members_.resize(to - from);
        std::size_t n_members = 0;
        for (std::size_t o = from; o < to; ++o) {  // without branches: which side a row is on is anyone's guess
            members_[n_members] = order.rows[o];
            n_members += root.holds(root.codes[order.rows[o]], test) == (side == 0) ? 1 : 0;
        }
        std::int32_t at = -1;
        tables_.kernels.cut_rows(tables_.costs.costs.data(), static_cast<std::int32_t>(width), members_.data(),
                                 static_cast<std::int32_t>(n_members), cut.codes, run_.data(), whole.data(), best.stump,
                                 at);
        if (at >= 0) {
            best.test = cut.first_test + at;
        }
    }
}

// A root test that was looked at: true lower bounds for its two sides.
struct Known {
    std::int32_t test = 0;
    Amount left = 0;
    Amount right = 0;
    bool is_settled = false;  // left + right is its exact cost
};

// One call.
class Hunt {
public:
    Hunt(const Instance& instance, const AnyLabels& exact, const Control& control, const RowSet& set,
         const Tables& tables, Amount budget, Outcome& outcome)
        : instance_(instance),
          exact_(exact),
          control_(control),
          set_(set),
          tables_(tables),
          outcome_(outcome),
          cap_(std::min(budget, outcome.value[0])),
          known_(tables.local.axes.size()) {}

    void run(int n_threads);

private:
    std::vector<std::int32_t> plan(std::size_t axis) const;
    void look_at(std::size_t axis, const std::vector<std::int32_t>& tests, Walker& walker);
    Known look_at(const LocalAxis& axis, std::int32_t test, Walker& walker);
    Amount to_value(std::int32_t leaf, std::int32_t stump) const;
    Amount judge(const LocalAxis& axis, std::int32_t test, const SideBest best[2]);
    void settle_open(std::size_t most_left);
    void settle(std::size_t axis, Known& known);
    NodePtr make_side(const RowSet& rows, std::int32_t test) const;
    void offer(Amount value, const NodePtr& tree);

    const Instance& instance_;
    const AnyLabels& exact_;
    const Control& control_;
    const RowSet& set_;
    const Tables& tables_;
    Outcome& outcome_;
    std::atomic<Amount> cap_;
    std::mutex mutex_;
    std::vector<std::vector<Known>> known_;  // by axis, ascending
};

// Tests to look at next: spread over the axis at first, then halfway, by rows, between known ones that leave room.
std::vector<std::int32_t> Hunt::plan(std::size_t a) const {
    const LocalAxis& axis = tables_.local.axes[a];
    const std::vector<Known>& known = known_[a];
    const std::vector<std::int32_t>& start = tables_.order[a].start;
    std::vector<std::int32_t> tests;
    if (axis.is_categorical) {
        for (std::int32_t test = 0; known.empty() && test < axis.n_tests; ++test) {
            tests.push_back(test);
        }
        return tests;
    }
    if (known.empty()) {
        // Where passing over the rows costs more than looking, it is worth looking at more tests on the way.
        const double n_axes = static_cast<double>(tables_.local.axes.size());
        const double looks_a_pass = tables_.local.n_rows * n_axes / (8.0 * static_cast<double>(tables_.n_groups));
        const std::int32_t n_first = static_cast<std::int32_t>(std::clamp(looks_a_pass, 8.0, 1e6));
        for (std::int32_t part = 1; part < n_first; ++part) {
            const auto rows = static_cast<std::int32_t>(std::int64_t{tables_.local.n_rows} * part / n_first);
            // The test that has at least so many rows on its left.
            const auto code = std::lower_bound(start.begin() + 1, start.end(), rows) - start.begin() - 1;
            const auto test = std::min(static_cast<std::int32_t>(code), axis.n_tests - 1);
            if (tests.empty() || test > tests.back()) {
                tests.push_back(test);
            }
        }
        return tests;
    }
    const Amount penalty = instance_.penalty;
    const Amount cap = cap_.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k <= known.size(); ++k) {
        const std::int32_t low = k > 0 ? known[k - 1].test : -1;
        const std::int32_t high = k < known.size() ? known[k].test : axis.n_tests;
        const Amount bound = (k > 0 ? known[k - 1].left : penalty) + (k < known.size() ? known[k].right : penalty);
        if (high - low < 2 || (bound >= cap && !control_.is_off(no_interval))) {
            continue;
        }
        const std::int32_t middle =
            (start[static_cast<std::size_t>(low + 1)] + start[static_cast<std::size_t>(high)]) / 2;
        const auto code = std::lower_bound(start.begin() + 1, start.end(), middle) - start.begin() - 1;
        tests.push_back(std::clamp(static_cast<std::int32_t>(code), low + 1, high - 1));
    }
    return tests;
}

Amount Hunt::to_value(std::int32_t leaf, std::int32_t stump) const {
    const int shift = tables_.costs.shift;
    const Amount alone = (Amount{leaf} << shift) + instance_.penalty;
    return stump == no_stump ? alone : std::min(alone, (Amount{stump} << shift) + 2 * instance_.penalty);
}

// A test that is no candidate gets bounds that leave at least half of what it is too dear by: enough to rule out its
// neighbours, and far cheaper than its exact cost.
Known Hunt::look_at(const LocalAxis& axis, std::int32_t test, Walker& walker) {
    SideBest best[2];
    walker.look(best);
    const auto value = [&](int side) { return to_value(best[side].leaf, best[side].stump); };
    const auto lower = [&](int side) { return to_value(best[side].leaf, best[side].bound); };
    const Amount cap = cap_.load(std::memory_order_relaxed);
    const Amount excess = (value(0) + value(1) - cap) >> (tables_.costs.shift + 2);
    const auto spared = static_cast<std::int32_t>(std::clamp<Amount>(excess, 0, fine_total));
    for (int side = 0; side < 2; ++side) {
        walker.look_inside(axis, test, side, best[side].stump - spared, best[side]);
    }
    if (lower(0) + lower(1) < cap && spared > 0) {
        for (int side = 0; side < 2; ++side) {
            walker.look_inside(axis, test, side, best[side].stump, best[side]);
        }
    }
    Known known{test, lower(0), lower(1)};
    if (known.left + known.right < cap) {
        known.is_settled = judge(axis, test, best) == known.left + known.right;
    }
    return known;
}

// Pre: tests are ascending.
void Hunt::look_at(std::size_t a, const std::vector<std::int32_t>& tests, Walker& walker) {
    const LocalAxis& axis = tables_.local.axes[a];
    std::vector<Known> found;
    walker.clear();
    std::int32_t passed = 0;
    for (const std::int32_t test : tests) {
        if (control_.should_stop()) {
            return;
        }
        if (axis.is_categorical) {
            walker.clear();
            passed = test;
        }
        walker.add(a, passed, test + 1);
        passed = test + 1;
        found.push_back(look_at(axis, test, walker));
    }
    std::vector<Known>& all = known_[a];
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), found.begin(), found.end());
    std::inplace_merge(all.begin(), all.begin() + middle, all.end(),
                       [](const Known& x, const Known& y) { return x.test < y.test; });
}

NodePtr Hunt::make_side(const RowSet& rows, std::int32_t test) const {
    if (test < 0) {
        return make_leaf(exact_.leaf_label(rows));
    }
    const Local& local = tables_.local;
    const LocalAxis& axis = local.axes[static_cast<std::size_t>(local.test_axis[static_cast<std::size_t>(test)])];
    const std::int32_t code = local.test_code[static_cast<std::size_t>(test)];
    const Split split = split_rows(instance_, rows, axis.axis, code);
    return make_split(axis.axis, code, make_leaf(exact_.leaf_label(split.left)),
                      make_leaf(exact_.leaf_label(split.right)));
}

// The exact cost of the tree that was found; it becomes the outcome's where it is better.
Amount Hunt::judge(const LocalAxis& axis, std::int32_t test, const SideBest best[2]) {
    const Local& local = tables_.local;
    const Split split = split_rows(instance_, set_, axis, test);
    Amount value = 0;
    std::int32_t cut[2];
    for (int side = 0; side < 2; ++side) {
        const RowSet& rows = side == 0 ? split.left : split.right;
        const Amount leaf = exact_.leaf_value(rows);
        Amount stump = unreachable;
        if (best[side].test >= 0) {
            const auto number = static_cast<std::size_t>(best[side].test);
            const LocalAxis& second = local.axes[static_cast<std::size_t>(local.test_axis[number])];
            const Split halves = split_rows(instance_, rows, second.axis, local.test_code[number]);
            stump = exact_.leaf_value(halves.left) + exact_.leaf_value(halves.right);
        }
        cut[side] = stump < leaf ? best[side].test : -1;
        value += std::min(leaf, stump);
    }
    if (value < cap_.load(std::memory_order_relaxed)) {
        NodePtr sides[2] = {make_side(split.left, cut[0]), make_side(split.right, cut[1])};
        if (axis.is_reversed) {
            std::swap(sides[0], sides[1]);
        }
        const auto number = static_cast<std::size_t>(axis.first_test + test);
        offer(value, make_split(axis.axis, local.test_code[number], sides[0], sides[1]));
    }
    return value;
}

void Hunt::offer(Amount value, const NodePtr& tree) {
    const std::lock_guard lock(mutex_);
    if (value < cap_.load(std::memory_order_relaxed)) {
        outcome_.value[0] = value;
        outcome_.tree[0] = tree;
        cap_.store(value, std::memory_order_relaxed);
    }
}

// What rounding left open, most promising first: what it settles spares others. So few as `most_left` may wait.
void Hunt::settle_open(std::size_t most_left) {
    std::vector<std::pair<Amount, std::pair<std::size_t, Known*>>> open;
    for (std::size_t a = 0; a < known_.size(); ++a) {
        for (Known& known : known_[a]) {
            if (!known.is_settled && known.left + known.right < cap_.load()) {
                open.push_back({known.left + known.right, {a, &known}});
            }
        }
    }
    if (open.size() <= most_left) {
        return;
    }
    std::sort(open.begin(), open.end());
    for (const auto& [bound, where] : open) {
        if (control_.should_stop()) {
            return;
        }
        if (bound < cap_.load()) {
            settle(where.first, *where.second);
        }
    }
}

// The root test's sides in 64 bits.
void Hunt::settle(std::size_t a, Known& known) {
    const LocalAxis& axis = tables_.local.axes[a];
    const Split split = split_rows(instance_, set_, axis, known.test);
    Outcome sides[2];
    for (int side = 0; side < 2; ++side) {
        const RowSet& rows = side == 0 ? split.left : split.right;
        sides[side].value[0] = exact_.leaf_value(rows);
        sides[side].tree[0] = make_leaf(exact_.leaf_label(rows));
        const Local local(instance_, rows);
        if (local.n_tests > 0) {
            exact_.solve(rows, local, 1, sides[side], control_);
        }
    }
    known = {known.test, sides[0].value[0], sides[1].value[0], true};
    if (axis.is_reversed) {
        std::swap(sides[0], sides[1]);
    }
    const Amount value = known.left + known.right;
    if (value < cap_.load(std::memory_order_relaxed)) {
        const auto number = static_cast<std::size_t>(axis.first_test + known.test);
        offer(value, make_split(axis.axis, tables_.local.test_code[number], sides[0].tree[0], sides[1].tree[0]));
    }
}

void Hunt::run(int n_threads) {
    const std::size_t n_axes = tables_.local.axes.size();
    std::vector<Walker> walkers;
    const std::size_t n_walkers = std::min(static_cast<std::size_t>(n_threads), n_axes);
    walkers.reserve(n_walkers);
    for (std::size_t w = 0; w < n_walkers; ++w) {
        walkers.emplace_back(tables_);
    }
    bool is_done = false;
    while (!is_done && !control_.should_stop()) {
        std::vector<std::vector<std::int32_t>> tests(n_axes);
        is_done = true;
        for (std::size_t a = 0; a < n_axes; ++a) {
            tests[a] = plan(a);
            is_done = is_done && tests[a].empty();
        }
        std::atomic<std::size_t> next{0};
        const auto work = [&](Walker& walker) {
            for (std::size_t a = next.fetch_add(1); a < n_axes; a = next.fetch_add(1)) {
                if (!tests[a].empty()) {
                    look_at(a, tests[a], walker);
                }
            }
        };
        std::vector<std::thread> threads;
        for (std::size_t w = 1; w < walkers.size() && !is_done; ++w) {
            threads.emplace_back(work, std::ref(walkers[w]));
        }
        work(walkers.front());
        for (std::thread& thread : threads) {
            thread.join();
        }
        // Where one huge cost rounds all others away, only exact sides tell intervals apart.
        constexpr std::size_t few = 8;
        settle_open(is_done ? 0 : few);
    }
    if (!control_.should_stop()) {
        outcome_.lower = std::max(outcome_.lower, cap_.load());
    }
}

}  // namespace

ManyLabels::ManyLabels(const Instance& instance, const AnyLabels& exact, const Control& control,
                       std::size_t table_bytes)
    : instance_(instance),
      exact_(exact),
      control_(control),
      kernels_(choose_kernels(!control.is_off(no_simd))),
      table_bytes_(table_bytes) {}

bool ManyLabels::fits(const Local& local) const {
    const std::size_t width = width_for(instance_.n_labels);
    const std::size_t n_axes = local.axes.size();
    const auto most = static_cast<std::size_t>(most_groups_for(n_axes, width, false));
    std::size_t n_groups = 0;
    std::size_t n_all_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        const auto n_codes = static_cast<std::size_t>(axis.n_codes);
        n_all_codes += n_codes;
        n_groups += axis.is_categorical ? n_codes : std::min(n_codes, most);
    }
    const std::size_t rows = static_cast<std::size_t>(local.n_rows) * (width + 2 * n_axes);
    return (rows + 2 * n_all_codes + 2 * n_groups * (width + 4)) * sizeof(std::int32_t) <= table_bytes_;
}

void ManyLabels::solve(const RowSet& set, const Local& local, Amount budget, int n_threads, Outcome& outcome) const {
    const Tables tables(instance_, set, local, kernels_, control_);
    Hunt(instance_, exact_, control_, set, tables, budget, outcome).run(n_threads);
}

}  // namespace certree
