"""Rows stay where they are: fits on tables in parts are those in memory, whatever the partitions, and with workers that
die; what is wrong with a partition is said with its number."""

# ruff: noqa: E402 (nothing of Dask is imported where it is not installed)

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="the extra certree[dask] is not installed")
distributed = pytest.importorskip("distributed", reason="the extra certree[dask] is not installed")

import dask.array as da
import dask.dataframe as dd
import joblib
from in_parts import PlainClient, cut, draw_ends, from_frames, make_table, open_cluster
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

import certree
from certree import PolicyTree, SparseTreeClassifier, certify, cli, policy
from certree.amounts import exact_sum, find_exponent, to_amounts
from certree.dask import DaskPolicyTree, DaskSparseTreeClassifier, fitting
from certree.dask.crew import Crew, naming
from certree.dask.parts import Rows, Task, collect_parts, lazy
from certree.dask.survey import decide, find_quantiles, profile
from certree.dask.work import weigh_rows
from certree.features import make_features
from certree.folds import count_threads
from certree.sums import Channels
from certree.table import read_table


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster: everything is done at once in this process."""
    monkeypatch.setattr("certree.dask.estimators.default_client", PlainClient)
    monkeypatch.setattr("certree.dask.checking.default_client", PlainClient)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with open_cluster() as own:
        yield own


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=True) as own:
        yield own


@pytest.fixture
def doomed_client() -> Iterator[Any]:
    """Of a cluster whose workers may be killed: on a slow machine Dask does not always start new ones."""
    with open_cluster() as own, distributed.Client(own, set_as_default=True) as client:
        yield client


def assert_same(model: Any, other: Any) -> None:
    """Bit for bit the same answer."""
    assert json.dumps(model.tree_.to_dict()) == json.dumps(other.tree_.to_dict())
    assert model.certificate_.to_dict() == other.certificate_.to_dict()


def assert_equals_memory(model: Any, local: Any) -> None:
    """The optimum of the fit in memory, proved; ties may be broken otherwise, and sums of floats be rounded so."""
    assert model.status_ == local.status_ == "optimal"
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-12, abs=2 * local.certificate_.rounding)
    assert model.tree_.columns == local.tree_.columns
    assert model.certificate_.rounding == pytest.approx(local.certificate_.rounding, rel=1e-9)
    for name in ("rows", "rows_weighted", "columns", "axes", "tests", "labels"):
        assert model.certificate_.sizes[name] == local.certificate_.sizes[name]


def count_cost(model: Any, chosen: Any, y: Any, weights: Any) -> int:
    """What labels (or actions, with `y` as rewards) cost, with λ, in the whole numbers that both fits minimise."""
    weights = np.ones(len(y)) if weights is None else np.asarray(weights)
    if np.ndim(y) == 2:
        costs = (np.max(y, axis=1, keepdims=True) - y) * weights[:, None]
        exponent = find_exponent(exact_sum(costs.max(axis=1)))
        amounts = to_amounts(costs, exponent)[0][np.arange(len(y)), chosen]
    else:
        factors = model.certificate_.to_dict().get("class_weights")
        if factors is not None:
            weights = weights * np.array(factors)[np.searchsorted(model.classes_, y)]
        exponent = find_exponent(exact_sum(weights))
        amounts = to_amounts(weights, exponent)[0][np.asarray(chosen != y)]
    penalty = Channels(n_labels=3, exponent=exponent).penalty(model.regularization, float(weights.sum()), 1 << 57)
    return sum(map(int, amounts)) + penalty * int(model.n_leaves_)


# As in memory ---------------------------------------------------------------------------------------------------------

CASES: list[dict[str, Any]] = [
    {"n_labels": 2, "weights": "dyadic"},
    {"n_labels": 2, "weights": "wild", "max_depth": 2, "thresholds": 40},
    {"n_labels": 3, "weights": "real", "min_samples_leaf": 20},
    {"n_labels": 6, "weights": "none", "max_depth": 3, "thresholds": 3},
    {"n_labels": 4, "weights": "real", "min_weight_leaf": 40.3, "max_leaves": 5},
    {"n_labels": 2, "weights": "real", "min_weight_leaf": 25.1, "min_samples_leaf": 9, "max_depth": 3},
    {"n_labels": 2, "weights": "none", "max_depth": 1, "thresholds": 1},
    {"n_labels": 2, "weights": "real", "class_weight": "balanced", "forbidden": ["flag", "word == 'red'"]},
    {"n_labels": 3, "weights": "dyadic", "class_weight": {"class 0": 2.5, "class 1": 0.0}},
    {"n_labels": 2, "weights": "none", "categorical_features": ["few", "size"], "max_depth": 2},
    {"n_labels": 2, "weights": "none", "max_depth": 0},
    {"n_labels": 3, "weights": "real", "regularization": 10.0},
    {"n_labels": 2, "weights": "none", "regularization": 0.0, "min_samples_leaf": 150},
    {"n_labels": 1, "weights": "real"},
    {"n_labels": 2, "weights": "real", "forbidden": ["many", "few", "gaps", "flag", "word", "size"]},
    {"n_labels": 5, "weights": "wild", "min_samples_leaf": 7, "max_leaves": 6},
]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("seed", range(len(CASES)))
def test_a_fit_in_parts_is_the_fit_in_memory(seed: int) -> None:
    settings = {"max_depth": 3, "thresholds": 6, "regularization": 0.004, **CASES[seed]}
    rng = np.random.default_rng(seed)
    X, y, weights = make_table(rng, 300, settings.pop("n_labels"), settings.pop("weights"))
    local = SparseTreeClassifier(**settings).fit(X, y, weights)
    models = []
    for n_parts in (1, 2, 7):
        ends = draw_ends(rng, len(X), n_parts)
        given = None if weights is None else cut(pd.Series(weights), ends)
        model = DaskSparseTreeClassifier(**settings).fit(cut(X, ends), cut(y, ends), given)
        models.append(model)
    assert_equals_memory(models[0], local)
    costs = [count_cost(model, model.predict(X), y, weights) for model in (models[0].to_local(), local)]
    assert costs[0] == costs[1]
    assert_same(models[0], models[1])
    assert_same(models[0], models[2])
    # A certificate of a table in parts holds on the table in memory, and no longer where a value differs.
    verdict = certify.check(models[0].certificate_, models[0].tree_, X, y, weights)
    assert verdict.holds, verdict.failures
    other = X.assign(few=X["few"].where(X.index != 5, 9))
    assert not certify.check(models[0].certificate_, models[0].tree_, other, y, weights).holds
    # And the other way round: rows that lie elsewhere, and in another order.
    order = rng.permutation(len(X))
    given = None if weights is None else cut(pd.Series(weights[order]), [100])
    parts = (cut(X.iloc[order], [100]), cut(y.iloc[order], [100]), given)
    verdict = certify.check(models[0].certificate_, models[0].tree_, *parts)
    assert verdict.holds, verdict.failures
    wrong = models[0].certificate_ | {"loss": models[0].loss_ + 1e-6}
    assert not certify.check(wrong, models[0].tree_, *parts).holds


@pytest.mark.usefixtures("plain")
def test_sums_of_floats_that_are_exact_agree_to_the_last_bit() -> None:
    rng = np.random.default_rng(5)
    X, y, weights = make_table(rng, 400, 2, "dyadic")
    local = SparseTreeClassifier(3, 0.004, thresholds=5).fit(X, y, weights)
    model = DaskSparseTreeClassifier(3, 0.004, thresholds=5).fit(
        cut(X, [10, 10, 333]), cut(y, [10, 10, 333]), cut(pd.Series(weights), [10, 10, 333])
    )
    assert (model.objective_, model.loss_, model.lower_bound_) == (
        local.objective_, local.loss_, local.lower_bound_,
    )  # fmt: skip
    assert list(model.statistics_["step_seconds"]) == ["survey", "quantiles", "codes", "sums", "weigh"]


@pytest.mark.parametrize("seed", range(12))
def test_quantiles_of_parts_are_those_of_the_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n_rows, thresholds = int(rng.integers(20, 4000)), int(rng.integers(1, 9))
    values = [
        rng.normal(size=n_rows),
        rng.integers(0, 40, n_rows).astype(float),
        np.where(rng.random(n_rows) < 0.6, 7.0, rng.normal(size=n_rows)),
        np.sign(rng.normal(size=n_rows)) * rng.lognormal(0, 200, n_rows).clip(1e-300, 1e300),
    ][seed % 4]
    weights = [np.ones(n_rows), rng.lognormal(size=n_rows), 10.0 ** rng.uniform(-12, 12, n_rows)][seed % 3]
    values[rng.random(n_rows) < 0.1] = np.nan
    expected = make_features(values[:, None], thresholds=thresholds, weights=weights).axes[0].gaps.held().below
    monkeypatch.setattr("certree.dask.survey.MOST_POINTS", 512)  # few points, and so several rounds
    ends = [0, *draw_ends(rng, n_rows, 5), n_rows]
    parts = []
    for part, (first, last) in enumerate(pairwise(ends)):
        table = read_table(values[first:last, None]) if last > first else None
        parts.append(Rows(part, table, last - first, weights[first:last], None, None, None, None))
    rounds = []
    exponent = find_exponent(exact_sum(weights))

    def ask(brackets: Any, most_points: int, sought: Any) -> dict[int, Any]:
        rounds.append(brackets)
        return decide([profile(rows, exponent, brackets, {}, most_points) for rows in parts], sought)

    found = find_quantiles([0], thresholds, len(parts), ask)
    assert found[0].tolist() == expected.tolist()
    assert len(rounds) < 12


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("arms", [0, 12])
def test_a_policy_in_parts_is_the_policy_in_memory(n_actions: int, arms: int) -> None:
    rng = np.random.default_rng(10 * n_actions + arms)
    X, _, weights = make_table(rng, 300, 2, "real")
    rewards = rng.normal(size=(300, n_actions)) + (X["many"].to_numpy() > 0)[:, None] * np.arange(n_actions)
    rewards = pd.DataFrame(rewards, columns=["wait", "letter", "visit"][:n_actions])
    treatment = pd.Series(rewards.columns.to_numpy()[rng.integers(0, n_actions, 300)])
    settings: dict[str, Any] = {"max_depth": 2, "regularization": 0.01, "thresholds": 5, "min_samples_arm": arms}
    local = PolicyTree(**settings).fit(X, rewards, weights, treatment=treatment if arms else None)
    models = []
    for ends in ([], [7, 7, 190]):
        model = DaskPolicyTree(**settings).fit(
            cut(X, ends), cut(rewards, ends), cut(pd.Series(weights), ends), cut(treatment, ends) if arms else None
        )
        models.append(model)
    assert_same(*models)
    assert models[0].status_ == "optimal"
    assert models[0].objective_ == pytest.approx(local.objective_, rel=1e-12)
    assert models[0].value_ == pytest.approx(local.value_, rel=1e-12)
    places = [pd.Index(rewards.columns).get_indexer(model.predict(X)) for model in (models[0].to_local(), local)]
    costs = [count_cost(local, chosen, rewards.to_numpy(), weights) for chosen in places]
    assert costs[0] == costs[1]
    assert models[0].tree_.rewards[0] == pytest.approx(local.tree_.rewards[0], rel=1e-9)
    codes = pd.Index(rewards.columns).get_indexer(treatment) if arms else None
    verdict = certify.check(
        models[0].certificate_, models[0].tree_, X, sample_weight=weights, rewards=rewards, arms=codes
    )
    assert verdict.holds, verdict.failures
    verdict = certify.check(
        models[0].certificate_, models[0].tree_, cut(X, [50]), sample_weight=cut(pd.Series(weights), [50]),
        rewards=cut(rewards, [50]), arms=cut(treatment, [50]) if arms else None,
    )  # fmt: skip
    assert verdict.holds, verdict.failures
    assert verdict.value == models[0].value_
    assert models[0].to_local().predict(X).tolist() == models[0].predict(cut(X, [50])).compute().tolist()


# Deeper ---------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    "settings",
    [
        {"max_depth": 4},
        {"max_depth": None, "regularization": 0.035},
        {"max_depth": 4, "max_leaves": 6, "min_samples_leaf": 12},
        {"max_depth": 4, "min_weight_leaf": 30.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_deeper_trees_of_gathered_rows_are_exact(settings: dict[str, Any], n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    X, y, weights = make_table(rng, 200, n_labels, "real")
    X = X[["few", "flag", "word", "gaps"]]
    settings = {"regularization": 0.004, "thresholds": 3, **settings}
    local = SparseTreeClassifier(**settings).fit(X, y, weights)
    models = [
        DaskSparseTreeClassifier(**settings).fit(cut(X, ends), cut(y, ends), cut(pd.Series(weights), ends))
        for ends in ([], [20, 20, 150])
    ]
    assert_equals_memory(models[0], local)
    assert_same(*models)
    assert "gathered_rows" in models[0].statistics_
    verdict = certify.check(models[0].certificate_, models[0].tree_, X, y, weights)
    assert verdict.holds, verdict.failures


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("n_actions", [2, 3])
def test_deeper_policies_of_gathered_rows_are_exact(n_actions: int) -> None:
    rng = np.random.default_rng(60 + n_actions)
    X, _, weights = make_table(rng, 200, 2, "real")
    X = X[["few", "flag", "word"]]
    rewards = pd.DataFrame(rng.normal(size=(200, n_actions)) + X[["few"]].to_numpy() * np.arange(n_actions) / 3)
    treatment = pd.Series(rng.integers(0, n_actions, 200))
    settings: dict[str, Any] = {"max_depth": 4, "regularization": 0.002, "thresholds": 4, "min_samples_arm": 3}
    local = PolicyTree(**settings).fit(X, rewards, weights, treatment=treatment)
    ends = [30, 30, 120]
    model = DaskPolicyTree(**settings).fit(*(cut(own, ends) for own in (X, rewards, pd.Series(weights), treatment)))
    assert "gathered_rows" in model.statistics_
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-12)
    assert model.n_leaves_ > 4


@pytest.mark.usefixtures("plain")
def test_rows_that_do_not_fit_are_grown_by_lookahead() -> None:
    rng = np.random.default_rng(3)
    X, y, weights = make_table(rng, 300, 2, "real")
    ends, settings = [100, 180], {"regularization": 0.002, "thresholds": 4}
    parts = cut(X, ends), cut(y, ends), cut(pd.Series(weights), ends)
    shallow = DaskSparseTreeClassifier(3, **settings).fit(*parts)
    for depth in (4, 5, None):
        best = SparseTreeClassifier(depth, **settings).fit(X, y, weights) if depth == 4 else None
        model = DaskSparseTreeClassifier(depth, gather_limit=100, **settings).fit(*parts)
        assert model.status_ == "approximate"
        assert model.objective_ <= shallow.objective_
        assert model.lower_bound_ == pytest.approx(min(shallow.objective_, 5 * 0.002))
        if best is not None:
            assert model.lower_bound_ <= best.objective_ <= model.objective_ + 1e-12
            assert model.depth_ == 4
        assert "lookahead" in model.certificate_.guarantees["growth"]["statement"]
        verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
        assert verdict.holds, verdict.failures
        again = DaskSparseTreeClassifier(depth, gather_limit=100, **settings).fit(
            cut(X, []), cut(y, []), cut(pd.Series(weights), [])
        )
        assert_same(model, again)
    # Where five leaves cost more than the best tree of depth three, it is the best of any depth.
    proved = DaskSparseTreeClassifier(6, 0.2, thresholds=4, gather_limit=0).fit(*parts)
    assert proved.status_ == "optimal"
    with pytest.raises(ValueError, match="max_leaves cannot be combined"):
        DaskSparseTreeClassifier(4, 0.002, thresholds=4, max_leaves=6, gather_limit=0).fit(*parts)


class Weighing(PlainClient):
    """A client that weighs all results that may travel: those of small tasks, and what it gathers."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def gather(self, futures: Any) -> list[Any]:
        self.n_bytes += sum(len(pickle.dumps(future.value)) for future in futures)
        return super().gather(futures)

    def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Any:
        done = super().submit(function, *arguments, pure=pure)
        self.n_bytes += len(pickle.dumps(done.value))
        return done


def test_what_travels_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certree.dask.survey.MOST_POINTS", 512)
    sizes = {}
    for n_rows in (2_000, 20_000):
        rng = np.random.default_rng(9)
        X, y = rng.normal(size=(n_rows, 4)), rng.integers(0, 3, n_rows)
        client, chunks = Weighing(), n_rows // 4
        monkeypatch.setattr("certree.dask.estimators.default_client", lambda own=client: own)
        DaskSparseTreeClassifier(3, 0.01, thresholds=7).fit(
            da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=chunks)
        )
        sizes[n_rows] = client.n_bytes
    assert sizes[20_000] < 1.5 * sizes[2_000]  # one more round of quantiles at most


def test_a_partition_waits_for_nothing_but_itself() -> None:
    """Else the scheduler may have many partitions read before it can do anything with them."""
    array = da.zeros((400, 3), chunks=(20, 3))
    tree = SparseTreeClassifier(1).fit([[0], [1]], [0, 1]).tree_
    tasks = lazy(collect_parts(array, y=array[:, 0]), weigh_rows, Task(("a", "b", "c"), False), tree, None)
    for part, task in enumerate(tasks):
        dependencies = task.dask.cull({task.key}).get_all_dependencies()
        sources = [key for key, own in dependencies.items() if not own]
        assert sources
        assert all(isinstance(key, tuple) and key[1] == part for key in sources)


@pytest.mark.usefixtures("plain")
def test_a_memory_limit_makes_smaller_blocks() -> None:
    rng = np.random.default_rng(8)
    X, y, _ = make_table(rng, 200, 3, "none")
    parts = cut(X, [90]), cut(y, [90])
    large = DaskSparseTreeClassifier(3, 0.004, thresholds=5).fit(*parts)
    small = DaskSparseTreeClassifier(3, 0.004, thresholds=5, memory_limit=12 * 6000).fit(*parts)
    assert small.statistics_["blocks"] > large.statistics_["blocks"]
    assert json.dumps(small.tree_.to_dict()) == json.dumps(large.tree_.to_dict())
    with pytest.raises(ValueError, match=r"the sums over columns 'many', .* take \d+ bytes.*thresholds below 5"):
        DaskSparseTreeClassifier(3, 0.004, thresholds=5, memory_limit=100).fit(*parts)


# What is wrong --------------------------------------------------------------------------------------------------------


def make_frames() -> tuple[list[Any], list[Any], list[Any]]:
    rng = np.random.default_rng(2)
    X, y, weights = make_table(rng, 60, 2, "real")
    rows = [slice(0, 20), slice(20, 40), slice(40, 60)]
    return [X.iloc[own] for own in rows], [y.iloc[own] for own in rows], [pd.Series(weights).iloc[own] for own in rows]


def spoil(frame: Any, column: str, row: int, value: Any) -> Any:
    values = frame[column].astype(object)
    values.iloc[row] = value
    return frame.assign(**{column: values})


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("columns", r"partition 1: its columns are 'many', .* but those of X are"),
        (
            "text",
            r"partition 2, column 'many': 'oops' in row 3 \(index 43\) is not a number, but partition 0 holds numbers",
        ),
        ("infinity", r"partition 1: Input X contains infinity: column 'gaps', row 4 \(index 24\)"),
        ("order", r"partition 2, column 'size': its categories are declared as \('XL', 'S', 'M', 'L'\)"),
        ("kind", r"partition 1, column 'flag': 'yes' in row 0 \(index 20\) is not a boolean, but partition 0 holds"),
        ("mixture", r"partition 1, column 'flag': it holds objects, but partition 0 holds booleans"),
        ("nan weight", r"partition 2: sample_weight is NaN in row 7 \(index 47\)"),
        ("text weight", r"partition 2: sample_weight must hold numbers: row 7 \(index 47\) has 'heavy'"),
        ("weights", r"partition 1: sample_weight has 19 rows, but X has 20"),
        ("missing label", r"partition 0: y is missing in row 2"),
        ("a number in y", r"partition 0: y has 'class \d' in row 0, but in partition 1 it has 3 in row 4 \(index 24\)"),
        ("numbers in y", r"partition 0: y has 'class \d' in row 0, but in partition 2 it has 0 in row 0 \(index 40\)"),
        ("partitions", r"y has 2 partitions, but X has 3: partition both alike"),
        ("zero", r"sample_weight is zero in every row"),
        ("empty", r"X has no rows in any partition"),
        ("dates", r"partition 1: column 'many' holds dates or times"),
    ],
)
def test_an_error_names_partition_column_and_row(what: str, message: str) -> None:
    X, y, weights = make_frames()
    if what == "columns":
        X[1] = X[1].drop(columns="word")
    elif what == "text":
        X[2] = spoil(X[2], "many", 3, "oops")
    elif what == "infinity":
        X[1] = X[1].assign(gaps=X[1]["gaps"].where(X[1].index != 24, np.inf))
    elif what == "order":
        X[2] = X[2].assign(size=X[2]["size"].cat.reorder_categories(["XL", "S", "M", "L"]))
    elif what == "kind":
        X[1] = X[1].assign(flag="yes")
    elif what == "mixture":
        X[1] = spoil(X[1], "flag", 3, 7)
    elif what == "nan weight":
        weights[2] = weights[2].where(weights[2].index != 47)
    elif what == "text weight":
        weights[2] = weights[2].astype(object).where(weights[2].index != 47, "heavy")
    elif what == "a number in y":
        y[1] = y[1].where(y[1].index != 24, 3)
    elif what == "numbers in y":
        y[2] = pd.Series(range(20), index=y[2].index)
    elif what == "weights":
        weights[1] = weights[1].iloc[:-1]
    elif what == "missing label":
        y[0] = y[0].where(y[0].index != 2)
    elif what == "partitions":
        y = y[:2]
    elif what == "zero":
        weights = [own * 0 for own in weights]
    elif what == "empty":
        X, y, weights = ([own.iloc[:0] for own in frames] for frames in (X, y, weights))
    elif what == "dates":
        X[1] = X[1].assign(many=pd.Timestamp("2024-01-01"))
    with pytest.raises(ValueError, match=message):
        DaskSparseTreeClassifier(1).fit(from_frames(X), from_frames(y), from_frames(weights))


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("has_index", [True, False])
def test_rows_behind_rows_of_weight_zero_keep_their_numbers(has_index: bool) -> None:
    X, y, weights = make_frames()
    if not has_index:
        X, y, weights = ([own.reset_index(drop=True) for own in frames] for frames in (X, y, weights))
    weights[1] = weights[1].where(np.arange(20) > 4, 0.0)
    where = r"row 7 \(index 27\)" if has_index else r"row 7(?! \()"
    labels, amounts = from_frames(y), from_frames(weights)
    infinite = [X[0], X[1].assign(gaps=X[1]["gaps"].where(np.arange(20) != 7, np.inf)), X[2]]
    with pytest.raises(ValueError, match=rf"partition 1: Input X contains infinity: column 'gaps', {where}"):
        DaskSparseTreeClassifier(1).fit(from_frames(infinite), labels, amounts)
    with pytest.raises(ValueError, match=rf"partition 1, column 'many': 'oops' in {where} is not a number"):
        DaskSparseTreeClassifier(1).fit(from_frames([X[0], spoil(X[1], "many", 7, "oops"), X[2]]), labels, amounts)


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("label", "message"),
    [
        (3, r"partition 1: y has 'class \d' in row 0 \(index 20\), but 3 in row 4 \(index 24\)"),
        ([3], r"partition 1: y holds a value of type list in row 4 \(index 24\), but labels are"),
        (np.zeros(2), r"partition 1: y holds a value of type ndarray in row 4 \(index 24\), but labels are"),
    ],
)
def test_a_strange_label_within_a_partition_is_named(label: Any, message: str) -> None:
    X, y, _ = make_frames()
    labels = pd.Series([*y[1].iloc[:4], label, *y[1].iloc[5:]], index=y[1].index, dtype=object)
    with pytest.raises(ValueError, match=message):
        DaskSparseTreeClassifier(1).fit(from_frames([X[0].iloc[:0], X[1]]), from_frames([y[0].iloc[:0], labels]))


@pytest.mark.usefixtures("plain")
def test_rewards_that_are_too_large_are_named_behind_rows_of_weight_zero() -> None:
    X, _, _ = make_frames()
    # Where all actions are worth the same, nothing but the best reward is too large.
    rewards = pd.DataFrame({"a": 1.0, "b": 1.0}, index=X[1].index)
    rewards.iloc[7] = 1e308
    weights = pd.Series(np.where(np.arange(20) > 4, 10.0, 0.0), index=X[1].index)
    with pytest.raises(ValueError, match=r"partition 0: rewards times sample_weight .* row 7 \(index 27\) has 1e\+308"):
        DaskPolicyTree(1).fit(from_frames(X[1:2]), from_frames([rewards]), from_frames([weights]))


@pytest.mark.usefixtures("plain")
def test_weights_without_an_index_have_that_of_the_table() -> None:
    X, y, _ = make_frames()
    weights = da.from_array(np.where(np.arange(60) == 27, np.nan, 1.0), chunks=20)
    with pytest.raises(ValueError, match=r"partition 1: sample_weight is NaN in row 7 \(index 27\)"):
        DaskSparseTreeClassifier(1).fit(from_frames(X), from_frames(y), weights)


def test_the_first_partition_that_fails_is_named_once() -> None:
    """Whichever failure is raised."""

    class Failed:
        status = "error"

        def __init__(self, error: Exception) -> None:
            self.error = error

        def exception(self) -> Exception:
            return self.error

    futures = [Failed(ValueError("partition 0: y is missing in row 2")), Failed(KeyError("dollars"))]
    with pytest.raises(ValueError, match=r"^partition 0: y is missing in row 2$"), naming(futures):
        raise futures[1].error
    with pytest.raises(ValueError, match=r"^partition 0 cannot be computed: KeyError: 'dollars'$"), naming(futures[1:]):
        raise futures[1].error


@pytest.mark.usefixtures("plain")
def test_wrong_rewards_and_arms_are_named() -> None:
    X, _, _ = make_frames()
    rewards = [pd.DataFrame({"a": range(20), "b": 1.0}, index=own.index) for own in X]
    arms = [pd.Series(["a", "b"] * 10, index=own.index) for own in X]
    bad = [rewards[0], rewards[1].assign(b=rewards[1]["b"].where(rewards[1].index != 21)), rewards[2]]
    with pytest.raises(ValueError, match=r"partition 1: rewards contains NaN: row 1 \(index 21\), action 'b'"):
        DaskPolicyTree(1).fit(from_frames(X), from_frames(bad))
    words = [rewards[0], rewards[1].astype(object), rewards[2]]
    words[1].iloc[4, 1] = "much"
    with pytest.raises(ValueError, match=r"partition 1: .* numbers: row 4 \(index 24\), action 'b' has 'much'"):
        DaskPolicyTree(1).fit(from_frames(X), from_frames(words))
    # Columns in another order would give every action the rewards of another one.
    turned = [rewards[0], rewards[1][["b", "a"]], rewards[2]]
    message = r"partition 1: its rewards have the columns 'b', 'a', but those of rewards are 'a', 'b'"
    with pytest.raises(ValueError, match=message):
        DaskPolicyTree(1).fit(from_frames(X), from_frames(turned))
    model = DaskPolicyTree(1).fit(from_frames(X), from_frames(rewards))
    with pytest.raises(ValueError, match=message):
        certify.check(model.certificate_, model.tree_, from_frames(X), rewards=from_frames(turned))
    strange = [arms[0], arms[1], arms[2].where(arms[2].index != 44, "c")]
    with pytest.raises(ValueError, match=r"partition 2: treatment: row 4 \(index 44\) has 'c', which is not one of"):
        DaskPolicyTree(1, min_samples_arm=1).fit(from_frames(X), from_frames(rewards), None, from_frames(strange))
    with pytest.raises(ValueError, match="min_samples_arm needs to know"):
        DaskPolicyTree(1, min_samples_arm=1).fit(from_frames(X), from_frames(rewards))
    lone = [own.replace("b", "a") for own in arms]
    with pytest.raises(ValueError, match="action 'b' has no rows"):
        DaskPolicyTree(1, min_samples_arm=1).fit(from_frames(X), from_frames(rewards), None, from_frames(lone))
    with pytest.raises(ValueError, match="a column per action"):
        DaskPolicyTree(1).fit(from_frames(X), from_frames(arms))


@pytest.mark.usefixtures("plain")
def test_tables_in_memory_are_for_the_other_classes() -> None:
    X, y, _ = make_frames()
    with pytest.raises(TypeError, match="X must be a dask DataFrame or a dask Array, not DataFrame"):
        DaskSparseTreeClassifier().fit(X[0], y[0])
    with pytest.raises(TypeError, match="y must be a dask collection"):
        DaskSparseTreeClassifier().fit(from_frames(X), y[0])
    with pytest.raises(ValueError, match="nothing else limits the tree"):
        DaskSparseTreeClassifier(None, 0.0).fit(from_frames(X), from_frames(y))
    model = DaskSparseTreeClassifier(1).fit(from_frames(X), from_frames(y))
    with pytest.raises(TypeError, match="to_local"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="need a table in memory"):
        certify.check(model.certificate_, model.tree_, from_frames(X), from_frames(y), prove_bound=True)
    whole = SparseTreeClassifier(1).fit(pd.concat(X), pd.concat(y))
    with pytest.raises(ValueError, match="a number of thresholds per column"):
        certify.check(whole.certificate_, whole.tree_, from_frames(X), from_frames(y))


# A cluster ------------------------------------------------------------------------------------------------------------


def test_a_real_cluster_gives_the_same_answer(client: Any) -> None:
    rng = np.random.default_rng(21)
    X, y, weights = make_table(rng, 2000, 2, "real")
    ends = [0, 400, 1000, 1001, 1700]
    parts = cut(X, ends), cut(y, ends), cut(pd.Series(weights), ends)
    model = DaskSparseTreeClassifier(3, 0.004, thresholds=8).fit(*parts)
    assert model.client_ is client
    assert_equals_memory(model, SparseTreeClassifier(3, 0.004, thresholds=8).fit(X, y, weights))
    # Lazy, and like what was given.
    labels, shares = model.predict(parts[0]), model.predict_proba(parts[0])
    assert isinstance(labels, dd.Series)
    local = model.to_local()
    assert labels.compute().equals(pd.Series(local.predict(X), index=X.index, dtype=labels.dtype))
    assert (shares.compute().to_numpy() == local.predict_proba(X)).all()
    assert (model.apply(parts[0]).compute().to_numpy() == local.apply(X)).all()
    assert model.score(*parts) == pytest.approx(local.score(X, y, weights))
    # Nothing of the client is in a pickle.
    again = pickle.loads(pickle.dumps(model))
    assert not hasattr(again, "client_")
    assert again.client is None
    assert_same(again, model)
    assert clone(DaskSparseTreeClassifier(2, client=client)).client is client
    # Arrays to arrays.
    numbers = X[["many", "few", "gaps"]].to_numpy(dtype=float)
    array = da.from_array(numbers, chunks=(700, 2))
    model = DaskSparseTreeClassifier(2, 0.004, thresholds=8, client=client).fit(
        array, da.from_array(y.to_numpy(), chunks=900), da.from_array(weights, chunks=2000)
    )
    assert_equals_memory(model, SparseTreeClassifier(2, 0.004, thresholds=8).fit(numbers, y, weights))
    found = model.predict(array)
    assert isinstance(found, da.Array)
    assert found.compute().tolist() == model.to_local().predict(numbers).tolist()
    assert (model.predict_proba(array).compute() == model.to_local().predict_proba(numbers)).all()
    # A deeper search, on a worker.
    parts = cut(X[["few", "flag", "word"]], ends), parts[1], parts[2]
    deep = DaskSparseTreeClassifier(4, 0.004, thresholds=8, verbose=1).fit(*parts)
    assert_equals_memory(deep, SparseTreeClassifier(4, 0.004).fit(X[["few", "flag", "word"]], y, weights))
    # A certificate is checked where the rows lie.
    verdict = certify.check(deep.certificate_, deep.tree_, *parts)
    assert verdict.holds, verdict.failures


def test_a_real_cluster_gives_the_same_policy(client: Any) -> None:
    rng = np.random.default_rng(22)
    X, _, weights = make_table(rng, 600, 2, "real")
    rewards = pd.DataFrame(rng.normal(size=(600, 3)) + (X[["many"]].to_numpy() > 0) * np.arange(3))
    treatment = pd.Series(rng.integers(0, 3, 600))
    ends = [0, 250, 251]
    parts = cut(X, ends), cut(rewards, ends), cut(pd.Series(weights), ends), cut(treatment, ends)
    model = DaskPolicyTree(2, 0.01, thresholds=5, min_samples_arm=40).fit(*parts)
    local = PolicyTree(2, 0.01, thresholds=5, min_samples_arm=40).fit(X, rewards, weights, treatment=treatment)
    assert local.value_ < PolicyTree(2, 0.01, thresholds=5).fit(X, rewards, weights).value_  # the minimum matters
    assert model.client_ is client
    assert (model.status_, model.objective_) == ("optimal", pytest.approx(local.objective_, rel=1e-12))
    found = model.predict(parts[0])
    assert isinstance(found, dd.Series)
    assert found.compute().tolist() == model.to_local().predict(X).tolist()
    verdict = certify.check(
        model.certificate_, model.tree_, parts[0], sample_weight=parts[2], rewards=parts[1], arms=parts[3]
    )
    assert verdict.holds, verdict.failures


def test_threads_are_those_of_the_workers() -> None:
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=3, dashboard_address=":0") as own:
        assert own.submit(fitting._count_threads).result() == 3
        futures = own.map(abs, range(7))
        distributed.wait(futures)
        assert sorted(map(len, Crew(own).group(futures))) == [2, 2, 3]


@pytest.mark.parametrize(
    "seed", [case if case in (1, 3, 4) else pytest.param(case, marks=pytest.mark.long) for case in range(len(CASES))]
)
def test_a_real_cluster_fits_random_tables_as_memory_does(client: Any, seed: int) -> None:
    settings = {"max_depth": 3, "thresholds": 6, "regularization": 0.004, **CASES[seed]}
    rng = np.random.default_rng(100 + seed)
    X, y, weights = make_table(rng, 300, settings.pop("n_labels"), settings.pop("weights"))
    # Partitions hold different words, and those that declare categories declare their own.
    X = X.sort_values("word", ignore_index=True)
    local = SparseTreeClassifier(**settings).fit(X.astype({"word": "category"}), y, weights)
    ends = draw_ends(rng, len(X), 5)
    frames = [X.iloc[first:last].astype({"word": "category"}) for first, last in pairwise([0, *ends, len(X)])]
    given = None if weights is None else cut(pd.Series(weights), ends)
    model = DaskSparseTreeClassifier(**settings).fit(from_frames(frames), cut(y, ends), given)
    assert_equals_memory(model, local)
    costs = [count_cost(own, own.predict(X), y, weights) for own in (model.to_local(), local)]
    assert costs[0] == costs[1]


@pytest.mark.usefixtures("client")
def test_a_real_cluster_names_what_is_wrong_with_a_partition() -> None:
    X, y, weights = make_frames()
    labels, amounts = from_frames(y), from_frames(weights)
    bad: list[tuple[list[Any], list[Any], str]] = [
        (
            [X[0], X[1].drop(columns="word"), X[2]],
            weights,
            r"partition 1: its columns are 'many', .* but those of X are",
        ),
        (
            [X[0], X[1], spoil(X[2], "many", 3, "oops")],
            weights,
            r"partition 2, column 'many': 'oops' in row 3 \(index 43",
        ),
        (X, [weights[0].where(weights[0].index != 7), *weights[1:]], r"partition 0: sample_weight is NaN in row 7"),
    ]
    for frames, own, message in bad:
        with pytest.raises(ValueError, match=message):
            DaskSparseTreeClassifier(1).fit(from_frames(frames), labels, from_frames(own))
    # Where a table is taken apart into columns, Dask itself misses one of them.
    whole = [frame.assign(label=label, dollars=own) for frame, label, own in zip(X, y, weights, strict=True)]
    for column in ("few", "dollars"):
        table = from_frames([*whole[:2], whole[2].drop(columns=column)])
        parts = table.drop(columns=["label", "dollars"]), table["label"], table["dollars"]
        with pytest.raises(ValueError, match=rf"partition 2 cannot be computed: KeyError: .*'{column}'"):
            DaskSparseTreeClassifier(1).fit(*parts)
    # The cluster is none the worse for it.
    assert DaskSparseTreeClassifier(1).fit(from_frames(X), labels, amounts).status_ == "optimal"


class Deadly:
    """A function whose worker is killed in the middle of its first call."""

    def __init__(self, name: str, mark: Path) -> None:
        self.name = name
        self.mark = mark

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        module, _, name = self.name.rpartition(".")
        found = getattr(importlib.import_module(module), name)(*arguments, **named)
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return None


SHALLOW: dict[str, Any] = {"max_depth": 3}
GATHERED: dict[str, Any] = {"max_depth": 4}
GROWN: dict[str, Any] = {"max_depth": 5, "gather_limit": 100}
WORK = [  # every kind of work that a worker is asked for
    ("certree.dask.fitting.survey", SHALLOW),
    ("certree.dask.fitting.profile", SHALLOW),
    ("certree.dask.fitting.pick", SHALLOW),
    ("certree.dask.fitting.decide", SHALLOW),
    ("certree.dask.work.code_rows", SHALLOW),
    ("certree.dask.work.facts_of", SHALLOW),
    ("certree.dask.work.sum_parts", SHALLOW),
    ("certree.dask.work.add_sums", SHALLOW),
    ("certree.dask.crew.weigh_cells", SHALLOW),
    ("certree.dask.work.weigh_rows", SHALLOW),
    ("certree.dask.work.merge_parts", GATHERED),
    ("certree.dask.work.join_merged", GATHERED),
    ("certree.dask.fitting._search", GATHERED),
    ("certree.dask.work.sum_leaves", GROWN),
]


@pytest.mark.parametrize("asked", [SHALLOW, GATHERED, GROWN], ids=str)
def test_every_kind_of_work_is_among_those_that_a_worker_dies_at(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    seen: set[str] = set()

    class Watching(PlainClient):
        def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Any:
            seen.add(getattr(function, "func", function).__name__)
            return super().submit(function, *arguments, pure=pure)

    def watch(collections: Any, function: Any, *more: Any) -> Any:
        seen.add(function.__name__)
        return lazy(collections, function, *more)

    monkeypatch.setattr(fitting, "lazy", watch)
    monkeypatch.setattr("certree.dask.estimators.default_client", Watching)
    X, y, _ = make_table(np.random.default_rng(30), 600, 2, "none")
    given = cut(X[["many", "few", "flag", "gaps"]], [200, 400]), cut(y, [200, 400])
    DaskSparseTreeClassifier(regularization=0.004, thresholds=4, **asked).fit(*given)
    assert seen <= {name.rpartition(".")[2] for name, _ in WORK}
    assert {name.rpartition(".")[2] for name, own in WORK if own in (SHALLOW, asked)} <= seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        pytest.param(name, asked, marks=() if name.endswith(("sum_parts", "sum_leaves")) else pytest.mark.long)
        for name, asked in WORK
    ],
)
@pytest.mark.usefixtures("doomed_client")
def test_a_worker_that_dies_at_work_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, asked: dict[str, Any]
) -> None:
    rng = np.random.default_rng(30)
    X, y, weights = make_table(rng, 600, 2, "real")
    ends, settings = [200, 400], {"regularization": 0.004, "thresholds": 4, **asked}
    columns = ["many", "few", "flag", "gaps"]
    parts = cut(X[columns], ends), cut(y, ends), cut(pd.Series(weights), ends)
    if name.endswith(("add_sums", "join_merged")):
        # One worker may hold all partitions, and then there are no groups to join.
        monkeypatch.setattr(Crew, "group", lambda _, futures: [[future] for future in futures])
    calm = DaskSparseTreeClassifier(**settings).fit(*parts)
    monkeypatch.setattr(name, Deadly(name, tmp_path / "died"))
    model = DaskSparseTreeClassifier(**settings).fit(*parts)
    assert (tmp_path / "died").exists()
    assert_same(model, calm)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("max_depth", [3, pytest.param(4, marks=pytest.mark.long)])
def test_a_worker_that_dies_with_its_coded_rows_changes_nothing(
    doomed_client: Any, monkeypatch: pytest.MonkeyPatch, max_depth: int
) -> None:
    rng = np.random.default_rng(31)
    X, y, _ = make_table(rng, 600, 3, "none")
    ends, settings = [200, 400, 500], {"max_depth": max_depth, "regularization": 0.004, "thresholds": 4}
    parts = cut(X, ends), cut(y, ends)
    calm = DaskSparseTreeClassifier(**settings).fit(*parts)
    group = Crew.group
    killed = []

    def group_and_kill(crew: Crew, futures: Any) -> Any:
        groups = group(crew, futures)
        holders = doomed_client.who_has(list(futures))
        address = next(iter(holders[futures[0].key]))
        pid = doomed_client.run(os.getpid, workers=[address])[address]
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
        return groups

    monkeypatch.setattr(Crew, "group", group_and_kill)
    model = DaskSparseTreeClassifier(**settings).fit(*parts)
    assert killed
    assert_same(model, calm)


def describe_path(path: Any) -> tuple[Any, ...]:
    return str(path), [point.tree.to_dict() for point in path]


@pytest.mark.parametrize("what", ["scores", "policy.evaluate", "evaluate", "path", "policy path"])
def test_joblib_spreads_folds_and_paths_over_the_cluster(client: Any, what: str) -> None:
    rng = np.random.default_rng(50)
    X = rng.normal(size=(300, 3)).round(1)
    treatment = rng.integers(0, 2, 300)
    outcome = (X[:, 0] > 0) * treatment + rng.normal(size=300)
    y = (X[:, 1] + rng.normal(size=300) > 0).astype(int)
    models: dict[str, Any] = {"outcome_model": LinearRegression(), "propensity_model": LogisticRegression()}
    folds: dict[str, Any] = {"folds": 3, "random_state": 0, **models}
    work: dict[str, Callable[[], Any]] = {
        "scores": lambda: policy.doubly_robust(X, treatment, outcome, **folds).rewards.tolist(),
        "policy.evaluate": lambda: str(policy.evaluate(PolicyTree(1), X, treatment, outcome, repeats=1, **folds)),
        "evaluate": lambda: str(certree.evaluate(SparseTreeClassifier(1), X, y, cv=3)),
        "path": lambda: describe_path(certree.regularization_path(X, y, max_depth=2)),
        "policy path": lambda: describe_path(
            policy.regularization_path(X, np.column_stack((0 * outcome, outcome)), max_depth=2)
        ),
    }
    alone = work[what]()
    done = client.run_on_scheduler(count_transitions)
    with joblib.parallel_config(backend="dask"):
        spread = work[what]()
    assert client.run_on_scheduler(count_transitions) > done  # how many depends on how joblib batches them
    assert spread == alone


class DeadlyModel(LinearRegression):  # type: ignore[misc]
    """A model whose worker is killed in the middle of the first fit."""

    def __init__(self, mark: str = "", client_pid: int = 0) -> None:
        super().__init__()
        self.mark = mark
        self.client_pid = client_pid

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if os.getpid() != self.client_pid and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y, sample_weight)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("doomed_client")
def test_a_worker_that_dies_at_a_fold_changes_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(51)
    X, treatment = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    outcome = (X[:, 0] > 0) * treatment + rng.normal(size=300)
    models: dict[str, Any] = {
        "outcome_model": DeadlyModel(str(tmp_path / "died"), os.getpid()), "propensity_model": LogisticRegression(),
    }  # fmt: skip
    settings: dict[str, Any] = {"folds": 3, "random_state": 0, **models}
    alone = policy.doubly_robust(X, treatment, outcome, **settings).rewards
    assert not (tmp_path / "died").exists()
    with joblib.parallel_config(backend="dask"):
        spread = policy.doubly_robust(X, treatment, outcome, **settings).rewards
    assert (tmp_path / "died").exists()
    assert (spread == alone).all()


def count_transitions(dask_scheduler: Any) -> int:
    return int(dask_scheduler.transition_counter)


@pytest.mark.usefixtures("client")
def test_a_search_among_jobs_of_a_cluster_has_one_thread() -> None:
    with joblib.parallel_config(n_jobs=3):
        assert count_threads(None) == 3
    with joblib.parallel_config(backend="dask"):
        assert joblib.effective_n_jobs() == 2
        assert (count_threads(None), count_threads(2), count_threads(-1)) == (1, 2, joblib.cpu_count())
        assert joblib.Parallel()(joblib.delayed(count_threads)(None) for _ in range(3)) == [1, 1, 1]


def test_the_command_line_fits_parquet_in_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], client: Any
) -> None:
    X, y, weights = make_table(np.random.default_rng(40), 300, 2, "real")
    folder = tmp_path / "table.parquet"
    folder.mkdir()
    frame = X.drop(columns="size").assign(label=y, dollars=weights, id=range(300))
    frame[:120].to_parquet(folder / "0.parquet")
    frame[120:].to_parquet(folder / "1.parquet")
    options = ["--label", "label", "--weight", "dollars", "--ignore", "id", "--regularization", "0.004"]
    given = ["fit", str(folder), *options, "--thresholds", "5", "--dask", client.scheduler.address]
    assert cli.main([*given, "--progress", "--out", str(tmp_path / "model.json")]) == 0
    said = capsys.readouterr()
    assert "proved optimal" in said.out
    assert f"{folder}: 300 rows, columns read as\n" in said.err
    for step in ("survey", "quantiles", "codes", "sums", "weigh"):
        assert step in said.err  # a bar for every pass
    assert cli.main([*given, "--forbid", "few <= 1e9"]) == 0
    assert "forbidden test “few <= 1,000,000,000” forbids nothing: all rows give it the same" in capsys.readouterr().err
    model = certree.load(tmp_path / "model.json")
    local = SparseTreeClassifier(3, 0.004, thresholds=5).fit(X.drop(columns="size"), y, weights)
    assert model.objective_ == pytest.approx(local.objective_, rel=1e-12)
    for wrong, message in (
        (["--method", "sample"], "--method needs the table in memory"),
        (["--depth", "guess"], "--depth guess needs the table in memory"),
        (["--ignore", "nothing"], "has no column 'nothing'"),
    ):
        assert cli.main([*given, *wrong]) == 2
        assert message in capsys.readouterr().err
    assert cli.main(["fit", str(tmp_path / "table.csv"), *options, "--dask"]) == 2
    assert "--dask reads Parquet files" in capsys.readouterr().err


@pytest.mark.long
def test_the_command_line_starts_a_cluster_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, _ = make_table(np.random.default_rng(41), 300, 2, "none")
    X.drop(columns="size").assign(label=y).to_parquet(tmp_path / "table.parquet")
    options = ["--label", "label", "--regularization", "0.004", "--thresholds", "5", "--dask", "--jobs", "2"]
    assert cli.main(["fit", str(tmp_path / "table.parquet"), *options, "--out", str(tmp_path / "model.json")]) == 0
    assert "proved optimal" in capsys.readouterr().out
    local = SparseTreeClassifier(3, 0.004, thresholds=5).fit(X.drop(columns="size"), y)
    assert certree.load(tmp_path / "model.json").objective_ == pytest.approx(local.objective_, rel=1e-12)


def read_peak() -> int:
    """Bytes that a worker has held at most."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.long
def test_the_command_line_fits_more_than_memory_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1.2 GB on a worker that is ended where it holds nearly 1 GB."""
    folder = tmp_path / "table.parquet"
    folder.mkdir()
    n_parts, n_rows, n_columns = 75, 50_000, 40
    for part in range(n_parts):
        rng = np.random.default_rng(part)
        frame = pd.DataFrame(rng.normal(size=(n_rows, n_columns)), columns=[f"c{place}" for place in range(n_columns)])
        label = ((frame["c3"] > 0.1) & (frame["c7"] < 0.2)) ^ (rng.random(n_rows) < 0.1)
        frame.assign(label=label.astype(int)).to_parquet(folder / f"{part}.parquet")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit="1GB"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        options = ["--label", "label", "--depth", "1", "--thresholds", "9", "--regularization", "0.01"]
        assert cli.main(["fit", str(folder), *options, "--dask", client.scheduler.address]) == 0
        assert not client.get_events("worker-restart-memory")
        peak = max(client.run(read_peak).values())
    said = capsys.readouterr()
    assert "proved optimal" in said.out
    assert f"{n_parts * n_rows:,} rows" in said.err
    assert peak < 1e9 < 8 * n_parts * n_rows * n_columns


def test_dask_is_imported_only_where_it_is_asked_for() -> None:
    code = "import sys, certree; certree.SparseTreeClassifier, certree.certify; print('dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
