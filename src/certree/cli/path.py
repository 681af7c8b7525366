"""`certree path`: all optimal trees of a table, over every penalty λ."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import drop_missing, read_data, read_problem, read_settings
from certree.cli.options import add_example, add_problem, add_table
from certree.cli.outputs import add_force, make_csv, save, warnings_on_standard_error
from certree.path import regularization_path


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("path", help="all optimal trees of a table, over every penalty λ")
    add_table(parser)
    add_problem(parser)
    parser.add_argument("--out", type=Path, metavar="CSV", help="write the front to this file")
    add_force(parser)
    add_example(parser, "certree path people.csv --label bought --weight value --ignore id --depth 2 --out front.csv")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    table = drop_missing(read_data(options), options, options.label, options.weight)
    X, y, weights = read_problem(options, table)
    print_columns(options, X, options.categorical)
    with warnings_on_standard_error():
        path = regularization_path(X, y, weights, n_threads=effective_n_jobs(options.jobs), **read_settings(options))
    rows = path.to_rows()
    is_saved = save(options, options.out, make_csv([list(rows[0]), *(row.values() for row in rows)]))
    print_path(rows)
    if not path.is_complete:
        print("\na search ended early: a tree may be missing from this list, or not be the best of its size")
    if not is_saved:
        return FAILED
    if options.out is not None:
        print(f"\nwritten to {options.out}")
    return DONE if path.is_optimal else LIMITED


def print_path(rows: Sequence[Mapping[str, Any]]) -> None:
    print("  leaves  depth      loss  penalty λ")
    for row in rows:
        low, high = row["regularization_low"], row["regularization_high"]
        interval = f"above {low:.6f}" if math.isinf(high) else f"{low:.6f} to {high:.6f}"
        note = "" if row["status"] == "optimal" else f"  ({row['status'].replace('_', ' ')})"
        print(f"  {row['leaves']:>6}  {row['depth']:>5}  {row['loss']:>8.6f}  {interval}{note}")
