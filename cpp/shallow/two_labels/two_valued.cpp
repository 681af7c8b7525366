#include "shallow/two_labels/two_valued.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "shallow/two_labels/gains.hpp"

namespace certree {

TwoValuedTriples::TwoValuedTriples(const Prepared& prepared, const PairTable& table, PairStumps* stumps)
    : prepared_(prepared), stumps_(stumps), all_(table.all), order_(prepared.local.axes.size()) {
    const Local& local = prepared.local;
    const auto n_rows = static_cast<std::size_t>(local.n_rows);
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t x, std::int32_t y) {
        return prepared.active.of(static_cast<std::size_t>(x)).rows.size() <
               prepared.active.of(static_cast<std::size_t>(y)).rows.size();
    });
    constexpr std::size_t word_bits = 64;
    n_words_ = (n_rows + word_bits - 1) / word_bits;
    holds_.assign(order_.size() * n_words_, 0);
    rows_.resize(n_rows + Kernels::lanes);
    for (std::size_t k = 0; k < order_.size(); ++k) {
        std::uint64_t* words = holds_.data() + k * n_words_;
        for (const std::int32_t row : prepared.active.of(static_cast<std::size_t>(order_[k])).rows) {
            words[static_cast<std::size_t>(row) / word_bits] |= std::uint64_t{1}
                                                                << (static_cast<std::size_t>(row) % word_bits);
        }
    }
    prepared.builder.is_short() ? fill(short_, table) : fill(long_, table);
}

std::size_t TwoValuedTriples::bytes(std::size_t n_tests) {
    constexpr std::size_t runs = 9;  // pairs and their extremes
    return runs * n_tests * (n_tests + ThreeTests<std::int16_t>::lanes) * sizeof(std::int32_t);
}

template <class Lane>
void TwoValuedTriples::fill(Kept<Lane>& kept, const PairTable& table) const {
    const Local& local = prepared_.local;
    const std::size_t n_tests = order_.size();
    constexpr std::size_t lanes = ThreeTests<Lane>::lanes;
    kept.width = (n_tests + lanes - 1) / lanes * lanes;
    std::vector<const std::int32_t*> codes;
    for (const std::int32_t axis : order_) {
        codes.push_back(local.axes[static_cast<std::size_t>(axis)].codes);
    }
    fill_lines(kept.lines, kept.width, codes, prepared_.amounts.small);
    kept.pairs.assign(n_tests * kept.width, 0);
    kept.total.assign(kept.width, 0);
    kept.extremes.assign(8 * n_tests * kept.width, 0);
    for (std::size_t a = 0; a < n_tests; ++a) {
        const std::int32_t test = local.axes[static_cast<std::size_t>(order_[a])].first_test;
        const std::int32_t* from = table.row(test);
        kept.total[a] = static_cast<Lane>(table.total[static_cast<std::size_t>(test)]);
        for (std::size_t c = 0; c < n_tests; ++c) {
            kept.pairs[a * kept.width + c] =
                static_cast<Lane>(from[local.axes[static_cast<std::size_t>(order_[c])].first_test]);
        }
    }
}

void TwoValuedTriples::run_next(Gains& gains) {
    prepared_.builder.is_short() ? run(short_, gains) : run(long_, gains);
    ++next_;
}

template <class Lane>
void TwoValuedTriples::run(Kept<Lane>& kept, Gains& gains) {
    const std::size_t a = next_;
    const std::size_t n_tests = order_.size();
    const std::size_t width = kept.width;
    constexpr std::size_t lanes = ThreeTests<Lane>::lanes;
    Lane* pairs_of_a = kept.extremes.data() + 8 * a * width;
    const Lane* with_a = kept.pairs.data() + a * width;
    for (std::size_t b = a + 1; b < n_tests; ++b) {
        if (prepared_.control.should_stop()) {
            return;
        }
        const std::size_t n_rows = prepared_.kernels.common_bits(holds_.data() + a * n_words_,
                                                                 holds_.data() + b * n_words_, n_words_, rows_.data());
        const ThreeTests<Lane> tests{kept.lines.data(),
                                     width,
                                     rows_.data(),
                                     n_rows,
                                     with_a,
                                     kept.pairs.data() + b * width,
                                     kept.total.data(),
                                     kept.total[a],
                                     kept.total[b],
                                     with_a[b],
                                     pairs_of_a,
                                     kept.extremes.data() + 8 * b * width};
        PairExtremes<Lane> extremes;
        const std::size_t from = (b + 1) / lanes * lanes;
        if constexpr (std::is_same_v<Lane, std::int16_t>) {
            prepared_.kernels.short_triples(tests, from, extremes);
        } else {
            prepared_.kernels.triples(tests, from, extremes);
        }
        for (std::size_t q = 0; q < 4; ++q) {
            Lane& high = pairs_of_a[q * width + b];
            Lane& low = pairs_of_a[(4 + q) * width + b];
            high = std::max(high, extremes.high[q]);
            low = std::min(low, extremes.low[q]);
        }
    }
    // All third tests of the pairs with a have been seen: those before it in earlier runs.
    const auto test_of = [&](std::size_t place) {
        const auto axis = static_cast<std::size_t>(order_[place]);
        return static_cast<std::size_t>(prepared_.local.axes[axis].first_test);
    };
    const auto join = [](PooledVector<std::int32_t>* side, std::size_t root, std::int32_t leaf, std::int32_t stump,
                         std::int32_t other_leaf, std::int32_t other_stump) {
        raise(side[2][root], std::max(leaf + other_stump, stump + other_leaf));
        raise(side[3][root], stump + other_stump);
    };
    const std::size_t first = test_of(a);
    const std::int32_t a_sum = kept.total[a];
    for (std::size_t b = a + 1; b < n_tests; ++b) {
        const std::size_t second = test_of(b);
        const std::int32_t both = with_a[b];
        const std::int32_t b_sum = kept.total[b];
        const std::int32_t sums[4] = {both, a_sum - both, b_sum - both, all_ - a_sum - (b_sum - both)};
        std::int32_t leaf[4];
        std::int32_t stump[4];
        for (std::size_t q = 0; q < 4; ++q) {
            leaf[q] = static_cast<std::int32_t>(magnitude(sums[q]));
            stump[q] = stump_gain(sums[q], pairs_of_a[q * width + b], pairs_of_a[(4 + q) * width + b]);
        }
        join(gains.left, first, leaf[0], stump[0], leaf[1], stump[1]);
        join(gains.right, first, leaf[2], stump[2], leaf[3], stump[3]);
        join(gains.left, second, leaf[0], stump[0], leaf[2], stump[2]);
        join(gains.right, second, leaf[1], stump[1], leaf[3], stump[3]);
        if (stumps_ != nullptr) {
            stumps_->put(first, second, stump);
            stumps_->put(second, first, {stump[0], stump[2], stump[1], stump[3]});
        }
    }
}

}  // namespace certree
