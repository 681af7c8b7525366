"""Any command: its options read, its verb run, and what goes wrong said in one line."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import certree
from certree.cli import alternatives, datasets, demo, fit, path, policy, predict, report, show, verify
from certree.cli.exits import ABORTED, DONE, FAILED, MISUSED
from certree.cli.outputs import check_destinations
from certree.solution import CertificateError

ABOUT_COLUMNS = ("--ignore", "--categorical", "--numeric")
"""Options of a fit that those who repeat its command give along with a model."""
VERBS = (fit, predict, show, verify, policy, path, alternatives, report, datasets, demo)


def run_command(arguments: Sequence[str] | None) -> int:
    """Run one command and return its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by the caller. What is printed goes nowhere, and not into the next file that is opened.
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    parser = make_parser()
    options = parser.parse_args(free_files(parser, sys.argv[1:] if arguments is None else arguments))
    if options.command != "predict" and isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a letter is no reason to lose a tree; in predictions it would be a wrong label.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        check_destinations(options)
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        drop_output()
        return DONE
    except (ValueError, OSError, ImportError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            if error.filename is None:
                # Files are named, and what is written to them is seen to where it is written.
                drop_output()
                print(f"certree {options.command}: cannot print: {error.strerror}", file=sys.stderr)
                return FAILED
            reason = f"{error.filename}: {error.strerror}"
        print(f"certree {options.command}: {reason}", file=sys.stderr)
        return MISUSED
    except CertificateError as error:
        print(f"certree {options.command}: {error}. This is a bug in certree: please report it.", file=sys.stderr)
        return FAILED
    except MemoryError:
        print(f"certree {options.command}: there is not enough memory", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"certree {options.command}: aborted before there was a result", file=sys.stderr)
        return ABORTED
    return code


def free_files(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> list[str]:
    """The arguments, with the files taken out of a list of values that they were written behind.

    In `--ignore a b data.csv` argparse takes all three words for columns and misses the file. Where a command has fewer
    words that belong to no option than it needs files, the last words of the last such list are the files.
    """
    words = list(arguments)
    verbs = find_verbs(parser)
    if not words or words[0] not in verbs:
        return words
    verb = verbs[words[0]]
    n_files = sum(not action.option_strings and action.nargs is None for action in verb._actions)
    n_free, lists, position = 0, [], 1
    while position < len(words):
        if not words[position].startswith("--"):
            n_free += 1
            position += 1
            continue
        flag, _, value = words[position].partition("=")
        named = [action for action in verb._actions if any(own.startswith(flag) for own in action.option_strings)]
        exact = [action for action in named if flag in action.option_strings]
        option = next(iter(exact or named), None)
        position += 1
        if option is None or value or option.nargs == 0:
            continue
        if option.nargs != "+":
            position += 1
            continue
        start = position
        while position < len(words) and not words[position].startswith("--"):
            position += 1
        lists.append((start, position))
    n_missing = n_files - n_free
    if n_missing > 0 and lists and lists[-1][1] - lists[-1][0] > n_missing:
        start, end = lists[-1]
        files = words[end - n_missing : end]
        # In front of the option that swallowed them, and so behind any file that was named before.
        words = [*words[: start - 1], *files, *words[start - 1 : end - n_missing], *words[end:]]
    return words


def drop_output() -> None:
    """Python flushes once more at exit: give it a place to do so."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command in one line, as every other error does, and where to read more."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: {message}{'' if message.endswith('?') else '.'} See {self.prog} --help\n")

    def parse_args(self, arguments: Any = None, namespace: Any = None) -> Any:
        """As argparse does, but what it does not know is refused first, and in the name of its command.

        Otherwise a misspelt option would be told as one that is missing.
        """
        words, verbs = list(arguments), find_verbs(self)
        if not words:
            self.error(f"name a command: {', '.join(verbs)}")
        if not words[0].startswith("-") and words[0] not in verbs:
            near = difflib.get_close_matches(words[0], verbs, n=1)
            advice = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(verbs)}"
            self.error(f"there is no command {words[0]!r}; {advice}")
        if words[0] in verbs:
            for word in words[1:]:
                if word.startswith("--") and word != "--":
                    verbs[words[0]].check_flag(word.partition("=")[0])
        options, rest = self.parse_known_args(words, namespace)
        if rest:
            verbs[options.command].error(f"there is no place for {rest[0]!r}")
        return options

    def check_flag(self, flag: str) -> None:
        """Refuses an option that this command does not have; a name that is cut short is one that argparse knows."""
        if any(own.startswith(flag) for own in self._option_string_actions):
            return
        if flag in ABOUT_COLUMNS and any(action.dest == "model" for action in self._actions):
            self.error(f"there is no option {flag}: the model says which columns it needs and how to read them")
        near = difflib.get_close_matches(flag, self._option_string_actions, n=1)
        self.error(f"there is no option {flag}" + (f"; did you mean {near[0]}?" if near else ""))


def find_verbs(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    """The parsers of all commands by their names."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(commands.choices)


def make_parser() -> Parser:
    parser = Parser(
        prog="certree",
        description="Certified optimal sparse decision trees for weighted data.",
        epilog="Exit codes: 0 finished; 1 failed; 2 wrong usage or bad input; 3 a limit or Ctrl-C ended the search, "
        "and the best result so far was written; 130 Ctrl-C before there was a result.",
    )
    parser.add_argument("--version", action="version", version=f"certree {certree.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for verb in VERBS:
        verb.add_parser(commands)
    return parser
