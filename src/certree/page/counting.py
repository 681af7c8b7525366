"""How many trees a certificate speaks about (docs/method.md, "How many trees")."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certree.tree import Tree

MOST_DIGITS = 4000
"""Beyond this the number of digits is not worked out, and the count is called larger than that."""


def count_trees(n_tests: int, n_labels: int, depth: int) -> int | None:
    """Trees of at most a depth: each shape with a test at every inner node and a label at every leaf.

    None where the number has more than MOST_DIGITS digits.
    """
    count = n_labels
    for _ in range(depth):
        if 2 * math.log10(max(count, 1)) + math.log10(max(n_tests, 1)) > MOST_DIGITS:
            return None
        count = n_labels + n_tests * count * count
    return count


def describe_count(certificate: Mapping[str, Any], tree: Tree) -> str:
    """How many trees a certificate speaks about, in words."""
    depth = certificate["constraints"]["max_depth"]
    return write_count(count_trees(certificate["sizes"]["distinct_tests"], len(tree.labels), depth))


def write_count(count: int | None) -> str:
    """A number of trees, as people read it: "about 4.1 × 10¹⁸"."""
    if count is None:
        return f"more than 10{_raise(MOST_DIGITS)}"
    if count < 10**7:
        return f"{count:,}"
    power = len(str(count)) - 1
    tenths = (count // 10 ** (power - 2) + 5) // 10
    if tenths == 100:  # 9.96 is rounded to 10
        tenths, power = 10, power + 1
    return f"about {tenths / 10:.1f} × 10{_raise(power)}"


def _raise(power: int) -> str:
    return str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
