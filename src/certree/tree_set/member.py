"""A member of a set: its tests as axes and codes of the problem, and as an ordinary tree where that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.problem import Problem
from certree.solver import read_tree
from certree.tree import Tree
from certree.tree.words import describe_tree, tree_html

Array = NDArray[Any]


def holds_of(problem: Problem, axis: int, code: int) -> Array:
    """bool: whether a test, given as axis and code, holds on each row of the problem."""
    features = problem.asked_features
    codes = features.codes[axis]
    return np.asarray(codes == code if features.axes[axis].is_categorical else codes <= code)


@dataclass(frozen=True, eq=False)
class TreeWriter:
    """Makes trees of nodes in order of depth first. Tests on columns that are left out are asked of others."""

    problem: Problem
    left_out: frozenset[int]

    def write(self, axis: tuple[int, ...], code: tuple[int, ...]) -> Tree:
        """The tree with these tests."""
        left, right = [-1] * len(axis), [-1] * len(axis)
        axes, codes = list(axis), list(code)
        features = self.problem.asked_features

        def place(node: int, rows: Array) -> int:
            """Sets the sides of the node and returns the first node behind its subtree."""
            if axes[node] < 0:
                return node + 1
            holds = holds_of(self.problem, axes[node], codes[node])[rows]
            is_swapped = False
            if features.axes[axes[node]].column in self.left_out:
                axes[node], codes[node], is_swapped = self._ask_another(rows, holds)
            left[node] = node + 1
            right[node] = place(node + 1, rows[holds])
            end = place(right[node], rows[~holds])
            if is_swapped:
                left[node], right[node] = right[node], left[node]
            return end

        place(0, np.arange(self.problem.n_rows))
        arrays = {"axis": axes, "code": codes, "left": left, "right": right}
        return read_tree(self.problem, {name: np.array(values) for name, values in arrays.items()})

    def decide(self, axis: tuple[int, ...], code: tuple[int, ...], label: tuple[int, ...]) -> Array:
        """int32, one per row of the problem: the number of the label that the tree gives it."""
        chosen = np.empty(self.problem.n_rows, dtype=np.int32)

        def place(node: int, rows: Array) -> int:
            """Labels the rows of a subtree and returns the first node behind it."""
            if axis[node] < 0:
                chosen[rows] = label[node]
                return node + 1
            holds = holds_of(self.problem, axis[node], code[node])[rows]
            return place(place(node + 1, rows[holds]), rows[~holds])

        place(0, np.arange(self.problem.n_rows))
        return chosen

    def _ask_another(self, rows: Array, holds: Array) -> tuple[int, int, bool]:
        """The first test on a column that is not left out that parts the rows so, and whether its sides are swapped."""
        for number, axis in enumerate(self.problem.features.axes):
            if axis.column in self.left_out:
                continue
            for code in np.unique(self.problem.features.codes[number][rows]).tolist():
                other = holds_of(self.problem, number, code)[rows]
                if (other == holds).all() or (other != holds).all():
                    return number, code, bool(other[0] != holds[0])
        raise AssertionError("the graph says that another column parts these rows so")


@dataclass(frozen=True, eq=False, repr=False)
class GoodTree:
    """A tree of a set. `tree` is an ordinary `certree.Tree`, made when it is asked for; `print` shows it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> tree = trees[0]
    >>> tree.n_leaves, tree.predict([[1, 0]]).tolist()
    (2, ['a'])
    >>> print(tree)
    ├── x0 <= 2.5: a  100% of 2 rows
    └── x0 > 2.5: b   100% of 2 rows
    <BLANKLINE>
    objective 0.2, 2 leaves
    """

    objective: float
    """As the estimators have it: loss + λ · leaves, or for a policy mean reward − λ · leaves."""
    n_leaves: int
    _writer: TreeWriter = field(repr=False)
    _axis: tuple[int, ...] = field(repr=False)
    _code: tuple[int, ...] = field(repr=False)
    _label: tuple[int, ...] = field(repr=False)

    @cached_property
    def tree(self) -> Tree:
        """The tree itself."""
        return self._writer.write(self._axis, self._code)

    @property
    def tests(self) -> list[str]:
        """The tests in words, from the root down."""
        tree = self.tree
        return [tree.test(node).text for node in tree.walk() if tree.column[node] >= 0]

    def __repr__(self) -> str:
        return f"<GoodTree: {self._describe()}>"

    def __str__(self) -> str:
        return f"{describe_tree(self.tree)}\n\n{self._describe()}"

    def _repr_html_(self) -> str:
        return f"{tree_html(self.tree)}<p>{self._describe()}</p>"

    def _describe(self) -> str:
        return f"objective {self.objective:.6g}, {self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}"

    def decide(self) -> Array:
        """int32, one per fitted row: the number of the label that the tree gives it. Faster than a prediction."""
        return self._writer.decide(self._axis, self._code, self._label)

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        return self.tree.predict(X)
