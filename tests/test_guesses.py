"""The three guesses: what they keep, what they give up, and that every stated number is true."""

from __future__ import annotations

import json
import pickle
import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from random_problems import make_column, make_labels
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from certree import (
    Limits,
    Problem,
    SparseTreeClassifier,
    certify,
    export_json,
    guess_depth,
    guess_thresholds,
    load,
    solve,
)
from certree.features import make_features
from certree.guesses import ThresholdGuess, account_reference, charge_reference, tree_dimension

KINDS = ("random", "good", "perfect", "bad", "adversarial")


# Theorem 1, against every tree ----------------------------------------------------------------------------------------


def every_tree(X: Any, n_labels: int, depth: int) -> dict[tuple[int, ...], int]:
    """For every labelling that a tree of the depth can give, the fewest leaves it takes."""
    tests = {tuple(X[:, column] <= cut) for column in range(X.shape[1]) for cut in np.unique(X[:, column])[:-1]}
    found = {(label,) * len(X): 1 for label in range(n_labels)}
    for _ in range(depth):
        deeper = dict(found)
        for test, (left, few), (right, many) in product(tests, found.items(), found.items()):
            whole = tuple(a if holds else b for holds, a, b in zip(test, left, right, strict=True))
            deeper[whole] = min(few + many, deeper.get(whole, few + many))
        found = deeper
    return found


def predict_reference(kind: str, rng: np.random.Generator, y: Any, best: Any, n_labels: int) -> Any:
    """By chance, nearly right, right everywhere, wrong everywhere, or wrong just where the best tree is right."""
    other = (y + rng.integers(1, n_labels, len(y))) % n_labels
    return {
        "random": rng.integers(0, n_labels, len(y)),
        "good": np.where(rng.random(len(y)) < 0.1, other, y),
        "perfect": y,
        "bad": other,
        "adversarial": np.where(best == y, other, y),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("depth", "n_labels", "n_seeds"), [(1, 3, 40), (2, 2, 40), (2, 3, 40), (3, 2, 12)])
def test_theorem_one_holds_for_every_tree(kind: str, depth: int, n_labels: int, n_seeds: int) -> None:
    n_guesses_used = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(5, 10))
        X = rng.integers(0, 3, (n_rows, 2)).astype(float)
        y = rng.integers(0, n_labels, n_rows)
        y[:n_labels] = np.arange(n_labels)
        weights = rng.lognormal(size=n_rows)
        penalty = float(rng.choice([0.0, 0.01, 0.05]))
        trees = every_tree(X, n_labels, depth)
        labels, leaves = np.array(list(trees)), np.array(list(trees.values()))
        share = weights / weights.sum()
        objective = (labels != y) @ share + penalty * leaves
        reference = predict_reference(kind, rng, y, labels[objective.argmin()], n_labels)
        is_wrong = reference != y

        model = SparseTreeClassifier(depth, penalty, reference=reference).fit(X, y, weights)
        union = share[is_wrong].sum() + ((labels != y) & ~is_wrong) @ share + penalty * leaves
        stated = model.certificate_["guarantees"].get("reference")
        assert np.all(model.objective_ <= union + 1e-12)
        assert model.lower_bound_ <= objective.min() + 1e-12 <= model.objective_ + 2e-12
        assert certify.check(model.certificate_, model.tree_, X, y, weights, prove_bound=True).holds
        if stated is None:  # no test tells the rows apart
            assert model.status_ == "optimal"
            continue
        assert model.status_ == "guessed"
        assert stated["reference_loss"] == pytest.approx(share[is_wrong].sum())
        assert stated["floor"] <= objective.min() + 1e-12
        assert stated["excess"] <= stated["reference_loss"] + 1e-12
        assert model.objective_ <= objective.min() + stated["excess"] + 1e-12
        lone = [place for place, few in enumerate(leaves) if few == 1]
        assert stated["lone_leaf_bound"] == pytest.approx(union[lone].min())
        n_guesses_used += model.objective_ > objective.min() + 1e-9
    # A guess that never cost anything would test nothing.
    assert (n_guesses_used > 0) == (kind in ("random", "bad", "adversarial")) or kind == "good"


def test_a_perfect_reference_costs_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (80, 3)).astype(float)
    y = ((X[:, 0] > 2) ^ (X[:, 1] > 3)).astype(int)
    model = SparseTreeClassifier(3, 0.01, reference=y).fit(X, y)
    assert model.status_ == "guessed"
    assert model.gap_ == pytest.approx(0, abs=1e-12)
    assert model.objective_ == SparseTreeClassifier(3, 0.01).fit(X, y).objective_


def test_a_stopped_search_states_no_theorem() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 20)), rng.integers(0, 2, 1500)
    problem = Problem.from_labels(X, y, regularization=0.0001, max_depth=5)
    costs = charge_reference(problem, y)
    solution = solve(problem, Limits(time_limit=0.1), reference_costs=costs)
    assert solution.status == "time_limit"
    stated = solution.certificate["guarantees"]["reference"]
    assert "says nothing about its tree" in stated["statement"]
    assert 0 <= solution.lower <= solution.upper


def test_costs_of_any_kind_have_an_account() -> None:
    rng = np.random.default_rng(1)
    X, costs = rng.integers(0, 3, (12, 2)).astype(float), rng.exponential(size=(12, 3))
    problem = Problem.from_costs(X, costs, regularization=0.01, max_depth=2)
    charged = charge_reference(problem, np.argmin(costs, axis=1))
    assert charged.tolist() == costs.min(axis=1).tolist()
    solution = solve(problem, reference_costs=charged)
    optimum = float(certify.enumerate_optimum(problem))
    assert solution.lower <= optimum + 1e-12 <= solution.upper + 2e-12
    assert account_reference(problem, charged).floor <= optimum


# References of any kind -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, (300, 4)).astype(float)
    y = np.where((X[:, 0] > 5) ^ (X[:, 1] > 7) ^ (rng.random(300) < 0.1), "yes", "no")
    return X, y, rng.lognormal(size=300)


class Recorder(DummyClassifier):
    """Remembers the weights it was fitted with, beyond its own copies."""

    seen: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Recorder:
        Recorder.seen = sample_weight
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: "boosting",
        lambda X, y: LogisticRegression(),
        lambda X, y: LogisticRegression().fit(X, y),
        lambda X, y: FrozenEstimator(KNeighborsClassifier().fit(X, y)),
        lambda X, y: KNeighborsClassifier(),
        lambda X, y: make_pipeline(StandardScaler(), LogisticRegression()),
        lambda X, y: Pipeline([("scale", StandardScaler()), ("near", KNeighborsClassifier())]),
        lambda X, y: y,
        lambda X, y: y.tolist(),
        lambda X, y: pd.Series(y),
    ],
)
def test_any_classifier_may_be_the_reference(table: tuple[Any, Any, Any], make: Any) -> None:
    X, y, weights = table
    reference = make(X, y)
    model = SparseTreeClassifier(3, 0.01, reference=reference).fit(X, y, weights)
    assert model.status_ == "guessed"
    stated = model.certificate_["guarantees"]["reference"]
    assert model.objective_ <= stated["lone_leaf_bound"] + 1e-12
    best = SparseTreeClassifier(3, 0.01).fit(X, y, weights)
    assert model.lower_bound_ <= best.objective_ + 1e-12 <= model.objective_ + 2e-12
    assert model.gap_ <= stated["excess"] + 1e-12
    assert certify.check(model.certificate_, model.tree_, X, y, weights).holds
    json.dumps(model.certificate_, allow_nan=False)


def test_a_reference_is_fitted_with_the_weights_of_rows_that_count(table: tuple[Any, Any, Any]) -> None:
    X, y, weights = table
    weights = weights.copy()
    weights[:10] = 0.0
    reference = Recorder()
    SparseTreeClassifier(2, reference=reference, class_weight={"yes": 2, "no": 1}).fit(X, y, weights)
    assert Recorder.seen.tolist() == (weights * np.where(y == "yes", 2, 1))[10:].tolist()
    assert not hasattr(reference, "classes_")
    SparseTreeClassifier(2, reference=make_pipeline(StandardScaler(), Recorder())).fit(X, y, weights)
    assert Recorder.seen.tolist() == weights[10:].tolist()


def test_a_reference_needs_nothing_but_predict(table: tuple[Any, Any, Any]) -> None:
    class Oracle:
        def predict(self, X: Any) -> Any:
            return np.where(np.asarray(X)[:, 0] > 5, "yes", "no")

    X, y, weights = table
    assert SparseTreeClassifier(2, reference=Oracle()).fit(X, y, weights).status_ == "guessed"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (np.zeros(299), r"reference has shape \(299,\), but X has 300 rows"),
        (np.full(300, "maybe"), r"reference predicts 'maybe' in row 0, which is not a label of y \('no', 'yes'\)"),
        (LogisticRegression().fit([[0.0] * 4, [1.0] * 4], [0, 1]), "which is not a label of y"),
        (LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"]), r"reference \(LogisticRegression\) cannot predict X"),
    ],
)
def test_a_reference_that_does_not_fit(table: tuple[Any, Any, Any], reference: Any, words: str) -> None:
    X, y, weights = table
    with pytest.raises(ValueError, match=words):
        SparseTreeClassifier(2, reference=reference).fit(X, y, weights)


def test_a_reference_that_cannot_be_fitted() -> None:
    X = pd.DataFrame({"colour": ["red", "blue"] * 4})
    with pytest.raises(ValueError, match=r"reference \(LogisticRegression\) cannot be fitted: could not convert"):
        SparseTreeClassifier(2, reference=LogisticRegression()).fit(X, [0, 1] * 4)


def test_a_reference_of_another_shape(table: tuple[Any, Any, Any]) -> None:
    class Two:
        def predict(self, X: Any) -> Any:
            return np.zeros((len(X), 2))

    X, y, weights = table
    with pytest.raises(ValueError, match=r"reference predicts an array of shape \(300, 2\) for 300 rows"):
        SparseTreeClassifier(2, reference=Two()).fit(X, y, weights)


@pytest.mark.parametrize("method", ["duplicate", "sample"])
def test_guesses_and_counts_together(table: tuple[Any, Any, Any], method: str) -> None:
    X, y, weights = table
    model = SparseTreeClassifier(
        3,
        0.01,
        method=method,
        reference="boosting",
        thresholds="guess",
        sample_ratio=3.0,
        duplication=500,
        random_state=0,
    ).fit(X, y, weights)
    assert model.status_ == "approximate"
    assert set(model.certificate_["guarantees"]) == {"weighing", "reference", "thresholds"}
    cuts = model.certificate_["thresholds"]
    same = SparseTreeClassifier(3, 0.01, thresholds=model.threshold_guess_).fit(X, y, weights)
    assert same.certificate_["thresholds"] == cuts
    assert model.lower_bound_ <= same.objective_ + 1e-12 <= model.objective_ + 2e-12


# Guessed thresholds ---------------------------------------------------------------------------------------------------


def make_frame(n_rows: int = 400) -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(7)
    kinds = ("many", "numeric missing", "categorical missing", "boolean", "categorical", "few")
    X = pd.DataFrame({kind: make_column(rng, kind, n_rows, 40) for kind in kinds})
    return X, make_labels(rng, X, 3, 0.1), rng.lognormal(size=n_rows)


def test_few_tests_do_the_work_of_many() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 6))
    y = (((X[:, 0] > 0.3) & (X[:, 3] > -0.2)) ^ (rng.random(2000) < 0.1)).astype(int)
    guess = guess_thresholds(X, y)
    assert guess.report_.n_tests == 6 * 1999
    assert guess.report_.n_kept <= 60
    assert guess.report_.n_kept <= guess.report_.n_found
    assert guess.report_.loss_after <= guess.report_.loss_before + 1e-3
    assert f"kept {guess.report_.n_kept} of 11994 tests" in guess.report_.text
    model = SparseTreeClassifier(2, 0.01, thresholds="guess").fit(X, y)
    assert model.threshold_guess_.cuts_ == guess.cuts_
    assert model.objective_ < SparseTreeClassifier(2, 0.01).fit(X, y).objective_ + 0.01
    stated = model.certificate_["guarantees"]["thresholds"]
    assert stated["n_kept"] == model.certificate_["sizes"]["tests"]
    assert stated["floor"] <= model.lower_bound_
    assert certify.check(model.certificate_, model.tree_, X, y).holds


def test_columns_of_every_kind() -> None:
    X, y, weights = make_frame()
    model = SparseTreeClassifier(3, 0.005, thresholds="guess").fit(X, y, weights)
    assert certify.check(model.certificate_, model.tree_, X, y, weights).holds
    json.dumps(model.certificate_, allow_nan=False)
    best = SparseTreeClassifier(3, 0.005).fit(X, y, weights)
    assert best.objective_ <= model.objective_ + 1e-12 <= best.objective_ + 0.03
    # The tree's tests are among those kept, and the certificate names them.
    cuts = model.certificate_["thresholds"]
    for node in np.flatnonzero(model.tree_.column >= 0):
        test = model.tree_.test(int(node))
        if test.threshold is not None:
            assert test.threshold in cuts[model.tree_.column[node]]


def test_the_optimum_over_kept_tests_is_that_of_enumeration() -> None:
    X, y, weights = make_frame(30)
    guess = guess_thresholds(X, y, weights, n_estimators=6)
    features = make_features(X, thresholds=guess.cuts_)
    problem = Problem.from_labels(features, y, weights, regularization=0.01, max_depth=2)
    assert solve(problem).upper == pytest.approx(float(certify.enumerate_optimum(problem)), abs=1e-9)
    model = SparseTreeClassifier(2, 0.01, thresholds=guess).fit(X, y, weights)
    assert model.objective_ == pytest.approx(solve(problem).upper, abs=1e-12)
    assert certify.check(model.certificate_, model.tree_, X, y, weights, prove_bound=True).holds


def test_a_guess_is_a_step_of_a_pipeline() -> None:
    X, y, weights = make_frame()
    guess = guess_thresholds(X, y, weights)
    answers = guess.transform(X)
    names = guess.get_feature_names_out()
    assert answers.shape == (len(X), len(names))
    assert answers.dtype == bool
    assert len(set(names)) == len(names)
    for name, answer in zip(names, answers.T, strict=True):
        if name.startswith("many <= "):
            np.testing.assert_array_equal(answer, X["many"] <= float(name.removeprefix("many <= ")))
    assert any("missing" in name for name in names)
    steps = Pipeline([("guess", ThresholdGuess()), ("tree", SparseTreeClassifier(3, 0.005))])
    steps.set_output(transform="pandas")
    steps.fit(X, y, guess__sample_weight=weights, tree__sample_weight=weights)
    inside = SparseTreeClassifier(3, 0.005, thresholds=guess).fit(X, y, weights)
    assert steps[-1].objective_ == pytest.approx(inside.objective_, abs=1e-12)
    np.testing.assert_array_equal(steps.predict(X.iloc[:50]), inside.predict(X.iloc[:50]))
    assert " is true" in steps[-1].tree_.test(0).text
    again = clone(steps).set_params(guess__n_estimators=5).fit(X, y)
    assert again[0].report_.n_kept < len(names)
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "y"]})
    assert guess_thresholds(frame, [0, 0, 1, 1]).get_feature_names_out().tolist() == ["a <= 2.5"]


def test_a_guess_not_yet_fitted_is_fitted_where_it_is_used() -> None:
    X, y, weights = make_frame()
    guess = ThresholdGuess(n_estimators=5)
    model = SparseTreeClassifier(2, thresholds=guess).fit(X, y, weights)
    assert not hasattr(guess, "cuts_")
    assert model.threshold_guess_.n_estimators == 5
    assert model.threshold_guess_.cuts_ == guess_thresholds(X, y, weights, n_estimators=5).cuts_


def test_a_guess_may_serve_another_table() -> None:
    X, y, weights = make_frame()
    guess = guess_thresholds(X, y, weights)
    model = SparseTreeClassifier(2, thresholds=guess).fit(X.iloc[:60], y[:60], weights[:60])
    stated = model.certificate_["guarantees"]["thresholds"]
    assert stated["n_kept"] == model.certificate_["sizes"]["tests"] <= guess.report_.n_kept
    assert stated["n_tests"] < stated["guess"]["n_tests"] == guess.report_.n_tests
    assert not hasattr(model.set_params(thresholds="all").fit(X, y), "threshold_guess_")


def test_a_guess_for_other_columns_is_refused() -> None:
    guess = guess_thresholds([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="thresholds has cuts for 1 columns, but X has 2"):
        SparseTreeClassifier(2, thresholds=guess).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


@pytest.mark.parametrize(
    ("X", "y"), [([[1.0], [1.0], [1.0]], [0, 1, 1]), ([[1.0], [2.0], [3.0]], [1, 1, 1])], ids=["no test", "one label"]
)
def test_where_there_is_nothing_to_guess(X: Any, y: Any) -> None:
    guess = guess_thresholds(X, y)
    assert guess.report_.n_kept == 0
    assert guess.transform(X).shape == (3, 0)
    for reference in (None, "boosting"):
        model = SparseTreeClassifier("guess", thresholds="guess", reference=reference)
        assert model.fit(X, y).n_leaves_ == 1


def test_rows_of_weight_zero_give_no_threshold() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, 0])
    guess = guess_thresholds(X, y, [1, 1, 1, 0])
    assert guess.cuts_ == ((1.5,),)


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X, y, weights = make_frame(60)
    guess_thresholds(X, y, weights)
    assert capsys.readouterr().err == ""
    guess_thresholds(X, y, weights, verbose=1)
    shown = capsys.readouterr()
    assert "refit" in shown.err
    assert "tests" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed"),
        ([0, 1], "inconsistent numbers of samples: X has 3, y 2"),
        ([0.1, 0.2, 0.3], "Unknown label type"),
    ],
)
def test_bad_labels(y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        guess_thresholds([[0.0], [1.0], [2.0]], y)


def test_other_columns_at_transform() -> None:
    guess = guess_thresholds(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        guess.transform(pd.DataFrame({"b": [0.0, 1.0]}))


@parametrize_with_checks(
    [
        ThresholdGuess(n_estimators=3),
        SparseTreeClassifier(thresholds=ThresholdGuess(n_estimators=3)),
        SparseTreeClassifier(method="duplicate"),
    ]
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_a_guessed_and_sampled_model_travels() -> None:
    X, y, weights = make_frame(80)
    model = SparseTreeClassifier(
        2, 0.01, method="sample", reference=y, thresholds=ThresholdGuess(n_estimators=5), random_state=0
    ).fit(X, y, weights)
    for other in (load(export_json(model)), pickle.loads(pickle.dumps(model))):
        assert other.certificate_ == model.certificate_
        np.testing.assert_array_equal(other.predict(X), model.predict(X))


# Guessed depth --------------------------------------------------------------------------------------------------------


def test_the_depth_by_hand() -> None:
    # m = 10 · 4 = 40; 40 · (3 ln 40 + 2) = 522.7; log2 is 9.03.
    guess = guess_depth(10, 3)
    assert (guess.depth, guess.size) == (10, 40)
    assert guess.text == (
        "T = 10 members of VC dimension V = 3, m = T(V + 1) = 40: depth ceil(log2(m (3 ln m + 2))) = 10"
    )
    for arguments in ((0, 3), (10, 0), (1.5, 2)):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            guess_depth(*arguments)


def test_the_dimension_of_small_trees() -> None:
    assert tree_dimension(0, 3) == 1  # two constants tell one row apart
    assert tree_dimension(1, 1) == 2  # four functions
    assert tree_dimension(7, 1) == 4  # sixteen
    with pytest.raises(ValueError, match="negative"):
        tree_dimension(-1, 1)


def test_no_class_tells_more_rows_apart_than_its_dimension() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = np.unique(rng.integers(0, 3, (5, 2)).astype(float), axis=0)
        n_tests = sum(len(np.unique(column)) - 1 for column in rows.T)
        for depth in (1, 2):
            if len(every_tree(rows, 2, depth)) == 2 ** len(rows):
                assert tree_dimension(n_tests, depth) >= len(rows)


def test_a_guessed_depth_is_stated_with_its_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 2)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = SparseTreeClassifier("guess", 0.02).fit(X, y)
    stated = model.certificate_["guarantees"]["depth"]
    expected = guess_depth(stated["n_members"], tree_dimension(6, 2))
    assert stated["depth"] == expected.depth == model.certificate_["constraints"]["max_depth"]
    assert stated["statement"] == expected.text
    assert model.status_ == "optimal"
    assert model.objective_ == SparseTreeClassifier(None, 0.02).fit(X, y).objective_
