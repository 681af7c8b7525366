"""What a newcomer stumbles over in the first hour, on a table as it comes (docs/first-hour.md)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest

from certree import (
    IdleTestWarning,
    PolicyTree,
    ReadingWarning,
    SparseTreeClassifier,
    SparseTreeCV,
    certify,
    evaluate,
    export_latex,
    export_text,
    good_trees,
    policy,
    report,
)
from certree.cli.program import find_verbs, make_parser
from certree.datasets import make_policy
from tests.commands import run

ROWS = 1200


def make_customers() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    income = np.round(rng.lognormal(7.8, 0.5, ROWS), 2)
    churned = rng.random(ROWS) < 0.2 + 0.6 * (income > 2500)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, ROWS), unit="D")
    return pd.DataFrame(
        {
            "customer id": [f"C-{row:05d}" for row in range(ROWS)],
            "joined": days.strftime("%Y-%m-%d"),
            "income": income,
            "weight": np.round(rng.lognormal(0, 0.8, ROWS), 3),
            "outcome of Q3": np.where(churned, "Yes, churned!", "n/k (stayed)"),
        }
    )


@pytest.fixture
def customers(tmp_path: Path) -> Path:
    frame = make_customers()
    frame.loc[[17, 900], "weight"] = np.nan
    frame.loc[44, "outcome of Q3"] = None
    path = tmp_path / "customers.csv"
    frame.to_csv(path, index=False, sep=";", decimal=",")
    return path


READ = ("--separator", ";", "--decimal", ",")
LABEL = ("--label", "outcome of Q3")
WEIGHT = ("--weight", "weight")
IGNORE = ("--ignore", "customer id", "joined")


@pytest.fixture
def model(customers: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = customers.with_name("model.json")
    fit = ("fit", customers, *READ, *LABEL, *WEIGHT, *IGNORE, "--drop-missing", "--depth", 2, "--out", path)
    assert run(*fit) == 0
    capsys.readouterr()
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    data = make_policy(300, 2, n_actions=3, depth=1, random_state=0)
    frame = pd.DataFrame(data.data, columns=["age", "income"])
    frame = frame.assign(arm=np.array(["none", "letter", "call"])[data.treatment], sales=data.outcome)
    path = tmp_path / "log.csv"
    frame.to_csv(path, index=False)
    return path


LOGGED = ("--treatment", "arm", "--outcome", "sales")


class TestReading:
    def test_an_id_and_dates_are_pointed_out(self, customers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        fit = ("fit", customers, *READ, *LABEL, "--drop-missing", "--depth", 1)
        assert run(*fit) == 0
        said = capsys.readouterr().err
        assert "warning: column 'customer id' has a different category in every row" in said
        assert "warning: column 'joined' is read as categories, although its cells are dates, such as '2023-" in said
        assert "or leave the column out with --ignore" in said
        assert run(*fit, *IGNORE, "weight") == 0
        assert "warning" not in capsys.readouterr().err

    @pytest.mark.parametrize("days", [["2023-08-21", "2023-08-22"], ["21.08.2023 10:15", "1.9.2023"]])
    def test_dates_as_text(self, days: list[str]) -> None:
        y = np.arange(10) % 2
        frame = pd.DataFrame({"day": [days[row % 2] for row in range(10)]})
        with pytest.warns(ReadingWarning, match=r"'day' is read as categories, although its cells are dates") as said:
            SparseTreeClassifier(1).fit(frame, y)
        assert "to_numeric" not in str(said[0].message)
        # Warnings are errors here: what is declared, or is hardly a date, is taken as it is.
        SparseTreeClassifier(1).fit(frame.astype("category"), y)
        for words in (["2023-08-21", "later", "2023-08-22", "soon", "never"], ["8/21/23", "later"]):
            SparseTreeClassifier(1).fit(pd.DataFrame({"day": [words[row % len(words)] for row in range(10)]}), y)

    def test_what_to_do_with_a_column_of_times_is_said_and_works(self) -> None:
        X = pd.DataFrame({"joined": pd.to_datetime(["2023-01-01", "2023-01-11", "2023-02-01"])})
        with pytest.raises(ValueError, match="holds dates or times") as said:
            SparseTreeClassifier(1).fit(X, [0, 0, 1])
        advice, _, otherwise = str(said.value).rpartition(": ")[2].partition(" (")
        assert otherwise == "in polars, .dt.total_days())"
        assert eval(advice, {"X": X}).tolist() == [0, 10, 31]
        frame = polars.from_pandas(X)
        with pytest.raises(ValueError, match=r"\.dt\.days \(in polars, \.dt\.total_days\(\)\)$"):
            SparseTreeClassifier(1).fit(frame, [0, 0, 1])
        assert eval(advice.replace("dt.days", "dt.total_days()"), {"X": frame}).to_list() == [0, 10, 31]

    @pytest.mark.parametrize("cell", [["a", "b"], ("a", "b"), {"a", "b"}, frozenset("ab"), np.array(["a", "b"])])
    @pytest.mark.parametrize("other", [None, np.nan], ids=["", "NaN beside"])
    def test_lists_in_a_column_are_named_as_such(self, cell: object, other: object) -> None:
        X = pd.DataFrame({"tags": [cell, cell, cell if other is None else other]})
        with pytest.raises(TypeError, match="column 'tags' holds several values per row; make a column of each first"):
            SparseTreeClassifier(1).fit(X, [0, 0, 1])

    def test_rows_without_a_weight_are_named_with_what_to_do(
        self, customers: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines = [line for line in customers.read_text(encoding="utf-8").splitlines() if not line.endswith(";")]
        customers.write_text("\n".join(lines), encoding="utf-8")
        assert run("fit", customers, *READ, *LABEL, *WEIGHT) == 2
        said = "line 19, line 901: no value in column 'weight'; --drop-missing leaves such rows out"
        assert said in capsys.readouterr().err

    def test_rows_that_are_left_out_are_counted_by_reason(
        self, customers: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("fit", customers, *READ, *LABEL, *WEIGHT, *IGNORE, "--drop-missing", "--depth", 1) == 0
        said = "left out 3 of 1,200 rows: 1 without 'outcome of Q3', 2 without 'weight'"
        assert said in capsys.readouterr().err


class TestCommands:
    @pytest.mark.parametrize("verb", find_verbs(make_parser()))
    def test_help_fits_a_terminal(self, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        text = find_verbs(make_parser())[verb].format_help().partition("example:")[0]
        assert max(map(len, text.splitlines())) <= 80

    @pytest.mark.parametrize("verb", ["verify", "predict", "report"])
    def test_options_of_the_fit_that_the_model_answers(self, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
        facts = () if verb == "predict" else LABEL
        with pytest.raises(SystemExit):
            run(verb, "model.json", "customers.csv", *facts, *IGNORE)
        assert "no option --ignore: the model says which columns it needs" in capsys.readouterr().err

    def test_a_table_that_is_read_in_another_way(
        self, customers: Path, model: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        verify = ("verify", model, customers, *READ, *LABEL, "--drop-missing")
        assert run(*verify, *WEIGHT) == 0
        assert "read in another way" not in capsys.readouterr().out
        assert run(*verify) == 1
        printed = capsys.readouterr().out
        assert "or it was read in another way: give the same" in printed
        assert "whether it is about this very table" in printed

    def test_alternatives_are_a_table_with_readable_thresholds(
        self, customers: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fit = (customers, *READ, *LABEL, *WEIGHT, *IGNORE, "--drop-missing", "--depth", 1)
        assert run("alternatives", *fit, "--tolerance", 0.02, "--show", 30) == 0
        printed = capsys.readouterr().out
        lines = printed.splitlines()
        thresholds = [line.rpartition(" ")[2] for line in lines if "income <= " in line]
        assert len(thresholds) > 5
        assert max(map(len, thresholds)) <= len("2588.325")
        (header,) = (line for line in lines if "needed by" in line)
        assert header == "  column  needed by  best without it"
        assert "  income     100.0%" in printed
        assert "of 1,197 rows get the same label" in printed

    def test_a_policy_is_refused_in_the_words_of_the_command_line(
        self, log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        learn = ("policy", log, *LOGGED, "--depth", 1)
        assert run(*learn, "--costs", "letter=0.5", "call=3") == 2
        assert "--costs has no value for action 'none': add none=0, or its amount" in capsys.readouterr().err
        with monkeypatch.context() as patched:
            # Nothing is learned before it is known that all of it can be done.
            patched.setattr(policy, "doubly_robust", None)
            assert run(*learn, "--folds", 2) == 2
            assert "--folds must be at least 3, not 2" in capsys.readouterr().err
            assert run(*learn, "--budget", 0.4) == 2
        said = capsys.readouterr().err
        assert "--budget needs to know what each action spends: give --spends" in said
        assert said.rstrip().endswith("the actions are call, letter, none")

    def test_a_page_about_a_policy_needs_its_log(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = log.with_name("policy.json")
        learn = ("policy", log, *LOGGED, "--depth", 1, "--folds", 3, "--out", path)
        assert run(*learn, "--scores", log.with_name("scores.csv")) == 0
        assert capsys.readouterr().out.endswith(f"\nwritten to {path} and {log.with_name('scores.csv')}\n")
        assert run("report", path, log, "--out", log.with_name("page.html")) == 2
        assert "is a policy: name the --treatment and --outcome of the log" in capsys.readouterr().err

    def test_the_demo_draws_no_bar_into_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = {}

        def start(*_: object, **settings: object) -> None:
            asked.update(settings)
            raise ValueError("enough is seen")

        monkeypatch.setattr("certree.study.run", start)
        for is_terminal in (False, True):
            monkeypatch.setattr("sys.stderr.isatty", lambda is_terminal=is_terminal: is_terminal)
            assert run("demo", "--output", tmp_path / "study") == 2
            assert asked["verbose"] == int(is_terminal)


class TestShown:
    def test_large_counts_have_separators_and_bounds_ten_digits(self) -> None:
        frame = make_customers()
        X, y, weights = frame[["income"]], frame["outcome of Q3"], frame["weight"]
        model = SparseTreeClassifier(1).fit(X, y, weights)
        summary = model.certificate_.summary()
        assert f"1,200 of weight {weights.sum():,.10g}; 1,1" in summary
        assert "1 with 1,1" in summary
        (bound,) = certify.check(model.certificate_, model.tree_, X, y, weights).trusted
        assert len(bound.rpartition(" ")[2]) <= 12

    def test_a_member_of_a_set_shows_its_tree(self) -> None:
        X, y = [[1], [2], [3]], [0, 1, 1]
        best = good_trees(X, y, tolerance=0.1, max_depth=1, regularization=0.1)[0]
        assert repr(best) == "<GoodTree: objective 0.2, 2 leaves>"
        assert "├── x0 <= 1.5: 0" in str(best)
        within = policy.good_policies(X, [[0, 1], [0, 2], [0, -1]], tolerance=0.5, max_depth=1, budget=0.4)[0]
        assert repr(within) == "<BudgetPolicy: objective 0.333333, 2 leaves, spends 0.333333 per row>"
        assert str(within).startswith("├── x0 <= 1.5: 1")

    def test_the_best_tree_is_not_compared_with_itself(self) -> None:
        frame = make_customers()
        said = SparseTreeCV(1, cv=3).fit(frame[["income"]], frame["outcome of Q3"]).choice_
        assert "2 leaves (held-out loss 0." in said
        assert "the best of 2 trees in 3 folds; no smaller tree is within one standard error of it (0.0" in said

    def test_gains_of_thousands(self) -> None:
        assert str(policy.Estimate(-291.64, 646.0, -1558.2, 12345.6)) == "-291.6 (-1,558 to 12,346)"

    def test_a_log_without_scores(self) -> None:
        log = policy.Log([[1], [2], [3], [4]], ["a", "b", "a", "b"], [1.0, 2.0, 3.0, 4.0])
        with pytest.raises(ValueError, match=r"give the rewards, such as policy.doubly_robust\(log\)"):
            PolicyTree(1).fit(log)

    def test_the_command_on_the_page_breaks_between_words(self, tmp_path: Path) -> None:
        frame = make_customers()[:200]
        X, y, weights = frame[["income"]], frame["outcome of Q3"], frame["weight"]
        model = SparseTreeClassifier(1).fit(X, y, weights)
        page = report(model, X, y, weights, path=tmp_path / "page.html").read_text(encoding="utf-8")
        assert '<code class="command"><span>certree</span> <span>verify</span>' in page
        assert "<span>--weight</span> <span>...</span> <span>--prove</span></code>" in page
        assert ".command span { white-space: nowrap; }" in page


def test_predict_counts_categories_that_the_fit_did_not_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame(
        {"plan": ["gold", "blue"] * 20, "region": ["north", "south"] * 20, "y": ["stay", "leave"] * 20}
    )
    frame.to_csv(tmp_path / "known.csv", index=False)
    frame = frame.drop(columns="y").assign(region="west")
    frame.loc[[3, 5, 7], "plan"] = ["silver", "bronze", "silver"]
    frame.loc[9, "plan"] = None
    frame.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "model.json"
    assert run("fit", tmp_path / "known.csv", "--label", "y", "--ignore", "region", "--depth", 1, "--out", model) == 0
    capsys.readouterr()
    assert run("predict", model, tmp_path / "known.csv", "--out", tmp_path / "old predictions.csv") == 0
    assert capsys.readouterr().err == ""
    assert run("predict", model, tmp_path / "new.csv") == 0
    shown = capsys.readouterr()
    assert shown.err == (
        "certree predict: 3 rows have a category of column 'plan' that the fit did not see ('silver', 'bronze'): "
        "no test of this column holds there\n"
    )
    assert len(shown.out.splitlines()) == 41
    fitted = SparseTreeClassifier(1).fit(pd.DataFrame({"plan": ["gold", "blue"] * 20}), ["stay", "leave"] * 20)
    seen = fitted.tree_.test(0).category
    expected = "leave" if seen == "gold" else "stay"
    assert fitted.predict(pd.DataFrame({"plan": ["silver"]})) == [expected]  # no error: the test fails, as documented


def test_a_singular_noun_gets_a_remark(model: Path, customers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = customers.with_name("page.html")
    arguments = ("report", model, customers, *READ, *LABEL, *WEIGHT, "--drop-missing", "--time-limit", 1, "--out", page)
    assert run(*arguments, "--noun", "customer") == 0
    assert "--noun takes a plural, such as customers" in capsys.readouterr().err
    assert run(*arguments, "--force", "--noun", "customers") == 0
    assert "plural" not in capsys.readouterr().err


def test_a_strict_test_is_shown_as_it_was_given(tmp_path: Path) -> None:
    X, y = pd.DataFrame({"age": [38.0, 39.0, 40.0, 41.0] * 5}), ["a", "b", "b", "a"] * 5
    shown = SparseTreeClassifier(2, 0.001, start="age < 40").fit(X, y)
    text = export_text(shown)
    assert "age < 40" in text
    assert "age >= 40" in text
    assert "age <= 40\n" not in text
    assert "age <= 39.5" in export_text(SparseTreeClassifier(1, 0.001, start="age <= 39.5").fit(X, y))
    assert r"age $<$ 40" in export_latex(shown)
    page = report(shown, X, y, path=tmp_path / "report.html", time_limit=1).read_text(encoding="utf-8")
    assert "age below 40?" in page
    assert "above 38.5 and below 40" in page
    assert re.search(r"at most 40\b(?!\.)", page) is None


@pytest.mark.parametrize("given", ["age < 40", "age >= 40", "income < 2588.325", "debt < 0"])
def test_the_certificate_names_a_strict_test_as_it_was_given(given: str) -> None:
    X = pd.DataFrame({"age": [38.0, 39.0, 40.0, 41.0] * 5, "income": [1000.0, 2588.32, 2588.325, 3000.0] * 5})
    X["debt"] = [-2.0, -1.0, 0.0, 1.0] * 5
    y = ["a", "b", "b", "a"] * 5
    shown = given.replace(">=", "<")
    begun = SparseTreeClassifier(2, 0.001, start=given).fit(X, y)
    assert begun.certificate_.statement.endswith(f"that begin with “{shown}”")
    without = SparseTreeClassifier(1, 0.001, forbidden=given).fit(X, y)
    assert without.certificate_.statement.endswith(f"that do not ask “{shown}”")
    # What is written is read back as the same test, and only values below the limit pass it.
    again = SparseTreeClassifier(2, 0.001, start=begun.tree_.test(0).text).fit(X, y)
    assert again.tree_.threshold[0] == begun.tree_.threshold[0]
    column, _, limit = shown.partition(" < ")
    assert begun.tree_.test(0).holds(X[column].to_numpy()).tolist() == (X[column] < float(limit)).tolist()


class TestForbidden:
    """A forbidden test that forbids nothing is named: it may be a slip of the pen."""

    X = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0] * 5, "plan": ["gold", "blue"] * 10})
    y = ("a", "b", "b", "a") * 5

    @pytest.mark.parametrize("idle", ["age <= 1000", "age > 1000", "age < 30", "age is missing", "plan == 'silver'"])
    def test_in_python(self, idle: str) -> None:
        with pytest.warns(IdleTestWarning) as said:
            SparseTreeClassifier(1, forbidden=["age <= 45", idle, "plan"]).fit(self.X, self.y)
        shown = idle.replace("> 1000", "<= 1000").replace("1000", "1,000" if "," in str(said[0].message) else "1000")
        assert str(said[0].message) == (
            f"the forbidden test “{shown}” forbids nothing: all rows give it the same answer"
        )
        assert said[0].filename == __file__

    def test_plain_data_and_tests(self) -> None:
        asked = SparseTreeClassifier(1).fit([[70.0], [80.0]], ["a", "b"]).tree_.test(0)
        asked = replace(asked, column=replace(asked.column, name="age"))
        plain = {"column": "plan", "category": "silver", "missing_left": False}
        with pytest.warns(IdleTestWarning, match="tests “plan == 'silver'”, “age <= 75” forbid nothing: all rows give"):
            SparseTreeClassifier(1, forbidden=[asked, plain]).fit(self.X, self.y)

    def test_rows_of_weight_zero_part_nothing(self) -> None:
        weights = [1.0, 1.0, 1.0, 0.0] * 5
        with pytest.warns(IdleTestWarning) as said:
            SparseTreeClassifier(1, forbidden=["age <= 55", "age <= 99"]).fit(self.X, self.y, weights)
        assert len(said) == 1
        assert "tests “age <= 99”, “age <= 55” forbid nothing" in str(said[0].message)

    def test_what_divides_the_rows_is_forbidden_without_a_word(self) -> None:
        SparseTreeClassifier(1, forbidden=["age < 31", "plan == 'gold'", "plan"]).fit(self.X, self.y)

    def test_sets_and_policies(self) -> None:
        rewards = [[0.0, 1.0], [1.0, 0.0]] * 10
        with pytest.warns(IdleTestWarning, match="“age <= 99”"):
            good_trees(self.X, self.y, max_depth=1, forbidden="age <= 99")
        with pytest.warns(IdleTestWarning, match="“age <= 99”"):
            PolicyTree(1, forbidden="age <= 99").fit(self.X, rewards)

    def test_folds_say_nothing(self) -> None:
        X = pd.DataFrame({"age": [*range(19), 99]})
        model = SparseTreeClassifier(1, forbidden="age <= 50")
        evaluate(model, X, self.y, cv=5)  # without the last row the test parts nothing, and a warning would be an error

    def test_on_the_command_line(self, customers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        given = (customers, *READ, *LABEL, *WEIGHT, *IGNORE, "--drop-missing", "--depth", 1)
        for verb in ("fit", "alternatives"):
            assert run(verb, *given, "--forbid", "income <= 1e9", "income <= 2500") == 0
            shown = capsys.readouterr().err
            assert shown.count("forbids nothing") == 1
            assert "certree: the forbidden test “income <= 1,000,000,000” forbids nothing: all rows give it" in shown

    def test_of_a_policy(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run("policy", log, *LOGGED, "--depth", 1, "--folds", 3, "--forbid", "age <= 1e9") == 0
        assert capsys.readouterr().err.count("forbids nothing") == 1


class TestSecondWalk:
    """What was stumbled over when the hour was walked again, with a frame as it comes."""

    @pytest.fixture(scope="class")
    @staticmethod
    def frame() -> pd.DataFrame:
        rng = np.random.default_rng(7)
        age = np.where(rng.random(60) < 0.1, np.nan, rng.integers(18, 90, 60))
        return pd.DataFrame(
            {
                "id": [f"K{row}" for row in range(60)],
                "balance": [f"${amount:,.2f}" for amount in rng.lognormal(7, 1, 60)],
                "age": age,
                "member": rng.random(60) < 0.4,
                "weight": np.where(np.arange(60) % 5 == 0, 0.0, 1.5),
                "churn": np.where(rng.random(60) < np.where(age > 50, 0.8, 0.2), "yes", "no"),
            }
        )

    def test_an_id_is_pointed_out_in_python(self, frame: pd.DataFrame) -> None:
        with pytest.warns(ReadingWarning) as said:
            SparseTreeClassifier(1).fit(frame[["id", "age"]], frame["churn"])
        assert str(said[0].message) == (
            "column 'id' has a different category in every row, as an id has: leave it out, because its tests say "
            "nothing about other rows."
        )
        # Warnings are errors here: few rows may all be different, and what repeats is no id.
        SparseTreeClassifier(1).fit(frame[["id", "age"]][:19], frame["churn"][:19])
        SparseTreeClassifier(1).fit(frame[["id"]].replace("K59", "K58"), frame["churn"])

    def test_amounts_in_a_currency_get_advice_that_works(
        self, frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.warns(ReadingWarning, match="look like numbers in another notation") as said:
            SparseTreeClassifier(1).fit(frame[["balance", "age"]], frame["churn"])
        assert "take the signs and the thousands separators out of the text" in str(said[0].message)
        assert "errors='coerce'" not in str(said[0].message)  # this would make every cell missing
        frame.to_csv(tmp_path / "data.csv", index=False)
        assert run("fit", tmp_path / "data.csv", "--label", "churn", "--ignore", "id", "--depth", 1) == 0
        said_there = capsys.readouterr().err
        assert "; if amounts are meant, take the signs and separators out of the file, --categorical says" in said_there

    def test_rows_of_weight_zero_are_counted(self, frame: pd.DataFrame) -> None:
        model = SparseTreeClassifier(1, 0.001).fit(frame[["age", "member"]], frame["churn"], frame["weight"])
        assert "rows         60 of weight 72 (12 of them have weight 0); " in model.certificate_.summary()
        lone = SparseTreeClassifier(1, 0.001).fit([[0], [1]], ["a", "b"])
        assert "1 with 1 distinct test\n" in lone.certificate_.summary() + "\n"
        assert "weight 0" not in lone.certificate_.summary()

    def test_trees_show_themselves_in_a_notebook(self, frame: pd.DataFrame) -> None:
        X, y = frame[["age", "member"]], frame["churn"]
        tree = SparseTreeClassifier(1, 0.001).fit(X, y).tree_
        assert tree._repr_html_() in SparseTreeClassifier(1, 0.001).fit(X, y)._repr_html_()
        best = good_trees(X, y, max_depth=1, regularization=0.001)[0]
        assert best._repr_html_() == f"{best.tree._repr_html_()}<p>{str(best).splitlines()[-1]}</p>"
        within = policy.good_policies(X, [[0, 1], [1, 0]] * 30, tolerance=0.1, max_depth=1, budget=0.4)[0]
        assert within._repr_html_().endswith(f"<p>{str(within).splitlines()[-1]}</p>")

    def test_no_walls_of_figures(self, frame: pd.DataFrame) -> None:
        X, y = frame[["age", "member"]], frame["churn"]
        model = SparseTreeClassifier(1, 0.001).fit(X, y)
        assert repr(model.columns_[1]) == "<ColumnReading member: boolean>"
        trees = good_trees(X, y, max_depth=1, regularization=0.001)
        assert all(
            re.fullmatch(r"<ColumnFact \w+: needed by .*% of the good trees; .*>", repr(fact))
            for fact in trees.columns()
        )
        assert re.fullmatch(
            r"<RowFacts: 60 rows, of which \d+ get the same label from all good trees>", repr(trees.rows())
        )
        verdict = certify.check(model.certificate_, model.tree_, X, y)
        assert repr(verdict) == "<Verdict: holds>"
        assert str(verdict).startswith(
            "the certificate holds as far as it was recomputed; taken on trust:\n  that no tree"
        )
        wrong = certify.check({**model.certificate_, "loss": 0.4}, model.tree_, X, y)
        assert repr(wrong).startswith("<Verdict: ")
        assert str(wrong).startswith("the certificate does not hold:\n  ")
        assert str(replace(verdict, trusted=())) == "the certificate holds"
        assert repr(certify.check_set(trees.certificate_, [trees[0].tree], X, y)) == "<SetVerdict: holds>"

    def test_a_path_of_policies_shows_rewards(self) -> None:
        path = policy.regularization_path([[1], [2], [3]], [[0, 1], [0, 1], [0, -1]], max_depth=1)
        assert path.summary().splitlines()[1:] == [
            "  leaves  depth  mean reward  optimal for λ   status",
            "       1      0     0.333333   above 0.3333  optimal",
            "       2      1     0.666667    0 to 0.3333  optimal",
        ]
        assert "<th>mean reward</th>" in path._repr_html_()

    def test_chances_that_do_not_sum_to_one(self) -> None:
        with pytest.raises(ValueError, match=r"row 0 sums to 1\.2$"):
            policy.Log([[1], [2], [3]], ["a", "b", "c"], [1.0, 2.0, 3.0], propensity={"a": 0.4, "b": 0.4, "c": 0.4})

    def test_households_on_the_command_line(
        self, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = pd.read_csv(log)
        frame["home"] = np.arange(len(frame)) // 3
        frame.to_csv(log, index=False)
        learn = ("policy", log, *LOGGED, "--depth", 1, "--folds", 3, "--cluster", "home")
        model = tmp_path / "policy.json"
        assert run(*learn, "--out", model) == 0
        printed = capsys.readouterr()
        assert "  home" not in printed.err  # no column that the tree may ask
        own = policy.evaluate(
            PolicyTree(1, min_samples_leaf=10), frame[["age", "income"]], frame["arm"].to_numpy(), frame["sales"],
            folds=3, cluster=frame["home"], random_state=0,
        )  # fmt: skip
        assert f"Mean reward of the policy: {own.value}" in printed.out
        page = ("report", model, log, *LOGGED, "--folds", 3, "--time-limit", 1, "--out", tmp_path / "page.html")
        assert run(*page, "--cluster", "home") == 0
        assert run(*page, "--force", "--cluster", "hom") == 2
        assert "has no column 'hom'" in capsys.readouterr().err
        frame.loc[4, "home"] = np.nan
        frame.to_csv(log, index=False)
        assert run(*learn) == 2
        assert "line 6: no value in column 'home'; --drop-missing" in capsys.readouterr().err
        assert run("policy", log, "--rewards", "age", "income", "--cluster", "home", "--drop-missing") == 2
        assert "--cluster is about a log of decisions" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("fit data.csv --lable y", "certree fit: there is no option --lable; did you mean --label? See"),
            ("fit data.csv --lab y --depth -1", "--depth: '-1' is neither a whole number of at least 0 nor 'none'"),
            ("", "certree: name a command: fit, predict, show, verify, policy, "),
            ("fitt data.csv", "certree: there is no command 'fitt'; did you mean fit? See certree --help"),
            ("mend data.csv", "certree: there is no command 'mend'; the commands are fit, predict, "),
        ],
    )
    def test_slips_of_the_pen(self, command: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            run(*command.split())
        assert ended.value.code == 2
        assert said in capsys.readouterr().err

    def test_one_tree_is_not_told_as_many(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "data.csv"
        path.write_text("a,b,c,d\n1,x,0,1\n2,x,0,1\n3,y,1,0\n", encoding="utf-8")
        assert run("alternatives", path, "--label", "b", "--ignore", "c", "d", "--tolerance", 0, "--depth", 1) == 0
        assert capsys.readouterr().out.startswith("1 tree has an objective of at most ")
        rewards = ("alternatives", path, "--rewards", "c", "d", "--ignore", "b", "--tolerance", 0, "--depth", 1)
        assert run(*rewards) == 0
        assert capsys.readouterr().out.startswith("1 policy has an objective of at least ")
        assert run(*rewards, "--budget", 1, "--control", "c") == 0
        assert capsys.readouterr().out.startswith("1 policy spends at most 1 per row and has an objective of at ")

    def test_files_of_another_kind(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "data.csv").write_text("a,b\n1,x\n2,y\n", encoding="utf-8")
        (tmp_path / "Sheet.XLSX").write_bytes(b"PK\x03\x04")
        assert run("fit", tmp_path / "Sheet.XLSX", "--label", "b") == 2
        assert "is an Excel file: save the sheet as CSV UTF-8" in capsys.readouterr().err
        assert run("predict", tmp_path / "data.csv", tmp_path / "model.json") == 2
        assert "data.csv is not JSON; name a file that model.save, fit --out or policy --out" in capsys.readouterr().err
