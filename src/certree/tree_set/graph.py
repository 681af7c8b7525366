"""The graph of all good trees (cpp/good/graph.hpp): its parts, how many trees it has, and which columns can ask them.

Amounts are the engine's whole numbers here; `objectives` turns them into objectives.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.graft import UNREACHABLE
from certree.solver import (
    count_good_trees,
    draw_good_trees,
    find_best_through,
    keep_edges,
    keep_leaves,
    list_good_trees,
)
from certree.tree_set.big_counts import BigCounts
from certree.tree_set.facts import TreeCount

Array = NDArray[Any]

MOST_ENTRIES = 3_000_000
"""Of the lists that counting keeps; about 100 MB. Beyond that counts are bounded."""


@dataclass(frozen=True, eq=False)
class TreeGraph:
    """The engine's arrays, and the sets of columns that their tests could be asked of."""

    arrays: dict[str, Any]
    column_sets: Array
    """bool, sets × columns."""
    left_out: frozenset[int] = field(default=frozenset())
    """Columns that may not be asked: where several could ask a test, it is one of the others."""

    @staticmethod
    def read(found: dict[str, Any], n_columns: int) -> TreeGraph:
        """The graph of what the engine found."""
        words = found["column_sets"].reshape(-1, max(1, found["n_words"]))
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
        return TreeGraph(found["graph"], bits[:, :n_columns])

    @property
    def budget(self) -> int:
        """What a good tree costs at most."""
        return int(self.arrays["budget"])

    @property
    def has_idle(self) -> bool:
        """Whether a split into two leaves of one label makes a tree."""
        return bool(self.arrays["has_idle"])

    @property
    def statistics(self) -> dict[str, int]:
        """Nodes, edges and bytes."""
        arrays = [value for value in self.arrays.values() if isinstance(value, np.ndarray)]
        return {
            "nodes": len(self.arrays["leaf"]),
            "edges": len(self.arrays["axis"]),
            "graph_bytes": sum(array.nbytes for array in arrays),
        }

    # Its trees ------------------------------------------------------------------------------------------------------

    def count_roots(self, *, counts_ways: bool = False) -> list[TreeCount]:
        """How many good trees are the lone leaf, and how many have each root test."""
        least, most, is_overflow = count_good_trees(
            graph=self.arrays, budget=self.budget, most_entries=MOST_ENTRIES, counts_ways=counts_ways
        )
        if is_overflow:
            return BigCounts(self.arrays, counts_ways=counts_ways).count_roots()
        return [TreeCount(*pair) for pair in zip(least, most, strict=True)]

    def list_trees(self, first: int, last: int) -> dict[str, Array]:
        """The best trees from the first to the one before the last, as the engine writes them."""
        return list_good_trees(graph=self.arrays, first=first, last=last)

    def draw_trees(self, n: int, seed: int) -> dict[str, Array]:
        """Trees of the set, each with the same chance; a ValueError where it has none."""
        if not len(self.list_trees(0, 1)["value"]):
            raise ValueError("the set is empty")
        if self._is_beyond_the_engine:
            return BigCounts(self.arrays).draw(n, seed)
        return draw_good_trees(graph=self.arrays, n=n, seed=seed, most_entries=MOST_ENTRIES)

    @cached_property
    def _is_beyond_the_engine(self) -> bool:
        """Whether the set has more trees than the engine can count."""
        *_, is_overflow = count_good_trees(
            graph=self.arrays, budget=self.budget, most_entries=MOST_ENTRIES, counts_ways=False
        )
        return is_overflow

    @cached_property
    def best_through(self) -> Array:
        """For each edge what the best good tree that has it costs."""
        return find_best_through(graph=self.arrays)

    # Parts ----------------------------------------------------------------------------------------------------------

    def within(self, budget: int) -> TreeGraph:
        """The trees that cost no more than a smaller budget."""
        return self._keep(np.ones(len(self.arrays["axis"])), budget=budget)

    def without(self, columns: set[int]) -> TreeGraph:
        """The trees that can be written without some columns."""
        left_out = self.left_out | columns
        allowed = np.ones(self.column_sets.shape[1], dtype=bool)
        allowed[list(left_out)] = False
        can_be_asked = np.asarray((self.column_sets & allowed).any(axis=1))
        return replace(self._keep(can_be_asked[self.arrays["columns"]]), left_out=left_out)

    def with_roots(self, edges: list[int]) -> TreeGraph:
        """The trees with one of some root tests."""
        is_kept = np.ones(len(self.arrays["axis"]))
        is_kept[: len(self.root_edges)] = 0
        is_kept[edges] = 1
        return self._keep(is_kept, has_lone_leaf=False)

    def with_leaves(self, least: int, most: int) -> TreeGraph:
        """The trees with at least and at most so many leaves."""
        return replace(self, arrays=keep_leaves(graph=self.arrays, least=least, most=most))

    def _keep(self, is_kept: Array, *, has_lone_leaf: bool = True, budget: int = UNREACHABLE) -> TreeGraph:
        arrays = keep_edges(
            graph=self.arrays,
            is_kept=np.ascontiguousarray(is_kept, dtype=np.uint8),
            has_lone_leaf=has_lone_leaf,
            budget=budget,
        )
        return replace(self, arrays=arrays)

    # Tests and columns ----------------------------------------------------------------------------------------------

    @property
    def root_edges(self) -> range:
        """The edges of the root."""
        return range(int(self.arrays["first_edge"][1]))

    def test_of(self, edge: int) -> tuple[int, int]:
        """The axis and the code of an edge's test."""
        return int(self.arrays["axis"][edge]), int(self.arrays["code"][edge])

    @property
    def columns_in_use(self) -> Array:
        """bool: whether some test of a good tree could be asked of the column."""
        return np.asarray(self.column_sets[np.unique(self.arrays["columns"])].any(axis=0))

    def columns_of_edge(self, edge: int) -> list[int]:
        """The columns that could ask the test of an edge."""
        columns = np.flatnonzero(self.column_sets[self.arrays["columns"][edge]])
        return [number for number in columns.tolist() if number not in self.left_out]

    def columns_of_tree(self, axis: tuple[int, ...], code: tuple[int, ...]) -> frozenset[int]:
        """The columns that could ask some test of a tree of the set, which is given by its nodes, depth first."""
        leaf, sides = self.arrays["leaf"], (self.arrays["left"], self.arrays["right"])
        found: set[int] = set()

        def walk(node: int, place: int) -> int:
            """The first place behind the subtree; 0 where the graph has none such at this node."""
            if axis[place] < 0:
                return place + 1 if leaf[node] < UNREACHABLE else 0
            # Where leaves are limited, a test has an edge for each way to share them between its sides.
            for edge in self._edges_of_tests.get((node, axis[place], code[place]), ()):
                middle = walk(int(sides[0][edge]), place + 1)
                end = walk(int(sides[1][edge]), middle) if middle else 0
                if end:
                    found.update(self.columns_of_edge(edge))
                    return end
            return 0

        assert walk(0, 0) == len(axis), "the tree is not in this set"
        return frozenset(found)

    @cached_property
    def _edges_of_tests(self) -> dict[tuple[int, int, int], list[int]]:
        """The edges by node, axis and code."""
        arrays = self.arrays
        nodes = np.repeat(np.arange(len(arrays["leaf"])), np.diff(arrays["first_edge"]))
        found: dict[tuple[int, int, int], list[int]] = {}
        for edge, test in enumerate(zip(nodes.tolist(), arrays["axis"].tolist(), arrays["code"].tolist(), strict=True)):
            found.setdefault(test, []).append(edge)
        return found
