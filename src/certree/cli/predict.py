"""`certree predict`: what a tree says about the rows of a table, part by part, so that no table is too large."""

from __future__ import annotations

import argparse
import errno
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import find_column, pick_columns, read_notation, text_columns
from certree.cli.options import DATA_HELP, add_example, add_model, add_reading, read_source
from certree.cli.outputs import STANDARD_OUTPUT, add_force, make_csv
from certree.datasets.files import count_rows, read_parts, show_rows
from certree.export import load
from certree.table import Table
from certree.tree import Tree, plain_value, tree_of
from certree.writing import replacing

CATEGORICAL = ("categorical", "ordered")


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a table",
        description="One line per row: the columns that the model was not fitted with, such as an id, and the "
        "prediction. The table is read in parts, so it may be larger than memory.",
    )
    add_model(parser)
    parser.add_argument("data", type=read_source, help=DATA_HELP)
    add_reading(parser)
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--id", nargs="+", metavar="COLUMN", help="columns to keep (default: all that the model was not fitted with)"
    )
    kept.add_argument("--no-ids", action="store_true", help="keep no column: only predictions are written")
    parser.add_argument("--probabilities", action="store_true", help="also the share of each label in the row's leaf")
    parser.add_argument("--out", type=Path, metavar="CSV", help="write to this file instead of standard output")
    add_force(parser)
    add_example(parser, "certree predict model.json people.csv --out predictions.csv")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    tree = tree_of(load(options.model))
    own = {column.name for column in tree.columns}
    parts = read_parts(options.data, own, text_columns=text_columns(tree), **read_notation(options))
    # The first part shows whether the columns are there, before anything is written.
    parts = check_first(parts, tree, options)
    unseen = Unseen(tree)
    try:
        bar = show_rows(f"predicting {options.data}", is_watched(options), count_rows(options.data))
        with bar, open_output(options) as file:
            for number, part in enumerate(parts):
                unseen.look_at(part)
                kept = name_kept(part, tree, options)
                header = [name_output(tree, kept, options)] if number == 0 else []
                file.write(make_csv([*header, *predict_part(part, tree, kept, options)]).encode("utf-8"))
                bar.update(part.n_rows)
    except OSError as error:
        if options.out is None or isinstance(error, BrokenPipeError) or error.filename == str(options.data):
            raise
        print(f"certree predict: {options.out} could not be written: {error.strerror}.", file=sys.stderr)
        return FAILED
    unseen.tell()
    return DONE


def is_watched(options: argparse.Namespace) -> bool:
    """Whether there is a terminal to show progress on that the predictions are not printed on."""
    is_printed = options.out is None or str(options.out) in STANDARD_OUTPUT
    return sys.stderr.isatty() and not (is_printed and sys.stdout.isatty())


class Unseen:
    """The rows of all parts that hold a category which the fit did not see, in columns that the tree asks about."""

    def __init__(self, tree: Tree) -> None:
        asked = {int(column) for column in tree.column if column >= 0}
        self._columns = [tree.columns[place] for place in sorted(asked) if tree.columns[place].kind in CATEGORICAL]
        self._values: dict[str, dict[Any, int]] = {column.name: {} for column in self._columns}

    def look_at(self, part: Table) -> None:
        for column in self._columns:
            found = Counter(part.columns[part.names.index(column.name)].tolist())
            counts = self._values[column.name]
            for value, rows in found.items():
                if value is not None and value == value and value not in column.categories:
                    counts[value] = counts.get(value, 0) + rows

    def tell(self) -> None:
        for name, counts in self._values.items():
            if counts:
                rows, more = sum(counts.values()), len(counts) - 3
                values = ", ".join(repr(plain_value(value)) for value in list(counts)[:3])
                who = f"{rows:,} {'row has' if rows == 1 else 'rows have'}"
                print(
                    f"certree predict: {who} a category of column {name!r} "
                    f"that the fit did not see ({values}{f' and {more:,} more' if more > 0 else ''}): "
                    "no test of this column holds there",
                    file=sys.stderr,
                )


def check_first(parts: Iterator[Table], tree: Tree, options: argparse.Namespace) -> Iterator[Table]:
    first = next(parts)
    pick_columns(first, tree, options.data)
    for name in options.id or ():
        find_column(first, name, options.data)
    return chain_first(first, parts)


def chain_first(first: Table, others: Iterator[Table]) -> Iterator[Table]:
    yield first
    yield from others


def name_kept(part: Table, tree: Tree, options: argparse.Namespace) -> Sequence[str]:
    if options.no_ids:
        return ()
    if options.id is not None:
        names: Sequence[str] = options.id
        return names
    own = {column.name for column in tree.columns}
    return [name for name in part.names if name not in own]


def name_output(tree: Tree, kept: Sequence[str], options: argparse.Namespace) -> list[str]:
    shares = [f"share of {label}" for label in tree.labels] if options.probabilities else []
    return [*kept, "prediction", *shares]


def predict_part(
    part: Table, tree: Tree, kept: Sequence[str], options: argparse.Namespace
) -> Iterator[tuple[Any, ...]]:
    X = pick_columns(part, tree, options.data)
    columns: list[Iterable[Any]] = [part.columns[part.names.index(name)].tolist() for name in kept]
    columns.append(tree.predict(X).tolist())
    if options.probabilities:
        columns += tree.predict_proba(X).T.tolist()
    return zip(*columns, strict=True)


@contextmanager
def open_output(options: argparse.Namespace) -> Iterator[BinaryIO]:
    """The file that is asked for, which appears when it is whole, or standard output."""
    if options.out is None or str(options.out) in STANDARD_OUTPUT:
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            yield sys.stdout.buffer
        else:
            held = io.BytesIO()
            yield held
            sys.stdout.write(held.getvalue().decode("utf-8"))
        sys.stdout.flush()
        return
    if options.out.is_file() and not options.force:
        raise FileExistsError(errno.EEXIST, "a file of this name was created in the meantime", str(options.out))
    with replacing(options.out) as file:
        yield file
