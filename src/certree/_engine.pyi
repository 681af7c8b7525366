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
    counts: NDArray[Any] | None = None,
    elsewhere: Callable[[list[int], Callable[[], bool]], list[int] | None] | None = None,
    n_elsewhere: int = 1,
) -> dict[str, Any]: ...

class Station:
    def look(self, question: list[int], is_stopped: Callable[[], bool]) -> list[int] | None: ...

def open_station(
    *,
    codes: NDArray[Any],
    sizes: NDArray[Any],
    categorical: NDArray[Any],
    labels: NDArray[Any] | None,
    weights: NDArray[Any],
    costs: NDArray[Any] | None,
    n_labels: int,
    normaliser: float,
    min_samples_leaf: int,
    min_weight_leaf: float,
    leaf_weights: NDArray[Any] | None,
    arms: NDArray[Any] | None,
    n_arms: int,
    min_samples_arm: int,
    reference_costs: NDArray[Any] | None,
    memory_limit: int,
    n_threads: int,
    switches: int,
) -> Station: ...
def find_good_trees(
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
    column_of_axis: NDArray[Any],
    n_columns: int,
    tolerance: float,
    share: float,
    idle: bool,
    total: float,
    time_limit: float,
    memory_limit: int,
    n_threads: int,
    switches: int,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]: ...
def count_good_trees(
    *, graph: dict[str, Any], budget: int, most_entries: int, counts_ways: bool
) -> tuple[list[int], list[int], bool]: ...
def draw_good_trees(*, graph: dict[str, Any], n: int, seed: int, most_entries: int) -> dict[str, NDArray[Any]]: ...
def list_good_trees(*, graph: dict[str, Any], first: int, last: int) -> dict[str, NDArray[Any]]: ...
def find_row_labels(
    *, graph: dict[str, Any], codes: NDArray[Any], categorical: NDArray[Any], n_labels: int
) -> NDArray[Any]: ...
def keep_edges(*, graph: dict[str, Any], is_kept: NDArray[Any], has_lone_leaf: bool, budget: int) -> dict[str, Any]: ...
def keep_leaves(*, graph: dict[str, Any], least: int, most: int) -> dict[str, Any]: ...
def find_best_through(*, graph: dict[str, Any]) -> NDArray[Any]: ...

NOTHING: int

def add_cells(
    codes: NDArray[Any], sizes: NDArray[Any], amounts: NDArray[Any], sets: NDArray[Any], cells: NDArray[Any]
) -> None: ...
def find_places(
    values: NDArray[Any], amounts: NDArray[Any], ends: NDArray[Any], are_rows_asked: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def code_values(values: NDArray[Any], ends: NDArray[Any], missing: int) -> NDArray[Any]: ...
def find_leaf_gains(
    *,
    cells: NDArray[Any],
    sets: NDArray[Any],
    sizes: NDArray[Any],
    n_tests: NDArray[Any],
    base: NDArray[Any],
    n_added: NDArray[Any],
    added: NDArray[Any],
    n_labels: int,
    least: NDArray[Any],
) -> NDArray[Any]: ...
def find_stumps(
    *,
    cells: NDArray[Any],
    sets: NDArray[Any],
    sizes: NDArray[Any],
    n_tests: NDArray[Any],
    base: NDArray[Any],
    n_added: NDArray[Any],
    added: NDArray[Any],
    n_labels: int,
    least: NDArray[Any],
    pairs: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]: ...
