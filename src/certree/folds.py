"""Folds, and whatever else can be learned side by side: through joblib, where its user has asked for that.

One after the other unless `joblib.parallel_config` names more than one job; `joblib.parallel_config(backend="dask")`
spreads the work over a Dask cluster. The results, and their order, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend, get_active_backend

_HERE = (LokyBackend, MultiprocessingBackend, SequentialBackend, ThreadingBackend)
"""The backends whose jobs run on this machine."""


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
        yield from Parallel()(delayed(learn)(*own) for own in arguments)
