"""Closing the gap that a price leaves: a look at every tree that may still be better.

At a price μ a tree t within the limit B that beats the best one so far, of cost R*, has

    R(t) + μ · spend(t) < R* + μ · B = cap.

Few trees have a priced cost so low. They are found as all trees below a cap are: a root test whose two sides cost the
cap or more, each at its best, is passed over; under the others the sides are searched in the same way, each with the
cap less the least priced cost of the other side. What is found is kept as fronts of cost against spend, since only
the spend decides which trees of a side go with which of the other.

Priced costs are shifted so that each row has an action that costs nothing, hence they grow with the set of rows: for
neighbouring thresholds a < t < b of an ordered axis, best(left of t) >= best(left of a) and best(right of t) >=
best(right of b), and whole intervals of root tests are passed over unseen. Minima of leaves and `max_leaves` are
lifted for these bounds, which only lowers them, and kept by the trees that are found.

Sums are floats, and sums over the tests of an axis are differences of sums, so an amount may be off by rounding in
proportion to what all rows have. Amounts that no tree of interest holds are therefore cut down first: what one set
of rows spends beyond twice the limit, costs beyond twice R*, or has as a priced cost beyond twice the cap. What
rounding may still do is taken off the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from certree.features import ColumnTest
from certree.limits import Limits
from certree.policy.front import (
    EMPTY,
    MOST_PAIRS,
    Front,
    Plan,
    TooManyError,
    choose,
    gather,
    join,
    keep_needed,
    make_leaf,
)
from certree.problem import Problem
from certree.solution import true_lower
from certree.solver import search

Array = NDArray[Any]

EPSILON = float(np.finfo(float).eps)
MOST_WORK = 2_000_000_000
"""Amounts that a search may add up before it gives up: some ten seconds."""
WORK_A_SET = 50_000
"""What a set of rows takes besides, counted in amounts."""


class Deadline(Protocol):
    """What is left of a time limit."""

    @property
    def is_over(self) -> bool: ...
    def left(self) -> Limits: ...


@dataclass(frozen=True)
class Closing:
    """What the search found."""

    plan: Plan | None
    """The best tree within the limit that beats the one known before; None where there is none."""
    lower: float
    """No tree within the limit has a lower R, rounding and all."""
    status: str
    """"optimal", or why the search ended before it had looked at all that may be better."""
    sets: int
    """Sets of rows that were looked at."""


@dataclass(frozen=True, eq=False)
class _Root:
    """A root test that may lead below a cap."""

    test: ColumnTest
    left: Array
    right: Array
    left_best: float
    right_best: float

    @property
    def best(self) -> float:
        return self.left_best + self.right_best


def close_gap(
    problem: Problem, spends: Array, price: float, limit: float, known: float, slack: float, clock: Deadline
) -> Closing:
    """Every tree within the limit that beats a known one, of R = `known`, by more than `slack`."""
    return _Search(problem, spends, price, limit, known, clock).run(slack)


class _Search:
    """Sets of rows are arrays of groups: rows that no test tells apart stay together."""

    def __init__(
        self, problem: Problem, spends: Array, price: float, limit: float, known: float, clock: Deadline
    ) -> None:
        assert problem.costs is not None
        groups, first = _number_groups(problem)
        n_groups, n_actions = len(first), len(problem.labels)

        def add_up(columns: Array) -> Array:
            return np.stack([np.bincount(groups, column, minlength=n_groups) for column in columns.T], axis=1)

        def cut(amounts: Array, most: float) -> Array:
            """What is above `most` stays above it."""
            least = float(amounts[amounts > 0].min(initial=1.0))
            return np.asarray(np.minimum(amounts, 2 * most if most > 0 else least))

        def worst_error(amounts: Array) -> float:
            """What rounding may do to the sums of a tree's leaves."""
            return 4 * EPSILON * n_groups * float(amounts.max(axis=1).sum())

        self.problem, self.price, self.clock, self.known = problem, price, clock, known
        self.penalty, self.most_leaves = float(problem.regularization), problem.max_leaves
        self.losses = cut(add_up(problem.costs) / problem.normaliser, known)
        self.spends = cut(add_up(spends) / problem.normaliser, limit)
        self.limit = limit + worst_error(self.spends)
        cheapest = np.argmin(self.losses + price * self.spends, axis=1)[:, None]
        own, spent = (np.take_along_axis(amounts, cheapest, axis=1) for amounts in (self.losses, self.spends))
        self.floor = math.fsum(own.ravel().tolist()) + price * math.fsum(spent.ravel().tolist())
        excess = np.maximum(self.losses - own + price * (self.spends - spent), 0.0)
        self.priced = cut(excess, known + price * self.limit - self.floor)
        self.error = worst_error(self.losses) + price * worst_error(self.spends) + worst_error(self.priced)
        arms = np.empty((problem.n_rows, 0)) if problem.arms is None else np.eye(problem.n_arms)[problem.arms]
        self.counts = add_up(np.column_stack([np.ones(problem.n_rows), arms]))
        self.least = np.array([problem.min_samples_leaf, *[problem.min_samples_arm] * arms.shape[1]])
        self.amounts = np.hstack([self.priced, self.losses, self.spends, self.counts])
        self.parts = np.cumsum([n_actions, n_actions, n_actions])
        self.first = first
        self.features = problem.features.held()
        self.codes = problem.features.codes[:, first]
        sizes = [axis.size for axis in problem.features.axes]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.axis_of = np.repeat(np.arange(len(sizes)), sizes)
        self.is_category = np.repeat([axis.is_categorical for axis in problem.features.axes], sizes).astype(bool)
        self.places = np.ascontiguousarray((self.codes + self.starts[:, None]).T)
        self.bests: dict[tuple[bytes, int], float] = {}
        self.work = self.sets = 0

    def run(self, slack: float) -> Closing:
        best, plan, lower, limit = self.known, None, -math.inf, self.limit
        everything = np.arange(len(self.first))

        def cap() -> float:
            """What the priced cost must stay below to beat the best."""
            return best + self.price * limit - self.floor - slack

        def close(lower: float, status: str) -> Closing:
            # Every depth compares sums with what is left of a cap, and each may be off.
            return Closing(plan, lower - slack - (depth + 2) * self.error, status, self.sets)

        def offer(front: Front) -> None:
            nonlocal best, plan
            within = front.spend <= limit
            if within.any() and front.cost[within].min() < best:
                best, plan = float(front.cost[within].min()), choose(front, limit)

        # A lone leaf is always allowed, whatever the minima say.
        offer(self._leaf(self.amounts.sum(axis=0), math.inf))
        depth = self._largest_depth(cap())
        try:
            if depth == 1:
                offer(self._search(everything, depth, cap()))
                return close(best, "optimal")
            for root in sorted(self._find_roots(everything, depth, cap()), key=lambda root: root.best):
                lower = root.best + self.floor - self.price * limit
                if root.best >= cap():
                    break
                offer(self._search_under(root, depth, cap()))
        except TooManyError:
            return close(min(best, lower), "time_limit" if self.clock.is_over else "approximate")
        except KeyboardInterrupt:
            return close(min(best, lower), "interrupted")
        return close(best, "optimal")

    def _largest_depth(self, cap: float) -> int:
        """No tree below the cap is deeper: it would need more rows, or more leaves than are allowed or than pay."""
        depths = [len(self.first) - 1]
        depths += [] if self.problem.max_depth is None else [self.problem.max_depth]
        depths += [] if self.most_leaves is None else [self.most_leaves - 1]
        # Written for a penalty so small that the quotient is infinite, of either sign.
        depths += [int(max(0.0, min(cap / self.penalty, len(self.first)))) - 1] if self.penalty > 0 else []
        return max(0, min(depths))

    # All trees below a cap ----------------------------------------------------------------------------------------

    def _search(self, rows: Array, depth: int, cap: float) -> Front:
        """The front of all trees on these rows below the cap."""
        self._look_at(rows, self.amounts.shape[1] * (len(self.codes) if depth == 1 else 1))
        totals = self.amounts[rows].sum(axis=0)
        # Where a set is too small to be a leaf, every part of it is too.
        if not self._is_allowed(totals):
            return EMPTY
        fronts = [self._leaf(totals, cap)]
        if depth == 1:
            fronts.append(self._search_stumps(rows, totals, cap))
        elif depth > 1:
            fronts += [self._search_under(root, depth, cap) for root in self._find_roots(rows, depth, cap)]
        return gather(fronts, by_leaves=self.most_leaves is not None)

    def _search_under(self, root: _Root, depth: int, cap: float) -> Front:
        left = self._search(root.left, depth - 1, cap - root.right_best)
        if not len(left):
            return EMPTY
        right = self._search(root.right, depth - 1, cap - root.left_best)
        return self._join(root.test, left, right, cap)

    def _join(self, test: ColumnTest, left: Front, right: Front, cap: float) -> Front:
        holds, fails = (right, left) if test.is_swapped else (left, right)
        return join(replace(test, is_swapped=False), holds, fails, cap, self.most_leaves)

    def _leaf(self, totals: Array, cap: float) -> Front:
        priced, losses, spends, _ = np.split(totals, self.parts)
        return make_leaf(losses + self.penalty, spends, priced + self.penalty, cap)

    def _search_stumps(self, rows: Array, totals: Array, cap: float) -> Front:
        """The front of all trees of one test."""
        axis, code, left = self._sum_sides(rows, self.amounts)
        right = totals - left
        n_actions, two = len(self.problem.labels), 2 * self.penalty
        least = left[:, :n_actions].min(axis=1) + right[:, :n_actions].min(axis=1) + two
        near = np.flatnonzero((least < cap) & self._is_allowed(left) & self._is_allowed(right))
        if len(near) * n_actions**2 > MOST_PAIRS:
            raise TooManyError
        left, right = left[near], right[near]

        def pair(part: int) -> Array:
            """tests × actions on the left × actions on the right."""
            at = slice(part * n_actions, (part + 1) * n_actions)
            return np.asarray(left[:, at, None] + right[:, None, at])

        priced = pair(0) + two
        test, one, other = np.nonzero(priced < cap)
        cost, spend = pair(1)[test, one, other] + two, pair(2)[test, one, other]
        keep = keep_needed(cost, spend, None)
        plans = []
        for place in keep.tolist():
            own = self.features.test(int(axis[near[test[place]]]), int(code[near[test[place]]]))
            sides = int(one[place]), int(other[place])
            plans.append((replace(own, is_swapped=False), *(sides[::-1] if own.is_swapped else sides)))
        leaves = np.full(len(keep), 2)
        return Front(cost[keep], spend[keep], priced[test, one, other][keep], leaves, plans)

    def _is_allowed(self, totals: Array) -> Array:
        return np.asarray((totals[..., self.parts[-1] :] >= self.least).all(axis=-1))

    # Root tests and their bounds ------------------------------------------------------------------------------------

    def _find_roots(self, rows: Array, depth: int, cap: float) -> Iterator[_Root]:
        """Every test of these rows under which a tree below the cap may exist; of tests that part alike, one."""
        if depth < 1 or len(rows) < 2:
            return
        seen: set[bytes] = set()
        for axis, codes in enumerate(self.codes):
            own = codes[rows]
            present = np.unique(own)
            if self.problem.features.axes[axis].is_categorical:
                places = [(own == code, code) for code in present.tolist()] if len(present) > 1 else []
                for is_left, code in places:
                    yield from self._admit(axis, code, rows, is_left, depth, cap, seen)[0]
                continue
            # Between two thresholds that were looked at: the best left of the lower one, right of the upper one.
            intervals = [(-1, len(present) - 1, self.penalty, self.penalty)]
            while intervals:
                low, high, left_best, right_best = intervals.pop()
                if high - low < 2 or left_best + right_best >= cap:
                    continue
                middle = (low + high) // 2
                code = int(present[middle])
                roots, left, right = self._admit(axis, code, rows, own <= code, depth, cap, seen)
                yield from roots
                intervals += [(low, middle, left_best, right), (middle, high, left, right_best)]

    def _admit(
        self, axis: int, code: int, rows: Array, is_left: Array, depth: int, cap: float, seen: set[bytes]
    ) -> tuple[list[_Root], float, float]:
        """The root test where it is new and may lead below the cap, and the best of either side."""
        left, right = rows[is_left], rows[~is_left]
        bests = self._best(left, depth - 1), self._best(right, depth - 1)
        key = np.packbits(is_left if is_left[0] else ~is_left).tobytes()
        if key in seen or sum(bests) >= cap:
            return [], *bests
        seen.add(key)
        return [_Root(self.features.test(axis, code), left, right, *bests)], *bests

    def _best(self, rows: Array, depth: int) -> float:
        """What no tree of this depth on these rows has a priced cost below, minima and `max_leaves` lifted."""
        key = rows.tobytes(), depth
        if key not in self.bests:
            self.bests[key] = self._bound(rows, depth)
        return self.bests[key]

    def _bound(self, rows: Array, depth: int) -> float:
        n_tests = sum(len(np.unique(codes)) for codes in self.codes[:, rows]) if depth > 1 else 1
        self._look_at(rows, self.priced.shape[1] * len(self.codes) ** min(depth, 1) * n_tests ** max(depth - 1, 0))
        totals = self.priced[rows].sum(axis=0)
        leaf = float(totals.min()) + self.penalty
        if depth == 0 or leaf <= 2 * self.penalty:
            return leaf
        if depth == 1:
            _, _, left = self._sum_sides(rows, self.priced)
            splits = left.min(axis=1) + (totals - left).min(axis=1)
            return min(leaf, float(splits.min(initial=math.inf)) + 2 * self.penalty)
        features = self.problem.features
        lifted = replace(
            self.problem,
            features=replace(features, table=features.table.take(self.first[rows]), codes=self.codes[:, rows]),
            weights=np.ones(len(rows)),
            costs=self.priced[rows],
            best_rewards=None,
            normaliser=1.0,
            max_depth=depth,
            max_leaves=None,
            min_samples_leaf=1,
            arms=None,
            n_arms=0,
            min_samples_arm=0,
        )
        solution = search(lifted, self.clock.left())
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        return true_lower(lifted, solution)

    def _sum_sides(self, rows: Array, amounts: Array) -> tuple[Array, Array, Array]:
        """Axis, code and the amounts of the left side of every test that parts these rows."""
        places = self.places[rows]
        n_axes = len(self.codes)
        # One column a row, with a 1 at its code on each axis: the product adds up all cells of all axes.
        is_at = csc_array(
            (np.ones(places.size), places.ravel(), np.arange(len(rows) + 1) * n_axes), (len(self.axis_of), len(rows))
        )
        cells, counts = is_at @ amounts[rows], np.bincount(places.ravel(), minlength=len(self.axis_of))
        left, left_counts = self._accumulate(cells), self._accumulate(counts[:, None])[:, 0]
        parting = np.flatnonzero((counts > 0) & (left_counts < len(rows)))
        axis = self.axis_of[parting]
        return axis, parting - self.starts[axis], left[parting]

    def _accumulate(self, cells: Array) -> Array:
        """What is left of a test: the cells of an ordered axis up to a code, the one cell of a category."""
        sums = np.cumsum(cells, axis=0)
        before = np.vstack([np.zeros((1, cells.shape[1]), dtype=cells.dtype), sums])[self.starts]
        return np.asarray(np.where(self.is_category[:, None], cells, sums - before[self.axis_of]))

    def _look_at(self, rows: Array, amounts_a_row: int) -> None:
        self.sets += 1
        self.work += len(rows) * amounts_a_row + WORK_A_SET
        if self.work > MOST_WORK or self.clock.is_over:
            raise TooManyError


def _number_groups(problem: Problem) -> tuple[Array, Array]:
    """For each row its group, and for each group its first row."""
    _, first, groups = np.unique(problem.equal_rows, return_index=True, return_inverse=True)
    return groups, first
