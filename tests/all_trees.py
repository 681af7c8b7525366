"""Every tree of a tiny table, one by one: what the sets of good trees are compared with.

Row sets are the bits of Python integers. Amounts are those that the engine holds, so that membership is a matter of
whole numbers; how they are rounded is stated once more here, from docs/method.md and not from the engine.

A tree is a nested tuple: a leaf is (rows, label), a split (rows, side, side) with the side of the smaller number
first. So tests that part the rows of a node in the same way, and mirror images, are one tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from certree import Problem

Tree = tuple[Any, ...]


@dataclass(frozen=True)
class Listed:
    """One tree: what it costs with λ per leaf, and how many leaves it has."""

    value: int
    leaves: int
    tree: Tree


@dataclass
class Amounts:
    """The costs of a problem as whole numbers: value · 2^exponent, rounded to nearest."""

    problem: Problem
    exponent: int = 0
    costs: list[list[int]] = field(default_factory=list)
    penalty: int = 0

    def __post_init__(self) -> None:
        problem = self.problem
        given = problem.costs
        if given is None:
            assert problem.y is not None
            given = problem.weights[:, None] * (np.arange(len(problem.labels)) != problem.y[:, None])
            total = float(np.cumsum(problem.weights)[-1])
        else:
            total = float(np.cumsum(given.max(axis=1))[-1])
        self.exponent = 55 - (math.frexp(total)[1] - 1 if total > 0 else 0)
        self.costs = [[self.round(float(cost)) for cost in row] for row in given]
        self.penalty = self.of_objective(problem.regularization)

    def round(self, value: float) -> int:
        scaled = math.ldexp(value, self.exponent)
        return int(scaled + 0.5) if scaled < 2.0**52 else int(scaled)

    def of_objective(self, value: float) -> int:
        """An amount of the objective, in units of the costs."""
        mantissa, power = math.frexp(self.problem.normaliser)
        return round(math.ldexp(value * (2 * mantissa), self.exponent + power - 1))

    def tolerance(self, value: float) -> int:
        mantissa, power = math.frexp(self.problem.normaliser)
        return math.floor(math.ldexp(value * (2 * mantissa) * (1 + 1e-12), self.exponent + power - 1))

    def to_objective(self, value: int) -> float:
        return value / 2**self.exponent / self.problem.normaliser if self.exponent >= 0 else math.inf


class TooManyError(Exception):
    """The table is not tiny."""


MOST_PAIRS = 60_000


class AllTrees:
    """The trees of a problem, by plain recursion.

    `start` is what they begin with, as a nested tuple: (rows where the test holds, what stands there, what stands on
    the other side), "open" or "leaf". `forbidden` are columns and pairs of a column and the rows where a test holds.
    """

    def __init__(self, problem: Problem, *, idle: bool = False, start: Any = "open", forbidden: Any = ()) -> None:
        self.problem, self.idle, self.start = problem, idle, start
        self.n_pairs = 0
        self.amounts = Amounts(problem)
        self.rows = (1 << problem.n_rows) - 1
        offered = [(problem.features.axes[axis].column, mask) for axis, mask in list_tests(problem)]
        gone: set[Any] = set()
        for entry in forbidden:
            sides = [] if isinstance(entry, int) else [(entry[0], entry[1]), (entry[0], self.rows & ~entry[1])]
            gone.update(sides or [entry])
        offered = [test for test in offered if test not in gone and test[0] not in gone]
        self.tests = [mask for _, mask in offered]
        self.columns = [column for column, _ in offered]
        deepest = problem.n_rows - 1
        self.depth = deepest if problem.max_depth is None else min(deepest, int(problem.max_depth))
        self.leaves = problem.n_rows if problem.max_leaves is None else int(problem.max_leaves)

    def list_good(self, tolerance: float) -> list[Listed]:
        """Every tree within the tolerance of the best one, in order of value."""
        best = min(listed.value for listed in self._trees(self.best_possible()))
        most = best + self.amounts.tolerance(tolerance)
        return sorted((t for t in self._trees(most) if t.value <= most), key=lambda t: t.value)

    def best_possible(self) -> int:
        """What the smallest tree costs, a lone leaf or the start with nothing added: the best tree costs no more."""
        return sum(self.leaf(rows)[0] for rows, _ in self.start_leaves())

    def start_leaves(self) -> list[tuple[int, int]]:
        """The rows and the depth of the leaves of the start."""

        def leaves(side: Any, rows: int, depth: int) -> list[tuple[int, int]]:
            if isinstance(side, str):
                return [(rows, depth)]
            inside = rows & side[0]
            return leaves(side[1], inside, depth + 1) + leaves(side[2], rows & ~inside, depth + 1)

        return leaves(self.start, self.rows, 0)

    def admits_start(self) -> bool:
        """Whether the start itself keeps the limits, so that there is a tree."""
        leaves = self.start_leaves()
        return len(leaves) <= self.leaves and all(
            rows and depth <= self.depth and self.is_allowed(rows) for rows, depth in leaves
        )

    def leaf(self, rows: int) -> tuple[int, int]:
        """What the best label costs, with its penalty, and the first of the best labels."""
        sums = [sum(row[k] for row in bits_of(rows, self.amounts.costs)) for k in range(len(self.problem.labels))]
        return min(sums) + self.amounts.penalty, sums.index(min(sums))

    def is_allowed(self, rows: int) -> bool:
        problem = self.problem
        weights, least = problem.leaf_weights
        inside = [i for i in range(problem.n_rows) if rows >> i & 1]
        if len(inside) < problem.min_samples_leaf or sum(int(weights[i]) for i in inside) < least:
            return False
        if problem.arms is None:
            return True
        counts = np.bincount(problem.arms[inside], minlength=problem.n_arms)
        return bool((counts >= problem.min_samples_arm).all())

    def _trees(self, most: int) -> list[Listed]:
        """All trees that cost no more. Costs are not negative, so no part of such a tree costs more either."""

        @cache
        def trees(rows: int, depth: int) -> list[Listed]:
            if not self.is_allowed(rows):
                return []
            value, label = self.leaf(rows)
            found = [Listed(value, 1, (rows, label))] if value <= most else []
            if depth == 0:
                return found
            for inside in {min(rows & test, rows & ~test) for test in self.tests} - {0}:
                pairs = product(trees(inside, depth - 1), trees(rows & ~inside, depth - 1))
                self.n_pairs += len(trees(inside, depth - 1)) * len(trees(rows & ~inside, depth - 1))
                if self.n_pairs > MOST_PAIRS:
                    raise TooManyError
                for one, two in pairs:
                    is_idle = len(one.tree) == len(two.tree) == 2 and one.tree[1] == two.tree[1]
                    fits = one.value + two.value <= most and one.leaves + two.leaves <= self.leaves
                    if fits and (self.idle or not is_idle):
                        found.append(Listed(one.value + two.value, one.leaves + two.leaves, (rows, one.tree, two.tree)))
            return found

        def begin(side: Any, rows: int, depth: int) -> list[Listed]:
            """The trees that begin with a start. Its own splits are there even where they are idle."""
            if isinstance(side, str):
                return trees(rows, depth if side == "open" else 0)
            inside = rows & side[0]
            one, two = begin(side[1], inside, depth - 1), begin(side[2], rows & ~inside, depth - 1)
            if inside > rows & ~inside:
                one, two = two, one
            self.n_pairs += len(one) * len(two)
            if self.n_pairs > MOST_PAIRS:
                raise TooManyError
            return [
                Listed(x.value + y.value, x.leaves + y.leaves, (rows, x.tree, y.tree))
                for x, y in product(one, two)
                if x.value + y.value <= most and x.leaves + y.leaves <= self.leaves
            ]

        found = begin(self.start, self.rows, self.depth)
        if not isinstance(self.start, str):
            return found
        if not any(len(listed.tree) == 2 for listed in found):
            # A lone leaf is always allowed.
            value, label = self.leaf(self.rows)
            found = [Listed(value, 1, (self.rows, label)), *found]
        return found

    def columns_of(self, rows: int, side: int) -> set[int]:
        """The columns with a test that parts these rows so that this is one of the two sides."""
        parted = {side, rows & ~side}
        return {c for c, test in zip(self.columns, self.tests, strict=True) if rows & test in parted}


def list_tests(problem: Problem) -> list[tuple[int, int]]:
    """The axis of every test and, as bits, the rows on which it holds."""
    tests = []
    for index, (axis, codes) in enumerate(zip(problem.features.axes, problem.features.codes, strict=True)):
        for code in range(axis.size):
            holds = codes == code if axis.is_categorical else codes <= code
            tests.append((index, sum(1 << int(i) for i in np.flatnonzero(holds))))
    return tests


def bits_of(rows: int, items: list[Any]) -> Iterator[Any]:
    return (item for i, item in enumerate(items) if rows >> i & 1)


def nodes_of(tree: Tree) -> Iterator[Tree]:
    yield tree
    for side in tree[1:] if len(tree) == 3 else ():
        yield from nodes_of(side)


def tree_of(problem: Problem, tree: Any) -> Tree:
    """A certree.Tree in the form of this file, by the rows that reach its nodes."""
    leaf = tree.apply(problem.features.table)

    def rows_below(node: int) -> int:
        if tree.column[node] < 0:
            return sum(1 << int(i) for i in np.flatnonzero(leaf == node))
        return rows_below(tree.left[node]) | rows_below(tree.right[node])

    def form(node: int) -> Tree:
        rows = rows_below(node)
        if tree.column[node] < 0:
            return (rows, int(tree.label[node]))
        sides = sorted((form(int(tree.left[node])), form(int(tree.right[node]))), key=lambda side: side[0])
        return (rows, *sides)

    return form(0)
