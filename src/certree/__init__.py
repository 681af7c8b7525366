"""certree: certified optimal sparse decision trees for weighted data."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from certree import certify, datasets, policy, study, weights
    from certree.certificate import Certificate
    from certree.estimators import SparseTreeClassifier
    from certree.export import export_dot, export_json, export_latex, export_sql, export_text, load, to_sklearn
    from certree.guesses import guess_depth, guess_thresholds
    from certree.limits import Limits
    from certree.page import report
    from certree.path import regularization_path
    from certree.plot import (
        plot_agreement,
        plot_budget_curve,
        plot_columns,
        plot_cuts,
        plot_path,
        plot_tree,
        plot_trees,
    )
    from certree.policy import PolicyTree
    from certree.problem import Problem
    from certree.reading import ColumnReading, IdleTestWarning, ReadingWarning
    from certree.selection import SparseTreeCV, evaluate
    from certree.solution import Solution
    from certree.solver import solve
    from certree.tree import Tree
    from certree.tree_set import TreeSet, good_trees

__version__ = version("certree")

__all__ = [
    "Certificate",
    "ColumnReading",
    "IdleTestWarning",
    "Limits",
    "PolicyTree",
    "Problem",
    "ReadingWarning",
    "Solution",
    "SparseTreeCV",
    "SparseTreeClassifier",
    "Tree",
    "TreeSet",
    "__version__",
    "certify",
    "datasets",
    "evaluate",
    "export_dot",
    "export_json",
    "export_latex",
    "export_sql",
    "export_text",
    "good_trees",
    "guess_depth",
    "guess_thresholds",
    "load",
    "plot_agreement",
    "plot_budget_curve",
    "plot_columns",
    "plot_cuts",
    "plot_path",
    "plot_tree",
    "plot_trees",
    "policy",
    "regularization_path",
    "report",
    "solve",
    "study",
    "to_sklearn",
    "weights",
]

_ROOMS = {
    "certificate": ("Certificate",),
    "estimators": ("SparseTreeClassifier",),
    "export": ("export_dot", "export_json", "export_latex", "export_sql", "export_text", "load", "to_sklearn"),
    "guesses": ("guess_depth", "guess_thresholds"),
    "limits": ("Limits",),
    "page": ("report",),
    "path": ("regularization_path",),
    "plot": (
        "plot_agreement",
        "plot_budget_curve",
        "plot_columns",
        "plot_cuts",
        "plot_path",
        "plot_tree",
        "plot_trees",
    ),
    "policy": ("PolicyTree",),
    "problem": ("Problem",),
    "reading": ("ColumnReading", "IdleTestWarning", "ReadingWarning"),
    "selection": ("SparseTreeCV", "evaluate"),
    "solution": ("Solution",),
    "solver": ("solve",),
    "tree": ("Tree",),
    "tree_set": ("TreeSet", "good_trees"),
}
"""Where the names of `__all__` that are not rooms themselves come from."""


def __getattr__(name: str) -> Any:
    """Rooms and names are imported when they are first asked for.

    To import all of them takes long enough to press Ctrl-C, and the command line has a say in what that means.
    """
    for room, names in _ROOMS.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
            return value
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
