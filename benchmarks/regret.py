"""What a learned policy loses against the best one, as the log grows: planted trees, noisy outcomes, known truth."""

from __future__ import annotations

import math

import numpy as np
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from benchmarks.studies import Study, Verdict, tabulate
from certree import PolicyTree, policy
from certree.datasets import make_policy

DEPTHS = (0, 1, 2, 3)
SIZES = (250, 500, 1000, 2000, 4000, 8000)
SETS = 20
EFFECT = 0.5
POPULATION = 20_000


def regret(quick: bool, seconds: float) -> Study:
    sizes, sets = (SIZES[:3:2], 2) if quick else (SIZES, SETS)
    figures = []
    with threadpool_limits(1):
        for depth in DEPTHS:
            for n_rows in sizes:
                losses = [measure_regret(depth, n_rows, seed, seconds) for seed in range(sets)]
                mean, error = float(np.mean(losses)), float(np.std(losses, ddof=1) / math.sqrt(sets))
                figures.append({"depth": depth, "n_rows": n_rows, "regret": mean, "error": error, "sets": sets})
                print(f"  depth {depth}, {n_rows} rows: {mean:.4f} ± {error:.4f}", flush=True)
    falls = [
        [f["regret"] for f in figures if f["depth"] == depth and f["n_rows"] in (sizes[0], sizes[-1])]
        for depth in DEPTHS
    ]
    verdicts = [
        Verdict(
            f"from {sizes[0]:,} to {sizes[-1]:,} rows the mean regret falls at every planted depth",
            "; ".join(f"depth {d}: {few:.4f} to {many:.4f}" for d, (few, many) in zip(DEPTHS, falls, strict=True)),
            all(many < few or few == many == 0 for few, many in falls),
        )
    ]
    rows = [
        [str(depth), *(f"{f['regret']:.4f} ± {f['error']:.4f}" for f in figures if f["depth"] == depth)]
        for depth in DEPTHS
    ]
    words = (
        "How much mean reward a `PolicyTree` of the planted depth (at least 1) on doubly robust scores loses compared "
        f"with the planted policy, on a population of the same kind: the mean over {sets} data sets (± standard error) "
        f"from `make_policy` with 5 columns of 20 values, three actions, effect {EFFECT:g}, noise 1 and confounded "
        "logging."
    )
    lines = [words, "", *tabulate(["planted depth", *(f"{n:,} rows" for n in sizes)], rows)]
    return Study("regret", "What a learned policy loses as the log grows", verdicts, lines, figures)


def measure_regret(depth: int, n_rows: int, seed: int, seconds: float) -> float:
    log = make_policy(
        n_rows + POPULATION, 5, depth=depth, n_actions=3, n_values=20, effect=EFFECT, logging="confounded",
        random_state=seed,
    )  # fmt: skip
    scores = policy.doubly_robust(
        log.data[:n_rows], log.treatment[:n_rows], log.outcome[:n_rows],
        outcome_model=LinearRegression(), random_state=seed,
    )  # fmt: skip
    model = PolicyTree(max(depth, 1), time_limit=seconds).fit(log.data[:n_rows], scores)
    given = log.expected[np.arange(len(log.data)), model.predict(log.data)]
    return float((log.expected.max(axis=1) - given).mean())
