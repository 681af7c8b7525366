"""ConTree. Its `complexity_cost` is charged per branching node, relative to the number of rows, as STreeD's is."""

from __future__ import annotations

import time

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, clock, judged
from benchmarks.tables import Table


def fit_contree(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pycontree import ConTree

    if weights is not None:
        raise UnsupportedError("ConTree knows no weights")
    limit = time_limit if time_limit is not None else 1e6
    model = ConTree(max_depth=depth, complexity_cost=penalty, time_limit=limit)
    # It does not say whether it finished; it stops where its limit is, and that is a matter of the wall's clock.
    stop = time.perf_counter() + 0.99 * limit
    start = clock()
    model.fit(table.X, table.y)
    seconds = clock() - start
    status = "optimal" if time.perf_counter() < stop else "time_limit"
    leaves = int(model.get_num_leaf_nodes())
    return judged(table, model.predict, seconds, status, leaves, penalty, weights)
