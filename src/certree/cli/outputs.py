"""Files and warnings out."""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def check_destinations(options: argparse.Namespace) -> None:
    """Before any work: an hour's search must not end at a folder that does not exist."""
    folder = getattr(options, "output", None)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write into {folder}: it is not a directory")
    for name in ("out", "plot", "scores"):
        path = getattr(options, name, None)
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"cannot write {path}: {path.absolute().parent} is not a directory")


def write_csv(path: Path | None, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    if path is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


@contextmanager
def warnings_on_standard_error() -> Iterator[None]:
    """Warnings as one line each, without the place in the code, which means nothing on a command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        print(f"certree: {warning.message}", file=sys.stderr)
