// Arrays of the caller as views, ours as arrays of the caller, and the problem that both ends of the door speak of.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "instance/problem.hpp"

namespace certree::door {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto view(const Array& array) {
    return std::span(array.data(), array.size());
}

template <class T>
nb::object to_numpy(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// Views only: the arrays must stay as long as the input is used.
inline Input read_input(const Matrix<std::int32_t>& codes, const Vector<std::int32_t>& sizes,
                        const Vector<std::uint8_t>& categorical, const std::optional<Vector<std::int32_t>>& labels,
                        const Vector<double>& weights, const std::optional<Matrix<double>>& costs,
                        std::int32_t n_labels, double normaliser, const std::optional<Vector<double>>& leaf_weights,
                        const std::optional<Vector<std::int32_t>>& arms, std::int32_t n_arms,
                        const std::optional<Vector<double>>& reference_costs) {
    if (codes.shape(1) > static_cast<std::size_t>(Input::most_rows)) {
        throw nb::value_error("the engine takes fewer than 2^29 rows");
    }
    Input input;
    input.n_rows = static_cast<std::int32_t>(codes.shape(1));
    input.n_labels = n_labels;
    input.codes = view(codes);
    input.sizes = view(sizes);
    input.categorical = view(categorical);
    input.weights = view(weights);
    if (labels) {
        input.labels = view(*labels);
    }
    if (costs) {
        input.costs = view(*costs);
    }
    if (leaf_weights) {
        input.leaf_weights = view(*leaf_weights);
    }
    if (arms) {
        input.arms = view(*arms);
        input.n_arms = n_arms;
    }
    if (reference_costs) {
        input.reference_costs = view(*reference_costs);
    }
    input.normaliser = normaliser;
    return input;
}

// Of every tree that the limits allow, not only of the one returned: the lower bound speaks of them all.
inline double rounding_of_any_tree(const Instance& instance, double regularization, int max_depth,
                                   std::int32_t n_rows) {
    const double most_leaves = max_depth < 0 || max_depth > 30 ? n_rows : std::min<double>(n_rows, 1 << max_depth);
    return instance.rounding(regularization, most_leaves);
}

}  // namespace certree::door
