"""Every verb as a process: tables in every form, places that cannot be written, pipes that break, and Ctrl-C.

What is wrong with a table is in test_verbs.py; here are the streams, the files and the signals of a real process.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree import PolicyTree, SparseTreeClassifier
from certree.datasets import make_weighted
from tests.forks import Ended, Mother

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

OTHERS = ("--ignore", "arm", "worth", "nothing", "something")
LOG = ("--treatment", "arm", "--outcome", "worth", "--folds", "3")
READS = {
    "fit": ("fit", "{}", "--label", "answer", "--depth", "2", *OTHERS),
    "path": ("path", "{}", "--label", "answer", "--depth", "2", *OTHERS),
    "alternatives": ("alternatives", "{}", "--label", "answer", "--depth", "2", *OTHERS),
    "policy": ("policy", "{}", "--rewards", "nothing", "something", "--ignore", "arm", "worth", "answer"),
    "policy of a log": ("policy", "{}", *LOG, "--depth", "1", "--ignore", "answer", "nothing", "something"),
    "predict": ("predict", "model.json", "{}"),
    "verify": ("verify", "model.json", "{}", "--label", "answer"),
    "report": ("report", "model.json", "{}", "--label", "answer", "--time-limit", "0", "--out", "page.html", "--force"),
}
FORMS = {
    "good.csv": (),
    "good.csv.gz": (),
    "good.parquet": (),
    "good.feather": (),
    "semicolons.csv": ("--separator", ";"),
    "commas.csv": ("--separator", ";", "--decimal", ","),
    "tabs.csv": ("--separator", "tab"),
}
WRITES = {
    "fit": ("fit", "good.csv", *READS["fit"][2:], "--out"),
    "path": ("path", "good.csv", *READS["path"][2:], "--out"),
    "alternatives": ("alternatives", "good.csv", *READS["alternatives"][2:], "--out"),
    "policy": ("policy", "good.csv", *READS["policy"][2:], "--out"),
    "predict": ("predict", "model.json", "good.csv", "--out"),
    "report": ("report", "model.json", "good.csv", "--label", "answer", "--time-limit", "0", "--out"),
    "show": ("show", "model.json", "--plot"),
}
EVERYDAY = ("fit", "predict")
"""The others take as long again for each verb, and share nearly all of what is tested here."""
PRINTS = {verb: tuple(word.format("good.csv") for word in words) for verb, words in READS.items()}
PRINTS |= {"show": ("show", "model.json"), "datasets": ("datasets", "lalonde")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    chance = np.random.default_rng(0)
    frame = pd.DataFrame({"age": chance.integers(18, 70, 100), "income": chance.normal(30, 9, 100).round(1)})
    frame["answer"] = np.where(frame["income"] < 30, "yes", "no")
    frame["arm"], frame["worth"] = chance.integers(0, 2, 100), chance.normal(size=100).round(2)
    frame["nothing"], frame["something"] = 0.0, np.where(frame["age"] < 40, 1.5, -1.5)
    X = frame[["age", "income"]]
    SparseTreeClassifier(2).fit(X, frame["answer"]).save(folder / "model.json")
    PolicyTree(2).fit(X, frame[["nothing", "something"]]).save(folder / "policy.json")
    frame.to_csv(folder / "good.csv", index=False)
    (folder / "good.csv.gz").write_bytes(gzip.compress((folder / "good.csv").read_bytes()))
    frame.to_parquet(folder / "good.parquet")
    frame.to_feather(folder / "good.feather")
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";")
    frame.to_csv(folder / "commas.csv", index=False, sep=";", decimal=",")
    frame.to_csv(folder / "tabs.csv", index=False, sep="\t")
    (folder / "read-only").mkdir(mode=0o555)
    return folder


def every(verbs: Iterable[str]) -> Any:
    return pytest.mark.parametrize(
        "verb", [verb if verb in EVERYDAY else pytest.param(verb, marks=pytest.mark.long) for verb in verbs]
    )


@pytest.fixture(scope="module")
def mother() -> Iterator[Mother]:
    with Mother() as mother:
        yield mother


def essence(ended: Ended, source: str) -> str:
    """What was printed, but for seconds, places and the name of the table."""
    text = ended.out.replace(source, "the table")
    return re.split("fitted in|written to|in [0-9.e-]+ s", text)[0]


@every(READS)
def test_every_form_of_a_table(mother: Mother, folder: Path, verb: str) -> None:
    plain = mother.run(*PRINTS[verb], folder=folder)
    assert plain.code == 0, plain.err
    assert "Traceback" not in plain.err
    # Rich letters and colours are for terminals; a file gets plain text.
    assert "\x1b" not in plain.out
    for form, options in FORMS.items():
        found = mother.run(*(word.format(form) for word in READS[verb]), *options, folder=folder)
        assert found.code == 0, (form, found.err)
        if verb != "predict":
            assert essence(found, form) == essence(plain, "good.csv")
        elif form != "commas.csv":
            assert [line.split(",")[-1] for line in found.out.splitlines()] == [
                line.split(",")[-1] for line in plain.out.splitlines()
            ], form
    for form in ("good.csv", "good.csv.gz"):
        found = mother.run(*(word.format("-") for word in READS[verb]), folder=folder, stdin=folder / form)
        assert found.code == 0, found.err
        assert essence(found, "standard input") == essence(plain, "good.csv")


@every(WRITES)
def test_places_that_cannot_be_written(mother: Mother, folder: Path, verb: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}
    refused = mother.run(*WRITES[verb], "policy.json", folder=folder)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert "policy.json: the file exists; name another one, or replace it with --force" in refused.err
    place = "/proc/x.json" if os.geteuid() == 0 else "read-only/x.json"  # root may write into any folder
    refused = mother.run(*WRITES[verb], place, folder=folder)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert f"{place}: cannot write there" in refused.err
    full = mother.run(*WRITES[verb], "/dev/full", folder=folder)
    assert full.code == 1
    assert full.err.splitlines()[-1] == f"certree {verb}: /dev/full could not be written: No space left on device."
    # What was found is printed all the same, where it can be.
    assert full.out or verb in ("predict", "report")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name in before} == before


@every(PRINTS)
def test_streams_that_take_nothing(mother: Mother, folder: Path, verb: str) -> None:
    full = mother.run(*PRINTS[verb], folder=folder, stdout="/dev/full")
    assert full.code == 1
    assert full.err.splitlines()[-1] == f"certree {PRINTS[verb][0]}: cannot print: No space left on device"
    for stream in ("closed", "broken"):
        silent = mother.run(*PRINTS[verb], folder=folder, stdout=stream)
        assert silent.code == 0, silent.err
        assert "Traceback" not in silent.err
        assert "Error" not in silent.err


def test_one_press_of_control_c(mother: Mother, tmp_path: Path) -> None:
    """Each verb that searches ends at once, with the best that it has."""
    hard = make_weighted(3000, 30, noise=0.4, n_labels=2, random_state=0)
    table = pd.DataFrame(hard.data, columns=hard.feature_names)
    table.assign(label=hard.target, none=0.0, some=np.where(hard.target == 1, 1.0, -1.0)).to_csv(
        tmp_path / "hard.csv", index=False
    )
    words = {
        "fit": ("--label", "label", "--ignore", "none", "some"),
        "path": ("--label", "label", "--ignore", "none", "some"),
        "policy": ("--rewards", "none", "some", "--ignore", "label"),
    }
    for verb, own in words.items():
        begun = time.perf_counter()
        ended = mother.run(
            verb,
            "hard.csv",
            *own,
            "--depth",
            "5",
            "--progress",
            "--out",
            f"{verb}.out",
            folder=tmp_path,
            press="gap",
        )
        assert time.perf_counter() - begun < 60
        assert ended.code == 3, ended.err
        assert "interrupted" in ended.err
        assert "Traceback" not in ended.err
        assert (tmp_path / f"{verb}.out").stat().st_size > 100
    for verb in ("fit", "policy"):
        assert certree.load(tmp_path / f"{verb}.out").status_ == "interrupted"
    # A set of which nothing is known, and a page, are not written by halves; a proof says that it was not finished.
    labels = ("hard.csv", "--label", "label")
    others = {
        "alternatives": ((*labels, "--depth", "5", "--progress", "--out", "set.json"), "good trees", 3),
        "report": (("fit.out", *labels, "--progress", "--out", "page.html"), "held-out", 130),
        "verify": (("fit.out", *labels, "--prove"), "columns", (3, 130)),
    }
    for verb, (given, sign, code) in others.items():
        begun = time.perf_counter()
        ended = mother.run(verb, *given, folder=tmp_path, press=sign)
        assert time.perf_counter() - begun < 60
        assert ended.code in (code if isinstance(code, tuple) else (code,)), ended.err
        assert "Traceback" not in ended.err
    assert not (tmp_path / "set.json").exists()
    assert not (tmp_path / "page.html").exists()


@pytest.mark.long
def test_a_million_rows(tmp_path: Path) -> None:
    """Every verb that reads a table, from CSV and Parquet, each in a process of its own that may hold 4 GB."""
    made = make_weighted(1_000_000, 20, depth=2, n_values=100, random_state=0)
    frame = pd.DataFrame(made.data, columns=made.feature_names)
    frame = frame.assign(label=made.target, none=0.0, some=np.where(made.target == 1, 1.0, -1.0))
    frame.to_csv(tmp_path / "many.csv", index=False)
    frame.to_parquet(tmp_path / "many.parquet")
    rewards = ("--rewards", "none", "some", "--ignore", "label")
    labels = ("--label", "label", "--ignore", "none", "some")
    commands = {
        "fit": (*labels, "--depth", "1", "--out", "model.json"),
        "path": (*labels, "--depth", "1"),
        "alternatives": (*labels, "--depth", "1", "--tolerance", "0.001"),
        "policy": (*rewards, "--depth", "1"),
        "predict": ("--out", "predictions.csv"),
        "verify": ("--label", "label"),
        "report": ("--label", "label", "--time-limit", "0", "--out", "page.html"),
    }
    limit = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30)); "
    script = limit + "import sys; from certree.cli import main; sys.exit(main())"
    for form in ("many.csv", "many.parquet"):
        for verb, options in commands.items():
            files = ("model.json", form) if verb in ("predict", "verify", "report") else (form,)
            force = ("--force",) if "--out" in options else ()
            command = [sys.executable, "-c", script, verb, *files, *options, *force]
            ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, (verb, form, ended.stderr)
            assert "Traceback" not in ended.stderr
    with (tmp_path / "predictions.csv").open(encoding="utf-8") as file:
        assert sum(1 for _ in file) == 1_000_001
    assert (tmp_path / "page.html").stat().st_size < 600_000
