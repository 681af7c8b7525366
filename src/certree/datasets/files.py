"""Files to tables, and tables to what users hold in their hands: CSV, also compressed by gzip, Parquet and Arrow.

Promises that a value is never guessed at: a column is numeric if all of its entries are numbers, boolean if all are
true or false, and otherwise holds its strings as they stand; what marks a missing value can be named. A
file that is not a rectangle of named columns is refused with the line that breaks it.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from certree.table import Array, RowNames, Table, read_table, remark_on_rounding

# What stands for a missing value. "?" and "None" are left alone: in published tables they are often answers.
MISSING_MARKS = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
ARROW_ENDINGS = (".parquet", ".arrow", ".feather")
PART_ROWS = 50_000
"""Rows of a file that are held at once where it is read in parts."""
_BOOLEAN_WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


class StandardInput:
    """In place of a path: the CSV file that is piped in, also compressed by gzip. It can be read once."""

    suffix = ""

    def __str__(self) -> str:
        return "standard input"

    def open(self) -> TextIO:
        source = sys.stdin.buffer
        is_gzip = isinstance(source, io.BufferedReader) and source.peek(2)[:2] == b"\x1f\x8b"
        raw: Any = gzip.GzipFile(fileobj=source) if is_gzip else source
        return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


Source = str | Path | StandardInput


def read_csv(
    path: Source,
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
    path = _name_source(path)
    marks = MISSING_MARKS | {mark.strip() for mark in missing}
    with _open_csv(path, separator) as lines:
        names = _read_names(lines, path)
        rows, line_numbers = _read_rows(lines, names, path)
    if not rows:
        raise ValueError(f"{path} has no rows")
    row_names = RowNames("line", line_numbers)
    entries = dict(zip(names, zip(*rows, strict=True), strict=True))
    for name in number_columns:
        if name in entries:
            _check_numbers(path, name, entries[name], marks, row_names)
    columns = tuple(_read_column(own, name in text_columns, marks) for name, own in entries.items())
    is_categorical = tuple(column.dtype == object and not _is_boolean(column) for column in columns)
    remarks = remark_on_rounding(names, entries.values(), columns)
    return Table(names, columns, is_categorical, len(rows), True, row_names, dict.fromkeys(text_columns), remarks)


def read_parts(
    path: Source,
    values: Collection[str],
    *,
    separator: str = ",",
    text_columns: Collection[str] = (),
    missing: Collection[str] = (),
) -> Iterator[Table]:
    """A file in parts of at most PART_ROWS rows, so that one that is larger than memory can be read.

    Columns besides `values` are text as it stands in a CSV file, not even blanks or missing values are touched.
    """
    path = _name_source(path)
    marks = MISSING_MARKS | {mark.strip() for mark in missing}
    if path.suffix in ARROW_ENDINGS:
        for part in _read_arrow_parts(path):
            columns = [_drop_marks(column, marks) if column.dtype == object else column for column in part.columns]
            yield replace(part, columns=tuple(columns))
        return
    with _open_csv(path, separator) as lines:
        names = _read_names(lines, path)
        is_empty = True
        while True:
            rows, line_numbers = _read_rows(lines, names, path, PART_ROWS)
            if not rows:
                break
            is_empty = False
            columns = [
                _read_column(own, name in text_columns, marks) if name in values else np.array(own, dtype=object)
                for name, own in zip(names, zip(*rows, strict=True), strict=True)
            ]
            is_categorical = tuple(column.dtype == object and not _is_boolean(column) for column in columns)
            yield Table(
                names, tuple(columns), is_categorical, len(rows), True, RowNames("line", line_numbers),
                dict.fromkeys(text_columns), remark_on_rounding(names, zip(*rows, strict=True), columns),
            )  # fmt: skip
    if is_empty:
        raise ValueError(f"{path} has no rows")


def _name_source(path: Source) -> Path | StandardInput:
    return path if isinstance(path, StandardInput) else Path(path)


@contextmanager
def _open_csv(path: Path | StandardInput, separator: str) -> Iterator[Any]:
    """The rows of a file as csv reads them, what is wrong with its bytes as one ValueError."""
    try:
        with _open_text(path) as file:
            yield csv.reader(file, delimiter=separator, strict=True)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a CSV file in UTF-8: {error}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}") from error


def _open_text(path: Path | StandardInput) -> TextIO:
    if isinstance(path, StandardInput):
        return path.open()
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8-sig")
    return path.open(newline="", encoding="utf-8-sig")


def read_file(path: Source, *, missing: Collection[str] = (), **settings: Any) -> Table:
    """The columns of a file: Parquet or Arrow where its name ends so, else CSV, for which the settings are.

    A Parquet or Arrow file says itself what its columns are; `missing` marks are looked for in columns of text.
    """
    path = _name_source(path)
    if isinstance(path, StandardInput) or path.suffix not in ARROW_ENDINGS:
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


def _read_arrow_parts(path: Any) -> Iterator[Table]:
    """A Parquet file batch by batch; an Arrow file, which is mapped and not read, as a whole."""
    if path.suffix != ".parquet":
        yield _read_arrow(path)
        return
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: Parquet and Arrow files need pyarrow: pip install 'certree[parquet]'") from error
    path.open("rb").close()
    try:
        with parquet.ParquetFile(path) as file:
            if file.metadata.num_rows == 0:
                raise ValueError(f"{path} has no rows")
            for batch in file.iter_batches(PART_ROWS):
                yield read_table(pa.Table.from_batches([batch]))
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a {path.suffix} file: {str(error).splitlines()[0]}") from error


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


def _read_names(lines: Any, path: Any) -> tuple[str, ...]:
    names = tuple(name.strip() for name in next(lines, []))
    if not any(names):
        raise ValueError(f"{path} has no header line")
    if "" in names:
        raise ValueError(f"{path}: column {names.index('') + 1} has no name")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path}: two columns have the name {repeated[0]!r}")
    return names


def _read_rows(lines: Any, names: tuple[str, ...], path: Any, most: int | None = None) -> tuple[list[list[str]], Array]:
    """The next rows and the lines they begin on: a quoted value may hold line breaks."""
    rows: list[list[str]] = []
    numbers = array("q")
    first = lines.line_num + 1
    for row in lines:
        if row and len(row) != len(names):
            raise ValueError(f"{path}, line {first}: {len(row)} values, but {len(names)} columns")
        if row or len(names) == 1:
            rows.append(row or [""])
            numbers.append(first)
        first = lines.line_num + 1
        if len(rows) == most:
            break
    return rows, np.array(numbers)


def _check_numbers(path: Any, name: str, entries: tuple[str, ...], marks: Collection[str], row_names: RowNames) -> None:
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
