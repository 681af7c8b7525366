"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

from certree.datasets.blocks import StandardInput
from certree.datasets.files import MISSING_MARKS

HELP_WIDTH = 78
DATA_HELP = "CSV file with a header line (also .csv.gz), a Parquet or Arrow file, or - for standard input"


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="JSON file that fit --out or policy --out has written")


def add_table(parser: argparse.ArgumentParser, *, may_have_rewards: bool = False, may_have_log: bool = False) -> None:
    parser.add_argument("data", type=read_source, help=DATA_HELP)
    target = parser.add_mutually_exclusive_group(required=not may_have_log) if may_have_rewards else parser
    target.add_argument("--label", required=not may_have_rewards, metavar="COLUMN", help="the column to predict")
    if may_have_rewards:
        add_rewards(parser, target)
    parser.add_argument("--weight", metavar="COLUMN", help="the column that says what a mistake on each row costs")
    add_reading(parser)
    add_drop_missing(parser)


def add_rewards(parser: argparse.ArgumentParser, target: Any) -> None:
    """The table of a policy."""
    target.add_argument("--rewards", nargs="+", metavar="COLUMN", help="a column of rewards for each action")
    parser.add_argument("--treatment", metavar="COLUMN", help="the column with the action that each row got")
    parser.add_argument(
        "--spends", nargs="+", type=read_amount, metavar="ACTION=AMOUNT",
        help="what each action spends from a budget (default 0 for the control, 1 for every other action)",
    )  # fmt: skip


def add_budget(parser: argparse.ArgumentParser) -> None:
    """The limits that policies alone have."""
    parser.add_argument(
        "--min-samples-arm", type=int, default=0, metavar="N", help="the least number of rows of every arm per leaf"
    )
    parser.add_argument(
        "--budget", type=float, metavar="B", help="the largest mean spend per row; needs --spends or --control"
    )
    parser.add_argument(
        "--control", metavar="ACTION", help="the action that stands for treating nobody (default: an action called 0)"
    )


def add_drop_missing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop-missing", action="store_true",
        help="leave out rows without a label, weight, treatment, outcome or reward, and say how many (default: an "
        "error that names them)",
    )  # fmt: skip


def add_log(parser: Any) -> None:
    """What a log of decisions has besides the treatment, and how it is divided into folds."""
    parser.add_argument(
        "--outcome", metavar="COLUMN", help="the column with the outcome of that action; needs --treatment"
    )
    parser.add_argument("--minimize", action="store_true", help="the outcome is a cost: lower is better")
    parser.add_argument(
        "--propensity", nargs="+", type=read_amount, metavar="ACTION=CHANCE",
        help="the known chance of each action in an experiment (default: estimated)",
    )  # fmt: skip
    parser.add_argument(
        "--costs", nargs="+", type=read_amount, metavar="ACTION=AMOUNT",
        help="what each action costs, in units of the outcome; subtracted from the rewards",
    )  # fmt: skip
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="also give rates and values by the groups in this column; the tree does not use it",
    )
    parser.add_argument(
        "--cluster", metavar="COLUMN",
        help="rows with the same value in this column belong together, such as a household or a site: folds keep them "
        "together, and standard errors count them as one; the tree does not use this column",
    )  # fmt: skip
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="the number of folds (default 5)")
    parser.add_argument("--random-state", type=int, default=0, metavar="SEED", help="the seed of the folds (default 0)")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How a file is to be read."""
    parser.add_argument(
        "--separator", type=read_separator, default=",", metavar="SIGN",
        help="the character between the values of a CSV file, or tab (default ,)",
    )  # fmt: skip
    parser.add_argument(
        "--decimal",
        choices=(".", ","),
        default=".",
        metavar="SIGN",
        help="the decimal sign of a CSV file, . or , (default .)",
    )
    parser.add_argument(
        "--missing", nargs="+", default=[], metavar="MARK",
        help="what else marks a missing value; in a CSV file, an empty cell and "
        f"{', '.join(sorted(MISSING_MARKS - {''}))} do so anyway",
    )  # fmt: skip


def add_hiding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hide-below", type=int, metavar="K",
        help='show leaves of fewer than K rows as "fewer than K rows", because few rows can reveal a person',
    )  # fmt: skip


def add_example(parser: argparse.ArgumentParser, *commands: str) -> None:
    """Commands at the end of `--help` that tests run. They keep their lines; the description is wrapped here."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = fill(parser.description, HELP_WIDTH) if parser.description else None
    parser.epilog = "\n".join(["example:", *(f"  {command}" for command in commands)])


def add_problem(
    parser: argparse.ArgumentParser, *, depth: int = 3, has_guesses: bool = False, is_policy: bool = False
) -> None:
    """What may be asked of a search; a fit may have some of it guessed."""
    words = ("none", "guess") if has_guesses else ("none",)
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--categorical", nargs="+", default=[], metavar="COLUMN", help="columns to read as categories")
    parser.add_argument(
        "--numeric", nargs="+", default=[], metavar="COLUMN",
        help="columns to read as numbers; any other cell is an error that names its line",
    )  # fmt: skip
    if not is_policy:
        parser.add_argument("--min-weight-leaf", type=float, default=0.0, metavar="W", help="the least weight per leaf")
    parser.add_argument(
        "--depth",
        type=partial(read_depth, words=words),
        default=depth,
        help=f"the largest depth, or {' or '.join(words)} (default {depth})",
    )
    parser.add_argument("--max-leaves", type=int, metavar="N", help="the largest number of leaves")
    rows = "default 1" if not is_policy else "default a hundredth of the rows; of a log, at least 10"
    parser.add_argument(
        "--min-samples-leaf", type=int, default=None if is_policy else 1, metavar="N",
        help=f"the least number of rows per leaf ({rows})",
    )  # fmt: skip
    words = ("all", "guess") if has_guesses else ("all",)
    parser.add_argument(
        "--thresholds", type=partial(read_thresholds, words=words), default="all", metavar="N",
        help=f"the largest number of thresholds per column, or {' or '.join(words)} (default all)",
    )  # fmt: skip
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="when to stop with the best tree so far (default: never)"
    )
    parser.add_argument(
        "--memory-limit", type=read_bytes, metavar="SIZE", help="memory for the search, such as 500MB or 2GB"
    )
    parser.add_argument("--jobs", type=read_jobs, metavar="N", help="the number of threads; -1 for all (default 1)")
    parser.add_argument("--progress", action="store_true", help="show a progress bar")


def add_edits(parser: argparse.ArgumentParser) -> None:
    """What the trees must begin with, and what they may not ask."""
    parser.add_argument(
        "--start", type=read_start, metavar="TEST",
        help="""what the tree must begin with: a root test such as "age <= 31.5", or JSON with test, left and right""",
    )  # fmt: skip
    parser.add_argument(
        "--forbid",
        nargs="+",
        metavar="COLUMN|TEST",
        help='columns, or tests such as "age <= 31.5", that the tree may not use',
    )


def read_start(text: str) -> Any:
    """A test as it is, or a start as plain data."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON ({error})") from None


def read_source(text: str) -> Path | StandardInput:
    return StandardInput() if text == "-" else Path(text)


def read_separator(text: str) -> str:
    separator = "\t" if text in ("tab", "\\t") else text
    if len(separator) != 1 or separator in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is neither a character nor 'tab'")
    return separator


def read_depth(text: str, words: Sequence[str]) -> int | str | None:
    depth = read_count(text, words, least=0)
    return None if depth == "none" else depth


def read_tolerance(text: str) -> float | str:
    """An amount, or a share in percent as it is."""
    try:
        return text if text.endswith("%") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor a share such as 3%") from None


def read_thresholds(text: str, words: Sequence[str]) -> int | str:
    return read_count(text, words, least=1)


def read_count(text: str, words: Sequence[str], *, least: int) -> int | str:
    """A whole number, or one of a few words."""
    if text.lower() in words:
        return text.lower()
    if not text.isdecimal() or int(text) < least:
        others = " nor ".join(map(repr, words))
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number of at least {least} nor {others}")
    return int(text)


def read_amount(text: str) -> tuple[str, float]:
    action, sign, amount = text.rpartition("=")
    try:
        return action, float(amount if sign and action else "?")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an action and a number, such as letter=0.5") from None


def read_name(text: str) -> tuple[str, str]:
    name, sign, shown = text.partition("=")
    if not (name and sign and shown):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name and what to show for it, such as age=Age")
    return name, shown


def read_jobs(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of threads nor -1 for all")
    return int(text)


def read_bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?) ?([KMGT]?)B?", text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 2GB")
    return int(float(found.group(1)) * 1000 ** " KMGT".index(found.group(2) or " "))
