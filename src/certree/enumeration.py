"""Every tree of a tiny problem: the optimum, what can be had for which spend, and all trees that are nearly as good.

This room promises to be slow and obvious: row sets are the bits of Python integers, amounts are fractions, and nothing
is rounded or passed over but what is too expensive already.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.features import Features
from certree.problem import Problem
from certree.start import Branch

Array = NDArray[Any]

MOST_PAIRS = 3_000_000
"""Of trees that `count_trees` joins before it gives up: some seconds."""


class TooLargeError(ValueError):
    """A table that is not tiny."""


def enumerate_optimum(problem: Problem) -> Fraction:
    """The least objective of any tree, exactly, by looking at all of them; for tiny problems.

    Parameters
    ----------
    problem : Problem
        A tiny one: the number of trees grows fast.

    Returns
    -------
    fractions.Fraction

    Raises
    ------
    MemoryError
        If the problem is not tiny, after a long time.

    Examples
    --------
    >>> from certree import Problem, certify, solve
    >>> X, y = [[1], [2], [3]], ["a", "b", "a"]
    >>> problem = Problem.from_labels(X, y, max_depth=1, regularization=0.125)
    >>> float(certify.enumerate_optimum(problem)) == solve(problem).upper
    True
    """
    penalty = Fraction(problem.regularization)
    front = enumerate_front(problem)
    return min(cost / Fraction(problem.normaliser) + penalty * leaves for leaves, cost in front.items())


def enumerate_front(problem: Problem) -> dict[int, Fraction]:
    """For every number of leaves that the constraints allow, the least cost of a tree with exactly so many.

    Row sets are the bits of Python integers and amounts are integers in units of the smallest bit of any amount, so
    nothing is ever rounded. The recursion says what a tree is (a leaf, or a test and a tree on either side of it) and
    remembers only what it has already answered.
    """
    amounts, unit = _integer_costs(problem)
    trees = _Trees.of(problem)
    sum_costs = [_bit_sums(list(column)) for column in zip(*amounts, strict=True)]

    def leaf_cost(rows: int) -> int:
        return min(cost(rows) for cost in sum_costs)

    @cache
    def front(rows: int, depth: int, leaves: int) -> dict[int, int]:
        # Where a set is too small to be a leaf, every part of it is too.
        if not trees.is_allowed(rows):
            return {}
        best = {1: leaf_cost(rows)}
        if depth == 0 or leaves == 1:
            return best
        for inside, outside in trees.sides(rows):
            lefts = front(inside, depth - 1, leaves - 1)
            rights = front(outside, depth - 1, leaves - 1) if lefts else {}
            for left, left_cost in lefts.items():
                for right, right_cost in rights.items():
                    if left + right <= leaves:
                        cost = left_cost + right_cost
                        best[left + right] = min(cost, best.get(left + right, cost))
        return best

    def begin(side: Branch | str, rows: int, depth: int) -> dict[int, int]:
        """The same of trees that begin with a start; sizes beyond the limit are left out at the end."""
        if not isinstance(side, Branch):
            return front(rows, depth if side == "open" else 0, trees.leaves)
        inside = rows & _rows_where(side, problem)
        best: dict[int, int] = {}
        pairs = product(
            begin(side.left, inside, depth - 1).items(), begin(side.right, rows & ~inside, depth - 1).items()
        )
        for (left, left_cost), (right, right_cost) in pairs:
            best[left + right] = min(left_cost + right_cost, best.get(left + right, left_cost + right_cost))
        return best

    if problem.start is not None:
        found = begin(problem.start, trees.rows, trees.depth)
        found = {size: cost for size, cost in found.items() if size <= trees.leaves}
    else:
        found = front(trees.rows, trees.depth, trees.leaves) or {1: leaf_cost(trees.rows)}
    return {size: cost * unit for size, cost in sorted(found.items())}


def enumerate_spends(problem: Problem, spends: Array) -> list[tuple[Fraction, Fraction]]:
    """Mean spend and objective of every tree that no other one beats in both, by spend, exactly.

    `spends` is rows × labels, times the weights: what a label spends. The objective is that of `problem`, whose costs
    know nothing of it. As `enumerate_front`, with the pairs that are needed in place of the least cost.
    """
    costs, cost_unit = _integer_costs(problem)
    amounts, spend_unit = _as_integers([[Fraction(amount) for amount in row] for row in spends.tolist()])
    trees = _Trees.of(problem)
    sum_costs = [_bit_sums(list(column)) for column in zip(*costs, strict=True)]
    sum_spends = [_bit_sums(list(column)) for column in zip(*amounts, strict=True)]

    def needed(pairs: set[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        kept: list[tuple[Any, Any]] = []
        for spend, cost in sorted(pairs):
            if not kept or cost < kept[-1][1]:
                kept.append((spend, cost))
        return kept

    def leaf(rows: int) -> dict[int, list[tuple[int, int]]]:
        return {1: needed({(spend(rows), cost(rows)) for spend, cost in zip(sum_spends, sum_costs, strict=True)})}

    @cache
    def front(rows: int, depth: int, leaves: int) -> dict[int, list[tuple[int, int]]]:
        if not trees.is_allowed(rows):
            return {}
        found = {size: set(pairs) for size, pairs in leaf(rows).items()}
        for inside, outside in trees.sides(rows) if depth > 0 and leaves > 1 else ():
            lefts, rights = front(inside, depth - 1, leaves - 1), front(outside, depth - 1, leaves - 1)
            for (left, left_pairs), (right, right_pairs) in product(lefts.items(), rights.items()):
                if left + right <= leaves:
                    found.setdefault(left + right, set()).update(
                        (one[0] + two[0], one[1] + two[1]) for one, two in product(left_pairs, right_pairs)
                    )
        return {size: needed(pairs) for size, pairs in found.items()}

    whole, penalty = Fraction(problem.normaliser), Fraction(problem.regularization)
    found = front(trees.rows, trees.depth, trees.leaves) or leaf(trees.rows)
    return needed(
        {
            (spend * spend_unit / whole, cost * cost_unit / whole + penalty * size)
            for size, pairs in found.items()
            for spend, cost in pairs
        }
    )


def count_trees(
    problem: Problem,
    most: Fraction,
    *,
    idle: bool = False,
    roots: Collection[int] | None = None,
    sizes: tuple[int, int] | None = None,
) -> dict[Fraction, int]:
    """How many trees there are of every objective up to `most`.

    Tests that part the rows of a node alike are one, a leaf has the first of its best labels, and a split into two
    leaves of one label makes a tree only where it is `idle` or belongs to a start. `roots` are the row sets that one
    side of the root test must be, `sizes` the least and the largest number of leaves.
    """
    amounts, unit = _integer_costs(problem)
    trees = _Trees.of(problem)
    sum_costs = [_bit_sums(list(column)) for column in zip(*amounts, strict=True)]
    whole, penalty = Fraction(problem.normaliser), Fraction(problem.regularization)
    n_pairs = 0

    def objective(cost: int, leaves: int) -> Fraction:
        return cost * unit / whole + penalty * leaves

    def leaf(rows: int) -> Counter[tuple[int, int, int]]:
        costs = [cost(rows) for cost in sum_costs]
        return Counter({(min(costs), 1, costs.index(min(costs))): 1})

    def join(one: Counter[Any], two: Counter[Any], *, may_be_idle: bool) -> Counter[tuple[int, int, int]]:
        """Trees by cost, leaves and, of a lone leaf, label; a split has the label -1."""
        nonlocal n_pairs
        n_pairs += len(one) * len(two)
        if n_pairs > MOST_PAIRS:
            raise TooLargeError("the table is too large for a look at every tree")
        found: Counter[tuple[int, int, int]] = Counter()
        for ((a, m, k), count), ((b, n, label), other) in product(one.items(), two.items()):
            is_idle = k == label >= 0
            if m + n <= trees.leaves and (may_be_idle or not is_idle) and objective(a + b, m + n) <= most:
                found[a + b, m + n, -1] += count * other
        return found

    @cache
    def below(rows: int, depth: int) -> Counter[tuple[int, int, int]]:
        if not trees.is_allowed(rows):
            return Counter()
        found = leaf(rows)
        for inside, outside in _each_once(trees.sides(rows)) if depth > 0 else ():
            found.update(join(below(inside, depth - 1), below(outside, depth - 1), may_be_idle=idle))
        return found

    def begin(side: Branch | str, rows: int, depth: int) -> Counter[tuple[int, int, int]]:
        if not isinstance(side, Branch):
            return below(rows, depth if side == "open" else 0)
        inside = rows & _rows_where(side, problem)
        left, right = begin(side.left, inside, depth - 1), begin(side.right, rows & ~inside, depth - 1)
        return join(left, right, may_be_idle=True)

    if problem.start is not None:
        first = _rows_where(problem.start, problem)
        is_chosen = roots is None or first in roots or trees.rows & ~first in roots
        found = begin(problem.start, trees.rows, trees.depth) if is_chosen else Counter()
    else:
        found = leaf(trees.rows) if roots is None else Counter()
        for inside, outside in _each_once(trees.sides(trees.rows)) if trees.depth > 0 else ():
            if roots is None or inside in roots or outside in roots:
                found.update(join(below(inside, trees.depth - 1), below(outside, trees.depth - 1), may_be_idle=idle))
    counts: dict[Fraction, int] = {}
    for (cost, leaves, _), count in found.items():
        value = objective(cost, leaves)
        if value <= most and (sizes is None or sizes[0] <= leaves <= sizes[1]):
            counts[value] = counts.get(value, 0) + count
    return dict(sorted(counts.items()))


def rows_of_tests(features: Features, column: int) -> set[int]:
    """The row sets where the tests of a column hold."""
    found = set()
    for axis, codes in zip(features.axes, features.codes, strict=True):
        if axis.column == column:
            found |= {_bits(codes == c if axis.is_categorical else codes <= c) for c in range(axis.size)}
    return found


def _each_once(sides: list[tuple[int, int]]) -> set[tuple[int, int]]:
    return {(min(pair), max(pair)) for pair in sides}


@dataclass(frozen=True)
class _Trees:
    """What the trees of a problem may look like. A row set is the bits of an integer."""

    rows: int
    tests: list[int]
    depth: int
    leaves: int
    is_allowed: Callable[[int], bool]
    """Whether a row set may be a leaf."""

    @classmethod
    def of(cls, problem: Problem) -> _Trees:
        weights, least_weight = problem.leaf_weights
        sum_weights = _bit_sums(weights.tolist())
        arms = [] if problem.arms is None else [_bits(problem.arms == arm) for arm in range(problem.n_arms)]

        def is_allowed(rows: int) -> bool:
            return (
                rows.bit_count() >= problem.min_samples_leaf
                and (least_weight == 0 or sum_weights(rows) >= least_weight)
                and all((rows & arm).bit_count() >= problem.min_samples_arm for arm in arms)
            )

        # More leaves than rows, or a depth beyond them, would need an empty side.
        most = problem.n_rows
        return cls(
            rows=(1 << most) - 1,
            tests=_list_tests(problem.features),
            depth=most - 1 if problem.max_depth is None else min(problem.max_depth, most - 1),
            leaves=most if problem.max_leaves is None else min(problem.max_leaves, most),
            is_allowed=is_allowed,
        )

    def sides(self, rows: int) -> list[tuple[int, int]]:
        """Every way that a test parts a row set, neither side empty."""
        return [(inside, rows & ~inside) for inside in {rows & test for test in self.tests} - {0, rows}]


def _rows_where(branch: Branch, problem: Problem) -> int:
    """The rows on which a test of a start holds."""
    table = problem.features.table
    return _bits(branch.test.holds(branch.test.column.read(table.columns[branch.column], table)))


def _integer_costs(problem: Problem) -> tuple[list[list[int]], Fraction]:
    if problem.y is not None:
        rows = [
            [Fraction(0) if label == own else Fraction(weight) for label in range(len(problem.labels))]
            for own, weight in zip(problem.y.tolist(), problem.weights.tolist(), strict=True)
        ]
    else:
        assert problem.costs is not None
        rows = [[Fraction(cost) for cost in row] for row in problem.costs.tolist()]
    return _as_integers(rows)


def _as_integers(rows: list[list[Fraction]]) -> tuple[list[list[int]], Fraction]:
    """Amounts in units of the smallest bit of any of them, and that unit."""
    denominator = math.lcm(*(amount.denominator for row in rows for amount in row))
    return [[int(amount * denominator) for amount in row] for row in rows], Fraction(1, denominator)


def _bits(mask: Array) -> int:
    return sum(1 << row for row in np.flatnonzero(mask).tolist())


def _bit_sums(amounts: list[int]) -> Callable[[int], int]:
    """A function from a row set to the sum of its amounts; eight rows are looked up at a time."""
    tables = []
    for start in range(0, len(amounts), 8):
        chunk = amounts[start : start + 8]
        tables.append(
            [sum(amount for bit, amount in enumerate(chunk) if byte >> bit & 1) for byte in range(1 << len(chunk))]
        )

    @cache
    def total(rows: int) -> int:
        result = 0
        for table in tables:
            result += table[rows & 255]
            rows >>= 8
        return result

    return total


def _list_tests(features: Features) -> list[int]:
    """Every test of every axis as the set of rows where it holds."""
    tests = set()
    for axis, codes in zip(features.axes, features.codes, strict=True):
        for code in range(axis.size):
            tests.add(_bits(codes == code if axis.is_categorical else codes <= code))
    return sorted(tests)
