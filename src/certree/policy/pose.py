"""Rewards as a problem: what fits, fronts and budget curves have in common once the table is read."""

from __future__ import annotations

from typing import Any, NamedTuple

from certree.features import make_features
from certree.policy.log import read_arms, read_rewards
from certree.problem import Problem, check_weights
from certree.solver import bin_numeric
from certree.table import Table
from certree.tree import Array


class Posed(NamedTuple):
    """A problem with what it was made of."""

    problem: Problem
    amounts: Array
    """The rewards, rows × actions."""
    weights: Array


def pose_rewards(
    table: Table,
    rewards: Any,
    sample_weight: Any,
    treatment: Any,
    *,
    thresholds: str | int,
    min_samples_arm: int,
    forbidden: Any = None,
    **settings: Any,
) -> Posed:
    """The problem of a table of rewards; `settings` are those of `Problem.from_rewards`."""
    amounts, actions = read_rewards(rewards, table.n_rows)
    weights = check_weights(sample_weight, table.n_rows, table)
    arms = read_arms(treatment, actions, weights, min_samples_arm, rewards)
    features = make_features(table, thresholds=thresholds, weights=weights, binner=bin_numeric, forbidden=forbidden)
    problem = Problem.from_rewards(
        features, amounts, weights, labels=actions, arms=arms, min_samples_arm=min_samples_arm, **settings
    )
    return Posed(problem, amounts, weights)
