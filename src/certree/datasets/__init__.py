"""Data sets: the embedded one, generated ones, and named tables of a data directory, each read with checks.

Every function returns a scikit-learn `Bunch` and touches neither the network nor global random state.
"""

from certree.datasets.embedded import load_lalonde
from certree.datasets.generated import make_policy, make_weighted
from certree.datasets.named import fetch

__all__ = ["fetch", "load_lalonde", "make_policy", "make_weighted"]
