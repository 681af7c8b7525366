"""The sections of the page as HTML. Every name and every text of the user's is escaped, and set apart (`bdi`) so that
text written from right to left disturbs nothing around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from certree.certificate.words import make_html
from certree.page.charts import Series, draw_chart, draw_histogram
from certree.page.counting import describe_count
from certree.page.gather import Parts
from certree.page.given import Given
from certree.page.lots import draw_lots
from certree.page.plain import Words, conditions
from certree.policy.budget_set import BudgetSet
from certree.policy.curve import BudgetCurve
from certree.policy.evaluation import Estimate, Evaluation
from certree.policy.path import PolicyPath
from certree.problem import TOLERANCE
from certree.reading import describe_readings
from certree.selection.held_out import LossEvaluation
from certree.tree import Tree, find_hidden, format_number
from certree.tree.words import hidden_text, share_text
from certree.tree_set import TreeSet

MOST_RULES = 4
"""Groups that the opening sentence spells out; a tree with more is described by its size."""
MOST_BINS = 24
MOST_COLUMNS = 20
"""Columns that a sentence names."""


@dataclass(frozen=True)
class View:
    """What all sections share: the tree under the names that people read, and the parts."""

    given: Given
    parts: Parts
    tree: Tree
    words: Words
    noun: str
    rename: Callable[[Tree], Tree]
    """Gives any tree of the table the names of the page, and hides what is not to be shown."""
    hide_below: int | None = None
    """Figures of fewer rows are not shown."""
    reward_unit: str = ""

    @property
    def shown(self) -> dict[str, str]:
        """The names of columns on the page, by their own names."""
        own = zip(self.given.model.tree_.columns, self.tree.columns, strict=True)
        return {column.name: shown.name for column, shown in own}

    @property
    def is_policy(self) -> bool:
        return self.given.is_policy

    @property
    def certificate(self) -> Any:
        return self.given.model.certificate_

    @property
    def by_weight(self) -> str:
        """What is said of shares, unless all rows weigh the same."""
        return "" if self.given.fit_weight is None else ", by weight"

    @property
    def reward(self) -> str:
        """What rewards are called, as text."""
        return f"mean reward ({self.reward_unit})" if self.reward_unit else "mean reward"

    def label(self, place: int) -> str:
        return bdi(self.tree.labels[place])

    def hidden(self, counts: Sequence[int]) -> list[int]:
        """The places of counts that are not to be shown."""
        return [] if self.hide_below is None else find_hidden(counts, self.hide_below)

    def shows_spend(self, tree: Tree) -> bool:
        """Whether it may be said what a tree spends, which has the names of the table: where an action spends 1, that
        is the share of rows which get it, and so the size of a leaf that is not shown."""
        return self.hide_below is None or not any(self.rename(tree).hidden)

    @property
    def shows_own_spend(self) -> bool:
        """The same of the page's own tree."""
        return self.shows_spend(self.given.model.tree_)

    def share(self, node: int) -> float:
        return float(self.tree.weight[node] / self.tree.weight[0])


def bdi(text: Any) -> str:
    return f"<bdi>{escape(str(text))}</bdi>"


def paragraph(text: str, style: str = "") -> str:
    return f'<p class="{style}">{text}</p>' if style else f"<p>{text}</p>"


def absent(view: View, part: str) -> str:
    """Why a part is not there."""
    return paragraph(f"Not computed. {escape(view.parts.reasons.get(part, ''))}", "absent")


def show_alarm(text: str, details: Sequence[str]) -> str:
    listed = "".join(f"<li>{escape(detail)}</li>" for detail in details)
    return f'<div class="alarm" role="alert"><p><strong>{escape(text)}</strong></p><ul>{listed}</ul></div>'


def show_table(names: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Cells are HTML already."""
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        "<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}"><table><caption>{escape(caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def number(value: float, digits: int = 4) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e3 else format_number(value, digits)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def estimate_text(estimate: Estimate) -> str:
    return f"{number(estimate.value)} ({number(estimate.low)} to {number(estimate.high)})"


# 1: the decision ----------------------------------------------------------------------------------------------------


def show_decision(view: View) -> str:
    sentences = [describe_rule(view) + describe_own_spend(view), describe_worth(view)]
    verdict = view.parts.verdict
    alarm = "" if verdict is None or verdict.holds else show_alarm("The certificate does not hold for these data.", [])
    return alarm + "".join(paragraph(text, "lead") for text in sentences if text)


def describe_rule(view: View) -> str:
    """Who gets what, in one sentence where the tree is small enough for one."""
    tree = view.tree
    verb = "Give" if view.is_policy else "Answer"
    leaves = tree.leaves.tolist()
    if len(leaves) == 1:
        return f"{verb} everyone {strong(view, int(tree.label[0]))}: no question is worth asking."
    share: dict[int, float] = {}
    for node in leaves:
        share[int(tree.label[node])] = share.get(int(tree.label[node]), 0.0) + tree.rows[node] / tree.rows[0]
    if len(share) == 1:
        return f"{verb} everyone {strong(view, int(tree.label[leaves[0]]))}, whatever the answers are."
    rest = max(share, key=lambda place: (sum(int(tree.label[node]) == place for node in leaves), share[place]))
    told = [node for node in leaves if int(tree.label[node]) != rest]
    veiled = {int(tree.label[node]) for node in leaves if hidden_text(tree, node)}
    if len(told) > MOST_RULES:
        shares = enumerate_names(
            [
                f"{strong(view, place)} for {'some' if place in veiled else share_text(part)}"
                for place, part in sorted(share.items())
            ]
        )
        return (
            f"At most {tree.depth} questions sort all {escape(view.noun)} into {len(leaves)} groups; "
            f"{'the action' if view.is_policy else 'the answer'} is {shares}."
        )
    parts = []
    for place in dict.fromkeys(int(tree.label[node]) for node in told):
        own = [node for node in told if int(tree.label[node]) == place]
        rules = "; or ".join(" and ".join(map(escape, conditions(tree, node, view.words))) for node in own)
        size = "" if place in veiled else f" ({share_text(share[place])} of the {escape(view.noun)})"
        parts.append(f"{strong(view, place)} if {rules}{size}")
    return f"{verb} {'; '.join(parts)}. Everyone else gets {strong(view, rest)}."


def describe_own_spend(view: View) -> str:
    """What the policy spends on the rows at hand; empty where nothing limits or records it."""
    if not view.given.has_budget:
        return ""
    limit = f", out of a budget of {number(view.given.budget)}" if math.isfinite(view.given.budget) else ""
    if not view.shows_own_spend:
        return f" How much this policy spends per row{limit and limit + ','} is not shown."
    return f" This policy spends {number(view.certificate['budget']['spend'])} per row{limit}."


def strong(view: View, place: int) -> str:
    """A label that stands out from the sentence around it."""
    return f"<strong>{view.label(place)}</strong>"


def describe_worth(view: View) -> str:
    """Whether a gain is shown."""
    found, noun = view.parts.evaluation, escape(view.noun)
    if found is None:
        return f"What this is worth beyond the {noun} at hand is not known from this page."
    if isinstance(found, LossEvaluation):
        loss, constant = (share_estimate(own, found.level) for own in (found.loss, found.constant))
        return (
            f"On {noun} that it has not seen, {loss} of the answers are wrong{view.by_weight}. If everyone gets the "
            f"same answer, {constant} are wrong. {describe_gain(found)}"
        )
    return escape(found.statement()) + describe_unit(view)


def describe_gain(found: LossEvaluation) -> str:
    """Whether a tree is wrong less often than one answer for everyone. The difference of two shares has a unit of its
    own: "5%" would be read as a twentieth of the wrong answers."""
    if found.gain.low == found.gain.value == found.gain.high == 0:
        return "The tree is wrong exactly as often."
    amount = points_estimate(found.gain, found.level)
    if found.gain.low > 0:
        return f"The tree is wrong less often, by {amount}."
    return f"It is not shown that the tree does better: the difference in its favour is {amount}."


def describe_unit(view: View) -> str:
    return f" Rewards and gains are in {escape(view.reward_unit)}." if view.reward_unit else ""


def share_estimate(estimate: Estimate, level: float) -> str:
    """Such as "32.7% (95% interval: 31.6% to 33.8%)"."""
    ends = " to ".join(share_text(end) for end in (estimate.low, estimate.high))
    return f"{share_text(estimate.value)} ({100 * level:g}% interval: {ends})"


def points_estimate(estimate: Estimate, level: float) -> str:
    """A difference of two shares, such as "4.8 percentage points (95% interval: 1.7 to 7.8)"."""
    value, low, high = (points_text(share) for share in (estimate.value, estimate.low, estimate.high))
    return f"{value} percentage points ({100 * level:g}% interval: {low} to {high})"


def points_text(share: float) -> str:
    """A difference in percentage points, which keeps its sign where it is small."""
    points = 100 * share
    return f"{points:.1f}" if abs(points) >= 0.05 else format_number(points, 1)


def enumerate_names(names: Sequence[str], last: str = "and") -> str:
    """Such as "age, income and debt"."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# 2 to 5: what the script draws --------------------------------------------------------------------------------------


def show_tree(view: View) -> str:
    hint = (
        "Each question has two branches, yes and no. Choose a question to fold its branches, or a group at the end of "
        "a branch to see its figures. The path of the case in the form below is highlighted."
        if view.tree.n_leaves > 1
        else "One group alone: choose it to see its figures."
    )
    return (
        f'<p class="hint">{hint}</p>'
        '<div id="tree" class="tree wide" tabindex="0" role="region" aria-label="Questions and groups"></div>'
        '<div id="leaf" class="panel" role="status" hidden></div>'
    )


def show_question(view: View) -> str:
    if view.tree.n_leaves == 1:
        return paragraph("The tree asks nothing.")
    return (
        '<form id="ask" class="screen" autocomplete="off"></form><div id="answer" class="panel" role="status"></div>'
        '<p class="paper">The page answers questions about single cases on a screen.</p>'
    )


def show_front(view: View) -> str:
    front = view.parts.front
    if front is None and view.parts.curve is not None:
        text = "Every budget has a best tree of its own. The section on worth shows what each of them buys."
        slider = show_slider("Smaller or larger budget", len(view.parts.curve))
        return paragraph(text + _say_between(view, view.parts.curve)) + _compare_held_out(view) + slider
    if front is None:
        return absent(view, "curve" if view.given.has_budget else "front")
    figures = [front.value(point) if isinstance(front, PolicyPath) else 100 * point.loss for point in front]
    name = view.reward if view.is_policy else f"wrong answers in %{view.by_weight}"
    series = [
        Series(
            f"{name}, on the {view.noun} it was fitted on",
            "own",
            list(zip([p.leaves for p in front], figures, strict=True)),
        )
    ]
    found = view.parts.held_out
    if found is not None:
        unit = 1.0 if view.is_policy else 100.0
        points = list(zip([float(point.leaves) for point in front], (unit * found.worth).tolist(), strict=True))
        series.append(Series(f"{name}, held out (± one standard error)", "held", points, (unit * found.error).tolist()))
    whole = (
        "Each of these trees is the best for some penalty per leaf (λ): the higher the penalty, the smaller the tree."
        if front.is_optimal
        else "The search for these trees ended at its limit, so some may be missing: raise time_limit."
    )
    chart = draw_chart("Trees of every size", "leaves", name, series)
    return paragraph(whole) + chart + _compare_held_out(view) + show_slider("Smaller or larger", len(front))


def find_chosen(view: View) -> int:
    """Where the slider stands at first: at the tree of the page's λ, or at the last one that its budget pays for."""
    front, curve = view.parts.front, view.parts.curve
    if front is not None:
        return next(i for i, point in enumerate(front) if point is front.at(view.given.model.regularization))
    if curve is not None:
        return next((i for i, point in enumerate(curve) if point is curve.at(view.given.budget)), 0)
    return 0


def _compare_held_out(view: View) -> str:
    """Why the slider and the section on worth have two held-out figures of one tree: somebody who compares them must
    not think that one of them is wrong."""
    found, judged = view.parts.held_out, view.parts.evaluation
    if found is None:
        return paragraph(escape(view.parts.reasons["held_out"])) if "held_out" in view.parts.reasons else ""
    if judged is None:
        return ""
    if isinstance(judged, LossEvaluation):
        return paragraph(
            "Held out, each of these trees stands for one penalty from its range. The section on worth takes the "
            "penalty of this page's own tree, so its held-out figure may differ a little."
        )
    interval = "Its interval also counts what the folds have in common, which the standard errors here do not."
    if view.given.has_budget:
        same = (
            "Held out, each of these trees stands for one price of spending. The section on worth keeps the budget in "
            "every fold, so its held-out figure may differ."
        )
    elif number(judged.value.value) == number(float(found.worth[find_chosen(view)])):
        same = "The section on worth says more about this page's own tree."
    else:
        same = (
            "The trees here were judged with one division of the rows into folds. The evaluation in the section on "
            "worth was made separately, so its held-out figure of this page's own tree may differ."
        )
    return paragraph(f"{same} {interval}")


def _say_between(view: View, curve: BudgetCurve) -> str:
    """Why the slider does not begin at the page's own tree: a curve has only the trees that some price of spending
    makes best, and the best tree within a budget may lie between two of them."""
    if not is_between(view, curve):
        return ""
    spend = f", which spends {number(view.certificate['budget']['spend'])} per row," if view.shows_own_spend else ""
    return (
        " The slider holds those trees that are best at some price of spending. At first it stands at the last one "
        f"that this page's budget pays for. The page's own tree{spend} lies between them."
    )


def is_between(view: View, curve: BudgetCurve) -> bool:
    """Whether the page's own tree is none of the curve's."""
    spend = view.certificate["budget"]["spend"]
    return not math.isclose(spend, curve.at(view.given.budget).spend, rel_tol=1e-9, abs_tol=1e-12)


def show_slider(name: str, count: int) -> str:
    return (
        f'<div class="screen"><label for="slide">{escape(name)}</label> '
        f'<input id="slide" type="range" min="0" max="{count - 1}" value="0" step="1"></div>'
        '<p id="slid" role="status"></p><div id="slid-tree" class="tree wide" tabindex="0" role="region" '
        'aria-label="The tree at this place of the slider"></div>'
    )


def show_others(view: View) -> str:
    good = view.parts.good
    if good is None:
        return absent(view, "good")
    facts = good.columns(prices=False) if isinstance(good, TreeSet) else good.columns()
    noun = escape(view.noun)
    needed = [bdi(view.shown[fact.column]) for fact in facts if fact.is_needed]
    unused = [bdi(view.shown[fact.column]) for fact in facts if fact.is_unused]
    chosen = " This page chose that tolerance." if view.given.tolerance is None else ""
    objective = f"objective ({describe_objective(view)})"
    within = f"within {number(good.tolerance, 3)} of the best. This is proved"
    among = escape(view.certificate.scope)
    agreed, limit = share_text(good.rows().share_agreed), escape(view.parts.reasons.get("good", ""))
    if int(good.count) == 1 and good.count.is_exact:
        return paragraph(f"Among {among}, one tree alone has an {objective} {within}.{chosen} {limit}")
    sentences = [
        f"Among {among}, there are {escape(str(good.count))} whose {objective} is {within}, not sampled.{chosen}",
        describe_spends(view, good),
        f"All of them decide alike for {agreed} of the {noun}{view.by_weight}. For the rest, some decide otherwise.",
        f"All of them use {enumerate_names(needed)}." if needed else "No column is used by all of them.",
        f"None of them uses {name_columns(unused)}." if unused else "",
        limit,
    ]
    return "".join(paragraph(text) for text in sentences if text) + '<div id="others" class="others"></div>'


def describe_objective(view: View) -> str:
    """What trees are compared by: as the certificate's objective, in words."""
    penalty = view.certificate["regularization"]
    measure = "mean reward" if view.is_policy else f"share of wrong answers{view.by_weight}"
    return f"{measure}{', less' if view.is_policy else ', plus'} {penalty:g} per leaf" if penalty else measure


def name_columns(names: Sequence[str]) -> str:
    """Columns that no tree uses, or how many there are where nobody would read all of them."""
    return enumerate_names(names, "or") if len(names) <= MOST_COLUMNS else f"{len(names):,} of the columns"


def describe_spends(view: View, good: TreeSet | BudgetSet) -> str:
    """Whether as good a policy spends less."""
    if isinstance(good, TreeSet):
        return ""
    least, most = (choose(good, key=lambda policy: policy.spend) for choose in (min, max))
    if not (view.shows_spend(least.tree) and view.shows_spend(most.tree)):
        return ""
    limit = f", out of a budget of {number(good.budget)}" if math.isfinite(good.budget) else ""
    return f"They spend from {number(least.spend)} to {number(most.spend)} per row{limit}."


# 6: the proof -------------------------------------------------------------------------------------------------------


def show_proof(view: View) -> str:
    model, certificate, verdict = view.given.model, view.certificate, view.parts.verdict
    statement = escape(certificate.statement)
    seconds = format_number(model.fit_seconds_, 3)
    lines = [
        paragraph(f"This tree is <strong>{statement}</strong>.", "lead"),
        paragraph(describe_size(view) + f"The search took {seconds} s."),
    ]
    if verdict is None:
        lines.append(
            paragraph(f"The certificate was not checked again. {escape(view.parts.reasons.get('check', ''))}", "absent")
        )
    elif verdict.holds:
        lines.append(
            paragraph(
                "The certificate was checked against these data when this page was written, without the search engine: "
                "all figures of the tree hold. "
                + (
                    "Not recomputed, and taken on trust: " + escape("; ".join(verdict.trusted)) + "."
                    if verdict.trusted
                    else ""
                )
            )
        )
    else:
        lines.append(show_alarm("The certificate does not hold for these data:", verdict.failures))
    lines.append(make_html(certificate, view.tree.labels, shows_spend=view.shows_own_spend))
    digest = certificate.get("digests", {}).get("table")
    if digest is not None:
        lines.append(paragraph(f"The data are identified by their SHA-256: <code>{escape(digest)}</code>."))
    command = f'<code class="command">{show_command(view)}</code>'
    lines.append(paragraph(f"Anyone who has the model and the data can check this: {command}"))
    lines.append(
        "<h3>What is not proved</h3><ul>" + "".join(f"<li>{text}</li>" for text in _limits_of_proof(view)) + "</ul>"
    )
    return "".join(lines)


def show_command(view: View) -> str:
    """What checks the certificate. What actions spend is in it, unless that depends on the row: the command line has no
    word for that."""
    certificate, weight = view.certificate, view.given.sample_weight
    has_arms = view.is_policy and certificate["constraints"]["min_samples_arm"] > 0
    if view.given.has_budget and certificate["budget"]["spends"] is None:
        facts = ["rewards", "spends", *["arms"] * has_arms, *["sample_weight"] * (weight is not None)]
        given = ", ".join(f"{fact}=..." for fact in facts)
        words = f"certree.certify.check(model.certificate_, model.tree_, X, {given})"
    else:
        facts = [
            "rewards" if view.is_policy else "label",
            *["treatment"] * has_arms,
            *["weight"] * (weight is not None),
        ]
        given = " ".join(f"--{fact} ..." for fact in facts)
        words = f"certree verify model.json data.csv {given} --prove"
    return " ".join(f"<span>{escape(word)}</span>" for word in words.split())


def describe_size(view: View) -> str:
    """How many trees there are, where depth alone limits what can be written down."""
    certificate = view.certificate
    depth = certificate["constraints"]["max_depth"]
    if depth is None or view.given.is_edited:
        return ""
    return (
        f"The search could ask {certificate['sizes']['distinct_tests']:,} distinct questions. With these, "
        f"{describe_count(certificate, view.tree)} trees of depth at most {depth} can be written down. "
    )


def describe_gap(view: View) -> str:
    """What a search that did not finish, or that trusted a guess, leaves open."""
    gap = number(view.certificate.get("policy", view.certificate)["gap"], 3)
    return f"That this is the best tree within the limits named above: another may be better, by up to {gap}."


def _limits_of_proof(view: View) -> list[str]:
    noun = escape(view.noun)
    texts = [
        *([] if view.certificate["status"] == "optimal" else [describe_gap(view)]),
        f"That the data are right, or that other {noun} are like these.",
        "That a tree outside the limits named above could not do better.",
    ]
    if view.is_policy:
        texts.append(
            "That the rewards are right: where nobody drew lots, they rest on models of who got what and of its effect."
        )
    else:
        texts.append("That the answers in the data are the truth, or that a question causes what it goes with.")
    return texts


# 7: what it is worth ------------------------------------------------------------------------------------------------


def show_worth(view: View) -> str:
    found = view.parts.evaluation
    parts = [_show_policy_worth(view) if view.is_policy else _show_loss(view)]
    if found is None:
        parts.append(absent(view, "evaluation"))
    elif isinstance(found, Evaluation):
        parts.append(paragraph(escape(found.statement()) + describe_unit(view)))
        if found.groups:
            reward = escape(capital(view.reward))
            hidden = view.hidden([group.rows for group in found.groups])
            rows = [
                [bdi(group.group), "not shown", "", "", ""]
                if place in hidden
                else [
                    bdi(group.group),
                    f"{group.rows:,}",
                    ", ".join(f"{bdi(action)}: {share_text(rate)}" for action, rate in group.rates.items()),
                    estimate_text(group.value),
                    estimate_text(group.gain),
                ]
                for place, group in enumerate(found.groups)
            ]
            over = f"Gain over {bdi(found.control)}"
            names = ("Group", escape(capital(view.noun)), "Given", f"{reward}, held out", over)
            parts.append(show_table(names, rows, "Rates and worth by group"))
    return "".join(parts)


def _show_loss(view: View) -> str:
    found, model = view.parts.evaluation, view.given.model
    noun = escape(view.noun)
    rows = [[f"This tree, on the {noun} it was fitted on (too optimistic)", share_text(model.certificate_["loss"])]]
    if isinstance(found, LossEvaluation):
        rows += [
            [
                f"Trees fitted without the {noun} they are judged on ({found.folds} folds)",
                share_estimate(found.loss, found.level),
            ],
            ["One answer for everyone, held out", share_estimate(found.constant, found.level)],
            ["How many fewer are wrong than with one answer for everyone", points_estimate(found.gain, found.level)],
        ]
    table = show_table(("", f"Share of wrong answers{view.by_weight}"), rows, "How often it is wrong")
    return table + ("" if view.given.group is None else _show_groups(view))


def _show_groups(view: View) -> str:
    """What a classifier answers each group, and how often it is wrong there, on the rows that it was fitted on."""
    given, own = view.given, view.given.model.tree_
    leaf = own.apply(given.table)
    answer, truth = own.label[leaf], np.asarray(given.y).tolist()
    is_wrong = np.array([own.labels[place] != label for place, label in zip(answer.tolist(), truth, strict=True)])
    names, codes = np.unique([str(name) for name in np.asarray(given.group).tolist()], return_inverse=True)
    counts = np.bincount(codes, given.weights > 0, minlength=len(names)).astype(int).tolist()
    totals = np.bincount(codes, given.weights, minlength=len(names))
    hidden, rows = view.hidden(counts), []
    for code, name in enumerate(names.tolist()):
        if code in hidden or totals[code] == 0:
            rows.append([bdi(name), "not shown", "", ""])
            continue
        weights = np.where(codes == code, given.weights, 0.0) / totals[code]
        rates = np.bincount(answer, weights, minlength=len(own.labels)).tolist()
        said = ", ".join(f"{view.label(place)}: {share_text(rate)}" for place, rate in enumerate(rates))
        rows.append([bdi(name), f"{counts[code]:,}", said, share_text(float(weights @ is_wrong))])
    head = ("Group", escape(capital(view.noun)), f"Answers{view.by_weight}", f"Wrong{view.by_weight}, in sample")
    return show_table(head, rows, "Rates and errors by group")


def _show_policy_worth(view: View) -> str:
    found, model = view.parts.evaluation, view.given.model
    own, noun, note = model.certificate_, escape(view.noun), ""
    is_told = view.given.has_budget and view.shows_own_spend
    spent = f"; it spends {number(own['budget']['spend'])} per row" if is_told else ""
    rows = [
        [f"This policy, on the {noun} it was fitted on (too optimistic){spent}", number(own["policy"]["value"]), ""]
    ]
    if isinstance(found, Evaluation):
        # Where every fold learns the same leaf, the held-out spend tells its size as well.
        spent = f"; they spend {number(found.spend)} per row" if is_told and found.spend is not None else ""
        rows.append(
            [
                f"Policies learned without the {noun} they are judged on ({found.folds} folds){spent}",
                estimate_text(found.value),
                "",
            ]
        )
        note = describe_repeats(found)
        for action, fixed in found.fixed.items():
            name = f"Everyone: {bdi(action)}{say_beyond(found, action)}"
            rows.append([name, estimate_text(fixed), estimate_text(found.gains[action])])
        for baseline in found.baselines:
            if baseline.share < 1:
                text = baseline.describe(is_nobody=False)
                rows.append([escape(capital(text)), estimate_text(baseline.value), estimate_text(baseline.gain)])
        if found.budget is None:
            drawn = found.value.value - found.gain_over_random.value
            rows.append(["An action at random", number(drawn), estimate_text(found.gain_over_random)])
    names = ("", escape(capital(view.reward)), "Gain of the policy over it")
    return show_table(names, rows, "What it brings, and what else would") + note + show_budget(view)


def describe_repeats(found: Evaluation) -> str:
    """Why a gain is not the difference of two values: medians do not add up, unless they are of two and so means."""
    if found.repeats < 3:
        return ""
    random = " (for an action at random, the difference of two medians)" if found.budget is None else ""
    return paragraph(
        f"The folds were drawn {found.repeats} times. Each held-out figure is a median over these{random}, so a gain "
        "may differ a little from the difference of two values."
    )


def say_beyond(found: Evaluation, action: Any) -> str:
    """That an action for everyone breaks the budget: whoever sees that the policy does worse must see why."""
    spend = found.fixed_spends.get(action, 0.0)
    is_within = found.budget is None or spend <= found.budget * (1 + TOLERANCE)
    return "" if is_within else f" (spends {number(spend)} per row, which breaks the budget)"


def show_budget(view: View) -> str:
    curve = view.parts.curve
    if curve is None:
        return absent(view, "curve") if "curve" in view.parts.reasons else ""
    own, held = view.given.model.certificate_, view.parts.held_out
    # A point would tell what a tree spends to three digits.
    told = [place for place, point in enumerate(curve) if view.shows_spend(point.tree)]
    best = [(curve[place].spend, curve[place].value) for place in told]
    this = [(own["budget"]["spend"], own["policy"]["value"])] if view.shows_own_spend else []
    series = [
        Series("best policies for every budget, in sample", "own", best),
        Series("this policy, in sample", "this", this, is_line=False),
    ]
    if held is not None and held.spend is not None:
        points = sorted(
            (float(held.spend[place]), float(held.worth[place]), float(held.error[place])) for place in told
        )
        name = "the same, learned without the rows they are judged on (± one standard error)"
        series.append(Series(name, "held", [point[:2] for point in points], [point[2] for point in points]))
    lots = draw_lots(view.parts.fixed)
    names = [name_fixed(view, lot.action) for lot in lots]
    series.append(
        Series(
            "no policy: actions drawn by lot for everyone, in sample", "line", [lot[1:] for lot in lots], names=names
        )
    )
    drawn = [one for one in series if one.points]
    chart = draw_chart("What each budget buys", "mean spend per row", view.reward, drawn)
    rows = [
        [name_fixed(view, place, is_html=True), number(spend), number(value)]
        for place, spend, value in view.parts.fixed
    ]
    note = (
        "Whoever spends a budget without a policy can draw lots between the actions: on average that brings what the "
        "dashed line says. What a policy adds is its distance above that line, and only as far as it is there on "
        f"{escape(view.noun)} that it has not seen."
    )
    if len(told) < len(curve) or not this:
        note += " Policies whose spend is not shown are not drawn."
    elif own["status"] != "optimal":
        note += (
            " This policy may lie below the line of best policies: it is not proved best, and another may bring more "
            "within its budget."
        )
    elif is_between(view, curve):
        # A policy that is proved best must not seem to be beaten by the line.
        note += (
            " This policy may lie a little below the line of best policies: between two dots, that line is what "
            "drawing lots between their two policies brings."
        )
    if isinstance(view.parts.evaluation, Evaluation):
        # Somebody who compares the two tables must not think that one of them is wrong.
        note += (
            " In sample, actions are judged by the rewards that the policy was fitted on, and in the table above by "
            "rewards that were estimated anew without each fold, so the figures of one action differ a little."
        )
    table = show_table(
        ("", "Mean spend", f"{escape(capital(view.reward))}, in sample"), rows, "One action for everyone"
    )
    return paragraph("What each budget buys:") + chart + paragraph(note) + table


def name_fixed(view: View, place: int, *, is_html: bool = False) -> str:
    """Everyone gets one action; "nobody" where it is known that this action stands for that."""
    label, found = view.tree.labels[place], view.parts.evaluation
    is_nobody = isinstance(found, Evaluation) and found.is_control_nobody and found.control == label
    name = bdi(label) if is_html else str(label)
    return f"nobody ({name})" if is_nobody else f"everyone: {name}"


# 8 and 9: the data, and use -----------------------------------------------------------------------------------------


def show_data(view: View) -> str:
    sizes, weights = view.certificate["sizes"], view.given.weights
    positive = weights[weights > 0]
    relative = positive / positive.max()
    effective = float(relative.sum()) ** 2 / float((relative**2).sum())
    left_out = sizes["rows"] - sizes["rows_weighted"]
    rows = [
        ["Rows used", f"{sizes['rows_weighted']:,}"],
        ["Left out (weight zero)", f"{left_out:,}"],
        ["Distinct rows after merging", f"{sizes['merged_rows']:,}"],
        ["Total weight", number(float(positive.sum()))],
        ["Effective sample size", f"{effective:,.0f}"],
    ]
    parts = [show_table(("", "Number"), rows, "Rows and weights")]
    if view.hide_below is not None:
        parts.append(
            paragraph(
                f"Figures of fewer than {view.hide_below:,} {escape(view.noun)} are not shown on this page, and some "
                "others, from which these could be worked out."
            )
        )
    if positive.min() < positive.max():
        counts, edges = np.histogram(relative, bins=min(MOST_BINS, max(4, math.isqrt(len(positive)))))
        hidden = view.hidden(counts[counts > 0].tolist())
        counts[np.flatnonzero(counts)[hidden]] = 0
        parts.append(paragraph("How unequal the weights are:"))
        parts.append(draw_histogram("Histogram of the weights", "weight / largest", edges.tolist(), counts.tolist()))
    else:
        parts.append(paragraph("All rows weigh the same."))
    scores = view.parts.scores
    if scores is not None and scores.overlap:
        hidden = view.hidden([one.rows for one in scores.overlap])
        called = dict(zip(view.given.model.tree_.labels, view.tree.labels, strict=True))
        rows = [
            [bdi(called.get(one.action, one.action)), "not shown", "", "", ""]
            if place in hidden
            else [
                bdi(called.get(one.action, one.action)),
                f"{one.rows:,}",
                f"{one.effective_sample_size:,.0f}",
                format_number(one.smallest, 3),
                share_text(one.share_clipped),
            ]
            for place, one in enumerate(scores.overlap)
        ]
        names = ("Action", "Rows that got it", "Effective sample size", "Smallest chance", "Rows clipped")
        parts.append(show_table(names, rows, "Overlap: how much the data say about each action"))
    used = set(view.tree.column.tolist()) - {-1}
    listed = [
        [bdi(column.name) for place, column in enumerate(view.tree.columns) if (place in used) is wanted]
        for wanted in (True, False)
    ]
    parts.append(paragraph(f"Columns that the tree uses: {', '.join(listed[0]) or 'none'}."))
    unused = f"{', '.join(listed[1]) or 'none'}."
    parts.append(
        paragraph(f"Columns that it does not use: {unused}")
        if len(listed[1]) <= MOST_COLUMNS
        else f"<details><summary>{len(listed[1]):,} columns that it does not use</summary><p>{unused}</p></details>"
    )
    readings = getattr(view.given.model, "columns_", ())
    if readings:
        readings = [replace(reading, name=view.shown[reading.name]) for reading in readings]
        lines = escape("\n".join(describe_readings(readings)))
        parts.append(f"<details><summary>What each column was read as</summary><pre>{lines}</pre></details>")
    return "".join(parts)
