"""A fresh process that measures one contender on one cell, or all of a cell in turn: JSON in on standard input, JSON
out on the last line.

A tiny fit first, so that imports and first calls are not measured. A fit that takes milliseconds is repeated for a
while and the median taken; one that takes longer is measured once, and the parent repeats the whole process, unless
contenders take turns in it.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import adapters
from benchmarks.adapters import CONTENDERS, Outcome, UnsupportedError
from benchmarks.tables import load

SETTLED_SECONDS = 0.5
MOST_FITS = 15
LONG_SECONDS = 10.0
GUESS_SECONDS = 120.0
"""What guessing thresholds may take, which a contender does once and without a limit."""


def peak_megabytes() -> float:
    """The most memory this process held. Not getrusage: that figure survives exec, so it may be the parent's."""
    return _status_megabytes("VmHWM")


def held_megabytes() -> float:
    """The memory this process holds now. From here on its peak counts anew, where the system can forget an old one."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status_megabytes("VmRSS")


def _status_megabytes(field: str) -> float:
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prepare(request: dict[str, Any]) -> Callable[[], Outcome]:
    """The fit of a request, all that it needs lying ready."""
    adapters.use_clock(adapters.CLOCKS[request["clock"]])
    contender = CONTENDERS[request["contender"]]
    table, tiny, options = load(request["table"]), load("tiny"), request["options"]
    weights = table.weights(request["weights"])
    tiny_weights = None if weights is None else tiny.weights(request["weights"])
    contender.fit(tiny, 2, request["penalty"], tiny_weights, None, **options)

    def fit() -> Outcome:
        return contender.fit(table, request["depth"], request["penalty"], weights, request["time_limit"], **options)

    return fit


def end_process_after(seconds: float | None) -> None:
    """The kernel's own end: some libraries neither keep their limit nor let Python handle a signal."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)


def summarise(outcomes: list[Outcome]) -> dict[str, Any]:
    first = outcomes[0]
    return {
        "seconds": statistics.median(outcome.seconds for outcome in outcomes),
        "objective": first.objective,
        "status": first.status,
        "leaves": first.leaves,
        "notes": first.notes | {"fits": len(outcomes)},
    }


def is_settled(outcomes: list[Outcome], least: int = 1) -> bool:
    """Whether more fits would tell no more: long ones need few, short ones many."""
    return len(outcomes) >= least and (
        len(outcomes) >= MOST_FITS or sum(outcome.seconds for outcome in outcomes) >= SETTLED_SECONDS
    )


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out a request of `measure.Request`."""
    fit = prepare(request)
    before = {"held_megabytes": held_megabytes()}

    interrupted_at: list[float] = []
    if request["interrupt_after"] is not None:
        # A shell starts what runs in the background with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def interrupt() -> None:
            interrupted_at.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(request["interrupt_after"], interrupt)
        timer.daemon = True
        timer.start()

    end_process_after(request["hard_seconds"])
    outcomes: list[Outcome] = []
    started_at = time.perf_counter()
    while not is_settled(outcomes):
        outcomes.append(fit())
    end_process_after(None)
    answer = summarise(outcomes)
    answer["notes"] |= before | {"peak_megabytes": peak_megabytes()}
    if interrupted_at:
        answer["notes"]["interrupt_seconds"] = started_at + outcomes[0].seconds - interrupted_at[0]
    return answer


def run_together(requests: list[dict[str, Any]], rounds: int) -> list[dict[str, Any]]:
    """Carries out requests in turn, each as often as there are rounds (once, where that takes long)."""
    fits = [prepare(request) for request in requests]
    outcomes: list[list[Outcome]] = [[] for _ in requests]
    waiting = list(range(len(requests)))
    while waiting:
        for place in waiting:
            hard = requests[place]["hard_seconds"]
            end_process_after(hard and GUESS_SECONDS + hard)
            outcomes[place].append(fits[place]())
            end_process_after(None)
        waiting = [
            place
            for place in waiting
            if outcomes[place][0].seconds < LONG_SECONDS and not is_settled(outcomes[place], rounds)
        ]
    return [summarise(own) for own in outcomes]


def main() -> None:
    asked = json.load(sys.stdin)
    answer: Any
    try:
        answer = run_together(**asked) if "requests" in asked else run(asked)
    except UnsupportedError as reason:
        answer = {"unsupported": str(reason)}
    # Some libraries print while they fit; the answer is on a line of its own, the last one.
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
