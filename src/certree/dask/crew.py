"""The cluster at work: passes over partitions, and sums that are added up where they are made.

Nothing that is needed later is scattered, so whatever a lost worker held can be made again: its coded rows from their
partition, sums from coded rows. Sums are whole numbers, so making them again changes nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, as_completed
from tqdm.auto import tqdm

from certree.dask import work
from certree.sums import Block, Branch, CodeTests, Found, LeafRule, weigh_cells

IN_FLIGHT = 3
"""Blocks of sums that are in the making at the same time."""
MOST_PICKS = 4096
"""Small tasks that one pass may take to send columns to different workers."""


@contextmanager
def naming(futures: Sequence[Any]) -> Iterator[None]:
    """What makes it impossible to compute a partition, such as a file that lacks a column, is said with its number."""
    try:
        yield
    except (LookupError, TypeError, ValueError) as error:
        part = next((part for part, future in enumerate(futures) if future.status == "error"), None)
        if part is None or str(error).startswith("partition "):
            raise
        cause = futures[part].exception()
        if str(cause).startswith("partition "):  # another one than was raised
            raise cause from error
        raise ValueError(f"partition {part} cannot be computed: {type(cause).__name__}: {cause}") from cause


@dataclass(frozen=True)
class Crew:
    """A client and how much it says."""

    client: Client
    verbose: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """What every step has taken so far, by name."""

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """A part of a step."""
        start = time.perf_counter()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start

    def run(self, tasks: Sequence[Any], what: str) -> list[Any]:
        """The results of delayed tasks; the first error is raised."""
        with self.timed(what):
            futures = self.client.compute(list(tasks))
            self._watch(futures, what)
            with naming(futures):
                return list(self.client.gather(futures))

    def hold(self, tasks: Sequence[Any]) -> list[Any]:
        """Futures of delayed tasks, whose results stay with the workers."""
        return list(self.client.compute(list(tasks)))

    def read(self, function: Any, futures: Sequence[Any], what: str) -> list[Any]:
        """What a small function says of results that stay with the workers."""
        with self.timed(what):
            found = [self.client.submit(function, future, pure=False) for future in futures]
            self._watch(found, what)
            with naming(futures):
                return list(self.client.gather(found))

    def read_columns(
        self, pick: Any, function: Any, futures: Sequence[Any], columns: Mapping[int, Any], what: str
    ) -> dict[int, Any]:
        """function(what all of the results hold of some columns, these) for groups of columns, side by side.

        The results may be large, and what the function says of them small: they travel between workers alone.
        """
        with self.timed(what):
            self._watch(futures, what)
            n_threads = sum(self.client.nthreads().values())
            n_groups = max(1, min(len(columns), n_threads, MOST_PICKS // len(futures)))
            asked = []
            for place in range(n_groups):
                own = {column: columns[column] for column in sorted(columns)[place::n_groups]}
                picked = futures
                if n_groups > 1:
                    picked = [self.client.submit(pick, future, tuple(own), pure=False) for future in futures]
                asked.append(self.client.submit(function, list(picked), own, pure=False))
            with naming(futures):
                return {column: said for found in self.client.gather(asked) for column, said in found.items()}

    def _watch(self, futures: Sequence[Any], what: str) -> None:
        if self.verbose:
            for _ in tqdm(as_completed(list(futures)), total=len(futures), desc=what, unit="partition"):
                pass

    def group(self, futures: Sequence[Any]) -> list[list[Any]]:
        """Results that lie with one worker, in as many groups as it has threads."""
        holders: Mapping[Any, Sequence[str]] = self.client.who_has(list(futures))
        n_threads: Mapping[str, int] = self.client.nthreads()
        groups: dict[tuple[str, int], list[Any]] = {}
        seen: dict[str, int] = {}
        for future in futures:
            address = next(iter(sorted(holders.get(future.key, ()))), "")
            place = seen[address] = seen.get(address, -1) + 1
            groups.setdefault((address, place % max(n_threads.get(address, 1), 1)), []).append(future)
        return list(groups.values())

    def fold(self, function: Any, groups: Sequence[Sequence[Any]], join: Any, *more: Any) -> Any:
        """function(group, *more) for every group, joined two by two: a future."""
        waiting = [self.client.submit(function, list(group), *more, pure=False) for group in groups]
        while len(waiting) > 1:
            pairs = [waiting[place : place + 2] for place in range(0, len(waiting), 2)]
            waiting = [self.client.submit(join, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs]
        return waiting[0]

    def weigh_blocks(
        self,
        groups: Sequence[Sequence[Any]],
        blocks: Sequence[Block],
        tests: CodeTests,
        rule: LeafRule,
        depth: int,
        grown: Branch | None = None,
        leaf: int = 0,
    ) -> Iterator[Found]:
        """What the sums of each block say: summed in groups, added up, weighed by a worker."""
        waiting: deque[Any] = deque()
        bar = tqdm(total=len(blocks), desc="sums", unit="block", disable=not self.verbose)
        with bar:
            for block in blocks:
                cells = self.fold(work.sum_parts, groups, work.add_sums, block, tests, grown, leaf)
                waiting.append(self.client.submit(weigh_cells, cells, block, tests, rule, depth, pure=False))
                del cells  # so that the workers may forget it
                if len(waiting) >= IN_FLIGHT:
                    yield waiting.popleft().result()
                    bar.update()
            while waiting:
                yield waiting.popleft().result()
                bar.update()
