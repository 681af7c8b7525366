"""The boosted model behind guesses, and the tests that it splits on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from certree.features import Features

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier

Array = NDArray[Any]
AxisTest = tuple[int, int]
"""An axis and a code: "code <= code" on an ordered axis, "code == code" on a categorical one."""

N_MEMBERS = 40
MEMBER_DEPTH = 2
LEARNING_RATE = 0.1
"""The boosted model behind every guess, unless said otherwise."""


def boost(
    matrix: Array,
    y: Array,
    weights: Array,
    *,
    n_estimators: int = N_MEMBERS,
    max_depth: int = MEMBER_DEPTH,
    learning_rate: float = LEARNING_RATE,
    random_state: Any = 0,
    progress: Callable[[], None] | None = None,
) -> GradientBoostingClassifier:
    """scikit-learn's boosted trees, fitted with the weights."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=n_estimators,
        max_depth=max_depth,
        learning_rate=learning_rate,
        random_state=0 if random_state is None else random_state,
    )

    def watch(*_: Any) -> bool:
        if progress is not None:
            progress()
        return False

    # A mean weight of 1: absolute tolerances inside the trees then mean what they mean without weights.
    return model.fit(matrix, y, sample_weight=weights / weights.mean(), monitor=watch)


def read_matrix(features: Features) -> tuple[Array, list[AxisTest]]:
    """The axes as columns for the boosted model, and what each is: (axis, -1) its codes, (axis, c) whether it is c."""
    columns: list[Array] = []
    origins: list[AxisTest] = []
    for number, (axis, codes) in enumerate(zip(features.axes, features.codes, strict=True)):
        chosen = range(axis.size) if axis.is_categorical else [-1]
        columns += [codes == code if axis.is_categorical else codes for code in chosen]
        origins += [(number, code) for code in chosen]
    return np.array(columns, dtype=np.float32).T, origins


def list_splits(model: GradientBoostingClassifier, origins: list[AxisTest]) -> list[AxisTest]:
    """Every test that a member of the boosted model asks, once."""
    found = set()
    for member in model.estimators_.ravel():
        tree = member.tree_
        for node in np.flatnonzero(tree.children_left >= 0):
            axis, code = origins[tree.feature[node]]
            found.add((axis, math.floor(tree.threshold[node]) if code < 0 else code))
    return sorted(found)


def weighted_loss(predicted: Array, y: Array, weights: Array) -> float:
    """Weighted share of wrongly labelled rows."""
    return float(weights[predicted != y].sum() / weights.sum())
