"""Tables that lie in parts: dask collections as partitions, and one partition as rows.

This room promises that what is wrong with a partition is said with its number, and with the column and the row where
there is one. Rows of weight zero are left out as soon as they are read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from certree.policy.log import read_numbers
from certree.problem import read_weights, weigh_amounts
from certree.table import RowNames, Table, default_names, name_row, read_table

Array = NDArray[Any]


def is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and not is_array(collection) and collection.ndim == 2


def is_series(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and not is_array(collection) and collection.ndim == 1


def is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks") and hasattr(collection, "numblocks")


@dataclass(frozen=True, eq=False)
class Collections:
    """Partitions of a table and of what stands beside it, not computed yet."""

    names: tuple[str, ...]
    has_names: bool
    parts: tuple[Mapping[str, Any], ...]
    """For each partition its delayed X, and whatever else was given, by name."""
    reward_names: tuple[Any, ...] | None = None
    """The columns of a frame of rewards."""

    @property
    def n_parts(self) -> int:
        return len(self.parts)


def collect_parts(X: Any, **others: Any) -> Collections:
    """Partitions of X with those of the same rows of the others; None stands for what was not given."""
    if is_frame(X):
        names, has_names = tuple(map(str, X.columns)), True
    elif is_array(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {X.ndim}")
        names, has_names = default_names(X.shape[1]), False
    else:
        raise TypeError(
            f"X must be a dask DataFrame or a dask Array, not {type(X).__name__}; the estimators without Dask take "
            "tables in memory"
        )
    rows = X.chunks[0] if is_array(X) else None
    others = {name: collection for name, collection in others.items() if collection is not None}
    reward_names = tuple(others["rewards"].columns) if is_frame(others.get("rewards")) else None
    together = _split_together(X, others)
    if together is not None:
        return Collections(names, has_names, together, reward_names)
    found = {"X": _split(X)}
    for name, collection in others.items():
        if not (is_frame(collection) or is_series(collection) or is_array(collection)):
            raise TypeError(f"{name} must be a dask collection like X, not {type(collection).__name__}")
        if rows is not None and is_array(collection) and not np.isnan([*rows, *collection.chunks[0]]).any():
            if sum(collection.chunks[0]) != sum(rows):
                raise ValueError(f"{name} has {sum(collection.chunks[0])} rows, but X has {sum(rows)}")
            collection = collection.rechunk({0: rows})
        found[name] = _split(collection)
        if len(found[name]) != len(found["X"]):
            raise ValueError(
                f"{name} has {len(found[name])} partitions, but X has {len(found['X'])}: partition both alike, by "
                "repartition or rechunk"
            )
    parts = tuple(dict(zip(found, own, strict=True)) for own in zip(*found.values(), strict=True))
    return Collections(names, has_names, parts, reward_names)


def _split(collection: Any) -> list[Any]:
    if is_array(collection):
        if collection.ndim > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    parts = list(collection.to_delayed())
    # Reading few columns of a file, Dask may read several files as one partition; others would not fit beside it.
    return parts if len(parts) == collection.npartitions else list(collection.to_delayed(optimize_graph=False))


def _split_together(X: Any, others: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    """Partitions of frames and series that were made from one frame, which is then read once; None for others."""
    from dask.dataframe.dask_expr._expr import are_co_aligned

    if not others or not all(is_frame(own) or is_series(own) for own in (X, *others.values())):
        return None
    if not are_co_aligned(X.expr, *(own.expr for own in others.values())):
        return None
    places: dict[str, Any] = {"X": slice(0, len(X.columns))}
    frame, width = X, len(X.columns)
    for name, own in others.items():
        n_columns = len(own.columns) if is_frame(own) else 1
        columns = [own[column] for column in own.columns] if is_frame(own) else [own]
        frame = frame.assign(**{f"certree {name} {place}": column for place, column in enumerate(columns)})
        places[name] = slice(width, width + n_columns) if is_frame(own) else width
        width += n_columns
    pick = dask.delayed(_pick, pure=False)
    labels = {name: list(own.columns) for name, own in others.items() if is_frame(own)}
    return tuple(
        {name: pick(part, place, labels.get(name)) for name, place in places.items()} for part in frame.to_delayed()
    )


def _pick(part: Any, place: Any, names: Sequence[Any] | None) -> Any:
    """One column, or some, by their places in a partition."""
    found = part.iloc[:, place]
    return found if names is None else found.set_axis(names, axis=1)


@contextmanager
def named(part: int) -> Iterator[None]:
    """What is wrong inside is said to be wrong with this partition."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"partition {part}: {error}") from error


@dataclass(frozen=True)
class Task:
    """What every pass must know to read a partition."""

    names: tuple[str, ...]
    has_names: bool
    classes: Array | None = None
    """Labels in order, once they are known."""
    factors: Array | None = None
    """What the weight of each label is multiplied by."""
    actions: tuple[Any, ...] | None = None
    """Of a policy."""
    reward_names: tuple[Any, ...] | None = None
    """What the columns of rewards are called, where they have names."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of positive weight of one partition."""

    part: int
    table: Table | None
    """None where there is no row."""
    n_given: int
    weights: Array
    labels: Array | None
    """The given labels of *all* rows, those of weight zero included."""
    y: Array | None
    """int64; places among the classes, once these are known."""
    rewards: Array | None
    arms: Array | None
    sorts: Mapping[str, str] = field(default_factory=dict)
    """The first label of every sort ("texts", "numbers") and its row, for a message, as long as classes are unknown."""

    @property
    def n_rows(self) -> int:
        return 0 if self.table is None else self.table.n_rows

    def costs(self) -> Array | None:
        """What each action falls short of the best one of its row, times the weight."""
        if self.rewards is None:
            return None
        shortfall = self.rewards.max(axis=1, keepdims=True) - self.rewards
        return weigh_amounts("the difference between rewards", shortfall, self.weights, self.table, least=0.0)

    def best_rewards(self) -> Array | None:
        if self.rewards is None:
            return None
        best = self.rewards.max(axis=1, keepdims=True)
        return weigh_amounts("rewards", best, self.weights, self.table, least=0.0)[:, 0]


def read_rows(part: int, given: Mapping[str, Any], task: Task) -> Rows:
    """One partition, computed, as rows; an error says what is wrong with it."""
    with named(part):
        X = given["X"]
        n_given = len(X)
        if task.has_names:
            names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
            if names != task.names:
                raise ValueError(f"its columns are {_list(names)}, but those of X are {_list(task.names)}")
        elif X.shape[1] != len(task.names):
            raise ValueError(f"it has {X.shape[1]} columns, but X has {len(task.names)}")
        for name, values in given.items():
            if len(values) != n_given:
                raise ValueError(f"{name} has {len(values)} rows, but X has {n_given}")
        if n_given == 0:
            return Rows(part, None, 0, np.empty(0), _labels_of(given, X), None, None, None)
        table = read_table(X)
        weights = read_weights(given.get("sample_weight"), n_given, table)
        labels = _labels_of(given, X)
        sorts = {} if labels is None or task.classes is not None else _find_sorts(labels, given["y"], X)
        y = None if labels is None or task.classes is None else _find_classes(labels, task.classes, X)
        if task.factors is not None and y is not None:
            weights = weigh_amounts("class_weight", task.factors[y, None], weights, table, least=0.0)[:, 0]
        rewards = _read_rewards(given["rewards"], task, X) if "rewards" in given else None
        arms = _read_arms(given["treatment"], task, X) if "treatment" in given else None
        keep = weights > 0
        if not keep.all():
            y, rewards, arms = (None if values is None else values[keep] for values in (y, rewards, arms))
            weights = weights[keep]
        kept = None if not keep.any() else table if keep.all() else _keep(table, keep)
        return Rows(part, kept, n_given, weights, labels, y, rewards, arms, sorts)


def _keep(table: Table, keep: Array) -> Table:
    """Some rows, which messages call what they are called among all rows."""
    names = (table.row_names or RowNames("index", None)).take(keep)
    return replace(table.take(keep), row_names=replace(names, numbers=np.flatnonzero(keep)))


def _list(names: Sequence[Any] | None) -> str:
    return "none" if names is None else ", ".join(map(repr, names))


def _labels_of(given: Mapping[str, Any], X: Any) -> Array | None:
    if "y" not in given:
        return None
    y: Array = column_or_1d(np.asarray(given["y"]))
    if y.dtype == object:
        row = next((row for row, value in enumerate(y) if not isinstance(value, Hashable)), None)
        if row is not None:
            where = name_row(row, given["y"], X)
            raise ValueError(
                f"y holds a value of type {type(y[row]).__name__} in {where}, but labels are texts or numbers"
            )
    is_missing = np.asarray((y != y) | (y == None), dtype=bool)  # noqa: E711
    if len(y) and y.dtype == object:
        is_missing |= np.fromiter((type(value).__name__ in ("NAType", "NaTType") for value in y), bool, len(y))
    if is_missing.any():
        raise ValueError(f"y is missing in {name_row(int(np.argmax(is_missing)), given['y'], X)}")
    return y


def _find_sorts(labels: Array, *sources: Any) -> dict[str, str]:
    """The first text and the first number among labels, each with its row."""
    found: dict[str, str] = {}
    for row, value in enumerate(labels.tolist() if labels.dtype == object else labels[:1].tolist()):
        sort = "texts" if isinstance(value, str) else "numbers" if isinstance(value, Number) else ""
        if sort and sort not in found:
            found[sort] = f"{value!r} in {name_row(row, *sources)}"
    return found


def _find_classes(labels: Array, classes: Array, X: Any) -> Array:
    place = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    is_other = classes[place] != labels
    if is_other.any():
        row = int(np.argmax(is_other))
        raise ValueError(f"y: {name_row(row, X)} has label {labels[row]!r}, which was not there before")
    return place


def _read_rewards(given: Any, task: Task, X: Any) -> Array:
    names = tuple(given.columns) if hasattr(given, "columns") else None
    if names != task.reward_names:
        raise ValueError(
            f"its rewards have the columns {_list(names)}, but those of rewards are {_list(task.reward_names)}"
        )
    assert task.actions is not None
    rewards = read_numbers("rewards", given, task.actions)
    if rewards.ndim != 2 or rewards.shape[1] != len(task.actions):
        raise ValueError(f"rewards must have a column for each of {len(task.actions)} actions, not {rewards.shape}")
    if not np.isfinite(rewards).all():
        row, action = np.argwhere(~np.isfinite(rewards))[0]
        what = "NaN" if np.isnan(rewards[row, action]) else "infinity"
        raise ValueError(f"rewards contains {what}: {name_row(row, given, X)}, action {task.actions[action]!r}")
    return rewards


def _read_arms(given: Any, task: Task, X: Any) -> Array:
    assert task.actions is not None
    places = {action: place for place, action in enumerate(task.actions)}
    values = np.asarray(given).tolist()
    arms = np.array([places.get(value, -1) for value in values], dtype=np.int64)
    if len(arms) and arms.min() < 0:
        row = int(np.argmax(arms < 0))
        raise ValueError(f"treatment: {name_row(row, given, X)} has {values[row]!r}, which is not one of the actions")
    return arms


class Shared:
    """What is done with every partition, and with what. No dataclass: Dask would look for collections inside.

    Every task has it. What is scattered is lost with its worker, and behind a task that makes it the scheduler queues
    partitions that are read meanwhile: all of them at once would be more than memory holds.
    """

    def __init__(self, function: Any, task: Task, more: Sequence[Any]) -> None:
        self.function = function
        self.task = task
        self.more = more


def lazy(collection: Collections, function: Any, task: Task, *more: Any) -> list[Any]:
    """function(rows, *more) for every partition, not computed yet."""
    shared = Shared(function, task, more)
    call = dask.delayed(_read_and_call, pure=False)
    return [call(part, given, shared) for part, given in enumerate(collection.parts)]


def _read_and_call(part: int, given: Mapping[str, Any], shared: Shared) -> Any:
    rows = read_rows(part, given, shared.task)
    with named(part):
        return shared.function(rows, *shared.more)
