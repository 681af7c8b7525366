"""STreeD. Its `cost_complexity` is charged per branching node, relative to the number of rows. A tree has one leaf more
than branching nodes, so its optimum is ours, λ higher.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchmarks.adapters import base
from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock, judged
from benchmarks.adapters.certree import policy_objective
from benchmarks.tables import Table


def fit_streed(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pystreed import STreeDClassifier

    if weights is not None:
        raise UnsupportedError("STreeD's classifier with a penalty knows no real weights")
    tests = binarised(table)
    limit = time_limit if time_limit is not None else 1e6
    model = STreeDClassifier("cost-complex-accuracy", max_depth=depth, cost_complexity=penalty, time_limit=limit)
    start = clock()
    model.fit(tests, table.y)
    seconds = clock() - start
    status = "optimal" if model.fit_result.is_optimal() else "time_limit"
    leaves = int(model.get_n_leaves())
    return judged(table, lambda X: model.predict(table.binarise(X)), seconds, status, leaves, penalty, weights)


@lru_cache(maxsize=1)
def _cost_vectors(table: Table) -> list[Any]:
    """What each action loses each row, in STreeD's own form."""
    from pystreed import CostVector

    return [CostVector(row) for row in table.rewards.max(axis=1, keepdims=True) - table.rewards]


def fit_streed_policy(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    """STreeD's trees for costs of each row and label: a policy's rewards, turned round."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    if weights is not None:
        raise UnsupportedError("policies are measured without weights")
    if penalty:
        raise UnsupportedError("STreeD's cost-sensitive trees know no penalty")
    n_bytes = len(table.y) * table.n_thresholds
    if n_bytes > base.MOST_BINARISED_BYTES:
        size = f"{table.n_thresholds:,} of them, {n_bytes / 1e9:.1f} GB before a search begins"
        raise UnsupportedError(f"not tried, STreeD needs a two-valued column per test: {size}")
    tests, costs = binarised(table), _cost_vectors(table)
    limit = time_limit if time_limit is not None else 1e6
    model = STreeDInstanceCostSensitiveClassifier(max_depth=depth, time_limit=limit)
    start = clock()
    model.fit(tests, costs)
    seconds = clock() - start
    status = "optimal" if model.fit_result.is_optimal() else "time_limit"
    leaves = int(model.get_n_leaves())
    found, value = policy_objective(table, model.predict(tests), leaves, penalty)
    return Outcome(seconds, found, status, leaves, {"value": value})
