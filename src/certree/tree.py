"""An immutable binary tree as parallel arrays.

This room promises that a tree is whole by itself: with its columns, its labels and what its rows weighed it can
predict a raw table, explain every node in words, and travel through JSON and pickle, without the data it was fitted
on, the engine or the estimator. A tree is never changed; its arrays are read-only.

The conventions, everywhere: node 0 is the root, a child comes after its parent, *left* is where the test holds, and a
lone leaf has depth 0. Five sorts of test:

    age <= 25.5             a numeric column; missing values go right
    age <= 25.5 or missing  the same; missing values go left
    size <= 'medium'        an ordered column; missing values as in a numeric one
    colour == 'red'         a categorical column; every other category, seen or not, and missing go right
    income is missing       any column

A boolean column is a categorical one with the categories False and True; its tests read "married is true". The values
of an ordered column are the places of its categories, 0 for the lowest: its thresholds are such places.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from certree.table import Table, find_positions, first_text, name_row, read_table

Kind = Literal["numeric", "boolean", "categorical", "ordered"]
Value = str | int | float | bool
"""What a label or a category may be: plain data that JSON can carry."""
Array = NDArray[Any]

FORMAT = "certree.tree"
VERSION = 1
ORDERED_VERSION = 2
"""Of trees with an ordered column, which version 1 does not know: an older release must refuse them."""
LARGEST_INDEX = int(np.iinfo(np.int32).max)
DEEPEST = 10_000
"""Levels below the root at most. No search goes so deep, and a tree that does is somebody's attempt to break things."""


def plain_value(value: Any) -> Value:
    """A label or category as plain Python data."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, int, float)):
        return value
    return str(value)


@dataclass(frozen=True)
class Column:
    """A column as the tree knows it."""

    name: str
    kind: Kind = "numeric"
    categories: tuple[Value, ...] = ()
    """The categories seen in training, in the order of their codes; all of an ordered column, from the lowest to the
    highest; empty for a numeric column."""
    has_missing: bool = False
    """Whether training saw missing values here."""

    def read(self, values: Array, table: Table | None = None) -> Array:
        """Values of this column in the sort that its tests compare, or an error that names what differs.

        `table` is where they come from: it knows what its rows are called.
        """
        if self.kind == "ordered":
            return find_positions(values, self.categories)
        if self.kind == "numeric" and values.dtype != np.float64:
            try:
                values = values.astype(np.float64)
            except (TypeError, ValueError) as error:
                row = first_text(values)
                where = f"{values[row]!r} ({name_row(row, table)})"
                raise ValueError(f"column {self.name!r} is numeric, but holds {where}") from error
        if values.dtype == np.float64 and np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise ValueError(f"column {self.name!r} holds an infinite value ({name_row(row, table)})")
        return values


@dataclass(frozen=True)
class Test:
    """The question an inner node asks. Exactly one of `threshold` and `category` is set, or neither: "is missing"."""

    __test__ = False  # not a test case, whatever pytest makes of the name

    column: Column
    threshold: float | None = None
    category: Value | None = None
    missing_left: bool = False
    """Whether the test holds for a missing value."""

    @property
    def bound(self) -> Value | None:
        """What the test compares values of the column with: the threshold, or the category in its place."""
        if self.threshold is None or self.column.kind != "ordered":
            return self.threshold
        return self.column.categories[int(self.threshold)]

    @property
    def text(self) -> str:
        """The test in words."""
        return self.describe()

    def describe(self, *, holds: bool = True, digits: int | None = None) -> str:
        """The test in words, or its opposite.

        Thresholds are written exactly (the shortest text that reads back as the same number) unless `digits`
        asks for so many significant digits.
        """
        name = self.column.name
        if self.threshold is not None:
            relation = "<=" if holds else ">"
            is_ordered = self.column.kind == "ordered"
            bound = repr(self.bound) if is_ordered else format_number(self.threshold, digits)
            text = f"{name} {relation} {bound}"
            # Only a column that had missing values is worth the words about where they go.
            return f"{text} or missing" if self.missing_left == holds and self.column.has_missing else text
        if self.category is None:
            return f"{name} is missing" if holds else f"{name} is not missing"
        if self.column.kind == "boolean" and not self.column.has_missing:
            return f"{name} is {str(self.category is holds).lower()}"
        if self.column.kind == "boolean":
            return f"{name} is {'' if holds else 'not '}{str(self.category).lower()}"
        return f"{name} {'==' if holds else '!='} {self.category!r}"

    def holds(self, values: Array) -> Array:
        """Whether the test holds, for each value that `Column.read` gave."""
        if self.threshold is not None:
            holds = values <= self.threshold
            return holds | np.isnan(values) if self.missing_left else holds
        if self.category is not None:
            if isinstance(self.category, str) and values.dtype != object:
                return np.zeros(len(values), dtype=bool)  # no number is a word
            return np.asarray(values == self.category, dtype=bool)
        # NaN and None: the float is unlike itself, the object is None.
        return np.isnan(values) if values.dtype == np.float64 else np.asarray(values == None, dtype=bool)  # noqa: E711


def format_number(number: float, digits: int | None = None) -> str:
    """A number for people: no trailing ".0", exact unless `digits` is given.

    A number with more digits before the point than asked for is rounded to a whole one: 13190 and not 1.319e+04.
    """
    text = repr(float(number)) if digits is None else format(float(number), f".{digits}g")
    if digits is not None and "e+" in text and abs(number) < 1e12:
        return f"{number:.0f}"
    return text.removesuffix(".0")


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree. The arrays have one entry a node; `costs` and `label_weights` one row a node."""

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

    def __post_init__(self) -> None:
        dtypes: dict[str, Any] = {
            "column": np.int32, "threshold": np.float64, "category": np.int32, "missing_left": np.bool_,
            "left": np.int32, "right": np.int32, "label": np.int32,
            "rows": np.int64, "weight": np.float64, "costs": np.float64, "label_weights": np.float64,
            "rewards": np.float64,
        }  # fmt: skip
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "labels", tuple(self.labels))
        for name, dtype in dtypes.items():
            value = getattr(self, name)
            if value is not None:
                value = np.array(value, dtype=dtype)
                value.flags.writeable = False
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
        return np.isnan(threshold) or threshold in range(len(self.columns[self.column[node]].categories))

    # The shape ------------------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        return len(self.column)

    @property
    def is_leaf(self) -> Array:
        """bool, one a node."""
        return np.asarray(self.column < 0)

    @property
    def leaves(self) -> Array:
        """The leaves' node numbers, from left to right as the tree is read."""
        return np.array([node for node in self.walk() if self.column[node] < 0], dtype=np.int32)

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.column < 0))

    @property
    def node_depth(self) -> Array:
        """int32, one a node; the root has depth 0."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in np.flatnonzero(self.column >= 0):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth

    @property
    def depth(self) -> int:
        """A lone leaf has depth 0."""
        return int(self.node_depth.max())

    @property
    def parent(self) -> Array:
        """int32, one a node; -1 at the root."""
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
            threshold=None if np.isnan(threshold) else threshold,
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
        values = {index: self.columns[index].read(table.columns[index], table) for index in tested}
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
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise ValueError(f"not a tree: format is {_short(_get(data, 'format'))}, not {FORMAT!r}")
        if not _is_whole(data.get("version")) or data["version"] not in (VERSION, ORDERED_VERSION):
            known = f"versions {VERSION} and {ORDERED_VERSION}"
            raise ValueError(f"a tree of version {_short(data.get('version'))}; this release reads {known}")
        columns = [_read_column(entry, place) for place, entry in enumerate(_read_list(data, "columns", "the tree"))]
        if (data["version"] == ORDERED_VERSION) != any(column.kind == "ordered" for column in columns):
            raise ValueError(f"a tree is of version {ORDERED_VERSION} where a column is ordered, and only there")
        labels = _read_values(data, "labels", "the tree")
        nodes = _read_list(data, "nodes", "the tree")
        arrays: dict[str, list[Any]] = {name: [] for name in _NODE_FIELDS}
        matrices = [name for name in ("label_weights", "rewards") if any(name in _as_node(node) for node in nodes)]
        for place, node in enumerate(nodes):
            for name, value in _read_node(_as_node(node), f"node {place}", columns, len(labels), matrices).items():
                arrays.setdefault(name, []).append(value)
        return cls(columns=tuple(columns), labels=tuple(labels), **arrays)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the versioned plain form, so that a pickle lives as long as the JSON does.
        return (Tree.from_dict, (self.to_dict(),))

    def __repr__(self) -> str:
        return (
            f"Tree(depth={self.depth}, n_leaves={self.n_leaves}, columns={len(self.columns)}, labels={self.labels!r})"
        )


# Reading plain data that anybody may have written --------------------------------------------------------------------

_NODE_FIELDS = ("column", "threshold", "category", "missing_left", "left", "right", "label", "rows", "weight", "costs")
_LEAF = {"column": -1, "threshold": np.nan, "category": -1, "missing_left": False, "left": -1, "right": -1}
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def _short(value: Any) -> str:
    return _SHORT.repr(value)


def _get(data: Any, name: str) -> Any:
    return data.get(name) if isinstance(data, Mapping) else None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # A whole number beyond the floats has no float to become.
    return (_is_whole(value) and abs(value) < 2**1023) or (isinstance(value, float) and math.isfinite(value))


def _read(data: Mapping[str, Any], name: str, owner: str, accepts: Callable[[Any], bool], words: str) -> Any:
    if name not in data:
        raise ValueError(f"not a whole model: {owner} has no {name}")
    if not accepts(data[name]):
        raise ValueError(f"{owner}: {name} is {_short(data[name])}, not {words}")
    return data[name]


def _read_list(data: Mapping[str, Any], name: str, owner: str) -> list[Any]:
    found: list[Any] = _read(data, name, owner, lambda value: isinstance(value, list) and len(value) > 0, "a list")
    return found


def _read_index(data: Mapping[str, Any], name: str, owner: str, end: int) -> int:
    words = f"a whole number from 0 to {end - 1}" if end else "there: its column has none"
    index: int = _read(data, name, owner, lambda value: _is_whole(value) and 0 <= value < end, words)
    return index


def _read_amounts(data: Mapping[str, Any], name: str, owner: str, count: int, least: float = 0.0) -> list[float]:
    """One finite number per label."""

    def accepts(value: Any) -> bool:
        return isinstance(value, list) and len(value) == count and all(_is_number(x) and x >= least for x in value)

    words = f"a list of {count} finite numbers{' of at least 0' if least == 0 else ''}"
    return [float(value) for value in _read(data, name, owner, accepts, words)]


def _read_values(data: Mapping[str, Any], name: str, owner: str) -> list[Value]:
    """Labels or categories: plain values that differ from each other."""
    values: list[Value] = _read(data, name, owner, lambda value: isinstance(value, list), "a list")
    for value in values:
        if not (isinstance(value, bool) or _is_number(value) or _is_text(value)):
            raise ValueError(f"{owner}: {name} holds {_short(value)}, which is neither text nor a finite number")
    if len(set(values)) < len(values):
        twice = next(value for place, value in enumerate(values) if value in values[:place])
        raise ValueError(f"{owner}: {name} holds {_short(twice)} twice")
    return list(values)


def _is_text(value: Any) -> bool:
    """Whole characters: half of a surrogate pair is text that no file can hold."""
    return isinstance(value, str) and not _HALVES.search(value)


_HALVES = re.compile("[\ud800-\udfff]")


def _read_column(entry: Any, place: int) -> Column:
    owner = f"column {place}"
    if not isinstance(entry, Mapping):
        raise ValueError(f"{owner} is {_short(entry)}, not a mapping")
    name = _read(entry, "name", owner, _is_text, "text")
    kind = _read(entry, "kind", owner, lambda value: value in get_args(Kind), f"one of {', '.join(get_args(Kind))}")
    categories = _read_values(entry, "categories", owner)
    if kind == "numeric" and categories:
        raise ValueError(f"{owner}: a numeric column has no categories")
    if kind == "boolean" and not all(isinstance(category, bool) for category in categories):
        raise ValueError(f"{owner}: the categories of a boolean column are true and false, not {_short(categories)}")
    has_missing = _read(entry, "has_missing", owner, lambda value: isinstance(value, bool), "true or false")
    return Column(name, kind, tuple(categories), has_missing)


def _as_node(node: Any) -> Mapping[str, Any]:
    if not isinstance(node, Mapping):
        raise ValueError(f"a node of the tree is {_short(node)}, not a mapping")
    return node


def _read_node(
    node: Mapping[str, Any], owner: str, columns: list[Column], n_labels: int, matrices: list[str]
) -> dict[str, Any]:
    """The entries of a node in every array of a tree."""
    entry: dict[str, Any] = dict(_LEAF)
    if any(name in node for name in ("test", *_LEAF)):
        entry |= _read_test(node, owner, columns)
        entry |= {name: _read_index(node, name, owner, LARGEST_INDEX) for name in ("left", "right")}
    entry["label"] = _read_index(node, "label", owner, n_labels)
    entry["rows"] = _read(node, "rows", owner, lambda x: _is_whole(x) and 0 <= x < 2**63, "a whole number of rows")
    entry["weight"] = float(
        _read(node, "weight", owner, lambda x: _is_number(x) and x >= 0, "a finite number of at least 0")
    )
    entry["costs"] = _read_amounts(node, "costs", owner, n_labels)
    for name in matrices:
        entry[name] = _read_amounts(node, name, owner, n_labels, least=-math.inf if name == "rewards" else 0.0)
    return entry


def _read_test(node: Mapping[str, Any], owner: str, columns: list[Column]) -> dict[str, Any]:
    place = _read_index(node, "column", owner, len(columns))
    column = columns[place]
    is_left = _read(node, "missing_left", owner, lambda value: isinstance(value, bool), "true or false")
    test: dict[str, Any] = {"column": place, "missing_left": is_left}
    if "threshold" in node and "category" in node:
        raise ValueError(f"{owner} has both a threshold and a category")
    if "threshold" in node:
        if column.kind not in ("numeric", "ordered"):
            raise ValueError(f"{owner} has a threshold, but column {column.name!r} is {column.kind}")
        test["threshold"] = float(_read(node, "threshold", owner, _is_number, "a finite number"))
    elif "category" in node:
        if column.kind in ("numeric", "ordered"):
            raise ValueError(f"{owner} has a category, but column {column.name!r} is {column.kind}")
        test["category"] = _read_index(node, "category", owner, len(column.categories))
        if is_left:
            raise ValueError(f"{owner} asks for a category: missing_left is true, but a missing value is none")
    elif not is_left:
        raise ValueError(
            f"{owner} tests column {column.name!r}, but has neither threshold nor category nor missing_left"
        )
    return test
