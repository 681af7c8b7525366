#include "fuzz/shrink.hpp"

#include <cmath>
#include <functional>

#include "fuzz/judge.hpp"

namespace certree::fuzz {

namespace {

using Step = std::function<void(Problem&)>;

template <class T>
void erase_at(std::vector<T>& values, std::size_t at, std::size_t n = 1) {
    if (!values.empty()) {
        values.erase(values.begin() + static_cast<std::ptrdiff_t>(at),
                     values.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
}

void remove_row(Table& table, std::size_t row) {
    const auto n_rows = static_cast<std::size_t>(table.n_rows);
    for (std::size_t a = table.sizes.size(); a-- > 0;) {
        erase_at(table.codes, a * n_rows + row);
    }
    const auto n_labels = static_cast<std::size_t>(table.n_labels);
    erase_at(table.costs, row * n_labels, n_labels);
    erase_at(table.labels, row);
    erase_at(table.weights, row);
    erase_at(table.arms, row);
    erase_at(table.reference, row);
    --table.n_rows;
}

void remove_axis(Table& table, std::size_t axis) {
    const auto n_rows = static_cast<std::size_t>(table.n_rows);
    erase_at(table.codes, axis * n_rows, n_rows);
    erase_at(table.sizes, axis);
    erase_at(table.categorical, axis);
}

// Rows that had the label get the one before it.
void remove_label(Table& table, std::size_t label) {
    const auto n_labels = static_cast<std::size_t>(table.n_labels);
    for (auto row = static_cast<std::size_t>(table.n_rows); row-- > 0;) {
        erase_at(table.costs, row * n_labels + label);
    }
    --table.n_labels;
    for (std::size_t row = 0; row < table.labels.size(); ++row) {
        auto& own = table.labels[row];
        own -= own >= static_cast<std::int32_t>(label) && own > 0 ? 1 : 0;
        for (int k = 0; k < table.n_labels && table.is_classification; ++k) {
            table.costs[row * static_cast<std::size_t>(table.n_labels) + static_cast<std::size_t>(k)] =
                k == own ? 0.0 : table.weights[row];
        }
    }
}

// Codes above one become one less: two neighbouring values are one.
void join_codes(Table& table, std::size_t axis, std::int32_t code) {
    const auto n_rows = static_cast<std::size_t>(table.n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) {
        table.codes[axis * n_rows + i] -= table.codes[axis * n_rows + i] > code ? 1 : 0;
    }
    --table.sizes[axis];
}

// All amounts of a kind by one rule, and what follows from them.
template <class Change>
void change_amounts(Problem& problem, Change change) {
    Table& table = problem.table;
    for (double& weight : table.weights) {
        weight = change(weight);
    }
    for (double& cost : table.costs) {
        cost = change(cost);
    }
    for (double& cost : table.reference) {
        cost = change(cost);
    }
}

// Every way to make a problem simpler by one thing, the largest things first.
std::vector<Step> steps_of(const Problem& problem) {
    const Table& table = problem.table;
    const Options& options = problem.options;
    std::vector<Step> steps;
    for (std::size_t a = 0; a < table.sizes.size() && table.sizes.size() > 1; ++a) {
        steps.push_back([a](Problem& p) { remove_axis(p.table, a); });
    }
    const auto n_rows = static_cast<std::size_t>(table.n_rows);
    for (std::size_t part = n_rows / 2; part >= 1 && n_rows > 2; part /= 2) {
        for (std::size_t first = 0; first + part <= n_rows && part + 1 < n_rows; first += part) {
            steps.push_back([first, part](Problem& p) {
                for (std::size_t n = 0; n < part; ++n) {
                    remove_row(p.table, first);
                }
            });
        }
    }
    for (int k = 0; k < table.n_labels && table.n_labels > 2; ++k) {
        steps.push_back([k](Problem& p) { remove_label(p.table, static_cast<std::size_t>(k)); });
    }
    const auto when = [&](bool is_set, Step step) {
        if (is_set) {
            steps.push_back(std::move(step));
        }
    };
    when(options.n_threads > 1, [](Problem& p) { p.options.n_threads = 1; });
    when(options.n_elsewhere > 0, [](Problem& p) { --p.options.n_elsewhere; });
    when(options.memory_bytes > 0, [](Problem& p) { p.options.memory_bytes = 0; });
    when(options.n_asked >= 0, [](Problem& p) { p.options.n_asked = -1; });
    when(options.n_asked > 0, [](Problem& p) { p.options.n_asked /= 2; });
    when(options.n_asked > 0, [](Problem& p) { --p.options.n_asked; });
    when(options.has_reference, [](Problem& p) {
        p.options.has_reference = false;
        p.table.reference.clear();
    });
    when(table.n_arms > 0, [](Problem& p) {
        p.table.n_arms = 0;
        p.table.arms.clear();
        p.options.constraints.min_samples_arm = 0;
    });
    const Constraints& constraints = options.constraints;
    when(constraints.max_leaves > 0, [](Problem& p) { p.options.constraints.max_leaves = 0; });
    when(constraints.min_samples_leaf > 1, [](Problem& p) { p.options.constraints.min_samples_leaf = 1; });
    when(constraints.min_weight_leaf > 0.0, [](Problem& p) { p.options.constraints.min_weight_leaf = 0.0; });
    when(constraints.min_weight_leaf > 0.0 && constraints.min_weight_leaf != 1.0,
         [](Problem& p) { p.options.constraints.min_weight_leaf = 1.0; });
    when(constraints.max_depth > 0, [](Problem& p) { --p.options.constraints.max_depth; });
    when(constraints.max_leaves > 1, [](Problem& p) { --p.options.constraints.max_leaves; });
    for (std::uint32_t bit = 1; bit <= options.switches; bit <<= 1) {
        when((options.switches & bit) != 0, [bit](Problem& p) { p.options.switches &= ~bit; });
    }
    for (std::size_t a = 0; a < table.sizes.size(); ++a) {
        when(table.categorical[a] != 0, [a](Problem& p) { p.table.categorical[a] = 0; });
        for (std::int32_t code = 0; code + 1 < table.sizes[a]; ++code) {
            steps.push_back([a, code](Problem& p) { join_codes(p.table, a, code); });
        }
    }
    when(table.is_classification, [](Problem& p) { p.table.is_classification = false; });
    when(options.normaliser != 1.0, [](Problem& p) {
        const double from = p.options.normaliser > 0.0 ? p.options.normaliser : p.table.normaliser();
        p.options.regularization *= from;
        p.options.normaliser = 1.0;
    });
    when(options.regularization != 0.0, [](Problem& p) { p.options.regularization = 0.0; });
    const double eighths = std::round(options.regularization * 8.0) / 8.0;
    when(options.regularization != eighths, [eighths](Problem& p) { p.options.regularization = eighths; });
    const auto is_simpler = [&](auto change) {
        return std::any_of(table.costs.begin(), table.costs.end(), [&](double x) { return change(x) != x; }) ||
               std::any_of(table.weights.begin(), table.weights.end(), [&](double x) { return change(x) != x; });
    };
    const auto round = [](double x) { return std::round(x); };
    when(is_simpler(round), [round](Problem& p) { change_amounts(p, round); });
    const auto halve = [](double x) { return x >= 2.0 ? std::floor(x / 2.0) : x; };
    when(is_simpler(halve), [halve](Problem& p) { change_amounts(p, halve); });
    for (std::size_t i = 0; i < n_rows && !table.is_classification; ++i) {
        when(table.weights[i] != 1.0, [i](Problem& p) { p.table.weights[i] = 1.0; });
        const auto n_labels = static_cast<std::size_t>(table.n_labels);
        for (std::size_t c = i * n_labels; c < (i + 1) * n_labels; ++c) {
            when(table.costs[c] != 0.0, [c](Problem& p) { p.table.costs[c] = 0.0; });
            when(table.costs[c] != 0.0 && table.costs[c] != 1.0, [c](Problem& p) { p.table.costs[c] = 1.0; });
            when(table.costs[c] > 2.0, [c](Problem& p) { p.table.costs[c] = std::floor(p.table.costs[c] / 2.0); });
        }
    }
    return steps;
}

// What threads do differs from time to time.
bool fails(const Problem& problem) {
    const int n_times = problem.options.n_threads > 1 || problem.options.n_elsewhere > 1 ? 20 : 1;
    for (int n = 0; n < n_times; ++n) {
        if (!fault_of(problem).empty()) {
            return true;
        }
    }
    return false;
}

template <class T>
void list(std::ostringstream& text, const char* name, const std::vector<T>& values) {
    if (values.empty()) {
        return;
    }
    text << "    table." << name << " = {";
    for (std::size_t i = 0; i < values.size(); ++i) {
        text << (i > 0 ? ", " : "") << +values[i];
    }
    text << "};\n";
}

}  // namespace

Problem shrink(Problem problem) {
    // Each step that is kept may make others possible; every kept one makes the problem smaller, so it ends.
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (const Step& step : steps_of(problem)) {
            Problem simpler = problem;
            step(simpler);
            if (simpler.table.normaliser() > 0.0 && fails(simpler)) {
                problem = std::move(simpler);
                has_changed = true;
                break;
            }
        }
    }
    return problem;
}

std::string as_test(const Problem& problem) {
    const Table& table = problem.table;
    const Options& options = problem.options;
    std::ostringstream text;
    text.precision(17);
    text << "    Table table;\n    table.n_rows = " << table.n_rows << ";\n    table.n_labels = " << table.n_labels
         << ";\n    table.is_classification = " << (table.is_classification ? "true" : "false") << ";\n";
    list(text, "sizes", table.sizes);
    list(text, "categorical", table.categorical);
    list(text, "codes", table.codes);
    if (table.is_classification) {
        list(text, "labels", table.labels);
    }
    list(text, "weights", table.weights);
    list(text, "costs", table.costs);
    list(text, "reference", table.reference);
    if (table.n_arms > 0) {
        text << "    table.n_arms = " << table.n_arms << ";\n";
        list(text, "arms", table.arms);
    }
    const Options usual;
    text << "    Options options;\n";
    const auto set = [&](const char* name, auto value, auto usually) {
        if (value != usually) {
            text << "    options." << name << " = " << value << ";\n";
        }
    };
    set("regularization", options.regularization, -1.0);
    set("constraints.max_depth", options.constraints.max_depth, usual.constraints.max_depth);
    set("constraints.max_leaves", options.constraints.max_leaves, usual.constraints.max_leaves);
    set("constraints.min_samples_leaf", options.constraints.min_samples_leaf, usual.constraints.min_samples_leaf);
    set("constraints.min_weight_leaf", options.constraints.min_weight_leaf, usual.constraints.min_weight_leaf);
    set("constraints.min_samples_arm", options.constraints.min_samples_arm, usual.constraints.min_samples_arm);
    set("switches", options.switches, usual.switches);
    set("n_threads", options.n_threads, usual.n_threads);
    set("n_elsewhere", options.n_elsewhere, usual.n_elsewhere);
    set("n_asked", options.n_asked, usual.n_asked);
    set("memory_bytes", options.memory_bytes, usual.memory_bytes);
    set("has_reference", options.has_reference ? "true" : "false", std::string("false"));
    set("normaliser", options.normaliser, usual.normaliser);
    text << "    Enumerator enumerator(table, minima_of(options.constraints));\n"
            "    check_optimal(table, enumerator, options);\n";
    return text.str();
}

}  // namespace certree::fuzz
