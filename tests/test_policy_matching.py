"""Effects by matching: against brute force under a fixed metric, planted effects, and the same answer every time."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from certree.datasets import load_lalonde
from certree.policy import MatchingEffects
from certree.policy import matching as room
from certree.policy.log import read_log


def make_planted(n_rows: int, seed: int = 0, noise: float = 0.5) -> tuple[Any, Any, Any, Any]:
    """Six columns: the first moves every outcome, the second decides the effect, four mean nothing."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n_rows, 6)) * [1, 100, 1, 100, 1, 1] + [0, 0, 0, 0, 50, 0]
    treatment = chance.integers(0, 2, n_rows)
    effect = np.where(X[:, 1] > 0, 2.0, -1.0)
    return X, treatment, 2 * X[:, 0] + treatment * effect + noise * chance.normal(size=n_rows), effect


def match_by_hand(
    X: Any, treatment: Any, outcome: Any, stretches: Any, k: int, include_own: bool, new: Any = None
) -> Any:
    """Effects and their errors by sorting, one row at a time; ties share the last places. Of X, or of new rows."""
    spread = X.std(axis=0)
    points, targets = (
        (rows - X.mean(axis=0)) / np.where(spread > 0, spread, 1) * stretches for rows in (X, X if new is None else new)
    )
    found = []
    for row, target in enumerate(targets):
        mean, error = {}, {}
        for arm in (0, 1):
            others = [o for o in range(len(X)) if treatment[o] == arm and (include_own or o != row)]
            ranked = sorted(others, key=lambda o: np.sum((points[o] - target) ** 2))
            far = [np.sum((points[o] - target) ** 2) for o in ranked]
            nearer = [o for o, d in zip(ranked, far, strict=True) if d < far[k - 1] * (1 - 1e-9)]
            tied = [o for o, d in zip(ranked, far, strict=True) if o not in nearer and d <= far[k - 1] * (1 + 1e-9)]
            shares = dict.fromkeys(nearer, 1 / k) | dict.fromkeys(tied, (k - len(nearer)) / len(tied) / k)
            mean[arm] = sum(share * outcome[o] for o, share in shares.items())
            rows = 1 / sum(share**2 for share in shares.values())
            error[arm] = sum(share * (outcome[o] - mean[arm]) ** 2 for o, share in shares.items()) / (rows - 1)
        found.append((mean[1] - mean[0], np.sqrt(error[0] + error[1])))
    return np.array(found).T


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans(), st.booleans())
def test_a_fixed_metric_matches_as_by_hand(seed: int, k: int, include_own: bool, has_ties: bool) -> None:
    chance = np.random.default_rng(seed)
    X = chance.integers(0, 3, (30, 3)).astype(float) if has_ties else chance.normal(size=(30, 3))
    treatment = np.arange(30) % 2
    outcome = chance.normal(size=30)
    stretches = chance.uniform(0.1, 3, 3)
    model = MatchingEffects(k, metric=stretches, include_own=include_own).fit(X, treatment, outcome)
    effects, errors = match_by_hand(X, treatment, outcome, stretches, k, include_own)
    np.testing.assert_allclose(model.effects_, effects, atol=1e-12)
    np.testing.assert_allclose(model.standard_errors_, errors, atol=1e-12)
    np.testing.assert_allclose(model.expected_[:, 1] - model.expected_[:, 0], model.effects_, atol=1e-12)


def test_splits_are_matched_under_metrics_of_other_rows() -> None:
    """The whole way by hand: the deal, a metric from the rows that learn, a match among the others, the means."""
    X, treatment, outcome, _ = make_planted(90)
    model = MatchingEffects(3, n_splits=3, n_repeats=2, random_state=4).fit(X, treatment, outcome)
    log, points = read_log(X, treatment, outcome), room.standardise(X)
    estimates: list[list[float]] = [[] for _ in range(90)]
    variances: list[list[float]] = [[] for _ in range(90)]
    for part, (seen, held) in enumerate(model._deal(log)):
        assert sorted([*seen, *held]) == list(range(90))
        np.testing.assert_array_equal(model.split_stretches_[part], room.learn_metric(points, log, seen, 0.02))
        own = points[held] * points.std() * model.split_stretches_[part]
        means, errors = room.match(own, own, treatment[held], outcome[held], 3)
        for row, mean, error in zip(held, means, errors, strict=True):
            estimates[row].append(mean[1] - mean[0])
            variances[row].append(error.sum())
    assert {len(found) for found in estimates} == {4}
    np.testing.assert_allclose(model.effects_, np.mean(estimates, axis=1))
    np.testing.assert_allclose(
        model.standard_errors_, np.sqrt(np.mean(variances, axis=1) + np.var(estimates, axis=1, ddof=1))
    )


def test_the_gradient_of_the_misfit() -> None:
    chance = np.random.default_rng(0)
    arms = [(chance.normal(size=(rows, 4)), chance.normal(size=rows)) for rows in (12, 20)]
    for shrinkage in (0.0, 0.5):
        error = check_grad(
            lambda at, own=shrinkage: room.misfit(at, arms, own)[0],
            lambda at, own=shrinkage: room.misfit(at, arms, own)[1],
            chance.uniform(0.1, 2, 4),
        )
        assert error < 1e-6


def test_the_metric_finds_what_matters_and_effects_what_was_planted() -> None:
    X, treatment, outcome, effect = make_planted(600)
    model = MatchingEffects(random_state=0, n_repeats=2).fit(X, treatment, outcome)
    assert model.stretches_[:2].min() > 3 * model.stretches_[2:].max()
    assert np.mean(model.stretches_**2) == pytest.approx(1)
    plain = MatchingEffects(metric="equal").fit(X, treatment, outcome)
    error, plain_error = (np.mean((found.effects_ - effect) ** 2) for found in (model, plain))
    assert error < 0.5
    assert error < plain_error / 3
    assert np.mean(np.sign(model.effects_) == np.sign(effect)) > 0.9
    assert 0.88 < np.mean(np.abs(model.effects_ - effect) < 1.96 * model.standard_errors_) < 0.99


def test_outcomes_that_follow_nothing_leave_the_metric_even() -> None:
    chance = np.random.default_rng(3)
    X, treatment = chance.normal(size=(400, 4)), chance.integers(0, 2, 400)
    outcome = chance.normal(size=400)
    even = MatchingEffects(shrinkage=10.0, n_repeats=1, random_state=0).fit(X, treatment, outcome)
    np.testing.assert_allclose(even.stretches_, 1, atol=0.02)
    constant = MatchingEffects(n_repeats=1, random_state=0).fit(X, treatment, np.ones(400))
    np.testing.assert_allclose(constant.stretches_, 1)
    np.testing.assert_allclose([constant.effects_, constant.standard_errors_], 0, atol=1e-12)


def test_own_outcome_can_be_left_out() -> None:
    X, treatment, outcome, _ = make_planted(60)
    outcome = outcome.copy()
    settings: dict[str, Any] = {"n_neighbors": 3, "metric": "equal", "include_own": False}
    before = MatchingEffects(**settings).fit(X, treatment, outcome).effects_[7]
    outcome[7] += 1000
    assert MatchingEffects(**settings).fit(X, treatment, outcome).effects_[7] == before
    moved = MatchingEffects(**(settings | {"include_own": True})).fit(X, treatment, outcome).effects_[7]
    assert abs(moved - before) > 300


def test_the_lalonde_rows() -> None:
    data = load_lalonde()
    model = MatchingEffects(5, n_repeats=1, random_state=0).fit(data.data, data.treatment, data.target)
    assert model.effects_.shape == model.standard_errors_.shape == (722,)
    assert model.columns_ == tuple(f"x{index}" for index in range(7))
    assert (model.standard_errors_ > 0).all()
    # An experiment: the mean effect is near the difference of the arms' means, which is 886.3.
    assert model.effects_.mean() == pytest.approx(886.3, abs=400)


class TestNewRows:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.integers(2, 5), st.booleans(), st.booleans())
    def test_a_fixed_metric_matches_as_by_hand(self, seed: int, k: int, include_own: bool, has_ties: bool) -> None:
        chance = np.random.default_rng(seed)
        X, new = (
            chance.integers(0, 3, (rows, 3)).astype(float) if has_ties else chance.normal(size=(rows, 3))
            for rows in (30, 12)
        )
        treatment, outcome, stretches = np.arange(30) % 2, chance.normal(size=30), chance.uniform(0.1, 3, 3)
        model = MatchingEffects(k, metric=stretches, include_own=include_own).fit(X, treatment, outcome)
        effects, errors = match_by_hand(X, treatment, outcome, stretches, k, True, new)
        found = model.predict(new, return_std=True)
        np.testing.assert_allclose(found[0], effects, atol=1e-12)
        np.testing.assert_allclose(found[1], errors, atol=1e-12)
        np.testing.assert_array_equal(model.predict(new), found[0])

    def test_splits_by_hand(self) -> None:
        """Every split matches with the rows it matched, under its own metric."""
        X, treatment, outcome, _ = make_planted(90)
        new = make_planted(20, seed=1)[0]
        model = MatchingEffects(3, n_splits=3, n_repeats=2, random_state=4).fit(X, treatment, outcome)
        points, centred = room.standardise(X), (new - X.mean(axis=0)) / X.std(axis=0)
        means, errors = zip(
            *(
                room.match(centred * own, points[held] * own, treatment[held], outcome[held], 3)
                for own, (_, held) in zip(
                    model.split_stretches_, model._deal(read_log(X, treatment, outcome)), strict=True
                )
            ),
            strict=True,
        )
        estimates = np.array([mean[:, 1] - mean[:, 0] for mean in means])
        variance = np.sum(errors, axis=2).mean(axis=0) + estimates.var(axis=0, ddof=1)
        found = model.predict(new, return_std=True)
        np.testing.assert_allclose(found[0], estimates.mean(axis=0))
        np.testing.assert_allclose(found[1], np.sqrt(variance))

    def test_planted_effects_are_foretold(self) -> None:
        X, treatment, outcome, _ = make_planted(600)
        new, _, _, effect = make_planted(200, seed=1)
        model = MatchingEffects(random_state=0, n_repeats=1).fit(X, treatment, outcome)
        assert np.mean(np.sign(model.predict(new)) == np.sign(effect)) > 0.9

    def test_fitted_rows_have_their_effects(self) -> None:
        X, treatment, outcome, _ = make_planted(60)
        model = MatchingEffects(4, metric="equal").fit(X, treatment, outcome)
        np.testing.assert_allclose(model.predict(X), model.effects_)
        np.testing.assert_array_equal(model.predict(X[7:8]), model.predict(X)[7:8])
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    def test_words_and_gaps_are_numbered_as_before(self) -> None:
        def make(age: list[Any], town: list[Any], height: list[Any]) -> pd.DataFrame:
            return pd.DataFrame({"age": age, "town": town, "height": height})

        ages = [None if row % 4 == 0 else float(row % 50) for row in range(60)]
        towns = [("Ghent", "Bruges", None)[row % 3] for row in range(60)]
        X = make(ages, towns, [float(row % 7) for row in range(60)])
        treatment = (np.arange(60) // 3) % 2
        outcome = 10.0 * (X["town"] == "Ghent") * treatment + 3.0 * X["age"].isna() * treatment
        model = MatchingEffects(4, metric=[1, 0, 0, 0, 5, 0], include_own=False)
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.fit(X, treatment, outcome)
        assert model.columns_ == (
            "age is missing", "age", "town is missing", "town == 'Bruges'", "town == 'Ghent'", "height",
        )  # fmt: skip
        # Fewer rows, no gap, a town that nobody saw, nothing but gaps: the columns stay what they were.
        found = model.predict(make([20.0, 30.0, 40.0], ["Ghent", "Bruges", "Ypres"], [1.0, 2.0, 3.0]))
        np.testing.assert_allclose(found, [10, 0, 0])
        gaps = model.predict(make([None, None], [None, None], [None, 3.0]))
        np.testing.assert_allclose(gaps, 3)
        mean = model.predict(make([20.0], ["Ghent"], [X["height"].mean()]))
        np.testing.assert_allclose(model.predict(make([20.0], ["Ghent"], [None])), mean)
        with pytest.raises(ValueError, match="column 'height' holds text, but held numbers before"):
            model.predict(make([20.0], ["Ghent"], ["tall"]))
        with pytest.raises(ValueError, match="column 'height' holds an infinite value"):
            model.predict(make([20.0], ["Ghent"], [np.inf]))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(X[["town", "age", "height"]])
        plain = MatchingEffects(4, metric="equal").fit(np.eye(60)[:, :3], treatment, outcome)
        with pytest.raises(ValueError, match="X has 1 features, but MatchingEffects is expecting 3"):
            plain.predict([[1.0]])


class TestSameAnswer:
    def test_same_seed(self) -> None:
        X, treatment, outcome, _ = make_planted(120)
        first, second, other = (
            MatchingEffects(4, n_repeats=1, random_state=seed).fit(X, treatment, outcome).effects_ for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)

    def test_whatever_the_hash_seed(self) -> None:
        script = (
            "import numpy as np, hashlib\n"
            "from certree.policy import MatchingEffects\n"
            "chance = np.random.default_rng(0)\n"
            "words = np.array(['red', 'green', 'blue', 'black'], dtype=object)\n"
            "X = np.column_stack([words[chance.integers(0, 4, 80)], chance.normal(size=80).astype(object)])\n"
            "arm = np.array(['no', 'yes'])[np.arange(80) % 2]\n"
            "model = MatchingEffects(4, n_splits=2, n_repeats=2, random_state=0).fit(X, arm, chance.normal(size=80))\n"
            "print(model.columns_, hashlib.sha256(model.effects_.tobytes() + model.standard_errors_.tobytes())"
            ".hexdigest())\n"
        )
        printed = {
            subprocess.run(
                [sys.executable, "-c", script],
                env=os.environ | {"PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "12345")
        }
        assert len(printed) == 1
        assert "== 'blue'" in printed.pop()

    def test_whatever_the_order_of_rows(self) -> None:
        chance = np.random.default_rng(0)
        X, outcome = chance.integers(0, 3, (40, 2)), chance.normal(size=40)
        treatment, order = np.arange(40) % 2, chance.permutation(40)
        plain = MatchingEffects(4, metric="equal").fit(X, treatment, outcome)
        turned = MatchingEffects(4, metric="equal").fit(X[order], treatment[order], outcome[order])
        np.testing.assert_allclose(turned.effects_, plain.effects_[order], atol=1e-12)

    def test_whatever_the_units(self) -> None:
        X, treatment, outcome, _ = make_planted(120)
        plain = MatchingEffects(4, n_repeats=1, random_state=0).fit(X, treatment, outcome)
        scaled = MatchingEffects(4, n_repeats=1, random_state=0).fit(X * 1000 - 7, treatment, 1000 * outcome)
        np.testing.assert_allclose(scaled.stretches_, plain.stretches_, rtol=1e-4)
        np.testing.assert_allclose(scaled.effects_, 1000 * plain.effects_, rtol=1e-9)

    def test_whatever_the_rounding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Other processors and libraries round otherwise; the men are matched alike."""
        data, standardise = load_lalonde(), room.standardise
        model = MatchingEffects(5, n_repeats=1, random_state=0)
        plain = model.fit(data.data, data.treatment, data.target).effects_
        for seed in range(3):
            error = 1 + 1e-14 * np.random.default_rng(seed).normal(size=data.data.shape[1])
            monkeypatch.setattr(room, "standardise", lambda numbers, own=error: standardise(numbers) * own)
            moved = clone(model).fit(data.data, data.treatment, data.target).effects_
            np.testing.assert_allclose(moved, plain, atol=1e-6)


class TestInput:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_with_words_and_gaps(self, frame: Any) -> None:
        chance = np.random.default_rng(0)
        X = frame(
            {
                "age": [None if row % 9 == 0 else float(row % 50) for row in range(60)],
                "town": [("Ghent", "Bruges", "Ypres")[row] for row in chance.integers(0, 3, 60)],
                "is_new": chance.integers(0, 2, 60).astype(bool),
            }
        )
        arm = np.array(["placebo", "drug"])[np.arange(60) % 2]
        model = MatchingEffects(4, metric="equal", control="placebo").fit(X, arm, np.where(arm == "drug", 5.0, 1.0))
        assert model.columns_ == (
            "age is missing", "age", "town == 'Bruges'", "town == 'Ghent'", "town == 'Ypres'", "is_new",
        )  # fmt: skip
        assert model.arms_ == ("placebo", "drug")
        np.testing.assert_allclose(model.effects_, 4)
        np.testing.assert_allclose(model.expected_, [[1.0, 5.0]] * 60)
        first = MatchingEffects(4, metric="equal").fit(X, arm, np.where(arm == "drug", 5.0, 1.0))
        np.testing.assert_allclose(first.effects_, -4)

    def test_constant_columns_and_many_rows_of_an_arm(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(room, "MOST_TO_LEARN", 20)
        monkeypatch.setattr(room, "MOST_DISTANCES", 2000)
        X, treatment, outcome, _ = make_planted(150)
        X = np.column_stack([X[:, :2], np.full(150, 3.0)])
        model = MatchingEffects(4, n_splits=3, n_repeats=1, random_state=0).fit(X, treatment, outcome)
        assert {len(seen) for seen, _ in model._deal(read_log(X, treatment, outcome))} == {40}
        assert np.isfinite(model.effects_).all()

    def test_conventions(self) -> None:
        model = MatchingEffects(7, metric="equal", control=1)
        assert clone(model).get_params() == model.get_params()
        assert "n_neighbors=7" in repr(model)
        X, treatment, outcome, _ = make_planted(60)
        fitted = model.fit(pd.DataFrame(X, columns=list("abcdef")), treatment, outcome)
        assert fitted is model
        assert (model.n_features_in_, list(model.feature_names_in_), model.columns_) == (6, [*"abcdef"], (*"abcdef",))

    @pytest.mark.parametrize(
        ("changes", "settings", "message"),
        [
            ({"treatment": [0] * 60}, {}, "treatment has one value"),
            ({"treatment": [0, 1, 2] * 20}, {}, r"treatment has 3 arms \(0, 1, 2\).*compares two"),
            ({"treatment": [0] * 57 + [1] * 3}, {}, "arm 1 has 3 rows, 0 in each of 5 splits; at least 3"),
            ({"treatment": [0, 1] * 29}, {}, "treatment has 58 rows, but X has 60"),
            ({"treatment": [0, 1] * 29 + [0, None]}, {}, "treatment is missing in row 59"),
            ({}, {"n_neighbors": 29}, "arm 0 has 30 rows, of which 24 can be matched at a time; n_neighbors=29 needs"),
            ({}, {"n_neighbors": 30, "metric": "equal", "include_own": False}, "n_neighbors=30 needs 31"),
            ({"outcome": [np.nan] + [1.0] * 59}, {}, "outcome is NaN in row 0"),
            ({"outcome": [1.0] * 59 + [np.inf]}, {}, "outcome is infinite in row 59"),
            ({"outcome": [1.0] * 59}, {}, "outcome has 59 rows, but X has 60"),
            ({"outcome": ["much"] * 60}, {}, "outcome must hold numbers"),
            ({}, {"control": 7}, "control is 7, which is not one of the arms 0, 1"),
            ({}, {"metric": [1.0, 2.0]}, r"metric has shape \(2,\), but there are 6 columns to stretch: x0, x1"),
            ({}, {"metric": [1.0, -1.0, 0, 0, 0, 0]}, "metric must hold finite numbers that are not negative"),
            ({}, {"metric": [0.0] * 6}, "not all zero"),
            ({}, {"metric": ["wide"] * 6}, "metric must hold numbers"),
            ({}, {"n_neighbors": 1}, "'n_neighbors' parameter of MatchingEffects must be an int in the range"),
            ({}, {"metric": "cosine"}, "'metric' parameter of MatchingEffects must be"),
            ({"X": np.full((60, 1), np.inf)}, {}, "contains infinity: column 'x0', row 0"),
        ],
    )
    def test_errors(self, changes: dict[str, Any], settings: dict[str, Any], message: str) -> None:
        X, _, outcome, _ = make_planted(60)
        given = {"X": X, "treatment": [0, 1] * 30, "outcome": outcome} | changes
        with pytest.raises(ValueError, match=message):
            MatchingEffects(**({"n_neighbors": 3} | settings)).fit(**given)
