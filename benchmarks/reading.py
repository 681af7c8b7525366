"""What it takes to read a large file: certree with pyarrow and without it, beside pandas and polars.

    python -m benchmarks.reading --rows 1000000 --repeats 3

The file has 20 columns: 8 of decimal numbers, 8 of whole numbers and 4 of text. Every read runs in a process of its
own. Seconds are processor time, of all threads, without imports. Memory is how far the peak of the process rises above
that of its imports. Figures are medians of the repeats, and readers take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

FORMS = {"many.csv": "CSV", "many.parquet": "Parquet"}
CERTREE = "from certree.datasets.files import read_file as read"
READERS = {
    "certree with pyarrow": dict.fromkeys(FORMS, f"import pyarrow.csv, pyarrow.parquet; {CERTREE}"),
    "certree, plain install": {"many.csv": f"sys.modules['pyarrow'] = None; {CERTREE}"},
    **{
        package: {
            "many.csv": f"from {package} import read_csv as read",
            "many.parquet": f"from {package} import read_parquet as read",
        }
        for package in ("pandas", "polars")
    },
}
"""For each form of the file that a reader takes, what imports it as `read`."""
YARDSTICK = "pandas"
SCRIPT = """
import json, pathlib, re, sys, time
{imports}
# The peak that a process reports of itself elsewhere begins at that of the process which started it.
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
before, begun = peak(), time.process_time()
table = read({path!r})
print(json.dumps([time.process_time() - begun, peak() - before]))
"""


def write_files(folder: Path, n_rows: int) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    words = np.array(["north", "south", "east", "west", "centre"])
    columns: dict[str, object] = {f"amount {index}": rng.normal(size=n_rows).round(4) for index in range(8)}
    columns |= {f"count {index}": rng.integers(0, 1_000, n_rows) for index in range(8)}
    columns |= {f"region {index}": rng.choice(words, n_rows) for index in range(4)}
    frame = pd.DataFrame(columns)
    frame.to_csv(folder / "many.csv", index=False)
    frame.to_parquet(folder / "many.parquet")


def read_once(imports: str, path: Path) -> tuple[float, float]:
    """Seconds of processor time, and megabytes."""
    script = SCRIPT.format(imports=imports, path=str(path))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, megabytes = json.loads(ended.stdout)
    return seconds, megabytes


def measure(folder: Path, repeats: int) -> dict[tuple[str, str], tuple[float, float]]:
    """Median seconds and megabytes of each reader and form."""
    cells = [(reader, name) for reader, forms in READERS.items() for name in forms]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {cell: [] for cell in cells}
    for _ in range(repeats):
        for reader, name in cells:
            found[reader, name].append(read_once(READERS[reader][name], folder / name))
    return {
        cell: (statistics.median(each[0] for each in reads), statistics.median(each[1] for each in reads))
        for cell, reads in found.items()
    }


def tabulate(figures: dict[tuple[str, str], tuple[float, float]]) -> list[str]:
    """Seconds and memory of each, and its seconds divided by those of pandas."""
    lines = [f"| reader | {' | '.join(FORMS.values())} |", "|---" * (1 + len(FORMS)) + "|"]
    for reader in READERS:
        cells = []
        for name in FORMS:
            if (reader, name) not in figures:
                cells.append("–")
                continue
            seconds, megabytes = figures[reader, name]
            ratio = seconds / figures[YARDSTICK, name][0]
            cells.append(f"{seconds:.1f} s, {ratio:.1f} times {YARDSTICK}, {megabytes:,.0f} MB")
        lines.append(f"| {reader} | {' | '.join(cells)} |")
    return lines


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="the rows of the file (default 1,000,000)")
    parser.add_argument("--repeats", type=int, default=3, help="how many times each reader reads it (default 3)")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = make_parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.rows)
        sizes = ", ".join(f"{form} {(folder / file).stat().st_size / 1e6:,.0f} MB" for file, form in FORMS.items())
        print(f"{options.rows:,} rows of 20 columns: {sizes}\n")
        print(*tabulate(measure(folder, options.repeats)), sep="\n")


if __name__ == "__main__":
    main()
