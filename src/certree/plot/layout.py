"""Where the boxes of a tree stand, in points.

The layout is made before anything is drawn: every box is as large as its words, two neighbours at any level keep a gap,
and a parent stands over the middle of its children. A tree grows downwards or, where it has so many leaves that this
would be too wide for any screen, to the right: then its leaves stand below each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from certree.plot.boxes import Box
from certree.tree import Tree


def place_down(
    tree: Tree, boxes: Sequence[Box], gap: float, level_gap: float, apart: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Each box's left and upper edge; below the root is negative. `apart` is the least way between two siblings."""
    centre, start = _place(tree, [box.width for box in boxes], [box.height for box in boxes], gap, level_gap, apart)
    left = [middle - box.width / 2 for middle, box in zip(centre, boxes, strict=True)]
    return left, [-offset for offset in start]


def place_right(tree: Tree, boxes: Sequence[Box], gap: float, level_gap: float) -> tuple[list[float], list[float]]:
    """The same of a tree that grows to the right, the branch where a test holds above the other."""
    breadths, apart = [box.height for box in boxes], [0.0] * tree.n_nodes
    centre, start = _place(tree, breadths, [box.width for box in boxes], gap, level_gap, apart)
    return start, [box.height / 2 - middle for middle, box in zip(centre, boxes, strict=True)]


def _place(
    tree: Tree, breadths: Sequence[float], depths: Sequence[float], gap: float, level_gap: float, apart: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Each node's centre across the direction of growth, and where it begins along it."""
    level = tree.node_depth
    level_depth = [
        max(depth for node, depth in enumerate(depths) if level[node] == number) for number in range(tree.depth + 1)
    ]
    level_start = [sum(depth + level_gap for depth in level_depth[:number]) for number in range(tree.depth + 1)]

    centre = [0.0] * tree.n_nodes
    members: list[list[int]] = [[node] for node in range(tree.n_nodes)]
    # What a subtree covers at each level below its root: (lowest, highest).
    outline: list[list[tuple[float, float]]] = [[(-breadth / 2, breadth / 2)] for breadth in breadths]
    for node in reversed(range(tree.n_nodes)):
        if tree.column[node] < 0:
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        shift = max(a[1] + gap - b[0] for a, b in zip(outline[left], outline[right], strict=False))
        shift = max(shift, apart[node] + centre[left] - centre[right])
        middle = (centre[left] + centre[right] + shift) / 2
        for child, move in ((left, -middle), (right, shift - middle)):
            members[node] += members[child]
            outline[child] = [(low + move, high + move) for low, high in outline[child]]
            for member in members[child]:
                centre[member] += move
        for number in range(max(len(outline[left]), len(outline[right]))):
            spans = [outline[child][number] for child in (left, right) if number < len(outline[child])]
            outline[node].append((min(low for low, _ in spans), max(high for _, high in spans)))
    return centre, [level_start[level[node]] for node in range(tree.n_nodes)]
