"""Weights that balance groups, and what they do to the columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.reading import read_text_columns, warn_about
from certree.table import Table, default_names, name_row, read_table
from certree.tree import Value, format_number, plain_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Array = NDArray[Any]


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
    """(Σw)² / Σw²: so many rows of equal weight would estimate a mean as precisely."""
    ratio: float
    """The largest weight divided by the smallest."""
    n_clipped: int
    shares_before: Mapping[Value, float]
    shares_after: Mapping[Value, float]
    """Of each group, by rows and by weight."""
    differences_before: Mapping[str, float]
    differences_after: Mapping[str, float]
    """For each column of X, the largest standardised mean difference between two groups, by rows and by weight."""

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
        """The histogram of the weights, with the groups stacked. Needs matplotlib."""
        beside: dict[str, Any] = {}
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure(layout="constrained").add_subplot()
            beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0)}  # names may be long, and must hide no bar
        rows, edges = self.histogram(bins)
        bottom = np.zeros(len(edges) - 1)
        for name, heights in zip(self.groups, rows, strict=True):
            ax.bar(edges[:-1], heights, np.diff(edges), bottom=bottom, align="edge", label=str(name))
            bottom = bottom + heights
        ax.set_xlabel("weight")
        ax.set_ylabel("rows")
        ax.set_title(f"effective sample size {self.effective_sample_size:,.0f} of {len(self):,}")
        ax.legend(title="group", fontsize="small", frameon=False, **beside)
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
        The group of each row. A numeric group of more than `bins` values is first divided into `bins` quantile bins.
    X : table, default=None
        The columns that propensities are estimated from, and whose standardised mean differences are reported. Leave
        out the column of the group itself.
    method : {"marginal", "propensity"}, default="marginal"
        "marginal" gives 1 / P(S = s). "propensity" gives 1 / P(S = s | X), where the probability comes from a
        multinomial logistic regression that was fitted on the other folds.
    clip : float or None, default=None
        Propensities below this number are raised to it. Without it, a propensity of 0 is an error.
    stabilised : bool, default=False
        Use P(S = s) / P(S = s | X). The weights are smaller, but groups keep their shares instead of being balanced.
    bins, folds, random_state : int, int, int or RandomState instance
        Quantile bins of a numeric group, folds of the estimated propensities, and the seed of the folds.

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
            raise ValueError(f"column {name!r} holds text, but held numbers before") from error
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
        raise ValueError(f"group {name!r} has only one row, so its propensity cannot be estimated from other rows")
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
