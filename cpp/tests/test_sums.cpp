// Sums over cells, and what leaves and stumps gain in quadrants of two tests, against the rows themselves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sums/places.hpp"
#include "sums/stumps.hpp"
#include "tests/test.hpp"

namespace certree::test {

namespace {

using namespace certree::sums;

struct Rows {
    std::size_t n_rows = 0;
    std::vector<std::int32_t> sizes;
    std::vector<std::uint16_t> codes;
    std::vector<Amount> amounts;
    std::vector<ColumnTests> tests;
    std::vector<std::vector<std::vector<bool>>> holds;  // by column, test and code
    LeafRule rule;

    bool is_in(std::size_t column, std::size_t test, std::size_t row) const {
        return holds[column][test][codes[column * n_rows + row]];
    }
    Amount gain(const std::vector<bool>& is_member) const {
        const std::size_t n_channels = rule.n_channels();
        std::vector<Amount> sums(n_channels, 0);
        for (std::size_t row = 0; row < n_rows; ++row) {
            for (std::size_t c = 0; is_member[row] && c < n_channels; ++c) {
                sums[c] += amounts[row * n_channels + c];
            }
        }
        for (std::size_t i = 0; i < rule.least.size(); ++i) {
            if (sums[rule.n_labels + i] < rule.least[i]) {
                return nothing;
            }
        }
        return rule.n_labels == 1 ? std::abs(sums[0])
                                  : *std::max_element(sums.begin(), sums.begin() + static_cast<long>(rule.n_labels));
    }
};

Rows draw_rows(std::mt19937& random) {
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    Rows rows;
    rows.n_rows = static_cast<std::size_t>(draw(0, 30));
    rows.rule.n_labels = static_cast<std::size_t>(draw(1, 3));
    for (int i = draw(0, 2); i > 0; --i) {
        rows.rule.least.push_back(draw(1, 6));
    }
    std::int32_t first = 0;
    for (int c = 0; c < 4; ++c) {
        rows.sizes.push_back(draw(1, 4));
        ColumnTests own{first, draw(0, 4), {}, {0}, {}};
        rows.holds.emplace_back();
        for (int t = 0; t < own.n_tests; ++t) {
            // Either some more codes than the test before, or any.
            const bool grows = t > 0 && draw(0, 1) == 1;
            std::vector<bool> holds(static_cast<std::size_t>(rows.sizes.back()), false);
            if (grows) {
                holds = rows.holds.back().back();
            }
            for (std::size_t code = 0; code < holds.size(); ++code) {
                if (!holds[code] && draw(0, 1) == 1) {
                    holds[code] = true;
                    own.added.push_back(static_cast<std::int32_t>(code));
                }
            }
            own.base.push_back(grows ? t - 1 : -1);
            own.start.push_back(static_cast<std::int32_t>(own.added.size()));
            rows.holds.back().push_back(holds);
        }
        first += own.n_tests;
        rows.tests.push_back(own);
        for (std::size_t row = 0; row < rows.n_rows; ++row) {
            rows.codes.push_back(static_cast<std::uint16_t>(draw(0, rows.sizes.back() - 1)));
        }
    }
    for (std::size_t i = 0; i < rows.n_rows * rows.rule.n_channels(); ++i) {
        const bool is_label = i % rows.rule.n_channels() < rows.rule.n_labels;
        rows.amounts.push_back(is_label ? draw(-9, 9) : draw(0, 2));
    }
    return rows;
}

}  // namespace

TEST(sums_are_what_rows_add_up_to) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 60; ++trial) {
        const Rows rows = draw_rows(random);
        std::vector<ColumnSet> few;
        std::vector<ColumnSet> sets;
        std::vector<ColumnPair> pairs;
        for (std::int32_t a = 0; a < 4; ++a) {
            few.push_back({a, -1, -1});
            for (std::int32_t b = a; b < 4; ++b) {
                pairs.push_back({a, b});
                for (std::int32_t c = b + 1; b > a && c < 4; ++c) {
                    sets.push_back({a, b, c});
                }
                if (b > a) {
                    few.push_back({a, b, -1});
                }
            }
        }
        sets.insert(sets.end(), few.begin(), few.end());
        const auto sum = [&](const std::vector<ColumnSet>& own) {
            std::size_t size = 0;
            for (const ColumnSet& set : own) {
                size += count_cells(set, rows.sizes) * rows.rule.n_channels();
            }
            std::vector<Amount> cells(size, 0);
            add_cells<std::uint16_t>(rows.codes, rows.n_rows, rows.sizes, rows.amounts, rows.rule.n_channels(), own,
                                     cells);
            return cells;
        };
        // Whatever order sets come in, and whoever is told of them.
        BestStumps found(rows.tests, rows.sizes, rows.rule, pairs, choose_kernels(trial % 2 == 0));
        BestStumps others(rows.tests, rows.sizes, rows.rule, pairs, choose_kernels(true));
        std::vector<ColumnSet> mixed = sets;
        std::shuffle(mixed.begin(), mixed.end(), random);
        for (const ColumnSet& set : mixed) {
            (random() % 3 == 0 ? others : found).add(set, sum({set}).data());
        }
        found.merge(others);
        std::vector<Amount> apart;
        for (const ColumnSet& set : mixed) {
            const std::vector<Amount> own = sum({set});
            apart.insert(apart.end(), own.begin(), own.end());
        }
        CHECK(sum(mixed) == apart);
        const std::vector<Amount> leaves = find_leaf_gains(sum(few), few, rows.sizes, rows.tests, rows.rule);
        const auto count = [&](std::int32_t c) {
            return static_cast<std::size_t>(rows.tests[static_cast<std::size_t>(c)].n_tests);
        };
        std::size_t leaf_place = 0;
        for (const ColumnSet& set : few) {
            const auto a = static_cast<std::size_t>(set[0]);
            const auto b = static_cast<std::size_t>(set[1] < 0 ? set[0] : set[1]);
            const std::size_t n_second = count(static_cast<std::int32_t>(b));
            for (std::size_t s = 0; s < count(set[0]); ++s) {
                for (std::size_t t = 0; t < n_second; ++t) {
                    for (std::size_t q = 0; q < 4; ++q) {
                        const std::size_t offset = (4 * s + q) * n_second + t;
                        const std::size_t place = found.place(set[0], static_cast<std::int32_t>(b)) + offset;
                        std::vector<bool> member(rows.n_rows);
                        for (std::size_t row = 0; row < rows.n_rows; ++row) {
                            member[row] = rows.is_in(a, s, row) == (q < 2) && rows.is_in(b, t, row) == (q % 2 == 0);
                        }
                        CHECK(leaves[leaf_place + offset] == rows.gain(member));
                        Amount best = nothing;
                        std::int32_t best_test = -1;
                        for (std::size_t c = 0; c < 4; ++c) {
                            for (std::size_t u = 0; u < rows.holds[c].size(); ++u) {
                                std::vector<bool> left(rows.n_rows);
                                std::vector<bool> right(rows.n_rows);
                                for (std::size_t row = 0; row < rows.n_rows; ++row) {
                                    left[row] = member[row] && rows.is_in(c, u, row);
                                    right[row] = member[row] && !left[row];
                                }
                                const Amount one = rows.gain(left);
                                const Amount other = rows.gain(right);
                                if (one != nothing && other != nothing && one + other > best) {
                                    best = one + other;
                                    best_test = rows.tests[c].first + static_cast<std::int32_t>(u);
                                }
                            }
                        }
                        CHECK(found.gains()[place] == best);
                        CHECK(found.best_tests()[place] == best_test);
                    }
                }
            }
            leaf_place += 4 * count(set[0]) * n_second;
        }
    }
}

TEST(sums_places_among_ends) {
    std::mt19937_64 random(44);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    for (int n = 0; n < 200; ++n) {
        std::vector<double> values(static_cast<std::size_t>(pick(0, 60)));
        std::vector<Amount> amounts;
        for (double& value : values) {
            value = pick(0, 9) == 0 ? std::numeric_limits<double>::quiet_NaN() : pick(-8, 8) / 2.0;
            amounts.push_back(pick(0, 9));
        }
        std::vector<double> ends;
        for (double end = -5.0; end <= 5.0; end += 0.5) {
            if (pick(0, 9) < 4) {
                ends.push_back(end);
            }
        }
        const Places found = find_places(values, amounts, ends, true);
        const std::vector<std::uint16_t> codes = code_values(values, ends, 99);
        std::vector<Amount> mass(ends.size() + 1, 0);
        std::vector<Amount> equal(ends.size(), 0);
        std::vector<std::int64_t> rows;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (std::isnan(values[i])) {
                CHECK(codes[i] == 99);
                continue;
            }
            const auto place = static_cast<std::size_t>(
                std::count_if(ends.begin(), ends.end(), [&](double end) { return end < values[i]; }));
            CHECK(codes[i] == place);
            mass[place] += amounts[i];
            if (place < ends.size() && ends[place] == values[i]) {
                equal[place] += amounts[i];
            }
            if (place % 2 == 1) {
                rows.push_back(static_cast<std::int64_t>(i));
            }
        }
        CHECK(found.mass == mass);
        CHECK(found.equal == equal);
        CHECK(found.rows == rows);
        CHECK(found.places.size() == rows.size());
    }
}

}  // namespace certree::test
