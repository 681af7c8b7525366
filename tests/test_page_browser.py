"""The report in a browser: it draws, answers, folds, slides and prints, alone and without a fault.

Skipped where there is no Chromium with its driver (on Debian: apt-get install chromium chromium-driver).
"""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree.tree import Tree
from tests.pages import NAMES, Case, make_classifier, make_mixed_policies, make_policies

webdriver = pytest.importorskip("selenium.webdriver")
from axe_core_python.base import AXE_FILE_PATH  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)"
)
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--window-size=1280,900",
)  # fmt: skip
KINDS = ["classifier", "policy", "budget"]
HEADS = [
    "The decision", "The tree", "Ask it", "Simpler or finer", "Other trees as good", "The proof", "What it is worth",
    "Data and weights", "Use",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    driver.set_script_timeout(120)  # a slow machine may take longer over axe-core than the usual 30 s
    yield driver
    driver.quit()


@pytest.fixture(autouse=True)
def quiet(browser: Any) -> Iterator[None]:
    """Whatever a test does with a page, nothing fails in the console, and nothing is asked of the network."""
    yield
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    assert [url for url in map(find_request, events) if not url.startswith(("file:", "data:"))] == []


def find_request(event: dict[str, Any]) -> str:
    """The address that the browser asked for, as an event of its log says; empty where it says something else."""
    is_request = event["method"] == "Network.requestWillBeSent"
    return str(event["params"]["request"]["url"]) if is_request else "data:"


def case_of(kind: str) -> Case:
    return make_classifier() if kind == "classifier" else make_policies()[kind == "budget"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        kind: certree.report(case.model, case.X, path=folder / f"{kind}.html", notes="Text.", **case.facts)
        for kind, case in ((kind, case_of(kind)) for kind in KINDS)
    }


def to_place(tree: Tree, column: int, value: Any) -> Any:
    """A value as the script has it: a number, the place of a category, −1 for another one, None where it is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    own = tree.columns[column]
    if own.kind == "numeric":
        return float(value)
    return own.categories.index(value) if value in own.categories else -1


def script_values(tree: Tree, rows: pd.DataFrame) -> list[dict[int, Any]]:
    used = sorted(set(tree.column.tolist()) - {-1})
    columns = {column: rows.iloc[:, column].tolist() for column in used}
    return [
        {column: to_place(tree, column, values[row]) for column, values in columns.items()} for row in range(len(rows))
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_section_is_drawn_and_names_run_nothing(browser: Any, pages: dict[str, Path], kind: str) -> None:
    browser.get_log("performance")
    browser.get(pages[kind].as_uri())
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    # The log that says that nothing else was asked for does have the page itself.
    assert [url for url in map(find_request, events) if url != "data:"] == [pages[kind].as_uri()]
    sections = browser.find_elements(By.CSS_SELECTOR, "main > section")
    assert [own.find_element(By.TAG_NAME, "h2").text for own in sections] == HEADS
    assert all(len(own.text) > len(head) + 10 for own, head in zip(sections, HEADS, strict=True))
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
    assert browser.find_elements(By.CSS_SELECTOR, "#tree .leaf")


@pytest.mark.parametrize("kind", KINDS)
def test_it_decides_as_predict_does(browser: Any, pages: dict[str, Path], kind: str) -> None:
    case = case_of(kind)
    browser.get(pages[kind].as_uri())
    tree = case.model.tree_
    values = script_values(tree, case.rows)
    found = decide(browser, values)
    assert [tree.labels[label] for label in found] == case.model.predict(case.rows).tolist()
    # And through the form, as people fill it in.
    names = [str(label) for label in tree.renamed(labels=case.facts.get("labels")).labels]
    for row in range(12):
        for place, value in values[row].items():
            browser.execute_script(
                "const field = document.getElementById(`ask-${arguments[0]}`); field.value = arguments[1];"
                "field.dispatchEvent(new Event('input', {bubbles: true}))",
                place, "" if value is None else str(value),
            )  # fmt: skip
        answer = browser.find_element(By.CSS_SELECTOR, "#answer p strong")
        assert answer.text == names[found[row]]
        lit = browser.find_elements(By.CSS_SELECTOR, "#tree .branch.lit")
        assert len(lit) == len(tree.path(int(tree.apply(case.rows.iloc[[row]])[0]))) + 1


def decide(browser: Any, values: list[dict[int, Any]]) -> list[int]:
    """The numbers of the labels that the page gives."""
    found: list[int] = browser.execute_script("return arguments[0].map((one) => window.certree.decide(one))", values)
    return found


@pytest.mark.parametrize("number", range(2), ids=["policy", "budget"])
def test_a_policy_decides_by_categories_as_predict_does(browser: Any, tmp_path: Path, number: int) -> None:
    """Missing values and categories that the fit has not seen included."""
    case = make_mixed_policies()[number]
    browser.get(certree.report(case.model, case.X, path=tmp_path / "page.html", time_limit=0, **case.facts).as_uri())
    tree = case.model.tree_
    assert {column["kind"] for column in browser.execute_script("return window.certree.data.columns")} >= {
        "categorical",
        "numeric",
    }
    values = script_values(tree, case.rows)
    assert {-1, None} <= {value for own in values for value in own.values()}
    decided = [tree.labels[label] for label in decide(browser, values)]
    assert decided == case.model.predict(case.rows).tolist()
    assert len(set(decided)) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_change_it_names_changes_the_decision(browser: Any, pages: dict[str, Path], kind: str) -> None:
    case = case_of(kind)
    browser.get(pages[kind].as_uri())
    values = script_values(case.model.tree_, case.rows.iloc[:200])
    found = browser.execute_script(
        "return arguments[0].map((one) => window.certree.changes(one).map((change) =>"
        "[window.certree.decide(one), window.certree.decide({...one, [change.column.place]: change.value}),"
        " change.label, change.distance]))",
        values,
    )
    assert any(found)
    for changes in found:
        assert [change[3] for change in changes] == sorted(change[3] for change in changes)
        for before, after, label, _ in changes:
            assert after == label != before


def test_the_smallest_change_is_the_smallest(browser: Any, tmp_path: Path) -> None:
    """Of a tree that has just one column, the nearest value beyond a question; never more than is needed. Whole numbers
    change to whole numbers, where the data have no others."""

    def change(answer: float | None) -> list[tuple[float, str]]:
        found = browser.execute_script("return window.certree.changes({0: arguments[0]})", answer)
        return [(one["value"], one["words"]) for one in found]

    for step in (1.0, 0.25):
        X = pd.DataFrame({"age": np.arange(0, 40, step)})
        y = X["age"].between(10, 30)
        model = certree.SparseTreeClassifier(2, 0.0).fit(X, y)
        browser.get(certree.report(model, X, y, path=tmp_path / "page.html", time_limit=0).as_uri())
        low, high = 10 - step / 2, 30 + step / 2
        exact = [(low, f"{low:g}")], [(high, f"{high:g}")], [(float(np.nextafter(low, 10)), f"just above {low:g}")]
        whole = [(9, "9")], [(30, "30")], [(10, "10")]
        assert (change(12), change(35), change(5)) == (whole if step == 1 else exact)
        assert (change(12.5), change(35.5), change(5.5)) == exact
        assert change(None)


def test_a_change_is_named_as_the_questions_are(browser: Any, tmp_path: Path) -> None:
    """With its unit, and by the name of a category, also where the answer is missing."""
    size = pd.Categorical(["small", "large", None, "large"] * 30, ["small", "large"], ordered=True)
    X = pd.DataFrame({"income": [12000.5, 30000.0] * 60, "size": size})
    for column, y, asked, said in (
        ("income", X["income"] > 20000, {0: 12000.5}, "just above 21,000.25 dollars"),
        ("size", X["size"].isna(), {1: None}, "large"),
    ):
        model = certree.SparseTreeClassifier(1).fit(X, y)
        page = certree.report(
            model, X, y, path=tmp_path / "page.html", units={"income": "dollars"}, time_limit=0, folds=2
        )
        browser.get(page.as_uri())
        changes = browser.execute_script("return window.certree.changes(arguments[0])", asked)
        assert [(change["column"]["name"], change["words"]) for change in changes] == [(column, said)]


def test_a_change_has_the_separators_that_the_questions_have(browser: Any, tmp_path: Path) -> None:
    """Amounts have them; what has no unit may be a year."""
    X = pd.DataFrame({"amount": [1900.0, 2000.0] * 60})
    model = certree.SparseTreeClassifier(1).fit(X, X["amount"] > 1950)
    for units, number in (({"amount": "dollars"}, "1,950 dollars"), ({}, "1950")):
        page = certree.report(model, X, X["amount"] > 1950, path=tmp_path / "page.html", units=units, time_limit=0)
        browser.get(page.as_uri())
        assert browser.execute_script("return window.certree.data.tree[0].question") == f"amount at most {number}?"
        changes = browser.execute_script("return window.certree.changes({0: 2000})")
        assert [change["words"] for change in changes] == [number]


def test_the_numbers_of_charts_can_be_read(browser: Any, tmp_path: Path) -> None:
    """No text of a chart covers another one or is cut off, and on a telephone none is tiny."""
    X = pd.DataFrame({"a": np.arange(300) % 30.0, "b": np.arange(300) % 4.0})
    rewards = np.c_[np.zeros(300), (X["a"] - 15) * 1000, (X["b"] - 1) * 3000] - 1e6
    model = certree.PolicyTree(2, budget=0.5, min_samples_leaf=5).fit(X, rewards, control=0)
    labels = {0: "nothing", 1: "a letter with a name that is long", 2: "a visit with a name that is long"}
    page = certree.report(model, X, rewards, control=0, path=tmp_path / "page.html", labels=labels)
    try:
        for width in (1280, 390):
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.get(page.as_uri())
            faults, least = browser.execute_script("""
                const found = [], sizes = [];
                for (const chart of document.querySelectorAll("svg")) {
                  const frame = chart.getBoundingClientRect();
                  const texts = [...chart.querySelectorAll("text")]
                    .map((text) => [text.textContent, text.getBoundingClientRect()]);
                  texts.forEach(([name, a], i) => {
                    if (a.left < frame.left - 1 || a.right > frame.right + 1) found.push(name);
                    for (const [other, b] of texts.slice(i + 1)) {
                      const across = a.left < b.right - 1 && b.left < a.right - 1;
                      if (across && a.top < b.bottom - 2 && b.top < a.bottom - 2) found.push(`${name} and ${other}`);
                    }
                  });
                  const scale = frame.width / chart.viewBox.baseVal.width;
                  for (const text of chart.querySelectorAll("text")) {
                    sizes.push(scale * parseFloat(getComputedStyle(text).fontSize));
                  }
                }
                return [found, Math.min(...sizes)];
            """)
            assert faults == [], width
            assert least >= 8, width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("kind", ["classifier", "policy"])
def test_the_slider_has_the_trees_of_the_path(browser: Any, pages: dict[str, Path], kind: str) -> None:
    case = case_of(kind)
    browser.get(pages[kind].as_uri())
    path = (
        certree.regularization_path(case.X, case.facts["y"], case.facts["sample_weight"], max_depth=3)
        if kind == "classifier"
        else certree.policy.regularization_path(case.X, case.facts["y"], max_depth=2, min_samples_leaf=20)
    )
    slider = browser.find_element(By.ID, "slide")
    assert slider.get_attribute("max") == str(len(path) - 1)
    chosen = int(slider.get_attribute("value"))
    assert path[chosen] is path.at(case.model.regularization)
    slider.send_keys(Keys.HOME)
    rows = case.rows.iloc[:100]
    for place, point in enumerate(path):
        assert slider.get_attribute("value") == str(place)
        assert browser.find_element(By.ID, "slid").text.startswith(f"{point.leaves} lea")
        assert len(browser.find_elements(By.CSS_SELECTOR, "#slid-tree .leaf")) == point.leaves
        assert read_slider(browser, place) == plain_nodes(point.tree)
        drawn = browser.execute_script(
            "const tree = window.certree.data.front[arguments[0]].tree;"
            "return arguments[1].map((one) => tree[window.certree.follow(tree, one).at(-1)].label)",
            place, script_values(point.tree, rows),
        )  # fmt: skip
        assert drawn == point.tree.label[point.tree.apply(rows)].tolist()
        slider.send_keys(Keys.ARROW_RIGHT)


def read_slider(browser: Any, place: int) -> Any:
    """The nodes of a tree of the slider: its columns, thresholds, categories and labels."""
    return browser.execute_script(
        "return window.certree.data.front[arguments[0]].tree.map((node) =>"
        "[node.column ?? -1, node.threshold ?? null, node.category ?? -1, node.left === undefined ? node.label : -1])",
        place,
    )


def plain_nodes(tree: Tree) -> list[list[Any]]:
    """The same of a tree of the package."""
    tests = [tree.test(node) if tree.column[node] >= 0 else None for node in range(tree.n_nodes)]
    return [
        [
            int(tree.column[node]),
            None if test is None else test.threshold,
            -1 if test is None or test.category is None else int(tree.category[node]),
            int(tree.label[node]) if test is None else -1,
        ]
        for node, test in enumerate(tests)
    ]


def test_the_slider_of_a_budget_has_the_trees_of_the_curve(browser: Any, pages: dict[str, Path]) -> None:
    case = case_of("budget")
    browser.get(pages["budget"].as_uri())
    curve = certree.policy.budget_curve(case.X, case.facts["y"], control=0, max_depth=2, min_samples_leaf=20)
    slider = browser.find_element(By.ID, "slide")
    assert slider.get_attribute("max") == str(len(curve) - 1)
    assert curve[int(slider.get_attribute("value"))] is curve.at(0.3)
    slider.send_keys(Keys.HOME)
    for place, point in enumerate(curve):
        assert len(browser.find_elements(By.CSS_SELECTOR, "#slid-tree .leaf")) == point.leaves
        assert read_slider(browser, place) == plain_nodes(point.tree)
        slider.send_keys(Keys.ARROW_RIGHT)


def test_branches_fold_and_leaves_open_by_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    browser.get(pages["classifier"].as_uri())
    root = browser.find_element(By.CSS_SELECTOR, "#tree button")
    leaves = browser.find_elements(By.CSS_SELECTOR, "#tree .leaf")
    assert all(leaf.is_displayed() for leaf in leaves)
    root.send_keys(Keys.ENTER)
    assert root.get_attribute("aria-expanded") == "false"
    assert not any(leaf.is_displayed() for leaf in leaves)
    assert f"{len(leaves)} groups folded" in root.text
    root.send_keys(Keys.SPACE)
    assert all(leaf.is_displayed() for leaf in leaves)
    panel = browser.find_element(By.ID, "leaf")
    assert not panel.is_displayed()
    leaves[0].send_keys(Keys.ENTER)
    assert panel.is_displayed()
    assert "Share of the weight" in panel.text
    # To point at another leaf is enough to see its table.
    before = panel.text
    webdriver.ActionChains(browser).move_to_element(leaves[1]).perform()
    assert panel.text != before


@pytest.mark.parametrize("kind", KINDS)
def test_no_fault_of_accessibility(browser: Any, pages: dict[str, Path], kind: str) -> None:
    for scheme, width in (("light", 1280), ("dark", 390)):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(pages[kind].as_uri())
        browser.execute_script("for (const entry of document.querySelectorAll('details')) entry.open = true")
        browser.execute_script(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
        found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found["violations"]] == [], scheme
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("kind", KINDS)
def test_it_prints_on_paper(browser: Any, pages: dict[str, Path], kind: str) -> None:
    """On a few pages of A4, also what was folded, and every tree of the slider in words."""
    browser.get(pages[kind].as_uri())
    browser.find_element(By.CSS_SELECTOR, "#tree button").click()
    assert not browser.find_element(By.CSS_SELECTOR, "#tree .leaf").is_displayed()
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    paper = base64.b64decode(printed["data"])
    assert paper.startswith(b"%PDF")
    assert len(paper) > 10_000
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper)
    assert 2 <= len(sizes) <= 9
    assert {(round(float(wide)), round(float(high))) for wide, high in sizes} == {(595, 842)}
    assert all(leaf.is_displayed() for leaf in browser.find_elements(By.CSS_SELECTOR, "#tree .leaf"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        texts = [point["text"] for point in browser.execute_script("return window.certree.data.front")]
        assert len(texts) > 1
        listed = browser.find_elements(By.CSS_SELECTOR, "#front ul.paper li")
        assert all(item.is_displayed() for item in listed)
        assert [item.get_attribute("textContent") for item in listed] == texts
        assert not browser.find_element(By.ID, "slide").is_displayed()
        assert not browser.find_element(By.ID, "slid").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert browser.find_element(By.ID, "slid").is_displayed()


def test_on_paper_trees_stand_side_by_side(browser: Any, pages: dict[str, Path]) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.set_window_size(680, 900)  # as wide as A4 without its margins
        browser.get(pages["classifier"].as_uri())
        boxes = [entry.rect for entry in browser.find_elements(By.CSS_SELECTOR, "#others details")[:2]]
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] < boxes[1]["x"]
        assert browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.set_window_size(1280, 900)


def test_names_and_boxes_stay_within_their_bounds(browser: Any, pages: dict[str, Path]) -> None:
    """No name is cut, no box overlaps another, and nothing widens the page, on a wide and on a narrow screen."""
    for width in (1280, 390):
        browser.set_window_size(width, 900)
        browser.get(pages["classifier"].as_uri())
        assert NAMES[2] in browser.find_element(By.ID, "tree").text.replace("\n", "")
        faults = browser.execute_script("""
            const boxes = [...document.querySelectorAll("#tree .card")].map((card) => card.getBoundingClientRect());
            const overlaps = boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1
                && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
            const cut = [...document.querySelectorAll("#tree .card")]
                .filter((card) => card.scrollWidth > card.clientWidth + 1).length;
            return [overlaps, cut, document.documentElement.scrollWidth - window.innerWidth];
        """)
        assert faults[:2] == [0, 0]
        assert faults[2] <= 0
    browser.set_window_size(1280, 900)


def test_intervals_stay_on_one_line(browser: Any, tmp_path: Path) -> None:
    """Where the screen is wide, a long name of a row does not break the figures beside it."""
    case = case_of("budget")
    page = certree.report(
        case.model, case.X, path=tmp_path / "page.html", time_limit=0, noun="customers of the catalogue", **case.facts
    )
    browser.get(page.as_uri())
    heights = browser.execute_script("""
        const table = document.querySelector("#worth table");
        const line = parseFloat(getComputedStyle(table).lineHeight);
        return [...table.querySelectorAll("td")].map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return range.getBoundingClientRect().height / line;
        });
    """)
    assert len(heights) >= 10
    assert max(heights) < 1.5


def test_two_hundred_trees_on_the_front(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from certree.page import gather
    from certree.path import RegularizationPath, regularization_path

    case = make_classifier()
    path = regularization_path(case.X, case.facts["y"], case.facts["sample_weight"], max_depth=3)
    many = RegularizationPath(tuple(path[place % len(path)] for place in range(200)), is_complete=True)
    monkeypatch.setattr(gather.Gatherer, "_trace", lambda self: setattr(self.parts, "front", many))
    page = certree.report(case.model, case.X, path=tmp_path / "page.html", time_limit=0, **case.facts)
    browser.get(page.as_uri())
    slider = browser.find_element(By.ID, "slide")
    slider.send_keys(Keys.END)
    assert slider.get_attribute("value") == "199"
    last = many[199]
    assert len(browser.find_elements(By.CSS_SELECTOR, "#slid-tree .leaf")) == last.leaves
    assert not browser.find_elements(By.CSS_SELECTOR, "#front ul.paper")  # no help on paper
