"""The rules of the house: which room imports which, who speaks to the engine, who prints, what a file holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import certree

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "certree"

# Each room may import only rooms named before it.
ROOMS = (
    "writing",
    "folds",
    "amounts",
    "hull",
    "table",
    "tree",
    "reading",
    "features",
    "start",
    "problem",
    "fingerprint",
    "weights",
    "guesses",
    "certificate",
    "enumeration",
    "plot",
    "document",
    "display",
    "solution",
    "limits",
    "completion",
    "solver",
    "sums",
    "certify",
    "path",
    "estimators",
    "graft",
    "spread",
    "second",
    "tree_set",
    "policy",
    "selection",
    "prove",
    "export",
    "page",
    "datasets",
    "study",
    "dask",
    "cli",
    "__main__",
)

MODULES = sorted(PACKAGE.rglob("*.py"))

# The same of the engine: a file includes files of its own room, of rooms named before it, and those outside any room.
ENGINE_ROOMS = ("kernels", "instance", "sums", "shallow", "search", "good", "bindings", "tests", "fuzz", "forecasts")
ENGINE = sorted((*ROOT.glob("cpp/**/*.cpp"), *ROOT.glob("cpp/**/*.hpp")))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every imported module with its line, those inside functions included, as an absolute name."""
    package = ("certree", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*base, *((node.module,) if node.module else ())))
            if source == "certree":
                for alias in node.names:
                    is_room = alias.name in (*ROOMS, "_engine")
                    yield node.lineno, f"certree.{alias.name}" if is_room else "certree"
            else:
                yield node.lineno, source


def test_every_module_belongs_to_a_room() -> None:
    assert MODULES
    assert {room_of(path) for path in MODULES} - {"__init__"} <= set(ROOMS)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_lead_only_to_earlier_rooms(path: Path) -> None:
    room = room_of(path)
    for line, imported in imports_of(path):
        parts = imported.split(".")
        if parts[0] != "certree" or parts[1:] == ["_engine"]:
            continue
        where = f"{name_of(path)}, line {line}, imports {imported}"
        if room == "__init__":
            assert parts[1] != "cli", where
        elif len(parts) == 1:
            assert room in ("cli", "__main__"), f"{where}: the package itself stands after every room but cli"
        elif parts[1] != room:
            assert ROOMS.index(parts[1]) < ROOMS.index(room), where


def test_only_the_solver_imports_the_engine() -> None:
    importers = {name_of(path) for path in MODULES if "certree._engine" in dict(map(reversed, imports_of(path)))}
    assert importers == {"solver.py"}


def test_certify_does_without_the_solver() -> None:
    """Also at second hand: nothing that certify imports imports the solver."""
    reached, waiting = set(), ["certify"]
    while waiting:
        room = waiting.pop()
        reached.add(room)
        for path in MODULES:
            if room_of(path) == room:
                names = (imported.split(".") for _, imported in imports_of(path))
                waiting += [parts[1] for parts in names if parts[0] == "certree" and parts[1] not in reached]
    assert not reached & {"solver", "_engine"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_line_prints(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_print = isinstance(node, ast.Name) and node.id == "print"
        is_stream = isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr")
        if is_print or is_stream:
            assert room_of(path) == "cli", f"{name_of(path)}, line {node.lineno}, prints"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_randomness_comes_from_a_seed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"np\.random\.(?!default_rng\(\w|Generator|RandomState)\w+", text)
    assert not re.search(r"^\s*(import random|from random import)", text, re.MULTILINE)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_python_files_open_with_what_they_promise(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_engine_files_open_with_what_they_promise() -> None:
    for path in ENGINE:
        # A source file whose header says it need not say it again.
        own_header = f'#include "{path.relative_to(ROOT / "cpp").with_suffix(".hpp").as_posix()}"'
        assert path.read_text(encoding="utf-8").startswith(("//", own_header)), path.name


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.relative_to(ROOT / "cpp").as_posix())
def test_engine_rooms_include_in_order(path: Path) -> None:
    room, *inner = path.relative_to(ROOT / "cpp").parts
    allowed = ENGINE_ROOMS[: ENGINE_ROOMS.index(room) + 1] if inner else ()
    for included in re.findall(r'#include "(.*)"', path.read_text(encoding="utf-8")):
        of, *rest = Path(included).parts
        assert not rest or of in allowed, f"{path.name} includes {included}"
        # The closed forms of two labels and those of any labels share nothing.
        if room == of == "shallow" and len(rest) > 1:
            assert rest[0] == inner[0], f"{path.name} includes {included}"
    # Nothing runs but what the engine's library, its tests and its fuzzer are built from.
    assert inner or path.suffix == ".hpp", f"{path.name} stands outside the folders that are built"


def test_no_room_is_a_drawer_for_everything() -> None:
    for path in (*MODULES, *ROOT.glob("cpp/**/*"), *ROOT.glob("tests/*.py"), *ROOT.glob("benchmarks/**/*.py")):
        assert not re.search("utils|common|helper", path.name), path.name


def test_no_unfinished_business_and_no_private_paths() -> None:
    # The brackets keep this file from failing its own test.
    forbidden = re.compile("TOD[O]|FIXM[E]|XX[X]|/wor[k]/|/tm[p]/|/hom[e]/")
    folders = ("cpp", "src", "tests", "benchmarks", "examples", "docs", ".github", ".ci")
    endings = {".py", ".cpp", ".hpp", ".md", ".toml", ".yml", ".txt", ".csv", ".json", ""}
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in (*files, *(path for path in ROOT.iterdir() if path.is_file())):
        if path.suffix in endings and not path.name.startswith((".coverage", ".git")):
            found = forbidden.search(path.read_text(encoding="utf-8"))
            assert not found, f"{path.relative_to(ROOT)} holds {found.group()!r}"


def test_one_version_everywhere() -> None:
    stated = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
    }
    # What is not released yet is a development version of the next one.
    is_released = "dev" not in certree.__version__
    stated["CHANGELOG.md"] = r"^## (\S+)" if is_released else r"^## (Unreleased)$"
    for name, pattern in stated.items():
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert found, name
        assert found.group(1) in (certree.__version__, *(() if is_released else ("Unreleased",))), name


def test_type_checkers_find_the_annotations() -> None:
    """The mark of PEP 561 is part of the package, also of the installed one."""
    assert (Path(certree.__file__).parent / "py.typed").is_file()


def test_public_names_exist() -> None:
    for name in certree.__all__:
        assert getattr(certree, name) is not None
    assert sorted(set(certree.__all__)) == sorted(certree.__all__) == dir(certree)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        certree.nonsense  # noqa: B018


def test_the_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert lines
    exec(lines.group(1), {})
    assert "optimal" in capsys.readouterr().out


def test_links_between_documents_lead_somewhere() -> None:
    documents = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md"))
    for document in documents:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8")):
            if not target.startswith("https://"):
                assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} points to {target}"


def test_the_processor_is_asked_for_all_that_the_kernels_are_compiled_with() -> None:
    options = re.findall(r'COMPILE_OPTIONS "(.*)"', (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    allowed = {flag for line in options for flag in re.findall(r"-m(\w+)", line)}
    (kernels,) = (ROOT / "cpp").rglob("kernels_avx2.cpp")
    asked = set(re.findall(r'__builtin_cpu_supports\("(\w+)"\)', kernels.read_text(encoding="utf-8")))
    assert allowed
    assert allowed <= asked
