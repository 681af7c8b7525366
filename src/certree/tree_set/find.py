"""From data to a set of good trees: settings checked, the engine asked, limits and starts taken care of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from certree.estimators import SparseTreeClassifier
from certree.graft import search_started
from certree.limits import Limits
from certree.problem import Problem
from certree.solver import search, search_good_trees, warn_interrupted
from certree.tree_set.graph import TreeGraph
from certree.tree_set.trees import TreeSet

Array = NDArray[Any]


def good_trees(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    tolerance: float | str = 0.01,
    max_depth: int | None = 3,
    regularization: float = 0.01,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    thresholds: Any = "all",
    start: Any = None,
    forbidden: Any = None,
    class_weight: Any = None,
    categorical_features: Any = "auto",
    idle: bool = False,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> TreeSet:
    """Every tree whose objective is at most `tolerance` above that of the best one.

    Parameters
    ----------
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    tolerance : float or str, default=0.01
        How much worse a good tree may be, in units of the objective; or a share of the best objective, such as "3%".
    max_depth, regularization, max_leaves, min_samples_leaf, min_weight_leaf, thresholds :
        As in `SparseTreeClassifier`.
    class_weight, categorical_features :
        As in `SparseTreeClassifier`.
    idle : bool, default=False
        Whether trees with a split into two leaves of the same label count, as some packages count them (see
        `TreeSet.count_written`).
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes. A limit that ends the search leaves a set with `is_complete` False: its trees are good trees,
        and `complete_below` says up to which objective none is missing.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.
    random_state : int, RandomState instance or None, default=None
        For guessed thresholds only.
    verbose : int, default=0
        1 shows a progress bar.
    start, forbidden :
        As in `SparseTreeClassifier`: the set has the trees that begin so and do not ask these, and the best one is the
        best of them.

    Returns
    -------
    TreeSet

    Raises
    ------
    ValueError
        If a parameter, label, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> trees.count, trees.is_complete
    (3, True)
    >>> print(trees.best.tests[0], round(trees.best.objective, 3))
    x0 <= 2.5 0.2
    """
    model = SparseTreeClassifier(
        max_depth,
        regularization,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=min_weight_leaf,
        thresholds=thresholds,
        start=start,
        forbidden=forbidden,
        class_weight=class_weight,
        categorical_features=categorical_features,
        time_limit=time_limit,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    problem, weights, factors = model.pose(X, y, sample_weight)
    limits = Limits(time_limit, memory_limit, effective_n_jobs(n_jobs))
    amount, share = (0.0, read_share(tolerance)) if isinstance(tolerance, str) else (tolerance, 0.0)
    index = np.flatnonzero(weights > 0)
    found = find_tree_set(problem, amount, limits, share=share, idle=idle, index=index, verbose=verbose)
    found._class_weights = None if factors is None else factors.tolist()
    return found


def read_share(text: str) -> float:
    """A share of the best objective: "3%" is 0.03."""
    try:
        share = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"tolerance must be a number, or a share of the best objective from 0% to 100%, not {text!r}")
    return share


def find_tree_set(
    problem: Problem,
    tolerance: float,
    limits: Limits,
    *,
    share: float = 0.0,
    idle: bool = False,
    index: Array | None = None,
    verbose: int = 0,
) -> TreeSet:
    """The set of a problem. `index` are the numbers of its rows in the table that was given, `share` a part of the best
    objective that is the tolerance, where that is no amount."""
    if isinstance(tolerance, bool) or not (math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a finite number of at least 0, not {tolerance!r}")
    costs = problem.costs
    worst = 1.0 if costs is None else math.fsum(costs.max(axis=1).tolist()) / problem.normaliser
    if share > 0 and (problem.start is not None or problem.regularization >= worst):
        # The engine has shares of whole problems alone.
        best = search(problem, limits, verbose=verbose)
        tolerance, share = share * best.lower, 0.0
    if problem.regularization >= worst > 0 and tolerance + worst >= problem.regularization:
        raise ValueError(
            f"regularization={problem.regularization:g} is more than any split can save ({worst:g}), so that only a "
            f"lone leaf is optimal, but a tolerance of {tolerance:g} allows larger trees again: lower one of the two"
        )
    if tolerance > 2 * worst:
        raise ValueError(
            f"tolerance={tolerance:g} is larger than the difference between any two trees, because no loss is above "
            f"{worst:g}: give at most {2 * worst:g}"
        )
    # Where nothing costs anything, idle splits without a λ are as good as none.
    is_bare = problem.regularization >= worst and problem.regularization > 0
    if problem.start is not None:
        found = search_started(problem, tolerance, limits, idle=idle, is_bare=is_bare, verbose=verbose)
    else:
        is_bare = is_bare or not (problem.allows_split if idle else problem.has_room_to_split)
        target = replace(problem, max_depth=0) if is_bare else problem  # there is the lone leaf alone
        found = search_good_trees(target, tolerance, limits, share=share, idle=idle, verbose=verbose)
    if found["status"] == "interrupted":
        warn_interrupted("the set has the good trees found so far; see complete_below")
    index = np.arange(problem.n_rows) if index is None else index
    if share > 0:
        tolerance = math.ldexp(float(found["tolerance"]) * found["factor"], found["exponent"])
    graph = TreeGraph.read(found, len(problem.features.columns))
    problem = replace(problem, features=problem.features.held())  # a set names tests for as long as it lives
    about = {name: value for name, value in found.items() if name not in ("graph", "column_sets")}
    return TreeSet(problem, graph, about, tolerance=tolerance, index=index, limits=limits, is_bare=is_bare)
