"""Whether a certificate holds on a table that lies in parts, found where the parts lie.

The columns and their cuts are found anew, the tree is weighed on the raw values of every partition, and what the
certificate states is compared with that, by the same rules as for a table in memory (`certify`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from distributed import default_client
from numpy.typing import NDArray

from certree.amounts import to_float
from certree.certificate import list_settings
from certree.certify import (
    Account,
    Case,
    Verdict,
    check_amounts,
    check_bounds,
    check_columns,
    check_edits,
    check_nodes,
    check_tests,
    compare_digests,
    list_trusted,
)
from certree.dask import work
from certree.dask.crew import Crew
from certree.dask.fitting import Settings, describe, make_problem, rounding_of_parts, take_survey, weigh_tree
from certree.dask.parts import Task, collect_parts, lazy
from certree.fingerprint import ANY_ORDER, fingerprint_parts
from certree.sums import Channels
from certree.tree import Tree

Array = NDArray[Any]


def check_parts(
    certificate: Mapping[str, Any], tree: Tree, X: Any, y: Any, sample_weight: Any, rewards: Any, arms: Any
) -> Verdict:
    """`certify.check` for dask collections; `arms` holds actions, as `DaskPolicyTree.fit` takes them.

    Raises
    ------
    ValueError
        If the table cannot be read, or if the certificate is about all thresholds, a budget, a start or a guess.
    """
    limits, thresholds = certificate["constraints"], certificate["thresholds"]
    if not isinstance(thresholds, int) or "budget" in certificate or "start" in limits:
        raise ValueError(
            "a table in parts is checked against certificates with a number of thresholds per column, without a budget "
            "and without a start; give others a table in memory"
        )
    if (y is None) == (rewards is None):
        raise ValueError("a certificate is checked against labels or rewards: give y or rewards")
    if limits["min_samples_arm"] > 0 and arms is None:
        raise ValueError("the certificate states min_samples_arm: give the arm of every row")
    crew = Crew(default_client())
    collections = collect_parts(X, y=y, rewards=rewards, sample_weight=sample_weight, treatment=arms)
    factors = certificate.get("class_weights")
    if factors is not None and len(factors) != len(tree.labels):
        words = f"class_weights has {len(factors)} entries, but the tree has {len(tree.labels)} labels"
        return Verdict((words,), math.nan, math.nan, False)
    order = np.argsort(np.array(tree.labels)) if rewards is None else np.arange(len(tree.labels))
    if not (order == np.arange(len(order))).all():
        return Verdict(("the labels of the tree are not in order",), math.nan, math.nan, False)
    task = Task(
        collections.names,
        collections.has_names,
        classes=np.array(tree.labels, dtype=object if isinstance(tree.labels[0], str) else None)
        if rewards is None
        else None,
        factors=None if factors is None else np.asarray(factors, dtype=np.float64),
        actions=None if rewards is None else tree.labels,
        reward_names=collections.reward_names,
    )
    settings = Settings(
        regularization=certificate["regularization"],
        thresholds=thresholds,
        categorical_features=[column.kind == "categorical" for column in tree.columns],
        **{name: limits.get(name) for name in ("max_depth", "max_leaves", "min_samples_leaf", "min_weight_leaf")},
        min_samples_arm=limits["min_samples_arm"],
        forbidden=limits.get("forbidden"),
    )
    surveys = take_survey(crew, collections, task, settings)
    whole = describe(crew, collections, task, settings, surveys, len(tree.labels))
    weighed = work.add_weighed(crew.run(lazy(collections, work.weigh_rows, task, tree, whole.channels), "weigh"))
    found = weigh_tree(tree, weighed, rewards is not None)
    problem = make_problem(whole, settings, task, tree.labels, lambda _: found)
    case = Case(certificate, tree, problem, np.empty(0), None, None)
    leaves = tree.leaves
    cost = sum(_cost_of(tree, weighed, leaf, rewards is not None) for leaf in leaves.tolist())
    loss = to_float(cost) / whole.normaliser
    account = Account(
        loss=loss,
        objective=loss + settings.regularization * tree.n_leaves,
        rows=tuple(weighed.rows[leaves].tolist()),
        weights=tuple(to_float(weighed.weight[leaf]) for leaf in leaves.tolist()),
    )
    stated = certificate.get("digests") or {}
    failures = check_edits(certificate, problem)
    if stated.get("rows") == ANY_ORDER:
        digests = fingerprint_parts(
            whole.features, problem.labels, weighed.digest, list_settings(problem), whole.n_rows
        )
        failures += compare_digests(stated, digests)
    sizes = {
        "rows": whole.n_given, "rows_weighted": whole.n_rows, "columns": len(whole.features.columns),
        "axes": len(whole.features.axes), "tests": whole.features.n_tests, "labels": len(tree.labels),
    }  # fmt: skip
    if stated.get("rows") == ANY_ORDER:  # a fit in memory merges rows and tests
        sizes |= {"merged_rows": whole.n_rows, "distinct_tests": whole.features.n_tests}
    failures += [
        f"{name} is {certificate['sizes'][name]!r} in the certificate, but {size!r} on this table"
        for name, size in sizes.items()
        if certificate["sizes"][name] != size
    ]
    most = rounding_of_parts(whole, settings, problem)
    if not certificate["rounding"] <= most * (1 + 1e-6):
        failures.append(f"rounding is {certificate['rounding']!r}, but amounts of this table allow {most!r}")
    failures += check_amounts(case, account)
    failures += check_bounds(certificate)
    failures += _check_limits(tree, settings, weighed, whole.channels)
    failures += check_columns(tree, problem)
    failures += check_tests(tree, problem)
    failures += check_nodes(case)
    value = None
    if rewards is not None:
        value = work.mean_reward(tree, weighed)
        policy = certificate.get("policy")
        objective = value - settings.regularization * tree.n_leaves
        gap = certificate["gap"]
        facts = {"value": value, "objective": objective, "upper_bound": objective + gap, "gap": gap}
        failures += [
            f"{name} of the policy is {policy[name]!r} in the certificate, but {fact!r} on this table"
            for name, fact in facts.items()
            if policy is not None and not math.isclose(policy[name], fact, rel_tol=1e-9, abs_tol=1e-12 * abs(value))
        ]
    trusted = list_trusted(case, False)
    if stated.get("rows") != ANY_ORDER:
        trusted = ("that the rows come in the order that the digests are about", *trusted)
    return Verdict(tuple(failures), account.objective, account.loss, False, value, trusted)


def _cost_of(tree: Tree, weighed: work.Weighed, leaf: int, has_costs: bool) -> int:
    n_labels = len(tree.labels)
    own = weighed.amounts[leaf * n_labels : (leaf + 1) * n_labels]
    chosen = own[int(tree.label[leaf])]
    return chosen if has_costs else sum(own) - chosen


def _check_limits(tree: Tree, settings: Settings, weighed: work.Weighed, channels: Channels) -> list[str]:
    failures = []
    if settings.max_depth is not None and tree.depth > settings.max_depth:
        failures.append(f"the tree has depth {tree.depth}, above max_depth {settings.max_depth}")
    if settings.max_leaves is not None and tree.n_leaves > settings.max_leaves:
        failures.append(f"the tree has {tree.n_leaves} leaves, above max_leaves {settings.max_leaves}")
    if tree.n_leaves == 1:
        return failures
    least = list(channels.rule.least)
    for leaf in tree.leaves.tolist():
        held: list[int] = [int(weighed.rows[leaf])] if settings.min_samples_leaf > 1 else []
        held += [int(weighed.leaf_weights[leaf])] if settings.min_weight_leaf > 0 else []
        held += weighed.arms[leaf].tolist() if settings.min_samples_arm > 0 else []
        if any(own < needed for own, needed in zip(held, least, strict=True)):
            failures.append(f"leaf {leaf} has fewer rows, less weight or fewer rows of an arm than it must")
    return failures
