"""A set of good trees: its trees in order, what they agree on, and smaller sets of them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from certree.certificate import SET_FORMAT, SET_VERSION, list_settings
from certree.display import show_members
from certree.fingerprint import fingerprint
from certree.graft import UNREACHABLE
from certree.limits import Clock, Limits
from certree.problem import Problem
from certree.second import SecondMeasure, TooManyError
from certree.solver import PACKAGE_VERSION, find_row_labels, search
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
from certree.tree_set.facts import ColumnFact, CutFact, RootFact, RowFacts, TreeCount, add_counts
from certree.tree_set.graph import TreeGraph
from certree.tree_set.member import GoodTree, TreeWriter
from certree.tree_set.objectives import Objectives

Array = NDArray[Any]

MOST_LISTED = 50_000_000
"""A tree so far down the list is not written down any more: restrict the set, or draw a sample."""


class TreeSet:
    """Every tree within a tolerance of the best one, in order of objective; made by `good_trees` and `good_policies`.

    Tests that divide the rows of a node in the same way are one test, each leaf has its best label, and a split into
    two leaves of the same label makes no tree (unless `idle` was asked for). Iterate, index or slice it; no tree is
    written down before it is asked for.

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
        graph: TreeGraph,
        found: dict[str, Any],
        *,
        tolerance: float,
        index: Array,
        limits: Limits,
        is_bare: bool = False,
    ) -> None:
        self.problem = problem
        self._is_bare = is_bare
        self.tolerance = float(tolerance)
        self.limits = limits
        self.graph = graph
        self._found = found
        self._objectives = Objectives(problem, found, is_bare=is_bare)
        self._writer = TreeWriter(problem, graph.left_out)
        self._index = index
        self._restrictions: tuple[dict[str, Any], ...] = ()
        self._class_weights: list[float] | None = None
        self._listed: list[GoodTree] = []

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
        return self._objectives.of(min(self._found["optimum"], self._found["lower"]))

    @property
    def threshold(self) -> float:
        """The worst objective that a good tree may have."""
        return self._objectives.of(self.graph.budget)

    @property
    def complete_below(self) -> float:
        """Every tree that is better than this is in the set; for a policy, every one above it."""
        missing = min(self._found["missing"], self.graph.budget + 1)
        return self.threshold if self.is_complete else self._objectives.of(missing)

    @cached_property
    def count(self) -> TreeCount:
        """How many trees the set has: exact, or a TreeCount that says between which numbers."""
        return add_counts(self.graph.count_roots())

    @property
    def count_bounds(self) -> tuple[int, int]:
        """The least and the greatest number of trees that the set can have; equal where the count is exact."""
        return int(self.count), self.count.most

    def count_written(self) -> TreeCount:
        """How many trees there would be if all given tests counted, even two that divide the rows in the same way."""
        return add_counts(self.graph.count_roots(counts_ways=True))

    @property
    def best(self) -> GoodTree:
        """The best tree of the set."""
        return self[0]

    @property
    def statistics(self) -> dict[str, Any]:
        """Figures of the graph: nodes, edges and bytes."""
        return {**self._found["statistics"], **self.graph.statistics}

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
            "idle": self.graph.has_idle,
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

    def _repr_html_(self) -> str:
        return show_members(repr(self), self)

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
            How many trees to draw. A tree may be drawn more than once.
        random_state : int, RandomState instance or None, default=None
            The seed. An int draws the same trees every time.

        Returns
        -------
        list of GoodTree

        Raises
        ------
        ValueError
            If the set is empty.
        """
        seed = int(check_random_state(random_state).randint(0, 2**63 - 1, dtype=np.int64))
        return self._read(self.graph.draw_trees(int(n), seed))

    def _has(self, place: int) -> bool:
        """Whether there is such a tree; it is then listed."""
        while len(self._listed) <= place:
            first = len(self._listed)
            if first >= MOST_LISTED:
                raise ValueError(f"tree {place} is too far down the list: restrict the set, or draw a sample")
            # What was listed before is gone over again, so each time twice as many are asked for.
            last = min(max(2 * first, place + 1, 64), MOST_LISTED)
            found = self._read(self.graph.list_trees(first, last))
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
        return GoodTree(self._objectives.of_tree(cost, leaves), leaves, self._writer, axis, code, label)

    # What they agree on ---------------------------------------------------------------------------------------------

    def columns(self, *, prices: bool = True) -> list[ColumnFact]:
        """For each column the share of good trees that need it, the price of doing without it, and what is proved.

        The price of a column that every good tree needs takes a search of its own, which `prices=False` saves; it and
        the objective are then NaN. These searches keep the limits of the set, and share its time limit; a price that
        they do not prove has bounds.
        """
        self._need_complete("columns")
        is_used = self.graph.columns_in_use
        clock = Clock(self.limits)
        facts = []
        for number, column in enumerate(self.problem.features.columns):
            if number in self.graph.left_out:
                continue
            kept = self.leave_out({number})
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
                    is_unused=not is_used[number],
                )
            )
        return facts

    def roots(self) -> list[RootFact]:
        """The root tests of good trees, best first. The lone leaf, where it is good, has none."""
        self._need_complete("roots")
        edges = self.graph.root_edges
        objectives = self._objectives.of_all(self.graph.best_through[: len(edges)]).tolist()
        counts = self.graph.count_roots()[1:]
        # Where leaves are limited, a test has an edge for each way to share them between its sides.
        edges_of: dict[tuple[int, int], list[int]] = {}
        for edge in edges:
            edges_of.setdefault(self.graph.test_of(edge), []).append(edge)
        facts = [
            RootFact(
                self._question(own[0]),
                min((objectives[edge] for edge in own), key=self._price),
                add_counts(counts[edge] for edge in own),
            )
            for own in edges_of.values()
        ]
        return sorted(facts, key=lambda fact: self._price(fact.objective))

    def cuts(self) -> list[CutFact]:
        """The tests that good trees have, by column and threshold, each with the best good tree that has it.

        A test that several columns could ask is listed under the first of them.
        """
        self._need_complete("cuts")
        arrays = self.graph.arrays
        pairs = np.stack([arrays["axis"], arrays["code"]], axis=1)
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        best = np.full(len(distinct), UNREACHABLE, dtype=np.int64)
        np.minimum.at(best, inverse.reshape(-1), self.graph.best_through)
        facts = []
        table, weights = self.problem.features.table, self.problem.weights
        for (axis, code), objective in zip(distinct.tolist(), self._objectives.of_all(best).tolist(), strict=True):
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
            graph=self.graph.arrays,
            codes=features.codes,
            categorical=np.array([axis.is_categorical for axis in features.axes], dtype=np.uint8),
            n_labels=len(self.problem.labels),
        )
        objective = self._objectives.of_all(found.reshape(self.problem.n_rows, len(self.problem.labels)))
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
            found = SecondMeasure(self.graph.arrays, features.codes, categorical, measures).run()
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
            Keep only the trees that ask none of these columns, given by name or number.
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
            chosen = chosen.leave_out(places)._restricted(without=left_out)
        if root is not None:
            chosen = chosen._with_root(root)._restricted(root=root)
        if leaves is not None:
            least, most = (leaves, leaves) if isinstance(leaves, (int, np.integer)) else leaves
            if not 1 <= least <= most:
                raise ValueError(f"leaves must be a number of at least 1, or the least and the most, not {leaves!r}")
            most = min(int(most), self.problem.n_rows)
            graph = chosen.graph.with_leaves(min(int(least), most + 1), most)
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
        for number in sorted({number for edge in self.graph.root_edges for number in self.graph.columns_of_edge(edge)}):
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
        budget = min(self._found["missing"] - 1, self.graph.budget)
        graph = self.graph.within(budget)
        # All trees up to there are known, so the best of them is the best of all. Where there is none, a bound is left.
        best = min(graph.list_trees(0, 1)["value"].tolist(), default=self._found["lower"])
        complete = {"is_complete": True, "status": "complete", "missing": UNREACHABLE, "optimum": best, "lower": best}
        tolerance = self._objectives.width(max(budget - best, 0))
        return self._with_graph(graph, found=self._found | complete, tolerance=tolerance)

    # Within ---------------------------------------------------------------------------------------------------------

    def _need_complete(self, what: str) -> None:
        if not self.is_complete:
            raise ValueError(
                f"{what}() states what holds for every good tree, and this set is not complete ({self.status}): ask "
                f"complete_part() of it, or raise the limit"
            )

    def _price(self, objective: float) -> float:
        """How much worse an objective is than the best."""
        return self._objectives.price(objective, self.optimum)

    def columns_of(self, axis: tuple[int, ...], code: tuple[int, ...]) -> frozenset[int]:
        """The columns that could ask some test of a tree of the set, which is given by its nodes, depth first."""
        return self.graph.columns_of_tree(axis, code)

    def _question(self, edge: int) -> str:
        return self.problem.asked_features.question(*self.graph.test_of(edge)).text

    def _column(self, name: Any) -> int:
        names = [column.name for column in self.problem.features.columns]
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(names):
            return int(name)
        if name not in names:
            raise ValueError(f"the table has no column {name!r}; its columns are {', '.join(names)}")
        return names.index(name)

    def _with_graph(
        self, graph: TreeGraph, *, found: dict[str, Any] | None = None, tolerance: float | None = None
    ) -> TreeSet:
        """Another set of the same problem."""
        copy = TreeSet(
            self.problem,
            graph,
            self._found if found is None else found,
            tolerance=self.tolerance if tolerance is None else tolerance,
            index=self._index,
            limits=self.limits,
            is_bare=self._is_bare,
        )
        copy._restrictions, copy._class_weights = self._restrictions, self._class_weights
        return copy

    def leave_out(self, columns: set[int]) -> TreeSet:
        """The good trees that can be written without some columns, given by their numbers."""
        return self._with_graph(self.graph.without(columns))

    def _with_root(self, root: str) -> TreeSet:
        edges = self.graph.root_edges
        names = [column.name for column in self.problem.features.columns]
        if root in names:
            number = names.index(root)
            chosen = [edge for edge in edges if number in self.graph.columns_of_edge(edge)]
        else:
            chosen = [edge for edge in edges if self._question(edge) == root]
        if not chosen and root not in names:
            raise ValueError(f"no good tree has the root {root!r}: see roots(), or name a column")
        return self._with_graph(self.graph.with_roots(chosen))

    def _tighten(self, tolerance: float) -> TreeSet:
        if not 0 <= tolerance <= self.tolerance:
            raise ValueError(f"tolerance must be from 0 to that of the set, {self.tolerance:g}, not {tolerance!r}")
        budget = self._found["lower"] + self._objectives.to_amount(tolerance)
        return self._with_graph(self.graph.within(budget), tolerance=tolerance)

    def _best_without(self, column: int, limits: Limits) -> tuple[float, float]:
        """The objective of the best tree over the other columns that was found, and the best that there can be."""
        gone = self.graph.left_out | {column}
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
        return self._objectives.of_cost(solution.upper), self._objectives.of_cost(solution.lower)


def without_nan(data: Any) -> Any:
    """JSON has no NaN: what is not there is null."""
    if isinstance(data, dict):
        return {name: without_nan(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [without_nan(value) for value in data]
    return None if isinstance(data, float) and math.isnan(data) else data


def _not_below_zero(price: float) -> float:
    """Rounding may make a price of nothing a little less; NaN stays."""
    return price if math.isnan(price) else max(price, 0.0)
