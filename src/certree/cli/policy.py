"""`certree policy`: the optimal policy tree from rewards, or from a log of decisions."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from certree import policy
from certree.certificate import LIMIT_STATUSES
from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import (
    check_budget,
    drop_missing,
    find_action,
    find_column,
    find_remaining,
    name_amounts,
    read_amounts,
    read_cluster,
    read_data,
    read_labels,
    read_rewards,
    read_settings,
)
from certree.cli.options import (
    DATA_HELP,
    add_budget,
    add_drop_missing,
    add_edits,
    add_example,
    add_log,
    add_problem,
    add_reading,
    add_rewards,
    read_source,
)
from certree.cli.outputs import add_force, make_csv, save, warnings_on_standard_error
from certree.datasets.files import to_labels
from certree.export import export_json, export_text
from certree.policy import PolicyTree
from certree.table import Table

LEAST_FOLDS = 3
"""An evaluation learns without a fold, and without two."""
LEAST_LOGGED = 10
"""Rows of a log in every leaf, unless told otherwise: a leaf of one row follows the luck of that row."""
MOST_LEAVES = 8
"""Of an evaluation that are printed: the folds of a policy that does not hold have many, none of which says much."""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "policy",
        help="find the optimal policy tree from rewards, or from a log of decisions",
        description="The optimal policy tree of a table with a column of rewards for every action; or of a log of "
        "decisions, whose doubly robust scores are the rewards and whose policy is evaluated on rows it has not seen.",
    )
    parser.add_argument("data", type=read_source, help=DATA_HELP)
    add_rewards(parser, parser)
    parser.add_argument("--weight", metavar="COLUMN", help="with rewards: the column with the weight of each row")
    add_reading(parser)
    add_drop_missing(parser)
    add_problem(parser, depth=2, is_policy=True)
    add_edits(parser)
    parser.add_argument("--regularization", type=float, default=0.0, metavar="λ", help="penalty per leaf (default 0)")
    add_budget(parser)
    parser.add_argument(
        "--out", type=Path, metavar="MODEL", help="write the policy and its certificate to this JSON file"
    )
    add_force(parser)
    log = parser.add_argument_group("a log of decisions")
    add_log(log)
    log.add_argument(
        "--repeats", type=int, default=1, metavar="N", help="how many times the rows are divided into folds (default 1)"
    )
    log.add_argument(
        "--leaves", action="store_true", help="also print the leaves of the policies that were learned without a fold"
    )
    log.add_argument(
        "--scores",
        type=Path,
        metavar="CSV",
        help="write the columns and the rewards to this file, which verify can read",
    )
    add_example(
        parser,
        "certree policy log.csv --treatment action --outcome sales --ignore id --costs none=0 letter=0.05 \\",
        "    --out policy.json",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    is_log = options.outcome is not None
    if (options.rewards is not None) == is_log or (is_log and options.treatment is None):
        raise ValueError("name either the columns of --rewards, or --treatment and --outcome")
    table = read_data(options, text_columns=options.categorical)
    targets = (options.treatment, options.outcome, options.weight, options.cluster, *(options.rewards or []))
    table = drop_missing(table, options, *targets)
    if options.min_samples_leaf is None:
        options.min_samples_leaf = max(math.ceil(table.n_rows / 100), LEAST_LOGGED if is_log else 1)
    roles = {*targets, options.group} - {None}
    for name in (*roles, *options.ignore):
        find_column(table, name, options.data)
    names = find_remaining(table.names, {*roles, *options.ignore}, options.data)
    model = PolicyTree(
        regularization=options.regularization, min_samples_arm=options.min_samples_arm, budget=options.budget,
        n_jobs=options.jobs, **read_settings(options, is_policy=True),
    )  # fmt: skip
    X = table.select(names)
    print_columns(options, X)
    learn = learn_from_log if is_log else learn_from_rewards
    with warnings_on_standard_error():
        scores, diagnostics, evaluate = learn(model, X, table, options)
    is_saved = save(options, options.out, export_json(model))
    is_saved &= save(options, options.scores, scores)
    found = None
    # From here on Ctrl-C ends the evaluation, and the policy that was found stands.
    with suppress(KeyboardInterrupt):
        print(export_text(model), describe_affected(model), sep="\n\n", flush=True)
        if evaluate is not None and model.status_ != "interrupted":
            with warnings_on_standard_error():
                found = evaluate()
    is_finished = model.status_ not in LIMIT_STATUSES
    if evaluate is not None:
        if found is None:
            print("certree: interrupted: the policy was not evaluated on rows that it has not seen", file=sys.stderr)
        else:
            print_evaluation(found)
            if options.leaves:
                print_leaves(found)
        is_finished &= found is not None and found.repeats == options.repeats
    print(f"\n{model.certificate_.summary(model.tree_.labels)}\n  fitted in    {model.fit_seconds_:.3g} s")
    if diagnostics:
        print(f"\n{diagnostics}")
    if not is_saved:
        return FAILED
    written = [str(path) for path in (options.out, options.scores) if path is not None]
    if written:
        print(f"\nwritten to {' and '.join(written)}")
    return DONE if is_finished else LIMITED


def learn_from_rewards(model: PolicyTree, X: Table, table: Table, options: argparse.Namespace) -> tuple[str, str, None]:
    if options.scores is not None:
        raise ValueError("--scores writes what is learned from a log; the rewards are in the table already")
    if options.cluster is not None:
        raise ValueError("--cluster is about a log of decisions: name its --treatment and --outcome")
    model.fit(X, **read_rewards(table, options))
    return "", "", None


def learn_from_log(
    model: PolicyTree, X: Table, table: Table, options: argparse.Namespace
) -> tuple[str, str, Callable[[], policy.Evaluation]]:
    """Fits the policy. Returns the scores that it was learned from, as CSV and in words, and what evaluates it."""
    if options.weight is not None:
        raise ValueError("--weight goes with --rewards: scores of a log are learned without weights")
    treatment = read_labels(table, options, options.treatment)
    actions = np.unique(treatment).tolist()
    check_budget(options, actions)
    if options.folds < LEAST_FOLDS:
        raise ValueError(f"--folds must be at least {LEAST_FOLDS}, not {options.folds}")
    settings: dict[str, Any] = {
        "propensity": name_amounts("--propensity", options.propensity, actions),
        "costs": name_amounts("--costs", options.costs, actions),
        "maximize": not options.minimize,
        "cluster": read_cluster(table, options),
        "folds": options.folds,
        "random_state": options.random_state,
    }
    outcome = read_amounts(table, options.outcome, options.data)
    spends = name_amounts("--spends", options.spends, actions)
    evaluate = partial(
        policy.evaluate,
        model,
        X,
        treatment,
        outcome,
        **settings,
        repeats=options.repeats,
        control=read_control(options, actions),
        spends=spends,
        group=None if options.group is None else find_column(table, options.group, options.data),
        verbose=int(options.progress or sys.stderr.isatty()),
    )
    scores = policy.doubly_robust(X, treatment, outcome, **settings)
    control = None if options.budget is None else read_control(options, actions)
    model.fit(X, scores, treatment=treatment, spends=spends, control=control)
    header = [*X.names, options.treatment, *(f"reward of {action}" for action in actions)]
    columns = [*map(to_labels, X.columns), treatment, *scores.rewards.T]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return make_csv([header, *rows]), scores.summary(), evaluate


def read_control(options: argparse.Namespace, actions: list[Any]) -> Any:
    return None if options.control is None else find_action("--control", options.control, actions)


def describe_affected(model: PolicyTree) -> str:
    """How many rows get which action."""
    tree = model.tree_
    rows = dict.fromkeys(tree.labels, 0)
    for leaf in tree.leaves:
        rows[tree.node_label(leaf)] += int(tree.rows[leaf])
    total = sum(rows.values())
    given = [f"{action} to {count:,} rows ({count / total:.1%})" for action, count in rows.items() if count]
    return "\n".join(wrap(f"gives {', '.join(given)}", 110, subsequent_indent="  "))


def print_evaluation(found: policy.Evaluation) -> None:
    print("\non rows that it has not seen")
    for line in found.summary().splitlines():
        print("\n".join(wrap(line, 110, initial_indent="  ", subsequent_indent="    ")))


def print_leaves(found: policy.Evaluation) -> None:
    largest = sorted(found.leaves, key=lambda leaf: -leaf.rows)
    shown, others = largest[:MOST_LEAVES], largest[MOST_LEAVES:]
    print("\nleaves of the policies learned without a fold" + (", the largest" if others else ""))
    for leaf in shown:
        print(f"  {leaf.leaf}: {leaf.action}")
        rewards = ", ".join(f"{action} {reward}" for action, reward in leaf.rewards.items())
        print(f"    {leaf.rows:,} rows ({100 * leaf.share:.1f}%) in {leaf.folds} of {found.folds} folds: {rewards}")
    if others:
        print(f"  and {len(others)} more, with {sum(leaf.rows for leaf in others):,} rows")
