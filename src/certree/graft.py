"""All good trees that begin with a start: the graphs of its leaves, joined by its tests.

The best tree is the best tree of every part together, so a good tree is one whose parts, each by itself, are within the
tolerance of their best: the sets of the parts are found one by one, in amounts of one unit, and what their trees cost
together is decided in the joined graph. Where `max_leaves` forbids to have the best of every part at once, the parts
are searched again, with a tolerance that is larger by what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certree.limits import Clock, Limits
from certree.problem import Problem
from certree.solver import keep_edges, keep_leaves, list_good_trees, search, search_good_trees
from certree.start import Branch

UNREACHABLE = (2**63 - 1) // 8
"""What the engine says of a tree that does not exist."""

ENDS = ("interrupted", "time_limit", "memory_limit", "complete")


def search_started(
    problem: Problem, tolerance: float, limits: Limits, *, idle: bool, is_bare: bool, verbose: int = 0
) -> dict[str, Any]:
    """What `search_good_trees` finds, for a problem with a start. `is_bare`: nothing may be added to the start."""
    clock = Clock(limits)
    settings: dict[str, Any] = {"idle": idle, "is_bare": is_bare, "verbose": verbose}
    found = _search_parts(problem, tolerance, 0.0, clock, **settings)
    if found["is_complete"] and found["optimum"] > found["lower"]:
        # The best of all parts together have too many leaves.
        within = found["tolerance"]
        best = search(problem, clock.left(0.5))
        least = math.ldexp(float(found["lower"] + found["offset"]) * found["factor"], found["exponent"])
        extra = max(best.upper - least, 0.0) + 4 * best.rounding + 1e-9 * abs(best.upper)
        found = _search_parts(problem, tolerance, extra, clock, **settings)
        if found["is_complete"]:
            found["lower"] = found["optimum"]
        found["graph"] = _tighten(found["graph"], found["lower"] + within)
    return found


def _search_parts(
    problem: Problem, tolerance: float, extra: float, clock: Clock, *, idle: bool, is_bare: bool, verbose: int
) -> dict[str, Any]:
    """The joined graph of the parts, each with the tolerance and what comes on top of it.

    `lower` is what the best of every part cost together, and `optimum` what the best tree costs that has no more leaves
    than allowed.
    """
    worst = problem.weights if problem.costs is None else problem.costs.max(axis=1)
    total = float(np.cumsum(worst)[-1])
    order = sorted(range(len(problem.parts)), key=lambda place: len(problem.parts[place].leaf.rows))
    parts: dict[int, dict[str, Any]] = {}
    for turn, place in enumerate(order):
        part = problem.parts[place].problem
        if is_bare or not (part.allows_split if idle else part.has_room_to_split):
            part = replace(part, max_depth=0, max_leaves=None)
        left = clock.left(1 / (len(order) - turn))
        if left.memory_limit is not None:
            used = sum(int(found["statistics"]["bytes"]) for found in parts.values())
            left = replace(left, memory_limit=max(left.memory_limit - used, 1))
        parts[place] = search_good_trees(part, tolerance + extra, left, idle=idle, total=total, verbose=verbose)
        if parts[place]["status"] == "interrupted":
            clock.stop()
    found = [parts[place] for place in range(len(order))]
    joined = _join(problem, found)
    graph = joined["graph"]
    graph["budget"] = joined["lower"] + joined["tolerance"]
    if problem.max_leaves is not None:
        most = min(int(problem.max_leaves), problem.n_rows)
        graph = keep_leaves(graph=graph, least=1, most=most)
    else:
        graph = _tighten(graph, graph["budget"])
    joined["graph"] = graph
    if joined["is_complete"]:
        values = list_good_trees(graph=graph, first=0, last=1)["value"].tolist()
        joined["optimum"] = values[0] if values else UNREACHABLE
    return joined


def _tighten(graph: dict[str, Any], budget: int) -> dict[str, Any]:
    return keep_edges(
        graph=graph, is_kept=np.ones(len(graph["axis"]), dtype=np.uint8), has_lone_leaf=True, budget=budget
    )


def _join(problem: Problem, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One graph: a node for each test of the start, then the nodes of the parts."""
    assert problem.start is not None
    first = parts[0]
    n_words, branches = first["n_words"], list(problem.start.branches())
    # Where the nodes of each part begin, and the numbers of its sets of columns.
    node_at = np.cumsum([len(branches), *(len(found["graph"]["leaf"]) for found in parts)])
    sets_at = np.cumsum([len(branches), *(len(found["column_sets"]) // max(1, n_words) for found in parts)])
    waiting = iter(node_at.tolist())
    places = {id(branch): place for place, branch in enumerate(branches)}
    sides = [(-1, -1)] * len(branches)

    def number(side: Any) -> int:
        if not isinstance(side, Branch):
            return int(next(waiting))
        place = places[id(side)]
        left = number(side.left)
        sides[place] = left, number(side.right)
        return place

    number(problem.start)
    n_axes = len(problem.features.axes)
    own_sets = np.zeros((len(branches), n_words), dtype=np.uint64)
    for place, branch in enumerate(branches):
        own_sets[place, branch.column // 64] = np.uint64(1 << (branch.column % 64))
    head: dict[str, Any] = {
        "leaf": np.full(len(branches), UNREACHABLE, dtype=np.int64),
        "label": np.zeros(len(branches), dtype=np.int32),
        "is_asked": np.zeros(len(branches), dtype=np.uint8),
        "axis": np.arange(n_axes, n_axes + len(branches), dtype=np.int32),
        "code": np.zeros(len(branches), dtype=np.int32),
        "left": np.array([left for left, _ in sides], dtype=np.int32),
        "right": np.array([right for _, right in sides], dtype=np.int32),
        "columns": np.arange(len(branches), dtype=np.int32),
        "ways": np.ones(len(branches), dtype=np.int32),
    }
    pieces: dict[str, list[Any]] = {name: [values] for name, values in head.items()}
    first_edge = [np.arange(len(branches) + 1, dtype=np.int64)]
    n_edges = len(branches)
    for place, found in enumerate(parts):
        graph = found["graph"]
        for name in ("leaf", "label", "axis", "code", "ways"):
            pieces[name].append(graph[name])
        pieces["is_asked"].append((np.arange(len(graph["leaf"])) == 0).astype(np.uint8))
        for name in ("left", "right"):
            pieces[name].append((graph[name] + node_at[place]).astype(np.int32))
        pieces["columns"].append((graph["columns"] + sets_at[place]).astype(np.int32))
        first_edge.append(graph["first_edge"][1:] + n_edges)
        n_edges += len(graph["axis"])
    graph = {name: np.ascontiguousarray(np.concatenate(values)) for name, values in pieces.items()}
    graph["first_edge"] = np.concatenate(first_edge)
    graph["has_idle"] = first["graph"]["has_idle"]
    lower = sum(found["lower"] for found in parts)
    # No tree at all costs less than the parts' bounds together, whatever else is known of what is missing.
    missing = max(lower, min(found["missing"] + lower - found["lower"] for found in parts))
    return {
        **{name: first[name] for name in ("n_words", "factor", "exponent", "penalty", "tolerance")},
        "graph": graph,
        "column_sets": np.concatenate([own_sets.reshape(-1), *(found["column_sets"] for found in parts)]),
        "offset": sum(found["offset"] for found in parts),
        "optimum": sum(found["optimum"] for found in parts),
        "lower": lower,
        "missing": min(missing, UNREACHABLE),
        "is_complete": all(found["is_complete"] for found in parts),
        "status": min((found["status"] for found in parts), key=ENDS.index),
        "rounding": math.fsum(found["rounding"] for found in parts),
        "statistics": {
            "merged_rows": sum(found["statistics"]["merged_rows"] for found in parts),
            "tests": max(found["statistics"]["tests"] for found in parts),
            "nodes_searched": sum(found["statistics"]["nodes_searched"] for found in parts),
            "bytes": sum(found["statistics"]["bytes"] for found in parts),
        },
    }
