"""The notary: recomputes what a tree costs and checks a certificate, in plain numpy, without the engine.

This room promises independence. It never imports the solver; it routes raw rows through a tree and adds up exactly
(`math.fsum`); and it can find the optimum of a tiny problem by looking at every tree, in integer arithmetic without
rounding, slowly and obviously.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.features import Features, make_features
from certree.problem import TOLERANCE, Problem, check_weights
from certree.solution import FORMAT, STATUSES, float_slack
from certree.table import name_row
from certree.tree import Tree, plain_value

Array = NDArray[Any]


# What a tree costs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Account:
    """What a tree costs on a table."""

    loss: float
    objective: float
    rows: tuple[int, ...]
    """Rows of positive weight in each leaf, in the order of `tree.leaves`."""
    weights: tuple[float, ...]


def measure(tree: Tree, problem: Problem) -> Account:
    """Cost, rows and weights of a tree, from the raw rows."""
    leaf = tree.apply(problem.features.table)
    label = tree.label[leaf]
    if problem.y is not None:
        costs = problem.weights[label != problem.y]
    else:
        assert problem.costs is not None
        costs = problem.costs[np.arange(len(label)), label]
    loss = math.fsum(costs.tolist()) / problem.normaliser
    leaves = tree.leaves
    return Account(
        loss=loss,
        objective=loss + problem.regularization * tree.n_leaves,
        rows=tuple(np.bincount(leaf, minlength=tree.n_nodes)[leaves].tolist()),
        weights=tuple(np.bincount(leaf, problem.weights, minlength=tree.n_nodes)[leaves].tolist()),
    )


# Whether a certificate holds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What a check found."""

    failures: tuple[str, ...]
    """What does not hold, one sentence each; empty where everything does."""
    objective: float
    loss: float
    is_bound_proved: bool
    """Whether the lower bound itself was compared with the optimum over all trees."""

    @property
    def holds(self) -> bool:
        return not self.failures


def check(
    certificate: Mapping[str, Any],
    tree: Tree,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    costs: Any = None,
    rewards: Any = None,
    arms: Any = None,
    prove_bound: bool = False,
) -> Verdict:
    """Check a certificate and its tree against a table; the verdict says exactly what does not hold.

    The table comes with labels `y`, with `costs` or, for a policy, with `rewards` (n × K, in the tree's order of
    actions). With rewards, `costs` are what the actions spend of a budget, as `PolicyTree.fit` took them (by name in a
    mapping, else in the tree's order). `prove_bound` looks at every tree as well: for tiny tables only.
    """
    if certificate.get("format") != FORMAT:
        raise ValueError(f"not a certificate: format is {certificate.get('format')!r}, not {FORMAT!r}")
    spends: Array | None = None
    if rewards is not None:
        rewards = np.asarray(rewards, dtype=np.float64)
        if "budget" in certificate:
            spends = _read_spends(costs, tree, len(rewards))
        elif costs is not None:
            raise ValueError("the certificate knows of no budget that costs could be spent of")
        costs = rewards.max(axis=1, keepdims=True) - rewards
    elif "budget" in certificate:
        raise ValueError("a certificate with a budget is checked against rewards, and the costs of actions: give both")
    problem = _read_problem(certificate, tree, X, y, sample_weight, costs, arms)
    account = measure(tree, problem)
    failures = [
        *_check_amounts(certificate, tree, problem, account),
        *_check_bounds(certificate),
        *_check_constraints(certificate, tree, problem, account),
        *([] if rewards is None else _check_values(certificate, tree, X, rewards, sample_weight)),
    ]
    if spends is not None:
        weights = check_weights(sample_weight, len(spends))
        spends = spends[weights > 0] * weights[weights > 0, None]
        failures += _check_budget(certificate, tree, problem, spends)
    if prove_bound:
        optimum = enumerate_optimum(problem) if spends is None else _best_within(certificate, problem, spends)
        if certificate["lower_bound"] > float(optimum) + certificate["rounding"] + float_slack(problem, float(optimum)):
            failures.append(f"lower_bound is {certificate['lower_bound']!r}, but a tree of {float(optimum)!r} exists")
    return Verdict(tuple(failures), account.objective, account.loss, prove_bound)


def _read_problem(
    certificate: Mapping[str, Any], tree: Tree, X: Any, y: Any, sample_weight: Any, costs: Any, arms: Any
) -> Problem:
    table = tree.read(X)
    is_categorical = [column.kind == "categorical" for column in tree.columns]
    limits = certificate["constraints"]
    settings: dict[str, Any] = {
        "regularization": certificate["regularization"],
        "max_depth": limits["max_depth"],
        "max_leaves": limits["max_leaves"],
        "min_samples_leaf": limits["min_samples_leaf"],
        "min_weight_leaf": limits["min_weight_leaf"],
        "min_samples_arm": limits["min_samples_arm"],
        "arms": arms,
    }
    weights = check_weights(sample_weight, table.n_rows)
    codes = None
    if costs is None:
        if y is None:
            raise ValueError("a certificate is checked against labels, costs or rewards: give y or costs or rewards")
        codes = _read_labels(y, tree)
        factors = certificate.get("class_weights")
        if factors is not None:
            weights = weights * np.asarray(factors, dtype=np.float64)[codes]
    features = make_features(
        table, categorical_features=is_categorical, thresholds=certificate["thresholds"], weights=weights
    )
    if codes is None:
        return Problem.from_costs(features, costs, weights, labels=tree.labels, **settings)
    return Problem.from_labels(features, codes, weights, labels=tree.labels, **settings)


def _read_labels(y: Any, tree: Tree) -> Array:
    index = {label: code for code, label in enumerate(tree.labels)}
    values = [plain_value(value) for value in np.asarray(y).tolist()]
    for row, value in enumerate(values):
        if value not in index:
            raise ValueError(f"y: {name_row(row, y)} has label {value!r}, which the tree does not know")
    return np.array([index[value] for value in values], dtype=np.int32)


def _check_amounts(certificate: Mapping[str, Any], tree: Tree, problem: Problem, account: Account) -> list[str]:
    failures = []
    slack = certificate["rounding"] + float_slack(problem, account.objective)
    amounts = {"objective": account.objective, "loss": account.loss}
    for name, value in amounts.items():
        if not abs(certificate[name] - value) <= slack:
            failures.append(f"{name} is {certificate[name]!r} in the certificate, but {value!r} on this table")
    facts = {"leaves": tree.n_leaves, "depth": tree.depth}
    for name, fact in facts.items():
        if certificate[name] != fact:
            failures.append(f"{name} is {certificate[name]!r} in the certificate, but {fact!r} in the tree")
    sizes = {
        "rows": problem.n_rows_given,
        "rows_weighted": problem.n_rows,
        "columns": len(problem.features.columns),
        "labels": len(problem.labels),
    }
    for name, size in sizes.items():
        if certificate["sizes"][name] != size:
            failures.append(f"{name} is {certificate['sizes'][name]!r} in the certificate, but {size!r} on this table")
    if not math.isclose(certificate["weight"], problem.normaliser, rel_tol=1e-12):
        failures.append(
            f"weight is {certificate['weight']!r} in the certificate, but {problem.normaliser!r} on this table"
        )
    return failures


def _check_values(certificate: Mapping[str, Any], tree: Tree, X: Any, rewards: Array, sample_weight: Any) -> list[str]:
    """What a policy states in units of its rewards: the same facts as of its costs, seen from above."""
    stated = certificate["policy"]
    weights = check_weights(sample_weight, len(rewards))
    chosen = rewards[np.arange(len(rewards)), tree.label[tree.apply(X)]] * weights
    total = math.fsum(weights.tolist())
    value = math.fsum(chosen.tolist()) / total
    objective = value - certificate["regularization"] * tree.n_leaves
    # Costs are differences of rewards, so rounding is in proportion to the rewards, however small the costs are.
    size = math.fsum((np.abs(rewards).max(axis=1) * weights).tolist()) / total + abs(objective)
    slack = certificate["rounding"] + 8 * float(np.finfo(float).eps) * size
    amounts = {
        "value": value, "objective": objective, "gap": certificate["gap"],
        "upper_bound": objective + certificate["gap"],
    }  # fmt: skip
    return [
        f"{name} of the policy is {stated[name]!r} in the certificate, but {amount!r} on this table"
        for name, amount in amounts.items()
        if not abs(stated[name] - amount) <= slack
    ]


def _read_spends(costs: Any, tree: Tree, n_rows: int) -> Array:
    """n × K; without costs every action but the first spends 1."""
    if costs is None:
        costs = np.arange(len(tree.labels)) > 0
    elif isinstance(costs, Mapping):
        costs = [costs[action] for action in tree.labels]
    return np.broadcast_to(np.asarray(costs, dtype=np.float64), (n_rows, len(tree.labels)))


def _largest_spend(certificate: Mapping[str, Any], problem: Problem, spends: Array) -> float:
    """The budget, with what rounding may add to a mean spend."""
    largest = certificate["budget"]["largest"]
    scale = math.fsum(spends.max(axis=1).tolist()) / problem.normaliser
    return (scale if largest is None else float(largest)) * (1 + TOLERANCE)


def _check_budget(certificate: Mapping[str, Any], tree: Tree, problem: Problem, spends: Array) -> list[str]:
    """Whether the policy spends what is stated, and no more than it may."""
    stated = certificate["budget"]
    chosen = spends[np.arange(len(spends)), tree.label[tree.apply(problem.features.table)]]
    spend = math.fsum(chosen.tolist()) / problem.normaliser
    failures = []
    if not math.isclose(stated["spend"], spend, rel_tol=1e-12, abs_tol=1e-300):
        failures.append(f"spend is {stated['spend']!r} in the certificate, but {spend!r} on this table")
    if not spend <= _largest_spend(certificate, problem, spends):
        failures.append(f"the policy spends {spend!r} a row, above budget {stated['largest']!r}")
    if not (math.isfinite(stated["price"]) and stated["price"] >= 0):
        failures.append(f"price is {stated['price']!r}, not a finite number of at least 0")
    return failures


def _best_within(certificate: Mapping[str, Any], problem: Problem, spends: Array) -> Fraction:
    """The least objective of any tree within the budget."""
    largest = Fraction(_largest_spend(certificate, problem, spends))
    return min(cost for spend, cost in enumerate_spends(problem, spends) if spend <= largest)


def _check_bounds(certificate: Mapping[str, Any]) -> list[str]:
    failures = []
    status, objective, lower = certificate["status"], certificate["objective"], certificate["lower_bound"]
    if status not in STATUSES:
        failures.append(f"status is {status!r}, not one of {', '.join(STATUSES)}")
    if not lower <= objective:
        failures.append(f"lower_bound {lower!r} is above objective {objective!r}")
    if certificate["gap"] != objective - lower:
        failures.append(f"gap is {certificate['gap']!r}, but objective − lower_bound is {objective - lower!r}")
    if status == "optimal" and lower != objective:
        failures.append(f"status is optimal, but lower_bound {lower!r} is below objective {objective!r}")
    return failures


def _check_constraints(certificate: Mapping[str, Any], tree: Tree, problem: Problem, account: Account) -> list[str]:
    limits = certificate["constraints"]
    failures = []
    if limits["max_depth"] is not None and tree.depth > limits["max_depth"]:
        failures.append(f"the tree has depth {tree.depth}, above max_depth {limits['max_depth']}")
    if limits["max_leaves"] is not None and tree.n_leaves > limits["max_leaves"]:
        failures.append(f"the tree has {tree.n_leaves} leaves, above max_leaves {limits['max_leaves']}")
    if tree.n_leaves == 1:
        return failures
    leaf = tree.apply(problem.features.table)
    leaf_weights, least_weight = problem.leaf_weights
    for node, rows, weight in zip(tree.leaves, account.rows, account.weights, strict=True):
        if rows < limits["min_samples_leaf"]:
            failures.append(f"leaf {node} has {rows} rows, below min_samples_leaf {limits['min_samples_leaf']}")
        if int(leaf_weights[leaf == node].sum()) < least_weight:
            failures.append(f"leaf {node} weighs {weight!r}, below min_weight_leaf {limits['min_weight_leaf']!r}")
        if problem.arms is not None:
            fewest = int(np.bincount(problem.arms[leaf == node], minlength=problem.n_arms).min())
            if fewest < limits["min_samples_arm"]:
                failures.append(
                    f"leaf {node} has {fewest} rows of an arm, below min_samples_arm {limits['min_samples_arm']}"
                )
    return failures


# The optimum of a tiny problem, by looking at every tree ------------------------------------------------------------


def enumerate_optimum(problem: Problem) -> Fraction:
    """The least objective of any tree, exactly."""
    penalty = Fraction(problem.regularization)
    front = enumerate_front(problem)
    return min(cost / Fraction(problem.normaliser) + penalty * leaves for leaves, cost in front.items())


def enumerate_front(problem: Problem) -> dict[int, Fraction]:
    """For every number of leaves that the constraints allow, the least cost of a tree with exactly so many.

    Row sets are the bits of Python integers and amounts are integers in units of the smallest bit of any amount, so
    nothing is ever rounded. The recursion says what a tree is (a leaf, or a test and a tree on either side of it) and
    remembers only what it has already answered.
    """
    amounts, unit = _integer_costs(problem)
    trees = _Trees.of(problem)
    sum_costs = [_bit_sums(list(column)) for column in zip(*amounts, strict=True)]

    def leaf_cost(rows: int) -> int:
        return min(cost(rows) for cost in sum_costs)

    @cache
    def front(rows: int, depth: int, leaves: int) -> dict[int, int]:
        # Where a set is too small to be a leaf, every part of it is too.
        if not trees.is_allowed(rows):
            return {}
        best = {1: leaf_cost(rows)}
        if depth == 0 or leaves == 1:
            return best
        for inside, outside in trees.sides(rows):
            lefts = front(inside, depth - 1, leaves - 1)
            rights = front(outside, depth - 1, leaves - 1) if lefts else {}
            for left, left_cost in lefts.items():
                for right, right_cost in rights.items():
                    if left + right <= leaves:
                        cost = left_cost + right_cost
                        best[left + right] = min(cost, best.get(left + right, cost))
        return best

    found = front(trees.rows, trees.depth, trees.leaves) or {1: leaf_cost(trees.rows)}
    return {size: cost * unit for size, cost in sorted(found.items())}


def enumerate_spends(problem: Problem, spends: Array) -> list[tuple[Fraction, Fraction]]:
    """Mean spend and objective of every tree that no other one beats in both, by spend, exactly.

    `spends` is rows × labels, times the weights: what a label spends. The objective is that of `problem`, whose costs
    know nothing of it. As `enumerate_front`, with the pairs that are needed in place of the least cost.
    """
    costs, cost_unit = _integer_costs(problem)
    amounts, spend_unit = _as_integers([[Fraction(amount) for amount in row] for row in spends.tolist()])
    trees = _Trees.of(problem)
    sum_costs = [_bit_sums(list(column)) for column in zip(*costs, strict=True)]
    sum_spends = [_bit_sums(list(column)) for column in zip(*amounts, strict=True)]

    def needed(pairs: set[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        kept: list[tuple[Any, Any]] = []
        for spend, cost in sorted(pairs):
            if not kept or cost < kept[-1][1]:
                kept.append((spend, cost))
        return kept

    def leaf(rows: int) -> dict[int, list[tuple[int, int]]]:
        return {1: needed({(spend(rows), cost(rows)) for spend, cost in zip(sum_spends, sum_costs, strict=True)})}

    @cache
    def front(rows: int, depth: int, leaves: int) -> dict[int, list[tuple[int, int]]]:
        if not trees.is_allowed(rows):
            return {}
        found = {size: set(pairs) for size, pairs in leaf(rows).items()}
        for inside, outside in trees.sides(rows) if depth > 0 and leaves > 1 else ():
            lefts, rights = front(inside, depth - 1, leaves - 1), front(outside, depth - 1, leaves - 1)
            for (left, left_pairs), (right, right_pairs) in product(lefts.items(), rights.items()):
                if left + right <= leaves:
                    found.setdefault(left + right, set()).update(
                        (one[0] + two[0], one[1] + two[1]) for one, two in product(left_pairs, right_pairs)
                    )
        return {size: needed(pairs) for size, pairs in found.items()}

    whole, penalty = Fraction(problem.normaliser), Fraction(problem.regularization)
    found = front(trees.rows, trees.depth, trees.leaves) or leaf(trees.rows)
    return needed(
        {
            (spend * spend_unit / whole, cost * cost_unit / whole + penalty * size)
            for size, pairs in found.items()
            for spend, cost in pairs
        }
    )


@dataclass(frozen=True)
class _Trees:
    """What the trees of a problem may look like. A row set is the bits of an integer."""

    rows: int
    tests: list[int]
    depth: int
    leaves: int
    is_allowed: Callable[[int], bool]
    """Whether a row set may be a leaf."""

    @classmethod
    def of(cls, problem: Problem) -> _Trees:
        weights, least_weight = problem.leaf_weights
        sum_weights = _bit_sums(weights.tolist())
        arms = [] if problem.arms is None else [_bits(problem.arms == arm) for arm in range(problem.n_arms)]

        def is_allowed(rows: int) -> bool:
            return (
                rows.bit_count() >= problem.min_samples_leaf
                and (least_weight == 0 or sum_weights(rows) >= least_weight)
                and all((rows & arm).bit_count() >= problem.min_samples_arm for arm in arms)
            )

        # More leaves than rows, or a depth beyond them, would need an empty side.
        most = problem.n_rows
        return cls(
            rows=(1 << most) - 1,
            tests=_list_tests(problem.features),
            depth=most - 1 if problem.max_depth is None else min(problem.max_depth, most - 1),
            leaves=most if problem.max_leaves is None else min(problem.max_leaves, most),
            is_allowed=is_allowed,
        )

    def sides(self, rows: int) -> list[tuple[int, int]]:
        """Every way that a test parts a row set, neither side empty."""
        return [(inside, rows & ~inside) for inside in {rows & test for test in self.tests} - {0, rows}]


def _integer_costs(problem: Problem) -> tuple[list[list[int]], Fraction]:
    if problem.y is not None:
        rows = [
            [Fraction(0) if label == own else Fraction(weight) for label in range(len(problem.labels))]
            for own, weight in zip(problem.y.tolist(), problem.weights.tolist(), strict=True)
        ]
    else:
        assert problem.costs is not None
        rows = [[Fraction(cost) for cost in row] for row in problem.costs.tolist()]
    return _as_integers(rows)


def _as_integers(rows: list[list[Fraction]]) -> tuple[list[list[int]], Fraction]:
    """Amounts in units of the smallest bit of any of them, and that unit."""
    denominator = math.lcm(*(amount.denominator for row in rows for amount in row))
    return [[int(amount * denominator) for amount in row] for row in rows], Fraction(1, denominator)


def _bits(mask: Array) -> int:
    return sum(1 << row for row in np.flatnonzero(mask).tolist())


def _bit_sums(amounts: list[int]) -> Callable[[int], int]:
    """A function from a row set to the sum of its amounts; eight rows are looked up at a time."""
    tables = []
    for start in range(0, len(amounts), 8):
        chunk = amounts[start : start + 8]
        tables.append(
            [sum(amount for bit, amount in enumerate(chunk) if byte >> bit & 1) for byte in range(1 << len(chunk))]
        )

    @cache
    def total(rows: int) -> int:
        result = 0
        for table in tables:
            result += table[rows & 255]
            rows >>= 8
        return result

    return total


def _list_tests(features: Features) -> list[int]:
    """Every test of every axis as the set of rows where it holds."""
    tests = set()
    for axis, codes in zip(features.axes, features.codes, strict=True):
        for code in range(axis.size):
            tests.add(_bits(codes == code if axis.is_categorical else codes <= code))
    return sorted(tests)
