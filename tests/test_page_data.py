"""Pages about real tables: the case study always, COMPAS and a budget policy on Hillstrom where they are there; and a
million rows."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree import PolicyTree, SparseTreeClassifier, policy, study
from certree.datasets import make_weighted
from certree.study import case, pages
from tests.test_page import data_of, section
from tests.test_study import PLAIN

needs_data = pytest.mark.skipif(not os.environ.get("CERTREE_DATA"), reason="CERTREE_DATA names no data directory")


def read(name: str) -> Any:
    return pd.read_csv(Path(os.environ["CERTREE_DATA"]) / name)


def test_the_pages_of_the_case_study_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every section is computed, and a mail can carry all of them."""
    monkeypatch.setattr(case, "evaluate", PLAIN)
    monkeypatch.setattr(pages, "SECONDS", 600.0)  # a slow machine is not what this is about
    found = study.run(depths=[3], variations=[], repeats=1)
    written = [path.read_text("utf-8") for path in pages.write_pages(found, tmp_path)]
    for page in written:
        assert len(page.encode()) < 600_000
        assert "Not computed" not in page
        assert "all figures of the tree hold" in section(page, "proof")
        assert len(data_of(page)["front"]) > 1
        assert len(data_of(page)["others"]) >= 3
        assert "held out" in data_of(page)["front"][0]["text"]
    assert found.policies[-1].evaluation.statement() in html.unescape(section(written[1], "decision"))
    # What weights and rewards are, a page cannot know by itself.
    assert "the costlier a mistake about him would be" in section(written[0], "use").replace("\n", " ")
    assert "less what the programme costs" in section(written[1], "use").replace("\n", " ")


@needs_data
def test_a_classifier_on_compas(tmp_path: Path) -> None:
    frame = read("compas_gosdt.csv")
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    model = SparseTreeClassifier(3, 0.005).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "compas.html", noun="people").read_text("utf-8")
    assert len(page) < 100_000
    assert "all figures of the tree hold" in section(page, "proof")
    found = certree.good_trees(X, y, tolerance=0.01, max_depth=3, regularization=0.005)
    measure = "share of wrong answers, plus 0.005 per leaf"
    assert f"{found.count} whose objective ({measure}) is within 0.01 of the best" in section(page, "good")
    path = certree.regularization_path(X, y, max_depth=3)
    assert len(data_of(page)["front"]) == len(path)
    assert "Not computed" not in page


@needs_data
@pytest.mark.long
def test_a_budget_policy_on_hillstrom(tmp_path: Path) -> None:
    frame = read("hillstrom.csv")
    X = frame[["recency", "history", "mens", "womens", "zip_code", "newbie", "channel"]]
    log = policy.Log(X, frame["treatment"], frame["spend"], propensity=[1 / 3] * 3)
    scores = policy.doubly_robust(log, random_state=0)
    model = PolicyTree(2, min_samples_leaf=1000, budget=0.3, thresholds=20)
    model.fit(X, scores, control="No E-Mail")
    page = certree.report(
        model, X, scores, log=log, control="No E-Mail", path=tmp_path / "hillstrom.html", noun="customers",
        time_limit=600,
    ).read_text("utf-8")  # fmt: skip
    assert len(page) < 200_000
    assert "budget of 0.3" in section(page, "decision")
    for words in ("actions drawn by lot", "nobody (No E-Mail)", "learned without the rows"):
        assert words in section(page, "worth")
    assert "They spend from" in section(page, "good")


@pytest.mark.long
def test_a_page_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    sizes = []
    for n_rows in (10_000, 1_000_000):
        drawn = make_weighted(n_rows, 5, n_values=20, random_state=0)
        facts = (drawn.data, drawn.target, drawn.sample_weight)
        model = SparseTreeClassifier(2, 0.001).fit(*facts)
        sizes.append(certree.report(model, *facts, path=tmp_path / "page.html").stat().st_size)
    assert sizes[1] < 1.2 * sizes[0]
    assert np.max(sizes) < 100_000
