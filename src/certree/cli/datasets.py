"""`certree datasets`: the data sets by name, and one of them described."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from certree.cli.exits import DONE
from certree.cli.options import add_example
from certree.datasets import load_lalonde
from certree.datasets.named import DATA_SETTING, SOURCES


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("datasets", help="list the data sets, or describe one")
    parser.add_argument("name", nargs="?", choices=sorted(SOURCES), metavar="name", help="the one to describe")
    add_example(parser, "certree datasets lalonde")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.name == "lalonde":
        print(load_lalonde().DESCR)
        return DONE
    folder = os.environ.get(DATA_SETTING)
    for name in sorted(SOURCES) if options.name is None else [options.name]:
        source = SOURCES[name]
        if name == "lalonde":
            place = "embedded"
        elif folder and (Path(folder) / f"{name}.csv").is_file():
            place = "found"
        else:
            place = "not found"
        print(f"{name:<24} {source.rows:>6} × {source.features:<3} {place:<10} {source.note}")
    if not folder:
        print(f"\nAll but lalonde are read from CSV files in the directory that {DATA_SETTING} names; it is not set.")
    return DONE
