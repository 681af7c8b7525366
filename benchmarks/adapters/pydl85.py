"""DL8.5 as its authors implement it, the rival of the paper. Its package imports cvxpy and does not ask for it."""

from __future__ import annotations

from typing import Any

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock, judged
from benchmarks.tables import Table


def fit_pydl85(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pydl85 import DL85Classifier

    if weights is not None:
        raise UnsupportedError("DL8.5 knows no weights")
    tests = binarised(table).astype(int)
    limit = 0 if time_limit is None else max(1, round(time_limit))
    model = DL85Classifier(max_depth=depth, time_limit=limit)
    start = clock()
    model.fit(tests, table.y)
    seconds = clock() - start
    status = "time_limit" if model.timeout_ else "optimal"
    leaves = _count_leaves(model.tree_)
    return judged(
        table, lambda X: model.predict(table.binarise(X).astype(int)), seconds, status, leaves, penalty, weights
    )


def _count_leaves(tree: dict[str, Any]) -> int:
    return _count_leaves(tree["left"]) + _count_leaves(tree["right"]) if "feat" in tree else 1
