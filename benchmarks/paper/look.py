"""What the rows say: means over splits by method and setting, and each claim of the paper held against them."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

Row = dict[str, str]
PAPERS = "direct, guessed"
"""What the paper draws as its own method."""
GREEDY = "CART"
DL85 = ("DL8.5", "DL8.5 (pytrees-rs)")
THEN = (GREEDY, *DL85)
"""Whom the paper compares its trees with."""
NO_FITS = ("weights", "printed")
NO_TREES = ("boosting", *NO_FITS)
OURS = ("direct", "duplicate", "sample", "rows")
ON_GUESSED = ("STreeD", "GOSDT", "LicketySPLIT", *DL85)
TOLERANCE = 1e-9
DIGITS = 2e-6
"""What six digits of a row leave open."""
LEAST_SECONDS = 1e-4
"""Shorter times are not told apart."""
ALMOST = 1.5
"""Half as long again is not almost the same time."""
SHOWN = {
    "lalonde": "Lalonde", "broward": "Broward", "coupon": "Coupon", "diabetes": "Diabetes", "compas": "COMPAS",
    "fico": "FICO", "netherlands": "Netherlands", "netherlands-20000": "Netherlands (20,000 rows)",
}  # fmt: skip
"""How sets are named in text."""


@dataclass(frozen=True)
class Point:
    """A method with its setting, over splits."""

    method: str
    setting: tuple[str, ...]
    mean: dict[str, float]
    error: dict[str, float]
    """Standard deviations over splits."""
    splits: int
    is_ended: bool
    """Whether a limit ended the search on some split."""


def number(row: Row, name: str) -> float:
    return float(row[name]) if row[name] else math.nan


def of(rows: Iterable[Row], **fields: str) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def names(rows: Iterable[Row], field: str) -> list[str]:
    return list(dict.fromkeys(row[field] for row in rows))


def has_tree(row: Row) -> bool:
    return bool(row["train"])


def is_ended(row: Row) -> bool:
    """Whether a limit ended the search, with a tree or without one."""
    return row["status"] in ("time_limit", "timeout", "memory")


def is_ours(method: str) -> bool:
    return method.partition(",")[0] in OURS


FIGURES = ("leaves", "train", "test", "cpu", "train_plain", "test_plain", "objective")


def average(rows: Iterable[Row], setting: tuple[str, ...] = ("depth", "penalty")) -> list[Point]:
    """One point per method and setting."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if has_tree(row):
            groups[(row["method"], *(row[name] for name in setting))].append(row)
    points = []
    for (method, *values), own in groups.items():
        found = {name: [number(row, name) for row in own if row[name]] for name in FIGURES}
        means = {name: statistics.fmean(them) if them else math.nan for name, them in found.items()}
        errors = {name: statistics.stdev(them) if len(them) > 1 else 0.0 for name, them in found.items()}
        points.append(Point(method, tuple(values), means, errors, len(own), any(map(is_ended, own))))
    return points


def seconds(row: Row) -> float:
    return max(number(row, "cpu"), LEAST_SECONDS)


def prepared(row: Row) -> float:
    """What the guess of thresholds and the reference model took, once per split."""
    return number(row, "prepare") if row["prepare"] else 0.0


def geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def signed(value: float, digits: int = 2) -> str:
    """With its sign, and without one where nothing is left of it."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{digits}f}") == 0.0 else text


# Claims ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """What the paper says, what is found, and whether that is the same."""

    paper: str
    found: str
    verdict: str
    """ "confirmed", "confirmed in part", "not confirmed" or "not measured"."""


def verdict(share: float, enough: float = 0.95, some: float = 0.6) -> str:
    if math.isnan(share):
        return "not measured"
    return "confirmed" if share >= enough else "confirmed in part" if share >= some else "not confirmed"


def same_settings(rows: list[Row], first: str, second: str) -> list[tuple[Row, Row]]:
    """Rows of two methods on the same set, split, depth and penalty; one without a penalty goes with every other's."""
    fields = ("set", "split", "depth", "penalty", "percent")
    has_penalty = any(row["penalty"] != "0" for row in of(rows, method=second))
    used = fields if has_penalty else ("set", "split", "depth", "percent")
    others = {tuple(row[name] for name in used): row for row in of(rows, method=second) if has_tree(row)}
    pairs = [(row, others.get(tuple(row[name] for name in used))) for row in of(rows, method=first) if has_tree(row)]
    return [(row, other) for row, other in pairs if other is not None]


def find_duplication(rows: list[Row]) -> Finding:
    paper = (
        "Duplicated rows are up to two orders of magnitude faster than weights used directly (8 s against 1,130 s on "
        "FICO), and faster as long as the duplicated table is less than 100 times the original."
    )
    own = [row for row in of(rows, study="duplication") if has_tree(row)]
    direct, copied = of(own, method="direct"), of(own, method="rows")
    if not direct or not copied:
        return Finding(paper, "Not measured yet.", "not measured")
    pairs = same_settings(own, "direct", "rows")
    ratios = [(seconds(one) / seconds(other), one["percent"]) for one, other in pairs]
    times = [seconds(row) for row in direct]
    slower = sum(ratio > 1.1 for ratio, _ in ratios)
    faster = "faster" if slower > len(ratios) / 2 else "not faster"
    flat = "whatever share is duplicated, as in the paper" if max(times) < ALMOST * min(times) else "over all shares"
    found = (
        f"At depth {' or '.join(names(direct, 'depth'))} and λ = {' or '.join(names(direct, 'penalty'))}, duplicated "
        f"rows are {faster}. The direct method takes {min(times):.2g} to {max(times):.2g} s {flat}. That is "
        f"{geometric(ratio for ratio, _ in ratios):.2f} times as long as duplicated rows by geometric mean, and more "
        f"than a tenth longer in {slower} of {len(ratios)} pairs. Equal rows are merged before the search, so that "
        "weights, counts and copies are the same search, and copies only take longer to read."
    )
    for rival in (name for name in names(own, "method") if not is_ours(name)):
        theirs = of(rows, study="duplication", method=rival)
        found += f" {rival}, which searches the guessed thresholds alone, {_say_growth(theirs)}."
    return Finding(paper, found, verdict(slower / len(ratios)))


def _say_growth(rows: list[Row]) -> str:
    """From how many seconds to how many a rival goes as far as it finishes every time, and where it does not."""
    shares = sorted({number(row, "percent") for row in rows})
    by_share = {share: [row for row in rows if number(row, "percent") == share] for share in shares}
    late = [share for share in shares if any(map(is_ended, by_share[share]))]
    done = [share for share in shares if not late or share < late[0]]
    words = []
    if done:
        ends = [f"{statistics.fmean(map(seconds, by_share[share])):.2g} s at {share:,.0f} %" for share in done]
        words.append(f"goes from {ends[0]} to {ends[-1]}" if len(done) > 1 else f"takes {ends[0]}")
    if late:
        words.append(f"does not always finish from {late[0]:,.0f} % on")
    return ", and ".join(words)


def find_leads(rows: list[Row], rival: str, figure: str, chosen_by: str = "train") -> list[tuple[Row, float]]:
    """Each of a rival's trees, and by how much it is ahead of the best of ours of no more leaves, on the same split.

    At most 0 where ours is as good; infinite where all of ours have more leaves. The best of ours is chosen by its
    training accuracy: whoever chooses by rows to be tested on is flattered by them.
    """
    trees: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in of(rows, study="trade-off", method=PAPERS):
        if has_tree(row):
            trees[row["set"], row["split"]].append(row)
    leads = []
    for row in of(rows, study="trade-off", method=rival):
        own = trees.get((row["set"], row["split"]))
        if has_tree(row) and own:
            fit = [tree for tree in own if number(tree, "leaves") <= number(row, "leaves")]
            best = max(fit, key=lambda tree: (number(tree, chosen_by), -number(tree, "leaves")), default=None)
            leads.append((row, math.inf if best is None else number(row, figure) - number(best, figure)))
    return leads


def tree_rivals(rows: list[Row]) -> list[str]:
    found = names(of(rows, study="trade-off"), "method")
    return [method for method in found if not is_ours(method) and method not in NO_TREES]


def find_sparsity(rows: list[Row], figure: str) -> Finding:
    where = "training" if figure == "train" else "test"
    paper = {
        "train": "The paper's trees achieve the highest training accuracy for every level of sparsity.",
        "test": "The paper's trees also achieve the highest test accuracy for almost every level of sparsity.",
    }[figure]
    leads = {rival: own for rival in tree_rivals(rows) if (own := find_leads(rows, rival, figure))}
    if not leads:
        return Finding(paper, "Not measured yet.", "not measured")
    equalled = {rival: sum(lead <= TOLERANCE for _, lead in own) for rival, own in leads.items()}
    beaten, total = sum(equalled.values()), sum(map(len, leads.values()))
    leading = [(row, lead) for own in leads.values() for row, lead in own if TOLERANCE < lead < math.inf]
    ahead = [lead for _, lead in leading]
    smaller = total - beaten - len(ahead)
    words = "; ".join(f"{rival} {equalled[rival]} of {len(own)}" for rival, own in leads.items())
    found = (
        f"Of {total:,} trees of rivals, {beaten:,} ({beaten / total:.0%}) are equalled or beaten in {where} accuracy "
        f"by the tree of “{PAPERS}” that is the most accurate in training of those with no more leaves, on the same "
        f"split ({words})."
    )
    if smaller:
        found += f" {smaller} have fewer leaves than any of ours on their split."
    if ahead:
        late = _count_late(rows, leading)
        chance = "" if figure == "train" else "which of two trees does better on a fifth of the rows is partly chance; "
        ended = f"; for {late} of them, a limit ended our search at their depth" if late else ""
        found += (
            f" The other {len(ahead)} are ahead by {100 * statistics.median(ahead):.2f} points at the median and by "
            f"{100 * max(ahead):.1f} at most: {chance}our trees minimise error plus λ per leaf, so a tree of another "
            "size can be more accurate; ConTree and CART use thresholds that the guess has left out; imodels may grow "
            f"deeper trees{ended}."
        )
    found += " As in the paper's figures, ours are the best of more settings than the rivals'."
    if figure == "test":
        chosen = [lead for rival in leads for _, lead in find_leads(rows, rival, figure, chosen_by="test")]
        share = sum(lead <= TOLERANCE for lead in chosen) / total
        found += (
            f" If the best of ours were chosen by its test accuracy, as one reads a figure, it would be {share:.0%}."
        )
    return Finding(paper, found, verdict(beaten / total, 0.95 if figure == "train" else 0.85))


def _count_late(rows: list[Row], leading: list[tuple[Row, float]]) -> int:
    """How many leads are over searches of which a limit has ended one, on the same split at the same depth."""
    places = ("set", "split", "depth")
    late = {tuple(row[name] for name in places) for row in of(rows, study="trade-off", method=PAPERS) if is_ended(row)}
    return sum(tuple(row[name] for name in places) in late for row, _ in leading)


def find_time(rows: list[Row], figure: str) -> Finding:
    where = "training" if figure == "train" else "test"
    paper = (
        "CART is the fastest. Training times of the paper's method are almost the same, and it achieves the highest "
        f"{where} accuracy in almost all cases."
    )
    fields = find_fields(rows)
    if not fields:
        return Finding(paper, "Not measured yet.", "not measured")
    fastest = sum(seconds(field[GREEDY]) <= min(map(seconds, field.values())) for field in fields)
    ratio = geometric(seconds(field[PAPERS]) / seconds(field[GREEDY]) for field in fields)
    whole = geometric((seconds(field[PAPERS]) + prepared(field[PAPERS])) / seconds(field[GREEDY]) for field in fields)
    gain = statistics.fmean(number(field[PAPERS], figure) - number(field[GREEDY], figure) for field in fields)
    over_cart, over_then, over_all = (
        count_best(fields, figure, among) for among in ((GREEDY,), THEN, tuple(tree_rivals(rows)))
    )
    found = (
        f"On the same split, at the same depth and the smallest penalty, CART is the fastest of all in {fastest} of "
        f"{len(fields)} cells. “{PAPERS}” takes {ratio:.1f} times as long by geometric mean, or {whole:.0f} times with "
        f"the guess of thresholds, which is made once per split. Its {where} accuracy is at least CART's in "
        f"{over_cart} cells, {signed(100 * gain)} points on average; at least that of CART and of DL8.5, the paper's "
        f"rivals, in {over_then}; and at least that of every rival in {over_all}. DL8.5 minimises errors alone, "
        "without a penalty per leaf, and ConTree searches all thresholds."
    )
    parts = [verdict(fastest / len(fields), 0.85), verdict(over_then / len(fields), 0.85)]
    parts.append("confirmed" if ratio < ALMOST else "not confirmed")
    return Finding(paper, found, parts[0] if len(set(parts)) == 1 else "confirmed in part")


def find_fields(rows: list[Row]) -> list[dict[str, Row]]:
    """Trees of the paper's method and of all rivals, at the same depth on the same split, where CART is among them.

    At the smallest penalty: others trade accuracy for fewer leaves.
    """
    own = [row for row in of(rows, study="trade-off") if has_tree(row)]
    smallest = {name: _least_penalty(of(own, set=name, method=PAPERS)) for name in names(own, "set")}
    fields: dict[tuple[str, ...], dict[str, Row]] = defaultdict(dict)
    for method in (PAPERS, *tree_rivals(rows)):
        for row in of(own, method=method):
            if number(row, "penalty") in (0.0, smallest[row["set"]]):
                fields[row["set"], row["depth"], row["split"]][method] = row
    return [field for field in fields.values() if PAPERS in field and GREEDY in field]


def count_best(fields: list[dict[str, Row]], figure: str, among: tuple[str, ...]) -> int:
    """In how many fields the paper's method is at least as good as those rivals that are there."""
    return sum(
        number(field[PAPERS], figure) >= max(number(row, figure) for name, row in field.items() if name in among)
        - TOLERANCE
        for field in fields
    )  # fmt: skip


def _least_penalty(rows: list[Row]) -> float:
    return min((number(row, "penalty") for row in rows), default=math.nan)


def find_dl85(rows: list[Row]) -> Finding:
    paper = (
        "DL8.5 runs into its time limit (an hour) on all sets but Lalonde, and is therefore worse than CART and the "
        "paper's method."
    )
    own = [row for name in DL85 for row in of(rows, study="trade-off", method=name) if row["status"] != "missing"]
    if not own:
        return Finding(paper, "Not measured yet.", "not measured")
    ended = [row for row in own if is_ended(row)]
    depths = ", ".join(sorted({row["depth"] for row in own}))
    wrong = sum(row["status"] == "wrong" for row in own)
    found = (
        f"Two libraries have DL8.5. It runs into its limit of {number(own[0], 'limit'):g} s of processor time in "
        f"{len(ended)} of {len(own)} cells of depth {depths}{_where(ended)}, and finishes the others."
    )
    pairs = [pair for name in DL85 for pair in same_settings(of(rows, study="trade-off"), name, GREEDY)]
    if pairs:
        better = sum(number(one, "train") >= number(other, "train") - TOLERANCE for one, other in pairs)
        gain = signed(100 * statistics.fmean(number(one, "train") - number(other, "train") for one, other in pairs))
        found += (
            f" It is not worse than CART: at the same depth, its training accuracy is at least as high in {better} of "
            f"{len(pairs)} cells, {gain} points on average."
            if better > len(pairs) / 2
            else f" At the same depth, its training accuracy is at least CART's in {better} of {len(pairs)} cells."
        )
    fields = find_fields(rows)
    beside = [(field[name], field[PAPERS]) for field in fields for name in DL85 if name in field]
    if beside:
        better = sum(number(one, "train") >= number(other, "train") - TOLERANCE for one, other in beside)
        gain = signed(100 * statistics.fmean(number(one, "train") - number(other, "train") for one, other in beside))
        found += (
            f" Beside “{PAPERS}” at the smallest penalty, it is at least as high in {better} of {len(beside)} cells, "
            f"{gain} points on average: DL8.5 has no penalty per leaf, and "
            f"{statistics.fmean(number(one, 'leaves') for one, _ in beside):.0f} leaves on average where ours has "
            f"{statistics.fmean(number(other, 'leaves') for _, other in beside):.0f}."
        )
    if wrong:
        cells = "cell" if wrong == 1 else "cells"
        found += f" In {wrong} {cells} the tree of pytrees-rs makes more errors than the library states."
    return Finding(paper, found, verdict(len(ended) / len(own)))


def _where(rows: list[Row]) -> str:
    return f" (on {', '.join(SHOWN.get(name, name) for name in names(rows, 'set'))})" if rows else ""


WAYS = {"duplicate": "duplication", "sample": "sampling"}
LITTLE = 0.9
"""Of the time: more than a tenth must be saved to be called faster."""
CLOSE = 0.01
"""Of the optimum: what an objective may exceed it by and be called close."""


def find_ways(rows: list[Row]) -> Finding:
    paper = (
        "Weighted sampling is the fastest of the three ways but the least accurate; duplication is slower than "
        "sampling and faster than the direct method, without losing much accuracy."
    )
    own = of(rows, study="trade-off")
    words = []
    ratios: dict[str, float] = {}
    losses: dict[str, float] = {}
    for way in ("duplicate", "sample"):
        for tests in ("", ", guessed"):
            pairs = same_settings(own, way + tests, "direct" + tests)
            done = [(one, other) for one, other in pairs if "limit" not in one["status"] + other["status"]]
            if not done:
                continue
            ratio = geometric(seconds(one) / seconds(other) for one, other in done)
            gains = {
                name: 100 * statistics.fmean(number(one, name) - number(other, name) for one, other in done)
                for name in ("train", "test")
            }
            if tests:
                ratios[way], losses[way] = ratio, -gains["train"]
            words.append(
                f"“{way + tests}” takes {ratio:.2f} times as long as “direct{tests}” ({len(done)} cells that no limit "
                f"ended), with {signed(gains['train'])} points of training and {signed(gains['test'])} of test accuracy"
            )
    if not words:
        return Finding(paper, "Not measured yet.", "not measured")
    faster = [way for way, ratio in ratios.items() if ratio < LITTLE]
    slower = [WAYS[way] for way in ratios if way not in faster]
    told = []
    if faster:
        told.append(f"Over guessed thresholds, {' and '.join(WAYS[way] for way in faster)} save time")
    if slower:
        told.append(f"Over guessed thresholds, {' and '.join(slower)} save no time")
    is_worse = losses.get("sample", 0.0) > max(losses.get("duplicate", 0.0), 0.0)
    if losses:
        told.append(f"Sampling is {'' if is_worse else 'not '}the least accurate")
    is_ordered = ratios.get("sample", 0.0) < ratios.get("duplicate", 1.0)
    is_whole = len(faster) == len(ratios) and is_worse and is_ordered
    judged = "confirmed" if is_whole else "confirmed in part" if faster or is_worse else "not confirmed"
    return Finding(paper, ". ".join([*told, "; ".join(words)]) + ".", judged)


def find_sample_size(rows: list[Row]) -> Finding:
    paper = "The accuracy of weighted sampling increases with the size of the sample."
    own = of(rows, study="sample size")
    words, rising = [], []
    for name in names(own, "set"):
        means = {point.setting[0]: point.mean["train"] for point in average(of(own, set=name), ("percent",))}
        if len(means) > 1:
            ends = sorted(means, key=float)
            gain = 100 * (means[ends[-1]] - means[ends[0]])
            rising.append(gain > 0)
            words.append(f"{SHOWN.get(name, name)} {signed(gain)}")
    if not words:
        return Finding(paper, "Not measured yet.", "not measured")
    depths = " or ".join(sorted({row["depth"] for row in own}))
    found = (
        f"Training accuracy rises on {sum(rising)} of {len(rising)} sets. At depth {depths} and the smallest penalty, "
        f"its points from the smallest to the largest sample: {', '.join(words)}."
    )
    return Finding(paper, found, verdict(sum(rising) / len(rising), 0.99))


def find_reference(rows: list[Row]) -> Finding:
    paper = "A reference model's lower bounds make the search faster, and the tree stays close to optimal."
    own = of(rows, study="trade-off")
    words, ratios, is_close = [], [], []
    for tests in ("", ", guessed"):
        pairs = same_settings(own, f"direct{tests}, reference", f"direct{tests}")
        done = [(one, other) for one, other in pairs if "limit" not in one["status"] + other["status"]]
        if done:
            ratios.append(geometric(seconds(one) / seconds(other) for one, other in done))
            whole = geometric(
                (seconds(one) + prepared(one)) / (seconds(other) + prepared(other)) for one, other in done
            )
            changes = [number(one, "objective") - number(other, "objective") for one, other in done]
            is_close += [
                change <= CLOSE * number(other, "objective") for change, (_, other) in zip(changes, done, strict=True)
            ]
            words.append(
                f"“direct{tests}, reference” takes {ratios[-1]:.2f} times as long as “direct{tests}” ({len(done)} "
                f"cells that no limit ended), or {whole:.1f} times with the reference, which is fitted once per split, "
                "and its objective changes by "
                f"{signed(statistics.fmean(changes), 4)} on average and by {signed(max(changes), 4)} at most"
            )
    if not words:
        return Finding(paper, "Not measured yet.", "not measured")
    close = sum(is_close)
    words.append(f"in {close} of {len(is_close)} cells it is within a hundredth of the optimum")
    parts = {verdict(close / len(is_close), 0.85), "confirmed" if max(ratios) < LITTLE else "not confirmed"}
    return Finding(paper, "; ".join(words) + ".", parts.pop() if len(parts) == 1 else "confirmed in part")


def find_optimality(rows: list[Row]) -> Finding:
    paper = "The direct method finds a tree of least weighted error plus λ per leaf among those of its tests and depth."
    own = [row for row in of(rows, study="trade-off") if has_tree(row)]
    compared, beaten = 0, []
    for ours, others in (("direct", ""), ("direct, guessed", "guessed")):
        proved = {_place(row): number(row, "objective") for row in of(own, method=ours) if row["status"] == "optimal"}
        for row in own:
            # Those that are given the guessed tests, or all of them.
            is_asked = row["method"] != ours and (not others or others in row["method"] or row["method"] in ON_GUESSED)
            if is_asked and row["penalty"] != "0" and _place(row) in proved:
                compared += 1
                if number(row, "objective") < proved[_place(row)] - DIGITS:
                    beaten.append(f"{row['method']} on {' '.join(_place(row))}")
    if not compared:
        return Finding(paper, "Not measured yet.", "not measured")
    found = (
        f"In {compared:,} comparisons with a tree that certree has proved optimal, on the same rows, tests, depth and "
        f"λ, {len(beaten)} trees of others have a lower objective{': ' + '; '.join(beaten[:5]) if beaten else ''}. "
        "Objectives are recomputed from predictions."
    )
    return Finding(paper, found, "not confirmed" if beaten else "confirmed")


def _place(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in ("set", "split", "depth", "penalty"))


def count_outcomes(rows: list[Row]) -> dict[str, Counter[str]]:
    """How often each method ended how."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["method"] not in NO_FITS:
            counts[row["method"]][row["status"]] += 1
    return counts
