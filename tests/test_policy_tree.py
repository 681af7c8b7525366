"""Policy trees: the optimum of enumeration, planted policies found again, and everything people expect of an estimator.

Values are compared, never shapes: ties exist.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import COLUMN_KINDS, WEIGHT_KINDS, make_column, make_weights
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import certree
from certree import PolicyTree, Problem, SparseTreeClassifier, certify, datasets
from certree.policy import Scores

EPSILON = float(np.finfo(float).eps)


@parametrize_with_checks(
    [PolicyTree(), PolicyTree(max_depth=None, regularization=0.1, min_samples_leaf=2), PolicyTree(budget=0.4)]
)
def test_scikit_learn_has_no_complaint(estimator: Any, check: Any) -> None:
    check(estimator)


# The optimum ----------------------------------------------------------------------------------------------------------


def best_objective(
    X: Any, rewards: Any, weights: Any, arms: Any, *, depth: int, penalty: float, leaves: int, rows: int, per_arm: int
) -> float:
    """The greatest objective of any tree of depth 0 to 2, by trying every one on the raw numbers."""
    n_arms = rewards.shape[1]
    total = weights.sum()

    def is_allowed(inside: Any) -> bool:
        counts = np.bincount(arms[inside], minlength=n_arms)
        return bool(inside.sum() >= rows and counts.min() >= per_arm)

    def best(inside: Any, depth: int) -> dict[int, float]:
        """By number of leaves the greatest sum of rewards; empty where even one leaf is not allowed."""
        if not is_allowed(inside):
            return {}
        found = {1: float((rewards[inside] * weights[inside, None]).sum(axis=0).max())}
        if depth == 0:
            return found
        for column in range(X.shape[1]):
            for threshold in np.unique(X[inside, column])[:-1]:
                holds = X[:, column] <= threshold
                sides = best(inside & holds, depth - 1), best(inside & ~holds, depth - 1)
                for (left, one), (right, two) in product(*(side.items() for side in sides)):
                    found[left + right] = max(one + two, found.get(left + right, -np.inf))
        return found

    everyone = np.ones(len(X), dtype=bool)
    found = best(everyone, depth) or {1: float((rewards * weights[:, None]).sum(axis=0).max())}
    return max(value / total - penalty * size for size, value in found.items() if size <= leaves)


@pytest.mark.parametrize("n_actions", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["real", "tied", "negative"])
def test_the_optimum_is_that_of_trying_every_tree(n_actions: int, kind: str) -> None:
    for seed in range(18):
        rng = np.random.default_rng([seed, n_actions])
        n_rows = int(rng.integers(8, 22))
        X = rng.integers(0, 4, (n_rows, 2)).astype(float)
        rewards = rng.normal(size=(n_rows, n_actions)) if kind != "tied" else rng.integers(-1, 2, (n_rows, n_actions))
        if kind == "negative":
            rewards = rewards - 10
        weights = rng.integers(1, 5, n_rows).astype(float)
        arms = np.concatenate([np.arange(n_actions), rng.integers(0, n_actions, n_rows - n_actions)])
        limits = {
            "depth": seed % 3,
            "penalty": float(rng.choice([0.0, 0.05, 0.3])),
            "leaves": int(rng.integers(2, 5)),
            "rows": int(rng.integers(1, 4)),
            "per_arm": seed // 3 % 2,
        }
        model = PolicyTree(
            max_depth=limits["depth"],
            regularization=limits["penalty"],
            max_leaves=limits["leaves"],
            min_samples_leaf=limits["rows"],
            min_samples_arm=limits["per_arm"],
        ).fit(X, rewards, weights, arms)
        expected = best_objective(X, rewards, weights, arms, **limits)
        assert model.status_ == "optimal"
        assert model.objective_ == pytest.approx(expected, rel=0, abs=1e-9)
        assert model.value_ == pytest.approx(model.score(X, rewards, weights), rel=0, abs=1e-12)


@st.composite
def policies(draw: Any) -> dict[str, Any]:
    """A table of every sort of column with rewards, weights, arms and settings that enumeration can afford."""
    depth = draw(st.sampled_from([0, 1, 2, 3, None]))
    n_actions = draw(st.integers(2, 5))
    weight_kind = draw(st.sampled_from(WEIGHT_KINDS))
    kind = draw(st.sampled_from(["real", "tied", "wild"]))
    constraints = draw(st.sets(st.sampled_from(["max_leaves", "min_samples_leaf", "min_samples_arm"])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = int(rng.integers(n_actions + 1, 12 if depth is None else 25))
    kinds = rng.choice(COLUMN_KINDS, rng.integers(1, 4)).tolist()
    rewards = {
        "real": lambda: rng.normal(size=(n_rows, n_actions)),
        "tied": lambda: rng.integers(-2, 3, (n_rows, n_actions)).astype(float),
        "wild": lambda: rng.normal(size=(n_rows, n_actions)) * 10.0 ** rng.integers(-3, 4, (n_rows, 1)),
    }[kind]()
    weights = make_weights(rng, weight_kind, n_rows)
    arms = np.concatenate([np.arange(n_actions), rng.integers(0, n_actions, n_rows - n_actions)])
    if weight_kind == "zeros":
        weights[:n_actions] = 1.0
    limits = {"max_leaves": rng.integers(1, 6), "min_samples_leaf": rng.integers(1, 5), "min_samples_arm": 1}
    return {
        "X": pd.DataFrame({f"c{i}": make_column(rng, kind, n_rows, 8) for i, kind in enumerate(kinds)}),
        "rewards": rewards,
        "weights": weights,
        "arms": arms,
        "settings": {
            "max_depth": depth,
            "regularization": draw(st.sampled_from([0.01, 0.1, 0.5] if depth is None else [0.0, 0.01, 0.1, 0.5])),
            **{name: int(limits[name]) for name in sorted(constraints)},
        },
    }


def fit(table: dict[str, Any], **settings: Any) -> PolicyTree:
    model = PolicyTree(**table["settings"], **settings)
    return model.fit(table["X"], table["rewards"], table["weights"], table["arms"])


@given(policies())
def test_the_optimum_is_that_of_enumeration_on_tables_of_every_sort(table: dict[str, Any]) -> None:
    model = fit(table)
    problem = Problem.from_rewards(
        table["X"], table["rewards"], table["weights"], arms=table["arms"], **table["settings"]
    )
    weights = np.ones(len(table["X"])) if table["weights"] is None else np.asarray(table["weights"], dtype=float)
    best = table["rewards"].max(axis=1) @ weights / weights.sum()
    size = np.abs(table["rewards"]).max(axis=1) @ weights / weights.sum() + table["settings"]["regularization"]
    slack = 2 * model.certificate_["rounding"] + 1e3 * EPSILON * size
    assert model.status_ == "optimal"
    assert model.gap_ == 0
    assert model.objective_ == pytest.approx(best - float(certify.enumerate_optimum(problem)), rel=0, abs=slack)
    verdict = certify.check(
        model.certificate_,
        model.tree_,
        table["X"],
        None,
        table["weights"],
        rewards=table["rewards"],
        arms=table["arms"],
    )
    assert verdict.holds, verdict.failures


@given(policies(), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_shifting_the_rewards_of_a_row_moves_every_policy_alike(table: dict[str, Any], seed: int) -> None:
    shift = np.random.default_rng(seed).integers(-64, 65, len(table["X"])).astype(float)
    weights = np.ones(len(shift)) if table["weights"] is None else np.asarray(table["weights"], dtype=float)
    before, after = fit(table), fit({**table, "rewards": table["rewards"] + shift[:, None]})
    moved = float(shift @ weights / weights.sum())
    size = np.abs(table["rewards"]).max() + 65
    assert after.objective_ == pytest.approx(before.objective_ + moved, rel=0, abs=1e-8 * size)


@given(policies())
@settings(max_examples=25)
def test_a_limit_brackets_the_optimum(table: dict[str, Any]) -> None:
    optimum, stopped = fit(table).objective_, fit(table, time_limit=0.0)
    slack = 1e-9 * (np.abs(table["rewards"]).max() + 1)
    assert stopped.objective_ <= optimum + slack
    assert optimum <= stopped.upper_bound_ + slack
    assert stopped.gap_ == stopped.upper_bound_ - stopped.objective_ >= 0
    if stopped.status_ == "optimal":
        assert stopped.objective_ == pytest.approx(optimum, rel=0, abs=slack)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("n_actions", [2, 3, 5])
def test_planted_policies_are_found_again(depth: int, n_actions: int) -> None:
    for seed in range(3):
        table = datasets.make_policy(
            300, 4, n_actions=n_actions, depth=depth, n_values=12, noise=0.0, random_state=seed
        )
        model = PolicyTree(depth).fit(table.data, table.expected)
        np.testing.assert_array_equal(model.predict(table.data), table.planted)
        assert model.value_ == pytest.approx(table.expected.max(axis=1).mean(), abs=1e-12)
        assert model.status_ == "optimal"


def test_with_more_rows_less_is_lost() -> None:
    regrets = []
    for n_rows in (60, 300, 1500):
        losses = []
        for seed in range(8):
            table = datasets.make_policy(n_rows + 2000, 3, depth=1, random_state=seed)
            noisy = table.expected + 2.0 * np.random.default_rng(seed).normal(size=table.expected.shape)
            model = PolicyTree(1).fit(table.data[:n_rows], noisy[:n_rows])
            fresh = table.expected[n_rows:]
            losses.append(fresh.max(axis=1).mean() - model.score(table.data[n_rows:], fresh))
        regrets.append(np.mean(losses))
    assert regrets[0] > regrets[1] > regrets[2]
    assert regrets[2] < 0.02


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.02])
def test_two_actions_are_the_sign_and_size_of_the_effect(depth: int, penalty: float) -> None:
    rng = np.random.default_rng(depth)
    X = rng.integers(0, 8, (150, 4)).astype(float)
    effect = rng.normal(size=150) + 0.5 * (X[:, 0] > 3)
    policy = PolicyTree(depth, penalty).fit(X, np.column_stack([np.zeros(150), effect]))
    size = np.abs(effect)
    classifier = SparseTreeClassifier(depth, penalty / size.mean()).fit(X, (effect > 0).astype(int), size)
    lost = classifier.loss_ * size.mean()
    best = np.maximum(effect, 0).mean()
    assert policy.objective_ == pytest.approx(best - classifier.objective_ * size.mean(), abs=1e-9)
    if policy.n_leaves_ == classifier.n_leaves_:
        assert policy.value_ == pytest.approx(best - lost, abs=1e-9)
    assert policy.value_ == pytest.approx(np.where(policy.predict(X) == 1, effect, 0).mean(), abs=1e-12)


def test_ties_go_to_the_first_action() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    rewards = np.array([[1.0, 1.0, 0.0]] * 3 + [[0.0, 2.0, 2.0]] * 3)
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        model = PolicyTree(0).fit(X, pd.DataFrame(rewards[:, order], columns=order))
        assert set(model.predict(X)) == {1}
    tied = rewards[:, [0, 1]] * 0 + 1
    assert PolicyTree(2, 0.01).fit(X, tied).n_leaves_ == 1
    assert set(PolicyTree(2, 0.01).fit(X, tied).predict(X)) == {0}


def test_every_leaf_has_rows_of_every_arm() -> None:
    rng = np.random.default_rng(5)
    X = rng.integers(0, 20, (200, 3)).astype(float)
    rewards, arms = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    free = PolicyTree(3).fit(X, rewards)
    model = PolicyTree(3, min_samples_arm=10).fit(X, rewards, treatment=arms)
    leaf = model.apply(X)
    counts = [np.bincount(arms[leaf == node], minlength=3).min() for node in np.unique(leaf)]
    assert len(counts) > 1
    assert min(counts) >= 10
    assert model.value_ < free.value_
    assert model.certificate_["constraints"]["min_samples_arm"] == 10


def test_a_lone_leaf_is_always_allowed() -> None:
    X, rewards = np.arange(8.0).reshape(-1, 1), np.random.default_rng(0).normal(size=(8, 2))
    model = PolicyTree(2, min_samples_arm=5).fit(X, rewards, treatment=[0, 1] * 4)
    assert model.n_leaves_ == 1
    assert model.value_ == pytest.approx(rewards.mean(axis=0).max())


# The estimator --------------------------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Any:
    return datasets.make_policy(200, 3, n_actions=3, depth=2, n_values=8, random_state=4)


def test_rewards_of_every_sort_name_their_actions(table: Any) -> None:
    names = ["none", "letter", "call"]
    plain = PolicyTree().fit(table.data, table.expected)
    assert plain.actions_.tolist() == [0, 1, 2]
    frames = [
        pd.DataFrame(table.expected, columns=names),
        pl.DataFrame(dict(zip(names, table.expected.T, strict=True))),
        Scores(table.expected, tuple(names), "direct", table.treatment, None, None, (), ()),
    ]
    for frame in frames:
        model = PolicyTree().fit(table.data, frame)
        assert model.actions_.tolist() == names
        assert model.predict(table.data).tolist() == [names[code] for code in plain.predict(table.data)]
        assert model.score(table.data, frame) == plain.value_
    numbered = PolicyTree(min_samples_arm=2).fit(
        table.data, pd.DataFrame(table.expected, columns=[10, 20, 30]), treatment=10 * (table.treatment + 1)
    )
    assert set(numbered.predict(table.data)) <= {10, 20, 30}


def test_rewards_go_by_two_names(table: Any) -> None:
    plain = PolicyTree().fit(table.data, table.expected)
    for name in ("y", "rewards"):
        assert PolicyTree().fit(table.data, **{name: table.expected}).value_ == plain.value_
    with pytest.raises(ValueError, match="not both"):
        PolicyTree().fit(table.data, table.expected, rewards=table.expected)


def test_fitted_attributes(table: Any) -> None:
    model = PolicyTree(2, 0.01).fit(pd.DataFrame(table.data, columns=["a", "b", "c"]), table.expected)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.objective_ == model.value_ - 0.01 * model.n_leaves_
    assert model.upper_bound_ == model.objective_
    assert model.gap_ == 0
    assert model.get_depth() == model.depth_ == model.tree_.depth
    assert model.get_n_leaves() == model.n_leaves_
    assert model.fit_seconds_ > 0
    assert model.statistics_["merged_rows"] <= 200
    assert json.loads(json.dumps(model.certificate_))["policy"]["value"] == model.value_


def test_rows_of_weight_zero_count_for_nothing(table: Any) -> None:
    weights = (np.arange(200) % 3 > 0).astype(float)
    whole = PolicyTree().fit(table.data, table.expected, weights)
    part = PolicyTree().fit(table.data[weights > 0], table.expected[weights > 0])
    assert whole.value_ == pytest.approx(part.value_, abs=1e-12)
    np.testing.assert_allclose(whole.tree_.rewards, part.tree_.rewards, atol=1e-12)
    doubled = PolicyTree().fit(np.vstack([table.data] * 2), np.vstack([table.expected] * 2))
    assert doubled.value_ == pytest.approx(PolicyTree().fit(table.data, table.expected).value_, abs=1e-12)


def test_clone_pickle_and_grid_search(table: Any) -> None:
    model = PolicyTree(2, 0.01, min_samples_leaf=3).fit(table.data, table.expected)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table.data), model.predict(table.data))
    search = GridSearchCV(PolicyTree(), {"max_depth": [0, 2]}, cv=3).fit(table.data, table.expected)
    assert search.best_params_ == {"max_depth": 2}
    assert search.best_score_ > 0.5


def test_weights_and_treatments_are_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        requests = PolicyTree().set_fit_request(sample_weight=True, treatment=True).get_metadata_routing()
    others = dict.fromkeys(["spends", "control", "costs"])
    assert requests.fit.requests == {"sample_weight": True, "treatment": True, **others}
    assert set(PolicyTree().get_metadata_routing().score.requests) == {"sample_weight"}


def test_thresholds_may_be_few(table: Any) -> None:
    few = PolicyTree(thresholds=2).fit(table.data, table.expected)
    assert few.value_ <= PolicyTree().fit(table.data, table.expected).value_
    assert few.certificate_["sizes"]["tests"] <= 6


def test_progress_is_shown(table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    PolicyTree(verbose=1).fit(table.data, table.expected)
    assert "objective" in capsys.readouterr().err


# Elsewhere in the house -----------------------------------------------------------------------------------------------


def test_exports_and_plots_take_a_policy(table: Any) -> None:
    from matplotlib.axes import Axes

    model = PolicyTree(2).fit(table.data, pd.DataFrame(table.expected, columns=["none", "letter", "call"]))
    for text in (certree.export_text(model), certree.export_dot(model), certree.export_latex(model)):
        assert all(str(action) in text for action in set(model.predict(table.data)))
    assert isinstance(certree.plot_tree(model), Axes)
    leaf = model.apply(table.data)
    chosen = table.expected[np.arange(len(leaf)), model.tree_.label[leaf]]
    drawn = {text.get_text() for text in certree.plot_tree(model).texts}
    for node in model.tree_.leaves:
        support = f"mean reward {chosen[leaf == node].mean():.4g}"
        assert f"{support}, {np.sum(leaf == node)} rows" in certree.export_text(model)
        assert support in drawn
    assert "cost" not in certree.export_text(model)
    plain = certree.to_sklearn(model)
    np.testing.assert_array_equal(plain.predict(table.data), model.predict(table.data))


@pytest.mark.parametrize("has_names", [False, True])
def test_json_and_back_is_the_same_policy(table: Any, has_names: bool) -> None:
    X = pd.DataFrame(table.data, columns=["a", "b", "c"]) if has_names else table.data
    model = PolicyTree(2, 0.01).fit(X, table.expected)
    again = certree.load(certree.export_json(model))
    assert isinstance(again, PolicyTree)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for name in ("value_", "objective_", "upper_bound_", "gap_", "status_", "certificate_", "n_leaves_", "depth_"):
        assert getattr(again, name) == getattr(model, name), name
    np.testing.assert_array_equal(again.tree_.rewards, model.tree_.rewards)
    assert again.get_params() == model.get_params()
    assert hasattr(again, "feature_names_in_") == has_names


def test_a_false_certificate_is_found_out(table: Any) -> None:
    model = PolicyTree(2, 0.01).fit(table.data, table.expected)
    for name, change in (("value", 0.1), ("objective", 0.1), ("upper_bound", -0.1), ("gap", 0.1)):
        stated = dict(model.certificate_["policy"])
        stated[name] += change
        certificate = model.certificate_ | {"policy": stated}
        verdict = certify.check(certificate, model.tree_, table.data, rewards=table.expected)
        assert not verdict.holds
        assert all(name in failure for failure in verdict.failures)
    worse = replace(model.tree_, label=(model.tree_.label + 1) % 3)
    assert not certify.check(model.certificate_, worse, table.data, rewards=table.expected).holds
    with pytest.raises(ValueError, match="y or costs or rewards"):
        certify.check(model.certificate_, model.tree_, table.data)


# What may be wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        (None, "requires y"),
        ([1.0, 2.0, 3.0], r"n × K.*\(3,\)"),
        ([[1.0, 2.0]], "X has 3 rows, rewards 1"),
        ([[1.0, 2.0], [np.nan, 0.0], [1.0, 1.0]], "NaN: row 1, action 0"),
        (pd.DataFrame({"a": [1, 2, 3], "b": [1.0, np.inf, 2]}), "infinity: row 1, action 'b'"),
        (pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}), "rewards must hold numbers"),
        (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "'a' occurs twice"),
        (np.empty((3, 0)), "n × K"),
        (pd.DataFrame({"a": [1.0, 2.0, None], "b": [1, 2, 3]}, dtype="Float64"), "NaN: row 2, action 'a'"),
        (pl.DataFrame({"a": [1.0, None, 2.0], "b": [1, 2, 3]}), "NaN: row 1, action 'a'"),
        (pd.DataFrame({"a": [1, 2, 3], "id": ["1", "2", "x3"]}), "numbers: row 2, action 'id' has 'x3'"),
        ([["1", "2"], ["3", "x"], ["4", "5"]], "numbers: row 1, column 1 has 'x'"),
        (pd.DataFrame({"a": pd.date_range("2020", periods=3)}), "rewards must hold numbers, not datetime64"),
        (np.eye(3) + 1j, "rewards must hold numbers, not complex128"),
        ([[1.0, 2.0], [1.0], [2.0, 3.0]], "rewards must hold numbers"),
        ([[1e308, -1e308]] * 3, "too far apart"),
    ],
)
def test_bad_rewards(rewards: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PolicyTree().fit([[1.0], [2.0], [3.0]], rewards)


@pytest.mark.parametrize(
    ("treatment", "words"),
    [
        (None, "min_samples_arm needs to know the arm"),
        ([0, 1, 2], "row 2 has 2, which is not one of the actions 0, 1"),
        (["a", "b", "a"], "row 0 has 'a'.*columns"),
        ([0, 0, 0], "action 1 has no rows"),
        ([0, None, 1], "missing in row 1"),
        ([0.0, 1.0, np.nan], "missing in row 2"),
        ([0, 1], "treatment has 2 rows, but X has 3"),
    ],
)
def test_bad_treatments(treatment: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        PolicyTree(min_samples_arm=1).fit([[1.0], [2.0], [3.0]], np.eye(3)[:, :2], treatment=treatment)


def test_an_arm_of_weight_zero_has_no_rows() -> None:
    with pytest.raises(ValueError, match="action 1 has no rows of positive weight"):
        PolicyTree(min_samples_arm=1).fit([[1.0], [2.0], [3.0]], np.eye(3)[:, :2], [1, 0, 1], [0, 1, 0])


@pytest.mark.parametrize(
    "parameters",
    [{"max_depth": -1}, {"regularization": -0.1}, {"min_samples_arm": -1}, {"thresholds": "guess"}, {"max_leaves": 0}],
)
def test_bad_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PolicyTree(**parameters).fit([[1.0], [2.0]], np.eye(2))


def test_scores_of_other_actions_are_refused(table: Any) -> None:
    model = PolicyTree().fit(table.data, table.expected)
    with pytest.raises(ValueError, match=r"actions \[0, 1\], but the policy has \[0, 1, 2\]"):
        model.score(table.data, table.expected[:, :2])
