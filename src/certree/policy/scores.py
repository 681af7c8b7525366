"""Scores: what each action would have brought each row, estimated from a log of decisions.

With μ_a(x) the expected outcome of action a, p_a(x) the chance that a row got it, t the action it got and y what came
of it, the score of row i and action a is

    direct               μ_a(x_i)
    inverse propensity   1{t_i = a} · y_i / p_a(x_i)
    doubly robust        μ_a(x_i) + 1{t_i = a} · (y_i − μ_a(x_i)) / p_a(x_i)

less what the action costs. The mean of doubly robust scores is right where either μ or p is. This room promises that
no row is scored by a model that has seen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certree.display import show_lines
from certree.folds import learn_each
from certree.policy.log import Log, check_between, check_count, read_log
from certree.table import name_row, take_rows
from certree.tree import Value, format_number

Array = NDArray[Any]
Method = Literal["direct", "inverse propensity", "doubly robust"]

HISTOGRAM_EDGES = np.linspace(0.0, 1.0, 11)
LARGEST_PLAIN = 5000
"""Rows up to which boosting without histograms is the faster one: their threads cost more than they save."""


# What is told of the scores -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ActionOverlap:
    """How much the log says about one action."""

    action: Value
    rows: int
    """Rows that got it."""
    effective_sample_size: float
    """(Σ 1/p)² / Σ 1/p² over these rows: so many rows of equal propensity carry as much information."""
    smallest: float
    """The smallest propensity of any row, before clipping."""
    share_clipped: float
    """How many of all rows had a propensity below `clip`."""
    histogram: tuple[int, ...]
    """All rows by their propensity, in ten bins from 0 to 1, before clipping."""


@dataclass(frozen=True)
class ActionFit:
    """How well the outcome model does for one action, on rows that it has not seen."""

    action: Value
    rows: int
    error: float
    """Root of the mean squared error, in units of the outcome."""
    r_squared: float
    """Share of the outcome's variance explained; negative if the mean would do better, NaN if there is no variance."""


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Rewards of every action for every row. `PolicyTree.fit` takes it as it is; `numpy.asarray` gives the rewards.

    Examples
    --------
    >>> from certree import policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> scores = policy.doubly_robust(log, random_state=0)
    >>> scores.actions, scores.method
    ((0, 1), 'doubly robust')
    >>> print(scores.summary().splitlines()[0])
    Doubly robust scores of 200 rows and 2 actions.
    """

    rewards: Array
    """float64, n × K; higher is better, costs already subtracted. Read-only."""
    actions: tuple[Value, ...]
    method: Method
    treatment: Array
    """int64, one per row: the action it got, as an index into `actions`."""
    expected: Array | None
    """float64, n × K; the outcome model's predictions. None without one."""
    propensity: Array | None
    """float64, n × K, as used. None if no propensities are used."""
    overlap: tuple[ActionOverlap, ...]
    """One per action; empty if no propensities are used."""
    fit: tuple[ActionFit, ...]
    """One per action; empty without an outcome model."""
    control: Value | None = None
    """The action that stands for treating nobody: the first one, if `actions` was given."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.rewards, dtype=dtype) if copy or dtype is not None else self.rewards

    def __len__(self) -> int:
        return len(self.rewards)

    def __iter__(self) -> Iterator[Array]:
        """The rewards row by row, as of an array; pandas makes a frame of what has this."""
        return iter(self.rewards)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and actions, where scikit-learn looks for them."""
        return len(self.rewards), len(self.actions)

    def __getitem__(self, rows: Any) -> Scores:
        """Some rows alone, so that a search over parameters may split them; the diagnostics stay those of all rows."""
        rows = rows[0] if isinstance(rows, tuple) else rows  # scikit-learn asks for [rows, ...]

        def take(values: Array | None) -> Array | None:
            return None if values is None else values[rows]

        return replace(
            self,
            rewards=self.rewards[rows],
            treatment=self.treatment[rows],
            expected=take(self.expected),
            propensity=take(self.propensity),
        )

    def __repr__(self) -> str:
        actions = ", ".join(map(str, self.actions))
        return f"<Scores: {self.method} rewards of {len(self):,} rows for the actions {actions}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return show_lines(self.summary())

    def summary(self) -> str:
        """Diagnostics in words, one line per action."""
        lines = [f"{self.method.capitalize()} scores of {len(self):,} rows and {len(self.actions)} actions."]
        for overlap in self.overlap:
            lines.append(
                f"{overlap.action}: {overlap.rows:,} rows got it, effective sample size "
                f"{overlap.effective_sample_size:,.0f}; smallest propensity {format_number(overlap.smallest, 3)}, "
                f"{100 * overlap.share_clipped:.1f}% of rows clipped."
            )
        for fit in self.fit:
            lines.append(
                f"{fit.action}: the outcome model errs by {format_number(fit.error, 4)} "
                f"(R² {fit.r_squared:.2f}) on {fit.rows:,} rows that it has not seen."
            )
        return "\n".join(lines)


# The three scores ---------------------------------------------------------------------------------------------------


def direct(
    X: Any,
    treatment: Any = None,
    outcome: Any = None,
    propensity: Any = None,
    outcome_model: Any = None,
    propensity_model: Any = None,
    folds: int = 5,
    clip: float = 0.01,
    random_state: Any = None,
    *,
    maximize: bool = True,
    costs: Any = None,
    actions: Sequence[Any] | None = None,
    cluster: Any = None,
) -> Scores:
    """Scores from an outcome model alone: they have little noise, but are as biased as the model.

    Propensities are checked but not used, so that you can exchange one kind of score for another.

    Parameters
    ----------
    X, treatment, outcome, propensity, outcome_model, propensity_model, folds, clip, random_state :
        As in `doubly_robust`.
    maximize, costs, actions, cluster :
        As in `doubly_robust`.

    Returns
    -------
    Scores
        Rewards of every action for every row, with diagnostics.

    Raises
    ------
    ValueError
        If the log, a model or a setting cannot be used, or if an action has too few rows for cross-fitting.

    Examples
    --------
    >>> from certree import policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> policy.direct(log, random_state=0).rewards.shape
    (200, 2)
    """
    log = read_log(
        X, treatment, outcome,
        propensity=propensity, costs=costs, maximize=maximize, actions=actions, cluster=cluster,
    )  # fmt: skip
    return score(log, "direct", Nuisances(outcome_model, propensity_model, clip), folds, random_state)


def inverse_propensity(
    X: Any,
    treatment: Any = None,
    outcome: Any = None,
    propensity: Any = None,
    outcome_model: Any = None,
    propensity_model: Any = None,
    folds: int = 5,
    clip: float = 0.01,
    random_state: Any = None,
    *,
    maximize: bool = True,
    costs: Any = None,
    actions: Sequence[Any] | None = None,
    cluster: Any = None,
) -> Scores:
    """Scores from propensities alone: they need no model of the outcome, but have much noise.

    An outcome model is checked but not used, so that you can exchange one kind of score for another.

    Parameters
    ----------
    X, treatment, outcome, propensity, outcome_model, propensity_model, folds, clip, random_state :
        As in `doubly_robust`.
    maximize, costs, actions, cluster :
        As in `doubly_robust`.

    Returns
    -------
    Scores
        Rewards of every action for every row, with diagnostics.

    Raises
    ------
    ValueError
        If the log, a model or a setting cannot be used, or if an action has too few rows for cross-fitting.

    Examples
    --------
    >>> from certree import policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> scores = policy.inverse_propensity(log)
    >>> bool(scores.rewards[0, made.treatment[0]] == 2 * made.outcome[0])
    True
    """
    log = read_log(
        X, treatment, outcome,
        propensity=propensity, costs=costs, maximize=maximize, actions=actions, cluster=cluster,
    )  # fmt: skip
    return score(log, "inverse propensity", Nuisances(outcome_model, propensity_model, clip), folds, random_state)


def doubly_robust(
    X: Any,
    treatment: Any = None,
    outcome: Any = None,
    propensity: Any = None,
    outcome_model: Any = None,
    propensity_model: Any = None,
    folds: int = 5,
    clip: float = 0.01,
    random_state: Any = None,
    *,
    maximize: bool = True,
    costs: Any = None,
    actions: Sequence[Any] | None = None,
    cluster: Any = None,
) -> Scores:
    """Scores from an outcome model and propensities; right on average if either of the two is right.

    Parameters
    ----------
    X : array or frame, rows × columns, or Log
        What was known about each row when the action was taken. If you pass a `policy.Log`, leave out treatment,
        outcome, propensity, maximize, costs, actions and cluster: the log holds them.
    treatment : array of n actions
        Which action each row got.
    outcome : array of n numbers
        What came of it; higher is better unless `maximize` is False.
    propensity : known chances of the actions, default=None
        For experiments: one number per action (a sequence, or a mapping by action), n × K numbers or, with two actions,
        the chance of the second. They are used exactly as given, never clipped. None: they are estimated.
    outcome_model : scikit-learn regressor or classifier, default=None
        One copy is fitted per action, on the rows that got it. A classifier is for outcomes of 0 and 1, and predicts
        their mean. None: shallow gradient boosting.
    propensity_model : scikit-learn classifier with predict_proba, default=None
        None: logistic regression.
    folds : int, default=5
        The number of folds for cross-fitting; fewer if an action has fewer rows.
    clip : float, default=0.01
        Estimated propensities below it are raised to it.
    random_state : int, RandomState instance or None, default=None
        How rows are divided into folds. Set the `random_state` of the models on the models themselves.
    maximize : bool, default=True
        False: the outcome is a cost, lower is better, and rewards are its negative.
    costs : one number per action, mapping by action, or n × K numbers, default=None
        What each action costs (for everyone, or for each row), in units of the outcome. Costs are subtracted from the
        rewards.
    actions : sequence, default=None
        The actions in the order that breaks ties: put the cheapest first. None: the actions that occur, sorted.
    cluster : array of n values, default=None
        Which rows belong together (a household, a site): folds keep them together.

    Returns
    -------
    Scores
        Rewards of every action for every row, with diagnostics.

    Raises
    ------
    ValueError
        If the log, a model or a setting cannot be used, or if an action has too few rows for cross-fitting.

    Examples
    --------
    >>> from certree import policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> scores = policy.doubly_robust(log, random_state=0)
    >>> scores.rewards.shape
    (200, 2)
    """
    log = read_log(
        X, treatment, outcome,
        propensity=propensity, costs=costs, maximize=maximize, actions=actions, cluster=cluster,
    )  # fmt: skip
    return score(log, "doubly robust", Nuisances(outcome_model, propensity_model, clip), folds, random_state)


# Models, and who sees which rows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nuisances:
    """Nuisance models: the outcome of each action, and the chance of each action (propensity). None: ours."""

    outcome_model: Any = None
    propensity_model: Any = None
    clip: float = 0.01

    def __post_init__(self) -> None:
        check_between("clip", self.clip, 0, 0.5, includes_low=True)
        for name, method in (("outcome_model", "predict"), ("propensity_model", "predict_proba")):
            model = getattr(self, name)
            is_model = hasattr(model, "fit") and hasattr(model, method) and not isinstance(model, type)
            if model is not None and not is_model:
                raise TypeError(f"{name} must be a scikit-learn estimator with fit and {method}, not {model!r}")

    def predict_outcomes(self, log: Log, seen: Array, held: Array) -> Array:
        """held × K: the expected outcome of each action for the held rows, learned from the seen ones."""
        expected = np.empty((len(held), log.n_actions))
        for action in range(log.n_actions):
            rows = seen[log.treatment[seen] == action]
            if self.outcome_model is None:
                model, X = _default_outcome_model(len(rows)), log.numbers
            else:
                model, X = clone(self.outcome_model), log.X
            y = log.outcome[rows]
            if is_classifier(model) and (y == y[0]).all():
                expected[:, action] = y[0]
                continue
            at = take_rows(X, held)
            with _named("outcome_model", model):
                model.fit(take_rows(X, rows), y)
                expected[:, action] = (
                    model.predict_proba(at) @ model.classes_ if is_classifier(model) else model.predict(at)
                )
        return expected

    def predict_propensities(self, log: Log, seen: Array, held: Array) -> Array:
        """held × K: the chance of each action for the held rows; learned from the seen ones unless known. Unclipped."""
        if log.propensity is not None:
            return log.propensity[held]
        if self.propensity_model is None:
            model, X = _default_propensity_model(), log.numbers
        else:
            model, X = clone(self.propensity_model), log.X
        with _named("propensity_model", model):
            model.fit(take_rows(X, seen), log.treatment[seen])
            return np.asarray(model.predict_proba(take_rows(X, held)), dtype=np.float64)

    def bound(self, log: Log, propensity: Array) -> Array:
        """Propensities to divide by: estimated ones clipped, known ones as they are."""
        if log.propensity is not None:
            return propensity
        bounded = np.maximum(propensity, self.clip)
        if not bounded.min() > 0:
            row, action = np.argwhere(~(bounded > 0))[0]
            raise ValueError(
                f"{name_row(row, log.X)} has an estimated propensity of {bounded[row, action]} for action "
                f"{log.actions[action]!r}; set clip above 0 to bound it"
            )
        return bounded


@contextmanager
def _named(name: str, model: Any) -> Iterator[None]:
    """What a model complains of, with the model's name: an X that suits a tree may not suit it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name} ({type(model).__name__}) cannot learn from this log: {error}") from error


def _default_outcome_model(n_rows: int) -> Any:
    # Shallow, slow and with large leaves: on a few hundred rows it stays near the mean instead of chasing noise.
    if n_rows <= LARGEST_PLAIN:
        return GradientBoostingRegressor(
            n_estimators=60, learning_rate=0.08, max_depth=2, min_samples_leaf=min(20, n_rows), random_state=0
        )
    return HistGradientBoostingRegressor(
        max_iter=60, learning_rate=0.08, max_leaf_nodes=6, min_samples_leaf=20, early_stopping=False, random_state=0
    )


def _default_propensity_model() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def split_rows(log: Log, folds: int, random_state: Any, *, least: int = 2) -> Iterator[tuple[Array, Array]]:
    """Pairs of rows to learn from and rows held out, every action in each."""
    check_count("folds", folds, least)
    rows = np.bincount(log.treatment, minlength=log.n_actions)
    fewest = int(rows.min())
    if fewest < least:
        raise ValueError(
            f"action {log.actions[int(np.argmin(rows))]!r} has {fewest} row{'' if fewest == 1 else 's'}; "
            f"at least {least} are needed to learn from some and judge by the others"
        )
    if log.cluster is None:
        splitter = StratifiedKFold(min(folds, fewest), shuffle=True, random_state=random_state)
        yield from splitter.split(np.zeros(log.n_rows), log.treatment)
        return
    n_clusters = len(np.unique(log.cluster))
    if n_clusters < least:
        raise ValueError(f"cluster has {n_clusters} values; at least {least} are needed to hold some of them out")
    splitter = StratifiedGroupKFold(min(folds, fewest, n_clusters), shuffle=True, random_state=random_state)
    parts = list(splitter.split(np.zeros(log.n_rows), log.treatment, log.cluster))
    spread = np.sum([np.bincount(log.treatment[held], minlength=log.n_actions) > 0 for _, held in parts], axis=0)
    if spread.min() < least:
        name = log.actions[int(np.argmin(spread))]
        raise ValueError(
            f"the rows of action {name!r} lie in too few clusters: they fall into {spread.min()} of {len(parts)} "
            f"folds, and at least {least} are needed"
        )
    yield from parts


def combine(log: Log, method: Method, expected: Array | None, propensity: Array | None) -> Array:
    """n × K rewards from the models' predictions for the rows of a log, costs taken off."""
    if propensity is None:
        assert expected is not None
        return np.asarray(expected - log.costs)
    base = np.zeros_like(propensity) if expected is None else expected
    rewards = base + log.is_treatment * (log.outcome[:, None] - base) / propensity - log.costs
    if not np.isfinite(rewards).all():
        row, action = np.argwhere(~np.isfinite(rewards))[0]
        raise ValueError(
            f"{method} score of {name_row(row, log.X)}, action {log.actions[action]!r} is {rewards[row, action]}"
        )
    return np.asarray(rewards)


def score(log: Log, method: Method, nuisances: Nuisances, folds: int, random_state: Any) -> Scores:
    """Cross-fitted scores of a log."""
    shape = (log.n_rows, log.n_actions)
    expected = None if method == "inverse propensity" else np.empty(shape)
    propensity = None if method == "direct" else np.empty(shape)

    def predict(seen: Array, held: Array) -> tuple[Array | None, Array | None]:
        outcomes = None if expected is None else nuisances.predict_outcomes(log, seen, held)
        return outcomes, None if propensity is None else nuisances.predict_propensities(log, seen, held)

    parts = list(split_rows(log, folds, random_state))
    for (_, held), (outcomes, shares) in zip(parts, learn_each(predict, parts), strict=True):
        if expected is not None:
            expected[held] = outcomes
        if propensity is not None:
            propensity[held] = shares
    if propensity is None:
        return make_scores(log, method, expected, None)
    return make_scores(log, method, expected, nuisances.bound(log, propensity), propensity)


def make_scores(
    log: Log, method: Method, expected: Array | None, propensity: Array | None, unclipped: Array | None = None
) -> Scores:
    """Scores from the models' predictions for the rows of a log; overlap is told of propensities before clipping."""
    rewards = combine(log, method, expected, propensity)
    rewards.flags.writeable = False
    return Scores(
        control=log.control,
        rewards=rewards,
        actions=log.actions,
        method=method,
        treatment=log.treatment,
        expected=expected,
        propensity=propensity,
        overlap=() if unclipped is None or propensity is None else _describe_overlap(log, unclipped, propensity),
        fit=() if expected is None else _describe_fit(log, expected),
    )


def _describe_overlap(log: Log, propensity: Array, used: Array) -> tuple[ActionOverlap, ...]:
    found = []
    for code, action in enumerate(log.actions):
        inverse = 1 / used[log.treatment == code, code]
        found.append(
            ActionOverlap(
                action=action,
                rows=len(inverse),
                effective_sample_size=float(inverse.sum() ** 2 / np.sum(inverse**2)),
                smallest=float(propensity[:, code].min()),
                share_clipped=float(np.mean(propensity[:, code] < used[:, code])),
                histogram=tuple(np.histogram(propensity[:, code], HISTOGRAM_EDGES)[0].tolist()),
            )
        )
    return tuple(found)


def _describe_fit(log: Log, expected: Array) -> tuple[ActionFit, ...]:
    found = []
    for code, action in enumerate(log.actions):
        rows = log.treatment == code
        squared = float(np.mean((log.outcome[rows] - expected[rows, code]) ** 2))
        variance = float(np.var(log.outcome[rows]))
        r_squared = 1 - squared / variance if variance > 0 else float("nan")
        found.append(ActionFit(action, int(rows.sum()), squared**0.5, r_squared))
    return tuple(found)
