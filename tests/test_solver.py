"""The door to the engine: what comes back is judged by the data, never taken on the engine's word."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from certree import Limits, Problem, certify, solve, solver
from certree.solution import CertificateError

X = np.array([[0.0], [1.0], [2.0], [3.0]])


@pytest.fixture
def problem() -> Problem:
    return Problem.from_labels(X, ["a", "a", "b", "a"], [1, 2, 3, 4], regularization=0.01, max_depth=1)


def pretend(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the engine claim something else."""
    honest = solver._engine.solve
    monkeypatch.setattr(solver._engine, "solve", lambda **given: honest(**given) | changes)


def test_a_solution_states_loss_objective_and_bound(problem: Problem) -> None:
    solution = solve(problem)
    assert solution.is_optimal
    assert solution.gap == 0
    assert solution.loss == pytest.approx(0.3)
    assert solution.upper == solution.lower == pytest.approx(0.31)
    assert solution.tree.n_leaves == 1
    assert solution.certificate["certree"] == solver.PACKAGE_VERSION


@pytest.mark.parametrize("claim", [0.0, 0.2, 0.5, float("nan"), float("inf")])
def test_a_claim_that_the_data_refute_is_an_error(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, claim: float
) -> None:
    pretend(monkeypatch, upper=claim)
    with pytest.raises(CertificateError, match="the engine claims an objective of"):
        solve(problem)


@pytest.mark.parametrize("claim", [7.0, float("nan")])
def test_a_bound_above_the_objective_is_an_error(
    problem: Problem, monkeypatch: pytest.MonkeyPatch, claim: float
) -> None:
    pretend(monkeypatch, status="time_limit", lower=claim)
    with pytest.raises(CertificateError, match="no tree is below"):
        solve(problem, Limits(time_limit=1))


def test_a_bound_is_never_negative_and_leaves_room_for_rounding(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, status="time_limit", lower=-1.0)
    assert solve(problem, Limits(time_limit=1)).lower == 0
    pretend(monkeypatch, status="time_limit", lower=0.2, rounding=0.01)
    assert solve(problem, Limits(time_limit=1)).lower == pytest.approx(0.19)


@pytest.mark.parametrize(
    "settings", [{"max_depth": 0}, {"max_leaves": 1}, {"min_samples_leaf": 3}, {"min_weight_leaf": 11}]
)
def test_a_lone_leaf_is_always_allowed(settings: dict[str, Any]) -> None:
    problem = Problem.from_labels(X, [0, 0, 1, 1], [1, 2, 3, 4], **{"max_depth": 2, **settings})
    solution = solve(problem)
    assert solution.tree.n_leaves == 1
    assert solution.upper == pytest.approx(0.3)
    assert solution.upper == pytest.approx(float(certify.enumerate_optimum(problem)))
    assert solution.status == "optimal"


def test_too_few_rows_of_an_arm_leave_a_lone_leaf() -> None:
    problem = Problem.from_labels(X, [0, 0, 1, 1], max_depth=2, arms=["x", "x", "x", "y"], min_samples_arm=1)
    assert solve(problem).tree.n_leaves == 1
    enough = Problem.from_labels(X, [0, 0, 1, 1], max_depth=2, arms=["x", "y", "x", "y"], min_samples_arm=1)
    assert solve(enough).tree.n_leaves == 2


def test_equal_labels_go_to_the_first() -> None:
    problem = Problem.from_costs(X, np.ones((4, 3)), labels=["p", "q", "r"], max_depth=2)
    assert solve(problem).tree.predict(X).tolist() == ["p"] * 4


def test_rewards_are_costs_turned_round() -> None:
    rewards = np.array([[1.0, -2.0], [0.5, 3.0], [4.0, 4.0], [-1.0, 0.0]])
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    problem = Problem.from_rewards(X, rewards, weights, labels=["wait", "treat"], max_depth=2)
    solution = solve(problem)
    policy = (solution.tree.predict(X) == "treat").astype(int)
    value = weights @ rewards[np.arange(4), policy] / weights.sum()
    best = weights @ rewards.max(axis=1) / weights.sum()
    assert value == pytest.approx(best - solution.loss)
    assert problem.n_rows == 3


def test_labels_that_json_cannot_carry_become_text() -> None:
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    problem = Problem.from_labels(X, np.array([days[0], days[0], days[1], days[1]], dtype=object), max_depth=1)
    assert problem.labels == ("2020-01-01", "2021-01-01")


def test_one_weight_for_all_rows() -> None:
    assert Problem.from_labels(X, [0, 0, 1, 1], 2.5, max_depth=1).normaliser == 10


def test_features_may_be_made_beforehand(problem: Problem) -> None:
    again = Problem.from_labels(problem.features, ["a", "a", "b", "a"], [1, 2, 3, 4], regularization=0.01, max_depth=1)
    assert again.features is problem.features
    assert solve(again).upper == solve(problem).upper
    assert solve(problem.with_regularization(0.5)).upper == pytest.approx(0.8)


def test_unknown_switches_are_refused(problem: Problem) -> None:
    with pytest.raises(KeyError, match="warp"):
        solve(problem, switched_off=["warp"])


def test_where_nothing_costs_anything_nothing_is_rounded() -> None:
    solution = solve(Problem.from_costs(X, np.zeros((4, 2)), [1.0, 4.8, 0.2, 1.0], max_depth=1))
    assert solution.upper == 0
    assert solution.rounding < 1e-12


def test_limits_may_be_larger_than_any_tree() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    huge = solve(Problem.from_labels(X, y, regularization=0.01, max_depth=2**40, max_leaves=2**40))
    assert huge.status == "optimal"
    assert huge.upper == solve(Problem.from_labels(X, y, regularization=0.01, max_depth=2)).upper
