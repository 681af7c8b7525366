"""Files to tables, and tables to what users hold in their hands: CSV, also compressed by gzip, Parquet and Arrow.

Promises that a value is never guessed at: a column is numeric if all of its entries are numbers, boolean if all are
true or false, and otherwise holds its strings as they stand; what marks a missing value can be named. A
file that is not a rectangle of named columns is refused with the line that breaks it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from certree.datasets import blocks
from certree.datasets.blocks import Block, Source, StandardInput, Tell, check_repeats, read_blocks
from certree.table import Array, RowNames, Table, read_table, remark_on_rounding

# What stands for a missing value. "?" and "None" are left alone: in published tables they are often answers.
MISSING_MARKS = frozenset({"", "NA", "N/A", "NaN", "nan", "NULL", "null"})
ARROW_ENDINGS = (".parquet", ".arrow", ".feather")
SECONDS_OF_SILENCE = 1.0
"""Before a read says how far it is: most are done by then."""
BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What `str.strip` takes off."""
_SWAPPED = str.maketrans(".,", ",.")
_BOOLEAN_WORDS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


@dataclass(frozen=True)
class Notation:
    """How a file writes numbers and missing values."""

    decimal: str
    missing: frozenset[str]

    def point(self, entry: str) -> str:
        """An entry with a decimal point. What had a point beside a decimal comma, as 1.000,5 has, is no number."""
        return entry if self.decimal == "." else entry.translate(_SWAPPED)


def read_csv(
    path: str | Source,
    *,
    separator: str = ",",
    text_columns: Collection[str] = (),
    number_columns: Collection[str] = (),
    missing: Collection[str] = (),
    decimal: str = ".",
    verbose: int = 0,
) -> Table:
    """The named columns of a CSV file with a header line.

    `text_columns` stay text even if all entries are numbers; `number_columns` are numbers, or an error names the lines
    of the entries that are not. `missing` are further marks of a missing value, besides the usual ones, and `decimal`
    is the sign before the fraction of a number: "." or ",". With `verbose`, a read that takes long shows how far it is.
    """
    path = _name_source(path)
    notation = Notation(decimal, MISSING_MARKS | {mark.strip() for mark in missing})
    with show_rows(f"reading {path}", verbose) as rows:
        block = next(read_blocks(path, separator, is_whole=True, tell=rows.update), None)
    if block is None:
        raise ValueError(f"{path} has no rows")
    for name in number_columns:
        if name in block.names:
            _check_numbers(path, name, block, notation)
    with _show_columns(len(block.names), verbose) as columns:
        return _read_block(block, block.names, text_columns, notation, tell=columns.update)


def show_rows(what: str, verbose: int, total: int | None = None) -> tqdm[Any]:
    """A bar that counts rows, and appears only with `verbose` and where they take long."""
    about: dict[str, Any] = {"desc": what, "total": total, "unit": " rows", "unit_scale": True}
    return tqdm(**about, disable=not verbose, leave=False, delay=SECONDS_OF_SILENCE)


def _show_columns(total: int, verbose: int) -> tqdm[Any]:
    about: dict[str, Any] = {"desc": "reading columns", "total": total, "unit": " columns"}
    return tqdm(**about, disable=not verbose, leave=False, delay=SECONDS_OF_SILENCE)


def read_parts(
    path: str | Source,
    values: Collection[str],
    *,
    separator: str = ",",
    text_columns: Collection[str] = (),
    missing: Collection[str] = (),
    decimal: str = ".",
) -> Iterator[Table]:
    """A file in parts of at most BLOCK_ROWS rows, so that one that is larger than memory can be read.

    Columns besides `values` are text as it stands in a CSV file (not even blanks or missing values are touched), and as
    pyarrow writes it of a Parquet or Arrow file, except for booleans, which stay what they are. `values` are read as
    `read_file` reads them, so that a prediction means the same rows as the fit.
    """
    path = _name_source(path)
    marks = frozenset(mark.strip() for mark in missing)
    if path.suffix in ARROW_ENDINGS:
        for piece in _read_pieces(path):
            part = read_table(_write_out(piece, values))
            columns = [
                _drop_marks(column, marks) if column.dtype == object and name in values else column
                for name, column in zip(part.names, part.columns, strict=True)
            ]
            yield replace(part, columns=tuple(columns))
        return
    notation = Notation(decimal, MISSING_MARKS | marks)
    is_empty = True
    for block in read_blocks(path, separator):
        is_empty = False
        yield _read_block(block, values, text_columns, notation)
    if is_empty:
        raise ValueError(f"{path} has no rows")


def _read_block(
    block: Block, values: Collection[str], text_columns: Collection[str], notation: Notation, tell: Tell | None = None
) -> Table:
    found = []
    for name, own in zip(block.names, block.entries, strict=True):
        is_value = name in values
        found.append(_read_column(own, name in text_columns, notation) if is_value else np.array(own, dtype=object))
        if tell is not None:
            tell(1)
    columns = tuple(found)
    is_categorical = tuple(column.dtype == object and not _is_boolean(column) for column in columns)
    remarks = remark_on_rounding(block.names, block.entries, columns)
    names = RowNames("line", block.lines)
    return Table(
        block.names, columns, is_categorical, len(block.lines), True, names, dict.fromkeys(text_columns), remarks
    )


def _name_source(path: str | Source) -> Source:
    return path if isinstance(path, StandardInput) else Path(path)


def read_file(path: str | Source, *, missing: Collection[str] = (), verbose: int = 0, **settings: Any) -> Table:
    """The columns of a file: Parquet or Arrow where its name ends so, else CSV, for which the settings are.

    A Parquet or Arrow file says itself what its columns are and what is missing; only `missing` marks are looked for in
    columns of text. With `verbose`, a read that takes long shows how far it is.
    """
    path = _name_source(path)
    if isinstance(path, StandardInput) or path.suffix not in ARROW_ENDINGS:
        return read_csv(path, missing=missing, verbose=verbose, **settings)
    table, kinds = _read_arrow(path, verbose)
    marks = {mark.strip() for mark in missing}
    columns = [_drop_marks(column, marks) if column.dtype == object else column for column in table.columns]
    for name in settings.get("number_columns", ()):
        if name in table.names and columns[table.names.index(name)].dtype == object:
            found = "text" if _is_text(kinds[name]) else f"values of the type {kinds[name]}"
            raise ValueError(f"{path}: column {name!r} is to be read as numbers, but the file has {found} in it")
    return replace(table, columns=tuple(columns))


def _drop_marks(column: Array, marks: Collection[str]) -> Array:
    values = [None if isinstance(value, str) and value.strip() in marks else value for value in column]
    return np.array(values, dtype=object)


def _read_arrow(path: Path, verbose: int) -> tuple[Table, dict[str, Any]]:
    """The whole table, and for each column the type that the file gives it."""
    with show_rows(f"reading {path}", verbose, count_rows(path)) as rows:
        pieces = []
        for piece in _read_pieces(path, by_groups=True):
            kinds = dict(zip(piece.column_names, piece.schema.types, strict=True))
            pieces.append(_write_out(piece, piece.column_names))
            rows.update(piece.num_rows)
    import pyarrow as pa

    source = pa.concat_tables(pieces)
    with _show_columns(source.num_columns, verbose) as columns:
        return read_table(source, tell=columns.update), kinds


def count_rows(path: Source) -> int | None:
    """Those that a Parquet file says it has; None of other files, and of one that is no such file."""
    if isinstance(path, StandardInput) or path.suffix != ".parquet":
        return None
    try:
        from pyarrow import parquet

        return int(parquet.read_metadata(path).num_rows)
    except (ImportError, OSError, ValueError):  # of pyarrow's own errors, one is a ValueError
        return None


def _read_pieces(path: Any, *, by_groups: bool = False) -> Iterator[Any]:
    """A Parquet file as tables of at most BLOCK_ROWS rows, or by its row groups, which is the fastest way to all rows.

    An Arrow file, which is mapped and not read, is one piece.
    """
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError as error:
        raise ImportError(f"{path}: Parquet and Arrow files need pyarrow: pip install 'certree[parquet]'") from error
    path.open("rb").close()  # what is no readable file is said as of any other
    n_rows = 0
    try:
        if path.suffix == ".parquet":
            with parquet.ParquetFile(path) as file:
                pieces: Iterator[Any] = (
                    (file.read_row_group(group) for group in range(file.num_row_groups))
                    if by_groups
                    else (pa.Table.from_batches([batch]) for batch in file.iter_batches(blocks.BLOCK_ROWS))
                )
                check_repeats(file.schema_arrow.names, path)
                for piece in pieces:
                    n_rows += piece.num_rows
                    if piece.num_rows:
                        yield piece
        else:
            source = feather.read_table(path)
            check_repeats(source.column_names, path)
            n_rows = source.num_rows
            if n_rows:
                yield source
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a {path.suffix} file: {str(error).splitlines()[0]}") from error
    if n_rows == 0:
        raise ValueError(f"{path} has no rows")


def _write_out(piece: Any, values: Collection[str]) -> Any:
    """The piece with text in place of columns besides `values`, and of dates, times, lists and the like.

    That is what a CSV file of it would hold. Such a column may be an id, or one that is left out, so it is no reason to
    refuse the file, and an id that is a whole number must not become a float.
    """
    from pyarrow import types

    for index, field in enumerate(piece.schema):
        if not (types.is_boolean(field.type) or (field.name in values and _is_plain(field.type))):
            piece = piece.set_column(index, field.name, _write_column(piece.column(index)))
    return piece


def _is_plain(kind: Any) -> bool:
    """Whether a table takes values of this type, or a dictionary of them, as they are."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    checks = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null, _is_text)
    return any(check(kind) for check in checks)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _write_column(column: Any) -> Any:
    """The column as text. What a value becomes depends on it and on the type alone, as a file is read in pieces."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if any(check(column.type) for check in (types.is_primitive, types.is_decimal, types.is_null, _is_text)):
        with suppress(pa.ArrowException):  # where a time zone is unknown, for one
            texts = column.cast(pa.string())
            is_time = types.is_timestamp(column.type)
            # Days are written without a fraction of a second, whatever the unit of the column.
            return pc.replace_substring_regex(texts, r"\.0+(\D|$)", r"\1") if is_time else texts
    return pa.array(map(_write_value, column.to_pylist()), pa.string())


def _write_value(value: Any) -> str | None:
    if isinstance(value, bytes):
        with suppress(UnicodeDecodeError):
            return value.decode()
    return None if value is None else str(value)


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
        raise ImportError("as_frame=True needs pandas, which is not installed: pip install pandas") from error
    return pd.DataFrame({name: to_labels(column) for name, column in zip(table.names, table.columns, strict=True)})


def _check_numbers(path: Any, name: str, block: Block, notation: Notation) -> None:
    entries = block.entries[block.names.index(name)]
    if _cast_numbers(entries, notation) is not None:
        return
    texts = entries if isinstance(entries, tuple) else entries.to_pylist()
    strays = [
        row for row, entry in enumerate(map(str.strip, texts))
        if entry not in notation.missing and not _is_number(notation.point(entry))
    ]  # fmt: skip
    if strays:
        names = RowNames("line", block.lines)
        cells = ", ".join(f"{texts[row]!r} ({names.name(row)})" for row in strays[:3])
        others = f" and {len(strays) - 3:,} more" if len(strays) > 3 else ""
        raise ValueError(f"{path}: column {name!r} is to be read as numbers, but holds {cells}{others}")


def _read_column(entries: Any, is_text: bool, notation: Notation) -> Array:
    """Entries as numbers, truths or text: what holds for all different ones holds for the column."""
    column = None if is_text else _cast_numbers(entries, notation)
    if column is None:
        distinct, places = _find_distinct(entries)
        values = _convert([entry.strip() for entry in distinct], is_text, notation)
        column = values[places]
    column.flags.writeable = False
    return column


def _cast_numbers(entries: Any, notation: Notation) -> Array | None:
    """All entries as numbers where pyarrow sees at once that they are, else None."""
    if isinstance(entries, tuple):
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    stripped = pc.utf8_trim(entries, BLANKS)
    present = pc.if_else(pc.is_in(stripped, pa.array(sorted(notation.missing))), None, stripped)
    if notation.decimal != ".":
        for old, new in ((".", "\0"), (",", "."), ("\0", ",")):
            present = pc.replace_substring(present, old, new)
    try:
        numbers = present.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    # Python and pyarrow may differ in what else is not a number.
    odd = present.filter(pc.is_nan(numbers)).unique().to_pylist()
    return numbers.to_numpy() if all(map(_is_number, odd)) else None


def _find_distinct(entries: Any) -> tuple[Sequence[str], Array]:
    """The different entries, and for each row which of them it has."""
    if isinstance(entries, tuple):
        places = {entry: place for place, entry in enumerate(dict.fromkeys(entries))}
        return list(places), np.fromiter((places[entry] for entry in entries), np.intp, len(entries))
    encoded = entries.dictionary_encode().combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _convert(entries: list[str], is_text: bool, notation: Notation) -> Array:
    marks, point = notation.missing, notation.point
    present = {entry for entry in entries if entry not in marks}
    if not is_text and present and present <= _BOOLEAN_WORDS.keys():
        values = [_BOOLEAN_WORDS.get(entry) for entry in entries]
        return np.array(values, dtype=object if None in values else bool)
    if not is_text and all(_is_number(point(entry)) for entry in present):
        return np.array([np.nan if entry in marks else float(point(entry)) for entry in entries])
    return np.array([None if entry in marks else entry for entry in entries], dtype=object)


def _is_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    # Python reads 1_000 as a number; no table means that.
    return "_" not in entry


def _is_boolean(column: Array) -> bool:
    return any(isinstance(value, bool) for value in column)
