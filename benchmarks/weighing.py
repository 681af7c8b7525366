"""The suites of the paper's three ways to weigh and of its guesses.

weighing     direct, duplicate and sample on the paper's tables with balancing weights: time, true objective, gap
duplication  the paper's figure 1: rows of FICO doubled, given as weights, as rows and as counts
guessing     guessed thresholds beside all of them: tests, objective, time

Contenders are ways of certree itself, and take turns in one process. Seconds exclude those that guessing thresholds
took, which are told apart: all contenders of a cell guess the same ones from the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.measure import Measurement, Request
from benchmarks.report import table_head
from benchmarks.suites import Cell, Row, Suite, Target, geometric_mean

METHODS = ("direct", "duplicate", "sample")
PENALTIES = {
    "compas": (0.005, 0.002, 0.001, 0.0005),
    "broward": (0.005, 0.002, 0.001, 0.0005),
    "fico": (0.01, 0.005, 0.002, 0.001, 0.0005),
    "netherlands": (0.01, 0.005, 0.002, 0.001),
}
"""The paper's configuration table, from .01 to .0005."""
DEEPEST_WHOLE = {"compas": 5, "broward": 3, "fico": 3, "netherlands": 3}
"""Up to this depth all thresholds are searched; beyond it most searches reach MOST_SECONDS, and they are guessed."""
MOST_SECONDS = 20.0
"""The time limit of a fit: a suite is to end while one waits."""


def seconds_text(measurement: Measurement) -> str:
    seconds = measurement.seconds
    text = f"{seconds:.3g} s" if seconds >= 0.1 else f"{seconds * 1000:.2g} ms"
    return f"> {text}" if measurement.is_timeout else text


# Direct, duplicate, sample --------------------------------------------------------------------------------------------


def weighing(quick: bool, seconds: float) -> Suite:
    tables = ("compas", "broward") if quick else tuple(PENALTIES)
    cells = []
    for table in tables:
        for depth in (2, 3) if quick else (2, 3, 4, 5):
            for penalty in PENALTIES[table][:1] if quick else PENALTIES[table]:
                is_guessed = depth > DEEPEST_WHOLE[table]
                options = {"thresholds": "guess"} if is_guessed else {}
                requests = {
                    method: Request(
                        "certree", table, depth, penalty, weights="balance", time_limit=min(seconds, MOST_SECONDS),
                        options={**options, "method": method, "sample_ratio": 3.0, "random_state": 0},
                    )
                    for method in METHODS
                }  # fmt: skip
                cells.append(Cell(requests, under="direct", part="guessed" if is_guessed else "all"))
    targets = [
        Target("what each method states holds: its lower bound is at most direct's objective", _bounds_hold),
        Target("direct is never beaten on the true weights where it is certified", _direct_is_best),
        Target("time as a ratio to direct", _time_ratios),
    ]
    title = "Direct, duplicate and sample with balancing weights"
    return Suite("weighing", title, cells, targets, present=_weighing_table, is_together=True)


def _measured(rows: list[Row]) -> list[dict[str, Measurement]]:
    return [
        row.measurements for row in rows if row.measurements and all(m.objective for m in row.measurements.values())
    ]


def _bounds_hold(rows: list[Row]) -> tuple[str, bool]:
    excess = [
        m[method].notes["lower"] - (m["direct"].objective or math.nan)
        for m in _measured(rows)
        for method in METHODS[1:]
    ]
    return f"{len(excess)} bounds, the closest {-max(excess, default=math.nan):.2g} below", max(
        excess, default=1
    ) <= 1e-9


def _direct_is_best(rows: list[Row]) -> tuple[str, bool]:
    gaps = [
        (m[method].objective or math.nan) - (m["direct"].objective or math.nan)
        for m in _measured(rows)
        if m["direct"].status == "optimal"
        for method in METHODS[1:]
    ]
    return f"gaps from {min(gaps, default=math.nan):.2g} to {max(gaps, default=math.nan):.2g}", min(
        gaps, default=-1
    ) >= -1e-9


def _time_ratio(found: dict[str, Measurement], method: str) -> float | None:
    """Seconds over those of direct; none where a limit ended either."""
    ended = found[method].is_timeout or found["direct"].is_timeout
    return None if ended else found[method].seconds / found["direct"].seconds


def _time_ratios(rows: list[Row]) -> tuple[str, None]:
    found = _measured(rows)
    words = []
    for method in METHODS[1:]:
        ratios = [ratio for m in found if (ratio := _time_ratio(m, method)) is not None]
        if ratios:
            words.append(f"{method} {geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return "geometric means: " + ", ".join(words) if words else "nothing measured", None


def _weighing_table(rows: list[Row]) -> list[str]:
    head = ["table", "thresholds", "tests", "depth", "λ", *(f"time of {method}" for method in METHODS)]
    head += [*(f"ratio of {method}" for method in METHODS[1:]), *(f"objective of {method}" for method in METHODS)]
    head += [f"gap of {method}" for method in METHODS[1:]]
    lines = [
        "The weights balance sex (on FICO: ExternalRiskEstimate in ten quantile bins). *Guessed* thresholds are used",
        f"where a fit over all thresholds does not end within {MOST_SECONDS:g} s for most λ. A time after “>” was",
        "ended by that limit. A ratio is a time divided by that of direct. Objectives are those of the true weights,",
        "and a gap is an objective minus that of direct. Duplication has factor 100, and sampling draws three times",
        "per row.",
        "",
        *table_head(head),
    ]
    for row in rows:
        if not row.measurements:
            continue
        subject, found = row.cell.subject, row.measurements
        direct = found["direct"]
        objectives = {method: found[method].objective or math.nan for method in METHODS}
        cells = [subject.table, row.cell.part, f"{direct.notes.get('tests', math.nan):.0f}", str(subject.depth)]
        cells += [f"{subject.penalty:g}", *(seconds_text(found[method]) for method in METHODS)]
        ratios = [_time_ratio(found, method) for method in METHODS[1:]]
        cells += ["–" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        cells += [f"{objectives[method]:.5f}" for method in METHODS]
        cells += [f"{objectives[method] - objectives['direct']:.2g}" for method in METHODS[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


# Figure 1 -------------------------------------------------------------------------------------------------------------


def duplication(quick: bool, seconds: float) -> Suite:
    depth, penalty = 3, 0.005
    cells = []
    for percent in (0, 100, 1000) if quick else (0, 10, 50, 100, 200, 1000, 2000, 4000, 10_000):
        kind = f"doubled {percent}"
        # The heaviest row's count: then counts are the weights themselves.
        heaviest = 1 + -(-percent // 100)
        requests = {
            "weights": Request("certree", "fico", depth, penalty, weights=kind, time_limit=seconds),
            "rows": Request("certree", f"fico {kind}", depth, penalty, time_limit=seconds),
            "counts": Request(
                "certree", "fico", depth, penalty, weights=kind, time_limit=seconds,
                options={"method": "duplicate", "duplication": heaviest},
            ),
        }  # fmt: skip
        cells.append(Cell(requests, under="weights", part=f"{percent} %"))
    targets = [
        Target("the same objective given as weights, as rows and as counts", _same_value),
        Target("with weights the time stays flat: at most 1.5 times that of 0 %", _is_flat),
        Target("weights are never the slowest by more than a tenth", _never_slowest),
    ]
    title = "The paper's figure 1: FICO, rows doubled, depth 3, all thresholds"
    return Suite("duplication", title, cells, targets, present=_duplication_table, is_together=True)


def _same_value(rows: list[Row]) -> tuple[str, bool]:
    spreads = [max(values) - min(values) for m in _measured(rows) if (values := [x.objective or 0 for x in m.values()])]
    return f"largest difference {max(spreads, default=math.nan):.1e}", max(spreads, default=1) <= 1e-9


def _is_flat(rows: list[Row]) -> tuple[str, bool]:
    times = [m["weights"].seconds for m in _measured(rows)]
    if not times:
        return "nothing measured", False
    return f"from {min(times):.2f} s to {max(times):.2f} s, {times[0]:.2f} s at 0 %", max(times) <= 1.5 * times[0]


def _never_slowest(rows: list[Row]) -> tuple[str, bool]:
    ratios = [m["weights"].seconds / max(m["rows"].seconds, m["counts"].seconds) for m in _measured(rows)]
    return f"at most {max(ratios, default=math.nan):.2f} of the slower other", max(ratios, default=9) <= 1.1


def _duplication_table(rows: list[Row]) -> list[str]:
    lines = table_head(["rows doubled", "weights", "rows", "counts", "objective"])
    for row in rows:
        if row.measurements:
            times = [seconds_text(row.measurements[name]) for name in ("weights", "rows", "counts")]
            objective = row.measurements["weights"].objective or math.nan
            lines.append("| " + " | ".join([row.cell.part, *times, f"{objective:.5f}"]) + " |")
    return lines


# Guessed thresholds ---------------------------------------------------------------------------------------------------


def guessing(quick: bool, seconds: float) -> Suite:
    grid = [("compas", 3), ("broward", 3)] if quick else [
        ("compas", 3), ("compas", 4), ("broward", 3), ("fico", 2), ("fico", 3), ("fico", 4), ("netherlands", 2),
        ("netherlands", 3),
    ]  # fmt: skip
    cells = []
    for table, depth in grid:
        for weights in ("unit",) if quick else ("unit", "balance"):
            requests = {
                name: Request(
                    "certree",
                    table,
                    depth,
                    0.005,
                    weights=weights,
                    time_limit=min(seconds, MOST_SECONDS),
                    options={"thresholds": name},
                )
                for name in ("all", "guess")
            }
            cells.append(Cell(requests, over=("all",), under="guess", part=weights))
    targets = [
        Target("at least 20 times fewer tests on FICO and Netherlands", _fewer_tests),
        Target("objective within 0.01 of all thresholds at depth 3, where that is certified", _within),
        Target("speed-up", _speed_up),
    ]
    title = "Guessed thresholds beside all of them, λ = 0.005"
    return Suite("guessing", title, cells, targets, present=_guessing_table, is_together=True)


def _reduction(found: dict[str, Measurement]) -> float:
    return found["guess"].notes["all_tests"] / found["guess"].notes["tests"]


def _fewer_tests(rows: list[Row]) -> tuple[str, bool]:
    chosen = [row for row in rows if row.measurements and row.cell.subject.table in ("fico", "netherlands")]
    ratios = [_reduction(row.measurements) for row in chosen]
    return f"{min(ratios, default=math.nan):.0f} to {max(ratios, default=math.nan):.0f} times", min(
        ratios, default=0
    ) >= 20


def _within(rows: list[Row]) -> tuple[str, bool]:
    gaps = [
        (m["guess"].objective or math.nan) - (m["all"].objective or math.nan)
        for row in rows
        if row.cell.subject.depth == 3 and (m := row.measurements) and m["all"].status == "optimal"
    ]
    return f"{len(gaps)} certified, largest {max(gaps, default=math.nan):.2g}", max(gaps, default=1) <= 0.01


def _speed_up(rows: list[Row]) -> tuple[str, None]:
    found = _measured(rows)
    search = [m["all"].seconds / m["guess"].seconds for m in found]
    whole = [m["all"].seconds / (m["guess"].seconds + m["guess"].notes["guess_seconds"]) for m in found]
    if not found:
        return "nothing measured", None
    alone = f"search alone {geometric_mean(search):.1f} (up to {max(search):.0f})"
    return f"{alone}, with the guess itself {geometric_mean(whole):.2f} (up to {max(whole):.1f})", None


def _guessing_table(rows: list[Row]) -> list[str]:
    head = ["table", "weights", "depth", "tests", "kept", "all", "guess", "then search", "objective", "gap to all"]
    lines = table_head(head)
    for row in rows:
        if not row.measurements:
            continue
        whole, guess = row.measurements["all"], row.measurements["guess"]
        gap = (guess.objective or math.nan) - (whole.objective or math.nan)
        cells = [
            row.cell.subject.table, row.cell.part, str(row.cell.subject.depth),
            f"{guess.notes['all_tests']:.0f}", f"{guess.notes['tests']:.0f}",
            seconds_text(whole), f"{guess.notes['guess_seconds']:.2f} s", seconds_text(guess),
            f"{guess.objective:.5f}", f"{gap:.2g}" + ("" if whole.status == "optimal" else " (all not certified)"),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines


WEIGHING_SUITES: dict[str, Callable[[bool, float], Suite]] = {
    suite.__name__: suite for suite in (weighing, duplication, guessing)
}
