"""certree: certified optimal sparse decision trees for weighted data."""

from certree import certify, datasets, policy, study, weights
from certree.estimators import SparseTreeClassifier
from certree.export import export_dot, export_json, export_latex, export_text, load, to_sklearn
from certree.guesses import guess_depth, guess_thresholds
from certree.path import regularization_path
from certree.plot import plot_budget_curve, plot_tree
from certree.policy import PolicyTree
from certree.problem import Problem
from certree.solution import Solution
from certree.solver import PACKAGE_VERSION, Limits, solve
from certree.tree import Tree

__version__ = PACKAGE_VERSION

__all__ = [
    "Limits",
    "PolicyTree",
    "Problem",
    "Solution",
    "SparseTreeClassifier",
    "Tree",
    "__version__",
    "certify",
    "datasets",
    "export_dot",
    "export_json",
    "export_latex",
    "export_text",
    "guess_depth",
    "guess_thresholds",
    "load",
    "plot_budget_curve",
    "plot_tree",
    "policy",
    "regularization_path",
    "solve",
    "study",
    "to_sklearn",
    "weights",
]
