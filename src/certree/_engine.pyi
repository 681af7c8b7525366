"""The native module, as solver.py sees it."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

SWITCHES: dict[str, int]

def bin_numeric(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]: ...
def solve(
    *,
    codes: NDArray[Any],
    sizes: NDArray[Any],
    categorical: NDArray[Any],
    labels: NDArray[Any] | None,
    weights: NDArray[Any],
    costs: NDArray[Any] | None,
    n_labels: int,
    normaliser: float,
    regularization: float,
    max_depth: int,
    max_leaves: int,
    min_samples_leaf: int,
    min_weight_leaf: float,
    leaf_weights: NDArray[Any] | None,
    arms: NDArray[Any] | None,
    n_arms: int,
    min_samples_arm: int,
    reference_costs: NDArray[Any] | None,
    time_limit: float,
    memory_limit: int,
    n_threads: int,
    switches: int,
    progress: Callable[[float, float, float], None] | None,
) -> dict[str, Any]: ...
