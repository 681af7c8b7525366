"""One long search shared by the workers of a cluster, and by none.

    python -m benchmarks.long_search --workers 1 2 --repeats 5

Every worker is a process of one thread on this machine; 0 is the search without a cluster, on one thread. Seconds are
those of a whole fit; busy seconds are the processor time of all workers together. With `--kill 20` one worker is killed
20 seconds after the start of every fit.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import threading
import time
from contextlib import nullcontext, suppress
from typing import Any

from distributed import Client, LocalCluster

from benchmarks.tables import load
from certree import SparseTreeClassifier
from certree.dask import spread

HEADER = """\
| proof | workers | seconds, median | each | processor seconds of all workers | tasks | answer |
|---|---|---|---|---|---|---|"""


def measure(arguments: argparse.Namespace, client: Any, n_workers: int) -> float:
    """Prints a line of the table, and gives its median of seconds."""
    table = load(arguments.table)
    seconds, busy, n_tasks, answers = [], [], [], set()
    for _ in range(arguments.repeats):
        start, before = time.perf_counter(), _read_busy(client)
        if arguments.kill is not None and client is not None:
            threading.Timer(arguments.kill, _kill_one, (client,)).start()
        with nullcontext() if client is None else spread(client):
            model = SparseTreeClassifier(
                arguments.depth,
                arguments.penalty,
                thresholds=arguments.thresholds or "all",
                time_limit=arguments.seconds,
            )
            model.fit(table.X, table.y)
        seconds.append(time.perf_counter() - start)
        after = _read_busy(client)
        busy.append(sum(now - before.get(address, 0.0) for address, now in after.items()))
        n_tasks.append(model.statistics_["looks_elsewhere"])
        answers.add(f"{model.status_}, objective {model.objective_!r}")
    cuts = f", {arguments.thresholds} thresholds per column" if arguments.thresholds else ""
    print(
        f"| {arguments.table}, depth {arguments.depth}, λ = {arguments.penalty:g}{cuts} | {n_workers} "
        f"| {statistics.median(seconds):.1f} | {' '.join(f'{own:.1f}' for own in seconds)} "
        f"| {statistics.median(busy):.1f} | {statistics.median(n_tasks):.0f} | {'; '.join(sorted(answers))} |",
        flush=True,
    )
    return statistics.median(seconds)


def _read_busy(client: Any) -> dict[str, float]:
    """Processor seconds of every worker, or of this process."""
    return {"": time.process_time()} if client is None else dict(client.run(time.process_time))


def _kill_one(client: Any) -> None:
    with suppress(Exception):  # the fit may be over, and the client closed
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


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
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    medians = {}
    for n_workers in arguments.workers:
        if n_workers == 0:
            medians[0] = measure(arguments, None, 0)
            continue
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            medians[n_workers] = measure(arguments, client, n_workers)
    for n_workers, seconds in medians.items():
        if n_workers > 1 and 1 in medians:
            print(f"{n_workers} workers are {medians[1] / seconds:.2f} times as fast as 1")


if __name__ == "__main__":
    main()
