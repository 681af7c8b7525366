"""The answer: a tree, what it costs, what no tree can beat, and why the search ended.

This room promises that a Solution judges itself from the problem and never on the engine's word: loss and objective
are sums over the raw rows, and an engine that claimed something else is an error, not an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certree.certificate import Certificate, make_certificate
from certree.problem import Problem
from certree.tree import Tree


class CertificateError(RuntimeError):
    """The engine's claim and the raw data disagree by more than rounding explains: a bug, please report it."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What `solve` found: lower <= the least objective of any tree <= upper, up to `rounding`.

    Examples
    --------
    >>> from certree import Problem, solve
    >>> X, y = [[1], [2], [3]], ["a", "a", "b"]
    >>> solution = solve(Problem.from_labels(X, y, max_depth=1, regularization=0.1))
    >>> solution.upper, solution.gap, solution.is_optimal
    (0.2, 0.0, True)
    """

    tree: Tree
    loss: float
    """(1/Z) · Σ cost, without the penalty."""
    upper: float
    """The objective of `tree`: loss + λ · leaves."""
    lower: float
    status: str
    """One of STATUSES. "optimal" is lower == upper."""
    rounding: float
    """How far fixed-point amounts may have moved an objective inside the engine."""
    statistics: Mapping[str, Any] = field(repr=False)
    certificate: Certificate = field(repr=False)
    """All of this and the problem's settings."""

    @property
    def gap(self) -> float:
        """How much lower the objective of another tree could be at most."""
        return self.upper - self.lower

    @property
    def is_optimal(self) -> bool:
        """Whether the tree is proved to be the best one."""
        return self.status == "optimal"


def measure_loss(problem: Problem, tree: Tree) -> float:
    """(1/Z) · Σ cost of a weighed tree, from the leaves' sums."""
    return math.fsum(tree.costs[leaf, tree.label[leaf]] for leaf in tree.leaves) / problem.normaliser


def float_slack(problem: Problem, objective: float) -> float:
    """What adding n floats may move an objective that Python computes, in units of R."""
    return float(np.finfo(float).eps) * (problem.n_rows + 8) * max(objective, float(np.finfo(float).tiny))


def true_lower(problem: Problem, solution: Solution) -> float:
    """What no tree is below, rounding and all.

    Fixed point moves the objective of any tree by at most `rounding`, so a tree that is the best there is at most twice
    that above the best one. Where a search was stopped, `lower` has the rounding taken off already.
    """
    rounding = 2 * solution.rounding if solution.is_optimal else 0.0
    return solution.lower - rounding - float_slack(problem, solution.upper)


def judge(
    problem: Problem,
    tree: Tree,
    *,
    claimed: float,
    lower: float,
    status: str,
    rounding: float,
    statistics: Mapping[str, Any],
    limits: Mapping[str, Any],
    version: str,
    **parts: Any,
) -> Solution:
    """A Solution of a weighed tree, after comparing what the engine claimed with what the data say.

    `parts` are further fields of the certificate.
    """
    loss = measure_loss(problem, tree)
    upper = loss + problem.regularization * tree.n_leaves
    slack = rounding + float_slack(problem, upper)
    # Written so that NaN fails.
    if not abs(upper - claimed) <= slack:
        raise CertificateError(
            f"the engine claims an objective of {claimed!r}, the data say {upper!r}; rounding allows {rounding!r}"
        )
    if not lower <= upper + slack:
        raise CertificateError(f"the engine claims that no tree is below {lower!r}, but its own has {upper!r}")
    lower = upper if status == "optimal" else min(max(lower - rounding, 0.0), upper)
    certificate = make_certificate(
        problem, tree, loss, upper, lower, status, rounding,
        statistics=statistics, limits=limits, version=version, **parts,
    )  # fmt: skip
    return Solution(tree, loss, upper, lower, status, rounding, dict(statistics), certificate)


def carry_over(
    problem: Problem, solution: Solution, *, lower: float, status: str, guarantees: Mapping[str, Any]
) -> Solution:
    """A solution of a problem that stands for this one, judged on this one; `lower` is a bound for this one."""
    tree = problem.weigh(solution.tree)
    loss = measure_loss(problem, tree)
    upper = loss + problem.regularization * tree.n_leaves
    lower = min(max(lower, 0.0), upper)
    found = solution.certificate
    certificate = make_certificate(
        problem, tree, loss, upper, lower, status, solution.rounding,
        statistics=solution.statistics, limits=found.limits, version=found.certree,
        guarantees={**found.get("guarantees", {}), **guarantees},
    )  # fmt: skip
    return Solution(tree, loss, upper, lower, status, solution.rounding, solution.statistics, certificate)
