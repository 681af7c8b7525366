"""The best tree that begins with a start: the best completion of each of its leaves.

Given λ and the depth that is left, what grows at one leaf of the start does not matter for what grows at another. So
the objective of the best tree is the sum of those of the parts, and so is what no tree is below. Only `max_leaves`
binds them together: where the best completions have too many leaves in all, the best ones of every size are found, and
leaves are shared out so that the sum is least. What comes back is what the engine would say of a whole problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.limits import Clock, Limits
from certree.problem import Part, Problem
from certree.start import Branch

Array = NDArray[Any]
Found = Mapping[str, Any]
"""What the engine says of a problem."""
Progress = Callable[[float, float, float], None]
Ask = Callable[[Problem, Limits, Array | None, Progress | None], dict[str, Any]]
"""The engine: problem, limits, costs of a reference and progress in, what it found out."""

ENDS = ("interrupted", "time_limit", "memory_limit", "guessed", "optimal")
"""The status of the whole is the first of these that a part has."""


def complete_start(
    problem: Problem, limits: Limits, reference_costs: Array | None, show: Progress | None, ask: Ask
) -> dict[str, Any]:
    """The best completion of the problem's start, or the best one that the limits allow."""
    search = _Completion(problem, limits, reference_costs, show, ask)
    chosen, lower = search.run()
    seen = list(search.answers.values())
    loosest = [search.answers[place, None] for place in range(len(chosen))]
    statistics: dict[str, Any] = {
        "merged_rows": sum(int(found["statistics"]["merged_rows"]) for found in loosest),
        "tests": max(int(found["statistics"]["tests"]) for found in loosest),
        "parts": len(chosen),
        "searches": len(seen),
    }
    for name in ("subproblems", "expansions", "probes", "cache_hits", "engine_seconds"):
        statistics[name] = sum(found["statistics"].get(name, 0) for found in seen)
    status = min((found["status"] for found in seen), key=ENDS.index)
    upper = math.fsum(found["upper"] for found in chosen)
    return {
        **_join(problem, chosen),
        "upper": upper,
        "lower": upper if status == "optimal" else min(lower, upper),
        "status": status,
        "rounding": math.fsum(found["rounding"] for found in loosest),
        "statistics": statistics,
    }


class _Completion:
    """The searches that a start takes."""

    def __init__(
        self, problem: Problem, limits: Limits, reference_costs: Array | None, show: Progress | None, ask: Ask
    ) -> None:
        self.parts: Sequence[Part] = problem.parts
        self.most_leaves = problem.max_leaves
        self.clock, self.reference_costs, self.show, self.ask = Clock(limits), reference_costs, show, ask
        self.answers: dict[tuple[int, int | None], Found] = {}
        """By part and its limit of leaves; None is the loosest that it can have."""

    def run(self) -> tuple[list[Found], float]:
        """What is chosen for each part, and what no completion is below."""
        # The smallest first: what they leave of the time goes to the larger ones.
        order = sorted(range(len(self.parts)), key=lambda place: len(self.parts[place].leaf.rows))
        share = 1.0 if self.most_leaves is None else 0.5  # the other half is for sharing out leaves
        for turn, place in enumerate(order):
            self._answer(place, None, share / (len(order) - turn))
        loosest = [self.answers[place, None] for place in range(len(self.parts))]
        lower = math.fsum(found["lower"] for found in loosest)
        if self.most_leaves is None or sum(map(count_leaves, loosest)) <= self.most_leaves:
            return loosest, lower
        sizes = [range(1, count_leaves(found)) for found in loosest]
        n_left = sum(map(len, sizes))
        for place in order:
            for size in sizes[place]:
                self._answer(place, size, 1 / n_left)
                n_left -= 1
        choices = [
            [(size, self.answers[place, size]) for size in sizes[place]] + [(count_leaves(loosest[place]), found)]
            for place, found in enumerate(loosest)
        ]
        chosen, _ = share_leaves(choices, int(self.most_leaves), "upper")
        _, known = share_leaves(choices, int(self.most_leaves), "lower")
        return chosen, max(lower, known)

    def _answer(self, place: int, size: int | None, share: float) -> None:
        part = self.parts[place]
        target = part.problem if size is None else part.limited(size)
        costs = None if self.reference_costs is None else np.ascontiguousarray(self.reference_costs[part.leaf.rows])
        found = self.ask(target, self.clock.left(share), costs, self._progress(place) if size is None else None)
        if found["status"] == "interrupted":
            self.clock.stop()  # Ctrl-C is meant for the whole: what is left is answered without a search
        self.answers[place, size] = found

    def _progress(self, place: int) -> Progress | None:
        """Shows sums over the parts that were asked so far."""
        if self.show is None:
            return None
        show, done = self.show, [found for (own, _), found in self.answers.items() if own != place]

        def show_sum(elapsed: float, upper: float, lower: float) -> None:
            show(
                elapsed,
                upper + math.fsum(found["upper"] for found in done),
                lower + math.fsum(found["lower"] for found in done),
            )

        return show_sum


def count_leaves(found: Found) -> int:
    return int(np.count_nonzero(found["axis"] < 0))


def share_leaves(
    choices: Sequence[Sequence[tuple[int, Found]]], most: int, name: Literal["upper", "lower"]
) -> tuple[list[Found], float]:
    """One answer for each part, of at most so many leaves in all, with the least sum."""
    best: dict[int, tuple[float, list[Found]]] = {0: (0.0, [])}
    for own in choices:
        longer: dict[int, tuple[float, list[Found]]] = {}
        for used, (cost, chosen) in best.items():
            for size, found in own:
                total = cost + found[name]
                if used + size <= most and total < longer.get(used + size, (math.inf,))[0]:
                    longer[used + size] = total, [*chosen, found]
        best = longer
    return min(((chosen, cost) for cost, chosen in best.values()), key=lambda pair: pair[1])


def _join(problem: Problem, chosen: Sequence[Found]) -> dict[str, Array]:
    """The arrays of the whole tree: the tests of the start, and a part at each of its leaves."""
    nodes: dict[str, list[int]] = {"axis": [], "code": [], "left": [], "right": []}
    waiting, asked = list(reversed(chosen)), iter(range(len(problem.features.axes), 2**31))

    def add(side: Branch | Literal["open", "leaf"]) -> int:
        place = len(nodes["axis"])
        if isinstance(side, Branch):
            for name, value in (("axis", next(asked)), ("code", 0), ("left", -1), ("right", -1)):
                nodes[name].append(value)
            nodes["left"][place] = add(side.left)
            nodes["right"][place] = add(side.right)
            return place
        found = waiting.pop()
        for name in ("axis", "code"):
            nodes[name] += found[name].tolist()
        for name in ("left", "right"):
            nodes[name] += [child + place if child >= 0 else -1 for child in found[name].tolist()]
        return place

    assert problem.start is not None
    add(problem.start)
    return {name: np.array(values) for name, values in nodes.items()}
