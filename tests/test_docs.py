"""Every snippet of README and docs runs, and the commands of the README do what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")
from certree.cli import main
from certree.datasets import load_lalonde, make_policy, make_weighted

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets_of(page: Path) -> list[str]:
    """The Python of a page; what is shown with a prompt and its output is not there to be run."""
    found: list[str] = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [code for code in found if not code.startswith(">>>")]


def commands_of(page: Path) -> list[list[str]]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in re.findall(r"^    (certree (?:fit|verify) .*)$", text, re.MULTILINE)]


def prepare(page: Path) -> dict[str, object]:
    """What a page takes for granted."""
    if page.name == "scale.md":
        pytest.importorskip("dask.dataframe")
        made = make_weighted(400, 3, depth=2, random_state=0)
        Path("claims").mkdir()
        for part in range(2):
            frame = pd.DataFrame(made.data, columns=["age", "amount", "days"])[part::2]
            frame = frame.assign(fraud=made.target[part::2], weight=made.sample_weight[part::2])
            frame.to_parquet(f"claims/{part}.parquet")
    if page.name != "policies.md":
        return {}
    log = make_policy(300, 3, n_actions=3, depth=1, random_state=1)
    names = np.array(["none", "letter", "call"])
    X = pd.DataFrame(log.data, columns=["age", "income", "visits"])
    return {"X": X, "treatment": names[log.treatment], "outcome": log.outcome}


@pytest.mark.parametrize("page", [page for page in PAGES if snippets_of(page)], ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")
def test_the_snippets_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = prepare(page)
    try:
        for code in snippets_of(page):
            exec(compile(code, page.name, "exec"), names)
    finally:
        if "client" in names:
            names["client"].shutdown()


def test_the_commands_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = load_lalonde(as_frame=True)
    # The columns that the demo writes; what they hold is the business of its own test.
    extra = {"effect": 0.0, "standard_error": 1.0, "cost": 1.0}
    label = np.where(data.target > data.data["re75"], "2 treat", "0 do not treat")
    table = data.data.assign(treat=data.treatment, re78=data.target, label=label, weight=1.5, **extra)
    (tmp_path / "certree-demo").mkdir()
    table.to_csv("certree-demo/effects.csv", index=False)
    fit, verify = commands_of(ROOT / "README.md")
    assert main(fit) == 0
    assert "proved optimal among all trees of depth at most 3" in capsys.readouterr().out
    assert main(verify) == 0
    assert "the certificate holds" in capsys.readouterr().out


def test_every_page_is_on_the_site() -> None:
    """Each page is in a table of contents, so that `make docs` neither warns nor hides it."""
    contents = "\n".join(
        block
        for page in (ROOT / "docs").glob("*.md")
        for block in re.findall(r"```{toctree}(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
    listed = set(re.findall(r"([\w-]+)>?$", contents, re.MULTILINE))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= listed


def test_how_to_answers_the_usual_questions() -> None:
    headings = " ".join(
        re.findall(r"^## (.*)$", (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for word in (
        "depth", "penalty", "weights", "costs", "missing", "categories", "large tables", "experiment", "observational",
        "budget", "nearly as good", "pipelines", "grid searches", "certificate", "Deploy", "does not finish",
    ):  # fmt: skip
        assert word in headings


def test_pages_say_per_leaf() -> None:
    """One of the habits that made these pages hard to read."""
    wrong = re.compile(r"\b(λ|penalty|one|number|draws|dollars) (a|an) (leaf|row|action|column|fold|man)\b(?! must)")
    for page in PAGES:
        found = wrong.search(page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found.group()!r}"
