"""Pictures of a set of good trees: columns, cuts, how far they agree about each row, and a handful side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from certree.plot.boxes import INK, LINE, PALE_INK, wrap
from certree.plot.canvas import import_pyplot, text_width
from certree.plot.trees import plot_tree
from certree.tree import READABLE, format_number
from certree.tree.words import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS = 20
"""Of a picture; the others have the smallest shares and prices."""
WIDEST_TITLE = 40
"""Characters on a line above a tree; names are longer."""
WIDEST_ROW = 16.0
"""Inches, after which trees go on in the next row."""


def plot_columns(trees: Any, *, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Draw for each column the share of good trees that need it, and what doing without it costs.

    Parameters
    ----------
    trees : TreeSet
        From `certree.good_trees` or `certree.policy.good_policies`.
    axes : two matplotlib Axes or None, default=None
        Where to draw shares and prices; None makes a figure.

    Returns
    -------
    two Axes
        A dark bar is a column that every good tree needs. A share alone misleads: a column may be in nearly all good
        trees and yet cost nothing to leave out.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the set is not complete.

    Examples
    --------
    >>> from certree import plot_columns, good_trees
    >>> from certree.datasets import load_lalonde
    >>> data = load_lalonde(as_frame=True)
    >>> rose = data.target > data.data["re75"]
    >>> trees = good_trees(data.data, rose, tolerance=0.005, max_depth=2)
    >>> plot_columns(trees)[0].get_xlabel()
    'share of the 42 good trees that need it'
    """
    plt = import_pyplot("plot_columns")
    facts = sorted(trees.columns(), key=lambda fact: (_price(fact), fact.share), reverse=True)
    shown, n_more = facts[:MOST_COLUMNS], max(0, len(facts) - MOST_COLUMNS)
    if axes is None:
        size = (8.0, 0.9 + 0.32 * len(shown))
        axes = plt.subplots(1, 2, figsize=size, layout="constrained", sharey=True)[1]
    left, right = axes
    places = np.arange(len(shown))[::-1]
    colours = [PALETTE[0] if fact.is_needed else "#a9c4e4" for fact in shown]
    left.barh(places, [100 * fact.share for fact in shown], color=colours, height=0.66)
    widest = max((price for fact in shown if math.isfinite(price := _price(fact))), default=0.0) or 1.0
    for place, fact, colour in zip(places, shown, colours, strict=True):
        price, share = _price(fact), 100 * fact.share
        is_endless = math.isinf(price)
        right.barh(place, 1.05 * widest if is_endless else price, color=colour, height=0.66)
        words = "always asked" if is_endless else "nothing" if price == 0 else f"{price:.3g}"
        low, high = fact.price_bounds
        words = f"{low:.3g} to {high:.3g}" if low < high else words
        _write(right, (1.05 * widest if is_endless else price) + 0.02 * widest, place, words)
        told = "none uses it" if fact.is_unused else f"{share:.3g} %"
        _write(left, share + 2, place, told)
    left.set_yticks(places, [fact.column for fact in shown])
    left.set(xlim=(0, 125), xlabel=f"share of the {trees.count} good trees that need it")
    left.set_xticks([0, 50, 100], ["0", "50 %", "100 %"])
    right.set(xlim=(0, 1.4 * widest), xlabel="what doing without it costs")
    _clear(left, end=100)
    _clear(right)
    if n_more:
        left.set_title(f"and {n_more} more columns", fontsize="small", color=PALE_INK, loc="left")
    return left, right


def plot_cuts(trees: Any, *, ax: Axes | None = None) -> Axes:
    """Draw where good trees cut each column: a mark for every test that some good tree has, wherever it stands.

    Parameters
    ----------
    trees : TreeSet
        The set to show.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes
        From left to right by the share of the rows on which a test holds, by weight, so that all columns have one
        scale. The darker and longer a mark, the better the best tree that has the test.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the set is not complete.

    Examples
    --------
    >>> from certree import plot_cuts, good_trees
    >>> from certree.datasets import load_lalonde
    >>> data = load_lalonde(as_frame=True)
    >>> rose = data.target > data.data["re75"]
    >>> trees = good_trees(data.data, rose, tolerance=0.005, max_depth=2)
    >>> [label.get_text() for label in plot_cuts(trees).get_yticklabels()]
    ['re75', 'age']
    """
    plt = import_pyplot("plot_cuts")
    cuts: dict[str, list[Any]] = {}
    for cut in trees.cuts():
        cuts.setdefault(cut.column, []).append(cut)
    if ax is None:
        ax = plt.subplots(figsize=(7.5, 1.1 + 0.5 * max(1, len(cuts))), layout="constrained")[1]
    assert ax is not None
    best, worst = trees.optimum, trees.threshold
    span = abs(worst - best) or 1.0
    names = sorted(cuts, key=lambda name: min(abs(cut.objective - best) for cut in cuts[name]))
    places = np.arange(len(names))[::-1]
    for place, name in zip(places, names, strict=True):
        for cut in sorted(cuts[name], key=lambda cut: -abs(cut.objective - best)):
            nearness = 1 - min(1.0, abs(cut.objective - best) / span)
            ax.vlines(
                100 * cut.share, place - 0.12 - 0.24 * nearness, place + 0.12 + 0.24 * nearness,
                color=PALETTE[0], alpha=0.25 + 0.75 * nearness, linewidth=1.8,
            )  # fmt: skip
        # Beside the axes and not within them, so that the layout makes room for words of any length.
        _write(ax, 1.02, place, "\n".join(wrap(_range_of(cuts[name]))), transform=ax.get_yaxis_transform())
        ax.hlines(place, 0, 100, color=LINE, linewidth=0.5, zorder=0)
    ax.set_yticks(places, names)
    ax.set(xlim=(0, 101), ylim=(-0.6, max(len(names), 1) - 0.4), xlabel="share of the rows on which the test holds")
    ax.set_xticks([0, 25, 50, 75, 100], ["0", "25 %", "50 %", "75 %", "100 %"])
    _clear(ax, end=100)
    if not names:
        ax.set_title("no good tree asks anything", fontsize="small", color=PALE_INK)
    return ax


def plot_agreement(trees: Any, *, n: int = 1000, random_state: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how many rows there are by how far the good trees agree about them.

    Parameters
    ----------
    trees : TreeSet
        The set to show.
    n : int, default=1000
        Trees that are drawn from the set for the shares; that all agree about a row is proved, not sampled.
    random_state : int, RandomState instance or None, default=None
        The seed of the drawn trees. An int draws the same ones every time.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the set is not complete.

    Examples
    --------
    >>> from certree import plot_agreement, good_trees
    >>> from certree.datasets import load_lalonde
    >>> data = load_lalonde(as_frame=True)
    >>> rose = data.target > data.data["re75"]
    >>> trees = good_trees(data.data, rose, tolerance=0.005, max_depth=2)
    >>> plot_agreement(trees, n=50, random_state=0).get_ylabel()
    'rows'
    """
    plt = import_pyplot("plot_agreement")
    rows = trees.rows()
    shares, _ = trees.label_shares(n, random_state)
    agreed = np.asarray(rows.is_agreed)
    # About such a row some good tree disagrees, even if none of those drawn does.
    surest = np.minimum(shares.max(axis=1)[~agreed], np.nextafter(1.0, 0.0))
    if ax is None:
        ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
    assert ax is not None
    edges = np.linspace(0.0, 1.0, 21)
    counts = np.histogram(surest, edges)[0]
    first = int(np.flatnonzero(counts)[0]) if counts.any() else len(counts) - 1
    ax.bar(100 * edges[first:-1], counts[first:], width=4.4, align="edge", color="#a9c4e4")
    ax.bar(101.0, agreed.sum(), width=4.4, align="edge", color=PALETTE[0])
    share = 100 * rows.share_agreed
    ax.text(
        103.2, agreed.sum(), f"{agreed.sum():,}\nproved", ha="center", va="bottom", fontsize="small", color=INK
    )  # fmt: skip
    ticks = [tick for tick in range(0, 100, 10) if tick >= 100 * edges[first]]
    ax.set_xticks([*ticks, 103.2], [*(f"{tick} %" for tick in ticks), "all"])
    ax.set(xlabel="good trees that give the row its most frequent label", ylabel="rows")
    ax.set_title(
        f"all {trees.count} good trees agree about {share:.1f} % of the rows by weight", fontsize="medium", loc="left"
    )
    ax.margins(y=0.18)
    _clear(ax)
    return ax


def plot_trees(
    trees: Any, chosen: Mapping[str, Any] | Sequence[Any] | None = None, *, most: int = 4, font_size: float = 9.0
) -> list[Axes]:
    """Draw some good trees side by side, and mark what differs from the first of them.

    Parameters
    ----------
    trees : TreeSet
        The set to show.
    chosen : mapping or list of trees of the set, default=None
        What to draw, with or without words above it. None: `trees.handful()`, the best for each root column, size and
        column left out.
    most : int, default=4
        Trees to draw, the first ones.
    font_size : float, default=9.0
        In points.

    Returns
    -------
    list of Axes
        Marked are tests that the first tree does not ask, and leaves with rows that the first tree gives another label.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there is no tree to draw.

    Examples
    --------
    >>> from certree import plot_trees, good_trees
    >>> from certree.datasets import load_lalonde
    >>> data = load_lalonde(as_frame=True)
    >>> rose = data.target > data.data["re75"]
    >>> trees = good_trees(data.data, rose, tolerance=0.005, max_depth=2)
    >>> len(plot_trees(trees, most=2))
    2
    """
    plt = import_pyplot("plot_trees")
    found = trees.handful() if chosen is None else chosen
    entries = list(found.items() if isinstance(found, Mapping) else (("", tree) for tree in found))[:most]
    if not entries:
        raise ValueError("there is no tree to draw")
    table = trees.problem.features.table
    first = entries[0][1].tree
    labels, asked = first.label[first.apply(table)], {_question(first, node) for node in range(first.n_nodes)}
    pictures: list[tuple[Any, set[int], list[str]]] = []
    sizes: list[tuple[float, float]] = []
    for place, (words, member) in enumerate(entries):
        tree = member.tree
        leaf = tree.apply(table)
        is_other = tree.label[leaf] != labels
        marked = {int(node) for node in np.unique(leaf[is_other])}
        marked |= {node for node in range(tree.n_nodes) if _question(tree, node) not in asked}
        told = [words, f"objective {member.objective:.4g}"]
        told += [f"{is_other.sum():,} of {len(leaf):,} rows decided otherwise"] if place > 0 else []
        told = [part for line in told if line for part in wrap(line, WIDEST_TITLE)]
        pictures.append((tree, marked, told))
        probe: Any = plot_tree(tree, font_size=font_size).figure
        width, height = probe.get_size_inches()
        plt.close(probe)
        widest = max(text_width(line, font_size) for line in told) / 72 + 0.3
        sizes.append((max(float(width), widest), float(height)))
    rows: list[list[int]] = [[]]
    for place, (width, _) in enumerate(sizes):
        if rows[-1] and sum(sizes[other][0] for other in rows[-1]) + width > WIDEST_ROW:
            rows.append([])
        rows[-1].append(place)
    title = (max(len(told) for *_, told in pictures) + 0.6) * 1.3 * font_size / 72  # inches
    heights = [max(sizes[place][1] for place in row) + title for row in rows]
    width, height = max(sum(sizes[place][0] for place in row) for row in rows), sum(heights)
    figure, axes, top = plt.figure(figsize=(width, height)), [], height
    for row, tall in zip(rows, heights, strict=True):
        edge = (width - sum(sizes[place][0] for place in row)) / 2
        for place in row:
            wide, high = sizes[place]
            ax = figure.add_axes((edge / width, (top - title - high) / height, wide / width, high / height))
            tree, marked, told = pictures[place]
            plot_tree(tree, ax=ax, font_size=font_size, marked=marked)
            ax.set_title("\n".join(told), fontsize=font_size, color=INK, parse_math=False)
            edge += wide
            axes.append(ax)
        top -= tall
    return axes


def _question(tree: Any, node: int) -> str:
    return "" if tree.column[node] < 0 else str(tree.test(node).text)


def _price(fact: Any) -> float:
    """What doing without a column costs; no tree does without one that a start asks."""
    return math.inf if math.isnan(fact.price) else float(fact.price)


def _range_of(cuts: Sequence[Any]) -> str:
    """Which tests a column has, in a few words."""
    thresholds = [cut.threshold for cut in cuts if not math.isnan(cut.threshold)]
    if len(cuts) == 1:
        text = str(cuts[0].test.removeprefix(cuts[0].column).strip())
        for threshold in thresholds:
            short = format_number(threshold, READABLE)
            relation = "<" if float(short.replace(",", "")) > threshold else "<="
            text = text.replace(f"<= {format_number(threshold)}", f"{relation} {short}")
        return text
    if len(thresholds) < len(cuts):
        return f"{len(cuts)} tests"
    ends = [format_number(end, READABLE) for end in (min(thresholds), max(thresholds))]
    return f"{ends[0]} to {ends[1]}"


def _write(ax: Axes, x: float, y: float, words: str, **more: Any) -> None:
    ax.text(x, y, words, va="center", fontsize="small", color=PALE_INK, parse_math=False, **more)


def _clear(ax: Axes, end: float | None = None) -> None:
    """Leaves the lines that help to read; the lower one ends where its scale does."""
    ax.spines[["top", "right"]].set_visible(False)
    if end is not None:
        ax.spines["bottom"].set_bounds(0, end)
    ax.tick_params(axis="y", length=0)
