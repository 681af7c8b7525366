#include "sums/cells.hpp"

#include <algorithm>
#include <utility>

#include "pool.hpp"

namespace certree::sums {

namespace {

// So many rows at a time are added to one set after the other: they and a slab of cells stay in near caches.
constexpr std::size_t block = 4096;

std::size_t place_of(const ColumnSet& set, std::size_t column) {
    return static_cast<std::size_t>(set[column]);
}

}  // namespace

template <class Code>
SortedRows<Code>::SortedRows(std::size_t n_columns, std::span<const std::int32_t> sizes)
    : sizes_(sizes), n_columns_(n_columns) {}

template <class Code>
void SortedRows<Code>::open_channel(std::size_t n_rows) {
    Channel& own = channels_.emplace_back();
    own.codes.resize(n_columns_);
    own.amounts.reserve(n_rows);
    for (std::vector<Code>& codes : own.codes) {
        codes.reserve(n_rows);
    }
}

template <class Code>
void SortedRows<Code>::sort_by(std::int32_t column) {
    const auto first = static_cast<std::size_t>(column);
    std::vector<std::uint32_t> order;
    std::vector<Code> sorted_codes;
    std::vector<Amount> sorted_amounts;
    for (Channel& own : channels_) {
        const std::size_t n = own.amounts.size();
        own.start.assign(static_cast<std::size_t>(sizes_[first]) + 1, 0);
        for (const Code code : own.codes[first]) {
            ++own.start[std::size_t{code} + 1];
        }
        for (std::size_t code = 1; code < own.start.size(); ++code) {
            own.start[code] += own.start[code - 1];
        }
        order.resize(n);
        std::vector<std::size_t> next = own.start;
        for (std::size_t i = 0; i < n; ++i) {
            order[next[own.codes[first][i]]++] = static_cast<std::uint32_t>(i);
        }
        const auto permute = [&](auto& values, auto& sorted) {
            sorted.resize(n);
            for (std::size_t i = 0; i < n; ++i) {
                sorted[i] = values[order[i]];
            }
            std::swap(values, sorted);
        };
        permute(own.amounts, sorted_amounts);
        for (std::size_t c = first + 1; c < n_columns_; ++c) {
            permute(own.codes[c], sorted_codes);
        }
        // Later columns may be sorted by in turn; the order of this one is in `start`.
        release(own.codes[first]);
    }
}

template <class Code>
void SortedRows<Code>::add_to(std::span<const ColumnSet> sets, std::span<Amount> cells) const {
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
        const Channel& own = channels_[channel];
        const bool is_sorted = !own.start.empty();
        const std::vector<std::size_t> all{0, own.amounts.size()};
        const std::vector<std::size_t>& start = is_sorted ? own.start : all;
        for (std::size_t slab = 0; slab + 1 < start.size(); ++slab) {
            for (std::size_t from = start[slab]; from < start[slab + 1]; from += block) {
                const std::size_t to = std::min(from + block, start[slab + 1]);
                Amount* table = cells.data();
                for (const ColumnSet& set : sets) {
                    const std::size_t n_cells = count_cells(set, sizes_);
                    const std::size_t n_slabs = is_sorted ? static_cast<std::size_t>(sizes_[place_of(set, 0)]) : 1;
                    // The column that rows are sorted by has one code in a slab.
                    add_block(own, set, is_sorted ? 1 : 0, from, to,
                              table + channel * n_cells + slab * (n_cells / n_slabs));
                    table += n_cells * channels_.size();
                }
            }
        }
    }
}

// Adds some rows to the cells of one slab, by their codes on the columns of a set from this one on.
template <class Code>
void SortedRows<Code>::add_block(const Channel& own, const ColumnSet& set, std::size_t first, std::size_t from,
                                 std::size_t to, Amount* slab) const {
    const Amount* amounts = own.amounts.data();
    const auto codes = [&](std::size_t column) { return own.codes[place_of(set, column)].data(); };
    switch (static_cast<std::size_t>(count_columns(set)) - first) {
    case 0:
        for (std::size_t i = from; i < to; ++i) {
            *slab += amounts[i];
        }
        break;
    case 1: {
        const Code* last = codes(first);
        for (std::size_t i = from; i < to; ++i) {
            slab[last[i]] += amounts[i];
        }
        break;
    }
    default: {
        const Code* upper = codes(first);
        const Code* last = codes(first + 1);
        const auto size = static_cast<std::uint32_t>(sizes_[place_of(set, first + 1)]);
        for (std::size_t i = from; i < to; ++i) {
            slab[std::uint32_t{upper[i]} * size + last[i]] += amounts[i];
        }
    }
    }
}

template <class Code>
void add_cells(std::span<const Code> codes, std::size_t n_rows, std::span<const std::int32_t> sizes,
               std::span<const Amount> amounts, std::size_t n_channels, std::span<const ColumnSet> sets,
               std::span<Amount> cells) {
    SortedRows<Code> rows(sizes.size(), sizes);
    for (std::size_t channel = 0; channel < n_channels; ++channel) {
        rows.open_channel(n_rows);
        for (std::size_t i = 0; i < n_rows; ++i) {
            rows.put(amounts[i * n_channels + channel], [&](std::size_t c) { return codes[c * n_rows + i]; });
        }
    }
    for (std::int32_t column = 0; column < static_cast<std::int32_t>(sizes.size()); ++column) {
        bool is_sorted = false;
        std::size_t start = 0;
        for (std::size_t first = 0, end = 0; first < sets.size(); first = end) {
            std::size_t size = 0;
            for (; end < sets.size() && sets[end][0] == sets[first][0]; ++end) {
                size += count_cells(sets[end], sizes) * n_channels;
            }
            if (sets[first][0] == column) {
                if (!std::exchange(is_sorted, true)) {
                    rows.sort_by(column);
                }
                rows.add_to(sets.subspan(first, end - first), cells.subspan(start, size));
            }
            start += size;
        }
    }
}

template class SortedRows<std::uint8_t>;
template class SortedRows<std::uint16_t>;
template void add_cells(std::span<const std::uint8_t>, std::size_t, std::span<const std::int32_t>,
                        std::span<const Amount>, std::size_t, std::span<const ColumnSet>, std::span<Amount>);
template void add_cells(std::span<const std::uint16_t>, std::size_t, std::span<const std::int32_t>,
                        std::span<const Amount>, std::size_t, std::span<const ColumnSet>, std::span<Amount>);

}  // namespace certree::sums
