"""The certificate: frozen plain data with names, and nothing is called optimal without saying among which trees."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certree import Certificate, PolicyTree, Problem, SparseTreeClassifier, certify, solve
from certree.datasets import make_weighted
from certree.export import export_json, load

TABLE = make_weighted(n_rows=60, random_state=4)


def fit(**settings: Any) -> SparseTreeClassifier:
    return SparseTreeClassifier(**{"max_depth": 2, **settings}).fit(TABLE.data, TABLE.target, TABLE.sample_weight)


def policy_of(**settings: Any) -> PolicyTree:
    rewards = np.column_stack([np.zeros(60), TABLE.data[:, 0]])
    return PolicyTree(1, **settings).fit(TABLE.data, rewards)


def test_fields_have_names_and_parts_that_are_not_there_are_none() -> None:
    certificate = fit().certificate_
    assert certificate.status == certificate["status"] == "optimal"
    assert certificate.constraints["max_depth"] == 2
    assert certificate.guarantees == {}
    assert certificate.policy is None
    assert "policy" not in certificate
    assert {"status", "objective", "digests"} <= set(dir(certificate))
    with pytest.raises(AttributeError, match="no field 'optimum'"):
        certificate.optimum  # noqa: B018


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own.update(status="optimal"),
        lambda own: own.__setitem__("status", "optimal"),
        lambda own: own["constraints"].__setitem__("max_depth", 9),
        lambda own: own.pop("gap"),
        lambda own: own.clear(),
        lambda own: own.setdefault("new", 1),
        lambda own: own.__delitem__("gap"),
        lambda own: own.popitem(),
        lambda own: own.__ior__({"gap": 0}),
        lambda own: setattr(own, "gap", 0.0),
    ],
)
def test_it_cannot_be_changed(change: Any) -> None:
    certificate = fit().certificate_
    before = certificate.to_dict()
    with pytest.raises(TypeError, match="cannot be changed"):
        change(certificate)
    assert certificate == before


def test_a_copy_of_plain_data_can_be_changed() -> None:
    certificate = fit().certificate_
    plain = certificate.to_dict()
    assert type(plain) is type(plain["constraints"]) is dict
    plain["constraints"]["max_depth"] = 9
    assert certificate.constraints["max_depth"] == 2


def test_it_travels_through_json_pickle_and_copies() -> None:
    certificate = fit(class_weight="balanced", method="duplicate", duplication=1000).certificate_
    assert json.loads(json.dumps(certificate)) == certificate
    for twin in (pickle.loads(pickle.dumps(certificate)), copy.copy(certificate), copy.deepcopy(certificate)):
        assert isinstance(twin, Certificate)
        assert twin == certificate
    other = certificate | {"gap": 1.0}
    assert isinstance(other, Certificate)
    assert (other.gap, certificate.gap) != (certificate.gap, other.gap)


def test_a_loaded_model_has_one() -> None:
    model = fit()
    twin = load(export_json(model))
    assert isinstance(twin.certificate_, Certificate)
    assert twin.certificate_ == model.certificate_


def test_a_pickle_of_the_first_release_has_one_too() -> None:
    with (Path(__file__).parent / "data" / "classifier-0.1.0.pickle").open("rb") as file:
        model = pickle.load(file)
    assert isinstance(model.certificate_, Certificate)
    assert model.certificate_.digests is None
    assert model.certificate_.statement.startswith("proved optimal among all trees of depth at most")
    assert "proved optimal" in str(model)
    assert "proved optimal" in model._repr_html_()


@pytest.mark.parametrize(
    ("settings", "statement"),
    [
        ({}, "proved optimal among all trees of depth at most 2"),
        ({"max_depth": None, "regularization": 0.1}, "proved optimal among all trees"),
        (
            {"max_leaves": 3, "min_samples_leaf": 5},
            "proved optimal among all trees of depth at most 2 with at most 3 leaves and at least 5 rows per leaf",
        ),
        (
            {"thresholds": 4, "min_weight_leaf": 2.0},
            "proved optimal among all trees of depth at most 2 with at least 2 of weight per leaf, over at most 4 ",
        ),
        ({"method": "duplicate", "duplication": 1000}, "the best for weights rounded to counts among all trees of "),
        ({"method": "sample", "random_state": 0}, "the best for a sample of the rows among all trees of depth "),
        (
            {"reference": "boosting"},
            "as good as the reference model promises, among all trees of depth at most 2",
        ),
    ],
)
def test_what_is_proved_has_its_scope(settings: dict[str, Any], statement: str) -> None:
    certificate = fit(**settings).certificate_
    assert certificate.statement.startswith(statement)
    assert ("proved optimal" in statement) == (certificate.status == "optimal")
    assert certificate.statement in " ".join(certificate.summary().split())
    assert certificate.statement in certificate._repr_html_()


def test_guessed_tests_are_counted_in_the_scope() -> None:
    certificate = fit(thresholds="guess").certificate_
    stated = certificate["guarantees"]["thresholds"]
    assert stated["n_kept"] < stated["n_tests"]
    expected = f"all trees of depth at most 2 over {stated['n_kept']:,} of {stated['n_tests']:,} tests"
    assert certificate.scope == expected


def test_a_policy_states_its_budget() -> None:
    model = policy_of(budget=0.25)
    assert model.certificate_.statement == (
        "proved optimal among all policy trees of depth at most 1 that spend at most 0.25 per row"
    )
    assert "spends       action 0: 0, action 1: 1" in model.certificate_.summary()
    assert "spends       none: 0, letter: 1" in model.certificate_.summary(["none", "letter"])
    assert "budget" not in policy_of().certificate_.summary()


def test_a_stopped_search_claims_no_proof() -> None:
    certificate = fit().certificate_ | {"status": "time_limit", "gap": 0.5}
    assert (
        certificate.statement == "the best found among all trees of depth at most 2; stopped by the time limit, gap 0.5"
    )
    assert "proved" not in (certificate | {"status": "interrupted"}).summary()


def test_a_solution_carries_one_that_can_be_checked() -> None:
    solution = solve(Problem.from_labels(TABLE.data, TABLE.target, TABLE.sample_weight, max_depth=2))
    assert isinstance(solution.certificate, Certificate)
    assert certify.check(solution.certificate, solution.tree, TABLE.data, TABLE.target, TABLE.sample_weight).holds
