"""The whole front of leaves against value: every policy tree that is optimal for some λ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from certree.folds import count_threads
from certree.limits import Limits
from certree.path import TABLE_HEADER, PathPoint, RegularizationPath, trace_path
from certree.policy.log import open_log
from certree.policy.pose import pose_rewards
from certree.reading import read_text_columns, warn_about
from certree.table import read_table


@dataclass(frozen=True, repr=False)
class PolicyPath(RegularizationPath):
    """The points of the front, from the lone leaf to the tree of λ = 0.

    A point's loss is what its policy falls short of the best action of every row.
    """

    ceiling: float
    """The mean reward of the best action of every row: no policy can do better."""

    def value(self, point: PathPoint) -> float:
        """The mean reward of a point's policy."""
        return self.ceiling - point.loss

    def _header(self) -> tuple[str, ...]:
        return tuple("mean reward" if name == "loss" else name for name in TABLE_HEADER)

    def _show_amount(self, point: PathPoint) -> str:
        return f"{self.value(point):.6g}"

    def to_rows(self) -> list[dict[str, Any]]:
        """The front as plain rows, for a frame or a CSV file."""
        rows = super().to_rows()
        return [row | {"value": self.value(point)} for row, point in zip(rows, self.points, strict=True)]


def regularization_path(
    X: Any,
    rewards: Any,
    sample_weight: Any = None,
    treatment: Any = None,
    *,
    max_depth: int | None = 2,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_samples_arm: int = 0,
    thresholds: str | int = "all",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PolicyPath:
    """All optimal policy trees of a table of rewards, over every penalty λ from 0 to infinity.

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
    max_depth, max_leaves, min_samples_leaf, min_samples_arm, thresholds, verbose :
        As in `PolicyTree`.
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes for each search. A point whose search they ended says so in its status.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.

    Returns
    -------
    PolicyPath
        A `RegularizationPath` whose points also have the value of each policy. Ctrl-C ends the whole search, and the
        path then holds what was found so far.

    Raises
    ------
    ValueError
        If a parameter, reward, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree.policy import regularization_path
    >>> path = regularization_path([[1], [2], [3]], [[0, 1], [0, 1], [0, -1]], max_depth=1)
    >>> [point.leaves for point in path]
    [1, 2]
    """
    X, treatment = open_log(X, treatment)
    table = read_table(X)
    warn_about(read_text_columns(table))
    problem, amounts, weights = pose_rewards(
        table,
        rewards,
        sample_weight,
        treatment,
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_samples_arm=min_samples_arm,
        thresholds=thresholds,
    )
    path = trace_path(problem, Limits(time_limit, memory_limit, count_threads(n_jobs)), verbose=verbose)
    ceiling = math.fsum((amounts.max(axis=1) * weights).tolist()) / math.fsum(weights.tolist())
    scope = path.scope.replace("all trees", "all policy trees", 1)
    return PolicyPath(path.points, path.is_complete, ceiling, scope=scope)
