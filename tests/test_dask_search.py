"""One long search over a cluster is the search in one process: the same optimum under every limit, bounds that hold
wherever it is stopped, and the same answer with workers that die."""

# ruff: noqa: E402 (nothing of Dask is imported where it is not installed)

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="the extra certree[dask] is not installed")

from distributed.scheduler import KilledWorker
from hypothesis import given, settings
from hypothesis import strategies as st
from in_parts import Done, PlainClient, open_cluster
from random_problems import CONSTRAINTS, Table, tables

from certree import PolicyTree, SparseTreeClassifier, certify, regularization_path, solve
from certree.dask import spread, spreading
from certree.solver import SearchInterrupted

# Looks at root tests are asked for everywhere: small tables are else done before there is any.
EVERYWHERE = ("cost_model", "triples", "coarse", "greedy")


@pytest.fixture
def client() -> Iterator[Any]:
    """Of a cluster for one test alone, because tests kill its workers."""
    with open_cluster() as cluster, distributed.Client(cluster, set_as_default=False) as own:
        yield own


def make_hard(n_rows: int = 500, n_labels: int = 2) -> tuple[Any, Any, Any]:
    """Noise: no bound helps much."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 8, (n_rows, 6))
    y = (X[:, 0] // 3 + X[:, 1] // 4 + rng.integers(0, n_labels, n_rows)) % n_labels
    return X, y, rng.lognormal(size=n_rows)


# Without a cluster ----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.sampled_from(CONSTRAINTS)).flatmap(lambda own: tables(depths=(2, 3, 4), constraints=tuple(own))),
    st.booleans(),
)
def test_the_optimum_is_that_of_one_process(table: Table, is_bare: bool) -> None:
    alone = solve(table.problem)
    with spread(PlainClient()):
        found = solve(table.problem, switched_off=EVERYWHERE if is_bare else ("cost_model",))
    assert found.status == alone.status == "optimal"
    assert found.upper == pytest.approx(alone.upper, rel=1e-12, abs=2 * alone.rounding)


def test_every_search_is_spread() -> None:
    X, y, weights = make_hard(150, 3)
    for settings_ in ({}, {"start": "x0 <= 2"}, {"max_leaves": 5}, {"min_samples_leaf": 20}, {"reference": "boosting"}):
        model = SparseTreeClassifier(3, 0.01, **settings_)
        alone = model.fit(X, y, weights).objective_
        with spread(PlainClient()):
            model.fit(X, y, weights)
        assert model.objective_ == pytest.approx(alone, rel=1e-12)
        verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
        assert verdict.holds, verdict.failures
        if not settings_:
            assert model.statistics_["looks_elsewhere"] > 0
    rewards = np.random.default_rng(1).normal(size=(150, 3)) + (X[:, :1] > 3) * np.arange(3)
    alone = PolicyTree(3).fit(X, rewards)
    with spread(PlainClient()):
        assert PolicyTree(3).fit(X, rewards).objective_ == pytest.approx(alone.objective_, rel=1e-12)
        path = regularization_path(X, y, max_depth=3, sample_weight=weights)
    alone = regularization_path(X, y, max_depth=3, sample_weight=weights)
    assert [point.tree.n_leaves for point in path] == [point.tree.n_leaves for point in alone]


class Slow(PlainClient):
    """A client whose looks take their time."""

    def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Done:
        time.sleep(0.002)
        return super().submit(function, *arguments, pure=pure)


def test_wherever_it_is_stopped_the_bounds_hold() -> None:
    X, y, weights = make_hard(200, 3)
    optimum = SparseTreeClassifier(3, 0.005).fit(X, y, weights).objective_
    statuses = set()
    for seconds in (0.0, 0.02, 0.05, 0.1, 0.3, 60):
        with spread(Slow()):
            model = SparseTreeClassifier(3, 0.005, time_limit=seconds).fit(X, y, weights)
        statuses.add(model.status_)
        assert model.lower_bound_ <= optimum + 1e-12
        assert model.objective_ >= optimum - 1e-12
        verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
        assert verdict.holds, verdict.failures
    assert statuses == {"time_limit", "optimal"}


class Doomed(PlainClient):
    """A client whose looks kill their workers, now and then or always."""

    def __init__(self, is_hopeless: bool) -> None:
        self.is_hopeless = is_hopeless
        self.n_asked = 0

    def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Any:
        self.n_asked += 1
        if function is spreading.look_at and (self.is_hopeless or self.n_asked % 3 == 0):
            return Failed(None)
        return super().submit(function, *arguments, pure=pure)


class Failed(Done):
    def result(self) -> Any:
        raise KilledWorker("look", None, 3)  # type: ignore[arg-type]


class Closing(PlainClient):
    """A client that is closed after some questions: it takes no more of them, or never answers."""

    status = "running"

    def __init__(self, is_silent: bool) -> None:
        self.is_silent = is_silent
        self.n_asked = 0

    def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Any:
        self.n_asked += 1
        if self.n_asked <= 3:
            return super().submit(function, *arguments, pure=pure)
        self.status = "closed"
        if self.is_silent:
            return Unanswered(None)
        raise OSError("the connection is closed")


class Unanswered(Done):
    def add_done_callback(self, call: Any) -> None:
        pass


@pytest.mark.parametrize(
    "make_client",
    [
        pytest.param(lambda: Doomed(is_hopeless=False), id="some looks kill their workers"),
        pytest.param(lambda: Doomed(is_hopeless=True), id="every look kills its worker"),
        pytest.param(lambda: Closing(is_silent=False), id="the client takes no more questions"),
        pytest.param(lambda: Closing(is_silent=True), id="the client never answers"),
    ],
)
def test_a_search_outlives_its_workers_and_its_cluster(make_client: Callable[[], Doomed | Closing]) -> None:
    X, y, weights = make_hard(120, 3)
    alone = SparseTreeClassifier(3, 0.01).fit(X, y, weights)
    client = make_client()
    with spread(client):  # type: ignore[arg-type]
        model = SparseTreeClassifier(3, 0.01).fit(X, y, weights)
    assert client.n_asked > 3
    assert (model.status_, model.objective_) == ("optimal", alone.objective_)


def test_an_error_on_a_worker_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weights = make_hard(120, 3)
    monkeypatch.setattr(spreading.SharedTable, "_prepare", lambda self: self.__dict__.update(_version="0.0.1"))
    with (
        spread(PlainClient()),
        pytest.raises(RuntimeError, match=r"runs in certree 0\.0\.1: install the same"),
    ):
        SparseTreeClassifier(3, 0.01).fit(X, y, weights)


def test_a_table_travels_without_its_engine() -> None:
    X, y, weights = make_hard(120, 3)
    seen = []

    class Looking(PlainClient):
        def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Done:
            seen.extend(own for own in arguments if isinstance(own, spreading.SharedTable))
            return super().submit(function, *arguments, pure=pure)

    with spread(Looking()):  # type: ignore[arg-type]
        SparseTreeClassifier(3, 0.01).fit(X, y, weights)
    assert len(seen) == 1  # once for the whole search
    again = pickle.loads(pickle.dumps(seen[0]))
    assert again.open_station(1) is not None
    with spread(Looking()):  # type: ignore[arg-type]
        SparseTreeClassifier(2, 0.01).fit(X, y == 0, weights)
    assert len(seen) == 1  # a search that is done at once does not travel


def ask_hard_question() -> tuple[Any, list[int]]:
    """A station, and a question that takes it minutes."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 12, (2000, 8)), rng.integers(0, 2, 2000)
    asked: list[tuple[Any, list[int]]] = []

    class Listening(PlainClient):
        def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Any:
            if function is spreading.look_at:
                asked.append(arguments)
                raise EnoughError
            return super().submit(function, *arguments, pure=pure)

    class EnoughError(BaseException):
        pass

    with spread(Listening()), pytest.raises(EnoughError):  # type: ignore[arg-type]
        SparseTreeClassifier(6, 0.0001).fit(X, y)
    table, question = asked[0]
    question[8] = 6  # of shallower trees it is asked first, which takes no time
    return table.result().open_station(1), question


def test_an_interrupted_look_raises() -> None:
    station, question = ask_hard_question()
    timers: list[threading.Timer] = []

    def is_stopped() -> bool:  # asked as soon as the look is under way
        if not timers:
            timers.append(threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()
        return False

    with pytest.raises(KeyboardInterrupt):
        station.look(question, is_stopped)
    # Nothing of the interrupt is left: the next look works, and is stopped by whom it asks.
    assert station.look(question, lambda: True) is None


def test_whoever_is_asked_for_a_stop_and_gives_no_answer_ends_the_look() -> None:
    station, question = ask_hard_question()
    with pytest.raises(RuntimeError):
        station.look(question, lambda: "perhaps")
    with pytest.raises(ZeroDivisionError):
        station.look(question, lambda: 1 // 0)


# A cluster ------------------------------------------------------------------------------------------------------------


def kill_one(client: Any) -> None:
    pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_half_way_changes_nothing(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, weights = make_hard(900, 3)
    alone = SparseTreeClassifier(4, 0.003).fit(X, y, weights)
    look, n_looks = spreading._SpreadSearch.look, []

    def look_and_kill(self: Any, question: Any, is_stopped: Any) -> Any:
        n_looks.append(1)
        if len(n_looks) == 10:
            kill_one(client)
        return look(self, question, is_stopped)

    monkeypatch.setattr(spreading._SpreadSearch, "look", look_and_kill)
    with spread(client):
        model = SparseTreeClassifier(4, 0.003).fit(X, y, weights)
    assert len(n_looks) > 20
    assert (model.status_, model.objective_) == ("optimal", alone.objective_)
    verdict = certify.check(model.certificate_, model.tree_, X, y, weights)
    assert verdict.holds, verdict.failures


def count_running(dask_worker: Any) -> int:
    return int(dask_worker.state.executing_count)


@pytest.mark.parametrize("how", ["time limit", "Ctrl-C"])
def test_a_stop_reaches_the_workers(client: Any, how: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 12, (2000, 8)), rng.integers(0, 2, 2000)  # hours at this depth
    if how == "Ctrl-C":
        threading.Timer(2.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with spread(client):
        if how == "Ctrl-C":
            with pytest.warns(SearchInterrupted):
                found = SparseTreeClassifier(6, 0.0001).fit(X, y)
        else:
            found = SparseTreeClassifier(6, 0.0001, time_limit=2.5).fit(X, y)
    assert found.status_ == ("interrupted" if how == "Ctrl-C" else "time_limit")
    assert found.lower_bound_ < found.objective_
    assert found.statistics_["looks_elsewhere"] > 0
    for _ in range(100):
        if sum(client.run(count_running).values()) == 0:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the workers still look at root tests")
