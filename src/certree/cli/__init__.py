"""The command line, one file per verb, and the only room that prints.

It promises results on standard output, everything else on standard error, and an exit code that a script can trust
(`certree.cli.exits`).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import certree


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if list(given) == ["--version"]:
        # Answered before anything else is imported, which takes seconds.
        print(f"certree {certree.__version__}")
        return 0
    with plain_interrupts():
        from certree.cli.program import run_command
    return run_command(arguments)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C ends the process without a word while there is nothing to lose: it is importing."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
