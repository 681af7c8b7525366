"""Judges measured suites and writes results/<suite>.csv and .md, and results/summary.md from all that is there."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.adapters import CONTENDERS
from benchmarks.machine import describe
from benchmarks.measure import Measurement
from benchmarks.record import read as read_record
from benchmarks.record import write as write_record
from benchmarks.studies import Study
from benchmarks.suites import Row, Suite, memory_growth
from benchmarks.tables import load

METHOD = (
    "Every fit runs in a fresh process, contenders take turns, and each has one thread unless the table says "
    "otherwise. Seconds are those of the whole `fit` call on arrays in memory, and the median of the repeats (fits of "
    "milliseconds are also repeated inside the process). The objective of every tree is recomputed from its "
    "predictions and must agree. A peer that has clearly lost to the other one, or that reached its time limit, is "
    "stopped and shown as “> s”. † marks a peer's figure from an earlier day."
)
METHOD_TOGETHER = (
    "Every row is measured in a fresh process, in which its contenders take turns with one thread each. Seconds are "
    "those of the whole `fit` call on arrays in memory, and the median of the turns. The objective of every tree is "
    "recomputed from its predictions. A fit that reached its time limit is shown as “> s”, with the best tree it had."
)


def judge(suite: Suite, rows: list[Row]) -> list[dict[str, Any]]:
    """Each target with what was found and whether it is met."""
    verdicts = []
    for target in suite.targets:
        found, is_met = target.judge(rows)
        verdicts.append({"target": target.text, "found": found, "is_met": is_met})
    return verdicts


def write(suite: Suite, rows: list[Row], directory: Path) -> list[dict[str, Any]]:
    """Writes the two files of a suite and the summary; returns the verdicts."""
    directory.mkdir(parents=True, exist_ok=True)
    verdicts = judge(suite, rows)
    record = {
        "suite": suite.name,
        "title": suite.title,
        "date": datetime.date.today().isoformat(),
        "machine": describe(),
        "targets": verdicts,
        "disagreements": [text for row in rows if (text := row.disagreement)],
        "cells": [_plain(row) for row in rows],
    }
    write_record(record, directory / f"{suite.name}.csv")
    (directory / f"{suite.name}.md").write_text(_page(suite, rows, record))
    if suite.draw is not None:
        suite.draw(rows, directory)
    summarise(directory)
    return verdicts


def write_study(study: Study, directory: Path) -> None:
    """Writes the two files of a study and the summary."""
    directory.mkdir(parents=True, exist_ok=True)
    record = {
        "suite": study.name,
        "title": study.title,
        "date": datetime.date.today().isoformat(),
        "machine": describe(),
        "targets": [asdict(verdict) for verdict in study.verdicts],
        "disagreements": [],
        "figures": study.figures,
    }
    write_record(record, directory / f"{study.name}.csv")
    page = [f"# {study.title}", "", *_verdict_lines(record), "", *study.lines, "", _machine_text(record), ""]
    (directory / f"{study.name}.md").write_text("\n".join(page))
    summarise(directory)


def _plain(row: Row) -> dict[str, Any]:
    return {
        "part": row.cell.part,
        "requests": {name: asdict(request) for name, request in row.cell.requests.items()},
        "measurements": {name: asdict(measurement) for name, measurement in row.measurements.items()},
        "ratio": row.ratio,
        "is_ratio_bound": row.is_ratio_bound,
        "skipped": row.skipped,
        "disagreement": row.disagreement,
    }


def seconds_text(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    if seconds < 0.1:
        return f"{seconds * 1000:.2g} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def measurement_text(measurement: Measurement | None) -> str:
    if measurement is None or not measurement.has_figures:
        return "–" if measurement is None or measurement.status == "unsupported" else "failed"
    text = seconds_text(measurement.seconds)
    if measurement.is_timeout:
        text = f"> {text}"
    elif measurement.status not in ("optimal", "greedy"):
        text += f" ({measurement.status})"
    return text + (" †" if measurement.remembered else "")


def verdict_word(is_met: bool | None) -> str:
    """What is only reported is neither met nor missed."""
    return "reported" if is_met is None else "met" if is_met else "not met"


def _verdict_lines(record: dict[str, Any]) -> list[str]:
    return [
        f"- **{verdict_word(verdict['is_met'])}**: {verdict['target']} — {verdict['found']}"
        for verdict in record["targets"]
    ]


def _page(suite: Suite, rows: list[Row], record: dict[str, Any]) -> str:
    lines = [f"# {suite.title}", "", *_verdict_lines(record)]
    lines += [f"- **WRONG**: {text}" for text in record["disagreements"]]
    present = suite.present or (_limits_table if suite.name == "limits" else _contest_table)
    lines += ["", *present(rows), "", METHOD_TOGETHER if suite.is_together else METHOD, ""]
    skipped = sorted({row.skipped for row in rows if row.skipped})
    lines += [f"Skipped: {reason}." for reason in skipped] + ([""] if skipped else [])
    remembered = sorted({m.remembered for row in rows for m in row.measurements.values() if m.remembered})
    lines += [f"† of {', '.join(remembered)}.", ""] if remembered else []
    sources = {row.cell.subject.table: load(row.cell.subject.table) for row in rows if not row.skipped}
    lines += ["Tables:", ""] + [
        f"- {name} ({t.shape_text}, {t.n_thresholds} tests): {t.source}" for name, t in sources.items()
    ]
    return "\n".join([*lines, "", _machine_text(record), ""])


def table_head(names: Sequence[str]) -> list[str]:
    """The first two lines of a table in Markdown."""
    return ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]


def _contest_table(rows: list[Row]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.cell.requests))
    titles = [CONTENDERS[name].title if name in CONTENDERS else name for name in names]
    parts = any(row.cell.part for row in rows)
    head = ["table", "depth", "λ", *(["part"] if parts else []), *titles, "ratio", "objective", "leaves"]
    lines = table_head(head)
    for row in rows:
        if row.skipped:
            continue
        subject, under = row.cell.subject, row.measurements[row.cell.under]
        ratio = "–" if row.ratio is None else f"{'> ' if row.is_ratio_bound else ''}{row.ratio:.3g}"
        cells = [subject.table, str(subject.depth), f"{subject.penalty:g}", *([row.cell.part] if parts else [])]
        cells += [measurement_text(row.measurements.get(name)) for name in names]
        cells += [ratio, "–" if under.objective is None else f"{under.objective:.6f}", str(under.leaves or "–")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _limits_table(rows: list[Row]) -> list[str]:
    head = ["part", "table", "depth", "λ", "threads", "limit", "seconds", "status", "memory", "peak", "interrupt"]
    lines = table_head(head)
    for row in rows:
        if row.skipped:
            continue
        request, found = row.cell.subject, row.measurements["certree"]
        if "peak_megabytes" not in found.notes:
            lines.append(f"| {row.cell.part} | {request.table} | {request.depth} | {found.status}: {found.remark} |")
            continue
        memory = request.options.get("memory_limit")
        limit = f"{memory / 2**20:.0f} MB" if memory else f"{request.time_limit:g} s"
        wait = found.notes.get("interrupt_seconds")
        cells = [
            row.cell.part, request.table, str(request.depth), f"{request.penalty:g}",
            str(request.options.get("n_jobs", 1)), limit, f"{found.seconds:.2f}", found.status,
            f"{memory_growth(found):.0f} MB", f"{found.notes['peak_megabytes']:.0f} MB",
            "–" if wait is None else f"{wait:.3f} s",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _machine_text(record: dict[str, Any]) -> str:
    machine = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{record['date']}; {machine['processor']}, {machine['cores']} cores, {machine['memory_gigabytes']} GB, "
        f"{' '.join(machine['instructions'])}; {machine['system']}, Python {machine['python']}; {versions}."
    )


def summarise(directory: Path) -> None:
    """One page over all suites that were ever measured here."""
    lines = ["# What the benchmarks show", "", "| suite | target | found | met | measured |", "|---|---|---|---|---|"]
    for path in sorted(directory.glob("*.csv")):
        if not path.read_text(encoding="utf-8").startswith("# suite: "):
            continue
        record = read_record(path)
        for verdict in record["targets"]:
            met = {None: "reported", True: "yes", False: "**no**"}[verdict["is_met"]]
            cells = [
                f"[{record['suite']}]({record['suite']}.md)",
                verdict["target"],
                verdict["found"],
                met,
                record["date"],
            ]
            lines.append("| " + " | ".join(cells) + " |")
        lines += [
            f"| {record['suite']} | objectives agree | **{text}** | **no** | |" for text in record["disagreements"]
        ]
    (directory / "summary.md").write_text("\n".join(lines) + "\n")
