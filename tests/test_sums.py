"""Sums are enough: trees of depth at most three from sums over cells are those of enumeration, whatever parts and
blocks the rows and the columns come in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import CONSTRAINTS, Table, tables

from certree import Problem, certify
from certree.amounts import UNIT, add_by_group, exact_sum, find_exponent, to_amounts, to_float
from certree.problem import find_leaf_shift, least_leaf_weight
from certree.solver import read_tree
from certree.sums import (
    Branch,
    Channels,
    Coded,
    CodeTests,
    Gains,
    join,
    list_nodes,
    list_tests,
    plan_blocks,
    route,
    sum_cells,
    weigh_cells,
)


def code_columns(problem: Problem) -> tuple[CodeTests, Any]:
    """Every column as codes of its distinct values, from the codes of its axes."""
    features = problem.features
    codes, rows = [], []
    for index in range(len(features.columns)):
        own = [features.codes[place] for place, axis in enumerate(features.axes) if axis.column == index]
        matrix = np.stack(own) if own else np.zeros((1, problem.n_rows), dtype=np.int32)
        _, row, code = np.unique(matrix, axis=1, return_index=True, return_inverse=True)
        codes.append(code.ravel())
        rows.append(row)
    return list_tests(features, rows), np.array(codes)


def describe_channels(problem: Problem) -> Channels:
    largest = problem.weights if problem.costs is None else problem.costs.max(axis=1)
    least = least_leaf_weight(problem.min_weight_leaf)
    counted = exact_sum(np.minimum(problem.weights, least))
    return Channels(
        n_labels=len(problem.labels),
        exponent=find_exponent(exact_sum(largest)),
        min_samples_leaf=problem.min_samples_leaf,
        min_weight_leaf=problem.min_weight_leaf,
        leaf_shift=find_leaf_shift(to_float(counted)) if least > 0 else 0,
        n_arms=problem.n_arms,
        min_samples_arm=problem.min_samples_arm,
    )


def solve_by_sums(
    problem: Problem, ends: Sequence[int] = (), most_bytes: int = 1 << 20
) -> tuple[int, Branch | None, Any]:
    """The best tree, from the sums of parts that end at these rows, in blocks of so many bytes."""
    tests, codes = code_columns(problem)
    channels = describe_channels(problem)
    amounts, _ = channels.measure(problem.weights, problem.y, problem.costs, problem.arms)
    rows = Coded(codes.astype(np.uint8 if codes.max(initial=0) < 256 else np.uint16), amounts)
    places = [0, *sorted(ends), problem.n_rows]
    parts = [rows.at(np.arange(first, last)) for first, last in pairwise(places)]
    gains = Gains(tests, channels.rule, channels.rule.lone(amounts.sum(axis=0)))
    depth = min(int(problem.max_depth or 0), 3)
    for block in plan_blocks(tests, channels.rule.n_channels, depth, most_bytes)[::-1]:
        cells = sum(sum_cells([part.merged(tests.sizes)], block, tests) for part in parts)
        gains.add(weigh_cells(cells, block, tests, channels.rule, depth))
    largest = int(to_amounts(np.array([to_float(exact_sum(problem.weights))]), channels.exponent)[0][0]) + 1
    penalty = channels.penalty(problem.regularization, problem.normaliser, max(largest, 1 << 57))
    value, branch = gains.best_tree(depth, penalty, problem.max_leaves)
    return value, branch, (tests, rows)


def compare(table: Table, data: Any) -> None:
    problem = table.problem
    ends = data.draw(st.lists(st.integers(0, problem.n_rows), max_size=4))
    value, branch, (tests, rows) = solve_by_sums(problem, ends, data.draw(st.sampled_from((1, 4000, 1 << 20))))
    tree = read_tree(problem, list_nodes(branch, tests))
    objective = certify.measure(tree, problem).objective
    optimum = float(certify.enumerate_optimum(problem))
    slack = 2 * certify.rounding_of(problem) + 64 * np.finfo(float).eps * max(1.0, optimum)
    assert objective == pytest.approx(optimum, rel=0, abs=slack)
    # Parts and blocks leave no trace, down to which of equally good trees is taken.
    assert (value, branch) == solve_by_sums(problem)[:2]
    # Coded rows go where raw rows go.
    leaf = {node: place for place, node in enumerate(tree.leaves.tolist())}
    reached = np.array([leaf[node] for node in tree.apply(problem.features.table).tolist()])
    own = route(branch, rows.codes, tests)
    assert len(set(zip(reached.tolist(), own.tolist(), strict=True))) == len(set(own.tolist()))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("has_costs", [False, True], ids=["labels", "costs"])
def test_the_optimum_is_that_of_enumeration(depth: int, has_costs: bool) -> None:
    @settings(max_examples=12)
    @given(tables(depths=(depth,), has_costs=has_costs, shrink=0.5), st.data())
    def check(table: Table, data: Any) -> None:
        compare(table, data)

    check()


@pytest.mark.parametrize("constraints", [*((name,) for name in CONSTRAINTS), CONSTRAINTS], ids="+".join)
def test_the_optimum_under_constraints(constraints: tuple[str, ...]) -> None:
    @settings(max_examples=12)
    @given(tables(depths=(1, 2, 3), constraints=constraints, shrink=0.5), st.data())
    def check(table: Table, data: Any) -> None:
        compare(table, data)

    check()


def test_sums_of_floats_are_exact_in_every_order() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.lognormal(0, 30, 500), -rng.lognormal(0, 30, 500), [5e-324, 1e300, 0.0, 2.2e-308]])
    exact = sum(map(Fraction, values.tolist()))
    assert Fraction(exact_sum(values), 2**UNIT) == exact
    assert exact_sum(values[::-1]) == exact_sum(values[:300]) + exact_sum(values[300:])
    assert exact_sum(np.empty(0)) == 0
    assert to_float(exact_sum(np.ones(100_000))) == 100_000
    assert to_float(exact_sum(np.array([1e308, 1e308]))) == np.inf
    assert to_float(-exact_sum(np.array([1e308, 1e308]))) == -np.inf
    group, amounts = rng.integers(0, 3, 1000), rng.integers(-(2**55), 2**55, 1000)
    assert add_by_group(group, amounts, 4).tolist() == [
        sum(int(amount) for amount in amounts[group == place]) for place in range(4)
    ]


@pytest.mark.parametrize("total", [1.0, 2.0, 1.9999999999999998, 3.7, 1e-9, 5e-324, 1e300])
def test_amounts_fill_56_bits(total: float) -> None:
    exponent = find_exponent(exact_sum(np.array([total])))
    assert 2**55 <= Fraction(total) * Fraction(2) ** exponent < 2**56


def test_joined_rows_merge_to_the_same_rows() -> None:
    rng = np.random.default_rng(1)
    sizes = np.array([3] * 60, dtype=np.int32)  # too many digits for one number
    rows = Coded(
        rng.integers(0, 3, (60, 40)).astype(np.uint8)[:, rng.integers(0, 5, 200)], rng.integers(-9, 9, (200, 2))
    )
    whole = rows.merged(sizes)
    parts = [
        rows.at(np.arange(0, 70)).merged(sizes),
        rows.at(np.arange(0, 0)).merged(sizes),
        rows.at(np.arange(70, 200)),
    ]
    again = join(parts).merged(sizes)
    assert whole.n_rows <= 5
    assert (whole.codes == again.codes).all()
    assert (whole.amounts == again.amounts).all()
    assert whole.amounts.sum(axis=0).tolist() == rows.amounts.sum(axis=0).tolist()
