// The recursion. A subproblem is answered, in this order, by its leaf, by memory, by a closed form, or by looking at
// root tests one at a time, best bound first, each look narrowing the bounds of its neighbours.
#include "search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <optional>
#include <queue>

#include "bounds.hpp"
#include "greedy.hpp"
#include "workers.hpp"

namespace certree {

namespace {

using bounds::Sides;

constexpr std::size_t default_cache_bytes = std::size_t{256} << 20;
constexpr std::size_t most_similar = 96;
constexpr std::int64_t few_tests = 400;  // closed forms of depth three take milliseconds
constexpr double few_steps = 1e7;        // some milliseconds

// What a closed form of this depth does, about: rows are summed for every tuple of axes, and tuples of tests compared.
double closed_steps(const Instance& instance, int depth) {
    const auto n_axes = static_cast<double>(instance.axes.size());
    const auto n_tests = static_cast<double>(instance.n_tests);
    return instance.n_rows * std::pow(n_axes, depth) + n_tests * n_tests * (depth > 2 ? n_tests / 8.0 : 1.0);
}

// Half of what is left goes to the cache, half to the tables of the closed forms.
std::size_t spare_bytes(const Instance& instance, const Limits& limits) {
    if (limits.memory_bytes <= 0) {
        return std::size_t{1} << 40;
    }
    const auto most = static_cast<std::size_t>(limits.memory_bytes);
    const std::size_t held = instance.bytes();
    return most > held ? most - held : 0;
}

std::size_t cache_bytes(std::size_t spare, const Control& control) {
    return control.is_off(no_cache) ? 0 : std::min(default_cache_bytes, spare / 2);
}

// Row sets on the way down and the closed forms' own rows: what a search cannot do without.
std::size_t least_bytes(const Instance& instance) {
    return 2 * instance.bytes();
}

// A tree of m leaves is no deeper than m − 1, whatever is lifted later.
Constraints with_depth_of_leaves(Constraints constraints) {
    if (constraints.max_leaves > 0 && (constraints.max_depth < 0 || constraints.max_depth >= constraints.max_leaves)) {
        constraints.max_depth = constraints.max_leaves - 1;
    }
    return constraints;
}

// Two labels without any limit have closed forms of their own; many labels meet minima as fast as they can do without.
Constraints without_leaf_limits(Constraints constraints, std::int32_t n_labels) {
    constraints.max_leaves = 0;
    if (n_labels == 2) {
        constraints.min_samples_leaf = 1;
        constraints.min_weight_leaf = 0.0;
        constraints.min_samples_arm = 0;
    }
    return constraints;
}

}  // namespace

// A run of thresholds of one axis that are still to be looked at, between two that were (or the ends).
struct Search::Interval {
    Amount bound = 0;
    std::int32_t axis = 0;
    std::int32_t low = 0;
    std::int32_t high = 0;
    std::int32_t below_at = -1;  // tests whose sides are known
    std::int32_t above_at = 0;
    Sides below;
    Sides above;

    bool operator<(const Interval& other) const { return bound > other.bound; }  // a heap with the least bound on top
};

// What the workers of one expansion share.
struct Search::Frontier {
    std::mutex mutex;
    std::condition_variable changed;
    std::priority_queue<Interval> queue;
    std::vector<Amount> in_flight;
    Outcome* outcome = nullptr;
    Amount budget = unreachable;
    Amount guess = -unreachable;  // with guesses: a tree at most this dear is good enough
    Amount shallower = 0;
    Amount relaxed = unreachable;  // least sum of the relaxed bounds of a test's sides, of those looked at
    bool was_stopped = false;
    double looks_left = std::numeric_limits<double>::infinity();  // then a closed form is cheaper than looking on
    bool has_given_up = false;
    std::vector<std::vector<Amount>>
        mass;  // by local axis: D of the rows up to (ordered) or at (categorical) each test

    struct Seen {
        std::vector<std::uint64_t> rows;
        Amount lower = 0;
    };
    std::vector<Seen> seen;
    std::size_t next_seen = 0;

    // With a witness: the tests that split the rows as its part does, and the rows of their sides.
    struct Watched {
        std::int32_t axis;
        std::int32_t test;
        SetKey left;
        SetKey right;
    };
    std::vector<Watched> watched;

    // A test can matter only below this.
    Amount cap(bool is_root) const {
        const std::size_t entry = is_root || outcome->value.size() == 1 ? outcome->value.size() - 1 : 1;
        const Amount value = outcome->value[entry];
        return value <= guess ? -unreachable : std::min(budget, value);
    }
    Amount lower(bool is_root) const {
        Amount least = cap(is_root);
        if (!queue.empty()) {
            least = std::min(least, queue.top().bound);
        }
        for (const Amount bound : in_flight) {
            least = std::min(least, bound);
        }
        return least;
    }
};

Search::Search(const Instance& instance, const Constraints& constraints, const Limits& limits, const Control& control)
    : instance_(instance),
      spare_bytes_(spare_bytes(instance, limits)),
      constraints_(with_depth_of_leaves(constraints)),
      limits_(limits),
      control_(control),
      stumps_(instance_, constraints_, control),
      two_labels_(instance_, control, spare_bytes_ / 2 / static_cast<std::size_t>(std::max(1, limits.n_threads))),
      many_labels_(instance_, constraints_, stumps_, control,
                   spare_bytes_ / 2 / static_cast<std::size_t>(std::max(1, limits.n_threads))),
      cache_(cache_bytes(spare_bytes_, control)),
      witness_(instance.reference.empty() ? limits.witness : nullptr),
      is_two_labels_(instance.n_labels == 2 && constraints.max_leaves == 0 && !constraints.has_leaf_minimum()),
      has_relaxation_(!is_two_labels_ && (instance.n_labels == 2 || constraints.max_leaves > 0) &&
                      !control.is_off(no_relaxation)),
      is_bounded_(!constraints.has_leaf_minimum()) {}

std::size_t Search::width_at(int depth) const {
    if (constraints_.max_leaves == 0) {
        return 1;
    }
    const std::size_t most = depth >= 20 ? std::size_t{1} << 20 : std::size_t{1} << depth;
    return std::min(most, static_cast<std::size_t>(constraints_.max_leaves));
}

bool Search::is_fast(int depth, const Local& local) const {
    return depth <= 2 || (depth == 3 && !control_.is_off(no_triples) && !control_.is_off(no_cost_model) &&
                          two_labels_.triples_pay(local, given_up_.load(std::memory_order_relaxed) <= 0));
}

// Whether closed forms pay shows as root tests are looked at: after as many looks as cost what depth three costs in
// closed form, the looks yet to come are spared.
double Search::patience(int depth, const Local& local) const {
    if (!is_two_labels_ || depth != 3 || control_.is_off(no_triples)) {
        return std::numeric_limits<double>::infinity();
    }
    const double looks = two_labels_.looks_in_triples(local);
    return control_.is_off(no_cost_model) ? std::min(looks, 2.0) : looks;
}

// Bounds are heard one by one as they are made.
void Search::hear(Claim by, const RowSet& set, int depth, Outcome& outcome) const {
    if (witness_ != nullptr) {
        outcome.lower = witness_->hear(by, set.key, depth, outcome.lower);
        outcome.relaxed = witness_->hear(by, set.key, depth, outcome.relaxed);
    }
}

// And an answer when it is given, by whatever gave it.
void Search::hear_answer(Claim by, const RowSet& set, int depth, Amount budget, const Outcome& outcome,
                         bool is_root) const {
    if (witness_ != nullptr && !control_.should_stop()) {
        witness_->hear_answer(by, set.key, depth, budget, outcome, is_root);
    }
}

NodePtr Search::tree_of(const RowSet& set, const Outcome& outcome, std::size_t entry) const {
    if (outcome.tree[entry]) {
        return outcome.tree[entry];
    }
    return two_labels_.extract_below(set, outcome.closed);
}

// Pre: depth >= 0. Post: every entry below the budget is the optimum of the subproblem; `lower` holds for all trees.
// Stopped: `lower` is still true, entries are the best trees seen.
Outcome Search::solve(const RowSet& set, int depth, Amount budget, bool is_root) {
    statistics_.subproblems.fetch_add(1, std::memory_order_relaxed);
    const Amount penalty = instance_.penalty;
    Outcome outcome(width_at(depth));
    if (is_two_labels_) {
        outcome.value[0] = two_labels_.leaf_value(set);
        outcome.tree[0] = make_leaf(TwoLabels::leaf_label(set));
    } else {
        stumps_.put_leaf(set, outcome);
    }
    const Amount leaf = outcome.value[0];
    const Amount split = control_.is_off(no_leaf_bound) ? penalty : bounds::split(penalty);
    outcome.lower = std::min(leaf, split);
    outcome.relaxed = std::min(leaf, is_bounded_ ? split : penalty);
    hear(Claim::split, set, depth, outcome);
    // A set that misses a minimum misses it in all its parts.
    const bool is_too_small = leaf == unreachable || (set.count > 0 && set.count < 2 * constraints_.min_samples_leaf);
    if (depth == 0 || set.rows.size() < 2 || (leaf <= split && !control_.is_off(no_leaf_bound)) || is_too_small) {
        outcome.lower = leaf;
        hear(Claim::leaf, set, depth, outcome);
        return outcome;
    }
    if (!instance_.reference.empty()) {
        const Amount guess = set.reference + penalty;
        outcome.lower = std::max(outcome.lower, std::min(leaf, guess));
        outcome.relaxed = std::max(outcome.relaxed, std::min(leaf, guess));
        if (leaf <= guess) {
            return outcome;
        }
    }
    if (outcome.lower >= budget || control_.should_stop()) {
        return outcome;
    }
    const bool is_remembered = depth >= 3 && !control_.is_off(no_cache);
    if (is_remembered) {
        if (auto known = cache_.find(set.key, depth)) {
            outcome.lower = std::max(outcome.lower, known->lower);
            outcome.relaxed = std::max(outcome.relaxed, known->relaxed);
            hear(Claim::cache, set, depth, outcome);
            if (known->lower >= budget || known->budget >= budget) {
                statistics_.cache_hits.fetch_add(1, std::memory_order_relaxed);
                outcome.value = std::move(known->value);
                outcome.tree = std::move(known->tree);
                outcome.closed = known->closed;
                hear_answer(Claim::cache, set, depth, budget, outcome, is_root);
                return outcome;
            }
        }
    }
    const Local local(instance_, set);
    if (local.n_tests == 0) {
        outcome.lower = leaf;
        hear(Claim::leaf, set, depth, outcome);
        return outcome;
    }
    Claim claim = Claim::expansion;
    const auto remember = [&] {
        hear_answer(claim, set, depth, budget, outcome, is_root);
        if (is_remembered && !control_.should_stop()) {
            cache_.store(set.key, depth,
                         {outcome.lower, outcome.relaxed, budget, outcome.value, outcome.tree, outcome.closed});
        }
    };

    const auto solve_closed = [&] {
        (depth == 3 ? statistics_.triples : statistics_.pairs).fetch_add(1, std::memory_order_relaxed);
        const Amount goal = std::min(budget, outcome.value[0]);
        const TwoLabels::Answer answer = two_labels_.solve(set, local, depth, goal, is_root ? limits_.n_threads : 1);
        outcome.lower = std::max(outcome.lower, answer.lower);
        outcome.relaxed = outcome.lower;
        if (answer.value < outcome.value[0]) {
            outcome.value[0] = answer.value;
            outcome.tree[0] = answer.tree;
            outcome.closed = {depth, answer.axis, answer.code};
        }
        claim = depth == 3 ? Claim::triple_form : depth == 2 ? Claim::pair_form : Claim::stump_form;
        hear(claim, set, depth, outcome);
    };
    if (is_two_labels_ && is_fast(depth, local)) {
        solve_closed();
    } else {
        if (has_relaxation_ && instance_.n_labels == 2 && !is_root && is_fast(depth, local)) {
            const TwoLabels::Answer answer = two_labels_.solve(set, local, depth, budget);
            outcome.relaxed = std::max(outcome.relaxed, answer.lower);
            outcome.lower = std::max(outcome.lower, answer.lower);
            hear(Claim::relaxed_form, set, depth, outcome);
            if (outcome.lower >= std::min(budget, leaf)) {
                hear_answer(Claim::relaxed_form, set, depth, budget, outcome, is_root);
                return outcome;
            }
            // A best tree without the limits that keeps them is the best.
            if (outcome.value.size() == 1 && answer.axis >= 0) {
                const NodePtr tree =
                    answer.tree ? answer.tree : two_labels_.extract_below(set, {depth, answer.axis, answer.code});
                if (!control_.should_stop() && keeps_limits(instance_, constraints_, tree, set)) {
                    outcome.value[0] = outcome.lower = answer.value;
                    outcome.tree[0] = tree;
                    claim = Claim::kept_form;
                    hear(claim, set, depth, outcome);
                    remember();
                    return outcome;
                }
            }
        }
        if (depth == 1 || outcome.value.size() == 2) {
            stumps_.solve(set, local, outcome);
            if (is_bounded_) {
                outcome.relaxed = std::max(outcome.relaxed, outcome.lower);
            }
            claim = Claim::stumps;
            hear(claim, set, depth, outcome);
        } else if (depth == 2 && !control_.is_off(no_coarse) && many_labels_.fits(local)) {
            statistics_.pairs.fetch_add(1, std::memory_order_relaxed);
            many_labels_.solve(set, local, budget, is_root ? std::max(1, limits_.n_threads) : 1, outcome);
            claim = Claim::many_labels;
            hear(claim, set, depth, outcome);
        } else {
            Amount shallower = penalty;
            if (!control_.is_off(no_deepening)) {
                const Outcome prior = solve(set, depth - 1, budget, false);
                shallower = std::max(shallower, prior.relaxed);
                for (std::size_t m = 0; m < outcome.value.size(); ++m) {
                    const std::size_t from = std::min(m, prior.value.size() - 1);
                    if (prior.value[from] < outcome.value[m]) {
                        outcome.value[m] = prior.value[from];
                        outcome.tree[m] = prior.tree[from];
                        outcome.closed = prior.closed;
                    }
                }
            }
            const bool is_settled = expand(set, local, depth, budget, is_root, shallower, outcome);
            hear(claim, set, depth, outcome);
            if (!is_settled) {
                solve_closed();
            }
        }
    }
    remember();
    return outcome;
}

void Search::watch(const RowSet& set, const Local& local, int depth, Frontier& frontier) const {
    const Witness::Part* part = witness_->find(set.key, depth);
    if (part == nullptr || part->leaves < 2) {
        return;
    }
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        for (std::int32_t test = 0; test < local.axes[a].n_tests; ++test) {
            const Split split = split_rows(instance_, set, local.axes[a], test);
            if (split.left.key == part->side[0] || split.left.key == part->side[1]) {
                frontier.watched.push_back({static_cast<std::int32_t>(a), test, split.left.key, split.right.key});
                if (!control_.is_off(no_interval)) {
                    for (const auto& [side, other] :
                         {std::pair{&split.left, &split.right}, {&split.right, &split.left}}) {
                        const Amount bound = bounds::subset(frontier.shallower, other->worst);
                        witness_->hear(Claim::shallower, side->key, depth - 1, bound);
                    }
                }
            }
        }
    }
}

// Looks at root tests until none can beat what is known; false where patience ended first. Work is shared between
// threads at the root only.
bool Search::expand(const RowSet& set, const Local& local, int depth, Amount budget, bool is_root, Amount shallower,
                    Outcome& outcome) {
    statistics_.expansions.fetch_add(1, std::memory_order_relaxed);
    Frontier frontier;
    frontier.outcome = &outcome;
    frontier.budget = budget;
    frontier.shallower = shallower;
    if (!instance_.reference.empty()) {
        frontier.guess = set.reference + instance_.penalty;
    }
    frontier.looks_left = patience(depth, local);
    const Amount penalty = instance_.penalty;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& axis = local.axes[a];
        std::vector<Amount> mass(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < set.rows.size(); ++i) {
            mass[static_cast<std::size_t>(axis.codes[i])] += instance_.worst[static_cast<std::size_t>(set.rows[i])];
        }
        Interval interval;
        interval.axis = static_cast<std::int32_t>(a);
        interval.bound = 2 * penalty;
        interval.above_at = axis.n_tests;
        interval.below = {penalty, shallower};
        interval.above = {shallower, penalty};
        if (axis.is_categorical) {
            for (std::int32_t test = 0; test < axis.n_tests; ++test) {
                interval.low = interval.high = test;
                frontier.queue.push(interval);
            }
        } else {
            for (std::size_t c = 1; c < mass.size(); ++c) {
                mass[c] += mass[c - 1];
            }
            interval.low = 0;
            interval.high = axis.n_tests - 1;
            frontier.queue.push(interval);
        }
        frontier.mass.push_back(std::move(mass));
    }
    if (witness_ != nullptr) {
        watch(set, local, depth, frontier);
    }
    share_work(is_root ? limits_.n_threads : 1, [&](int) {
        try {
            probe_intervals(set, local, depth, is_root, frontier);
        } catch (...) {
            // Others may be waiting for the test at hand, which nobody will finish.
            const std::lock_guard lock(frontier.mutex);
            control_.interrupt();
            frontier.changed.notify_all();
            throw;
        }
    });
    const Amount value = outcome.best();
    Amount lower = value <= frontier.guess ? value : std::min(budget, value);
    if (frontier.was_stopped || frontier.has_given_up) {
        lower = std::min(lower, frontier.lower(is_root));
    }
    outcome.lower = std::max(outcome.lower, lower);
    if (is_bounded_) {
        outcome.relaxed = std::max(outcome.relaxed, outcome.lower);
    } else if (!frontier.was_stopped && instance_.reference.empty()) {
        // Tests that were not looked at have relaxed bounds no less than the value.
        outcome.relaxed = std::max(outcome.relaxed, std::min({budget, value, frontier.relaxed}));
    }
    if (frontier.looks_left < std::numeric_limits<double>::infinity()) {
        given_up_.fetch_add(frontier.has_given_up ? 1 : -1, std::memory_order_relaxed);
    }
    return !frontier.has_given_up;
}

void Search::probe_intervals(const RowSet& set, const Local& local, int depth, bool is_root, Frontier& frontier) {
    const Amount penalty = instance_.penalty;
    const bool has_intervals = !control_.is_off(no_interval);
    const bool has_similarity = !control_.is_off(no_similarity);

    const auto heard = [&](Claim by, std::int32_t axis, std::int32_t test, Sides sides) {
        for (const Frontier::Watched& watched : frontier.watched) {
            if (watched.axis == axis && watched.test == test) {
                sides.left = witness_->hear(by, watched.left, depth - 1, sides.left);
                sides.right = witness_->hear(by, watched.right, depth - 1, sides.right);
            }
        }
        return sides;
    };
    const auto sides_at = [&](const Interval& interval, std::int32_t test) -> Sides {
        if (!has_intervals) {
            return {penalty, penalty};
        }
        const std::vector<Amount>& mass = frontier.mass[static_cast<std::size_t>(interval.axis)];
        const Amount here = mass[static_cast<std::size_t>(test)];
        Sides sides;
        if (local.axes[static_cast<std::size_t>(interval.axis)].is_categorical) {
            sides = {bounds::subset(frontier.shallower, set.worst - here), bounds::subset(frontier.shallower, here)};
        } else {
            const Amount below = interval.below_at < 0 ? 0 : mass[static_cast<std::size_t>(interval.below_at)];
            const Amount above = mass[static_cast<std::size_t>(interval.above_at)];
            sides = bounds::interval(interval.below, interval.above, here - below, above - here);
        }
        return heard(Claim::interval, interval.axis, test,
                     {std::max(sides.left, penalty), std::max(sides.right, penalty)});
    };
    // Drops the ends that cannot beat the cap; false where nothing is left.
    const auto narrow = [&](Interval& interval, Amount cap) {
        Amount least = unreachable;
        std::int32_t first = interval.high + 1;
        std::int32_t last = interval.low - 1;
        for (std::int32_t test = interval.low; test <= interval.high; ++test) {
            const Sides sides = sides_at(interval, test);
            const Amount bound = sides.left + sides.right;
            least = std::min(least, bound);
            if (bound < cap) {
                first = std::min(first, test);
                last = test;
            }
        }
        interval.low = first;
        interval.high = last;
        interval.bound = std::max(interval.bound, least);
        return first <= last;
    };
    const auto bits_of = [&](const RowSet& rows) {
        std::vector<std::uint64_t> bits((static_cast<std::size_t>(instance_.n_rows) + 63) / 64, 0);
        for (const std::int32_t row : rows.rows) {
            bits[static_cast<std::size_t>(row) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(row) % 64);
        }
        return bits;
    };
    // Called with the lock held: the list may be written by other workers.
    const auto similar_lower = [&](const std::vector<std::uint64_t>& bits, Amount lower) {
        for (const Frontier::Seen& other : frontier.seen) {
            Amount room = other.lower - lower;
            for (std::size_t w = 0; w < bits.size() && room > 0; ++w) {
                for (std::uint64_t rest = other.rows[w] & ~bits[w]; rest != 0 && room > 0; rest &= rest - 1) {
                    room -= instance_.worst[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
                }
            }
            if (room > 0) {
                lower += room;
            }
        }
        return lower;
    };
    const auto remember = [&](std::vector<std::uint64_t> bits, Amount lower) {
        if (frontier.seen.size() < most_similar) {
            frontier.seen.push_back({std::move(bits), lower});
        } else {
            frontier.seen[frontier.next_seen++ % most_similar] = {std::move(bits), lower};
        }
    };

    std::unique_lock lock(frontier.mutex);
    while (true) {
        if (control_.should_stop()) {
            frontier.was_stopped = true;
            frontier.changed.notify_all();
            return;
        }
        Amount cap = frontier.cap(is_root);
        if (frontier.queue.empty() || frontier.queue.top().bound >= cap) {
            if (frontier.in_flight.empty()) {
                frontier.changed.notify_all();
                return;
            }
            frontier.changed.wait(lock);
            continue;
        }
        if (frontier.looks_left < 1.0) {
            frontier.has_given_up = true;
            return;
        }
        Interval interval = frontier.queue.top();
        frontier.queue.pop();
        if (!narrow(interval, cap)) {
            continue;
        }
        frontier.in_flight.push_back(interval.bound);
        if (is_root) {
            const Amount lower = std::min(frontier.lower(true), beyond_);
            raise_lower(witness_ == nullptr ? lower
                                            : witness_->hear(Claim::frontier, set.key, instance_.n_rows, lower));
        }
        const LocalAxis& axis = local.axes[static_cast<std::size_t>(interval.axis)];
        const std::int32_t test = interval.low + (interval.high - interval.low) / 2;
        Sides sides = sides_at(interval, test);
        Split split = split_rows(instance_, set, axis, test);
        if (is_two_labels_ && !control_.is_off(no_leaf_bound)) {
            sides.left = std::max(sides.left, std::min(two_labels_.leaf_value(split.left), bounds::split(penalty)));
            sides.right = std::max(sides.right, std::min(two_labels_.leaf_value(split.right), bounds::split(penalty)));
            sides = heard(Claim::side_leaf, interval.axis, test, sides);
        }
        std::vector<std::uint64_t> left_bits;
        std::vector<std::uint64_t> right_bits;
        if (has_similarity) {
            left_bits = bits_of(split.left);
            right_bits = bits_of(split.right);
            const Sides before = sides;
            sides.left = similar_lower(left_bits, sides.left);
            sides.right = similar_lower(right_bits, sides.right);
            sides = heard(Claim::similarity, interval.axis, test, sides);
            if (before.left + before.right < cap && sides.left + sides.right >= cap) {
                statistics_.similar.fetch_add(1, std::memory_order_relaxed);
            }
        }
        bool is_complete = true;
        if (sides.left + sides.right < cap) {
            frontier.looks_left -= 1.0;
            lock.unlock();
            statistics_.probes.fetch_add(1, std::memory_order_relaxed);
            const bool is_left_first = split.left.rows.size() >= split.right.rows.size();
            const RowSet& first = is_left_first ? split.left : split.right;
            const RowSet& second = is_left_first ? split.right : split.left;
            Amount& first_lower = is_left_first ? sides.left : sides.right;
            Amount& second_lower = is_left_first ? sides.right : sides.left;
            // A test that is too dear is worth a bound above the cap, which rules out its neighbours: as far above as
            // it takes to rule out all of them. Where lifted limits are solved for, that bound comes without asking.
            Amount spare = 0;
            if (!axis.is_categorical && (is_two_labels_ || instance_.n_labels > 2)) {
                const std::vector<Amount>& mass = frontier.mass[static_cast<std::size_t>(interval.axis)];
                spare =
                    (mass[static_cast<std::size_t>(interval.high)] - mass[static_cast<std::size_t>(interval.low)]) / 2;
            }
            const auto hear_budget = [&](const RowSet& side, Amount budget) {
                if (witness_ != nullptr) {
                    witness_->hear_budget(set.key, depth, cap, side.key, budget);
                }
            };
            hear_budget(first, cap - second_lower + spare);
            const Outcome a = solve(first, depth - 1, cap - second_lower + spare, false);
            first_lower = std::max(first_lower, a.relaxed);
            if (std::max(a.lower, first_lower) + second_lower < cap) {
                hear_budget(second, cap - std::max(a.lower, first_lower) + spare);
                const Outcome b = solve(second, depth - 1, cap - std::max(a.lower, first_lower) + spare, false);
                second_lower = std::max(second_lower, b.relaxed);
                const std::int32_t code = local.test_code[static_cast<std::size_t>(axis.first_test + test)];
                if (is_left_first != axis.is_reversed) {
                    combine(first, second, a, b, axis.axis, code, frontier, is_root);
                } else {
                    combine(second, first, b, a, axis.axis, code, frontier, is_root);
                }
            }
            is_complete = !control_.should_stop();
            lock.lock();
            frontier.relaxed = std::min(frontier.relaxed, sides.left + sides.right);
            if (has_similarity && is_complete) {
                remember(std::move(left_bits), sides.left);
                remember(std::move(right_bits), sides.right);
            }
        }
        frontier.in_flight.erase(std::find(frontier.in_flight.begin(), frontier.in_flight.end(), interval.bound));
        if (!is_complete) {
            frontier.queue.push(interval);
            continue;
        }
        cap = frontier.cap(is_root);
        if (test > interval.low) {
            Interval lower_part = interval;
            lower_part.high = test - 1;
            lower_part.above_at = test;
            lower_part.above = sides;
            if (narrow(lower_part, cap)) {
                frontier.queue.push(lower_part);
            }
        }
        if (test < interval.high) {
            Interval upper_part = interval;
            upper_part.low = test + 1;
            upper_part.below_at = test;
            upper_part.below = sides;
            if (narrow(upper_part, cap)) {
                frontier.queue.push(upper_part);
            }
        }
        frontier.changed.notify_all();
    }
}

// Offers every tree that a root test makes of the two sides' trees.
void Search::combine(const RowSet& left, const RowSet& right, const Outcome& l, const Outcome& r, std::int32_t axis,
                     std::int32_t code, Frontier& frontier, bool is_root) {
    const std::size_t width = frontier.outcome->value.size();
    for (std::size_t i = 0; i < l.value.size(); ++i) {
        for (std::size_t j = 0; j < r.value.size(); ++j) {
            // Entry i is a tree of at most i + 1 leaves; without a limit both indices are 0 and the target is entry 0.
            const std::size_t leaves = i + j + 2;
            const std::size_t entry = width == 1 ? 0 : leaves - 1;
            if (entry >= width || l.value[i] >= unreachable || r.value[j] >= unreachable) {
                continue;
            }
            const Amount value = l.value[i] + r.value[j];
            {
                const std::lock_guard lock(frontier.mutex);
                if (value >= frontier.outcome->value[entry]) {
                    continue;
                }
            }
            const NodePtr tree = make_split(axis, code, tree_of(left, l, i), tree_of(right, r, j));
            const std::lock_guard lock(frontier.mutex);
            for (std::size_t m = entry; m < width; ++m) {
                if (value < frontier.outcome->value[m]) {
                    frontier.outcome->value[m] = value;
                    frontier.outcome->tree[m] = tree;
                }
            }
            if (is_root && entry < width) {
                offer(tree);
            }
        }
    }
}

bool Search::offer(const NodePtr& tree) {
    const Judged judged = judge(instance_, tree);
    const Amount value = judged.cost + times(judged.leaves, instance_.penalty);
    const std::lock_guard lock(best_mutex_);
    if (value >= best_value_) {
        return false;
    }
    best_value_ = value;
    best_tree_ = tree;
    upper_now_.store(value, std::memory_order_relaxed);
    return true;
}

void Search::raise_lower(Amount value) {
    Amount now = lower_now_.load(std::memory_order_relaxed);
    const Amount most = upper_now_.load(std::memory_order_relaxed);
    value = std::min(value, most);
    while (value > now && !lower_now_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

// Trees to begin with. The first one splits where the sides are purest, as CART does, and is cut back at λ. The next
// ones look ahead: every test is the root test of the best tree of depth two (or three, where that takes milliseconds)
// below it. They take at most half of the time there is, but for the look that is under way.
void Search::plant(const RowSet& root, bool is_looking_ahead) {
    const Control half(Control::Half{control_});
    const auto purest = [&](const RowSet& rows, int) { return stumps_.purest(rows); };
    offer(grow_tree(instance_, constraints_, stumps_, control_, root, purest));
    if (!is_looking_ahead) {
        return;
    }
    const int farthest = is_two_labels_ && instance_.n_tests <= few_tests && !control_.is_off(no_triples) ? 3 : 2;
    for (int ahead = 2; ahead <= farthest; ++ahead) {
        offer(grow_tree(instance_, constraints_, stumps_, control_, root, [&](const RowSet& rows, int depth_left) {
            if (half.should_stop()) {
                return purest(rows, depth_left);
            }
            const Outcome best = solve(rows, std::min(depth_left, ahead), unreachable, false);
            const NodePtr& tree = best.tree.back();
            const RootTest test =
                tree ? RootTest{tree->axis, tree->code} : RootTest{best.closed.axis, best.closed.code};
            // Where nothing pays so near, something may further down.
            return test.axis >= 0 ? test : purest(rows, depth_left);
        }));
    }
}

// Without limits on leaves the problem is the faster one: its optimum is a bound, and where it keeps the limits anyway
// it is the answer. A limit of m leaves is then approached by raising their price to λ' >= λ (the bound `priced`);
// where an optimum at λ' has exactly m leaves, bound and tree meet and it is the answer. Prices are tried at the slope
// between the best trees known above and below m leaves until nothing new appears. The first tree below is a greedy
// one, which need not be on the hull: slopes are at least λ (the tree above is better at λ) but may be as large as the
// total. Returns the best bound.
Amount Search::relax_limits(const RowSet& root) {
    const Amount most_leaves = constraints_.max_leaves > 0 ? constraints_.max_leaves : instance_.n_rows;
    const Constraints relaxed = without_leaf_limits(constraints_, instance_.n_labels);
    const Control half(Control::Half{control_});
    Instance priced = instance_;
    Judged few = judge(instance_, best_tree_);
    Judged many;
    Amount lower = 0;
    while (true) {
        const bool is_first = many.leaves == 0;
        if (!is_first) {
            priced.penalty = (few.cost - many.cost) / (many.leaves - few.leaves);
        }
        // The witness keeps the lifted limits too, and costs what it costs at this price.
        std::optional<Witness> witness;
        Limits limits = limits_;
        if (witness_ != nullptr) {
            witness.emplace(priced, witness_->tree());
            witness->lie = witness_->lie;
            limits.witness = &*witness;
        }
        Search search(priced, relaxed, limits, half);
        const Result answer = search.run();
        statistics_.subproblems += search.statistics_.subproblems;
        lower = std::max(lower, bounds::priced(answer.lower, priced.penalty - instance_.penalty, most_leaves));
        if (keeps_limits(instance_, constraints_, answer.tree, root)) {
            offer(answer.tree);
        }
        // Of the answer it is in range: a lone leaf costs no less. Of the others it may not be, and saturates.
        const auto value_of = [&](const auto& tree) { return tree.cost + times(tree.leaves, priced.penalty); };
        const bool is_new = is_first || value_of(answer) < std::min(value_of(few), value_of(many));
        if (answer.status != Status::optimal || lower >= best_value_ || !is_new || answer.leaves == most_leaves ||
            (is_first && answer.leaves < most_leaves)) {
            return lower;
        }
        Judged& end = answer.leaves > most_leaves ? many : few;
        end.cost = answer.cost;
        end.leaves = answer.leaves;
    }
}

Result Search::run() {
    const RowSet root = all_rows(instance_);
    const Amount penalty = instance_.penalty;
    offer(make_leaf(instance_.best_label_of_all));
    Result result;
    const int deepest = std::max(0, instance_.n_rows - 1);
    int most_depth = constraints_.max_depth < 0 ? deepest : std::min(constraints_.max_depth, deepest);
    if (instance_.n_tests == 0 || instance_.n_labels < 2) {
        most_depth = 0;
    }
    Amount known_lower = std::min(best_value_, bounds::split(penalty));
    bool is_done = most_depth == 0;
    const auto heard = [&](Claim by, Amount lower) {
        return witness_ == nullptr ? lower : witness_->hear(by, root.key, most_depth, lower);
    };

    const bool has_memory = spare_bytes_ >= least_bytes(instance_);
    // One closed form answers it all. It ends before a limit could stop it, or there is none; else a tree comes first.
    const bool is_shallow = most_depth <= 2 || (most_depth == 3 && is_two_labels_ && instance_.n_tests <= few_tests);
    const bool is_quick = is_shallow && (!control_.has_deadline() || closed_steps(instance_, most_depth) <= few_steps);
    if (!is_done && has_memory && !is_quick && !control_.is_off(no_greedy)) {
        plant(root, !is_shallow);
        is_done = known_lower >= best_value_;
    }
    if (!is_done && has_memory && has_relaxation_) {
        known_lower = std::max(known_lower, relax_limits(root));
        known_lower = heard(Claim::price, known_lower);
        raise_lower(known_lower);
        is_done = known_lower >= best_value_;
    }
    // Shallower depths give the deeper ones a tree to beat; a closed form that is quick needs none.
    int first_depth = 1;
    if (control_.is_off(no_deepening) && constraints_.max_depth >= 0) {
        first_depth = most_depth;
    } else if (is_two_labels_ && instance_.n_tests <= few_tests) {
        first_depth = std::min(most_depth, control_.is_off(no_triples) ? 2 : 3);
    }
    for (int depth = first_depth; has_memory && !is_done && depth <= most_depth && !control_.should_stop(); ++depth) {
        statistics_.depth_reached = depth;
        beyond_ = depth == most_depth ? unreachable : bounds::deeper_than(depth, penalty);
        const Outcome outcome = solve(root, depth, best_value_, true);
        if (outcome.best() < best_value_) {
            offer(tree_of(root, outcome, outcome.value.size() - 1));
        }
        const bool was_stopped = control_.should_stop();
        const Amount within = was_stopped ? std::min(outcome.lower, best_value_) : best_value_;
        known_lower = heard(Claim::deeper, std::max(known_lower, std::min(within, beyond_)));
        raise_lower(known_lower);
        is_done = known_lower >= best_value_;
    }
    result.tree = simplify(instance_, best_tree_, root);
    const Judged judged = judge(instance_, result.tree);
    result.cost = judged.cost;
    result.leaves = judged.leaves;
    const Amount value = judged.cost + times(judged.leaves, penalty);
    result.lower = std::min(value, is_done || known_lower >= value ? value : known_lower);
    result.lower = heard(Claim::result, result.lower);
    if (!is_done && known_lower < value) {
        result.status = !has_memory          ? Status::memory_limit
                        : control_.is_late() ? Status::time_limit
                                             : Status::interrupted;
    }
    if (!instance_.reference.empty()) {
        result.status = result.status == Status::optimal ? Status::guessed : result.status;
    }
    statistics_.cache_entries = cache_.size();
    statistics_.cache_forgotten = cache_.n_forgotten();
    return result;
}

}  // namespace certree
