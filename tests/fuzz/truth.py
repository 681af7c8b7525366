"""What the answer must be: optima by enumeration, and what a given tree costs by routing raw cells.

Small problems are enumerated twice, by `brute` and by the package's own `certify`, in integers both; the two know
nothing of each other.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from certree import Problem, certify
from certree.features import make_features

from .brute import TOLERANCE, Rules, best_by_leaves, list_tests, route, spends_and_costs, whole_numbers
from .case import Case

MOST_TESTS = 10
"""Beyond it, or beyond depth two, only `certify` enumerates: writing down every tree takes too long."""
SPEND_ROUNDING = Fraction(1, 2**50)
"""By so much, at most, a mean spend differs where its total was rounded."""
SMALLEST_NORMAL = Fraction(sys.float_info.min)
LIMITS = ("max_depth", "max_leaves", "min_samples_leaf", "min_weight_leaf", "min_samples_arm")


class MismatchError(AssertionError):
    """The package says something else than the enumeration."""


def expect(is_right: Any, message: str) -> None:
    if not is_right:
        raise MismatchError(message)


@dataclass(frozen=True, eq=False)
class Truth:
    """A case with exact costs: rows × labels, already times the weights."""

    case: Case
    """Rows of positive weight alone."""
    weights: Sequence[float]
    costs: Sequence[Sequence[Fraction]]
    problem: Problem
    """The same for `certify`."""
    is_every_test_listed: bool = True
    """Whether the case's raw cells say all tests: not where thresholds are limited."""

    @cached_property
    def total(self) -> Fraction:
        return sum(map(Fraction, self.weights), Fraction(0))

    @property
    def penalty(self) -> Fraction:
        return Fraction(self.case.settings.get("regularization", 0.0))

    @property
    def rules(self) -> Rules:
        settings = self.case.settings
        return Rules(
            depth=settings["max_depth"],
            leaves=settings.get("max_leaves"),
            samples=settings.get("min_samples_leaf", 1),
            weight=settings.get("min_weight_leaf", 0.0),
            arms=self.case.rows.get("arms"),
            samples_per_arm=settings.get("min_samples_arm", 0),
        )

    @cached_property
    def tests(self) -> list[int]:
        return list_tests(self.case.columns, self.case.extras.get("categorical", ()))

    @property
    def is_small(self) -> bool:
        depth = self.case.settings["max_depth"]
        return self.is_every_test_listed and depth is not None and depth <= 2 and len(self.tests) <= MOST_TESTS

    @cached_property
    def front(self) -> dict[int, Fraction]:
        """For every number of leaves the least cost of a tree with exactly so many."""
        counted = None
        if self.is_small:
            costs, unit = whole_numbers(self.costs)
            counted = {
                size: cost * unit for size, cost in best_by_leaves(self.tests, self.weights, costs, self.rules).items()
            }
        if counted is None or self.case.extras.get("twice"):
            found = certify.enumerate_front(self.problem)
            # The package's costs are floats, as those of the case are before they are multiplied.
            expect(
                counted is None
                or (
                    found.keys() == counted.keys()
                    and all(close(found[size], counted[size], self.scale * self.total) for size in found)
                ),
                f"the two enumerations differ: {found} and {counted}",
            )
            counted = counted or found
        return counted

    @cached_property
    def scale(self) -> Fraction:
        """The largest loss that any tree could have: what rounding is in proportion to."""
        return sum((max(row) for row in self.costs), Fraction(0)) / self.total

    def best_at(self, penalty: Fraction) -> Fraction:
        return min(cost / self.total + penalty * size for size, cost in self.front.items())

    @cached_property
    def optimum(self) -> Fraction:
        return self.best_at(self.penalty)

    def spend_front(self, spends: Sequence[Sequence[float]]) -> list[tuple[Fraction, Fraction]]:
        """Mean spend and objective of every tree that none beats in both; `spends` are rows × labels, times weights."""
        found = None
        if self.is_small and len(self.tests) <= 5:
            costs, unit = whole_numbers(self.costs)
            amounts, spend_unit = whole_numbers(spends)
            pairs = {
                (spend * spend_unit / self.total, cost * unit / self.total + self.penalty * size)
                for size, spend, cost in spends_and_costs(self.tests, self.weights, costs, amounts, self.rules)
            }
            found = _not_beaten(pairs)
        if found is None or self.case.extras.get("twice"):
            other = certify.enumerate_spends(self.problem, np.array(spends, dtype=float))
            expect(
                found is None or all(self._is_on_front(found, spend, cost) for spend, cost in other),
                f"the two enumerations differ: {other} and {found}",
            )
            found = found or other
        return found

    def _is_on_front(self, front: Sequence[tuple[Fraction, Fraction]], spend: Fraction, cost: Fraction) -> bool:
        """Whether a cost is the least within a spend that may have been divided by a rounded total."""
        least, most = (
            min((other for spent, other in front if spent <= spend * (1 + sign * SPEND_ROUNDING)), default=cost)
            for sign in (1, -1)
        )
        scale = self.scale + abs(cost)
        return close(min(least, cost), least, scale) and close(max(most, cost), most, scale)

    def best_within(self, spends: Sequence[Sequence[float]], budget: float) -> Fraction | None:
        """The least objective of any tree within a budget; None where none is."""
        limit = Fraction(budget) * (1 + TOLERANCE) if budget < float("inf") else None
        kept = [cost for spend, cost in self.spend_front(spends) if limit is None or spend <= limit]
        return min(kept) if kept else None

    def judge(self, tree: Mapping[str, Any]) -> Fraction:
        """The loss of a tree by its plain data; an error where it breaks a rule."""
        reached = [route(tree, row) for row in self.case.cells]
        leaves = [node for node, entry in enumerate(tree["nodes"]) if "column" not in entry]
        exact = [Fraction(weight) for weight in self.weights]
        rules = self.rules
        expect(rules.leaves is None or len(leaves) <= rules.leaves, f"{len(leaves)} leaves are too many")
        expect(_depth(tree, 0) <= rules.depth, "the tree is too deep")
        if len(leaves) > 1:
            for leaf in leaves:
                rows = sum(1 << row for row, node in enumerate(reached) if node == leaf)
                expect(rules.allows(rows, exact), f"leaf {leaf} breaks a limit")
        return (
            sum((self.costs[row][tree["nodes"][leaf]["label"]] for row, leaf in enumerate(reached)), Fraction(0))
            / self.total
        )


def from_labels(case: Case, labels: Sequence[Any], factors: Mapping[Any, float] | None = None, **changes: Any) -> Truth:
    """The truth about labelled rows; `factors` are class weights."""
    weights = [
        weight * (1.0 if factors is None else factors[label])
        for weight, label in zip(case.weights, case.rows["y"], strict=True)
    ]
    inside = case.take([row for row, weight in enumerate(weights) if weight > 0])
    kept = [weight for weight in weights if weight > 0]
    costs = [
        [Fraction(0) if label == own else Fraction(weight) for label in labels]
        for own, weight in zip(inside.rows["y"], kept, strict=True)
    ]
    codes = [list(labels).index(own) for own in inside.rows["y"]]
    problem = Problem.from_labels(_features(inside, kept), codes, kept, labels=list(labels), **_limits(case), **changes)
    return Truth(inside, kept, costs, problem, "thresholds" not in case.settings)


def from_rewards(case: Case) -> Truth:
    """The truth about rewards: a cost is what an action falls short of the row's best."""
    inside = case.take([row for row, weight in enumerate(case.weights) if weight > 0])
    rewards = inside.rows["rewards"]
    costs = [
        [(max(map(Fraction, row)) - Fraction(reward)) * Fraction(weight) for reward in row]
        for row, weight in zip(rewards, inside.weights, strict=True)
    ]
    limits = _limits(case)
    if "min_samples_arm" in limits:
        limits["arms"] = inside.rows["arms"]
    problem = Problem.from_rewards(_features(inside, inside.weights), rewards, inside.weights, **limits)
    return Truth(inside, inside.weights, costs, problem, "thresholds" not in case.settings)


def close(value: float | Fraction, exact: Fraction, scale: Fraction) -> bool:
    """Whether two amounts agree up to what fixed-point sums and floats may lose."""
    # Below the smallest normal float digits are lost, however small the numbers are.
    return abs(Fraction(value) - exact) <= Fraction(1, 10**12) * max(scale, SMALLEST_NORMAL)


def _features(case: Case, weights: Sequence[float]) -> Any:
    names = list(case.columns)
    return make_features(
        case.X,
        categorical_features=[names.index(name) for name in case.extras.get("categorical", ()) if name in names],
        thresholds=case.settings.get("thresholds", "all"),
        weights=np.array(weights),
    )


def _limits(case: Case) -> dict[str, Any]:
    return {name: case.settings[name] for name in ("regularization", *LIMITS) if name in case.settings}


def _depth(tree: Mapping[str, Any], node: int) -> int:
    entry = tree["nodes"][node]
    return 0 if "column" not in entry else 1 + max(_depth(tree, entry["left"]), _depth(tree, entry["right"]))


def _not_beaten(pairs: set[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    kept: list[tuple[Fraction, Fraction]] = []
    for pair in sorted(pairs):
        if not kept or pair[1] < kept[-1][1]:
            kept.append(pair)
    return kept
