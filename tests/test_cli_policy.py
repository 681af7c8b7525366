"""`certree policy`, and what predict, show and verify do with its models."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certree
import certree.cli.program
from certree import PolicyTree, cli
from certree.datasets import make_policy

NAMES = np.array(["none", "letter", "call"])


@pytest.fixture(scope="module")
def log() -> Any:
    return make_policy(400, 3, n_actions=3, depth=1, effect=2.0, n_values=6, logging="confounded", random_state=3)


def write(path: Path, header: list[str], *columns: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *zip(*(column.tolist() for column in columns), strict=True)])
    return path


@pytest.fixture
def rewards(log: Any, tmp_path: Path) -> Path:
    return write(tmp_path / "rewards.csv", ["x0", "x1", "x2", *NAMES, "arm"], *log.data.T, *log.expected.T,
                 NAMES[log.treatment])  # fmt: skip


@pytest.fixture
def logged(log: Any, tmp_path: Path) -> Path:
    return write(tmp_path / "log.csv", ["x0", "x1", "x2", "got", "came"], *log.data.T, NAMES[log.treatment],
                 log.outcome)  # fmt: skip


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


def test_from_rewards(log: Any, rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "policy.json"
    assert run("policy", rewards, "--rewards", *NAMES, "--ignore", "arm", "--regularization", 0.01, "--out", path) == 0
    printed = capsys.readouterr().out
    model = certree.load(path)
    assert isinstance(model, PolicyTree)
    own = PolicyTree(2, 0.01).fit(log.data, log.expected)
    assert model.value_ == pytest.approx(own.value_)
    assert "proved optimal among all policy trees of depth at most" in printed
    assert f"= mean reward {model.value_:.10g} − 0.01 × {model.n_leaves_} leaves" in printed
    assert "loss" not in printed
    assert "mean reward" in printed.splitlines()[0]
    assert "on rows that it has not seen" not in printed

    assert run("predict", path, rewards, "--no-ids") == 0
    assert capsys.readouterr().out.split()[1:] == NAMES[own.predict(log.data)].tolist()
    assert run("show", path, "--plot", tmp_path / "policy.png") == 0
    assert "upper bound" in capsys.readouterr().out
    assert (tmp_path / "policy.png").stat().st_size > 0
    # In any order: the columns are called as the actions.
    assert run("verify", path, rewards, "--rewards", "call", "none", "letter", "--prove") == 0
    verified = capsys.readouterr().out
    assert "the certificate holds, its bound included" in verified
    # The objective is that of `policy` and `show`: in units of the rewards.
    objective = re.search(r"objective +(\S+) = mean reward", printed)
    assert objective
    assert f"  objective    {objective.group(1)}  (certificate: {objective.group(1)})" in verified
    assert f"an objective above {objective.group(1)}" in verified


def test_a_false_policy_is_found_out(rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "policy.json"
    assert run("policy", rewards, "--rewards", *NAMES, "--ignore", "arm", "--out", path) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    document["certificate"]["policy"]["value"] += 1
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run("verify", path, rewards, "--rewards", *NAMES) == 1
    assert "value of the policy is" in capsys.readouterr().out


def test_from_a_log(log: Any, logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, scores = tmp_path / "policy.json", tmp_path / "scores.csv"
    code = run(
        "policy", logged, "--treatment", "got", "--outcome", "came", "--depth", 1, "--costs", "none=0", "letter=0.1",
        "call=0.2", "--control", "none", "--group", "x2", "--folds", 3, "--min-samples-arm", 5, "--out", path,
        "--scores", scores, "--leaves",
    )  # fmt: skip
    assert code == 0
    printed = capsys.readouterr().out
    assert "Doubly robust scores of 400 rows and 3 actions." in printed
    assert "at least 5 rows of every arm per leaf" in " ".join(printed.split())
    assert "on rows that it has not seen" in printed
    assert "The policy gains" in printed
    assert "of 3 folds" in printed
    assert printed.count("mean reward") > 6
    model = certree.load(path)
    assert set(model.actions_) == set(NAMES)
    # The scores are what the model was fitted on, so that the certificate can be checked.
    columns = [f"reward of {action}" for action in model.actions_]
    assert run("verify", path, scores, "--rewards", *columns, "--treatment", "got") == 0
    assert run("verify", path, scores, "--rewards", *columns[::-1], "--treatment", "got") == 1


def test_the_rule_the_people_and_the_gain_come_first(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policy", logged, "--treatment", "got", "--outcome", "came", "--depth", 1, "--folds", 3) == 0
    printed = capsys.readouterr().out
    order = ["├── ", "gives ", "The policy gains", "proved optimal", "Doubly robust scores"]
    places = [printed.index(words) for words in order]
    assert places == sorted(places)
    # No leaves of policies that nobody asked for, and none of a single row.
    assert "learned without a fold" not in printed
    assert "at least 10 rows per leaf" in " ".join(printed.split())


def test_rows_without_an_outcome_are_named_or_dropped(
    logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = logged.read_text(encoding="utf-8").splitlines()
    for row in (3, 7):
        lines[row] = lines[row].rpartition(",")[0] + ","
    logged.write_text("\n".join(lines), encoding="utf-8")
    fit = ("policy", logged, "--treatment", "got", "--outcome", "came", "--depth", 1, "--folds", 3)
    assert run(*fit) == 2
    assert (
        "log.csv, line 4, line 8: no value in column 'came'; --drop-missing leaves such rows out"
        in capsys.readouterr().err
    )
    assert run(*fit, "--drop-missing") == 0
    assert "left out 2 of 400 rows: 2 without 'came'" in capsys.readouterr().err


def test_only_the_largest_leaves_are_printed(
    log: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = certree.policy.evaluate(PolicyTree(1), log.data, NAMES[log.treatment], log.outcome, random_state=0)
    rows = sorted((leaf.rows for leaf in found.leaves), reverse=True)
    assert (len(rows), sum(rows)) == (2, 400)
    cli.policy.print_leaves(found)
    assert "more, with" not in capsys.readouterr().out
    monkeypatch.setattr(cli.policy, "MOST_LEAVES", 1)
    cli.policy.print_leaves(found)
    printed = capsys.readouterr().out
    assert "learned without a fold, the largest\n" in printed
    assert f"    {rows[0]} rows (" in printed
    assert f"  and 1 more, with {rows[1]} rows\n" in printed


def test_budgets(rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "policy.json"
    spends = ("--spends", "none=0", "letter=1", "call=5")
    fit = ("policy", rewards, "--rewards", *NAMES, "--ignore", "arm", "--depth", 1, "--budget", 0.3)
    assert run(*fit, *spends, "--out", path) == 0
    printed = capsys.readouterr().out
    assert "per row, at most 0.3; one more unit is worth" in printed
    assert "  spends       none: 0, letter: 1, call: 5\n" in printed
    for stated in (spends, ()):
        assert run("verify", path, rewards, "--rewards", *NAMES, *stated) == 0
    assert run("verify", path, rewards, "--rewards", *NAMES, "--spends", "none=0", "letter=9", "call=9") == 1


def test_a_budget_asks_what_actions_spend(
    rewards: Path, logged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "policy.json"
    rewarded = ("policy", rewards, "--rewards", *NAMES, "--ignore", "arm", "--depth", 1, "--budget", 0.3)
    experiment = ("policy", logged, "--treatment", "got", "--outcome", "came", "--depth", 1, "--folds", 3)
    for fit in (rewarded, (*experiment, "--budget", 0.3)):
        assert run(*fit, "--out", path) == 2
        assert "--budget needs to know what each action spends: give --spends" in capsys.readouterr().err
        assert not path.exists()
        assert run(*fit, "--control", "none", "--out", path) == 0
        assert certree.load(path).spends_ == {"none": 0.0, "letter": 1.0, "call": 1.0}
        path.unlink()
    printed = " ".join(capsys.readouterr().out.split())
    assert "the budget of 0.3" in printed
    assert "at random and 'none' (treating nobody) to the others" in printed
    # Without a budget the control still says who is nobody.
    assert run(*experiment, "--control", "none") == 0


def test_a_limit_is_told_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = make_policy(2000, 12, n_actions=3, random_state=1)
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    table = write(tmp_path / "hard.csv", [*hard.feature_names, "a", "b", "c"], *hard.data.T, *noise.T)
    path = tmp_path / "policy.json"
    fit = ("policy", table, "--rewards", "a", "b", "c", "--depth", 4, "--time-limit", 0.2, "--out", path,
           "--min-samples-leaf", 1)  # fmt: skip
    assert run(*fit) == 3
    assert "time limit: the best found among all policy trees of depth at most 4; stopped by" in capsys.readouterr().out
    assert certree.load(path).status_ == "time_limit"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name either the columns of --rewards, or --treatment and --outcome"),
        (("--rewards", "came", "--outcome", "came"), "name either the columns of --rewards"),
        (("--outcome", "came"), "name either the columns of --rewards, or --treatment and --outcome"),
        (("--rewards", "came", "nowhere"), "no column 'nowhere'"),
        (("--rewards", "came", "got"), "line 2: column 'got' holds 'call'"),
        (("--treatment", "got", "--outcome", "got"), "line 2: column 'got' holds 'call'"),
        (("--treatment", "got", "--outcome", "came", "--costs", "gift=1"), "--costs names 'gift', which is not one of"),
        (("--treatment", "got", "--outcome", "came", "--costs", "none=1"), "costs has no value for action 'call'"),
        (("--treatment", "got", "--outcome", "came", "--control", "gift"), "--control names 'gift'"),
        (("--treatment", "got", "--outcome", "came", "--weight", "x0"), "--weight goes with --rewards"),
        (("--rewards", "came", "x0", "--ignore", "got", "--scores", "s.csv"), "the rewards are in the table already"),
        (("--treatment", "got", "--outcome", "came", "--ignore", "x0", "x1", "x2"), "has no column to learn from"),
        (("--rewards", "came", "x0", "--out", "nowhere/m.json"), "is not a directory"),
    ],
)  # fmt: skip
def test_wrong_usage(
    arguments: tuple[str, ...], words: str, logged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run("policy", logged, *arguments) == 2
    assert words in capsys.readouterr().err


def test_wrong_amounts(logged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for amount in ("letter", "letter=much", "=1"):
        with pytest.raises(SystemExit) as stopped:
            run("policy", logged, "--rewards", "came", "x0", "--spends", amount)
        assert stopped.value.code == 2
        assert "is not an action and a number" in capsys.readouterr().err


def test_verify_asks_for_what_it_needs(rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, labels = tmp_path / "policy.json", tmp_path / "labels.json"
    assert run("policy", rewards, "--rewards", *NAMES, "--ignore", "arm", "--out", path) == 0
    assert run("fit", rewards, "--label", "arm", "--ignore", *NAMES, "--depth", 1, "--out", labels) == 0
    assert run("verify", path, rewards, "--label", "arm") == 2
    assert "is a policy: name a column of rewards" in capsys.readouterr().err
    assert run("verify", path, rewards, "--rewards", "none", "letter") == 2
    assert "names 2 columns; the policy's actions are none, letter, call" in capsys.readouterr().err
    assert run("verify", labels, rewards, "--rewards", *NAMES) == 2
    assert "predicts labels: name their column with --label" in capsys.readouterr().err


def test_edits(rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "policy.json"
    names = ("--rewards", *NAMES, "--ignore", "arm")
    assert run("policy", rewards, *names, "--start", "x0 <= 0.5", "--forbid", "x1", "--out", path) == 0
    assert "that begin with “x0 <= 0.5” and do not ask x1" in " ".join(capsys.readouterr().out.split())
    assert run("verify", path, rewards, "--rewards", *NAMES) == 0
