"""The fuzzer: a short run of every family at fixed seeds, and that it sees what is wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fuzz import classifiers
from fuzz.__main__ import batches, describe, find_failure, run, run_batch
from fuzz.brute import Rules, best_by_leaves, list_tests, route, trees_of
from fuzz.families import FAMILIES, check, draw
from fuzz.truth import MismatchError

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_short_run_of_every_family(family: str) -> None:
    for seed in range(max(8, FAMILIES[family].share // 2)):
        check(family, draw(family, seed))


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_a_longer_run_of_every_family(family: str) -> None:
    for seed in range(1_000_000, 1_000_000 + 12 * FAMILIES[family].share):
        check(family, draw(family, seed))


def test_a_case_is_drawn_from_its_seed_alone() -> None:
    for family in FAMILIES:
        assert str(draw(family, 5)) == str(draw(family, 5)) != str(draw(family, 6))


def test_the_page_on_trust_has_every_family() -> None:
    """Of both fuzzers, in their order, so that none is left out when their cases are counted."""
    root = Path(__file__).parents[1]
    engine = re.findall(
        r'^    \{"([^"]+)", \d+, draw_', (root / "cpp/fuzz/families.cpp").read_text("utf-8"), re.MULTILINE
    )
    page = (root / "docs/trust.md").read_text("utf-8")
    tables = [re.findall(r"^\| ([^|]+) \|.*\|$", part, re.MULTILINE) for part in page.split("| family |")[1:]]
    assert tables == [engine, list(FAMILIES)]


# It sees what is wrong ------------------------------------------------------------------------------------------------


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that finds the best tree of a lower depth."""
    right = classifiers.fit

    def fit(case: Any) -> Any:
        depth = max(0, case.settings["max_depth"] - 1)
        return right(replace(case, settings={**case.settings, "max_depth": depth}))

    monkeypatch.setattr(classifiers, "fit", fit)


def test_a_wrong_optimum_is_found_and_shrunk(shallow: None) -> None:
    found = {seed: find_failure("plain", draw("plain", seed)) for seed in range(30)}
    failing = [seed for seed, error in found.items() if isinstance(error, MismatchError)]
    assert failing
    error = found[failing[0]]
    assert error is not None
    told = describe("plain", failing[0], draw("plain", failing[0]), error)
    assert f"--family 'plain' --seed {failing[0]} --cases 1" in told
    assert "MismatchError" in told
    # A split helps where rows differ in one column and in their labels; much less does not show it, nor is more needed.
    columns = [line for line in told.splitlines() if line.startswith("    x")]
    assert len(columns) <= 2
    assert columns[0].count(",") <= 3


def test_batches_go_round_the_families_and_report_failures(shallow: None) -> None:
    found = [run_batch(*batch) for batch in batches(["plain", "ties"], 4, 28)]
    assert [(batch.family, batch.cases) for batch in found] == [("plain", 25), ("ties", 3)]
    assert found[0].failures


def test_a_run_without_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ties"], 7, 10, None, 1) == 0
    printed = capsys.readouterr().out
    assert "10 cases" in printed
    assert "cases per second, 0 failures" in printed


# The enumeration ------------------------------------------------------------------------------------------------------


def test_all_trees_of_a_table_that_can_be_counted_by_hand() -> None:
    columns = {"a": [1.0, 2.0, 3.0], "b": ["x", None, "x"]}
    tests = list_tests(columns)
    # a <= 1, a <= 2, every row, b is x, b is missing; nothing.
    assert tests == [0b000, 0b001, 0b010, 0b011, 0b101, 0b111]
    # One leaf; one row parted off, in three ways; all three rows parted.
    trees = {frozenset(tree) for tree in trees_of(tests, [1.0] * 3, Rules(depth=2))}
    assert trees == {
        frozenset({0b111}), frozenset({0b001, 0b110}), frozenset({0b011, 0b100}), frozenset({0b010, 0b101}),
        frozenset({0b001, 0b010, 0b100}),
    }  # fmt: skip
    costs = [[0, 4], [2, 0], [0, 1]]
    assert best_by_leaves(tests, [1.0] * 3, costs, Rules(depth=2)) == {1: 2, 2: 0, 3: 0}
    assert best_by_leaves(tests, [1.0] * 3, costs, Rules(depth=2, samples=2)) == {1: 2}
    assert best_by_leaves(tests, [1.0, 1.0, 3.0], costs, Rules(depth=1, weight=2.0)) == {1: 2, 2: 2}


def test_rows_find_their_leaves_by_raw_cells() -> None:
    tree = {
        "columns": [{"categories": []}, {"categories": ["x", "y"]}],
        "nodes": [
            {"column": 0, "threshold": 1.5, "missing_left": True, "left": 1, "right": 2},
            {},
            {"column": 1, "category": 1, "missing_left": False, "left": 3, "right": 4},
            {},
            {},
        ],
    }
    cells = [(1.5, "y"), (None, "y"), (float("nan"), None), (2.0, "y"), (2.0, "x"), (2.0, "new"), (2.0, None)]
    assert [route(tree, row) for row in cells] == [1, 1, 1, 3, 4, 4, 4]


def test_a_leaf_may_weigh_a_trifle_less_than_the_minimum() -> None:
    rules = Rules(depth=1, weight=1.0)
    tenth = [Fraction(0.1)] * 10
    assert rules.allows(0b1111111111, tenth)
    assert not rules.allows(0b111111111, tenth)
