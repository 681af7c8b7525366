// The largest and smallest prefix sum of an array under changes of single elements, for two arrays at once.
//
// Depth two over thousands of distinct values: as the root threshold moves, rows leave one side and join the other, one
// element of each side's array changes, and the best stump of both sides is at the top of this tree. A whole axis of root
// thresholds costs n log n, where a table would cost its number of cells.
//
// Four lanes: left, −left, right, −right; a minimum is the maximum of the negated lane. The empty prefix counts (zero).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace certree {

class PrefixTree {
public:
    explicit PrefixTree(std::int32_t n) : size_(std::bit_ceil(static_cast<std::size_t>(n < 1 ? 1 : n))), nodes_(2 * size_) {}

    // The left array all zero, the right array as given.
    void reset(const std::vector<std::int32_t>& right) {
        for (std::size_t i = 0; i < size_; ++i) {
            const std::int32_t amount = i < right.size() ? right[i] : 0;
            Node& leaf = nodes_[size_ + i];
            leaf.sum = Lanes{0, 0, amount, -amount};
            leaf.best = larger(leaf.sum, Lanes{0, 0, 0, 0});
        }
        for (std::size_t i = size_ - 1; i > 0; --i) {
            nodes_[i].sum = nodes_[2 * i].sum + nodes_[2 * i + 1].sum;
            nodes_[i].best = merge(nodes_[2 * i], nodes_[2 * i + 1]);
        }
    }

    // Element `at` moves `amount` from the right array to the left one.
    void move(std::int32_t at, std::int32_t amount) {
        const Lanes change{amount, -amount, -amount, amount};
        std::size_t i = size_ + static_cast<std::size_t>(at);
        nodes_[i].sum += change;
        nodes_[i].best = larger(nodes_[i].sum, Lanes{0, 0, 0, 0});
        for (i /= 2; i > 0; i /= 2) {
            nodes_[i].sum += change;
            nodes_[i].best = merge(nodes_[2 * i], nodes_[2 * i + 1]);
        }
    }

    // high[0], low[0]: left; high[1], low[1]: right.
    void widen(Extremes& extremes) const {
        const Lanes best = nodes_[1].best;
        extremes.high[0] = std::max(extremes.high[0], best[0]);
        extremes.low[0] = std::min(extremes.low[0], -best[1]);
        extremes.high[1] = std::max(extremes.high[1], best[2]);
        extremes.low[1] = std::min(extremes.low[1], -best[3]);
    }

private:
    typedef std::int32_t Lanes __attribute__((vector_size(16)));
    struct Node {
        Lanes sum;
        Lanes best;
    };
    static Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
    static Lanes merge(const Node& first, const Node& second) { return larger(first.best, first.sum + second.best); }

    std::size_t size_;
    std::vector<Node> nodes_;
};

} // namespace certree
