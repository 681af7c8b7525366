"""Whoever changes a model file is found out: each field of certificate and tree, one at a time.

The fields come from the documents themselves, so that none added later can escape. What a check cannot notice is listed
in docs/trust.md; a field that is neither noticed nor listed fails here, and so does a listed one that is noticed.
"""

from __future__ import annotations

import copy
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree import PolicyTree, SparseTreeClassifier, certify, good_trees
from certree.export import export_json, load
from certree.tree import Tree
from certree.weights import WeightLossWarning

TRUST = Path(__file__).parents[1] / "docs" / "trust.md"
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Claim:
    """A model file, and how to check what it claims."""

    document: dict[str, Any]
    check: Callable[[dict[str, Any], Tree], certify.Verdict]


def make_table(n_rows: int = 60) -> tuple[pd.DataFrame, Any, Any]:
    """Columns of every kind, missing values, three labels and weights, a few of them zero."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": rng.integers(0, 6, n_rows) + 0.5,
            "age": np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(20, 30, n_rows)),
            "colour": rng.choice(["red", "green", "blue", None], n_rows),
            "member": rng.random(n_rows) < 0.5,
        }
    )
    score = (frame["size"] > 3).astype(int) + 2 * (frame["colour"] == "red") + (frame["age"] > 24)
    y = np.array(["low", "mid", "high"])[np.minimum(score.to_numpy(), 2)]
    y = np.where(rng.random(n_rows) < 0.15, "mid", y)
    weights = rng.lognormal(size=n_rows)
    weights[:4] = 0
    return frame, y, weights


def claim_labels(**settings: Any) -> Claim:
    frame, y, weights = make_table()
    settings = {"max_depth": 2, "regularization": 0.01, "min_samples_leaf": 2, "random_state": 0, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightLossWarning)  # a small factor loses rows, and the certificate says so
        model = SparseTreeClassifier(**settings).fit(frame, y, weights)
    return Claim(
        json.loads(export_json(model)),
        lambda certificate, tree: certify.check(certificate, tree, frame, y, weights),
    )


def claim_rewards(spends: Any = None, **settings: Any) -> Claim:
    frame, _, weights = make_table()
    rng = np.random.default_rng(6)
    rewards = rng.normal(size=(len(frame), 3)) + np.outer(frame["size"] - 3, [0, 1, -1])
    arms = rng.integers(0, 3, len(frame))
    model = PolicyTree(2, 0.01, min_samples_arm=1, **settings)
    model.fit(frame, rewards, weights, treatment=arms, **({} if spends is None else {"spends": spends}))
    return Claim(
        json.loads(export_json(model)),
        lambda certificate, tree: certify.check(
            certificate, tree, frame, sample_weight=weights, rewards=rewards, arms=arms, spends=spends
        ),
    )


CLAIMS: dict[str, Callable[[], Claim]] = {
    "direct": lambda: claim_labels(class_weight="balanced", max_leaves=4, min_weight_leaf=0.3),
    "stopped": lambda: claim_labels(max_depth=4, regularization=0.0001, time_limit=0.0),
    "duplicate": lambda: claim_labels(method="duplicate", duplication=7),
    "sample": lambda: claim_labels(method="sample"),
    "reference": lambda: claim_labels(reference="boosting"),
    "guessed thresholds": lambda: claim_labels(thresholds="guess"),
    "guessed depth": lambda: claim_labels(max_depth="guess", regularization=0.05),
    "quantiles": lambda: claim_labels(thresholds=2),
    "edited": lambda: claim_labels(
        start={"test": "size <= 3", "left": "leaf", "right": "colour == 'red'"}, forbidden=["member", "age <= 24"]
    ),
    "policy": lambda: claim_rewards(),
    "budget": lambda: claim_rewards({0: 0.0, 1: 1.0, 2: 0.5}, budget=0.4),
}


@cache
def claim(name: str) -> Claim:
    return CLAIMS[name]()


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every field, and every entry of every list."""
    if place:
        yield place
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*place, index))


def wrong_values(value: Any) -> list[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 2**32]
    if isinstance(value, float):
        return [value * 1.5 + 1e-3, value + 1e-9 * abs(value) if value > 1e-3 else 1e-6]
    if isinstance(value, str):
        return [("0" if value[:1] != "0" else "1") + value[1:]]
    if isinstance(value, list):
        return [value[:-1], [*value, value[-1]]] if value else [[1.0]]
    if value is None:
        return [7]
    return [{}] if value else [{"more": 1}]


def wrong_types(value: Any) -> list[Any]:
    """Values of types that the field must not have."""
    others: list[Any] = ["7", True, None, [[1]], {}, 3.5, math.nan, math.inf]
    kinds: tuple[type, ...] = (int, float) if isinstance(value, float) else (type(value),)
    return [other for other in others if not (isinstance(other, kinds) and isinstance(other, bool) == (value is True))]


def changed(document: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    twin = copy.deepcopy(document)
    inner: Any = twin
    for step in place[:-1]:
        inner = inner[step]
    if value is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return twin


MISSING = object()


def is_noticed(own: Claim, document: dict[str, Any]) -> bool:
    """By the check of what was changed, or by whoever loads the file; neither may break in any other way."""
    try:
        tree = Tree.from_dict(document["tree"])
        if not own.check(document["certificate"], tree).holds:
            return True
        load(json.dumps(document))
    except ValueError:
        return True
    return False


def name_of(place: Place) -> str:
    return ".".join("*" if isinstance(step, int) else step for step in place)


@cache
def listed() -> list[str]:
    """The fields that docs/trust.md says are not part of the claim."""
    text = TRUST.read_text(encoding="utf-8")
    section = re.search(r"^## Fields that are not part of the claim$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert section
    rows = [line.split("|")[1] for line in section.group(1).splitlines() if line.startswith("|")]
    return [name for row in rows for name in re.findall("`([^`]+)`", row)]


def is_listed(place: str) -> bool:
    return any(fnmatchcase(place, pattern) for pattern in listed())


@pytest.mark.parametrize("name", CLAIMS)
def test_an_honest_model_holds(name: str) -> None:
    own = claim(name)
    verdict = own.check(own.document["certificate"], Tree.from_dict(own.document["tree"]))
    assert verdict.failures == ()


def find_escapes(name: str, part: str, *, only_listed: bool, has_plausible: bool = True) -> set[str]:
    """The fields, listed or not, that can be changed unnoticed: to values of their type, if asked, and to any other."""
    own, found = claim(name), set()
    for place in places(own.document[part], (part,)):
        if len(place) == 1 or is_listed(name_of(place)) != only_listed:
            continue
        value: Any = own.document
        for step in place:
            value = value[step]
        missing = [] if isinstance(place[-1], int) else [MISSING]
        for other in (*(wrong_values(value) if has_plausible else ()), *wrong_types(value), *missing):
            if not is_noticed(own, changed(own.document, place, other)):
                found.add(f"{name_of(place)}: {'missing' if other is MISSING else repr(other)}")
    return found


@pytest.mark.parametrize("name", CLAIMS)
def test_every_changed_field_of_a_certificate_is_noticed_or_listed(name: str) -> None:
    assert not find_escapes(name, "certificate", only_listed=False)


# What a tree states of itself depends on whether it has labels, and on whether actions spend.
@pytest.mark.parametrize("name", ["direct", "policy", "budget"])
def test_every_changed_field_of_a_tree_is_noticed_or_listed(name: str) -> None:
    assert not find_escapes(name, "tree", only_listed=False)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_listed_field_is_there_and_of_its_type(name: str) -> None:
    """But for the words of a test, which nobody reads; and a time limit may be none."""
    escapes = find_escapes(name, "certificate", only_listed=True, has_plausible=False)
    escapes |= find_escapes(name, "tree", only_listed=True, has_plausible=False)
    assert {escape.split(":")[0] for escape in escapes} <= {"certificate.limits.time_limit", "tree.nodes.*.test"}


# Tables in parts ------------------------------------------------------------------------------------------------------


def claim_parts(kind: str) -> Claim:
    """A model that was fitted in parts, and is checked there."""
    pytest.importorskip("distributed", reason="the extra certree[dask] is not installed")
    from in_parts import PlainClient, cut

    from certree.dask import DaskPolicyTree, DaskSparseTreeClassifier

    frame, y, weights = make_table()
    rng = np.random.default_rng(6)
    rewards = pd.DataFrame(rng.normal(size=(len(frame), 3)) + np.outer(frame["size"] - 3, [0, 1, -1]))
    X, given, ends = cut(frame, [30]), cut(pd.Series(weights), [30]), [30]
    labels, scores, arms = cut(pd.Series(y), ends), cut(rewards, ends), cut(pd.Series(rng.integers(0, 3, 60)), ends)
    settings: dict[str, Any] = {"max_depth": 2, "regularization": 0.01, "thresholds": 5}

    def check(certificate: dict[str, Any], tree: Tree) -> certify.Verdict:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("certree.dask.checking.default_client", PlainClient)
            if kind == "labels":
                return certify.check(certificate, tree, X, labels, given)
            return certify.check(certificate, tree, X, sample_weight=given, rewards=scores, arms=arms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("certree.dask.estimators.default_client", PlainClient)
        model: Any
        if kind == "labels":
            model = DaskSparseTreeClassifier(**settings, class_weight="balanced", forbidden=["member", "age <= 24"])
            model.fit(X, labels, given)
        else:
            model = DaskPolicyTree(**settings, min_samples_arm=1).fit(X, scores, given, treatment=arms)
    return Claim(json.loads(export_json(model.to_local())), check)


@pytest.mark.parametrize("kind", ["labels", "rewards"])
def test_every_changed_field_of_a_table_in_parts_is_noticed_or_listed(kind: str) -> None:
    own, unnoticed, seen = claim_parts(kind), set(), set()
    assert own.check(own.document["certificate"], Tree.from_dict(own.document["tree"])).failures == ()
    for place in places(own.document["certificate"], ("certificate",)):
        name = name_of(place)
        # One entry of each list: a check reads the whole table.
        if len(place) == 1 or name in seen or is_listed(name) or name == "certificate.digests.rows":
            continue
        seen.add(name)
        value: Any = own.document
        for step in place:
            value = value[step]
        others = [wrong_values(value)[0], wrong_types(value)[-3], *([MISSING] if isinstance(place[-1], str) else [])]
        for other in others:
            if not is_noticed(own, changed(own.document, place, other)):
                unnoticed.add(f"{name}: {'missing' if other is MISSING else repr(other)}")
    assert unnoticed == set()
    # Digests of rows in order cannot be compared with rows in parts, and the verdict says so.
    in_order = changed(own.document, ("certificate", "digests", "rows"), MISSING)["certificate"]
    verdict = own.check(in_order, Tree.from_dict(own.document["tree"]))
    assert not verdict.holds or "in the order that the digests are about" in verdict.trusted[0]


# Sets of good trees ---------------------------------------------------------------------------------------------------

ON_TRUST = (
    "certree", "count.*", "idle", "complete_below", "restrictions", "restrictions.*", "restrictions.*.leaves",
    "restrictions.*.leaves.*", "restrictions.*.without", "restrictions.*.root",
)  # fmt: skip
"""Fields of which a check of some trees alone does not notice everything: they say how many trees there are, and
which. docs/trust.md says so, and `prove` compares them."""


def make_set(**settings: Any) -> tuple[dict[str, Any], Callable[[Any], certify.SetVerdict]]:
    """The certificate of a set, and its check."""
    frame, y, weights = make_table()
    settings = {"max_depth": 2, "regularization": 0.02, "tolerance": 0.02, **settings}
    found = good_trees(frame, y, weights, **settings)
    # How much memory leaves some trees but not all is up to the engine.
    while "memory_limit" in settings and not found:
        settings["memory_limit"] += 10_000
        found = good_trees(frame, y, weights, **settings)
    if "class_weight" in settings:
        found = found.restrict(without="member", leaves=(2, 4), root="size")
    trees = [member.tree for member in found[:20]]
    return json.loads(json.dumps(found.certificate_)), lambda own: certify.check_set(own, trees, frame, y, weights)


SETS: dict[str, dict[str, Any]] = {
    "restricted": {"class_weight": "balanced"},
    "edited": {"start": "size <= 3", "forbidden": ["member", "age <= 24"]},
    "stopped": {"memory_limit": 20_000, "max_depth": 3, "regularization": 0.005, "tolerance": 0.03},
}


@pytest.mark.parametrize("name", SETS)
def test_every_changed_field_of_a_set_is_noticed_or_on_trust(name: str) -> None:
    document, check = make_set(**SETS[name])
    assert check(document).failures == ()
    assert document["is_complete"] == (name != "stopped")
    unnoticed = set()
    for place in places(document):
        value: Any = document
        for step in place:
            value = value[step]
        is_on_trust = name_of(place) in ON_TRUST
        others = [other for other in wrong_types(value) if not (isinstance(value, bool) and isinstance(other, bool))]
        others += [] if is_on_trust else wrong_values(value)
        if isinstance(place[-1], str) and (len(place) == 1 or not is_on_trust):
            others.append(MISSING)
        for other in others:
            try:
                holds = check(changed(document, place, other)).holds
            except ValueError:
                holds = False
            if holds:
                unnoticed.add(f"{name_of(place)}: {'missing' if other is MISSING else repr(other)}")
    assert unnoticed == set()


def test_a_member_with_another_root_than_the_set_was_restricted_to() -> None:
    frame, y, weights = make_table()
    found = good_trees(frame, y, weights, tolerance=0.1, max_depth=2, regularization=0.02)
    roots = {tree.tests[0]: tree.tree for tree in reversed(found[:200]) if tree.tests}
    asked, other = list(roots)[:2]
    stated = found.restrict(root=asked).certificate_
    assert certify.check_set(stated, [roots[asked]], frame, y, weights).holds
    assert "its root does not ask" in certify.check_set(stated, [roots[other]], frame, y, weights).failures[0]
    unknown = dict(stated, restrictions=[{"root": "weather <= 3"}])
    assert "no column 'weather'" in certify.check_set(unknown, [roots[asked]], frame, y, weights).failures[0]


def test_no_field_is_listed_without_need() -> None:
    unnoticed = find_escapes("direct", "tree", only_listed=True)
    for name in ("direct", "sample", "reference", "guessed thresholds", "budget"):
        unnoticed |= find_escapes(name, "certificate", only_listed=True)
    fields = {found.split(":")[0] for found in unnoticed}
    assert {pattern for pattern in listed() if not any(fnmatchcase(field, pattern) for field in fields)} == set()
