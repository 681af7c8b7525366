"""certree itself: labels, policies, sets of good trees, and an earlier version of it."""

from __future__ import annotations

import os
import sys
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.adapters.base import UNLIMITED, Outcome, UnsupportedError, Weights, clock, objective
from benchmarks.tables import Table


def fit_certree(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    from certree import SparseTreeClassifier

    notes: dict[str, float] = {}
    if options.get("thresholds") == "guess":
        # What the model would do by itself, one step at a time, so that each has its seconds.
        options["thresholds"], notes["guess_seconds"] = guess(table, None if weights is None else weights.tobytes())
    limit = None if depth == UNLIMITED else depth
    model = SparseTreeClassifier(max_depth=limit, regularization=penalty, time_limit=time_limit, **options)
    with warnings.catch_warnings():
        # A limit that is reached is part of some cells, and its status is reported.
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, table.y, sample_weight=weights)
        seconds = clock() - start
    found = objective(table, model.predict(table.X), model.n_leaves_, penalty, weights)
    if abs(found - model.objective_) > 1e-9:
        raise AssertionError(f"certree says {model.objective_!r}, but its tree costs {found!r}")
    if model.status_ == "optimal" and abs(model.gap_) > 1e-9:
        raise AssertionError(f"certree says optimal with a gap of {model.gap_!r}")
    notes |= {"lower": float(model.lower_bound_), "tests": float(model.certificate_["sizes"]["tests"])}
    if hasattr(model, "threshold_guess_"):
        notes["all_tests"] = float(model.threshold_guess_.report_.n_tests)
    return Outcome(seconds, found, model.status_, model.n_leaves_, notes, model.predict, model.tree_)


@lru_cache(maxsize=4)
def guess(table: Table, weights: bytes | None) -> tuple[Any, float]:
    """The guessed thresholds of a table and the seconds they took; all contenders of a cell guess the same ones."""
    from certree import guess_thresholds

    start = clock()
    guessed = guess_thresholds(table.X, table.y, None if weights is None else np.frombuffer(weights))
    return guessed, clock() - start


BEFORE = "CERTREE_BEFORE"
"""The environment variable that names a directory with another version of certree, for figures of before and after."""


def fit_certree_before(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    """An earlier certree, in a process that has not imported this one."""
    directory = os.environ.get(BEFORE)
    if not directory:
        raise UnsupportedError(f"{BEFORE} names no directory of an earlier certree")
    if sys.path[0] != directory:
        sys.path.insert(0, directory)
        for name in [name for name in sys.modules if name.partition(".")[0] == "certree"]:
            del sys.modules[name]
    return fit_certree(table, depth, penalty, weights, time_limit, **options)


def policy_objective(table: Table, actions: Any, leaves: int, penalty: float) -> tuple[float, float]:
    """R of a policy that gives the rows these actions, and the mean reward that they earn."""
    earned = table.rewards[np.arange(len(table.y)), np.asarray(actions, dtype=np.int64)]
    lost = table.rewards.max(axis=1) - earned
    return float(lost.mean() + penalty * leaves), float(earned.mean())


def fit_certree_policy(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    from certree import PolicyTree

    if weights is not None:
        raise UnsupportedError("policies are measured without weights")
    model = PolicyTree(depth, penalty, time_limit=time_limit, **options)
    rewards = table.rewards
    with warnings.catch_warnings():
        # A limit that is reached is reported as the status.
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, rewards)
        seconds = clock() - start
    found, value = policy_objective(table, model.predict(table.X), model.n_leaves_, penalty)
    if abs(value - model.value_) > 1e-9:
        raise AssertionError(f"certree says {model.value_!r}, but its policy earns {value!r}")
    if model.status_ == "optimal" and abs(model.gap_) > 1e-9:
        raise AssertionError(f"certree says optimal with a gap of {model.gap_!r}")
    notes = {"value": value, "gap": float(model.gap_)}
    return Outcome(seconds, found, model.status_, model.n_leaves_, notes)


def fit_certree_sets(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *,
    share: float | None = None, tolerance: float = 0.0, listed: int = 0, drawn: int = 0,
) -> Outcome:  # fmt: skip
    """All good trees, and their number."""
    from certree import good_trees

    start = clock()
    found = good_trees(
        table.X, table.y, weights, tolerance=tolerance if share is None else f"{share:%}", max_depth=depth,
        regularization=penalty, time_limit=time_limit, idle=True,
    )  # fmt: skip
    count = found.count_written()
    seconds = clock() - start
    notes = {"trees": float(count), "width": count.most / max(int(count), 1)}
    if listed:
        start = clock()
        notes |= {"listed": float(len(found[:listed])), "list_seconds": clock() - start}
    if drawn:
        start = clock()
        notes |= {"drawn": float(len(found.sample(drawn, 0))), "draw_seconds": clock() - start}
    status = "optimal" if found.is_complete else found.status
    return Outcome(seconds, found.best.objective, status, found.best.n_leaves, notes)
