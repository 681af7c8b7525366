"""Deliberate breakages of the engine and of the package, each of which some test must catch: `make mutants`.

Every mutant of `mutants.toml` is made in a copy of the tree, built, and run against what is to catch it: the engine's
fuzzer and its test, or the test files that it names. A mutant that nothing catches is a test that is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
COPIED = ("CMakeLists.txt", "cpp", "src", "tests", "pyproject.toml", "README.md", "examples", "docs")
CASES = 40_000
"""Of the fuzzer, from one seed."""
MOST_SECONDS = 300
"""A catcher that spends more processor time hangs, and so the mutant is caught. A slow machine catches nothing."""
PATIENCE = 8
"""So many times as many seconds may pass by the clock, for a mutant that waits without end."""

NOT_BUILT = "does not build"
"""Said of a mutant that the compiler catches, which shows nothing about the tests."""

# The copy's package in place of the installed one, also where that is an editable one that finds itself first.
RUN_PYTEST = """
import sys
sys.path.insert(0, "src")
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
import pytest
sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[1:]]))
"""


@dataclass(frozen=True)
class Mutant:
    """One breakage."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    """The files that are to catch it; the engine's own tests where there are none."""

    def apply(self, text: str) -> str:
        """The broken text of its file."""
        n = text.count(self.old)
        if n != 1:
            raise ValueError(f"mutant {self.name!r}: its old text stands {n} times in {self.file}, not once")
        return text.replace(self.old, self.new)


def read_mutants() -> list[Mutant]:
    """All of them, in the order of the list."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in entries]


class Lane:
    """A copy of the tree with a build of its own, in which one mutant at a time is made."""

    def __init__(self, place: Path) -> None:
        self.tree, self.build = place / "tree", place / "build"
        for name in COPIED:
            _refresh(ROOT / name, self.tree / name)
        self._take_engine(self._find_engine())
        tools = ["-G", "Ninja"] if shutil.which("ninja") else []
        if shutil.which("ccache"):
            tools.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        # Little optimisation: most of the time is the compiler's.
        self._must(
            "cmake", "-S", self.tree, "-B", self.build, *tools, "-DCERTREE_TESTS=ON", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
            "-DSKBUILD=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={self._ask_nanobind()}",
        )  # fmt: skip

    @staticmethod
    def _ask_nanobind() -> str:
        command = [sys.executable, "-m", "nanobind", "--cmake_dir"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @staticmethod
    def _find_engine() -> Path:
        """The compiled module of the installed package."""
        engine = importlib.util.find_spec("certree._engine")
        assert engine is not None
        assert engine.origin is not None
        return Path(engine.origin)

    def _take_engine(self, module: Path) -> None:
        """Has the copy's package use a compiled module."""
        package = self.tree / "src" / "certree"
        for old in package.glob("_engine.*so"):
            old.unlink()
        shutil.copy2(module, package)

    def catch(self, tests: Sequence[str]) -> str:
        """What fails on the tree as it stands; empty where nothing does."""
        if tests:
            found = (self._fault(test, sys.executable, "-c", RUN_PYTEST, test) for test in tests)
            return next(filter(None, found), "")
        fuzz = [self.build / "engine_fuzz", "--cases", CASES, "--seed", 1, "--threads", 1]
        for target, command in (("engine_fuzz", fuzz), ("engine_test", [self.build / "engine_test", ""])):
            if not self._builds(target):
                return NOT_BUILT
            fault = self._fault(target, *command)
            if fault:
                return fault
        return ""

    def try_mutant(self, mutant: Mutant) -> str:
        """What catches a mutant; empty where nothing does."""
        path = self.tree / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.apply(text), encoding="utf-8")
        is_compiled = bool(mutant.tests) and mutant.file.startswith("cpp/")
        try:
            if is_compiled:
                # What Python tests are to catch must have got into the module that they import.
                if not self._builds("_engine"):
                    return NOT_BUILT
                self._take_engine(next(self.build.glob("_engine.*so")))
            return self.catch(mutant.tests)
        finally:
            path.write_text(text, encoding="utf-8")
            if is_compiled:
                self._take_engine(self._find_engine())

    def _builds(self, target: str) -> bool:
        """Whether a target builds, however long that takes: a mutant cannot make the compiler hang, a slow machine can
        take long."""
        command = ["cmake", "--build", str(self.build), "--target", target]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def _must(self, *command: object) -> None:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(str(word) for word in command)} failed:\n{done.stdout}{done.stderr}")

    def _fault(self, catcher: str, *command: object) -> str:
        """The catcher's name where its command fails or hangs. One failed test is enough: it is ended at the first."""
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            [str(word) for word in command], cwd=self.tree, env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
            # A mutant may also wait without a word, which takes no processor time.
            alarm = threading.Timer(PATIENCE * MOST_SECONDS, process.kill)
            alarm.start()
            try:
                for line in process.stdout:
                    if line.startswith(("FAIL ", "seed ")):
                        process.kill()
                        return catcher
                status = process.wait()
            finally:
                alarm.cancel()
        if status in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"{catcher}, which hangs"
        return catcher if status != 0 else ""


def _refresh(source: Path, target: Path) -> None:
    """Copies what changed, so that what did not is not compiled again."""
    if source.is_dir():
        names = {path.name for path in source.iterdir() if path.name != "__pycache__"}
        target.mkdir(parents=True, exist_ok=True)
        for path in target.iterdir():
            if path.name not in names and path.suffix != ".so":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in names:
            _refresh(source / name, target / name)
    elif not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def run(mutants: Sequence[Mutant], lanes: int) -> int:
    """Tries all mutants and prints what caught each; 1 where one survived."""
    for mutant in mutants:
        mutant.apply((ROOT / mutant.file).read_text(encoding="utf-8"))
    place = ROOT / "build" / "mutants"
    free: queue.Queue[Lane] = queue.Queue()
    started = time.monotonic()

    def open_lane(number: int) -> Lane:
        return Lane(place / str(number))

    def with_lane(job: Callable[[Lane], str]) -> tuple[str, float]:
        lane = free.get()
        begun = time.monotonic()
        try:
            return job(lane), time.monotonic() - begun
        finally:
            free.put(lane)

    def try_whole(tests: tuple[str, ...]) -> str:
        return with_lane(lambda lane: lane.catch(tests))[0]

    def try_one(mutant: Mutant) -> tuple[str, float]:
        return with_lane(lambda lane: lane.try_mutant(mutant))

    survivors = []
    with ThreadPoolExecutor(lanes) as pool:
        for lane in pool.map(open_lane, range(lanes)):
            free.put(lane)
        # What fails without a mutant would catch every one.
        for catcher in pool.map(try_whole, sorted({mutant.tests for mutant in mutants})):
            if catcher:
                raise RuntimeError(f"{catcher} fails without a mutant")
        print(f"nothing fails without a mutant ({time.monotonic() - started:.0f} s)", flush=True)
        for mutant, (catcher, seconds) in zip(mutants, pool.map(try_one, mutants), strict=True):
            print(f"{seconds:6.1f} s  {catcher or 'SURVIVED':28}  {mutant.file}: {mutant.name}", flush=True)
            if catcher in ("", NOT_BUILT):
                survivors.append(mutant)
    for mutant in survivors:
        print(f"SURVIVED: {mutant.name} ({mutant.file}): {mutant.breaks}")
    caught = len(mutants) - len(survivors)
    print(f"{caught} of {len(mutants)} mutants caught in {time.monotonic() - started:.0f} s")
    return 1 if survivors else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose file or name contains this")
    parser.add_argument("--after", default="", help="mutants that stand in the list behind the one of this name")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="copies of the tree at work at once")
    arguments = parser.parse_args()
    mutants = read_mutants()
    names = [mutant.name for mutant in mutants]
    if arguments.after and arguments.after not in names:
        parser.error(f"no mutant is named {arguments.after!r}")
    first = names.index(arguments.after) + 1 if arguments.after else 0
    chosen = [mutant for mutant in mutants[first:] if arguments.only in f"{mutant.file}: {mutant.name}"]
    if not chosen:
        parser.error(f"no mutant is named like {arguments.only!r}")
    return run(chosen, arguments.lanes)


if __name__ == "__main__":
    sys.exit(main())
