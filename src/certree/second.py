"""The best tree of a set by a second measure, exactly, without listing the set.

A second measure is a sum over rows: what a label amounts to on a row. Over the graph of a set every node has a front of
(cost, measure): the trees that no other tree at this node beats in both. The front of a test is that of all pairs of
its sides', within what the budget leaves. At the root the end of the front is the best good tree by the measure. What a
leaf amounts to depends on its rows, which the graph does not hold, so rows are walked from the root down; each node is
looked at once.

Fronts are short where costs or measures take few values, and mostly where not. Where they outgrow MOST_PAIRS, this room
says so (TooManyError) and the set is listed instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

UNREACHABLE = (2**63 - 1) // 8
"""What the engine says of a tree that does not exist."""
MOST_PAIRS = 20_000_000
"""Pairs of trees that one test is looked at with."""
MOST_WORK = 400_000
"""Tests of a graph times measures: about a minute."""


class TooManyError(RuntimeError):
    """The fronts outgrew what is affordable."""


@dataclass(frozen=True, eq=False)
class _Front:
    """Trees on one set of rows by growing cost and falling measure, without the lone leaf."""

    cost: Array
    """int64: amounts of the engine."""
    measure: Array
    edge: Array
    """The test at the top of each tree."""
    left: Array
    right: Array
    """The place of each side in the front of its node; -1 for a leaf."""


EMPTY = _Front(*(np.empty(0, dtype=kind) for kind in (np.int64, np.float64, np.int64, np.int64, np.int64)))


@dataclass(frozen=True)
class Extreme:
    """The tree at one end of a measure."""

    cost: int
    measure: float
    axis: tuple[int, ...]
    code: tuple[int, ...]
    label: tuple[int, ...]


class SecondMeasure:
    """Finds, for each of some measures, the good tree that has the least of it."""

    def __init__(self, graph: dict[str, Any], codes: Array, categorical: Array, measures: Sequence[Array]) -> None:
        """`measures` are rows × labels each."""
        self.graph, self.measures, self.codes, self.categorical = graph, measures, codes, categorical
        self.leaf, self.label = graph["leaf"].tolist(), graph["label"].tolist()
        self.axis, self.code = graph["axis"].tolist(), graph["code"].tolist()
        self.left, self.right = graph["left"].tolist(), graph["right"].tolist()
        self.first = graph["first_edge"].tolist()
        self.asked, self.has_idle, self.budget = graph["is_asked"].tolist(), bool(graph["has_idle"]), graph["budget"]
        if len(self.axis) * len(measures) > MOST_WORK:
            raise TooManyError
        self.fronts: dict[int, list[_Front]] = {}
        self.most = self._find_room()

    def run(self) -> list[Extreme]:
        """The tree with the least of each measure."""
        rows = np.arange(self.codes.shape[1])
        fronts = self._explore(0, rows)
        found = []
        for number, front in enumerate(fronts):
            choices: list[tuple[float, int, int]] = []
            if self.leaf[0] <= self.budget:
                choices.append((self._sum(number, rows, self.label[0]), self.leaf[0], -1))
            if len(front.cost):
                choices.append((float(front.measure[-1]), int(front.cost[-1]), len(front.cost) - 1))
            measure, cost, place = min(choices)
            nodes: list[tuple[int, int, int]] = []
            self._write(number, 0, place, nodes)
            found.append(Extreme(cost, measure, *(tuple(column) for column in zip(*nodes, strict=True))))
        return found

    # Within ---------------------------------------------------------------------------------------------------------

    def _find_room(self) -> list[int]:
        """What a tree at each node may cost at most: the budget less the least that the rest of a tree costs. That an
        idle pair is no tree is passed over, which can only leave more room."""
        n_nodes, best = len(self.leaf), list(self.leaf)
        for node in range(n_nodes - 1, -1, -1):
            for edge in range(self.first[node], self.first[node + 1]):
                best[node] = min(best[node], best[self.left[edge]] + best[self.right[edge]])
        outside = [UNREACHABLE] * n_nodes
        outside[0] = 0
        for node in range(n_nodes):
            for edge in range(self.first[node], self.first[node + 1]):
                left, right = self.left[edge], self.right[edge]
                outside[left] = min(outside[left], outside[node] + best[right])
                outside[right] = min(outside[right], outside[node] + best[left])
        return [self.budget - least for least in outside]

    def _sum(self, number: int, rows: Array, label: int) -> float:
        return float(self.measures[number][rows, label].sum())

    def _sums(self, rows: Array, label: int) -> list[float]:
        return [self._sum(number, rows, label) for number in range(len(self.measures))]

    def _explore(self, node: int, rows: Array) -> list[_Front]:
        """The fronts of a node, one for each measure."""
        if node in self.fronts:
            return self.fronts[node]
        edges = range(self.first[node], self.first[node + 1])
        parts: list[list[_Front]] = [[] for _ in self.measures]
        for edge in edges:
            codes = self.codes[self.axis[edge]][rows]
            holds = codes == self.code[edge] if self.categorical[self.axis[edge]] else codes <= self.code[edge]
            sides = (self.left[edge], rows[holds]), (self.right[edge], rows[~holds])
            below = [self._explore(side, own) if self._has_tests(side) else None for side, own in sides]
            leaves = [self._sums(own, self.label[side]) for side, own in sides]
            for number in range(len(self.measures)):
                fronts = [EMPTY if own is None else own[number] for own in below]
                joined = self._join(node, edge, fronts[0], fronts[1], leaves[0][number], leaves[1][number])
                if len(joined.cost):
                    parts[number].append(joined)
        self.fronts[node] = [_gather(own) for own in parts]
        return self.fronts[node]

    def _has_tests(self, node: int) -> bool:
        return bool(self.first[node] < self.first[node + 1])

    def _join(self, node: int, edge: int, left: _Front, right: _Front, left_leaf: float, right_leaf: float) -> _Front:
        """All pairs of the two sides that stay within what the node may cost, the needless ones left out."""
        sides = self.left[edge], self.right[edge]
        costs, measures, places = [], [], []
        for side, front, own in ((sides[0], left, left_leaf), (sides[1], right, right_leaf)):
            has_leaf = self.leaf[side] < UNREACHABLE
            costs.append(np.append(front.cost, self.leaf[side]) if has_leaf else front.cost)
            measures.append(np.append(front.measure, own) if has_leaf else front.measure)
            places.append(np.append(np.arange(len(front.cost)), -1) if has_leaf else np.arange(len(front.cost)))
        if len(costs[0]) * len(costs[1]) > MOST_PAIRS:
            raise TooManyError
        cost = costs[0][:, None] + costs[1]
        is_allowed = cost <= self.most[node]
        both_leaves = (places[0][:, None] < 0) & (places[1] < 0)
        if not self.has_idle and self.label[sides[0]] == self.label[sides[1]] and not self.asked[sides[0]]:
            is_allowed &= ~both_leaves
        one, two = np.nonzero(is_allowed)
        return _keep(
            cost[one, two], measures[0][one] + measures[1][two], np.full(len(one), edge), places[0][one], places[1][two]
        )

    def _write(self, number: int, node: int, place: int, nodes: list[tuple[int, int, int]]) -> None:
        """The nodes of a tree, depth first."""
        if place < 0:
            nodes.append((-1, -1, self.label[node]))
            return
        front = self.fronts[node][number]
        edge = int(front.edge[place])
        nodes.append((self.axis[edge], self.code[edge], -1))
        self._write(number, self.left[edge], int(front.left[place]), nodes)
        self._write(number, self.right[edge], int(front.right[place]), nodes)


def _keep(cost: Array, measure: Array, *others: Array) -> _Front:
    """Those that no other one beats in both, by growing cost."""
    order = np.lexsort((measure, cost))
    least = np.minimum.accumulate(measure[order])
    is_better = np.r_[True, least[1:] < least[:-1]] if len(order) else np.empty(0, dtype=bool)
    kept = order[is_better]
    return _Front(cost[kept], measure[kept], *(own[kept] for own in others))


def _gather(fronts: Sequence[_Front]) -> _Front:
    if len(fronts) < 2:
        return fronts[0] if fronts else EMPTY
    names = ("cost", "measure", "edge", "left", "right")
    return _keep(*(np.concatenate([getattr(front, name) for front in fronts]) for name in names))
