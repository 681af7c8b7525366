// An axis of many codes made ready to be walked: as rows move from one side to the other, a segment tree keeps the best
// stumps of both.
//
// Where few rows move, most codes keep their sums. Those between two codes that do not are put in as one piece, for
// which two elements stand, lane by lane: its best prefix sum, and what is missing to the sum of all of it. Prefix sums
// of a piece inside come to no more than its best, which ends there. The tree is then as small as the rows are few.
#pragma once

#include <span>

#include "control.hpp"
#include "kernels/segment_tree.hpp"
#include "shallow/two_labels/lines.hpp"

namespace certree {

class WalkedAxis {
public:
    WalkedAxis(const std::vector<std::int32_t>& amounts, const Control& control)
        : amounts_(amounts), control_(control) {}

    // The tree, and which of its elements a row changes; from n_elements on, none.
    struct Ready {
        SegmentTree& tree;
        const std::int32_t* element_of_row;
        std::int32_t n_elements;
    };

    // With these rows on the left side, before others move there. Pre: the axis is ordered; `upto` are the sums of all
    // rows up to each of its tests. The answer holds until this is asked again.
    Ready stand_at(const LocalAxis& axis, const std::int32_t* upto, std::span<const std::int32_t> left,
                   std::span<const std::int32_t> moving);

private:
    SegmentTree::Lanes lanes_of(std::size_t code) const;
    void put_all(std::size_t n_tests);
    void put_pieces(const LocalAxis& axis, std::span<const std::int32_t> moving);

    const std::vector<std::int32_t>& amounts_;
    const Control& control_;
    SegmentTree tree_;
    const std::int32_t* upto_ = nullptr;
    std::vector<std::int32_t> left_;     // sums of the left side by code
    std::vector<std::int32_t> touched_;  // codes of the rows that move
    std::vector<std::int32_t> element_;  // by row; of those that move
};

}  // namespace certree
