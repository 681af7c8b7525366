"""Bad input: a clear ValueError that names what is wrong, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import Limits, PolicyTree, Problem, SparseTreeClassifier, policy, regularization_path, solver
from certree.features import make_features

X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
Y = np.array([0, 0, 1, 1])


@pytest.fixture(autouse=True)
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error must come before the search."""

    def refuse(**_: Any) -> None:
        pytest.fail("the engine was called")

    monkeypatch.setattr(solver._engine, "solve", refuse)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, np.nan, 1, 1], "sample_weight is NaN in row 1"),
        ([1, 1, -1, 1], "sample_weight is negative in row 2"),
        ([1, 1, 1, np.inf], "sample_weight is infinite in row 3"),
        ([0, 0, 0, 0], "sample_weight is zero in every row"),
        ([1, 1, 1], "sample_weight has 3 entries, but X has 4 rows"),
        ([[1], [1], [1], [1]], "sample_weight must be one-dimensional"),
        (["a", "b", "c", "d"], "sample_weight must hold numbers: row 0 has 'a'"),
        (["1", "2", "much", "4"], "sample_weight must hold numbers: row 2 has 'much'"),
        (np.array([1, 2, 3, 4], dtype="datetime64[s]"), "sample_weight must hold numbers: .* datetime64"),
        (np.array([1, 2, 3, 4], dtype="timedelta64[s]"), "sample_weight must hold numbers: .* timedelta64"),
        ([1, 1, 1 + 1j, 1], "sample_weight must hold numbers: .* complex128"),
        ([1e308, 1e308, 1, 1], "sample_weight is too large"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_weights(weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SparseTreeClassifier().fit(X, Y, weights)
    with pytest.raises(ValueError, match=words):
        Problem.from_labels(X, Y, weights, max_depth=1)
    with pytest.raises(ValueError, match=words):
        Problem.from_costs(X, np.ones((4, 2)), weights, max_depth=1)
    with pytest.raises(ValueError, match=words):
        regularization_path(X, Y, weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": -1},
        {"max_depth": 1.5},
        {"max_depth": "deep"},
        {"regularization": -0.1},
        {"regularization": np.nan},
        {"regularization": np.inf},
        {"regularization": None},
        {"max_leaves": 0},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": 0.5},
        {"min_weight_leaf": -1.0},
        {"min_weight_leaf": np.nan},
        {"method": "guess"},
        {"thresholds": 0},
        {"thresholds": "few"},
        {"reference": "oracle"},
        {"reference": 7},
        {"class_weight": "heavy"},
        {"categorical_features": "some"},
        {"time_limit": -1},
        {"memory_limit": 0},
        {"n_jobs": "all"},
        {"n_jobs": 0},
        {"duplication": 0},
        {"sample_ratio": 0.0},
        {"random_state": "today"},
        {"verbose": "loud"},
    ],
    ids=lambda parameters: "-".join(map(str, *parameters.items())),
)
def test_parameters(parameters: dict[str, Any]) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        SparseTreeClassifier(**parameters).fit(X, Y)


def test_no_depth_limit_needs_another() -> None:
    with pytest.raises(ValueError, match="max_depth=None needs regularization > 0 or max_leaves"):
        SparseTreeClassifier(None, 0.0).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_depth": -1}, "max_depth must be at least 0"),
        ({"max_depth": True}, "max_depth must be an integer or None"),
        ({"max_leaves": 0}, "max_leaves must be at least 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be at least 1"),
        ({"min_samples_leaf": None}, "min_samples_leaf must be an integer, not None"),
        ({"min_samples_arm": 1}, "min_samples_arm needs the arm of every row"),
        ({"regularization": np.nan}, "regularization must be a finite number"),
        ({"regularization": "much"}, "regularization must be a number"),
        ({"min_weight_leaf": -1.0}, "min_weight_leaf must be a finite number"),
        ({"arms": [0, 1]}, r"arms has shape \(2,\)"),
    ],
)
def test_settings_of_a_problem(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Problem.from_labels(X, Y, **{"max_depth": 2, **settings})


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("categorical_features", ["auto", [1]])
def test_infinite_values_name_the_column(value: float, categorical_features: Any) -> None:
    bad = X.copy()
    bad[2, 1] = value
    frame = pd.DataFrame(bad, columns=["age", "income"])
    with pytest.raises(ValueError, match="contains infinity: column 'income', row 2"):
        SparseTreeClassifier(categorical_features=categorical_features).fit(frame, Y)
    with pytest.raises(ValueError, match="contains infinity: column 'x1', row 2"):
        SparseTreeClassifier(categorical_features=categorical_features).fit(bad, Y)


def test_infinite_values_count_even_where_the_weight_is_zero() -> None:
    bad = X.copy()
    bad[3, 0] = np.inf
    with pytest.raises(ValueError, match="contains infinity: column 'x0', row 3"):
        SparseTreeClassifier().fit(bad, Y, [1, 1, 1, 0])


def test_lengths() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples: X has 4, y 3"):
        SparseTreeClassifier().fit(X, Y[:3])
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but X has 4 rows"):
        Problem.from_labels(X, Y[:3], max_depth=1)
    with pytest.raises(ValueError, match="costs must be 4 rows × labels"):
        Problem.from_costs(X, np.ones((3, 2)), max_depth=1)
    with pytest.raises(ValueError, match="costs has 2 columns, but there are 3 labels"):
        Problem.from_costs(X, np.ones((4, 2)), labels=["a", "b", "c"], max_depth=1)


def test_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        SparseTreeClassifier().fit(X, [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="requires y to be passed"):
        SparseTreeClassifier().fit(X, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SparseTreeClassifier().fit(X, [0.0, 1.0, np.nan, 1.0])


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_labels(missing: Any) -> None:
    for y in ([0.0, 1.0, missing, 1.0], np.array(["a", "b", missing, "a"], dtype=object)):
        with pytest.raises(ValueError, match="y is missing in row 2"):
            regularization_path(X, y)
    with pytest.raises(ValueError, match="y holds numbers from 0 to 1"):
        Problem.from_labels(X, [0, 1, 2, 1], labels=["a", "b"], max_depth=1)
    with pytest.raises(ValueError, match=r"arms has shape \(2,\)"):
        Problem.from_labels(X, Y, [0, 1, 1, 1], arms=[0, 1], max_depth=1)


def test_costs_and_rewards() -> None:
    with pytest.raises(ValueError, match="costs must not be negative: row 1, label 0"):
        Problem.from_costs(X, [[0, 1], [-1, 0], [1, 0], [1, 0]], max_depth=1)
    with pytest.raises(ValueError, match="costs must be finite: row 0, label 1"):
        Problem.from_costs(X, [[0, np.nan], [1, 0], [1, 0], [1, 0]], max_depth=1)
    with pytest.raises(ValueError, match="rewards must be finite: row 3, label 0"):
        Problem.from_rewards(X, [[0, 1], [1, 0], [1, 0], [np.inf, 0]], max_depth=1)


def test_more_than_an_index_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certree.features.LARGEST_INDEX", 3)
    with pytest.raises(ValueError, match="X has 4 rows and 2 columns; an index holds at most 3"):
        SparseTreeClassifier().fit(X, Y)


def test_thresholds_of_features() -> None:
    for thresholds in ("few", 0):
        with pytest.raises(ValueError, match="thresholds must be"):
            make_features(X, thresholds=thresholds)


def test_limits() -> None:
    with pytest.raises(ValueError, match="time_limit"):
        Limits(time_limit=float("nan"))
    with pytest.raises(ValueError, match="memory_limit"):
        Limits(memory_limit=0)
    with pytest.raises(ValueError, match="n_threads"):
        Limits(n_threads=0)


class TestPrediction:
    """What is wrong at prediction. The lone leaf of one class needs no engine."""

    @pytest.fixture
    def model(self) -> SparseTreeClassifier:
        frame = pd.DataFrame(X, columns=["age", "income"])
        return SparseTreeClassifier().fit(frame, np.zeros(4))

    def test_other_columns(self, model: SparseTreeClassifier) -> None:
        with pytest.raises(ValueError, match="The feature names should match"):
            model.predict(pd.DataFrame(X, columns=["age", "wealth"]))
        with pytest.raises(ValueError, match="same order"):
            model.predict(pd.DataFrame(X, columns=["income", "age"]))

    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_another_number_of_columns(self, model: SparseTreeClassifier) -> None:
        with pytest.raises(ValueError, match="X has 1 features, but SparseTreeClassifier is expecting 2"):
            model.predict(X[:, :1])


def test_a_single_class_is_a_lone_leaf() -> None:
    model = SparseTreeClassifier().fit(X, ["only"] * 4)
    assert model.n_leaves_ == 1
    assert model.loss_ == 0
    assert model.objective_ == model.lower_bound_ == 0.01
    assert model.status_ == "optimal"
    assert model.predict(X).tolist() == ["only"] * 4
    assert model.predict_proba(X).tolist() == [[1.0]] * 4


class TestPolicies:
    """What is wrong with the log or the rewards of a policy; a budget that no tree meets is found by a search."""

    ROWS = np.arange(12.0).reshape(-1, 1)
    ARMS = np.array(["none", "call"] * 6)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"actions": ["none", "call", "visit"]}, "action 'visit' has no rows"),
            ({"treatment": ["none"] * 11 + ["call"]}, "action 'call' has 1 row; at least 3 are needed"),
            ({"treatment": ["none"] * 12}, "one value"),
            ({"propensity": {"none": 0.0, "call": 1.0}}, "strictly between 0 and 1: row 0, action 'call' has 1.0"),
            (
                {"propensity": [0.5] * 11 + [1.0]},
                "row 11, action 'call' has 0.0; leave out rows whose action was certain",
            ),
            ({"outcome": [1.0] * 7 + [np.nan] * 5}, "outcome is NaN in row 7"),
            ({"outcome": np.ones(11)}, "outcome has 11 rows, but X has 12"),
        ],
    )
    def test_logs(self, change: dict[str, Any], words: str) -> None:
        given = {"X": self.ROWS, "treatment": self.ARMS, "outcome": np.ones(12)} | change
        with pytest.raises(ValueError, match=words):
            policy.evaluate(PolicyTree(1), **given)

    def test_treatments_that_are_no_column_of_the_rewards(self) -> None:
        rewards = pd.DataFrame(np.ones((12, 2)), columns=["none", "letter"])
        words = "treatment: row 1 has 'call', which is not one of the actions 'none', 'letter'.*columns"
        with pytest.raises(ValueError, match=words):
            PolicyTree(1, min_samples_arm=1).fit(self.ROWS, rewards, treatment=self.ARMS)
