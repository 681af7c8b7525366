"""`certree predict`: what a tree says about the rows of a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import pick_columns, read_data, text_columns
from certree.cli.options import add_model, add_reading
from certree.cli.outputs import add_force, make_csv, save
from certree.export import load
from certree.tree import tree_of


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("predict", help="predict the rows of a table")
    add_model(parser)
    parser.add_argument("data", type=Path, help="file with the tree's columns; others are ignored")
    add_reading(parser)
    parser.add_argument("--probabilities", action="store_true", help="also the share of each label in the row's leaf")
    parser.add_argument("--out", type=Path, metavar="CSV", help="write to this file instead of standard output")
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    tree = tree_of(load(options.model))
    table = read_data(options, text_columns(tree))
    X = pick_columns(table, tree, options.data)
    header = ["prediction"]
    columns: list[Iterable[Any]] = [tree.predict(X).tolist()]
    if options.probabilities:
        header += [f"share of {label}" for label in tree.labels]
        columns += tree.predict_proba(X).T.tolist()
    text = make_csv(header, zip(*columns, strict=True))
    if options.out is None:
        sys.stdout.write(text)
    return DONE if save(options, options.out, text) else FAILED
