"""PRAXIS, which finds all good trees."""

from __future__ import annotations

from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock
from benchmarks.tables import Table


def fit_praxis(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *, share: float  # noqa: ARG001
) -> Outcome:  # fmt: skip
    """PRAXIS keeps no time limit; the process is ended instead."""
    from praxis import PRAXIS

    if weights is not None:
        raise UnsupportedError("PRAXIS knows no weights")
    tests, model = binarised(table), PRAXIS()
    start = clock()
    model.fit(
        tests, table.y, lambda_reg=penalty, depth_budget=depth, rashomon_mult=share, lookahead_k=depth - 1,
        majority_leaf_only=True,
    )  # fmt: skip
    count = model.count_trees()
    seconds = clock() - start
    # λ and the bound are whole rows there, so its optimum may be another one.
    return Outcome(seconds, float("nan"), "optimal", 0, {"trees": float(count)})
