"""Generated tables with a planted tree: data whose best tree is known up to the noise put in."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

WeightKind = Literal["unit", "integer", "lognormal", "heavy"]
Logging = Literal["randomised", "confounded"]


def make_weighted(
    n_rows: int = 1000,
    n_columns: int = 6,
    *,
    n_labels: int = 2,
    weights: WeightKind = "lognormal",
    depth: int = 3,
    noise: float = 0.1,
    n_values: int | None = None,
    random_state: int = 0,
) -> Bunch:
    """A weighted classification table labelled by a planted tree, with noise.

    Parameters
    ----------
    n_rows, n_columns, n_labels : int
        Size of the table and number of labels.
    weights : {"unit", "integer", "lognormal", "heavy"}
        All one; whole numbers 1 to 10; log-normal with σ = 1; Pareto with an index of 1.1, whose variance is infinite.
    depth : int
        Depth of the planted tree. Its thresholds split the rows that reach them between 3 : 7 and 7 : 3.
    noise : float
        Probability that a row's label is replaced by one of the others.
    n_values : int, optional
        Number of distinct values per column; None for continuous columns.
    random_state : int
        Seed; the same seed gives the same table.

    Returns
    -------
    Bunch
        `data`, `target`, `sample_weight`, `feature_names` and `planted`, the labels of the planted tree before noise.

    Raises
    ------
    ValueError
        If a size or a probability is out of range.

    Examples
    --------
    >>> from certree.datasets import make_weighted
    >>> table = make_weighted(100, 3, random_state=0)
    >>> table.data.shape, table.sample_weight.shape
    ((100, 3), (100,))
    """
    _check_least(n_rows=(n_rows, 1), n_columns=(n_columns, 1), n_labels=(n_labels, 2), depth=(depth, 0))
    if not 0 <= noise <= 1:
        raise ValueError(f"noise must lie between 0 and 1, got {noise}")
    random = np.random.default_rng(random_state)
    data = _draw_columns(n_rows, n_columns, n_values, random)
    planted = np.empty(n_rows, dtype=np.int64)
    _plant(planted, data, np.arange(n_rows), depth, int(random.integers(n_labels)), n_labels, random)
    is_noisy = random.random(n_rows) < noise
    # A step of 1 to n_labels - 1 around the circle of labels reaches every other label alike.
    steps = random.integers(1, n_labels, size=n_rows)
    return Bunch(
        data=data,
        target=np.where(is_noisy, (planted + steps) % n_labels, planted),
        sample_weight=_draw_weights(weights, n_rows, random),
        feature_names=[f"x{index}" for index in range(n_columns)],
        planted=planted,
    )


def make_policy(
    n_rows: int = 1000,
    n_columns: int = 5,
    *,
    n_actions: int = 2,
    depth: int = 2,
    effect: float = 1.0,
    noise: float = 1.0,
    logging: Logging = "randomised",
    n_values: int | None = None,
    random_state: int = 0,
) -> Bunch:
    """A log of decisions whose best policy is a planted tree, with the truth beside it.

    Parameters
    ----------
    n_rows, n_columns, n_actions : int
        Size of the table and number of actions.
    depth : int
        Depth of the planted tree. Its thresholds split the rows that reach them between 3 : 7 and 7 : 3.
    effect : float
        By how much the planted action of a row beats every other one; at 0 all actions are equal.
    noise : float
        Standard deviation of the outcome around its expectation.
    logging : {"randomised", "confounded"}
        Actions drawn with equal chances; or with chances that follow what the row could expect anyway, so that later
        actions go to those who would fare better in any case, and plain means of the outcome mislead.
    n_values : int, optional
        Number of distinct values per column; None for continuous columns.
    random_state : int
        Seed; the same seed gives the same table.

    Returns
    -------
    Bunch
        `data`, `treatment` (0 to n_actions − 1), `outcome` and `feature_names`; and the truth: `expected` (n × K
        outcomes without noise), `propensity` (n × K) and `planted`, the best action of each row.

    Raises
    ------
    ValueError
        If a size is out of range.

    Examples
    --------
    >>> from certree.datasets import make_policy
    >>> log = make_policy(100, 3, n_actions=3, random_state=0)
    >>> log.data.shape, log.expected.shape
    ((100, 3), (100, 3))
    """
    _check_least(n_rows=(n_rows, 1), n_columns=(n_columns, 1), n_actions=(n_actions, 2), depth=(depth, 0))
    _check_least(effect=(effect, 0), noise=(noise, 0))
    if logging not in ("randomised", "confounded"):
        raise ValueError(f"logging must be 'randomised' or 'confounded', got {logging!r}")
    random = np.random.default_rng(random_state)
    data = _draw_columns(n_rows, n_columns, n_values, random)
    planted = np.empty(n_rows, dtype=np.int64)
    _plant(planted, data, np.arange(n_rows), depth, int(random.integers(n_actions)), n_actions, random)
    centred = data - data.mean(axis=0)
    slopes = random.normal(size=n_columns)
    prospect = (centred / np.maximum(centred.std(axis=0), 1e-12)) @ (slopes / np.linalg.norm(slopes))
    actions = np.arange(n_actions)
    expected = prospect[:, None] + effect * (actions == planted[:, None])
    logits = np.zeros((n_rows, n_actions))
    if logging == "confounded":
        # Bounded, so that every action keeps a chance that an estimate can be built on.
        logits = np.clip(prospect, -1.5, 1.5)[:, None] * np.linspace(-0.7, 0.7, n_actions)
    propensity = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    treatment = (random.random((n_rows, 1)) > propensity.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Bunch(
        data=data,
        treatment=treatment,
        outcome=expected[np.arange(n_rows), treatment] + noise * random.normal(size=n_rows),
        feature_names=[f"x{index}" for index in range(n_columns)],
        expected=expected,
        propensity=propensity,
        planted=planted,
    )


def _check_least(**figures: tuple[float, float]) -> None:
    for name, (value, least) in figures.items():
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def _draw_columns(
    n_rows: int, n_columns: int, n_values: int | None, random: np.random.Generator
) -> NDArray[np.float64]:
    if n_values is None:
        return random.normal(size=(n_rows, n_columns))
    if n_values < 1:
        raise ValueError(f"n_values must be at least 1 or None, got {n_values}")
    return random.integers(n_values, size=(n_rows, n_columns)).astype(np.float64)


def _plant(
    planted: NDArray[np.int64],
    data: NDArray[np.float64],
    rows: NDArray[np.int64],
    depth: int,
    label: int,
    n_labels: int,
    random: np.random.Generator,
) -> None:
    """Label the rows by a random tree; the leaves of one parent differ, so that every lowest test matters."""
    planted[rows] = label
    if depth == 0 or len(rows) == 0:
        return
    column = data[rows, random.integers(data.shape[1])]
    holds = column <= np.quantile(column, random.uniform(0.3, 0.7), method="lower")
    other = int((label + random.integers(1, n_labels)) % n_labels)
    _plant(planted, data, rows[holds], depth - 1, label, n_labels, random)
    _plant(planted, data, rows[~holds], depth - 1, other, n_labels, random)


def _draw_weights(kind: str, n_rows: int, random: np.random.Generator) -> NDArray[Any]:
    if kind == "unit":
        return np.ones(n_rows)
    if kind == "integer":
        return random.integers(1, 11, size=n_rows).astype(np.float64)
    if kind == "lognormal":
        return random.lognormal(size=n_rows)
    if kind == "heavy":
        return 1.0 + random.pareto(1.1, size=n_rows)
    raise ValueError(f"weights must be 'unit', 'integer', 'lognormal' or 'heavy', got {kind!r}")
