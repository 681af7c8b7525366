"""A second measure over a set of good trees: what it is between, and which tree is best by it.

This room promises that a range is over every tree that was looked at, and says whether these were all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.tree import Value

Array = NDArray[Any]
Decided = Iterable[tuple[Any, Array]]
"""Trees, each with the number of the label that it gives every fitted row."""

MOST_TREES = 20_000
"""That are looked at unless asked otherwise: some seconds."""


@dataclass(frozen=True, eq=False)
class Spread:
    """What a second measure is between over a set of trees.

    Examples
    --------
    >>> from certree.policy import good_policies
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 1], [0, -1]]
    >>> policies = good_policies(X, rewards, tolerance=0.4, max_depth=1)
    >>> spread = policies.spread({0: 0.0, 1: 1.0})
    >>> round(spread.least, 3), round(spread.most, 3), spread.is_exact
    (0.333, 1.0, True)
    """

    least: float
    most: float
    least_tree: Any
    """The first tree, and so the best one, that has the least."""
    most_tree: Any
    n_trees: int
    """Trees that this is about, best first."""
    is_exact: bool
    """Whether these are all trees of the set."""


@dataclass(frozen=True)
class Rate:
    """The share of a group, by weight, that gets a label: over a set of trees it is between two numbers."""

    group: Value
    label: Value
    least: float
    most: float


def read_measure(measure: Any, labels: Sequence[Value], index: Array, weights: Array) -> Callable[[Array], float]:
    """A function of the label numbers of the fitted rows, from one of their labels, or from amounts."""
    names = np.array(labels, dtype=object)
    if callable(measure):
        return lambda chosen: float(measure(names[chosen]))
    weighed = weigh_measure(measure, labels, index, weights)
    rows = np.arange(len(index))
    return lambda chosen: float(weighed[rows, chosen].sum())


def weigh_measure(measure: Any, labels: Sequence[Value], index: Array, weights: Array) -> Array:
    """float64, fitted rows × labels: what each row adds to the measure where it gets a label."""
    if isinstance(measure, Mapping):
        missing = [label for label in labels if label not in measure]
        if missing:
            raise ValueError(f"measure has no amount for {missing[0]!r}; the labels are {', '.join(map(repr, labels))}")
        amounts = np.broadcast_to([float(measure[label]) for label in labels], (len(index), len(labels)))
    else:
        given = np.asarray(measure, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != len(labels) or given.shape[0] <= index.max():
            raise ValueError(
                f"measure must have a row for each row of the table and {len(labels)} columns, one for each of "
                f"{', '.join(map(repr, labels))}, not the shape {given.shape}"
            )
        amounts = given[index]
    return np.asarray(amounts * weights[:, None] / weights.sum())


def find_spread(decided: Decided, value: Callable[[Array], float], *, is_exact: bool) -> Spread:
    """The range of a measure, and the first trees at its ends."""
    ends: list[tuple[float, Any]] = []
    n_trees = 0
    for tree, chosen in decided:
        own, n_trees = value(chosen), n_trees + 1
        if not ends:
            ends = [(own, tree), (own, tree)]
        ends[0] = (own, tree) if own < ends[0][0] else ends[0]
        ends[1] = (own, tree) if own > ends[1][0] else ends[1]
    if not ends:
        raise ValueError("the set is empty")
    return Spread(ends[0][0], ends[1][0], ends[0][1], ends[1][1], n_trees, is_exact)


def read_groups(group: Any, index: Array) -> tuple[Array, Array]:
    """The groups, and the number of each fitted row's."""
    given = np.asarray(group)
    if given.ndim != 1 or len(given) <= index.max():
        raise ValueError(f"group must have one entry for each row of the table, not the shape {given.shape}")
    names, codes = np.unique(given[index], return_inverse=True)
    return names, codes


def find_rates(decided: Decided, group: Any, labels: Sequence[Value], index: Array, weights: Array) -> list[Rate]:
    """For each group and label the share of the group that gets the label, over the trees."""
    names, codes = read_groups(group, index)
    totals = np.bincount(codes, weights, minlength=len(names))
    low, high = np.full((len(names), len(labels)), np.inf), np.full((len(names), len(labels)), -np.inf)
    for _, chosen in decided:
        cells = np.bincount(codes * len(labels) + chosen, weights, minlength=low.size).reshape(low.shape)
        shares = cells / totals[:, None]
        low, high = np.minimum(low, shares), np.maximum(high, shares)
    return [
        Rate(name, label, float(low[g, k]), float(high[g, k]))
        for g, name in enumerate(names.tolist())
        for k, label in enumerate(labels)
    ]
