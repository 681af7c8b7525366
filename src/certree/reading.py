"""What each column was read as, and what its owner may not have meant.

This room promises that nothing is misread in silence. It changes nothing: one stray word still makes a column of
numbers categorical, as documented, but it is said, with the cells and the rows that did it.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from certree.table import Table, name_row
from certree.tree import READABLE, Column, Kind, Test, Value, plain_value

MOST_WORDS = 0.2
"""The share of the cells, or of the distinct values, that may be words in a column that looks numeric."""
MOST_CELLS, MOST_COLUMNS, MOST_CATEGORIES = 3, 5, 8
"""How many are shown of the cells of a column, the columns of a warning, the categories of an order."""

MOST_LINES = 20
"""Columns that are listed one by one; of more, each kind is counted."""
MOST_ROOM = 40
"""Letters that a list keeps free for the names of columns."""

# Numbers as people write them: a decimal comma, groups of thousands, a currency, a percentage.
_NUMBER_LIKE = re.compile(
    r"[$€£]?\s*[-+−]?\s*[$€£]?\s*"
    r"(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.'_\u00a0\u202f]\d{3})+([.,]\d+)?)([eE][-+]?\d+)?\s*[%$€£]?"
)


# Dates as people write them, with or without a time: 2023-08-21, 21.08.2023, 8/21/23.
_DATE_LIKE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}.*)?")
DATES, IDS, NOTATION = "its cells are dates", "has a different category in every row", "in another notation"
"""What a remark says of a column, by which others know what to advise."""
LEAST_IDS = 20
"""Of fewer rows, each may well have a category of its own."""


class ReadingWarning(UserWarning):
    """A column may have been read as something that was not meant, such as numbers that one bad cell turned into text.

    Examples
    --------
    >>> import warnings
    >>> from certree import ReadingWarning
    >>> warnings.simplefilter("error", ReadingWarning)  # refuse such tables
    >>> warnings.simplefilter("default", ReadingWarning)
    """


class IdleTestWarning(ReadingWarning):
    """A test that was forbidden forbids nothing, because no tree could ask it: perhaps a typing error.

    Examples
    --------
    >>> import warnings
    >>> from certree import IdleTestWarning
    >>> warnings.simplefilter("ignore", IdleTestWarning)  # a table that changes
    >>> warnings.simplefilter("default", IdleTestWarning)
    """


@dataclass(frozen=True, repr=False)
class ColumnReading:
    """What one column was read as; `print` shows it in words.

    Examples
    --------
    >>> from certree import SparseTreeClassifier
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(model.columns_[0])
    x0: numeric, 2 values
    """

    name: str
    kind: Kind
    n_distinct: int | None = None
    """Distinct values, the missing one not counted; None where it is not known (a model of an older release)."""
    n_missing: int | None = None
    order: tuple[Value, ...] = ()
    """The categories of an ordered column, from the lowest to the highest."""
    remark: str = ""
    """What may not have been meant, as the end of a sentence about the column; empty for most."""

    @property
    def text(self) -> str:
        """Such as "numeric, 61 values, 3 missing"."""
        parts: list[str] = [self.kind]
        if self.kind == "ordered":
            parts.append(" < ".join(_shorten([repr(category) for category in self.order])))
        elif self.kind != "boolean" and self.n_distinct is not None:
            one, many = ("value", "values") if self.kind == "numeric" else ("category", "categories")
            parts.append(f"{self.n_distinct:,} {one if self.n_distinct == 1 else many}")
        if self.n_missing:
            parts.append(f"{self.n_missing:,} missing")
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" + (f"; {self.remark}" if self.remark else "")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, ready for JSON."""
        return asdict(self) | {"order": list(self.order)}


def restore_readings(data: Any, columns: Sequence[Column]) -> tuple[ColumnReading, ...]:
    """The readings of a model that was written to a file; where the file has none, what its tree knows."""
    if data is None:
        return tuple(
            ColumnReading(column.name, column.kind, order=column.categories if column.kind == "ordered" else ())
            for column in columns
        )
    if not isinstance(data, list) or len(data) != len(columns):
        raise ValueError(f"readings must be a list with an entry for each of the {len(columns)} columns")
    names = [field.name for field in fields(ColumnReading)]
    readings = []
    for entry, column in zip(data, columns, strict=True):
        if not isinstance(entry, Mapping) or sorted(entry) != sorted(names):
            raise ValueError(f"the reading of column {column.name!r} must have the entries {', '.join(names)}")
        n_distinct, n_missing = entry["n_distinct"], entry["n_missing"]
        is_count = [count is None or (type(count) is int and count >= 0) for count in (n_distinct, n_missing)]
        order = list(column.categories) if column.kind == "ordered" else []
        # Rows of weight zero are read too, and may hold the only words: without them the tree's column is boolean.
        kinds = ("boolean", "categorical") if column.kind == "boolean" else (column.kind,)
        is_same = (entry["name"], entry["order"]) == (column.name, order) and entry["kind"] in kinds
        if not (all(is_count) and is_same and isinstance(entry["remark"], str)):
            raise ValueError(f"the reading of column {column.name!r} is not that of the tree's column")
        readings.append(ColumnReading(column.name, entry["kind"], n_distinct, n_missing, tuple(order), entry["remark"]))
    return tuple(readings)


def describe_readings(readings: Sequence[ColumnReading]) -> list[str]:
    """A line for each column; of very many columns, how many there are of each kind."""
    if len(readings) > MOST_LINES:
        counts = Counter(reading.kind for reading in readings)
        missing = sum(bool(reading.n_missing) for reading in readings)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        return [f"{len(readings)} columns: {kinds}" + (f"; {missing} with missing values" if missing else "")]
    names = [" ".join(reading.name.split()) for reading in readings]
    width = min(max(map(len, names)), MOST_ROOM)  # A longer name is there in full, and its text further to the right.
    return [f"{name:<{width}}  {reading.text}" for name, reading in zip(names, readings, strict=True)]


# What may not have been meant ---------------------------------------------------------------------------------------


def read_text_columns(table: Table) -> tuple[ColumnReading, ...]:
    """The readings of the columns with a remark alone, for those who make no tests of them."""
    found = []
    for index, (name, values) in enumerate(zip(table.names, table.columns, strict=True)):
        remark = remark_on(index, table)
        if remark:
            found.append(ColumnReading(name, "categorical" if values.dtype == object else "numeric", remark=remark))
    return tuple(found)


def warn_about(readings: Sequence[ColumnReading]) -> None:
    """One warning about all columns that may have been misread, at the line that called the package."""
    doubtful = [reading for reading in readings if reading.remark]
    if not doubtful:
        return
    lines = [f"column {reading.name!r} {reading.remark}." for reading in doubtful[:MOST_COLUMNS]]
    if len(doubtful) > MOST_COLUMNS:
        lines.append(f"The same holds for {len(doubtful) - MOST_COLUMNS} more columns.")
    texts = [reading.remark for reading in doubtful if reading.kind == "categorical"]
    texts = [remark for remark in texts if DATES not in remark and IDS not in remark]
    if any(NOTATION in remark for remark in texts):
        lines.append(
            "If amounts are meant, take the signs and the thousands separators out of the text, write a decimal point, "
            "and turn it into numbers before the fit (pandas.to_numeric alone would make every such cell missing)."
        )
    if any(NOTATION not in remark for remark in texts):
        lines.append(
            "If numbers are meant, turn such cells into numbers or missing values before the fit "
            "(pandas.to_numeric with errors='coerce' makes them missing)."
        )
    if texts:
        lines.append(
            "If categories are meant, give the column a categorical dtype, or name it in categorical_features where "
            "there is such a parameter."
        )
    warnings.warn("\n".join(lines), ReadingWarning, stacklevel=_count_own_frames())


def warn_idle(forbidden: Sequence[str | Test], *, has_all_tests: bool) -> None:
    """One warning about all forbidden tests that no tree could ask."""
    if not forbidden:
        return
    named = [f"“{entry if isinstance(entry, str) else entry.describe(digits=READABLE)}”" for entry in forbidden]
    few = ", ".join([*named[:MOST_CELLS], *([f"{len(named) - MOST_CELLS:,} more"] if len(named) > MOST_CELLS else [])])
    tests, forbids, gets = ("test", "forbids", "it") if len(named) == 1 else ("tests", "forbid", "each of them")
    # Of a column cut at quantiles, a table in parts has the values next to the cuts alone.
    other = "" if has_all_tests else ", or it is not one of the tests that take part"
    warnings.warn(
        f"the forbidden {tests} {few} {forbids} nothing: all rows give {gets} the same answer{other}",
        IdleTestWarning,
        stacklevel=_count_own_frames(),
    )


def _count_own_frames() -> int:
    """How far up the caller is: scikit-learn stands between a call of `fit` and the `fit` that is ours."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("certree", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def remark_on(index: int, table: Table) -> str:
    """What may not have been meant about a column, as the end of a sentence; nothing about what the source declares."""
    name, values = table.names[index], table.columns[index]
    if name in table.remarks:
        return table.remarks[name]
    if values.dtype != object or not table.is_categorical[index] or name in table.declared:
        return ""
    return _remark_on_text(values.tolist(), table)


def _remark_on_text(values: list[Any], table: Table) -> str:
    counts = Counter(values)
    counts.pop(None, None)
    n_cells = sum(counts.values())
    strays: list[Any] = []
    n_numbers = n_stray_cells = n_words = n_word_cells = 0
    for value, count in counts.items():
        if _is_number(value):
            n_numbers += 1
            continue
        strays.append(value)
        n_stray_cells += count
        if isinstance(value, str) and _NUMBER_LIKE.fullmatch(value.replace("\0", "").strip()):
            continue
        n_words += 1
        n_word_cells += count
        if n_words > MOST_WORDS * len(counts) and n_word_cells > MOST_WORDS * n_cells:
            # Most columns of text are known for words after a few cells.
            return _remark_on_dates(counts, n_cells) or _remark_on_ids(counts, n_cells)
    # A single number among words is a name as well as an amount.
    if len(counts) - n_words < 2:
        return ""
    head = "is read as categories, although"
    if not strays:
        return f"{head} all of its {n_cells:,} cells are numbers, written as text"
    strays.sort(key=lambda value: -counts[value])
    shown = [f"{plain_value(value)!r} ({_where(value, values, counts, table)})" for value in strays[:MOST_CELLS]]
    others = f" and {len(strays) - MOST_CELLS:,} others" if len(strays) > MOST_CELLS else ""
    cells = ", ".join(shown) + others
    if not n_numbers:
        return f"{head} its cells look like numbers {NOTATION}: {cells}"
    return f"{head} {n_cells - n_stray_cells:,} of its {n_cells:,} cells are numbers; these are not: {cells}"


def _remark_on_dates(counts: Mapping[Any, int], n_cells: int) -> str:
    """Of words: tests of single days are seldom meant."""
    n_dates, n_others, example = 0, 0, ""
    for value, count in counts.items():
        if isinstance(value, str) and _DATE_LIKE.fullmatch(value.strip()):
            n_dates, example = n_dates + 1, example or value
            continue
        n_others += count
        if n_others > MOST_WORDS * n_cells:
            return ""
    if n_dates < 2:
        return ""
    return (
        f"is read as categories, although {DATES}, such as {example!r}: turn them into numbers, such as days since the "
        "first"
    )


def _remark_on_ids(counts: Mapping[Any, int], n_cells: int) -> str:
    """Of words that are all different: a test of one says something about one row."""
    if n_cells < LEAST_IDS or len(counts) < n_cells:
        return ""
    return f"{IDS}, as an id has: leave it out, because its tests say nothing about other rows"


def _where(value: Any, values: list[Any], counts: Mapping[Any, int], table: Table) -> str:
    more = f" and {counts[value] - 1:,} more" if counts[value] > 1 else ""
    return name_row(values.index(value), table) + more


def _is_number(value: Any) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, (bool, np.bool_))
    try:
        # Python reads 1_000 as a number; no table means that.
        return math.isfinite(float(value)) and "_" not in value
    except ValueError:
        return False


def _shorten(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST_CATEGORIES else [*texts[: MOST_CATEGORIES - 2], "…", texts[-1]]


@contextmanager
def quiet_reading() -> Iterator[None]:
    """What a column may not have been meant to be is said once, of all rows, and not again of every part of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        yield
