"""Hypothesis profiles: `default` for every run, `thorough` for a long one (pytest --hypothesis-profile=thorough)."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=3000, deadline=None, print_blob=True, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile("default")


@pytest.fixture(scope="session", autouse=True)
def heed_interrupts() -> Iterator[None]:
    """Ctrl-C works in the tests and in what they start, however they were started themselves.

    A shell without job control ignores SIGINT for what it runs in the background, Python then installs no handler, and
    children inherit that. A handler of ours is set back to the default in every child that is started.
    """
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """pyplot holds every figure and complains at the 21st: the test that draws that one would fail for all others."""
    yield
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close("all")
