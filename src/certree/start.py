"""The start of a tree: tests from the root on that the answer must begin with.

This room reads a start from a Tree, from plain data or from text, and says which row arrives at which of its leaves.
A leaf of a start is open, so that any tree may grow there, or closed, so that it stays a leaf. What grows at one leaf
does not depend on what grows at another, but for what all share: `max_leaves` and time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.table import Table
from certree.tree import FORMAT, Column, EditError, Test, Tree, read_test, write_test

Array = NDArray[Any]


@dataclass(frozen=True)
class Branch:
    """A test of a start, and what stands on either side: another test, an open leaf or a closed one."""

    column: int
    test: Test
    left: Branch | Literal["open", "leaf"] = "open"
    right: Branch | Literal["open", "leaf"] = "open"

    @property
    def sides(self) -> tuple[Branch | Literal["open", "leaf"], ...]:
        return self.left, self.right

    def branches(self) -> Iterator[Branch]:
        """From the root down, left before right."""
        yield self
        for side in self.sides:
            if isinstance(side, Branch):
                yield from side.branches()

    @property
    def depth(self) -> int:
        return 1 + max(side.depth if isinstance(side, Branch) else 0 for side in self.sides)

    @property
    def n_leaves(self) -> int:
        return sum(side.n_leaves if isinstance(side, Branch) else 1 for side in self.sides)

    def leaves(self, table: Table) -> list[StartLeaf]:
        """The leaves from left to right, with the rows that arrive there."""
        return list(_find_leaves(self, table, np.arange(table.n_rows), ()))

    def told_by(self, table: Table, least: int = 1) -> Branch | Literal["open", "leaf"]:
        """What some rows can tell of the start: a test that leaves one side with fewer than `least` rows is left out,
        and so is what stands on that side."""
        return _prune(self, table, np.arange(table.n_rows), max(least, 1))

    def to_plain(self) -> dict[str, Any]:
        """Plain data that `read_start` reads; an open leaf is null."""
        return {
            **write_test(self.test),
            **{
                name: side.to_plain() if isinstance(side, Branch) else None if side == "open" else side
                for name, side in zip(("left", "right"), self.sides, strict=True)
            },
        }


@dataclass(frozen=True, eq=False)
class StartLeaf:
    """A leaf of a start."""

    path: tuple[tuple[Test, bool], ...]
    """The tests from the root on, each with whether it holds here."""
    is_open: bool
    rows: Array
    """The numbers of the rows that arrive."""

    @property
    def depth(self) -> int:
        return len(self.path)

    @property
    def text(self) -> str:
        return " and ".join(test.describe(holds=holds) for test, holds in self.path)


def _find_leaves(
    side: Branch | Literal["open", "leaf"], table: Table, rows: Array, path: tuple[tuple[Test, bool], ...]
) -> Iterator[StartLeaf]:
    if not isinstance(side, Branch):
        yield StartLeaf(path, side == "open", rows)
        return
    holds = side.test.holds(side.test.column.read(table.columns[side.column], table))[rows]
    yield from _find_leaves(side.left, table, rows[holds], (*path, (side.test, True)))
    yield from _find_leaves(side.right, table, rows[~holds], (*path, (side.test, False)))


def _prune(
    side: Branch | Literal["open", "leaf"], table: Table, rows: Array, least: int
) -> Branch | Literal["open", "leaf"]:
    if not isinstance(side, Branch):
        return side
    holds = side.test.holds(side.test.column.read(table.columns[side.column], table))[rows]
    n_left, n_right = int(holds.sum()), int((~holds).sum())
    if min(n_left, n_right) < least:
        return _prune(side.left if n_left >= n_right else side.right, table, rows, least)
    left, right = _prune(side.left, table, rows[holds], least), _prune(side.right, table, rows[~holds], least)
    return replace(side, left=left, right=right)


def read_start(given: Any, columns: Sequence[Column]) -> Branch | None:
    """A start on these columns from a Tree, a mapping or text. A lone leaf demands nothing, and is None."""
    if given is None or isinstance(given, Branch):
        return given
    if isinstance(given, Mapping) and given.get("format") == FORMAT:
        given = Tree.from_dict(given)
    side = _read_tree(given, 0, columns) if isinstance(given, Tree) else _read_side(given, columns)
    if isinstance(side, Branch):
        return side
    if side == "open":
        return None
    raise EditError("start: a lone leaf is not a start; max_depth=0 asks for one")


def _read_side(given: Any, columns: Sequence[Column]) -> Branch | Literal["open", "leaf"]:
    if given is None:
        return "open"
    if isinstance(given, str) and given.strip() in ("open", "leaf"):
        return "open" if given.strip() == "open" else "leaf"
    asked = read_test(given, columns, "start")
    sides: list[Branch | Literal["open", "leaf"]] = ["open", "open"]
    if isinstance(given, Mapping):
        unknown = set(map(str, given)) - {"test", "column", "threshold", "category", "missing_left", "left", "right"}
        if unknown:
            raise EditError(f"start: a node has no entry {min(unknown)!r}; it has test, left and right")
        sides = [_read_side(given.get(name), columns) for name in ("left", "right")]
    left, right = reversed(sides) if asked.is_swapped else sides
    return Branch(asked.column, asked.test, left, right)


def _read_tree(tree: Tree, node: int, columns: Sequence[Column]) -> Branch | Literal["open", "leaf"]:
    """The tests of a tree; all its leaves are open."""
    if tree.column[node] < 0:
        return "open"
    test = tree.test(node)
    names = [column.name for column in columns]
    # The columns of an array have no names of their own; then they go by their places.
    plain = write_test(test)
    if test.column.name not in names and len(tree.columns) == len(columns):
        plain["column"] = int(tree.column[node])
    asked = read_test(plain, columns, "start")
    return Branch(
        asked.column,
        asked.test,
        _read_tree(tree, int(tree.left[node]), columns),
        _read_tree(tree, int(tree.right[node]), columns),
    )


def match_start(start: Branch, tree: Tree) -> dict[int, Branch | Literal["open", "leaf"]] | str:
    """The nodes of a tree that stand for the nodes of a start; a sentence where the tree does not begin with it."""
    found: dict[int, Branch | Literal["open", "leaf"]] = {}
    waiting: list[tuple[int, Branch | Literal["open", "leaf"]]] = [(0, start)]
    while waiting:
        node, side = waiting.pop()
        found[node] = side
        if side == "leaf" and tree.column[node] >= 0:
            return f"node {node} asks “{tree.test(node).text}”, where the start has a closed leaf"
        if not isinstance(side, Branch):
            continue
        if tree.column[node] < 0:
            return f"node {node} is a leaf, where the start asks “{side.test.text}”"
        own, asked = tree.test(node), side.test
        is_same = int(tree.column[node]) == side.column and (
            (own.threshold, own.category, own.missing_left) == (asked.threshold, asked.category, asked.missing_left)
        )
        if not is_same:
            return f"node {node} asks “{own.text}”, where the start asks “{asked.text}”"
        waiting += [(int(tree.left[node]), side.left), (int(tree.right[node]), side.right)]
    return found
