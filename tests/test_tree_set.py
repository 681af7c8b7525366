"""Sets of good trees against every tree of tiny tables, one by one."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from all_trees import AllTrees, Listed, TooManyError, nodes_of, tree_of
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from random_problems import CONSTRAINTS, Table, tables

from certree import Problem, SparseTreeClassifier
from certree.solver import Limits
from certree.tree_set import TreeSet, find_tree_set, good_trees
from certree.tree_set.big_counts import BigCounts

MOST_TREES = 400

SMALL: dict[str, Any] = {"depths": (0, 1, 2, 2, 3, 3, 3, 4, 4, None), "shrink": 0.3}


def find(problem: Problem, tolerance: float, *, idle: bool = False) -> TreeSet:
    return find_tree_set(problem, tolerance, Limits(), idle=idle)


def list_oracle(problem: Problem, tolerance: float, *, idle: bool = False) -> tuple[AllTrees, list[Listed]]:
    oracle = AllTrees(problem, idle=idle)
    try:
        return oracle, oracle.list_good(tolerance)
    except TooManyError:
        reject()


def is_sensible(problem: Problem, tolerance: float) -> bool:
    """Whether a tolerance is one that `find_tree_set` accepts."""
    worst = 1.0 if problem.costs is None else problem.costs.max(axis=1).sum() / problem.normaliser
    is_forbidding = worst <= problem.regularization <= tolerance + worst
    return len(problem.labels) > 1 and tolerance <= 2 * worst and not is_forbidding


TOLERANCES = st.sampled_from((0.0, 0.003, 0.01, 0.0501, 0.1003, 0.3))


def check_members(problem: Problem, found: TreeSet, oracle: AllTrees, expected: list[Listed]) -> None:
    assert found.is_complete
    assert found.count_bounds == (len(expected), len(expected))
    listed = found[:MOST_TREES]
    assert len(listed) == min(len(expected), MOST_TREES)
    assert [tree.n_leaves for tree in listed] == [(len(tree._axis) + 1) // 2 for tree in listed]
    offset = found._found["offset"]
    scale = oracle.amounts.to_objective
    for tree, other in zip(listed, expected, strict=False):
        assert tree.objective == pytest.approx(scale(other.value), rel=1e-9, abs=1e-12), offset
    if len(expected) <= MOST_TREES:
        forms = Counter(tree_of(problem, tree.tree) for tree in listed)
        # The best of labels that rounding alone tells apart may be another one in floats: rows decide.
        assert Counter(map(without_labels, forms.elements())) == Counter(
            without_labels(other.tree) for other in expected
        )


def check_row_facts(problem: Problem, found: TreeSet, oracle: AllTrees, expected: list[Listed]) -> None:
    facts = found.rows()
    objective = np.full((problem.n_rows, len(problem.labels)), np.inf)
    for other in reversed(expected):
        for node in nodes_of(other.tree):
            if len(node) == 2:
                rows = [i for i in range(problem.n_rows) if node[0] >> i & 1]
                objective[rows, node[1]] = oracle.amounts.to_objective(other.value)
    np.testing.assert_array_equal(facts.is_possible, np.isfinite(objective))
    np.testing.assert_allclose(facts.objective[facts.is_possible], objective[facts.is_possible], rtol=1e-9, atol=1e-12)


def without_labels(tree: Any) -> Any:
    return (tree[0],) if len(tree) == 2 else (tree[0], *map(without_labels, tree[1:]))


@given(table=tables(**SMALL), tolerance=TOLERANCES, idle=st.booleans())
@pytest.mark.no_cover
def test_equals_enumeration(table: Table, tolerance: float, idle: bool) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance, idle=idle)
    check_members(problem, find(problem, tolerance, idle=idle), oracle, expected)


LIMITED = st.one_of(
    *(tables(constraints=chosen, **SMALL) for chosen in ((name,) for name in CONSTRAINTS)),
    tables(constraints=CONSTRAINTS, **SMALL),
)
"""Every constraint by itself, and all together."""


@given(table=LIMITED, tolerance=TOLERANCES, idle=st.booleans())
def test_equals_enumeration_within_all_limits(table: Table, tolerance: float, idle: bool) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance, idle=idle)
    check_members(problem, find(problem, tolerance, idle=idle), oracle, expected)


def two_valued_problem(seed: int) -> Problem:
    """Flags alone, and weights of every kind."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(60, 150)), int(rng.integers(4, 6))
    X = (rng.random((n_rows, n_columns)) < rng.uniform(0.2, 0.8, n_columns)).astype(float)
    X[:, -1] = rng.permutation(np.arange(n_rows) % 2)
    y = (X[:, 0] * X[:, 1] + (1 - X[:, 0]) * X[:, 2] + (rng.random(n_rows) < 0.2)) % 2
    kinds = (np.ones(n_rows), rng.integers(0, 4, n_rows).astype(float), rng.lognormal(size=n_rows))
    return Problem.from_labels(
        X,
        y,
        kinds[seed % 3],
        regularization=(0.03, 0.015, 0.006)[seed // 3 % 3],
        max_depth=(3, 2, 3)[seed // 9],
        max_leaves=5 if seed % 11 == 10 else None,
        min_samples_leaf=4 if seed % 7 == 6 else 1,
    )


@pytest.mark.parametrize("seed", range(27))
def test_two_valued_tables(seed: int) -> None:
    """Where every column is a flag, nodes are read off the closed form of all rows, and rows are bits."""
    problem = two_valued_problem(seed)
    tolerance, idle = (0.01, 0.003)[seed % 2], seed % 4 < 2
    oracle = AllTrees(problem, idle=idle)
    check_members(problem, find(problem, tolerance, idle=idle), oracle, oracle.list_good(tolerance))


# What the trees agree on ---------------------------------------------------------------------------------------------


@given(table=tables(**SMALL), tolerance=TOLERANCES)
@pytest.mark.no_cover
def test_facts_of_columns_and_rows(table: Table, tolerance: float) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance)
    found = find(problem, tolerance)
    for number, fact in enumerate(found.columns(prices=False)):
        needs = [not can_be_written(oracle, other.tree, without=number) for other in expected]
        uses = [could_use(oracle, other.tree, number) for other in expected]
        assert fact.share == pytest.approx(np.mean(needs))
        assert fact.is_needed == all(needs)
        assert fact.is_unused == (not any(uses))
        if not fact.is_needed:
            best = min(other.value for other, need in zip(expected, needs, strict=True) if not need)
            assert fact.objective_without == pytest.approx(oracle.amounts.to_objective(best), rel=1e-9, abs=1e-12)
    check_row_facts(problem, found, oracle, expected)


@settings(max_examples=40)
@given(table=LIMITED, tolerance=TOLERANCES)
def test_prices_cuts_and_rows_within_all_limits(table: Table, tolerance: float) -> None:
    """What doing without a column costs, also beyond the tolerance, against every tree over the other columns."""
    problem = table.problem
    assume(is_sensible(problem, tolerance) and problem.regularization < 1)
    oracle, expected = list_oracle(problem, tolerance)
    found = find(problem, tolerance)
    check_row_facts(problem, found, oracle, expected)
    to_objective = oracle.amounts.to_objective
    for number, fact in enumerate(found.columns()):
        without = AllTrees(problem, forbidden=(number,)).list_good(0.0)[0].value
        assert fact.objective_without == pytest.approx(to_objective(without), rel=1e-9, abs=1e-12)
        assert fact.price == pytest.approx(to_objective(without - expected[0].value), rel=1e-9, abs=1e-9)
    # Cuts: the best good tree that divides some rows as a test on this column and at this threshold does.
    for cut in found.cuts():
        holders = [tree for tree in found[:MOST_TREES] if cut.test in tree.tests]
        if len(expected) <= MOST_TREES and holders:
            assert cut.objective <= holders[0].objective + 1e-9
        assert min(abs(cut.objective - to_objective(other.value)) for other in expected) < 1e-9


@settings(max_examples=30)
@given(table=tables(depths=(2, 3), shrink=0.4), tolerance=TOLERANCES, limit=st.integers(2_000, 60_000))
def test_a_set_that_memory_ended_states_what_holds(table: Table, tolerance: float, limit: int) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance)
    found = find_tree_set(problem, tolerance, Limits(memory_limit=limit))
    members = Counter(without_labels(tree_of(problem, tree.tree)) for tree in found[:MOST_TREES])
    everything = Counter(without_labels(other.tree) for other in expected)
    assert not members - everything
    if len(expected) <= MOST_TREES:
        scale = oracle.amounts.to_objective
        below = (other for other in expected if scale(other.value) < found.complete_below - 1e-9)
        assert found.is_complete or not Counter(without_labels(other.tree) for other in below) - members


@settings(max_examples=30)
@given(table=tables(depths=(2, 3, None), shrink=0.4), tolerance=TOLERANCES, idle=st.booleans())
def test_short_lists_bound_the_number(table: Table, tolerance: float, idle: bool) -> None:
    """However few costs may be kept, the interval holds, and what is drawn is good; in Python's integers, too."""
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    _, expected = list_oracle(problem, tolerance, idle=idle)
    found = find(problem, tolerance, idle=idle)
    counts = BigCounts(found.graph.arrays, most_pairs=3)
    ranges = [counts.count_roots()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("certree.tree_set.graph.MOST_ENTRIES", 2)
        ranges.append(found.graph.count_roots())
        drawn = found.sample(5, random_state=0)
    for counted in ranges:
        assert sum(counted) <= len(expected) <= sum(count.most for count in counted)
    drawn += found._read(counts.draw(5, 0))
    assert all(tree.objective <= found.threshold + 1e-9 for tree in drawn)


@settings(max_examples=40)
@given(table=tables(constraints=("max_leaves", "min_samples_leaf"), **SMALL), tolerance=TOLERANCES)
def test_roots_and_parts(table: Table, tolerance: float) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance)
    found = find(problem, tolerance)
    roots = Counter(other.tree[1][0] for other in expected if len(other.tree) == 3)
    assert sorted(fact.count for fact in found.roots()) == sorted(roots.values())
    for fact in found.roots():
        part = found.restrict(root=fact.test)
        assert part.count == fact.count
        assert part.best.objective == pytest.approx(fact.objective, rel=1e-9, abs=1e-12)
    for leaves in range(1, 5):
        part = found.restrict(leaves=leaves)
        assert part.count == sum(other.leaves == leaves for other in expected)
        assert all(tree.n_leaves == leaves for tree in part[:20])
    for number, column in enumerate(problem.features.columns):
        part = found.restrict(without=column.name)
        kept = [other for other in expected if can_be_written(oracle, other.tree, without=number)]
        assert part.count == len(kept)
        for tree in part[:20]:
            assert number not in set(tree.tree.column.tolist())
        forms = Counter(without_labels(tree_of(problem, tree.tree)) for tree in part[:MOST_TREES])
        if len(kept) <= MOST_TREES:
            assert forms == Counter(without_labels(other.tree) for other in kept)


@settings(max_examples=25)
@given(table=tables(depths=(1, 2, 3), shrink=0.25), tolerance=TOLERANCES)
def test_every_way_to_write_a_tree(table: Table, tolerance: float) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    oracle, expected = list_oracle(problem, tolerance, idle=True)
    ways = sum(count_ways(oracle, other.tree) for other in expected)
    assert find(problem, tolerance, idle=True).count_written() == ways


@pytest.mark.parametrize("seed", range(4))
def test_counts_of_praxis(seed: int) -> None:
    """Where λ is a whole number of rows, nothing is rounded there."""
    praxis = pytest.importorskip("praxis")
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (50, 5))
    y = X[:, 0] ^ (rng.random(50) < 0.2)
    other = praxis.PRAXIS()
    other.fit(X, y, lambda_reg=0.02, depth_budget=3, rashomon_mult=0.25, lookahead_k=2, majority_leaf_only=True)
    best = other.get_min_objective()
    tolerance = (int(best * 1.25 + 0.5) - best) / 50
    found = good_trees(X, y, tolerance=tolerance, max_depth=3, regularization=0.02, idle=True)
    assert found.optimum == pytest.approx(best / 50)
    assert found.count_written() == other.count_trees()


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_trees_of_treefarms(seed: int) -> None:
    """TreeFARMS leaves idle splits out and gives a leaf whose labels tie the second one. It finds some good trees not
    at all; what it finds is in the set."""
    treefarms = pytest.importorskip("treefarms", reason="treefarms is not installed")
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (50, 5))
    y = (X[:, 0] ^ (rng.random(50) < 0.2)).astype(int)
    frame = pd.DataFrame(X).rename(columns="t{}".format)
    # Its depth counts the leaf as well.
    other = treefarms.TREEFARMS({"regularization": 0.02, "rashomon_bound_multiplier": 0.13, "depth_budget": 4})
    other.fit(frame, pd.Series(y, name="y"))
    theirs = Counter(
        (str(other[i]).count("predicted"), tuple(np.ravel(other[i].predict(frame)).astype(int).tolist()))
        for i in range(other.get_tree_count())
    )
    # The labels change places, so that the second one comes first.
    found = good_trees(X, 1 - y, tolerance="13%", max_depth=3, regularization=0.02)
    ours = Counter((tree.n_leaves, tuple((1 - tree.decide()).tolist())) for tree in found)
    assert not theirs - ours
    assert (ours == theirs) == (seed < 3)


def test_of_the_tests() -> None:
    """The tables above have sets worth comparing: this one is known by hand."""
    problem = Problem.from_labels([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 1, 1], regularization=0.1, max_depth=2)
    found = find(problem, 0.3)
    # One split on the first column costs 0.2, the lone leaf 0.6. One column then the other: three leaves with an idle
    # pair. The second column first, then the first on both sides: 0.4; on one side only: 0.55, within 0.5 not.
    assert found.count == 2
    assert [tree.objective for tree in found] == pytest.approx([0.2, 0.4])
    assert found[0].tests == ["x0 <= 0.5"]
    assert find(problem, 0.3, idle=True).count == 5


# Counting, listing and drawing ---------------------------------------------------------------------------------------


def make_table(n_rows: int = 400, *, seed: int = 0, weighted: bool = False) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n_rows, 4)).astype(float)
    y = ((X[:, 0] > 2) ^ (X[:, 1] > 3)) ^ (rng.random(n_rows) < 0.2)
    return X, y.astype(int), rng.lognormal(size=n_rows) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
def test_more_than_a_billion_trees_are_counted_and_drawn(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weights = make_table(weighted=weighted)
    found = good_trees(X, y, weights, tolerance=0.04, max_depth=4, regularization=0.001)
    assert found.is_complete
    least, most = found.count_bounds
    assert least > 10**9
    # Without weights the number is exact: the same by Python's integers, without any limit.
    if not weighted:
        assert found.count.is_exact
        assert sum(BigCounts(found.graph.arrays).count_roots()) == found.count
    else:
        assert most <= 1.1 * least
        # Where memory is short the interval is wider, and true.
        monkeypatch.setattr("certree.tree_set.graph.MOST_ENTRIES", 300_000)
        lowest, highest = found.restrict(tolerance=0.04).count_bounds
        assert lowest <= least <= most <= highest
    drawn = found.sample(20, random_state=0)
    assert all(tree.objective <= found.threshold + 1e-12 for tree in drawn)
    assert len({(tree._axis, tree._code) for tree in drawn}) == 20


@settings(max_examples=40)
@given(table=tables(depths=(1, 2, 3, None), shrink=0.4), share=st.sampled_from([0.0, 0.01, 0.1, 0.5]))
def test_a_tolerance_may_be_a_share_of_the_optimum(table: Table, share: float) -> None:
    problem = table.problem
    assume(problem.best_rewards is None and is_sensible(problem, 0.1))
    best = find(problem, 0.0)
    found = find_tree_set(problem, 0.0, Limits(), share=share)
    assert found.optimum == pytest.approx(best.optimum)
    assert found.tolerance == pytest.approx(share * best.optimum, rel=1e-9, abs=1e-12)
    whole = find_tree_set(problem, found.tolerance, Limits())
    assert found.count == whole.count


def test_shares_are_read_and_refused() -> None:
    X, y, _ = make_table()
    found = good_trees(X, y, tolerance="3%", max_depth=2)
    assert found.threshold == pytest.approx(1.03 * found.optimum, rel=1e-6)
    assert good_trees(X, y, tolerance="3%", max_depth=2, start="x0 <= 2.5").is_complete
    for wrong in ("3", "three%", "-1%", "101%", "nan%"):
        with pytest.raises(ValueError, match="share of the best objective"):
            good_trees(X, y, tolerance=wrong)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_lists_and_samples_agree(weighted: bool) -> None:
    X, y, weights = make_table(weighted=weighted)
    found = good_trees(X, y, weights, tolerance=0.02, max_depth=3, regularization=0.01)
    assert found.is_complete
    assert found.status == "complete"
    listed = list(found)
    assert len(listed) == found.count == len(found) > 100
    objectives = [tree.objective for tree in listed]
    assert objectives == sorted(objectives)
    assert objectives[-1] <= found.threshold + 1e-12
    assert found[3:9] == listed[3:9]
    assert found[-1] is listed[-1]
    assert len({(tree._axis, tree._code) for tree in listed}) == len(listed)
    model = SparseTreeClassifier(3, 0.01).fit(X, y, weights)
    assert found.best.objective == pytest.approx(model.objective_)
    assert found.optimum == pytest.approx(model.objective_)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.count == found.count
    assert copy[5].tests == found[5].tests
    # Every tree is as likely as every other one.
    counts = Counter((tree._axis, tree._code) for tree in found.sample(40 * len(listed), random_state=0))
    assert set(counts) <= {(tree._axis, tree._code) for tree in listed}
    excess = sum((counts[tree._axis, tree._code] - 40) ** 2 / 40 for tree in listed)
    assert abs(excess - len(listed)) < 5 * np.sqrt(2 * len(listed))


def test_more_trees_than_the_engine_can_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted and drawn in Python's integers, each tree with the same chance."""
    X, y, _ = make_table()
    found = good_trees(X, y, tolerance=0.01, max_depth=3, regularization=0.01)
    monkeypatch.setattr("certree.tree_set.graph.count_good_trees", lambda **_: ([], [], True))
    again = found.restrict(tolerance=0.01)
    assert again.count == found.count
    drawn = Counter((tree._axis, tree._code) for tree in again.sample(20 * len(found), random_state=0))
    assert set(drawn) <= {(tree._axis, tree._code) for tree in found}
    excess = sum((drawn[tree._axis, tree._code] - 20) ** 2 / 20 for tree in found)
    assert abs(excess - len(found)) < 5 * np.sqrt(2 * len(found))


def test_a_set_whose_tests_have_no_more_trees_than_the_engine_counts_but_all_of_them_do() -> None:
    """Of 61 rows in a line, all trees: 4.26 · 2^128, and no root test has more than 2^128 of them."""
    n_rows = 61
    trees_of = [0, 1]
    for n in range(2, n_rows + 1):
        trees_of.append(1 + sum(trees_of[k] * trees_of[n - k] for k in range(1, n)))
    y = (np.arange(n_rows) == n_rows // 2).astype(int)
    found = good_trees(np.arange(n_rows)[:, None], y, tolerance=1.0, max_depth=n_rows, regularization=0.0, idle=True)
    assert found.count == trees_of[n_rows] > 2**128 > max(int(fact.count) for fact in found.roots())
    # The smallest first part and the smallest last one have a fifth of all trees each.
    roots = Counter(tree._code[0] for tree in found.sample(400, random_state=0))
    share = trees_of[n_rows - 1] / trees_of[n_rows]
    for code in (0, n_rows - 2):
        assert abs(roots[code] - 400 * share) < 5 * np.sqrt(400 * share * (1 - share))


def test_nothing_is_drawn_from_a_set_without_trees() -> None:
    X, y, _ = make_table()
    empty = good_trees(X, y, tolerance=0.01).restrict(leaves=40)
    with pytest.raises(ValueError, match="empty"):
        empty.sample()
    with pytest.raises(ValueError, match="empty"):
        empty.graph.draw_trees(1, 0)


@pytest.mark.parametrize("idle", [False, True])
def test_idle_splits_where_every_action_is_as_good(idle: bool) -> None:
    """Nothing costs anything: without λ an idle split is as good as none, and a set that asks for them has it."""
    problem = Problem.from_rewards([[0], [1], [2]], np.ones((3, 2)), regularization=0.0, max_depth=2)
    found = find(problem, 0.0, idle=idle)
    assert len(found) == (5 if idle else 1)
    assert [tree.objective for tree in found] == pytest.approx([1.0] * len(found))


@pytest.mark.parametrize("weighted", [False, True])
def test_short_memory_bounds_the_count(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weights = make_table(weighted=weighted)
    arguments: dict[str, Any] = {"tolerance": 0.04, "max_depth": 3, "regularization": 0.005}
    exact = good_trees(X, y, weights, **arguments).count
    assert exact.is_exact
    assert exact > 5_000
    monkeypatch.setattr("certree.tree_set.graph.MOST_ENTRIES", 700)
    found = good_trees(X, y, weights, **arguments)
    least, most = found.count_bounds
    assert least <= exact <= most
    if weighted:
        assert not found.count.is_exact
        assert str(found.count).startswith("between")
        with pytest.raises(TypeError, match="between"):
            len(found)
    drawn = found.sample(50, random_state=1)
    assert all(tree.objective <= found.threshold + 1e-12 for tree in drawn)


def test_counts_beyond_all_machine_numbers() -> None:
    X, y, _ = make_table()
    found = good_trees(X, y, tolerance=0.01, max_depth=3, regularization=0.01)
    assert BigCounts(found.graph.arrays).count_roots() == found.graph.count_roots()
    assert sum(BigCounts(found.graph.arrays, counts_ways=True).count_roots()) == found.count_written()


def test_counting_needs_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists of costs, with idle pairs among them, are not taken for numbers beyond 128 bits."""
    monkeypatch.setattr("certree.tree_set.graph.BigCounts", None)
    X, y, weights = make_table(weighted=True)
    assert good_trees(X, y, weights, tolerance=0.04, max_depth=3, regularization=0.005).count.is_exact


@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.02, 0.05, 0.1])
def test_what_a_stopped_search_states_holds(seconds: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)).round(1)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)) ^ (rng.random(300) < 0.2)
    arguments: dict[str, Any] = {"tolerance": 0.01, "max_depth": 4, "regularization": 0.02}
    whole = good_trees(X, y, **arguments)
    found = good_trees(X, y, time_limit=seconds, **arguments)
    everything = {(tree._axis, tree._code): tree.objective for tree in whole}
    members = {(tree._axis, tree._code): tree.objective for tree in found}
    assert set(members) <= set(everything)
    if found.is_complete:
        assert set(members) == set(everything)
    else:
        assert found.status == "time_limit"
        below = {key for key, objective in everything.items() if objective < found.complete_below - 1e-12}
        assert below <= set(members)
        part = found.complete_part()
        assert part.is_complete
        with pytest.raises(ValueError, match="complete_part"):
            found.rows()


def test_a_memory_limit_ends_it() -> None:
    X, y, _ = make_table()
    arguments: dict[str, Any] = {"tolerance": 0.05, "max_depth": 3, "regularization": 0.002}
    found = good_trees(X, y, memory_limit=200_000, **arguments)
    assert not found.is_complete
    assert found.status == "memory_limit"
    assert all(tree.objective <= found.threshold + 1e-12 for tree in found[:1000])


def test_a_price_beyond_the_tolerance() -> None:
    X, y, _ = make_table()
    found = good_trees(X, y, tolerance=0.005, max_depth=2, regularization=0.01)
    facts = {fact.column: fact for fact in found.columns()}
    assert facts["x0"].is_needed
    without = SparseTreeClassifier(2, 0.01).fit(X[:, 1:], y).objective_
    assert facts["x0"].objective_without == pytest.approx(without)
    assert facts["x0"].price == pytest.approx(without - found.optimum)
    assert facts["x0"].price > found.tolerance


def test_choosing() -> None:
    X, y, _ = make_table()
    found = good_trees(X, y, tolerance=0.03, max_depth=3, regularization=0.01)
    assert found.best_of(leaves=found.best.n_leaves).objective == found.best.objective
    small = found.best_of(where=lambda tree: tree.n_leaves == 3, leaves=(1, 4))
    assert small is None or small.n_leaves == 3
    assert found.restrict(tolerance=0.01).count == good_trees(X, y, tolerance=0.01).count
    handful = found.handful()
    assert handful["best"] is found.best
    assert len({tree.tree.to_dict().__str__() for tree in handful.values()}) == len(handful) > 2
    shares, errors = found.label_shares(200, random_state=0)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert errors.max() <= 0.5 / np.sqrt(200) + 1e-12
    agreed = found.rows().is_agreed
    assert (shares[agreed].max(axis=1) == 1).all()
    assert {fact.column for fact in found.cuts()} <= {"x0", "x1", "x2", "x3"}


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    X, y, _ = make_table()
    quiet = good_trees(X, y, tolerance=0.02, max_depth=3, regularization=0.005)
    assert "parts of good trees" not in capsys.readouterr().err
    shown = good_trees(X, y, tolerance=0.02, max_depth=3, regularization=0.005, verbose=1)
    assert "|" in capsys.readouterr().err
    assert shown.count == quiet.count


def test_bad_input() -> None:
    X, y, _ = make_table(50)
    with pytest.raises(ValueError, match="tolerance must be a finite number"):
        good_trees(X, y, tolerance=-1)
    with pytest.raises(ValueError, match="at most 2"):
        good_trees(X, y, tolerance=5)
    with pytest.raises(ValueError, match="regularization"):
        good_trees(X, y, regularization=1.5, tolerance=1)
    with pytest.raises(ValueError, match="max_depth"):
        good_trees(X, y, max_depth=-1)
    found = good_trees(X, y, tolerance=0.02)
    with pytest.raises(ValueError, match="no column 'age'"):
        found.restrict(without="age")
    with pytest.raises(ValueError, match="no good tree has the root"):
        found.restrict(root="age <= 3")
    with pytest.raises(ValueError, match="leaves must be"):
        found.restrict(leaves=0)
    with pytest.raises(IndexError, match="trees"):
        found[10**7]


def test_no_room_to_split() -> None:
    one = good_trees(np.zeros((5, 2)), [0, 1, 0, 0, 1], tolerance=0.1)
    assert one.count == 1
    assert one.best.n_leaves == 1
    assert good_trees(np.eye(4), [1, 1, 1, 1]).count == 1
    assert good_trees(np.eye(4), [0, 1, 1, 1], max_depth=0).count == 1
    assert good_trees(np.eye(4), [0, 1, 1, 1], regularization=2.0, tolerance=0.5).count == 1


def can_be_written(oracle: AllTrees, tree: Any, *, without: int) -> bool:
    return all(oracle.columns_of(node[0], node[1][0]) - {without} for node in nodes_of(tree) if len(node) == 3)


def could_use(oracle: AllTrees, tree: Any, column: int) -> bool:
    return any(column in oracle.columns_of(node[0], node[1][0]) for node in nodes_of(tree) if len(node) == 3)


def count_ways(oracle: AllTrees, tree: Any) -> int:
    ways = 1
    for node in nodes_of(tree):
        if len(node) == 3:
            parted = {node[1][0], node[2][0]}
            ways *= sum(node[0] & test in parted for test in oracle.tests)
    return ways


def test_a_penalty_above_what_merged_rows_can_save_counts_in_full() -> None:
    """Two equal rows with different labels leave less to save than λ: a split costs more than the tolerance."""
    X, y, weights = [[0], [0], [1]], [0, 1, 0], [1.0, 1.0, 0.3369165543617689]
    found = good_trees(X, y, weights, tolerance=0.01, max_depth=1, regularization=1 / 6)
    best = SparseTreeClassifier(1, 1 / 6).fit(X, y, weights)
    assert found.optimum == pytest.approx(best.objective_, rel=1e-12)
    assert found.count == 1
    within = good_trees(X, y, weights, tolerance=0.03, max_depth=1, regularization=1 / 6, idle=True)
    assert [tree.n_leaves for tree in within] == [1]
    assert good_trees(X, y, weights, tolerance=0.17, max_depth=1, regularization=1 / 6, idle=True).count == 2


def test_a_set_without_any_tree_can_be_asked() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (30, 3)), rng.integers(0, 3, 30)
    found = good_trees(X, y, tolerance=0.0, max_depth=2, regularization=0.0, max_leaves=3, time_limit=0.0)
    part = found.complete_part()
    assert len(part) == 0
    assert not part
    assert part[:3] == []


# A second measure ----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    table=tables(depths=(1, 2, 3, None), shrink=0.4), tolerance=TOLERANCES, idle=st.booleans(), seed=st.integers(0, 99)
)
def test_second_measures_equal_a_look_at_every_tree(table: Table, tolerance: float, idle: bool, seed: int) -> None:
    problem = table.problem
    assume(is_sensible(problem, tolerance))
    found = find(problem, tolerance, idle=idle)
    assume(found.is_complete and len(found[: MOST_TREES + 1]) <= MOST_TREES)
    rng = np.random.default_rng(seed)
    amounts = rng.integers(0, 4, (problem.n_rows, len(problem.labels))).astype(float)
    weights, rows = problem.weights, np.arange(problem.n_rows)
    by_tree = [float(np.average(amounts[rows, tree.decide()], weights=weights)) for tree in found]
    spread = found.spread(amounts)
    assert spread.is_exact
    assert (spread.least, spread.most) == pytest.approx((min(by_tree), max(by_tree)))
    # They are trees of the set, with the objective and the measure that they are said to have.
    known = {(tree._axis, tree._code): (tree.objective, measure) for tree, measure in zip(found, by_tree, strict=True)}
    for tree, measure in ((spread.least_tree, spread.least), (spread.most_tree, spread.most)):
        assert known[tree._axis, tree._code] == pytest.approx((tree.objective, measure))
    group = rng.integers(0, 2, problem.n_rows)
    decided = np.array([tree.decide() for tree in found])
    for rate in found.rates(group):
        own = group == rate.group
        shares = (decided[:, own] == problem.labels.index(rate.label)) @ weights[own] / weights[own].sum()
        assert (rate.least, rate.most) == pytest.approx((shares.min(), shares.max()))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_second_measure_of_more_trees_than_can_be_listed(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weights = make_table(weighted=weighted)
    found = good_trees(X, y, weights, tolerance=0.08, max_depth=3, regularization=0.005)
    assert found.count > 20_000
    measure = {0: 0.0, 1: 1.0}
    spread = found.spread(measure)
    assert spread.is_exact
    assert spread.n_trees == found.count
    # Neither the best trees nor any that are drawn lie beyond.
    own = np.ones(len(y)) if weights is None else weights
    trees = [*found[:1000], *found.sample(1000, random_state=0)]
    values = [float(np.average(tree.decide(), weights=own)) for tree in trees]
    assert spread.least <= min(values) + 1e-12
    assert spread.most >= max(values) - 1e-12
    for tree in (spread.least_tree, spread.most_tree):
        assert tree.objective <= found.threshold + 1e-12
    # Where the graph is too large for that, the best trees are looked at, and it is said.
    monkeypatch.setattr("certree.second.MOST_WORK", 1)
    some = found.spread(measure, most_trees=100)
    assert (some.n_trees, some.is_exact) == (100, False)
    assert some.least >= spread.least


def test_a_second_measure_with_a_start_and_a_limit_of_leaves() -> None:
    X, y, _ = make_table()
    for settings_ in ({"start": {"test": "x0 <= 2.5", "left": "x1 <= 3.5"}}, {"max_leaves": 5}):
        found = good_trees(X, y, tolerance=0.02, max_depth=3, regularization=0.005, **settings_)
        values = [float(np.mean(tree.decide())) for tree in found]
        spread = found.spread({0: 0.0, 1: 1.0})
        assert (spread.least, spread.most) == pytest.approx((min(values), max(values)))


def test_a_set_does_not_follow_a_table_that_is_changed_later() -> None:
    """Values of long columns are read off the rows, but a set names its tests whenever it is asked."""
    X = np.random.default_rng(0).random((60, 1))
    with patch("certree.features.MOST_HELD", 0):
        trees = good_trees(X, X[:, 0] > 0.5, tolerance=0.1, max_depth=1)
    before = [root.test for root in trees.roots()]
    X *= 100
    assert [root.test for root in trees.roots()] == before
    assert len(before) > 1
