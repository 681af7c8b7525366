"""A picture of a tree, by matplotlib (the extra `plot`).

This room promises that boxes never overlap, whatever their words, that the picture is as large as its words need (or
fits the axes it is given), and that names of any characters are drawn as they are.

All lengths are in points. The layout is made before anything is drawn: every box is as large as its words, two
neighbours at any level keep a gap, and a parent stands over the middle of its children.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from certree.certificate.words import make_statement
from certree.export import tree_of
from certree.tree import Test, Tree
from certree.tree.words import (
    PALETTE,
    amount_text,
    answers,
    label_text,
    leaf_colour,
    reward_text,
    share_of_label,
    share_text,
    size_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PALE_INK, LINE = "#222222", "#666666", "#9a9a9a"
LINE_HEIGHT = 1.3
SMALL = 0.8
"""Font size of the second lines, in that of the first."""
WIDEST_LINE, MOST_LINES = 24, 3


@dataclass(frozen=True)
class Line:
    """A line of words in a box."""

    text: str
    size: float
    colour: str = INK
    weight: str = "normal"


@dataclass(frozen=True)
class Box:
    """A node's words and how much room they take."""

    lines: tuple[Line, ...]
    width: float
    height: float
    is_leaf: bool


def plot_tree(
    model: Any,
    *,
    ax: Axes | None = None,
    digits: int | None = 4,
    font_size: float = 10.0,
    show_certificate: bool = True,
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
    ax : matplotlib Axes or None, default=None
        Where to draw; the words shrink until they fit. None makes a figure of the size that the words need.
    digits : int or None, default=4
        Significant digits of thresholds; None writes them exactly.
    font_size : float, default=10.0
        In points.
    show_certificate : bool, default=True
        Whether a line below the tree says what was proved, where the model knows it.

    Returns
    -------
    Axes
        Left is where the test holds. The percentage and the bar in a leaf are shares of its weight: for which its label
        is right, and of every label. The wider a branch, the more weight takes it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_tree needs matplotlib: pip install 'certree[plot]'") from error

    tree = tree_of(model)
    boxes = [_make_box(tree, node, digits, font_size) for node in range(tree.n_nodes)]
    centre, top = _place(tree, boxes, gap=1.1 * font_size, level_gap=3.6 * font_size)
    caption = _caption(model) if show_certificate else ""

    margin = 0.8 * font_size
    left = min(x - box.width / 2 for x, box in zip(centre, boxes, strict=True)) - margin
    right = max(x + box.width / 2 for x, box in zip(centre, boxes, strict=True)) + margin
    bottom = min(y - box.height for y, box in zip(top, boxes, strict=True)) - margin
    if caption:
        bottom -= 2 * font_size
        excess = _text_width(caption, SMALL * font_size) + 2 * margin - (right - left)
        left, right = left - max(0.0, excess) / 2, right + max(0.0, excess) / 2
    width, height = right - left, margin - bottom

    if ax is None:
        figure = plt.figure(figsize=(width / 72, height / 72))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    extent = ax.get_window_extent()
    points = 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    scale = min(1.0, extent.width * points / width, extent.height * points / height)

    # One unit of the axes is `scale` points, whatever the shape of the axes: what is left over is spread evenly.
    spare_width = extent.width * points / scale - width
    spare_height = extent.height * points / scale - height
    ax.set_xlim(left - spare_width / 2, right + spare_width / 2)
    ax.set_ylim(bottom - spare_height / 2, margin + spare_height / 2)
    ax.set_axis_off()

    _draw_branches(ax, tree, boxes, centre, top, font_size, scale)
    for node, box in enumerate(boxes):
        _draw_box(ax, tree, node, box, centre[node], top[node], font_size, scale)
    if caption:
        ax.text(
            (left + right) / 2, bottom + margin, caption,
            fontsize=SMALL * font_size * scale, color=PALE_INK, ha="center", va="bottom", parse_math=False,
        )  # fmt: skip
    return ax


def plot_budget_curve(curve: Any, *, ax: Axes | None = None, names: tuple[str, str] = ("mean spend", "value")) -> Axes:
    """Draw value against spend: a point for every tree of a `BudgetCurve`, and the line that no tree is above.

    Parameters
    ----------
    curve : BudgetCurve
        From `certree.policy.budget_curve`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a figure.
    names : names of the two axes, default=("mean spend", "value")

    Returns
    -------
    Axes
        Where leaves have a penalty, the height is the objective: value − λ · leaves.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_budget_curve needs matplotlib: pip install 'certree[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    has_penalty = any(point.objective != point.value for point in curve)
    spends, heights = [point.spend for point in curve], [point.objective for point in curve]
    is_exact = curve.is_complete
    ax.plot(
        spends, heights, "o-" if is_exact else "o--", color=PALETTE[0], linewidth=1.5, markersize=4,
        label="no tree is above" if is_exact else "a search ended early",
    )  # fmt: skip
    ax.set(xlabel=names[0], ylabel=f"{names[1]} − penalty of leaves" if has_penalty else names[1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right", fontsize="small")
    return ax


# Words ----------------------------------------------------------------------------------------------------------------


def _make_box(tree: Tree, node: int, digits: int | None, font_size: float) -> Box:
    small = SMALL * font_size
    is_leaf = bool(tree.column[node] < 0)
    if is_leaf:
        lines = [Line(text, font_size, weight="bold") for text in _wrap(label_text(tree.node_label(node)))]
        share = share_of_label(tree, node)
        support = reward_text(tree, node) if share is None else f"{share_text(share)} right"
        lines += [Line(support, small)] if support else []
    else:
        lines = [Line(text, font_size) for text in _wrap(_test_text(tree.test(node), digits))]
    # Pale ink is for white boxes: on a leaf's colour it would hardly be seen.
    lines += [Line(text, small, INK if is_leaf else PALE_INK) for text in size_text(tree, node).split(", ")]
    padding = 0.7 * font_size
    width = max(_text_width(line.text, line.size, line.weight) for line in lines) + 2 * padding
    height = sum(LINE_HEIGHT * line.size for line in lines) + 1.2 * padding
    height += _bar_height(tree, font_size) if is_leaf else 0.0
    return Box(tuple(lines), width, height, is_leaf)


def _test_text(test: Test, digits: int | None) -> str:
    """The test with the sign that pictures can afford."""
    text, name = test.describe(digits=digits), test.column.name
    return name + text[len(name) :].replace(" <= ", " ≤ ", 1) if test.threshold is not None else text


def _bar_height(tree: Tree, font_size: float) -> float:
    """The room that a leaf's bar of shares takes, the space above it included."""
    return 0.0 if tree.label_weights is None else 0.75 * font_size


def _wrap(text: str) -> list[str]:
    """A long text on a few lines; what is still too long ends in an ellipsis."""
    lines = textwrap.wrap(text, WIDEST_LINE, max_lines=MOST_LINES, placeholder=" …", break_on_hyphens=False)
    return lines or [" "]


def _text_width(text: str, size: float, weight: str = "normal") -> float:
    """By the font's own measures, so that no canvas is needed."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=size, weight=weight), ismath=False
    )
    return float(width)


def _caption(model: Any) -> str:
    certificate = getattr(model, "certificate_", None) or getattr(model, "certificate", None)
    if not isinstance(certificate, Mapping):
        return ""
    leaves, policy = certificate["leaves"], certificate.get("policy")
    count = "1 leaf" if leaves == 1 else f"{leaves} leaves"
    if policy is not None:
        words = f"mean reward {amount_text(policy['value'])} in sample  ·  {count}"
    else:
        words = f"loss {certificate['loss']:.4g}  ·  {count}  ·  objective {certificate['objective']:.4g}"
    return f"{words}  ·  {make_statement(certificate)}"


# Layout ---------------------------------------------------------------------------------------------------------------


def _place(tree: Tree, boxes: list[Box], gap: float, level_gap: float) -> tuple[list[float], list[float]]:
    """Each box's centre from left to right and its upper edge (the root's is 0, below is negative)."""
    depth = tree.node_depth
    level_height = [
        max(box.height for node, box in enumerate(boxes) if depth[node] == level) for level in range(tree.depth + 1)
    ]
    level_top = [-sum(height + level_gap for height in level_height[:level]) for level in range(tree.depth + 1)]

    centre = [0.0] * tree.n_nodes
    members: list[list[int]] = [[node] for node in range(tree.n_nodes)]
    # What a subtree covers at each level below its root: (leftmost, rightmost).
    outline: list[list[tuple[float, float]]] = [[(-box.width / 2, box.width / 2)] for box in boxes]
    for node in reversed(range(tree.n_nodes)):
        if tree.column[node] < 0:
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        shift = max(a[1] + gap - b[0] for a, b in zip(outline[left], outline[right], strict=False))
        middle = (centre[left] + centre[right] + shift) / 2
        for child, move in ((left, -middle), (right, shift - middle)):
            members[node] += members[child]
            outline[child] = [(low + move, high + move) for low, high in outline[child]]
            for member in members[child]:
                centre[member] += move
        for level in range(max(len(outline[left]), len(outline[right]))):
            spans = [outline[child][level] for child in (left, right) if level < len(outline[child])]
            outline[node].append((min(low for low, _ in spans), max(high for _, high in spans)))
    return centre, [level_top[depth[node]] for node in range(tree.n_nodes)]


# Drawing --------------------------------------------------------------------------------------------------------------


def _draw_branches(
    ax: Axes, tree: Tree, boxes: list[Box], centre: list[float], top: list[float], font_size: float, scale: float
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    total = float(tree.weight[0]) or 1.0
    for node in range(tree.n_nodes):
        if tree.column[node] < 0:
            continue
        start = top[node] - boxes[node].height
        children = (int(tree.left[node]), int(tree.right[node]))
        for child, answer in zip(children, answers(tree.test(node)), strict=True):
            end = top[child]
            bend = (start + end) / 2
            corners = [(centre[node], start), (centre[node], bend), (centre[child], bend), (centre[child], end)]
            share = float(tree.weight[child]) / total
            ax.add_patch(
                PathPatch(
                    Path(corners, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
                    fill=False, edgecolor=LINE, linewidth=(0.8 + 5 * share) * scale, capstyle="butt", zorder=1,
                )
            )  # fmt: skip
            # Where the curve has run its first third: the two answers stand apart and clear of both boxes.
            x = 0.26 * (centre[child] - centre[node]) + centre[node]
            y = 0.36 * (end - start) + start
            is_long = " " in answer  # grows away from its neighbour, on two lines
            ax.text(
                x - 0.6 * font_size * is_long, y, answer.replace(" missing", "\nmissing"),
                fontsize=SMALL * font_size * scale, color=PALE_INK, ha="left" if is_long else "center", va="center",
                zorder=2, bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
            )  # fmt: skip


def _draw_box(ax: Axes, tree: Tree, node: int, box: Box, x: float, y: float, font_size: float, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    rounding = 0.45 * font_size
    style = f"round,pad=0,rounding_size={rounding}"
    corner = (x - box.width / 2, y - box.height)
    face = leaf_colour(tree, node) if box.is_leaf else "white"
    edge = PALETTE[tree.label[node] % len(PALETTE)] if box.is_leaf else PALE_INK
    ax.add_patch(
        FancyBboxPatch(
            corner, box.width, box.height,
            boxstyle=style, facecolor=face, edgecolor=edge, linewidth=1.1 * scale, mutation_aspect=1, zorder=3,
        )
    )  # fmt: skip

    padding = 0.7 * font_size
    line_top = y - 0.6 * padding
    for line in box.lines:
        ax.text(
            x, line_top - LINE_HEIGHT * line.size / 2, line.text,
            fontsize=line.size * scale, color=line.colour, fontweight=line.weight,
            ha="center", va="center_baseline", parse_math=False, zorder=4,
        )  # fmt: skip
        line_top -= LINE_HEIGHT * line.size

    if not box.is_leaf or tree.label_weights is None:
        return
    shares = tree.label_weights[node] / tree.label_weights[node].sum()
    room, start = box.width - 2 * padding, x - box.width / 2 + padding
    bar = 0.35 * font_size
    for index, share in enumerate(shares):
        ax.add_patch(
            Rectangle(
                (start, y - box.height + 0.6 * padding), room * share, bar,
                facecolor=PALETTE[index % len(PALETTE)], edgecolor="none", zorder=4,
            )
        )  # fmt: skip
        start += room * share
