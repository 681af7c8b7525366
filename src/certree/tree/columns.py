"""A column as a tree knows it, and the tests that can be put to it.

Five sorts of test:

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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.table import Table, find_positions, first_text, name_row

Kind = Literal["numeric", "boolean", "categorical", "ordered"]
Value = str | int | float | bool
"""What a label or a category may be: plain data that JSON can carry."""
Array = NDArray[Any]
Digits = int | Literal["readable"] | None
"""Significant digits of a number: so many, as many as people read, or all that it takes to be exact (None)."""
READABLE: Literal["readable"] = "readable"
MOST_FIGURES = 7
"""Significant digits of a number that is readable as it is."""
MOST_EXACT_FIGURES = 12
"""Significant digits of a limit that may have been given: “< 2588.325” is exactly “<= 2588.3249999999994”."""


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
    unit: str = ""
    """What stands behind the numbers of a numeric column where it is shown."""
    answers: tuple[str, str] | None = None
    """What is shown in place of a comparison, in a column with one cut: what lies below it, and what lies above."""

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

    def limit(self, digits: Digits = READABLE) -> tuple[str, bool]:
        """The number that a numeric test is shown with, and whether a value must be below it: “<” and not “<=”.

        A threshold that was rounded up is shown with “<”, because the number that is shown does not pass the test. So
        whoever has a value of no more digits than the number sees where `predict` sends it: no such value lies between
        the threshold and what it was rounded to.
        """
        assert self.threshold is not None
        limit = self._find_strict_limit()
        # The float above a threshold of 0 or of many digits is what was meant, however few digits are asked for.
        if limit is not None and (digits is None or limit == 0):
            return format_number(limit, digits), True
        text = format_number(self.threshold, digits)
        return text, float(text.replace(",", "")) > self.threshold

    def _find_strict_limit(self) -> float | None:
        """The float above the threshold, if it has few significant digits where the threshold has many."""
        if self.threshold is None or self.column.kind == "ordered":
            return None
        above = math.nextafter(self.threshold, math.inf)
        is_short = _n_figures(above) <= (MOST_FIGURES if above.is_integer() else MOST_EXACT_FIGURES)
        # The float below 0 has one digit, and an exponent that nobody has seen.
        is_long = _n_figures(self.threshold) >= 15 or above == 0
        return above + 0.0 if is_short and is_long else None

    @property
    def text(self) -> str:
        """The test in words."""
        return self.describe()

    def describe(self, *, holds: bool = True, digits: Digits = None) -> str:
        """The test in words, or its opposite.

        Thresholds are written exactly (a short text that reads back as the same test) unless `digits` asks for so many
        significant digits.
        """
        name = self.column.name
        if self.answers is not None:
            return f"{name}: {self.answers[not holds]}"
        if self.threshold is not None:
            is_ordered = self.column.kind == "ordered"
            number, is_strict = (repr(self.bound), False) if is_ordered else self.limit(digits)
            relation = ("<" if holds else ">=") if is_strict else ("<=" if holds else ">")
            text = f"{name} {relation} {number} {self.column.unit}".rstrip()
            # Only a column that had missing values is worth the words about where they go.
            return f"{text} or missing" if self.missing_left == holds and self.column.has_missing else text
        if self.category is None:
            return f"{name} is missing" if holds else f"{name} is not missing"
        if self.column.kind == "boolean" and not self.column.has_missing:
            return f"{name} is {str(self.category is holds).lower()}"
        if self.column.kind == "boolean":
            return f"{name} is {'' if holds else 'not '}{str(self.category).lower()}"
        return f"{name} {'==' if holds else '!='} {self.category!r}"

    @property
    def answers(self) -> tuple[str, str] | None:
        """What is shown for the test and for its opposite in place of a comparison, where the column says so."""
        if self.column.answers is None or (self.threshold is None and self.category is None):
            return None
        low, high = self.column.answers
        if self.threshold is None:
            return (high, low) if self.category is True else (low, high)
        if not self.column.has_missing:
            return low, high
        return (f"{low} or missing", high) if self.missing_left else (low, f"{high} or missing")

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


def format_number(number: float, digits: Digits = None) -> str:
    """A number for people: no trailing ".0", exact unless `digits` is given.

    A number with more digits before the point than asked for is rounded to a whole one: 13190 and not 1.319e+04.
    READABLE rounds only what nobody would write out: 8940.03 (for 8940.029999999999) and 1987.5 stay as they are,
    0.011880276333919991 becomes 0.01188, and five digits before the point have a separator. Four have none: a year
    would read 1,975.
    """
    if digits == READABLE:
        short = float(format(float(number), ".10g"))
        text = format_number(short) if _n_figures(short) <= MOST_FIGURES else format_number(number, 4)
        whole, point, rest = text.partition(".")
        is_long = whole.lstrip("-").isdecimal() and len(whole.lstrip("-")) > 4
        return f"{int(whole):,}{point}{rest}" if is_long else text
    text = repr(float(number)) if digits is None else format(float(number), f".{digits}g")
    if digits is not None and "e+" in text and abs(number) < 1e12:
        return f"{number:.0f}"
    return text.removesuffix(".0")


def _n_figures(number: float) -> int:
    """Significant digits of the shortest text that reads back as the same number."""
    return len(repr(float(number)).partition("e")[0].replace(".", "").strip("-0"))
