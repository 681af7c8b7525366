"""Guessed depth: how deep a tree must be to be as expressive as a boosted model."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from certree.guesses.boosted import MEMBER_DEPTH, N_MEMBERS


@dataclass(frozen=True)
class DepthGuess:
    """A depth and the numbers it comes from; made by `certree.guess_depth`.

    Examples
    --------
    >>> from certree import guess_depth
    >>> guess_depth(40, 4).size
    200
    """

    depth: int
    n_members: int
    """T."""
    member_dimension: int
    """V."""
    size: int
    """m = T (V + 1)."""

    @property
    def text(self) -> str:
        """The guess in words."""
        return (
            f"T = {self.n_members} members of VC dimension V = {self.member_dimension}, m = T(V + 1) = {self.size}: "
            f"depth ceil(log2(m (3 ln m + 2))) = {self.depth}"
        )


def guess_depth(n_members: int, member_dimension: int) -> DepthGuess:
    """The smallest depth whose trees have at least the VC dimension of a boosted ensemble.

    A weighted vote of T members of VC dimension V has a VC dimension of at most m (3 ln m + 2), where m = T (V + 1). A
    full tree of depth d tells 2^d rows apart. `certree.guesses.tree_dimension` gives V for trees.

    Parameters
    ----------
    n_members : int
        T, the number of members of the ensemble.
    member_dimension : int
        V, the VC dimension of one member.

    Returns
    -------
    DepthGuess
        The depth, and the numbers behind it.

    Raises
    ------
    ValueError
        If a number is below 1.

    Examples
    --------
    >>> from certree import guess_depth
    >>> guess_depth(n_members=40, member_dimension=4).depth
    12
    """
    for name, value in (("n_members", n_members), ("member_dimension", member_dimension)):
        if value < 1 or value != int(value):
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    size = n_members * (member_dimension + 1)
    return DepthGuess(math.ceil(math.log2(size * (3 * math.log(size) + 2))), n_members, member_dimension, size)


def guess_tree_depth(n_tests: int) -> DepthGuess:
    """The guess of `max_depth="guess"`: the ensemble is the boosted model of this room, over so many tests."""
    return guess_depth(N_MEMBERS, max(1, tree_dimension(n_tests, MEMBER_DEPTH)))


def tree_dimension(n_tests: int, depth: int) -> int:
    """An upper bound of the VC dimension of two-label trees of a depth over so many tests.

    A class of N functions tells at most log2 N rows apart. N(0) = 2; a tree of depth d is one of depth d − 1, or a test
    with two different trees below it: N(d) <= N(d − 1) + tests · N(d − 1) · (N(d − 1) − 1).
    """
    if n_tests < 0 or depth < 0:
        raise ValueError("neither tests nor depth can be negative")
    count = 2
    for _ in range(depth):
        count += n_tests * count * (count - 1)
    # Exact whole numbers: bit_length − 1 is floor(log2).
    return count.bit_length() - 1


def state_depth(guess: DepthGuess) -> dict[str, Any]:
    """The numbers of a guessed depth as plain data."""
    return {"statement": guess.text, **asdict(guess)}
