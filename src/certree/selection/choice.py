"""SparseTreeCV: the penalty λ chosen on held-out rows, from the whole front of optimal trees.

Every tree that is optimal for some λ lies on the front, so that the front of all rows has every candidate there is.
Each fold has a front of its own, and a candidate is judged in a fold by the fold's optimal tree of the same λ.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from certree.estimators import SparseTreeClassifier, TreeEstimator
from certree.path import choose_penalties, regularization_path
from certree.plot import plot_choice
from certree.policy.evaluation import Estimate
from certree.problem import check_weights
from certree.reading import quiet_reading
from certree.selection.held_out import estimate_mean, split_rows
from certree.tree import Array

SHARED = (
    "max_depth", "max_leaves", "min_samples_leaf", "min_weight_leaf", "thresholds", "categorical_features",
    "time_limit", "memory_limit", "n_jobs", "verbose",
)  # fmt: skip
"""Settings that the front, the folds and the final fit have in common."""


class SparseTreeCV(ClassifierMixin, TreeEstimator):
    """The certified optimal sparse tree whose penalty λ is chosen on held-out rows.

    All trees that are optimal for some λ are found at once, on all rows and without each fold. Held-out rows count by
    their weights, as they do in the fit. The final tree is the optimal tree of all rows at the chosen λ, with its
    certificate.

    Parameters
    ----------
    max_depth : int or None, default=3
        The largest depth of a tree. A lone leaf has depth 0.
    cv : int or splitter of scikit-learn, default=5
        A number of folds, stratified by label and shuffled, or any splitter that holds out every row once.
    rule : {"one_standard_error", "best"}, default="one_standard_error"
        "one_standard_error" chooses the smallest tree whose held-out loss is within one standard error of the best;
        "best" the least held-out loss, and of equals the smallest tree.
    max_leaves, min_samples_leaf, min_weight_leaf, class_weight, categorical_features :
        As in `SparseTreeClassifier`.
    time_limit, memory_limit, n_jobs, verbose :
        As in `SparseTreeClassifier`. The limits hold for each search.
    thresholds : "all" or int, default="all"
        All thresholds of a numeric column, or at most that many per column, at weighted quantiles.
    random_state : int, RandomState instance or None, default=0
        How rows fall into folds.

    Attributes
    ----------
    regularization_ : float
        The chosen λ.
    path_ : RegularizationPath
        The front of all rows: every candidate.
    cv_results_ : dict of arrays
        One entry per candidate: "regularization", "leaves", "loss" (on the rows of the fit), "held_out_loss" and
        "standard_error".
    chosen_index_, best_index_ : int
        The candidate that was chosen, and the one of the least held-out loss.
    choice_ : str
        What was chosen and why, in one sentence.
    best_estimator_ : SparseTreeClassifier
        The final tree as a classifier of its own. Its attributes (`tree_`, `loss_`, `certificate_` and so on) are those
        of this estimator, too.

    Notes
    -----
    The held-out loss of the chosen tree is optimistic, because it was chosen for it: `certree.evaluate` of a
    SparseTreeCV chooses again without each fold and says what is left.

    Raises
    ------
    ValueError
        By `fit`, as `SparseTreeClassifier` does, and if there are too few rows or clusters for the folds.

    Examples
    --------
    >>> from certree import SparseTreeCV
    >>> from certree.datasets import make_weighted
    >>> table = make_weighted(300, 3, depth=1, random_state=0)
    >>> model = SparseTreeCV(max_depth=2, cv=3).fit(table.data, table.target, table.sample_weight)
    >>> model.n_leaves_, model.status_
    (2, 'optimal')
    >>> print(model.choice_)  # doctest: +ELLIPSIS
    Chose λ = ..., 2 leaves (held-out loss ...
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: SparseTreeClassifier._parameter_constraints[name]
            for name in (*SHARED, "class_weight", "random_state")
        },
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "thresholds": [StrOptions({"all"}), Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "rule": [StrOptions({"one_standard_error", "best"})],
    }

    def __init__(
        self,
        max_depth: int | None = 3,
        *,
        cv: Any = 5,
        rule: str = "one_standard_error",
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_leaf: float = 0.0,
        thresholds: str | int = "all",
        class_weight: Any = None,
        categorical_features: Any = "auto",
        time_limit: float | None = None,
        memory_limit: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.cv = cv
        self.rule = rule
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.thresholds = thresholds
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, cluster: Any = None) -> SparseTreeCV:
        """Choose λ and find the optimal tree.

        Parameters
        ----------
        X, y, sample_weight :
            As in `SparseTreeClassifier.fit`.
        cluster : array of n values, default=None
            Which rows belong together (a household, a site): they are held out together, and the standard error counts
            clusters in place of rows.

        Returns
        -------
        SparseTreeCV
            The fitted estimator itself.
        """
        shared = {name: getattr(self, name) for name in SHARED}
        final = SparseTreeClassifier(**shared, class_weight=self.class_weight)
        table = self._read(X, reset=True)
        classes, codes = final._read_labels(y, table.n_rows)
        labels = column_or_1d(classes[codes])
        weights = check_weights(sample_weight, table.n_rows, table)
        if self.class_weight is not None:
            weights = weights * compute_class_weight(self.class_weight, classes=classes, y=labels)[codes]
        clusters = None if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]

        self.path_ = regularization_path(table, labels, weights, **shared)
        penalties = choose_penalties(self.path_)
        is_wrong = np.empty((len(penalties), table.n_rows))
        folds = split_rows(labels, self.cv, cluster, self.random_state)
        for seen, held in folds:
            with quiet_reading():
                front = regularization_path(table.take(seen), labels[seen], weights[seen], **shared)
                trees = {id(point): point.tree.predict(table.take(held)) for point in front}
            for place, penalty in enumerate(penalties):
                is_wrong[place, held] = trees[id(front.at(penalty))] != labels[held]
        found = [estimate_mean(row, weights, clusters) for row in is_wrong]
        self.best_index_, self.chosen_index_ = choose(found, self.rule)
        self.cv_results_ = {
            "regularization": np.array(penalties),
            "leaves": np.array([point.leaves for point in self.path_]),
            "loss": np.array([point.loss for point in self.path_]),
            "held_out_loss": np.array([estimate.value for estimate in found]),
            "standard_error": np.array([estimate.error for estimate in found]),
        }
        self.regularization_ = penalties[self.chosen_index_]
        self.choice_ = self._state_choice(len(folds))
        with quiet_reading():
            final.set_params(regularization=self.regularization_).fit(X, y, sample_weight)
        self.best_estimator_ = final
        for name, value in vars(final).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        return self

    def predict(self, X: Any) -> Array:
        """The label of each row."""
        check_is_fitted(self)
        self._read(X, reset=False)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """For each row the shares of the labels in its leaf, by weight."""
        check_is_fitted(self)
        self._read(X, reset=False)
        return self.best_estimator_.predict_proba(X)

    def plot(self, ax: Any = None) -> Any:
        """Draw the losses on the rows of the fit and on held-out rows against leaves, with the choice.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        Axes
        """
        check_is_fitted(self)
        return plot_choice(self.cv_results_, self.chosen_index_, ax=ax)

    def _state_choice(self, n_folds: int) -> str:
        results, best, chosen = self.cv_results_, self.best_index_, self.chosen_index_

        def describe(place: int) -> str:
            count = int(results["leaves"][place])
            return f"{count} {'leaf' if count == 1 else 'leaves'} (held-out loss {results['held_out_loss'][place]:.4g}"

        own = f"λ = {results['regularization'][chosen]:.4g}, {describe(chosen)})"
        if self.rule == "best":
            return f"Chose {own}: the least held-out loss of {len(self.path_)} trees in {n_folds} folds."
        if chosen == best:
            return (
                f"Chose {own}: the best of {len(self.path_)} trees in {n_folds} folds; no smaller tree is within one "
                f"standard error of it ({results['standard_error'][best]:.2g})."
            )
        return (
            f"Chose {own}: the smallest tree within one standard error of the best, {describe(best)} ± "
            f"{results['standard_error'][best]:.2g}), in {n_folds} folds."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def choose(found: list[Estimate], rule: str) -> tuple[int, int]:
    """The best candidate and the chosen one, of candidates that grow: of equals, the smaller tree."""
    best = min(range(len(found)), key=lambda place: found[place].value)
    if rule == "best":
        return best, best
    limit = found[best].value + found[best].error
    return best, next(place for place, estimate in enumerate(found) if estimate.value <= limit)
