"""Sets of good policies: enumeration over tiny tables, and agreement with PolicyTree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from all_trees import AllTrees, tree_of

from certree.policy import PolicyTree, good_policies


def make_rewards(seed: int, n_rows: int, n_actions: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n_rows, 2)).astype(float)
    rewards = rng.integers(-2, 4, (n_rows, n_actions)).astype(float)
    return X, rewards, rng.integers(1, 4, n_rows).astype(float)


@pytest.mark.parametrize("seed", range(12))
def test_equals_enumeration(seed: int) -> None:
    X, rewards, weights = make_rewards(seed, 9, 2 + seed % 3)
    found = good_policies(X, rewards, weights, tolerance=0.2, max_depth=2, regularization=0.01 * (seed % 2))
    oracle = AllTrees(found.problem)
    expected = oracle.list_good(0.2)
    assert found.count == len(expected)
    forms = Counter(tree_of(found.problem, policy.tree) for policy in found)
    assert forms == Counter(other.tree for other in expected)
    # A better policy has a greater objective, which is its mean reward less the penalty.
    objectives = [policy.objective for policy in found]
    assert objectives == sorted(objectives, reverse=True)
    for policy in found[:50]:
        action = policy.tree.label[policy.tree.apply(X)]
        value = np.average(rewards[np.arange(len(X)), action], weights=weights)
        assert policy.objective == pytest.approx(value - 0.01 * (seed % 2) * policy.n_leaves)
        assert policy.objective >= found.threshold - 1e-12


@pytest.mark.parametrize("n_actions", [2, 4])
def test_agrees_with_the_best_policy(n_actions: int) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3)).round(1)
    rewards = rng.normal(size=(200, n_actions)) + (X[:, :1] > 0) * np.arange(n_actions)
    treatment = rng.integers(0, n_actions, 200)
    model = PolicyTree(2, 0.02, min_samples_leaf=10, min_samples_arm=2).fit(X, rewards, treatment=treatment)
    found = good_policies(
        X, rewards, tolerance=0.05, regularization=0.02, min_samples_leaf=10, min_samples_arm=2, treatment=treatment
    )
    assert found.is_complete
    assert found.optimum == pytest.approx(model.objective_)
    assert found.best.objective == pytest.approx(model.objective_)
    for policy in found[:100]:
        leaf = policy.tree.apply(X)
        assert min(np.bincount(leaf)[np.unique(leaf)]) >= 10
    facts = found.rows()
    assert facts.objective.shape == (200, n_actions)
    assert np.nanmax(facts.objective) == pytest.approx(model.objective_)
    chosen = model.tree_.label[model.tree_.apply(X)]
    assert facts.is_possible[np.arange(200), chosen].all()
    prices = [fact.price for fact in found.columns()]
    assert min(prices) >= 0
    assert found.roots()[0].objective == pytest.approx(model.objective_)


def test_bad_input() -> None:
    X, rewards, _ = make_rewards(0, 9, 2)
    with pytest.raises(ValueError, match="tolerance"):
        good_policies(X, rewards, tolerance=float("nan"))
    with pytest.raises(ValueError, match="min_samples_arm"):
        good_policies(X, rewards, tolerance=0.1, min_samples_arm=1)
