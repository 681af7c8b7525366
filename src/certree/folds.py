"""Folds, and whatever else can be learned side by side: through joblib, where its user has asked for that.

One after the other unless `joblib.parallel_config` names more than one job; `joblib.parallel_config(backend="dask")`
spreads the work over a Dask cluster. The results, and their order, are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs


def learn_each(learn: Callable[..., Any], arguments: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """learn(*own) for all of the arguments, in their order."""
    if effective_n_jobs() == 1:
        for own in arguments:
            yield learn(*own)
    else:
        yield from Parallel()(delayed(learn)(*own) for own in arguments)
