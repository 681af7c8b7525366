#include "shallow/two_labels/walked_axis.hpp"

#include <algorithm>

#include "shallow/cost_model.hpp"

namespace certree {

// What stands at a code: left, −left, right, −right.
SegmentTree::Lanes WalkedAxis::lanes_of(std::size_t code) const {
    const std::int32_t left = left_[code];
    const std::int32_t right = upto_[code] - (code > 0 ? upto_[code - 1] : 0) - left;
    return SegmentTree::Lanes{left, -left, right, -right};
}

WalkedAxis::Ready WalkedAxis::stand_at(const LocalAxis& axis, const std::int32_t* upto,
                                       std::span<const std::int32_t> left, std::span<const std::int32_t> moving) {
    const auto n_tests = static_cast<std::size_t>(axis.n_tests);
    upto_ = upto;
    left_.assign(n_tests, 0);
    for (const std::int32_t row : left) {
        const auto code = static_cast<std::size_t>(axis.codes[row]);
        if (code < n_tests) {
            left_[code] += amounts_[static_cast<std::size_t>(row)];
        }
    }
    const bool are_few = control_.is_off(no_cost_model) ? amounts_.size() % 3 > 0
                                                        : forecast::are_few_codes_touched(moving.size(), axis.n_tests);
    if (!are_few) {
        put_all(n_tests);
        return {tree_, axis.codes, axis.n_tests};
    }
    put_pieces(axis, moving);
    return {tree_, element_.data(), static_cast<std::int32_t>(3 * touched_.size())};
}

void WalkedAxis::put_all(std::size_t n_tests) {
    tree_.resize(n_tests);
    for (std::size_t code = 0; code < n_tests; ++code) {
        tree_.elements[code] = lanes_of(code);
    }
    tree_.sum_up(n_tests);
}

void WalkedAxis::put_pieces(const LocalAxis& axis, std::span<const std::int32_t> moving) {
    const auto n_tests = static_cast<std::size_t>(axis.n_tests);
    touched_.clear();
    for (const std::int32_t row : moving) {
        if (axis.codes[row] < axis.n_tests) {
            touched_.push_back(axis.codes[row]);
        }
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    // A piece, the code after it, and so on; last the piece after all of them.
    const std::size_t n_elements = 3 * touched_.size() + 2;
    tree_.resize(n_elements);
    SegmentTree::Lanes* element = tree_.elements.data();
    std::size_t from = 0;
    const auto put_piece = [&](std::size_t to) {
        SegmentTree::Node piece{};
        for (std::size_t code = from; code < to; ++code) {
            piece.add(lanes_of(code));
        }
        *element++ = piece.best;
        *element++ = piece.sum - piece.best;
        from = to + 1;
    };
    for (const std::int32_t code : touched_) {
        put_piece(static_cast<std::size_t>(code));
        *element++ = lanes_of(static_cast<std::size_t>(code));
    }
    put_piece(n_tests);
    tree_.sum_up(n_elements);

    element_.resize(amounts_.size());
    for (const std::int32_t row : moving) {
        const auto at = std::lower_bound(touched_.begin(), touched_.end(), axis.codes[row]) - touched_.begin();
        element_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(3 * at + 2);
    }
}

}  // namespace certree
