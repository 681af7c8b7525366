"""The best policy within a budget, by a price on spending.

    minimise   R(t)    over trees t with   spend(t) = (1/Z) · Σ_i w_i · spends[i, t(x_i)] <= budget,

where R is what a policy falls short of the best action of every row, plus λ per leaf. For a price μ >= 0 the engine
finds the least of R(t) + μ · spend(t) over all trees, and for every tree within the budget

    R(t) >= R(t) + μ · (spend(t) − budget) >= min over all trees of (R + μ · spend) − μ · budget:

each solve gives a bound, whatever μ is, and a tree. This room looks for the price of the greatest bound, keeps the
best tree within the budget, and promises that what it calls optimal has no better tree within the budget. What rounding
may hide is counted in every bound, and a tree that it leaves more than a negligible gap below is not called optimal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.certificate import make_certificate
from certree.limits import Clock, Limits
from certree.policy.front import Plan, grow, use_tree
from certree.policy.gap import close_gap
from certree.policy.log import find_control, read_costs
from certree.policy.within import close_by_listing
from certree.problem import NEGLIGIBLE, TOLERANCE, Problem, weigh_amounts
from certree.solution import Solution, true_lower
from certree.solver import PACKAGE_VERSION, search
from certree.start import Branch, match_start
from certree.table import name_row
from certree.tree import Tree, Value

Array = NDArray[Any]

EPSILON = float(np.finfo(float).eps)
LARGEST_SUM = 1e300
LEAST_SPEND, LARGEST_SPEND = 1e-150, 1e150
"""What an action may spend besides nothing: prices are rewards divided by spends, and must be numbers too."""


def read_spends(
    spends: Any, control: Any, n_rows: int, actions: tuple[Value, ...], stated: Value | None = None
) -> Array:
    """n × K: what each action spends on each row. Without `spends`, nothing on the control and 1 on every other action;
    the control is named, or `stated` by an order of the actions, or called 0, False or None."""
    nobody = find_control(control, actions, stated)
    if spends is None:
        if nobody is None:
            raise ValueError(
                f"a budget needs to know what each action spends, and none of {', '.join(map(repr, actions))} is known "
                "to spend nothing: give spends=, one amount per action, or control=, the action that stands for "
                "treating nobody (every other action then spends 1)"
            )
        spends = np.arange(len(actions)) != nobody
    amounts = read_costs(spends, n_rows, actions, "spends")
    if (amounts < 0).any():
        row, action = np.argwhere(amounts < 0)[0]
        where = name_row(row, spends if np.ndim(spends) == 2 else None)
        raise ValueError(f"spends must not be negative: {where}, action {actions[action]!r} has {amounts[row, action]}")
    is_extreme = (amounts > 0) & ~((amounts >= LEAST_SPEND) & (amounts <= LARGEST_SPEND))
    if is_extreme.any():
        row, action = np.argwhere(is_extreme)[0]
        where = name_row(row, spends if np.ndim(spends) == 2 else None)
        raise ValueError(
            f"spends must be 0 or between {LEAST_SPEND:g} and {LARGEST_SPEND:g}: {where}, action {actions[action]!r} "
            f"has {amounts[row, action]}. Choose another unit for spends and budget"
        )
    return amounts


def rename_costs(spends: Any, costs: Any) -> Any:
    """`spends`, by its former name where it is given so."""
    if costs is None:
        return spends
    if spends is not None:
        raise ValueError("pass spends only: costs is its former name")
    warnings.warn("costs is deprecated: what actions spend is now called spends", FutureWarning, stacklevel=3)
    return costs


@dataclass(frozen=True, eq=False)
class Candidate:
    """A tree of actions, and what it costs and spends: sums over the raw rows."""

    tree: Tree
    loss: float
    objective: float
    """R: loss + λ · leaves."""
    spend: float

    def at(self, price: float) -> float:
        """R + price · spend."""
        return self.objective + price * self.spend


@dataclass(frozen=True)
class PricedAnswer:
    """The best tree of a price, or the best one found."""

    tree: Tree
    lower: float
    """No tree has a lower R + price · spend, rounding and all."""
    rounding: float
    """How far fixed-point amounts may have moved it."""
    status: str
    statistics: dict[str, Any]

    @property
    def is_optimal(self) -> bool:
        return self.status == "optimal"


@dataclass(frozen=True, eq=False)
class Spending:
    """A policy problem whose actions also spend."""

    problem: Problem
    """From rewards; without a price."""
    amounts: Array
    """float64, rows of positive weight × K: what each action spends, times the weight."""
    by_action: tuple[float, ...] | None
    """What each action spends, where that is the same on all rows."""

    @classmethod
    def make(cls, problem: Problem, spends: Array, weights: Array) -> Spending:
        """`spends` and `weights` are those of all rows, the ones of weight zero included."""
        # The sums of the last search are floats; a weight per leaf is counted in whole numbers, or not at all.
        assert problem.min_weight_leaf == 0, "a policy has no minimum of weight"
        by_action = tuple(spends[0].tolist()) if (spends == spends[0]).all() else None
        return cls(problem, np.ascontiguousarray(weigh_amounts("spends", spends, weights)[weights > 0]), by_action)

    @property
    def scale(self) -> float:
        """The largest mean spend that is possible."""
        return math.fsum(self.amounts.max(axis=1).tolist()) / self.problem.normaliser

    def limit(self, budget: float) -> float:
        """The budget, and what a sum of real costs may lose to rounding: three rows in ten are 0.3."""
        return min(budget, self.scale) * (1 + TOLERANCE)

    def can_have_price(self, price: float) -> bool:
        """Whether floats hold a price and its products with amounts. One that is lost below the smallest float would be
        no price, again and again."""
        return 0.0 < price <= LARGEST_SUM / max(float(self.amounts.max(axis=1).sum()), 1.0)

    def solve_at(
        self, price: float, known: float, limits: Limits, *, verbose: int = 0, switched_off: Iterable[str] = ()
    ) -> PricedAnswer:
        """The least R + price · spend; `known` is at least that, as that of a tree is."""
        assert self.problem.costs is not None
        return self._solve(self.problem, self.problem.costs, price, known, limits, verbose, switched_off)

    def solve_spend(self, known: float, limits: Limits, *, verbose: int = 0) -> PricedAnswer:
        """The least spend, where it is at most `known`; else a tree, and a bound above `known`."""
        # Without a penalty something else has to limit the tree, and no tree is deeper than it has rows.
        depth = self.problem.n_rows - 1 if self.problem.max_depth is None else self.problem.max_depth
        alone = replace(self.problem, regularization=0.0, max_depth=depth)
        return self._solve(alone, np.zeros_like(self.amounts), 1.0, known, limits, verbose)

    def _solve(
        self,
        problem: Problem,
        costs: Array,
        price: float,
        known: float,
        limits: Limits,
        verbose: int,
        switched_off: Iterable[str] = (),
    ) -> PricedAnswer:
        """The least of costs + price · spend + λ · leaves.

        The engine sees what each action costs above the cheapest of its row. Where that alone leads above `known`, it
        is cut down to twice the way there: no tree as good as the known one has such an action anywhere, so the optimum
        stays what it is, and forbidding amounts do not coarsen the engine's fixed point.
        """
        cheapest = np.argmin(costs + price * self.amounts, axis=1)[:, None]
        own, spent = (np.take_along_axis(amounts, cheapest, axis=1) for amounts in (costs, self.amounts))
        excess = np.maximum(costs - own + price * (self.amounts - spent), 0.0)
        floor = (math.fsum(own.ravel().tolist()) + price * math.fsum(spent.ravel().tolist())) / problem.normaliser
        # Where the known tree has the cheapest action everywhere, what is left is rounding.
        room = 2 * max(known - floor, 0.0) + 16 * EPSILON * (known + floor)
        # Where nothing at all may be paid above the cheapest, any excess forbids as well as the smallest one does.
        most = room * problem.normaliser if room > 0 else excess[excess > 0].min(initial=math.inf)
        costs = np.minimum(excess, most)
        problem = replace(problem, costs=costs, best_rewards=None)
        found = search(problem, limits, verbose=verbose, switched_off=switched_off)
        # Differences of amounts are rounded in proportion to the amounts, which for a tree below `known` add up to it.
        rounded = 8 * EPSILON * (max(known, found.upper) + floor)
        return PricedAnswer(
            found.tree, floor + true_lower(problem, found) - rounded, found.rounding + rounded, found.status,
            dict(found.statistics),
        )  # fmt: skip

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
        kept = []
        if self.problem.start is not None:
            found = match_start(self.problem.start, tree)
            assert not isinstance(found, str), found
            kept = [node for node, side in found.items() if isinstance(side, Branch)]
        return use_tree(
            tree, losses, spends / self.problem.normaliser, self.problem.regularization, price, limit, cap, kept
        )

    def cheapest(self) -> Candidate:
        """Everyone gets the action that spends least in all: a lone leaf or, where trees must begin with a start, the
        start alone, with such an action in each of its leaves."""
        if self.problem.start is None:
            action = int(np.argmin(self.amounts.sum(axis=0)))
            return self.measure(replace(self.problem.lone_leaf(), label=np.array([action])))
        tests = iter(self.problem.asked_features.axes[len(self.problem.features.axes) :])
        leaves = iter(self.problem.start_leaves)

        def plan(side: Branch | str) -> Plan:
            if not isinstance(side, Branch):
                return int(np.argmin(self.amounts[next(leaves).rows].sum(axis=0)))
            test = next(tests).asked
            left = plan(side.left)
            return test, left, plan(side.right)

        return self.measure(grow(self.problem, plan(self.problem.start)))

    def least_spend(self) -> float:
        """What no tree spends less than, known without a search: rows that no test tells apart get one action."""
        groups = self.problem.equal_rows
        sums = [np.bincount(groups, column) for column in self.amounts.T]
        least = math.fsum(np.min(sums, axis=0).tolist()) / self.problem.normaliser
        return least * (1 - EPSILON * (self.problem.n_rows + 8))


def solve_within(spending: Spending, budget: float, limits: Limits | None = None, *, verbose: int = 0) -> Solution:
    """The certified best tree that spends at most `budget` a row, or the best one found and how far it may be off.

    `lower` is what no tree within the budget is below. The certificate states budget, spend, what each action spends
    (null where that depends on the row) and the price: that of the best bound, so what a further unit of mean spend is
    worth at the margin. Status "approximate" is a gap that the
    search of the trees within it did not close, or that rounding leaves open.
    """
    limits = limits or Limits()
    budget = float(budget)
    search = _PriceSearch(spending, budget, Clock(limits), verbose)
    search.run()
    best, lower, status = search.best, search.lower, search.status
    sets = 0
    if best.objective - lower > search.rounding and status == "optimal":
        close = close_gap if spending.problem.start is None else close_by_listing
        found = close(
            spending.problem, spending.amounts, search.price, search.limit, best.objective, search.rounding,
            search.clock,
        )  # fmt: skip
        sets, status, lower = found.sets, found.status, max(lower, found.lower)
        if found.plan is not None:
            # The search adds up in another order; the raw rows have the last word.
            best = search.offer(spending.measure(grow(spending.problem, found.plan)))
    lower = min(max(lower, 0.0), best.objective)
    # Of an optimum that was proved up to rounding, the rest is stated. Where more is open, or a limit is the reason
    # of it and not rounding, the bound says how much.
    rounding = best.objective - lower
    negligible = NEGLIGIBLE * spending.problem.scale(best.objective)
    if rounding <= negligible and (status == "optimal" or rounding <= search.rounding):
        lower, status = best.objective, "optimal"
    else:
        rounding, status = 0.0, "approximate" if status == "optimal" else status
    statistics = search.statistics | {"prices": len(search.prices), "row_sets": sets}
    certificate = make_certificate(
        spending.problem, best.tree, best.loss, best.objective, lower, status, rounding,
        statistics=statistics, limits=asdict(limits), version=PACKAGE_VERSION,
        spends=spending.amounts, largest_spend=budget,
        budget={
            "largest": budget if math.isfinite(budget) else None,
            "spend": best.spend,
            "price": search.price,
            "spends": None if spending.by_action is None else list(spending.by_action),
        },
    )  # fmt: skip
    return Solution(best.tree, best.loss, best.objective, lower, status, rounding, statistics, certificate)


class _PriceSearch:
    """Walks to the price of the greatest bound.

    As a function of the price the bound is concave, the least of one line per tree: R(t) + μ · (spend(t) − limit),
    which falls for trees within the limit and rises for the others. Where the lines of the best known tree on either
    side meet, a solve finds a tree below both lines, which takes the place of one, or shows that there is none: then no
    price gives a greater bound.
    """

    def __init__(self, spending: Spending, budget: float, clock: Clock, verbose: int) -> None:
        self.spending, self.budget, self.clock, self.verbose = spending, budget, clock, verbose
        self.limit = spending.limit(budget)
        self.lower, self.price = -math.inf, 0.0
        self.rounding = 0.0
        """Of the solve at this price."""
        self.status = "optimal"
        self.prices: list[float] = []
        self.statistics: dict[str, Any] = {}

    def run(self) -> None:
        """Sets `best`, `lower` and `price`."""
        self.best = self._find_frugal()
        try:
            if self.status == "optimal":
                self._walk(self.best)
        except KeyboardInterrupt:
            self.status = "interrupted"
        if math.isinf(self.lower):
            self.lower = self.spending.problem.floor()

    def _walk(self, frugal: Candidate) -> None:
        self._improve(frugal.tree, 0.0)
        lavish, _ = self._solve(0.0)
        while self.status == "optimal" and lavish.spend > self.limit and frugal.objective > lavish.objective:
            price = price_between(frugal, lavish)
            if not self.spending.can_have_price(price):
                break
            found, rounding = self._solve(price, frugal, lavish)
            if not is_below(found, price, frugal, rounding):
                break
            if found.spend <= self.limit:
                frugal = found
            else:
                lavish = found

    def _find_frugal(self) -> Candidate:
        """A tree within the limit, or an error that names the smallest budget that some tree meets."""
        found = self.spending.cheapest()
        if found.spend <= self.limit:
            return found
        bound, ended = found.spend, ""
        if found.spend > self.spending.least_spend():
            answer = self._answer(self.spending.solve_spend(self.limit, self.clock.left(), verbose=self.verbose))
            within = self.spending.measure(answer.tree)
            if within.spend <= self.limit:
                return within
            if answer.status != "interrupted":
                # Nothing within the limit: what comes nearest is a search of its own, with room for larger spends.
                answer = self._answer(self.spending.solve_spend(found.spend, self.clock.left(), verbose=self.verbose))
            found = self.spending.measure(answer.tree)
            if found.spend <= self.limit:
                return found
            bound, ended = (found.spend, "") if answer.is_optimal else (answer.lower, answer.status)
        if bound > self.limit:
            raise ValueError(
                f"no tree within the limits meets budget={self.budget!r}: the smallest mean spend of any is "
                f"{'at least ' if ended else ''}{bound!r}"
            )
        # Ctrl-C is no fault of the input.
        error = KeyboardInterrupt if ended == "interrupted" else ValueError
        raise error(
            f"no tree that meets budget={self.budget!r} was found before the search ended ({ended}): the smallest mean "
            f"spend so far is {found.spend!r}, and none is below {bound!r}"
        )

    def _solve(self, price: float, *others: Candidate) -> tuple[Candidate, float]:
        """The best tree of a price and its rounding; the bound and the tree are taken into account."""
        known = min(tree.at(price) for tree in (self.best, *others))
        answer = self._answer(self.spending.solve_at(price, known, self.clock.left(), verbose=self.verbose))
        self.prices.append(price)
        found = self.spending.measure(answer.tree)
        lower = answer.lower - price * self.limit * (1 + 2 * EPSILON)
        if lower > self.lower:
            self.lower, self.price, self.rounding = lower, price, answer.rounding
        self.offer(found)
        self._improve(answer.tree, price)
        return found, answer.rounding

    def _answer(self, answer: PricedAnswer) -> PricedAnswer:
        if not answer.is_optimal:
            self.status = answer.status
        for name, figure in answer.statistics.items():
            is_total = name in ("subproblems", "expansions", "probes", "engine_seconds")
            self.statistics[name] = figure + self.statistics.get(name, 0) if is_total else figure
        return answer

    def _improve(self, tree: Tree, price: float) -> None:
        """Offers the best way to use a tree within the limit."""
        plan = self.spending.use(tree, price, self.limit, self.best.objective + price * self.limit)
        if plan is not None:
            self.offer(self.spending.measure(grow(self.spending.problem, plan)))

    def offer(self, candidate: Candidate) -> Candidate:
        """Keeps a tree where it is within the limit and better than what there is; the best one so far."""
        if candidate.spend <= self.limit:
            self.best = min(self.best, candidate, key=lambda found: (found.objective, found.spend))
        return self.best


def price_between(frugal: Candidate, lavish: Candidate) -> float:
    """The price at which two trees are equally good."""
    return (frugal.objective - lavish.objective) / (lavish.spend - frugal.spend)


def is_below(found: Candidate, price: float, end: Candidate, rounding: float) -> bool:
    """Whether a tree lies below the line of this price through `end` by more than rounding.

    Else what was found is one of the ends of the line, or ties with them.
    """
    return found.at(price) < end.at(price) * (1 - 1e-15) - 2 * rounding
