"""The tree for people: text, Graphviz's DOT and LaTeX.

Names and categories of any characters are escaped for their form. Numbers are rounded as people read them, unless
`digits` asks for others.
"""

from __future__ import annotations

from typing import Any

from certree.tree import READABLE, Digits, Labels, Names, Test, Tree, tree_of
from certree.tree.words import (
    WIDEST_INDENT,
    answers,
    describe_tree,
    label_text,
    leaf_colour,
    leaf_text,
    one_line,
    question_text,
    size_text,
)


def named_tree(model: Any, feature_names: Names, class_names: Labels, hide_below: int | None = None) -> Tree:
    """The tree of a model, under the names that it is to be shown with."""
    return tree_of(model).renamed(feature_names, class_names).veiled(hide_below)


def export_text(
    model: Any,
    *,
    digits: Digits = READABLE,
    show_support: bool = True,
    feature_names: Names = None,
    class_names: Labels = None,
    hide_below: int | None = None,
) -> str:
    """The tree as text, one line per branch.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What to write.
    digits : int, "readable" or None, default="readable"
        Significant digits of thresholds. "readable" rounds numbers that are too long to read; None writes all of them
        exactly.
    show_support : bool, default=True
        Whether to say of each leaf what share of its weight carries its label (of a policy's: the mean reward of its
        action), and how many rows it holds.
    feature_names : list of names or mapping, default=None
        Other names for the columns: all of them in order, or those that change, by their own name. In place of a name
        there may be more words, as `Tree.renamed` takes them: `{"age": {"name": "Age", "unit": "years"}}`.
    class_names : list of labels or mapping, default=None
        Other names for the labels or actions, likewise.
    hide_below : int or None, default=None
        Leaves of fewer rows are shown as "fewer than k rows", without other figures, because few rows can reveal a
        person; see `Tree.veiled`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name does not exist, or if the number of names is wrong.
    TypeError
        If the model is neither a fitted estimator nor a tree.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_text
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_text(model, feature_names=["age"]))
    ├── age <= 1.5: no  100% of 1 row
    └── age > 1.5: yes  100% of 1 row
    """
    tree = named_tree(model, feature_names, class_names, hide_below)
    return describe_tree(tree, digits=digits, show_support=show_support)


# DOT ----------------------------------------------------------------------------------------------------------------


def export_dot(
    model: Any,
    *,
    digits: Digits = READABLE,
    feature_names: Names = None,
    class_names: Labels = None,
    hide_below: int | None = None,
) -> str:
    """The tree in the language of Graphviz; `dot -Tsvg` draws it.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What to draw.
    digits : int, "readable" or None, default="readable"
        Significant digits of thresholds. "readable" rounds numbers that are too long to read; None writes all of them
        exactly.
    feature_names : list of names or mapping, default=None
        Other names for the columns: all of them in order, or those that change, by their own name. In place of a name
        there may be more words, as `Tree.renamed` takes them: `{"age": {"name": "Age", "unit": "years"}}`.
    class_names : list of labels or mapping, default=None
        Other names for the labels or actions, likewise.
    hide_below : int or None, default=None
        Leaves of fewer rows are shown as "fewer than k rows", without other figures, because few rows can reveal a
        person; see `Tree.veiled`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name does not exist, or if the number of names is wrong.
    TypeError
        If the model is neither a fitted estimator nor a tree.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_dot
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_dot(model).splitlines()[0])
    digraph tree {
    """
    tree = named_tree(model, feature_names, class_names, hide_below)
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fillcolor=white, color="#666666", fontname=Helvetica];',
        '  edge [color="#666666", fontname=Helvetica, fontsize=11];',
    ]
    for node in tree.walk():
        if tree.column[node] < 0:
            text = f"{_dot(label_text(tree.node_label(node)))}\\n{_dot(leaf_text(tree, node))}"
            lines.append(f'  {node} [label="{text}", fillcolor="{leaf_colour(tree, node)}"];')
        else:
            text = f"{_dot(question_text(tree.test(node), digits))}\\n{_dot(size_text(tree, node))}"
            lines.append(f'  {node} [label="{text}"];')
            for child, answer in zip((tree.left[node], tree.right[node]), answers(tree.test(node)), strict=True):
                lines.append(f'  {node} -> {child} [label="{_dot(answer)}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


# LaTeX --------------------------------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "[": r"{[}", "]": r"{]}", ",": r"{,}", "=": r"{=}",
}  # fmt: skip
_RELATIONS = {
    " <= ": r" $\leq$ ", " > ": " $>$ ", " < ": " $<$ ", " >= ": r" $\geq$ ", " == ": " = ", " != ": r" $\neq$ ",
}  # fmt: skip


def export_latex(
    model: Any,
    *,
    digits: Digits = READABLE,
    feature_names: Names = None,
    class_names: Labels = None,
    hide_below: int | None = None,
) -> str:
    r"""The tree for a paper, as a `forest` environment; the preamble needs the packages forest and textcomp.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
        What to draw.
    digits : int, "readable" or None, default="readable"
        Significant digits of thresholds. "readable" rounds numbers that are too long to read; None writes all of them
        exactly.
    feature_names : list of names or mapping, default=None
        Other names for the columns: all of them in order, or those that change, by their own name. In place of a name
        there may be more words, as `Tree.renamed` takes them: `{"age": {"name": "Age", "unit": "years"}}`.
    class_names : list of labels or mapping, default=None
        Other names for the labels or actions, likewise.
    hide_below : int or None, default=None
        Leaves of fewer rows are shown as "fewer than k rows", without other figures, because few rows can reveal a
        person; see `Tree.veiled`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name does not exist, or if the number of names is wrong.
    TypeError
        If the model is neither a fitted estimator nor a tree.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_latex
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> print(export_latex(model, feature_names=["age"]).splitlines()[-1])
    \end{forest}
    """
    tree = named_tree(model, feature_names, class_names, hide_below)
    parts: list[str] = []
    # What is still to be written, the next one last: a node and its edge, or a bracket that closes.
    waiting: list[tuple[int | None, str, int]] = [(0, "", 1)]
    while waiting:
        node, edge, level = waiting.pop()
        indent = "  " * min(level, WIDEST_INDENT // 2)
        if node is None:
            parts.append(f"{indent}]")
            continue
        side = f", edge label={{node[midway, font=\\scriptsize, fill=white]{{{edge}}}}}" if edge else ""
        if tree.column[node] < 0:
            label, support = _latex(label_text(tree.node_label(node))), _latex(leaf_text(tree, node))
            parts.append(f"{indent}[{{\\textbf{{{label}}}\\\\{{\\scriptsize {support}}}}}, leaf{side}]")
            continue
        holds, fails = answers(tree.test(node))
        parts.append(f"{indent}[{{{_latex_test(tree.test(node), digits)}}}{side}")
        waiting += [
            (None, "", level),
            (int(tree.right[node]), _latex(fails), level + 1),
            (int(tree.left[node]), _latex(holds), level + 1),
        ]
    lines = [
        r"% needs \usepackage{forest,textcomp}",
        r"\begin{forest}",
        r"  for tree={draw, rounded corners, align=center, l sep=8mm, s sep=4mm, font=\small},",
        r"  leaf/.style={fill=black!6}",
        *parts,
        r"\end{forest}",
    ]
    return "\n".join(lines) + "\n"


def _latex_test(test: Test, digits: Digits) -> str:
    """The test with a mathematician's relation sign: the name and what follows are escaped each by itself."""
    text, name = question_text(test, digits), test.column.name
    rest = text[len(name) :]
    for plain, sign in _RELATIONS.items():
        if rest.startswith(plain):
            return _latex(name) + sign + _latex(rest[len(plain) :])
    return _latex(name) + _latex(rest)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in one_line(text))
