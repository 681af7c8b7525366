"""Budgets: the tree keeps it, no tree within it is better than the bound, and what is called optimal is.

The oracle is enumeration: all trees of a tiny table with all actions at their leaves, as pairs of spend and cost.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from random_problems import COLUMN_KINDS, WEIGHT_KINDS, make_column, make_weights

import certree
from certree import PolicyTree, Problem, certify, policy
from certree.datasets import make_policy
from certree.policy import budget as budget_room
from certree.policy import front, gap

SLACK = 1e-9


@st.composite
def tables(draw: Any, depths: tuple[int | None, ...] = (0, 1, 2, 3, None)) -> dict[str, Any]:
    """A table of every sort of column with rewards, costs, weights, arms and settings that enumeration can afford."""
    depth = draw(st.sampled_from(depths))
    n_actions = draw(st.integers(2, 5))
    weight_kind = draw(st.sampled_from([kind for kind in WEIGHT_KINDS if kind not in ("wild", "heavy-tailed")]))
    kind = draw(st.sampled_from(["real", "tied", "negative"]))
    cost_kind = draw(st.sampled_from(["share", "action", "person", "whole"]))
    constraints = draw(st.sets(st.sampled_from(["max_leaves", "min_samples_leaf", "min_samples_arm"])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = int(rng.integers(n_actions + 1, {0: 25, 1: 20, 2: 14, 3: 10, None: 8}[depth]))
    kinds = rng.choice(COLUMN_KINDS, rng.integers(1, 4)).tolist()
    rewards = {
        "real": lambda: rng.normal(size=(n_rows, n_actions)),
        "tied": lambda: rng.integers(-2, 3, (n_rows, n_actions)).astype(float),
        "negative": lambda: rng.normal(size=(n_rows, n_actions)) - 10,
    }[kind]()
    costs = {
        "share": lambda: None,
        "action": lambda: rng.exponential(size=n_actions) * (rng.random(n_actions) < 0.7),
        "person": lambda: rng.exponential(size=(n_rows, n_actions)),
        "whole": lambda: rng.integers(0, 4, (n_rows, n_actions)),
    }[cost_kind]()
    weights = make_weights(rng, weight_kind, n_rows)
    if weight_kind == "zeros":
        weights[:n_actions] = 1.0
    limits = {"max_leaves": rng.integers(1, 5), "min_samples_leaf": rng.integers(1, 5), "min_samples_arm": 1}
    return {
        "X": pd.DataFrame({f"c{i}": make_column(rng, kind, n_rows, 5) for i, kind in enumerate(kinds)}),
        "rewards": rewards,
        "costs": costs,
        "weights": weights,
        "arms": np.concatenate([np.arange(n_actions), rng.integers(0, n_actions, n_rows - n_actions)]),
        "settings": {
            "max_depth": depth,
            "regularization": draw(st.sampled_from([0.01, 0.1, 0.5] if depth is None else [0.0, 0.01, 0.1, 0.5])),
            **{name: int(limits[name]) for name in sorted(constraints)},
        },
        "share": draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0])),
    }


def spend_of_all(table: dict[str, Any]) -> Any:
    """n × K, from whatever the costs are given as."""
    n_rows, n_actions = table["rewards"].shape
    costs = np.arange(n_actions) > 0 if table["costs"] is None else table["costs"]
    return np.broadcast_to(np.asarray(costs, dtype=float), (n_rows, n_actions))


def enumerate_pairs(table: dict[str, Any]) -> list[tuple[float, float]]:
    """(mean spend, R) of every tree that no other one beats in both, by enumeration."""
    problem = Problem.from_rewards(
        table["X"], table["rewards"], table["weights"], arms=table["arms"], **table["settings"]
    )
    weights = np.ones(len(table["X"])) if table["weights"] is None else np.asarray(table["weights"], dtype=float)
    keep = weights > 0
    amounts = spend_of_all(table)[keep] * weights[keep, None]
    return [(float(spend), float(cost)) for spend, cost in certify.enumerate_spends(problem, amounts)]


def fit(table: dict[str, Any], budget: float, **settings: Any) -> PolicyTree:
    model = PolicyTree(**table["settings"], budget=budget, **settings)
    return model.fit(table["X"], table["rewards"], table["weights"], table["arms"], table["costs"])


def ceiling(table: dict[str, Any]) -> float:
    return float(np.average(table["rewards"].max(axis=1), weights=table["weights"]))


@given(tables())
@settings(max_examples=150)
def test_the_optimum_is_that_of_enumeration(table: dict[str, Any]) -> None:
    pairs = enumerate_pairs(table)
    smallest, largest = pairs[0][0], pairs[-1][0]
    budget = smallest + table["share"] * (largest - smallest)
    model = fit(table, budget)
    best = ceiling(table) - min(cost for spend, cost in pairs if spend <= budget + 1e-12 * largest)
    chosen = np.searchsorted(model.actions_, model.predict(table["X"]))
    spends = spend_of_all(table)[np.arange(len(chosen)), chosen]
    assert model.spend_ == pytest.approx(np.average(spends, weights=table["weights"]), rel=1e-9, abs=1e-12)
    assert model.spend_ <= budget * (1 + 1e-9) + 1e-12
    assert model.objective_ <= best + SLACK
    assert best <= model.upper_bound_ + SLACK
    assert model.status_ == "optimal"
    assert model.gap_ == 0
    assert model.objective_ == pytest.approx(best, rel=0, abs=SLACK)
    verdict = certify.check(
        model.certificate_,
        model.tree_,
        table["X"],
        None,
        table["weights"],
        rewards=table["rewards"],
        costs=table["costs"],
        arms=table["arms"],
        prove_bound=True,
    )
    assert verdict.holds, verdict.failures
    assert verdict.is_bound_proved
