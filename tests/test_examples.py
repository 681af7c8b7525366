"""Every example runs as it stands, and says what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

SAYS = {
    "weighted_certificate": ["status       optimal", "certificate  holds"],
    "messy_frame": ["optimal; written to churn.json and churn.png"],
    "regularization_path": ["leaves    loss"],
    "policy_budget": ["status  optimal", "certificate holds", "spend   value"],
}
WRITES = {
    "messy_frame": ["churn.json", "churn.png"],
    "regularization_path": ["path.png"],
    "policy_budget": ["budget.png"],
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
    )
    assert process.returncode == 0, process.stderr
    for words in SAYS[name]:
        assert words in process.stdout
    for file in WRITES.get(name, []):
        assert (tmp_path / file).stat().st_size > 0
