"""`certree alternatives`: all trees of a table that are nearly as good as the best one, and what they agree on."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import drop_missing, read_data, read_problem, read_settings
from certree.cli.options import add_edits, add_example, add_problem, add_table
from certree.cli.outputs import add_force, save, warnings_on_standard_error
from certree.tree_set import TreeSet, good_trees


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("alternatives", help="all trees that are nearly as good as the best one")
    add_table(parser)
    add_problem(parser)
    add_edits(parser)
    parser.add_argument(
        "--regularization", type=float, default=0.01, metavar="λ", help="penalty per leaf (default 0.01)"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.01, metavar="T", help="how much worse a good tree may be (default 0.01)"
    )
    parser.add_argument("--show", type=int, default=3, metavar="N", help="print so many trees, best first (default 3)")
    parser.add_argument("--out", type=Path, metavar="JSON", help="write what is known of the set to this file")
    add_force(parser)
    add_example(parser, "certree alternatives people.csv --label bought --ignore id value --depth 2 --tolerance 0.005")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    table = drop_missing(read_data(options), options, options.label, options.weight)
    X, y, weights = read_problem(options, table)
    print_columns(options, X, options.categorical)
    settings = read_settings(options)
    del settings["verbose"]
    with warnings_on_standard_error():
        trees = good_trees(
            X, y, weights, tolerance=options.tolerance, regularization=options.regularization, n_jobs=options.jobs,
            **settings,
        )  # fmt: skip
    known = trees.complete_part()
    if not trees.is_complete:
        print(f"the search ended early ({trees.status.replace('_', ' ')}): nothing is missing below "
              f"{trees.complete_below:.6f}, and what follows is about these trees")  # fmt: skip
    if not known:
        print("no tree is known to be good")
        return LIMITED
    print_set(known, options.show)
    if options.out is not None:
        if not save(options, options.out, known.to_json(n_trees=options.show)):
            return FAILED
        print(f"\nwritten to {options.out}")
    return DONE if trees.is_complete else LIMITED


def print_set(trees: TreeSet, n_shown: int) -> None:
    print(
        f"{trees.count} trees have an objective of at most {trees.threshold:.6f}; the best one has {trees.optimum:.6f}"
    )
    for tree in trees[:n_shown]:
        print(f"  {tree.objective:.6f}  {tree.n_leaves} leaves  {'; '.join(tree.tests)}")
    print("\ncolumn: share of trees that need it, best objective without it")
    for fact in trees.columns():
        proved = ", every one needs it" if fact.is_needed else ", none uses it" if fact.is_unused else ""
        objective = "no such tree" if math.isnan(fact.objective_without) else f"{fact.objective_without:.6f}"
        print(f"  {fact.column}: {fact.share:.1%}, {objective}{proved}")
    rows = trees.rows()
    print(f"\n{rows.is_agreed.sum()} of {len(rows.index)} rows get the same label from all of them")
