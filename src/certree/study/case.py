"""The case study itself: effects, labels, weighted trees, what the labels depend on, and the same as a policy.

722 men, some drawn by lot into job training. Matching estimates what the training did to each man's earnings of 1978;
the estimates become three labels, mislabelling a man has a cost, and trees are to label men by what was known before.
This room promises figures only: every one is computed from the embedded table, the effects and the settings, and it
neither prints nor writes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from tqdm.auto import tqdm

from certree import certify
from certree.datasets import load_lalonde
from certree.estimators import SparseTreeClassifier
from certree.features import make_features
from certree.policy import (
    Evaluation,
    Log,
    MatchingEffects,
    PolicyTree,
    Scores,
    doubly_robust,
    evaluate,
    good_policies,
)
from certree.problem import Problem
from certree.solver import SearchInterrupted, warn_interrupted
from certree.study.printed import PRINTED, plant
from certree.table import Table, name_row, read_table
from certree.tree import Tree
from certree.tree_set import ColumnFact, TreeSet, good_trees

Array = NDArray[Any]

LABELS = ("0 do not treat", "1 if budget allows", "2 treat")
LOSS_ABOVE, GAIN_ABOVE = -5000.0, 2000.0
"""Effects in dollars: below the one a man should not be treated, above the other he should."""
METHODS = ("direct", "duplicate", "sample")
ACTIONS = ("no programme", "programme")
DEPTH_SHOWN = 3
"""Of the tree that the study shows, or the nearest to it that it has."""
ROWS_OF_AN_ARM = 20
"""Of either arm, in every leaf of the policy: a mean of fewer earnings says little."""


@dataclass(frozen=True)
class Matching:
    """Settings of `MatchingEffects` that the labels depend on. The defaults are those of the study.

    Rows are divided into splits once, as in the paper that introduced the method. More repeats and more neighbours
    average large effects away, and with them the label "do not treat"; the study shows how far.

    Examples
    --------
    >>> from certree import study
    >>> study.Matching(n_neighbors=10).n_splits
    5
    """

    n_neighbors: int = 5
    n_splits: int = 5
    n_repeats: int = 1
    random_state: int = 0
    metric: str = "learned"
    include_own: bool = True


def vary(matching: Matching) -> tuple[Matching, ...]:
    """The settings, and others that somebody else might have chosen as well."""
    others = [
        *({"n_neighbors": number} for number in (3, 10, 20)),
        *({"n_splits": number} for number in (2, 10)),
        *({"random_state": matching.random_state + step} for step in (1, 2, 3)),
        {"include_own": False},
        {"n_repeats": 5},
        {"n_repeats": 5, "n_neighbors": 10},
        *({"metric": "equal", "n_neighbors": number} for number in (3, 5, 10)),
    ]
    varied = [matching, *(replace(matching, **other) for other in others)]  # type: ignore[arg-type]
    return tuple(dict.fromkeys(varied))


# What is found --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with a label and the weight of mislabelling each."""

    effects: Array
    labels: Array
    """int64, one per row: an index into LABELS."""
    costs: Array
    """What a mistake costs."""
    weights: Array
    """The same, scaled linearly to 1 to 100."""

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.labels, minlength=len(LABELS)).tolist())

    @staticmethod
    def share(amounts: Array, is_wrong: Array) -> float:
        """Of all amounts, those of the rows that got a wrong label."""
        return float(amounts[is_wrong].sum() / amounts.sum())


@dataclass(frozen=True, eq=False)
class TreeRow:
    """A tree and what it does to the labelled rows."""

    name: str
    """"direct", "duplicate", "sample", "CART", "constant" or "printed" (in the paper)."""
    max_depth: int
    leaves: int
    loss: float
    objective: float
    lower_bound: float | None
    """None where nothing was proved."""
    status: str
    fit_seconds: float | None
    cost_loss: float
    """Share of the costs before they were scaled."""
    model: Any
    """The fitted estimator; a Tree where there is none."""
    is_confirmed: bool | None = None
    """Whether the certificate holds against the raw rows, where there is one."""

    @property
    def gap(self) -> float | None:
        return None if self.lower_bound is None else self.objective - self.lower_bound


@dataclass(frozen=True)
class SensitivityRow:
    """What another setting of the matching makes of the labels, and of trees on them."""

    matching: Matching
    counts: tuple[int, ...]
    same_label: float
    """Share of the rows whose label is the study's."""
    constant_loss: float
    printed_loss: float
    """Of the tree of depth 3 that the paper prints."""
    optimal_loss: float
    """Of the optimal tree of depth 3."""
    optimal_leaves: int


@dataclass(frozen=True, eq=False)
class AlternativesRow:
    """All trees, or policies, that are nearly as good as one of the study, and what they agree on: proved."""

    name: str
    """"tree", or "policy" of the cost that was asked for."""
    tolerance: float
    """How much worse they may be."""
    trees: TreeSet
    agreed: int
    """Men about whom all of them decide alike."""
    columns: tuple[ColumnFact, ...]


@dataclass(frozen=True, eq=False)
class PolicyRow:
    """The study as a policy, at one cost of treatment."""

    cost: float
    log: Log
    """What was observed, with the cost."""
    scores: Scores
    """What the tree was learned from."""
    model: PolicyTree
    is_confirmed: bool
    """Whether the certificate holds against the scores."""
    values: dict[str, float]
    """In sample: the mean reward of the tree and of each action for everyone."""
    evaluation: Evaluation
    everybody: Evaluation
    """Of giving everybody the programme, for its gain over nobody."""

    @property
    def gain_in_sample(self) -> float:
        """Over treating nobody, by the scores that the tree was learned from."""
        return self.model.value_ - self.values[ACTIONS[0]]


@dataclass(frozen=True, eq=False)
class CaseStudy:
    """Everything that the study found. `certree.study.summarise` puts it in words, `certree.study.write` into files.

    Examples
    --------
    >>> from certree import study
    >>> case = study.run(depths=[2], variations=[], repeats=1)
    >>> case.depths, case.has_wrong_certificate
    ([2], False)
    """

    table: Table
    treatment: Array
    outcome: Array
    rows: LabelledRows
    standard_errors: Array | None
    """Of the effects; None where they were given."""
    matching: Matching | None
    """None where effects were given."""
    stretches: dict[str, float]
    """By column; empty where effects were given."""
    regularization: float
    trees: tuple[TreeRow, ...]
    sensitivity: tuple[SensitivityRow, ...]
    policies: tuple[PolicyRow, ...]
    """By cost of treatment; the last is the one that was asked for."""
    alternatives: tuple[AlternativesRow, ...]
    """Of the tree of depth 3, or the nearest to it that the study has, and of the policy."""
    study_seconds: float
    is_complete: bool = True
    """False where Ctrl-C ended the study: what it did not come to is missing."""

    def pick(self, name: str, max_depth: int) -> TreeRow:
        """The tree of that kind ("direct", "duplicate", "printed", ...) and depth limit."""
        return next(row for row in self.trees if (row.name, row.max_depth) == (name, max_depth))

    @property
    def has_wrong_certificate(self) -> bool:
        """Whether one, of a tree or a policy, does not hold against the raw rows."""
        return any(row.is_confirmed is False for rows in (self.trees, self.policies) for row in rows)

    @property
    def depths(self) -> list[int]:
        """The depth limits of the trees, in order."""
        return sorted({row.max_depth for row in self.trees if row.name == METHODS[0]})

    @property
    def compared_depths(self) -> list[int]:
        """Those at which there is a tree of every kind."""
        kinds = {depth: {row.name for row in self.trees if row.max_depth == depth} for depth in self.depths}
        return [depth for depth, names in kinds.items() if names >= {*METHODS, "CART"}]


# Finding it -----------------------------------------------------------------------------------------------------------


def run(
    effects: Any = None,
    *,
    matching: Matching | None = None,
    depths: Sequence[int] = (2, 3, 4, 5),
    regularization: float = 0.01,
    time_limit: float | None = 60.0,
    treatment_cost: float = 1000.0,
    variations: Sequence[Matching] | None = None,
    repeats: int = 2,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CaseStudy:
    """Run the whole study. Ctrl-C ends it with what was found so far, if there is a tree by then.

    Parameters
    ----------
    effects : array of 722 numbers, default=None
        The effect on each row of `certree.datasets.load_lalonde`, in its order. None: by matching.
    matching : Matching, default=None
        How effects are estimated where none are given.
    depths : sequence of int, default=(2, 3, 4, 5)
        Depth limits of the trees.
    regularization : float, default=0.01
        The penalty λ per leaf: the smallest that the paper used on this table.
    time_limit : float or None, default=60.0
        Seconds per tree. A tree that is not proved optimal by then is kept, with the gap that is left.
    treatment_cost : float, default=1000.0
        Dollars that the programme costs per man, for the policy; the study also says what happens if it is free.
    variations : sequence of Matching, default=None
        The settings that labels are compared over. None: the study's and fourteen others.
    repeats : int, default=2
        How many times the rows are divided into folds in the evaluation of the policy.
    n_jobs : int or None, default=None
        Threads that search for a tree. None is one, -1 all.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    CaseStudy

    Raises
    ------
    ValueError
        If a setting is out of range, or if there are not 722 finite effects.
    KeyboardInterrupt
        If Ctrl-C was pressed before there was a tree.

    Examples
    --------
    >>> from certree import study
    >>> case = study.run(depths=[2], variations=[], repeats=1)
    >>> case.pick("direct", 2).model.status_
    'optimal'
    """
    started = time.perf_counter()
    depths = sorted(set(depths))
    if not depths:
        raise ValueError("depths must name at least one depth limit")
    if not (np.isfinite(treatment_cost) and treatment_cost >= 0):
        raise ValueError(f"treatment_cost must be a finite number of at least 0, not {treatment_cost!r}")
    data = load_lalonde()
    names = tuple(data.feature_names)
    table = Table(names, tuple(data.data.T), (False,) * len(names), len(data.data), True)
    matching = matching or Matching()
    variations = vary(matching) if variations is None else tuple(variations)
    prices = sorted({0.0, float(treatment_cost)})
    prices.sort(key=lambda price: price == treatment_cost)
    search = {"regularization": float(regularization), "time_limit": time_limit, "n_jobs": n_jobs}
    n_steps = 2 + len(depths) * len(METHODS) + len(variations) + len(prices)
    with _steps(n_steps, verbose) as step:
        step("effects by matching" if effects is None else "effects as given")
        estimate = None if effects is not None else _match(table, data, matching)
        rows = label_rows(table, _read_effects(effects, table.n_rows) if estimate is None else estimate.effects_)
        trees: list[TreeRow] = []
        sensitivity: list[SensitivityRow] = []
        policies: list[PolicyRow] = []
        alternatives: list[AlternativesRow] = []
        is_complete = True
        try:
            for row in _grow(table, rows, depths, search, step):
                trees.append(row)
                _heed_interrupt(row)
            for number, varied in enumerate(variations, 1):
                step(f"labels by other settings, {number} of {len(variations)}")
                sensitivity.append(_compare(table, data, rows, varied, search))
            for price in prices:
                step(f"policy at {price:,.0f} dollars per man, and its value on unseen men")
                policies.append(_decide(table, data, price, time_limit, matching.random_state, repeats))
            step("other trees and policies as good")
            for found in _find_alternatives(table, rows, min(depths, key=_far_from_shown), policies[-1], search):
                alternatives.append(found)
        except KeyboardInterrupt:
            if METHODS[0] not in (row.name for row in trees):
                raise
            is_complete = False
    if not is_complete:
        warn_interrupted("the study holds what was found so far, and the rest is missing")
    return CaseStudy(
        table=table,
        treatment=data.treatment,
        outcome=data.target,
        rows=rows,
        standard_errors=None if estimate is None else estimate.standard_errors_,
        matching=None if estimate is None else matching,
        stretches={} if estimate is None else dict(zip(estimate.columns_, estimate.stretches_.tolist(), strict=True)),
        regularization=float(regularization),
        trees=tuple(trees),
        sensitivity=tuple(sensitivity),
        policies=tuple(policies),
        alternatives=tuple(alternatives),
        study_seconds=time.perf_counter() - started,
        is_complete=is_complete,
    )


def _heed_interrupt(found: Any) -> None:
    """Ctrl-C in one search is meant for the study."""
    if "interrupted" in (getattr(found, "status", None), getattr(found, "status_", None)):
        raise KeyboardInterrupt


def label_rows(table: Table, effects: Array) -> LabelledRows:
    """Labels from effects, what a mistake costs, and its weight: the paper's formulas."""
    labels = np.where(effects > GAIN_ABOVE, 2, np.where(effects < LOSS_ABOVE, 0, 1))
    age = table.columns[table.names.index("age")]
    costs = np.choose(labels, [200 + 3 * age, 100 + 3 * age, np.full(len(age), 300.0)])
    low, high = costs.min(), costs.max()
    weights = 1 + 99 * (costs - low) / (high - low) if high > low else np.ones(len(costs))
    return LabelledRows(effects, labels, costs, weights)


def _read_effects(effects: Any, n_rows: int) -> Array:
    try:
        given: Array = np.asarray(effects, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"effects must hold numbers: {error}") from error
    if given.shape != (n_rows,):
        raise ValueError(f"effects must be one number for each of the {n_rows} rows, not of shape {given.shape}")
    if not np.isfinite(given).all():
        row = int(np.argmax(~np.isfinite(given)))
        raise ValueError(f"effects is {'NaN' if np.isnan(given[row]) else 'infinite'} in {name_row(row, effects)}")
    return given


def _match(table: Table, data: Any, matching: Matching) -> MatchingEffects:
    model = MatchingEffects(**asdict(matching))
    model.fit(table, data.treatment, data.target)
    return model


def _grow(
    table: Table, rows: LabelledRows, depths: Sequence[int], search: Mapping[str, Any], step: Callable[[str], None]
) -> Iterator[TreeRow]:
    """Every tree of the study, one after the other."""
    regularization = search["regularization"]
    y, X = np.array(LABELS)[rows.labels], np.column_stack(table.columns)
    problem = _make_problem(table, rows, regularization)
    yield _weigh_up("constant", 0, problem.lone_leaf(), problem, rows)
    for depth in depths:
        leaves = 1
        for method in METHODS:
            step(f"tree of depth {depth}, {method}")
            model = _fit(SparseTreeClassifier(depth, method=method, random_state=0, **search), table, y, rows.weights)
            leaves = model.n_leaves_ if method == METHODS[0] else leaves
            verdict = certify.check(model.certificate_, model.tree_, table, y, rows.weights)
            yield TreeRow(
                method, depth, model.n_leaves_, model.loss_, model.objective_, model.lower_bound_, model.status_,
                model.fit_seconds_, rows.share(rows.costs, model.predict(table) != y), model, verdict.holds,
            )  # fmt: skip
        started = time.perf_counter()
        # As many leaves as the certified tree: the two then differ in nothing but how they were found.
        greedy = DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=max(2, leaves), random_state=0)
        greedy.fit(X, y, rows.weights)
        seconds = time.perf_counter() - started
        is_wrong, n_leaves = greedy.predict(X) != y, int(greedy.get_n_leaves())
        loss = rows.share(rows.weights, is_wrong)
        yield TreeRow(
            "CART", depth, n_leaves, loss, loss + regularization * n_leaves, None, "greedy", seconds,
            rows.share(rows.costs, is_wrong), greedy,
        )  # fmt: skip
        if depth in PRINTED:
            yield _weigh_up("printed", depth, plant(PRINTED[depth], problem), problem, rows)


def _make_problem(table: Table, rows: LabelledRows, regularization: float) -> Problem:
    return Problem.from_labels(
        make_features(table), rows.labels, rows.weights, labels=LABELS, regularization=regularization
    )


def _weigh_up(name: str, depth: int, tree: Tree, problem: Problem, rows: LabelledRows) -> TreeRow:
    account = certify.measure(tree, problem)
    is_wrong = tree.label[tree.apply(problem.features.table)] != rows.labels
    return TreeRow(
        name, depth, tree.n_leaves, account.loss, account.objective, None, "given", None,
        rows.share(rows.costs, is_wrong), tree,
    )  # fmt: skip


def _compare(
    table: Table, data: Any, own: LabelledRows, matching: Matching, search: Mapping[str, Any]
) -> SensitivityRow:
    rows = label_rows(table, _match(table, data, matching).effects_)
    problem = _make_problem(table, rows, search["regularization"])
    model = _fit(SparseTreeClassifier(3, **search), table, rows.labels, rows.weights)
    _heed_interrupt(model)
    return SensitivityRow(
        matching=matching,
        counts=rows.counts,
        same_label=float(np.mean(rows.labels == own.labels)),
        constant_loss=certify.measure(problem.lone_leaf(), problem).loss,
        printed_loss=certify.measure(plant(PRINTED[3], problem), problem).loss,
        optimal_loss=model.loss_,
        optimal_leaves=model.n_leaves_,
    )


def _decide(table: Table, data: Any, price: float, time_limit: float | None, seed: int, repeats: int) -> PolicyRow:
    """An exact policy tree on doubly robust scores of earnings, and its value on men that it has not seen."""
    arms = np.array(ACTIONS)[data.treatment]
    # An experiment: everybody's chance was the same.
    chance = float(np.mean(data.treatment))
    log = Log(table, arms, data.target, propensity=chance, costs=[0.0, price], actions=ACTIONS)
    scores = doubly_robust(log, random_state=seed)
    policy = PolicyTree(2, min_samples_arm=ROWS_OF_AN_ARM, time_limit=time_limit)
    model = _fit(policy, table, scores, treatment=arms)
    _heed_interrupt(model)
    verdict = certify.check(model.certificate_, model.tree_, table, rewards=scores.rewards, arms=data.treatment)
    means = scores.rewards.mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchInterrupted)
        evaluation = evaluate(policy, log, random_state=seed, repeats=repeats)
    if evaluation.repeats < repeats:
        raise KeyboardInterrupt
    return PolicyRow(
        cost=price,
        log=log,
        scores=scores,
        model=model,
        is_confirmed=verdict.holds,
        values={"the tree": model.value_, **dict(zip(ACTIONS, means.tolist(), strict=True))},
        evaluation=evaluation,
        everybody=evaluate(_treat_everybody, log, random_state=seed, repeats=repeats),
    )


def _fit(model: Any, *arguments: Any, **others: Any) -> Any:
    """A fitted model; that it was interrupted is said once, of the study."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchInterrupted)
        return model.fit(*arguments, **others)


def _treat_everybody(X: Any) -> Array:
    return np.full(read_table(X).n_rows, ACTIONS[1])


def _far_from_shown(depth: int) -> int:
    """How far a depth limit is from that of the tree that the study shows."""
    return abs(depth - DEPTH_SHOWN)


def _find_alternatives(
    table: Table, rows: LabelledRows, depth: int, policy: PolicyRow, search: Mapping[str, Any]
) -> Iterator[AlternativesRow]:
    """All trees within half a percentage point of the weight, and within one; all policies within a twentieth of what
    the best one seems to gain, and within a quarter."""
    y = np.array(LABELS)[rows.labels]
    for tolerance in (0.005, 0.01):
        trees = good_trees(table, y, rows.weights, tolerance=tolerance, max_depth=depth, **search)
        yield _describe_set("tree", trees)
    for share in (1 / 20, 1 / 4):
        policies = good_policies(
            table, policy.scores, tolerance=share * policy.gain_in_sample, treatment=policy.log.arms,
            min_samples_arm=ROWS_OF_AN_ARM, time_limit=search["time_limit"], n_jobs=search["n_jobs"],
        )  # fmt: skip
        assert isinstance(policies, TreeSet)
        yield _describe_set("policy", policies)


def _describe_set(name: str, trees: TreeSet) -> AlternativesRow:
    if trees.status == "interrupted":
        raise KeyboardInterrupt
    trees = trees.complete_part()
    agreed = int(trees.rows().is_agreed.sum()) if trees else 0
    return AlternativesRow(name, trees.tolerance, trees, agreed, tuple(trees.columns()) if trees else ())


@contextmanager
def _steps(total: int, verbose: int) -> Iterator[Callable[[str], None]]:
    """A bar that says what is under way, and moves when that is done."""
    layout = "{elapsed} |{bar:24}| {n_fmt} of {total_fmt} done; {desc}"
    with tqdm(total=total, disable=not verbose, bar_format=layout, leave=False) as bar:
        is_first = True

        def step(words: str) -> None:
            nonlocal is_first
            bar.n += not is_first
            is_first = False
            bar.set_description_str(words)

        yield step
