"""`report`: gathers what is known of a fitted tree and writes the page."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from certree.page.gather import Gatherer
from certree.page.given import Given, check_names, read_given
from certree.page.naming import rename_actions
from certree.page.plain import Leaf, Words, column_data, find_binary, isolate, label_data, tree_data
from certree.page.sections import (
    View,
    capital,
    estimate_text,
    find_chosen,
    number,
    show_data,
    show_decision,
    show_front,
    show_others,
    show_proof,
    show_question,
    show_tree,
    show_worth,
)
from certree.path import RegularizationPath
from certree.policy.budget_set import BudgetPolicy
from certree.policy.curve import BudgetPoint
from certree.policy.evaluation import Evaluation
from certree.policy.path import PolicyPath
from certree.solver import SearchInterrupted
from certree.tree import Tree
from certree.tree.words import hidden_text, path_text, reward_text, share_of_label, share_text
from certree.tree_set import GoodTree
from certree.writing import check_writable, replace_file

LEAST_OTHERS, MOST_OTHERS = 3, 6
"""Good trees that are shown side by side."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What a browser may do with the page: nothing that leaves it."""


def report(
    model: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    path: str | Path = "report.html",
    log: Any = None,
    evaluation: Any = None,
    spends: Any = None,
    control: Any = None,
    group: Any = None,
    title: str | None = None,
    notes: str | None = None,
    licence: str | None = None,
    names: Mapping[str, str] | None = None,
    labels: Mapping[Any, Any] | None = None,
    units: Mapping[str, str] | None = None,
    reward_unit: str | None = None,
    noun: str = "rows",
    tolerance: float | None = None,
    folds: int = 5,
    time_limit: float = 60.0,
    random_state: Any = 0,
    hide_below: int | None = None,
    verbose: int = 0,
) -> Path:
    """Write one self-contained HTML page about a fitted tree: what to do, for whom, what it is worth, what was proved.

    Parameters
    ----------
    model : SparseTreeClassifier, SparseTreeCV or PolicyTree
        Fitted.
    X, y, sample_weight :
        What it was fitted on. For a policy `y` is the rewards or Scores; a `policy.Log` may stand in the place of `y`
        or of `X`, and the rewards are then made from it.
    path : str or Path, default="report.html"
        Where the page is written; a file that is there is replaced, as a whole or not at all.
    log : policy.Log, default=None
        With rewards: the log of decisions that they come from, which the value of a policy on rows that it has not
        seen depends on.
    evaluation : Evaluation or LossEvaluation, default=None
        Made before, by `policy.evaluate` or `certree.evaluate`. None: made here, where the data allow it.
    spends, control :
        Of a policy with a budget, as in `PolicyTree.fit`.
    group : array of n values, default=None
        A sensitive group of each row, for rates and worth by group: of a policy on held-out rows, of a classifier in
        sample.
    title, notes, licence : str, default=None
        The heading, without which a classifier's page names the column of `y`; your own text about intended use and
        limits, as Markdown; the licence of the data.
    names, labels, units : mappings, default=None
        What columns and labels are called on the page, by their own names, and the units of numeric columns.
    reward_unit : str, default=None
        The unit of a policy's rewards, such as "dollars".
    noun : str, default="rows"
        What the rows are: "people", "loans".
    tolerance : float, default=None
        How much worse than the best a tree may be to count as good. None: 0.01, or for a policy a twentieth of its
        gain in sample over the best single action.
    folds : int, default=5
        Of what is judged on held-out rows.
    time_limit : float, default=60.0
        Seconds for what has to be computed. A section for which there is no time says so.
    random_state : int, RandomState instance or None, default=0
        How rows fall into folds.
    hide_below : int or None, default=None
        Figures of leaves, groups and bars with fewer rows are not shown, because they could reveal a person; nor are
        figures from which these could be worked out; see `Tree.veiled`. Each tree of the page is veiled by itself.
    verbose : int, default=0
        1 shows a progress bar that says what is being computed.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    TypeError
        If the model is none of these.
    ValueError
        If it is not fitted, if labels or rewards are missing, or if a column that is named is not one of the tree's.
    OSError
        If the page cannot be written; that is found out before anything is computed.
    KeyboardInterrupt
        If Ctrl-C is pressed; no page is written then.

    Examples
    --------
    >>> import certree
    >>> table = certree.datasets.make_weighted(200, 3, random_state=0)
    >>> model = certree.SparseTreeClassifier(2).fit(table.data, table.target)
    >>> path = certree.report(model, table.data, table.target, path="report.html", noun="cases")
    >>> path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    if not (isinstance(time_limit, (int, float)) and time_limit >= 0 and math.isfinite(time_limit)):
        raise ValueError(f"time_limit must be a finite number of seconds of at least 0, not {time_limit!r}")
    path = Path(path)
    check_writable(path)
    given = read_given(
        model, X, y, sample_weight, log=log, evaluation=evaluation, spends=spends, control=control, group=group,
        folds=folds, tolerance=tolerance, random_state=random_state,
    )  # fmt: skip

    def rename(tree: Tree) -> Tree:
        return tree.renamed(names, labels).veiled(hide_below)

    tree = rename(given.model.tree_)
    check_names(tree)
    own_units = _name_units(given, tree, units or {})
    with one_press_ends_all():
        parts = Gatherer(given, float(time_limit), verbose=verbose).run()
    if isinstance(parts.evaluation, Evaluation):
        parts.evaluation = rename_actions(
            parts.evaluation, dict(zip(given.model.tree_.labels, tree.labels, strict=True))
        )
    words = Words(own_units, find_binary(tree, given.table) - set(own_units))
    view = View(given, parts, tree, words, noun, rename, hide_below, reward_unit or "")
    replace_file(path, make_page(view, title, notes, licence).encode("utf-8"))
    return path


@contextmanager
def one_press_ends_all() -> Iterator[None]:
    """Ctrl-C ends one search with the best that it has, and a page makes many: the others would go on for a minute."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchInterrupted)
        try:
            yield
        except SearchInterrupted as stopped:
            raise KeyboardInterrupt from stopped


def _name_units(given: Given, tree: Tree, units: Mapping[str, str]) -> dict[str, str]:
    """Units by the names that the page shows."""
    own = {column.name: shown.name for column, shown in zip(given.model.tree_.columns, tree.columns, strict=True)}
    unknown = [name for name in units if name not in own]
    if unknown:
        raise ValueError(f"units: the tree has no column {unknown[0]!r}; its columns are {', '.join(own)}")
    return {own[name]: str(unit) for name, unit in units.items()}


# The page -----------------------------------------------------------------------------------------------------------


def make_page(
    view: View,
    title: str | None,
    notes: str | None,
    licence: str | None,
) -> str:
    """The whole document."""
    heading = title or ("Who gets which action" if view.is_policy else name_page(getattr(view.given.y, "name", None)))
    sections = {
        "decision": ("The decision", show_decision(view)),
        "the-tree": ("The tree", show_tree(view)),
        "question": ("Ask it", show_question(view)),
        "front": ("Simpler or finer", show_front(view)),
        "good": ("Other trees as good", show_others(view)),
        "proof": ("The proof", show_proof(view)),
        "worth": ("What it is worth", show_worth(view)),
        "rows": ("Data and weights", show_data(view)),
        "use": ("Use", show_use(notes, licence)),
    }
    own = files("certree.page")
    style, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    links = "".join(f'<li><a href="#{name}">{head}</a></li>' for name, (head, _) in sections.items())
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-head"><h2 id="{name}-head">{head}</h2>{content}</section>'
        for name, (head, content) in sections.items()
    )
    data = json.dumps(make_data(view), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="certree {version("certree")}">'
        f"<title>{escape(heading)}</title><style>{style}</style></head><body>"
        f'<header><h1>{escape(heading)}</h1><nav aria-label="Sections"><ol>{links}</ol></nav></header>'
        f"<noscript><section><h2>The tree as text</h2><pre>{escape(str(view.tree))}</pre></section></noscript>"
        f"<main>{body}</main>"
        # A name may hold anything, also the end of a script.
        f'<script type="application/json" id="data">{data.replace("<", chr(92) + "u003c")}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def name_page(target: Any) -> str:
    """The heading of a page about a classifier whose author has given none: it says what the answers are about."""
    named = isinstance(target, str) and target
    return f"{isolate(target)}: a decision tree and its proof" if named else "A decision tree and its proof"


def show_use(notes: str | None, licence: str | None) -> str:
    """The author's own words, and where the page comes from."""
    text = render_notes(notes) if notes else "<p>The author of this page has not said what it is meant for.</p>"
    terms = "" if licence is None else f"<p>Licence of the data: {escape(licence)}.</p>"
    made = f"<p>Written on {date.today().isoformat()} by certree {escape(version('certree'))}.</p>"
    return text + terms + made


def render_notes(notes: str) -> str:
    """Markdown as HTML, without raw HTML and pictures: nothing that runs, and nothing that has to be fetched."""
    from markdown_it import MarkdownIt  # a tenth of a second, which pages without notes do not wait for

    reader = MarkdownIt("commonmark", {"html": False}).disable("image")
    tokens = reader.parse(notes)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"  # below the heading of the section
    return str(reader.renderer.render(tokens, reader.options, {}))


def make_data(view: View) -> dict[str, Any]:
    """What the script draws and answers with: trees and aggregates, no rows."""
    tree, spends = view.tree, find_spends(view, view.given.model.tree_)
    return {
        "labels": label_data(tree),
        "columns": column_data(tree, view.given.table, view.words),
        "tree": tree_data(tree, view.words, partial(describe_own_leaf, view, spends)),
        "front": [{"text": text, "tree": other_tree_data(view, own)} for text, own in list_points(view)],
        "chosen": find_chosen(view),
        "others": list_others(view),
        "verb": "the action" if view.is_policy else "the answer",
    }  # fmt: skip


def other_tree_data(view: View, tree: Tree) -> list[dict[str, Any]]:
    """Any tree but the page's own, under the names of the table."""
    return tree_data(view.rename(tree), view.words, partial(describe_leaf, view, find_spends(view, tree)))


def find_spends(view: View, tree: Tree) -> dict[int, str]:
    """With a budget, what each leaf spends, in words: the amount of its action or, where that depends on the row, the
    mean over the leaf's rows. The tree has the names of the table."""
    stated, spends, weights = view.certificate.get("budget", {}).get("spends"), view.parts.spends, view.given.weights
    nodes = tree.leaves.tolist()
    if stated is not None:
        return {node: f"spends {number(float(stated[int(tree.label[node])]))} each" for node in nodes}
    if spends is None:
        return {}
    reached = tree.apply(view.given.table)
    sums = np.bincount(reached, weights * spends[np.arange(len(reached)), tree.label[reached]], tree.n_nodes)
    return {node: f"spends {number(float(sums[node] / tree.weight[node]))} each on average" for node in nodes}


def describe_leaf(view: View, spends: Mapping[int, str], tree: Tree, node: int) -> Leaf:
    """How many there are and what comes of the decision, of any tree of the page."""
    if hidden_text(tree, node):
        return Leaf([hidden_text(tree, node)])
    rows, noun = int(tree.rows[node]), view.noun if tree.rows[node] != 1 or view.noun != "rows" else "row"
    lines = [f"{rows:,} {isolate(noun)} ({share_text(rows / tree.rows[0])})"]
    share = share_of_label(tree, node)
    if share is not None:
        lines.append(f"right for {share_text(share)} of {'their weight' if view.by_weight else 'them'}")
    unit = f" {view.reward_unit}" if view.reward_unit else ""
    lines += [f"{text}{unit}, in sample" for text in [reward_text(tree, node)] if text]
    return Leaf([*lines, *(text for leaf, text in spends.items() if leaf == node)])


def describe_own_leaf(view: View, spends: Mapping[int, str], tree: Tree, node: int) -> Leaf:
    """The same of the page's own tree, with its table and, where there is one, the gain on held-out rows."""
    leaf, gain = describe_leaf(view, spends, tree, node), _held_out_gain(view, node)
    if hidden_text(tree, node):
        return replace(leaf, details=[(view.noun.capitalize(), hidden_text(tree, node))])
    rows = [(view.noun.capitalize(), f"{tree.rows[node]:,} ({share_text(tree.rows[node] / tree.rows[0])})")]
    if view.by_weight:
        rows.append(("Share of the weight", share_text(view.share(node))))
    if tree.label_weights is not None:
        own = tree.label_weights[node] / tree.label_weights[node].sum()
        rows += [(f"Of these, {label}", share_text(float(part))) for label, part in zip(tree.labels, own, strict=True)]
    if tree.rewards is not None:
        rows += [
            (f"{capital(view.reward)} of {label}, in sample", number(float(mean)))
            for label, mean in zip(tree.labels, tree.rewards[node], strict=True)
        ]
    rows += [(f"{capital(name)}, held out ({folds})", amount) for name, folds, amount in gain]
    return Leaf([*leaf.lines, *(f"{name}: {amount}, held out" for name, _, amount in gain)], rows)


def _held_out_gain(view: View, node: int) -> list[tuple[str, str, str]]:
    """Of the very same leaf, where some fold learned it too: over what, in how many folds, and the amount."""
    found, own = view.parts.evaluation, view.given.model.tree_
    if not isinstance(found, Evaluation) or view.tree.node_label(node) == found.control:
        return []
    text = path_text(own, node)
    return [
        (
            f"gain over {isolate(str(found.control))}",
            f"{leaf.folds} of {found.folds} folds have this group",
            estimate_text(leaf.gain),
        )
        for leaf in found.leaves
        if leaf.leaf == text and leaf.action == view.tree.node_label(node)
    ]


def list_points(view: View) -> list[tuple[str, Tree]]:
    """What the slider goes over, each with words: the trees of the front or, with a budget, of the curve."""
    front, curve = view.parts.front, view.parts.curve
    if front is not None:
        return [(describe_point(view, front, place), point.tree) for place, point in enumerate(front)]
    # A price is the slope between two trees of the curve, so it tells what one spends from what the other does.
    has_prices = all(view.shows_spend(point.tree) for point in curve or ())
    return [
        (describe_corner(view, place, point, has_prices=has_prices), point.tree)
        for place, point in enumerate(curve or ())
    ]


def describe_corner(view: View, place: int, point: BudgetPoint, *, has_prices: bool) -> str:
    """A tree of the budget curve in words."""
    worth = f"{view.reward} {number(point.value)} in sample, {_count_leaves(point.leaves)}"
    found, held, is_told = view.parts.held_out, "", view.shows_spend(point.tree)
    if found is not None and found.spend is not None:
        amount, error, spend = (float(values[place]) for values in (found.worth, found.error, found.spend))
        where = f", where it spends {number(spend)}" if is_told else ""
        held = f" Held out {number(amount)} (±\u00a0{number(error, 2)}){where}."
    prices = say_range(point.price_low, point.price_high)
    best = f" The best tree for a price per unit spent {prices}." if has_prices else ""
    spent = f"Spends {number(point.spend)} per row" if is_told else "What it spends is not shown"
    return f"{spent}: {worth}.{held}{best}{_say_status(point.status)}"


def describe_point(view: View, front: RegularizationPath, place: int) -> str:
    """A tree of the front in words."""
    point = front[place]
    measure = "wrong by weight" if view.by_weight else "wrong"
    worth = (
        f"{view.reward} {number(front.value(point))}"
        if isinstance(front, PolicyPath)
        else f"{share_text(point.loss)} {measure}"
    )
    found, held = view.parts.held_out, ""
    if found is not None:
        amount, error = float(found.worth[place]), float(found.error[place])
        shown = number(amount) if view.is_policy else f"{share_text(amount)} {measure}"
        held = f", held out {shown} (±\u00a0{number(error, 2) if view.is_policy else share_text(error)})"
    prices = say_range(point.regularization_low, point.regularization_high)
    head = f"{_count_leaves(point.leaves)}: {worth} in sample{held}."
    return f"{head} The best tree for a penalty λ per leaf {prices}.{_say_status(point.status)}"


def say_range(low: float, high: float) -> str:
    return f"above {low:.3g}" if math.isinf(high) else f"between {low:.3g} and {high:.3g}"


def _count_leaves(count: int) -> str:
    return f"{count} {'leaf' if count == 1 else 'leaves'}"


def _say_status(status: str) -> str:
    return "" if status == "optimal" else f" Its search ended early ({status.replace('_', ' ')})."


def list_others(view: View) -> list[dict[str, Any]]:
    """A handful of good trees that differ."""
    good = view.parts.good
    if good is None:
        return []
    found: list[tuple[str, GoodTree | BudgetPolicy]] = [*good.handful().items()][:MOST_OTHERS]
    known = [tree.tests for _, tree in found]
    # Where they are much alike, the next best ones.
    nearest: Sequence[GoodTree | BudgetPolicy] = good[: 2 * LEAST_OTHERS]
    for place, tree in enumerate(nearest):
        if len(found) < LEAST_OTHERS and tree.tests not in known:
            found.append((f"place {place + 1} of {good.count}", tree))
    return [
        {
            "text": f"{name_choice(view, words)}{_say_own(view, found[0][1], tree)}: "
            f"objective {number(tree.objective)}{_say_spend(view, tree)}",
            "tree": other_tree_data(view, tree.tree),
        }
        for words, tree in found
    ]


def _say_own(view: View, best: GoodTree | BudgetPolicy, tree: GoodTree | BudgetPolicy) -> str:
    """Which of the good trees is the page's own, and that the best one is no better: of trees that are equally good the
    search and the set may name different ones first."""
    if list_groups(tree.tree) == list_groups(view.given.model.tree_):
        return " (this page's own tree)"
    stated = view.certificate.get("policy", view.certificate)["objective"]
    is_as_good = math.isclose(tree.objective, stated, rel_tol=1e-9, abs_tol=1e-12)
    return " (exactly as good as this page's own tree)" if tree is best and is_as_good else ""


def list_groups(tree: Tree) -> list[tuple[str, str]]:
    """The questions that lead to each leaf, and its label: what makes two trees the same."""
    return [(path_text(tree, node), str(tree.node_label(node))) for node in tree.leaves.tolist()]


def _say_spend(view: View, tree: GoodTree | BudgetPolicy) -> str:
    if not (isinstance(tree, BudgetPolicy) and view.shows_spend(tree.tree)):
        return ""
    return f", spends {number(tree.spend)} per row"


def name_choice(view: View, words: str) -> str:
    """What makes a good tree different, with the names of the page: "asks age first", "without age", "4 leaves"."""
    kind, _, name = words.partition(" ")
    if kind == "root":
        return f"Asks {isolate(view.shown[name])} first"
    shown = isolate(view.shown[name]) if kind == "without" else name
    return capital(f"{kind} {shown}".strip())
