"""The benchmark of reading: its table, and that every reader reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import reading


def test_the_table_has_every_reader_and_its_ratio(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    quick = {name: dict.fromkeys(forms, "read = len") for name, forms in reading.READERS.items()}
    monkeypatch.setattr(reading, "READERS", quick)
    monkeypatch.setattr(
        reading, "read_once", lambda imports, path: (2.0, 30.0) if path.suffix == ".csv" else (1.0, 5.0)
    )
    reading.main(["--rows", "50", "--repeats", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("50 rows of 20 columns: CSV 0 MB, Parquet 0 MB")
    assert [line.split(" | ")[0] for line in lines[4:]] == [f"| {name}" for name in quick]
    assert lines[4].endswith("| 2.0 s, 1.0 times pandas, 30 MB | 1.0 s, 1.0 times pandas, 5 MB |")
    assert lines[5].endswith("| – |")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("name", reading.FORMS)
def test_every_reader_reads(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    reading.write_files(tmp_path, 200)
    for forms in reading.READERS.values():
        if name in forms:
            seconds, megabytes = reading.read_once(forms[name], tmp_path / name)
            assert seconds > 0
            assert megabytes >= 0
