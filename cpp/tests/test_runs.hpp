// A search of a random table, compared with enumeration.
#pragma once

#include <memory>
#include <mutex>
#include <sstream>

#include "search/elsewhere.hpp"
#include "search/search.hpp"
#include "tests/test.hpp"
#include "tests/test_tables.hpp"

namespace certree::test {

struct Options {
    double regularization = 0.01;
    Constraints constraints;
    std::uint32_t switches = 0;
    int n_threads = 1;
    double seconds = 1e18;
    std::int64_t n_asked = -1;  // after so many looks at the clock the search is stopped; -1: by the clock alone
    std::int64_t memory_bytes = 0;
    bool has_reference = false;
    double normaliser = 0.0;  // 0: the total weight
    const Witness* witness = nullptr;
    int n_elsewhere = 0;  // so many root tests at a time are looked at by a search of their own; 0: none
};

// Somebody else, who looks at root tests for a search. Questions and answers travel as plain numbers.
class Colleague {
public:
    Colleague(const Instance& instance, Amount penalty, const Options& options)
        : instance_(instance), penalty_(penalty), options_(options) {}

    std::optional<Answer> operator()(const Question& asked, const Control& control) {
        const Question question = read_question(write_question(asked), instance_);
        Desk& desk = find_desk(question.settings);
        if (control.should_stop()) {
            return std::nullopt;
        }
        const Answer answer = desk.search.answer(question);
        if (control.should_stop()) {
            return std::nullopt;
        }
        return read_answer(write_answer(answer), instance_);
    }

private:
    struct Desk {
        Settings settings;
        Limits limits;
        Control control;
        Search search;

        Desk(const Instance& instance, const Settings& asked, std::uint32_t switches, const Witness* witness)
            : settings(asked),
              limits{0, 1, witness},
              control(1e18, switches),
              search(instance, settings, limits, control) {}
    };

    Desk& find_desk(const Settings& settings) {
        const std::lock_guard lock(mutex_);
        for (const std::unique_ptr<Desk>& desk : desks_) {
            const Settings& own = desk->settings;
            if (own.penalty == settings.penalty && own.max_leaves == settings.max_leaves &&
                own.has_leaf_minimum() == settings.has_leaf_minimum()) {
                return *desk;
            }
        }
        // The witness costs what it costs at its own penalty.
        const Witness* witness = settings.penalty == penalty_ ? options_.witness : nullptr;
        desks_.push_back(std::make_unique<Desk>(instance_, settings, options_.switches, witness));
        return *desks_.back();
    }

    const Instance& instance_;
    Amount penalty_;
    Options options_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Desk>> desks_;
};

// A search and all that it refers to.
struct Run {
    double regularization;
    Limits limits;
    Control control;
    Instance instance;
    Settings settings;
    Colleague colleague;
    Elsewhere elsewhere;
    std::unique_ptr<Search> search;
    Result result;

    Run(const Table& table, const Options& options)
        : regularization(options.regularization),
          limits{options.memory_bytes, options.n_threads, options.witness,
                 options.n_elsewhere > 0 ? &elsewhere : nullptr, options.n_elsewhere},
          control(options.n_asked < 0 ? Control(options.seconds, options.switches)
                                      : Control(Control::Asked{options.n_asked}, options.switches)),
          instance(prepare(
              table.input(options.normaliser > 0.0 ? options.normaliser : table.normaliser(), options.has_reference),
              options.constraints.has_leaf_minimum(), options.switches)),
          settings(instance.settings(options.constraints, options.regularization)),
          colleague(instance, settings.penalty, options),
          elsewhere([this](const Question& question, const Control& asked) { return colleague(question, asked); }),
          search(std::make_unique<Search>(instance, settings, limits, control)) {}

    void go() { result = search->run(); }
    double upper() const { return instance.to_objective(result.cost, result.leaves, regularization); }
    double lower() const { return instance.to_lower(result.lower); }
    double rounding() const { return instance.rounding(regularization, result.leaves); }
};

struct Finished : Run {
    Finished(const Table& table, const Options& options) : Run(table, options) { go(); }
};

// A tree followed by the caller's codes: what it costs, and whether it keeps the constraints.
struct Followed {
    double loss = 0.0;
    int leaves = 0;
    int depth = 0;
    bool keeps_minima = true;
    double lightest = std::numeric_limits<double>::infinity();  // what a leaf weighs at least
};

inline void follow(const Table& table, const Instance& instance, const Constraints& constraints, const Node& node,
                   const Rows& rows, int depth, Followed& followed) {
    followed.depth = std::max(followed.depth, depth);
    if (node.is_leaf()) {
        ++followed.leaves;
        double weight = 0.0;
        std::vector<int> arms(static_cast<std::size_t>(table.n_arms), 0);
        for (const int row : rows) {
            followed.loss += table.cost(row, node.label);
            weight += table.weights[static_cast<std::size_t>(row)];
            if (table.n_arms > 0) {
                ++arms[static_cast<std::size_t>(table.arms[static_cast<std::size_t>(row)])];
            }
        }
        followed.lightest = std::min(followed.lightest, weight);
        const double slack = 1e-9 * table.normaliser();
        const bool keeps =
            static_cast<std::int64_t>(rows.size()) >= constraints.min_samples_leaf &&
            weight >= constraints.min_weight_leaf - slack &&
            std::all_of(arms.begin(), arms.end(), [&](int n) { return n >= constraints.min_samples_arm; });
        followed.keeps_minima = followed.keeps_minima && keeps;
        return;
    }
    const Axis& axis = instance.axes[static_cast<std::size_t>(node.axis)];
    const int test = axis.original_code(node.code);
    Rows left;
    Rows right;
    for (const int row : rows) {
        (table.holds(axis.original_axis, test, row) ? left : right).push_back(row);
    }
    follow(table, instance, constraints, *node.left, left, depth + 1, followed);
    follow(table, instance, constraints, *node.right, right, depth + 1, followed);
}

// How far doubles may be off in the enumeration, and the fixed point in the engine.
inline double tolerance(const Table& table, const Run& run) {
    return run.rounding() + 1e-15 * table.n_rows * (1.0 + table.worst(table.all_rows()) / table.normaliser());
}

inline std::string text_of(const Table& table, const Options& options) {
    std::ostringstream text;
    text << table.n_rows << " rows, " << table.n_labels << (table.is_classification ? " labels" : " costs") << ", axes";
    for (std::size_t a = 0; a < table.sizes.size(); ++a) {
        text << ' ' << table.sizes[a] << (table.categorical[a] != 0 ? "c" : "");
    }
    const Constraints& c = options.constraints;
    text << "; lambda " << options.regularization << ", depth " << c.max_depth << ", leaves " << c.max_leaves
         << ", minima " << c.min_samples_leaf << '/' << c.min_weight_leaf << '/' << c.min_samples_arm << ", switches "
         << options.switches << ", threads " << options.n_threads << ", elsewhere " << options.n_elsewhere
         << ", weight[0] " << table.weights[0];
    return text.str();
}

inline int enumerated_depth(const Table& table, int max_depth) {
    // Without a limit, no path repeats a test; small tables only.
    return max_depth >= 0 ? max_depth : std::min(table.n_rows - 1, 12);
}

// Least objective of a tree under the constraints; a lone leaf is always allowed.
inline double optimum_of(const Table& table, Enumerator& enumerator, const Options& options) {
    const Rows all = table.all_rows();
    const double normaliser = options.normaliser > 0.0 ? options.normaliser : table.normaliser();
    const double penalty = options.regularization * normaliser;
    double leaf = std::numeric_limits<double>::infinity();
    for (int k = 0; k < table.n_labels; ++k) {
        double cost = 0.0;
        for (const int row : all) {
            cost += table.cost(row, k);
        }
        leaf = std::min(leaf, cost + penalty);
    }
    const int depth = enumerated_depth(table, options.constraints.max_depth);
    return std::min(leaf, enumerator.optimum(all, depth, penalty, options.constraints.max_leaves)) / normaliser;
}

inline Minima minima_of(const Constraints& constraints) {
    return {static_cast<int>(constraints.min_samples_leaf), constraints.min_weight_leaf,
            static_cast<int>(constraints.min_samples_arm)};
}

// The tree is what it says it is, whatever else holds.
inline void check_tree(const Table& table, const Options& options, const Run& run) {
    Followed followed;
    follow(table, run.instance, options.constraints, *run.result.tree, table.all_rows(), 0, followed);
    const double normaliser = options.normaliser > 0.0 ? options.normaliser : table.normaliser();
    const double objective = followed.loss / normaliser + options.regularization * followed.leaves;
    CHECK(std::abs(objective - run.upper()) <= tolerance(table, run));
    CHECK(followed.leaves == run.result.leaves);
    CHECK(followed.leaves == 1 || followed.keeps_minima);
    CHECK(options.constraints.max_depth < 0 || followed.depth <= options.constraints.max_depth);
    CHECK(options.constraints.max_leaves == 0 || followed.leaves <= options.constraints.max_leaves);
}

inline void check_optimal(const Table& table, Enumerator& enumerator, const Options& options) {
    describe(text_of(table, options));
    const Finished run(table, options);
    check_tree(table, options, run);
    CHECK(run.result.status == Status::optimal);
    CHECK(std::abs(run.upper() - optimum_of(table, enumerator, options)) <= tolerance(table, run));
    CHECK(run.result.lower == run.result.cost + run.result.leaves * run.settings.penalty);
}

inline void check_between(const Table& table, double optimum, const Options& options, const Run& run) {
    check_tree(table, options, run);
    CHECK(run.upper() >= optimum - tolerance(table, run));
    CHECK(run.lower() <= optimum + tolerance(table, run));
    CHECK(run.lower() <= run.upper() + tolerance(table, run));
}

inline constexpr Weights all_weights[] = {Weights::unit, Weights::whole, Weights::lognormal, Weights::heavy,
                                          Weights::tiny};
inline constexpr double some_penalties[] = {0.0, 1e-4, 0.01, 0.05, 0.3, 5.0};

inline Table draw_small(Random& random, int most_rows, int n_arms = 0) {
    Recipe recipe;
    recipe.n_rows = pick(random, 2, most_rows);
    recipe.n_labels = pick(random, 2, 4);
    recipe.weights = all_weights[pick(random, 0, 4)];
    recipe.is_classification = chance(random, 0.6);
    recipe.signal = uniform(random, 0.0, 1.0);
    recipe.n_arms = n_arms;
    draw_axes(random, recipe, 3, 5);
    return make_table(random, recipe);
}

// Axes of every group that the closed forms treat apart: long and short ordered ones, categories, two-valued ones.
inline Table draw_mixed(Random& random, int n_rows, int longest, int n_labels, Weights weights) {
    Recipe recipe;
    recipe.n_rows = n_rows;
    recipe.n_labels = n_labels;
    recipe.weights = weights;
    recipe.sizes = {longest, longest / 2 + 2, 4, 5, 2, 2};
    recipe.categorical = {0, 0, 0, 1, 0, 0};
    return make_table(random, recipe);
}

}  // namespace certree::test
