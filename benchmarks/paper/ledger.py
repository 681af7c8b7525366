"""The results as one CSV file, to which rows are appended: it survives a kill at any byte.

A row is written by one call and ends with its line break, so a row that is not complete can only be the last one, and
has none. Whoever opens the file cuts such a rest off; its cell is then missing and is done again. A lock keeps a second
runner out. A line that begins with # is a note: on which machine, and on which day, the rows below it were measured.

Rows are taken out by a new file in the place of the old one, which a kill leaves as it was or replaced.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

KEY = ("study", "set", "method", "depth", "penalty", "percent", "split")
FIGURES = (
    "status", "cpu", "wall", "prepare", "objective", "lower", "leaves", "train", "test", "train_plain", "test_plain",
    "megabytes", "limit", "took", "version", "remark", "detail",
)  # fmt: skip
COLUMNS = KEY + FIGURES
LOCK_SECONDS = 5.0
NOTE = "# "


def read_rows(path: Path) -> list[dict[str, str]]:
    """The complete rows of a file, with the note above them as "note"; none where there is no file."""
    if not path.is_file():
        return []
    return _parse(path.read_bytes(), path)


def key_of(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def _lines(content: bytes) -> list[str]:
    """All that is complete, and so all lines that are."""
    return list(io.StringIO(content[: content.rfind(b"\n") + 1].decode("utf-8")))


def _parse(content: bytes, path: Path) -> list[dict[str, str]]:
    rows, head, note = [], None, ""
    for number, line in enumerate(_lines(content), start=1):
        if line.startswith(NOTE):
            note = _strip(line)
            continue
        fields = next(csv.reader([line]))  # No field holds a line break.
        if head is None:
            head = tuple(fields)
            if head != COLUMNS:
                raise SystemExit(f"{path} holds other columns than this version writes: begin a new file")
        elif len(fields) != len(COLUMNS):
            raise SystemExit(f"{path}: line {number} has {len(fields)} fields instead of {len(COLUMNS)}")
        else:
            rows.append(dict(zip(COLUMNS, fields, strict=True)) | {"note": note})
    return rows


def _strip(note: str) -> str:
    return note.removeprefix(NOTE).rstrip("\n")


class Ledger:
    """A file of results that this process alone appends to."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._new = path, path.with_suffix(".new")
        self._file = _lock(path)
        self._new.unlink(missing_ok=True)
        content = path.read_bytes()
        os.ftruncate(self._file, content.rfind(b"\n") + 1)
        self.rows = _parse(content, path)
        self._note = next((_strip(line) for line in _lines(content)[::-1] if line.startswith(NOTE)), "")
        self.done = set(map(key_of, self.rows))
        if not content.rfind(b"\n") + 1:
            self._write(COLUMNS)

    def forget(self, keys: set[tuple[str, ...]]) -> None:
        """Takes the rows of these cells out."""
        if not keys:
            return
        lines = _lines(self._path.read_bytes())
        kept = [
            line for line in lines if line.startswith(NOTE) or tuple(next(csv.reader([line]))[: len(KEY)]) not in keys
        ]
        new = _lock(self._new)
        os.ftruncate(new, 0)
        _put(new, "".join(kept))
        self._new.replace(self._path)
        os.close(self._file)
        self._file = new
        self.rows = [row for row in self.rows if key_of(row) not in keys]
        self.done -= keys

    def note(self, text: str) -> None:
        """Notes what is true of the rows that follow, unless that is what the last note says."""
        if self._note != text:
            _put(self._file, f"{NOTE}{text}\n")
            self._note = text

    def append(self, key: tuple[str, ...], figures: Mapping[str, Any]) -> dict[str, str]:
        """Writes a row, unless it is there already."""
        if key in self.done:
            raise ValueError(f"{key} is measured already")
        row = dict(zip(KEY, key, strict=True)) | {name: _text(figures.get(name)) for name in FIGURES}
        self._write(tuple(row.values()))
        self.rows.append(row | {"note": self._note})
        self.done.add(key)
        return row

    def _write(self, cells: tuple[str, ...]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        _put(self._file, line.getvalue())

    def close(self) -> None:
        os.close(self._file)


def _lock(path: Path) -> int:
    """The file, open for this process alone."""
    # The last cell of a run that was killed shares its lock for the moment that it takes to end it.
    until = time.monotonic() + LOCK_SECONDS
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another run may have put a new file in its place since it was opened.
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        os.close(file)
        if time.monotonic() > until:
            raise SystemExit(f"{path}: another run is appending to it")
        time.sleep(0.02)


def _put(file: int, text: str) -> None:
    content = text.encode("utf-8")
    while content:
        content = content[os.write(file, content) :]
    os.fsync(file)


def _text(value: Any) -> str:
    """A figure in six digits; whatever could break a line is a blank."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(str(value).split())
