"""Estimators for tables that lie in parts, in the manner of scikit-learn and of the Dask classes of boosting packages.

This room promises that a fitted estimator is plain data: no client, no future and no collection is in a pickle of it.
"""

from __future__ import annotations

import time
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import dask
import dask.array
import numpy as np
from distributed import Client, default_client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from certree.dask.crew import Crew
from certree.dask.fitting import Settings, count_labels, describe, solve, take_survey
from certree.dask.parts import Collections, Task, collect_parts, is_array, is_frame
from certree.dask.work import mean_reward
from certree.estimators import EDIT_CONSTRAINTS, SparseTreeClassifier, TreeEstimator
from certree.policy import PolicyTree
from certree.reading import ColumnReading, warn_about, warn_idle
from certree.solution import Solution
from certree.tree import Tree, plain_value

Array = NDArray[Any]
Self = TypeVar("Self", bound="DaskTreeEstimator")

_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 0, None, closed="left"), None],
    "regularization": [Interval(Real, 0, None, closed="left")],
    "max_leaves": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
    "thresholds": [Interval(Integral, 1, 65534, closed="both")],  # codes have two bytes
    "forbidden": EDIT_CONSTRAINTS["forbidden"],
    "gather_limit": [Interval(Integral, 0, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="left"), None],
    "memory_limit": [Interval(Integral, 1, None, closed="left"), None],
    "client": [Client, None],
    "verbose": ["verbose"],
}


class DaskTreeEstimator(BaseEstimator):
    """What both estimators do with a fitted tree."""

    client: Client | None
    client_: Client
    tree_: Tree
    columns_: tuple[ColumnReading, ...]

    _shared: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that the estimator without Dask has as well."""

    def to_local(self) -> TreeEstimator:
        """The same model as an estimator without Dask, which takes tables in memory."""
        raise NotImplementedError

    def apply(self, X: Any) -> Any:
        """The leaf (node number of `tree_`) that each row reaches, not computed yet."""
        return self._map(X, "apply", np.dtype(np.int32))

    def _map(self, X: Any, method: str, dtype: Any, n_columns: int | None = None) -> Any:
        """A method of the local estimator on every partition: Array to Array, DataFrame to Series or DataFrame."""
        check_is_fitted(self)
        local = self.to_local()
        if is_array(X):
            rows = X.rechunk({1: -1})
            empty = np.empty((0,) if n_columns is None else (0, n_columns), dtype=dtype)
            if n_columns is None:
                return rows.map_blocks(_predict_block, local, method, empty, drop_axis=1, dtype=dtype, meta=empty)
            chunks = (rows.chunks[0], (n_columns,))
            return rows.map_blocks(_predict_block, local, method, empty, chunks=chunks, dtype=dtype, meta=empty)
        if is_frame(X):
            import pandas as pd

            meta: Any
            if n_columns is None:
                meta = pd.Series([], dtype=dtype, index=X._meta.index)
            else:
                meta = pd.DataFrame(
                    np.empty((0, n_columns)), columns=list(self.tree_.labels), index=X._meta.index, dtype=dtype
                )
            return X.map_partitions(_predict_frame, local, method, meta, meta=meta)
        raise TypeError(
            f"X must be a dask DataFrame or a dask Array, not {type(X).__name__}; to_local() gives a model for tables "
            "in memory"
        )

    def _crew(self) -> Crew:
        client = self.client if self.client is not None else default_client()
        self.client_ = client
        return Crew(client, int(self.verbose))

    def _settings(self, **further: Any) -> Settings:
        names = (
            "max_depth", "regularization", "max_leaves", "min_samples_leaf", "thresholds", "forbidden", "gather_limit",
            "time_limit", "memory_limit",
        )  # fmt: skip
        return Settings(**{name: getattr(self, name) for name in names}, **further)

    def _store(self, solution: Solution, collections: Collections) -> None:
        self.tree_ = solution.tree
        self.n_leaves_ = solution.tree.n_leaves
        self.depth_ = solution.tree.depth
        self.status_ = solution.status
        self.statistics_ = dict(solution.statistics)
        self.n_features_in_ = len(collections.names)
        self.__dict__.pop("feature_names_in_", None)
        if collections.has_names:
            self.feature_names_in_ = np.array(collections.names, dtype=object)

    def _make_local(self, local: Any) -> Any:
        check_is_fitted(self)
        for name in (*self._shared, "feature_names_in_"):
            if hasattr(self, name):
                setattr(local, name, getattr(self, name))
        return local

    def __sklearn_clone__(self) -> Any:
        # A client cannot be copied; a clone works with the same one.
        settings = self.get_params(deep=False)
        client = settings.pop("client")
        return type(self)(**{name: clone(value, safe=False) for name, value in settings.items()}, client=client)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("client_", None)
        return state | {"client": None}


def _predict_block(block: Array, local: Any, method: str, empty: Array) -> Array:
    return np.asarray(getattr(local, method)(block)) if len(block) else empty


def _predict_frame(frame: Any, local: Any, method: str, meta: Any) -> Any:
    found = getattr(local, method)(frame) if len(frame) else np.empty((0, *np.shape(meta)[1:]))
    if meta.ndim == 1:
        return type(meta)(found, index=frame.index, dtype=meta.dtype)
    return type(meta)(found, index=frame.index, columns=meta.columns)


_FITTED = (
    "columns_", "n_features_in_", "tree_", "n_leaves_", "depth_", "objective_", "gap_", "status_", "certificate_",
    "statistics_", "fit_seconds_",
)  # fmt: skip


class DaskSparseTreeClassifier(ClassifierMixin, DaskTreeEstimator):
    """The certified optimal sparse decision tree of a weighted table that lies in parts.

    It minimises what `SparseTreeClassifier` minimises, on the columns coded with at most `thresholds` thresholds, and
    finds the same optimum whatever the partitions. Down to depth three the tree is proved optimal from sums alone:
    what travels depends on columns, thresholds and labels, and not on the rows.

    Parameters
    ----------
    max_depth : int or None, default=3
        Deeper than three, the coded rows are merged and gathered where they fit into `gather_limit`, and searched
        exactly by one worker. Else the tree grows by exact lookahead of depth three, with status "approximate". None:
        limited only by `regularization` (then > 0) or `max_leaves`.
    regularization : float, default=0.01
        The penalty λ per leaf, in units of the normalised weighted loss.
    max_leaves : int or None, default=None
        The most leaves that the tree may have.
    min_samples_leaf : int, default=1
        Rows (of positive weight) that every leaf must hold.
    min_weight_leaf : float, default=0.0
        Weight that every leaf must hold.
    thresholds : int, default=64
        Thresholds of a numeric column at most: all where it has no more, else weighted quantiles of the whole table.
    forbidden : None, column, test or list of them, default=None
        Columns and tests that the tree may not ask, as in `SparseTreeClassifier`.
    class_weight : dict, "balanced" or None, default=None
        As in `SparseTreeClassifier`.
    categorical_features : "auto", mask, numbers or names, default="auto"
        As in `SparseTreeClassifier`.
    gather_limit : int, default=2**30
        Bytes of coded, merged rows that may be gathered on one worker for a search deeper than three.
    time_limit : float or None, default=None
        Seconds of a search over gathered rows.
    memory_limit : int or None, default=None
        Bytes that sums, or a search over gathered rows, may use on one worker.
    client : distributed.Client or None, default=None
        None is the default client.
    verbose : int, default=0
        1 shows a progress bar for every pass.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, columns_, tree_, n_leaves_, depth_, loss_, objective_ :
        As in `SparseTreeClassifier`.
    lower_bound_, gap_, status_, certificate_, statistics_, fit_seconds_ :
        As in `SparseTreeClassifier`.
    client_ : distributed.Client
        The client of the fit; not in a pickle.

    Raises
    ------
    ValueError
        By `fit`, for a partition that cannot be used; the message names it, with the column and the row where there is
        one.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from certree.dask import DaskSparseTreeClassifier
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X, y = da.arange(100, chunks=40)[:, None], da.arange(100, chunks=40) >= 30
    >>> model = DaskSparseTreeClassifier(max_depth=1, regularization=0.1).fit(X, y)
    >>> model.status_, model.loss_, model.predict(X).compute().sum()
    ('optimal', 0.0, np.int64(70))
    >>> client.close()
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "min_weight_leaf": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "categorical_features": [StrOptions({"auto"}), "array-like", None],
    }
    _shared = (*_FITTED, "classes_", "loss_", "lower_bound_")

    def __init__(
        self,
        max_depth: int | None = 3,
        regularization: float = 0.01,
        *,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        min_weight_leaf: float = 0.0,
        thresholds: int = 64,
        forbidden: Any = None,
        class_weight: Any = None,
        categorical_features: Any = "auto",
        gather_limit: int = 2**30,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        client: Client | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.regularization = regularization
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_leaf = min_weight_leaf
        self.thresholds = thresholds
        self.forbidden = forbidden
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.gather_limit = gather_limit
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.client = client
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskSparseTreeClassifier:
        """Find the optimal tree.

        Parameters
        ----------
        X : dask DataFrame or Array, rows × columns
            The columns that a tree may ask about.
        y : dask Series or Array of n labels
            Partitioned as X is.
        sample_weight : dask Series or Array of n weights, default=None
            What a wrong label costs, per row. None: every row costs 1.

        Returns
        -------
        DaskSparseTreeClassifier
            The fitted estimator itself.
        """
        started = time.perf_counter()
        if y is None:
            raise ValueError("DaskSparseTreeClassifier requires y to be passed, but the target y is None.")
        crew = self._crew()
        settings = self._settings(min_weight_leaf=self.min_weight_leaf, categorical_features=self.categorical_features)
        collections = collect_parts(X, y=y, sample_weight=sample_weight)
        task = Task(collections.names, collections.has_names)
        surveys = take_survey(crew, collections, task, settings)
        classes, counts = count_labels(surveys)
        check_classification_targets(classes)
        factors = self._find_factors(classes, counts)
        task = Task(collections.names, collections.has_names, classes, factors)
        if factors is not None:
            surveys = take_survey(crew, collections, task, settings)
        whole = describe(crew, collections, task, settings, surveys, len(classes))
        self.columns_ = whole.features.readings
        warn_about(self.columns_)
        warn_idle(whole.features.idle, has_all_tests=False)
        solution, _ = solve(crew, collections, task, settings, whole, classes.tolist())
        self._store(solution, collections)
        self.classes_ = classes
        self.loss_ = solution.loss
        self.objective_ = solution.upper
        self.lower_bound_ = solution.lower
        self.gap_ = solution.gap
        self.certificate_ = solution.certificate | {"class_weights": None if factors is None else factors.tolist()}
        self.fit_seconds_ = time.perf_counter() - started
        return self

    def _find_factors(self, classes: Array, counts: Array) -> Array | None:
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            return np.asarray(counts.sum() / (len(classes) * counts))
        return np.asarray(compute_class_weight(self.class_weight, classes=classes, y=classes), dtype=np.float64)

    def predict(self, X: Any) -> Any:
        """The label of each row, not computed yet: an Array for an Array, a Series with its index for a DataFrame."""
        check_is_fitted(self)
        return self._map(X, "predict", self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """For each row the shares of the labels in its leaf, by weight, not computed yet.

        An Array for an Array; for a DataFrame a DataFrame with its index and one column per label.
        """
        check_is_fitted(self)
        return self._map(X, "predict_proba", np.dtype(np.float64), len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows, by weight, whose label is predicted."""
        collections = collect_parts(X, y=y, sample_weight=sample_weight)
        local = self.to_local()
        call = dask.delayed(_score_part, pure=False)
        pairs = dask.compute(*[call(given, local) for given in collections.parts])
        right, total = (sum(own) for own in zip(*pairs, strict=True))
        return float(right / total)

    def to_local(self) -> SparseTreeClassifier:
        """The same model as a `SparseTreeClassifier`, which takes tables in memory."""
        names = set(SparseTreeClassifier._get_param_names()) & set(self._get_param_names())
        local = SparseTreeClassifier(**{name: getattr(self, name) for name in names})
        found: SparseTreeClassifier = self._make_local(local)
        return found


def _score_part(given: Any, local: Any) -> tuple[float, float]:
    if len(given["X"]) == 0:
        return 0.0, 0.0
    weights = np.asarray(given.get("sample_weight", np.ones(len(given["X"]))), dtype=np.float64)
    is_right = local.predict(given["X"]) == np.asarray(given["y"])
    return float(weights[is_right].sum()), float(weights.sum())


class DaskPolicyTree(DaskTreeEstimator):
    """The certified optimal sparse policy tree of a table of rewards that lies in parts.

    It maximises what `PolicyTree` maximises, on the columns coded with at most `thresholds` thresholds; see
    `DaskSparseTreeClassifier` for what is proved from sums alone.

    Parameters
    ----------
    max_depth : int or None, default=2
        As in `DaskSparseTreeClassifier`.
    regularization : float, default=0.0
        The penalty λ per leaf, in units of the mean reward.
    max_leaves : int or None, default=None
        The most leaves that the tree may have.
    min_samples_leaf : int, default=1
        The least number of rows in a leaf.
    min_samples_arm : int, default=0
        Rows of every action's arm that every leaf must hold; `fit` then needs `treatment`.
    thresholds : int, default=64
        As in `DaskSparseTreeClassifier`.
    forbidden : None, column, test or list of them, default=None
        Columns and tests that the tree may not ask, as in `PolicyTree`.
    gather_limit, time_limit, memory_limit, client, verbose :
        As in `DaskSparseTreeClassifier`.

    Attributes
    ----------
    actions_, n_features_in_, feature_names_in_, columns_, tree_, n_leaves_, depth_, value_, objective_ :
        As in `PolicyTree`.
    upper_bound_, gap_, status_, certificate_, statistics_, fit_seconds_ :
        As in `PolicyTree`.
    client_ : distributed.Client
        The client of the fit; not in a pickle.

    Raises
    ------
    ValueError
        By `fit`, for a partition that cannot be used; the message names it, with the column or action and the row where
        there is one.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from certree.dask import DaskPolicyTree
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = da.arange(100, chunks=40)[:, None]
    >>> rewards = da.concatenate([0 * X, X - 30], axis=1)  # of doing nothing, and of a letter
    >>> model = DaskPolicyTree(max_depth=1).fit(X, rewards)
    >>> print(model.tree_.test(0).text)
    x0 <= 29.5
    >>> client.close()
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CONSTRAINTS,
        "min_samples_arm": [Interval(Integral, 0, None, closed="left")],
    }
    _shared = (*_FITTED, "actions_", "value_", "upper_bound_")

    def __init__(
        self,
        max_depth: int | None = 2,
        regularization: float = 0.0,
        *,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_arm: int = 0,
        thresholds: int = 64,
        forbidden: Any = None,
        gather_limit: int = 2**30,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        client: Client | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.regularization = regularization
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_arm = min_samples_arm
        self.thresholds = thresholds
        self.forbidden = forbidden
        self.gather_limit = gather_limit
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.client = client
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, rewards: Any, sample_weight: Any = None, treatment: Any = None) -> DaskPolicyTree:
        """Find the optimal policy.

        Parameters
        ----------
        X : dask DataFrame or Array, rows × columns
            The columns that a policy may ask about.
        rewards : dask DataFrame or Array, rows × actions
            What each action would bring each row. A frame's columns name the actions; those of an Array are 0 to K − 1.
        sample_weight : dask Series or Array of n weights, default=None
            How much each row counts. None: all alike.
        treatment : dask Series or Array of n actions, default=None
            The arm of each row, for `min_samples_arm`.

        Returns
        -------
        DaskPolicyTree
            The fitted estimator itself.
        """
        started = time.perf_counter()
        if not (is_frame(rewards) or (is_array(rewards) and rewards.ndim == 2)):
            raise ValueError("rewards must be a dask DataFrame or an Array of two dimensions, a column per action")
        if self.min_samples_arm > 0 and treatment is None:
            raise ValueError("min_samples_arm needs to know the arm of every row: pass treatment=")
        crew = self._crew()
        names = rewards.columns if is_frame(rewards) else range(rewards.shape[1])
        actions = tuple(plain_value(name) for name in names)
        settings = self._settings(min_samples_arm=self.min_samples_arm)
        collections = collect_parts(X, rewards=rewards, sample_weight=sample_weight, treatment=treatment)
        task = Task(collections.names, collections.has_names, actions=actions, reward_names=collections.reward_names)
        surveys = take_survey(crew, collections, task, settings)
        if self.min_samples_arm > 0:
            arms = np.sum([own.arms for own in surveys if own.arms], axis=0)
            if not arms.all():
                raise ValueError(f"action {actions[int(np.argmin(arms))]!r} has no rows of positive weight")
        whole = describe(crew, collections, task, settings, surveys, len(actions))
        self.columns_ = whole.features.readings
        warn_about(self.columns_)
        warn_idle(whole.features.idle, has_all_tests=False)
        solution, weighed = solve(crew, collections, task, settings, whole, actions)
        self._store(solution, collections)
        self.actions_ = np.array(actions)
        self.value_ = mean_reward(solution.tree, weighed)
        self.objective_ = self.value_ - float(self.regularization) * self.n_leaves_
        self.upper_bound_ = self.objective_ + solution.gap
        self.gap_ = self.upper_bound_ - self.objective_
        self.certificate_ = solution.certificate | {
            "policy": {
                "value": self.value_, "objective": self.objective_, "upper_bound": self.upper_bound_, "gap": self.gap_,
            }
        }  # fmt: skip
        self.fit_seconds_ = time.perf_counter() - started
        return self

    def predict(self, X: Any) -> Any:
        """The action for each row, not computed yet: an Array for an Array, a Series with its index for a DataFrame."""
        check_is_fitted(self)
        return self._map(X, "predict", self.actions_.dtype)

    def to_local(self) -> PolicyTree:
        """The same model as a `PolicyTree`, which takes tables in memory."""
        names = set(PolicyTree._get_param_names()) & set(self._get_param_names())
        found: PolicyTree = self._make_local(PolicyTree(**{name: getattr(self, name) for name in names}))
        return found
