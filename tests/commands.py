"""Commands as tests run them, and the files that they are run on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from certree import cli


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


def write(path: Path, header: list[str], *columns: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *zip(*(np.asarray(column).tolist() for column in columns), strict=True)])
    return path
