"""Hulls are those of looking at every price."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise, starmap

import numpy as np
import pytest

from certree.hull import keep_corners, price_corners, price_inside, walk

Point = tuple[int, int]
"""A size, and a loss."""


def slope(one: Point, two: Point) -> float:
    return (one[1] - two[1]) / (two[0] - one[0])


def is_better(one: Point, two: Point) -> bool:
    return two[1] < one[1]


def draw(seed: int) -> list[Point]:
    chance = np.random.default_rng(seed)
    sizes = sorted(chance.choice(30, size=int(chance.integers(1, 12)), replace=False).tolist())
    return [(size, int(chance.integers(0, 40))) for size in sizes]


@pytest.mark.parametrize("seed", range(60))
def test_corners_are_the_best_points_of_some_price(seed: int) -> None:
    points = draw(seed)
    corners = keep_corners(points, slope, is_better)
    assert all(one[0] < two[0] and two[1] < one[1] for one, two in pairwise(corners))
    prices = price_corners(corners, slope)
    assert prices[0][1] == math.inf
    assert prices[-1][0] == 0.0
    for corner, (low, high) in zip(corners, prices, strict=True):
        price = price_inside(low, high)
        assert low <= price <= high
        best = min(loss + price * size for size, loss in points)
        assert corner[1] + price * corner[0] == pytest.approx(best)
    # Nothing is left out: at every price some corner is as good as any point.
    for price in np.geomspace(0.01, 100, 80):
        assert min(y + price * x for x, y in corners) == pytest.approx(min(y + price * x for x, y in points))


@pytest.mark.parametrize("seed", range(60))
def test_a_walk_finds_every_corner(seed: int) -> None:
    points = draw(seed)
    found = {points[0], min(points, key=lambda point: (point[1], point[0]))}
    asked = []

    def find_between(one: Point, two: Point) -> Point | None:
        if not (one[0] < two[0] and two[1] < one[1]):
            return None
        price = slope(one, two)
        asked.append(price)
        best = min(points, key=lambda point: (point[1] + price * point[0], point[0]))
        if not best[1] + price * best[0] < one[1] + price * one[0] - 1e-9:
            return None
        found.add(best)
        return best

    walk(min(found), max(found), partial(starmap, find_between))
    corners = keep_corners(points, slope, is_better)
    assert set(corners) <= found
    assert len(asked) <= 2 * len(found)


def test_points_without_a_step_between_them_are_one() -> None:
    points = [(1, 9), (1, 7), (2, 6), (2, 3)]
    apart = keep_corners(points, slope, is_better, lambda one, two: one[0] < two[0])
    assert apart == [(1, 7), (2, 3)]


def test_prices_inside() -> None:
    assert price_inside(2.0, 8.0) == pytest.approx(4.0)
    assert price_inside(0.0, 8.0) == 4.0
    assert price_inside(3.0, math.inf) == 6.0
    assert price_inside(0.0, math.inf) == 1.0
    assert price_inside(1e-200, 1e200) == pytest.approx(1.0)
    assert price_inside(1e200, 1e250) == pytest.approx(1e225)
