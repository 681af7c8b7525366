"""Held-out losses count rows by weight and clusters as one, and the choice of λ is the one that the rule names."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils.estimator_checks import check_estimator

mpl.use("Agg")
import certree
from certree import SparseTreeClassifier, SparseTreeCV, evaluate
from certree.datasets import make_weighted
from certree.policy.evaluation import Estimate
from certree.selection.choice import choose
from certree.selection.held_out import estimate_mean, split_rows

TABLE = make_weighted(n_rows=150, n_columns=3, depth=2, random_state=2)
DATA = (TABLE.data, TABLE.target, TABLE.sample_weight)
MODEL = SparseTreeCV(2, cv=KFold(4, shuffle=True, random_state=0)).fit(*DATA)


# The mean and its error ----------------------------------------------------------------------------------------------


def test_the_mean_is_weighted_and_its_error_that_of_a_ratio() -> None:
    rng = np.random.default_rng(0)
    terms, weights = rng.random(40), rng.lognormal(size=40)
    found = estimate_mean(terms, weights)
    assert found.value == pytest.approx(np.average(terms, weights=weights))
    spread = (weights**2 * (terms - found.value) ** 2).sum() * 40 / 39
    assert found.error == pytest.approx(np.sqrt(spread) / weights.sum())
    assert (found.high - found.low) / found.error == pytest.approx(2 * 1.959964, rel=1e-6)
    scaled = estimate_mean(terms, 1e-9 * weights)
    assert (scaled.value, scaled.error) == pytest.approx((found.value, found.error))


@pytest.mark.parametrize("power", [-1074, -1000, -600, 600, 1010])
def test_weights_of_any_scale_have_the_same_error(power: int) -> None:
    """Their squares are no floats any more, and an error of 0 would promise a loss that is known exactly."""
    rng = np.random.default_rng(0)
    terms, weights = rng.random(40), rng.integers(1, 9, 40).astype(float)
    clusters = np.arange(40) // 3
    for own in (None, clusters):
        assert estimate_mean(terms, np.ldexp(weights, power), own) == estimate_mean(terms, weights, own)


def test_equal_weights_give_the_usual_standard_error() -> None:
    terms = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    assert estimate_mean(terms, np.ones(5)).error == pytest.approx(terms.std(ddof=1) / np.sqrt(5))


def test_a_cluster_counts_as_one() -> None:
    rng = np.random.default_rng(1)
    terms, copies = rng.random(12), 7
    once = estimate_mean(terms, np.ones(12))
    clusters = np.repeat(np.arange(12), copies)
    many = estimate_mean(np.repeat(terms, copies), np.ones(12 * copies), clusters)
    assert (many.value, many.error) == pytest.approx((once.value, once.error))
    assert estimate_mean(np.repeat(terms, copies), np.ones(12 * copies)).error < 0.5 * once.error


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        effects = np.repeat(rng.normal(size=60), 5)
        found = estimate_mean(effects + rng.normal(size=300), np.ones(300), np.repeat(np.arange(60), 5))
        hits += found.low <= 0 <= found.high
    assert 0.91 < hits / 400 < 0.98


# Folds ---------------------------------------------------------------------------------------------------------------


def test_rows_of_a_cluster_are_held_out_together() -> None:
    cluster = np.repeat(np.arange(30), 5)
    for seen, held in split_rows(TABLE.target, 5, cluster, 0):
        assert not set(cluster[seen]) & set(cluster[held])
        assert len(seen) + len(held) == 150


@pytest.mark.parametrize(
    ("cv", "message"), [(1, "at least 2 folds"), (ShuffleSplit(3, random_state=0), "every row exactly once")]
)
def test_folds_that_cannot_work_are_refused(cv: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(DummyClassifier(), *DATA[:2], cv=cv)


def test_a_label_with_fewer_rows_than_folds_is_no_trouble() -> None:
    y = TABLE.target.copy()
    y[0] = 2
    assert evaluate(SparseTreeClassifier(1), TABLE.data, y).loss.value > 0


# Evaluation ----------------------------------------------------------------------------------------------------------


def test_the_held_out_loss_is_that_of_models_fitted_without_the_fold() -> None:
    cv = KFold(4, shuffle=True, random_state=1)
    X, y, weights = DATA
    found = evaluate(SparseTreeClassifier(2, 0.02), X, y, weights, cv=cv)
    is_wrong = np.empty(len(y))
    for seen, held in cv.split(X):
        model = SparseTreeClassifier(2, 0.02).fit(X[seen], y[seen], weights[seen])
        is_wrong[held] = model.predict(X[held]) != y[held]
    assert found.loss.value == pytest.approx(np.average(is_wrong, weights=weights))
    assert found.gain.value == pytest.approx(found.constant.value - found.loss.value)
    assert found.folds == len(found.leaves) == 4


def test_rows_of_no_weight_do_not_count() -> None:
    X, y, weights = TABLE.data, TABLE.target.copy(), TABLE.sample_weight.copy()
    weights[::3] = 0.0
    settings: dict[str, Any] = {"cv": KFold(3)}
    before = evaluate(SparseTreeClassifier(1), X, y, weights, **settings)
    y[::3] = 1 - y[::3]
    after = evaluate(SparseTreeClassifier(1), X, y, weights, **settings)
    assert after.loss == before.loss


def test_an_evaluation_tells_itself() -> None:
    found = evaluate(SparseTreeClassifier(1), *DATA, cluster=np.repeat(np.arange(50), 3))
    assert repr(found) == f"<LossEvaluation: {found.statement()}>"
    assert "in 50 clusters" in str(found)
    assert "clusters" not in evaluate(SparseTreeClassifier(1), *DATA[:2]).summary()
    assert "Held-out loss" in found._repr_html_()
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        evaluate(SparseTreeClassifier(1), *DATA, level=95)


def test_frames_and_other_classifiers_are_taken_too() -> None:
    frame = pd.DataFrame({"a": TABLE.data[:, 0], "b": ["red", "blue", "7"] * 50})
    assert evaluate(SparseTreeClassifier(1), frame, TABLE.target).n_rows == 150
    found = evaluate(DummyClassifier(), *DATA)
    assert found.gain.value == pytest.approx(0.0)
    assert found.leaves == ()


# The choice ----------------------------------------------------------------------------------------------------------


def test_candidates_are_judged_by_the_trees_of_the_folds_at_the_same_penalty() -> None:
    X, y, weights = DATA
    assert len(MODEL.path_) == len(MODEL.cv_results_["leaves"]) > 2
    for penalty, expected in zip(MODEL.cv_results_["regularization"], MODEL.cv_results_["held_out_loss"], strict=True):
        is_wrong = np.empty(len(y))
        for seen, held in MODEL.cv.split(X):
            model = SparseTreeClassifier(2, penalty).fit(X[seen], y[seen], weights[seen])
            is_wrong[held] = model.predict(X[held]) != y[held]
        assert expected == pytest.approx(np.average(is_wrong, weights=weights))


def test_each_penalty_lies_in_the_interval_of_its_tree() -> None:
    for point, penalty in zip(MODEL.path_, MODEL.cv_results_["regularization"], strict=True):
        assert point.regularization_low < penalty < point.regularization_high
        assert MODEL.path_.at(penalty) is point


def test_the_final_tree_is_the_certified_optimum_of_the_chosen_penalty() -> None:
    assert MODEL.regularization_ == MODEL.certificate_.regularization
    assert MODEL.status_ == "optimal"
    point = MODEL.path_[MODEL.chosen_index_]
    assert MODEL.objective_ == pytest.approx(point.loss + MODEL.regularization_ * point.leaves)
    assert certree.certify.check(MODEL.certificate_, MODEL.tree_, *DATA).holds
    np.testing.assert_array_equal(MODEL.predict(TABLE.data), MODEL.best_estimator_.predict(TABLE.data))
    assert MODEL.predict_proba(TABLE.data).shape == (150, 2)


@pytest.mark.parametrize(
    ("losses", "errors", "rule", "expected"),
    [
        ([0.5, 0.32, 0.3, 0.31], [0.03] * 4, "one_standard_error", (2, 1)),
        ([0.5, 0.34, 0.3, 0.31], [0.03] * 4, "one_standard_error", (2, 2)),
        ([0.5, 0.32, 0.3, 0.31], [0.03] * 4, "best", (2, 2)),
        ([0.5, 0.3, 0.3, 0.3], [0.0] * 4, "best", (1, 1)),
        ([0.3], [0.0], "one_standard_error", (0, 0)),
    ],
)
def test_the_rules(losses: list[float], errors: list[float], rule: str, expected: tuple[int, int]) -> None:
    found = [Estimate(loss, error, 0.0, 1.0) for loss, error in zip(losses, errors, strict=True)]
    assert choose(found, rule) == expected


def test_noise_is_given_no_leaves() -> None:
    rng = np.random.default_rng(5)
    model = SparseTreeCV(2).fit(rng.normal(size=(200, 3)), rng.integers(0, 2, 200))
    assert model.n_leaves_ <= 2
    assert len(model.path_) > 3


def test_it_says_what_it_chose_and_why(tmp_path: Path) -> None:
    for text in (str(MODEL), MODEL._repr_html_()):
        assert "within one standard error of " in text
    assert SparseTreeCV(1, rule="best", cv=2).fit(*DATA).choice_.startswith("Chose λ = ")
    MODEL.save(tmp_path / "model.json")
    twin = certree.load(tmp_path / "model.json")
    assert isinstance(twin, SparseTreeClassifier)
    assert twin.certificate_ == MODEL.certificate_
    assert MODEL.plot().lines[0].get_label() == "on the rows of the fit"


def test_class_weights_and_clusters_reach_the_folds() -> None:
    cluster = np.repeat(np.arange(30), 5)
    balanced = SparseTreeCV(1, class_weight="balanced").fit(*DATA, cluster=cluster)
    counts = np.bincount(TABLE.target)
    factors = (len(TABLE.target) / (2 * counts))[TABLE.target]
    plain = SparseTreeCV(1).fit(TABLE.data, TABLE.target, TABLE.sample_weight * factors, cluster=cluster)
    np.testing.assert_allclose(balanced.cv_results_["held_out_loss"], plain.cv_results_["held_out_loss"])
    assert balanced.objective_ == pytest.approx(plain.objective_)
    assert evaluate(SparseTreeCV(1, cv=2), *DATA, cv=2, cluster=cluster).n_clusters == 30


def test_it_is_an_estimator_of_scikit_learn() -> None:
    twin = pickle.loads(pickle.dumps(MODEL))
    np.testing.assert_array_equal(twin.predict(TABLE.data), MODEL.predict(TABLE.data))
    assert clone(SparseTreeCV(2, rule="best")).rule == "best"
    check_estimator(SparseTreeCV(max_depth=2, cv=2, rule="best"), on_skip=None)
