"""`certree report` as a command."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest

from certree.datasets import make_policy
from tests.commands import run, write


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 120))
    answer = np.where((a > 4) ^ (rng.random(120) < 0.1), "yes", "no")
    return write(tmp_path / "table.csv", ["a", "b", "w", "answer"], a, b, rng.random(120), answer)


def test_a_page_about_a_classifier(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, page = table.with_name("model.json"), table.with_name("page.html")
    notes = table.with_name("notes.md")
    notes.write_text("Only **tests**.", encoding="utf-8")
    facts = ("--label", "answer", "--weight", "w")
    assert run("fit", table, *facts, "--depth", "2", "--out", model) == 0
    own = ("report", model, table, *facts, "--out", page)
    assert run(*own, "--title", "A <b> page", "--notes", notes, "--name", "a=Age", "--unit", "a=years") == 0
    assert f"written to {page}: " in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    for words in (
        "A &lt;b&gt; page",
        "Only <strong>tests</strong>",
        "Age at most 4.5 years",
        "all figures of the tree hold",
    ):
        assert words in text
    assert run(*own, "--force", "--hide-below", "50", "--progress", "--group", "b") == 0
    assert "Rates and errors by group" in page.read_text(encoding="utf-8")
    assert "<h1>answer: a decision tree and its proof</h1>" in page.read_text(encoding="utf-8")
    assert "other trees as good" in capsys.readouterr().err
    assert "fewer than 50 rows" in page.read_text(encoding="utf-8")
    assert run(*own) == 2
    assert "the file exists" in capsys.readouterr().err
    assert run(*own, "--force", "--notes", page) == 2
    assert "never replaced" in capsys.readouterr().err
    assert run("report", model, table, "--out", table.with_name("other.html")) == 2
    assert "name their column with --label" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(*own, "--force", "--name", "Age")
    assert "such as age=Age" in capsys.readouterr().err


def test_a_page_about_a_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = make_policy(120, 2, n_actions=2, n_values=5, random_state=1)
    log = write(tmp_path / "log.csv", ["x0", "x1", "got", "came"], *drawn.data.T, drawn.treatment, drawn.outcome)
    model, page, scores = tmp_path / "model.json", tmp_path / "page.html", tmp_path / "scores.csv"
    facts = ("--treatment", "got", "--outcome", "came", "--propensity", "0=0.5", "1=0.5")
    assert run("policy", log, *facts, "--depth", "1", "--folds", "3", "--out", model, "--scores", scores) == 0
    own = ("--group", "x1", "--reward-unit", "dollars")
    assert run("report", model, log, *facts, "--folds", "3", "--out", page, *own) == 0
    text = page.read_text(encoding="utf-8")
    assert "all figures of the tree hold" in text
    assert "Rates and worth by group" in text
    assert "Rewards and gains are in dollars." in text
    assert "Mean reward (dollars)" in text
    rewards = ("--rewards", "reward of 0", "reward of 1")
    assert run("report", model, scores, *rewards, "--out", page, "--force", "--time-limit", "0") == 0
    assert "pass a policy.Log" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    assert run("report", model, log, "--outcome", "came", "--out", page, "--force") == 2
    assert "--outcome needs --treatment" in capsys.readouterr().err
    assert run("report", model, log, "--out", page, "--force") == 2
    assert "is a policy: name the --treatment and --outcome" in capsys.readouterr().err


def read_command(page: Path) -> str:
    """What the page says that checks its certificate."""
    found = re.search(r'<code class="command">(.*?)</code>', page.read_text(encoding="utf-8"))
    assert found
    return html.unescape(re.sub(r"</?span>", "", found.group(1)))


def test_the_command_that_the_page_names_checks_the_certificate(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "model.json", tmp_path / "page.html"
    facts = ("--label", "answer", "--weight", "w")
    assert run("fit", table, *facts, "--depth", "2", "--out", model) == 0
    assert run("report", model, table, *facts, "--out", page, "--time-limit", "0") == 0
    assert read_command(page) == "certree verify model.json data.csv --label ... --weight ... --prove"
    assert run("verify", model, table, *facts, "--prove") == 0
    # A policy whose leaves need rows of every arm cannot be checked without the arms.
    drawn = make_policy(120, 2, n_actions=2, n_values=5, random_state=1)
    log = write(tmp_path / "log.csv", ["x0", "x1", "got", "came"], *drawn.data.T, drawn.treatment, drawn.outcome)
    scores = tmp_path / "scores.csv"
    facts = ("--treatment", "got", "--outcome", "came", "--propensity", "0=0.5", "1=0.5", "--folds", "3")
    own = ("--depth", "1", "--min-samples-arm", "5", "--out", model, "--scores", scores, "--force")
    assert run("policy", log, *facts, *own) == 0
    assert run("report", model, log, *facts, "--out", page, "--force", "--time-limit", "5") == 0
    assert read_command(page) == "certree verify model.json data.csv --rewards ... --treatment ... --prove"
    rewards = ("--rewards", "reward of 0", "reward of 1")
    assert run("verify", model, scores, *rewards, "--treatment", "got", "--prove") == 0
    assert run("verify", model, scores, *rewards, "--prove") == 2
