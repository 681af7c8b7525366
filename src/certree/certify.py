"""The notary: recomputes what a tree costs and checks a certificate, in plain numpy, without the engine.

This room promises independence. It never imports the solver; it routes raw rows through a tree and adds up exactly
(`math.fsum`); and it can find the optimum of a tiny problem, and count its good trees, by looking at every tree
(`enumeration`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.certificate import SET_STATUSES, STATUSES, find_flaws, find_set_flaws, is_number, list_settings, quote
from certree.enumeration import TooLargeError as TooLargeError
from certree.enumeration import count_trees, rows_of_tests
from certree.enumeration import enumerate_front as enumerate_front
from certree.enumeration import enumerate_optimum as enumerate_optimum
from certree.enumeration import enumerate_spends as enumerate_spends
from certree.features import Axis, Features, make_features
from certree.fingerprint import ANY_ORDER, fingerprint, fingerprint_parts, hash_rows
from certree.guesses import ThresholdReport, guess_tree_depth, state_depth, state_reference, state_thresholds
from certree.problem import NEGLIGIBLE, TOLERANCE, Problem, check_weights
from certree.solution import float_slack, measure_loss
from certree.start import Branch, match_start, read_start
from certree.table import name_row
from certree.tree import Column, EditError, Test, Tree, plain_value, read_test
from certree.weights import WeightLossWarning
from certree.weights.weighing import WEIGHING_STATEMENT, Weighing, state_sample, weigh_by_duplication

# What users are to call; the other functions are for the rooms above.
__all__ = ["SetVerdict", "Verdict", "check", "check_set", "enumerate_optimum"]

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


class _Shown:
    """What a verdict says of itself: whether all holds, and below it what does not, or what was not recomputed."""

    failures: tuple[str, ...]
    trusted: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that was recomputed is as stated."""
        return not self.failures

    def __str__(self) -> str:
        if self.failures:
            return "\n".join(["the certificate does not hold:", *(f"  {failure}" for failure in self.failures)])
        if not self.trusted:
            return "the certificate holds"
        head = "the certificate holds as far as it was recomputed; taken on trust:"
        return "\n".join([head, *(f"  {sentence}" for sentence in self.trusted)])

    def __repr__(self) -> str:
        n_wrong = len(self.failures)
        found = "holds" if self.holds else f"{n_wrong} failure{'' if n_wrong == 1 else 's'}"
        return f"<{type(self).__name__}: {found}>"


@dataclass(frozen=True, repr=False)
class Verdict(_Shown):
    """What a check found: `holds`, and in sentences what does not hold and what could not be checked.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, certify
    >>> X, y = [[1.0], [2.0], [3.0]], ["no", "no", "yes"]
    >>> model = SparseTreeClassifier(1, 0.01).fit(X, y)
    >>> verdict = certify.check(model.certificate_, model.tree_, X, y)
    >>> verdict.failures, len(verdict.trusted) > 0
    ((), True)
    >>> print(verdict)
    the certificate holds as far as it was recomputed; taken on trust:
      that no tree within the constraints has an objective below 0.02
    """

    failures: tuple[str, ...]
    """What does not hold, one sentence each; empty where everything does."""
    objective: float
    """R of the tree on this table; NaN where the certificate is too broken for a table to be compared with."""
    loss: float
    is_bound_proved: bool
    """Whether the lower bound itself was compared with the optimum over all trees."""
    value: float | None = None
    """Of a policy: its mean reward on this table."""
    trusted: tuple[str, ...] = ()
    """What could not be recomputed and was taken on the word of who made the certificate, one sentence each."""


def check(
    certificate: Mapping[str, Any],
    tree: Tree,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    costs: Any = None,
    rewards: Any = None,
    spends: Any = None,
    arms: Any = None,
    prove_bound: bool = False,
) -> Verdict:
    """Check a certificate and its tree against a table, without the engine.

    Nothing that the certificate states is believed: whatever the table decides is computed again, and the verdict lists
    under `trusted` what is left.

    Parameters
    ----------
    certificate : Certificate or mapping
        What is claimed.
    tree : Tree
        The tree that it is claimed of.
    X, y, sample_weight :
        The table of the fit, with its labels and weights.
    costs : n × K numbers, default=None
        In place of labels: what each label costs.
    rewards : n × K numbers, default=None
        In place of labels, for a policy: in the order of the tree's actions.
    spends : one number per action, mapping by action, or n × K numbers, default=None
        With a budget: what the actions spend, as `PolicyTree.fit` took it. None: what the certificate states.
    arms : array of n whole numbers, default=None
        With `min_samples_arm`: the action that each row got, as an index into the tree's actions.
    prove_bound : bool, default=False
        Whether to look at every tree as well, for tiny tables only. `certree verify --prove` proves the bound of larger
        ones by a search of its own.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        If the table cannot be read, or if something that the certificate needs is missing. A certificate that does
        not hold is not an error: the verdict says so.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, certify
    >>> X, y = [[1.0], [2.0], [3.0]], ["no", "no", "yes"]
    >>> model = SparseTreeClassifier(1, 0.01).fit(X, y)
    >>> certify.check(model.certificate_, model.tree_, X, y).holds
    True
    >>> certify.check(model.certificate_, model.tree_, X, ["no", "yes", "yes"]).holds
    False
    """
    flaws = find_flaws(certificate)
    if flaws:
        return Verdict(tuple(flaws), math.nan, math.nan, False)
    if type(X).__module__.partition(".")[0] == "dask":
        if not PARTS_CHECKS or costs is not None or spends is not None or prove_bound:
            raise ValueError(
                "X is a dask collection, which is checked where it lies: import certree.dask first, and give y or "
                "rewards; costs, spends and prove_bound need a table in memory"
            )
        return PARTS_CHECKS[0](certificate, tree, X, y, sample_weight, rewards, arms)
    case = read_case(certificate, tree, X, y, sample_weight, costs=costs, rewards=rewards, spends=spends, arms=arms)
    if isinstance(case, str):
        return Verdict((case,), math.nan, math.nan, False)
    problem = case.problem
    account = measure(tree, problem)
    rounding = _bound_rounding(case)
    failures = [
        *check_identity(case),
        *check_amounts(case, account),
        *_check_sizes(case),
        *_check_rounding(case, rounding),
        *check_bounds(certificate),
        *_check_constraints(certificate, tree, problem, account),
        *check_columns(tree, problem),
        *check_tests(tree, problem),
        *check_nodes(case),
        *_check_guarantees(case),
    ]
    value = None
    if case.rewards is not None:
        value = _mean_reward(case)
        failures += _check_values(case, value)
    if case.spends is not None:
        failures += _check_budget(case)
    if prove_bound:
        optimum = enumerate_optimum(problem) if case.spends is None else _best_within(case)
        slack = min(rounding[1], certificate["rounding"]) + float_slack(problem, float(optimum))
        if certificate["lower_bound"] > float(optimum) + slack:
            failures.append(f"lower_bound is {certificate['lower_bound']!r}, but a tree of {float(optimum)!r} exists")
    trusted = list_trusted(case, prove_bound)
    return Verdict(tuple(failures), account.objective, account.loss, prove_bound, value, trusted)


PARTS_CHECKS: list[Callable[..., Verdict]] = []
"""What checks a table that lies in parts: `certree.dask` puts it here when it is imported."""


# The table that a certificate is held against -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A certificate without flaws of form, its tree, and the problem that both say they are about, from raw rows."""

    certificate: Mapping[str, Any]
    tree: Tree
    problem: Problem
    weights: Array
    """float64, one per row given, times the class weights."""
    rewards: Array | None
    """float64, rows given × actions."""
    spends: Array | None
    """float64, rows of positive weight × actions: what each spends, times the weight."""
    spends_by_action: list[float] | None = None
    """What each action spends, where that is the same on all rows."""

    @property
    def budget(self) -> Mapping[str, Any] | None:
        return self.certificate.get("budget")

    @property
    def weighing(self) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.guarantees.get("weighing")
        return found

    @property
    def guarantees(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.certificate.get("guarantees", {})
        return found

    @cached_property
    def searched(self) -> Problem | None:
        """The problem that the engine was given: the counted one of a duplication. None where it was drawn by lot, or
        where a factor is stated that no duplication has."""
        if self.weighing is None:
            return self.problem
        if self.weighing["method"] == "sample":
            return None
        found = self.duplication
        return None if found is None else found.problem

    @cached_property
    def duplication(self) -> Weighing | None:
        """The duplication that is stated, done again."""
        if self.weighing is None or self.weighing["method"] != "duplicate" or self.problem.y is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightLossWarning)  # said when the tree was fitted
            try:
                return weigh_by_duplication(self.problem, self.weighing["factor"])
            except ValueError:
                return None


def read_case(
    certificate: Mapping[str, Any],
    tree: Tree,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    costs: Any = None,
    rewards: Any = None,
    spends: Any = None,
    arms: Any = None,
) -> Case | str:
    """The case of a certificate without flaws, or the sentence that says why no problem can be what it states.

    What is wrong with the table, or missing beside it, is a ValueError.
    """
    # Columns go by the tree's names: a nameless table, or a tree of a nameless one, may stand for the other.
    table = tree.read(X)
    names = dict(zip(table.names, (column.name for column in tree.columns), strict=True))
    declared = {names[name]: order for name, order in table.declared.items()}
    table = replace(table, names=tuple(names.values()), declared=declared)
    limits, thresholds = certificate["constraints"], certificate["thresholds"]
    weights = check_weights(sample_weight, table.n_rows, table)
    amounts: Array | None = None
    spent: Array | None = None
    by_action: list[float] | None = None
    codes: Array | None = None
    if "budget" not in certificate and spends is not None:
        raise ValueError("this model was fitted without a budget, so spends cannot be checked")
    if rewards is not None:
        if costs is not None:
            raise ValueError("rewards take the place of costs; what actions spend from a budget is called spends")
        amounts = np.asarray(rewards, dtype=np.float64)
        if "budget" in certificate:
            stated = certificate["budget"].get("spends")
            if stated is not None and len(stated) != len(tree.labels):
                return f"budget.spends has {len(stated)} entries, but the tree has {len(tree.labels)} labels"
            spent = _read_spends(spends, stated, tree, table.n_rows)
            by_action = spent[0].tolist() if (spent == spent[0]).all() else None
    elif "budget" in certificate:
        raise ValueError("a certificate with a budget is checked against rewards, and the spends of actions: give both")
    elif costs is None:
        if y is None:
            raise ValueError("a certificate is checked against labels, costs or rewards: give y or costs or rewards")
        codes = _read_labels(y, tree)
        factors = certificate.get("class_weights")
        if factors is not None:
            if len(factors) != len(tree.labels):
                return f"class_weights has {len(factors)} entries, but the tree has {len(tree.labels)} labels"
            weights = check_weights(weights * np.asarray(factors, dtype=np.float64)[codes], table.n_rows, table)
    if isinstance(thresholds, list) and len(thresholds) != len(tree.columns):
        return f"thresholds lists the cuts of {len(thresholds)} columns, but the tree has {len(tree.columns)}"
    if limits["max_depth"] is None and limits["max_leaves"] is None and certificate["regularization"] == 0:
        return "regularization is 0 and max_depth and max_leaves are null: nothing limits the tree"
    if limits["min_samples_arm"] > 0 and arms is None:
        raise ValueError("the certificate states min_samples_arm: give the arm of every row")
    try:
        features = make_features(
            table,
            categorical_features=[column.kind == "categorical" for column in tree.columns],
            thresholds=thresholds,
            weights=weights,
            forbidden=limits.get("forbidden"),
        )
        read_start(limits.get("start"), features.columns)
    except EditError as error:
        return str(error)
    settings: dict[str, Any] = {
        **{name: limit for name, limit in limits.items() if name not in ("forbidden", "start")},
        "regularization": certificate["regularization"],
        "labels": tree.labels,
        "arms": arms if limits["min_samples_arm"] > 0 else None,
    }
    if amounts is not None:
        problem = Problem.from_rewards(features, amounts, weights, **settings)
    elif codes is not None:
        problem = Problem.from_labels(features, codes, weights, **settings)
    else:
        problem = Problem.from_costs(features, costs, weights, **settings)
    try:
        problem = replace(problem, start=limits.get("start"))
    except EditError as error:
        return str(error)
    wrong = check_edits(certificate, problem)
    if wrong:
        return wrong[0]
    if spent is not None:
        spent = np.ascontiguousarray(spent[weights > 0] * weights[weights > 0, None])
    return Case(certificate, tree, problem, weights, amounts, spent, by_action)


def _read_labels(y: Any, tree: Tree) -> Array:
    index = {label: code for code, label in enumerate(tree.labels)}
    values = [plain_value(value) for value in np.asarray(y).tolist()]
    for row, value in enumerate(values):
        if value not in index:
            raise ValueError(f"y: {name_row(row, y)} has label {value!r}, which the tree does not know")
    return np.array([index[value] for value in values], dtype=np.int32)


def _read_spends(spends: Any, stated: list[float] | None, tree: Tree, n_rows: int) -> Array:
    """n × K; what the certificate states unless given."""
    if spends is None:
        if stated is None:
            raise ValueError("the certificate does not state what each action spends from the budget: give spends")
        spends = stated
    elif isinstance(spends, Mapping):
        missing = [action for action in tree.labels if action not in spends]
        if missing:
            raise ValueError(f"spends has no entry for action {missing[0]!r}")
        spends = [spends[action] for action in tree.labels]
    return np.broadcast_to(np.asarray(spends, dtype=np.float64), (n_rows, len(tree.labels)))


# One question each: what does not hold, in sentences ----------------------------------------------------------------


def check_identity(case: Case) -> list[str]:
    """Whether the certificate is about this table and this problem at all."""
    stated = case.certificate.get("digests")
    if stated is None:
        return []
    if stated.get("rows") == ANY_ORDER:
        problem = case.problem
        rewards = None if case.rewards is None else case.rewards[case.weights > 0]
        digest = hash_rows(problem.features.table, problem.weights, problem.y, rewards, problem.arms)
        settings = list_settings(problem)
        return compare_digests(
            stated, fingerprint_parts(problem.features, problem.labels, digest, settings, problem.n_rows)
        )
    budget = None if case.budget is None else case.budget["largest"]
    return compare_digests(stated, fingerprint(case.problem, list_settings(case.problem, budget), spends=case.spends))


def check_edits(certificate: Mapping[str, Any], problem: Problem) -> list[str]:
    """Whether start and forbidden tests are written as this package writes them: people read their words, and the
    search their figures."""
    stated, own = certificate["constraints"], list_settings(problem)["constraints"]
    return [
        f"constraints.{name} is {quote(stated.get(name))}, but its tests are written as {quote(own.get(name))}"
        for name in ("start", "forbidden")
        if stated.get(name) != own.get(name)
    ]


def compare_digests(stated: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Which of the digests is the first that differs."""
    reasons = {
        "columns": "the columns are not those that the certificate is about: a name, a kind or a value differs",
        "table": "labels, weights, rewards, spends or arms are not those that the certificate is about",
        "problem": "the penalty, the constraints, the thresholds or the budget are not those of the search",
    }
    # Each digest is part of the next: where one differs, the ones after it cannot agree.
    wrong = [name for name in reasons if stated[name] != found[name]]
    return [f"{reasons[name]} (SHA-256 of {name})" for name in wrong[:1]]


def check_amounts(case: Case, account: Account) -> list[str]:
    certificate, problem = case.certificate, case.problem
    slack = float_slack(problem, account.objective)
    failures = [
        f"{name} is {certificate[name]!r} in the certificate, but {value!r} on this table"
        for name, value in (("objective", account.objective), ("loss", account.loss))
        if not abs(certificate[name] - value) <= slack
    ]
    for name, fact in (("leaves", case.tree.n_leaves), ("depth", case.tree.depth)):
        if certificate[name] != fact:
            failures.append(f"{name} is {certificate[name]!r} in the certificate, but {fact!r} in the tree")
    if not math.isclose(certificate["weight"], problem.normaliser, rel_tol=1e-12):
        failures.append(
            f"weight is {certificate['weight']!r} in the certificate, but {problem.normaliser!r} on this table"
        )
    return failures


def _check_sizes(case: Case) -> list[str]:
    stated, problem = case.certificate["sizes"], case.problem
    sizes = {
        "rows": problem.n_rows_given,
        "rows_weighted": problem.n_rows,
        "columns": len(problem.features.columns),
        "axes": len(problem.features.axes),
        "tests": problem.features.n_tests,
        "labels": len(problem.labels),
    }
    searched = case.searched
    is_in_parts = (case.certificate.get("digests") or {}).get("rows") == ANY_ORDER  # parts are merged by themselves
    if searched is not None and case.budget is None and not is_in_parts:
        counts = [count_merged(part) for part in _list_searched(searched)]
        sizes["merged_rows"] = sum(rows for rows, _ in counts)
        sizes["distinct_tests"] = max(tests for _, tests in counts)
    failures = [
        f"{name} is {stated[name]!r} in the certificate, but {size!r} on this table"
        for name, size in sizes.items()
        if stated[name] != size
    ]
    # Of a draw, and of the last price that a budget tried, only this much is known.
    for name, most in (("merged_rows", problem.n_rows), ("distinct_tests", problem.features.n_tests)):
        if stated[name] > most:
            failures.append(f"{name} is {stated[name]!r} in the certificate, but there are only {most!r} on this table")
    return failures


def _check_rounding(case: Case, rounding: tuple[float, float]) -> list[str]:
    stated, (least, most) = case.certificate["rounding"], rounding
    # The last bits of a sum of weights are nobody's business.
    if least * (1 - 1e-9) <= stated <= most * (1 + 1e-9):
        return []
    return [f"rounding is {stated!r} in the certificate, but fixed-point amounts of this table allow {most!r}"]


def check_bounds(certificate: Mapping[str, Any]) -> list[str]:
    failures = []
    status, objective, lower = certificate["status"], certificate["objective"], certificate["lower_bound"]
    if status not in STATUSES:
        failures.append(f"status is {status!r}, not one of {', '.join(STATUSES)}")
    if not 0 <= lower <= objective:
        failures.append(
            f"lower_bound {lower!r} is above objective {objective!r}"
            if lower > objective
            else f"lower_bound {lower!r} is below 0, where every objective is at least 0"
        )
    if certificate["gap"] != objective - lower:
        failures.append(f"gap is {certificate['gap']!r}, but objective − lower_bound is {objective - lower!r}")
    if status == "optimal" and lower != objective:
        failures.append(f"status is optimal, but lower_bound {lower!r} is below objective {objective!r}")
    guarantees = certificate.get("guarantees", {})
    if status == "approximate" and not ({"weighing", "growth"} & set(guarantees) or "budget" in certificate):
        failures.append("status is approximate, but no counts in place of weights, no growth and no budget are stated")
    if status == "guessed" and ("reference" not in guarantees or "weighing" in guarantees):
        failures.append("status is guessed, but the guarantees do not state a reference model alone")
    if status == "optimal" and {"reference", "weighing", "growth"} & set(guarantees):
        failures.append("status is optimal, but a reference model, counts or growth prove no optimum")
    return failures


def _check_constraints(certificate: Mapping[str, Any], tree: Tree, problem: Problem, account: Account) -> list[str]:
    limits = certificate["constraints"]
    failures = []
    if limits["max_depth"] is not None and tree.depth > limits["max_depth"]:
        failures.append(f"the tree has depth {tree.depth}, above max_depth {limits['max_depth']}")
    if limits["max_leaves"] is not None and tree.n_leaves > limits["max_leaves"]:
        failures.append(f"the tree has {tree.n_leaves} leaves, above max_leaves {limits['max_leaves']}")
    if problem.start is not None:
        found = match_start(problem.start, tree)
        failures += [f"the tree does not begin with the start: {found}"] if isinstance(found, str) else []
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


def check_columns(tree: Tree, problem: Problem) -> list[str]:
    """Whether the tree knows its columns as this table has them."""
    failures = []
    for stated, found in zip(tree.columns, problem.features.columns, strict=True):
        for name in ("kind", "categories", "has_missing"):
            own, fact = getattr(stated, name), getattr(found, name)
            if own != fact or repr(own) != repr(fact):  # True is 1, and no category like it
                failures.append(f"column {stated.name!r}: {name} is {own!r} in the tree, but {fact!r} on this table")
    return failures


def check_tests(tree: Tree, problem: Problem) -> list[str]:
    """Whether every test of the tree is one of those that the bound is about."""
    failures = []
    # The tests of a start were asked for; that they are not forbidden was seen when the problem was read.
    given = {} if problem.start is None else match_start(problem.start, tree)
    allowed = " and what is forbidden" if problem.features.forbidden else ""
    asked = {node for node, side in given.items() if isinstance(side, Branch)} if isinstance(given, dict) else set()
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if node in asked:
            continue
        place, test = int(tree.column[node]), tree.test(node)
        is_offered = False
        for axis in problem.features.axes:
            if axis.column == place:
                is_offered = is_offered or _offers(
                    axis, test, int(tree.category[node]), problem.features.columns[place]
                )
        if not is_offered:
            failures.append(
                f"node {node} asks “{test.text}”, which is not one of the tests that the thresholds{allowed} allow"
            )
    return failures


def _offers(axis: Axis, test: Test, category: int, column: Column) -> bool:
    if test.threshold is not None:
        # The threshold lies between two neighbours; which two, a search of the sorted values says.
        code = int(np.searchsorted(axis.gaps.held().above, test.threshold, side="right"))
        first = 1 if axis.view == "missing first" else 0
        codes = [code + first] if code < len(axis.gaps) else []
    elif column.kind in ("numeric", "ordered"):
        codes = [0] if axis.view == "missing first" else [len(axis.gaps)] if axis.view == "missing last" else []
    else:
        codes = list(range(axis.size if axis.is_categorical else axis.size - 1))
        if len(codes) > 1 and axis.is_categorical:
            codes = [category if category >= 0 else len(column.categories)]
    for code in codes:
        if axis.kept is not None:
            if code not in axis.kept:
                continue
            code = int(np.searchsorted(axis.kept, code))
        found = axis.test(code, column)
        threshold = None if math.isnan(found.threshold) else found.threshold
        if (threshold, found.category, found.missing_left) == (test.threshold, category, test.missing_left):
            return True
    return False


def check_nodes(case: Case) -> list[str]:
    """Whether the nodes state the rows, weights, costs and rewards that reach them, and the best label of each."""
    tree, problem = case.tree, case.problem
    found = problem.weigh(tree)
    relative = float(np.finfo(float).eps) * (problem.n_rows + 8)
    slacks: dict[str, Any] = {"rows": 0.0, "weight": relative * found.weight, "costs": relative * found.costs}
    if found.label_weights is not None:
        slacks["label_weights"] = relative * found.label_weights
    if found.rewards is not None:
        assert problem.best_rewards is not None
        # A mean of rewards of both signs may be far smaller than they are.
        sizes = replace(problem, best_rewards=np.abs(problem.best_rewards)).weigh(tree)
        assert sizes.rewards is not None
        slacks["rewards"] = relative * (
            np.abs(sizes.rewards) + 2 * sizes.costs / np.maximum(sizes.weight, 1e-300)[:, None]
        )
    failures = []
    for name in ("rows", "weight", "costs", "label_weights", "rewards"):
        own, fact = getattr(tree, name), getattr(found, name)
        if (own is None) != (fact is None):
            failures.append(f"the tree has {'no ' if own is None else ''}{name}, unlike a tree fitted on this table")
        elif own is not None:
            is_wrong = ~(np.abs(own - fact) <= slacks[name])
            if is_wrong.any():
                node = int(np.argwhere(is_wrong)[0, 0])
                failures.append(
                    f"{name} of node {node} is {own[node].tolist()!r} in the tree, but {fact[node].tolist()!r} on this "
                    "table"
                )
    chosen = found.costs[np.arange(tree.n_nodes), tree.label]
    is_worse = ~(chosen <= found.costs.min(axis=1) * (1 + relative))
    if case.budget is not None:
        is_worse &= ~tree.is_leaf  # a leaf's action may be what the budget allows
    for node in np.flatnonzero(is_worse).tolist():
        failures.append(f"node {node} has label {tree.node_label(node)!r}, which is not the best one for its rows")
    return failures


def _mean_reward(case: Case) -> float:
    assert case.rewards is not None
    action = case.tree.label[case.tree.apply(case.problem.features.table)]
    keep = case.weights > 0
    chosen = case.rewards[keep][np.arange(len(action)), action] * case.problem.weights
    return math.fsum(chosen.tolist()) / math.fsum(case.problem.weights.tolist())


def _check_values(case: Case, value: float) -> list[str]:
    """What a policy states in units of its rewards: the same facts as of its costs, seen from above."""
    certificate = case.certificate
    if "policy" not in certificate:
        return []
    assert case.rewards is not None
    stated = certificate["policy"]
    objective = value - certificate["regularization"] * case.tree.n_leaves
    # Costs are differences of rewards, so rounding is in proportion to the rewards, however small the costs are.
    size = math.fsum((np.abs(case.rewards).max(axis=1) * case.weights).tolist()) / math.fsum(case.weights.tolist())
    slack = 8 * float(np.finfo(float).eps) * (size + abs(objective) + certificate["gap"])
    amounts = {
        "value": value, "objective": objective, "gap": certificate["gap"],
        "upper_bound": objective + certificate["gap"],
    }  # fmt: skip
    return [
        f"{name} of the policy is {stated[name]!r} in the certificate, but {amount!r} on this table"
        for name, amount in amounts.items()
        if not abs(stated[name] - amount) <= slack
    ]


def _largest_spend(case: Case) -> float:
    """The budget, with what rounding may add to a mean spend."""
    assert case.budget is not None
    assert case.spends is not None
    largest = case.budget["largest"]
    scale = math.fsum(case.spends.max(axis=1).tolist()) / case.problem.normaliser
    return (scale if largest is None else float(largest)) * (1 + TOLERANCE)


def _check_budget(case: Case) -> list[str]:
    """Whether the policy spends what is stated, and no more than it may."""
    stated, spends = case.budget, case.spends
    assert stated is not None
    assert spends is not None
    chosen = spends[np.arange(len(spends)), case.tree.label[case.tree.apply(case.problem.features.table)]]
    spend = math.fsum(chosen.tolist()) / case.problem.normaliser
    failures = []
    if not math.isclose(stated["spend"], spend, rel_tol=1e-12, abs_tol=1e-300):
        failures.append(f"spend is {stated['spend']!r} in the certificate, but {spend!r} on this table")
    found = case.spends_by_action
    if stated.get("spends", found) != found:
        failures.append(f"spends is {stated['spends']!r} in the certificate, but {found!r} on this table")
    if not spend <= _largest_spend(case):
        failures.append(f"the policy spends {spend!r} per row, above the budget of {stated['largest']!r}")
    return failures


def _best_within(case: Case) -> Fraction:
    """The least objective of any tree within the budget."""
    assert case.spends is not None
    largest = Fraction(_largest_spend(case))
    return min(cost for spend, cost in enumerate_spends(case.problem, case.spends) if spend <= largest)


# Sets of good trees -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class SetVerdict(_Shown):
    """What a check of a set of good trees found.

    Examples
    --------
    >>> from certree import certify, good_trees
    >>> X, y = [[1], [2], [3], [4]], [0, 0, 1, 1]
    >>> trees = good_trees(X, y, tolerance=0.1, max_depth=1)
    >>> certify.check_set(trees.certificate_, [trees.best.tree], X, y).holds
    True
    """

    failures: tuple[str, ...]
    """What does not hold, one sentence each; empty where everything does."""
    is_set_proved: bool
    """Whether optimum and count were compared with a look at every tree."""
    trusted: tuple[str, ...] = ()
    """What was taken on the word of who made the certificate, one sentence each."""


def check_set(
    certificate: Mapping[str, Any],
    trees: Sequence[Tree],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    costs: Any = None,
    rewards: Any = None,
    arms: Any = None,
    prove: bool = False,
) -> SetVerdict:
    """Check the certificate of a set of good trees, and some of its trees, against a table.

    Every tree must be a good one: it keeps the constraints, costs no more than the threshold, and occurs only once.
    `prove` also looks at every possible tree, compares the optimum, and counts; it is for tiny tables only. The table
    is given as in `check`.

    Parameters
    ----------
    certificate : mapping
        The `certificate_` of a `TreeSet`.
    trees : list of Tree
        Trees of the set, at least one: they know the columns and the labels.
    X : array or frame
        The table that the set is about.
    y : array of n labels, default=None
        The labels that the set was made with. None: it is a set of policies.
    sample_weight : array of n weights, default=None
        The weights that the set was made with, if it was.
    costs : n × K array, default=None
        In place of labels.
    rewards : n × K array, default=None
        Of a set of policies, in the order of the trees' actions.
    arms : array of n arms, default=None
        Where the certificate states `min_samples_arm`.
    prove : bool, default=False
        Whether to look at every tree.

    Returns
    -------
    SetVerdict

    Raises
    ------
    ValueError
        If the mapping is not the certificate of a set, if something that it needs is missing, or if the table is too
        large to look at every tree.

    Examples
    --------
    >>> from certree import certify, good_trees
    >>> X, y = [[1], [2], [3], [4]], [0, 0, 1, 1]
    >>> trees = good_trees(X, y, tolerance=0.1, max_depth=1)
    >>> listed = [tree.tree for tree in trees]
    >>> verdict = certify.check_set(trees.certificate_, listed, X, y, prove=True)
    >>> verdict.holds, verdict.is_set_proved
    (True, True)
    """
    flaws = find_set_flaws(certificate)
    if flaws:
        return SetVerdict(tuple(flaws), False)
    if not trees:
        raise ValueError("trees is empty: give at least one tree of the set, which knows its columns and labels")
    case = read_case(certificate, trees[0], X, y, sample_weight, costs=costs, rewards=rewards, arms=arms)
    if isinstance(case, str):
        return SetVerdict((case,), False)
    unknown = _check_restrictions(case)
    if unknown:
        return SetVerdict(tuple(unknown), False)
    failures = [*check_identity(case), *_check_claims(case)]
    seen: dict[Any, int] = {}
    for place, tree in enumerate(trees):
        if tree.columns != case.tree.columns or tree.labels != case.tree.labels:
            failures.append(f"tree {place} has other columns or labels than the first one")
            continue
        failures += [f"tree {place}: {failure}" for failure in _check_member(replace(case, tree=tree))]
        form = _parts_of(tree, case.problem)
        if form in seen:
            failures.append(f"tree {place} divides the rows as tree {seen[form]} does")
        seen[form] = place
    if len(seen) > certificate["count"][1]:
        failures.append(f"count is at most {certificate['count'][1]}, but {len(seen)} trees are given")
    if prove:
        failures += _check_count(case)
    word = f"that no tree is better than the optimum of {certificate['optimum']!r}, and how many good trees there are"
    return SetVerdict(tuple(failures), prove, () if prove else (word,))


def _ceiling_of(problem: Problem) -> float | None:
    """The mean reward of the best action of every row, which a policy's objective is counted down from."""
    best = problem.best_rewards
    return None if best is None else math.fsum(best.tolist()) / problem.normaliser


def _to_cost(case: Case, objective: float) -> float:
    """An objective of the certificate as something to be minimised."""
    ceiling = _ceiling_of(case.problem)
    return objective if ceiling is None else ceiling - objective


def _set_slack(case: Case) -> float:
    """What rounding may do to the objectives of a set: of the tree, of the optimum, and of sums of rewards."""
    ceiling = _ceiling_of(case.problem) or 0.0
    size = abs(ceiling) + abs(_to_cost(case, case.certificate["threshold"]))
    return 2 * float(case.certificate["rounding"]) + 4 * float_slack(case.problem, size)


def _check_claims(case: Case) -> list[str]:
    """Whether the figures of the set's certificate agree with each other."""
    stated, failures, slack = case.certificate, [], _set_slack(case)
    threshold, optimum = (_to_cost(case, stated[name]) for name in ("threshold", "optimum"))
    if not abs(threshold - optimum - stated["tolerance"]) <= slack + 1e-11 * stated["tolerance"]:
        failures.append(f"threshold is {stated['threshold']!r}, which is not the tolerance away from the optimum")
    if stated["status"] not in SET_STATUSES:
        failures.append(f"status is {stated['status']!r}, not one of {', '.join(SET_STATUSES)}")
    if (stated["status"] == "complete") != stated["is_complete"]:
        failures.append(f"status is {stated['status']!r}, but is_complete is {stated['is_complete']!r}")
    if stated["is_complete"] and stated["complete_below"] != stated["threshold"]:
        failures.append("the set is complete, but complete_below is not its threshold")
    if not _to_cost(case, stated["complete_below"]) <= threshold + slack:
        failures.append(f"complete_below is {stated['complete_below']!r}, which is beyond the threshold")
    if not stated["count"][0] <= stated["count"][1]:
        failures.append(f"count is {stated['count']!r}: the least is above the most")
    most = rounding_of(case.problem)
    if not stated["rounding"] <= most * (1 + 1e-9):
        failures.append(f"rounding is {stated['rounding']!r}, but fixed-point amounts of this table allow {most!r}")
    return failures


def _check_restrictions(case: Case) -> list[str]:
    """Whether the columns and root tests of the set's restrictions are those of this table."""
    names = {column.name for column in case.problem.features.columns}
    failures = []
    for choice in case.certificate["restrictions"]:
        unknown = sorted(set(choice.get("without", ())) - names)
        failures += [f"restrictions: the table has no column {name!r}" for name in unknown]
        try:
            _rows_of_root(choice.get("root", next(iter(names))), case.problem)
        except EditError as error:
            failures.append(str(error))
    return failures


def _check_member(case: Case) -> list[str]:
    """Whether a tree is a good one, by itself."""
    stated, tree, problem = case.certificate, case.tree, case.problem
    account = measure(tree, problem)
    failures = [
        *_check_constraints(stated, tree, problem, account),
        *check_columns(tree, problem),
        *check_tests(tree, problem),
        *check_nodes(case),
    ]
    slack = _set_slack(case) + float_slack(problem, account.objective)
    threshold, optimum = (_to_cost(case, stated[name]) for name in ("threshold", "optimum"))
    if not account.objective <= threshold + slack:
        failures.append(f"its objective is {account.objective - threshold!r} worse than the threshold allows")
    if not account.objective >= optimum - slack:
        failures.append(f"its objective is {optimum - account.objective!r} better than the stated optimum")
    asked = match_start(problem.start, tree) if problem.start is not None else {}
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        sides = [int(tree.left[node]), int(tree.right[node])]
        is_idle = all(tree.is_leaf[side] for side in sides) and tree.label[sides[0]] == tree.label[sides[1]]
        # Where rounding decides which label is the best of a leaf, the two may have had different ones.
        is_idle = is_idle and all(_margin_of(tree, side) > slack * problem.normaliser for side in sides)
        if is_idle and not stated["idle"] and not (isinstance(asked, dict) and isinstance(asked.get(node), Branch)):
            failures.append(f"node {node} has two leaves with the same label")
    for choice in stated["restrictions"]:
        if "root" in choice and not _has_root(tree, problem, choice["root"]):
            failures.append(f"its root does not ask {choice['root']!r}, which the set was restricted to")
        least, most = choice.get("leaves", (1, tree.n_leaves))
        if not least <= tree.n_leaves <= most:
            failures.append(f"it has {tree.n_leaves} leaves, which the set was restricted not to")
        used = {tree.columns[column].name for column in tree.column if column >= 0} & set(choice.get("without", ()))
        failures += [f"it asks column {name!r}, which the set was restricted to do without" for name in sorted(used)]
    return failures


def _has_root(tree: Tree, problem: Problem, root: str) -> bool:
    """Whether the root parts the rows as a test, or some test of a column, does."""
    if tree.is_leaf[0]:
        return False
    table = problem.features.table
    test = tree.test(0)
    rows = _rows_where(test.holds(test.column.read(table.columns[int(tree.column[0])], table)))
    wanted = _rows_of_root(root, problem)
    return bool({rows, (1 << problem.n_rows) - 1 - rows} & wanted)


def _rows_of_root(root: str, problem: Problem) -> set[int]:
    """The sets of rows that a root test, or those of a column, hold on."""
    features = problem.features
    names = [column.name for column in features.columns]
    if root in names:
        return rows_of_tests(features, names.index(root))
    asked = read_test(root, features.columns, "restrictions")
    return {_rows_where(asked.test.holds(asked.test.column.read(features.table.columns[asked.column], features.table)))}


def _rows_where(holds: Array) -> int:
    return sum(1 << row for row in np.flatnonzero(holds).tolist())


def _margin_of(tree: Tree, node: int) -> float:
    """By how much the best label of a node is better than the second best."""
    costs = np.sort(tree.costs[node])
    return float(costs[1] - costs[0]) if len(costs) > 1 else math.inf


def _parts_of(tree: Tree, problem: Problem) -> Any:
    """What a tree does to the rows: nested pairs of sets of rows, whatever its tests are called."""
    leaf = tree.apply(problem.features.table)
    rows_of = {int(node): np.flatnonzero(leaf == node).tobytes() for node in tree.leaves}

    def form(node: int) -> Any:
        if tree.column[node] < 0:
            return rows_of[node]
        return frozenset((form(int(tree.left[node])), form(int(tree.right[node]))))

    return form(0)


def _check_count(case: Case) -> list[str]:
    """Whether the optimum, and the number of good trees, are those of a look at every tree."""
    stated, problem = case.certificate, case.problem
    ends, is_whole = _read_restrictions(stated["restrictions"], problem)
    slack, threshold = _set_slack(case), _to_cost(case, stated["threshold"])
    counts = count_trees(ends.pop("problem"), Fraction(threshold + slack), idle=stated["idle"], **ends)
    failures = []
    best, optimum = float(next(iter(counts), math.inf)), _to_cost(case, stated["optimum"])
    if is_whole and stated["is_complete"] and stated["count"][0] > 0 and not abs(best - optimum) <= slack:
        failures.append(f"optimum is {stated['optimum']!r}, but the best tree is {best - optimum!r} away from it")
    if is_whole and best < optimum - slack:
        failures.append(f"optimum is {stated['optimum']!r}, but a tree is {optimum - best!r} better")
    least, most = stated["count"]
    for certain, words in ((threshold - slack, "at least"), (threshold + slack, "at most")):
        found = sum(count for value, count in counts.items() if value <= Fraction(certain))
        if stated["is_complete"] and (found > most if words == "at least" else found < least):
            failures.append(f"count is {least} to {most}, but there are {words} {found} good trees")
        if not stated["is_complete"] and words == "at most" and found < least:
            failures.append(f"count is {least} to {most}, but there are {words} {found} good trees")
    if not stated["is_complete"]:
        below = _to_cost(case, stated["complete_below"]) - slack
        found = sum(count for value, count in counts.items() if value < Fraction(below))
        if found > most:
            failures.append(f"count is at most {most}, but {found} trees are better than complete_below")
    return failures


def _read_restrictions(choices: Sequence[Mapping[str, Any]], problem: Problem) -> tuple[dict[str, Any], bool]:
    """What `count_trees` takes for the set's restrictions, and whether the optimum is still among its trees."""
    features, roots, sizes = problem.features, None, None
    for choice in choices:
        if "leaves" in choice:
            low, high = choice["leaves"]
            sizes = (low, high) if sizes is None else (max(low, sizes[0]), min(high, sizes[1]))
        if "root" in choice:
            own = _rows_of_root(choice["root"], problem)
            roots = own if roots is None else roots & own
    gone = [name for choice in choices for name in choice.get("without", ())]
    if gone:
        # A tree can be written without a column exactly where the other columns have tests that part the rows so.
        whole = make_features(
            features.table, categorical_features=features.categorical_features, thresholds=features.thresholds,
            weights=problem.weights, forbidden=[*features.forbidden, *gone],
        )  # fmt: skip
        problem = replace(problem, features=whole)
    return {"problem": problem, "roots": roots, "sizes": sizes}, not choices


# What counts and guesses give up ------------------------------------------------------------------------------------


def _check_guarantees(case: Case) -> list[str]:
    """Whether the figures of the way to weigh and of every guess are those of this table, as far as it decides them."""
    stated, problem = case.guarantees, case.problem
    expected: dict[str, Mapping[str, Any]] = {}
    failures = []
    if "weighing" in stated:
        if problem.y is None:
            return ["guarantees.weighing is stated, but the table has no labels, so no rows were counted"]
        found = _weigh_again(case)
        if found is None:
            failures.append("guarantees.weighing: no duplication or sample has the factor or ratio that is stated")
        else:
            expected["weighing"] = found
    if "thresholds" in stated:
        if isinstance(case.certificate["thresholds"], str):
            failures.append('guarantees.thresholds is stated, but thresholds is "all": nothing was guessed')
        report = stated["thresholds"]["guess"]
        whole = replace(problem, features=_with_all_tests(problem.features))
        expected["thresholds"] = {**state_thresholds(ThresholdReport(**report), whole, problem), "guess": report}
    if "depth" in stated:
        expected["depth"] = state_depth(guess_tree_depth(problem.features.n_tests))
        if case.certificate["constraints"]["max_depth"] != stated["depth"]["depth"]:
            failures.append("guarantees.depth names another depth than the constraints")
    if "reference" in stated:
        is_finished = case.certificate["status"] in ("guessed", "approximate")
        expected["reference"] = {"statement": state_reference(is_finished=is_finished)}
        if "weighing" not in stated:
            expected["reference"] = {**expected["reference"], "floor": problem.floor()}
    for name, facts in expected.items():
        for entry, fact in facts.items():
            if not _agree(stated[name][entry], fact):
                own = quote(stated[name][entry])
                failures.append(f"guarantees.{name}.{entry} is {own}, but {quote(fact)} on this table")
    return failures + _check_carried_bound(case)


def _agree(stated: Any, fact: Any) -> bool:
    if is_number(stated) and is_number(fact):
        return math.isclose(stated, fact, rel_tol=1e-12, abs_tol=1e-15)
    return bool(stated == fact)


def _weigh_again(case: Case) -> Mapping[str, Any] | None:
    """What a way to weigh must state, as far as it does not depend on chance or on the search."""
    stated, problem = case.weighing, case.problem
    assert stated is not None
    if stated["method"] == "duplicate":
        duplication = case.duplication
        if duplication is None:
            return None
        tree = duplication.problem.weigh(case.tree)
        objective = measure_loss(duplication.problem, tree) + problem.regularization * tree.n_leaves
        return duplication.state(objective, stated["approximate_lower_bound"])
    try:
        facts = state_sample(problem, stated["ratio"])
    except ValueError:
        return None
    return {"statement": WEIGHING_STATEMENT, "floor": problem.floor(), **facts}


def _check_carried_bound(case: Case) -> list[str]:
    """Whether lower_bound follows from what the search over counts, or with a reference, is said to have proved."""
    certificate, stated = case.certificate, case.guarantees
    objective, lower, failures = certificate["objective"], certificate["lower_bound"], []
    steps: list[tuple[str, float, float]] = []
    weighing, reference = stated.get("weighing"), stated.get("reference")
    if reference is not None:
        known = max(reference["guessed_lower_bound"] - reference["excess"], reference["floor"])
        name, least = ("lower_bound", lower) if weighing is None else (
            "approximate_lower_bound", weighing["approximate_lower_bound"]
        )  # fmt: skip
        most = objective if weighing is None else weighing["approximate_objective"]
        steps.append((name, least, min(max(known - certificate["rounding"], 0.0), most)))
        # A row's reference costs at least what it costs above its best label.
        if reference["excess"] > reference["reference_loss"] * (1 + 1e-9) + 1e-9:
            failures.append("guarantees.reference: excess is above reference_loss")
        if reference["lone_leaf_bound"] < reference["reference_loss"] * (1 - 1e-9):
            failures.append("guarantees.reference: lone_leaf_bound is below reference_loss")
    if weighing is not None:
        known = max(weighing["approximate_lower_bound"] - weighing["deviation_above"], weighing["floor"])
        steps.append(("lower_bound", lower, min(max(known, 0.0), objective)))
        if weighing["approximate_lower_bound"] > weighing["approximate_objective"]:
            failures.append("guarantees.weighing: approximate_lower_bound is above approximate_objective")
    for name, own, fact in steps:
        if not math.isclose(own, fact, rel_tol=1e-9, abs_tol=1e-15):
            failures.append(f"{name} is {own!r}, but {fact!r} follows from the guarantees")
    return failures


def _with_all_tests(features: Features) -> Features:
    return make_features(
        features.table, categorical_features=features.categorical_features, forbidden=features.forbidden
    )


def list_trusted(case: Case, is_proved: bool) -> tuple[str, ...]:
    """What no table can decide, and what nobody has proved again."""
    certificate, stated = case.certificate, case.guarantees
    sentences = []
    if "digests" not in certificate:
        sentences.append(
            "that the certificate is about this table: version 1 does not say which table it is about, so only what it "
            "states was compared"
        )
    if not is_proved:
        bound = f"that no tree within the constraints has an objective below {certificate['lower_bound']:.10g}"
        if "policy" in certificate:
            bound = (
                "that no policy within the constraints has an objective above "
                f"{certificate['policy']['upper_bound']:.10g}"
            )
        sentences.append(bound)
    if "weighing" in stated and stated["weighing"]["method"] == "sample":
        sentences.append("the figures of the random sample (guarantees.weighing)")
    if "reference" in stated:
        sentences.append("the figures of the reference model (guarantees.reference)")
    if "thresholds" in stated:
        sentences.append("the figures of the model that the thresholds were guessed by (guarantees.thresholds.guess)")
    if "growth" in stated:
        sentences.append("that the best tree of the lookahead's depth is what guarantees.growth says")
    if "budget" in certificate:
        sentences.append("the price of the budget")
    return tuple(sentences)


# What the engine does to amounts and rows, done again ---------------------------------------------------------------

TOTAL_BITS = 56
"""The engine's fixed point: amounts are multiples of a power of two, their total just below 2^56 of it."""
LARGEST_FULL_TREE = 30
"""A deeper tree than this may have as many leaves as there are rows."""
MOST_COMPARED_TESTS = 20_000
"""Beyond so many codes on all axes together, tests are not compared with each other."""


def _bound_rounding(case: Case) -> tuple[float, float]:
    """The least and the most that `rounding` can be: what the engine's fixed point does to this table."""
    problem, weighing = case.problem, case.weighing
    if case.budget is not None:
        # What is left between an optimum and its bound, which must be negligible; other bounds have it taken off.
        is_stated = case.certificate["status"] == "optimal" or case.certificate["version"] == 1
        return 0.0, NEGLIGIBLE * problem.scale(case.certificate["objective"]) if is_stated else 0.0
    if problem.start is None and not problem.has_room_to_split:
        return 0.0, 0.0  # the engine was not asked
    searched = case.searched
    if searched is not None:
        least = most = math.fsum(rounding_of(part) for part in _list_searched(searched) if part.has_room_to_split)
        normaliser, total = searched.normaliser, _sum_costs(searched)
    else:
        # Draws are whole numbers, which fixed point holds exactly.
        assert weighing is not None
        normaliser = total = float(weighing.get("draws", 1))
        most = _round_leaves(problem, total, normaliser)
        least = most if problem.start is None else 0.0  # what the draw left of each part is not known
    if case.certificate["version"] == 1:
        least = 0.0  # it stated the rounding of its own tree, not of all trees
    if "reference" in case.guarantees:
        most += _value_of(0.5 * problem.n_rows, total, normaliser)
    return least, most


def _list_searched(problem: Problem) -> list[Problem]:
    """What the engine was asked: the problem, or each part that a start leaves."""
    return [problem] if problem.start is None else [part.problem for part in problem.parts]


def rounding_of(problem: Problem) -> float:
    """What fixed point may move the objective of any tree by: docs/method.md, section 2."""
    total = _sum_costs(problem)
    scaled = _scale(problem, total)
    n_rounded = np.count_nonzero(_to_whole(scaled) != scaled)
    costs = _value_of(0.5 * float(n_rounded), total, problem.normaliser)
    return costs + _round_leaves(problem, total, problem.normaliser)


def _round_leaves(problem: Problem, total: float, normaliser: float) -> float:
    is_deep = problem.max_depth is None or problem.max_depth > LARGEST_FULL_TREE
    most_leaves = problem.n_rows if is_deep else min(problem.n_rows, 2 ** int(problem.max_depth or 0))
    return _value_of(0.5 * most_leaves, total, normaliser) + 2.0**-52 * problem.regularization * most_leaves


def _sum_costs(problem: Problem) -> float:
    """What the worst labels cost, added up in the order of the rows, as the engine does."""
    worst = problem.weights if problem.costs is None else problem.costs.max(axis=1)
    return float(np.cumsum(worst)[-1])


def _exponent(total: float) -> int:
    return TOTAL_BITS - 1 - (math.frexp(total)[1] - 1 if total > 0 else 0)


def _value_of(amount: float, total: float, normaliser: float) -> float:
    """An amount of the engine's in units of the objective."""
    # The normaliser as a number near 1 and a power of two: one unit alone may be too small for a float.
    part, power = math.frexp(normaliser)
    return math.ldexp(amount / part, -_exponent(total) - power)


def _scale(problem: Problem, total: float) -> Array:
    amounts = problem.weights if problem.costs is None else problem.costs
    return np.asarray(np.ldexp(amounts, _exponent(total)))


def _to_whole(scaled: Array) -> Array:
    # From 2^52 on a float is whole, and a half added to it would be rounded.
    return np.where(scaled < 2.0**52, np.floor(scaled + 0.5), scaled)


def count_merged(problem: Problem) -> tuple[int, int]:
    """How many rows and tests the search has to tell apart: rows with equal codes are one, tests that part the rows
    alike are one, and rows whose labels all cost the same count only where a leaf must hold so many."""
    if not problem.has_room_to_split:
        return problem.n_rows, 0
    groups = problem.equal_rows
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    member = order[starts]
    amounts = _to_whole(_scale(problem, _sum_costs(problem))).astype(np.int64)
    if problem.y is not None:
        amounts = np.where(np.arange(len(problem.labels)) == problem.y[:, None], amounts[:, None], 0)
    sums = np.add.reduceat(amounts[order], starts, axis=0)
    is_counted = problem.min_samples_leaf > 1 or problem.leaf_weights[1] > 0 or problem.min_samples_arm > 0
    member = member[is_counted | (sums.max(axis=1) > sums.min(axis=1))]
    return len(member), _count_tests(problem.features, member)


def _count_tests(features: Features, rows: Array) -> int:
    """The tests that part these rows, each once with its opposite; a set of rows is the sum of random numbers."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**63, (2, len(rows)), dtype=np.uint64)
    everything = tuple(int(total) for total in keys.sum(axis=1))
    is_compared = sum(axis.size for axis in features.axes) <= MOST_COMPARED_TESTS
    seen: set[tuple[int, ...]] = set()
    n_tests = 0
    for axis, codes in zip(features.axes, features.codes, strict=True):
        sides: Array = np.zeros((2, axis.size), dtype=np.uint64)
        for side, key in zip(sides, keys, strict=True):
            np.add.at(side, codes[rows], key)
        counts = np.bincount(codes[rows], minlength=axis.size)
        is_test = counts > 0
        if not axis.is_categorical:
            sides, counts = np.cumsum(sides, axis=1, dtype=np.uint64), np.cumsum(counts)
            is_test[-1] = False
        is_test &= counts < len(rows)
        for one, two in sides.T[is_test].tolist():
            rest = tuple((whole - part) % 2**64 for whole, part in zip(everything, (one, two), strict=True))
            side = min((one, two), rest)
            n_tests += not (is_compared and side in seen)
            seen.add(side)
    return n_tests
