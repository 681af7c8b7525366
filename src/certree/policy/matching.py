"""Effects by matching: what an action did to each row, by rows like it that got the other one.

Matching after learning to stretch (Parikh, Rudin and Volfovsky). Some rows learn how far each column must be stretched
for near rows of an arm to have like outcomes; on the other rows each is matched with its k nearest of either arm, and
its effect is the difference of their mean outcomes. The rows change parts over splits, and effects are means over them.

This room promises that no outcome both shapes a metric and is matched under it, and that the answer depends on the
numbers and the seed alone: rows at equal distance share a place among the nearest, whatever their order, and metrics
are sought until rounding has no say in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, _fit_context
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from certree.policy.log import Log, read_log
from certree.table import name_row, read_table
from certree.weights.balancing import number_columns

Array = NDArray[Any]

FEWEST_TO_LEARN = 3
"""Rows of an arm without which its outcomes say nothing about distances: one, and two to choose between."""
MOST_TO_LEARN = 1000
"""Rows of an arm that a metric is learned from: the work grows with their square, and few numbers are sought."""
STARTS = (0.1, 1.0)
SQUARED_STRETCHES = (1e-4, 1e4)
"""From where and within what the search looks for squared stretches of standardised columns."""
PRECISION = 1e-12
"""Of a metric's misfit. Outcomes do not know so many digits, but a search that stops earlier stops where rounding says:
the same rows would be matched otherwise on another machine."""
SAME_MISFIT = 9
"""Decimals in which two misfits must differ for one to be the lower."""
TIE = 1e-9
"""Squared distances that differ by this share of the larger are equal: they were rounded on the way."""
MOST_DISTANCES = 4_000_000
"""Distances in memory at a time."""
LARGEST_SEED = 2**31 - 1


class MatchingEffects(BaseEstimator):
    """The effect of a treatment on every row, by matching after learning to stretch (MALTS).

    `predict` gives the effect on new rows.

    Parameters
    ----------
    n_neighbors : int, default=10
        The number of rows of each arm that a row is matched with.
    n_splits : int, default=5
        The number of parts into which the rows are divided, with the same share of both arms. Each part in turn is used
        to learn a metric; the rows of the other parts are matched among themselves.
    n_repeats : int, default=10
        How many times rows are divided into parts. A row's effect is the mean of n_repeats · (n_splits − 1) estimates.
    metric : "learned", "equal" or array of stretches, default="learned"
        "equal" stretches every standardised column alike; an array has one number per column of `columns_`. In both
        cases nothing is learned, and all rows are matched among themselves once.
    shrinkage : float, default=0.02
        How much more of the outcome's variance a metric must explain to use one column alone rather than all columns
        equally. If outcomes depend on no column, the metric stays close to "equal".
    include_own : bool, default=True
        Whether a row counts among the nearest of its own arm, as in the paper. False leaves its own outcome out of its
        effect.
    control : arm, default=None
        The arm that the other one is compared with. None: the first one, sorted.
    random_state : int, RandomState instance or None, default=None
        How rows are divided into parts.

    Attributes
    ----------
    effects_ : ndarray of n numbers
        Mean outcome of the matched treated rows minus that of the matched controls.
    standard_errors_ : ndarray of n numbers
        √(mean over splits of s₁²/k + s₀²/k, plus the variance of the estimates over splits), s² the variance of the
        matched outcomes of an arm. Splits share rows, so more splits do not make it smaller. It ignores that the
        nearest rows differ from the row itself: if few rows are near, effects are also biased towards their mean.
    expected_ : ndarray, n × 2
        The two means, control first.
    arms_ : tuple
        Control and treated.
    columns_ : tuple of str
        What is stretched: numeric columns, one flag per category, and a flag for missing values.
    stretches_ : ndarray, one per column of `columns_`
        Of the standardised columns, scaled to a mean square of 1; over splits the root of the mean square.
    split_stretches_ : ndarray, splits × columns
        The stretches that each split learned.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Raises
    ------
    ValueError
        By `fit`, if there are not two arms, or too few rows of one for the neighbours and the splits.

    Examples
    --------
    >>> from certree.datasets import make_policy
    >>> from certree.policy import MatchingEffects
    >>> made = make_policy(200, 2, depth=1, random_state=0)
    >>> matched = MatchingEffects(5, n_repeats=1, random_state=0)
    >>> matched = matched.fit(made.data, made.treatment, made.outcome)
    >>> matched.effects_.shape, matched.predict(made.data[:3]).shape
    ((200,), (3,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 2, None, closed="left")],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions({"learned", "equal"}), "array-like"],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "include_own": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        n_splits: int = 5,
        n_repeats: int = 10,
        metric: Any = "learned",
        shrinkage: float = 0.02,
        include_own: bool = True,
        control: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.metric = metric
        self.shrinkage = shrinkage
        self.include_own = include_own
        self.control = control
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, treatment: Any = None, outcome: Any = None) -> MatchingEffects:
        """Match every row.

        Parameters
        ----------
        X : array or frame, rows × columns, or Log
            What was known of each row before the treatment; a `policy.Log` has the treatment and the outcome,
            too. Categories count as flags, missing values as the column's mean and a flag of their own.
        treatment : array of n arms
            Which of two arms each row got.
        outcome : array of n numbers
            What came of each row.
        """
        given = X if isinstance(X, Log) else None
        X = X if given is None else given.X
        table = read_table(X, estimator=self)
        validate_data(self, X, reset=True, skip_check_array=True)
        log = self._order_arms(read_log(table if given is None else given, treatment, outcome))
        self.arms_ = log.actions
        self.columns_ = number_columns(table)[1]
        points = standardise(self._check_finite(log.numbers, X))

        is_learned = isinstance(self.metric, str) and self.metric == "learned"
        if is_learned:
            self._check_rows(log)
            parts = [(learn_metric(points, log, seen, self.shrinkage), held) for seen, held in self._deal(log)]
        else:
            self._check_rows(log, matched=np.bincount(log.treatment))
            parts = [(self._read_metric(len(self.columns_)), np.arange(log.n_rows))]
        self.split_stretches_ = np.array([stretches for stretches, _ in parts])
        self.stretches_ = np.sqrt(np.mean(self.split_stretches_**2, axis=0))
        self._log, self._parts = log, [rows for _, rows in parts]
        self.effects_, self.standard_errors_, self.expected_ = self._average(points)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The effect on rows that were not there when the metric was learned.

        Each is matched, under the metric of every split, with the rows that were matched under it. Rows that were
        fitted have `effects_` already: here they count as new, and may be matched with themselves.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of `fit`. A category that it did not see counts as none of those that it saw.
        return_std : bool, default=False
            Whether to return standard errors too.

        Returns
        -------
        ndarray of n numbers, or two of them
        """
        check_is_fitted(self)
        table = read_table(X, estimator=self)
        validate_data(self, X, reset=False, skip_check_array=True)
        numbers = self._check_finite(number_columns(table, like=read_table(self._log.X))[0], X)
        effects, errors, _ = self._average(standardise(self._log.numbers), standardise(numbers, like=self._log.numbers))
        return (effects, errors) if return_std else effects

    def _average(self, points: Array, others: Array | None = None) -> tuple[Array, Array, Array]:
        """Effects, their errors and expected outcomes, over all parts: of the rows fitted, or of others."""
        log, n_rows = self._log, len(points if others is None else others)
        count = np.zeros(n_rows)
        expected = np.zeros((n_rows, 2))
        variance, effect, squared = np.zeros((3, n_rows))
        # Squares of effects lose digits where effects are large beside their spread: a rough mean is taken off.
        origin = np.subtract(*(log.outcome[log.treatment == arm].mean() for arm in (1, 0)))
        for stretches, members in zip(self.split_stretches_, self._parts, strict=True):
            own = points[members] * stretches
            means, errors = match(
                own if others is None else others * stretches,
                own,
                log.treatment[members],
                log.outcome[members],
                self.n_neighbors,
                leave_own_out=others is None and not self.include_own,
            )
            rows = members if others is None else slice(None)
            difference = means[:, 1] - means[:, 0]
            count[rows] += 1
            expected[rows] += means
            variance[rows] += errors.sum(axis=1)
            effect[rows] += difference
            squared[rows] += (difference - origin) ** 2
        effects = effect / count
        spread = np.maximum(squared / count - (effects - origin) ** 2, 0.0)
        errors = np.sqrt(variance / count + spread * count / np.maximum(count - 1, 1))
        return effects, errors, expected / count[:, None]

    def _deal(self, log: Log) -> Iterator[tuple[Array, Array]]:
        """Rows that learn a metric and rows that are matched under it."""
        chance = check_random_state(self.random_state)
        for seed in chance.randint(LARGEST_SEED, size=self.n_repeats).tolist():
            folds = StratifiedKFold(self.n_splits, shuffle=True, random_state=seed)
            for held, seen in folds.split(np.zeros(log.n_rows), log.treatment):
                arms = (seen[log.treatment[seen] == arm] for arm in (0, 1))
                few = [
                    rows if len(rows) <= MOST_TO_LEARN else chance.choice(rows, MOST_TO_LEARN, replace=False)
                    for rows in arms
                ]
                yield np.concatenate(few), held

    def _order_arms(self, log: Log) -> Log:
        """The log with the control first."""
        names = ", ".join(map(repr, log.actions))
        if log.n_actions != 2:
            raise ValueError(
                f"treatment has {log.n_actions} arms ({names}); MatchingEffects compares two: pass only their rows"
            )
        if self.control is None or self.control == log.actions[0]:
            return log
        if self.control != log.actions[1]:
            raise ValueError(f"control is {self.control!r}, which is not one of the arms {names}")
        return read_log(log.X, np.array(log.actions)[log.treatment], log.outcome, actions=log.actions[::-1])

    def _check_finite(self, numbers: Array, X: Any) -> Array:
        if not np.isfinite(numbers).all():
            row, column = np.argwhere(~np.isfinite(numbers))[0]
            raise ValueError(f"column {self.columns_[column]!r} holds an infinite value ({name_row(row, X)})")
        return numbers

    def _check_rows(self, log: Log, matched: Array | None = None) -> None:
        """Every arm needs rows to match with, whoever else learns or is left out."""
        rows = np.bincount(log.treatment, minlength=2)
        needed = self.n_neighbors + (0 if self.include_own else 1)
        if matched is None:
            # Folds are as even as can be: the one that learns has at most one row above the mean.
            matched, learning = rows - -(-rows // self.n_splits), rows // self.n_splits
            for arm in (0, 1):
                if learning[arm] < FEWEST_TO_LEARN:
                    raise ValueError(
                        f"arm {log.actions[arm]!r} has {rows[arm]} rows, {learning[arm]} in each of {self.n_splits} "
                        f"splits; at least {FEWEST_TO_LEARN} are needed to learn a metric: use fewer splits, or a "
                        "metric that is not learned"
                    )
        for arm in (0, 1):
            if matched[arm] < needed:
                raise ValueError(
                    f"arm {log.actions[arm]!r} has {rows[arm]} rows, of which {matched[arm]} can be matched at a time; "
                    f"n_neighbors={self.n_neighbors} needs {needed}"
                )

    def _read_metric(self, n_columns: int) -> Array:
        if isinstance(self.metric, str):
            return np.ones(n_columns)
        try:
            stretches: Array = np.asarray(self.metric, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"metric must hold numbers: {error}") from error
        if stretches.shape != (n_columns,):
            raise ValueError(
                f"metric has shape {stretches.shape}, but there are {n_columns} columns to stretch: "
                f"{', '.join(self.columns_)}"
            )
        if not (np.isfinite(stretches).all() and (stretches >= 0).all() and stretches.any()):
            raise ValueError("metric must hold finite numbers that are not negative, and not all zero")
        return scale_to_one(stretches)


# The metric -----------------------------------------------------------------------------------------------------------


def standardise(numbers: Array, like: Array | None = None) -> Array:
    """Columns of mean 0 and variance 1, by the rows of `like` where given; a constant one is all 0."""
    like = numbers if like is None else like
    centre, spread = like.mean(axis=0), like.std(axis=0)
    is_constant = spread <= 1e-12 * np.abs(like).max(axis=0)
    return np.asarray(np.where(is_constant, 0.0, (numbers - centre) / np.where(is_constant, 1.0, spread)))


def scale_to_one(stretches: Array) -> Array:
    """The same metric with a mean square of 1: matching looks at the order of distances alone."""
    return np.asarray(stretches / np.sqrt(np.mean(stretches**2)))


def learn_metric(points: Array, log: Log, rows: Array, shrinkage: float) -> Array:
    """Stretches under which near rows of an arm have like outcomes."""
    arms = []
    for arm in (0, 1):
        own = rows[log.treatment[rows] == arm]
        arms.append((points[own], log.outcome[own] - log.outcome[own].mean()))
    found = [
        minimize(
            misfit, np.full(points.shape[1], start), args=(arms, shrinkage), jac=True, method="L-BFGS-B",
            bounds=[SQUARED_STRETCHES] * points.shape[1], options={"ftol": PRECISION},
        )
        for start in STARTS
    ]  # fmt: skip
    return scale_to_one(np.sqrt(min(found, key=lambda result: round(float(result.fun), SAME_MISFIT)).x))


def misfit(squared_stretches: Array, arms: list[tuple[Array, Array]], shrinkage: float) -> tuple[float, Array]:
    """What a metric θ fails to explain of outcomes, and how uneven it is; with the gradient.

    An outcome is foretold by the other rows of its arm, row l for row i with weight

        p_il ∝ exp(−Σ_j θ_j (x_ij − x_lj)²)

    which falls smoothly with distance where "among the k nearest" would jump. The first term is the share of the
    outcomes' variance that is not foretold. With ŷ_i = Σ_l p_il y_l its gradient comes from
    ∂ŷ_i/∂θ_j = −Σ_l p_il (y_l − ŷ_i)(x_ij − x_lj)². The second is `shrinkage` times the variance of θ/mean θ, over the
    variance (p − 1) of a metric that looks at one column alone.
    """
    n_columns = len(squared_stretches)
    total = sum(float(y @ y) for _, y in arms)
    loss, gradient = 0.0, np.zeros(n_columns)
    for points, y in arms:
        if total == 0:
            break
        distance = cdist(points * np.sqrt(squared_stretches), points * np.sqrt(squared_stretches), "sqeuclidean")
        np.fill_diagonal(distance, np.inf)
        weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
        weight /= weight.sum(axis=1, keepdims=True)
        foretold = weight @ y
        missed = y - foretold
        loss += float(missed @ missed) / total
        flow = 2 * missed[:, None] * weight * (y - foretold[:, None]) / total
        # Σ_il flow_il (x_ij − x_lj)², multiplied out so that no rows × rows × columns array is made.
        squares = points**2
        gradient += (flow.sum(axis=1) + flow.sum(axis=0)) @ squares - 2 * np.sum(points * (flow @ points), axis=0)
    if n_columns > 1:
        mean = squared_stretches.mean()
        uneven = squared_stretches / mean - 1
        loss += shrinkage * float(np.mean(uneven**2)) / (n_columns - 1)
        slope = 2 * uneven / n_columns / mean
        gradient += shrinkage * (slope - np.mean(slope * squared_stretches) / mean) / (n_columns - 1)
    return loss, gradient


# The match ------------------------------------------------------------------------------------------------------------


def match(
    points: Array, others: Array, treatment: Array, outcome: Array, n_neighbors: int, leave_own_out: bool = False
) -> tuple[Array, Array]:
    """For each row and arm (n × 2) the mean outcome of the nearest others, and the squared error of that mean.

    Treatments and outcomes are those of the others. With `leave_own_out` the two are the same rows in the same order,
    and none is matched with itself.
    """
    n_rows = len(points)
    means, errors = np.empty((2, n_rows, 2))
    for arm in (0, 1):
        members = np.flatnonzero(treatment == arm)
        y = outcome[members]
        step = max(1, MOST_DISTANCES // len(members))
        for start in range(0, n_rows, step):
            rows = np.arange(start, min(start + step, n_rows))
            distance = cdist(points[rows], others[members], "sqeuclidean")
            if leave_own_out:
                distance[rows[:, None] == members] = np.inf
            weight = share_places(distance, n_neighbors)
            mean = weight @ y
            means[rows, arm] = mean
            # (Σ w (y − mean)²) / (m − 1) with m = 1/Σw² rows of equal weight, which is k where none are tied.
            squares = np.sum(weight * (y - mean[:, None]) ** 2, axis=1)
            errors[rows, arm] = squares / (1 / np.sum(weight**2, axis=1) - 1)
    return means, errors


def share_places(distance: Array, n_neighbors: int) -> Array:
    """Weights of the k nearest of each row, 1/k each; those tied for the last places share them."""
    last = np.partition(distance, n_neighbors - 1, axis=1)[:, n_neighbors - 1, None]
    is_nearer = distance < last * (1 - TIE)
    is_tied = ~is_nearer & (distance <= last * (1 + TIE))
    left = n_neighbors - is_nearer.sum(axis=1, keepdims=True)
    return np.asarray((is_nearer + is_tied * (left / is_tied.sum(axis=1, keepdims=True))) / n_neighbors)
