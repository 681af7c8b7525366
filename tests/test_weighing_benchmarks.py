"""The suites of weighing and guessing: their cells, their tables and their verdicts."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import report, weighing
from benchmarks.adapters import fit_certree
from benchmarks.measure import Measurement, Request, measure_together
from benchmarks.suites import Row
from benchmarks.tables import Table, count_picks, load


def measured(seconds: float, objective: float, status: str = "optimal", **notes: float) -> Measurement:
    return Measurement(seconds, status, objective, 3, notes={"lower": objective - 0.1, "tests": 10, **notes})


def rows_of(name: str, answer: Any, quick: bool = True) -> tuple[Any, list[Row]]:
    suite = weighing.WEIGHING_SUITES[name](quick, 20.0)
    return suite, [Row(cell, {key: answer(cell, key) for key in cell.requests}) for cell in suite.cells]


def verdicts(suite: Any, rows: list[Row]) -> list[bool | None]:
    return [verdict["is_met"] for verdict in report.judge(suite, rows)]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("name", weighing.WEIGHING_SUITES)
def test_suites_have_cells_and_targets(name: str, quick: bool) -> None:
    suite, rows = rows_of(name, lambda cell, key: measured(1.0, 0.3, all_tests=1000, guess_seconds=0.5), quick)
    assert suite.name == name
    assert suite.present(rows)[-1].count("|") >= 6
    assert all(line.startswith("|") for line in suite.present(rows)[-len(rows) :])
    assert suite.present([Row(cell, skipped="absent") for cell in suite.cells])
    for target in suite.targets:
        words, _ = target.judge(rows)
        assert words
    assert not all(target.judge([])[1] for target in suite.targets)


def test_weighing_judges_bounds_and_gaps() -> None:
    suite, rows = rows_of("weighing", lambda cell, key: measured(1.0, 0.3 if key == "direct" else 0.31))
    assert verdicts(suite, rows) == [True, True, None]
    suite, rows = rows_of("weighing", lambda cell, key: measured(1.0, 0.3 if key == "direct" else 0.29))
    assert verdicts(suite, rows) == [True, False, None]
    suite, rows = rows_of("weighing", lambda cell, key: measured(1.0, 0.3 if key == "direct" else 0.41))
    assert verdicts(suite, rows)[0] is False
    suite, rows = rows_of(
        "weighing", lambda cell, key: measured(20.0, 0.3, "time_limit" if key == "sample" else "optimal")
    )
    assert report.judge(suite, rows)[2]["found"] == "geometric means: duplicate 1.00 (1.00 to 1.00)"
    assert "| 20 s | 20 s | > 20 s | 1.00 | – |" in suite.present(rows)[-1]


def test_duplication_judges_flatness() -> None:
    times = {"weights": 1.0, "rows": 2.0, "counts": 1.0}
    suite, rows = rows_of("duplication", lambda cell, key: measured(times[key], 0.3))
    assert verdicts(suite, rows) == [True, True, True]
    slow = {"weights": 3.0, "rows": 2.0, "counts": 1.0}
    suite, rows = rows_of(
        "duplication", lambda cell, key: measured(times[key] if cell.part == "0 %" else slow[key], 0.3)
    )
    assert verdicts(suite, rows) == [True, False, False]


def test_guessing_judges_tests_and_objectives() -> None:
    def answer(cell: Any, key: str) -> Measurement:
        return measured(2.0 if key == "all" else 1.0, 0.3 if key == "all" else 0.305, all_tests=1000, guess_seconds=1.0)

    suite, rows = rows_of("guessing", answer, quick=False)
    assert verdicts(suite, rows) == [True, True, None]
    assert "search alone 2.0 (up to 2), with the guess itself 1.00" in report.judge(suite, rows)[2]["found"]
    timed_out = [Row(row.cell, row.measurements | {"all": measured(9, 0.2, "time_limit")}) for row in rows]
    assert not verdicts(suite, timed_out)[1]  # nothing certified
    assert "(all not certified)" in suite.present(timed_out)[-1]
    assert weighing.seconds_text(measured(9, 0.2, "time_limit")) == "> 9 s"


@pytest.mark.long
def test_contenders_take_turns_in_one_process() -> None:
    cells = weighing.weighing(True, 20.0).cells[0].requests
    found = measure_together({name: replace(request, table="tiny") for name, request in cells.items()}, 4)
    assert [found[name].status for name in weighing.METHODS] == ["optimal", "approximate", "approximate"]
    assert all(m.notes["fits"] >= 4 for m in found.values())
    broken = measure_together({"a": Request("certree", "tiny", 2, 0.01), "b": Request("certree", "tiny", 2, -1.0)}, 1)
    assert [m.status for m in broken.values()] == ["failed", "failed"]
    assert "regularization" in broken["a"].remark


def test_a_page_says_how_it_was_measured(tmp_path: Path) -> None:
    suite = weighing.weighing(True, 20.0)
    requests = {name: replace(request, table="tiny") for name, request in suite.cells[0].requests.items()}
    row = Row(replace(suite.cells[0], requests=requests), dict.fromkeys(requests, measured(1.0, 0.3)))
    report.write(suite, [row], tmp_path)
    page = (tmp_path / "weighing.md").read_text()
    assert "take turns" in page
    assert "| tiny | all | 10 | 2 | 0.005 | 1 s | 1 s | 1 s | 1.00 | 1.00 | 0.30000 |" in page


def test_doubled_rows_are_doubled_weights() -> None:
    table, doubled = load("tiny"), load("tiny doubled 150")
    weights = table.weights("doubled 150")
    assert weights is not None
    assert len(doubled.y) == weights.sum() == 150
    assert count_picks(60, 0).sum() == 0
    assert set(weights.tolist()) == {2.0, 3.0}
    outcomes = [fit_certree(table, 2, 0.01, weights, None), fit_certree(doubled, 2, 0.01, None, None)]
    assert outcomes[0].objective == pytest.approx(outcomes[1].objective, abs=1e-12)


def test_balancing_weights_of_a_table() -> None:
    table = load("tiny")
    weights = table.weights("balance")
    assert weights is not None
    sums = np.bincount(table.X[:, 0].astype(int), weights)
    assert sums[0] == pytest.approx(sums[1])


def test_a_guessed_fit_tells_its_parts_apart() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    table = Table("made", X, (X[:, 0] > 0).astype(np.int64), "made")
    outcome = fit_certree(table, 2, 0.01, None, None, thresholds="guess")
    assert outcome.notes["all_tests"] == 3 * 149
    assert outcome.notes["tests"] < 100
    assert outcome.notes["guess_seconds"] > 0
    again = fit_certree(table, 2, 0.01, None, None, thresholds="guess", method="duplicate")
    assert again.notes["guess_seconds"] == outcome.notes["guess_seconds"]  # guessed once for all contenders
    assert math.isclose(outcome.objective, 0.02)
