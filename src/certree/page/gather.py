"""What the page has to compute, within a time limit: each part is there, or the reason why it is not.

A part that would take longer than what is left of the time is not begun. Once begun, its searches have limits of their
own, and what they could not prove is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certree import certify
from certree.estimators import SparseTreeClassifier
from certree.path import RegularizationPath, regularization_path
from certree.policy import Log, PolicyTree, doubly_robust
from certree.policy.curve import BudgetCurve, budget_curve
from certree.policy.evaluation import Evaluation
from certree.policy.evaluation import evaluate as evaluate_policy
from certree.policy.good import good_policies
from certree.policy.log import read_rewards
from certree.policy.path import regularization_path as policy_path
from certree.policy.scores import Scores
from certree.problem import check_weights
from certree.reading import quiet_reading
from certree.selection import SparseTreeCV, evaluate
from certree.selection.held_out import LossEvaluation
from certree.table import Table
from certree.tree import Array
from certree.tree_set import TreeSet, good_trees

SEARCHES = 10
"""Searches that a front of trees takes, about."""
MEMORY = 2**30
"""Bytes that the set of good trees may take."""


@dataclass
class Parts:
    """The parts of a page; None where one is not there, and `reasons` says why."""

    verdict: certify.Verdict | None = None
    evaluation: Evaluation | LossEvaluation | None = None
    front: RegularizationPath | None = None
    held_out: tuple[Array, Array] | None = None
    """The held-out loss of each tree of the front, and its standard error."""
    good: TreeSet | None = None
    curve: BudgetCurve | None = None
    scores: Scores | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """What the page is about, read and checked."""

    model: SparseTreeClassifier | PolicyTree
    X: Any
    table: Table
    """The same, read."""
    weights: Array
    sample_weight: Any
    y: Any
    """Labels; None for a policy."""
    rewards: Any
    """n × K numbers or Scores; None for a classifier."""
    log: Log | None
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
    def limits(self) -> dict[str, Any]:
        """The settings that a front, a curve and a set of good trees share with the model."""
        own = self.model.certificate_["constraints"]
        names = ["max_depth", "max_leaves", "min_samples_leaf"]
        names.append("min_samples_arm" if self.is_policy else "min_weight_leaf")
        return {name: own[name] for name in names} | {"thresholds": self.model.thresholds}


def read_given(model: Any, X: Any, y: Any, sample_weight: Any, **others: Any) -> Given:
    """Find out what is what: a log may stand in the place of X or of y."""
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, (SparseTreeClassifier, PolicyTree)):
        raise TypeError(
            f"report takes a fitted SparseTreeClassifier, SparseTreeCV or PolicyTree, not {type(model).__name__}"
        )
    if not hasattr(model, "tree_"):
        raise ValueError("the model is not fitted: call fit first")
    log = next((given for given in (X, y) if isinstance(given, Log)), None)
    if log is not None and not isinstance(model, PolicyTree):
        raise ValueError("a log of decisions goes with a PolicyTree; a classifier needs X and the labels y")
    X = X.X if isinstance(X, Log) else X
    values = None if isinstance(y, Log) else y
    beside = others.pop("log")
    log = beside if log is None else log
    if isinstance(model, PolicyTree):
        if values is None and log is None:
            raise ValueError("y is missing: give the rewards that the policy was fitted on, or a policy.Log")
    elif values is None:
        raise ValueError("y is missing: give the labels that the model was fitted on")
    table = model.tree_.read(X)
    return Given(
        model=model,
        X=X,
        table=table,
        weights=check_weights(sample_weight, table.n_rows),
        sample_weight=sample_weight,
        y=None if isinstance(model, PolicyTree) else values,
        rewards=values if isinstance(model, PolicyTree) else None,
        log=log,
        **others,
    )


class Gatherer:
    """Computes the parts one after the other, as long as there is time."""

    def __init__(self, given: Given, time_limit: float) -> None:
        self.given, self.parts = given, Parts()
        self.time_limit, self.deadline = time_limit, time.perf_counter() + time_limit

    @property
    def left(self) -> float:
        return max(self.deadline - time.perf_counter(), 0.0)

    def run(self, evaluation: Any) -> Parts:
        """All parts. `evaluation` is one that was made before, or None."""
        with quiet_reading():
            self._score()
            self._check()
            self._evaluate(evaluation)
            self._trace()
            self._find_good()
            self._walk_budgets()
        return self.parts

    def _afford(self, part: str, what: str, seconds: float) -> bool:
        """Whether there is time for a part that takes about so long; says so where there is not."""
        if seconds <= self.left:
            return True
        self.parts.reasons[part] = (
            f"{what} would take about {seconds:.3g} s, and {self.left:.3g} s are left of the time limit of "
            f"{self.time_limit:g} s: raise time_limit."
        )
        return False

    def _try(self, part: str, compute: Callable[[], Any]) -> Any:
        """A part, or None where the data do not allow it, which is then the reason."""
        try:
            return compute()
        except ValueError as error:
            self.parts.reasons[part] = f"{error}."
            return None

    def _score(self) -> None:
        """The rewards of a policy: those given, or made anew from the log."""
        given = self.given
        if isinstance(given.rewards, Scores):
            self.parts.scores = given.rewards
        elif given.is_policy and given.rewards is None and given.log is not None:
            self.parts.scores = doubly_robust(given.log, folds=given.folds, random_state=given.random_state)

    @property
    def rewards(self) -> Any:
        return self.given.rewards if self.given.rewards is not None else self.parts.scores

    def _check(self) -> None:
        given, model = self.given, self.given.model
        facts: dict[str, Any] = {"sample_weight": given.sample_weight}
        if given.is_policy:
            matrix, _ = read_rewards(self.rewards, given.table.n_rows)
            arms = getattr(self.rewards, "treatment", None)
            arms = given.log.treatment if arms is None and given.log is not None else arms
            facts |= {"rewards": matrix, "spends": given.spends, "arms": arms}
        else:
            facts["y"] = given.y
        verdict = self._try("check", lambda: certify.check(model.certificate_, model.tree_, given.X, **facts))
        if verdict is not None and not verdict.holds and given.is_policy and given.rewards is None:
            self.parts.reasons["check"] = (
                "The rewards that the policy was fitted on were not given, and those that were made anew from the log "
                "of decisions are others."
            )
            return
        self.parts.verdict = verdict

    def _evaluate(self, evaluation: Any) -> None:
        given, model = self.given, self.given.model
        if evaluation is not None:
            self.parts.evaluation = evaluation
        elif not given.is_policy:
            if self._afford(
                "evaluation", f"To fit it without each of {given.folds} folds", given.folds * model.fit_seconds_
            ):
                self.parts.evaluation = self._try(
                    "evaluation",
                    lambda: evaluate(
                        model, given.X, given.y, given.sample_weight, cv=given.folds, random_state=given.random_state
                    ),
                )
        elif given.log is None:
            self.parts.reasons["evaluation"] = (
                "What the policy is worth on rows that it has not seen can be told from a log of decisions alone: pass "
                "a policy.Log, or an evaluation made by policy.evaluate."
            )
        elif self._afford("evaluation", "To learn it without each fold and each two", 15 * model.fit_seconds_):
            self.parts.evaluation = self._try(
                "evaluation",
                lambda: evaluate_policy(
                    model, given.log, folds=given.folds, spends=given.spends, control=given.control, group=given.group,
                    random_state=given.random_state,
                ),
            )  # fmt: skip

    def _trace(self) -> None:
        """The front, with the held-out loss of each of its trees where there is time for the folds."""
        given, model = self.given, self.given.model
        if not isinstance(model.thresholds, (str, int)) or model.thresholds == "guess":
            self.parts.reasons["front"] = "The front is not traced over guessed thresholds."
            return
        if not given.is_policy and (model.method != "direct" or model.reference is not None):
            self.parts.reasons["front"] = "The front is not traced where weights or bounds are approximate."
            return
        if self._is_edited():
            self.parts.reasons["front"] = "The front is not traced for a tree with a given start or forbidden tests."
            return
        if given.is_policy and model.budget is not None:
            self.parts.reasons["front"] = "With a budget, the section on worth has the trees for every budget instead."
            return
        once = SEARCHES * model.fit_seconds_
        if not self._afford("front", "The front", once):
            return
        # Half of the time, shared by the searches of all fronts.
        is_judged = not given.is_policy and once * (given.folds + 1) <= self.left
        n_fronts = given.folds + 1 if is_judged else 1
        seconds = max(self.left / (2 * SEARCHES * n_fronts), 0.05)
        each = {"time_limit": seconds, "n_jobs": model.n_jobs, **given.limits}
        if given.is_policy:
            self.parts.front = policy_path(
                given.X, self.rewards, given.sample_weight, treatment=self._treatment(), **each
            )
            return
        own = {"categorical_features": self._categorical(), **each}
        if is_judged:
            chosen = SparseTreeCV(
                cv=given.folds, class_weight=model.class_weight, random_state=given.random_state, **own
            ).fit(given.X, given.y, given.sample_weight)
            self.parts.front = chosen.path_
            self.parts.held_out = chosen.cv_results_["held_out_loss"], chosen.cv_results_["standard_error"]
            return
        self.parts.reasons["held_out"] = (
            f"The trees were not judged on held-out rows: {given.folds} more fronts would exceed the time limit of "
            f"{self.time_limit:g} s."
        )
        weights = given.weights * self._class_factors()
        self.parts.front = regularization_path(given.X, given.y, weights, **own)

    def _find_good(self) -> None:
        given, model = self.given, self.given.model
        if given.is_policy and model.budget is not None:
            self.parts.reasons["good"] = "The set of all good policies cannot be restricted to a budget yet."
            return
        if not given.is_policy and (model.method != "direct" or model.reference is not None):
            self.parts.reasons["good"] = "The set is found only where weights and bounds are exact."
            return
        if not self._afford("good", "The set of all good trees", SEARCHES * model.fit_seconds_):
            return
        settings = {
            **given.limits,
            "tolerance": self._tolerance(),
            "regularization": model.regularization,
            "time_limit": max(self.left / 2, 0.1),
            "memory_limit": MEMORY,
            "n_jobs": model.n_jobs,
            "start": model.start,
            "forbidden": model.forbidden,
        }
        if given.is_policy:
            found = self._try(
                "good",
                lambda: good_policies(
                    given.X, self.rewards, given.sample_weight, treatment=self._treatment(), **settings
                ),
            )
        else:
            settings |= {"class_weight": model.class_weight, "categorical_features": self._categorical()}
            found = self._try("good", lambda: good_trees(given.X, given.y, given.sample_weight, **settings))
        if found is not None and not found.is_complete:
            found = found.complete_part()
            self.parts.reasons["good"] = (
                f"A limit ended the search for good trees; the set is complete for a smaller tolerance, "
                f"{found.tolerance:.3g}."
            )
        self.parts.good = found if found else None

    def _walk_budgets(self) -> None:
        given, model = self.given, self.given.model
        if not isinstance(model, PolicyTree) or model.budget is None:
            return
        if self._is_edited():
            self.parts.reasons["curve"] = "The budget curve is not traced for a policy with forbidden tests."
            return
        if not self._afford("curve", "The budget curve", SEARCHES * model.fit_seconds_):
            return
        stated = model.spends_
        spends = given.spends if given.spends is not None else stated
        self.parts.curve = self._try(
            "curve",
            lambda: budget_curve(
                given.X, self.rewards, given.sample_weight, self._treatment(), spends,
                regularization=model.regularization, time_limit=max(self.left / (3 * SEARCHES), 0.1),
                n_jobs=model.n_jobs, **given.limits,
            ),
        )  # fmt: skip

    def _tolerance(self) -> float:
        """What still counts as good: as asked for, else one row in a hundred, or a twentieth of a policy's gain."""
        given, tree = self.given, self.given.model.tree_
        if given.tolerance is not None:
            return given.tolerance
        if tree.rewards is None:
            return 0.01
        own = float(given.model.certificate_["policy"]["value"])
        return max(own - float(tree.rewards[0].max()), 0.0) / 20

    def _is_edited(self) -> bool:
        return self.given.model.start is not None or self.given.model.forbidden is not None

    def _treatment(self) -> Any:
        return None if self.given.log is None else self.given.log.arms

    def _categorical(self) -> Any:
        return getattr(self.given.model, "categorical_features", "auto")

    def _class_factors(self) -> Array:
        factors = self.given.model.certificate_.get("class_weights")
        if factors is None:
            return np.ones(self.given.table.n_rows)
        place = {label: number for number, label in enumerate(self.given.model.classes_.tolist())}
        codes = [place[label] for label in np.asarray(self.given.y).tolist()]
        return np.asarray(factors)[codes]
