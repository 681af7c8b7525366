"""Lower bounds guessed by a reference model, and what they truly prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from certree.guesses.boosted import boost, read_matrix
from certree.problem import Problem
from certree.table import name_row

Array = NDArray[Any]


@dataclass(frozen=True)
class ReferenceAccount:
    """What a reference model's costs say about a search that used them as lower-bound guesses."""

    loss: float
    """The reference's own weighted loss, in units of R."""
    excess: float
    """The most by which a guessed bound can lie above the objective of a tree, and so R(t_g) above the optimum."""
    floor: float
    """What no tree is below, whatever the reference."""
    lone_leaf_bound: float
    """The right side of Theorem 1 for the best lone leaf."""

    def lower(self, guessed: float) -> float:
        """The true lower bound that is still known beside a guessed one."""
        return max(guessed - self.excess, self.floor)

    def state(self, guessed: float, is_finished: bool) -> dict[str, Any]:
        """Theorem 1 and its numbers as plain data."""
        return {
            "statement": state_reference(is_finished=is_finished),
            "reference_loss": self.loss,
            "lone_leaf_bound": self.lone_leaf_bound,
            "guessed_lower_bound": guessed,
            "excess": self.excess,
            "floor": self.floor,
        }


def state_reference(*, is_finished: bool) -> str:
    """What is known of a tree that was searched with a reference, in words."""
    theorem = (
        "Theorem 1: objective <= reference_loss + (loss of t where the reference is right) + λ·leaves(t) for every "
        "tree t that the constraints allow; for the best lone leaf the right side is lone_leaf_bound. "
        if is_finished
        else "The search was stopped: Theorem 1 says nothing about its tree. "
    )
    return theorem + "No tree is below lower_bound = max(guessed_lower_bound − excess, floor)."


def account_reference(problem: Problem, reference_costs: Array) -> ReferenceAccount:
    """What is truly known when costs of a reference (one per row of the problem) are used as lower-bound guesses.

    The engine merges rows that no test tells apart. For such a group g let c[g, k] be the cost of label k, less that of
    its best label, and r[g] the reference's cost less the same, kept within 0 .. max_k c[g, k]. Any guessed bound B has
    B <= Σ_g max(r[g], c[g, t]) + what no tree avoids + λ·leaves(t) for every tree t, which is at most R(t) + Σ_g r[g].
    """
    groups, costs = problem.equal_rows, problem.group_costs()
    least = costs.min(axis=1)
    own = np.bincount(groups, reference_costs, minlength=len(costs))
    slack = float(np.finfo(float).eps) * (problem.n_rows + 8)
    excess = math.fsum(np.clip(own - least, 0.0, costs.max(axis=1) - least).tolist()) / problem.normaliser + slack
    per_row = cost_rows(problem)
    worse = np.maximum(per_row, reference_costs[:, None])
    # The smallest tree: a lone leaf, or the start with nothing added.
    leaves = [slice(None)] if problem.start is None else [leaf.rows for leaf in problem.start_leaves]
    union = math.fsum(worse[rows].sum(axis=0).min() for rows in leaves) / problem.normaliser
    return ReferenceAccount(
        loss=math.fsum(reference_costs.tolist()) / problem.normaliser,
        excess=excess,
        floor=problem.floor(),
        lone_leaf_bound=union + float(problem.regularization) * len(leaves),
    )


def cost_rows(problem: Problem) -> Array:
    """float64, rows × labels."""
    if problem.costs is not None:
        return problem.costs
    assert problem.y is not None
    return np.where(np.arange(len(problem.labels)) != problem.y[:, None], problem.weights[:, None], 0.0)


def charge_reference(problem: Problem, predicted: Array) -> Array:
    """float64, one per row: what the reference's label (an index into the problem's) costs."""
    return np.ascontiguousarray(cost_rows(problem)[np.arange(problem.n_rows), predicted])


# The reference --------------------------------------------------------------------------------------------------------


def predict_boosting(problem: Problem, random_state: Any = None) -> Array:
    """int, one per row: the label that a boosted model of the problem itself predicts."""
    assert problem.y is not None, "a boosted model needs labels"
    if not problem.features.axes or len(np.unique(problem.y)) < 2:
        return np.full(problem.n_rows, np.argmax(np.bincount(problem.y, problem.weights)))
    matrix, _ = read_matrix(problem.features)
    model = boost(matrix, problem.y, problem.weights, random_state=random_state)
    return np.asarray(model.predict(matrix))


def predict_reference(reference: Any, X: Any, y: Any, weights: Array, classes: Array) -> Array:
    """int, one per row of positive weight: the label (an index into `classes`) that a reference predicts.

    `reference` is an array of predictions (one per row of X), a fitted classifier, or one that is fitted here: a copy,
    on the rows of positive weight, with the weights where it takes them.
    """
    rows = np.flatnonzero(weights > 0)
    if hasattr(reference, "predict"):
        table = _safe_indexing(X, rows)
        if _is_fitted(reference):
            model = reference
        else:
            try:
                model = _fit_with_weights(clone(reference), table, _safe_indexing(y, rows), weights[rows])
            except (TypeError, ValueError) as error:
                raise ValueError(f"reference ({type(reference).__name__}) cannot be fitted: {error}") from error
        try:
            predicted = np.asarray(model.predict(table))
        except (TypeError, ValueError) as error:
            raise ValueError(f"reference ({type(model).__name__}) cannot predict X: {error}") from error
    else:
        predicted = np.asarray(reference)
        if predicted.shape != weights.shape:
            raise ValueError(f"reference has shape {predicted.shape}, but X has {len(weights)} rows")
        predicted = predicted[rows]
    if predicted.shape != rows.shape:
        raise ValueError(f"reference predicts an array of shape {predicted.shape} for {len(rows)} rows")
    return _read_predictions(predicted, classes, rows, X)


def _is_fitted(model: Any) -> bool:
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _fit_with_weights(model: Any, X: Any, y: Any, weights: Array) -> Any:
    from sklearn.pipeline import Pipeline

    if has_fit_parameter(model, "sample_weight"):
        return model.fit(X, y, sample_weight=weights)
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return model.fit(X, y, **{f"{model.steps[-1][0]}__sample_weight": weights})
    return model.fit(X, y)


def _read_predictions(predicted: Array, classes: Array, rows: Array, X: Any) -> Array:
    distinct, places = np.unique(predicted, return_inverse=True)
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = []
    for place, label in enumerate(distinct.tolist()):
        if label not in known:
            row = int(rows[np.argmax(places == place)])
            labels = ", ".join(map(repr, list(known)[:10]))
            raise ValueError(
                f"reference predicts {label!r} in {name_row(row, X)}, which is not a label of y ({labels})"
            )
        codes.append(known[label])
    return np.array(codes, dtype=np.int64)[places]
