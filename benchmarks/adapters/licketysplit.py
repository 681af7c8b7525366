"""LicketySPLIT. Its `lambda_leaf` is charged per leaf, as ours is."""

from __future__ import annotations

from benchmarks.adapters import base
from benchmarks.adapters.base import Outcome, UnsupportedError, Weights, binarised, clock, judged
from benchmarks.tables import Table


def fit_licketysplit(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, lookahead: int = 1
) -> Outcome:
    """A near-optimal tree that looks so many levels ahead; it knows no limit of time."""
    from licketysplit import LicketySPLITClassifier

    del time_limit
    if table.y.max() > 1:
        raise UnsupportedError("LicketySPLIT is measured on two labels")
    n_bytes = len(table.y) * table.n_thresholds
    if n_bytes > base.MOST_BINARISED_BYTES:
        raise UnsupportedError(f"not tried, LicketySPLIT needs a two-valued column per test: {n_bytes / 1e9:.1f} GB")
    tests = binarised(table)
    model = LicketySPLITClassifier(lambda_leaf=penalty, depth_budget=depth, lookahead_k=lookahead)
    start = clock()
    model.fit(tests, table.y, sample_weight=weights)
    seconds = clock() - start
    leaves = len(model.leaf_paths())
    return judged(table, lambda X: model.predict(table.binarise(X)), seconds, "heuristic", leaves, penalty, weights)
