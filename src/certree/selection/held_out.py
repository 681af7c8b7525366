"""The loss of a classifier on rows that it has not seen, with an interval."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import has_fit_parameter

from certree.display import show_lines
from certree.estimators import clone_for
from certree.folds import learn_each
from certree.policy.evaluation import Estimate
from certree.problem import check_weights
from certree.reading import quiet_reading
from certree.table import Table, take_rows
from certree.tree import Array


@dataclass(frozen=True, repr=False)
class LossEvaluation:
    """What `certree.evaluate` found: the loss on rows that the model has not seen.

    `print` gives the summary in words.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, evaluate
    >>> from certree.datasets import make_weighted
    >>> table = make_weighted(300, 3, depth=1, random_state=0)
    >>> print(evaluate(SparseTreeClassifier(1), table.data, table.target, cv=3).statement())  # doctest: +ELLIPSIS
    Held-out loss ...
    """

    loss: Estimate
    """The weighted share of held-out rows with a wrong label."""
    constant: Estimate
    """The same of the most frequent label, by weight, of the rows that each model was fitted on."""
    gain: Estimate
    """How much lower the loss is than that of the constant label, paired."""
    leaves: tuple[int, ...]
    """Of the tree of each fold; empty for models without a number of leaves."""
    level: float
    n_rows: int
    folds: int
    n_clusters: int | None = None
    """Clusters of rows that were held out together; None where every row stands for itself."""

    def statement(self) -> str:
        """The loss in one sentence."""
        return (
            f"Held-out loss {self.loss}, {self.gain} lower than that of one label for everyone "
            f"({100 * self.level:g}% intervals)."
        )

    def summary(self) -> str:
        """Everything, in words."""
        sets = "" if self.n_clusters is None else f" in {self.n_clusters:,} clusters"
        lines = [
            self.statement(),
            f"By weight, on {self.n_rows:,} rows{sets}, each unseen in the fit of its model ({self.folds} folds).",
            f"One label for everyone: {self.constant}.",
        ]
        if self.leaves:
            lines.append(f"The trees of the folds have {', '.join(map(str, self.leaves))} leaves.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<LossEvaluation: {self.statement()}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return show_lines(self.summary())


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    cv: Any = 5,
    cluster: Any = None,
    level: float = 0.95,
    random_state: Any = 0,
) -> LossEvaluation:
    """The loss of a classifier on rows that it has not seen.

    The model is cloned and fitted again without each fold. Held-out rows count by their weights: scikit-learn's
    `cross_val_score` and `GridSearchCV` score folds without weights, unless told otherwise.

    Parameters
    ----------
    model : classifier
        Such as SparseTreeClassifier or SparseTreeCV; fitted or not.
    X, y, sample_weight :
        As in `SparseTreeClassifier.fit`.
    cv : int or splitter of scikit-learn, default=5
        A number of folds, stratified by label and shuffled, or any splitter that holds out every row once.
    cluster : array of n values, default=None
        Which rows belong together (a household, a site): they are held out together, and the interval counts clusters
        in place of rows.
    level : float, default=0.95
        The confidence level of the intervals.
    random_state : int, RandomState instance or None, default=0
        How rows fall into folds.

    Notes
    -----
    The interval takes the rows (or clusters) as a sample, and the folds' models as given: it does not say how much
    another sample would have changed the tree.

    Returns
    -------
    LossEvaluation
        The held-out loss, that of always predicting the most frequent label, and the gain over it, with intervals.

    Raises
    ------
    ValueError
        If a fold would hold no row of a label that it needs, if `cv` does not hold out every row once, or if the model
        refuses the rows.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, evaluate
    >>> from certree.datasets import make_weighted
    >>> table = make_weighted(300, 3, depth=1, random_state=0)
    >>> X, y, weights = table.data, table.target, table.sample_weight
    >>> found = evaluate(SparseTreeClassifier(1), X, y, weights, cv=3)
    >>> found.folds, found.n_rows
    (3, 300)
    >>> bool(found.gain.low > 0)  # the tree beats a constant label
    True
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    labels = column_or_1d(y)
    check_consistent_length(*([] if isinstance(X, Table) else [X]), labels)
    weights = check_weights(sample_weight, len(labels), X)
    cluster = None if cluster is None else column_or_1d(cluster)
    predicted, constant = np.empty_like(labels), np.empty_like(labels)
    leaves, n_folds = [], 0

    def predict(seen: Array, held: Array) -> tuple[Any, Array]:
        with quiet_reading():
            own = {} if cluster is None or not has_fit_parameter(model, "cluster") else {"cluster": cluster[seen]}
            own |= {} if sample_weight is None else {"sample_weight": weights[seen]}
            part = take_rows(X, seen)
            fitted = clone_for(model, part).fit(part, labels[seen], **own)
            return fitted, fitted.predict(take_rows(X, held))

    parts = split_rows(labels, cv, cluster, random_state)
    for (seen, held), (fitted, found) in zip(parts, learn_each(predict, parts), strict=True):
        predicted[held] = found
        constant[held] = most_frequent(labels[seen], weights[seen])
        leaves += [int(fitted.get_n_leaves())] if hasattr(fitted, "get_n_leaves") else []
        n_folds += 1
    own, other = predicted != labels, constant != labels
    clusters = None if cluster is None else np.unique(cluster, return_inverse=True)[1]
    return LossEvaluation(
        loss=estimate_mean(own, weights, clusters, level),
        constant=estimate_mean(other, weights, clusters, level),
        gain=estimate_mean(other.astype(float) - own, weights, clusters, level),
        leaves=tuple(leaves),
        level=level,
        n_rows=len(labels),
        folds=n_folds,
        n_clusters=None if clusters is None else int(clusters.max()) + 1,
    )


def split_rows(labels: Array, cv: Any, cluster: Any, random_state: Any) -> list[tuple[Array, Array]]:
    """The rows to fit on and the rows held out, fold by fold; together the latter are all rows, each once."""
    n_rows = len(labels)
    if cluster is not None:
        cluster = column_or_1d(cluster)
        check_consistent_length(labels, cluster)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, not {cv}")
        if max(Counter(labels.tolist()).values()) < cv:
            rows = "1 sample is" if n_rows == 1 else f"{n_rows:,} samples are"
            raise ValueError(f"{rows} too few for {cv} folds: no label has that many rows")
        maker = StratifiedKFold if cluster is None else StratifiedGroupKFold
        splitter = maker(int(cv), shuffle=True, random_state=random_state)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    with warnings.catch_warnings():
        # A label with fewer rows than folds is absent from some of them: no reason not to hold its rows out.
        warnings.filterwarnings("ignore", message="The least populated class")
        folds = [
            (np.asarray(seen), np.asarray(held)) for seen, held in splitter.split(np.zeros(n_rows), labels, cluster)
        ]
    held = np.sort(np.concatenate([held for _, held in folds]))
    if not np.array_equal(held, np.arange(n_rows)):
        raise ValueError("cv must hold out every row exactly once, as KFold does and ShuffleSplit does not")
    return folds


def most_frequent(labels: Array, weights: Array) -> Any:
    """The label of the greatest weight."""
    names, codes = np.unique(labels, return_inverse=True)
    return names[int(np.argmax(np.bincount(codes, weights=weights)))]


def estimate_mean(terms: Array, weights: Array, clusters: Array | None = None, level: float = 0.95) -> Estimate:
    """The weighted mean of terms, with the error of a ratio of two sums over independent rows or clusters."""
    # Squares of extreme weights would leave the range of floats, and an error of 0 behind. Powers of two round nothing.
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    total = weights.sum()
    mean = float(weights @ terms / total)
    deviations: Array = weights * (terms - mean)
    count = np.count_nonzero(weights)
    if clusters is not None:
        deviations = np.bincount(clusters, weights=deviations)
        count = np.count_nonzero(np.bincount(clusters, weights=weights))
    # A single one says nothing about its own error.
    error = float(np.sqrt(deviations @ deviations * count / (count - 1)) / total) if count > 1 else 0.0
    reach = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Estimate(mean, error, mean - reach, mean + reach)
