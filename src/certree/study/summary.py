"""The case study in words, for a terminal of a hundred columns.

Every sentence that says what was found is chosen by the figures; none is known beforehand.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from certree.export import export_text
from certree.policy import Estimate
from certree.study.case import ACTIONS, LABELS, METHODS, AlternativesRow, CaseStudy, PolicyRow, TreeRow, label_rows

WIDTH = 100
NORMAL_95 = 1.96
PLURALS = {"man": "men"}
LEAST_SHOWN = 5e-5
"""What a difference must be to show among four digits."""
RACE = ("black", "hispanic")
OPENING = "Whom to train?"
"""The first words of every summary."""


def summarise(case: CaseStudy) -> str:
    """The whole study in words, as `certree demo` prints it.

    Parameters
    ----------
    case : CaseStudy
        What `run` found.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If it is given something else.

    Examples
    --------
    >>> from certree import study
    >>> text = study.summarise(study.run(depths=[2], variations=[], repeats=1))
    >>> "722 men" in text
    True
    """
    sections = (
        ("", _say_what(case)),
        ("1  Effects", _say_effects(case)),
        ("2  Labels, and what a mistake costs", _say_labels(case)),
        (f"3  Trees, at a penalty of λ = {case.regularization:g} per leaf", _say_trees(case)),
        ("4  What the labels depend on", _say_sensitivity(case)),
        ("5  The same men as a policy", _say_policies(case)),
        ("6  What else would have been as good", _say_alternatives(case)),
        ("What is found", _say_findings(case)),
    )
    return "\n\n".join(f"{title}\n{'─' * len(title)}\n{text}" if title else text for title, text in sections)


def _say_what(case: CaseStudy) -> str:
    text = (
        f"{OPENING} The NSW experiment drew {int(case.treatment.sum())} of {case.table.n_rows} men at random "
        "for job training. What did the training do to each man's earnings in 1978, whom should a programme take, and "
        "how certain is the answer? This follows section 4 of the paper on weighted sparse trees."
    )
    if case.is_complete:
        return _wrap(text)
    return _wrap(text) + "\n\n" + _wrap("INTERRUPTED: this is what was found so far, and the rest is missing.")


def _say_effects(case: CaseStudy) -> str:
    effects, is_treated = case.rows.effects, case.treatment == 1
    difference = float(case.outcome[is_treated].mean() - case.outcome[~is_treated].mean())
    low, middle, high = map(_dollars, np.quantile(effects, [0.05, 0.5, 0.95]).tolist())
    lines = []
    if case.matching is None:
        lines.append("The effects were given, not estimated here.")
    else:
        matching = case.matching
        if matching.metric == "learned":
            repeats = "drawn once" if matching.n_repeats == 1 else f"drawn {matching.n_repeats} times"
            under = f"a metric learned on other men; {matching.n_splits} splits, {repeats}"
        else:
            under = "a metric that stretches every column by the same factor"
        lines.append(
            f"Matching after learning to stretch: the {matching.n_neighbors} nearest men of each arm under {under}, "
            f"seed {matching.random_state}."
        )
        stretches = sorted(case.stretches.items(), key=lambda item: -item[1])
        lines.append("Standardised columns are stretched by: " + ", ".join(f"{n} {s:.2f}" for n, s in stretches) + ".")
    lines.append(
        f"Mean effect: {_dollars(float(effects.mean()))} dollars (difference of the arms' means: "
        f"{_dollars(difference)}). 5%, 50% and 95% of the men are below {low}, {middle} and {high}."
    )
    if case.standard_errors is not None:
        lines.append(
            f"Median standard error of one man's effect: {_dollars(float(np.median(case.standard_errors)))} dollars. "
            f"Men whose label is certain at 95%: {_count_sure(case)} of {case.table.n_rows}."
        )
    return "\n".join(map(_wrap, lines))


def _say_labels(case: CaseStudy) -> str:
    where = ("below −5,000", "−5,000 to 2,000", "above 2,000")
    prices = ("200 + 3 · age", "100 + 3 · age", "300")
    rows = case.rows
    shares = np.bincount(rows.labels, rows.weights, minlength=len(LABELS)) / rows.weights.sum()
    table = [
        [LABELS[code], where[code], str(rows.counts[code]), prices[code], f"{shares[code]:.1%}"]
        for code in reversed(range(len(LABELS)))
    ]
    low, high, light, heavy = rows.costs.min(), rows.costs.max(), rows.weights.min(), rows.weights.max()
    note = (
        f"Costs of {low:g} to {high:g} are scaled to weights of {light:g} to {heavy:g}: the most expensive mistake "
        f"costs {high / low:.1f} times the cheapest and weighs {heavy / light:g} times as much."
    )
    header = ["label", "effect, dollars", "men", "cost of a mistake", "share of weight"]
    return _tabulate(header, table, "llrlr") + "\n\n" + _wrap(note)


def _say_trees(case: CaseStudy) -> str:
    lines = [
        _wrap(
            "loss: share of the weight that gets a wrong label; by cost: the same before scaling. No tree of the row's "
            "depth has an objective (loss + λ · leaves) below the lower bound; “proved optimal” is among all of them. "
            "CART may have as many leaves as direct; the paper's trees are as printed."
        ),
        "",
        _tabulate(
            ["depth", "tree", "leaves", "loss", "by cost", "objective", "lower bound", "", "seconds"],
            [_tree_cells(row) for row in case.trees],
            "rlrrrrrlr",
        ),
    ]
    confirmed = [row.is_confirmed for row in case.trees if row.is_confirmed is not None]
    lines += [
        "",
        f"Certificates recomputed from the raw rows, without the engine: {sum(confirmed)} of {len(confirmed)} hold.",
    ]
    depth = 3 if 3 in case.depths else case.depths[-1]
    best = case.pick(METHODS[0], depth)
    lines += ["", f"The tree of depth {depth} (direct):", "", export_text(best.model, digits=7)]
    return "\n".join(lines)


def _tree_cells(row: TreeRow) -> list[str]:
    names = {"printed": "the paper's", "constant": "one label for all"}
    status = {"given": "", "greedy": ""}.get(row.status, row.status.replace("_", " "))
    if row.status == "optimal":
        status = "proved optimal"
    return [
        str(row.max_depth), names.get(row.name, row.name), str(row.leaves), f"{row.loss:.4f}", f"{row.cost_loss:.4f}",
        f"{row.objective:.4f}",
        "" if row.lower_bound is None else f"{row.lower_bound:.4f}", status,
        "" if row.fit_seconds is None else f"{row.fit_seconds:.2f}",
    ]  # fmt: skip


def _say_sensitivity(case: CaseStudy) -> str:
    head = _wrap(
        "The effects under other settings of the same matching, and what they do to the labels (men with label 0, 1, "
        "2; same: share of men who keep the study's label). On those labels: the loss of one label for all, of the "
        "tree of depth 3 that the paper prints, and of the optimal one."
    )
    cells = []
    for row in case.sensitivity:
        own, is_learned = row.matching, row.matching.metric == "learned"
        cells.append(
            [
                str(own.n_neighbors), own.metric, str(own.n_splits) if is_learned else "–",
                str(own.n_repeats) if is_learned else "–", str(own.random_state) if is_learned else "–",
                "yes" if own.include_own else "no", *map(str, row.counts), f"{row.same_label:.0%}",
                f"{row.constant_loss:.3f}", f"{row.printed_loss:.3f}", f"{row.optimal_loss:.3f}",
            ]
        )  # fmt: skip
    header = [
        "k",
        "metric",
        "splits",
        "repeats",
        "seed",
        "own",
        "0",
        "1",
        "2",
        "same",
        "one label",
        "paper's",
        "optimal",
    ]
    return head + "\n\n" + _tabulate(header, cells, "rlrrrlrrrrrrr") if cells else "Left out."


def _say_policies(case: CaseStudy) -> str:
    if not case.policies:
        return "Left out."
    last = case.policies[-1]
    proved = last.model.certificate_.statement
    proved += f"; its certificate {'holds' if last.is_confirmed else 'is wrong'}"
    lines = [
        _wrap(
            "The same question without labels: an exact tree of depth 2 on doubly robust scores of earnings in 1978 "
            "minus the cost of the programme. In sample: judged by the scores that the tree was learned from. Honest: "
            "judged by men that neither the tree nor any model has seen "
            f"({last.evaluation.folds} folds, {_count(last.evaluation.repeats, 'repeat')}; 95% "
            "interval)."
        ),
        "",
        _tabulate(
            ["cost", "who gets the programme", "in sample", "honest mean, dollars per man", "over nobody, honest"],
            [cells for row in case.policies for cells in _policy_cells(row)],
            "rlrrr",
        ),
        "",
        _wrap(f"The tree at a cost of {last.cost:,.0f} ({proved}):"),
        "",
        export_text(last.model, digits=7, show_support=False),
    ]
    return "\n".join(lines)


def _policy_cells(row: PolicyRow) -> list[list[str]]:
    found, (nobody, everybody) = row.evaluation, ACTIONS
    return [
        [f"{row.cost:,.0f}", "nobody", _dollars(row.values[nobody]), _interval(found.fixed[nobody]), ""],
        ["", "everybody", _dollars(row.values[everybody]), _interval(found.fixed[everybody]),
         _interval(row.everybody.gain)],
        ["", "who the tree says", _dollars(row.values["the tree"]), _interval(found.value), _interval(found.gain)],
    ]  # fmt: skip


def _say_alternatives(case: CaseStudy) -> str:
    if not case.alternatives:
        return "Not looked at: the study was interrupted."
    note = (
        "All trees of the same depth and penalty, and all policies under the same limits, that are at most so much "
        "worse than the best one on these men. Found completely and counted, not sampled; “agree” are the men about "
        "whom all of them decide alike, and a column is needed by a tree that cannot be written without it."
    )
    rows = [
        [
            row.name,
            f"{row.tolerance:.3g}" if row.name == "tree" else f"{_dollars(row.tolerance)} dollars",
            str(row.trees.count),
            f"{row.agreed} of {case.table.n_rows}",
            ", ".join(fact.column for fact in row.columns if fact.is_needed) or "none",
            ", ".join(fact.column for fact in row.columns if fact.is_unused) or "none",
        ]
        for row in case.alternatives
    ]
    header = ["", "worse by at most", "how many", "agree", "needed by all", "used by none"]
    return _wrap(note) + "\n\n" + _tabulate(header, rows, "llrrll")


# What is found --------------------------------------------------------------------------------------------------------


def _say_findings(case: CaseStudy) -> str:
    found = [
        *_find_labels(case), *_find_trees(case), *_find_printed(case), *_find_policy(case), *_find_alternatives(case),
    ]  # fmt: skip
    return "\n".join(textwrap.fill(text, WIDTH, initial_indent="• ", subsequent_indent="  ") for text in found)


def _find_labels(case: CaseStudy) -> list[str]:
    parts = []
    if case.sensitivity:
        fewest, most = (pick(row.counts[0] for row in case.sensitivity) for pick in (min, max))
        same = min(row.same_label for row in case.sensitivity)
        parts.append(
            f"The labels depend on the matching settings: over {len(case.sensitivity)} of them, {fewest} to {most} men "
            f"are labelled “do not treat”, and as few as {same:.0%} of all keep the study's label."
        )
    if case.standard_errors is not None:
        parts.append(f"The 95% interval of the effect lies within one label for {_count_sure(case)} men.")
    parts.append("A certificate proves that a tree is best for its labels, not that the labels are right.")
    return [" ".join(parts)]


def _find_trees(case: CaseStudy) -> list[str]:
    direct = [case.pick(METHODS[0], depth) for depth in case.depths]
    best = min(direct, key=lambda row: row.objective)
    proved = [str(row.max_depth) for row in direct if row.status == "optimal"]
    compared = [row for row in direct if row.max_depth in case.compared_depths]
    worst = {
        name: max(case.pick(name, row.max_depth).objective - row.objective for row in compared)
        for name in ("duplicate", "sample", "CART")
        if compared
    }
    found = (
        f"The best tree found has {best.leaves} leaves and depth {best.model.depth_} and mislabels {best.loss:.1%} "
        f"of the weight; one label for all mislabels {_constant(case).loss:.1%}. "
    )
    if proved:
        found += f"Proved optimal: depth {_list(proved)}."
    else:
        found += "No tree was proved optimal in the time given."
    if not worst:
        return [found]
    names = {"duplicate": "duplicate", "sample": "sample", "CART": "CART with as many leaves"}
    above = [f"{amount:.4f} ({names[way]})" for way, amount in worst.items() if amount >= LEAST_SHOWN]
    equal = [names[way] for way, amount in worst.items() if amount < LEAST_SHOWN]
    others = [f"Other ways end above direct's objective, at worst by {_list(above)}."] if above else []
    others += [f"At every depth, {_list(equal)} ends with direct's objective."] if equal else []
    return [found, " ".join(others)]


def _find_printed(case: CaseStudy) -> list[str]:
    printed = [row for row in case.trees if row.name == "printed"]
    if not printed:
        return []
    constant = _constant(case)
    rows, total = case.rows, case.rows.costs.sum()
    constant_cost = 1 - max(rows.costs[rows.labels == code].sum() / total for code in range(len(LABELS)))
    worse = sum(row.loss > constant.loss for row in printed)
    worse_by_cost = sum(row.cost_loss > constant_cost for row in printed)
    zero, hit = _count_printed_zero(case, printed[-1])
    losses, costs = [row.loss for row in printed], [row.cost_loss for row in printed]
    of_all = f"of {_count(len(printed), 'tree')}"
    on_labels = (
        f"On these labels the paper's printed trees mislabel {_span(losses)} of the weight: {worse} {of_all} "
        f"{_is_or_are(worse)} worse than one label for all, at {constant.loss:.1%}. By the costs before scaling they "
        f"mislabel {_span(costs)}, and {worse_by_cost} {of_all} {_is_or_are(worse_by_cost)} worse than the best single "
        f"label, at {constant_cost:.1%}. They were made for the labels of another matching, which the paper does not "
        "publish."
    )
    on_zero = (
        f"Of the {zero} men whom the printed tree of depth {printed[-1].max_depth} would not treat, {hit} are labelled "
        "“do not treat” here."
    )
    return [f"{on_labels} {on_zero}"]


def _constant(case: CaseStudy) -> TreeRow:
    return next(row for row in case.trees if row.name == "constant")


def _count_printed_zero(case: CaseStudy, row: TreeRow) -> tuple[int, int]:
    given = row.model.label[row.model.apply(case.table)]
    return int(np.sum(given == 0)), int(np.sum((given == 0) & (case.rows.labels == 0)))


def _find_policy(case: CaseStudy) -> list[str]:
    texts = []
    for row in case.policies:
        terms = "If the programme were free" if row.cost == 0 else f"At {row.cost:,.0f} dollars per man"
        honest, who = row.evaluation.gain, f"These {case.table.n_rows} men show"
        if row.evaluation.has_gain:
            verdict = f"{who} a gain that can be learned."
        elif honest.low > 0:
            verdict = f"{who} a gain over treating nobody, but none over treating everybody."
        else:
            verdict = f"{who} no learnable gain over treating nobody."
        texts.append(
            f"{terms}, the best policy tree seems to gain {_dollars(row.gain_in_sample)} dollars per man over treating "
            f"nobody; on men that it has not seen it gains {_interval(honest)}. {verdict}"
        )
    return texts


def _find_alternatives(case: CaseStudy) -> list[str]:
    """How far the tree and the policy that are shown are the only answers."""
    texts = []
    for name, noun in (("tree", "trees"), ("policy", "policies")):
        known = [row for row in case.alternatives if row.name == name and row.trees]
        if not known:
            continue
        row = known[-1]
        within = f"{row.tolerance:.3g}" if name == "tree" else f"{_dollars(row.tolerance)} dollars per man"
        split = case.table.n_rows - row.agreed
        texts.append(
            f"{row.trees.count} {noun} are within {within} of the best one. They disagree about "
            f"{_count(split, 'man')}: what is decided there depends on which of them is taken."
        )
        texts += _find_race(row) if name == "tree" else []
    return texts


def _find_race(row: AlternativesRow) -> list[str]:
    """What it costs to leave a column out that a decision must not rest on."""
    facts = [fact for fact in row.columns if fact.column in RACE and not fact.is_unused]
    return [
        f"{fact.share:.0%} of these trees need the column {fact.column}; the best tree without it is "
        f"{f'{fact.price:.4f} worse' if fact.price > 0 else 'as good'}."
        for fact in facts
    ]


def _count_sure(case: CaseStudy) -> int:
    """Men whose effect, give or take 1.96 standard errors, has one label all over."""
    assert case.standard_errors is not None
    reach = NORMAL_95 * case.standard_errors
    low, high = (label_rows(case.table, case.rows.effects + sign * reach).labels for sign in (-1, 1))
    return int(np.sum(low == high))


# Words ----------------------------------------------------------------------------------------------------------------


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH)


def _dollars(amount: float) -> str:
    return f"{amount:,.0f}".replace("-", "−")


def _interval(estimate: Estimate) -> str:
    return f"{_dollars(estimate.value)} ({_dollars(estimate.low)} to {_dollars(estimate.high)})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else PLURALS.get(noun, noun + 's')}"


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"


def _span(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.1%}", f"{max(shares):.1%}"
    return low if low == high else f"{low} to {high}"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + "".join(words[-1:])


def _tabulate(header: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """A table of words; `sides` says l or r for each column."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = (
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
