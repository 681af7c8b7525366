"""What the tests of the report write pages about: a classifier, a policy, one with a budget; names of every sort."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

from certree import SparseTreeClassifier, policy
from certree.datasets import make_policy
from certree.policy import PolicyTree

SCRIPT, TURNED = "<script>alert(1)</script>", "عمر السكان"
NAMES = [SCRIPT, TURNED, "a_name_that_is_longer_than_forty_characters_1", "quote\" & 'emoji' 🎉"]


@dataclass(frozen=True)
class Case:
    """A fitted model and what `report` is given about it."""

    model: Any
    X: pd.DataFrame
    facts: dict[str, Any]
    rows: pd.DataFrame
    """Other rows, with missing values and categories that the fit has not seen."""


@cache
def make_classifier() -> Case:
    rng = np.random.default_rng(0)

    def draw(n: int, regions: list[Any]) -> pd.DataFrame:
        age, income = rng.integers(18, 80, n).astype(float), rng.lognormal(10, 1, n).round(-4)
        income[rng.random(n) < 0.2] = np.nan
        size = pd.Categorical(rng.choice(["small", "medium", "large"], n), ["small", "medium", "large"], ordered=True)
        return pd.DataFrame(
            {
                NAMES[0]: age,
                NAMES[1]: income,
                NAMES[2]: rng.choice(np.array(regions, dtype=object), n),
                NAMES[3]: size,
                "married": rng.random(n) < 0.5,
            }
        )

    X = draw(300, ["north", "<b>south</b>", None])
    signal = (
        (X[NAMES[0]] > 50).astype(int)
        + 2 * (X[NAMES[2]] == "north")
        + (X[NAMES[3]] == "small").astype(int)
        + X[NAMES[1]].isna().astype(int)
        + X["married"].astype(int)
    )
    y = np.array(["no", "<i>yes</i>", "perhaps"])[(signal.to_numpy() + (rng.random(300) < 0.1)) % 3]
    weight = rng.lognormal(size=300)
    model = SparseTreeClassifier(3, 0.005).fit(X, y, weight)
    rows = draw(1000, ["north", "<b>south</b>", "elsewhere", None])
    return Case(model, X, {"y": y, "sample_weight": weight, "units": {NAMES[0]: "years"}, "noun": "people"}, rows)


@cache
def make_policies() -> tuple[Case, Case]:
    """Without a budget, and with one."""
    drawn = make_policy(400, 4, n_actions=3, n_values=8, random_state=1)
    X = pd.DataFrame(drawn.data, columns=NAMES)
    log = policy.Log(X, drawn.treatment, drawn.outcome, propensity=[1 / 3] * 3)
    scores = policy.doubly_robust(log, outcome_model=LinearRegression(), random_state=0)
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(-1, 9, (1000, 4)).astype(float), columns=NAMES)
    rows = rows.mask(rng.random(rows.shape) < 0.1)
    cases = []
    for model, settings in (
        (PolicyTree(2, min_samples_leaf=20), {}),
        (PolicyTree(2, min_samples_leaf=20, budget=0.3), {"control": 0}),
    ):
        model.fit(X, scores, **settings)
        evaluation = policy.evaluate(
            model, log, outcome_model=LinearRegression(), folds=3, random_state=0, **settings,
            group=np.where(drawn.data[:, 0] > 3, "north", "<u>south</u>"),
        )  # fmt: skip
        facts = {"y": scores, "evaluation": evaluation, "labels": {0: "nothing", 1: "letter", 2: "<em>visit</em>"}}
        cases.append(Case(model, X, facts | settings, rows))
    return cases[0], cases[1]


@cache
def make_mixed_policies() -> tuple[Case, Case]:
    """The same of columns that have categories and missing values, for the leaves to tell apart."""
    rng = np.random.default_rng(3)

    def draw(n: int, regions: list[Any]) -> pd.DataFrame:
        income = rng.lognormal(10, 1, n).round(-3)
        income[rng.random(n) < 0.2] = np.nan
        size = pd.Categorical(rng.choice(["small", "medium", "large"], n), ["small", "medium", "large"], ordered=True)
        return pd.DataFrame({"region": rng.choice(np.array(regions, dtype=object), n), "income": income, "size": size})

    X, rows = draw(400, ["north", "south", "west", None]), draw(1000, ["north", "south", "west", "elsewhere", None])
    letter = 2.0 * (X["region"] == "north") + 1.5 * X["income"].isna() - 1
    visit = 2.0 * (X["size"] == "small") + 1.5 * (X["income"] > 30_000) - 1.5
    rewards = np.c_[np.zeros(400), letter, visit] + rng.normal(size=(400, 3))
    plain = PolicyTree(3, min_samples_leaf=5).fit(X, rewards)
    within = PolicyTree(3, min_samples_leaf=5, budget=0.6).fit(X, rewards, control=0)
    return Case(plain, X, {"y": rewards}, rows), Case(within, X, {"y": rewards, "control": 0}, rows)
