"""The paper's figures, with our numbers. Error bars are standard deviations over splits."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from benchmarks.paper.look import (
    LEAST_SECONDS,
    PAPERS,
    SHOWN,
    Row,
    average,
    has_tree,
    is_ended,
    names,
    number,
    of,
    seconds,
)

STYLES = {
    "direct, guessed": ("*", "tab:blue"),
    "duplicate, guessed": ("*", "tab:cyan"),
    "sample, guessed": ("*", "mediumpurple"),
    "direct": ("D", "navy"),
    "CART": ("o", "tab:orange"),
    "DL8.5": ("s", "tab:green"),
    "DL8.5 (pytrees-rs)": ("s", "yellowgreen"),
    "STreeD": ("^", "tab:red"),
    "GOSDT": ("v", "tab:pink"),
    "ConTree": ("<", "tab:brown"),
    "LicketySPLIT": (">", "goldenrod"),
    "imodels": ("P", "tab:gray"),
}
"""What is drawn, and how."""
TITLES = SHOWN | {
    "netherlands": "Netherlands (11,000 raw rows)", "netherlands-20000": "Netherlands (20,000 rows, 22 tests)",
    "diabetes": "Diabetes (a seeded sample)",
}  # fmt: skip
Panel = Callable[[Any, str], None]


def draw_all(rows: list[Row], folder: Path) -> list[str]:
    """Draws what there are rows for, and says which."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {
        "duplication": _draw_duplication,
        "sparsity-train": lambda own: draw_trade_off(own, "leaves", "train"),
        "sparsity-test": lambda own: draw_trade_off(own, "leaves", "test"),
        "time-train": lambda own: draw_trade_off(own, "cpu", "train"),
        "time-test": lambda own: draw_trade_off(own, "cpu", "test"),
        "sample-size": _draw_sample_size,
        "weights": _draw_weights,
        "case-study": _draw_trees,
    }
    done = []
    for name, draw in drawn.items():
        figure = draw(rows)
        if figure is not None:
            # No date and no version inside, so that the same rows make the same file.
            figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
            done.append(name)
    return done


def _panels(sets: list[str], draw: Panel, ends: tuple[str, str], across: int = 4) -> Figure:
    across = min(across, len(sets))
    down = -(-len(sets) // across)
    figure = Figure(figsize=(3.4 * across, 2.8 * down + 0.5), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for axis, name in zip(axes, sets, strict=False):
        draw(axis, name)
        axis.set_title(TITLES.get(name, name), fontsize="medium")
        axis.set(xlabel=ends[0], ylabel=ends[1])
        axis.spines[["top", "right"]].set_visible(False)
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    for axis in axes[len(sets) :]:
        axis.set_axis_off()
    if len(handles) > 1:
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=2 if len(sets) == 1 else 7,
            frameon=False, fontsize="small",
        )  # fmt: skip
    return figure


def _draw_duplication(rows: list[Row]) -> Figure | None:
    own = [row for row in of(rows, study="duplication") if has_tree(row)]
    if not own:
        return None
    titles = {"direct": "weights (direct)", "duplicate": "counts (duplicate)", "rows": "copied rows"}

    def draw(axis: Any, name: str) -> None:
        for method in names(own, "method"):
            percents = sorted({number(row, "percent") for row in of(own, set=name, method=method)})
            here = of(own, set=name, method=method)
            times = [[seconds(row) for row in of(here, percent=f"{percent:g}")] for percent in percents]
            errors = [statistics.stdev(these) if len(these) > 1 else 0.0 for these in times]
            means = [statistics.fmean(these) for these in times]
            label = titles.get(method, f"{method}, copied rows, guessed thresholds")
            (line, *_) = axis.errorbar(
                [max(percent, 5) for percent in percents], means, errors, marker="o", capsize=2, label=label
            )
            late = [
                place for place, percent in enumerate(percents) if any(map(is_ended, of(here, percent=f"{percent:g}")))
            ]
            axis.plot(
                [max(percents[place], 5) for place in late], [means[place] for place in late], linestyle="none",
                marker="o", color=line.get_color(), markerfacecolor="white", zorder=4,
            )  # fmt: skip
        axis.set_xscale("log")
        shown = [seconds(row) for row in of(own, set=name)]
        if max(shown) > 5 * min(shown):
            axis.set_yscale("log")
        else:
            axis.set_ylim(0, None)

    figure = _panels(names(own, "set"), draw, ("rows duplicated, % (0 is drawn at 5)", "processor seconds"), 1)
    figure.set_size_inches(6.5, 4.2)
    return figure


def draw_trade_off(rows: list[Row], across: str, up: str) -> Figure | None:
    own = [row for row in of(rows, study="trade-off") if has_tree(row)]
    if not own:
        return None

    def draw(axis: Any, name: str) -> None:
        here, least = of(own, set=name), LEAST_SECONDS if across == "cpu" else 1
        points = average(row for row in here if row["method"] in STYLES)
        for point in sorted(points, key=lambda point: not point.is_ended):  # what was finished stands in front
            marker, colour = STYLES[point.method]
            x, reach = max(point.mean[across], least), point.error[across] if across == "leaves" else 0.0
            axis.errorbar(
                x, point.mean[up], point.error[up], [[min(reach, x - least)], [reach]],
                marker=marker, color=colour, markersize=6 if marker == "*" else 4, linewidth=0.5, alpha=0.75,
                linestyle="none", label=point.method, zorder=3 if point.method == PAPERS else 2,
                markerfacecolor="white" if point.is_ended else colour,
            )  # fmt: skip
        boosted = [statistics.fmean(number(row, up) for row in rows) for rows in [of(here, method="boosting")] if rows]
        for height in boosted:
            axis.axhline(height, color="black", linewidth=1, label="boosting")
        if across == "leaves":
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        else:
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter(NullFormatter())
        # Every mean is within the picture; a long error bar may leave it.
        heights = [point.mean[up] for point in points] + boosted
        room = max(0.1 * (max(heights) - min(heights)), statistics.median(point.error[up] for point in points)) + 0.003
        axis.set_ylim(min(heights) - room, min(max(heights) + room, 1.005))
        widths = [max(point.mean[across], least) for point in points]
        axis.set_xlim(min(widths) / 1.4, max(widths) * 1.4)

    words = {"train": "training accuracy", "test": "test accuracy"}[up]
    return _panels(names(own, "set"), draw, ("leaves" if across == "leaves" else "processor seconds", words))


def _draw_sample_size(rows: list[Row]) -> Figure | None:
    own = [row for row in of(rows, study="sample size") if has_tree(row)]
    if not own:
        return None

    def draw(axis: Any, name: str) -> None:
        for up, colour in (("train", "tab:blue"), ("test", "tab:orange")):
            points = sorted(average(of(own, set=name), ("percent",)), key=lambda point: float(point.setting[0]))
            axis.errorbar(
                [float(point.setting[0]) for point in points], [point.mean[up] for point in points],
                [point.error[up] for point in points], marker="o", markersize=4, capsize=2, color=colour,
                label={"train": "training", "test": "test"}[up],
            )  # fmt: skip

    return _panels(names(own, "set"), draw, ("size of the sample, %", "accuracy"))


def _draw_weights(rows: list[Row]) -> Figure | None:
    own = [row for row in of(rows, study="weights") if row["detail"]]
    if not own:
        return None

    def draw(axis: Any, name: str) -> None:
        detail = json.loads(of(own, set=name)[0]["detail"])
        counts = detail["counts"]
        width = (detail["to"] - detail["from"]) / len(counts)
        axis.bar([detail["from"] + width * place for place in range(len(counts))], counts, width, align="edge")

    return _panels(names(own, "set"), draw, ("weight", "rows"))


# Trees ----------------------------------------------------------------------------------------------------------------


def _draw_trees(rows: list[Row]) -> Figure | None:
    own = sorted((row for row in of(rows, study="case study") if row["detail"]), key=lambda row: int(row["depth"]))
    if not own:
        return None
    # The same tree may be the best at several depths.
    depths = {detail: [row["depth"] for row in own if row["detail"] == detail] for detail in names(own, "detail")}
    statuses = {row["detail"]: row["status"] for row in own}
    trees = [json.loads(detail) for detail in depths]
    heights = [1 + depth_of(tree) for tree in trees]
    figure = Figure(figsize=(max(7.0, 1.05 * max(map(count_leaves, trees))), 0.85 * sum(heights)), layout="constrained")
    axes = figure.subplots(len(trees), 1, squeeze=False, height_ratios=heights).ravel()
    for axis, tree, (detail, allowed) in zip(axes, trees, depths.items(), strict=True):
        _draw_node(axis, tree, 0.0, 0)
        depth = depth_of(tree)
        axis.set(xlim=(-0.6, count_leaves(tree) - 0.4), ylim=(-depth - 0.4, 0.4))
        axis.set_axis_off()
        words = "proved optimal" if statuses[detail] == "optimal" else statuses[detail]
        shown = f"depth at most {' or '.join(allowed)}: {count_leaves(tree)} leaves, {words}"
        axis.set_title(shown, fontsize="medium")
    return figure


def depth_of(tree: Any) -> int:
    return 1 + max(depth_of(tree[2]), depth_of(tree[3])) if isinstance(tree, list) else 0


def count_leaves(tree: Any) -> int:
    return count_leaves(tree[2]) + count_leaves(tree[3]) if isinstance(tree, list) else 1


def _draw_node(axis: Any, tree: Any, left: float, level: int) -> float:
    """Draws a tree from its leftmost leaf's place on, and says where its root is."""
    box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:blue"}
    if not isinstance(tree, list):
        axis.text(left, -level, f"class {tree}", ha="center", va="center", fontsize=8, bbox=box | {"edgecolor": "gray"})
        return left
    column, threshold, yes, no = tree
    places = [_draw_node(axis, yes, left, level + 1), _draw_node(axis, no, left + count_leaves(yes), level + 1)]
    here = sum(places) / 2
    for place, way in zip(places, ("yes", "no"), strict=True):
        axis.text((here + place) / 2, -level - 0.5, way, ha="center", va="center", fontsize=7, backgroundcolor="white")
        axis.plot([here, place], [-level, -level - 1], color="gray", linewidth=0.8, zorder=0)
    axis.text(here, -level, f"{column} ≤ {threshold:g}", ha="center", va="center", fontsize=8, bbox=box)
    return here
