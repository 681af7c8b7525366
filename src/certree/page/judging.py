"""What every tree of a policy's slider is worth on rows that it has not seen.

Without each fold the front, or the budget curve, is traced anew from scores that know nothing of the fold. The tree of
the page and those of the folds belong together by their price: of a leaf (λ) for a front, of spending for a curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from certree.path import choose_penalties
from certree.policy.budget import read_spends
from certree.policy.curve import BudgetCurve, budget_curve, choose_prices
from certree.policy.evaluation import judge_family
from certree.policy.log import Log
from certree.policy.path import PolicyPath
from certree.policy.path import regularization_path as policy_path
from certree.policy.scores import Scores
from certree.tree import Array, Tree


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Of each tree of a slider, on held-out rows."""

    worth: Array
    """The loss of a classifier, the mean reward of a policy."""
    error: Array
    """Its standard error."""
    spend: Array | None = None
    """With a budget: the mean spend per row."""


def judge_front(front: PolicyPath, own: float, log: Log, *, folds: int, random_state: Any, **settings: Any) -> HeldOut:
    """The trees of a front; `settings` are those that it was traced with. The tree of the page's `own` λ is judged at
    that λ, as `policy.evaluate` judges it."""
    chosen = front.at(own)
    penalties = [
        own if point is chosen else penalty for point, penalty in zip(front, choose_penalties(front), strict=True)
    ]

    def learn(_: Array, part: Log, scores: Scores) -> list[Tree]:
        path = policy_path(part, scores, **settings)
        return [path.at(penalty).tree for penalty in penalties]

    found = judge_family(learn, log, folds=folds, random_state=random_state)
    return HeldOut(*_read(found.values))


def judge_curve(
    curve: BudgetCurve, log: Log, spends: Any, *, folds: int, random_state: Any, **settings: Any
) -> HeldOut:
    """The trees of a budget curve; `settings` are those that it was traced with."""
    prices, spent = choose_prices(curve), read_spends(spends, None, log.n_rows, log.actions, log.control)

    def learn(rows: Array, part: Log, scores: Scores) -> list[Tree]:
        own = budget_curve(part, scores, spends=spent[rows], **settings)
        return [own.at_price(price).tree for price in prices]

    found = judge_family(learn, log, folds=folds, random_state=random_state)
    return HeldOut(*_read(found.values), np.take_along_axis(spent, found.action.T, axis=1).mean(axis=0))


def _read(values: Any) -> tuple[Array, Array]:
    return np.array([value.value for value in values]), np.array([value.error for value in values])
