"""DL8.5 as pytrees-rs implements it: the fewest errors at a depth, without a penalty."""

from __future__ import annotations

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock, judged
from benchmarks.tables import Table


def fit_pytrees(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pytrees import DL85Classifier

    if weights is not None:
        raise UnsupportedError("DL8.5 knows no weights")
    tests = binarised(table).astype(int)
    model = DL85Classifier(max_depth=depth, max_time=1e6 if time_limit is None else time_limit)
    start = clock()
    model.fit(tests, table.y)
    seconds = clock() - start
    leaves = int(model.tree_.n_leaves)
    return judged(
        table, lambda X: model.predict(table.binarise(X).astype(int)), seconds, model.status_, leaves, penalty, weights
    )
