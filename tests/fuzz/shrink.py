"""Takes away from a failing case whatever its failure does not need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .case import Case


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 20.0) -> Case:
    """A smaller case that still fails; `fails` says whether a case does."""
    end = time.monotonic() + seconds
    has_shrunk = True
    while has_shrunk and time.monotonic() < end:
        has_shrunk = False
        for smaller in _smaller(case):
            if time.monotonic() < end and fails(smaller):
                case, has_shrunk = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with a little less, the largest steps first."""
    n_rows = case.n_rows
    step = n_rows // 2
    while step >= 1:
        for start in range(0, n_rows, step):
            kept = [row for row in range(n_rows) if not start <= row < start + step]
            if kept:
                yield case.take(kept)
        step //= 2
    if len(case.columns) > 1:
        for name in case.columns:
            yield case.without(name)
    if case.rows.get("weights") is not None:
        yield replace(case, rows={**case.rows, "weights": None})
    for name in set(case.settings) - {"max_depth", "regularization", "budget"}:
        yield replace(case, settings={key: value for key, value in case.settings.items() if key != name})
    if case.settings.get("max_depth", 0) > 0:
        yield replace(case, settings={**case.settings, "max_depth": case.settings["max_depth"] - 1})
    if case.settings.get("regularization", 0.0) != 0.0:
        yield replace(case, settings={**case.settings, "regularization": 0.0})
    if case.extras.get("twice"):
        yield replace(case, extras={**case.extras, "twice": False})
    for name, entries in case.rows.items():
        for row, entry in enumerate(entries or ()):
            if isinstance(entry, float) and entry not in (0.0, 1.0):
                for plain in (0.0, 1.0, float(round(entry)) if abs(entry) < 1e9 else 1.0):
                    if plain != entry:
                        changed = [plain if place == row else other for place, other in enumerate(entries)]
                        yield replace(case, rows={**case.rows, name: changed})
