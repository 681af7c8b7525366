// Kernels that are plain element-wise loops: one source, compiled once for every processor (kernels_plain.cpp) and once
// for each instruction set that widens it. Included inside an anonymous namespace of those files.

inline std::int32_t magnitude32(std::int32_t x) {
    return x < 0 ? -x : x;
}

// max(|2 high − d|, |2 low − d|): differences of disjoint subsets, so the results fit although 2 high may wrap.
inline std::int32_t stump32(std::int32_t d, std::int32_t high, std::int32_t low) {
    const auto up = static_cast<std::int32_t>(2U * static_cast<std::uint32_t>(high) - static_cast<std::uint32_t>(d));
    const auto down = static_cast<std::int32_t>(2U * static_cast<std::uint32_t>(low) - static_cast<std::uint32_t>(d));
    return std::max(magnitude32(up), magnitude32(down));
}

void meet(std::int32_t n, const std::int32_t* __restrict both, const std::int32_t* __restrict b_sum, std::int32_t a_sum,
          std::int32_t all, const QuadrantExtremes& extremes, RootGains& first, std::int32_t* __restrict left_three,
          std::int32_t* __restrict left_four, std::int32_t* __restrict right_three,
          std::int32_t* __restrict right_four) {
    const std::int32_t* __restrict h0 = extremes.high[0];
    const std::int32_t* __restrict h1 = extremes.high[1];
    const std::int32_t* __restrict h2 = extremes.high[2];
    const std::int32_t* __restrict h3 = extremes.high[3];
    const std::int32_t* __restrict l0 = extremes.low[0];
    const std::int32_t* __restrict l1 = extremes.low[1];
    const std::int32_t* __restrict l2 = extremes.low[2];
    const std::int32_t* __restrict l3 = extremes.low[3];
    std::int32_t a_left_three = first.left.three;
    std::int32_t a_left_four = first.left.four;
    std::int32_t a_right_three = first.right.three;
    std::int32_t a_right_four = first.right.four;
    for (std::int32_t j = 0; j < n; ++j) {
        const std::int32_t d0 = both[j];
        const std::int32_t d1 = a_sum - d0;
        const std::int32_t d2 = b_sum[j] - d0;
        const std::int32_t d3 = all - a_sum - d2;
        const std::int32_t s0 = stump32(d0, h0[j], l0[j]);
        const std::int32_t s1 = stump32(d1, h1[j], l1[j]);
        const std::int32_t s2 = stump32(d2, h2[j], l2[j]);
        const std::int32_t s3 = stump32(d3, h3[j], l3[j]);
        const std::int32_t m0 = magnitude32(d0);
        const std::int32_t m1 = magnitude32(d1);
        const std::int32_t m2 = magnitude32(d2);
        const std::int32_t m3 = magnitude32(d3);
        a_left_three = std::max(a_left_three, std::max(s0 + m1, m0 + s1));
        a_left_four = std::max(a_left_four, s0 + s1);
        a_right_three = std::max(a_right_three, std::max(s2 + m3, m2 + s3));
        a_right_four = std::max(a_right_four, s2 + s3);
        left_three[j] = std::max(left_three[j], std::max(s0 + m2, m0 + s2));
        left_four[j] = std::max(left_four[j], s0 + s2);
        right_three[j] = std::max(right_three[j], std::max(s1 + m3, m1 + s3));
        right_four[j] = std::max(right_four[j], s1 + s3);
    }
    first = {{a_left_three, a_left_four}, {a_right_three, a_right_four}};
}

void own_before(std::int32_t n, const std::int32_t* __restrict both, std::int32_t a_sum,
                std::int32_t* const run_high[2], std::int32_t* const run_low[2], const QuadrantExtremes& extremes) {
    std::int32_t* __restrict h0 = extremes.high[0];
    std::int32_t* __restrict l0 = extremes.low[0];
    std::int32_t* __restrict h1 = extremes.high[1];
    std::int32_t* __restrict l1 = extremes.low[1];
    std::int32_t* __restrict rh0 = run_high[0];
    std::int32_t* __restrict rl0 = run_low[0];
    std::int32_t* __restrict rh1 = run_high[1];
    std::int32_t* __restrict rl1 = run_low[1];
    for (std::int32_t j = 0; j < n; ++j) {
        h0[j] = std::max(h0[j], rh0[j]);
        l0[j] = std::min(l0[j], rl0[j]);
        h1[j] = std::max(h1[j], rh1[j]);
        l1[j] = std::min(l1[j], rl1[j]);
        const std::int32_t d0 = both[j];
        const std::int32_t d1 = a_sum - d0;
        rh0[j] = std::max(rh0[j], d0);
        rl0[j] = std::min(rl0[j], d0);
        rh1[j] = std::max(rh1[j], d1);
        rl1[j] = std::min(rl1[j], d1);
    }
}

void own_after(std::int32_t n, const std::int32_t* __restrict both, std::int32_t a_sum,
               const std::int32_t* const run_high[2], const std::int32_t* const run_low[2],
               const QuadrantExtremes& extremes) {
    std::int32_t* __restrict h2 = extremes.high[2];
    std::int32_t* __restrict l2 = extremes.low[2];
    std::int32_t* __restrict h3 = extremes.high[3];
    std::int32_t* __restrict l3 = extremes.low[3];
    const std::int32_t* __restrict rh0 = run_high[0];
    const std::int32_t* __restrict rl0 = run_low[0];
    const std::int32_t* __restrict rh1 = run_high[1];
    const std::int32_t* __restrict rl1 = run_low[1];
    for (std::int32_t j = 0; j < n; ++j) {
        const std::int32_t d0 = both[j];
        const std::int32_t d1 = a_sum - d0;
        h2[j] = std::max(h2[j], rh0[j] - d0);
        l2[j] = std::min(l2[j], rl0[j] - d0);
        h3[j] = std::max(h3[j], rh1[j] - d1);
        l3[j] = std::min(l3[j], rl1[j] - d1);
    }
}

void walk(SegmentTree& tree, const std::int32_t* rows, const std::int32_t* start, std::int32_t n_tests,
          const std::int32_t* codes, std::int32_t n_codes, const std::int32_t* amounts, Extremes* extremes) {
    using Lanes = SegmentTree::Lanes;
    SegmentTree::Node* nodes = tree.nodes.data();
    for (std::int32_t test = 0; test < n_tests; ++test) {
        for (std::int32_t k = start[test]; k < start[test + 1]; ++k) {
            const std::int32_t code = codes[rows[k]];
            if (code >= n_codes) {
                continue;
            }
            const std::int32_t amount = amounts[rows[k]];
            const Lanes change{amount, -amount, -amount, amount};
            const auto element = static_cast<std::size_t>(code);
            tree.elements[element] += change;
            std::size_t i = tree.n_blocks + element / SegmentTree::block;
            SegmentTree::Node here =
                SegmentTree::sum_block(tree.elements.data() + element / SegmentTree::block * SegmentTree::block);
            nodes[i] = here;
            // Upwards with this node in registers; which child it is decides who comes first, without a branch.
            for (; i > 1; i /= 2) {
                const SegmentTree::Node other = nodes[i ^ 1];
                const std::int32_t right = -static_cast<std::int32_t>(i & 1);
                const Lanes is_right{right, right, right, right};
                const Lanes first_sum = is_right ? other.sum : here.sum;
                const Lanes first_best = is_right ? other.best : here.best;
                const Lanes second_best = is_right ? here.best : other.best;
                here.sum += other.sum;
                here.best = SegmentTree::larger(first_best, first_sum + second_best);
                nodes[i / 2] = here;
            }
        }
        const Lanes best = nodes[1].best;
        extremes[test].high[0] = std::max(extremes[test].high[0], best[0]);
        extremes[test].low[0] = std::min(extremes[test].low[0], -best[1]);
        extremes[test].high[1] = std::max(extremes[test].high[1], best[2]);
        extremes[test].low[1] = std::min(extremes[test].low[1], -best[3]);
    }
}

template <class Lane>
struct Vectors {
    typedef Lane Lanes __attribute__((vector_size(32)));
    static constexpr std::size_t lanes = sizeof(Lanes) / sizeof(Lane);

    static Lanes load(const Lane* at) {
        Lanes vector;
        __builtin_memcpy(&vector, at, sizeof(Lanes));
        return vector;
    }
    static Lanes larger(const Lanes& x, const Lanes& y) { return x > y ? x : y; }
    static Lanes smaller(const Lanes& x, const Lanes& y) { return x < y ? x : y; }
};

// The largest lane of each of eight vectors. Two of them become one of half as many candidates each, four times over.
inline void largest_of_eight(const Vectors<std::int16_t>::Lanes (&vectors)[8], std::int16_t (&largest)[8]) {
    using Lanes = Vectors<std::int16_t>::Lanes;
    const auto fold = [](const Lanes& x, const Lanes& y) {
        return Vectors<std::int16_t>::larger(
            __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27),
            __builtin_shufflevector(x, y, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31));
    };
    const Lanes all = fold(fold(fold(vectors[0], vectors[4]), fold(vectors[2], vectors[6])),
                           fold(fold(vectors[1], vectors[5]), fold(vectors[3], vectors[7])));
    for (std::size_t k = 0; k < 8; ++k) {
        largest[k] = std::max(all[k], all[8 + k]);
    }
}

inline void largest_of_eight(const Vectors<std::int32_t>::Lanes (&vectors)[8], std::int32_t (&largest)[8]) {
    using Lanes = Vectors<std::int32_t>::Lanes;
    const auto fold = [](const Lanes& x, const Lanes& y) {
        return Vectors<std::int32_t>::larger(__builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13),
                                             __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15));
    };
    for (std::size_t half = 0; half < 8; half += 4) {
        const Lanes four = fold(fold(vectors[half], vectors[half + 2]), fold(vectors[half + 1], vectors[half + 3]));
        for (std::size_t k = 0; k < 4; ++k) {
            largest[half + k] = std::max(four[k], four[4 + k]);
        }
    }
}

// Sums of a strip of vectors stay in registers while the rows pass, and until every pair has seen them. `widest`: of
// the pair (a, b) the largest sums of every quadrant, and the smallest with their signs turned.
template <class Lane, std::size_t n_vectors>
inline void triples_strip(const ThreeTests<Lane>& tests, std::size_t from, typename Vectors<Lane>::Lanes (&widest)[8]) {
    using Some = Vectors<Lane>;
    using Lanes = typename Some::Lanes;
    const std::size_t width = tests.width;
    Lanes sums[n_vectors] = {};
    for (std::size_t k = 0; k < tests.n_rows; ++k) {
        const Lane* line = tests.lines + static_cast<std::size_t>(tests.rows[k]) * width + from;
        for (std::size_t v = 0; v < n_vectors; ++v) {
            sums[v] += Some::load(line + Some::lanes * v);
        }
    }
    const auto widen = [&](Lane* run, const Lanes& x) {
        const Lanes high = Some::larger(x, Some::load(run));
        const Lanes low = Some::smaller(x, Some::load(run + 4 * width));
        __builtin_memcpy(run, &high, sizeof(Lanes));
        __builtin_memcpy(run + 4 * width, &low, sizeof(Lanes));
    };
    const Lanes both = Lanes{} + tests.both_sum;
    const Lanes a_only = Lanes{} + static_cast<Lane>(tests.a_sum - tests.both_sum);
    const Lanes b_only = Lanes{} + static_cast<Lane>(tests.b_sum - tests.both_sum);
    for (std::size_t v = 0; v < n_vectors; ++v) {
        const std::size_t c = from + Some::lanes * v;
        const Lanes with_a = Some::load(tests.with_a + c);
        const Lanes x = sums[v];
        const Lanes not_c = both - x;
        const Lanes not_b = with_a - x;
        const Lanes not_a = Some::load(tests.with_b + c) - x;
        const Lanes here[4] = {x, not_b, not_a, Some::load(tests.total + c) - with_a - not_a};
        for (std::size_t q = 0; q < 4; ++q) {
            widest[q] = Some::larger(widest[q], here[q]);
            widest[4 + q] = Some::larger(widest[4 + q], -here[q]);
        }
        widen(tests.pairs_of_a + c, x);
        widen(tests.pairs_of_a + c + width, not_c);
        widen(tests.pairs_of_a + c + 2 * width, not_a);
        widen(tests.pairs_of_a + c + 3 * width, b_only - not_a);
        widen(tests.pairs_of_b + c, x);
        widen(tests.pairs_of_b + c + width, not_c);
        widen(tests.pairs_of_b + c + 2 * width, not_b);
        widen(tests.pairs_of_b + c + 3 * width, a_only - not_b);
    }
}

template <class Lane>
void triples(const ThreeTests<Lane>& tests, std::size_t from, PairExtremes<Lane>& extremes) {
    constexpr std::size_t lanes = Vectors<Lane>::lanes;
    typename Vectors<Lane>::Lanes widest[8] = {};
    for (; from + 4 * lanes <= tests.width; from += 4 * lanes) {
        triples_strip<Lane, 4>(tests, from, widest);
    }
    switch ((tests.width - from) / lanes) {
    case 1: triples_strip<Lane, 1>(tests, from, widest); break;
    case 2: triples_strip<Lane, 2>(tests, from, widest); break;
    case 3: triples_strip<Lane, 3>(tests, from, widest); break;
    default: break;
    }
    Lane largest[8];
    largest_of_eight(widest, largest);
    for (std::size_t q = 0; q < 4; ++q) {
        extremes.high[q] = std::max(extremes.high[q], largest[q]);
        extremes.low[q] = std::min(extremes.low[q], static_cast<Lane>(-largest[4 + q]));
    }
}

// A vector's width of root tests from `first` on.
template <class Lane, CodeEnds ends>
inline void sides_of(const std::int32_t* order, std::int32_t n, const Lane* amounts, const Lane* root_codes,
                     SideBatch<Lane>& batch, std::size_t first) {
    typedef std::int64_t Slots __attribute__((vector_size(32)));
    typedef Lane Lanes __attribute__((vector_size(32)));
    typedef std::int32_t Words __attribute__((vector_size(32)));
    constexpr std::size_t width = sizeof(Lanes);
    Lanes test;
    Lanes high0;
    Lanes high1;
    Lanes low0;
    Lanes low1;
    __builtin_memcpy(&test, batch.test + first, width);
    __builtin_memcpy(&high0, batch.high[0] + first, width);
    __builtin_memcpy(&high1, batch.high[1] + first, width);
    __builtin_memcpy(&low0, batch.low[0] + first, width);
    __builtin_memcpy(&low1, batch.low[1] + first, width);
    Lanes left{};
    Lanes both{};
    const auto widen = [&](const Lanes& x, const Lanes& y) {
        high0 = x > high0 ? x : high0;
        low0 = x < low0 ? x : low0;
        high1 = y > high1 ? y : high1;
        low1 = y < low1 ? y : low1;
    };
    for (std::int32_t i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(order[i] >> 1);
        std::int64_t codes_of_row;
        __builtin_memcpy(&codes_of_row, root_codes + row * SideBatch<Lane>::slots, sizeof codes_of_row);
        const Lanes amount = Lanes{} + amounts[row];
        left += amount & ((Lanes)(Slots{} + codes_of_row) <= test);
        both += amount;
        if constexpr (ends == CodeEnds::mixed) {
            // At every row, as zeros but at the last of a code: a branch that nobody foresees costs more.
            const auto last = (Lanes)(((Words{} + order[i]) << 31) >> 31);
            widen(left & last, (both - left) & last);
        } else if ((order[i] & 1) != 0) {
            widen(left, both - left);
            if constexpr (ends == CodeEnds::categories) {
                left = both = Lanes{};
            }
        }
    }
    __builtin_memcpy(batch.high[0] + first, &high0, width);
    __builtin_memcpy(batch.high[1] + first, &high1, width);
    __builtin_memcpy(batch.low[0] + first, &low0, width);
    __builtin_memcpy(batch.low[1] + first, &low1, width);
}

template <class Lane>
void sides(const std::int32_t* order, std::int32_t n, const Lane* amounts, const Lane* root_codes, CodeEnds ends,
           SideBatch<Lane>& batch) {
    for (std::size_t first = 0; first < batch.size; first += 32 / sizeof(Lane)) {
        switch (ends) {
        case CodeEnds::alike: sides_of<Lane, CodeEnds::alike>(order, n, amounts, root_codes, batch, first); break;
        case CodeEnds::mixed: sides_of<Lane, CodeEnds::mixed>(order, n, amounts, root_codes, batch, first); break;
        case CodeEnds::categories:
            sides_of<Lane, CodeEnds::categories>(order, n, amounts, root_codes, batch, first);
            break;
        }
    }
}

void coarse(std::int32_t n, const std::int32_t* __restrict positive, const std::int32_t* __restrict negative,
            const std::int32_t* __restrict all_positive, const std::int32_t* __restrict all_negative,
            CoarseStumps& stumps) {
    CoarseStumps least = stumps;
    const std::int32_t left_p = positive[n];
    const std::int32_t left_n = negative[n];
    const std::int32_t right_p = all_positive[n] - left_p;
    const std::int32_t right_n = all_negative[n] - left_n;
    for (std::int32_t h = 0; h < n; ++h) {
        const std::int32_t lo_p = positive[h];
        const std::int32_t lo_n = negative[h];
        const std::int32_t lo = std::min(lo_p, lo_n);
        least.left_exact = std::min(least.left_exact, lo + std::min(left_p - lo_p, left_n - lo_n));
        least.left_bound =
            std::min(least.left_bound, lo + std::min(left_p - positive[h + 1], left_n - negative[h + 1]));
        const std::int32_t other_p = all_positive[h] - lo_p;
        const std::int32_t other_n = all_negative[h] - lo_n;
        const std::int32_t other = std::min(other_p, other_n);
        least.right_exact = std::min(least.right_exact, other + std::min(right_p - other_p, right_n - other_n));
        const std::int32_t next_p = all_positive[h + 1] - positive[h + 1];
        const std::int32_t next_n = all_negative[h + 1] - negative[h + 1];
        least.right_bound = std::min(least.right_bound, other + std::min(right_p - next_p, right_n - next_n));
    }
    stumps = least;
}

void least_sums(const std::int32_t* __restrict least, std::int32_t n, std::int32_t sums[2]) {
    std::int32_t left = std::numeric_limits<std::int32_t>::max();
    std::int32_t right = left;
    for (std::int32_t g = 0; g < n; ++g) {
        left = std::min(left, least[4 * g] + least[4 * g + 1]);
        right = std::min(right, least[4 * g + 2] + least[4 * g + 3]);
    }
    sums[0] = left;
    sums[1] = right;
}

inline std::int64_t magnitude64(std::int64_t x) {
    return x < 0 ? -x : x;
}

// Calls act, entry by entry of arrays of quadrants, with the sum, the sum of all, and what is to change. The loops have
// no lambda of their own: what it captured might overlap, for all that a compiler knows.
template <class Act>
inline void for_quadrants(std::size_t n, const QuadrantSums& sums, const std::int64_t* __restrict whole,
                          std::int64_t* __restrict left, std::int64_t* __restrict right, Act act) {
    const std::int64_t* __restrict both = sums.both;
    const std::int64_t* __restrict second = sums.second;
    const std::int64_t first = sums.first;
    const std::int64_t rest = sums.all - sums.first;
    for (std::size_t j = 0; j < n; ++j) {
        act(both[j], whole[j], left[j], right[j]);
    }
    for (std::size_t j = 0; j < n; ++j) {
        act(first - both[j], whole[n + j], left[n + j], right[n + j]);
    }
    for (std::size_t j = 0; j < n; ++j) {
        act(second[j] - both[j], whole[2 * n + j], left[2 * n + j], right[2 * n + j]);
    }
    for (std::size_t j = 0; j < n; ++j) {
        act(rest - (second[j] - both[j]), whole[3 * n + j], left[3 * n + j], right[3 * n + j]);
    }
}

void part_sums(std::size_t n, const QuadrantSums& sums, std::int64_t* __restrict parts) {
    for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t both = sums.both[j];
        const std::int64_t only_second = sums.second[j] - both;
        parts[j] = both;
        parts[n + j] = sums.first - both;
        parts[2 * n + j] = only_second;
        parts[3 * n + j] = (sums.all - sums.first) - only_second;
    }
}

void weigh_signed(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t* left,
                  std::int64_t* right) {
    for_quadrants(n, sums, whole, left, right,
                  [](std::int64_t x, std::int64_t all, std::int64_t& here, std::int64_t& there) {
                      here = magnitude64(x);
                      there = magnitude64(all - x);
                  });
}

void weigh_label(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t* left,
                 std::int64_t* right) {
    for_quadrants(n, sums, whole, left, right,
                  [](std::int64_t x, std::int64_t all, std::int64_t& here, std::int64_t& there) {
                      const std::int64_t y = all - x;
                      here = here < x ? x : here;
                      there = there < y ? y : there;
                  });
}

void forbid_small(std::size_t n, const QuadrantSums& sums, const std::int64_t* whole, std::int64_t least,
                  std::int64_t* left, std::int64_t* right) {
    for_quadrants(n, sums, whole, left, right,
                  [least](std::int64_t x, std::int64_t all, std::int64_t& here, std::int64_t& there) {
                      constexpr std::int64_t forbidden = -(std::int64_t{1} << 61);
                      here = x < least ? forbidden : here;
                      there = all - x < least ? forbidden : there;
                  });
}

void keep_best(std::size_t n, const std::int64_t* __restrict left, const std::int64_t* __restrict right,
               std::int64_t number, std::int64_t* __restrict gain, std::int64_t* __restrict test) {
    for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t offered = left[j] + right[j];
        // Not a branch: what is offered is compared lane by lane.
        const bool is_better = (offered > gain[j]) | ((offered == gain[j]) & (number < test[j]));
        gain[j] = is_better ? offered : gain[j];
        test[j] = is_better ? number : test[j];
    }
}
