"""One fit on a table in parts, from the first pass to the certificate.

survey     every partition describes its columns, labels and weights
quantiles  a few passes where numbers have more values than thresholds
code       every partition becomes codes and amounts, which stay with their workers
sums       sums over cells, added up; the best tree of depth three from them alone (`sums`)
deeper     where the merged rows fit into one place, the engine's search; else growth by lookahead
weigh      the finished tree on the raw values of every partition: what is stated comes from there
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

from certree.amounts import find_exponent, to_float
from certree.certificate import list_settings
from certree.dask import work
from certree.dask.crew import Crew
from certree.dask.parts import Collections, Task, lazy
from certree.dask.survey import (
    Brackets,
    Decided,
    Sought,
    Survey,
    decide,
    find_quantiles,
    join_columns,
    join_labels,
    make_codings,
    make_whole_features,
    pick,
    profile,
    read_categorical,
    survey,
)
from certree.features import Features
from certree.fingerprint import fingerprint_parts
from certree.limits import Limits
from certree.problem import Problem, check_total_weight, find_leaf_shift
from certree.solution import Solution, judge
from certree.solver import PACKAGE_VERSION, read_tree
from certree.sums import (
    DEEPEST,
    Block,
    Branch,
    Channels,
    Coded,
    CodeTests,
    Gains,
    list_nodes,
    list_tests,
    plan_blocks,
    search_rows,
)
from certree.tree import Tree, plain_value

Array = NDArray[Any]

BLOCK_BYTES = 1 << 26
"""Of one block of sums where no memory limit is set; a worker holds a few of them."""
LARGEST_SET = 1 << 30
"""Bytes of the sums over one set of columns at most, where no memory limit is set."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is asked for."""

    max_depth: int | None
    regularization: float
    max_leaves: int | None = None
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_samples_arm: int = 0
    thresholds: int = 64
    forbidden: Any = None
    categorical_features: Any = "auto"
    gather_limit: int = 1 << 30
    time_limit: float | None = None
    memory_limit: int | None = None

    def __post_init__(self) -> None:
        if self.max_depth is None and self.max_leaves is None and self.regularization == 0:
            raise ValueError("max_depth=None needs regularization > 0 or max_leaves: nothing else limits the tree")

    @property
    def block_bytes(self) -> int:
        # A worker holds its own sums of a few blocks, those that it adds, and the tests that it makes of them.
        return BLOCK_BYTES if self.memory_limit is None else max(self.memory_limit // 12, 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartsProblem(Problem):
    """A Problem without its rows, which lie in parts: what a tree weighs, the parts are asked."""

    ask: Callable[[Tree], Tree]
    is_splittable: bool = True

    def weigh(self, tree: Tree) -> Tree:
        return self.ask(tree)

    @property
    def has_room_to_split(self) -> bool:
        return self.is_splittable


@dataclass(frozen=True, eq=False)
class Described:
    """The whole table, as the first passes have found it."""

    surveys: Sequence[Survey]
    features: Features
    rows_of_codes: Sequence[Array]
    tests: CodeTests
    channels: Channels
    normaliser: float
    coded: Sequence[Any]
    """Futures of `work.CodedPart`."""
    sums: Array
    base: int
    n_rounded: int
    n_merged: int
    n_passes: int

    @property
    def n_rows(self) -> int:
        return self.features.n_rows

    @property
    def n_given(self) -> int:
        return sum(own.n_given for own in self.surveys)


def take_survey(crew: Crew, collections: Collections, task: Task, settings: Settings) -> list[Survey]:
    """The first pass."""
    chosen = read_categorical(settings.categorical_features, collections.names)
    n_arms = 0 if task.actions is None else len(task.actions)
    tasks = lazy(collections, survey, task, settings.thresholds, chosen, settings.min_weight_leaf, n_arms)
    surveys = crew.run(tasks, "survey")
    if sum(own.n_given for own in surveys) == 0:
        raise ValueError("X has no rows in any partition")
    check_total_weight(to_float(sum(own.weight for own in surveys)))
    return surveys


def describe(
    crew: Crew, collections: Collections, task: Task, settings: Settings, surveys: Sequence[Survey], n_labels: int
) -> Described:
    """Columns, cuts and codes of the whole table. The coded rows stay with the workers."""
    weight = sum(own.weight for own in surveys)
    columns = join_columns(surveys, collections.names, settings.thresholds)
    orders = {index: column.order for index, column in enumerate(columns) if column.order is not None}
    n_passes = 2

    def ask(brackets: Brackets, most_points: int, sought: Mapping[int, Sought]) -> dict[int, Decided]:
        nonlocal n_passes
        n_passes += 1
        parts = crew.hold(lazy(collections, profile, task, find_exponent(weight), brackets, orders, most_points))
        return crew.read_columns(pick, decide, parts, sought, "quantiles")

    cut = [index for index, column in enumerate(columns) if column.distinct is None]
    cuts = find_quantiles(cut, settings.thresholds, collections.n_parts, ask)
    codings = make_codings(columns, cuts)
    has_costs = task.actions is not None
    counted = sum(own.counted for own in surveys)
    channels = Channels(
        n_labels=n_labels,
        exponent=find_exponent(sum(own.cost for own in surveys) if has_costs else weight),
        min_samples_leaf=settings.min_samples_leaf,
        min_weight_leaf=settings.min_weight_leaf,
        leaf_shift=find_leaf_shift(to_float(counted)) if settings.min_weight_leaf > 0 else 0,
        n_arms=len(task.actions) if task.actions is not None and settings.min_samples_arm > 0 else 0,
        min_samples_arm=settings.min_samples_arm,
    )
    coded = crew.hold(lazy(collections, work.code_rows, task, codings, channels, cut, has_costs))
    facts = crew.read(work.facts_of, coded, "codes")
    above = {column: np.min([own.least[column] for own in facts], axis=0)[1:] for column in cut}
    features, rows_of_codes = make_whole_features(
        columns,
        {column: (cuts[column], above[column]) for column in cut},
        has_names=collections.has_names,
        categorical_features=settings.categorical_features,
        thresholds=settings.thresholds,
        forbidden=settings.forbidden,
        n_rows=sum(own.n_rows for own in surveys),
    )
    return Described(
        surveys=surveys,
        features=features,
        rows_of_codes=rows_of_codes,
        tests=list_tests(features, rows_of_codes),
        channels=channels,
        normaliser=to_float(weight),
        coded=coded,
        sums=np.sum([own.sums for own in facts], axis=0),
        base=sum(own.base for own in facts),
        n_rounded=sum(own.n_rounded for own in facts),
        n_merged=sum(own.n_merged for own in facts),
        n_passes=n_passes,
    )


# The best tree ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Answer:
    """A tree as nodes of axes and codes, what is known of it, and how it was found."""

    nodes: Mapping[str, Any]
    objective: float
    """In units of R, from the amounts."""
    lower: float
    status: str
    statistics: Mapping[str, Any]
    guarantees: Mapping[str, Any]


def find_tree(crew: Crew, whole: Described, settings: Settings) -> Answer:
    """The best tree, proved where sums or one worker's memory are enough for a proof."""
    channels = whole.channels
    penalty = channels.penalty(settings.regularization, whole.normaliser, 1 << 57)
    groups = crew.group(whole.coded)
    depth = DEEPEST if settings.max_depth is None else min(settings.max_depth, DEEPEST)
    if settings.max_leaves is not None:
        depth = min(depth, settings.max_leaves - 1)
    value, branch, statistics = _solve_shallow(crew, whole, settings, groups, depth, penalty)

    def objective_of(gain: int, tree: Branch | None) -> float:
        leaves = 1 if tree is None else tree.n_leaves
        cost = (whole.base - (gain + penalty * channels.rule.factor * leaves)) / channels.rule.factor
        return channels.value(cost, whole.normaliser) + settings.regularization * leaves

    shallow = objective_of(value, branch)
    found = Answer(list_nodes(branch, whole.tests), shallow, shallow, "optimal", statistics, {})
    is_deeper = settings.max_depth is None or settings.max_depth > DEEPEST
    is_deeper = is_deeper and (settings.max_leaves is None or settings.max_leaves > DEEPEST + 1)
    # A tree deeper than three has five leaves at least, each of which costs λ.
    bound = (DEEPEST + 2) * settings.regularization
    if not is_deeper or shallow <= bound:
        return found
    gathered = _search_gathered(crew, whole, settings, groups, statistics)
    if gathered is not None:
        return gathered
    if settings.max_leaves is not None:
        raise ValueError(
            f"max_leaves cannot be combined with max_depth above {DEEPEST} where the merged rows do not fit into "
            f"gather_limit={settings.gather_limit}: raise gather_limit, or leave max_leaves out"
        )
    gain, grown = _grow(crew, whole, settings, groups, penalty, branch)
    statement = (
        f"grown by exact lookahead of depth {DEEPEST}; the best tree of depth {DEEPEST} is proved, and no deeper tree "
        f"is below {bound:g}"
    )
    growth = {"statement": statement, "lookahead": DEEPEST, "shallow_objective": shallow}
    return Answer(
        list_nodes(grown, whole.tests), objective_of(gain, grown), min(shallow, bound), "approximate", statistics,
        {"growth": growth},
    )  # fmt: skip


def _plan(whole: Described, settings: Settings, depth: int) -> list[Block]:
    tests, n_channels = whole.tests, whole.channels.rule.n_channels
    blocks = plan_blocks(tests, n_channels, depth, settings.block_bytes)
    limit = LARGEST_SET if settings.memory_limit is None else settings.block_bytes
    largest = max(blocks, key=lambda block: block.n_amounts, default=None)
    # A block is larger than it should be only where one set of columns is.
    if largest is not None and 8 * largest.n_amounts > limit and len(largest.sets) == 1:
        names = [whole.features.columns[column].name for column in largest.sets[0].tolist() if column >= 0]
        needed = 8 * largest.n_amounts
        raise ValueError(
            f"the sums over columns {', '.join(map(repr, names))} take {needed} bytes, and a worker holds twelve times "
            f"that: set memory_limit to {12 * needed} at least, or thresholds below {settings.thresholds}, or leave "
            "such a column out"
        )
    return blocks


def _solve_shallow(
    crew: Crew,
    whole: Described,
    settings: Settings,
    groups: Sequence[Sequence[Any]],
    depth: int,
    penalty: int,
    grown: Branch | None = None,
    leaf: int = 0,
    sums: Array | None = None,
) -> tuple[int, Branch | None, dict[str, Any]]:
    """What the best tree of a depth gains on the rows that reach a leaf of what has grown, and the tree."""
    rule = whole.channels.rule
    gains = Gains(whole.tests, rule, rule.lone(whole.sums if sums is None else sums))
    blocks = _plan(whole, settings, depth) if depth > 0 else []
    with crew.timed("sums"):
        for found in crew.weigh_blocks(groups, blocks, whole.tests, rule, depth, grown, leaf):
            gains.add(found)
        value, branch = gains.best_tree(depth, penalty, settings.max_leaves)
    return value, branch, {"blocks": len(blocks), "cells": sum(block.n_amounts for block in blocks)}


def _search_gathered(
    crew: Crew, whole: Described, settings: Settings, groups: Sequence[Sequence[Any]], statistics: Mapping[str, Any]
) -> Answer | None:
    """The engine's search over the merged rows on one worker; None where these do not fit into the limit."""
    sizes = whole.tests.sizes
    n_bytes = len(sizes) * (1 if sizes.max() <= 1 << 8 else 2) + 8 * len(whole.sums)
    most_rows = settings.gather_limit // n_bytes
    join = partial(work.join_merged, sizes=sizes, most_rows=most_rows)
    with crew.timed("search"):
        merged = crew.fold(work.merge_parts, groups, join, sizes, most_rows)
        found = crew.client.submit(_search, merged, whole.features, whole.rows_of_codes, whole.channels, settings,
                                   whole.normaliser, pure=False).result()  # fmt: skip
    if found is None:
        return None
    channels = whole.channels
    avoidable = found.pop("avoidable")
    rest = channels.value((whole.base - avoidable) / channels.rule.factor, whole.normaliser)
    return Answer(
        found, found["upper"] + rest, found["lower"] + rest, found["status"],
        {**statistics, **found["statistics"], "gathered_rows": found["rows"]}, {},
    )  # fmt: skip


def _search(
    merged: Coded | int,
    features: Features,
    rows_of_codes: Sequence[Array],
    channels: Channels,
    settings: Settings,
    normaliser: float,
) -> dict[str, Any] | None:
    """On a worker: the engine's search, with as many threads as the worker has."""
    if isinstance(merged, int):
        return None
    n_labels = channels.rule.n_labels
    saved = merged.amounts[:, :n_labels]
    largest = np.abs(saved[:, 0]) if n_labels == 1 else saved.max(axis=1)
    found = search_rows(
        merged, features, rows_of_codes, channels,
        normaliser=float(np.ldexp(normaliser, channels.exponent)),
        regularization=float(settings.regularization),
        max_depth=-1 if settings.max_depth is None else int(settings.max_depth),
        max_leaves=0 if settings.max_leaves is None else int(settings.max_leaves),
        time_limit=np.inf if settings.time_limit is None else float(settings.time_limit),
        memory_limit=settings.memory_limit or 0,
        n_threads=_count_threads(),
    )  # fmt: skip
    return {**found, "avoidable": sum(map(int, largest)), "rows": merged.n_rows}


def _count_threads() -> int:
    """Those of the worker that this runs on."""
    try:
        return int(get_worker().state.nthreads)
    except ValueError:
        return 1  # no worker: the caller runs everything by itself


def _grow(
    crew: Crew, whole: Described, settings: Settings, groups: Sequence[Sequence[Any]], penalty: int,
    root: Branch | None,
) -> tuple[int, Branch | None]:  # fmt: skip
    """A deeper tree: at every open leaf the root test of the best tree of depth three below it, and so on.

    Where no more than three levels are left, or that tree has fewer, it is the tree itself. `root` is the best tree of
    the whole table.
    """
    price = penalty * whole.channels.rule.factor
    if root is None:
        return whole.channels.rule.lone(whole.sums) - price, None
    levels = np.inf if settings.max_depth is None else settings.max_depth
    grown = Branch(root.test, None, None)
    open_leaves: list[bool] = [True, True]
    depth = 1
    while any(open_leaves):
        sums = crew.fold(work.sum_leaves, groups, work.add_sums, whole.tests, grown).result()
        subtrees: list[Branch | None] = []
        still: list[bool] = []
        left = min(levels - depth, DEEPEST)
        for leaf, is_open in enumerate(open_leaves):
            found: Branch | None = None
            if is_open:
                _, found, _ = _solve_shallow(crew, whole, settings, groups, int(left), penalty, grown, leaf, sums[leaf])
            goes_on = found is not None and levels - depth > DEEPEST and _depth(found) == DEEPEST
            if goes_on and found is not None:
                found = Branch(found.test, None, None)
            subtrees.append(found)
            still += [goes_on] * (1 if found is None else found.n_leaves)
        grown = _put(grown, iter(subtrees))
        open_leaves = still
        depth += 1
    sums = crew.fold(work.sum_leaves, groups, work.add_sums, whole.tests, grown).result()
    return sum(whole.channels.rule.lone(own) for own in sums) - price * grown.n_leaves, grown


def _depth(branch: Branch | None) -> int:
    return 0 if branch is None else 1 + max(_depth(branch.left), _depth(branch.right))


def _put(branch: Branch | None, subtrees: Any) -> Any:
    """The tree with a subtree in the place of each leaf, from left to right."""
    if branch is None:
        return next(subtrees)
    left = _put(branch.left, subtrees)
    return Branch(branch.test, left, _put(branch.right, subtrees))


# What is stated -----------------------------------------------------------------------------------------------------


def solve(
    crew: Crew,
    collections: Collections,
    task: Task,
    settings: Settings,
    whole: Described,
    labels: Sequence[Any],
) -> tuple[Solution, work.Weighed]:
    """The solution of the whole table, judged by its raw values, and what the tree weighs there."""
    found = find_tree(crew, whole, settings)
    asked: list[work.Weighed] = []

    def ask(tree: Tree) -> Tree:
        parts = crew.run(lazy(collections, work.weigh_rows, task, tree, whole.channels), "weigh")
        asked.append(work.add_weighed(parts))
        return weigh_tree(tree, asked[-1], task.actions is not None)

    problem = make_problem(whole, settings, task, labels, ask)
    tree = read_tree(problem, found.nodes)
    solution = judge(
        problem, tree,
        claimed=found.objective,
        lower=found.lower,
        status=found.status,
        rounding=rounding_of_parts(whole, settings, problem),
        statistics={
            **found.statistics, "passes": whole.n_passes + 1, "merged_rows": whole.n_rows,
            "tests": whole.features.n_tests, "coded_rows": whole.n_merged, "step_seconds": dict(crew.seconds),
        },
        limits=asdict(Limits(settings.time_limit, settings.memory_limit)),
        version=PACKAGE_VERSION,
        digests=fingerprint_parts(
            whole.features, problem.labels, asked[-1].digest, list_settings(problem), whole.n_rows
        ),
        # As in memory, a classifier states that it has none, and a policy says nothing.
        **({"guarantees": dict(found.guarantees)} if found.guarantees or task.actions is None else {}),
    )  # fmt: skip
    return solution, asked[-1]


def rounding_of_parts(whole: Described, settings: Settings, problem: Problem) -> float:
    """What fixed-point amounts may do to the objective of any tree."""
    if not problem.has_room_to_split:
        return 0.0
    depth = settings.max_depth
    most_leaves = whole.n_rows if depth is None or depth > 30 else min(whole.n_rows, 1 << depth)
    return (
        whole.channels.value(0.5 * whole.n_rounded, whole.normaliser)
        + whole.channels.value(0.5 * most_leaves, whole.normaliser)
        + 2.0**-52 * settings.regularization * most_leaves
    )


def make_problem(
    whole: Described, settings: Settings, task: Task, labels: Sequence[Any], ask: Callable[[Tree], Tree]
) -> PartsProblem:
    """The problem that is solved, without its rows."""
    has_costs = task.actions is not None
    return PartsProblem(
        ask=ask,
        features=whole.features,
        labels=tuple(map(plain_value, labels)),
        weights=np.empty(0),
        y=None if has_costs else np.empty(0, dtype=np.int32),
        costs=np.empty((0, len(labels))) if has_costs else None,
        best_rewards=np.empty(0) if has_costs else None,
        normaliser=whole.normaliser,
        regularization=settings.regularization,
        max_depth=settings.max_depth,
        max_leaves=settings.max_leaves,
        min_samples_leaf=settings.min_samples_leaf,
        min_weight_leaf=settings.min_weight_leaf,
        arms=np.empty(0, dtype=np.int32) if settings.min_samples_arm > 0 else None,
        n_arms=whole.channels.n_arms,
        min_samples_arm=settings.min_samples_arm,
        n_rows_given=whole.n_given,
        is_splittable=_has_room(whole, settings, len(labels)),
    )


def _has_room(whole: Described, settings: Settings, n_labels: int) -> bool:
    """Whether a split might help and meet the constraints, as `Problem.has_room_to_split` sees it."""
    rule = whole.channels.rule
    needed = list(rule.least)
    # Both sides must hold the minimum of rows and of arms; of weight, all rows together.
    for place in range(len(needed)):
        is_weight = settings.min_weight_leaf > 0 and place == (settings.min_samples_leaf > 1)
        needed[place] *= 1 if is_weight else 2
    return (
        n_labels > 1
        and settings.max_depth != 0
        and settings.max_leaves != 1
        and len(whole.features.axes) > 0
        and whole.n_rows >= 2
        and all(int(own) >= least for own, least in zip(whole.sums[rule.n_labels :], needed, strict=True))
    )


def weigh_tree(tree: Tree, weighed: work.Weighed, has_costs: bool) -> Tree:
    """The tree with what it weighs at its nodes, and the best label of each; sums are exact until they are floats."""
    n_nodes, n_labels = tree.n_nodes, len(tree.labels)
    rows = weighed.rows.copy()
    amounts = [weighed.amounts[node * n_labels : (node + 1) * n_labels] for node in range(n_nodes)]
    weight, best = list(weighed.weight), list(weighed.best)
    for node in np.flatnonzero(tree.column >= 0)[::-1].tolist():
        left, right = int(tree.left[node]), int(tree.right[node])
        rows[node] = rows[left] + rows[right]
        amounts[node] = [one + other for one, other in zip(amounts[left], amounts[right], strict=True)]
        weight[node], best[node] = weight[left] + weight[right], best[left] + best[right]
    costs = amounts if has_costs else [[sum(own) - one for one in own] for own in amounts]
    rewards = None
    if has_costs:
        rewards = np.array([
            [to_float(top - cost) / (to_float(total) or 1.0) for cost in own]
            for top, own, total in zip(best, costs, weight, strict=True)
        ])  # fmt: skip
    return replace(
        tree,
        label=np.array([own.index(min(own)) for own in costs]),
        rows=rows,
        weight=np.array([to_float(total) for total in weight]),
        costs=np.array([[to_float(cost) for cost in own] for own in costs]),
        label_weights=None if has_costs else np.array([[to_float(one) for one in own] for own in amounts]),
        rewards=rewards,
    )


def count_labels(surveys: Sequence[Survey]) -> tuple[Array, Array]:
    """The labels in order, and how many rows carry each."""
    counts = join_labels(surveys)
    values = list(counts)
    classes = np.array(values, dtype=object) if any(isinstance(value, str) for value in values) else np.array(values)
    return classes, np.array(list(counts.values()))
