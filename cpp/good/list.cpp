// Good trees in order of cost, as many as are asked for: lazy k-best derivations. A node knows its best trees as far as
// they were asked for and has a heap of what may come next; the k-th tree of an edge is a pair (i, j) of trees of its
// sides, and asks them for no more than that.
#include <algorithm>
#include <memory>
#include <tuple>

#include "good/counts.hpp"

namespace certree::good {

namespace {

class Lister {
public:
    Lister(const Graph& graph) : graph_(graph), best_(graph), states_(graph.n_nodes()) {}

    // Whether the node has so many good trees and one more; it is then known.
    bool has(std::size_t node, std::size_t k);
    Amount value(std::size_t node, std::size_t k) { return states_[node]->trees[k].value; }
    void write(std::size_t node, std::size_t k, Trees& trees) const;

private:
    struct Made {
        Amount value;
        std::int64_t edge;  // −1: the leaf
        std::uint32_t left;
        std::uint32_t right;
        bool operator>(const Made& other) const {
            return std::tie(value, edge, left, right) > std::tie(other.value, other.edge, other.left, other.right);
        }
    };
    struct State {
        std::vector<Made> trees;
        std::vector<Made> heap;
    };

    void push(State& state, const Made& made) {
        if (made.value <= graph_.budget) {
            state.heap.push_back(made);
            std::push_heap(state.heap.begin(), state.heap.end(), std::greater<>());
        }
    }
    void start(std::size_t node);
    bool is_leaf(std::size_t node, std::size_t k) const { return states_[node]->trees[k].edge < 0; }

    const Graph& graph_;
    Optima best_;
    std::vector<std::unique_ptr<State>> states_;
};

void Lister::start(std::size_t node) {
    states_[node] = std::make_unique<State>();
    State& state = *states_[node];
    if (graph_.leaf[node] < unreachable) {
        push(state, {graph_.leaf[node], -1, 0, 0});
    }
    for (std::int64_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
        const auto l = static_cast<std::size_t>(graph_.left[static_cast<std::size_t>(e)]);
        const auto r = static_cast<std::size_t>(graph_.right[static_cast<std::size_t>(e)]);
        push(state, {best_.any[l] + best_.any[r], e, 0, 0});
    }
}

bool Lister::has(std::size_t node, std::size_t k) {
    if (!states_[node]) {
        start(node);
    }
    State& state = *states_[node];
    while (state.trees.size() <= k && !state.heap.empty()) {
        std::pop_heap(state.heap.begin(), state.heap.end(), std::greater<>());
        const Made made = state.heap.back();
        state.heap.pop_back();
        if (made.edge < 0) {
            state.trees.push_back(made);
            continue;
        }
        const auto l = static_cast<std::size_t>(graph_.left[static_cast<std::size_t>(made.edge)]);
        const auto r = static_cast<std::size_t>(graph_.right[static_cast<std::size_t>(made.edge)]);
        if (!has(l, made.left) || !has(r, made.right)) {
            continue;
        }
        // Every pair is reached once: first along the left trees, then along the right ones.
        if (made.right == 0 && has(l, made.left + 1)) {
            push(state, {value(l, made.left + 1) + value(r, 0), made.edge, made.left + 1, 0});
        }
        if (has(r, made.right + 1)) {
            push(state, {value(l, made.left) + value(r, made.right + 1), made.edge, made.left, made.right + 1});
        }
        if (!(is_leaf(l, made.left) && is_leaf(r, made.right) && graph_.are_idle(l, r))) {
            state.trees.push_back(made);
        }
    }
    return state.trees.size() > k;
}

void Lister::write(std::size_t node, std::size_t k, Trees& trees) const {
    const Made& made = states_[node]->trees[k];
    trees.label.push_back(graph_.label[node]);
    if (made.edge < 0) {
        trees.axis.push_back(-1);
        trees.code.push_back(-1);
        return;
    }
    const auto e = static_cast<std::size_t>(made.edge);
    trees.axis.push_back(graph_.axis[e]);
    trees.code.push_back(graph_.code[e]);
    write(static_cast<std::size_t>(graph_.left[e]), made.left, trees);
    write(static_cast<std::size_t>(graph_.right[e]), made.right, trees);
}

}  // namespace

Trees list_trees(const Graph& graph, std::size_t first, std::size_t last, const Control& control) {
    Lister lister(graph);
    Trees trees;
    for (std::size_t k = 0; k < last && (k % 256 != 0 || !control.should_stop()) && lister.has(0, k); ++k) {
        if (k >= first) {
            lister.write(0, k, trees);
            trees.close(lister.value(0, k));
        }
    }
    return trees;
}

}  // namespace certree::good
