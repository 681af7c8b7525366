"""Plans: which data sets, methods, depths, penalties and splits are measured, as TOML.

A plan lists its sets with their penalties, and grids of cells; methods.toml says what the name of a method stands for.
Cells come tier by tier, split by split within a tier, and grid by grid within a split: a run that is stopped has
something to say about every set.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
WHOLE = -1
"""The split of a cell that uses all rows, and has none left to be tested on."""


@dataclass(frozen=True)
class Method:
    """A contender and how it is asked."""

    name: str
    contender: str
    tests: str = "all"
    """ "all", or "guessed": only the thresholds that a boosted model needs."""
    is_copied: bool = False
    """Whether rows are copied, even if the contender takes weights."""
    has_reference: bool = False
    has_penalty: bool = True
    has_depth: bool = True
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """What a fit may take."""

    seconds: float
    """Of processor time."""
    patience: float
    """So many times as many seconds may pass."""
    gigabytes: float


@dataclass(frozen=True)
class Cell:
    """One fit."""

    study: str
    """The figure that it is part of."""
    table: str
    method: Method
    depth: int
    penalty: float
    split: int
    percent: float
    """The size of the sample, or the share of rows that are doubled; not a number elsewhere."""
    limits: Limits
    tier: int
    """Cells of a lower tier run first, on all splits."""
    copies: int
    """The heaviest row's number of copies, for contenders that take no weights."""

    @property
    def key(self) -> tuple[str, ...]:
        percent = "" if math.isnan(self.percent) else f"{self.percent:g}"
        return (
            self.study, self.table, self.method.name, str(self.depth), f"{self.penalty:g}", percent, str(self.split)
        )  # fmt: skip

    def __str__(self) -> str:
        parts = [self.study, self.table, self.method.name]
        parts += [f"depth {self.depth}"] if self.method.has_depth else []
        parts += [f"λ {self.penalty:g}"] if self.method.has_penalty else []
        parts += [] if math.isnan(self.percent) else [f"{self.percent:g} %"]
        return " ".join([*parts, "all rows" if self.split == WHOLE else f"split {self.split + 1}"])


@dataclass(frozen=True)
class Plan:
    name: str
    cells: list[Cell]


def read_plan(name: str) -> Plan:
    """A plan of this project by its name, or any other by its path."""
    path = HERE / "plans" / f"{name}.toml" if name.isidentifier() else Path(name)
    if not path.is_file():
        known = ", ".join(sorted(own.stem for own in (HERE / "plans").glob("*.toml")))
        raise SystemExit(f"there is no plan {name!r}; there are {known}, or the path of a TOML file")
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    methods = read_methods() | _methods(written.get("methods", {}))
    cells = [cell for grid in written["grids"] for cell in _grid(grid, written, methods)]
    keys = [cell.key for cell in cells]
    twice = {key for key in keys if keys.count(key) > 1} if len(set(keys)) < len(keys) else set()
    if twice:
        raise SystemExit(f"{path.name} asks twice for {' '.join(min(twice))}")
    cells.sort(key=lambda cell: (cell.tier, cell.split))
    return Plan(path.stem, cells)


def read_methods() -> dict[str, Method]:
    return _methods(tomllib.loads((HERE / "methods.toml").read_text(encoding="utf-8")))


def _methods(written: dict[str, Any]) -> dict[str, Method]:
    return {name: Method(name, **fields) for name, fields in written.items()}


def _grid(grid: dict[str, Any], plan: dict[str, Any], methods: dict[str, Method]) -> list[Cell]:
    sets, limits = plan["sets"], plan["limits"] | grid.get("limits", {})
    cells: dict[tuple[str, ...], Cell] = {}
    axes = product(grid["sets"], grid["methods"], grid["depths"], grid.get("percents", [math.nan]), grid["splits"])
    for table, name, depth, percent, split in axes:
        method, own = methods[name], sets[table]
        for penalty in _penalties(grid["penalties"], own["penalties"]):
            cell = Cell(
                grid["study"], table, method,
                depth if method.has_depth else 0,
                penalty if method.has_penalty else 0.0,
                split, percent, Limits(**limits), grid.get("tier", 1), own.get("copies", 10),
            )  # fmt: skip
            # What a method does not have is not varied.
            cells[cell.key] = cell
    return list(cells.values())


def _penalties(asked: str | list[float], own: list[float]) -> list[float]:
    """All penalties of a set, a few of them ("ends", "middle"), or those that the grid names."""
    if isinstance(asked, list):
        return asked
    return {"all": own, "ends": [own[0], own[-1]], "middle": [own[len(own) // 2]], "last": [own[-1]]}[asked]
