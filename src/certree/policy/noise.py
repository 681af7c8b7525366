"""The policies that the data cannot tell from the best one.

    t is among them where   objective(t*) − objective(t) <= z · se(t*, t),

with the objective in sample (mean reward less λ per leaf), t* the best policy, and se the paired standard error of the
difference of their mean rewards. It differs from policy to policy, so no tolerance describes them. But no paired
standard error is above that of the largest differences that any two actions of each row have, so all of them are in
the set of that tolerance: it is listed in order and each policy compared with the best one.

What is claimed is about these policies one by one and about these rows: a policy that is left out is worse than the
best one in sample by more than z standard errors. The best one was chosen on the same rows, which flatters it; the set
is no confidence set for the policy that is best in truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from certree.display import show_members
from certree.limits import Limits
from certree.problem import Problem
from certree.solution import float_slack
from certree.spread import Rate, Spread, find_rates, find_spread, read_measure
from certree.tree_set import GoodTree, RowFacts, TreeSet, find_tree_set

Array = NDArray[Any]

LEVEL = 1.645
"""z: a difference above it has a chance of 5 % where there is none."""
MOST_LISTED = 50_000
"""Policies of the superset that are compared with the best one."""


@dataclass(frozen=True, eq=False)
class NoisePolicy:
    """A policy that the data cannot tell from the best one.

    Examples
    --------
    >>> from certree.policy import good_policies
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 1], [0, -1]]
    >>> policies = good_policies(X, rewards, tolerance="noise", max_depth=1)
    >>> policies[0].policy.tests, policies[0].standard_error
    (['x0 <= 2.5'], 0.0)
    """

    policy: GoodTree
    difference: float
    """How much worse its objective is than the best."""
    standard_error: float
    """Of the difference of the mean rewards, paired by row."""


class NoiseSet(Sequence[NoisePolicy]):
    """The policies that the data cannot tell from the best one, best first; made by `good_policies`.

    A policy is in the set if its objective is at most `level` paired standard errors below the best one's. This is a
    statement about the rows at hand, on which the best policy was chosen: the set is not a confidence set for the
    policy that is truly best.

    Examples
    --------
    >>> import numpy as np
    >>> from certree.policy import good_policies
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 5, (200, 2))
    >>> rewards = np.column_stack([np.zeros(200), rng.normal(X[:, 0] - 2, 3)])
    >>> policies = good_policies(X, rewards, tolerance="noise", max_depth=1)
    >>> policies.is_complete, policies[0].difference
    (True, 0.0)
    """

    def __init__(self, superset: TreeSet, policies: Sequence[NoisePolicy], *, n_compared: int, is_whole: bool) -> None:
        self.superset = superset
        self._is_whole = is_whole
        self.level = LEVEL
        self._policies = tuple(policies)
        self._n_compared = n_compared

    @overload
    def __getitem__(self, place: int) -> NoisePolicy: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[NoisePolicy, ...]: ...
    def __getitem__(self, place: int | slice) -> NoisePolicy | tuple[NoisePolicy, ...]:
        return self._policies[place]

    def __len__(self) -> int:
        return len(self._policies)

    @property
    def is_complete(self) -> bool:
        """Whether no policy is missing: every policy that could be in the set was compared with the best one."""
        return self._is_whole and self.superset.count.most <= self._n_compared

    @property
    def complete_above(self) -> float:
        """Every such policy whose objective is greater than this is in the set."""
        if self.superset.count.most <= self._n_compared:
            return self.superset.threshold
        return self.superset[self._n_compared - 1].objective

    @property
    def best(self) -> GoodTree:
        """The best policy."""
        return self._policies[0].policy

    def rows(self) -> RowFacts:
        """For every fitted row and action the best of these policies that gives the row this action."""
        problem = self.superset.problem
        objective = np.full((problem.n_rows, len(problem.labels)), np.nan)
        for policy, chosen in reversed(list(self._decided())):
            objective[np.arange(len(chosen)), chosen] = policy.objective
        return RowFacts(self.superset.index, problem.labels, objective, problem.weights)

    def spread(self, measure: Any) -> Spread:
        """The range of a second measure, as `TreeSet.spread` has it."""
        problem = self.superset.problem
        value = read_measure(measure, problem.labels, self.superset.index, problem.weights)
        return find_spread(self._decided(), value, is_exact=self.is_complete)

    def rates(self, group: Any) -> list[Rate]:
        """For each group and action the range of the share that gets it, as `TreeSet.rates` has it."""
        problem = self.superset.problem
        return find_rates(self._decided(), group, problem.labels, self.superset.index, problem.weights)

    def _decided(self) -> Iterator[tuple[GoodTree, Array]]:
        return ((own.policy, own.policy.decide()) for own in self._policies)

    def __repr__(self) -> str:
        whole = "complete" if self.is_complete else f"complete above {self.complete_above:.6g}"
        best = f"{self.best.objective:.6g}"
        return f"<NoiseSet: {len(self)} policies within {self.level} standard errors of the best, {best}; {whole}>"

    def _repr_html_(self) -> str:
        return show_members(repr(self), (member.policy for member in self))


def find_noise_set(problem: Problem, limits: Limits, *, idle: bool, index: Array, verbose: int = 0) -> NoiseSet:
    """The policies of a problem that the data cannot tell from the best one."""
    assert problem.costs is not None
    worst = math.fsum(problem.costs.max(axis=1).tolist()) / problem.normaliser
    tolerance = min(LEVEL * largest_standard_error(problem), 2 * worst)
    superset = find_tree_set(problem, tolerance, limits, idle=idle, index=index, verbose=verbose)
    is_whole = True
    if not superset.is_complete:
        # Of the part that is complete the best policy is known, and so is every policy as good as its worst.
        superset = superset.complete_part()
        is_whole = False
        if not superset:
            raise ValueError(
                "tolerance='noise': a limit ended the search before the best policy was known; raise the limit"
            )
    best = superset.best
    own = _costs_of(problem, best)
    policies = []
    # Policies that give everyone the same action differ by nothing, whatever rounding makes of it.
    slack = 2 * float(superset.certificate_["rounding"]) + float_slack(problem, worst + abs(best.objective))
    for policy in superset[:MOST_LISTED]:
        difference = best.objective - policy.objective
        error = paired_standard_error(problem, _costs_of(problem, policy) - own)
        if policy is best or difference <= LEVEL * error + slack:
            policies.append(NoisePolicy(policy, max(difference, 0.0), error))
    return NoiseSet(superset, policies, n_compared=MOST_LISTED, is_whole=is_whole)


def _costs_of(problem: Problem, policy: GoodTree) -> Array:
    """What a policy falls short of the best action of every row, times the weight."""
    assert problem.costs is not None
    return np.asarray(problem.costs[np.arange(problem.n_rows), policy.decide()])


def paired_standard_error(problem: Problem, weighed: Array) -> float:
    """Of a mean by weight, from one amount per row that is multiplied by the weight already."""
    n, total = problem.n_rows, problem.normaliser
    if n < 2:
        return math.inf
    mean = math.fsum(weighed.tolist()) / total
    return _norm(weighed - mean * problem.weights) / total * math.sqrt(n / (n - 1))


def _norm(amounts: Array) -> float:
    """‖amounts‖, in units of the largest: the squares of other units may be no floats."""
    largest = float(np.abs(amounts).max())
    return largest * math.sqrt(math.fsum(np.square(amounts / largest).tolist())) if largest > 0 else 0.0


def largest_standard_error(problem: Problem) -> float:
    """What no paired standard error of two policies is above.

    With v = w · d for the difference d of a row, ‖v − mean · w‖ <= ‖v‖ + |mean| · ‖w‖, and |mean| = |Σ v| / Σ w <=
    √n · ‖v‖ / Σ w. Where all weights are equal the mean is what makes the norm least, and it is at most ‖v‖.
    """
    assert problem.costs is not None
    n, weights = problem.n_rows, problem.weights
    if n < 2:
        return math.inf
    widest = problem.costs.max(axis=1) - problem.costs.min(axis=1)
    norm = _norm(widest) / problem.normaliser * math.sqrt(n / (n - 1))
    if (weights == weights[0]).all():
        return norm * (1 + 1e-9)
    factor = 1 + math.sqrt(n) * (_norm(weights) / problem.normaliser)
    return norm * factor * (1 + 1e-9)
