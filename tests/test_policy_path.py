"""The front of policies: each point is what PolicyTree finds at its λ."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import PolicyTree, policy
from certree.datasets import make_policy


@pytest.mark.parametrize("limits", [{}, {"min_samples_arm": 3}, {"min_samples_leaf": 20, "max_leaves": 3}])
def test_points_are_the_optima_of_their_penalties(limits: dict[str, Any]) -> None:
    log = make_policy(150, 3, n_actions=3, n_values=6, random_state=2)
    rewards = log.expected + np.random.default_rng(0).normal(size=(150, 3)) - 5
    weights = np.random.default_rng(1).integers(0, 3, 150)
    data = (log.data, pd.DataFrame(rewards, columns=["a", "b", "c"]), weights, np.array(["a", "b", "c"])[log.treatment])
    path = policy.regularization_path(*data, **limits)
    assert path.is_optimal
    assert len(path) > 1
    for point in path:
        high = min(point.regularization_high, point.regularization_low + 1)
        penalty = (point.regularization_low + high) / 2
        model = PolicyTree(2, penalty, **limits).fit(*data)
        assert model.value_ == pytest.approx(path.value(point), abs=1e-9)
        assert model.n_leaves_ == point.leaves
        assert model.tree_.labels == point.tree.labels == ("a", "b", "c")
    values = [path.value(point) for point in path]
    assert all(one < two for one, two in pairwise(values))
    assert values[-1] <= path.ceiling
    assert [row["value"] for row in path.to_rows()] == values
    assert [row["leaves"] for row in path.to_rows()] == [point.leaves for point in path]


def test_a_path_of_one_point_needs_no_rewards_worth_splitting() -> None:
    path = policy.regularization_path([[1.0], [2.0]], [[1.0, 0.0], [2.0, 0.0]])
    assert len(path) == 1
    assert path.value(path[0]) == path.ceiling == 1.5


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="NaN: row 0, action 1"):
        policy.regularization_path([[1.0], [2.0]], [[1.0, np.nan], [2.0, 0.0]])
    for trace in (policy.regularization_path, policy.budget_curve):
        with pytest.raises(ValueError, match="min_samples_arm needs to know the arm"):
            trace([[1.0], [2.0]], np.eye(2), min_samples_arm=1)
        with pytest.raises(ValueError, match="action 1 has no rows of positive weight"):
            trace([[1.0], [2.0]], np.eye(2), [1, 0], [0, 1], min_samples_arm=1)
        with pytest.raises(ValueError, match="min_samples_arm must be an integer"):
            trace([[1.0], [2.0]], np.eye(2), min_samples_arm="many")
    with pytest.raises(ValueError, match="row 1 has 5"):
        policy.regularization_path([[1.0], [2.0]], np.eye(2), treatment=[0, 5])
