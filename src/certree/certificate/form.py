"""What a certificate looks like: every field it must have, and of which type.

This file promises that whoever reads a certificate without flaws finds each field that its version has, as the type
that it should be: no missing key, no text for a number, no NaN. It judges the form alone; whether what is stated is
true is `certify`'s business.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from certree.fingerprint import ANY_ORDER

FORMAT = "certree.certificate"
VERSION = 2
"""2 says which table it is about. Certificates of version 1, which do not, are still read and checked."""
LIMIT_STATUSES = ("time_limit", "memory_limit", "interrupted")
"""Why a search ends before its end."""
STATUSES = ("optimal", "guessed", "approximate", *LIMIT_STATUSES)

# A stranger's file may hold anything, nested at any depth.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


@dataclass(frozen=True)
class Form:
    """What a value must be."""

    words: str
    accepts: Callable[[Any], bool]

    @property
    def or_null(self) -> Form:
        return Form(f"{self.words} or null", lambda value: value is None or self.accepts(value))


def is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral)


NUMBER = Form("a finite number", is_number)
AMOUNT = Form("a finite number of at least 0", lambda value: is_number(value) and value >= 0)
COUNT = Form("a whole number of at least 0", lambda value: is_whole(value) and value >= 0)
POSITIVE = Form("a whole number of at least 1", lambda value: is_whole(value) and value >= 1)
TEXT = Form("text", lambda value: isinstance(value, str))
DIGEST = Form(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and len(value) == 64 and set(value) <= set(HEXADECIMAL),
)
HEXADECIMAL = "0123456789abcdef"


def _is_time(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and float(value) >= 0


def _is_thresholds(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(cuts, list) and all(map(_is_cut, cuts)) for cuts in value)
    return value == "all" if isinstance(value, str) else is_whole(value) and value >= 1


def _is_cut(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool)) or is_number(value)


TIME = Form("a number of seconds of at least 0", _is_time)
THRESHOLDS = Form('"all", a whole number of at least 1, or a list of cuts for each column', _is_thresholds)
AMOUNTS = Form(
    "a list of finite numbers of at least 0", lambda value: isinstance(value, list) and all(map(AMOUNT.accepts, value))
)


def _is_test(value: Any) -> bool:
    """A test as `tree.write_test` writes it."""
    known = {"test": TEXT, "column": TEXT, "threshold": NUMBER, "category": CUT, "missing_left": FLAG}
    return (
        isinstance(value, Mapping)
        and {"test", "column", "missing_left"} <= set(value) <= set(known)
        and all(known[name].accepts(entry) for name, entry in value.items())
    )


def _is_start(value: Any) -> bool:
    """A node of a start; as deep as it is, so no recursion."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, Mapping) and {"left", "right"} <= set(node)):
            return False
        if not _is_test({name: entry for name, entry in node.items() if name not in ("left", "right")}):
            return False
        waiting += [node[side] for side in ("left", "right") if not (node[side] is None or node[side] == "leaf")]
    return True


CUT = Form("text, true, false, a finite number or null", _is_cut)
FLAG = Form("true or false", lambda value: isinstance(value, bool))
START = Form("a test with what stands on its left and on its right", _is_start)
FORBIDDEN = Form(
    "a list of columns and tests",
    lambda value: isinstance(value, list) and all(isinstance(entry, str) or _is_test(entry) for entry in value),
)

Fields = Mapping[str, Any]
"""By name: a Form, or the Fields of a mapping."""

FIELDS: Fields = {
    "format": TEXT,
    "version": POSITIVE,
    "certree": TEXT,
    "status": TEXT,
    "objective": NUMBER,
    "loss": NUMBER,
    "leaves": POSITIVE,
    "depth": COUNT,
    "lower_bound": NUMBER,
    "gap": NUMBER,
    "rounding": AMOUNT,
    "regularization": AMOUNT,
    "constraints": {
        "max_depth": COUNT.or_null,
        "max_leaves": POSITIVE.or_null,
        "min_samples_leaf": POSITIVE,
        "min_weight_leaf": AMOUNT,
        "min_samples_arm": COUNT,
    },
    "sizes": {
        "rows": POSITIVE,
        "rows_weighted": POSITIVE,
        "merged_rows": COUNT,
        "columns": POSITIVE,
        "axes": COUNT,
        "tests": COUNT,
        "distinct_tests": COUNT,
        "labels": POSITIVE,
    },
    "thresholds": THRESHOLDS,
    "weight": AMOUNT,
    "limits": {"time_limit": TIME.or_null, "memory_limit": POSITIVE.or_null, "n_threads": POSITIVE},
}
SINCE_VERSION: Mapping[int, Fields] = {2: {"digests": {"columns": DIGEST, "table": DIGEST, "problem": DIGEST}}}
"""Fields that came with a version."""

EDITS: Fields = {"start": START, "forbidden": FORBIDDEN}
"""Constraints that are stated only where there are any."""

OPTIONAL: Mapping[str, Fields] = {
    "constraints": EDITS,
    "digests": {"rows": Form(repr(ANY_ORDER), lambda value: value == ANY_ORDER)},
}
"""Of the mappings in a certificate: what is stated only where it is so."""

WEIGHING: Fields = {
    "method": TEXT,
    "statement": TEXT,
    "approximate_objective": AMOUNT,
    "approximate_lower_bound": AMOUNT,
    "total_variation": AMOUNT,
    "deviation_above": AMOUNT,
    "deviation_below": AMOUNT,
    "floor": AMOUNT,
    "rows_without_a_count": COUNT,
}
METHODS: Mapping[str, Fields] = {
    "duplicate": {
        **WEIGHING,
        "factor": AMOUNT,
        "epsilon": AMOUNT,
        "eta": AMOUNT.or_null,
        "zeta": AMOUNT,
        "psi": AMOUNT.or_null,
        "paper_bound": AMOUNT.or_null,
        "paper_statement": TEXT,
    },
    "sample": {
        **WEIGHING,
        "ratio": AMOUNT,
        "draws": POSITIVE,
        "level": AMOUNT,
        "fixed_tree_bound": AMOUNT,
        "uniform_bound": AMOUNT,
        "most_leaves": POSITIVE,
        "probable_statement": TEXT,
    },
}
REFERENCE: Fields = {
    "statement": TEXT,
    "reference_loss": AMOUNT,
    "lone_leaf_bound": AMOUNT,
    "guessed_lower_bound": AMOUNT,
    "excess": AMOUNT,
    "floor": AMOUNT,
}
GUESSED_THRESHOLDS: Fields = {
    "statement": TEXT,
    "floor": AMOUNT,
    "n_tests": COUNT,
    "n_kept": COUNT,
    "guess": {
        "n_tests": COUNT,
        "n_found": COUNT,
        "n_kept": COUNT,
        "loss_before": NUMBER,
        "loss_after": NUMBER,
        "n_refits": COUNT,
        "seconds": AMOUNT,
    },
}
GUESSED_DEPTH: Fields = {
    "statement": TEXT,
    "depth": COUNT,
    "n_members": COUNT,
    "member_dimension": COUNT,
    "size": COUNT,
}
GROWTH: Fields = {"statement": TEXT, "lookahead": COUNT, "shallow_objective": AMOUNT}
POLICY: Fields = {"value": NUMBER, "objective": NUMBER, "upper_bound": NUMBER, "gap": NUMBER}
BUDGET: Fields = {"largest": AMOUNT.or_null, "spend": AMOUNT, "price": AMOUNT, "spends": AMOUNTS.or_null}


def find_flaws(document: Any) -> list[str]:
    """What is wrong with the form of a certificate, one sentence each; a ValueError where it is none at all."""
    stated = document.get("format") if isinstance(document, Mapping) else None
    if stated != FORMAT:
        raise ValueError(f"not a certificate: format is {quote(stated)}, not {FORMAT!r}")
    version = document.get("version")
    if not (is_whole(version) and 1 <= version <= VERSION):
        return [f"version is {quote(version)}; this release reads versions 1 to {VERSION}"]
    required = {name: form for number in range(2, version + 1) for name, form in SINCE_VERSION[number].items()}
    # The first version did not state what each action spends.
    budget = {name: form for name, form in BUDGET.items() if version > 1 or name != "spends"}
    optional: dict[str, Any] = {"policy": POLICY, "budget": budget, "class_weights": AMOUNTS.or_null}
    guarantees = document.get("guarantees", {})
    flaws = _compare(document, {**FIELDS, **required}, {**optional, "guarantees": {}}, "")
    if isinstance(guarantees, Mapping):
        weighing = guarantees.get("weighing")
        method = weighing.get("method") if isinstance(weighing, Mapping) else None
        known = {
            "weighing": METHODS.get(method, WEIGHING) if isinstance(method, str) else WEIGHING,
            "reference": REFERENCE,
            "thresholds": GUESSED_THRESHOLDS,
            "depth": GUESSED_DEPTH,
            "growth": GROWTH,
        }
        flaws += _compare(guarantees, {}, known, "guarantees.")
        if isinstance(method, str) and method not in METHODS:
            flaws.append(f"guarantees.weighing.method is {quote(method)}, not one of {', '.join(METHODS)}")
    return flaws


SET_FORMAT = "certree.good_trees"
SET_VERSION = 1
SET_STATUSES = ("complete", *LIMIT_STATUSES)


def _is_restriction(value: Any) -> bool:
    known: Mapping[str, Callable[[Any], bool]] = {
        "root": TEXT.accepts,
        "leaves": lambda ends: isinstance(ends, list) and len(ends) == 2 and all(map(POSITIVE.accepts, ends)),
        "without": lambda names: isinstance(names, list) and all(map(TEXT.accepts, names)),
    }
    return isinstance(value, Mapping) and all(name in known and known[name](own) for name, own in value.items())


SET_FIELDS: Fields = {
    **{name: FIELDS[name] for name in ("format", "version", "certree", "status", "rounding", "regularization")},
    **{name: FIELDS[name] for name in ("constraints", "thresholds")},
    **SINCE_VERSION[2],
    "is_complete": FLAG,
    "optimum": NUMBER,
    "tolerance": AMOUNT,
    "threshold": NUMBER,
    "complete_below": NUMBER,
    "count": Form(
        "two whole numbers of at least 0",
        lambda value: isinstance(value, list) and len(value) == 2 and all(map(COUNT.accepts, value)),
    ),
    "idle": FLAG,
    "class_weights": AMOUNTS.or_null,
    "restrictions": Form(
        "a list of restrictions", lambda value: isinstance(value, list) and all(map(_is_restriction, value))
    ),
}
"""Of the certificate of a set of good trees."""


def find_set_flaws(document: Any) -> list[str]:
    """What is wrong with the form of the certificate of a set, one sentence each."""
    stated = document.get("format") if isinstance(document, Mapping) else None
    if stated != SET_FORMAT:
        raise ValueError(f"not a certificate of a set of good trees: format is {quote(stated)}, not {SET_FORMAT!r}")
    if not is_whole(document.get("version")) or document["version"] != SET_VERSION:
        return [f"version is {quote(document.get('version'))}; this release reads version {SET_VERSION}"]
    return _compare(document, SET_FIELDS, {}, "")


def _compare(document: Mapping[str, Any], required: Fields, optional: Fields, place: str) -> list[str]:
    flaws = [f"{place}{name} is missing from the certificate" for name in required if name not in document]
    for name, value in document.items():
        form = required.get(name, optional.get(name))
        if form is None:
            flaws.append(f"{place}{quote(name)} is not a field of a certificate of this version")
        elif isinstance(form, Form):
            if not form.accepts(value):
                flaws.append(f"{place}{name} is {quote(value)}, not {form.words}")
        elif not isinstance(value, Mapping):
            flaws.append(f"{place}{name} is {quote(value)}, not a mapping")
        elif form:
            flaws += _compare(value, form, OPTIONAL.get(name, {}), f"{place}{name}.")
    return flaws


def quote(value: Any) -> str:
    """A value for a sentence, cut short where it is long or deep."""
    return _SHORT.repr(value)
