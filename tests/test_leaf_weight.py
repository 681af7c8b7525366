"""`min_weight_leaf` means what it says, whatever else is in the table: a heavy row, a long sum, a tiny total."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from certree import Problem, SparseTreeClassifier, certify, solve


def best_by_trying(X: Any, y: Any, weights: Any, depth: int, penalty: float, least: float) -> Fraction:
    """The least objective of any tree of numeric tests, by trying every one in exact arithmetic."""
    exact = [Fraction(weight) for weight in weights.tolist()]
    total = sum(exact)
    # What a float is short of the number that was meant, and no more.
    enough = Fraction(least) * (1 - Fraction(1, 10**12))

    def best(rows: tuple[int, ...], depth: int) -> Fraction | None:
        if sum(exact[row] for row in rows) < enough:
            return None
        wrong = [sum(exact[row] for row in rows if y[row] != label) for label in (0, 1)]
        found = min(wrong) / total + Fraction(penalty)
        for column in range(X.shape[1]) if depth > 0 else ():
            for threshold in sorted({X[row, column] for row in rows})[:-1]:
                sides = [
                    best(tuple(row for row in rows if (X[row, column] <= threshold) == holds), depth - 1)
                    for holds in (True, False)
                ]
                if None not in sides:
                    found = min(found, sides[0] + sides[1])
        return found

    whole = tuple(range(len(y)))
    lone = min(sum(exact[row] for row in whole if y[row] != label) for label in (0, 1)) / total + Fraction(penalty)
    return best(whole, depth) or lone


def test_a_heavy_row_does_not_make_the_minimum_vanish() -> None:
    X = np.arange(10.0).reshape(-1, 1)
    y = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    weights = np.array([1.0] * 9 + [1e13])
    model = SparseTreeClassifier(3, 0.0, min_weight_leaf=5).fit(X, y, weights)
    assert model.tree_.weight[model.tree_.leaves].min() >= 5
    assert model.n_leaves_ == 2
    wild = SparseTreeClassifier(3, 0.0).fit(X, y, weights)
    assert wild.tree_.weight[wild.tree_.leaves].min() == 1
    claim = wild.certificate_ | {"constraints": wild.certificate_["constraints"] | {"min_weight_leaf": 5.0}}
    failures = certify.check(claim, wild.tree_, X, y, weights).failures
    assert any("weighs 1.0, below min_weight_leaf 5.0" in failure for failure in failures)


@pytest.mark.parametrize("heavy", [1.0, 1e9, 1e13, 1e30, 1e300])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_optimum_beside_heavy_rows_is_that_of_trying_every_tree(heavy: float, depth: int) -> None:
    for seed, kind in product(range(4), ("whole", "tenths", "real")):
        rng = np.random.default_rng([seed, depth])
        X = rng.integers(0, 4, (10, 2)).astype(float)
        y = rng.integers(0, 2, 10)
        light = {"whole": rng.integers(1, 4, 10), "tenths": rng.integers(1, 8, 10) / 10, "real": rng.lognormal(size=10)}
        weights = light[kind].astype(float)
        # The minimum is what some rows weigh together, so that a sum decides.
        least = float(np.sum(weights[rng.permutation(10)[:4]]))
        weights[rng.integers(0, 10, 2)] *= heavy
        problem = Problem.from_labels(X, y, weights, max_depth=depth, min_weight_leaf=least)
        solution = solve(problem)
        expected = best_by_trying(X, y, weights, depth, 0.0, least)
        assert certify.enumerate_optimum(problem) == expected * sum(map(Fraction, weights.tolist())) / Fraction(
            problem.normaliser
        )
        assert solution.is_optimal
        assert solution.upper == pytest.approx(float(expected), rel=1e-12, abs=solution.rounding)
        assert certify.check(solution.certificate, solution.tree, X, y, weights, prove_bound=True).holds


@pytest.mark.parametrize("n_others", [0, 20_000])
def test_ten_tenths_are_one_in_any_order(n_others: int) -> None:
    """Also beside many rows that are each heavy enough alone."""
    rng = np.random.default_rng(0)
    X = np.r_[np.zeros(10), np.ones(10), 2 + rng.integers(0, 3, n_others)].reshape(-1, 1)
    y = np.r_[np.zeros(10), np.ones(10 + n_others)].astype(int)
    for tenth in (0.1, 0.7, 1.1):
        weights = np.r_[np.full(20, tenth), 10 * tenth * (1 + rng.random(n_others))]
        order = rng.permutation(len(y))
        enough = Problem.from_labels(X[order], y[order], weights[order], max_depth=1, min_weight_leaf=10 * tenth)
        assert 0.0 in solve(enough).tree.threshold // 1
        too_much = Problem.from_labels(
            X[order], y[order], weights[order], max_depth=1, min_weight_leaf=10 * tenth * (1 + 1e-9)
        )
        assert 0.0 not in solve(too_much).tree.threshold // 1


@pytest.mark.parametrize("total", [1e-323, 1e-310, 1e-307, 1e300, 1e308])
def test_weights_of_any_scale(total: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (40, 3)).astype(float), rng.integers(0, 2, 40)
    shares = rng.integers(1, 5, 40)
    plain = SparseTreeClassifier(2, 0.01, min_weight_leaf=12).fit(X, y, shares)
    unit = 5e-324 if total < 1e-320 else total / 128
    weights = shares * unit
    scaled = SparseTreeClassifier(2, 0.01, min_weight_leaf=12 * unit).fit(X, y, weights)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
    np.testing.assert_allclose(scaled.tree_.weight, plain.tree_.weight * unit)
    assert certify.check(scaled.certificate_, scaled.tree_, X, y, weights).holds
