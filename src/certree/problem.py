"""The problem: what is minimised, over which trees, on which rows.

    minimise   R(t) = (1/Z) · Σ_i C[i, t(x_i)] + λ · leaves(t)
    over trees t of at most `max_depth` and `max_leaves`, each of whose leaves holds at least `min_samples_leaf` rows,
    `min_weight_leaf` of weight and, where rows have arms, `min_samples_arm` rows of every arm.

A lone leaf is always allowed, so every problem has an answer. This room promises that a Problem is valid: whatever is
wrong with labels, weights, costs or constraints has been said before it exists. Rows of weight zero are not in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.features import Features, make_features
from certree.start import Branch, StartLeaf, read_start
from certree.table import first_text, name_row
from certree.tree import EditError, Test, Tree, Value, plain_value

Array = NDArray[Any]


TOLERANCE = 1e-12
"""By how much of itself a minimum may be missed, or a budget exceeded: far above what rounding does to a sum of amounts
that are not negative, far below what anyone could mean. Relative to the limit and to nothing else: one heavy row, or
one forbidding cost, must not loosen it."""

NEGLIGIBLE = 1e-9
"""Of `Problem.scale`: what rounding may leave open of a tree that is called optimal all the same."""

LEAF_WEIGHT_BITS = 60

LEAST_TOTAL, LARGEST_TOTAL = 1e-250, 1e250
"""What amounts times weights may add up to: far from the ends of what a float holds, for sums, means and prices."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """What is to be solved: tests of columns, what each label costs on each row, and the limits that a tree must keep.

    It is made by `from_labels`, `from_costs` or `from_rewards`, and its arrays are read-only.

    Raises
    ------
    ValueError
        If a setting is out of range, or if nothing limits the size of a tree.

    Examples
    --------
    >>> from certree import Problem, solve
    >>> X, costs = [[1], [2]], [[0, 5], [3, 0]]
    >>> problem = Problem.from_costs(X, costs, labels=["wait", "act"], max_depth=1)
    >>> problem.n_rows, problem.labels
    (2, ('wait', 'act'))
    >>> solve(problem).loss
    0.0
    """

    features: Features
    labels: tuple[Value, ...]
    weights: Array
    """float64, one per row, all positive."""
    y: Array | None = None
    """int32, one per row: its label, as an index into `labels`. C[i, k] is then the weight where k is another label."""
    costs: Array | None = None
    """float64, rows × labels, not negative, already multiplied by the weights. One of `y` and `costs` is set."""
    best_rewards: Array | None = None
    """float64, one per row: the reward of its best label, already multiplied by the weight, where costs are what others
    fall short of it."""
    normaliser: float
    """Z."""

    regularization: float = 0.0
    """λ."""
    max_depth: int | None = None
    max_leaves: int | None = None
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    arms: Array | None = None
    """int32, one per row."""
    n_arms: int = 0
    min_samples_arm: int = 0
    start: Branch | None = None
    """What the tree must begin with; made from a Tree, plain data or text."""
    n_rows_given: int = 0
    """Rows before those of weight zero were left out."""

    def __post_init__(self) -> None:
        _check_number("regularization", self.regularization, 0.0)
        _check_number("min_weight_leaf", self.min_weight_leaf, 0.0)
        _check_count("max_depth", self.max_depth, 0, optional=True)
        _check_count("max_leaves", self.max_leaves, 1, optional=True)
        _check_count("min_samples_leaf", self.min_samples_leaf, 1)
        _check_count("min_samples_arm", self.min_samples_arm, 0)
        if self.max_depth is None and self.max_leaves is None and self.regularization == 0:
            raise ValueError("max_depth=None needs regularization > 0 or max_leaves: nothing else limits the tree")
        if self.min_samples_arm > 0 and self.arms is None:
            raise ValueError("min_samples_arm needs the arm of every row")
        for name in ("weights", "y", "costs", "best_rewards", "arms"):
            value = getattr(self, name)
            if value is not None:
                value = value.view()
                value.flags.writeable = False
                object.__setattr__(self, name, value)
        object.__setattr__(self, "start", read_start(self.start, self.features.columns))
        if self.start is not None:
            _check_start(self, self.start)

    # Making one -----------------------------------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls, X: Any, y: Any, weights: Any = None, *, labels: Sequence[Any] | None = None, **settings: Any
    ) -> Problem:
        """Weighted classification: the cost of a wrong label is the row's weight, Z is the sum of the weights.

        `X` is a table or its Features. With `labels`, `y` holds indices into it. `settings` are λ and the constraints.

        Parameters
        ----------
        X : array or frame, rows × columns
            What the tests ask about, or its `Features`.
        y : array of n labels
            The right label of each row; with `labels`, its place in them.
        weights : array of n weights, default=None
            What a wrong label costs, per row: not negative, and not all 0. None: every row costs 1.
        labels : sequence, default=None
            The labels in the order that breaks ties. None: those that occur, sorted.
        **settings :
            `regularization`, `max_depth`, `max_leaves`, `min_samples_leaf`, `min_weight_leaf` and `thresholds` as in
            `SparseTreeClassifier`; `arms` and `min_samples_arm` as in `PolicyTree`.

        Returns
        -------
        Problem

        Raises
        ------
        ValueError
            If a value or setting cannot be used; the message names it.
        """
        features = _read_features(X)
        codes: Array = _read_vector("y", y, features.n_rows)
        if labels is None:
            check_labels(codes, features.table, y)
            distinct, codes = np.unique(codes, return_inverse=True)
            labels = distinct.tolist()
        elif not (codes.min() >= 0 and codes.max() < len(labels)):
            raise ValueError(f"y holds numbers from 0 to {len(labels) - 1}, one for each label")
        weights = check_weights(weights, features.n_rows, features.table)
        arms = _read_vector("arms", settings.pop("arms", None), features.n_rows)
        features, kept, (codes, weights, arms) = _without_zeros(features, weights, codes, weights, arms)
        return cls(
            features=features,
            labels=tuple(map(plain_value, labels)),
            weights=weights,
            y=np.ascontiguousarray(codes, dtype=np.int32),
            normaliser=float(weights.sum()),
            n_rows_given=kept,
            **_read_arms(arms),
            **settings,
        )

    @classmethod
    def from_costs(
        cls, X: Any, costs: Any, weights: Any = None, *, labels: Sequence[Any] | None = None, **settings: Any
    ) -> Problem:
        """Cost-sensitive labels: what each label costs, times the weights; Z is the sum of the weights.

        Parameters
        ----------
        X : array or frame, rows × columns
            What the tests ask about, or its `Features`.
        costs : n × K numbers, not negative
            What each label costs in each row.
        weights : array of n weights, default=None
            How often each row counts: not negative, and not all 0. None: every row counts once.
        labels : sequence, default=None
            What the columns of `costs` stand for.
        **settings :
            `regularization`, `max_depth`, `max_leaves`, `min_samples_leaf`, `min_weight_leaf` and `thresholds` as in
            `SparseTreeClassifier`; `arms` and `min_samples_arm` as in `PolicyTree`.

        Returns
        -------
        Problem

        Raises
        ------
        ValueError
            If a value or setting cannot be used; the message names it.
        """
        features = _read_features(X)
        costs = _read_matrix("costs", costs, features.n_rows)
        if (costs < 0).any():
            row, label = np.argwhere(costs < 0)[0]
            where = name_row(row, features.table)
            raise ValueError(f"costs must not be negative: {where}, label {label} has {costs[row, label]}")
        weights = check_weights(weights, features.n_rows, features.table)
        weighed = weigh_amounts("costs", costs, weights, features.table)
        return cls._from_weighed("costs", features, weighed, weights, labels, settings)

    @classmethod
    def _from_weighed(
        cls,
        name: str,
        features: Features,
        costs: Array,
        weights: Array,
        labels: Sequence[Any] | None,
        settings: dict[str, Any],
    ) -> Problem:
        if labels is None:
            labels = range(costs.shape[1])
        if len(labels) != costs.shape[1]:
            raise ValueError(f"{name} has {costs.shape[1]} columns, but there are {len(labels)} labels")
        arms = _read_vector("arms", settings.pop("arms", None), features.n_rows)
        features, kept, (costs, weights, arms) = _without_zeros(features, weights, costs, weights, arms)
        return cls(
            features=features,
            labels=tuple(map(plain_value, labels)),
            weights=weights,
            costs=np.ascontiguousarray(costs),
            normaliser=float(weights.sum()),
            n_rows_given=kept,
            **_read_arms(arms),
            **settings,
        )

    @classmethod
    def from_rewards(
        cls, X: Any, rewards: Any, weights: Any = None, *, labels: Sequence[Any] | None = None, **settings: Any
    ) -> Problem:
        """A policy: a label's cost is what its reward falls short of the row's best, so that the least cost is the
        greatest mean reward.

        Parameters
        ----------
        X : array or frame, rows × columns
            What the tests ask about, or its `Features`.
        rewards : n × K numbers
            What each action earns in each row.
        weights : array of n weights, default=None
            How often each row counts: not negative, and not all 0. None: every row counts once.
        labels : sequence, default=None
            What the columns of `rewards` stand for.
        **settings :
            `regularization`, `max_depth`, `max_leaves`, `min_samples_leaf`, `min_weight_leaf` and `thresholds` as in
            `SparseTreeClassifier`; `arms` and `min_samples_arm` as in `PolicyTree`.

        Returns
        -------
        Problem

        Raises
        ------
        ValueError
            If a value or setting cannot be used; the message names it.
        """
        features = _read_features(X)
        rewards = _read_matrix("rewards", rewards, features.n_rows)
        weights = check_weights(weights, features.n_rows, features.table)
        best = rewards.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            shortfall = best - rewards
        costs = weigh_amounts("the difference between rewards", shortfall, weights, features.table)
        best = weigh_amounts("rewards", best, weights, features.table, least=0.0)
        problem = cls._from_weighed("rewards", features, costs, weights, labels, settings)
        return replace(problem, best_rewards=best[weights > 0, 0])

    def with_regularization(self, regularization: float) -> Problem:
        """The same problem at another λ."""
        return replace(self, regularization=regularization)

    # Reading it -----------------------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows of positive weight."""
        return self.features.n_rows

    @cached_property
    def has_weights(self) -> bool:
        """Whether some row counts for more or less than one."""
        return not (self.weights == 1.0).all()

    @cached_property
    def leaf_weights(self) -> tuple[Array, int]:
        """What each row counts towards `min_weight_leaf` (int64), and what the rows of a leaf must add up to.

        Whole numbers, so that a sum is exact and the same in every order, in the engine and in the check: ten rows of
        weight 0.1 make a leaf of weight 1. No row counts for more than the minimum, which alone sets the unit with the
        lighter rows: a heavy row cannot make the others vanish. Rounded up, so that what is heavy enough stays so.
        """
        least = least_leaf_weight(self.min_weight_leaf)
        if least == 0:
            return np.zeros(self.n_rows, dtype=np.int64), 0
        shift = find_leaf_shift(math.fsum(np.minimum(self.weights, least).tolist()))
        return count_leaf_weights(self.weights, least, shift), ceil_scaled(least, shift)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is left to search where there is a start: one problem for each of its leaves, from left to right.

        Their trees together are the trees of this problem, but for `max_leaves`, which holds for all of them together:
        each part has what it can have where all others are leaves.
        """
        assert self.start is not None
        spare = None if self.max_leaves is None else int(self.max_leaves) - self.start.n_leaves + 1
        return tuple(Part(self, leaf, spare) for leaf in self.start_leaves)

    @cached_property
    def start_leaves(self) -> list[StartLeaf]:
        """The leaves of the start, with their rows."""
        assert self.start is not None
        return self.start.leaves(self.features.table)

    @cached_property
    def asked_features(self) -> Features:
        """The features with one axis more, at the end, for each test of the start, from the root down."""
        if self.start is None:
            return self.features
        return self.features.with_asked([(branch.column, branch.test) for branch in self.start.branches()])

    @property
    def has_room_to_split(self) -> bool:
        """Whether a split might help and meet the constraints: with one label, the lone leaf is the best tree."""
        return len(self.labels) > 1 and self.allows_split

    @property
    def allows_split(self) -> bool:
        """Whether a split might meet the constraints, idle or not. Where all rows together fall short, no part can."""
        if self.max_depth == 0 or self.max_leaves == 1 or self.n_rows < 2 * self.min_samples_leaf:
            return False
        if self.arms is not None and self.min_samples_arm > 0:
            rows_of_arms = np.bincount(self.arms, minlength=self.n_arms)
            if rows_of_arms.min() < 2 * self.min_samples_arm:
                return False
        return len(self.features.axes) > 0 and int(self.leaf_weights[0].sum()) >= self.leaf_weights[1]

    @cached_property
    def equal_rows(self) -> Array:
        """For each row the number of its group: rows that no test of this problem tells apart share one."""
        key, span = np.zeros(self.n_rows, dtype=np.int64), 1
        if self.start is not None:
            span = self.start.n_leaves
            for place, leaf in enumerate(self.start_leaves):
                key[leaf.rows] = place
        for axis, codes in zip(self.features.axes, self.features.codes, strict=True):
            # All axes as the digits of one number; where it would grow too long, what there is gets numbered anew.
            if span * axis.size >= 2**62:
                distinct, key = np.unique(key, return_inverse=True)
                span = len(distinct)
            key = key * axis.size + codes
            span *= axis.size
        return np.asarray(np.unique(key, return_inverse=True)[1])

    def scale(self, objective: float) -> float:
        """What an error in an objective is compared with: the objective, or that of the best lone leaf if larger."""
        assert self.costs is not None
        lone = min(math.fsum(column.tolist()) for column in self.costs.T) / self.normaliser
        return max(objective, lone + self.regularization)

    def group_costs(self) -> Array:
        """float64, groups of equal rows × labels; what each label costs all rows of a group."""
        groups, n_labels = self.equal_rows, len(self.labels)
        n_groups = int(groups.max()) + 1
        if self.costs is not None:
            return np.stack([np.bincount(groups, column, minlength=n_groups) for column in self.costs.T], axis=1)
        assert self.y is not None
        cells = np.bincount(groups * n_labels + self.y, self.weights, minlength=n_groups * n_labels)
        # Summing the other labels, not subtracting this one, keeps small amounts exact beside large ones.
        return np.asarray(cells.reshape(n_groups, n_labels) @ (1.0 - np.eye(n_labels)))

    def floor(self) -> float:
        """A bound that no tree is below, known without a search.

        A lone leaf costs what it costs; any other tree has at least two leaves, and gives one label to rows that no
        test tells apart. With a start there is no lone leaf, and there are at least the leaves of the start.
        """
        costs = self.group_costs()
        rounded = 1 - np.finfo(float).eps * (self.n_rows + 8)
        if self.start is not None:
            known = costs.min(axis=1).sum() / self.normaliser + self.start.n_leaves * self.regularization
            return float(known * rounded)
        lone = costs.sum(axis=0).min() / self.normaliser + self.regularization
        split = costs.min(axis=1).sum() / self.normaliser + 2 * self.regularization
        least = min(lone, split) if self.has_room_to_split else lone
        return float(least * rounded)

    def weigh(self, tree: Tree) -> Tree:
        """The tree with the rows, weight and costs of this problem at its nodes and the best label for each.

        The rows find their leaves by their raw values. Of equally good labels the first is taken.
        """
        leaf = tree.apply(self.features.table).astype(np.intp)
        n_nodes, n_labels = tree.n_nodes, len(self.labels)

        def add_weights(group: Array, rows: Array) -> Array:
            """The weight of each group, of so many rows."""
            if not self.has_weights:
                return rows.astype(np.float64)
            return np.bincount(group, self.weights, minlength=rows.size).reshape(rows.shape)

        rows: Array
        weight: Array
        label_weights: Array | None = None
        costs: Array
        if self.y is not None:
            cells = leaf * n_labels + self.y
            label_rows = np.bincount(cells, minlength=n_nodes * n_labels).reshape(n_nodes, n_labels)
            label_weights = add_weights(cells, label_rows)
            rows, weight = label_rows.sum(axis=1), label_weights.sum(axis=1)
        else:
            assert self.costs is not None
            rows = np.bincount(leaf, minlength=n_nodes)
            weight = add_weights(leaf, rows)
            costs = np.stack([np.bincount(leaf, column, minlength=n_nodes) for column in self.costs.T], axis=1)
        best = None if self.best_rewards is None else np.bincount(leaf, self.best_rewards, minlength=n_nodes)
        sums = [rows, weight, costs if label_weights is None else label_weights, *([] if best is None else [best])]
        sides = list(zip(tree.left.tolist(), tree.right.tolist(), strict=True))
        for node in np.flatnonzero(tree.column >= 0)[::-1].tolist():
            left, right = sides[node]
            for amounts in sums:
                amounts[node] = amounts[left] + amounts[right]
        if label_weights is not None:
            # Summing the other labels, not subtracting this one, keeps small amounts exact beside large ones.
            costs = label_weights @ (1.0 - np.eye(n_labels))
        # A node without rows has a mean reward of 0.
        rewards = None if best is None else (best[:, None] - costs) / np.where(weight > 0, weight, 1.0)[:, None]
        return replace(
            tree, label=np.argmin(costs, axis=1), rows=rows, weight=weight, costs=costs, label_weights=label_weights,
            rewards=rewards,
        )  # fmt: skip

    def lone_leaf(self) -> Tree:
        """The best tree of depth 0."""
        return self.make_tree([-1], [np.nan], [-1], [False], [-1], [-1])

    def make_tree(
        self,
        column: Sequence[int],
        threshold: Sequence[float],
        category: Sequence[int],
        missing_left: Sequence[bool],
        left: Sequence[int],
        right: Sequence[int],
    ) -> Tree:
        """The weighed tree of these tests."""
        nodes: dict[str, Any] = {
            "column": column, "threshold": threshold, "category": category, "missing_left": missing_left,
            "left": left, "right": right,
        }  # fmt: skip
        nothing = np.zeros((len(column), len(self.labels)))
        none = nothing[:, 0]
        bare = Tree(self.features.columns, self.labels, **nodes, label=none, rows=none, weight=none, costs=nothing)
        return self.weigh(bare)


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one leaf of a start, and the problem of what grows there."""

    whole: Problem
    leaf: StartLeaf
    most_leaves: int | None
    """Where every other leaf of the start stays one."""

    @cached_property
    def problem(self) -> Problem:
        return self.limited(self.most_leaves)

    def limited(self, max_leaves: int | None) -> Problem:
        """The problem with so many leaves. Z, λ and the minima of a leaf are those of the whole."""
        whole, rows = self.whole, self.leaf.rows
        deepest = None if whole.max_depth is None else int(whole.max_depth) - self.leaf.depth
        arrays: dict[str, Any] = {
            name: None if getattr(whole, name) is None else getattr(whole, name)[rows]
            for name in ("weights", "y", "costs", "best_rewards", "arms")
        }
        part = replace(
            whole,
            features=whole.features.at(rows),
            max_depth=deepest if self.leaf.is_open else 0,
            max_leaves=max_leaves,
            start=None,
            n_rows_given=len(rows),
            **arrays,
        )
        # What a row counts towards a minimum depends on all rows; a part must agree with the whole to the last bit.
        weights, least = whole.leaf_weights
        part.__dict__["leaf_weights"] = (weights[rows], least)
        return part


# What counts towards a minimum of weight ------------------------------------------------------------------------------


def least_leaf_weight(min_weight_leaf: float) -> float:
    """What a leaf must weigh, with the tolerance taken off. No row counts for more."""
    return min_weight_leaf * (1 - TOLERANCE)


def find_leaf_shift(total: float) -> int:
    """The power of two that makes whole numbers of what all rows count together: below 2^60, and at most one more per
    row where they are rounded up, so that sums fit 61 bits."""
    return LEAF_WEIGHT_BITS - math.frexp(total)[1]


def count_leaf_weights(weights: Array, least: float, shift: int) -> Array:
    """int64; what each row counts towards a minimum of weight."""
    return np.ceil(np.ldexp(np.minimum(weights, least), shift)).astype(np.int64)


# What may be wrong --------------------------------------------------------------------------------------------------


def check_labels(y: Array, *sources: Any) -> None:
    """Refuse labels that are missing, by the name that the row has in one of the sources."""
    # NaN is unlike itself; among objects None and NA mark what is missing, too.
    is_missing = [value is None or value != value for value in _spell(y)] if y.dtype == object else y != y
    if np.any(is_missing):
        raise ValueError(f"Input y contains NaN: y is missing in {name_row(int(np.argmax(is_missing)), *sources)}")


def _spell(y: Array) -> list[Any]:
    """Values of which NA, which is neither equal nor unequal to anything, is None."""
    return [None if type(value).__name__ == "NAType" else value for value in y.tolist()]


def check_weights(given: Any, n_rows: int, *sources: Any) -> Array:
    """Weights as float64, ones by default; an error names the row that is wrong, as the weights or the sources do."""
    weights = read_weights(given, n_rows, *sources)
    with np.errstate(over="ignore"):
        check_total_weight(float(weights.sum()))
    return weights


def check_total_weight(total: float) -> None:
    if not total > 0:
        raise ValueError("sample_weight is zero in every row")
    if not total < np.inf:
        raise ValueError("sample_weight is too large: its sum is infinite")


def read_weights(given: Any, n_rows: int, *sources: Any) -> Array:
    """The same of some rows of a table, which may all weigh nothing."""
    if given is None:
        return np.ones(n_rows)
    weights: Array
    raw = np.empty(0)
    try:
        raw = np.asarray(given)
        # Numpy would take the real part, or the nanoseconds since 1970, for a weight.
        if raw.dtype.kind in "cmM":
            raise TypeError(f"not values of type {raw.dtype}")
        weights = raw.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        row = first_text(raw.tolist()) if raw.ndim == 1 and raw.dtype.kind in "OSU" else -1
        words = error if row < 0 else f"{name_row(row, given, *sources)} has {raw.tolist()[row]!r}"
        raise ValueError(f"sample_weight must hold numbers: {words}") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be one-dimensional, not of shape {weights.shape}")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight has {len(weights)} entries, but X has {n_rows} rows")
    # One pass for the usual case; NaN fails every comparison.
    if not (weights.min() >= 0 and weights.max() < np.inf):
        for is_wrong, what in ((np.isnan(weights), "NaN"), (weights < 0, "negative"), (np.isinf(weights), "infinite")):
            if is_wrong.any():
                row = int(np.argmax(is_wrong))
                raise ValueError(f"sample_weight is {what} in {name_row(row, given, *sources)}")
    return weights


def weigh_amounts(
    what: str, amounts: Array, weights: Array, source: Any = None, *, least: float = LEAST_TOTAL
) -> Array:
    """Amounts (rows × labels) times the weights, where floats can hold them; else an error that names the row."""
    with np.errstate(over="ignore"):
        products = amounts * weights[:, None]
        sizes = np.abs(products).max(axis=1)
        total = sizes.sum()
    largest = np.abs(amounts).max(axis=1)
    is_lost = total < least and bool(largest[weights > 0].any())
    # Written so that NaN fails.
    if is_lost or not total <= LARGEST_TOTAL:
        row = int(np.argmax(np.where(weights > 0, largest, 0.0) if is_lost else sizes))
        raise ValueError(
            f"{what} times sample_weight is too {'small' if is_lost else 'large'}: {name_row(row, source)} has "
            f"{largest[row]:g} times {weights[row]:g}, and the largest of every row must add up to a number between "
            f"{LEAST_TOTAL:g} and {LARGEST_TOTAL:g}. Choose another unit for either: of weights only the ratios matter"
        )
    return np.asarray(products)


def _check_number(name: str, value: Any, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if not (math.isfinite(value) and float(value) >= least):
        raise ValueError(f"{name} must be a finite number of at least {least:g}, not {value!r}")


def _check_count(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer{' or None' if optional else ''}, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value!r}")


def ceil_scaled(value: float, shift: int) -> int:
    """⌈value · 2^shift⌉, also where that is too large for a float."""
    numerator, denominator = value.as_integer_ratio()
    return -(-(numerator << max(shift, 0)) // (denominator << max(-shift, 0)))


def _check_start(problem: Problem, start: Branch) -> None:
    """Whether some tree begins with the start and keeps the limits."""
    features = problem.features
    for branch in start.branches():
        if any(entry == features.columns[branch.column].name for entry in features.forbidden):
            raise EditError(f"start: it asks “{branch.test.text}”, but column {branch.test.column.name!r} is forbidden")
        for entry in features.forbidden:
            if isinstance(entry, Test) and _ask_the_same(problem, branch, entry):
                raise EditError(f"start: it asks “{branch.test.text}”, which is forbidden")
    for name, size in (("max_depth", start.depth), ("max_leaves", start.n_leaves)):
        most = getattr(problem, name)
        if most is not None and size > most:
            what = f"is {size} levels deep" if name == "max_depth" else f"has {size} leaves"
            raise EditError(f"start: it {what}, above {name}={most}")
    weights, least_weight = problem.leaf_weights
    for leaf in problem.start_leaves:
        if len(leaf.rows) == 0:
            raise EditError(f"start: no row of positive weight has “{leaf.text}”, so its last test divides no rows")
        found = f"start: the leaf “{leaf.text}” holds"
        if len(leaf.rows) < problem.min_samples_leaf:
            raise EditError(f"{found} {len(leaf.rows)} rows, below min_samples_leaf={problem.min_samples_leaf}")
        if int(weights[leaf.rows].sum()) < least_weight:
            total = float(problem.weights[leaf.rows].sum())
            raise EditError(f"{found} a weight of {total:g}, below min_weight_leaf={problem.min_weight_leaf:g}")
        if problem.arms is not None:
            fewest = int(np.bincount(problem.arms[leaf.rows], minlength=problem.n_arms).min())
            if fewest < problem.min_samples_arm:
                raise EditError(f"{found} {fewest} rows of an arm, below min_samples_arm={problem.min_samples_arm}")


def _ask_the_same(problem: Problem, branch: Branch, forbidden: Test) -> bool:
    """Whether a test of the start parts all rows as a forbidden test of its column does."""
    if forbidden.column.name != branch.test.column.name:
        return False
    table = problem.features.table
    values = branch.test.column.read(table.columns[branch.column], table)
    one, two = branch.test.holds(values), forbidden.holds(values)
    return bool((one == two).all() or (one != two).all())


def _read_features(X: Any) -> Features:
    return X if isinstance(X, Features) else make_features(X)


def _read_matrix(name: str, given: Any, n_rows: int) -> Array:
    matrix: Array = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != n_rows or matrix.shape[1] == 0:
        raise ValueError(f"{name} must be {n_rows} rows × labels, not of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, label = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"{name} must be finite: {name_row(row, given)}, label {label} has {matrix[row, label]}")
    return matrix


def _read_vector(name: str, given: Any, n_rows: int) -> Any:
    if given is None:
        return None
    vector = np.asarray(given)
    if vector.shape != (n_rows,):
        raise ValueError(f"{name} has shape {vector.shape}, but X has {n_rows} rows")
    return vector


def _read_arms(arms: Array | None) -> dict[str, Any]:
    if arms is None:
        return {}
    distinct, codes = np.unique(arms, return_inverse=True)
    return {"arms": codes.astype(np.int32), "n_arms": len(distinct)}


def _without_zeros(features: Features, weights: Array, *others: Any) -> tuple[Features, int, list[Any]]:
    """Everything without the rows of weight zero, and how many rows there were."""
    keep = weights > 0
    if keep.all():
        return features, len(weights), list(others)
    kept = [None if other is None else other[keep] for other in others]
    return features.take(keep, weights[keep]), len(weights), kept
