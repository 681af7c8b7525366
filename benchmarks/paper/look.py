"""The rows: means over splits by method and setting, pairs of methods, and the rules by which claims are judged."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

Row = dict[str, str]
PAPERS = "direct, guessed"
"""What the paper draws as its own method."""
GREEDY = "CART"
DL85 = ("DL8.5", "DL8.5 (pytrees-rs)")
THEN = (GREEDY, *DL85)
"""Whom the paper compares its trees with."""
NO_FITS = ("weights", "printed")
NO_TREES = ("boosting", *NO_FITS)
OURS = ("direct", "duplicate", "sample", "rows")
TOLERANCE = 1e-9
LEAST_SECONDS = 1e-4
"""Shorter times are not told apart."""
SHOWN = {
    "lalonde": "Lalonde", "broward": "Broward", "coupon": "Coupon", "diabetes": "Diabetes", "compas": "COMPAS",
    "fico": "FICO", "netherlands": "Netherlands", "netherlands-20000": "Netherlands (20,000 rows)",
}  # fmt: skip
"""How sets are named in text."""


@dataclass(frozen=True)
class Point:
    """A method with its setting, over splits."""

    method: str
    setting: tuple[str, ...]
    mean: dict[str, float]
    error: dict[str, float]
    """Standard deviations over splits."""
    splits: int
    is_ended: bool
    """Whether a limit ended the search on some split."""


def number(row: Row, name: str) -> float:
    return float(row[name]) if row[name] else math.nan


def of(rows: Iterable[Row], **fields: str) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def names(rows: Iterable[Row], field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))


def has_tree(row: Row) -> bool:
    return bool(row["train"])


def is_ended(row: Row) -> bool:
    """Whether a limit ended the search, with a tree or without one."""
    return row["status"] in ("time_limit", "timeout", "memory")


def is_ours(method: str) -> bool:
    return method.partition(",")[0] in OURS


FIGURES = ("leaves", "train", "test", "cpu", "train_plain", "test_plain", "objective")


def average(rows: Iterable[Row], setting: tuple[str, ...] = ("depth", "penalty")) -> list[Point]:
    """One point per method and setting."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if has_tree(row):
            groups[(row["method"], *(row[name] for name in setting))].append(row)
    points = []
    for (method, *values), own in groups.items():
        found = {name: [number(row, name) for row in own if row[name]] for name in FIGURES}
        means = {name: statistics.fmean(them) if them else math.nan for name, them in found.items()}
        errors = {name: statistics.stdev(them) if len(them) > 1 else 0.0 for name, them in found.items()}
        points.append(Point(method, tuple(values), means, errors, len(own), any(map(is_ended, own))))
    return points


def seconds(row: Row) -> float:
    return max(number(row, "cpu"), LEAST_SECONDS)


def prepared(row: Row) -> float:
    """What the guess of thresholds and the reference model took, once per split."""
    return number(row, "prepare") if row["prepare"] else 0.0


def geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def say_depths(depths: Iterable[str]) -> str:
    """Such as "2 to 5" or "2, 3"; 0 is no limit."""
    known = sorted(set(map(int, depths)))
    if known == [0]:
        return "no limit"
    is_range = len(known) > 2 and known == list(range(known[0], known[-1] + 1))
    return f"{known[0]} to {known[-1]}" if is_range else ", ".join(map(str, known))


def count(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def signed(value: float, digits: int = 2) -> str:
    """With its sign, and without one where nothing is left of it."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{digits}f}") == 0.0 else text


# Verdicts -------------------------------------------------------------------------------------------------------------

# The page states these rules: whoever changes one changes page.md.
EVERY = 0.95
"""Of the cells: a claim about every case holds in so many."""
ALMOST_EVERY = 0.85
PART = 0.6
"""Of the cells, in which a claim holds in part."""
LITTLE = 0.9
"""Of the time: more than a tenth must be saved to be called faster."""
ALMOST = 1.5
"""Half as long again is not almost the same time."""
CLOSE = 0.01
"""Of the optimum: what an objective may exceed it by and be called close."""
MUCH = 0.005
"""Of the accuracy: half a point is not lost without losing much."""


@dataclass(frozen=True)
class Finding:
    """What the paper says, what is found, and whether that is the same."""

    paper: str
    found: str
    verdict: str
    """ "confirmed", "confirmed in part", "not confirmed" or "not measured"."""
    table: tuple[str, ...] = ()
    """Figures that are shown below what is found."""


def judge(holds: bool) -> str:
    return "confirmed" if holds else "not confirmed"


def verdict(share: float, enough: float = EVERY) -> str:
    if math.isnan(share):
        return "not measured"
    return "confirmed" if share >= enough else "confirmed in part" if share >= PART else "not confirmed"


def combine(parts: Iterable[str]) -> str:
    """A claim of several parts is confirmed in part where they differ; those that are not measured say nothing."""
    known = {part for part in parts if part != "not measured"}
    return known.pop() if len(known) == 1 else "confirmed in part" if known else "not measured"


def unmeasured(paper: str) -> Finding:
    return Finding(paper, "Not measured yet.", "not measured")


def share_of(count: int, total: int) -> float:
    return count / total if total else math.nan


def pair_up(rows: list[Row], first: str, second: str) -> list[tuple[Row, Row]]:
    """Rows of two methods on the same set, split, depth and penalty, with a tree or ended by a limit.

    A method without a penalty is paired with every penalty of the first.
    """
    fields = ("set", "split", "depth", "penalty", "percent")
    has_penalty = any(row["penalty"] != "0" for row in of(rows, method=second))
    used = fields if has_penalty else ("set", "split", "depth", "percent")
    others = {tuple(row[name] for name in used): row for row in of(rows, method=second)}
    pairs = [(row, others.get(tuple(row[name] for name in used))) for row in of(rows, method=first)]
    return [
        (row, other)
        for row, other in pairs
        if other is not None and all(has_tree(one) or is_ended(one) for one in (row, other))
    ]


def same_settings(rows: list[Row], first: str, second: str) -> list[tuple[Row, Row]]:
    """Trees of two methods on the same set, split, depth and penalty."""
    return [pair for pair in pair_up(rows, first, second) if all(map(has_tree, pair))]
