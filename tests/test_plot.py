"""The picture: nothing overlaps, every word is there, and a machine without matplotlib is told what to install."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch
from test_export import MESSY, fit_messy, lone_leaf, make_tree, stump

from certree import PolicyTree, SparseTreeClassifier, TreeSet, good_trees, policy, regularization_path
from certree.plot import plot_agreement, plot_budget_curve, plot_columns, plot_cuts, plot_tree, plot_trees
from certree.plot.boxes import WIDEST_LINE, wrap
from certree.tree import Column, Tree
from certree.weights import balance


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def full_tree(depth: int, name: str = "column", labels: int = 2) -> Tree:
    """Every node down to a depth, tests of very different lengths."""
    n_nodes = 2 ** (depth + 1) - 1
    inner = 2**depth - 1
    column = [0 if node % 3 else 1 for node in range(inner)] + [-1] * (n_nodes - inner)
    return make_tree(
        [Column(name), Column("x")],
        [f"label {index}" for index in range(labels)],
        column=column,
        threshold=[node * 1234.5 for node in range(inner)] + [np.nan] * (n_nodes - inner),
        left=[2 * node + 1 for node in range(inner)] + [-1] * (n_nodes - inner),
        right=[2 * node + 2 for node in range(inner)] + [-1] * (n_nodes - inner),
    )


def words_of(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def caption_of(ax: Any) -> str:
    return " ".join(words_of(ax)[-1].split())


def box_extents(ax: Any) -> list[Any]:
    ax.figure.canvas.draw()
    return [patch.get_window_extent() for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


LONG = "household_income_in_the_previous_year_usd"


@pytest.mark.parametrize("direction", ["auto", "down", "right"])
@pytest.mark.parametrize("depth", [0, 1, 3, 6])
@pytest.mark.no_cover
def test_boxes_do_not_overlap_and_lie_inside_the_figure(depth: int, direction: Any) -> None:
    tree = full_tree(depth, LONG)
    ax = plot_tree(tree, direction=direction)
    extents = box_extents(ax)
    assert len(extents) == tree.n_nodes
    for index, one in enumerate(extents):
        assert not any(one.overlaps(other) for other in extents[index + 1 :])
        assert 0 <= one.x0 < one.x1 <= ax.figure.bbox.width
        assert 0 <= one.y0 < one.y1 <= ax.figure.bbox.height
    # Every name is there as a whole, and within its box.
    words = [text for text in ax.texts[:-1] if text.get_text() not in ("yes", "no")]
    assert "".join(text.get_text() for text in words).replace("\n", "").count(LONG) == (tree.column == 0).sum()
    for text in words:
        own = text.get_window_extent()
        assert any(
            box.x0 <= own.x0 and own.x1 <= box.x1 and box.y0 <= own.y0 and own.y1 <= box.y1 for box in extents
        ), text.get_text()


def test_a_deep_tree_grows_to_the_right_and_fits_the_width_of_a_screen() -> None:
    deep = plot_tree(full_tree(6, LONG)).figure.get_size_inches()
    assert deep[0] < 20
    assert plot_tree(full_tree(6, LONG), direction="down").figure.get_size_inches()[0] > 60
    shallow = plot_tree(full_tree(2, LONG)).figure.get_size_inches()
    assert shallow[0] > shallow[1]
    with pytest.raises(ValueError, match="direction must be"):
        plot_tree(stump(), direction="up")


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("name", [LONG, "a rather long name of a column"])
def test_words_fit_their_boxes(name: str, direction: Any) -> None:
    ax = plot_tree(full_tree(3, name, labels=3), direction=direction)
    extents = box_extents(ax)
    words = [text for text in ax.texts if text.get_text() not in ("yes", "no", "no or\nmissing")]
    for text in words:
        extent = text.get_window_extent()
        holding = [box for box in extents if box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0]
        assert holding, text.get_text()


def test_every_node_says_its_test_or_label() -> None:
    model, _ = fit_messy(2)
    words = words_of(plot_tree(model))
    answers = [word for word in words if word in ("no", "no or\nmissing")]
    assert words.count("yes") == len(answers) == model.n_leaves_ - 1
    for leaf in model.tree_.leaves:
        assert model.tree_.node_label(leaf) in words
    assert sum(word.endswith("% right") for word in words) == model.n_leaves_
    assert "proved optimal" in words[-1]
    assert "proved optimal" not in " ".join(words_of(plot_tree(model, show_certificate=False)))
    assert "proved optimal" not in " ".join(words_of(plot_tree(model.tree_)))


@pytest.mark.parametrize("name", MESSY)
def test_names_of_any_characters_are_drawn(name: str) -> None:
    ax = plot_tree(stump(name, labels=(name, "$other$")))
    ax.figure.canvas.draw()
    drawn = "".join("".join(words_of(ax)).split())
    assert "".join(name.split()) in drawn


@pytest.mark.parametrize("name", ["word " * 40, "x" * 200, LONG, "-".join(["first"] * 20), "a_b" * 30])
def test_a_long_name_is_drawn_whole_on_lines_that_fit(name: str) -> None:
    words = words_of(plot_tree(stump(name)))
    assert "".join(name.split()) in "".join("".join(words).split())
    assert max(map(len, words)) <= WIDEST_LINE
    assert not any("…" in word for word in words)


def test_lines_break_at_words_and_underscores_and_not_within_numbers() -> None:
    assert wrap("household_income_in_the_previous_year_usd ≤ 30,050") == [
        "household_income_in_the_", "previous_year_usd ≤", "30,050",
    ]  # fmt: skip
    words = words_of(plot_tree(stump(LONG, threshold=[-1.5e-9, np.nan, np.nan])))
    assert words[words.index("previous_year_usd") + 1] == "≤ -1.5e-09"


def test_a_category_is_never_cut() -> None:
    category = "married, spouse present in the household; " * 4
    X, y = pd.DataFrame({"marital_status_of_the_person": [category, "single"] * 8}), [0, 1] * 8
    words = words_of(plot_tree(SparseTreeClassifier(1, 0.01).fit(X, y)))
    assert "".join(category.split()) in "".join("".join(words).split())


def test_the_habits_of_scikit_learn_work() -> None:
    ax = plot_tree(stump(), feature_names=["Age in years"], class_names=["Untreated", "Treated"], filled=False)
    assert {"Age in years ≤ 2.5", "Treated"} <= set(words_of(ax))
    faces = {patch.get_facecolor() for patch in ax.patches if isinstance(patch, FancyBboxPatch)}
    assert faces == {(1.0, 1.0, 1.0, 1.0)}
    assert len({patch.get_facecolor() for patch in plot_tree(stump()).patches if isinstance(patch, FancyBboxPatch)}) > 1


def test_what_a_policy_gains_on_other_rows_can_be_told() -> None:
    rng = np.random.default_rng(0)
    X, treatment = rng.normal(size=(120, 1)), rng.integers(0, 2, 120)
    outcome = treatment * X[:, 0] + rng.normal(size=120)
    model = PolicyTree(1).fit(X, policy.doubly_robust(X, treatment, outcome, folds=2))
    found = policy.evaluate(model, X, treatment, outcome, folds=3)
    assert "in sample" in caption_of(plot_tree(model))
    assert caption_of(plot_tree(model, evaluation=found)).endswith(
        f"has not seen: {found.statement()[0].lower()}{found.statement()[1:]}"
    )
    assert "has not seen" not in caption_of(plot_tree(model))


def test_a_path_draws_itself() -> None:
    X, y = np.arange(12.0).reshape(-1, 1), np.array([0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0])
    path = regularization_path(X, y, max_depth=3)
    (line,) = path.plot().lines
    np.testing.assert_array_equal(line.get_xdata(), [point.leaves for point in path])
    np.testing.assert_array_equal(line.get_ydata(), [point.loss for point in path])
    _, ax = plt.subplots()
    assert path.plot(ax=ax) is ax


def test_a_lone_leaf_and_a_tree_of_costs() -> None:
    assert words_of(plot_tree(lone_leaf()))[0] == "yes"
    ax = plot_tree(stump(label_weights=None))
    assert not any("%" in word for word in words_of(ax))


def test_given_axes_are_used_and_the_words_shrink_to_fit() -> None:
    tree = full_tree(4)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    assert plot_tree(tree, ax=axes[1]) is axes[1]
    inside = axes[1].get_window_extent()
    for extent in box_extents(axes[1]):
        assert inside.x0 - 1 <= extent.x0 < extent.x1 <= inside.x1 + 1
        assert inside.y0 - 1 <= extent.y0 < extent.y1 <= inside.y1 + 1
    assert axes[1].texts[0].get_fontsize() < 8
    assert len(figure.axes) == 2


def test_missing_values_can_be_followed() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0], [np.nan], [np.nan]]), np.array([0, 0, 1, 1, 1, 1])
    right, left = (SparseTreeClassifier(1, 0.01).fit(X, labels) for labels in (y, np.array([0, 0, 1, 1, 0, 0])))
    assert [word for word in words_of(plot_tree(right)) if "missing" in word] == ["no or\nmissing"]
    assert [word for word in words_of(plot_tree(left)) if "missing" in word] == ["x0 ≤ 0.5 or missing"]
    for drawn in (plot_tree(right), plot_tree(left)):
        drawn.figure.canvas.draw()
        yes, no = (text.get_window_extent() for text in drawn.texts if text.get_text()[:2] in ("ye", "no"))
        assert not yes.overlaps(no)


def test_a_limit_is_told() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.repeat([0, 1], 4)
    model = SparseTreeClassifier(1, 0.01).fit(X, y)
    model.certificate_ = model.certificate_ | {"status": "time_limit", "gap": 0.0125}
    assert caption_of(plot_tree(model)).endswith(
        "the best found among all trees of depth at most 1; stopped by the time limit, gap 0.0125"
    )


def test_a_policy_tells_its_reward() -> None:
    model = PolicyTree(1).fit([[0.0], [1.0]], [[20000.0, 1.0], [3.0, 40000.0]])
    caption = caption_of(plot_tree(model))
    assert caption.startswith("mean reward 30,000 in sample · 2 leaves")
    assert caption.endswith("proved optimal among all policy trees of depth at most 1")
    values = model.certificate_["policy"] | {"gap": 1000.0}
    model.certificate_ = model.certificate_ | {"status": "time_limit", "policy": values}
    assert "stopped by the time limit, gap 1,000" in caption_of(plot_tree(model))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"certree\[plot\]"):
        plot_tree(stump())


# Sets of good trees --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good() -> TreeSet:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, 200), "town": rng.choice(["a", "b", "c"], 200), "noise": 0.5})
    y = np.where((X["age"] > 40) ^ (rng.random(200) < 0.15), "yes", "no")
    return good_trees(X, y, tolerance=0.02, max_depth=2, regularization=0.01)


def test_columns_show_shares_and_prices(good: TreeSet) -> None:
    left, right = plot_columns(good)
    facts = {fact.column: fact for fact in good.columns()}
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[0] == "age"
    assert sorted(names) == sorted(facts)
    assert [bar.get_width() for bar in left.patches] == pytest.approx([100 * facts[name].share for name in names])
    assert [bar.get_width() for bar in right.patches] == pytest.approx([facts[name].price for name in names])
    assert f"{good.count} good trees" in left.get_xlabel()
    assert "nothing" in words_of(right)


def test_a_column_of_the_start_is_always_asked() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (60, 2)), rng.integers(0, 2, 60)
    left, right = plot_columns(good_trees(X, y, tolerance=0.01, max_depth=2, start="x1 <= 1"))
    assert left.get_yticklabels()[0].get_text() == "x1"
    assert "always asked" in words_of(right)


def test_cuts_stand_where_their_rows_are(good: TreeSet) -> None:
    ax = plot_cuts(good)
    cuts = good.cuts()
    marks = sorted(float(line.get_segments()[0][0][0]) for line in ax.collections if len(line.get_segments()) == 1)
    drawn = sorted(100 * cut.share for cut in cuts)
    assert set(np.round(drawn, 9)) <= set(np.round(marks, 9))
    assert {label.get_text() for label in ax.get_yticklabels()} == {cut.column for cut in cuts}
    ages = [cut.threshold for cut in cuts if cut.column == "age"]
    assert any(f"{min(ages):g} to {max(ages):g}" in words for words in words_of(ax))


def test_pictures_of_a_set_have_room_for_long_names_and_categories() -> None:
    rng = np.random.default_rng(0)
    words = ["a category with quite a long name of its own", "another one, which is about as long as that"]
    X = pd.DataFrame({f"{LONG}_{place}": rng.normal(size=200) for place in range(3)})
    X["region_of_the_household_in_the_first_year"] = rng.choice(words, 200)
    y = (X[f"{LONG}_0"] > 0) ^ (X["region_of_the_household_in_the_first_year"] == words[0])
    trees = good_trees(X, y, tolerance=0.02, max_depth=2, thresholds=5)
    cuts = plot_cuts(trees)
    assert f"== '{words[0]}'" in " ".join(" ".join(words_of(cuts)).split())
    assert not any(re.search(r"\.\d{6}", text) for text in words_of(cuts))
    for axes in ([cuts], list(plot_columns(trees)), [plot_agreement(trees, random_state=0)], plot_trees(trees)):
        figure = axes[0].figure
        figure.canvas.draw()
        for ax in axes:
            for text in (*ax.texts, ax.title, *(ax.get_yticklabels() if ax.axison else ())):
                own = text.get_window_extent()
                assert not text.get_text() or (own.x0 >= 0 and own.x1 <= figure.bbox.width), text.get_text()
    titles = [ax.title.get_window_extent() for ax in axes]
    assert not any(one.overlaps(two) for one, two in pairwise(titles))


def test_curves_and_weights_have_room_for_long_names() -> None:
    rng = np.random.default_rng(0)
    spends, rewards = {0: 0, 1: 1}, np.column_stack([np.zeros(60), rng.normal(size=60)])
    curve = policy.budget_curve(rng.normal(size=(60, 1)), rewards, spends=spends, max_depth=1)
    group = rng.choice([f"{LONG}_{place}" for place in range(4)], 200)
    along, up = "mean spend per person and month, in dollars of the year 2024", "mean " * 15
    for ax in (plot_budget_curve(curve, names=(along, up)), balance(group).plot()):
        figure = ax.figure
        figure.canvas.draw()
        legend = ax.get_legend()
        for text in filter(
            lambda text: text.get_text(), (ax.xaxis.label, ax.yaxis.label, ax.title, *legend.get_texts())
        ):
            own = text.get_window_extent()
            assert own.x0 >= 0
            assert own.x1 <= figure.bbox.width
            assert own.y0 >= 0
            assert own.y1 <= figure.bbox.height
    assert legend.get_window_extent().x0 >= ax.get_window_extent().x1  # no bar is hidden


def test_agreement_counts_every_row_once(good: TreeSet) -> None:
    ax = plot_agreement(good, n=200, random_state=0)
    heights = [bar.get_height() for bar in ax.patches]
    assert sum(heights) == good.problem.n_rows
    assert heights[-1] == good.rows().is_agreed.sum()
    assert "proved" in words_of(ax)[0]


def test_trees_stand_side_by_side_and_differences_are_marked(good: TreeSet) -> None:
    axes = plot_trees(good, most=3)
    assert len(axes) == min(3, len(good.handful()))
    frames = [[patch.get_linewidth() for patch in ax.patches if isinstance(patch, FancyBboxPatch)] for ax in axes]
    assert max(frames[0]) < 2
    assert any(max(own) > 2 for own in frames[1:])
    axes[0].figure.canvas.draw()
    places = [ax.get_window_extent() for ax in axes]
    titles = [ax.title.get_window_extent() for ax in axes]
    for one, two in pairwise(places):
        assert one.x1 <= two.x0 + 1 or one.y0 >= two.y1 - 1
    for one, two in pairwise(titles):
        assert not one.overlaps(two)
    assert "rows decided otherwise" in axes[1].get_title()
    alone = plot_trees(good, [good.best])
    assert alone[0].get_title() == f"objective {good.best.objective:.4g}"
    with pytest.raises(ValueError, match="no tree to draw"):
        plot_trees(good, [])


def test_a_lone_leaf_has_nothing_to_cut() -> None:
    trees = good_trees([[0], [1], [0], [1]], [0, 0, 0, 1], tolerance=0.0, max_depth=0)
    assert "asks nothing" not in plot_cuts(trees).get_title()
    assert plot_cuts(trees).get_title() == "no good tree asks anything"
    assert plot_agreement(trees, n=5, random_state=0).patches[-1].get_height() == 4
