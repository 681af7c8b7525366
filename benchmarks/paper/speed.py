"""The paper's claims about time: copies of rows, the three ways to use weights, reference models.

Most fits take milliseconds, of which much is not search. So times are compared over all pairs of fits and over the long
ones, and searches that only one of the two has finished are counted, because a pair with one of them has no ratio.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.paper.look import (
    ALMOST,
    ALMOST_EVERY,
    CLOSE,
    LITTLE,
    MUCH,
    SHOWN,
    Finding,
    Row,
    combine,
    count,
    geometric,
    has_tree,
    is_ended,
    is_ours,
    judge,
    names,
    number,
    of,
    pair_up,
    prepared,
    same_settings,
    seconds,
    share_of,
    signed,
    unmeasured,
    verdict,
)
from benchmarks.report import table_head

LONG_SECONDS = 0.1
"""What the two fits of a long pair take, by geometric mean: the same pairs whichever of the two is named first."""
TABLE = (
    f"Long pairs take at least {LONG_SECONDS:g} s. In the table, times are multiples of those of the search beside it, "
    "by geometric mean over the pairs that both have finished, with their number in brackets."
)
HALF = 0.5
TESTS = {"": "all thresholds", ", guessed": "guessed thresholds"}
WAYS = {"duplicate": "duplication", "sample": "sampling"}
Pairs = list[tuple[Row, Row]]


@dataclass(frozen=True)
class Race:
    """The times of two methods on the same problems."""

    first: str
    second: str
    done: Pairs
    """What both have finished."""
    first_alone: int
    """How many searches a limit has ended for the second method only."""
    second_alone: int

    @property
    def long(self) -> Pairs:
        return [(one, other) for one, other in self.done if seconds(one) * seconds(other) >= LONG_SECONDS**2]

    @property
    def saves(self) -> dict[str, bool]:
        """Whether the first is faster over long pairs and over all, as far as there are any."""
        kinds = {"long pairs": self.long, "all pairs": self.done}
        return {kind: take_ratio(pairs) < LITTLE for kind, pairs in kinds.items() if pairs}


def race(rows: list[Row], first: str, second: str) -> Race:
    pairs = pair_up(rows, first, second)
    done = [pair for pair in pairs if not any(map(is_ended, pair))]
    alone = [sum(is_ended(pair[late]) and not is_ended(pair[1 - late]) for pair in pairs) for late in (1, 0)]
    return Race(first, second, done, *alone)


def take_ratio(pairs: Pairs) -> float:
    return geometric(seconds(one) / seconds(other) for one, other in pairs)


def take_whole_ratio(pairs: Pairs) -> float:
    """With what is made once per split."""
    return geometric((seconds(one) + prepared(one)) / (seconds(other) + prepared(other)) for one, other in pairs)


def _show_ratio(ratio: float, pairs: Pairs) -> str:
    return f"{ratio:.2f} ({len(pairs):,})" if pairs else ""


def _judge_saving(races: Iterable[Race]) -> list[str]:
    return [judge(is_faster) for own in races for is_faster in own.saves.values()]


def _say_saving(subject: str, whose: str, races: list[Race]) -> str:
    """In how many of the races more than a tenth of the time is saved."""
    counts: dict[str, list[bool]] = defaultdict(list)
    for own in races:
        for kind, is_faster in own.saves.items():
            counts[kind].append(is_faster)
    words = [
        f"over {kind} in {sum(these)} of {count(len(these), 'search', 'searches')}" for kind, these in counts.items()
    ]
    return f"{subject} saves more than a tenth of {whose} time {' and '.join(words)}."


def join(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


# Copies of rows -------------------------------------------------------------------------------------------------------


def find_duplication(rows: list[Row]) -> Finding:
    paper = (
        "Duplicated rows are up to two orders of magnitude faster than weights used directly (8 s against 1,130 s on "
        "FICO), and faster as long as the duplicated table is less than 100 times the original. The paper does not say "
        "at which depth and λ."
    )
    own = [row for row in of(rows, study="duplication") if has_tree(row)]
    direct, copied = of(own, method="direct"), of(own, method="rows")
    if not direct or not copied:
        return unmeasured(paper)
    ratios = [seconds(one) / seconds(other) for one, other in same_settings(own, "direct", "rows")]
    times = [seconds(row) for row in direct]
    slower = sum(ratio > 1.1 for ratio in ratios)
    faster = "faster" if slower > len(ratios) / 2 else "not faster"
    flat = "whatever share is duplicated, as in the paper" if max(times) < ALMOST * min(times) else "over all shares"
    found = (
        f"At depth {' or '.join(names(direct, 'depth'))} and λ = {' or '.join(names(direct, 'penalty'))}, duplicated "
        f"rows are {faster}. The direct method takes {min(times):.2g} to {max(times):.2g} s {flat}. That is "
        f"{geometric(ratios):.2f} times as long as duplicated rows by geometric mean, and more than a tenth longer in "
        f"{slower} of {len(ratios)} pairs. Equal rows are merged before the search, so that weights, counts and copies "
        "are the same search, and copies only take longer to read."
    )
    for rival in (name for name in names(own, "method") if not is_ours(name)):
        theirs = of(rows, study="duplication", method=rival)
        found += f" {rival}, which searches the guessed thresholds alone, {_say_growth(theirs)}."
    return Finding(paper, found, verdict(share_of(slower, len(ratios))))


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


# The three ways to use weights ----------------------------------------------------------------------------------------


def find_ways(rows: list[Row]) -> Finding:
    paper = (
        "Weighted sampling is the fastest of the three ways but the least accurate; duplication is slower than "
        "sampling and faster than the direct method, without losing much accuracy."
    )
    own = of(rows, study="trade-off")
    duels = (("duplicate", "direct"), ("sample", "direct"), ("sample", "duplicate"))
    races = {duel: _race_all(own, *duel) for duel in duels}
    if not any(races.values()):
        return unmeasured(paper)
    whose = {"direct": "the direct method's", "duplicate": "duplication's"}
    told = [
        _say_saving(WAYS[first].capitalize(), whose[second], list(own.values()))
        for (first, second), own in races.items()
        if own
    ]
    lost = {way: [_lose(own.done, "train") for own in races[way, "direct"].values() if own.done] for way in WAYS}
    parts = [part for own in races.values() for part in _judge_saving(own.values())]
    parts += [judge(loss < MUCH) for loss in lost["duplicate"]]
    if lost["sample"]:
        is_worst = min(lost["sample"]) > max([0.0, *lost["duplicate"]])
        parts.append(judge(is_worst))
        told.append(f"Sampling is {'' if is_worst else 'not '}the least accurate in training.")
    told.append(f"{TABLE} Accuracy is by how many points the search differs.")
    times = ("time, long pairs", "all pairs")
    table = table_head(["search", "beside", *times, "only it finishes", "only the other", "training", "test"])
    for these in races.values():
        for one in these.values():
            gains = [signed(-100 * _lose(one.done, figure)) if one.done else "" for figure in ("train", "test")]
            cells = [one.first, one.second, _show_ratio(take_ratio(one.long), one.long)]
            cells += [_show_ratio(take_ratio(one.done), one.done), f"{one.first_alone}", f"{one.second_alone}", *gains]
            table.append(f"| {' | '.join(cells)} |")
    return Finding(paper, " ".join(told), combine(parts), tuple(table))


def _race_all(rows: list[Row], first: str, second: str, more: str = "") -> dict[str, Race]:
    """Over all thresholds and over guessed ones, as far as there is something to compare."""
    races = {words: race(rows, first + tests + more, second + tests) for tests, words in TESTS.items()}
    return {words: own for words, own in races.items() if own.done or own.first_alone or own.second_alone}


def _lose(pairs: Pairs, figure: str) -> float:
    return statistics.fmean(number(other, figure) - number(one, figure) for one, other in pairs)


# Reference models -----------------------------------------------------------------------------------------------------


def find_reference(rows: list[Row]) -> Finding:
    paper = "A reference model's lower bounds make the search faster, and the tree stays close to optimal."
    own = of(rows, study="trade-off")
    races = {way: _race_all(own, way, way, ", reference") for way in ("direct", *WAYS)}
    every = [one for these in races.values() for one in these.values()]
    if not every:
        return unmeasured(paper)
    told = [_say_saving("A reference", "the", every)]
    told.append(
        f"{count(sum(one.first_alone for one in every), 'search', 'searches')} finish only with the reference, and "
        f"{sum(one.second_alone for one in every):,} only without it."
    )
    told += [*_say_sets(every), *_say_fit(every)]
    # What a reference costs is told by the direct method alone: the others do not minimise the objective itself.
    pairs = [pair for one in races["direct"].values() for pair in one.done]
    close = sum(_exceed(pair) <= CLOSE * number(pair[1], "objective") for pair in pairs)
    if pairs:
        told.append(
            f"The objective of the direct method changes by {signed(statistics.fmean(map(_exceed, pairs)), 4)} on "
            f"average and by {signed(max(map(_exceed, pairs)), 4)} at most; in {close:,} of "
            f"{count(len(pairs), 'pair')} it is within a hundredth of the optimum."
        )
    told.append(f"{TABLE} Times “with the fit” count the fit of the reference and the guess of thresholds.")
    head = ["search", "time, long pairs", "with the fit", "all pairs", "with the fit", "finish only with it"]
    table = table_head([*head, "only without it"])
    for one in every:
        cells = [one.second]
        for pairs_shown in (one.long, one.done):
            cells.append(_show_ratio(take_ratio(pairs_shown), pairs_shown))
            cells.append(f"{take_whole_ratio(pairs_shown):.2f}" if pairs_shown else "")
        table.append(f"| {' | '.join([*cells, f'{one.first_alone}', f'{one.second_alone}'])} |")
    parts = [*_judge_saving(every), verdict(share_of(close, len(pairs)), ALMOST_EVERY)]
    return Finding(paper, " ".join(told), combine(parts), tuple(table))


def _exceed(pair: tuple[Row, Row]) -> float:
    return number(pair[0], "objective") - number(pair[1], "objective")


def _say_sets(races: list[Race]) -> list[str]:
    """On which sets a reference helps much, and on which it does not."""
    much: list[str] = []
    little: list[str] = []
    for tests, where in TESTS.items():
        long = [pair for one in races if (", guessed" in one.second) == bool(tests) for pair in one.long]
        for name in names((one for one, _ in long), "set"):
            pairs = [pair for pair in long if pair[0]["set"] == name]
            text = f"{SHOWN.get(name, name)} over {where} ({take_ratio(pairs):.2f} in {count(len(pairs), 'pair')})"
            if take_ratio(pairs) <= HALF:
                much.append(text)
            elif take_ratio(pairs) >= LITTLE:
                little.append(text)
    kinds = (("takes at most half of the time", much), ("saves no more than a tenth", little))
    said = [f"a search with one {what} on {join(these)}" for what, these in kinds if these]
    return [f"Over the long pairs of all three ways, {'; '.join(said)}."] if said else []


def _say_fit(races: list[Race]) -> list[str]:
    """What the fit of the reference itself takes, once per split."""
    by_set: dict[str, list[float]] = defaultdict(list)
    for pair in (pair for one in races for pair in one.done):
        by_set[pair[0]["set"]].append(prepared(pair[0]) - prepared(pair[1]))
    medians = {name: statistics.median(values) for name, values in by_set.items()}
    if not medians:
        return []
    low, high = min(medians, key=medians.__getitem__), max(medians, key=medians.__getitem__)
    shown = [f"{medians[name]:.2g} s ({SHOWN.get(name, name)})" for name in (low, high)]
    return [f"The fit of the reference itself, once per split, takes {' to '.join(dict.fromkeys(shown))}."]
