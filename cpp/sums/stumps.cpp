#include "sums/stumps.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace certree::sums {

namespace {

// Sums over the rows that satisfy one test of each of three columns. Behind a column's tests stands one that always
// holds.
struct TestSums {
    std::array<std::size_t, 3> n_tests{};
    std::array<std::size_t, 3> stride{};  // in amounts
    std::vector<Amount> sums;

    const Amount* at(std::size_t a, std::size_t s, std::size_t b, std::size_t t) const {
        return sums.data() + s * stride[a] + t * stride[b];
    }
};

// From codes to tests along one dimension: `outer` blocks of n_codes × inner amounts become blocks of
// (n_tests + 1) × inner.
std::vector<Amount> sum_tests(const std::vector<Amount>& cells, std::size_t outer, std::size_t n_codes,
                              std::size_t inner, const ColumnTests& tests) {
    const auto n_tests = static_cast<std::size_t>(tests.n_tests);
    std::vector<Amount> sums(outer * (n_tests + 1) * inner, 0);
    const auto add = [inner](Amount* to, const Amount* from) {
        for (std::size_t i = 0; i < inner; ++i) {
            to[i] += from[i];
        }
    };
    for (std::size_t block = 0; block < outer; ++block) {
        const Amount* from = cells.data() + block * n_codes * inner;
        Amount* to = sums.data() + block * (n_tests + 1) * inner;
        for (std::size_t t = 0; t < n_tests; ++t) {
            if (tests.base[t] >= 0) {
                add(to + t * inner, to + static_cast<std::size_t>(tests.base[t]) * inner);
            }
            for (std::int32_t place = tests.start[t]; place < tests.start[t + 1]; ++place) {
                const auto code = static_cast<std::size_t>(tests.added[static_cast<std::size_t>(place)]);
                add(to + t * inner, from + code * inner);
            }
        }
        for (std::size_t code = 0; code < n_codes; ++code) {
            add(to + n_tests * inner, from + code * inner);
        }
    }
    return sums;
}

// The cells of a set spread over three columns, of which some may be the same: a row then lies on their diagonal.
std::vector<Amount> spread(const Amount* cells, const ColumnSet& set, const ColumnSet& columns,
                           std::span<const std::int32_t> sizes, std::size_t n_channels) {
    const auto size = [&](std::int32_t column) {
        return static_cast<std::size_t>(sizes[static_cast<std::size_t>(column)]);
    };
    const std::size_t n_cells = count_cells(set, sizes);
    if (count_columns(set) == 3) {
        return {cells, cells + n_cells * n_channels};
    }
    std::vector<Amount> wide(size(columns[0]) * size(columns[1]) * size(columns[2]) * n_channels, 0);
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
        std::array<std::size_t, 2> code{cell, 0};
        if (count_columns(set) == 2) {
            code = {cell / size(set[1]), cell % size(set[1])};
        }
        std::size_t place = 0;
        for (const std::int32_t column : columns) {
            place = place * size(column) + code[column == set[0] ? 0 : 1];
        }
        std::copy_n(cells + cell * n_channels, n_channels, wide.data() + place * n_channels);
    }
    return wide;
}

TestSums sum_tests(std::vector<Amount> cells, const ColumnSet& columns, std::span<const std::int32_t> sizes,
                   std::span<const ColumnTests> tests, std::size_t n_channels) {
    TestSums found;
    const auto own = [&](std::size_t i) -> const ColumnTests& { return tests[static_cast<std::size_t>(columns[i])]; };
    const auto n_codes = [&](std::size_t i) {
        return static_cast<std::size_t>(sizes[static_cast<std::size_t>(columns[i])]);
    };
    const auto n_with_all = [&](std::size_t i) { return static_cast<std::size_t>(own(i).n_tests) + 1; };
    cells = sum_tests(cells, 1, n_codes(0), n_codes(1) * n_codes(2) * n_channels, own(0));
    cells = sum_tests(cells, n_with_all(0), n_codes(1), n_codes(2) * n_channels, own(1));
    found.sums = sum_tests(cells, n_with_all(0) * n_with_all(1), n_codes(2), n_channels, own(2));
    found.stride = {n_with_all(1) * n_with_all(2) * n_channels, n_with_all(2) * n_channels, n_channels};
    for (std::size_t i = 0; i < 3; ++i) {
        found.n_tests[i] = static_cast<std::size_t>(own(i).n_tests);
    }
    return found;
}

// Sums in the four quadrants of two tests, from those where both, one and none of them must hold.
std::array<Amount, 4> part(Amount both, Amount first, Amount second, Amount all) {
    return {both, first - both, second - both, (all - first) - (second - both)};
}

// Offers every stump on column k below every pair of tests of columns a and b.
void offer_stumps(const TestSums& x, std::size_t a, std::size_t b, std::size_t k, std::int32_t first_test,
                  const LeafRule& rule, Amount* gain, std::int32_t* test) {
    const std::size_t n_channels = rule.n_channels();
    const std::size_t step = x.stride[k];
    const std::size_t all = x.n_tests[k] * step;
    const bool is_plain = n_channels == 1 && rule.n_labels == 1;
    std::vector<std::array<Amount, 4>> whole(n_channels);
    std::vector<Amount> left(4 * n_channels);
    std::vector<Amount> right(4 * n_channels);
    for (std::size_t s = 0; s < x.n_tests[a]; ++s) {
        for (std::size_t t = 0; t < x.n_tests[b]; ++t, gain += 4, test += 4) {
            const Amount* both = x.at(a, s, b, t);
            const Amount* first = x.at(a, s, b, x.n_tests[b]);
            const Amount* second = x.at(a, x.n_tests[a], b, t);
            const Amount* any = x.at(a, x.n_tests[a], b, x.n_tests[b]);
            for (std::size_t c = 0; c < n_channels; ++c) {
                whole[c] = part(both[all + c], first[all + c], second[all + c], any[all + c]);
            }
            for (std::size_t u = 0; u < x.n_tests[k]; ++u) {
                const std::size_t at = u * step;
                const std::int32_t number = first_test + static_cast<std::int32_t>(u);
                const auto offer = [&](std::size_t q, Amount offered) {
                    // Of equally good tests the first, whatever order sets come in.
                    if (offered > gain[q] || (offered == gain[q] && number < test[q])) {
                        gain[q] = offered;
                        test[q] = number;
                    }
                };
                if (is_plain) {
                    const std::array<Amount, 4> in = part(both[at], first[at], second[at], any[at]);
                    for (std::size_t q = 0; q < 4; ++q) {
                        offer(q, std::abs(in[q]) + std::abs(whole[0][q] - in[q]));
                    }
                    continue;
                }
                for (std::size_t c = 0; c < n_channels; ++c) {
                    const std::array<Amount, 4> in = part(both[at + c], first[at + c], second[at + c], any[at + c]);
                    for (std::size_t q = 0; q < 4; ++q) {
                        left[q * n_channels + c] = in[q];
                        right[q * n_channels + c] = whole[c][q] - in[q];
                    }
                }
                for (std::size_t q = 0; q < 4; ++q) {
                    const Amount one = rule.gain(left.data() + q * n_channels);
                    const Amount other = rule.gain(right.data() + q * n_channels);
                    if (one != nothing && other != nothing) {
                        offer(q, one + other);
                    }
                }
            }
        }
    }
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
    const Amount* table = cells.data();
    for (const ColumnSet& set : sets) {
        // The third place is taken by the second column again; what its tests say is not asked.
        const std::int32_t second = count_columns(set) == 1 ? set[0] : set[1];
        const ColumnSet columns{set[0], second, second};
        const TestSums x = sum_tests(spread(table, set, columns, sizes, n_channels), columns, sizes, tests, n_channels);
        const std::size_t all = x.n_tests[2] * x.stride[2];
        for (std::size_t s = 0; s < x.n_tests[0]; ++s) {
            for (std::size_t t = 0; t < x.n_tests[1]; ++t) {
                for (std::size_t c = 0; c < n_channels; ++c) {
                    const std::array<Amount, 4> in =
                        part(x.at(0, s, 1, t)[all + c], x.at(0, s, 1, x.n_tests[1])[all + c],
                             x.at(0, x.n_tests[0], 1, t)[all + c], x.at(0, x.n_tests[0], 1, x.n_tests[1])[all + c]);
                    for (std::size_t q = 0; q < 4; ++q) {
                        sums[q * n_channels + c] = in[q];
                    }
                }
                for (std::size_t q = 0; q < 4; ++q) {
                    gains.push_back(rule.gain(sums.data() + q * n_channels));
                }
            }
        }
        table += count_cells(set, sizes) * n_channels;
    }
    return gains;
}

BestStumps find_stumps(std::span<const Amount> cells, std::span<const ColumnSet> sets,
                       std::span<const std::int32_t> sizes, std::span<const ColumnTests> tests, const LeafRule& rule,
                       std::span<const ColumnPair> pairs) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> place;
    std::size_t n_entries = 0;
    for (const ColumnPair& pair : pairs) {
        place[{pair.first, pair.second}] = n_entries;
        n_entries += 4 * static_cast<std::size_t>(tests[static_cast<std::size_t>(pair.first)].n_tests) *
                     static_cast<std::size_t>(tests[static_cast<std::size_t>(pair.second)].n_tests);
    }
    BestStumps best;
    best.gain.assign(n_entries, nothing);
    best.test.assign(n_entries, -1);
    const Amount* table = cells.data();
    for (const ColumnSet& set : sets) {
        const auto offer = [&](const ColumnSet& columns) {
            const TestSums x = sum_tests(spread(table, set, columns, sizes, rule.n_channels()), columns, sizes, tests,
                                         rule.n_channels());
            const auto role = [&](std::size_t a, std::size_t b, std::size_t k) {
                const std::size_t at = place.at({columns[a], columns[b]});
                offer_stumps(x, a, b, k, tests[static_cast<std::size_t>(columns[k])].first, rule, best.gain.data() + at,
                             best.test.data() + at);
            };
            role(0, 1, 2);
            // Columns in ascending order: where neighbours are the same, so are their roles.
            if (columns[1] != columns[2]) {
                role(0, 2, 1);
            }
            if (columns[0] != columns[1]) {
                role(1, 2, 0);
            }
        };
        switch (count_columns(set)) {
        case 1: offer({set[0], set[0], set[0]}); break;
        case 2:
            offer({set[0], set[0], set[1]});
            offer({set[0], set[1], set[1]});
            break;
        default: offer(set);
        }
        table += count_cells(set, sizes) * rule.n_channels();
    }
    return best;
}

}  // namespace certree::sums
