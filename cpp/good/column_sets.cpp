#include "good/column_sets.hpp"

#include <algorithm>

namespace certree::good {

namespace {

void put(std::int32_t column, std::vector<std::uint64_t>& set) {
    set[static_cast<std::size_t>(column) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(column) % 64);
}

}  // namespace

std::size_t ColumnSets::SetHash::operator()(const std::vector<std::uint64_t>& words) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
        hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
        hash ^= hash >> 31;
    }
    return static_cast<std::size_t>(hash);
}

ColumnSets::ColumnSets(const Instance& instance, std::span<const std::int32_t> column_of_axis, std::int32_t n_columns)
    : instance_(instance), n_words_((static_cast<std::size_t>(n_columns) + 63) / 64) {
    for (const Axis& axis : instance.axes) {
        column_of_axis_.push_back(column_of_axis[static_cast<std::size_t>(axis.original_axis)]);
        n_alike_.emplace_back(static_cast<std::size_t>(axis.n_tests), 1);
        columns_alike_.emplace_back(static_cast<std::size_t>(axis.n_tests));
    }
    for (const Double& other : instance.doubles) {
        const auto a = static_cast<std::size_t>(other.axis);
        const auto t = static_cast<std::size_t>(other.test);
        n_alike_[a][t] += 1;
        columns_alike_[a][t].push_back(column_of_axis[static_cast<std::size_t>(other.original_axis)]);
    }
    for (std::int32_t column = 0; column < n_columns; ++column) {
        std::vector<std::uint64_t> alone(n_words_, 0);
        put(column, alone);
        numbers_.emplace(alone, column);
        sets_.insert(sets_.end(), alone.begin(), alone.end());
    }
}

void ColumnSets::add(std::int32_t axis, std::int32_t code, std::int32_t next, Class& to) const {
    const auto a = static_cast<std::size_t>(axis);
    const Axis& tested = instance_.axes[a];
    put(column_of_axis_[a], to.columns);
    const auto join = [&](std::int32_t test) {
        const auto t = static_cast<std::size_t>(test);
        to.n_tests += n_alike_[a][t];
        for (const std::int32_t column : columns_alike_[a][t]) {
            put(column, to.columns);
        }
    };
    if (!tested.is_categorical) {
        for (std::int32_t test = code; test < std::min(next, tested.n_tests); ++test) {
            join(test);
        }
        return;
    }
    join(code);
    if (next < tested.n_tests) {
        join(next);
    }
}

std::int32_t ColumnSets::number(const Class& of) {
    const auto [place, is_new] = numbers_.try_emplace(of.columns, static_cast<std::int32_t>(sets_.size() / n_words_));
    if (is_new) {
        sets_.insert(sets_.end(), of.columns.begin(), of.columns.end());
    }
    return place->second;
}

}  // namespace certree::good
