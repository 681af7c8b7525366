"""scikit-learn: its own checks, and the things people do with an estimator."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import parametrize_with_checks

from certree import SparseTreeClassifier, Tree, certify

pytestmark = pytest.mark.no_cover

DATA = Path(__file__).parent / "data"


@parametrize_with_checks(
    [
        SparseTreeClassifier(),
        SparseTreeClassifier(2, 0.001, class_weight="balanced", thresholds=20),
        SparseTreeClassifier(None, 0.02, max_leaves=5, min_weight_leaf=2.0),
        SparseTreeClassifier(forbidden=[0]),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_classifiers_train": "asks for an accuracy that takes the forbidden column"}
        if estimator.forbidden
        else {}
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_has_no_complaint(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def iris() -> tuple[pd.DataFrame, Any]:
    data = load_iris(as_frame=True)
    return data.data, data.target_names[data.target]


def test_fitted_attributes(iris: Any) -> None:
    X, y = iris
    model = SparseTreeClassifier(2, 0.01)
    assert model.fit(X, y) is model
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert isinstance(model.tree_, Tree)
    assert model.n_leaves_ == model.get_n_leaves() == model.tree_.n_leaves
    assert model.depth_ == model.get_depth() == model.tree_.depth <= 2
    assert model.loss_ == pytest.approx(1 - model.score(X, y), abs=1e-15)
    assert model.objective_ == pytest.approx(model.loss_ + 0.01 * model.n_leaves_, abs=1e-15)
    assert model.lower_bound_ == model.objective_
    assert model.gap_ == 0
    assert model.status_ == "optimal"
    assert model.fit_seconds_ > 0
    assert {"merged_rows", "subproblems"} <= set(model.statistics_)
    leaves = model.apply(X)
    assert set(leaves) == set(model.tree_.leaves)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))


def test_the_certificate_is_plain_data(iris: Any) -> None:
    X, y = iris
    model = SparseTreeClassifier(2, 0.01).fit(X, y, np.random.default_rng(0).lognormal(size=len(y)))
    text = json.dumps(model.certificate_, allow_nan=False)
    certificate = json.loads(text)
    assert certificate == model.certificate_
    assert certificate["objective"] == model.objective_
    assert certificate["lower_bound"] == model.lower_bound_
    assert certificate["sizes"]["merged_rows"] <= certificate["sizes"]["rows"] == 150
    assert certificate["rounding"] >= 0
    json.dumps(model.statistics_, allow_nan=False)


def test_better_than_a_greedy_tree(iris: Any) -> None:
    X, y = iris
    weights = np.random.default_rng(3).lognormal(size=len(y))
    for depth in (1, 2, 3):
        ours = SparseTreeClassifier(depth, 0.0).fit(X, y, weights)
        greedy = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y, weights)
        assert ours.score(X, y, weights) >= greedy.score(X, y, weights) - 1e-12


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [-1.0, 1.0], [False, True], [10**12, 10**12 + 1]])
def test_labels_of_every_sort(labels: list[Any]) -> None:
    y = np.array(labels)[[0, 0, 1, 1]]
    model = SparseTreeClassifier(1, 0.0).fit([[0], [1], [2], [3]], y)
    assert model.predict([[0], [3]]).tolist() == labels
    assert model.predict([[0]]).dtype == y.dtype
    again = Tree.from_dict(json.loads(json.dumps(model.tree_.to_dict())))
    assert again.predict([[0], [3]]).tolist() == labels


def test_labels_in_a_frame(iris: Any) -> None:
    X, y = iris
    expected = SparseTreeClassifier(2).fit(X, y).objective_
    assert SparseTreeClassifier(2).fit(X, pd.Series(y)).objective_ == expected
    assert SparseTreeClassifier(2).fit(X, pd.Series(y).astype("category")).objective_ == expected
    assert SparseTreeClassifier(2).fit(pl.from_pandas(X), pl.Series(y.tolist())).objective_ == expected
    assert SparseTreeClassifier(2).fit(X.to_numpy(), y.tolist()).objective_ == expected


# Weights --------------------------------------------------------------------------------------------------------------


def test_class_weights_are_sample_weights(iris: Any) -> None:
    X, y = iris
    keep = np.r_[0:50, 50:70, 100:150]
    X, y = X.iloc[keep], y[keep]
    for class_weight in ("balanced", {"setosa": 1, "versicolor": 7.5, "virginica": 0.25}):
        ours = SparseTreeClassifier(2, 0.01, class_weight=class_weight).fit(X, y)
        same = SparseTreeClassifier(2, 0.01).fit(X, y, compute_sample_weight(class_weight, y))
        assert ours.objective_ == pytest.approx(same.objective_, abs=1e-14)
        assert ours.certificate_["class_weights"] is not None


def test_zero_weights_count_for_nothing(iris: Any) -> None:
    X, y = iris
    weights = np.where(y == "setosa", 0.0, 1.0)
    model = SparseTreeClassifier(2, 0.01).fit(X, y, weights)
    without = SparseTreeClassifier(2, 0.01).fit(X[y != "setosa"], y[y != "setosa"])
    assert model.objective_ == without.objective_
    assert len(model.classes_) == 3
    assert model.certificate_["sizes"]["rows"] == 150
    assert model.certificate_["sizes"]["rows_weighted"] == 100
    np.testing.assert_array_equal(model.tree_.threshold, without.tree_.threshold)
    assert "setosa" not in model.predict(X)
    assert np.all(model.predict_proba(X)[:, 0] == 0)
    assert certify.check(model.certificate_, model.tree_, X, y, weights).holds


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e12])
def test_weights_of_any_scale(iris: Any, scale: float) -> None:
    X, y = iris
    weights = np.random.default_rng(0).lognormal(size=len(y))
    model = SparseTreeClassifier(2, 0.01).fit(X, y, weights * scale)
    expected = SparseTreeClassifier(2, 0.01).fit(X, y, weights)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-12)


def test_minimum_rows_and_minimum_weight_are_different_things() -> None:
    X = np.arange(6)[:, None]
    y = [1, 0, 0, 0, 0, 0]
    weights = [5, 1, 1, 1, 1, 1]
    assert SparseTreeClassifier(1, 0.0, min_samples_leaf=2).fit(X, y, weights).objective_ == pytest.approx(0.1)
    assert SparseTreeClassifier(1, 0.0, min_weight_leaf=5).fit(X, y, weights).objective_ == 0
    assert SparseTreeClassifier(1, 0.0, min_weight_leaf=5.5).fit(X, y, weights).n_leaves_ == 1
    assert SparseTreeClassifier(1, 0.0, min_samples_leaf=100).fit(X, y, weights).n_leaves_ == 1


# Pickles and JSON -----------------------------------------------------------------------------------------------------


def test_clone_and_pickle(iris: Any) -> None:
    X, y = iris
    model = SparseTreeClassifier(2, 0.02, class_weight="balanced", n_jobs=2)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_
    assert not hasattr(clone(model), "tree_")


MIXED = pd.DataFrame(
    {
        "age": [20.0, 25.0, np.nan, 30.0, 40.0, 50.0, 35.0, 45.0, 22.0],
        "colour": ["red", "blue", "red", None, "blue", "red", "green", "green", "blue"],
        "married": [True, True, False, False, True, False, True, False, False],
    }
)
MIXED_LABELS = ["a", "b", "a", "a", "b", "c", "b", "c", "c"]


@pytest.mark.parametrize("path", sorted(DATA.glob("classifier-*.pickle")), ids=lambda path: path.stem)
def test_old_pickles_load(path: Path) -> None:
    with warnings.catch_warnings():
        # A pickle of another scikit-learn says so; ours must load all the same.
        warnings.simplefilter("ignore", sklearn.exceptions.InconsistentVersionWarning)
        model = pickle.loads(path.read_bytes())
    assert model.predict(MIXED).tolist() == MIXED_LABELS
    assert model.status_ == "optimal"
    assert certify.check(model.certificate_, model.tree_, MIXED, MIXED_LABELS).holds


@pytest.mark.parametrize("path", sorted(DATA.glob("tree-*.json")), ids=lambda path: path.stem)
def test_old_json_loads(path: Path) -> None:
    tree = Tree.from_dict(json.loads(path.read_text(encoding="utf-8")))
    assert tree.predict(MIXED).tolist() == MIXED_LABELS
    assert tree.to_dict() == json.loads(path.read_text(encoding="utf-8"))


def test_there_are_old_pickles_and_old_json() -> None:
    assert list(DATA.glob("classifier-*.pickle"))
    assert list(DATA.glob("tree-*.json"))


# In company -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_grid_search_with_two_jobs(iris: Any) -> None:
    X, y = iris
    search = GridSearchCV(
        SparseTreeClassifier(), {"max_depth": [1, 2], "regularization": [0.001, 0.1]}, n_jobs=2, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"max_depth": 2, "regularization": 0.001}
    assert search.best_estimator_.status_ == "optimal"


def test_pipeline(iris: Any) -> None:
    X, y = iris
    plain = SparseTreeClassifier(2, 0.01).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), SparseTreeClassifier(2, 0.01)).fit(X, y)
    assert pipeline[-1].objective_ == pytest.approx(plain.objective_, abs=1e-14)
    np.testing.assert_array_equal(pipeline.predict(X), plain.predict(X))


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_hands_names_on(iris: Any, output: str) -> None:
    X, y = iris
    scale = make_column_transformer((StandardScaler(), list(X.columns)), verbose_feature_names_out=False)
    pipeline = Pipeline([("scale", scale), ("tree", SparseTreeClassifier(2, 0.01))])
    pipeline.set_output(transform=output)
    pipeline.fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == list(X.columns)
    assert pipeline[-1].tree_.test(0).column.name in X.columns
    np.testing.assert_array_equal(pipeline.predict(X), SparseTreeClassifier(2, 0.01).fit(X, y).predict(X))


def test_metadata_routing_of_weights(iris: Any) -> None:
    X, y = iris
    weights = np.where(y == "versicolor", 9.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SparseTreeClassifier(1, 0.01).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scale = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scale, model).fit(X, y, sample_weight=weights)
        scores = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3)
    direct = SparseTreeClassifier(1, 0.01).fit(X, y, weights)
    assert pipeline[-1].objective_ == pytest.approx(direct.objective_, abs=1e-14)
    assert scores["test_score"].shape == (3,)
    assert not np.allclose(scores["test_score"], cross_validate(model, X, y, cv=3)["test_score"])


def test_feature_names_are_checked(iris: Any) -> None:
    X, y = iris
    model = SparseTreeClassifier(1).fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X.to_numpy())
    nameless = SparseTreeClassifier(1).fit(X.to_numpy(), y)
    assert not hasattr(nameless, "feature_names_in_")
    assert nameless.tree_.columns[0].name == "x0"
    with pytest.warns(UserWarning, match="X has feature names, but"):
        nameless.predict(X)


def test_an_unfitted_model_says_so(iris: Any) -> None:
    for method in ("predict", "predict_proba", "apply"):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            getattr(SparseTreeClassifier(), method)(iris[0])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        SparseTreeClassifier().get_depth()
