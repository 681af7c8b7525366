"""The suite of growth: what ten times the rows, or ten times the columns, cost in time and memory.

Rows: 10⁴ to 10⁶ of them, with 10 continuous columns (every value a threshold) at depth 2 or 20 columns of 33 values at
depth 2 and 3; two and five labels; without weights and with log-normal ones; a planted tree under noise, and beside it
nothing but noise, on which bounds prune least. CART on the same rows is the yardstick. Columns: 10 to 1,000 continuous
ones at depth 2, beside ConTree.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product

from benchmarks.measure import Measurement, Request
from benchmarks.report import measurement_text, table_head
from benchmarks.suites import Cell, Row, Suite, Target, at_least, memory_growth
from benchmarks.tables import GROWING_ROWS, load

PENALTY = 0.001
MOST_GROWTH = 15.0
COLUMNS = {"continuous": 10, "coarse": 20}
SHAPES = (("continuous", 2), ("coarse", 2), ("coarse", 3))
TIMES_CART = {(2, 2): 1.0, (2, 3): 2.0, (5, 2): 3.0, (5, 3): 6.0}
"""By labels and depth: so many times CART's seconds at a million rows, at most."""
MOST_MEMORY = 3.0
"""So many times the table's own bytes, at most."""


def growth(quick: bool, seconds: float) -> Suite:
    grid = product(SHAPES, (2, 5), ("planted", "noise"), ("unit", "lognormal"), GROWING_ROWS)
    if quick:
        grid = product(SHAPES[1:2], (2,), ("planted",), ("lognormal",), list(GROWING_ROWS)[:2])
    cells = []
    for (shape, depth), n_labels, kind, weights, size in grid:
        table = f"growth-{shape}-{n_labels}-{kind}-{size}"
        requests = {
            name: Request(name, table, depth, PENALTY, weights=weights, time_limit=seconds)
            for name in ("certree", "cart")
        }
        # What is judged is measured as often as asked; noise is reported beside it, and takes minutes.
        cells.append(Cell(requests, over=("cart",), part=kind, most_repeats=1 if kind == "noise" else None))
    for columns in (10,) if quick else (10, 100, 1000):
        names = ("certree", "contree")
        requests = {name: Request(name, f"wide-{columns}", 2, PENALTY, time_limit=seconds) for name in names}
        cells.append(Cell(requests, over=("contree",), part="columns"))
    targets = [Target("ten times the rows cost at most 15 times the time", _grows_slowly)]
    if not quick:
        targets += [
            Target(
                f"a million rows, {n_labels} labels, depth {depth}: at most {most:g} times CART's seconds",
                _beside_cart(n_labels, depth, most),
            )
            for (n_labels, depth), most in TIMES_CART.items()
        ]
        targets.append(Target("memory beyond the table at most three times the table", _small_memory))
    targets.append(Target("10, 100 and 1,000 columns: never slower than ConTree", at_least(None, 1, "columns")))
    return Suite("growth", "Growth with rows and columns", cells, targets, present=_table)


def _planted(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.cell.part == "planted" and row.measurements]


def _n_labels(row: Row) -> int:
    return int(row.cell.subject.table.split("-")[2])


def _problem(row: Row) -> tuple[str, int, str]:
    """What a row is about, but for the number of rows."""
    request = row.cell.subject
    return request.table.rpartition("-")[0], request.depth, request.weights


def _grows_slowly(rows: list[Row]) -> tuple[str, bool]:
    """From each size to the next, where that is one of the same problem; a search without a proof has no time."""
    steps, unproved = [], 0
    planted = _planted(rows)
    for small, large in pairwise(planted):
        if _problem(small) != _problem(large):
            continue
        before, after = small.measurements["certree"], large.measurements["certree"]
        if "optimal" in (before.status, after.status) and before.status == after.status:
            steps.append(
                (after.seconds / before.seconds, f"{large.cell.subject.table} depth {large.cell.subject.depth}")
            )
        else:
            unproved += 1
    if not steps:
        return "nothing measured", False
    most, where = max(steps)
    words = f"at most {most:.1f} times ({where}), {len(steps)} steps"
    words += f", {unproved} without a proof" if unproved else ""
    return words, most <= MOST_GROWTH and unproved == 0


def _beside_cart(n_labels: int, depth: int, most: float) -> Callable[[list[Row]], tuple[str, bool]]:
    def judge(rows: list[Row]) -> tuple[str, bool]:
        asked = [
            row
            for row in _planted(rows)
            if row.cell.subject.table.endswith("-1m") and (_n_labels(row), row.cell.subject.depth) == (n_labels, depth)
        ]
        if not asked:
            return "nothing measured", False
        proved = [row for row in asked if row.ratio is not None]
        times = [1 / row.ratio for row in proved if row.ratio is not None]
        words = f"{min(times):.2f} to {max(times):.2f} times" if times else "no figures"
        missing = len(asked) - len(proved)
        words += f", {missing} of {len(asked)} without a proof" if missing else ""
        return words, not missing and max(times) <= most

    return judge


def table_megabytes(name: str) -> float:
    """Of the floats in it; the largest tables are not made for that."""
    parts = name.split("-")
    if parts[0] != "growth":
        return load(name).X.nbytes / 2**20
    return GROWING_ROWS[parts[-1]] * COLUMNS[parts[1]] * 8 / 2**20


def _small_memory(rows: list[Row]) -> tuple[str, bool]:
    """At a million rows: smaller fits need less than the libraries that are loaded for them."""
    asked = [row for row in _planted(rows) if row.cell.subject.table.endswith("-1m")]
    times = [memory_growth(row.measurements["certree"]) / table_megabytes(row.cell.subject.table) for row in asked]
    return f"at most {max(times):.2f} times" if times else "nothing measured", bool(times) and max(times) <= MOST_MEMORY


def _table(rows: list[Row]) -> list[str]:
    head = ["table", "weights", "depth", "certree", "CART", "ConTree", "times the peer's", "memory", "of the table"]
    lines = [
        f"λ {PENALTY:g}. Memory: how far the peak of the process is above what it held before the fit.",
        "",
        *table_head(head),
    ]
    for row in rows:
        if not row.measurements:
            continue
        request, ours = row.cell.subject, row.measurements["certree"]
        cells = [request.table, request.weights, str(request.depth)]
        cells += [measurement_text(row.measurements.get(name)) for name in ("certree", "cart", "contree")]
        cells += ["–" if row.ratio is None else f"{1 / row.ratio:.2f}", *_memory(ours, request.table)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _memory(found: Measurement, table: str) -> list[str]:
    if "peak_megabytes" not in found.notes:
        return ["–", "–"]
    return [f"{memory_growth(found):.0f} MB", f"{memory_growth(found) / table_megabytes(table):.2f}"]
