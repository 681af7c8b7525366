"""A tiny problem as plain data: what a family draws, what is checked, and what is shrunk."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

Cell = float | str | bool | None


@dataclass(frozen=True)
class Case:
    """Columns of cells, what belongs to each row, and settings. Nothing in it is drawn after it was made."""

    columns: Mapping[str, Sequence[Cell]]
    """A cell is a number, a text, a boolean, or None where it is missing. A column holds one kind."""
    rows: Mapping[str, Sequence[Any]]
    """Labels, weights, rewards and so on, one entry per row each."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the estimator."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    """What the family itself wants to know."""

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def cells(self) -> list[tuple[Cell, ...]]:
        """The table row by row."""
        return list(zip(*self.columns.values(), strict=True))

    @property
    def X(self) -> Any:
        """The table as the family wants to hand it over."""
        return make_table(self.columns, self.extras.get("table", "array"))

    def array(self, name: str) -> Any:
        """A row-wise entry as an array; None where the case has none."""
        return None if self.rows.get(name) is None else np.array(self.rows[name])

    @property
    def weights(self) -> list[float]:
        """One number per row, ones by default."""
        given = self.rows.get("weights")
        return [1.0] * self.n_rows if given is None else list(given)

    # Smaller cases of the same sort ---------------------------------------------------------------------------------

    def take(self, kept: Sequence[int]) -> Case:
        """Some of the rows."""
        return replace(
            self,
            columns={name: [cells[row] for row in kept] for name, cells in self.columns.items()},
            rows={
                name: None if entries is None else [entries[row] for row in kept] for name, entries in self.rows.items()
            },
        )

    def without(self, column: str) -> Case:
        return replace(self, columns={name: cells for name, cells in self.columns.items() if name != column})

    def __str__(self) -> str:
        lines = ["columns:", *(f"    {name}: {list(cells)!r}" for name, cells in self.columns.items())]
        lines += ["rows:", *(f"    {name}: {entries!r}" for name, entries in self.rows.items() if entries is not None)]
        return "\n".join([*lines, f"settings: {dict(self.settings)!r}", f"extras: {dict(self.extras)!r}"])


def make_table(columns: Mapping[str, Sequence[Cell]], kind: str) -> Any:
    """The columns as an array, a pandas or a polars frame."""
    if kind == "pandas":
        return pd.DataFrame({name: _pandas_column(cells) for name, cells in columns.items()})
    if kind == "polars":
        return pl.DataFrame({name: list(cells) for name, cells in columns.items()}, strict=False)
    if any(isinstance(cell, (str, bool)) for cells in columns.values() for cell in cells):
        return np.array([list(row) for row in zip(*columns.values(), strict=True)], dtype=object)
    return np.array([[np.nan if cell is None else cell for cell in cells] for cells in columns.values()], dtype=float).T


def _pandas_column(cells: Sequence[Cell]) -> Any:
    if any(isinstance(cell, str) for cell in cells):
        return pd.Series(list(cells), dtype=object)
    if any(isinstance(cell, bool) for cell in cells):
        return pd.Series(list(cells), dtype=bool if None not in cells else object)
    return np.array([math.nan if cell is None else cell for cell in cells], dtype=float)


# Drawing --------------------------------------------------------------------------------------------------------------

PENALTIES = (0.0, 0.0, 1e-9, 1 / 64, 0.01, 0.01, 0.05, 0.05, 0.1, 0.25, 3.0)


def pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    """One of some options, as it is: numpy's own choice would turn it into an array's entry."""
    return options[int(rng.integers(len(options)))]


def draw_columns(
    rng: np.random.Generator, n_rows: int, n_columns: int, kinds: Sequence[str] = ("numeric", "missing")
) -> dict[str, list[Cell]]:
    """Columns of few distinct values, so that rows and tests coincide often."""
    return {f"x{index}": draw_column(rng, n_rows, pick(rng, kinds)) for index in range(n_columns)}


def draw_column(rng: np.random.Generator, n_rows: int, kind: str) -> list[Cell]:
    n_values = int(rng.integers(2, 6))
    codes = rng.integers(0, n_values, n_rows).tolist()
    cells: list[Cell]
    if kind.startswith("text"):
        cells = [("red", "green", "blue", "white", "7")[code] for code in codes]
    elif kind.startswith("boolean"):
        cells = [code == 0 for code in codes]
    else:
        scale = pick(rng, (1.0, 0.5, -3.0, 1e6))
        cells = [code * scale for code in codes]
    if kind.endswith("missing"):
        is_missing = rng.random(n_rows) < 0.3
        if is_missing.all():
            is_missing[0] = False
        cells = [None if gone else cell for gone, cell in zip(is_missing.tolist(), cells, strict=True)]
    return cells


def draw_weights(rng: np.random.Generator, n_rows: int, kind: str) -> list[float] | None:
    """Weights of which at least one is positive; None is no weights."""
    if kind == "none":
        return None
    weights = {
        "whole": lambda: rng.integers(1, 5, n_rows).astype(float),
        "real": lambda: rng.lognormal(size=n_rows),
        "zeros": lambda: rng.integers(0, 3, n_rows).astype(float),
        "tiny": lambda: rng.lognormal(size=n_rows) * 1e-12,
        "huge": lambda: rng.lognormal(size=n_rows) * 1e12,
        "wild": lambda: 10.0 ** rng.uniform(-12, 12, n_rows),
        "one heavy": lambda: np.where(np.arange(n_rows) == 0, 1e13, 1.0),
    }[kind]()
    if not weights.any():
        weights[int(rng.integers(n_rows))] = 1.0
    return [float(weight) for weight in weights]


WEIGHTS = ("none", "none", "whole", "real", "zeros", "tiny", "huge", "wild", "one heavy")


def draw_labels(rng: np.random.Generator, columns: Mapping[str, Sequence[Cell]], n_labels: int) -> list[int]:
    """Labels that follow the columns but for noise, so that splits are worth their leaves."""
    rows = list(zip(*columns.values(), strict=True))
    factors = rng.integers(0, 3, len(columns))
    noise = rng.random(len(rows)) < pick(rng, (0.0, 0.15, 0.5, 1.0))
    scores = [sum(int(factor) * hash_cell(cell) for factor, cell in zip(factors, row, strict=True)) for row in rows]
    return [
        int(rng.integers(n_labels)) if noisy else score % n_labels
        for noisy, score in zip(noise.tolist(), scores, strict=True)
    ]


def hash_cell(cell: Cell) -> int:
    """A small number that is the same in every process."""
    return sum(map(ord, repr(cell)))


def draw_rewards(rng: np.random.Generator, n_rows: int, n_actions: int, kind: str) -> list[list[float]]:
    rewards = {
        "whole": lambda: rng.integers(-3, 4, (n_rows, n_actions)).astype(float),
        "real": lambda: rng.normal(size=(n_rows, n_actions)),
        "tiny": lambda: rng.normal(size=(n_rows, n_actions)) * 1e-9,
        "huge": lambda: rng.normal(size=(n_rows, n_actions)) * 1e9,
        "shifted": lambda: rng.normal(size=(n_rows, n_actions)) + 1e6,
        "wild": lambda: rng.normal(size=(n_rows, n_actions)) * 10.0 ** rng.uniform(-6, 6, (n_rows, 1)),
    }[kind]()
    return [[float(reward) for reward in row] for row in rewards]


REWARDS = ("whole", "whole", "real", "tiny", "huge", "shifted", "wild")


def draw_shape(rng: np.random.Generator) -> tuple[int, int, int]:
    """Rows, columns and depth that enumeration answers in milliseconds; seldom so few that there is nothing to find."""
    depth = int(pick(rng, (1, 2, 2, 2, 2, 2, 3, 3))) if rng.random() < 0.96 else 0
    fewest = 4 if rng.random() < 0.95 else 1
    n_rows = int(rng.integers(fewest, 13 if depth < 3 else 10))
    return n_rows, int(rng.integers(1, 4 if depth < 3 else 3)), depth


def draw_limits(rng: np.random.Generator, case_weights: Sequence[float], depth: int) -> dict[str, Any]:
    """Settings of the tree, each constraint alone and with others."""
    n_rows = len(case_weights)
    settings: dict[str, Any] = {
        "max_depth": depth,
        "regularization": float(pick(rng, (*PENALTIES, 1 / max(1, n_rows)))),
    }
    if rng.random() < 0.25:
        settings["max_leaves"] = int(rng.integers(2, 6))
    if rng.random() < 0.25:
        settings["min_samples_leaf"] = int(rng.integers(1, 4))
    if rng.random() < 0.25:
        some = rng.random(n_rows) < 0.4
        exact = math.fsum(weight for weight, inside in zip(case_weights, some.tolist(), strict=True) if inside)
        settings["min_weight_leaf"] = exact * pick(rng, (1.0, 1.0, 0.5, 1.1))
    if rng.random() < 0.1:
        settings["n_jobs"] = 2
    return settings
