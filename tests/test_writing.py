"""Files out: written as a whole or not at all, never over an input, and no result is lost for want of a place."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certree import PolicyTree, SparseTreeClassifier, cli, load, writing

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
TABLE = "size,weight,label,give,keep\n1,1,a,0,1\n2,1,a,0,1\n3,2,b,3,1\n4,1,b,3,1\n"
FIT = ("--label", "label", "--ignore", "give", "keep")
REWARDS = ("--rewards", "give", "keep", "--ignore", "label")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.fixture
def model(table: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = table.with_name("model.json")
    assert run("fit", table, *FIT, "--out", path) == 0
    capsys.readouterr()
    return path


def run(*arguments: object) -> int:
    return cli.main([str(argument) for argument in arguments])


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# One file -------------------------------------------------------------------------------------------------------------


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    writing.replace_file(tmp_path / "new", b"content")
    assert (tmp_path / "new").read_bytes() == b"content"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert list_names(tmp_path) == ["new", "plain"]


def test_a_replaced_file_keeps_its_permissions_and_the_links_to_it(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o640)
    (tmp_path / "link").symlink_to("old")
    writing.replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def fail(_: int) -> None:
        raise error

    (tmp_path / "old").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error):
        writing.replace_file(tmp_path / "old", b"new")
    assert (tmp_path / "old").read_bytes() == b"old"
    assert list_names(tmp_path) == ["old"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    seen: list[bytes] = []
    reader = threading.Thread(target=lambda: seen.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    writing.check_writable(tmp_path / "pipe")
    writing.replace_file(tmp_path / "pipe", b"content")
    reader.join()
    assert seen == [b"content"]


# No input is written over ---------------------------------------------------------------------------------------------


def same(path: Path) -> Path:
    return path


def by_another_name(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / path.name


def by_a_link(path: Path) -> Path:
    link = path.with_name("link")
    link.symlink_to(path)
    return link


def by_a_hard_link(path: Path) -> Path:
    link = path.with_name("hard-link")
    os.link(path, link)
    return link


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
@pytest.mark.parametrize("name", [same, by_another_name, by_a_link, by_a_hard_link])
def test_a_fit_never_replaces_its_table(
    table: Path, name: Callable[[Path], Path], force: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fit", table, *FIT, "--out", name(table), *force) == 2
    assert "this is the input" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == TABLE


def test_no_command_replaces_an_input(table: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = model.read_bytes()
    commands: list[tuple[object, ...]] = [
        ("predict", model, table, "--out", table),
        ("predict", model, table, "--out", model),
        ("show", model, "--plot", model),
        ("path", table, *FIT, "--out", table),
        ("policy", table, *REWARDS, "--out", table),
        ("policy", table, "--treatment", "label", "--outcome", "give", "--scores", table),
    ]
    for command in commands:
        assert run(*command, "--force") == 2, command
        assert "which is never replaced" in capsys.readouterr().err
    assert table.read_text(encoding="utf-8") == TABLE
    assert model.read_bytes() == before


def test_what_exists_is_replaced_only_by_force(table: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = model.read_bytes()
    picture, predictions = table.with_name("tree.svg"), table.with_name("predictions.csv")
    for path in (picture, predictions):
        path.write_bytes(b"precious")
    commands: dict[tuple[object, ...], Path] = {
        ("fit", table, *FIT, "--depth", "0", "--out", model): model,
        ("policy", table, *REWARDS, "--out", model): model,
        ("predict", model, table, "--out", predictions): predictions,
        ("path", table, *FIT, "--out", predictions): predictions,
        ("show", model, "--plot", picture): picture,
    }
    for command, path in commands.items():
        own = path.read_bytes()
        assert run(*command) == 2, command
        assert f"{path}: the file exists; name another one, or replace it with --force" in capsys.readouterr().err
        assert path.read_bytes() == own
    assert model.read_bytes() == before
    for command, path in commands.items():
        own = path.read_bytes()
        assert run(*command, "--force") == 0, command
        assert path.read_bytes() != own
    assert list_names(table.parent) == ["model.json", "predictions.csv", "table.csv", "tree.svg"]


def test_two_results_need_two_files(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = ("policy", table, "--treatment", "label", "--outcome", "give")
    place = table.with_name("new.json")
    assert run(*log, "--out", place, "--scores", place) == 2
    assert "--out and --scores both name" in capsys.readouterr().err


# The place is looked at before the search -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("missing/model.json", "missing is not a directory"),
        ("table.csv/model.json", "table.csv is not a directory"),
        ("folder", "it is a directory"),
        pytest.param("/proc/model.json", "cannot write there", marks=needs_proc),
        pytest.param("read-only/model.json", "cannot write there: Permission denied", marks=pytest.mark.skipif(
            os.geteuid() == 0, reason="root may write into read-only folders; /proc stands in for one")),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_written_is_refused_before_the_search(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str, reason: str
) -> None:
    def fit(*_: Any) -> None:
        pytest.fail("it searched")

    monkeypatch.chdir(table.parent)
    monkeypatch.setattr(SparseTreeClassifier, "fit", fit)
    Path("folder").mkdir()
    Path("read-only").mkdir(mode=0o555)
    assert run("fit", table, *FIT, "--out", place, "--force") == 2
    assert reason in capsys.readouterr().err
    assert list_names(table.parent) == ["folder", "read-only", "table.csv"]


# What was found is never lost -----------------------------------------------------------------------------------------


@needs_full
def test_what_cannot_be_written_is_printed(table: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands: dict[tuple[object, ...], str] = {
        ("fit", table, *FIT, "--out", "/dev/full"): "size <= 2.5",
        ("policy", table, *REWARDS, "--out", "/dev/full"): "size <= 2.5",
        ("path", table, *FIT, "--out", "/dev/full"): "leaves  depth      loss",
        ("show", model, "--plot", "/dev/full"): "size <= 2.5",
        ("predict", model, table, "--out", "/dev/full"): "",
    }
    for command, shown in commands.items():
        assert run(*command) == 1, command
        printed = capsys.readouterr()
        assert f"certree {command[0]}: /dev/full could not be written: No space left on device." in printed.err
        assert shown in printed.out
        assert "written to" not in printed.out
        assert "drawn to" not in printed.out


def test_a_fit_outlives_its_folder(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = table.parent / "short-lived"
    place.mkdir()
    search = SparseTreeClassifier.fit

    def fit(*arguments: Any) -> Any:
        shutil.rmtree(place)
        return search(*arguments)

    monkeypatch.setattr(SparseTreeClassifier, "fit", fit)
    assert run("fit", table, *FIT, "--out", place / "model.json") == 1
    printed = capsys.readouterr()
    assert "size <= 2.5" in printed.out
    assert "model.json could not be written: No such file or directory." in printed.err


def test_what_comes_into_being_meanwhile_is_not_replaced(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = table.with_name("model.json")
    search = PolicyTree.fit

    def fit(*arguments: Any, **others: Any) -> Any:
        place.write_bytes(b"precious")
        return search(*arguments, **others)

    monkeypatch.setattr(PolicyTree, "fit", fit)
    assert run("policy", table, *REWARDS, "--out", place) == 1
    assert "was created in the meantime" in capsys.readouterr().err
    assert place.read_bytes() == b"precious"


# Standard output ------------------------------------------------------------------------------------------------------


def test_standard_output_takes_a_model(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", table, *FIT, "--out", "/dev/stdout") == 0
    text = capsys.readouterr().out
    document, end = json.JSONDecoder().raw_decode(text)
    table.with_name("model.json").write_text(json.dumps(document), encoding="utf-8")
    assert load(table.with_name("model.json")).certificate_["status"] == "optimal"
    assert "size <= 2.5" in text[end:]


def test_a_closed_standard_output_is_no_failure(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a command that ends in >&-."""
    monkeypatch.setattr(sys, "stdout", None)
    assert run("fit", table, *FIT, "--out", table.with_name("model.json")) == 0
    assert load(table.with_name("model.json")).certificate_["status"] == "optimal"
    sys.stdout.close()


@needs_full
def test_a_full_standard_output_is_a_failure(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert run("fit", table, *FIT, "--out", table.with_name("model.json")) == 1
    assert capsys.readouterr().err.endswith("certree fit: cannot print: No space left on device\n")
    assert load(table.with_name("model.json")).certificate_["status"] == "optimal"


@needs_full
def test_files_are_written_before_anything_is_printed(
    table: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe may be broken by the first line, as by `head`; what was asked for as a file is there all the same."""
    commands: dict[str, tuple[object, ...]] = {
        "new.json": ("fit", table, *FIT, "--out"),
        "policy.json": ("policy", table, *REWARDS, "--out"),
        "front.csv": ("path", table, *FIT, "--out"),
        "good.json": ("alternatives", table, *FIT, "--depth", "1", "--out"),
        "good-cuts.png": ("alternatives", table, *FIT, "--depth", "1", "--plots"),
        "tree.png": ("show", model, "--plot"),
    }
    for name, command in commands.items():
        place = "good.png" if "--plots" in command else name
        with Path("/dev/full").open("w", buffering=1, encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert run(*command, table.with_name(place)) == 1
        assert capsys.readouterr().err.endswith("cannot print: No space left on device\n")
        assert table.with_name(name).stat().st_size > 0, name


def test_a_terminal_that_lacks_letters_shows_the_tree(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert run("fit", table, *FIT) == 0
    assert b"size <= 2.5" in shown.buffer.getvalue()
