"""The whole budget curve: what each budget buys.

For fixed limits and λ, every policy tree is a point of spend and objective. The upper hull of these points is walked
as `certree.path` walks that of leaves and loss: each corner is the best tree for an interval of prices of spending, a
solve at the price between two known corners either finds a tree above their line, a new point of the hull, or proves
that there is none. The hull is an upper bound for every budget: a tree between two corners lies on or below the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any, overload

import numpy as np

from certree.display import align, show_rows
from certree.folds import count_threads
from certree.hull import keep_corners, price_corners, price_inside, walk
from certree.limits import Limits
from certree.plot import plot_budget_curve
from certree.policy.budget import EPSILON, Candidate, Spending, is_below, price_between, read_spends, rename_costs
from certree.policy.log import open_log
from certree.policy.pose import pose_rewards
from certree.problem import TOLERANCE
from certree.reading import read_text_columns, warn_about
from certree.solver import warn_interrupted
from certree.table import read_table
from certree.tree import Tree

TABLE_HEADER = ("mean spend", "value", "leaves", "status")


@dataclass(frozen=True)
class BudgetPoint:
    """A tree that is best at some price of spending.

    Examples
    --------
    >>> from certree.policy import budget_curve
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> point = budget_curve(X, rewards, spends=[0, 1], max_depth=1)[-1]
    >>> point.leaves, point.status
    (2, 'optimal')
    """

    spend: float
    """Mean spend per row."""
    value: float
    """Mean reward."""
    objective: float
    """value − λ · leaves."""
    price_low: float
    price_high: float
    """The prices between which this tree is the best one; inf for the tree that spends least."""
    leaves: int
    tree: Tree
    status: str
    """"optimal", or why the search for this tree ended before it was proved best."""


@dataclass(frozen=True, repr=False)
class BudgetCurve(Sequence[BudgetPoint]):
    """The corners of the curve of value against spend, from the least spend to that of the best tree without a budget.

    A sequence of `BudgetPoint`; made by `certree.policy.budget_curve`.

    Examples
    --------
    >>> from certree.policy import budget_curve
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> curve = budget_curve(X, rewards, spends=[0, 1], max_depth=1)
    >>> round(curve.at(0.7).value, 3), curve.is_complete
    (1.0, True)
    """

    points: tuple[BudgetPoint, ...]
    is_complete: bool
    """Whether all searches finished, so that no corner is missing except those that rounding hides."""
    bounds: tuple[tuple[float, float], ...]
    """Prices, and what no tree has a greater objective than, its spend at that price taken off, rounding and all."""
    least_spend: float
    """No tree has a smaller mean spend, rounding and all."""

    @overload
    def __getitem__(self, index: int) -> BudgetPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[BudgetPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> BudgetPoint | tuple[BudgetPoint, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[BudgetPoint]:
        return iter(self.points)

    def at(self, budget: float) -> BudgetPoint:
        """The last corner that a budget pays for. `PolicyTree(budget=...)` may find a better tree between corners."""
        self._check(budget)
        affordable = [point for point in self.points if point.spend <= budget * (1 + TOLERANCE)]
        if not affordable:
            raise ValueError(
                f"no tree was found that meets budget {budget!r}; the smallest mean spend is {self[0].spend!r}"
            )
        return affordable[-1]

    def at_price(self, price: float) -> BudgetPoint:
        """The corner that is best where a unit of mean spend costs `price`."""
        if not price >= 0:
            raise ValueError(f"price must be a number of at least 0, not {price!r}")
        return next(point for point in self.points if point.price_low <= price)

    def bound(self, budget: float) -> float:
        """No tree that spends at most `budget` has a greater objective, whether the curve is complete or not."""
        self._check(budget)
        limit = budget * (1 + TOLERANCE)
        return min(top + (price * limit if price > 0 else 0.0) for price, top in self.bounds)

    def plot(self, ax: Any = None) -> Any:
        """Draw value against spend; see `certree.plot_budget_curve`."""
        return plot_budget_curve(self, ax=ax)

    def summary(self) -> str:
        """The curve in words, one line per tree."""
        return "\n".join([self._head(), *align(TABLE_HEADER, self._table())])

    def _head(self) -> str:
        count = "1 policy" if len(self) == 1 else f"{len(self)} policies"
        ended = "complete" if self.is_complete else "a search ended early, so that corners may be missing"
        return f"{count}, mean spend {self[0].spend:.4g} to {self[-1].spend:.4g}, {ended}"

    def _table(self) -> list[list[str]]:
        return [
            [f"{point.spend:.6g}", f"{point.value:.6g}", f"{point.leaves}", point.status.replace("_", " ")]
            for point in self.points
        ]

    def __repr__(self) -> str:
        return f"<BudgetCurve: {self._head()}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return show_rows(self._head(), TABLE_HEADER, self._table())

    def to_rows(self) -> list[dict[str, Any]]:
        """The curve as plain rows, for a frame or a CSV file."""
        names = ("spend", "value", "objective", "price_low", "price_high", "leaves")
        return [
            {name: getattr(point, name) for name in names} | {"depth": point.tree.depth, "status": point.status}
            for point in self.points
        ]

    def _check(self, budget: float) -> None:
        # Written so that NaN fails.
        if not budget >= self.least_spend * (1 - TOLERANCE):
            raise ValueError(f"budget {budget!r} is below {self[0].spend!r}, the smallest mean spend of any tree")


def budget_curve(
    X: Any,
    rewards: Any,
    sample_weight: Any = None,
    treatment: Any = None,
    spends: Any = None,
    *,
    control: Any = None,
    costs: Any = None,
    max_depth: int | None = 2,
    regularization: float = 0.0,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_samples_arm: int = 0,
    thresholds: str | int = "all",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BudgetCurve:
    """Every policy tree that is best at some price of spending: what each budget buys.

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
    spends, control :
        As in `PolicyTree.fit`.
    costs :
        Deprecated: the former name of `spends`.
    max_depth, regularization, max_leaves, min_samples_leaf, min_samples_arm, thresholds, verbose :
        As in `PolicyTree`.
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes for each search. A point whose search they ended says so in its status.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.

    Returns
    -------
    BudgetCurve
        Ctrl-C ends the whole search, and the curve then holds the corners found so far.

    Raises
    ------
    ValueError
        If a parameter, reward, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree.policy import budget_curve
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> curve = budget_curve(X, rewards, spends=[0, 1], max_depth=1)
    >>> [(round(point.spend, 3), round(point.value, 3)) for point in curve]
    [(0.0, 0.0), (0.667, 1.0)]
    """
    spends = rename_costs(spends, costs)
    X, treatment = open_log(X, treatment)
    table = read_table(X)
    warn_about(read_text_columns(table))
    problem, amounts, weights = pose_rewards(
        table,
        rewards,
        sample_weight,
        treatment,
        regularization=regularization,
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_samples_arm=min_samples_arm,
        thresholds=thresholds,
    )
    amount = read_spends(spends, control, table.n_rows, problem.labels, getattr(rewards, "control", None))
    spending = Spending.make(problem, amount, weights)
    total = math.fsum(weights.tolist())
    ceiling, size = (
        math.fsum((largest * weights).tolist()) / total
        for largest in (amounts.max(axis=1), np.abs(amounts).max(axis=1))
    )
    limits = Limits(time_limit, memory_limit, count_threads(n_jobs))
    return _Walk(spending, limits, verbose).run(ceiling, size)


Found = tuple[Candidate, str]
"""A tree, and how the search for it ended."""


class _Walk:
    """Finds the corners, by the slopes between those known."""

    def __init__(self, spending: Spending, limits: Limits, verbose: int) -> None:
        self.spending, self.limits, self.verbose = spending, limits, verbose
        self.found: list[Found] = []
        self.lowers: list[tuple[float, float]] = []
        self.least_spend = 0.0
        self.is_complete = True

    def run(self, ceiling: float, size: float) -> BudgetCurve:
        """`ceiling` is the mean of every row's best reward, `size` that of its largest amount: rounding is relative to
        it."""
        try:
            self._walk()
        except KeyboardInterrupt:
            if not self.found:
                raise
            self.is_complete = False
            warn_interrupted("the curve holds the corners found so far, and others may be missing")
        if not self.lowers:
            self.lowers.append((0.0, self.spending.problem.floor()))
        corners = self._keep_corners()
        points = [
            BudgetPoint(
                spend=corner.spend,
                value=ceiling - corner.loss,
                objective=ceiling - corner.objective,
                price_low=low,
                price_high=high,
                leaves=corner.tree.n_leaves,
                tree=corner.tree,
                status=status,
            )
            for (corner, status), (low, high) in zip(corners, price_corners(corners, _slope), strict=True)
        ]
        return BudgetCurve(
            points=tuple(points),
            is_complete=self.is_complete,
            least_spend=self.least_spend,
            bounds=tuple((price, ceiling - lower + 8 * EPSILON * size) for price, lower in self.lowers),
        )

    def _walk(self) -> None:
        frugal = self._find_frugal()
        lavish, _ = self._solve(0.0, frugal)
        walk(frugal, lavish, partial(starmap, self._find_between))

    def _find_between(self, frugal: Candidate, lavish: Candidate) -> Candidate | None:
        if not (_is_less(frugal.spend, lavish.spend) and frugal.objective > lavish.objective):
            return None
        price = price_between(frugal, lavish)
        if not self.spending.can_have_price(price):
            self.is_complete = False
            return None
        middle, rounding = self._solve(price, frugal, lavish)
        return middle if is_below(middle, price, frugal, rounding) else None

    def _find_frugal(self) -> Candidate:
        """A tree of the least spend."""
        leaf, status = self.spending.cheapest(), "optimal"
        self.least_spend = min(self.spending.least_spend(), leaf.spend)
        if leaf.spend > self.least_spend:
            answer = self.spending.solve_spend(leaf.spend, self.limits, verbose=self.verbose)
            leaf, status = self.spending.measure(answer.tree), answer.status
            self.least_spend = min(max(self.least_spend, answer.lower), leaf.spend)
        return self._keep(leaf, status)

    def _solve(self, price: float, *known: Candidate) -> tuple[Candidate, float]:
        """The best tree of a price, and its rounding."""
        answer = self.spending.solve_at(price, min(tree.at(price) for tree in known), self.limits, verbose=self.verbose)
        self.lowers.append((price, answer.lower))
        return self._keep(self.spending.measure(answer.tree), answer.status), answer.rounding

    def _keep(self, tree: Candidate, status: str) -> Candidate:
        self.found.append((tree, status))
        self.is_complete &= status == "optimal"
        if status == "interrupted":
            raise KeyboardInterrupt
        return tree

    def _keep_corners(self) -> list[Found]:
        """The trees that are best at some price, by spend.

        What was found is measured by the raw rows, so the engine's rounding has no part in it.
        """
        return keep_corners(
            sorted(self.found, key=lambda pair: (pair[0].spend, pair[0].objective)),
            _slope,
            lambda one, two: two[0].objective < one[0].objective * (1 - 1e-15),
            lambda one, two: _is_less(one[0].spend, two[0].spend),
        )


def _slope(one: Found, two: Found) -> float:
    return price_between(one[0], two[0])


def _is_less(spend: float, other: float) -> bool:
    return spend < other * (1 - TOLERANCE)


def choose_prices(curve: BudgetCurve) -> list[float]:
    """A price inside the interval of each corner of a curve."""
    return [price_inside(point.price_low, point.price_high) for point in curve]
