"""Scores from logged decisions: right on average, never by a model that has seen the row, honest about themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from certree import PolicyTree, policy
from certree.datasets import make_policy
from certree.policy import scores as room

SCORES = (policy.direct, policy.inverse_propensity, policy.doubly_robust)


@pytest.fixture(scope="module")
def log() -> Any:
    return make_policy(3000, 3, n_actions=3, depth=1, noise=0.5, logging="confounded", random_state=7)


class Memory(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Refuses to predict a row that it was fitted on."""

    def fit(self, X: Any, y: Any) -> Memory:
        self.seen_ = {row.tobytes() for row in np.asarray(X)}
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        assert not any(row.tobytes() in self.seen_ for row in np.asarray(X))
        return np.full(len(X), self.mean_)


class ClassMemory(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The same for chances."""

    def fit(self, X: Any, y: Any) -> ClassMemory:
        self.classes_, counts = np.unique(y, return_counts=True)
        self.seen_, self.shares_ = {row.tobytes() for row in np.asarray(X)}, counts / counts.sum()
        return self

    def predict_proba(self, X: Any) -> Any:
        assert not any(row.tobytes() in self.seen_ for row in np.asarray(X))
        return np.tile(self.shares_, (len(X), 1))


def test_no_row_is_scored_by_a_model_that_has_seen_it(log: Any) -> None:
    scores = policy.doubly_robust(
        log.data, log.treatment, log.outcome, outcome_model=Memory(), propensity_model=ClassMemory(), folds=3
    )
    assert scores.rewards.shape == (3000, 3)
    with pytest.raises(AssertionError):
        Memory().fit(log.data, log.outcome).predict(log.data[:1])


def test_formulas_of_known_parts() -> None:
    X, treatment, outcome = np.arange(8.0).reshape(-1, 1), [0, 1] * 4, np.arange(8.0)
    model = DummyRegressor(strategy="constant", constant=1.0)
    known = {"propensity": [0.25, 0.75], "random_state": 0, "folds": 2}
    inverse = policy.inverse_propensity(X, treatment, outcome, **known).rewards
    np.testing.assert_allclose(inverse[:, 0], np.where(np.arange(8) % 2 == 0, outcome / 0.25, 0))
    np.testing.assert_allclose(inverse[:, 1], np.where(np.arange(8) % 2 == 1, outcome / 0.75, 0))
    direct = policy.direct(X, treatment, outcome, outcome_model=model, folds=2).rewards
    np.testing.assert_array_equal(direct, np.ones((8, 2)))
    both = policy.doubly_robust(X, treatment, outcome, outcome_model=model, **known).rewards
    np.testing.assert_allclose(both[:, 0], np.where(np.arange(8) % 2 == 0, 1 + (outcome - 1) / 0.25, 1))
    np.testing.assert_allclose(both[:, 1], np.where(np.arange(8) % 2 == 1, 1 + (outcome - 1) / 0.75, 1))


@pytest.mark.parametrize("score", SCORES)
def test_costs_are_taken_off_and_costs_of_outcome_change_sign(score: Any, log: Any) -> None:
    few = slice(0, 90)
    data = (log.data[few], log.treatment[few], log.outcome[few])
    settings = {"random_state": 0, "folds": 2}
    plain = score(*data, **settings).rewards
    own = np.random.default_rng(0).random((90, 3))
    np.testing.assert_allclose(score(*data, costs=[0.0, 1.0, 2.5], **settings).rewards, plain - [0, 1, 2.5])
    np.testing.assert_allclose(score(*data, costs={2: 2.5, 0: 0, 1: 1}, **settings).rewards, plain - [0, 1, 2.5])
    np.testing.assert_allclose(score(*data, costs=own, **settings).rewards, plain - own)
    turned = score(data[0], data[1], -data[2], maximize=False, costs=own, **settings).rewards
    np.testing.assert_allclose(turned, plain - own)


@pytest.mark.no_cover
def test_scores_are_right_on_average_where_plain_means_are_not(log: Any) -> None:
    truth = log.expected.mean(axis=0)
    plain = np.array([log.outcome[log.treatment == action].mean() for action in range(3)])
    assert np.abs(plain - truth).max() > 0.2
    both = policy.doubly_robust(log.data, log.treatment, log.outcome, random_state=0)
    np.testing.assert_allclose(both.rewards.mean(axis=0), truth, atol=0.08)
    known = policy.inverse_propensity(log.data, log.treatment, log.outcome, propensity=log.propensity)
    np.testing.assert_allclose(known.rewards.mean(axis=0), truth, atol=0.12)
    model = policy.direct(log.data, log.treatment, log.outcome, random_state=0)
    np.testing.assert_allclose(model.rewards.mean(axis=0), truth, atol=0.15)


def test_doubly_robust_scores_forgive_one_wrong_model(log: Any) -> None:
    truth = log.expected.mean(axis=0)
    wrong = DummyRegressor(strategy="constant", constant=5.0)
    by_propensity = policy.doubly_robust(
        log.data, log.treatment, log.outcome, outcome_model=wrong, propensity=log.propensity
    )
    np.testing.assert_allclose(by_propensity.rewards.mean(axis=0), truth, atol=0.4)
    by_outcome = policy.doubly_robust(
        log.data, log.treatment, log.outcome, outcome_model=LinearRegression(), propensity_model=DummyClassifier()
    )
    np.testing.assert_allclose(by_outcome.rewards.mean(axis=0), truth, atol=0.1)


def test_the_same_seed_gives_the_same_scores(log: Any) -> None:
    data = (log.data[:60], log.treatment[:60], log.outcome[:60])
    one, two, other = (policy.doubly_robust(*data, random_state=seed).rewards for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_known_propensities_in_every_form() -> None:
    rng = np.random.default_rng(0)
    X, treatment, outcome = rng.normal(size=(40, 2)), np.array(["a", "b"] * 20), rng.normal(size=40)
    given = [
        [0.3, 0.7], {"b": 0.7, "a": 0.3}, 0.7, np.full(40, 0.7), np.tile([0.3, 0.7], (40, 1)),
    ]  # fmt: skip
    answers = [
        policy.inverse_propensity(X, treatment, outcome, propensity=one, random_state=0).rewards for one in given
    ]
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0])


def test_diagnostics_say_what_is_wrong_with_overlap(log: Any) -> None:
    scores = policy.doubly_robust(
        log.data, log.treatment, log.outcome, clip=0.2, outcome_model=LinearRegression(), random_state=0
    )
    for code, overlap in enumerate(scores.overlap):
        rows = log.treatment == code
        assert overlap.action == code
        assert overlap.rows == rows.sum()
        assert sum(overlap.histogram) == 3000
        assert 1 < overlap.effective_sample_size < overlap.rows
    assert scores.propensity is not None
    assert scores.propensity.min() == 0.2
    clipped = {overlap.action: overlap.share_clipped for overlap in scores.overlap}
    assert clipped[0] > 0.05
    assert clipped[2] > 0.05
    assert min(overlap.smallest for overlap in scores.overlap) < 0.2
    for fit in scores.fit:
        assert 0.3 < fit.r_squared < 1
        assert 0.4 < fit.error < 0.9
    text = scores.summary()
    assert "Doubly robust scores of 3,000 rows and 3 actions." in text
    assert text.count("\n") == 6
    assert "% of rows clipped" in text


def test_equal_propensities_lose_nothing() -> None:
    scores = policy.inverse_propensity(np.zeros((10, 1)), [0, 1] * 5, np.ones(10), propensity=0.5)
    assert [overlap.effective_sample_size for overlap in scores.overlap] == pytest.approx([5, 5])
    assert [overlap.share_clipped for overlap in scores.overlap] == [0, 0]
    assert scores.fit == ()
    assert scores.expected is None
    flat = policy.direct(np.zeros((10, 1)), [0, 1] * 5, np.ones(10))
    assert flat.overlap == ()
    assert flat.propensity is None
    assert np.isnan(flat.fit[0].r_squared)


def test_known_propensities_are_never_clipped() -> None:
    scores = policy.inverse_propensity(np.zeros((10, 1)), [0, 1] * 5, np.ones(10), propensity=[0.001, 0.999], clip=0.1)
    assert scores.rewards.max() == pytest.approx(1000)
    assert scores.overlap[0].share_clipped == 0


def test_a_classifier_predicts_the_mean_of_outcomes() -> None:
    rng = np.random.default_rng(1)
    X, treatment = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    chance = 1 / (1 + np.exp(-X[:, 0]))
    scores = policy.direct(X, treatment, rng.random(400) < chance, outcome_model=LogisticRegression(), random_state=0)
    np.testing.assert_allclose(scores.rewards.mean(axis=1), chance, atol=0.2)
    sure = policy.direct(X, treatment, treatment, outcome_model=LogisticRegression())
    np.testing.assert_array_equal(sure.rewards, np.tile([0.0, 1.0], (400, 1)))


@pytest.mark.parametrize("library", [pd, pl])
def test_messy_frames(library: Any) -> None:
    rng = np.random.default_rng(2)
    colour = rng.choice(["red", "blue"], 120)
    size = [None if missing else value for missing, value in zip(rng.random(120) < 0.2, rng.normal(size=120))]  # noqa: B905
    X = library.DataFrame({"size": size, "colour": colour, "old": rng.random(120) < 0.5})
    treatment = library.Series(["none", "call"] * 60)
    outcome = library.Series(rng.normal(size=120) + 2 * (colour == "red") * (np.arange(120) % 2))
    scores = policy.doubly_robust(X, treatment, outcome, random_state=0)
    assert scores.actions == ("call", "none")
    model = PolicyTree(1).fit(X, scores, treatment=treatment)
    assert set(model.predict(X)) <= {"call", "none"}
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]))
    own = policy.doubly_robust(
        X,
        treatment,
        outcome,
        outcome_model=make_pipeline(encoder, Ridge()),
        propensity_model=make_pipeline(encoder, LogisticRegression()),
        actions=["none", "call"],
    )
    assert own.actions == ("none", "call")
    assert own.rewards[:, 1].mean() > own.rewards[:, 0].mean()


def test_rows_go_by_place_not_by_index() -> None:
    """Frames that were filtered or sorted have an index of their own; nothing is looked up by it."""
    rng = np.random.default_rng(3)
    X, treatment, outcome = rng.normal(size=(30, 2)), np.arange(30) % 2, rng.normal(size=30)
    plain = policy.doubly_robust(X, treatment, outcome, costs=[0.0, 1.0], propensity=0.4, random_state=0)
    costs = pd.DataFrame({1: 1.0, 0: 0.0}, index=rng.permutation(30))
    messy = policy.doubly_robust(
        pd.DataFrame(X, index=rng.permutation(30) + 100),
        pd.Series(treatment == 1, index=rng.permutation(30), dtype="boolean"),
        pd.Series(outcome, index=rng.permutation(30), dtype="Float64"),
        costs=costs.set_axis([True, False], axis=1),
        propensity=pd.Series(0.4, index=rng.permutation(30)),
        random_state=0,
    )
    assert messy.actions == (False, True)
    np.testing.assert_array_equal(messy.rewards, plain.rewards)


def test_the_three_scores_are_asked_alike() -> None:
    given = (ROWS, ARMS, OUTCOMES, 0.5, LinearRegression(), LogisticRegression(), 2, 0.05, 0)
    assert [score(*given).method for score in SCORES] == ["direct", "inverse propensity", "doubly robust"]
    for score in SCORES:
        with pytest.raises(ValueError, match="propensity must lie strictly between 0 and 1"):
            score(ROWS, ARMS, OUTCOMES, propensity=1.0)


def test_rows_of_scores() -> None:
    scores = policy.doubly_robust(ROWS, ["a", "b"] * 3, OUTCOMES, folds=2, random_state=0)
    assert scores.shape == (6, 2)
    for rows in (np.array([4, 1]), (np.array([4, 1]), ...)):
        part = scores[rows]
        assert part.actions == ("a", "b")
        np.testing.assert_array_equal(part.rewards, scores.rewards[[4, 1]])
        assert part.treatment.tolist() == [0, 1]
        assert part.expected is not None
        assert part.expected.shape == (2, 2)
    assert policy.direct(ROWS, ARMS, OUTCOMES, folds=2)[:3].propensity is None


def test_scores_are_arrays() -> None:
    scores = policy.direct(np.zeros((10, 1)), [0.0, 1.0] * 5, np.ones(10))
    assert scores.actions == (0, 1)
    assert all(type(action) is int for action in scores.actions)
    assert np.asarray(scores) is scores.rewards
    assert np.array(scores, dtype=np.float32).dtype == np.float32
    frame = pd.DataFrame(scores, columns=scores.actions)
    np.testing.assert_array_equal(frame, scores.rewards)
    np.testing.assert_array_equal(list(scores), scores.rewards)
    assert np.array(scores).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        scores.rewards[0, 0] = 1


def test_large_tables_use_histograms(monkeypatch: pytest.MonkeyPatch, log: Any) -> None:
    monkeypatch.setattr(room, "LARGEST_PLAIN", 10)
    with threadpool_limits(1):
        scores = policy.direct(log.data[:150], log.treatment[:150], log.outcome[:150], folds=2)
    assert np.isfinite(scores.rewards).all()


def test_few_rows_of_an_action_are_enough() -> None:
    scores = policy.doubly_robust(np.arange(9.0).reshape(-1, 1), [0] * 7 + [1] * 2, np.arange(9.0), random_state=0)
    assert np.isfinite(scores.rewards).all()


# What may be wrong ----------------------------------------------------------------------------------------------------

ROWS = np.arange(6.0).reshape(-1, 1)
ARMS = [0, 1] * 3
OUTCOMES = np.arange(6.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"treatment": [0] * 6}, r"one value \(0\): there is nothing to choose"),
        ({"treatment": [0, 1, 0, 1, 0, None]}, "treatment is missing in row 5"),
        ({"treatment": pd.Series([0, 1, pd.NA] * 2)}, "treatment is missing in row 2"),
        ({"treatment": [0, 1]}, "treatment has 2 rows, but X has 6"),
        ({"treatment": [0, 0, 0, 0, 0, 1]}, "action 1 has 1 row; at least 2"),
        ({"actions": [0, 1, 2]}, "action 2 has no rows"),
        ({"actions": [0, 2]}, "row 1 has 1, which is not one of the actions 0, 2"),
        ({"actions": [0, 1, 1]}, "action 1 occurs twice"),
        ({"outcome": [0, 1, 2, 3, np.nan, 5]}, "outcome is NaN in row 4"),
        ({"outcome": [0, 1, 2, np.inf, 4, 5]}, "outcome is infinite in row 3"),
        ({"outcome": list("abcdef")}, "outcome must hold numbers"),
        ({"outcome": [1.0]}, "outcome has 1 rows, but X has 6"),
        ({"propensity": [0.0, 1.0]}, "strictly between 0 and 1: row 0, action 0 has 0.0"),
        ({"propensity": [0.5, 0.5, 0.5, 1.0, 0.5, 0.5]}, "row 3, action 0 has 0.0"),
        ({"propensity": np.full((6, 2), np.nan)}, "row 0, action 0 has nan"),
        ({"propensity": [0.5, 0.6]}, "row 0 sums to 1.1"),
        ({"propensity": [0.2, 0.3, 0.5]}, r"one number per action \(2\).*shape \(3,\)"),
        ({"propensity": {0: 1.0}}, "propensity has no value for action 1"),
        ({"propensity": {0: 0.5, 1: 0.3, "x": 0.2}}, "propensity names 'x'"),
        ({"costs": [1.0]}, r"costs must be one number per action \(2\)"),
        ({"costs": [1.0, np.inf]}, "costs must be finite: row 0, action 1 has inf"),
        ({"folds": 1}, "folds must be an integer of at least 2, not 1"),
        ({"clip": 0.7}, "clip must be at least 0 and below 0.5"),
        ({"maximize": "no"}, "maximize must be True or False, not 'no'"),
        ({"clip": "little"}, "clip must be at least 0 and below 0.5, not 'little'"),
        ({"treatment": pd.DataFrame({"t": ARMS})}, r"treatment must have one action per row, but has shape \(6, 1\)"),
        ({"treatment": np.eye(2)[ARMS]}, r"treatment must have one action per row, but has shape \(6, 2\)"),
        ({"treatment": pd.Series(["a", "b", None] * 2, dtype="string")}, "treatment is missing in row 2"),
        ({"treatment": pd.Series([True, None] * 3, dtype="boolean")}, "treatment is missing in row 1"),
        ({"actions": "01"}, "actions must be a sequence of actions, not the string '01'"),
        ({"outcome": ["yes", "no"] * 3}, "outcome must hold numbers: row 0 has 'yes'"),
        ({"outcome": ["1.5"] * 5 + ["n/a"]}, "outcome must hold numbers: row 5 has 'n/a'"),
        ({"outcome": pd.Series([1, pd.NA, 2] * 2, dtype=object)}, "outcome is NaN in row 1"),
        ({"outcome": pd.Series([1, None, 2] * 2, dtype="Int64")}, "outcome is NaN in row 1"),
        ({"outcome": pd.Series([True, None] * 3, dtype="boolean")}, "outcome is NaN in row 1"),
        ({"outcome": pl.Series([1.0, 2.0, None] * 2)}, "outcome is NaN in row 2"),
        ({"outcome": pd.date_range("2020", periods=6)}, "outcome must hold numbers, not datetime64"),
        ({"outcome": np.ones(6) + 1j}, "outcome must hold numbers, not complex128"),
        ({"outcome": [[1], [2, 3], [], [], [], []]}, "outcome must hold numbers"),
        ({"outcome": np.ones((6, 1))}, r"outcome must have one number per row, but has shape \(6, 1\)"),
        ({"propensity": ["half", "half"]}, "propensity must hold numbers: action 0 has 'half'"),
        ({"propensity": pd.Series([0.5, pd.NA, 0.5] * 2, dtype="Float64")}, "row 1, action 0 has nan"),
        ({"propensity": pd.DataFrame({"p0": [0.5] * 6, "p1": [0.5] * 6})}, "propensity names 'p0'"),
        ({"propensity": np.full(5, 0.5)}, r"propensity must be .*not of shape \(5,\)"),
        ({"costs": pd.DataFrame({0: [0.0, pd.NA] * 3, 1: 1.0}, dtype="Float64")}, "row 1, action 0 has nan"),
        ({"costs": [[0, 1]] * 5 + [[0, "much"]]}, "costs must hold numbers: row 5, action 1 has 'much'"),
        ({"costs": [0, "much"]}, "costs must hold numbers: action 1 has 'much'"),
        ({"costs": [[0, 1, "much"]] * 6}, "costs must hold numbers: row 0, column 2 has 'much'"),
        ({"costs": np.zeros(6)}, r"costs must be one number per action \(2\) or n × K \(6, 2\), not of shape \(6,\)"),
        ({"X": pd.DataFrame({"age": [1.0, 2.0, np.inf] * 2})}, "contains infinity: column 'age', row 2"),
        ({"X": pd.DataFrame({"born": pd.date_range("2020", periods=6)})}, "column 'born' holds dates"),
        ({"X": OUTCOMES}, "Expected 2D array"),
    ],
)
def test_bad_logs(change: dict[str, Any], words: str) -> None:
    given = {"X": ROWS, "treatment": ARMS, "outcome": OUTCOMES} | change
    with pytest.raises(ValueError, match=words):
        policy.doubly_robust(**given)


class Certain(ClassMemory):
    """Is sure that nobody ever got the first action."""

    def predict_proba(self, X: Any) -> Any:
        return np.tile([0.0, 1.0], (len(X), 1))


def test_a_propensity_of_zero_needs_a_clip() -> None:
    given = (ROWS, ARMS, OUTCOMES)
    with pytest.raises(ValueError, match=r"row 0 has an estimated propensity of 0.0 for action 0; set clip above 0"):
        policy.inverse_propensity(*given, propensity_model=Certain(), clip=0.0)
    scores = policy.inverse_propensity(*given, propensity_model=Certain(), clip=0.1)
    assert scores.overlap[0].share_clipped == 1
    assert scores.overlap[0].smallest == 0


@pytest.mark.parametrize("name", ["outcome_model", "propensity_model"])
@pytest.mark.parametrize("model", ["forest", LogisticRegression])
def test_models_must_be_models(name: str, model: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a scikit-learn estimator"):
        policy.doubly_robust(ROWS, ARMS, OUTCOMES, **{name: model})


@pytest.mark.parametrize(
    ("name", "model"), [("outcome_model", LinearRegression()), ("propensity_model", LogisticRegression())]
)
def test_a_model_that_does_not_suit_the_table_is_named(name: str, model: Any) -> None:
    words = f"{name} .{type(model).__name__}. cannot learn from this log: "
    for X, reason in ((np.where(ROWS == 3, np.nan, ROWS), "Input X contains NaN"), ([["a"]] * 6, "")):
        with pytest.raises(ValueError, match=words + reason):
            policy.doubly_robust(X, ARMS, OUTCOMES, folds=2, random_state=0, **{name: model})


def test_a_model_that_predicts_nonsense_is_named() -> None:
    class Lost(DummyRegressor):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="score of row 0, action 0 is nan"):
        policy.doubly_robust(ROWS, ARMS, OUTCOMES, outcome_model=Lost())
