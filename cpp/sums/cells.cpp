#include "sums/cells.hpp"

#include <algorithm>
#include <utility>

namespace certree::sums {

namespace {

// So many rows at a time are added to one set after the other: they and a slab of cells stay in near caches.
constexpr std::size_t block = 4096;

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
        own.codes[first] = {};
    }
}

template <class Code>
void SortedRows<Code>::add_to(std::span<const ColumnSet> sets, std::span<Amount> cells) const {
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
        const Channel& own = channels_[channel];
        for (std::size_t code = 0; code + 1 < own.start.size(); ++code) {
            for (std::size_t from = own.start[code]; from < own.start[code + 1]; from += block) {
                const std::size_t to = std::min(from + block, own.start[code + 1]);
                const Amount* amounts = own.amounts.data();
                Amount* table = cells.data();
                for (const ColumnSet& set : sets) {
                    const std::size_t n_cells = count_cells(set, sizes_);
                    const std::size_t slab_size =
                        n_cells / static_cast<std::size_t>(sizes_[static_cast<std::size_t>(set[0])]);
                    Amount* slab = table + channel * n_cells + code * slab_size;
                    if (count_columns(set) == 1) {
                        for (std::size_t i = from; i < to; ++i) {
                            *slab += amounts[i];
                        }
                    } else if (count_columns(set) == 2) {
                        const Code* second = own.codes[static_cast<std::size_t>(set[1])].data();
                        for (std::size_t i = from; i < to; ++i) {
                            slab[second[i]] += amounts[i];
                        }
                    } else {
                        const Code* second = own.codes[static_cast<std::size_t>(set[1])].data();
                        const Code* third = own.codes[static_cast<std::size_t>(set[2])].data();
                        const auto size = static_cast<std::uint32_t>(sizes_[static_cast<std::size_t>(set[2])]);
                        for (std::size_t i = from; i < to; ++i) {
                            slab[std::uint32_t{second[i]} * size + third[i]] += amounts[i];
                        }
                    }
                    table += n_cells * channels_.size();
                }
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
