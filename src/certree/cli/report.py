"""`certree report`: a page about a model, for people who decide."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import (
    find_action,
    find_column,
    name_amounts,
    read_amounts,
    read_cluster,
    read_labels,
    read_weights,
)
from certree.cli.models import open_model, read_target
from certree.cli.options import add_example, add_hiding, add_log, add_model, add_table, read_name
from certree.cli.outputs import add_force, warnings_on_standard_error
from certree.cli.verify import read_policy_facts
from certree.page import report
from certree.page.writer import name_page
from certree.policy import Log, PolicyTree
from certree.table import Table

SECONDS = 60.0

PLURAL_ENDINGS = ("s", "people", "men", "children", "staff")
"""What the plural of an English word for rows ends in, as a rule: another word gets a remark, and is used as it is."""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="write a page about a model that decision makers can open, print and question",
        description="Writes one self-contained HTML page about a model and the table that it was fitted on: what to "
        "do, for whom, what it is worth, what else would be as good, and what was proved.",
    )
    add_model(parser)
    add_table(parser, may_have_rewards=True, may_have_log=True)
    parser.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="PAGE", help="where to write it (default report.html)"
    )
    add_force(parser)
    add_log(parser)
    parser.add_argument("--control", metavar="ACTION", help="the action that stands for treating nobody")
    parser.add_argument("--title", help="the heading of the page")
    parser.add_argument(
        "--notes", type=Path, metavar="MARKDOWN", help="a file with your notes on intended use and limits"
    )
    parser.add_argument("--licence", metavar="TEXT", help="the licence of the data, for the page")
    parser.add_argument(
        "--noun", default="rows", metavar="PLURAL", help="plural word for the rows, such as people (default rows)"
    )
    parser.add_argument(
        "--name",
        nargs="+",
        default=[],
        type=read_name,
        metavar="COLUMN=NAME",
        help="what a column is called on the page",
    )
    parser.add_argument(
        "--unit", nargs="+", default=[], type=read_name, metavar="COLUMN=UNIT", help="the unit of a numeric column"
    )
    parser.add_argument("--reward-unit", metavar="UNIT", help="the unit of a policy's rewards, such as dollars")
    parser.add_argument("--tolerance", type=float, metavar="T", help="how much worse than the best a good tree may be")
    parser.add_argument(
        "--time-limit", type=float, default=SECONDS, metavar="SECONDS",
        help=f"the time for what the page has to compute (default {SECONDS:g})",
    )  # fmt: skip
    add_hiding(parser)
    parser.add_argument(
        "--progress", action="store_true", help="show a progress bar even where standard error is not a terminal"
    )
    add_example(
        parser, "certree report model.json people.csv --label bought --weight value --noun people --out report.html"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    model, table, X = open_model(options)
    facts = read_policy(table, X, model, options) if isinstance(model, PolicyTree) else read_target(options, table)
    if options.cluster is not None and "log" not in facts:
        raise ValueError("--cluster is about a log of decisions: name its --treatment and --outcome")
    if options.group is not None:
        facts["group"] = find_column(table, options.group, options.data)
    if not options.noun.strip().lower().endswith(PLURAL_ENDINGS):
        print(
            f"certree report: --noun takes a plural, such as customers: the page will say “of the {options.noun}”",
            file=sys.stderr,
        )
    notes = None if options.notes is None else options.notes.read_text(encoding="utf-8")
    with warnings_on_standard_error():
        try:
            path = report(
                model,
                X,
                path=options.out,
                title=options.title or (None if isinstance(model, PolicyTree) else name_page(options.label)),
                notes=notes,
                licence=options.licence,
                names=dict(options.name),
                units=dict(options.unit),
                reward_unit=options.reward_unit,
                noun=options.noun,
                tolerance=options.tolerance,
                folds=options.folds,
                random_state=options.random_state,
                time_limit=options.time_limit,
                hide_below=options.hide_below,
                verbose=int(options.progress or sys.stderr.isatty()),
                **facts,
            )
        except OSError as error:
            print(f"certree report: {options.out} could not be written: {error.strerror}.", file=sys.stderr)
            return FAILED
    print(f"written to {path}: {path.stat().st_size / 1000:,.0f} kB, open it in a browser")
    return DONE


def read_policy(table: Table, X: Table, model: PolicyTree, options: argparse.Namespace) -> dict[str, Any]:
    """Rewards, a log of decisions, or both."""
    actions = model.tree_.labels
    facts: dict[str, Any] = {
        "sample_weight": read_weights(table, options),
        "spends": name_amounts("--spends", options.spends, actions),
        "control": None if options.control is None else find_action("--control", options.control, actions),
    }
    if options.rewards is not None:
        facts["y"] = read_policy_facts(table, model.tree_, options)["rewards"]
    if options.outcome is None:
        if options.rewards is None:
            raise ValueError(
                f"{options.model} is a policy: name the --treatment and --outcome of the log that it was learned from, "
                "or a column of rewards for each action with --rewards"
            )
        return facts
    if options.treatment is None:
        raise ValueError("--outcome needs --treatment: the column with the action that each row got")
    arms = [find_action("--treatment", arm, actions) for arm in read_labels(table, options, options.treatment).tolist()]
    facts["log"] = Log(
        X,
        np.array(arms, dtype=object),
        read_amounts(table, options.outcome, options.data),
        name_amounts("--propensity", options.propensity, actions),
        costs=name_amounts("--costs", options.costs, actions),
        maximize=not options.minimize,
        cluster=read_cluster(table, options),
    )
    return facts
