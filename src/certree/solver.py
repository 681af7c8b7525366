"""The door to the engine: solve(problem, limits) → Solution.

The only room that imports the native module. It promises that what comes back is plain Python (no C++ object survives
the call, but for the Station of a process that looks at root tests for another one), that a limit or Ctrl-C is a status
and not an exception, and that a second Ctrl-C is an exception after all.

Ctrl-C is meant for the whole of what was asked. A room that runs several searches ends with what it has found, whether
one of them comes back with the status "interrupted" or KeyboardInterrupt is raised between two of them; where that is
no answer, it raises KeyboardInterrupt. Either way nothing needs to be remembered, and the next Ctrl-C aborts.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from certree import _engine
from certree.completion import Progress, complete_start
from certree.features import LEAF, ColumnTest
from certree.guesses import account_reference
from certree.limits import Limits
from certree.problem import Problem
from certree.solution import Solution, judge, measure_loss
from certree.tree import Tree

Array = NDArray[Any]

PACKAGE_VERSION = version("certree")
SWITCHES: dict[str, int] = dict(_engine.SWITCHES)
"""The engine's bounds, kernels and caches by name. Each may be switched off without changing the optimum."""


Spread = Callable[[Mapping[str, Any]], AbstractContextManager[Mapping[str, Any]]]
"""Takes a problem as the engine does, and gives the engine's arguments `elsewhere` and `n_elsewhere` while it is
solved: a function that has root tests looked at by somebody else, and at how many of them at a time."""

SPREAD: ContextVar[Spread | None] = ContextVar("SPREAD", default=None)
"""Who helps with long searches; None: nobody."""


class SearchInterrupted(UserWarning):
    """Ctrl-C ended the work early; the answer is what was found so far."""


def warn_interrupted(what_there_is: str) -> None:
    """Say what there is of an answer that Ctrl-C cut short."""
    warnings.warn(f"interrupted: {what_there_is}", SearchInterrupted, stacklevel=3)


def bin_numeric(values: Array) -> tuple[Array, Array]:
    """The engine's binner; see `features.bin_numeric` for what it promises."""
    codes, distinct = _engine.bin_numeric(values)
    return codes, distinct


def solve(
    problem: Problem,
    limits: Limits | None = None,
    *,
    verbose: int = 0,
    reference_costs: Array | None = None,
    switched_off: Iterable[str] = (),
) -> Solution:
    """The certified best tree of a problem, or the best one that the limits allow.

    Parameters
    ----------
    problem : Problem
        What to minimise, and within which constraints.
    limits : Limits or None, default=None
        None is one thread and no limit.
    verbose : int, default=0
        1 shows a progress bar.
    reference_costs : array of n numbers, default=None
        What the prediction of a reference model costs on each row. Given, it turns lower-bound guesses on.
    switched_off : names of entries of SWITCHES, default=()
        Shortcuts of the engine to do without; it exists for tests.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If the reference costs do not fit the problem.
    certree.solution.CertificateError
        If the engine and the raw rows disagree. That would be a bug in certree.

    Examples
    --------
    >>> from certree import Problem, solve
    >>> X, y = [[1], [2], [3]], ["a", "a", "b"]
    >>> problem = Problem.from_labels(X, y, max_depth=1, regularization=0.1)
    >>> solution = solve(problem)
    >>> solution.status, solution.loss, solution.tree.n_leaves
    ('optimal', 0.0, 2)
    """
    solution = search(problem, limits, verbose=verbose, reference_costs=reference_costs, switched_off=switched_off)
    if solution.status == "interrupted":
        warn_interrupted(describe_best(solution))
    return solution


def describe_best(solution: Solution) -> str:
    return f"the best tree so far has objective {solution.upper:.6g}, and no tree is below {solution.lower:.6g}"


def search(
    problem: Problem,
    limits: Limits | None = None,
    *,
    verbose: int = 0,
    reference_costs: Array | None = None,
    switched_off: Iterable[str] = (),
) -> Solution:
    """`solve` without a warning, for rooms that have words of their own for an interrupted answer."""
    limits = limits or Limits()

    def ask(target: Problem, limits: Limits, reference_costs: Array | None, show: Progress | None) -> dict[str, Any]:
        if not target.has_room_to_split:
            return _find_lone_leaf(target)
        described = {**_describe(target, limits, switched_off), "reference_costs": reference_costs}
        spread = SPREAD.get()
        with nullcontext({}) if spread is None else spread(described) as elsewhere:
            found: dict[str, Any] = _engine.solve(**described, progress=show, **elsewhere)
        return found

    with _progress_bar(verbose and (problem.start is not None or problem.has_room_to_split)) as show:
        if problem.start is None:
            found = ask(problem, limits, reference_costs, show)
        else:
            found = complete_start(problem, limits, reference_costs, show, ask)
        if show is not None:
            show(0.0, found["upper"], found["lower"])
    account = None if reference_costs is None else account_reference(problem, reference_costs)
    solution = judge(
        problem,
        read_tree(problem, found),
        claimed=found["upper"],
        lower=found["lower"] if account is None else account.lower(found["lower"]),
        # A search that was given guesses is never called optimal, also where no row was left for them to matter.
        status="guessed" if found["status"] == "optimal" and account is not None else found["status"],
        rounding=found["rounding"],
        statistics=dict(found["statistics"]),
        limits=asdict(limits),
        version=PACKAGE_VERSION,
    )
    if account is not None:
        stated = {"reference": account.state(found["lower"], is_finished=solution.status == "guessed")}
        solution = replace(solution, certificate=solution.certificate | {"guarantees": stated})
    return solution


def _describe(problem: Problem, limits: Limits, switched_off: Iterable[str]) -> dict[str, Any]:
    """A problem and its limits as the engine takes them."""
    leaf_weights, least_weight = problem.leaf_weights
    return {
        "codes": problem.features.codes,
        "sizes": np.array([axis.size for axis in problem.features.axes], dtype=np.int32),
        "categorical": np.array([axis.is_categorical for axis in problem.features.axes], dtype=np.uint8),
        "labels": problem.y,
        "weights": problem.weights,
        "costs": problem.costs,
        "n_labels": len(problem.labels),
        "normaliser": problem.normaliser,
        "regularization": float(problem.regularization),
        # No tree of n rows is deeper or has more leaves than n, and the engine counts in 32 bits.
        "max_depth": -1 if problem.max_depth is None else min(int(problem.max_depth), problem.n_rows),
        "max_leaves": 0 if problem.max_leaves is None else min(int(problem.max_leaves), problem.n_rows),
        "min_samples_leaf": int(problem.min_samples_leaf),
        # Whole numbers of at most 53 binary digits, which are floats as they are.
        "min_weight_leaf": float(least_weight),
        "leaf_weights": leaf_weights.astype(np.float64) if least_weight > 0 else None,
        "arms": problem.arms,
        "n_arms": problem.n_arms,
        "min_samples_arm": int(problem.min_samples_arm),
        "time_limit": math.inf if limits.time_limit is None else float(limits.time_limit),
        "memory_limit": 0 if limits.memory_limit is None else int(limits.memory_limit),
        "n_threads": int(limits.n_threads),
        "switches": sum(SWITCHES[name] for name in set(switched_off)),
    }


def search_good_trees(
    problem: Problem,
    tolerance: float,
    limits: Limits,
    *,
    share: float = 0.0,
    idle: bool = False,
    total: float = 0.0,
    verbose: int = 0,
    switched_off: Iterable[str] = (),
) -> dict[str, Any]:
    """The graph of all trees within a tolerance of the best one, and what is known of it, as plain data.

    `share` is a part of the best objective that is added to the tolerance.

    Where the problem is a part of a larger one, `total` is what the worst labels of that cost: amounts then have one
    unit in all parts. It is also the largest λ that the engine holds: where equal rows with different labels are
    merged, less than λ may be left to save, and within a tolerance it still matters by how much.
    """
    worst = problem.weights if problem.costs is None else problem.costs.max(axis=1)
    total = total or float(np.cumsum(worst)[-1])
    axes = problem.features.axes
    with _nodes_bar(verbose) as show:
        found: dict[str, Any] = _engine.find_good_trees(
            **_describe(problem, limits, switched_off),
            column_of_axis=np.array([axis.column for axis in axes], dtype=np.int32),
            n_columns=len(problem.features.columns),
            tolerance=float(tolerance),
            share=float(share),
            idle=idle,
            total=float(total),
            progress=show,
        )
    return found


ask_engine = _engine.solve
Station = _engine.Station


def open_station(described: Mapping[str, Any], n_threads: int) -> Station:
    """A problem that stays, to look at root tests for other processes; given as `_describe` does, with
    `reference_costs`."""
    asked = ("regularization", "max_depth", "max_leaves", "time_limit")
    return _engine.open_station(**{k: v for k, v in described.items() if k not in asked} | {"n_threads": n_threads})


add_cells = _engine.add_cells
code_values = _engine.code_values
find_places = _engine.find_places
find_leaf_gains = _engine.find_leaf_gains
find_stumps = _engine.find_stumps
NO_GAIN: int = _engine.NOTHING
"""What a leaf gains that is not allowed."""

count_good_trees = _engine.count_good_trees
draw_good_trees = _engine.draw_good_trees
list_good_trees = _engine.list_good_trees
find_row_labels = _engine.find_row_labels
find_best_through = _engine.find_best_through
keep_edges = _engine.keep_edges
keep_leaves = _engine.keep_leaves


def _find_lone_leaf(problem: Problem) -> dict[str, Any]:
    """The only tree there is, as the engine would tell it."""
    objective = measure_loss(problem, problem.lone_leaf()) + problem.regularization
    return {
        **{name: np.array([-1]) for name in ("axis", "code", "left", "right")},
        "upper": objective,
        "lower": objective,
        "status": "optimal",
        "rounding": 0.0,
        "statistics": {"merged_rows": problem.n_rows, "tests": 0, "subproblems": 0},
    }


def read_tree(problem: Problem, found: Mapping[str, Any]) -> Tree:
    """The engine's nodes as tests on columns, parents before children, left before right."""
    axis, code, left, right = (found[name].tolist() for name in ("axis", "code", "left", "right"))
    tests: list[ColumnTest] = []
    children: list[tuple[int, int]] = []

    def add(node: int) -> int:
        place = len(tests)
        is_leaf = axis[node] < 0
        tests.append(LEAF if is_leaf else problem.asked_features.test(axis[node], code[node]))
        children.append((-1, -1))
        if not is_leaf:
            holds, fails = (right, left) if tests[place].is_swapped else (left, right)
            first = add(holds[node])
            children[place] = (first, add(fails[node]))
        return place

    add(0)
    return problem.make_tree(
        [test.column for test in tests],
        [test.threshold for test in tests],
        [test.category for test in tests],
        [test.missing_left for test in tests],
        [pair[0] for pair in children],
        [pair[1] for pair in children],
    )


@contextmanager
def _nodes_bar(verbose: int) -> Iterator[Callable[[int, int], None] | None]:
    """A bar over the nodes of a graph that are known so far; nothing where `verbose` is 0."""
    if not verbose:
        yield None
        return
    with tqdm(total=1, bar_format="{elapsed} |{bar:24}| {desc}", leave=False) as bar:

        def show(looked_at: int, known: int) -> None:
            bar.total, bar.n = known, looked_at
            bar.set_description_str(f"parts of good trees: {looked_at:,} of {known:,} known ones searched")

        yield show


@contextmanager
def _progress_bar(verbose: int) -> Iterator[Progress | None]:
    """A bar that fills as the lower bound nears the objective; nothing where `verbose` is 0."""
    if not verbose:
        yield None
        return
    with tqdm(total=1.0, bar_format="{elapsed} |{bar:24}| {desc}", leave=True) as bar:

        def show(_elapsed: float, upper: float, lower: float) -> None:
            bar.n = 1.0 if upper <= lower else max(lower, 0.0) / upper
            bar.set_description_str(f"objective {upper:.6g}  lower bound {lower:.6g}  gap {upper - lower:.3g}")

        yield show
