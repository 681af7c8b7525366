"""The command line, and the only room that prints.

It promises results on standard output, everything else on standard error, and an exit code that a script can trust:
0 done (of a fit or a path: searched to its end), 3 a limit was reached and a valid tree was written, 2 wrong usage or
bad input, 1 failure (of verify: the certificate does not hold).
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from joblib import effective_n_jobs

import certree
from certree import certify, policy, study
from certree.datasets import load_lalonde
from certree.datasets.files import read_csv, select, to_labels
from certree.datasets.named import DATA_SETTING, SOURCES
from certree.estimators import SparseTreeClassifier
from certree.export import export_json, export_text, load, tree_of
from certree.path import regularization_path
from certree.plot import plot_tree
from certree.policy import PolicyTree
from certree.table import Array, Table
from certree.tree import Tree

DONE, FAILED, MISUSED, LIMITED = 0, 1, 2, 3
BOOSTING = "boosting"
MOST_LEAVES = 8
"""Of an evaluation that are printed: the folds of a policy that does not hold have many, none of which says much."""
LIMIT_STATUSES = ("time_limit", "memory_limit", "interrupted")
STATUS_WORDS = {
    "optimal": "no such tree has a lower objective",
    "approximate": "the best tree of counts in place of weights; none is below the lower bound",
    "guessed": "as good as lower-bound guesses promise; no tree is below the lower bound",
    **dict.fromkeys(LIMIT_STATUSES, "the best tree so far; none is below the lower bound"),
}
POLICY_STATUS_WORDS = {
    "optimal": "no such policy has a greater objective",
    "approximate": "the best policy found within the budget; none is above the upper bound",
    **dict.fromkeys(LIMIT_STATUSES, "the best policy so far; none is above the upper bound"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        check_destinations(options)
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python flushes once more at exit: give it a place to do so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (ValueError, OSError, ImportError) as error:
        reason = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            reason = f"{error.filename}: {error.strerror}"
        print(f"certree {options.command}: {reason}", file=sys.stderr)
        return MISUSED
    except KeyboardInterrupt:
        print(f"certree {options.command}: aborted", file=sys.stderr)
        return FAILED
    return code


# What may be asked --------------------------------------------------------------------------------------------------


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="certree",
        description="Certified optimal sparse decision trees for weighted data.",
        epilog="Exit codes: 0 done, searched to the end; 3 a limit was reached and a valid tree was written; "
        "2 wrong usage or bad input; 1 failure.",
    )
    parser.add_argument("--version", action="version", version=f"certree {certree.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    fit = commands.add_parser("fit", help="find the optimal tree of a table")
    add_table(fit)
    add_problem(fit, has_guesses=True)
    fit.add_argument("--regularization", type=float, default=0.01, metavar="λ", help="penalty a leaf (default 0.01)")
    fit.add_argument("--class-weight", choices=["balanced"], help="weigh the labels alike")
    add_weighing(fit)
    fit.add_argument("--out", type=Path, metavar="MODEL", help="write tree and certificate to this JSON file")
    fit.set_defaults(run=run_fit)

    predict = commands.add_parser("predict", help="predict the rows of a table")
    add_model(predict)
    predict.add_argument("data", type=Path, help="CSV file with the tree's columns; others are ignored")
    add_separator(predict)
    predict.add_argument("--probabilities", action="store_true", help="also the share of each label in the row's leaf")
    predict.add_argument("--out", type=Path, metavar="CSV", help="write to this file instead of standard output")
    predict.set_defaults(run=run_predict)

    show = commands.add_parser("show", help="print a tree and its certificate")
    add_model(show)
    show.add_argument("--plot", type=Path, metavar="IMAGE", help="also draw the tree to this file (png, svg or pdf)")
    show.set_defaults(run=run_show)

    verify = commands.add_parser("verify", help="check a certificate against a table, without the engine")
    add_model(verify)
    add_table(verify, may_have_rewards=True)
    verify.set_defaults(run=run_verify)

    learn = commands.add_parser(
        "policy",
        help="find the optimal policy tree from rewards, or from a log of decisions",
        description="The optimal policy tree of a table with a column of rewards for every action; or of a log of "
        "decisions, whose doubly robust scores are the rewards and whose policy is evaluated on rows it has not seen.",
    )
    add_policy(learn)
    learn.set_defaults(run=run_policy)

    path = commands.add_parser("path", help="all optimal trees of a table, over every penalty λ")
    add_table(path)
    add_problem(path)
    path.add_argument("--out", type=Path, metavar="CSV", help="write the front to this file")
    path.set_defaults(run=run_path)

    datasets = commands.add_parser("datasets", help="list the data sets, or describe one")
    datasets.add_argument("name", nargs="?", choices=sorted(SOURCES), metavar="name", help="the one to describe")
    datasets.set_defaults(run=run_datasets)

    demo = commands.add_parser(
        "demo",
        help="the case study: whom to train, on the embedded data set",
        description="The case study on the embedded data set: effects by matching, weighted trees and a policy.",
        allow_abbrev=False,
    )
    add_study(demo)
    demo.set_defaults(run=run_demo)
    return parser


def add_study(parser: argparse.ArgumentParser) -> None:
    own = study.Matching()
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("certree-demo"),
        metavar="DIR",
        help="folder to write (default certree-demo)",
    )
    parser.add_argument("--effects", type=Path, metavar="CSV", help="effects to use in place of matching, a row a man")
    parser.add_argument("--column", metavar="NAME", help="the column of that file (default effect, or the only one)")
    for flag, default, meaning in (
        ("--neighbors", own.n_neighbors, "men of each arm that a man is matched with"),
        ("--splits", own.n_splits, "parts that the men are dealt into"),
        ("--repeats", own.n_repeats, "how often they are dealt"),
        ("--seed", own.random_state, "of the matching and the evaluation"),
    ):
        parser.add_argument(flag, type=int, default=default, metavar="N", help=f"{meaning} (default {default})")
    parser.add_argument(
        "--depths", type=int, nargs="+", default=[2, 3, 4, 5], metavar="D", help="of the trees (default 2 3 4 5)"
    )
    parser.add_argument("--regularization", type=float, default=0.01, metavar="λ", help="penalty a leaf (default 0.01)")
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="for each tree (default 60)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default all)")
    parser.add_argument(
        "--cost", type=float, default=1000.0, metavar="DOLLARS", help="of treating a man (default 1000)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="JSON file that fit --out or policy --out has written")


def add_table(parser: argparse.ArgumentParser, *, may_have_rewards: bool = False) -> None:
    parser.add_argument("data", type=Path, help="CSV file with a header line")
    target = parser.add_mutually_exclusive_group(required=True) if may_have_rewards else parser
    target.add_argument("--label", required=not may_have_rewards, metavar="COLUMN", help="the column to predict")
    if may_have_rewards:
        add_rewards(parser, target)
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says what a row's mistake costs")
    add_separator(parser)


def add_rewards(parser: argparse.ArgumentParser, target: Any) -> None:
    """The table of a policy."""
    target.add_argument("--rewards", nargs="+", metavar="COLUMN", help="a column of rewards for each action")
    parser.add_argument("--treatment", metavar="COLUMN", help="the column with the action that each row got")
    parser.add_argument(
        "--spends", nargs="+", type=read_amount, metavar="ACTION=AMOUNT",
        help="what each action spends of a budget (default 0 for the first, 1 for every other)",
    )  # fmt: skip


def add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="CSV file with a header line")
    add_rewards(parser, parser)
    parser.add_argument("--weight", metavar="COLUMN", help="with rewards: the column with the weight of each row")
    add_separator(parser)
    add_problem(parser, depth=2, is_policy=True)
    parser.add_argument("--regularization", type=float, default=0.0, metavar="λ", help="penalty a leaf (default 0)")
    parser.add_argument(
        "--min-samples-arm", type=int, default=0, metavar="N", help="rows of every arm a leaf must hold"
    )
    parser.add_argument("--budget", type=float, metavar="B", help="largest mean spend")
    parser.add_argument("--out", type=Path, metavar="MODEL", help="write policy and certificate to this JSON file")
    log = parser.add_argument_group("a log of decisions")
    log.add_argument("--outcome", metavar="COLUMN", help="the column with what came of it; needs --treatment")
    log.add_argument("--minimize", action="store_true", help="the outcome is a cost: lower is better")
    log.add_argument(
        "--propensity", nargs="+", type=read_amount, metavar="ACTION=CHANCE",
        help="the known chances of an experiment (default: estimated)",
    )  # fmt: skip
    log.add_argument(
        "--costs", nargs="+", type=read_amount, metavar="ACTION=AMOUNT",
        help="what each action costs, in units of the outcome; taken off the rewards",
    )  # fmt: skip
    log.add_argument("--control", metavar="ACTION", help="the action that stands for treating nobody (default: first)")
    log.add_argument(
        "--group", metavar="COLUMN", help="rates and values by the groups in this column, which is not decided by"
    )
    log.add_argument("--folds", type=int, default=5, metavar="N", help="parts for cross-fitting (default 5)")
    log.add_argument("--repeats", type=int, default=1, metavar="N", help="deals into folds (default 1)")
    log.add_argument("--random-state", type=int, default=0, metavar="SEED", help="of the folds (default 0)")
    log.add_argument("--scores", type=Path, metavar="CSV", help="write the columns and rewards, which verify can read")


def add_separator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--separator", type=read_separator, default=",", help="between values: a character, or tab")


def add_problem(
    parser: argparse.ArgumentParser, *, depth: int = 3, has_guesses: bool = False, is_policy: bool = False
) -> None:
    """What may be asked of a search; a fit may have some of it guessed."""
    words = ("none", "guess") if has_guesses else ("none",)
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    if not is_policy:
        parser.add_argument("--categorical", nargs="+", metavar="COLUMN", help="numeric columns to read as categories")
        parser.add_argument("--min-weight-leaf", type=float, default=0.0, metavar="W", help="weight a leaf must hold")
    parser.add_argument(
        "--depth",
        type=partial(read_depth, words=words),
        default=depth,
        help=f"depth limit, or {' or '.join(words)} (default {depth})",
    )
    parser.add_argument("--max-leaves", type=int, metavar="N", help="limit on the number of leaves")
    parser.add_argument("--min-samples-leaf", type=int, default=1, metavar="N", help="rows a leaf must hold")
    words = ("all", "guess") if has_guesses else ("all",)
    parser.add_argument(
        "--thresholds", type=partial(read_thresholds, words=words), default="all", metavar="N",
        help=f"at most so many a column, or {' or '.join(words)} (default all)",
    )  # fmt: skip
    parser.add_argument("--time-limit", type=float, metavar="SECONDS")
    parser.add_argument("--memory-limit", type=read_bytes, metavar="SIZE", help="such as 500MB or 2GB")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads; -1 for all (default 1)")
    parser.add_argument("--progress", action="store_true", help="show a progress bar")


def add_weighing(parser: argparse.ArgumentParser) -> None:
    """The ways to weigh and the reference, by their names in the public interface."""
    parser.add_argument(
        "--method", choices=["direct", "duplicate", "sample"], default="direct",
        help="how weights enter: as they are (default), rounded to counts, or as a sample of the rows",
    )  # fmt: skip
    parser.add_argument("--duplication", type=int, default=100, metavar="N", help="count of the heaviest row (100)")
    parser.add_argument("--sample-ratio", type=float, default=1.0, metavar="R", help="draws a row (default 1)")
    parser.add_argument("--random-state", type=int, metavar="SEED", help="of a sample, and of guesses")
    parser.add_argument(
        "--reference", metavar="COLUMN",
        help="guess lower bounds: boosting, or the column that holds a model's predictions",
    )  # fmt: skip


def read_separator(text: str) -> str:
    separator = "\t" if text in ("tab", "\\t") else text
    if len(separator) != 1 or separator in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is neither a character nor 'tab'")
    return separator


def read_depth(text: str, words: Sequence[str]) -> int | str | None:
    depth = read_count(text, words)
    return None if depth == "none" else depth


def read_thresholds(text: str, words: Sequence[str]) -> int | str:
    return read_count(text, words)


def read_count(text: str, words: Sequence[str]) -> int | str:
    """A whole number, or one of a few words."""
    if text.lower() in words:
        return text.lower()
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor {' nor '.join(map(repr, words))}")
    return int(text)


def read_amount(text: str) -> tuple[str, float]:
    action, sign, amount = text.rpartition("=")
    try:
        return action, float(amount if sign and action else "?")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an action and a number, such as letter=0.5") from None


def read_bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9.]+) ?([KMGT]?)B?", text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 2GB")
    return int(float(found.group(1)) * 1000 ** " KMGT".index(found.group(2) or " "))


# What is done -------------------------------------------------------------------------------------------------------


def run_fit(options: argparse.Namespace) -> int:
    X, y, weights = read_problem(options)
    model = SparseTreeClassifier(
        regularization=options.regularization,
        class_weight=options.class_weight,
        method=options.method,
        duplication=options.duplication,
        sample_ratio=options.sample_ratio,
        reference=read_reference(options),
        n_jobs=options.jobs,
        random_state=options.random_state,
        **read_settings(options),
    )
    with warnings_on_standard_error():
        model.fit(X, y, weights)
    if options.out is not None:
        options.out.write_text(export_json(model), encoding="utf-8")
    print_model(model.tree_, model.certificate_)
    print(f"  fitted in    {model.fit_seconds_:.3g} s")
    if options.out is not None:
        print(f"\nwritten to {options.out}")
    return LIMITED if model.status_ in LIMIT_STATUSES else DONE


def run_predict(options: argparse.Namespace) -> int:
    tree = tree_of(load(options.model))
    table = read_csv(options.data, separator=options.separator, text_columns=text_columns(tree))
    X = pick_columns(table, tree, options.data)
    header = ["prediction"]
    columns: list[Iterable[Any]] = [tree.predict(X).tolist()]
    if options.probabilities:
        header += [f"share of {label}" for label in tree.labels]
        columns += tree.predict_proba(X).T.tolist()
    write_csv(options.out, header, zip(*columns, strict=True))
    return DONE


def run_show(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    print_model(model.tree_, model.certificate_)
    if options.plot is not None:
        figure = plot_tree(model, digits=7).get_figure(root=True)
        assert figure is not None
        figure.savefig(options.plot, dpi=200)
        print(f"\ndrawn to {options.plot}")
    return DONE


def run_verify(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    tree, certificate = model.tree_, model.certificate_
    has_text_labels = all(isinstance(label, str) for label in tree.labels)
    named = {options.label, options.treatment} - {None} if has_text_labels else set()
    table = read_csv(options.data, separator=options.separator, text_columns={*text_columns(tree), *named})
    X, weights = pick_columns(table, tree, options.data), read_weights(table, options)
    if isinstance(model, PolicyTree):
        facts = read_policy_facts(table, tree, options)
        verdict = certify.check(certificate, tree, X, sample_weight=weights, **facts)
    else:
        if options.label is None:
            raise ValueError(f"{options.model} predicts labels: name their column with --label")
        verdict = certify.check(certificate, tree, X, read_labels(table, options), weights)
    print(f"recomputed from {options.data}, without the engine:")
    print(f"  objective    {verdict.objective:.10g}  (certificate: {certificate['objective']:.10g})")
    print(f"  loss         {verdict.loss:.10g}  (certificate: {certificate['loss']:.10g})")
    if isinstance(model, PolicyTree):
        print("               a policy's loss is what it falls short of the best action of every row")
    for failure in verdict.failures:
        print(f"  wrong        {failure}")
    print("the certificate holds" if verdict.holds else "the certificate does not hold")
    return DONE if verdict.holds else FAILED


def run_policy(options: argparse.Namespace) -> int:
    is_log = options.outcome is not None
    if (options.rewards is not None) == is_log or (is_log and options.treatment is None):
        raise ValueError("name either the columns of --rewards, or --treatment and --outcome")
    table = read_csv(options.data, separator=options.separator)
    roles = {options.treatment, options.outcome, options.weight, options.group, *(options.rewards or [])} - {None}
    for name in (*roles, *options.ignore):
        find_column(table, name, options.data)
    names = [name for name in table.names if name not in {*roles, *options.ignore}]
    if not names:
        raise ValueError(f"{options.data} has no column besides {', '.join(sorted({*roles, *options.ignore}))}")
    model = PolicyTree(
        regularization=options.regularization, min_samples_arm=options.min_samples_arm, budget=options.budget,
        n_jobs=options.jobs, **read_settings(options),
    )  # fmt: skip
    with warnings_on_standard_error():
        learn = learn_from_log if is_log else learn_from_rewards
        found = learn(model, select(table, names), table, options)
    if options.out is not None:
        options.out.write_text(export_json(model), encoding="utf-8")
    print_model(model.tree_, model.certificate_)
    print(f"  fitted in    {model.fit_seconds_:.3g} s")
    if found is not None:
        print_evaluation(found)
    for path in (options.out, options.scores):
        if path is not None:
            print(f"\nwritten to {path}")
    return LIMITED if model.status_ in LIMIT_STATUSES else DONE


def learn_from_rewards(model: PolicyTree, X: Table, table: Table, options: argparse.Namespace) -> None:
    if options.scores is not None:
        raise ValueError("--scores writes what is learned from a log; the rewards are in the table already")
    model.fit(
        X,
        select(table, options.rewards),
        read_weights(table, options),
        treatment=None if options.treatment is None else read_labels(table, options, options.treatment),
        costs=name_amounts("--spends", options.spends, options.rewards),
    )


def learn_from_log(model: PolicyTree, X: Table, table: Table, options: argparse.Namespace) -> policy.Evaluation:
    if options.weight is not None:
        raise ValueError("--weight goes with --rewards: scores of a log are learned without weights")
    treatment = read_labels(table, options, options.treatment)
    actions = np.unique(treatment).tolist()
    settings: dict[str, Any] = {
        "propensity": name_amounts("--propensity", options.propensity, actions),
        "costs": name_amounts("--costs", options.costs, actions),
        "maximize": not options.minimize,
        "folds": options.folds,
        "random_state": options.random_state,
    }
    outcome = find_column(table, options.outcome, options.data)
    scores = policy.doubly_robust(X, treatment, outcome, **settings)
    spends = name_amounts("--spends", options.spends, actions)
    model.fit(X, scores, treatment=treatment, costs=spends)
    if options.scores is not None:
        header = [*X.names, options.treatment, *(f"reward of {action}" for action in actions)]
        columns = [*map(to_labels, X.columns), treatment, *scores.rewards.T]
        write_csv(options.scores, header, zip(*(column.tolist() for column in columns), strict=True))
    print(scores.summary(), end="\n\n")
    return policy.evaluate(
        model,
        X,
        treatment,
        outcome,
        **settings,
        repeats=options.repeats,
        control=None if options.control is None else find_action("--control", options.control, actions),
        group=None if options.group is None else find_column(table, options.group, options.data),
        fit_params={} if spends is None else {"costs": spends},
    )


def run_path(options: argparse.Namespace) -> int:
    X, y, weights = read_problem(options)
    with warnings_on_standard_error():
        path = regularization_path(X, y, weights, n_threads=effective_n_jobs(options.jobs), **read_settings(options))
    rows = path.to_rows()
    print_path(rows)
    if not path.is_complete:
        print("\na limit ended a search: a tree may be missing from this list, or not be the best of its size")
    if options.out is not None:
        write_csv(options.out, list(rows[0]), [row.values() for row in rows])
        print(f"\nwritten to {options.out}")
    return DONE if path.is_optimal else LIMITED


def run_datasets(options: argparse.Namespace) -> int:
    if options.name == "lalonde":
        print(load_lalonde().DESCR)
        return DONE
    folder = os.environ.get(DATA_SETTING)
    for name in sorted(SOURCES) if options.name is None else [options.name]:
        source = SOURCES[name]
        if name == "lalonde":
            place = "embedded"
        elif folder and (Path(folder) / f"{name}.csv").is_file():
            place = "found"
        else:
            place = "not found"
        print(f"{name:<24} {source.rows:>6} × {source.features:<3} {place:<10} {source.note}")
    if not folder:
        print(f"\nAll but lalonde are read from CSV files in the directory that {DATA_SETTING} names; it is not set.")
    return DONE


def run_demo(options: argparse.Namespace) -> int:
    with warnings_on_standard_error():
        case = study.run(
            None if options.effects is None else read_effects(options.effects, options.column),
            matching=study.Matching(options.neighbors, options.splits, options.repeats, options.seed),
            depths=options.depths,
            regularization=options.regularization,
            time_limit=options.time_limit,
            treatment_cost=options.cost,
            n_jobs=options.jobs,
            verbose=1,
        )
    print(study.summarise(case))
    written = study.write(case, options.output)
    counts = Counter(path.suffix for path in written)
    print(f"\nwritten to {options.output}: study.txt and")
    print(f"  {counts['.csv']} tables (CSV), {counts['.json']} models (JSON), {counts['.svg']} pictures (SVG)")
    print(f"in {case.study_seconds:.0f} s. Now try")
    print(f"  {name_command()} show {options.output / 'models' / f'direct-depth-{case.depths[0]}.json'}")
    if not study.has_pictures():
        print("certree demo: trees are drawn where matplotlib is: pip install 'certree[plot]'", file=sys.stderr)
    return FAILED if case.has_wrong_certificate else DONE


def name_command() -> str:
    """What to type to run a command: an environment that is not active has no place on the path."""
    own = Path(sys.argv[0])
    return "certree" if own.stem != "certree" or shutil.which("certree") else os.path.relpath(own)


def read_effects(path: Path, column: str | None) -> Array:
    """Effects from a file. Other columns that it shares with the embedded table show that its rows are in order."""
    table = read_csv(path)
    if column is None:
        column = table.names[0] if table.n_columns == 1 else "effect"
    effects = find_column(table, column, path)
    data = load_lalonde()
    own = dict(zip(data.feature_names, data.data.T, strict=True)) | {"treat": data.treatment, "re78": data.target}
    if table.n_rows != len(data.data):
        raise ValueError(f"{path} has {table.n_rows} rows, but the study {len(data.data)}")
    for name, values in zip(table.names, table.columns, strict=True):
        if name in own and name != column and not np.array_equal(values, own[name].astype(np.float64)):
            row = int(np.argmax(values != own[name]))
            raise ValueError(
                f"{path}: row {row + 1} has {name} {values[row]}, but row {row + 1} of the embedded table "
                f"{own[name][row]}; give the effects in its order"
            )
    return effects


# Models and tables in -----------------------------------------------------------------------------------------------


def load_certified(path: Path) -> SparseTreeClassifier | PolicyTree:
    model = load(path)
    if not isinstance(model, (SparseTreeClassifier, PolicyTree)):
        raise ValueError(f"{path} holds a bare tree, without a certificate")
    return model


def read_policy_facts(table: Table, tree: Tree, options: argparse.Namespace) -> dict[str, Any]:
    """What `certify.check` compares a policy with: the rewards, and the arms and spends where there are any."""
    if options.rewards is None:
        raise ValueError(f"{options.model} is a policy: name a column of rewards for each action with --rewards")
    actions = [str(label) for label in tree.labels]
    # Columns that are called as the actions may come in any order.
    names = actions if set(options.rewards) == set(actions) else options.rewards
    if len(names) != len(actions):
        raise ValueError(f"--rewards names {len(names)} columns; the policy's actions are {', '.join(actions)}")
    arms = None
    if options.treatment is not None:
        own = read_labels(table, options, options.treatment).tolist()
        arms = np.array([tree.labels.index(find_action("--treatment", arm, tree.labels)) for arm in own])
    rewards = [find_column(table, name, options.data) for name in names]
    return {
        "rewards": np.column_stack(rewards),
        "arms": arms,
        "costs": name_amounts("--spends", options.spends, tree.labels),
    }


def name_amounts(
    flag: str, amounts: Sequence[tuple[str, float]] | None, actions: Sequence[Any]
) -> dict[Any, float] | None:
    """Amounts by action, as they were given on the command line."""
    return None if amounts is None else {find_action(flag, name, actions): amount for name, amount in amounts}


def find_action(flag: str, name: Any, actions: Sequence[Any]) -> Any:
    """The action of that name: on a command line 1 is written as "1"."""
    for action in actions:
        if str(action) == str(name):
            return action
    raise ValueError(f"{flag} names {str(name)!r}, which is none of the actions {', '.join(map(str, actions))}")


def read_problem(options: argparse.Namespace) -> tuple[Table, Array, Array | None]:
    """Features, labels and weights from the options that add_table and add_problem define."""
    table = read_csv(options.data, separator=options.separator)
    y, weights = read_labels(table, options), read_weights(table, options)
    for name in options.ignore:
        find_column(table, name, options.data)
    reference = getattr(options, "reference", None)
    left_out = {options.label, options.weight, *options.ignore, *([] if reference == BOOSTING else [reference])}
    names = [name for name in table.names if name not in left_out]
    if not names:
        raise ValueError(f"{options.data} has no column besides {', '.join(sorted(left_out - {None}))}")
    return select(table, names), y, weights


def read_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What all searches have in common, by its name in the public interface, and what a policy's lacks."""
    settings = {
        "max_depth": options.depth,
        "max_leaves": options.max_leaves,
        "min_samples_leaf": options.min_samples_leaf,
        "thresholds": options.thresholds,
        "time_limit": options.time_limit,
        "memory_limit": options.memory_limit,
        "verbose": int(options.progress),
    }
    if options.command != "policy":
        settings["min_weight_leaf"] = options.min_weight_leaf
        settings["categorical_features"] = "auto" if options.categorical is None else options.categorical
    return settings


def read_reference(options: argparse.Namespace) -> str | Array | None:
    """The word, or the labels in a column of predictions."""
    reference: str | None = options.reference
    if reference is None or reference == BOOSTING:
        return reference
    return read_labels(read_csv(options.data, separator=options.separator), options, reference)


def read_labels(table: Table, options: argparse.Namespace, name: str | None = None) -> Array:
    """Those to predict, or those in the column of that name."""
    name = options.label if name is None else name
    column = find_column(table, name, options.data)
    is_missing = np.isnan(column) if column.dtype.kind == "f" else np.array([value is None for value in column])
    if is_missing.any():
        raise ValueError(f"{options.data}: row {int(np.argmax(is_missing)) + 1} has no label in column {name!r}")
    return to_labels(column) if column.dtype.kind == "f" else np.array(column.tolist())


def read_weights(table: Table, options: argparse.Namespace) -> Array | None:
    if options.weight is None:
        return None
    column = find_column(table, options.weight, options.data)
    if column.dtype.kind != "f":
        raise ValueError(f"{options.data}: the weights in column {options.weight!r} are not numbers")
    return column


def find_column(table: Table, name: str, path: Path) -> Array:
    if name not in table.names:
        raise ValueError(f"{path} has no column {name!r}; it has {', '.join(table.names)}")
    return table.columns[table.names.index(name)]


def text_columns(tree: Tree) -> set[str]:
    """The columns to read as text whatever they hold: a file of few rows may hold numbers where others hold words."""
    return {column.name for column in tree.columns if any(isinstance(value, str) for value in column.categories)}


def pick_columns(table: Table, tree: Tree, path: Path) -> Table:
    for column in tree.columns:
        find_column(table, column.name, path)
    return select(table, [column.name for column in tree.columns])


# Results out --------------------------------------------------------------------------------------------------------


def print_model(tree: Tree, certificate: Mapping[str, Any]) -> None:
    # Ten digits: thresholds lie halfway between values, and 8940.029999999999 is 8940.03 to everyone but a machine.
    print(export_text(tree, digits=10), end="\n\n")
    for line in describe_certificate(certificate):
        print(line)


def describe_certificate(certificate: Mapping[str, Any]) -> list[str]:
    """A certificate for people."""
    constraints, sizes = certificate["constraints"], certificate["sizes"]
    limits = [f"depth at most {constraints['max_depth']}"] if constraints["max_depth"] is not None else ["any depth"]
    if constraints["max_leaves"] is not None:
        limits.append(f"at most {constraints['max_leaves']} leaves")
    if constraints["min_samples_leaf"] > 1:
        limits.append(f"at least {constraints['min_samples_leaf']} rows a leaf")
    if constraints["min_weight_leaf"] > 0:
        limits.append(f"at least {constraints['min_weight_leaf']:g} of weight a leaf")
    if constraints["min_samples_arm"] > 0:
        limits.append(f"at least {constraints['min_samples_arm']} rows of every arm a leaf")
    words = POLICY_STATUS_WORDS if "policy" in certificate else STATUS_WORDS
    status = f"{certificate['status'].replace('_', ' ')}: {words[certificate['status']]}"
    leaves = f"{certificate['leaves']} {'leaf' if certificate['leaves'] == 1 else 'leaves'}"
    penalty = f"{certificate['regularization']:g} × {leaves}"
    rounding = f"gap {certificate['gap']:.3g}, rounding at most {certificate['rounding']:.1e}"
    entries = {
        "status": status,
        "trees": ", ".join(limits),
        **(
            describe_value(certificate, penalty, rounding)
            if "policy" in certificate
            else {
                "objective": f"{certificate['objective']:.10g} = loss {certificate['loss']:.10g} + {penalty}",
                "lower bound": f"{certificate['lower_bound']:.10g}, {rounding}",
            }
        ),
        "rows": f"{sizes['rows']} of weight {certificate['weight']:.10g}; {sizes['merged_rows']} after merging",
        "columns": f"{sizes['columns']} with {sizes['distinct_tests']} distinct tests",
        **describe_guarantees(certificate),
    }
    return ["certificate", *(line for name, text in entries.items() for line in describe_entry(name, text))]


def describe_value(certificate: Mapping[str, Any], penalty: str, rounding: str) -> dict[str, str]:
    """What a policy is worth on the rows that it was fitted on, for people."""
    own, spent = certificate["policy"], certificate.get("budget")
    entries = {
        "objective": f"{own['objective']:.10g} = mean reward {own['value']:.10g} − {penalty}",
        "upper bound": f"{own['upper_bound']:.10g}, {rounding}",
    }
    if spent is not None:
        largest = "any" if spent["largest"] is None else f"at most {spent['largest']:g}"
        entries["budget"] = f"spends {spent['spend']:.6g} a row, {largest}; price {spent['price']:.6g}"
    return entries


def describe_entry(name: str, text: str) -> list[str]:
    """One entry; what does not fit in a line goes on below its beginning."""
    return wrap(text, 110, initial_indent=f"  {name:<11}  ", subsequent_indent=" " * 15, break_long_words=False)


def describe_guarantees(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What the way to weigh and every guess give up, for people."""
    stated = certificate.get("guarantees", {})
    is_finished = certificate["status"] not in LIMIT_STATUSES
    entries = {}
    if "weighing" in stated:
        entries["weighing"] = describe_weighing(stated["weighing"], is_proved=is_finished and "reference" not in stated)
    if "reference" in stated:
        own = stated["reference"]
        theorem = (
            f"Theorem 1: objective <= {own['reference_loss']:.6g} (reference's loss) + loss of t where the reference "
            f"is right + λ·leaves(t) for every tree t; for the best lone leaf that is {own['lone_leaf_bound']:.6g}"
        )
        ended = theorem if is_finished else "the search was stopped, so that Theorem 1 says nothing about its tree"
        entries["reference"] = f"{ended}; guessed bounds are at most {own['excess']:.6g} too high"
    if "thresholds" in stated:
        own = stated["thresholds"]
        losses = f"{own['guess']['loss_before']:.4f} before, {own['guess']['loss_after']:.4f} after"
        entries["thresholds"] = (
            f"kept {own['n_kept']} of {own['n_tests']} tests (boosted model's loss {losses}); the lower bound is about "
            f"trees of these, over all tests none is below {own['floor']:.6g}"
        )
    if "depth" in stated:
        entries["depth"] = stated["depth"]["statement"]
    return entries


def describe_weighing(own: Mapping[str, Any], is_proved: bool) -> str:
    """What counts in place of weights give up, for people."""
    if own["method"] == "duplicate":
        bound = own["paper_bound"]
        how = f"rows duplicated, the heaviest {own['factor']} times"
        more = f"the paper's bound K is {'infinite: a weight became 0' if bound is None else format(bound, '.4g')}"
    else:
        how = f"{own['draws']} rows drawn"
        more = (
            f"with probability {own['level']:g} a fixed tree's moves by less than {own['fixed_tree_bound']:.4g}, "
            f"and those of all trees of at most {own['most_leaves']} leaves by less than {own['uniform_bound']:.4g}"
        )
    variation = own["total_variation"]
    so = f", and this tree is at most {2 * variation:.4g} above the optimum" if is_proved else ""
    return f"{how}: no tree's objective moves by more than the total variation, {variation:.4g}{so}; {more}"


def print_evaluation(found: policy.Evaluation) -> None:
    print("\non rows that it has not seen")
    for line in found.summary().splitlines():
        print("\n".join(wrap(line, 110, initial_indent="  ", subsequent_indent="    ")))
    largest = sorted(found.leaves, key=lambda leaf: -leaf.rows)
    shown, others = largest[:MOST_LEAVES], largest[MOST_LEAVES:]
    print("\nleaves of the policies learned without a fold" + (", the largest" if others else ""))
    for leaf in shown:
        print(f"  {leaf.leaf}: {leaf.action}")
        rewards = ", ".join(f"{action} {reward}" for action, reward in leaf.rewards.items())
        print(f"    {leaf.rows:,} rows ({100 * leaf.share:.1f}%) in {leaf.folds} of {found.folds} folds: {rewards}")
    if others:
        print(f"  and {len(others)} more, with {sum(leaf.rows for leaf in others):,} rows")
    if found.groups:
        print("\ngroups")
    for group in found.groups:
        rates = ", ".join(f"{action} to {100 * rate:.1f}%" for action, rate in group.rates.items())
        print(f"  {group.group}: {group.rows:,} rows; {rates}; mean reward {group.value}")


def print_path(rows: Sequence[Mapping[str, Any]]) -> None:
    print("  leaves  depth      loss  penalty λ")
    for row in rows:
        low, high = row["regularization_low"], row["regularization_high"]
        interval = f"above {low:.6f}" if math.isinf(high) else f"{low:.6f} to {high:.6f}"
        note = "" if row["status"] == "optimal" else f"  ({row['status'].replace('_', ' ')})"
        print(f"  {row['leaves']:>6}  {row['depth']:>5}  {row['loss']:>8.6f}  {interval}{note}")


def check_destinations(options: argparse.Namespace) -> None:
    """Before any work: an hour's search must not end at a folder that does not exist."""
    folder = getattr(options, "output", None)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ValueError(f"cannot write into {folder}: it is not a directory")
    for name in ("out", "plot", "scores"):
        path = getattr(options, name, None)
        if path is not None and not path.absolute().parent.is_dir():
            raise ValueError(f"cannot write {path}: {path.absolute().parent} is not a directory")


def write_csv(path: Path | None, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    if path is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


@contextmanager
def warnings_on_standard_error() -> Iterator[None]:
    """Warnings as one line each, without the place in the code, which means nothing on a command line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        print(f"certree: {warning.message}", file=sys.stderr)
