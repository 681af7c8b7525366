"""A model file from a stranger is a valid model, or one ValueError: nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import PolicyTree, SparseTreeClassifier
from certree.export import export_dot, export_json, export_latex, export_text, load, to_sklearn
from certree.tree import DEEPEST, Column, Tree

FRAME = pd.DataFrame(
    {
        "age": [20.0, 25.0, np.nan, 30.0, 40.0, 50.0, 35.0, 45.0, 22.0, 28.0],
        "colour": ["red", "blue", "red", None, "blue", "red", "green", "green", "blue", "green"],
        "married": [True, True, False, False, True, False, True, False, False, True],
        "level": pd.Categorical(list("lmhlmhlmhl"), list("lmh"), ordered=True),
    }
)
Y = np.array(list("aabbcabcab"))


@cache
def documents() -> dict[str, str]:
    classifier = SparseTreeClassifier(3, 0.001).fit(FRAME, Y, np.arange(1.0, 11.0))
    rewards = np.arange(30.0).reshape(10, 3) % 7
    policy = PolicyTree(2, 0.01, budget=1.0).fit(FRAME, rewards, spends=[0, 1, 2])
    return {
        "classifier": export_json(classifier),
        "policy": export_json(policy),
        "tree": export_json(classifier.tree_),
    }


def use(model: Any) -> None:
    """What people do with a model that has loaded."""
    assert len(model.predict(FRAME)) == len(FRAME)
    text = export_text(model, digits=4)
    assert text
    export_dot(model)
    export_latex(model)
    assert export_text(load(export_json(model)), digits=4) == text


def change(where: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Sets one field of a document; a dotted name, numbers for places in a list."""

    def apply(document: dict[str, Any]) -> None:
        *steps, last = [int(step) if step.isdecimal() else step for step in where.split(".")]
        inner: Any = document
        for step in steps:
            inner = inner[step]
        inner[last] = value

    return apply


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("tree.nodes.0.left", 1 + 2**32, "left is 4294967297"),
        ("tree.nodes.0.left", 0, "does not come after"),
        ("tree.nodes.0.left", -1, "left is -1, not a whole number"),
        ("tree.nodes.0.left", 1.0, "left is 1.0, not a whole number"),
        ("tree.nodes.0.left", True, "left is True"),
        ("tree.nodes.0.column", 2**32, "column is 4294967296"),
        ("tree.nodes.0.label", 2**32, "label is 4294967296"),
        ("tree.nodes.0.label", 0.7, "label is 0.7"),
        ("tree.nodes.0.rows", 2**70, "rows is 1180591620717411303424"),
        ("tree.nodes.0.rows", 3.5, "rows is 3.5"),
        ("tree.nodes.0.weight", "12", "weight is '12'"),
        ("tree.nodes.0.weight", 10**400, "weight is"),
        ("tree.nodes.0.costs", [1.0], "costs is .*, not a list of 3"),
        ("tree.nodes.0.costs", [1.0, None, 2.0], "costs is"),
        ("tree.nodes.0.label_weights", None, "label_weights is None"),
        ("tree.nodes.0.missing_left", 1, "missing_left is 1, not true or false"),
        ("tree.nodes.0", 7, "node of the tree is 7"),
        ("tree.nodes", [], "nodes is"),
        ("tree.nodes", {}, "nodes is"),
        ("tree.labels", ["a", "a", "b"], "labels holds 'a' twice"),
        ("tree.labels", [1, True, "b"], "labels holds True twice"),
        ("tree.labels", [["a"], "b", "c"], "neither text nor a finite number"),
        ("tree.labels", [None, "b", "c"], "labels holds None"),
        ("tree.columns.0", "age", "column 0 is 'age', not a mapping"),
        ("tree.columns.0.name", 3, "name is 3, not text"),
        ("tree.columns.0.name", "\ud800", "not text"),
        ("tree.columns.0.kind", "number", "kind is 'number'"),
        ("tree.columns.0.kind", ["numeric"], "kind is"),
        ("tree.columns.0.categories", ["x"], "a numeric column has no categories"),
        ("tree.columns.1.categories", ["blue", "blue"], "holds 'blue' twice"),
        ("tree.columns.1.has_missing", None, "has_missing is None"),
        ("tree.version", True, "a tree of version True"),
        ("version", 1.0, "the model is of version 1.0"),
        ("estimator", ["SparseTreeClassifier"], "unknown estimator"),
        ("settings", [], "settings is"),
        ("settings.max_depth", "deep", "the settings are not those of a SparseTreeClassifier"),
        ("settings.depth", 3, "no setting 'depth'"),
        ("settings.thresholds__n", 3, "no setting 'thresholds__n'"),
        ("statistics", 7, "statistics is 7"),
        ("fit_seconds", "fast", "fit_seconds is 'fast'"),
        ("has_feature_names", "yes", "has_feature_names is 'yes'"),
        ("certificate", None, "certificate is None"),
        ("certificate.format", "other", "not a certificate"),
        ("certificate.objective", "0.1", "not a whole certificate: objective is '0.1'"),
        ("certificate.sizes", None, "sizes is None, not a mapping"),
    ],
)
def test_what_is_no_model_is_one_clear_error(where: str, value: Any, words: str) -> None:
    document = json.loads(documents()["classifier"])
    change(where, value)(document)
    with pytest.raises(ValueError, match=words):
        load(json.dumps(document))


def test_a_test_fits_its_column() -> None:
    model = SparseTreeClassifier(1, 0.0).fit(FRAME[["colour"]], FRAME["colour"] == "red")
    text = export_json(model)
    node = json.loads(text)["tree"]["nodes"][0]
    assert node["test"] == "colour == 'red'"
    for other, words in (
        (node | {"threshold": 2.5}, "both a threshold and a category"),
        (node | {"category": 3}, "category is 3, not a whole number from 0 to 2"),
        (node | {"missing_left": True}, "missing_left is true, but missing is not a category"),
        ({**node, "category": None}, "category is None"),
        ({name: node[name] for name in node if name != "category"}, "neither threshold nor category"),
        (
            {name: node[name] for name in node if name != "category"} | {"threshold": 2.5},
            "has a threshold, but column 'colour' is categorical",
        ),
    ):
        document = json.loads(text)
        document["tree"]["nodes"][0] = other
        with pytest.raises(ValueError, match=words):
            load(json.dumps(document))


def test_a_null_threshold_is_no_test_for_missing_values() -> None:
    document = json.loads(documents()["policy"])
    node = next(node for node in document["tree"]["nodes"] if "threshold" in node)
    node["threshold"], node["missing_left"] = None, True
    with pytest.raises(ValueError, match="threshold is None, not a finite number"):
        load(json.dumps(document))


@pytest.mark.parametrize(
    "text", ['{"a": NaN}', '{"a": Infinity}', '{"a":' + "[" * 100_000, '{"a": ' + "9" * 5000 + "}"]
)
def test_what_json_cannot_mean_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        load(text)


def make_chain(levels: int) -> Tree:
    """A tree whose every right side is a leaf."""
    inner = 2 * np.arange(levels)
    n_nodes = 2 * levels + 1
    column, left, right = np.full((3, n_nodes), -1)
    column[inner], left[inner], right[inner] = 0, inner + 1, inner + 2
    threshold = np.full(n_nodes, np.nan)
    threshold[inner] = np.arange(levels) + 0.5
    ones = np.ones((n_nodes, 2))
    return Tree(
        columns=(Column("x"),), labels=("a", "b"), column=column, threshold=threshold, category=np.full(n_nodes, -1),
        missing_left=np.zeros(n_nodes), left=left, right=right, label=np.arange(n_nodes) % 2, rows=np.ones(n_nodes),
        weight=np.ones(n_nodes), costs=ones, label_weights=ones,
    )  # fmt: skip


def test_a_chain_of_many_levels_works_everywhere() -> None:
    tree = make_chain(3000)
    again = load(export_json(tree))
    X = [[-5.0], [1500.2], [1e9]]
    assert again.predict(X).tolist() == tree.predict(X).tolist()
    text = export_text(again)
    assert len(text.splitlines()) == 6000
    assert len(text) < 10_000_000
    assert "x <= 2999.5" in text
    assert export_latex(again).count("x $>$") + export_latex(again).count(r"$\leq$") == 3000
    export_dot(again)
    assert to_sklearn(again).predict(X).tolist() == tree.predict(X).tolist()


@pytest.mark.no_cover
def test_a_chain_of_too_many_levels_is_refused() -> None:
    document = make_chain(10).to_dict()
    levels = 30_000
    inner, leaf = document["nodes"][0], document["nodes"][1]
    document["nodes"] = [
        inner | {"left": place + 1, "right": place + 2} if place % 2 == 0 and place < 2 * levels else leaf
        for place in range(2 * levels + 1)
    ]
    with pytest.raises(ValueError, match=f"30000 levels below its root; at most {DEEPEST} are allowed"):
        load(json.dumps(document))


def random_value(rng: np.random.Generator) -> Any:
    values: list[Any] = [
        None, True, False, 0, 1, -1, 2, 3, 2**31, 2**32, 2**63, 10**30, 0.5, -2.5, 1e308, 1e-320, "", "a", "red",
        "numeric", "ordered", "x" * 300, [], [1], ["a", "b", "c"], [[1.0, 2.0]], {}, {"a": 1}, [None], "é\n",
    ]  # fmt: skip
    return copy.deepcopy(values[rng.integers(len(values))])


def mutate(value: Any, rng: np.random.Generator) -> Any:
    """Somewhere inside: another value, one field less, one more, two that changed places, or one twice."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.08:
        return random_value(rng)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[rng.integers(len(keys))]
    other = keys[rng.integers(len(keys))]
    what = rng.random()
    if what < 0.75:
        value[key] = mutate(value[key], rng)
    elif what < 0.83:
        del value[key]
    elif what < 0.9:
        value[key], value[other] = value[other], value[key]
    elif isinstance(value, list):
        value.insert(key, copy.deepcopy(value[other]))
    else:
        value[f"{key}_"] = random_value(rng)
    return value


def attempt(text: str) -> Any:
    """The model, or None where it is refused in words."""
    try:
        return load(text)
    except ValueError as error:
        return None if str(error) else pytest.fail("an error without a word")


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("name", ["classifier", "policy", "tree"])
def test_random_changes_give_a_model_that_works_or_one_error(name: str) -> None:
    loaded, refused = 0, []
    for seed in range(700):
        rng = np.random.default_rng(seed)
        document = json.loads(documents()[name])
        for _ in range(rng.integers(1, 4)):
            document = mutate(document, rng)
        model = attempt(json.dumps(document) if isinstance(document, dict) else '{"a":' + json.dumps(document) + "}")
        if model is None:
            continue
        loaded += 1
        try:
            use(model)
        except ValueError as error:
            refused.append(str(error))
    assert loaded > 20
    # A valid model of other columns refuses this table, and says why.
    assert [words for words in refused if "column" not in words and "eature" not in words] == []


@pytest.mark.parametrize("name", ["classifier", "policy", "tree"])
def test_random_characters_give_a_model_or_one_error(name: str) -> None:
    text = documents()[name]
    for seed in range(400):
        rng = np.random.default_rng(seed)
        place = int(rng.integers(1, len(text)))
        other = text[:place] + chr(int(rng.integers(32, 127))) + text[place + int(rng.integers(0, 3)) :]
        attempt(other if rng.random() < 0.9 else text[:place])
