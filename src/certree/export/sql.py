"""The tree as a CASE expression, so that a database can predict: tested equal to `predict` in SQLite and DuckDB."""

from __future__ import annotations

import math
from typing import Any

from certree.export.text import named_tree
from certree.tree import Labels, Names, Test, Value

INDENT = "  "


def export_sql(
    model: Any, *, name: str | None = "prediction", feature_names: Names = None, class_names: Labels = None
) -> str:
    """The tree as a SQL expression, for `SELECT`: a CASE with one WHEN per test.

    Thresholds are written exactly, as floating-point numbers. A missing value is NULL and goes where the model sends
    it; NaN, which some databases tell from NULL, must be turned into NULL first. A category that training did not see
    fails every test for a category. Only the tested columns are named, in double quotes as standard SQL has it.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What the expression computes the prediction of.
    name : str or None, default="prediction"
        The name of the resulting column. None gives the bare expression.
    feature_names : list of names or mapping, default=None
        Names of the columns in the database, where they differ: all of them in order, or those that differ, by their
        own name.
    class_names : list of labels or mapping, default=None
        What to write for each label or action, likewise.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_sql
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_sql(model, feature_names=["age"]))
    CASE WHEN "age" <= 1.5e0
      THEN 'no'
      ELSE 'yes'
    END AS "prediction"

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name does not exist, or if the number of names is wrong.
    TypeError
        If the model is neither a fitted estimator nor a tree.
    """
    tree = named_tree(model, feature_names, class_names)
    # A child comes after its parent, so from the last node to the first both sides of a test are written already.
    written: dict[int, list[str]] = {}
    for node in reversed(range(tree.n_nodes)):
        if tree.column[node] < 0:
            written[node] = [_literal(tree.node_label(node))]
            continue
        left, right = written.pop(int(tree.left[node])), written.pop(int(tree.right[node]))
        written[node] = [
            f"CASE WHEN {_condition(tree.test(node))}",
            *_branch("THEN", left),
            *_branch("ELSE", right),
            "END",
        ]
    text = "\n".join(written[0])
    return text if name is None else f"{text} AS {_identifier(name)}"


def _branch(word: str, lines: list[str]) -> list[str]:
    return [f"{INDENT}{word} {lines[0]}", *(INDENT + line for line in lines[1:])]


def _condition(test: Test) -> str:
    """What a row must fulfil to go left. A comparison with NULL is not fulfilled, so that such rows go right."""
    column = _identifier(test.column.name)
    if test.threshold is None:
        return f"{column} IS NULL" if test.category is None else f"{column} = {_literal(test.category)}"
    if test.column.kind == "ordered":
        below = test.column.categories[: int(test.threshold) + 1]
        condition = f"{column} IN ({', '.join(map(_literal, below))})"
    else:
        condition = f"{column} <= {_literal(test.threshold)}"
    return f"({condition} OR {column} IS NULL)" if test.missing_left else condition


def _identifier(name: str) -> str:
    return '"' + _check(name).replace('"', '""') + '"'


def _literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + _check(value).replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"SQL has no number {value!r}")
        # With an exponent it is a floating-point number everywhere; without one, some databases read a decimal.
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return repr(value)


def _check(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"SQL cannot hold {text!r}: it has a NUL character")
    return text
