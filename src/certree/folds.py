"""Folds, and whatever else can be learned side by side: through joblib, where its user has asked for that.

One after the other unless `joblib.parallel_config` names more than one job; `joblib.parallel_config(backend="dask")`
spreads the work over a Dask cluster. The results, and their order, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend, get_active_backend

_HERE = (LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend)
"""The backends whose jobs run on this machine."""
_TRIES = 4
"""How often work may lose a worker of a cluster, and be done again; Dask has the same limit for one task."""


def count_threads(n_jobs: int | None) -> int:
    """Threads of one search, n_jobs being as in scikit-learn.

    Jobs of a cluster are no threads of this machine: there None is one thread, also for a search that runs as such a
    job.
    """
    if isinstance(get_active_backend()[0], _HERE):
        return int(effective_n_jobs(n_jobs))
    with parallel_config(backend="threading", n_jobs=1):
        return int(effective_n_jobs(n_jobs))


def learn_each(learn: Callable[..., Any], arguments: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """learn(*own) for all of the arguments, in their order."""
    if effective_n_jobs(None) == 1:
        for own in arguments:
            yield learn(*own)
    else:
        yield from _learn_side_by_side(learn, list(arguments))


def _learn_side_by_side(learn: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> Any:
    n_lost = 0
    while True:
        try:
            return Parallel()(delayed(learn)(*own) for own in arguments)
        except CancelledError:
            # What joblib has sent to a worker of Dask ahead of the work is lost with that worker.
            n_lost += 1
            if n_lost == _TRIES:
                raise
