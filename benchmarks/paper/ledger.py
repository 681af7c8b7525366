"""The results as one CSV file, to which rows are appended: it survives a kill at any byte.

A row is written by one call and ends with its line break, so a row that is not complete can only be the last one, and
has none. Whoever opens the file cuts such a rest off; its cell is then missing and is done again. A lock keeps a second
runner out. A line that begins with # is a note: on which machine, and on which day, the rows below it were measured.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import time
from collections.abc import Mapping
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
    """The complete rows of a file; none where there is no file."""
    if not path.is_file():
        return []
    return _parse(path.read_bytes(), path)


def read_notes(path: Path) -> list[str]:
    """The notes of a file, each of them once."""
    return list(dict.fromkeys(_notes(path.read_bytes()))) if path.is_file() else []


def _lines(content: bytes) -> list[str]:
    """All that is complete, and so all lines that are."""
    return list(io.StringIO(content[: content.rfind(b"\n") + 1].decode("utf-8")))


def _notes(content: bytes) -> list[str]:
    return [line.removeprefix(NOTE).rstrip("\n") for line in _lines(content) if line.startswith(NOTE)]


def _parse(content: bytes, path: Path) -> list[dict[str, str]]:
    numbered = enumerate(_lines(content), start=1)
    # No field holds a line break.
    lines = [(number, next(csv.reader([line]))) for number, line in numbered if not line.startswith(NOTE)]
    if not lines:
        return []
    (_, head), *rows = lines
    if tuple(head) != COLUMNS:
        raise SystemExit(f"{path} holds other columns than this version writes: begin a new file")
    for number, row in rows:
        if len(row) != len(COLUMNS):
            raise SystemExit(f"{path}: line {number} has {len(row)} fields instead of {len(COLUMNS)}")
    return [dict(zip(COLUMNS, row, strict=True)) for _, row in rows]


class Ledger:
    """A file of results that this process alone appends to."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lock(path)
        content = path.read_bytes()
        os.ftruncate(self._file, content.rfind(b"\n") + 1)
        self.rows = _parse(content, path)
        self._notes = _notes(content)
        self.done = {tuple(row[name] for name in KEY) for row in self.rows}
        if not content.rfind(b"\n") + 1:
            self._write(COLUMNS)

    def _lock(self, path: Path) -> None:
        # The last cell of a run that was killed shares its lock for the moment that it takes to end it.
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    os.close(self._file)
                    raise SystemExit(f"{path}: another run is appending to it") from None
                time.sleep(0.02)
            else:
                return

    def note(self, text: str) -> None:
        """Notes what is true of the rows that follow, unless that is what the last note says."""
        if self._notes[-1:] != [text]:
            self._write_line(f"{NOTE}{text}\n")
            self._notes.append(text)

    def append(self, key: tuple[str, ...], figures: Mapping[str, Any]) -> dict[str, str]:
        """Writes a row, unless it is there already."""
        if key in self.done:
            raise ValueError(f"{key} is measured already")
        row = dict(zip(KEY, key, strict=True)) | {name: _text(figures.get(name)) for name in FIGURES}
        self._write(tuple(row[name] for name in COLUMNS))
        self.rows.append(row)
        self.done.add(key)
        return row

    def _write(self, cells: tuple[str, ...]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        self._write_line(line.getvalue())

    def _write_line(self, line: str) -> None:
        content = line.encode("utf-8")
        while content:
            content = content[os.write(self._file, content) :]
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def _text(value: Any) -> str:
    """A figure in six digits; whatever could break a line is a blank."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(str(value).split())
