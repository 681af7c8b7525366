#include "good/graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace certree::good {

namespace {

Amount add(Amount one, Amount two) {
    return one >= unreachable || two >= unreachable ? unreachable : one + two;
}

}  // namespace

Optima::Optima(const Graph& graph)
    : any(graph.n_nodes(), unreachable), split(graph.n_nodes(), unreachable), edge(graph.n_edges(), unreachable) {
    for (std::size_t node = graph.n_nodes(); node-- > 0;) {
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            const auto l = static_cast<std::size_t>(graph.left[e]);
            const auto r = static_cast<std::size_t>(graph.right[e]);
            edge[e] = std::min(add(split[l], any[r]), add(any[l], split[r]));
            if (!graph.are_idle(l, r)) {
                edge[e] = std::min(edge[e], add(graph.leaf[l], graph.leaf[r]));
            }
            split[node] = std::min(split[node], edge[e]);
        }
        any[node] = std::min(graph.leaf[node], split[node]);
    }
}

std::vector<Amount> best_through(const Graph& graph) {
    const Optima best(graph);
    std::vector<Amount> around(graph.n_nodes(), unreachable);
    std::vector<Amount> through(graph.n_edges(), unreachable);
    around[0] = 0;
    for (std::size_t node = 0; node < graph.n_nodes(); ++node) {
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            const auto l = static_cast<std::size_t>(graph.left[e]);
            const auto r = static_cast<std::size_t>(graph.right[e]);
            through[e] = add(around[node], best.edge[e]);
            around[l] = std::min(around[l], add(around[node], best.any[r]));
            around[r] = std::min(around[r], add(around[node], best.any[l]));
        }
    }
    return through;
}

// The best trees of the sides say what each side may cost, from the root down; an edge without a tree that costs so
// little has no good tree. Costs of trees that are still open are known from below only: where they count, a node is
// taken to cost the least that it may.
Amount prune(Graph& graph, const std::vector<Open>& open) {
    const Optima best(graph);
    const std::size_t n_nodes = graph.n_nodes();
    Amount missing = unreachable;
    if (!open.empty()) {
        std::vector<Amount> lower(n_nodes, unreachable);
        for (const Open& part : open) {
            lower[static_cast<std::size_t>(part.node)] = part.lower;
        }
        std::vector<Amount> own = lower;
        std::vector<Amount> outside(n_nodes, unreachable);
        for (std::size_t node = n_nodes; node-- > 0;) {
            lower[node] = std::min(lower[node], graph.leaf[node]);
            for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
                 e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
                lower[node] = std::min(lower[node], add(lower[static_cast<std::size_t>(graph.left[e])],
                                                        lower[static_cast<std::size_t>(graph.right[e])]));
            }
        }
        outside[0] = 0;
        for (std::size_t node = 0; node < n_nodes; ++node) {
            missing = std::min(missing, add(outside[node], own[node]));
            for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
                 e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
                const auto l = static_cast<std::size_t>(graph.left[e]);
                const auto r = static_cast<std::size_t>(graph.right[e]);
                outside[l] = std::min(outside[l], add(outside[node], lower[r]));
                outside[r] = std::min(outside[r], add(outside[node], lower[l]));
            }
        }
    }
    std::vector<Amount> budget(n_nodes, -1);
    std::vector<std::int32_t> number(n_nodes, -1);
    budget[0] = graph.budget;
    Graph kept;
    kept.budget = graph.budget;
    kept.has_idle = graph.has_idle;
    for (std::size_t node = 0; node < n_nodes; ++node) {
        // The root stays even where nothing costs so little: a graph without nodes would be none.
        if (budget[node] < 0 && node > 0) {
            continue;
        }
        number[node] = static_cast<std::int32_t>(kept.n_nodes());
        kept.add_node(graph.leaf[node], graph.label[node], graph.is_asked[node]);
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            if (best.edge[e] > budget[node]) {
                continue;
            }
            const auto l = static_cast<std::size_t>(graph.left[e]);
            const auto r = static_cast<std::size_t>(graph.right[e]);
            budget[l] = std::max(budget[l], budget[node] - best.any[r]);
            budget[r] = std::max(budget[r], budget[node] - best.any[l]);
            kept.add_edge(graph, e, graph.left[e], graph.right[e]);
        }
        kept.first_edge.push_back(static_cast<std::int64_t>(kept.n_edges()));
    }
    for (std::vector<std::int32_t>* side : {&kept.left, &kept.right}) {
        for (std::int32_t& node : *side) {
            node = number[static_cast<std::size_t>(node)];
        }
    }
    graph = std::move(kept);
    return missing;
}

Graph keep_edges(const Graph& graph, std::span<const std::uint8_t> is_kept, bool has_lone_leaf, Amount budget) {
    Graph kept;
    kept.leaf = graph.leaf;
    kept.label = graph.label;
    kept.is_asked = graph.is_asked;
    kept.budget = std::min(graph.budget, budget);
    kept.has_idle = graph.has_idle;
    if (!has_lone_leaf) {
        kept.leaf[0] = unreachable;
    }
    for (std::size_t node = 0; node < graph.n_nodes(); ++node) {
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            if (is_kept[e] != 0) {
                kept.add_edge(graph, e, graph.left[e], graph.right[e]);
            }
        }
        kept.first_edge.push_back(static_cast<std::int64_t>(kept.n_edges()));
    }
    prune(kept);
    return kept;
}

Graph with_leaves(const Graph& graph, int least, int most) {
    // From the bottom up, the numbers of leaves that trees of a node may have, as far as they are of use.
    const std::size_t n_nodes = graph.n_nodes();
    std::vector<std::vector<bool>> has(n_nodes);
    const auto width = static_cast<std::size_t>(most) + 1;
    for (std::size_t node = n_nodes; node-- > 0;) {
        has[node].assign(width, false);
        has[node][1] = graph.leaf[node] < unreachable;
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            const std::vector<bool>& l = has[static_cast<std::size_t>(graph.left[e])];
            const std::vector<bool>& r = has[static_cast<std::size_t>(graph.right[e])];
            for (std::size_t i = 1; i < width; ++i) {
                for (std::size_t j = 1; l[i] && i + j < width; ++j) {
                    if (r[j]) {
                        has[node][i + j] = true;
                    }
                }
            }
        }
    }
    // The new nodes in the order of the old ones: (node, leaves), the root with all its numbers at once.
    std::map<std::pair<std::size_t, std::size_t>, std::int32_t> number;
    Graph parted;
    parted.budget = graph.budget;
    parted.has_idle = graph.has_idle;
    std::vector<std::pair<std::size_t, std::size_t>> wanted(1);
    for (std::size_t node = 1; node < n_nodes; ++node) {
        for (std::size_t m = 1; m < width; ++m) {
            if (has[node][m]) {
                number[{node, m}] = static_cast<std::int32_t>(wanted.size());
                wanted.emplace_back(node, m);
            }
        }
    }
    for (const auto& [node, leaves] : wanted) {
        const bool is_root = leaves == 0;
        const bool has_leaf = is_root ? least <= 1 : leaves == 1;
        parted.add_node(has_leaf ? graph.leaf[node] : unreachable, graph.label[node], graph.is_asked[node]);
        const std::size_t from = is_root ? static_cast<std::size_t>(std::max(least, 2)) : leaves;
        const std::size_t to = is_root ? width - 1 : leaves;
        for (auto e = static_cast<std::size_t>(graph.first_edge[node]);
             e < static_cast<std::size_t>(graph.first_edge[node + 1]); ++e) {
            const auto l = static_cast<std::size_t>(graph.left[e]);
            const auto r = static_cast<std::size_t>(graph.right[e]);
            for (std::size_t m = from; m <= to; ++m) {
                for (std::size_t i = 1; i < m; ++i) {
                    if (has[l][i] && has[r][m - i]) {
                        parted.add_edge(graph, e, number[{l, i}], number[{r, m - i}]);
                    }
                }
            }
        }
        parted.first_edge.push_back(static_cast<std::int64_t>(parted.n_edges()));
    }
    prune(parted);
    return parted;
}

}  // namespace certree::good
