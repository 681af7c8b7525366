"""The SQL expression predicts what the model does, in two databases, missing values and difficult names included."""

from __future__ import annotations

import doctest
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_export import MESSY, fit_messy, lone_leaf, stump

from certree import PolicyTree, SparseTreeClassifier, export_sql

duckdb = pytest.importorskip("duckdb")


def to_plain(frame: pd.DataFrame) -> list[list[Any]]:
    """Rows of Python values, None where one is missing."""
    columns = [
        [None if pd.isna(value) else value.item() if isinstance(value, np.generic) else value for value in frame[name]]
        for name in frame
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def type_of(values: list[Any]) -> str:
    value = next((value for value in values if value is not None), 0.0)
    return {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}.get(type(value), "VARCHAR")


def ask(connection: Any, frame: pd.DataFrame, expression: str) -> list[Any]:
    rows = to_plain(frame)
    kinds = [type_of(list(values)) for values in zip(*rows, strict=True)]
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in zip(frame, kinds, strict=True))
    connection.execute(f"CREATE TABLE t (place INTEGER, {columns})")
    marks = ", ".join("?" * (frame.shape[1] + 1))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", [[place, *row] for place, row in enumerate(rows)])
    return [row[0] for row in connection.execute(f"SELECT {expression} FROM t ORDER BY place").fetchall()]


DATABASES: dict[str, Callable[[], Any]] = {
    "SQLite": lambda: sqlite3.connect(":memory:"),
    "DuckDB": lambda: duckdb.connect(":memory:"),
}


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_every_kind_of_column_with_missing_values(database: str, depth: int) -> None:
    model, frame = fit_messy(depth)
    shuffled = pd.concat([frame, frame.sample(frac=1, random_state=1).set_axis(frame.index)])
    # Cells that were never together, categories that training did not see, and missing values anywhere.
    other = frame.apply(lambda column: column.sample(frac=1, random_state=len(str(column.name))).to_numpy()).astype(
        dict.fromkeys((MESSY[1], MESSY[4]), object)
    )
    other.loc[::7, MESSY[1]] = "never seen"
    other.loc[::5, MESSY[0]] = np.nan
    other.loc[::6, MESSY[4]] = None
    for rows in (shuffled, other):
        assert ask(DATABASES[database](), rows, export_sql(model)) == model.predict(rows).tolist()


@pytest.mark.parametrize("database", DATABASES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_thresholds_are_exact(database: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(sigma=8.0, size=(60, 2)) * rng.choice([-1, 1], size=(60, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    frame = pd.DataFrame(values, columns=["a", "b"])
    model = SparseTreeClassifier(3, 0.001).fit(frame, rng.integers(0, 3, 60))
    cuts = model.tree_.threshold[~np.isnan(model.tree_.threshold)]
    near = np.concatenate([cuts, cuts * (1 + 1e-12), cuts * (1 - 1e-12)])
    frame = pd.concat([frame, pd.DataFrame({"a": near, "b": near[::-1]})], ignore_index=True)
    assert ask(DATABASES[database](), frame, export_sql(model)) == model.predict(frame).tolist()


@pytest.mark.parametrize("database", DATABASES)
def test_ordered_columns_and_actions(database: str) -> None:
    sizes = ["small", "medium", "large"]
    frame = pd.DataFrame({"size": pd.Categorical([*sizes, None] * 5, categories=sizes, ordered=True)})
    for is_left in (True, False):
        high = frame["size"].isin(["large"]).to_numpy() | (frame["size"].isna().to_numpy() & is_left)
        model = PolicyTree(1).fit(frame, pd.DataFrame({"none": ~high * 1.0, "a 'letter'": high * 1.0}))
        assert model.value_ == 1.0
        assert ask(DATABASES[database](), frame, export_sql(model)) == model.predict(frame).tolist()


def test_names_can_be_those_of_the_database() -> None:
    text = export_sql(stump(), feature_names={"age": "AGE_YEARS"}, class_names={"yes": 1, "no": 0}, name=None)
    assert text == 'CASE WHEN "AGE_YEARS" <= 2.5e0\n  THEN 1\n  ELSE 1\nEND'
    assert export_sql(lone_leaf(), name="out") == "'yes' AS \"out\""


def test_what_sql_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL character"):
        export_sql(stump("a\0b"))
    with pytest.raises(ValueError, match="SQL has no number nan"):
        export_sql(stump(), class_names={"yes": float("nan")})


def test_the_example_of_the_docstring_runs() -> None:
    from certree.export import sql

    assert doctest.testmod(sql).attempted == 3
    assert doctest.testmod(sql).failed == 0
