"""Fronts of cost against spend: which trees are worth having when spending is limited.

A tree that costs no less and spends no less than another one is never needed. What is left of a set of trees is its
front. The front of a split is that of all pairs of its sides', so fronts are made from the leaves up. This room holds
fronts, and the one of a given tree: of all ways to prune it and to give actions to its leaves.

At a price μ a tree has the priced cost: cost + μ · spend, with the penalty of its leaves. It prunes fronts: where the
whole must stay below a cap, a part has no use for what reaches the cap less the least priced cost of the other parts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.features import LEAF, ColumnTest
from certree.problem import Problem
from certree.start import Branch
from certree.tree import Tree

Array = NDArray[Any]

Plan = Any
"""A tree to be: the number of an action, or a ColumnTest with the plan where it holds and the plan where it fails."""

MOST_PAIRS = 4_000_000
"""Pairs of two sides that are looked at in one go; more would take too much memory."""


class TooManyError(RuntimeError):
    """A front or a search outgrew what is affordable."""


@dataclass(frozen=True, eq=False)
class Front:
    """Trees on one set of rows, none of which is needless."""

    cost: Array
    """float64, one per tree; with the penalty of its leaves."""
    spend: Array
    priced: Array
    leaves: Array
    plans: Sequence[Plan]

    def __len__(self) -> int:
        return len(self.plans)


EMPTY = Front(np.empty(0), np.empty(0), np.empty(0), np.empty(0), ())


def keep_needed(cost: Array, spend: Array, leaves: Array | None) -> Array:
    """Which trees no other one beats in both; with `leaves`, only trees of as many leaves are compared."""
    if leaves is not None:
        parts = [np.flatnonzero(leaves == number) for number in np.unique(leaves)]
        return np.concatenate(
            [part[keep_needed(cost[part], spend[part], None)] for part in parts] or [np.empty(0, int)]
        )
    order = np.lexsort((cost, spend))
    least = np.minimum.accumulate(cost[order])
    is_better = np.r_[True, least[1:] < least[:-1]] if len(order) else np.empty(0, bool)
    return np.asarray(order[is_better])


def gather(fronts: Sequence[Front], *, by_leaves: bool) -> Front:
    """The front of several."""
    fronts = [front for front in fronts if len(front)]
    if len(fronts) < 2:
        return fronts[0] if fronts else EMPTY
    cost, spend, priced, leaves = (
        np.concatenate([getattr(front, name) for front in fronts]) for name in ("cost", "spend", "priced", "leaves")
    )
    plans = [plan for front in fronts for plan in front.plans]
    keep = keep_needed(cost, spend, leaves if by_leaves else None)
    return Front(cost[keep], spend[keep], priced[keep], leaves[keep], [plans[tree] for tree in keep.tolist()])


def make_leaf(cost: Array, spend: Array, priced: Array, cap: float) -> Front:
    """The front of a lone leaf, from the amounts of each action."""
    below = np.flatnonzero(priced < cap)
    keep = below[keep_needed(cost[below], spend[below], None)]
    return Front(cost[keep], spend[keep], priced[keep], np.ones(len(keep), dtype=np.int64), keep.tolist())


def join(test: ColumnTest, holds: Front, fails: Front, cap: float, most_leaves: int | None) -> Front:
    """The front of a test with these sides."""
    if len(holds) * len(fails) > MOST_PAIRS:
        raise TooManyError
    priced = holds.priced[:, None] + fails.priced
    is_allowed = priced < cap
    if most_leaves is not None:
        is_allowed &= holds.leaves[:, None] + fails.leaves <= most_leaves
    one, two = np.nonzero(is_allowed)
    cost, spend = holds.cost[one] + fails.cost[two], holds.spend[one] + fails.spend[two]
    leaves = holds.leaves[one] + fails.leaves[two]
    keep = keep_needed(cost, spend, None if most_leaves is None else leaves)
    plans = [
        (test, holds.plans[a], fails.plans[b]) for a, b in zip(one[keep].tolist(), two[keep].tolist(), strict=True)
    ]
    return Front(cost[keep], spend[keep], priced[one, two][keep], leaves[keep], plans)


def choose(front: Front, limit: float) -> Plan | None:
    """The plan of least cost that spends at most `limit`; of equals, the one that spends least."""
    within = np.flatnonzero(front.spend <= limit)
    if len(within) == 0:
        return None
    return front.plans[within[np.lexsort((front.spend[within], front.cost[within]))[0]]]


# A given tree -------------------------------------------------------------------------------------------------------


MOST_OF_A_TREE = 2000
"""Ways to use one subtree that are kept; of more, those of the least priced cost."""


def use_tree(
    tree: Tree,
    losses: Array,
    spends: Array,
    penalty: float,
    price: float,
    limit: float,
    cap: float = math.inf,
    kept: Collection[int] = (),
) -> Plan | None:
    """The best way to prune a tree and give actions to its leaves that spends at most `limit`.

    `losses` and `spends` are nodes × actions; the nodes that are `kept` are not pruned. None where nothing within the
    limit has a priced cost below `cap`. Best of all ways, unless a subtree has more than MOST_OF_A_TREE that matter.
    """
    priced = losses + price * spends + penalty
    priced[list(kept)] = math.inf
    best = priced.min(axis=1)
    for node in np.flatnonzero(tree.column >= 0)[::-1]:
        best[node] = min(best[node], best[tree.left[node]] + best[tree.right[node]])

    def explore(node: int, cap: float) -> Front:
        leaf = make_leaf(losses[node] + penalty, spends[node], priced[node], cap)
        if tree.column[node] < 0:
            return leaf
        left, right = int(tree.left[node]), int(tree.right[node])
        sides = explore(left, cap - best[right]), explore(right, cap - best[left])
        return _shorten(gather([leaf, join(column_test(tree, node), *sides, cap, None)], by_leaves=False))

    return choose(explore(0, cap), limit)


def _shorten(front: Front) -> Front:
    if len(front) <= MOST_OF_A_TREE:
        return front
    keep = np.argsort(front.priced, kind="stable")[:MOST_OF_A_TREE]
    plans = [front.plans[tree] for tree in keep.tolist()]
    return Front(front.cost[keep], front.spend[keep], front.priced[keep], front.leaves[keep], plans)


def column_test(tree: Tree, node: int) -> ColumnTest:
    """The test of an inner node, for a plan."""
    return ColumnTest(
        int(tree.column[node]), float(tree.threshold[node]), int(tree.category[node]), bool(tree.missing_left[node])
    )


# From plans to trees ------------------------------------------------------------------------------------------------


def grow(problem: Problem, plan: Plan, *, keeps_idle: bool = False) -> Tree:
    """The weighed tree of a plan, its leaves with the actions of the plan, without tests that are idle."""
    tests: list[ColumnTest] = []
    actions: list[int] = []
    children: list[tuple[int, int]] = []

    def add(plan: Plan) -> int:
        place = len(tests)
        is_split = isinstance(plan, tuple)
        tests.append(plan[0] if is_split else LEAF)
        actions.append(-1 if is_split else plan)
        children.append((-1, -1))
        if is_split:
            first = add(plan[1])
            children[place] = (first, add(plan[2]))
        return place

    add(plan if keeps_idle else _without_idle_tests(plan, problem.start))
    tree = problem.make_tree(
        [test.column for test in tests],
        [test.threshold for test in tests],
        [test.category for test in tests],
        [test.missing_left for test in tests],
        [pair[0] for pair in children],
        [pair[1] for pair in children],
    )
    return replace(tree, label=np.where(np.array(actions) < 0, tree.label, actions))


def _without_idle_tests(plan: Plan, start: Branch | str | None) -> Plan:
    """The plan without tests whose sides both end in the same action, but for those that it must begin with."""
    if not isinstance(plan, tuple):
        return plan
    asked = start.sides if isinstance(start, Branch) else (None, None)
    holds, fails = (_without_idle_tests(side, own) for side, own in zip(plan[1:], asked, strict=True))
    is_idle = not isinstance(holds, tuple) and holds == fails and not isinstance(start, Branch)
    return holds if is_idle else (plan[0], holds, fails)
