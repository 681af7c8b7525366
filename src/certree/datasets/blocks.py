"""A CSV file as blocks of columns of text, as they stand in it.

Promises the same columns and the same errors whether pyarrow is installed or not: pyarrow reads a block some twenty
times sooner, but only one that is plain, which is one row per line and quotes only around whole values. From the first
block on that is not, the standard library reads on, and it is the one that says what is wrong with a file.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from certree.table import Array

EXCEL_ENDINGS = (".xlsx", ".xls", ".xlsm", ".xlsb")
BLOCK_BYTES = 1 << 24
BLOCK_ROWS = 50_000
"""Of a file that is read in blocks: what is held at once of its plain part, and of what is read row by row."""
TOLD_ROWS = 10_000
"""Of a file that is read row by row: how often it is told how far the read is."""

Tell = Callable[[int], object]


def _tell_nobody(_: int) -> None:
    pass


class StandardInput:
    """In place of a path: the CSV file that is piped in, also compressed by gzip. It can be read once."""

    suffix = ""

    def __str__(self) -> str:
        return "standard input"

    def open(self) -> BinaryIO:
        source: Any = sys.stdin.buffer
        is_gzip = isinstance(source, io.BufferedReader) and source.peek(2)[:2] == b"\x1f\x8b"
        opened: Any = gzip.GzipFile(fileobj=source) if is_gzip else source
        return opened  # type: ignore[no-any-return]


Source = Path | StandardInput


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a file."""

    names: tuple[str, ...]
    entries: Sequence[Any]
    """Per column its text: a tuple, or a chunked array of pyarrow."""
    lines: Array
    """The line of the file that each row begins on."""


def read_blocks(path: Source, separator: str, *, is_whole: bool = False, tell: Tell = _tell_nobody) -> Iterator[Block]:
    """All rows of a file with a header line; in one block if `is_whole`. A file without rows has no block.

    `tell` hears of rows as they are read, so that a long read can show how far it is.
    """
    try:
        with _open_bytes(path) as file:
            if path.suffix.lower() in EXCEL_ENDINGS:
                raise ValueError(f"{path} is an Excel file: save the sheet as CSV UTF-8, and read that file")
            header = file.readline().removeprefix(b"\xef\xbb\xbf")
            if not (_is_plain_line(header) and len(separator.encode()) == 1 and _has_arrow()):
                yield from _read_by_row(path, header, file, separator, is_whole, tell=tell)
                return
            names = _check_names(next(csv.reader([header.decode("utf-8")], delimiter=separator), []), path)
            first = 2
            while data := file.read() if is_whole else file.read(BLOCK_BYTES) + file.readline():
                entries = _read_plain(data, names, separator)
                if entries is None:
                    yield from _read_by_row(path, data, file, separator, is_whole, names, first, tell=tell)
                    return
                n_rows = len(entries[0])
                tell(n_rows)
                yield Block(names, entries, np.arange(first, first + n_rows))
                first += n_rows
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        raise ValueError(
            f"{path} is not a CSV file in UTF-8 (it holds the byte {byte}): save it again in that encoding"
        ) from error
    except csv.Error as error:
        raise ValueError(f"{path} is not a CSV file: {error}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}") from error


@contextmanager
def _open_bytes(path: Source) -> Iterator[BinaryIO]:
    if isinstance(path, StandardInput):
        yield path.open()
    else:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]


def _has_arrow() -> bool:
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return False
    return True


def _is_plain_line(line: bytes) -> bool:
    return line.endswith(b"\n") and not re.search(rb'["\0]|\r(?!\n)', line)


def _read_plain(data: bytes, names: tuple[str, ...], separator: str) -> Sequence[Any] | None:
    """The columns of whole lines; None if they are anything but one row per line, with quotes around whole values."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if (
        data.startswith(b"\xef\xbb\xbf")  # which pyarrow would drop
        or b"\0" in data
        or data.count(b"\r") != data.count(b"\r\n")
        or (b'"' in data and not _are_quotes_plain(data, separator))
    ):
        return None
    try:
        table = arrow.read_csv(
            pa.BufferReader(data),
            arrow.ReadOptions(column_names=list(names)),
            arrow.ParseOptions(delimiter=separator),
            arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        return None
    # A line that holds no row, or a row of several lines, leaves fewer rows than lines.
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return table.columns if table.num_rows == n_lines else None


def _are_quotes_plain(data: bytes, separator: str) -> bool:
    """Whether all quotes are around whole values of one line each, or doubled inside them."""
    between = re.escape(separator.encode())
    quoted = rb'(?<![^%s\n])"(?:[^"\n]|"")*"(?=%s|\r?\n|\Z)' % (between, between)
    return b'"' not in re.sub(quoted, b"", data)


def _read_by_row(
    path: Source, data: bytes, file: BinaryIO, separator: str, is_whole: bool,
    names: tuple[str, ...] | None = None, first: int = 1, *, tell: Tell,
) -> Iterator[Block]:  # fmt: skip
    """What was read already and the rest of the file, by the standard library; `first` is the line it begins on."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    lines = csv.reader(
        itertools.chain(io.StringIO(data.decode("utf-8"), newline=""), text), delimiter=separator, strict=True
    )
    try:
        if names is None:
            names = _check_names(next(lines, []), path)
        while True:
            rows, numbers = _read_rows(lines, names, path, first, None if is_whole else BLOCK_ROWS, tell)
            if not rows:
                return
            yield Block(names, tuple(zip(*rows, strict=True)), numbers)
    finally:
        text.detach()  # or it would close the file, which is not its own


def _check_names(header: Sequence[str], path: Any) -> tuple[str, ...]:
    names = tuple(name.strip() for name in header)
    if not any(names):
        raise ValueError(f"{path} has no header line: the first line must name the columns")
    if "" in names:
        raise ValueError(f"{path}: column {names.index('') + 1} has no name")
    check_repeats(names, path)
    return names


def check_repeats(names: Sequence[str], path: Any) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path}: two columns have the name {repeated[0]!r}: rename one of them")


def hint_at_separator(names: Sequence[str]) -> str:
    """What to add to a message about a file whose header seems to be one name, but is not."""
    other = next((sign for sign in ";\t|" if len(names) == 1 and sign in names[0]), None)
    return "" if other is None else f"; are its values separated by {other!r}? Then say so with --separator"


def _read_rows(
    lines: Any, names: tuple[str, ...], path: Any, begin: int, most: int | None, tell: Tell
) -> tuple[list[list[str]], Array]:
    """The next rows and the lines they start on: a quoted value may hold line breaks."""
    rows: list[list[str]] = []
    numbers = array("q")
    first = begin + lines.line_num
    for row in lines:
        if row and len(row) != len(names):
            columns = "1 column" if len(names) == 1 else f"{len(names)} columns"
            raise ValueError(f"{path}, line {first}: {len(row)} values, but {columns}{hint_at_separator(names)}")
        if row or len(names) == 1:
            rows.append(row or [""])
            numbers.append(first)
            if len(rows) % TOLD_ROWS == 0:
                tell(TOLD_ROWS)
        first = begin + lines.line_num
        if len(rows) == most:
            break
    tell(len(rows) % TOLD_ROWS)
    return rows, np.array(numbers)
