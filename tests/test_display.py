"""Fitted objects show themselves: printed, in a notebook, and saved by a method of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from certree import PolicyTree, SparseTreeClassifier, export_text, load

FRAME = pd.DataFrame({"age": np.arange(40.0), "<colour>": ["red", "blue"] * 20})
MODEL = SparseTreeClassifier(2, 0.01).fit(FRAME, np.where(FRAME.age < 20, "no", "<yes>"))


def test_a_printed_model_says_tree_status_and_columns() -> None:
    text = str(MODEL)
    assert export_text(MODEL) in text
    assert MODEL.certificate_.statement in text
    assert "columns read as\n  age       numeric, 40 values\n  <colour>  categorical, 2 categories" in text
    assert str(MODEL.tree_) == export_text(MODEL)
    assert "\n" not in repr(MODEL)
    assert "\n" not in repr(MODEL.tree_)


def test_a_model_that_is_not_fitted_prints_its_settings_alone() -> None:
    assert str(SparseTreeClassifier(2)) == repr(SparseTreeClassifier(2)) == "SparseTreeClassifier(max_depth=2)"
    assert "certree-model" not in SparseTreeClassifier()._repr_html_()
    assert "certree-model" not in SparseTreeClassifier()._repr_mimebundle_()["text/html"]


def test_a_notebook_shows_tree_and_certificate_with_names_escaped() -> None:
    page = MODEL._repr_html_()
    assert page == MODEL._repr_mimebundle_()["text/html"]
    assert MODEL.certificate_.statement in page
    assert "&lt;yes&gt;</b>" in page
    assert "<yes>" not in page
    assert "&lt;colour&gt;  categorical" in page
    assert page.count("<b ") == MODEL.n_leaves_


def test_a_policy_shows_itself_too() -> None:
    model = PolicyTree(1, budget=0.5).fit(FRAME, np.column_stack([np.zeros(40), FRAME.age - 20]))
    for shown in (str(model), model._repr_html_()):
        assert "mean reward" in shown
        assert "0 0, 1 1" in shown  # what the actions spend, by their names


def test_a_pipeline_still_shows_its_diagram() -> None:
    assert "Pipeline" in make_pipeline(SparseTreeClassifier())._repr_html_()


def test_save_writes_what_load_reads(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    twin = load(tmp_path / "model.json")
    np.testing.assert_array_equal(twin.predict(FRAME), MODEL.predict(FRAME))
    assert twin.certificate_ == MODEL.certificate_
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    with pytest.raises(NotFittedError):
        SparseTreeClassifier().save(tmp_path / "other.json")
