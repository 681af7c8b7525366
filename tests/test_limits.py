"""Limits: a search that ends early answers with a valid tree, a true bound and the reason."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from certree import Limits, Problem, SparseTreeClassifier, certify, good_trees, solve
from certree.solver import SearchInterrupted


@pytest.fixture(scope="module")
def hard() -> tuple[Any, Any]:
    """A table of noise that takes far longer than any limit here."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 25)), rng.integers(0, 2, 3000)


def assert_valid(model: SparseTreeClassifier, X: Any, y: Any) -> None:
    assert 0 <= model.lower_bound_ < model.objective_
    assert model.gap_ == model.objective_ - model.lower_bound_
    assert model.certificate_["status"] == model.status_
    assert model.certificate_["lower_bound"] == model.lower_bound_
    assert certify.check(model.certificate_, model.tree_, X, y).holds
    assert model.objective_ <= 1 - np.bincount(y).max() / len(y) + model.regularization + 1e-12


def test_a_time_limit_is_a_status(hard: tuple[Any, Any]) -> None:
    X, y = hard
    started = time.perf_counter()
    model = SparseTreeClassifier(4, 0.0001, time_limit=0.5).fit(X, y)
    assert model.status_ == "time_limit"
    assert time.perf_counter() - started < 10
    assert model.certificate_["limits"]["time_limit"] == 0.5
    assert_valid(model, X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_threads_keep_the_limit_too(hard: tuple[Any, Any], n_jobs: int) -> None:
    X, y = hard
    model = SparseTreeClassifier(4, 0.0001, time_limit=0.3, n_jobs=n_jobs).fit(X, y)
    assert model.status_ == "time_limit"
    assert_valid(model, X, y)


def test_a_memory_limit_never_fails() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (400, 5)).astype(float)
    y = rng.integers(0, 2, 400)
    free = SparseTreeClassifier(4, 0.002).fit(X, y)
    tight = SparseTreeClassifier(4, 0.002, memory_limit=2_000_000).fit(X, y)
    assert tight.status_ in ("optimal", "memory_limit")
    assert tight.lower_bound_ <= free.objective_ <= tight.objective_ + 1e-12
    if tight.status_ == "optimal":
        assert tight.objective_ == pytest.approx(free.objective_, abs=1e-12)


def test_a_leaf_may_be_worth_as_much_as_everything() -> None:
    # One leaf more would spare a third of all weight: what leaves are worth at the limit, times their number, is far
    # beyond 64 bits. A tree of four leaves tells the heavy rows apart and loses the light ones only.
    rng = np.random.default_rng(0)
    n_light, heavy = 600, 2.0**40
    X = np.zeros((n_light + 3, 6))
    X[:, 2] = np.r_[rng.permutation(n_light), [n_light] * 3]
    X[-2:, 0] = X[-1, 1] = 1
    y = np.r_[np.arange(n_light) + 2, 0, 1, 0]
    weights = np.r_[rng.integers(2, 2**12, n_light), heavy, heavy + 1, heavy]
    problem = Problem.from_labels(X, y, weights, regularization=0.0, max_leaves=n_light + 2)
    solution = solve(problem, Limits(time_limit=0.5))
    light = weights[:n_light].sum() / weights.sum()
    assert solution.lower <= light
    assert solution.status != "optimal" or solution.upper <= light


def interrupt_after(seconds: float, times: int = 1, pause: float = 0.05) -> threading.Thread:
    def send() -> None:
        for _ in range(times):
            time.sleep(seconds if _ == 0 else pause)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("verbose", [0, 1])
def test_an_interrupt_keeps_the_best_tree(
    hard: tuple[Any, Any], verbose: int, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = hard
    thread = interrupt_after(0.7)
    try:
        with pytest.warns(SearchInterrupted, match="the best tree so far has objective"):
            model = SparseTreeClassifier(4, 0.0001, verbose=verbose, time_limit=300).fit(X, y)
    finally:
        thread.join()
    assert model.status_ == "interrupted"
    assert_valid(model, X, y)


def test_an_interrupt_keeps_the_good_trees_found_so_far() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12)).round(1)
    y = X[:, 0] + rng.normal(size=3000) > 0
    thread = interrupt_after(0.7)
    try:
        with pytest.warns(SearchInterrupted, match="the set has the good trees found so far"):
            found = good_trees(X, y, tolerance=0.05, max_depth=3, regularization=0.002, time_limit=300)
    finally:
        thread.join()
    assert (found.status, found.is_complete) == ("interrupted", False)
    assert found.complete_below <= found.threshold
    trees = [tree.tree for tree in found[:20]]
    verdict = certify.check_set(found.certificate_, trees, X, y)
    assert verdict.holds, str(verdict)
    assert found.complete_part().is_complete


def test_a_second_interrupt_aborts() -> None:
    # In a process of its own: the second signal may arrive after the first was answered.
    script = """
import os, signal, threading, time
import numpy as np
from certree import SparseTreeClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(3000, 25)), rng.integers(0, 2, 3000)
def send():
    time.sleep(1)
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)
threading.Thread(target=send, daemon=True).start()
SparseTreeClassifier(4, 0.0001, time_limit=300).fit(X, y)
time.sleep(300)
"""
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200, check=False)
    assert finished.returncode != 0
    assert "KeyboardInterrupt" in finished.stderr or finished.returncode == -signal.SIGINT


def test_progress_shows_objective_bound_and_gap(hard: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    X, y = hard
    SparseTreeClassifier(3, 0.001, time_limit=0.5, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    for word in ("objective", "lower bound", "gap", "00:0"):
        assert word in shown.err


def test_silence_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    SparseTreeClassifier(2).fit([[0], [1], [2]], [0, 1, 0])
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


def test_limits_are_in_the_certificate() -> None:
    problem = Problem.from_labels([[0.0], [1.0]], [0, 1], max_depth=1)
    certificate = solve(problem, Limits(time_limit=5, memory_limit=10**9, n_threads=2)).certificate
    assert certificate["limits"] == {"time_limit": 5, "memory_limit": 10**9, "n_threads": 2}
