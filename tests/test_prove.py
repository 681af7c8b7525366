"""The bound proved again: true ones are, false ones are refuted by a better tree, and a limit is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from random_problems import CONSTRAINTS, Table, tables

from certree import PolicyTree, SparseTreeClassifier, certify, solve
from certree.prove import SWITCHED_OFF, prove
from certree.solver import SWITCHES
from certree.weights import WeightLossWarning


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (150, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] * (rng.random(150) < 0.8) > 7).astype(int)
    return X, y, rng.lognormal(size=150)


def test_what_is_switched_off_exists() -> None:
    assert set(SWITCHED_OFF) <= set(SWITCHES)


@pytest.mark.parametrize("constraints", [(), CONSTRAINTS], ids=str)
def test_true_bounds_are_proved(constraints: tuple[str, ...]) -> None:
    @settings(max_examples=25)
    @given(tables(depths=(0, 1, 2, 3), constraints=constraints))
    def compare(table: Table) -> None:
        solution = solve(table.problem)
        facts = {"sample_weight": table.weights, "arms": table.arms if "min_samples_arm" in table.settings else None}
        facts |= {"y": table.y + 0 if table.costs is None else None, "costs": table.costs}
        if table.costs is None:
            # The labels of a problem are those that occur.
            assert set(np.unique(table.y)) == set(solution.tree.labels)
        proof = prove(solution.certificate, solution.tree, table.X, **facts)
        assert proof.is_proved
        assert not proof.is_refuted

    compare()


@pytest.mark.parametrize(
    "how",
    [
        {"method": "duplicate"}, {"method": "sample"}, {"reference": "boosting"}, {"thresholds": 3},
        {"time_limit": 0.0}, {"max_leaves": 3}, {"class_weight": "balanced"},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore", category=WeightLossWarning)
def test_bounds_of_every_sort_are_proved(table: Any, how: dict[str, Any]) -> None:
    X, y, weights = table
    model = SparseTreeClassifier(3, 0.005, random_state=0, **how).fit(X, y, weights)
    assert prove(model.certificate_, model.tree_, X, y, weights).is_proved


def test_a_false_bound_is_refuted_by_a_tree(table: Any) -> None:
    X, y, weights = table
    best = SparseTreeClassifier(2, 0.005).fit(X, y, weights)
    # A lone leaf that a forger calls optimal at depth 2, everything else put right.
    worse = SparseTreeClassifier(0, 0.005).fit(X, y, weights)
    own = {name: best.certificate_[name] for name in ("constraints", "digests", "rounding", "sizes")}
    claim = dict(worse.certificate_) | own
    assert certify.check(claim, worse.tree_, X, y, weights).holds
    proof = prove(claim, worse.tree_, X, y, weights)
    assert proof.is_refuted
    assert not proof.is_proved
    assert proof.better is not None
    assert proof.better_objective == pytest.approx(best.objective_, rel=1e-12)
    wrong = (proof.better.predict(X) != y) @ weights / weights.sum()
    assert proof.better_objective == pytest.approx(wrong + 0.005 * proof.better.n_leaves, rel=1e-12)


def test_a_limit_leaves_the_proof_open() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
    model = SparseTreeClassifier(3, 0.001).fit(X, y)
    proof = prove(model.certificate_, model.tree_, X, y, time_limit=0.0)
    assert not proof.is_proved
    assert not proof.is_refuted
    assert proof.status == "time_limit"
    assert 0 <= proof.lower < model.lower_bound_


@pytest.mark.parametrize("budget", [None, 0.1, 0.35, np.inf])
def test_policies_and_budgets(table: Any, budget: float | None) -> None:
    X, _, weights = table
    rewards = np.random.default_rng(4).normal(size=(150, 3)) + np.outer(X[:, 0] - 4, [0, 1, -1])
    spends = None if budget is None else {0: 0.0, 1: 1.0, 2: 0.5}
    model = PolicyTree(2, 0.01, budget=budget).fit(X, rewards, weights, spends=spends)
    facts: dict[str, Any] = {"sample_weight": weights, "rewards": rewards, "spends": spends}
    assert prove(model.certificate_, model.tree_, X, **facts).is_proved
    worse = PolicyTree(0, 0.01, budget=budget).fit(X, rewards, weights, spends=spends)
    own = {name: model.certificate_[name] for name in ("constraints", "digests", "sizes")}
    claim = dict(worse.certificate_) | own | {"budget": {**model.certificate_.get("budget", {}), "price": 0.3}}
    if budget is None:
        del claim["budget"]
    assert prove(claim, worse.tree_, X, **facts).is_refuted


def test_what_does_not_hold_is_not_proved(table: Any) -> None:
    X, y, weights = table
    model = SparseTreeClassifier(1).fit(X, y, weights)
    with pytest.raises(ValueError, match="objective is 'low'"):
        prove(model.certificate_ | {"objective": "low"}, model.tree_, X, y, weights)
