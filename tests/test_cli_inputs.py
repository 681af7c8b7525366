"""What the command line takes: lists before files, standard input, rows without a label, tables in parts, examples."""

from __future__ import annotations

import gzip
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree import cli
from certree.cli import predict as predict_verb
from certree.cli.program import VERBS, find_verbs, free_files, make_parser
from certree.datasets import blocks, make_policy, make_weighted


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


def make_people(n_rows: int = 300) -> pd.DataFrame:
    table = make_weighted(n_rows, 3, depth=2, random_state=0)
    frame = pd.DataFrame(table.data, columns=["age", "income", "visits"])
    frame.insert(0, "id", [f"00{row}" for row in range(n_rows)])
    return frame.assign(bought=np.where(table.target == 1, "yes", "no"), value=table.sample_weight)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "people.csv"
    make_people().to_csv(path, index=False)
    return path


@pytest.fixture
def model(people: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = people.with_name("model.json")
    assert (
        run("fit", people, "--label", "bought", "--weight", "value", "--ignore", "id", "--depth", 2, "--out", path) == 0
    )
    capsys.readouterr()
    return path


class TestLists:
    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ("fit --label y --ignore a b data.csv", "fit --label y data.csv --ignore a b"),
            ("fit data.csv --label y --ignore a b", "fit data.csv --label y --ignore a b"),
            ("fit --ignore a b --label y data.csv", "fit --ignore a b --label y data.csv"),
            ("fit --ignore a --label=y --missing ? data.csv", "fit --ignore a --label=y data.csv --missing ?"),
            ("verify m.json --rewards a b d.csv", "verify m.json d.csv --rewards a b"),
            ("verify --rewards a b m.json d.csv", "verify m.json d.csv --rewards a b"),
            ("fit --label y --ignore data.csv", "fit --label y --ignore data.csv"),
            ("predict --id a m.json d.csv --no-ids", "predict m.json d.csv --id a --no-ids"),
            ("nonsense --ignore a b", "nonsense --ignore a b"),
            ("", ""),
        ],
    )
    def test_the_last_words_of_a_list_are_the_files(self, given: str, meant: str) -> None:
        assert free_files(make_parser(), given.split()) == meant.split()

    def test_a_fit(self, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("fit", "--label", "bought", "--depth", 1, "--ignore", "id", "value", people) == 0
        assert "proved optimal" in capsys.readouterr().out


class TestStandardInput:
    @pytest.mark.parametrize("is_compressed", [False, True])
    def test_is_read(
        self, people: Path, is_compressed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        content = people.read_bytes()
        content = gzip.compress(content) if is_compressed else content
        fit = ("--label", "bought", "--weight", "value", "--ignore", "id", "--depth", 2)
        assert run("fit", people, *fit) == 0
        expected = capsys.readouterr().out.split("fitted in")[0]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        assert run("fit", "-", *fit) == 0
        printed = capsys.readouterr()
        assert printed.out.split("fitted in")[0] == expected
        assert "standard input: 300 rows" in printed.err

    def test_errors_name_it(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a,b\n1\n"))))
        assert run("fit", "-", "--label", "b") == 2
        assert capsys.readouterr().err == "certree fit: standard input, line 2: 1 values, but 2 columns\n"

    def test_predicts(
        self, people: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("predict", model, people) == 0
        expected = capsys.readouterr().out
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(people.read_bytes()))))
        assert run("predict", model, "-") == 0
        assert capsys.readouterr().out == expected


class TestRowsThatLackALabel:
    def test_are_named_or_dropped_and_counted(self, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
        frame = make_people()
        frame.loc[[1, 4, 8, 9], "bought"] = None
        frame.loc[[20], "value"] = np.nan
        frame.to_csv(people, index=False)
        fit = ("fit", people, "--label", "bought", "--weight", "value", "--ignore", "id", "--depth", 1)
        assert run(*fit) == 2
        message = (
            "people.csv, line 3, line 6, line 10 and 1 more rows: no label in column 'bought'; --drop-missing leaves"
        )
        assert message in capsys.readouterr().err
        assert run(*fit, "--drop-missing", "--out", "model.json") == 0
        assert "left out 5 of 300 rows: 4 without 'bought', 1 without 'value'" in capsys.readouterr().err
        kept = frame.dropna()
        own = certree.SparseTreeClassifier(1).fit(kept[["age", "income", "visits"]], kept["bought"], kept["value"])
        assert certree.load("model.json").objective_ == own.objective_
        verify = ("verify", "model.json", people, "--label", "bought", "--weight", "value")
        assert run(*verify) == 2
        assert run(*verify, "--drop-missing") == 0

    def test_all_of_them_is_an_error(self, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
        make_people().assign(bought=None).to_csv(people, index=False)
        assert run("fit", people, "--label", "bought", "--drop-missing") == 2
        assert "has no row with a value of 'bought'" in capsys.readouterr().err


class TestPredict:
    def test_keeps_the_ids_as_they_stand(self, people: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        tree = certree.load(model).tree_
        frame = make_people()
        predicted = tree.predict(frame[["age", "income", "visits"]])
        assert run("predict", model, people) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "id,bought,value,prediction"
        assert [line.split(",")[0] for line in lines[1:]] == frame["id"].tolist()
        assert [line.split(",")[-1] for line in lines[1:]] == predicted.tolist()
        assert run("predict", model, people, "--id", "id") == 0
        assert capsys.readouterr().out.splitlines()[:2] == ["id,prediction", f"000,{predicted[0]}"]
        assert run("predict", model, people, "--no-ids") == 0
        assert capsys.readouterr().out.splitlines()[:2] == ["prediction", predicted[0]]
        assert run("predict", model, people, "--id", "nowhere") == 2
        assert "has no column 'nowhere'" in capsys.readouterr().err

    @pytest.mark.parametrize("ending", [".parquet", ".feather"])
    def test_ids_of_a_file_with_types_are_not_rounded(
        self, model: Path, ending: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = make_people().assign(id=2**53 + 1 + np.arange(300), share=np.float32(0.1), is_old=True)
        frame["site"] = pd.array([None, 7] * 150, dtype="Int64")
        path = model.with_name(f"ids{ending}")
        frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
        assert run("predict", model, path, "--id", "id", "share", "is_old", "site") == 0
        lines = [line.split(",")[:-1] for line in capsys.readouterr().out.splitlines()]
        assert lines[:3] == [
            ["id", "share", "is_old", "site"],
            ["9007199254740993", "0.1", "True", ""],
            ["9007199254740994", "0.1", "True", "7"],
        ]

    @pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".feather"])
    def test_parts_are_the_whole(
        self, model: Path, ending: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = make_people(1003)
        path = model.with_name(f"many{ending}")
        writers = {".parquet": frame.to_parquet, ".feather": frame.to_feather}
        writers[ending](path) if ending in writers else frame.to_csv(path, index=False)
        assert run("predict", model, path, "--id", "id", "--probabilities") == 0
        whole = capsys.readouterr().out
        monkeypatch.setattr(blocks, "BLOCK_ROWS", 100)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
        assert run("predict", model, path, "--id", "id", "--probabilities", "--out", "parts.csv") == 0
        assert Path("parts.csv").read_text(encoding="utf-8") == whole
        assert whole.count("\n") == 1004

    def test_blank_lines_end_no_file(self, people: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 2)
        lines = people.read_text(encoding="utf-8").splitlines()
        people.write_text("\n".join([*lines[:3], *[""] * 9, *lines[3:]]), encoding="utf-8")
        assert run("predict", model, people, "--out", "p.csv") == 0
        assert len(Path("p.csv").read_text(encoding="utf-8").splitlines()) == 301

    def test_a_bad_row_leaves_no_file_behind(
        self, people: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(blocks, "BLOCK_ROWS", 100)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
        people.write_text(people.read_text(encoding="utf-8") + "1,2\n", encoding="utf-8")
        assert run("predict", model, people, "--out", "p.csv") == 2
        assert "line 302: 2 values, but 6 columns" in capsys.readouterr().err
        assert sorted(path.name for path in Path().iterdir()) == ["model.json", "people.csv"]

    @pytest.mark.parametrize("has_old", [False, True], ids=["", "over an old file"])
    def test_a_press_of_control_c_leaves_no_half_a_file_behind(
        self,
        people: Path,
        model: Path,
        has_old: bool,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(blocks, "BLOCK_ROWS", 100)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
        if has_old:
            Path("p.csv").write_text("old", encoding="utf-8")
        before = {path.name: path.read_bytes() for path in Path().iterdir()}
        predict, calls = predict_verb.predict_part, iter([False, True])

        def press(*arguments: Any) -> Any:
            if next(calls):
                raise KeyboardInterrupt
            return predict(*arguments)

        monkeypatch.setattr(predict_verb, "predict_part", press)
        assert run("predict", model, people, "--out", "p.csv", "--force") == 130
        assert capsys.readouterr().err.endswith("certree predict: aborted before there was a result\n")
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before

    def test_no_rows(self, people: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        people.write_text(people.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
        assert run("predict", model, people) == 2
        assert "people.csv has no rows" in capsys.readouterr().err


class TestHelp:
    def examples(self) -> dict[str, list[str]]:
        """The command at the end of each verb's help."""
        found = {}
        for verb, own in find_verbs(make_parser()).items():
            text = own.format_help().replace("\\\n", " ")
            (command,) = re.findall(r"^  certree (.*)$", text.partition("example:")[2], re.MULTILINE)
            found[verb] = shlex.split(command)
        return found

    def test_every_verb_has_an_example(self) -> None:
        assert set(self.examples()) == {verb.__name__.rpartition(".")[2] for verb in VERBS}

    def test_every_option_says_what_it_is(self) -> None:
        """In words that make sense without the option's name: a fragment such as "of the folds" does not."""
        for verb, own in find_verbs(make_parser()).items():
            for action in own._actions:
                assert action.help, (verb, action.dest)
                assert not re.match("(of|for|between|before|such as) ", action.help), (verb, action.dest)

    def test_the_examples_run(self, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = make_policy(200, 2, depth=1, random_state=0)
        frame = pd.DataFrame(log.data, columns=["age", "income"])
        action = np.where(log.treatment == 1, "letter", "none")
        frame.assign(id=range(200), action=action, sales=log.outcome).to_csv("log.csv", index=False)
        examples = self.examples()
        demo = examples.pop("demo")
        order = sorted(examples, key=lambda verb: verb != "fit")
        for verb in order:
            assert cli.main(examples[verb]) == 0, verb
        assert {"model.json", "predictions.csv", "tree.png", "front.csv", "policy.json", "report.html"} <= {
            path.name for path in Path().iterdir()
        }
        # The study itself has tests of its own, which take longer.
        assert make_parser().parse_args(demo).depths == [2]
