"""The bound proved again, by another search along another route.

`certify` recomputes all that a table decides about a certificate, without the engine. What is left is the bound: that
no tree is better. This room searches for a better one anew, with the engine's closed forms and other shortcuts
switched off, so that none of them can confirm its own mistake. What the two routes have in common (preparation, the
intervals of root tests, the cache, depth two by tables) it cannot refute: docs/trust.md says what that leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certree.certificate import find_flaws
from certree.certify import Case, read_case, rounding_of
from certree.limits import Clock, Limits
from certree.policy.budget import EPSILON, Spending
from certree.policy.front import grow
from certree.policy.gap import close_gap
from certree.problem import NEGLIGIBLE
from certree.solution import float_slack
from certree.solver import solve
from certree.tree import Tree

SWITCHED_OFF = (
    "triples", "cells", "segment_trees", "coarse", "simd", "steps", "relaxation", "greedy", "similarity",
    "test_merging",
)  # fmt: skip
"""Depth three in closed form, by lines and by cells, depth two over many values, coarse tables, vector kernels, rows as
steps, limits lifted first, a greedy start, bounds between any two sets, and dropped tests: whatever the first search
may have used."""


@dataclass(frozen=True)
class Proof:
    """What the second search found."""

    lower: float
    """What it proved that no tree (within the budget) is below, in units of R."""
    stated: float
    """The lower bound of the certificate."""
    better: Tree | None
    """A tree that refutes the certificate, where one was found."""
    better_objective: float | None
    slack: float
    """What rounding leaves open between the two searches."""
    status: str
    """Of the search: "optimal", or why it ended."""

    @property
    def is_refuted(self) -> bool:
        return self.better is not None

    @property
    def is_proved(self) -> bool:
        return not self.is_refuted and self.lower >= self.stated - self.slack


def prove(
    certificate: Mapping[str, Any],
    tree: Tree,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    costs: Any = None,
    rewards: Any = None,
    spends: Any = None,
    arms: Any = None,
    time_limit: float | None = 60.0,
    n_threads: int = 1,
) -> Proof:
    """Prove the lower bound of a certificate again, or refute it by a better tree. Parameters: `certify.check`.

    This says nothing about the rest of the certificate: check it first.
    """
    flaws = find_flaws(certificate)
    case = (
        flaws[0]
        if flaws
        else read_case(certificate, tree, X, y, sample_weight, costs=costs, rewards=rewards, spends=spends, arms=arms)
    )
    if isinstance(case, str):
        raise ValueError(f"a certificate that does not hold cannot be proved: {case}")
    limits = Limits(time_limit, None, n_threads)
    return _prove(case, limits) if case.spends is None else _prove_within(case, limits)


def _prove(case: Case, limits: Limits) -> Proof:
    problem, stated = case.problem, case.certificate["lower_bound"]
    solution = solve(problem, limits, switched_off=SWITCHED_OFF)
    slack = 2 * rounding_of(problem) + float_slack(problem, stated)
    is_better = solution.upper < stated - slack
    return Proof(
        lower=solution.lower,
        stated=stated,
        better=solution.tree if is_better else None,
        better_objective=solution.upper if is_better else None,
        slack=slack,
        status=solution.status,
    )


def _prove_within(case: Case, limits: Limits) -> Proof:
    """At the price that the certificate names, which is right for any price; then among the trees that it leaves."""
    assert case.budget is not None
    assert case.spends is not None
    spending, price = Spending(case.problem, case.spends, None), case.budget["price"]
    largest, stated = case.budget["largest"], case.certificate["lower_bound"]
    limit = spending.limit(math.inf if largest is None else largest)
    # What an optimum within a budget may leave open.
    slack = NEGLIGIBLE * case.problem.scale(case.certificate["objective"])
    clock = Clock(limits)
    known = spending.measure(case.tree).at(price)
    answer = spending.solve_at(price, known, clock.left(), switched_off=SWITCHED_OFF)
    lower, status = answer.lower - price * limit * (1 + 2 * EPSILON), answer.status
    best = None
    if lower < stated - slack and status == "optimal":
        # Nothing below what is stated is all that has to be shown; the certificate's own tree may cost more.
        found = close_gap(case.problem, case.spends, price, limit, stated, answer.rounding, clock)
        lower, status = max(lower, found.lower), found.status
        best = None if found.plan is None else spending.measure(grow(case.problem, found.plan))
    is_better = best is not None and best.spend <= limit and best.objective < stated - slack
    return Proof(
        lower=lower,
        stated=stated,
        better=best.tree if is_better and best is not None else None,
        better_objective=best.objective if is_better and best is not None else None,
        slack=slack,
        status=status,
    )
