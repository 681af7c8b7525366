"""PolicyTree: the certified best sparse tree of actions.

    maximise   (1/Σw) · Σ_i w_i · rewards[i, t(x_i)] − λ · leaves(t)

over all trees t of the given depth and, with a budget, of no greater mean spend. The engine minimises what a policy
falls short of the best action of every row; this room turns its answer into values, recomputed from the rewards
themselves.
"""

from __future__ import annotations

import math
import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from certree.estimators import EDIT_CONSTRAINTS, TreeEstimator
from certree.folds import count_threads
from certree.limits import Limits
from certree.policy.budget import Spending, read_spends, rename_costs, solve_within
from certree.policy.log import Log, open_log, read_rewards
from certree.policy.pose import pose_rewards
from certree.problem import Problem, check_weights
from certree.reading import warn_about, warn_idle
from certree.solver import search, warn_interrupted
from certree.table import Table
from certree.tree import Tree, Value

Array = NDArray[Any]


class PolicyTree(TreeEstimator):
    """The certified optimal sparse policy tree of a table of rewards.

    Maximises the mean reward of the actions in the leaves minus a penalty of `regularization` per leaf, over all trees
    of the given depth, and proves that no tree does better.

    Parameters
    ----------
    max_depth : int or None, default=2
        A lone leaf has depth 0. None: limited only by `regularization` (then > 0) or `max_leaves`.
    regularization : float, default=0.0
        The penalty λ per leaf, in units of the mean reward: a split must raise the mean reward by at least λ.
    max_leaves : int or None, default=None
        The most leaves that the tree may have.
    min_samples_leaf : int, default=1
        Rows (of positive weight) that every leaf must hold.
    min_samples_arm : int, default=0
        How many rows of every arm (the rows that got one action) each leaf must hold; `fit` then needs `treatment`. A
        lone leaf is always allowed.
    budget : float or None, default=None
        The largest mean spend per row. Pass what each action spends to `fit` as `spends`. Without it, the control
        spends nothing and every other action spends 1, so that the budget is the largest share of rows that may get
        another action than the control; `fit` must then know which action is the control. See Notes.
    thresholds : "all" or int, default="all"
        "all" uses every threshold of a numeric column. A number keeps at most that many per column, at weighted
        quantiles.
    start : None, str, dict or Tree, default=None
        What the tree must begin with: a root test such as "age <= 31.5"; a mapping of "test", "left" and "right", where
        either side is another test or mapping, None (open: completed optimally) or "leaf" (stays a leaf); or a Tree,
        all of whose leaves are open.
    forbidden : None, column, test or list of them, default=None
        Columns (names or numbers) and tests that the tree may not ask, the tests as text or as `Tree.test` gives them.
    time_limit : float or None, default=None
        Seconds for all searches of a fit together. When they are over, the best tree so far is kept, with an upper
        bound that holds.
    memory_limit : int or None, default=None
        Bytes that the search may use.
    n_jobs : int or None, default=None
        Threads. None is one, -1 all.
    random_state : int, RandomState instance or None, default=None
        Not used: the optimum does not depend on chance. It exists because scikit-learn's trees have it.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    actions_ : ndarray of the actions
    n_features_in_, feature_names_in_ : as in scikit-learn
    columns_ : tuple of ColumnReading
        What each column was read as: its kind, distinct and missing values, order, and what may not have been meant.
    tree_ : Tree
        The costs in its nodes say by how much each action falls short of the best action of every row.
    n_leaves_, depth_ : int
        The size of the tree. A lone leaf has depth 0.
    value_ : float
        Mean reward of the policy on the rows it was fitted on: an optimistic figure, see `certree.policy.evaluate`.
    objective_ : float
        `value_` − λ · leaves.
    upper_bound_ : float
        No tree (within the budget) has a greater objective. This holds for every `status_`.
    gap_ : float
        `upper_bound_` − `objective_`; 0 if the tree is proved optimal.
    status_ : {"optimal", "approximate", "time_limit", "memory_limit", "interrupted"}
        "approximate" if a gap is left within a budget although no limit of yours ended the search.
    spend_ : float
        With a budget: the mean spend of the policy on the rows it was fitted on.
    spends_ : dict or None
        With a budget: what each action was taken to spend; None if that depends on the row.
    price_ : float
        With a budget: how much one more unit of mean spend would add to the objective, at the margin; 0 if the budget
        does not bind.
    edit_ : Edit
        The price of the edit; only on a model that `edited` returned.
    certificate_ : Certificate
        What was proved; `certree.certify.check` with `rewards` checks it against a table.
    statistics_ : dict
        Figures of the search.
    fit_seconds_ : float
        How long the fit took.

    Notes
    -----
    If several actions are equally good in a leaf, the first one is used: put the cheapest first. Missing values and new
    categories go where `SparseTreeClassifier` sends them. Rows of weight zero are ignored.

    Costs and spends are different things. The `costs` of `certree.policy.doubly_robust` (and the other scores) are in
    units of the rewards and are subtracted from them: a policy pays them if they are worth it. The `spends` of `fit`
    are in a unit of their own, are limited by the budget, and are not subtracted from the rewards.

    The tree keeps the budget on the rows that it is fitted on; on other rows it may spend more or less. The search
    first puts a price on spending, and then looks at all trees that could still be better at that price. If these are
    too many, `gap_` says how much better another tree within the budget could be. `budget=inf` sets no limit, but
    records the spend.

    Raises
    ------
    ValueError
        By `fit`, for a parameter, reward, weight, spend or column that cannot be used; the message names it.

    Examples
    --------
    >>> from certree import PolicyTree
    >>> X = [[20], [30], [40], [50]]
    >>> rewards = [[0, -1], [0, -2], [0, 3], [0, 1]]  # of doing nothing, and of a letter
    >>> model = PolicyTree(max_depth=1).fit(X, rewards)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1]
    >>> model.value_, model.status_
    (1.0, 'optimal')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "max_leaves": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_samples_arm": [Interval(Integral, 0, None, closed="left")],
        "budget": [Interval(Real, 0, None, closed="both"), None],
        "thresholds": [StrOptions({"all"}), Interval(Integral, 1, None, closed="left")],
        **EDIT_CONSTRAINTS,
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # Rewards are y under a better name, so they are never routed as something besides.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"rewards": metadata_routing.UNUSED}

    def __init__(
        self,
        max_depth: int | None = 2,
        regularization: float = 0.0,
        *,
        max_leaves: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_arm: int = 0,
        budget: float | None = None,
        thresholds: str | int = "all",
        start: Any = None,
        forbidden: Any = None,
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
        self.min_samples_arm = min_samples_arm
        self.budget = budget
        self.thresholds = thresholds
        self.start = start
        self.forbidden = forbidden
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        treatment: Any = None,
        spends: Any = None,
        *,
        control: Any = None,
        rewards: Any = None,
        costs: Any = None,
    ) -> PolicyTree:
        """Find the optimal policy: fit(X, rewards).

        Parameters
        ----------
        X : array or frame, rows × columns, or Log
            Numeric, boolean, string or categorical columns; missing values as NaN, None or NA. A `policy.Log` also
            knows the arm of each row.
        y, rewards : n × K array or frame, or Scores
            What each action would bring each row; higher is better, negative numbers are allowed. The columns of a
            frame name the actions; those of an array are 0 to K − 1. `y` and `rewards` are two names of the same
            parameter: scikit-learn expects `y`.
        sample_weight : array of n weights, default=None
            How much each row counts; not negative.
        treatment : array of n actions, default=None
            The action that each row got, for `min_samples_arm`. Not needed with Scores or a Log, which hold it.
        spends : one number per action, mapping by action, or n × K numbers, default=None
            What each action spends from the budget (for everyone, or for each row); not negative. None: 0 for the
            control, 1 for every other action.
        control : action, default=None
            The action that stands for treating nobody. None: the first of the `actions` that the scores were made
            with, or else an action called 0, False or None. The order of a frame's columns does not count.
        costs :
            Deprecated: the former name of `spends`.

        Returns
        -------
        PolicyTree
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If a parameter, reward, weight, spend or column cannot be used; the message names it.
        """
        started = time.perf_counter()
        if y is not None and rewards is not None:
            raise ValueError("pass y or rewards, not both: they are two names of the same parameter")
        rewards = y if rewards is None else rewards
        if rewards is None:
            scores = ", such as policy.doubly_robust(log)" if isinstance(X, Log) else ""
            raise ValueError(f"PolicyTree requires y to be passed, but the target y is None: give the rewards{scores}.")
        spends = rename_costs(spends, costs)
        if self.budget is None and not (spends is None and control is None):
            raise ValueError(
                "spends and control need a budget, and this model has none: set budget (inf for no limit), or subtract "
                "what actions cost from the rewards"
            )
        problem, table, amounts, weights = self._pose(X, rewards, sample_weight, treatment)
        actions = problem.labels
        limits = Limits(self.time_limit, self.memory_limit, count_threads(self.n_jobs))
        if self.budget is None:
            solution = search(problem, limits, verbose=self.verbose)
        else:
            amount = read_spends(spends, control, table.n_rows, actions, getattr(rewards, "control", None))
            spending = Spending.make(problem, amount, weights)
            solution = solve_within(spending, self.budget, limits, verbose=self.verbose)

        self.actions_ = np.array(actions)
        self.tree_: Tree = solution.tree
        self.n_leaves_ = solution.tree.n_leaves
        self.depth_ = solution.tree.depth
        self.value_ = mean_reward(amounts, solution.tree.label[solution.tree.apply(table)], weights)
        self.objective_ = self.value_ - float(self.regularization) * self.n_leaves_
        self.upper_bound_ = self.objective_ + solution.gap
        self.gap_ = self.upper_bound_ - self.objective_
        self.status_ = solution.status
        self.statistics_ = dict(solution.statistics)
        self.certificate_ = solution.certificate | {
            "policy": {
                "value": self.value_,
                "objective": self.objective_,
                "upper_bound": self.upper_bound_,
                "gap": self.gap_,
            },
        }
        for name in ("spend_", "price_", "edit_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.budget is not None:
            self.spend_: float = self.certificate_["budget"]["spend"]
            self.price_: float = self.certificate_["budget"]["price"]
        self.fit_seconds_ = time.perf_counter() - started
        if self.status_ == "interrupted":
            within = "" if self.budget is None else " within the budget"
            warn_interrupted(
                f"the best policy so far{within} has objective {self.objective_:.6g}, and no policy{within} is above "
                f"{self.upper_bound_:.6g}"
            )
        return self

    def pose(
        self, X: Any, rewards: Any, sample_weight: Any = None, treatment: Any = None
    ) -> tuple[Problem, NDArray[Any]]:
        """The problem that `fit` solves without a budget, and the weight of every given row, for rooms that ask more of
        it."""
        self._validate_params()
        problem, _, _, weights = self._pose(X, rewards, sample_weight, treatment)
        return problem, weights

    def _pose(
        self, X: Any, rewards: Any, sample_weight: Any, treatment: Any
    ) -> tuple[Problem, Table, NDArray[Any], NDArray[Any]]:
        """The problem, the table, the rewards and the weights."""
        X, treatment = open_log(X, treatment)
        table = self._read(X, reset=True)
        problem, amounts, weights = pose_rewards(
            table,
            rewards,
            sample_weight,
            treatment,
            regularization=self.regularization,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_arm=self.min_samples_arm,
            thresholds=self.thresholds,
            start=self.start,
            forbidden=self.forbidden,
        )
        self.columns_ = problem.features.readings
        warn_about(self.columns_)
        warn_idle(problem.features.idle, has_all_tests=problem.features.thresholds == "all")
        return problem, table, amounts, weights

    @property
    def spends_(self) -> dict[Value, float] | None:
        """What each action was taken to spend from the budget; None where that depends on the row."""
        if "budget" not in self.certificate_:
            raise AttributeError("this policy was fitted without a budget, so its actions spend nothing")
        spends = self.certificate_["budget"].get("spends")
        return None if spends is None else dict(zip(self.tree_.labels, spends, strict=True))

    def predict(self, X: Any) -> Array:
        """The action for each row.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit, in the same order.

        Returns
        -------
        ndarray of n actions
        """
        leaf = self.apply(X)
        return np.asarray(self.actions_[self.tree_.label[leaf]])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean reward of the policy on other rows; `y` holds their rewards, for the same actions.

        Parameters
        ----------
        X : array or frame, rows × columns
            The columns of the fit, in the same order.
        y : n × K array or frame
            The rewards of these rows.
        sample_weight : array of n weights, default=None
            How much each row counts. None: all alike.

        Returns
        -------
        float
        """
        leaf = self.apply(X)
        amounts, actions = read_rewards(y, len(leaf))
        if tuple(actions) != self.tree_.labels:
            raise ValueError(f"rewards has the actions {list(actions)}, but the policy has {list(self.tree_.labels)}")
        return mean_reward(amounts, self.tree_.label[leaf], check_weights(sample_weight, len(leaf), X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def mean_reward(rewards: Array, action: Array, weights: Array) -> float:
    """Σ w · reward of the chosen action / Σ w, without rounding on the way."""
    # Weights near 1, by a power of two: exact, and products with rewards stay numbers.
    weights = np.ldexp(weights, -math.frexp(weights.max())[1])
    chosen = rewards[np.arange(len(action)), action] * weights
    return math.fsum(chosen.tolist()) / math.fsum(weights.tolist())
