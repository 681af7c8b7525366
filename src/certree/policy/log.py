"""A log of decisions: who got which action and what came of it, read and checked.

This room promises that whatever is wrong with treatments, outcomes, costs or known propensities has been said, by row
and action, before anything is learned from them. A Log is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.reading import read_text_columns, warn_about
from certree.table import Table, name_row, read_table, take_rows
from certree.tree import Value, plain_value
from certree.weights.balancing import number_columns

Array = NDArray[Any]

LEAST_REWARD = 1e-300
"""Some reward must be as large, unless all are 0: means of smaller ones lose digits."""

SUM_TOLERANCE = 1e-6
"""How far the propensities of a row may be from summing to 1: they are often printed with few digits."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Log:
    """A log of decisions, read and checked once: n rows, K actions.

    Scores, `evaluate`, `MatchingEffects` and `PolicyTree.fit` take it in place of the table, the treatment and the
    outcome.

    Parameters
    ----------
    X : array or frame, rows × columns
        What was known about each row when the action was taken.
    treatment : array of n actions
        Which action each row got.
    outcome : array of n numbers
        What came of it; higher is better unless `maximize` is False.
    propensity : known chances of the actions, default=None
        For experiments: one number per action (a sequence, or a mapping by action), n × K numbers or, with two actions,
        the chance of the second. They are used exactly as given, never clipped. None: they are estimated.
    costs : one number per action, mapping by action, or n × K numbers, default=None
        What each action costs (for everyone, or for each row), in units of the outcome. Costs are subtracted from the
        rewards.
    maximize : bool, default=True
        False: the outcome is a cost, and lower is better.
    actions : sequence, default=None
        The actions in the order that breaks ties. Put the cheapest first; it then stands for treating nobody. None:
        the actions that occur, sorted.
    cluster : array of n values, default=None
        Which rows belong together (a household, a site): folds keep them together, and standard errors count clusters
        in place of rows.

    Attributes
    ----------
    X : the table as it was given
    actions : tuple of the actions
    treatment : ndarray of n whole numbers
        The action that each row got, as an index into `actions`.
    outcome : ndarray of n numbers
        Higher is better.
    costs : ndarray, n × K
    propensity : ndarray, n × K, or None
    control : action or None
        The action that stands for treating nobody: the first one, if `actions` was given.
    cluster : ndarray of n whole numbers, or None

    Raises
    ------
    ValueError
        If a treatment, outcome, propensity or cost is missing or cannot be used; the message names the row.

    Examples
    --------
    >>> from certree import policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> log.n_rows, log.actions
    (200, (0, 1))
    """

    X: Any
    numbers: Array
    """float64, rows × numbers; the table for the models that are ours."""
    actions: tuple[Value, ...]
    treatment: Array
    outcome: Array
    costs: Array
    propensity: Array | None
    control: Value | None
    cluster: Array | None

    def __init__(
        self,
        X: Any,
        treatment: Any,
        outcome: Any,
        propensity: Any = None,
        *,
        costs: Any = None,
        maximize: bool = True,
        actions: Sequence[Any] | None = None,
        cluster: Any = None,
    ) -> None:
        if not isinstance(maximize, (bool, np.bool_)):
            raise ValueError(f"maximize must be True or False, not {maximize!r}")
        table = read_table(X)
        warn_about(read_text_columns(table))
        _check_finite(table)
        codes, names = read_treatment(treatment, table.n_rows, actions)
        values = _read_outcome(outcome, table.n_rows)
        self._set(
            X=X,
            numbers=number_columns(table)[0],
            actions=names,
            treatment=codes,
            outcome=values if maximize else -values,
            costs=read_costs(costs, table.n_rows, names),
            propensity=None if propensity is None else _read_propensity(propensity, table.n_rows, names),
            control=None if actions is None else names[0],
            cluster=None if cluster is None else _read_cluster(cluster, table.n_rows),
        )

    def _set(self, **fields: Any) -> Log:
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        return self

    @property
    def n_rows(self) -> int:
        """The number of decisions."""
        return len(self.treatment)

    @property
    def n_actions(self) -> int:
        """The number of actions."""
        return len(self.actions)

    @property
    def is_treatment(self) -> Array:
        """bool, n × K; whether the row got the action."""
        return np.asarray(self.treatment[:, None] == np.arange(self.n_actions))

    @property
    def arms(self) -> Array:
        """The action that each row got, by its name."""
        return np.array(self.actions, dtype=object)[self.treatment]

    def take(self, rows: Array) -> Log:
        """Some rows alone, by number."""
        return copy(self)._set(
            X=take_rows(self.X, rows),
            numbers=self.numbers[rows],
            treatment=self.treatment[rows],
            outcome=self.outcome[rows],
            costs=self.costs[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )

    def __repr__(self) -> str:
        counts = np.bincount(self.treatment, minlength=self.n_actions)
        arms = ", ".join(f"{action!r} {count:,}" for action, count in zip(self.actions, counts, strict=True))
        sets = "" if self.cluster is None else f" in {len(np.unique(self.cluster)):,} clusters"
        return f"<Log: {self.n_rows:,} rows{sets}, by action {arms}>"


def read_log(X: Any, treatment: Any, outcome: Any, **settings: Any) -> Log:
    """A log that was read before, or one from its parts."""
    if not isinstance(X, Log):
        if treatment is None or outcome is None:
            missing = "treatment" if treatment is None else "outcome"
            raise ValueError(f"{missing} is missing: pass X, treatment and outcome, or a policy.Log")
        return Log(X, treatment, outcome, **settings)
    given = {"treatment": treatment, "outcome": outcome, **settings}
    twice = [name for name, value in given.items() if value is not (True if name == "maximize" else None)]
    if twice:
        raise ValueError(f"{twice[0]} is part of the log: pass it to policy.Log, not here again")
    return X


def open_log(X: Any, treatment: Any) -> tuple[Any, Any]:
    """The table and the arms of what may be a log."""
    return (X.X, X.arms if treatment is None else treatment) if isinstance(X, Log) else (X, treatment)


def read_treatment(
    treatment: Any, n_rows: int, actions: Sequence[Any] | None = None, hint: str = ""
) -> tuple[Array, tuple[Value, ...]]:
    """The action of each row as an index, and the actions: those given, or all that occur, sorted.

    Every action must have rows: nothing can be learned of one that nobody got. `hint` is said of a treatment that is
    none of them.
    """
    given = np.asarray(treatment)
    check_shape("treatment", given, n_rows, "action")
    values = [plain_value(value) if is_present(value) else None for value in given.tolist()]
    if None in values:
        raise ValueError(f"treatment is missing in {name_row(values.index(None), treatment)}")
    if all(isinstance(value, float) and value.is_integer() for value in values):
        values = [int(value) for value in values if isinstance(value, float)]
    if actions is None:
        names = tuple(sorted({value for value in values if value is not None}, key=_order))
        if len(names) < 2:
            raise ValueError(f"treatment has one value ({names[0]!r}): there is nothing to choose between")
    else:
        if isinstance(actions, str):
            raise ValueError(f"actions must be a sequence of actions, not the string {actions!r}")
        names = tuple(plain_value(action) for action in actions)
        _check_names(names)
    code_of = {name: code for code, name in enumerate(names)}
    for row, value in enumerate(values):
        if value not in code_of:
            where = name_row(row, treatment)
            raise ValueError(f"treatment: {where} has {value!r}, which is not one of the actions {_list(names)}{hint}")
    codes = np.array([code_of[value] for value in values if value is not None], dtype=np.int64)
    rows = np.bincount(codes, minlength=len(names))
    if not rows.all():
        raise ValueError(f"action {names[int(np.argmin(rows))]!r} has no rows: it does not occur in treatment")
    return codes, names


def read_arms(
    treatment: Any, actions: tuple[Value, ...], weights: Array, min_samples_arm: int, rewards: Any = None
) -> Array | None:
    """The arm of each row beside its rewards, as an index; `min_samples_arm` needs some of every action that count.

    Where the rewards are Scores, they know the arms themselves.
    """
    check_count("min_samples_arm", min_samples_arm, 0)
    if treatment is None:
        if min_samples_arm == 0:
            return None
        arms = getattr(rewards, "treatment", None)
        if arms is None:
            raise ValueError(
                "min_samples_arm needs to know the arm of every row: pass treatment=, or scores made from a log"
            )
    else:
        hint = "; rewards given as a frame name their actions by its columns"
        arms, _ = read_treatment(treatment, len(weights), actions, hint)
    rows = np.bincount(arms[weights > 0], minlength=len(actions))
    if min_samples_arm > 0 and not rows.all():
        raise ValueError(f"action {actions[int(np.argmin(rows))]!r} has no rows of positive weight")
    return arms


def read_rewards(rewards: Any, n_rows: int) -> tuple[Array, tuple[Value, ...]]:
    """Rewards (n × K) and the names of the actions: a frame's columns, those of Scores, or 0 to K − 1."""
    names: tuple[Value, ...] | None = None
    source = rewards
    if hasattr(rewards, "actions") and hasattr(rewards, "rewards"):
        names, rewards = tuple(rewards.actions), rewards.rewards
    elif isinstance(rewards, Table):
        names, rewards = rewards.names, np.column_stack(rewards.columns)
    elif hasattr(rewards, "columns"):
        names = tuple(plain_value(name) for name in rewards.columns)
        _check_names(names)
    matrix = read_numbers("rewards", rewards, names).copy()
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(f"rewards must have one column per action (n × K), but has shape {matrix.shape}")
    if matrix.shape[0] != n_rows:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n_rows} rows, rewards {matrix.shape[0]}"
        )
    names = names or tuple(range(matrix.shape[1]))
    if not np.isfinite(matrix).all():
        row, action = np.argwhere(~np.isfinite(matrix))[0]
        what = "NaN" if np.isnan(matrix[row, action]) else "infinity"
        raise ValueError(f"rewards contains {what}: {name_row(row, source)}, action {names[action]!r}")
    with np.errstate(over="ignore"):
        is_too_wide = np.isinf((matrix.max() - matrix.min()) * n_rows)
    if is_too_wide:
        raise ValueError(f"rewards from {matrix.min()} to {matrix.max()} lie too far apart to be added up")
    largest = np.abs(matrix).max()
    if 0 < largest < LEAST_REWARD:
        raise ValueError(
            f"rewards must be 0 everywhere or reach {LEAST_REWARD:g}, below which floats lose digits: the largest is "
            f"{largest:g}. Choose another unit for them"
        )
    return matrix, names


def find_action(value: Any, actions: tuple[Value, ...], who: str) -> int:
    """The place of an action among the actions; `who` has named it, and is named where there is none."""
    if not is_present(value) or plain_value(value) not in actions:
        raise ValueError(f"{who} {value!r}, which is not one of the actions {_list(actions)}")
    return actions.index(plain_value(value))


def find_control(control: Any, actions: tuple[Value, ...], stated: Value | None = None) -> int | None:
    """The place of the action that stands for treating nobody: the one named, or `stated` by an order of the actions,
    or 0, False or None. None where nothing says which it is: the first word of the alphabet means nothing."""
    if control is not None:
        return find_action(control, actions, "control is")
    if stated is not None:
        return actions.index(stated)
    # A column that is called None is read as the word.
    is_nothing = [action == "None" if isinstance(action, str) else action == 0 for action in actions]
    return is_nothing.index(True) if any(is_nothing) else None


def check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")


def check_shape(what: str, values: Array, n_rows: int, each: str) -> None:
    """One value per row, as long as X."""
    if values.ndim != 1:
        raise ValueError(f"{what} must have one {each} per row, but has shape {values.shape}")
    if len(values) != n_rows:
        raise ValueError(f"{what} has {len(values)} rows, but X has {n_rows}")


def check_between(name: str, value: Any, low: float, high: float, *, includes_low: bool = False) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and (low < value < high or (includes_low and value == low))):
        bounds = f"at least {low:g} and below {high:g}" if includes_low else f"a number between {low:g} and {high:g}"
        raise ValueError(f"{name} must be {bounds}, not {value!r}")


def read_numbers(what: str, given: Any, names: tuple[Value, ...] | None = None) -> Array:
    """float64, every mark of a missing value as NaN; an error names the first row (and column) that holds no number."""
    try:
        raw = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{what} must hold numbers: {error}") from error
    if raw.dtype.kind in "mMc":
        raise ValueError(f"{what} must hold numbers, not {raw.dtype}")
    if raw.dtype.kind == "O" and raw.ndim > 0:
        raw = np.where(np.frompyfunc(is_present, 1, 1)(raw).astype(bool), raw, np.nan)
    try:
        return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers: {_find_word(raw, names, given) or error}") from error


def _find_word(raw: Array, names: tuple[Value, ...] | None, source: Any) -> str:
    """Where the first value is that is no number, in words."""
    # An array with one value per action cannot also have one row per person.
    axes = ("column",) if names is not None and raw.shape == (len(names),) else ("row", "column")
    for place, value in np.ndenumerate(raw):
        try:
            float(value)
        except (TypeError, ValueError):
            where = []
            for axis, index in zip(axes, place, strict=False):
                if axis == "row":
                    where.append(name_row(index, source))
                else:
                    where.append(f"action {names[index]!r}" if names and index < len(names) else f"column {index}")
            return f"{', '.join(where)} has {plain_value(value)!r}" if where else repr(value)
    return ""


def _read_outcome(outcome: Any, n_rows: int) -> Array:
    values = read_numbers("outcome", outcome)
    check_shape("outcome", values, n_rows, "number")
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values)))
        raise ValueError(f"outcome is {'NaN' if np.isnan(values[row]) else 'infinite'} in {name_row(row, outcome)}")
    return values


def _read_cluster(cluster: Any, n_rows: int) -> Array:
    given = np.asarray(cluster)
    check_shape("cluster", given, n_rows, "value")
    values = given.tolist()
    missing = [row for row, value in enumerate(values) if not is_present(value)]
    if missing:
        raise ValueError(f"cluster is missing in {name_row(missing[0], cluster)}")
    codes: Array = np.unique(np.array([str(value) for value in values]), return_inverse=True)[1]
    return codes


def read_costs(costs: Any, n_rows: int, names: tuple[Value, ...], what: str = "costs") -> Array:
    """n × K finite numbers: one per action (a sequence, or by name), or one per row and action; None is all zero."""
    shape = (n_rows, len(names))
    if costs is None:
        return np.zeros(shape)
    amounts = read_numbers(what, _in_order(what, costs, names), names)
    if amounts.shape not in (shape, (len(names),)):
        raise ValueError(
            f"{what} must be one number per action ({len(names)}) or n × K {shape}, not of shape {amounts.shape}"
        )
    is_by_row = amounts.shape == shape
    amounts = np.broadcast_to(amounts, shape)
    if not np.isfinite(amounts).all():
        row, action = np.argwhere(~np.isfinite(amounts))[0]
        where = name_row(row, costs if is_by_row else None)
        raise ValueError(f"{what} must be finite: {where}, action {names[action]!r} has {amounts[row, action]}")
    return amounts


def _read_propensity(propensity: Any, n_rows: int, names: tuple[Value, ...]) -> Array:
    shape = (n_rows, len(names))
    known = read_numbers("propensity", _in_order("propensity", propensity, names), names)
    if len(names) == 2 and known.shape in ((), (n_rows,)) and known.shape != (2,):
        known = np.stack([1 - known, known], axis=-1)
    if known.shape not in (shape, (len(names),)):
        raise ValueError(
            f"propensity must be one number per action ({len(names)}), n × K {shape} or, with two actions, the chance "
            f"of action {names[-1]!r} alone; not of shape {known.shape}"
        )
    source = propensity if known.shape == shape else None
    known = np.broadcast_to(known, shape)
    # Written so that NaN fails.
    is_wrong = ~((known > 0) & (known < 1))
    if is_wrong.any():
        row, action = np.argwhere(is_wrong)[0]
        raise ValueError(
            f"propensity must lie strictly between 0 and 1: {name_row(row, source)}, action {names[action]!r} has "
            f"{known[row, action]}; leave out rows whose action was certain"
        )
    total = known.sum(axis=1)
    if np.abs(total - 1).max() > SUM_TOLERANCE:
        row = int(np.argmax(np.abs(total - 1)))
        raise ValueError(f"propensity must sum to 1 over the actions: {name_row(row, source)} sums to {total[row]:.6g}")
    return known


def _check_finite(table: Table) -> None:
    for name, values in zip(table.names, table.columns, strict=True):
        if values.dtype == np.float64 and np.isinf(values).any():
            row = name_row(int(np.argmax(np.isinf(values))), table)
            raise ValueError(f"Input X contains infinity: column {name!r}, {row}")


def _in_order(what: str, given: Any, names: tuple[Value, ...]) -> Any:
    """What goes by the actions' names (a mapping, a frame, a labelled series) in the order of the actions."""
    if hasattr(given, "columns"):
        named = {plain_value(name): np.asarray(given[name]) for name in given.columns}
        return np.column_stack(_in_order(what, named, names))
    if hasattr(given, "index") and hasattr(given, "to_dict"):
        labels = [plain_value(label) for label in given.index]
        if len(labels) != len(names) or labels == list(range(len(labels))):
            return given
        given = dict(zip(labels, np.asarray(given).tolist(), strict=True))
    if not isinstance(given, Mapping):
        return given
    for key in given:
        find_action(key, names, f"{what} names")
    for name in names:
        if name not in given:
            raise ValueError(f"{what} has no value for action {name!r}")
    return [given[name] for name in names]


def _check_names(names: tuple[Value, ...]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"action {name!r} occurs twice")


def is_present(value: Any) -> bool:
    # NaN is the only float unlike itself; pandas' NA and NaT go by their names.
    return not (value is None or (isinstance(value, float) and value != value) or type(value).__name__ in _MISSING)


_MISSING = ("NAType", "NaTType")


def _order(value: Value) -> tuple[str, Value]:
    """Numbers by size, then words; the two cannot be compared."""
    return ("word", value) if isinstance(value, str) else ("number", value)


def _list(names: tuple[Value, ...]) -> str:
    return ", ".join(map(repr, names))
