// Random tables, and their optimal trees by plain enumeration: every test at every node, every row looked at, nothing
// shared with the engine but the meaning of a test. Costs are doubles as the caller gave them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "instance/problem.hpp"

namespace certree::test {

using Random = std::mt19937_64;
using Rows = std::vector<int>;

inline int pick(Random& random, int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
}
inline double uniform(Random& random, double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
}
inline bool chance(Random& random, double probability) {
    return uniform(random, 0.0, 1.0) < probability;
}

enum class Weights { unit, whole, lognormal, heavy, tiny, close };

struct Table {
    int n_rows = 0;
    int n_labels = 2;
    std::vector<std::int32_t> sizes;
    std::vector<std::uint8_t> categorical;
    std::vector<std::int32_t> codes;  // axis-major
    std::vector<std::int32_t> labels;
    std::vector<double> weights;
    std::vector<double> costs;  // row-major: as given, or what labels and weights mean
    std::vector<std::int32_t> arms;
    std::vector<double> reference;
    int n_arms = 0;
    bool is_classification = true;

    int code(int axis, int row) const {
        return codes[static_cast<std::size_t>(axis) * static_cast<std::size_t>(n_rows) + static_cast<std::size_t>(row)];
    }
    double cost(int row, int label) const {
        return costs[static_cast<std::size_t>(row) * static_cast<std::size_t>(n_labels) +
                     static_cast<std::size_t>(label)];
    }
    int n_axes() const { return static_cast<int>(sizes.size()); }
    int n_tests(int axis) const {
        const auto a = static_cast<std::size_t>(axis);
        return categorical[a] != 0 ? sizes[a] : sizes[a] - 1;
    }
    bool holds(int axis, int test, int row) const {
        return categorical[static_cast<std::size_t>(axis)] != 0 ? code(axis, row) == test : code(axis, row) <= test;
    }
    Rows all_rows() const {
        Rows rows(static_cast<std::size_t>(n_rows));
        for (int i = 0; i < n_rows; ++i) {
            rows[static_cast<std::size_t>(i)] = i;
        }
        return rows;
    }
    double normaliser() const {
        double total = 0.0;
        for (const double weight : weights) {
            total += weight;
        }
        return total;
    }
    // D: the largest cost of each row.
    double worst(const Rows& rows) const {
        double total = 0.0;
        for (const int row : rows) {
            double most = 0.0;
            for (int k = 0; k < n_labels; ++k) {
                most = std::max(most, cost(row, k));
            }
            total += most;
        }
        return total;
    }
    Input input(double normaliser_given, bool has_reference) const {
        Input input;
        input.n_rows = n_rows;
        input.n_labels = n_labels;
        input.codes = codes;
        input.sizes = sizes;
        input.categorical = categorical;
        input.weights = weights;
        if (is_classification) {
            input.labels = labels;
        } else {
            input.costs = costs;
        }
        input.arms = arms;
        input.n_arms = n_arms;
        if (has_reference) {
            input.reference_costs = reference;
        }
        input.normaliser = normaliser_given;
        input.stays = n_rows % 2 == 0;  // an instance then uses the table's codes, which is to outlive it
        return input;
    }
};

struct Recipe {
    int n_rows = 10;
    int n_labels = 2;
    std::vector<std::int32_t> sizes;
    std::vector<std::uint8_t> categorical;
    Weights weights = Weights::unit;
    bool is_classification = true;
    int n_arms = 0;
    double signal = 0.7;  // how much of the labels the columns explain
};

inline double draw_weight(Random& random, Weights kind) {
    switch (kind) {
    case Weights::unit: return 1.0;
    case Weights::whole: return pick(random, 1, 9);
    case Weights::lognormal: return std::lognormal_distribution<double>(0.0, 1.0)(random);
    case Weights::heavy: return std::pow(uniform(random, 1e-4, 1.0), -2.0);
    case Weights::tiny: return 1e-12 * uniform(random, 0.5, 1.5);
    case Weights::close:  // alike in their first forty bits
        return 0x1p40 + pick(random, 0, 3);
    }
    return 1.0;
}

inline Table make_table(Random& random, const Recipe& recipe) {
    Table table;
    table.n_rows = recipe.n_rows;
    table.n_labels = recipe.n_labels;
    table.sizes = recipe.sizes;
    table.categorical = recipe.categorical;
    table.is_classification = recipe.is_classification;
    table.n_arms = recipe.n_arms;
    for (const std::int32_t size : recipe.sizes) {
        for (int i = 0; i < recipe.n_rows; ++i) {
            table.codes.push_back(pick(random, 0, size - 1));
        }
    }
    for (int i = 0; i < recipe.n_rows; ++i) {
        int hint = 0;
        for (int a = 0; a < std::min(table.n_axes(), 3); ++a) {
            hint += 2 * table.code(a, i) >= table.sizes[static_cast<std::size_t>(a)] ? a + 1 : 0;
        }
        table.labels.push_back(chance(random, recipe.signal) ? hint % recipe.n_labels
                                                             : pick(random, 0, recipe.n_labels - 1));
        table.weights.push_back(draw_weight(random, recipe.weights));
        for (int k = 0; k < recipe.n_labels; ++k) {
            const bool is_own = k == table.labels.back();
            table.costs.push_back(recipe.is_classification ? (is_own ? 0.0 : table.weights.back())
                                                           : table.weights.back() * pick(random, is_own ? 0 : 1, 5));
        }
        if (recipe.n_arms > 0) {
            table.arms.push_back(pick(random, 0, recipe.n_arms - 1));
        }
    }
    return table;
}

// A few short axes of either kind.
inline void draw_axes(Random& random, Recipe& recipe, int most_axes, int most_codes) {
    const int n_axes = pick(random, 1, most_axes);
    for (int a = 0; a < n_axes; ++a) {
        recipe.sizes.push_back(pick(random, 2, most_codes));
        recipe.categorical.push_back(recipe.sizes.back() > 2 && chance(random, 0.35) ? 1 : 0);
    }
}

struct Minima {
    int samples = 1;
    double weight = 0.0;
    int samples_arm = 0;
};

// Least loss (without λ) of a tree of at most m + 1 leaves, for m = 0, 1, ..
constexpr std::size_t most_leaves = 16;
using Front = std::array<double, most_leaves>;

class Enumerator {
public:
    explicit Enumerator(const Table& table, const Minima& minima = {}) : table_(table), minima_(minima) {
        n_channels_ = static_cast<std::size_t>(table.n_labels + 2 + table.n_arms);
    }

    const Front& front(const Rows& rows, int depth) {
        const auto found = known_.find({rows, depth});
        if (found != known_.end()) {
            return found->second;
        }
        Front front = solve(rows, depth);
        for (std::size_t m = 1; m < most_leaves; ++m) {
            front[m] = std::min(front[m], front[m - 1]);
        }
        return known_.emplace(std::pair{rows, depth}, front).first->second;
    }

    // Least loss + penalty · leaves over trees of at most `leaves` leaves (0: any).
    double optimum(const Rows& rows, int depth, double penalty, int leaves = 0) {
        const Front& losses = front(rows, depth);
        double best = std::numeric_limits<double>::infinity();
        const std::size_t most = leaves > 0 ? std::min(most_leaves, static_cast<std::size_t>(leaves)) : most_leaves;
        for (std::size_t m = 0; m < most; ++m) {
            best = std::min(best, losses[m] + penalty * static_cast<double>(m + 1));
        }
        return best;
    }

private:
    void add(int row, double* sums) const {
        for (int k = 0; k < table_.n_labels; ++k) {
            sums[k] += table_.cost(row, k);
        }
        double* rest = sums + table_.n_labels;
        rest[0] += 1.0;
        rest[1] += table_.weights[static_cast<std::size_t>(row)];
        if (table_.n_arms > 0) {
            rest[2 + table_.arms[static_cast<std::size_t>(row)]] += 1.0;
        }
    }
    double leaf(const double* sums) const {
        const double* rest = sums + table_.n_labels;
        bool keeps = rest[0] >= minima_.samples || minima_.samples <= 1;
        keeps = keeps && (minima_.weight <= 0.0 || rest[1] >= minima_.weight);
        for (int arm = 0; arm < table_.n_arms; ++arm) {
            keeps = keeps && rest[2 + arm] >= minima_.samples_arm;
        }
        return keeps ? *std::min_element(sums, sums + table_.n_labels) : std::numeric_limits<double>::infinity();
    }

    Front solve(const Rows& rows, int depth) {
        Front front;
        front.fill(std::numeric_limits<double>::infinity());
        std::vector<double> all(n_channels_, 0.0);
        for (const int row : rows) {
            add(row, all.data());
        }
        front[0] = leaf(all.data());
        if (depth == 0 || rows.size() < 2) {
            return front;
        }
        for (int axis = 0; axis < table_.n_axes(); ++axis) {
            if (depth == 1) {
                stumps(rows, axis, front);
                continue;
            }
            for (int test = 0; test < table_.n_tests(axis); ++test) {
                Rows left;
                Rows right;
                for (const int row : rows) {
                    (table_.holds(axis, test, row) ? left : right).push_back(row);
                }
                if (left.empty() || right.empty()) {
                    continue;
                }
                const Front l = this->front(left, depth - 1);
                const Front r = this->front(right, depth - 1);
                const std::size_t width = std::size_t{1} << std::min(depth - 1, 4);
                for (std::size_t i = 0; i < std::min(width, most_leaves); ++i) {
                    for (std::size_t j = 0; j < std::min(width, most_leaves) && i + j + 1 < most_leaves; ++j) {
                        front[i + j + 1] = std::min(front[i + j + 1], l[i] + r[j]);
                    }
                }
            }
        }
        return front;
    }

    // One axis of stumps, by sums per code: the last level is most of the work.
    void stumps(const Rows& rows, int axis, Front& front) const {
        const auto n_codes = static_cast<std::size_t>(table_.sizes[static_cast<std::size_t>(axis)]);
        std::vector<double> by_code(n_codes * n_channels_, 0.0);
        for (const int row : rows) {
            add(row, by_code.data() + static_cast<std::size_t>(table_.code(axis, row)) * n_channels_);
        }
        const auto n_rows = static_cast<std::size_t>(table_.n_labels);
        const auto offer = [&](const double* left, const double* right) {
            if (left[n_rows] > 0.0 && right[n_rows] > 0.0) {
                front[1] = std::min(front[1], leaf(left) + leaf(right));
            }
        };
        if (table_.categorical[static_cast<std::size_t>(axis)] == 0) {
            std::vector<double> after(by_code);  // sums of the codes from each one on
            for (std::size_t c = after.size() - n_channels_; c-- > 0;) {
                after[c] += after[c + n_channels_];
            }
            for (std::size_t test = 0; test + 1 < n_codes; ++test) {
                double* before = by_code.data() + test * n_channels_;
                for (std::size_t c = 0; c < n_channels_ && test > 0; ++c) {
                    before[c] += by_code[(test - 1) * n_channels_ + c];
                }
                offer(before, after.data() + (test + 1) * n_channels_);
            }
            return;
        }
        for (std::size_t test = 0; test < n_codes; ++test) {
            std::vector<double> others(n_channels_, 0.0);
            for (std::size_t code = 0; code < n_codes; ++code) {
                for (std::size_t c = 0; c < n_channels_ && code != test; ++c) {
                    others[c] += by_code[code * n_channels_ + c];
                }
            }
            offer(by_code.data() + test * n_channels_, others.data());
        }
    }

    const Table& table_;
    Minima minima_;
    std::size_t n_channels_ = 0;
    std::map<std::pair<Rows, int>, Front> known_;
};

}  // namespace certree::test
