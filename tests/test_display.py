"""Fitted objects show themselves: printed, in a notebook, and saved by a method of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from certree import (
    PolicyTree,
    SparseTreeClassifier,
    export_text,
    good_trees,
    guess_thresholds,
    load,
    policy,
    regularization_path,
)
from certree.datasets import make_policy
from certree.weights import balance

FRAME = pd.DataFrame({"age": np.arange(40.0), "<colour>": ["red", "blue"] * 20})
MODEL = SparseTreeClassifier(2, 0.01).fit(FRAME, np.where(FRAME.age < 20, "no", "<yes>"))


def test_a_printed_model_says_tree_status_and_columns() -> None:
    text = str(MODEL)
    assert export_text(MODEL) in text
    assert MODEL.certificate_.statement in text
    assert "columns read as\n  age       numeric, 40 values\n  <colour>  categorical, 2 categories" in text
    assert str(MODEL.tree_) == export_text(MODEL)
    assert "\n" not in repr(MODEL)
    assert "\n" not in repr(MODEL.tree_)


def test_a_model_that_is_not_fitted_prints_its_settings_alone() -> None:
    assert str(SparseTreeClassifier(2)) == repr(SparseTreeClassifier(2)) == "SparseTreeClassifier(max_depth=2)"
    assert "certree-model" not in SparseTreeClassifier()._repr_html_()
    assert "certree-model" not in SparseTreeClassifier()._repr_mimebundle_()["text/html"]


def test_a_notebook_shows_tree_and_certificate_with_names_escaped() -> None:
    page = MODEL._repr_html_()
    assert page == MODEL._repr_mimebundle_()["text/html"]
    assert MODEL.certificate_.statement in page
    assert "&lt;yes&gt;</b>" in page
    assert "<yes>" not in page
    assert "&lt;colour&gt;  categorical" in page
    assert page.count("<b ") == MODEL.n_leaves_


def test_a_policy_shows_itself_too() -> None:
    model = PolicyTree(1, budget=0.5).fit(FRAME, np.column_stack([np.zeros(40), FRAME.age - 20]))
    for shown in (str(model), model._repr_html_()):
        assert "mean reward" in shown
        assert "0: 0, 1: 1" in shown  # what the actions spend, by their names


def test_a_pipeline_still_shows_its_diagram() -> None:
    assert "Pipeline" in make_pipeline(SparseTreeClassifier())._repr_html_()


def test_save_writes_what_load_reads(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    twin = load(tmp_path / "model.json")
    np.testing.assert_array_equal(twin.predict(FRAME), MODEL.predict(FRAME))
    assert twin.certificate_ == MODEL.certificate_
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    with pytest.raises(NotFittedError):
        SparseTreeClassifier().save(tmp_path / "other.json")


# What is not an estimator ---------------------------------------------------------------------------------------------


def make_log() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, treatment = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)
    return X, treatment, treatment * X[:, 0] + rng.normal(size=120)


def test_a_path_says_how_many_trees_it_has() -> None:
    y = [0, 0, 1, 1, 0, 0, 1, 1, 1, 1]
    path = regularization_path(np.arange(10.0).reshape(-1, 1), y, max_depth=3)
    head = f"{len(path)} trees of 1 to {path[-1].leaves} leaves"
    assert repr(path) == f"<RegularizationPath: {head}, all proved optimal among all trees of depth at most 3>"
    assert len(str(path).splitlines()) == len(path) + 2
    assert path._repr_html_().count("<tr>") == len(path) + 1
    assert "Solution" not in repr(path[0])
    assert "ended early" in repr(replace(path, is_complete=False))
    policies = policy.regularization_path(np.arange(10.0).reshape(-1, 1), np.eye(2)[y], max_depth=1)
    assert repr(policies).startswith("<PolicyPath: ")
    assert repr(policies).endswith("all proved optimal among all policy trees of depth at most 1>")
    lone = regularization_path([[1.0], [2.0]], [1, 1], max_depth=2)
    assert repr(lone) == "<RegularizationPath: 1 tree of 1 leaf, proved optimal among all trees of depth at most 2>"


def test_scores_and_evaluations_have_short_reprs_and_long_summaries() -> None:
    X, treatment, outcome = make_log()
    scores = policy.doubly_robust(X, treatment, outcome, folds=2)
    assert repr(scores) == "<Scores: doubly robust rewards of 120 rows for the actions 0, 1>"
    assert str(scores) == scores.summary()
    group = np.where(X[:, 1] > 0, "north", "south")
    found = policy.evaluate(PolicyTree(1), X, treatment, outcome, folds=3, group=group)
    assert repr(found) == f"<Evaluation: {found.statement()}>"
    assert str(found) == found.summary()
    for text in (found.summary(), found._repr_html_()):
        assert text.count("mean reward") + text.count("Mean reward") == 3
        assert "Group" in text
    assert "Group" not in policy.evaluate(PolicyTree(1), X, treatment, outcome, folds=3).summary()


def test_scores_know_the_arms() -> None:
    X, treatment, outcome = make_log()
    scores = policy.doubly_robust(X, treatment, outcome, folds=2)
    told = PolicyTree(2, min_samples_arm=20).fit(X, scores, treatment=treatment)
    known = PolicyTree(2, min_samples_arm=20).fit(X, scores)
    assert known.certificate_.digests == told.certificate_.digests
    assert known.tree_.to_dict() == told.tree_.to_dict()
    with pytest.raises(ValueError, match="needs to know the arm of every row"):
        PolicyTree(2, min_samples_arm=20).fit(X, scores.rewards)


def test_a_budget_curve_says_what_it_spends() -> None:
    X, _, outcome = make_log()
    curve = policy.budget_curve(X, np.column_stack([np.zeros(120), outcome]), max_depth=1)
    assert repr(curve).startswith(f"<BudgetCurve: {len(curve)} policies, mean spend 0 to ")
    assert len(str(curve).splitlines()) == len(curve) + 2
    assert "mean spend" in curve._repr_html_()


def test_weights_and_guesses_say_what_they_did() -> None:
    X, treatment, _ = make_log()
    weights = balance(treatment, X)
    assert repr(weights).startswith("<BalancingWeights: 120 rows of 2 groups, effective sample size ")
    assert str(weights).count("of the weight.") == 2
    assert "\n" not in repr(weights)
    guess = guess_thresholds(X, treatment)
    assert "kept " in str(guess)
    assert "kept" not in str(type(guess)())


def test_sets_of_good_trees_show_their_best() -> None:
    X = pd.DataFrame({"<age>": np.arange(40), "size": np.arange(40) % 7})
    trees = good_trees(X, X["<age>"] > 20, tolerance=0.1, max_depth=2)
    shown = trees._repr_html_()
    assert str(trees.count) in shown
    assert "&lt;age&gt; &lt;= 20.5" in shown
    assert shown.count("<tr>") == 6
    log = make_policy(200, 2, n_values=5, depth=1, random_state=0)
    scores = policy.doubly_robust(log.data, log.treatment, log.outcome, random_state=0)
    for settings in ({"tolerance": "noise"}, {"tolerance": 0.1, "budget": 0.5, "control": 0}):
        found = policy.good_policies(log.data, scores, max_depth=1, **settings)
        assert repr(found).strip("<>") in found._repr_html_()
