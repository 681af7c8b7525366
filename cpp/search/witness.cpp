#include "search/witness.hpp"

#include <algorithm>

namespace certree {

const char* name_of(Claim claim) {
    switch (claim) {
    case Claim::leaf: return "leaf";
    case Claim::split: return "split";
    case Claim::cache: return "cache";
    case Claim::stump_form: return "stumps of two labels";
    case Claim::pair_form: return "depth two of two labels";
    case Claim::triple_form: return "depth three of two labels";
    case Claim::cell_form: return "depth two or three by cells";
    case Claim::relaxed_form: return "closed form without limits";
    case Claim::kept_form: return "closed form that keeps the limits";
    case Claim::stumps: return "stumps";
    case Claim::any_labels: return "depth two of any labels";
    case Claim::shallower: return "shallower";
    case Claim::interval: return "interval";
    case Claim::side_leaf: return "leaf of a side";
    case Claim::deep_side: return "deep side";
    case Claim::similarity: return "similarity";
    case Claim::side_budget: return "budget of a side";
    case Claim::depth_cap: return "depth cap";
    case Claim::expansion: return "expansion";
    case Claim::price: return "price";
    case Claim::deeper: return "deeper";
    case Claim::frontier: return "frontier";
    case Claim::slice: return "slice";
    case Claim::result: return "result";
    }
    return "";
}

Witness::Witness(const Instance& instance, Amount penalty, NodePtr tree) : tree_(std::move(tree)) {
    // A lone leaf is on offer whatever a search claims, also where it misses a minimum: it cannot be ruled out.
    if (!tree_->is_leaf()) {
        add(instance, penalty, *tree_, all_rows(instance));
    }
}

const Witness::Part& Witness::add(const Instance& instance, Amount penalty, const Node& node, const RowSet& set) {
    Part part;
    if (node.is_leaf()) {
        part.value = penalty;
        for (const std::int32_t row : set.rows) {
            const auto r = static_cast<std::size_t>(row);
            part.value += instance.worst[r];
            for (auto g = instance.gain_start[r]; g < instance.gain_start[r + 1]; ++g) {
                const Gain& gain = instance.gains[static_cast<std::size_t>(g)];
                part.value -= gain.label == node.label ? gain.amount : 0;
            }
        }
    } else {
        const Split split = split_rows(instance, set, node.axis, node.code);
        part.leaves = 0;
        for (int s = 0; s < 2; ++s) {
            const RowSet& rows = s == 0 ? split.left : split.right;
            const Part& side = add(instance, penalty, s == 0 ? *node.left : *node.right, rows);
            part.side[s] = rows.key;
            part.side_value[s] = side.value;
            part.side_depth[s] = side.depth;
            part.depth = std::max(part.depth, side.depth + 1);
            part.leaves += side.leaves;
            part.value += side.value;
        }
    }
    return parts_.insert_or_assign(set.key, part).first->second;
}

const Witness::Part* Witness::find(const SetKey& key, int depth) const {
    const auto at = parts_.find(key);
    return at == parts_.end() || at->second.depth > depth ? nullptr : &at->second;
}

void Witness::complain(Claim by, Amount claimed, Amount value) const {
    if (!lie.is_silent) {
        throw WitnessPruned(by, std::string("the witness is ruled out by: ") + name_of(by) + " (" +
                                    std::to_string(claimed) + " claimed, the tree has " + std::to_string(value) + ")");
    }
}

Amount Witness::hear(Claim by, const SetKey& key, int depth, Amount lower) const {
    const Part* part = find(key, depth);
    if (part == nullptr) {
        return lower;
    }
    lower += by == lie.about ? lie.by : 0;
    if (lower > part->value) {
        complain(by, lower, part->value);
    }
    return lower;
}

void Witness::hear_answer(Claim by, const SetKey& key, int depth, Amount budget, const Outcome& answer,
                          bool is_last_asked) const {
    const Part* part = find(key, depth);
    if (part == nullptr || part->value >= budget) {
        return;
    }
    const std::size_t width = answer.value.size();
    const Amount value = answer.value[is_last_asked ? width - 1 : std::min(part->leaves, width) - 1];
    if (value > part->value) {
        complain(by, value, part->value);
    }
}

void Witness::hear_budget(const SetKey& whole, int depth, Amount cap, const SetKey& side, Amount budget) const {
    const Part* part = find(whole, depth);
    if (part == nullptr || part->value >= cap) {
        return;
    }
    budget -= lie.about == Claim::side_budget ? lie.by : 0;
    for (int s = 0; s < 2; ++s) {
        if (part->side[s] == side && part->side_value[s] >= budget) {
            complain(Claim::side_budget, budget, part->side_value[s]);
        }
    }
}

}  // namespace certree
