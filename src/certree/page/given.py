"""What a page is about, read and checked: the model, its table, and what the model's certificate says of its settings.

A model that was saved and loaded has lost settings that are no plain data. So what matters is read from the
certificate, which says what was searched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from certree.estimators import SparseTreeClassifier
from certree.policy import Log, PolicyTree
from certree.policy.evaluation import Evaluation
from certree.problem import check_weights
from certree.selection import LossEvaluation, SparseTreeCV
from certree.table import Table
from certree.tree import Array, Tree


@dataclass(frozen=True)
class Given:
    """What the page is about."""

    model: SparseTreeClassifier | PolicyTree
    whole: Any
    """The same or, of one that chose its penalty, what chose it."""
    X: Any
    table: Table
    """The same, read."""
    sample_weight: Any
    """As it was given."""
    weights: Array
    """Of the rows, times the weights of their labels."""
    y: Any
    """Labels; None for a policy."""
    rewards: Any
    """n × K numbers or Scores; None for a classifier, and where only a log was given."""
    log: Log | None
    evaluation: Evaluation | LossEvaluation | None
    spends: Any
    control: Any
    group: Any
    folds: int
    tolerance: float | None
    random_state: Any

    @property
    def is_policy(self) -> bool:
        return isinstance(self.model, PolicyTree)

    @property
    def fit_weight(self) -> Array | None:
        """The weights for other fits on this table; None where all rows weigh the same."""
        return None if (self.weights == self.weights[0]).all() else self.weights

    @property
    def has_budget(self) -> bool:
        """Whether the model has a budget."""
        return "budget" in self.model.certificate_

    @property
    def budget(self) -> float:
        """The largest mean spend; infinite where the model merely records what it spends."""
        largest = self.model.certificate_["budget"]["largest"]
        return math.inf if largest is None else float(largest)

    @property
    def is_edited(self) -> bool:
        return self.model.start is not None or self.model.forbidden is not None

    @property
    def has_all_tests(self) -> bool:
        """Whether its thresholds were all, or so many per column, and not guessed."""
        return isinstance(self.model.certificate_["thresholds"], (str, int))

    @property
    def is_exact(self) -> bool:
        """Whether neither weights nor bounds were approximate."""
        return not {"weighing", "reference"} & set(self.model.certificate_.get("guarantees", {}))

    @property
    def limits(self) -> dict[str, Any]:
        """The settings that a front, a curve and a set of good trees share with the model."""
        stated = self.model.certificate_
        names = ["max_depth", "max_leaves", "min_samples_leaf"]
        names.append("min_samples_arm" if self.is_policy else "min_weight_leaf")
        return {name: stated["constraints"][name] for name in names} | {"thresholds": stated["thresholds"]}

    def find_lost(self) -> str:
        """What a saved model has lost of the settings that it was fitted with; empty where it can be fitted again."""
        guarantees = self.model.certificate_.get("guarantees", {})
        if "reference" in guarantees and self.model.reference is None:
            return "its reference model"
        if (
            not self.has_all_tests
            and isinstance(self.model.thresholds, (str, int))
            and self.model.thresholds != "guess"
        ):
            return "its guessed thresholds"
        return ""

    def make_anew(self) -> Any:
        """The model to fit again on parts of the rows: its labels' weights are in `weights` already."""
        model = clone(self.whole)
        return model if self.is_policy else model.set_params(class_weight=None)


def read_given(
    model: Any, X: Any, y: Any, sample_weight: Any, *, log: Any, evaluation: Any, group: Any, **others: Any
) -> Given:
    """Find out what is what: a log may stand in the place of X or of y."""
    whole, model = (
        model,
        model.best_estimator_ if isinstance(model, SparseTreeCV) and hasattr(model, "tree_") else model,
    )
    if not isinstance(model, (SparseTreeClassifier, PolicyTree)):
        raise TypeError(
            f"report takes a fitted SparseTreeClassifier, SparseTreeCV or PolicyTree, not {type(model).__name__}"
        )
    if not hasattr(model, "tree_"):
        raise ValueError("the model is not fitted: call fit first")
    is_policy = isinstance(model, PolicyTree)
    placed = next((given for given in (X, y) if isinstance(given, Log)), None)
    log = log if placed is None else placed
    if log is not None and not is_policy:
        raise ValueError("a log of decisions goes with a PolicyTree; a classifier needs X and the labels y")
    wanted = Evaluation if is_policy else LossEvaluation
    if not isinstance(evaluation, (wanted, type(None))):
        how = "policy.evaluate" if is_policy else "certree.evaluate"
        raise TypeError(f"evaluation must be what {how} returns, not {type(evaluation).__name__}")
    if group is not None and is_policy and (log is None or evaluation is not None):
        raise ValueError(
            "the group of a policy goes with a log of decisions that is evaluated here: pass a policy.Log, and no "
            "evaluation"
        )
    X = X.X if isinstance(X, Log) else X
    values = None if isinstance(y, Log) else y
    if values is None and (log is None or not is_policy):
        raise ValueError(
            "y is missing: give the rewards that the policy was fitted on, or a policy.Log"
            if is_policy
            else "y is missing: give the labels that the model was fitted on"
        )
    table = model.tree_.read(X)
    weights = check_weights(sample_weight, table.n_rows, table)
    if group is not None and not is_policy and np.shape(group) != (table.n_rows,):
        raise ValueError(
            f"group must have one entry for each of the {table.n_rows} rows, not the shape {np.shape(group)}"
        )
    return Given(
        model=model,
        whole=whole,
        X=X,
        table=table,
        sample_weight=sample_weight,
        weights=weights if is_policy else weights * _class_factors(model, values, table.n_rows),
        y=None if is_policy else values,
        rewards=values if is_policy else None,
        log=log,
        evaluation=evaluation,
        group=group,
        **others,
    )


def _class_factors(model: SparseTreeClassifier, y: Any, n_rows: int) -> Array:
    """The weight of each row's label."""
    factors = model.certificate_.get("class_weights")
    if factors is None:
        return np.ones(n_rows)
    place = {label: number for number, label in enumerate(model.classes_.tolist())}
    return np.array([factors[place[label]] if label in place else 1.0 for label in np.asarray(y).tolist()])


def check_names(tree: Tree) -> None:
    """Two columns or labels of one name could not be told apart on the page."""
    for what, names in (
        ("names", [column.name for column in tree.columns]),
        ("labels", [str(label) for label in tree.labels]),
    ):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{what}: {twice[0]!r} is the name of more than one")
