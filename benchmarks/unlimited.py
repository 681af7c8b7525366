"""The suite without a depth limit: λ alone keeps trees small. certree beside imodels' exact tree, and beside itself of
before where CERTREE_BEFORE names a directory with an earlier version (`pip install --target`)."""

from __future__ import annotations

from benchmarks.adapters import UNLIMITED
from benchmarks.measure import Request
from benchmarks.report import measurement_text, table_head
from benchmarks.suites import Cell, Row, Suite, Target, at_least, geometric_mean

TABLES = ("compas", "broward", "fico", "coupon", "netherlands", "lalonde", "pima", "banana")
PENALTIES = (0.05, 0.02, 0.01, 0.005)
MOST_SECONDS = 30.0
ORDER = ("certree", "imodels", "before")


def unlimited(quick: bool, seconds: float) -> Suite:
    limit = min(seconds, MOST_SECONDS)
    cells = []
    for table in ("lalonde",) if quick else TABLES:
        for penalty in PENALTIES[:1] if quick else PENALTIES:
            requests = {name: Request(name, table, UNLIMITED, penalty, time_limit=limit) for name in ORDER}
            is_judged = (table, penalty) == ("compas", 0.02)
            cells.append(Cell(requests, over=("imodels",), part="judged" if is_judged else ""))
    targets = [Target("certified share and time beside imodels and the engine of before", _reported)]
    if not quick:
        targets.append(Target("COMPAS at λ .02: at least 6 times faster than imodels", at_least(None, 6, "judged")))
    return Suite("unlimited", "No depth limit", cells, targets, present=_table)


def _reported(rows: list[Row]) -> tuple[str, None]:
    words = []
    for name in ORDER:
        found = [row.measurements[name] for row in rows if name in row.measurements]
        found = [m for m in found if m.has_figures]
        if found:
            proved = sum(m.status == "optimal" for m in found)
            mean = geometric_mean(m.seconds for m in found)
            words.append(f"{name} {proved} of {len(found)}, {mean:.2g} s by geometric mean")
    return "; ".join(words) or "nothing measured", None


def _table(rows: list[Row]) -> list[str]:
    head = ["table", "λ", "certree", "imodels", "certree before", "ratio to imodels", "objective", "leaves"]
    lines = table_head(head)
    for row in rows:
        if not row.measurements:
            continue
        ours = row.measurements["certree"]
        cells = [row.cell.subject.table, f"{row.cell.subject.penalty:g}"]
        cells += [measurement_text(row.measurements.get(name)) for name in ORDER]
        cells += ["–" if row.ratio is None else f"{'> ' if row.is_ratio_bound else ''}{row.ratio:.3g}"]
        cells += ["–" if ours.objective is None else f"{ours.objective:.6f}", str(ours.leaves or "–")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
