"""What the cells of one split share: the rows, guessed thresholds, copies of rows, a reference model's labels.

It is made once, before the processes of the cells are forked, and its seconds are told apart from theirs.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.plan import WHOLE
from benchmarks.paper.sets import DataSet, Floats, load_set, split_rows
from benchmarks.tables import Table, count_picks


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, with their weights, and rows to be tested on."""

    data: DataSet
    rows: NDArray[np.int64]
    tested: NDArray[np.int64]
    weights: Floats
    guessed_by: Split | None = None
    """Whose guess of thresholds it takes, where not its own."""

    @cached_property
    def table(self) -> Table:
        return Table(self.data.name, self.data.X[self.rows], self.data.y[self.rows], self.data.source)

    @cached_property
    def guess(self) -> tuple[Any, float]:
        """The guessed thresholds, and the processor seconds that they took."""
        from certree import guess_thresholds

        if self.guessed_by is not None:
            return self.guessed_by.guess
        start = time.process_time()
        found = guess_thresholds(self.table.X, self.table.y, self.weights)
        return found, time.process_time() - start

    @cached_property
    def tests(self) -> Table:
        """The guessed tests as two-valued columns."""
        return Table(f"{self.data.name} guessed", self.ask(self.table.X), self.table.y, self.data.source)

    def ask(self, X: Floats) -> Floats:
        """The guessed tests of other rows."""
        return np.asarray(self.guess[0].transform(X), dtype=np.float64)

    @cached_property
    def reference(self) -> tuple[NDArray[np.int64], float]:
        """A boosted model's labels, and the processor seconds that they took."""
        from sklearn.ensemble import GradientBoostingClassifier

        start = time.process_time()
        model = GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=0)
        labels = model.fit(self.table.X, self.table.y, sample_weight=self.weights).predict(self.table.X)
        return labels, time.process_time() - start

    def copied(self, table: Table, copies: int) -> Table:
        """Every row as often as its weight says, the heaviest `copies` times."""
        from certree.weights import WeightLossWarning, duplicate

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightLossWarning)
            counts = duplicate(self.weights, copies)
        name = f"{table.name} copied"
        return Table(name, np.repeat(table.X, counts, axis=0), np.repeat(table.y, counts), table.source)


@lru_cache(maxsize=16)
def take_split(name: str, split: int) -> Split:
    data = load_set(name)
    everything = np.arange(len(data.y))
    rows, tested = (everything, everything[:0]) if split == WHOLE else split_rows(data, split)
    return Split(data, rows, tested, data.weights[rows])


@lru_cache(maxsize=1)
def double_rows(name: str, percent: float, draw: int) -> Split:
    """All rows with weight 1, and one more for each time that a row is among the doubled ones.

    Thresholds are guessed from the rows as they are, once: they are no part of what is compared.
    """
    data = load_set(name)
    everything = np.arange(len(data.y))
    picks = count_picks(len(data.y), int(percent), draw)
    return Split(data, everything, everything[:0], (1 + picks).astype(np.float64), _undoubled(name))


@lru_cache(maxsize=1)
def _undoubled(name: str) -> Split:
    data = load_set(name)
    everything = np.arange(len(data.y))
    return Split(data, everything, everything[:0], np.ones(len(data.y)))
