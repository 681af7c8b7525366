"""The suite of large policies: its tables, its adapters, its verdicts and its page."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import adapters, report, tables
from benchmarks.adapters import CONTENDERS, UnsupportedError, fit_certree, fit_certree_policy, policy_objective
from benchmarks.large import ONE, PEER, TWO, large
from benchmarks.measure import Measurement, Peers, Request
from benchmarks.record import read
from benchmarks.suites import SUITES, Cell, Row, Suite

Answer = Callable[[Cell, str], Measurement]


def measured(seconds: float, objective: float = 0.5, status: str = "optimal") -> Measurement:
    notes = {"value": 1.5, "peak_megabytes": 300.0, "held_megabytes": 180.0}
    return Measurement(seconds, status, objective, 4, notes=notes)


def rows_of(answer: Answer) -> tuple[Suite, list[Row]]:
    suite = large(False, 200.0)
    return suite, [Row(cell, {name: answer(cell, name) for name in cell.requests}) for cell in suite.cells]


def verdicts(answer: Answer) -> list[bool]:
    suite, rows = rows_of(answer)
    return [verdict["is_met"] for verdict in report.judge(suite, rows)]


def test_tables_are_of_the_sizes_that_the_targets_name() -> None:
    table = tables.load("policy-continuous-0.5")
    assert table.X.shape == (10_000, 30)
    assert table.rewards.shape == (10_000, 20)
    assert table.n_thresholds == 30 * 9_999
    noise = tables.load("policy-continuous-noise").rewards
    assert abs(noise.mean()) < 0.01
    assert noise.std() == pytest.approx(1, abs=0.01)
    many = tables.load("policy-100k-2")
    assert many.X.shape == (100_000, 30)
    assert many.n_thresholds == 30 * 29
    # The planted tree gives every row to one action, which earns 2 more.
    assert many.rewards.sum(axis=1).mean() == pytest.approx(2, abs=0.1)


def test_rewards_are_part_of_a_digest() -> None:
    table = tables.load("tiny-policy")
    assert table.digest != replace(table, given_rewards=2 * table.rewards).digest
    np.testing.assert_array_equal(table.y, table.rewards.argmax(axis=1))


def test_labels_are_rewards_of_one() -> None:
    tiny = tables.load("tiny")
    as_policy, as_labels = fit_certree_policy(tiny, 2, 0.01, None, None), fit_certree(tiny, 2, 0.01, None, None)
    assert as_policy.objective == pytest.approx(as_labels.objective, abs=1e-12)
    assert as_policy.notes["value"] == pytest.approx(1 - as_policy.objective + 0.01 * as_policy.leaves)


def test_what_a_policy_loses_is_counted_by_hand() -> None:
    rewards = np.array([[1.0, 0.0], [2.0, 5.0], [-1.0, -1.0]])
    table = tables.Table("made", np.zeros((3, 1)), rewards.argmax(axis=1), "made", rewards)
    lost, value = policy_objective(table, [0, 0, 1], 3, 0.1)
    assert lost == pytest.approx(1.0 + 0.3)
    assert value == pytest.approx(2 / 3)


def test_streed_finds_the_same_policy() -> None:
    if not CONTENDERS["streed-policy"].is_installed:
        pytest.skip("pystreed is not installed")
    table = tables.load("tiny-policy")
    theirs = CONTENDERS["streed-policy"].fit(table, 2, 0.0, None, 60.0)
    ours = fit_certree_policy(table, 2, 0.0, None, None)
    assert theirs.status == ours.status == "optimal"
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-12)
    assert theirs.objective > 0


def test_streed_says_what_it_cannot_take(monkeypatch: pytest.MonkeyPatch) -> None:
    if not CONTENDERS["streed-policy"].is_installed:
        pytest.skip("pystreed is not installed")
    table = tables.load("tiny-policy")
    with pytest.raises(UnsupportedError, match="no penalty"):
        adapters.fit_streed_policy(table, 2, 0.01, None, None)
    monkeypatch.setattr(adapters.base, "MOST_BINARISED_BYTES", 200 * 15)
    with pytest.raises(UnsupportedError, match="two-valued column per test: 16 of them"):
        adapters.fit_streed_policy(table, 2, 0.0, None, None)


def test_certree_is_never_remembered(tmp_path: Path) -> None:
    peers = Peers(tmp_path / "peers.json")
    request = Request("certree-policy", "tiny-policy", 2, 0.0)
    peers.keep(request, measured(99.0))
    assert peers.recall(request) is None
    assert not peers.entries


def test_targets_are_judged() -> None:
    def with_seconds(seconds: float, parts: str) -> Answer:
        return lambda cell, name: measured(seconds if cell.part in parts and name == ONE else 1.0)

    assert verdicts(lambda cell, name: measured(1.0)) == [True, True, True, None, True]
    assert verdicts(with_seconds(1.4, "signal")) == [True, False, True, None, True]
    assert verdicts(with_seconds(60.0, "noise 100k small")) == [True, True, True, None, True]
    assert verdicts(with_seconds(61.5, "noise")) == [True, True, False, None, True]
    # A limit that ended a search, with two threads only, and everywhere.
    assert verdicts(lambda cell, name: measured(1.0, status="time_limit" if name == TWO else "optimal"))[0] is False
    assert verdicts(lambda cell, name: measured(1.0, status="time_limit")) == [False, False, False, None, False]
    # Another value, of threads or of the peer; and a peer that has finished nothing.
    for other in (TWO, PEER):
        assert verdicts(lambda cell, name, other=other: measured(1.0, 0.51 if name == other else 0.5))[4] is False
    assert verdicts(lambda cell, name: measured(1.0, status="timeout" if name == PEER else "optimal"))[4] is False


def test_a_value_that_another_beats_is_wrong() -> None:
    _, rows = rows_of(lambda cell, name: measured(1.0, 0.4 if name == PEER else 0.5))
    assert "1 thread claims" in rows[0].disagreement


def test_the_page_says_why_a_peer_has_no_figure() -> None:
    def answer(cell: Cell, name: str) -> Measurement:
        if name != PEER or cell.part == "small":
            return measured(2.0 if name == ONE else 6.0)
        if cell.part == "100k":
            return Measurement(200.0, "timeout")
        return Measurement(math.nan, "unsupported", remark="not tried, too many columns")

    suite, rows = rows_of(answer)
    assert suite.present is not None
    page = "\n".join(suite.present(rows))
    assert "| policy-continuous-2 | 299,970 | 20 | 2.00 s | 6.00 s | – | – | 1.500000 | 4 | 300 MB (120) |" in page
    assert "| policy-100k-2 | 870 | 20 | 2.00 s | 6.00 s | > 200 s | > 100 |" in page
    assert "| policy-small-0.5 | 90 | 3 | 2.00 s | 6.00 s | 6.00 s | 3 |" in page
    assert "- policy-100k-noise: STreeD did not finish in 200 s." in page
    assert "- policy-continuous-noise: not tried, too many columns." in page
    assert "- policy-small-0.5" not in page
    alone = [Row(row.cell, {name: row.measurements[name] for name in (ONE, TWO)}) for row in rows]
    assert suite.present(alone)[-1] == "- STreeD is not installed (pystreed)."
    assert suite.present([Row(row.cell, skipped="absent") for row in rows])


@pytest.mark.long
def test_the_command_runs_the_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick suite in fresh processes, on a table that takes no time; the peer has tests of its own above."""

    def tiny(quick: bool, seconds: float) -> Suite:
        suite = large(quick, seconds)
        small = suite.cells[-1]
        requests = {name: replace(small.requests[name], table="tiny-policy") for name in (ONE, TWO)}
        return replace(suite, cells=[replace(small, requests=requests)])

    assert SUITES["large"] is large
    monkeypatch.setitem(SUITES, "large", tiny)
    assert command.main(["--suite", "large", "--quick", "--results", str(tmp_path)]) == 0
    assert "met: every policy certified, with one thread and with two: 2 of 2" in capsys.readouterr().out
    page = (tmp_path / "large.md").read_text()
    assert "| tiny-policy | 16 | 3 |" in page
    notes = read(tmp_path / "large.csv")["cells"][0]["measurements"][ONE]["notes"]
    assert 0 < notes["held_megabytes"] <= notes["peak_megabytes"]
