"""The words of a node and the room that they take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from certree.plot.canvas import text_width
from certree.tree import Digits, Test, Tree
from certree.tree.words import label_text, question_text, reward_text, share_of_label, share_text, size_text

INK, PALE_INK, LINE = "#222222", "#666666", "#9a9a9a"
MARK = "#c0392b"
LINE_HEIGHT = 1.3
SMALL = 0.8
"""Font size of the second lines, in that of the first."""
WIDEST_LINE = 24
"""Characters, after which words go on in the next line."""

# After a blank or an underscore, and after a hyphen or slash between letters: not within a number.
_BREAKS = re.compile(r"(?<=[ _])(?=[^ _])|(?<=[^\W\d_][-/])(?=[^\W\d_])")
_TIE = "\u00a0"
"""A blank that keeps a sign on one line with what follows it."""


@dataclass(frozen=True)
class Line:
    """A line of words in a box."""

    text: str
    size: float
    colour: str = INK
    weight: str = "normal"


@dataclass(frozen=True)
class Box:
    """A node's words and how much room they take, in points."""

    lines: tuple[Line, ...]
    width: float
    height: float
    is_leaf: bool


def make_box(tree: Tree, node: int, digits: Digits, font_size: float, *, is_flat: bool = False) -> Box:
    """The box of a node; a flat one has what supports it in one line, for trees whose boxes stand below each other."""
    small = SMALL * font_size
    is_leaf = bool(tree.column[node] < 0)
    if is_leaf:
        lines = [Line(text, font_size, weight="bold") for text in wrap(label_text(tree.node_label(node)))]
        share = share_of_label(tree, node)
        told = reward_text(tree, node) if share is None else f"{share_text(share)} right"
        support = [told] if told else []
    else:
        support = []
        lines = [Line(text, font_size) for text in wrap(_test_text(tree.test(node), digits))]
    # Pale ink is for white boxes: on a leaf's colour it would hardly be seen.
    support += size_text(tree, node).split(", ")
    ink = INK if is_leaf else PALE_INK
    lines += [Line(text, small, ink) for text in (["  ·  ".join(support)] if is_flat else support)]
    padding = 0.7 * font_size
    width = max(text_width(line.text, line.size, line.weight) for line in lines) + 2 * padding
    height = sum(LINE_HEIGHT * line.size for line in lines) + 1.2 * padding
    height += _bar_height(tree, font_size) if is_leaf else 0.0
    return Box(tuple(lines), width, height, is_leaf)


def _test_text(test: Test, digits: Digits) -> str:
    """The test with the sign that pictures can afford."""
    text, name = question_text(test, digits), test.column.name
    rest = text[len(name) :]
    if test.threshold is not None:
        rest = rest.replace(" <= ", " ≤ ", 1).replace(" >= ", " ≥ ", 1)
    return name + re.sub(r"^( \S+) ", rf"\1{_TIE}", rest)


def _bar_height(tree: Tree, font_size: float) -> float:
    """The room that a leaf's bar of shares takes, the space above it included."""
    return 0.0 if tree.label_weights is None else 0.75 * font_size


def wrap(text: str, widest: int = WIDEST_LINE) -> list[str]:
    """A text on lines of so many characters at most, broken at blanks and underscores; nothing is left out."""
    lines = [""]
    for piece in _split(" ".join(text.split("\n")), widest):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip(" ")) > widest:
            lines.append("")
        lines[-1] += piece
    return [line.strip(" ").replace(_TIE, " ") or " " for line in lines]


def _split(text: str, widest: int) -> Iterator[str]:
    """Pieces that may stand on lines of their own; a piece that is longer than any line is cut into lines."""
    for piece in _BREAKS.split(text):
        for start in range(0, max(len(piece), 1), widest):
            yield piece[start : start + widest]
