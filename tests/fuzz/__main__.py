"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass

from .case import Case
from .families import FAMILIES, check, draw
from .shrink import shrink

BATCH = 25
"""Cases of one family that a process takes at a time."""
MOST_FAILURES = 10
"""After so many the run ends."""


@dataclass(frozen=True)
class Batch:
    """What came of some cases of one family."""

    family: str
    cases: int
    seconds: float
    """Of processor time."""
    failures: tuple[str, ...]


def run_batch(family: str, first: int, cases: int) -> Batch:
    started = time.process_time()
    failures = []
    for seed in range(first, first + cases):
        case = draw(family, seed)
        error = find_failure(family, case)
        if error is not None:
            failures.append(describe(family, seed, case, error))
    return Batch(family, cases, time.process_time() - started, tuple(failures))


def find_failure(family: str, case: Case) -> Exception | None:
    """How a case fails; None where it does not."""
    try:
        check(family, case)
    except Exception as error:
        return error
    return None


def describe(family: str, seed: int, case: Case, first: Exception) -> str:
    """How to see a failure again, the smallest case that shows it, and what it says there."""
    small = shrink(case, lambda other: type(find_failure(family, other)) is type(first))
    error = find_failure(family, small)
    # What a clock decides may not happen again.
    told = "" if error is not None else "The shrunk case passes when it is run again. At first there was:\n"
    told += "".join(traceback.format_exception(error or first, limit=-2))
    return f"FAILED: python -m tests.fuzz --family {family!r} --seed {seed} --cases 1\n{small}\n{told}"


def batches(names: list[str], first: int, cases: int | None) -> Iterator[tuple[str, int, int]]:
    """Batches of all families in proportion to their shares: family, first seed, cases."""
    given: Counter[str] = Counter()
    total = 0
    while cases is None or total < cases:
        shares = {name: FAMILIES[name].share for name in names}
        name = min(names, key=lambda name: given[name] / shares[name])
        size = BATCH if cases is None else min(BATCH, cases - total)
        yield name, first + given[name], size
        given[name] += size
        total += size


def run(names: list[str], first: int, cases: int | None, minutes: float | None, processes: int) -> int:
    """Prints what was run and what failed; the exit code."""
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    failures: list[str] = []
    todo = batches(names, first, cases)
    is_over = False
    with ProcessPoolExecutor(processes) as pool:
        pending = set()
        while True:
            while not is_over and len(pending) < 2 * processes:
                batch = next(todo, None)
                if batch is None:
                    is_over = True
                else:
                    pending.add(pool.submit(run_batch, *batch))
            if not pending:
                break
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                found = future.result()
                counts[found.family] += found.cases
                seconds[found.family] += found.seconds
                for failure in found.failures:
                    print(failure, flush=True)
                failures += found.failures
            is_late = minutes is not None and time.perf_counter() - started > 60 * minutes
            is_over = is_over or is_late or len(failures) >= MOST_FAILURES
    elapsed = time.perf_counter() - started
    for name in names:
        if counts[name]:
            each = 1000 * seconds[name] / counts[name]
            print(f"{name:16} {counts[name]:9,d} cases  {each:7.1f} ms of processor time per case")
    print(
        f"{'all':16} {counts.total():9,d} cases in {elapsed:.0f} s: {counts.total() / elapsed:.0f} cases per second, "
        f"{len(failures)} failures"
    )
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description="Random problems through the Python API.")
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), metavar="NAME",
                        help=f"one or more of: {', '.join(FAMILIES)}")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="the first seed of every family")
    parser.add_argument("--cases", type=int, help="so many cases in all")
    parser.add_argument("--minutes", type=float, help="so many minutes; 2 unless --cases is given")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    minutes = 2.0 if options.cases is None and options.minutes is None else options.minutes
    return run(options.family, options.seed, options.cases, minutes, options.processes)


if __name__ == "__main__":
    sys.exit(main())
