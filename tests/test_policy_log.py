"""A log that is read once says the same as its parts, and clusters are held out together and counted as one."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from certree import PolicyTree, policy
from certree.policy.evaluation import _estimate
from certree.policy.scores import split_rows

RNG = np.random.default_rng(3)
N = 150
X = pd.DataFrame({"age": RNG.normal(size=N).round(2), "region": RNG.integers(0, 2, N) * 1.0})
TREATMENT = RNG.choice(["none", "letter"], N, p=[0.6, 0.4])
OUTCOME = np.where(TREATMENT == "letter", X.age, 0.0) + RNG.normal(size=N)
PARTS = (X, TREATMENT, OUTCOME)
SETTINGS: dict[str, Any] = {
    "propensity": {"none": 0.6, "letter": 0.4}, "costs": {"none": 0.0, "letter": 0.1}, "actions": ["none", "letter"],
}  # fmt: skip
QUICK: dict[str, Any] = {"outcome_model": LinearRegression(), "random_state": 0, "folds": 3}


def make_log(**settings: Any) -> policy.Log:
    return policy.Log(*PARTS, **(SETTINGS | settings))


@pytest.mark.parametrize("score", [policy.direct, policy.inverse_propensity, policy.doubly_robust])
def test_scores_of_a_log_are_those_of_its_parts(score: Any) -> None:
    whole, parts = score(make_log(), **QUICK), score(*PARTS, **SETTINGS, **QUICK)
    np.testing.assert_array_equal(whole.rewards, parts.rewards)
    assert (whole.actions, whole.control) == (parts.actions, parts.control) == (("none", "letter"), "none")


def test_a_policy_of_a_log_knows_the_arms() -> None:
    log = make_log()
    scores = policy.doubly_robust(log, **QUICK)
    whole = PolicyTree(1, min_samples_arm=20).fit(log, scores)
    parts = PolicyTree(1, min_samples_arm=20).fit(X, scores.rewards, treatment=scores.treatment)
    assert whole.value_ == parts.value_
    assert list(whole.feature_names_in_) == ["age", "region"]
    curve = policy.budget_curve(log, scores, max_depth=1, min_samples_arm=20)
    assert curve[-1].value >= curve[0].value
    assert len(policy.regularization_path(log, scores, max_depth=1, min_samples_arm=20)) >= 1


def test_evaluation_and_matching_take_a_log() -> None:
    whole = policy.evaluate(PolicyTree(1), make_log(), **QUICK)
    parts = policy.evaluate(PolicyTree(1), *PARTS, **SETTINGS, **QUICK)
    assert (whole.value, whole.gains) == (parts.value, parts.gains)
    plain = policy.Log(*PARTS)
    effects = policy.MatchingEffects(metric="equal", n_neighbors=3)
    np.testing.assert_array_equal(effects.fit(plain).effects_, effects.fit(*PARTS).effects_)


def test_a_log_is_not_changed_and_says_what_it_holds() -> None:
    log = make_log()
    counts = {name: int((name == TREATMENT).sum()) for name in ("none", "letter")}
    assert repr(log) == f"<Log: 150 rows, by action 'none' {counts['none']}, 'letter' {counts['letter']}>"
    assert repr(make_log(cluster=np.arange(N) // 3)).startswith("<Log: 150 rows in 50 clusters, ")
    with pytest.raises(FrozenInstanceError):
        log.outcome = OUTCOME  # type: ignore[misc]
    assert log.arms.tolist() == TREATMENT.tolist()
    np.testing.assert_array_equal(make_log(maximize=False).outcome, -OUTCOME)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: policy.doubly_robust(make_log(), TREATMENT), "treatment is part of the log"),
        (lambda: policy.doubly_robust(make_log(), costs=[0, 1]), "costs is part of the log"),
        (lambda: policy.doubly_robust(make_log(), maximize=False), "maximize is part of the log"),
        (lambda: policy.doubly_robust(X), "treatment is missing: pass X, treatment and outcome, or a policy.Log"),
        (lambda: policy.evaluate(PolicyTree(), X, TREATMENT), "outcome is missing"),
        (lambda: make_log(cluster=np.arange(3)), "cluster"),
        (lambda: make_log(cluster=[None, *range(N - 1)]), "cluster is missing in row 0"),
        (lambda: policy.doubly_robust(make_log(cluster=np.zeros(N))), "cluster has 1 values; at least 2 are needed"),
        (
            lambda: policy.doubly_robust(make_log(cluster=np.where(TREATMENT == "letter", -1, np.arange(N)))),
            "action 'letter' lie in too few clusters",
        ),
    ],
)
def test_what_cannot_be_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# Clusters -------------------------------------------------------------------------------------------------------------


def test_folds_keep_clusters_together() -> None:
    cluster = RNG.integers(0, 30, N)
    log = make_log(cluster=cluster)
    held = [rows for _, rows in split_rows(log, 5, 0)]
    assert sorted(np.concatenate(held).tolist()) == list(range(N))
    for rows in held:
        assert not set(cluster[rows]) & set(np.delete(cluster, rows))
    scores = policy.doubly_robust(X, TREATMENT, OUTCOME, cluster=cluster, **QUICK)
    np.testing.assert_array_equal(scores.rewards, policy.doubly_robust(policy.Log(*PARTS, cluster=cluster), **QUICK))


def test_the_error_of_a_mean_counts_clusters() -> None:
    terms = RNG.normal(size=20)
    once = _estimate([terms], 0.95)
    copies, cluster = np.repeat(terms, 6), np.repeat(np.arange(20), 6)
    many = _estimate([copies], 0.95, cluster=cluster)
    assert (many.value, many.error) == pytest.approx((once.value, once.error))
    assert _estimate([terms], 0.95, cluster=np.arange(20)).error == pytest.approx(once.error)
    assert np.isinf(_estimate([terms], 0.95, cluster=np.zeros(20)).error)


def test_copies_of_rows_say_no_more_than_the_rows() -> None:
    """Everyone five times: by rows the interval shrinks, by clusters it does not."""
    big = pd.concat([X] * 5, ignore_index=True)
    treatment, outcome, cluster = np.tile(TREATMENT, 5), np.tile(OUTCOME, 5), np.tile(np.arange(N), 5)
    rule = policy.evaluate(lambda table: np.full(len(table), "letter"), *PARTS, **QUICK)
    found = {
        name: policy.evaluate(
            lambda table: np.full(len(table), "letter"), big, treatment, outcome, cluster=codes, **QUICK
        ).value.error
        for name, codes in (("clusters", cluster), ("rows", None))
    }
    assert found["clusters"] == pytest.approx(rule.value.error, rel=0.1)
    assert found["rows"] < 0.55 * rule.value.error
