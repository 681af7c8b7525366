"""All good policies within a budget: enumeration of every tree with every action in its leaves."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from all_trees import AllTrees, tree_of

from certree import certify
from certree.policy import PolicyTree, good_policies, within
from certree.problem import Problem


def make_case(seed: int, n_rows: int = 8) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n_actions = 2 + seed % 2
    return {
        "X": rng.integers(0, 3, (n_rows, 2)).astype(float),
        "rewards": rng.integers(-2, 5, (n_rows, n_actions)).astype(float),
        "weights": rng.integers(1, 4, n_rows).astype(float) if seed % 3 else np.ones(n_rows),
        # Of actions, or of each row.
        "spends": 0.5 * np.arange(n_actions) * (1 if seed % 4 else rng.integers(0, 3, (n_rows, 1))),
        "regularization": 0.05 * (seed % 2),
    }


def enumerate_within(
    case: dict[str, Any], budget: float, *, idle: bool, start: Any = "open", **limits: Any
) -> list[tuple[float, float, Any]]:
    """Objective, spend and form of every policy within a budget, by plain recursion over shapes and actions."""
    X, rewards, weights, penalty = case["X"], case["rewards"], case["weights"], case["regularization"]
    spends = np.broadcast_to(case["spends"], rewards.shape)
    problem = Problem.from_rewards(X, rewards, weights, regularization=penalty, max_depth=2, **limits)
    found: dict[Any, tuple[float, float, Any]] = {}

    def fill(node: Any, actions: list[int]) -> Any:
        if len(node) == 2:
            return node[0], actions.pop(0)
        return node[0], fill(node[1], actions), fill(node[2], actions)

    def leaves(node: Any) -> list[Any]:
        return [node] if len(node) == 2 else leaves(node[1]) + leaves(node[2])

    def is_idle(node: Any) -> bool:
        if len(node) == 2:
            return False
        one, two = node[1:]
        return (len(one) == len(two) == 2 and one[1] == two[1]) or is_idle(one) or is_idle(two)

    for listed in AllTrees(problem, idle=True, start=start).list_good(100.0):
        own = leaves(listed.tree)
        for actions in product(range(rewards.shape[1]), repeat=len(own)):
            form = fill(listed.tree, list(actions))
            # The test of a start is asked in any case.
            if not idle and (is_idle(form) if start == "open" else any(map(is_idle, form[1:]))):
                continue
            chosen = np.empty(len(X), dtype=int)
            for (rows, _), action in zip(own, actions, strict=True):
                chosen[[i for i in range(len(X)) if rows >> i & 1]] = action
            cell = np.arange(len(X)), chosen
            spend = float(np.average(spends[cell], weights=weights))
            if spend <= budget + 1e-9:
                value = float(np.average(rewards[cell], weights=weights))
                found[form] = (value - penalty * len(own), spend, form)
    return sorted(found.values(), key=lambda own: -own[0])


@pytest.mark.parametrize("seed", range(12))
def test_equals_enumeration(seed: int) -> None:
    case = make_case(seed)
    X, budget, idle = case["X"], (0.2, 0.45, 0.8)[seed % 3], seed == 5
    limits = [{}, {"max_leaves": 3}, {"min_samples_leaf": 2}][seed % 3]
    settings = {"spends": case["spends"], "budget": budget, "regularization": case["regularization"], "idle": idle}
    found = good_policies(X, case["rewards"], case["weights"], tolerance=0.4, **settings, **limits)
    everything = enumerate_within(case, budget, idle=idle, **limits)
    expected = [own for own in everything if own[0] >= everything[0][0] - 0.4 - 1e-9]
    assert found.is_complete
    assert Counter(tree_of(found.problem, policy.tree) for policy in found) == Counter(own[2] for own in expected)
    assert [policy.objective for policy in found] == pytest.approx([own[0] for own in expected])
    by_form = {own[2]: own for own in expected}
    for policy in found:
        assert policy.spend == pytest.approx(by_form[tree_of(found.problem, policy.tree)][1])
        cell = np.arange(len(X)), policy.decide()
        assert policy.objective == pytest.approx(
            np.average(case["rewards"][cell], weights=case["weights"]) - case["regularization"] * policy.n_leaves
        )
    best = PolicyTree(2, case["regularization"], budget=budget, **limits).fit(
        X, case["rewards"], case["weights"], spends=case["spends"]
    )
    assert found.best.objective == pytest.approx(best.objective_)
    # For every row and action the best of them that gives it.
    decided = np.array([policy.decide() for policy in found])
    objectives = np.array([policy.objective for policy in found])
    facts = found.rows().objective
    for row, action in product(range(len(X)), range(facts.shape[1])):
        own = objectives[decided[:, row] == action]
        assert facts[row, action] == pytest.approx(own.max()) if len(own) else np.isnan(facts[row, action])
    # A column is needed by a policy that cannot be written without it.
    for number, fact in enumerate(found.columns()):
        others = np.delete(X, number, axis=1)
        kept = {own[2] for own in enumerate_within(case | {"X": others}, budget, idle=idle, **limits)}
        n_without = sum(own[2] in kept for own in expected)
        assert fact.share == pytest.approx(1 - n_without / len(expected))
        assert fact.is_needed == (n_without == 0)
        alone = {own[2] for own in enumerate_within(case | {"X": X[:, [number]]}, budget, idle=True, max_leaves=2)}
        roots = {form_root(form) for form in alone} - {None}  # a lone leaf asks nothing
        can_be_root = any(form_root(own[2]) in roots for own in expected)
        assert not (fact.is_unused and can_be_root)


@pytest.mark.parametrize("seed", range(6))
def test_a_start_within_a_budget_equals_enumeration(seed: int) -> None:
    """Of the best policy, and of all good ones; X has missing values, whose tests have their sides swapped."""
    case = make_case(seed)
    X, budget = case["X"], (0.25, 0.5, 0.9)[seed % 3]
    X[seed % 8, 0] = np.nan
    start = ["x1 <= 0.5", "x1 <= 1.5", "x0 is missing"][seed % 3]
    holds = [X[:, 1] <= 0.5, X[:, 1] <= 1.5, np.isnan(X[:, 0])][seed % 3]
    mask = sum(1 << int(i) for i in np.flatnonzero(holds))
    everything = enumerate_within(case, budget, idle=False, start=(mask, "open", "open"))
    settings = {"budget": budget, "regularization": case["regularization"], "start": start}
    rows = X, case["rewards"], case["weights"]
    model = PolicyTree(2, **settings).fit(*rows, spends=case["spends"])
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(everything[0][0])
    assert model.spend_ <= budget + 1e-9
    amounts = np.broadcast_to(case["spends"], case["rewards"].shape)
    checked = certify.check(
        model.certificate_, model.tree_, X, rewards=case["rewards"], sample_weight=case["weights"], spends=amounts
    )
    assert checked.holds, checked.failures
    found = good_policies(*rows, spends=case["spends"], tolerance=0.4, **settings)
    expected = [own[2] for own in everything if own[0] >= everything[0][0] - 0.4 - 1e-9]
    assert found.is_complete
    assert Counter(tree_of(found.problem, policy.tree) for policy in found) == Counter(expected)


def form_root(form: Any) -> Any:
    return None if len(form) == 2 else form[1][0]


def test_where_there_are_too_many_the_best_part_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(4)
    settings = {"spends": case["spends"], "budget": 0.45, "tolerance": 0.6}
    whole = good_policies(case["X"], case["rewards"], case["weights"], **settings)
    for most in (1, 3, 6):
        monkeypatch.setattr(within, "MOST_LISTED", most)
        found = good_policies(case["X"], case["rewards"], case["weights"], **settings)
        assert not found.is_complete
        assert found.status == "approximate"
        with pytest.raises(ValueError, match="not complete"):
            found.rows()
        above = [policy.objective for policy in whole if policy.objective > found.complete_above]
        assert [policy.objective for policy in found][: len(above)] == pytest.approx(above)
        part = found.complete_part()
        if len(part):
            assert part.is_complete
            assert [policy.objective for policy in part] == pytest.approx(above[: len(part)])


def test_a_limit_leaves_what_was_found() -> None:
    case = make_case(4)
    settings = {"spends": case["spends"], "budget": 0.45, "tolerance": 0.6}
    found = good_policies(case["X"], case["rewards"], case["weights"], **settings, time_limit=0.0)
    assert not found.is_complete
    assert found.status == "time_limit"
    assert "BudgetSet" in repr(found)
    whole = good_policies(case["X"], case["rewards"], case["weights"], **settings)
    assert {policy.objective for policy in found} <= {policy.objective for policy in whole}


def test_second_measures_and_a_handful() -> None:
    case = make_case(1)
    found = good_policies(case["X"], case["rewards"], case["weights"], spends=case["spends"], budget=0.8, tolerance=0.5)
    least = found.spread(dict(enumerate(case["spends"])))
    assert least.least == pytest.approx(min(policy.spend for policy in found))
    assert least.is_exact
    chosen = found.handful()
    assert chosen["best"] is found.best
    assert len({id(policy) for policy in chosen.values()}) == len(chosen)


def test_bad_input() -> None:
    case = make_case(1)
    X, rewards = case["X"], case["rewards"]
    with pytest.raises(ValueError, match="need a budget"):
        good_policies(X, rewards, tolerance=0.1, control=0)
    with pytest.raises(ValueError, match="with a budget, tolerance must be a number"):
        good_policies(X, rewards, tolerance="noise", budget=0.3)
    with pytest.raises(ValueError, match="smallest mean spend"):
        good_policies(X, rewards, tolerance=0.1, budget=0.3, spends=[1.0] * rewards.shape[1])
