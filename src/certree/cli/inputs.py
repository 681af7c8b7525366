"""Models and tables in: what the options name, read from files and found in them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from certree.datasets.blocks import hint_at_separator
from certree.datasets.files import read_file, to_labels
from certree.estimators import SparseTreeClassifier
from certree.export import load
from certree.policy import PolicyTree
from certree.policy.log import find_control
from certree.table import Array, Table, first_text, name_row
from certree.tree import Tree, plain_value

BOOSTING = "boosting"


def load_certified(path: Path) -> SparseTreeClassifier | PolicyTree:
    model = load(path)
    if not isinstance(model, (SparseTreeClassifier, PolicyTree)):
        raise ValueError(f"{path} holds a bare tree, without a certificate")
    return model


def name_amounts(
    flag: str, amounts: Sequence[tuple[str, float]] | None, actions: Sequence[Any]
) -> dict[Any, float] | None:
    """Amounts by action, as they were given on the command line: one for every action."""
    if amounts is None:
        return None
    named = {find_action(flag, name, actions): amount for name, amount in amounts}
    for action in actions:
        if action not in named:
            raise ValueError(f"{flag} has no value for action {str(action)!r}: add {action}=0, or its amount")
    return named


def check_budget(options: argparse.Namespace, actions: Sequence[Any]) -> None:
    """Refuses a budget of unknown spends in the words of the command line, before anything is learned."""
    is_known = options.spends is not None or options.control is not None
    if options.budget is not None and not is_known and find_control(None, tuple(actions)) is None:
        raise ValueError(
            "--budget needs to know what each action spends: give --spends an amount per action, or name with "
            "--control the action that stands for treating nobody (every other action then spends 1); the actions are "
            + ", ".join(map(str, actions))
        )


def find_action(flag: str, name: Any, actions: Sequence[Any]) -> Any:
    """The action of that name: on a command line 1 is written as "1"."""
    for action in actions:
        if str(action) == str(name):
            return action
    raise ValueError(f"{flag} names {str(name)!r}, which is not one of the actions {', '.join(map(str, actions))}")


def read_data(options: argparse.Namespace, text_columns: Collection[str] = ()) -> Table:
    """The file that a command is about, read as its options say."""
    numeric, categorical = getattr(options, "numeric", []), getattr(options, "categorical", [])
    both = sorted({*numeric} & {*categorical})
    if both:
        raise ValueError(f"--numeric and --categorical both name column {both[0]!r}")
    table = read_file(
        options.data,
        **read_notation(options),
        text_columns=text_columns,
        number_columns=numeric,
        verbose=int(getattr(options, "progress", False) or sys.stderr.isatty()),
    )
    for name in (*numeric, *categorical):
        find_column(table, name, options.data)
    return table


def read_notation(options: argparse.Namespace) -> dict[str, Any]:
    """How the file is written, from the options that add_reading defines."""
    if options.separator == options.decimal:
        raise ValueError(f"--separator and --decimal are both {options.decimal!r}: name the separator, such as ';'")
    return {"separator": options.separator, "decimal": options.decimal, "missing": options.missing}


def drop_missing(table: Table, options: argparse.Namespace, *names: str | None) -> Table:
    """Without the rows that lack a value in one of these columns, where that is asked for."""
    if not options.drop_missing:
        return table
    is_missing = np.zeros(table.n_rows, dtype=bool)
    lacking: dict[str, int] = {}
    for name in names:
        if name is not None:
            is_empty = find_missing(find_column(table, name, options.data))
            lacking[name] = int(is_empty.sum())
            is_missing |= is_empty
    if is_missing.any():
        counts = ", ".join(f"{count:,} without {name!r}" for name, count in lacking.items() if count)
        print(
            f"certree {options.command}: left out {is_missing.sum():,} of {table.n_rows:,} rows: {counts}",
            file=sys.stderr,
        )
    if is_missing.all():
        raise ValueError(f"{options.data} has no row with a value of {' and '.join(map(repr, lacking))}")
    return table.take(np.flatnonzero(~is_missing))


def find_missing(column: Array) -> Array:
    return np.isnan(column) if column.dtype.kind == "f" else np.array([value is None for value in column], dtype=bool)


def name_missing(table: Table, is_missing: Array) -> str:
    """The rows in words: the first three, and how many others."""
    rows = np.flatnonzero(is_missing)
    named = ", ".join(name_row(int(row), table) for row in rows[:3])
    return named + (f" and {len(rows) - 3:,} more rows" if len(rows) > 3 else "")


def read_problem(options: argparse.Namespace, table: Table) -> tuple[Table, Array, Array | None]:
    """Features, labels and weights from the options that add_table and add_problem define."""
    y, weights = read_labels(table, options), read_weights(table, options)
    for name in options.ignore:
        find_column(table, name, options.data)
    reference = getattr(options, "reference", None)
    left_out = {options.label, options.weight, *options.ignore, *([] if reference == BOOSTING else [reference])}
    return table.select(find_remaining(table.names, left_out, options.data)), y, weights


def find_remaining(names: Iterable[str], left_out: Collection[str | None], path: Any) -> list[str]:
    """The columns to learn from: all but those that have another role or are ignored."""
    remaining = [name for name in names if name not in left_out]
    if not remaining:
        named = ", ".join(sorted(name for name in left_out if name is not None))
        raise ValueError(f"{path} has no column to learn from besides {named}")
    return remaining


def open_rewards(table: Table, options: argparse.Namespace) -> tuple[Table, dict[str, Any]]:
    """The columns that a policy may ask, and what it is fitted on, of a table with rewards."""
    table = drop_missing(table, options, options.treatment, options.weight, *options.rewards)
    roles = {options.treatment, options.weight, *options.rewards} - {None}
    for name in (*roles, *options.ignore):
        find_column(table, name, options.data)
    names = find_remaining(table.names, {*roles, *options.ignore}, options.data)
    return table.select(names), read_rewards(table, options)


def read_rewards(table: Table, options: argparse.Namespace) -> dict[str, Any]:
    """Rewards, and what goes with them, by their names in the public interface."""
    check_budget(options, options.rewards)
    for name in options.rewards:
        read_amounts(table, name, options.data)
        if options.rewards.count(name) > 1:
            raise ValueError(f"--rewards names column {name!r} twice: every action has a column of its own")
    return {
        "rewards": table.select(options.rewards),
        "sample_weight": read_weights(table, options),
        "treatment": None if options.treatment is None else read_labels(table, options, options.treatment),
        "spends": name_amounts("--spends", options.spends, options.rewards),
        "control": None if options.control is None else find_action("--control", options.control, options.rewards),
    }


def read_settings(options: argparse.Namespace, *, is_policy: bool = False) -> dict[str, Any]:
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
    if not is_policy:
        settings["min_weight_leaf"] = options.min_weight_leaf
        settings["categorical_features"] = options.categorical or "auto"
    if hasattr(options, "start"):
        settings |= {"start": options.start, "forbidden": options.forbid}
    return settings


def read_labels(table: Table, options: argparse.Namespace, name: str | None = None) -> Array:
    """Those to predict, or those in the column of that name."""
    name = options.label if name is None else name
    column = find_column(table, name, options.data)
    is_missing = find_missing(column)
    if is_missing.any():
        advice = "; --drop-missing leaves such rows out" if hasattr(options, "drop_missing") else ""
        raise ValueError(f"{options.data}, {name_missing(table, is_missing)}: no label in column {name!r}{advice}")
    return to_labels(column) if column.dtype.kind == "f" else np.array(column.tolist())


def read_cluster(table: Table, options: argparse.Namespace) -> Array | None:
    """Which rows belong together, where that is said."""
    if options.cluster is None:
        return None
    column = find_column(table, options.cluster, options.data)
    is_missing = find_missing(column)
    if is_missing.any():
        where = f"{options.data}, {name_missing(table, is_missing)}"
        raise ValueError(f"{where}: no value in column {options.cluster!r}; --drop-missing leaves such rows out")
    return to_labels(column) if column.dtype.kind == "f" else np.array(column.tolist())


def read_weights(table: Table, options: argparse.Namespace) -> Array | None:
    if options.weight is None:
        return None
    column = read_amounts(table, options.weight, options.data)
    if (column < 0).any():
        row = int(np.argmax(column < 0))
        where = f"{options.data}, {name_row(row, table)}"
        raise ValueError(f"{where}: column {options.weight!r} holds {column[row]:g}; weights cannot be negative")
    return column


def read_amounts(table: Table, name: str, path: Any, *, can_drop: bool = True) -> Array:
    """A column of finite numbers, or an error that names the line of the first cell that holds none."""
    column = find_column(table, name, path)
    if column.dtype == object:
        row = first_text(column)
        row = row if row >= 0 else column.tolist().index(None)
    elif column.dtype == bool or np.isfinite(column).all():
        return column.astype(np.float64)
    else:
        row = int(np.argmax(~np.isfinite(column)))
    if column[row] is None or column[row] != column[row]:
        advice = "; --drop-missing leaves such rows out" if can_drop else ""
        raise ValueError(f"{path}, {name_missing(table, find_missing(column))}: no value in column {name!r}{advice}")
    what = f"holds {plain_value(column[row])!r}, which is not a finite number"
    raise ValueError(f"{path}, {name_row(row, table)}: column {name!r} {what}")


def find_column(table: Table, name: str, path: Any) -> Array:
    if name not in table.names:
        raise ValueError(
            f"{path} has no column {name!r}; it has {', '.join(table.names)}{hint_at_separator(table.names)}"
        )
    return table.columns[table.names.index(name)]


def text_columns(tree: Tree) -> set[str]:
    """The columns to read as text whatever they hold: a file of few rows may hold numbers where others hold words."""
    return {column.name for column in tree.columns if any(isinstance(value, str) for value in column.categories)}


def pick_columns(table: Table, tree: Tree, path: Any) -> Table:
    for column in tree.columns:
        find_column(table, column.name, path)
    return table.select([column.name for column in tree.columns])
