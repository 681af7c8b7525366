"""Files out, as a whole or not at all.

A reader finds the old file or the new one, never a part of either, and what fails leaves the old file as it was and
nothing else behind.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def replace_file(path: Path, content: bytes) -> None:
    """Write a file that takes the place of any of its name; see `replacing`."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which in the end takes the place of any of its name, whose permissions it keeps.

    Links are followed. What is no regular file, such as a pipe or a device, is written to directly.
    """
    if is_special(path):
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    part = _open_part(target.parent)
    try:
        with part.open("wb") as file:
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def check_writable(path: Path) -> None:
    """Raise the OSError that `replace_file` would, as far as it can be known beforehand, and change nothing."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a directory", str(path))
    folder = Path(os.path.realpath(path)).parent
    if not is_special(path) and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a directory", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not is_special(path):
        # Permissions do not tell all: a file system may be read-only, or hold no files at all.
        _open_part(folder).unlink()


def is_special(path: Path) -> bool:
    """Whether there is something of this name that is no regular file."""
    return path.exists() and not path.is_file()


def _open_part(folder: Path) -> Path:
    """A new empty file beside the one to be, so that it can take its place at once."""
    part = folder / f".certree-{secrets.token_hex(8)}.part"
    # Unlike `tempfile`, with the permissions that any new file of this user gets.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return part


def _sync(folder: Path) -> None:
    """Make a new name last. Not every file system can, and the file is complete without it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
