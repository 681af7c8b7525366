"""scikit-learn's greedy tree (CART)."""

from __future__ import annotations

import numpy as np

from benchmarks.adapters.base import UNLIMITED, Outcome, Weights, clock, judged
from benchmarks.tables import Table


def fit_cart(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """scikit-learn's greedy tree: no optimum, a yardstick for seconds. Depth 0 stands for its default, no limit."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth or None, random_state=0)
    start = clock()
    model.fit(table.X, table.y, sample_weight=weights)
    seconds = clock() - start
    leaves = int(model.get_n_leaves())
    return judged(table, model.predict, seconds, "greedy", leaves, penalty, weights)


def fit_pruned_cart(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """scikit-learn's greedy tree, cut back so that no leaf costs more in λ than it saves in errors."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=None if depth == UNLIMITED else depth, random_state=0)
    start = clock()
    model.fit(table.X, table.y, sample_weight=weights)
    grown = model.tree_
    # Shares of the whole weight: what a node gets wrong as a leaf, and the best that is made of it. Children stand
    # behind their parents.
    share = grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
    as_leaf = share * (1 - grown.value[:, 0, :].max(axis=1)) + penalty
    best, leaves = as_leaf.copy(), np.ones(grown.node_count, dtype=np.int64)
    for node in range(grown.node_count - 1, -1, -1):
        left, right = grown.children_left[node], grown.children_right[node]
        if left >= 0 and best[left] + best[right] < as_leaf[node]:
            best[node], leaves[node] = best[left] + best[right], leaves[left] + leaves[right]
    seconds = clock() - start
    return Outcome(seconds, float(best[0]), "greedy", int(leaves[0]), {})
