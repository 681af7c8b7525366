"""The case study: the paper's formulas and printed trees, figures that add up, sentences that follow from them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

import certree
import certree.cli.program
from certree import certify, cli, study
from certree.datasets import load_lalonde
from certree.policy import Estimate, MatchingEffects
from certree.problem import Problem
from certree.study import case as room
from certree.study import folder, pages
from certree.study.printed import PRINTED, plant
from certree.table import Table

needs_data = pytest.mark.skipif(not os.environ.get("CERTREE_DATA"), reason="CERTREE_DATA names no data directory")

SETTINGS = (study.Matching(), study.Matching(metric="equal", n_neighbors=10))


def make_table() -> Table:
    data = load_lalonde()
    names = tuple(data.feature_names)
    return Table(names, tuple(data.data.T), (False,) * len(names), len(data.data), True)


class Line(BaseEstimator):
    """Least squares on a table."""

    def fit(self, X: Table, y: Any) -> Line:
        self.model_ = LinearRegression().fit(np.column_stack(X.columns), y)
        return self

    def predict(self, X: Table) -> Any:
        return self.model_.predict(np.column_stack(X.columns))


PLAIN = partial(room.evaluate, outcome_model=Line())
"""Boosting takes seconds that tests of something else need not wait for."""


@pytest.fixture(scope="module")
def found() -> study.CaseStudy:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "evaluate", PLAIN)
        return study.run(depths=(3, 2, 2), variations=SETTINGS, repeats=1, time_limit=20)


@pytest.fixture
def plain_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "evaluate", PLAIN)


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class TestPrintedTrees:
    @pytest.fixture
    def problem(self) -> Problem:
        chance = np.random.default_rng(0)
        return Problem.from_labels(make_table(), chance.integers(0, 3, 722), labels=room.LABELS, regularization=0.01)

    @pytest.mark.parametrize(("depth", "leaves"), [(2, 4), (3, 8), (4, 14), (5, 29)])
    def test_shapes(self, problem: Problem, depth: int, leaves: int) -> None:
        tree = plant(PRINTED[depth], problem)
        assert (tree.depth, tree.n_leaves) == (depth, leaves)
        assert tree.rows[tree.leaves].sum() == 722
        assert set(tree.label[tree.leaves]) == {0, 1, 2}

    def test_leaves_say_what_is_printed(self, problem: Problem) -> None:
        age, education, _, hispanic, _, _, re75 = load_lalonde().data.T
        poor, rich = re75 <= 897.409, re75 > 21497.509
        second = np.where(poor, np.where(education <= 11.5, 1, 2), np.where(rich, 0, 1))
        third = np.where(
            education <= 11.5,
            np.where(age <= 31.5, np.where(rich, 0, 1), np.where(hispanic <= 0.5, 1, 0)),
            np.where(poor, np.where(age <= 18.5, 1, 2), np.where(rich, 0, 1)),
        )
        for depth, expected in ((2, second), (3, third)):
            tree = plant(PRINTED[depth], problem)
            np.testing.assert_array_equal(tree.label[tree.apply(make_table())], expected)
            np.testing.assert_array_equal(tree.predict(make_table()), np.array(room.LABELS)[expected])


class TestLabels:
    def test_formulas(self) -> None:
        effects = np.zeros(722)
        effects[:5] = [2000.0, 2000.1, -5000.0, -5000.1, 99.0]
        rows = room.label_rows(make_table(), effects)
        assert rows.labels[:5].tolist() == [1, 2, 1, 0, 1]
        assert rows.counts == (1, 720, 1)
        age = load_lalonde().data[:5, 0]
        np.testing.assert_allclose(
            rows.costs[:5], [100 + 3 * age[0], 300, 100 + 3 * age[2], 200 + 3 * age[3], 100 + 3 * age[4]]
        )
        assert (rows.weights.min(), rows.weights.max()) == (1, 100)
        slope = np.diff(rows.weights[[0, 1]]) / np.diff(rows.costs[[0, 1]])
        np.testing.assert_allclose(rows.weights - 1, slope * (rows.costs - rows.costs.min()))

    def test_equal_costs_are_equal_weights(self) -> None:
        rows = room.label_rows(make_table(), np.full(722, 3000.0))
        assert set(rows.weights) == {1.0}

    def test_settings_vary_around_the_given_ones(self) -> None:
        varied = room.vary(study.Matching(n_neighbors=10, random_state=5))
        assert varied[0] == study.Matching(n_neighbors=10, random_state=5)
        assert len(set(varied)) == len(varied) > 10
        assert {own.random_state for own in varied} == {5, 6, 7, 8}


@needs_data
def test_effects_that_the_authors_of_malts_published() -> None:
    """What docs/case-study.md says of them. Their file has the same men in another order."""
    place = Path(os.environ["CERTREE_DATA"])
    men = zip(read_rows(place / "lalonde_malts.csv"), read_rows(place / "lalonde_malts_aux.csv"), strict=True)
    data = load_lalonde()
    effect_of: dict[tuple[float, ...], list[float]] = {}
    for row, more in men:
        facts = [float(row[name]) for name in data.feature_names]
        effect_of.setdefault((*facts, float(more["treat"])), []).append(float(more["cate"]))
    # Of men alike before the programme in the same arm the effects are alike as well, up to the splits' differences.
    effects = np.array([effect_of[(*row, arm)].pop() for row, arm in zip(data.data, data.treatment, strict=True)])
    rows = room.label_rows(make_table(), effects)
    assert rows.counts == (32, 525, 165)
    problem = room._make_problem(make_table(), rows, 0.01)
    losses = [certify.measure(plant(PRINTED[depth], problem), problem).loss for depth in (2, 3, 4, 5)]
    assert (round(min(losses), 2), round(max(losses), 2)) == (0.43, 0.54)
    assert certify.measure(problem.lone_leaf(), problem).loss == pytest.approx(0.366, abs=5e-4)
    model = certree.SparseTreeClassifier(3, 0.01).fit(make_table(), rows.labels, rows.weights)
    assert (model.n_leaves_, model.status_) == (8, "optimal")
    assert model.loss_ == pytest.approx(0.0233, abs=2e-3)


class TestFigures:
    def test_effects_are_those_of_the_matching(self, found: study.CaseStudy) -> None:
        data = load_lalonde()
        model = MatchingEffects(5, n_repeats=1, random_state=0).fit(data.data, data.treatment, data.target)
        np.testing.assert_array_equal(found.rows.effects, model.effects_)
        np.testing.assert_array_equal(found.standard_errors, model.standard_errors_)
        assert list(found.stretches) == data.feature_names

    def test_trees(self, found: study.CaseStudy) -> None:
        assert found.depths == [2, 3]
        names = ["direct", "duplicate", "sample", "CART", "printed"]
        assert [(row.name, row.max_depth) for row in found.trees] == [
            ("constant", 0), *((name, 2) for name in names), *((name, 3) for name in names),
        ]  # fmt: skip
        X, rows = load_lalonde().data, found.rows
        y = np.array(room.LABELS)[rows.labels]
        for row in found.trees:
            is_wrong = row.model.predict(X) != y
            assert row.loss == pytest.approx(rows.weights[is_wrong].sum() / rows.weights.sum())
            assert row.cost_loss == pytest.approx(rows.costs[is_wrong].sum() / rows.costs.sum())
            assert row.objective == pytest.approx(row.loss + 0.01 * row.leaves)
        for depth in found.depths:
            best = found.pick("direct", depth)
            assert (best.status, best.gap, best.is_confirmed) == ("optimal", 0, True)
            for name in names[1:]:
                assert found.pick(name, depth).objective >= best.objective - 1e-12
            assert found.pick("CART", depth).leaves <= best.leaves
            assert found.pick("duplicate", depth).status == found.pick("sample", depth).status == "approximate"
        assert found.trees[0].loss > found.pick("direct", 2).loss > found.pick("direct", 3).loss

    def test_sensitivity(self, found: study.CaseStudy) -> None:
        own, other = found.sensitivity
        assert (own.counts, own.same_label) == (found.rows.counts, 1.0)
        assert own.optimal_loss == found.pick("direct", 3).loss
        assert own.printed_loss == found.pick("printed", 3).loss
        assert own.constant_loss == found.trees[0].loss
        data = load_lalonde()
        effects = MatchingEffects(10, metric="equal").fit(data.data, data.treatment, data.target).effects_
        assert other.counts == (np.sum(effects < -5000), np.sum(abs(effects + 1500) <= 3500), np.sum(effects > 2000))
        assert 0.5 < other.same_label < 1

    def test_policy(self, found: study.CaseStudy) -> None:
        assert [row.cost for row in found.policies] == [0, 1000]
        for row in found.policies:
            assert (row.model.status_, row.is_confirmed) == ("optimal", True)
            assert row.model.value_ == pytest.approx(
                row.scores.rewards[range(722), row.model.tree_.label[row.model.apply(found.table)]].mean()
            )
            assert row.model.value_ >= max(row.values.values()) - 1e-9
            nobody, everybody = room.ACTIONS
            assert row.everybody.value == row.evaluation.fixed[everybody]
            # The tree was chosen for the scores that judge it in sample; unseen men are a harder test.
            assert row.evaluation.gain.value < row.gain_in_sample
        free, dear = found.policies
        assert dear.values[nobody] == free.values[nobody]
        assert free.values[everybody] - dear.values[everybody] == pytest.approx(1000)

    @pytest.mark.usefixtures("plain_models")
    def test_alternatives(self, found: study.CaseStudy) -> None:
        assert [row.name for row in found.alternatives] == ["tree", "tree", "policy", "policy"]
        best = found.pick("direct", 3)
        for row in found.alternatives[:2]:
            assert row.trees.best.objective == pytest.approx(best.objective)
            # Nobody about whom two of them disagree is counted among the agreed, and everybody else is.
            chosen = np.array([tree.decide() for tree in row.trees])
            assert len(chosen) == row.trees.count
            assert row.agreed == int((chosen == chosen[0]).all(axis=0).sum())
        few, many = found.alternatives[:2]
        assert few.trees.count < many.trees.count
        assert few.agreed > many.agreed
        policy = found.policies[-1]
        for row, share in zip(found.alternatives[2:], (1 / 20, 1 / 4), strict=True):
            assert row.tolerance == pytest.approx(share * policy.gain_in_sample)
            assert row.trees.best.objective == pytest.approx(policy.model.objective_)

    def test_given_effects_take_the_place_of_ours(self) -> None:
        data = load_lalonde()
        effects = np.where(data.data[:, 0] <= 30, 3000.0, -6000.0)
        given = study.run(effects, depths=[1], variations=[], treatment_cost=0, repeats=1)
        assert given.matching is given.standard_errors is None
        assert (given.pick("direct", 1).loss, given.pick("direct", 1).leaves) == (0, 2)
        assert [row.cost for row in given.policies] == [0]
        text = study.summarise(given)
        assert "The effects were given" in text
        assert "Left out." in text
        assert "mislabels 0.0% of the weight" in text
        assert "printed" not in text.split("What is found")[1]

    @pytest.mark.parametrize(
        ("effects", "settings", "message"),
        [
            ([1.0], {}, r"effects must be one number for each of the 722 rows, not of shape \(1,\)"),
            ([np.nan] + [0.0] * 721, {}, "effects is NaN in row 0"),
            ([0.0] * 721 + [np.inf], {}, "effects is infinite in row 721"),
            (["much"] * 722, {}, "effects must hold numbers"),
            ([0.0] * 722, {"depths": []}, "at least one depth"),
            ([0.0] * 722, {"treatment_cost": -1}, "treatment_cost must be a finite number of at least 0, not -1"),
        ],
    )
    def test_errors(self, effects: Any, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            study.run(effects, **settings)


def test_the_page_says_what_comes_out(found: study.CaseStudy) -> None:
    """docs/case-study.md: figures that follow from the table and the seed, on any machine."""
    page = (Path(__file__).parents[1] / "docs" / "case-study.md").read_text(encoding="utf-8")
    names = {"constant": "one label for all", "direct": "direct", "printed": "the paper's"}
    for row in found.trees:
        if row.name in names:
            figures = f"{row.leaves} | {row.loss:.4f} | {row.cost_loss:.4f} | {row.objective:.4f} |"
            assert f"| {row.max_depth} | {names[row.name]} | {figures}" in page
    assert found.standard_errors is not None
    assert f"median standard error of {np.median(found.standard_errors):,.0f} dollars" in page
    for row in found.sensitivity:
        own, repeats = row.matching, row.matching.n_repeats if row.matching.metric == "learned" else "–"
        counts = " | ".join(map(str, row.counts))
        assert (
            f"| {own.n_neighbors} | {own.metric} | {repeats} | {counts} | {row.same_label:.0%}".replace("%", " %")
            in page
        )
    for row in found.alternatives:
        many = f"{row.trees.count} | {row.agreed} of 722 |"
        assert many in page
    shares = np.bincount(found.rows.labels, found.rows.weights) / found.rows.weights.sum()
    for code, share in enumerate(shares):
        assert re.search(rf"\| {code} .* \| {found.rows.counts[code]} \| .* \| {100 * share:.1f} % \|", page)


class TestWords:
    def test_fit_a_terminal(self, found: study.CaseStudy) -> None:
        text = study.summarise(found)
        assert max(map(len, text.splitlines())) <= 100
        assert f"{found.pick('direct', 3).objective:.4f}" in text
        assert "6 of 6 hold" in text
        assert "deals" not in text
        assert "by 0.0000" not in text
        assert "Proved optimal: depth 2 and 3." in text

    def test_verdicts_follow_the_figures(self, found: study.CaseStudy) -> None:
        row = found.policies[-1]

        def verdict(nobody: float, everybody: float) -> str:
            gains = dict(zip(room.ACTIONS, (Estimate(9, 1, nobody, 20), Estimate(9, 1, everybody, 20)), strict=True))
            changed = replace(row, evaluation=replace(row.evaluation, gains=gains))
            return " ".join(study.summarise(replace(found, policies=(changed,), alternatives=())).split()).rsplit(
                "•", 1
            )[1]

        assert "These 722 men show a gain that can be learned." in verdict(5, 5)
        assert "a gain over treating nobody, but none over treating everybody" in verdict(5, -5)
        assert "no learnable gain over treating nobody" in verdict(-5, 5)
        assert "it gains 9 (−5 to 20)" in verdict(-5, 5)

    def test_what_was_not_proved_is_not_claimed(self, found: study.CaseStudy) -> None:
        trees = tuple(replace(row, status="time_limit") if row.name == "direct" else row for row in found.trees)
        text = study.summarise(replace(found, trees=trees))
        assert "No tree was proved optimal in the time given." in text
        assert "proved optimal " not in text.split("4  What")[0].split("3  Trees")[1]


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that compute nothing of their own: tests/test_page.py has those that do."""
    monkeypatch.setattr(pages, "SECONDS", 0.0)


class TestFolder:
    def test_everything_is_there_and_can_be_read_again(
        self, found: study.CaseStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written = study.write(found, tmp_path / "a" / "b")
        place = tmp_path / "a" / "b"
        assert sorted(written) == sorted(path for path in place.rglob("*") if path.is_file())
        assert (place / "study.txt").read_text(encoding="utf-8") == study.summarise(found) + "\n"
        effects = read_rows(place / "effects.csv")
        np.testing.assert_array_equal([float(row["effect"]) for row in effects], found.rows.effects)
        assert effects[0]["label"] == room.LABELS[found.rows.labels[0]]
        assert [float(row["loss"]) for row in read_rows(place / "trees.csv")] == [row.loss for row in found.trees]
        assert len(read_rows(place / "sensitivity.csv")) == 2
        honest = [row for row in read_rows(place / "policy.csv") if row["sample"] == "honest" and row["cost"] == "0.0"]
        assert float(honest[0]["value"]) == found.policies[0].evaluation.value.value
        for name, words in (("tree.html", "Whom to train: the tree"), ("policy.html", "costs 1,000 dollars per man")):
            page = (place / name).read_text(encoding="utf-8")
            assert words in page
            assert "all figures of the tree hold" in page
        for path in (place / "models").iterdir():
            assert (place / "trees" / path.name).with_suffix(".svg").is_file()
            model = certree.load(path)
            assert hasattr(model, "certificate_") != path.name.startswith("printed")
        model = place / "models" / "direct-depth-3.json"
        files = (str(model), str(place / "effects.csv"), "--label", "label", "--weight", "weight")
        assert cli.main(["verify", *files]) == 0
        assert "the certificate holds" in capsys.readouterr().out
        model, scores = place / "models" / "policy-cost-1000.json", place / "scores-cost-1000.csv"
        assert cli.main(["verify", str(model), str(scores), "--treatment", "arm", "--rewards", *room.ACTIONS]) == 0
        assert "the certificate holds" in capsys.readouterr().out

    def test_pictures_are_the_same_every_time(self, found: study.CaseStudy) -> None:
        model = found.pick("direct", 2).model
        picture = folder.draw("tree", model)
        assert picture == folder.draw("tree", model)
        assert b"<svg" in picture

    def test_it_knows_what_it_writes(self, found: study.CaseStudy, tmp_path: Path) -> None:
        assert study.find_files(tmp_path) == []
        assert not study.is_study(tmp_path)
        written = study.write(found, tmp_path)
        assert study.find_files(tmp_path) == sorted(written)
        assert study.is_study(tmp_path)

    def test_without_matplotlib_there_are_no_pictures(
        self, found: study.CaseStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folder, "has_pictures", lambda: False)
        study.write(found, tmp_path)
        assert not (tmp_path / "trees").exists()
        assert (tmp_path / "models").is_dir()


class TestCommand:
    @pytest.mark.usefixtures("plain_models")
    def test_demo(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(room, "vary", lambda _: SETTINGS[1:])
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)  # else there is no progress bar
        monkeypatch.chdir(tmp_path)
        assert cli.main(["demo", "--depths", "2", "--cost", "0", "--neighbors", "7"]) == 0
        printed = capsys.readouterr()
        assert "the 7 nearest men of each arm" in printed.out
        assert "What is found" in printed.out
        assert "written to certree-demo" in printed.out
        assert max(map(len, printed.out.splitlines())) <= 100
        assert "1 of 7 done; tree of depth 2, direct" in printed.err
        assert "5 of 7 done; policy at 0 dollars per man" in printed.err
        assert (tmp_path / "certree-demo" / "trees" / "direct-depth-2.svg").is_file()
        assert "certree-demo/policy.html, a page to open in a browser" in printed.out
        # What the study wrote can take the place of its own matching.
        given = cli.demo.read_effects(tmp_path / "certree-demo" / "effects.csv", None)
        data = load_lalonde()
        own = MatchingEffects(7, n_repeats=1, random_state=0).fit(data.data, data.treatment, data.target)
        np.testing.assert_array_equal(given, own.effects_)

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("effect\n1\n2\n", [], "has 2 rows, but the study has 722"),
            ("a,b\n" + "1,2\n" * 722, [], "has no column 'effect'; it has a, b"),
            ("a,b\n" + "1,2\n" * 722, ["--column", "c"], "has no column 'c'; it has a, b"),
            ("age,effect\n" + "23,2\n" * 722, [], "line 3: age is 23.0, but 26.0 in row 1 of the embedded table"),
            ("effect\n" + "1\n" * 721 + "NA\n", [], "line 723: no value in column 'effect'"),
            ("effect\n" + "much\n" * 722, [], "line 2: column 'effect' holds 'much', which is not a finite number"),
        ],
    )
    def test_effects_that_do_not_fit(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], message: str
    ) -> None:
        path = tmp_path / "effects.csv"
        path.write_text(text, encoding="utf-8")
        output = ["--output", str(tmp_path / "out")]
        assert cli.main(["demo", "--effects", str(path), *options, *output]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_a_wrong_certificate_fails(
        self,
        found: study.CaseStudy,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        policies = tuple(replace(row, is_confirmed=False) for row in found.policies)
        monkeypatch.setattr(study, "run", lambda *_, **__: replace(found, policies=policies))
        assert cli.main(["demo", "--output", str(tmp_path)]) == 1
        assert "its certificate is wrong" in capsys.readouterr().out

    def test_the_next_command_can_be_typed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / ".venv-demo" / "bin" / "certree"
        program.parent.mkdir(parents=True)
        program.touch(0o755)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", [str(program), "demo"])
        monkeypatch.setenv("PATH", str(tmp_path))
        assert cli.demo.name_command() == ".venv-demo/bin/certree"
        monkeypatch.setenv("PATH", str(program.parent))
        assert cli.demo.name_command() == "certree"

    def test_a_lone_column_needs_no_name(self, tmp_path: Path) -> None:
        path = tmp_path / "effects.csv"
        path.write_text("tau\n" + "7\n" * 722, encoding="utf-8")
        assert set(cli.demo.read_effects(path, None)) == {7.0}

    def test_wrong_usage(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            cli.main(["demo", "--out", "table.csv"])
        (tmp_path / "file").touch()
        assert cli.main(["demo", "--output", str(tmp_path / "file")]) == 2
        assert "is not a directory" in capsys.readouterr().err
        assert cli.main(["demo", "--neighbors", "1"]) == 2

    def test_it_replaces_only_what_a_study_has_written(
        self,
        found: study.CaseStudy,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(folder, "has_pictures", lambda: False)
        monkeypatch.setattr(study, "run", lambda *_, **__: found)
        own = tmp_path / "effects.csv"
        own.write_text("effect\n" + "7\n" * 722, encoding="utf-8")
        assert cli.main(["demo", "--output", str(tmp_path)]) == 2
        assert "it holds effects.csv, which no study has written" in capsys.readouterr().err
        assert own.read_text(encoding="utf-8").startswith("effect\n7")
        for force in ([], ["--force"]):
            assert cli.main(["demo", "--effects", str(own), "--output", str(tmp_path), *force]) == 2
            assert "which is never replaced" in capsys.readouterr().err
        assert cli.main(["demo", "--output", str(tmp_path), "--force"]) == 0
        assert cli.main(["demo", "--output", str(tmp_path)]) == 0
        capsys.readouterr()
        shutil.rmtree(tmp_path / "models")
        (tmp_path / "models").touch()
        assert cli.main(["demo", "--output", str(tmp_path)]) == 1
        printed = capsys.readouterr()
        assert "What is found" in printed.out
        assert "written to" not in printed.out
        assert f"{tmp_path} could not be written in full: File exists." in printed.err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    def test_the_folder_is_written_before_anything_is_printed(
        self, found: study.CaseStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folder, "has_pictures", lambda: False)
        monkeypatch.setattr(study, "run", lambda *_, **__: found)
        with Path("/dev/full").open("w", buffering=1, encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert cli.main(["demo", "--output", str(tmp_path)]) == 1
        assert (tmp_path / "study.txt").stat().st_size > 0

    def test_a_note_where_matplotlib_is_missing(
        self,
        found: study.CaseStudy,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr(folder, "has_pictures", lambda: False)
        monkeypatch.setattr(study, "has_pictures", lambda: False)
        monkeypatch.setattr(study, "run", lambda *_, **__: found)
        assert cli.main(["demo", "--output", str(tmp_path)]) == 0
        printed = capsys.readouterr()
        assert "pip install 'certree[plot]'" in printed.err
        assert "0 pictures" in printed.out
