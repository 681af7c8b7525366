"""Budgets and curves on amounts of very different size: limits are kept, bounds hold, and what is called optimal is.

The oracle is enumeration in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certree import PolicyTree, Problem, SparseTreeClassifier, certify, policy, solve
from certree.policy import budget as budgets


def enumerate_pairs(
    X: Any, rewards: Any, weights: Any, spends: Any, **settings: Any
) -> list[tuple[Fraction, Fraction]]:
    """Mean spend and objective of every tree that no other one beats in both, exactly."""
    problem = Problem.from_rewards(X, rewards, weights, **settings)
    exact = [Fraction(weight) for weight in weights.tolist()]
    total = sum(exact)
    ceiling = sum(w * max(map(Fraction, row)) for w, row in zip(exact, rewards.tolist(), strict=True)) / total
    pairs = certify.enumerate_spends(problem, spends * weights[:, None])
    return [(spend, ceiling - cost) for spend, cost in pairs]


def draw(seed: int, n_rows: int = 12) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, 4, (n_rows, 2)).astype(float), rng.normal(size=(n_rows, 3))


@pytest.mark.parametrize("forbidding", [1e3, 1e9, 1e11, 1e13, 1e100])
def test_one_forbidding_cost_does_not_loosen_the_budget(forbidding: float) -> None:
    rng = np.random.default_rng(0)
    X, rewards = rng.integers(0, 6, (200, 3)).astype(float), rng.normal([0, 1], size=(200, 2))
    is_forbidden = rng.random(200) < 0.1
    X[:, 0] = is_forbidden
    spends = np.column_stack([np.zeros(200), np.where(is_forbidden, forbidding, 1.0)])
    model = PolicyTree(2, budget=0.2).fit(X, rewards, spends=spends)
    given = model.predict(X)
    assert spends[np.arange(200), given].mean() == model.spend_ <= 0.2
    assert model.value_ > rewards[:, 0].mean()
    assert model.status_ == "optimal"
    assert model.certificate_["rounding"] <= 1e-9
    assert certify.check(model.certificate_, model.tree_, X, rewards=rewards, spends=spends).holds
    loose = PolicyTree(2, budget=0.2000001).fit(X, rewards, spends=spends)
    if loose.spend_ > 0.2 * (1 + 1e-12):
        claim = loose.certificate_ | {"budget": loose.certificate_["budget"] | {"largest": 0.2}}
        assert not certify.check(claim, loose.tree_, X, rewards=rewards, spends=spends).holds


@pytest.mark.parametrize("forbidding", [1e6, 1e12, 1e18])
@pytest.mark.parametrize("least", [0.0, 0.3])
def test_the_optimum_beside_forbidding_costs_is_that_of_enumeration(forbidding: float, least: float) -> None:
    for seed in range(6):
        rng, X, rewards = draw(seed)
        weights = rng.lognormal(size=12)
        spends = rng.exponential(size=(12, 3)) + least
        spends[:, 0] = least
        spends[rng.random((12, 3)) < 0.2] = forbidding
        spends[np.arange(12), rng.integers(0, 3, 12)] = least
        pairs = enumerate_pairs(X, rewards, weights, spends, max_depth=2)
        for budget in {float(pairs[0][0]), float(pairs[0][0]) + 0.2, float(pairs[len(pairs) // 2][0])}:
            best = max(value for spend, value in pairs if spend <= Fraction(budget) * (1 + Fraction(1, 10**12)))
            model = PolicyTree(2, budget=budget).fit(X, rewards, weights, spends=spends)
            assert model.status_ == "optimal"
            assert model.spend_ <= budget * (1 + 1e-12)
            assert model.objective_ == pytest.approx(float(best), rel=0, abs=1e-9)
            verdict = certify.check(
                model.certificate_, model.tree_, X, None, weights, rewards=rewards, spends=spends, prove_bound=True
            )
            assert verdict.holds, verdict.failures


def test_what_rounding_leaves_open_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    _, X, rewards = draw(0, 40)
    settled = PolicyTree(2, budget=0.4).fit(X, rewards)
    assert settled.status_ == "optimal"
    assert settled.upper_bound_ == settled.objective_
    monkeypatch.setattr(budgets, "NEGLIGIBLE", 0.0)
    open_still = PolicyTree(2, budget=0.4).fit(X, rewards)
    assert open_still.status_ == "approximate"
    assert 0 < open_still.gap_ == open_still.upper_bound_ - open_still.objective_ < 1e-9
    assert open_still.objective_ == settled.objective_


@pytest.mark.parametrize("spread", [1e3, 1e15])
def test_no_tree_is_above_the_curve_where_weights_differ(spread: float) -> None:
    for seed in range(12):
        rng, X, rewards = draw(seed)
        weights = np.exp(rng.uniform(0, np.log(spread), 12))
        spends = np.tile([0.0, 1.0, 2.0], (12, 1)) if seed % 2 else rng.exponential(size=(12, 3))
        pairs = enumerate_pairs(X, rewards, weights, spends, max_depth=2, regularization=0.01)
        curve = policy.budget_curve(X, rewards, weights, spends=spends, max_depth=2, regularization=0.01)
        for spend, value in pairs:
            if float(spend) >= curve[0].spend:
                assert value <= Fraction(curve.bound(float(spend)))
        assert Fraction(curve.bound(np.inf)) >= pairs[-1][1]
        # The last corner is the best tree without a budget, whatever rounding did at other prices.
        assert curve[-1].objective == pytest.approx(float(pairs[-1][1]), rel=1e-12, abs=1e-14)
        assert curve.bound(np.inf) == pytest.approx(float(pairs[-1][1]), rel=1e-9, abs=1e-11)
        for point in curve:
            assert point.objective <= curve.bound(point.spend)
            best = max(value for spend, value in pairs if spend <= Fraction(point.spend) * (1 + Fraction(1, 10**12)))
            assert point.objective == pytest.approx(float(best), rel=0, abs=1e-9)


# Amounts near the ends of what a float holds --------------------------------------------------------------------------


def draw_plain() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 6, (40, 3)).astype(float), rng.normal(size=(40, 2)), rng.integers(1, 5, 40).astype(float)


@pytest.mark.parametrize(
    ("cost", "weight"), [(1e200, 1e-200), (1e-200, 1e200), (1e-200, 1.0), (1.0, 1e-200), (1.0, 1e200)]
)
def test_costs_and_weights_of_any_scale_that_floats_can_hold(cost: float, weight: float) -> None:
    X, rewards, weights = draw_plain()
    costs = rewards.max(axis=1, keepdims=True) - rewards
    plain = solve(Problem.from_costs(X, costs, weights, max_depth=2))
    scaled = solve(Problem.from_costs(X, costs * cost, weights * weight, max_depth=2))
    assert scaled.upper / cost == pytest.approx(plain.upper, rel=1e-12)
    model = PolicyTree(2, budget=0.3).fit(X, rewards * cost, weights * weight)
    own = PolicyTree(2, budget=0.3).fit(X, rewards, weights)
    assert model.value_ / cost == pytest.approx(own.value_, rel=1e-12)
    assert model.spend_ == pytest.approx(own.spend_, rel=1e-12)


@pytest.mark.parametrize(
    ("cost", "weight", "size"), [(1e200, 1e200, "large"), (1e-200, 1e-200, "small"), (1e-310, 1.0, "small")]
)
def test_products_that_floats_cannot_hold_are_refused(cost: float, weight: float, size: str) -> None:
    X, rewards, weights = draw_plain()
    costs = (rewards.max(axis=1, keepdims=True) - rewards) * cost
    words = f"too {size}: row .* has .* times .* between 1e-250 and 1e.250"
    with pytest.raises(ValueError, match=f"costs times sample_weight is {words}"):
        Problem.from_costs(X, costs, weights * weight)
    for settings in ({}, {"budget": 0.3}):
        with pytest.raises(ValueError, match=f"rewards (times sample_weight is {words}|must be 0 everywhere or reach)"):
            PolicyTree(1, **settings).fit(X, rewards * cost, weights * weight)
    # A row that is lost beside others is no matter.
    costs[1:] /= cost
    lost = np.where(np.arange(40) == 0, weights * weight, weights)
    if size == "small":
        assert solve(Problem.from_costs(X, costs, lost, max_depth=1)).is_optimal


def test_tiny_rewards_of_heavy_rows() -> None:
    # One unit of fixed point, in units of the reward, is below what floats hold with all their digits.
    rewards = np.array(
        [
            [9.999993171560597e-295, 1.0000002373309306e-294, 1.000000650361823e-294],
            [9.999987605347155e-295, 1.0000004839180083e-294, 9.999992898072708e-295],
        ]
    )
    weights = np.array([1.5119252169494326e150, 1.6104235367949309e150])
    X = np.array([[0.0], [0.5]])
    model = PolicyTree(max_depth=1, regularization=1e-300).fit(X, rewards, sample_weight=weights)
    verdict = certify.check(model.certificate_, model.tree_, X, rewards=rewards, sample_weight=weights)
    assert model.status_ == "optimal"
    assert verdict.holds, verdict.failures


def test_large_rewards_of_heavy_rows() -> None:
    X, rewards, weights = draw_plain()
    with pytest.raises(ValueError, match=r"rewards times sample_weight is too large: row 24 has .* times 4e\+300"):
        PolicyTree(1).fit(X, rewards * 1e7, weights * 1e300)
    with pytest.raises(ValueError, match="rewards times sample_weight is too large"):
        PolicyTree(1).fit(X, rewards + 1e7, weights * 1e246)
    model = PolicyTree(1).fit(X, rewards, weights)
    assert model.score(X, rewards * 1e7, weights * 1e300) == pytest.approx(1e7 * model.value_, rel=1e-12)


def test_class_weights_of_tiny_weights() -> None:
    X, _, weights = draw_plain()
    y = np.arange(40) % 2
    with pytest.raises(ValueError, match="class_weight times sample_weight is too small"):
        SparseTreeClassifier(2, 0.01, class_weight={0: 1.0, 1: 0.3}).fit(X, y, weights * 1e-310)


@pytest.mark.parametrize("settings", [{"reference": "boosting"}, {"thresholds": "guess"}, {"method": "duplicate"}])
def test_guesses_of_tiny_weights(settings: dict[str, Any]) -> None:
    X, _, weights = draw_plain()
    y = np.arange(40) % 2
    plain = SparseTreeClassifier(2, 0.01, **settings).fit(X, y, weights)
    tiny = SparseTreeClassifier(2, 0.01, **settings).fit(X, y, weights * 1e-310)
    assert tiny.objective_ == pytest.approx(plain.objective_, rel=1e-9)


@pytest.mark.parametrize("depth", [2, None])
def test_the_smallest_penalty(depth: int | None) -> None:
    X, rewards, _ = draw_plain()
    least = PolicyTree(depth, 5e-324, budget=0.3, max_leaves=4).fit(X, rewards)
    none = PolicyTree(depth, 0.0, budget=0.3, max_leaves=4).fit(X, rewards)
    assert least.status_ == none.status_ == "optimal"
    assert least.value_ == none.value_


@pytest.mark.parametrize("unit", [1e-149, 1e-100, 1e100, 1e149])
def test_spends_in_any_unit(unit: float) -> None:
    X, rewards, weights = draw_plain()
    plain = PolicyTree(2, budget=0.3).fit(X, rewards, weights, spends=[0, 1])
    scaled = PolicyTree(2, budget=0.3 * unit).fit(X, rewards, weights, spends=[0, unit])
    assert scaled.status_ == "optimal"
    assert scaled.value_ == plain.value_
    assert scaled.spend_ / unit == pytest.approx(plain.spend_, rel=1e-12)
    assert scaled.price_ * unit == pytest.approx(plain.price_, rel=1e-9)
    curves = (policy.budget_curve(X, rewards, weights, spends=[0, spend]) for spend in (1, unit))
    assert len({len(curve) for curve in curves}) == 1


@pytest.mark.parametrize("unit", [1e-320, 1e-310])
def test_rewards_that_floats_hold_few_digits_of_are_refused(unit: float) -> None:
    with pytest.raises(ValueError, match=r"rewards must be 0 everywhere or reach .* Choose another unit"):
        PolicyTree(1).fit([[0.0], [1.0]], [[unit, 2 * unit], [0.0, -unit]])
    mixed = PolicyTree(1, 0.0).fit([[0.0], [1.0]], [[unit, 1.0], [0.0, -unit]])
    assert mixed.status_ == "optimal"


def test_a_price_beyond_floats_is_not_tried() -> None:
    # What the better action is worth per unit of spend is 1e356.
    X, rewards, spends = [[1.0]], [[1e206, 1.1e206]], [[0.0, 1e-150]]
    model = PolicyTree(0, 0.0, budget=0.0).fit(X, rewards, spends=spends)
    assert (model.status_, model.spend_, model.value_) == ("optimal", 0.0, 1e206)


def test_a_price_below_floats_ends_the_search() -> None:
    # What the better action is worth per unit of spend is 1e-350.
    X, rewards, spends = [[1.0]], [[0.0, 1e-200]], [[0.0, 1e150]]
    model = PolicyTree(0, 0.0, budget=1e149).fit(X, rewards, spends=spends)
    assert (model.spend_, model.value_) == (0.0, 0.0)
    assert policy.budget_curve(X, rewards, spends=spends, max_depth=0).points[0].spend == 0.0


@pytest.mark.parametrize("spend", [1e-310, 1e-151, 1e151, 1e308])
def test_spends_whose_prices_are_no_numbers_are_refused(spend: float) -> None:
    X, rewards, _ = draw_plain()
    for fit in (PolicyTree(1, budget=0.3 * spend).fit, policy.budget_curve):
        with pytest.raises(ValueError, match=r"must be 0 or between 1e-150 and 1e\+150: row 0, action 1 has"):
            fit(X, rewards, spends=[0, spend])
