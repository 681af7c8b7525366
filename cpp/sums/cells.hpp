// Sums over cells: for a set of one to three coded columns, what the rows of every combination of codes add up to. All
// that trees of depth at most three need of the rows, so that rows may stay where they lie and only sums travel.
//
// A row has amounts in some channels: what it counts for each label, then what it counts towards each minimum per leaf.
// Amounts are whole numbers, so the sums of parts of a table, added in any order, are those of the table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "types.hpp"

namespace certree::sums {

// Up to three columns in ascending order, -1 behind the last of them.
using ColumnSet = std::array<std::int32_t, 3>;

inline int count_columns(const ColumnSet& set) {
    return set[1] < 0 ? 1 : set[2] < 0 ? 2 : 3;
}

// Combinations of codes.
inline std::size_t count_cells(const ColumnSet& set, std::span<const std::int32_t> sizes) {
    std::size_t cells = 1;
    for (int i = 0; i < count_columns(set); ++i) {
        cells *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(set[static_cast<std::size_t>(i)])]);
    }
    return cells;
}

// Adds the rows to `cells`: the tables of all sets, one behind the other, the last column's codes and then the channels
// running fastest. Column-major codes: column c of row i is codes[c * n_rows + i], and lies below sizes[c].
template <class Code>
void add_cells(std::span<const Code> codes, std::size_t n_rows, std::span<const std::int32_t> sizes,
               std::span<const Amount> amounts, std::size_t n_channels, std::span<const ColumnSet> sets,
               std::span<Amount> cells);

}  // namespace certree::sums
