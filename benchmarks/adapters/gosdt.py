"""GOSDT with guesses, the solver that the paper extends. Its `regularization` is charged per leaf, as ours is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock, judged
from benchmarks.tables import Table


def fit_gosdt(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from gosdt import GOSDTClassifier

    if weights is not None:
        raise UnsupportedError("GOSDT knows no weights")
    tests = binarised(table).astype(bool)
    limit = None if time_limit is None else max(1, round(time_limit))
    model: Any = GOSDTClassifier(regularization=penalty, allow_small_reg=True, depth_budget=depth, time_limit=limit)
    start = clock()
    model.fit(tests, table.y)
    seconds = clock() - start
    result = model.get_result()
    status = "optimal" if result["status"].name == "CONVERGED" else "time_limit"
    # Its own `predict` calls a scikit-learn of before 1.8, so the tree is read from its result.
    tree = json.loads(result["models_string"])[0]
    return judged(
        table, lambda X: _predict(tree, table.binarise(X)), seconds, status, _count_leaves(tree), penalty, weights
    )


def _count_leaves(tree: dict[str, Any]) -> int:
    return 1 if "prediction" in tree else _count_leaves(tree["true"]) + _count_leaves(tree["false"])


def _predict(tree: dict[str, Any], tests: NDArray[np.uint8]) -> NDArray[np.int64]:
    if "prediction" in tree:
        return np.full(len(tests), tree["prediction"], dtype=np.int64)
    is_true = tests[:, tree["feature"]] == 1
    return np.where(is_true, _predict(tree["true"], tests), _predict(tree["false"], tests))
