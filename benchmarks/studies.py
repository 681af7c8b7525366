"""Studies: what simulations and whole analyses show, where no race between solvers would.

A study is a function of (quick, seconds) that returns its table and what it found of its targets; `report.write_study`
puts it beside the suites, in the same summary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """A target, what was found, and whether that is enough."""

    target: str
    found: str
    is_met: bool | None
    """None where nothing was asked for but a report."""


@dataclass(frozen=True)
class Study:
    """What a study found."""

    name: str
    title: str
    verdicts: list[Verdict]
    lines: list[str]
    """Its table and the words around it, as Markdown."""
    figures: list[dict[str, Any]]
    """The same as plain data."""


MakeStudy = Callable[[bool, float], Study]


def tabulate(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
