"""Families of labelled tables: the classifier with everything it takes, and the path over all penalties."""

from __future__ import annotations

import math
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import islice, pairwise, product
from typing import Any

import numpy as np

from certree import SparseTreeClassifier, certify, export_json, export_text, load, regularization_path, to_sklearn
from certree.weights import WeightLossWarning, total_variation
from certree.weights.bounds import deviation

from .brute import route, trees_of
from .case import (
    WEIGHTS,
    Case,
    draw_column,
    draw_columns,
    draw_labels,
    draw_limits,
    draw_shape,
    draw_weights,
    make_table,
    pick,
)
from .truth import Truth, close, expect, from_labels

KINDS = ("numeric", "numeric", "missing", "text", "boolean", "text missing", "boolean missing")


# Drawing --------------------------------------------------------------------------------------------------------------


def draw_labelled(
    rng: np.random.Generator, kinds: tuple[str, ...] = ("numeric", "missing"), weights: tuple[str, ...] = WEIGHTS
) -> Case:
    n_rows, n_columns, depth = draw_shape(rng)
    columns = draw_columns(rng, n_rows, n_columns, kinds)
    labels = draw_labels(rng, columns, int(pick(rng, (2, 2, 2, 3, 4))))
    drawn = draw_weights(rng, n_rows, pick(rng, weights))
    settings = draw_limits(rng, drawn or [1.0] * n_rows, depth)
    return Case(columns, {"y": labels, "weights": drawn}, settings, {"twice": bool(rng.random() < 0.2)})


def draw_frame(rng: np.random.Generator) -> Case:
    """Text, booleans and missing cells in frames, with rows to predict that hold what training did not."""
    case = draw_labelled(rng, KINDS)
    kinds = {
        name: "text missing" if isinstance(_first(cells), str) else "missing" for name, cells in case.columns.items()
    }
    new = {
        name: draw_column(rng, 6, "boolean missing" if isinstance(_first(cells), bool) else kinds[name])
        for name, cells in case.columns.items()
    }
    return replace(case, extras={**case.extras, "table": pick(rng, ("pandas", "polars", "array")), "new": new})


def draw_categorical(rng: np.random.Generator) -> Case:
    """Columns of numbers that are read as categories."""
    case = draw_labelled(rng)
    names = [name for name in case.columns if rng.random() < 0.6]
    return replace(case, extras={**case.extras, "categorical": names})


def draw_ties(rng: np.random.Generator) -> Case:
    """Rows many times over, balanced labels, and penalties that are whole shares of the rows."""
    case = draw_labelled(rng, ("numeric", "boolean"), ("none", "whole"))
    rows = rng.integers(0, case.n_rows, min(12, 2 * case.n_rows)).tolist()
    case = case.take(rows)
    case = replace(case, rows={**case.rows, "y": rng.integers(0, 2, case.n_rows).tolist()})
    share = float(pick(rng, (0, 1, 2))) / case.n_rows
    return replace(case, settings={**case.settings, "regularization": share})


def draw_class_weight(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, weights=("none", "whole", "real", "zeros"))
    kind = pick(rng, ("balanced", "dict"))
    if kind == "dict":
        kind = {label: float(pick(rng, (0.5, 1.0, 3.0, 10.0))) for label in set(case.rows["y"])}
    return replace(case, extras={**case.extras, "class_weight": kind})


def draw_thresholds(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, ("numeric", "missing", "missing", "text"))
    return replace(case, settings={**case.settings, "thresholds": int(rng.integers(1, 4))})


def draw_extreme(rng: np.random.Generator) -> Case:
    """Weights, penalties and minima at the ends of what a float can hold."""
    case = draw_labelled(rng, weights=("whole", "real"))
    exponent = float(pick(rng, (-323, -310, -300, -200, -100, 100, 200, 290, 300, 307)))
    with np.errstate(all="ignore"):
        weights = np.array(case.weights) * 10.0**exponent
        if rng.random() < 0.3:
            weights = np.array(case.weights) * 10.0 ** rng.uniform(-300, 300, case.n_rows)
    settings = {**case.settings, "regularization": float(pick(rng, (0.0, 5e-324, 1e-300, 1e-16, 0.1, 1e10, 1e300)))}
    if "min_weight_leaf" in settings:
        settings["min_weight_leaf"] = float(weights[0])
    return replace(case, rows={**case.rows, "weights": weights.tolist()}, settings=settings)


def draw_stopped(rng: np.random.Generator) -> Case:
    """Searches that end at once, or have no memory to speak of."""
    case = draw_labelled(rng)
    settings = dict(case.settings)
    settings |= pick(rng, ({"time_limit": 0.0}, {"time_limit": 1e-6}, {"memory_limit": 1}, {"memory_limit": 20_000}))
    return replace(case, settings=settings)


def draw_method(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, weights=("whole", "real", "zeros", "wild"))
    settings = {name: value for name, value in case.settings.items() if name != "n_jobs"}
    if rng.random() < 0.5:
        settings |= {"method": "duplicate", "duplication": int(pick(rng, (1, 3, 10, 100)))}
    else:
        settings |= {"method": "sample", "sample_ratio": float(pick(rng, (0.5, 1.0, 4.0))), "random_state": 0}
    return replace(case, settings=settings)


def draw_reference(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng)
    labels = sorted(set(case.rows["y"]))
    is_wrong = rng.random(case.n_rows) < pick(rng, (0.0, 0.1, 0.4, 1.0))
    guesses = [
        pick(rng, labels) if wrong else own for wrong, own in zip(is_wrong.tolist(), case.rows["y"], strict=True)
    ]
    return replace(case, rows={**case.rows, "reference": guesses})


def draw_guess(rng: np.random.Generator) -> Case:
    """Thresholds, depth and bounds guessed by boosting: slow, so few."""
    case = draw_labelled(rng, weights=("none", "whole", "real"))
    settings = {**case.settings, "random_state": 0}
    if rng.random() < 0.7:
        settings["thresholds"] = "guess"
    else:
        settings["reference"] = "boosting"
    return replace(case, settings=settings)


# Fitting --------------------------------------------------------------------------------------------------------------


def fit(case: Case) -> SparseTreeClassifier:
    names = list(case.columns)
    model = SparseTreeClassifier(
        **case.settings,
        **({"reference": case.array("reference")} if "reference" in case.rows else {}),
        class_weight=case.extras.get("class_weight"),
        categorical_features=[names.index(name) for name in case.extras.get("categorical", ()) if name in names],
    )
    return model.fit(case.X, case.array("y"), case.array("weights"))


def truth_of(case: Case, **changes: Any) -> Truth:
    labels = sorted(set(case.rows["y"]))
    given = case.extras.get("class_weight")
    factors = given
    if given == "balanced":
        factors = {label: case.n_rows / (len(labels) * case.rows["y"].count(label)) for label in labels}
    return from_labels(case, labels, factors, **changes)


def judge_model(case: Case, model: SparseTreeClassifier, truth: Truth, *, is_proved: bool) -> None:
    """What must hold of every fitted classifier, whatever ended its search."""
    tree = model.tree_.to_dict()
    loss = truth.judge(tree)
    expect(close(model.loss_, loss, truth.scale), f"loss_ is {model.loss_!r}, the rows say {float(loss)!r}")
    objective = loss + truth.penalty * model.n_leaves_
    scale = truth.scale + objective
    expect(close(model.objective_, objective, scale), f"objective_ is {model.objective_!r}, not {float(objective)!r}")
    slack = scale / 10**12
    expect(truth.optimum <= objective + slack, f"a tree of {float(objective)!r} beats {float(truth.optimum)!r}")
    expect(
        Fraction(model.lower_bound_) <= truth.optimum + slack,
        f"lower_bound_ is {model.lower_bound_!r}, a tree has {float(truth.optimum)!r}",
    )
    expect(model.gap_ == model.objective_ - model.lower_bound_, "gap_ is not the difference")
    if is_proved:
        expect(model.status_ == "optimal", f"status_ is {model.status_!r}")
    if model.status_ == "optimal":
        expect(
            close(model.objective_, truth.optimum, scale),
            f"objective_ is {model.objective_!r}, the optimum {float(truth.optimum)!r}",
        )
        expect(model.gap_ == 0, f"optimal with a gap of {model.gap_!r}")
    predicted = model.predict(case.X)
    expected = [tree["labels"][tree["nodes"][route(tree, row)]["label"]] for row in case.cells]
    expect(predicted.tolist() == expected, f"predict gives {predicted.tolist()}, the tree's tests {expected}")
    verdict = certify.check(
        model.certificate_, model.tree_, case.X, case.array("y"), case.array("weights"),
        prove_bound=bool(case.extras.get("twice")),
    )  # fmt: skip
    expect(verdict.holds, f"the certificate does not hold: {verdict.failures}")


def check_proved(case: Case) -> None:
    judge_model(case, fit(case), truth_of(case), is_proved=True)


def check_frame(case: Case) -> None:
    model = fit(case)
    judge_model(case, model, truth_of(case), is_proved=True)
    new = {name: cells for name, cells in case.extras["new"].items() if name in case.columns}
    X = make_table(new, case.extras["table"])
    tree = model.tree_.to_dict()
    expected = [tree["labels"][tree["nodes"][route(tree, row)]["label"]] for row in zip(*new.values(), strict=True)]
    predicted = model.predict(X).tolist()
    expect(predicted == expected, f"predict of new rows gives {predicted}, the tree's tests {expected}")


def check_extreme(case: Case) -> None:
    """It works, or it says what is out of range."""
    try:
        model = fit(case)
    except ValueError as error:
        names = ("sample_weight", "regularization", "min_weight_leaf")
        expect(any(name in str(error) for name in names), f"an error that names nothing: {error}")
        return
    judge_model(case, model, truth_of(case), is_proved=True)


def check_stopped(case: Case) -> None:
    model = fit(case)
    judge_model(case, model, truth_of(case), is_proved=False)
    limits = {"time_limit", "memory_limit"} & case.settings.keys()
    expect(model.status_ in {"optimal", *limits}, f"status_ is {model.status_!r}")


def check_method(case: Case) -> None:
    truth = truth_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightLossWarning)
        try:
            model = fit(case)
        except ValueError as error:
            draws = case.settings.get("sample_ratio", 1.0) * truth.case.n_rows
            expect(draws < 1 and "no draw at all" in str(error), f"refused: {error}")
            return
    judge_model(case, model, truth, is_proved=False)
    stated = model.certificate_["guarantees"]["weighing"]
    above, below = Fraction(stated["deviation_above"]), Fraction(stated["deviation_below"])
    expect(model.status_ == "approximate", f"status_ is {model.status_!r}")
    expect(
        Fraction(model.objective_) <= truth.optimum + above + below + truth.scale / 10**12,
        f"objective_ {model.objective_!r} is above {float(truth.optimum)!r} by more than {float(above + below)!r}",
    )
    _check_deviations(truth)


def _check_deviations(truth: Truth) -> None:
    """No tree is moved further by counts than `deviation` and `total_variation` say: every tree is tried."""
    if not truth.is_small or truth.case.n_rows < 2:
        return
    counts = [1 + row % 3 for row in range(truth.case.n_rows)]
    moves = deviation(truth.problem, np.array(counts))
    largest = total_variation(truth.weights, counts)
    moved = [
        count / sum(counts) - float(weight / truth.total)
        for count, weight in zip(counts, map(Fraction, truth.weights), strict=True)
    ]
    own = truth.case.rows["y"]
    labels = sorted(set(own))
    for tree in islice(trees_of(truth.tests, truth.weights, truth.rules), 15):
        for first, other in product(labels, labels):
            given = [first if tree[0] >> row & 1 else other for row in range(len(own))]
            by = math.fsum(move for move, one, two in zip(moved, own, given, strict=True) if one != two)
            expect(-moves.below - 1e-12 <= by <= moves.above + 1e-12, f"a tree is moved by {by!r}, beyond {moves}")
            expect(abs(by) <= largest + 1e-12, f"a tree is moved by {by!r}, beyond a total variation of {largest!r}")


def check_reference(case: Case) -> None:
    """Theorem 1: no worse than the reference's errors plus any tree's errors where the reference is right."""
    model = fit(case)
    truth = truth_of(case)
    judge_model(case, model, truth, is_proved=False)
    expect(model.status_ in ("guessed", "optimal"), f"status_ is {model.status_!r}")
    is_wrong = [own != guess for own, guess in zip(truth.case.rows["y"], truth.case.rows["reference"], strict=True)]
    costs = [
        [Fraction(weight)] * len(row) if wrong else row
        for wrong, row, weight in zip(is_wrong, truth.costs, truth.weights, strict=True)
    ]
    problem = replace(truth.problem, y=None, costs=np.array(costs, dtype=float))
    promise = replace(truth, costs=costs, problem=problem).optimum
    expect(
        Fraction(model.objective_) <= promise + (truth.scale + promise) / 10**12,
        f"objective_ {model.objective_!r} is above what Theorem 1 promises, {float(promise)!r}",
    )


def check_guess(case: Case) -> None:
    """What is stated about fewer tests holds over these, and never falls below the optimum of all."""
    model = fit(case)
    plain = {name: value for name, value in case.settings.items() if name not in ("thresholds", "reference")}
    truth = truth_of(replace(case, settings=plain))
    loss = truth.judge(model.tree_.to_dict())
    expect(close(model.loss_, loss, truth.scale), f"loss_ is {model.loss_!r}, the rows say {float(loss)!r}")
    slack = (truth.scale + truth.optimum) / 10**12
    expect(truth.optimum <= Fraction(model.objective_) + slack, "a tree beats the optimum")
    expect(model.lower_bound_ <= model.objective_, "lower_bound_ is above objective_")
    if "reference" in case.settings:
        expect(Fraction(model.lower_bound_) <= truth.optimum + slack, "lower_bound_ is above the optimum")
    verdict = certify.check(
        model.certificate_, model.tree_, case.X, case.array("y"), case.array("weights"), prove_bound=True
    )
    expect(verdict.holds, f"the certificate does not hold: {verdict.failures}")


def check_zero_weights(case: Case) -> None:
    """Rows of weight zero are as good as absent, but for what they are predicted."""
    model = fit(case)
    kept = [row for row, weight in enumerate(case.weights) if weight > 0]
    alone = fit(case.take(kept))
    expect(
        math.isclose(model.objective_, alone.objective_, rel_tol=1e-12, abs_tol=1e-15),
        f"{model.objective_!r} with the rows of weight zero, {alone.objective_!r} without",
    )
    judge_model(case, model, truth_of(case), is_proved=True)


# Paths ----------------------------------------------------------------------------------------------------------------


def draw_path(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, ("numeric", "missing", "text"), ("none", "whole", "real", "zeros", "wild"))
    settings = {name: value for name, value in case.settings.items() if name != "regularization"}
    if rng.random() < 0.3:
        settings["thresholds"] = int(rng.integers(1, 4))
    return replace(case, settings=settings)


def check_path(case: Case) -> None:
    path = regularization_path(case.X, case.array("y"), case.array("weights"), **case.settings)
    check_hull(truth_of(case), path)


def check_hull(truth: Truth, path: Any) -> None:
    """At every penalty the path's tree is the best of the enumerated front."""
    expect(path.is_optimal, "the path is not complete")
    expect(path[0].regularization_high == math.inf and path[-1].regularization_low == 0, "the ends are not 0 and ∞")
    ends = [point.regularization_low for point in path]
    middles = [(one + two) / 2 for one, two in pairwise(ends)]
    for point in path:
        loss = truth.judge(point.tree.to_dict())
        expect(close(point.loss, loss, truth.scale), f"loss {point.loss!r} of a point, the rows say {float(loss)!r}")
    for penalty in (*ends, *middles, 1e-3, 0.03, 0.1, 1.0, 100.0):
        point = path.at(penalty)
        own = Fraction(point.loss) + Fraction(penalty) * point.leaves
        best = truth.best_at(Fraction(penalty))
        expect(
            close(own, best, truth.scale + best),
            f"at λ = {penalty!r} the path has {float(own)!r}, the front {float(best)!r}",
        )


# Round trips ----------------------------------------------------------------------------------------------------------


def draw_roundtrip(rng: np.random.Generator) -> Case:
    case = draw_frame(rng) if rng.random() < 0.3 else draw_categorical(rng)
    if "new" not in case.extras:
        new = {name: draw_column(rng, 6, "missing") for name in case.columns}
        case = replace(case, extras={**case.extras, "table": "array", "new": new})
    return case


def check_roundtrip(case: Case) -> None:
    """JSON, pickle and scikit-learn's tree predict what the model predicts, on rows it has not seen too."""
    model = fit(case)
    new = {name: cells for name, cells in case.extras["new"].items() if name in case.columns}
    tables = [case.X, make_table(new, case.extras["table"])]
    loaded, pickled = load(export_json(model)), pickle.loads(pickle.dumps(model))
    bare = load(export_json(model.tree_))
    for X in tables:
        expected = model.predict(X)
        shares = model.predict_proba(X)
        for other in (loaded, pickled, bare):
            expect(np.array_equal(other.predict(X), expected), f"{type(other).__name__} predicts otherwise")
            expect(np.array_equal(other.predict_proba(X), shares), f"{type(other).__name__} has other shares")
    for name in ("objective_", "lower_bound_", "gap_", "status_", "n_leaves_", "depth_", "loss_"):
        expect(getattr(loaded, name) == getattr(model, name), f"{name} differs after JSON")
    expect(export_json(loaded) == export_json(model), "a second JSON differs from the first")
    expect(export_text(loaded) == export_text(model), "export_text differs after JSON")
    verdict = certify.check(loaded.certificate_, loaded.tree_, case.X, case.array("y"), case.array("weights"))
    expect(verdict.holds, f"the certificate does not hold after JSON: {verdict.failures}")
    if any(isinstance(cell, (str, bool)) for cells in case.columns.values() for cell in cells):
        return
    try:
        peer = to_sklearn(model)
    except ValueError as error:
        expect("one-hot encode" in str(error), f"to_sklearn refuses without a reason: {error}")
        return
    # A category that training did not see, rows of weight zero included, fails every "==" test; "<=" cannot say so.
    is_compared = [np.ones(len(X), dtype=bool) for X in tables]
    if case.extras.get("categorical"):
        weights = case.array("weights")
        is_compared = [is_compared[0] if weights is None else weights > 0]
    for X, rows in zip(tables, is_compared, strict=False):
        same = peer.predict(X) == model.predict(X)
        expect(bool(same[rows].all()), "the scikit-learn tree predicts otherwise")


# Certificates ---------------------------------------------------------------------------------------------------------


def draw_certificate(rng: np.random.Generator) -> Case:
    case = draw_labelled(rng, weights=("none", "whole", "real"))
    name = pick(rng, ("objective", "loss", "lower_bound", "gap", "leaves", "depth", "status", "rounding"))
    return replace(case, extras={**case.extras, "tamper": name})


def check_certificate(case: Case) -> None:
    """The check holds, with the bound proved again, and a changed certificate does not pass."""
    model = fit(case)
    given = (model.tree_, case.X, case.array("y"), case.array("weights"))
    verdict = certify.check(model.certificate_, *given, prove_bound=True)
    expect(verdict.holds and verdict.is_bound_proved, f"the certificate does not hold: {verdict.failures}")
    name = case.extras["tamper"]
    value = model.certificate_[name]
    wrong = "proved" if isinstance(value, str) else value + (1 if isinstance(value, int) else 0.125)
    changed = {**model.certificate_, name: wrong}
    try:
        noticed = not certify.check(changed, *given, prove_bound=True).holds
    except ValueError:
        noticed = True
    expect(noticed, f"{name} was changed from {value!r} to {wrong!r}, and the check holds")


def _first(cells: Any) -> Any:
    return next((cell for cell in cells if cell is not None), None)
