// The plain twins: what each kernel means, in the shortest loops that say it.
#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/kernels.hpp"

namespace certree {

namespace {

// Wide vectors are passed between functions of this file alone, so nobody else needs to agree on how.
#pragma GCC diagnostic ignored "-Wpsabi"
#include "kernels/kernels_loops.hpp"

void quadrants(std::int32_t* slab, const std::int32_t* line, const std::int32_t* first, const std::int32_t* second,
               const std::int32_t* rest_of_first, std::int32_t n, const QuadrantExtremes& extremes, std::size_t j) {
    const auto widen = [&](int quadrant, std::int32_t value) {
        extremes.high[quadrant][j] = std::max(extremes.high[quadrant][j], value);
        extremes.low[quadrant][j] = std::min(extremes.low[quadrant][j], value);
    };
    for (std::int32_t t = 0; t < n; ++t) {
        const std::int32_t both = slab != nullptr ? slab[t] += line[t] : line[t];
        const std::int32_t second_only = second[t] - both;
        widen(0, both);
        widen(1, first[t] - both);
        widen(2, second_only);
        widen(3, rest_of_first[t] - second_only);
    }
}

void widen_side(Extremes& extremes, int side, std::int32_t value) {
    extremes.high[side] = std::max(extremes.high[side], value);
    extremes.low[side] = std::min(extremes.low[side], value);
}

void halves(const std::int32_t* line, const std::int32_t* total, std::int32_t n, Extremes& extremes) {
    for (std::int32_t t = 0; t < n; ++t) {
        widen_side(extremes, 0, line[t]);
        widen_side(extremes, 1, total[t] - line[t]);
    }
}

void difference(const std::int32_t* upper, const std::int32_t* lower, std::int32_t n, Extremes& extremes) {
    for (std::int32_t t = 0; t < n; ++t) {
        widen_side(extremes, 0, upper[t] - lower[t]);
    }
}

template <class Amount>
void add_rows(std::int32_t* line, const Amount* lines, std::int32_t width, const std::int32_t* rows, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        const Amount* row = lines + static_cast<std::size_t>(rows[k]) * static_cast<std::size_t>(width);
        for (std::int32_t t = 0; t < width; ++t) {
            line[t] += row[t];
        }
    }
}

std::size_t common_bits(const std::uint64_t* one, const std::uint64_t* two, std::size_t n_words,
                        std::int32_t* numbers) {
    std::size_t n = 0;
    for (std::size_t w = 0; w < n_words; ++w) {
        for (std::uint64_t word = one[w] & two[w]; word != 0; word &= word - 1) {
            numbers[n++] = static_cast<std::int32_t>(64 * w) + std::countr_zero(word);
        }
    }
    return n;
}

void add_steps(std::int32_t* line, std::int32_t n_tests, const std::int32_t* codes, const std::int32_t* amounts,
               const std::int32_t* rows, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        for (std::int32_t t = codes[rows[k]]; t < n_tests; ++t) {
            line[t] += amounts[rows[k]];
        }
    }
}

template <int sign>
void add_costs(std::int32_t* cells, const std::int32_t* places, std::int32_t n_places, const std::int32_t* costs,
               std::int32_t width) {
    for (std::int32_t c = 0; c < n_places; ++c) {
        std::int32_t* cell = cells + std::ptrdiff_t{places[c]} * width;
        for (std::int32_t k = 0; k < width; ++k) {
            cell[k] += sign * costs[k];
        }
    }
}

void least_costs(const std::int32_t* cells, const std::int32_t* all, std::int32_t n, std::int32_t width,
                 bool is_running, const std::int32_t* left, const std::int32_t* right, std::int32_t* least) {
    for (std::int32_t g = 0; g < n; ++g) {
        std::fill_n(least + 4 * g, 4, std::numeric_limits<std::int32_t>::max());
    }
    for (std::int32_t k = 0; k < width; ++k) {
        std::int32_t x = 0;
        for (std::int32_t g = 0; g < n; ++g) {
            x = (is_running ? x : 0) + cells[g * width + k];
            const std::int32_t y = all[g * width + k];
            const std::int32_t here[4] = {x, left[k] - x, y - x, right[k] - (y - x)};
            for (int part = 0; part < 4; ++part) {
                least[4 * g + part] = std::min(least[4 * g + part], here[part]);
            }
        }
    }
}

void cut_rows(const std::int32_t* costs, std::int32_t width, const std::int32_t* rows, std::int32_t n,
              const std::int32_t* codes, std::int32_t* run, const std::int32_t* whole, std::int32_t& best,
              std::int32_t& at) {
    for (std::int32_t i = 0; i + 1 < n; ++i) {
        const std::int32_t* row = costs + std::ptrdiff_t{rows[i]} * width;
        std::int32_t before = std::numeric_limits<std::int32_t>::max();
        std::int32_t after = before;
        for (std::int32_t k = 0; k < width; ++k) {
            run[k] += row[k];
            before = std::min(before, run[k]);
            after = std::min(after, whole[k] - run[k]);
        }
        if (codes[rows[i]] != codes[rows[i + 1]] && before + after < best) {
            best = before + after;
            at = codes[rows[i]];
        }
    }
}

}  // namespace

const Kernels& plain_kernels() {
    static const Kernels kernels{.quadrants = quadrants,
                                 .halves = halves,
                                 .difference = difference,
                                 .add_rows = add_rows<std::int32_t>,
                                 .add_short_rows = add_rows<std::int16_t>,
                                 .common_bits = common_bits,
                                 .triples = triples<std::int32_t>,
                                 .short_triples = triples<std::int16_t>,
                                 .add_steps = add_steps,
                                 .meet = meet,
                                 .own_before = own_before,
                                 .own_after = own_after,
                                 .walk = walk,
                                 .sides = sides<std::int32_t>,
                                 .short_sides = sides<std::int16_t>,
                                 .coarse = coarse,
                                 .add_costs = add_costs<1>,
                                 .take_costs = add_costs<-1>,
                                 .least_costs = least_costs,
                                 .least_sums = least_sums,
                                 .cut_rows = cut_rows,
                                 .part_sums = part_sums,
                                 .weigh_signed = weigh_signed,
                                 .weigh_label = weigh_label,
                                 .forbid_small = forbid_small,
                                 .keep_best = keep_best};
    return kernels;
}

const Kernels& choose_kernels(bool is_simd_allowed) {
    const Kernels* fast = is_simd_allowed ? avx2_kernels() : nullptr;
    return fast != nullptr ? *fast : plain_kernels();
}

}  // namespace certree
