// What good trees say of each row, in one pass from the root down. What the rest of the best tree around a node costs
// ("outside"), and what its leaf costs, make the best tree in which this node is a leaf: all its rows get that label.
//
// Two leaves of one label may be the sides of a split here, which makes no good tree, and yet nothing is said that does
// not hold: one leaf in their place has that label too (what is best for both parts is best for the whole) and costs a
// penalty less, so there is a good tree that gives their rows this label at no higher cost.
#include <algorithm>
#include <limits>

#include "good/counts.hpp"

namespace certree::good {

namespace {

Amount add(Amount one, Amount two) {
    return one >= unreachable || two >= unreachable ? unreachable : one + two;
}

class RowLabels {
public:
    RowLabels(const Graph& graph, const std::int32_t* codes, const std::uint8_t* categorical, std::size_t n_rows,
              std::size_t n_labels)
        : graph_(graph),
          best_(graph),
          codes_(codes),
          categorical_(categorical),
          n_rows_(n_rows),
          n_labels_(n_labels),
          around_(graph.n_nodes(), unreachable),
          entry_(graph.n_nodes(), -1),
          found_(n_rows * n_labels, unreachable) {}

    std::vector<Amount> run(const Control& control) {
        around_[0] = 0;
        for (std::size_t node = 0; node < graph_.n_nodes() && !control.should_stop(); ++node) {
            if (node == 0 || !graph_.is_leaf(node)) {
                look_at(node);
            }
        }
        return std::move(found_);
    }

private:
    bool holds(std::size_t edge, std::int32_t row) const {
        const auto axis = static_cast<std::size_t>(graph_.axis[edge]);
        const std::int32_t code = codes_[axis * n_rows_ + static_cast<std::size_t>(row)];
        return categorical_[axis] != 0 ? code == graph_.code[edge] : code <= graph_.code[edge];
    }

    std::vector<std::int32_t> rows_of(std::size_t node) {
        std::vector<std::int32_t> rows;
        if (entry_[node] < 0) {
            for (std::size_t r = 0; r < n_rows_; ++r) {
                rows.push_back(static_cast<std::int32_t>(r));
            }
            return rows;
        }
        const auto edge = static_cast<std::size_t>(entry_[node]);
        const auto parent = static_cast<std::size_t>(
            std::upper_bound(graph_.first_edge.begin(), graph_.first_edge.end(), entry_[node]) -
            graph_.first_edge.begin() - 1);
        if (parent_ != parent) {
            parent_rows_ = rows_of(parent);
            parent_ = parent;
        }
        const bool is_left = static_cast<std::size_t>(graph_.left[edge]) == node;
        for (const std::int32_t row : parent_rows_) {
            if (holds(edge, row) == is_left) {
                rows.push_back(row);
            }
        }
        return rows;
    }

    void lower(std::int32_t row, std::size_t label, Amount value) {
        Amount& known = found_[static_cast<std::size_t>(row) * n_labels_ + label];
        known = std::min(known, value);
    }

    void look_at(std::size_t node) {
        const std::vector<std::int32_t> rows = rows_of(node);
        const Amount as_leaf = add(around_[node], graph_.leaf[node]);
        if (as_leaf <= graph_.budget) {
            for (const std::int32_t row : rows) {
                lower(row, static_cast<std::size_t>(graph_.label[node]), as_leaf);
            }
        }
        const auto first = static_cast<std::size_t>(graph_.first_edge[node]);
        const auto end = static_cast<std::size_t>(graph_.first_edge[node + 1]);
        for (std::size_t from = first; from < end;) {
            std::size_t to = from + 1;
            while (to < end && graph_.axis[to] == graph_.axis[from]) {
                ++to;
            }
            look_along(node, from, to, rows);
            from = to;
        }
    }

    // The tests of one axis, by code. On an ordered one a row is left of every test from its code on: the best of them
    // for each label is a running minimum.
    void look_along(std::size_t node, std::size_t from, std::size_t to, const std::vector<std::int32_t>& rows) {
        const std::size_t n = to - from;
        left_.assign((n + 1) * n_labels_, unreachable);
        right_.assign((n + 1) * n_labels_, unreachable);
        bool has_leaves = false;
        for (std::size_t e = from; e < to; ++e) {
            const auto l = static_cast<std::size_t>(graph_.left[e]);
            const auto r = static_cast<std::size_t>(graph_.right[e]);
            const auto pass = [&](std::size_t side, std::size_t other, Amount* leaves) {
                const Amount around = add(around_[node], best_.any[other]);
                if (graph_.is_leaf(side)) {
                    const Amount value = add(around, graph_.leaf[side]);
                    if (value <= graph_.budget) {
                        leaves[graph_.label[side]] = value;
                        has_leaves = true;
                    }
                    return;
                }
                if (entry_[side] < 0) {
                    entry_[side] = static_cast<std::int64_t>(e);
                }
                around_[side] = std::min(around_[side], around);
            };
            pass(l, r, left_.data() + (e - from) * n_labels_);
            pass(r, l, right_.data() + (e - from + 1) * n_labels_);
        }
        if (!has_leaves) {
            return;
        }
        const auto axis = static_cast<std::size_t>(graph_.axis[from]);
        const std::int32_t* codes = codes_ + axis * n_rows_;
        if (categorical_[axis] != 0) {
            for (std::size_t e = from; e < to; ++e) {
                for (const std::int32_t row : rows) {
                    const Amount* side = holds(e, row) ? left_.data() + (e - from) * n_labels_
                                                       : right_.data() + (e - from + 1) * n_labels_;
                    for (std::size_t k = 0; k < n_labels_; ++k) {
                        lower(row, k, side[k]);
                    }
                }
            }
            return;
        }
        for (std::size_t i = 1; i <= n; ++i) {
            for (std::size_t k = 0; k < n_labels_; ++k) {
                Amount& above = left_[(n - i) * n_labels_ + k];
                above = std::min(above, left_[(n - i + 1) * n_labels_ + k]);
                Amount& below = right_[i * n_labels_ + k];
                below = std::min(below, right_[(i - 1) * n_labels_ + k]);
            }
        }
        const auto tests = graph_.code.begin() + static_cast<std::ptrdiff_t>(from);
        for (const std::int32_t row : rows) {
            // The first test that holds on the row.
            const auto i = static_cast<std::size_t>(
                std::lower_bound(tests, tests + static_cast<std::ptrdiff_t>(n), codes[row]) - tests);
            for (std::size_t k = 0; k < n_labels_; ++k) {
                lower(row, k, std::min(left_[i * n_labels_ + k], right_[i * n_labels_ + k]));
            }
        }
    }

    const Graph& graph_;
    Optima best_;
    const std::int32_t* codes_;
    const std::uint8_t* categorical_;
    std::size_t n_rows_;
    std::size_t n_labels_;
    std::vector<Amount> around_;       // the least that the rest of a tree costs
    std::vector<std::int64_t> entry_;  // an edge that leads to the node
    std::vector<Amount> found_;
    std::vector<Amount> left_;
    std::vector<Amount> right_;
    std::size_t parent_ = std::numeric_limits<std::size_t>::max();
    std::vector<std::int32_t> parent_rows_;
};

}  // namespace

std::vector<Amount> find_row_labels(const Graph& graph, const std::int32_t* codes, const std::uint8_t* categorical,
                                    std::size_t n_rows, std::size_t n_labels, const Control& control) {
    return RowLabels(graph, codes, categorical, n_rows, n_labels).run(control);
}

}  // namespace certree::good
