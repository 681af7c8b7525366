// A segment tree: the largest and smallest prefix sum of an array under changes of single elements, for two arrays at
// once.
//
// Depth two over thousands of distinct values: as the root threshold moves, rows leave one side and join the other, one
// element of each side's array changes, and the best stump of both sides is at the top of this tree. A whole axis of
// root thresholds costs n log n, where a table would cost its number of cells.
//
// Four lanes: left, −left, right, −right; a minimum is the maximum of the negated lane. The empty prefix counts (zero).
// Elements stand in blocks that are summed through; a binary tree stands over the blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace certree {

struct SegmentTree {
    typedef std::int32_t Lanes __attribute__((vector_size(16)));
    struct Node {
        Lanes sum;
        Lanes best;
    };
    static constexpr std::size_t block = 8;

    std::size_t n_blocks = 0;     // a power of two
    std::vector<Lanes> elements;  // n_blocks * block
    std::vector<Node> nodes;      // node 1 is the top, block b is node n_blocks + b

    SegmentTree() = default;
    explicit SegmentTree(std::int32_t n) { resize(n); }

    // Of arrays of another length, which are to be given next.
    void resize(std::int32_t n) {
        n_blocks = std::bit_ceil((static_cast<std::size_t>(n) + block - 1) / block);
        elements.resize(n_blocks * block);
        nodes.resize(2 * n_blocks);
    }

    // The two arrays, given the left one and the sum of both.
    void reset(const std::vector<std::int32_t>& left, const std::vector<std::int32_t>& both) {
        for (std::size_t i = 0; i < elements.size(); ++i) {
            const std::int32_t l = i < left.size() ? left[i] : 0;
            const std::int32_t r = i < both.size() ? both[i] - l : 0;
            elements[i] = Lanes{l, -l, r, -r};
        }
        for (std::size_t b = 0; b < n_blocks; ++b) {
            nodes[n_blocks + b] = sum_block(elements.data() + b * block);
        }
        for (std::size_t i = n_blocks - 1; i > 0; --i) {
            nodes[i].sum = nodes[2 * i].sum + nodes[2 * i + 1].sum;
            nodes[i].best = larger(nodes[2 * i].best, nodes[2 * i].sum + nodes[2 * i + 1].best);
        }
    }

    static Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
    static Node sum_block(const Lanes* first) {
        Node node{Lanes{0, 0, 0, 0}, Lanes{0, 0, 0, 0}};
        for (std::size_t e = 0; e < block; ++e) {
            node.sum += first[e];
            node.best = larger(node.best, node.sum);
        }
        return node;
    }
};

}  // namespace certree
