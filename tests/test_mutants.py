"""The list of mutants keeps up with the code that they break; `make mutants` runs them."""

from __future__ import annotations

import pytest

pytest.importorskip("tomllib")

from mutants import ROOT, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_applies(mutant) -> None:
    """If this fails after a change: move the mutant's `old` text in tests/mutants.toml along with the code."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert mutant.apply(text) != text
    assert all((ROOT / test).is_file() for test in mutant.tests)


def test_names_are_unique_and_there_are_enough() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40
