"""Balancing weights: groups count the same, diagnostics say what it costs, and bad input is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import ReadingWarning, SparseTreeClassifier
from certree.weights import BalancingWeights, balance


@pytest.fixture(scope="module")
def confounded() -> tuple[Any, Any]:
    """A group whose chance depends on a column, and a column that it does not depend on."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"driver": rng.normal(size=3000), "other": rng.normal(size=3000)})
    group = np.where(rng.random(3000) < 1 / (1 + np.exp(-1.2 * X["driver"] - 0.5)), "treated", "control")
    return X, group


def test_marginal_weights_are_one_over_the_share() -> None:
    group = ["f"] * 3 + ["m"] * 7
    found = balance(group)
    np.testing.assert_allclose(found.weights, [10 / 3] * 3 + [10 / 7] * 7)
    assert found.groups == ("f", "m")
    assert found.shares_before == {"f": 0.3, "m": 0.7}
    assert found.shares_after == {"f": pytest.approx(0.5), "m": pytest.approx(0.5)}
    assert found.ratio == pytest.approx(7 / 3)
    assert found.effective_sample_size == pytest.approx(20**2 / (3 * (10 / 3) ** 2 + 7 * (10 / 7) ** 2))
    assert found.differences_before == found.differences_after == {}
    assert np.all(balance(group, stabilised=True).weights == 1)


def test_they_are_weights_wherever_weights_are_asked_for() -> None:
    rng = np.random.default_rng(1)
    X, y, group = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    found = balance(group, X)
    assert len(found) == 60
    model, same = (SparseTreeClassifier(2).fit(X, y, w) for w in (found, found.weights))
    assert model.objective_ == same.objective_
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    assert np.array(found) is not found.weights


def test_propensities_balance_what_drives_the_group(confounded: tuple[Any, Any]) -> None:
    X, group = confounded
    marginal, propensity = balance(group, X), balance(group, X, method="propensity")
    assert marginal.differences_after["driver"] == pytest.approx(marginal.differences_before["driver"])
    assert propensity.differences_before["driver"] > 0.8
    assert propensity.differences_after["driver"] < 0.15
    assert propensity.differences_after["other"] < 0.15
    assert propensity.shares_after["treated"] == pytest.approx(0.5, abs=0.03)
    assert propensity.effective_sample_size < marginal.effective_sample_size < 3000
    # By hand: two groups, the pooled spread of their variances.
    a, b = X["driver"][group == "treated"], X["driver"][group == "control"]
    by_hand = abs(a.mean() - b.mean()) / np.sqrt((a.var(ddof=0) + b.var(ddof=0)) / 2)
    assert propensity.differences_before["driver"] == pytest.approx(by_hand)


def test_propensities_are_cross_fitted_and_seeded(confounded: tuple[Any, Any]) -> None:
    X, group = confounded
    first = balance(group, X, method="propensity", random_state=1)
    assert balance(group, X, method="propensity", random_state=1).weights.tolist() == first.weights.tolist()
    assert balance(group, X, method="propensity", random_state=2).weights.tolist() != first.weights.tolist()


def test_clipping_and_stabilising_bound_the_weights(confounded: tuple[Any, Any]) -> None:
    X, group = confounded
    free = balance(group, X, method="propensity")
    clipped = balance(group, X, method="propensity", clip=0.2)
    assert clipped.n_clipped == np.count_nonzero(free.propensities < 0.2) > 0
    assert clipped.weights.max() == pytest.approx(5)
    assert clipped.effective_sample_size > free.effective_sample_size
    stabilised = balance(group, X, method="propensity", stabilised=True)
    assert stabilised.shares_after["treated"] == pytest.approx(np.mean(group == "treated"), abs=0.02)


def test_many_numbers_are_binned_by_quantiles() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=1000)
    found = balance(scores, bins=4)
    assert len(found.groups) == 4
    assert str(found.groups[0]).startswith("<= ")
    assert max(found.shares_before.values()) - min(found.shares_before.values()) < 0.01
    assert balance(rng.integers(0, 4, 100)).groups == (0, 1, 2, 3)
    assert balance(np.repeat([0.5, 2.0], 4)).groups == (0.5, 2)
    # Nearly all rows at the largest value: there is still a cut.
    spike = np.r_[np.arange(20.0), np.full(2000, 99.0)]
    assert balance(spike).groups == ("<= 19", "> 19")


def test_missing_groups_are_a_group() -> None:
    assert balance([1.0, 2.0, np.nan, 2.0]).groups == (1, 2, "missing")
    assert balance(np.array(["a", None, "b", "a"], dtype=object)).groups == ("a", "b", "missing")
    assert balance([True, False, True]).groups == (False, True)


def test_tables_of_any_kind() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200)),
            "empty": np.full(200, np.nan),
            "colour": rng.choice(np.array(["red", "blue", None], dtype=object), 200),
            "married": rng.random(200) < 0.5,
        }
    )
    found = balance(rng.integers(0, 2, 200), X, method="propensity")
    names = {"age", "age is missing", "empty", "empty is missing", "colour == 'red'", "colour == 'blue'"}
    assert set(found.differences_before) == names | {"colour is missing", "married"}
    assert found.differences_after["empty"] == 0


def test_the_histogram_counts_every_row_once(confounded: tuple[Any, Any]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, group = confounded
    found = balance(group, X, method="propensity")
    rows, edges = found.histogram(bins=12)
    assert rows.sum(axis=1).tolist() == [np.sum(group == "control"), np.sum(group == "treated")]
    assert len(edges) == 13
    ax = found.plot(bins=12)
    assert sum(bar.get_height() for bar in ax.patches) == 3000
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["control", "treated"]
    assert "effective sample size" in ax.get_title()
    assert found.plot(ax) is ax
    plt.close("all")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"group": [1, 1, 1]}, r"group has one value \(1\): there is nothing to balance"),
        ({"group": ["a", "a"]}, "group has one value"),
        ({"group": [[1, 2]]}, "group must be one-dimensional"),
        ({"group": [1, 2], "method": "magic"}, "method must be"),
        ({"group": [1, 2], "method": "propensity"}, "needs X"),
        ({"group": [1, 2], "X": [[1.0]]}, "group has 2 entries, but X has 1 rows"),
        ({"group": [1, 2], "clip": 0.0}, "clip must be between 0 and 1"),
        ({"group": [1, 2], "bins": 1}, "bins must be at least 2"),
        ({"group": [1, 2], "folds": 1}, "folds must be at least 2"),
        ({"group": [1, 2, 2], "X": [[1.0]] * 3, "method": "propensity"}, "group 1 has only one row"),
    ],
)
def test_bad_input(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        balance(**arguments)


@pytest.mark.parametrize(
    ("propensity", "words"),
    [(0.0, "row 0 has propensity 0 for its group 'a'; set clip"), (1e-320, "too small to divide by; set clip")],
)
def test_a_propensity_of_zero_is_an_error(monkeypatch: pytest.MonkeyPatch, propensity: float, words: str) -> None:
    monkeypatch.setattr("certree.weights.balancing._cross_fit", lambda *_: np.array([propensity, 0.5, 0.5, 0.5]))
    X, group = np.arange(4.0)[:, None], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=words):
        balance(group, X, method="propensity")
    found = balance(group, X, method="propensity", clip=0.1)
    assert isinstance(found, BalancingWeights)
    assert found.weights[0] == 10


def test_a_column_that_is_nearly_numeric_is_said() -> None:
    frame = pd.DataFrame({"income": ["1", "2", "3", "4", "n.k.", "5", "6", "7", "8", "9"] * 4})
    with pytest.warns(ReadingWarning, match="income"):
        balance(np.arange(40) % 2, frame)
