"""The same table from CSV, gzip, Parquet and Arrow gives the same tree, and a broken file is one line that says so."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree.cli import main
from certree.datasets import blocks, files
from certree.datasets.files import read_csv, read_file, read_parts

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(80) < 0.1, np.nan, RNG.integers(18, 80, 80)),
        "region": RNG.choice(["north", "south", "?"], 80),
        "is_member": RNG.random(80) < 0.5,
    }
)
FRAME["label"] = np.where(FRAME["age"].fillna(0) + 20 * FRAME["is_member"] > 50, "yes", "no")


def write(folder: Path, ending: str) -> Path:
    path = folder / f"table{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    elif ending in (".arrow", ".feather"):
        FRAME.to_feather(path)
    else:
        FRAME.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".arrow", ".feather"])
def test_every_form_of_a_table_is_the_same_table(ending: str, tmp_path: Path, capsys: Any) -> None:
    plain, other = read_file(write(tmp_path, ".csv")), read_file(write(tmp_path, ending))
    assert other.names == plain.names
    for one, two in zip(plain.columns, other.columns, strict=True):
        np.testing.assert_array_equal(one, two)
    options = ["--label", "label", "--depth", "2"]
    for path in (tmp_path / "table.csv", tmp_path / f"table{ending}"):
        assert main(["fit", str(path), *options, "--out", str(path.with_suffix(".json")), "--force"]) == 0
        assert main(["verify", str(path.with_suffix(".json")), str(path), "--label", "label"]) == 0
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "table.json"), str(tmp_path / f"table{ending}"), "--no-ids"]) == 0
    model = certree.load(tmp_path / "table.json")
    assert capsys.readouterr().out.split()[1:] == model.tree_.predict(FRAME.drop(columns="label")).tolist()


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_marks_of_missing_values_are_found(ending: str, tmp_path: Path) -> None:
    table = read_file(write(tmp_path, ending), missing=["?"])
    region = table.columns[table.names.index("region")]
    assert sum(value is None for value in region) == (FRAME["region"] == "?").sum() > 0


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_dates_and_lists_are_text_as_in_a_csv_file(ending: str, tmp_path: Path, capsys: Any) -> None:
    """Columns that are left out, or that a model does not ask, are no reason to refuse a file."""
    days = pd.date_range("2024-01-30", periods=len(FRAME)).where(FRAME["age"].notna())
    odd = {"joined": days, "at": days + pd.Timedelta("1ms"), "tags": [["a", "b"]] * len(FRAME), "raw": b"\xff"}
    frame = FRAME.assign(**odd)
    path = tmp_path / f"odd{ending}"
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    table = read_file(path)
    found = {name: column[0] for name, column in zip(table.names, table.columns, strict=True)}
    joined, at = "2024-01-30 00:00:00", "2024-01-30 00:00:00.001000"
    assert [found[name] for name in ("joined", "tags", "raw")] == [joined, "['a', 'b']", "b'\\xff'"]
    assert found["at"].startswith(at)
    model = str(tmp_path / "model.json")
    fit = ["fit", str(path), "--label", "label", "--depth", "1", "--out", model]
    assert main(fit) == 0
    said = capsys.readouterr().err
    assert "column 'joined' is read as categories, although its cells are dates, such as '2024-" in said
    assert main([*fit, "--force", "--ignore", *odd]) == 0
    for command in (["verify", model, str(path), "--label", "label"], ["predict", model, str(path)]):
        capsys.readouterr()
        assert main(command) == 0
    assert joined in capsys.readouterr().out


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_prediction_reads_the_text_that_the_fit_read(ending: str, tmp_path: Path, capsys: Any) -> None:
    """In a file with types, only the marks that a user names are missing: NA may be Namibia."""
    countries = ["NA", "DE", "null", "", "?", None] * 20
    frame = pd.DataFrame({"country": countries, "y": ["yes" if name == "NA" else "no" for name in countries]})
    path, model = tmp_path / f"table{ending}", str(tmp_path / "model.json")
    frame.to_parquet(path) if ending == ".parquet" else frame.to_feather(path)
    for missing, given in (([], []), (["?", "null"], ["--missing", "?", "null"])):
        whole = read_file(path, missing=missing).columns[0].tolist()
        assert whole == [None if name in missing else name for name in countries]
        assert [value for part in read_parts(path, ["country"], missing=missing) for value in part.columns[0]] == whole
        assert main(["fit", str(path), "--label", "y", "--depth", "1", "--out", model, "--force", *given]) == 0
        capsys.readouterr()
        assert main(["predict", model, str(path), "--no-ids", *given]) == 0
        assert capsys.readouterr().out.split()[1:] == frame["y"].tolist()


def test_what_a_value_becomes_depends_on_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is read in pieces, and a fraction of a second or a bad byte may be in one of them only."""
    import pyarrow as pa
    from pyarrow import parquet

    times = pd.to_datetime(["2024-01-01", None, "2024-01-03 10:00:00.050000", "2024-01-04 00:00:10"], format="ISO8601")
    days, noon = ["2024-01-01 00:00:00", None], "2024-01-03 10:00:00.050000"
    raw, texts = [b"a.0", None, b"\xff", b"d"], ["a.0", None, "b'\\xff'", "d"]
    columns = {
        "us": (pa.array(times, pa.timestamp("us")), [*days, noon, "2024-01-04 00:00:10"]),
        "ns": (pa.array(times, pa.timestamp("ns")), [*days, f"{noon}000", "2024-01-04 00:00:10"]),
        "utc": (
            pa.array(times, pa.timestamp("us", "UTC")),
            ["2024-01-01 00:00:00Z", None, f"{noon}Z", "2024-01-04 00:00:10Z"],
        ),
        "raw": (pa.array(raw, pa.binary()), texts),
        "codes": (pa.array(raw, pa.binary()).dictionary_encode(), texts),
    }
    path = tmp_path / "groups.parquet"
    parquet.write_table(pa.table({name: given for name, (given, _) in columns.items()}), path, row_group_size=2)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    parts = list(read_parts(path, []))
    assert len(parts) == 2
    whole = read_file(path)
    for index, (name, (_, expected)) in enumerate(columns.items()):
        assert [value for part in parts for value in part.columns[index]] == expected, name
        assert whole.columns[index].tolist() == expected, name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.csv.gz", b"a,b\n1,2\n", "is not a whole gzip file"),
        ("cut.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 999)[:-20], "is not a whole gzip file"),
        ("bad.parquet", b"a,b\n1,2\n", "is not a .parquet file"),
        ("bad.arrow", b"a,b\n1,2\n", "is not a .arrow file"),
    ],
    ids=["no gzip", "half a gzip", "no Parquet", "no Arrow"],
)
def test_a_broken_file_is_one_line(name: str, content: bytes, message: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / name).write_bytes(content)
    assert main(["fit", str(tmp_path / name), "--label", "b"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_what_else_can_be_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    assert main(["fit", str(tmp_path / "absent.parquet"), "--label", "b"]) == 2
    assert "No such file" in capsys.readouterr().err
    FRAME[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        read_file(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="'region' is to be read as numbers, but the file has text in it"):
        read_file(write(tmp_path, ".parquet"), number_columns=["region"])
    pd.DataFrame({"day": pd.to_datetime(["2024-01-30"]).date}).to_parquet(tmp_path / "days.parquet")
    with pytest.raises(ValueError, match=r"numbers, but the file has values of the type date32\[day\] in it"):
        read_file(tmp_path / "days.parquet", number_columns=["day"])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"certree\[parquet\]"):
        read_file(tmp_path / "empty.parquet")


def test_decimal_commas_are_asked_for(tmp_path: Path, capsys: Any) -> None:
    table = tmp_path / "table.csv"
    table.write_text("size;y\n" + "".join(f"{row},5;{row > 4}\n" for row in range(9)), encoding="utf-8")
    fit = ["fit", str(table), "--label", "y", "--separator", ";"]
    assert main(fit) == 0
    assert "in another notation: '0,5' (line 2)" in (said := capsys.readouterr().err)
    assert said.endswith("--decimal , reads decimal commas, --categorical says that categories are meant\n")
    assert main([*fit, "--decimal", ","]) == 0
    assert "size <= 5\n" in capsys.readouterr().out.replace(": False", "\n")
    assert main([*fit[:4], "--decimal", ","]) == 2
    assert capsys.readouterr().err == (
        "certree fit: --separator and --decimal are both ',': name the separator, such as ';'\n"
    )


@pytest.mark.parametrize("arrow", [True, False])
def test_a_read_that_takes_long_says_how_far_it_is(
    arrow: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many.csv"
    path.write_text("a,b\n" + "1,x\n" * 25_000, encoding="utf-8")
    monkeypatch.setattr(blocks, "_has_arrow", lambda: arrow)
    monkeypatch.setattr(files, "SECONDS_OF_SILENCE", 600.0)
    read_csv(path, verbose=1)
    assert capsys.readouterr().err == ""  # it was done in time
    monkeypatch.setattr(files, "SECONDS_OF_SILENCE", 0.0)
    expected = read_csv(path)
    assert capsys.readouterr().err == ""
    table = read_csv(path, verbose=1)
    said = capsys.readouterr().err
    assert f"reading {path}: " in said
    assert "reading columns: " in said
    assert table.n_rows == expected.n_rows == 25_000


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_so_does_a_read_of_a_file_that_knows_its_columns(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, ending)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 30)
    monkeypatch.setattr(files, "SECONDS_OF_SILENCE", 600.0)
    read_file(path, verbose=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(files, "SECONDS_OF_SILENCE", 0.0)
    expected = read_file(path)
    assert capsys.readouterr().err == ""
    table = read_file(path, verbose=1)
    said = capsys.readouterr().err
    assert f"reading {path}: " in said
    assert "/80.0 " in said or ending == ".arrow"
    assert "reading columns: " in said
    for one, two in zip(expected.columns, table.columns, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_predictions_say_how_far_they_are_on_a_terminal(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model, out = write(tmp_path, ending), str(tmp_path / "model.json"), str(tmp_path / "out.csv")
    assert main(["fit", str(path), "--label", "label", "--depth", "2", "--out", model]) == 0
    monkeypatch.setattr(files, "SECONDS_OF_SILENCE", 0.0)
    predict = ["predict", model, str(path), "--out", out, "--force"]
    capsys.readouterr()
    assert main(predict) == 0
    assert capsys.readouterr().err == ""  # a pipe
    plain = Path(out).read_bytes()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(predict) == 0
    assert f"predicting {path}: " in capsys.readouterr().err
    assert Path(out).read_bytes() == plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)  # where a bar would run through what is printed
    assert main(predict[:3]) == 0
    assert capsys.readouterr().err == ""


def test_every_row_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("a,b\n" + '"1\n",x\n' * 25_000, encoding="utf-8")  # read one by one
    told: list[int] = []
    (block,) = blocks.read_blocks(path, ",", is_whole=True, tell=told.append)
    assert [rows for rows in told if rows] == [10_000, 10_000, 5_000]
    assert len(block.lines) == 25_000
