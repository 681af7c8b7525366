"""Ordered categories: their tests ask "at most" in their own order, from the frame to the certificate and back."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import certree
from certree import PolicyTree, Problem, SparseTreeClassifier, certify, regularization_path
from certree.cli import main
from certree.features import make_features
from certree.table import read_table
from certree.tree import Tree

SIZES = ["small", "medium", "large", "huge"]
VALUES = ["medium", "small", "huge", None, "large", "small", "huge", "medium", None, "large"]
Y = np.array([0, 0, 1, 1, 1, 0, 1, 0, 1, 1])
NUMBERS = [np.nan if value is None else float(SIZES.index(value)) for value in VALUES]


def frames() -> dict[str, Any]:
    places = pa.array([None if value is None else SIZES.index(value) for value in VALUES])
    arrow = pa.DictionaryArray.from_arrays(places, SIZES, ordered=True)
    return {
        "pandas": pd.DataFrame({"size": pd.Categorical(VALUES, SIZES, ordered=True)}),
        "polars": pl.DataFrame({"size": VALUES}, schema={"size": pl.Enum(SIZES)}),
        "arrow": pa.table({"size": arrow}),
        "pandas arrow": pd.DataFrame({"size": pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow]))}),
    }


@pytest.mark.parametrize("name", frames())
def test_an_order_is_honoured(name: str) -> None:
    features = make_features(frames()[name])
    (column,) = features.columns
    assert (column.kind, column.categories, column.has_missing) == ("ordered", tuple(SIZES), True)
    # The axes are those of the places as numbers: missing values before all and after all.
    np.testing.assert_array_equal(features.codes, make_features(np.array(NUMBERS)[:, None]).codes)
    model = SparseTreeClassifier(1, 0.0).fit(frames()[name], Y)
    assert model.objective_ == 0
    assert model.tree_.test(0).text == "size <= 'medium'"
    assert model.tree_.test(0).describe(holds=False) == "size > 'medium' or missing"
    for other in frames().values():
        np.testing.assert_array_equal(model.predict(other), Y)
    assert certify.check(model.certificate_, model.tree_, frames()[name], Y, prove_bound=True).holds


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"size": pd.Categorical(VALUES, SIZES)}),
        pl.DataFrame({"size": VALUES}, schema={"size": pl.Categorical}),
        pa.table({"size": pa.array(VALUES).dictionary_encode()}),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_categories_without_an_order_get_none(frame: Any) -> None:
    features = make_features(frame)
    assert features.columns[0].kind == "categorical"
    assert features.columns[0].has_missing
    assert read_table(frame).columns[0].tolist() == VALUES


def test_categorical_features_set_an_order_aside() -> None:
    frame = frames()["pandas"]
    model = SparseTreeClassifier(1, 0.0, categorical_features=["size"]).fit(frame, np.array(VALUES) == "medium")
    assert model.tree_.test(0).text == "size == 'medium'"
    assert certify.check(model.certificate_, model.tree_, frame, np.array(VALUES) == "medium", prove_bound=True).holds


def test_an_order_is_not_that_of_the_alphabet_nor_that_of_numbers() -> None:
    frame = pd.DataFrame({"grade": pd.Categorical([1, 2, 3, 10], [10, 3, 2, 1], ordered=True)})
    model = SparseTreeClassifier(1, 0.0).fit(frame, [1, 1, 0, 0])
    assert model.tree_.columns[0].categories == (10, 3, 2, 1)
    assert model.tree_.test(0).text == "grade <= 3"
    assert model.predict(frame).tolist() == [1, 1, 0, 0]
    assert model.predict(pd.DataFrame({"grade": [10, 1]})).tolist() == [0, 1]
    with pytest.raises(ValueError, match="'grade': it has numbers in an order of its own"):
        certree.to_sklearn(model)


def test_intervals_are_ordered_as_they_lie() -> None:
    ages = pd.Series([5.0, 15.0, np.nan, 25.0, 35.0])
    frame = pd.DataFrame({"age": pd.cut(ages, [0, 10, 20, 30, 40])})
    model = SparseTreeClassifier(1, 0.0).fit(frame, [0, 0, 0, 1, 1])
    assert model.tree_.test(0).text == "age <= '(10, 20]' or missing"
    assert model.predict(frame.dropna()).tolist() == [0, 0, 1, 1]


def test_missing_values_go_where_training_found_best() -> None:
    frame = pd.DataFrame({"size": pd.Categorical(["small", "large", None, "small"], SIZES, ordered=True)})
    texts = {
        tuple(y): SparseTreeClassifier(1, 0.0).fit(frame, y).tree_.test(0).text
        for y in ([0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0])
    }
    # "medium" was declared but not seen: a test names what was seen.
    assert list(texts.values()) == ["size <= 'small' or missing", "size <= 'small'", "size is missing"]


def test_declared_but_unseen_categories_have_a_place_and_unknown_ones_go_right() -> None:
    frame = pd.DataFrame({"size": pd.Categorical(["small", "large"], SIZES, ordered=True)})
    model = SparseTreeClassifier(1, 0.0).fit(frame, [0, 1])
    rows = pd.DataFrame({"size": ["small", "medium", "large", "huge", "vast", None, 7]})
    assert model.predict(rows).tolist() == [0, 1, 1, 1, 1, 1, 1]


def test_a_table_with_an_unknown_category_is_not_the_one_certified() -> None:
    frame = frames()["pandas"]
    model = SparseTreeClassifier(1, 0.0).fit(frame, Y)
    other = frame.astype(object).replace("huge", "vast")
    with pytest.raises(ValueError, match="column 'size', row 2: 'vast' is not one of its categories 'small' <"):
        certify.check(model.certificate_, model.tree_, other, Y)


# Beyond the fit -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> SparseTreeClassifier:
    return SparseTreeClassifier(1, 0.0).fit(frames()["pandas"], Y)


def test_exports(model: SparseTreeClassifier) -> None:
    assert "size <= 'medium'" in certree.export_text(model)
    assert "size > 'medium' or missing" in certree.export_text(model)
    assert "size <= 'medium'" in certree.export_dot(model)
    assert r"size $\leq$ \textquotesingle{}medium" in certree.export_latex(model)


def test_a_picture(model: SparseTreeClassifier) -> None:
    texts = [text.get_text() for text in certree.plot_tree(model).texts]
    assert any("size ≤ 'medium'" in text for text in texts)


def test_there_and_back(model: SparseTreeClassifier) -> None:
    for again in (certree.load(certree.export_json(model)), pickle.loads(pickle.dumps(model))):
        assert again.tree_.columns == model.tree_.columns
        np.testing.assert_array_equal(again.predict(frames()["polars"]), Y)


def test_an_older_release_refuses_an_order_and_an_older_file_is_read(model: SparseTreeClassifier) -> None:
    assert json.loads(certree.export_json(model.tree_))["version"] == 2
    plain = SparseTreeClassifier(1, 0.0).fit(np.array(NUMBERS)[:, None], Y)
    assert json.loads(certree.export_json(plain.tree_))["version"] == 1
    with pytest.raises(ValueError, match="a tree of version 3; this release reads versions 1 and 2"):
        Tree.from_dict(model.tree_.to_dict() | {"version": 3})


@pytest.mark.parametrize("place", [-1, 0.5, 4, 1e300])
def test_a_place_that_the_order_lacks(place: float, model: SparseTreeClassifier) -> None:
    document = json.loads(certree.export_json(model))
    document["tree"]["nodes"][0]["threshold"] = place
    with pytest.raises(ValueError, match="node 0"):
        certree.load(json.dumps(document))


def test_a_scikit_learn_tree_takes_places(model: SparseTreeClassifier) -> None:
    twin = certree.to_sklearn(model)
    np.testing.assert_array_equal(twin.predict(pd.DataFrame({"size": NUMBERS})), Y)
    numbers = pd.DataFrame({"grade": pd.Categorical([10, 20, 30, 40], ordered=True)})
    by_number = SparseTreeClassifier(1, 0.0).fit(numbers, [0, 0, 1, 1])
    plain = numbers.astype(float)
    np.testing.assert_array_equal(certree.to_sklearn(by_number).predict(plain), [0, 0, 1, 1])


def test_the_command_line_verifies_and_predicts_from_text(
    model: SparseTreeClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, data = tmp_path / "model.json", tmp_path / "table.csv"
    saved.write_text(certree.export_json(model), encoding="utf-8")
    frames()["pandas"].assign(y=Y).to_csv(data, index=False)
    assert main(["verify", str(saved), str(data), "--label", "y"]) == 0
    capsys.readouterr()
    assert main(["predict", str(saved), str(data), "--no-ids"]) == 0
    assert capsys.readouterr().out.split()[1:] == list(map(str, Y))


def test_paths_guesses_and_policies_know_orders() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice(SIZES, 200)
    frame = pd.DataFrame({"size": pd.Categorical(values, SIZES, ordered=True), "noise": rng.normal(size=200)})
    y = np.isin(values, ["large", "huge"]).astype(int)
    assert regularization_path(frame, y, max_depth=1)[-1].tree.test(0).text == "size <= 'medium'"
    for thresholds in ("guess", 1, 2):
        guessed = SparseTreeClassifier(1, 0.0, thresholds=thresholds).fit(frame, y)
        assert certify.check(guessed.certificate_, guessed.tree_, frame, y).holds
    guessed = SparseTreeClassifier(1, 0.0, thresholds="guess").fit(frame, y)
    assert guessed.objective_ == 0
    guess = certree.guess_thresholds(frame, y)
    assert guess.get_feature_names_out().tolist() == ["size <= 'medium'"]
    np.testing.assert_array_equal(guess.transform(frame)[:, 0], y == 0)
    rewards = np.stack([1 - y, y], axis=1)
    policy = PolicyTree(max_depth=1).fit(frame, rewards)
    assert policy.tree_.test(0).text == "size <= 'medium'"
    assert certify.check(policy.certificate_, policy.tree_, frame, rewards=rewards).holds


@pytest.mark.parametrize("seed", range(8))
def test_the_engine_finds_what_enumeration_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(14) < 0.2, None, rng.choice(SIZES, 14))
    frame = pd.DataFrame(
        {"size": pd.Categorical(values, SIZES, ordered=True), "colour": rng.choice(["red", "blue", "green"], 14)}
    )
    y, weights = rng.integers(0, 2, 14), rng.integers(1, 5, 14).astype(float)
    model = SparseTreeClassifier(2, 0.02).fit(frame, y, weights)
    problem = Problem.from_labels(frame, y, weights, max_depth=2, regularization=0.02)
    assert model.objective_ == pytest.approx(float(certify.enumerate_optimum(problem)), abs=1e-12)
    places = pd.DataFrame(
        {"size": [np.nan if v is None else SIZES.index(v) for v in values], "colour": frame["colour"]}
    )
    assert model.objective_ == SparseTreeClassifier(2, 0.02).fit(places, y, weights).objective_
