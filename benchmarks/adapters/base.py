"""What all adapters share: the outcome of a fit, the objective by which every tree is judged, and the clock.

One file per library, whose functions all have one signature: fit(table, depth, λ, weights, time_limit) -> Outcome.

The seconds are those of the library's whole `fit` call on arrays that lie ready: nobody is charged for reading files or
for the two-valued copy of the table that some libraries need. The objective is never a library's own word: it is
recomputed from the tree's predictions and its number of leaves, by the one definition R = Σ w·[wrong] / Σ w + λ·leaves.

Policies are fitted on a table's rewards; their R has the mean of what a row loses against its best action in the place
of the share of wrong rows, which is the same where only the right label earns anything.

A depth of UNLIMITED is no limit at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata, util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table

Weights = NDArray[np.float64] | None
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
UNLIMITED = -1
"""The depth of a request that has no depth limit."""
MOST_BINARISED_BYTES = 1 << 30
"""Beyond this no two-valued copy is made. STreeD's memory was seen to grow with the square of the columns: 0.24 GB for
870 columns with 20 actions, 1.0 GB for 1,740."""
Predict = Callable[[NDArray[np.float64]], Any]
"""Rows with a table's columns, to labels."""

_clock = CLOCKS["wall"]


def use_clock(chosen: Callable[[], float]) -> None:
    """What seconds are from now on: passed, or spent by this process."""
    global _clock
    _clock = chosen


def clock() -> float:
    return _clock()


@dataclass(frozen=True)
class Outcome:
    """What one fit did."""

    seconds: float
    objective: float
    status: str
    """ "optimal" where the library says or implies that it finished its proof, else what stopped it."""
    leaves: int
    notes: dict[str, float]
    """Figures that only some libraries have, such as a lower bound."""
    predict: Predict | None = field(default=None, compare=False)
    """The tree itself, as a function of rows; for libraries that have one."""
    tree: Any = field(default=None, compare=False)
    """The tree as nested lists, from libraries that say it."""


class UnsupportedError(Exception):
    """A library cannot do what the cell asks."""


Fit = Callable[..., Outcome]


def objective(table: Table, predicted: Any, leaves: int, penalty: float, weights: Weights) -> float:
    """R of a tree that predicts so and has so many leaves."""
    weight = np.ones(len(table.y)) if weights is None else weights
    return float(weight[np.asarray(predicted) != table.y].sum() / weight.sum() + penalty * leaves)


@lru_cache(maxsize=1)
def binarised(table: Table) -> NDArray[np.uint8]:
    return table.binarised()


def judged(
    table: Table, predict: Predict, seconds: float, status: str, leaves: int, penalty: float, weights: Weights,
    notes: dict[str, float] | None = None,
) -> Outcome:  # fmt: skip
    """The outcome of a tree that was found in so many seconds."""
    found = objective(table, predict(table.X), leaves, penalty, weights)
    return Outcome(seconds, found, status, leaves, notes or {}, predict)


@dataclass(frozen=True)
class Contender:
    """A library and the function that fits it."""

    title: str
    package: str
    fit: Fit
    is_exact: bool
    knows_weights: bool = False
    """Whether it takes real weights; others are given copies of rows."""
    wants_tests: bool = False
    """Whether it takes two-valued columns alone."""
    needs: str = ""
    """An environment variable without which it has nothing to run."""

    @property
    def module(self) -> str:
        return MODULES.get(self.package, self.package)

    @property
    def is_installed(self) -> bool:
        return util.find_spec(self.module) is not None and (not self.needs or self.needs in os.environ)

    @property
    def version(self) -> str:
        return metadata.version(self.package)


MODULES = {"scikit-learn": "sklearn", "tree-praxis": "praxis", "pytrees-rs": "pytrees", "pydl8.5": "pydl85"}
"""What is imported, where that is not the package's name."""
