"""A tree in words and colours: what every picture and text says of a node, and the tree as text.

This file promises that numbers are shown as people read them, and that a rounded share says 100 or 0 percent only
where it is all or nothing.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from certree.tree.columns import READABLE, Digits, Test, Value, format_number

if TYPE_CHECKING:
    from certree.tree.nodes import Tree

PALETTE = ("#4477AA", "#EE9944", "#44AA77", "#CC6677", "#AA77BB", "#66BBCC", "#BBAA44", "#888888")
"""One colour per label, distinguishable to colour-blind eyes; more labels start over."""

WIDEST_INDENT = 400
"""Characters before a line of text, about: a hundred levels, and beyond them their number."""


# A node -------------------------------------------------------------------------------------------------------------


def label_text(label: Value) -> str:
    return str(label)


def hidden_text(tree: Tree, node: int) -> str:
    """What stands in the place of a node's figures where they are not to be shown, else nothing."""
    return tree.hidden[node] if tree.hidden else ""


def share_of_label(tree: Tree, node: int) -> float | None:
    """The share of a node's weight that carries its label; None where rows carry no labels."""
    if tree.label_weights is None or tree.weight[node] <= 0 or hidden_text(tree, node):
        return None
    return float(tree.label_weights[node, tree.label[node]] / tree.label_weights[node].sum())


def share_text(share: float) -> str:
    """A share in percent that says 100 or 0 only when it is all or nothing."""
    percent = round(100 * share, 1)
    if percent in (0.0, 100.0) and share not in (0.0, 1.0):
        return "> 99.9%" if percent else "< 0.1%" if share > 0 else "> -0.1%"
    return f"{percent:.0f}%" if share in (0.0, 1.0) else f"{percent:.1f}%"


def size_text(tree: Tree, node: int) -> str:
    """How many rows reach a node and, where that is something else, what they weigh."""
    if hidden_text(tree, node):
        return hidden_text(tree, node)
    rows = f"{tree.rows[node]:,} row{'' if tree.rows[node] == 1 else 's'}"
    return rows if has_unit_weights(tree) else f"weight {amount_text(tree.weight[node])}, {rows}"


def path_text(tree: Tree, node: int) -> str:
    """The tests that lead to a node, exactly."""
    return " and ".join(test.describe(holds=holds) for test, holds in tree.path(node)) or "everyone"


def question_text(test: Test, digits: Digits = READABLE) -> str:
    """What a picture writes in a node: the test or, where its two answers have words, the column."""
    return test.column.name if test.answers else test.describe(digits=digits)


def answers(test: Test) -> tuple[str, str]:
    """What a picture writes at the two branches. Where missing values pass a threshold, the test itself says so."""
    if test.answers:
        return test.answers
    goes_right = test.threshold is not None and test.column.has_missing and not test.missing_left
    return "yes", "no or missing" if goes_right else "no"


def amount_text(amount: float) -> str:
    """A weight or cost with four digits or, where it is larger, all that stand before the point."""
    return f"{amount:,.0f}" if 1e3 <= abs(amount) < 1e12 else format_number(amount, 4)


def has_unit_weights(tree: Tree) -> bool:
    return bool(np.array_equal(tree.weight, tree.rows))


def leaf_text(tree: Tree, node: int) -> str:
    """What supports a leaf's label: "71.3% of 412 rows", "mean reward 5.2, 412 rows"."""
    if hidden_text(tree, node):
        return hidden_text(tree, node)
    share = share_of_label(tree, node)
    if share is not None:
        return f"{share_text(share)} of {size_text(tree, node)}"
    reward = reward_text(tree, node)
    return f"{reward or f'cost {amount_text(tree.costs[node, tree.label[node]])}'}, {size_text(tree, node)}"


def reward_text(tree: Tree, node: int) -> str:
    """What a policy's action brings on average here, on the rows that it was fitted on; nothing for other trees."""
    if tree.rewards is None or hidden_text(tree, node):
        return ""
    return f"mean reward {amount_text(tree.rewards[node, tree.label[node]])}"


def leaf_colour(tree: Tree, node: int) -> str:
    """The label's colour, paler the less of the leaf's weight carries the label."""
    share = share_of_label(tree, node)
    even = 1 / len(tree.labels)
    certainty = 1.0 if share is None or len(tree.labels) == 1 else max(0.0, (share - even) / (1 - even))
    strength = 0.25 + 0.5 * certainty
    base = PALETTE[tree.label[node] % len(PALETTE)]
    channels = [round(255 + strength * (int(base[at : at + 2], 16) - 255)) for at in (1, 3, 5)]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def one_line(text: str) -> str:
    """Names may hold anything, line breaks too."""
    return " ".join(text.splitlines()) or text


# The whole tree -----------------------------------------------------------------------------------------------------


def describe_tree(tree: Tree, *, digits: Digits = READABLE, show_support: bool = True) -> str:
    """The tree as text, one line per branch."""
    lines = write_lines(tree, digits=digits)
    width = max(len(text) + len(label) for text, label, _ in lines)
    if not show_support:
        return "\n".join(text + label for text, label, _ in lines)
    return "\n".join(f"{text + label:<{width}}  {support}".rstrip() for text, label, support in lines)


def write_lines(tree: Tree, *, digits: Digits = READABLE) -> list[tuple[str, str, str]]:
    """The lines of a tree: the branch, the label where it ends in a leaf, and what supports the label."""
    lines: list[tuple[str, str, str]] = []
    # What is still to be written, the next one last: a node, what stands before it, and before what is below it.
    waiting = [(0, "", "")]
    while waiting:
        node, head, indent = waiting.pop()
        if tree.column[node] < 0:
            separator = ": " if head else ""
            lines.append((f"{head}{separator}", label_text(tree.node_label(node)), leaf_text(tree, node)))
            continue
        if head:
            lines.append((head, "", ""))
        test = tree.test(node)
        for child, holds, fork, line in (
            (tree.right[node], False, "└── ", "    "),
            (tree.left[node], True, "├── ", "│   "),
        ):
            text = one_line(test.describe(holds=holds, digits=digits))
            waiting.append((int(child), indent + fork + text, _deepen(indent, line)))
    return lines


def tree_html(tree: Tree) -> str:
    """The lines of a tree for a notebook, labels in the colours that pictures give them."""
    lines = write_lines(tree)
    width = max(len(text) + len(label) for text, label, _ in lines)
    leaves = iter([node for node in tree.walk() if tree.column[node] < 0])
    shown = []
    for text, label, support in lines:
        line = escape(text)
        if support:
            colour = leaf_colour(tree, next(leaves))
            line += (
                f'<b style="background:{colour};color:#222;padding:0 0.3em">{escape(label)}</b>'
                f"{' ' * (width - len(text) - len(label))}  {escape(support)}"
            )
        shown.append(line)
    return preformatted("\n".join(shown))


def preformatted(text: str) -> str:
    """HTML that keeps its lines, in a notebook."""
    return f'<pre style="line-height:1.35;overflow-x:auto">{text}</pre>'


def _deepen(indent: str, line: str) -> str:
    """The indentation of the next level. Where it would not fit on any page, its number stands for the levels above."""
    if len(indent) < WIDEST_INDENT:
        return indent + line
    counted, _, lines = indent.rpartition("⋮ ")
    return f"{int(counted or 0) + len(lines) // 4}⋮ {line}" if len(lines) >= WIDEST_INDENT else indent + line
