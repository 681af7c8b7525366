"""Weights: how they become counts, what that costs, and where balancing ones come from.

This room promises that every stated bound is a pure function of the data and true. For a tree t let R(t) be its
objective under weights w, R̃(t) under counts w̃, with p = w/Σw and q = w̃/Σw̃. Then

    duplication, sampling   |R(t) − R̃(t)| <= TV = ½ Σ|p − q|   for every tree t, whatever the counts came from
    sampling, a fixed tree  |R(t) − R̃(t)| <= √(ln(2/δ) / 2S)   with probability 1 − δ over S draws
    sampling, all trees     the same with ln(2N/δ), N the number of trees of at most H leaves

The proofs are in docs/method.md, section 12, and docs/weighing.md. Counts never make a table longer: they are weights
again, and the engine merges equal rows anyway; `duplicate_rows` is for solvers that know no weights.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from certree.problem import Problem, check_weights
from certree.reading import read_text_columns, warn_about
from certree.table import Table, default_names, name_row, read_table
from certree.tree import Value, format_number, plain_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What users are to call; the other functions are for the rooms above.
__all__ = [
    "BalancingWeights",
    "WeightLossWarning",
    "balance",
    "duplicate",
    "duplicate_rows",
    "sample",
    "total_variation",
]

Array = NDArray[Any]
Normaliser = Literal["max", "sum"]
LEVEL = 0.95
"""The probability with which statements about a sample hold."""
MOST_COPIES = 2.0**53
"""Beyond it, sums of counts are no longer exact as floats."""


class WeightLossWarning(UserWarning):
    """Rows of positive weight got a count of zero: they no longer take part.

    Examples
    --------
    >>> import warnings
    >>> from certree import weights
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     counts = weights.duplicate([0.001, 1.0], factor=10)
    >>> caught[0].category.__name__
    'WeightLossWarning'
    """


# Weights as counts --------------------------------------------------------------------------------------------------


def scale(weight: Any, factor: float = 100, normalise: Normaliser = "max") -> Array:
    """The weights right before they are rounded: factor · w / max w, or factor · w / Σw as Algorithm 1 is printed."""
    weights = _read_weight(weight)
    if not (math.isfinite(factor) and factor >= 1):
        raise ValueError(f"factor must be a finite number of at least 1, not {factor!r}")
    if normalise not in ("max", "sum"):
        raise ValueError(f'normalise must be "max" or "sum", not {normalise!r}')
    scaled = np.asarray(factor * (weights / (weights.max() if normalise == "max" else weights.sum())))
    # However small, what is positive stays so: that a row is lost is seen and told when it is rounded.
    return np.where(weights > 0, np.maximum(scaled, np.finfo(float).smallest_subnormal), 0.0)


def duplicate(weight: Any, factor: float = 100, normalise: Normaliser = "max") -> Array:
    """Whole-number weights for data duplication: how often each row is repeated.

    Parameters
    ----------
    weight : array of n weights
    factor : float, default=100
        The number of copies of the heaviest row.
    normalise : {"max", "sum"}, default="max"
        "max" gives the heaviest row `factor` copies. "sum" is the paper's Algorithm 1 as printed: it shares about
        `factor` copies among all rows, so that a large table loses nearly all of its rows.

    Returns
    -------
    ndarray of n int64 counts

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if no row would be left.

    Warns
    -----
    WeightLossWarning
        If rows of positive weight are rounded to no copy at all.

    Examples
    --------
    >>> from certree import weights
    >>> weights.duplicate([0.5, 1.0, 2.0], factor=4).tolist()
    [1, 2, 4]
    """
    scaled = scale(weight, factor, normalise)
    if scaled.sum() > MOST_COPIES:
        raise ValueError(
            f"factor {factor:g} asks for {scaled.sum():.3g} copies; more than 2^53 cannot be counted exactly"
        )
    counts = np.rint(scaled).astype(np.int64)
    if not counts.any():
        least = math.floor(0.5 * factor / scaled.max()) + 1
        raise ValueError(
            f"factor {factor:g} with normalise={normalise!r} leaves no row: every weight is rounded to 0 copies; "
            f'use normalise="max" or a factor of at least {least}'
        )
    is_lost = (scaled > 0) & (counts == 0)
    if is_lost.any():
        rows = is_lost.sum() / (scaled > 0).sum()
        share = scaled[is_lost].sum() / scaled.sum()
        warnings.warn(
            f"duplication with factor {factor:g} and normalise={normalise!r} rounds {_count(int(is_lost.sum()))} "
            f"({rows:.1%} of the rows, {share:.2%} of the weight) to 0 copies",
            WeightLossWarning,
            stacklevel=2,
        )
    return counts


def sample(weight: Any, ratio: float = 1.0, random_state: Any = None) -> Array:
    """Counts from S = round(ratio · n) draws with replacement, each row with probability w / Σw.

    Parameters
    ----------
    weight : array of n weights
        n counts the rows of positive weight.
    ratio : float, default=1.0
        Draws per row.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    ndarray of n int64 counts
        How often each row was drawn.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if there would be no draw.

    Examples
    --------
    >>> from certree import weights
    >>> int(weights.sample([1.0, 3.0], ratio=5, random_state=0).sum())
    10
    """
    weights = _read_weight(weight)
    draws = count_draws(int(np.count_nonzero(weights)), ratio)
    # Scaled by the largest first: a sum of probabilities must not go above 1 by more than rounding.
    shares = weights / weights.max()
    return np.asarray(check_random_state(random_state).multinomial(draws, shares / shares.sum()), dtype=np.int64)


def count_draws(n_rows: int, ratio: float) -> int:
    """S = round(ratio · n)."""
    if not (math.isfinite(ratio) and ratio > 0):
        raise ValueError(f"ratio must be a finite number above 0, not {ratio!r}")
    if ratio * n_rows > MOST_COPIES:
        raise ValueError(f"ratio {ratio:g} of {n_rows} rows asks for more than 2^53 draws")
    draws = round(ratio * n_rows)
    if draws < 1:
        raise ValueError(f"ratio {ratio!r} of {n_rows} rows gives no draw at all; at least {1 / n_rows:.3g} is needed")
    return draws


def duplicate_rows(X: Any, y: Any, counts: Any) -> tuple[Any, Any]:
    """Table and labels with each row repeated as often as its count says, for solvers that know no weights.

    `X` and `y` keep their kind: arrays, frames of pandas and polars, series.

    Parameters
    ----------
    X : array or frame, rows × columns
    y : array or series of n labels
    counts : array of n whole numbers

    Returns
    -------
    tuple of table and labels

    Raises
    ------
    ValueError
        If the lengths differ, or a count is negative or not whole.

    Examples
    --------
    >>> import numpy as np
    >>> from certree import weights
    >>> X, y = weights.duplicate_rows(np.array([[1], [2]]), np.array(["a", "b"]), [1, 2])
    >>> y.tolist()
    ['a', 'b', 'b']
    """
    given = np.asarray(counts)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if given.shape != (n_rows,) or len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows, y {len(y)}, and counts is of shape {given.shape}")
    if given.dtype.kind not in "iub" and not (given.dtype.kind == "f" and np.all(given == np.rint(given))):
        raise ValueError("counts must be whole numbers")
    if (given < 0).any():
        raise ValueError(f"counts is negative in {name_row(int(np.argmax(given < 0)), counts, X)}")
    if not given.any():
        raise ValueError("counts is zero in every row")
    rows = np.repeat(np.arange(n_rows), given.astype(np.int64))
    return _safe_indexing(X, rows), _safe_indexing(y, rows)


def _count(rows: int) -> str:
    return f"{rows} {'row' if rows == 1 else 'rows'}"


def _read_weight(weight: Any) -> Array:
    if weight is None or np.ndim(weight) == 0:
        raise ValueError("weight must be an array with one entry per row")
    return check_weights(weight, len(weight))


# What counts cost: bounds that hold for every tree ------------------------------------------------------------------


@dataclass(frozen=True)
class RoundingError:
    """The paper's figures of a rounding, and its bound. Infinite where a positive weight became 0."""

    epsilon: float
    """ε: the largest change of a weight, max |w − w̃|."""
    eta: float
    """η = max w / w̃."""
    zeta: float
    """ζ = max w̃ / w."""
    psi: float
    """ψ: the largest of all w and w̃ divided by the smallest."""

    @property
    def bound(self) -> float:
        """The paper's K: |R(t*) − R̃(t̃)| <= K for the two optima."""
        if not math.isfinite(self.eta):
            return math.inf
        return max(
            ((self.zeta - 1) * self.psi + self.epsilon) / self.zeta,
            ((self.eta - 1) * self.psi + self.epsilon) / self.eta,
        )


def rounding_error(scaled: Any, counts: Any) -> RoundingError:
    """ε, η, ζ and ψ of weights right before rounding (see `scale`) and their counts; rows of weight 0 have no part."""
    weights, counts = _read_pair(scaled, counts)
    weights, counts = weights[weights > 0], counts[weights > 0]
    epsilon = float(np.abs(weights - counts).max())
    if (counts == 0).any():
        return RoundingError(epsilon, math.inf, float((counts / weights).max()), math.inf)
    largest, smallest = max(weights.max(), counts.max()), min(weights.min(), counts.min())
    return RoundingError(
        epsilon, float((weights / counts).max()), float((counts / weights).max()), float(largest / smallest)
    )


def total_variation(weight: Any, counts: Any) -> float:
    """The total variation TV = ½ Σ abs(p − q) between weights and counts, each divided by its sum.

    The objective of every tree changes by at most TV, so the best tree of the counts is within 2 TV of the best one.

    Parameters
    ----------
    weight : array of n weights
    counts : array of n counts

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the lengths differ, or if one of them has no positive entry.

    Examples
    --------
    >>> from certree import weights
    >>> weights.total_variation([1.0, 3.0], [1, 1])
    0.25
    """
    weights, counts = _read_pair(weight, counts)
    return 0.5 * math.fsum(np.abs(weights / weights.sum() - counts / counts.sum()).tolist())


@dataclass(frozen=True)
class Deviation:
    """How far counts can move an objective: −below <= R̃(t) − R(t) <= above for every tree t of a problem.

    Neither is more than TV; both are less where rows that no test tells apart make up for each other.
    """

    above: float
    below: float


def deviation(problem: Problem, counts: Any) -> Deviation:
    """The largest moves of the objective of a classification problem, over all ways to label groups of equal rows.

    With e = q − p summed over the rows of group g that carry label k, a tree that gives g the label l is moved by
    Σ_k≠l e[g, k] = e[g, ·] − e[g, l]. The best and the worst l of each group bound every tree.
    """
    weights, counts = _read_pair(problem.weights, counts)
    assert problem.y is not None, "counts stand for the weights of labelled rows"
    groups, n_labels = problem.equal_rows, len(problem.labels)
    n_groups = int(groups.max()) + 1
    moved = counts / counts.sum() - weights / weights.sum()
    cells = np.bincount(groups * n_labels + problem.y, moved, minlength=n_groups * n_labels).reshape(n_groups, n_labels)
    sums = cells.sum(axis=1)
    slack = float(np.finfo(float).eps) * (problem.n_rows + 8)
    return Deviation(
        above=math.fsum((sums - cells.min(axis=1)).tolist()) + slack,
        below=math.fsum((cells.max(axis=1) - sums).tolist()) + slack,
    )


def _read_pair(weight: Any, counts: Any) -> tuple[Array, Array]:
    weights = _read_weight(weight)
    counts = np.asarray(counts, dtype=np.float64)
    if counts.shape != weights.shape:
        raise ValueError(f"there are {len(weights)} weights, but counts is of shape {counts.shape}")
    if not (counts >= 0).all() or not counts.any():
        raise ValueError("counts must not be negative, nor all zero")
    return weights, counts


# What counts cost: bounds that hold with a probability --------------------------------------------------------------


def fixed_tree_bound(draws: int, level: float = LEVEL) -> float:
    """ε with P(|R(t) − R̃(t)| >= ε) <= 1 − level, for one tree chosen before the draws.

    Hoeffding for a mean of S draws in [0, 1]: 2 exp(−2 S ε²). The paper prints exp(−2 ε² / S), which is for a sum.
    """
    return uniform_bound(draws, 0.0, level)


def uniform_bound(draws: int, log_trees: float, level: float = LEVEL) -> float:
    """ε such that with probability `level` |R(t) − R̃(t)| < ε for all of exp(`log_trees`) trees at once."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    return math.sqrt((math.log(2 / (1 - level)) + log_trees) / (2 * draws))


def log_count_trees(n_tests: int, n_labels: int, most_leaves: int) -> float:
    """ln N, N = Σ_h Catalan(h − 1) · tests^(h − 1) · labels^h over h <= `most_leaves`: shapes, tests and labels."""
    if min(n_tests, n_labels, most_leaves - 1) < 0 or n_labels < 1:
        raise ValueError("a tree has at least one leaf and one label")
    terms = [math.log(n_labels)]
    if n_tests > 0:
        for leaves in range(2, most_leaves + 1):
            shapes = math.lgamma(2 * leaves - 1) - math.lgamma(leaves) - math.lgamma(leaves + 1)
            terms.append(shapes + (leaves - 1) * math.log(n_tests) + leaves * math.log(n_labels))
    return float(np.logaddexp.reduce(terms))


def count_leaves(problem: Problem) -> int:
    """The most leaves that an optimal tree can have, whatever the weights are.

    A tree that is no worse than the best lone leaf, whose loss is at most 1 − 1/labels, can pay for no more than
    1 + (1 − 1/labels) / λ leaves. Nothing here looks at the weights, so that a union bound may use it.
    """
    most = problem.n_rows
    if problem.max_leaves is not None:
        most = min(most, problem.max_leaves)
    if problem.max_depth is not None and problem.max_depth < 60:
        most = min(most, 2**problem.max_depth)
    if problem.regularization > 0:
        paid = (1 - 1 / len(problem.labels)) / problem.regularization
        most = min(most, 1 + math.floor(paid * (1 + 1e-12))) if paid < most else most
    return most


# A problem with counts in place of weights ---------------------------------------------------------------------------

WEIGHING_STATEMENT = (
    "objective and loss are those of the true weights; no tree is below lower_bound = "
    "max(approximate lower bound − deviation_above, floor), whatever was rounded or drawn; where the "
    "search ended with a proof, objective <= optimum + deviation_above + deviation_below"
)


@dataclass(frozen=True, eq=False)
class Weighing:
    """A problem whose weights were replaced by counts, and what can be said about the true one."""

    method: Literal["duplicate", "sample"]
    problem: Problem
    """Same rows, tests and constraints; only the costs are counts."""
    counts: Array
    deviation: Deviation
    total_variation: float
    floor: float
    """What no tree of the true problem is below, whatever the counts."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the method itself states, as plain data."""

    def lower(self, lower: float) -> float:
        """A true lower bound for the true weights, from one for the counts."""
        return max(lower - self.deviation.above, self.floor)

    def state(self, approximate_objective: float, approximate_lower: float) -> dict[str, Any]:
        """The guarantee as plain data."""
        above, below = self.deviation.above, self.deviation.below
        return {
            "method": self.method,
            "statement": WEIGHING_STATEMENT,
            "approximate_objective": approximate_objective,
            "approximate_lower_bound": approximate_lower,
            "total_variation": self.total_variation,
            "deviation_above": above,
            "deviation_below": below,
            "floor": self.floor,
            "rows_without_a_count": int(np.count_nonzero(self.counts == 0)),
            **self.figures,
        }


def weigh_by_duplication(problem: Problem, factor: float = 100) -> Weighing:
    """The problem of the duplicated rows."""
    counts = duplicate(problem.weights, factor)
    error = rounding_error(scale(problem.weights, factor), counts)
    figures: dict[str, Any] = {
        "factor": factor,
        "epsilon": error.epsilon,
        "eta": _finite(error.eta),
        "zeta": error.zeta,
        "psi": _finite(error.psi),
        "paper_bound": _finite(error.bound),
        "paper_statement": (
            "|R(t*) − R̃(t̃)| <= paper_bound, between the optimum of the true weights and that of the counts"
            if math.isfinite(error.bound)
            else "eta, psi and paper_bound are infinite (null): a positive weight became 0; total_variation still holds"
        ),
    }
    return _replace_weights("duplicate", problem, counts, figures)


def weigh_by_sampling(problem: Problem, ratio: float = 1.0, random_state: Any = None) -> Weighing:
    """The problem of the drawn rows."""
    counts = sample(problem.weights, ratio, random_state)
    return _replace_weights("sample", problem, counts, state_sample(problem, ratio))


def state_sample(problem: Problem, ratio: float) -> dict[str, Any]:
    """What a sample states whatever was drawn, as plain data."""
    draws, leaves = count_draws(problem.n_rows, ratio), count_leaves(problem)
    uniform = uniform_bound(draws, log_count_trees(problem.features.n_tests, len(problem.labels), leaves))
    return {
        "ratio": ratio,
        "draws": draws,
        "level": LEVEL,
        "fixed_tree_bound": fixed_tree_bound(draws),
        "uniform_bound": uniform,
        "most_leaves": leaves,
        "probable_statement": (
            f"with probability {LEVEL:g} over the draws: |R(t) − R̃(t)| < fixed_tree_bound for a tree chosen before "
            "them; |R(t) − R̃(t)| < uniform_bound for all trees of at most most_leaves leaves at once, so that a "
            "search that ended with a proof has objective <= optimum + 2 · uniform_bound"
        ),
    }


def _replace_weights(
    method: Literal["duplicate", "sample"], problem: Problem, counts: Array, figures: Mapping[str, Any]
) -> Weighing:
    # As costs beside the true weights, so that rows and weight a leaf mean what they mean in the true problem: both
    # problems then have the very same trees, which every bound here needs.
    assert problem.y is not None
    costs = np.where(np.arange(len(problem.labels)) != problem.y[:, None], counts[:, None].astype(np.float64), 0.0)
    counted = replace(problem, y=None, costs=np.ascontiguousarray(costs), normaliser=float(counts.sum()))
    variation = total_variation(problem.weights, counts)
    return Weighing(method, counted, counts, deviation(problem, counts), variation, problem.floor(), figures)


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


# Balancing weights ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class BalancingWeights:
    """Weights that balance groups, with their diagnostics. numpy reads it as the array of weights.

    Examples
    --------
    >>> from certree import weights
    >>> balanced = weights.balance(["a", "a", "a", "b"])
    >>> balanced.ratio
    3.0
    >>> {group: float(share) for group, share in balanced.shares_after.items()}
    {'a': 0.5, 'b': 0.5}
    """

    weights: Array
    """float64, one per row."""
    groups: tuple[Value, ...]
    codes: Array
    """int, one per row: its group."""
    propensities: Array
    """float64, one per row: the (clipped) probability of the row's own group."""
    effective_sample_size: float
    """(Σw)² / Σw²: so many rows of equal weight would estimate a mean as well."""
    ratio: float
    """The largest weight divided by the smallest."""
    n_clipped: int
    shares_before: Mapping[Value, float]
    shares_after: Mapping[Value, float]
    """Of each group, by rows and by weight."""
    differences_before: Mapping[str, float]
    differences_after: Mapping[str, float]
    """Of each column of X: the largest standardised mean difference between two groups, by rows and by weight."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.weights, dtype=dtype, copy=True if copy else None)

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return (
            f"<BalancingWeights: {len(self):,} rows of {len(self.groups)} groups, effective sample size "
            f"{self.effective_sample_size:,.0f}>"
        )

    def summary(self) -> str:
        """Diagnostics in words: one line per group and per column of X."""
        lines = [
            (
                f"Weights of {len(self):,} rows; effective sample size {self.effective_sample_size:,.0f}, largest "
                f"weight {format_number(self.ratio, 3)} times the smallest, {self.n_clipped:,} propensities clipped."
            ),
            *(
                f"Group {group!r}: {100 * self.shares_before[group]:.1f}% of the rows, "
                f"{100 * self.shares_after[group]:.1f}% of the weight."
                for group in self.groups
            ),
            *(
                f"{name}: the largest standardised difference between groups is {before:.2f} before, "
                f"{self.differences_after[name]:.2f} after."
                for name, before in self.differences_before.items()
            ),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def histogram(self, bins: int = 30) -> tuple[Array, Array]:
        """Rows of each group in bins of the weights (groups × bins), and the edges."""
        edges = np.histogram_bin_edges(self.weights, bins)
        rows = [np.histogram(self.weights[self.codes == code], edges)[0] for code in range(len(self.groups))]
        return np.array(rows), edges

    def plot(self, ax: Axes | None = None, *, bins: int = 30) -> Axes:
        """The histogram of the weights, group on group. Needs matplotlib."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure().add_subplot()
        rows, edges = self.histogram(bins)
        bottom = np.zeros(len(edges) - 1)
        for name, heights in zip(self.groups, rows, strict=True):
            ax.bar(edges[:-1], heights, np.diff(edges), bottom=bottom, align="edge", label=str(name))
            bottom = bottom + heights
        ax.set_xlabel("weight")
        ax.set_ylabel("rows")
        ax.set_title(f"effective sample size {self.effective_sample_size:.0f} of {len(self)}")
        ax.legend(title="group")
        return ax


def balance(
    group: Any,
    X: Any = None,
    method: Literal["marginal", "propensity"] = "marginal",
    clip: float | None = None,
    *,
    stabilised: bool = False,
    bins: int = 10,
    folds: int = 5,
    random_state: Any = 0,
) -> BalancingWeights:
    """Weights that let every group count the same.

    Parameters
    ----------
    group : array of n values
        The group of each row. A numeric one of more than `bins` values is first cut into `bins` quantile bins.
    X : table, default=None
        What propensities are estimated from; standardised mean differences are those of its columns. Leave the group's
        own column out.
    method : {"marginal", "propensity"}, default="marginal"
        1 / P(S = s), or 1 / P(S = s | X), cross-fitted: a multinomial logistic regression on the other folds.
    clip : float or None, default=None
        Propensities below it are raised to it. A propensity of 0 without it is an error.
    stabilised : bool, default=False
        P(S = s) / P(S = s | X): smaller weights, but the groups keep their shares instead of being balanced.
    bins, folds, random_state : int, int, int or RandomState instance

    Returns
    -------
    BalancingWeights

    Raises
    ------
    ValueError
        If there is only one group, if a group has too few rows for the folds, or if a propensity is 0 without `clip`.

    Examples
    --------
    >>> from certree import weights
    >>> balanced = weights.balance(["a", "a", "a", "b"])
    >>> [round(float(weight), 3) for weight in balanced.weights]
    [1.333, 1.333, 1.333, 4.0]
    """
    if method not in ("marginal", "propensity"):
        raise ValueError(f'method must be "marginal" or "propensity", not {method!r}')
    if clip is not None and not 0 < clip < 1:
        raise ValueError(f"clip must be between 0 and 1, not {clip!r}")
    if folds < 2:
        raise ValueError(f"folds must be at least 2, not {folds!r}")
    codes, names = _read_groups(group, bins)
    n_rows, n_groups = len(codes), len(names)
    table = None if X is None else read_table(X)
    if table is not None:
        warn_about(read_text_columns(table))
    if table is not None and table.n_rows != n_rows:
        raise ValueError(f"group has {n_rows} entries, but X has {table.n_rows} rows")
    shares = np.bincount(codes, minlength=n_groups) / n_rows
    if method == "marginal":
        own = shares[codes]
    else:
        if table is None:
            raise ValueError('method="propensity" needs X: the columns that propensities are estimated from')
        own = _cross_fit(number_columns(table)[0], codes, names, folds, random_state)
    n_clipped = 0
    if clip is not None:
        n_clipped = int(np.count_nonzero(own < clip))
        own = np.maximum(own, clip)
    if not own.min() > 0:
        row = int(np.argmin(own))
        raise ValueError(
            f"{name_row(row, table, group)} has propensity 0 for its group {names[codes[row]]!r}; set clip to bound it"
        )
    with np.errstate(over="ignore"):
        weights = (shares[codes] if stabilised else 1.0) / own
    if not np.isfinite(weights).all():
        row = int(np.argmax(~np.isfinite(weights)))
        where = name_row(row, table, group)
        raise ValueError(f"{where} has a propensity of {own[row]!r}, too small to divide by; set clip to bound it")
    before, after = ({}, {}) if table is None else _differences(table, codes, n_groups, weights)
    masses = np.bincount(codes, weights, minlength=n_groups)
    return BalancingWeights(
        weights=weights,
        groups=names,
        codes=codes,
        propensities=own,
        effective_sample_size=float(weights.sum() ** 2 / np.sum(weights**2)),
        ratio=float(weights.max() / weights.min()),
        n_clipped=n_clipped,
        shares_before=dict(zip(names, shares.tolist(), strict=True)),
        shares_after=dict(zip(names, (masses / masses.sum()).tolist(), strict=True)),
        differences_before=before,
        differences_after=after,
    )


def _read_groups(group: Any, bins: int) -> tuple[Array, tuple[Value, ...]]:
    if bins < 2:
        raise ValueError(f"bins must be at least 2, not {bins!r}")
    given = np.asarray(group)
    if given.ndim != 1:
        raise ValueError(f"group must be one-dimensional, not of shape {given.shape}")
    values = read_table(given.reshape(-1, 1)).columns[0]
    if values.dtype == np.float64:
        codes, names = _read_numeric_groups(values, bins)
    else:
        missing = values == None if values.dtype == object else np.zeros(len(values), dtype=bool)  # noqa: E711
        seen = sorted(set(values[~missing].tolist()), key=lambda value: (type(value).__name__, value))
        places = {value: code for code, value in enumerate(seen)} | {None: len(seen)}
        codes = np.array([places[value] for value in values.tolist()])
        names = (*map(plain_value, seen), *(["missing"] if missing.any() else []))
    if len(names) < 2:
        raise ValueError(f"group has one value ({names[0]!r}): there is nothing to balance")
    return codes, names


def _read_numeric_groups(values: Array, bins: int) -> tuple[Array, tuple[Value, ...]]:
    is_missing = np.isnan(values)
    distinct = np.unique(values[~is_missing])
    names: list[Value]
    if len(distinct) <= bins:
        codes = np.searchsorted(distinct, values)
        names = [int(value) if value.is_integer() else value for value in distinct.tolist()]
    else:
        inner = np.quantile(values[~is_missing], np.arange(1, bins) / bins, method="inverted_cdf")
        edges = np.unique(inner[inner < distinct[-1]])
        if len(edges) == 0:  # nearly all rows hold the largest value
            edges = distinct[-2:-1]
        codes = np.searchsorted(edges, values)
        ends = list(map(format_number, edges))
        names = [f"<= {ends[0]}", *(f"({a}, {b}]" for a, b in pairwise(ends)), f"> {ends[-1]}"]
    if is_missing.any():
        codes = np.where(is_missing, len(names), codes)
        names.append("missing")
    return codes, tuple(names)


def number_columns(table: Table, like: Table | None = None) -> tuple[Array, tuple[str, ...]]:
    """A table as plain numbers: missing ones as the mean and a flag of their own, categories as flags.

    Means, flags and categories are those of `like`, by default the table itself: rows that come later are then numbered
    as the first ones were. A category that `like` does not hold has no flag.
    """
    like = table if like is None else like
    columns: list[Array] = []
    names: list[str] = []
    for name, values, first in zip(
        like.names or default_names(like.n_columns), table.columns, like.columns, strict=True
    ):
        if first.dtype == np.object_:
            # A column of nothing but missing values is read as numbers; NaN is the only one unlike itself.
            own = [None if value != value else value for value in values.tolist()]
            for value in sorted(set(first.tolist()), key=lambda value: (type(value).__name__, str(value))):
                columns.append(np.array([other == value for other in own], dtype=np.float64))
                names.append(f"{name} is missing" if value is None else f"{name} == {value!r}")
            continue
        try:
            values, first = values.astype(np.float64), first.astype(np.float64)
        except ValueError as error:
            raise ValueError(f"column {name!r} holds words where it held numbers before") from error
        is_missing, was_missing = np.isnan(values), np.isnan(first)
        if was_missing.any():
            columns.append(is_missing.astype(np.float64))
            names.append(f"{name} is missing")
        if is_missing.any():
            values = np.where(is_missing, first[~was_missing].mean() if not was_missing.all() else 0.0, values)
        columns.append(values)
        names.append(name)
    return np.stack(columns, axis=1), tuple(names)


def _cross_fit(design: Array, codes: Array, names: tuple[Value, ...], folds: int, random_state: Any) -> Array:
    """For each row the probability of its own group by a model that has not seen the row."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        name = names[int(np.argmin(np.bincount(codes)))]
        raise ValueError(f"group {name!r} has one row: without it no propensity can be estimated")
    own = np.empty(len(codes))
    splits = StratifiedKFold(max(2, min(folds, fewest)), shuffle=True, random_state=random_state)
    for seen, held in splits.split(design, codes):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(design[seen], codes[seen])
        own[held] = model.predict_proba(design[held])[np.arange(len(held)), codes[held]]
    return own


def _differences(
    table: Table, codes: Array, n_groups: int, weights: Array
) -> tuple[dict[str, float], dict[str, float]]:
    """The largest difference of two groups' means in units of the spread within groups, unweighted and weighted.

    Both use the unweighted spread, so that only the means differ.
    """
    design, names = number_columns(table)
    spread = np.sqrt(np.mean([design[codes == code].var(axis=0) for code in range(n_groups)], axis=0))
    answers = []
    for amounts in (np.ones(len(codes)), weights):
        means = np.array([np.average(design[codes == c], axis=0, weights=amounts[codes == c]) for c in range(n_groups)])
        range_ = means.max(axis=0) - means.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(range_ > 1e-12 * np.abs(means).max(axis=0), range_ / spread, 0.0)
        answers.append(dict(zip(names, ratio.tolist(), strict=True)))
    return answers[0], answers[1]
