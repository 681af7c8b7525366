#include "greedy.hpp"

#include <algorithm>
#include <queue>

namespace certree {

namespace {

// A leaf of the tree so far, and what its best stump would save.
struct Leaf {
    Amount saved = 0;
    std::size_t node = 0;
    int depth = 0;
    RowSet rows;
    NodePtr stump;

    bool operator<(const Leaf& other) const { return saved < other.saved; }  // a heap with the most saving on top
};

// Children by their places; a leaf has none.
struct Draft {
    NodePtr node;
    std::size_t left = 0;
    std::size_t right = 0;
};

NodePtr assemble(const std::vector<Draft>& drafts, std::size_t at) {
    const Draft& draft = drafts[at];
    return draft.left == 0 ? draft.node
                           : make_split(draft.node->axis, draft.node->code, assemble(drafts, draft.left),
                                        assemble(drafts, draft.right));
}

}  // namespace

NodePtr grow_greedily(const Instance& instance, const Constraints& constraints, const Stumps& stumps,
                      const Control& control, const RowSet& root) {
    std::vector<Draft> drafts;
    std::priority_queue<Leaf> leaves;
    // A tree that peels off one row at a time helps nobody, and to walk it takes rows times depth.
    constexpr int deepest = 32;
    const int most_depth = constraints.max_depth < 0 ? deepest : std::min(constraints.max_depth, deepest);
    const auto add = [&](RowSet rows, int depth, NodePtr leaf) {
        drafts.push_back({std::move(leaf)});
        if (rows.rows.size() < 2 || depth >= most_depth) {
            return;
        }
        Outcome best(2);
        stumps.put_leaf(rows, best);
        stumps.solve(rows, Local(instance, rows), best);
        if (best.value[1] < best.value[0]) {
            leaves.push({best.value[0] - best.value[1], drafts.size() - 1, depth, std::move(rows), best.tree[1]});
        }
    };
    add(root, 0, make_leaf(instance.best_label_of_all));
    for (int n_leaves = 1; !leaves.empty() && !control.should_stop(); ++n_leaves) {
        if (n_leaves == constraints.max_leaves) {
            break;
        }
        const Leaf leaf = leaves.top();
        leaves.pop();
        const Split split = split_rows(instance, leaf.rows, leaf.stump->axis, leaf.stump->code);
        drafts[leaf.node] = {leaf.stump, drafts.size(), drafts.size() + 1};
        add(split.left, leaf.depth + 1, leaf.stump->left);
        add(split.right, leaf.depth + 1, leaf.stump->right);
    }
    return assemble(drafts, 0);
}

}  // namespace certree
