"""Families of tables of rewards: policy trees, their path, budgets and the curve of all budgets."""

from __future__ import annotations

import math
import pickle
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from certree import PolicyTree, certify, export_json, load
from certree.policy import budget_curve, regularization_path

from .brute import route
from .case import (
    REWARDS,
    Case,
    draw_columns,
    draw_limits,
    draw_rewards,
    draw_shape,
    draw_weights,
    pick,
)
from .classifiers import check_hull
from .truth import SMALLEST_NORMAL, Truth, close, expect, from_rewards

# Drawing --------------------------------------------------------------------------------------------------------------


def draw_policy(rng: np.random.Generator) -> Case:
    n_rows, n_columns, depth = draw_shape(rng)
    n_actions = int(pick(rng, (1, 2, 2, 2, 3, 4)))
    weights = draw_weights(rng, n_rows, pick(rng, ("none", "none", "whole", "real", "zeros", "wild")))
    settings = draw_limits(rng, weights or [1.0] * n_rows, depth)
    settings.pop("min_weight_leaf", None)
    rows: dict[str, Any] = {"rewards": draw_rewards(rng, n_rows, n_actions, pick(rng, REWARDS)), "weights": weights}
    if rng.random() < 0.2 and n_actions > 1:
        # Every action has an arm, or there would be nothing to require of it.
        rows["arms"] = [row % n_actions for row in rng.permutation(n_rows).tolist()]
        settings["min_samples_arm"] = int(rng.integers(1, 3))
    return Case(draw_columns(rng, n_rows, n_columns), rows, settings, {"twice": bool(rng.random() < 0.2)})


def draw_budget(rng: np.random.Generator) -> Case:
    n_rows, n_columns, depth = draw_shape(rng)
    n_rows, n_columns, depth = min(n_rows, 8), min(n_columns, 2), min(depth, 2)
    n_actions = int(pick(rng, (2, 2, 3)))
    weights = draw_weights(rng, n_rows, pick(rng, ("none", "none", "whole", "real", "zeros", "wild")))
    settings = draw_limits(rng, weights or [1.0] * n_rows, depth)
    settings.pop("min_weight_leaf", None)
    rewards = draw_rewards(rng, n_rows, n_actions, pick(rng, REWARDS))
    spends = {
        "actions": lambda: np.tile(rng.integers(0, 3, n_actions).astype(float), (n_rows, 1)),
        "one": lambda: np.tile(np.arange(n_actions) > 0, (n_rows, 1)).astype(float),
        "rows": lambda: rng.integers(0, 4, (n_rows, n_actions)).astype(float),
        "real": lambda: rng.lognormal(size=(n_rows, n_actions)),
        "forbidding": lambda: np.where(rng.random((n_rows, n_actions)) < 0.1, 1e13, rng.random((n_rows, n_actions))),
    }[pick(rng, ("actions", "one", "rows", "real", "forbidding"))]()
    budget = float(pick(rng, (0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 2.0, math.inf)))
    if rng.random() < 0.3:
        # Exactly what some choice of actions spends.
        action = rng.integers(0, n_actions, n_rows)
        drawn = np.ones(n_rows) if weights is None else np.array(weights)
        budget = math.fsum((spends[np.arange(n_rows), action] * drawn).tolist()) / math.fsum(drawn.tolist())
    settings["budget"] = budget
    rows = {"rewards": rewards, "weights": weights, "spends": [[float(spend) for spend in row] for row in spends]}
    return Case(
        draw_columns(rng, n_rows, n_columns, ("numeric", "numeric", "missing")), rows, settings,
        {"twice": bool(rng.random() < 0.2)},
    )  # fmt: skip


def draw_curve(rng: np.random.Generator) -> Case:
    case = draw_budget(rng)
    return replace(case, settings={name: value for name, value in case.settings.items() if name != "budget"})


def draw_policy_path(rng: np.random.Generator) -> Case:
    case = draw_policy(rng)
    settings = {name: value for name, value in case.settings.items() if name != "regularization"}
    if rng.random() < 0.3:
        settings["thresholds"] = int(rng.integers(1, 4))
    return replace(case, settings=settings)


def draw_stopped_budget(rng: np.random.Generator) -> Case:
    case = draw_budget(rng)
    return replace(case, settings={**case.settings, "time_limit": float(pick(rng, (0.0, 1e-4, 1e-3)))})


def draw_extreme(rng: np.random.Generator) -> Case:
    """Rewards, spends, weights and penalties at the ends of what a float can hold."""
    case = draw_budget(rng)
    exponents = (-320, -300, -200, -150, 0, 0, 0, 0, 0, 150, 200, 300)

    def scale(entries: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.nan_to_num(np.array(entries) * 10.0 ** float(pick(rng, exponents))).tolist()

    rows = {
        "rewards": scale(case.rows["rewards"]), "weights": scale(case.weights), "spends": scale(case.rows["spends"])
    }  # fmt: skip
    if not any(rows["weights"]):
        rows["weights"][0] = 5e-324
    penalty = float(pick(rng, (0.0, 0.0, 0.0, 5e-324, 1e-300, 1e-16, 0.1, 1e300)))
    budget = float(pick(rng, (0.0, 5e-324, 1e-300, 1e-100, 0.5, 1.0, 1e300, math.inf)))
    return replace(case, rows=rows, settings={**case.settings, "regularization": penalty, "budget": budget})


# Checking -------------------------------------------------------------------------------------------------------------


def largest_reward(truth: Truth) -> Fraction:
    """The scale of a value: the mean of the largest reward of each row, by size."""
    sizes = [
        max(abs(Fraction(reward)) for reward in row) * Fraction(weight)
        for row, weight in zip(truth.case.rows["rewards"], truth.weights, strict=True)
    ]
    return sum(sizes, Fraction(0)) / truth.total


def ceiling(truth: Truth) -> Fraction:
    """The mean reward of every row's best action."""
    best = [
        max(map(Fraction, row)) * Fraction(weight)
        for row, weight in zip(truth.case.rows["rewards"], truth.weights, strict=True)
    ]
    return sum(best, Fraction(0)) / truth.total


def judge_policy(case: Case, model: PolicyTree, truth: Truth, best: Fraction) -> None:
    """What must hold of every fitted policy. `best` is the least that any allowed one falls short, penalty included."""
    top = ceiling(truth)
    loss = truth.judge(model.tree_.to_dict())
    # Below the smallest normal float digits are lost, however small the numbers are.
    scale = max(largest_reward(truth) + truth.scale + truth.penalty * model.n_leaves_, SMALLEST_NORMAL)
    expect(close(model.value_, top - loss, scale), f"value_ is {model.value_!r}, the rows say {float(top - loss)!r}")
    objective = top - loss - truth.penalty * model.n_leaves_
    expect(close(model.objective_, objective, scale), f"objective_ is {model.objective_!r}, not {float(objective)!r}")
    slack = scale / 10**12
    expect(objective <= top - best + slack, f"a policy of {float(objective)!r} beats {float(top - best)!r}")
    expect(
        Fraction(model.upper_bound_) >= top - best - slack,
        f"upper_bound_ is {model.upper_bound_!r}, a policy has {float(top - best)!r}",
    )
    if model.status_ == "optimal":
        expect(close(model.objective_, top - best, scale), f"{model.objective_!r} is not {float(top - best)!r}")
        expect(Fraction(model.gap_) <= slack, f"optimal with a gap of {model.gap_!r}")
    tree = model.tree_.to_dict()
    expected = [tree["labels"][tree["nodes"][route(tree, row)]["label"]] for row in case.cells]
    expect(model.predict(case.X).tolist() == expected, "predict and the tree's tests differ")
    X, rewards = case.X, case.array("rewards")
    score = model.score(X, rewards, case.array("weights"))
    expect(math.isclose(score, model.value_, rel_tol=1e-12, abs_tol=sys.float_info.min * 1e-12), "score ≠ value_")


def check_certificate(case: Case, model: PolicyTree) -> None:
    arms = case.array("arms")
    verdict = certify.check(
        model.certificate_, model.tree_, case.X, sample_weight=case.array("weights"), rewards=case.array("rewards"),
        spends=case.array("spends") if "budget" in case.settings else None, arms=arms,
        prove_bound=bool(case.extras.get("twice")),
    )  # fmt: skip
    expect(verdict.holds, f"the certificate does not hold: {verdict.failures}")


def fit(case: Case) -> PolicyTree:
    model = PolicyTree(**case.settings)
    spends = case.array("spends") if "budget" in case.settings else None
    return model.fit(case.X, case.array("rewards"), case.array("weights"), case.array("arms"), spends)


def check_policy(case: Case) -> None:
    weights = case.weights
    arms = case.rows.get("arms")
    try:
        model = fit(case)
    except ValueError as error:
        # An action whose arm has no row of positive weight cannot meet a minimum.
        seen = {arm for arm, weight in zip(arms or (), weights, strict=False) if weight > 0}
        expect(arms is not None and len(seen) < len(case.rows["rewards"][0]), f"refused: {error}")
        return
    truth = from_rewards(case)
    expect(model.status_ == "optimal", f"status_ is {model.status_!r}")
    judge_policy(case, model, truth, truth.optimum)
    check_certificate(case, model)
    for other in (load(export_json(model)), pickle.loads(pickle.dumps(model))):
        expect(np.array_equal(other.predict(case.X), model.predict(case.X)), "a round trip predicts otherwise")
        expect(
            other.objective_ == model.objective_ and other.upper_bound_ == model.upper_bound_, "a round trip differs"
        )


def check_named_actions(case: Case) -> None:
    """Rewards in a frame name the actions; the answer is that of the array."""
    names = [f"act {index}" for index in range(len(case.rows["rewards"][0]))]
    frame = pd.DataFrame(case.rows["rewards"], columns=names)
    settings = {name: value for name, value in case.settings.items() if name != "min_samples_arm"}
    plain = PolicyTree(**settings).fit(case.X, case.array("rewards"), case.array("weights"))
    named = PolicyTree(**settings).fit(case.X, frame, case.array("weights"))
    expect(named.objective_ == plain.objective_, f"{named.objective_!r} with names, {plain.objective_!r} without")
    expect([names.index(name) for name in named.predict(case.X)] == plain.predict(case.X).tolist(), "actions differ")


def check_policy_path(case: Case) -> None:
    truth_case = replace(case, settings={**case.settings, "regularization": 0.0})
    arms = case.array("arms")
    if arms is not None:
        seen = {arm for arm, weight in zip(arms.tolist(), case.weights, strict=True) if weight > 0}
        if len(seen) < len(case.rows["rewards"][0]):
            return
    path = regularization_path(case.X, case.array("rewards"), case.array("weights"), arms, **case.settings)
    truth = from_rewards(truth_case)
    check_hull(truth, path)
    top, scale = ceiling(truth), largest_reward(truth) + truth.scale
    for point in path:
        expect(close(path.value(point), top - Fraction(point.loss), scale), "value of a point")


def spends_of(truth: Truth) -> list[list[float]]:
    return [
        [spend * weight for spend in row] for row, weight in zip(truth.case.rows["spends"], truth.weights, strict=True)
    ]


def check_budget(case: Case) -> None:
    truth = from_rewards(case)
    spends, budget = spends_of(truth), case.settings["budget"]
    best = truth.best_within(spends, budget)
    try:
        model = fit(case)
    except ValueError as error:
        stopped = "time_limit" in case.settings and "before the search ended" in str(error)
        expect((best is None and "budget" in str(error)) or stopped, f"refused, though {best} is within: {error}")
        return
    expect(best is not None, f"a policy was found within budget {budget!r}, but there is none")
    assert best is not None
    tree = model.tree_.to_dict()
    chosen = [
        Fraction(row[tree["nodes"][route(tree, cells)]["label"]])
        for row, cells in zip(spends, truth.case.cells, strict=True)
    ]
    spend = sum(chosen, Fraction(0)) / truth.total
    expect(math.isclose(model.spend_, float(spend), rel_tol=1e-12), f"spend_ is {model.spend_!r}, not {float(spend)!r}")
    if math.isfinite(budget):
        limit = Fraction(budget) * (1 + Fraction(2, 10**12))
        expect(spend <= limit, f"a mean spend of {float(spend)!r} is above the budget of {budget!r}")
    judge_policy(case, model, truth, best)
    if "time_limit" not in case.settings:
        expect(model.status_ in ("optimal", "approximate"), f"status_ is {model.status_!r}")
    check_certificate(case, model)
    loaded = load(export_json(model))
    expect(loaded.spend_ == model.spend_ and loaded.price_ == model.price_, "spend or price differ after JSON")


def check_extreme(case: Case) -> None:
    """It works, or it says what is out of range."""
    try:
        fit(case)
    except ValueError as error:
        names = ("sample_weight", "rewards", "costs", "spends", "regularization", "budget")
        expect(any(name in str(error) for name in names), f"an error that names nothing: {error}")
        return
    check_budget(case)


def check_curve(case: Case) -> None:
    """No tree within a budget is above the bound of that budget, and every corner is a tree."""
    truth = from_rewards(case)
    spends = spends_of(truth)
    front = truth.spend_front(spends)
    curve = budget_curve(
        case.X, case.array("rewards"), case.array("weights"), None, case.array("spends"), **case.settings
    )
    top = ceiling(truth)
    scale = largest_reward(truth) + truth.scale + truth.penalty * 4
    slack = scale / 10**12
    # Among amounts that differ by much, the price between two corners may be so large that rounding is not negligible.
    amounts = [abs(amount) for row in (truth.weights, *spends, *truth.case.rows["rewards"]) for amount in row if amount]
    expect(curve.is_complete or max(amounts) > 1e4 * min(amounts), "the curve is not complete")
    for point in curve:
        loss = truth.judge(point.tree.to_dict())
        expect(close(point.value, top - loss, scale), f"value {point.value!r} of a corner is not {float(top - loss)!r}")
    least = front[0][0]
    for spend, cost in front:
        budget = max(float(spend), float(least))
        if Fraction(budget) < spend:
            budget = math.nextafter(budget, math.inf)
        bound = curve.bound(budget)
        expect(
            Fraction(bound) >= top - cost - slack,
            f"a tree that spends {float(spend)!r} has {float(top - cost)!r}, the bound is {bound!r}",
        )
        if budget < curve[0].spend:
            # The frugal tree differs from this one by so little that the fixed point of the search does not see it.
            most = float(sum((max(row) for row in spends), Fraction(0)) / truth.total)
            expect(
                curve[0].spend <= budget + 1e-9 * most, f"a tree spends {budget!r}, the curve begins at {curve[0]!r}"
            )
            budget = curve[0].spend
        expect(
            Fraction(curve.at(budget).objective)
            <= max(top - other for paid, other in front if paid <= Fraction(budget) * (1 + Fraction(2, 10**12)))
            + slack,
            "a corner beats every tree within its budget",
        )
    best = min(cost for _, cost in front)
    expect(
        close(curve[-1].objective, top - best, scale),
        f"the last corner has {curve[-1].objective!r}, the best tree {float(top - best)!r}",
    )
