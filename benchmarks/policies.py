"""Hillstrom and JTPA end to end, beside the greedy tree of EconML's DRPolicyTree on the same scores.

EconML grows its policy tree greedily; `econml.policy.PolicyTree` is the tree inside `DRPolicyTree`, and takes scores as
they are. Both get the same matrix (categories one-hot) and the same leaf minimum; EconML's own limits that certree does
not have (a share of rows for honesty, balanced splits) are lifted. Honest values come from `policy.evaluate` with the
same deal into folds for both.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import util
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from benchmarks.studies import Study, Verdict, tabulate
from certree import PolicyTree, policy
from certree.datasets import fetch

Array = NDArray[Any]

CHANCES = {"jtpa": [1 / 3, 2 / 3], "hillstrom": [1 / 3, 1 / 3, 1 / 3]}
"""The designs of the experiments; JTPA put two thirds into training."""
LEAF_MINIMA = (1, 100)
FOLD_SECONDS = 10.0
"""A fit inside the evaluation may take so long: there are fifteen."""
REPEATS = 3
SLOW_SECONDS = 5.0
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Log:
    """An experiment as numbers."""

    name: str
    X: Array
    treatment: Array
    outcome: Array
    actions: list[str]


def policies(quick: bool, seconds: float) -> Study:
    figures: list[dict[str, Any]] = []
    missing = []
    for name in ("jtpa",) if quick else CHANCES:
        try:
            log = read(name)
        except (FileNotFoundError, ImportError) as reason:
            missing.append(f"{name} skipped: {reason}")
            continue
        figures += compare(log, quick, seconds)
    peer = [figure for figure in figures if "econml_value" in figure]
    excess = [figure["value"] - figure["econml_value"] for figure in peer]
    certified = [figure["status"] == "optimal" for figure in figures]
    verdicts = [
        Verdict(
            "in-sample value never below EconML's at the same depth and leaf minimum",
            f"{len(excess)} cells, least excess {min(excess, default=float('nan')):.3g}",
            bool(excess) and min(excess) >= -TOLERANCE,
        ),
        Verdict("every tree certified", f"{sum(certified)} of {len(certified)}", bool(certified) and all(certified)),
    ]
    if not util.find_spec("econml"):
        missing.append("EconML is not installed: pip install 'certree[econml]'")
    words = (
        "Both trees get the same doubly robust scores, made with the known chances of the experiment and the default "
        "outcome models. In-sample values are means of these scores, recomputed from the predictions. Honest values "
        "(with standard errors) come from nested cross-fitting in five folds, where certree has "
        f"{FOLD_SECONDS:g} s per fit. Seconds are medians of the fit alone; the two take turns in one process with one "
        "thread. The ratio is EconML's time divided by certree's."
    )
    lines = [words, "", *_table(figures), *(["", *missing] if missing else [])]
    return Study("policies", "Policies from two experiments, beside EconML", verdicts, lines, figures)


def read(name: str) -> Log:
    import pandas as pd

    data = fetch(name, as_frame=True)
    X = pd.get_dummies(data.data, dtype=float).to_numpy(float)
    actions, treatment = np.unique(np.asarray(data.treatment), return_inverse=True)
    return Log(name, X, treatment, np.asarray(data.target, dtype=float), [str(action) for action in actions])


class GreedyTree(BaseEstimator):  # type: ignore[misc]
    """EconML's tree with scores in and actions out."""

    def __init__(self, max_depth: int = 2, min_samples_leaf: int = 1) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X: Any, rewards: Any) -> GreedyTree:
        from econml.policy import PolicyTree as EconMLTree

        self.tree_ = EconMLTree(
            max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, min_samples_split=2,
            min_balancedness_tol=0.5, honest=False, random_state=0,
        ).fit(X, np.array(rewards))  # fmt: skip
        return self

    def predict(self, X: Any) -> Array:
        return np.asarray(self.tree_.predict(X), dtype=np.int64)


def compare(log: Log, quick: bool, seconds: float) -> list[dict[str, Any]]:
    """A figure for every depth and leaf minimum."""
    figures = []
    with threadpool_limits(1):
        started = time.perf_counter()
        scores = policy.doubly_robust(
            log.X, log.treatment, log.outcome, propensity=CHANCES[log.name], random_state=0
        ).rewards
        scores_seconds = time.perf_counter() - started
        for depth in (2,) if quick else (2, 3):
            for minimum in LEAF_MINIMA:
                figure = {"table": log.name, "rows": len(log.X), "columns": log.X.shape[1], "depth": depth}
                figure |= {"min_samples_leaf": minimum, "scores_seconds": scores_seconds}
                figure |= _race(log, scores, depth, minimum, seconds)
                if not quick:
                    figure |= _judge(log, depth, minimum)
                figures.append(figure)
                print("  " + ", ".join(f"{key} {value}" for key, value in figure.items()), flush=True)
    return figures


def _race(log: Log, scores: Array, depth: int, minimum: int, seconds: float) -> dict[str, Any]:
    """Both fits on the same scores, in turn."""
    ours = PolicyTree(depth, min_samples_leaf=minimum, time_limit=seconds)
    contenders: dict[str, Any] = {"certree": ours}
    if util.find_spec("econml"):
        contenders["econml"] = GreedyTree(depth, minimum)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(REPEATS):
        for name, model in contenders.items():
            if not times[name] or times[name][-1] < SLOW_SECONDS:
                times[name].append(_seconds(partial(model.fit, log.X, scores)))
    everyone = np.arange(len(scores))
    found: dict[str, Any] = {
        "value": float(scores[everyone, ours.predict(log.X)].mean()),
        "upper_bound": ours.upper_bound_,
        "status": ours.status_,
        "seconds": statistics.median(times["certree"]),
    }
    if "econml" in contenders:
        found["econml_value"] = float(scores[everyone, contenders["econml"].predict(log.X)].mean())
        found["econml_seconds"] = statistics.median(times["econml"])
        found["ratio"] = found["econml_seconds"] / found["seconds"]
    return found


def _seconds(fit: Callable[[], Any]) -> float:
    with warnings.catch_warnings():
        # A limit that is reached is reported as the status.
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        fit()
        return time.perf_counter() - started


def _judge(log: Log, depth: int, minimum: int) -> dict[str, Any]:
    """Honest values of both, on the same deal into folds."""
    models: dict[str, Any] = {"honest": PolicyTree(depth, min_samples_leaf=minimum, time_limit=FOLD_SECONDS)}
    if util.find_spec("econml"):
        models["econml_honest"] = GreedyTree(depth, minimum)
    found = {}
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = policy.evaluate(
                model, log.X, log.treatment, log.outcome, propensity=CHANCES[log.name], random_state=0
            )
        best = result.best_fixed
        found[name] = {
            "value": result.value.value, "error": result.value.error, "has_gain": result.has_gain,
            "best_fixed": log.actions[int(best)], "gain": result.gains[best].value,
            "gain_low": result.gains[best].low, "gain_high": result.gains[best].high,
        }  # fmt: skip
    return found


def _table(figures: list[dict[str, Any]]) -> list[str]:
    head = ["table", "depth", "rows per leaf", "certree", "EconML", "status", "seconds", "EconML's", "ratio"]
    head += ["honest", "EconML's honest", "gain over the best single action"]
    rows = []
    for f in figures:
        honest, other = f.get("honest"), f.get("econml_honest")
        rows.append(
            [
                f"{f['table']} ({f['rows']:,} × {f['columns']})", str(f["depth"]), str(f["min_samples_leaf"]),
                f"{f['value']:.6g}", f"{f['econml_value']:.6g}" if "econml_value" in f else "–",
                f["status"] if f["status"] == "optimal" else f"{f['status']}, at most {f['upper_bound']:.6g}",
                f"{f['seconds']:.3g}", f"{f['econml_seconds']:.3g}" if "econml_seconds" in f else "–",
                f"{f['ratio']:.2g}" if "ratio" in f else "–",
                f"{honest['value']:.6g} ({honest['error']:.2g})" if honest else "–",
                f"{other['value']:.6g} ({other['error']:.2g})" if other else "–",
                f"{honest['gain']:.3g} ({honest['gain_low']:.3g} to {honest['gain_high']:.3g}) over "
                f"{honest['best_fixed']}" if honest else "–",
            ]
        )  # fmt: skip
    return tabulate(head, rows)
