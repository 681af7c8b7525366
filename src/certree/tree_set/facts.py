"""What is known of a set of good trees: their number, and facts about columns, root tests, cuts and rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.tree import Value

Array = NDArray[Any]


class TreeCount(int):
    """How many trees there are: an int where the number is exact, else the least that there can be.

    Examples
    --------
    >>> from certree.tree_set import TreeCount
    >>> print(TreeCount(3, 3), "and", TreeCount(10, 20))
    3 and between 10 and 20
    """

    most: int
    """No set has more; equal to the number itself where that is exact."""

    def __new__(cls, least: int, most: int) -> TreeCount:
        count = super().__new__(cls, least)
        count.most = most
        return count

    @property
    def is_exact(self) -> bool:
        """Whether the number is known exactly."""
        return int(self) == self.most

    def __str__(self) -> str:
        return f"{int(self):,}" if self.is_exact else f"between {int(self):,} and {self.most:,}"

    def __repr__(self) -> str:
        return int.__repr__(self) if self.is_exact else f"<{self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeCount, (int(self), self.most)


def add_counts(counts: Iterable[TreeCount]) -> TreeCount:
    """The number of trees of several sets that have none in common."""
    counts = list(counts)
    return TreeCount(sum(int(count) for count in counts), sum(count.most for count in counts))


@dataclass(frozen=True, repr=False)
class ColumnFact:
    """What the good trees say about a column. A tree needs a column if it cannot be written without it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [(fact.column, fact.share, fact.is_needed) for fact in trees.columns()]
    [('x0', 1.0, True), ('x1', 0.0, False)]
    >>> print(*trees.columns(), sep="\\n")
    x0: needed by 100.0% of the good trees; without it the best objective is 0.6
    x1: needed by 0.0% of the good trees; without it the best objective is 0.2
    """

    column: str
    share: float
    """Of the good trees that need the column; the middle of `share_bounds`."""
    share_bounds: tuple[float, float]
    objective_without: float
    """Of the best of all trees without the column, good or not."""
    price: float
    """What doing without the column costs: how much worse that objective is than the best. NaN where it was not asked
    for, and where every tree has to begin with the column."""
    price_bounds: tuple[float, float]
    """What the price is between; both are the price, unless a limit ended the search for it."""
    is_needed: bool
    """Proved: every good tree needs it."""
    is_unused: bool
    """Proved: no good tree has a test that this column could ask."""

    def __str__(self) -> str:
        low, high = self.share_bounds
        share = f"{self.share:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
        without = (
            "no price is known for doing without it"
            if math.isnan(self.objective_without)
            else f"without it the best objective is {self.objective_without:.6g}"
        )
        return f"{self.column}: needed by {share} of the good trees; {without}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@dataclass(frozen=True)
class RootFact:
    """A root test of good trees, with how many of them begin with it and the objective of the best one.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [(fact.test, int(fact.count)) for fact in trees.roots()]
    [('x0 <= 2.5', 1), ('x0 <= 1.5', 1), ('x0 <= 3.5', 1)]
    """

    test: str
    objective: float
    """Of the best tree with this root."""
    count: TreeCount


@dataclass(frozen=True)
class CutFact:
    """A test that good trees have at any node, with the objective of the best good tree that has it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [fact.threshold for fact in trees.cuts()]
    [1.5, 2.5, 3.5]
    """

    column: str
    test: str
    threshold: float
    """NaN where the test has none."""
    objective: float
    """Of the best good tree that has it."""
    share: float
    """Of all rows, by weight, on which the test holds."""


@dataclass(frozen=True, eq=False, repr=False)
class RowFacts:
    """What the good trees say about each fitted row; rows of weight zero take no part.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> trees.rows().is_agreed.tolist()
    [True, False, False, True]
    """

    index: Array
    """The row's number in the table that was given."""
    labels: tuple[Value, ...]
    objective: Array
    """float64, rows × labels: of the best good tree that gives the row this label; NaN where none does."""
    weights: Array

    @property
    def is_possible(self) -> Array:
        """bool, rows × labels: whether some good tree gives the row this label."""
        return ~np.isnan(self.objective)

    @property
    def is_agreed(self) -> Array:
        """bool: whether all good trees give the row the same label."""
        return np.asarray(self.is_possible.sum(axis=1) == 1)

    @property
    def share_agreed(self) -> float:
        """By weight, of the rows on which all good trees agree."""
        return float(self.weights[self.is_agreed].sum() / self.weights.sum())

    def __repr__(self) -> str:
        rows = f"{len(self.index):,} row{'' if len(self.index) == 1 else 's'}"
        return f"<RowFacts: {rows}, of which {self.is_agreed.sum():,} get the same label from all good trees>"
