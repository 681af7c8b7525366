"""All good policies: `certree.good_trees` for rewards."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from certree.folds import count_threads
from certree.limits import Limits
from certree.policy.budget import Spending, read_spends
from certree.policy.budget_set import BudgetSet, find_budget_set
from certree.policy.noise import NoiseSet, find_noise_set
from certree.policy.tree import PolicyTree
from certree.tree_set import TreeSet, find_tree_set


def good_policies(
    X: Any,
    rewards: Any,
    sample_weight: Any = None,
    *,
    tolerance: float | Literal["noise"],
    treatment: Any = None,
    budget: float | None = None,
    spends: Any = None,
    control: Any = None,
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
    verbose: int = 0,
) -> TreeSet | NoiseSet | BudgetSet:
    """Every policy whose mean reward minus `regularization` per leaf is at most `tolerance` below the best one's.

    Objectives are computed on the rows at hand, so they are too optimistic: see `certree.policy.evaluate`.

    Parameters
    ----------
    X : array or frame, rows × columns, or Log
        The columns that a policy may ask about, or the log that has them.
    rewards : n × K array or frame, or Scores
        What each action would bring each row.
    sample_weight : array of n weights, default=None
        How much each row counts. None: all alike.
    treatment : array of n actions, default=None
        The action that each row got, for `min_samples_arm`. Not needed with Scores or a Log, which hold it.
    tolerance : float or "noise"
        How much worse a good policy may be, in units of the rewards. "noise": the policies that the data cannot tell
        from the best one, whose objective is at most 1.645 paired standard errors below the best.
    budget, spends, control :
        As in `PolicyTree` and its `fit`. The set then has only policies that keep the budget, compared with the best of
        these. A leaf may have another action than its best one.
    max_depth, regularization, max_leaves, min_samples_leaf, min_samples_arm, thresholds :
        As in `PolicyTree`.
    start, forbidden :
        As in `PolicyTree`: the set has only policies that begin with the start and do not use what is forbidden.
    idle : bool, default=False
        Whether to include trees with a split into two leaves of the same action.
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes. If a limit ends the search, `is_complete` of the set is False.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    TreeSet, NoiseSet or, with a budget, BudgetSet

    Raises
    ------
    ValueError
        If a parameter, reward, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree.policy import good_policies
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 1], [0, -1]]
    >>> policies = good_policies(X, rewards, tolerance=0.4, max_depth=1)
    >>> policies.count
    3
    >>> round(policies.best.objective, 3)
    0.667
    """
    if budget is None and not (spends is None and control is None):
        raise ValueError("spends and control need a budget, and there is none: set budget")
    model = PolicyTree(
        max_depth,
        regularization,
        budget=budget,
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
    limits = Limits(time_limit, memory_limit, count_threads(n_jobs))
    index = np.flatnonzero(weights > 0)
    if budget is not None:
        if isinstance(tolerance, str):
            raise ValueError(f"with a budget, tolerance must be a number, not {tolerance!r}")
        amounts = read_spends(spends, control, len(weights), problem.labels, getattr(rewards, "control", None))
        spending = Spending.make(problem, amounts, weights)
        return find_budget_set(spending, budget, tolerance, limits, idle=idle, index=index, verbose=verbose)
    if isinstance(tolerance, str):
        if tolerance != "noise":
            raise ValueError(f"tolerance must be a number of at least 0 or 'noise', not {tolerance!r}")
        return find_noise_set(problem, limits, idle=idle, index=index, verbose=verbose)
    return find_tree_set(problem, tolerance, limits, idle=idle, index=index, verbose=verbose)
