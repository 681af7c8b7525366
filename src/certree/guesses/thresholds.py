"""Guessed thresholds: the tests that a boosted model needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from tqdm.auto import tqdm

from certree.features import Features, make_features
from certree.guesses.boosted import (
    LEARNING_RATE,
    MEMBER_DEPTH,
    N_MEMBERS,
    AxisTest,
    boost,
    list_splits,
    read_matrix,
    weighted_loss,
)
from certree.problem import Problem, check_labels
from certree.reading import warn_about
from certree.table import read_table
from certree.tree import Test, Value

if TYPE_CHECKING:
    from sklearn.ensemble import GradientBoostingClassifier

Array = NDArray[Any]


@dataclass(frozen=True)
class ThresholdReport:
    """How many tests of a table were found and kept, and what that did to the loss."""

    n_tests: int
    """Tests of the whole table."""
    n_found: int
    """Tests that the boosted model uses."""
    n_kept: int
    """Tests offered to the search; more than were kept if a column has missing values, which may go either way."""
    loss_before: float
    """Weighted training loss of the boosted model with all tests."""
    loss_after: float
    """Weighted training loss of a boosted model with the kept tests alone."""
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
        Which columns are categories, as in `SparseTreeClassifier`.
    random_state : int, RandomState instance or None, default=None
        Decides between equally good splits. None means 0, so that a guess is the same every time.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    cuts_ : tuple, one entry per column
        The thresholds of a numeric column, the categories of any other; None stands for a missing value.
    tests_ : tuple of Test
        The tests behind the columns of `transform`, in the same order.
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
        given, y = y, column_or_1d(y, warn=True)
        check_labels(y, given)
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

    The guess itself takes seconds. It pays if a search over all thresholds takes minutes: see Weights and guesses.

    Parameters
    ----------
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    **settings :
        Parameters of `certree.guesses.ThresholdGuess`, such as `n_estimators`, `max_depth` and `random_state`.

    Returns
    -------
    ThresholdGuess
        Already fitted. Pass it to `SparseTreeClassifier(thresholds=...)`, or use it as a step of a pipeline.

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
    >>> model = SparseTreeClassifier(1, thresholds=guess)
    >>> model = model.fit(table.data, table.target, table.sample_weight)
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
