"""The whole front: each point is the optimum of its interval of λ, and no point is missing."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from random_problems import CONSTRAINTS, Table, tables

from certree import Limits, Problem, SparseTreeClassifier, certify, regularization_path, solve
from certree.path import trace_path


def hull_of(front: dict[int, Fraction]) -> list[tuple[int, Fraction]]:
    """The corners of the lower convex hull that fall, by trying every pair: slow and obvious."""
    points = sorted(front.items())
    best = min(cost for _, cost in points)
    points = [(leaves, cost) for leaves, cost in points if leaves <= min(h for h, c in points if c == best)]
    return [
        (leaves, cost)
        for leaves, cost in points
        if all(
            cost < left_cost + (right_cost - left_cost) * Fraction(leaves - left, right - left)
            for left, left_cost in points
            for right, right_cost in points
            if left < leaves < right
        )
        and all(cost < left_cost for left, left_cost in points if left < leaves)
    ]


@pytest.mark.parametrize("constraints", [(), *((name,) for name in CONSTRAINTS)], ids=str)
@pytest.mark.no_cover
def test_the_path_is_the_hull_of_the_front(constraints: tuple[str, ...]) -> None:
    @given(tables(depths=(1, 2, 3), constraints=constraints))
    def compare(table: Table) -> None:
        problem = table.problem
        path = trace_path(problem)
        assert path.is_optimal
        hull = hull_of(certify.enumerate_front(problem))
        # Weights that differ by 24 orders of magnitude make corners closer to their line than fixed point can tell.
        total = Fraction(problem.normaliser)
        losses = {leaves: float(cost / total) for leaves, cost in hull}
        for point in path:
            if point.leaves in losses:
                assert point.loss == pytest.approx(losses[point.leaves], rel=0, abs=1e-12)
        for regularization in (0.0, 1e-7, 0.003, 0.02, 0.1, 1.0):
            point = path.at(regularization)
            expected = min(losses[leaves] + regularization * leaves for leaves in losses)
            assert point.loss + regularization * point.leaves == pytest.approx(expected, rel=0, abs=1e-12)
        if table.weights is None and table.costs is None:
            assert [point.leaves for point in path] == [leaves for leaves, _ in hull]

    compare()


def test_the_intervals_cover_every_penalty() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] * (rng.random(120) < 0.8) > 5).astype(int)
    weights = rng.lognormal(size=120)
    path = regularization_path(X, y, weights, max_depth=3)
    assert len(path) > 2
    assert path[0].leaves == 1
    assert path[0].regularization_high == np.inf
    assert path[-1].regularization_low == 0
    for small, large in pairwise(path):
        assert small.regularization_low == large.regularization_high
        assert small.leaves < large.leaves
        assert small.loss > large.loss
        assert large.regularization_low < large.regularization_high
    for point in path:
        wrong = (point.tree.predict(X) != y) @ weights / weights.sum()
        assert point.loss == pytest.approx(wrong, rel=1e-12)
        assert point.tree.n_leaves == point.leaves
        low, high = point.regularization_low, min(point.regularization_high, 1.0)
        middle = (low + high) / 2
        solution = solve(Problem.from_labels(X, y, weights, regularization=middle, max_depth=3))
        assert solution.upper == pytest.approx(point.loss + middle * point.leaves, rel=1e-12)
        assert path.at(middle) is point
    assert path[:2] == path.points[:2]
    rows = path.to_rows()
    assert [row["leaves"] for row in rows] == [point.leaves for point in path]
    assert set(rows[0]) == {"regularization_low", "regularization_high", "leaves", "depth", "loss", "status"}


def test_a_path_of_one_class_is_one_leaf() -> None:
    path = regularization_path([[0.0], [1.0]], ["a", "a"])
    assert [(point.leaves, point.loss) for point in path] == [(1, 0.0)]
    assert path.at(5.0) is path[0]
    with pytest.raises(ValueError, match="at least 0"):
        path.at(-1.0)


def test_a_path_that_a_limit_ended_says_so() -> None:
    rng = np.random.default_rng(0)
    X: Any = rng.normal(size=(400, 8))
    problem = Problem.from_labels(X, rng.integers(0, 2, 400), max_depth=4)
    path = trace_path(problem, Limits(time_limit=0.01))
    assert not path.is_optimal
    assert path[0].leaves == 1


def test_threads_are_named_once() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    assert regularization_path(X, y, n_jobs=2).points[-1].loss == regularization_path(X, y, n_threads=2).points[-1].loss
    with pytest.raises(ValueError, match="n_jobs or n_threads, not both"):
        regularization_path(X, y, n_jobs=1, n_threads=1)


@pytest.mark.parametrize("time_limit", [None, 0.0, 1e-4, 1e-3])
def test_leaves_rise_losses_fall_and_slopes_fall(time_limit: float | None) -> None:
    # Real weights make equal losses differ in their last bit, and limits make trees that are no corners at all.
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(20, 120))
        X = rng.integers(0, int(rng.integers(2, 8)), (n_rows, 3)).astype(float)
        y = rng.integers(0, 2, n_rows)
        path = regularization_path(X, y, rng.lognormal(size=n_rows), max_depth=3, time_limit=time_limit)
        for smaller, larger in pairwise(path):
            assert smaller.leaves < larger.leaves
            assert smaller.loss > larger.loss
            assert smaller.regularization_low > larger.regularization_low >= 0


def weighted_table(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2)).round(2)
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0.4).astype(int)
    return X, y, rng.lognormal(sigma=1.5, size=60)


def test_a_number_of_thresholds_is_quantiles_by_weight() -> None:
    for seed in range(6):
        X, y, weights = weighted_table(seed)
        path = regularization_path(X, y, weights, max_depth=2, thresholds=3)
        for point in path:
            low, high = point.regularization_low, min(point.regularization_high, 1.0)
            model = SparseTreeClassifier(2, (low + high) / 2, thresholds=3).fit(X, y, weights)
            assert model.loss_ == pytest.approx(point.loss, rel=1e-12)
            own = point.solution
            verdict = certify.check(own.certificate, own.tree, X, y, weights, prove_bound=True)
            assert verdict.failures == ()


def test_a_row_of_weight_zero_does_not_change_the_path() -> None:
    X, y, weights = weighted_table(7)
    longer = np.vstack([X, [[50.0, -50.0]] * 30]), np.append(y, [0] * 30), np.append(weights, [0.0] * 30)
    for thresholds in ("all", 2):
        path = regularization_path(X, y, weights, max_depth=2, thresholds=thresholds)
        assert path.to_rows() == regularization_path(*longer, max_depth=2, thresholds=thresholds).to_rows()
