"""Ctrl-C: one press ends the whole of what was asked, with what there is; a second one aborts, at once."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import certree.cli.program
from certree import PolicyTree, SparseTreeClassifier, certify, load, policy, regularization_path, solver, study
from certree import path as path_room
from certree.datasets import make_policy, make_weighted
from certree.policy import budget
from certree.policy import tree as policy_room
from certree.solver import SearchInterrupted, search
from certree.study import case as study_room
from tests.commands import run, write

TABLE = make_weighted(200, 4, noise=0.2, random_state=0)
LOG = make_policy(200, 3, n_actions=3, n_values=8, random_state=1)
REWARDS = LOG.expected + np.random.default_rng(0).normal(size=LOG.expected.shape)
SPENDS = [0.0, 1.0, 2.0]
PLAIN = {"propensity": [1 / 3] * 3, "outcome_model": LinearRegression()}
"""Boosting takes seconds that tests of something else need not wait for."""


class Press:
    """Stands in for `search` in a room, and for somebody who presses Ctrl-C in its k-th call, or right after it."""

    def __init__(self, patch: pytest.MonkeyPatch, room: Any, at: int, *, is_after: bool) -> None:
        self.at, self.is_after, self.calls = at, is_after, 0
        patch.setattr(room, "search", self)

    def __call__(self, *arguments: Any, **others: Any) -> Any:
        self.calls += 1
        assert self.calls <= self.at, "it went on"
        solution = search(*arguments, **others)
        if self.calls < self.at:
            return solution
        if self.is_after:
            raise KeyboardInterrupt
        stated = {"status": "interrupted", "lower_bound": 0.0, "gap": solution.upper}
        return replace(solution, status="interrupted", lower=0.0, certificate=solution.certificate | stated)


# The Python interface -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_after", [False, True], ids=["in a search", "between two"])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_a_path_ends_with_what_was_found(monkeypatch: pytest.MonkeyPatch, at: int, is_after: bool) -> None:
    whole = regularization_path(TABLE.data, TABLE.target, TABLE.sample_weight, max_depth=3)
    assert whole.is_complete
    assert len(whole) > 4
    press = Press(monkeypatch, path_room, at, is_after=is_after)
    with pytest.warns(SearchInterrupted, match="the path holds the trees found so far"):
        part = regularization_path(TABLE.data, TABLE.target, TABLE.sample_weight, max_depth=3)
    assert press.calls == at
    assert not part.is_complete
    assert not part.is_optimal
    assert 1 <= len(part) <= len(whole)
    for penalty in (0.0, 0.01, 0.05, 0.2):
        best, other = (points.at(penalty) for points in (whole, part))
        assert other.loss + penalty * other.leaves >= best.loss + penalty * best.leaves - 1e-12


@pytest.mark.parametrize("is_after", [False, True], ids=["in a search", "between two"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_budget_ends_with_the_best_policy_so_far(monkeypatch: pytest.MonkeyPatch, at: int, is_after: bool) -> None:
    whole = PolicyTree(2, 0.01, budget=0.33).fit(LOG.data, REWARDS, spends=SPENDS)
    assert whole.statistics_["prices"] > 3
    press = Press(monkeypatch, budget, at, is_after=is_after)
    with pytest.warns(SearchInterrupted, match="no policy within the budget is above") as warned:
        part = PolicyTree(2, 0.01, budget=0.33).fit(LOG.data, REWARDS, spends=SPENDS)
    assert press.calls == at
    assert len(warned) == 1
    assert part.status_ == "interrupted"
    assert part.spend_ <= 0.33
    assert part.objective_ <= whole.objective_ <= part.upper_bound_ + 1e-12
    verdict = certify.check(part.certificate_, part.tree_, LOG.data, rewards=REWARDS, spends=SPENDS)
    assert verdict.holds, verdict.failures


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_start_ends_with_the_best_completion_so_far(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Ctrl-C in the search of one part is meant for the whole: the others are answered without a search."""
    start = {"test": "x0 <= 0.5", "left": "x1 <= 0.5"}
    settings = {"max_depth": 3, "regularization": 0.01, "start": start}
    whole = SparseTreeClassifier(**settings).fit(TABLE.data, TABLE.target, TABLE.sample_weight)
    assert whole.statistics_["searches"] == 3
    solve, calls = solver._engine.solve, []

    def press(**facts: Any) -> Any:
        calls.append(facts["time_limit"])
        found = solve(**facts)
        return found | {"status": "interrupted", "lower": 0.0} if len(calls) == at else found

    monkeypatch.setattr(solver._engine, "solve", press)
    with pytest.warns(SearchInterrupted, match="the best tree so far has objective"):
        part = SparseTreeClassifier(**settings).fit(TABLE.data, TABLE.target, TABLE.sample_weight)
    assert part.status_ == "interrupted"
    assert part.lower_bound_ <= whole.objective_ <= part.objective_ + 1e-12
    assert all(limit == 0 for limit in calls[at:])  # nothing that came after it was searched
    verdict = certify.check(part.certificate_, part.tree_, TABLE.data, TABLE.target, TABLE.sample_weight)
    assert verdict.holds, verdict.failures


def test_a_policy_without_a_budget_has_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    Press(monkeypatch, policy_room, 1, is_after=False)
    with pytest.warns(SearchInterrupted, match="the best policy so far has objective .*, and no policy is above"):
        model = PolicyTree(1).fit(LOG.data, REWARDS)
    assert model.status_ == "interrupted"


def test_no_tree_within_the_budget_is_an_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer, and no fault of the input either."""
    spends = np.eye(3)[np.arange(200) % 3] * 2
    Press(monkeypatch, budget, 1, is_after=False)
    with pytest.raises(KeyboardInterrupt, match=r"no tree that meets budget=0\.01"):
        PolicyTree(2, budget=0.01).fit(LOG.data, REWARDS, spends=spends)


@pytest.mark.parametrize("is_after", [False, True], ids=["in a search", "between two"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_curve_ends_with_the_corners_found(monkeypatch: pytest.MonkeyPatch, at: int, is_after: bool) -> None:
    whole = policy.budget_curve(LOG.data, REWARDS, spends=SPENDS)
    assert len(whole) > 3
    press = Press(monkeypatch, budget, at, is_after=is_after)
    with pytest.warns(SearchInterrupted, match="the curve holds the corners found so far"):
        part = policy.budget_curve(LOG.data, REWARDS, spends=SPENDS)
    assert press.calls == at
    assert not part.is_complete
    assert 1 <= len(part) < len(whole)
    for point in whole:
        assert part.bound(point.spend) >= point.objective - 1e-12


def test_an_evaluation_without_all_folds_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    press = Press(monkeypatch, policy_room, 3, is_after=False)
    with pytest.raises(KeyboardInterrupt, match="the policy was not evaluated"):
        policy.evaluate(PolicyTree(1), LOG.data, LOG.treatment, LOG.outcome, folds=3, random_state=0, **PLAIN)
    assert press.calls == 3


def test_an_evaluation_rests_on_the_repeats_that_were_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"folds": 3, "random_state": 0, **PLAIN}
    Press(monkeypatch, policy_room, 3 + 3 + 2, is_after=False)
    with pytest.warns(SearchInterrupted, match="rests on 1 of 2 repeats") as warned:
        found = policy.evaluate(PolicyTree(1), LOG.data, LOG.treatment, LOG.outcome, repeats=2, **settings)
    assert len(warned) == 1
    assert found.repeats == 1
    assert "3 folds, 1 repeat)" in found.summary()


# The command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.csv", ["x0", "x1", "x2", "got", "came"], *LOG.data.T, LOG.treatment, LOG.outcome)


@contextmanager
def start(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A command under way."""
    command = [sys.executable, "-m", "certree", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def press(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What else it prints after Ctrl-C, which it must answer soon: a second, or some on a slow machine."""
    pressed = time.perf_counter()
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=60)
    assert time.perf_counter() - pressed < 15
    return printed


def read_until(stream: Any, sign: bytes, times: int = 1) -> bytes:
    seen = b""
    while seen.count(sign) < times:
        seen += stream.read(1) or pytest.fail(f"it ended: {seen!r}")
    return seen


def test_one_press_ends_a_path(tmp_path: Path) -> None:
    hard = make_weighted(600, 12, noise=0.4, n_labels=3)
    table = write(tmp_path / "hard.csv", [*hard.feature_names, "label"], *hard.data.T, hard.target)
    with start(
        "path", table, "--label", "label", "--depth", "5", "--progress", "--out", tmp_path / "path.csv"
    ) as process:
        # The bar is drawn once before the search; what follows comes from inside it.
        read_until(process.stderr, b"\r", 3)
        output, errors = press(process)
    assert process.returncode == 3, errors
    assert b"interrupted: the path holds the trees found so far" in errors
    assert b"a search ended early" in output
    with (tmp_path / "path.csv").open(encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["optimal", "interrupted"]


def test_one_press_ends_the_evaluation_and_keeps_the_policy(log: Path) -> None:
    model = log.with_name("policy.json")
    with start("policy", log, "--treatment", "got", "--outcome", "came", "--repeats", "50", "--out", model) as process:
        read_until(process.stdout, b"gives ")
        output, errors = press(process)
    assert process.returncode == 3, errors
    assert errors.endswith(b"certree: interrupted: the policy was not evaluated on rows that it has not seen\n")
    assert b"written to" in output
    assert load(model).status_ == "optimal"


def test_a_policy_that_was_stopped_is_not_evaluated(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(policy, "evaluate", lambda *_, **__: pytest.fail("it went on"))
    model = log.with_name("policy.json")
    Press(monkeypatch, policy_room, 1, is_after=False)
    assert run("policy", log, "--treatment", "got", "--outcome", "came", "--depth", "1", "--out", model) == 3
    printed = capsys.readouterr()
    assert "interrupted: the best found among all policy trees" in printed.out
    assert "no policy is above" in printed.err
    assert "the policy was not evaluated" in printed.err
    assert load(model).status_ == "interrupted"


@pytest.mark.parametrize(("at", "trees"), [(1, ["direct-depth-2"]), (2, ["direct-depth-2", "duplicate-depth-2"])])
def test_one_press_ends_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], at: int, trees: list[str]
) -> None:
    effects = write(tmp_path / "effects.csv", ["effect"], np.random.default_rng(0).normal(1000, 4000, 722))
    Press(monkeypatch, certree.estimators, at, is_after=False)
    assert run("demo", "--effects", effects, "--depths", 2, 3, "--output", tmp_path / "study") == 3
    printed = capsys.readouterr()
    assert "INTERRUPTED: this is what was found so far" in printed.out
    assert "What is found" in printed.out
    assert printed.err.count("interrupted: the study holds what was found so far") == 1
    assert "the best tree so far has" not in printed.err
    assert sorted(path.stem for path in (tmp_path / "study" / "models").iterdir()) == trees
    assert not (tmp_path / "study" / "trees").exists()


def test_a_press_in_a_policy_of_the_study_keeps_its_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    Press(monkeypatch, policy_room, 1, is_after=False)
    with pytest.warns(SearchInterrupted) as warned:
        found = study.run(np.linspace(-9000, 9000, 722), depths=(1,), variations=(), repeats=1)
    assert len(warned) == 1
    assert (found.is_complete, found.policies, len(found.trees)) == (False, (), 5)
    assert "Left out." in study.summarise(found)


def test_a_press_before_there_is_a_tree_aborts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def match(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(study_room, "_match", match)
    assert run("demo", "--output", tmp_path / "study") == 130
    assert "certree demo: aborted before there was a result" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


def test_a_press_while_it_starts_ends_it_without_a_traceback() -> None:
    script = """
import os, signal, sys
class Press:
    def find_spec(name, path, target=None):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press)
from certree.cli import main
main(["datasets"])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")
