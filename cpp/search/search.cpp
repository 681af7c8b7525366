// The recursion. A subproblem is answered, in this order, by its leaf, by memory, by a closed form, or by looking at
// root tests one at a time, best bound first, each look narrowing the bounds of its neighbours.
#include "search/search.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"
#include "workers.hpp"

namespace certree {

namespace {

constexpr std::size_t default_cache_bytes = std::size_t{256} << 20;

// Row sets of these depths are compared with all that the search has seen: closed forms answer smaller depths sooner,
// and λ pays for few trees that are deeper.
constexpr int least_seen_depth = 3;
constexpr int n_seen_depths = 16;

// As many of them as are worth a comparison and fit into a few megabytes; small tables then see some forgotten.
SeenSets::Size size_of_seen(const Instance& instance, std::size_t spare, const Control& control) {
    if (control.is_off(no_cost_model)) {
        return {2, 7};
    }
    constexpr std::size_t newest = 96;
    const std::size_t most_bytes = std::min(std::size_t{4} << 20, spare / 64);
    const std::size_t fit = most_bytes / (static_cast<std::size_t>(instance.n_rows) / 8 + 64);
    return {newest, std::clamp<std::size_t>(fit, newest, forecast::most_seen_sets)};
}

// Half of what is left goes to the tables of the closed forms, three eighths to the cache, the rest to first trees.
std::size_t spare_bytes(const Instance& instance, const Limits& limits) {
    if (limits.memory_bytes <= 0) {
        return std::size_t{1} << 40;
    }
    const auto most = static_cast<std::size_t>(limits.memory_bytes);
    const std::size_t held = instance.bytes();
    return most > held ? most - held : 0;
}

std::size_t cache_bytes(std::size_t spare, const Control& control) {
    return control.is_off(no_cache) ? 0 : std::min(default_cache_bytes, spare / 8 * 3);
}

// A tree of m leaves is no deeper than m − 1, whatever is lifted later.
Settings with_depth_of_leaves(Settings settings) {
    if (settings.max_leaves > 0 && (settings.max_depth < 0 || settings.max_depth >= settings.max_leaves)) {
        settings.max_depth = settings.max_leaves - 1;
    }
    return settings;
}

}  // namespace

Search::Search(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control)
    : instance_(instance),
      spare_bytes_(spare_bytes(instance, limits)),
      settings_(with_depth_of_leaves(settings)),
      limits_(limits),
      control_(control),
      stumps_(instance_, settings_, control),
      two_labels_(instance_, settings_, control,
                  spare_bytes_ / 2 / static_cast<std::size_t>(std::max(1, limits.n_threads))),
      any_labels_(instance_, settings_, stumps_, control,
                  spare_bytes_ / 2 / static_cast<std::size_t>(std::max(1, limits.n_threads))),
      cell_form_(instance_, settings_, stumps_, control, spare_bytes_ / 2),
      cache_(cache_bytes(spare_bytes_, control)),
      witness_(instance.reference.empty() ? limits.witness : nullptr),
      is_two_labels_(instance.n_labels == 2 && settings.max_leaves == 0 && !settings.has_leaf_minimum()),
      has_relaxation_(!is_two_labels_ && (instance.n_labels == 2 || settings.max_leaves > 0) &&
                      !control.is_off(no_relaxation)),
      is_bounded_(!settings.has_leaf_minimum()) {
    for (int n = 0; n < n_seen_depths; ++n) {
        seen_.emplace_back(instance_, size_of_seen(instance_, spare_bytes_, control_));
    }
}

// Entries of an outcome at this depth.
std::size_t Search::width_at(int depth) const {
    if (settings_.max_leaves == 0) {
        return 1;
    }
    const std::size_t most = depth >= 20 ? std::size_t{1} << 20 : std::size_t{1} << depth;
    return std::min(most, static_cast<std::size_t>(settings_.max_leaves));
}

// Whether a closed form of two labels is the fastest way, as far as can be told beforehand; at the root, where a stop
// leaves the bounds of what was looked at, it must not take long either.
bool Search::is_fast(const Subproblem& problem, const Local& local) const {
    if (problem.depth != 3 || control_.is_off(no_triples) || control_.is_off(no_cost_model)) {
        return problem.depth <= 2;
    }
    const bool is_patient = given_up_.load(std::memory_order_relaxed) <= 0;
    return two_labels_.triples_pay(local, is_patient) &&
           (problem.root == nullptr || !forecast::are_triples_long(local, control_.seconds_left()));
}

// Whether sums over cells are the fastest way to depth two or three. Below the root a budget may leave other ways to
// depth three little to do, so they are taken only where another closed form would be.
bool Search::do_cells_pay(const Subproblem& problem, const Local& local) const {
    const int depth = problem.depth;
    if (depth < 2 || depth > 3 || settings_.max_leaves > 0 || control_.is_off(no_cells) ||
        !cell_form_.fits(local, depth, n_threads_at(problem))) {
        return false;
    }
    if (control_.is_off(no_cost_model)) {
        return local.n_rows % (depth == 3 ? 2 : 3) == 0;  // small tables then see both
    }
    const bool is_below = problem.root == nullptr;
    if ((local.n_rows < forecast::least_rows_of_cells && (is_below || depth == 2)) ||
        (is_below && depth == 3 && (!is_two_labels_ || !is_fast(problem, local)))) {
        return false;
    }
    const auto n_channels = static_cast<double>(cell_form_.n_channels());
    // Of many labels a row has few.
    const double n_amounts =
        instance_.n_labels == 2
            ? n_channels
            : n_channels - instance_.n_labels + static_cast<double>(instance_.gains.size()) / instance_.n_rows;
    if (depth == 2) {
        return forecast::do_cells_pay(forecast::pair_cell_cycles(local, n_amounts, n_channels),
                                      std::min(forecast::pair_cycles(local), forecast::many_row_pair_cycles(local)),
                                      control_.seconds_left());
    }
    const double looks = forecast::looked_cycles(local);
    const double others = is_two_labels_ ? std::min(looks, forecast::many_row_triple_cycles(local)) : looks;
    return forecast::do_cells_pay(forecast::cell_cycles(local, n_amounts, n_channels), others, control_.seconds_left());
}

// Whether closed forms pay shows as root tests are looked at: after as many looks as cost what depth three costs in
// closed form, the looks yet to come are spared.
double Search::patience(int depth, const Local& local) const {
    if (!is_two_labels_ || depth != 3 || control_.is_off(no_triples)) {
        return std::numeric_limits<double>::infinity();
    }
    const double looks = two_labels_.looks_in_triples(local);
    // Small tables then see patience end, and some of them that it is renewed.
    return control_.is_off(no_cost_model) ? std::min(looks, 2.0 + local.n_rows % 7) : looks;
}

// Bounds are heard one by one as they are made.
void Search::hear(Claim by, const Subproblem& problem, Outcome& outcome) const {
    if (witness_ != nullptr) {
        outcome.lower = witness_->hear(by, problem.set.key, problem.depth, outcome.lower);
        outcome.relaxed = witness_->hear(by, problem.set.key, problem.depth, outcome.relaxed);
    }
}

// And an answer when it is given, by whatever gave it.
void Search::hear_answer(Claim by, const Subproblem& problem, const Outcome& outcome) const {
    if (witness_ != nullptr && !control_.should_stop()) {
        const bool is_last_asked = problem.root != nullptr;
        witness_->hear_answer(by, problem.set.key, problem.depth, problem.budget, outcome, is_last_asked);
    }
}

// Work is shared at the root: further down there is too little of it.
int Search::n_threads_at(const Subproblem& problem) const {
    return problem.root != nullptr ? std::max(1, limits_.n_threads) : 1;
}

// Pre: the entry holds a tree, or a closed form found its root test.
NodePtr Search::tree_of(const RowSet& set, const Outcome& outcome, std::size_t entry) const {
    if (outcome.tree[entry]) {
        return outcome.tree[entry];
    }
    return two_labels_.extract_below(set, outcome.closed);
}

// Pre: depth >= 0. Post: every entry below the budget is the optimum of the subproblem (at the root: the last entry);
// `lower` holds for all trees. Stopped: `lower` is still true, entries are the best trees seen.
Outcome Search::solve(const Subproblem& problem) {
    statistics_.subproblems.fetch_add(1, std::memory_order_relaxed);
    Outcome outcome(width_at(problem.depth));
    if (settle_by_leaf(problem, outcome)) {
        return outcome;
    }
    // What is asked for is cheaper than the budget, and no more expensive than the leaf.
    const Amount goal = std::min(problem.budget, outcome.value[0]);
    const int deepest = bounds::deepest_below(goal, problem.depth, settings_.penalty);
    if (deepest < problem.depth && !control_.is_off(no_leaf_bound)) {
        return solve_shallower(problem, deepest);
    }
    if (recall(problem, outcome)) {
        return outcome;
    }
    const Local local(instance_, problem.set);
    if (settle_alike(problem, local, outcome)) {
        return outcome;
    }
    const bool is_solved = solve_by_cells(problem, local, outcome) || solve_two_labels(problem, local, outcome) ||
                           settle_relaxed(problem, local, outcome) || solve_any_labels(problem, local, outcome);
    if (!is_solved) {
        const Amount shallower = deepen(problem, outcome);
        std::vector<Amount> axis_lower;
        if (!expand(problem, local, shallower, outcome, axis_lower)) {
            solve_closed(problem, local, std::move(axis_lower), outcome);
        }
    }
    remember(problem, outcome);
    return outcome;
}

// Pre: no tree deeper than this costs less than the budget, or less than the leaf. Post: as of `solve`.
Outcome Search::solve_shallower(const Subproblem& problem, int depth) {
    Outcome outcome = solve({problem.set, depth, problem.budget, problem.root});
    const Amount deeper = bounds::deeper_than(depth, settings_.penalty);
    outcome.lower = std::min(outcome.lower, deeper);
    outcome.relaxed = std::min(outcome.relaxed, deeper);
    // A limit of leaves has more entries at more depth; what is cheaper than the budget is no better in them.
    const std::size_t width = width_at(problem.depth);
    outcome.value.resize(width, outcome.best());
    outcome.tree.resize(width, outcome.tree.back());
    hear(Claim::depth_cap, problem, outcome);
    hear_answer(Claim::depth_cap, problem, outcome);
    return outcome;
}

// Post: every entry holds the set's leaf, where it is allowed, and the bounds are those of any tree. True: the leaf is
// the answer, or the bounds are enough, or it is time to stop.
bool Search::settle_by_leaf(const Subproblem& problem, Outcome& outcome) const {
    const auto& [set, depth, budget, root] = problem;
    const Amount penalty = settings_.penalty;
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
    hear(Claim::split, problem, outcome);
    // A set that misses a minimum misses it in all its parts.
    const bool is_too_small = leaf == unreachable || (set.count > 0 && set.count < 2 * settings_.min_samples_leaf);
    if (depth == 0 || set.rows.size() < 2 || (leaf <= split && !control_.is_off(no_leaf_bound)) || is_too_small) {
        outcome.lower = leaf;
        hear(Claim::leaf, problem, outcome);
        return true;
    }
    if (!instance_.reference.empty()) {
        const Amount guess = bounds::guess(set.reference, penalty);
        outcome.lower = std::max(outcome.lower, std::min(leaf, guess));
        outcome.relaxed = std::max(outcome.relaxed, std::min(leaf, guess));
        if (leaf <= guess) {
            return true;
        }
    }
    return outcome.lower >= budget || control_.should_stop();
}

// Pre: every entry holds the set's leaf. True: no test tells the rows apart, and the leaf is the answer.
bool Search::settle_alike(const Subproblem& problem, const Local& local, Outcome& outcome) const {
    if (local.n_tests > 0) {
        return false;
    }
    outcome.lower = outcome.value[0];
    hear(Claim::leaf, problem, outcome);
    return true;
}

// Closed forms of less are found again as fast.
bool Search::is_remembered(const Subproblem& problem) const {
    return problem.depth >= 3 && !control_.is_off(no_cache);
}

// Post: the bounds are no worse than what memory has. True: it has the answer, for this budget or a larger one.
bool Search::recall(const Subproblem& problem, Outcome& outcome) {
    const auto& [set, depth, budget, root] = problem;
    if (!is_remembered(problem)) {
        return false;
    }
    auto known = cache_.find(set.key, depth);
    if (!known) {
        return false;
    }
    outcome.lower = std::max(outcome.lower, known->lower);
    outcome.relaxed = std::max(outcome.relaxed, known->relaxed);
    hear(Claim::cache, problem, outcome);
    if (known->lower >= budget || known->budget >= budget) {
        statistics_.cache_hits.fetch_add(1, std::memory_order_relaxed);
        outcome.value = std::move(known->value);
        outcome.tree = std::move(known->tree);
        outcome.closed = known->closed;
        hear_answer(Claim::cache, problem, outcome);
        return true;
    }
    return false;
}

// Pre: what the outcome holds is the answer for the budget, unless the search was stopped.
void Search::remember(const Subproblem& problem, const Outcome& outcome) {
    if (is_remembered(problem) && !control_.should_stop()) {
        // What is cheaper than its budget is the best whatever the budget.
        const bool is_best = outcome.value.size() == 1 && outcome.best() < problem.budget;
        const Amount budget = is_best ? unreachable : problem.budget;
        cache_.store(problem.set.key, problem.depth,
                     {outcome.lower, outcome.relaxed, budget, outcome.value, outcome.tree, outcome.closed});
    }
}

// True: sums over cells gave the answer: of depth two or three, with no limit on the number of leaves.
bool Search::solve_by_cells(const Subproblem& problem, const Local& local, Outcome& outcome) {
    if (!do_cells_pay(problem, local)) {
        return false;
    }
    statistics_.cells.fetch_add(1, std::memory_order_relaxed);
    std::function<void(const Outcome&)> offer_tree;
    if (problem.root != nullptr && problem.depth == 3) {
        offer_tree = [&](const Outcome& so_far) {
            if (so_far.best() < upper_now()) {
                offer(so_far.tree[0]);
            }
        };
    }
    const Amount before = outcome.lower;
    cell_form_.solve(problem.set, local, problem.depth, n_threads_at(problem), offer_tree, outcome);
    outcome.lower = std::max(before, outcome.lower);
    if (is_bounded_) {
        outcome.relaxed = std::max(outcome.relaxed, outcome.lower);
    }
    hear(Claim::cell_form, problem, outcome);
    hear_answer(Claim::cell_form, problem, outcome);
    return true;
}

// True: nothing but depth and λ limits a tree of two labels, and a closed form gave the answer at once.
bool Search::solve_two_labels(const Subproblem& problem, const Local& local, Outcome& outcome) {
    if (!is_two_labels_ || !is_fast(problem, local)) {
        return false;
    }
    solve_closed(problem, local, {}, outcome);
    return true;
}

// Pre: no tree of the root's subproblem costs less. Post: whoever asks while the search runs is told.
void Search::report(const Subproblem& problem, Claim by, Amount lower) {
    lower = std::min(lower, problem.root->beyond);
    raise_lower(witness_ == nullptr ? lower : witness_->hear(by, problem.set.key, instance_.n_rows, lower));
}

// Pre: nothing but depth and λ limits a tree of two labels, and the depth has a closed form; axis_lower: what trees
// with their root on an axis cost at least, where that is known. Post: as of `solve`.
void Search::solve_closed(const Subproblem& problem, const Local& local, std::vector<Amount> axis_lower,
                          Outcome& outcome) {
    const auto& [set, depth, budget, root] = problem;
    (depth == 3 ? statistics_.triples : statistics_.pairs).fetch_add(1, std::memory_order_relaxed);
    const Amount goal = std::min(budget, outcome.value[0]);
    TwoLabels::Slices slices{std::move(axis_lower), {}};
    if (root != nullptr) {
        slices.report = [&](const TwoLabels::Answer& so_far) {
            report(problem, Claim::slice, so_far.lower);
            if (so_far.tree && so_far.value < upper_now()) {
                offer(so_far.tree);
            }
        };
    }
    const TwoLabels::Answer answer = two_labels_.solve(set, local, depth, goal, n_threads_at(problem), &slices);
    outcome.lower = std::max(outcome.lower, answer.lower);
    outcome.relaxed = outcome.lower;
    if (answer.value < outcome.value[0]) {
        outcome.value[0] = answer.value;
        outcome.tree[0] = answer.tree;
        outcome.closed = {depth, answer.axis, answer.code};
    }
    const Claim claim = depth == 3 ? Claim::triple_form : depth == 2 ? Claim::pair_form : Claim::stump_form;
    hear(claim, problem, outcome);
    hear_answer(claim, problem, outcome);
}

// Below the root, the closed form of two labels with every limit on leaves lifted. Post: the bounds are no worse than
// its own. True: they are enough, or its best tree keeps the limits, so that it is the best.
bool Search::settle_relaxed(const Subproblem& problem, const Local& local, Outcome& outcome) const {
    const auto& [set, depth, budget, root] = problem;
    if (!has_relaxation_ || instance_.n_labels != 2 || root != nullptr || !is_fast(problem, local)) {
        return false;
    }
    const TwoLabels::Answer answer = two_labels_.solve(set, local, depth, budget);
    outcome.relaxed = std::max(outcome.relaxed, answer.lower);
    outcome.lower = std::max(outcome.lower, answer.lower);
    hear(Claim::relaxed_form, problem, outcome);
    if (outcome.lower >= std::min(budget, outcome.value[0])) {
        hear_answer(Claim::relaxed_form, problem, outcome);
        return true;
    }
    if (outcome.value.size() > 1 || answer.axis < 0) {
        return false;
    }
    const NodePtr tree = answer.tree ? answer.tree : two_labels_.extract_below(set, {depth, answer.axis, answer.code});
    if (!control_.should_stop() && keeps_limits(instance_, settings_, tree, set)) {
        outcome.value[0] = outcome.lower = answer.value;
        outcome.tree[0] = tree;
        hear(Claim::kept_form, problem, outcome);
        hear_answer(Claim::kept_form, problem, outcome);
        return true;
    }
    return false;
}

// True: a closed form for any labels and limits gave the answer: a stump, or depth two.
bool Search::solve_any_labels(const Subproblem& problem, const Local& local, Outcome& outcome) {
    const auto& [set, depth, budget, root] = problem;
    Claim claim = Claim::stumps;
    if (depth == 1 || outcome.value.size() == 2) {
        stumps_.solve(set, local, outcome);
        if (is_bounded_) {
            outcome.relaxed = std::max(outcome.relaxed, outcome.lower);
        }
    } else if (depth == 2 && !control_.is_off(no_coarse) && any_labels_.fits(local)) {
        statistics_.pairs.fetch_add(1, std::memory_order_relaxed);
        any_labels_.solve(set, local, budget, n_threads_at(problem), outcome);
        claim = Claim::any_labels;
    } else {
        return false;
    }
    hear(claim, problem, outcome);
    hear_answer(claim, problem, outcome);
    return true;
}

// Solves for a depth less. Post: its trees are the outcome's where they are better. Returns what no tree of a depth
// less costs less than, leaf minima lifted.
Amount Search::deepen(const Subproblem& problem, Outcome& outcome) {
    if (control_.is_off(no_deepening)) {
        return settings_.penalty;
    }
    const Outcome prior = solve({problem.set, problem.depth - 1, problem.budget});
    for (std::size_t m = 0; m < outcome.value.size(); ++m) {
        const std::size_t from = std::min(m, prior.value.size() - 1);
        if (prior.value[from] < outcome.value[m]) {
            outcome.value[m] = prior.value[from];
            outcome.tree[m] = prior.tree[from];
            outcome.closed = prior.closed;
        }
    }
    return std::max(settings_.penalty, prior.relaxed);
}

// What the root tests of a subproblem are looked at for.
Frontier::Goal Search::goal_of(const Subproblem& problem, const Local& local, Amount shallower,
                               const Outcome& outcome) {
    const auto& [set, depth, budget, root] = problem;
    Frontier::Goal goal;
    goal.depth = depth;
    goal.penalty = settings_.penalty;
    goal.budget = budget;
    goal.shallower = shallower;
    // A limit on leaves may ask for a tree of less depth that is below the cap. Where less depth was stopped, nothing
    // is looked at here.
    if (is_bounded_ && settings_.max_leaves == 0 && !control_.is_off(no_leaf_bound) && !control_.is_off(no_deepening)) {
        goal.deep = bounds::deeper_than(depth - 2, settings_.penalty);
    }
    if (!instance_.reference.empty()) {
        goal.guess = bounds::guess(set.reference, settings_.penalty);
    }
    // Below the root every number of leaves may be asked for: a test matters while it can beat the best of two.
    goal.entry = root != nullptr || outcome.value.size() == 1 ? outcome.value.size() - 1 : 1;
    goal.two_labels = is_two_labels_ ? &two_labels_ : nullptr;
    // Where lifted limits are solved for, a bound above the cap comes without asking.
    goal.is_spare_asked = is_two_labels_ || instance_.n_labels > 2;
    const int from_least = depth - 1 - least_seen_depth;
    if (from_least >= 0 && from_least < n_seen_depths) {
        goal.seen = &seen_[static_cast<std::size_t>(from_least)];
    }
    goal.patience = patience(depth, local);
    if (root != nullptr) {
        goal.report = [this, &problem](Amount least) { report(problem, Claim::frontier, least); };
    }
    return goal;
}

// Looks at root tests until none can beat what is known, or patience ends, or it is time to stop. Pre: every entry
// holds the set's leaf or better; `shallower` is of `deepen`. Post: the bounds hold. True: as of `solve`; false:
// patience ended first, and by axis it is known what trees with their root there cost at least.
bool Search::expand(const Subproblem& problem, const Local& local, Amount shallower, Outcome& outcome,
                    std::vector<Amount>& axis_lower) {
    statistics_.expansions.fetch_add(1, std::memory_order_relaxed);
    const Frontier::Goal goal = goal_of(problem, local, shallower, outcome);
    Frontier frontier(instance_, control_, witness_, problem.set, local, goal, outcome);
    share_work(is_elsewhere(problem) ? limits_.n_elsewhere : n_threads_at(problem), [&](int) {
        try {
            while (std::optional<Frontier::Look> look = frontier.next()) {
                look_at(problem, local, goal.deep, *look, frontier);
                frontier.close(*look, !control_.should_stop());
            }
        } catch (...) {
            frontier.abandon();
            throw;
        }
    });
    statistics_.similar += frontier.n_similar();
    if (goal.patience < std::numeric_limits<double>::infinity()) {
        given_up_.fetch_add(frontier.has_given_up() ? 1 : -1, std::memory_order_relaxed);
    }
    read_off(frontier, goal, outcome);
    hear(Claim::expansion, problem, outcome);
    if (frontier.has_given_up()) {
        axis_lower = frontier.axis_lower();
        return false;
    }
    hear_answer(Claim::expansion, problem, outcome);
    return true;
}

// The bounds of all trees with a split, by the root tests that were looked at and those that need no look.
void Search::read_off(const Frontier& frontier, const Frontier::Goal& goal, Outcome& outcome) const {
    const Amount budget = goal.budget;
    const Amount value = outcome.best();
    Amount lower = value <= goal.guess ? value : std::min(budget, value);
    if (frontier.was_stopped() || frontier.has_given_up()) {
        lower = std::min(lower, frontier.lower());
    }
    outcome.lower = std::max(outcome.lower, lower);
    if (is_bounded_) {
        outcome.relaxed = std::max(outcome.relaxed, outcome.lower);
    } else if (!frontier.was_stopped() && instance_.reference.empty()) {
        // Tests that were not looked at have relaxed bounds no less than the value.
        outcome.relaxed = std::max(outcome.relaxed, std::min({budget, value, frontier.relaxed()}));
    }
}

// How deep trees of a side are looked at for a bound of all its trees; less than its depth.
int Search::shallow_depth(int depth) const {
    return std::min(is_three_quick() ? 3 : 2, depth - 1);
}

// Whether a bound of the one side by its shallow trees may leave the other so little of the cap that it pays for fewer
// leaves than its depth allows.
bool Search::is_shallow_look_worthwhile(int depth, Amount cap) const {
    const Amount most = bounds::deeper_than(shallow_depth(depth - 1), settings_.penalty);
    return depth >= 4 && !control_.is_off(no_leaf_bound) && !control_.is_off(no_deepening) &&
           bounds::deepest_below(bounds::side_budget(cap, most), depth - 1, settings_.penalty) < depth - 1;
}

// What no tree of the side costs less than, leaf minima lifted: it is shallow, or it has the leaves of a deeper one.
Amount Search::shallow_lower(const RowSet& side, int depth, Amount budget) {
    const int shallow = shallow_depth(depth);
    const Amount lower =
        std::min(solve({side, shallow, budget}).relaxed, bounds::deeper_than(shallow, settings_.penalty));
    return witness_ == nullptr ? lower : witness_->hear(Claim::depth_cap, side.key, depth, lower);
}

// Whether others look at the root tests: not where a closed form takes milliseconds for a look.
bool Search::is_elsewhere(const Subproblem& problem) const {
    return problem.root != nullptr && limits_.elsewhere != nullptr &&
           (problem.depth >= (is_two_labels_ ? 4 : 3) || control_.is_off(no_cost_model));
}

// Looks at both sides of a test, or has somebody else do it. Post: the bounds of the sides are no worse than before;
// what they make together is on offer.
void Search::look_at(const Subproblem& problem, const Local& local, Amount deep, Frontier::Look& look,
                     Frontier& frontier) {
    statistics_.probes.fetch_add(1, std::memory_order_relaxed);
    const LocalAxis& axis = local.axes[static_cast<std::size_t>(look.interval.axis)];
    const RootTest test{axis.axis, axis.code_of(look.test)};
    if (is_elsewhere(problem)) {
        look_elsewhere(problem, test, axis.is_reversed, look, frontier);
        return;
    }
    const Split& split = look.split;
    const auto both = solve_sides({problem.set.key, problem.depth, look.cap, look.spare, deep}, split, look.sides);
    if (!both) {
        return;
    }
    if (axis.is_reversed) {
        combine(problem, test, {split.right, both->right}, {split.left, both->left}, frontier);
    } else {
        combine(problem, test, {split.left, both->left}, {split.right, both->right}, frontier);
    }
}

// Pre: the problem is at the root, where only the last entry is asked for. Post: as of `look_at`, unless it is time to
// stop.
void Search::look_elsewhere(const Subproblem& problem, const RootTest& test, bool is_reversed, Frontier::Look& look,
                            Frontier& frontier) {
    statistics_.elsewhere.fetch_add(1, std::memory_order_relaxed);
    const auto turned = [&](const bounds::Sides& sides) {
        return is_reversed ? bounds::Sides{sides.right, sides.left} : sides;
    };
    const Question question{settings_, test, problem.depth, look.cap, look.spare, turned(look.sides)};
    const std::optional<Answer> answer = (*limits_.elsewhere)(question, control_);
    if (!answer) {
        return;
    }
    const bounds::Sides learned = turned(answer->sides);
    look.sides = {std::max(look.sides.left, learned.left), std::max(look.sides.right, learned.right)};
    if (answer->tree && frontier.offer(width_at(problem.depth) - 1, answer->value, [&] { return answer->tree; })) {
        offer(answer->tree);
    }
}

Answer Search::answer(const Question& question) {
    const RowSet root = all_rows(instance_);
    const Split split = split_rows(instance_, root, question.test.axis, question.test.code);
    Answer answer{question.sides, unreachable, nullptr};
    const auto both = solve_sides({root.key, question.depth, question.cap, question.spare, 0}, split, answer.sides);
    if (!both || control_.should_stop()) {
        return answer;
    }
    const std::size_t width = width_at(question.depth);
    const std::vector<Amount>& l = both->left.value;
    const std::vector<Amount>& r = both->right.value;
    answer.value = question.cap;
    for (std::size_t i = 0; i < l.size(); ++i) {
        for (std::size_t j = 0; j < r.size() && (width == 1 || i + j + 2 <= width); ++j) {
            if (l[i] < unreachable && r[j] < unreachable && l[i] + r[j] < answer.value) {
                answer.value = l[i] + r[j];
                answer.tree = make_split(question.test.axis, question.test.code, tree_of(split.left, both->left, i),
                                         tree_of(split.right, both->right, j));
            }
        }
    }
    answer.value = answer.tree ? answer.value : unreachable;
    return answer;
}

// Solves both sides of a test as far as they may be part of a tree below the cap. The smaller one comes first: it takes
// less time, and its cost leaves the larger one a budget that is often too small, which is sooner shown than the larger
// one's optimum is found. Post: the bounds of the sides are no worse than before. None: they are no part of such a
// tree.
std::optional<Search::BothSides> Search::solve_sides(const Looked& looked, const Split& split, bounds::Sides& lower) {
    const auto& [whole, depth, cap, spare, deep] = looked;
    const bool is_left_first = split.left.rows.size() < split.right.rows.size();
    const RowSet& first = is_left_first ? split.left : split.right;
    const RowSet& second = is_left_first ? split.right : split.left;
    Amount& first_lower = is_left_first ? lower.left : lower.right;
    Amount& second_lower = is_left_first ? lower.right : lower.left;
    const auto solve_side = [&](const RowSet& side, Amount budget) {
        if (witness_ != nullptr) {
            witness_->hear_budget(looked.whole, looked.depth, looked.cap, side.key, budget);
        }
        return solve({side, looked.depth - 1, budget});
    };
    if (is_shallow_look_worthwhile(depth, cap + spare)) {
        second_lower = std::max(
            second_lower, shallow_lower(second, depth - 1, bounds::deep_side_budget(cap + spare, first_lower, deep)));
        if (bounds::deep_sum(lower, deep) >= cap + spare) {
            return std::nullopt;
        }
    }
    Outcome a = solve_side(first, bounds::deep_side_budget(cap + spare, second_lower, deep));
    first_lower = std::max(first_lower, a.relaxed);
    const Amount first_cost = std::max(a.lower, first_lower);
    if (second_lower >= bounds::deep_side_budget(cap, first_cost, deep)) {
        return std::nullopt;
    }
    Outcome b = solve_side(second, bounds::deep_side_budget(cap + spare, first_cost, deep));
    second_lower = std::max(second_lower, b.relaxed);
    return is_left_first ? BothSides{std::move(a), std::move(b)} : BothSides{std::move(b), std::move(a)};
}

// Offers every tree that a root test makes of the two sides' trees.
void Search::combine(const Subproblem& problem, const RootTest& test, const Solved& left, const Solved& right,
                     Frontier& frontier) {
    const std::size_t width = width_at(problem.depth);
    const std::vector<Amount>& l = left.outcome.value;
    const std::vector<Amount>& r = right.outcome.value;
    for (std::size_t i = 0; i < l.size(); ++i) {
        for (std::size_t j = 0; j < r.size(); ++j) {
            // Entry i is a tree of at most i + 1 leaves; without a limit both indices are 0 and the target is entry 0.
            const std::size_t leaves = i + j + 2;
            const std::size_t entry = width == 1 ? 0 : leaves - 1;
            if (entry >= width || l[i] >= unreachable || r[j] >= unreachable) {
                continue;
            }
            const NodePtr tree = frontier.offer(entry, l[i] + r[j], [&] {
                return make_split(test.axis, test.code, tree_of(left.set, left.outcome, i),
                                  tree_of(right.set, right.outcome, j));
            });
            if (tree && problem.root != nullptr) {
                offer(tree);
            }
        }
    }
}

Amount Search::lower_bound(const RowSet& set, int depth, Amount budget) {
    const Outcome outcome = solve({set, depth, budget});
    return outcome.best() < budget && !control_.should_stop() ? outcome.best() : outcome.lower;
}

}  // namespace certree
