"""A tree as the data that the page's script draws it from and answers with.

The script decides as `Test.holds` does, so thresholds are exact and categories go by their place. Texts are made here:
the script puts them where they belong and makes none of its own about a test.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certree.table import Table
from certree.tree import Array, Column, Tree
from certree.tree.columns import Test
from certree.tree.words import PALETTE

MOST_CATEGORIES = 50
"""Of a column whose categories are all on the page."""


@dataclass(frozen=True)
class Words:
    """How the page speaks of columns, by the names that it gives them."""

    units: Mapping[str, str]
    binary: frozenset[str] = frozenset()
    """Numeric columns that hold 0 and 1 alone: no and yes."""


@dataclass(frozen=True)
class Leaf:
    """What the page says of a leaf."""

    lines: Sequence[str]
    """In its box."""
    details: Sequence[tuple[str, str]] = ()
    """The rows of its table."""


def tree_data(tree: Tree, words: Words, describe: Callable[[Tree, int], Leaf]) -> list[dict[str, Any]]:
    """The nodes of a tree."""
    nodes = []
    for node in range(tree.n_nodes):
        entry: dict[str, Any] = {"label": int(tree.label[node])}
        if tree.column[node] < 0:
            leaf = describe(tree, node)
            entry["lines"] = list(leaf.lines)
            if leaf.details:
                entry["details"] = [list(row) for row in leaf.details]
        else:
            test = tree.test(node)
            entry |= {
                "column": int(tree.column[node]),
                "left": int(tree.left[node]),
                "right": int(tree.right[node]),
                "question": question(test, words),
                "ways": ["no", "yes"] if _is_no(test, words) else ["yes", "no"],
                "answers": [answer(test, words, holds=True), answer(test, words, holds=False)],
            }
            if test.threshold is not None:
                entry |= {"threshold": test.threshold, "missing": test.missing_left}
            elif test.category is not None:
                entry["category"] = int(tree.category[node])
        nodes.append(entry)
    return nodes


def column_data(tree: Tree, table: Table, words: Words) -> list[dict[str, Any]]:
    """The columns that the tree uses, each with a usual value and with what is a large difference."""
    found = []
    for place in sorted(set(tree.column.tolist()) - {-1}):
        column = tree.columns[place]
        entry = {"place": place, "name": column.name, "kind": column.kind, "unit": words.units.get(column.name, "")}
        if column.name in words.binary:
            entry["kind"] = "binary"
        entry["categories"] = _list_categories(tree, place)
        found.append(entry | _describe_values(column, column.read(table.columns[place], table)))
    return found


def _list_categories(tree: Tree, place: int) -> list[tuple[int, str]]:
    """The categories to choose from, by their places: all of an ordered column, else those that the tree asks for and
    some others. A column of names or numbers of people must not hand them out."""
    column = tree.columns[place]
    asked = {int(code) for code, own in zip(tree.category, tree.column, strict=True) if own == place and code >= 0}
    is_few = column.kind == "ordered" or len(column.categories) <= MOST_CATEGORIES
    return [(code, str(name)) for code, name in enumerate(column.categories) if is_few or code in asked]


def _describe_values(column: Column, values: Array) -> dict[str, Any]:
    """The median and the distance between the quartiles (or, where half of the values are one, the standard
    deviation), and whether all are whole numbers; of categories, the place of the most frequent one."""
    if column.kind == "numeric":
        values = values[~np.isnan(values)]
        if len(values) == 0:
            return {"usual": None, "scale": 1.0, "whole": False}
        low, usual, high = np.quantile(values, [0.25, 0.5, 0.75], method="lower").tolist()
        is_whole = bool((values == np.floor(values)).all())
        return {"usual": usual, "scale": high - low or float(values.std()) or 1.0, "whole": is_whole}
    if column.kind == "ordered":
        places = values[np.isfinite(values)].astype(int).tolist()
    else:
        place_of = {category: place for place, category in enumerate(column.categories)}
        places = [place_of[value] for value in values.tolist() if value in place_of]
    return {"usual": max(sorted(set(places)), key=Counter(places).__getitem__, default=None), "scale": 1.0}


def label_data(tree: Tree) -> list[dict[str, str]]:
    """The labels with the colours that pictures give them."""
    return [{"name": str(label), "colour": PALETTE[place % len(PALETTE)]} for place, label in enumerate(tree.labels)]


# Tests as people ask and answer them --------------------------------------------------------------------------------


def find_binary(tree: Tree, table: Table) -> frozenset[str]:
    """The numeric columns that hold 0 and 1 alone."""
    found = set()
    for column, values in zip(tree.columns, table.columns, strict=True):
        if column.kind == "numeric" and not column.has_missing:
            numbers = column.read(values, table)
            if ((numbers == 0) | (numbers == 1)).all():
                found.add(column.name)
    return frozenset(found)


def _is_no(test: Test, words: Words) -> bool:
    """Whether the test holds where a column of 0 and 1, or of false and true, says no."""
    if _is_boolean(test):
        return test.category is False
    return test.column.name in words.binary and test.threshold is not None and 0 <= test.threshold < 1


def _is_boolean(test: Test) -> bool:
    """Whether the column is true or false, and never missing."""
    return test.column.kind == "boolean" and not test.column.has_missing


def question(test: Test, words: Words) -> str:
    """What an inner node asks: "age at most 31?", and of a column that says yes or no by itself, "married?"."""
    if _is_no(test, words) or _is_boolean(test):
        return f"{isolate(test.column.name)}?"
    return f"{answer(test, words, holds=True)}?"


def answer(test: Test, words: Words, *, holds: bool) -> str:
    """The test as a statement, or its opposite: "age above 31"."""
    column, name = test.column, isolate(test.column.name)
    if _is_no(test, words):
        return f"{name}: {'no' if holds else 'yes'}"
    if test.threshold is not None:
        missing = " or missing" if test.missing_left == holds and column.has_missing else ""
        return f"{name} {_compare(test, words, holds=holds)}{missing}"
    if test.category is None:
        return f"{name} {'is' if holds else 'is not'} missing"
    if _is_boolean(test):
        return f"{name}: {'yes' if holds else 'no'}"
    value = str(test.category).lower() if column.kind == "boolean" else isolate(str(test.category))
    return f"{name} {'is' if holds else 'is not'} {value}"


def isolate(text: str) -> str:
    """Text that is written from right to left, set apart so that the sentence around it keeps its direction."""
    is_turned = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if is_turned else text


def _compare(test: Test, words: Words, *, holds: bool) -> str:
    """ "at most 31", or "below 40" where 40 itself does not pass the test."""
    if test.column.kind == "ordered":
        return f"{'at most' if holds else 'above'} {isolate(str(test.bound))}"
    number, is_strict = test.limit()
    unit = words.units.get(test.column.name, "")
    bound = f"{separate(number)} {unit}" if unit else number
    if is_strict:
        return f"{'below' if holds else 'at least'} {bound}"
    return f"{'at most' if holds else 'above'} {bound}"


def separate(number: str) -> str:
    """Four digits with a separator, as amounts have it everywhere else on the page. What has no unit may be a year."""
    whole, point, rest = number.partition(".")
    digits = whole.lstrip("-")
    return f"{int(whole):,}{point}{rest}" if digits.isdecimal() and len(digits) == 4 else number


def conditions(tree: Tree, node: int, words: Words) -> list[str]:
    """What leads to a node, every column once as far as that is possible: "age is above 25 and at most 31"."""
    by_column: dict[str, list[tuple[Test, bool]]] = {}
    for test, holds in tree.path(node):
        by_column.setdefault(test.column.name, []).append((test, holds))
    return [text for steps in by_column.values() for text in _join_steps(steps, words)]


def _join_steps(steps: list[tuple[Test, bool]], words: Words) -> list[str]:
    """The tests of one column, the binding ones alone."""
    column: Column = steps[0][0].column
    if any(test.threshold is None for test, _ in steps) or column.has_missing or column.name in words.binary:
        return list(dict.fromkeys(_state(test, words, holds=holds) for test, holds in steps))
    above = [test for test, holds in steps if not holds]
    below = [test for test, holds in steps if holds]
    parts = []
    if above:
        parts.append(_compare(max(above, key=_threshold), words, holds=False))
    if below:
        parts.append(_compare(min(below, key=_threshold), words, holds=True))
    return [f"{isolate(column.name)} is {' and '.join(parts)}"]


def _state(test: Test, words: Words, *, holds: bool) -> str:
    """The test as a whole clause: "age is above 31"."""
    text, name = answer(test, words, holds=holds), isolate(test.column.name)
    is_bare = test.threshold is not None and not _is_no(test, words)
    return f"{name} is{text.removeprefix(name)}" if is_bare else text


def _threshold(test: Test) -> float:
    assert test.threshold is not None
    return test.threshold
