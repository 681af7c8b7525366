"""All good policies within a budget: the set, and what its policies agree on.

A policy is a tree with an action in every leaf. One is good if its mean spend keeps the budget and its objective (mean
reward less λ per leaf) is at most a tolerance below that of the best one within the budget. Unlike without a budget,
a leaf may have another action than its best one: what one leaf saves another can spend. So the same shape may be there
several times, with other actions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from certree.display import show_members
from certree.limits import Clock, Limits
from certree.policy.budget import Spending, solve_within
from certree.policy.within import Listed, Lister, Listing, Way
from certree.solution import float_slack
from certree.spread import Rate, Spread, find_rates, find_spread, read_measure
from certree.tree import Tree
from certree.tree.words import describe_tree, tree_html
from certree.tree_set import ColumnFact, RowFacts, TreeCount, without_nan

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class BudgetPolicy:
    """A good policy within a budget. `tree` is an ordinary `certree.Tree`, made when it is asked for; `print` shows it.

    Examples
    --------
    >>> from certree.policy import good_policies
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> policies = good_policies(X, rewards, tolerance=0.5, max_depth=1, budget=0.4)
    >>> policies[0].tests, round(policies[0].spend, 3), round(policies[0].objective, 3)
    (['x0 <= 1.5'], 0.333, 0.333)
    """

    objective: float
    """Mean reward less λ per leaf."""
    spend: float
    """Mean spend per row."""
    _owner: BudgetSet
    _listed: Listed

    @property
    def n_leaves(self) -> int:
        """How many leaves it has."""
        return len(self._listed.actions)

    @cached_property
    def tree(self) -> Tree:
        """The tree itself."""
        return self._owner._lister.make_tree(self._listed)

    @property
    def tests(self) -> list[str]:
        """The tests in words, from the root down."""
        tree = self.tree
        return [tree.test(node).text for node in tree.walk() if tree.column[node] >= 0]

    def __repr__(self) -> str:
        return f"<BudgetPolicy: {self._describe()}>"

    def __str__(self) -> str:
        return f"{describe_tree(self.tree)}\n\n{self._describe()}"

    def _repr_html_(self) -> str:
        return f"{tree_html(self.tree)}<p>{self._describe()}</p>"

    def _describe(self) -> str:
        leaves = f"{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}"
        return f"objective {self.objective:.6g}, {leaves}, spends {self.spend:.6g} per row"

    def decide(self) -> Array:
        """int32, one per fitted row: the number of the action that the policy gives it."""
        lister = self._owner._lister
        chosen = np.empty(lister.problem.n_rows, dtype=np.int32)
        for way, action in zip(lister.ways(self._listed.shape), self._listed.actions, strict=True):
            chosen[lister.rows_of(way)] = action
        return chosen

    def predict(self, X: Any) -> Array:
        """The action of each row."""
        return self.tree.predict(X)


class BudgetSet:
    """Every policy within a budget that is nearly as good as the best one within it, best first; made by
    `good_policies`.

    Examples
    --------
    >>> from certree.policy import good_policies
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> policies = good_policies(X, rewards, tolerance=0.7, max_depth=1, budget=0.7)
    >>> policies
    <BudgetSet: 3 policies that spend at most 0.7, best 1, tolerance 0.7, complete>
    >>> [round(policy.spend, 3) for policy in policies]
    [0.667, 0.333, 0.667]
    """

    def __init__(
        self, lister: Lister, found: Listing, *, ceiling: float, tolerance: float, budget: float, index: Array
    ) -> None:
        self.problem, self.tolerance, self.budget = lister.problem, float(tolerance), float(budget)
        self._lister, self._found, self._ceiling, self._index = lister, found, ceiling, index
        best = min((listed.cost for listed in found.trees), default=math.inf)
        worst = best + self.tolerance + float_slack(self.problem, best + self.tolerance)
        kept = sorted((own for own in found.trees if own.cost <= worst), key=lambda own: (own.cost, own.spend))
        self._worst = worst
        self._policies = tuple(BudgetPolicy(ceiling - own.cost, own.spend, self, own) for own in kept)

    @overload
    def __getitem__(self, place: int) -> BudgetPolicy: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[BudgetPolicy, ...]: ...
    def __getitem__(self, place: int | slice) -> BudgetPolicy | tuple[BudgetPolicy, ...]:
        return self._policies[place]

    def __len__(self) -> int:
        return len(self._policies)

    def __iter__(self) -> Iterator[BudgetPolicy]:
        return iter(self._policies)

    @property
    def index(self) -> Array:
        """The numbers of the fitted rows in the table that was given: those of positive weight."""
        return self._index

    @property
    def is_complete(self) -> bool:
        """Whether every good policy is in the set."""
        return self._found.below > self._worst

    @property
    def status(self) -> str:
        """ "complete", or what ended the search; "approximate" if there were too many trees to look at."""
        return "complete" if self.is_complete else self._found.status

    @property
    def complete_above(self) -> float:
        """Every policy within the budget whose objective is greater than this is in the set."""
        return self._ceiling - min(self._found.below, self._worst)

    @property
    def count(self) -> TreeCount:
        """How many policies there are; in a set that is not complete, how many were found."""
        return TreeCount(len(self), len(self))

    @property
    def best(self) -> BudgetPolicy:
        """The best policy."""
        return self._policies[0]

    def complete_part(self) -> BudgetSet:
        """The part of the set that is complete although a limit ended the search: a set with a smaller tolerance."""
        if self.is_complete:
            return self
        # Up to here none is missing; the best one is known if any is better than that.
        known = [own for own in self._found.trees if own.cost < self._found.below]
        best = min((own.cost for own in known), default=math.inf)
        tolerance = max(math.nextafter(self._found.below, -math.inf) - best, 0.0) if known else 0.0
        slack = 2 * float_slack(self.problem, best + tolerance) if known else 0.0
        part = replace(self._found, trees=known)
        return BudgetSet(
            self._lister, part, ceiling=self._ceiling, tolerance=max(tolerance - slack, 0.0), budget=self.budget,
            index=self._index,
        )  # fmt: skip

    # What they agree on ---------------------------------------------------------------------------------------------

    def rows(self) -> RowFacts:
        """For every fitted row and action the best of these policies that gives the row this action."""
        self._need_complete("rows")
        objective = np.full((self.problem.n_rows, len(self.problem.labels)), np.nan)
        seen: set[tuple[Way, int]] = set()
        for policy in self:
            for way, action in zip(self._lister.ways(policy._listed.shape), policy._listed.actions, strict=True):
                if (way, action) not in seen:
                    seen.add((way, action))
                    is_new = self._lister.rows_of(way) & np.isnan(objective[:, action])
                    objective[is_new, action] = policy.objective
        return RowFacts(self._index, self.problem.labels, objective, self.problem.weights)

    def columns(self) -> list[ColumnFact]:
        """For each column the share of these policies that need it, and what is proved.

        The objective without a column is that of the best good policy that can be written without it, and NaN where
        every good policy needs it.
        """
        self._need_complete("columns")
        superset, n_shapes = self._found.superset, self._found.n_shapes
        could_ask = superset.graph.columns_in_use
        facts = []
        for number, column in enumerate(self.problem.features.columns):
            without = self._policies
            if could_ask[number]:
                others = {(tree._axis, tree._code) for tree in superset.leave_out({number})[:n_shapes]}
                without = tuple(own for own in self if (own._listed.shape._axis, own._listed.shape._code) in others)
            share = 1 - len(without) / len(self)
            objective = without[0].objective if without else math.nan
            price = self.best.objective - objective
            facts.append(
                ColumnFact(
                    column=column.name,
                    share=share,
                    share_bounds=(share, share),
                    objective_without=objective,
                    price=price,
                    price_bounds=(price, price),
                    is_needed=not without,
                    is_unused=not any(number in columns for columns in self._could_ask.values()),
                )
            )
        return facts

    def spread(self, measure: Any) -> Spread:
        """The range of a second measure, as `TreeSet.spread` has it."""
        value = read_measure(measure, self.problem.labels, self._index, self.problem.weights)
        return find_spread(self._decided(), value, is_exact=self.is_complete)

    def rates(self, group: Any) -> list[Rate]:
        """For each group and action the range of the share that gets it, as `TreeSet.rates` has it."""
        return find_rates(self._decided(), group, self.problem.labels, self._index, self.problem.weights)

    def handful(self) -> dict[str, BudgetPolicy]:
        """A few that differ, by what makes them different: best of all, cheapest, by root column, by size."""
        found = {"best": self.best}
        choices = {"cheapest": min(self, key=lambda own: own.spend)}
        names = [column.name for column in self.problem.features.columns]
        for policy in self:
            root = int(policy.tree.column[0])
            if root >= 0:
                choices.setdefault(f"root {names[root]}", policy)
            choices.setdefault(f"{policy.n_leaves} {'leaf' if policy.n_leaves == 1 else 'leaves'}", policy)
        for words, policy in choices.items():
            if policy not in found.values():
                found[words] = policy
        return found

    def to_json(self, *, n_trees: int = 10) -> str:
        """What is known of the set, with its first policies, as text that a page can read."""
        rows = self.rows()
        known = {
            "budget": self.budget,
            "tolerance": self.tolerance,
            "count": len(self),
            "optimum": self.best.objective,
            "columns": [asdict(fact) for fact in self.columns()],
            "rows": {"index": rows.index.tolist(), "is_possible": rows.is_possible.tolist(), "labels": rows.labels},
            "trees": [
                {"objective": own.objective, "spend": own.spend, "tree": own.tree.to_dict()} for own in self[:n_trees]
            ],
        }
        return json.dumps(without_nan(known), ensure_ascii=False, allow_nan=False, indent=1)

    # Within ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _could_ask(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], frozenset[int]]:
        """For each shape the columns that could ask one of its tests."""
        shapes = {(own._listed.shape._axis, own._listed.shape._code) for own in self}
        return {shape: self._found.superset.columns_of(*shape) for shape in shapes}

    def _decided(self) -> Iterator[tuple[BudgetPolicy, Array]]:
        return ((own, own.decide()) for own in self)

    def _need_complete(self, what: str) -> None:
        if not self.is_complete:
            raise ValueError(
                f"{what}() states what holds for every good policy, and this set is not complete ({self.status}): use "
                "complete_part(), or raise the limit"
            )

    def __repr__(self) -> str:
        if not self._policies:
            return f"<BudgetSet: no policy that spends at most {self.budget:g} is known ({self._found.status})>"
        whole = "complete" if self.is_complete else f"complete above {self.complete_above:.6g} ({self.status})"
        return (
            f"<BudgetSet: {len(self)} policies that spend at most {self.budget:g}, best {self.best.objective:.6g}, "
            f"tolerance {self.tolerance:g}, {whole}>"
        )

    def _repr_html_(self) -> str:
        return show_members(repr(self), self)


def find_budget_set(
    spending: Spending,
    budget: float,
    tolerance: float,
    limits: Limits,
    *,
    idle: bool,
    index: Array,
    verbose: int = 0,
) -> BudgetSet:
    """All good policies of a problem within a budget."""
    if isinstance(tolerance, bool) or not (math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a finite number of at least 0, not {tolerance!r}")
    problem = spending.problem
    assert problem.best_rewards is not None
    clock = Clock(limits)
    best = solve_within(spending, budget, clock.left(0.5), verbose=verbose)
    price, limit = float(best.certificate["budget"]["price"]), spending.limit(budget)
    lister = Lister(problem, spending.amounts, price, limit)
    # Whatever was proved before: every tree as good as the best one known is listed, a better one too.
    threshold = best.upper + tolerance
    found = lister.run(threshold + float_slack(problem, threshold), clock, idle=idle, verbose=verbose)
    ceiling = math.fsum(problem.best_rewards.tolist()) / problem.normaliser
    return BudgetSet(lister, found, ceiling=ceiling, tolerance=tolerance, budget=budget, index=index)
