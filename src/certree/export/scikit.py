"""A fitted scikit-learn tree that predicts the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from certree.tree import Array, Test, Tree, tree_of


def to_sklearn(model: Any) -> DecisionTreeClassifier:
    """A fitted scikit-learn tree that predicts the same, so that scikit-learn's ecosystem works on it.

    It takes the same columns as numbers (booleans as 0 and 1, ordered text as its place in the order, from 0) and sends
    missing values the same way. scikit-learn
    reads its input as 32-bit floats: a value so near to a threshold that 32 bits cannot tell them apart may go the
    other way.

    A scikit-learn tree only asks "<=". A test for one category is put so where the categories are numbers and this one
    is the lowest or the highest of them; any other is a ValueError that names the column: one-hot encode it before the
    fit. A number that training did not see among the categories is then sorted by its size, where the tree itself sends
    it with all the others. Where the rows carry no labels (costs, rewards) the probabilities are 1 for the leaf's
    label.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What to turn into a `DecisionTreeClassifier`.

    Returns
    -------
    DecisionTreeClassifier
        Fitted.

    Raises
    ------
    ValueError
        If a test for one category cannot be asked by "<="; the message names the column.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, to_sklearn
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> to_sklearn(model).predict([[2.0]]).tolist()
    ['yes']
    """
    tree = tree_of(model)
    order = list(tree.walk())
    number = {node: position for position, node in enumerate(order)}

    # scikit-learn's own arrays, with the fields of the installed version, come from a tree of its making.
    greedy = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    blank = greedy.tree_.__getstate__()
    nodes = np.zeros(tree.n_nodes, dtype=blank["nodes"].dtype)
    values = _label_shares(tree)
    for node in order:
        entry = nodes[number[node] : number[node] + 1]
        entry["impurity"] = 1 - np.sum(values[node] ** 2)
        entry["n_node_samples"], entry["weighted_n_node_samples"] = tree.rows[node], tree.weight[node]
        if tree.column[node] < 0:
            entry["left_child"] = entry["right_child"] = -1
            entry["feature"], entry["threshold"] = -2, -2.0
            continue
        threshold, is_swapped = _as_threshold(tree.test(node))
        left, right = int(tree.left[node]), int(tree.right[node])
        if is_swapped:
            left, right = right, left
        entry["left_child"], entry["right_child"] = number[left], number[right]
        entry["feature"], entry["threshold"] = tree.column[node], threshold
        entry["missing_go_to_left"] = bool(tree.missing_left[node]) != is_swapped

    classes = getattr(model, "classes_", np.array(tree.labels))
    result = DecisionTreeClassifier()
    result.classes_, result.n_classes_, result.n_outputs_ = classes, len(classes), 1
    result.n_features_in_ = result.max_features_ = len(tree.columns)
    if hasattr(model, "feature_names_in_"):
        result.feature_names_in_ = model.feature_names_in_
    result.tree_ = type(greedy.tree_)(len(tree.columns), np.array([len(classes)], dtype=np.intp), 1)
    result.tree_.__setstate__(
        blank
        | {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values[order][:, None, :]),
        }
    )
    return result


def _label_shares(tree: Tree) -> Array:
    """Nodes × labels: shares of the weight, such that the largest (the first of equals) is the node's own label."""
    is_label = np.arange(len(tree.labels)) == tree.label[:, None]
    if tree.label_weights is None:
        return np.asarray(is_label, dtype=np.float64)
    shares: Array = tree.label_weights / tree.label_weights.sum(axis=1, keepdims=True)
    # Sums of weights in another order may turn a tie: the last bit puts it right.
    largest = np.nextafter(shares.max(axis=1, keepdims=True), np.inf)
    is_overruled = shares.argmax(axis=1) != tree.label
    return np.asarray(np.where(is_label & is_overruled[:, None], largest, shares))


def _as_threshold(test: Test) -> tuple[float, bool]:
    """The test as "<= threshold", and whether the children change sides for it."""
    column = test.column
    if test.threshold is not None:
        return _number_of_place(test) if column.kind == "ordered" else test.threshold, False
    if column.kind == "boolean" and test.category is not None:
        return 0.5, bool(test.category)
    if test.category is None:
        if column.kind == "categorical" and any(isinstance(category, str) for category in column.categories):
            raise ValueError(_refusal(column.name, "is text"))
        return -math.inf, False
    if any(isinstance(category, str) for category in column.categories):
        raise ValueError(_refusal(column.name, "is text"))
    numbers = sorted(float(category) for category in column.categories)
    own = float(test.category)
    if own == numbers[0]:
        return (own + numbers[1]) / 2 if len(numbers) > 1 else own, False
    if own == numbers[-1]:
        return (own + numbers[-2]) / 2, True
    raise ValueError(_refusal(column.name, f"is asked for a category between others, {test.category!r}"))


def _number_of_place(test: Test) -> float:
    """The threshold of an ordered column: of text a place, of numbers, which stand for themselves, a number."""
    categories = test.column.categories
    assert test.threshold is not None
    if any(isinstance(category, str) for category in categories):
        return test.threshold
    numbers = [float(category) for category in categories]
    if numbers != sorted(numbers):
        raise ValueError(_refusal(test.column.name, "has numbers in an order of its own"))
    return numbers[int(test.threshold)]


def _refusal(name: str, reason: str) -> str:
    return (
        f"a scikit-learn tree cannot ask what this one asks of column {name!r}: it {reason}, and scikit-learn's trees "
        "only ask “<=” of numbers; one-hot encode the column before the fit"
    )
