"""What fitted things show of themselves: text where they are printed, HTML in a notebook. Both say the same.

An estimator shows its tree, what was proved and among which trees, and what each column was read as.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

from certree.reading import describe_readings
from certree.tree.words import describe_tree, preformatted, tree_html

MOST_MEMBERS = 5
"""Trees that a set shows of itself."""


def show_text(model: Any) -> str:
    """A fitted estimator for a terminal."""
    certificate = model.certificate_
    parts = [repr(model), describe_tree(model.tree_)]
    parts += [model.choice_] if hasattr(model, "choice_") else []
    parts.append(certificate.summary(model.tree_.labels))
    readings = getattr(model, "columns_", ())  # a pickle of 0.1.0 has none
    if readings:
        parts.append("\n".join(["columns read as", *(f"  {line}" for line in describe_readings(readings))]))
    return "\n\n".join(parts)


def show_html(model: Any) -> str:
    """A fitted estimator for a notebook."""
    readings = getattr(model, "columns_", ())
    columns = "\n".join(describe_readings(readings)) if readings else ""
    details = f"<details><summary>Columns read as</summary>{preformatted(escape(columns))}</details>" if columns else ""
    choice = show_lines(model.choice_) if hasattr(model, "choice_") else ""
    return (
        f'<div class="certree-model"><p><code>{escape(repr(model))}</code></p>{tree_html(model.tree_)}{choice}'
        f"{model.certificate_.to_html(model.tree_.labels)}{details}</div>"
    )


def show_rows(head: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A sentence and a table of cells for a notebook."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p>{escape(head)}</p><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def show_members(text: str, trees: Iterable[Any]) -> str:
    """A set of trees for a notebook: what it says of itself, and the best of its trees."""
    best = islice(trees, MOST_MEMBERS)
    rows = [[f"{tree.objective:.6g}", str(tree.n_leaves), "; ".join(tree.tests)] for tree in best]
    return show_rows(text.strip("<>"), ("objective", "leaves", "tests"), rows)


def show_lines(text: str) -> str:
    """Sentences for a notebook, one below the other."""
    return "<p>" + "<br>".join(escape(line) for line in text.splitlines()) + "</p>"


def align(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of cells for a terminal."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    return [
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in (names, *rows)
    ]
