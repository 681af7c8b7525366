"""Named tables of a data directory: published tables that are too large, or not ours, to ship.

A table is read only from files that the user has put there. Its rows, columns and label are checked, because a
benchmark on the wrong variant of a well-known table is worse than none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sklearn.utils import Bunch

from certree.datasets.files import read_csv, to_array, to_frame, to_labels
from certree.table import Table

DATA_SETTING = "CERTREE_DATA"


@dataclass(frozen=True)
class Source:
    """What a named table must look like, and the part each column plays."""

    rows: int
    features: int
    target: str
    note: str
    treatment: str | None = None
    left_out: tuple[str, ...] = ()
    """Columns that are not known when a decision is made: other outcomes, and what follows from the treatment."""


SOURCES = {
    "broward": Source(1954, 38, "general_two_year", "re-arrest within two years, Broward County"),
    "compas": Source(6907, 7, "two_year_recid", "re-arrest within two years, ProPublica's COMPAS table"),
    "compas_gosdt": Source(6907, 7, "two_year_recid", "the COMPAS table with 134 thresholds, all columns numeric"),
    "coupon": Source(2653, 21, "Y", "whether a driver takes a coupon; categories"),
    "diabetes": Source(5000, 34, "readmitted", "readmission to hospital, a sample of 5,000 rows; categories"),
    "fico": Source(10459, 23, "PoorRiskPerformance", "home equity credit lines, FICO's challenge table"),
    "hillstrom": Source(
        64000,
        7,
        "visit",
        "an e-mail experiment with three arms",
        treatment="treatment",
        left_out=("conversion", "spend"),
    ),
    "jtpa": Source(
        11204,
        20,
        "earnings",
        "the Job Training Partnership Act experiment",
        treatment="assignmt",
        left_out=("training",),
    ),
    "lalonde": Source(722, 7, "re78", "the NSW experiment, also embedded: load_lalonde()", treatment="treat"),
    "lalonde_malts": Source(722, 7, "label", "the NSW experiment with three classes of estimated effect"),
    "netherlands_11000": Source(11000, 9, "recidivism_in_4y", "re-conviction within four years; continuous columns"),
    "netherlands_binary20000": Source(20000, 22, "recidivism_in_4y", "re-conviction within four years; 22 tests"),
}


def fetch(name: str, data_dir: str | os.PathLike[str] | None = None, *, as_frame: bool = False) -> Bunch:
    """Read a named table from a directory of CSV files.

    Parameters
    ----------
    name : str
        One of `broward`, `compas`, `coupon`, ...; an unknown name raises an error that lists them all. The file is
        `<name>.csv`.
    data_dir : path, optional
        The directory; by default the environment variable CERTREE_DATA names it.
    as_frame : bool, default=False
        Whether `data` is a pandas frame and `target` a pandas series.

    Returns
    -------
    Bunch
        `data`, `target`, `feature_names`, `DESCR`; for an experiment also `treatment`; with `as_frame` also `frame`,
        all columns of the file.

    Raises
    ------
    ValueError
        If there is no table of that name, no directory is named, or the file is not the expected one.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from certree.datasets import fetch
    >>> fetch("compas")  # doctest: +SKIP
    >>> fetch("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: ...
    """
    source = SOURCES.get(name)
    if source is None:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(sorted(SOURCES))}")
    path = _locate(name, data_dir)
    table = read_csv(path)
    _check(table, source, path)
    roles = (source.target, source.treatment, *source.left_out)
    features = [column for column in table.names if column not in roles]
    if len(features) != source.features:
        raise ValueError(f"{path} has {len(features)} feature columns, expected {source.features}")
    frame = to_frame(table) if as_frame else None
    bunch = Bunch(feature_names=features, DESCR=f"{name}: {source.note}")
    bunch.data = to_array(table.select(features)) if frame is None else frame[features]
    for part, column in (("target", source.target), ("treatment", source.treatment)):
        if column is not None:
            values = to_labels(table.columns[table.names.index(column)])
            bunch[part] = values if frame is None else frame[column]
    if frame is not None:
        bunch.frame = frame
    return bunch


def _locate(name: str, data_dir: str | os.PathLike[str] | None) -> Path:
    folder = data_dir if data_dir is not None else os.environ.get(DATA_SETTING)
    if not folder:
        raise FileNotFoundError(
            f"the data set {name!r} is read from {name}.csv in a data directory: "
            f"pass data_dir, or set the environment variable {DATA_SETTING}"
        )
    path = Path(folder) / f"{name}.csv"
    if not path.is_file():
        setting = "data_dir" if data_dir is not None else DATA_SETTING
        raise FileNotFoundError(f"the data set {name!r} needs {path}, which does not exist (directory from {setting})")
    return path


def _check(table: Table, source: Source, path: Path) -> None:
    for column in (source.target, source.treatment, *source.left_out):
        if column is not None and column not in table.names:
            raise ValueError(f"{path} has no column {column!r}")
    if table.n_rows != source.rows:
        raise ValueError(f"{path} has {table.n_rows} rows, expected {source.rows}")
