"""A tree from plain data that anybody may have written: whatever is wrong with it is one ValueError that says what."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from certree.tree.columns import Column, Kind, Value

FORMAT = "certree.tree"
VERSION = 1
ORDERED_VERSION = 2
"""Of trees with an ordered column, which version 1 does not know: an older release must refuse them."""
LARGEST_INDEX = int(np.iinfo(np.int32).max)

_NODE_FIELDS = ("column", "threshold", "category", "missing_left", "left", "right", "label", "rows", "weight", "costs")
_LEAF = {"column": -1, "threshold": np.nan, "category": -1, "missing_left": False, "left": -1, "right": -1}
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def read_plain_tree(data: Any) -> dict[str, Any]:
    """What a Tree is made of, from what its `to_dict` gave.

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
    return {"columns": tuple(columns), "labels": tuple(labels), **arrays}


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
            raise ValueError(f"{owner} asks for a category: missing_left is true, but missing is not a category")
    elif not is_left:
        raise ValueError(
            f"{owner} tests column {column.name!r}, but has neither threshold nor category nor missing_left"
        )
    return test
