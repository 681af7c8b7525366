"""The engine's whole-number amounts as objectives: loss + λ · leaves, or for a policy mean reward − λ · leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.graft import UNREACHABLE
from certree.problem import Problem

Array = NDArray[Any]


class Objectives:
    """The units of what the engine found about a problem."""

    def __init__(self, problem: Problem, found: dict[str, Any], *, is_bare: bool) -> None:
        self._factor, self._exponent = found["factor"], found["exponent"]
        self._offset, self._penalty = int(found["offset"]), int(found["penalty"])
        self._regularization = problem.regularization
        # The engine holds no λ that is larger than all costs together, and then nothing is split.
        n_leaves = 1 if problem.start is None else problem.start.n_leaves
        rounded = self.width(self._penalty)
        self._lone_penalty = (problem.regularization - rounded) * n_leaves if is_bare else 0.0
        # A policy's costs are what it falls short of the best action of every row.
        best = problem.best_rewards
        self._ceiling = None if best is None else math.fsum(best.tolist()) / problem.normaliser

    def width(self, amount: int) -> float:
        """A difference of amounts as a difference of objectives."""
        return math.ldexp(float(amount) * self._factor, self._exponent)

    def to_amount(self, width: float) -> int:
        """A difference of objectives in amounts; it is met by a tree that meets it up to its own rounding."""
        return math.floor(math.ldexp(width / self._factor, -self._exponent) * (1 + 1e-12))

    def of(self, amount: int) -> float:
        """The objective of what costs so much, with the engine's λ."""
        return self.of_cost(self.width(int(amount) + self._offset) + self._lone_penalty)

    def of_tree(self, amount: int, leaves: int) -> float:
        """The objective of a tree that costs so much, free of the rounding of λ."""
        cost = self.width(int(amount) - leaves * self._penalty + self._offset)
        return self.of_cost(cost + self._regularization * leaves)

    def of_all(self, amounts: Array) -> Array:
        """The objectives of an array of amounts; NaN where there is no tree."""
        amounts = np.asarray(amounts)
        whole = (amounts + np.int64(self._offset)).astype(np.float64)
        cost = np.ldexp(whole * self._factor, self._exponent) + self._lone_penalty
        cost = cost if self._ceiling is None else self._ceiling - cost
        return np.where(amounts >= UNREACHABLE, np.nan, cost)

    def of_cost(self, cost: float) -> float:
        """The objective of a tree with this loss (what a policy falls short of the best) and λ per leaf."""
        return float(cost if self._ceiling is None else self._ceiling - cost)

    def price(self, objective: float, best: float) -> float:
        """How much worse an objective is than the best."""
        return objective - best if self._ceiling is None else best - objective
