"""How the rows were measured: on which machines, how far clock and processor differ, and when limits ended searches."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.paper.ledger import key_of
from benchmarks.paper.look import NO_FITS, Row, names, number, of, say_depths
from benchmarks.paper.runner import SURE_SECONDS

BUSY = 1.2
"""So many seconds by the clock per second of processor time are a machine that did something else, too."""


def say_where(rows: list[Row]) -> list[str]:
    """The notes above the rows. Where there are several, also which rows stand below each."""
    notes = names(rows, "note")
    if len(notes) < 2:
        return [f"**Measured on** {''.join(notes) or 'a machine that was not noted'}."]
    own = [of(rows, note=note) for note in notes]
    places = [
        f"  - {note or 'a machine that was not noted'}: {len(these):,} cells, {_say_methods(these)}"
        for note, these in zip(notes, own, strict=True)
    ]
    return [f"**Measured on** {len(notes)} machines, days or runs:", *places]


def _say_methods(rows: list[Row]) -> str:
    groups: dict[str, list[str]] = defaultdict(list)
    for method in (name for name in names(rows, "method") if name not in NO_FITS):
        groups[say_depths(row["depth"] for row in of(rows, method=method))].append(method)
    return "; ".join(f"depth {depths}: {', '.join(f'“{name}”' for name in own)}" for depths, own in groups.items())


def say_pace(rows: list[Row]) -> str:
    """How undisturbed the fits were that take long enough to tell."""
    ratios = [
        number(row, "wall") / number(row, "cpu") for row in rows if row["cpu"] and number(row, "cpu") >= SURE_SECONDS
    ]
    if not ratios:
        return f"No fit took {SURE_SECONDS:g} s, from which on the clock can be compared with them."
    busy = sum(ratio > BUSY for ratio in ratios)
    return (
        f"Of the {len(ratios):,} fits of at least {SURE_SECONDS:g} s, {busy:,} ({busy / len(ratios):.1%}) took more "
        f"than {BUSY:g} times as long by the clock; the median is {statistics.median(ratios):.2f} times."
    )


def say_again(rows: list[Row], again: Sequence[Row]) -> str:
    """How long some of the fits took once more, with the machine to themselves."""
    before = {key_of(row): row for row in rows}
    ratios = sorted(number(row, "cpu") / number(before[key_of(row)], "cpu") for row in again if key_of(row) in before)
    if len(ratios) < 2:
        return ""
    twentieths = statistics.quantiles(ratios, n=20)
    return (
        f" {len(ratios):,} fits of rivals, drawn at random from those of at least "
        f"{min(number(before[key_of(row)], 'cpu') for row in again):.2g} s, were measured again while the machine did "
        f"nothing else: they took {statistics.geometric_mean(ratios):.2f} times as long by geometric mean, and nine in "
        f"ten of them {twentieths[0]:.2f} to {twentieths[-1]:.2f} times."
    )


def say_ends(rows: list[Row]) -> str:
    """The processor time of searches that ended at their limit."""
    ended: dict[float, list[float]] = defaultdict(list)
    for row in of(rows, status="time_limit"):
        ended[number(row, "limit")].append(number(row, "cpu"))
    words = [
        f"{min(own):.1f} to {max(own):.1f} s where the limit was {limit:g} s ({len(own):,} searches, "
        f"{statistics.median(own):.1f} s at the median)"
        for limit, own in sorted(ended.items())
    ]
    return f"Searches that a limit ended took {' and '.join(words)}." if words else "No limit ended a search."
