"""How a fit on a table in parts scales: rows, workers and memory, beside a histogram booster on the same cluster.

    python -m benchmarks.scale --rows 10000000 --columns 20 --thresholds 32 --workers 1 2 --repeats 5

Every worker is a process of one thread on this machine. The table is made where it lies, from a seed, and persisted as
32-bit floats. Seconds are those of a whole fit; busy seconds are the processor time of the busiest worker and of this
process, which is client and scheduler; memory is the largest that any worker held while it ran.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import statistics
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from certree.dask import DaskSparseTreeClassifier


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


def read_peak() -> float:
    """Megabytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read_busy(client: Client) -> tuple[dict[str, float], float]:
    """Processor seconds of every worker, and of this process."""
    return dict(client.run(time.process_time)), time.process_time()


def fit_certree(X: Any, y: Any, weight: Any, thresholds: int) -> str:
    model = DaskSparseTreeClassifier(3, 0.001, thresholds=thresholds).fit(X, y, weight)
    passes, blocks = (model.statistics_[name] for name in ("passes", "blocks"))
    return f"{model.status_}, objective {model.objective_:.9f}, {passes} passes, {blocks} blocks"


def fit_xgboost(X: Any, y: Any, weight: Any, client: Client) -> str:
    import xgboost.dask as xgb

    table = xgb.DaskDMatrix(client, X, y, weight=weight)
    settings = {"tree_method": "hist", "objective": "binary:logistic", "max_depth": 6}
    xgb.train(client, settings, table, num_boost_round=100)
    return "100 trees"


def measure(arguments: argparse.Namespace, n_workers: int) -> None:
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=arguments.memory, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        table = make_table(arguments.rows, arguments.columns, arguments.parts)
        # Columns as 32-bit floats halve what is kept; labels and weights stay as they are.
        X, y, weight = client.persist([table[:, :-2].astype(np.float32), table[:, -2].astype(np.int8), table[:, -1]])
        client.gather(client.compute([part.sum() for part in (X, y, weight)]))
        runs: dict[str, Any] = {"certree": lambda: fit_certree(X, y, weight, arguments.thresholds)}
        if arguments.xgboost and importlib.util.find_spec("xgboost"):
            runs["xgboost"] = lambda: fit_xgboost(X, y, weight, client)
        for name, run in runs.items():
            seconds, busy, said = [], [], ""
            for _ in range(arguments.repeats):
                before, start = read_busy(client), time.perf_counter()
                try:
                    said = run()
                except Exception as error:  # a booster that exceeds the memory is a result
                    said = f"failed: {type(error).__name__}: {error}"
                seconds.append(time.perf_counter() - start)
                after = read_busy(client)
                workers = [now - before[0].get(address, 0.0) for address, now in after[0].items()]
                busy.append((max(workers), after[1] - before[1]))
            peak = max(client.run(read_peak).values())
            print(
                f"{name}: {arguments.rows} rows × {arguments.columns} columns × {arguments.thresholds} thresholds, "
                f"{n_workers} workers: {statistics.median(seconds):.1f} s (median of {len(seconds)}; "
                f"{' '.join(f'{own:.1f}' for own in seconds)}), busy {max(own for own, _ in busy):.1f} s and "
                f"{max(own for _, own in busy):.1f} s, {peak:.0f} MB; {said}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--thresholds", type=int, default=32)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--memory", default="2GB", help="of one worker")
    parser.add_argument("--xgboost", action="store_true", help="time its histogram booster as well")
    arguments = parser.parse_args()
    for n_workers in arguments.workers:
        measure(arguments, n_workers)


if __name__ == "__main__":
    main()
