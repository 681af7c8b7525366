"""The suite of deep trees on continuous columns: certree beside ConTree at depth 3 and 4, all thresholds."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.measure import Measurement, Request
from benchmarks.report import measurement_text, table_head
from benchmarks.suites import TOLERANCE, Cell, Row, Suite, Target, geometric_mean
from benchmarks.tables import CONTINUOUS, load

PENALTIES = (0.0, 0.001, 0.005)
MOST_SECONDS = 60.0
"""A run that ends at this limit counts as having taken it."""
TITLE = "Continuous columns at depth 3 and 4, all thresholds"


def continuous_deep(quick: bool, seconds: float) -> Suite:
    limit = min(seconds, MOST_SECONDS)
    grid = [("pima", 3), ("abalone9-18", 3)] if quick else [(table, depth) for depth in (3, 4) for table in CONTINUOUS]
    cells = []
    for table, depth in grid:
        for penalty in PENALTIES[2:] if quick else PENALTIES:
            requests = {name: Request(name, table, depth, penalty, time_limit=limit) for name in ("certree", "contree")}
            cells.append(Cell(requests, over=("contree",), part=f"depth {depth}"))
    targets = [Target("depth 3: at least 10 times ConTree by geometric mean, never below 1.5", _at_least(3, 10, 1.5))]
    if not quick:
        targets += [
            Target("depth 4: at least 4 times ConTree by geometric mean, never below 1", _at_least(4, 4, 1)),
            Target("where neither proves its tree, certree's is no worse", _no_worse),
        ]
    return Suite("continuous-deep", TITLE, cells, targets, present=_table)


def ratio(row: Row) -> float | None:
    """ConTree's seconds over certree's, a limit counting as its seconds; None where neither proves its tree."""
    ours, theirs = row.measurements.get("certree"), row.measurements.get("contree")
    if ours is None or theirs is None or not (ours.has_figures and theirs.has_figures):
        return None
    if "optimal" not in (ours.status, theirs.status):
        return None
    return theirs.seconds / ours.seconds


def _at_least(depth: int, mean: float, least: float) -> Callable[[list[Row]], tuple[str, bool]]:
    def judge(rows: list[Row]) -> tuple[str, bool]:
        of_depth = [row for row in rows if row.cell.subject.depth == depth and row.measurements]
        found = [(value, _name(row)) for row in of_depth if (value := ratio(row)) is not None]
        if not found:
            return "nothing measured", False
        middle, (lowest, slowest) = geometric_mean(value for value, _ in found), min(found)
        words = f"geometric mean {middle:.2f}, least {lowest:.2f} ({slowest}), {len(found)} cells"
        words += f", {len(of_depth) - len(found)} that neither proves"
        return words, middle >= mean and lowest >= least

    return judge


def _name(row: Row) -> str:
    return f"{row.cell.subject.table} λ {row.cell.subject.penalty:g}"


def _no_worse(rows: list[Row]) -> tuple[str, bool]:
    unproved = [row for row in rows if row.measurements and ratio(row) is None]
    worse = [_name(row) for row in unproved if _excess(row) > TOLERANCE]
    words = f"{len(unproved)} cells" + (f", worse in {', '.join(worse)}" if worse else "")
    return words, any(row.measurements for row in rows) and not worse


def _excess(row: Row) -> float:
    ours, theirs = row.measurements["certree"].objective, row.measurements["contree"].objective
    if theirs is None:
        return -1.0
    return 1.0 if ours is None else ours - theirs


def _table(rows: list[Row]) -> list[str]:
    head = ["table", "labels", "depth", "λ", "certree", "ConTree", "ratio", "objective", "of ConTree", "leaves"]
    lines = table_head(head)
    for row in rows:
        if not row.measurements:
            continue
        request, found = row.cell.subject, ratio(row)
        ours, theirs = row.measurements["certree"], row.measurements.get("contree")
        cells = [request.table, str(load(request.table).y.max() + 1), str(request.depth), f"{request.penalty:g}"]
        cells += [measurement_text(ours), measurement_text(theirs), "–" if found is None else f"{found:.3g}"]
        cells += [_number(ours), _number(theirs), str(ours.leaves or "–")]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", "A run that reached its limit counts as having taken it; where both did there is no ratio."]


def _number(found: Measurement | None) -> str:
    return "–" if found is None or found.objective is None else f"{found.objective:.6f}"
