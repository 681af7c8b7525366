"""A tree in other forms says the same: text, DOT, LaTeX, JSON and back, a scikit-learn tree."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree import export_text as sklearn_export_text

from certree import Problem, SparseTreeClassifier, solve
from certree.export import (
    export_dot,
    export_json,
    export_latex,
    export_text,
    load,
    to_sklearn,
)
from certree.tree import Column, Tree, format_number, tree_of
from certree.tree.words import leaf_colour, share_text

MESSY = ["a_b & c%", 'say "hi"\\', "$x$ {y}", "line\nbreak [1], #~^", "ünïcode <b>'"]


def make_tree(columns: list[Column], labels: list[Any], **arrays: Any) -> Tree:
    """A hand-made tree; what is not given is filled in plausibly."""
    n_nodes = len(arrays["column"])
    weights = np.arange(1.0, n_nodes * len(labels) + 1).reshape(n_nodes, len(labels))
    defaults: dict[str, Any] = {
        "threshold": [np.nan] * n_nodes,
        "category": [-1] * n_nodes,
        "missing_left": [False] * n_nodes,
        "label": weights.argmax(axis=1),
        "rows": weights.sum(axis=1),
        "weight": weights.sum(axis=1),
        "costs": weights.sum(axis=1, keepdims=True) - weights,
        "label_weights": weights,
    }
    return Tree(columns=tuple(columns), labels=tuple(labels), **{**defaults, **arrays})


def stump(name: str = "age", labels: tuple[Any, ...] = ("no", "yes"), **arrays: Any) -> Tree:
    shape: dict[str, Any] = {"column": [0, -1, -1], "left": [1, -1, -1], "right": [2, -1, -1]}
    return make_tree([Column(name)], list(labels), **(shape | {"threshold": [2.5, np.nan, np.nan]} | arrays))


def lone_leaf() -> Tree:
    return make_tree([Column("age")], ["no", "yes"], column=[-1], left=[-1], right=[-1])


def fit_messy(depth: int = 3) -> tuple[SparseTreeClassifier, pd.DataFrame]:
    """A table with every kind of column, missing values and difficult names, and a model of it."""
    rng = np.random.default_rng(7)
    n = 160
    frame = pd.DataFrame(
        {
            MESSY[0]: rng.normal(size=n).round(2),
            MESSY[1]: rng.choice(["red", 'gr"een', "blue\\", None], size=n),
            MESSY[2]: rng.random(n) < 0.4,
            MESSY[3]: np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 5, n)),
            MESSY[4]: pd.Categorical(rng.choice(["x", "y", "z_{1}"], size=n)),
        }
    )
    score = (frame[MESSY[0]] > 0).astype(int) + (frame[MESSY[1]] == "red") + frame[MESSY[3]].isna() + frame[MESSY[2]]
    y = np.array(["low", "mid_%", "high"])[np.clip(score.to_numpy(int), 0, 2)]
    return SparseTreeClassifier(depth, 0.005).fit(frame, y, rng.lognormal(size=n)), frame


# Which tree ----------------------------------------------------------------------------------------------------------


def test_a_model_a_solution_and_a_tree_say_the_same() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.repeat([0, 1], 4)
    solution = solve(Problem.from_labels(X, y, regularization=0.01, max_depth=2))
    model = SparseTreeClassifier(2, 0.01).fit(X, y)
    assert export_text(model) == export_text(model.tree_) == export_text(solution)
    assert tree_of(solution) is solution.tree


def test_an_unfitted_model_is_refused() -> None:
    with pytest.raises(NotFittedError, match="SparseTreeClassifier"):
        export_text(SparseTreeClassifier())


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(TypeError, match="a dict has no certree tree"):
        export_dot({})
    with pytest.raises(TypeError, match="a DecisionTreeClassifier has no certree tree"):
        export_text(_fitted_foreign_tree())


def _fitted_foreign_tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


# Text ----------------------------------------------------------------------------------------------------------------


def test_text_of_a_stump() -> None:
    assert export_text(stump()) == "├── age <= 2.5: yes  57.1% of 7 rows\n└── age > 2.5: yes   54.5% of 11 rows"
    assert export_text(stump(), show_support=False) == "├── age <= 2.5: yes\n└── age > 2.5: yes"


def test_text_of_a_lone_leaf() -> None:
    assert export_text(lone_leaf()) == "yes  66.7% of 3 rows"


def test_text_of_a_deeper_tree_has_a_line_a_branch() -> None:
    model, _ = fit_messy()
    lines = export_text(model).splitlines()
    assert len(lines) == model.tree_.n_nodes - 1
    assert sum(" rows" in line or " row" in line for line in lines) == model.n_leaves_


def test_numbers_are_exact_or_rounded_as_asked() -> None:
    tree = stump(threshold=[1 / 3, np.nan, np.nan])
    assert "age <= 0.3333:" in export_text(tree)
    assert f"age <= {1 / 3!r}" in export_text(tree, digits=None)
    assert "age <= 0.33:" in export_text(tree, digits=2)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.011880276333919991, "0.01188"),
        (8940.029999999999, "8940.03"),
        (1987.5, "1987.5"),
        (12345.5, "12,345.5"),
        (-1234567.891234, "-1,234,568"),
        (13190.123456789, "13,190"),
        (1500000.0, "1,500,000"),
        (0.1 + 0.2, "0.3"),
        (1.5e-9, "1.5e-09"),
        (1e300, "1e+300"),
    ],
)
def test_readable_numbers_round_only_what_nobody_would_write_out(number: float, text: str) -> None:
    assert format_number(number, "readable") == text


def test_columns_and_labels_can_be_shown_under_other_names() -> None:
    text = export_text(stump(), feature_names=["Age in years"], class_names={"yes": "Treat"})
    assert text.startswith("├── Age in years <= 2.5: Treat")
    for export in (export_dot, export_latex):
        assert "Age in years" in export(stump(), feature_names={"age": "Age in years"})
    with pytest.raises(ValueError, match="feature_names has 2 names, but the tree has 1"):
        export_text(stump(), feature_names=["a", "b"])
    with pytest.raises(ValueError, match="class_names renames 'maybe', which the tree does not have"):
        export_text(stump(), class_names={"maybe": "x"})


def test_weights_are_named_only_where_they_differ_from_rows() -> None:
    assert "weight" not in export_text(stump())
    assert "weight 12,346, 7 rows" in export_text(stump(weight=[20000.0, 12345.6, 0.5]))
    assert "weight 0.5, 11 rows" in export_text(stump(weight=[20000.0, 12345.6, 0.5]))


def test_a_tree_of_costs_names_its_cost() -> None:
    tree = stump(label_weights=None, costs=[[3.0, 1.0], [2.0, 0.25], [1.0, 7.0]])
    assert "yes  cost 0.25, 7 rows" in export_text(tree)


@pytest.mark.parametrize(
    ("share", "text"),
    [(1.0, "100%"), (0.9999, "> 99.9%"), (0.5, "50.0%"), (0.00001, "< 0.1%"), (0.0, "0%")],
)
def test_a_share_is_all_or_nothing_only_when_it_is(share: float, text: str) -> None:
    assert share_text(share) == text


# DOT -----------------------------------------------------------------------------------------------------------------


def test_dot_has_every_node_and_both_answers() -> None:
    tree = fit_messy()[0].tree_
    text = export_dot(tree)
    assert text.startswith("digraph tree {")
    assert text.endswith("}\n")
    edges = {(int(a), int(b)): answer for a, b, answer in re.findall(r'(\d+) -> (\d+) \[label="(.*)"\];', text)}
    expected = {}
    for node in np.flatnonzero(~tree.is_leaf):
        # What the text says of missing values, the branches say too.
        is_told = "or missing" in tree.test(node).describe(holds=False)
        answer = "no or missing" if is_told else "no"
        expected |= {(node, int(tree.left[node])): "yes", (node, int(tree.right[node])): answer}
    assert edges == expected


def test_pictures_say_where_missing_values_go() -> None:
    X = [[0.0], [1.0], [np.nan]]
    right, left = (SparseTreeClassifier(1, 0.01).fit(X, labels) for labels in ([0, 1, 1], [0, 1, 0]))
    for export in (export_dot, export_latex):
        assert "no or missing" in export(right)
        assert "no or missing" not in export(left)
        assert "0.5 or missing" in export(left)


@pytest.mark.parametrize("name", MESSY)
def test_dot_strings_are_closed_whatever_they_hold(name: str) -> None:
    for line in export_dot(stump(name, labels=(name, "other"))).splitlines():
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert '"' not in outside
        assert "\\" not in outside
    dequoted = export_dot(stump(name)).replace('\\"', '"').replace("\\\\", "\\")
    assert " ".join(name.splitlines()) in dequoted


def test_a_surer_leaf_is_darker() -> None:
    pale, dark = stump(label_weights=[[1, 2], [4, 5], [0, 9]]), 2
    brightness = [int(leaf_colour(pale, node)[1:3], 16) for node in (1, dark)]
    assert brightness[0] >= brightness[1]
    assert leaf_colour(pale, 1) != leaf_colour(pale, dark)
    assert re.fullmatch("#[0-9a-f]{6}", leaf_colour(lone_leaf(), 0))


# LaTeX ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESSY)
def test_latex_is_balanced_and_escaped(name: str) -> None:
    text = export_latex(stump(name, labels=(name, "other")))
    body = text.split("\n", 1)[1]
    bare = body.replace(r"$\leq$", "").replace(r"\\", "")
    escaped = re.sub(r"\\[{}$&#%_]", "", bare)
    assert escaped.count("{") == escaped.count("}")
    assert escaped.count("[") == escaped.count("]")
    assert not set("$&#%~^<>|\"'`") & set(re.sub(r"\\(textbackslash|text[a-z]+|scriptsize|small)", "", escaped))


def test_latex_uses_signs_and_one_bracket_a_node() -> None:
    text = export_latex(fit_messy()[0], digits=3)
    assert r"$\leq$" in text
    assert r"\begin{forest}" in text
    assert text.count("{yes}") == text.count("{no}") == fit_messy()[0].n_leaves_ - 1
    assert r"\textbf{yes}" in export_latex(lone_leaf())


# JSON ----------------------------------------------------------------------------------------------------------------


def test_json_and_back_is_the_same_model(tmp_path: Path) -> None:
    model, frame = fit_messy()
    path = tmp_path / "model.json"
    path.write_text(export_json(model), encoding="utf-8")
    for source in (path, str(path), export_json(model), export_json(model, indent=None)):
        twin = load(source)
        np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(twin.predict_proba(frame), model.predict_proba(frame))
        np.testing.assert_array_equal(twin.apply(frame), model.apply(frame))
    assert twin.certificate_ == model.certificate_
    assert twin.get_params() == model.get_params()
    for name in ("n_leaves_", "depth_", "loss_", "objective_", "lower_bound_", "gap_", "status_", "n_features_in_"):
        assert getattr(twin, name) == getattr(model, name)
    np.testing.assert_array_equal(twin.feature_names_in_, model.feature_names_in_)
    assert twin.classes_.tolist() == model.classes_.tolist()
    assert export_json(twin) == export_json(model)
    with pytest.raises(ValueError, match="feature names"):
        twin.predict(frame.rename(columns={MESSY[0]: "other"}))


def test_json_keeps_the_kind_of_labels_and_the_lack_of_names() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    for y in (
        [0, 0, 0, 1, 1, 1],
        [True, True, True, False, False, False],
        [1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
        list("aaabbb"),
    ):
        model = SparseTreeClassifier(1, 0.01).fit(X, y)
        twin = load(export_json(model))
        assert twin.predict(X).tolist() == y
        assert type(twin.predict(X).tolist()[0]) is type(y[0])
        assert not hasattr(twin, "feature_names_in_")


def test_json_is_strict_and_leaves_out_what_is_not_plain() -> None:
    X, y = np.arange(6.0).reshape(-1, 1), [0, 0, 0, 1, 1, 1]
    model = SparseTreeClassifier(1, 0.01, random_state=np.random.RandomState(0), class_weight={0: 1.0, 1: 2.0})
    document = json.loads(export_json(model.fit(X, y)), parse_constant=lambda name: pytest.fail(name))
    assert "random_state" not in document["settings"]
    assert "class_weight" not in document["settings"]
    assert document["certificate"]["class_weights"] == [1.0, 2.0]
    model = SparseTreeClassifier(1, np.float64(0.01), categorical_features=np.array([True])).fit(X, y)
    document = json.loads(export_json(model))
    assert document["settings"]["categorical_features"] == [True]
    assert load(json.dumps(document)).regularization == 0.01


def test_a_bare_tree_comes_back_as_a_tree() -> None:
    tree = stump()
    assert load(export_json(tree)).to_dict() == tree.to_dict()


def test_json_of_a_solution_is_refused() -> None:
    with pytest.raises(TypeError, match="fitted estimator or a Tree, not a int"):
        export_json(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("{}", "format is None"),
        ('{"format": "other"}', "format is 'other'"),
        ('{"format": "certree.model", "version": 99}', "version 99"),
        ('{"format": "certree.model", "version": 1, "estimator": "Forest"}', "'Forest'"),
        ('{"format": "certree.model", "version": 1}', "not a whole model"),
        ('{"format": "certree.tree", "version": 1}', "not a whole model"),
    ],
)
def test_what_is_no_model_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load(text)
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_a_list_or_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="not a model"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.json")


# scikit-learn --------------------------------------------------------------------------------------------------------


@given(st.data())
def test_the_scikit_learn_tree_predicts_the_same(data: st.DataObject) -> None:
    """On values that 32-bit floats hold exactly, missing ones included; on rows that training did not see, too."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, n_labels = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 4))
    X = rng.integers(-3, 4, size=(n, 3)) / 2
    if data.draw(st.booleans()):
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, n_labels, n)
    weights = rng.choice([1.0, 0.5, 2.25], size=n)
    model = SparseTreeClassifier(data.draw(st.integers(0, 4)), 0.001).fit(X, y, weights)
    twin = to_sklearn(model)
    fresh = rng.integers(-4, 5, size=(50, 3)) / 2
    # A missing value where training saw none goes right in both.
    fresh[rng.random(fresh.shape) < 0.2] = np.nan
    for rows in (X, fresh):
        np.testing.assert_array_equal(twin.predict(rows), model.predict(rows))
        np.testing.assert_allclose(twin.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    assert twin.get_depth() == model.depth_
    assert twin.get_n_leaves() == model.n_leaves_


def test_the_ecosystem_works_on_it() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 80), "b": rng.random(80) < 0.5, "c": rng.integers(0, 9, 80)})
    y = np.where((frame["a"] > 4) ^ frame["b"], "yes", "no")
    model = SparseTreeClassifier(3, 0.001).fit(frame, y)
    twin = to_sklearn(model)
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    assert twin.feature_importances_.sum() == pytest.approx(1)
    assert "a <= 4.5" in sklearn_export_text(twin, feature_names=list(frame.columns)).replace("4.50", "4.5")
    assert twin.score(frame, y) == pytest.approx(1 - model.loss_)
    assert (twin.decision_path(frame).sum(axis=1) <= 4).all()
    assert twin.tree_.n_node_samples[0] == 80


@pytest.mark.parametrize("category", [0, 1, 2])
def test_categories_that_are_numbers_are_put_as_thresholds_at_the_ends(category: int) -> None:
    tree = make_tree(
        [Column("zone", "categorical", (10.0, 20.0, 30.0))], [0, 1],
        column=[0, -1, -1], left=[1, -1, -1], right=[2, -1, -1], category=[category, -1, -1],
        label=[0, 1, 0], label_weights=[[4, 4], [1, 3], [3, 1]],
    )  # fmt: skip
    X = np.array([[10.0], [20.0], [30.0], [np.nan]])
    if category == 1:
        with pytest.raises(ValueError, match=r"column 'zone'.*between others, 20\.0"):
            to_sklearn(tree)
    else:
        np.testing.assert_array_equal(to_sklearn(tree).predict(X), tree.predict(X))


def test_a_single_category_is_at_both_ends() -> None:
    tree = make_tree(
        [Column("zone", "categorical", (10.0,))], [0, 1],
        column=[0, -1, -1], left=[1, -1, -1], right=[2, -1, -1], category=[0, -1, -1], label=[0, 1, 0],
        label_weights=[[4, 4], [1, 3], [3, 1]],
    )  # fmt: skip
    assert to_sklearn(tree).predict([[10.0], [11.0], [np.nan]]).tolist() == [1, 0, 0]


@pytest.mark.parametrize("category", [0, -1])
def test_text_columns_are_refused_by_name(category: int) -> None:
    tree = make_tree(
        [Column("colour", "categorical", ("red", "blue"), has_missing=True)], [0, 1],
        column=[0, -1, -1], left=[1, -1, -1], right=[2, -1, -1], category=[category, -1, -1],
        missing_left=[category < 0, False, False],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"column 'colour': it is text.*one-hot"):
        to_sklearn(tree)


@pytest.mark.parametrize("category", [0, 1, -1])
def test_booleans_with_missing_values_keep_their_way(category: int) -> None:
    tree = make_tree(
        [Column("flag", "boolean", (False, True), has_missing=True)], [0, 1],
        column=[0, -1, -1], left=[1, -1, -1], right=[2, -1, -1], category=[category, -1, -1],
        missing_left=[category < 0, False, False], label=[0, 1, 0], label_weights=[[4, 4], [1, 3], [3, 1]],
    )  # fmt: skip
    raw = np.array([[False], [True], [None]], dtype=object)
    np.testing.assert_array_equal(to_sklearn(tree).predict([[0.0], [1.0], [np.nan]]), tree.predict(raw))


def test_a_tree_of_costs_and_a_turned_tie_keep_their_labels() -> None:
    costs = stump(label_weights=None, label=[0, 0, 1])
    assert to_sklearn(costs).predict([[0.0], [9.0]]).tolist() == ["no", "yes"]
    assert to_sklearn(costs).predict_proba([[0.0]]).tolist() == [[1.0, 0.0]]
    tie = stump(label_weights=[[1, 1], [2, 2], [2, 2]], label=[0, 1, 0])
    assert to_sklearn(tie).predict([[0.0], [9.0]]).tolist() == ["yes", "no"]
    assert to_sklearn(lone_leaf()).predict([[1.0]]).tolist() == ["yes"]


def test_json_can_be_written_to_a_file_at_once(tmp_path: Path) -> None:
    model, _ = fit_messy()
    text = export_json(model, tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == text == export_json(model)
