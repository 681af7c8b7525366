"""What a policy is worth on rows that neither it nor any model has seen.

Rows are divided into folds. Without a fold everything is learned anew: the policy, from scores of the other rows, and
the models that score the fold. The rows of fold j, from which the policy without fold k is learned, are scored by
models that have seen neither j nor k. So one score matrix never serves for both learning and judging: the tree that
fits the noise of its scores would be praised for it.

Given the other folds, the error of a fold's mean is that of a mean of independent terms around zero. But folds depend
on each other, because the rows of one teach the policy that the other judges: where no action is better than another,
noise decides, and the variance of the mean over folds is up to twice what its terms say. `_covariance` counts that,
with policies that were learned without two folds; docs/policies.md has the proof.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_method_params, has_fit_parameter
from tqdm.auto import tqdm

from certree.display import show_lines
from certree.estimators import TreeEstimator, clone_for
from certree.folds import learn_each
from certree.policy.budget import read_spends
from certree.policy.log import (
    Log,
    check_between,
    check_count,
    check_shape,
    find_action,
    find_control,
    is_present,
    read_log,
)
from certree.policy.scores import Nuisances, Scores, combine, make_scores, split_rows
from certree.problem import TOLERANCE
from certree.reading import quiet_reading
from certree.solver import SearchInterrupted, warn_interrupted
from certree.table import read_table
from certree.tree import Tree, Value, plain_value
from certree.tree.words import amount_text, path_text

Array = NDArray[Any]

LEAST_FOLDS = 3
"""Outside any two folds something must be left to learn from; so an action needs as many rows."""
LARGEST_SEED = 2**31 - 1


# What is found ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error and interval.

    Examples
    --------
    >>> from certree.policy import Estimate
    >>> print(Estimate(value=2.0, error=0.5, low=1.02, high=2.98))
    2 (1.02 to 2.98)
    """

    value: float
    error: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{amount_text(self.value)} ({amount_text(self.low)} to {amount_text(self.high)})"


@dataclass(frozen=True)
class LeafRow:
    """A leaf of a policy on the rows that did not shape it."""

    leaf: str
    """The tests that lead to it."""
    action: Value
    """What it gives."""
    folds: int
    """In how many folds a policy with exactly this leaf was learned; the figures are pooled over them."""
    rows: int
    share: float
    """Of all rows."""
    arms: dict[Value, float]
    """Of these rows, the share that got each action."""
    rewards: dict[Value, Estimate]
    """The mean reward of each action here."""
    gain: Estimate
    """Of the leaf's action over the control action, paired."""


@dataclass(frozen=True)
class GroupRow:
    """What the policy does to one group."""

    group: Value
    rows: int
    rates: dict[Value, float]
    """The share of the group that is given each action."""
    value: Estimate
    gain: Estimate
    """Over the control action, paired."""

    @property
    def text(self) -> str:
        rates = ", ".join(f"{action!r} to {100 * rate:.1f}%" for action, rate in self.rates.items())
        return f"Group {self.group!r}: {self.rows:,} rows; it gives {rates}; mean reward {self.value}."


@dataclass(frozen=True)
class Baseline:
    """What a budget allows without a policy: an action for as many randomly drawn rows as it pays for, and the base
    action for the others."""

    action: Value
    base: Value
    share: float
    """Of the rows, those that get the action; 1 where the budget pays for everyone."""
    value: Estimate
    gain: Estimate
    """Of the policy over it, paired."""

    def describe(self, *, is_nobody: bool) -> str:
        """What it does, in words; `is_nobody`: its base is known to stand for treating nobody."""
        nobody = " (treating nobody)" * is_nobody
        if self.share == 1:
            return f"giving everyone {self.action!r}{nobody * (self.action == self.base)}"
        return f"giving {self.action!r} to {100 * self.share:.3g}% at random and {self.base!r}{nobody} to the others"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `certree.policy.evaluate` found: the value of a policy on rows that it has not seen, and its gains.

    Examples
    --------
    >>> from certree import PolicyTree, policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(300, 2, depth=1, effect=2.0, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> print(policy.evaluate(PolicyTree(1), log, folds=3, random_state=0).statement())  # doctest: +ELLIPSIS
    The policy gains ...
    """

    value: Estimate
    """The mean reward of the policy."""
    fixed: dict[Value, Estimate]
    """The mean reward of giving everyone the same action."""
    gains: dict[Value, Estimate]
    """The gain of the policy over giving everyone the same action, paired."""
    gain_over_random: Estimate
    control: Value
    """The action that gains are computed over, unless another one is named."""
    is_control_nobody: bool
    """Whether it is known to stand for treating nobody: it was named, the actions were given in order, or it is 0."""
    rates: dict[Value, float]
    """The share of rows that the policy gives each action."""
    leaves: tuple[LeafRow, ...]
    """Of the first repeat."""
    groups: tuple[GroupRow, ...]
    """Of the first repeat; empty without `group`."""
    level: float
    n_rows: int
    folds: int
    repeats: int
    policies: tuple[Any, ...] = field(repr=False)
    """The policies of the first repeat, one per fold; a rule that was not learned, alone."""
    budget: float | None = None
    """The largest mean spend, of a policy that has one."""
    spend: float | None = None
    """With a budget: the mean spend of the policy on the rows unseen in learning."""
    fixed_spends: dict[Value, float] = field(default_factory=dict)
    """With a budget: the mean spend of giving everyone the same action."""
    baselines: tuple[Baseline, ...] = ()
    """With a budget: what it allows without a policy, one for each action. Empty where no single action keeps it."""

    @property
    def gain(self) -> Estimate:
        """Over the control action."""
        return self.gains[self.control]

    @property
    def best_fixed(self) -> Value:
        """The single action of the greatest estimated value; the first of equals."""
        return max(self.fixed, key=lambda action: self.fixed[action].value)

    @property
    def has_gain(self) -> bool:
        """Whether the policy is shown to beat every single action, as far as a budget pays for it: the interval of
        every gain lies above 0.

        All of them must, so no correction for multiple comparisons is needed: if one action is as good as the policy,
        the chance that all intervals lie above 0 is at most that of its own.
        """
        gains = [baseline.gain for baseline in self.baselines] or self.gains.values()
        return all(gain.low > 0 for gain in gains)

    def statement(self) -> str:
        """Whether there is a gain, in plain words: over what the budget allows, where there is one."""
        sure = f"{100 * self.level:g}%"
        if self.baselines:
            return self._state_within_budget(sure)
        best = self.best_fixed
        alone = "" if self.budget is None else " No single action for everyone keeps the budget."
        if self.has_gain:
            return (
                f"The policy gains {self.gains[best]} over giving everyone {best!r}, the best single action "
                f"({sure} interval).{alone}"
            )
        unbeaten = [action for action, gain in self.gains.items() if not gain.low > 0]
        names = " or ".join(f"{action!r}{' (treating nobody)' * self._is_nobody(action)}" for action in unbeaten)
        amounts = " and ".join(str(self.gains[action]) for action in unbeaten)
        plural = "s" if len(unbeaten) > 1 else ""
        return (
            f"No gain over giving everyone {names} can be shown: the policy gains {amounts} "
            f"({sure} interval{plural}).{alone}"
        )

    def _state_within_budget(self, sure: str) -> str:
        best = max(self.baselines, key=lambda baseline: baseline.value.value)
        if self.has_gain:
            return (
                f"The policy gains {best.gain} over {self._describe(best)}, the best that the budget of "
                f"{self.budget:g} allows without a policy ({sure} interval)."
            )
        unbeaten = [baseline for baseline in self.baselines if not baseline.gain.low > 0]
        names = " or ".join(map(self._describe, unbeaten))
        amounts = " and ".join(str(baseline.gain) for baseline in unbeaten)
        return (
            f"Within the budget of {self.budget:g} no gain over {names} can be shown: the policy gains {amounts} "
            f"({sure} interval{'s' if len(unbeaten) > 1 else ''})."
        )

    def _describe(self, baseline: Baseline) -> str:
        return baseline.describe(is_nobody=self._is_nobody(baseline.base))

    def _is_nobody(self, action: Value) -> bool:
        return self.is_control_nobody and action == self.control

    def __repr__(self) -> str:
        return f"<Evaluation: {self.statement()}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return show_lines(self.summary())

    def summary(self) -> str:
        """Everything but the leaves, in words: the statement first, then a line for each figure and group."""
        splits = f"{self.folds} folds, {self.repeats} repeat{'' if self.repeats == 1 else 's'}"
        lines = [
            self.statement(),
            f"Mean reward of the policy: {self.value}, on {self.n_rows:,} rows unseen in learning ({splits}).",
            *(
                f"Everyone {action!r}: {fixed}; the policy gains {self.gains[action]}"
                f"{' over treating nobody' * self._is_nobody(action)}{self._say_spend(action)}."
                for action, fixed in self.fixed.items()
            ),
            *(
                f"{_capitalize(self._describe(baseline))}: {baseline.value}; the policy gains {baseline.gain}."
                for baseline in self.baselines
                if baseline.share < 1
            ),
            *([f"The policy gains {self.gain_over_random} over an action at random."] if self.budget is None else []),
            "It gives " + ", ".join(f"{action!r} to {100 * rate:.1f}%" for action, rate in self.rates.items()) + ".",
        ]
        if self.budget is not None:
            lines.append(f"It spends {self.spend:.4g} per row on these rows, of a budget of {self.budget:g}.")
        lines += [group.text for group in self.groups]
        return "\n".join(lines)

    def _say_spend(self, action: Value) -> str:
        if self.budget is None:
            return ""
        is_above = not self.fixed_spends[action] <= self.budget * (1 + TOLERANCE)
        return f"; spends {self.fixed_spends[action]:.4g} per row{', which breaks the budget' * is_above}"

    def to_rows(self) -> list[dict[str, Any]]:
        """Value and gains as plain rows, for a frame or a CSV file."""
        estimates: list[tuple[str, str, Estimate]] = [("value", "", self.value)]
        estimates += [("value of fixed action", str(action), fixed) for action, fixed in self.fixed.items()]
        estimates += [("gain over fixed action", str(action), gain) for action, gain in self.gains.items()]
        estimates.append(("gain over random", "", self.gain_over_random))
        for baseline in self.baselines:
            estimates.append(("value of action within the budget", str(baseline.action), baseline.value))
            estimates.append(("gain over action within the budget", str(baseline.action), baseline.gain))
        return [
            {"figure": figure, "action": action, "value": e.value, "error": e.error, "low": e.low, "high": e.high}
            for figure, action, e in estimates
        ]

    def leaf_rows(self) -> list[dict[str, Any]]:
        """The table of leaves as plain rows."""
        return [_flatten(leaf) for leaf in self.leaves]

    def group_rows(self) -> list[dict[str, Any]]:
        """The table of groups as plain rows."""
        return [_flatten(group) for group in self.groups]


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _flatten(row: LeafRow | GroupRow) -> dict[str, Any]:
    """A row of plain values: the low end of the interval of action a's reward is "rewards of a low", and so on."""
    flat: dict[str, Any] = {}
    for name, value in vars(row).items():
        parts = {f"{name} of {key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
        for label, part in parts.items():
            is_estimate = isinstance(part, Estimate)
            flat |= {f"{label} {figure}": n for figure, n in vars(part).items()} if is_estimate else {label: part}
    return flat


# Finding it ---------------------------------------------------------------------------------------------------------


def evaluate(
    policy: Any,
    X: Any,
    treatment: Any = None,
    outcome: Any = None,
    propensity: Any = None,
    outcome_model: Any = None,
    propensity_model: Any = None,
    folds: int = 5,
    clip: float = 0.01,
    random_state: Any = None,
    *,
    repeats: int = 1,
    level: float = 0.95,
    maximize: bool = True,
    costs: Any = None,
    actions: Sequence[Any] | None = None,
    control: Any = None,
    spends: Any = None,
    group: Any = None,
    cluster: Any = None,
    fit_params: Mapping[str, Any] | None = None,
    verbose: int = 0,
) -> Evaluation:
    """The value of a policy on rows that it has not seen, and its gain over giving everyone the same action.

    Parameters
    ----------
    policy : estimator, Tree or function
        An estimator with fit(X, rewards) and predict(X), such as PolicyTree, is cloned and fitted again without each
        fold, whatever it was fitted on before. A Tree, or a function from a table to actions, is taken for a rule that
        was not learned from these rows, and is judged as it is.
    X, treatment, outcome, propensity, outcome_model, propensity_model, clip, maximize, costs, actions :
        As in `doubly_robust`. A `policy.Log` in place of X holds all of these but the models and `clip`.
    folds : int, default=5
        The number of folds, at least 3; fewer are used if an action has fewer rows. Models and policies are learned
        without each fold and without each pair of folds: 15 of each for five folds.
    random_state : int, RandomState instance or None, default=None
        How rows are divided into folds, in all repeats.
    repeats : int, default=1
        How many times to divide the rows into folds and evaluate. Estimates are then medians over the repeats, and
        their standard errors grow by how much the repeats disagree.
    level : float, default=0.95
        The confidence level of the intervals.
    control : action, default=None
        The action that stands for treating nobody. None: the first of `actions`, or an action 0 or False. If none of
        these says which action it is, gains are still computed over the first action, but the summary does not call it
        "nobody", because alphabetical order means nothing.
    spends : as in `PolicyTree.fit`, default=None
        What actions spend, for a policy with a `budget`. The policy is fitted with them, and compared with what the
        budget allows without a policy: each action, for as many randomly drawn rows as the budget pays for.
    group : array of n values, default=None
        The sensitive group of each row, for rates and values by group.
    cluster : array of n values, default=None
        Which rows belong together (a household, a site): folds keep them together, and standard errors count clusters
        in place of rows.
    fit_params : mapping, default=None
        Passed on to every fit of the policy. Arrays of n rows are reduced to the rows of that fit.
    verbose : int, default=0
        1 shows a progress bar over the models and policies that are learned.

    Returns
    -------
    Evaluation
        If Ctrl-C ended the evaluation, it covers the repeats that were finished.

    Raises
    ------
    ValueError
        If the log or a setting cannot be used, or if an action has too few rows for three folds.
    KeyboardInterrupt
        If Ctrl-C was pressed before the first repeat was finished: some of the folds alone would not be an honest
        answer.

    Examples
    --------
    >>> from certree import PolicyTree, policy
    >>> from certree.datasets import make_policy
    >>> made = make_policy(300, 2, depth=1, effect=2.0, random_state=0)
    >>> log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    >>> found = policy.evaluate(PolicyTree(1), log, folds=3, random_state=0)
    >>> found.has_gain
    True
    """
    check_count("repeats", repeats, 1)
    check_between("level", level, 0, 1)
    _check_policy(policy)
    log = read_log(
        X, treatment, outcome,
        propensity=propensity, costs=costs, maximize=maximize, actions=actions, cluster=cluster,
    )  # fmt: skip
    nuisances = Nuisances(outcome_model, propensity_model, clip)
    nobody = find_control(control, log.actions, log.control)
    base = 0 if nobody is None else nobody
    fit_params, budget, spent = _read_budget(policy, fit_params or {}, spends, control, log)
    group_codes, group_names = (None, ()) if group is None else _read_group(group, log.n_rows)
    seeds = check_random_state(random_state).randint(LARGEST_SEED, size=repeats).tolist()
    trials: list[_Trial] = []
    try:
        with tqdm(desc="learned without a fold", disable=not verbose, leave=False) as bar:
            for done, seed in enumerate(seeds):
                trials.append(_judge_once(policy, log, nuisances, folds, seed, fit_params, _Steps(bar, repeats - done)))
    except KeyboardInterrupt:
        if not trials:
            raise
        warn_interrupted(f"the evaluation rests on {len(trials)} of {repeats} repeats")
    first = trials[0]
    dependence = [_covariance(trial, slice(None)) for trial in trials]

    def gain_over(references: list[Array]) -> Estimate:
        terms = [trial.own - reference for trial, reference in zip(trials, references, strict=True)]
        return _estimate(terms, level, dependence, log.cluster)

    rewards = {name: [trial.rewards[:, k] for trial in trials] for k, name in enumerate(log.actions)}
    within = (
        {}
        if budget is None
        else _compare_within(
            budget,
            spent,
            base,
            rewards,
            trials,
            gain_over,
            lambda columns: _estimate(columns, level, cluster=log.cluster),
        )
    )
    return Evaluation(
        value=_estimate([trial.own for trial in trials], level, dependence, log.cluster),
        fixed={name: _estimate(columns, level, cluster=log.cluster) for name, columns in rewards.items()},
        gains={name: gain_over(columns) for name, columns in rewards.items()},
        gain_over_random=gain_over([trial.rewards.mean(axis=1) for trial in trials]),
        control=log.actions[base],
        is_control_nobody=nobody is not None,
        rates=_rates(np.concatenate([trial.action for trial in trials]), log.actions),
        leaves=_list_leaves(log, first, base, level),
        groups=() if group_codes is None else _list_groups(log, first, base, level, group_codes, group_names),
        level=level,
        n_rows=log.n_rows,
        folds=first.n_folds,
        repeats=len(trials),
        policies=first.policies,
        budget=budget,
        **within,
    )


def _read_budget(
    policy: Any, fit_params: Mapping[str, Any], spends: Any, control: Any, log: Log
) -> tuple[dict[str, Any], float | None, Array]:
    """What the fits of the policy are given, its budget (None: none, or no limit) and what actions spend, n × K."""
    budget = getattr(policy, "budget", None)
    given = dict(fit_params)
    if spends is not None:
        if "spends" in given:
            raise ValueError("pass spends= directly or in fit_params, not both")
        given["spends"] = spends
    if budget is None:
        return given, None, np.zeros((log.n_rows, log.n_actions))
    if given.get("spends") is None and given.get("control") is None and has_fit_parameter(policy, "control"):
        # The scores of a fold know the control where `actions` names it; what was named here they do not know.
        given |= {} if control is None else {"control": control}
    amounts = read_spends(given.get("spends"), given.get("control", control), log.n_rows, log.actions, log.control)
    return given, float(budget) if np.isfinite(budget) else None, amounts


def _compare_within(
    budget: float,
    spent: Array,
    control: int,
    rewards: Mapping[Value, list[Array]],
    trials: list[_Trial],
    gain_over: Callable[[list[Array]], Estimate],
    estimate: Callable[[list[Array]], Estimate],
) -> dict[str, Any]:
    """What the policy spends, and what it gains over what the budget allows without it."""
    means, limit = spent.mean(axis=0), budget * (1 + TOLERANCE)
    # The control is the base where the budget pays for it, else the action that spends least.
    base = control if means[control] <= limit else int(np.argmin(means))
    actions, everyone = tuple(rewards), np.arange(len(spent))
    baselines = []
    for place, action in enumerate(actions) if means[base] <= limit else ():
        share = 1.0 if means[place] <= limit else float((budget - means[base]) / (means[place] - means[base]))
        columns = [
            share * own + (1 - share) * others
            for own, others in zip(rewards[action], rewards[actions[base]], strict=True)
        ]
        baselines.append(Baseline(action, actions[base], share, estimate(columns), gain_over(columns)))
    return {
        "spend": float(np.median([spent[everyone, trial.action].mean() for trial in trials])),
        "fixed_spends": dict(zip(actions, means.tolist(), strict=True)),
        # An action that the budget pays for nobody is the base, which is there already.
        "baselines": tuple(found for found in baselines if found.share > 0),
    }


@dataclass(frozen=True, eq=False)
class _Trial:
    """One division into folds: every row judged by what was learned without it."""

    rewards: Array
    """float64, n × K; doubly robust scores."""
    action: Array
    """int64, one per row: what the policy gives it."""
    shift: Array
    """float64, n × folds: by how much the row's reward differs from that of the policy that, besides the row's own
    fold, did without this one too; 0 at the own fold."""
    fold: Array
    """int64, one per row."""
    leaf: Array
    """object, one per row: the leaf in words."""
    policies: tuple[Any, ...]
    n_folds: int

    @property
    def own(self) -> Array:
        """float64, one per row: the reward of what the policy gives it."""
        return np.asarray(self.rewards[np.arange(len(self.action)), self.action])


class _Steps:
    """What is learned, counted on a progress bar: of each repeat that is left, as much as of this one."""

    def __init__(self, bar: Any = None, n_repeats: int = 1) -> None:
        self.bar, self.n_repeats = bar, n_repeats

    def plan(self, n_steps: int) -> None:
        if self.bar is not None:
            self.bar.total = self.bar.n + n_steps * self.n_repeats
            self.bar.refresh()

    def advance(self) -> None:
        if self.bar is not None:
            self.bar.update()


@dataclass(frozen=True, eq=False)
class _Deal:
    """Rows divided into folds, and what models that saw neither of two folds say of each row."""

    log: Log
    fold: Array
    """int64, one per row."""
    n_folds: int
    expected: Array
    propensity: Array
    """float64, folds × n × K: by models that saw neither this fold nor the row's own."""
    rewards: Array
    """float64, n × K; doubly robust scores, to judge by."""

    @classmethod
    def make(cls, log: Log, nuisances: Nuisances, folds: int, seed: int, steps: _Steps) -> _Deal:
        fold = np.empty(log.n_rows, dtype=np.int64)
        n_folds = 0
        for n_folds, (_, held) in enumerate(split_rows(log, folds, seed, least=LEAST_FOLDS), start=1):
            fold[held] = n_folds - 1
        steps.plan(n_folds * (n_folds + 1))
        expected, propensity = _predict_without(log, nuisances, fold, n_folds, steps)
        everyone = np.arange(log.n_rows)
        rewards = combine(log, "doubly robust", expected[fold, everyone], propensity[fold, everyone])
        return cls(log, fold, n_folds, expected, propensity, rewards)

    def scores_without(self, *left_out: int) -> tuple[Array, Log, Scores]:
        """The other rows, their log, and scores to learn from. Without one fold these know nothing of it. Without two,
        they are means over models without the one and without the other: what is learned so serves the error alone,
        which that moves little."""
        rows = np.flatnonzero(~np.isin(self.fold, left_out))
        models, part = np.ix_(np.array(left_out), rows), self.log.take(rows)
        expected, propensity = self.expected[models].mean(axis=0), self.propensity[models].mean(axis=0)
        return rows, part, make_scores(part, "doubly robust", expected, propensity)


def _judge_once(
    policy: Any, log: Log, nuisances: Nuisances, folds: int, seed: int, fit_params: Mapping[str, Any], steps: _Steps
) -> _Trial:
    deal = _Deal.make(log, nuisances, folds, seed, steps)
    fold, n_folds, rewards = deal.fold, deal.n_folds, deal.rewards

    def learn(*left_out: int) -> Any:
        """The policy without these folds."""
        if not hasattr(policy, "fit"):
            return policy
        rows, part, scores = deal.scores_without(*left_out)
        try:
            return _learn(policy, part, scores, _check_method_params(log.treatment, fit_params, rows))
        except ValueError as error:
            raise ValueError(
                f"{error} (learning the policy on {len(rows)} of {log.n_rows} rows, without a fold)"
            ) from error

    action = np.empty(log.n_rows, dtype=np.int64)
    leaf = np.empty(log.n_rows, dtype=object)
    policies = []
    for k, learned in enumerate(learn_each(learn, ((k,) for k in range(n_folds)))):
        steps.advance()
        policies.append(learned)
        held = np.flatnonzero(fold == k)
        at = log.take(held).X
        action[held] = _choose(learned, at, log.actions)
        leaf[held] = _name_leaves(learned, at, action[held], log.actions)

    shift = np.zeros((log.n_rows, n_folds))
    if not hasattr(policy, "fit"):
        return _Trial(rewards, action, shift, fold, leaf, (policy,), n_folds)
    pairs = list(combinations(range(n_folds), 2))
    for (j, k), learned in zip(pairs, learn_each(learn, pairs), strict=True):
        steps.advance()
        held = np.flatnonzero((fold == j) | (fold == k))
        other = _choose(learned, log.take(held).X, log.actions)
        shift[held, np.where(fold[held] == j, k, j)] = rewards[held, action[held]] - rewards[held, other]
    return _Trial(rewards, action, shift, fold, leaf, tuple(policies), n_folds)


@dataclass(frozen=True, eq=False)
class JudgedFamily:
    """What several policies that are learned together do on rows unseen in learning."""

    values: tuple[Estimate, ...]
    """The mean reward of each. Their errors take the folds for independent, which `evaluate` does not."""
    action: Array
    """int64, policies × n: what each gives a row."""


def judge_family(
    learn: Callable[[Array, Log, Scores], Sequence[Tree]],
    log: Log,
    *,
    folds: int = 5,
    level: float = 0.95,
    random_state: Any = None,
) -> JudgedFamily:
    """The worth of several policies that are learned at once, such as all trees of a front, on rows unseen in learning.

    `learn` is given the numbers of the rows without a fold, their log and their scores, and returns the trees: as many
    in every fold, each in its place.
    """
    seed = int(check_random_state(random_state).randint(LARGEST_SEED))
    deal = _Deal.make(log, Nuisances(None, None, 0.01), folds, seed, _Steps())
    chosen: list[Array] = []
    for k in range(deal.n_folds):
        held = np.flatnonzero(deal.fold == k)
        with quiet_reading():
            trees = learn(*deal.scores_without(k))
        chosen = chosen or [np.empty(log.n_rows, dtype=np.int64) for _ in trees]
        for own, tree in zip(chosen, trees, strict=True):
            own[held] = _choose(tree, log.take(held).X, log.actions)
    everyone = np.arange(log.n_rows)
    values = tuple(_estimate([deal.rewards[everyone, own]], level, None, log.cluster) for own in chosen)
    return JudgedFamily(values, np.array(chosen))


def _predict_without(log: Log, nuisances: Nuisances, fold: Array, n_folds: int, steps: _Steps) -> tuple[Array, Array]:
    """Outcomes and propensities, folds × n × K: by models that saw neither this fold nor the row's own."""
    expected, propensity = np.empty((2, n_folds, log.n_rows, log.n_actions))

    def predict(j: int, k: int) -> tuple[Array, Array]:
        is_held = (fold == j) | (fold == k)
        seen, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
        outcomes = nuisances.predict_outcomes(log, seen, held)
        return outcomes, nuisances.bound(log, nuisances.predict_propensities(log, seen, held))

    pairs = list(combinations_with_replacement(range(n_folds), 2))
    for (j, k), predicted in zip(pairs, learn_each(predict, pairs), strict=True):
        held = np.flatnonzero((fold == j) | (fold == k))
        left_out = np.where(fold[held] == j, k, j)
        expected[left_out, held], propensity[left_out, held] = predicted
        steps.advance()
    return expected, propensity


def _learn(policy: Any, log: Log, scores: Scores, fit_params: dict[str, Any]) -> Any:
    """The policy, fitted on scores of these rows by models that have not seen them."""
    model = clone_for(policy, log.X)
    if isinstance(model, TreeEstimator):
        model.set_params(verbose=0)  # one bar for all of them is enough
    if has_fit_parameter(model, "treatment"):
        fit_params = {"treatment": log.arms} | fit_params
    with quiet_reading():
        warnings.simplefilter("ignore", SearchInterrupted)
        model.fit(log.X, scores, **fit_params)
    if getattr(model, "status_", None) == "interrupted":
        # A fold's policy that was stopped is not the policy that is asked about.
        raise KeyboardInterrupt("the policy was not evaluated: learning it without a fold was interrupted")
    return model


def _check_policy(policy: Any) -> None:
    if isinstance(policy, type) or not (hasattr(policy, "predict") or callable(policy)):
        what = f"the class {policy.__name__}" if isinstance(policy, type) else f"a {type(policy).__name__}"
        raise TypeError(f"policy must be an estimator, a Tree or a function from a table to actions, not {what}")
    if hasattr(policy, "fit") and hasattr(policy, "__sklearn_tags__") and is_classifier(policy):
        raise TypeError(
            f"policy is a classifier ({type(policy).__name__}), which learns from labels; pass an estimator that "
            "learns from rewards, such as PolicyTree, or the `predict` of a fitted classifier to judge it as it is"
        )


def _choose(policy: Any, X: Any, actions: tuple[Value, ...]) -> Array:
    """The policy's actions as indices."""
    given = np.asarray(policy.predict(X) if hasattr(policy, "predict") else policy(X))
    n_rows = read_table(X).n_rows
    if given.shape != (n_rows,):
        raise ValueError(f"the policy gives an array of shape {given.shape} for {n_rows} rows, not one action per row")
    code_of = {value: find_action(value, actions, "the policy gives") for value in set(given.tolist())}
    return np.array([code_of[value] for value in given.tolist()], dtype=np.int64)


def _name_leaves(policy: Any, X: Any, action: Array, actions: tuple[Value, ...]) -> Array:
    """For each row the tests that lead to its leaf; for a policy without a tree, what it gives."""
    tree = policy if isinstance(policy, Tree) else getattr(policy, "tree_", None)
    if not isinstance(tree, Tree):
        return np.array([f"given {actions[code]!r}" for code in action.tolist()], dtype=object)
    names = {int(node): path_text(tree, int(node)) for node in tree.leaves}
    return np.array([names[node] for node in tree.apply(X).tolist()], dtype=object)


# Means and their errors ---------------------------------------------------------------------------------------------


def _estimate(
    columns: list[Array], level: float, dependence: Sequence[float] | None = None, cluster: Array | None = None
) -> Estimate:
    """The mean of each repeat's terms; over repeats the median, whose error counts how far they lie apart.

    `dependence`: what to add to the square of a repeat's error, because its terms are not independent. `cluster`: which
    terms belong together; only clusters are then taken to be independent.
    """
    means = np.array([column.mean() for column in columns])
    squares = np.array([_square_error(column, cluster) for column in columns])
    squares += 0.0 if dependence is None else np.asarray(dependence)
    value = float(np.median(means))
    error = float(np.sqrt(np.median(squares + (means - value) ** 2)))
    reach = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Estimate(value, error, value - reach, value + reach)


def _square_error(terms: Array, cluster: Array | None) -> float:
    """The variance of the mean of terms; one row or cluster says nothing about its own error."""
    if cluster is None:
        return float(terms.var(ddof=1) / len(terms)) if len(terms) > 1 else math.inf
    _, codes = np.unique(cluster, return_inverse=True)
    sums = np.bincount(codes, weights=terms - terms.mean())
    return float(sums @ sums * len(sums) / (len(sums) - 1) / len(terms) ** 2) if len(sums) > 1 else math.inf


def _covariance(trial: _Trial, rows: Array | slice) -> float:
    """What the dependence between folds adds to the variance of the mean of the policy's rewards over some rows.

    With b(k, j) the sum of the shifts of fold k by leaving out fold j too, the errors of two folds have the covariance
    E[b(k, j) · b(j, k)]. A fold whose products sum to less than 0 owes it to chance, and counts for nothing: chance may
    not narrow an interval.
    """
    shift, is_fold = trial.shift[rows], trial.fold[rows, None] == np.arange(trial.n_folds)
    sums = is_fold.T.astype(np.float64) @ shift
    return float(np.maximum((sums * sums.T).sum(axis=1), 0.0).sum() / len(shift) ** 2)


def _rates(action: Array, actions: tuple[Value, ...]) -> dict[Value, float]:
    shares = np.bincount(action, minlength=len(actions)) / len(action)
    return dict(zip(actions, shares.tolist(), strict=True))


def _list_leaves(log: Log, trial: _Trial, control: int, level: float) -> tuple[LeafRow, ...]:
    """A row for each leaf, in the order of the folds that it was learned in; equal leaves of several folds pooled."""
    places: dict[tuple[str, int], list[int]] = {}
    for row in np.lexsort((np.arange(log.n_rows), trial.fold)).tolist():
        places.setdefault((trial.leaf[row], int(trial.action[row])), []).append(row)
    found = []
    for (leaf, code), members in places.items():
        rewards = trial.rewards[members]
        cluster = None if log.cluster is None else log.cluster[members]
        found.append(
            LeafRow(
                leaf=leaf,
                action=log.actions[code],
                folds=len(np.unique(trial.fold[members])),
                rows=len(members),
                share=len(members) / log.n_rows,
                arms=_rates(log.treatment[members], log.actions),
                rewards={name: _estimate([rewards[:, k]], level, None, cluster) for k, name in enumerate(log.actions)},
                gain=_estimate([rewards[:, code] - rewards[:, control]], level, None, cluster),
            )
        )
    return tuple(found)


def _list_groups(
    log: Log, trial: _Trial, control: int, level: float, codes: Array, names: tuple[Value, ...]
) -> tuple[GroupRow, ...]:
    found = []
    for code, name in enumerate(names):
        members = np.flatnonzero(codes == code)
        rewards = trial.rewards[members]
        own, dependence = trial.own[members], [_covariance(trial, members)]
        cluster = None if log.cluster is None else log.cluster[members]
        found.append(
            GroupRow(
                group=name,
                rows=len(members),
                rates=_rates(trial.action[members], log.actions),
                value=_estimate([own], level, dependence, cluster),
                gain=_estimate([own - rewards[:, control]], level, dependence, cluster),
            )
        )
    return tuple(found)


def _read_group(group: Any, n_rows: int) -> tuple[Array, tuple[Value, ...]]:
    given = np.asarray(group)
    check_shape("group", given, n_rows, "value")
    values = [plain_value(value) if is_present(value) else "missing" for value in given.tolist()]
    whole = [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    names = tuple(sorted(set(whole), key=lambda value: (isinstance(value, str), value)))
    code_of = {name: code for code, name in enumerate(names)}
    return np.array([code_of[value] for value in whole]), names
