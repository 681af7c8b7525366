"""Curves: what trees are worth against what they spend, and how they err against their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from certree.plot.boxes import wrap
from certree.plot.canvas import import_pyplot
from certree.tree.words import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST_NAME = 36
"""Characters on a line along an axis, which may be no longer than the axis itself."""


def plot_budget_curve(curve: Any, *, ax: Axes | None = None, names: tuple[str, str] = ("mean spend", "value")) -> Axes:
    """Draw value against spend: a point for every tree of a `BudgetCurve`, and a line that no tree lies above.

    Parameters
    ----------
    curve : BudgetCurve
        From `certree.policy.budget_curve`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a figure.
    names : names of the two axes, default=("mean spend", "value")
        What stands along the horizontal and the vertical axis.

    Returns
    -------
    Axes
        Where leaves have a penalty, the height is the objective: value − λ · leaves.

    Raises
    ------
    ImportError
        If matplotlib is not installed (`pip install "certree[plot]"`).

    Examples
    --------
    >>> from certree import plot_budget_curve, policy
    >>> X, rewards = [[1], [2], [3]], [[0, 1], [0, 2], [0, -1]]
    >>> curve = policy.budget_curve(X, rewards, spends=[0, 1], max_depth=1)
    >>> plot_budget_curve(curve).get_xlabel()
    'mean spend'
    """
    ax = _make_axes("plot_budget_curve", ax)
    has_penalty = any(point.objective != point.value for point in curve)
    spends, heights = [point.spend for point in curve], [point.objective for point in curve]
    is_exact = curve.is_complete
    ax.plot(
        spends, heights, "o-" if is_exact else "o--", color=PALETTE[0], linewidth=1.5, markersize=4,
        label="proved: no tree lies above" if is_exact else "a search ended early",
    )  # fmt: skip
    height = f"{names[1]} − penalty of leaves" if has_penalty else names[1]
    ax.set(xlabel="\n".join(wrap(names[0], WIDEST_NAME)), ylabel="\n".join(wrap(height, WIDEST_NAME)))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right", fontsize="small")
    return ax


def plot_path(path: Any, *, ax: Axes | None = None) -> Axes:
    """Draw loss against leaves: a point for every tree of a `RegularizationPath`.

    Parameters
    ----------
    path : RegularizationPath
        From `certree.regularization_path`, or from `certree.policy.regularization_path`: there the loss is the reward
        that a policy falls short of the best action of every row.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed (`pip install "certree[plot]"`).

    Examples
    --------
    >>> from certree import plot_path, regularization_path
    >>> path = regularization_path([[1], [2], [3], [4]], ["a", "b", "b", "a"], max_depth=2)
    >>> ax = plot_path(path)
    >>> ax.get_xlabel()
    'leaves'
    """
    ax = _make_axes("plot_path", ax)
    from matplotlib.ticker import MaxNLocator

    leaves, losses = [point.leaves for point in path], [point.loss for point in path]
    is_exact = path.is_optimal
    ax.plot(
        leaves, losses, "o-" if is_exact else "o--", color=PALETTE[0], linewidth=1.5, markersize=4,
        label="proved: no tree lies below" if is_exact else "a search ended early",
    )  # fmt: skip
    ax.set(xlabel="leaves", ylabel="loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper right", fontsize="small")
    return ax


def plot_choice(results: Mapping[str, Any], chosen: int, *, ax: Axes | None = None) -> Axes:
    """Draw the losses of a choice among trees: on the rows of the fit, and held out with one standard error."""
    ax = _make_axes("plot", ax)
    from matplotlib.ticker import MaxNLocator

    leaves = results["leaves"]
    ax.plot(
        leaves, results["loss"], "o-", color=PALETTE[7], linewidth=1.2, markersize=3, label="on the rows of the fit"
    )
    ax.errorbar(
        leaves, results["held_out_loss"], results["standard_error"],
        fmt="o-", color=PALETTE[0], linewidth=1.5, markersize=4, capsize=2, label="held out, ± one standard error",
    )  # fmt: skip
    ax.plot(
        leaves[chosen], results["held_out_loss"][chosen],
        "o", color=PALETTE[1], markersize=9, fillstyle="none", markeredgewidth=2, label="chosen",
    )  # fmt: skip
    ax.set(xlabel="leaves", ylabel="loss")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper right", fontsize="small")
    return ax


def _make_axes(caller: str, ax: Axes | None) -> Axes:
    plt = import_pyplot(caller)
    return plt.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax
