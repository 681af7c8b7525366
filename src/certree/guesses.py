"""Guesses that speed the search: thresholds, depth and lower bounds, from a reference model.

This room promises that a guess never passes for a proof. What each one gives up is a number that is stated beside the
answer:

    thresholds      the optimum is that of the kept tests; over all tests only `Problem.floor` is known
    depth           a tree of this depth can be as expressive as the boosted ensemble; nothing is given up on purpose
    lower bounds    Theorem 1: the objective is at most the reference's loss, plus the loss of any tree t where the
                    reference is right, plus λ·leaves(t)

The boosted model is scikit-learn's, fitted on the codes of the axes, so that its splits are tests of the problem
exactly: numeric columns by their order, missing values on either side, categories one by one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter, validate_data
from tqdm.auto import tqdm

from certree.features import Features, make_features
from certree.problem import Problem
from certree.reading import warn_about
from certree.table import name_row, read_table
from certree.tree import Test, Value

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier

Array = NDArray[Any]
AxisTest = tuple[int, int]
"""An axis and a code: "code <= code" on an ordered axis, "code == code" on a categorical one."""

N_MEMBERS = 40
MEMBER_DEPTH = 2
LEARNING_RATE = 0.1
"""The boosted model behind every guess, unless said otherwise."""


# The boosted model ----------------------------------------------------------------------------------------------------


def boost(
    matrix: Array,
    y: Array,
    weights: Array,
    *,
    n_estimators: int = N_MEMBERS,
    max_depth: int = MEMBER_DEPTH,
    learning_rate: float = LEARNING_RATE,
    random_state: Any = 0,
    progress: Callable[[], None] | None = None,
) -> GradientBoostingClassifier:
    """scikit-learn's boosted trees, fitted with the weights."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=n_estimators,
        max_depth=max_depth,
        learning_rate=learning_rate,
        random_state=0 if random_state is None else random_state,
    )

    def watch(*_: Any) -> bool:
        if progress is not None:
            progress()
        return False

    # A mean weight of 1: absolute tolerances inside the trees then mean what they mean without weights.
    return model.fit(matrix, y, sample_weight=weights / weights.mean(), monitor=watch)


def read_matrix(features: Features) -> tuple[Array, list[AxisTest]]:
    """The axes as columns for the boosted model, and what each is: (axis, -1) its codes, (axis, c) whether it is c."""
    columns: list[Array] = []
    origins: list[AxisTest] = []
    for number, (axis, codes) in enumerate(zip(features.axes, features.codes, strict=True)):
        chosen = range(axis.size) if axis.is_categorical else [-1]
        columns += [codes == code if axis.is_categorical else codes for code in chosen]
        origins += [(number, code) for code in chosen]
    return np.array(columns, dtype=np.float32).T, origins


def list_splits(model: GradientBoostingClassifier, origins: list[AxisTest]) -> list[AxisTest]:
    """Every test that a member of the boosted model asks, once."""
    found = set()
    for member in model.estimators_.ravel():
        tree = member.tree_
        for node in np.flatnonzero(tree.children_left >= 0):
            axis, code = origins[tree.feature[node]]
            found.add((axis, math.floor(tree.threshold[node]) if code < 0 else code))
    return sorted(found)


def weighted_loss(predicted: Array, y: Array, weights: Array) -> float:
    """Weighted share of wrongly labelled rows."""
    return float(weights[predicted != y].sum() / weights.sum())


# Thresholds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThresholdReport:
    """What became of the tests of a table."""

    n_tests: int
    """Of the whole table."""
    n_found: int
    """Asked by the boosted model."""
    n_kept: int
    """Offered to the search; more than were kept where a column has missing values, which may go either way."""
    loss_before: float
    """Weighted training loss of the boosted model with all tests."""
    loss_after: float
    """And of one that has the kept tests alone."""
    n_refits: int
    seconds: float

    @property
    def text(self) -> str:
        """The guess in words."""
        return (
            f"kept {self.n_kept} of {self.n_tests} tests ({self.n_found} found by the boosted model); "
            f"its weighted loss {self.loss_before:.4f} before, {self.loss_after:.4f} after; "
            f"{self.n_refits} refits, {self.seconds:.1f} s"
        )


class ThresholdGuess(TransformerMixin, BaseEstimator):
    """Keeps the tests that a boosted model needs; made by `guess_thresholds`.

    Fits a boosted model with the sample weights, collects the tests of its members, and removes the least important
    ones while the weighted training loss of a refit does not get worse (several at a time, one by one near the end).
    `SparseTreeClassifier(thresholds="guess")` does all this by itself; `SparseTreeClassifier(thresholds=guess)` uses
    the cuts of a fitted guess again. As a step of a Pipeline it turns a table into one true-or-false column per test.

    Parameters
    ----------
    n_estimators, max_depth, learning_rate : int, int, float
        The boosted model.
    categorical_features : "auto", mask, numbers or names, default="auto"
    random_state : int, RandomState instance or None, default=None
        Decides between equally good splits. None is 0: a guess is the same every time.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    cuts_ : tuple, one entry per column
        Thresholds of a numeric column, categories of another one; None is missing.
    tests_ : tuple of Test
        What `transform` asks, in its order.
    report_ : ThresholdReport
    n_features_in_, feature_names_in_ : as in scikit-learn

    Raises
    ------
    ValueError
        By `fit`, if a setting, label, weight or column cannot be used.

    Examples
    --------
    >>> from certree import guess_thresholds
    >>> guess = guess_thresholds([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> guess.get_feature_names_out().tolist()
    ['x0 <= 2.5']
    >>> guess.transform([[1], [4]]).tolist()
    [[True], [False]]
    """

    def __init__(
        self,
        n_estimators: int = N_MEMBERS,
        max_depth: int = MEMBER_DEPTH,
        learning_rate: float = LEARNING_RATE,
        *,
        categorical_features: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def __str__(self) -> str:
        return f"{self!r}: {self.report_.text}" if hasattr(self, "report_") else repr(self)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ThresholdGuess:
        """Guess the thresholds of a table from its labels."""
        table = read_table(X, estimator=self)
        validate_data(self, X, reset=True, skip_check_array=True)
        if y is None:
            raise ValueError("This ThresholdGuess estimator requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        if len(y) != table.n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {table.n_rows}, y {len(y)}"
            )
        features = make_features(table, categorical_features=self.categorical_features)
        warn_about(features.readings)
        return self.fit_problem(Problem.from_labels(features, y, sample_weight, max_depth=1))

    def fit_problem(self, problem: Problem) -> ThresholdGuess:
        """Guess the thresholds of a problem that has all of them."""
        started = time.perf_counter()
        features, y, weights = problem.features, problem.y, problem.weights
        assert y is not None, "a boosted model needs labels"
        kept: list[AxisTest] = []
        n_found = n_refits = 0
        loss_before = loss_after = 1 - float(np.bincount(y, weights).max() / weights.sum())
        if features.axes and len(np.unique(y)) > 1:
            with tqdm(total=self.n_estimators, desc="boosting", unit="tree", disable=not self.verbose) as bar:
                matrix, origins = read_matrix(features)
                model = self._boost(matrix, y, weights, bar.update)
                loss_before = loss_after = weighted_loss(model.predict(matrix), y, weights)
                found = list_splits(model, origins)
                n_found = len(found)
                if found:
                    kept, loss_after, n_refits = self._thin(features, found, y, weights, bar)
        self.cuts_ = read_cuts(features, kept)
        chosen = make_features(
            features.table,
            categorical_features=features.categorical_features,
            thresholds=self.cuts_,
            binner=features.binner,
        )
        self.columns_ = chosen.columns
        self.tests_ = list_tests(chosen)
        self.n_features_in_ = len(chosen.columns)
        self.report_ = ThresholdReport(
            n_tests=features.n_tests,
            n_found=n_found,
            n_kept=chosen.n_tests,
            loss_before=loss_before,
            loss_after=loss_after,
            n_refits=n_refits,
            seconds=time.perf_counter() - started,
        )
        return self

    def _boost(
        self, matrix: Array, y: Array, weights: Array, progress: Callable[[], Any] | None = None
    ) -> GradientBoostingClassifier:
        return boost(
            matrix,
            y,
            weights,
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
            progress=progress,
        )

    def _thin(
        self, features: Features, tests: list[AxisTest], y: Array, weights: Array, bar: Any
    ) -> tuple[list[AxisTest], float, int]:
        """Removes the least important tests while the loss of a refit is not worse; loss and refits come with them."""
        n_refits = 0

        def refit(candidates: list[AxisTest]) -> tuple[list[AxisTest], float]:
            """The tests that a model of these uses, most important first, and its loss."""
            nonlocal n_refits
            n_refits += 1
            # Nobody knows how many refits there will be: the bar grows with each.
            bar.total += self.n_estimators
            bar.set_description(f"refit {n_refits} with {len(candidates)} tests")
            rows, labels, amounts = merge_rows(evaluate(features, candidates), y, weights)
            model = self._boost(rows.astype(np.float32), labels, amounts, bar.update)
            # Where no split of any member helps, scikit-learn divides nothing by nothing.
            with np.errstate(invalid="ignore"):
                importances = np.nan_to_num(model.feature_importances_)
            order = np.argsort(-importances, kind="stable")
            used = [candidates[place] for place in order if importances[place] > 0]
            # A test that no member asks changes no member: leaving it out needs no refit.
            return used or candidates[:1], weighted_loss(model.predict(rows.astype(np.float32)), labels, amounts)

        kept, loss = refit(tests)
        allowed = loss + 1e-12
        step = len(kept) // 2
        while step >= 1 and len(kept) > 1:
            step = min(step, len(kept) - 1)
            fewer, fewer_loss = refit(kept[:-step])
            if fewer_loss <= allowed:
                kept, loss = fewer, fewer_loss
            else:
                step //= 2
        return kept, loss, n_refits

    def transform(self, X: Any) -> Array:
        """One column per kept test, true where the test holds.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit.

        Returns
        -------
        ndarray of bool, rows × tests
        """
        check_is_fitted(self)
        table = read_table(X, estimator=self)
        validate_data(self, X, reset=False, skip_check_array=True)
        places = {column.name: place for place, column in enumerate(self.columns_)}
        values = [column.read(raw, table) for column, raw in zip(self.columns_, table.columns, strict=True)]
        answers = np.empty((table.n_rows, len(self.tests_)), dtype=bool)
        for place, test in enumerate(self.tests_):
            answers[:, place] = test.holds(values[places[test.column.name]])
        return answers

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """The tests in words."""
        check_is_fitted(self)
        return np.array([test.text for test in self.tests_], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def guess_thresholds(X: Any, y: Any, sample_weight: Any = None, **settings: Any) -> ThresholdGuess:
    """The tests of a table that a boosted model needs, as a fitted transformer.

    The guess takes seconds and pays where a search over all thresholds takes minutes: see Weights and guesses.

    Parameters
    ----------
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    **settings :
        Parameters of `certree.guesses.ThresholdGuess`, such as `n_estimators`, `max_depth` and `random_state`.

    Returns
    -------
    ThresholdGuess
        Fitted. Give it to `SparseTreeClassifier(thresholds=...)`, or use it as a step of a pipeline.

    Raises
    ------
    ValueError
        If a setting, label, weight or column cannot be used.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, guess_thresholds
    >>> from certree.datasets import make_weighted
    >>> table = make_weighted(300, 3, depth=1, random_state=0)
    >>> guess = guess_thresholds(table.data, table.target, table.sample_weight)
    >>> model = SparseTreeClassifier(1, thresholds=guess).fit(table.data, table.target, table.sample_weight)
    >>> len(guess.tests_) == model.certificate_["sizes"]["tests"]
    True
    """
    return ThresholdGuess(**settings).fit(X, y, sample_weight)


def evaluate(features: Features, tests: Sequence[AxisTest]) -> Array:
    """bool, rows × tests: where each axis test holds."""
    answers = np.empty((features.n_rows, len(tests)), dtype=bool)
    for place, (axis, code) in enumerate(tests):
        codes = features.codes[axis]
        answers[:, place] = codes == code if features.axes[axis].is_categorical else codes <= code
    return answers


def merge_rows(rows: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Rows that agree in every test and in their label as one, with their weight: what is left is quick to fit."""
    packed = np.ascontiguousarray(np.hstack([np.packbits(rows, axis=1), y.astype(">i4")[:, None].view(np.uint8)]))
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, groups = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], y[first], np.bincount(groups, weights)


def read_cuts(features: Features, tests: Sequence[AxisTest]) -> tuple[tuple[Value | None, ...], ...]:
    """Axis tests as cuts of columns."""
    cuts: list[dict[Value | None, None]] = [{} for _ in features.columns]
    for axis, code in sorted(tests):
        test = features.question(axis, code)
        cut = test.threshold if test.threshold is not None else test.category
        cuts[features.axes[axis].column][cut] = None
    return tuple(tuple(sorted(own, key=lambda cut: (cut is None, str(type(cut)), cut))) for own in cuts)


def list_tests(features: Features) -> tuple[Test, ...]:
    """Every test of the axes, once."""
    tests: dict[tuple[str, float | None, Value | None, bool], Test] = {}
    for number, axis in enumerate(features.axes):
        for code in range(axis.size if axis.is_categorical else axis.size - 1):
            test = features.question(number, code)
            tests.setdefault((test.column.name, test.threshold, test.category, test.missing_left), test)
    return tuple(tests.values())


# Depth ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DepthGuess:
    """A depth and the numbers it comes from; made by `certree.guess_depth`.

    Examples
    --------
    >>> from certree import guess_depth
    >>> guess_depth(40, 4).size
    200
    """

    depth: int
    n_members: int
    """T."""
    member_dimension: int
    """V."""
    size: int
    """m = T (V + 1)."""

    @property
    def text(self) -> str:
        """The guess in words."""
        return (
            f"T = {self.n_members} members of VC dimension V = {self.member_dimension}, m = T(V + 1) = {self.size}: "
            f"depth ceil(log2(m (3 ln m + 2))) = {self.depth}"
        )


def guess_depth(n_members: int, member_dimension: int) -> DepthGuess:
    """The smallest depth whose trees have at least the VC dimension of a boosted ensemble.

    A weighted vote of T members of VC dimension V has at most dimension m (3 ln m + 2), m = T (V + 1); a full tree of
    depth d tells 2^d rows apart. `certree.guesses.tree_dimension` gives V for trees.

    Parameters
    ----------
    n_members : int
        T, the number of members of the ensemble.
    member_dimension : int
        V, the VC dimension of one member.

    Returns
    -------
    DepthGuess
        The depth, and the numbers behind it.

    Raises
    ------
    ValueError
        If a number is below 1.

    Examples
    --------
    >>> from certree import guess_depth
    >>> guess_depth(n_members=40, member_dimension=4).depth
    12
    """
    for name, value in (("n_members", n_members), ("member_dimension", member_dimension)):
        if value < 1 or value != int(value):
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    size = n_members * (member_dimension + 1)
    return DepthGuess(math.ceil(math.log2(size * (3 * math.log(size) + 2))), n_members, member_dimension, size)


def guess_tree_depth(n_tests: int) -> DepthGuess:
    """The guess of `max_depth="guess"`: the ensemble is the boosted model of this room, over so many tests."""
    return guess_depth(N_MEMBERS, max(1, tree_dimension(n_tests, MEMBER_DEPTH)))


def tree_dimension(n_tests: int, depth: int) -> int:
    """An upper bound of the VC dimension of two-label trees of a depth over so many tests.

    A class of N functions tells at most log2 N rows apart. N(0) = 2; a tree of depth d is one of depth d − 1, or a test
    with two different trees below it: N(d) <= N(d − 1) + tests · N(d − 1) · (N(d − 1) − 1).
    """
    if n_tests < 0 or depth < 0:
        raise ValueError("neither tests nor depth can be negative")
    count = 2
    for _ in range(depth):
        count += n_tests * count * (count - 1)
    # Exact whole numbers: bit_length − 1 is floor(log2).
    return count.bit_length() - 1


# Lower bounds ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReferenceAccount:
    """What a reference model's costs say about a search that used them as lower-bound guesses."""

    loss: float
    """The reference's own weighted loss, in units of R."""
    excess: float
    """The most by which a guessed bound can lie above the objective of a tree, and so R(t_g) above the optimum."""
    floor: float
    """What no tree is below, whatever the reference."""
    lone_leaf_bound: float
    """The right side of Theorem 1 for the best lone leaf."""

    def lower(self, guessed: float) -> float:
        """The true lower bound that is still known beside a guessed one."""
        return max(guessed - self.excess, self.floor)

    def state(self, guessed: float, is_finished: bool) -> dict[str, Any]:
        """Theorem 1 and its numbers as plain data."""
        return {
            "statement": state_reference(is_finished=is_finished),
            "reference_loss": self.loss,
            "lone_leaf_bound": self.lone_leaf_bound,
            "guessed_lower_bound": guessed,
            "excess": self.excess,
            "floor": self.floor,
        }


def state_reference(*, is_finished: bool) -> str:
    """What is known of a tree that was searched with a reference, in words."""
    theorem = (
        "Theorem 1: objective <= reference_loss + (loss of t where the reference is right) + λ·leaves(t) for every "
        "tree t that the constraints allow; for the best lone leaf the right side is lone_leaf_bound. "
        if is_finished
        else "The search was stopped: Theorem 1 says nothing about its tree. "
    )
    return theorem + "No tree is below lower_bound = max(guessed_lower_bound − excess, floor)."


def account_reference(problem: Problem, reference_costs: Array) -> ReferenceAccount:
    """What is truly known when costs of a reference (one per row of the problem) are used as lower-bound guesses.

    The engine merges rows that no test tells apart. For such a group g let c[g, k] be the cost of label k, less that of
    its best label, and r[g] the reference's cost less the same, kept within 0 .. max_k c[g, k]. Any guessed bound B has
    B <= Σ_g max(r[g], c[g, t]) + what no tree avoids + λ·leaves(t) for every tree t, which is at most R(t) + Σ_g r[g].
    """
    groups, costs = problem.equal_rows, problem.group_costs()
    least = costs.min(axis=1)
    own = np.bincount(groups, reference_costs, minlength=len(costs))
    slack = float(np.finfo(float).eps) * (problem.n_rows + 8)
    excess = math.fsum(np.clip(own - least, 0.0, costs.max(axis=1) - least).tolist()) / problem.normaliser + slack
    per_row = cost_rows(problem)
    worse = np.maximum(per_row, reference_costs[:, None])
    # The smallest tree: a lone leaf, or the start with nothing added.
    leaves = [slice(None)] if problem.start is None else [leaf.rows for leaf in problem.start_leaves]
    union = math.fsum(worse[rows].sum(axis=0).min() for rows in leaves) / problem.normaliser
    return ReferenceAccount(
        loss=math.fsum(reference_costs.tolist()) / problem.normaliser,
        excess=excess,
        floor=problem.floor(),
        lone_leaf_bound=union + float(problem.regularization) * len(leaves),
    )


def cost_rows(problem: Problem) -> Array:
    """float64, rows × labels."""
    if problem.costs is not None:
        return problem.costs
    assert problem.y is not None
    return np.where(np.arange(len(problem.labels)) != problem.y[:, None], problem.weights[:, None], 0.0)


def charge_reference(problem: Problem, predicted: Array) -> Array:
    """float64, one per row: what the reference's label (an index into the problem's) costs."""
    return np.ascontiguousarray(cost_rows(problem)[np.arange(problem.n_rows), predicted])


# The reference --------------------------------------------------------------------------------------------------------


def predict_boosting(problem: Problem, random_state: Any = None) -> Array:
    """int, one per row: the label that a boosted model of the problem itself predicts."""
    assert problem.y is not None, "a boosted model needs labels"
    if not problem.features.axes or len(np.unique(problem.y)) < 2:
        return np.full(problem.n_rows, np.argmax(np.bincount(problem.y, problem.weights)))
    matrix, _ = read_matrix(problem.features)
    model = boost(matrix, problem.y, problem.weights, random_state=random_state)
    return np.asarray(model.predict(matrix))


def predict_reference(reference: Any, X: Any, y: Any, weights: Array, classes: Array) -> Array:
    """int, one per row of positive weight: the label (an index into `classes`) that a reference predicts.

    `reference` is an array of predictions (one per row of X), a fitted classifier, or one that is fitted here: a copy,
    on the rows of positive weight, with the weights where it takes them.
    """
    rows = np.flatnonzero(weights > 0)
    if hasattr(reference, "predict"):
        table = _safe_indexing(X, rows)
        if _is_fitted(reference):
            model = reference
        else:
            try:
                model = _fit_with_weights(clone(reference), table, _safe_indexing(y, rows), weights[rows])
            except (TypeError, ValueError) as error:
                raise ValueError(f"reference ({type(reference).__name__}) cannot be fitted: {error}") from error
        try:
            predicted = np.asarray(model.predict(table))
        except (TypeError, ValueError) as error:
            raise ValueError(f"reference ({type(model).__name__}) cannot predict X: {error}") from error
    else:
        predicted = np.asarray(reference)
        if predicted.shape != weights.shape:
            raise ValueError(f"reference has shape {predicted.shape}, but X has {len(weights)} rows")
        predicted = predicted[rows]
    if predicted.shape != rows.shape:
        raise ValueError(f"reference predicts an array of shape {predicted.shape} for {len(rows)} rows")
    return _read_predictions(predicted, classes, rows, X)


def _is_fitted(model: Any) -> bool:
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _fit_with_weights(model: Any, X: Any, y: Any, weights: Array) -> Any:
    from sklearn.pipeline import Pipeline

    if has_fit_parameter(model, "sample_weight"):
        return model.fit(X, y, sample_weight=weights)
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return model.fit(X, y, **{f"{model.steps[-1][0]}__sample_weight": weights})
    return model.fit(X, y)


def _read_predictions(predicted: Array, classes: Array, rows: Array, X: Any) -> Array:
    distinct, places = np.unique(predicted, return_inverse=True)
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = []
    for place, label in enumerate(distinct.tolist()):
        if label not in known:
            row = int(rows[np.argmax(places == place)])
            labels = ", ".join(map(repr, list(known)[:10]))
            raise ValueError(
                f"reference predicts {label!r} in {name_row(row, X)}, which is not a label of y ({labels})"
            )
        codes.append(known[label])
    return np.array(codes, dtype=np.int64)[places]


def state_thresholds(report: ThresholdReport, whole: Problem, kept: Problem) -> dict[str, Any]:
    """What a search over guessed thresholds proves, as plain data; `report` may be of a guess for another table."""
    n_kept, n_tests = kept.features.n_tests, whole.features.n_tests
    return {
        "statement": (
            f"lower_bound and status speak of trees over the {n_kept} kept of {n_tests} tests; over all tests no tree "
            "is below floor"
        ),
        "floor": whole.floor(),
        "n_tests": n_tests,
        "n_kept": n_kept,
        "guess": asdict(report),
    }


def state_depth(guess: DepthGuess) -> dict[str, Any]:
    """The numbers of a guessed depth as plain data."""
    return {"statement": guess.text, **asdict(guess)}
