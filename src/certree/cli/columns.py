"""What each column of a file was read as, on standard error and before a search: it is what the search is about."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

from certree.features import make_features
from certree.reading import ColumnReading, describe_readings
from certree.solver import bin_numeric
from certree.table import Table


def print_columns(options: argparse.Namespace, X: Table, categorical: Sequence[Any] = ()) -> None:
    """A line for each column, and one for each that may not have been read as it was meant."""
    readings = make_features(X, categorical_features=categorical or "auto", binner=bin_numeric).readings
    print(f"{options.data}: {X.n_rows:,} rows, columns read as", file=sys.stderr)
    for line in describe_readings(readings):
        print(f"  {line}", file=sys.stderr)
    for reading in readings:
        if reading.remark:
            print(f"certree {options.command}: warning: {describe_remark(options, reading)}", file=sys.stderr)


def describe_remark(options: argparse.Namespace, reading: ColumnReading) -> str:
    """The remark with what can be done about it here."""
    advice = ""
    if reading.kind == "categorical":
        advice = "; --missing names marks of missing values"
        if re.search(r"'-?\d+,(?!\d{3}')\d+'", reading.remark):
            advice = "; --decimal , reads decimal commas"
        if hasattr(options, "categorical"):
            advice += ", --categorical says that categories are meant"
    return f"column {reading.name!r} {reading.remark}{advice}"
