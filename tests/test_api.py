"""The reference is whole: no public name is missing from it, and each says what it takes, returns and raises.

The examples in the docstrings run here; those of the case study take longer, and `make docs` runs all of them.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import certree

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
MODULES = ("certree", "certree.policy", "certree.weights", "certree.certify", "certree.datasets", "certree.study")


def list_public() -> Iterator[tuple[str, Any]]:
    """Every public name that is not a module, with its object."""
    for module in MODULES:
        room = importlib.import_module(module)
        for name in room.__all__:
            found = getattr(room, name)
            if not inspect.ismodule(found) and not isinstance(found, str):
                yield f"{module}.{name}", found


def list_documented() -> Iterator[str]:
    """Every name in the tables of the page."""
    for table in re.findall(r"```{eval-rst}\n(.*?)```", PAGE, re.DOTALL):
        (module,) = re.findall(r"currentmodule:: (\S+)", table) or ["certree"]
        for name in re.findall(r"^   (\w\S*)$", table, re.MULTILINE):
            yield f"{module}.{name}"


PUBLIC = dict(list_public())
# What functions return is documented, too.
DOCUMENTED = dict.fromkeys(list_documented())


def find(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def has_section(found: Any, title: str) -> bool:
    return f"\n{title}\n{'-' * len(title)}\n" in (inspect.getdoc(found) or "")


def test_no_public_name_is_missing_from_the_reference() -> None:
    same = {"certree.policy.PolicyTree"}  # documented as certree.PolicyTree
    assert sorted(PUBLIC.keys() - DOCUMENTED.keys() - same) == []
    for name in DOCUMENTED:
        assert find(name) is not None


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_a_docstring_has_an_example_and_says_what_goes_in_and_out(name: str) -> None:
    found = find(name)
    assert has_section(found, "Examples")
    assert ">>>" in inspect.getdoc(found)
    if inspect.isfunction(found):
        signature = inspect.signature(found)
        assert has_section(found, "Returns")
        assert has_section(found, "Raises")
        if signature.parameters:
            assert has_section(found, "Parameters")
        text = (inspect.getdoc(found) or "").split("Parameters\n----------\n")[-1]
        for parameter in signature.parameters:
            assert re.search(rf"^(?:[\w*, ]+, )?\**{parameter}(?:, [\w, ]+)? :", text, re.MULTILINE), parameter
    for own, member in vars(found).items() if inspect.isclass(found) else ():
        is_method = inspect.isfunction(member) or isinstance(member, (property, classmethod, staticmethod))
        if is_method and not own.startswith("_") and not own.endswith("_request"):
            assert inspect.getdoc(member), own


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_every_parameter_in_the_reference_is_described(name: str) -> None:
    found = find(name)
    members = vars(found).items() if inspect.isclass(found) else ()
    public = [getattr(member, "__func__", member) for own, member in members if not own.startswith("_")]
    for documented in (found, *filter(inspect.isfunction, public)):
        for section in re.findall(
            r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(documented) or "", re.MULTILINE | re.DOTALL
        ):
            lines = section.split("\n")
            for line, following in pairwise([*lines, ""]):
                assert line.startswith(" ") or following.startswith("    "), f"{documented.__name__}: {line}"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if "study" in name else []) for name in sorted(DOCUMENTED)],
)
def test_the_examples_of_a_docstring_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    found = find(name)
    examples = doctest.DocTestFinder(recurse=inspect.isclass(found)).find(found, name, globs={})
    assert any(example.examples for example in examples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in examples:
            runner = doctest.DocTestRunner(verbose=False)
            printed: list[str] = []
            runner.run(example, out=printed.append)
            assert runner.failures == 0, "".join(printed)
    plt.close("all")


def test_modules_say_what_they_are_for() -> None:
    for module in MODULES:
        assert importlib.import_module(module).__doc__
    assert set(certree.__all__) >= {"certify", "datasets", "policy", "study", "weights"}
