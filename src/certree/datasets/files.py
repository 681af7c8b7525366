"""Files to tables, and tables to what users hold in their hands: CSV, also compressed by gzip, Parquet and Arrow.

Promises that a value is never guessed at: a column is numeric if all of its entries are numbers, boolean if all are
true or false, and otherwise holds its strings as they stand; what marks a missing value can be named. A
file that is not a rectangle of named columns is refused with the line that breaks it.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from array import array
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from certree.table import Array, RowNames, Table, read_table, remark_on_rounding

# What stands for a missing value. "?" and "None" are left alone: in published tables they are often answers.
MISSING_MARKS = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
ARROW_ENDINGS = (".parquet", ".arrow", ".feather")
_BOOLEAN_WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read_csv(
    path: str | Path,
    *,
    separator: str = ",",
    text_columns: Collection[str] = (),
    number_columns: Collection[str] = (),
    missing: Collection[str] = (),
) -> Table:
    """The named columns of a CSV file with a header line.

    `text_columns` stay text even if all entries are numbers; `number_columns` are numbers, or an error names the lines
    of the entries that are not. `missing` are further marks of a missing value, besides the usual ones.
    """
    path = Path(path)
    marks = MISSING_MARKS | {mark.strip() for mark in missing}
    with _open_text(path) as file:
        try:
            names, rows, lines = _read_rows(csv.reader(file, delimiter=separator, strict=True), path)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a CSV file in UTF-8: {error}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is not a whole gzip file: {error}") from error
    row_names = RowNames("line", lines)
    entries = dict(zip(names, zip(*rows, strict=True), strict=True))
    for name in number_columns:
        if name in entries:
            _check_numbers(path, name, entries[name], marks, row_names)
    columns = tuple(_read_column(own, name in text_columns, marks) for name, own in entries.items())
    is_categorical = tuple(column.dtype == object and not _is_boolean(column) for column in columns)
    remarks = remark_on_rounding(names, entries.values(), columns)
    return Table(names, columns, is_categorical, len(rows), True, row_names, dict.fromkeys(text_columns), remarks)


def _open_text(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8-sig")
    return path.open(newline="", encoding="utf-8-sig")


def read_file(path: str | Path, *, missing: Collection[str] = (), **settings: Any) -> Table:
    """The columns of a file: Parquet or Arrow where its name ends so, else CSV, for which the settings are.

    A Parquet or Arrow file says itself what its columns are; `missing` marks are looked for in columns of text.
    """
    path = Path(path)
    if path.suffix not in ARROW_ENDINGS:
        return read_csv(path, missing=missing, **settings)
    table = _read_arrow(path)
    marks = {mark.strip() for mark in missing}
    columns = [_drop_marks(column, marks) if column.dtype == object else column for column in table.columns]
    for name in settings.get("number_columns", ()):
        if name in table.names and columns[table.names.index(name)].dtype == object:
            raise ValueError(f"{path}: column {name!r} is to be read as numbers, but the file has text in it")
    return replace(table, columns=tuple(columns))


def _drop_marks(column: Array, marks: Collection[str]) -> Array:
    values = [None if isinstance(value, str) and value.strip() in marks else value for value in column]
    return np.array(values, dtype=object)


def _read_arrow(path: Path) -> Table:
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError as error:
        raise ImportError(f"{path}: Parquet and Arrow files need pyarrow: pip install 'certree[parquet]'") from error
    path.open("rb").close()  # what is no readable file is said as of any other
    try:
        source = parquet.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a {path.suffix} file: {str(error).splitlines()[0]}") from error
    if source.num_rows == 0:
        raise ValueError(f"{path} has no rows")
    return read_table(source)


def to_labels(column: Array) -> Array:
    """A column as labels: whole numbers become integers, so that the label read from "1" is 1 and not 1.0."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.floor(column)).all():
        return column.astype(np.int64)
    return column


def to_array(table: Table) -> Array:
    """A table as one array: of numbers where every column is numeric or boolean, else of objects."""
    if all(column.dtype.kind in "fb" for column in table.columns):
        return np.column_stack([column.astype(np.float64) for column in table.columns])
    matrix = np.empty((table.n_rows, table.n_columns), dtype=object)
    for index, column in enumerate(table.columns):
        matrix[:, index] = column
    return matrix


def to_frame(table: Table) -> Any:
    """A table as a pandas frame; pandas is imported here only, because it is not a dependency."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("as_frame=True needs pandas, which is not installed") from error
    return pd.DataFrame({name: to_labels(column) for name, column in zip(table.names, table.columns, strict=True)})


def _read_rows(lines: Any, path: Path) -> tuple[tuple[str, ...], list[list[str]], Array]:
    names = tuple(name.strip() for name in next(lines, []))
    if not any(names):
        raise ValueError(f"{path} has no header line")
    if "" in names:
        raise ValueError(f"{path}: column {names.index('') + 1} has no name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path}: two columns have the name {repeated[0]!r}")
    rows: list[list[str]] = []
    numbers = array("q")
    first = lines.line_num + 1  # a quoted value may hold line breaks: a row is named by the line it begins on
    for row in lines:
        if row and len(row) != len(names):
            raise ValueError(f"{path}, line {first}: {len(row)} values, but {len(names)} columns")
        if row or len(names) == 1:
            rows.append(row or [""])
            numbers.append(first)
        first = lines.line_num + 1
    if not rows:
        raise ValueError(f"{path} has no rows")
    return names, rows, np.array(numbers)


def _check_numbers(
    path: Path, name: str, entries: tuple[str, ...], marks: Collection[str], row_names: RowNames
) -> None:
    strays = [row for row, entry in enumerate(entries) if entry.strip() not in marks and not _is_number(entry.strip())]
    if strays:
        cells = ", ".join(f"{entries[row]!r} ({row_names.name(row)})" for row in strays[:3])
        others = f" and {len(strays) - 3:,} more" if len(strays) > 3 else ""
        raise ValueError(f"{path}: column {name!r} is to be read as numbers, but holds {cells}{others}")


def _read_column(entries: tuple[str, ...], is_text: bool, marks: Collection[str]) -> Array:
    stripped = [entry.strip() for entry in entries]
    present = {entry for entry in stripped if entry not in marks}
    column: Array
    if not is_text and present and present <= _BOOLEAN_WORDS.keys():
        values = [_BOOLEAN_WORDS.get(entry) for entry in stripped]
        column = np.array(values, dtype=object if None in values else bool)
    elif not is_text and all(_is_number(entry) for entry in present):
        column = np.array([np.nan if entry in marks else float(entry) for entry in stripped])
    else:
        column = np.array([None if entry in marks else entry for entry in stripped], dtype=object)
    column.flags.writeable = False
    return column


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    # Python reads 1_000 as a number; no table means that.
    return "_" not in entry


def _is_boolean(column: Array) -> bool:
    return any(isinstance(value, bool) for value in column)
