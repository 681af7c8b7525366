// The instance: what the caller gave, prepared once per fit. Equal rows are merged, each row's unavoidable cost is
// moved to an offset, amounts become integers, and tests that equal another test (or its complement) on these rows are
// dropped.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "types.hpp"

namespace certree {

// What the caller hands over; nothing is copied until preparation. Axis-major codes: axis a of row i is codes[a * n +
// i].
struct Input {
    static constexpr std::int32_t most_rows = (1 << 29) - 1;  // sums of rows rounded to 32 bits stay in range

    std::int32_t n_rows = 0;
    std::int32_t n_labels = 0;
    std::span<const std::int32_t> codes;
    std::span<const std::int32_t> sizes;        // codes per axis
    std::span<const std::uint8_t> categorical;  // 0: tests "code <= b"; 1: tests "code == c"
    std::span<const std::int32_t> labels;       // classification: cost = weight where the label differs; or
    std::span<const double> costs;              // n × K, row-major
    std::span<const double> weights;
    std::span<const double> leaf_weights;     // what rows count towards min_weight_leaf; empty: their weights
    std::span<const std::int64_t> counts;     // how many rows of the caller's table a row stands for; empty: one
    std::span<const std::int32_t> arms;       // may be empty
    std::span<const double> reference_costs;  // may be empty
    double normaliser = 1.0;
    double total = 0.0;  // what the worst labels cost where these rows are a part of more; 0: they are all
    std::int32_t n_arms = 0;
    bool stays = false;  // whether codes stay where they are as long as the instance, which may then use them
};

// What a tree must keep to; weights are the caller's numbers (Weight = double) or an instance's amounts.
template <class Weight>
struct TreeLimits {
    int max_depth = -1;  // -1: limited by the penalty only
    int max_leaves = 0;  // 0: any
    std::int64_t min_samples_leaf = 1;
    Weight min_weight_leaf = 0;
    std::int64_t min_samples_arm = 0;

    bool has_leaf_minimum() const { return min_samples_leaf > 1 || min_weight_leaf > 0 || min_samples_arm > 0; }
};
using Constraints = TreeLimits<double>;

// What a search asks of a tree, in an instance's amounts. It belongs to the search: another one may ask for something
// else of the same instance.
struct Settings : TreeLimits<Amount> {
    Amount penalty = 0;  // λ
};

// Between numbers of the caller's and amounts: times a factor near 1 and a power of two, which need not be a float
// itself.
struct Scale {
    double factor = 1.0;
    int exponent = 0;
    double operator()(double value) const { return std::ldexp(value * factor, exponent); }
};

struct Axis {
    std::int32_t n_codes = 0;
    std::int32_t n_tests = 0;  // ordered: n_codes - 1, test b is "code <= b"; categorical: test c is "code == c", and
                               // codes from n_tests on have no test of their own
    bool is_categorical = false;
    std::int32_t original_axis = 0;
    std::vector<std::int32_t> original_codes;  // see original_code; empty: every test is the caller's of that number
    std::span<const std::int32_t> codes;       // of each merged row: the caller's where they are the same, or our own
    std::vector<std::int32_t> own_codes;

    // A copy would share codes with what it was copied from.
    Axis() = default;
    Axis(Axis&&) = default;
    Axis& operator=(Axis&&) = default;

    // A test, in the caller's codes.
    std::int32_t original_code(std::int32_t test) const {
        return original_codes.empty() ? test : original_codes[static_cast<std::size_t>(test)];
    }
};

// A test of the caller that was left out because it parts all rows as a test of the instance does.
struct Double {
    std::int32_t axis;
    std::int32_t test;
    std::int32_t original_axis;
};

struct Gain {
    std::int32_t label;
    Amount amount;
};

struct Instance {
    std::int32_t n_rows = 0;  // merged rows that take part in the search
    std::int32_t n_labels = 0;
    std::vector<Axis> axes;
    std::int64_t n_tests = 0;
    std::vector<Double> doubles;

    // Costs after the shift, as what each label saves against the row's worst label: cost(k) = worst − gain(k).
    // Sparse for classification, where a row saves only on the labels it was seen with.
    std::vector<std::int32_t> gain_start;
    std::vector<Gain> gains;
    std::vector<Amount> worst;    // D of one row
    std::vector<Amount> balance;  // two labels: gain(0) − gain(1); |balance| == worst
    std::vector<Amount> common;   // classification: what every label of a row weighs; empty where that is nothing

    // Kept only where a minimum per leaf needs them.
    std::vector<std::int64_t> count;
    std::vector<Amount> weight;
    std::vector<std::int32_t> arm_count;  // row-major, n_arms per row
    std::int32_t n_arms = 0;

    std::vector<Amount> reference;  // empty, or the cost of the reference's prediction, never below 0
    RowKeys row_key;

    Amount offset = 0;           // cost that no tree can avoid
    Amount whole = 0;            // what the worst labels cost where these rows are a part of more
    Scale to_value;              // of amounts, in units of R
    Scale to_penalty;            // of λ
    Scale to_weight;             // of weights, where they are kept
    double cost_rounding = 0.0;  // bound on the rounding of a tree's cost, in units of R
    std::int32_t best_label_of_all = 0;

    // Pre: with a leaf minimum, the instance was prepared for one.
    Settings settings(const Constraints& constraints, double regularization) const;

    double to_objective(Amount cost_without_penalty, int leaves, double regularization) const {
        return to_lower(cost_without_penalty) + regularization * leaves;
    }
    double to_lower(Amount value) const { return to_value(static_cast<double>(value + offset)); }
    // A bound on what rounding does to the objective of a tree of so many leaves.
    double rounding(double regularization, double leaves) const {
        return cost_rounding + to_value(0.5 * leaves) + 0x1p-52 * regularization * leaves;
    }
    std::size_t bytes() const;  // held while the search runs
};

// has_leaf_minimum: whether searches may ask for one; then nothing is left out that counts in a leaf.
Instance prepare(const Input& input, bool has_leaf_minimum, std::uint32_t switches);

// Sorted distinct values and the code of each value among them; a NaN gets code -1.
void bin_numeric(std::span<const double> values, std::span<std::int32_t> codes, std::vector<double>& distinct);

}  // namespace certree
