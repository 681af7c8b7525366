"""What each column of a file was read as, on standard error and before a search: it is what the search is about."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from certree.features import make_features
from certree.reading import DATES, ColumnReading, describe_readings
from certree.solver import bin_numeric
from certree.table import Table

LEAST_NAMES = 20
"""Of fewer rows, each may well have a category of its own."""


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
        remark = describe_remark(options, reading) if reading.remark else remark_on_names(options, reading, n_rows)
        if remark:
            print(f"certree {options.command}: warning: column {reading.name!r} {remark}", file=sys.stderr)


def remark_on_names(options: argparse.Namespace, reading: ColumnReading, n_rows: int) -> str:
    """What to do about a column such as an id, whose tests say something about one row each."""
    n_values = n_rows - (reading.n_missing or 0)
    if reading.kind != "categorical" or reading.n_distinct != n_values or n_values < LEAST_NAMES:
        return ""
    if not hasattr(options, "ignore") or reading.name in options.categorical:
        return ""
    return (
        "has a different category in every row, as an id has, and says nothing about other rows; --ignore leaves it out"
    )


def describe_remark(options: argparse.Namespace, reading: ColumnReading) -> str:
    """The remark with what can be done about it here."""
    advice = ""
    if reading.kind == "categorical" and DATES in reading.remark:
        advice = ", or leave the column out with --ignore" if hasattr(options, "ignore") else ""
    elif reading.kind == "categorical":
        advice = "; --missing names marks of missing values"
        if re.search(r"'-?\d+,(?!\d{3}')\d+'", reading.remark):
            advice = "; --decimal , reads decimal commas"
        if hasattr(options, "categorical"):
            advice += ", --categorical says that categories are meant"
    return f"{reading.remark}{advice}"
