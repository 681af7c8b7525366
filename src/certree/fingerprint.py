"""Which table, and which problem, a certificate is about: three SHA-256 digests of canonical forms.

This room promises that two tables have the same digests exactly where they hold the same values, whatever held them:
numpy, pandas or polars, whole numbers or floats, either byte order. docs/trust.md has the forms, so that anyone can
compute the digests without this package.

    columns   names, kinds and values of the columns, missing values included
    table     that, and labels, weights, costs, rewards, spends and arms: the whole table
    problem   that, and the penalty, the constraints, the thresholds and the budget: everything that is searched

Rows of weight zero are in none of them: they count for nothing in any claim.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.features import Features
from certree.problem import Problem
from certree.table import Table, find_positions

Array = NDArray[Any]

_MEMO = "_fingerprint"


def fingerprint(problem: Problem, settings: Mapping[str, Any], *, spends: Array | None = None) -> dict[str, str]:
    """The digests of a problem. `settings` is plain data; `spends` is rows × labels, times the weights."""
    columns = fingerprint_columns(problem.features)
    table = _fingerprint_table(problem, columns, spends)
    return {"columns": columns, "table": table, "problem": hashlib.sha256(_head(table=table, **settings)).hexdigest()}


# Rows in any order ---------------------------------------------------------------------------------------------------

_LANES = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_MISSING = 0x6D697373696E6721


def fingerprint_parts(
    features: Features, labels: Sequence[Any], digest: tuple[int, int], settings: Mapping[str, Any], n_rows: int
) -> dict[str, str]:
    """The digests of a table that lies in parts: `digest` is the sum of `hash_rows` of all parts.

    The order of the rows does not matter, nor which part they lie in. SHA-256 of the sum: it tells tables apart that
    differ by accident. Whoever wants to can find another table of the same sum, which `fingerprint` does not allow.
    """
    heads = [[column.name, column.kind, list(map(_canonical, column.categories))] for column in features.columns]
    columns = hashlib.sha256(_head(rows=n_rows, columns=heads)).hexdigest()
    total = f"{digest[0]:016x}{digest[1]:016x}"
    head = _head(columns=columns, rows=n_rows, labels=list(map(_canonical, labels)), sum=total)
    table = hashlib.sha256(head).hexdigest()
    problem = hashlib.sha256(_head(table=table, **settings)).hexdigest()
    return {"columns": columns, "table": table, "problem": problem, "rows": ANY_ORDER}


ANY_ORDER = "in any order"
"""What the digests of a table in parts state."""


def hash_rows(
    table: Table, weights: Array, y: Array | None, rewards: Array | None, arms: Array | None
) -> tuple[int, int]:
    """Two sums, modulo 2^64, of a hash of every row: its values, label or rewards, weight and arm."""
    columns: list[Array] = [*table.columns, weights]
    columns += [] if y is None else [y.astype(np.float64)]
    columns += [] if rewards is None else list(rewards.T)
    columns += [] if arms is None else [arms.astype(np.float64)]
    hashes = [np.full(len(weights), lane, dtype=np.uint64) for lane in _LANES]
    for values in columns:
        own = _hash_values(values)
        for row, lane in zip(hashes, _LANES, strict=True):
            row ^= own
            _mix(row, lane)
    return tuple(int(row.sum(dtype=np.uint64)) for row in hashes)  # type: ignore[return-value]


def _hash_values(values: Array) -> Array:
    """uint64; equal values have equal hashes, however they are held."""
    if values.dtype == np.float64:
        numbers = values + 0.0  # one zero
        return np.where(np.isnan(numbers), np.uint64(_MISSING), numbers.view(np.uint64))
    if values.dtype == np.bool_:
        return np.array([_hash_value(False), _hash_value(True)], dtype=np.uint64)[values.astype(np.int8)]
    known = {value: _hash_value(value) for value in dict.fromkeys(values)}
    return np.fromiter((known[value] for value in values), np.uint64, len(values))


def _hash_value(value: Any) -> int:
    if value is None:
        return _MISSING
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        text = f"{type(value).__name__.removesuffix('_')}:{value}"
        return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    return int(np.array([value], dtype=np.float64).view(np.uint64)[0])


def _mix(row: Array, lane: int) -> None:
    """Every bit of the input moves every bit of the output; in place, modulo 2^64."""
    row ^= row >> np.uint64(31)
    row *= np.uint64(lane)
    row ^= row >> np.uint64(29)
    row *= np.uint64(0xBF58476D1CE4E5B9)
    row ^= row >> np.uint64(32)


def fingerprint_columns(features: Features) -> str:
    """The digest of the columns alone. It is computed once: a path or a budget solves many problems of one table."""
    found: str | None = features.__dict__.get(_MEMO)
    if found is not None:
        return found
    axis_of = {axis.column: place for place, axis in enumerate(features.axes) if axis.view in _WHOLE_VIEWS}
    heads: list[Any] = []
    bodies: list[Iterator[Any]] = []  # made when they are hashed: all at once would outweigh the table
    for index, column in enumerate(features.columns):
        place = axis_of.get(index)
        if column.kind == "numeric":
            count, body = _write_numbers(features, index, place)
            heads.append([column.name, column.kind, count])
        else:
            body = _write_categories(features, index, place)
            heads.append([column.name, column.kind, list(map(_canonical, column.categories))])
        bodies.append(body)
    hasher = hashlib.sha256(_head(rows=features.n_rows, columns=heads))
    for block in chain.from_iterable(bodies):
        hasher.update(block)
    features.__dict__[_MEMO] = hasher.hexdigest()  # where functools keeps what a frozen object has computed
    return hasher.hexdigest()


_WHOLE_VIEWS = ("values", "equals", "missing last")
"""The views of a column that may tell all of its values apart."""


def _write_numbers(features: Features, index: int, place: int | None) -> tuple[int, Iterator[Any]]:
    """The number of distinct values; then these, and for each row the rank of its value. Missing ranks last."""
    if place is not None and features.thresholds == "all" and features.axes[place].kept is None:
        gaps, codes = features.axes[place].gaps, features.codes[place]
        count, find_distinct = len(gaps) + 1, gaps.distinct
    else:
        codes, distinct = features.binner(features.table.columns[index])
        count, find_distinct = len(distinct), lambda: distinct
        codes = _narrow(np.where(codes < 0, count, codes), count + 1)  # held until its turn comes

    def write() -> Iterator[Any]:
        yield (find_distinct() + 0.0).astype("<f8", copy=False)  # one zero
        yield _narrow(codes, count + 1)

    return count, write()


def _write_categories(features: Features, index: int, place: int | None) -> Iterator[Any]:
    yield _narrow(_rank_categories(features, index, place), len(features.columns[index].categories) + 1)


def _rank_categories(features: Features, index: int, place: int | None) -> Array:
    """For each row the place of its category; missing is the place after the last."""
    column, values = features.columns[index], features.table.columns[index]
    count = len(column.categories)
    if column.kind == "ordered":
        places = find_positions(values, column.categories)
        return np.where(np.isnan(places), count, places)
    if place is not None and features.axes[place].size == count + column.has_missing:
        return np.asarray(features.codes[place])
    if values.dtype == np.bool_:
        return values
    if values.dtype == np.float64:
        return np.where(np.isnan(values), count, np.searchsorted(np.array(column.categories, dtype=float), values))
    code_of: dict[Any, int] = {category: code for code, category in enumerate(column.categories)}
    return np.fromiter((count if value is None else code_of[value] for value in values.tolist()), np.int64, len(values))


def _fingerprint_table(problem: Problem, columns: str, spends: Array | None) -> str:
    arms = problem.arms if problem.min_samples_arm > 0 else None
    hasher = hashlib.sha256(
        _head(
            columns=columns,
            rows=problem.n_rows,
            labels=list(map(_canonical, problem.labels)),
            weights=problem.has_weights,
            target="labels" if problem.y is not None else "costs" if problem.best_rewards is None else "rewards",
            spends=spends is not None,
            arms=problem.n_arms if arms is not None else 0,
        )
    )
    if problem.has_weights:
        hasher.update(_floats(problem.weights))
    if problem.y is not None:
        hasher.update(_narrow(problem.y, len(problem.labels)))
    for amounts in (problem.costs, problem.best_rewards, spends):
        if amounts is not None:
            hasher.update(_floats(amounts))
    if arms is not None:
        hasher.update(_narrow(arms, problem.n_arms))
    return hasher.hexdigest()


def _head(**facts: Any) -> bytes:
    """What the bytes that follow are: one line of JSON, with sorted keys and without spaces or letters beyond ASCII."""
    return _JSON.encode(facts).encode("ascii") + b"\n"


_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def _canonical(value: Any) -> Any:
    """3.0 and 3 are the same value; True and 1 are not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _narrow(codes: Array, count: int) -> Any:
    """Codes below `count` in the fewest bytes that hold them: 1, 2 or 4, the least first."""
    return np.ascontiguousarray(codes, dtype="<u1" if count <= 1 << 8 else "<u2" if count <= 1 << 16 else "<u4")


def _floats(amounts: Array) -> Any:
    """Eight bytes each, the least first, row by row; one zero."""
    return np.ascontiguousarray(amounts + 0.0, dtype="<f8")
