"""The command line: what each command prints, writes and returns, and what it says to wrong input."""

from __future__ import annotations

import csv
import json
import runpy
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import certree
import certree.cli.program
from certree import SparseTreeClassifier, cli
from certree.datasets import load_lalonde, make_weighted
from certree.policy import good_policies
from certree.solution import CertificateError
from certree.weights import WeightLossWarning

FIT = ("--label", "earnings", "--weight", "dollars", "--regularization", "0.005")

HARD = ("--label", "label", "--depth", "5", "--regularization", "0.0001")


def make_earnings() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The embedded table, whether earnings rose, and by how many dollars they moved."""
    data = load_lalonde()
    change = data.target - data.data[:, data.feature_names.index("re75")]
    return data.data, np.where(change > 0, "rose", "did not rise"), np.abs(change)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The same as a file."""
    path = tmp_path / "table.csv"
    X, y, weights = make_earnings()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = ([*map(float, row), label, weight] for row, label, weight in zip(X, y, weights.tolist(), strict=True))
        csv.writer(file).writerows([[*load_lalonde().feature_names, "earnings", "dollars"], *rows])
    return path


@pytest.fixture
def model(table: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = table.with_name("model.json")
    assert run("fit", table, *FIT, "--out", path) == 0
    capsys.readouterr()
    return path


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """A table whose optimum under the options HARD takes far longer than a test may."""
    data = make_weighted(600, 12, noise=0.4, n_labels=3)
    path = tmp_path / "hard.csv"
    with path.open("w", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [[*data.feature_names, "label"], *np.column_stack([data.data, data.target]).tolist()]
        )
    return path


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


def write(folder: Path, text: str, name: str = "small.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class TestFit:
    def test_is_what_the_estimator_finds(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        X, y, weights = make_earnings()
        expected = SparseTreeClassifier(3, 0.005).fit(X, y, weights)
        assert run("fit", table, *FIT, "--out", table.with_name("model.json")) == 0
        output = capsys.readouterr().out
        assert f"{expected.objective_:.10g} = loss {expected.loss_:.10g} + 0.005 × 5 leaves" in output
        assert "proved optimal among all trees of depth at most 3" in output
        assert "re75 <=" in output
        saved = certree.load(table.with_name("model.json"))
        assert saved.certificate_["objective"] == expected.objective_
        np.testing.assert_array_equal(saved.tree_.predict(X), expected.predict(X))

    def test_options_reach_the_search(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ("--depth", "none", "--max-leaves", "3", "--min-samples-leaf", "40", "--min-weight-leaf", "1000")
        others = ("--thresholds", "8", "--memory-limit", "1GB", "--jobs", "2", "--ignore", "black", "hispanic")
        assert run("fit", table, *FIT, *options, *others, "--out", table.with_name("model.json")) == 0
        output = capsys.readouterr().out
        assert "proved optimal among all trees with at most 3 leaves, at least 40 rows per leaf" in output
        saved = json.loads(table.with_name("model.json").read_text(encoding="utf-8"))
        assert saved["certificate"]["limits"] == {"time_limit": None, "memory_limit": 10**9, "n_threads": 2}
        assert saved["certificate"]["sizes"]["columns"] == 5
        assert saved["certificate"]["sizes"]["tests"] <= 5 * 8

    @pytest.mark.parametrize(
        ("options", "settings", "words"),
        [
            (
                ("--method", "duplicate", "--duplication", "5000"),
                {"method": "duplicate", "duplication": 5000},
                (
                    "approximate: the best for weights rounded to counts among",
                    "the heaviest 5000 times",
                    "the paper's bound K is",
                ),
            ),
            (
                ("--method", "sample", "--sample-ratio", "2", "--random-state", "3"),
                {"method": "sample", "sample_ratio": 2.0, "random_state": 3},
                ("rows drawn", "with probability 0.95", "all trees of at most 8 leaves"),
            ),
            (
                ("--thresholds", "guess"),
                {"thresholds": "guess"},
                (
                    "proved optimal among all trees of depth at most 3 over ",
                    "thresholds   kept ",
                    "over all tests, no tree is below",
                ),
            ),
            (
                ("--reference", "boosting"),
                {"reference": "boosting"},
                ("guessed: as good as", "reference    Theorem 1: objective <= ", "too high"),
            ),
            (
                ("--depth", "guess", "--thresholds", "2", "--regularization", "0.05"),
                {"max_depth": "guess", "thresholds": 2, "regularization": 0.05},
                ("depth        T = 40 members of VC dimension V = ", "log2(m (3 ln m + 2)))"),
            ),
        ],
        ids=["duplicate", "sample", "thresholds", "reference", "depth"],
    )
    def test_ways_to_weigh_and_guesses_state_what_they_give_up(
        self,
        table: Path,
        capsys: pytest.CaptureFixture[str],
        options: tuple[str, ...],
        settings: dict[str, Any],
        words: tuple[str, ...],
    ) -> None:
        model = table.with_name("model.json")
        assert run("fit", table, *FIT, *options, "--out", model) == 0
        output = " ".join(capsys.readouterr().out.split("certificate\n")[1].replace("\n" + " " * 15, " ").split("\n"))
        for word in words:
            assert word in output
        X, y, weights = make_earnings()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightLossWarning)
            expected = SparseTreeClassifier(**({"regularization": 0.005} | settings)).fit(X, y, weights)
        saved = certree.load(model).certificate_
        assert (saved["objective"], saved["lower_bound"]) == (expected.objective_, expected.lower_bound_)
        assert run("verify", model, table, *FIT[:4]) == 0

    def test_a_reference_may_be_a_column_of_predictions(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path, "size,label,said\n" + "1,a,a\n2,b,b\n3,a,b\n" * 10)
        model = tmp_path / "model.json"
        assert run("fit", path, "--label", "label", "--reference", "said", "--out", model) == 0
        output = capsys.readouterr().out
        assert "0.333333 (reference's loss)" in output
        assert "said" not in output.split("certificate")[0]  # it is no column to test
        assert run("fit", path, "--label", "label", "--reference", "size") == 2
        assert "reference predicts 1 in line 2, which is not a label of y" in capsys.readouterr().err
        assert run("fit", path, "--label", "label", "--reference", "nobody") == 2
        assert "has no column 'nobody'" in capsys.readouterr().err

    def test_a_stopped_search_promises_less(self, hard: Path, capsys: pytest.CaptureFixture[str]) -> None:
        limits = ("--time-limit", "0.001", "--method", "duplicate", "--reference", "boosting")
        assert run("fit", hard, *HARD, *limits) == 3
        output = " ".join(capsys.readouterr().out.split())
        assert "time limit: the best found among" in output
        assert "Theorem 1 says nothing about its tree" in output
        assert "above the optimum" not in output

    def test_categories_missing_values_and_class_weight(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = "shop,size,label\n" + "1,2.5,a\n2,,b\n3,1.5,a\n1,NA,a\n" * 10
        path = write(tmp_path, text)
        assert run("fit", path, "--label", "label", "--categorical", "shop", "--class-weight", "balanced") == 0
        assert "shop == 2" in capsys.readouterr().out

    def test_tabs(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with_tabs = write(table.parent, table.read_text(encoding="utf-8").replace(",", "\t"), "table.tsv")
        assert run("fit", with_tabs, *FIT, "--separator", "tab") == 0
        assert "0.1064639477 =" in capsys.readouterr().out

    def test_a_limit_gives_a_valid_tree_and_its_own_exit_code(
        self, hard: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        model = hard.with_name("model.json")
        assert run("fit", hard, *HARD, "--time-limit", "0.3", "--out", model) == 3
        assert "time limit: the best found among" in capsys.readouterr().out
        assert run("verify", model, hard, "--label", "label") == 0

    def test_an_interrupt_gives_a_valid_tree_too(self, hard: Path) -> None:
        model = hard.with_name("model.json")
        command = [sys.executable, "-m", "certree", "fit", str(hard), *HARD, "--progress", "--out", str(model)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            # The bar is drawn once before the search; what follows comes from inside it.
            seen = b""
            while seen.count(b"\r") < 3:
                letter = process.stderr.read(1)
                assert letter, seen
                seen += letter
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        assert process.returncode == 3, errors
        assert "interrupted: the best found among" in output.decode()
        assert b"certree: interrupted" in errors
        assert run("verify", model, hard, "--label", "label") == 0

    def test_progress_is_kept_off_standard_output(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run("fit", table, *FIT)
        quiet = capsys.readouterr()
        run("fit", table, *FIT, "--progress")
        loud = capsys.readouterr()
        assert len(quiet.err.splitlines()) == 8  # what the seven columns were read as
        assert loud.out.splitlines()[:-1] == quiet.out.splitlines()[:-1]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--label", "wealth"], "has no column 'wealth'; it has age, education"),
            (["--label", "earnings", "--weight", "heft"], "has no column 'heft'"),
            (["--label", "earnings", "--ignore", "colour"], "has no column 'colour'"),
            (["--label", "age", "--weight", "earnings"], "line 2: column 'earnings' holds"),
            (["--label", "earnings", "--regularization", "-1"], "'regularization' parameter"),
            (["--label", "earnings", "--categorical", "colour"], "has no column 'colour'; it has age, education"),
            (["--label", "earnings", "--separator", ";"], "has no column 'earnings'"),
        ],
    )
    def test_bad_input(self, table: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("fit", table, *options) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.err.splitlines()[-1].startswith("certree fit: ")
        assert captured.out == ""

    def test_bad_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("fit", tmp_path / "none.csv", "--label", "y") == 2
        assert f"{tmp_path / 'none.csv'}: No such file" in capsys.readouterr().err
        assert run("fit", write(tmp_path, "a,y\n1,x\n2,\n"), "--label", "y") == 2
        assert "line 3: no label in column 'y'" in capsys.readouterr().err
        assert run("fit", write(tmp_path, "a,y\n1,1.5\n2,NA\n"), "--label", "y") == 2
        assert "line 3: no label in column 'y'" in capsys.readouterr().err
        assert run("fit", write(tmp_path, "y,w\n1,1\n0,2\n"), "--label", "y", "--weight", "w") == 2
        assert "no column to learn from besides w, y" in capsys.readouterr().err

    def test_a_place_that_cannot_be_written_is_said_before_the_search(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("fit", table, *FIT, "--out", table.parent / "nowhere" / "model.json") == 2
        assert "is not a directory" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--depth", "deep"], "'deep' is neither a whole number of at least 0 nor 'none'"),
            (["--thresholds", "1.5"], "'1.5' is neither a whole number of at least 1 nor 'all'"),
            (["--memory-limit", "much"], "'much' is not a size"),
            (["--separator", "::"], "'::' is neither a character nor 'tab'"),
            ([], "--label"),
        ],
    )
    def test_wrong_usage(self, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        label = ["--label", "y"] if options else []
        with pytest.raises(SystemExit) as caught:
            run("fit", "table.csv", *label, *options)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err

    @pytest.mark.parametrize(("text", "size"), [("1024", 1024), ("500MB", 5 * 10**8), ("1.5 gb", 15 * 10**8)])
    def test_sizes(self, text: str, size: int) -> None:
        assert cli.options.read_bytes(text) == size


class TestModels:
    def test_predict(self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("predict", model, table, "--no-ids") == 0
        printed = capsys.readouterr().out.splitlines()
        X, _, _ = make_earnings()
        assert printed == ["prediction", *certree.load(model).tree_.predict(X)]

    def test_predict_with_probabilities_to_a_file(self, model: Path, table: Path) -> None:
        out = table.with_name("predictions.csv")
        assert run("predict", model, table, "--probabilities", "--out", out) == 0
        rows = read_rows(out)
        assert len(rows) == 722
        for row in rows[:20]:
            shares = {label: float(row[f"share of {label}"]) for label in ("rose", "did not rise")}
            assert sum(shares.values()) == pytest.approx(1.0)
            assert max(shares, key=shares.__getitem__) == row["prediction"]

    def test_a_category_that_looks_like_a_number_stays_one(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        train = write(tmp_path, "code,y\n" + "7,a\nA1,b\nB2,b\n" * 5, "train.csv")
        assert run("fit", train, "--label", "y", "--out", tmp_path / "model.json") == 0
        capsys.readouterr()
        assert run("predict", tmp_path / "model.json", write(tmp_path, "code\n7\n7\n")) == 0
        assert capsys.readouterr().out.split() == ["prediction", "a", "a"]

    def test_predict_names_the_missing_column(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("predict", model, write(tmp_path, "age\n30\n")) == 2
        assert "has no column 'education'; it has age" in capsys.readouterr().err

    def test_show(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", model) == 0
        output = capsys.readouterr().out
        assert "re75 <=" in output
        assert "proved optimal among all trees of depth at most 3" in output

    def test_show_draws(self, model: Path, tmp_path: Path) -> None:
        assert run("show", model, "--plot", tmp_path / "tree.png") == 0
        assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")

    def test_not_a_model(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("show", write(tmp_path, "{}", "model.json")) == 2
        assert run("show", write(tmp_path, "age,wage", "model.json")) == 2
        assert run("show", tmp_path / "none.json") == 2
        assert capsys.readouterr().out == ""

    def test_a_bare_tree_predicts_but_has_nothing_to_verify(
        self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bare = write(table.parent, certree.export_json(certree.load(model).tree_), "tree.json")
        assert run("predict", bare, table) == 0
        assert run("verify", bare, table, *FIT[:4]) == 2
        assert "a bare tree, without a certificate" in capsys.readouterr().err

    def test_verify(self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("verify", model, table, *FIT[:4]) == 0
        printed = capsys.readouterr().out
        assert "about this very table (SHA-256)" in printed
        assert (
            "not recomputed, and taken on trust:\n  that no tree within the constraints has an objective below"
            in printed
        )
        assert printed.splitlines()[-1].startswith("the certificate holds as far as it was recomputed; --prove")

    def test_verify_proves_the_bound_again(self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("verify", model, table, *FIT[:4], "--prove") == 0
        printed = capsys.readouterr().out
        assert "proved again by another route" in printed
        assert "engine's word" not in printed
        assert printed.endswith("the certificate holds, its bound included\n")
        assert run("verify", model, table, *FIT[:4], "--prove", "--time-limit", "0") == 3
        printed = capsys.readouterr().out
        assert "searched again by another route" in printed
        assert "not recomputed, and taken on trust:" in printed
        assert printed.endswith("the proof of its bound was not finished\n")

    def test_verify_refutes_a_forged_bound(self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        lone = table.with_name("lone.json")
        assert run("fit", table, *FIT, "--depth", "0", "--out", lone) == 0
        true, forged = (json.loads(path.read_text(encoding="utf-8")) for path in (model, lone))
        for name in ("constraints", "digests", "rounding", "sizes"):
            forged["certificate"][name] = true["certificate"][name]
        lone.write_text(json.dumps(forged), encoding="utf-8")
        capsys.readouterr()
        assert run("verify", lone, table, *FIT[:4]) == 0
        assert run("verify", lone, table, *FIT[:4], "--prove") == 1
        printed = capsys.readouterr().out
        assert "is stated, but there is a tree with an objective" in printed
        assert printed.endswith("the certificate does not hold\n")

    def test_verify_finds_a_changed_table(self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        lines = table.read_text(encoding="utf-8").splitlines()
        assert run("verify", model, write(table.parent, "\n".join(lines[:-1])), *FIT[:4]) == 1
        output = capsys.readouterr().out
        assert "rows is 722 in the certificate, but 721 on this table" in output
        assert output.endswith("the certificate does not hold\n")

    def test_verify_finds_a_changed_certificate(
        self, model: Path, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        saved = json.loads(model.read_text(encoding="utf-8"))
        saved["certificate"]["lower_bound"] += 0.5
        model.write_text(json.dumps(saved), encoding="utf-8")
        assert run("verify", model, table, *FIT[:4]) == 1
        assert "lower_bound" in capsys.readouterr().out


class TestPath:
    def test_prints_and_writes_the_front(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = table.with_name("path.csv")
        assert run("path", table, *FIT[:4], "--depth", "2", "--out", out) == 0
        rows = read_rows(out)
        assert [row["leaves"] for row in rows] == sorted(row["leaves"] for row in rows)
        assert rows[0]["leaves"] == "1"
        assert float(rows[0]["loss"]) > float(rows[-1]["loss"])
        printed = capsys.readouterr().out
        assert len([line for line in printed.splitlines() if line.startswith("       ")]) == len(rows)

    def test_a_limit_shows(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("path", table, *FIT[:4], "--time-limit", "0") == 3
        assert "a search ended early" in capsys.readouterr().out


class TestAlternatives:
    def test_prints_and_writes_the_set(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = table.with_name("good.json")
        assert run("alternatives", table, *FIT, "--tolerance", "0.002", "--depth", "2", "--out", out) == 0
        known = json.loads(out.read_text(encoding="utf-8"))
        least, most = known["certificate"]["count"]
        assert least == most == sum(fact["count"] for fact in known["roots"])
        printed = capsys.readouterr().out
        assert f"{least:,} trees have an objective of at most" in printed
        assert "rows get the same label from all of them" in printed
        assert known["trees"][0]["objective"] == pytest.approx(known["certificate"]["optimum"])
        assert run("alternatives", table, *FIT, "--tolerance", "1%", "--depth", "2", "--out", out, "--force") == 0
        stated = json.loads(out.read_text(encoding="utf-8"))["certificate"]
        assert stated["threshold"] == pytest.approx(1.01 * stated["optimum"], rel=1e-6)
        assert run("alternatives", table, *FIT, "--tolerance", "200%") == 2
        with pytest.raises(SystemExit):
            run("alternatives", table, *FIT, "--tolerance", "much")

    def test_draws_the_set(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Four pictures, none of which replaces a file unasked. A kind that is not known is refused at once."""
        asked = ("alternatives", table, *FIT, "--tolerance", "0.002", "--depth", "2", "--plots")
        assert run(*asked, table.with_name("good.png")) == 0
        printed = capsys.readouterr().out
        for name in ("columns", "cuts", "agreement", "trees"):
            picture = table.with_name(f"good-{name}.png")
            assert picture.read_bytes().startswith(b"\x89PNG")
            assert f"drawn to {picture}" in printed
        assert plt.get_fignums() == []  # a figure that stays open takes memory for as long as the process lives
        table.with_name("good-columns.png").unlink()
        assert run(*asked, table.with_name("good.png")) == 2
        assert "good-cuts.png: the file exists" in capsys.readouterr().err
        assert not table.with_name("good-columns.png").exists()
        with pytest.raises(SystemExit):
            run(*asked, table.with_name("good.xyz"))
        assert "not 'xyz'" in capsys.readouterr().err
        rewards = ("alternatives", table, "--rewards", "a", "b", "--budget", "1", "--tolerance", "1")
        assert run(*rewards, "--plots", table.with_name("within.png")) == 2
        assert "--plots draws sets without a budget" in capsys.readouterr().err

    def test_policies(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a budget and with one, as `good_policies` has them."""
        rng = np.random.default_rng(0)
        X, rewards = rng.integers(0, 4, (80, 2)), rng.normal(size=(80, 2))
        rewards[:, 1] += X[:, 0] - 1.5
        data, out = tmp_path / "rewards.csv", tmp_path / "good.json"
        cells = np.column_stack([X, rewards]).tolist()
        data.write_text("\n".join(["a,b,none,letter", *(",".join(map(repr, row)) for row in cells)]), encoding="utf-8")
        shared = ("alternatives", data, "--rewards", "none", "letter", "--depth", "2", "--tolerance", "0.05")
        assert run(*shared, "--out", out) == 0
        found = good_policies(X, rewards, tolerance=0.05)
        printed = capsys.readouterr().out
        assert f"{found.count} policies have an objective of at least {found.threshold:.6f}" in printed
        assert "rows get the same action from all of them" in printed
        assert json.loads(out.read_text(encoding="utf-8"))["certificate"]["count"] == list(found.count_bounds)
        within = (*shared, "--budget", "0.4", "--control", "none", "--start", "b <= 1.5")
        assert run(*within, "--out", out, "--force") == 0
        found = good_policies(X, rewards, tolerance=0.05, budget=0.4, control=0, start="x1 <= 1.5")
        printed = capsys.readouterr().out
        assert f"{len(found)} policies spend at most 0.4 per row" in printed
        known = json.loads(out.read_text(encoding="utf-8"))
        assert known["count"] == len(found)
        assert known["trees"][0]["spend"] == pytest.approx(found.best.spend)
        assert run(*shared[:-2]) == 2
        assert "--tolerance is needed with --rewards" in capsys.readouterr().err
        assert run("alternatives", data, "--label", "none", "--budget", "1") == 2
        assert "name its --rewards" in capsys.readouterr().err

    def test_edits(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = (*FIT, "--depth", "2", "--start", "age <= 30", "--forbid", "black", "re75 <= 1000")
        assert run("alternatives", table, *arguments, "--tolerance", "0.002") == 0
        assert "no such tree  every one needs it" in capsys.readouterr().out
        model = table.with_name("edited.json")
        assert run("fit", table, *arguments, "--out", model) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "that begin with “age <= 30” and do not ask black or “re75 <= 1000”" in printed
        assert run("verify", model, table, *FIT[:4], "--prove") == 0
        start = '{"test": "age <= 30", "left": "leaf"}'
        assert run("fit", table, *FIT, "--start", start) == 0
        assert run("fit", table, *FIT, "--start", "agee <= 30") == 2
        assert "no column 'agee'" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            run("fit", table, *FIT, "--start", "{age")
        assert "is not JSON" in capsys.readouterr().err

    def test_a_limit_shows(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("alternatives", table, *FIT, "--depth", "4", "--time-limit", "0") == 3
        assert "the search ended early (time limit)" in capsys.readouterr().out


class TestOthers:
    def test_datasets(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("CERTREE_DATA", raising=False)
        assert run("datasets") == 0
        assert "CERTREE_DATA names; it is not set" in capsys.readouterr().out
        monkeypatch.setenv("CERTREE_DATA", str(tmp_path))
        write(tmp_path, "", "fico.csv")
        assert run("datasets") == 0
        lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
        assert " embedded " in lines["lalonde"]
        assert "  found " in lines["fico"]
        assert "  not found " in lines["compas"]
        assert run("datasets", "lalonde") == 0
        assert "Data card" in capsys.readouterr().out

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("--version") == 0
        assert capsys.readouterr().out == f"certree {certree.__version__}\n"

    def test_the_version_needs_no_seconds_of_imports(self) -> None:
        code = "import sys; from certree.cli import main; main(['--version']); sys.exit('numpy' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_warnings_are_one_line_on_standard_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        with cli.outputs.warnings_on_standard_error():
            warnings.warn("the sky is falling", UserWarning, stacklevel=1)
        assert capsys.readouterr().err == "certree: the sky is falling\n"

    def test_as_a_module(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys, "argv", ["certree", "datasets"])
        with pytest.raises(SystemExit) as caught:
            runpy.run_module("certree", run_name="__main__")
        assert caught.value.code == 0
        assert "lalonde" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--memory-limit", "1.2.3GB"], "'1.2.3GB' is not a size such as 500MB or 2GB"),
            (["--jobs", "0"], "'0' is neither a number of threads nor -1 for all"),
        ],
    )
    def test_options_that_make_no_sense(
        self, table: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
    ) -> None:
        with pytest.raises(SystemExit):
            run("fit", table, *FIT, *options)
        assert message in capsys.readouterr().err

    def test_a_file_with_another_separator_is_recognised(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path, "x;label\n1;a\n2;b\n")
        assert run("fit", path, "--label", "label") == 2
        assert "has no column 'label'; it has x;label; are its values separated by ';'?" in capsys.readouterr().err

    def test_actions_have_columns_of_their_own(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write(tmp_path, "x,gain\n1,0\n2,3\n")
        assert run("policy", path, "--rewards", "gain", "gain") == 2
        assert "--rewards names column 'gain' twice" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (CertificateError("the engine claims too much"), "too much. This is a bug in certree: please report it."),
            (MemoryError(), "there is not enough memory"),
        ],
    )
    def test_a_failure_is_one_line(
        self,
        table: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        error: Exception,
        message: str,
    ) -> None:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr(SparseTreeClassifier, "fit", fail)
        assert run("fit", table, *FIT) == 1
        assert capsys.readouterr().err.endswith(f"{message}\n")

    def test_a_second_interrupt_aborts(
        self, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def abort(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(SparseTreeClassifier, "fit", abort)
        assert run("fit", table, *FIT) == 130
        assert capsys.readouterr().err.endswith("\ncertree fit: aborted before there was a result\n")
