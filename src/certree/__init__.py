"""certree: certified optimal sparse decision trees for weighted data."""

from certree import certify
from certree.estimators import SparseTreeClassifier
from certree.path import regularization_path
from certree.problem import Problem
from certree.solution import Solution
from certree.solver import PACKAGE_VERSION, Limits, solve
from certree.tree import Tree

__version__ = PACKAGE_VERSION

__all__ = [
    "Limits",
    "Problem",
    "Solution",
    "SparseTreeClassifier",
    "Tree",
    "__version__",
    "certify",
    "regularization_path",
    "solve",
]
