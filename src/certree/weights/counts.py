"""Weights as counts: rows duplicated in proportion to them, or drawn."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from certree.problem import check_weights
from certree.table import name_row

Array = NDArray[Any]
Normaliser = Literal["max", "sum"]
MOST_COPIES = 2.0**53
"""Beyond it, sums of counts are no longer exact as floats."""


class WeightLossWarning(UserWarning):
    """Rows of positive weight got a count of zero, so that they are ignored.

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
    weights = read_weight(weight)
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
        Not negative, and not all 0.
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
        If rows of positive weight are rounded to 0 copies.

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
        The seed. An int draws the same rows every time.

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
    weights = read_weight(weight)
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
    """Table and labels with each row repeated as often as its count says, for solvers that do not accept weights.

    `X` and `y` keep their type: array, pandas or polars data frame, or series.

    Parameters
    ----------
    X : array or frame, rows × columns
        The rows to repeat.
    y : array or series of n labels
        Their labels, which are repeated with them.
    counts : array of n whole numbers
        How often each row occurs in the result, such as from `duplicate` or `sample`.

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
        raise ValueError(f"X has {n_rows} rows, y has {len(y)}, and counts has shape {given.shape}")
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


def read_weight(weight: Any) -> Array:
    if weight is None or np.ndim(weight) == 0:
        raise ValueError("weight must be an array with one entry per row")
    return check_weights(weight, len(weight))
