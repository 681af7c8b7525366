// The inner loops of the closed forms, chosen once at run time. Every vector kernel has a plain twin; cpp/test_kernels.cpp
// compares the two bit for bit.
//
// A "line" is one 32-bit signed sum a test, tests numbered through all axes, padded with zeros to a multiple of `lanes`.
// A zero is neutral everywhere: it stands for a test that holds on no row.
#pragma once

#include <cstdint>

namespace certree {

// The largest and smallest sums seen, by quadrant of two tests (first test holds / not, second holds / not).
struct Extremes {
    std::int32_t high[4] = {0, 0, 0, 0};
    std::int32_t low[4] = {0, 0, 0, 0};
};

struct Kernels {
    static constexpr std::int32_t lanes = 8;

    // slab += line (or slab = line where there is nothing to add to); then over all tests t, x = slab[t]:
    // extremes of x, first[t] − x, second[t] − x, neither[t] + x, into `extremes`, which keeps what it had.
    void (*quadrants)(std::int32_t* slab, const std::int32_t* line, bool is_sum, const std::int32_t* first, const std::int32_t* second,
                      const std::int32_t* rest_of_first, std::int32_t n, Extremes& extremes);

    // Extremes of line[t] (left) and total[t] − line[t] (right): high[0], low[0], high[1], low[1].
    void (*halves)(const std::int32_t* line, const std::int32_t* total, std::int32_t n, Extremes& extremes);

    // Extremes of upper[t] − lower[t]: high[0], low[0].
    void (*difference)(const std::int32_t* upper, const std::int32_t* lower, std::int32_t n, Extremes& extremes);

    // line[t] += row[t].
    void (*add)(std::int32_t* line, const std::int32_t* row, std::int32_t n);

    // line[t] += amount for exactly n tests, any n: a row enters every test from its own code on.
    void (*step)(std::int32_t* line, std::int32_t n, std::int32_t amount);
};

const Kernels& plain_kernels();
const Kernels* avx2_kernels();  // null where this processor or build has none
const Kernels& choose_kernels(bool is_simd_allowed);

} // namespace certree
