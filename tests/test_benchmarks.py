"""The benchmarks measure what they say: tables, objectives, fresh processes, targets, and loud failure."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certree import good_trees

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import measure, record, report, suites, tables
from benchmarks.adapters import CONTENDERS, objective
from benchmarks.machine import describe
from benchmarks.measure import Measurement, Peers, Request, merge
from benchmarks.record import read
from benchmarks.suites import SUITES, Cell, Row

FILES = ("compas", "broward", "fico", "netherlands", "coupon")


def contest(**measurements: Measurement) -> Row:
    """A measured cell: certree against whoever else is named."""
    requests = {name: Request(name, "tiny", 2, 0.01, time_limit=20.0) for name in measurements}
    return Row(Cell(requests, over=tuple(name for name in measurements if name != "certree")), measurements)


def done(seconds: float, found: float = 0.25, **fields: Any) -> Measurement:
    return Measurement(seconds, **({"status": "optimal", "objective": found, "leaves": 3} | fields))


# Tables --------------------------------------------------------------------------------------------------------------


def test_generated_tables_are_what_they_say() -> None:
    rare = tables.load("continuous-rare-10k")
    assert rare.X.shape == (10_000, 10)
    assert rare.y.mean() == pytest.approx(0.05, abs=0.001)
    assert rare.n_thresholds > 99_000
    two_valued = tables.load("two-valued-0.2")
    assert set(np.unique(two_valued.X)) == {0.0, 1.0}
    assert two_valued.X.mean() == pytest.approx(0.2, abs=0.01)
    assert tables.load("lalonde").X.shape == (722, 7)


def test_a_digest_tells_tables_apart() -> None:
    tiny = tables.load("tiny")
    assert tiny.digest == replace(tiny).digest
    assert tiny.digest != replace(tiny, y=1 - tiny.y).digest


def test_every_threshold_becomes_a_column() -> None:
    table = tables.load("tiny-continuous")
    binarised = table.binarised()
    assert binarised.shape == (len(table.y), table.n_thresholds)
    assert len(np.unique(binarised, axis=1).T) == table.n_thresholds


def test_unknown_and_absent_tables_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown table 'nothing'"):
        tables.load("nothing")
    tables._load.cache_clear()
    monkeypatch.delenv("CERTREE_DATA", raising=False)
    with pytest.raises(tables.AbsentError, match="CERTREE_DATA"):
        tables.load("compas")
    monkeypatch.setenv("CERTREE_DATA", str(tmp_path))
    with pytest.raises(tables.AbsentError, match="not in the directory"):
        tables.load("compas")
    tables._load.cache_clear()


@pytest.mark.parametrize("name", FILES)
def test_files_have_the_thresholds_of_their_cards(name: str) -> None:
    try:
        table = tables.load(name)
    except tables.AbsentError as reason:
        pytest.skip(str(reason))
    expected = {"compas": 134, "broward": 588, "fico": 1917, "netherlands": 30950, "coupon": 87}
    assert table.n_thresholds == expected[name]


def test_weights_are_seeded() -> None:
    tiny = tables.load("tiny")
    assert tiny.weights("unit") is None
    np.testing.assert_array_equal(tiny.weights("lognormal"), tiny.weights("lognormal"))
    with pytest.raises(ValueError, match="unknown weights"):
        tiny.weights("heavy")


# Adapters and processes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["streed", "contree"])
@pytest.mark.parametrize("table", ["tiny", "tiny-continuous"])
@pytest.mark.parametrize("penalty", [0.05, 0.013, 0.001])
def test_peers_find_the_same_optimum(name: str, table: str, penalty: float) -> None:
    """λ means the same in every adapter, and the optimum is the optimum."""
    if not CONTENDERS[name].is_installed:
        pytest.skip(f"{CONTENDERS[name].package} is not installed")
    data = tables.load(table)
    ours = CONTENDERS["certree"].fit(data, 2, penalty, None, None)
    theirs = CONTENDERS[name].fit(data, 2, penalty, None, 60.0)
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-12)


def test_the_objective_is_counted_by_hand() -> None:
    tiny = tables.load("tiny")
    weights = np.ones(len(tiny.y))
    weights[0] = 5.0
    wrong = tiny.y.copy()
    wrong[:2] = 1 - wrong[:2]
    assert objective(tiny, wrong, 4, 0.01, weights) == pytest.approx(6 / (len(tiny.y) + 4) + 0.04)


def test_a_fresh_process_measures_a_fit() -> None:
    found = measure.measure_once(Request("certree", "tiny", 2, 0.01, weights="lognormal", time_limit=20.0))
    assert found.status == "optimal"
    assert found.seconds > 0
    assert found.notes["peak_megabytes"] > 0
    assert found.objective is not None


def test_what_a_library_cannot_do_is_told() -> None:
    if not CONTENDERS["contree"].is_installed:
        pytest.skip("pycontree is not installed")
    found = measure.measure_once(Request("contree", "tiny", 2, 0.01, weights="lognormal"))
    assert found.status == "unsupported"
    assert not found.has_figures


def test_a_failure_is_told() -> None:
    found = measure.measure_once(Request("certree", "tiny", 2, -1.0))
    assert found.status == "failed"
    assert "regularization" in found.remark


def test_interrupts_and_limits_are_measured() -> None:
    long = Request("certree", "continuous-balanced-10k", 4, 0.0001, time_limit=20.0, interrupt_after=0.5)
    found = measure.measure_once(long)
    assert found.status == "interrupted"
    assert found.notes["interrupt_seconds"] < 5


def test_slow_peers_are_remembered_and_certree_never(tmp_path: Path) -> None:
    path = tmp_path / "peers.json"
    peers, slow = Peers(path), done(33.0)
    request = Request("cart", "tiny", 2, 0.01)
    assert peers.recall(request) is None
    peers.keep(request, done(1.0))
    peers.keep(replace(request, contender="certree"), slow)
    assert not path.exists()
    peers.keep(request, slow)
    recalled = Peers(path).recall(request)
    assert recalled is not None
    assert recalled.seconds == 33.0
    assert recalled.remembered
    assert "†" in report.measurement_text(recalled)
    assert Peers(path).recall(replace(request, penalty=0.02)) is None
    # Nothing of it is run again.
    assert measure.measure({"cart": request}, 3, Peers(path))["cart"] == recalled


def test_a_rival_that_has_lost_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def run(request: Request) -> Measurement:
        limits.append(request.time_limit)
        return done(2.0)

    monkeypatch.setattr(measure, "measure_once", run)
    # The true key holds the peers' versions, and they need not be installed here.
    monkeypatch.setattr(Peers, "key", staticmethod(lambda request: request.contender))
    requests = {name: Request(name, "tiny", 2, 0.01, time_limit=100.0) for name in ("certree", "streed", "contree")}
    measure.measure(requests, 1, Peers(None), rivals=("streed", "contree"))
    assert limits == [100.0, 100.0, 4.0]
    limits.clear()
    measure.measure(requests, 1, Peers(None), rivals=("streed", "contree"), is_patient=True)
    assert limits == [100.0, 100.0, 100.0]


def test_repeats_are_merged_by_the_median() -> None:
    merged = merge([done(3.0, notes={"fits": 1}), done(1.0, notes={"fits": 4}), done(2.0, notes={"fits": 2})])
    assert (merged.seconds, merged.repeats, merged.notes) == (2.0, 3, {"fits": 4})
    assert merge([done(1.0, 0.25), done(1.0, 0.26)]).status == "failed"
    assert merge([done(1.0), Measurement(math.nan, "failed", remark="broke")]).remark == "broke"


# Judgement -----------------------------------------------------------------------------------------------------------


def test_ratios_are_against_the_faster_peer() -> None:
    row = contest(certree=done(0.1), streed=done(2.0), contree=Measurement(4.0, "timeout"))
    assert row.ratio == pytest.approx(20)
    assert not row.is_ratio_bound
    stopped = contest(certree=done(0.1), streed=Measurement(4.0, "timeout"), contree=Measurement(5.0, "time_limit"))
    assert stopped.ratio == pytest.approx(40)
    assert stopped.is_ratio_bound
    assert contest(certree=Measurement(20.0, "time_limit"), streed=done(1.0)).ratio is None


def test_a_claimed_optimum_that_another_beats_is_wrong() -> None:
    assert "certree claims" in contest(certree=done(1.0, 0.3), streed=done(1.0, 0.2)).disagreement
    assert "streed claims" in contest(certree=done(1.0, 0.2), streed=done(1.0, 0.3)).disagreement
    late = Measurement(9.0, "time_limit", objective=0.2)
    assert "certree claims" in contest(certree=done(1.0, 0.3), streed=late).disagreement
    assert not contest(certree=done(1.0, 0.2), streed=replace(late, objective=0.3)).disagreement
    assert not contest(certree=done(1.0, 0.2), cart=done(1.0, 0.1, status="greedy")).disagreement


def test_targets_want_the_mean_and_the_least() -> None:
    rows = [contest(certree=done(1.0), streed=done(seconds)) for seconds in (10.0, 40.0)]
    assert suites.at_least(20, 5)(rows) == ("geometric mean 20.00, least 10.00, 2 cells", True)
    assert not suites.at_least(21, 5)(rows)[1]
    assert not suites.at_least(20, 11)(rows)[1]
    assert suites.at_most(40, "")(rows)[1]
    assert not suites.at_most(39, "")(rows)[1]
    unproved = contest(certree=Measurement(20.0, "time_limit"), streed=done(1.0))
    assert suites.at_least(20, 5)([*rows, unproved]) == (
        "geometric mean 20.00, least 10.00, 2 cells, 1 without a ratio",
        False,
    )
    assert not suites.at_least(1, 1)([])[1]
    assert math.isnan(suites.geometric_mean([]))


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("quick", [True, False])
def test_suites_are_well_formed_and_judge_what_is_not_measured(name: str, quick: bool) -> None:
    suite = SUITES[name](quick, 20.0)
    assert suite.name == name
    assert suite.cells
    for cell in suite.cells:
        assert set(cell.over) <= set(cell.requests)
        for request in cell.requests.values():
            assert request.table.partition(" doubled ")[0] in tables.TABLES
            assert request.contender in CONTENDERS
    assert not any(target.judge([Row(cell, skipped="no data") for cell in suite.cells])[1] for target in suite.targets)


def test_limits_that_are_not_kept_fail() -> None:
    suite = SUITES["limits"](True, 20.0)

    def judged(**notes: float) -> list[bool]:
        figures = {"peak_megabytes": 105.0, "held_megabytes": 100.0, "interrupt_seconds": 0.1} | notes
        late = figures.pop("late", 0.1)
        rows = []
        for cell in suite.cells:
            status = "interrupted" if cell.part == "interrupt" else "time_limit"
            seconds = (cell.subject.time_limit or 0) + late
            rows.append(Row(cell, {"certree": Measurement(seconds, status, notes=figures)}))
        return [target.judge(rows)[1] for target in suite.targets]

    assert judged() == [True, True, True, True]
    assert judged(late=0.3) == [False, True, True, True]
    assert judged(peak_megabytes=490.0) == [True, False, True, True]
    assert judged(interrupt_seconds=0.3) == [True, True, False, True]
    assert judged(peak_megabytes=600.0, held_megabytes=596.0) == [True, True, True, False]
    ended = [Row(cell, {"certree": Measurement(1.0, "timeout")}) for cell in suite.cells]
    assert [target.judge(ended)[1] for target in suite.targets] == [False, False, False, False]


def test_the_machine_is_described_without_its_name() -> None:
    import platform

    text = json.dumps(describe())
    assert describe()["cores"] >= 1
    assert "numpy" in describe()["versions"]
    assert platform.node() not in text or len(platform.node()) < 3


# The command ---------------------------------------------------------------------------------------------------------


def small_suite(quick: bool, seconds: float) -> suites.Suite:
    requests = {name: Request(name, "tiny", 2, 0.01, time_limit=seconds) for name in ("certree", "cart")}
    absent = {name: replace(request, table="nowhere") for name, request in requests.items()}
    target = suites.Target("faster than nothing", suites.at_least(None, 0.0))
    cells = [Cell(requests, over=("cart",)), Cell(absent, over=("cart",))]
    return suites.Suite("small", "A small suite", cells, [target])


@pytest.fixture
def one_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Any:
        raise tables.AbsentError("nowhere to be found")

    monkeypatch.setitem(tables.TABLES, "nowhere", nowhere)
    monkeypatch.setitem(SUITES, "small", small_suite)


@pytest.mark.usefixtures("one_suite")
def test_the_command_measures_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--suite", "small", "--quick", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "nowhere depth 2 λ 0.01: skipped, nowhere to be found" in printed
    assert "met: faster than nothing" in printed
    record = read(tmp_path / "small.csv")
    assert record["cells"][0]["measurements"]["certree"]["status"] == "optimal"
    page = (tmp_path / "small.md").read_text()
    assert "| tiny | 2 | 0.01 |" in page
    assert "Skipped: nowhere to be found." in page
    assert str(Path.cwd()) not in page + (tmp_path / "small.csv").read_text()
    assert "faster than nothing" in (tmp_path / "summary.md").read_text()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """All that stands in a file comes back, to the last digit; what was not measured stays away."""
    requests = {name: Request(name, "tiny", 2, 0.01, options={"n_jobs": 2}) for name in ("certree", "cart")}
    found = done(0.1234567890123456, notes={"lower": 1 / 3}, remark='a "remark", with\na break')
    cells = [Row(Cell(requests, over=("cart",), part="a"), {"certree": found}), Row(Cell(requests), skipped="no data")]
    written = {
        "suite": "small", "title": "A title: with a colon", "date": "2026-01-01", "machine": describe(),
        "targets": [{"target": "fast", "found": "1", "is_met": None}], "disagreements": ["certree, cart"],
        "cells": [report._plain(row) for row in cells],
    }  # fmt: skip
    record.write(written, tmp_path / "small.csv")
    assert read(tmp_path / "small.csv") == written
    del written["cells"]
    written["figures"] = [{"depth": 1, "gains": [0.5, 1e-17], "name": "a"}, {"depth": 2, "more": True}]
    record.write(written, tmp_path / "study.csv")
    assert read(tmp_path / "study.csv") == written


PUBLISHED = sorted((measure.ROOT / "benchmarks" / "results").glob("*.csv"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_records_can_be_read_and_have_their_page(path: Path) -> None:
    assert path.stat().st_size < 2_500_000
    if path.stem in ("paper", "paper-alone"):
        return  # rows of the paper's study, whose page is part of the documentation
    assert read(path)["suite"] == path.stem
    assert path.with_suffix(".md").is_file()


COUNTED = [
    cell
    for cell in read(measure.ROOT / "benchmarks" / "results" / "sets.csv")["cells"]
    if "trees" in cell["measurements"].get("praxis", {"notes": {}})["notes"]
]


def takes_seconds(cell: dict[str, Any]) -> bool:
    """To guess the thresholds of the table, or to find all its trees."""
    found = cell["measurements"]["praxis"]["notes"]
    return bool(cell["requests"]["praxis"]["table"] == "fico-guessed" or found["trees"] > 1e7)


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, marks=[pytest.mark.long] if takes_seconds(cell) else []) for cell in COUNTED]
)
def test_the_published_counts_of_praxis_are_ours_where_amounts_are_rounded_as_there(cell: dict[str, Any]) -> None:
    request = cell["requests"]["praxis"]
    try:
        table = tables.load(request["table"])
    except tables.AbsentError as reason:
        pytest.skip(str(reason))
    n_rows = len(table.y)
    settings = {
        "max_depth": request["depth"],
        "regularization": int(request["penalty"] * n_rows + 0.5) / n_rows,
        "idle": True,
    }
    best = round(good_trees(table.X, table.y, tolerance=0.0, **settings).optimum * n_rows)
    most = int(best * (1 + request["options"]["share"]) + 0.5)
    found = good_trees(table.X, table.y, tolerance=(most - best) / n_rows, **settings)
    assert found.count_written() == cell["measurements"]["praxis"]["notes"]["trees"]


def test_what_is_only_reported_is_neither_met_nor_missed(tmp_path: Path) -> None:
    target = suites.Target("a ratio", lambda rows: ("1.5", None))
    suite = suites.Suite("small", "A small suite", [], [target])
    report.write(suite, [], tmp_path)
    assert "- **reported**: a ratio — 1.5" in (tmp_path / "small.md").read_text()
    assert "| a ratio | 1.5 | reported |" in (tmp_path / "summary.md").read_text()
    assert [report.verdict_word(is_met) for is_met in (True, False)] == ["met", "not met"]


@pytest.mark.usefixtures("one_suite")
def test_the_command_fails_loudly_when_objectives_disagree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([done(1.0, 0.3), done(1.0, 0.2)])
    monkeypatch.setattr(measure, "measure_once", lambda request: next(answers))
    assert command.main(["--suite", "small", "--quick", "--results", str(tmp_path)]) == 1
    assert "WRONG" in capsys.readouterr().err
    assert "WRONG" in (tmp_path / "small.md").read_text()


def test_pages_show_limits_and_failures() -> None:
    suite = SUITES["limits"](True, 20.0)
    figures = {"peak_megabytes": 150.0, "held_megabytes": 100.0}
    rows = [Row(cell, {"certree": Measurement(1.0, "time_limit", notes=figures)}) for cell in suite.cells[:1]]
    rows += [Row(cell, {"certree": Measurement(math.nan, "failed", remark="broke")}) for cell in suite.cells[1:2]]
    lines = report._limits_table(rows)
    assert "50 MB" in lines[2]
    assert "broke" in lines[3]


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (None, "–"),
        (done(0.0021), "2.1 ms"),
        (done(0.0456), "46 ms"),
        (done(1.234), "1.23 s"),
        (done(33.4), "33 s"),
        (Measurement(20.0, "timeout"), "> 20 s"),
        (done(1.0, status="memory_limit"), "1.00 s (memory_limit)"),
        (Measurement(math.nan, "failed"), "failed"),
        (Measurement(math.nan, "unsupported"), "–"),
    ],
)
def test_figures_are_written_for_people(measurement: Measurement | None, text: str) -> None:
    assert report.measurement_text(measurement) == text
