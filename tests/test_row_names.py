"""A message calls a row what its owner calls it: the line of a file, the label of an index, else its number from 0."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from certree import (
    PolicyTree,
    Problem,
    SparseTreeClassifier,
    SparseTreeCV,
    certify,
    evaluate,
    policy,
    regularization_path,
    weights,
)
from certree.cli import main
from certree.datasets.files import read_csv
from certree.table import name_row, read_table

NAMES = ["ann", "bob", "cem", "dan"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (None, "row 2"),
        (np.zeros((4, 1)), "row 2"),
        ([0, 0, 0, 0], "row 2"),
        (pl.DataFrame({"a": [0, 0, 0, 0]}), "row 2"),
        (pd.DataFrame({"a": [0, 0, 0, 0]}), "row 2"),
        (pd.Series([0, 0, 0, 0]), "row 2"),
        (pd.Series([0, 0, 0, 0], index=NAMES), "row 2 (index 'cem')"),
        (pd.DataFrame({"a": [0, 0, 0, 0]}, index=[7, 8, 9, 10]), "row 2 (index 9)"),
        (pd.DataFrame({"a": [0, 0, 0, 0]}).iloc[::-1], "row 2 (index 1)"),
        (pd.Series([0, 0], index=pd.MultiIndex.from_product([["a"], [3, 4]])).repeat(2), "row 2 (index 'a', 4)"),
        (pd.Series([0] * 4, index=pd.date_range("2026-01-01", periods=4)), "row 2 (index 2026-01-03 00:00:00)"),
    ],
)
def test_rows_are_counted_from_zero_and_named_by_their_index(source: Any, name: str) -> None:
    assert name_row(2, source) == name
    if hasattr(source, "columns"):
        assert name_row(2, read_table(source)) == name
        assert name_row(0, read_table(source).take(np.array([2, 3]))) == name.replace("row 2", "row 0")


def test_the_first_source_with_names_of_its_own_names_the_row() -> None:
    assert name_row(1, None, [0, 0], pd.Series([0, 0], index=["x", "y"])) == "row 1 (index 'y')"


X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]}, index=NAMES)
NAN_IN_CEM = pd.Series([1.0, 1.0, np.nan, 1.0], index=NAMES)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SparseTreeClassifier().fit(X.replace(3.0, np.inf), [0, 1, 0, 1]), "column 'a', row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier().fit(X, [0, 1, 0, 1], NAN_IN_CEM), "is NaN in row 2 (index 'cem')"),
        # Whatever is given beside the table has its index where it has none of its own.
        (lambda: SparseTreeClassifier().fit(X, [0, 1, 0, 1], [1, 1, np.nan, 1]), "is NaN in row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier().fit(X, [0, 1, 0, 1], list("12x4")), "row 2 (index 'cem') has 'x'"),
        (lambda: SparseTreeCV(cv=2).fit(X, [0, 1, 0, 1], [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: evaluate(SparseTreeClassifier(), X, [0, 1, 0, 1], [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: regularization_path(X, [0, 1, 0, 1], [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: Problem.from_labels(X, [0, 1, 0, 1], [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: Problem.from_costs(X, np.eye(4), [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: Problem.from_rewards(X, np.eye(4), [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: PolicyTree().fit(X, np.eye(4), [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: PolicyTree().fit(X, np.eye(4)).score(X, np.eye(4), [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier(1, 0.0).fit(X, [0, 0, 1, 1]).predict(X.replace(3.0, np.inf)), "(index 'cem')"),
        (lambda: Problem.from_labels(X, NAN_IN_CEM), "y is missing in row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier().fit(X, NAN_IN_CEM), "y is missing in row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier().fit(X, NAN_IN_CEM.astype(object)), "y is missing in row 2 (index 'cem')"),
        (lambda: SparseTreeClassifier().fit(X, NAN_IN_CEM.astype("Int64")), "y is missing in row 2 (index 'cem')"),
        (lambda: Problem.from_costs(X, -np.eye(4)[:, :2]), "row 0 (index 'ann'), label 0 has -1.0"),
        (lambda: Problem.from_costs(X.to_numpy(), X.assign(b=NAN_IN_CEM)), "finite: row 2 (index 'cem'), label 1"),
        (lambda: PolicyTree().fit(X, X.assign(b=NAN_IN_CEM)), "NaN: row 2 (index 'cem'), action 'b'"),
        (lambda: policy.direct(X, [0, 1, 0, 1], NAN_IN_CEM), "outcome is NaN in row 2 (index 'cem')"),
        (lambda: policy.direct(X, NAN_IN_CEM, [0, 1, 0, 1]), "treatment is missing in row 2 (index 'cem')"),
        (lambda: policy.direct(X, [0, 1, 0, 1], pd.Series(list("12x4"), index=NAMES)), "row 2 (index 'cem') has 'x'"),
        (lambda: policy.direct(X, [0, 1, 0, 1], [1, 2, 3, 4], costs={0: 0.0, 1: np.inf}), "finite: row 0, action 1"),
        (lambda: weights.duplicate_rows(X, [0, 1, 0, 1], [1, 1, -1, 1]), "negative in row 2 (index 'cem')"),
    ],
)
def test_every_message_names_the_index(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


def test_the_checker_names_the_index_of_a_label_it_does_not_know() -> None:
    model = SparseTreeClassifier(1, 0.0).fit(X, [0, 0, 1, 1])
    labels = pd.Series([0, 0, 1, 5], index=NAMES)
    with pytest.raises(ValueError, match=re.escape("y: row 3 (index 'dan') has label 5")):
        certify.check(model.certificate_, model.tree_, X, labels)
    with pytest.raises(ValueError, match=re.escape("sample_weight is negative in row 2 (index 'cem')")):
        certify.check(model.certificate_, model.tree_, X, [0, 0, 1, 1], sample_weight=[1, 1, -1, 1])


# Files ----------------------------------------------------------------------------------------------------------------

# The third row begins on line 6: one line is blank, and a quoted value takes two.
LINES = 'a,note,y,w\n1,"x",0,1\n\n2,"two\nlines",1,1\n{}\n4,x,1,1\n'


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("inf,x,0,1", "column 'a', line 6"),
        ("3,x,,1", "line 6: no label in column 'y'"),
        ("3,x,0,", "line 6: no value in column 'w'"),
        ("3,x,0,much", "line 6: column 'w' holds 'much', which is not a finite number"),
        ("3,x,0,inf", "line 6: column 'w' holds inf, which is not a finite number"),
        ("3,x,0,-2", "line 6: column 'w' holds -2; weights cannot be negative"),
        ("3,x", "line 6: 2 values, but 4 columns"),
    ],
)
def test_the_command_line_names_the_line(
    row: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(LINES.format(row), encoding="utf-8")
    assert main(["fit", str(path), "--label", "y", "--weight", "w"]) == 2
    assert words in capsys.readouterr().err


def test_lines_follow_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(LINES.format("3,x,0,1"), encoding="utf-8")
    table = read_csv(path)
    assert [name_row(row, table) for row in range(4)] == ["line 2", "line 4", "line 6", "line 7"]
    assert name_row(1, table.take(np.array([False, False, True, True])).select(["y"])) == "line 7"


def test_predict_names_the_line_of_a_word_among_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "table.csv", tmp_path / "model.json"
    path.write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    assert main(["fit", str(path), "--label", "y", "--regularization", "0", "--out", str(model)]) == 0
    path.write_text("a\n1\nunknown\n", encoding="utf-8")
    assert main(["predict", str(model), str(path)]) == 2
    assert "column 'a' is numeric, but holds 'unknown' (line 3)" in capsys.readouterr().err


@pytest.mark.parametrize(("reward", "said"), [("", "no value in column 'stay'"), ("much", "column 'stay' ")])
def test_a_policy_names_the_line_of_a_reward(
    reward: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"a,stay,go\n1,0,1\n2,1,0\n3,{reward},1\n", encoding="utf-8")
    assert main(["policy", str(path), "--rewards", "stay", "go"]) == 2
    assert f"line 4: {said}" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "src").rglob("*.py")), ids=lambda path: path.name)
def test_no_message_counts_rows_by_itself(path: Path) -> None:
    """Whoever names a row asks `name_row`: there is one way to count."""
    if path.name != "table.py":
        assert not re.search(r"\b(row|line) \{(?!first)", path.read_text(encoding="utf-8")), path.name
