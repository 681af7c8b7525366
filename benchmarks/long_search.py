"""One long search shared by the workers of a cluster, and by none.

    python -m benchmarks.long_search --thresholds 96 --workers 1 2 --repeats 3 --results benchmarks/results

Every worker is a process of one thread on this machine; 0 is the search without a cluster, on one thread. Seconds are
those of a whole fit; busy seconds are the processor time of all workers together. With `--kill 20` one worker is killed
20 seconds after the start of every fit. With `--results` one more fit on the most workers loses a worker half-way, by
the median of the others, and a page and a CSV file are written.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

from benchmarks.report import write_study
from benchmarks.studies import Study, Verdict
from benchmarks.tables import load
from certree import SparseTreeClassifier
from certree.dask import spread

HEADER = """\
| proof | workers | seconds, median | each | processor seconds of all workers | tasks | answer |
|---|---|---|---|---|---|---|"""


FASTER, MINUTES = 1.5, 2.0
"""How much faster two workers must be than one, on a proof that takes one worker so many minutes."""


@dataclass
class Measured:
    """The fits of one line."""

    seconds: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    n_tasks: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    is_killed: list[bool] = field(default_factory=list)
    """Whether a worker was killed before the end of each fit."""


def measure(arguments: argparse.Namespace, client: Any, repeats: int, kill: float | None) -> Measured:
    """Some fits, each of which loses a worker after so many seconds, or none does."""
    table, measured = load(arguments.table), Measured()
    for _ in range(repeats):
        killed = threading.Event()
        timer = threading.Timer(kill or 0.0, _kill_one, (client, killed))
        start, before = time.perf_counter(), _read_busy(client)
        if kill is not None and client is not None:
            timer.start()
        with nullcontext() if client is None else spread(client):
            model = SparseTreeClassifier(
                arguments.depth,
                arguments.penalty,
                thresholds=arguments.thresholds or "all",
                time_limit=arguments.seconds,
            )
            model.fit(table.X, table.y)
        measured.seconds.append(time.perf_counter() - start)
        measured.is_killed.append(killed.is_set())
        timer.cancel()
        after = _read_busy(client)
        measured.busy.append(sum(now - before.get(address, 0.0) for address, now in after.items()))
        measured.n_tasks.append(model.statistics_["looks_elsewhere"])
        measured.answers.append(f"{model.status_}, objective {model.objective_!r}")
    return measured


def write_line(proof: str, what: str, own: Measured) -> str:
    return (
        f"| {proof} | {what} | {statistics.median(own.seconds):.1f} | {' '.join(f'{one:.1f}' for one in own.seconds)} "
        f"| {statistics.median(own.busy):.1f} | {statistics.median(own.n_tasks):.0f} "
        f"| {'; '.join(sorted(set(own.answers)))} |"
    )


def make_study(found: Mapping[int, Measured], killed: Measured | None, lines: Sequence[str]) -> Study:
    """What was asked for and what was found."""
    medians = {n_workers: statistics.median(own.seconds) for n_workers, own in found.items()}
    verdicts = []
    if {1, 2} <= medians.keys():
        times = medians[1] / medians[2]
        is_proof = all(answer.startswith("optimal") for own in found.values() for answer in own.answers)
        words = f"{times:.2f} times, one worker takes {medians[1]:.0f} s"
        # A search that ended at a limit is no proof, and its seconds say nothing.
        is_long = is_proof and medians[1] >= 60 * MINUTES
        target = f"a proof of {MINUTES:g} minutes or more: two workers at least {FASTER:g} times as fast as one"
        verdicts.append(Verdict(target, words, is_long and times >= FASTER))
    if killed is not None:
        answers = {answer for own in (*found.values(), killed) for answer in own.answers}
        was_killed = all(killed.is_killed)
        words = "; ".join(sorted(answers)) if was_killed else "no worker was killed before the end"
        verdicts.append(Verdict("a worker killed half-way: the same answer", words, was_killed and len(answers) == 1))
    figures = [
        {"workers": n_workers, "is_killed": is_killed, "seconds": seconds, "busy_seconds": busy, "tasks": n_tasks,
         "answer": answer}
        for n_workers, own in [*found.items(), *([] if killed is None else [(max(found), killed)])]
        for seconds, busy, n_tasks, answer, is_killed in zip(
            own.seconds, own.busy, own.n_tasks, own.answers, own.is_killed, strict=True
        )
    ]  # fmt: skip
    return Study("long-search", "One long search over a cluster", verdicts, list(lines), figures)


def _read_busy(client: Any) -> dict[str, float]:
    """Processor seconds of every worker, or of this process."""
    return {"": time.process_time()} if client is None else dict(client.run(time.process_time))


def _kill_one(client: Any, killed: threading.Event) -> None:
    with suppress(Exception):  # the fit may be over, and the client closed
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        killed.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="fico")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--penalty", type=float, default=0.005)
    parser.add_argument("--thresholds", type=int, default=32, help="per column; 0 is all of them")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=None, help="a time limit")
    parser.add_argument("--kill", type=float, default=None, help="seconds after which one worker is killed")
    parser.add_argument("--results", type=Path, default=None, help="where a page and a CSV file are written")
    arguments = parser.parse_args()
    cuts = f", {arguments.thresholds} thresholds per column" if arguments.thresholds else ""
    proof = f"{arguments.table}, depth {arguments.depth}, λ = {arguments.penalty:g}{cuts}"
    found: dict[int, Measured] = {}
    killed: Measured | None = None
    lines: list[str] = []

    def add(what: str, own: Measured) -> None:
        lines.append(write_line(proof, what, own))
        print(lines[-1], flush=True)

    print(HEADER, flush=True)
    for n_workers in arguments.workers:
        if n_workers == 0:
            found[0] = measure(arguments, None, arguments.repeats, None)
            add("0", found[0])
            continue
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            found[n_workers] = measure(arguments, client, arguments.repeats, arguments.kill)
            add(str(n_workers), found[n_workers])
            if arguments.results is not None and n_workers == max(arguments.workers):
                half = statistics.median(found[n_workers].seconds) / 2
                killed = measure(arguments, client, 1, half)
                add(f"{n_workers}, one killed half-way", killed)
    medians = {n_workers: statistics.median(own.seconds) for n_workers, own in found.items()}
    for n_workers, seconds in medians.items():
        if n_workers > 1 and 1 in medians:
            print(f"{n_workers} workers are {medians[1] / seconds:.2f} times as fast as 1")
    if arguments.results is not None:
        write_study(make_study(found, killed, [*HEADER.splitlines(), *lines]), arguments.results)


if __name__ == "__main__":
    main()
