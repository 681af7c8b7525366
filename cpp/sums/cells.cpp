#include "sums/cells.hpp"

namespace certree::sums {

namespace {

// The first two columns of a set as one number for each row; sets that share them come one behind the other.
template <class Code>
void number_pairs(const Code* first, const Code* second, std::int32_t size, std::vector<std::int32_t>& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = static_cast<std::int32_t>(first[i]) * size + static_cast<std::int32_t>(second[i]);
    }
}

// `place(i)` is the cell of row i. One channel, the usual case of two labels without a minimum, needs no inner loop.
template <class Place>
void scatter(std::span<const Amount> amounts, std::size_t n_rows, std::size_t n_channels, Amount* table, Place place) {
    if (n_channels == 1) {
        for (std::size_t i = 0; i < n_rows; ++i) {
            table[place(i)] += amounts[i];
        }
        return;
    }
    for (std::size_t i = 0; i < n_rows; ++i) {
        Amount* cell = table + place(i) * n_channels;
        const Amount* row = amounts.data() + i * n_channels;
        for (std::size_t c = 0; c < n_channels; ++c) {
            cell[c] += row[c];
        }
    }
}

}  // namespace

template <class Code>
void add_cells(std::span<const Code> codes, std::size_t n_rows, std::span<const std::int32_t> sizes,
               std::span<const Amount> amounts, std::size_t n_channels, std::span<const ColumnSet> sets,
               std::span<Amount> cells) {
    const auto column = [&](std::int32_t c) { return codes.data() + static_cast<std::size_t>(c) * n_rows; };
    std::vector<std::int32_t> pairs;
    std::int32_t numbered_first = -1;
    std::int32_t numbered_second = -1;
    Amount* table = cells.data();
    for (const ColumnSet& set : sets) {
        const Code* first = column(set[0]);
        if (count_columns(set) == 1) {
            scatter(amounts, n_rows, n_channels, table, [&](std::size_t i) { return std::size_t{first[i]}; });
        } else {
            if (set[0] != numbered_first || set[1] != numbered_second) {
                pairs.resize(n_rows);
                number_pairs(first, column(set[1]), sizes[static_cast<std::size_t>(set[1])], pairs);
                numbered_first = set[0];
                numbered_second = set[1];
            }
            if (count_columns(set) == 2) {
                scatter(amounts, n_rows, n_channels, table,
                        [&](std::size_t i) { return static_cast<std::size_t>(pairs[i]); });
            } else {
                const Code* third = column(set[2]);
                const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(set[2])]);
                scatter(amounts, n_rows, n_channels, table,
                        [&](std::size_t i) { return static_cast<std::size_t>(pairs[i]) * size + third[i]; });
            }
        }
        table += count_cells(set, sizes) * n_channels;
    }
}

template void add_cells(std::span<const std::uint8_t>, std::size_t, std::span<const std::int32_t>,
                        std::span<const Amount>, std::size_t, std::span<const ColumnSet>, std::span<Amount>);
template void add_cells(std::span<const std::uint16_t>, std::size_t, std::span<const std::int32_t>,
                        std::span<const Amount>, std::size_t, std::span<const ColumnSet>, std::span<Amount>);

}  // namespace certree::sums
