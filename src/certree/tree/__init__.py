"""An immutable binary tree as parallel arrays.

This room promises that a tree is whole by itself: with its columns, its labels and what its rows weighed it can
predict a raw table, explain every node in words, and travel through JSON and pickle, without the data it was fitted
on, the engine or the estimator. A tree is never changed; its arrays are read-only.

The conventions, everywhere: node 0 is the root, a child comes after its parent, *left* is where the test holds, and a
lone leaf has depth 0.
"""

from certree.tree.asked import Asked, EditError, UnknownCategoryError, find_column, read_test, write_test
from certree.tree.columns import READABLE, Array, Column, Digits, Kind, Test, Value, format_number, plain_value
from certree.tree.nodes import DEEPEST, Labels, Names, Tree, find_hidden, tree_of
from certree.tree.plain import FORMAT, LARGEST_INDEX

__all__ = [
    "DEEPEST",
    "FORMAT",
    "LARGEST_INDEX",
    "READABLE",
    "Array",
    "Asked",
    "Column",
    "Digits",
    "EditError",
    "Kind",
    "Labels",
    "Names",
    "Test",
    "Tree",
    "UnknownCategoryError",
    "Value",
    "find_column",
    "find_hidden",
    "format_number",
    "plain_value",
    "read_test",
    "tree_of",
    "write_test",
]
