"""Runs the cells of a plan that have no row yet, one at a time, each in a process of its own.

A library or a table that is not there is a row, too, until it is there.

The process of a cell is forked from this one, which has read the data and imported what all need: so a cell costs
milliseconds more than its fit, and whatever a rival does there, it cannot do here. The kernel ends a cell that spends
too much processor time; this process ends one that takes too long by the clock or holds too much memory.
"""

from __future__ import annotations

import ctypes
import datetime
import faulthandler
import importlib
import json
import math
import os
import resource
import select
import signal
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.adapters import CONTENDERS, UnsupportedError
from benchmarks.machine import describe
from benchmarks.paper.cell import prepare
from benchmarks.paper.ledger import Ledger, key_of
from benchmarks.paper.plan import Cell, Limits, Plan
from benchmarks.paper.sets import load_set
from benchmarks.tables import AbsentError

Work = Callable[[Callable[[], None]], dict[str, Any]]
SURE_SECONDS = 0.3
"""Of processor time, from which on a pace can be told."""
LOOK_SECONDS = 0.05
"""How often a cell's memory is looked at."""
SPARE_SECONDS = 60.0
"""What imports and judging may take beside the fit."""
GIGABYTE = 1 << 30
LACKING = ("missing", "absent")
"""Rows of what was not there: they do not count once it is."""


def run_plan(plan: Plan, path: Path, say: Callable[[str], None] = print) -> list[dict[str, str]]:
    """All rows of the plan, after those that were missing have been measured."""
    ledger, pace = Ledger(path), Pace()
    lacking = {key_of(row) for row in ledger.rows if row["status"] in LACKING}
    ledger.forget({cell.key for cell in plan.cells if cell.key in lacking and find_lack(cell) is None})
    missing = [cell for cell in plan.cells if cell.key not in ledger.done]
    say(f"{plan.name}: {len(plan.cells)} cells, {len(plan.cells) - len(missing)} done before")
    try:
        if missing:
            ledger.note(_say_where())
        for place, cell in enumerate(missing, start=1):
            row = ledger.append(cell.key, run_cell(cell, pace))
            left = estimate(missing[place:], ledger.rows)
            say(f"[{place}/{len(missing)}, {left / 60:.0f} min left] {cell}: {_words(row)}")
    finally:
        ledger.close()
    keys = {cell.key for cell in plan.cells}
    return [row for row in ledger.rows if key_of(row) in keys]


def _say_where() -> str:
    machine = describe()
    parts = (machine["processor"], f"{machine['cores']} cores", f"{machine['memory_gigabytes']} GB")
    return ", ".join([*parts, datetime.date.today().isoformat(), "one cell at a time"])


def _words(row: dict[str, str]) -> str:
    if not row["cpu"]:
        return f"{row['status']} {row['remark']}".strip()
    tested = f", test {float(row['test']):.3f}" if row["test"] else ""
    return f"{row['status']}, {float(row['cpu']):.3g} s, {row['leaves']} leaves{tested}"


def estimate(cells: list[Cell], rows: list[dict[str, str]]) -> float:
    """Seconds that cells will take: what the same method took at this depth, or what cells took at all."""
    took: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        seconds = float(row["took"] or 0)
        for key in ((row["set"], row["method"], row["depth"]), (row["method"], row["depth"]), ()):
            took[key].append(seconds)
    means = {key: sum(own) / len(own) for key, own in took.items()}

    def expect(cell: Cell) -> float:
        name, depth = cell.method.name, str(cell.depth)
        keys = ((cell.table, name, depth), (name, depth), ())
        return next((means[key] for key in keys if key in means), 1.0)

    return sum(map(expect, cells))


class Pace:
    """How many seconds pass while a second of processor time is spent: 1 on an idle machine.

    Libraries keep limits by the clock, and the limits of a plan are processor time.
    """

    def __init__(self) -> None:
        """Begins with the pace of a moment's idle work."""
        wall, cpu = time.perf_counter(), time.process_time()
        while time.process_time() < cpu + 0.02:
            pass
        self._ratios = [(time.perf_counter() - wall) / (time.process_time() - cpu)]

    def learn(self, figures: dict[str, Any]) -> None:
        if (figures.get("cpu") or 0.0) >= SURE_SECONDS:
            self._ratios = [*self._ratios[-8:], figures["wall"] / figures["cpu"]]

    def stretch(self, limits: Limits) -> float:
        """The seconds by the clock that are as good as the limit."""
        ratio = statistics.median(self._ratios)
        return limits.seconds * min(max(ratio, 1.0), limits.patience / 2)


def run_cell(cell: Cell, pace: Pace) -> dict[str, Any]:
    """The figures of a cell, whatever becomes of it."""
    started = time.perf_counter()
    figures = {"limit": cell.limits.seconds} | _find(cell, pace)
    pace.learn(figures)
    return figures | {"took": time.perf_counter() - started}


def find_lack(cell: Cell) -> dict[str, Any] | None:
    """What a cell needs and is not there, as the figures of its row."""
    contender = CONTENDERS.get(cell.method.contender)
    if contender is not None and not contender.is_installed:
        return {"status": "missing", "remark": f"{contender.package} is not installed"}
    try:
        load_set(cell.table)
    except AbsentError as reason:
        return {"status": "absent", "remark": str(reason)}
    return None


def _find(cell: Cell, pace: Pace) -> dict[str, Any]:
    lack = find_lack(cell)
    if lack is not None:
        return lack
    contender = CONTENDERS.get(cell.method.contender)
    figures: dict[str, Any] = {}
    if contender is not None:
        with suppress(metadata.PackageNotFoundError):
            figures["version"] = f"{contender.package} {contender.version}"
        fault = _import_once(contender.module)
        if fault is not None:
            return figures | fault
    return figures | run_apart(prepare(cell, pace.stretch(cell.limits)), cell.limits)


@cache
def _import_once(module: str) -> dict[str, Any] | None:
    """Imports a library here, so that no cell has to, once a process of its own has survived it; else what happened."""

    def work(begin: Callable[[], None]) -> dict[str, Any]:
        begin()
        importlib.import_module(module)
        return {"status": "imported"}

    found = run_apart(work, Limits(60.0, 4.0, 4.0))
    if found["status"] != "imported":
        return found
    importlib.import_module(module)
    return None


def run_apart(work: Work, limits: Limits) -> dict[str, Any]:
    """What work finds in a process of its own, or what became of it."""
    answers, answer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Threads that libraries have started are idle here, and the child does not use them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(answers)
        _be_child(work, limits, answer, parent)
    os.close(answer)
    try:
        content, ended = _listen(child, answers, limits)
    finally:
        os.close(answers)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if ended is not None:
        return ended
    try:
        found: dict[str, Any] = json.loads(content)
    except ValueError:
        return _describe_end(status, limits)
    return found


def _listen(child: int, answers: int, limits: Limits) -> tuple[bytes, dict[str, Any] | None]:
    """All that the child says until it closes its end; or how it was ended because a limit was reached."""
    content = b""
    patience = limits.patience * limits.seconds + SPARE_SECONDS
    until = time.monotonic() + patience
    while True:
        ready, _, _ = select.select([answers], [], [], LOOK_SECONDS)
        if ready:
            part = os.read(answers, 1 << 16)
            if not part:
                return content, None
            content += part
        elif time.monotonic() > until:
            return b"", {"status": "timeout", "remark": f"no answer after {patience:g} s by the clock"}
        elif _held_bytes(child) > limits.gigabytes * GIGABYTE:
            return b"", {"status": "memory", "remark": f"held more than {limits.gigabytes:g} GB"}


def _held_bytes(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * resource.getpagesize()


def _describe_end(status: int, limits: Limits) -> dict[str, Any]:
    """What became of a process that said nothing."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return {"status": "timeout", "remark": f"spent more than {2 * limits.seconds + 1:g} s of processor time"}
        return {"status": "crashed", "remark": signal.Signals(number).name}
    return {"status": "crashed", "remark": f"exit code {os.WEXITSTATUS(status)}"}


# The child ------------------------------------------------------------------------------------------------------------


def _be_child(work: Work, limits: Limits, answer: int, parent: int) -> NoReturn:
    """Never returns: whatever happens, this process ends here."""
    try:
        _die_with(parent)
        os.setsid()
        faulthandler.disable()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # What libraries print is nobody's answer.
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        _limit_memory(limits)
        with os.fdopen(answer, "w") as stream:
            stream.write(json.dumps(_answer(work, limits)))
        os._exit(0)
    finally:
        os._exit(70)


def _answer(work: Work, limits: Limits) -> dict[str, Any]:
    def begin() -> None:
        # Twice the limit: a library that keeps its own limit, by the clock, is not to be killed for a little more.
        spent = math.ceil(time.process_time() + 2 * limits.seconds + 1)
        resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 2))

    try:
        found = work(begin)
    except MemoryError:
        return {"status": "memory", "remark": f"asked for more than {limits.gigabytes:g} GB"}
    except UnsupportedError as reason:
        return {"status": "unsupported", "remark": str(reason)}
    except Exception as fault:
        return {"status": "failed", "remark": f"{type(fault).__name__}: {fault}"[:200]}
    if "detail" in found:
        found["detail"] = json.dumps(found["detail"], separators=(",", ":"))
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in found.items()}


def _die_with(parent: int) -> None:
    """Has the kernel end this process when its parent ends, even by a kill."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(70)


def _limit_memory(limits: Limits) -> None:
    """Twice the limit as addresses: many are reserved and never used, and what is held is looked at from outside."""
    most = int(2 * limits.gigabytes * GIGABYTE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
