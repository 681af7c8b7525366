#include "good/bit_sums.hpp"

#include <algorithm>
#include <numeric>

namespace certree::good {

namespace {

constexpr std::size_t word_bits = 64;

}  // namespace

BitSums::BitSums(const RowSums& sums, const Kernels& kernels)
    : sums_(sums),
      kernels_(kernels),
      n_words_((static_cast<std::size_t>(sums.instance().n_rows) + word_bits - 1) / word_bits),
      bits_(2 * n_words_ * sums.instance().axes.size(), 0),
      kept_(n_words_),
      rows_(static_cast<std::size_t>(sums.instance().n_rows) + Kernels::lanes),
      side_(rows_.size()),
      all_(sums.width()) {
    const Instance& instance = sums.instance();
    const auto n_rows = static_cast<std::size_t>(instance.n_rows);
    for (std::size_t a = 0; a < instance.axes.size(); ++a) {
        const std::int32_t* codes = instance.axes[a].codes.data();
        std::uint64_t* first = bits_.data() + 2 * a * n_words_;
        std::uint64_t* second = first + n_words_;
        for (std::size_t from = 0; from < n_rows; from += word_bits) {
            const std::size_t n = std::min(word_bits, n_rows - from);
            std::uint64_t word = 0;
            for (std::size_t i = 0; i < n; ++i) {
                word |= static_cast<std::uint64_t>(codes[from + i]) << i;
            }
            second[from / word_bits] = word;
            first[from / word_bits] = ~word;  // what stands behind the last row is never kept
        }
        const std::int64_t n_second = std::accumulate(codes, codes + n_rows, std::int64_t{0});
        rare_code_.push_back(2 * n_second < instance.n_rows ? 1 : 0);
    }
}

void BitSums::start() {
    const std::size_t in_last = static_cast<std::size_t>(sums_.instance().n_rows) % word_bits;
    std::fill(kept_.begin(), kept_.end(), ~std::uint64_t{0});
    if (in_last > 0) {
        kept_.back() = ~std::uint64_t{0} >> (word_bits - in_last);
    }
}

void BitSums::keep(std::int32_t axis, std::int32_t code, bool is_left) {
    const std::uint64_t* side = side_bits(axis, code, is_left);
    for (std::size_t w = 0; w < n_words_; ++w) {
        kept_[w] &= side[w];
    }
}

void BitSums::close(const RowSums::Channel* all) {
    std::copy_n(all, sums_.width(), all_.begin());
    n_rows_ = static_cast<std::size_t>(RowSums::n_rows(all));
    is_listed_ = false;
}

std::span<const std::int32_t> BitSums::rows() {
    if (!is_listed_) {
        kernels_.common_bits(kept_.data(), kept_.data(), n_words_, rows_.data());
        is_listed_ = true;
    }
    return {rows_.data(), n_rows_};
}

std::span<const std::int32_t> BitSums::side(std::int32_t axis, std::int32_t code, bool is_left) {
    const std::uint64_t* own = side_bits(axis, code, is_left);
    return {side_.data(), kernels_.common_bits(kept_.data(), own, n_words_, side_.data())};
}

void BitSums::fill(std::int32_t axis, RowSums::Sums& to) {
    const std::size_t width = sums_.width();
    to.assign(2 * width, 0);
    // Words without a row in them are not worth a look.
    if (n_rows_ < n_words_) {
        sums_.add_by_code(sums_.instance().axes[static_cast<std::size_t>(axis)], rows().data(), n_rows_, to);
        return;
    }
    const std::int32_t rare = rare_code_[static_cast<std::size_t>(axis)];
    RowSums::Channel* summed = to.data() + static_cast<std::size_t>(rare) * width;
    RowSums::Channel* rest = to.data() + static_cast<std::size_t>(1 - rare) * width;
    sums_.add(side(axis, rare, true), summed);
    for (std::size_t k = 0; k < width; ++k) {
        rest[k] = all_[k] - summed[k];
    }
}

}  // namespace certree::good
