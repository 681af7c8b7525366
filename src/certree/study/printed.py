"""The four trees that the paper prints for its case study, to be judged on labels of ours.

Facts, not results of ours: their tests and leaves stand here as printed. An inner node is (column, threshold, where
the test holds, where it does not), a leaf its label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from certree.problem import Problem
from certree.tree import Tree

Node = int | tuple[str, float, "Node", "Node"]

PRINTED: Mapping[int, Any] = {
    2: ("re75", 897.4097, ("education", 11.5, 1, 2), ("re75", 21497.51, 1, 0)),
    3: (
        "education", 11.5,
        ("age", 31.5, ("re75", 21497.509, 1, 0), ("hispanic", 0.5, 1, 0)),
        ("re75", 897.409, ("age", 18.5, 1, 2), ("re75", 21497.509, 1, 0)),
    ),
    4: (
        "re75", 897.4097,
        (
            "age", 32.0,
            ("age", 18.5, 1, ("education", 10.5, 1, 2)),
            ("education", 11.5, ("married", 0.5, 1, 2), 2),
        ),
        (
            "hispanic", 0.5,
            ("married", 0.5, ("re75", 21497.509, 1, 0), ("re75", 32975.189, 1, 0)),
            ("age", 31.5, ("re75", 13916.55, 1, 0), ("education", 11.5, 0, 1)),
        ),
    ),
    5: (
        "married", 0.5,
        (
            "education", 10.5,
            (
                "education", 4.5,
                ("black", 0.5, 1, ("re75", 897.409, 1, 2)),
                ("age", 31.5, ("re75", 13916.55, 1, 0), ("hispanic", 0.5, 1, 2)),
            ),
            (
                "age", 33.5,
                ("re75", 897.409, ("age", 18.5, 1, 2), ("re75", 21497.50, 1, 0)),
                ("education", 11.5, ("black", 0.5, 0, 1), ("re75", 897.40, 2, 1)),
            ),
        ),
        (
            "re75", 2594.9949,
            (
                "age", 24.0,
                ("education", 10.5, 1, ("black", 0.5, 1, 2)),
                ("education", 9.5, ("age", 31.5, 1, 2), ("re75", 1436.94, 2, 1)),
            ),
            (
                "re75", 8066.70,
                ("age", 31.5, ("education", 9.5, 2, 1), 1),
                ("re75", 13916.55, ("age", 24.0, 1, 2), ("re75", 32975.18, 1, 0)),
            ),
        ),
    ),
}  # fmt: skip
"""By depth limit."""


def plant(node: Any, problem: Problem) -> Tree:
    """A printed tree with the rows of a problem in it. Its leaves keep the labels they were printed with."""
    names = [column.name for column in problem.features.columns]
    column: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    printed: list[int] = []

    def add(node: Any) -> int:
        place = len(column)
        is_leaf = not isinstance(node, tuple)
        column.append(-1 if is_leaf else names.index(node[0]))
        threshold.append(np.nan if is_leaf else node[1])
        printed.append(node if is_leaf else -1)
        left.append(-1)
        right.append(-1)
        if not is_leaf:
            left[place], right[place] = add(node[2]), add(node[3])
        return place

    add(node)
    tree = problem.make_tree(column, threshold, [-1] * len(column), [False] * len(column), left, right)
    label = np.array(printed)
    return replace(tree, label=np.where(label < 0, tree.label, label))
