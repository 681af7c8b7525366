"""What counts in place of weights cost: bounds that hold for every tree, and bounds that hold with a probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.problem import Problem
from certree.weights.counts import read_weight

Array = NDArray[Any]
LEVEL = 0.95
"""The probability with which statements about a sample hold."""


@dataclass(frozen=True)
class RoundingError:
    """The paper's figures of a rounding, and its bound. Infinite where a positive weight became 0."""

    epsilon: float
    """ε: the largest change of a weight, max |w − w̃|."""
    eta: float
    """η = max w / w̃."""
    zeta: float
    """ζ = max w̃ / w."""
    psi: float
    """ψ: the largest of all w and w̃ divided by the smallest."""

    @property
    def bound(self) -> float:
        """The paper's K: |R(t*) − R̃(t̃)| <= K for the two optima."""
        if not math.isfinite(self.eta):
            return math.inf
        return max(
            ((self.zeta - 1) * self.psi + self.epsilon) / self.zeta,
            ((self.eta - 1) * self.psi + self.epsilon) / self.eta,
        )


def rounding_error(scaled: Any, counts: Any) -> RoundingError:
    """ε, η, ζ and ψ of weights right before rounding (see `scale`) and their counts; rows of weight 0 have no part."""
    weights, counts = _read_pair(scaled, counts)
    weights, counts = weights[weights > 0], counts[weights > 0]
    epsilon = float(np.abs(weights - counts).max())
    if (counts == 0).any():
        return RoundingError(epsilon, math.inf, float((counts / weights).max()), math.inf)
    largest, smallest = max(weights.max(), counts.max()), min(weights.min(), counts.min())
    return RoundingError(
        epsilon, float((weights / counts).max()), float((counts / weights).max()), float(largest / smallest)
    )


def total_variation(weight: Any, counts: Any) -> float:
    """The total variation TV = ½ Σ abs(p − q) between weights and counts, each divided by its sum.

    The objective of every tree changes by at most TV, so the best tree for the counts is within 2 TV of the best tree.

    Parameters
    ----------
    weight : array of n weights
        Not negative, and not all 0.
    counts : array of n counts
        How often each row was drawn or repeated.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the lengths differ, or if one of them has no positive entry.

    Examples
    --------
    >>> from certree import weights
    >>> weights.total_variation([1.0, 3.0], [1, 1])
    0.25
    """
    weights, counts = _read_pair(weight, counts)
    return 0.5 * math.fsum(np.abs(weights / weights.sum() - counts / counts.sum()).tolist())


@dataclass(frozen=True)
class Deviation:
    """How far counts can move an objective: −below <= R̃(t) − R(t) <= above for every tree t of a problem.

    Neither is more than TV; both are less where rows that no test tells apart make up for each other.
    """

    above: float
    below: float


def deviation(problem: Problem, counts: Any) -> Deviation:
    """The largest moves of the objective of a classification problem, over all ways to label groups of equal rows.

    With e = q − p summed over the rows of group g that carry label k, a tree that gives g the label l is moved by
    Σ_k≠l e[g, k] = e[g, ·] − e[g, l]. The best and the worst l of each group bound every tree.
    """
    weights, counts = _read_pair(problem.weights, counts)
    assert problem.y is not None, "counts stand for the weights of labelled rows"
    groups, n_labels = problem.equal_rows, len(problem.labels)
    n_groups = int(groups.max()) + 1
    moved = counts / counts.sum() - weights / weights.sum()
    cells = np.bincount(groups * n_labels + problem.y, moved, minlength=n_groups * n_labels).reshape(n_groups, n_labels)
    sums = cells.sum(axis=1)
    slack = float(np.finfo(float).eps) * (problem.n_rows + 8)
    return Deviation(
        above=math.fsum((sums - cells.min(axis=1)).tolist()) + slack,
        below=math.fsum((cells.max(axis=1) - sums).tolist()) + slack,
    )


def _read_pair(weight: Any, counts: Any) -> tuple[Array, Array]:
    weights = read_weight(weight)
    counts = np.asarray(counts, dtype=np.float64)
    if counts.shape != weights.shape:
        raise ValueError(f"there are {len(weights)} weights, but counts has shape {counts.shape}")
    if not (counts >= 0).all() or not counts.any():
        raise ValueError("counts must not be negative, nor all zero")
    return weights, counts


# What counts cost: bounds that hold with a probability --------------------------------------------------------------


def fixed_tree_bound(draws: int, level: float = LEVEL) -> float:
    """ε with P(|R(t) − R̃(t)| >= ε) <= 1 − level, for one tree chosen before the draws.

    Hoeffding for a mean of S draws in [0, 1]: 2 exp(−2 S ε²). The paper prints exp(−2 ε² / S), which is for a sum.
    """
    return uniform_bound(draws, 0.0, level)


def uniform_bound(draws: int, log_trees: float, level: float = LEVEL) -> float:
    """ε such that with probability `level` |R(t) − R̃(t)| < ε for all of exp(`log_trees`) trees at once."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    return math.sqrt((math.log(2 / (1 - level)) + log_trees) / (2 * draws))


def log_count_trees(n_tests: int, n_labels: int, most_leaves: int) -> float:
    """ln N, N = Σ_h Catalan(h − 1) · tests^(h − 1) · labels^h over h <= `most_leaves`: shapes, tests and labels."""
    if min(n_tests, n_labels, most_leaves - 1) < 0 or n_labels < 1:
        raise ValueError("a tree has at least one leaf and one label")
    terms = [math.log(n_labels)]
    if n_tests > 0:
        for leaves in range(2, most_leaves + 1):
            shapes = math.lgamma(2 * leaves - 1) - math.lgamma(leaves) - math.lgamma(leaves + 1)
            terms.append(shapes + (leaves - 1) * math.log(n_tests) + leaves * math.log(n_labels))
    return float(np.logaddexp.reduce(terms))


def count_leaves(problem: Problem) -> int:
    """The most leaves that an optimal tree can have, whatever the weights are.

    A tree that is no worse than the best lone leaf, whose loss is at most 1 − 1/labels, can pay for no more than
    1 + (1 − 1/labels) / λ leaves. Nothing here looks at the weights, so that a union bound may use it.
    """
    most = problem.n_rows
    if problem.max_leaves is not None:
        most = min(most, problem.max_leaves)
    if problem.max_depth is not None and problem.max_depth < 60:
        most = min(most, 2**problem.max_depth)
    if problem.regularization > 0:
        paid = (1 - 1 / len(problem.labels)) / problem.regularization
        most = min(most, 1 + math.floor(paid * (1 + 1e-12))) if paid < most else most
    return most
