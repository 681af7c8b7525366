"""Tables in parts for tests, a cluster on this machine, and a client without one, which does everything at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array
import dask.dataframe as dd
import numpy as np
import pandas as pd


@contextmanager
def open_cluster() -> Iterator[Any]:
    """Two worker processes of one thread each, on loopback."""
    import distributed

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.worker.memory.terminate": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit="1GB"
        ) as cluster,
    ):
        yield cluster


@dataclass(frozen=True)
class Done:
    """What a future is once it is done."""

    value: Any
    key: str = "done"

    def result(self) -> Any:
        return self.value

    def add_done_callback(self, call: Any) -> None:
        call(self)


class PlainClient:
    """As much of a distributed client as a fit asks for."""

    def compute(self, tasks: Sequence[Any]) -> list[Done]:
        return [Done(value) for value in dask.compute(*tasks, scheduler="synchronous")]

    def gather(self, futures: Sequence[Done]) -> list[Any]:
        return [future.value for future in futures]

    def submit(self, function: Any, *arguments: Any, pure: bool = False) -> Done:
        return Done(function(*map(_resolve, arguments)))

    def who_has(self, futures: Sequence[Done]) -> dict[str, Any]:
        return {}

    def nthreads(self) -> dict[str, int]:
        return {"": 3}  # so that sums of several groups are joined


def _resolve(argument: Any) -> Any:
    if isinstance(argument, Done):
        return argument.value
    return [_resolve(value) for value in argument] if isinstance(argument, list) else argument


def cut(source: Any, ends: Sequence[int]) -> Any:
    """A frame, series or array as a dask collection whose partitions end at these rows; they may be empty."""
    places = [0, *ends, len(source)]
    rows = [slice(first, last) for first, last in pairwise(places)]
    if isinstance(source, np.ndarray):
        blocks = [dask.array.from_array(source[own], chunks=-1) for own in rows if own.stop > own.start]
        return dask.array.concatenate(blocks)
    return from_frames([source.iloc[own] for own in rows])


def from_frames(frames: Sequence[Any]) -> Any:
    """A collection of exactly these partitions, whatever they hold."""
    meta = frames[0].iloc[:0]
    return dd.from_delayed([dask.delayed(frame) for frame in frames], meta=meta, verify_meta=False)


def draw_ends(rng: np.random.Generator, n_rows: int, n_parts: int) -> list[int]:
    """Where partitions end, some of which have no rows."""
    return sorted(rng.integers(0, n_rows + 1, n_parts - 1).tolist())


def make_table(rng: np.random.Generator, n_rows: int, n_labels: int, weights: str) -> tuple[Any, Any, Any]:
    """A table of every sort of column with labels that follow them, and weights."""
    X = pd.DataFrame(
        {
            "many": rng.normal(size=n_rows),
            "few": rng.integers(0, 4, n_rows),
            "gaps": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows).round(1)),
            "flag": rng.random(n_rows) < 0.5,
            "word": rng.choice(np.array(["red", "green", "blue", None], dtype=object), n_rows),
            "size": pd.Categorical.from_codes(rng.integers(0, 4, n_rows), ["S", "M", "L", "XL"], ordered=True),
        }
    )
    score = (X["many"] > 0).astype(int) + X["flag"] + (X["word"] == "red") + (X["few"] > 1) + (X["gaps"] > 0)
    y = np.where(rng.random(n_rows) < 0.15, rng.integers(0, n_labels, n_rows), score % n_labels)
    amounts = {
        "none": lambda: None,
        "dyadic": lambda: rng.integers(0, 64, n_rows) / 8,
        "wild": lambda: 10.0 ** rng.uniform(-9, 9, n_rows),
        "real": lambda: rng.lognormal(size=n_rows),
    }[weights]()
    return X, pd.Series(np.array([f"class {label}" for label in y], dtype=object)), amounts
