"""Digests tell tables apart by their values, and by nothing else."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from certree import PolicyTree, Problem, SparseTreeClassifier, certify, solve
from certree.features import bin_numeric, make_features
from certree.fingerprint import fingerprint_columns
from certree.solver import bin_numeric as engine_bin_numeric

FRAME = pd.DataFrame(
    {
        "size": [2, 3, 2, 5, 7, 11],
        "age": [20.5, np.nan, 31.0, 20.5, 40.0, np.nan],
        "colour": ["red", None, "blue", "red", "green", "red"],
        "member": [True, False, True, True, False, False],
        "level": pd.Categorical(["mid", "low", "high", "mid", "low", "low"], ["low", "mid", "high"], ordered=True),
    }
)
Y = np.array(["b", "a", "b", "b", "a", "a"])


def digests(X: Any, y: Any = Y, weights: Any = None, **settings: Any) -> dict[str, str]:
    found: dict[str, str] = SparseTreeClassifier(1, 0.01, **settings).fit(X, y, weights).certificate_["digests"]
    return found


def test_the_container_does_not_matter() -> None:
    own = digests(FRAME)
    levels = pl.Enum(["low", "mid", "high"])
    frame = pl.from_pandas(FRAME).with_columns(level=pl.Series(FRAME["level"].tolist(), dtype=levels))
    assert digests(frame) == own
    assert digests(frame, Y.tolist()) == own
    nullable = FRAME.astype({"size": "Int64", "age": "Float64", "member": "boolean", "colour": "string"})
    assert digests(nullable) == own
    numbers = FRAME[["size", "age"]]
    matrix = numbers.to_numpy()
    named = digests(numbers.set_axis(["x0", "x1"], axis=1))
    for twin in (matrix, matrix.astype(">f8"), np.asfortranarray(matrix), matrix.astype(object), matrix.tolist()):
        assert digests(twin) == named
    assert digests(matrix[:, :1].astype(np.int8))["columns"] == digests(matrix[:, :1].astype(">f4"))["columns"]
    assert digests([[-0.0], [1.0]], [0, 1]) == digests([[0], [1]], [0, 1])


def test_any_value_matters() -> None:
    weights = np.arange(1.0, 7.0)
    own, seen = digests(FRAME, weights=weights), set()
    for name in FRAME.columns:
        for other in (FRAME.drop(columns=name), FRAME.rename(columns={name: f"{name}_"}), FRAME.assign(**{name: 1.5})):
            seen.add(digests(other, weights=weights)["columns"])
    swapped = FRAME.copy()
    swapped.loc[[0, 1], "size"] = swapped.loc[[1, 0], "size"].to_numpy()
    seen |= {digests(swapped, weights=weights)["columns"], digests(FRAME.iloc[::-1], weights=weights)["columns"]}
    seen.add(digests(FRAME.astype({"colour": "category"}).replace({"age": {31.0: 31.000001}}))["columns"])
    assert len(seen) == 3 * FRAME.shape[1] + 3
    assert own["columns"] not in seen
    for others in ({"y": Y[::-1]}, {"y": np.char.upper(Y)}, {"weights": weights + 1e-9}, {"weights": None}):
        found = digests(**({"X": FRAME, "weights": weights} | others))
        assert found["columns"] == own["columns"]
        assert found["table"] != own["table"]
    for settings in ({"max_leaves": 2}, {"min_samples_leaf": 2}, {"thresholds": 1}, {"min_weight_leaf": 0.1}):
        found = digests(FRAME, weights=weights, **settings)
        assert (found["columns"], found["table"]) == (own["columns"], own["table"])
        assert found["problem"] != own["problem"]


def test_rewards_spends_and_arms_matter() -> None:
    rewards = np.arange(18.0).reshape(6, 3) % 7
    arms = np.array([0, 1, 2, 0, 1, 2])

    def find(rewards: Any = rewards, spends: Any = (0, 1, 2), arms: Any = arms, **settings: Any) -> str:
        model = PolicyTree(1, **({"budget": 1.0, "min_samples_arm": 1} | settings))
        found: str = model.fit(FRAME, rewards, treatment=arms, spends=spends).certificate_["digests"]["table"]
        return found

    other = rewards.copy()
    other[3, 1] += 0.5
    found = [
        find(),
        find(other),
        find(rewards + 1),
        find(spends=(0, 1, 3)),
        find(arms=arms[::-1]),
        find(min_samples_arm=0),
    ]
    assert len(set(found)) == len(found)
    assert find(spends=None, budget=None) != found[0]
    # Arms that no leaf must hold are no part of the problem.
    assert find(min_samples_arm=0, arms=None) == found[-1]


def test_a_row_of_weight_zero_is_no_part_of_it() -> None:
    longer = pd.concat([FRAME, FRAME.iloc[:1]], ignore_index=True).astype({"level": FRAME["level"].dtype})
    assert digests(longer, np.append(Y, "a"), [1, 2, 3, 4, 5, 6, 0]) == digests(FRAME, Y, [1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("thresholds", ["all", 1, [[2.5], [30.0], ["red"], [True], [0]]])
def test_thresholds_and_binners_do_not_touch_the_columns(thresholds: Any) -> None:
    own = fingerprint_columns(make_features(FRAME))
    for binner in (bin_numeric, engine_bin_numeric):
        assert fingerprint_columns(make_features(FRAME, thresholds=thresholds, binner=binner)) == own


def test_the_canonical_form_is_as_documented() -> None:
    """Written out by hand from docs/trust.md, without numpy."""
    columns = [
        ["size", "numeric", 5],
        ["age", "numeric", 3],
        ["colour", "categorical", ["blue", "green", "red"]],
        ["member", "boolean", [False, True]],
        ["level", "ordered", ["low", "mid", "high"]],
    ]
    blocks = b"".join(
        [
            struct.pack("<5d", 2, 3, 5, 7, 11), bytes([0, 1, 0, 2, 3, 4]),
            struct.pack("<3d", 20.5, 31, 40), bytes([0, 3, 1, 0, 2, 3]),
            bytes([2, 3, 0, 2, 1, 2]),
            bytes([1, 0, 1, 1, 0, 0]),
            bytes([1, 0, 2, 1, 0, 0]),
        ]
    )  # fmt: skip

    def digest(head: dict[str, Any], body: bytes = b"") -> str:
        line = json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        return hashlib.sha256(line + body).hexdigest()

    of_columns = digest({"columns": columns, "rows": 6}, blocks)
    weights = [1.0, 2.0, 3.5, 4.0, 5.0, 6.0]
    of_table = digest(
        {
            "arms": 0, "columns": of_columns, "labels": ["a", "b"], "rows": 6, "spends": False, "target": "labels",
            "weights": True,
        },
        struct.pack("<6d", *weights) + bytes([1, 0, 1, 1, 0, 0]),
    )  # fmt: skip
    constraints = {
        "max_depth": 1, "max_leaves": None, "min_samples_leaf": 1, "min_weight_leaf": 0.0, "min_samples_arm": 0,
    }  # fmt: skip
    of_problem = digest(
        {"budget": None, "constraints": constraints, "regularization": 0.01, "table": of_table, "thresholds": "all"}
    )
    assert digests(FRAME, weights=weights) == {"columns": of_columns, "table": of_table, "problem": of_problem}


def test_the_check_compares_them() -> None:
    model = SparseTreeClassifier(1, 0.01).fit(FRAME, Y)

    def failures(X: Any = FRAME, y: Any = Y, weights: Any = None) -> tuple[str, ...]:
        return certify.check(model.certificate_, model.tree_, X, y, weights).failures

    assert failures() == ()
    assert failures(pl.from_pandas(FRAME)) == ()
    # A value that no test of the tree looks at, so that nothing else differs.
    column = model.tree_.columns[int(model.tree_.column[0])].name
    other = FRAME.assign(size=FRAME["size"] + 1)
    assert column != "size"
    assert [failure.split(":")[0] for failure in failures(other)] == [
        "the columns are not those that the certificate is about"
    ]
    assert any("labels, weights, rewards, spends or arms" in failure for failure in failures(weights=[2.0] * 6))


def test_a_certificate_of_version_1_says_what_it_lacks() -> None:
    model = SparseTreeClassifier(1, 0.01).fit(FRAME, Y)
    old = {name: value for name, value in model.certificate_.items() if name != "digests"} | {"version": 1}
    verdict = certify.check(old, model.tree_, FRAME, Y)
    assert verdict.holds
    assert any("does not say which table" in sentence for sentence in verdict.trusted)
    assert not certify.check(model.certificate_ | {"version": 1}, model.tree_, FRAME, Y).holds
    assert not certify.check(old | {"version": 2}, model.tree_, FRAME, Y).holds


def test_a_problem_of_costs_has_digests_too() -> None:
    costs = np.arange(12.0).reshape(6, 2) % 5
    solution = solve(Problem.from_costs(FRAME, costs, regularization=0.1, max_depth=1))
    assert certify.check(solution.certificate, solution.tree, FRAME, costs=costs).holds
    assert not certify.check(solution.certificate, solution.tree, FRAME, costs=costs[:, ::-1]).holds
