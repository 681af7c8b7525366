"""A search that is cut short never ends with less than a greedy tree, pruned at the penalty under the same limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from certree import Limits, PolicyTree, Problem, SparseTreeClassifier, solve


def objective(tree: Any, X: Any, y: Any, weights: Any, penalty: float) -> float:
    return float(np.average(tree.predict(X) != y, weights=weights) + penalty * tree.get_n_leaves())


def pruned_cart(X: Any, y: Any, weights: Any, penalty: float, **limits: Any) -> float:
    """The least objective of the trees that scikit-learn prunes a greedy one to, whatever its own price of a leaf."""
    settings = {"random_state": 0, **limits}
    path = DecisionTreeClassifier(**settings).cost_complexity_pruning_path(X, y, weights)
    alphas = np.unique(np.quantile(np.maximum(path.ccp_alphas, 0), np.linspace(0, 1, 12), method="nearest"))
    fits = (DecisionTreeClassifier(**settings, ccp_alpha=alpha).fit(X, y, weights) for alpha in (penalty, *alphas))
    return min(objective(tree, X, y, weights, penalty) for tree in fits)


def draw(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(200, 1500)), int(rng.integers(2, 9))
    X = rng.normal(size=(n_rows, n_columns))
    if seed % 3 == 2:
        X = np.round(2 * X)  # equal rows with different labels
    score = X.sum(axis=1) + rng.normal(scale=rng.choice([0.1, 1.0]), size=n_rows)
    n_labels = int(rng.choice([2, 2, 3, 5]))
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_labels + 1)[1:-1]))
    weights = np.ones(n_rows) if seed % 2 else rng.lognormal(size=n_rows)
    return X, y, weights


@pytest.mark.parametrize("seed", range(12))
def test_never_less_than_a_pruned_greedy_tree(seed: int) -> None:
    X, y, weights = draw(seed)
    rng = np.random.default_rng(seed)
    penalty = float(rng.choice([0.0005, 0.002, 0.01]))
    depth = rng.choice([2, 4, 6, None])
    limits: dict[str, Any] = {}
    if seed % 4 == 1:
        limits["min_samples_leaf"] = int(rng.integers(2, 30))
    if seed % 4 == 2:
        limits["max_leaves"] = int(rng.integers(3, 20))
    if seed % 4 == 3:
        limits["min_weight_leaf"] = float(0.02 * weights.sum())
    problem = Problem.from_labels(X, y, weights, regularization=penalty, max_depth=depth, **limits)
    # A second for 100,000 rows is the promise; the rest is for slow machines.
    solution = solve(problem, Limits(time_limit=len(X) / 1e5 + 0.3))
    names = {"max_leaves": "max_leaf_nodes", "min_weight_leaf": "min_weight_fraction_leaf"}
    given = {names.get(name, name): value for name, value in limits.items()}
    if "min_weight_fraction_leaf" in given:
        given["min_weight_fraction_leaf"] = 0.02
    assert solution.upper <= pruned_cart(X, y, weights, penalty, max_depth=depth, **given) + 1e-9


def test_additive_truth_at_depth_six() -> None:
    # A tree of depth three helps little here: a search that runs out of time at depth four used to end with one.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = (X.sum(axis=1) + 0.5 * rng.normal(size=1500) > 0).astype(int)
    model = SparseTreeClassifier(6, 0.002, time_limit=0.5).fit(X, y)
    assert model.objective_ <= pruned_cart(X, y, np.ones(1500), 0.002, max_depth=6) + 1e-9


def test_policies_start_from_a_tree_too() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 6))
    best = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    rewards = (np.arange(4) == best[:, None]) + rng.normal(scale=0.1, size=(3000, 4))
    policy = PolicyTree(5, 0.001, time_limit=0.5).fit(X, rewards)
    assert policy.tree_.n_leaves >= 4
    assert policy.value_ > 0.9
