"""One cell: a fit on the rows of a split, judged on them and on the rows that were held back.

What is judged is the same for everybody: predictions on the true rows with their true weights, whatever copies,
counts or draws a method has learned from.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.adapters import CONTENDERS, Outcome, objective, use_clock
from benchmarks.paper.plan import Cell
from benchmarks.paper.prepare import Split, double_rows, take_split
from benchmarks.paper.sets import Floats
from benchmarks.tables import load
from benchmarks.worker import held_megabytes, peak_megabytes

SETTLED_SECONDS = 0.1
MOST_FITS = 10
"""Short fits are repeated, because a processor's clock may tick in milliseconds."""
HISTOGRAM_BINS = 30
Fit = Callable[[], Outcome]


def take(cell: Cell) -> Split:
    if cell.study == "duplication":
        return double_rows(cell.table, cell.percent, cell.split)
    return take_split(cell.table, cell.split)


def prepare(cell: Cell, limit: float) -> Callable[[Callable[[], None]], dict[str, Any]]:
    """All that the cell needs and what is left to do, with a limit in seconds by the clock.

    What is returned runs in the process of the cell, and calls its argument right before the fit that counts.
    """
    split = take(cell)
    if cell.method.contender == "histogram":
        return partial(_describe_weights, split)
    if cell.method.contender == "printed":
        return partial(_judge_printed, cell, split)
    contender, method, seconds = CONTENDERS[cell.method.contender], cell.method, 0.0
    options, table, ask = dict(method.options), split.table, _as_it_is
    if method.tests == "guessed":
        guess, seconds = split.guess
        if contender.package == "certree":
            options["thresholds"] = guess
        else:
            table, ask = split.tests, split.ask
    if method.has_reference:
        options["reference"], spent = split.reference
        seconds += spent
    if options.get("method") == "sample":
        # A seed of its own for every split, so that draws are part of what varies between splits.
        options |= {"random_state": cell.split + 1, "sample_ratio": _ratio(cell.percent)}
    weights: Floats | None = split.weights
    if options.get("method") == "duplicate":
        options["duplication"] = _copies(cell, split)
    if method.is_copied or not contender.knows_weights:
        if method.has_reference:
            raise ValueError(f"{method.name}: a reference has a label per row, and rows are copied")
        table, weights = split.copied(table, _copies(cell, split)), None
    fit = partial(contender.fit, table, cell.depth, cell.penalty, weights, limit, **options)
    return partial(_carry_out, cell, split, ask, fit, seconds)


def _as_it_is(X: Floats) -> Floats:
    return X


def _ratio(percent: float) -> float:
    """Draws per row; three where the plan says nothing."""
    return 3.0 if math.isnan(percent) else percent / 100


def _copies(cell: Cell, split: Split) -> int:
    """Of the heaviest row. Doubled rows are whole numbers as they are."""
    if cell.study == "duplication":
        return int(split.weights.max())
    return 100 if cell.method.options.get("method") == "duplicate" else cell.copies


def _carry_out(
    cell: Cell, split: Split, ask: Callable[[Floats], Floats], fit: Fit, seconds: float, begin: Callable[[], None]
) -> dict[str, Any]:
    _warm_up(cell)
    marks: list[tuple[float, float]] = []

    def tick() -> float:
        marks.append((time.process_time(), time.perf_counter()))
        return marks[-1][0]

    use_clock(tick)
    held_megabytes()  # From here on the peak counts anew.
    begin()
    outcomes: list[Outcome] = []
    walls: list[float] = []
    with threadpool_limits(1):
        while not outcomes or (len(outcomes) < MOST_FITS and sum(walls) < SETTLED_SECONDS):
            outcomes.append(fit())
            walls.append(marks[-1][1] - marks[-2][1])
    found = outcomes[0]
    assert found.predict is not None
    row = {
        "status": found.status,
        "cpu": statistics.mean(outcome.seconds for outcome in outcomes),
        "wall": statistics.median(walls),
        "prepare": seconds,
        "leaves": found.leaves,
        "megabytes": peak_megabytes(),
    }
    learned = np.asarray(found.predict(ask(split.table.X)))
    row["objective"] = objective(split.table, learned, found.leaves, cell.penalty, split.weights)
    row["lower"] = found.notes.get("lower", math.nan)
    row["train"], row["train_plain"] = _accuracy(learned, split.table.y, split.weights)
    if len(split.tested):
        data, tested = split.data, split.tested
        answers = np.asarray(found.predict(ask(data.X[tested])))
        row["test"], row["test_plain"] = _accuracy(answers, data.y[tested], data.weights[tested])
    if cell.study == "case study" and found.tree is not None:
        row["detail"] = write_tree(found.tree, split.data.columns)
    return row


def _warm_up(cell: Cell) -> None:
    """A tiny fit, so that imports and first calls are not measured."""
    tiny = load("tiny")
    CONTENDERS[cell.method.contender].fit(tiny, 2, max(cell.penalty, 0.001), None, 10.0)


def _accuracy(answers: Any, y: Any, weights: Floats) -> tuple[float, float]:
    """The share of the weight, and of the rows, that is labelled rightly."""
    is_right = answers == y
    return float(weights[is_right].sum() / weights.sum()), float(is_right.mean())


def _describe_weights(split: Split, begin: Callable[[], None]) -> dict[str, Any]:
    begin()
    weights = split.weights
    counts, edges = np.histogram(weights, HISTOGRAM_BINS)
    detail = {"from": float(edges[0]), "to": float(edges[-1]), "counts": counts.tolist()}
    return {"status": "described", "detail": detail}


def _judge_printed(cell: Cell, split: Split, begin: Callable[[], None]) -> dict[str, Any]:
    """How well a tree that the paper prints does on the rows that are used here."""
    import pandas as pd

    from certree import Problem
    from certree.study.printed import PRINTED, plant

    begin()
    people = pd.DataFrame(split.table.X, columns=list(split.data.columns))
    problem = Problem.from_labels(people, split.table.y, split.weights, regularization=cell.penalty)
    tree = plant(PRINTED[cell.depth], problem)
    answers = tree.label[tree.apply(people)]
    row: dict[str, Any] = {"status": "printed", "leaves": tree.n_leaves}
    row["train"], row["train_plain"] = _accuracy(answers, split.table.y, split.weights)
    return row | {"objective": objective(split.table, answers, row["leaves"], cell.penalty, split.weights)}


def write_tree(tree: Any, columns: tuple[str, ...], node: int = 0) -> Any:
    """A tree as nested lists: [column, threshold, where the test holds, where it does not], or a leaf's label."""
    if tree.is_leaf[node]:
        return int(tree.label[node])
    sides = [write_tree(tree, columns, int(side[node])) for side in (tree.left, tree.right)]
    return [columns[int(tree.column[node])], float(f"{tree.threshold[node]:.6g}"), *sides]
