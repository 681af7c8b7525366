"""The whole front of leaves against loss.

For fixed constraints let L(h) be the least loss of a tree with h leaves. The least of L(h) + λ·h over h, as a function
of λ, is decided by the lower convex hull of the points (h, L(h)): each corner of the hull is the optimum of an interval
of λ, and the ends of the interval are the slopes to its neighbours. This room walks the hull: the lone leaf is its
corner for large λ, the tree of λ = 0 its other end, and solving at the slope between two known corners either finds a
tree below their line, a new point of the hull, or proves that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any, overload

from certree.display import align, show_rows
from certree.features import make_features
from certree.folds import count_threads, learn_each
from certree.hull import keep_corners, price_corners, price_inside, walk
from certree.limits import Limits
from certree.plot import plot_path
from certree.problem import Problem, check_weights
from certree.reading import warn_about
from certree.solution import Solution
from certree.solver import bin_numeric, search, warn_interrupted
from certree.table import read_table
from certree.tree import Tree

TABLE_HEADER = ("leaves", "depth", "loss", "optimal for λ", "status")


@dataclass(frozen=True)
class PathPoint:
    """One optimal tree and the penalties λ for which it is optimal.

    Examples
    --------
    >>> from certree import regularization_path
    >>> point = regularization_path([[1], [2], [3], [4]], ["a", "b", "b", "a"], max_depth=2)[-1]
    >>> point.leaves, point.loss, point.regularization_low, point.regularization_high
    (3, 0.0, 0.0, 0.25)
    """

    regularization_low: float
    regularization_high: float
    """inf for the lone leaf."""
    tree: Tree
    loss: float
    leaves: int
    status: str
    """"optimal", or why the search for this tree ended before it was proved best."""
    solution: Solution = field(repr=False)


@dataclass(frozen=True, repr=False)
class RegularizationPath(Sequence[PathPoint]):
    """All optimal trees over every penalty λ, from the single leaf to the tree of λ = 0; a sequence of `PathPoint`.

    Examples
    --------
    >>> from certree import regularization_path
    >>> path = regularization_path([[1], [2], [3], [4]], ["a", "b", "b", "a"], max_depth=2)
    >>> len(path), path.is_optimal
    (2, True)
    >>> print(path)
    2 trees of 1 to 3 leaves, all proved optimal among all trees of depth at most 2
      leaves  depth  loss  optimal for λ   status
           1      0   0.5     above 0.25  optimal
           3      2     0      0 to 0.25  optimal
    """

    points: tuple[PathPoint, ...]
    is_complete: bool
    """Whether all searches, and the walk itself, were carried to their end, so that no point can be missing."""
    scope: str = field(default="", kw_only=True)
    """The trees among which the points are optimal, such as "all trees of depth at most 3"."""

    @overload
    def __getitem__(self, index: int) -> PathPoint: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PathPoint, ...]: ...
    def __getitem__(self, index: int | slice) -> PathPoint | tuple[PathPoint, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    @property
    def is_optimal(self) -> bool:
        """Whether every point is proved and none is missing."""
        return self.is_complete and all(point.status == "optimal" for point in self.points)

    def at(self, regularization: float) -> PathPoint:
        """The optimum of one λ; where two trees tie, the smaller one.

        Parameters
        ----------
        regularization : float
            The penalty λ per leaf, at least 0.

        Returns
        -------
        PathPoint

        Raises
        ------
        ValueError
            If λ is negative.
        """
        if not regularization >= 0:
            raise ValueError(f"regularization must be at least 0, not {regularization!r}")
        return next(point for point in self.points if point.regularization_low <= regularization)

    def plot(self, ax: Any = None) -> Any:
        """Draw loss against leaves; see `certree.plot_path`."""
        return plot_path(self, ax=ax)

    def summary(self) -> str:
        """The front in words, one line per tree."""
        return "\n".join([describe_front(self), *align(self._header(), self._table())])

    def _header(self) -> tuple[str, ...]:
        return TABLE_HEADER

    def _show_amount(self, point: PathPoint) -> str:
        """What a tree is judged by, without the penalty."""
        return f"{point.loss:.6g}"

    def _table(self) -> list[list[str]]:
        return [
            [
                f"{point.leaves:,}", f"{point.tree.depth}", self._show_amount(point),
                f"above {point.regularization_low:.4g}" if math.isinf(point.regularization_high)
                else f"{point.regularization_low:.4g} to {point.regularization_high:.4g}",
                point.status.replace("_", " "),
            ]
            for point in self.points
        ]  # fmt: skip

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {describe_front(self)}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return show_rows(describe_front(self), self._header(), self._table())

    def to_rows(self) -> list[dict[str, Any]]:
        """The front as plain rows, for a frame or a CSV file."""
        return [
            {
                "regularization_low": point.regularization_low,
                "regularization_high": point.regularization_high,
                "leaves": point.leaves,
                "depth": point.tree.depth,
                "loss": point.loss,
                "status": point.status,
            }
            for point in self.points
        ]


def regularization_path(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    max_depth: int | None = 3,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    thresholds: str | int = "all",
    categorical_features: Any = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    n_threads: int | None = None,
    verbose: int = 0,
) -> RegularizationPath:
    """All optimal trees of a weighted table, over every penalty λ from 0 to infinity.

    Only a few trees are optimal for any λ; they lie on the lower convex hull of loss against leaves. `SparseTreeCV`
    scores all of them on held-out rows and chooses one; its `path_` is this path.

    Parameters
    ----------
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    max_depth, max_leaves, min_samples_leaf, min_weight_leaf, categorical_features :
        As in `SparseTreeClassifier`.
    thresholds : "all" or int, default="all"
        All thresholds of a numeric column, or at most that many per column, at weighted quantiles.
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes for each search. A point whose search they ended says so in its status.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn: None is one, -1 all.
    n_threads : int or None, default=None
        The number of threads itself; takes the place of `n_jobs`.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    RegularizationPath
        The trees from the single leaf to the best tree without a penalty. Ctrl-C ends the whole walk, and the path then
        holds what was found so far.

    Raises
    ------
    ValueError
        If a parameter, label, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree import regularization_path
    >>> path = regularization_path([[1], [2], [3], [4]], ["a", "b", "b", "a"], max_depth=2)
    >>> [(point.leaves, point.loss) for point in path]
    [(1, 0.5), (3, 0.0)]
    >>> path.at(0.1).leaves
    3
    """
    if n_jobs is not None and n_threads is not None:
        raise ValueError("give n_jobs or n_threads, not both")
    threads = count_threads(n_jobs) if n_threads is None else n_threads
    table = read_table(X)
    weights = check_weights(sample_weight, table.n_rows, table)
    features = make_features(
        table, categorical_features=categorical_features, thresholds=thresholds, weights=weights, binner=bin_numeric
    )
    warn_about(features.readings)
    problem = Problem.from_labels(
        features,
        y,
        weights,
        regularization=0.0,
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=min_weight_leaf,
    )
    return trace_path(problem, Limits(time_limit, memory_limit, threads), verbose=verbose)


def describe_front(path: RegularizationPath) -> str:
    """How many trees there are, and whether one may be missing."""
    count = "1 tree" if len(path) == 1 else f"{len(path)} trees"
    sizes = f"{path[0].leaves} to {path[-1].leaves} leaves" if len(path) > 1 else "1 leaf"
    proved = f"{'all ' if len(path) > 1 else ''}proved optimal{f' among {path.scope}' if path.scope else ''}"
    return f"{count} of {sizes}, {proved if path.is_optimal else 'a search ended early, so that trees may be missing'}"


def trace_path(problem: Problem, limits: Limits | None = None, *, verbose: int = 0) -> RegularizationPath:
    """The front of a problem; its own λ does not matter."""
    is_complete, scope = True, ""
    found: list[Solution] = []

    def answer(targets: Iterable[Problem]) -> Iterator[Solution]:
        nonlocal is_complete
        asked = ((target, limits, verbose) for target in targets)
        # Either the threads of one search after the other, or searches side by side.
        is_threaded = limits is not None and limits.n_threads > 1
        for solution in starmap(_search, asked) if is_threaded else learn_each(_search, asked):
            is_complete = is_complete and solution.is_optimal
            if solution.status == "interrupted":
                found.append(solution)
                raise KeyboardInterrupt
            yield solution

    def find_between(gaps: Sequence[tuple[Solution, Solution]]) -> Iterator[Solution | None]:
        answers = answer(problem.with_regularization(_slope(*gap)) for gap in gaps if _is_open(*gap))
        for small, large in gaps:
            middle = next(answers) if _is_open(small, large) else None
            if middle is not None and _is_below(middle, small, _slope(small, large)):
                found.append(middle)
                yield middle
            else:
                yield None

    [lone_leaf] = answer([replace(problem, regularization=0.0, max_depth=0)])
    found.append(lone_leaf)
    try:
        # At λ = 0 leaves cost nothing, so this tree may carry idle ones; the hull prefers a smaller tree of its loss.
        [end] = answer([problem.with_regularization(0.0)])
        found.append(end)
        scope = end.certificate.scope
        walk(lone_leaf, end, find_between)
    except KeyboardInterrupt:
        is_complete = False
        warn_interrupted("the path holds the trees found so far, and others may be missing")
    in_order = sorted(found, key=lambda solution: (solution.tree.n_leaves, solution.loss))
    corners = keep_corners(in_order, _slope, _is_better)
    points = [
        PathPoint(low, high, corner.tree, corner.loss, corner.tree.n_leaves, corner.status, corner)
        for corner, (low, high) in zip(corners, price_corners(corners, _slope), strict=True)
    ]
    return RegularizationPath(tuple(points), is_complete, scope=scope)


def _search(target: Problem, limits: Limits | None, verbose: int) -> Solution:
    """One search of a path, as a job that can travel."""
    return search(target, limits, verbose=verbose)


def _is_open(small: Solution, large: Solution) -> bool:
    """Whether there may be a corner between: a search that a limit ended may have as many leaves as an end."""
    return small.tree.n_leaves < large.tree.n_leaves and small.loss > large.loss


def _is_below(middle: Solution, small: Solution, slope: float) -> bool:
    """Below the line by more than rounding, or else what was found is one of the ends or ties with them."""
    on_line = small.loss + slope * small.tree.n_leaves
    return middle.upper < on_line - 2 * middle.rounding - 1e-15 * on_line


def _is_better(small: Solution, large: Solution) -> bool:
    """Whether the loss of the second is smaller by more than rounding."""
    return large.loss < small.loss - 2 * large.rounding - 1e-15 * small.loss


def _slope(small: Solution, large: Solution) -> float:
    """The λ at which two trees cost the same."""
    return (small.loss - large.loss) / (large.tree.n_leaves - small.tree.n_leaves)


def choose_penalties(path: RegularizationPath) -> list[float]:
    """A λ inside the interval of each tree of a front."""
    return [price_inside(point.regularization_low, point.regularization_high) for point in path]
