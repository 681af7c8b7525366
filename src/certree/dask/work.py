"""What is done where the rows lie: coding them, adding up their cells, and weighing a finished tree on raw values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.amounts import exact_sums, to_float
from certree.dask.parts import Rows
from certree.dask.survey import Coding, read_numbers
from certree.fingerprint import hash_rows
from certree.problem import count_leaf_weights, least_leaf_weight
from certree.sums import Block, Branch, Channels, Coded, CodeTests, route, sum_cells
from certree.tree import Tree

Array = NDArray[Any]

_SAMPLE = 4096
"""Rows that are looked at to see whether many are equal."""


@dataclass(frozen=True, eq=False)
class CodedPart:
    """A partition as codes and amounts, which stay with its worker, and what the client must know of it."""

    coded: Coded
    facts: Facts


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of the coded rows of one or more partitions."""

    sums: Array
    """int64; the amounts of all rows, by channel."""
    base: int
    """What the cost of a tree is counted down from."""
    least: Mapping[int, Array]
    """For columns cut at quantiles: float64; the smallest value of every code, infinite where there is none."""
    n_rounded: int
    """Amounts that fixed point has rounded."""
    n_merged: int


def code_rows(
    rows: Rows, codings: Sequence[Coding], channels: Channels, cut: Sequence[int], has_costs: bool
) -> CodedPart:
    """Codes of one or two bytes and amounts of a partition, merged where that saves much."""
    sizes = np.array([coding.size for coding in codings], dtype=np.int32)
    dtype = np.uint8 if sizes.max() <= 1 << 8 else np.uint16
    least = {column: np.full(len(codings[column].edges) + 1, np.inf) for column in cut}  # type: ignore[arg-type]
    if rows.table is None:
        empty = Coded(np.empty((len(codings), 0), dtype=dtype), np.empty((0, channels.rule.n_channels), dtype=np.int64))
        return CodedPart(empty, Facts(empty.amounts.sum(axis=0), 0, least, 0, 0))
    codes = np.empty((len(codings), rows.n_rows), dtype=dtype)
    for index, coding in enumerate(codings):
        values = read_numbers(rows.table, index, coding.order)
        codes[index] = coding.code(values)
        if index in least:
            present = ~np.isnan(values)
            np.minimum.at(least[index], codes[index][present], values[present])
    amounts, n_rounded = channels.measure(rows.weights, rows.y, rows.costs(), rows.arms)
    base = int(channels.measure_all(rows.weights, rows.costs()).sum()) if channels.n_labels == 2 or not has_costs else 0
    coded = Coded(codes, amounts)
    sample = Coded(codes[:, :_SAMPLE], amounts[:_SAMPLE])
    if 2 * sample.merged(sizes).n_rows <= sample.n_rows:
        coded = coded.merged(sizes)
    return CodedPart(coded, Facts(amounts.sum(axis=0), base, least, n_rounded, coded.n_rows))


def facts_of(part: CodedPart) -> Facts:
    return part.facts


def sum_parts(
    parts: Sequence[CodedPart], block: Block, tests: CodeTests, grown: Branch | None = None, leaf: int = 0
) -> Array:
    """int64; the cells of a block over some partitions, of the rows that reach a leaf of what has grown."""
    coded = [part.coded for part in parts]
    if grown is not None:
        coded = [own.at(route(grown, own.codes, tests) == leaf) for own in coded]
    return sum_cells(coded, block, tests)


def sum_leaves(parts: Sequence[CodedPart], tests: CodeTests, grown: Branch) -> Array:
    """int64, leaves × channels; the amounts of the rows that reach each leaf of what has grown."""
    sums = None
    for part in parts:
        leaf = route(grown, part.coded.codes, tests)
        own = np.zeros((grown.n_leaves, part.coded.amounts.shape[1]), dtype=np.int64)
        np.add.at(own, leaf, part.coded.amounts)
        sums = own if sums is None else sums + own
    assert sums is not None
    return sums


def merge_parts(parts: Sequence[CodedPart], sizes: Array, most_rows: int) -> Coded | int:
    """The merged rows of some partitions, or how many there are where these are too many."""
    merged: Coded | None = None
    for part in parts:
        own = part.coded.merged(sizes)
        merged = own if merged is None else join_two(merged, own).merged(sizes)
        if merged.n_rows > most_rows:
            return merged.n_rows
    assert merged is not None
    return merged


def join_merged(one: Coded | int, other: Coded | int, sizes: Array, most_rows: int) -> Coded | int:
    """Two answers of `merge_parts` as one."""
    if isinstance(one, int) or isinstance(other, int):
        return max(found if isinstance(found, int) else found.n_rows for found in (one, other))
    merged = join_two(one, other).merged(sizes)
    return merged if merged.n_rows <= most_rows else merged.n_rows


def join_two(one: Coded, other: Coded) -> Coded:
    return Coded(
        np.ascontiguousarray(np.concatenate([one.codes, other.codes], axis=1)),
        np.concatenate([one.amounts, other.amounts]),
    )


@dataclass(frozen=True, eq=False)
class Weighed:
    """What a tree weighs on the raw rows of one or more partitions. Sums of floats are exact, in units of 2^-UNIT."""

    rows: Array
    """int64; of each node that is a leaf, 0 elsewhere."""
    amounts: list[int]
    """Nodes × labels: the weight of the rows that carry each label, or what each label costs them."""
    weight: list[int]
    """By node."""
    best: list[int]
    """Of a policy: the reward of the best action of every row, times the weight, by node."""
    rewards: list[int]
    """Of a policy, nodes × actions: the rewards of each action, times the weight."""
    leaf_weights: Array
    """int64; what the rows of each node count towards a minimum of weight."""
    arms: Array
    """int64, nodes × arms."""
    digest: tuple[int, int]
    """Of all rows in any order; see `fingerprint.hash_rows`."""
    is_plain: bool
    """Whether every weight is 1."""

    def __add__(self, other: Weighed) -> Weighed:
        def add(one: list[int], two: list[int]) -> list[int]:
            return [first + second for first, second in zip(one, two, strict=True)]

        return Weighed(
            self.rows + other.rows,
            add(self.amounts, other.amounts),
            add(self.weight, other.weight),
            add(self.best, other.best),
            add(self.rewards, other.rewards),
            self.leaf_weights + other.leaf_weights,
            self.arms + other.arms,
            ((self.digest[0] + other.digest[0]) % 2**64, (self.digest[1] + other.digest[1]) % 2**64),
            self.is_plain and other.is_plain,
        )


def weigh_rows(rows: Rows, tree: Tree, channels: Channels) -> Weighed:
    """A tree on the raw rows of a partition."""
    n_nodes, n_labels = tree.n_nodes, channels.n_labels
    leaf: Array = np.empty(0, dtype=np.int64) if rows.table is None else tree.apply(rows.table).astype(np.int64)
    costs, best = (rows.costs(), rows.best_rewards()) if rows.table is not None else (None, None)
    rewards = [0] * (n_nodes * n_labels)
    if rows.table is None:
        amounts = [0] * (n_nodes * n_labels)
    elif costs is None:
        assert rows.y is not None
        amounts = exact_sums(leaf * n_labels + rows.y, rows.weights, n_nodes * n_labels)
    else:
        assert rows.rewards is not None
        cell = (leaf[:, None] * n_labels + np.arange(n_labels)).ravel()
        amounts = exact_sums(cell, costs.ravel(), n_nodes * n_labels)
        rewards = exact_sums(cell, (rows.rewards * rows.weights[:, None]).ravel(), n_nodes * n_labels)
    leaf_weights = np.zeros(n_nodes, dtype=np.int64)
    if channels.min_weight_leaf > 0:
        least = least_leaf_weight(channels.min_weight_leaf)
        np.add.at(leaf_weights, leaf, count_leaf_weights(rows.weights, least, channels.leaf_shift))
    arms = np.zeros((n_nodes, channels.n_arms), dtype=np.int64)
    if channels.min_samples_arm > 0 and rows.arms is not None:
        np.add.at(arms, (leaf, rows.arms), 1)
    return Weighed(
        np.bincount(leaf, minlength=n_nodes),
        amounts,
        exact_sums(leaf, rows.weights, n_nodes),
        [0] * n_nodes if best is None else exact_sums(leaf, best, n_nodes),
        rewards,
        leaf_weights,
        arms,
        (0, 0)
        if rows.table is None
        else hash_rows(
            rows.table, rows.weights, rows.y, rows.rewards, rows.arms if channels.min_samples_arm > 0 else None
        ),
        bool((rows.weights == 1.0).all()),
    )


def add_sums(one: Any, other: Any) -> Any:
    """Sums of different rows as one."""
    return one + other


def add_weighed(found: Sequence[Weighed]) -> Weighed:
    """What partitions have weighed, as one."""
    total = found[0]
    for own in found[1:]:
        total = total + own
    return total


def mean_reward(tree: Tree, weighed: Weighed) -> float:
    """Σ w · reward of the chosen action / Σ w; both sums are exact until they are floats."""
    n_labels, leaves = len(tree.labels), tree.leaves.tolist()
    chosen = sum(weighed.rewards[leaf * n_labels + int(tree.label[leaf])] for leaf in leaves)
    return to_float(chosen) / to_float(sum(weighed.weight[leaf] for leaf in leaves))
