"""The page for those who come from other packages: their side runs as it is shown, where that package is installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

PAGE = (Path(__file__).parents[1] / "docs" / "coming-from.md").read_text(encoding="utf-8")
PACKAGES = {
    "scikit-learn": "sklearn",
    "gosdt": "gosdt",
    "pystreed (STreeD)": "pystreed",
    "pycontree (ConTree)": "pycontree",
    "EconML": "econml",
}


def blocks(language: str) -> dict[str, str]:
    """The code of that language in each section."""
    sections = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    return {
        title: "\n".join(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL))
        for title, text in zip(["", *sections[1::2]], sections[::2], strict=True)
    }


def test_every_package_has_both_sides() -> None:
    theirs, ours = blocks("py"), blocks("python")
    for title in PACKAGES:
        assert theirs[title]
    for title in (*PACKAGES, "policytree (R)"):
        assert ours[title]


@pytest.mark.parametrize("title", PACKAGES)
@pytest.mark.filterwarnings("ignore")
def test_the_other_side_runs(title: str) -> None:
    if importlib.util.find_spec(PACKAGES[title]) is None:
        pytest.skip(f"{PACKAGES[title]} is not installed")
    if title == "gosdt" and parse_version(sklearn.__version__) >= parse_version("1.8"):
        pytest.skip("gosdt passes scikit-learn an argument that is no longer there")
    names: dict[str, object] = {}
    exec(blocks("python")[""], names)
    exec(compile(blocks("py")[title], title, "exec"), names)
