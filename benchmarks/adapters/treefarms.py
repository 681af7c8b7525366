"""TreeFARMS, which finds all good trees."""

from __future__ import annotations

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock
from benchmarks.tables import Table


def fit_treefarms(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *, share: float
) -> Outcome:
    import pandas as pd
    from treefarms import TREEFARMS

    if weights is not None:
        raise UnsupportedError("TreeFARMS knows no weights")
    tests = binarised(table)
    X, y = pd.DataFrame(tests).rename(columns="t{}".format), pd.Series(table.y, name="y")
    limit = {} if time_limit is None else {"time_limit": int(time_limit)}
    # Its depth counts the leaf as well.
    settings = {"regularization": penalty, "rashomon_bound_multiplier": share, "depth_budget": depth + 1, **limit}
    model = TREEFARMS(settings)
    start = clock()
    model.fit(X, y)
    count = model.get_tree_count()
    seconds = clock() - start
    return Outcome(seconds, float("nan"), "optimal", 0, {"trees": float(count)})
