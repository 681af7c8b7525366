"""The convex hull of points that come one at a time: how fronts of trees and budget curves are walked.

Points are in order along one measure (leaves, spend) and get better in another. A corner of their hull is the best
point at some price of the first measure, and the slopes to its neighbours are the ends of the prices at which it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

Point = TypeVar("Point")


def walk(
    first: Point, last: Point, find_between: Callable[[Sequence[tuple[Point, Point]]], Iterable[Point | None]]
) -> None:
    """Asks for a corner in every gap between neighbours, round by round, until there is none left to find.

    `find_between` takes the gaps of a round, which do not depend on each other. For each of them it solves at the price
    at which both ends are as good: it gives what lies beyond their line, which is a point of the hull, or None where
    nothing does. Whoever asks keeps the points.
    """
    gaps = [(first, last)]
    while gaps:
        gaps = [
            gap
            for (one, two), middle in zip(gaps, find_between(gaps), strict=True)
            if middle is not None
            for gap in ((one, middle), (middle, two))
        ]


def keep_corners(
    points: Iterable[Point],
    slope: Callable[[Point, Point], float],
    is_better: Callable[[Point, Point], bool],
    is_apart: Callable[[Point, Point], bool] = lambda one, two: True,  # noqa: ARG005
) -> list[Point]:
    """Of points in order the corners: each is better than the one before, and by less for every further step.

    `slope(one, two)` is the gain per step, `is_better(one, two)` whether the second gains anything, and `is_apart`
    whether there is a step between them at all.
    """
    corners: list[Point] = []
    for point in points:
        if corners and not is_better(corners[-1], point):
            continue
        if corners and not is_apart(corners[-1], point):
            corners.pop()
        while len(corners) > 1 and not slope(corners[-2], corners[-1]) > slope(corners[-1], point):
            corners.pop()
        corners.append(point)
    return corners


def price_corners(corners: Sequence[Point], slope: Callable[[Point, Point], float]) -> list[tuple[float, float]]:
    """For each corner the prices (low, high) at which it is the best: the first at the highest."""
    slopes = [slope(one, two) for one, two in pairwise(corners)]
    return list(zip([*slopes, 0.0], [math.inf, *slopes], strict=True))


def price_inside(low: float, high: float) -> float:
    """A price inside an interval: the geometric mean of its ends, as is usual for such paths."""
    if math.isinf(high):
        return 2 * low if low > 0 else 1.0
    return math.sqrt(low) * math.sqrt(high) if low > 0 else high / 2
