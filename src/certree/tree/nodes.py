"""The tree: parallel arrays with one entry per node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from certree.table import Table, read_table
from certree.tree.columns import Array, Column, Test, Value, plain_value
from certree.tree.plain import FORMAT, ORDERED_VERSION, VERSION, read_plain_tree
from certree.tree.words import describe_tree, tree_html

DEEPEST = 10_000
"""Levels below the root at most. No search goes so deep, and a tree that does is somebody's attempt to break things."""

_DTYPES = {
    name: np.dtype(kind)
    for name, kind in {
        "column": np.int32, "threshold": np.float64, "category": np.int32, "missing_left": np.bool_,
        "left": np.int32, "right": np.int32, "label": np.int32,
        "rows": np.int64, "weight": np.float64, "costs": np.float64, "label_weights": np.float64, "rewards": np.float64,
    }.items()
}  # fmt: skip

Names = Sequence[str] | Mapping[str, str | Mapping[str, Any]] | None
"""What columns are called where they are shown: all names in order, or some by their own name, with more words."""
Labels = Sequence[Any] | Mapping[Any, Any] | None


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree, as parallel arrays with one entry per node; `costs` and `label_weights` have one row per node.

    Estimators have it as `tree_`. `print(tree)` shows it as text. Left is where the test of a node holds.

    Raises
    ------
    ValueError
        By `from_dict` and `predict`, for data or a table that does not fit; the message says what differs.

    Examples
    --------
    >>> from certree import SparseTreeClassifier
    >>> tree = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"]).tree_
    >>> tree.n_leaves, tree.depth
    (2, 1)
    >>> print(tree)
    ├── x0 <= 1.5: no  100% of 1 row
    └── x0 > 1.5: yes  100% of 1 row
    >>> tree.predict([[5.0]]).tolist()
    ['yes']
    """

    columns: tuple[Column, ...]
    labels: tuple[Value, ...]

    column: Array
    """int32; the tested column, -1 at a leaf."""
    threshold: Array
    """float64; NaN where the test is not "<="."""
    category: Array
    """int32; index into the column's categories, -1 where the test is not "=="."""
    missing_left: Array
    """bool; whether the test holds for a missing value."""
    left: Array
    """int32; the child where the test holds, -1 at a leaf."""
    right: Array
    """int32; the other child, -1 at a leaf."""
    label: Array
    """int32; index into `labels`: what a leaf predicts, and the best single label of an inner node's rows."""

    rows: Array
    """int64; training rows of positive weight that reach the node."""
    weight: Array
    """float64; their weight."""
    costs: Array
    """float64, nodes × labels; the cost of giving each label to all rows of the node, in the units of the data."""
    label_weights: Array | None = field(default=None)
    """float64, nodes × labels; the weight of the rows that carry each label. None where rows carry no label (costs)."""
    rewards: Array | None = field(default=None)
    """float64, nodes × labels; the mean reward, by weight, of giving each label to the rows of the node. None where
    labels have no rewards."""
    hidden: tuple[str, ...] = ()
    """What is shown in place of the figures of each node, empty where they are shown; see `veiled`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "labels", tuple(self.labels))
        for name, dtype in _DTYPES.items():
            value = getattr(self, name)
            if value is not None:
                value = np.array(value, dtype=dtype)
                value.setflags(write=False)
                object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        n_nodes, n_labels = self.n_nodes, len(self.labels)
        if n_nodes == 0 or n_labels == 0:
            raise ValueError("a tree has at least one node and one label")
        vectors = ("threshold", "category", "missing_left", "left", "right", "label", "rows", "weight")
        matrices = [name for name in ("costs", "label_weights", "rewards") if getattr(self, name) is not None]
        shapes = dict.fromkeys(vectors, (n_nodes,)) | dict.fromkeys(matrices, (n_nodes, n_labels))
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"tree: {name} has shape {getattr(self, name).shape}, not {shape}")
        labels = self.label.tolist()
        if min(labels) < 0 or max(labels) >= n_labels:
            raise ValueError("tree: a node names a label that the tree does not have")
        seen, levels = [0] * n_nodes, [0] * n_nodes
        nodes = zip(self.column.tolist(), self.category.tolist(), self.left.tolist(), self.right.tolist(), strict=True)
        for node, (column, category, left, right) in enumerate(nodes):
            if column < 0:
                continue
            if column >= len(self.columns):
                raise ValueError(f"tree: node {node} tests a column that the tree does not have")
            if category >= len(self.columns[column].categories):
                raise ValueError(f"tree: node {node} tests a category that its column does not have")
            if self.columns[column].kind == "ordered" and not self._has_place(node):
                raise ValueError(f"tree: node {node} compares with a place that the order of its column does not have")
            for child in (left, right):
                if not node < child < n_nodes:
                    raise ValueError(f"tree: node {node} has a child that does not come after it")
                seen[child] += 1
                levels[child] = levels[node] + 1
        if seen != [0, *[1] * (n_nodes - 1)]:
            raise ValueError("tree: a node is not the child of exactly one other")
        if max(levels) > DEEPEST:
            raise ValueError(f"tree: it has {max(levels)} levels below its root; at most {DEEPEST} are allowed")

    def _has_place(self, node: int) -> bool:
        threshold = float(self.threshold[node])
        return math.isnan(threshold) or threshold in range(len(self.columns[self.column[node]].categories))

    # The shape ------------------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Inner nodes and leaves together."""
        return len(self.column)

    @property
    def is_leaf(self) -> Array:
        """bool, one per node."""
        return np.asarray(self.column < 0)

    @property
    def leaves(self) -> Array:
        """The leaves' node numbers, from left to right as the tree is read."""
        return np.array([node for node in self.walk() if self.column[node] < 0], dtype=np.int32)

    @cached_property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.column < 0))

    @property
    def node_depth(self) -> Array:
        """int32, one per node; the root has depth 0."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(self.column >= 0):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @cached_property
    def depth(self) -> int:
        """A lone leaf has depth 0."""
        return int(self.node_depth.max())

    @property
    def parent(self) -> Array:
        """int32, one per node; -1 at the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int32)
        for node in np.flatnonzero(self.column >= 0):
            parent[self.left[node]] = parent[self.right[node]] = node
        return parent

    def walk(self) -> Iterator[int]:
        """All nodes: a parent, everything left of it, everything right of it."""
        stack = [0]
        while stack:
            node = stack.pop()
            yield node
            if self.column[node] >= 0:
                stack += [int(self.right[node]), int(self.left[node])]

    # In words -------------------------------------------------------------------------------------------------------

    def test(self, node: int) -> Test:
        """The test of an inner node."""
        if self.column[node] < 0:
            raise ValueError(f"node {node} is a leaf and tests nothing")
        column = self.columns[self.column[node]]
        threshold, category = float(self.threshold[node]), int(self.category[node])
        return Test(
            column,
            threshold=None if math.isnan(threshold) else threshold,
            category=None if category < 0 else column.categories[category],
            missing_left=bool(self.missing_left[node]),
        )

    def node_label(self, node: int) -> Value:
        """What a leaf predicts; for an inner node, the best single label of its rows."""
        return self.labels[int(self.label[node])]

    def path(self, node: int) -> list[tuple[Test, bool]]:
        """The tests from the root to a node, each with whether it holds there."""
        parent, steps = self.parent, []
        while node != 0:
            above = int(parent[node])
            steps.append((self.test(above), bool(self.left[above] == node)))
            node = above
        return steps[::-1]

    # Prediction -----------------------------------------------------------------------------------------------------

    def apply(self, X: Any) -> Array:
        """The leaf (node number) that each row reaches."""
        table = self.read(X)
        tested = set(self.column.tolist()) - {-1}
        # In one piece, because a pass over a column of a matrix fetches all the others, too.
        pieces = {index: np.ascontiguousarray(table.columns[index]) for index in tested}
        values = {index: self.columns[index].read(piece, table) for index, piece in pieces.items()}
        # From the last node to the first, so that a node finds both sides done. Every test looks at whole columns:
        # sparse trees have few nodes, and gathering the rows of each would cost more.
        reached: list[Any] = list(np.arange(self.n_nodes, dtype=np.int16 if self.n_nodes < 2**15 else np.int32))
        for node in range(self.n_nodes - 1, -1, -1):
            if self.column[node] >= 0:
                holds = self.test(node).holds(values[int(self.column[node])])
                left, right = reached[self.left[node]], reached[self.right[node]]
                reached[node] = right + holds * (left - right)  # a choice by `where` would branch at every row
                reached[self.left[node]] = reached[self.right[node]] = None  # seen for the last time
        return np.full(table.n_rows, reached[0], dtype=np.int32)

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        return np.array(self.labels)[self.label[self.apply(X)]]

    def predict_proba(self, X: Any) -> Array:
        """For each row the shares of the labels in its leaf, by weight."""
        if self.label_weights is None:
            raise ValueError("this tree was made from costs: its rows carry no labels to take shares of")
        shares = self.label_weights / self.label_weights.sum(axis=1, keepdims=True)
        return np.asarray(shares[self.apply(X)])

    def read(self, X: Any) -> Table:
        """A table with this tree's columns, or an error that names what differs."""
        table = read_table(X)
        if table.has_names:
            expected = tuple(column.name for column in self.columns)
            missing = [name for name in expected if name not in table.names]
            extra = [name for name in table.names if name not in expected]
            if (missing or extra) and expected != tuple(f"x{index}" for index in range(len(expected))):
                raise ValueError(f"the columns differ from the tree's: missing {missing}, unexpected {extra}")
            if not (missing or extra) and table.names != expected:
                raise ValueError("the columns are the tree's, but in another order")
        if table.n_columns != len(self.columns):
            raise ValueError(f"X has {table.n_columns} columns, but the tree has {len(self.columns)}")
        orders = {
            name: column.categories
            for name, column in zip(table.names, self.columns, strict=True)
            if column.kind == "ordered"
        }
        if not orders and not table.declared:
            return table
        # An order is the tree's own, whatever the table says of it: a file says nothing.
        own = zip(table.names, table.is_categorical, strict=True)
        is_categorical = tuple(name not in orders and is_category for name, is_category in own)
        return replace(table, is_categorical=is_categorical, declared=orders)

    # Names ----------------------------------------------------------------------------------------------------------

    def renamed(
        self,
        columns: Names = None,
        labels: Labels = None,
    ) -> Tree:
        """The same tree with other names, for showing it: all of them in order, or those that change by their old name.

        Such a tree predicts tables whose columns have the new names.

        Parameters
        ----------
        columns : sequence or mapping, default=None
            In place of a name there may be a mapping with some of "name", "unit" (shown behind the numbers of a numeric
            column) and "answers". Two answers take the place of a comparison, in a column with one cut:
            `{"black": {"name": "Black", "answers": ("no", "yes")}}` shows "black <= 0.5" as "Black: no".
        labels : sequence or mapping, default=None
            What the labels are called: one name per label in their order, or new names by old ones. None: as before.

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            If a name does not exist, if the number of names is wrong, or if a column cannot be shown as asked for.

        Examples
        --------
        >>> from certree import SparseTreeClassifier
        >>> tree = SparseTreeClassifier(1, 0.01).fit([[0], [1]], ["low", "high"]).tree_
        >>> print(tree.renamed({"x0": {"name": "Black", "answers": ("no", "yes")}}))
        ├── Black: no: low    100% of 1 row
        └── Black: yes: high  100% of 1 row
        """
        own = tuple(column.name for column in self.columns)
        words = _rename("feature_names", own, columns)
        return replace(
            self,
            columns=tuple(self._reword(place, given) for place, given in enumerate(words)),
            labels=tuple(plain_value(label) for label in _rename("class_names", self.labels, labels)),
        )

    def _reword(self, place: int, words: Any) -> Column:
        """A column as it is to be shown."""
        column = self.columns[place]
        if not isinstance(words, Mapping):
            return replace(column, name=str(words))
        unknown = [key for key in words if key not in ("name", "unit", "answers")]
        if unknown:
            raise ValueError(
                f"feature_names has {unknown[0]!r} for {column.name!r}; a column has a name, a unit and answers"
            )
        name, unit, answers = str(words.get("name", column.name)), str(words.get("unit", "")), words.get("answers")
        if unit and column.kind != "numeric":
            raise ValueError(f"feature_names has a unit for {column.name!r}, which is {column.kind}")
        if answers is not None:
            if isinstance(answers, str) or len(answers) != 2:
                raise ValueError(f"the answers of {column.name!r} must be two texts, not {answers!r}")
            if column.kind == "categorical":
                raise ValueError(f"feature_names has two answers for {column.name!r}, which is categorical")
            cuts = {self.test(int(node)).threshold for node in np.flatnonzero(self.column == place)} - {None}
            if len(cuts) > 1:
                raise ValueError(f"feature_names has two answers for {column.name!r}, which has {len(cuts)} cuts")
            answers = (str(answers[0]), str(answers[1]))
        return replace(column, name=name, unit=unit, answers=answers)

    def veiled(self, least: int | None) -> Tree:
        """The same tree for showing it to others, without the figures of leaves that hold fewer than `least` rows.

        Where these could be worked out from the figures that are left, others are hidden as well: at least two leaves
        that together hold `least` rows, and every node above a hidden leaf.

        Parameters
        ----------
        least : int or None
            None hides nothing.

        Returns
        -------
        Tree
            It predicts the same, and `to_dict` still has all figures.

        Raises
        ------
        ValueError
            If `least` is not a whole number of at least 1.
        """
        if least is None:
            return self
        if isinstance(least, bool) or not isinstance(least, int) or least < 1:
            raise ValueError(f"hide_below must be a whole number of at least 1 or None, not {least!r}")
        leaves = self.leaves.tolist()
        hidden = find_hidden(self.rows[leaves].tolist(), least)
        texts = [""] * self.n_nodes
        for leaf in (leaves[place] for place in hidden):
            texts[leaf] = f"fewer than {least:,} rows" if self.rows[leaf] < least else "rows not shown"
            above = int(self.parent[leaf])
            while above >= 0:
                texts[above] = "rows not shown"
                above = int(self.parent[above])
        return replace(self, hidden=tuple(texts))

    # Plain data -----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON and whole by itself."""
        nodes = []
        for node in range(self.n_nodes):
            entry: dict[str, Any] = {}
            if self.column[node] >= 0:
                test = self.test(node)
                entry |= {"test": test.text, "column": int(self.column[node])}
                if test.threshold is not None:
                    entry["threshold"] = test.threshold
                if test.category is not None:
                    entry["category"] = int(self.category[node])
                entry |= {
                    "missing_left": test.missing_left,
                    "left": int(self.left[node]),
                    "right": int(self.right[node]),
                }
            entry |= {"label": int(self.label[node]), "rows": int(self.rows[node]), "weight": float(self.weight[node])}
            entry["costs"] = self.costs[node].tolist()
            if self.label_weights is not None:
                entry["label_weights"] = self.label_weights[node].tolist()
            if self.rewards is not None:
                entry["rewards"] = self.rewards[node].tolist()
            nodes.append(entry)
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "categories": list(column.categories),
                "has_missing": column.has_missing,
            }
            for column in self.columns
        ]
        version = ORDERED_VERSION if any(column.kind == "ordered" for column in self.columns) else VERSION
        return {"format": FORMAT, "version": version, "columns": columns, "labels": list(self.labels), "nodes": nodes}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tree:
        """The tree of `to_dict`; whatever else it is given is one ValueError that says what is wrong.

        The text of a test is for people: it follows from the rest of its node, and is not read.
        """
        return cls(**read_plain_tree(data))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the versioned plain form, so that a pickle lives as long as the JSON does.
        return (Tree.from_dict, (self.to_dict(),))

    def __str__(self) -> str:
        return describe_tree(self)

    def _repr_html_(self) -> str:
        return tree_html(self)

    def __repr__(self) -> str:
        return (
            f"Tree(depth={self.depth}, n_leaves={self.n_leaves}, columns={len(self.columns)}, labels={self.labels!r})"
        )


def _rename(parameter: str, own: Sequence[Any], names: Sequence[Any] | Mapping[Any, Any] | None) -> Sequence[Any]:
    if names is None:
        return own
    if isinstance(names, Mapping):
        unknown = [name for name in names if name not in own]
        if unknown:
            raise ValueError(f"{parameter} renames {unknown[0]!r}, which the tree does not have; it has {list(own)}")
        return [names.get(name, name) for name in own]
    if isinstance(names, str) or len(names) != len(own):
        count = "one name" if isinstance(names, str) else f"{len(names)} names"
        raise ValueError(f"{parameter} has {count}, but the tree has {len(own)}: {list(own)}")
    return list(names)


def tree_of(model: Any) -> Tree:
    """The tree of a fitted estimator, of a Solution, or a tree itself."""
    if isinstance(model, Tree):
        return model
    if hasattr(model, "get_params"):
        check_is_fitted(model, "tree_")
        tree = model.tree_
    else:
        tree = getattr(model, "tree", None)
    if not isinstance(tree, Tree):
        raise TypeError(f"a {type(model).__name__} has no certree tree; pass a fitted estimator, a Solution or a Tree")
    return tree


def find_hidden(counts: Sequence[int], least: int) -> list[int]:
    """The places of counts that are not to be shown: those below `least` and, where these could be worked out from the
    total, the next ones: at least two, which together count `least`. None where no count is small."""
    order = sorted(range(len(counts)), key=counts.__getitem__)
    n_small = n_hidden = sum(count < least for count in counts)
    while n_small and n_hidden < len(order) and (
        n_hidden < 2 or sum(counts[place] for place in order[:n_hidden]) < least
    ):  # fmt: skip
        n_hidden += 1
    return order[:n_hidden]
