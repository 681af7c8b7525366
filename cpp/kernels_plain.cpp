// The plain twins: what each kernel means, in the shortest loops that say it.
#include "kernels.hpp"

#include <algorithm>

namespace certree {

namespace {

void widen(Extremes& extremes, int quadrant, std::int32_t value) {
    extremes.high[quadrant] = std::max(extremes.high[quadrant], value);
    extremes.low[quadrant] = std::min(extremes.low[quadrant], value);
}

void quadrants(std::int32_t* slab, const std::int32_t* line, bool is_sum, const std::int32_t* first, const std::int32_t* second,
               const std::int32_t* rest_of_first, std::int32_t n, Extremes& extremes) {
    for (std::int32_t t = 0; t < n; ++t) {
        const std::int32_t both = is_sum ? slab[t] + line[t] : line[t];
        if (is_sum) {
            slab[t] = both;
        }
        const std::int32_t second_only = second[t] - both;
        widen(extremes, 0, both);
        widen(extremes, 1, first[t] - both);
        widen(extremes, 2, second_only);
        widen(extremes, 3, rest_of_first[t] - second_only);
    }
}

void halves(const std::int32_t* line, const std::int32_t* total, std::int32_t n, Extremes& extremes) {
    for (std::int32_t t = 0; t < n; ++t) {
        widen(extremes, 0, line[t]);
        widen(extremes, 1, total[t] - line[t]);
    }
}

void difference(const std::int32_t* upper, const std::int32_t* lower, std::int32_t n, Extremes& extremes) {
    for (std::int32_t t = 0; t < n; ++t) {
        widen(extremes, 0, upper[t] - lower[t]);
    }
}

void add(std::int32_t* line, const std::int32_t* row, std::int32_t n) {
    for (std::int32_t t = 0; t < n; ++t) {
        line[t] += row[t];
    }
}

void step(std::int32_t* line, std::int32_t n, std::int32_t amount) {
    for (std::int32_t t = 0; t < n; ++t) {
        line[t] += amount;
    }
}

} // namespace

const Kernels& plain_kernels() {
    static const Kernels kernels{quadrants, halves, difference, add, step};
    return kernels;
}

const Kernels& choose_kernels(bool is_simd_allowed) {
    const Kernels* fast = is_simd_allowed ? avx2_kernels() : nullptr;
    return fast != nullptr ? *fast : plain_kernels();
}

} // namespace certree
