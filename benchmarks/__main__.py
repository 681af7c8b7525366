"""The command: python -m benchmarks [--suite NAME] [--repeat N] [--peer-timeout S] [--quick]."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks import report
from benchmarks.adapters import CLOCKS, CONTENDERS
from benchmarks.anytime import anytime
from benchmarks.coverage import coverage
from benchmarks.deep import continuous_deep
from benchmarks.growth import growth
from benchmarks.large import large
from benchmarks.measure import Peers, measure, measure_together
from benchmarks.paper.command import carry_out
from benchmarks.policies import policies
from benchmarks.regret import regret
from benchmarks.sets import sets
from benchmarks.studies import MakeStudy
from benchmarks.suites import SUITES, Cell, Row, Suite
from benchmarks.tables import AbsentError, load
from benchmarks.unlimited import unlimited
from benchmarks.weighing import WEIGHING_SUITES

SUITES.update(WEIGHING_SUITES)
SUITES |= {"large": large, "continuous-deep": continuous_deep, "growth": growth}
SUITES |= {"anytime": anytime, "unlimited": unlimited, "sets": sets}
STUDIES: dict[str, MakeStudy] = {study.__name__: study for study in (coverage, regret, policies)}
RESULTS = Path(__file__).resolve().parent / "results"


def run_cell(cell: Cell, repeats: int, peers: Peers, is_patient: bool, is_together: bool) -> Row:
    """Measures a cell with whoever is installed, or skips it with the reason."""
    try:
        load(cell.subject.table)
    except AbsentError as reason:
        return Row(cell, skipped=str(reason))
    repeats = min(repeats, cell.most_repeats or repeats)
    present = {name: request for name, request in cell.requests.items() if CONTENDERS[request.contender].is_installed}
    if set(cell.over).isdisjoint(present) and cell.over:
        absent = ", ".join(CONTENDERS[cell.requests[name].contender].package for name in cell.over)
        return Row(cell, skipped=f"not installed: {absent}")
    if is_together:
        return Row(cell, measure_together(present, repeats))
    return Row(cell, measure(present, repeats, peers, rivals=cell.over, is_patient=is_patient))


def with_clock(suite: Suite, clock: str) -> Suite:
    cells = [
        replace(cell, requests={name: replace(request, clock=clock) for name, request in cell.requests.items()})
        for cell in suite.cells
    ]
    return replace(suite, cells=cells)


def run_suite(suite: Suite, repeats: int, peers: Peers, is_patient: bool) -> list[Row]:
    print(f"\n{suite.title}")
    rows = []
    for cell in suite.cells:
        row = run_cell(cell, repeats, peers, is_patient, suite.is_together)
        rows.append(row)
        subject = cell.subject
        head = f"  {subject.table} depth {subject.depth} λ {subject.penalty:g} {cell.part}".rstrip()
        if row.skipped:
            print(f"{head}: skipped, {row.skipped}", flush=True)
            continue
        figures = ", ".join(f"{name} {report.measurement_text(m)}" for name, m in row.measurements.items())
        ratio = "" if row.ratio is None else f", ratio {'> ' if row.is_ratio_bound else ''}{row.ratio:.3g}"
        print(f"{head}: {figures}{ratio}", flush=True)
        if row.disagreement:
            print(f"  WRONG: {row.disagreement}", flush=True)
    return rows


def run_study(name: str, quick: bool, seconds: float, results: Path) -> None:
    print(f"\n{name}", flush=True)
    study = STUDIES[name](quick, seconds)
    report.write_study(study, results)
    for verdict in study.verdicts:
        print(f"  {report.verdict_word(verdict.is_met)}: {verdict.target}: {verdict.found}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="certree beside its peers")
    parser.add_argument("--suite", choices=[*SUITES, *STUDIES, "paper", "all"], default="all", help="all but paper")
    parser.add_argument("--plan", default="published", help="of the suite paper: published, quick, or a TOML file")
    parser.add_argument("--draw", action="store_true", help="of the suite paper: only draw what has been measured")
    parser.add_argument("--repeat", type=int, default=3, help="fits per contender and cell (default 3)")
    parser.add_argument("--peer-timeout", type=float, default=200, help="the seconds that a fit may take (default 200)")
    parser.add_argument("--quick", action="store_true", help="few small cells, once, 20 s at most: a smoke test")
    parser.add_argument("--clock", choices=[*CLOCKS], default="wall", help="cpu: processor time; nothing is written")
    parser.add_argument("--patient", action="store_true", help="let a peer finish that has already lost to another")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the tables are written")
    options = parser.parse_args(arguments)

    if options.suite == "paper":
        carry_out("quick" if options.quick else options.plan, options.results, is_drawn_only=options.draw)
        return 0
    repeats, seconds = (1, min(20.0, options.peer_timeout)) if options.quick else (options.repeat, options.peer_timeout)
    peers = Peers(options.results / "peers.json")
    is_wrong = False
    for name in [*SUITES, *STUDIES] if options.suite == "all" else [options.suite]:
        if name in STUDIES:
            run_study(name, options.quick, seconds, options.results)
            continue
        suite = SUITES[name](options.quick, seconds)
        times = min(repeats, suite.most_repeats or repeats)
        rows = run_suite(with_clock(suite, options.clock), times, peers, options.patient)
        is_published = options.clock == "wall"
        for verdict in report.write(suite, rows, options.results) if is_published else report.judge(suite, rows):
            print(f"  {report.verdict_word(verdict['is_met'])}: {verdict['target']}: {verdict['found']}")
        is_wrong |= any(row.disagreement for row in rows)
    if is_wrong:
        print("\nWRONG: objectives disagree, see above", file=sys.stderr)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
