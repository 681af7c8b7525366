"""Trees that must begin with a start or may not ask a test: against every tree of tiny tables, one by one."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from all_trees import AllTrees, Listed, TooManyError
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from random_problems import CONSTRAINTS, Table, tables
from sklearn.base import clone
from test_tree_set import TOLERANCES, check_members, check_row_facts, is_sensible

import certree
from certree import Limits, PolicyTree, Problem, SparseTreeClassifier, certify, evaluate, load, policy, solve
from certree.datasets import load_lalonde
from certree.features import make_features
from certree.prove import prove
from certree.tree import Column, EditError, Test, read_test, write_test
from certree.tree_set import find_tree_set, good_trees

SMALL: dict[str, Any] = {"depths": (1, 2, 2, 3, 3, 4, None), "shrink": 0.3}


# Against enumeration -------------------------------------------------------------------------------------------------


@dataclass
class Edits:
    """Edits of a table, as the package takes them and as the oracle does."""

    start: Any
    forbidden: Any
    oracle: dict[str, Any]


def draw_test(rng: np.random.Generator, problem: Problem) -> tuple[Test, int]:
    """A test of the table and the rows where it holds, its threshold anywhere between the two values."""
    axes = problem.features.axes
    axis = int(rng.integers(len(axes)))
    n_tests = axes[axis].size if axes[axis].is_categorical else axes[axis].size - 1
    code = int(rng.integers(n_tests))
    test = problem.features.question(axis, code)
    if test.threshold is not None and rng.random() < 0.5:
        values = np.asarray(problem.features.table.columns[axes[axis].column])
        test = replace(test, threshold=float(values[values <= test.threshold].max()))
    values = test.column.read(problem.features.table.columns[axes[axis].column], problem.features.table)
    return test, sum(1 << int(row) for row in np.flatnonzero(test.holds(values)))


def draw_start(rng: np.random.Generator, problem: Problem, depth: int) -> tuple[Any, Any]:
    test, holds = draw_test(rng, problem)
    sides = []
    for _ in range(2):
        kind = rng.random()
        if depth > 1 and kind < 0.4:
            sides.append(draw_start(rng, problem, depth - 1))
        else:
            sides.append(("leaf", "leaf") if kind < 0.55 else (None, "open"))
    if rng.random() < 0.3 and all(given is None for given, _ in sides):
        return test.text, (holds, "open", "open")
    if rng.random() < 0.3:
        # The opposite test, with the sides the other way round.
        plain = {"test": test.describe(holds=False), "left": sides[1][0], "right": sides[0][0]}
    else:
        plain = {**write_test(test), "left": sides[0][0], "right": sides[1][0]}
    return plain, (holds, sides[0][1], sides[1][1])


def draw_edits(seed: int, table: Table) -> Edits:
    rng, problem = np.random.default_rng(seed), table.problem
    assume(problem.features.axes)
    columns = [column.name for column in problem.features.columns]
    start, oracle_start = draw_start(rng, problem, int(rng.integers(1, 3))) if rng.random() < 0.7 else (None, "open")
    forbidden: list[Any] = []
    oracle_forbidden: list[Any] = []
    for _ in range(int(rng.integers(0, 4))):
        test, holds = draw_test(rng, problem)
        place = columns.index(test.column.name)
        if rng.random() < 0.2:
            forbidden.append(test.column.name if rng.random() < 0.5 else place)
            oracle_forbidden.append(place)
        else:
            forbidden.append((test, test.text, test.describe(holds=False), write_test(test))[rng.integers(4)])
            oracle_forbidden.append((place, holds))
    return Edits(start, forbidden or None, {"start": oracle_start, "forbidden": oracle_forbidden})


def edit(table: Table, edits: Edits) -> Problem:
    features = make_features(table.X, forbidden=edits.forbidden)
    return replace(table, X=features, settings={**table.settings, "start": edits.start}).problem


def asks_forbidden(oracle: AllTrees, start: Any, problem: Problem, forbidden: list[Any]) -> bool:
    """Whether a start has a test of a forbidden column, or one that parts all rows as a forbidden test does."""
    branches = [] if start is None else list(certree.start.read_start(start, problem.features.columns).branches())
    table = problem.features.table
    for branch in branches:
        holds = branch.test.holds(branch.test.column.read(table.columns[branch.column], table))
        mask = sum(1 << int(row) for row in np.flatnonzero(holds))
        for entry in forbidden:
            if entry == branch.column:
                return True
            if not isinstance(entry, int) and entry[0] == branch.column and entry[1] in (mask, oracle.rows & ~mask):
                return True
    return False


def check_fit(table: Table, seed: int) -> None:
    edits = draw_edits(seed, table)
    # Rows of weight zero are in no problem, and the oracle must see the tests of the problem's own rows.
    plain = table.problem
    oracle = AllTrees(plain, **edits.oracle)
    is_possible = oracle.admits_start() if edits.start is not None else True
    is_possible = is_possible and not asks_forbidden(oracle, edits.start, plain, edits.oracle["forbidden"])
    try:
        problem = edit(table, edits)
    except EditError:
        assert not is_possible
        return
    assert is_possible
    solution = solve(problem)
    assert solution.is_optimal
    assert solution.upper == pytest.approx(float(certify.enumerate_optimum(problem)), rel=1e-9, abs=1e-12)
    try:
        best = oracle.list_good(0.0)[0]
    except TooManyError:
        return
    expected = oracle.amounts.to_objective(best.value) + (problem.regularization - oracle.amounts.to_objective(
        oracle.amounts.penalty)) * best.leaves  # fmt: skip
    assert solution.upper == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=40)
@given(table=tables(**SMALL), seed=st.integers(0, 2**32 - 1))
def test_the_best_edited_tree_equals_enumeration(table: Table, seed: int) -> None:
    check_fit(table, seed)


@settings(max_examples=40)
@given(table=tables(constraints=CONSTRAINTS, **SMALL), seed=st.integers(0, 2**32 - 1))
def test_within_all_limits(table: Table, seed: int) -> None:
    check_fit(table, seed)


@settings(max_examples=40)
@given(table=tables(constraints=("max_leaves",), **SMALL), seed=st.integers(0, 2**32 - 1))
def test_leaves_are_shared_among_the_open_leaves(table: Table, seed: int) -> None:
    check_fit(table, seed)


@settings(max_examples=25)
@given(table=tables(**SMALL), seed=st.integers(0, 2**32 - 1))
def test_certificates_hold_and_are_proved(table: Table, seed: int) -> None:
    edits = draw_edits(seed, table)
    try:
        solution = solve(edit(table, edits))
    except EditError:
        return
    given = {"costs": table.costs} if table.costs is not None else {"y": table.y}
    certificate = json.loads(json.dumps(solution.certificate))
    tree = solution.tree
    verdict = certify.check(certificate, tree, table.X, sample_weight=table.weights, prove_bound=True, **given)
    assert verdict.holds, verdict.failures
    assert prove(certificate, tree, table.X, sample_weight=table.weights, **given).is_proved


@settings(max_examples=30)
@given(table=tables(constraints=("max_leaves",), **SMALL))
def test_a_start_equal_to_the_optimal_root_changes_nothing(table: Table) -> None:
    problem = table.problem
    best = solve(problem)
    assume(best.tree.n_leaves > 1)
    for start in (best.tree, best.tree.test(0).text):
        again = solve(replace(problem, start=start))
        assert again.upper == pytest.approx(best.upper, rel=1e-12, abs=1e-15)
        assert again.tree.test(0) == best.tree.test(0)
    whole = solve(replace(problem, start=best.tree))
    assert whole.tree.n_leaves >= best.tree.n_leaves


@pytest.mark.parametrize("seed", range(12))
def test_leaves_that_every_part_wants_go_where_they_are_worth_most(seed: int) -> None:
    """Without a penalty every part takes all leaves that it can get, so that sharing them out decides."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 4, (14, 2)), columns=["a", "b"])
    y, weights = rng.integers(0, 2, 14), rng.integers(1, 5, 14)
    start = {"test": "a <= 1", "right": "b <= 1"} if seed % 2 else "a <= 1"
    n_bound = 0
    for max_leaves in (3, 4, 5):
        settings_: dict[str, Any] = {"max_depth": 4, "max_leaves": max_leaves, "regularization": 0.001 * (seed % 3)}
        problem = Problem.from_labels(X, y, weights, start=start, **settings_)
        solution = solve(problem)
        assert solution.upper == pytest.approx(float(certify.enumerate_optimum(problem)), abs=1e-12)
        n_bound += solution.tree.n_leaves == max_leaves
        found = find_tree_set(problem, 0.03, Limits())
        oracle = AllTrees(replace(problem, start=None), start=branch_rows(problem, problem.start))
        check_members(problem, found, oracle, oracle.list_good(0.03))
    assert n_bound > 0


def branch_rows(problem: Problem, side: Any) -> Any:
    """A start in the form of the oracle."""
    if isinstance(side, str):
        return side
    holds = side.test.holds(side.test.column.read(problem.features.table.columns[side.column]))
    mask = sum(1 << int(row) for row in np.flatnonzero(holds))
    return mask, branch_rows(problem, side.left), branch_rows(problem, side.right)


# Sets of good trees --------------------------------------------------------------------------------------------------


def list_edited(table: Table, seed: int, tolerance: float, *, idle: bool) -> tuple[Problem, AllTrees, list[Listed]]:
    edits = draw_edits(seed, table)
    try:
        problem = edit(table, edits)
    except EditError:
        reject()
    assume(is_sensible(problem, tolerance))
    oracle = AllTrees(table.problem, idle=idle, **edits.oracle)
    try:
        return problem, oracle, oracle.list_good(tolerance)
    except TooManyError:
        reject()


@settings(max_examples=30)
@given(table=tables(**SMALL), seed=st.integers(0, 2**32 - 1), tolerance=TOLERANCES, idle=st.booleans())
@pytest.mark.no_cover
def test_edited_sets_equal_enumeration(table: Table, seed: int, tolerance: float, idle: bool) -> None:
    problem, oracle, expected = list_edited(table, seed, tolerance, idle=idle)
    found = find_tree_set(problem, tolerance, Limits(), idle=idle)
    check_members(problem, found, oracle, expected)
    assert found.optimum == pytest.approx(oracle.amounts.to_objective(expected[0].value), rel=1e-9, abs=1e-12)
    check_row_facts(problem, found, oracle, expected)
    assert sum(fact.count for fact in found.roots()) in (found.count, found.count - 1)


@settings(max_examples=30)
@given(
    table=tables(constraints=CONSTRAINTS, **SMALL), seed=st.integers(0, 2**32 - 1), tolerance=TOLERANCES,
    idle=st.booleans(),
)  # fmt: skip
@pytest.mark.no_cover
def test_edited_sets_within_all_limits(table: Table, seed: int, tolerance: float, idle: bool) -> None:
    problem, oracle, expected = list_edited(table, seed, tolerance, idle=idle)
    check_members(problem, find_tree_set(problem, tolerance, Limits(), idle=idle), oracle, expected)


@settings(max_examples=30)
@given(table=tables(constraints=("max_leaves",), **SMALL), seed=st.integers(0, 2**32 - 1), tolerance=TOLERANCES)
def test_edited_sets_share_leaves(table: Table, seed: int, tolerance: float) -> None:
    problem, oracle, expected = list_edited(table, seed, tolerance, idle=False)
    check_members(problem, find_tree_set(problem, tolerance, Limits()), oracle, expected)


def test_an_edited_set_that_was_stopped_states_what_holds(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    settings_: dict[str, Any] = {"tolerance": 0.006, "max_depth": 4, "regularization": 0.008, "start": "age <= 31.5"}
    whole = good_trees(X, y, **settings_)
    assert whole.is_complete
    known = {tuple(tree.tests): tree.objective for tree in whole}
    assert len(known) == whole.count > 100
    n_listed = 0
    for memory_limit in (1000, 60_000, 140_000, 150_000, 160_000, 170_000):
        stopped = good_trees(X, y, memory_limit=memory_limit, **settings_)
        assert stopped.status in ("memory_limit", "complete")
        assert stopped.optimum <= whole.optimum + 1e-12
        n_listed += len(stopped)
        assert {tuple(tree.tests) for tree in stopped} <= set(known)
        below = [tests for tests, objective in known.items() if objective < stopped.complete_below - 1e-9]
        assert set(below) <= {tuple(tree.tests) for tree in stopped}
    assert n_listed > 0
    assert whole.certificate_["constraints"]["start"]["test"] == "age <= 31.5"
    assert {fact.column: fact.is_needed for fact in whole.columns(prices=False)}["age"]


def test_prices_of_columns_keep_the_limits_of_the_set() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).round(1)
    y = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), 1 * (X[:, 0] > 0))
    found = good_trees(X, y, tolerance=0.0, max_depth=3, regularization=0.02)
    assert found.is_complete
    found.limits = Limits(time_limit=0.0)
    fact = found.columns()[0]
    assert fact.is_needed
    assert fact.price_bounds[0] < fact.price == fact.price_bounds[1]


# Estimators ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people() -> tuple[pd.DataFrame, Any]:
    data = load_lalonde(as_frame=True)
    return data.data, np.asarray(data.target > data.data["re75"])


def test_an_edit_states_its_price(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    model = SparseTreeClassifier(2, 0.01).fit(X, y)
    edited = model.edited(X, y, start="age <= 31.5")
    assert edited.tree_.test(0).text == "age <= 31.5"
    assert edited.edit_.price == edited.objective_ - model.objective_ > 0
    assert edited.edit_.price_bounds == (edited.edit_.price, edited.edit_.price)
    assert "costs 0.01" in str(edited.edit_)
    same = model.edited(X, y, start=model.tree_.test(0).text)
    assert same.edit_.price == 0
    # What is not named stays.
    both = edited.edited(X, y, forbidden="re75")
    assert both.start == "age <= 31.5"
    assert "re75" not in str(both.tree_)
    assert both.edit_.before == edited.objective_
    assert not hasattr(both.fit(X, y), "edit_")
    with pytest.raises(ValueError, match="not the table that the model was fitted on"):
        model.edited(X, ~y, start="age <= 31.5")


def test_a_price_has_bounds_where_a_limit_ended_the_search(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    model = SparseTreeClassifier(4, 0.002, time_limit=0.0).fit(X, y)
    edited = model.edited(X, y, start="age <= 31.5")
    low, high = edited.edit_.price_bounds
    assert edited.status_ == "time_limit"
    assert low == pytest.approx(edited.edit_.price - edited.gap_)
    assert high == pytest.approx(edited.edit_.price + model.gap_)
    assert edited.lower_bound_ <= SparseTreeClassifier(3, 0.002, start="age <= 31.5").fit(X, y).objective_


def test_every_way_to_weigh_and_every_guess(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    weights = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    edits: dict[str, Any] = {"start": {"test": "age <= 27.5", "right": "education <= 10.5"}, "forbidden": ["black"]}
    exact = SparseTreeClassifier(3, 0.01, **edits).fit(X, y, weights)
    for settings_ in (
        {"method": "duplicate"},
        {"method": "sample", "random_state": 0},
        {"thresholds": "guess", "random_state": 0},
        {"thresholds": 4},
        {"reference": "boosting", "random_state": 0},
        {"max_depth": "guess", "max_leaves": 4},
        {"class_weight": "balanced"},
        {"min_samples_leaf": 20, "min_weight_leaf": 30.0, "max_leaves": 5},
        {"n_jobs": 2, "memory_limit": 2**30, "time_limit": 60.0},
    ):
        model = SparseTreeClassifier(**{"max_depth": 3, "regularization": 0.01, **edits, **settings_})
        model.fit(X, y, weights)
        assert model.tree_.test(0).text == "age <= 27.5"
        assert all(model.tree_.columns[c].name != "black" for c in model.tree_.column if c >= 0)
        if "class_weight" not in settings_:
            assert model.lower_bound_ <= exact.objective_ + 1e-12 or settings_.keys() & {"thresholds", "max_leaves"}
        verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
        assert verdict.holds, (settings_, verdict.failures)


def test_a_policy_begins_with_a_start(people: tuple[pd.DataFrame, Any]) -> None:
    X, _ = people
    rng = np.random.default_rng(1)
    rewards = pd.DataFrame(rng.normal(size=(len(X), 3)), columns=["none", "letter", "call"])
    rewards["letter"] += 0.5 * (X["age"] > 25) - 0.2
    arms = rng.choice(rewards.columns, len(X))
    model = PolicyTree(2, 0.001).fit(X, rewards)
    edited = model.edited(X, rewards, start="black is true" if X["black"].dtype == bool else "black <= 0.5")
    assert edited.edit_.price == model.objective_ - edited.objective_ >= 0
    assert certify.check(edited.certificate_, edited.tree_, X, rewards=rewards).holds
    assert "begin with" in edited.certificate_.scope
    limited = PolicyTree(2, min_samples_arm=5, start="age <= 30", forbidden="re75").fit(X, rewards, treatment=arms)
    codes = pd.Categorical(arms, categories=rewards.columns).codes
    assert certify.check(limited.certificate_, limited.tree_, X, rewards=rewards, arms=codes).holds
    within = PolicyTree(2, budget=0.3, forbidden=["age"]).fit(X, rewards, control="none")
    assert certify.check(within.certificate_, within.tree_, X, rewards=rewards).holds
    assert "age" not in str(within.tree_)
    both = PolicyTree(2, budget=0.3, start="age <= 30").fit(X, rewards, control="none")
    assert certify.check(both.certificate_, both.tree_, X, rewards=rewards).holds
    assert both.spend_ <= 0.3
    assert str(both.tree_.test(0).text).startswith("age <= 30")


def test_models_with_edits_travel(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    first = SparseTreeClassifier(2, 0.01).fit(X, y)
    for start in ("age <= 31.5", first.tree_, {"test": "age <= 31.5", "left": "leaf"}):
        model = SparseTreeClassifier(2, 0.01, start=start, forbidden=[first.tree_.test(0), "black"][1:]).fit(X, y)
        back = load(certree.export_json(model))
        assert back.certificate_ == model.certificate_
        assert back.start == model.certificate_.constraints["start"]
        assert back.forbidden == ["black"]
        assert certify.check(back.certificate_, back.tree_, X, y).holds
        again = clone(back).fit(X, y)
        assert again.objective_ == model.objective_
        assert pickle.loads(pickle.dumps(model)).certificate_ == model.certificate_
        assert clone(model).fit(X, y).objective_ == model.objective_


def test_tampering_with_edits_is_seen(people: tuple[pd.DataFrame, Any]) -> None:
    X, y = people
    model = SparseTreeClassifier(2, 0.01, start="age <= 31.5", forbidden=["black", "re75 <= 100"]).fit(X, y)
    plain = SparseTreeClassifier(2, 0.01).fit(X, y)

    def fails(model: Any, **changes: Any) -> str:
        stated = model.certificate_.to_dict()
        stated["constraints"] |= changes
        del stated["digests"]
        stated["version"] = 1
        return " ".join(certify.check(stated, model.tree_, X, y).failures)

    assert "does not begin with the start" in fails(plain, start=model.certificate_.constraints["start"])
    assert "not one of the tests" in fails(plain, forbidden=[write_test(plain.tree_.test(0))])
    assert "not one of the tests" in fails(plain, forbidden=["re75"])
    assert "no column 'agee'" in fails(model, forbidden=["agee"])
    assert "constraints.start is" in fails(model, start="age <= 31.5")
    assert "constraints.forbidden is" in fails(model, forbidden="age")
    closed = {**model.certificate_.to_dict()["constraints"]["start"], "left": "leaf"}
    assert "closed leaf" in fails(model, start=closed)
    stated = model.certificate_.to_dict()
    del stated["constraints"]["forbidden"]
    assert "SHA-256 of problem" in " ".join(certify.check(stated, model.tree_, X, y).failures)


# What may be wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"start": "agee <= 3"}, "the table has no column 'agee'; its columns are age, "),
        ({"start": "age"}, "is not a test; write a test as"),
        ({"start": "age <= old"}, "'old' is not a number that column 'age'"),
        ({"start": "age == 3"}, "column 'age' is numeric: compare it"),
        ({"start": "age <= 3"}, "no row of positive weight has “age <= 3”"),
        ({"start": {"test": "age <= 30", "left": "age > 30"}}, "no row .* has “age <= 30 and age > 30”"),
        ({"start": {"test": "age <= 30", "lef": None}}, "a node has no entry 'lef'"),
        ({"start": {"left": None}}, "has neither a test nor a column"),
        ({"start": "leaf"}, "a lone leaf is not a start"),
        ({"start": "age <= 30", "max_depth": 0}, "it is 1 levels deep, above max_depth=0"),
        ({"start": "age <= 30", "max_leaves": 1}, "it has 2 leaves, above max_leaves=1"),
        ({"start": "age <= 17.5", "min_samples_leaf": 200}, "holds [0-9]+ rows, below min_samples_leaf=200"),
        ({"start": "age <= 17.5", "min_weight_leaf": 300.0}, "holds a weight of .*, below min_weight_leaf=300"),
        ({"start": "age <= 30", "forbidden": "age"}, "column 'age' is forbidden"),
        ({"start": "age <= 30", "forbidden": ["age <= 30.2"]}, "which is forbidden"),
        ({"forbidden": ["agee"]}, "forbidden: the table has no column 'agee'"),
        ({"forbidden": [77]}, "forbidden: the table has no column 77"),
        ({"forbidden": [3.5]}, "3.5 is not a test"),
    ],
)  # fmt: skip
def test_errors_name_what_is_wrong(people: tuple[pd.DataFrame, Any], settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SparseTreeClassifier(**settings_).fit(*people)


def test_tests_are_read_as_they_are_written() -> None:
    columns = [
        Column("age"), Column("age of car", has_missing=True), Column("smoker", "boolean", (False, True)),
        Column("ill", "boolean", (False, True), has_missing=True),
        Column("colour", "categorical", ("blue", "it's or missing", 3), has_missing=True),
        Column("size", "ordered", ("small", "large", "huge"), has_missing=True),
    ]  # fmt: skip
    tests = [Test(columns[0], threshold=0.1 + 0.2), Test(columns[2], category=True)]
    for is_left in (False, True):
        tests += [Test(columns[place], threshold=1.0, missing_left=is_left) for place in (1, 5)]
    tests += [Test(columns[3], category=value) for value in (False, True)]
    tests += [Test(columns[4], category=value) for value in columns[4].categories]
    tests += [Test(columns[place], missing_left=True) for place in (1, 3, 4, 5)]
    for test in tests:
        for words, is_swapped in ((test.text, False), (test.describe(holds=False), True), (write_test(test), False)):
            asked = read_test(words, columns, "start")
            assert (asked.test, columns[asked.column]) == (test, test.column), words
            assert asked.is_swapped == is_swapped
        assert json.loads(json.dumps(write_test(test))) == write_test(test)
    assert read_test("age < 3", columns, "start").test.threshold == np.nextafter(3, -np.inf)
    assert read_test("age >= 3", columns, "start").is_swapped
    assert read_test("size < huge", columns, "start").test == Test(columns[5], threshold=1.0)
    assert read_test("age<=1,500", columns, "start").test.threshold == 1500
    assert read_test("smoker == False", columns, "start") == read_test("smoker is false", columns, "start")


def test_time_is_shared_and_ends() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 12)), rng.integers(0, 3, 3000)
    problem = Problem.from_labels(X, y, max_depth=5, max_leaves=20, regularization=0.001, start="x0 <= 0")
    solution = solve(problem, Limits(time_limit=1.0))
    assert solution.status == "time_limit"
    assert 0 < solution.lower < solution.upper
    assert solution.tree.test(0).text == "x0 <= 0"
    assert solution.tree.n_leaves <= 20


def test_a_fold_asks_what_its_rows_can_tell() -> None:
    """One row alone passes the test of the start: without the fold that holds it nobody does."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 5, 60).astype(float), "b": rng.integers(0, 3, 60).astype(float)})
    X.loc[7, "a"] = 99.0
    y = (X["b"] > 1).to_numpy()
    start = {"test": "a <= 50", "left": "b <= 1.5"}
    model = SparseTreeClassifier(3, 0.01, start=start)
    assert evaluate(model, X, y, cv=3).folds == 3
    got = rng.integers(0, 2, 60)
    log = policy.Log(X, got, y * got + rng.normal(size=60), propensity=[0.5, 0.5])
    found = policy.evaluate(PolicyTree(2, start=start), log, folds=3, random_state=0)
    asked = sorted(own.tree_.test(0).text for own in found.policies)
    assert asked == ["a <= 50", "a <= 50", "b <= 1.5"]
    # On all rows that is a mistake of the user's.
    with pytest.raises(ValueError, match="no row of positive weight has"):
        PolicyTree(2, start="a <= 500").fit(X, rng.normal(size=(60, 2)))
    X["c"] = ["rare" if row == 7 else "usual" for row in range(60)]
    log = policy.Log(X, got, y * got + rng.normal(size=60), propensity=[0.5, 0.5])
    assert policy.evaluate(PolicyTree(2, start="c == 'rare'"), log, folds=3, random_state=0).folds == 3
