"""Every example runs as it stands, and says what it promises."""

from __future__ import annotations

import importlib.util
import os
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


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    # Other packages' warnings are theirs.
    warnings = ["-W", "error"] if name not in NEEDS else []
    process = subprocess.run(
        [sys.executable, *warnings, str(EXAMPLES / f"{name}.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
    )
    assert process.returncode == 0, process.stderr
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        assert process.stdout.startswith("skipped: ")
        pytest.skip(process.stdout.strip())
    for words in SAYS[name]:
        assert words in process.stdout
    for file in WRITES.get(name, []):
        assert (tmp_path / file).stat().st_size > 0
