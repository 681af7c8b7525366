"""Which cells are measured, and what they must show.

A suite is a list of cells and a list of targets. A cell is a few requests that are measured side by side and, where it
makes sense, one ratio between them. A target looks at the measured rows of its suite and says what it found, in words,
and whether that is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.measure import Measurement, Request
from benchmarks.tables import CONTINUOUS

MEGABYTE = 2**20
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Cell:
    """Requests measured side by side. The ratio is the fastest of `over` divided by `under`."""

    requests: dict[str, Request]
    over: tuple[str, ...] = ()
    under: str = "certree"
    part: str = ""
    """Which targets of the suite the cell counts for, where not for all."""
    most_repeats: int | None = None
    """Where it takes too long to look more often."""

    @property
    def subject(self) -> Request:
        return next(iter(self.requests.values()))


@dataclass(frozen=True)
class Row:
    """A measured cell."""

    cell: Cell
    measurements: dict[str, Measurement] = field(default_factory=dict)
    skipped: str = ""

    @property
    def ratio(self) -> float | None:
        """None where it cannot be formed; a lower bound where every measurement in `over` was stopped."""
        under = self.measurements.get(self.cell.under)
        over = [self.measurements[name] for name in self.cell.over if name in self.measurements]
        over = [measurement for measurement in over if measurement.has_figures]
        if under is None or under.status != "optimal" or not over:
            return None
        return min(measurement.seconds for measurement in over) / under.seconds

    @property
    def is_ratio_bound(self) -> bool:
        over = [self.measurements[name] for name in self.cell.over if name in self.measurements]
        fastest = min((m for m in over if m.has_figures), key=lambda m: m.seconds, default=None)
        return fastest is not None and fastest.is_timeout

    @property
    def disagreement(self) -> str:
        """Why the measured trees cannot all be what they claim to be, or nothing."""
        failures = [f"{name}: {m.remark}" for name, m in self.measurements.items() if m.status == "failed"]
        if failures:
            return "; ".join(failures)
        requests = self.cell.requests
        for name, claimed in self.measurements.items():
            for other, found in self.measurements.items():
                if requests[name].weights != requests[other].weights or requests[name].depth != requests[other].depth:
                    continue
                if requests[name].options.get("thresholds") is not None:
                    continue  # optimal among fewer tests
                if claimed.status != "optimal" or claimed.objective is None or found.objective is None:
                    continue
                if found.status != "greedy" and found.objective < claimed.objective - TOLERANCE:
                    return f"{name} claims {claimed.objective:.12f} is optimal, {other} has {found.objective:.12f}"
        return ""


@dataclass(frozen=True)
class Target:
    """What a suite must show: `judge` gets the measured rows and says what it found and whether that is enough.

    None where a figure is only reported.
    """

    text: str
    judge: Callable[[list[Row]], tuple[str, bool | None]]


@dataclass(frozen=True)
class Suite:
    name: str
    title: str
    cells: list[Cell]
    targets: list[Target]
    most_repeats: int | None = None
    """Where one look is as good as many."""
    present: Callable[[list[Row]], list[str]] | None = None
    """The lines of its table, where the usual one does not say what it shows."""
    draw: Callable[[list[Row], Path], None] | None = None
    """Draws the pictures of its page into a directory."""
    is_together: bool = False
    """Whether the contenders of a cell take turns in one process, instead of each having its own."""


# Targets -------------------------------------------------------------------------------------------------------------


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _ratios(rows: list[Row], part: str) -> list[float]:
    return [ratio for row in rows if part in ("", row.cell.part) and (ratio := row.ratio) is not None]


def _missing(rows: list[Row], part: str) -> int:
    """Cells that were asked for, whose data are there, and that have no ratio: certree did not certify them."""
    return sum(row.ratio is None and not row.skipped for row in rows if part in ("", row.cell.part))


def at_least(mean: float | None, least: float, part: str = "") -> Callable[[list[Row]], tuple[str, bool]]:
    """Ratios of at least `least` everywhere and, by geometric mean, at least `mean`."""

    def judge(rows: list[Row]) -> tuple[str, bool]:
        ratios, missing = _ratios(rows, part), _missing(rows, part)
        if not ratios:
            return "nothing measured", False
        words = f"geometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}, {len(ratios)} cells"
        words += f", {missing} without a ratio" if missing else ""
        enough = missing == 0 and min(ratios) >= least and (mean is None or geometric_mean(ratios) >= mean)
        return words, enough

    return judge


def at_most(most: float, part: str) -> Callable[[list[Row]], tuple[str, bool]]:
    """Ratios of at most `most` everywhere."""

    def judge(rows: list[Row]) -> tuple[str, bool]:
        ratios, missing = _ratios(rows, part), _missing(rows, part)
        if not ratios:
            return "nothing measured", False
        words = f"geometric mean {geometric_mean(ratios):.2f}, largest {max(ratios):.2f}, {len(ratios)} cells"
        words += f", {missing} without a ratio" if missing else ""
        return words, missing == 0 and max(ratios) <= most

    return judge


def _reported_ratios(part: str) -> Callable[[list[Row]], tuple[str, None]]:
    """The same without a target."""
    return lambda rows: (at_most(math.inf, part)(rows)[0], None)


def _certified_within(table: str, seconds: float) -> Callable[[list[Row]], tuple[str, bool]]:
    def judge(rows: list[Row]) -> tuple[str, bool]:
        found = [row.measurements["certree"] for row in rows if row.cell.subject.table == table and row.measurements]
        if not found:
            return "nothing measured", False
        enough = all(measurement.status == "optimal" and measurement.seconds < seconds for measurement in found)
        return ", ".join(f"{m.status} in {m.seconds:.2f} s" for m in found), enough

    return judge


def _peers_exhaust(rows: list[Row]) -> tuple[str, bool]:
    peers = [(name, row.measurements[name]) for row in rows for name in row.cell.over if name in row.measurements]
    done = [f"{name} finished in {m.seconds:.1f} s" for name, m in peers if m.has_figures and not m.is_timeout]
    return "; ".join(done) or f"{len(peers)} of {len(peers)} peer runs exhausted their time", bool(peers) and not done


def _same_objective(rows: list[Row]) -> tuple[str, bool]:
    pairs = [[m.objective for m in row.measurements.values()] for row in rows if row.measurements]
    spread = max((max(map(float, map(_number, p))) - min(map(float, map(_number, p))) for p in pairs), default=math.nan)
    return f"largest difference {spread:.1e}", bool(pairs) and spread <= TOLERANCE


def _number(value: float | None) -> float:
    return math.nan if value is None else value


# The cells of the suites ---------------------------------------------------------------------------------------------


def _contest(table: str, depth: int, penalty: float, peers: tuple[str, ...], seconds: float, part: str = "") -> Cell:
    """certree against peers, unweighted, one thread."""
    names = ("certree", *peers)
    requests = {name: Request(name, table, depth, penalty, time_limit=seconds) for name in names}
    return Cell(requests, over=peers, part=part)


STREED_FIRST, CONTREE_FIRST = ("streed", "contree"), ("contree", "streed")
"""The likely faster peer first: the other is stopped when it has lost."""


def raw(quick: bool, seconds: float) -> Suite:
    grid = [("compas", 3, STREED_FIRST), ("lalonde", 4, STREED_FIRST)] if quick else [
        ("compas", 3, STREED_FIRST), ("compas", 4, STREED_FIRST), ("broward", 3, STREED_FIRST),
        ("fico", 2, CONTREE_FIRST), ("lalonde", 4, STREED_FIRST),
    ]  # fmt: skip
    penalties = [0.005] if quick else [0.01, 0.005, 0.001, 0.0005]
    cells = [
        # The peers take long over Lalonde: a minute of theirs at each penalty is enough to compare.
        _contest(table, depth, penalty, peers, min(seconds, 60) if table == "lalonde" else seconds)
        for table, depth, peers in grid
        for penalty in penalties
    ]
    target = Target("at least 45 times the faster peer by geometric mean, never below 10", at_least(45, 10))
    return Suite("raw", "Raw columns, all thresholds", cells, [target])


def hard(quick: bool, seconds: float) -> Suite:
    # The peers' minutes at one penalty; a second penalty shows that certree's seconds are no accident.
    cells = [_contest("fico", 3, 0.005, STREED_FIRST, seconds), _contest("fico", 3, 0.001, (), seconds)]
    if not quick:
        cells += [_contest("broward", 4, 0.005, STREED_FIRST, seconds), _contest("broward", 4, 0.001, (), seconds)]
    targets = [
        Target("FICO depth 3, all 1,917 thresholds: certified in less than 10 s", _certified_within("fico", 10)),
        Target("Broward depth 4, all 588 thresholds: certified in less than 200 s", _certified_within("broward", 200)),
        Target("both peers exhaust their time", _peers_exhaust),
    ]
    return Suite("hard", "What the peers do not finish", cells, targets)


def continuous(quick: bool, seconds: float) -> Suite:
    tables = ["continuous-balanced-10k", "continuous-rare-10k"]
    if not quick:
        tables = ["netherlands", "magic", *tables, "continuous-balanced-20k", "continuous-rare-20k"]
    penalties = [0.001] if quick else [0.005, 0.001]
    cells = [_contest(table, 2, penalty, ("contree",), seconds) for table in tables for penalty in penalties]
    target = Target("at least 3 times ConTree", at_least(3, 3))
    return Suite("continuous", "Tens of thousands of distinct values per column, depth 2", cells, [target])


def binary(quick: bool, seconds: float) -> Suite:
    tables = ["coupon", "two-valued-0.3"]
    if not quick:
        tables = ["coupon", "german", "vehicle", "segment", "chess", "mushroom", "spambase"]
        tables += ["two-valued-0.2", "two-valued-0.3", "two-valued-0.4", "two-valued-0.5"]
    penalties = [0.002] if quick else [0.01, 0.002]
    cells = [_contest(table, 4, penalty, STREED_FIRST, seconds) for table in tables for penalty in penalties]
    target = Target("at least 12 times the faster peer by geometric mean, never below 3", at_least(12, 3))
    return Suite("binary", "Two-valued columns, depth 4", cells, [target])


def fit(quick: bool, seconds: float) -> Suite:
    cells = []
    for penalty in [0.005] if quick else [0.01, 0.005, 0.001]:
        ours = Request("certree", "compas", 3, penalty, time_limit=seconds)
        for part, depth in (("same depth", 3), ("no depth limit", 0)):
            requests = {"certree": ours, "cart": Request("cart", "compas", depth, penalty)}
            cells.append(Cell(requests, over=("cart",), part=part))
    targets = [
        Target("no longer than DecisionTreeClassifier(max_depth=3)", at_least(None, 1, "same depth")),
        Target("no longer than DecisionTreeClassifier()", at_least(None, 1, "no depth limit")),
    ]
    return Suite("fit", "The whole Python fit of COMPAS at depth 3 beside scikit-learn's greedy tree", cells, targets)


def weights(quick: bool, seconds: float) -> Suite:
    grid = [("compas", 3, 0.005, "raw"), ("two-valued-0.3", 4, 0.002, "two-valued")]
    if not quick:
        grid = [
            ("compas", 3, 0.005, "raw"), ("compas", 4, 0.001, "raw"), ("broward", 3, 0.005, "raw"),
            ("fico", 2, 0.005, "raw"), ("lalonde", 4, 0.005, "raw"), ("netherlands", 2, 0.001, "raw"),
            ("coupon", 4, 0.002, "two-valued"), ("german", 4, 0.002, "two-valued"),
            ("vehicle", 4, 0.01, "two-valued"), ("segment", 4, 0.002, "two-valued"),
            ("chess", 4, 0.002, "two-valued"), ("spambase", 4, 0.002, "two-valued"),
            ("two-valued-0.2", 4, 0.002, "two-valued"), ("two-valued-0.5", 4, 0.002, "two-valued"),
        ]  # fmt: skip
        grid += [(table, 3, 0.001, "continuous") for table in CONTINUOUS]
        # Of depth 4 those that are proved in some seconds, with weights and without.
        proved = ("banana", "phoneme", "page-blocks0", "segment0", "pima", "abalone9-18", "winequality-red-4")
        grid += [(table, 4, 0.005, "continuous") for table in proved]
    cells = []
    for table, depth, penalty, part in grid:
        unit = Request("certree", table, depth, penalty, time_limit=seconds)
        weighted = Request("certree", table, depth, penalty, weights="lognormal", time_limit=seconds)
        cells.append(Cell({"unit": unit, "lognormal": weighted}, over=("lognormal",), under="unit", part=part))
        if part == "two-valued":
            streed = Request("streed", table, depth, penalty, time_limit=seconds)
            requests = {"lognormal": weighted, "streed": streed}
            cells.append(Cell(requests, over=("streed",), under="lognormal", part="against STreeD without weights"))
    targets = [
        Target("real weights cost at most 1.3 times the unweighted fit on raw columns", at_most(1.3, "raw")),
        Target("and at most 2.5 times on two-valued ones", at_most(2.5, "two-valued")),
        Target("and on continuous ones", _reported_ratios("continuous")),
        Target(
            "weighted two-valued fits at least 2 times faster than STreeD's unweighted ones",
            at_least(None, 2, "against STreeD without weights"),
        ),
    ]
    return Suite("weights", "What real-valued (log-normal) weights cost", cells, targets)


def threads(quick: bool, seconds: float) -> Suite:
    grid = [("compas", 4, 0.001)] if quick else [
        ("compas", 5, 0.001), ("broward", 4, 0.01), ("german", 5, 0.005), ("coupon", 5, 0.005),
        ("two-valued-0.3", 5, 0.005),
    ]  # fmt: skip
    cells = []
    for table, depth, penalty in grid:
        requests = {
            f"{n} threads" if n > 1 else "1 thread": Request(
                "certree", table, depth, penalty, time_limit=seconds, options={"n_jobs": n}
            )
            for n in (1, 2)
        }
        cells.append(Cell(requests, over=("1 thread",), under="2 threads"))

    def judge(rows: list[Row]) -> tuple[str, bool]:
        long = [row for row in rows if row.measurements and row.measurements["1 thread"].seconds > 2]
        return at_least(None, 1.6)(long)

    targets = [
        Target("two threads at least 1.6 times one, on problems over 2 s", judge),
        Target("the same objective for any number of threads", _same_objective),
    ]
    return Suite("threads", "Two threads", cells, targets)


def limits(quick: bool, seconds: float) -> Suite:  # noqa: ARG001
    long = ("continuous-balanced-10k", 4, 0.0001)
    cells = []

    def add(part: str, table: str, depth: int, penalty: float, **request: object) -> None:
        ours = Request("certree", table, depth, penalty, **request)  # type: ignore[arg-type]
        cells.append(Cell({"certree": ours}, part=part))

    for limit in (0.5, 2.0) if quick else (0.1, 0.5, 2.0, 20.0):
        add("time", *long, time_limit=limit)
        if not quick:
            add("time", "fico", 4, 0.0005, time_limit=limit)
            add("time", "two-valued-0.5", 7, 0.0005, time_limit=limit)
            add("time", "broward", 5, 0.0005, time_limit=limit, options={"n_jobs": 2})
    # Small subproblems by the million: what is remembered of them soon reaches these limits.
    for megabytes in (5,) if quick else (5, 20):
        options = {"memory_limit": megabytes * MEGABYTE}
        add("memory", "two-valued-few", 9, 0.0001, time_limit=5.0 if quick else 20.0, options=options)
    for megabytes in () if quick else (100, 400):
        options = {"memory_limit": megabytes * MEGABYTE}
        add("memory", *long, time_limit=10.0, options=options)
        add("memory", "broward", 5, 0.0005, time_limit=10.0, options=options)
    add("interrupt", *long, interrupt_after=1.0, time_limit=30.0)
    if not quick:
        add("interrupt", "fico", 4, 0.0005, interrupt_after=1.0, time_limit=30.0)
        add("interrupt", "broward", 5, 0.0005, interrupt_after=1.0, time_limit=30.0, options={"n_jobs": 2})
    add("peak", "compas", 4, 0.001, time_limit=60.0)
    if not quick:
        add("peak", "compas", 4, 0.0005, time_limit=60.0)

    targets = [
        Target("a time limit is kept within 0.2 s or 2 %, whichever is larger", _time_kept),
        Target("memory_limit is kept within 10 %", _memory_kept),
        Target("an interrupt answers within 0.2 s", _interrupt_answered),
        Target("peak memory of the process on COMPAS depth 4 below 500 MB", _peak_below),
    ]
    return Suite("limits", "Limits and memory", cells, targets, most_repeats=1)


def _of_part(rows: list[Row], part: str) -> list[tuple[Request, Measurement]]:
    return [
        (row.cell.subject, row.measurements["certree"]) for row in rows if row.cell.part == part and row.measurements
    ]


def _time_kept(rows: list[Row]) -> tuple[str, bool]:
    # One that was ended from outside ("timeout") has not kept its limit at all.
    stopped = [(r, m if m.status == "time_limit" else replace(m, seconds=math.inf)) for r, m in _of_part(rows, "time")]
    stopped = [(r, m) for r, m in stopped if m.status in ("time_limit", "timeout", "failed")]
    over = [(m.seconds - (r.time_limit or 0), max(0.2, 0.02 * (r.time_limit or 0))) for r, m in stopped]
    if not over:
        return "nothing reached its limit", False
    worst = max(excess for excess, _ in over)
    return f"latest {worst:.2f} s over, {len(over)} stops", all(excess <= allowed for excess, allowed in over)


def _memory_kept(rows: list[Row]) -> tuple[str, bool]:
    shares = [memory_growth(m) * MEGABYTE / r.options["memory_limit"] for r, m in _of_part(rows, "memory")]
    return f"at most {max(shares, default=math.nan):.0%} of the limit", bool(shares) and max(shares) <= 1.1


def memory_growth(measurement: Measurement) -> float:
    """Megabytes at the process's peak over what it held before the fit; infinite where it did not live to tell."""
    return measurement.notes.get("peak_megabytes", math.inf) - measurement.notes.get("held_megabytes", 0.0)


def _interrupt_answered(rows: list[Row]) -> tuple[str, bool]:
    found = [m for _, m in _of_part(rows, "interrupt")]
    waits = [m.notes.get("interrupt_seconds", math.nan) for m in found]
    enough = bool(found) and all(m.status == "interrupted" for m in found) and all(wait <= 0.2 for wait in waits)
    return f"slowest {max(waits, default=math.nan):.2f} s, {len(waits)} interrupts", enough


def _peak_below(rows: list[Row]) -> tuple[str, bool]:
    peaks = [m.notes.get("peak_megabytes", math.inf) for _, m in _of_part(rows, "peak")]
    return f"{max(peaks, default=math.nan):.0f} MB", bool(peaks) and max(peaks) < 500


SUITES: dict[str, Callable[[bool, float], Suite]] = {
    suite.__name__: suite for suite in (raw, hard, continuous, binary, fit, weights, threads, limits)
}
"""The suites of the engine; `benchmarks.weighing` has those of the paper's ways to weigh and guesses."""
