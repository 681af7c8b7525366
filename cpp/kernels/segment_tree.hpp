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

#include <algorithm>
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

        // Behind what the node stands for.
        void add(Lanes element) {
            sum += element;
            best = larger(best, sum);
        }
    };
    static constexpr std::size_t block = 8;

    std::size_t n_blocks = 0;     // a power of two
    std::vector<Lanes> elements;  // n_blocks * block
    std::vector<Node> nodes;      // node 1 is the top, block b is node n_blocks + b

    // Of so many elements, which are to be put next.
    void resize(std::size_t n) {
        n_blocks = std::bit_ceil((n + block - 1) / block);
        elements.resize(n_blocks * block);
        nodes.resize(2 * n_blocks);
    }

    // Once so many elements have been put.
    void sum_up(std::size_t n) {
        std::fill(elements.begin() + static_cast<std::ptrdiff_t>(n), elements.end(), Lanes{0, 0, 0, 0});
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
            node.add(first[e]);
        }
        return node;
    }
};

}  // namespace certree
