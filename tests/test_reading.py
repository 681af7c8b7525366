"""Nothing is misread in silence: what each column was read as is said, and what looks like a mistake with its cells."""

from __future__ import annotations

import json
import re
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import certree
from certree import ColumnReading, PolicyTree, ReadingWarning, SparseTreeClassifier, policy, regularization_path
from certree.cli import main
from certree.datasets.files import read_csv
from certree.features import make_features
from certree.reading import describe_readings, read_text_columns, restore_readings
from certree.table import read_table

N = 100
AGES = [str(20 + row % 50) for row in range(N)]
Y = (np.arange(N) % 50 > 25).astype(int)
STRAYS = ["unknown", "?", ".", "-", "None", "n/a", "1,5", "12\0", "(13)", "1_000"]


def spoil(stray: str) -> list[str]:
    return [*AGES[:17], stray, *AGES[18:]]


def to_objects(data: dict[str, Any]) -> Any:
    return np.array(list(zip(*data.values(), strict=True)), dtype=object)


def readings_of(frame: Any) -> tuple[ColumnReading, ...]:
    return make_features(frame).readings


# Python ---------------------------------------------------------------------------------------------------------------


def test_every_column_says_what_it_was_read_as() -> None:
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, np.nan, 20.0],
            "colour": ["red", None, None, "blue"],
            "married": [True, False, True, True],
            "citizen": pd.array([True, None, False, True], dtype="boolean"),
            "size": pd.Categorical(["s", "m", None, "s"], ["s", "m", "l"], ordered=True),
            "nothing": [None] * 4,
        }
    )
    model = SparseTreeClassifier(1).fit(frame, [0, 1, 0, 1])
    assert [str(reading) for reading in model.columns_] == [
        "age: numeric, 2 values, 1 missing",
        "colour: categorical, 2 categories, 2 missing",
        "married: boolean",
        "citizen: boolean, 1 missing",
        "size: ordered, 's' < 'm' < 'l', 1 missing",
        "nothing: numeric, 0 values, 4 missing",
    ]
    assert model.columns_[4].order == ("s", "m", "l")
    assert model.columns_[4].n_distinct == 2
    assert PolicyTree().fit(frame, np.eye(4)[:, :2]).columns_ == model.columns_


def test_rows_of_weight_zero_are_columns_of_the_table_as_well() -> None:
    model = SparseTreeClassifier(1).fit([[1.0], [2.0], [3.0]], [0, 1, 0], [1, 1, 0])
    assert model.columns_[0].n_distinct == 3


def test_few_thresholds_do_not_hide_values() -> None:
    model = SparseTreeClassifier(1, thresholds=2).fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    assert model.columns_ == (ColumnReading("x0", "numeric", 20, 0),)


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, to_objects])
def test_one_bad_cell_among_numbers_is_said(stray: str, frame: Any) -> None:
    name = "x0" if frame is to_objects else "age"
    X = frame({"age": spoil(stray), "noise": np.arange(N) % 7})
    words = f"column '{name}' is read as categories, although 99 of its 100 cells are numbers; these are not: {stray!r}"
    with pytest.warns(ReadingWarning, match=re.escape(words + " (row 17)")):
        model = SparseTreeClassifier(1).fit(X, Y)
    assert model.columns_[0].kind == "categorical"
    assert f"{stray!r} (row 17)" in model.columns_[0].remark
    assert model.columns_[1].remark == ""


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, 3, 4, 5, "x"], "5 of its 6 cells are numbers; these are not: 'x' (row 5)"),
        ([1, 2, 3, 4, None, "x"], "4 of its 5 cells are numbers; these are not: 'x' (row 5)"),
        (["1", "2", "3"], "all of its 3 cells are numbers, written as text"),
        ([1, "1", 2], "all of its 3 cells are numbers, written as text"),
        (["1,5", "2,25", "3,0"], "its cells look like numbers in another notation: '1,5' (row 0), '2,25' (row 1)"),
        (["$1,000", "$20", "1 %"], "look like numbers in another notation"),
        (["0", "1"] * 10 + ["?"], "20 of its 21 cells are numbers; these are not: '?' (row 20)"),
        (list(map(str, range(50))) + ["?"] * 30, "50 of its 80 cells are numbers; these are not: '?' (row 50 and 29"),
        (list(map(str, range(50))) + list("abcde"), "'a' (row 50), 'b' (row 51), 'c' (row 52) and 2 others"),
    ],
)  # fmt: skip
def test_what_looks_numeric(values: list[Any], words: str) -> None:
    (reading,) = readings_of(pd.DataFrame({"c": pd.Series(values, dtype=object)}))
    assert words in reading.remark
    assert (
        read_text_columns(read_table(pd.DataFrame({"c": pd.Series(values, dtype=object)})))[0].remark == reading.remark
    )


@pytest.mark.parametrize(
    "values",
    [
        ["red", "blue", None],
        ["a1", "a2", "3"],
        ["2020-01-01", "later"],
        ["12.30.1", "13.45.2"],
        ["12:30", "13:45"],
        ["10-20", "20-30", "30-40"],
        ["1", "other", "1", "1", "1", "1"],  # one number is a name
        ["1,2,3", "4,5,6"],
        [True, False, "x"],
    ],
)
def test_words_are_words(values: list[Any]) -> None:
    assert readings_of(pd.DataFrame({"c": pd.Series(values, dtype=object)}))[0].remark == ""


def test_the_warning_names_the_index() -> None:
    X = pd.DataFrame({"age": spoil("?")}, index=[f"p{row}" for row in range(N)])
    with pytest.warns(ReadingWarning, match=re.escape("'?' (row 17 (index 'p17'))")):
        SparseTreeClassifier(1).fit(X, Y)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": spoil("?")}, dtype="category"),
        pl.DataFrame({"age": spoil("?")}, schema={"age": pl.Categorical}),
    ],
)
def test_declared_categories_are_meant(frame: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseTreeClassifier(1).fit(frame, Y)


def test_named_categories_are_meant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseTreeClassifier(1, categorical_features=["age"]).fit(pd.DataFrame({"age": spoil("?")}), Y)


def test_a_warning_shows_a_few_columns_and_counts_the_rest() -> None:
    X = pd.DataFrame({f"c{place}": spoil("?") for place in range(12)})
    with pytest.warns(ReadingWarning) as caught:
        SparseTreeClassifier(1).fit(X, Y)
    (message,) = [str(warning.message) for warning in caught]
    assert message.count("'?' (row 17)") == 5
    assert "The same holds for 7 more columns." in message
    assert "pandas.to_numeric" in message


@pytest.mark.parametrize(
    "learn",
    [
        lambda X: regularization_path(X, Y, max_depth=1),
        lambda X: PolicyTree(max_depth=1).fit(X, np.stack([Y, 1 - Y], axis=1)),
        lambda X: policy.regularization_path(X, np.stack([Y, 1 - Y], axis=1), max_depth=1),
        lambda X: certree.guess_thresholds(X, Y),
        lambda X: policy.inverse_propensity(X, Y, np.arange(N), propensity=0.5),
    ],
)
def test_every_way_in_warns_once_and_points_at_the_caller(learn: Any) -> None:
    with pytest.warns(ReadingWarning) as caught:
        learn(pd.DataFrame({"age": spoil("?"), "noise": np.arange(N) % 7}))
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_folds_of_an_evaluation_say_nothing_again() -> None:
    X = pd.DataFrame({"age": [*AGES, *AGES, "?"]})
    treatment, outcome = np.arange(2 * N + 1) % 2, np.arange(2 * N + 1.0)
    with pytest.warns(ReadingWarning) as caught:
        policy.evaluate(PolicyTree(max_depth=1), X, treatment, outcome, folds=3, propensity=0.5)
    assert len(caught) == 1


def test_readings_travel_with_the_model() -> None:
    with pytest.warns(ReadingWarning):
        model = SparseTreeClassifier(1).fit(pd.DataFrame({"age": spoil("?"), "noise": np.arange(N) % 7}), Y)
    document = json.loads(certree.export_json(model))
    assert certree.load(json.dumps(document)).columns_ == model.columns_
    del document["readings"]  # as an older release wrote it
    assert [str(reading) for reading in certree.load(json.dumps(document)).columns_] == [
        "age: categorical",
        "noise: numeric",
    ]


@pytest.mark.parametrize(
    "readings",
    [
        1, [], [1], [{}],
        [{"name": "x1", "kind": "numeric", "n_distinct": 2, "n_missing": 0, "order": [], "remark": ""}],
        [{"name": "x0", "kind": "numeric", "n_distinct": -2, "n_missing": 0, "order": [], "remark": ""}],
        [{"name": "x0", "kind": "numeric", "n_distinct": 2, "n_missing": True, "order": [], "remark": ""}],
        [{"name": "x0", "kind": "numeric", "n_distinct": 2, "n_missing": 0, "order": [1], "remark": ""}],
        [{"name": "x0", "kind": "numeric", "n_distinct": 2, "n_missing": 0, "order": [], "remark": None}],
    ],
)  # fmt: skip
def test_readings_that_are_none_are_refused(readings: Any) -> None:
    model = SparseTreeClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="reading"):
        restore_readings(readings, model.tree_.columns)


BEYOND = 2**53


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"id": [BEYOND, BEYOND + 1, 3, 4]}),
        pd.DataFrame({"id": pd.array([BEYOND, BEYOND + 1, None, 4], dtype="Int64")}),
        pl.DataFrame({"id": [BEYOND, BEYOND + 1, 3, 4]}),
        pl.DataFrame({"id": [BEYOND, BEYOND + 1, None, 4]}),
        np.array([[BEYOND], [BEYOND + 1], [3], [4]]),
        np.array([[BEYOND], [BEYOND + 1], [None], [4]], dtype=object),
    ],
)
def test_whole_numbers_that_floats_cannot_tell_apart_are_said(X: Any) -> None:
    with pytest.warns(ReadingWarning, match=rf"such as {BEYOND + 1}, which are rounded"):
        SparseTreeClassifier(1).fit(X, [0, 1, 0, 1])


def test_large_floats_and_whole_numbers_that_are_floats_are_fine() -> None:
    SparseTreeClassifier(1).fit(pd.DataFrame({"a": [1e300, 2.0**60, 1.0], "b": [2**60, 2**70, 1]}), [0, 1, 0])


def test_a_file_says_so_too(tmp_path: Path) -> None:
    path = write(tmp_path, ("id", [BEYOND, BEYOND + 1, 3]), ("y", [0, 1, 0]))
    assert "such as 9007199254740993" in read_csv(path).remarks["id"]


def test_what_a_mask_hides_is_missing() -> None:
    values = np.ma.masked_array([[1.0], [2.0], [777.0]], [[False], [False], [True]])
    assert np.isnan(read_table(values).columns[0][2])
    whole = np.ma.masked_array([[1], [2], [777]], [[False], [False], [True]])
    assert np.isnan(read_table(whole).columns[0][2])


def test_decimals_and_fractions_are_numbers() -> None:
    frame = pd.DataFrame({"price": [Decimal("1.5"), None, Decimal(3)], "share": [Fraction(1, 2), Fraction(1, 4), 1]})
    table = read_table(frame)
    assert table.columns[0].tolist()[::2] == [1.5, 3.0]
    assert np.isnan(table.columns[0][1])
    assert table.columns[1].tolist() == [0.5, 0.25, 1.0]


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (np.array([[b"\xff"], [b"a"]]), ValueError, "column 'x0' holds bytes that are not text"),
        (
            pd.DataFrame({"size": [10**400, 1]}),
            ValueError,
            "column 'size' holds a number that is too large for a float",
        ),
        (pl.LazyFrame({"a": [1, 2]}), TypeError, r"X is a LazyFrame.*collect\(\)"),
        (pl.DataFrame({"pair": [[1, 2], [3, 4]]}, schema={"pair": pl.Array(pl.Int64, 2)}), TypeError, "'pair' holds"),
    ],
)
def test_what_cannot_be_read_is_named(X: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        SparseTreeClassifier(1).fit(X, [0, 1])


# The command line -----------------------------------------------------------------------------------------------------


def write(folder: Path, *columns: tuple[str, Any]) -> str:
    path = folder / "table.csv"
    pd.DataFrame(dict(columns)).to_csv(path, index=False)
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    age = [*AGES[:17], "?", *AGES[18:40], "unknown", *AGES[41:]]
    colour = [("red", "blue", "green")[row % 3] for row in range(N)]
    return write(tmp_path, ("age", age), ("colour", colour), ("label", Y), ("cost", np.arange(N)))


def test_a_line_for_each_column(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", table, "--label", "label", "--weight", "cost"]) == 0
    captured = capsys.readouterr()
    warning = (
        "certree fit: warning: column 'age' is read as categories, although 98 of its 100 cells are numbers; these are "
        "not: '?' (line 19), 'unknown' (line 42); --missing names marks of missing values, --categorical says that "
        "categories are meant"
    )
    assert captured.err.splitlines() == [
        f"{table}: 100 rows, columns read as",
        "  age     categorical, 52 categories",
        "  colour  categorical, 3 categories",
        warning,
    ]
    assert "read as" not in captured.out


@pytest.mark.parametrize("verb", ["fit --label label", "path --label label", "policy --rewards label cost"])
def test_marks_of_missing_values_can_be_named(verb: str, table: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *options = verb.split()
    assert main([name, table, *options, "--missing", "?", "unknown", "--depth", "1"]) == 0
    error = capsys.readouterr().err
    assert "age     numeric, 50 values, 2 missing" in error
    assert "warning" not in error


def test_the_same_marks_verify_and_predict(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, marks = str(tmp_path / "model.json"), ["--missing", "?", "unknown"]
    assert main(["fit", table, "--label", "label", "--ignore", "cost", *marks, "--out", model]) == 0
    assert main(["verify", model, table, "--label", "label", *marks]) == 0
    assert "age     numeric, 50 values, 2 missing" in capsys.readouterr().err
    assert main(["predict", model, table, *marks]) == 0
    assert len(capsys.readouterr().out.splitlines()) == N + 1
    assert main(["verify", model, table, "--label", "label"]) == 2
    assert "column 'age' is numeric, but holds '?' (line 19)" in capsys.readouterr().err


def test_types_can_be_named(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", table, "--label", "label", "--categorical", "age", "cost"]) == 0
    error = capsys.readouterr().err
    assert "warning" not in error
    assert "cost    categorical, 100 categories" in error
    assert main(["policy", table, "--rewards", "label", "cost", "--categorical", "age"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["fit", table, "--label", "label", "--numeric", "age"]) == 2
    words = "column 'age' is to be read as numbers, but holds '?' (line 19), 'unknown' (line 42)"
    assert words in capsys.readouterr().err
    assert main(["fit", table, "--label", "label", "--numeric", "age", "--missing", "?", "unknown"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["fit", table, "--label", "label", "--numeric", "nobody"]) == 2
    assert "has no column 'nobody'" in capsys.readouterr().err
    assert main(["fit", table, "--label", "label", "--numeric", "age", "--categorical", "age"]) == 2
    assert "--numeric and --categorical both name column 'age'" in capsys.readouterr().err


def test_many_columns_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns: list[tuple[str, Any]] = [(f"n{place}", np.arange(N) % 3) for place in range(180)]
    columns += [(f"c{place}", ["a", "b", "", "a", "b"] * 20) for place in range(20)]
    table = write(tmp_path, *columns, ("age", spoil("?")), ("label", Y))
    assert main(["fit", table, "--label", "label", "--depth", "1"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[1] == "  201 columns: 180 numeric, 21 categorical; 20 with missing values"
    assert "column 'age' is read as categories" in lines[2]


def test_the_objective_that_one_bad_cell_cost_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = SparseTreeClassifier(1, 0.01).fit(pd.DataFrame({"age": pd.to_numeric(AGES)}), Y)
    with pytest.warns(ReadingWarning):
        spoilt = SparseTreeClassifier(1, 0.01).fit(pd.DataFrame({"age": spoil("?")}), Y)
    assert spoilt.objective_ > clean.objective_


@pytest.mark.parametrize("rest", [[None, None], [True, False]])
def test_words_in_rows_of_weight_zero_alone_survive_a_file(rest: list[Any]) -> None:
    X = pd.DataFrame({"word": ["red", "blue", *rest], "number": [0.0, 1.0, 2.0, 3.0]})
    model = SparseTreeClassifier(2).fit(X, [1, 1, 0, 1], [0.0, 0.0, 1.0, 1.0])
    assert certree.load(certree.export_json(model)).columns_ == model.columns_


def test_a_long_name_is_listed_in_full() -> None:
    names = ["age", "a_name_without_any_blank_that_is_longer_than_forty_letters", "one\nin two lines"]
    lines = describe_readings([ColumnReading(name, "numeric", 3) for name in names])
    assert lines[0] == f"{'age':<40}  numeric, 3 values"
    assert lines[1] == f"{names[1]}  numeric, 3 values"
    assert lines[2].startswith("one in two lines  ")
