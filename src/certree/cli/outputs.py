"""Files and warnings out.

What goes where is checked before any work is done, no input is ever written over, and a result that cannot be written
is no reason to lose it: it is printed all the same, and the exit code says that something failed.
"""

from __future__ import annotations

import argparse
import csv
import errno
import io
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from certree.reading import IdleTestWarning, ReadingWarning
from certree.writing import check_writable, is_special, replace_file

INPUTS, DESTINATIONS = ("data", "model", "effects", "notes"), ("out", "plot", "plots", "scores")
"""Options that name a file to read, and those that name one or several files to write."""
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def add_force(parser: argparse.ArgumentParser) -> None:
    """Goes with every option that names a file to write."""
    parser.add_argument("--force", action="store_true", help="replace files that exist (an input never is)")


def check_destinations(options: argparse.Namespace) -> None:
    """Before any work: an hour's search must not end at a folder that does not exist."""
    named: list[tuple[str, Path]] = []
    for name in DESTINATIONS:
        own = getattr(options, name, None) or ()
        named += [(f"--{name}", path) for path in ((own,) if isinstance(own, Path) else own)]
    for flag, path in named:
        check_no_input(options, flag, path)
        if str(path) in STANDARD_OUTPUT:
            continue
        if path.is_file() and not options.force:
            raise ValueError(f"{flag} {path}: the file exists; name another one, or replace it with --force")
        try:
            check_writable(path)
        except OSError as error:
            raise ValueError(f"{flag} {path}: cannot write there: {error.strerror}") from error
    for (flag, path), (other_flag, other) in combinations(named, 2):
        if path.absolute() == other.absolute() or _is_same_file(path, other):
            raise ValueError(f"{flag} and {other_flag} both name {path}; name two files")


def check_no_input(options: argparse.Namespace, flag: str, path: Path) -> None:
    """Refuse to write over an input, by whatever name it goes."""
    for name in INPUTS:
        own = getattr(options, name, None)
        if isinstance(own, Path) and _is_same_file(path, own):
            raise ValueError(f"{flag} {path}: this is the input {own}, which is never replaced; name another file")


def save(options: argparse.Namespace, path: Path | None, content: str | bytes) -> bool:
    """Write a result where one is asked for. Where that fails, say why and return False: the rest is printed yet."""
    if path is None:
        return True
    content = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if str(path) in STANDARD_OUTPUT:
            # Opened anew it would be written from its start, over what else is printed.
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.flush()
        elif path.is_file() and not options.force:
            raise FileExistsError(errno.EEXIST, "a file of this name was created in the meantime", str(path))
        else:
            replace_file(path, content)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and str(path) in STANDARD_OUTPUT:
            raise
        print(f"certree {options.command}: {path} could not be written: {error.strerror}.", file=sys.stderr)
        return False
    return True


def make_csv(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@contextmanager
def warnings_on_standard_error() -> Iterator[None]:
    """Warnings as one line each, without the place in the code, which means nothing on a command line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"certree: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ReadingWarning)  # what columns were read as has been said, in other words
        warnings.simplefilter("always", IdleTestWarning)
        warnings.showwarning = show
        yield


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two names, links among them, lead to one regular file."""
    is_there = path.exists() and other.exists() and not is_special(path)
    return is_there and path.samefile(other)
