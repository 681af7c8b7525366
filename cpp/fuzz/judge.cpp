#include "fuzz/judge.hpp"

#include <exception>

#include "fuzz/oracle.hpp"
#include "search/witness.hpp"

namespace certree::fuzz {

namespace {

using test::Run;

Real normaliser_of(const Problem& problem) {
    return problem.options.normaliser > 0.0 ? problem.options.normaliser : problem.table.normaliser();
}

Real penalty_of(const Problem& problem) {
    return Real{problem.options.regularization} * normaliser_of(problem);
}

// A tree followed row by row through the caller's codes.
struct Followed {
    Real cost = 0;
    int leaves = 0;
    int depth = 0;
    std::string broken;  // the minimum that some leaf misses
};

void follow(const Problem& problem, const Instance& instance, const Node& node, const test::Rows& rows, int depth,
            Followed& followed) {
    const Table& table = problem.table;
    const Constraints& constraints = problem.options.constraints;
    followed.depth = std::max(followed.depth, depth);
    if (!node.is_leaf()) {
        const Axis& axis = instance.axes.at(static_cast<std::size_t>(node.axis));
        const int test = axis.original_code(node.code);
        test::Rows sides[2];
        for (const int row : rows) {
            sides[table.holds(axis.original_axis, test, row) ? 0 : 1].push_back(row);
        }
        follow(problem, instance, *node.left, sides[0], depth + 1, followed);
        follow(problem, instance, *node.right, sides[1], depth + 1, followed);
        return;
    }
    ++followed.leaves;
    Real weight = 0;
    std::vector<int> arms(static_cast<std::size_t>(table.n_arms), 0);
    for (const int row : rows) {
        followed.cost += table.cost(row, node.label);
        weight += table.weights[static_cast<std::size_t>(row)];
        if (table.n_arms > 0) {
            ++arms[static_cast<std::size_t>(table.arms[static_cast<std::size_t>(row)])];
        }
    }
    if (static_cast<std::int64_t>(rows.size()) < constraints.min_samples_leaf) {
        followed.broken = "min_samples_leaf";
    }
    if (weight < constraints.min_weight_leaf - doubt_of_weights(table, constraints)) {
        followed.broken = "min_weight_leaf";
    }
    if (std::any_of(arms.begin(), arms.end(), [&](int n) { return n < constraints.min_samples_arm; })) {
        followed.broken = "min_samples_arm";
    }
}

// With guesses a tree is compared with what others cost when they pay for the reference's errors too.
Table with_errors_of_reference(const Table& table) {
    Table both = table;
    for (int i = 0; i < table.n_rows; ++i) {
        for (int k = 0; k < table.n_labels; ++k) {
            double& cost = both.costs[static_cast<std::size_t>(i * table.n_labels + k)];
            cost = std::max(cost, table.reference[static_cast<std::size_t>(i)]);
        }
    }
    return both;
}

// One search and what it said, as numbers of the objective.
struct Answer {
    Real upper = 0;
    Real lower = 0;
    Real rounding = 0;  // as stated, and what doubles and the oracle's own sums may be off by
    Status status = Status::optimal;
    std::string fault;
};

Answer answer_of(const Problem& problem) {
    const Table& table = problem.table;
    const Constraints& constraints = problem.options.constraints;
    Run run(table, problem.options);
    run.go();
    const Instance& instance = run.instance;
    const Real normaliser = normaliser_of(problem);
    const Real worst = table.worst(table.all_rows());
    const int most_leaves = constraints.max_depth < 0 || constraints.max_depth > 20
                                ? table.n_rows
                                : std::min(table.n_rows, 1 << constraints.max_depth);
    Answer answer;
    answer.status = run.result.status;
    answer.upper = run.upper();
    answer.lower = run.lower();
    answer.rounding = instance.rounding(problem.options.regularization, most_leaves) + 1e-15L * answer.upper +
                      1e-19L * table.n_rows * worst / normaliser;
    Followed followed;
    follow(problem, instance, *run.result.tree, table.all_rows(), 0, followed);
    const Real value = followed.cost / normaliser + Real{problem.options.regularization} * followed.leaves;
    if (std::abs(value - answer.upper) > answer.rounding) {
        answer.fault = "the tree is not worth what is said";
    } else if (followed.leaves != run.result.leaves) {
        answer.fault = "leaves are miscounted";
    } else if (followed.leaves > 1 && !followed.broken.empty()) {
        answer.fault = "a leaf breaks " + followed.broken;
    } else if (constraints.max_depth >= 0 && followed.depth > constraints.max_depth) {
        answer.fault = "the tree is too deep";
    } else if (constraints.max_leaves > 0 && followed.leaves > constraints.max_leaves) {
        answer.fault = "the tree has too many leaves";
    } else if (answer.lower > answer.upper + answer.rounding) {
        answer.fault = "the lower bound is above the tree";
    }
    return answer;
}

std::string number(Real value) {
    std::ostringstream text;
    text.precision(17);
    text << static_cast<double>(value);
    return text.str();
}

std::string against(const Answer& answer, const std::string& what, Real value) {
    return what + " (lower " + number(answer.lower) + ", upper " + number(answer.upper) + ", expected " +
           number(value) + ", rounding " + number(answer.rounding) + ")";
}

std::string fault_of_answer(const Problem& problem, const Answer& answer, const Optimum& optimum) {
    const Options& options = problem.options;
    const Real normaliser = normaliser_of(problem);
    const bool is_done = answer.status == Status::optimal || answer.status == Status::guessed;
    if (answer.upper < optimum.least / normaliser - answer.rounding) {
        return against(answer, "better than the optimum", optimum.least / normaliser);
    }
    Real most = optimum.most / normaliser;
    if (options.has_reference && answer.status != Status::optimal) {
        const Table both = with_errors_of_reference(problem.table);
        most = enumerate(both, options.constraints, penalty_of(problem))->most / normaliser;
    }
    if (answer.lower > most + answer.rounding) {
        return against(answer, "the lower bound is above the optimum", most);
    }
    if (is_done && answer.upper > most + answer.rounding) {
        return against(answer, "called done and is not", most);
    }
    if (!is_done && options.n_asked < 0 && options.memory_bytes == 0) {
        return "it stopped by itself";
    }
    return "";
}

// Where nothing can be enumerated: the same problem by another route must not contradict it.
std::string fault_of_twin(const Problem& problem, const Answer& answer) {
    Problem twin = problem;
    twin.options.switches ^= no_interval | no_similarity | no_triples | no_coarse | no_relaxation | no_greedy;
    const Answer other = answer_of(twin);
    if (!other.fault.empty()) {
        return "with other switches off: " + other.fault;
    }
    const Real rounding = answer.rounding + other.rounding;
    if (other.lower > answer.upper + rounding || answer.lower > other.upper + rounding) {
        return against(answer, "contradicts itself with other switches off", other.upper);
    }
    return "";
}

}  // namespace

std::string fault_of(const Problem& problem) {
    try {
        const Answer answer = answer_of(problem);
        if (!answer.fault.empty()) {
            return answer.fault;
        }
        const std::optional<Optimum> optimum =
            enumerate(problem.table, problem.options.constraints, penalty_of(problem));
        return optimum ? fault_of_answer(problem, answer, *optimum) : fault_of_twin(problem, answer);
    } catch (const std::exception& error) {
        return std::string("an exception: ") + error.what();
    }
}

std::string claim_at_fault(const Problem& problem) {
    const std::optional<Optimum> optimum = enumerate(problem.table, problem.options.constraints, penalty_of(problem));
    if (!optimum || problem.options.has_reference) {
        return "";
    }
    // Trees are told by the instance's tests, which are the same as long as merging them is on or off alike.
    const std::uint32_t merging = problem.options.switches & no_test_merging;
    constexpr std::uint32_t others[] = {0U, no_cache | no_deepening, no_interval | no_similarity, ~0U};
    for (const std::uint32_t off : others) {
        Problem other = problem;
        other.options.switches = (off & ~std::uint32_t{no_test_merging}) | merging;
        other.options.n_asked = -1;
        other.options.memory_bytes = 0;
        const test::Finished found(other.table, other.options);
        if (found.upper() > optimum->most / normaliser_of(problem) + answer_of(other).rounding) {
            continue;
        }
        const Witness witness(found.instance, found.settings.penalty, found.result.tree);
        other.options = problem.options;
        other.options.witness = &witness;
        try {
            const test::Finished again(other.table, other.options);
        } catch (const WitnessPruned& pruned) {
            return name_of(pruned.claim) + std::string(": ") + pruned.what();
        }
    }
    return "";
}

}  // namespace certree::fuzz
