"""All good policies: `certree.good_trees` for rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from certree.limits import Limits
from certree.policy.tree import PolicyTree
from certree.tree_set import TreeSet, find_tree_set


def good_policies(
    X: Any,
    rewards: Any,
    sample_weight: Any = None,
    *,
    tolerance: float,
    treatment: Any = None,
    max_depth: int | None = 2,
    regularization: float = 0.0,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_samples_arm: int = 0,
    thresholds: str | int = "all",
    start: Any = None,
    forbidden: Any = None,
    idle: bool = False,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
) -> TreeSet:
    """Every policy whose mean reward less `regularization` per leaf is at most `tolerance` below the best one's.

    The parameters are those of `PolicyTree`, without a budget; the tolerance is in units of the rewards. Objectives are
    of the rows at hand, which flatter: see `certree.policy.evaluate`.
    """
    model = PolicyTree(
        max_depth,
        regularization,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_samples_arm=min_samples_arm,
        thresholds=thresholds,
        start=start,
        forbidden=forbidden,
        time_limit=time_limit,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
    )
    problem, weights = model.pose(X, rewards, sample_weight, treatment)
    limits = Limits(time_limit, memory_limit, effective_n_jobs(n_jobs))
    return find_tree_set(problem, tolerance, limits, idle=idle, index=np.flatnonzero(weights > 0))
