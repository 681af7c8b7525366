"""What each column of a file was read as, on standard error and before a search: it is what the search is about."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from certree.features import make_features
from certree.reading import DATES, IDS, NOTATION, ColumnReading, describe_readings
from certree.solver import bin_numeric
from certree.table import Table


def print_columns(options: argparse.Namespace, X: Table, categorical: Sequence[Any] = ()) -> None:
    """A line for each column, and one for each that may not have been read as it was meant."""
    print_readings(
        options, make_features(X, categorical_features=categorical or "auto", binner=bin_numeric).readings, X.n_rows
    )


def print_readings(options: argparse.Namespace, readings: Sequence[ColumnReading], n_rows: int) -> None:
    print(f"{options.data}: {n_rows:,} rows, columns read as", file=sys.stderr)
    for line in describe_readings(readings):
        print(f"  {line}", file=sys.stderr)
    for reading in readings:
        # Whoever has a model is not asked which columns to learn from.
        is_meant = not hasattr(options, "ignore") or reading.name in options.categorical
        if reading.remark and not (IDS in reading.remark and is_meant):
            remark = describe_remark(options, reading)
            print(f"certree {options.command}: warning: column {reading.name!r} {remark}", file=sys.stderr)


def describe_remark(options: argparse.Namespace, reading: ColumnReading) -> str:
    """The remark with what can be done about it here."""
    advice = ""
    if IDS in reading.remark:
        advice = f" (--ignore {shlex.quote(reading.name)})"
    elif reading.kind == "categorical" and DATES in reading.remark:
        advice = ", or leave the column out with --ignore" if hasattr(options, "ignore") else ""
    elif reading.kind == "categorical":
        advice = "; --missing names marks of missing values"
        if re.search(r"'-?\d+,(?!\d{3}')\d+'", reading.remark):
            advice = "; --decimal , reads decimal commas"
        elif NOTATION in reading.remark:
            advice = "; if amounts are meant, take the signs and separators out of the file"
        if hasattr(options, "categorical"):
            advice += ", --categorical says that categories are meant"
    return f"{reading.remark}{advice}"
