"""scikit-learn estimators.

This room validates, builds a Problem, has it solved and stores what came back; it promises scikit-learn's conventions
to the letter and holds nothing mathematical. A fitted estimator is plain data: it pickles, clones and prints as any
other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from certree.certificate import Certificate
from certree.display import show_html, show_text
from certree.document import write_document
from certree.features import make_features
from certree.folds import count_threads
from certree.guesses import (
    ThresholdGuess,
    charge_reference,
    guess_tree_depth,
    predict_boosting,
    predict_reference,
    state_depth,
    state_thresholds,
)
from certree.limits import Limits
from certree.problem import Problem, check_labels, check_weights, weigh_amounts
from certree.reading import ColumnReading, warn_about, warn_idle
from certree.solution import Solution, carry_over
from certree.solver import bin_numeric, describe_best, search, warn_interrupted
from certree.start import read_start
from certree.table import Table, read_table
from certree.tree import Test, Tree, UnknownCategoryError
from certree.weights.weighing import Weighing, weigh_by_duplication, weigh_by_sampling
from certree.writing import replace_file

if TYPE_CHECKING:
    from typing_extensions import Self

Array = NDArray[Any]


class _AsBefore:
    def __repr__(self) -> str:
        return "as before"


AS_BEFORE: Any = _AsBefore()
"""An edit that is not named stays as it is."""

EDIT_CONSTRAINTS: dict[str, list[Any]] = {
    "start": [str, Mapping, Tree, None],
    "forbidden": [str, Integral, Mapping, Test, set, frozenset, "array-like", None],
}
"""Of the parameters that every estimator of one tree has."""


def clone_for(model: Any, X: Any) -> Any:
    """A clone to be fitted on a part of the rows. Of a start it keeps what these rows can tell: without a fold, a test
    may leave one of its sides without rows, and is then not asked."""
    copy = clone(model)
    if getattr(model, "start", None) is None or not isinstance(model, TreeEstimator):
        return copy
    table = read_table(X)
    columns = make_features(table, categorical_features=getattr(model, "categorical_features", "auto")).columns
    try:
        start = read_start(model.start, columns)
    except UnknownCategoryError:
        return copy.set_params(start=None)  # nobody here has the category that it begins with
    told = "open" if start is None else start.told_by(table, int(model.min_samples_leaf))
    if isinstance(told, str):
        return copy.set_params(start=None, **({"max_depth": 0} if told == "leaf" else {}))
    return copy.set_params(start=told.to_plain())


@dataclass(frozen=True)
class Edit:
    """What an edit of a model costs."""

    before: float
    """The objective of the model that was edited."""
    after: float
    """The objective of the best tree with the edit, or of the best one found."""
    price: float
    """How much worse it is: after minus before or, for a policy, before minus after."""
    price_bounds: tuple[float, float]
    """An interval for the price between the two best trees; both ends are the price if both are proved optimal."""

    def __str__(self) -> str:
        low, high = self.price_bounds
        within = "" if low == high else f", between {low:.6g} and {high:.6g} for the best trees"
        return f"the edit costs {self.price:.6g}{within}: objective {self.after:.6g} after, {self.before:.6g} before"


class TreeEstimator(BaseEstimator):
    """What every estimator that ends in one tree does with it, whatever its leaves stand for."""

    certificate_: Certificate
    objective_: float
    gap_: float
    edit_: Edit
    columns_: tuple[ColumnReading, ...]
    tree_: Tree
    depth_: int
    n_leaves_: int

    def apply(self, X: Any) -> Array:
        """The leaf (node number of `tree_`) that each row reaches.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit, in the same order.

        Returns
        -------
        ndarray of n whole numbers
        """
        check_is_fitted(self)
        return self.tree_.apply(self._read(X, reset=False))

    def get_depth(self) -> int:
        """The depth of the tree, as scikit-learn's trees tell it."""
        check_is_fitted(self)
        return self.depth_

    def get_n_leaves(self) -> int:
        """The number of leaves, as scikit-learn's trees tell it."""
        check_is_fitted(self)
        return self.n_leaves_

    def edited(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        start: Any = AS_BEFORE,
        forbidden: Any = AS_BEFORE,
        **fit_parameters: Any,
    ) -> Self:
        """A new model of the same table with another `start` or other `forbidden` tests, fitted and certified again.

        `edit_` of the new model holds the price: how much worse its objective is than that of this model. `start` and
        `forbidden` stay as they are here unless you pass them. Further parameters are those of `fit`.
        """
        check_is_fitted(self)
        edits = {name: own for name, own in (("start", start), ("forbidden", forbidden)) if own is not AS_BEFORE}
        model: Self = clone(self).set_params(**edits)
        model.fit(X, y, sample_weight, **fit_parameters)
        before, after = self.certificate_.digests, model.certificate_.digests
        if before is not None and after is not None and before["table"] != after["table"]:
            raise ValueError(
                "edited: this is not the table that the model was fitted on, so a difference between the objectives "
                "would not be the price of the edit"
            )
        sign = -1.0 if "policy" in self.certificate_ else 1.0
        price = sign * (model.objective_ - self.objective_)
        # The best tree after is at most its gap better than the one found, and so is the best tree before.
        model.edit_ = Edit(self.objective_, model.objective_, price, (price - model.gap_, price + self.gap_))
        return model

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, as a whole or not at all; `certree.load` reads it.

        Parameters
        ----------
        path : str or Path
            An existing file of that name is replaced.

        Raises
        ------
        OSError
            If the file cannot be written. A file that was there before is then unchanged.
        """
        check_is_fitted(self)
        replace_file(Path(path), write_document(self).encode("utf-8"))

    def __str__(self) -> str:
        return show_text(self) if hasattr(self, "tree_") else repr(self)

    # A property, as in scikit-learn: there it is absent where diagrams are switched off.
    @property
    def _repr_html_(self) -> Callable[[], str]:
        return partial(show_html, self) if hasattr(self, "tree_") else super()._repr_html_

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        if not hasattr(self, "tree_"):
            return super()._repr_mimebundle_(**kwargs)  # type: ignore[no-any-return]
        return {"text/plain": show_text(self), "text/html": show_html(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle of an earlier release knows of no edits.
        super().__setstate__({name: None for name in EDIT_CONSTRAINTS if name in self._get_param_names()} | state)
        if isinstance(getattr(self, "certificate_", None), dict):
            self.certificate_ = Certificate(self.certificate_)  # a pickle of 0.1.0 has a plain dict

    @classmethod
    @cache  # scikit-learn reads the signature at every fit, and that of a class never changes
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def _read(self, X: Any, *, reset: bool) -> Table:
        table = read_table(X, estimator=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return table


class SparseTreeClassifier(ClassifierMixin, TreeEstimator):
    """The certified optimal sparse decision tree of a weighted table.

    Minimises the weighted share of wrongly labelled rows plus a penalty of `regularization` per leaf, over all trees of
    the given depth, and proves that no tree does better.

    Parameters
    ----------
    max_depth : int, None or "guess", default=3
        A lone leaf has depth 0. None: limited only by `regularization` (then > 0) or `max_leaves`. "guess": the least
        depth at which a tree can be as expressive as a boosted ensemble (see `certree.guess_depth`); it is large.
    regularization : float, default=0.01
        The penalty λ per leaf, in units of the normalised weighted loss: a split must save at least λ of the weight.
    max_leaves : int or None, default=None
        The most leaves that the tree may have.
    min_samples_leaf : int, default=1
        Rows (of positive weight) that every leaf must hold.
    min_weight_leaf : float, default=0.0
        Weight that every leaf must hold, in the units of `sample_weight` times `class_weight`.
    method : {"direct", "duplicate", "sample"}, default="direct"
        How weights are used. "direct" uses them as they are. "duplicate" rounds them to counts, and "sample" draws rows
        in proportion to them. The search then uses the counts, but everything stated refers to the true weights.
    duplication : int, default=100
        With "duplicate": the count of the heaviest row.
    sample_ratio : float, default=1.0
        With "sample": how many draws there are per row of the table.
    thresholds : "all", int, "guess" or ThresholdGuess, default="all"
        "all" uses every threshold of a numeric column. A number keeps at most that many per column, at weighted
        quantiles. "guess" keeps the tests that a boosted model needs (see `certree.guess_thresholds`), and a fitted
        guess keeps its own. Whatever is then stated, including `status_` and `lower_bound_`, is about trees over these
        tests; the certificate says what is known beyond them.
    reference : None, "boosting", classifier or array of n labels, default=None
        A reference model for lower-bound guesses: a part of the tree is good enough as soon as it does as well as the
        reference. A classifier that is not fitted yet is fitted, with the weights if it accepts them.
    start : None, str, dict or Tree, default=None
        What the tree must begin with: a root test such as "age <= 31.5"; a mapping of "test", "left" and "right", where
        either side is another test or mapping, None (open: completed optimally) or "leaf" (stays a leaf); or a Tree,
        all of whose leaves are open.
    forbidden : None, column, test or list of them, default=None
        Columns (names or numbers) and tests that the tree may not ask, the tests as text or as `Tree.test` gives them.
    class_weight : dict, "balanced" or None, default=None
        What each class counts, as in scikit-learn: each weight is multiplied by that of its class. "balanced" gives
        all classes the same total weight.
    categorical_features : "auto", mask, numbers or names, default="auto"
        Columns to read as categories, besides text columns and those that a frame declares categorical. A column that
        is named here loses its order, and there is no warning if it looks numeric.
    time_limit : float or None, default=None
        Seconds. When they are over, the best tree so far is kept, with a lower bound that holds.
    memory_limit : int or None, default=None
        Bytes that the search may use.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.
    random_state : int, RandomState instance or None, default=None
        Used only by "sample" and by boosted guesses: the optimum does not depend on chance.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of the labels
    n_features_in_, feature_names_in_ : as in scikit-learn
    columns_ : tuple of ColumnReading
        What each column was read as: its kind, distinct and missing values, order, and what may not have been meant.
    tree_ : Tree
        The tree itself; `print` shows it.
    n_leaves_, depth_ : int
        The size of the tree. A lone leaf has depth 0.
    loss_ : float
        Weighted share of wrongly labelled rows.
    objective_ : float
        `loss_` + λ · leaves, recomputed from the raw rows.
    lower_bound_ : float
        No tree over the tests that `thresholds` keeps has a lower objective, whatever `method` and `status_` are.
    gap_ : float
        `objective_` − `lower_bound_`; 0 if the tree is proved optimal.
    status_ : {"optimal", "guessed", "approximate", "time_limit", "memory_limit", "interrupted"}
        "guessed" with a `reference`, "approximate" with a `method` other than "direct".
    certificate_ : Certificate
        What was proved; `certree.certify.check` checks it against a table. Under "guarantees": what
        `method` and every guess give up, in words and numbers.
    edit_ : Edit
        The price of the edit; only on a model that `edited` returned.
    threshold_guess_ : ThresholdGuess
        The guess; only if thresholds were guessed.
    statistics_ : dict
        Figures of the search.
    fit_seconds_ : float
        How long the fit took.

    Notes
    -----
    Missing values need no preparation: each test says which way they go. In a prediction, a category that the fit did
    not see fails every "==" test and goes right, and so does a missing value in a column that had none in the fit. Rows
    of weight zero are ignored; a label that only such rows carry stays in `classes_` but is never predicted.

    Raises
    ------
    ValueError
        By `fit`, for a parameter, a label, a weight or a column that cannot be used; the message names it, and the row
        if there is one.

    Examples
    --------
    >>> from certree import SparseTreeClassifier
    >>> X = [[20, 1], [30, 0], [40, 1], [50, 0]]
    >>> y = ["no", "no", "yes", "yes"]
    >>> model = SparseTreeClassifier(max_depth=1, regularization=0.1).fit(X, y)
    >>> model.status_, model.n_leaves_, model.loss_
    ('optimal', 2, 0.0)
    >>> model.predict([[25, 1], [45, 1]]).tolist()
    ['no', 'yes']
    >>> print(model.certificate_.statement)
    proved optimal among all trees of depth at most 1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 0, None, closed="left"), StrOptions({"guess"}), None],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "max_leaves": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_weight_leaf": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions({"direct", "duplicate", "sample"})],
        "duplication": [Interval(Integral, 1, None, closed="left")],
        "sample_ratio": [Interval(Real, 0, None, closed="neither")],
        "thresholds": [StrOptions({"all", "guess"}), Interval(Integral, 1, None, closed="left"), ThresholdGuess],
        "reference": [None, StrOptions({"boosting"}), HasMethods("predict"), "array-like"],
        **EDIT_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "categorical_features": [StrOptions({"auto"}), "array-like", None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        max_depth: int | str | None = 3,
        regularization: float = 0.01,
        *,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_leaf: float = 0.0,
        method: str = "direct",
        duplication: int = 100,
        sample_ratio: float = 1.0,
        thresholds: Any = "all",
        reference: Any = None,
        start: Any = None,
        forbidden: Any = None,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.regularization = regularization
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.method = method
        self.duplication = duplication
        self.sample_ratio = sample_ratio
        self.thresholds = thresholds
        self.reference = reference
        self.start = start
        self.forbidden = forbidden
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseTreeClassifier:
        """Find the optimal tree.

        Parameters
        ----------
        X : array or frame, rows × columns
            Numeric, boolean, string or categorical columns; missing values as NaN, None or NA.
        y : array of n labels
            The right label of each row: text, numbers or booleans.
        sample_weight : array of n weights, default=None
            Real numbers of any scale, not negative.

        Returns
        -------
        SparseTreeClassifier
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If a parameter, label, weight or column cannot be used; the message names it.
        """
        started = time.perf_counter()
        problem, classes, weights, factors, guarantees = self._pose(X, y, sample_weight)
        predicted = self._predict_reference(X, y, weights, classes, problem)
        solution = self._solve(problem, predicted)

        self.classes_ = classes
        self.tree_: Tree = solution.tree
        self.n_leaves_ = solution.tree.n_leaves
        self.depth_ = solution.tree.depth
        self.loss_ = solution.loss
        self.objective_ = solution.upper
        self.lower_bound_ = solution.lower
        self.gap_ = solution.gap
        self.status_ = solution.status
        self.statistics_ = dict(solution.statistics)
        self.__dict__.pop("edit_", None)  # of an earlier fit
        self.certificate_ = solution.certificate | {
            "class_weights": None if factors is None else factors.tolist(),
            "guarantees": {**solution.certificate.get("guarantees", {}), **guarantees},
        }
        self.fit_seconds_ = time.perf_counter() - started
        if self.status_ == "interrupted":
            warn_interrupted(describe_best(solution))
        return self

    def predict(self, X: Any) -> Array:
        """The label of each row.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit, in the same order.

        Returns
        -------
        ndarray of n labels
        """
        leaf = self.apply(X)
        return np.asarray(self.classes_[self.tree_.label[leaf]])

    def predict_proba(self, X: Any) -> Array:
        """The weighted shares of the labels in each row's leaf.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit, in the same order.

        Returns
        -------
        ndarray, rows × labels
            In the order of `classes_`.
        """
        check_is_fitted(self)
        return self.tree_.predict_proba(self._read(X, reset=False))

    def pose(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Problem, Array, Array | None]:
        """The problem that `fit` solves, the weight of every given row, and the factors of the labels in it, for rooms
        that ask more of it."""
        self._validate_params()
        problem, _, weights, factors, _ = self._pose(X, y, sample_weight)
        return problem, weights, factors

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, Array, Array, Array | None, dict[str, Any]]:
        """The problem, the labels, the weights, the factors of the labels in them, what guessed parts state."""
        table = self._read(X, reset=True)
        classes, codes = self._read_labels(y, table.n_rows)
        weights = check_weights(sample_weight, table.n_rows, table)
        factors = self._class_factors(classes, codes)
        if factors is not None:
            weights = check_weights(
                weigh_amounts("class_weight", factors[codes, None], weights, table)[:, 0], table.n_rows
            )
        problem, guarantees = self._make_problem(table, classes, codes, weights)
        warn_about(self.columns_)
        warn_idle(problem.features.idle, has_all_tests=problem.features.thresholds == "all")
        return problem, classes, weights, factors, guarantees

    def _read_labels(self, y: Any, n_rows: int) -> tuple[Array, Array]:
        if y is None:
            raise ValueError("This SparseTreeClassifier estimator requires y to be passed, but the target y is None.")
        if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"):
            # Whole numbers and booleans are labels whatever they hold; the rest is looked at.
            given, y = y, column_or_1d(y, warn=True)
            check_labels(y, given)
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        if len(y) != n_rows:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n_rows}, y {len(y)}")
        if y.dtype.kind in "iub":
            # The engine bins faster than numpy sorts, and below 2^53 whole numbers are exact as floats.
            codes, distinct = bin_numeric(y.astype(np.float64))
            if distinct[0] > -(2**53) and distinct[-1] < 2**53:
                return distinct.astype(y.dtype), codes
        return np.unique(y, return_inverse=True)

    def _class_factors(self, classes: Array, codes: Array) -> Array | None:
        if self.class_weight is None:
            return None
        return np.asarray(compute_class_weight(self.class_weight, classes=classes, y=classes[codes]), dtype=np.float64)

    def _make_problem(
        self, table: Table, classes: Array, codes: Array, weights: Array
    ) -> tuple[Problem, dict[str, Any]]:
        """The problem, and what its guessed parts state."""

        def make(thresholds: Any, max_depth: int | None) -> Problem:
            features = make_features(
                table,
                categorical_features=self.categorical_features,
                thresholds=thresholds,
                weights=weights,
                binner=bin_numeric,
                forbidden=self.forbidden,
            )
            self.columns_ = features.readings
            return Problem.from_labels(
                features,
                codes,
                weights,
                labels=classes.tolist(),
                regularization=self.regularization,
                max_depth=max_depth,
                max_leaves=self.max_leaves,
                min_samples_leaf=self.min_samples_leaf,
                min_weight_leaf=self.min_weight_leaf,
            )

        guarantees: dict[str, Any] = {}
        max_depth = self.max_depth if not isinstance(self.max_depth, str) else 1
        if isinstance(self.thresholds, ThresholdGuess) or self.thresholds == "guess":
            whole = make("all", max_depth)
            self.threshold_guess_ = self._guess_thresholds(whole)
            problem = make(self.threshold_guess_.cuts_, max_depth)
            whole = replace(whole, max_depth=None if self.start else max_depth, start=self.start)
            guarantees["thresholds"] = state_thresholds(self.threshold_guess_.report_, whole, problem)
        else:
            self.__dict__.pop("threshold_guess_", None)  # of an earlier fit
            problem = make(self.thresholds, max_depth)
        if isinstance(self.max_depth, str):
            guess = guess_tree_depth(problem.features.n_tests)
            problem = replace(problem, max_depth=guess.depth)
            guarantees["depth"] = state_depth(guess)
        return problem if self.start is None else replace(problem, start=self.start), guarantees

    def _guess_thresholds(self, whole: Problem) -> ThresholdGuess:
        if not isinstance(self.thresholds, ThresholdGuess):
            return ThresholdGuess(random_state=self.random_state, verbose=self.verbose).fit_problem(whole)
        guess: ThresholdGuess = self.thresholds
        return guess if hasattr(guess, "cuts_") else ThresholdGuess(**guess.get_params()).fit_problem(whole)

    def _predict_reference(self, X: Any, y: Any, weights: Array, classes: Array, problem: Problem) -> Array | None:
        if self.reference is None:
            return None
        if isinstance(self.reference, str):
            return predict_boosting(problem, self.random_state)
        return predict_reference(self.reference, X, y, weights, classes)

    def _solve(self, problem: Problem, predicted: Array | None) -> Solution:
        limits = Limits(self.time_limit, self.memory_limit, count_threads(self.n_jobs))
        weighing = self._weigh(problem)
        target = problem if weighing is None else weighing.problem
        costs = None if predicted is None else charge_reference(target, predicted)
        found = search(target, limits, verbose=self.verbose, reference_costs=costs)
        if weighing is None:
            return found
        return carry_over(
            problem,
            found,
            lower=weighing.lower(found.lower),
            status="approximate" if found.status in ("optimal", "guessed") else found.status,
            guarantees={"weighing": weighing.state(found.upper, found.lower)},
        )

    def _weigh(self, problem: Problem) -> Weighing | None:
        if self.method == "duplicate":
            return weigh_by_duplication(problem, self.duplication)
        if self.method == "sample":
            return weigh_by_sampling(problem, self.sample_ratio, self.random_state)
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
