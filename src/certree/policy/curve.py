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
from itertools import pairwise
from typing import Any, overload

from joblib import effective_n_jobs

from certree.features import make_features
from certree.policy.budget import Candidate, Spending, read_spending
from certree.policy.log import read_arms, read_rewards
from certree.problem import TOLERANCE, Problem, check_weights
from certree.solver import Limits, bin_numeric, solve
from certree.table import read_table
from certree.tree import Tree


@dataclass(frozen=True)
class BudgetPoint:
    """A tree that is best at some price of spending."""

    spend: float
    """Mean spend a row."""
    value: float
    """Mean reward."""
    objective: float
    """value − λ · leaves."""
    price_low: float
    price_high: float
    """Between these prices this tree is the best one; inf for the most frugal tree."""
    leaves: int
    tree: Tree
    status: str
    """"optimal", or why the search for this tree ended before it was proved best."""


@dataclass(frozen=True)
class BudgetCurve(Sequence[BudgetPoint]):
    """The corners of the curve, from the least spend to that of the best tree without a budget."""

    points: tuple[BudgetPoint, ...]
    is_complete: bool
    """Whether all searches were carried to their end, so that no corner can be missing."""
    bounds: tuple[tuple[float, float], ...]
    """Prices, and what no tree has a greater objective than, its spend at that price taken off."""
    tolerance: float
    """What rounding may add to a mean spend."""

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
        """The last corner that a budget pays for. A tree between corners may do better: `PolicyTree(budget=...)`."""
        self._check(budget)
        return [point for point in self.points if point.spend <= budget + self.tolerance][-1]

    def bound(self, budget: float) -> float:
        """No tree that spends at most `budget` has a greater objective, whether the curve is complete or not."""
        self._check(budget)
        return min(top + (price * budget if price > 0 else 0.0) for price, top in self.bounds)

    def to_rows(self) -> list[dict[str, Any]]:
        """The curve as plain rows, for a frame or a CSV file."""
        names = ("spend", "value", "objective", "price_low", "price_high", "leaves")
        return [
            {name: getattr(point, name) for name in names} | {"depth": point.tree.depth, "status": point.status}
            for point in self.points
        ]

    def _check(self, budget: float) -> None:
        least = self.points[0].spend
        # Written so that NaN fails.
        if not budget >= least - self.tolerance:
            raise ValueError(f"budget {budget!r} is below {least!r}, the smallest mean spend of any tree")


def budget_curve(
    X: Any,
    rewards: Any,
    sample_weight: Any = None,
    treatment: Any = None,
    costs: Any = None,
    *,
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
    """Every policy tree that is best at some price of spending. Parameters: `PolicyTree` and its `fit`.

    The limits hold for each solve; a point whose solve they ended says so in its status.
    """
    table = read_table(X)
    amounts, actions = read_rewards(rewards, table.n_rows)
    weights = check_weights(sample_weight, table.n_rows)
    problem = Problem.from_rewards(
        make_features(table, thresholds=thresholds, weights=weights, binner=bin_numeric),
        amounts,
        weights,
        labels=actions,
        regularization=regularization,
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        arms=read_arms(treatment, actions, weights, min_samples_arm),
        min_samples_arm=min_samples_arm,
    )
    spending = Spending.make(problem, read_spending(costs, table.n_rows, actions), weights)
    ceiling = math.fsum((amounts.max(axis=1) * weights).tolist()) / math.fsum(weights.tolist())
    limits = Limits(time_limit, memory_limit, effective_n_jobs(n_jobs))
    return _Walk(spending, limits, verbose).run(ceiling)


class _Walk:
    """Finds the corners, by the slopes between those known."""

    def __init__(self, spending: Spending, limits: Limits, verbose: int) -> None:
        self.spending, self.limits, self.verbose = spending, limits, verbose
        self.found: list[tuple[Candidate, str]] = []
        self.lowers: list[tuple[float, float]] = []
        self.rounding = 0.0

    def run(self, ceiling: float) -> BudgetCurve:
        pairs = [(self._find_frugal(), self._solve(0.0))]
        while pairs:
            frugal, lavish = pairs.pop()
            if not (self._is_less(frugal.spend, lavish.spend) and frugal.objective > lavish.objective):
                continue
            price = _price(frugal, lavish)
            on_line = frugal.objective + price * frugal.spend
            middle = self._solve(price)
            # Below the line by more than rounding, or else what was found is one of the ends or ties with them.
            if middle.objective + price * middle.spend < on_line - 2 * self.rounding - 1e-15 * on_line:
                pairs += [(frugal, middle), (middle, lavish)]
        corners = self._hull()
        prices = [_price(one, two) for (one, _), (two, _) in pairwise(corners)]
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
            for (corner, status), low, high in zip(corners, [*prices, 0.0], [math.inf, *prices], strict=True)
        ]
        return BudgetCurve(
            points=tuple(points),
            is_complete=all(status == "optimal" for _, status in self.found),
            bounds=tuple((price, ceiling - lower) for price, lower in self.lowers),
            tolerance=TOLERANCE * self.spending.scale,
        )

    def _find_frugal(self) -> Candidate:
        """A tree of the least spend."""
        leaf, status = self.spending.cheapest_leaf(), "optimal"
        if leaf.spend > self.spending.least_spend():
            solution = solve(self.spending.of_spend_alone(), self.limits, verbose=self.verbose)
            leaf, status = self.spending.measure(solution.tree), solution.status
        self.found.append((leaf, status))
        return leaf

    def _solve(self, price: float) -> Candidate:
        solution = solve(self.spending.at_price(price), self.limits, verbose=self.verbose)
        candidate = self.spending.measure(solution.tree)
        self.found.append((candidate, solution.status))
        self.lowers.append((price, solution.lower))
        self.rounding = max(self.rounding, solution.rounding)
        return candidate

    def _is_less(self, spend: float, other: float) -> bool:
        return spend < other * (1 - TOLERANCE)

    def _hull(self) -> list[tuple[Candidate, str]]:
        """The trees that are best at some price, by spend: R falls, and by less for every further unit of spend."""
        corners: list[tuple[Candidate, str]] = []
        for found, status in sorted(self.found, key=lambda pair: (pair[0].spend, pair[0].objective)):
            least = corners[-1][0].objective if corners else math.inf
            if corners and not found.objective < least * (1 - 1e-15) - 2 * self.rounding:
                continue
            if corners and not self._is_less(corners[-1][0].spend, found.spend):
                corners.pop()
            while len(corners) > 1 and not _price(corners[-2][0], corners[-1][0]) > _price(corners[-1][0], found):
                corners.pop()
            corners.append((found, status))
        return corners


def _price(frugal: Candidate, lavish: Candidate) -> float:
    """The price at which two trees are equally good."""
    return (frugal.objective - lavish.objective) / (lavish.spend - frugal.spend)
