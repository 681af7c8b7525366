"""What a budget brings without a policy: actions drawn by lot for everyone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from certree.hull import keep_corners


class Fixed(NamedTuple):
    """Everyone gets the same action."""

    action: int
    """Its number."""
    spend: float
    """Mean spend per row."""
    value: float
    """Mean reward, in sample."""


def draw_lots(fixed: Sequence[Fixed]) -> list[Fixed]:
    """The actions between which lots bring most for what they spend, from the least spend on: the upper hull of spend
    and value, up to the greatest value."""
    in_order = sorted(fixed, key=lambda point: (point.spend, -point.value, point.action))
    return keep_corners(in_order, _slope, lambda one, two: two.value > one.value)


def value_by_lot(fixed: Sequence[Fixed], budget: float) -> float:
    """The most that lots bring within a budget; −∞ where no single action keeps it."""
    hull = draw_lots(fixed)
    value = max((point.value for point in hull if point.spend <= budget), default=-math.inf)
    for one, two in pairwise(hull):
        if one.spend <= budget < two.spend:
            value = one.value + _slope(one, two) * (budget - one.spend)
    return value


def _slope(one: Fixed, two: Fixed) -> float:
    return (two.value - one.value) / (two.spend - one.spend) if two.spend > one.spend else math.inf
