#include "shallow/two_labels/two_labels.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"
#include "shallow/long_axis.hpp"
#include "shallow/two_labels/gains.hpp"

namespace certree {

TwoLabels::TwoLabels(const Instance& instance, const Settings& settings, const Control& control,
                     std::size_t table_bytes)
    : instance_(instance),
      penalty_(settings.penalty),
      control_(control),
      kernels_(choose_kernels(!control.is_off(no_simd))),
      table_bytes_(table_bytes) {}

// Depth one, in 64 bits: by the set's own codes where they are there, and else by the instance's, among which those
// that do not occur change no sum. Sets whose axes have very many codes get their own after all. On a stop the answer
// holds the best tree seen, and no bound.
TwoLabels::Answer TwoLabels::solve_stump(const RowSet& set, const Local* local) const {
    Answer answer;
    answer.value = leaf_value(set);
    const Amount all = set.balance;
    const Amount price = 4 * penalty_;
    Amount best = magnitude(all) - 2 * penalty_;
    const auto gain_of = [&](Amount x) { return std::max(magnitude(all), magnitude(2 * x - all)) - price; };
    const auto ask = [&](Amount x, std::int32_t axis, std::int32_t code) {
        if (const Amount gain = gain_of(x); gain > best) {
            best = gain;
            answer.axis = axis;
            answer.code = code;
        }
    };
    // Apart by label: the sums of a test inside a group lie between those with all of one and all of the other.
    const auto add = [&](std::int32_t row, Amount* sums) {
        const Amount balance = instance_.balance[static_cast<std::size_t>(row)];
        sums[balance > 0 ? 0 : 1] += balance;
    };
    const auto ask_sums = [&](const Amount* left, std::int32_t axis, std::int32_t code) {
        ask(left[0] + left[1], axis, code);
    };
    const bool are_many = LongAxis::are_many(set, control_);
    const std::int32_t most_codes = control_.is_off(no_cost_model) ? 2 : many_codes;  // 2: both ways are tested
    bool is_done = true;
    std::vector<LongAxis> long_axes;
    std::vector<std::int32_t> short_axes;
    std::vector<std::int32_t> wide_axes;
    for (std::size_t a = 0; a < instance_.axes.size(); ++a) {
        const auto number = static_cast<std::int32_t>(a);
        if (!LongAxis::is_one(instance_.axes[a], set, control_)) {
            (instance_.axes[a].n_codes > most_codes ? wide_axes : short_axes).push_back(number);
            continue;
        }
        if (control_.should_stop()) {
            is_done = false;
            break;
        }
        long_axes.emplace_back(instance_, number, set, 2, control_, add).ask_ends(ask_sums);
    }
    std::vector<Amount> sums;
    // code_at: of the set's row at a place. The best test of the axis, whose gain becomes the best, or −1 where none is
    // better than those before.
    const auto best_test = [&](const auto& axis, const auto& code_at) {
        sums.assign(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < set.rows.size(); ++i) {
            sums[static_cast<std::size_t>(code_at(i))] += instance_.balance[static_cast<std::size_t>(set.rows[i])];
        }
        Amount sum = 0;
        std::int32_t test = -1;
        for (std::int32_t t = 0; t < axis.n_tests; ++t) {
            sum = axis.is_categorical ? sums[static_cast<std::size_t>(t)] : sum + sums[static_cast<std::size_t>(t)];
            if (const Amount gain = gain_of(sum); gain > best) {
                best = gain;
                test = t;
            }
        }
        return test;
    };
    const auto is_late = [&] {
        is_done = is_done && !(are_many && control_.should_stop());
        return !is_done;
    };
    const auto ask_own = [&](const Local& own) {
        for (const LocalAxis& axis : own.axes) {
            if (LongAxis::is_one(instance_.axes[static_cast<std::size_t>(axis.axis)], set, control_)) {
                continue;
            }
            if (is_late()) {
                return;
            }
            if (const std::int32_t test = best_test(axis, [&](std::size_t i) { return axis.codes[i]; }); test >= 0) {
                answer.axis = axis.axis;
                answer.code = axis.code_of(test);
            }
        }
    };
    if (local != nullptr) {
        ask_own(*local);
    } else {
        for (const std::int32_t number : short_axes) {
            if (is_late()) {
                break;
            }
            const Axis& axis = instance_.axes[static_cast<std::size_t>(number)];
            const auto code_at = [&](std::size_t i) { return axis.codes[static_cast<std::size_t>(set.rows[i])]; };
            if (const std::int32_t test = best_test(axis, code_at); test >= 0) {
                answer.axis = number;
                answer.code = test;
            }
        }
        if (!wide_axes.empty() && is_done) {
            ask_own(Local(instance_, set, wide_axes));
        }
    }
    for (const LongAxis& axis : long_axes) {
        std::vector<std::int32_t> open;
        for (std::int32_t g = 0; g < axis.n_groups(); ++g) {
            const Amount* low = axis.before(g);
            const Amount* high = axis.before(g + 1);
            if (bounds::gain_inside_group(low[0] + high[1], high[0] + low[1], all) - price > best) {
                open.push_back(g);
            }
        }
        is_done = axis.ask_inside(set, open, add, ask_sums) && is_done;
    }
    if (answer.axis >= 0) {
        answer.value = (set.worst - best) >> 1;
    }
    answer.lower = is_done ? answer.value : 0;
    return answer;
}

TwoLabels::Answer TwoLabels::solve_side(const RowSet& set, int depth, Amount budget) const {
    if (depth == 0) {
        Answer leaf;
        leaf.value = leaf.lower = leaf_value(set);
        return leaf;
    }
    return depth == 1 ? solve_stump(set, nullptr) : solve(set, Local(instance_, set), depth, budget);
}

namespace {

// The pair table, and two slabs of lines, one for each test of the widest axis.
std::size_t triple_bytes(const Local& local) {
    std::size_t widest = 0;
    for (const LocalAxis& axis : local.axes) {
        widest = std::max(widest, static_cast<std::size_t>(axis.n_tests));
    }
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    const auto line = static_cast<std::size_t>(local.n_tests + 2 * Kernels::lanes) * sizeof(std::int32_t);
    return line * (n_tests + 2 * widest) + (are_all_two_valued(local) ? TwoValuedTriples::bytes(n_tests) : 0);
}

constexpr std::size_t most_triple_bytes = std::size_t{256} << 20;

// The least depth at which a side of a root test has a tree that is as good as its gains say, whatever was rounded: no
// tree of more leaves saves what they cost.
int depth_of_side(const Gains& gains, const Gains::Side& side, std::int32_t test, const RoundedAmounts& amounts,
                  Amount penalty) {
    const auto t = static_cast<std::size_t>(test);
    int depth = 0;
    for (int leaves = 1; leaves < gains.most_leaves; leaves *= 2, ++depth) {
        const Amount known = gains.side(side, t, amounts.shift, penalty, 0, leaves);
        const Amount deeper = gains.side(side, t, amounts.shift, penalty, leaves, gains.most_leaves);
        if (deeper + amounts.slack <= known - amounts.slack) {
            break;
        }
    }
    return depth;
}

}  // namespace

double TwoLabels::looks_in_triples(const Local& local) const {
    return triple_bytes(local) > std::min(most_triple_bytes, table_bytes_)
               ? std::numeric_limits<double>::infinity()
               : forecast::triple_cycles(local) / forecast::pair_cycles(local);
}

bool TwoLabels::triples_pay(const Local& local, bool is_patient) const {
    return looks_in_triples(local) < forecast::interval_looks(local) * (is_patient ? 1.0 : 4.0);
}

// Pre: depth is 1, 2 or 3. Post: either `value` is the optimum, or no tree costs less than the budget.
TwoLabels::Answer TwoLabels::solve(const RowSet& set, const Local& local, int depth, Amount budget, int n_threads,
                                   const Slices* slices) const {
    const Amount penalty = penalty_;
    const Amount leaf_gain = magnitude(set.balance) - 2 * penalty;
    const auto to_cost = [&](Amount gain) { return (set.worst - gain) >> 1; };
    Answer answer;
    answer.value = leaf_value(set);
    if (local.n_tests == 0) {
        answer.lower = answer.value;
        return answer;
    }
    if (depth == 1) {
        return solve_stump(set, &local);
    }
    const auto set_root = [&](std::int32_t test) {
        const LocalAxis& axis = local.axes[local.axis_of(test)];
        answer.axis = axis.axis;
        answer.code = axis.code_of(test - axis.first_test);
    };
    const Prepared prepared(instance_, penalty, set, local, kernels_, control_);
    const RoundedAmounts& amounts = prepared.amounts;
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    Gains gains = depth == 2 ? Gains::of_few(n_tests) : Gains(n_tests);
    Wanted wanted;
    if (depth == 2) {
        wanted.more_than = set.worst - 2 * std::min(budget, answer.value);
        find_pair_gains(prepared, gains, wanted);
        answer.lower = std::min(answer.value, bounds::split(penalty));
    } else if (!find_triples(prepared, set, budget, n_threads, slices, gains, wanted, answer)) {
        return answer;
    }
    if (control_.should_stop()) {
        return answer;
    }
    // No split can save more than everything, less its two penalties.
    const Amount most = set.worst - 4 * penalty;
    const auto bound_of = [&](std::size_t t) {
        return std::min(most, gains.total(t, amounts.shift, penalty) + amounts.slack);
    };
    Amount best = -unreachable;
    std::int32_t best_test = -1;
    for (const std::int32_t t : gains.looked_at) {
        const Amount bound = bound_of(static_cast<std::size_t>(t));
        if (bound > best || (bound == best && t < best_test)) {
            best = bound;
            best_test = t;
        }
    }
    answer.lower = std::min(answer.value, to_cost(std::max({leaf_gain, best, wanted.passed_over})));
    if (answer.lower >= budget || best <= leaf_gain) {
        return answer;
    }
    if (amounts.slack == 0) {
        // Else slices have found a tree as good.
        if (to_cost(best) < answer.value) {
            answer.value = to_cost(best);
            answer.tree = nullptr;
            set_root(best_test);
        }
        return answer;
    }
    // Rounded amounts: every root test that may be the best is solved exactly, most promising first.
    struct Candidate {
        Amount bound;
        std::int32_t test;
    };
    std::vector<Candidate> candidates;
    Amount goal = std::min(budget, answer.value);
    for (const std::int32_t test : gains.looked_at) {
        const Amount bound = bound_of(static_cast<std::size_t>(test));
        if (to_cost(bound) < goal) {
            candidates.push_back({bound, test});
        }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
        return x.bound != y.bound ? x.bound > y.bound : x.test < y.test;
    });
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        const std::int32_t test = candidates[k].test;
        if (to_cost(candidates[k].bound) >= goal) {
            break;
        }
        // The first ones leave most of the others behind; where they do not, there may be hundreds.
        if (depth == 2 && k == forecast::first_doubts) {
            std::vector<std::int32_t> doubts;
            for (std::size_t left = k; left < candidates.size() && to_cost(candidates[left].bound) < goal; ++left) {
                doubts.push_back(candidates[left].test);
            }
            if (doubts.size() >= forecast::few_doubts || control_.is_off(no_cost_model)) {
                std::sort(doubts.begin(), doubts.end());
                settle_exactly(prepared, set, doubts, goal, answer);
                return answer;
            }
        }
        // Trees of more leaves than are known of it yet cost no less than what was passed over.
        const std::array<int, 2> depths{depth_of_side(gains, gains.left, test, amounts, penalty),
                                        depth_of_side(gains, gains.right, test, amounts, penalty)};
        if (!try_root(set, local, test, depths, goal, answer)) {
            return answer;
        }
    }
    answer.lower = std::max(answer.lower, goal);
    return answer;
}

// Solves the sides of a root test exactly, to the depths given. Post: where its best tree of these depths costs less
// than the goal, it is the answer and sets the goal. False: it was stopped, and nothing has changed.
bool TwoLabels::try_root(const RowSet& set, const Local& local, std::int32_t test, std::array<int, 2> depths,
                         Amount& goal, Answer& answer) const {
    const LocalAxis& axis = local.axes[local.axis_of(test)];
    const Split split = split_rows(instance_, set, axis, test - axis.first_test);
    const RowSet* sides[2] = {&split.left, &split.right};
    // The shallower side first: it costs less, and what it takes is not in the other's budget.
    const bool is_right_first = depths[1] < depths[0];
    if (is_right_first) {
        std::swap(sides[0], sides[1]);
        std::swap(depths[0], depths[1]);
    }
    const Answer first = solve_side(*sides[0], depths[0], goal - penalty_);
    if (first.lower + penalty_ >= goal) {
        return true;
    }
    const Answer second = solve_side(*sides[1], depths[1], goal - first.value);
    NodePtr trees[2];
    if (first.value + second.value < goal) {
        trees[0] = tree_of(*sides[0], depths[0], first);
        trees[1] = tree_of(*sides[1], depths[1], second);
    }
    if (control_.should_stop()) {
        return false;
    }
    if (trees[0]) {
        goal = first.value + second.value;
        answer.value = goal;
        answer.axis = axis.axis;
        answer.code = axis.code_of(test - axis.first_test);
        if (axis.is_reversed != is_right_first) {
            std::swap(trees[0], trees[1]);
        }
        answer.tree = make_split(answer.axis, answer.code, std::move(trees[0]), std::move(trees[1]));
    }
    return true;
}

// Depth three, a slice at a time. Pre: the answer is the set's leaf. Post: the answer's bound is true, and its tree,
// where somebody hears of it, the best that was read off between slices. True, unless it was stopped: of every root
// test that may have a tree cheaper than that, than the others and than the budget the gains are known, `passed_over`
// holds for the rest, and gains that are not known in full are those of some tree. False: the bound says all.
bool TwoLabels::find_triples(const Prepared& prepared, const RowSet& set, Amount budget, int n_threads,
                             const Slices* slices, Gains& gains, Wanted& wanted, Answer& answer) const {
    const Local& local = prepared.local;
    const RoundedAmounts& amounts = prepared.amounts;
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    const auto to_cost = [&](Amount gain) { return (set.worst - gain) >> 1; };
    const Amount leaf = answer.value;
    const auto best_of = [&](std::size_t from, std::size_t to) {
        std::pair<Amount, std::size_t> best{-unreachable, from};
        for (std::size_t t = from; t < to; ++t) {
            if (const Amount gain = gains.total(t, amounts.shift, penalty_); gain > best.first) {
                best = {gain, t};
            }
        }
        return best;
    };
    answer.lower = std::min(leaf, bounds::split(penalty_));
    PairTable table(local);
    find_all_pair_gains(prepared, gains, table);
    if (control_.should_stop()) {
        return true;
    }
    // A tree is of depth two at most, or it has at least four leaves.
    if (!control_.is_off(no_leaf_bound)) {
        const Amount best = std::max(set.worst - 2 * leaf, best_of(0, n_tests).first);
        const Amount deeper = bounds::deeper_than(2, penalty_);
        const Amount lower = std::min(to_cost(best + amounts.slack), deeper);
        answer.lower = std::max(answer.lower, lower);
        // Or, for certain, whatever was rounded, the best tree of depth two costs no more than any deeper one.
        if (lower >= budget || to_cost(best - amounts.slack) < deeper) {
            return lower < budget;
        }
    }
    std::vector<Amount> axis_lower(local.axes.size(), answer.lower);
    for (std::size_t a = 0; slices != nullptr && a < slices->axis_lower.size(); ++a) {
        axis_lower[a] = std::max(axis_lower[a], slices->axis_lower[a]);
    }
    TripleGains triples(prepared, table, gains, std::move(axis_lower), n_threads);
    const bool is_heard = slices != nullptr && slices->report;
    Amount cap = std::min(budget, leaf);  // some tree is known to cost no more, or more is of no use
    Amount goal = cap;                    // less than it is worth a tree
    while (triples.work(cap)) {
        const Amount unfinished = triples.lower_of_unfinished();
        const auto [gain, test] = best_of(0, n_tests);
        const Amount found = to_cost(gain - amounts.slack);
        cap = std::min(cap, found);
        if (unfinished >= cap) {
            break;
        }
        Amount finished = leaf;
        for (std::size_t a = 0; a < local.axes.size(); ++a) {
            const auto from = static_cast<std::size_t>(local.axes[a].first_test);
            const std::size_t to = from + static_cast<std::size_t>(local.axes[a].n_tests);
            if (triples.is_finished(a)) {
                finished = std::min(finished, to_cost(best_of(from, to).first + amounts.slack));
            }
        }
        answer.lower = std::max(answer.lower, std::min(finished, unfinished));
        if (is_heard) {
            if (found < goal) {
                try_root(set, local, static_cast<std::int32_t>(test), {2, 2}, goal, answer);
            }
            slices->report(answer);
        }
    }
    wanted.passed_over = set.worst - 2 * triples.lower_of_unfinished();
    return true;
}

// Pre: the answer holds a bound, and every root test whose tree may cost less than the goal is in doubt. Post: as of
// `solve`, unless it was stopped.
void TwoLabels::settle_exactly(const Prepared& prepared, const RowSet& set, const std::vector<std::int32_t>& doubts,
                               Amount goal, Answer& answer) const {
    std::vector<Amount> balances;
    balances.reserve(set.rows.size());
    for (const std::int32_t row : set.rows) {
        balances.push_back(instance_.balance[static_cast<std::size_t>(row)]);
    }
    const std::vector<SideSums> sums = find_side_sums(prepared, balances, doubts);
    if (sums.empty()) {
        return;
    }
    // The gain of the best leaf or stump on a side of signed sum d.
    const auto gain = [&](Amount d, Amount high, Amount low) {
        const Amount stump = std::max(magnitude(2 * high - d), magnitude(2 * low - d));
        return std::max(magnitude(d) - 2 * penalty_, stump - 4 * penalty_);
    };
    std::vector<Amount> gains;
    for (const auto& [left, extremes] : sums) {
        gains.push_back(gain(left, extremes.high[0], extremes.low[0]) +
                        gain(set.balance - left, extremes.high[1], extremes.low[1]));
    }
    const Local& local = prepared.local;
    const auto best = static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
    const Amount value = (set.worst - gains[best]) >> 1;
    if (value < goal) {
        const LocalAxis& axis = local.axes[local.axis_of(doubts[best])];
        answer.value = goal = value;
        answer.tree = nullptr;
        answer.axis = axis.axis;
        answer.code = axis.code_of(doubts[best] - axis.first_test);
    }
    answer.lower = std::max(answer.lower, goal);
}

NodePtr TwoLabels::tree_of(const RowSet& set, int depth, const Answer& answer) const {
    return answer.tree ? answer.tree : extract_below(set, {depth, answer.axis, answer.code});
}

NodePtr TwoLabels::extract_below(const RowSet& set, const ClosedRoot& root) const {
    if (root.axis < 0) {
        return make_leaf(leaf_label(set));
    }
    const Split split = split_rows(instance_, set, root.axis, root.code);
    return make_split(root.axis, root.code, extract(split.left, root.depth - 1), extract(split.right, root.depth - 1));
}

NodePtr TwoLabels::extract(const RowSet& set, int depth) const {
    if (depth == 0 || set.rows.empty()) {
        return make_leaf(leaf_label(set));
    }
    return tree_of(set, depth, solve_side(set, depth, unreachable));
}

}  // namespace certree
