// The kernels for x86-64 with AVX2: eight tests at a time, extremes in registers. Compiled with the instructions this
// file needs and called only where the processor has them.
#include "kernels/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <algorithm>
#include <limits>

namespace certree {

namespace {

#include "kernels/kernels_loops.hpp"

using Vector = __m256i;

inline Vector load(const std::int32_t* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
inline void store(std::int32_t* at, Vector value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value);
}

inline std::int32_t largest(Vector v) {
    __m128i x = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0b01001110));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0b10110001));
    return _mm_cvtsi128_si32(x);
}
inline std::int32_t smallest(Vector v) {
    __m128i x = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    x = _mm_min_epi32(x, _mm_shuffle_epi32(x, 0b01001110));
    x = _mm_min_epi32(x, _mm_shuffle_epi32(x, 0b10110001));
    return _mm_cvtsi128_si32(x);
}

// The extremes of four vectors at once: one result a lane.
template <class Merge>
inline __m128i reduce_four(Vector a, Vector b, Vector c, Vector d, Merge merge) {
    const Vector ab = merge(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const Vector cd = merge(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    const Vector abcd = merge(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
    return _mm256_castsi256_si128(merge(abcd, _mm256_permute2x128_si256(abcd, abcd, 1)));
}

template <bool is_sum>
inline void quadrants_of(std::int32_t* slab, const std::int32_t* line, const std::int32_t* first,
                         const std::int32_t* second, const std::int32_t* rest_of_first, std::int32_t n,
                         const QuadrantExtremes& extremes, std::size_t j) {
    Vector high0 = _mm256_set1_epi32(extremes.high[0][j]);
    Vector high1 = _mm256_set1_epi32(extremes.high[1][j]);
    Vector high2 = _mm256_set1_epi32(extremes.high[2][j]);
    Vector high3 = _mm256_set1_epi32(extremes.high[3][j]);
    Vector low0 = _mm256_set1_epi32(extremes.low[0][j]);
    Vector low1 = _mm256_set1_epi32(extremes.low[1][j]);
    Vector low2 = _mm256_set1_epi32(extremes.low[2][j]);
    Vector low3 = _mm256_set1_epi32(extremes.low[3][j]);
    for (std::int32_t t = 0; t < n; t += 8) {
        Vector both = load(line + t);
        if constexpr (is_sum) {
            both = _mm256_add_epi32(both, load(slab + t));
            store(slab + t, both);
        }
        const Vector first_only = _mm256_sub_epi32(load(first + t), both);
        const Vector second_only = _mm256_sub_epi32(load(second + t), both);
        const Vector neither = _mm256_sub_epi32(load(rest_of_first + t), second_only);
        high0 = _mm256_max_epi32(high0, both);
        low0 = _mm256_min_epi32(low0, both);
        high1 = _mm256_max_epi32(high1, first_only);
        low1 = _mm256_min_epi32(low1, first_only);
        high2 = _mm256_max_epi32(high2, second_only);
        low2 = _mm256_min_epi32(low2, second_only);
        high3 = _mm256_max_epi32(high3, neither);
        low3 = _mm256_min_epi32(low3, neither);
    }
    const __m128i high =
        reduce_four(high0, high1, high2, high3, [](Vector x, Vector y) { return _mm256_max_epi32(x, y); });
    const __m128i low = reduce_four(low0, low1, low2, low3, [](Vector x, Vector y) { return _mm256_min_epi32(x, y); });
    extremes.high[0][j] = _mm_cvtsi128_si32(high);
    extremes.high[1][j] = _mm_extract_epi32(high, 1);
    extremes.high[2][j] = _mm_extract_epi32(high, 2);
    extremes.high[3][j] = _mm_extract_epi32(high, 3);
    extremes.low[0][j] = _mm_cvtsi128_si32(low);
    extremes.low[1][j] = _mm_extract_epi32(low, 1);
    extremes.low[2][j] = _mm_extract_epi32(low, 2);
    extremes.low[3][j] = _mm_extract_epi32(low, 3);
}

void quadrants(std::int32_t* slab, const std::int32_t* line, const std::int32_t* first, const std::int32_t* second,
               const std::int32_t* rest_of_first, std::int32_t n, const QuadrantExtremes& extremes, std::size_t j) {
    if (slab != nullptr) {
        quadrants_of<true>(slab, line, first, second, rest_of_first, n, extremes, j);
    } else {
        quadrants_of<false>(slab, line, first, second, rest_of_first, n, extremes, j);
    }
}

void halves(const std::int32_t* line, const std::int32_t* total, std::int32_t n, Extremes& extremes) {
    Vector high0 = _mm256_set1_epi32(extremes.high[0]);
    Vector high1 = _mm256_set1_epi32(extremes.high[1]);
    Vector low0 = _mm256_set1_epi32(extremes.low[0]);
    Vector low1 = _mm256_set1_epi32(extremes.low[1]);
    for (std::int32_t t = 0; t < n; t += 8) {
        const Vector left = load(line + t);
        const Vector right = _mm256_sub_epi32(load(total + t), left);
        high0 = _mm256_max_epi32(high0, left);
        low0 = _mm256_min_epi32(low0, left);
        high1 = _mm256_max_epi32(high1, right);
        low1 = _mm256_min_epi32(low1, right);
    }
    extremes.high[0] = largest(high0);
    extremes.low[0] = smallest(low0);
    extremes.high[1] = largest(high1);
    extremes.low[1] = smallest(low1);
}

void difference(const std::int32_t* upper, const std::int32_t* lower, std::int32_t n, Extremes& extremes) {
    Vector high = _mm256_set1_epi32(extremes.high[0]);
    Vector low = _mm256_set1_epi32(extremes.low[0]);
    for (std::int32_t t = 0; t < n; t += 8) {
        const Vector between = _mm256_sub_epi32(load(upper + t), load(lower + t));
        high = _mm256_max_epi32(high, between);
        low = _mm256_min_epi32(low, between);
    }
    extremes.high[0] = largest(high);
    extremes.low[0] = smallest(low);
}

// A strip of the line stays in registers while all rows pass.
template <int n_vectors>
inline void add_rows_strip(std::int32_t* line, const std::int32_t* lines, std::size_t width, const std::int32_t* rows,
                           std::size_t n) {
    Vector sum[n_vectors];
    for (int v = 0; v < n_vectors; ++v) {
        sum[v] = load(line + 8 * v);
    }
    for (std::size_t k = 0; k < n; ++k) {
        const std::int32_t* row = lines + static_cast<std::size_t>(rows[k]) * width;
        for (int v = 0; v < n_vectors; ++v) {
            sum[v] = _mm256_add_epi32(sum[v], load(row + 8 * v));
        }
    }
    for (int v = 0; v < n_vectors; ++v) {
        store(line + 8 * v, sum[v]);
    }
}

void add_rows(std::int32_t* line, const std::int32_t* lines, std::int32_t width, const std::int32_t* rows,
              std::size_t n) {
    const auto stride = static_cast<std::size_t>(width);
    std::int32_t t = 0;
    for (; t + 64 <= width; t += 64) {
        add_rows_strip<8>(line + t, lines + t, stride, rows, n);
    }
    if (t + 32 <= width) {
        add_rows_strip<4>(line + t, lines + t, stride, rows, n);
        t += 32;
    }
    if (t + 16 <= width) {
        add_rows_strip<2>(line + t, lines + t, stride, rows, n);
        t += 16;
    }
    if (t < width) {
        add_rows_strip<1>(line + t, lines + t, stride, rows, n);
    }
}

template <int n_vectors>
inline void add_short_strip(std::int32_t* line, const std::int16_t* lines, std::size_t width, const std::int32_t* rows,
                            std::size_t n) {
    Vector sum[n_vectors];
    for (int v = 0; v < n_vectors; ++v) {
        sum[v] = _mm256_setzero_si256();
    }
    for (std::size_t k = 0; k < n; ++k) {
        const std::int16_t* row = lines + static_cast<std::size_t>(rows[k]) * width;
        for (int v = 0; v < n_vectors; ++v) {
            sum[v] = _mm256_add_epi16(sum[v], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 16 * v)));
        }
    }
    for (int v = 0; v < n_vectors; ++v) {
        std::int32_t* at = line + 16 * v;
        store(at, _mm256_add_epi32(load(at), _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sum[v]))));
        store(at + 8, _mm256_add_epi32(load(at + 8), _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sum[v], 1))));
    }
}

void add_short_rows(std::int32_t* line, const std::int16_t* lines, std::int32_t width, const std::int32_t* rows,
                    std::size_t n) {
    const auto stride = static_cast<std::size_t>(width);
    std::int32_t t = 0;
    for (; t + 128 <= width; t += 128) {
        add_short_strip<8>(line + t, lines + t, stride, rows, n);
    }
    if (t + 64 <= width) {
        add_short_strip<4>(line + t, lines + t, stride, rows, n);
        t += 64;
    }
    if (t + 32 <= width) {
        add_short_strip<2>(line + t, lines + t, stride, rows, n);
        t += 32;
    }
    if (t < width) {
        add_short_strip<1>(line + t, lines + t, stride, rows, n);
    }
}

// The places of the bits of every byte, one after the other, and how many there are.
struct BytePlaces {
    std::uint64_t places[256];
    std::uint8_t n[256];

    constexpr BytePlaces() : places{}, n{} {
        for (unsigned byte = 0; byte < 256; ++byte) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                if ((byte >> bit & 1U) != 0) {
                    places[byte] |= std::uint64_t{bit} << (8U * n[byte]++);
                }
            }
        }
    }
};
constexpr BytePlaces byte_places;

// A byte at a time without a branch: how many bits are set in it nobody foresees.
std::size_t common_bits(const std::uint64_t* one, const std::uint64_t* two, std::size_t n_words,
                        std::int32_t* numbers) {
    std::int32_t* next = numbers;
    for (std::size_t w = 0; w < n_words; ++w) {
        std::uint64_t word = one[w] & two[w];
        if (word == 0) {
            continue;
        }
        Vector first = _mm256_set1_epi32(static_cast<std::int32_t>(64 * w));
        for (int k = 0; k < 8; ++k, word >>= 8) {
            const std::size_t byte = word & 255U;
            const __m128i places = _mm_cvtsi64_si128(static_cast<long long>(byte_places.places[byte]));
            store(next, _mm256_add_epi32(first, _mm256_cvtepu8_epi32(places)));
            next += byte_places.n[byte];
            first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
        }
    }
    return static_cast<std::size_t>(next - numbers);
}

// The last vector adds zero beyond the axis: a masked store would be far slower than writing back what was there.
void add_steps(std::int32_t* line, std::int32_t n_tests, const std::int32_t* codes, const std::int32_t* amounts,
               const std::int32_t* rows, std::size_t n) {
    const Vector lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (std::size_t k = 0; k < n; ++k) {
        const std::int32_t row = rows[k];
        const Vector amount = _mm256_set1_epi32(amounts[row]);
        std::int32_t t = codes[row];
        for (; t + 8 <= n_tests; t += 8) {
            store(line + t, _mm256_add_epi32(load(line + t), amount));
        }
        const Vector inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(n_tests - t), lane);
        store(line + t, _mm256_add_epi32(load(line + t), _mm256_and_si256(amount, inside)));
    }
}

template <int sign>
void add_costs(std::int32_t* cells, const std::int32_t* places, std::int32_t n_places, const std::int32_t* costs,
               std::int32_t width) {
    for (std::int32_t k = 0; k < width; k += 8) {
        const Vector cost = load(costs + k);
        for (std::int32_t c = 0; c < n_places; ++c) {
            std::int32_t* cell = cells + std::ptrdiff_t{places[c]} * width + k;
            store(cell, sign > 0 ? _mm256_add_epi32(load(cell), cost) : _mm256_sub_epi32(load(cell), cost));
        }
    }
}

// Up to four vectors of labels, with the running sums in registers.
template <int n_vectors, bool is_running>
inline void least_of_labels(const std::int32_t* cells, const std::int32_t* all, std::int32_t n, std::int32_t width,
                            const std::int32_t* left, const std::int32_t* right, std::int32_t* least, bool is_first) {
    const auto lower = [](Vector a, Vector b) { return _mm256_min_epi32(a, b); };
    Vector x[n_vectors];
    Vector whole_left[n_vectors];
    Vector whole_right[n_vectors];
    for (int v = 0; v < n_vectors; ++v) {
        x[v] = _mm256_setzero_si256();
        whole_left[v] = load(left + 8 * v);
        whole_right[v] = load(right + 8 * v);
    }
    for (std::int32_t g = 0; g < n; ++g) {
        const std::int32_t* cell = cells + std::ptrdiff_t{g} * width;
        const std::int32_t* everyone = all + std::ptrdiff_t{g} * width;
        Vector part[4];
        for (int v = 0; v < n_vectors; ++v) {
            x[v] = is_running ? _mm256_add_epi32(x[v], load(cell + 8 * v)) : load(cell + 8 * v);
            const Vector y = _mm256_sub_epi32(load(everyone + 8 * v), x[v]);
            const Vector here[4] = {x[v], _mm256_sub_epi32(whole_left[v], x[v]), y,
                                    _mm256_sub_epi32(whole_right[v], y)};
            for (int p = 0; p < 4; ++p) {
                part[p] = v == 0 ? here[p] : lower(part[p], here[p]);
            }
        }
        __m128i result = reduce_four(part[0], part[1], part[2], part[3], lower);
        auto* target = reinterpret_cast<__m128i*>(least + 4 * g);
        if (!is_first) {
            result = _mm_min_epi32(result, _mm_loadu_si128(target));
        }
        _mm_storeu_si128(target, result);
    }
}

template <int n_vectors>
inline void least_of_some(const std::int32_t* cells, const std::int32_t* all, std::int32_t n, std::int32_t width,
                          bool is_running, const std::int32_t* left, const std::int32_t* right, std::int32_t* least,
                          bool is_first) {
    (is_running ? least_of_labels<n_vectors, true> : least_of_labels<n_vectors, false>)(cells, all, n, width, left,
                                                                                        right, least, is_first);
}

void least_costs(const std::int32_t* cells, const std::int32_t* all, std::int32_t n, std::int32_t width,
                 bool is_running, const std::int32_t* left, const std::int32_t* right, std::int32_t* least) {
    for (std::int32_t k = 0; k < width; k += 32) {
        const bool is_first = k == 0;
        switch (std::min(width - k, 32) / 8) {
        case 1: least_of_some<1>(cells + k, all + k, n, width, is_running, left + k, right + k, least, is_first); break;
        case 2: least_of_some<2>(cells + k, all + k, n, width, is_running, left + k, right + k, least, is_first); break;
        case 3: least_of_some<3>(cells + k, all + k, n, width, is_running, left + k, right + k, least, is_first); break;
        default: least_of_some<4>(cells + k, all + k, n, width, is_running, left + k, right + k, least, is_first);
        }
    }
}

void cut_rows(const std::int32_t* costs, std::int32_t width, const std::int32_t* rows, std::int32_t n,
              const std::int32_t* codes, std::int32_t* run, const std::int32_t* whole, std::int32_t& best,
              std::int32_t& at) {
    for (std::int32_t i = 0; i + 1 < n; ++i) {
        const std::int32_t* row = costs + std::ptrdiff_t{rows[i]} * width;
        Vector before = _mm256_set1_epi32(std::numeric_limits<std::int32_t>::max());
        Vector after = before;
        for (std::int32_t k = 0; k < width; k += 8) {
            const Vector sum = _mm256_add_epi32(load(run + k), load(row + k));
            store(run + k, sum);
            before = _mm256_min_epi32(before, sum);
            after = _mm256_min_epi32(after, _mm256_sub_epi32(load(whole + k), sum));
        }
        if (codes[rows[i]] != codes[rows[i + 1]]) {
            const std::int32_t cost = smallest(before) + smallest(after);
            if (cost < best) {
                best = cost;
                at = codes[rows[i]];
            }
        }
    }
}

// Whatever the compiler was allowed to use in this file, the processor must have.
bool has_all_features() {
    bool has_all = __builtin_cpu_supports("avx2") != 0;
#ifdef __POPCNT__
    has_all = has_all && __builtin_cpu_supports("popcnt") != 0;
#endif
#ifdef __BMI__
    has_all = has_all && __builtin_cpu_supports("bmi") != 0;
#endif
#ifdef __BMI2__
    has_all = has_all && __builtin_cpu_supports("bmi2") != 0;
#endif
#ifdef __FMA__
    has_all = has_all && __builtin_cpu_supports("fma") != 0;
#endif
    return has_all;
}

}  // namespace

const Kernels* avx2_kernels() {
    static const Kernels kernels{.quadrants = quadrants,
                                 .halves = halves,
                                 .difference = difference,
                                 .add_rows = add_rows,
                                 .add_short_rows = add_short_rows,
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
    static const bool is_supported = has_all_features();
    return is_supported ? &kernels : nullptr;
}

bool has_avx2_build() {
    return true;
}

}  // namespace certree

#else

namespace certree {

const Kernels* avx2_kernels() {
    return nullptr;
}

bool has_avx2_build() {
    return false;
}

}  // namespace certree

#endif
