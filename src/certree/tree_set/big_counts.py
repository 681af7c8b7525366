"""Counting and drawing in Python's integers, for sets of more trees than 128 bits can count.

The same as cpp/good/counts, and slower: every node has what its trees cost, in order, with how many cost no more. Where
these lists would be too long, costs are whole steps of a grid: the cost of a tree is then off by half a step per leaf.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any

import numpy as np

from certree.graft import UNREACHABLE
from certree.tree_set.facts import TreeCount

MOST_PAIRS = 20_000_000
"""Sums of two trees' costs that are looked at before the grid is made coarser; some ten seconds."""
FINE_STEPS = 4096
FEW_STEPS = 8


class BigCounts:
    """The counts of a graph (`TreeGraph.arrays`)."""

    def __init__(self, graph: dict[str, Any], *, counts_ways: bool = False, most_pairs: int = MOST_PAIRS) -> None:
        self.graph, self.budget = graph, int(graph["budget"])
        self.leaf, self.label = graph["leaf"].tolist(), graph["label"].tolist()
        self.left, self.right = graph["left"].tolist(), graph["right"].tolist()
        self.first, self.asked = graph["first_edge"].tolist(), graph["is_asked"].tolist()
        self.ways = graph["ways"].tolist() if counts_ways else [1] * len(self.left)
        self.most_leaves = [1] * len(self.leaf)
        best = list(self.leaf)
        for node in range(len(self.leaf) - 1, -1, -1):
            for edge in self._edges(node):
                left, right = self.left[edge], self.right[edge]
                self.most_leaves[node] = max(self.most_leaves[node], self.most_leaves[left] + self.most_leaves[right])
                best[node] = min(best[node], best[left] + best[right])
        self.step, width, n_steps = 1, max(1, self.budget - min(self.budget, best[0])), FINE_STEPS
        # The coarsest grid must do, however many pairs it has.
        while not self._fill(most_pairs if n_steps >= FEW_STEPS else None):
            self.step, n_steps = max(self.step + 1, width // n_steps), n_steps // 2

    def count_roots(self) -> list[TreeCount]:
        """How many good trees are the lone leaf, and how many have each root test."""
        least, most = (self._count_root(self._in_steps(sign)) for sign in (-1, 1))
        return [TreeCount(*pair) for pair in zip(least, most, strict=True)]

    def draw(self, n: int, seed: int) -> dict[str, Any]:
        """Good trees, each with the same chance, in the engine's form."""
        rng = np.random.default_rng(seed)
        trees: list[tuple[int, list[tuple[int, int, int]]]] = []
        while len(trees) < n:
            nodes: list[tuple[int, int, int]] = []
            cost = self._draw_tree(0, 0, self._in_steps(1), rng, nodes)
            if cost <= self.budget:  # on a grid some of the trees that are drawn cost more
                trees.append((cost, nodes))
        columns = [[row[k] for _, nodes in trees for row in nodes] for k in range(3)]
        found: dict[str, Any] = {
            name: np.array(values, dtype=np.int32)
            for name, values in zip(("axis", "code", "label"), columns, strict=True)
        }
        found["first_node"] = np.array([0, *accumulate(len(nodes) for _, nodes in trees)], dtype=np.int64)
        found["value"] = np.array([cost for cost, _ in trees], dtype=np.int64)
        return found

    # Within ---------------------------------------------------------------------------------------------------------

    def _edges(self, node: int) -> range:
        return range(self.first[node], self.first[node + 1])

    def _to_steps(self, cost: int) -> int:
        return cost if self.step == 1 else (cost + self.step // 2) // self.step

    def _in_steps(self, sign: int) -> int:
        """The budget in steps, with what rounding may add to a tree (sign 1) or take off it (−1)."""
        return self.budget if self.step == 1 else self.budget // self.step + sign * (self.most_leaves[0] // 2 + 1)

    def _is_idle(self, edge: int) -> bool:
        left, right = self.left[edge], self.right[edge]
        is_alike = self.label[left] == self.label[right] and not self.asked[left]
        return not self.graph["has_idle"] and is_alike and max(self.leaf[left], self.leaf[right]) < UNREACHABLE

    def _fill(self, most_pairs: int | None) -> bool:
        """The lists of all nodes but the root; False where they would be too long."""
        self.costs: list[list[int]] = [[] for _ in self.leaf]
        self.upto: list[list[int]] = [[] for _ in self.leaf]
        most, n_pairs = self._in_steps(1), 0
        for node in range(len(self.leaf) - 1, 0, -1):
            found: dict[int, int] = {}
            if self._to_steps(self.leaf[node]) <= most:
                found[self._to_steps(self.leaf[node])] = 1
            for edge in self._edges(node):
                one, two = self._list(self.left[edge]), self._list(self.right[edge])
                n_pairs += len(one) * len(two)
                if most_pairs is not None and n_pairs > most_pairs:
                    return False
                for cost, n in one:
                    for other, m in two:
                        if cost + other > most:
                            break
                        found[cost + other] = found.get(cost + other, 0) + n * m * self.ways[edge]
                if self._is_idle(edge):
                    idle = sum(self._to_steps(self.leaf[side]) for side in (self.left[edge], self.right[edge]))
                    if idle in found:
                        found[idle] -= self.ways[edge]
            self.costs[node] = sorted(cost for cost, n in found.items() if n)
            self.upto[node] = list(accumulate(found[cost] for cost in self.costs[node]))
        return True

    def _list(self, node: int) -> list[tuple[int, int]]:
        """What trees cost, and how many cost so much."""
        upto = self.upto[node]
        return [(cost, n - before) for cost, n, before in zip(self.costs[node], upto, [0, *upto], strict=False)]

    def _count_upto(self, node: int, most: int) -> int:
        place = bisect_right(self.costs[node], most)
        return self.upto[node][place - 1] if place else 0

    def _count_pairs(self, edge: int, most: int) -> int:
        """Pairs of trees of the two sides that cost no more together."""
        left, right = self.left[edge], self.right[edge]
        pairs = sum(n * self._count_upto(right, most - cost) for cost, n in self._list(left))
        if self._is_idle(edge) and self._to_steps(self.leaf[left]) + self._to_steps(self.leaf[right]) <= most:
            pairs -= 1
        return pairs * self.ways[edge]

    def _count_root(self, most: int) -> list[int]:
        return [int(self._to_steps(self.leaf[0]) <= most), *(self._count_pairs(edge, most) for edge in self._edges(0))]

    def _draw_tree(
        self, node: int, least: int, most: int, rng: np.random.Generator, nodes: list[tuple[int, int, int]]
    ) -> int:
        """Adds the nodes of a tree that costs from least to most, in steps; what it costs in truth."""
        has_leaf = self.leaf[node] < UNREACHABLE and least <= self._to_steps(self.leaf[node]) <= most
        edges = self._edges(node)
        counts = [self._count_pairs(edge, most) - self._count_pairs(edge, least - 1) for edge in edges]
        drawn = draw_below(has_leaf + sum(counts), rng)
        if has_leaf and drawn == 0:
            nodes.append((-1, -1, self.label[node]))
            return int(self.leaf[node])
        edge = edges[bisect_right(list(accumulate(counts, initial=int(has_leaf))), drawn) - 1]
        left, right = self.left[edge], self.right[edge]
        nodes.append((int(self.graph["axis"][edge]), int(self.graph["code"][edge]), self.label[node]))
        upto = list(
            accumulate(
                n * (self._count_upto(right, most - cost) - self._count_upto(right, least - 1 - cost))
                for cost, n in self._list(left)
            )
        )
        kept = len(nodes)
        while True:
            own = self.costs[left][bisect_right(upto, draw_below(upto[-1], rng))]
            cost = self._draw_tree(left, own, own, rng, nodes)
            middle = len(nodes)
            cost += self._draw_tree(right, least - own, most - own, rng, nodes)
            if not (middle == kept + 1 and len(nodes) == middle + 1 and self._is_idle(edge)):
                return cost
            del nodes[kept:]  # an idle pair is no tree: again


def draw_below(end: int, rng: np.random.Generator) -> int:
    """One of 0 to end - 1, each with the same chance, for ends of any size."""
    n_bits = end.bit_length()
    while True:
        drawn = int.from_bytes(rng.bytes((n_bits + 7) // 8), "little") >> (-n_bits % 8)
        if drawn < end:
            return drawn
