"""Leaves of few rows can reveal a person: texts and pictures can do without their figures."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from certree import SparseTreeClassifier, Tree, export_dot, export_latex, export_text, plot_tree
from certree.cli import main

# Four leaves of 3, 40, 50 and 60 rows.
X = np.repeat([1.0, 2.0, 3.0, 4.0], [3, 40, 50, 60])[:, None]
Y = np.repeat(["a", "b", "a", "b"], [3, 40, 50, 60])


@pytest.fixture(scope="module")
def model() -> SparseTreeClassifier:
    fitted = SparseTreeClassifier(2, 0.001).fit(X, Y)
    assert sorted(fitted.tree_.rows[fitted.tree_.leaves]) == [3, 40, 50, 60]
    return fitted


def pictured(model: SparseTreeClassifier, **settings: object) -> str:
    texts = [text.get_text() for text in plot_tree(model, **settings).texts]
    plt.close("all")
    return "\n".join(texts)


@pytest.mark.parametrize("export", [export_text, export_dot, export_latex, pictured])
def test_few_rows_are_not_counted(model: SparseTreeClassifier, export: object) -> None:
    whole = export(model)
    assert "3 rows" in whole
    shown = export(model, hide_below=10)
    assert shown.count("fewer than 10 rows") == 1
    # Nor can they be worked out: another leaf is hidden, and what stands above either.
    assert "rows not shown" in shown
    assert not re.search(r"\b(3|40|43|93|153) rows", shown)
    assert "60 rows" in shown
    assert export(model, hide_below=2) == whole


def test_hidden_leaves_together_hold_as_many_rows(model: SparseTreeClassifier) -> None:
    tree = model.tree_
    for least in range(1, 200):
        hidden = tree.veiled(least).hidden
        leaves = [leaf for leaf in tree.leaves if hidden[leaf]]
        small = {leaf for leaf in tree.leaves if tree.rows[leaf] < least}
        assert small <= set(leaves)
        assert bool(leaves) == bool(small)
        if leaves and len(leaves) < tree.n_leaves:
            assert len(leaves) >= 2
            assert sum(tree.rows[leaves]) >= least
        for node in range(tree.n_nodes):
            below = [leaf for leaf in leaves if node == leaf or node in walk_up(tree, leaf)]
            assert bool(hidden[node]) == bool(below)


def walk_up(tree: Tree, node: int) -> list[int]:
    above = []
    while tree.parent[node] >= 0:
        node = int(tree.parent[node])
        above.append(node)
    return above


def test_nothing_but_the_showing_changes(model: SparseTreeClassifier) -> None:
    veiled = model.tree_.veiled(10)
    assert veiled.to_dict() == model.tree_.to_dict()
    assert veiled.predict(X).tolist() == model.predict(X).tolist()
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="hide_below must be a whole number of at least 1"):
            export_text(model, hide_below=wrong)


def test_show_hides_and_renames(
    model: SparseTreeClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    rename = ("--rename", "x0=Age (years)", "a=Yes, please")
    assert main(["show", str(path), "--hide-below", "10", *rename, "--plot", str(tmp_path / "tree.svg")]) == 0
    printed = capsys.readouterr().out
    assert "Age (years) <= " in printed
    assert "Yes, please" in printed
    assert "fewer than 10 rows" in printed
    assert main(["show", "--rename", "nobody=1", str(path)]) == 2
    assert "which is neither a column nor a label" in capsys.readouterr().err
