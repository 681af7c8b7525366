"""Columns shown with units and with words in place of comparisons, in every text and picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import SparseTreeClassifier, Tree, export_dot, export_latex, export_sql, export_text, plot_tree
from certree.cli import main

WORDS: Any = {
    "black": {"name": "Black", "answers": ("no", "yes")},
    "age": {"name": "Age", "unit": "years"},
    "married": {"answers": ["single", "married"]},
}


@pytest.fixture(scope="module")
def model() -> SparseTreeClassifier:
    """A tree that asks each column once: two numbers, and a truth with missing values beside it."""
    chance = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "black": chance.integers(0, 2, 400),
            "age": chance.integers(18, 60, 400),
            "married": chance.integers(0, 2, 400) == 1,
        }
    )
    young = frame["age"] <= 30
    y = np.where(frame["black"] == 0, np.where(young, "a", "b"), np.where(frame["married"], "c", "d"))
    return SparseTreeClassifier(2, 0.001).fit(frame, y)


def test_text(model: SparseTreeClassifier) -> None:
    plain, shown = export_text(model, show_support=False), export_text(model, feature_names=WORDS, show_support=False)
    assert plain.splitlines() == [
        "├── black <= 0.5",
        "│   ├── age <= 30.5: a",
        "│   └── age > 30.5: b",
        "└── black > 0.5",
        "    ├── married is true: c",
        "    └── married is false: d",
    ]
    assert shown.splitlines() == [
        "├── Black: no",
        "│   ├── Age <= 30.5 years: a",
        "│   └── Age > 30.5 years: b",
        "└── Black: yes",
        "    ├── married: married: c",
        "    └── married: single: d",
    ]


def test_pictures_ask_the_column_and_answer_in_words(model: SparseTreeClassifier) -> None:
    dot = export_dot(model, feature_names=WORDS)
    assert '0 [label="Black\\n400 rows"]' in dot
    assert '[label="no"]' in dot
    assert '[label="single"]' in dot
    latex = export_latex(model, feature_names=WORDS)
    assert "{Black}" in latex
    assert r"Age $\leq$ 30.5 years" in latex
    texts = {text.get_text() for text in plot_tree(model, feature_names=WORDS).texts}
    assert {"Black", "no", "yes", "single"} <= texts
    assert any(text.replace("\u00a0", " ").endswith("30.5 years") for text in texts)
    assert '"Black" <= 0.5' in export_sql(model, feature_names=WORDS)


@pytest.mark.parametrize("direction", ["down", "right"])
def test_long_answers_have_room(model: SparseTreeClassifier, direction: Any) -> None:
    words = WORDS | {"black": {"answers": ("certainly not in this county", "as far as anybody knows, yes")}}
    ax = plot_tree(
        model, feature_names=words | {"married": {"answers": ("$lives alone$", "married")}}, direction=direction
    )
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    answers = [
        t for t in ax.texts if t.get_text().split(" ")[0] in ("certainly", "as", "$lives", "married", "yes", "no")
    ]
    boxes = [t.get_window_extent() for t in answers]
    assert len(boxes) == 7  # six answers, and the column called married
    assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[:place])
    patches = [patch.get_window_extent() for patch in ax.patches if type(patch).__name__ == "FancyBboxPatch"]
    branches = [box for box, t in zip(boxes, answers, strict=True) if t.get_zorder() == 2]
    assert len(branches) == 6
    assert not any(box.overlaps(patch) for box in branches for patch in patches)


def test_missing_values_stay_where_they_go() -> None:
    X = pd.DataFrame({"flag": [0.0, 0.0, 1.0, 1.0, np.nan, np.nan]})
    tree = SparseTreeClassifier(1, 0.01).fit(X, ["a", "a", "b", "b", "a", "a"]).tree_
    assert tree.test(0).text == "flag <= 0.5 or missing"
    shown = str(tree.renamed({"flag": {"answers": ("no", "yes")}}))
    assert "flag: no or missing: a" in shown
    assert "flag: yes: b" in shown
    other = SparseTreeClassifier(1, 0.01).fit(X, ["a", "a", "b", "b", "b", "b"]).tree_
    assert "flag: yes or missing: b" in str(other.renamed({"flag": {"answers": ("no", "yes")}}))


def test_words_do_not_change_what_a_tree_is(model: SparseTreeClassifier) -> None:
    shown = model.tree_.renamed(WORDS)
    again = Tree.from_dict(shown.to_dict())
    assert [column.name for column in again.columns] == ["Black", "Age", "married"]
    np.testing.assert_array_equal(again.threshold, model.tree_.threshold)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"black": {"title": "Black"}}, "has 'title' for 'black'; a column has a name, a unit and answers"),
        ({"married": {"unit": "years"}}, "a unit for 'married', which is boolean"),
        ({"black": {"answers": "no"}}, "the answers of 'black' must be two texts, not 'no'"),
        ({"black": {"answers": ("no", "yes", "both")}}, "must be two texts"),
        ({"white": {"answers": ("no", "yes")}}, "feature_names renames 'white', which the tree does not have"),
    ],
)
def test_what_cannot_be_shown_is_said(model: SparseTreeClassifier, words: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        export_text(model, feature_names=words)


def test_two_answers_need_one_cut() -> None:
    tree = SparseTreeClassifier(2, 0.01).fit([[0], [1], [2]], ["a", "b", "c"]).tree_
    with pytest.raises(ValueError, match="two answers for 'x0', which has 2 cuts"):
        tree.renamed({"x0": {"answers": ("no", "yes")}})
    colours = SparseTreeClassifier(1, 0.01).fit(pd.DataFrame({"colour": ["red", "blue"]}), ["a", "b"]).tree_
    with pytest.raises(ValueError, match="two answers for 'colour', which is categorical"):
        colours.renamed({"colour": {"answers": ("no", "yes")}})


def test_on_the_command_line(model: SparseTreeClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    assert main(["show", str(path), "--rename", "black=Black", "--unit", "age=years", "--answers", "black=no/yes"]) == 0
    printed = capsys.readouterr().out
    assert "├── Black: no" in printed
    assert "age <= 30.5 years" in printed
    assert main(["show", str(path), "--answers", "white=no/yes"]) == 2
    assert "--answers names 'white', which is not a column" in capsys.readouterr().err
    assert main(["show", str(path), "--answers", "black=no"]) == 2
    assert "must be two texts" in capsys.readouterr().err
