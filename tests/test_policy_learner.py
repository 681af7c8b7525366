"""SparseTreeClassifier where causalml's PolicyLearner asks for a policy learner, called as that calls it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from certree import PolicyTree, SparseTreeClassifier, policy
from certree.datasets import make_policy


class PolicyLearner:
    """What PolicyLearner does with its policy learner, and no more."""

    def __init__(self, policy_learner: Any) -> None:
        self.model_pi = policy_learner

    def fit(self, X: Any, score: Any) -> PolicyLearner:
        target = np.sign(score.copy())
        self.model_pi.fit(X, target, sample_weight=abs(score))
        return self

    def predict(self, X: Any) -> Any:
        return self.model_pi.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_pi.predict_proba(X)[:, 1]


@pytest.mark.parametrize("depth", [1, 2])
def test_a_policy_learner_finds_the_best_policy(depth: int) -> None:
    log = make_policy(400, 3, depth=depth, n_values=8, logging="confounded", random_state=2)
    rewards = policy.doubly_robust(log.data, log.treatment, log.outcome, random_state=0).rewards
    effect = rewards[:, 1] - rewards[:, 0]
    learner = PolicyLearner(SparseTreeClassifier(max_depth=depth, regularization=0.0)).fit(log.data, effect)
    given = learner.predict(log.data)
    assert set(given.tolist()) <= {-1.0, 1.0}
    chance = learner.predict_proba(log.data)
    assert ((chance > 0.5) == (given == 1)).all()
    best = PolicyTree(depth).fit(log.data, rewards)
    assert rewards[np.arange(400), (given == 1).astype(int)].mean() == pytest.approx(best.value_)


def test_a_score_of_zero_weighs_nothing() -> None:
    """Its sign is a third label, of which nothing may be made."""
    X = np.arange(6.0).reshape(-1, 1)
    learner = PolicyLearner(SparseTreeClassifier(max_depth=1, regularization=0.0))
    learner.fit(X, np.array([-1.0, -2.0, 0.0, 1.0, 3.0, 0.0]))
    assert learner.predict(X).tolist() == [-1, -1, learner.predict(X)[2], 1, 1, 1]
    assert 0 not in learner.predict(X)


@pytest.mark.filterwarnings("ignore")
def test_in_causalml_itself() -> None:
    optimize = pytest.importorskip("causalml.optimize", reason="causalml is not installed")
    log = make_policy(600, 3, depth=2, n_values=8, logging="confounded", random_state=3)
    learner = optimize.PolicyLearner(
        outcome_learner=LinearRegression(),
        treatment_learner=LogisticRegression(),
        policy_learner=SparseTreeClassifier(max_depth=2, regularization=0.0),
        random_state=0,
    ).fit(log.data, treatment=log.treatment, y=log.outcome)
    best = PolicyTree(2).fit(log.data, np.column_stack([np.zeros(600), learner._dr_score]))
    is_treated = learner.predict(log.data) > 0
    assert (learner._dr_score * is_treated).mean() == pytest.approx(best.value_)
    assert ((learner.predict_proba(log.data) > 0.5) == is_treated).all()
