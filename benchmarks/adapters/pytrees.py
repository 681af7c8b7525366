"""DL8.5 as pytrees-rs implements it: the fewest errors at a depth, without a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    def predict(X: NDArray[np.float64]) -> Any:
        return model.predict(table.binarise(X).astype(int))

    # Version 2.0.0 was seen to return another tree than the one whose errors it states.
    errors = int((predict(table.X) != table.y).sum())
    status = model.status_ if errors == int(model.train_error_) else "wrong"
    return judged(table, predict, seconds, status, leaves, penalty, weights, {"stated": float(model.train_error_)})
