"""One function a library, all of one signature: fit(table, depth, λ, weights, time_limit) -> Outcome.

The seconds are those of the library's whole `fit` call on arrays that lie ready: nobody is charged for reading files or
for the two-valued copy of the table that STreeD needs. The objective is never a library's own word: it is recomputed
from the tree's predictions and its number of leaves, by the one definition R = Σ w·[wrong] / Σ w + λ·leaves.

Policies are fitted on a table's rewards; their R has the mean of what a row loses against its best action in the place
of the share of wrong rows, which is the same where only the right label earns anything.

A depth of UNLIMITED is no limit at all.

λ in the peers: STreeD's `cost_complexity` is charged for each branching node and ConTree's `complexity_cost` too, both
relative to the number of rows. A tree has one leaf more than branching nodes, so their optimum is ours, λ higher.
LicketySPLIT's `lambda_leaf` and imodels' `regularization` are charged for each leaf, as ours is.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table

Weights = NDArray[np.float64] | None
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS["wall"]
"""What seconds are: passed, or (on a machine that has other work) spent by this process."""
UNLIMITED = -1
"""The depth of a request that has no depth limit."""


@dataclass(frozen=True)
class Outcome:
    """What one fit did."""

    seconds: float
    objective: float
    status: str
    """ "optimal" where the library says or implies that it finished its proof, else what stopped it."""
    leaves: int
    notes: dict[str, float]
    """Figures that only some libraries have, such as a lower bound."""


class UnsupportedError(Exception):
    """A library cannot do what the cell asks."""


Fit = Callable[..., Outcome]


def objective(table: Table, predicted: Any, leaves: int, penalty: float, weights: Weights) -> float:
    """R of a tree that predicts so and has so many leaves."""
    weight = np.ones(len(table.y)) if weights is None else weights
    return float(weight[np.asarray(predicted) != table.y].sum() / weight.sum() + penalty * leaves)


def fit_certree(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    from certree import SparseTreeClassifier

    notes: dict[str, float] = {}
    if options.get("thresholds") == "guess":
        # What the model would do by itself, one step at a time, so that each has its seconds.
        options["thresholds"], notes["guess_seconds"] = _guess(table, None if weights is None else weights.tobytes())
    limit = None if depth == UNLIMITED else depth
    model = SparseTreeClassifier(max_depth=limit, regularization=penalty, time_limit=time_limit, **options)
    with warnings.catch_warnings():
        # A limit that is reached is part of some cells, and its status is reported.
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, table.y, sample_weight=weights)
        seconds = clock() - start
    found = objective(table, model.predict(table.X), model.n_leaves_, penalty, weights)
    if abs(found - model.objective_) > 1e-9:
        raise AssertionError(f"certree says {model.objective_!r}, but its tree costs {found!r}")
    if model.status_ == "optimal" and abs(model.gap_) > 1e-9:
        raise AssertionError(f"certree says optimal with a gap of {model.gap_!r}")
    notes |= {"lower": float(model.lower_bound_), "tests": float(model.certificate_["sizes"]["tests"])}
    if hasattr(model, "threshold_guess_"):
        notes["all_tests"] = float(model.threshold_guess_.report_.n_tests)
    return Outcome(seconds, found, model.status_, model.n_leaves_, notes)


@lru_cache(maxsize=4)
def _guess(table: Table, weights: bytes | None) -> tuple[Any, float]:
    """The guessed thresholds of a table and the seconds they took; all contenders of a cell guess the same ones."""
    from certree import guess_thresholds

    start = clock()
    guess = guess_thresholds(table.X, table.y, None if weights is None else np.frombuffer(weights))
    return guess, clock() - start


@lru_cache(maxsize=1)
def _binarised(table: Table) -> NDArray[np.uint8]:
    return table.binarised()


def fit_streed(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pystreed import STreeDClassifier

    if weights is not None:
        raise UnsupportedError("STreeD's classifier with a penalty knows no real weights")
    tests = _binarised(table)
    limit = time_limit if time_limit is not None else 1e6
    model = STreeDClassifier("cost-complex-accuracy", max_depth=depth, cost_complexity=penalty, time_limit=limit)
    start = clock()
    model.fit(tests, table.y)
    seconds = clock() - start
    status = "optimal" if model.fit_result.is_optimal() else "time_limit"
    leaves = int(model.get_n_leaves())
    return Outcome(seconds, objective(table, model.predict(tests), leaves, penalty, weights), status, leaves, {})


def fit_contree(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    from pycontree import ConTree

    if weights is not None:
        raise UnsupportedError("ConTree knows no weights")
    limit = time_limit if time_limit is not None else 1e6
    model = ConTree(max_depth=depth, complexity_cost=penalty, time_limit=limit)
    # It does not say whether it finished; it stops where its limit is, and that is a matter of the wall's clock.
    stop = time.perf_counter() + 0.99 * limit
    start = clock()
    model.fit(table.X, table.y)
    seconds = clock() - start
    status = "optimal" if time.perf_counter() < stop else "time_limit"
    leaves = int(model.get_num_leaf_nodes())
    return Outcome(seconds, objective(table, model.predict(table.X), leaves, penalty, weights), status, leaves, {})


def fit_cart(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """scikit-learn's greedy tree: no optimum, a yardstick for seconds. Depth 0 stands for its default, no limit."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth or None, random_state=0)
    start = clock()
    model.fit(table.X, table.y, sample_weight=weights)
    seconds = clock() - start
    leaves = int(model.get_n_leaves())
    return Outcome(seconds, objective(table, model.predict(table.X), leaves, penalty, weights), "greedy", leaves, {})


def fit_pruned_cart(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """scikit-learn's greedy tree, cut back so that no leaf costs more in λ than it saves in errors."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=None if depth == UNLIMITED else depth, random_state=0)
    start = clock()
    model.fit(table.X, table.y, sample_weight=weights)
    grown = model.tree_
    # Shares of the whole weight: what a node gets wrong as a leaf, and the best that is made of it. Children stand
    # behind their parents.
    share = grown.weighted_n_node_samples / grown.weighted_n_node_samples[0]
    as_leaf = share * (1 - grown.value[:, 0, :].max(axis=1)) + penalty
    best, leaves = as_leaf.copy(), np.ones(grown.node_count, dtype=np.int64)
    for node in range(grown.node_count - 1, -1, -1):
        left, right = grown.children_left[node], grown.children_right[node]
        if left >= 0 and best[left] + best[right] < as_leaf[node]:
            best[node], leaves[node] = best[left] + best[right], leaves[left] + leaves[right]
    seconds = clock() - start
    return Outcome(seconds, float(best[0]), "greedy", int(leaves[0]), {})


def fit_licketysplit(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, lookahead: int = 1
) -> Outcome:
    """A near-optimal tree that looks so many levels ahead; it knows no limit of time."""
    from licketysplit import LicketySPLITClassifier

    del time_limit
    if table.y.max() > 1:
        raise UnsupportedError("LicketySPLIT is measured on two labels")
    n_bytes = len(table.y) * table.n_thresholds
    if n_bytes > MOST_BINARISED_BYTES:
        raise UnsupportedError(f"not tried, LicketySPLIT needs a two-valued column a test: {n_bytes / 1e9:.1f} GB")
    tests = _binarised(table)
    model = LicketySPLITClassifier(lambda_leaf=penalty, depth_budget=depth, lookahead_k=lookahead)
    start = clock()
    model.fit(tests, table.y, sample_weight=weights)
    seconds = clock() - start
    leaves = len(model.leaf_paths())
    return Outcome(seconds, objective(table, model.predict(tests), leaves, penalty, weights), "heuristic", leaves, {})


def fit_imodels(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:  # noqa: ARG001
    """Its tree knows no depth limit, so it belongs into cells that have none."""
    from imodels import FastSmallTreeClassifier

    if weights is not None:
        raise UnsupportedError("imodels' tree knows no weights")
    model = FastSmallTreeClassifier(regularization=penalty, time_limit=time_limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, table.y)
        seconds = clock() - start
    status = "optimal" if model.optimal_ else "time_limit"
    found = objective(table, model.predict(table.X), model.n_leaves_, penalty, weights)
    return Outcome(seconds, found, status, int(model.n_leaves_), {"lower": float(model.lowerbound_)})


BEFORE = "CERTREE_BEFORE"
"""The environment variable that names a directory with another version of certree, for figures of before and after."""


def fit_certree_before(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    """An earlier certree, in a process that has not imported this one."""
    directory = os.environ.get(BEFORE)
    if not directory:
        raise UnsupportedError(f"{BEFORE} names no directory of an earlier certree")
    if sys.path[0] != directory:
        sys.path.insert(0, directory)
        for name in [name for name in sys.modules if name.partition(".")[0] == "certree"]:
            del sys.modules[name]
    return fit_certree(table, depth, penalty, weights, time_limit, **options)


def policy_objective(table: Table, actions: Any, leaves: int, penalty: float) -> tuple[float, float]:
    """R of a policy that gives the rows these actions, and the mean reward that they earn."""
    earned = table.rewards[np.arange(len(table.y)), np.asarray(actions, dtype=np.int64)]
    lost = table.rewards.max(axis=1) - earned
    return float(lost.mean() + penalty * leaves), float(earned.mean())


def fit_certree_policy(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, **options: Any
) -> Outcome:
    from certree import PolicyTree

    if weights is not None:
        raise UnsupportedError("policies are measured without weights")
    model = PolicyTree(depth, penalty, time_limit=time_limit, **options)
    rewards = table.rewards
    with warnings.catch_warnings():
        # A limit that is reached is reported as the status.
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(table.X, rewards)
        seconds = clock() - start
    found, value = policy_objective(table, model.predict(table.X), model.n_leaves_, penalty)
    if abs(value - model.value_) > 1e-9:
        raise AssertionError(f"certree says {model.value_!r}, but its policy earns {value!r}")
    if model.status_ == "optimal" and abs(model.gap_) > 1e-9:
        raise AssertionError(f"certree says optimal with a gap of {model.gap_!r}")
    notes = {"value": value, "gap": float(model.gap_)}
    return Outcome(seconds, found, model.status_, model.n_leaves_, notes)


MOST_BINARISED_BYTES = 1 << 30
"""Beyond this no two-valued copy is made. STreeD's memory was seen to grow with the square of the columns: 0.24 GB for
870 columns with 20 actions, 1.0 GB for 1,740."""


@lru_cache(maxsize=1)
def _cost_vectors(table: Table) -> list[Any]:
    """What each action loses each row, in STreeD's own form."""
    from pystreed import CostVector

    return [CostVector(row) for row in table.rewards.max(axis=1, keepdims=True) - table.rewards]


def fit_streed_policy(table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None) -> Outcome:
    """STreeD's trees for costs of each row and label: a policy's rewards, turned round."""
    from pystreed import STreeDInstanceCostSensitiveClassifier

    if weights is not None:
        raise UnsupportedError("policies are measured without weights")
    if penalty:
        raise UnsupportedError("STreeD's cost-sensitive trees know no penalty")
    n_bytes = len(table.y) * table.n_thresholds
    if n_bytes > MOST_BINARISED_BYTES:
        size = f"{table.n_thresholds:,} of them, {n_bytes / 1e9:.1f} GB before a search begins"
        raise UnsupportedError(f"not tried, STreeD needs a two-valued column a test: {size}")
    tests, costs = _binarised(table), _cost_vectors(table)
    limit = time_limit if time_limit is not None else 1e6
    model = STreeDInstanceCostSensitiveClassifier(max_depth=depth, time_limit=limit)
    start = clock()
    model.fit(tests, costs)
    seconds = clock() - start
    status = "optimal" if model.fit_result.is_optimal() else "time_limit"
    leaves = int(model.get_n_leaves())
    found, value = policy_objective(table, model.predict(tests), leaves, penalty)
    return Outcome(seconds, found, status, leaves, {"value": value})


def fit_certree_sets(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *,
    share: float | None = None, tolerance: float = 0.0, listed: int = 0, drawn: int = 0,
) -> Outcome:  # fmt: skip
    """All good trees, and their number."""
    from certree import good_trees

    start = clock()
    found = good_trees(
        table.X, table.y, weights, tolerance=tolerance if share is None else f"{share:%}", max_depth=depth,
        regularization=penalty, time_limit=time_limit, idle=True,
    )  # fmt: skip
    count = found.count_written()
    seconds = clock() - start
    notes = {"trees": float(count), "width": count.most / max(int(count), 1)}
    if listed:
        start = clock()
        notes |= {"listed": float(len(found[:listed])), "list_seconds": clock() - start}
    if drawn:
        start = clock()
        notes |= {"drawn": float(len(found.sample(drawn, 0))), "draw_seconds": clock() - start}
    status = "optimal" if found.is_complete else found.status
    return Outcome(seconds, found.best.objective, status, found.best.n_leaves, notes)


def fit_praxis(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *, share: float  # noqa: ARG001
) -> Outcome:  # fmt: skip
    """PRAXIS keeps no time limit; the process is ended instead."""
    from praxis import PRAXIS

    if weights is not None:
        raise UnsupportedError("PRAXIS knows no weights")
    tests, model = _binarised(table), PRAXIS()
    start = clock()
    model.fit(
        tests, table.y, lambda_reg=penalty, depth_budget=depth, rashomon_mult=share, lookahead_k=depth - 1,
        majority_leaf_only=True,
    )  # fmt: skip
    count = model.count_trees()
    seconds = clock() - start
    # λ and the bound are whole rows there, so its optimum may be another one.
    return Outcome(seconds, float("nan"), "optimal", 0, {"trees": float(count)})


def fit_treefarms(
    table: Table, depth: int, penalty: float, weights: Weights, time_limit: float | None, *, share: float
) -> Outcome:
    import pandas as pd
    from treefarms import TREEFARMS

    if weights is not None:
        raise UnsupportedError("TreeFARMS knows no weights")
    tests = _binarised(table)
    X, y = pd.DataFrame(tests).rename(columns="t{}".format), pd.Series(table.y, name="y")
    limit = {} if time_limit is None else {"time_limit": int(time_limit)}
    # Its depth counts the leaf as well.
    settings = {"regularization": penalty, "rashomon_bound_multiplier": share, "depth_budget": depth + 1, **limit}
    model = TREEFARMS(settings)
    start = clock()
    model.fit(X, y)
    count = model.get_tree_count()
    seconds = clock() - start
    return Outcome(seconds, float("nan"), "optimal", 0, {"trees": float(count)})


@dataclass(frozen=True)
class Contender:
    """A library and the function that fits it."""

    title: str
    package: str
    fit: Fit
    is_exact: bool

    @property
    def is_installed(self) -> bool:
        module = {"scikit-learn": "sklearn", "tree-praxis": "praxis"}.get(self.package, self.package)
        return util.find_spec(module) is not None and (self.fit is not fit_certree_before or BEFORE in os.environ)

    @property
    def version(self) -> str:
        return metadata.version(self.package)


CONTENDERS: dict[str, Contender] = {
    "certree": Contender("certree", "certree", fit_certree, is_exact=True),
    "streed": Contender("STreeD", "pystreed", fit_streed, is_exact=True),
    "contree": Contender("ConTree", "pycontree", fit_contree, is_exact=True),
    "certree-policy": Contender("certree", "certree", fit_certree_policy, is_exact=True),
    "streed-policy": Contender("STreeD", "pystreed", fit_streed_policy, is_exact=True),
    "cart": Contender("CART", "scikit-learn", fit_cart, is_exact=False),
    "pruned-cart": Contender("CART, cut back", "scikit-learn", fit_pruned_cart, is_exact=False),
    "licketysplit": Contender("LicketySPLIT", "licketysplit", fit_licketysplit, is_exact=False),
    "imodels": Contender("imodels", "imodels", fit_imodels, is_exact=True),
    "certree-sets": Contender("certree", "certree", fit_certree_sets, is_exact=True),
    "praxis": Contender("PRAXIS", "tree-praxis", fit_praxis, is_exact=True),
    "treefarms": Contender("TreeFARMS", "treefarms", fit_treefarms, is_exact=True),
    "before": Contender("certree before", "certree", fit_certree_before, is_exact=True),
}
