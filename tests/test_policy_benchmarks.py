"""The studies of policies say what they found: shares of intervals, regret, values beside a peer, pages written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import coverage, policies, regret
from benchmarks.record import read
from benchmarks.studies import Study, Verdict, tabulate
from certree import policy


def estimate(value: float, reach: float) -> policy.Estimate:
    return policy.Estimate(value, reach / 1.96, value - reach, value + reach)


def test_shares_are_of_intervals_that_hold_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        value = estimate(1.0, 0.5)
        gains: dict[int, policy.Estimate] = {0: estimate(0.5, 0.2), 1: estimate(0.0, 0.0)}  # noqa: RUF012
        gain_over_random = estimate(0.25, 0.1)
        has_gain = False

    # The true values of the policies, and of the two actions, in three sets.
    truths = iter([(1.0, [0.5, 1.0]), (1.6, [0.5, 1.6]), (1.4, [0.9, 1.4])])
    monkeypatch.setattr(coverage, "evaluate_one", lambda design, seed: (Found, *next(truths)))
    found = coverage.look_at(coverage.Design(300, "randomised", 0.0, 2), 3)
    assert found["value"] == pytest.approx(2 / 3)
    assert found["gains"] == pytest.approx([2 / 3, 1])
    assert found["gain_over_random"] == pytest.approx(2 / 3)
    assert found["shown"] == 0
    assert found["error_ratio"] == pytest.approx(np.sqrt((0 + 0.36 + 0.16) / 3) / (0.5 / 1.96))


def test_coverage_is_judged_by_every_design(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_at(design: coverage.Design, sets: int) -> dict[str, Any]:
        value = 0.91 if design.n_actions == 3 and design.n_rows == 1000 else 0.95
        return vars(design) | {
            "sets": sets, "value": value, "gains": [0.99] * design.n_actions, "gain_over_random": 0.92,
            "error_ratio": 1.0, "gain_error_ratio": 1.0, "shown": design.effect * 0.9,
        }  # fmt: skip

    monkeypatch.setattr(coverage, "look_at", look_at)
    study = coverage.coverage(False, 1.0)
    assert [verdict.is_met for verdict in study.verdicts] == [False, True, True]
    assert study.verdicts[0].found == "91.0 % to 95.0 %"
    assert len(study.figures) == 18
    assert {(figure["outcome_model"], figure["sets"]) for figure in study.figures} == {
        ("linear", coverage.SETS), ("default", coverage.SETS_OF_SLOW_MODELS),
    }  # fmt: skip


def test_a_set_is_evaluated_against_its_own_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "POPULATION", 5000)
    found, value, fixed = coverage.evaluate_one(coverage.Design(300, "randomised", 2.0, 2), 0)
    assert len(found.policies) == 5
    assert max(fixed) < value <= np.mean(fixed) + 1.001
    assert abs(found.value.value - value) < 5 * found.value.error


def test_regret_is_what_a_policy_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regret, "POPULATION", 2000)
    assert 0 <= regret.measure_regret(1, 200, 0, 60.0) <= regret.EFFECT
    losses = {250: 0.2, 1000: 0.1}
    monkeypatch.setattr(regret, "measure_regret", lambda depth, n_rows, seed, seconds: losses[n_rows] * (depth > 0))
    assert regret.regret(True, 1.0).verdicts[0].is_met
    losses[1000] = 0.3
    assert not regret.regret(True, 1.0).verdicts[0].is_met


def test_both_trees_are_compared_on_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X = random.integers(5, size=(90, 2)).astype(float)
    log = policies.Log("jtpa", X, np.arange(90) % 2, random.normal(size=90) + X[:, 0] * (np.arange(90) % 2), ["a", "b"])

    class Constant(policies.GreedyTree):
        def fit(self, X: Any, rewards: Any) -> Any:
            self.action_ = int(np.asarray(rewards).mean(axis=0).argmax())
            return self

        def predict(self, X: Any) -> Any:
            return np.full(len(X), self.action_)

    monkeypatch.setattr(policies, "GreedyTree", Constant)
    monkeypatch.setattr(policies.util, "find_spec", lambda name: True)
    monkeypatch.setattr(policies, "read", lambda name: log)
    study = policies.policies(True, 20.0)
    assert all(verdict.is_met for verdict in study.verdicts)
    assert [figure["min_samples_leaf"] for figure in study.figures] == [1, 100]
    assert study.figures[0]["value"] >= study.figures[0]["econml_value"]
    # No split leaves 100 of 90 rows on both sides: the best single action is all that is left.
    assert study.figures[1]["value"] == pytest.approx(study.figures[1]["econml_value"])


def test_what_is_absent_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CERTREE_DATA", raising=False)
    monkeypatch.setattr(policies.util, "find_spec", lambda name: None)
    study = policies.policies(True, 20.0)
    assert not any(verdict.is_met for verdict in study.verdicts)
    assert any(line.startswith("jtpa skipped: the data set 'jtpa' is read from") for line in study.lines)
    assert any("EconML is not installed" in line for line in study.lines)


def test_a_study_stands_beside_the_suites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study("small", "A small study", [Verdict("more", "less", False)], tabulate(["a"], [["1"]]), [{"a": 1}])
    monkeypatch.setattr(command, "STUDIES", {"small": lambda quick, seconds: study})
    assert command.main(["--suite", "small", "--results", str(tmp_path)]) == 0
    assert "not met: more: less" in capsys.readouterr().out
    assert read(tmp_path / "small.csv")["figures"] == [{"a": 1}]
    assert "| a |\n| --- |\n| 1 |" in (tmp_path / "small.md").read_text()
    assert "| [small](small.md) | more | less | **no** |" in (tmp_path / "summary.md").read_text()
