"""The suite of sets: every good tree, beside PRAXIS (exact: its lookahead is the depth less one) and TreeFARMS.

All of them get the same tests: certree the columns as they are, the peers every test as a two-valued column. A tree is
good if its objective is at most a share of the optimum above it. What is measured is finding the set and counting it;
trees are counted as PRAXIS counts them, idle splits and all, and every test by itself. It rounds λ and the bound to
whole rows, so counts may differ where λ times the rows, or the bound, is no whole number.

Beside that: what real weights cost, depth 4, ten thousand trees listed, and sets of more than 10⁹ trees.
"""

from __future__ import annotations

from itertools import product

from benchmarks.measure import Measurement, Request
from benchmarks.report import measurement_text, table_head
from benchmarks.suites import Cell, Row, Suite, Target, at_least, at_most, memory_growth

CONTEST = (("compas", 3), ("broward", 3), ("fico-guessed", 3), ("german", 3), ("chess", 3), ("two-valued-0.3", 3))
PENALTIES = (0.01, 0.005)
SHARES = (0.01, 0.03)
LISTED = 10_000
LARGE = {"penalty": 0.001, "tolerance": 0.05}
"""Of COMPAS at depth 3: more than 10⁹ trees."""
TITLE = "All good trees, beside PRAXIS and TreeFARMS"


def sets(quick: bool, seconds: float) -> Suite:
    cells = []
    grid = product(CONTEST[:1] if quick else CONTEST, PENALTIES[:1] if quick else PENALTIES, SHARES)
    for (table, depth), penalty, share in grid:
        cells.append(_contest(table, depth, penalty, share, seconds))
    if not quick:
        cells += [_contest("compas", 4, penalty, 0.01, seconds, part="depth 4") for penalty in PENALTIES]
    for (table, depth), penalty in product(CONTEST[:1] if quick else CONTEST[:3], PENALTIES):
        options = {"share": 0.03}
        for part, kind in (("weights", "near one"), ("other weights", "lognormal")):
            requests = {
                name: Request(
                    "certree-sets", table, depth, penalty, weights=weights, time_limit=seconds, options=options
                )
                for name, weights in (("certree", "unit"), ("weighted", kind))
            }
            cells.append(Cell(requests, over=("weighted",), part=part))
    listed = Request("certree-sets", "compas", 3, 0.005, time_limit=seconds, options={"share": 0.1, "listed": LISTED})
    cells.append(Cell({"certree": listed}, part="listing"))
    for weights in ("unit", "lognormal"):
        options = {"tolerance": LARGE["tolerance"], "drawn": 100}
        large = Request(
            "certree-sets", "compas", 3, LARGE["penalty"], weights=weights, time_limit=seconds, options=options
        )
        cells.append(Cell({"certree": large}, part="large"))
    targets = [
        Target("depth 3: at least 5 times the faster peer by geometric mean, never below 1", at_least(5, 1, "contest")),
        Target("real weights near one: at most 1.5 times the seconds without", at_most(1.5, "weights")),
        Target("log-normal weights: at most 1.5 times the seconds without", at_most(1.5, "other weights")),
        Target("ten thousand trees listed in less than a second", _lists_fast),
        Target("more than 10⁹ trees: counted up to a factor of 1.1, exactly without weights, and drawn", _counts_large),
    ]
    if not quick:
        targets.insert(1, Target("COMPAS at depth 4: never slower than the faster peer", at_least(None, 1, "depth 4")))
    return Suite("sets", TITLE, cells, targets, present=_table)


def _contest(table: str, depth: int, penalty: float, share: float, seconds: float, part: str = "contest") -> Cell:
    names = {"certree": "certree-sets", "praxis": "praxis", "treefarms": "treefarms"}
    requests = {
        name: Request(contender, table, depth, penalty, time_limit=seconds, options={"share": share})
        for name, contender in names.items()
    }
    return Cell(requests, over=("praxis", "treefarms"), part=part)


def _of(rows: list[Row], part: str) -> list[Measurement]:
    found = [row.measurements.get("certree") for row in rows if row.cell.part == part]
    return [measurement for measurement in found if measurement is not None and measurement.status == "optimal"]


def _lists_fast(rows: list[Row]) -> tuple[str, bool]:
    found = _of(rows, "listing")
    if not found:
        return "nothing measured", False
    seconds, listed = found[0].notes["list_seconds"], found[0].notes["listed"]
    return f"{listed:,.0f} in {seconds:.2f} s", seconds < 1 and listed == LISTED


def _counts_large(rows: list[Row]) -> tuple[str, bool]:
    found = _of(rows, "large")
    if not found:
        return "nothing measured", False
    words = [
        f"{one.notes['trees']:.3g} trees, most / least {one.notes['width']:.4g}, 100 drawn in "
        f"{one.notes['draw_seconds']:.2f} s"
        for one in found
    ]
    # The first is without weights.
    is_met = found[0].notes["width"] == 1 and all(
        one.notes["trees"] > 1e9 and one.notes["width"] <= 1.1 for one in found
    )
    return "; ".join(words), is_met and len(found) == 2


def _table(rows: list[Row]) -> list[str]:
    head = ["table", "depth", "λ", "part", "worse by", "certree", "PRAXIS", "TreeFARMS", "weighted", "ratio", "trees",
            "of PRAXIS", "of TreeFARMS", "memory"]  # fmt: skip
    lines = table_head(head)
    for row in rows:
        if row.skipped or not row.measurements:
            continue
        request, own = row.cell.subject, row.measurements["certree"]
        options = request.options
        worse = f"{options['share']:.0%} of the optimum" if "share" in options else f"{options['tolerance']:g}"
        cells = [request.table, str(request.depth), f"{request.penalty:g}", row.cell.part, worse]
        cells += [
            measurement_text(row.measurements.get(name)) for name in ("certree", "praxis", "treefarms", "weighted")
        ]
        cells.append("–" if row.ratio is None else f"{'> ' if row.is_ratio_bound else ''}{row.ratio:.3g}")
        cells += [_count(row.measurements.get(name)) for name in ("certree", "praxis", "treefarms")]
        cells.append(f"{memory_growth(own):.0f} MB" if "peak_megabytes" in own.notes else "–")
        lines.append("| " + " | ".join(cells) + " |")
    words = (
        "In the parts about weights the ratio is the seconds with real weights over those without; elsewhere those of "
        "the faster peer over certree's. The part *weights* has weights so close to one that the good trees are nearly "
        "the same. With the log-normal weights of *other weights* the good "
        "trees are others, and there may be more of them. Memory is what the process grew by.\n\ncertree and PRAXIS "
        "count idle splits, and each of two tests that divide the rows alike; TreeFARMS leaves idle splits out. PRAXIS "
        "rounds λ and the bound to whole rows, so its counts differ where λ times the rows, or the bound, is not a "
        "whole number. With both rounded in the same way, certree counts the same."
    )
    return [*lines, "", words]


def _count(found: Measurement | None) -> str:
    if found is None or "trees" not in found.notes:
        return "–"
    trees = found.notes["trees"]
    return f"{trees:,.0f}" if trees < 1e7 else f"{trees:.4g}"
