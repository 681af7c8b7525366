"""The certificates of sets of good trees, checked without the engine and against every tree of tiny tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from random_problems import CONSTRAINTS, Table, tables
from test_edits import draw_edits, edit
from test_tree_set import TOLERANCES, is_sensible

from certree import Limits, certify, good_trees
from certree.policy import good_policies
from certree.tree import EditError
from certree.tree_set import TreeSet, find_tree_set

SMALL: dict[str, Any] = {"depths": (0, 1, 2, 2, 3, 3, None), "shrink": 0.25}


def check(found: TreeSet, table: Table, n_trees: int = 40) -> certify.SetVerdict | None:
    """None where the set has no tree to show, or too many to look at."""
    trees = [member.tree for member in found[:n_trees]]
    if not trees:
        return None
    target = {"costs": table.costs} if table.costs is not None else {"y": table.y}
    arms = table.arms if "min_samples_arm" in table.settings else None
    stated = json.loads(json.dumps(found.certificate_))
    try:
        return certify.check_set(stated, trees, table.X, sample_weight=table.weights, arms=arms, prove=True, **target)
    except certify.TooLargeError:
        return None


@settings(max_examples=40)
@given(
    table=tables(constraints=CONSTRAINTS, **SMALL) | tables(**SMALL), seed=st.integers(0, 2**32 - 1),
    tolerance=TOLERANCES, idle=st.booleans(),
)  # fmt: skip
def test_every_set_is_proved_by_a_look_at_every_tree(table: Table, seed: int, tolerance: float, idle: bool) -> None:
    problem = table.problem
    if problem.features.axes and seed % 2:
        try:
            problem = edit(table, draw_edits(seed, table))
        except EditError:
            reject()
    if not is_sensible(problem, tolerance):
        reject()
    found = find_tree_set(problem, tolerance, Limits(), idle=idle)
    columns = [column.name for column in problem.features.columns]
    parts = [found, found.restrict(leaves=(1, 3)), found.restrict(without=columns[0])]
    roots = found.roots()
    if roots:
        parts.append(found.restrict(root=roots[-1].test))
    for part in parts:
        verdict = check(part, table)
        if verdict is not None:
            assert verdict.holds, verdict.failures
            assert verdict.is_set_proved


@pytest.fixture(scope="module")
def tiny() -> tuple[pd.DataFrame, Any, Any]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.integers(0, 4, 14), "b": rng.integers(0, 3, 14), "c": rng.random(14).round(1)})
    return X, rng.integers(0, 2, 14), rng.integers(1, 4, 14)


def test_a_forged_certificate_is_found_out(tiny: tuple[pd.DataFrame, Any, Any]) -> None:
    X, y, w = tiny
    found = good_trees(X, y, w, tolerance=0.05, max_depth=2, regularization=0.02)
    trees = [member.tree for member in found]
    assert 3 < len(trees) < 500

    def failures(trees: list[Any] = trees, **changes: Any) -> str:
        stated = found.certificate_ | changes
        return " ".join(certify.check_set(stated, trees, X, y, w, prove=True).failures)

    assert failures() == ""
    count = int(found.count)
    assert f"but there are at least {count} good trees" in failures(trees[:2], count=[count - 1, count - 1])
    assert f"but there are at most {count} good trees" in failures(count=[count + 1, count + 1])
    assert "trees are given" in failures(count=[2, 2])
    shift = found.optimum / 4
    forged = {"optimum": found.optimum - shift, "threshold": found.threshold - shift}
    assert "worse than the threshold" in failures(**forged, complete_below=forged["threshold"])
    forged = {"optimum": found.optimum + shift, "threshold": found.threshold + shift}
    assert "better than the stated optimum" in failures(**forged, complete_below=forged["threshold"])
    assert "not the tolerance away" in failures(tolerance=0.04)
    assert "is_complete is False" in failures(is_complete=False)
    assert "complete_below is not its threshold" in failures(complete_below=found.optimum)
    assert "divides the rows as tree 0 does" in failures([*trees, trees[0]])
    assert "restricted not to" in failures(restrictions=[{"leaves": [1, 2]}])
    assert "rounding is" in failures(rounding=1e-3)
    assert "count is" in failures(count=3)
    assert "SHA-256 of problem" in failures(regularization=0.021)
    worse = good_trees(X, y, w, tolerance=0.3, max_depth=2, regularization=0.02)
    assert "worse than the threshold allows" in failures([worse[-1].tree])
    idle = good_trees(X, y, w, tolerance=0.3, max_depth=2, regularization=0.0, idle=True)
    verdict = certify.check_set(idle.certificate_ | {"idle": False}, [member.tree for member in idle[:500]], X, y, w)
    assert "has two leaves with the same label" in " ".join(verdict.failures)
    with pytest.raises(ValueError, match="at least one tree"):
        failures([])
    with pytest.raises(ValueError, match="not a certificate of a set"):
        failures(format="certree.certificate")
    unproved = certify.check_set(found.certificate_, trees, X, y, w)
    assert unproved.holds
    assert not unproved.is_set_proved
    assert "how many good trees there are" in unproved.trusted[0]


def test_sets_of_classifiers_with_class_weights_and_of_policies(tiny: tuple[pd.DataFrame, Any, Any]) -> None:
    X, y, w = tiny
    found = good_trees(X, y, w, tolerance=0.03, max_depth=2, class_weight="balanced")
    trees = [member.tree for member in found[:20]]
    assert certify.check_set(found.certificate_, trees, X, y, w, prove=True).failures == ()
    rewards = np.random.default_rng(1).normal(size=(len(X), 3)) - 5
    policies = good_policies(X, rewards, w, tolerance=0.1, regularization=0.01)
    trees = [member.tree for member in policies[:20]]
    verdict = certify.check_set(policies.certificate_, trees, X, sample_weight=w, rewards=rewards, prove=True)
    assert verdict.failures == ()
    forged = policies.certificate_ | {"count": [0, 0]}
    assert not certify.check_set(forged, trees, X, sample_weight=w, rewards=rewards).holds


@pytest.mark.no_cover
def test_idle_splits_of_a_table_with_one_label_are_counted() -> None:
    X, y = pd.DataFrame({"age": [0.0, 1.0, 0.0, 2.0]}), ["yes"] * 4
    asked: dict[str, Any] = {"tolerance": 0.25, "max_depth": 2, "regularization": 1 / 64}
    for start, count in ((None, 5), ("age <= 0.5", 2)):
        found = good_trees(X, y, **asked, start=start, idle=True)
        verdict = certify.check_set(found.certificate_, [tree.tree for tree in found], X, y, prove=True)
        assert (found.count, verdict.holds, verdict.is_set_proved) == (count, True, True), str(verdict)
    assert good_trees(X, y, **asked).count == 1


def test_the_complete_part_of_a_stopped_set_is_proved() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 5, (40, 5)), rng.integers(0, 2, 40)
    n_proved = 0
    limit = 20_000
    found = None
    # How much memory leaves a part of the set is up to the engine, so every limit up to the whole set is tried.
    while found is None or not found.is_complete:
        limit += limit // 50
        found = good_trees(X, y, tolerance=0.05, max_depth=3, regularization=0.02, memory_limit=limit)
        for part in (found, found.complete_part()):
            trees = [member.tree for member in part[:20]]
            if trees:
                verdict = certify.check_set(part.certificate_, trees, X, y, prove=True)
                assert verdict.holds, verdict.failures
                n_proved += not found.is_complete
    assert n_proved > 0
