"""Every tree of a tiny table, written down one by one.

This room promises to be too simple to be wrong. It reads raw cells, not codes; a tree is the list of its leaves' rows;
a set of rows is the bits of an integer; amounts are whole numbers of a unit, so that nothing is rounded. It imports
nothing of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

from .case import Cell

TOLERANCE = Fraction(1, 10**12)
"""Of a least weight or a budget: what is documented to pass as rounding."""


def whole_numbers(amounts: Sequence[Sequence[float | Fraction]]) -> tuple[list[list[int]], Fraction]:
    """Amounts in units of the smallest bit of any of them, and that unit."""
    exact = [[Fraction(amount) for amount in row] for row in amounts]
    denominator = math.lcm(*(amount.denominator for row in exact for amount in row))
    return [[int(amount * denominator) for amount in row] for row in exact], Fraction(1, denominator)


def list_tests(columns: Mapping[str, Sequence[Cell]], categorical: Sequence[str] = ()) -> list[int]:
    """The rows where each test holds: "<= value" with what is missing on either side, "== category", "is missing"."""
    tests = set()
    for name, cells in columns.items():
        present = [cell for cell in cells if cell is not None]
        gone = _bits(cell is None for cell in cells)
        tests.add(gone)
        if name in categorical or any(isinstance(cell, (str, bool)) for cell in present):
            tests |= {_bits(cell == category and cell is not None for cell in cells) for category in set(present)}
        else:
            for value in set(present):
                below = _bits(cell is not None and cell <= value for cell in cells)
                tests |= {below, below | gone}
    return sorted(tests)


def list_trees(rows: int, depth: int, tests: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every tree of at most this depth, as the rows of its leaves."""
    yield (rows,)
    for inside in {rows & test for test in tests} - {0, rows} if depth > 0 else ():
        rights = list(list_trees(rows & ~inside, depth - 1, tests))
        for left in list_trees(inside, depth - 1, tests):
            for right in rights:
                yield left + right


@dataclass(frozen=True)
class Rules:
    """What a leaf must hold, and how many there may be. A lone leaf is always allowed."""

    depth: int
    leaves: int | None = None
    samples: int = 1
    weight: float = 0.0
    arms: Sequence[Any] | None = None
    samples_per_arm: int = 0

    def allows(self, leaf: int, weights: Sequence[Fraction]) -> bool:
        inside = list(_members(leaf))
        if len(inside) < self.samples:
            return False
        if self.weight > 0 and sum(weights[row] for row in inside) < Fraction(self.weight) * (1 - TOLERANCE):
            return False
        if self.arms is None:
            return True
        arms = [self.arms[row] for row in inside]
        return all(arms.count(arm) >= self.samples_per_arm for arm in set(self.arms))


def trees_of(tests: Sequence[int], weights: Sequence[float], rules: Rules) -> Iterator[tuple[int, ...]]:
    """Every tree that keeps the rules, as the rows of its leaves. All weights are positive."""
    exact = [Fraction(weight) for weight in weights]
    is_allowed = cache(lambda leaf: rules.allows(leaf, exact))
    for tree in list_trees((1 << len(weights)) - 1, rules.depth, tests):
        if len(tree) == 1 or (
            (rules.leaves is None or len(tree) <= rules.leaves) and all(is_allowed(leaf) for leaf in tree)
        ):
            yield tree


def best_by_leaves(
    tests: Sequence[int], weights: Sequence[float], costs: Sequence[Sequence[int]], rules: Rules
) -> dict[int, int]:
    """For every number of leaves the least cost of a tree with exactly so many; `costs` are rows × labels."""
    cheapest = cache(lambda leaf: min(_label_sums(leaf, costs)))
    best: dict[int, int] = {}
    for tree in trees_of(tests, weights, rules):
        cost = sum(map(cheapest, tree))
        best[len(tree)] = min(cost, best.get(len(tree), cost))
    return best


def spends_and_costs(
    tests: Sequence[int],
    weights: Sequence[float],
    costs: Sequence[Sequence[int]],
    spends: Sequence[Sequence[int]],
    rules: Rules,
) -> set[tuple[int, int, int]]:
    """Leaves, spend and cost of every tree with every choice of actions."""
    options: Callable[[int], list[tuple[int, int]]] = cache(
        lambda leaf: list(zip(_label_sums(leaf, spends), _label_sums(leaf, costs), strict=True))
    )
    return {
        (len(tree), sum(pair[0] for pair in chosen), sum(pair[1] for pair in chosen))
        for tree in set(trees_of(tests, weights, rules))
        for chosen in product(*map(options, tree))
    }


def route(tree: Mapping[str, Any], row: Sequence[Cell]) -> int:
    """The leaf of a tree, as its plain data say it, that a row of raw cells reaches."""
    node = 0
    while "column" in tree["nodes"][node]:
        entry = tree["nodes"][node]
        cell = row[entry["column"]]
        if cell is None or cell != cell:
            holds = entry["missing_left"]
        elif "threshold" in entry:
            holds = cell <= entry["threshold"]
        elif "category" in entry:
            holds = cell == tree["columns"][entry["column"]]["categories"][entry["category"]]
        else:
            holds = False
        node = entry["left"] if holds else entry["right"]
    return node


def _label_sums(leaf: int, amounts: Sequence[Sequence[int]]) -> list[int]:
    inside = list(_members(leaf))
    return [sum(amounts[row][label] for row in inside) for label in range(len(amounts[0]))]


def _members(rows: int) -> Iterator[int]:
    row = 0
    while rows >> row:
        if rows >> row & 1:
            yield row
        row += 1


def _bits(flags: Iterable[bool]) -> int:
    return sum(1 << row for row, flag in enumerate(flags) if flag)
