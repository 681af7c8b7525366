"""Random small weighted problems of every sort, for the tests that compare the engine with enumeration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from certree import Problem

COLUMN_KINDS = ("binary", "few", "many", "boolean", "categorical", "numeric missing", "categorical missing")
WEIGHT_KINDS = ("unit", "integer", "log-normal", "tiny", "huge", "heavy-tailed", "wild", "zeros")
REGULARIZATIONS = (0.0, 1e-6, 0.01, 1 / 30, 0.05, 0.1, 0.25, 3.0)
CONSTRAINTS = ("max_leaves", "min_samples_leaf", "min_weight_leaf", "min_samples_arm")

# Rows, columns and distinct values that enumeration can afford at each depth.
SIZES: dict[int | None, tuple[int, int, int]] = {
    0: (40, 6, 40),
    1: (40, 6, 40),
    2: (40, 6, 40),
    3: (40, 5, 16),
    4: (26, 5, 8),
    None: (14, 3, 12),
}


@dataclass(frozen=True)
class Table:
    """A table with labels or costs, weights and arms."""

    X: pd.DataFrame
    y: Any
    weights: Any
    costs: Any = None
    arms: Any = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def problem(self) -> Problem:
        settings = dict(self.settings)
        if "min_samples_arm" in settings:
            settings["arms"] = self.arms
        if self.costs is not None:
            return Problem.from_costs(self.X, self.costs, self.weights, **settings)
        return Problem.from_labels(self.X, self.y, self.weights, **settings)


def make_column(rng: np.random.Generator, kind: str, n_rows: int, n_values: int) -> Any:
    if kind == "binary":
        return rng.integers(0, 2, n_rows).astype(float)
    if kind == "few":
        return rng.integers(0, min(n_values, 5), n_rows)
    if kind == "many":
        return rng.choice(rng.normal(size=n_values), n_rows)
    if kind == "boolean":
        return rng.random(n_rows) < 0.4
    if kind == "numeric missing":
        values = rng.integers(0, n_values, n_rows).astype(float)
        values[rng.random(n_rows) < 0.3] = np.nan
        return values
    colours = np.array(["red", "green", "blue", "white", None], dtype=object)
    n_colours = min(n_values, 4)
    codes = rng.integers(0, n_colours, n_rows)
    if kind == "categorical missing":
        codes = np.where(rng.random(n_rows) < 0.25, 4, codes)
    return colours[codes]


def make_weights(rng: np.random.Generator, kind: str, n_rows: int) -> Any:
    weights = {
        "unit": lambda: None,
        "integer": lambda: rng.integers(1, 6, n_rows),
        "log-normal": lambda: rng.lognormal(size=n_rows),
        "tiny": lambda: rng.lognormal(size=n_rows) * 1e-12,
        "huge": lambda: rng.lognormal(size=n_rows) * 1e12,
        "heavy-tailed": lambda: (1 + rng.pareto(0.5, n_rows)).clip(max=1e9),
        "wild": lambda: 10.0 ** rng.uniform(-12, 12, n_rows),
        "zeros": lambda: rng.lognormal(size=n_rows) * (rng.random(n_rows) < 0.6),
    }[kind]()
    if weights is not None and not np.any(weights > 0):
        weights[0] = 1.0
    return weights


def make_labels(rng: np.random.Generator, X: pd.DataFrame, n_labels: int, noise: float) -> Any:
    """Labels that follow the columns as far as noise lets them, so that deep trees are worth their leaves."""
    score = sum((pd.factorize(X[name])[0] % 3) * rng.integers(1, 3) for name in X.columns[:3])
    labels = np.asarray(score) % n_labels
    return np.where(rng.random(len(X)) < noise, rng.integers(0, n_labels, len(X)), labels)


@st.composite
def tables(
    draw: Any,
    depths: tuple[int | None, ...] = (0, 1, 2, 3, 4, None),
    constraints: tuple[str, ...] = (),
    has_costs: bool | None = None,
    shrink: float = 1.0,
) -> Table:
    """A random table with settings. Its size is what enumeration can afford at the drawn depth, times `shrink`."""
    depth = draw(st.sampled_from(depths))
    most_rows, most_columns, most_values = SIZES[depth]
    most_rows = max(2, int(most_rows * shrink))
    # Sizes come from the seed: hypothesis would prefer small ones, and small tables prune nothing.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = int(rng.integers(2 if rng.random() < 0.2 else most_rows // 2 + 1, most_rows + 1))
    kinds = rng.choice(COLUMN_KINDS, rng.integers(1, most_columns + 1)).tolist()
    n_labels = draw(st.integers(2, 4))
    weight_kind = draw(st.sampled_from(WEIGHT_KINDS))
    noise = draw(st.sampled_from((0.05, 0.3, 1.0)))
    regularization = draw(st.sampled_from(REGULARIZATIONS[1:] if depth is None else REGULARIZATIONS))
    X = pd.DataFrame({f"c{i}": make_column(rng, kind, n_rows, most_values) for i, kind in enumerate(kinds)})
    weights = make_weights(rng, weight_kind, n_rows)
    y = make_labels(rng, X, n_labels, noise)
    costs = None
    if draw(st.booleans()) if has_costs is None else has_costs:
        # Few distinct amounts make ties; zeros make rows that agree with several labels.
        amounts = (
            rng.choice([0.0, 0.5, 1.0, 3.0], (n_rows, n_labels))
            if noise < 1
            else rng.exponential(size=(n_rows, n_labels))
        )
        costs = amounts * (np.arange(n_labels) != y[:, None])

    settings: dict[str, Any] = {"regularization": regularization, "max_depth": depth}
    if "max_leaves" in constraints:
        settings["max_leaves"] = draw(st.integers(1, 6))
    if "min_samples_leaf" in constraints:
        settings["min_samples_leaf"] = draw(st.integers(2, max(2, n_rows // 2)))
    if "min_weight_leaf" in constraints:
        # The odd factor keeps the limit away from sums of weights, where rounding would decide.
        total = n_rows if weights is None else float(np.sum(weights))
        settings["min_weight_leaf"] = total * draw(st.sampled_from((0.0513, 0.1377, 0.2719, 0.4441)))
    arms = None
    if "min_samples_arm" in constraints:
        settings["min_samples_arm"] = draw(st.integers(1, 3))
        arms = rng.integers(0, draw(st.integers(2, 3)), n_rows)
    return Table(X, y, weights, costs, arms, settings)
