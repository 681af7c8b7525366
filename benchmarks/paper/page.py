"""The page: each figure of the paper with what the paper says and what is found. Its fixed words are in page.md."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.paper import claims, look, measured, speed
from benchmarks.paper.figures import STYLES, draw_all
from benchmarks.paper.look import Finding, Row
from benchmarks.paper.plan import HERE, WHOLE, Cell, Plan
from benchmarks.report import table_head

STATUSES = {
    "optimal": "the library has proved its tree to be the best for what it minimises, on the rows that it was given",
    "approximate": "proved for the counts or the sample, and not for the weights that they stand for",
    "guessed": "the best that the reference model allows",
    "greedy": "grown test by test, without a proof",
    "heuristic": "searched for without a proof",
    "wrong": "the tree makes more errors than the library says",
    "time_limit": "the library stopped at its limit, with the best tree so far",
    "timeout": "the process was ended at its limit of time, and has no tree",
    "memory": "the process was ended at its limit of memory, and has no tree",
    "crashed": "the process ended by itself, without a tree",
    "failed": "the library raised an error",
    "unsupported": "the library cannot do what the cell asks",
    "missing": "the library was not installed",
    "absent": "the data were not there",
}
"""How a cell may end, and what that means."""
WEIGHTS = (
    "**The paper** shows the same histograms: inverse propensities that balance one column, and for Lalonde the cost "
    "of a mistake, scaled to 1 to 100. **Here** they are computed from the data by `certree.weights.balance`. The "
    "paper's source holds no numbers for them, so they cannot be compared bar by bar."
)
TREES = (
    "**The paper** prints a tree for each depth from 2 to 5, rooted at “re75 ≤ 897.41” (depths 2 and 4), “education ≤ "
    "11.5” (3) and “married ≤ 0.5” (5). It does not say with which λ, and the labels come from a run of MALTS that is "
    "not published with it."
)
BAD = list(STATUSES)[list(STATUSES).index("timeout") :]


def write_page(plan: Plan, rows: list[Row], page: Path, again: Sequence[Row] = ()) -> None:
    """`again`: some of the rows, measured again while the machine did nothing else."""
    is_docs = page.stem == "paper"
    folder = page.parent / "images" / "paper" if is_docs else page.parent / page.stem
    drawn = draw_all(rows, folder)
    where = folder.relative_to(page.parent).as_posix()
    findings = find_all(rows)
    link = f"[{plan.name}.toml](../benchmarks/paper/plans/{plan.name}.toml)"
    text = Template((HERE / "page.md").read_text(encoding="utf-8")).substitute(
        paper="[paper](background.md)" if is_docs else "paper",
        weighing="[Weighing](weighing.md)" if is_docs else "the documentation",
        plan=link if is_docs else f"{plan.name}.toml",
        state=_say_state(plan, rows),
        settings="\n".join(f"  {line}".rstrip() for line in _settings(plan)),
        summary="\n".join(_summarise(findings)),
        limits=_say_limits(plan),
        gigabytes=f"{plan.cells[0].limits.gigabytes:g}",
        machine="\n".join(measured.say_where(rows)),
        pace=measured.say_pace(rows),
        again=measured.say_again(rows, again),
        ends=measured.say_ends(rows),
        drawn=_say_drawn(plan),
        sections="\n".join([*_sections(findings, drawn, where), *_more_sections(rows, drawn, where)]).rstrip(),
        outcomes="\n".join(_outcomes(rows)),
        versions=", ".join(sorted({row["version"] for row in rows if row["version"]})),
    )
    page.write_text(text, encoding="utf-8")


def _say_state(plan: Plan, rows: list[Row]) -> str:
    if len(rows) == len(plan.cells):
        hours = sum(float(row["took"] or 0) for row in rows) / 3600
        return f"All {len(plan.cells):,} cells of the plan have run, in {hours:.1f} hours of one core."
    splits, done = Counter(cell.split for cell in plan.cells), Counter(int(row["split"]) for row in rows)
    names = {split: "whole sets" if split == WHOLE else f"split {split + 1}" for split in sorted(splits)}
    shares = ", ".join(f"{name} {done[split]:,} of {splits[split]:,}" for split, name in names.items())
    share = f"{len(rows):,} of {len(plan.cells):,} cells of the plan ({len(rows) / len(plan.cells):.0%})"
    return (
        f"**{share} have run so far** ({shares}). Cheap cells run first, so deep trees, ConTree, imodels and searches "
        "over all thresholds are still few. A point without an error bar has run on one split. `make paper` measures "
        "what is missing and writes this page again."
    )


def _say_drawn(plan: Plan) -> str:
    own = dict.fromkeys(cell.method.name for cell in plan.cells if _is_compared(cell))
    drawn = [f"“{name}”" for name in own if name in STYLES]
    return f"Of certree's {len(own)} methods, {len(drawn)} are drawn: {', '.join(drawn)}"


def _is_compared(cell: Cell) -> bool:
    return cell.study in ("trade-off", "sample size") and cell.method.contender == "certree"


def _say_limits(plan: Plan) -> str:
    """Seconds of processor time; certree's own where accuracy is compared, if they are others."""
    own: set[float] = set()
    others: set[float] = set()
    for cell in plan.cells:
        (own if _is_compared(cell) else others).add(cell.limits.seconds)
    words = [" or ".join(f"{limit:g}" for limit in sorted(limits)) for limits in (others, own)]
    same = f"{words[0]} s of processor time"
    return same if own in (others, set()) else f"{same} ({words[1]} s for certree where accuracy is compared)"


def _settings(plan: Plan) -> list[str]:
    """The penalties of each set, and with how many of them, and at which depths, each method is run."""
    cells = [cell for cell in plan.cells if cell.study == "trade-off"]
    own: dict[str, set[float]] = defaultdict(set)
    for cell in cells:
        if cell.method.has_penalty:
            own[cell.table].add(cell.penalty)
    lines = table_head(["set", "λ"])
    for table, penalties in own.items():
        lines.append(f"| {look.SHOWN.get(table, table)} | {', '.join(f'{p:g}' for p in sorted(penalties)[::-1])} |")
    asked: dict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        asked[cell.method.name, cell.depth].append(cell)
    depths: dict[tuple[str, str], list[int]] = defaultdict(list)
    for (method, depth), these in sorted(asked.items()):
        depths[method, _say_penalties(these, own)].append(depth)
    groups: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for (method, some), known in depths.items():
        fits = sum(len(asked[method, depth]) for depth in known)
        groups[fits, look.say_depths(map(str, known)), some].append(method)
    lines += ["", *table_head(["method", "depth", "λ", "fits of each"])]
    for (fits, at, some), methods in sorted(groups.items(), key=lambda group: -group[0][0]):
        lines.append(f"| {'; '.join(methods)} | {at} | {some} | {fits:,} |")
    return lines


def _say_penalties(cells: list[Cell], own: dict[str, set[float]]) -> str:
    if not cells[0].method.has_penalty:
        return "none"
    asked: dict[str, set[float]] = defaultdict(set)
    for cell in cells:
        asked[cell.table].add(cell.penalty)
    known = {
        "all": own,
        "largest and smallest": {table: {min(them), max(them)} for table, them in own.items()},
        "smallest": {table: {min(them)} for table, them in own.items()},
    }
    return next((words for words, them in known.items() if asked == them), "some")


def find_all(rows: list[Row]) -> dict[str, tuple[str, Finding]]:
    """The title of each claim, the picture that shows it, and what is found."""
    return {
        "Time against the share of rows that are duplicated": ("duplication", speed.find_duplication(rows)),
        "Sparsity against training accuracy": ("sparsity-train", claims.find_sparsity(rows, "train")),
        "Sparsity against test accuracy": ("sparsity-test", claims.find_sparsity(rows, "test")),
        "Training time against training accuracy": ("time-train", claims.find_time(rows, "train")),
        "Training time against test accuracy": ("time-test", claims.find_time(rows, "test")),
        "DL8.5 and its time limit": ("", claims.find_dl85(rows)),
        "The three ways to use weights": ("", speed.find_ways(rows)),
        "Reference models": ("", speed.find_reference(rows)),
        "Accuracy against the size of the sample": ("sample-size", claims.find_sample_size(rows)),
        "Optimal trees": ("", claims.find_optimality(rows)),
    }


def _summarise(findings: dict[str, tuple[str, Finding]]) -> list[str]:
    lines = table_head(["claim", "here"])
    for title, (_, finding) in findings.items():
        is_bad = finding.verdict.startswith("not")
        lines.append(f"| {title} | {f'**{finding.verdict}**' if is_bad else finding.verdict} |")
    return lines


def _sections(findings: dict[str, tuple[str, Finding]], drawn: list[str], where: str) -> list[str]:
    lines = []
    for title, (picture, finding) in findings.items():
        lines += [f"## {title}", ""]
        if picture in drawn:
            lines += [f"![{title}]({where}/{picture}.png)", ""]
        lines += [f"**The paper:** {finding.paper}", "", f"**Here ({finding.verdict}):** {finding.found}", ""]
        lines += [*finding.table, ""] if finding.table else []
    return lines


def _more_sections(rows: list[Row], drawn: list[str], where: str) -> list[str]:
    lines = []
    if "weights" in drawn:
        lines += ["## Distribution of weights", "", f"![Distribution of weights]({where}/weights.png)", ""]
        lines += [WEIGHTS, ""]
    if "case-study" in drawn:
        lines += ["## The trees of the case study", "", f"![Trees of the case study]({where}/case-study.png)", ""]
        lines += _case_study(rows)
    return lines


def _case_study(rows: list[Row]) -> list[str]:
    own = [row for row in look.of(rows, study="case study") if row["detail"]]
    proved = sum(row["status"] == "optimal" for row in own)
    roots = ", ".join(f"“{_root(row)}” at depth {row['depth']}" for row in own)
    more = (
        " Class 2 stands for “should be treated”, 1 for “should be treated if the budget allows”, 0 for “should not be "
        "treated”. These labels are those that the authors of MALTS have published. The [case study](case-study.md) "
        "estimates its own, so its trees are others; it says how far labels depend on the matching."
    )
    found = f"**Here**, with λ = {own[0]['penalty']}, {proved} of {len(own)} trees are proved optimal. Their roots are "
    words = f"{found}{roots}.{_printed(rows, own)}{more if own[0]['set'] == 'lalonde' else ''}"
    return [TREES, "", words, ""]


def _printed(rows: list[Row], own: list[Row]) -> str:
    """How the paper's own trees do on the rows that are used here, beside the optimal ones of the same depths."""
    printed = look.of(rows, study="case study", method="printed")
    theirs = {row["depth"]: row for row in printed if look.has_tree(row)}
    ours = {row["depth"]: row for row in own if row["depth"] in theirs}
    if not ours:
        return ""
    shares, best = (
        ", ".join(f"{look.number(by[depth], 'train'):.0%}" for depth in ours) for by in (theirs, ours)
    )  # fmt: skip
    is_less = all(
        look.number(theirs[depth], "leaves") >= look.number(ours[depth], "leaves")
        and look.number(theirs[depth], "train") < look.number(ours[depth], "train")
        for depth in ours
    )
    words = f" They label {best} of the weight correctly, and the paper's trees {shares}."
    if is_less:
        words += (
            " The paper's have no fewer leaves, so no λ makes them optimal for these labels and weights; the case "
            "study looks at what may have been different."
        )
    return words


def _root(row: Row) -> str:
    tree: Any = json.loads(row["detail"])
    return f"{tree[0]} ≤ {tree[1]:g}" if isinstance(tree, list) else f"class {tree}"


def _outcomes(rows: list[Row]) -> list[str]:
    """How often each method ended how, what that means, and what was said where there is no tree."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["method"] not in look.NO_FITS:
            counts[row["method"]][row["status"]] += 1
    used = [status for status in STATUSES if any(own[status] for own in counts.values())]
    lines = table_head(["method", *used])
    for method, own in counts.items():
        shown = (f"{own[status]:,}" if own[status] else "" for status in used)
        lines.append("| " + " | ".join([method, *shown]) + " |")
    lines += ["", *(f"- *{status}*: {STATUSES[status]}" for status in used), ""]
    bad = Counter((row["method"], row["status"], row["remark"]) for row in rows if row["status"] in BAD)
    lines += [f"- {method}, {status}, {look.count(n, 'cell')}: {remark}" for (method, status, remark), n in bad.items()]
    return lines
