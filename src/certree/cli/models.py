"""A model on the command line: printed for people, and opened together with the table that it is about."""

from __future__ import annotations

import argparse
from typing import Any

from certree.cli.columns import print_columns
from certree.cli.inputs import (
    drop_missing,
    load_certified,
    pick_columns,
    read_data,
    read_labels,
    read_weights,
    text_columns,
)
from certree.estimators import SparseTreeClassifier, TreeEstimator
from certree.export import export_text
from certree.policy import PolicyTree
from certree.table import Table


def print_model(model: TreeEstimator) -> None:
    print(export_text(model), end="\n\n")
    print(model.certificate_.summary(model.tree_.labels))


def open_model(options: argparse.Namespace) -> tuple[SparseTreeClassifier | PolicyTree, Table, Table]:
    """The model, the whole table, and the columns that the model was fitted with; what they were read as is printed."""
    model = load_certified(options.model)
    tree = model.tree_
    has_text_labels = all(isinstance(label, str) for label in tree.labels)
    named = {options.label, options.treatment} - {None} if has_text_labels else set()
    table = read_data(options, {*text_columns(tree), *named})
    outcome = getattr(options, "outcome", None)
    cluster = getattr(options, "cluster", None)
    targets = (options.label, options.weight, options.treatment, outcome, cluster, *(options.rewards or []))
    table = drop_missing(table, options, *targets)
    X = pick_columns(table, tree, options.data)
    print_columns(options, tree.read(X), [column.kind == "categorical" for column in tree.columns])
    return model, table, X


def read_target(options: argparse.Namespace, table: Table) -> dict[str, Any]:
    """The labels of a classifier and the weights of its rows, as functions take them."""
    if options.label is None:
        raise ValueError(f"{options.model} predicts labels: name their column with --label")
    return {"y": read_labels(table, options), "sample_weight": read_weights(table, options)}
