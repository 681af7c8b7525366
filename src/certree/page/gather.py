"""What the page has to compute, within a time limit: each part is there, or the reason why it is not.

A part that would take longer than what is left of the time is not begun. Once begun, its searches have limits of their
own, and what they could not prove is said. Nothing is computed about data that the certificate does not hold for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tqdm.auto import tqdm

from certree import certify
from certree.page.given import Given
from certree.page.judging import HeldOut, judge_curve, judge_front
from certree.page.lots import Fixed, value_by_lot
from certree.path import RegularizationPath, regularization_path
from certree.policy import PolicyTree, doubly_robust
from certree.policy.budget import read_spends
from certree.policy.budget_set import BudgetSet
from certree.policy.curve import BudgetCurve, budget_curve
from certree.policy.evaluation import Evaluation
from certree.policy.evaluation import evaluate as evaluate_policy
from certree.policy.good import good_policies
from certree.policy.log import read_rewards
from certree.policy.path import regularization_path as policy_path
from certree.policy.scores import Scores
from certree.reading import quiet_reading
from certree.selection import LossEvaluation, SparseTreeCV, evaluate
from certree.tree import Array
from certree.tree_set import TreeSet, good_trees

SEARCHES = 10
"""Searches that a front of trees takes, about."""
MEMORY = 2**30
"""Bytes that the set of good trees may take."""
MODEL_SECONDS, ROW_SECONDS = 0.1, 1e-5
"""What a model of an outcome takes to be learned, about: in any case, and per row."""


@dataclass
class Parts:
    """The parts of a page; None where one is not there, and `reasons` says why."""

    verdict: certify.Verdict | None = None
    evaluation: Evaluation | LossEvaluation | None = None
    front: RegularizationPath | None = None
    held_out: HeldOut | None = None
    """Of each tree of the front, or of the budget curve."""
    good: TreeSet | BudgetSet | None = None
    curve: BudgetCurve | None = None
    fixed: list[Fixed] = field(default_factory=list)
    """With a budget: what each action spends and brings where everyone gets it."""
    spends: Array | None = None
    """With a budget: what each action spends on each row, n × K."""
    scores: Scores | None = None
    reasons: dict[str, str] = field(default_factory=dict)


def make_sentence(error: ValueError) -> str:
    """What an error says, as a sentence of the page."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


class Gatherer:
    """Computes the parts one after the other, as long as there is time."""

    def __init__(self, given: Given, time_limit: float, *, verbose: int = 0) -> None:
        self.given, self.parts, self.verbose = given, Parts(), verbose
        self.time_limit, self.deadline = time_limit, time.perf_counter() + time_limit
        self.pace = 1.0
        """How many times longer the held-out worth took than was to be expected: models, or a slow machine."""

    def run(self) -> Parts:
        """All parts."""
        parts: list[tuple[str, str, Callable[[], None]]] = [
            ("evaluation", "worth on held-out rows", self._evaluate),
            ("front", "simpler and finer trees", self._trace),
            ("good", "other trees as good", self._find_good),
            ("curve", "what each budget buys", self._walk_budgets),
        ]
        layout = "{elapsed} |{bar:24}| {desc}"
        with (
            quiet_reading(),
            tqdm(total=1 + len(parts), disable=not self.verbose, bar_format=layout, leave=False) as bar,
        ):
            bar.set_description_str("checking the certificate")
            self._score()
            self._check()
            for part, words, compute in parts:
                bar.update()
                bar.set_description_str(words)
                self._compute(part, compute)
        return self.parts

    def _compute(self, part: str, compute: Callable[[], None]) -> None:
        """One part, or the reason why it is not there."""
        reason = self._refuse(part)
        if reason:
            self.parts.reasons[part] = reason
            return
        try:
            compute()
        except ValueError as error:
            # What the data do not allow: too few rows for the folds, a front that nothing limits.
            self.parts.reasons[part] = make_sentence(error)

    @property
    def left(self) -> float:
        return max(self.deadline - time.perf_counter(), 0.0)

    @property
    def rewards(self) -> Any:
        return self.given.rewards if self.given.rewards is not None else self.parts.scores

    def _refuse(self, part: str) -> str:
        """Why a part is not to be computed; empty where it is."""
        given, verdict = self.given, self.parts.verdict
        if verdict is not None and not verdict.holds:
            return "The certificate does not hold for these data."
        if part == "evaluation":
            return self._refuse_evaluation()
        if given.is_policy and (self.rewards is None or verdict is None):
            return self.parts.reasons["check"]
        if part in ("curve", "good") and given.has_budget and given.spends is None and given.model.spends_ is None:
            return "What each action spends depends on the row: pass spends."
        if part == "curve":
            is_traced = not (given.has_budget and given.is_edited)
            return "" if is_traced else "The budget curve is not traced with a given start or forbidden tests."
        if not (given.is_exact and given.has_all_tests):
            return "This is found only where thresholds are not guessed, and weights and bounds are exact."
        if part == "front" and given.is_edited and not given.has_budget:
            return "The front is not traced for a tree with a given start or forbidden tests."
        return ""

    def _refuse_evaluation(self) -> str:
        given = self.given
        if given.evaluation is not None:
            return ""
        lost = given.find_lost()
        if lost:
            return f"The model was saved without {lost}, so that it cannot be fitted again: pass an evaluation."
        if not given.is_policy:
            return ""
        if given.log is None:
            return (
                "What the policy is worth on rows that it has not seen can be told from a log of decisions alone: pass "
                "a policy.Log, or an evaluation made by policy.evaluate."
            )
        if given.fit_weight is not None:
            return "The worth on rows that it has not seen is not known for a policy of weighted rows."
        if given.has_budget and given.spends is None and given.model.spends_ is None:
            return "What each action spends depends on the row: pass spends."
        return ""

    def _afford(self, part: str, what: str, seconds: float) -> bool:
        """Whether there is time for a part that takes about so long; says so where there is not."""
        if seconds <= self.left:
            return True
        self.parts.reasons[part] = (
            f"{what} would take about {seconds:.3g} s, and {self.left:.3g} s are left of the time limit of "
            f"{self.time_limit:g} s: raise time_limit."
        )
        return False

    def _models(self, count: int) -> float:
        """Seconds that so many models of every action take, about."""
        log = self.given.log
        each = 0.0 if log is None else log.n_actions * (MODEL_SECONDS + ROW_SECONDS * log.n_rows)
        return self.pace * count * each

    # The parts ------------------------------------------------------------------------------------------------------

    def _score(self) -> None:
        """The rewards of a policy: those given, or made anew from the log."""
        given = self.given
        if isinstance(given.rewards, Scores):
            self.parts.scores = given.rewards
        elif (
            given.is_policy
            and given.rewards is None
            and self._afford("check", "The rewards", self._models(given.folds))
        ):
            self.parts.scores = doubly_robust(given.log, folds=given.folds, random_state=given.random_state)

    def _check(self) -> None:
        given, model = self.given, self.given.model
        if given.is_policy and self.rewards is None:
            return
        facts: dict[str, Any] = {"sample_weight": given.sample_weight}
        if given.is_policy:
            matrix, _ = read_rewards(self.rewards, given.table.n_rows)
            arms = getattr(self.rewards, "treatment", None)
            arms = given.log.treatment if arms is None and given.log is not None else arms
            facts |= {"rewards": matrix, "spends": given.spends, "arms": arms}
        else:
            facts["y"] = given.y
        try:
            verdict = certify.check(model.certificate_, model.tree_, given.X, **facts)
        except ValueError as error:
            self.parts.reasons["check"] = make_sentence(error)
            return
        if not verdict.holds and given.is_policy and given.rewards is None:
            self.parts.reasons["check"] = (
                "The rewards that the policy was fitted on were not given, and those that were made anew from the log "
                "of decisions are others."
            )
            return
        self.parts.verdict = verdict

    def _evaluate(self) -> None:
        given, seconds = self.given, self.given.model.fit_seconds_
        if given.evaluation is not None:
            self.parts.evaluation = given.evaluation
        elif not given.is_policy:
            # One that chooses its penalty traces a front in every fold of every fold.
            each = seconds if given.whole is given.model else SEARCHES * (given.folds + 1) * seconds
            if self._afford("evaluation", f"To fit it without each of {given.folds} folds", given.folds * each):
                self.parts.evaluation = evaluate(
                    given.make_anew(), given.X, given.y, given.fit_weight, cv=given.folds,
                    random_state=given.random_state,
                )  # fmt: skip
        else:
            fits = given.folds * (given.folds + 1) // 2
            expected, began = fits * seconds + self._models(fits), time.perf_counter()
            if self._afford("evaluation", "To learn it without each fold and each two", expected):
                self.parts.evaluation = evaluate_policy(
                    given.make_anew(), given.log, folds=given.folds, spends=self._spends(), control=given.control,
                    group=given.group, random_state=given.random_state,
                )  # fmt: skip
                self.pace = max(1.0, (time.perf_counter() - began) / max(expected, MODEL_SECONDS))

    def _trace(self) -> None:
        """The front, with the held-out loss of each of its trees where there is time for the folds."""
        given, model = self.given, self.given.model
        if given.has_budget:
            return  # the curve has the trees of every budget
        once = SEARCHES * model.fit_seconds_
        if not self._afford("front", "The front", once):
            return
        # Half of the time, shared by the searches of all fronts.
        is_judged = self._can_judge(once)
        seconds = max(self.left / (2 * SEARCHES * (given.folds + 1 if is_judged else 1)), 0.05)
        each = {"time_limit": seconds, "n_jobs": model.n_jobs, **given.limits}
        if isinstance(model, PolicyTree):
            self.parts.front = front = policy_path(
                given.X, self.rewards, given.sample_weight, treatment=self._treatment(), **each
            )
            if is_judged:
                self._judge(judge_front, front, model.regularization, given.log, **each)
            return
        each["categorical_features"] = model.categorical_features
        if not (is_judged and self._choose(each)):
            self.parts.front = regularization_path(given.X, given.y, given.fit_weight, **each)

    def _choose(self, settings: dict[str, Any]) -> bool:
        """The front with the held-out loss of each of its trees; False, with the reason, where the data allow none."""
        given = self.given
        chosen = SparseTreeCV(cv=given.folds, random_state=given.random_state, **settings)
        try:
            chosen.fit(given.X, given.y, given.fit_weight)
        except ValueError as error:
            self._say_not_judged(str(error))
            return False
        self.parts.front = chosen.path_
        self.parts.held_out = HeldOut(chosen.cv_results_["held_out_loss"], chosen.cv_results_["standard_error"])
        return True

    def _can_judge(self, once: float) -> bool:
        """Whether the trees of the slider, which take so long, can be judged on held-out rows; says why not."""
        given, why = self.given, ""
        if given.is_policy and given.log is None:
            why = "that takes a log of decisions: pass a policy.Log"
        elif given.is_policy and given.fit_weight is not None:
            why = "that is not known for policies of weighted rows"
        elif once * (given.folds + 1) + self._models(given.folds * (given.folds + 1) // 2) > self.left:
            limit = f"the time limit of {self.time_limit:g} s"
            why = f"to find them again without each of {given.folds} folds would exceed {limit}"
        if why:
            self._say_not_judged(why)
        return not why

    def _say_not_judged(self, why: str) -> None:
        self.parts.reasons["held_out"] = f"The trees were not judged on held-out rows: {why.rstrip('.')}."

    def _judge(self, judge: Callable[..., HeldOut], *trees: Any, **settings: Any) -> None:
        """Judges the trees of a policy's slider on held-out rows."""
        given = self.given
        try:
            self.parts.held_out = judge(*trees, folds=given.folds, random_state=given.random_state, **settings)
        except ValueError as error:
            self._say_not_judged(str(error))

    def _fix_actions(self) -> None:
        """What each action spends and brings where everyone gets it."""
        given, tree = self.given, self.given.model.tree_
        spends = read_spends(self._spends(), None, given.table.n_rows, tree.labels)
        means = (given.weights @ spends / given.weights.sum()).tolist()
        assert tree.rewards is not None
        self.parts.spends = spends
        self.parts.fixed = [
            Fixed(place, spend, value)
            for place, (spend, value) in enumerate(zip(means, tree.rewards[0].tolist(), strict=True))
        ]

    def _find_good(self) -> None:
        given, model = self.given, self.given.model
        if given.has_budget:
            self._fix_actions()
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
        found: Any
        if isinstance(model, PolicyTree):
            settings |= {"budget": given.budget, "spends": self._spends()} if given.has_budget else {}
            found = good_policies(given.X, self.rewards, given.sample_weight, treatment=self._treatment(), **settings)
        else:
            settings["categorical_features"] = model.categorical_features
            found = good_trees(given.X, given.y, given.fit_weight, **settings)
        if not found.is_complete:
            found = found.complete_part()
            self.parts.reasons["good"] = "A limit ended the search for good trees." + (
                f" The set is complete for a smaller tolerance, {found.tolerance:.3g}." if found else ""
            )
        self.parts.good = found if found else None

    def _walk_budgets(self) -> None:
        given, model = self.given, self.given.model
        if not given.has_budget:
            return
        self._fix_actions()
        once = SEARCHES * model.fit_seconds_
        if not self._afford("curve", "The budget curve", once):
            return
        is_judged = self._can_judge(once)
        seconds = max(self.left / (2 * SEARCHES * (given.folds + 1 if is_judged else 1)), 0.1)
        each = {"regularization": model.regularization, "time_limit": seconds, "n_jobs": model.n_jobs, **given.limits}
        self.parts.curve = curve = budget_curve(
            given.X, self.rewards, given.sample_weight, self._treatment(), self._spends(), **each
        )
        if is_judged:
            self._judge(judge_curve, curve, given.log, self._spends(), **each)

    def _spends(self) -> Any:
        """What actions spend: as given, or as the certificate has it."""
        if not self.given.has_budget:
            return None
        return self.given.model.spends_ if self.given.spends is None else self.given.spends

    def _tolerance(self) -> float:
        """What still counts as good: as asked for, else one row in a hundred, or a twentieth of a policy's gain."""
        given, tree = self.given, self.given.model.tree_
        if given.tolerance is not None:
            return given.tolerance
        if tree.rewards is None:
            return 0.01
        own = float(given.model.certificate_["policy"]["value"])
        without = float(tree.rewards[0].max())
        if given.has_budget:
            without = value_by_lot(self.parts.fixed, given.budget)
        return max(own - without, 0.0) / 20 if math.isfinite(without) else 0.0

    def _treatment(self) -> Any:
        return None if self.given.log is None else self.given.log.arms
