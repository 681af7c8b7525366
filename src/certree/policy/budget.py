"""The best policy within a budget, by a price on spending.

    minimise   R(t)    over trees t with   spend(t) = (1/Z) · Σ_i w_i · costs[i, t(x_i)] <= budget,

where R is what a policy falls short of the best action of every row, plus λ a leaf. For a price μ >= 0 the engine finds
the least of R(t) + μ · spend(t) over all trees, and for every tree within the budget

    R(t) >= R(t) + μ · (spend(t) − budget) >= min over all trees of (R + μ · spend) − μ · budget:

each solve gives a bound, whatever μ is, and a tree. This room looks for the price of the greatest bound, keeps the
best tree within the budget, and promises that what it calls optimal has no better tree within the budget.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.policy.front import Plan, grow, use_tree
from certree.policy.gap import close_gap
from certree.policy.log import read_costs
from certree.problem import TOLERANCE, Problem
from certree.solution import Solution, float_slack, make_certificate
from certree.solver import PACKAGE_VERSION, Limits, SearchInterrupted, solve
from certree.table import name_row
from certree.tree import Tree, Value

Array = NDArray[Any]


def read_spending(costs: Any, n_rows: int, actions: tuple[Value, ...]) -> Array:
    """n × K: what each action spends on each row. None: nothing on the first action, 1 on every other."""
    if costs is None:
        costs = [0.0] + [1.0] * (len(actions) - 1)
    amounts = read_costs(costs, n_rows, actions)
    if (amounts < 0).any():
        row, action = np.argwhere(amounts < 0)[0]
        where = name_row(row, costs if np.ndim(costs) == 2 else None)
        raise ValueError(f"costs must not be negative: {where}, action {actions[action]!r} has {amounts[row, action]}")
    return amounts


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree of actions, and what it costs and spends: sums over the raw rows."""

    tree: Tree
    loss: float
    objective: float
    """R: loss + λ · leaves."""
    spend: float


@dataclass(frozen=True, eq=False)
class Spending:
    """A policy problem whose actions also spend."""

    problem: Problem
    """From rewards; without a price."""
    amounts: Array
    """float64, rows of positive weight × K: what each action spends, times the weight."""

    @classmethod
    def make(cls, problem: Problem, costs: Array, weights: Array) -> Spending:
        """`costs` and `weights` are those of all rows, the ones of weight zero included."""
        # The sums of the last search are floats; a weight per leaf is counted in whole numbers, or not at all.
        assert problem.min_weight_leaf == 0, "a policy has no minimum of weight"
        keep = weights > 0
        return cls(problem, np.ascontiguousarray(costs[keep] * weights[keep, None]))

    @property
    def scale(self) -> float:
        """The largest mean spend that is possible."""
        return math.fsum(self.amounts.max(axis=1).tolist()) / self.problem.normaliser

    def limit(self, budget: float) -> float:
        """The budget, and what a sum of real costs may lose to rounding: three rows in ten are 0.3."""
        return min(budget, self.scale) * (1 + TOLERANCE)

    def at_price(self, price: float) -> Problem:
        """The problem whose objective is R + price · spend."""
        assert self.problem.costs is not None
        return replace(self.problem, costs=self.problem.costs + price * self.amounts, best_rewards=None)

    def of_spend_alone(self) -> Problem:
        """The problem whose objective is the spend."""
        # Without a penalty something else has to limit the tree, and no tree is deeper than it has rows.
        depth = self.problem.n_rows - 1 if self.problem.max_depth is None else self.problem.max_depth
        return replace(self.problem, costs=self.amounts, best_rewards=None, regularization=0.0, max_depth=depth)

    def measure(self, tree: Tree) -> Candidate:
        """A tree with its own actions, judged by the raw rows."""
        assert self.problem.costs is not None
        own = self.problem.weigh(tree)
        tree = replace(own, label=np.where(tree.is_leaf, tree.label, own.label))
        leaf = tree.apply(self.problem.features.table)
        cell = np.arange(len(leaf)), tree.label[leaf]
        loss = math.fsum(self.problem.costs[cell].tolist()) / self.problem.normaliser
        spend = math.fsum(self.amounts[cell].tolist()) / self.problem.normaliser
        return Candidate(tree, loss, loss + self.problem.regularization * tree.n_leaves, spend)

    def use(self, tree: Tree, price: float, limit: float, cap: float = math.inf) -> Plan | None:
        """The best way to prune and relabel a tree within a limit: `front.use_tree`."""
        leaf = tree.apply(self.problem.features.table)
        spends: Array = np.stack(
            [np.bincount(leaf, column, minlength=tree.n_nodes) for column in self.amounts.T], axis=1
        )
        for node in np.flatnonzero(tree.column >= 0)[::-1]:
            spends[node] = spends[tree.left[node]] + spends[tree.right[node]]
        losses = self.problem.weigh(tree).costs / self.problem.normaliser
        return use_tree(tree, losses, spends / self.problem.normaliser, self.problem.regularization, price, limit, cap)

    def cheapest_leaf(self) -> Candidate:
        """Everyone gets the action that spends least in all."""
        action = int(np.argmin(self.amounts.sum(axis=0)))
        return self.measure(replace(self.problem.lone_leaf(), label=np.array([action])))

    def least_spend(self) -> float:
        """What no tree spends less than, known without a search: rows that no test tells apart get one action."""
        groups = self.problem.equal_rows
        sums = [np.bincount(groups, column) for column in self.amounts.T]
        least = math.fsum(np.min(sums, axis=0).tolist()) / self.problem.normaliser
        return least * (1 - float(np.finfo(float).eps) * (self.problem.n_rows + 8))


class Clock:
    """A time limit that several solves share."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = math.inf if limits.time_limit is None else time.monotonic() + limits.time_limit

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def left(self) -> Limits:
        """The limits of the next solve."""
        if math.isinf(self._end):
            return self._limits
        return replace(self._limits, time_limit=max(0.0, self._end - time.monotonic()))


def solve_within(spending: Spending, budget: float, limits: Limits | None = None, *, verbose: int = 0) -> Solution:
    """The certified best tree that spends at most `budget` a row, or the best one found and how far it may be off.

    `lower` is what no tree within the budget is below. The certificate states budget, spend and price: that of the
    best bound, so what a further unit of mean spend is worth at the margin. Status "approximate" is a gap that the
    search of the trees within it did not close.
    """
    limits = limits or Limits()
    budget = float(budget)
    search = _PriceSearch(spending, budget, Clock(limits), verbose)
    search.run()
    best, lower, status = search.best, search.lower, search.status
    sets = 0
    if best.objective - lower > search.slack and status == "optimal":
        found = close_gap(
            spending.problem, spending.amounts, search.price, search.limit, best.objective, search.slack, search.clock
        )
        sets, status, lower = found.sets, found.status, max(lower, found.lower)
        if found.plan is not None:
            candidate = spending.measure(grow(spending.problem, found.plan))
            # The search adds up in another order; the raw rows have the last word.
            best = candidate if candidate.spend <= search.limit else best
    if best.objective - lower <= search.slack:
        lower, status = best.objective, "optimal"
    elif status == "optimal":
        status = "approximate"
    if status == "interrupted":
        warnings.warn(
            f"interrupted: the best tree so far within the budget has objective {best.objective:.6g}, "
            f"and none is below {lower:.6g}",
            SearchInterrupted,
            stacklevel=2,
        )
    statistics = search.statistics | {"prices": len(search.prices), "row_sets": sets}
    certificate = make_certificate(
        spending.problem, best.tree, best.loss, best.objective, lower, status, search.slack,
        statistics=statistics, limits=asdict(limits), version=PACKAGE_VERSION,
    )  # fmt: skip
    certificate["budget"] = {
        "largest": budget if math.isfinite(budget) else None,
        "spend": best.spend,
        "price": search.price,
    }
    return Solution(best.tree, best.loss, best.objective, lower, status, search.slack, statistics, certificate)


class _PriceSearch:
    """Walks to the price of the greatest bound.

    As a function of the price the bound is concave, the least of one line a tree: R(t) + μ · (spend(t) − limit), which
    falls for trees within the limit and rises for the others. Where the lines of the best known tree on either side
    meet, a solve finds a tree below both lines, which takes the place of one, or shows that there is none: then no
    price gives a greater bound.
    """

    def __init__(self, spending: Spending, budget: float, clock: Clock, verbose: int) -> None:
        self.spending, self.budget, self.clock, self.verbose = spending, budget, clock, verbose
        self.limit = spending.limit(budget)
        self.lower, self.price = -math.inf, 0.0
        self.rounding, self.slack = 0.0, 0.0
        self.status = "optimal"
        self.prices: list[float] = []
        self.statistics: dict[str, Any] = {}

    def run(self) -> None:
        """Sets `best`, `lower` and `price`."""
        frugal = self.best = self._find_frugal()
        if self.status != "optimal":
            self.lower = self.spending.problem.floor()
            return
        self._improve(frugal.tree, 0.0)
        lavish = self._solve(0.0)
        while self.status == "optimal" and lavish.spend > self.limit and frugal.objective > lavish.objective:
            price = (frugal.objective - lavish.objective) / (lavish.spend - frugal.spend)
            on_line = frugal.objective + price * frugal.spend
            found = self._solve(price)
            # Below the line by more than rounding, or else what was found is one of the two or ties with them.
            if not found.objective + price * found.spend < on_line - 2 * self.rounding - 1e-15 * on_line:
                break
            if found.spend <= self.limit:
                frugal = found
            else:
                lavish = found

    def _find_frugal(self) -> Candidate:
        """A tree within the limit, or an error that names the smallest budget that some tree meets."""
        found = self.spending.cheapest_leaf()
        if found.spend <= self.limit:
            return found
        bound, ended = found.spend, ""
        if found.spend > self.spending.least_spend():
            solution = self._answer(self.spending.of_spend_alone())
            found = self.spending.measure(solution.tree)
            bound, ended = (found.spend, "") if solution.is_optimal else (solution.lower, solution.status)
        if found.spend <= self.limit:
            self.rounding = self.slack = 0.0  # of a problem in other units
            return found
        if bound > self.limit:
            raise ValueError(
                f"no tree within the limits meets budget={self.budget!r}: the smallest mean spend of any is "
                f"{'at least ' if ended else ''}{bound!r}"
            )
        raise ValueError(
            f"no tree that meets budget={self.budget!r} was found before the search ended ({ended}): the smallest mean "
            f"spend so far is {found.spend!r}, and none is below {bound!r}"
        )

    def _solve(self, price: float) -> Candidate:
        """The best tree of a price; the bound and the tree are taken into account."""
        problem = self.spending.at_price(price)
        solution = self._answer(problem)
        self.prices.append(price)
        found = self.spending.measure(solution.tree)
        margin = price * TOLERANCE * self.limit
        self.slack = max(self.slack, solution.rounding + float_slack(problem, solution.upper) + margin)
        if solution.lower - price * self.limit > self.lower:
            self.lower, self.price = solution.lower - price * self.limit, price
        self._offer(found)
        self._improve(solution.tree, price)
        return found

    def _answer(self, problem: Problem) -> Solution:
        solution = solve(problem, self.clock.left(), verbose=self.verbose)
        self.rounding = max(self.rounding, solution.rounding)
        if not solution.is_optimal:
            self.status = solution.status
        for name, figure in solution.statistics.items():
            is_total = name in ("subproblems", "expansions", "probes", "engine_seconds")
            self.statistics[name] = figure + self.statistics.get(name, 0) if is_total else figure
        return solution

    def _improve(self, tree: Tree, price: float) -> None:
        """Offers the best way to use a tree within the limit."""
        plan = self.spending.use(tree, price, self.limit, self.best.objective + price * self.limit)
        if plan is not None:
            self._offer(self.spending.measure(grow(self.spending.problem, plan)))

    def _offer(self, candidate: Candidate) -> None:
        if candidate.spend <= self.limit:
            self.best = min(self.best, candidate, key=lambda found: (found.objective, found.spend))
