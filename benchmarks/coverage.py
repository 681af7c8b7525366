"""Does `policy.evaluate` keep its word? Intervals at 95 % over simulated data sets whose truth is known.

What an interval must hold is the mean over the folds of the true values of the policies that were learned without them,
on a large population of the same kind; and their gains over what giving everyone the same action is worth there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from benchmarks.studies import Study, Verdict, tabulate
from certree import PolicyTree, policy
from certree.datasets import make_policy

SETS = 1000
"""Data sets a design. Over 200 a share of 96 % is off by 1.4 points, and of 18 designs one or two would lie outside the
bounds by luck alone."""
SETS_OF_SLOW_MODELS = 500
FIRST_SEED = 10_000
"""Sets of lower seeds had a part in choosing how the dependence between folds is counted; these had none."""
POPULATION = 50_000
LOW, HIGH = 0.92, 0.98
"""Where the share of intervals at 95 % may lie."""


@dataclass(frozen=True)
class Design:
    """What is simulated."""

    n_rows: int
    logging: str
    effect: float
    n_actions: int
    outcome_model: str = "linear"
    """"linear", or "default": what `evaluate` takes by itself."""

    @property
    def sets(self) -> int:
        return SETS if self.outcome_model == "linear" else SETS_OF_SLOW_MODELS


def coverage(quick: bool, seconds: float) -> Study:  # noqa: ARG001
    designs = [Design(300, *rest) for rest in product(("randomised", "confounded"), (0.0, 1.0), (2, 3))]
    if not quick:
        designs += [Design(1000, *rest) for rest in product(("randomised", "confounded"), (0.0, 1.0), (2, 3))]
        designs += [Design(300, "confounded", effect, 2, "default") for effect in (0.0, 1.0)]
    with threadpool_limits(1):
        # Hundreds of tiny models: threads would only wait for each other.
        figures = [look_at(design, 4) for design in designs[:2]] if quick else [look_at(d, d.sets) for d in designs]
    values = [figure["value"] for figure in figures]
    gains = [share for figure in figures for share in (*figure["gains"], figure["gain_over_random"])]
    shown = [figure["shown"] for figure in figures if figure["effect"] == 0]
    verdicts = [
        Verdict(
            "the value lies in its 95 % interval in 92 to 98 % of the sets of every design", span(values), fits(values)
        ),
        Verdict("and each gain in at least 92 %", span(gains), min(gains) >= LOW),
        Verdict("where there is no effect a gain is shown in at most 2.5 %", span(shown), max(shown) <= 0.025),
    ]
    head = [
        "sets", "rows", "logging", "effect", "actions", "models",
        "value", "gains", "over random", "ratio", "gain shown",
    ]  # fmt: skip
    rows = [
        [
            str(f["sets"]), str(f["n_rows"]), f["logging"], f"{f['effect']:g}", str(f["n_actions"]), f["outcome_model"],
            percent(f["value"]), ", ".join(map(percent, f["gains"])), percent(f["gain_over_random"]),
            f"{f['error_ratio']:.2f}, {f['gain_error_ratio']:.2f}", percent(f["shown"]),
        ]
        for f in figures
    ]  # fmt: skip
    fewest = min(figure["sets"] for figure in figures)
    words = (
        "The data sets come from `make_policy` with 3 columns of 6 values and a planted tree of depth 1, and are "
        "judged by `evaluate(PolicyTree())` in five folds with estimated propensities. The table has the shares of "
        f"95 % intervals that hold the truth; with {fewest} sets, a share of 95 % is known to within "
        f"{196 * (0.95 * 0.05 / fewest) ** 0.5:.1f} points. Gains are over each action given to everyone. The ratio is "
        "how far the value, and the gain over random, were off (root mean square), divided by the mean of the stated "
        "errors; below 1, an error is overstated. A gain is shown if it is over every single action."
    )
    lines = [words, "", *tabulate(head, rows)]
    return Study("coverage", "What the intervals of policy.evaluate hold", verdicts, lines, figures)


def look_at(design: Design, sets: int) -> dict[str, Any]:
    """Shares of intervals that hold the truth over simulated sets."""
    is_inside, errors, stated, shown = [], [], [], 0
    for seed in range(FIRST_SEED, FIRST_SEED + sets):
        found, value, fixed = evaluate_one(design, seed)
        over_random = value - float(np.mean(fixed))
        truths = [value, *(value - amount for amount in fixed), over_random]
        estimates = [found.value, *found.gains.values(), found.gain_over_random]
        is_inside.append([holds(e, truth) for e, truth in zip(estimates, truths, strict=True)])
        errors.append((found.value.value - value, found.gain_over_random.value - over_random))
        stated.append((found.value.error, found.gain_over_random.error))
        shown += found.has_gain
    shares = np.mean(is_inside, axis=0).tolist()
    ratios = np.sqrt(np.mean(np.square(errors), axis=0)) / np.mean(stated, axis=0)
    print(f"  {design}: value {percent(shares[0])}, gains {', '.join(map(percent, shares[1:]))}", flush=True)
    return vars(design) | {
        "sets": sets,
        "value": shares[0],
        "gains": shares[1:-1],
        "gain_over_random": shares[-1],
        "error_ratio": float(ratios[0]),
        "gain_error_ratio": float(ratios[1]),
        "shown": shown / sets,
    }


def evaluate_one(design: Design, seed: int) -> tuple[policy.Evaluation, float, list[float]]:
    """An evaluation, the true value of its policies, and those of the fixed actions."""
    n_rows = design.n_rows
    log = make_policy(
        n_rows + POPULATION, 3, depth=1, n_values=6, random_state=seed,
        n_actions=design.n_actions, effect=design.effect, logging=design.logging,  # type: ignore[arg-type]
    )  # fmt: skip
    found = policy.evaluate(
        PolicyTree(), log.data[:n_rows], log.treatment[:n_rows], log.outcome[:n_rows],
        outcome_model=LinearRegression() if design.outcome_model == "linear" else None, random_state=seed,
    )  # fmt: skip
    everyone = np.arange(len(log.data))
    values = [log.expected[everyone, model.predict(log.data)].mean() for model in found.policies]
    return found, float(np.mean(values)), log.expected.mean(axis=0).tolist()


def holds(estimate: policy.Estimate, truth: float) -> bool:
    # A policy that gives everyone one action gains exactly nothing over it, up to rounding.
    return estimate.low - 1e-12 <= truth <= estimate.high + 1e-12


def fits(shares: list[float]) -> bool:
    return min(shares) >= LOW and max(shares) <= HIGH


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def span(shares: list[float]) -> str:
    return f"{percent(min(shares))} to {percent(max(shares))}"
