"""Evaluation: nothing judges that was learned from, intervals hold what they promise, no gain is called no gain."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from certree import PolicyTree, SparseTreeClassifier, policy
from certree.datasets import make_policy
from certree.policy import evaluation
from certree.policy.evaluation import LARGEST_SEED, _estimate

QUICK = {"outcome_model": LinearRegression(), "random_state": 0}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Hundreds of tiny models: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def log() -> Any:
    return make_policy(800, 3, n_actions=3, depth=1, n_values=8, logging="confounded", random_state=3)


def evaluate(log: Any, model: Any = None, **settings: Any) -> policy.Evaluation:
    return policy.evaluate(
        PolicyTree(1) if model is None else model, log.data, log.treatment, log.outcome, **(QUICK | settings)
    )


# Honesty --------------------------------------------------------------------------------------------------------------


class Spy(BaseEstimator):  # type: ignore[misc]
    """A policy that remembers its rows, and refuses to be judged by them."""

    def fit(self, X: Any, rewards: Any) -> Spy:
        self.seen_ = set(X[:, -1].tolist())
        assert np.asarray(rewards).shape == (len(X), 3)
        return self

    def predict(self, X: Any) -> Any:
        assert not self.seen_ & set(X[:, -1].tolist())
        return np.zeros(len(X), dtype=int)


def test_neither_policy_nor_models_have_seen_what_judges_them(log: Any) -> None:
    numbers: list[tuple[set[float], set[float]]] = []

    class SpyRegression(LinearRegression):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            self.seen_ = set(X[:, -1].tolist())
            return super().fit(X, y)

        def predict(self, X: Any) -> Any:
            held = set(X[:, -1].tolist())
            assert not self.seen_ & held
            numbers.append((self.seen_, held))
            return super().predict(X)

    rows = np.column_stack([log.data, np.arange(800)])
    found = policy.evaluate(
        Spy(), rows, log.treatment, log.outcome, outcome_model=SpyRegression(), folds=4, random_state=0
    )
    # Models without each fold and without each two of them, one an action.
    assert len(numbers) == (4 + 6) * 3
    assert len(found.policies) == 4
    folds = [set(range(800)) - spy.seen_ for spy in found.policies]
    assert [len(fold) for fold in folds] == [200] * 4
    assert set().union(*folds) == set(range(800))
    # Each has seen all but what it predicts, and what it predicts are one or two whole folds.
    for seen, held in numbers:
        assert seen < set(range(800)) - held
        assert held in folds or any(held == one | other for one in folds for other in folds)


def test_the_value_is_that_of_nested_cross_fitting_step_by_step(log: Any) -> None:
    """All of it again, in plain loops: the models and the policy without each fold, a person's own costs taken off."""
    X, treatment, outcome = log.data[:240], log.treatment[:240], log.outcome[:240]
    costs = np.random.default_rng(5).random((240, 3))
    found = policy.evaluate(PolicyTree(1), X, treatment, outcome, costs=costs, folds=3, **QUICK)
    seed = check_random_state(QUICK["random_state"]).randint(LARGEST_SEED)
    folds = [held for _, held in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, treatment)]

    def score(seen: Any, held: Any) -> Any:
        chances = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X[seen], treatment[seen])
        scores = np.empty((len(held), 3))
        for action, chance in enumerate(chances.predict_proba(X[held]).T):
            got = seen[treatment[seen] == action]
            expected = LinearRegression().fit(X[got], outcome[got]).predict(X[held])
            correction = (treatment[held] == action) * (outcome[held] - expected) / np.maximum(chance, 0.01)
            scores[:, action] = expected + correction - costs[held, action]
        return scores

    rewards, own = np.empty((240, 3)), np.empty(240)
    for held in folds:
        one, other = (fold for fold in folds if fold is not held)
        learned = PolicyTree(1).fit(X[np.r_[one, other]], np.vstack([score(other, one), score(one, other)]))
        rewards[held] = score(np.sort(np.r_[one, other]), held)
        own[held] = rewards[held, learned.predict(X[held])]
    assert found.value.value == pytest.approx(own.mean(), abs=1e-9)
    for action in range(3):
        assert found.fixed[action].value == pytest.approx(rewards[:, action].mean(), abs=1e-9)
        assert found.gains[action].value == pytest.approx((own - rewards[:, action]).mean(), abs=1e-9)


@pytest.mark.no_cover
def test_noise_is_not_praised() -> None:
    """In sample the best tree of pure noise looks like a gain; honestly it is none."""
    honest, flattered, shown = [], [], 0
    for seed in range(12):
        log = make_policy(300, 4, effect=0.0, n_values=8, random_state=seed)
        scores = policy.doubly_robust(log.data, log.treatment, log.outcome, outcome_model=LinearRegression())
        flattered.append(PolicyTree(2).fit(log.data, scores).value_ - scores.rewards.mean(axis=0).max())
        found = evaluate(log, PolicyTree(2), propensity=0.5)
        honest.append(found.gains[found.best_fixed].value)
        shown += found.has_gain
    assert np.mean(flattered) > 0.1
    assert np.mean(honest) < 0.02
    assert shown == 0
    assert found.statement().startswith("No gain over giving everyone")


@pytest.mark.parametrize(
    ("logging", "known"), [("randomised", 0.5), pytest.param("confounded", None, marks=pytest.mark.long)]
)
@pytest.mark.no_cover
def test_intervals_hold_the_value_as_often_as_they_say(logging: Any, known: float | None) -> None:
    """Over simulated data sets; the value is that of the policies learned, on a large population."""
    is_inside = []
    for seed in range(40):
        found, value, fixed = judge_simulated(seed, {"logging": logging}, QUICK | {"propensity": known})
        is_inside.append([holds(found.value, value), holds(found.gain, value - fixed[0])])
    # At 95 % fewer than 34 of 40 happens once in two hundred times; at 80 % it is the rule.
    assert np.sum(is_inside, axis=0).min() >= 34


@pytest.mark.no_cover
def test_errors_count_that_folds_teach_each_other() -> None:
    """Without an effect it is noise that picks the policy, and folds are dependent: errors must say so."""
    squares, variances, is_inside, shown = [], [], [], 0
    for seed in range(60):
        found, value, fixed = judge_simulated(seed, {"effect": 0.0}, QUICK | {"propensity": 0.5})
        over_random = found.gain_over_random
        squares.append((over_random.value - (value - fixed.mean())) ** 2)
        variances.append(over_random.error**2)
        is_inside.append(holds(over_random, value - fixed.mean()))
        shown += found.has_gain
    # Terms taken for independent give a ratio of 1.6 here.
    assert 0.5 < np.mean(squares) / np.mean(variances) < 1.5
    assert sum(is_inside) >= 52
    assert shown <= 3


def judge_simulated(seed: int, design: dict[str, Any], settings: dict[str, Any]) -> tuple[Any, float, Any]:
    """An evaluation of 300 rows, the true value of its policies and those of the fixed actions."""
    n_rows = 300
    log = make_policy(n_rows + 5_000, 3, depth=1, n_values=6, random_state=seed, **design)
    found = policy.evaluate(
        PolicyTree(1), log.data[:n_rows], log.treatment[:n_rows], log.outcome[:n_rows], **(settings | {"folds": 3})
    )
    everyone = np.arange(len(log.data))
    value = np.mean([log.expected[everyone, model.predict(log.data)].mean() for model in found.policies])
    return found, float(value), log.expected.mean(axis=0)


def holds(estimate: policy.Estimate, truth: float) -> bool:
    return estimate.low - 1e-12 <= truth <= estimate.high + 1e-12


def test_a_gain_that_is_there_is_shown(log: Any) -> None:
    found = evaluate(log)
    assert found.has_gain
    assert found.statement().startswith("The policy gains ")
    best = log.expected.max(axis=1).mean()
    assert found.value.low < best
    assert found.value.value == pytest.approx(best, abs=0.25)
    assert all(gain.low > 0 for gain in found.gains.values())
    assert sum(found.rates.values()) == pytest.approx(1)
    np.testing.assert_allclose([fixed.value for fixed in found.fixed.values()], log.expected.mean(axis=0), atol=0.25)


# Figures --------------------------------------------------------------------------------------------------------------


def test_figures_of_a_rule_by_hand() -> None:
    """Without models all is arithmetic: rewards are outcomes over their chances."""
    rng = np.random.default_rng(0)
    X, treatment, outcome = rng.integers(0, 2, (90, 1)).astype(float), np.arange(90) % 3, rng.normal(size=90)
    chances, costs = np.array([0.2, 0.3, 0.5]), rng.random((90, 3))
    found = policy.evaluate(
        lambda X: X[:, 0] * 2, X, treatment, outcome, chances, DummyRegressor(strategy="constant", constant=0.0),
        costs=costs, random_state=0,
    )  # fmt: skip
    rewards = (treatment[:, None] == np.arange(3)) * outcome[:, None] / chances - costs
    own = rewards[np.arange(90), (2 * X[:, 0]).astype(int)]
    terms = {
        found.value: own,
        found.fixed[1]: rewards[:, 1],
        found.gains[1]: own - rewards[:, 1],
        found.gain_over_random: own - rewards.mean(axis=1),
    }
    for estimate, column in terms.items():
        assert estimate.value == pytest.approx(column.mean())
        assert estimate.error == pytest.approx(column.std(ddof=1) / np.sqrt(90))


def test_gains_are_paired(log: Any) -> None:
    found = evaluate(log)
    for action, gain in found.gains.items():
        assert gain.value == pytest.approx(found.value.value - found.fixed[action].value)
        assert gain.error < np.hypot(found.value.error, found.fixed[action].error)
    mean = np.mean([fixed.value for fixed in found.fixed.values()])
    assert found.gain_over_random.value == pytest.approx(found.value.value - mean)
    assert found.gain == found.gains[0]
    assert evaluate(log, control=2).gain == found.gains[2]


def test_estimates_of_one_and_of_many_repeats() -> None:
    column = np.array([1.0, 2.0, 3.0, 6.0])
    one = _estimate([column], 0.95)
    assert one.value == 3
    assert one.error == pytest.approx(column.std(ddof=1) / 2)
    assert one.high - one.value == pytest.approx(1.959964 * one.error, rel=1e-6)
    assert one.value - one.low == pytest.approx(one.high - one.value)
    assert str(one) == "3 (0.883 to 5.117)"
    many = _estimate([column, column + 1, column + 2], 0.95)
    assert many.value == 4
    assert many.error == pytest.approx(np.sqrt(one.error**2 + 1))
    assert _estimate([column], 0.95, [one.error**2 * 3]).error == pytest.approx(2 * one.error)
    assert _estimate([np.array([2.0])], 0.9).high == np.inf
    narrow = _estimate([column], 0.5)
    assert narrow.high - narrow.low < one.high - one.low


def test_repeats_and_seeds(log: Any) -> None:
    once, again, other = (evaluate(log, random_state=seed).value for seed in (1, 1, 2))
    assert once == again
    assert once != other
    thrice = evaluate(log, random_state=1, repeats=3)
    assert thrice.repeats == 3
    assert thrice.value.value != once.value
    assert len(thrice.policies) == 5
    assert "3 repeats" in thrice.summary()


def test_a_rule_is_judged_as_it_is(log: Any) -> None:
    best = np.unique(log.planted)
    tree = PolicyTree(1).fit(log.data, log.expected).tree_
    for rule in (tree, lambda X: tree.predict(X)):
        found = evaluate(log, rule)
        assert found.value.value == pytest.approx(log.expected.max(axis=1).mean(), abs=0.25)
        assert found.policies == (rule,)
    assert len(evaluate(log, tree).leaves) == tree.n_leaves
    assert {leaf.action for leaf in evaluate(log, tree).leaves} == set(best.tolist())
    constant = evaluate(log, lambda X: np.full(len(X), 1))
    assert constant.gains[1].value == constant.gains[1].error == 0
    assert not constant.has_gain
    assert [leaf.leaf for leaf in constant.leaves] == ["given 1"]
    assert "No gain over giving everyone 1 or 2 can be shown: the policy gains 0 (0 to 0) and -" in constant.statement()


def test_the_table_of_leaves_adds_up(log: Any) -> None:
    found = evaluate(log)
    assert sum(leaf.rows for leaf in found.leaves) == 800
    assert sum(leaf.share for leaf in found.leaves) == pytest.approx(1)
    assert all(1 <= leaf.folds <= 5 for leaf in found.leaves)
    assert all(" <= " in leaf.leaf or " > " in leaf.leaf for leaf in found.leaves)
    assert sum(leaf.rows * leaf.gain.value for leaf in found.leaves) / 800 == pytest.approx(found.gain.value)
    for action, fixed in found.fixed.items():
        parts = [leaf.rows * leaf.rewards[action].value for leaf in found.leaves]
        assert sum(parts) / 800 == pytest.approx(fixed.value)
        shares = [leaf.rows * leaf.arms[action] for leaf in found.leaves]
        assert sum(shares) == pytest.approx((log.treatment == action).sum())
    frame = pd.DataFrame(found.leaf_rows())
    first = found.leaves[0]
    assert frame.loc[0, "arms of 1"] == first.arms[1]
    assert frame.loc[0, "rewards of 2 low"] == first.rewards[2].low
    assert frame.loc[0, "gain value"] == first.gain.value
    assert frame.shape == (len(found.leaves), 5 + 3 + 3 * 4 + 4)
    lone = evaluate(log, PolicyTree(0))
    assert {leaf.leaf for leaf in lone.leaves} == {"everyone"}


@pytest.mark.parametrize(
    ("group", "names"),
    [
        (np.array([0.0, 1.0, np.nan, 1.0] * 200), (0, 1, "missing")),
        (np.array(["f", "m", None, "m"] * 200, dtype=object), ("f", "m", "missing")),
        (pd.Series([True, False] * 400), (False, True)),
        (pd.Series(pd.Categorical(["f", None] * 400)), ("f", "missing")),
        (pd.Series([1, None] * 400, dtype="Int64"), (1, "missing")),
    ],
)
def test_rates_by_group(log: Any, group: Any, names: tuple[Any, ...]) -> None:
    found = evaluate(log, group=group)
    assert tuple(row.group for row in found.groups) == names
    assert sum(row.rows for row in found.groups) == 800
    for action, rate in found.rates.items():
        assert sum(row.rows * row.rates[action] for row in found.groups) / 800 == pytest.approx(rate)
    assert sum(row.rows * row.value.value for row in found.groups) / 800 == pytest.approx(found.value.value)
    assert sum(row.rows * row.gain.value for row in found.groups) / 800 == pytest.approx(found.gain.value)
    frame = pd.DataFrame(found.group_rows())
    assert frame["group"].tolist() == list(names)
    assert frame["rates of 2"].tolist() == [row.rates[2] for row in found.groups]
    assert frame["value high"].tolist() == [row.value.high for row in found.groups]


def test_words_and_rows(log: Any) -> None:
    names = np.array(["none", "letter", "call"])
    found = policy.evaluate(
        PolicyTree(1, min_samples_arm=5),
        pd.DataFrame(log.data, columns=["a", "b", "c"]),
        names[log.treatment],
        -log.outcome,
        maximize=False,
        costs={"none": 0.0, "letter": 10.0, "call": 10.0},
        actions=["none", "letter", "call"],
        **QUICK,
    )
    assert found.control == "none"
    assert found.best_fixed == "none"
    assert not found.has_gain
    assert found.statement().startswith(
        "No gain over giving everyone 'none' (treating nobody) can be shown: the policy gains 0 (0 to 0) (95% interval)"
    )
    assert found.statement() in found.summary()
    assert "over treating nobody" in found.summary()
    assert found.rates["none"] == 1
    rows = found.to_rows()
    assert len(rows) == 2 + 2 * 3
    assert rows[0] == {"figure": "value", "action": "", **vars(found.value)}
    assert pd.DataFrame(rows).notna().to_numpy().all()


def test_spends_of_a_budget_reach_the_rows_they_belong_to(log: Any) -> None:
    """n × K spends are cut to the rows that a policy learns from: on those each policy spends no more than it may."""
    own = np.random.default_rng(0).exponential(size=(800, 3))
    rows = np.column_stack([log.data, np.arange(800)])
    seen: list[tuple[Any, Any]] = []

    class Watched(PolicyTree):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, treatment: Any = None, spends: Any = None) -> Any:
            seen.append((X[:, -1].astype(int), np.asarray(spends)))
            np.testing.assert_array_equal(treatment, log.treatment[seen[-1][0]])
            return super().fit(X, y, treatment=treatment, spends=spends)

    for spends in (own, pd.DataFrame(own, index=np.arange(800)[::-1])):
        seen.clear()
        found = policy.evaluate(
            Watched(1, budget=1.0), rows, log.treatment, log.outcome, costs=own, fit_params={"spends": spends}, **QUICK
        )
        assert len(seen) == 5 + 10
        for places, part in seen:
            np.testing.assert_array_equal(part, own[places])
        for model, (places, _) in zip(found.policies, seen[:5], strict=True):
            given = model.predict(rows[places])
            assert model.spend_ == pytest.approx(own[places, given].mean())
            assert model.spend_ <= 1
    # Spends by action are not cut, whatever form they have; the scores take off their own.
    for spends in ([0.0, 1.0, 2.0], {0: 0.0, 1: 1.0, 2: 2.0}, pd.Series([0.0, 1.0, 2.0])):
        found = evaluate(log, PolicyTree(1, budget=0.2), costs=own, fit_params={"spends": spends})
        assert 0 < max(model.spend_ for model in found.policies) <= 0.2


def draw_treatment(effect: float, n_rows: int = 600) -> tuple[Any, Any, Any]:
    """An experiment whose treatment helps everyone, and more where the first column is high."""
    rng = np.random.default_rng(0)
    X, treatment = rng.integers(0, 5, (n_rows, 2)).astype(float), rng.integers(0, 2, n_rows)
    return X, treatment, effect * treatment * (1 + 2 * (X[:, 0] == 4)) + rng.normal(size=n_rows)


def test_a_budget_is_compared_with_what_it_allows() -> None:
    """Treating everyone is best of all and breaks the budget: the headline compares with a draw by lot within it."""
    X, treatment, outcome = draw_treatment(1.0)
    model, known = PolicyTree(1, budget=0.2), {"propensity": [0.5, 0.5], **QUICK}
    found = policy.evaluate(model, X, treatment, outcome, **known)
    assert found.best_fixed == 1
    assert found.gains[1].high < 0
    assert (found.budget, found.fixed_spends) == (0.2, {0: 0.0, 1: 1.0})
    nobody, lot = found.baselines
    assert (nobody.action, nobody.share, lot.action, lot.base, lot.share) == (0, 1.0, 1, 0, 0.2)
    assert nobody.gain == found.gains[0]
    assert lot.value.value == pytest.approx(0.8 * found.fixed[0].value + 0.2 * found.fixed[1].value)
    assert lot.gain.value == pytest.approx(found.value.value - lot.value.value)
    assert found.has_gain
    assert found.statement() == (
        f"The policy gains {lot.gain} over giving 1 to 20% at random and 0 (treating nobody) to the others, the best "
        "that the budget of 0.2 allows without a policy (95% interval)."
    )
    summary = found.summary()
    assert "Everyone 1: " in summary
    assert "; spends 1 per row, which breaks the budget." in summary
    assert "Giving 1 to 20% at random and 0 (treating nobody) to the others: " in summary
    assert f"It spends {found.spend:.4g} per row on these rows, of a budget of 0.2." in summary
    assert found.spend == pytest.approx(found.rates[1])
    assert "an action at random" not in summary
    figures = [row["figure"] for row in found.to_rows()]
    assert figures.count("gain over action within the budget") == 2
    # Where the budget pays for everyone, or there is none, nothing changes.
    wide, free = (policy.evaluate(PolicyTree(1, budget=most), X, treatment, outcome, **known) for most in (1.0, None))
    assert [baseline.share for baseline in wide.baselines] == [1.0, 1.0]
    assert wide.has_gain == free.has_gain
    assert free.baselines == ()
    assert "No gain over giving everyone 1" in free.statement()
    assert "budget of 1 no gain over giving everyone 1 can be shown" in wide.statement()


def test_a_budget_without_a_gain_says_over_what() -> None:
    X, treatment, outcome = draw_treatment(0.0)
    names = np.array(["wait", "act"])[treatment]
    known = {"propensity": {"act": 0.5, "wait": 0.5}, **QUICK}
    found = policy.evaluate(PolicyTree(1, budget=0.2), X, names, outcome, control="wait", **known)
    assert not found.has_gain
    assert found.statement().startswith("Within the budget of 0.2 no gain over ")
    assert "giving everyone 'wait' (treating nobody)" in found.statement()
    # The control was passed on to every fit, and spends are in units of their own.
    assert all(model.spends_ == {"act": 1.0, "wait": 0.0} for model in found.policies)
    priced = policy.evaluate(
        PolicyTree(1, budget=0.2), X, names, outcome, spends={"act": 4.0, "wait": 0.1}, control="wait", **known
    )
    shares = {baseline.action: baseline.share for baseline in priced.baselines}
    assert shares == {"wait": 1.0, "act": pytest.approx(0.1 / 3.9)}
    # Nothing says which action is nobody, or that any is free.
    with pytest.raises(ValueError, match=r"give spends=.*or control="):
        policy.evaluate(PolicyTree(1, budget=0.2), X, names, outcome, **known)
    with pytest.raises(ValueError, match="not both"):
        policy.evaluate(
            PolicyTree(1, budget=0.2), X, names, outcome, spends=[1, 0], fit_params={"spends": [1, 0]}, **known
        )


def test_a_budget_that_no_single_action_keeps() -> None:
    X, treatment, outcome = draw_treatment(1.0)
    spends = np.where((X[:, :1] < 2) == [True, False], 0.1, 1.0)
    found = policy.evaluate(
        PolicyTree(1, budget=0.2), X, treatment, outcome, spends=spends, propensity=[0.5, 0.5], **QUICK
    )
    assert found.baselines == ()
    assert found.statement().endswith("No single action for everyone keeps the budget.")
    assert found.spend <= 0.25


def test_a_budget_that_no_policy_meets_says_where(log: Any) -> None:
    with pytest.raises(ValueError, match=r"any is 0\.5 \(learning the policy on 640 of 800 rows, without a fold\)"):
        evaluate(log, PolicyTree(1, budget=0.2), fit_params={"spends": [0.5, 1, 2]})


def test_a_search_over_parameters_is_a_policy_too(log: Any) -> None:
    """The scores keep the names of their actions through its splits."""
    names = np.array(["none", "letter", "call"])
    search = GridSearchCV(PolicyTree(1), {"regularization": [0.0, 0.5]}, cv=2)
    for model in (search, make_pipeline(StandardScaler(), PolicyTree(1))):
        found = policy.evaluate(model, log.data, names[log.treatment], log.outcome, **QUICK)
        assert found.has_gain
        assert set(found.rates) == set(names)


def test_only_a_known_control_is_called_nobody(log: Any) -> None:
    names = np.array(["call", "letter", "none"])[::-1]

    def say(**settings: Any) -> str:
        rule, treatment = (lambda X: np.full(len(X), "none")), names[log.treatment]
        return policy.evaluate(
            rule, log.data, treatment, log.outcome, propensity=[1 / 3] * 3, **QUICK, **settings
        ).summary()

    assert "nobody" not in say()
    assert "'none' (treating nobody)" in say(control="none")
    assert "'none' (treating nobody)" in say(actions=names.tolist())
    assert "'call' (treating nobody)" in say(control="call")
    assert "0 (treating nobody)" in evaluate(log, lambda X: np.zeros(len(X))).statement()


def test_what_a_fit_needs_is_passed_on(log: Any) -> None:
    """A budget's spends by action as they are, weights by row cut to the rows at hand."""
    found = evaluate(log, PolicyTree(1, budget=0.2), fit_params={"spends": {0: 0.0, 1: 1.0, 2: 9.0}})
    assert all(model.spend_ <= 0.2 for model in found.policies)
    alike = evaluate(log, fit_params={"sample_weight": np.ones(800)})
    assert alike.value == evaluate(log).value
    tilted = evaluate(log, PolicyTree(0), fit_params={"sample_weight": np.where(log.planted == 2, 1.0, 1e-6)})
    assert tilted.rates[2] == 1


# What may be wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"repeats": 0}, "repeats must be an integer of at least 1"),
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"folds": 2}, "folds must be an integer of at least 3"),
        ({"control": "x"}, "control is 'x', which is not one of the actions 0, 1, 2"),
        ({"group": [1, 2]}, "group has 2 rows, but X has 800"),
        ({"model": lambda X: np.full(len(X), "x")}, "the policy gives 'x', which is not one of the actions"),
        ({"model": lambda X: np.zeros(3)}, "not one action per row"),
        ({"propensity": [0.5, 0.5, 0.0]}, "action 2 has 0.0"),
        ({"level": "95%"}, "level must be a number between 0 and 1, not '95%'"),
        ({"group": "city"}, r"group must have one value per row, but has shape \(\)"),
        ({"model": lambda X: pd.Series([pd.NA] * len(X))}, "the policy gives <NA>, which is not one of the actions"),
        ({"model": lambda X: [["x"]] * len(X)}, "not one action per row"),
        ({"fit_params": {"sample_weight": [1.0]}}, "sample_weight has 1 entries.*640 of 800 rows"),
    ],
)
def test_bad_settings(log: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(log, **settings)


def test_too_few_rows_of_an_action() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    with pytest.raises(ValueError, match="action 1 has 2 rows; at least 3 are needed"):
        policy.evaluate(PolicyTree(), X, [0] * 18 + [1] * 2, np.ones(20))
    found = policy.evaluate(PolicyTree(1), X, [0] * 17 + [1] * 3, np.arange(20.0), propensity_model=DummyClassifier())
    assert found.folds == 3


def test_what_is_no_policy(log: Any) -> None:
    with pytest.raises(TypeError, match=r"policy must be an estimator, a Tree or a function.*not a str"):
        evaluate(log, "treat all")
    with pytest.raises(TypeError, match="not the class PolicyTree"):
        evaluate(log, PolicyTree)
    with pytest.raises(TypeError, match=r"policy is a classifier .SparseTreeClassifier.*`predict`"):
        evaluate(log, SparseTreeClassifier())


# What the dependence between folds is counted as ----------------------------------------------------------------------


@pytest.mark.parametrize(("harm", "share_counted"), [(0.0, 1.0), (1.0, 0.118)])
def test_harmful_changes_are_counted_too_low(harm: float, share_counted: float) -> None:
    """The example of docs/policies.md: two folds, and a switch to an action that is truly worse by `harm` errors.

    Each fold is one row, its mean. Without an effect the covariance is counted in full on average; where folds teach
    each other a harmful change it is not, which is what is stated there.
    """
    normal = statistics.NormalDist()
    noise = np.random.default_rng(0).normal(size=(40_000, 2))
    seen = noise - harm
    is_learned = seen[:, ::-1] > 0  # by the policy that a fold judges, from the other fold
    true_covariance = np.prod(noise * is_learned, axis=1).mean()
    assert true_covariance == pytest.approx(normal.pdf(harm) ** 2, abs=0.005)
    counted = []
    for one, other in seen * is_learned:
        shift = np.array([[0.0, one], [other, 0.0]])
        trial = evaluation._Trial(
            np.zeros((2, 2)), np.zeros(2, int), shift, np.arange(2), np.empty(2, object), (), 2
        )  # fmt: skip
        counted.append(2 * evaluation._covariance(trial, slice(None)))
    expected = (normal.pdf(harm) - harm * normal.cdf(-harm)) ** 2
    assert np.mean(counted) == pytest.approx(expected, abs=0.003)
    assert expected / normal.pdf(harm) ** 2 == pytest.approx(share_counted, abs=0.001)


def test_progress_counts_what_is_learned(capsys: pytest.CaptureFixture[str]) -> None:
    made = make_policy(300, 2, depth=1, effect=2.0, random_state=0)
    log = policy.Log(made.data, made.treatment, made.outcome, propensity=[0.5, 0.5])
    quiet = policy.evaluate(PolicyTree(1), log, folds=3, repeats=2, random_state=0)
    assert capsys.readouterr().err == ""
    shown = policy.evaluate(PolicyTree(1, verbose=1), log, folds=3, repeats=2, random_state=0, verbose=1)
    printed = capsys.readouterr().err
    assert "learned without a fold" in printed
    assert "/24 " in printed  # two repeats of six models and six policies
    assert "objective" not in printed  # no bar of a single search
    assert shown.value == quiet.value
