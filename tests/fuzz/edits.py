"""Families of edits: a start, forbidden columns and tests, and sets of good trees that obey them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from certree import IdleTestWarning, certify, good_trees

from .brute import Rules, list_tests, list_trees, whole_numbers
from .case import Case, Cell, pick
from .classifiers import KINDS, draw_labelled, fit, truth_of
from .truth import close, expect

Edit = tuple[str, Cell, bool]
"""A test: its column, the value that it compares with (None asks what is missing), and whether a missing value goes
along."""


def draw_edited(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, KINDS)
    start: Any = None
    if rng.random() < 0.75:
        start = [draw_test(rng, case), pick(rng, (None, None, "leaf")), None]
        if rng.random() < 0.3:
            start[2] = [draw_test(rng, case), None, pick(rng, (None, "leaf"))]
    forbidden: list[Any] = []
    for _ in range(int(rng.integers(0, 4))):
        forbidden.append(pick(rng, list(case.columns)) if rng.random() < 0.2 else draw_test(rng, case))
    tolerance = float(pick(rng, (0.0, 0.01, 0.1, 0.3)))
    extras = {**case.extras, "table": "pandas", "start": start, "forbidden": forbidden, "tolerance": tolerance}
    # Every tree is written down, so none is deep; deeper ones are the business of tests/test_edits.py.
    return replace(case, settings={**case.settings, "max_depth": min(case.settings["max_depth"], 2)}, extras=extras)


def draw_test(rng: np.random.Generator, case: Case) -> Edit:
    name = pick(rng, list(case.columns))
    return name, pick(rng, list(case.columns[name])), bool(rng.random() < 0.3)


def write(test: Edit) -> str:
    """The test as somebody would write it."""
    name, value, is_left = test
    if value is None:
        return f"{name} is missing"
    if isinstance(value, (bool, str)):
        return f"{name} == {value!r}"
    return f"{name} <= {value!r}{' or missing' if is_left else ''}"


def rows_where(test: Edit, columns: Any) -> int:
    name, value, is_left = test
    holds = []
    for cell in columns[name]:
        if cell is None or value is None:
            holds.append(cell is None and (value is None or (is_left and not isinstance(value, (bool, str)))))
        else:
            holds.append(cell == value if isinstance(value, (bool, str)) else cell <= value)
    return sum(1 << row for row, does in enumerate(holds) if does)


def write_start(start: Any) -> Any:
    if start is None or isinstance(start, str):
        return start
    return {"test": write(start[0]), "left": write_start(start[1]), "right": write_start(start[2])}


def list_edited(case: Case, rules: Rules) -> list[tuple[int, ...]] | None:
    """Every tree that obeys, as the rows of its leaves; None where the edits contradict each other or the limits."""
    everything = (1 << case.n_rows) - 1
    start, forbidden = case.extras["start"], case.extras["forbidden"]
    gone = [(test[0], rows_where(test, case.columns)) for test in forbidden if not isinstance(test, str)]

    def is_forbidden(name: str, rows: int) -> bool:
        return name in forbidden or (name, rows) in gone or (name, everything & ~rows) in gone

    tests = [
        rows for name, cells in case.columns.items() for rows in list_tests({name: cells})
        if not is_forbidden(name, rows)
    ]  # fmt: skip

    def grow(side: Any, rows: int, depth: int) -> list[tuple[int, ...]] | None:
        if side is None or side == "leaf":
            return list(list_trees(rows, 0 if side == "leaf" else depth, tests)) if depth >= 0 and rows else None
        holds = rows_where(side[0], case.columns)
        if is_forbidden(side[0][0], holds):
            return None
        sides = grow(side[1], rows & holds, depth - 1), grow(side[2], rows & ~holds, depth - 1)
        if sides[0] is None or sides[1] is None:
            return None
        return [left + right for left, right in product(*sides)]

    found = grow(start, everything, rules.depth)
    exact = [Fraction(weight) for weight in case.weights]
    is_allowed = cache(lambda leaf: rules.allows(leaf, exact))
    kept = [
        tree for tree in found or ()
        if (len(tree) == 1 and start is None)
        or ((rules.leaves is None or len(tree) <= rules.leaves) and all(map(is_allowed, tree)))
    ]  # fmt: skip
    return kept or None


def best_edited(case: Case, rules: Rules, costs: Sequence[Sequence[Fraction]], penalty: Fraction) -> Fraction | None:
    trees = list_edited(case, rules)
    if trees is None:
        return None
    amounts, unit = whole_numbers(costs)
    total = sum(map(Fraction, case.weights), Fraction(0))
    cheapest = cache(lambda leaf: min(
        sum(row[label] for place, row in enumerate(amounts) if leaf >> place & 1) for label in range(len(amounts[0]))
    ))  # fmt: skip
    return min(sum(map(cheapest, tree)) * unit / total + penalty * len(tree) for tree in trees)


def check_edited(case: Case) -> None:
    """The best tree that obeys, its certificate, and the best of the set of good trees; a contradiction is an error."""
    warnings.simplefilter("ignore", IdleTestWarning)  # tests are drawn without a look at the rows
    truth = truth_of(case)
    edits = {
        "start": write_start(case.extras["start"]),
        "forbidden": [test if isinstance(test, str) else write(test) for test in case.extras["forbidden"]] or None,
    }
    own = replace(truth.case, extras=case.extras)
    best = best_edited(own, truth.rules, truth.costs, truth.penalty)
    edited = replace(case, settings={**case.settings, **edits})
    try:
        model = fit(edited)
    except ValueError as error:
        # A column without any value is read as numbers, whatever its cells might have been.
        is_bare = any(all(cell is None for cell in cells) for cells in own.columns.values())
        is_refused = "start" in str(error) or (is_bare and "compare it by" in str(error))
        expect(best is None or (is_bare and is_refused), f"refused, but the best tree has {best}: {error}")
        expect(is_refused, str(error))
        return
    expect(best is not None, "a tree was found where none obeys")
    assert best is not None
    expect(model.status_ == "optimal", model.status_)
    scale = truth.scale + best
    expect(close(model.objective_, best, scale), f"objective {model.objective_!r}, but {float(best)!r} is best")
    y, weights = case.array("y"), case.array("weights")
    verdict = certify.check(model.certificate_, model.tree_, case.X, y, weights)
    expect(verdict.holds, f"the certificate does not hold: {verdict.failures}")
    settings = {name: value for name, value in edited.settings.items() if name not in ("method", "reference")}
    try:
        found = good_trees(case.X, y, weights, tolerance=case.extras["tolerance"], **settings)
    except ValueError as error:
        expect("tolerance" in str(error), f"the set was refused: {error}")
        return
    # The optimum of a set is a whole number of units, of which all costs together have 2^56.
    expect(close(found.optimum, best, 1 + best), f"the set has the optimum {found.optimum!r}, not {float(best)!r}")
    trees = [member.tree for member in found[:20]]
    verdict_of_set = certify.check_set(found.certificate_, trees, case.X, y, weights)
    expect(verdict_of_set.holds, f"the certificate of the set does not hold: {verdict_of_set.failures}")
