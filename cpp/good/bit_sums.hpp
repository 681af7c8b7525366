// What is summed of rows where every axis has two codes: the rows of a node are bits, and for a test those of its rarer
// code are summed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "good/row_sums.hpp"
#include "kernels/kernels.hpp"

namespace certree::good {

class BitSums {
public:
    // Pre: every axis has two codes.
    BitSums(const RowSums& sums, const Kernels& kernels);

    // All rows; then those on one side of a test, of another one, and so on.
    void start();
    void keep(std::int32_t axis, std::int32_t code, bool is_left);
    // These are the rows of a node, and `all` their sums.
    void close(const RowSums::Channel* all);

    // The rows of the node, and those of them on one side of a test. These stay until others are asked for.
    std::span<const std::int32_t> rows();
    std::span<const std::int32_t> side(std::int32_t axis, std::int32_t code, bool is_left);

    // The sums by code of an axis.
    void fill(std::int32_t axis, RowSums::Sums& to);

private:
    const std::uint64_t* bits(std::int32_t axis, std::int32_t code) const {
        return bits_.data() + (static_cast<std::size_t>(axis) * 2 + static_cast<std::size_t>(code)) * n_words_;
    }
    const std::uint64_t* side_bits(std::int32_t axis, std::int32_t code, bool is_left) const {
        return bits(axis, is_left ? code : 1 - code);
    }

    const RowSums& sums_;
    const Kernels& kernels_;
    std::size_t n_words_;
    std::vector<std::uint64_t> bits_;      // by axis and code: a bit for every row
    std::vector<std::int32_t> rare_code_;  // by axis: which fewer rows have
    std::vector<std::uint64_t> kept_;
    std::vector<std::int32_t> rows_;
    std::vector<std::int32_t> side_;  // rows of one side
    std::size_t n_rows_ = 0;
    bool is_listed_ = false;  // whether `rows_` are those of the node
    RowSums::Sums all_;
};

}  // namespace certree::good
