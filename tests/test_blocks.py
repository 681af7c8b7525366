"""A CSV file reads the same with pyarrow and without it, errors included."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from certree.datasets import blocks
from certree.datasets.files import BLANKS, read_csv, read_parts
from certree.table import Table

pytest.importorskip("pyarrow")

# Enough of each for every rule of quotes, ends of lines, blanks, marks of missing values, numbers and truths.
PIECES = [
    '"', '""', ",", ",", ",", ";", "\n", "\n", "\r\n", "\r", " ", "\t", "\x1d", "\xa0", "\0", "\ufeff", "a", "ä", "🙂",
    "NA", "nan", "NAN", "nan(1)", "inf", "-Infinity", "1", "1", "2.5", "1e5", "1e400", "+1", ".5", "5.", "1_0", "0x1",
    "1d2", "True", "true", "false", "9007199254740993", "0.1000000000000000055511151231257827", "4.9e-324", "-0",
]  # fmt: skip


def outcome(read: Any) -> Any:
    """What came of reading: tables as plain data, or the error."""
    try:
        tables = read()
    except ValueError as error:
        return str(error)
    return [plain(table) for table in tables]


def plain(table: Table) -> Any:
    columns = [(column.dtype.kind, [repr(value) for value in column.tolist()]) for column in table.columns]
    lines = [] if table.row_names is None else table.row_names.labels.tolist()
    return table.names, columns, table.is_categorical, table.n_rows, lines, table.remarks


def compare(path: Path, **chosen: Any) -> Any:
    def whole() -> list[Table]:
        return [read_csv(path, **chosen)]

    def parts() -> list[Table]:
        own = {name: chosen[name] for name in ("text_columns", "separator", "decimal") if name in chosen}
        return list(read_parts(path, ["a"], **own))

    with pytest.MonkeyPatch.context() as patch:
        fast = outcome(whole), join(outcome(parts))
        patch.setattr(blocks, "_has_arrow", lambda: False)
        slow = outcome(whole), join(outcome(parts))
    assert fast == slow
    return fast


def join(parts: Any) -> Any:
    """The text of all parts: where a part ends, and so what a column of one part is read as, may differ."""
    if isinstance(parts, str):
        return parts
    return [[text for part in parts for text in part[1][index][1]] for index in range(1, len(parts[0][0]))]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.sampled_from(["a\n", "a,b\n", "a,b\r\n", "a,b,c\n"])
)
@example('1,"x\n', "a,b\n")
@example('"x""y","z"\n', "a,b\n")
@example('"x"y,z\n', "a,b\n")
@example('""y,z\n', "a,b\n")
@example('"""";', "a\n")
@example('5",z\n', "a,b\n")
@example('"1\n2"\n', "a\n")
@example("\ufeff1\n2\n", "a\n")
@example("nan(1)\n2\n", "a\n")
@pytest.mark.no_cover
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str, header: str) -> None:
    path = tmp_path_factory.mktemp("blocks") / "table.csv"
    path.write_bytes((header + text).encode("utf-8"))
    compare(path)
    compare(path, text_columns=["a"])
    compare(path, number_columns=["a"])
    compare(path, missing=["a", "1"])
    compare(path, decimal=",", separator=";")


def test_rows_of_every_sort(tmp_path: Path) -> None:
    """Longer files that are plain, or plain up to some line, in several blocks."""
    chance = random.Random(0)
    path = tmp_path / "table.csv"
    n_plain = 0
    for number in range(60):
        values = [chance.choice(["1", "2.5", "x", "NA", '"a, b"', '"say ""so"""', "True", " 3 ", ""]) for _ in range(3)]
        rows = [",".join(chance.choice(values) for _ in range(2)) for _ in range(chance.randint(1, 60))]
        if number % 3 == 0:
            rows.insert(
                chance.randint(0, len(rows)), chance.choice(["", '"two\nlines",1', "1,2,3", '"a"b,1', "\udcff,1"])
            )
        path.write_bytes(("a,b\n" + "\n".join(rows)).encode("utf-8", "surrogateescape"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "BLOCK_BYTES", 100)
            patch.setattr(blocks, "BLOCK_ROWS", 7)
            n_plain += not isinstance(compare(path)[0], str)
    assert 40 < n_plain < 60


def test_a_plain_file_is_read_by_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> Any:
        raise AssertionError("read row by row")

    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress('a,b\r\n1,"x, y"\r\n2.5,"say ""so"""\r\n,z'.encode("utf-8-sig")))
    monkeypatch.setattr(blocks, "_read_by_row", never)
    table = read_csv(path)
    np.testing.assert_array_equal(table.columns[0], [1.0, 2.5, np.nan])
    assert table.columns[1].tolist() == ["x, y", 'say "so"', "z"]
    assert table.row_names is not None
    assert table.row_names.labels.tolist() == [2, 3, 4]


def test_blanks_are_those_of_python() -> None:
    assert set(BLANKS) == {chr(code) for code in range(0x110000) if chr(code).isspace()}
