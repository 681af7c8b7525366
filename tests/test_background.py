"""Interrupts reach the tests and what they start, also where whoever started the tests ignores them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest


def test_an_interrupt_is_heeded_here_and_in_a_child() -> None:
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    script = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert child.stdout == "True\n"


def test_the_same_where_interrupts_are_ignored() -> None:
    # As in the background of a shell without job control: what ignores SIGINT hands that on to its children.
    script = "import pytest, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); raise SystemExit(pytest.main())"
    options = ["-p", "no:xdist", "-p", "no:cacheprovider", "-q", __file__, "-k", "here_and_in_a_child"]
    finished = subprocess.run([sys.executable, "-c", script, *options], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout
    assert "1 passed" in finished.stdout
