#include "search/greedy.hpp"

#include <algorithm>

#include "bounds.hpp"

namespace certree {

namespace {

// A node of the tree that grows: what it costs as a leaf, and the best that can be made of it by cutting back.
struct Draft {
    RowSet rows;  // until it is split
    int depth = 0;
    NodePtr leaf;
    Amount leaf_value = unreachable;  // with λ
    Choice choice;
    std::size_t left = 0;  // children by their places; 0: none
    std::size_t right = 0;
    std::vector<Amount> front;  // entry m − 1: with at most m leaves; one entry where leaves are not limited

    bool has_grown() const { return left != 0; }
};

class Growth {
public:
    Growth(const Instance& instance, const Settings& settings, const Stumps& stumps)
        : instance_(instance), settings_(settings), stumps_(stumps) {}

    void add(RowSet rows, int depth) {
        Draft draft;
        Outcome outcome;
        stumps_.put_leaf(rows, outcome);
        draft.leaf = outcome.tree[0];
        draft.leaf_value = outcome.value[0];
        draft.rows = std::move(rows);
        draft.depth = depth;
        drafts_.push_back(std::move(draft));
    }

    // Level by level, so that a stop leaves no part behind.
    void grow(const Control& control, const Choose& choose) {
        // A tree that peels off one row at a time helps nobody, and to walk it takes rows times depth.
        constexpr int deepest = 96;
        constexpr std::size_t most_levels = 48;
        const int most_depth = settings_.max_depth < 0 ? deepest : std::min(settings_.max_depth, deepest);
        std::size_t n_rows_left = most_levels * static_cast<std::size_t>(instance_.n_rows);
        for (std::size_t at = 0; at < drafts_.size() && !control.should_stop(); ++at) {
            const Draft& draft = drafts_[at];
            const std::size_t n_rows = draft.rows.rows.size();
            if (n_rows < 2 || draft.depth >= most_depth || draft.leaf_value <= bounds::split(settings_.penalty) ||
                n_rows > n_rows_left) {
                continue;
            }
            n_rows_left -= n_rows;
            Choice choice = choose(draft.rows, most_depth - draft.depth);
            const RootTest test = choice.test;
            const bool is_done = choice.is_whole() || test.axis < 0;
            drafts_[at].choice = std::move(choice);
            if (is_done) {
                continue;
            }
            Split split = split_rows(instance_, draft.rows, test.axis, test.code);
            const int depth = draft.depth + 1;
            drafts_[at].left = drafts_.size();
            drafts_[at].right = drafts_.size() + 1;
            drafts_[at].rows = {};
            add(std::move(split.left), depth);
            add(std::move(split.right), depth);
        }
    }

    // Children stand behind their parents.
    Part prune() {
        for (std::size_t at = drafts_.size(); at-- > 0;) {
            cut_back(drafts_[at]);
        }
        const Draft& root = drafts_.front();
        Part part{assemble(root, root.front.size()), root.front.back(), 0};
        part.n_leaves = static_cast<int>(count_nodes(*part.tree) / 2 + 1);
        return part;
    }

private:
    void cut_back(Draft& draft) const {
        const auto most = static_cast<std::size_t>(settings_.max_leaves);
        if (draft.choice.is_whole()) {
            draft.front = draft.choice.value;
            draft.front.resize(std::clamp<std::size_t>(most, 1, draft.front.size()));
            return;
        }
        if (!draft.has_grown()) {
            draft.front.assign(1, draft.leaf_value);
            return;
        }
        const std::vector<Amount>& left = drafts_[draft.left].front;
        const std::vector<Amount>& right = drafts_[draft.right].front;
        if (most == 0) {
            draft.front.assign(1, std::min(draft.leaf_value, left[0] + right[0]));
            return;
        }
        draft.front.assign(std::min(most, left.size() + right.size()), draft.leaf_value);
        for (std::size_t l = 1; l <= left.size(); ++l) {
            for (std::size_t r = 1; r <= right.size() && l + r <= draft.front.size(); ++r) {
                Amount& value = draft.front[l + r - 1];
                value = std::min(value, left[l - 1] + right[r - 1]);
            }
        }
        for (std::size_t m = 1; m < draft.front.size(); ++m) {
            draft.front[m] = std::min(draft.front[m], draft.front[m - 1]);
        }
    }

    NodePtr assemble(const Draft& draft, std::size_t n_leaves) const {
        const std::size_t entry = std::min(n_leaves, draft.front.size()) - 1;
        const Amount value = draft.front[entry];
        if (draft.choice.is_whole() && draft.choice.tree[entry]) {
            return draft.choice.tree[entry];
        }
        if (!draft.has_grown() || value == draft.leaf_value) {
            return draft.leaf ? draft.leaf : make_leaf(instance_.best_label_of_all);
        }
        const Draft& left = drafts_[draft.left];
        const Draft& right = drafts_[draft.right];
        const auto split = [&](std::size_t l, std::size_t r) {
            return make_split(draft.choice.test.axis, draft.choice.test.code, assemble(left, l), assemble(right, r));
        };
        if (settings_.max_leaves == 0) {
            return split(1, 1);
        }
        for (std::size_t l = 1; l <= left.front.size(); ++l) {
            for (std::size_t r = 1; r <= right.front.size() && l + r <= n_leaves; ++r) {
                if (left.front[l - 1] + right.front[r - 1] == value) {
                    return split(l, r);
                }
            }
        }
        return draft.leaf;  // not reached: the value came from one of these
    }

    const Instance& instance_;
    const Settings& settings_;
    const Stumps& stumps_;
    std::vector<Draft> drafts_;
};

}  // namespace

Part grow_tree(const Instance& instance, const Settings& settings, const Stumps& stumps, const Control& control,
               const RowSet& root, const Choose& choose) {
    Growth growth(instance, settings, stumps);
    growth.add(root, 0);
    growth.grow(control, choose);
    return growth.prune();
}

}  // namespace certree
