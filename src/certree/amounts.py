"""Numbers that add up to the same sum in every order.

Adding floats rounds, and how much depends on the order. Where a table lies in parts, the parts must not show: this room
adds exactly. A float is a whole number times a power of two, so a sum of floats is a whole number of units of 2^-1130
(`exact_sum`), rounded once when it is read (`to_float`). And amounts are fixed point, as in the engine: value · 2^e
rounded to the nearest whole number, with e such that 2^55 <= total · 2^e < 2^56 (docs/method.md, section 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

UNIT = 1130
"""Exact sums count units of 2^-1130: below the last bit of the smallest float."""
AMOUNT_BITS = 56
_HALF = 28
_MOST_ROWS = 1 << 24
"""Sums of so many halves of amounts, each of at most 28 binary digits and a sign, are exact as floats."""


def add_by_group(group: Array, amounts: Array, n_groups: int) -> Array:
    """int64; the sum of the amounts of each group, exactly: amounts below 2^56 in magnitude, and so their sums."""
    high, low = _add_halves(group, amounts, n_groups)
    return np.asarray((high << _HALF) + low)


def _add_halves(group: Array, amounts: Array, n_groups: int) -> tuple[Array, Array]:
    """int64; the sums of the upper and of the lower halves, of up to 2^34 amounts."""
    high, low = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for first in range(0, len(group), _MOST_ROWS):
        own = amounts[first : first + _MOST_ROWS]
        place = group[first : first + _MOST_ROWS]
        high += np.bincount(place, own >> _HALF, n_groups).astype(np.int64)
        low += np.bincount(place, own & ((1 << _HALF) - 1), n_groups).astype(np.int64)
    return high, low


def exact_sums(group: Array, values: Array, n_groups: int) -> list[int]:
    """The exact sum of the values (finite floats) of each group, in units of 2^-UNIT."""
    mantissa, exponent = np.frexp(values)
    exponents, place = np.unique(exponent, return_inverse=True)
    sums = [0] * n_groups
    if len(exponents) == 0:
        return sums
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    high, low = _add_halves(group.astype(np.int64) * len(exponents) + place, whole, n_groups * len(exponents))
    for cell in np.flatnonzero(high | low).tolist():
        total = (int(high[cell]) << _HALF) + int(low[cell])
        sums[cell // len(exponents)] += total << (int(exponents[cell % len(exponents)]) - 53 + UNIT)
    return sums


def exact_sum(values: Array) -> int:
    """The exact sum of finite floats, in units of 2^-UNIT."""
    return exact_sums(np.zeros(len(values), dtype=np.int64), values, 1)[0]


def to_float(exact: int) -> float:
    """The float nearest to an exact sum, infinite where it is beyond the largest."""
    try:
        return exact / (1 << UNIT)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def find_exponent(total: int, bits: int = AMOUNT_BITS) -> int:
    """e such that 2^(bits − 1) <= total · 2^e < 2^bits, for an exact total."""
    return bits - (total.bit_length() - UNIT) if total > 0 else bits - 1


def to_amounts(values: Array, exponent: int) -> tuple[Array, int]:
    """int64; values that are not negative as amounts, and how many of them did not fit the grid: as the engine does."""
    scaled = np.ldexp(values, exponent)
    # From 2^52 on a float is whole, and a half added to it would be rounded.
    amounts = np.where(scaled < 2.0**52, np.floor(scaled + 0.5), scaled).astype(np.int64)
    return amounts, int(np.count_nonzero(amounts != scaled))
