"""The exact tree of imodels. Its `regularization` is charged per leaf, as ours is."""

from __future__ import annotations

import warnings

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, clock, judged
from benchmarks.tables import Table


def fit_imodels(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """Its tree knows no depth limit, so it belongs into cells that have none."""
    from imodels import FastSmallTreeClassifier

    if weights is not None:
        raise UnsupportedError("imodels' tree knows no weights")
    model = FastSmallTreeClassifier(regularization=penalty, time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, table.y)
        seconds = clock() - start
    status = "optimal" if model.optimal_ else "time_limit"
    notes = {"lower": float(model.lowerbound_)}
    return judged(table, model.predict, seconds, status, int(model.n_leaves_), penalty, weights, notes)
