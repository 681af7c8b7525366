"""A fresh process that measures one contender on one cell: JSON in on standard input, JSON out on the last line.

A tiny fit first, so that imports and first calls are not measured. A fit that takes milliseconds is repeated for a
while and the median taken; one that takes longer is measured once, and the parent repeats the whole process.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import adapters
from benchmarks.adapters import CONTENDERS, Outcome, UnsupportedError
from benchmarks.tables import load

SETTLED_SECONDS = 0.5
MOST_FITS = 15


def peak_megabytes() -> float:
    """The most memory this process ever held. Not getrusage: that figure survives exec, so it may be the parent's."""
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out a request of `measure.Request`."""
    adapters.clock = adapters.CLOCKS[request["clock"]]
    contender = CONTENDERS[request["contender"]]
    table, options = load(request["table"]), request["options"]
    depth, penalty = request["depth"], request["penalty"]
    weights = table.weights(request["weights"])

    tiny = load("tiny")
    contender.fit(tiny, 2, 0.01, None if weights is None else tiny.weights(request["weights"]), None)
    before_megabytes = peak_megabytes()

    interrupted_at: list[float] = []
    if request["interrupt_after"] is not None:

        def interrupt() -> None:
            interrupted_at.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(request["interrupt_after"], interrupt)
        timer.daemon = True
        timer.start()

    if request["hard_seconds"] is not None:
        # The kernel's own end of the process: some libraries neither keep their limit nor let Python handle a signal.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, request["hard_seconds"])
    outcomes: list[Outcome] = []
    started_at = time.perf_counter()
    while len(outcomes) < MOST_FITS and sum(outcome.seconds for outcome in outcomes) < SETTLED_SECONDS:
        outcomes.append(contender.fit(table, depth, penalty, weights, request["time_limit"], **options))
    signal.setitimer(signal.ITIMER_REAL, 0)
    answer = asdict(replace(outcomes[0], seconds=statistics.median(outcome.seconds for outcome in outcomes)))
    answer["notes"] |= {"fits": len(outcomes), "peak_megabytes": peak_megabytes(), "before_megabytes": before_megabytes}
    if interrupted_at:
        answer["notes"]["interrupt_seconds"] = started_at + outcomes[0].seconds - interrupted_at[0]
    return answer


def main() -> None:
    request = json.load(sys.stdin)
    try:
        answer = run(request)
    except UnsupportedError as reason:
        answer = {"unsupported": str(reason)}
    # Some libraries print while they fit; the answer is on a line of its own, the last one.
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
