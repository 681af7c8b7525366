#include "sums/stumps.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace certree::sums {

namespace {

// Tests are thresholds: each has one code more than the one before.
bool are_steps(const ColumnTests& tests) {
    for (std::int32_t t = 0; t < tests.n_tests; ++t) {
        const auto at = static_cast<std::size_t>(t);
        if (tests.base[at] != t - 1 || tests.start[at + 1] != t + 1 || tests.added[at] != t) {
            return false;
        }
    }
    return true;
}

// From codes to tests along one dimension: `outer` blocks of n_codes × inner amounts become blocks of
// (n_tests + 1) × inner.
void sum_tests(const std::vector<Amount>& cells, std::size_t outer, std::size_t n_codes, std::size_t inner,
               const ColumnTests& tests, std::vector<Amount>& sums) {
    const auto n_tests = static_cast<std::size_t>(tests.n_tests);
    sums.resize(outer * (n_tests + 1) * inner);
    const auto add = [inner](Amount* to, const Amount* from) {
        for (std::size_t i = 0; i < inner; ++i) {
            to[i] += from[i];
        }
    };
    const bool has_steps = are_steps(tests);
    for (std::size_t block = 0; block < outer; ++block) {
        const Amount* from = cells.data() + block * n_codes * inner;
        Amount* to = sums.data() + block * (n_tests + 1) * inner;
        if (has_steps && inner == 1) {
            Amount sum = 0;
            for (std::size_t t = 0; t < n_tests; ++t) {
                to[t] = sum += from[t];
            }
            to[n_tests] = std::accumulate(from + n_tests, from + n_codes, sum);
            continue;
        }
        for (std::size_t t = 0; t < n_tests; ++t) {
            if (tests.base[t] >= 0) {
                std::copy_n(to + static_cast<std::size_t>(tests.base[t]) * inner, inner, to + t * inner);
            } else {
                std::fill_n(to + t * inner, inner, Amount{0});
            }
            for (std::int32_t place = tests.start[t]; place < tests.start[t + 1]; ++place) {
                const auto code = static_cast<std::size_t>(tests.added[static_cast<std::size_t>(place)]);
                add(to + t * inner, from + code * inner);
            }
        }
        std::fill_n(to + n_tests * inner, inner, Amount{0});
        for (std::size_t code = 0; code < n_codes; ++code) {
            add(to + n_tests * inner, from + code * inner);
        }
    }
}

// The cells of a set spread over some columns, of which some may be the same: a row then lies on their diagonal.
template <std::size_t n_columns>
void spread(const Amount* cells, const ColumnSet& set, const std::array<std::int32_t, n_columns>& columns,
            std::span<const std::int32_t> sizes, std::size_t n_channels, std::vector<Amount>& wide) {
    const auto size = [&](std::int32_t column) {
        return static_cast<std::size_t>(sizes[static_cast<std::size_t>(column)]);
    };
    const std::size_t n_cells = count_cells(set, sizes);
    if (static_cast<std::size_t>(count_columns(set)) == n_columns) {
        wide.assign(cells, cells + n_cells * n_channels);
        return;
    }
    std::size_t n_wide = 1;
    for (const std::int32_t column : columns) {
        n_wide *= size(column);
    }
    wide.assign(n_channels * n_wide, 0);
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
        std::array<std::size_t, 2> code{cell, 0};
        if (count_columns(set) == 2) {
            code = {cell / size(set[1]), cell % size(set[1])};
        }
        std::size_t place = 0;
        for (const std::int32_t column : columns) {
            place = place * size(column) + code[column == set[0] ? 0 : 1];
        }
        for (std::size_t channel = 0; channel < n_channels; ++channel) {
            wide[channel * n_wide + place] = cells[channel * n_cells + cell];
        }
    }
}

// Sums over the rows that satisfy one test of each column, channel by channel. Behind a column's tests stands one that
// always holds. `sums` has the cells, and then these; `scratch` is written over.
template <std::size_t n_columns>
void sum_all_tests(const std::array<std::int32_t, n_columns>& columns, std::span<const std::int32_t> sizes,
                   std::span<const ColumnTests> tests, std::size_t n_channels, std::vector<Amount>& sums,
                   std::vector<Amount>& scratch) {
    std::size_t inner = 1;
    for (const std::int32_t column : columns) {
        inner *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(column)]);
    }
    std::size_t outer = n_channels;
    for (const std::int32_t column : columns) {
        const ColumnTests& own = tests[static_cast<std::size_t>(column)];
        const auto n_codes = static_cast<std::size_t>(sizes[static_cast<std::size_t>(column)]);
        inner /= n_codes;
        sum_tests(sums, outer, n_codes, inner, own, scratch);
        std::swap(sums, scratch);
        outer *= static_cast<std::size_t>(own.n_tests) + 1;
    }
}

// Sums in the four quadrants of two tests, from those where both, one and none of them must hold.
std::array<Amount, 4> part(Amount both, Amount first, Amount second, Amount all) {
    return {both, first - both, second - both, (all - first) - (second - both)};
}

}  // namespace

Amount LeafRule::gain(const Amount* sums) const {
    for (std::size_t i = 0; i < least.size(); ++i) {
        if (sums[n_labels + i] < least[i]) {
            return nothing;
        }
    }
    return n_labels == 1 ? std::abs(sums[0]) : *std::max_element(sums, sums + n_labels);
}

std::vector<Amount> find_leaf_gains(std::span<const Amount> cells, std::span<const ColumnSet> sets,
                                    std::span<const std::int32_t> sizes, std::span<const ColumnTests> tests,
                                    const LeafRule& rule) {
    const std::size_t n_channels = rule.n_channels();
    std::vector<Amount> gains;
    std::vector<Amount> sums(4 * n_channels);
    std::vector<Amount> x;
    std::vector<Amount> scratch;
    const Amount* table = cells.data();
    for (const ColumnSet& set : sets) {
        const std::array<std::int32_t, 2> columns{set[0], count_columns(set) == 1 ? set[0] : set[1]};
        spread(table, set, columns, sizes, n_channels, x);
        sum_all_tests(columns, sizes, tests, n_channels, x, scratch);
        const auto n_first = static_cast<std::size_t>(tests[static_cast<std::size_t>(columns[0])].n_tests);
        const auto n_second = static_cast<std::size_t>(tests[static_cast<std::size_t>(columns[1])].n_tests);
        const std::size_t start = gains.size();
        gains.resize(start + 4 * n_first * n_second);
        for (std::size_t s = 0; s < n_first; ++s) {
            for (std::size_t t = 0; t < n_second; ++t) {
                for (std::size_t c = 0; c < n_channels; ++c) {
                    const Amount* plane = x.data() + c * (n_first + 1) * (n_second + 1);
                    const auto at = [&](std::size_t first, std::size_t second) {
                        return plane[first * (n_second + 1) + second];
                    };
                    const std::array<Amount, 4> in =
                        part(at(s, t), at(s, n_second), at(n_first, t), at(n_first, n_second));
                    for (std::size_t q = 0; q < 4; ++q) {
                        sums[q * n_channels + c] = in[q];
                    }
                }
                for (std::size_t q = 0; q < 4; ++q) {
                    gains[start + (4 * s + q) * n_second + t] = rule.gain(sums.data() + q * n_channels);
                }
            }
        }
        table += count_cells(set, sizes) * n_channels;
    }
    return gains;
}

// Of three columns, the last one's tests side by side.
struct BestStumps::TestSums {
    std::array<std::size_t, 3> n_tests{};
    std::array<std::size_t, 3> stride{};
    std::size_t plane = 0;  // of one channel
    const Amount* sums = nullptr;

    TestSums(const std::array<std::size_t, 3>& n, const std::vector<Amount>& all)
        : n_tests(n), stride{(n[1] + 1) * (n[2] + 1), n[2] + 1, 1}, plane((n[0] + 1) * stride[0]), sums(all.data()) {}

    // The last two columns change places.
    TestSums turned(std::size_t n_channels, std::vector<Amount>& memory) const {
        memory.resize(n_channels * plane);
        const TestSums other({n_tests[0], n_tests[2], n_tests[1]}, memory);
        for (std::size_t block = 0; block < n_channels * (n_tests[0] + 1); ++block) {
            const Amount* from = sums + block * stride[0];
            Amount* to = memory.data() + block * stride[0];
            for (std::size_t i = 0; i <= n_tests[1]; ++i) {
                for (std::size_t j = 0; j <= n_tests[2]; ++j) {
                    to[j * other.stride[1] + i] = from[i * stride[1] + j];
                }
            }
        }
        return other;
    }
};

BestStumps::BestStumps(std::span<const ColumnTests> tests, std::span<const std::int32_t> sizes, const LeafRule& rule,
                       std::span<const ColumnPair> pairs, const Kernels& kernels)
    : tests_(tests), sizes_(sizes), rule_(rule), kernels_(kernels), place_(tests.size() * tests.size(), 0) {
    std::size_t n_entries = 0;
    std::size_t most_tests = 0;
    for (const auto& [first, second] : pairs) {
        const auto n_second = static_cast<std::size_t>(tests[static_cast<std::size_t>(second)].n_tests);
        place_[static_cast<std::size_t>(first) * tests.size() + static_cast<std::size_t>(second)] = n_entries;
        n_entries += 4 * static_cast<std::size_t>(tests[static_cast<std::size_t>(first)].n_tests) * n_second;
        most_tests = std::max(most_tests, n_second);
    }
    gain_.assign(n_entries, nothing);
    test_.assign(n_entries, -1);
    whole_.resize(4 * most_tests * rule.n_channels());
    left_.resize(4 * most_tests);
    right_.resize(4 * most_tests);
}

// Offers every stump on column k below every pair of tests of column a and of the last column.
void BestStumps::offer(const TestSums& x, std::size_t a, std::size_t k, std::int32_t first_test, std::size_t place) {
    const std::size_t n = x.n_tests[2];
    const auto sums_at = [&](std::size_t channel, std::size_t s, std::size_t u) {
        const Amount* plane = x.sums + channel * x.plane + u * x.stride[k];
        const Amount* one = plane + s * x.stride[a];
        const Amount* all = plane + x.n_tests[a] * x.stride[a];
        return QuadrantSums{one, all, one[n], all[n]};
    };
    for (std::size_t s = 0; s < x.n_tests[a]; ++s, place += 4 * n) {
        for (std::size_t c = 0; c < rule_.n_channels(); ++c) {
            kernels_.part_sums(n, sums_at(c, s, x.n_tests[k]), whole_.data() + 4 * n * c);
        }
        for (std::size_t u = 0; u < x.n_tests[k]; ++u) {
            const std::int64_t number = first_test + static_cast<std::int32_t>(u);
            if (rule_.n_labels == 1) {
                kernels_.weigh_signed(n, sums_at(0, s, u), whole_.data(), left_.data(), right_.data());
            } else {
                std::fill(left_.begin(), left_.end(), -unreachable);
                std::fill(right_.begin(), right_.end(), -unreachable);
                for (std::size_t c = 0; c < rule_.n_labels; ++c) {
                    kernels_.weigh_label(n, sums_at(c, s, u), whole_.data() + 4 * n * c, left_.data(), right_.data());
                }
            }
            for (std::size_t i = 0; i < rule_.least.size(); ++i) {
                const std::size_t c = rule_.n_labels + i;
                kernels_.forbid_small(n, sums_at(c, s, u), whole_.data() + 4 * n * c, rule_.least[i], left_.data(),
                                      right_.data());
            }
            kernels_.keep_best(4 * n, left_.data(), right_.data(), number, gain_.data() + place, test_.data() + place);
        }
    }
}

void BestStumps::add_spread(const ColumnSet& set, const ColumnSet& columns, const Amount* cells) {
    const std::size_t n_channels = rule_.n_channels();
    spread(cells, set, columns, sizes_, n_channels, sums_);
    sum_all_tests(columns, sizes_, tests_, n_channels, sums_, scratch_);
    const auto n_tests = [&](std::size_t i) {
        return static_cast<std::size_t>(tests_[static_cast<std::size_t>(columns[i])].n_tests);
    };
    const TestSums x({n_tests(0), n_tests(1), n_tests(2)}, sums_);
    const auto first_test = [&](std::size_t i) { return tests_[static_cast<std::size_t>(columns[i])].first; };
    offer(x.turned(n_channels, scratch_), 0, 1, first_test(2), place(columns[0], columns[1]));
    // Columns in ascending order: where neighbours are the same, so are their roles.
    if (columns[1] != columns[2]) {
        offer(x, 0, 1, first_test(1), place(columns[0], columns[2]));
    }
    if (columns[0] != columns[1]) {
        offer(x, 1, 0, first_test(0), place(columns[1], columns[2]));
    }
}

void BestStumps::add(const ColumnSet& set, const Amount* cells) {
    switch (count_columns(set)) {
    case 1: add_spread(set, {set[0], set[0], set[0]}, cells); break;
    case 2:
        add_spread(set, {set[0], set[0], set[1]}, cells);
        add_spread(set, {set[0], set[1], set[1]}, cells);
        break;
    default: add_spread(set, set, cells);
    }
}

void BestStumps::merge(const BestStumps& other) {
    for (std::size_t i = 0; i < gain_.size(); ++i) {
        // Of equally good tests the first, whatever order sets come in.
        if (other.gain_[i] > gain_[i] || (other.gain_[i] == gain_[i] && other.test_[i] < test_[i])) {
            gain_[i] = other.gain_[i];
            test_[i] = other.test_[i];
        }
    }
}

}  // namespace certree::sums
