"""`certree alternatives`: all trees or policies that are nearly as good as the best one, and what they agree on."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import drop_missing, open_rewards, read_data, read_problem, read_settings
from certree.cli.options import add_budget, add_edits, add_example, add_problem, add_table, read_tolerance
from certree.cli.outputs import add_force, save, warnings_on_standard_error
from certree.plot import plot_agreement, plot_columns, plot_cuts, plot_trees
from certree.plot.canvas import write_picture
from certree.policy import BudgetPolicy, BudgetSet, good_policies
from certree.tree import READABLE, Tree
from certree.tree_set import TreeSet, good_trees

PICTURES = ("columns", "cuts", "agreement", "trees")
"""What is drawn of a set, and what the names of the files end in."""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "alternatives",
        help="all trees or policies that are nearly as good as the best one",
        description="All trees of a table with labels, or all policies of a table with rewards, that are nearly as "
        "good as the best one: how many there are, and what they agree on. The rewards of a log of decisions are "
        "those that policy --scores writes.",
    )
    add_table(parser, may_have_rewards=True)
    add_problem(parser)
    add_edits(parser)
    parser.add_argument(
        "--regularization", type=float, metavar="λ", help="penalty per leaf (default 0.01, of a policy 0)"
    )
    parser.add_argument(
        "--tolerance", type=read_tolerance, metavar="T",
        help="how much worse than the best a good one may be: an amount, or a share of the best objective such as 3%% "
        "(default 0.01; with --rewards there is no default, and an amount is in units of the rewards)",
    )  # fmt: skip
    add_budget(parser)
    parser.add_argument(
        "--show", type=int, default=3, metavar="N", help="how many trees to print, best first (default 3)"
    )
    parser.add_argument("--out", type=Path, metavar="JSON", help="write what is known about the set to this file")
    parser.add_argument(
        "--plots", type=read_pictures, metavar="IMAGE",
        help="also draw the set: with good.png the files are good-columns.png, good-cuts.png, good-agreement.png and "
        "good-trees.png (or svg, pdf)",
    )  # fmt: skip
    add_force(parser)
    add_example(
        parser,
        "certree alternatives people.csv --label bought --ignore id value --depth 2 --tolerance 0.005",
    )
    parser.set_defaults(run=run)


def read_pictures(text: str) -> tuple[Path, ...]:
    path = Path(text)
    if path.suffix not in ("", ".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text}: pictures are png, svg or pdf files, not {path.suffix[1:]!r}")
    return tuple(path.with_name(f"{path.stem}-{name}{path.suffix or '.png'}") for name in PICTURES)


def run(options: argparse.Namespace) -> int:
    if options.plots and options.budget is not None:
        raise ValueError("--plots draws sets without a budget; the set within one can be written with --out")
    trees = find_trees(options) if options.rewards is None else find_policies(options)
    known = trees.complete_part()
    if not trees.is_complete:
        what, end = (
            ("above", trees.complete_above)
            if isinstance(trees, BudgetSet)
            else ("below" if options.rewards is None else "above", trees.complete_below)
        )
        print(f"the search ended early ({trees.status.replace('_', ' ')}): nothing is missing {what} {end:.6f}, and "
              "what follows is about these trees")  # fmt: skip
    if not known:
        print(f"no tree is known to be good{', so nothing was written' if options.out or options.plots else ''}")
        return LIMITED
    # Written before anything is printed: the reader of a pipe may have seen enough after a line.
    is_saved = options.out is None or save(options, options.out, known.to_json(n_trees=options.show))
    drawn = save_pictures(options, known) if options.plots else []
    print_set(known, options.show)
    if options.out is not None and is_saved:
        print(f"\nwritten to {options.out}")
    if drawn:
        print("", *(f"drawn to {path}" for path in drawn), sep="\n")
    if not is_saved or len(drawn) < len(options.plots or ()):
        return FAILED
    return DONE if trees.is_complete else LIMITED


def find_trees(options: argparse.Namespace) -> TreeSet:
    if any(name is not None for name in (options.budget, options.spends, options.control, options.treatment)):
        raise ValueError("--budget, --spends, --control and --treatment are about a policy: name its --rewards")
    table = drop_missing(read_data(options), options, options.label, options.weight)
    X, y, weights = read_problem(options, table)
    print_columns(options, X, options.categorical)
    settings = read_settings(options)
    with warnings_on_standard_error():
        return good_trees(
            X, y, weights, tolerance=0.01 if options.tolerance is None else options.tolerance,
            regularization=0.01 if options.regularization is None else options.regularization, n_jobs=options.jobs,
            **settings,
        )  # fmt: skip


def find_policies(options: argparse.Namespace) -> TreeSet | BudgetSet:
    if options.tolerance is None:
        raise ValueError("--tolerance is needed with --rewards: how much less than the best a good policy may bring")
    if options.min_weight_leaf:
        raise ValueError("--min-weight-leaf is not for policies; use --min-samples-leaf, which counts rows")
    table = read_data(options, text_columns=options.categorical)
    X, facts = open_rewards(table, options)
    print_columns(options, X)
    settings = read_settings(options, is_policy=True)
    with warnings_on_standard_error():
        found = good_policies(
            X, **facts, tolerance=options.tolerance, regularization=options.regularization or 0.0,
            min_samples_arm=options.min_samples_arm, budget=options.budget, n_jobs=options.jobs, **settings,
        )  # fmt: skip
    assert isinstance(found, TreeSet | BudgetSet)
    return found


def print_set(trees: TreeSet | BudgetSet, n_shown: int) -> None:
    if isinstance(trees, BudgetSet):
        noun, have = ("policy spends", "has") if trees.count == 1 else ("policies spend", "have")
        print(f"{trees.count} {noun} at most {trees.budget:g} per row and {have} an objective of at least "
              f"{trees.best.objective - trees.tolerance:.6f}; the best one has {trees.best.objective:.6f}")  # fmt: skip
    else:
        end = "at most" if trees.problem.best_rewards is None else "at least"
        one, many = ("tree", "trees") if trees.problem.best_rewards is None else ("policy", "policies")
        noun = f"{one} has" if trees.count == 1 else f"{many} have"
        print(f"{trees.count} {noun} an objective of {end} {trees.threshold:.6f}; the best one has "
              f"{trees.optimum:.6f}")  # fmt: skip
    for tree in trees[:n_shown]:
        spend = f"  spends {tree.spend:.6g}" if isinstance(tree, BudgetPolicy) else ""
        leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
        print(f"  {tree.objective:.6f}  {leaves}{spend}  {'; '.join(list_tests(tree.tree))}".rstrip())
    facts = trees.columns()
    width = max(len(fact.column) for fact in facts)
    print(f"\n  {'column':<{max(width, 6)}}  needed by  best without it")
    for fact in facts:
        proved = "  every one needs it" if fact.is_needed else "  none uses it" if fact.is_unused else ""
        objective = "no such tree" if math.isnan(fact.objective_without) else f"{fact.objective_without:.6f}"
        print(f"  {fact.column:<{max(width, 6)}}  {fact.share:>9.1%}  {objective:>15}{proved}")
    rows = trees.rows()
    what = "label" if trees.problem.best_rewards is None else "action"
    print(f"\n{rows.is_agreed.sum():,} of {len(rows.index):,} rows get the same {what} from all of them")


def list_tests(tree: Tree) -> list[str]:
    """The tests from the root down, with as many digits as `fit` shows."""
    return [tree.test(node).describe(digits=READABLE) for node in tree.walk() if tree.column[node] >= 0]


def save_pictures(options: argparse.Namespace, trees: TreeSet | BudgetSet) -> list[Path]:
    """Draws and writes all of them; returns those that could be written."""
    drawn: tuple[Callable[[], Any], ...] = (
        lambda: plot_columns(trees)[0],
        lambda: plot_cuts(trees),
        lambda: plot_agreement(trees, random_state=0),
        lambda: plot_trees(trees)[0],
    )
    return [
        path
        for path, draw in zip(options.plots, drawn, strict=True)
        if save(options, path, write_picture(draw(), path.suffix[1:], dpi=200))
    ]
