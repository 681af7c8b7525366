"""Draws the pictures of README and docs, from a fit and from measured figures.

Run it where certree[plot] is installed: python docs/images/draw.py
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from certree import SparseTreeClassifier, good_trees, study
from certree.datasets import load_lalonde
from certree.plot import plot_columns, plot_tree, plot_trees
from certree.tree.words import PALETTE

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.record import read  # noqa: E402


def draw_tree() -> None:
    data = load_lalonde(as_frame=True)
    change = data.target - data.data["re75"]
    model = SparseTreeClassifier(max_depth=3, regularization=0.005)
    model.fit(data.data, np.where(change > 0, "rose", "did not rise"), change.abs())
    plot_tree(model).figure.savefig(HERE / "tree.png", dpi=160)


def draw_good_trees() -> None:
    data = load_lalonde(as_frame=True)
    rose = np.where(data.target > data.data["re75"], "rose", "did not rise")
    trees = good_trees(data.data, rose, tolerance=0.005, max_depth=3, regularization=0.01)
    plot_trees(trees)[0].figure.savefig(HERE / "good-trees.png", dpi=120)
    plot_columns(trees)[0].figure.savefig(HERE / "good-columns.png", dpi=120)


def draw_regret() -> None:
    """The figures that `python -m benchmarks --suite regret` has written."""
    figures = read(HERE.parents[1] / "benchmarks" / "results" / "regret.csv")["figures"]
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for depth in sorted({entry["depth"] for entry in figures}):
        points = [entry for entry in figures if entry["depth"] == depth]
        sizes, losses = [p["n_rows"] for p in points], [p["regret"] for p in points]
        errors = [p["error"] for p in points]
        ax.errorbar(
            sizes, losses, errors, marker="os^D"[depth], markersize=5, linewidth=1.5, capsize=2, color=PALETTE[depth],
            label=f"planted depth {depth}",
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.set(xlabel="rows in the log", ylabel="mean reward lost", ylim=(0, None))
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "regret.png", dpi=160)


def draw_case_study() -> None:
    """Three of the trees that `certree demo` draws."""
    case = study.run(depths=[3], variations=[], repeats=1)
    models = {"": case.pick("direct", 3), "-printed": case.pick("printed", 3), "-policy": case.policies[-1]}
    for name, row in models.items():
        plot_tree(row.model).figure.savefig(HERE / f"case-study{name}.png", dpi=160)


if __name__ == "__main__":
    draw_tree()
    draw_good_trees()
    draw_regret()
    draw_case_study()
