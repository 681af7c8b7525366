#include "good/counts.hpp"

#include <algorithm>
#include <unordered_map>

namespace certree::good {

// Numbers below a count, each with the same chance: what would favour the smaller ones is drawn again.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    Count below(Count n) {
        const Count most = ~Count{0} - (~Count{0} % n + 1) % n;
        while (true) {
            const Count drawn = Count{next()} << 64 | next();
            if (drawn <= most) {
                return drawn % n;
            }
        }
    }

private:
    std::uint64_t next() {
        std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }
    std::uint64_t state_;
};

namespace {

constexpr std::size_t pairs_per_entry = 20;  // so many sums of two lists are formed for each entry that is allowed
constexpr Amount fine_steps = 4096;          // of a grid, between the best tree and the budget
constexpr Amount few_steps = 8;

bool add(Count& to, Count other) {
    return __builtin_add_overflow(to, other, &to);
}

bool add_product(Count& to, Count one, Count two) {
    Count product = 0;
    return __builtin_mul_overflow(one, two, &product) || add(to, product);
}

}  // namespace

Counts::Counts(const Graph& graph, std::size_t most_entries, bool counts_ways, const Control& control)
    : graph_(graph), control_(control), counts_ways_(counts_ways), most_leaves_(graph.n_nodes(), 1) {
    for (std::size_t node = graph.n_nodes(); node-- > 0;) {
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            most_leaves_[node] =
                std::max(most_leaves_[node], most_leaves_[static_cast<std::size_t>(graph.left[e])] +
                                                 most_leaves_[static_cast<std::size_t>(graph.right[e])]);
        }
    }
    const Optima best(graph);
    const Amount width = std::max<Amount>(1, graph.budget - std::min(graph.budget, best.any[0]));
    // The coarsest grid leaves each list a handful of entries: it must do, however few are allowed.
    for (Amount n_steps = fine_steps; !fill(n_steps >= few_steps ? most_entries : ~std::size_t{0}) && !is_stopped_;
         n_steps /= 2) {
        step_ = std::max<Amount>(step_ + 1, width / n_steps);
    }
}

Amount Counts::to_steps(Amount value) const {
    return step_ == 1 ? value : (value + step_ / 2) / step_;
}

// A leaf's one entry is put where the caller says: with real weights most nodes are leaves, and lists of their own
// would be most of what counting takes.
Counts::List Counts::list_of(std::size_t node, Entry& leaf) const {
    if (!graph_.is_leaf(node)) {
        return lists_[node];
    }
    leaf = {to_steps(graph_.leaf[node]), 1};
    return {&leaf, 1};
}

Count Counts::upto(List list, Amount budget) {
    const auto end = std::upper_bound(list.begin(), list.end(), budget,
                                      [](Amount most, const Entry& entry) { return most < entry.value; });
    return end == list.begin() ? 0 : (end - 1)->upto;
}

// False where the lists would be too long.
bool Counts::fill(std::size_t most_entries) {
    const Optima best(graph_);
    const std::size_t n_nodes = graph_.n_nodes();
    std::vector<Amount> exact(n_nodes, -1);
    exact[0] = graph_.budget;
    budget_.assign(n_nodes, -1);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        budget_[node] = step_ == 1 ? exact[node] : exact[node] / step_ + most_leaves_[node] / 2 + 1;
        for (auto e = static_cast<std::size_t>(graph_.first_edge[node]);
             e < static_cast<std::size_t>(graph_.first_edge[node + 1]); ++e) {
            const auto l = static_cast<std::size_t>(graph_.left[e]);
            const auto r = static_cast<std::size_t>(graph_.right[e]);
            exact[l] = std::max(exact[l], exact[node] - best.any[r]);
            exact[r] = std::max(exact[r], exact[node] - best.any[l]);
        }
    }
    lists_.assign(n_nodes, {});
    is_overflow_ = false;
    std::size_t n_entries = 0;
    std::size_t n_pairs = 0;
    std::unordered_map<Amount, Count> sums;
    std::vector<std::pair<Amount, Count>> found;
    std::vector<std::pair<Amount, Count>> idle;
    for (std::size_t node = n_nodes; node-- > 1;) {
        if (graph_.is_leaf(node)) {
            continue;
        }
        std::vector<Entry>& list = lists_[node];
        if (control_.should_stop()) {
            is_stopped_ = true;
            return false;
        }
        found.clear();
        sums.clear();
        idle.clear();
        if (has_listed_leaf(node)) {
            found.emplace_back(to_steps(graph_.leaf[node]), 1);
        }
        // Short lists are sorted at the end; where many sums may be equal they are put together at once.
        const auto put = [&](Amount value, Count n) {
            if (found.size() < 256) {
                found.emplace_back(value, n);
            } else {
                is_overflow_ = add(sums[value], n) || is_overflow_;
            }
        };
        for (auto e = static_cast<std::size_t>(graph_.first_edge[node]);
             e < static_cast<std::size_t>(graph_.first_edge[node + 1]); ++e) {
            const auto l = static_cast<std::size_t>(graph_.left[e]);
            const auto r = static_cast<std::size_t>(graph_.right[e]);
            const Count ways = counts_ways_ ? static_cast<Count>(graph_.ways[e]) : 1;
            Entry leaves[2];
            const List left = list_of(l, leaves[0]);
            const List right = list_of(r, leaves[1]);
            Count before = 0;
            for (const Entry& one : left) {
                Count ones = 0;
                is_overflow_ = add_product(ones, one.upto - before, ways) || is_overflow_;
                Count other_before = 0;
                for (const Entry& two : right) {
                    if (one.value + two.value > budget_[node]) {
                        break;
                    }
                    Count n = 0;
                    is_overflow_ = add_product(n, ones, two.upto - other_before) || is_overflow_;
                    other_before = two.upto;
                    ++n_pairs;
                    put(one.value + two.value, n);
                }
                before = one.upto;
                if (n_pairs / pairs_per_entry > most_entries) {
                    return false;
                }
            }
            if (has_idle_pair(l, r, budget_[node])) {
                idle.emplace_back(to_steps(graph_.leaf[l]) + to_steps(graph_.leaf[r]), ways);
            }
            if (n_entries + sums.size() > most_entries) {
                return false;
            }
        }
        found.insert(found.end(), sums.begin(), sums.end());
        for (auto* pairs : {&found, &idle}) {
            std::sort(pairs->begin(), pairs->end(), [](const auto& x, const auto& y) { return x.first < y.first; });
        }
        Count total = 0;
        auto taken = idle.begin();
        for (std::size_t i = 0; i < found.size();) {
            Count n = 0;
            const Amount value = found[i].first;
            for (; i < found.size() && found[i].first == value; ++i) {
                is_overflow_ = add(n, found[i].second) || is_overflow_;
            }
            // Each of these was put there, so that no more is taken off than there is.
            for (; taken != idle.end() && taken->first == value; ++taken) {
                n -= taken->second;
            }
            if (n != 0) {
                is_overflow_ = add(total, n) || is_overflow_;
                list.push_back({value, total});
            }
        }
        n_entries += list.size();
    }
    return n_entries <= most_entries;
}

// On a grid a leaf may cost more steps than its node's list goes to.
bool Counts::has_listed_leaf(std::size_t node) const {
    return graph_.leaf[node] < unreachable && (graph_.is_leaf(node) || to_steps(graph_.leaf[node]) <= budget_[node]);
}

// Whether the lists of two sides count a pair of leaves that is no tree.
bool Counts::has_idle_pair(std::size_t left, std::size_t right, Amount budget) const {
    return graph_.are_idle(left, right) && has_listed_leaf(left) && has_listed_leaf(right) &&
           to_steps(graph_.leaf[left]) + to_steps(graph_.leaf[right]) <= budget;
}

// Pairs of trees of the two sides that cost no more together: as the one costs more, the other may cost less.
Count Counts::count_pairs(std::size_t edge, Amount budget) const {
    const auto l = static_cast<std::size_t>(graph_.left[edge]);
    const auto r = static_cast<std::size_t>(graph_.right[edge]);
    Entry leaves[2];
    const List left = list_of(l, leaves[0]);
    const List right = list_of(r, leaves[1]);
    std::size_t end = right.size();
    Count before = 0;
    Count pairs = 0;
    for (const Entry& one : left) {
        while (end > 0 && right[end - 1].value + one.value > budget) {
            --end;
        }
        if (end == 0) {
            break;
        }
        is_overflow_ = add_product(pairs, one.upto - before, right[end - 1].upto) || is_overflow_;
        before = one.upto;
    }
    if (has_idle_pair(l, r, budget)) {
        pairs -= 1;
    }
    Count all = 0;
    is_overflow_ = add_product(all, pairs, counts_ways_ ? static_cast<Count>(graph_.ways[edge]) : 1) || is_overflow_;
    return all;
}

std::vector<Count> Counts::count_root(Amount budget) const {
    std::vector<Count> counts{graph_.leaf[0] < unreachable && to_steps(graph_.leaf[0]) <= budget ? Count{1} : Count{0}};
    for (auto e = static_cast<std::size_t>(graph_.first_edge[0]); e < static_cast<std::size_t>(graph_.first_edge[1]);
         ++e) {
        counts.push_back(count_pairs(e, budget));
    }
    return counts;
}

CountRange Counts::count(Amount budget) const {
    CountRange range;
    budget = std::min(budget, graph_.budget);
    if (is_stopped_) {
        return range;
    }
    if (step_ == 1) {
        range.least = range.most = count_root(budget);
    } else {
        // The cost of a tree in steps is off by half a step per leaf, and that of the budget by less than one.
        const Amount off = most_leaves_[0] / 2 + 1;
        range.most = count_root(budget / step_ + off);
        range.least = count_root(budget / step_ - off);
    }
    // Trees are drawn by the sum over all edges, which must not overflow either.
    Count all = 0;
    for (const Count n : range.most) {
        is_overflow_ = add(all, n) || is_overflow_;
    }
    range.is_overflow = is_overflow_;
    return range;
}

// A tree of the node that costs from least to most, in steps. The edge by the number of its trees; the left side's cost
// by how many right sides go with it; then a left tree of that cost, and a right one of those.
Amount Counts::draw_tree(std::size_t node, Amount least, Amount most, Random& random, Trees& trees) const {
    const auto put_leaf = [&](std::size_t leaf) {
        trees.axis.push_back(-1);
        trees.code.push_back(-1);
        trees.label.push_back(graph_.label[leaf]);
        return graph_.leaf[leaf];
    };
    if (graph_.is_leaf(node)) {
        return put_leaf(node);
    }
    const auto within = [&](Amount value) { return least <= value && value <= most; };
    const bool has_leaf = graph_.leaf[node] < unreachable && within(to_steps(graph_.leaf[node]));
    Count all = has_leaf ? 1 : 0;
    std::vector<Count> upto_edge;
    const auto first = static_cast<std::size_t>(graph_.first_edge[node]);
    for (std::size_t e = first; e < static_cast<std::size_t>(graph_.first_edge[node + 1]); ++e) {
        all += count_pairs(e, most) - count_pairs(e, least - 1);
        upto_edge.push_back(all);
    }
    const Count drawn = random.below(all);
    if (has_leaf && drawn == 0) {
        return put_leaf(node);
    }
    const std::size_t e = first + static_cast<std::size_t>(std::upper_bound(upto_edge.begin(), upto_edge.end(), drawn) -
                                                           upto_edge.begin());
    const auto l = static_cast<std::size_t>(graph_.left[e]);
    const auto r = static_cast<std::size_t>(graph_.right[e]);
    trees.axis.push_back(graph_.axis[e]);
    trees.code.push_back(graph_.code[e]);
    trees.label.push_back(graph_.label[node]);
    Entry leaves[2];
    const List left = list_of(l, leaves[0]);
    const List right = list_of(r, leaves[1]);
    std::vector<Count> upto_left;
    Count pairs = 0;
    Count before = 0;
    for (const Entry& one : left) {
        pairs += (one.upto - before) * (upto(right, most - one.value) - upto(right, least - 1 - one.value));
        upto_left.push_back(pairs);
        before = one.upto;
    }
    const std::size_t kept = trees.axis.size();
    while (true) {
        const Count pair = random.below(pairs);
        const std::size_t i =
            static_cast<std::size_t>(std::upper_bound(upto_left.begin(), upto_left.end(), pair) - upto_left.begin());
        const Amount value = left[i].value;
        const Amount cost = draw_tree(l, value, value, random, trees);
        const std::size_t middle = trees.axis.size();
        const Amount other = draw_tree(r, least - value, most - value, random, trees);
        const bool is_idle = middle == kept + 1 && trees.axis.size() == middle + 1 && graph_.are_idle(l, r);
        if (!is_idle) {
            return cost + other;
        }
        trees.axis.resize(kept);
        trees.code.resize(kept);
        trees.label.resize(kept);
    }
}

Trees Counts::draw(std::size_t n, std::uint64_t seed) const {
    Random random(seed);
    Trees trees;
    if (Optima(graph_).any[0] > graph_.budget) {
        return trees;  // there is none
    }
    // On a grid some of the trees that are drawn cost more than the budget: these are drawn again.
    const Amount most = step_ == 1 ? graph_.budget : graph_.budget / step_ + most_leaves_[0] / 2 + 1;
    while (trees.size() < n && !control_.should_stop()) {
        const std::size_t kept = trees.axis.size();
        const Amount cost = draw_tree(0, 0, most, random, trees);
        if (cost <= graph_.budget) {
            trees.close(cost);
        } else {
            trees.axis.resize(kept);
            trees.code.resize(kept);
            trees.label.resize(kept);
        }
    }
    return trees;
}

}  // namespace certree::good
