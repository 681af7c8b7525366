"""The record of a suite or a study as one small CSV file: what it is about in comments, then a row per figure.

A suite has a row per cell and contender, a study a row per figure. Numbers keep all their digits, and what is a list or
a mapping is written as JSON, so that nothing is lost between `write` and `read`.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]
WORDS = ("suite", "title", "date")
"""Comments that are plain text; the others are JSON."""
CELL = ("part", "ratio", "is_ratio_bound", "skipped", "disagreement")
REQUEST = (
    "contender", "table", "depth", "penalty", "weights", "time_limit", "interrupt_after", "clock", "options",
)  # fmt: skip
MEASUREMENT = ("seconds", "status", "objective", "leaves", "repeats", "notes", "remark", "remembered")
COLUMNS = ("cell", "name", *CELL, *REQUEST, *MEASUREMENT)
TEXTS = {"name", "part", "skipped", "disagreement", "contender", "table", "weights", "clock", "status", "remark",
         "remembered"}  # fmt: skip


def write(record: Record, path: Path) -> None:
    lines = [f"# {name}: {record[name]}" for name in WORDS]
    lines.append(f"# machine: {_dump(record['machine'])}")
    lines += [f"# target: {_dump(target)}" for target in record["targets"]]
    lines += [f"# disagreement: {_dump(text)}" for text in record["disagreements"]]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    if "cells" in record:
        writer.writerow(COLUMNS)
        writer.writerows(_cell_rows(record["cells"]))
    else:
        names = list(dict.fromkeys(name for figure in record["figures"] for name in figure))
        writer.writerow(names)
        writer.writerows(
            [_dump(figure[name]) if name in figure else "" for name in names] for figure in record["figures"]
        )
    path.write_text("\n".join(lines) + "\n" + table.getvalue(), encoding="utf-8")


def read(path: Path) -> Record:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    record: Record = {"targets": [], "disagreements": []}
    comments = [line for line in lines if line.startswith("# ")]
    for line in comments:
        name, _, value = line[2:].rstrip("\n").partition(": ")
        if name in ("target", "disagreement"):
            record[f"{name}s"].append(json.loads(value))
        else:
            record[name] = value if name in WORDS else json.loads(value)
    head, *rows = csv.reader(lines[len(comments) :])
    if tuple(head) == COLUMNS:
        record["cells"] = _read_cells([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    else:
        record["figures"] = [
            {name: json.loads(value) for name, value in zip(head, row, strict=True) if value} for row in rows
        ]
    return record


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=True)


def _cell_rows(cells: list[Record]) -> list[list[str]]:
    rows = []
    for number, cell in enumerate(cells):
        for name, request in cell["requests"].items():
            measured = cell["measurements"].get(name, {})
            values = {"cell": number, "name": name} | {field: cell[field] for field in CELL} | request | measured
            rows.append([_text(field, values.get(field)) for field in COLUMNS])
    return rows


def _text(field: str, value: Any) -> str:
    if value is None:
        return ""
    return str(value) if field in TEXTS else _dump(value)


def _value(field: str, text: str) -> Any:
    if field in TEXTS:
        return text
    return json.loads(text) if text else None


def _read_cells(rows: list[dict[str, str]]) -> list[Record]:
    cells: dict[str, Record] = {}
    for row in rows:
        values = {field: _value(field, text) for field, text in row.items()}
        cell = cells.setdefault(
            row["cell"], {field: values[field] for field in CELL} | {"requests": {}, "measurements": {}}
        )
        cell["requests"][row["name"]] = {field: values[field] for field in REQUEST}
        if row["status"]:
            cell["measurements"][row["name"]] = {field: values[field] for field in MEASUREMENT}
    return list(cells.values())
