"""All good trees: the complete set of trees within a tolerance of the best one, and what they agree on.

The engine finds the set as a graph (docs/method.md, section 13); this room reads it. It promises that what is stated
holds for every tree of the set, whether it was ever written down or not, and that a set is plain data: it pickles, and
holds no object of the engine.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from certree.certificate import SET_FORMAT, SET_VERSION, list_settings
from certree.estimators import SparseTreeClassifier
from certree.fingerprint import fingerprint
from certree.graft import UNREACHABLE, search_started
from certree.limits import Clock, Limits
from certree.problem import Problem
from certree.second import SecondMeasure, TooManyError
from certree.solver import (
    PACKAGE_VERSION,
    count_good_trees,
    draw_good_trees,
    find_best_through,
    find_row_labels,
    keep_edges,
    keep_leaves,
    list_good_trees,
    read_tree,
    search,
    search_good_trees,
    warn_interrupted,
)
from certree.spread import (
    MOST_TREES,
    Rate,
    Spread,
    find_rates,
    find_spread,
    read_groups,
    read_measure,
    weigh_measure,
)
from certree.tree import Tree, Value

Array = NDArray[Any]

MOST_ENTRIES = 3_000_000
"""Of the lists that counting keeps; about 100 MB. Beyond that counts are bounded."""

MOST_LISTED = 50_000_000
"""A tree so far down the list is not written down any more: restrict the set, or draw a sample."""


class TreeCount(int):
    """How many trees there are: an int where the number is exact, else the least that there can be.

    Examples
    --------
    >>> from certree.tree_set import TreeCount
    >>> print(TreeCount(3, 3), "and", TreeCount(10, 20))
    3 and between 10 and 20
    """

    most: int
    """No set has more; equal to the number itself where that is exact."""

    def __new__(cls, least: int, most: int) -> TreeCount:
        count = super().__new__(cls, least)
        count.most = most
        return count

    @property
    def is_exact(self) -> bool:
        """Whether the number is known exactly."""
        return int(self) == self.most

    def __str__(self) -> str:
        return f"{int(self):,}" if self.is_exact else f"between {int(self):,} and {self.most:,}"

    def __repr__(self) -> str:
        return int.__repr__(self) if self.is_exact else f"<{self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeCount, (int(self), self.most)


@dataclass(frozen=True, eq=False)
class GoodTree:
    """A tree of a set. `tree` is an ordinary `certree.Tree`, made when it is asked for.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> tree = trees[0]
    >>> tree.n_leaves, tree.predict([[1, 0]]).tolist()
    (2, ['a'])
    """

    objective: float
    """As the estimators have it: loss + λ · leaves, or for a policy mean reward − λ · leaves."""
    n_leaves: int
    _owner: TreeSet = field(repr=False)
    _axis: tuple[int, ...] = field(repr=False)
    _code: tuple[int, ...] = field(repr=False)
    _label: tuple[int, ...] = field(repr=False)

    @cached_property
    def tree(self) -> Tree:
        """The tree itself."""
        return self._owner._make_tree(self._axis, self._code)

    @property
    def tests(self) -> list[str]:
        """The tests in words, from the root down."""
        tree = self.tree
        return [tree.test(node).text for node in tree.walk() if tree.column[node] >= 0]

    def decide(self) -> Array:
        """int32, one per fitted row: the number of the label that the tree gives it. Faster than a prediction."""
        return self._owner._decide(self._axis, self._code, self._label)

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        return self.tree.predict(X)


@dataclass(frozen=True)
class ColumnFact:
    """What the good trees say about a column. A tree needs a column if it cannot be written without it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [(fact.column, fact.share, fact.is_needed) for fact in trees.columns()]
    [('x0', 1.0, True), ('x1', 0.0, False)]
    """

    column: str
    share: float
    """Of the good trees that need the column; the middle of `share_bounds`."""
    share_bounds: tuple[float, float]
    objective_without: float
    """Of the best of all trees without the column, good or not."""
    price: float
    """What doing without the column costs: how much worse that objective is than the best. NaN where it was not asked
    for, and where every tree has to begin with the column."""
    price_bounds: tuple[float, float]
    """What the price is between; both are the price, unless a limit ended the search for it."""
    is_needed: bool
    """Proved: every good tree needs it."""
    is_unused: bool
    """Proved: no good tree has a test that this column could ask."""


@dataclass(frozen=True)
class RootFact:
    """A root test of good trees, with how many of them begin with it and the objective of the best one.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [(fact.test, int(fact.count)) for fact in trees.roots()]
    [('x0 <= 2.5', 1), ('x0 <= 1.5', 1), ('x0 <= 3.5', 1)]
    """

    test: str
    objective: float
    """Of the best tree with this root."""
    count: TreeCount


@dataclass(frozen=True)
class CutFact:
    """A test that good trees have at any node, with the objective of the best good tree that has it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [fact.threshold for fact in trees.cuts()]
    [1.5, 2.5, 3.5]
    """

    column: str
    test: str
    threshold: float
    """NaN where the test has none."""
    objective: float
    """Of the best good tree that has it."""
    share: float
    """Of all rows, by weight, on which the test holds."""


@dataclass(frozen=True, eq=False)
class RowFacts:
    """What the good trees say about each fitted row; rows of weight zero take no part.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> trees.rows().is_agreed.tolist()
    [True, False, False, True]
    """

    index: Array
    """The row's number in the table that was given."""
    labels: tuple[Value, ...]
    objective: Array
    """float64, rows × labels: of the best good tree that gives the row this label; NaN where none does."""
    weights: Array

    @property
    def is_possible(self) -> Array:
        """bool, rows × labels: whether some good tree gives the row this label."""
        return ~np.isnan(self.objective)

    @property
    def is_agreed(self) -> Array:
        """bool: whether all good trees give the row the same label."""
        return np.asarray(self.is_possible.sum(axis=1) == 1)

    @property
    def share_agreed(self) -> float:
        """By weight, of the rows on which all good trees agree."""
        return float(self.weights[self.is_agreed].sum() / self.weights.sum())


class TreeSet:
    """Every tree within a tolerance of the best one, in order of objective; made by `good_trees` and `good_policies`.

    Tests that part the rows reaching a node in the same way are one test, each leaf has its best label, and a split
    into two leaves of one label makes no tree (unless `idle` was asked for). Iterate, index or slice it; nothing is
    written down that was not asked for.

    Raises
    ------
    ValueError
        If a fact about every good tree is asked of a set that is not complete.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> [(tree.tests, round(tree.objective, 3)) for tree in trees]
    [(['x0 <= 2.5'], 0.2), (['x0 <= 1.5'], 0.45), (['x0 <= 3.5'], 0.45)]
    >>> trees.restrict(root="x1").count
    0
    """

    def __init__(
        self,
        problem: Problem,
        found: dict[str, Any],
        *,
        tolerance: float,
        index: Array,
        limits: Limits,
        without: frozenset[int] = frozenset(),
        is_bare: bool = False,
    ) -> None:
        self.problem = problem
        self._is_bare = is_bare
        self.tolerance = float(tolerance)
        self.limits = limits
        self._found = found
        self._graph: dict[str, Any] = found["graph"]
        self._index = index
        self._without = without
        self._restrictions: tuple[dict[str, Any], ...] = ()
        self._class_weights: list[float] | None = None
        self._listed: list[GoodTree] = []
        # The engine holds no λ that is larger than all costs together, and then nothing is split.
        rounded = self._to_value(found["penalty"])
        n_leaves = 1 if problem.start is None else problem.start.n_leaves
        self._lone_penalty = (problem.regularization - rounded) * n_leaves if is_bare else 0.0
        # A policy's costs are what it falls short of the best action of every row.
        best = problem.best_rewards
        self._ceiling = None if best is None else math.fsum(best.tolist()) / problem.normaliser

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_listed": []}

    # What the set is ------------------------------------------------------------------------------------------------

    @property
    def index(self) -> Array:
        """The numbers of the fitted rows in the table that was given: those of positive weight."""
        return self._index

    @property
    def is_complete(self) -> bool:
        """Whether every good tree is in the set: no limit ended the search early."""
        return bool(self._found["is_complete"])

    @property
    def status(self) -> str:
        """ "complete", or the limit that ended the search."""
        return str(self._found["status"])

    @property
    def optimum(self) -> float:
        """The objective of the best tree there is, or the best bound of it where a limit ended that search."""
        return self._objective(min(self._found["optimum"], self._found["lower"]))

    @property
    def threshold(self) -> float:
        """The worst objective that a good tree may have."""
        return self._objective(self._graph["budget"])

    @property
    def complete_below(self) -> float:
        """Every tree that is better than this is in the set; for a policy, every one above it."""
        missing = min(self._found["missing"], self._graph["budget"] + 1)
        return self.threshold if self.is_complete else self._objective(missing)

    @cached_property
    def count(self) -> TreeCount:
        """How many trees the set has: exact, or a TreeCount that says between which numbers."""
        return _add_counts(self._count_roots())

    @property
    def count_bounds(self) -> tuple[int, int]:
        """The least and the greatest number of trees that the set can have; equal where the count is exact."""
        return int(self.count), self.count.most

    def count_written(self) -> TreeCount:
        """How many trees there would be if every given test counted separately, even where two part the rows alike."""
        return _add_counts(self._count_roots(counts_ways=True))

    @property
    def best(self) -> GoodTree:
        """The best tree of the set."""
        return self[0]

    @property
    def statistics(self) -> dict[str, Any]:
        """Figures of the graph: nodes, edges and bytes."""
        arrays = [value for value in self._graph.values() if isinstance(value, np.ndarray)]
        return {
            **self._found["statistics"],
            "nodes": len(self._graph["leaf"]),
            "edges": len(self._graph["axis"]),
            "graph_bytes": sum(array.nbytes for array in arrays),
        }

    @cached_property
    def certificate_(self) -> dict[str, Any]:
        """What was proved, about which problem, as plain data: `certree.certify.check_set` checks it.

        The optimum is that of the set before any restriction.
        """
        settings = list_settings(self.problem)
        return {
            "format": SET_FORMAT,
            "version": SET_VERSION,
            "certree": PACKAGE_VERSION,
            "status": self.status,
            "is_complete": self.is_complete,
            "optimum": self.optimum,
            "tolerance": self.tolerance,
            "threshold": self.threshold,
            "complete_below": self.complete_below,
            "count": list(self.count_bounds),
            "idle": bool(self._graph["has_idle"]),
            "restrictions": list(self._restrictions),
            "class_weights": self._class_weights,
            "rounding": self._found["rounding"],
            "regularization": settings["regularization"],
            "constraints": settings["constraints"],
            "thresholds": settings["thresholds"],
            "digests": fingerprint(self.problem, settings),
        }

    def __len__(self) -> int:
        if not self.count.is_exact:
            raise TypeError(f"the number of trees is known to be {self.count}; see count")
        return int(self.count)

    def __bool__(self) -> bool:
        return self._has(0)

    def __repr__(self) -> str:
        whole = "complete" if self.is_complete else f"complete below {self.complete_below:.6g} ({self.status})"
        return f"<TreeSet: {self.count} trees, best {self.optimum:.6g}, tolerance {self.tolerance:g}, {whole}>"

    # Its trees ------------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[GoodTree]:
        place = 0
        while self._has(place):
            yield self._listed[place]
            place += 1

    @overload
    def __getitem__(self, place: int) -> GoodTree: ...
    @overload
    def __getitem__(self, place: slice) -> list[GoodTree]: ...
    def __getitem__(self, place: int | slice) -> GoodTree | list[GoodTree]:
        if isinstance(place, slice):
            if all(end is None or end >= 0 for end in (place.start, place.stop)) and (place.step or 1) > 0:
                stop = sys.maxsize if place.stop is None else place.stop
                if stop > 0:
                    self._has(stop - 1)
                return self._listed[place]
            return [self[i] for i in range(*place.indices(len(self)))]
        place = len(self) + place if place < 0 else place
        if place < 0 or not self._has(place):
            raise IndexError(f"the set has {self.count} trees")
        return self._listed[place]

    def sample(self, n: int = 1, random_state: Any = None) -> list[GoodTree]:
        """Trees drawn from the whole set, each with the same chance, with replacement.

        Parameters
        ----------
        n : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        list of GoodTree
        """
        if not self:
            raise ValueError("the set is empty")
        seed = int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))
        drawn = draw_good_trees(graph=self._graph, n=int(n), seed=seed, most_entries=MOST_ENTRIES)
        return self._read(drawn)

    def _has(self, place: int) -> bool:
        """Whether there is such a tree; it is then listed."""
        while len(self._listed) <= place:
            first = len(self._listed)
            if first >= MOST_LISTED:
                raise ValueError(f"tree {place} is too far down the list: restrict the set, or draw a sample")
            # What was listed before is gone over again, so each time twice as many are asked for.
            last = min(max(2 * first, place + 1, 64), MOST_LISTED)
            found = self._read(list_good_trees(graph=self._graph, first=first, last=last))
            self._listed += found
            if len(found) < last - first:
                return len(self._listed) > place
        return True

    def _read(self, found: dict[str, Array]) -> list[GoodTree]:
        names = ("first_node", "axis", "code", "value", "label")
        start, axis, code, value, label = (found[name].tolist() for name in names)
        trees = []
        for i, cost in enumerate(value):
            nodes = slice(start[i], start[i + 1])
            trees.append(self._make_good(cost, tuple(axis[nodes]), tuple(code[nodes]), tuple(label[nodes])))
        return trees

    def _make_good(self, cost: int, axis: tuple[int, ...], code: tuple[int, ...], label: tuple[int, ...]) -> GoodTree:
        leaves = (len(axis) + 1) // 2
        return GoodTree(self._objective(cost, leaves), leaves, self, axis, code, label)

    def _to_value(self, amount: int) -> float:
        """An amount of the engine in units of the objective."""
        return math.ldexp(float(amount) * self._found["factor"], self._found["exponent"])

    def _objective(self, value: int, leaves: int | None = None) -> float:
        """An amount of the engine as an objective; with the number of leaves, free of the rounding of λ."""
        found = self._found
        if leaves is None:
            cost = self._to_value(int(value) + found["offset"]) + self._lone_penalty
        else:
            cost = self._to_value(int(value) - leaves * found["penalty"] + found["offset"])
            cost += self.problem.regularization * leaves
        return float(cost if self._ceiling is None else self._ceiling - cost)

    def _objectives(self, values: Array) -> Array:
        """The same of an array; NaN where there is no tree."""
        values = np.asarray(values)
        amounts = (values + np.int64(self._found["offset"])).astype(np.float64)
        cost = np.ldexp(amounts * self._found["factor"], self._found["exponent"])
        cost = cost + self._lone_penalty
        cost = cost if self._ceiling is None else self._ceiling - cost
        return np.where(values >= UNREACHABLE, np.nan, cost)

    def _make_tree(self, axis: tuple[int, ...], code: tuple[int, ...]) -> Tree:
        """From nodes in order of depth first to a tree; tests on columns that are left out are asked of others."""
        left, right = [-1] * len(axis), [-1] * len(axis)
        axes, codes = list(axis), list(code)
        features = self.problem.asked_features

        def place(node: int, rows: Array) -> int:
            """Sets the sides of the node and returns the first node behind its subtree."""
            if axes[node] < 0:
                return node + 1
            holds = holds_of(self.problem, axes[node], codes[node])[rows]
            is_swapped = False
            if features.axes[axes[node]].column in self._without:
                axes[node], codes[node], is_swapped = self._ask_another(rows, holds)
            left[node] = node + 1
            right[node] = place(node + 1, rows[holds])
            end = place(right[node], rows[~holds])
            if is_swapped:
                left[node], right[node] = right[node], left[node]
            return end

        place(0, np.arange(self.problem.n_rows))
        arrays = {"axis": axes, "code": codes, "left": left, "right": right}
        return read_tree(self.problem, {name: np.array(values) for name, values in arrays.items()})

    def _decide(self, axis: tuple[int, ...], code: tuple[int, ...], label: tuple[int, ...]) -> Array:
        chosen = np.empty(self.problem.n_rows, dtype=np.int32)

        def place(node: int, rows: Array) -> int:
            """Labels the rows of a subtree and returns the first node behind it."""
            if axis[node] < 0:
                chosen[rows] = label[node]
                return node + 1
            holds = holds_of(self.problem, axis[node], code[node])[rows]
            return place(place(node + 1, rows[holds]), rows[~holds])

        place(0, np.arange(self.problem.n_rows))
        return chosen

    def _ask_another(self, rows: Array, holds: Array) -> tuple[int, int, bool]:
        """The first test on a column that is not left out that parts the rows so, and whether its sides are swapped."""
        for number, axis in enumerate(self.problem.features.axes):
            if axis.column in self._without:
                continue
            for code in np.unique(self.problem.features.codes[number][rows]).tolist():
                other = holds_of(self.problem, number, code)[rows]
                if (other == holds).all() or (other != holds).all():
                    return number, code, bool(other[0] != holds[0])
        raise AssertionError("the graph says that another column parts these rows so")

    # What they agree on ---------------------------------------------------------------------------------------------

    def columns(self, *, prices: bool = True) -> list[ColumnFact]:
        """For each column the share of good trees that need it, the price of doing without it, and what is proved.

        The price of a column that every good tree needs takes a search of its own, which `prices=False` saves; it and
        the objective are then NaN. These searches keep the limits of the set, and share its time limit; a price that
        they do not prove has bounds.
        """
        self._need_complete("columns")
        sets = self._column_sets
        used = np.unique(self._graph["columns"])
        clock = Clock(self.limits)
        facts = []
        for number, column in enumerate(self.problem.features.columns):
            if number in self._without:
                continue
            is_unused = not bool(sets[used, number].any())
            kept = self._leave_out({number})
            without = TreeCount(0, 0) if not kept else kept.count
            is_needed = not kept
            if kept:
                objective = best = kept.best.objective
            else:
                objective, best = self._best_without(number, clock.left()) if prices else (math.nan, math.nan)
            low, high = 1 - without.most / max(int(self.count), 1), 1 - int(without) / self.count.most
            low = max(low, 0.0)
            facts.append(
                ColumnFact(
                    column=column.name,
                    share=(low + high) / 2,
                    share_bounds=(low, high),
                    objective_without=objective,
                    price=_not_below_zero(self._price(objective)),
                    price_bounds=(_not_below_zero(self._price(best)), _not_below_zero(self._price(objective))),
                    is_needed=is_needed,
                    is_unused=is_unused,
                )
            )
        return facts

    def roots(self) -> list[RootFact]:
        """The root tests of good trees, best first. The lone leaf, where it is good, has none."""
        self._need_complete("roots")
        objectives = self._objectives(self._through[: len(self._root_edges())]).tolist()
        counts = self._count_roots()[1:]
        # Where leaves are limited, a test has an edge for each way to share them between its sides.
        edges: dict[tuple[int, int], list[int]] = {}
        for edge in self._root_edges():
            edges.setdefault((int(self._graph["axis"][edge]), int(self._graph["code"][edge])), []).append(edge)
        facts = [
            RootFact(
                self._question(own[0]),
                min((objectives[edge] for edge in own), key=self._price),
                _add_counts([counts[edge] for edge in own]),
            )
            for own in edges.values()
        ]
        return sorted(facts, key=lambda fact: self._price(fact.objective))

    def cuts(self) -> list[CutFact]:
        """The tests that good trees have, by column and threshold, each with the best good tree that has it.

        A test that several columns could ask is listed under the first of them.
        """
        self._need_complete("cuts")
        graph = self._graph
        pairs = np.stack([graph["axis"], graph["code"]], axis=1)
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        best = np.full(len(distinct), UNREACHABLE, dtype=np.int64)
        np.minimum.at(best, inverse.reshape(-1), self._through)
        facts = []
        table, weights = self.problem.features.table, self.problem.weights
        for (axis, code), objective in zip(distinct.tolist(), self._objectives(best).tolist(), strict=True):
            test = self.problem.asked_features.question(axis, code)
            threshold = math.nan if test.threshold is None else test.threshold
            place = self.problem.asked_features.axes[axis].column
            holds = test.holds(test.column.read(table.columns[place], table))
            share = float(weights[holds].sum() / weights.sum())
            facts.append(CutFact(test.column.name, test.text, threshold, objective, share))
        return facts

    def rows(self) -> RowFacts:
        """For every fitted row and label the best good tree that gives the row this label."""
        self._need_complete("rows")
        features = self.problem.asked_features
        found = find_row_labels(
            graph=self._graph,
            codes=features.codes,
            categorical=np.array([axis.is_categorical for axis in features.axes], dtype=np.uint8),
            n_labels=len(self.problem.labels),
        )
        objective = self._objectives(found.reshape(self.problem.n_rows, len(self.problem.labels)))
        return RowFacts(self._index, self.problem.labels, objective, self.problem.weights)

    def label_shares(self, n: int = 1000, random_state: Any = None) -> tuple[Array, Array]:
        """For every fitted row the share of good trees that give it each label, by a sample, and its standard error."""
        table, labels = self.problem.features.table, len(self.problem.labels)
        shares = np.zeros((self.problem.n_rows, labels))
        for drawn in self.sample(n, random_state):
            shares += np.eye(labels)[drawn.tree.label[drawn.tree.apply(table)]]
        shares /= n
        return shares, np.sqrt(shares * (1 - shares) / n)

    def spread(self, measure: Any, *, most_trees: int = MOST_TREES) -> Spread:
        """The range of a second measure over the set, and the best tree by it: is another one as good, and cheaper?

        Parameters
        ----------
        measure : mapping, n × K array or callable
            What each label amounts to: by label, or on each row of the table, of which the mean by weight is taken; or
            a function of an array with the label of every fitted row, such as the difference of two groups' rates.
        most_trees : int, default=20_000
            A mean is found for the whole set, however large, unless the graph is too large for that. A function, and
            a mean of such a set, is looked at tree by tree, best first, up to this number. Where the set has more, the
            range is over these, and `is_exact` is False.
        """
        weights = self.problem.weights
        value = read_measure(measure, self.problem.labels, self._index, weights)
        if not callable(measure) and self:
            amounts = weigh_measure(measure, self.problem.labels, self._index, weights)
            ends = self._find_extremes([amounts, -amounts])
            if ends is not None:
                least, most = ends
                return Spread(
                    value(least.decide()), value(most.decide()), least, most, int(self.count), self.is_complete
                )
        return find_spread(self._decided(most_trees), value, is_exact=self._has_at_most(most_trees))

    def rates(self, group: Any, *, most_trees: int = MOST_TREES) -> list[Rate]:
        """For each group and label the range of the share of the group, by weight, that gets the label.

        `group` has one entry for each row of the table; what the range is over is as in `spread`.
        """
        names, codes = read_groups(group, self._index)
        cells = [(code, label) for code in range(len(names)) for label in range(len(self.problem.labels))]
        weights, measures = self.problem.weights, []
        for code, label in cells:
            own = np.zeros((self.problem.n_rows, len(self.problem.labels)))
            own[codes == code, label] = weights[codes == code] / weights[codes == code].sum()
            measures += [own, -own]
        ends = self._find_extremes(measures) if self else None
        if ends is not None:
            rows = np.arange(self.problem.n_rows)
            values = [abs(float(own[rows, tree.decide()].sum())) for own, tree in zip(measures, ends, strict=True)]
            return [
                Rate(names[code].item(), self.problem.labels[label], values[2 * place], values[2 * place + 1])
                for place, (code, label) in enumerate(cells)
            ]
        decided = self._decided(most_trees)
        return find_rates(decided, group, self.problem.labels, self._index, self.problem.weights)

    def _find_extremes(self, measures: list[Array]) -> list[GoodTree] | None:
        """The good tree with the least of each measure (rows × labels); None where that takes too much."""
        features = self.problem.asked_features
        categorical = np.array([axis.is_categorical for axis in features.axes], dtype=bool)
        try:
            found = SecondMeasure(self._graph, features.codes, categorical, measures).run()
        except TooManyError:
            return None
        return [self._make_good(own.cost, own.axis, own.code, own.label) for own in found]

    def _decided(self, most_trees: int) -> Iterator[tuple[GoodTree, Array]]:
        return ((tree, tree.decide()) for tree in self[:most_trees])

    def _has_at_most(self, n: int) -> bool:
        return self.is_complete and not self._has(n)

    def to_json(self, *, n_trees: int = 10) -> str:
        """What is known of the set, with its first trees, as text that a page can read."""
        rows = self.rows()
        known = {
            "certificate": self.certificate_,
            "columns": [asdict(fact) for fact in self.columns()],
            "roots": [asdict(fact) for fact in self.roots()],
            "cuts": [asdict(fact) for fact in self.cuts()],
            "rows": {"index": rows.index.tolist(), "is_possible": rows.is_possible.tolist(), "labels": rows.labels},
            "trees": [{"objective": tree.objective, "tree": tree.tree.to_dict()} for tree in self[:n_trees]],
        }
        return json.dumps(without_nan(known), ensure_ascii=False, allow_nan=False, indent=1)

    # Choosing -------------------------------------------------------------------------------------------------------

    def restrict(
        self,
        *,
        without: Any = None,
        root: str | None = None,
        leaves: int | tuple[int, int] | None = None,
        tolerance: float | None = None,
    ) -> TreeSet:
        """The good trees that can be written without some columns, or have a root test, or a number of leaves.

        Parameters
        ----------
        without : column or several columns, default=None
        root : str, default=None
            A test as `roots` writes it, or a column.
        leaves : int or pair of int, default=None
            A number of leaves, or the least and the greatest.
        tolerance : float, default=None
            A smaller one than that of the set.

        Returns
        -------
        TreeSet
            All questions can be asked of it again.

        Raises
        ------
        ValueError
            If there is no such column, or the tolerance is larger than that of the set.
        """
        chosen = self
        if tolerance is not None:
            chosen = chosen._tighten(float(tolerance))
        if without is not None:
            names = [without] if isinstance(without, (str, int, np.integer)) else list(without)
            places = {self._column(name) for name in names}
            left_out = [self.problem.features.columns[place].name for place in sorted(places)]
            chosen = chosen._leave_out(places)._restricted(without=left_out)
        if root is not None:
            chosen = chosen._with_root(root)._restricted(root=root)
        if leaves is not None:
            least, most = (leaves, leaves) if isinstance(leaves, (int, np.integer)) else leaves
            if not 1 <= least <= most:
                raise ValueError(f"leaves must be a number of at least 1, or the least and the most, not {leaves!r}")
            most = min(int(most), self.problem.n_rows)
            graph = keep_leaves(graph=chosen._graph, least=min(int(least), most + 1), most=most)
            chosen = chosen._with_graph(graph)._restricted(leaves=[int(least), max(int(least), most)])
        return chosen

    def _restricted(self, **choice: Any) -> TreeSet:
        """The same set, which now states what it was restricted to."""
        self._restrictions = (*self._restrictions, choice)
        return self

    def best_of(self, *, where: Callable[[GoodTree], bool] | None = None, **choice: Any) -> GoodTree | None:
        """The best good tree of `restrict(**choice)` for which `where` is true; None where there is none."""
        return next((tree for tree in self.restrict(**choice) if where is None or where(tree)), None)

    def handful(self) -> dict[str, GoodTree]:
        """A few trees that differ, by what makes them different: best of all, by root column, by size, by column."""
        found: dict[str, GoodTree] = {"best": self.best}
        sizes = range(1, 1 + max(1, 2 ** min(self.problem.max_depth or 5, 5)))
        choices: list[tuple[str, dict[str, Any]]] = []
        for number in sorted({number for edge in self._root_edges() for number in self._columns_of(edge)}):
            name = self.problem.features.columns[number].name
            choices.append((f"root {name}", {"root": name}))
        choices += [(f"{size} {'leaf' if size == 1 else 'leaves'}", {"leaves": size}) for size in sizes]
        for column in self.problem.features.columns:
            choices.append((f"without {column.name}", {"without": column.name}))
        seen = {(self.best._axis, self.best._code)}
        for words, choice in choices:
            tree = self.best_of(**choice)
            if tree is not None and (tree._axis, tree._code) not in seen:
                seen.add((tree._axis, tree._code))
                found[words] = tree
        return found

    def complete_part(self) -> TreeSet:
        """Of a set that a limit ended, the part that is complete: a set with a smaller tolerance."""
        if self.is_complete:
            return self
        budget = min(self._found["missing"] - 1, self._graph["budget"])
        graph = self._keep(np.ones(len(self._graph["axis"]), dtype=np.uint8), budget=budget)
        # All trees up to there are known, so the best of them is the best of all. Where there is none, a bound is left.
        best = min(list_good_trees(graph=graph, first=0, last=1)["value"].tolist(), default=self._found["lower"])
        found = self._found | {
            "graph": graph, "is_complete": True, "status": "complete", "missing": UNREACHABLE,
            "optimum": best, "lower": best,
        }  # fmt: skip
        tolerance = self._to_value(max(budget - best, 0))
        return self._copy(found, tolerance)

    # Within ---------------------------------------------------------------------------------------------------------

    def _need_complete(self, what: str) -> None:
        if not self.is_complete:
            raise ValueError(
                f"{what}() states what holds for every good tree, and this set is not complete ({self.status}): ask "
                f"complete_part() of it, or raise the limit"
            )

    def _price(self, objective: float) -> float:
        """How much worse an objective is than the best."""
        best = self.optimum
        return objective - best if self._ceiling is None else best - objective

    @cached_property
    def _column_sets(self) -> Array:
        """bool, sets × columns."""
        words = self._found["column_sets"].reshape(-1, max(1, self._found["n_words"]))
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
        return bits[:, : len(self.problem.features.columns)]

    @cached_property
    def _through(self) -> Array:
        return find_best_through(graph=self._graph)

    def _root_edges(self) -> range:
        return range(int(self._graph["first_edge"][1]))

    def _columns_of(self, edge: int) -> list[int]:
        """The columns that could ask the test of an edge."""
        columns = np.flatnonzero(self._column_sets[self._graph["columns"][edge]])
        return [number for number in columns.tolist() if number not in self._without]

    def columns_of(self, axis: tuple[int, ...], code: tuple[int, ...]) -> frozenset[int]:
        """The columns that could ask some test of a tree of the set, which is given by its nodes, depth first."""
        leaf, sides = self._graph["leaf"], (self._graph["left"], self._graph["right"])
        found: set[int] = set()

        def walk(node: int, place: int) -> int:
            """The first place behind the subtree; 0 where the graph has none such at this node."""
            if axis[place] < 0:
                return place + 1 if leaf[node] < UNREACHABLE else 0
            # Where leaves are limited, a test has an edge for each way to share them between its sides.
            for edge in self._edges_of_tests.get((node, axis[place], code[place]), ()):
                middle = walk(int(sides[0][edge]), place + 1)
                end = walk(int(sides[1][edge]), middle) if middle else 0
                if end:
                    found.update(self._columns_of(edge))
                    return end
            return 0

        assert walk(0, 0) == len(axis), "the tree is not of this set"
        return frozenset(found)

    @cached_property
    def _edges_of_tests(self) -> dict[tuple[int, int, int], list[int]]:
        """The edges by node, axis and code."""
        graph = self._graph
        nodes = np.repeat(np.arange(len(graph["leaf"])), np.diff(graph["first_edge"]))
        found: dict[tuple[int, int, int], list[int]] = {}
        for edge, test in enumerate(zip(nodes.tolist(), graph["axis"].tolist(), graph["code"].tolist(), strict=True)):
            found.setdefault(test, []).append(edge)
        return found

    def _question(self, edge: int) -> str:
        features = self.problem.asked_features
        return features.question(int(self._graph["axis"][edge]), int(self._graph["code"][edge])).text

    def _column(self, name: Any) -> int:
        names = [column.name for column in self.problem.features.columns]
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(names):
            return int(name)
        if name not in names:
            raise ValueError(f"the table has no column {name!r}; its columns are {', '.join(names)}")
        return names.index(name)

    def _count_roots(self, *, counts_ways: bool = False) -> list[TreeCount]:
        """The lone leaf and the root tests."""
        budget = int(self._graph["budget"])
        least, most, is_overflow = count_good_trees(
            graph=self._graph, budget=budget, most_entries=MOST_ENTRIES, counts_ways=counts_ways
        )
        if is_overflow:
            exact = _count_without_limit(self._graph, counts_ways=counts_ways)
            return [TreeCount(count, count) for count in exact]
        return [TreeCount(*pair) for pair in zip(least, most, strict=True)]

    def _keep(self, is_kept: Array, *, has_lone_leaf: bool = True, budget: int = UNREACHABLE) -> dict[str, Any]:
        return keep_edges(
            graph=self._graph,
            is_kept=np.ascontiguousarray(is_kept, dtype=np.uint8),
            has_lone_leaf=has_lone_leaf,
            budget=budget,
        )

    def _with_graph(self, graph: dict[str, Any], without: Iterable[int] = ()) -> TreeSet:
        return self._copy(self._found | {"graph": graph}, self.tolerance, without)

    def _copy(self, found: dict[str, Any], tolerance: float, without: Iterable[int] = ()) -> TreeSet:
        """Another set of the same problem."""
        copy = TreeSet(
            self.problem, found, tolerance=tolerance, index=self._index, limits=self.limits,
            without=self._without | frozenset(without), is_bare=self._is_bare,
        )  # fmt: skip
        copy._restrictions, copy._class_weights = self._restrictions, self._class_weights
        return copy

    def _leave_out(self, columns: set[int]) -> TreeSet:
        allowed = np.ones(len(self.problem.features.columns), dtype=bool)
        allowed[list(columns | self._without)] = False
        can_be_asked = np.asarray((self._column_sets & allowed).any(axis=1))
        return self._with_graph(self._keep(can_be_asked[self._graph["columns"]]), columns)

    def _with_root(self, root: str) -> TreeSet:
        edges = self._root_edges()
        names = [column.name for column in self.problem.features.columns]
        if root in names:
            number = names.index(root)
            chosen = [edge for edge in edges if number in self._columns_of(edge)]
        else:
            chosen = [edge for edge in edges if self._question(edge) == root]
        if not chosen and root not in names:
            raise ValueError(f"no good tree has the root {root!r}: see roots(), or name a column")
        is_kept = np.ones(len(self._graph["axis"]), dtype=np.uint8)
        is_kept[: len(edges)] = 0
        is_kept[chosen] = 1
        return self._with_graph(self._keep(is_kept, has_lone_leaf=False))

    def _tighten(self, tolerance: float) -> TreeSet:
        if not 0 <= tolerance <= self.tolerance:
            raise ValueError(f"tolerance must be from 0 to that of the set, {self.tolerance:g}, not {tolerance!r}")
        budget = self._found["lower"] + math.floor(
            math.ldexp(tolerance / self._found["factor"], -self._found["exponent"]) * (1 + 1e-12)
        )
        graph = self._keep(np.ones(len(self._graph["axis"]), dtype=np.uint8), budget=budget)
        chosen = self._with_graph(graph)
        chosen.tolerance = tolerance
        return chosen

    def _best_without(self, column: int, limits: Limits) -> tuple[float, float]:
        """The objective of the best tree over the other columns that was found, and the best that there can be."""
        gone = self._without | {column}
        features, start = self.problem.features, self.problem.start
        if start is not None and any(branch.column in gone for branch in start.branches()):
            return math.nan, math.nan  # no tree that begins so does without it
        kept = [number for number, axis in enumerate(features.axes) if axis.column not in gone]
        codes = np.ascontiguousarray(features.codes[kept])
        codes.flags.writeable = False
        fewer = replace(features, axes=tuple(features.axes[number] for number in kept), codes=codes)
        solution = search(replace(self.problem, features=fewer), limits)
        if solution.status == "interrupted":
            raise KeyboardInterrupt  # what was asked for is the whole table of facts
        ends = (solution.upper, solution.lower)
        return ends if self._ceiling is None else (self._ceiling - ends[0], self._ceiling - ends[1])


def good_trees(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    tolerance: float | str = 0.01,
    max_depth: int | None = 3,
    regularization: float = 0.01,
    max_leaves: int | None = None,
    min_samples_leaf: int = 1,
    min_weight_leaf: float = 0.0,
    thresholds: Any = "all",
    start: Any = None,
    forbidden: Any = None,
    class_weight: Any = None,
    categorical_features: Any = "auto",
    idle: bool = False,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> TreeSet:
    """Every tree whose objective is at most `tolerance` above that of the best one.

    Parameters
    ----------
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    tolerance : float or str, default=0.01
        How much worse a good tree may be, in units of the objective; or a share of the best objective, such as "3%".
    max_depth, regularization, max_leaves, min_samples_leaf, min_weight_leaf, thresholds :
        As in `SparseTreeClassifier`.
    class_weight, categorical_features :
        As in `SparseTreeClassifier`.
    idle : bool, default=False
        Whether trees with a split into two leaves of the same label count, as some packages count them (see
        `TreeSet.count_written`).
    time_limit, memory_limit : float, int, default=None
        Seconds and bytes. A limit that ends the search leaves a set with `is_complete` False: its trees are good trees,
        and `complete_below` says up to which objective none is missing.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.
    random_state : int, RandomState instance or None, default=None
        For guessed thresholds only.
    start, forbidden :
        As in `SparseTreeClassifier`: the set has the trees that begin so and do not ask these, and the best one is the
        best of them.

    Returns
    -------
    TreeSet

    Raises
    ------
    ValueError
        If a parameter, label, weight or column cannot be used; the message names it.

    Examples
    --------
    >>> from certree import good_trees
    >>> X, y = [[1, 0], [2, 1], [3, 0], [4, 1]], ["a", "a", "b", "b"]
    >>> trees = good_trees(X, y, tolerance=0.3, max_depth=1, regularization=0.1)
    >>> trees.count, trees.is_complete
    (3, True)
    >>> print(trees.best.tests[0], round(trees.best.objective, 3))
    x0 <= 2.5 0.2
    """
    model = SparseTreeClassifier(
        max_depth,
        regularization,
        max_leaves=max_leaves,
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=min_weight_leaf,
        thresholds=thresholds,
        start=start,
        forbidden=forbidden,
        class_weight=class_weight,
        categorical_features=categorical_features,
        time_limit=time_limit,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    problem, weights, factors = model.pose(X, y, sample_weight)
    limits = Limits(time_limit, memory_limit, effective_n_jobs(n_jobs))
    amount, share = (0.0, read_share(tolerance)) if isinstance(tolerance, str) else (tolerance, 0.0)
    found = find_tree_set(problem, amount, limits, share=share, idle=idle, index=np.flatnonzero(weights > 0))
    found._class_weights = None if factors is None else factors.tolist()
    return found


def read_share(text: str) -> float:
    """A share of the best objective: "3%" is 0.03."""
    try:
        share = float(text.strip().removesuffix("%")) / 100 if text.strip().endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"tolerance must be a number, or a share of the best objective from 0% to 100%, not {text!r}")
    return share


def find_tree_set(
    problem: Problem,
    tolerance: float,
    limits: Limits,
    *,
    share: float = 0.0,
    idle: bool = False,
    index: Array | None = None,
) -> TreeSet:
    """The set of a problem. `index` are the numbers of its rows in the table that was given, `share` a part of the best
    objective that is the tolerance, where that is no amount."""
    if isinstance(tolerance, bool) or not (math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance must be a finite number of at least 0, not {tolerance!r}")
    costs = problem.costs
    worst = 1.0 if costs is None else math.fsum(costs.max(axis=1).tolist()) / problem.normaliser
    if share > 0 and (problem.start is not None or problem.regularization >= worst):
        # The engine has shares of whole problems alone.
        best = search(problem, limits)
        tolerance, share = share * best.lower, 0.0
    if problem.regularization >= worst > 0 and tolerance + worst >= problem.regularization:
        raise ValueError(
            f"regularization={problem.regularization:g} is more than any tree can save ({worst:g}), and the tolerance "
            f"of {tolerance:g} lets leaves in again that it forbids: lower one of them"
        )
    if tolerance > 2 * worst:
        raise ValueError(
            f"tolerance={tolerance:g} is more than all trees differ by: no loss is above {worst:g}. Give one of at "
            f"most {2 * worst:g}"
        )
    if problem.start is not None:
        is_bare = problem.regularization >= worst
        found = search_started(problem, tolerance, limits, idle=idle, is_bare=is_bare)
    else:
        is_bare = not problem.has_room_to_split or problem.regularization >= worst or problem.max_depth == 0
        target = replace(problem, max_depth=0) if is_bare else problem  # there is the lone leaf alone
        found = search_good_trees(target, tolerance, limits, share=share, idle=idle)
    if found["status"] == "interrupted":
        warn_interrupted("the set has the good trees found so far; see complete_below")
    index = np.arange(problem.n_rows) if index is None else index
    if share > 0:
        tolerance = math.ldexp(float(found["tolerance"]) * found["factor"], found["exponent"])
    return TreeSet(problem, found, tolerance=tolerance, index=index, limits=limits, is_bare=is_bare)


def without_nan(data: Any) -> Any:
    """JSON has no NaN: what is not there is null."""
    if isinstance(data, dict):
        return {name: without_nan(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [without_nan(value) for value in data]
    return None if isinstance(data, float) and math.isnan(data) else data


def holds_of(problem: Problem, axis: int, code: int) -> Array:
    features = problem.asked_features
    codes = features.codes[axis]
    return np.asarray(codes == code if features.axes[axis].is_categorical else codes <= code)


def _not_below_zero(price: float) -> float:
    """Rounding may make a price of nothing a little less; NaN stays."""
    return price if math.isnan(price) else max(price, 0.0)


def _add_counts(counts: list[TreeCount]) -> TreeCount:
    return TreeCount(sum(int(count) for count in counts), sum(count.most for count in counts))


def _count_without_limit(graph: dict[str, Any], *, counts_ways: bool) -> list[int]:
    """The lone leaf and the trees of each root test, in Python's integers: slow, for numbers beyond 128 bits."""
    leaf, label = graph["leaf"].tolist(), graph["label"].tolist()
    left, right, ways = graph["left"].tolist(), graph["right"].tolist(), graph["ways"].tolist()
    start, budget, asked = graph["first_edge"].tolist(), graph["budget"], graph["is_asked"].tolist()
    lists: list[dict[int, int]] = [{} for _ in leaf]

    def pairs(edge: int) -> dict[int, int]:
        one, two = lists[left[edge]], lists[right[edge]]
        found: dict[int, int] = {}
        factor = ways[edge] if counts_ways else 1
        for a, n in one.items():
            for b, m in two.items():
                if a + b <= budget:
                    found[a + b] = found.get(a + b, 0) + n * m * factor
        sides = left[edge], right[edge]
        is_idle = not graph["has_idle"] and label[sides[0]] == label[sides[1]] and not asked[sides[0]]
        if is_idle and all(leaf[side] < UNREACHABLE for side in sides):
            value = sum(leaf[side] for side in sides)
            if value in found:
                found[value] -= factor
        return found

    for node in range(len(leaf) - 1, 0, -1):
        total = {leaf[node]: 1} if leaf[node] <= budget else {}
        for edge in range(start[node], start[node + 1]):
            for value, n in pairs(edge).items():
                total[value] = total.get(value, 0) + n
        lists[node] = total
    return [int(leaf[0] <= budget), *(sum(pairs(edge).values()) for edge in range(start[1]))]
