"""The notary: does enumeration look at every tree, and does a check notice every untruth?"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from random_problems import CONSTRAINTS, Table, tables

from certree import Problem, SparseTreeClassifier, certify, solve


def list_trees(problem: Problem, rows: frozenset[int], depth: int, leaves: int) -> Any:
    """Literally every tree on these rows, as (number of leaves, exact cost). No memory, no bits, no cleverness."""
    if not is_leaf_allowed(problem, rows):
        return
    yield 1, min(leaf_costs(problem, rows))
    if depth == 0 or leaves < 2:
        return
    for axis, codes in zip(problem.features.axes, problem.features.codes, strict=True):
        for code in range(axis.size):
            inside = frozenset(
                row for row in rows if (codes[row] == code if axis.is_categorical else codes[row] <= code)
            )
            outside = rows - inside
            if inside and outside:
                lefts = list(list_trees(problem, inside, depth - 1, leaves - 1))
                rights = list(list_trees(problem, outside, depth - 1, leaves - 1))
                for (left, left_cost), (right, right_cost) in itertools.product(lefts, rights):
                    if left + right <= leaves:
                        yield left + right, left_cost + right_cost


def is_leaf_allowed(problem: Problem, rows: frozenset[int]) -> bool:
    if len(rows) < problem.min_samples_leaf:
        return False
    if sum(Fraction(float(problem.weights[row])) for row in rows) < Fraction(problem.min_weight_leaf):
        return False
    if problem.arms is None:
        return True
    arms = [int(problem.arms[row]) for row in rows]
    return all(arms.count(arm) >= problem.min_samples_arm for arm in range(problem.n_arms))


def leaf_costs(problem: Problem, rows: frozenset[int]) -> list[Fraction]:
    if problem.costs is not None:
        return [
            sum((Fraction(float(problem.costs[row, k])) for row in rows), Fraction(0))
            for k in range(len(problem.labels))
        ]
    assert problem.y is not None
    return [
        sum((Fraction(float(problem.weights[row])) for row in rows if problem.y[row] != k), Fraction(0))
        for k in range(len(problem.labels))
    ]


@pytest.mark.parametrize("constraints", [(), *((name,) for name in CONSTRAINTS), CONSTRAINTS], ids=str)
def test_enumeration_looks_at_every_tree(constraints: tuple[str, ...]) -> None:
    @settings(max_examples=25)
    @given(tables(depths=(0, 1, 2), constraints=constraints, shrink=0.2))
    def compare(table: Table) -> None:
        problem = table.problem
        rows = frozenset(range(problem.n_rows))
        best: dict[int, Fraction] = {}
        for leaves, cost in list_trees(problem, rows, problem.max_depth or 0, problem.max_leaves or problem.n_rows):
            best[leaves] = min(cost, best.get(leaves, cost))
        if not best:
            best = {1: min(leaf_costs(problem, rows))}
        assert certify.enumerate_front(problem) == best
        optimum = min(
            cost / Fraction(problem.normaliser) + Fraction(problem.regularization) * k for k, cost in best.items()
        )
        assert certify.enumerate_optimum(problem) == optimum

    compare()


@given(tables(depths=(3, None), shrink=0.4))
@settings(max_examples=10)
def test_enumeration_looks_at_every_deeper_tree(table: Table) -> None:
    table = replace(table, X=table.X.iloc[:, :1])
    problem = table.problem
    rows = frozenset(range(problem.n_rows))
    assume(problem.features.n_tests <= 5)
    depth = problem.n_rows if problem.max_depth is None else problem.max_depth
    best: dict[int, Fraction] = {}
    for leaves, cost in list_trees(problem, rows, depth, problem.n_rows):
        best[leaves] = min(cost, best.get(leaves, cost))
    assert certify.enumerate_front(problem) == best


# Checking a certificate -----------------------------------------------------------------------------------------------


@pytest.fixture
def fitted() -> tuple[SparseTreeClassifier, Any, Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (40, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 3, "yes", "no")
    weights = rng.lognormal(size=40)
    weights[:3] = 0
    model = SparseTreeClassifier(2, 0.01, min_samples_leaf=2, min_weight_leaf=0.5, max_leaves=4)
    return model.fit(X, y, weights), X, y, weights


def test_a_true_certificate_holds(fitted: Any) -> None:
    model, X, y, weights = fitted
    verdict = certify.check(model.certificate_, model.tree_, X, y, weights, prove_bound=True)
    assert verdict.holds
    assert verdict.failures == ()
    assert verdict.is_bound_proved
    assert verdict.objective == pytest.approx(model.objective_, abs=1e-15)
    wrong = (model.predict(X) != y) @ weights / weights.sum()
    assert verdict.loss == pytest.approx(wrong, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objective": 0.5}, "objective is 0.5 in the certificate"),
        ({"loss": 0.5}, "loss is 0.5"),
        ({"leaves": 1}, "leaves is 1 in the certificate, but"),
        ({"depth": 9}, "depth is 9"),
        ({"status": "perfect"}, "status is 'perfect', not one of"),
        ({"lower_bound": 9.0}, "lower_bound 9.0 is above objective"),
        ({"gap": 0.25}, "gap is 0.25, but"),
        ({"lower_bound": 0.0}, "status is optimal, but lower_bound 0.0"),
        ({"weight": 1.0}, "weight is 1.0 in the certificate"),
        ({"sizes": {"rows": 7}}, "rows is 7 in the certificate, but 40"),
        ({"sizes": {"rows_weighted": 7}}, "rows_weighted is 7 in the certificate, but 37"),
        ({"sizes": {"labels": 7}}, "labels is 7"),
        ({"constraints": {"max_depth": 1}}, "above max_depth 1"),
        ({"constraints": {"max_leaves": 2}}, "above max_leaves 2"),
        ({"constraints": {"min_samples_leaf": 15}}, "below min_samples_leaf 15"),
        ({"constraints": {"min_weight_leaf": 1e6}}, "below min_weight_leaf"),
    ],
)
def test_a_check_says_what_does_not_hold(fitted: Any, change: dict[str, Any], words: str) -> None:
    model, X, y, weights = fitted
    certificate = dict(model.certificate_)
    for name, value in change.items():
        certificate[name] = certificate[name] | value if isinstance(value, dict) else value
    verdict = certify.check(certificate, model.tree_, X, y, weights)
    assert not verdict.holds
    assert any(words in failure for failure in verdict.failures), verdict.failures


def test_a_limit_is_missed_by_one(fitted: Any) -> None:
    model, X, y, weights = fitted
    fewest = int(model.tree_.rows[model.tree_.leaves].min())
    for name, kept, missed in (
        ("max_depth", model.depth_, model.depth_ - 1),
        ("max_leaves", model.n_leaves_, model.n_leaves_ - 1),
        ("min_samples_leaf", fewest, fewest + 1),
    ):
        for limit, is_missed in ((kept, False), (missed, True)):
            constraints = model.certificate_["constraints"] | {name: limit}
            claim = model.certificate_ | {"constraints": constraints}
            failures = certify.check(claim, model.tree_, X, y, weights).failures
            assert any(f"{name} {limit}" in failure for failure in failures) == is_missed, failures


@pytest.mark.parametrize("rounding", [10.0, 1e-12, 0.0])
def test_a_certificate_cannot_allow_itself_rounding(fitted: Any, rounding: float) -> None:
    model, X, y, weights = fitted
    lies = {"rounding": rounding, "objective": 0.0, "loss": 0.0, "lower_bound": 0.0, "gap": 0.0}
    for prove_bound in (False, True):
        verdict = certify.check(
            model.certificate_ | {"rounding": rounding}, model.tree_, X, y, weights, prove_bound=prove_bound
        )
        assert [failure.split()[0] for failure in verdict.failures] == ["rounding"]
        verdict = certify.check(model.certificate_ | lies, model.tree_, X, y, weights, prove_bound=prove_bound)
        assert {"rounding", "objective", "loss"} <= {failure.split()[0] for failure in verdict.failures}


@pytest.mark.parametrize("name", ["objective", "rounding", "sizes", "constraints", "status", "thresholds", "limits"])
@pytest.mark.parametrize("value", [None, "1", True, math.nan, math.inf, [], [[1]], {}], ids=repr)
def test_a_broken_field_is_a_failure_and_never_a_crash(fitted: Any, name: str, value: Any) -> None:
    model, X, y, weights = fitted
    verdict = certify.check(model.certificate_ | {name: value}, model.tree_, X, y, weights)
    assert not verdict.holds
    assert all(isinstance(failure, str) for failure in verdict.failures)
    without = {key: own for key, own in model.certificate_.items() if key != name}
    assert certify.check(without, model.tree_, X, y, weights).failures == (f"{name} is missing from the certificate",)


def test_a_check_says_what_it_took_on_trust(fitted: Any) -> None:
    model, X, y, weights = fitted
    verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
    assert verdict.trusted == (f"that no tree within the constraints has an objective below {model.lower_bound_:.10g}",)
    assert certify.check(model.certificate_, model.tree_, X, y, weights, prove_bound=True).trusted == ()


def test_the_nodes_of_a_tree_are_compared(fitted: Any) -> None:
    model, X, y, weights = fitted
    tree = model.tree_
    changes: dict[str, Any] = {
        "rows": tree.rows + 1,
        "weight": tree.weight * 1.001,
        "costs": tree.costs[:, ::-1],
        "label_weights": tree.label_weights[:, ::-1],
        "label": 1 - tree.label,
        "threshold": tree.threshold + 0.25,
    }
    for name, value in changes.items():
        verdict = certify.check(model.certificate_, replace(tree, **{name: value}), X, y, weights)
        assert not verdict.holds, name
    # A threshold that parts the rows alike is none of those that the bound is about.
    verdict = certify.check(model.certificate_, replace(tree, threshold=tree.threshold + 0.25), X, y, weights)
    assert all("not one of the tests" in failure for failure in verdict.failures)


def test_sizes_are_those_of_the_search() -> None:
    """Merged rows and distinct tests, as the engine counts them and as the check does."""

    @settings(max_examples=60)
    @given(tables(depths=(1, 2), constraints=("min_samples_leaf",)))
    def compare(table: Table) -> None:
        for problem in (table.problem, replace(table.problem, min_samples_leaf=1)):
            sizes = solve(problem).certificate["sizes"]
            assert certify.count_merged(problem) == (sizes["merged_rows"], sizes["distinct_tests"])

    compare()


def test_a_check_notices_other_data(fitted: Any) -> None:
    model, X, y, weights = fitted
    verdict = certify.check(model.certificate_, model.tree_, X, y[::-1], weights)
    assert any(failure.startswith("objective is") for failure in verdict.failures)
    verdict = certify.check(model.certificate_, model.tree_, X, y, weights + 1)
    assert any(failure.startswith("weight is") for failure in verdict.failures)


def test_proving_the_bound_notices_a_bound_that_is_too_high(fitted: Any) -> None:
    model, X, y, weights = fitted
    # A forger with a lone leaf who has changed every field that follows from the claim; only the bound is false.
    worse = SparseTreeClassifier(0, 0.01).fit(X, y, weights)
    own = {name: model.certificate_[name] for name in ("constraints", "digests", "rounding", "sizes")}
    claim = dict(worse.certificate_) | own
    assert certify.check(claim, worse.tree_, X, y, weights).holds
    verdict = certify.check(claim, worse.tree_, X, y, weights, prove_bound=True)
    assert any("a tree of" in failure for failure in verdict.failures)


def test_a_check_reads_costs_and_arms() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (30, 2)).astype(float)
    costs = rng.random((30, 3))
    arms = rng.integers(0, 2, 30)
    problem = Problem.from_costs(X, costs, regularization=0.001, max_depth=2, arms=arms, min_samples_arm=2)
    solution = solve(problem)
    assert certify.check(solution.certificate, solution.tree, X, costs=costs, arms=arms, prove_bound=True).holds
    claim = dict(solution.certificate)
    claim["constraints"] = claim["constraints"] | {"min_samples_arm": 12}
    verdict = certify.check(claim, solution.tree, X, costs=costs, arms=arms)
    assert any("below min_samples_arm 12" in failure for failure in verdict.failures)


def test_a_check_knows_class_weights() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 1).astype(int)
    model = SparseTreeClassifier(2, class_weight="balanced", thresholds=3).fit(X, y)
    assert certify.check(model.certificate_, model.tree_, X, y, prove_bound=True).holds


def test_bad_requests_are_refused(fitted: Any) -> None:
    model, X, y, _ = fitted
    with pytest.raises(ValueError, match="not a certificate"):
        certify.check({}, model.tree_, X, y)
    with pytest.raises(ValueError, match="give y or costs"):
        certify.check(model.certificate_, model.tree_, X)
    with pytest.raises(ValueError, match="row 1 has label 'maybe'"):
        certify.check(model.certificate_, model.tree_, X[:2], ["yes", "maybe"])


def test_an_account_lists_every_leaf(fitted: Any) -> None:
    model, X, y, weights = fitted
    problem = Problem.from_labels(X, y, weights, max_depth=2, regularization=0.01)
    account = certify.measure(model.tree_, problem)
    assert sum(account.rows) == np.count_nonzero(weights)
    assert math.fsum(account.weights) == pytest.approx(weights.sum())
    assert account.rows == tuple(model.tree_.rows[model.tree_.leaves])
