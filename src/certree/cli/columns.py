"""What each column of a file was read as, on standard error and before a search: it is what the search is about."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from certree.features import make_features
from certree.reading import ColumnReading
from certree.solver import bin_numeric
from certree.table import Table

MOST_COLUMNS = 20
"""That are printed one by one; of more, each kind is counted."""


def print_columns(options: argparse.Namespace, X: Table, categorical: Sequence[Any] = ()) -> None:
    """A line for each column, and one for each that may not have been read as it was meant."""
    readings = make_features(X, categorical_features=categorical or "auto", binner=bin_numeric).readings
    print(f"{options.data}: {X.n_rows:,} rows, columns read as", file=sys.stderr)
    for line in describe_columns(readings):
        print(f"  {line}", file=sys.stderr)
    for reading in readings:
        if reading.remark:
            print(f"certree {options.command}: warning: {describe_remark(options, reading)}", file=sys.stderr)


def describe_columns(readings: Sequence[ColumnReading]) -> list[str]:
    if len(readings) > MOST_COLUMNS:
        counts = Counter(reading.kind for reading in readings)
        missing = sum(bool(reading.n_missing) for reading in readings)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        return [f"{len(readings)} columns: {kinds}" + (f"; {missing} with missing values" if missing else "")]
    names = [shorten(reading.name, 40) for reading in readings]
    width = max(map(len, names))
    return [f"{name:<{width}}  {reading.text}" for name, reading in zip(names, readings, strict=True)]


def describe_remark(options: argparse.Namespace, reading: ColumnReading) -> str:
    """The remark with what can be done about it here."""
    advice = ""
    if reading.kind == "categorical":
        advice = "; --missing names marks of missing values"
        if hasattr(options, "categorical"):
            advice += ", --categorical says that categories are meant"
    return f"column {reading.name!r} {reading.remark}{advice}"
