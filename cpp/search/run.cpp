// A whole search: from the first trees, by lifted limits and by depth, to the answer. What solves a subproblem is in
// search.cpp.
#include <algorithm>
#include <optional>

#include "bounds.hpp"
#include "search/greedy.hpp"
#include "search/search.hpp"
#include "shallow/cost_model.hpp"

namespace certree {

namespace {

// Row sets on the way down and the closed forms' own rows: what a search cannot do without.
std::size_t least_bytes(const Instance& instance) {
    return 2 * instance.bytes();
}

// What first trees may remember: with the cache and the tables of closed forms it makes up what there is.
std::size_t polish_bytes(std::size_t spare) {
    return std::min(std::size_t{32} << 20, spare / 8);
}

// Two labels without any limit have closed forms of their own; many labels meet minima as fast as they can do without.
Settings without_leaf_limits(Settings settings, std::int32_t n_labels) {
    settings.max_leaves = 0;
    if (n_labels == 2) {
        settings.min_samples_leaf = 1;
        settings.min_weight_leaf = 0;
        settings.min_samples_arm = 0;
    }
    return settings;
}

}  // namespace

// Pre: the tree keeps the limits. Post: the best tree known is no worse than it. True: this one is now the best.
bool Search::offer(const NodePtr& tree) {
    const Judged judged = judge(instance_, tree);
    const Amount value = judged.cost + times(judged.leaves, settings_.penalty);
    const std::lock_guard lock(best_mutex_);
    if (value >= best_value_) {
        return false;
    }
    best_value_ = value;
    best_tree_ = tree;
    upper_now_.store(value, std::memory_order_relaxed);
    return true;
}

// Pre: no tree costs less. Post: whoever asks while the search runs is told so, or of a better bound.
void Search::raise_lower(Amount value) {
    Amount now = lower_now_.load(std::memory_order_relaxed);
    const Amount most = upper_now_.load(std::memory_order_relaxed);
    value = std::min(value, most);
    while (value > now && !lower_now_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

// Whether one closed form answers it all.
bool Search::is_shallow(int most_depth) const {
    return most_depth <= 2 || (most_depth == 3 && is_two_labels_ && instance_.n_tests <= forecast::few_tests);
}

// And ends long before a limit could stop it (by a forecast a hundred times over, for forecasts err), or there is none.
bool Search::is_quick(int most_depth) const {
    const auto n_axes = static_cast<double>(instance_.axes.size());
    const auto n_tests = static_cast<double>(instance_.n_tests);
    const double steps = forecast::closed_steps(instance_.n_rows, n_axes, n_tests, most_depth);
    return is_shallow(most_depth) && steps <= forecast::few_steps * std::max(1.0, control_.seconds_left());
}

// Whether a closed form of depth three takes milliseconds.
bool Search::is_three_quick() const {
    return is_two_labels_ && instance_.n_tests <= forecast::few_tests && !control_.is_off(no_triples);
}

// Trees to begin with, unless the answer itself is as quick. The first one splits where the sides are purest, as CART
// does, and is cut back at λ. The next ones look ahead two levels, or three where that takes milliseconds, and are then
// made better part by part. Post: the best of them is on offer; each keeps the limits.
void Search::plant(const RowSet& root, int most_depth) {
    if (is_quick(most_depth) || control_.is_off(no_greedy)) {
        return;
    }
    offer(grow_tree(instance_, settings_, stumps_, control_, root, [&](const RowSet& rows, int) {
              return Choice{stumps_.purest(rows), {}, {}};
          }).tree);
    for (int ahead = 2; ahead <= most_ahead(most_depth); ++ahead) {
        look_ahead(root, ahead, most_depth);
    }
}

// How many levels are looked ahead from the start. Trees are two levels deeper: a search of less starts with the same
// closed forms by itself.
int Search::most_ahead(int most_depth) const {
    return is_shallow(most_depth) ? 0 : std::min(is_three_quick() ? 3 : 2, most_depth - 2);
}

// The best trees of a part, or the root test of one, for the trees to begin with.
Choice Search::choose(const RowSet& rows, int depth, bool is_whole_wanted) {
    const Outcome best = solve({rows, depth, unreachable});
    const NodePtr& tree = best.tree.back();
    Choice choice;
    choice.test = tree ? RootTest{tree->axis, tree->code} : RootTest{best.closed.axis, best.closed.code};
    for (std::size_t m = 0; is_whole_wanted && m < best.value.size(); ++m) {
        choice.value.push_back(best.value[m]);
        choice.tree.push_back(best.value[m] < unreachable ? tree_of(rows, best, m) : nullptr);
    }
    return choice;
}

Polish& Search::polish(int most_depth) {
    if (!polish_) {
        polish_.emplace(
            instance_, settings_, stumps_, most_depth, polish_bytes(spare_bytes_),
            [this](const RowSet& rows, int depth, bool is_whole_wanted) {
                return choose(rows, depth, is_whole_wanted);
            },
            [this](const NodePtr& tree) { offer(tree); });
    }
    return *polish_;
}

// Trees that look so many levels ahead. It takes at most half of the time there is, but for the look that is under way.
// Post: they are on offer.
void Search::look_ahead(const RowSet& root, int ahead, int most_depth) {
    const Control half(Control::Slice{control_, control_.seconds_left() / 2});
    polish(most_depth).grow_whole(root, {ahead, false, 0, half});
    if (!half.should_stop()) {
        polish(most_depth).improve(root, best_tree_, {ahead, false, 1, half});
    }
}

// Makes the best tree better, and others in its place, until nothing more is found or the time is over: more and more
// tests are tried. Post: better trees are on offer.
void Search::polish_best(const RowSet& root, int most_depth, int ahead, const Control& control) {
    Polish& trees = polish(most_depth);
    // Tests are tried by axis: of few axes there are soon no more.
    const std::size_t n_axes = instance_.axes.size();
    for (std::size_t n_tests = 1; n_tests < 4 * n_axes && !control.should_stop(); n_tests *= 4) {
        for (int levels = 2; levels <= ahead; ++levels) {
            while (!control.should_stop() && trees.improve(root, best_tree_, {levels, false, n_tests, control})) {
            }
        }
        trees.try_roots(root, {ahead, n_tests == 1, 2 * n_tests, control});
    }
}

// Pre: all depths up to this one are done, which took so many seconds. With a deadline and hardly a chance to prove the
// rest by then, a good part of the time that is left goes to better trees.
void Search::use_time_left(const RowSet& root, int depth, int most_depth, double seconds) {
    const int ahead = std::max(most_ahead(most_depth), std::min({depth, 3, most_depth - 2}));
    if (ahead < 2 || settings_.max_depth < 0 || control_.is_off(no_greedy) ||
        spare_bytes_ < 2 * least_bytes(instance_)) {
        return;
    }
    const double share = control_.is_off(no_cost_model)
                             ? control_.seconds_left()
                             : forecast::seconds_for_trees(seconds, most_depth - depth, control_.seconds_left());
    if (share > 0.0) {
        polish_best(root, most_depth, ahead, Control(Control::Slice{control_, share}));
    }
}

// Without limits on leaves the problem is the faster one: its optimum is a bound, and where it keeps the limits anyway
// it is the answer. A limit of m leaves is then approached by raising their price to λ' >= λ (the bound `priced`);
// where an optimum at λ' has exactly m leaves, bound and tree meet and it is the answer. Prices are tried at the slope
// between the best trees known above and below m leaves until nothing new appears. The first tree below is a greedy
// one, which need not be on the hull: slopes are at least λ (the tree above is better at λ) but may be as large as the
// total. Post: the best tree found that keeps the limits is on offer. Returns the best bound.
Amount Search::relax_limits(const RowSet& root) {
    const Amount most_leaves = settings_.max_leaves > 0 ? settings_.max_leaves : instance_.n_rows;
    Settings priced = without_leaf_limits(settings_, instance_.n_labels);
    const Control half(Control::Slice{control_, control_.seconds_left() / 2});
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
            witness.emplace(instance_, priced.penalty, witness_->tree());
            witness->lie = witness_->lie;
            limits.witness = &*witness;
        }
        Search search(instance_, priced, limits, half);
        const Result answer = search.run();
        statistics_.subproblems += search.statistics_.subproblems;
        statistics_.elsewhere += search.statistics_.elsewhere;
        lower = std::max(lower, bounds::priced(answer.lower, priced.penalty - settings_.penalty, most_leaves));
        if (keeps_limits(instance_, settings_, answer.tree, root)) {
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

// How deep a tree can be that tells rows apart.
int Search::deepest() const {
    if (instance_.n_tests == 0 || instance_.n_labels < 2) {
        return 0;
    }
    const int most = std::max(0, instance_.n_rows - 1);
    return settings_.max_depth < 0 ? most : std::min(settings_.max_depth, most);
}

// Shallower depths give the deeper ones a tree to beat; a closed form that is quick needs none.
int Search::first_depth(int most_depth) const {
    if (control_.is_off(no_deepening) && settings_.max_depth >= 0) {
        return most_depth;
    }
    if (is_two_labels_ && instance_.n_tests <= forecast::few_tests) {
        return std::min(most_depth, control_.is_off(no_triples) ? 2 : 3);
    }
    return 1;
}

// Where depth three is within reach, deeper trees get its look ahead, unless they had it to begin with.
bool Search::is_looked_ahead(int depth, int most_depth) const {
    return depth == 3 && depth < most_depth && !is_three_quick() && !control_.is_off(no_greedy);
}

// The best tree of at most this depth, asked for even where a deeper one is better if looks ahead start from it. Post:
// it is on offer. Returns what no tree of any depth costs less than; on a stop that is still true.
Amount Search::solve_depth(const RowSet& root, int depth, int most_depth) {
    const Amount penalty = settings_.penalty;
    const Root at_root{depth == most_depth ? unreachable : bounds::deeper_than(depth, penalty)};
    const Amount budget = is_looked_ahead(depth, most_depth) ? unreachable : best_value_;
    const Outcome outcome = solve({root, depth, budget, &at_root});
    if (outcome.best() < best_value_) {
        offer(tree_of(root, outcome, outcome.value.size() - 1));
    }
    const bool was_stopped = control_.should_stop();
    const Amount within = was_stopped ? std::min(outcome.lower, best_value_) : best_value_;
    return std::min(within, at_root.beyond);
}

Result Search::run() {
    const RowSet root = all_rows(instance_);
    const Amount penalty = settings_.penalty;
    const int most_depth = deepest();
    const bool has_memory = spare_bytes_ >= least_bytes(instance_);
    offer(make_leaf(instance_.best_label_of_all));
    Amount lower = most_depth == 0 ? best_value_ : std::min(best_value_, bounds::split(penalty));
    const auto learn = [&](Claim by, Amount bound) {
        lower = std::max(lower, bound);
        lower = witness_ == nullptr ? lower : witness_->hear(by, root.key, most_depth, lower);
        raise_lower(lower);
    };
    const auto is_open = [&] { return has_memory && lower < best_value_; };
    const auto start = Control::Clock::now();
    double polished = 0.0;
    const auto seconds = [&] { return std::chrono::duration<double>(Control::Clock::now() - start).count(); };
    if (is_open()) {
        plant(root, most_depth);
    }
    if (is_open() && has_relaxation_) {
        learn(Claim::price, relax_limits(root));
    }
    for (int depth = first_depth(most_depth); is_open() && depth <= most_depth && !control_.should_stop(); ++depth) {
        statistics_.depth_reached = depth;
        learn(Claim::deeper, solve_depth(root, depth, most_depth));
        if (is_open() && is_looked_ahead(depth, most_depth)) {
            look_ahead(root, depth, most_depth);
        }
        if (is_open() && depth < most_depth) {
            const double before = seconds();
            use_time_left(root, depth, most_depth, before - polished);
            polished += seconds() - before;
        }
    }
    statistics_.cache_entries = cache_.size();
    statistics_.cache_forgotten = cache_.n_forgotten();
    return conclude(root, most_depth, lower, has_memory);
}

// Pre: no tree costs less than `lower`. What is said of the best tree is judged from the instance once more.
Result Search::conclude(const RowSet& root, int most_depth, Amount lower, bool has_memory) const {
    Result result;
    result.tree = simplify(instance_, best_tree_, root);
    const Judged judged = judge(instance_, result.tree);
    result.cost = judged.cost;
    result.leaves = judged.leaves;
    const Amount value = judged.cost + times(judged.leaves, settings_.penalty);
    const bool is_proved = lower >= best_value_ || lower >= value;
    result.lower = is_proved ? value : lower;
    if (witness_ != nullptr) {
        result.lower = witness_->hear(Claim::result, root.key, most_depth, result.lower);
    }
    if (is_proved) {
        result.status = instance_.reference.empty() ? Status::optimal : Status::guessed;
    } else if (!has_memory) {
        result.status = Status::memory_limit;
    } else {
        result.status = control_.is_late() ? Status::time_limit : Status::interrupted;
    }
    return result;
}

}  // namespace certree
