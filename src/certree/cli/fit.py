"""`certree fit`: the optimal tree of a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from certree.certificate import LIMIT_STATUSES
from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import BOOSTING, drop_missing, read_data, read_labels, read_problem, read_settings
from certree.cli.models import print_model
from certree.cli.options import add_edits, add_example, add_problem, add_table
from certree.cli.outputs import add_force, save, warnings_on_standard_error
from certree.cli.parts import add_dask, fit_in_parts
from certree.estimators import SparseTreeClassifier
from certree.export import export_json
from certree.table import Array, Table


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("fit", help="find the optimal tree of a table")
    add_table(parser)
    add_problem(parser, has_guesses=True)
    add_edits(parser)
    parser.add_argument(
        "--regularization", type=float, default=0.01, metavar="λ", help="penalty per leaf (default 0.01)"
    )
    parser.add_argument("--class-weight", choices=["balanced"], help="give all labels the same total weight")
    add_weighing(parser)
    add_dask(parser)
    parser.add_argument(
        "--out", type=Path, metavar="MODEL", help="write the tree and its certificate to this JSON file"
    )
    add_force(parser)
    add_example(parser, "certree fit people.csv --label bought --weight value --ignore id --depth 2 --out model.json")
    parser.set_defaults(run=run)


def add_weighing(parser: argparse.ArgumentParser) -> None:
    """The ways to weigh and the reference, by their names in the public interface."""
    parser.add_argument(
        "--method", choices=["direct", "duplicate", "sample"], default="direct",
        help="how weights are used: as they are (default), rounded to counts, or by drawing a sample of the rows",
    )  # fmt: skip
    parser.add_argument(
        "--duplication",
        type=int,
        default=100,
        metavar="N",
        help="copies of the heaviest row, with --method duplicate (default 100)",
    )
    parser.add_argument(
        "--sample-ratio", type=float, default=1.0, metavar="R", help="draws per row, with --method sample (default 1)"
    )
    parser.add_argument("--random-state", type=int, metavar="SEED", help="the seed of samples and guesses")
    parser.add_argument(
        "--reference", metavar="COLUMN",
        help="guess lower bounds from a reference model: boosting, or the column that holds a model's predictions",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    model = fit_in_parts(options) if options.dask is not None else fit_in_memory(options)
    is_saved = save(options, options.out, export_json(model))
    print_model(model)
    print(f"  fitted in    {model.fit_seconds_:.3g} s")
    if not is_saved:
        return FAILED
    if options.out is not None:
        print(f"\nwritten to {options.out}")
    return LIMITED if model.status_ in LIMIT_STATUSES else DONE


def fit_in_memory(options: argparse.Namespace) -> SparseTreeClassifier:
    table = drop_missing(read_data(options), options, options.label, options.weight)
    X, y, weights = read_problem(options, table)
    print_columns(options, X, options.categorical)
    model = SparseTreeClassifier(
        regularization=options.regularization,
        class_weight=options.class_weight,
        method=options.method,
        duplication=options.duplication,
        sample_ratio=options.sample_ratio,
        reference=read_reference(options, table),
        n_jobs=options.jobs,
        random_state=options.random_state,
        **read_settings(options),
    )
    with warnings_on_standard_error():
        model.fit(X, y, weights)
    return model


def read_reference(options: argparse.Namespace, table: Table) -> str | Array | None:
    """The word, or the labels in a column of predictions."""
    reference: str | None = options.reference
    if reference is None or reference == BOOSTING:
        return reference
    return read_labels(table, options, reference)
