"""The three ways to weigh: every stated bound holds on tables small enough to look at every tree."""

from __future__ import annotations

import json
import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from certree import Problem, SparseTreeClassifier, certify, solve, weights
from certree.weights import WeightLossWarning, bounds
from certree.weights.counts import count_draws, scale

KINDS = ("log-normal", "integer", "inverse propensity", "heavy-tailed")
EPSILON = 1e-12


def draw_weights(rng: np.random.Generator, kind: str, n_rows: int) -> Any:
    if kind == "log-normal":
        return rng.lognormal(size=n_rows)
    if kind == "integer":
        return rng.integers(1, 9, n_rows).astype(float)
    if kind == "inverse propensity":
        return 1 / rng.uniform(0.02, 1, n_rows)
    return (1 + rng.pareto(0.7, n_rows)).clip(max=1e8)


class Case:
    """A small table with weights, and every tree of depth at most two as the set of rows that it labels 1."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(6, 13))
        self.X = rng.integers(0, 4, (n_rows, 2)).astype(float)
        self.y = np.where(rng.random(n_rows) < 0.3, rng.integers(0, 2, n_rows), self.X[:, 0] > 1).astype(int)
        self.y[:2] = 0, 1
        self.weights = draw_weights(rng, KINDS[seed % len(KINDS)], n_rows)
        self.regularization = float(rng.choice([0.0, 0.01, 0.06]))
        self.random_state = seed

    @cached_property
    def trees(self) -> dict[tuple[bool, ...], int]:
        """For every labelling that a tree of depth two can give, the fewest leaves it takes."""
        tests = {tuple(self.X[:, column] <= cut) for column in (0, 1) for cut in (0, 1, 2)}
        tests = {test for test in tests if 0 < sum(test) < len(test)}
        found = {(False,) * len(self.y): 1, (True,) * len(self.y): 1}
        for _ in range(2):
            deeper = dict(found)
            for test in tests:
                for left, left_leaves in found.items():
                    for right, right_leaves in found.items():
                        whole = tuple(a if t else b for t, a, b in zip(test, left, right, strict=True))
                        leaves = left_leaves + right_leaves
                        deeper[whole] = min(leaves, deeper.get(whole, leaves))
            found = deeper
        return found

    def losses(self, amounts: Any) -> tuple[Any, Any]:
        """Loss and objective of every tree."""
        loss = self.is_wrong @ (amounts / amounts.sum())
        return loss, loss + self.regularization * np.array(list(self.trees.values()))

    @cached_property
    def is_wrong(self) -> Any:
        return np.array(list(self.trees)) != (self.y == 1)

    def fit(self, **settings: Any) -> SparseTreeClassifier:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightLossWarning)
            model = SparseTreeClassifier(2, self.regularization, random_state=self.random_state, **settings)
            return model.fit(self.X, self.y, self.weights)


# Every stated bound, 1,000 seeded cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(10))
@pytest.mark.no_cover
def test_every_stated_bound_holds(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        case = Case(seed)
        loss, objective = case.losses(case.weights)
        factor = (3, 10, 100)[seed % 3]
        for method in ("duplicate", "sample"):
            model = case.fit(method=method, duplication=factor, sample_ratio=1.5)
            stated = model.certificate_["guarantees"]["weighing"]
            counts = (
                counts_of(case.weights, factor)
                if method == "duplicate"
                else weights.sample(case.weights, 1.5, case.random_state)
            )
            counted_loss, counted_objective = case.losses(counts)
            moved = counted_loss - loss
            optimum, counted_optimum = objective.min(), counted_objective.min()

            assert model.status_ == "approximate"
            assert np.abs(moved).max() <= stated["total_variation"] + EPSILON
            assert moved.max() <= stated["deviation_above"] + EPSILON
            assert -moved.min() <= stated["deviation_below"] + EPSILON
            assert stated["deviation_above"] <= stated["total_variation"] + EPSILON
            assert stated["deviation_below"] <= stated["total_variation"] + EPSILON
            assert stated["approximate_objective"] == pytest.approx(counted_optimum, abs=1e-9)
            assert model.lower_bound_ <= optimum + EPSILON
            assert optimum - EPSILON <= model.objective_
            assert model.lower_bound_ >= min(counted_optimum - stated["total_variation"], model.objective_) - EPSILON
            assert model.objective_ <= optimum + stated["deviation_above"] + stated["deviation_below"] + EPSILON
            assert model.objective_ <= optimum + 2 * stated["total_variation"] + EPSILON
            measured = certify.measure(model.tree_, case_problem(case)).objective
            assert model.objective_ == pytest.approx(measured, rel=1e-14)
            assert model.gap_ == model.objective_ - model.lower_bound_
            assert certify.check(model.certificate_, model.tree_, case.X, case.y, case.weights, prove_bound=True).holds
            if method == "duplicate" and stated["paper_bound"] is not None:
                assert abs(optimum - counted_optimum) <= stated["paper_bound"] + EPSILON
                assert np.abs(moved).max() <= stated["paper_bound"] + EPSILON
        check_reference(case, loss, objective)
        if seed % 20 == 0:
            assert case.fit().objective_ == pytest.approx(optimum, abs=1e-9)


def check_reference(case: Case, loss: Any, objective: Any) -> None:
    """Theorem 1 and the true lower bound: references by chance, nearly right, wrong, or against the best tree."""
    rng = np.random.default_rng(case.random_state)
    is_wrong = (
        rng.random(len(case.y)) < 0.5,
        rng.random(len(case.y)) < 0.1,
        np.ones(len(case.y), dtype=bool),
        ~case.is_wrong[objective.argmin()],
    )[case.random_state // len(KINDS) % 4]
    model = case.fit(reference=np.where(is_wrong, 1 - case.y, case.y))
    share = case.weights / case.weights.sum()
    theorem = share[is_wrong].sum() + case.is_wrong[:, ~is_wrong] @ share[~is_wrong] + (objective - loss)
    stated = model.certificate_["guarantees"]["reference"]
    assert model.status_ == "guessed"
    assert stated["reference_loss"] == pytest.approx(share[is_wrong].sum(), abs=EPSILON)
    assert model.objective_ <= theorem.min() + EPSILON
    assert model.lower_bound_ <= objective.min() + EPSILON
    assert model.objective_ <= objective.min() + stated["excess"] + EPSILON
    assert certify.check(model.certificate_, model.tree_, case.X, case.y, case.weights, prove_bound=True).holds


def counts_of(amounts: Any, factor: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightLossWarning)
        return weights.duplicate(amounts, factor)


def case_problem(case: Case) -> Problem:
    return Problem.from_labels(case.X, case.y, case.weights, regularization=case.regularization, max_depth=2)


@pytest.mark.parametrize("normalise", ["max", "sum"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_bound_holds_as_printed(kind: str, normalise: Any) -> None:
    """Also where every weight is rounded the same way, and where weights lie between a half and one."""
    n_finite = 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        amounts = draw_weights(rng, kind, 12)
        factor = float(rng.uniform(1, 60))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightLossWarning)
            try:
                counts = weights.duplicate(amounts, factor, normalise)
            except ValueError:
                continue
        error = bounds.rounding_error(scale(amounts, factor, normalise), counts)
        assert weights.total_variation(amounts, counts) <= error.bound + EPSILON
        n_finite += math.isfinite(error.bound)
    assert n_finite > 10


def test_figures_of_a_rounding_by_hand() -> None:
    counts = weights.duplicate([1.0, 2.6, 5.0], factor=5)
    assert counts.tolist() == [1, 3, 5]
    error = bounds.rounding_error(scale([1.0, 2.6, 5.0], 5), counts)
    assert error.epsilon == pytest.approx(0.4)
    assert error.eta == pytest.approx(1.0)
    assert error.zeta == pytest.approx(3 / 2.6)
    assert error.psi == pytest.approx(5.0)
    assert error.bound == pytest.approx(max(((3 / 2.6 - 1) * 5 + 0.4) / (3 / 2.6), 0.4))
    p, q = np.array([1, 2.6, 5]) / 8.6, np.array([1, 3, 5]) / 9
    assert weights.total_variation([1.0, 2.6, 5.0], counts) == pytest.approx(np.abs(p - q).sum() / 2)


def test_a_lost_row_makes_the_papers_bound_infinite() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    with pytest.warns(WeightLossWarning, match=r"1 row \(33.3% of the rows, 0.01% of the weight\) to 0 copies"):
        model = SparseTreeClassifier(2, method="duplicate", duplication=10).fit(X, y, [1e-3, 5, 5])
    stated = model.certificate_["guarantees"]["weighing"]
    assert stated["paper_bound"] is stated["eta"] is stated["psi"] is None
    assert "infinite" in stated["paper_statement"]
    assert stated["rows_without_a_count"] == 1
    assert stated["total_variation"] == pytest.approx(1e-4, rel=1e-2)
    assert bounds.rounding_error([1e-3, 5, 5], [0, 5, 5]).bound == math.inf
    json.dumps(model.certificate_, allow_nan=False)


def test_a_weight_too_small_for_a_number_is_not_lost_in_silence() -> None:
    amounts = [1e-300, 1e-300, 1e300]
    with pytest.warns(WeightLossWarning, match="2 rows"):
        counts = weights.duplicate(amounts, 10)
    assert counts.tolist() == [0, 0, 10]
    assert bounds.rounding_error(scale(amounts, 10), counts).bound == math.inf
    assert scale([0.0, 1.0], 10).tolist() == [0, 10]


def test_weights_in_whole_proportion_are_exact() -> None:
    case = Case(1)
    model = case.fit(method="duplicate", duplication=int(case.weights.max()))
    assert model.gap_ == pytest.approx(0, abs=1e-12)
    assert model.objective_ == pytest.approx(case.fit().objective_, abs=1e-12)
    assert model.status_ == "approximate"


# Sampling holds at its level ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4), ids=KINDS)
def test_sampling_holds_at_its_level(seed: int) -> None:
    case = Case(seed)
    true, _ = case.losses(case.weights)
    problem = case_problem(case)
    draws = count_draws(problem.n_rows, 20)
    leaves = bounds.count_leaves(problem)
    fixed = bounds.fixed_tree_bound(draws)
    uniform = bounds.uniform_bound(draws, bounds.log_count_trees(problem.features.n_tests, 2, leaves))
    moved = np.array([case.losses(weights.sample(case.weights, 20, seed))[0] - true for seed in range(1000)])
    assert (np.abs(moved) >= fixed).mean(axis=0).max() <= 0.05
    assert (np.abs(moved).max(axis=1) >= uniform).mean() <= 0.05
    # The bounds are not empty: half of the fixed one fails often, and draws do not lean to one side.
    assert (np.abs(moved) >= fixed / 2).mean(axis=0).max() > 0.05
    assert np.abs(moved.mean(axis=0)).max() < 4 * moved.std(axis=0).max() / math.sqrt(1000)


def test_bounds_of_a_sample_by_hand() -> None:
    assert bounds.fixed_tree_bound(1000) == pytest.approx(math.sqrt(math.log(40) / 2000))
    # 2 exp(−2 S ε²) = 1 − level
    assert 2 * math.exp(-2 * 1000 * bounds.fixed_tree_bound(1000, 0.9) ** 2) == pytest.approx(0.1)
    assert bounds.uniform_bound(1000, 0.0) == bounds.fixed_tree_bound(1000)
    # One leaf: 2 labels. Two leaves: one shape, 3 tests, 4 labellings. Three leaves: 2 shapes, 9 tests, 8 labellings.
    assert math.exp(bounds.log_count_trees(3, 2, 1)) == pytest.approx(2)
    assert math.exp(bounds.log_count_trees(3, 2, 2)) == pytest.approx(2 + 12)
    assert math.exp(bounds.log_count_trees(3, 2, 3)) == pytest.approx(2 + 12 + 144)
    assert math.exp(bounds.log_count_trees(0, 5, 9)) == pytest.approx(5)


@pytest.mark.parametrize(
    ("settings", "leaves"),
    [
        ({"max_depth": 1}, 2),
        ({"max_depth": 5}, 8),
        ({"max_depth": 5, "max_leaves": 3}, 3),
        ({"max_depth": 5, "regularization": 0.25}, 3),
        ({"max_depth": None, "regularization": 0.1}, 6),
        ({"max_depth": 100}, 8),
    ],
)
def test_the_most_leaves_of_an_optimum(settings: dict[str, Any], leaves: int) -> None:
    problem = Problem.from_labels(np.arange(8.0)[:, None], [0, 1] * 4, **settings)
    assert bounds.count_leaves(problem) == leaves


def test_a_sample_states_its_probable_bounds() -> None:
    case = Case(7)
    model = case.fit(method="sample", sample_ratio=40.0)
    stated = model.certificate_["guarantees"]["weighing"]
    assert stated["draws"] == 40 * len(case.y)
    assert stated["level"] == 0.95
    assert 0 < stated["fixed_tree_bound"] < stated["uniform_bound"]
    assert stated["fixed_tree_bound"] == bounds.fixed_tree_bound(stated["draws"])
    assert "0.95" in stated["probable_statement"]


def test_a_sample_is_a_matter_of_its_seed() -> None:
    amounts = draw_weights(np.random.default_rng(0), "log-normal", 50)
    first = weights.sample(amounts, 2.0, 3)
    assert first.sum() == 100
    assert first.dtype == np.int64
    assert weights.sample(amounts, 2.0, 3).tolist() == first.tolist()
    assert weights.sample(amounts, 2.0, 4).tolist() != first.tolist()
    assert weights.sample([0.0, 1.0, 3.0], 10, 0).tolist()[0] == 0
    assert weights.sample([0.0, 1.0, 3.0], 10, 0).sum() == 20
    assert weights.sample([1e-300, 1e300], 3, 0).tolist() == [0, 6]
    case = Case(3)
    model = case.fit(method="sample")
    assert clone(model).fit(case.X, case.y, case.weights).objective_ == model.objective_


# Constraints, limits, zero weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["duplicate", "sample"])
@pytest.mark.parametrize("constraint", [{"min_samples_leaf": 3}, {"min_weight_leaf": 0.2}, {"max_leaves": 3}, {}])
def test_constraints_speak_of_the_true_rows_and_weights(method: str, constraint: dict[str, Any]) -> None:
    for seed in range(25):
        case = Case(seed)
        case.weights[-1] = 0.0
        settings = dict(constraint)
        if "min_weight_leaf" in settings:
            settings["min_weight_leaf"] *= float(case.weights.sum())
        model = case.fit(method=method, duplication=4, sample_ratio=0.7, **settings)
        verdict = certify.check(model.certificate_, model.tree_, case.X, case.y, case.weights, prove_bound=True)
        assert verdict.holds, verdict.failures
        direct = case.fit(**settings)
        assert model.lower_bound_ <= direct.objective_ + EPSILON
        assert direct.objective_ <= model.objective_ + EPSILON


@pytest.mark.parametrize("method", ["duplicate", "sample"])
def test_a_limit_is_still_a_status_with_a_true_bound(method: str) -> None:
    rng = np.random.default_rng(0)
    X, y, amounts = rng.normal(size=(1500, 20)), rng.integers(0, 2, 1500), rng.uniform(1, 9, 1500)
    model = SparseTreeClassifier(4, 0.001, method=method, time_limit=0.2, random_state=0)
    model.fit(X, y, amounts)
    assert model.status_ == "time_limit"
    assert 0 <= model.lower_bound_ <= model.objective_
    assert certify.check(model.certificate_, model.tree_, X, y, amounts).holds


def test_classes_and_probabilities_are_of_the_true_weights() -> None:
    X, y = [[0.0], [0.0], [1.0], [1.0]], ["a", "b", "b", "c"]
    model = SparseTreeClassifier(1, 0.0, method="sample", random_state=1, class_weight={"a": 2, "b": 1, "c": 1})
    model.fit(X, y, [3, 1, 1, 5])
    assert model.classes_.tolist() == ["a", "b", "c"]
    if model.n_leaves_ == 2:
        np.testing.assert_allclose(model.predict_proba(X)[0], [6 / 7, 1 / 7, 0])
    assert certify.check(model.certificate_, model.tree_, X, y, [3, 1, 1, 5]).holds


def test_counts_make_no_problem_larger() -> None:
    case = Case(2)
    direct, counted = case.fit(), case.fit(method="duplicate", duplication=10_000)
    assert counted.statistics_["merged_rows"] <= direct.statistics_["merged_rows"]


# Counts as rows -------------------------------------------------------------------------------------------------------


def test_algorithm_one_as_printed_loses_rows_and_says_so() -> None:
    amounts = np.r_[np.full(5, 30.0), np.full(95, 1.0)]
    with pytest.warns(WeightLossWarning, match=r"95 rows \(95.0% of the rows, 38.78% of the weight\)"):
        counts = weights.duplicate(amounts, 50, normalise="sum")
    assert counts.tolist() == [6] * 5 + [0] * 95
    with pytest.raises(ValueError, match=r'leaves no row.*use normalise="max" or a factor of at least 501'):
        weights.duplicate(np.ones(1000), 100, normalise="sum")
    assert weights.duplicate(np.ones(1000), 501, normalise="sum").sum() == 1000


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars"])
def test_duplicated_rows_are_rows_of_integer_weight(kind: str) -> None:
    X, y, counts = np.array([[0.0, 1], [1, 1], [2, 0]]), np.array([0, 1, 1]), [2, 0, 3]
    table: Any = {
        "array": X,
        "list": X.tolist(),
        "pandas": pd.DataFrame(X, columns=["a", "b"]),
        "polars": pl.DataFrame(X),
    }
    rows, labels = weights.duplicate_rows(table[kind], pd.Series(y) if kind == "pandas" else y, counts)
    assert type(rows) is type(table[kind])
    assert np.asarray(rows).tolist() == [[0, 1], [0, 1], [2, 0], [2, 0], [2, 0]]
    assert list(labels) == [0, 0, 1, 1, 1]
    assert (
        SparseTreeClassifier(1, 0.1).fit(rows, labels).objective_
        == SparseTreeClassifier(1, 0.1).fit(X, y, counts).objective_
    )


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: weights.duplicate([1, 2], 0.5), "factor must be a finite number of at least 1, not 0.5"),
        (lambda: weights.duplicate([1, 2], math.nan), "factor must be"),
        (lambda: weights.duplicate([1, 1], 2.0**53), r"asks for 1.8e\+16 copies; more than 2\^53"),
        (lambda: weights.sample([1, 2], 1e20), r"ratio 1e\+20 of 2 rows asks for more than 2\^53 draws"),
        (lambda: weights.duplicate([1, 2], 5, "mean"), 'normalise must be "max" or "sum", not \'mean\''),
        (lambda: weights.duplicate([1, -2], 5), "sample_weight is negative in row 1"),
        (lambda: weights.duplicate([0, 0], 5), "zero in every row"),
        (lambda: weights.duplicate(None, 5), "weight must be an array"),
        (lambda: weights.sample([1, 2], 0), "ratio must be a finite number above 0, not 0"),
        (lambda: weights.sample([1, 2], -1.0), "ratio must be"),
        (lambda: weights.sample([1, 2], 0.1), "no draw at all; at least 0.5 is needed"),
        (lambda: weights.sample(3.0, 1), "weight must be an array"),
        (
            lambda: weights.duplicate_rows([[1], [2]], [0, 1], [1]),
            r"X has 2 rows, y has 2, and counts has shape \(1,\)",
        ),
        (lambda: weights.duplicate_rows([[1], [2]], [0, 1], [1, 0.5]), "counts must be whole numbers"),
        (lambda: weights.duplicate_rows([[1], [2]], [0, 1], [1, -1]), "counts is negative in row 1"),
        (lambda: weights.duplicate_rows([[1], [2]], [0, 1], [0.0, 0.0]), "counts is zero in every row"),
        (lambda: weights.total_variation([1, 2], [1, 2, 3]), "there are 2 weights"),
        (lambda: weights.total_variation([1, 2], [0, 0]), "nor all zero"),
        (lambda: bounds.fixed_tree_bound(0), "draws must be at least 1"),
        (lambda: bounds.fixed_tree_bound(5, 1.0), "level must be between 0 and 1"),
        (lambda: bounds.log_count_trees(3, 2, 0), "at least one leaf"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


# What is known without a search ---------------------------------------------------------------------------------------


def test_the_floor_is_below_every_tree() -> None:
    n_tight = 0
    for seed in range(60):
        case = Case(seed)
        problem = case_problem(case)
        optimum = float(certify.enumerate_optimum(problem))
        assert problem.floor() <= optimum
        n_tight += problem.floor() >= optimum - 1e-9
    assert n_tight > 0
    assert solve(problem).upper >= problem.floor()


def test_the_floor_without_a_test_is_the_lone_leaf() -> None:
    problem = Problem.from_labels([[1.0], [1.0], [1.0]], [0, 0, 1], regularization=0.01, max_depth=3)
    assert problem.floor() == pytest.approx(1 / 3 + 0.01)
    costs = Problem.from_costs([[1.0], [2.0]], [[1, 0], [0, 3]], regularization=0.0, max_depth=3)
    assert costs.floor() == 0
