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

// Rows to be sorted by their codes on one column. The rows of one code then add to a slab of the cells of a set that is
// small enough for a near cache. Each channel has the rows that count in it alone: of many labels a row has few.
template <class Code>
class SortedRows {
public:
    SortedRows(std::size_t n_columns, std::span<const std::int32_t> sizes);

    // Opens the next channel, to which `put` adds rows; `code_at(c)` is the row's code on column c.
    void open_channel(std::size_t n_rows);
    template <class CodeAt>
    void put(Amount amount, CodeAt code_at) {
        Channel& own = channels_.back();
        if (amount != 0) {
            own.amounts.push_back(amount);
            for (std::size_t c = 0; c < own.codes.size(); ++c) {
                own.codes[c].push_back(static_cast<Code>(code_at(c)));
            }
        }
    }

    // From now on by the codes of this column. Columns before it are of no use any more: pass through them in
    // ascending order.
    void sort_by(std::int32_t column);

    // Adds the rows to the cells of sets whose first column is the one they are sorted by; before they are sorted, of
    // any sets of at most two columns, whose cells are few. Tables of the sets one behind the other; in each the
    // channels, slowest, then the codes of the columns, those of the last one fastest.
    void add_to(std::span<const ColumnSet> sets, std::span<Amount> cells) const;

    std::size_t n_channels() const { return channels_.size(); }

private:
    struct Channel {
        std::vector<std::vector<Code>> codes;  // by column
        std::vector<Amount> amounts;
        std::vector<std::size_t> start;  // of each code of the column they are sorted by; empty: of none yet
    };
    void add_block(const Channel& own, const ColumnSet& set, std::size_t first, std::size_t from, std::size_t to,
                   Amount* slab) const;

    std::span<const std::int32_t> sizes_;
    std::size_t n_columns_;
    std::vector<Channel> channels_;
};

// Adds the rows to `cells`, with tables as of SortedRows::add_to; sets in any order. Column-major codes: column c of
// row i is codes[c * n_rows + i], and lies below sizes[c].
template <class Code>
void add_cells(std::span<const Code> codes, std::size_t n_rows, std::span<const std::int32_t> sizes,
               std::span<const Amount> amounts, std::size_t n_channels, std::span<const ColumnSet> sets,
               std::span<Amount> cells);

}  // namespace certree::sums
