"""One long search over a cluster: the root tests of one tree are looked at by many workers.

The search itself runs where it was asked for, as always: it keeps the root tests that may still matter in order, best
bound first, with the best tree and the lower bound. Its looks at root tests, which take nearly all of the time, are
tasks of the cluster, each with the cost that a tree must beat by then. Every worker keeps the table, and what it has
learned, for as long as the search lasts. A look that is lost with its worker is made again by another one.
"""

from __future__ import annotations

import threading
import warnings
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError as FutureCancelled
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker, default_client, get_worker

from certree.solver import PACKAGE_VERSION, SPREAD, Station, open_station

IsStopped = Callable[[], bool]

_PATIENCE = 0.05
"""Seconds after which a waiting look asks whether the search was stopped."""


@contextmanager
def spread(client: Client | None = None) -> Iterator[None]:
    """Within it, long searches are shared by the workers of a cluster.

    It serves everything that searches for one tree: `SparseTreeClassifier`, `PolicyTree`, `solve`, paths and edits,
    with every limit. The answer is what it would be without a cluster: the same objective, certified, and a time limit
    or Ctrl-C leaves the best tree so far and a bound that holds. Of several optimal trees another one may be found.

    A look at one root test travels as a task of some milliseconds at least, so this is for searches of minutes and
    more, which are deeper than three levels, or have more than two labels, or minima per leaf. Others do not reach the
    cluster.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        None is the default client.

    Returns
    -------
    context manager
        For a `with` statement.

    Raises
    ------
    ValueError
        If there is no default client.
    RuntimeError
        By a search, if a worker has another version of certree.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from certree import SparseTreeClassifier
    >>> from certree.dask import spread
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.integers(0, 9, (200, 4)), rng.integers(0, 3, 200)
    >>> with spread(client):
    ...     model = SparseTreeClassifier(max_depth=3, regularization=0.01).fit(X, y)
    >>> model.status_, model.statistics_["looks_elsewhere"] > 0
    ('optimal', True)
    >>> client.close()
    """
    own = default_client() if client is None else client

    @contextmanager
    def open_search(described: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        search = _SpreadSearch(own, described)
        yield {"elsewhere": search.look, "n_elsewhere": max(1, sum(own.nthreads().values()))}

    token = SPREAD.set(open_search)
    try:
        yield
    finally:
        SPREAD.reset(token)


class SharedTable:
    """A problem as it travels, and the engine that a worker makes of it and keeps with it."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        codes = described["codes"]
        dtype = np.min_scalar_type(int(codes.max(initial=0)))
        self._described = {**described, "codes": codes.astype(dtype)}
        self._version = PACKAGE_VERSION
        self._prepare()

    def _prepare(self) -> None:
        self._lock = threading.Lock()
        self._station: Station | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_described": self._described, "_version": self._version}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def open_station(self, n_threads: int) -> Station:
        """The engine for looks at root tests, made once in a process."""
        if self._version != PACKAGE_VERSION:
            raise RuntimeError(
                f"a worker has certree {PACKAGE_VERSION}, but the search runs in certree {self._version}: install the "
                "same version everywhere"
            )
        with self._lock:
            if self._station is None:
                codes = np.ascontiguousarray(self._described["codes"], dtype=np.int32)
                self._station = open_station({**self._described, "codes": codes}, n_threads)
            return self._station


def share(table: SharedTable) -> SharedTable:
    """The table as the result of a task: a worker that loses it gets it again."""
    return table


def look_at(table: SharedTable, question: list[int]) -> list[int] | None:
    """On a worker: one root test. None where the task was cancelled meanwhile."""
    try:
        worker = get_worker()
    except ValueError:  # no worker: the caller runs everything by itself
        return table.open_station(1).look(question, lambda: False)
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state in ("cancelled", "released", "forgotten")

    return table.open_station(worker.state.nthreads).look(question, is_cancelled)


class _ClusterGoneError(RuntimeError):
    """Nobody is there to ask."""


class _SpreadSearch:
    """One search, whose looks are asked for from several threads."""

    def __init__(self, client: Client, described: Mapping[str, Any]) -> None:
        self._client = client
        self._described = described
        self._lock = threading.Lock()
        self._table: SharedTable | None = None
        self._shared: Future | None = None

    def look(self, question: list[int], is_stopped: IsStopped) -> list[int] | None:
        """The answer to a question of the engine; None where the search was stopped meanwhile."""
        table = self._find_table()
        while not is_stopped():
            try:
                answer = self._wait(self._submit(look_at, self._share(table), question), is_stopped)
            except (_ClusterGoneError, KilledWorker, CancelledError, FutureCancelled):
                # Whatever happened to the cluster, what was found so far is not given up.
                return table.open_station(1).look(question, is_stopped)
            if answer is not None:
                return answer
        return None

    def _find_table(self) -> SharedTable:
        """A search that asks nothing makes none."""
        with self._lock:
            if self._table is None:
                self._table = SharedTable(self._described)
            return self._table

    def _share(self, table: SharedTable) -> Future:
        """With the first question the table travels."""
        with self._lock:
            if self._shared is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # it is a large task, and meant to be one
                    self._shared = self._submit(share, table)
            return self._shared

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Future:
        try:
            return self._client.submit(work, *arguments, pure=False)
        except Exception as error:  # of one kind or another, where the connection is gone
            raise _ClusterGoneError from error

    def _wait(self, future: Future, is_stopped: IsStopped) -> list[int] | None:
        is_done = threading.Event()
        future.add_done_callback(lambda _: is_done.set())
        while not is_done.wait(_PATIENCE):
            if self._client.status in ("closing", "closed"):
                raise _ClusterGoneError
            if is_stopped():
                with suppress(Exception):  # a client that is being closed
                    future.cancel()  # its worker notices
                return None
        answer: list[int] | None = future.result()
        return answer
