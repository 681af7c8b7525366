"""Every verb with every sort of bad input: one line that names the file and says what is wrong, and nothing is lost."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

from certree import PolicyTree, SparseTreeClassifier
from certree.cli.program import find_verbs, make_parser

OTHERS = ("--ignore", "arm", "worth", "nothing", "something")
READS_TABLE = {
    "fit": ("fit", "{}", "--label", "answer", *OTHERS),
    "path": ("path", "{}", "--label", "answer", "--depth", "2", *OTHERS),
    "alternatives": ("alternatives", "{}", "--label", "answer", "--depth", "2", *OTHERS),
    "policy from rewards": ("policy", "{}", "--rewards", "nothing", "something", "--ignore", "arm", "worth", "answer"),
    "policy from a log": ("policy", "{}", "--treatment", "arm", "--outcome", "worth", "--ignore", "answer"),
    "predict": ("predict", "model.json", "{}"),
    "verify": ("verify", "model.json", "{}", "--label", "answer"),
    "report": ("report", "model.json", "{}", "--label", "answer"),
    "demo": ("demo", "--effects", "{}"),
}
READS_MODEL = {
    "show": ("show", "{}"),
    "predict": ("predict", "{}", "good.csv"),
    "verify": ("verify", "{}", "good.csv", "--label", "answer"),
    "report": ("report", "{}", "good.csv", "--label", "answer"),
}
EXAMPLES = {"show": ("show", "model.json")} | {words[0]: words for words in READS_TABLE.values()}
WRITES = {
    "fit": (*READS_TABLE["fit"], "--out"),
    "path": (*READS_TABLE["path"], "--out"),
    "alternatives": (*READS_TABLE["alternatives"], "--out"),
    "policy": (*READS_TABLE["policy from rewards"], "--out"),
    "predict": (*READS_TABLE["predict"], "--out"),
    "report": (*READS_TABLE["report"], "--out"),
    "show": ("show", "model.json", "--plot"),
}
BAD_TABLES = {
    "missing.csv": "No such file or directory",
    ".": "Is a directory",
    "empty.csv": "has no header line",
    "header.csv": "has no rows",
    "semicolons.csv": "are its values separated by ';'? Then say so with --separator",
    "commas.csv": "are its values separated by ';'? Then say so with --separator",
    "latin.csv": "is not a CSV file in UTF-8 (it holds the byte 0xfc): save it again in that encoding",
    "repeated.csv": "two columns have the name 'age'",
    "ragged.csv": "line 102: 2 values, but 7 columns",
    "cut.csv.gz": "is not a whole gzip file",
    "false.parquet": "is not a .parquet file",
    "repeated.parquet": "two columns have the name 'age'",
    "rowless.parquet": "has no rows",
    "binary.csv": "is not a CSV file in UTF-8",
}
BAD_MODELS = {
    "missing.csv": "No such file or directory",
    ".": "Is a directory",
    "empty.csv": "is not JSON",
    "good.csv": "is not JSON",
    "latin.csv": "is not JSON",
    "binary.csv": "is not JSON",
    "other.json": "not a model",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every sort."""
    folder = tmp_path_factory.mktemp("verbs")
    chance = np.random.default_rng(0)
    frame = pd.DataFrame({"age": chance.integers(18, 70, 100), "income": chance.normal(30, 9, 100).round(1)})
    frame["answer"] = np.where(frame["age"] < 40, "yes", "no")
    frame["arm"], frame["worth"] = chance.integers(0, 2, 100), chance.normal(size=100).round(2)
    frame["nothing"], frame["something"] = 0.0, np.where(frame["age"] < 40, 1.0, -1.0)
    SparseTreeClassifier(2).fit(frame[["age", "income"]], frame["answer"]).save(folder / "model.json")
    PolicyTree(2).fit(frame[["age", "income"]], frame[["nothing", "something"]]).save(folder / "policy.json")
    text = frame.to_csv(index=False)
    files = {
        "good.csv": text,
        "empty.csv": "",
        "header.csv": text.splitlines()[0] + "\n",
        "semicolons.csv": text.replace(",", ";"),
        "commas.csv": frame.to_csv(index=False, sep=";", decimal=","),
        "repeated.csv": text.replace("age,income", "age,age", 1),
        "ragged.csv": text + "1,2\n",
        "false.parquet": text,
        "other.json": '{"format": "something else"}',
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa
        from pyarrow import parquet

        frame[:0].to_parquet(folder / "rowless.parquet")
        whole = pa.table(frame)
        parquet.write_table(whole.rename_columns(["age", "age", *whole.column_names[2:]]), folder / "repeated.parquet")
    (folder / "latin.csv").write_bytes(text.replace("yes", "für").encode("latin-1"))
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "cut.csv.gz").write_bytes(gzip.compress(text.encode())[:-20])
    return folder


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def refuse(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command ends that changes nothing."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert run(*words) == 2
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"certree {words[0]}: ")
    return lines[0]


@pytest.mark.parametrize("file", BAD_TABLES)
@pytest.mark.parametrize("verb", READS_TABLE)
def test_tables(verb: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    if file.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    line = refuse(tuple(word.format(file) for word in READS_TABLE[verb]), capsys)
    assert file in line
    assert BAD_TABLES[file] in line


@pytest.mark.parametrize("file", BAD_MODELS)
@pytest.mark.parametrize("verb", READS_MODEL)
def test_models(verb: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refuse(tuple(word.format(file) for word in READS_MODEL[verb]), capsys)
    assert file in line or file == "other.json"
    assert BAD_MODELS[file] in line


@pytest.mark.parametrize("verb", WRITES)
def test_outputs(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = tuple(word.format("good.csv") for word in WRITES[verb])
    assert "policy.json" in (line := refuse((*words, "policy.json"), capsys))
    assert "--force" in line
    for name in ("nowhere/out.json", "."):
        assert name in refuse((*words, name), capsys)
    # What is read is never replaced, whatever is asked for.
    read = "model.json" if "model.json" in words else "good.csv"
    assert read in refuse((*words, read, "--force"), capsys)


def misuse(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command ends that cannot be understood."""
    with pytest.raises(SystemExit) as ended:
        run(*words)
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


@pytest.mark.parametrize("verb", find_verbs(make_parser()))
def test_options(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (*EXAMPLES.get(verb, (verb,)), "--no-such-option")
    assert misuse(words, capsys) == f"certree {verb}: there is no option --no-such-option. See certree {verb} --help"


def test_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    line = misuse((*READS_TABLE["fit"], "--regularisation=3"), capsys)
    assert line.endswith("there is no option --regularisation; did you mean --regularization? See certree fit --help")
    assert misuse((*READS_TABLE["fit"][:4], "other.csv"), capsys).startswith(
        "certree fit: there is no place for 'other.csv'"
    )
    assert misuse(("fit", "good.csv"), capsys).startswith(
        "certree fit: the following arguments are required: --label. See"
    )
    assert misuse(("fitt",), capsys).startswith("certree: there is no command 'fitt'; did you mean fit? See")
    assert misuse((), capsys).startswith("certree: name a command: fit, predict, ")


def test_one_class_is_a_lone_leaf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every verb takes a table in which all rows have the same label; a log of one action has nothing to choose."""
    table = pd.read_csv("good.csv").assign(answer="yes", arm=1, something=0.0)
    monkeypatch.chdir(tmp_path)
    table.to_csv("one.csv", index=False)
    assert run("fit", "one.csv", "--label", "answer", *OTHERS, "--out", "model.json") == 0
    assert capsys.readouterr().out.splitlines()[0] == "yes  100% of 100 rows"
    shown = {
        "path": "       1      0  0.000000  above 0.000000",
        "alternatives": "  0.010000  1 leaf\n",
        "policy from rewards": "nothing",
        "predict": ",yes\n",
        "verify": "the certificate holds",
        "report": "written to report.html",
    }
    for verb, words in shown.items():
        assert run(*(word.format("one.csv") for word in READS_TABLE[verb])) == 0, verb
        assert words in capsys.readouterr().out, verb
    assert run("show", "model.json") == 0
    assert run(*(word.format("one.csv") for word in READS_TABLE["policy from a log"])) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "certree policy: treatment has one value (1): there is nothing to choose between"
