"""scikit-learn's gradient boosting: no tree, but the accuracy that the paper draws as a line."""

from __future__ import annotations

from benchmarks.adapters.base import Outcome, Weights, clock, judged
from benchmarks.tables import Table


def fit_boosting(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from sklearn.ensemble import GradientBoostingClassifier

    del penalty, time_limit  # it has neither
    model = GradientBoostingClassifier(max_depth=depth, random_state=0)
    start = clock()
    model.fit(table.X, table.y, sample_weight=weights)
    seconds = clock() - start
    leaves = sum(int(tree.get_n_leaves()) for tree in model.estimators_.ravel())
    # Its leaves are hundreds: what they would cost is no part of what is compared.
    return judged(table, model.predict, seconds, "greedy", leaves, 0.0, weights)
