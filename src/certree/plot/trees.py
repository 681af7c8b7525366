"""A picture of a tree. All lengths are in points."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from certree.certificate.words import make_statement
from certree.plot.boxes import LINE, LINE_HEIGHT, MARK, PALE_INK, SMALL, Box, make_box
from certree.plot.canvas import import_pyplot, text_width
from certree.plot.layout import place_down, place_right
from certree.tree import READABLE, Digits, Labels, Names, Tree, tree_of
from certree.tree.words import PALETTE, amount_text, answers, hidden_text, leaf_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST_PICTURE = 1500.0
"""A tree whose picture would be wider grows to the right instead: about what a screen shows in legible letters."""
NARROWEST_CAPTION = 300.0
DOT = "  ·  "
"""Between the parts of a caption."""


def plot_tree(
    model: Any,
    *,
    feature_names: Names = None,
    class_names: Labels = None,
    filled: bool = True,
    ax: Axes | None = None,
    digits: Digits = READABLE,
    font_size: float = 10.0,
    direction: Literal["auto", "down", "right"] = "auto",
    show_certificate: bool = True,
    evaluation: Any = None,
    marked: Collection[int] = (),
    hide_below: int | None = None,
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What to draw.
    feature_names : list of names or mapping, default=None
        Other names for the columns: all of them in order, or those that change, by their own name. In place of a name
        there may be more words, as `Tree.renamed` takes them: `{"age": {"name": "Age", "unit": "years"}}`.
    class_names : list of labels or mapping, default=None
        Other names for the labels or actions, likewise.
    hide_below : int or None, default=None
        Leaves of fewer rows are shown as "fewer than k rows", without other figures, because few rows can reveal a
        person; see `Tree.veiled`.
    filled : bool, default=True
        Whether leaves have the colours of their labels.
    ax : matplotlib Axes or None, default=None
        Where to draw; the words shrink until they fit. None makes a figure of the size that the words need.
    digits : int, "readable" or None, default="readable"
        Significant digits of thresholds; "readable" rounds what is too long to read, None writes them exactly.
    font_size : float, default=10.0
        In points.
    direction : {"auto", "down", "right"}, default="auto"
        Where the tree grows to. "auto": down, unless it has so many leaves that it would be too wide for a screen.
    show_certificate : bool, default=True
        Whether a line below the tree says what was proved, where the model knows it.
    evaluation : Evaluation or None, default=None
        Of a policy, from `certree.policy.evaluate`: what it gains on rows that it has not seen is then told below it.
    marked : node numbers, default=()
        Nodes that get a frame which cannot be overlooked.

    Returns
    -------
    Axes
        Left (or above, where the tree grows to the right) is where the test holds. The percentage and the bar in a leaf
        are shares of its weight: for which its label is right, and of every label. The wider a branch, the more weight
        takes it.

    Raises
    ------
    ValueError
        If a name does not exist, or if the number of names is wrong.
    TypeError
        If the model is neither a fitted estimator nor a tree.
    ImportError
        If matplotlib is not installed (`pip install "certree[plot]"`).

    Examples
    --------
    >>> from certree import SparseTreeClassifier, plot_tree
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> ax = plot_tree(model, feature_names=["age"])
    >>> ax.figure.savefig("tree.png")  # doctest: +SKIP
    """
    plt = import_pyplot("plot_tree")
    if direction not in ("auto", "down", "right"):
        raise ValueError(f"direction must be 'auto', 'down' or 'right', not {direction!r}")
    tree = tree_of(model).renamed(feature_names, class_names).veiled(hide_below)
    boxes = [make_box(tree, node, digits, font_size) for node in range(tree.n_nodes)]
    answered = [_answer_widths(tree, node, SMALL * font_size) for node in range(tree.n_nodes)]
    # Words of the reader's own stand half-way down their branches, so half of the way between these is theirs.
    apart = [sum(widths) + 2 * font_size if widths else 0.0 for widths in answered]
    x, y = place_down(tree, boxes, gap=1.1 * font_size, level_gap=3.6 * font_size, apart=apart)
    is_down = direction == "down" or (direction == "auto" and _span(x, boxes) <= WIDEST_PICTURE)
    if not is_down:
        boxes = [make_box(tree, node, digits, font_size, is_flat=True) for node in range(tree.n_nodes)]
        widest_answer = max((width for widths in answered for width in widths), default=0.0)
        level_gap = max(4.2 * font_size, widest_answer / 0.76 + font_size)
        x, y = place_right(tree, boxes, gap=0.8 * font_size, level_gap=level_gap)

    margin, small = 0.8 * font_size, SMALL * font_size
    left, right = min(x) - margin, max(edge + box.width for edge, box in zip(x, boxes, strict=True)) + margin
    top = max(y) + margin
    bottom = min(edge - box.height for edge, box in zip(y, boxes, strict=True)) - margin
    told = [_caption(model) if show_certificate else "", _held_out(evaluation)]
    widest = max(right - left, NARROWEST_CAPTION) - 2 * margin
    caption = [line for text in told if text for line in _fill(text, small, widest)]
    if caption:
        bottom -= LINE_HEIGHT * small * len(caption) + margin
        excess = max(text_width(line, small) for line in caption) + 2 * margin - (right - left)
        left, right = left - max(0.0, excess) / 2, right + max(0.0, excess) / 2
    width, height = right - left, top - bottom

    if ax is None:
        figure = plt.figure(figsize=(width / 72, height / 72))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    assert ax is not None
    extent = ax.get_window_extent()
    points = 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    scale = min(1.0, extent.width * points / width, extent.height * points / height)

    # One unit of the axes is `scale` points, whatever the shape of the axes: what is left over is spread evenly.
    spare_width = extent.width * points / scale - width
    spare_height = extent.height * points / scale - height
    ax.set_xlim(left - spare_width / 2, right + spare_width / 2)
    ax.set_ylim(bottom - spare_height / 2, top + spare_height / 2)
    ax.set_axis_off()

    _draw_branches(ax, tree, boxes, x, y, font_size, scale, is_down=is_down)
    for node, box in enumerate(boxes):
        _draw_box(ax, tree, node, box, x[node], y[node], font_size, scale, filled=filled, is_marked=node in marked)
    if caption:
        ax.text(
            (left + right) / 2, bottom + margin, "\n".join(caption), linespacing=LINE_HEIGHT,
            fontsize=small * scale, color=PALE_INK, ha="center", va="bottom", parse_math=False,
        )  # fmt: skip
    return ax


def _span(x: Sequence[float], boxes: Sequence[Box]) -> float:
    return max(edge + box.width for edge, box in zip(x, boxes, strict=True)) - min(x)


def _answer_widths(tree: Tree, node: int, size: float) -> list[float]:
    """How wide the words at a node's branches are, where they are the reader's own."""
    own = None if tree.column[node] < 0 else tree.test(node).answers
    return [] if own is None else [text_width(_break_answer(answer).split("\n")[0], size) for answer in own]


def _break_answer(answer: str) -> str:
    return answer.replace(" or missing", " or\nmissing")


# Captions -----------------------------------------------------------------------------------------------------------


def _caption(model: Any) -> str:
    certificate = getattr(model, "certificate_", None) or getattr(model, "certificate", None)
    if not isinstance(certificate, Mapping):
        return ""
    leaves, policy = certificate["leaves"], certificate.get("policy")
    count = "1 leaf" if leaves == 1 else f"{leaves} leaves"
    if policy is not None:
        parts = [f"mean reward {amount_text(policy['value'])} in sample", count]
    else:
        parts = [f"loss {certificate['loss']:.4g}", count, f"objective {certificate['objective']:.4g}"]
    return DOT.join([*parts, make_statement(certificate)])


def _held_out(evaluation: Any) -> str:
    if evaluation is None:
        return ""
    found = evaluation.statement()
    return f"On rows that it has not seen: {found[0].lower()}{found[1:]}"


def _fill(text: str, size: float, widest: float) -> list[str]:
    """A text on lines of so many points at most, broken between its parts where that will do, else between words."""

    def join(pieces: Sequence[str], sign: str) -> list[str]:
        lines = [pieces[0]]
        for piece in pieces[1:]:
            longer = lines[-1] + sign + piece
            if text_width(longer, size) > widest:
                lines.append(piece)
            else:
                lines[-1] = longer
        return lines

    return [line for part in join(text.split(DOT), DOT) for line in join(part.split(" "), " ")]


# Drawing ------------------------------------------------------------------------------------------------------------


def _draw_branches(
    ax: Axes, tree: Tree, boxes: list[Box], x: list[float], y: list[float], font_size: float, scale: float, *,
    is_down: bool,
) -> None:  # fmt: skip
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    total = float(tree.weight[0]) or 1.0
    for node in range(tree.n_nodes):
        if tree.column[node] < 0:
            continue
        children = (int(tree.left[node]), int(tree.right[node]))
        for child, answer in zip(children, answers(tree.test(node)), strict=True):
            if is_down:
                start = (x[node] + boxes[node].width / 2, y[node] - boxes[node].height)
                end = (x[child] + boxes[child].width / 2, y[child])
                bends = [(start[0], (start[1] + end[1]) / 2), (end[0], (start[1] + end[1]) / 2)]
            else:
                start = (x[node] + boxes[node].width, y[node] - boxes[node].height / 2)
                end = (x[child], y[child] - boxes[child].height / 2)
                bends = [((start[0] + end[0]) / 2, start[1]), ((start[0] + end[0]) / 2, end[1])]
            share = 0.0 if hidden_text(tree, child) else min(1.0, float(tree.weight[child]) / total)
            ax.add_patch(
                PathPatch(
                    Path([start, *bends, end], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
                    fill=False, edgecolor=LINE, linewidth=(0.8 + 5 * share) * scale, capstyle="butt", zorder=1,
                )
            )  # fmt: skip
            # Where the curve has run its first third: the two answers stand apart and clear of both boxes.
            is_own = tree.test(node).answers is not None
            along, across = (0.62, 0.74) if not is_down else (0.5, 0.5) if is_own else (0.26, 0.36)
            is_long = is_down and not is_own and " " in answer  # grows away from its neighbour, on two lines
            ax.text(
                along * (end[0] - start[0]) + start[0] - 0.6 * font_size * is_long,
                across * (end[1] - start[1]) + start[1],
                _break_answer(answer), parse_math=False,
                fontsize=SMALL * font_size * scale, color=PALE_INK, ha="left" if is_long else "center", va="center",
                zorder=2, bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
            )  # fmt: skip


def _draw_box(
    ax: Axes, tree: Tree, node: int, box: Box, x: float, y: float, font_size: float, scale: float, *, filled: bool,
    is_marked: bool,
) -> None:  # fmt: skip
    """A box whose left and upper edges are given."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    style = f"round,pad=0,rounding_size={0.45 * font_size}"
    face = leaf_colour(tree, node) if box.is_leaf and filled else "white"
    edge = MARK if is_marked else PALETTE[tree.label[node] % len(PALETTE)] if box.is_leaf else PALE_INK
    ax.add_patch(
        FancyBboxPatch(
            (x, y - box.height), box.width, box.height,
            boxstyle=style, facecolor=face, edgecolor=edge, linewidth=(3.0 if is_marked else 1.1) * scale,
            mutation_aspect=1, zorder=3,
        )
    )  # fmt: skip

    padding = 0.7 * font_size
    line_top = y - 0.6 * padding
    for line in box.lines:
        ax.text(
            x + box.width / 2, line_top - LINE_HEIGHT * line.size / 2, line.text,
            fontsize=line.size * scale, color=line.colour, fontweight=line.weight,
            ha="center", va="center_baseline", parse_math=False, zorder=4,
        )  # fmt: skip
        line_top -= LINE_HEIGHT * line.size

    if not box.is_leaf or tree.label_weights is None or hidden_text(tree, node):
        return
    shares = tree.label_weights[node] / tree.label_weights[node].sum()
    room, start = box.width - 2 * padding, x + padding
    bar = 0.35 * font_size
    for index, share in enumerate(shares):
        ax.add_patch(
            Rectangle(
                (start, y - box.height + 0.6 * padding), room * share, bar,
                facecolor=PALETTE[index % len(PALETTE)], edgecolor="none", zorder=4,
            )
        )  # fmt: skip
        start += room * share
