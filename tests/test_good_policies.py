"""Sets of good policies: enumeration over tiny tables, and agreement with PolicyTree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from all_trees import AllTrees, tree_of

from certree import good_trees
from certree.policy import PolicyTree, good_policies
from certree.policy import noise as noise_room
from certree.problem import Problem


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


# What the data cannot tell apart -------------------------------------------------------------------------------------


def labels_of(tree: Any, n_rows: int) -> Any:
    """The label of each row by a tree in the form of `all_trees`."""
    chosen = np.full(n_rows, -1)
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if len(node) == 3:
            waiting += node[1:]
        else:
            chosen[[i for i in range(n_rows) if node[0] >> i & 1]] = node[1]
    return chosen


def paired_error(rewards: Any, weights: Any, one: Any, two: Any) -> float:
    """The textbook formula, once more."""
    rows = np.arange(len(one))
    d = rewards[rows, one] - rewards[rows, two]
    mean = np.average(d, weights=weights)
    n = len(d)
    return float(np.sqrt(np.sum(weights**2 * (d - mean) ** 2) * n / (n - 1)) / weights.sum())


@pytest.mark.parametrize("seed", range(8))
def test_noise_equals_a_look_at_every_policy(seed: int) -> None:
    n = 24
    X, rewards, weights = make_rewards(seed, n, 2 + seed % 2)
    rewards = 0.3 * rewards + np.random.default_rng(seed).normal(size=rewards.shape)
    rewards[:, 0] += 1.5 * X[:, 0] - 1.5
    weights = weights if seed % 3 else np.ones(n)
    penalty = 0.05 * (seed % 2)
    found = good_policies(X, rewards, weights, tolerance="noise", max_depth=2, regularization=penalty)
    assert found.is_complete
    problem = Problem.from_rewards(X, rewards, weights, max_depth=2, regularization=penalty)
    everything = AllTrees(problem).list_good(1000.0)

    def objective(listed: Any) -> float:
        chosen = labels_of(listed.tree, n)
        return float(np.average(rewards[np.arange(n), chosen], weights=weights)) - penalty * listed.leaves

    best = everything[0]
    own = labels_of(best.tree, n)
    expected = Counter(
        other.tree
        for other in everything
        if objective(best) - objective(other)
        <= 1.645 * paired_error(rewards, weights, own, labels_of(other.tree, n)) + 1e-12
    )
    assert 1 < len(found) < len(everything)
    assert Counter(tree_of(found.superset.problem, member.policy.tree) for member in found) == expected
    for member in found:
        chosen = member.policy.tree.label[member.policy.tree.apply(X)]
        assert (chosen == member.policy.decide()).all()
        assert member.standard_error == pytest.approx(paired_error(rewards, weights, own, chosen), abs=1e-12)
    possible = np.zeros((n, rewards.shape[1]), dtype=bool)
    for tree in expected:
        possible[np.arange(n), labels_of(tree, n)] = True
    np.testing.assert_array_equal(found.rows().is_possible, possible)


@pytest.mark.parametrize(("unit", "weight"), [(1e-200, 1.0), (1e200, 1.0), (1.0, 1e-250), (1.0, 1e200), (1e-90, 1e-90)])
def test_noise_of_rewards_and_weights_in_any_unit(unit: float, weight: float) -> None:
    """Whose squares floats cannot hold."""
    rng = np.random.default_rng(0)
    X, rewards, weights = rng.integers(0, 4, (30, 2)), rng.normal(size=(30, 2)), rng.lognormal(size=30)
    for given in (np.ones(30), weights):
        plain = good_policies(X, rewards, given, tolerance="noise", max_depth=2)
        found = good_policies(X, rewards * unit, given * weight, tolerance="noise", max_depth=2)
        assert len(found) == len(plain) > 5
        errors = [member.standard_error / unit for member in found]
        assert errors == pytest.approx([member.standard_error for member in plain])


def test_noise_says_what_it_did_not_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    X, rewards, _ = make_rewards(1, 12, 2)
    whole = good_policies(X, rewards, tolerance="noise", max_depth=2)
    monkeypatch.setattr(noise_room, "MOST_LISTED", 5)
    found = good_policies(X, rewards, tolerance="noise", max_depth=2)
    assert not found.is_complete
    assert found.complete_above == found.superset[4].objective
    assert "complete above" in repr(found)
    assert [member.policy.tests for member in found] == [member.policy.tests for member in whole[: len(found)]]
    with pytest.raises(ValueError, match="'noise', not 'nois'"):
        good_policies(X, rewards, tolerance="nois")
    with pytest.raises(ValueError, match="before the best policy was known"):
        good_policies(X, rewards, tolerance="noise", time_limit=0.0, max_leaves=3)


def test_second_measures_range_over_the_whole_set() -> None:
    X, rewards, weights = make_rewards(3, 12, 3)
    weights[2] = 0.0
    spends = np.random.default_rng(0).random((12, 3))
    group = np.array(["a", "b", "b", "a", "a", "b"] * 2)
    found = good_policies(X, rewards, weights, tolerance=0.3, max_depth=2)
    kept = weights > 0
    means, shares = [], []
    for policy in found:
        chosen = policy.tree.label[policy.tree.apply(X)]
        means.append(np.average(spends[np.arange(12), chosen], weights=weights))
        shares.append([[np.average(chosen[own] == k, weights=weights[own]) for k in range(3)]
                       for own in (kept & (group == "a"), kept & (group == "b"))])  # fmt: skip
    spread = found.spread(spends)
    assert (spread.n_trees, spread.is_exact) == (len(found), True)
    assert (spread.least, spread.most) == pytest.approx((min(means), max(means)))
    first = found[int(np.argmin(means))]
    assert (spread.least_tree._axis, spread.least_tree._code) == (first._axis, first._code)
    rates = found.rates(group)
    assert [(rate.group, rate.label) for rate in rates] == [(g, k) for g in "ab" for k in range(3)]
    assert [rate.least for rate in rates] == pytest.approx(np.min(shares, axis=0).ravel().tolist())
    assert [rate.most for rate in rates] == pytest.approx(np.max(shares, axis=0).ravel().tolist())
    by_action = found.spread({0: 0.0, 1: 1.0, 2: 1.0})
    treated = found.spread(lambda chosen: np.average(chosen != 0, weights=weights[kept]))
    assert (by_action.least, by_action.most) == pytest.approx((treated.least, treated.most))
    some = found.spread(lambda chosen: np.average(chosen != 0, weights=weights[kept]), most_trees=2)
    assert (some.n_trees, some.is_exact) == (2, False)
    noise = good_policies(X, rewards, weights, tolerance="noise", max_depth=1)
    assert noise.spread(spends).least <= noise.spread(spends).most
    assert len(noise.rates(group)) == 6
    with pytest.raises(ValueError, match="no amount for 2"):
        found.spread({0: 0.0, 1: 1.0})
    with pytest.raises(ValueError, match="one for each of 0, 1, 2"):
        found.spread(spends[:, :2])
    with pytest.raises(ValueError, match="one entry for each row"):
        found.rates(group[:3])
    assert good_trees(X, rewards[:, 0] > 0, tolerance=0.1, max_depth=1).spread({False: 0, True: 1}).is_exact
