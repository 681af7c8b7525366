"""One long search shared by the workers of a cluster, and by none.

    python -m benchmarks.long_search --table broward --depth 4 --penalty 0.002 --workers 0 1 2 --repeats 5

Every worker is a process of one thread on this machine; 0 is the search without a cluster, on one thread. Seconds are
those of a whole fit; busy seconds are the processor time of all workers together.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import nullcontext
from typing import Any

from distributed import Client, LocalCluster

from benchmarks.tables import load
from certree import SparseTreeClassifier
from certree.dask import spread


def measure(arguments: argparse.Namespace, client: Any, n_workers: int) -> None:
    table = load(arguments.table)
    seconds, busy, said = [], [], ""
    for _ in range(arguments.repeats):
        start, before = time.perf_counter(), _read_busy(client)
        with nullcontext() if client is None else spread(client):
            model = SparseTreeClassifier(arguments.depth, arguments.penalty, time_limit=arguments.seconds)
            model.fit(table.X, table.y)
        seconds.append(time.perf_counter() - start)
        busy.append(_read_busy(client) - before)
        looks = model.statistics_["looks_elsewhere"]
        said = f"{model.status_}, objective {model.objective_!r}, bound {model.lower_bound_!r}, {looks} looks elsewhere"
    print(
        f"{arguments.table} depth {arguments.depth}, penalty {arguments.penalty}, {n_workers} workers: "
        f"{statistics.median(seconds):.1f} s (median of {len(seconds)}), busy {statistics.median(busy):.1f} s; {said}",
        flush=True,
    )


def _read_busy(client: Any) -> float:
    return time.process_time() if client is None else sum(client.run(time.process_time).values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="broward")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--penalty", type=float, default=0.002)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=None, help="a time limit")
    arguments = parser.parse_args()
    for n_workers in arguments.workers:
        if n_workers == 0:
            measure(arguments, None, 0)
            continue
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            measure(arguments, client, n_workers)


if __name__ == "__main__":
    main()
