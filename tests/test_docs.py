"""Every snippet and command of README and docs runs, and says what the page says it does."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import tomllib

mpl.use("Agg")
from certree import PolicyTree, SparseTreeClassifier, study
from certree.cli import exits, main
from certree.cli.program import make_parser
from certree.datasets import load_lalonde, make_policy, make_weighted

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = [
    ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", ROOT / "src" / "certree" / "datasets" / "LALONDE.md",
    *sorted((ROOT / "docs" / "decisions").glob("*.md")), ROOT / "docs" / "api" / "index.md",
]  # fmt: skip
"""Pages that are there for those who work on the package."""


def snippets_of(page: Path) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands_of(page: Path) -> list[list[str]]:
    """The commands of a page: lines by themselves, and those within a sentence that name a file."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.findall(
        r"^    (certree .*)$|`(certree [a-z]+ [^`]*\w\.(?:json|csv|parquet|html)\b[^`]*)`", text, re.MULTILINE
    )
    return [shlex.split(line or within, comments=True)[1:] for line, within in found]


def furnish() -> None:
    """The files that commands of all pages are about, in the current folder."""
    data = load_lalonde(as_frame=True)
    label = np.where(data.target > data.data["re75"], "2 treat", "0 do not treat")
    # The columns that the demo writes; what they hold is the business of its own test.
    effects = data.data.assign(treat=data.treatment, re78=data.target, label=label, weight=1.5)
    effects = effects.assign(effect=0.0, standard_error=1.0, cost=1.0)[::4]
    Path("certree-demo/models").mkdir(parents=True)
    effects.to_csv("certree-demo/effects.csv", index=False)
    X = data.data[::4]
    model = SparseTreeClassifier(3, 0.01).fit(X, effects["label"], effects["weight"])
    model.save("certree-demo/models/direct-depth-3.json")
    rewards = pd.DataFrame({"no programme": 0.0, "programme": data.target[::4] - 5000.0})
    arm = np.where(data.treatment[::4] == 1, "programme", "no programme")
    PolicyTree(2, min_samples_arm=5).fit(X, rewards, treatment=arm).save("certree-demo/models/policy-cost-1000.json")
    X.assign(arm=arm, **rewards).to_csv("certree-demo/scores-cost-1000.csv", index=False)

    log = make_policy(150, 3, n_actions=3, n_values=5, depth=1, random_state=1)
    people = pd.DataFrame(log.data, columns=["age", "income", "visits"]).assign(black=np.arange(150) % 2)
    people.to_csv("people.csv", index=False)
    people.assign(action=ACTIONS[log.treatment], sales=log.outcome).to_csv("log.csv", index=False)
    y = people["income"] > people["income"].mean()
    people.assign(y=y, w=1).to_csv("data.csv", index=False)
    SparseTreeClassifier(2).fit(people, y).save("model.json")
    people.assign(earnings=y).to_csv("men.csv", index=False)
    people.assign(none=0.0, letter=np.where(y, 1.0, -1.0)).to_csv("scores.csv", index=False)


ACTIONS = np.array(["none", "letter", "call"])


def prepare(page: Path) -> dict[str, object]:
    """What a page takes for granted."""
    if page.name == "scale.md":
        pytest.importorskip("dask.dataframe")
        made = make_weighted(400, 3, depth=2, random_state=0)
        Path("claims").mkdir()
        for part in range(2):
            frame = pd.DataFrame(made.data, columns=["age", "amount", "days"])[part::2]
            frame = frame.assign(fraud=made.target[part::2], weight=made.sample_weight[part::2])
            letter = np.random.default_rng(part).integers(0, 2, len(frame))
            frame = frame.assign(letter=letter, saved=letter * frame["amount"])
            frame.to_parquet(f"claims/{part}.parquet")
    if page.name == "case-study.md":
        return {"effects": np.where(load_lalonde(as_frame=True).data["age"] < 25, 3000.0, 0.0)}
    if page.name != "policies.md":
        return {}
    log = make_policy(300, 3, n_actions=3, depth=1, random_state=1)
    X = pd.DataFrame(log.data, columns=["age", "income", "visits"])
    return {"X": X, "treatment": ACTIONS[log.treatment], "outcome": log.outcome}


@pytest.mark.parametrize("page", [page for page in PAGES + OTHERS if snippets_of(page)], ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")
def test_the_snippets_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The whole study takes a minute; that of few trees and no policies is asked in the same way.
    monkeypatch.setattr(study, "run", partial(study.run, depths=(3,), variations=(), repeats=1, treatment_cost=0))
    names: dict[str, Any] = prepare(page)
    try:
        for code in snippets_of(page):
            exec(compile(code, page.name, "exec"), names)
    finally:
        if "client" in names:
            names["client"].shutdown()


@pytest.mark.skipif(not os.environ.get("CERTREE_DATA"), reason="CERTREE_DATA names no data directory")
def test_the_experiment_of_the_guide_to_good_trees() -> None:
    """The snippet that needs the JTPA table, and every figure beside it."""
    (code,) = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "good-trees.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec("from certree.policy import doubly_robust, good_policies\n" + code, names)
    offers, offered = names["offers"], names["offered"]
    assert repr(offers) == "<TreeSet: 66 trees, best 16197.9, tolerance 50, complete>"
    assert offers.best.tests == ["prevearn <= 3002", "age <= 47.5", "prevearn <= 4103.9555"]
    assert round(offers.rows().share_agreed, 3) == 0.497
    assert [round(offered.least, 3), round(offered.most, 3)] == [0.771, 1.0]
    assert [offered.most_tree.n_leaves, round(offered.most_tree.objective, 1)] == [1, 16167.8]
    facts = {fact.column: fact for fact in offers.columns()}
    assert [name for name, fact in facts.items() if fact.is_unused] == ["sex", "black", "hispanic", "afdc"]
    assert not any(fact.is_needed for fact in facts.values())
    assert [round(offers.best.objective - offered.most_tree.objective)] == [30]
    assert [round(facts[name].price) for name in ("prevearn", "age")] == [16, 9]


@pytest.mark.parametrize("page", [page for page in PAGES + OTHERS if commands_of(page)], ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")
def test_the_commands_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    furnish()
    for words in commands_of(page):
        if words[0] == "demo" or "--dask" in words:
            make_parser().parse_args(words)  # test_study.py and test_dask.py run them, with less to compute
            continue
        for flag in {"--out", "--scores"} & set(words):
            Path(words[words.index(flag) + 1]).unlink(missing_ok=True)  # or it would not be replaced
        words += ["--folds", "3"] if words[0] == "policy" else []
        assert main(words) == 0, (words, capsys.readouterr().err)


def test_the_commands_of_the_readme_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    furnish()
    Path("model.json").unlink()
    fit, verify = commands_of(ROOT / "README.md")
    assert main(fit) == 0
    assert "proved optimal among all trees of depth at most 3" in capsys.readouterr().out
    assert main(verify) == 0
    assert "the certificate holds" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES + OTHERS, ids=lambda page: page.name)
def test_what_else_is_to_be_typed_exists(page: Path) -> None:
    """Goals of make, suites of benchmarks and extras to install."""
    text = page.read_text(encoding="utf-8")
    goals = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"(?:`|^    )make ([\w-]+)", text, re.MULTILINE)) <= set(goals)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"pip install [\"']?(?:certree|\.)\[(\w+)\]", text)) <= set(extras)
    suites = set(re.findall(r"python -m benchmarks --suite ([\w-]+)", text))
    if suites:
        from benchmarks.__main__ import STUDIES, SUITES

        assert suites <= {*SUITES, *STUDIES, "paper"}


class Understood(Exception):  # noqa: N818
    """The options were read, and that is all that is asked here."""


def find_programs() -> list[Any]:
    """The commands of all pages that start a benchmark or the fuzzer, unless they have words in capitals to replace."""
    found = {}
    for page in [*PAGES, *OTHERS]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for module, options in re.findall(r"python -m ((?:benchmarks|tests\.fuzz)[.\w]*)([^`#\n]*)", text):
            if not re.search(r" [A-Z]", options):
                found[f"{module}{options}".strip()] = (module, shlex.split(options))
    return [pytest.param(*command, id=name) for name, command in found.items()]


@pytest.mark.parametrize(("module", "options"), find_programs())
def test_the_commands_of_benchmarks_are_understood(
    module: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take minutes to hours; that they work is for their own tests."""
    name = module if "." in module and module != "tests.fuzz" else f"{module}.__main__"
    pytest.importorskip("dask.distributed") if name in ("benchmarks.scale", "benchmarks.long_search") else None
    program = importlib.import_module(name)
    read = argparse.ArgumentParser.parse_args

    def stop(parser: argparse.ArgumentParser, *given: Any) -> None:
        read(parser, *given)
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [name, *options])
    with pytest.raises(Understood):
        program.main()


def test_the_first_steps_print_what_they_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "start.md"
    exec(compile(snippets_of(page)[0], page.name, "exec"), {})
    shown = page.read_text(encoding="utf-8").partition("what each column was read as:\n")[2].partition("\nand then")[0]
    lines = [line.removeprefix("    ") for line in shown.strip("\n").splitlines()]
    assert capsys.readouterr().out.splitlines()[: len(lines)] == lines


def test_every_page_is_on_the_site() -> None:
    """Each page is in a table of contents, so that `make docs` neither warns nor hides it."""
    contents = "\n".join(
        block
        for page in (ROOT / "docs").glob("*.md")
        for block in re.findall(r"```{toctree}(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    )
    listed = set(re.findall(r"([\w-]+)>?$", contents, re.MULTILINE))
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= listed


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    for page in folder.glob("0*.md"):
        title = page.read_text(encoding="utf-8").splitlines()[0].partition(": ")[2]
        assert f"- [{page.name[:4]}]({page.name}): {title}\n" in listed


def test_how_to_answers_the_usual_questions() -> None:
    headings = " ".join(
        re.findall(r"^## (.*)$", (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for word in (
        "depth", "penalty", "weights", "costs", "missing", "categories", "large tables", "experiment", "observational",
        "budget", "nearly as good", "pipelines", "grid searches", "certificate", "Deploy", "does not finish",
    ):  # fmt: skip
        assert word in headings


def test_pages_say_per_leaf() -> None:
    """One of the habits that made these pages hard to read."""
    wrong = re.compile(
        r"(\}|\d|\b(?:λ|penalty|one|number|draws|dollars|seconds|s|bytes)) (a|an) "
        r"(leaf|row|action|column|fold|fit|man|person|tree|label|test)\b(?! (?:must|should))"
    )
    code = [page for folder in ("src/certree", "examples", "benchmarks") for page in (ROOT / folder).rglob("*.py")]
    for page in [*PAGES, *OTHERS, *(ROOT / "benchmarks" / "results").glob("*.md"), *code]:
        found = wrong.search(page.read_text(encoding="utf-8"))
        assert not found, f"{page.name}: {found.group()!r}"


def test_options_are_code() -> None:
    """On the site, two hyphens of a text become a dash, and --label reads –label."""
    for page in {*PAGES, *OTHERS, ROOT / "CHANGELOG.md"}:
        text = re.sub(
            r"```.*?```|`[^`]*`|^    .*?$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        assert not re.findall(r".*--\w.*", text), page.name


def test_code_fits_the_width_of_the_site() -> None:
    """Longer lines scroll sideways in a window of 1280 pixels."""
    for page in {*PAGES, *OTHERS}:
        text = page.read_text(encoding="utf-8")
        snippets = re.findall(r"```py\w*\n(.*?)```", text, re.DOTALL)
        lines = [line for snippet in snippets for line in snippet.splitlines()]
        lines += re.findall(r"^    (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
        assert max(map(len, lines), default=0) <= 100, f"{page.name}: {max(lines, key=len)!r}"
    # Two packages side by side share the width, where a longer line would be broken anywhere.
    beside = re.findall(
        r":::{grid-item}(.*?)\n:::", (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8"), re.DOTALL
    )
    lines = [
        line
        for item in beside
        for code in re.findall(r"```\w+\n(.*?)```", item, re.DOTALL)
        for line in code.splitlines()
    ]
    assert max(map(len, lines)) <= 54, max(lines, key=len)
    for module in (ROOT / "src" / "certree").rglob("*.py"):
        examples = re.findall(
            r"^ *((?:>>>|\.\.\.) .*?)(?:  # doctest.*)?$", module.read_text(encoding="utf-8"), re.MULTILINE
        )
        assert max(map(len, examples), default=0) <= 95, f"{module.name}: {max(examples, key=len)!r}"


def test_the_exit_codes_are_documented() -> None:
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    for code in (exits.DONE, exits.FAILED, exits.MISUSED, exits.LIMITED, exits.ABORTED):
        assert f"\n| {code} | " in page
