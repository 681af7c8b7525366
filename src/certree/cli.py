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
from certree import certify, study
from certree.datasets import load_lalonde
from certree.datasets.files import read_csv, select, to_labels
from certree.datasets.named import DATA_SETTING, SOURCES
from certree.estimators import SparseTreeClassifier
from certree.export import export_json, export_text, load, tree_of
from certree.path import regularization_path
from certree.plot import plot_tree
from certree.table import Array, Table
from certree.tree import Tree

DONE, FAILED, MISUSED, LIMITED = 0, 1, 2, 3
BOOSTING = "boosting"
LIMIT_STATUSES = ("time_limit", "memory_limit", "interrupted")
STATUS_WORDS = {
    "optimal": "no such tree has a lower objective",
    "approximate": "the best tree of counts in place of weights; none is below the lower bound",
    "guessed": "as good as lower-bound guesses promise; no tree is below the lower bound",
    **dict.fromkeys(LIMIT_STATUSES, "the best tree so far; none is below the lower bound"),
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
    add_table(verify)
    verify.set_defaults(run=run_verify)

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
    parser.add_argument("--neighbors", type=int, default=own.n_neighbors, metavar="K", help="matched of each arm")
    parser.add_argument("--splits", type=int, default=own.n_splits, metavar="N", help="parts that rows are dealt into")
    parser.add_argument("--repeats", type=int, default=own.n_repeats, metavar="N", help="how often they are dealt")
    parser.add_argument("--seed", type=int, default=own.random_state, metavar="N")
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 3, 4, 5], metavar="D", help="(default 2 3 4 5)")
    parser.add_argument("--regularization", type=float, default=0.01, metavar="λ", help="penalty a leaf (default 0.01)")
    parser.add_argument("--time-limit", type=float, default=4.0, metavar="SECONDS", help="for each tree (default 4)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default all)")
    parser.add_argument(
        "--cost", type=float, default=1000.0, metavar="DOLLARS", help="of treating a man (default 1000)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="JSON file that fit --out has written")


def add_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="CSV file with a header line")
    parser.add_argument("--label", required=True, metavar="COLUMN", help="the column to predict")
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says what a row's mistake costs")
    add_separator(parser)


def add_separator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--separator", type=read_separator, default=",", help="between values: a character, or tab")


def add_problem(parser: argparse.ArgumentParser, *, has_guesses: bool = False) -> None:
    """What may be asked of a search; a fit may have some of it guessed."""
    words = ("none", "guess") if has_guesses else ("none",)
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--categorical", nargs="+", metavar="COLUMN", help="numeric columns to read as categories")
    parser.add_argument(
        "--depth",
        type=partial(read_depth, words=words),
        default=3,
        help=f"depth limit, or {' or '.join(words)} (default 3)",
    )
    parser.add_argument("--max-leaves", type=int, metavar="N", help="limit on the number of leaves")
    parser.add_argument("--min-samples-leaf", type=int, default=1, metavar="N", help="rows a leaf must hold")
    parser.add_argument("--min-weight-leaf", type=float, default=0.0, metavar="W", help="weight a leaf must hold")
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
        figure = plot_tree(model).get_figure(root=True)
        assert figure is not None
        figure.savefig(options.plot, dpi=200)
        print(f"\ndrawn to {options.plot}")
    return DONE


def run_verify(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    tree, certificate = model.tree_, model.certificate_
    has_text_labels = all(isinstance(label, str) for label in tree.labels)
    table = read_csv(
        options.data,
        separator=options.separator,
        text_columns={*text_columns(tree), *([options.label] if has_text_labels else [])},
    )
    y, weights = read_labels(table, options), read_weights(table, options)
    verdict = certify.check(certificate, tree, pick_columns(table, tree, options.data), y, weights)
    print(f"recomputed from {options.data}, without the engine:")
    print(f"  objective    {verdict.objective:.10g}  (certificate: {certificate['objective']:.10g})")
    print(f"  loss         {verdict.loss:.10g}  (certificate: {certificate['loss']:.10g})")
    for failure in verdict.failures:
        print(f"  wrong        {failure}")
    print("the certificate holds" if verdict.holds else "the certificate does not hold")
    return DONE if verdict.holds else FAILED


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
    print(f"  certree show {options.output / 'models' / f'direct-depth-{case.depths[0]}.json'}")
    if not study.has_pictures():
        print("certree demo: trees are drawn where matplotlib is: pip install 'certree[plot]'", file=sys.stderr)
    return DONE if all(row.is_confirmed is not False for row in case.trees) else FAILED


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


def load_certified(path: Path) -> SparseTreeClassifier:
    model = load(path)
    if not isinstance(model, SparseTreeClassifier):
        raise ValueError(f"{path} holds a bare tree, without a certificate")
    return model


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
    """What a fit and a path have in common, by its name in the public interface."""
    return {
        "max_depth": options.depth,
        "max_leaves": options.max_leaves,
        "min_samples_leaf": options.min_samples_leaf,
        "min_weight_leaf": options.min_weight_leaf,
        "thresholds": options.thresholds,
        "categorical_features": "auto" if options.categorical is None else options.categorical,
        "time_limit": options.time_limit,
        "memory_limit": options.memory_limit,
        "verbose": int(options.progress),
    }


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
    status = f"{certificate['status'].replace('_', ' ')}: {STATUS_WORDS[certificate['status']]}"
    leaves = f"{certificate['leaves']} {'leaf' if certificate['leaves'] == 1 else 'leaves'}"
    penalty = f"{certificate['regularization']:g} × {leaves}"
    rounding = f"gap {certificate['gap']:.3g}, rounding at most {certificate['rounding']:.1e}"
    entries = {
        "status": status,
        "trees": ", ".join(limits),
        "objective": f"{certificate['objective']:.10g} = loss {certificate['loss']:.10g} + {penalty}",
        "lower bound": f"{certificate['lower_bound']:.10g}, {rounding}",
        "rows": f"{sizes['rows']} of weight {certificate['weight']:.10g}; {sizes['merged_rows']} after merging",
        "columns": f"{sizes['columns']} with {sizes['distinct_tests']} distinct tests",
        **describe_guarantees(certificate),
    }
    return ["certificate", *(line for name, text in entries.items() for line in describe_entry(name, text))]


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
    for path in (getattr(options, "out", None), getattr(options, "plot", None)):
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
