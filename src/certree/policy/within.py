"""All trees within a budget that are better than a threshold, leaf actions and all.

At a price μ of spending a tree t within the limit B has R(t) + μ · (spend(t) − B) <= R(t). So every tree within the
limit with R(t) <= T is among those with R(t) + μ · spend(t) <= T + μ · B: a set of good trees at that price, which is
found and listed as any other. Its trees have the best action in every leaf at that price; within a budget another
action may be needed, so each shape is listed with every choice of actions whose priced cost stays below the threshold.
What is above the limit or the threshold is left out. So nothing is missing, whatever the price; a good price keeps the
superset small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.limits import Clock
from certree.policy.front import Plan, grow
from certree.policy.gap import Closing
from certree.problem import Problem
from certree.solution import float_slack, true_lower
from certree.solver import search
from certree.tree import Tree
from certree.tree_set import GoodTree, TreeSet, find_tree_set, holds_of

Array = NDArray[Any]
Way = tuple[tuple[int, int, bool], ...]
"""How a leaf is reached: axis and code of every test from the root on, and whether it holds."""

MOST_LISTED = 50_000
"""Shapes of the superset that are looked at, and policies that are kept."""


@dataclass(frozen=True, eq=False)
class Listed:
    """A tree of actions within the limit."""

    cost: float
    """R: what it falls short of the best action of every row, plus λ per leaf."""
    spend: float
    shape: GoodTree
    actions: tuple[int, ...]
    """The action of every leaf, from left to right."""


@dataclass(frozen=True, eq=False)
class Listing:
    """What was found, in no order."""

    trees: list[Listed]
    superset: TreeSet
    n_shapes: int
    """Shapes of the superset that were looked at, best first."""
    below: float
    """No tree within the limit with a lower R is missing."""
    status: str
    """"complete", or what ended it: "interrupted", "time_limit", "memory_limit", "approximate" (too many shapes)."""


class Lister:
    """Lists the trees of a problem within a limit. `amounts` is what each action spends on each row, times the weight,
    as a `Spending` has it."""

    def __init__(self, problem: Problem, amounts: Array, price: float, limit: float) -> None:
        assert problem.costs is not None
        self.problem, self.amounts, self.price, self.limit = problem, amounts, price, limit
        self.costs: Array = problem.costs
        priced = self.costs + price * amounts
        # The engine sees what each action costs above the cheapest one of its row.
        cheapest = priced.min(axis=1)
        self.floor = math.fsum(cheapest.tolist()) / problem.normaliser
        self.target = replace(problem, costs=np.maximum(priced - cheapest[:, None], 0.0), best_rewards=None)
        self._holds: dict[tuple[int, int], Array] = {}
        self._sums: dict[Way, tuple[Array, Array]] = {}

    def run(self, threshold: float, clock: Clock, *, idle: bool = False, verbose: int = 0) -> Listing:
        """All trees within the limit with R at most `threshold`."""
        problem, target = self.problem, self.target
        assert target.costs is not None
        worst = math.fsum(target.costs.max(axis=1).tolist()) / problem.normaliser
        cap = threshold + self.price * self.limit - self.floor
        best = search(target, clock.left(0.5), verbose=verbose)
        slack = 4 * best.rounding + float_slack(target, worst + abs(threshold) + self.price * self.limit)
        tolerance = min(max(cap - true_lower(target, best), 0.0) + slack, 2 * worst)
        found = find_tree_set(target, tolerance, clock.left(), idle=True, verbose=verbose)
        status, superset = found.status, found.complete_part()
        most = superset.threshold if found.is_complete else found.complete_below
        trees: list[Listed] = []
        n_shapes = 0
        try:
            for shape in superset[:MOST_LISTED]:
                if clock.is_over or len(trees) > MOST_LISTED:
                    most, status = shape.objective, "time_limit" if clock.is_over else "approximate"
                    break
                trees += self._label(shape, cap + slack, threshold, idle=idle)
                n_shapes += 1
            else:
                if superset.count.most > MOST_LISTED:
                    most, status = superset[MOST_LISTED - 1].objective, "approximate"
        except KeyboardInterrupt:
            most, status = superset[n_shapes].objective if superset else most, "interrupted"
        below = math.inf if status == "complete" else most + self.floor - self.price * self.limit - slack
        return Listing(trees, superset, n_shapes, below, status)

    def make_tree(self, listed: Listed) -> Tree:
        """The tree with its actions."""
        return grow(self.problem, self.plan(listed), keeps_idle=True)

    def plan(self, listed: Listed) -> Plan:
        """The tree as a plan."""
        nodes, actions = zip(listed.shape._axis, listed.shape._code, strict=True), iter(listed.actions)

        def read() -> Plan:
            axis, code = next(nodes)
            if axis < 0:
                return next(actions)
            test = self.problem.asked_features.test(axis, code)
            left = read()
            sides = left, read()
            return replace(test, is_swapped=False), *(sides[::-1] if test.is_swapped else sides)

        return read()

    def ways(self, shape: GoodTree) -> list[Way]:
        """How each leaf is reached, from left to right."""
        found: list[Way] = []
        open_ways: list[Way] = [()]
        for axis, code in zip(shape._axis, shape._code, strict=True):
            way = open_ways.pop()
            if axis < 0:
                found.append(way)
            else:
                open_ways += [(*way, (axis, code, False)), (*way, (axis, code, True))]
        return found

    def rows_of(self, way: Way) -> Array:
        """bool, one per row: whether it goes this way."""
        rows = np.ones(self.problem.n_rows, dtype=bool)
        for axis, code, holds in way:
            if (axis, code) not in self._holds:
                self._holds[axis, code] = holds_of(self.problem, axis, code)
            rows &= self._holds[axis, code] == holds
        return rows

    def _sum(self, way: Way) -> tuple[Array, Array]:
        """What each action costs and spends in a leaf."""
        if way not in self._sums:
            rows = self.rows_of(way)
            self._sums[way] = (
                self.costs[rows].sum(axis=0) / self.problem.normaliser,
                self.amounts[rows].sum(axis=0) / self.problem.normaliser,
            )
        return self._sums[way]

    def _label(self, shape: GoodTree, cap: float, threshold: float, *, idle: bool) -> Iterator[Listed]:
        """The shape with every choice of actions that stays within the limit and below the cap and the threshold."""
        sums = [self._sum(way) for way in self.ways(shape)]
        penalty = self.problem.regularization * len(sums)
        priced = [cost + self.price * spend for cost, spend in sums]
        least = np.array([amounts.min() for amounts in priced])
        room = cap + self.floor - penalty - float(least.sum())
        pairs = [] if idle else _find_pairs(shape._axis, len(self.problem.features.axes))
        orders = [
            [int(action) for action in np.argsort(amounts, kind="stable") if amounts[action] - low <= room]
            for amounts, low in zip(priced, least.tolist(), strict=True)
        ]

        def choose(leaf: int, room: float, actions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
            if leaf == len(sums):
                yield actions
                return
            for action in orders[leaf]:
                left = room - (float(priced[leaf][action]) - float(least[leaf]))
                if left < 0:
                    break
                yield from choose(leaf + 1, left, (*actions, action))

        for actions in choose(0, room, ()):
            if any(actions[one] == actions[two] for one, two in pairs):
                continue
            cost, spend = (
                math.fsum(float(own[part][action]) for own, action in zip(sums, actions, strict=True))
                for part in (0, 1)
            )
            if spend <= self.limit and cost + penalty <= threshold:
                yield Listed(cost + penalty, spend, shape, actions)


def _find_sides(axis: Sequence[int]) -> tuple[list[int], list[int]]:
    """The sides of nodes that are listed depth first."""
    left, right = [-1] * len(axis), [-1] * len(axis)

    def place(node: int) -> int:
        if axis[node] < 0:
            return node + 1
        left[node] = node + 1
        right[node] = place(node + 1)
        return place(right[node])

    place(0)
    return left, right


def _find_pairs(axis: Sequence[int], n_axes: int) -> list[tuple[int, int]]:
    """The leaves, by their number from left to right, that are the two sides of one test; but for tests of a start,
    which are asked in any case."""
    left, right = _find_sides(axis)
    number = {node: place for place, node in enumerate(node for node, own in enumerate(axis) if own < 0)}
    return [
        (number[left[node]], number[right[node]])
        for node, own in enumerate(axis)
        if 0 <= own < n_axes and left[node] in number and right[node] in number
    ]


def close_by_listing(
    problem: Problem, spends: Array, price: float, limit: float, known: float, slack: float, clock: Clock
) -> Closing:
    """What `close_gap` finds, by a look at all trees within the limit that are no worse than the known one; for
    problems with a start, whose trees are not all trees."""
    try:
        found = Lister(problem, spends, price, limit).run(known, clock)
    except ValueError:
        # λ is more than any tree saves, and the set would let leaves in again that it forbids.
        return Closing(None, -math.inf, "approximate", 0)
    best = min(found.trees, key=lambda own: (own.cost, own.spend), default=None)
    cost = known if best is None else min(best.cost, known)
    lower = min(cost, found.below) - slack
    status = "optimal" if found.below >= cost else found.status
    plan = None if best is None or best.cost >= known else Lister(problem, spends, price, limit).plan(best)
    return Closing(plan, lower, status, found.n_shapes)
