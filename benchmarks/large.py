"""The suite of large policies: many rows, thresholds and actions at depth 2, with seconds and memory.

Three sizes: continuous columns, where every row brings thresholds of its own; ten times the rows with 30 distinct
values per column; and a small one that STreeD finishes, so that two solvers that share nothing name the same value.
Each holds a planted policy or pure noise, on which bounds prune least. Where STreeD is missing, certree is measured
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.adapters import CONTENDERS
from benchmarks.measure import Measurement, Request
from benchmarks.report import measurement_text, table_head
from benchmarks.suites import TOLERANCE, Cell, Row, Suite, Target, memory_growth
from benchmarks.tables import load

ONE, TWO, PEER = "1 thread", "2 threads", "STreeD"
TABLES = {
    "policy-continuous-2": "signal",
    "policy-continuous-0.5": "signal",
    "policy-continuous-noise": "noise",
    "policy-100k-2": "100k",
    "policy-100k-0.5": "100k",
    "policy-100k-noise": "100k",
    "policy-small-0.5": "small",
    "policy-small-noise": "small",
}
"""The tables and the part of the suite that each counts for."""
QUICK_TABLES = ("policy-continuous-2", "policy-small-0.5")
SIGNAL_SECONDS, NOISE_SECONDS = 1.3, 61.0
"""What a sketch of the coarse-to-fine search took; the vignette of R's policytree speaks of hours at this size."""


def large(quick: bool, seconds: float) -> Suite:
    cells = []
    for table in QUICK_TABLES if quick else TABLES:
        requests = {
            ONE: Request("certree-policy", table, 2, 0.0, time_limit=seconds),
            TWO: Request("certree-policy", table, 2, 0.0, time_limit=seconds, options={"n_jobs": 2}),
            PEER: Request("streed-policy", table, 2, 0.0, time_limit=seconds),
        }
        cells.append(Cell(requests, under=ONE, part=TABLES[table]))
    size = "10,000 rows, 30 continuous columns, 20 actions"
    targets = [
        Target("every policy certified, with one thread and with two", _all_certified),
        Target(f"{size}, a signal: less than {SIGNAL_SECONDS:g} s", _within("signal", SIGNAL_SECONDS)),
        Target(f"{size}, pure noise: less than {NOISE_SECONDS:g} s", _within("noise", NOISE_SECONDS)),
        Target("100,000 rows, 30 values per column, 20 actions: seconds and memory of the fit", _reported),
        Target("the same value for any number of threads, and as STreeD where it finishes", _same_value),
    ]
    return Suite("large", "Large policies at depth 2", cells, targets, present=_table)


def _ours(rows: list[Row], part: str = "") -> list[Measurement]:
    """certree's measurements with one thread, of one part or of all."""
    return [row.measurements[ONE] for row in rows if row.measurements and part in ("", row.cell.part)]


def _all_certified(rows: list[Row]) -> tuple[str, bool]:
    statuses = [row.measurements[name].status for row in rows if row.measurements for name in (ONE, TWO)]
    certified = statuses.count("optimal")
    return f"{certified} of {len(statuses)}", bool(statuses) and certified == len(statuses)


def _within(part: str, seconds: float) -> Callable[[list[Row]], tuple[str, bool]]:
    """Certified in less than so many seconds, one thread."""

    def judge(rows: list[Row]) -> tuple[str, bool]:
        found = _ours(rows, part)
        if not found:
            return "nothing measured", False
        words = ", ".join(f"{m.status} in {measurement_text(m)}" for m in found)
        return words, all(m.status == "optimal" and m.seconds < seconds for m in found)

    return judge


def _reported(rows: list[Row]) -> tuple[str, None]:
    found = _ours(rows, "100k")
    if not found:
        return "nothing measured", None
    words = [f"{measurement_text(m)}, {memory_growth(m):.0f} MB" for m in found]
    return "; ".join(words), None


def _same_value(rows: list[Row]) -> tuple[str, bool]:
    """Of certified policies alone; STreeD must have finished at least one, or nothing was compared."""
    certified = [
        {name: m.objective for name, m in row.measurements.items() if m.status == "optimal" and m.objective is not None}
        for row in rows
    ]
    spreads = [max(found.values()) - min(found.values()) for found in certified if found]
    compared = sum(PEER in found and ONE in found for found in certified)
    words = f"largest difference {max(spreads, default=math.nan):.1e}, {compared} cells compared with STreeD"
    return words, compared > 0 and max(spreads) <= TOLERANCE


def _table(rows: list[Row]) -> list[str]:
    head = ["table", "tests", "actions", ONE, TWO, PEER, "ratio", "value", "leaves"]
    head += ["memory", f"with {TWO}", f"of {PEER}"]
    lines = [
        "There is no penalty. The value is the mean reward of the policy, recomputed from its actions. Memory is the",
        "peak of the process, and in parentheses how much more that is than before the fit (for STreeD, with its",
        "two-valued copy of the table). The ratio is the time of STreeD divided by that of certree, one thread each.",
        "",
        *table_head(head),
    ]
    for row in rows:
        if not row.measurements:
            continue
        table, one = load(row.cell.subject.table), row.measurements[ONE]
        cells = [table.name, f"{table.n_thresholds:,}", str(table.rewards.shape[1])]
        cells += [measurement_text(row.measurements.get(name)) for name in (ONE, TWO, PEER)]
        cells += [_ratio_text(row), f"{one.notes.get('value', math.nan):.6f}", str(one.leaves or "–")]
        cells += [_memory_text(row.measurements.get(name)) for name in (ONE, TWO, PEER)]
        lines.append("| " + " | ".join(cells) + " |")
    reasons = {reason: None for row in rows if (reason := _reason(row))}
    return [*lines, *(["", *(f"- {reason}" for reason in reasons)] if reasons else [])]


def _ratio_text(row: Row) -> str:
    one, peer = row.measurements[ONE], row.measurements.get(PEER)
    if peer is None or not peer.has_figures or one.status != "optimal":
        return "–"
    return f"{'> ' if peer.is_timeout else ''}{peer.seconds / one.seconds:.3g}"


def _memory_text(found: Measurement | None) -> str:
    if found is None or "peak_megabytes" not in found.notes:
        return "–"
    return f"{found.notes['peak_megabytes']:.0f} MB ({memory_growth(found):.0f})"


def _reason(row: Row) -> str:
    """Why STreeD has no figure, where it has none."""
    table, peer = row.cell.subject.table, row.measurements.get(PEER)
    if not row.measurements or (peer and peer.status == "optimal"):
        return ""
    if peer is None:
        return f"STreeD is not installed ({CONTENDERS['streed-policy'].package})."
    if peer.is_timeout:
        return f"{table}: STreeD did not finish in {peer.seconds:.0f} s."
    return f"{table}: {peer.remark}."
