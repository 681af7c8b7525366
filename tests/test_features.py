"""Columns ↔ tests: an engine test and the column test it is read as hold for exactly the same rows, and what people
bring as a table is read as they would expect."""

from __future__ import annotations

import datetime
import itertools
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from random_problems import Table as RandomTable
from random_problems import tables

from certree import Problem, SparseTreeClassifier
from certree.features import bin_numeric, make_features, separate
from certree.fingerprint import fingerprint_columns
from certree.solver import bin_numeric as bin_numeric_native
from certree.table import read_table
from certree.tree import Tree

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


def stump_of(problem: Problem, axis: int, code: int) -> Tree:
    test = problem.features.test(axis, code)
    return problem.make_tree(
        [test.column, -1, -1],
        [test.threshold, np.nan, np.nan],
        [test.category, -1, -1],
        [test.missing_left, False, False],
        [1, -1, -1],
        [2, -1, -1],
    )


@given(tables(depths=(2,)), st.sampled_from(["all", 1, 3]))
def test_an_axis_test_and_its_column_test_are_the_same(table: RandomTable, thresholds: Any) -> None:
    problem = Problem.from_labels(make_features(table.X, thresholds=thresholds), table.y, max_depth=1)
    features = problem.features
    for index, axis in enumerate(features.axes):
        codes = features.codes[index]
        assert codes.min() >= 0
        assert codes.max() < axis.size
        for code in range(axis.size if axis.is_categorical else axis.size - 1):
            expected = codes == code if axis.is_categorical else codes <= code
            tree = stump_of(problem, index, code)
            holds = tree.apply(table.X) == 1
            np.testing.assert_array_equal(holds, expected ^ features.test(index, code).is_swapped)


@given(tables(depths=(2,)), st.booleans())
def test_values_read_off_the_rows_are_those_that_were_held(table: RandomTable, has_forbidden: bool) -> None:
    """Columns with more distinct values than are kept sorted."""
    first = make_features(table.X)
    forbidden = [first.question(0, 0)] if has_forbidden and first.axes else None
    held = make_features(table.X, forbidden=forbidden)
    with patch("certree.features.MOST_HELD", 0):
        read = make_features(table.X, forbidden=forbidden)
    assert [axis.size for axis in read.axes] == [axis.size for axis in held.axes]
    for place, axis in enumerate(held.axes):
        assert read.axes[place].thresholds.tolist() == axis.thresholds.tolist()
        for code in range(axis.size if axis.is_categorical else axis.size - 1):
            assert read.question(place, code) == held.question(place, code)
    assert fingerprint_columns(read) == fingerprint_columns(held)


@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 60),
        elements=st.one_of(finite, st.just(np.nan), st.sampled_from([0.0, -0.0, 5e-324])),
    )
)
def test_the_engine_bins_as_plain_numpy_does(values: Any) -> None:
    codes, distinct = bin_numeric(values)
    native_codes, native_distinct = bin_numeric_native(values)
    np.testing.assert_array_equal(native_codes, codes)
    np.testing.assert_array_equal(native_distinct, distinct)
    assert native_codes.dtype == codes.dtype == np.int32


@pytest.mark.parametrize("n_values", [2, 50, 3000, 100_000])
def test_the_engine_bins_many_values_as_plain_numpy_does(n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    values = rng.choice(rng.normal(size=n_values) * 10.0 ** rng.integers(-200, 200, n_values), 20_000)
    values[rng.random(20_000) < 0.1] = np.nan
    for left, right in zip(bin_numeric(values), bin_numeric_native(values), strict=True):
        np.testing.assert_array_equal(left, right)


@given(st.lists(finite, min_size=2, max_size=30, unique=True))
@settings(max_examples=300)
def test_thresholds_separate_in_floating_point(values: list[float]) -> None:
    ordered = np.unique(values).tolist()
    for lower, upper in itertools.pairwise(ordered):
        assert lower <= separate(lower, upper) < upper


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (1.0, np.nextafter(1.0, 2)),
        (-np.finfo(float).max, np.finfo(float).max),
        (1e308, 1.5e308),
        (-1.5e308, -1e308),
        (0.0, 5e-324),
        (-5e-324, 0.0),
        (5e-324, 1e-323),
        (2.0**53, 2.0**53 + 2),
    ],
)
def test_thresholds_of_difficult_neighbours(lower: float, upper: float) -> None:
    X = np.array([[lower], [upper]])
    model = SparseTreeClassifier(1, 0.0).fit(X, ["a", "b"])
    assert model.predict(X).tolist() == ["a", "b"]
    assert lower <= model.tree_.threshold[0] < upper


def test_thresholds_are_midpoints() -> None:
    features = make_features(np.array([[1.0], [2.0], [4.0], [2.0]]))
    assert features.axes[0].thresholds.tolist() == [1.5, 3.0]


def test_at_most_so_many_thresholds_at_weighted_quantiles() -> None:
    values = np.arange(1000.0)[:, None]
    axis = make_features(values, thresholds=3).axes[0]
    assert axis.size == 4
    np.testing.assert_allclose(axis.thresholds, [249.5, 499.5, 749.5], atol=1)
    heavy = np.where(values[:, 0] < 100, 100.0, 1.0)
    assert make_features(values, thresholds=3, weights=heavy).axes[0].thresholds.max() < 100
    assert len(make_features(values[:3], thresholds=3).axes[0].thresholds) == 2
    spike = np.concatenate([np.zeros(1000), np.arange(10)])[:, None]
    assert 1 <= len(make_features(spike, thresholds=4).axes[0].thresholds) <= 4
    gaps = np.where(np.arange(1000) % 7 == 0, np.nan, np.arange(1000.0))[:, None]
    first, last = make_features(gaps, thresholds=5).axes
    assert first.size == last.size == 7


def test_columns_without_a_test_have_no_axis() -> None:
    X = pd.DataFrame({"constant": [1.0, 1.0], "empty": [np.nan, np.nan], "same": ["a", "a"], "true": [True, True]})
    features = make_features(X)
    assert features.axes == ()
    assert features.codes.shape == (0, 2)
    model = SparseTreeClassifier(2, 0.0).fit(X, [0, 1])
    assert model.n_leaves_ == 1


# What people bring ----------------------------------------------------------------------------------------------------


FRAME = {
    "age": [20, 30, 40, 50, 60, 70],
    "income": [1.5, None, 2.5, 3.5, None, 4.5],
    "colour": ["red", "blue", None, "red", "green", "blue"],
    "married": [True, False, True, True, False, False],
    "citizen": [True, None, False, True, None, True],
}
KINDS = ("numeric", "numeric", "categorical", "boolean", "boolean")


def frames() -> dict[str, Any]:
    plain = pd.DataFrame(FRAME)
    return {
        "pandas": plain,
        "pandas nullable": plain.convert_dtypes(),
        "pandas arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas object": plain.astype(object),
        "pandas categories": plain.astype({"colour": "category"}),
        "arrow": pa.table(FRAME),
        "polars": pl.DataFrame(FRAME),
        "polars categories": pl.DataFrame(FRAME).with_columns(pl.col("colour").cast(pl.Categorical)),
        "objects": np.array([list(row) for row in zip(*FRAME.values(), strict=True)], dtype=object),
        "rows": [list(row) for row in zip(*FRAME.values(), strict=True)],
    }


@pytest.mark.parametrize("name", frames())
def test_every_frame_reads_the_same(name: str) -> None:
    features = make_features(frames()[name])
    expected = make_features(frames()["pandas"])
    assert tuple(column.kind for column in features.columns) == KINDS
    assert [column.has_missing for column in features.columns] == [False, True, True, False, True]
    np.testing.assert_array_equal(features.codes, expected.codes)
    assert [column.categories for column in features.columns] == [column.categories for column in expected.columns]


@pytest.mark.parametrize("name", frames())
def test_a_tree_predicts_every_frame_the_same(name: str) -> None:
    y = [0, 1, 2, 0, 1, 1]
    model = SparseTreeClassifier(3, 0.0).fit(frames()["pandas"], y)
    np.testing.assert_array_equal(model.tree_.predict(frames()[name]), y)
    own = SparseTreeClassifier(3, 0.0).fit(frames()[name], y)
    np.testing.assert_array_equal(own.predict(frames()[name]), y)
    assert own.objective_ == model.objective_


def test_tests_read_as_people_say_them() -> None:
    problem = Problem.from_labels(frames()["pandas"], [0, 1, 0, 1, 0, 1], max_depth=1)
    axes = problem.features.axes
    texts = {
        stump_of(problem, index, code).test(0).text
        for index, axis in enumerate(axes)
        for code in range(axis.size if axis.is_categorical else axis.size - 1)
    }
    assert {"age <= 25", "income <= 2", "income <= 2 or missing", "income is missing"} <= texts
    assert {"colour == 'red'", "colour is missing", "married is true", "citizen is true", "citizen is missing"} <= texts


def test_categorical_features() -> None:
    X = np.array([[1.0, 5.0, 0.5], [2.0, 6.0, 0.5], [3.0, 7.0, 1.5], [1.0, 5.0, 2.5]])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for chosen in ([True, False, False], [0], np.array([0])):
        kinds = [column.kind for column in make_features(X, categorical_features=chosen).columns]
        assert kinds == ["categorical", "numeric", "numeric"]
    kinds = [column.kind for column in make_features(frame, categorical_features=["c", "a"]).columns]
    assert kinds == ["categorical", "numeric", "categorical"]
    assert make_features(X, categorical_features=[]).columns == make_features(X).columns
    assert make_features(X, categorical_features=[0, 2]).columns[2].categories == (0.5, 1.5, 2.5)
    model = SparseTreeClassifier(1, 0.0, categorical_features=[0]).fit(X[:3], [0, 1, 0])
    assert model.tree_.test(0).text == "x0 == 2"
    assert model.predict([[2, 5, 0], [9, 5, 0], [np.nan, 5, 0]]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ("some", '"auto"'),
        ([True], "mask of 1 for 3 columns"),
        ([3], "names column 3"),
        ([-1], "names column -1"),
        (["z"], "names column 'z'"),
        ([[0]], "one-dimensional"),
    ],
)
def test_categorical_features_that_do_not_exist(chosen: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_features(np.zeros((2, 3)), categorical_features=chosen)


def test_unseen_categories_and_unseen_missing_values_go_right() -> None:
    X = pd.DataFrame({"colour": ["red", "blue", "red", "blue"], "size": [1.0, 2.0, 3.0, 4.0]})
    by_colour = SparseTreeClassifier(1, 0.0).fit(X[["colour"]], ["b", "a", "b", "a"])
    assert by_colour.tree_.test(0).text == "colour == 'blue'"
    rows = pd.DataFrame({"colour": ["blue", "red", "purple", None]})
    assert by_colour.predict(rows).tolist() == ["a", "b", "b", "b"]
    by_size = SparseTreeClassifier(1, 0.0).fit(X[["size"]], ["a", "a", "b", "b"])
    assert by_size.predict(pd.DataFrame({"size": [1.0, 4.0, np.nan]})).tolist() == ["a", "b", "b"]


def test_missing_values_go_where_training_found_best() -> None:
    X = pd.DataFrame({"size": [1.0, 2.0, np.nan, 3.0, 4.0, np.nan]})
    low = SparseTreeClassifier(1, 0.0).fit(X, ["a", "a", "a", "b", "b", "a"])
    assert low.tree_.test(0).text == "size <= 2.5 or missing"
    assert low.predict(X).tolist() == ["a", "a", "a", "b", "b", "a"]
    high = SparseTreeClassifier(1, 0.0).fit(X, ["a", "a", "b", "b", "b", "b"])
    assert high.tree_.test(0).text == "size <= 2.5"
    assert high.tree_.test(0).describe(holds=False) == "size > 2.5 or missing"
    apart = SparseTreeClassifier(1, 0.0).fit(X, ["a", "a", "b", "a", "a", "b"])
    assert apart.tree_.test(0).text == "size is missing"
    assert apart.predict(X).tolist() == ["a", "a", "b", "a", "a", "b"]


def test_a_column_of_another_sort_at_prediction() -> None:
    text = SparseTreeClassifier(1, 0.0).fit(pd.DataFrame({"c": ["a", "b"]}), [0, 1])
    assert text.predict(pd.DataFrame({"c": [1.5, 2.5]})).tolist() == [1, 1]
    flag = SparseTreeClassifier(1, 0.0).fit(pd.DataFrame({"c": [True, False]}), [0, 1])
    assert flag.predict(pd.DataFrame({"c": [1, 0]})).tolist() == [0, 1]
    number = SparseTreeClassifier(1, 0.0).fit(pd.DataFrame({"c": [1, 2]}), [0, 1])
    assert number.predict(pd.DataFrame({"c": [True, None]}, dtype=object)).tolist() == [0, 1]
    with pytest.raises(ValueError, match="column 'c' is numeric, but holds 'x'"):
        number.predict(pd.DataFrame({"c": ["x", "y"]}))


def test_mixed_objects_are_categories() -> None:
    X = np.array([["a", 1], [2, True], [None, False], ["a", None]], dtype=object)
    features = make_features(X)
    assert features.columns[0].categories == (2, "a")
    assert features.columns[0].has_missing
    odd = make_features(pd.DataFrame({"c": ["x", float("nan"), pd.NA, "y"]}, dtype=object))
    assert odd.columns[0].categories == ("x", "y")
    assert odd.columns[0].has_missing
    flags = make_features(pd.DataFrame({"c": [True, float("nan"), False]}, dtype=object))
    assert flags.columns[0].kind == "boolean"
    assert make_features(np.array([["x"], ["y"]])).columns[0].categories == ("x", "y")
    assert make_features(np.array([[True], [False]])).columns[0].kind == "boolean"


def test_what_is_no_table() -> None:
    with pytest.raises(ValueError, match="'when' holds dates"):
        read_table(pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
    with pytest.raises(TypeError, match="'c' holds a dict"):
        read_table(pd.DataFrame({"c": [{}, {}]}))
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_table(np.array([[1j]]))
    with pytest.raises(ValueError, match="Complex data not supported: column 'c'"):
        read_table(pd.DataFrame({"c": [1j]}))
    with pytest.raises(ValueError, match="0 sample"):
        read_table(pd.DataFrame({"c": []}))
    with pytest.raises(ValueError, match="0 feature"):
        read_table(pd.DataFrame(index=[0, 1]))
    with pytest.raises(ValueError, match="'x0' holds dates"):
        read_table(np.array([[1]], dtype="m8[s]"))
    with pytest.raises(ValueError, match="neither numbers"):
        read_table(np.array([[(1, 2)]], dtype="i4,i4"))
    with pytest.raises(ValueError, match="'when' holds dates"):
        read_table(pl.DataFrame({"when": [datetime.date(2020, 1, 1)]}))


def test_columns_that_share_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"more than one column of the same name(.|\n)*'a'"):
        read_table(pd.DataFrame([[0, 1], [0, 2]], columns=["a", "a"]))


def test_names_that_are_numbers() -> None:
    X = pd.DataFrame([[0, 1], [0, 2]])
    model = SparseTreeClassifier(1, 0.0).fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]
    assert model.tree_.test(0).text == "1 <= 1.5"


def test_the_table_is_never_changed() -> None:
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(20, 2)))
    before = X.copy()
    model = SparseTreeClassifier(1, 0.0).fit(X, np.arange(20) % 2)
    model.predict(X)
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable
