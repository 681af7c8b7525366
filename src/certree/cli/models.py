"""A tree and its certificate, for people."""

from __future__ import annotations

from certree.estimators import TreeEstimator
from certree.export import export_text


def print_model(model: TreeEstimator) -> None:
    print(export_text(model), end="\n\n")
    print(model.certificate_.summary(model.tree_.labels))
