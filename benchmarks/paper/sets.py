"""The paper's seven data sets with the weights of its appendix, and how rows are split.

Lalonde has the costs of mistakes as weights; all others have inverse propensities that balance one column. Weights
belong to rows: they are computed from the whole set, before it is split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import load, read_frame

Floats = NDArray[np.float64]
TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class DataSet:
    """A set of the study: numbers, labels 0..K-1, weights."""

    name: str
    X: Floats
    y: NDArray[np.int64]
    weights: Floats
    columns: tuple[str, ...]
    source: str


@cache
def load_set(name: str) -> DataSet:
    """A set of the paper, or any table of the other suites with weights that balance its first column."""
    if name in SETS:
        X, y, weights, columns, source = SETS[name]()
    else:
        table = load(name)
        X, y, weights, source = table.X, table.y, table.weights("balance"), table.source
        columns = [f"x{place}" for place in range(X.shape[1])]
    return DataSet(
        name, np.ascontiguousarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1].astype(np.int64),
        np.asarray(weights, dtype=np.float64), tuple(map(str, columns)), source,
    )  # fmt: skip


def split_rows(data: DataSet, split: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to learn from and those to be tested on: a fifth of each label, drawn by the number of the split."""
    random = np.random.default_rng([20230206, split])
    tested = np.zeros(len(data.y), dtype=bool)
    for label in range(int(data.y.max()) + 1):
        rows = random.permutation(np.flatnonzero(data.y == label))
        tested[rows[: round(TEST_SHARE * len(rows))]] = True
    return np.flatnonzero(~tested), np.flatnonzero(tested)


Parts = tuple[Any, Any, Any, Any, str]


def _balance(column: Any) -> Any:
    from certree.weights import balance

    return balance(np.asarray(column)).weights


def _plain(file: str, balanced: str, source: str) -> Parts:
    """A file of numbers whose label comes last."""
    frame = read_frame(file)
    X = frame.iloc[:, :-1]
    words = f"{source}; weights balance {balanced}"
    return X.to_numpy(float), frame.iloc[:, -1], _balance(frame[balanced]), X.columns, words


def _categories(file: str, balanced: str, source: str) -> Parts:
    """A file of categories whose label comes last: a column per category, without one of each."""
    import pandas as pd

    frame = read_frame(file, keep_default_na=False)
    X = pd.get_dummies(frame.iloc[:, :-1].astype(str), drop_first=True)
    words = f"{source}; a column per category; weights balance {balanced}"
    return X.to_numpy(float), frame.iloc[:, -1], _balance(frame[balanced]), X.columns, words


def _lalonde() -> Parts:
    frame, costs = read_frame("lalonde_malts.csv"), read_frame("lalonde_malts_aux.csv")
    X = frame.iloc[:, :-1]
    words = "722 men of the NSW experiment, three labels of effects by MALTS; weights are costs from 1 to 100"
    return X.to_numpy(float), frame["label"], costs["weight"], X.columns, words


def _lalonde_rise() -> Parts:
    from certree.datasets import load_lalonde

    data: Any = load_lalonde()
    change = data.target - data.data[:, data.feature_names.index("re75")]
    words = "the embedded NSW experiment; label: earned more in 1978 than in 1975; weights: by how much more or less"
    return data.data, change > 0, 1 + np.abs(change) / 1000, data.feature_names, words


SETS: dict[str, Callable[[], Parts]] = {
    "lalonde": _lalonde,
    "lalonde-rise": _lalonde_rise,
    "broward": lambda: _plain("broward.csv", "sex", "re-arrest within two years, Broward County"),
    "coupon": lambda: _categories("coupon.csv", "destination", "whether a driver takes a coupon"),
    "diabetes": lambda: _categories("diabetes.csv", "gender", "readmission, a seeded sample of 5,000 of 101,766 rows"),
    "compas": lambda: _plain("compas_gosdt.csv", "sex", "re-arrest within two years, COMPAS with 134 thresholds"),
    "fico": lambda: _plain("fico.csv", "ExternalRiskEstimate", "credit risk, FICO's challenge"),
    "netherlands": lambda: _plain(
        "netherlands_11000.csv", "sex=female", "re-conviction, the 11,000 of 20,000 rows that are public"
    ),
    "netherlands-20000": lambda: _plain(
        "netherlands_binary20000.csv", "col_1<=0.5", "re-conviction, all 20,000 rows as 22 guessed tests"
    ),
}
