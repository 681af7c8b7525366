"""The suites of depth, growth, early trees and unlimited depth: their tables, adapters, verdicts and pages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import adapters, report, tables
from benchmarks.adapters import CONTENDERS, UNLIMITED, UnsupportedError, fit_certree, fit_pruned_cart
from benchmarks.anytime import RIVALS, anytime, name_at
from benchmarks.deep import continuous_deep
from benchmarks.growth import growth, table_megabytes
from benchmarks.measure import Measurement, Peers, Request
from benchmarks.record import read
from benchmarks.suites import SUITES, Cell, Row, Suite
from benchmarks.unlimited import unlimited

Answer = Callable[[Cell, str], Measurement]


def done(seconds: float, found: float = 0.25, **fields: object) -> Measurement:
    return Measurement(seconds, **({"status": "optimal", "objective": found, "leaves": 3} | fields))  # type: ignore[arg-type]


def verdicts(suite: Suite, answer: Answer) -> list[bool]:
    rows = [Row(cell, {name: answer(cell, name) for name in cell.requests}) for cell in suite.cells]
    return [verdict["is_met"] for verdict in report.judge(suite, rows)]


# Tables and adapters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tables.CONTINUOUS)
def test_deep_tables_are_of_the_sizes_that_the_suite_promises(name: str) -> None:
    try:
        table = tables.load(name)
    except tables.AbsentError as reason:
        pytest.skip(str(reason))
    assert 200 <= len(table.y) <= 20_000
    assert 2 <= table.y.max() + 1 <= 10
    assert max(len(np.unique(column)) for column in table.X.T) >= 100
    assert np.isfinite(table.X).all()


def test_growing_tables_are_what_they_say() -> None:
    planted, noise = tables.load("growth-coarse-5-planted-10k"), tables.load("growth-coarse-5-noise-10k")
    assert planted.X.shape == noise.X.shape == (10_000, 20)
    assert planted.n_thresholds == 20 * 32
    assert tables.load("growth-continuous-2-planted-10k").n_thresholds == 10 * 9_999
    for table, share in ((planted, 0.8 + 0.2 / 5), (noise, 1 / 5)):
        leaf = 4 * (table.X[:, 0] > 16) + 2 * (table.X[:, 1] > 16) + (table.X[:, 2] > 16)
        assert (table.y == tables.PLANTED_LEAVES[3][leaf]).mean() == pytest.approx(share, abs=0.02)
    assert tables.load("wide-100").X.shape == (1_000, 100)


@pytest.mark.parametrize("penalty", [0.0, 0.01, 0.05])
def test_cart_is_cut_back_exactly(penalty: float) -> None:
    """At depth 1 by hand; deeper it lies between the optimum and the uncut tree."""
    table = tables.load("lalonde")
    stump, whole = fit_pruned_cart(table, 1, penalty, None, None), fit_pruned_cart(table, 3, penalty, None, None)
    uncut = CONTENDERS["cart"].fit(table, 3, penalty, None, None)
    lone = min(table.y.mean(), 1 - table.y.mean()) + penalty
    assert stump.objective <= lone + 1e-12
    assert stump.leaves in (1, 2)
    assert fit_certree(table, 3, penalty, None, None).objective - 1e-12 <= whole.objective <= uncut.objective + 1e-12
    if penalty == 0.0:
        assert whole.objective == pytest.approx(uncut.objective, abs=1e-12)


@pytest.mark.parametrize("weights", ["unit", "lognormal"])
def test_licketysplit_is_charged_as_we_are(weights: str) -> None:
    if not CONTENDERS["licketysplit"].is_installed:
        pytest.skip("licketysplit is not installed")
    table = tables.load("tiny")
    weight = table.weights(weights)
    theirs = CONTENDERS["licketysplit"].fit(table, 3, 0.01, weight, None, lookahead=2)
    ours = fit_certree(table, 3, 0.01, weight, None)
    assert ours.objective - 1e-12 <= theirs.objective <= ours.objective * 1.2
    three = replace(table, y=np.arange(len(table.y)) % 3)
    with pytest.raises(UnsupportedError, match="two labels"):
        CONTENDERS["licketysplit"].fit(three, 3, 0.01, None, None)


def test_unlimited_depth_is_no_limit() -> None:
    table = tables.load("tiny")
    deep_tree = fit_certree(table, UNLIMITED, 0.02, None, None)
    assert deep_tree.status == "optimal"
    assert deep_tree.objective <= fit_certree(table, 2, 0.02, None, None).objective + 1e-12


def test_the_version_of_before_is_asked_for_by_its_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(adapters.BEFORE, raising=False)
    assert not CONTENDERS["before"].is_installed
    with pytest.raises(UnsupportedError, match=adapters.BEFORE):
        CONTENDERS["before"].fit(tables.load("tiny"), 2, 0.01, None, None)


def test_looks_ahead_are_remembered_apart() -> None:
    if not CONTENDERS["licketysplit"].is_installed:
        pytest.skip("licketysplit is not installed")
    one = Request("licketysplit", "tiny", 2, 0.01, options={"lookahead": 1})
    assert Peers.key(one) != Peers.key(replace(one, options={"lookahead": 2}))


# Verdicts -------------------------------------------------------------------------------------------------------------


def test_a_limit_counts_as_its_seconds_and_two_limits_not_at_all() -> None:
    suite = continuous_deep(False, 200.0)
    assert len(suite.cells) == 2 * 3 * len(tables.CONTINUOUS)
    assert all(cell.subject.time_limit == 60.0 for cell in suite.cells)
    assert verdicts(suite, lambda cell, name: done(1.0 if name == "certree" else 20.0)) == [True, True, True]

    def slow_on_ring(cell: Cell, name: str) -> Measurement:
        if cell.subject.table == "ring":
            return done(60.0, status="time_limit") if name == "certree" else done(2.0)
        return done(1.0 if name == "certree" else 60.0)

    assert verdicts(suite, slow_on_ring) == [False, False, True]

    def unproved(worse: float) -> Answer:
        def answer(cell: Cell, name: str) -> Measurement:
            if cell.subject.table == "magic":
                return done(60.0, 0.2 + (worse if name == "certree" else 0.0), status="time_limit")
            return done(1.0 if name == "certree" else 20.0)

        return answer

    assert verdicts(suite, unproved(0.0)) == [True, True, True]
    assert verdicts(suite, unproved(0.01)) == [True, True, False]


def test_growth_is_judged_between_sizes_of_one_problem() -> None:
    suite = growth(False, 200.0)

    def answer(step: float, cart: float = 1.0, memory: float = 1.0) -> Answer:
        def measured(cell: Cell, name: str) -> Measurement:
            size = cell.subject.table.rpartition("-")[2]
            seconds = {"10k": 1.0, "100k": step, "1m": step * 10}.get(size, 1.0)
            if name != "certree":
                return done(seconds * cart, status="optimal" if name == "contree" else "greedy")
            held = {"held_megabytes": 100.0, "peak_megabytes": 100.0 + memory * table_megabytes(cell.subject.table)}
            return done(seconds, notes=held)

        return measured

    judged = verdicts(suite, answer(10.0))
    assert judged == [True] * len(judged)
    assert verdicts(suite, answer(16.0))[0] is False
    assert verdicts(suite, answer(10.0, cart=0.4))[1:] == [False, False, True, True, True, False]
    assert verdicts(suite, answer(10.0, memory=3.5))[5] is False
    unproved = lambda cell, name: done(200.0, status="time_limit")  # noqa: E731
    assert verdicts(suite, unproved) == [False] * len(judged)


def test_early_trees_are_compared_with_what_was_there_by_then() -> None:
    suite = anytime(False, 200.0)

    def answer(late: float, excess: float) -> Answer:
        def measured(cell: Cell, name: str) -> Measurement:
            if name in RIVALS:
                return done(late, 0.3, status="heuristic")
            return done(0.1, 0.3 * (1 + excess), status="time_limit", notes={"lower": 0.1})

        return measured

    assert verdicts(suite, answer(0.01, 0.0)) == [True, True]
    assert verdicts(suite, answer(0.01, 0.005)) == [False, True]
    assert verdicts(suite, answer(0.01, 0.02)) == [False, False]
    # A tree that comes too late is compared with nothing.
    assert verdicts(suite, answer(11.0, 0.02)) == [False, False]
    late = [Row(cell, {name: answer(5.0, 0.02)(cell, name) for name in cell.requests}) for cell in suite.cells]
    assert suite.targets[0].judge(late)[0] == f"0.0% of {len(suite.cells)}"


def test_unlimited_trees_are_reported() -> None:
    suite = unlimited(False, 200.0)
    judged = verdicts(suite, lambda cell, name: done(1.0 if name == "certree" else 7.0))
    assert judged == [None, True]
    assert verdicts(suite, lambda cell, name: done(1.0 if name == "certree" else 5.0)) == [None, False]


# Pages ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [continuous_deep, growth, anytime, unlimited])
def test_pages_show_what_was_measured_and_what_was_not(make: Callable[[bool, float], Suite], tmp_path: Path) -> None:
    suite = make(True, 20.0)

    def on_tiny(cell: Cell) -> Cell:
        return replace(cell, requests={name: replace(asked, table="tiny") for name, asked in cell.requests.items()})

    first, last = on_tiny(suite.cells[0]), on_tiny(suite.cells[-1])
    held = {"held_megabytes": 1.0, "peak_megabytes": 2.0, "lower": 0.125}
    rows = [
        Row(first, {name: done(1.5, notes=held) for name in first.requests}),
        Row(first, skipped="no data"),
        Row(last, {last.under: done(7.5, status="time_limit")}),
    ]
    report.write(suite, rows, tmp_path)
    page = (tmp_path / f"{suite.name}.md").read_text()
    assert page.count("| tiny |") == 2
    assert "0.25" in page or suite.name == "growth"
    assert "Skipped: no data." in page
    assert (tmp_path / "anytime.png").is_file() == (suite.name == "anytime")


def test_the_command_knows_the_suites_and_runs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """certree's part of the quick form in a fresh process, on a table that takes no time."""
    assert {"continuous-deep", "growth", "anytime", "unlimited"} <= set(SUITES)

    def tiny(quick: bool, seconds: float) -> Suite:
        suite = anytime(quick, seconds)
        asked = replace(suite.cells[0].requests[name_at(0.1)], table="tiny")
        return replace(suite, cells=[Cell({name_at(0.1): asked}, under=name_at(0.1))])

    monkeypatch.setitem(SUITES, "anytime", tiny)
    assert command.main(["--suite", "anytime", "--quick", "--results", str(tmp_path)]) == 0
    assert len(read(tmp_path / "anytime.csv")["cells"]) == 1
    assert name_at(0.1) in (tmp_path / "anytime.md").read_text()
