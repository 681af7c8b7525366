"""Measures contenders on a cell: each fit in a fresh process with a hard timeout, contenders in turn, medians.

Where contenders are ways of certree itself, they may take turns in one fresh process: what is compared is then close
in time, and start-up is paid once.

What takes minutes is remembered: a peer's measurement of 20 s or more is kept beside the results, under the peer's
version, the very bytes of the table, the parameters and the machine, with the day it was taken; the written table
names that day. certree itself is never remembered.
"""

from __future__ import annotations

import datetime
import json
import signal
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.adapters import CONTENDERS
from benchmarks.machine import describe
from benchmarks.tables import load

ROOT = Path(__file__).resolve().parent.parent
SLOW_SECONDS = 20.0


@dataclass(frozen=True)
class Request:
    """One fit."""

    contender: str
    table: str
    depth: int
    penalty: float
    weights: str = "unit"
    time_limit: float | None = None
    interrupt_after: float | None = None
    clock: str = "wall"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """What came of a request, over all its repeats."""

    seconds: float
    status: str
    """As the adapter says; "timeout" where the process was stopped, "unsupported", "failed"."""
    objective: float | None = None
    leaves: int | None = None
    repeats: int = 1
    notes: dict[str, float] = field(default_factory=dict)
    remark: str = ""
    remembered: str = ""
    """The day of the measurement, where it is not of this run."""

    @property
    def is_timeout(self) -> bool:
        return self.status in ("timeout", "time_limit")

    @property
    def has_figures(self) -> bool:
        return self.status not in ("unsupported", "failed")


def measure_once(request: Request) -> Measurement:
    """One fresh process. Its fits are ended when they take clearly more than the time limit asked for."""
    answer = _ask_worker(_plain(request))
    return _at_limit(answer, request) if isinstance(answer, Measurement) else Measurement(**answer)


def measure_together(requests: dict[str, Request], rounds: int) -> dict[str, Measurement]:
    """One fresh process in which the requests take turns."""
    answers = _ask_worker({"requests": [_plain(request) for request in requests.values()], "rounds": rounds})
    if isinstance(answers, Measurement):
        return {name: _at_limit(answers, request) for name, request in requests.items()}
    return {name: Measurement(**answer) for name, answer in zip(requests, answers, strict=True)}


def _at_limit(ended: Measurement, request: Request) -> Measurement:
    """What was stopped took its whole limit, and maybe more."""
    return replace(ended, seconds=request.time_limit or ended.seconds) if ended.is_timeout else ended


def _plain(request: Request) -> dict[str, Any]:
    limit = request.time_limit
    return asdict(request) | {"hard_seconds": None if limit is None else 1.05 * limit + 2}


def _ask_worker(question: dict[str, Any]) -> Any:
    """What a fresh worker answers, or a measurement that says why it did not."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if process.returncode == -signal.SIGALRM:
        return Measurement(float("nan"), "timeout")
    if process.returncode != 0:
        last = (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        return Measurement(float("nan"), "failed", remark=last)
    answer = json.loads(process.stdout.strip().splitlines()[-1])
    if "unsupported" in answer:
        return Measurement(float("nan"), "unsupported", remark=answer["unsupported"])
    return answer


class Peers:
    """Slow measurements of peers, remembered in a file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.entries: dict[str, dict[str, Any]] = {}
        if path is not None and path.is_file():
            self.entries = json.loads(path.read_text())

    @staticmethod
    def key(request: Request) -> str:
        machine = describe()
        parts = [
            request.contender, CONTENDERS[request.contender].version, request.table, load(request.table).digest,
            f"depth={request.depth}", f"penalty={request.penalty}", request.weights, f"limit={request.time_limit}",
            request.clock,
            machine["processor"], f"cores={machine['cores']}", *([str(request.options)] if request.options else []),
        ]  # fmt: skip
        return " | ".join(map(str, parts))

    def recall(self, request: Request) -> Measurement | None:
        if CONTENDERS[request.contender].package == "certree":
            return None
        entry = self.entries.get(self.key(request))
        return None if entry is None else Measurement(**entry)

    def keep(self, request: Request, measurement: Measurement) -> None:
        is_slow = measurement.has_figures and measurement.seconds >= SLOW_SECONDS
        if self.path is None or CONTENDERS[request.contender].package == "certree" or not is_slow:
            return
        today = datetime.date.today().isoformat()
        self.entries[self.key(request)] = asdict(replace(measurement, remembered=today))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(dict(sorted(self.entries.items())), indent=1) + "\n")


def measure(
    requests: dict[str, Request], repeats: int, peers: Peers, rivals: tuple[str, ...] = (), is_patient: bool = False
) -> dict[str, Measurement]:
    """Measures requests side by side: every round runs each of them once, in turn. A slow one is not repeated.

    Of `rivals` only the fastest matters: unless patient, one that has clearly lost to an earlier one is stopped.
    """
    runs: dict[str, list[Measurement]] = {name: [] for name in requests}
    for _ in range(repeats):
        for name, request in requests.items():
            done = runs[name]
            if done and (done[-1].remembered or not done[-1].has_figures or done[-1].seconds >= SLOW_SECONDS):
                continue
            remembered = peers.recall(request)
            if remembered is None and name in rivals and not is_patient:
                request = _stopped_when_lost(request, [runs[rival] for rival in rivals if rival != name])
            done.append(remembered or measure_once(request))
            if not remembered and request is requests[name]:
                peers.keep(request, done[-1])
    return {name: merge(done) for name, done in runs.items()}


def _stopped_when_lost(request: Request, rivals: list[list[Measurement]]) -> Request:
    finished = [run.seconds for runs in rivals for run in runs if run.status == "optimal"]
    if not finished:
        return request
    lost = 1.5 * min(finished) + 1
    return replace(request, time_limit=lost if request.time_limit is None else min(request.time_limit, lost))


def merge(runs: list[Measurement]) -> Measurement:
    """The median of repeats; of notes the largest. All repeats must find the same objective."""
    failed = [run for run in runs if not run.has_figures]
    if failed:
        return failed[0]
    optima = [run.objective for run in runs if run.status == "optimal" and run.objective is not None]
    if optima and max(optima) - min(optima) > 1e-9:
        return Measurement(float("nan"), "failed", remark=f"repeats disagree on the optimum: {sorted(optima)}")
    notes = {key: max(run.notes[key] for run in runs if key in run.notes) for key in runs[0].notes}
    return replace(runs[0], seconds=statistics.median(run.seconds for run in runs), repeats=len(runs), notes=notes)
