"""The report: what the page says, what it holds, and what it refuses."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import certree
from certree import SparseTreeClassifier, policy
from certree.page.counting import count_trees, write_count
from certree.page.lots import Fixed, draw_lots, value_by_lot
from certree.page.plain import Words, answer, conditions
from certree.page.sections import estimate_text, name_columns, points_text
from certree.page.writer import render_notes
from certree.path import choose_penalties
from certree.policy import PolicyTree
from certree.solver import warn_interrupted
from certree.tree.words import share_text
from tests.pages import NAMES, SCRIPT, Case, make_classifier, make_policies

SECTIONS = ["decision", "the-tree", "question", "front", "good", "proof", "worth", "rows", "use"]


def write(folder: Path, case: Any, **others: Any) -> str:
    return certree.report(case.model, case.X, path=folder / "page.html", **(case.facts | others)).read_text("utf-8")


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    assert found
    return found.group()


class Reader(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found.group(1))
    return data


@pytest.mark.parametrize("number", range(3), ids=["classifier", "policy", "budget"])
def test_every_section_in_order_and_nothing_from_elsewhere(tmp_path: Path, number: int) -> None:
    case = (make_classifier(), *make_policies())[number]
    page = write(tmp_path, case)
    tags = Reader(page).tags
    assert [attrs["id"] for tag, attrs in tags if tag == "section" and "id" in attrs] == SECTIONS
    assert not [attrs for _, attrs in tags if "src" in attrs or attrs.get("href", "#")[:1] != "#"]
    assert sum(tag == "script" for tag, _ in tags) == 2
    assert not {"b", "i", "u", "em"} & {tag for tag, _ in tags}  # names that look like tags are shown
    assert SCRIPT not in page
    assert len(page) < 600_000
    assert "all figures of the tree hold" in section(page, "proof")


def test_the_classifier_says_what_was_found(tmp_path: Path) -> None:
    case = make_classifier()
    page = write(tmp_path, case, title="Who is asked", licence="CC0", notes="Only **for** tests.")
    assert "<h1>Who is asked</h1>" in page
    assert case.model.certificate_.statement in section(page, "proof")
    assert case.model.certificate_["digests"]["table"] in section(page, "proof")
    assert "of the answers are wrong, by weight. If everyone gets the same answer," in section(page, "decision")
    assert "It is not shown that the tree does better: the difference in its favour is" in section(page, "decision")
    assert "whose objective (share of wrong answers, by weight, plus 0.005 per leaf) is within" in section(page, "good")
    assert "This page chose that tolerance." in section(page, "good")
    # Percentages, as everywhere on the page.
    assert ">wrong answers in %, by weight</text>" in section(page, "front")
    use = section(page, "use")
    assert "<strong>for</strong>" in use
    assert "CC0" in use
    path = certree.regularization_path(case.X, case.facts["y"], case.facts["sample_weight"], max_depth=3)
    front = data_of(page)["front"]
    assert len(front) == len(path)
    for point, drawn in zip(path, front, strict=True):
        assert drawn["text"].startswith(f"{point.leaves} lea")
        assert sum("lines" in node for node in drawn["tree"]) == point.leaves


def test_without_a_title_the_page_names_what_is_answered(tmp_path: Path) -> None:
    case = make_classifier()
    for y, heading in (
        (case.facts["y"], "A decision tree and its proof"),
        (pd.Series(case.facts["y"], name="<moved>"), "&lt;moved&gt;: a decision tree and its proof"),
    ):
        assert f"<h1>{heading}</h1>" in write(tmp_path, case, y=y, time_limit=0)


def test_weights_are_spoken_of_only_where_there_are_some(tmp_path: Path) -> None:
    case = make_classifier()
    weight = case.facts["sample_weight"]
    for given, is_weighted in ((weight, True), (None, False), (np.full(300, 2.0), False)):
        model = SparseTreeClassifier(2, 0.005).fit(case.X, case.facts["y"], given)
        group = np.where(case.X["married"], "one", "two")
        page = write(tmp_path, Case(model, case.X, case.facts, case.rows), sample_weight=given, group=group)
        shown = [section(page, name) for name in ("decision", "good", "worth")]
        assert all(("by weight" in text) is is_weighted for text in shown)
        details = [row[0] for node in data_of(page)["tree"] for row in node.get("details", ())]
        assert ("Share of the weight" in details) is is_weighted
        assert all(("by weight" in point["text"]) is is_weighted for point in data_of(page)["front"])


def test_a_page_holds_no_rows(tmp_path: Path) -> None:
    """Ten times the rows, hardly a byte more."""
    sizes = []
    for copies in (1, 10):
        X = pd.DataFrame({"a": np.tile(np.arange(40.0), copies), "b": np.tile(np.arange(40.0) % 7, copies)})
        y = (X["a"] > 20) ^ (X["b"] > 3)
        model = SparseTreeClassifier(2).fit(X, y)
        sizes.append(len(certree.report(model, X, y, path=tmp_path / "page.html").read_bytes()))
    assert sizes[1] < sizes[0] + 500


def test_a_policy_has_its_worth_first_and_its_names(tmp_path: Path) -> None:
    plain, within = make_policies()
    page = write(tmp_path, plain)
    decision = section(page, "decision")
    assert "letter" in decision
    assert "&lt;em&gt;visit&lt;/em&gt;" in section(page, "worth")
    assert "gain" in decision
    worth, found = section(page, "worth"), plain.facts["evaluation"]
    assert "&lt;u&gt;south&lt;/u&gt;" in worth
    assert "Gain over <bdi>nothing</bdi>" in worth
    random = np.mean([fixed.value for fixed in found.fixed.values()])
    assert f"An action at random</th><td>{random:.4g}" in worth
    assert "breaks the budget" not in worth
    assert "Overlap" in section(page, "rows")
    page = write(tmp_path, within)
    assert "budget of 0.3" in section(page, "decision")
    spend, held = within.model.certificate_["budget"]["spend"], within.facts["evaluation"].spend
    assert f"This policy spends {spend:.4g} per row, out of a budget of 0.3." in section(page, "decision")
    assert f"it was fitted on (too optimistic); it spends {spend:.4g} per row" in section(page, "worth")
    assert f"they are judged on (3 folds); they spend {held:.4g} per row" in section(page, "worth")
    assert 'aria-label="What each budget buys"' in section(page, "worth")
    # A single action that does better than the policy does so because it spends more.
    assert "Everyone: <bdi>letter</bdi> (spends 1 per row, which breaks the budget)" in section(page, "worth")
    assert "Everyone: <bdi>nothing</bdi></th>" in section(page, "worth")
    # A leaf that folds found too has a gain of its own.
    shared = [leaf for leaf in within.facts["evaluation"].leaves if leaf.action == 1]
    lines = [line for node in data_of(page)["tree"] for line in node.get("lines", ())]
    gains = [line for line in lines if line.startswith("gain over nothing: ")]
    assert gains
    assert set(gains) <= {f"gain over nothing: {estimate_text(leaf.gain)}, held out" for leaf in shared}
    found = policy.good_policies(within.X, within.facts["y"], tolerance=0.2, budget=0.3, control=0, min_samples_leaf=20)
    page = write(tmp_path, within, tolerance=0.2)
    good = section(page, "good")
    assert f"there are {len(found)} whose objective (mean reward) is within 0.2 of the best" in good
    assert f"They spend from {min(own.spend for own in found):.4g}" in good
    texts = [other["text"] for other in data_of(page)["others"]]
    assert texts[0].startswith(f"Best (this page's own tree): objective {found.best.objective:.4g}, spends ")
    assert all("spends" in text for text in texts)


def test_a_budget_is_compared_with_lots() -> None:
    points = [Fixed(0, 0.0, 1.0), Fixed(1, 1.0, 3.0), Fixed(2, 0.5, 1.5), Fixed(3, 2.0, 3.5), Fixed(4, 3.0, 3.2)]
    assert [point.action for point in draw_lots(points)] == [0, 1, 3]
    assert value_by_lot(points, 0.5) == 2.0
    assert value_by_lot(points, 1.5) == 3.25
    assert value_by_lot(points, 9.0) == 3.5
    # No mixture of two actions does better.
    for budget in (0.0, 0.2, 0.7, 1.0, 1.7, 2.5):
        mixed = [
            share * one.value + (1 - share) * two.value
            for one, two in product(points, repeat=2)
            for share in np.linspace(0, 1, 101)
            if share * one.spend + (1 - share) * two.spend <= budget + 1e-12
        ]
        assert value_by_lot(points, budget) == pytest.approx(max(mixed), abs=0.03)
        assert value_by_lot(points, budget) >= max(mixed) - 1e-9
    assert value_by_lot(points[1:], 0.1) == -np.inf


def make_log_case(budget: float | None) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(0, 6, 150).astype(float), "z": rng.integers(0, 4, 150).astype(float)})
    got = rng.integers(0, 2, 150)
    log = policy.Log(X, got, (X["x"] > 2) * got + rng.normal(size=150), propensity=[0.5, 0.5])
    scores = policy.doubly_robust(log, random_state=0)
    model = PolicyTree(1, min_samples_leaf=10, budget=budget)
    return model.fit(X, scores, **({} if budget is None else {"control": 0})), X, log, scores


def test_every_tree_of_a_policy_is_judged_on_held_out_rows(tmp_path: Path) -> None:
    model, X, log, scores = make_log_case(None)
    page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
    texts = [point["text"] for point in data_of(page)["front"]]
    path = policy.regularization_path(X, scores, max_depth=1, min_samples_leaf=10)
    # By hand: the best tree of the same λ without each fold, which is what evaluate learns.
    chosen = data_of(page)["chosen"]
    assert path[chosen] is path.at(model.regularization)
    for point, text, penalty in zip(path, texts, choose_penalties(path), strict=True):
        own = PolicyTree(1, model.regularization if point is path[chosen] else penalty, min_samples_leaf=10)
        held = policy.evaluate(own, log, folds=3, random_state=0).value.value
        assert f"held out {held:.4g}"[:14] in text, point.leaves
    assert "held out (± one standard error)" in section(page, "front")
    page = certree.report(model, X, scores, path=tmp_path / "page.html").read_text("utf-8")
    assert "takes a log of decisions" in section(page, "front")


def test_every_tree_of_a_budget_curve_is_judged_on_held_out_rows(tmp_path: Path) -> None:
    model, X, log, scores = make_log_case(0.4)
    page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
    texts = [point["text"] for point in data_of(page)["front"]]
    assert len(texts) > 1
    assert all(re.search(r"Held out \S+ \(±\xa0\S+\), where it spends", text) for text in texts)
    # Nobody is treated by the first one, in any fold.
    nobody = policy.evaluate(lambda rows: np.zeros(len(rows), int), log, folds=3, random_state=0).value.value
    assert f"Held out {nobody:.4g}"[:14] in texts[0]
    assert ", where it spends 0. The best tree for a price per unit spent above " in texts[0]
    curve = policy.budget_curve(X, scores, control=0, max_depth=1, min_samples_leaf=10)
    for point, text in zip(curve[1:], texts[1:], strict=True):
        assert f"price per unit spent between {point.price_low:.3g} and {point.price_high:.3g}." in text
    worth = section(page, "worth")
    for words in ("actions drawn by lot", "nobody (0)", "everyone: 1", "learned without the rows"):
        assert words in worth


def test_the_slider_of_a_budget_says_where_its_own_tree_is(tmp_path: Path) -> None:
    for budget, is_between in ((0.4, True), (0.6, False)):
        model, X, log, scores = make_log_case(budget)
        page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
        spend = model.certificate_["budget"]["spend"]
        own = f"own tree, which spends {spend:.4g} per row, lies between them"
        assert (own in section(page, "front")) is is_between, budget
        assert ("may lie a little below the line of best policies" in section(page, "worth")) is is_between, budget


def test_a_policy_that_is_not_proved_best_may_be_beaten(tmp_path: Path) -> None:
    """That it lies below the line is then not put down to the line alone."""
    _, X, _, scores = make_log_case(None)
    model = PolicyTree(1, min_samples_leaf=10, budget=0.4, time_limit=0).fit(X, scores, control=0)
    assert model.certificate_["status"] == "time_limit"
    worth = section(certree.report(model, X, scores, path=tmp_path / "page.html").read_text("utf-8"), "worth")
    assert "it is not proved best, and another may bring more within its budget" in worth
    assert "drawing lots between their two policies" not in worth


def test_spends_that_depend_on_the_row(tmp_path: Path) -> None:
    """The command line cannot be told of them, so the page names the function that can."""
    _, X, _, scores = make_log_case(None)
    spends = np.c_[np.zeros(150), np.random.default_rng(1).uniform(0.5, 1.5, 150)]
    model = PolicyTree(1, min_samples_leaf=10, budget=0.4).fit(X, scores, spends=spends)
    page = certree.report(model, X, scores, spends=spends, path=tmp_path / "page.html").read_text("utf-8")
    command = re.sub(r"</?span>", "", section(page, "proof").split('<code class="command">')[1].split("</code>")[0])
    assert command == "certree.certify.check(model.certificate_, model.tree_, X, rewards=..., spends=...)"
    assert certree.certify.check(model.certificate_, model.tree_, X, rewards=scores.rewards, spends=spends).holds
    # Leaves state their mean.
    tree, nodes = model.tree_, data_of(page)["tree"]
    reached = tree.apply(X)
    for leaf in tree.leaves.tolist():
        mean = spends[reached == leaf, tree.label[leaf]].mean()
        assert nodes[leaf]["lines"][-1] == f"spends {mean:.4g} each on average"
    front = data_of(page)["front"]
    assert all("spends" in node["lines"][-1] for point in front for node in point["tree"] if "lines" in node)


def test_one_press_ends_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that Ctrl-C stops has a tree all the same, and only warns; the page's next search must not begin."""
    case = make_classifier()

    def interrupted(*_: object, **__: object) -> None:
        warn_interrupted("the best tree so far")
        raise AssertionError("the page went on")

    monkeypatch.setattr("certree.page.gather.good_trees", interrupted)
    with pytest.raises(KeyboardInterrupt):
        certree.report(case.model, case.X, path=tmp_path / "page.html", **case.facts)
    assert not (tmp_path / "page.html").exists()


def test_few_rows_are_hidden_everywhere(tmp_path: Path) -> None:
    case = make_classifier()
    tree = case.model.tree_
    least = int(np.sort(tree.rows[tree.leaves])[1]) + 1
    hidden = tree.veiled(least).hidden
    page = write(tmp_path, case, hide_below=least)
    nodes = data_of(page)["tree"]
    assert sum("lines" in node and "rows" in node["lines"][0] and len(node["lines"]) == 1 for node in nodes) == sum(
        bool(hidden[leaf]) for leaf in tree.leaves
    )
    for leaf in tree.leaves.tolist():
        if hidden[leaf]:
            assert nodes[leaf]["lines"] == [hidden[leaf]]
            assert [text for row in nodes[leaf]["details"] for text in row] == ["People", hidden[leaf]]
        else:
            assert f"{tree.rows[leaf]:,} people" in nodes[leaf]["lines"][0]
    # In every other tree of the page as well.
    drawn = [point["tree"] for point in data_of(page)["front"]] + [other["tree"] for other in data_of(page)["others"]]
    shown = [re.match(r"([\d,]+) people", node["lines"][0]) for other in drawn for node in other if "lines" in node]
    assert min(int(found.group(1).replace(",", "")) for found in shown if found) >= least
    assert not all(shown)
    assert f"Figures of fewer than {least} people are not shown" in section(page, "rows")
    counts = [int(count) for count in re.findall(r": ([\d,]+)</title></rect>", section(page, "rows"))]
    assert all(count == 0 or count >= least for count in counts)
    with pytest.raises(ValueError, match="hide_below must be"):
        write(tmp_path, case, hide_below=0)


def make_small_leaf(budget: float, scale: float = 1.0) -> tuple[PolicyTree, pd.DataFrame, Any]:
    """1,000 rows; seven of them gain most from being treated, and 200 gain a little."""
    X = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0], [7, 793, 200])})
    gain = np.repeat([5.0, -1.0, 0.25], [7, 793, 200])
    rewards = np.c_[np.zeros(1000), gain]
    model = PolicyTree(2, 0.001, budget=budget).fit(X, rewards, spends=[0, scale])
    model.fit_seconds_ = 1.5  # the page states them, and 0.0071 s would look like a spend
    return model, X, rewards


@pytest.mark.parametrize("budget", [0.1, 0.3])
def test_what_is_spent_does_not_tell_how_few_rows_there_are(tmp_path: Path, budget: float) -> None:
    """Where treating somebody spends 1, the spend is the share of rows that are treated."""
    model, X, rewards = make_small_leaf(budget)
    spend = model.certificate_["budget"]["spend"]
    assert spend in (pytest.approx(0.007), pytest.approx(0.207))
    pages = [
        certree.report(model, X, rewards, tolerance=0.05, hide_below=least, path=tmp_path / "page.html").read_text()
        for least in (None, 10)
    ]
    told = (f"This policy spends {spend:.4g} per row", f"it spends {spend:.4g} per row", f"spends {spend:.6g} per row")
    for page, is_told in zip(pages, (True, False), strict=True):
        for words in (*told, "one more unit is worth", "They spend from", "for a price per unit", 'class="this" data'):
            assert (words in page) is is_told, words
        assert ("0.007" in page) is is_told
    hidden = pages[1]
    assert not re.search(r"0\.[02]07\b", hidden)
    assert f"How much this policy spends per row, out of a budget of {budget}, is not shown." in section(
        hidden, "decision"
    )
    assert "what is spent is not shown" in section(hidden, "proof")
    assert "Policies whose spend is not shown are not drawn." in section(hidden, "worth")
    texts = [point["text"] for point in data_of(hidden)["front"]]
    assert texts[0].startswith("Spends 0 per row")
    assert all(text.startswith("What it spends is not shown") for text in texts[1:])


def test_what_folds_spend_is_hidden_with_the_tree(tmp_path: Path) -> None:
    _, within = make_policies()
    rows = within.model.tree_.rows[within.model.tree_.leaves]
    for least, is_told in ((None, True), (int(rows.min()), True), (int(rows.min()) + 1, False)):
        page = write(tmp_path, within, hide_below=least, time_limit=0)
        assert ("; they spend " in section(page, "worth")) is is_told
        assert ("This policy spends " in section(page, "decision")) is is_told
    model, X, log, scores = make_log_case(0.4)
    page = certree.report(
        model, X, scores, log=log, folds=3, hide_below=140, path=tmp_path / "page.html"
    ).read_text("utf-8")  # fmt: skip
    texts = [point["text"] for point in data_of(page)["front"]]
    assert [", where it spends" in text for text in texts] == [text.startswith("Spends ") for text in texts]
    assert sum(text.startswith("What it spends is not shown") for text in texts) > 0


def test_amounts_of_a_budget_are_written_alike(tmp_path: Path) -> None:
    model, X, rewards = make_small_leaf(1234567.0, 1234567.0 / 0.207)
    page = certree.report(model, X, rewards, tolerance=0.05, path=tmp_path / "page.html").read_text("utf-8")
    assert "This policy spends 1,234,567 per row, out of a budget of 1,234,567." in section(page, "decision")
    assert "per row, out of a budget of 1,234,567." in section(page, "good")


def test_few_rows_of_a_group_are_hidden(tmp_path: Path) -> None:
    model, X, log, scores = make_log_case(None)
    group = np.array(["few"] * 5 + ["some"] * 20 + ["many"] * 125)
    page = certree.report(
        model, X, scores, log=log, path=tmp_path / "page.html", folds=3, group=group, hide_below=10, time_limit=30
    ).read_text("utf-8")
    table = section(page, "worth").split("Rates and worth by group")[-1]
    assert table.count("not shown") == 2
    assert "<td>125</td>" in table
    assert "<td>5</td>" not in table


def test_a_classifier_by_group(tmp_path: Path) -> None:
    case = make_classifier()
    weight, y = case.facts["sample_weight"], case.facts["y"]
    group = np.array(["<b>few</b>"] * 5 + ["one"] * 150 + ["two"] * 145)
    page = write(tmp_path, case, group=group, time_limit=0)
    table = section(page, "worth").split("Rates and errors by group")[-1]
    assert "&lt;b&gt;few&lt;/b&gt;" in table
    predicted, own = case.model.predict(case.X), group == "two"
    wrong = np.average(predicted[own] != y[own], weights=weight[own])
    rate = np.average(predicted[own] == "no", weights=weight[own])
    assert "<td>145</td>" in table
    assert f"{100 * wrong:.1f}%" in table
    assert f"<bdi>no</bdi>: {100 * rate:.1f}%" in table
    hidden = write(tmp_path, case, group=group, time_limit=0, hide_below=10).split("Rates and errors by group")[-1]
    assert "<td>145</td>" not in hidden
    assert "not shown" in hidden


def test_progress_says_what_is_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = make_classifier()
    write(tmp_path, case, time_limit=0, verbose=1)
    said = capsys.readouterr().err
    for words in ("checking the certificate", "held-out rows", "simpler and finer", "as good"):
        assert words in said
    write(tmp_path, case, time_limit=0)
    assert capsys.readouterr().err == ""


def test_what_is_not_computed_says_why(tmp_path: Path) -> None:
    case = make_classifier()
    page = write(tmp_path, case, time_limit=0)
    for name in ("front", "good", "worth"):
        assert "raise time_limit" in section(page, name), name
    policies, _ = make_policies()
    page = write(tmp_path, policies, evaluation=None)
    assert "pass a policy.Log" in section(page, "worth")
    model = SparseTreeClassifier(2, thresholds="guess", random_state=0).fit(case.X, case.facts["y"])
    page = certree.report(model, case.X, case.facts["y"], path=tmp_path / "page.html").read_text("utf-8")
    assert "only where thresholds are not guessed" in section(page, "front")


def test_edits_hold_for_all_trees_of_the_page(tmp_path: Path) -> None:
    case = make_classifier()
    y, weight = case.facts["y"], case.facts["sample_weight"]
    model = SparseTreeClassifier(2, 0.005, forbidden=[NAMES[2]]).fit(case.X, y, weight)
    page = certree.report(model, case.X, y, weight, path=tmp_path / "page.html").read_text("utf-8")
    assert "not traced for a tree with a given start or forbidden tests" in section(page, "front")
    others = data_of(page)["others"]
    assert others
    assert not any(NAMES[2] in node.get("question", "") for other in others for node in other["tree"])


def test_what_is_not_proved_best_says_how_far_it_may_be_from_the_best(tmp_path: Path) -> None:
    case = make_classifier()
    y = case.facts["y"]
    words = "another may be better, by up to"
    assert words not in write(tmp_path, case, time_limit=0)
    model = SparseTreeClassifier(3, thresholds="guess", reference="boosting", random_state=0).fit(case.X, y)
    page = certree.report(model, case.X, y, path=tmp_path / "page.html", time_limit=0).read_text("utf-8")
    proof, sizes = section(page, "proof"), model.certificate_["sizes"]
    assert f"{words} {model.certificate_['gap']:.3g}." in proof
    # Of all questions that the data allow, the guess left these.
    assert sizes["distinct_tests"] < case.model.certificate_["sizes"]["distinct_tests"]
    assert f"The search could ask {sizes['distinct_tests']:,} distinct questions." in proof


def test_a_wrong_certificate_is_an_alarm(tmp_path: Path) -> None:
    case = make_classifier()
    y = case.facts["y"].copy()
    y[0] = "no" if y[0] != "no" else "perhaps"
    page = write(tmp_path, case, y=y, time_limit=0)
    assert "The certificate does not hold for these data" in section(page, "proof")


def test_a_log_alone_is_enough(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(0, 6, 150).astype(float)})
    got = rng.integers(0, 2, 150)
    log = policy.Log(X, got, (X["x"] > 2) * got + rng.normal(size=150), propensity=[0.5, 0.5])
    model = PolicyTree(1).fit(X, policy.doubly_robust(log, random_state=0))
    for given in ((log,), (X, log)):
        page = certree.report(model, *given, path=tmp_path / "page.html", folds=5).read_text("utf-8")
        assert "all figures of the tree hold" in section(page, "proof")
    # Rewards that are made otherwise are others, and nothing is said about this tree by them.
    page = certree.report(model, log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
    for name in ("proof", "front", "good"):
        assert "made anew from the log" in section(page, name)
    page = certree.report(model, log, path=tmp_path / "page.html", time_limit=0).read_text("utf-8")
    assert "raise time_limit" in section(page, "proof")


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    case, (policies, _) = make_classifier(), make_policies()
    path = tmp_path / "page.html"
    with pytest.raises(TypeError, match="not LinearRegression"):
        certree.report(__import__("sklearn.linear_model").linear_model.LinearRegression(), case.X)
    with pytest.raises(ValueError, match="not fitted"):
        certree.report(SparseTreeClassifier(), case.X, case.facts["y"], path=path)
    with pytest.raises(ValueError, match="give the labels"):
        certree.report(case.model, case.X, path=path)
    with pytest.raises(ValueError, match=r"or a policy\.Log"):
        certree.report(policies.model, policies.X, path=path)
    with pytest.raises(ValueError, match="no column 'height'"):
        write(tmp_path, case, units={"height": "cm"})
    with pytest.raises(ValueError, match="time_limit must be"):
        write(tmp_path, case, time_limit=float("nan"))
    with pytest.raises(OSError, match="none"):
        certree.report(case.model, case.X, case.facts["y"], path=tmp_path / "none" / "page.html")
    assert not path.exists()


def test_two_figures_of_one_tree_are_explained(tmp_path: Path) -> None:
    """The slider judges a range of penalties, the section on worth the penalty of the page's own tree."""
    words = "so its held-out figure may differ"
    case = make_classifier()
    assert words in section(write(tmp_path, case), "front")
    assert words not in write(tmp_path, case, time_limit=0)
    # A policy has one figure, unless its evaluation was made elsewhere.
    model, X, log, scores = make_log_case(None)
    page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
    own = policy.evaluate(model, log, folds=3, random_state=0)
    assert f"held out {own.value.value:.4g} (±" in data_of(page)["front"][data_of(page)["chosen"]]["text"]
    assert f"<td>{own.value.value:.4g} (" in section(page, "worth")
    assert "says more about this page's own tree" in section(page, "front")
    other = policy.evaluate(model, log, folds=3, random_state=1)
    assert f"{other.value.value:.4g}" != f"{own.value.value:.4g}"
    page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3, evaluation=other).read_text(
        "utf-8"
    )
    assert "was made separately" in section(page, "front")
    model, X, log, scores = make_log_case(0.4)
    page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", folds=3).read_text("utf-8")
    assert "keeps the budget in every fold" in section(page, "front")


def test_a_tree_that_asks_nothing(tmp_path: Path) -> None:
    case = make_classifier()
    y = case.facts["y"]
    model = SparseTreeClassifier(2, 1e6).fit(case.X, y)
    page = certree.report(model, case.X, y, path=tmp_path / "page.html").read_text("utf-8")
    assert "no question is worth asking" in section(page, "decision")
    assert "One group alone" in section(page, "the-tree")
    assert "Each question" not in page
    assert "The tree asks nothing" in section(page, "question")


def test_medians_over_repeats_are_called_so(tmp_path: Path) -> None:
    """A gain is then no longer the difference of two values that stand beside it."""
    model, X, log, scores = make_log_case(None)
    for repeats in (1, 2, 3):
        found = policy.evaluate(model, log, folds=3, repeats=repeats, random_state=0)
        page = certree.report(model, X, scores, log=log, path=tmp_path / "page.html", evaluation=found, time_limit=0)
        worth = section(page.read_text("utf-8"), "worth")
        assert ("Each held-out figure is a median over these" in worth) is (repeats == 3)
        # An action at random has no median of its own.
        assert ("(for an action at random, the difference of two medians)" in worth) is (repeats == 3)
        differences = [found.value.value - fixed.value - found.gains[own].value for own, fixed in found.fixed.items()]
        assert repeats == 3 or np.abs(differences).max() < 1e-12


def test_a_classifier_that_is_better_is_said_to_be(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": np.arange(200.0)})
    y = (X["a"] > 90) ^ (X["a"] % 10 == 0)
    model = SparseTreeClassifier(1).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "page.html").read_text("utf-8")
    gain = certree.evaluate(model, X, y, random_state=0).gain
    assert gain.low > 0
    # Not "5%", which would be read as a twentieth of the wrong answers.
    amount = f"{100 * gain.value:.1f} percentage points (95% interval: {100 * gain.low:.1f} to {100 * gain.high:.1f})"
    assert f"are wrong. The tree is wrong less often, by {amount}." in section(page, "decision")
    assert f"one answer for everyone</th><td>{amount}</td>" in section(page, "worth")


def test_a_gain_that_is_not_shown_keeps_its_sign(tmp_path: Path) -> None:
    assert [points_text(share) for share in (0.05, -0.004, -0.0002, 0.0, 0.12345)] == [
        "5.0",
        "-0.4",
        "-0.02",
        "0",
        "12.3",
    ]
    assert share_text(-0.0002) == "> -0.1%"
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.normal(size=200)}), rng.integers(0, 2, 200)
    model = SparseTreeClassifier(2, 0.001).fit(X, y)
    gain = certree.evaluate(model, X, y, random_state=0).gain
    assert gain.low <= 0
    page = certree.report(model, X, y, path=tmp_path / "page.html").read_text("utf-8")
    words = f"It is not shown that the tree does better: the difference in its favour is {points_text(gain.value)} "
    assert words in section(page, "decision")
    # Every fold's tree is one leaf, and so is the answer for everyone.
    model = SparseTreeClassifier(2, 0.5).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "page.html").read_text("utf-8")
    assert "are wrong. The tree is wrong exactly as often.</p>" in section(page, "decision")
    assert "can be shown" not in section(page, "decision")


def test_of_equally_good_trees_the_page_names_its_own(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": np.arange(27) // 9, "b": np.arange(27) // 3 % 3, "c": np.arange(27) % 3})
    y = (X["a"] > 0) & (X["b"] > 0)
    model = SparseTreeClassifier(2, 0.01).fit(X, y)
    found = certree.good_trees(X, y, tolerance=0.001, max_depth=2, regularization=0.01)
    first, second = found
    assert first.objective == second.objective
    assert first.tests != second.tests
    for own, words in ((first, "this page's own tree"), (second, "exactly as good as this page's own tree")):
        model.tree_ = own.tree
        page = certree.report(model, X, y, path=tmp_path / "page.html", tolerance=0.001).read_text("utf-8")
        texts = [other["text"] for other in data_of(page)["others"]]
        assert texts[0] == f"Best ({words}): objective 0.03"
        assert sum("(this page's own tree)" in text for text in texts) == 1


def test_many_columns_are_counted_and_listed_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (60, 40)), columns=[f"question {place}" for place in range(40)])
    y = X["question 3"]
    model = SparseTreeClassifier(1).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "page.html", tolerance=0.02).read_text("utf-8")
    assert re.search(r"None of them uses 39 of the columns|one tree alone", section(page, "good"))
    assert name_columns([f"c{place}" for place in range(21)]) == "21 of the columns"
    assert name_columns(["a", "b", "c"]) == "a, b or c"  # none of them uses
    assert "<summary>39 columns that it does not use</summary>" in section(page, "rows")
    assert page.count("question 17") == 1


def test_many_groups_of_a_policy_get_an_action(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": np.arange(160.0) % 16})
    rewards = np.eye(4)[(np.arange(160) % 16) // 2 % 4]
    model = PolicyTree(3).fit(X, rewards)
    page = certree.report(model, X, rewards, path=tmp_path / "page.html", time_limit=0).read_text("utf-8")
    assert "into 8 groups; the action is" in section(page, "decision")


def test_conditions_name_a_column_once() -> None:
    X = pd.DataFrame({"age": np.arange(64.0)})
    y = np.isin(np.arange(64) // 8, [1, 3, 5, 7])
    tree = SparseTreeClassifier(3, 0.0).fit(X, y).tree_
    texts = [conditions(tree, node, Words({"age": "years"})) for node in tree.leaves.tolist()]
    assert all(len(text) == 1 for text in texts)
    assert texts[1] == ["age is above 7.5 years and at most 15.5 years"]


def test_amounts_have_separators_and_years_have_none() -> None:
    X = pd.DataFrame({"a": [-1250.5, -0.5, 0.25, 1285.0, 13000.0]})
    y = np.arange(5)
    tree = SparseTreeClassifier(3, 0.0).fit(X, y).tree_
    tests = [tree.test(node) for node in tree.walk() if tree.column[node] >= 0]
    for words, wanted in (
        (Words({"a": "dollars"}), {"-625.5 dollars", "-0.125 dollars", "642.625 dollars", "7,142.5 dollars"}),
        (Words({}), {"-625.5", "-0.125", "642.625", "7142.5"}),
    ):
        assert {answer(test, words, holds=True) for test in tests} == {f"a at most {text}" for text in wanted}


def test_trees_are_counted_as_the_method_says() -> None:
    """By writing all of them down."""

    def trees(depth: int, n_tests: int, n_labels: int) -> list[Any]:
        leaves: list[Any] = list(range(n_labels))
        if depth == 0:
            return leaves
        below = trees(depth - 1, n_tests, n_labels)
        return leaves + list(product(range(n_tests), below, below))

    for depth, n_tests, n_labels in product(range(3), range(4), range(1, 4)):
        assert count_trees(n_tests, n_labels, depth) == len(trees(depth, n_tests, n_labels))
    assert count_trees(1000, 2, 40) is None
    # Rounded, and not cut off.
    for count, words in (
        (9_999_999, "9,999,999"),
        (1_686_013_202, "about 1.7 × 10⁹"),
        (10**7, "about 1.0 × 10⁷"),
        (9_960_000_000, "about 1.0 × 10¹⁰"),
        (None, "more than 10⁴⁰⁰⁰"),
    ):
        assert write_count(count) == words


def test_notes_hold_nothing_that_runs_or_is_fetched() -> None:
    text = render_notes("# Use\n<script>alert(1)</script> ![x](http://a/b.png) [j](javascript:alert(1))")
    assert "<h3>Use</h3>" in text
    assert "<script" not in text
    assert "<img" not in text
    assert 'href="javascript' not in text


def test_long_names_are_there_in_full(tmp_path: Path) -> None:
    page = write(tmp_path, make_classifier(), time_limit=0)
    shown = {node["question"] for node in data_of(page)["tree"] if "question" in node}
    assert any(NAMES[2] in question for question in shown)


def test_a_column_of_0_and_1_is_asked_as_a_question(tmp_path: Path) -> None:
    X = pd.DataFrame({"member": np.arange(40) % 2, "b": np.arange(40.0)})
    y = X["member"] == 1
    model = SparseTreeClassifier(2).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "page.html").read_text("utf-8")
    root = data_of(page)["tree"][0]
    assert (root["question"], root["ways"], root["answers"]) == (
        "member?",
        ["no", "yes"],
        ["member: no", "member: yes"],
    )
    assert data_of(page)["columns"][0]["kind"] == "binary"
    assert "member: yes" in section(page, "decision")


def test_a_column_of_true_and_false_is_asked_as_a_question(tmp_path: Path) -> None:
    for is_true in (True, False):
        X = pd.DataFrame({"member": [is_true, not is_true] * 20, "b": np.arange(40.0)})
        model = SparseTreeClassifier(1).fit(X, X["member"])
        page = certree.report(model, X, X["member"], path=tmp_path / "page.html", time_limit=0).read_text("utf-8")
        root = data_of(page)["tree"][0]
        assert root["question"] == "member?"
        assert [f"member: {way}" for way in root["ways"]] == root["answers"]
    # A column with missing values has more than two answers.
    X = pd.DataFrame({"member": pd.array([True, False, None] * 20, dtype="boolean")})
    for value in (True, False):
        y = X["member"].fillna(not value) == value
        page = certree.report(SparseTreeClassifier(1).fit(X, y), X, y, path=tmp_path / "page.html", time_limit=0)
        root = data_of(page.read_text("utf-8"))["tree"][0]
        assert (root["question"], root["ways"]) == (f"member is {str(value).lower()}?", ["yes", "no"])


def test_labels_that_weigh_more_weigh_more_everywhere(tmp_path: Path) -> None:
    """In sample, held out and in every other tree, also of a model that was saved."""
    case = make_classifier()
    y = np.where(case.facts["y"] == "no", 0, 1)
    model = SparseTreeClassifier(2, 0.005, class_weight={0: 1, 1: 5}).fit(case.X, y)
    loaded = certree.load(certree.export_json(model))
    pages = [
        certree.report(each, case.X, y, path=tmp_path / "page.html").read_text("utf-8") for each in (model, loaded)
    ]
    weights = np.where(y == 1, 5.0, 1.0)
    held = certree.evaluate(SparseTreeClassifier(2, 0.005), case.X, y, weights, random_state=0)
    for page in pages:
        assert share_text(held.loss.value) in section(page, "worth")
        assert "All rows weigh the same" not in section(page, "rows")
        best = data_of(page)["front"][data_of(page)["chosen"]]["tree"]
        assert best[0].get("question") == data_of(page)["tree"][0].get("question")
    assert data_of(pages[0])["others"] == data_of(pages[1])["others"]


def test_settings_that_were_not_saved_are_not_made_up(tmp_path: Path) -> None:
    case = make_classifier()
    y = case.facts["y"]
    model = SparseTreeClassifier(2, thresholds="guess", reference="boosting", random_state=0).fit(case.X, y)
    model.thresholds = model.threshold_guess_  # no plain data: a file does not hold it
    loaded = certree.load(certree.export_json(model))
    page = certree.report(loaded, case.X, y, path=tmp_path / "page.html").read_text("utf-8")
    assert "The model was saved without its guessed thresholds" in section(page, "worth")
    for name in ("front", "good"):
        assert "only where thresholds are not guessed" in section(page, name)


def test_names_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    case = make_classifier()
    with pytest.raises(ValueError, match="names: 'same' is the name of more than one"):
        write(tmp_path, case, names={NAMES[0]: "same", NAMES[1]: "same"}, units={})
    with pytest.raises(ValueError, match="labels: 'no' is the name of more than one"):
        write(tmp_path, case, labels={"perhaps": "no"})
    with pytest.raises(ValueError, match="group must have one entry for each of the 300 rows"):
        write(tmp_path, case, group=["a"] * 3)
    with pytest.raises(ValueError, match="goes with a log of decisions"):
        write(tmp_path, make_policies()[0], group=["a"] * 400)
    with pytest.raises(TypeError, match=r"what certree\.evaluate returns"):
        write(tmp_path, case, evaluation="good")


def test_what_the_data_do_not_allow_is_a_reason(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": np.arange(30.0)})
    y = X["a"] > 12
    model = SparseTreeClassifier(None, 0.01, max_leaves=3).fit(X, y, np.full(30, 1e-200))
    page = certree.report(model, X, y, np.full(30, 1e-200), path=tmp_path / "page.html").read_text("utf-8")
    assert "Not computed" in section(page, "front") or 'id="slide"' in section(page, "front")
    assert "any number" not in section(page, "proof")
    few = X.iloc[[0, 13, 29]], y.iloc[[0, 13, 29]]
    model = SparseTreeClassifier(1).fit(*few)
    page = certree.report(model, *few, path=tmp_path / "page.html").read_text("utf-8")
    why = "3 samples are too few for 5 folds: no label has that many rows.</p>"
    assert f"Not computed. {why}" in section(page, "worth")
    # The front needs no folds.
    assert 'id="slide"' in section(page, "front")
    assert f"not judged on held-out rows: {why}" in section(page, "front")


def test_a_column_of_names_is_not_handed_out(tmp_path: Path) -> None:
    X = pd.DataFrame({"who": [f"person-{number:03}" for number in range(120)] * 2})
    y = X["who"] == "person-007"
    model = SparseTreeClassifier(1, 0.001).fit(X, y)
    page = certree.report(model, X, y, path=tmp_path / "page.html", time_limit=0).read_text("utf-8")
    assert "person-007" in page
    assert "person-008" not in page
