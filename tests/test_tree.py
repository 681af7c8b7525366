"""A tree is whole by itself: it predicts, explains and travels without what made it."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certree import Problem, Tree, solve
from certree.tree import Column, Test, format_number


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20.0, 25.0, np.nan, 30.0, 40.0, 50.0],
            "colour": ["red", "blue", "red", None, "blue", "red"],
            "married": [True, True, False, False, True, False],
        }
    )


@pytest.fixture
def tree(frame: pd.DataFrame) -> Tree:
    """age <= 27.5 or missing → (colour == 'red' → a | b) | (married is true → b | a)."""
    problem = Problem.from_labels(frame, ["a", "b", "a", "a", "b", "b"], [1, 2, 3, 4, 5, 6], max_depth=2)
    nan = np.nan
    return problem.make_tree(
        [0, 1, -1, -1, 2, -1, -1],
        [27.5, nan, nan, nan, nan, nan, nan],
        [-1, 1, -1, -1, 1, -1, -1],
        [True, False, False, False, False, False, False],
        [1, 2, -1, -1, 5, -1, -1],
        [4, 3, -1, -1, 6, -1, -1],
    )


def test_the_shape(tree: Tree) -> None:
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (7, 4, 2)
    assert tree.leaves.tolist() == [2, 3, 5, 6]
    assert list(tree.walk()) == list(range(7))
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0, 4, 4]
    assert tree.node_depth.tolist() == [0, 1, 2, 2, 1, 2, 2]
    assert tree.is_leaf.tolist() == [False, False, True, True, False, True, True]
    assert "depth=2, n_leaves=4" in repr(tree)


def test_the_rows_at_the_nodes(tree: Tree) -> None:
    assert tree.rows.tolist() == [6, 3, 2, 1, 3, 1, 2]
    assert tree.weight.tolist() == [21, 6, 4, 2, 15, 5, 10]
    assert tree.label_weights is not None
    assert tree.label_weights[0].tolist() == [8, 13]
    assert tree.costs[0].tolist() == [13, 8]
    assert [tree.node_label(node) for node in range(7)] == ["b", "a", "a", "b", "b", "b", "b"]


def test_prediction(tree: Tree, frame: pd.DataFrame) -> None:
    assert tree.apply(frame).tolist() == [2, 3, 2, 6, 5, 6]
    assert tree.predict(frame).tolist() == ["a", "b", "a", "b", "b", "b"]
    np.testing.assert_allclose(tree.predict_proba(frame)[3], [0.4, 0.6])


def test_words(tree: Tree) -> None:
    assert tree.test(0).text == "age <= 27.5 or missing"
    assert tree.test(0).describe(holds=False) == "age > 27.5"
    assert tree.test(1).text == "colour == 'red'"
    assert tree.test(1).describe(holds=False) == "colour != 'red'"
    assert tree.test(4).text == "married is true"
    assert tree.test(4).describe(holds=False) == "married is false"
    assert [(test.text, holds) for test, holds in tree.path(6)] == [
        ("age <= 27.5 or missing", False),
        ("married is true", False),
    ]
    assert tree.path(0) == []
    with pytest.raises(ValueError, match="node 2 is a leaf"):
        tree.test(2)


def test_words_of_other_tests() -> None:
    flag = Column("citizen", "boolean", (False, True), has_missing=True)
    assert Test(flag, category=True).text == "citizen is true"
    assert Test(flag, category=True).describe(holds=False) == "citizen is not true"
    assert Test(flag, category=False).text == "citizen is false"
    assert Test(flag, missing_left=True).text == "citizen is missing"
    assert Test(flag, missing_left=True).describe(holds=False) == "citizen is not missing"
    size = Test(Column("size"), threshold=1 / 3)
    assert size.text == "size <= 0.3333333333333333"
    assert size.describe(digits=3) == "size <= 0.333"
    assert format_number(1e300) == "1e+300"
    assert format_number(1e300, 4) == "1e+300"
    assert format_number(13189.54, 4) == "13190"
    assert format_number(-13189.54, 7) == "-13189.54"
    assert format_number(-2.0) == "-2"


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (8940.029999999999, "pay < 8940.03"),
        (math.nextafter(2588.325, 0), "pay < 2588.325"),
        (2588.325, "pay <= 2588.325"),
        (math.nextafter(40, 0), "pay < 40"),
        (math.nextafter(0, -1), "pay < 0"),
        (-39.999961234, "pay <= -40"),
        (39.999961234, "pay < 40"),
        (0.011880276333919991, "pay <= 0.01188"),
        (13189.5412345, "pay < 13,190"),
    ],
)
def test_a_readable_number_goes_where_predict_sends_it(threshold: float, text: str) -> None:
    test = Test(Column("pay"), threshold=threshold)
    assert test.describe(digits="readable") == text
    _, relation, number = text.split()
    value = np.array([float(number.replace(",", ""))])
    assert test.holds(value)[0] == (relation == "<=")
    assert test.describe(holds=False, digits="readable") == f"pay {'>' if relation == '<=' else '>='} {number}"


@given(
    st.floats(-1e6, 1e6, allow_subnormal=False), st.one_of(st.just("readable"), st.integers(1, 12)), st.integers(-3, 3)
)
def test_values_with_as_many_digits_as_are_shown_go_where_the_text_says(
    threshold: float, digits: Any, step: int
) -> None:
    test = Test(Column("pay"), threshold=threshold)
    _, relation, number = test.describe(digits=digits).split()
    shown = Decimal(number.replace(",", ""))
    value = shown + step * Decimal(10) ** shown.as_tuple().exponent  # the number shown, and its neighbours
    says = value <= shown if relation == "<=" else value < shown
    assert test.holds(np.array([float(value)]))[0] == says


def test_plain_data_and_back(tree: Tree, frame: pd.DataFrame) -> None:
    text = json.dumps(tree.to_dict(), allow_nan=False)
    again = Tree.from_dict(json.loads(text))
    assert again.to_dict() == tree.to_dict()
    np.testing.assert_array_equal(again.predict_proba(frame), tree.predict_proba(frame))
    pickled = pickle.loads(pickle.dumps(tree))
    assert pickled.to_dict() == tree.to_dict()
    assert not pickled.rows.flags.writeable


def test_other_plain_data_is_refused(tree: Tree) -> None:
    with pytest.raises(ValueError, match="not a tree"):
        Tree.from_dict({"format": "something else"})
    with pytest.raises(ValueError, match="version 99; this release reads versions 1 and 2"):
        Tree.from_dict(tree.to_dict() | {"version": 99})


def test_a_tree_of_costs_has_no_shares() -> None:
    problem = Problem.from_costs([[0.0], [1.0]], [[0, 1], [1, 0]], max_depth=1)
    tree = solve(problem).tree
    assert tree.label_weights is None
    assert tree.predict([[0.0], [1.0]]).tolist() == [0, 1]
    assert Tree.from_dict(tree.to_dict()).label_weights is None
    with pytest.raises(ValueError, match="made from costs"):
        tree.predict_proba([[0.0]])


def test_nothing_can_be_changed(tree: Tree) -> None:
    with pytest.raises(FrozenInstanceError):
        tree.labels = ("x", "y")  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"left": [1, 2, -1, -1, 3, -1, -1]}, "does not come after it"),
        ({"left": [1, 2, -1, -1, 6, -1, -1]}, "exactly one other"),
        ({"column": [7, 1, -1, -1, 2, -1, -1]}, "tests a column"),
        ({"category": [-1, 5, -1, -1, 1, -1, -1]}, "tests a category"),
        ({"label": [9] * 7}, "names a label"),
        ({"rows": [1]}, "rows has shape"),
        ({"costs": np.zeros((7, 3))}, "costs has shape"),
        ({"labels": ()}, "at least one node and one label"),
    ],
)
def test_what_is_no_tree(tree: Tree, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(tree, **change)


def test_other_columns_are_refused(tree: Tree, frame: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"missing \['age'\], unexpected \['years'\]"):
        tree.predict(frame.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="another order"):
        tree.predict(frame[["colour", "age", "married"]])
    with pytest.raises(ValueError, match="X has 2 columns, but the tree has 3"):
        tree.predict(frame.to_numpy()[:, :2])
    with pytest.raises(ValueError, match="'age' is numeric, but holds 'old'"):
        tree.predict(frame.astype({"age": object}).replace({"age": {20.0: "old"}}))
    with pytest.raises(ValueError, match=r"'age' holds an infinite value \(row 1\)"):
        tree.predict(frame.replace({"age": {25.0: np.inf}}))


def test_a_tree_of_nameless_columns_takes_named_ones() -> None:
    problem = Problem.from_labels([[0.0, 1.0], [1.0, 0.0]], [0, 1], max_depth=1)
    tree = solve(problem).tree
    assert tree.predict(pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})).tolist() == [0, 1]
