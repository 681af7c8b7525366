"""A problem with counts in place of weights, and what is known about the problem that was meant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.problem import Problem
from certree.weights.bounds import (
    LEVEL,
    Deviation,
    count_leaves,
    deviation,
    fixed_tree_bound,
    log_count_trees,
    rounding_error,
    total_variation,
    uniform_bound,
)
from certree.weights.counts import count_draws, duplicate, sample, scale

Array = NDArray[Any]


WEIGHING_STATEMENT = (
    "objective and loss are those of the true weights; no tree is below lower_bound = "
    "max(approximate lower bound − deviation_above, floor), whatever was rounded or drawn; where the "
    "search ended with a proof, objective <= optimum + deviation_above + deviation_below"
)


@dataclass(frozen=True, eq=False)
class Weighing:
    """A problem whose weights were replaced by counts, and what can be said about the true one."""

    method: Literal["duplicate", "sample"]
    problem: Problem
    """Same rows, tests and constraints; only the costs are counts."""
    counts: Array
    deviation: Deviation
    total_variation: float
    floor: float
    """What no tree of the true problem is below, whatever the counts."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the method itself states, as plain data."""

    def lower(self, lower: float) -> float:
        """A true lower bound for the true weights, from one for the counts."""
        return max(lower - self.deviation.above, self.floor)

    def state(self, approximate_objective: float, approximate_lower: float) -> dict[str, Any]:
        """The guarantee as plain data."""
        above, below = self.deviation.above, self.deviation.below
        return {
            "method": self.method,
            "statement": WEIGHING_STATEMENT,
            "approximate_objective": approximate_objective,
            "approximate_lower_bound": approximate_lower,
            "total_variation": self.total_variation,
            "deviation_above": above,
            "deviation_below": below,
            "floor": self.floor,
            "rows_without_a_count": int(np.count_nonzero(self.counts == 0)),
            **self.figures,
        }


def weigh_by_duplication(problem: Problem, factor: float = 100) -> Weighing:
    """The problem of the duplicated rows."""
    counts = duplicate(problem.weights, factor)
    error = rounding_error(scale(problem.weights, factor), counts)
    figures: dict[str, Any] = {
        "factor": factor,
        "epsilon": error.epsilon,
        "eta": _finite(error.eta),
        "zeta": error.zeta,
        "psi": _finite(error.psi),
        "paper_bound": _finite(error.bound),
        "paper_statement": (
            "|R(t*) − R̃(t̃)| <= paper_bound, between the optimum of the true weights and that of the counts"
            if math.isfinite(error.bound)
            else "eta, psi and paper_bound are infinite (null): a positive weight became 0; total_variation still holds"
        ),
    }
    return _replace_weights("duplicate", problem, counts, figures)


def weigh_by_sampling(problem: Problem, ratio: float = 1.0, random_state: Any = None) -> Weighing:
    """The problem of the drawn rows."""
    counts = sample(problem.weights, ratio, random_state)
    return _replace_weights("sample", problem, counts, state_sample(problem, ratio))


def state_sample(problem: Problem, ratio: float) -> dict[str, Any]:
    """What a sample states whatever was drawn, as plain data."""
    draws, leaves = count_draws(problem.n_rows, ratio), count_leaves(problem)
    uniform = uniform_bound(draws, log_count_trees(problem.features.n_tests, len(problem.labels), leaves))
    return {
        "ratio": ratio,
        "draws": draws,
        "level": LEVEL,
        "fixed_tree_bound": fixed_tree_bound(draws),
        "uniform_bound": uniform,
        "most_leaves": leaves,
        "probable_statement": (
            f"with probability {LEVEL:g} over the draws: |R(t) − R̃(t)| < fixed_tree_bound for a tree chosen before "
            "them; |R(t) − R̃(t)| < uniform_bound for all trees of at most most_leaves leaves at once, so that a "
            "search that ended with a proof has objective <= optimum + 2 · uniform_bound"
        ),
    }


def _replace_weights(
    method: Literal["duplicate", "sample"], problem: Problem, counts: Array, figures: Mapping[str, Any]
) -> Weighing:
    # As costs beside the true weights, so that rows and weight per leaf mean what they mean in the true problem: both
    # problems then have the very same trees, which every bound here needs.
    assert problem.y is not None
    costs = np.where(np.arange(len(problem.labels)) != problem.y[:, None], counts[:, None].astype(np.float64), 0.0)
    counted = replace(problem, y=None, costs=np.ascontiguousarray(costs), normaliser=float(counts.sum()))
    variation = total_variation(problem.weights, counts)
    return Weighing(method, counted, counts, deviation(problem, counts), variation, problem.floor(), figures)


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
