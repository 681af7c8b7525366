#include "instance/judge.hpp"

#include <algorithm>

namespace certree {

namespace {

void judge_rows(const Instance& instance, const Node& node, const std::vector<std::int32_t>& rows, Judged& judged) {
    if (node.is_leaf()) {
        ++judged.leaves;
        for (const std::int32_t row : rows) {
            const auto r = static_cast<std::size_t>(row);
            Amount cost = instance.worst[r];
            for (auto g = static_cast<std::size_t>(instance.gain_start[r]);
                 g < static_cast<std::size_t>(instance.gain_start[r + 1]); ++g) {
                if (instance.gains[g].label == node.label) {
                    cost -= instance.gains[g].amount;
                }
            }
            judged.cost += cost;
        }
        return;
    }
    const Axis& axis = instance.axes[static_cast<std::size_t>(node.axis)];
    std::vector<std::int32_t> left;
    std::vector<std::int32_t> right;
    for (const std::int32_t row : rows) {
        const std::int32_t code = axis.codes[static_cast<std::size_t>(row)];
        ((axis.is_categorical ? code == node.code : code <= node.code) ? left : right).push_back(row);
    }
    judge_rows(instance, *node.left, left, judged);
    judge_rows(instance, *node.right, right, judged);
}

}  // namespace

Judged judge(const Instance& instance, const NodePtr& tree) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(instance.n_rows));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        rows[r] = static_cast<std::int32_t>(r);
    }
    Judged judged;
    judge_rows(instance, *tree, rows, judged);
    return judged;
}

Judged judge(const Instance& instance, const NodePtr& tree, const RowSet& rows) {
    Judged judged;
    judge_rows(instance, *tree, rows.rows, judged);
    return judged;
}

NodePtr simplify(const Instance& instance, const NodePtr& tree, const RowSet& set) {
    if (tree->is_leaf()) {
        return tree;
    }
    const Split split = split_rows(instance, set, tree->axis, tree->code);
    if (split.left.rows.empty()) {
        return simplify(instance, tree->right, set);
    }
    if (split.right.rows.empty()) {
        return simplify(instance, tree->left, set);
    }
    const NodePtr left = simplify(instance, tree->left, split.left);
    const NodePtr right = simplify(instance, tree->right, split.right);
    if (left->is_leaf() && right->is_leaf() && left->label == right->label) {
        return left;
    }
    return make_split(tree->axis, tree->code, left, right);
}

namespace {

int count_leaves(const Node& node) {
    return node.is_leaf() ? 1 : count_leaves(*node.left) + count_leaves(*node.right);
}

bool keeps_minimum(const Instance& instance, const Settings& settings, const Node& node, const RowSet& set) {
    if (!node.is_leaf()) {
        const Split split = split_rows(instance, set, node.axis, node.code);
        return keeps_minimum(instance, settings, *node.left, split.left) &&
               keeps_minimum(instance, settings, *node.right, split.right);
    }
    Amount weight = 0;
    std::vector<std::int64_t> arms(static_cast<std::size_t>(instance.n_arms), 0);
    for (const std::int32_t row : set.rows) {
        weight += instance.weight[static_cast<std::size_t>(row)];
        for (std::size_t arm = 0; arm < arms.size(); ++arm) {
            arms[arm] += instance.arm_count[static_cast<std::size_t>(row) * arms.size() + arm];
        }
    }
    return set.count >= settings.min_samples_leaf && weight >= settings.min_weight_leaf &&
           std::all_of(arms.begin(), arms.end(), [&](std::int64_t n) { return n >= settings.min_samples_arm; });
}

}  // namespace

bool keeps_limits(const Instance& instance, const Settings& settings, const NodePtr& tree, const RowSet& root) {
    if (tree->is_leaf()) {
        return true;
    }
    if (settings.max_leaves > 0 && count_leaves(*tree) > settings.max_leaves) {
        return false;
    }
    return !settings.has_leaf_minimum() || keeps_minimum(instance, settings, *tree, root);
}

}  // namespace certree
