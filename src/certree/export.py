"""A fitted tree in other forms: text, DOT, LaTeX, JSON and back, a scikit-learn tree.

This room promises that nothing is lost or rounded on the way unless `digits` asks for it: thresholds are written
exactly, names and categories of any characters are escaped for their form, and what `load` reads predicts what was
exported.

Everything here takes a fitted estimator, a `Solution` or a bare `Tree`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from certree.certificate import AMOUNT, TEXT, Form, find_flaws, is_whole, quote
from certree.estimators import SparseTreeClassifier
from certree.policy import PolicyTree
from certree.reading import restore_readings
from certree.tree import FORMAT as TREE_FORMAT
from certree.tree import Array, Test, Tree, Value, format_number

FORMAT = "certree.model"
VERSION = 1

PALETTE = ("#4477AA", "#EE9944", "#44AA77", "#CC6677", "#AA77BB", "#66BBCC", "#BBAA44", "#888888")
"""A colour a label, distinguishable to colour-blind eyes; more labels start over."""


WIDEST_INDENT = 400
"""Characters before a line of `export_text`, about: a hundred levels, and beyond them their number."""


def tree_of(model: Any) -> Tree:
    """The tree of a fitted estimator, of a Solution, or a tree itself."""
    if isinstance(model, Tree):
        return model
    if hasattr(model, "get_params"):
        check_is_fitted(model, "tree_")
        tree = model.tree_
    else:
        tree = getattr(model, "tree", None)
    if not isinstance(tree, Tree):
        raise TypeError(f"a {type(model).__name__} has no certree tree; pass a fitted estimator, a Solution or a Tree")
    return tree


# A leaf in words ----------------------------------------------------------------------------------------------------


def label_text(label: Value) -> str:
    return str(label)


def share_of_label(tree: Tree, node: int) -> float | None:
    """The share of a node's weight that carries its label; None where rows carry no labels."""
    if tree.label_weights is None or tree.weight[node] <= 0:
        return None
    return float(tree.label_weights[node, tree.label[node]] / tree.label_weights[node].sum())


def share_text(share: float) -> str:
    """A share in percent that says 100 or 0 only when it is all or nothing."""
    percent = round(100 * share, 1)
    if percent in (0.0, 100.0) and share not in (0.0, 1.0):
        return "> 99.9%" if percent else "< 0.1%"
    return f"{percent:.0f}%" if share in (0.0, 1.0) else f"{percent:.1f}%"


def size_text(tree: Tree, node: int) -> str:
    """How many rows reach a node and, where that is something else, what they weigh."""
    rows = f"{tree.rows[node]:,} row{'' if tree.rows[node] == 1 else 's'}"
    return rows if has_unit_weights(tree) else f"weight {amount_text(tree.weight[node])}, {rows}"


def answers(test: Test) -> tuple[str, str]:
    """What a picture writes at the two branches. Where missing values pass a threshold, the test itself says so."""
    goes_right = test.threshold is not None and test.column.has_missing and not test.missing_left
    return "yes", "no or missing" if goes_right else "no"


def amount_text(amount: float) -> str:
    """A weight or cost with four digits or, where it is larger, all that stand before the point."""
    return f"{amount:,.0f}" if 1e3 <= abs(amount) < 1e12 else format_number(amount, 4)


def has_unit_weights(tree: Tree) -> bool:
    return bool(np.array_equal(tree.weight, tree.rows))


def leaf_text(tree: Tree, node: int) -> str:
    """What supports a leaf's label: "71.3% of 412 rows", "mean reward 5.2, 412 rows"."""
    share = share_of_label(tree, node)
    if share is not None:
        return f"{share_text(share)} of {size_text(tree, node)}"
    reward = reward_text(tree, node)
    return f"{reward or f'cost {amount_text(tree.costs[node, tree.label[node]])}'}, {size_text(tree, node)}"


def reward_text(tree: Tree, node: int) -> str:
    """What a policy's action brings on average here, on the rows that it was fitted on; nothing for other trees."""
    return "" if tree.rewards is None else f"mean reward {amount_text(tree.rewards[node, tree.label[node]])}"


# Text ---------------------------------------------------------------------------------------------------------------


def export_text(model: Any, *, digits: int | None = None, show_support: bool = True) -> str:
    """The tree as text, a line a branch.

    Parameters
    ----------
    model : fitted estimator, Solution or Tree
    digits : int or None, default=None
        Significant digits of thresholds; None writes them exactly.
    show_support : bool, default=True
        Whether to say of each leaf what share of its weight carries its label (of a policy's: the mean reward of its
        action), and how many rows it holds.
    """
    tree = tree_of(model)
    lines: list[tuple[str, str]] = []
    # What is still to be written, the next one last: a node, what stands before it, and before what is below it.
    waiting = [(0, "", "")]
    while waiting:
        node, head, indent = waiting.pop()
        if tree.column[node] < 0:
            separator = ": " if head else ""
            lines.append((f"{head}{separator}{label_text(tree.node_label(node))}", leaf_text(tree, node)))
            continue
        if head:
            lines.append((head, ""))
        test = tree.test(node)
        for child, holds, fork, line in (
            (tree.right[node], False, "└── ", "    "),
            (tree.left[node], True, "├── ", "│   "),
        ):
            text = _one_line(test.describe(holds=holds, digits=digits))
            waiting.append((int(child), indent + fork + text, _deepen(indent, line)))
    width = max(len(text) for text, _ in lines)
    return "\n".join(f"{text:<{width}}  {support}".rstrip() if show_support else text for text, support in lines)


def _deepen(indent: str, line: str) -> str:
    """The indentation of the next level. Where it would not fit on any page, its number stands for the levels above."""
    if len(indent) < WIDEST_INDENT:
        return indent + line
    counted, _, lines = indent.rpartition("⋮ ")
    return f"{int(counted or 0) + len(lines) // 4}⋮ {line}" if len(lines) >= WIDEST_INDENT else indent + line


def _one_line(text: str) -> str:
    """Names may hold anything, line breaks too."""
    return " ".join(text.splitlines()) or text


# DOT ----------------------------------------------------------------------------------------------------------------


def export_dot(model: Any, *, digits: int | None = None) -> str:
    """The tree in Graphviz's language; `dot -Tsvg` draws it. Parameters as in `export_text`."""
    tree = tree_of(model)
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
            text = f"{_dot(tree.test(node).describe(digits=digits))}\\n{_dot(size_text(tree, node))}"
            lines.append(f'  {node} [label="{text}"];')
            for child, answer in zip((tree.left[node], tree.right[node]), answers(tree.test(node)), strict=True):
                lines.append(f'  {node} -> {child} [label="{answer}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def leaf_colour(tree: Tree, node: int) -> str:
    """The label's colour, paler the less of the leaf's weight carries the label."""
    share = share_of_label(tree, node)
    even = 1 / len(tree.labels)
    certainty = 1.0 if share is None or len(tree.labels) == 1 else max(0.0, (share - even) / (1 - even))
    strength = 0.25 + 0.5 * certainty
    base = PALETTE[tree.label[node] % len(PALETTE)]
    channels = [round(255 + strength * (int(base[at : at + 2], 16) - 255)) for at in (1, 3, 5)]
    return "#" + "".join(f"{channel:02x}" for channel in channels)


# LaTeX --------------------------------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "[": r"{[}", "]": r"{]}", ",": r"{,}", "=": r"{=}",
}  # fmt: skip
_RELATIONS = {" <= ": r" $\leq$ ", " > ": " $>$ ", " == ": " = ", " != ": r" $\neq$ "}


def export_latex(model: Any, *, digits: int | None = None) -> str:
    r"""The tree for a paper: a `forest` environment (\usepackage{forest,textcomp}). Parameters as in `export_text`."""
    tree = tree_of(model)
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
            (int(tree.right[node]), fails, level + 1),
            (int(tree.left[node]), holds, level + 1),
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


def _latex_test(test: Test, digits: int | None) -> str:
    """The test with a mathematician's relation sign: the name and what follows are escaped each by itself."""
    text, name = test.describe(digits=digits), test.column.name
    rest = text[len(name) :]
    for plain, sign in _RELATIONS.items():
        if rest.startswith(plain):
            return _latex(name) + sign + _latex(rest[len(plain) :])
    return _latex(name) + _latex(rest)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


# JSON ---------------------------------------------------------------------------------------------------------------


def export_json(model: Any, *, indent: int | None = 1) -> str:
    """The model as JSON text, whole by itself: tree, certificate and settings. `load` reads it.

    A bare Tree is written as such, and `load` then gives a Tree. Settings that are not plain data (a reference model,
    a random generator) are left out; the tree and the certificate do not depend on them.
    """
    if isinstance(model, Tree):
        return json.dumps(model.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
    if not isinstance(model, (SparseTreeClassifier, PolicyTree)):
        raise TypeError(f"export_json takes a fitted estimator or a Tree, not a {type(model).__name__}")
    tree = tree_of(model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(model).__name__,
        "settings": {name: _plain(value) for name, value in model.get_params(deep=False).items() if _is_plain(value)},
        "readings": [reading.to_dict() for reading in model.columns_],
        "has_feature_names": hasattr(model, "feature_names_in_"),
        "fit_seconds": float(model.fit_seconds_),
        "statistics": _plain(model.statistics_),
        "certificate": _plain(model.certificate_),
        "tree": tree.to_dict(),
    }
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple, np.ndarray)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bool, int, float, np.generic))


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's, and what JSON has no word for (infinity, NaN) as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def load(source: str | Path) -> Any:
    """What `export_json` wrote: a fitted estimator, or a Tree where a Tree was exported.

    Anything else is one ValueError that says what is wrong with it, so that a file from a stranger can be tried. What
    it claims is another matter: `certree.certify.check` compares it with a table.

    Parameters
    ----------
    source : path of a JSON file, or the JSON text itself
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    text = source if is_text else Path(source).read_text(encoding="utf-8")
    try:
        document = json.loads(str(text), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a model: {'the text' if is_text else source} is not JSON ({error})") from error
    except RecursionError as error:
        raise ValueError(f"not a model: {'the text' if is_text else source} is nested too deeply") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found == TREE_FORMAT:
        return Tree.from_dict(document)
    if found == FORMAT:
        return _restore(document)
    raise ValueError(f"not a model: format is {quote(found)}, neither {FORMAT!r} nor {TREE_FORMAT!r}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"not a model: JSON has no {name}")


def _restore(document: Mapping[str, Any]) -> SparseTreeClassifier | PolicyTree:
    version, estimator = document.get("version"), document.get("estimator")
    if not is_whole(version) or version != VERSION:
        raise ValueError(f"a model of version {quote(version)}; this release reads version {VERSION}")
    makers: dict[Any, Any] = {maker.__name__: maker for maker in (SparseTreeClassifier, PolicyTree)}
    if estimator is not None and not (isinstance(estimator, str) and estimator in makers):
        raise ValueError(f"a model of an unknown estimator, {quote(estimator)}")
    flaws = [f"{name} is missing" for name in _PARTS if name not in document]
    flaws += [
        f"{name} is {quote(document[name])}, not {form.words}"
        for name, form in _PARTS.items()
        if name in document and not form.accepts(document[name])
    ]
    if flaws:
        raise ValueError(f"not a whole model: {'; '.join(flaws)}")
    tree, certificate = Tree.from_dict(document["tree"]), dict(document["certificate"])
    flaws = find_flaws(certificate)
    if flaws:
        raise ValueError(f"not a whole certificate: {'; '.join(flaws)}")
    is_policy = estimator == PolicyTree.__name__
    for name in ("policy",) if is_policy else ("class_weights", "guarantees"):
        if name not in certificate:
            raise ValueError(f"the certificate of a {estimator} states {name}, and this one does not")
    model = makers[estimator]()
    unknown = set(document["settings"]) - set(model.get_params(deep=False))
    if unknown:
        raise ValueError(f"a {estimator} has no setting {quote(min(unknown))}")
    try:
        model.set_params(**document["settings"])._validate_params()
    except (TypeError, ValueError) as error:  # scikit-learn's refusals of a parameter are both
        raise ValueError(f"settings of no {estimator}: {error}") from error
    if is_policy:
        policy = certificate["policy"]
        model.actions_ = np.array(tree.labels)
        model.value_, model.objective_ = policy["value"], policy["objective"]
        model.upper_bound_, model.gap_ = policy["upper_bound"], policy["gap"]
        if "budget" in certificate:
            model.spend_, model.price_ = certificate["budget"]["spend"], certificate["budget"]["price"]
    else:
        if isinstance(certificate["thresholds"], list) and "thresholds" not in certificate["guarantees"]:
            raise ValueError("the certificate lists cuts, but guarantees.thresholds does not say what they give up")
        if document["settings"].get("max_depth") == "guess" and "depth" not in certificate["guarantees"]:
            raise ValueError("the depth was guessed, but guarantees.depth does not say how")
        if tree.label_weights is None:
            raise ValueError("the tree of a classifier has label_weights, and this one has none")
        model.classes_ = np.array(tree.labels)
        model.loss_, model.objective_ = certificate["loss"], certificate["objective"]
        model.lower_bound_, model.gap_ = certificate["lower_bound"], certificate["gap"]
    model.tree_, model.n_leaves_, model.depth_ = tree, tree.n_leaves, tree.depth
    model.columns_ = restore_readings(document.get("readings"), tree.columns)
    model.n_features_in_ = len(tree.columns)
    if document["has_feature_names"]:
        model.feature_names_in_ = np.array([column.name for column in tree.columns], dtype=object)
    model.status_, model.certificate_ = certificate["status"], certificate
    model.statistics_, model.fit_seconds_ = dict(document["statistics"]), document["fit_seconds"]
    restored: SparseTreeClassifier | PolicyTree = model
    return restored


_MAPPING = Form("a mapping", lambda value: isinstance(value, dict))
_PARTS = {
    "estimator": TEXT,
    "settings": _MAPPING,
    "has_feature_names": Form("true or false", lambda value: isinstance(value, bool)),
    "fit_seconds": AMOUNT,
    "statistics": _MAPPING,
    "certificate": _MAPPING,
    "tree": _MAPPING,
}


# scikit-learn -------------------------------------------------------------------------------------------------------


def to_sklearn(model: Any) -> DecisionTreeClassifier:
    """A fitted scikit-learn tree that predicts the same, so that scikit-learn's ecosystem works on it.

    It takes the same columns as numbers (booleans as 0 and 1, ordered text as its place in the order, from 0) and sends
    missing values the same way. scikit-learn
    reads its input as 32-bit floats: a value so near to a threshold that 32 bits cannot tell them apart may go the
    other way.

    A scikit-learn tree only asks "<=". A test for one category is put so where the categories are numbers and this one
    is the lowest or the highest of them; any other is a ValueError that names the column: one-hot encode it before the
    fit. Where the rows carry no labels (costs, rewards) the probabilities are 1 for the leaf's label.
    """
    tree = tree_of(model)
    order = list(tree.walk())
    number = {node: position for position, node in enumerate(order)}

    # scikit-learn's own arrays, with the fields of the installed version, come from a tree of its making.
    greedy = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    blank = greedy.tree_.__getstate__()
    nodes = np.zeros(tree.n_nodes, dtype=blank["nodes"].dtype)
    values = _label_shares(tree)
    for node in order:
        entry = nodes[number[node] : number[node] + 1]
        entry["impurity"] = 1 - np.sum(values[node] ** 2)
        entry["n_node_samples"], entry["weighted_n_node_samples"] = tree.rows[node], tree.weight[node]
        if tree.column[node] < 0:
            entry["left_child"] = entry["right_child"] = -1
            entry["feature"], entry["threshold"] = -2, -2.0
            continue
        threshold, is_swapped = _as_threshold(tree.test(node))
        left, right = int(tree.left[node]), int(tree.right[node])
        if is_swapped:
            left, right = right, left
        entry["left_child"], entry["right_child"] = number[left], number[right]
        entry["feature"], entry["threshold"] = tree.column[node], threshold
        entry["missing_go_to_left"] = bool(tree.missing_left[node]) != is_swapped

    classes = getattr(model, "classes_", np.array(tree.labels))
    result = DecisionTreeClassifier()
    result.classes_, result.n_classes_, result.n_outputs_ = classes, len(classes), 1
    result.n_features_in_ = result.max_features_ = len(tree.columns)
    if hasattr(model, "feature_names_in_"):
        result.feature_names_in_ = model.feature_names_in_
    result.tree_ = type(greedy.tree_)(len(tree.columns), np.array([len(classes)], dtype=np.intp), 1)
    result.tree_.__setstate__(
        blank
        | {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": nodes,
            "values": np.ascontiguousarray(values[order][:, None, :]),
        }
    )
    return result


def _label_shares(tree: Tree) -> Array:
    """Nodes × labels: shares of the weight, such that the largest (the first of equals) is the node's own label."""
    is_label = np.arange(len(tree.labels)) == tree.label[:, None]
    if tree.label_weights is None:
        return np.asarray(is_label, dtype=np.float64)
    shares: Array = tree.label_weights / tree.label_weights.sum(axis=1, keepdims=True)
    # Sums of weights in another order may turn a tie: the last bit puts it right.
    largest = np.nextafter(shares.max(axis=1, keepdims=True), np.inf)
    is_overruled = shares.argmax(axis=1) != tree.label
    return np.asarray(np.where(is_label & is_overruled[:, None], largest, shares))


def _as_threshold(test: Test) -> tuple[float, bool]:
    """The test as "<= threshold", and whether the children change sides for it."""
    column = test.column
    if test.threshold is not None:
        return _number_of_place(test) if column.kind == "ordered" else test.threshold, False
    if column.kind == "boolean" and test.category is not None:
        return 0.5, bool(test.category)
    if test.category is None:
        if column.kind == "categorical" and any(isinstance(category, str) for category in column.categories):
            raise ValueError(_refusal(column.name, "is text"))
        return -math.inf, False
    if any(isinstance(category, str) for category in column.categories):
        raise ValueError(_refusal(column.name, "is text"))
    numbers = sorted(float(category) for category in column.categories)
    own = float(test.category)
    if own == numbers[0]:
        return (own + numbers[1]) / 2 if len(numbers) > 1 else own, False
    if own == numbers[-1]:
        return (own + numbers[-2]) / 2, True
    raise ValueError(_refusal(column.name, f"is asked for a category between others, {test.category!r}"))


def _number_of_place(test: Test) -> float:
    """The threshold of an ordered column: of text a place, of numbers, which stand for themselves, a number."""
    categories = test.column.categories
    assert test.threshold is not None
    if any(isinstance(category, str) for category in categories):
        return test.threshold
    numbers = [float(category) for category in categories]
    if numbers != sorted(numbers):
        raise ValueError(_refusal(test.column.name, "has numbers in an order of its own"))
    return numbers[int(test.threshold)]


def _refusal(name: str, reason: str) -> str:
    return (
        f"a scikit-learn tree cannot ask what this one asks of column {name!r}: it {reason}, and scikit-learn's trees "
        "only ask “<=” of numbers; one-hot encode the column before the fit"
    )
