#include "shallow/any_labels/any_labels.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>

#include "shallow/any_labels/side_stumps.hpp"
#include "shallow/any_labels/standing_sides.hpp"
#include "shallow/cost_model.hpp"
#include "workers.hpp"

namespace certree {

namespace {

// What a side costs at least: as a leaf, and as a leaf or a stump.
struct SideCost {
    Amount leaf = 0;
    Amount tree = 0;
};

// A root test that may be the best: what was found of its sides in 32 bits, and by side what may be better; once it is
// judged, the exact costs of what was found.
struct Candidate {
    SideBest best[2];
    std::vector<Doubt> doubts[2];
    bool is_judged = false;
    Outcome sides[2] = {Outcome(2), Outcome(2)};
};

// A root test that was looked at.
struct Known {
    std::int32_t test = 0;
    SideCost left;  // with leaf minima lifted: what Interval may be applied to
    SideCost right;
    Amount bound = 0;                           // of the trees below it that meet the minima
    std::shared_ptr<Candidate> open = nullptr;  // until its exact cost is known
};

SideCost side_cost(const Outcome& side) {
    return {side.value[0], side.value[1]};
}

// The search for one entry of the outcome: the best tree of at most `most_leaves` leaves, three or four.
class Hunt {
public:
    Hunt(Amount penalty, const Stumps& exact, const Control& control, const RowSet& set, const CostTables& tables,
         int most_leaves, Amount budget, Amount& value, NodePtr& tree)
        : penalty_(penalty),
          control_(control),
          tables_(tables),
          most_leaves_(most_leaves),
          value_(value),
          tree_(tree),
          cap_(std::min(budget, value)),
          least_{-1, {penalty, penalty}, {penalty, penalty}},
          known_(tables.local.axes.size()) {
        const std::size_t most_kept = forecast::most_kept_sums(tables.local.axes.size());
        for (std::size_t a = 0; a < tables.local.axes.size(); ++a) {
            standing_.emplace_back(exact, set, tables.local.axes[a], tables.order[a], control, most_kept);
        }
    }

    void run(int n_threads);

    // After a run that was not stopped: no tree costs less, and none with the minima lifted. Both are worth more than
    // the budget where all trees cost more: they bound the neighbours.
    struct Lower {
        Amount kept;
        Amount relaxed;
    };
    Lower lower() const;

private:
    // Root tests whose sides both meet the minima stand side by side on an ordered axis. An axis that has none is
    // looked at as a whole: what it can do with the minima lifted is asked for too.
    struct Range {
        std::int32_t first;
        std::int32_t last;
    };
    Range range_of(std::size_t axis) const;
    Amount join(const SideCost& left, const SideCost& right) const;
    SideCost to_cost(std::int32_t leaf, std::int32_t stump) const;
    // Between two known tests, or a known one and an end.
    struct Gap {
        Known low;
        Known high;
    };
    std::vector<std::int32_t> first_tests(std::size_t axis) const;
    std::vector<Gap> open_gaps(std::size_t axis) const;
    bool is_open(const Gap& gap) const;
    void visit(std::size_t axis, SideStumps& sides);
    void close(std::size_t axis, const Gap& gap, int n_times, SideStumps& sides, std::vector<Known>& found);
    Known look_at(std::size_t axis, std::int32_t test, SideStumps& sides);
    Amount cost_of(const Outcome sides[2]) const;
    std::int32_t most_useful_cost(const SideBest& best) const;
    void judge(std::size_t axis, Known& known);
    void settle_open(std::size_t most_left);
    void settle(std::size_t axis, Known& known);
    void offer(const LocalAxis& axis, std::int32_t test, const Outcome sides[2]);

    Amount penalty_;
    const Control& control_;
    const CostTables& tables_;
    int most_leaves_;
    Amount& value_;
    NodePtr& tree_;
    std::atomic<Amount> cap_;
    std::mutex mutex_;
    Known least_;  // what is known of any test
    std::vector<Range> ranges_;
    std::vector<std::vector<Known>> known_;  // by axis, ascending
    std::vector<StandingSides> standing_;    // by axis
};

Hunt::Range Hunt::range_of(std::size_t a) const {
    const LocalAxis& axis = tables_.local.axes[a];
    const Range whole{0, axis.n_tests - 1};
    const Tallies& tallies = tables_.tallies;
    if (tallies.width == 0 || axis.is_categorical) {
        return whole;
    }
    const Order& order = tables_.order[a];
    // The least number of codes, from one end, whose rows are enough.
    const auto n_enough = [&](bool is_from_below) {
        std::vector<std::int32_t> sums(tallies.width, 0);
        for (std::int32_t n = 0; n < axis.n_codes; ++n) {
            const auto code = static_cast<std::size_t>(is_from_below ? n : axis.n_codes - 1 - n);
            for (auto o = order.start[code]; o < order.start[code + 1]; ++o) {
                const std::int32_t* row =
                    tallies.row(static_cast<std::size_t>(order.rows[static_cast<std::size_t>(o)]));
                for (std::size_t k = 0; k < tallies.width; ++k) {
                    sums[k] += row[k];
                }
            }
            if (tallies.are_enough(sums)) {
                return n + 1;
            }
        }
        return axis.n_codes + 1;
    };
    const Range range{n_enough(true) - 1, axis.n_codes - n_enough(false) - 1};
    return range.first <= range.last ? range : whole;
}

Amount Hunt::join(const SideCost& left, const SideCost& right) const {
    return most_leaves_ == 4 ? left.tree + right.tree : std::min(left.tree + right.leaf, left.leaf + right.tree);
}

SideCost Hunt::to_cost(std::int32_t leaf, std::int32_t stump) const {
    const int shift = tables_.costs.shift;
    const auto amount = [&](std::int32_t cost, int leaves) {
        return cost == no_stump ? unreachable : (Amount{cost} << shift) + leaves * penalty_;
    };
    return {amount(leaf, 1), std::min(amount(leaf, 1), amount(stump, 2))};
}

Amount Hunt::cost_of(const Outcome sides[2]) const {
    return join(side_cost(sides[0]), side_cost(sides[1]));
}

// A stump whose rounded cost is no less than this is no better than what was found: each row is rounded by less than
// one. What was found within rounded minima may not be allowed.
std::int32_t Hunt::most_useful_cost(const SideBest& best) const {
    const std::int32_t found = std::min(best.leaf, best.stump);
    if (found == no_stump || !tables_.tallies.is_exact) {
        return no_stump;
    }
    const std::int32_t rounding = tables_.costs.is_exact ? 0 : tables_.local.n_rows;
    return found <= no_stump - rounding ? found + rounding : no_stump;
}

// Spread over the axis by rows, with both ends where minima bind: what lies beyond them is bounded by them.
std::vector<std::int32_t> Hunt::first_tests(std::size_t a) const {
    const LocalAxis& axis = tables_.local.axes[a];
    std::vector<std::int32_t> tests;
    if (axis.is_categorical) {
        tests.resize(static_cast<std::size_t>(axis.n_tests));
        std::iota(tests.begin(), tests.end(), 0);
        return tests;
    }
    const auto [first, last] = ranges_[a];
    const std::span<const std::int32_t> start = tables_.order[a].start;
    const std::int32_t n_first = forecast::first_looks(tables_.local, tables_.n_groups);
    if (first > 0) {
        tests.push_back(first);
    }
    for (std::int32_t part = 1; part < n_first; ++part) {
        const auto rows = static_cast<std::int32_t>(std::int64_t{tables_.local.n_rows} * part / n_first);
        // The test that has at least so many rows on its left.
        const auto code = std::lower_bound(start.begin() + 1, start.end(), rows) - start.begin() - 1;
        const auto test = std::clamp(static_cast<std::int32_t>(code), first, last);
        if (tests.empty() || test > tests.back()) {
            tests.push_back(test);
        }
    }
    if (last < axis.n_tests - 1 && last > tests.back()) {
        tests.push_back(last);
    }
    return tests;
}

// The gaps between known tests where a better tree may hide.
std::vector<Hunt::Gap> Hunt::open_gaps(std::size_t a) const {
    std::vector<Gap> gaps;
    const std::vector<Known>& known = known_[a];
    for (std::size_t k = 0; k <= known.size() && !tables_.local.axes[a].is_categorical; ++k) {
        Known low = least_;
        Known high = least_;
        low.test = ranges_[a].first - 1;
        high.test = ranges_[a].last + 1;
        const Gap gap{k > 0 ? known[k - 1] : low, k < known.size() ? known[k] : high};
        if (is_open(gap)) {
            gaps.push_back(gap);
        }
    }
    return gaps;
}

bool Hunt::is_open(const Gap& gap) const {
    return gap.high.test - gap.low.test > 1 &&
           (join(gap.low.left, gap.high.right) < cap_.load(std::memory_order_relaxed) || control_.is_off(no_interval));
}

// Looks halfway, by rows, between two known tests, and between it and them, and so on a few times: as long as one is
// there, it is no way to go. Longer stays would miss what is found elsewhere meanwhile.
void Hunt::close(std::size_t a, const Gap& gap, int n_times, SideStumps& sides, std::vector<Known>& found) {
    if (n_times == 0 || !is_open(gap) || control_.should_stop()) {
        return;
    }
    const std::span<const std::int32_t> start = tables_.order[a].start;
    const std::int32_t low = gap.low.test;
    const std::int32_t high = gap.high.test;
    const std::int32_t middle = (start[static_cast<std::size_t>(low + 1)] + start[static_cast<std::size_t>(high)]) / 2;
    const auto code = std::lower_bound(start.begin() + 1, start.end(), middle) - start.begin() - 1;
    const Known half = look_at(a, std::clamp(static_cast<std::int32_t>(code), low + 1, high - 1), sides);
    found.push_back(half);
    close(a, {gap.low, half}, n_times - 1, sides, found);
    close(a, {half, gap.high}, n_times - 1, sides, found);
}

// A test that is no candidate gets bounds that leave at least half of what it costs too much: enough to rule out its
// neighbours, and far cheaper than its exact cost.
Known Hunt::look_at(std::size_t a, std::int32_t test, SideStumps& sides) {
    SideBest best[2];
    const auto value = [&](int side) { return to_cost(best[side].leaf, best[side].stump); };
    const auto lower = [&](int side) { return to_cost(best[side].leaf, best[side].bound); };
    const auto look_inside = [&](std::int32_t spared, bool is_within_minima) {
        for (int side = 0; side < 2; ++side) {
            sides.look_inside(side, best[side].stump - spared, is_within_minima, best[side]);
        }
    };
    const Amount cap = cap_.load(std::memory_order_relaxed);
    const auto excess = [&] {
        const Amount amount = (join(value(0), value(1)) - cap) >> tables_.costs.shift;
        return static_cast<std::int32_t>(std::clamp<Amount>(amount, 0, no_stump / 2));
    };
    const bool has_minima = tables_.tallies.width > 0;
    sides.look(a, test, best);
    const std::int32_t spared = excess() / 4;
    look_inside(spared, false);
    if (spared > 0 && join(lower(0), lower(1)) < cap) {
        look_inside(0, false);
    }
    Known known{test, lower(0), lower(1)};
    known.bound = join(known.left, known.right);
    if (has_minima && known.bound < cap) {
        sides.look_within_minima(best);
        look_inside(excess() / 2, true);
        if (join(lower(0), lower(1)) < cap) {
            look_inside(0, true);
        }
        known.bound = std::max(known.bound, join(lower(0), lower(1)));
    }
    if (known.bound < cap) {
        known.open = std::make_shared<Candidate>();
        for (int side = 0; side < 2; ++side) {
            known.open->best[side] = best[side];
            known.open->doubts[side] = sides.doubts_below(side, most_useful_cost(best[side]));
        }
    }
    return known;
}

// One visit to an axis.
void Hunt::visit(std::size_t a, SideStumps& sides) {
    std::vector<Known>& all = known_[a];
    std::vector<Known> found;
    if (all.empty()) {
        for (const std::int32_t test : first_tests(a)) {
            if (control_.should_stop()) {
                break;
            }
            found.push_back(look_at(a, test, sides));
        }
    } else {
        constexpr int n_times = 3;
        for (const Gap& gap : open_gaps(a)) {
            close(a, gap, n_times, sides, found);
        }
    }
    // The best of one axis is something to beat for the others; the exact cost of more can wait.
    const auto best =
        std::min_element(found.begin(), found.end(), [](const Known& x, const Known& y) { return x.bound < y.bound; });
    if (best != found.end() && best->open && best->bound < cap_.load(std::memory_order_relaxed)) {
        judge(a, *best);
    }
    all.insert(all.end(), found.begin(), found.end());
    std::sort(all.begin(), all.end(), [](const Known& x, const Known& y) { return x.test < y.test; });
}

// The best tree of two sides, given the best leaf (entry 0) and the best leaf or stump (entry 1) of each.
void Hunt::offer(const LocalAxis& axis, std::int32_t test, const Outcome sides[2]) {
    const SideCost left = side_cost(sides[0]);
    const SideCost right = side_cost(sides[1]);
    const Amount value = join(left, right);
    const std::lock_guard lock(mutex_);
    if (value >= cap_.load(std::memory_order_relaxed)) {
        return;
    }
    const bool has_both = left.tree + right.tree == value;
    const bool is_left = has_both || left.tree + right.leaf == value;
    const bool is_right = has_both || !is_left;
    NodePtr trees[2] = {sides[0].tree[is_left ? 1 : 0], sides[1].tree[is_right ? 1 : 0]};
    if (axis.is_reversed) {
        std::swap(trees[0], trees[1]);
    }
    value_ = value;
    tree_ = make_split(axis.axis, axis.code_of(test), trees[0], trees[1]);
    cap_.store(value, std::memory_order_relaxed);
}

// The exact costs of what was found; it becomes the answer where it is better.
void Hunt::judge(std::size_t a, Known& known) {
    const Local& local = tables_.local;
    const LocalAxis& axis = local.axes[a];
    Candidate& candidate = *known.open;
    SideCuts cuts[2];
    for (int side = 0; side < 2; ++side) {
        const std::int32_t number = candidate.best[side].test;
        if (number >= 0) {
            const LocalAxis& cut = local.axes[local.axis_of(number)];
            cuts[side] = {&cut, number - cut.first_test, number - cut.first_test};
        }
    }
    standing_[a].put(known.test, cuts, candidate.sides);
    candidate.is_judged = true;
    offer(axis, known.test, candidate.sides);
    if (cost_of(candidate.sides) == known.bound) {
        known.open.reset();
    }
}

// What rounding left open, most promising first: what it settles spares others. So few as `most_left` may wait.
void Hunt::settle_open(std::size_t most_left) {
    std::vector<std::pair<Amount, std::pair<std::size_t, Known*>>> open;
    for (std::size_t a = 0; a < known_.size(); ++a) {
        for (Known& known : known_[a]) {
            if (known.bound >= cap_.load()) {
                known.open.reset();  // for good: the cap only falls
            } else if (known.open) {
                open.push_back({known.bound, {a, &known}});
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

// The root test's sides in 64 bits, where 32 leave them open.
void Hunt::settle(std::size_t a, Known& known) {
    if (!known.open->is_judged) {
        judge(a, known);
    }
    if (!known.open) {
        return;
    }
    const LocalAxis& axis = tables_.local.axes[a];
    Outcome* sides = known.open->sides;
    std::vector<SideCuts> runs[2];
    for (int side = 0; side < 2; ++side) {
        for (const Doubt& doubt : known.open->doubts[side]) {
            if (to_cost(no_stump, doubt.bound).tree < side_cost(sides[side]).tree) {
                runs[side].push_back({&tables_.local.axes[doubt.axis], doubt.first, doubt.last});
            }
        }
    }
    for (std::size_t r = 0; r < std::max(runs[0].size(), runs[1].size()); ++r) {
        const SideCuts cuts[2] = {r < runs[0].size() ? runs[0][r] : SideCuts{},
                                  r < runs[1].size() ? runs[1][r] : SideCuts{}};
        standing_[a].put(known.test, cuts, sides);
    }
    offer(axis, known.test, sides);
    known.bound = cost_of(sides);
    if (tables_.tallies.width == 0) {
        known.left = side_cost(sides[0]);
        known.right = side_cost(sides[1]);
    }
    known.open.reset();
}

Hunt::Lower Hunt::lower() const {
    Lower lower{value_, value_};
    for (std::size_t a = 0; a < known_.size(); ++a) {
        const LocalAxis& axis = tables_.local.axes[a];
        const std::vector<Known>& known = known_[a];
        for (const Known& test : known) {
            lower.kept = std::min(lower.kept, test.bound);
            lower.relaxed = std::min(lower.relaxed, join(test.left, test.right));
        }
        for (std::size_t k = 0; k <= known.size() && !axis.is_categorical; ++k) {
            const std::int32_t low = k > 0 ? known[k - 1].test : -1;
            const std::int32_t high = k < known.size() ? known[k].test : axis.n_tests;
            if (high - low < 2) {
                continue;
            }
            const Amount bound =
                join((k > 0 ? known[k - 1] : least_).left, (k < known.size() ? known[k] : least_).right);
            lower.relaxed = std::min(lower.relaxed, bound);
            if (low >= ranges_[a].first - 1 && high <= ranges_[a].last + 1) {
                lower.kept = std::min(lower.kept, bound);
            }
        }
    }
    return lower;
}

void Hunt::run(int n_threads) {
    const std::size_t n_axes = tables_.local.axes.size();
    for (std::size_t a = 0; a < n_axes; ++a) {
        ranges_.push_back(range_of(a));
    }
    std::vector<SideStumps> workers;
    const std::size_t n_workers = std::min(static_cast<std::size_t>(n_threads), n_axes);
    workers.reserve(n_workers);
    for (std::size_t w = 0; w < n_workers; ++w) {
        workers.emplace_back(tables_);
    }
    std::vector<std::size_t> open(n_axes);
    std::iota(open.begin(), open.end(), std::size_t{0});
    while (!open.empty() && !control_.should_stop()) {
        std::atomic<std::size_t> next{0};
        share_work(static_cast<int>(std::min(workers.size(), open.size())), [&](int worker) {
            for (std::size_t n = next.fetch_add(1); n < open.size(); n = next.fetch_add(1)) {
                visit(open[n], workers[static_cast<std::size_t>(worker)]);
            }
        });
        // Where one huge cost rounds all others away, only exact sides tell gaps apart.
        constexpr std::size_t few = 8;
        settle_open(few);
        std::erase_if(open, [&](std::size_t a) { return open_gaps(a).empty(); });
    }
    settle_open(0);
}

}  // namespace

AnyLabels::AnyLabels(const Instance& instance, const Settings& settings, const Stumps& exact, const Control& control,
                     std::size_t table_bytes)
    : instance_(instance),
      settings_(settings),
      exact_(exact),
      control_(control),
      kernels_(choose_kernels(!control.is_off(no_simd))),
      table_bytes_(table_bytes) {}

bool AnyLabels::fits(const Local& local) const {
    // Places are numbered in 32 bits.
    const auto n_places = static_cast<std::size_t>(local.n_rows) * local.axes.size();
    return n_places <= std::numeric_limits<std::int32_t>::max() &&
           CostTables::bytes(instance_, settings_, local) <= table_bytes_;
}

void AnyLabels::solve(const RowSet& set, const Local& local, Amount budget, int n_threads, Outcome& outcome) const {
    const CostTables tables(instance_, settings_, set, local, kernels_, control_);
    const auto hunt = [&](int most_leaves, std::size_t entry) {
        Hunt search(settings_.penalty, exact_, control_, set, tables, most_leaves, budget, outcome.value[entry],
                    outcome.tree[entry]);
        search.run(n_threads);
        if (!control_.should_stop() && entry == outcome.value.size() - 1) {
            const Hunt::Lower lower = search.lower();
            outcome.lower = std::max(outcome.lower, lower.kept);
            outcome.relaxed = std::max(outcome.relaxed, lower.relaxed);
        }
    };
    const std::size_t width = outcome.value.size();
    if (width == 1) {
        hunt(4, 0);
        return;
    }
    const Amount before = outcome.lower;
    exact_.solve(set, local, outcome);
    outcome.lower = before;
    hunt(width == 3 ? 3 : 4, width - 1);
    if (width == 4) {
        // The best tree of at most four leaves, where it needs no more than three, is the best of these too.
        if (outcome.tree[3] && count_nodes(*outcome.tree[3]) == 7) {
            hunt(3, 2);
        } else {
            outcome.value[2] = outcome.value[3];
            outcome.tree[2] = outcome.tree[3];
        }
    }
}

}  // namespace certree
