"""The suite of early trees: what a search has after 0.1, 1 and 10 s, beside LicketySPLIT and CART in the same time.

Depth 4, 5 and 6 are beyond what is proved in such times. LicketySPLIT looks one or two levels ahead and knows no limit
of time: it counts from the moment that its tree is there. CART's tree is cut back at λ. Each of them has every
threshold as a column of its own, made beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.measure import Request
from benchmarks.report import table_head
from benchmarks.suites import TOLERANCE, Cell, Row, Suite, Target

TIMES = (0.1, 1.0, 10.0)
TABLES = ("compas", "broward", "fico", "coupon", "netherlands", "phoneme", "page-blocks0", "spambase-raw", "pima")
DEPTHS, PENALTIES, WEIGHTS = (4, 5, 6), (0.001, 0.0002), ("unit", "lognormal")
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "LicketySPLIT 1": ("licketysplit", {"lookahead": 1}),
    "LicketySPLIT 2": ("licketysplit", {"lookahead": 2}),
    "CART": ("pruned-cart", {}),
}
WORST_EXCESS = 0.01


def name_at(seconds: float) -> str:
    return f"certree {seconds:g} s"


def anytime(quick: bool, seconds: float) -> Suite:
    times = TIMES[:2] if quick else TIMES
    grid = product(TABLES, DEPTHS, PENALTIES, WEIGHTS)
    if quick:
        grid = product(TABLES[-1:], DEPTHS[:1], PENALTIES[:1], WEIGHTS[:1])
    cells = []
    for table, depth, penalty, weights in grid:
        asked = Request("certree", table, depth, penalty, weights=weights, time_limit=min(seconds, max(times)))
        requests = {name_at(t): replace(asked, time_limit=t) for t in times}
        for name, (contender, options) in RIVALS.items():
            requests[name] = replace(asked, contender=contender, options=dict(options))
        cells.append(Cell(requests, under=name_at(times[-1])))
    targets = [
        Target("no worse than the best of LicketySPLIT and CART in the same time in 95 % of the cells", _mostly_best),
        Target("and nowhere by more than 1 %", _never_far),
    ]
    title = "Trees of depth 4, 5 and 6 after 0.1, 1 and 10 s"
    return Suite("anytime", title, cells, targets, most_repeats=1, present=_table, draw=_draw)


def best_rival(row: Row, seconds: float) -> float:
    """The best objective that a rival has by then; infinite where none has a tree."""
    found = [row.measurements[name] for name in RIVALS if name in row.measurements]
    return min((m.objective for m in found if m.objective is not None and m.seconds <= seconds), default=math.inf)


def _compared(rows: list[Row]) -> Iterator[tuple[Row, float, float]]:
    """Every cell and time at which somebody else has a tree, and how far ours is above it, in parts of it."""
    for row in rows:
        for seconds in TIMES:
            ours, theirs = row.measurements.get(name_at(seconds)), best_rival(row, seconds)
            if ours is not None and math.isfinite(theirs):
                objective = math.inf if ours.objective is None else ours.objective
                yield row, seconds, objective / theirs - 1


def _mostly_best(rows: list[Row]) -> tuple[str, bool]:
    excess = [found for _, _, found in _compared(rows)]
    if not excess:
        return "nothing measured", False
    share = sum(found <= TOLERANCE for found in excess) / len(excess)
    return f"{share:.1%} of {len(excess)}", share >= 0.95


def _never_far(rows: list[Row]) -> tuple[str, bool]:
    found = [(excess, f"{_name(row)} after {seconds:g} s") for row, seconds, excess in _compared(rows)]
    if not found:
        return "nothing measured", False
    worst, where = max(found)
    return f"at most {worst:.2%} ({where})", worst <= WORST_EXCESS


def _name(row: Row) -> str:
    request = row.cell.subject
    return f"{request.table} depth {request.depth} λ {request.penalty:g} {request.weights}"


def _table(rows: list[Row]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.cell.requests))
    head = ["table", "depth", "λ", "weights", *names, "lower bound"]
    lines = [
        "![Objective and lower bound against time](anytime.png)",
        "",
        "Objectives; of rivals with the seconds that they took. Bold: worse than a rival that had its tree by then.",
        "",
        *table_head(head),
    ]
    for row in rows:
        if not row.measurements:
            continue
        request, last = row.cell.subject, row.measurements[row.cell.under]
        cells = [request.table, str(request.depth), f"{request.penalty:g}", request.weights]
        cells += [_objective(row, name) for name in names]
        cells.append(f"{last.notes['lower']:.5f}" if "lower" in last.notes else "–")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _objective(row: Row, name: str) -> str:
    found = row.measurements.get(name)
    if found is None or found.objective is None:
        return "–"
    text = f"{found.objective:.5f}"
    if name in RIVALS:
        return f"{text} ({found.seconds:.2g} s)"
    limit = row.cell.requests[name].time_limit or math.inf
    return f"**{text}**" if found.objective > best_rival(row, limit) * (1 + TOLERANCE) else text


def _draw(rows: list[Row], directory: Path) -> None:
    """Objective and lower bound against time, a panel for each table at depth 5 (or the deepest that was measured)."""
    from matplotlib.figure import Figure

    shown = {row.cell.subject.table: row for row in rows if row.measurements and row.cell.subject.weights == "unit"}
    for row in rows:
        request = row.cell.subject
        if row.measurements and (request.depth, request.penalty, request.weights) == (5, 0.001, "unit"):
            shown[request.table] = row
    if not shown:
        return
    across = min(3, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(4 * across, 3 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for panel, (table, row) in zip(panels, shown.items(), strict=False):
        ours = [(t, row.measurements[name_at(t)]) for t in TIMES if name_at(t) in row.measurements]
        panel.plot([t for t, _ in ours], [m.objective for _, m in ours], "o-", color="C0", label="certree")
        lower = [(t, m.notes["lower"]) for t, m in ours if "lower" in m.notes]
        panel.plot([t for t, _ in lower], [b for _, b in lower], ".--", color="C0", label="its lower bound")
        for colour, name in enumerate(RIVALS, start=1):
            found = row.measurements.get(name)
            if found is not None and found.objective is not None:
                panel.plot([found.seconds], [found.objective], "x", color=f"C{colour}", label=name)
        panel.set(title=_title(table, row), xscale="log", xlabel="seconds", ylabel="objective")
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    panels[0].legend(fontsize="small")
    figure.savefig(directory / "anytime.png", dpi=110)


def _title(table: str, row: Row) -> str:
    return f"{table}, depth {row.cell.subject.depth}, λ {row.cell.subject.penalty:g}"
