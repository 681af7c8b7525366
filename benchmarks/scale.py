"""How a fit on a table in parts scales: rows, workers and memory, beside a histogram booster on the same cluster.

    python -m benchmarks.scale --rows 1000000 10000000 --workers 1 2 --repeats 5 --xgboost --results benchmarks/results

Every worker is a process of one thread on this machine, in a cluster that is started anew for every line. The table is
made where it lies, from a seed, and persisted as 32-bit floats. Seconds are those of a whole fit, in the median of all
repeats, which a second table lists one by one with the processor time of the busiest worker and of this process, which
is client and scheduler. Memory is the largest that any worker held. A worker that exceeds its memory is a result, too.
After the last fit its certificate is checked against the table in parts. The booster is fitted with the most workers
alone, and as often as `--xgboost-repeats` says. With `--results` a page and a CSV file are written there.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import format_bytes, parse_bytes
from distributed import Client, LocalCluster

from benchmarks.report import write_study
from benchmarks.studies import Study, Verdict
from certree import certify
from certree.dask import DaskSparseTreeClassifier

DEPTH, PENALTY = 3, 0.001
FASTER, LONGER = 1.5, 11.0
"""How much faster two workers must be than one, and how much longer ten times the rows may take."""

HEADER = """\
| rows | workers | measured, seconds | the model's seconds | largest worker | coded rows per worker | \
sums over the network | answer |
|---|---|---|---|---|---|---|---|"""
DETAILS = """\
| fit | rows | workers | each, seconds | busiest worker, processor seconds | client and scheduler |
|---|---|---|---|---|---|"""


def model_seconds(n_rows: int, n_workers: int) -> float:
    """What docs/scale.md says of 20 columns with 32 thresholds."""
    return 3e-6 * n_rows / n_workers + 5 + 0.4 * math.log2(n_workers)


def make_part(part: int, n_rows: int, n_columns: int) -> Any:
    """Columns, label and weight of one partition, side by side."""
    rng = np.random.default_rng([1, part])
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    score = (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2) ^ (X[:, 2] > 0.8)
    y = np.where(rng.random(n_rows) < 0.2, rng.random(n_rows) < 0.5, score)
    return np.column_stack((X, y, rng.lognormal(size=n_rows)))


def make_table(n_rows: int, n_columns: int, n_parts: int) -> Any:
    size = n_rows // n_parts
    make = dask.delayed(make_part, pure=True)
    blocks = [
        da.from_delayed(make(part, size, n_columns), (size, n_columns + 2), np.float64) for part in range(n_parts)
    ]
    return da.concatenate(blocks)


@dataclass
class Measured:
    """The fits of one line."""

    seconds: list[float] = field(default_factory=list)
    busy: list[tuple[float, float]] = field(default_factory=list)
    """Processor seconds of the busiest worker, and of this process."""
    answer: str = ""
    n_cells: int = 0
    peak: float = 0.0
    """Megabytes."""
    model: Any = None
    is_certified: bool = False
    """Whether the certificate of the last fit holds on the table in parts."""
    steps: str = ""
    """What every step of the last fit took."""


def read_peak() -> float:
    """Megabytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_busy(client: Client) -> tuple[dict[str, float], float]:
    """Processor seconds of every worker, and of this process."""
    return dict(client.run(time.process_time)), time.process_time()


def fit_certree(table: Any, thresholds: int, measured: Measured) -> None:
    model = DaskSparseTreeClassifier(DEPTH, PENALTY, thresholds=thresholds).fit(*table)
    measured.answer, measured.n_cells = model.status_, model.statistics_["cells"]
    measured.model = model


def check_certree(table: Any, measured: Measured) -> None:
    model, start = measured.model, time.perf_counter()
    verdict = certify.check(model.certificate_, model.tree_, *table)
    measured.is_certified = model.status_ == "optimal" and verdict.holds
    said = "holds" if verdict.holds else f"does not hold: {verdict.failures}"
    measured.steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in model.statistics_["step_seconds"].items())
    print(f"its certificate {said}, checked in {time.perf_counter() - start:.1f} s", flush=True)


def fit_xgboost(table: Any, client: Client, measured: Measured) -> None:
    import xgboost.dask as xgb

    X, y, weight = table
    matrix = xgb.DaskDMatrix(client, X, y, weight=weight)
    settings = {"tree_method": "hist", "objective": "binary:logistic", "max_depth": 6}
    xgb.train(client, settings, matrix, num_boost_round=100)
    measured.answer = "100 trees of xgboost"


def run_watched(run: Callable[[], None], client: Client, patience: float) -> str:
    """What went wrong, or nothing; a fit may wait forever for a worker that was restarted."""
    wrong: list[str] = []

    def try_it() -> None:
        try:
            run()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {str(error)[:200]}")

    thread = threading.Thread(target=try_it, daemon=True)
    thread.start()
    end = time.monotonic() + patience
    while thread.is_alive() and time.monotonic() < end:
        thread.join(0.5)
        if client.get_events("worker-restart-memory"):
            return "exceeded the memory of a worker"
    if client.get_events("worker-restart-memory"):
        return "exceeded the memory of a worker"
    return f"not done after {patience:g} s" if thread.is_alive() else "".join(wrong)


def share_memory(arguments: argparse.Namespace, n_workers: int) -> int:
    """Bytes of each worker."""
    return int(parse_bytes(arguments.memory or "4GB")) // (1 if arguments.memory else n_workers)


def measure(arguments: argparse.Namespace, n_rows: int, n_workers: int, contender: str) -> Measured:
    memory = share_memory(arguments, n_workers)
    measured = Measured()
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=memory, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        whole = make_table(n_rows, arguments.columns, arguments.parts)
        # Columns as 32-bit floats halve what is kept; labels and weights stay as they are.
        table = client.persist([whole[:, :-2].astype(np.float32), whole[:, -2].astype(np.int8), whole[:, -1]])
        client.gather(client.compute([part.sum() for part in table]))

        def run() -> None:
            before, start = read_busy(client), time.perf_counter()
            if contender == "certree":
                fit_certree(table, arguments.thresholds, measured)
            else:
                fit_xgboost(table, client, measured)
            measured.seconds.append(time.perf_counter() - start)
            after = read_busy(client)
            workers = [now - before[0].get(address, 0.0) for address, now in after[0].items()]
            measured.busy.append((max(workers), after[1] - before[1]))

        for _ in range(arguments.repeats if contender == "certree" else arguments.xgboost_repeats):
            wrong = run_watched(run, client, arguments.patience)
            if wrong:
                measured.answer = f"{contender}: {wrong} ({format_bytes(memory)} each)"
                return measured
        measured.peak = max(client.run(read_peak).values())
        if contender == "certree":
            check_certree(table, measured)
    return measured


def write_measured(arguments: argparse.Namespace, n_rows: int, n_workers: int, measured: Measured) -> str:
    """A line of the table in docs/scale.md."""
    seconds = f"{statistics.median(measured.seconds):.1f}" if measured.seconds else ""
    peak = f"{measured.peak:,.0f} MB" if measured.peak else ""
    model = coded = sums = ""
    if measured.n_cells:
        is_modelled = (arguments.columns, arguments.thresholds) == (20, 32)
        model = f"{model_seconds(n_rows, n_workers):.0f}" if is_modelled else ""
        coded = f"{n_rows / n_workers * (arguments.columns + 8) / 1e6:.0f} MB"
        sums = f"{8e-9 * measured.n_cells * (n_workers - 1):.1f} GB" if n_workers > 1 else "none"
    return f"| {n_rows:,} | {n_workers} | {seconds} | {model} | {peak} | {coded} | {sums} | {measured.answer} |"


def write_modelled(n_rows: int, n_workers: int, n_cells: int) -> str:
    """A line that is nothing but the model, of 20 columns."""
    coded = f"{n_rows / n_workers * 28 / 1e9:.1f} GB"
    sent = 8e-9 * n_cells
    sums = (
        f"{sent * (n_workers - 1):.0f} GB in all, {sent * math.ceil(math.log2(n_workers)):.1f} GB on the longest path"
    )
    seconds = f"{model_seconds(n_rows, n_workers):.0f}"
    return f"| {n_rows:,} | {n_workers} | not measured | {seconds} | not measured | {coded} | {sums} | |"


Found = Mapping[tuple[str, int, int], Measured]
"""By contender, rows and workers."""


def judge(found: Found, memory: Mapping[int, int]) -> list[Verdict]:
    """What was asked for and what was found; `memory` has the bytes of each worker by the number of workers."""
    ours = {key[1:]: own for key, own in found.items() if key[0] == "certree"}
    medians = {key: statistics.median(own.seconds) for key, own in ours.items() if own.seconds}
    most_rows, least_rows = max(key[0] for key in ours), min(key[0] for key in ours)
    most_workers = max(key[1] for key in ours)
    largest = ours[most_rows, most_workers]
    limit = memory[most_workers] / 2**20
    words = f"{largest.answer}, the largest worker held {largest.peak:,.0f} MB of {limit:,.0f} MB"
    verdicts = [
        Verdict(
            f"{most_rows:,} rows on {most_workers} workers: certified, within the memory",
            words,
            largest.is_certified and 0 < largest.peak <= limit,
        )
    ]
    if {(most_rows, 1), (most_rows, 2)} <= medians.keys():
        times = medians[most_rows, 1] / medians[most_rows, 2]
        target = f"{most_rows:,} rows: two workers at least {FASTER:g} times as fast as one"
        verdicts.append(Verdict(target, f"{times:.2f} times", times >= FASTER))
    if most_rows == 10 * least_rows and {(most_rows, most_workers), (least_rows, most_workers)} <= medians.keys():
        times = medians[most_rows, most_workers] / medians[least_rows, most_workers]
        target = f"ten times the rows on {most_workers} workers: at most {LONGER:g} times as long"
        verdicts.append(Verdict(target, f"{times:.2f} times", times <= LONGER))
    for (contender, n_rows, n_workers), own in found.items():
        if contender == "xgboost":
            seconds = f"{statistics.median(own.seconds):.1f} s" if own.seconds else "no time"
            target = f"xgboost's histogram booster, 100 trees, {n_rows:,} rows on {n_workers} workers"
            verdicts.append(Verdict(target, f"{seconds}; {own.answer}", None))
    return verdicts


def list_figures(found: Found, memory: Mapping[int, int]) -> list[dict[str, Any]]:
    """For the CSV file: one line per fit, or one for a fit that gave nothing."""
    nothing: tuple[list[float | None], list[tuple[float | None, float | None]]] = ([None], [(None, None)])
    return [
        {
            "contender": contender, "rows": n_rows, "workers": n_workers, "bytes_per_worker": memory[n_workers],
            "seconds": seconds, "worker_processor_seconds": worker, "client_processor_seconds": client,
            "largest_worker_megabytes": own.peak, "answer": own.answer, "is_certified": own.is_certified,
        }
        for (contender, n_rows, n_workers), own in found.items()
        for seconds, (worker, client) in zip(own.seconds or nothing[0], own.busy or nothing[1], strict=True)
    ]  # fmt: skip


def make_study(found: Found, memory: Mapping[int, int], lines: Sequence[str]) -> Study:
    title = "Tables in parts: rows, workers and memory"
    return Study("scale", title, judge(found, memory), list(lines), list_figures(found, memory))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--thresholds", type=int, default=32)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--memory", default=None, help="of each worker; else all of them share 4 GB")
    parser.add_argument("--xgboost", action="store_true", help="time its histogram booster as well")
    parser.add_argument("--xgboost-repeats", type=int, default=1)
    parser.add_argument("--results", type=Path, default=None, help="where a page and a CSV file are written")
    parser.add_argument("--patience", type=float, default=900, help="seconds after which a fit is given up")
    arguments = parser.parse_args()
    lines, details, ratios, steps, n_cells = [], [], [], [], 0
    found: dict[tuple[str, int, int], Measured] = {}
    for contender in ("certree", "xgboost") if arguments.xgboost else ("certree",):
        medians: dict[tuple[int, int], float] = {}
        for n_rows in arguments.rows:
            for n_workers in arguments.workers if contender == "certree" else [max(arguments.workers)]:
                found[contender, n_rows, n_workers] = measured = measure(arguments, n_rows, n_workers, contender)
                lines.append(write_measured(arguments, n_rows, n_workers, measured))
                n_cells = max(n_cells, measured.n_cells)
                print(lines[-1], flush=True)
                if not measured.seconds:
                    continue
                if measured.steps:
                    steps.append(f"steps of the last fit, {n_rows:,} rows, workers {n_workers}: {measured.steps}")
                medians[n_rows, n_workers] = statistics.median(measured.seconds)
                each = " ".join(f"{own:.1f}" for own in measured.seconds)
                worker, client = (max(own) for own in zip(*measured.busy, strict=True))
                details.append(f"| {contender} | {n_rows:,} | {n_workers} | {each} | {worker:.1f} | {client:.1f} |")
        for (n_rows, n_workers), seconds in medians.items():
            if n_workers > 1 and (n_rows, 1) in medians:
                times = medians[n_rows, 1] / seconds
                ratios.append(f"{contender}, {n_rows:,} rows: {n_workers} workers are {times:.2f} times as fast as 1")
            if n_rows > (least := min(arguments.rows)) and (least, n_workers) in medians:
                times = seconds / medians[least, n_workers]
                ratios.append(
                    f"{contender}, workers {n_workers}: {n_rows / least:g} times the rows, {times:.2f} times as long"
                )
    if n_cells and (arguments.columns, arguments.thresholds) == (20, 32):
        lines.append(write_modelled(10_000_000_000, 100, n_cells))
    page = [HEADER, *lines, "", DETAILS, *details, "", *(f"- {fact}" for fact in (*ratios, *steps))]
    print("", *page, sep="\n")
    if arguments.results is not None:
        memory = {n_workers: share_memory(arguments, n_workers) for n_workers in arguments.workers}
        write_study(make_study(found, memory, page), arguments.results)


if __name__ == "__main__":
    main()
