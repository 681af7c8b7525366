"""The best tree of depth at most three from sums alone.

The rows of a table are needed only for sums over *cells*: the combinations of codes of one, two or three columns. This
room says which sums a depth needs (`plan_blocks`), makes them from coded rows (`sum_cells`), turns them into what
leaves and stumps gain (`Gains`), and puts the best tree together (`Gains.best_tree`). Sums are whole numbers: those of
parts of a table, added in any order, are those of the table, and nothing that follows depends on the parts.

A row has amounts in *channels*: what it counts for each label (with two labels one signed amount), then what it counts
towards each minimum per leaf. A leaf gains what its best label saves; docs/method.md, section 15, has the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.amounts import to_amounts
from certree.features import Features
from certree.problem import ceil_scaled, count_leaf_weights, least_leaf_weight
from certree.solver import NO_GAIN, add_cells, ask_engine, find_leaf_gains, find_stumps

Array = NDArray[Any]

DEEPEST = 3
"""Levels that sums over triples of columns decide."""

Pair = tuple[int, int]
"""Two columns, the first no greater than the second."""


@dataclass(frozen=True)
class Branch:
    """An inner node of a tree: the number of its test, and what is below it. A leaf is None."""

    test: int
    left: Branch | None
    right: Branch | None

    @property
    def n_leaves(self) -> int:
        return sum(1 if side is None else side.n_leaves for side in (self.left, self.right))


@dataclass(frozen=True, eq=False)
class CodeTests:
    """All tests, column by column: each a set of the codes of its column."""

    sizes: Array
    """int32; codes of each column."""
    n_tests: Array
    """int32; tests of each column."""
    column: Array
    """int32; of each test."""
    holds: tuple[Array, ...]
    """bool, one entry per code of the column: where each test holds."""
    places: tuple[tuple[int, int], ...]
    """Axis and code of each test, as Features knows it."""

    @property
    def first(self) -> Array:
        """The number of each column's first test."""
        return np.concatenate(([0], np.cumsum(self.n_tests)[:-1]))

    def describe(self) -> dict[str, Array]:
        """As the engine takes them: the codes of a test are those of an earlier one of its column, and some more."""
        base, n_added, added = [], [], []
        for test, holds in enumerate(self.holds):
            is_first = test == 0 or self.column[test - 1] != self.column[test]
            before = None if is_first else self.holds[test - 1]
            grows = before is not None and not (before & ~holds).any()
            new = holds & ~before if grows and before is not None else holds
            base.append(test - 1 - int(self.first[self.column[test]]) if grows else -1)
            n_added.append(int(new.sum()))
            added += np.flatnonzero(new).tolist()
        lists = {"n_tests": self.n_tests, "base": base, "n_added": n_added, "added": added}
        return {"sizes": self.sizes, **{name: np.array(values, dtype=np.int32) for name, values in lists.items()}}


def list_tests(features: Features, rows_of_codes: Sequence[Array]) -> CodeTests:
    """The tests of features as sets of codes; `rows_of_codes` has for each column a row that stands for each code.

    A test that holds where another one of its column does, or where it does not, is left out.
    """
    column, holds, places, counts = [], [], [], []
    for index, rows in enumerate(rows_of_codes):
        seen: set[bytes] = set()
        for place, axis in enumerate(features.axes):
            if axis.column != index:
                continue
            codes = features.codes[place][rows]
            for code in range(axis.size if axis.is_categorical else axis.size - 1):
                own = codes == code if axis.is_categorical else codes <= code
                if own.tobytes() in seen or (~own).tobytes() in seen or own.all() or not own.any():
                    continue
                seen.add(own.tobytes())
                column.append(index)
                holds.append(own)
                places.append((place, code))
        counts.append(len(seen))
    sizes = np.array([len(rows) for rows in rows_of_codes], dtype=np.int32)
    return CodeTests(
        sizes, np.array(counts, dtype=np.int32), np.array(column, dtype=np.int32), tuple(holds), tuple(places)
    )


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows as codes and amounts."""

    codes: Array
    """uint8 or uint16, columns × rows."""
    amounts: Array
    """int64, rows × channels."""

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    def at(self, rows: Array) -> Coded:
        """Some rows alone, by mask or by number."""
        return Coded(np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(self.amounts[rows]))

    def merged(self, sizes: Array) -> Coded:
        """Equal rows as one, with the sum of their amounts, in the order of their codes."""
        if self.n_rows == 0:
            return self
        key, span = np.zeros(self.n_rows, dtype=np.int64), 1
        for size, codes in zip(sizes.tolist(), self.codes, strict=True):
            # All columns as the digits of one number; where it would grow too long, what there is gets numbered anew.
            if span * size >= 2**62:
                distinct, key = np.unique(key, return_inverse=True)
                span = len(distinct)
            key = key * size + codes
            span *= size
        _, member, group = np.unique(key, return_index=True, return_inverse=True)
        amounts = np.zeros((len(member), self.amounts.shape[1]), dtype=np.int64)
        np.add.at(amounts, group, self.amounts)
        return Coded(np.ascontiguousarray(self.codes[:, member]), amounts)


def join(parts: Sequence[Coded]) -> Coded:
    """The rows of all parts, part by part."""
    return Coded(
        np.ascontiguousarray(np.concatenate([part.codes for part in parts], axis=1)),
        np.concatenate([part.amounts for part in parts]),
    )


@dataclass(frozen=True)
class LeafRule:
    """What a leaf gains, and what it must hold."""

    n_labels: int
    """Channels that are labels; 1 is one signed channel for two labels."""
    least: tuple[int, ...] = ()
    """What each further channel must reach in every leaf."""

    @property
    def n_channels(self) -> int:
        return self.n_labels + len(self.least)

    @property
    def factor(self) -> int:
        """How often gains and penalties are counted: twice where one signed amount stands for two labels."""
        return 2 if self.n_labels == 1 else 1

    def describe(self) -> dict[str, Any]:
        return {"n_labels": self.n_labels, "least": np.array(self.least, dtype=np.int64)}

    def lone(self, sums: Array) -> int:
        """What a lone leaf gains, which is always allowed."""
        return abs(int(sums[0])) if self.n_labels == 1 else int(sums[: self.n_labels].max())


@dataclass(frozen=True, kw_only=True)
class Channels:
    """How rows become amounts: the units, and what is counted besides the labels."""

    n_labels: int
    exponent: int
    """Amounts are values · 2^exponent."""
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    leaf_shift: int = 0
    """Of `min_weight_leaf`: rows count their weight · 2^leaf_shift."""
    n_arms: int = 0
    min_samples_arm: int = 0

    @property
    def rule(self) -> LeafRule:
        least: list[int] = []
        if self.min_samples_leaf > 1:
            least.append(self.min_samples_leaf)
        if self.min_weight_leaf > 0:
            least.append(ceil_scaled(least_leaf_weight(self.min_weight_leaf), self.leaf_shift))
        if self.min_samples_arm > 0:
            least += [self.min_samples_arm] * self.n_arms
        return LeafRule(1 if self.n_labels == 2 else self.n_labels, tuple(least))

    def measure(
        self, weights: Array, y: Array | None = None, costs: Array | None = None, arms: Array | None = None
    ) -> tuple[Array, int]:
        """int64, rows × channels; the amounts of rows of positive weight, and how many of them were rounded."""
        n_rows = len(weights)
        saved = np.zeros((n_rows, self.n_labels), dtype=np.int64)
        if costs is None:
            assert y is not None
            saved[np.arange(n_rows), y], n_rounded = to_amounts(weights, self.exponent)
        else:
            amounts, n_rounded = to_amounts(costs, self.exponent)
            saved -= amounts
        channels = [saved[:, :1] - saved[:, 1:]] if self.n_labels == 2 else [saved]
        if self.min_samples_leaf > 1:
            channels.append(np.ones((n_rows, 1), dtype=np.int64))
        if self.min_weight_leaf > 0:
            least = least_leaf_weight(self.min_weight_leaf)
            channels.append(count_leaf_weights(weights, least, self.leaf_shift)[:, None])
        if self.min_samples_arm > 0:
            assert arms is not None
            channels.append((arms[:, None] == np.arange(self.n_arms)).astype(np.int64))
        return np.ascontiguousarray(np.concatenate(channels, axis=1)), n_rounded

    def measure_all(self, weights: Array, costs: Array | None) -> Array:
        """int64; for each row the amounts of all its labels together, which gains of two labels are counted from."""
        given = weights if costs is None else costs
        return np.asarray(to_amounts(given, self.exponent)[0].reshape(len(weights), -1).sum(axis=1))

    def value(self, amount: float, normaliser: float) -> float:
        """An amount in units of the objective."""
        power = math.frexp(normaliser)[1] - 1
        return math.ldexp(amount / math.ldexp(normaliser, -power), -self.exponent - power)

    def penalty(self, regularization: float, normaliser: float, largest: int) -> int:
        """λ in amounts, as the engine rounds it; above `largest` no split can pay, whatever λ is."""
        power = math.frexp(normaliser)[1] - 1
        factor = regularization * math.ldexp(normaliser, -power)
        if factor == 0.0:
            return 0
        if math.frexp(factor)[1] + self.exponent + power > 62:
            return largest
        return min(round(math.ldexp(factor, self.exponent + power)), largest)


# Which sums --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Sets of columns whose cells are summed together."""

    sets: Array
    """int32, sets × 3; up to three columns in ascending order, -1 behind the last."""
    n_amounts: int
    """Cells of all sets, times channels."""

    @property
    def has_pairs(self) -> bool:
        """Whether it has columns by themselves and in pairs; the other blocks have triples."""
        return bool(self.sets[0, 2] < 0)

    def pairs(self) -> list[Pair]:
        """Every pair of columns that the sets tell something about."""
        found: set[Pair] = set()
        for columns in self.sets.tolist():
            own = [column for column in columns if column >= 0]
            found |= set(combinations(own, 2))
            if len(own) < DEEPEST:
                found |= {(column, column) for column in own}
        return sorted(found)


def plan_blocks(tests: CodeTests, n_channels: int, depth: int, most_bytes: int) -> list[Block]:
    """The sums that trees of a depth need, in blocks of at most so many bytes, or of one set of columns."""
    used = np.flatnonzero(tests.n_tests).tolist()
    sizes = tests.sizes.tolist()

    def make(sets: list[tuple[int, ...]]) -> Block:
        padded = np.array([(*own, -1, -1)[:3] for own in sets], dtype=np.int32)
        cells = sum(math.prod(sizes[column] for column in own) for own in sets)
        return Block(padded, cells * n_channels)

    def cut(sets: Iterable[tuple[int, ...]]) -> Iterator[Block]:
        waiting: list[tuple[int, ...]] = []
        n_bytes = 0
        for own in sets:
            size = 8 * n_channels * math.prod(sizes[column] for column in own)
            if waiting and n_bytes + size > most_bytes:
                yield make(waiting)
                waiting, n_bytes = [], 0
            waiting.append(own)
            n_bytes += size
        if waiting:
            yield make(waiting)

    few = [own for width in range(1, min(depth, 2) + 1) for own in combinations(used, width)]
    return [*cut(few), *cut(combinations(used, 3) if depth >= DEEPEST else ())]


def sum_cells(coded: Sequence[Coded], block: Block, tests: CodeTests) -> Array:
    """int64; the cells of a block, added up over the rows."""
    cells = np.zeros(block.n_amounts, dtype=np.int64)
    for part in coded:
        add_cells(part.codes, tests.sizes, part.amounts, block.sets, cells)
    return cells


# What they are worth -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Found:
    """What the sums of one block say about pairs of columns: arrays of tests × tests × quadrants (both hold, only the
    first, only the second, neither)."""

    leaves: Mapping[Pair, Array]
    """int64; what a leaf gains, `NO_GAIN` where it is not allowed."""
    stumps: Mapping[Pair, tuple[Array, Array]]
    """int64 and int32; what the best stump gains, and its test."""


def weigh_cells(cells: Array, block: Block, tests: CodeTests, rule: LeafRule, depth: int) -> Found:
    """What the cells of a block are worth."""
    given = {"cells": cells, "sets": block.sets, **tests.describe(), **rule.describe()}
    leaves: dict[Pair, Array] = {}
    if block.has_pairs:
        own = [tuple(column for column in columns if column >= 0) for columns in block.sets.tolist()]
        pairs = [(columns[0], columns[-1]) for columns in own]
        leaves = dict(zip(pairs, _cut(find_leaf_gains(**given), pairs, tests), strict=True))
    stumps: dict[Pair, tuple[Array, Array]] = {}
    if depth >= DEEPEST:
        pairs = block.pairs()
        gain, test = find_stumps(**given, pairs=np.array(pairs, dtype=np.int32))
        parts = zip(_cut(gain, pairs, tests), _cut(test, pairs, tests), strict=True)
        stumps = dict(zip(pairs, parts, strict=True))
    return Found(leaves, stumps)


def _cut(flat: Array, pairs: Sequence[Pair], tests: CodeTests) -> Iterator[Array]:
    place = 0
    for one, other in pairs:
        shape = (int(tests.n_tests[one]), 4, int(tests.n_tests[other]))
        size = int(np.prod(shape))
        yield flat[place : place + size].reshape(shape).transpose(0, 2, 1)
        place += size


_SIDES = (((0, 1), (2, 3)), ((0, 2), (1, 3)))
"""For a root test that is the first, or the second, of a pair: the quadrants of its left and of its right side."""


@dataclass
class Gains:
    """What is known of all pairs of tests, and the best tree that follows."""

    tests: CodeTests
    rule: LeafRule
    lone: int
    """What a lone leaf gains."""
    leaves: dict[Pair, Array] = field(default_factory=dict)
    stumps: dict[Pair, tuple[Array, Array]] = field(default_factory=dict)

    def add(self, found: Found) -> None:
        """Take over what a block has found, in any order of the blocks."""
        self.leaves.update(found.leaves)
        for pair, (gain, test) in found.stumps.items():
            if pair not in self.stumps:
                self.stumps[pair] = gain.copy(), test.copy()
                continue
            own_gain, own_test = self.stumps[pair]
            is_better = (gain > own_gain) | ((gain == own_gain) & (test < own_test) & (test >= 0))
            own_gain[is_better] = gain[is_better]
            own_test[is_better] = test[is_better]

    def best_tree(self, depth: int, penalty: int, max_leaves: int | None = None) -> tuple[int, Branch | None]:
        """What the best tree gains, the penalty of its leaves taken off, and the tree.

        `penalty` is λ in amounts. Of equally good trees one with the fewest leaves, and then the first by its tests.
        """
        price = penalty * self.rule.factor
        best, choice, child = self.lone - price, None, np.empty(0)
        most = len(self.tests.places) * 8 if max_leaves is None else max_leaves
        if depth >= 1 and self.leaves and most >= 2:
            value, child = self._sides(depth)
            widest = 1 << (min(depth, DEEPEST) - 1)
            shapes = [(one, other) for one in range(1, widest + 1) for other in range(1, widest + 1)]
            for one, other in sorted(shapes, key=lambda shape: (sum(shape), shape)):
                if one + other > most:
                    continue
                total = value[:, 0, one - 1] + value[:, 1, other - 1]
                root = int(np.argmax(total))
                if _is_allowed(total[root]) and int(total[root]) - price * (one + other) > best:
                    best, choice = int(total[root]) - price * (one + other), (root, one, other)
        if choice is None:
            return best, None
        root, one, other = choice
        return best, Branch(root, self._grow(child, root, 0, one), self._grow(child, root, 1, other))

    def _sides(self, depth: int) -> tuple[Array, Array]:
        """For every root test, side and number of leaves (1 to 4) what the best tree below gains, and its test."""
        n_tests = len(self.tests.places)
        value = np.full((n_tests, 2, 4), NO_GAIN, dtype=np.int64)
        child = np.full((n_tests, 2, 4), n_tests, dtype=np.int64)
        first = self.tests.first
        for (one, other), leaf in self.leaves.items():
            if one == other:
                own = np.arange(leaf.shape[0])
                value[first[one] + own, 0, 0] = leaf[own, own, 0]
                value[first[one] + own, 1, 0] = leaf[own, own, 3]
            if depth < 2:
                continue
            for role in (0, 1) if one != other else (0,):
                roots, children = (one, other) if role == 0 else (other, one)
                rows = slice(first[roots], first[roots] + self.tests.n_tests[roots])
                for side in (0, 1):
                    for n_leaves, offered in self._offers((one, other), _SIDES[role][side], depth):
                        table = offered if role == 0 else offered.T
                        best = np.argmax(table, axis=1)
                        gain, test = table[np.arange(len(best)), best], best + first[children]
                        own_gain, own_test = value[rows, side, n_leaves - 1], child[rows, side, n_leaves - 1]
                        is_better = (gain > own_gain) | ((gain == own_gain) & (test < own_test))
                        own_gain[is_better] = gain[is_better]
                        own_test[is_better] = test[is_better]
        return value, child

    def _offers(self, pair: Pair, quadrants: tuple[int, int], depth: int) -> Iterator[tuple[int, Array]]:
        """What a side gains under each child test, by the number of its leaves."""
        leaf = self.leaves[pair]
        one, other = quadrants
        yield 2, _add(leaf[..., one], leaf[..., other])
        if depth >= DEEPEST:
            stump = self.stumps[pair][0]
            yield 3, np.maximum(_add(stump[..., one], leaf[..., other]), _add(leaf[..., one], stump[..., other]))
            yield 4, _add(stump[..., one], stump[..., other])

    def _grow(self, child: Array, root: int, side: int, n_leaves: int) -> Branch | None:
        """The best tree of so many leaves on one side of a root test."""
        if n_leaves == 1:
            return None
        test = int(child[root, side, n_leaves - 1])
        columns = int(self.tests.column[root]), int(self.tests.column[test])
        role = 0 if columns[0] <= columns[1] else 1
        pair = columns if role == 0 else columns[::-1]
        first = self.tests.first
        place = (root - int(first[columns[0]]), test - int(first[columns[1]]))
        place = place if role == 0 else place[::-1]
        one, other = _SIDES[role][side]
        if n_leaves == 2:
            return Branch(test, None, None)
        leaf, (stump, stump_test) = self.leaves[pair][place], self.stumps[pair]
        splits = [n_leaves == 4, n_leaves == 4]
        if n_leaves == 3:
            left = _add(stump[place][one], leaf[other]) >= _add(leaf[one], stump[place][other])
            splits = [bool(left), not left]
        ends = [
            Branch(int(stump_test[place][quadrant]), None, None) if is_split else None
            for quadrant, is_split in zip((one, other), splits, strict=True)
        ]
        return Branch(test, *ends)


def _is_allowed(gain: Any) -> Any:
    return gain > NO_GAIN // 2


def _add(one: Any, other: Any) -> Any:
    """The sum of two gains, `NO_GAIN` where one of them is that."""
    return np.where(_is_allowed(one) & _is_allowed(other), one + other, NO_GAIN)


def list_nodes(branch: Branch | None, tests: CodeTests) -> dict[str, Array]:
    """A tree as parallel arrays of axes and codes, parents before children, as the engine gives one."""
    nodes: list[list[int]] = []

    def add(node: Branch | None) -> int:
        place = len(nodes)
        nodes.append([-1, -1, -1, -1])
        if node is not None:
            left = add(node.left)
            nodes[place] = [*tests.places[node.test], left, add(node.right)]
        return place

    add(branch)
    return dict(zip(("axis", "code", "left", "right"), np.array(nodes).T, strict=True))


def route(branch: Branch | None, codes: Array, tests: CodeTests) -> Array:
    """int32; for each coded row the leaf that it reaches, counted from left to right."""
    leaf = np.zeros(codes.shape[1], dtype=np.int32)

    def walk(node: Branch | None, rows: Array, number: int) -> int:
        if node is None:
            leaf[rows] = number
            return number + 1
        holds = tests.holds[node.test][codes[tests.column[node.test]][rows]]
        return walk(node.right, rows[~holds], walk(node.left, rows[holds], number))

    walk(branch, np.arange(codes.shape[1]), 0)
    return leaf


# Deeper trees, where the rows fit into one place ----------------------------------------------------------------------


def search_rows(
    rows: Coded, features: Features, rows_of_codes: Sequence[Array], channels: Channels, **limits: Any
) -> dict[str, Any]:
    """The engine's answer for merged rows, as `solver.read_tree` reads it.

    Its amounts are those of the fit in memory of the same codes. The objective lacks what no tree can avoid on rows
    with equal codes; `limits` are those of the engine's `solve`.
    """
    n_labels, rule = channels.n_labels, channels.rule
    saved = rows.amounts[:, : rule.n_labels]
    if n_labels == 2:
        costs = np.concatenate((np.maximum(-saved, 0), np.maximum(saved, 0)), axis=1)
    else:
        costs = saved.max(axis=1, keepdims=True) - saved
    further = list(rows.amounts[:, rule.n_labels :].T)
    counts = further.pop(0) if channels.min_samples_leaf > 1 else np.ones(rows.n_rows, dtype=np.int64)
    weights = further.pop(0) if channels.min_weight_leaf > 0 else np.zeros(rows.n_rows, dtype=np.int64)
    # An amount may have more digits than a float: its upper and its lower half are rows of their own, which the engine
    # adds up again. Rows of an arm cost nothing: they are counted.
    high, low = (costs >> 28) << 28, costs & ((1 << 28) - 1)
    nothing = np.zeros(rows.n_rows, dtype=np.int64)
    parts = [
        (rows.codes, high, counts, (weights >> 28) << 28, 0),
        (rows.codes, low, nothing, weights & ((1 << 28) - 1), 0),
    ]
    parts += [
        (rows.codes[:, own > 0], np.zeros((int((own > 0).sum()), n_labels), dtype=np.int64), own[own > 0], None, arm)
        for arm, own in enumerate(further)
    ]
    if channels.min_samples_arm > 0:
        # Every row has an arm, so where arms are counted, so are the rows.
        parts[0] = (rows.codes, high, nothing, (weights >> 28) << 28, 0)
    codes = np.concatenate([part[0] for part in parts], axis=1)
    leaf_weights = np.concatenate([np.zeros(len(part[2])) if part[3] is None else part[3] for part in parts])
    axes = features.axes
    own_codes = np.empty((len(axes), codes.shape[1]), dtype=np.int32)
    for place, axis in enumerate(axes):
        own_codes[place] = features.codes[place][rows_of_codes[axis.column]][codes[axis.column]]
    total = np.concatenate([part[1] for part in parts])
    return ask_engine(
        codes=own_codes,
        sizes=np.array([axis.size for axis in axes], dtype=np.int32),
        categorical=np.array([axis.is_categorical for axis in axes], dtype=np.uint8),
        labels=None,
        weights=np.ones(codes.shape[1]),
        costs=np.ascontiguousarray(total, dtype=np.float64),
        n_labels=n_labels,
        min_samples_leaf=channels.min_samples_leaf,
        min_weight_leaf=float(ceil_scaled(least_leaf_weight(channels.min_weight_leaf), channels.leaf_shift)),
        leaf_weights=leaf_weights.astype(np.float64) if channels.min_weight_leaf > 0 else None,
        arms=np.concatenate([np.full(len(part[2]), part[4], dtype=np.int32) for part in parts])
        if channels.min_samples_arm > 0
        else None,
        n_arms=channels.n_arms,
        min_samples_arm=channels.min_samples_arm,
        counts=np.concatenate([part[2] for part in parts]),
        reference_costs=None,
        switches=0,
        progress=None,
        **limits,
    )
