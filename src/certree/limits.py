"""What a search may use: seconds, bytes and threads; and the clock of several searches that share the seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """What a search may use; None means no limit. At a limit it ends with the best tree so far and a bound that holds.

    Raises
    ------
    ValueError
        If a limit is negative, or the number of threads is below 1.

    Examples
    --------
    >>> from certree import Limits
    >>> Limits(time_limit=60, n_threads=2)
    Limits(time_limit=60, memory_limit=None, n_threads=2)
    """

    time_limit: float | None = None
    """Seconds."""
    memory_limit: int | None = None
    """Bytes."""
    n_threads: int = 1

    def __post_init__(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise ValueError(f"time_limit must be a number of seconds of at least 0, not {self.time_limit!r}")
        if self.memory_limit is not None and not self.memory_limit > 0:
            raise ValueError(f"memory_limit must be a positive number of bytes, not {self.memory_limit!r}")
        if self.n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, not {self.n_threads!r}")


class Clock:
    """A time limit that several searches share."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = math.inf if limits.time_limit is None else time.monotonic() + limits.time_limit

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def left(self, share: float = 1.0) -> Limits:
        """The limits of the next search, which may use this share of the time that is left."""
        if self._end == math.inf:
            return self._limits
        return replace(self._limits, time_limit=share * max(0.0, self._end - time.monotonic()))

    def stop(self) -> None:
        """No time is left."""
        self._end = -math.inf
