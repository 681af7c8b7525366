"""Every example runs as it stands, and says what it promises."""

from __future__ import annotations

import importlib.util
import os
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

SAYS: dict[str, Sequence[str]] = {
    "weighted_certificate": ["status       optimal", "certificate  holds"],
    "messy_frame": ["'unknown' (row 17)", "optimal; written to churn.json and churn.png"],
    "regularization_path": ["leaves    loss"],
    "good_trees": ["complete: True", "every good tree needs it", "get the same answer from all of them"],
    "policy_budget": ["status  optimal", "certificate holds", "spend   value"],
    "policy_from_log": ["optimal: no policy tree of depth 2", "The policy gains", "rows unseen in learning"],
    **dict.fromkeys(
        ["scores_from_grf", "scores_from_econml", "scores_from_doubleml", "scores_from_causalml"],
        ("optimal; ", "of rows get the planted action"),
    ),
}
NEEDS = {"scores_from_econml": "econml", "scores_from_doubleml": "doubleml", "scores_from_causalml": "causalml"}
"""Packages that are not ours to ask for: without them an example says so and ends."""
WRITES = {
    "messy_frame": ["churn.json", "churn.png"],
    "regularization_path": ["path.png"],
    "policy_budget": ["budget.png"],
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


def run_here(script: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What an example prints, run in this process: a fresh one would spend its time on imports."""
    monkeypatch.setattr(sys, "argv", [str(script), str(folder)])
    runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out


def run_apart(script: Path, folder: Path, options: Sequence[str] = ()) -> str:
    """What an example prints, run as a user would run it."""
    process = subprocess.run(
        [sys.executable, *options, str(script), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def check_promises(name: str, printed: str, folder: Path) -> None:
    for words in SAYS[name]:
        assert words in printed
    for file in WRITES.get(name, []):
        assert (folder / file).stat().st_size > 0


@pytest.mark.parametrize("name", sorted(SAYS.keys() - NEEDS.keys()))
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_promises(name, run_here(EXAMPLES / f"{name}.py", tmp_path, monkeypatch, capsys), tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "messy_frame" else pytest.mark.long)
        for name in sorted(SAYS.keys() - NEEDS.keys())
    ],
)
def test_an_example_runs_as_it_stands(name: str, tmp_path: Path) -> None:
    check_promises(name, run_apart(EXAMPLES / f"{name}.py", tmp_path, ["-W", "error"]), tmp_path)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_of_another_package(name: str, tmp_path: Path) -> None:
    # Other packages' warnings are theirs.
    printed = run_apart(EXAMPLES / f"{name}.py", tmp_path)
    if importlib.util.find_spec(NEEDS[name]) is None:
        assert printed.startswith("skipped: ")
        pytest.skip(printed.strip())
    check_promises(name, printed, tmp_path)
