"""A test from what somebody wrote: "age <= 31.5", "smoker is true", plain data, or a Test itself.

What `Test.text` writes is read back as the same test, and so are its opposite and "<" and ">=".
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from certree.tree.columns import Column, Test, Value, plain_value


class EditError(ValueError):
    """A start or a forbidden test that the table or the limits do not admit."""


@dataclass(frozen=True)
class Asked:
    """A test, the number of its column, and whether it was given as its opposite."""

    column: int
    test: Test
    is_swapped: bool = False


_RELATIONS = re.compile(r"\s*(<=|>=|==|!=|<|>|is\b)\s*(.*?)\s*$", re.DOTALL)
_HOW = "write a test as “age <= 31.5”, “colour == 'red'”, “smoker is true” or “age is missing”"


def find_column(name: Any, columns: Sequence[Column], what: str) -> int:
    """The number of a column, by its name or its number."""
    names = [column.name for column in columns]
    if isinstance(name, str) and name in names:
        return names.index(name)
    if not isinstance(name, (str, bool)) and hasattr(name, "__index__") and 0 <= int(name) < len(names):
        return int(name)
    raise EditError(f"{what}: the table has no column {name!r}; its columns are {', '.join(names)}")


def read_test(given: Any, columns: Sequence[Column], what: str) -> Asked:
    """A test on one of the columns; `what` is the parameter that an error names."""
    if isinstance(given, Test):
        given = write_test(given)
    if isinstance(given, str):
        return _read_text(given, columns, what)
    if not isinstance(given, Mapping):
        raise EditError(f"{what}: {given!r} is not a test; {_HOW}")
    if "column" in given:
        return _read_plain(given, columns, what)
    if isinstance(given.get("test"), str):
        return _read_text(given["test"], columns, what)
    raise EditError(f"{what}: {dict(given)!r} has neither a test nor a column; {_HOW}")


def write_test(test: Test) -> dict[str, Any]:
    """A test as plain data. The text is for people: it follows from the rest."""
    plain: dict[str, Any] = {"test": test.text, "column": test.column.name, "missing_left": test.missing_left}
    if test.threshold is not None:
        plain["threshold"] = test.threshold
    elif test.category is not None:
        plain["category"] = test.category
    return plain


def _read_plain(given: Mapping[str, Any], columns: Sequence[Column], what: str) -> Asked:
    place = find_column(given["column"], columns, what)
    column, is_left = columns[place], bool(given.get("missing_left", False))
    if "threshold" in given:
        threshold = given["threshold"]
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not math.isfinite(threshold):
            raise EditError(f"{what}: the threshold of a test on column {column.name!r} is {threshold!r}, not a number")
        _need_order(column, what)
        if column.kind == "ordered" and threshold not in range(len(column.categories)):
            raise EditError(f"{what}: column {column.name!r} has no place {threshold!r} in its order")
        return Asked(place, Test(column, threshold=float(threshold), missing_left=is_left))
    if "category" in given:
        return Asked(place, Test(column, category=_find_category(given["category"], column, what)))
    if not is_left:
        raise EditError(f"{what}: a test on column {column.name!r} has neither a threshold nor a category")
    return Asked(place, Test(column, missing_left=True))


def _read_text(text: str, columns: Sequence[Column], what: str) -> Asked:
    # Of several names that the text starts with, the longest is meant.
    for place, column in sorted(enumerate(columns), key=lambda entry: -len(entry[1].name)):
        rest = text.strip()[len(column.name) :]
        match = _RELATIONS.match(rest)
        if text.strip().startswith(column.name) and match:
            return _read_relation(match[1], match[2], place, column, what)
    parts = re.match(r"\s*(.+?)\s*(<=|>=|==|!=|<|>|\bis\b)", text)
    if parts:
        find_column(parts[1], columns, what)
    raise EditError(f"{what}: {text!r} is not a test; {_HOW}")


def _read_relation(relation: str, value: str, place: int, column: Column, what: str) -> Asked:
    if relation == "is":
        return _read_is(value, place, column, what)
    if relation in ("==", "!="):
        category = _find_category(value, column, what, is_text=True)
        if column.kind == "boolean" and not column.has_missing:
            return Asked(place, Test(column, category=True), is_swapped=(relation == "==") != category)
        return Asked(place, Test(column, category=category), is_swapped=relation == "!=")
    _need_order(column, what)
    bound = value.removesuffix(" or missing")
    names_missing = bound != value
    threshold = _read_bound(bound, column, what)
    if relation in ("<", ">="):
        # A number is below t exactly where it is at most the largest float below t.
        threshold = threshold - 1 if column.kind == "ordered" else math.nextafter(threshold, -math.inf)
        if column.kind == "ordered" and threshold < 0:
            raise EditError(f"{what}: no category of column {column.name!r} is below {bound}")
    is_swapped = relation in (">", ">=")
    is_left = names_missing != is_swapped if column.has_missing else names_missing and not is_swapped
    return Asked(place, Test(column, threshold=threshold, missing_left=is_left), is_swapped)


def _read_is(value: str, place: int, column: Column, what: str) -> Asked:
    is_negated = value.startswith("not ")
    value = value.removeprefix("not ").strip()
    if value == "missing":
        return Asked(place, Test(column, missing_left=True), is_negated)
    if value.lower() not in ("true", "false") or column.kind != "boolean":
        raise EditError(f"{what}: column {column.name!r} is {column.kind}, and cannot be {value!r}; {_HOW}")
    category = value.lower() == "true"
    if not column.has_missing:
        return Asked(place, Test(column, category=True), is_swapped=is_negated == category)
    return Asked(place, Test(column, category=category), is_swapped=is_negated)


def _need_order(column: Column, what: str) -> None:
    if column.kind not in ("numeric", "ordered"):
        how = "is true" if column.kind == "boolean" else f"== {next(iter(column.categories), 'value')!r}"
        raise EditError(f"{what}: column {column.name!r} is {column.kind} and has no order: ask “{column.name} {how}”")


def _read_bound(text: str, column: Column, what: str) -> float:
    if column.kind == "ordered":
        found = _match(text, column.categories)
        if found is None:
            order = " < ".join(map(repr, column.categories))
            raise EditError(f"{what}: {text} is not one of the categories {order} of column {column.name!r}")
        return float(column.categories.index(found))
    try:
        number = float(text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d*)?", text) else text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise EditError(f"{what}: {text!r} is not a number that column {column.name!r} could be compared with")
    return number


def _find_category(given: Any, column: Column, what: str, *, is_text: bool = False) -> Value:
    if column.kind in ("numeric", "ordered"):
        raise EditError(f"{what}: column {column.name!r} is {column.kind}: compare it by “<=” or “>”")
    found = _match(given, column.categories) if is_text else _same(plain_value(given), column.categories)
    if found is None:
        few = ", ".join(map(repr, column.categories[:10])) + (", …" if len(column.categories) > 10 else "")
        raise UnknownCategoryError(f"{what}: column {column.name!r} has no category {given}; it has {few}")
    return found


class UnknownCategoryError(EditError):
    """A category that no row has."""


def _match(text: str, categories: Sequence[Value]) -> Value | None:
    """The category that is written so, in quotes or without."""
    try:
        found = _same(ast.literal_eval(text), categories)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        found = None
    return _same(text, categories) if found is None else found


def _same(value: Any, categories: Sequence[Value]) -> Value | None:
    # True is 1, and no category like it.
    return next((own for own in categories if own == value and isinstance(own, bool) == isinstance(value, bool)), None)
