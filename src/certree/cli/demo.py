"""`certree demo`: the case study on the embedded data set."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from certree import study
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import read_amounts, read_notation
from certree.cli.options import add_example, add_reading, read_jobs
from certree.cli.outputs import add_force, check_no_input, warnings_on_standard_error
from certree.datasets import load_lalonde
from certree.datasets.blocks import hint_at_separator
from certree.datasets.files import read_file
from certree.table import Array, name_row
from certree.writing import check_writable


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="the case study: whom to train, on the embedded data set",
        description="The case study on the embedded data set: effects by matching, weighted trees and a policy.",
        allow_abbrev=False,
    )
    own = study.Matching()
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("certree-demo"),
        metavar="DIR",
        help="folder to write (default certree-demo)",
    )
    add_force(parser)
    parser.add_argument(
        "--effects", type=Path, metavar="TABLE", help="effects to use instead of matching, one row per man"
    )
    parser.add_argument(
        "--column", metavar="NAME", help="the column of that file that holds them (default effect, or the only one)"
    )
    add_reading(parser)
    for flag, default, meaning in (
        ("--neighbors", own.n_neighbors, "how many men of each arm a man is matched with"),
        ("--splits", own.n_splits, "how many parts the men are divided into"),
        ("--repeats", own.n_repeats, "how many times they are divided into parts"),
        ("--seed", own.random_state, "the seed of the matching and of the evaluation"),
    ):
        parser.add_argument(flag, type=int, default=default, metavar="N", help=f"{meaning} (default {default})")
    parser.add_argument(
        "--depths",
        type=int,
        nargs="+",
        default=[2, 3, 4, 5],
        metavar="D",
        help="the depths of the trees (default 2 3 4 5)",
    )
    parser.add_argument(
        "--regularization", type=float, default=0.01, metavar="λ", help="penalty per leaf (default 0.01)"
    )
    parser.add_argument(
        "--time-limit", type=float, default=60.0, metavar="SECONDS", help="the time for each tree (default 60)"
    )
    parser.add_argument("--jobs", type=read_jobs, default=-1, metavar="N", help="the number of threads (default all)")
    parser.add_argument(
        "--cost", type=float, default=1000.0, metavar="DOLLARS", help="what treating a man costs (default 1000)"
    )
    add_example(parser, "certree demo --output study --depths 2")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    check_folder(options)
    effects = None
    if options.effects is not None:
        effects = read_effects(options.effects, options.column, **read_notation(options))
    with warnings_on_standard_error():
        case = study.run(
            effects,
            matching=study.Matching(options.neighbors, options.splits, options.repeats, options.seed),
            depths=options.depths,
            regularization=options.regularization,
            time_limit=options.time_limit,
            treatment_cost=options.cost,
            n_jobs=options.jobs,
            verbose=int(sys.stderr.isatty()),
        )
    written = write_study(case, options.output)
    print(study.summarise(case))
    if written is None:
        return FAILED
    counts = Counter(path.suffix for path in written)
    print(f"\nwritten to {options.output}: study.txt and")
    print(f"  {counts['.csv']} tables (CSV), {counts['.json']} models (JSON), {counts['.svg']} pictures (SVG)")
    for page in (path for path in written if path.suffix == ".html"):
        print(f"  {page}, a page to open in a browser")
    print(f"in {case.study_seconds:.0f} s. Now try")
    print(f"  {name_command()} show {options.output / 'models' / f'direct-depth-{case.depths[0]}.json'}")
    if not study.has_pictures():
        print(
            "certree demo: no trees were drawn, because matplotlib is not installed: pip install 'certree[plot]'",
            file=sys.stderr,
        )
    if case.has_wrong_certificate:
        return FAILED
    return DONE if case.is_complete else LIMITED


def write_study(case: study.CaseStudy, folder: Path) -> list[Path] | None:
    """None if it could not be written. This comes before anything is printed, because a pipe may end after a line."""
    try:
        return list(study.write(case, folder))
    except OSError as error:
        print(f"certree demo: {folder} could not be written in full: {error.strerror}.", file=sys.stderr)
        return None


def check_folder(options: argparse.Namespace) -> None:
    """Before any work: the study may replace what a study has written, but no input and nothing else."""
    folder = options.output
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not place.is_dir():
        raise ValueError(f"--output {folder}: cannot write there: {place} is not a directory")
    files = study.find_files(folder)
    for path in files:
        check_no_input(options, "--output", path)
    if files and not options.force and not study.is_study(folder):
        raise ValueError(
            f"--output {folder}: it holds {files[0].name}, which no study has written; name another folder, or "
            "replace it with --force"
        )
    try:
        check_writable(place / "study.txt")
    except OSError as error:
        raise ValueError(f"--output {folder}: cannot write there: {error.strerror}") from error


def name_command() -> str:
    """What to type to run a command: an environment that is not active has no place on the path."""
    own = Path(sys.argv[0])
    return "certree" if own.stem != "certree" or shutil.which("certree") else os.path.relpath(own)


def read_effects(path: Path, column: str | None, **notation: Any) -> Array:
    """Effects from a file. Other columns that it shares with the embedded table show that its rows are in order."""
    table = read_file(path, **notation)
    if column is None:
        is_lone = table.n_columns == 1 and not hint_at_separator(table.names)
        column = table.names[0] if is_lone else "effect"
    effects = read_amounts(table, column, path, can_drop=False)
    data = load_lalonde()
    own = dict(zip(data.feature_names, data.data.T, strict=True)) | {"treat": data.treatment, "re78": data.target}
    if table.n_rows != len(data.data):
        raise ValueError(f"{path} has {table.n_rows} rows, but the study has {len(data.data)}")
    for name, values in zip(table.names, table.columns, strict=True):
        if name in own and name != column and not np.array_equal(values, own[name].astype(np.float64)):
            row = int(np.argmax(values != own[name]))
            raise ValueError(
                f"{path}, {name_row(row, table)}: {name} is {values[row]}, but {own[name][row]} in {name_row(row)} "
                "of the embedded table; give the effects in its order"
            )
    return effects
