"""All good trees: the complete set of trees within a tolerance of the best one, and what they agree on.

The engine finds the set as a graph (docs/method.md, section 13); this room reads it. It promises that what is stated
holds for every tree of the set, whether it was ever written down or not, and that a set is plain data: it pickles, and
holds no object of the engine.
"""

from certree.tree_set.facts import ColumnFact, CutFact, RootFact, RowFacts, TreeCount
from certree.tree_set.find import find_tree_set, good_trees, read_share
from certree.tree_set.member import GoodTree, holds_of
from certree.tree_set.trees import TreeSet, without_nan

__all__ = [
    "ColumnFact",
    "CutFact",
    "GoodTree",
    "RootFact",
    "RowFacts",
    "TreeCount",
    "TreeSet",
    "find_tree_set",
    "good_trees",
    "holds_of",
    "read_share",
    "without_nan",
]
