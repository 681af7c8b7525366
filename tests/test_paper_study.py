"""The paper's study: its plans, a runner that survives kills and rivals of every kind, and the page that it writes."""

from __future__ import annotations

import csv
import datetime
import math
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import __main__ as command
from benchmarks import adapters
from benchmarks.adapters import CONTENDERS, Contender, UnsupportedError
from benchmarks.paper import cell as cells
from benchmarks.paper import claims, figures, look, measured, runner, speed
from benchmarks.paper import page as pages
from benchmarks.paper import plan as plans
from benchmarks.paper.ledger import COLUMNS, KEY, Ledger, key_of, read_rows
from benchmarks.paper.plan import Cell, Limits, Method, Plan, read_plan
from benchmarks.paper.prepare import double_rows, take_split
from benchmarks.paper.sets import SETS, load_set, split_rows
from benchmarks.tables import TABLES, AbsentError, load

MEASURED = ("cpu", "wall", "took", "prepare", "megabytes")
"""Columns that differ from run to run."""


def quietly(plan: Plan, path: Path) -> list[dict[str, str]]:
    return runner.run_plan(plan, path, say=lambda text: None)


def lasting(rows: list[dict[str, str]]) -> list[tuple[str, ...]]:
    """What must be the same in every run."""
    return sorted(tuple(row[name] for name in COLUMNS if name not in MEASURED) for row in rows)


# Plans ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["published", "quick"])
def test_plans_name_sets_and_methods_that_exist(name: str) -> None:
    plan = read_plan(name)
    keys = [cell.key for cell in plan.cells]
    assert len(set(keys)) == len(keys)
    for cell in plan.cells:
        assert cell.table in SETS or cell.table in TABLES
        assert cell.method.contender in CONTENDERS or cell.method.contender in ("histogram", "printed")
    order = [(cell.tier, cell.split) for cell in plan.cells]
    assert order == sorted(order)


def test_the_published_plan_is_the_papers() -> None:
    plan = read_plan("published")
    ours = [cell for cell in plan.cells if cell.study == "trade-off"]
    assert {cell.split for cell in ours} == {0, 1, 2, 3, 4}
    own = {cell.method.name for cell in ours if cell.method.contender == "certree"}
    assert len(own) == 12
    assert {cell.depth for cell in ours if cell.method.name == "direct, guessed"} == {2, 3, 4, 5, 6}
    rivals = {cell.method.contender for cell in ours} - {"certree"}
    assert rivals == {
        "cart", "boosting", "streed", "contree", "gosdt", "pytrees", "pydl85", "licketysplit", "imodels",
    }  # fmt: skip
    tables = {
        "lalonde": "0.1, 0.05, 0.02, 0.01", "broward": "0.005, 0.002, 0.001, 0.0005",
        "coupon": "0.005, 0.002, 0.001, 0.0005", "diabetes": "0.005, 0.002, 0.001, 0.0005",
        "compas": "0.005, 0.002, 0.001, 0.0005, 0.0002", "fico": "0.01, 0.005, 0.002, 0.001, 0.0005",
        "netherlands": "0.01, 0.005, 0.002, 0.001", "netherlands-20000": "0.01, 0.005, 0.002, 0.001",
    }  # fmt: skip
    ways = [f"{way}{tests}" for way in ("direct", "duplicate", "sample") for tests in ("", ", guessed")]
    own_setting = sorted([*ways, *(f"{way}, reference" for way in ways)])
    assert own == set(own_setting)
    asked = {(cell.table, cell.method.name, cell.depth, cell.penalty, cell.split) for cell in ours}
    whole = {
        (table, method, depth, float(penalty), split)
        for table, penalties in tables.items()
        for penalty in penalties.split(", ")
        for method in own_setting
        for depth in range(2, 7)
        for split in range(5)
    }
    assert whole == {cell for cell in asked if cell[1] in own_setting}
    # What the page says about the plan.
    said = pages._settings(plan)
    assert [f"| {look.SHOWN[table]} | {penalties} |" for table, penalties in tables.items()] == said[2:10]
    assert f"| {'; '.join(own_setting)} | 2 to 6 | all | 850 |" in said
    assert "| DL8.5; DL8.5 (pytrees-rs) | 2 to 5 | none | 160 |" in said
    assert "| LicketySPLIT; STreeD | 2 to 4 | largest and smallest | 240 |" in said
    assert "| LicketySPLIT; STreeD | 5 | smallest | 40 |" in said
    assert "| imodels | no limit | smallest | 40 |" in said
    # Rivals have the thirty seconds of processor time, and the memory, that the study allows.
    of_rivals = [cell.limits for cell in ours if cell.method.contender in rivals]
    assert {(limits.seconds, limits.gigabytes) for limits in of_rivals} == {(30, 8)}
    assert pages._say_limits(plan) == "30 s of processor time (2 s for certree where accuracy is compared)"
    assert pages._say_limits(read_plan("quick")) == "2 s of processor time"
    assert {cell.percent for cell in plan.cells if cell.study == "sample size"} == {100, 200, 300, 400, 500, 600}


def test_a_plan_that_is_not_there_or_asks_twice_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no plan 'nothing'; there are published, quick"):
        read_plan("nothing")
    grid = '[[grids]]\nstudy = "weights"\nsets = ["tiny"]\nmethods = ["weights"]\ndepths = [0]\npenalties = [0.1]\n'
    grid += "splits = [-1]\n"
    head = "[limits]\nseconds = 1\npatience = 2\ngigabytes = 4\n[sets.tiny]\npenalties = [0.1]\n"
    (tmp_path / "twice.toml").write_text(head + grid + grid)
    with pytest.raises(SystemExit, match="asks twice for weights tiny weights"):
        read_plan(str(tmp_path / "twice.toml"))


# Data -----------------------------------------------------------------------------------------------------------------


def test_splits_keep_the_shares_of_labels_and_no_row_twice() -> None:
    data = load_set("lalonde-rise")
    rows, tested = split_rows(data, 0)
    assert sorted([*rows, *tested]) == list(range(len(data.y)))
    assert data.y[tested].mean() == pytest.approx(data.y.mean(), abs=0.01)
    assert len(tested) == pytest.approx(0.2 * len(data.y), abs=1)
    assert set(tested) != set(split_rows(data, 1)[1])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lalonde", (722, 7)),
        ("broward", (1954, 38)),
        ("coupon", (2653, 87)),
        ("diabetes", (5000, 1245)),
        ("compas", (6907, 7)),
        ("fico", (10459, 23)),
        ("netherlands", (11000, 9)),
        ("netherlands-20000", (20000, 22)),
    ],
)
def test_sets_are_those_of_the_paper(name: str, shape: tuple[int, int]) -> None:
    try:
        data = load_set(name)
    except AbsentError as reason:
        pytest.skip(str(reason))
    assert data.X.shape == shape
    assert len(data.columns) == shape[1]
    assert (data.weights > 0).all()
    assert data.y.max() == (2 if name == "lalonde" else 1)
    # The page has a table of these, with the tests that they make.
    tests = sum(len(np.unique(column)) - 1 for column in data.X.T)
    raw = {"coupon": 21, "diabetes": 34}.get(name, shape[1])
    words = f"| {look.SHOWN[name]} | {shape[0]:,} | {raw} | {tests:,} |"
    assert words in (plans.HERE / "page.md").read_text(encoding="utf-8")


def test_the_papers_own_trees_are_judged(tmp_path: Path) -> None:
    limits = Limits(10, 4, 4)
    asked = Cell("case study", "lalonde", Method("printed", "printed"), 2, 0.01, -1, math.nan, limits, 1, 100)
    (row,) = quietly(Plan("printed", [asked]), tmp_path / "rows.csv")
    if row["status"] == "absent":
        pytest.skip(row["remark"])
    assert (row["status"], row["leaves"]) == ("printed", "4")
    data = load_set("lalonde")
    education, re75 = (data.X[:, data.columns.index(name)] for name in ("education", "re75"))
    answers = np.where(re75 <= 897.4097, np.where(education <= 11.5, 1, 2), np.where(re75 <= 21497.51, 1, 0))
    right = data.weights[answers == data.y].sum() / data.weights.sum()
    assert float(row["train"]) == pytest.approx(right, abs=1e-6)
    assert float(row["objective"]) == pytest.approx(1 - right + 4 * 0.01, abs=1e-6)


def test_copies_are_in_proportion_to_weights() -> None:
    split = take_split("lalonde-rise", 0)
    copied = split.copied(split.table, 100)
    expected = np.round(100 * split.weights / split.weights.max())
    assert len(copied.y) == expected.sum()
    doubled = double_rows("tiny-continuous", 150, 0)
    assert doubled.weights.sum() == 500
    assert set(doubled.weights) == {2.0, 3.0}
    assert doubled.guess is double_rows("tiny-continuous", 100, 0).guess


# The file of results --------------------------------------------------------------------------------------------------


def key_of_number(number: int) -> tuple[str, ...]:
    return ("trade-off", "tiny", "a, b", "2", "0.01", "", str(number))


def test_a_row_that_is_cut_anywhere_is_cut_off_and_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    monkeypatch.setattr(os, "fsync", lambda file: None)  # hundreds of files, none of them to be kept
    ledger = Ledger(path)
    ledger.note("a machine, with λ")
    for number in range(2):
        ledger.append(key_of_number(number), {"status": "failed", "remark": 'a "line"\nand λ', "cpu": 0.123456789})
    ledger.close()
    whole = path.read_bytes()
    assert whole.count(b"\n") == 4
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        complete = max(whole[:length].count(b"\n") - 2, 0)
        assert len(read_rows(path)) == complete
        again = Ledger(path)
        assert len(again.rows) == complete
        again.note("a machine, with λ")
        for number in range(complete, 2):
            again.append(key_of_number(number), {"status": "failed", "remark": 'a "line"\nand λ', "cpu": 0.123456789})
        again.close()
        assert path.read_bytes() == whole


def test_a_row_is_never_written_twice_and_one_run_appends_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "rows.csv")
    ledger.append(key_of_number(0), {"status": "optimal"})
    with pytest.raises(ValueError, match="measured already"):
        ledger.append(key_of_number(0), {"status": "optimal"})
    monkeypatch.setattr("benchmarks.paper.ledger.LOCK_SECONDS", 0.0)
    with pytest.raises(SystemExit, match="another run"):
        Ledger(tmp_path / "rows.csv")
    ledger.close()
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit, match="other columns"):
        read_rows(tmp_path / "other.csv")
    (tmp_path / "short.csv").write_text(",".join(COLUMNS) + "\n# a machine\n1,2\n")
    with pytest.raises(SystemExit, match="line 3 has 2 fields"):
        read_rows(tmp_path / "short.csv")


def test_every_row_stands_below_the_machine_that_measured_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, limits = tmp_path / "rows.csv", Limits(1, 4, 4)
    asked = [
        Cell("weights", "tiny", Method("weights", "histogram"), 0, 0.0, -1, float(copy), limits, 1, 10)
        for copy in range(3)
    ]
    for machine, cells_asked in (("old", asked[:1]), ("old", asked[:2]), ("new", asked), ("newest", asked)):
        found = {"processor": f"An {machine} one", "cores": 2, "memory_gigabytes": 8}
        monkeypatch.setattr(runner, "describe", lambda found=found: found)
        quietly(Plan("noted", cells_asked), path)
    marks = [line[:8] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert marks == ["# An old", "weights,", "weights,", "# An new", "weights,"]  # the newest had nothing to do
    today = datetime.date.today().isoformat()
    old, new = (f"An {machine} one, 2 cores, 8 GB, {today}, one cell at a time" for machine in ("old", "new"))
    rows = read_rows(path)
    assert [row["note"] for row in rows] == [old, old, new]
    pages.write_page(Plan("noted", asked[:2]), rows[:2], tmp_path / "noted.md")
    assert f"- **Measured on** {old}.\n" in (tmp_path / "noted.md").read_text(encoding="utf-8")


def test_the_page_says_which_rows_are_of_which_machine_and_how_undisturbed_they_were() -> None:
    slow = [row_of(method, depth=depth, note="slow") for method in ("CART", "direct") for depth in (2, 3, 4)]
    quick = [row_of("imodels", depth=0, note="quick"), row_of("GOSDT", depth=2, note="quick", wall=2)]
    assert measured.say_where([*slow, *quick]) == [
        "**Measured on** 2 machines, days or runs:",
        "  - slow: 6 cells, depth 2 to 4: “CART”, “direct”",
        "  - quick: 2 cells, depth no limit: “imodels”; depth 2: “GOSDT”",
    ]
    assert measured.say_where([row | {"note": ""} for row in slow]) == ["**Measured on** a machine that was not noted."]
    timed = [row_of("CART", cpu=1, wall=wall) for wall in (1, 1.1, 1.3)]
    short = row_of("CART", cpu=0.1, wall=1)
    assert "Of the 3 fits of at least 0.3 s, 1 (33.3%) took more than 1.2 times as long" in (
        measured.say_pace([*timed, short, row_of("CART", cpu="", status="crashed")])
    )
    assert "No fit took 0.3 s" in measured.say_pace([short])
    late = [row_of("direct", cpu=cpu, limit=2, status="time_limit") for cpu in (1.9, 2.0, 4.0)]
    assert "took 1.9 to 4.0 s where the limit was 2 s (3 searches, 2.0 s at the median)." in measured.say_ends(late)
    assert measured.say_ends(timed) == "No limit ended a search."


def test_the_page_says_what_fits_took_that_were_measured_again_alone() -> None:
    rows = [row_of("CART", split=split, cpu=2 ** (split % 2)) for split in range(40)]
    again = [row | {"cpu": f"{float(row['cpu']) * (1.5 if split == 7 else 0.98)}"} for split, row in enumerate(rows)]
    found = measured.say_again(rows, again)
    assert "40 fits of rivals, drawn at random from those of at least 1 s, were measured again" in found
    assert "0.99 times as long by geometric mean, and nine in ten of them 0.98 to 0.98 times." in found
    assert measured.say_again(rows, []) == measured.say_again([], again) == ""


# Rivals of every kind -------------------------------------------------------------------------------------------------


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from Linux")


def hang(*_: Any, **__: Any) -> Any:
    time.sleep(1000)


def spin(*_: Any, **__: Any) -> Any:
    while True:
        pass


def abort(*_: Any, **__: Any) -> Any:
    os.abort()


def leave(*_: Any, **__: Any) -> Any:
    os._exit(3)


def eat(*_: Any, **__: Any) -> Any:
    eaten = []
    while True:
        eaten.append(np.ones(4 << 20))
        time.sleep(0.001)


def ask_too_much(*_: Any, **__: Any) -> Any:
    return np.ones(1 << 40)


def refuse(*_: Any, **__: Any) -> Any:
    raise UnsupportedError("not with these labels")


def raise_fault(*_: Any, **__: Any) -> Any:
    raise RuntimeError("broken\nin two lines")


def only_when_it_counts(fit: Any) -> Any:
    """A rival that behaves in the tiny fit that warms it up."""

    def asked(table: Any, *rest: Any, **options: Any) -> Any:
        return None if table.name == "tiny" else fit(table, *rest, **options)

    return asked


@pytest.mark.parametrize(
    ("fit", "status", "remark"),
    [
        (hang, "timeout", "by the clock"),
        (spin, "timeout", "of processor time"),
        (abort, "crashed", "SIGABRT"),
        (leave, "crashed", "exit code 3"),
        pytest.param(eat, "memory", "more than 1 GB", marks=ON_LINUX),
        (ask_too_much, "memory", "asked for more"),
        (refuse, "unsupported", "not with these labels"),
        (raise_fault, "failed", "RuntimeError: broken in two lines"),
    ],
)
def test_a_bad_rival_is_a_row(
    fit: Any, status: str, remark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rival = Contender("rival", "scikit-learn", only_when_it_counts(fit), is_exact=False, knows_weights=True)
    monkeypatch.setitem(CONTENDERS, "rival", rival)
    monkeypatch.setattr(runner, "SPARE_SECONDS", 0.5 if fit is hang else 60.0)
    limits = Limits(0.01, 4, 1.0)
    bad = Cell("trade-off", "tiny-continuous", Method("rival", "rival"), 2, 0.01, 0, math.nan, limits, 1, 10)
    good = replace(bad, method=Method("CART", "cart"))
    rows = quietly(Plan("bad", [bad, good]), tmp_path / "rows.csv")
    assert [row["status"] for row in rows] == [status, "greedy"]
    assert remark in rows[0]["remark"]
    assert float(rows[0]["took"]) > 0


@pytest.mark.parametrize("knows_weights", [True, False])
def test_rivals_that_take_no_weights_get_copies_of_rows(
    knows_weights: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(table: Any, depth: int, penalty: float, weights: Any, limit: float) -> Any:
        raise UnsupportedError(f"{len(table.y)} rows, {'no' if weights is None else len(weights)} weights")

    rival = Contender("rival", "scikit-learn", only_when_it_counts(tell), is_exact=False, knows_weights=knows_weights)
    monkeypatch.setitem(CONTENDERS, "rival", rival)
    asked = Cell("trade-off", "lalonde-rise", Method("rival", "rival"), 2, 0.01, 0, math.nan, Limits(1, 4, 4), 1, 10)
    (row,) = quietly(Plan("copies", [asked]), tmp_path / "rows.csv")
    weights = take_split("lalonde-rise", 0).weights
    copies = int(np.round(10 * weights / weights.max()).sum())
    words = f"{len(weights)} rows, {len(weights)} weights" if knows_weights else f"{copies} rows, no weights"
    assert row["remark"] == words


def test_a_missing_rival_and_absent_data_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTENDERS, "rival", Contender("rival", "no-such-package", hang, is_exact=False))
    limits = Limits(1, 4, 4)
    missing = Cell("trade-off", "tiny", Method("rival", "rival"), 2, 0.01, 0, math.nan, limits, 1, 10)
    monkeypatch.delenv("CERTREE_DATA", raising=False)
    load_set.cache_clear()
    absent = replace(missing, table="fico", method=Method("CART", "cart"))
    rows = quietly(Plan("bad", [missing, absent]), tmp_path / "rows.csv")
    assert [row["status"] for row in rows] == ["missing", "absent"]
    assert rows[0]["remark"] == "no-such-package is not installed"
    assert "CERTREE_DATA" in rows[1]["remark"]


def test_what_was_not_there_is_measured_once_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, limits = tmp_path / "rows.csv", Limits(1, 4, 4)
    weights = Cell("weights", "tiny", Method("weights", "histogram"), 0, 0.0, -1, math.nan, limits, 1, 10)
    cart = Cell("trade-off", "tiny", Method("CART", "cart"), 2, 0.0, 0, math.nan, limits, 1, 10)
    plan = Plan("later", [weights, cart, replace(cart, method=Method("rival", "rival"))])
    rival = CONTENDERS["cart"]
    monkeypatch.setitem(CONTENDERS, "rival", replace(rival, package="no-such-package"))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(runner, "load_set", absent_set)
        assert [row["status"] for row in quietly(plan, path)] == ["absent", "absent", "missing"]
        before = path.read_bytes()
        assert [row["status"] for row in quietly(plan, path)] == ["absent", "absent", "missing"]
        assert path.read_bytes() == before
    # The data have come, and then the library.
    assert sorted(row["status"] for row in quietly(plan, path)) == ["described", "greedy", "missing"]
    monkeypatch.setitem(CONTENDERS, "rival", rival)
    assert sorted(row["status"] for row in quietly(plan, path)) == ["described", "greedy", "greedy"]
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == 1 + len(plan.cells)
    assert {key_of(row) for row in read_rows(path)} == {cell.key for cell in plan.cells}
    # What is there stays, whatever has gone since.
    monkeypatch.setattr(runner, "load_set", absent_set)
    assert sorted(row["status"] for row in quietly(plan, path)) == ["described", "greedy", "greedy"]


def absent_set(name: str) -> Any:
    raise AbsentError(f"{name} is not there")


def test_rows_are_taken_out_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.csv"
    ledger = Ledger(path)
    ledger.note("a machine")
    for number in range(3):
        ledger.append(key_of_number(number), {"status": "missing"})
    whole = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no place left")

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", fail)
        with pytest.raises(OSError, match="no place left"):
            ledger.forget({key_of_number(1)})
    ledger.close()
    assert path.read_bytes() == whole
    again = Ledger(path)
    again.forget(set())
    assert path.read_bytes() == whole
    again.forget({key_of_number(1)})
    assert [key_of(row) for row in again.rows] == [key_of_number(0), key_of_number(2)]
    # The new file is locked, too, and whoever waits for the old one finds it.
    monkeypatch.setattr("benchmarks.paper.ledger.LOCK_SECONDS", 0.0)
    with pytest.raises(SystemExit, match="another run"):
        Ledger(path)
    again.append(key_of_number(1), {"status": "optimal"})
    again.close()
    assert [row["status"] for row in read_rows(path)] == ["missing", "missing", "optimal"]
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_limits_by_the_clock_follow_the_pace_of_the_machine() -> None:
    limits, pace = Limits(2.0, 8.0, 4.0), runner.Pace()
    assert 2.0 <= pace.stretch(limits) <= 8.0
    for _ in range(9):
        pace.learn({"cpu": 1.0, "wall": 0.5})
    assert pace.stretch(limits) == 2.0
    for _ in range(9):
        pace.learn({"cpu": 1.0, "wall": 3.0})
        pace.learn({"cpu": 0.001, "wall": 3.0})
        pace.learn({"status": "failed"})
    assert pace.stretch(limits) == 6.0
    for _ in range(9):
        pace.learn({"cpu": 1.0, "wall": 30.0})
    assert pace.stretch(limits) == 8.0


def test_the_time_left_is_told_by_what_cells_like_these_took() -> None:
    row = dict.fromkeys(COLUMNS, "") | {"set": "tiny", "method": "CART", "depth": "2", "took": "3"}
    other = row | {"method": "direct", "took": "5"}
    limits = Limits(1, 4, 4)
    cart = Cell("trade-off", "tiny", Method("CART", "cart"), 2, 0.01, 0, math.nan, limits, 1, 10)
    assert runner.estimate([cart], [row, other]) == 3.0
    assert runner.estimate([replace(cart, table="elsewhere")], [row, other]) == 3.0
    assert runner.estimate([cart, replace(cart, depth=5)], [row, other]) == 3.0 + 4.0
    assert runner.estimate([cart], []) == 1.0


# Kills ----------------------------------------------------------------------------------------------------------------


def small_plan() -> Plan:
    limits, never = Limits(2, 8, 4), math.nan
    ours = [Method(name, "certree", options={"method": name}) for name in ("direct", "sample")]
    fits = [
        Cell("trade-off", "tiny-continuous", method, depth, 0.01, split, never, limits, 1, 10)
        for split in (0, 1)
        for method in (*ours, Method("CART", "cart"))
        for depth in (1, 2)
    ]
    weights = Method("weights", "histogram")
    described = [
        Cell("weights", name, weights, 0, 0.0, -1, float(copy), limits, 1, 10)
        for name in ("tiny", "tiny-continuous")
        for copy in range(10)
    ]
    return Plan("small", [*fits, *described])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside idle threads
def test_twenty_kills_lose_no_row_and_double_none(tmp_path: Path) -> None:
    plan = small_plan()
    started = time.perf_counter()
    undisturbed = quietly(plan, tmp_path / "undisturbed.csv")
    seconds = time.perf_counter() - started
    assert len(undisturbed) == len(plan.cells)

    def check(path: Path) -> None:
        assert lasting(read_rows(path)) == lasting(undisturbed)
        with path.open(newline="") as file:
            lines = csv.DictReader(line for line in file if not line.startswith("#"))
            keys = [tuple(row[name] for name in KEY) for row in lines]
        assert sorted(keys) == sorted(cell.key for cell in plan.cells)

    def begin(path: Path) -> None:
        """Some libraries were missing in an earlier run, so that rows are taken out, too."""
        ledger = Ledger(path)
        for cell in plan.cells[::3]:
            ledger.append(cell.key, {"status": "missing"})
        ledger.close()

    path, moments = tmp_path / "killed.csv", random.Random(1)
    kills, lengths = 0, set()
    begin(path)
    while kills < 20:
        child = os.fork()
        if child == 0:
            try:
                quietly(plan, path)
            finally:
                os._exit(0)
        time.sleep(moments.uniform(0, seconds / 8))
        os.kill(child, signal.SIGKILL)
        if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            kills += 1
            lengths.add(path.stat().st_size if path.exists() else 0)
        else:  # It had finished before, so this was no kill. The next ones are of a new run.
            check(path)
            path.unlink()
            begin(path)
    assert len(lengths) > 5  # it was killed at many places
    quietly(plan, path)
    check(path)


# Adapters -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["tiny", "tiny-continuous"])
def test_gosdt_finds_the_same_optimum(table: str) -> None:
    if not CONTENDERS["gosdt"].is_installed:
        pytest.skip("gosdt is not installed")
    data = load(table)
    ours = CONTENDERS["certree"].fit(data, 2, 0.02, None, None)
    theirs = CONTENDERS["gosdt"].fit(data, 2, 0.02, None, 60.0)
    assert theirs.objective == pytest.approx(ours.objective, abs=1e-6)


@pytest.mark.parametrize("name", ["pytrees", "pydl85"])
def test_dl85_makes_the_fewest_errors(name: str) -> None:
    if not CONTENDERS[name].is_installed:
        pytest.skip(f"{CONTENDERS[name].package} is not installed")
    data = load("tiny")
    ours = CONTENDERS["certree"].fit(data, 3, 0.0, None, None)
    assert CONTENDERS[name].fit(data, 3, 0.0, None, 60.0).objective == pytest.approx(ours.objective, abs=1e-9)


@pytest.mark.parametrize("name", ["certree", "cart", "boosting", "streed", "contree", "gosdt", "pytrees", "pydl85"])
def test_adapters_predict_other_rows(name: str) -> None:
    if not CONTENDERS[name].is_installed:
        pytest.skip(f"{CONTENDERS[name].package} is not installed")
    data = load("tiny")
    found = CONTENDERS[name].fit(data, 2, 0.01, None, 60.0)
    assert found.predict is not None
    predicted = np.asarray(found.predict(data.X))
    np.testing.assert_array_equal(np.asarray(found.predict(data.X[:7])), predicted[:7])
    penalty = 0.0 if name == "boosting" else 0.01
    assert found.objective == pytest.approx(adapters.objective(data, predicted, found.leaves, penalty, None))


def test_every_library_has_a_file_of_its_own() -> None:
    folder = Path(adapters.__file__).parent
    files = {Path(sys.modules[own.fit.__module__].__file__ or ""): own.package for own in CONTENDERS.values()}
    assert {path.parent for path in files} == {folder}
    for contender in CONTENDERS.values():
        assert files[Path(sys.modules[contender.fit.__module__].__file__ or "")] == contender.package


def test_a_method_that_copies_rows_has_no_reference() -> None:
    broken = Method("broken", "cart", is_copied=True, has_reference=True)
    asked = Cell("trade-off", "tiny", broken, 2, 0.01, 0, math.nan, Limits(1, 4, 4), 1, 10)
    with pytest.raises(ValueError, match="rows are copied"):
        cells.prepare(asked, 1.0)
    assert plans.WHOLE == -1


# What the rows say ----------------------------------------------------------------------------------------------------


def row_of(method: str, **fields: Any) -> dict[str, str]:
    values = {"study": "trade-off", "set": "tiny", "depth": "2", "penalty": "0.01", "split": "0", "status": "optimal"}
    values |= {"method": method, "leaves": "4", "train": "0.8", "test": "0.7", "cpu": "1", "objective": "0.24"}
    return dict.fromkeys(COLUMNS, "") | values | {name: str(value) for name, value in fields.items()}


def test_a_tree_leads_over_ours_that_have_no_more_leaves() -> None:
    ours = [row_of(look.PAPERS, leaves=4, train=0.8), row_of(look.PAPERS, leaves=8, train=0.9)]
    rivals = [row_of("CART", leaves=3, train=0.7), row_of("CART", leaves=4, train=0.75)]
    rivals += [row_of("CART", leaves=7, train=0.85), row_of("CART", leaves=9, train=0.9)]
    leads = claims.find_leads([*ours, *rivals, row_of("CART", split=1)], "CART", "train")
    assert [lead for _, lead in leads] == pytest.approx([math.inf, -0.05, 0.05, 0.0])
    assert [row for row, _ in leads] == rivals
    found = claims.find_sparsity([*ours, *rivals], "train")
    assert found.verdict == "not confirmed"
    assert "Of 4 trees of rivals, 2 (50%)" in found.found
    assert claims.find_sparsity([*ours, rivals[1]], "train").verdict == "confirmed"
    assert "a limit ended" not in found.found
    late = row_of(look.PAPERS, leaves=8, train=0.8, status="time_limit", penalty=0.001)
    assert "for 1 of them, a limit ended our search" in claims.find_sparsity([*ours, *rivals, late], "train").found


def test_our_tree_is_not_chosen_by_the_rows_that_it_is_tested_on() -> None:
    ours = [row_of(look.PAPERS, train=0.8, test=0.6), row_of(look.PAPERS, train=0.7, test=0.7, depth=3)]
    rival = row_of("CART", test=0.65)
    ((_, lead),) = claims.find_leads([*ours, rival], "CART", "test")
    assert lead == pytest.approx(0.05)
    found = claims.find_sparsity([*ours, rival], "test")
    assert found.verdict == "not confirmed"
    assert "chosen by its test accuracy, as one reads a figure, it would be 100%" in found.found


def test_a_proved_tree_that_is_beaten_is_told() -> None:
    ours = row_of(look.PAPERS, objective=0.24)
    assert claims.find_optimality([ours, row_of("STreeD", objective=0.24)]).verdict == "confirmed"
    beaten = claims.find_optimality([ours, row_of("STreeD", objective=0.23)])
    assert beaten.verdict == "not confirmed"
    assert "Lower are STreeD on tiny 0 2 0.01." in beaten.found
    # All thresholds are more than the guessed ones: ConTree may be better there.
    assert claims.find_optimality([ours, row_of("ConTree", objective=0.23)]).verdict == "not measured"
    whole = row_of("direct", objective=0.22)
    assert claims.find_optimality([whole, row_of("ConTree", objective=0.21)]).verdict == "not confirmed"
    # Trees of those that know no penalty are priced at each λ; CART knows all thresholds.
    free = row_of("DL8.5", penalty=0, objective=0.2, leaves=4)
    assert claims.find_optimality([ours, free]).verdict == "confirmed"
    assert claims.find_optimality([ours, free | {"leaves": "3"}]).verdict == "not confirmed"
    cart = row_of("CART", penalty=0, objective=0.2, leaves=5)
    assert claims.find_optimality([ours, cart]).verdict == "not measured"
    assert claims.find_optimality([whole | {"objective": "0.26"}, cart]).verdict == "not confirmed"
    # Its own other methods are counted for themselves.
    found = claims.find_optimality([ours, free, row_of("duplicate, guessed"), row_of("boosting", penalty=0)]).found
    assert "In 1 comparisons with trees of other packages (DL8.5 1), 1 have the same objective and 0 a lower" in found
    assert "In 1 more, the other tree is certree's own" in found
    stopped = row_of(look.PAPERS, status="time_limit")
    assert claims.find_optimality([stopped, row_of("STreeD", objective=0.1)]).verdict == "not measured"


def test_claims_about_time_are_judged() -> None:
    flat = [row_of("direct", study="duplication", percent=q, cpu=1) for q in (0, 1000)]
    copied = [row_of("rows", study="duplication", percent=q, cpu=cpu) for q, cpu in ((0, 1), (1000, 3))]
    assert speed.find_duplication([*flat, *copied]).verdict == "not confirmed"
    quick = [row_of("rows", study="duplication", percent=q, cpu=0.01) for q in (0, 1000)]
    assert speed.find_duplication([*flat, *quick]).verdict == "confirmed"
    found = speed.find_duplication([*flat, *quick]).found
    assert "At depth 2 and λ = 0.01, duplicated rows are faster." in found
    assert "takes 1 to 1 s whatever share is duplicated, as in the paper" in found
    rising = [flat[0], flat[1] | {"cpu": "2"}]
    assert "takes 1 to 2 s over all shares" in speed.find_duplication([*rising, *quick]).found
    greedy = row_of("CART", penalty=0, cpu=0.5, train=0.7)
    less = row_of("DL8.5", train=0.75, penalty=0, leaves=8)
    found = claims.find_time([row_of(look.PAPERS), greedy, less], "train")
    assert found.verdict == "confirmed in part"  # more accurate, but not in almost the same time
    assert "takes 2.0 times as long as CART by geometric mean, or 2 times with the guess" in found.found
    assert "or 6 times with the guess" in claims.find_time([row_of(look.PAPERS, prepare=2), greedy], "train").found
    assert "CART is the fastest of all in 1 of 1 cells" in found.found
    near = row_of(look.PAPERS, cpu=0.6)
    assert claims.find_time([near, greedy, less], "train").verdict == "confirmed"
    # Where CART is the only rival, nothing is said about all of them.
    deep = [near | {"depth": "6"}, greedy | {"depth": "6"}]
    found = claims.find_time([near, greedy, less, *deep], "train").found
    assert "(2, 6) and the smallest penalty" in found
    assert "at least CART's in 2 of 2 cells" in found
    assert "in 1 of the 1 cells (depth 2) where DL8.5 has a tree" in found
    assert "(depth 2), CART is the fastest of all in 1 of 1 cells" in found
    alone = claims.find_time(deep, "train")
    assert alone.verdict == "confirmed"  # of its time: no more is measured
    assert "fastest" not in alone.found
    # Others of today are told, but it is CART and DL8.5 that the paper speaks of.
    found = claims.find_time([near, greedy, less, row_of("ConTree", train=0.9)], "train")
    assert found.verdict == "confirmed"
    assert "the paper's rivals, in 1 of the 1 cells" in found.found
    assert "at least that of every rival in 0." in found.found
    better = less | {"train": "0.85"}
    assert claims.find_time([near, greedy, better], "train").verdict == "confirmed in part"
    quicker = row_of("LicketySPLIT", cpu=0.1)
    assert "CART is the fastest of all in 0 of 1" in claims.find_time([near, greedy, quicker], "train").found
    late = row_of(look.PAPERS, cpu=3)
    assert claims.find_time([late, greedy, better, quicker], "train").verdict == "not confirmed"
    sizes = [
        row_of("sample, guessed", study="sample size", percent=q, train=train) for q, train in ((100, 0.7), (600, 0.8))
    ]
    assert claims.find_sample_size(sizes).verdict == "confirmed"
    level = claims.find_sample_size([*sizes, *(row | {"set": "level", "train": "0.7"} for row in sizes)])
    assert level.verdict == "not confirmed"
    assert "Training accuracy rises on 1 of 2 sets, and test accuracy on 0." in level.found
    late, done = row_of("DL8.5", status="time_limit", limit=10, set="fico"), row_of("DL8.5", limit=10)
    assert claims.find_dl85([late]).verdict == "confirmed"
    assert "in 1 of 2 cells of depth 2 (on FICO)" in claims.find_dl85([late, done]).found
    found = claims.find_dl85([done, row_of("CART", penalty=0, train=0.8, test=0.8)])
    assert "Beside CART at the same depth, its training accuracy is at least as high in 1 of 1 cells (0.00 points" in (
        found.found
    )
    assert "its test accuracy is at least as high in 0 of 1 cells (−10.00 points" in found.found
    assert found.verdict == "confirmed in part"  # it is worse, but not for a limit
    assert claims.find_dl85([done, row_of("CART", penalty=0)]).verdict == "not confirmed"
    beside = claims.find_dl85([done, row_of("CART", penalty=0), row_of(look.PAPERS, leaves=3)]).found
    assert "Beside “direct, guessed” at the smallest penalty, its training accuracy is at least as high in 1 of 1" in (
        beside
    )
    assert "4 leaves on average where ours has 3" in beside
    assert claims.find_dl85([late | {"set": "lalonde"}]).verdict == "not measured"  # the paper leaves it out
    for find in (
        speed.find_duplication,
        speed.find_ways,
        claims.find_dl85,
        speed.find_reference,
        claims.find_sample_size,
    ):
        assert find([]).verdict == "not measured"


def test_the_three_ways_are_judged_by_long_pairs_and_by_all() -> None:
    times = {"direct": 1, "duplicate": 0.5, "sample": 0.1}
    ways = [row_of(f"{way}, guessed", cpu=cpu, train=0.7 if way == "sample" else 0.8) for way, cpu in times.items()]
    found = speed.find_ways(ways)
    assert found.verdict == "confirmed"
    assert "Duplication saves more than a tenth of the direct method's time over long pairs in 1 of 1 search and" in (
        found.found
    )
    assert "Sampling is the least accurate in training." in found.found
    assert found.table[2:] == (
        "| duplicate, guessed | direct, guessed | 0.50 (1) | 0.50 (1) | 0 | 0 | 0.00 | 0.00 |",
        "| sample, guessed | direct, guessed | 0.10 (1) | 0.10 (1) | 0 | 0 | −10.00 | 0.00 |",
        "| sample, guessed | duplicate, guessed | 0.20 (1) | 0.20 (1) | 0 | 0 | −10.00 | 0.00 |",
    )
    swapped = {"1": "1", "0.5": "0.1", "0.1": "0.5"}  # sampling saves less time than duplication
    assert speed.find_ways([row | {"cpu": swapped[row["cpu"]]} for row in ways]).verdict == "confirmed in part"
    assert speed.find_ways([row | {"cpu": "1"} for row in ways]).verdict == "confirmed in part"
    lossy = [row_of(row["method"], train=0.7 if "duplicate" in row["method"] else 0.8) for row in ways]
    assert speed.find_ways(lossy).verdict == "not confirmed"
    # Many fits of milliseconds do not hide a long one, nor a search that only one of the two has finished.
    short = [row_of(f"{way}, guessed", cpu=0.001, split=split) for way in times for split in (1, 2, 3, 4)]
    late = [row_of("direct, guessed", status="time_limit", split=9), row_of("duplicate, guessed", split=9)]
    found = speed.find_ways([*ways, *short, *late])
    assert found.table[2].startswith("| duplicate, guessed | direct, guessed | 0.50 (1) | 0.87 (5) | 1 | 0 |")
    gone = [late[0], row_of("sample, guessed", split=9, status="memory", train="")]
    assert speed.race(gone, "sample, guessed", "direct, guessed").first_alone == 0


def test_reference_models_are_judged_by_time_and_by_what_they_give_up() -> None:
    guided = [row_of("direct", set="fico"), row_of("direct, reference", cpu=0.2, status="guessed", set="fico")]
    found = speed.find_reference(guided)
    assert found.verdict == "confirmed"
    assert "in 1 of 1 pair it is within a hundredth of the optimum" in found.found
    assert "takes at most half of the time on FICO over all thresholds (0.20 in 1 pair)." in found.found
    found = speed.find_reference([guided[0], guided[1] | {"prepare": "3"}])
    assert found.table[2] == "| direct | 0.20 (1) | 3.20 | 0.20 (1) | 3.20 | 0 | 0 |"
    assert "The fit of the reference itself, once per split, takes 3 s (FICO)." in found.found
    far = guided[1] | {"objective": "0.25"}
    assert speed.find_reference([guided[0], far]).verdict == "confirmed in part"
    slow = speed.find_reference([guided[0], far | {"cpu": "1"}])
    assert slow.verdict == "not confirmed"
    assert "saves no more than a tenth on FICO over all thresholds (1.00 in 1 pair)" in slow.found
    short = [row | {"cpu": "0.001", "split": split} for row in guided for split in "1234"]
    late = [guided[0] | {"status": "time_limit", "split": "9"}, guided[1] | {"split": "9"}]
    found = speed.find_reference([*guided, *short, *late])
    assert found.table[2] == "| direct | 0.20 (1) | 0.20 | 0.72 (5) | 0.72 | 1 | 0 |"
    assert "1 search finish only with the reference, and 0 only without it" in found.found


def test_a_rival_that_no_longer_finishes_is_not_said_to_take_so_long() -> None:
    rows = [row_of("direct", study="duplication", percent=q) for q in (0, 1000)]
    rows += [row_of("rows", study="duplication", percent=q) for q in (0, 1000)]
    ends = {0: ("optimal", 2), 100: ("optimal", 4), 200: ("time_limit", 10), 1000: ("timeout", "")}
    for percent, (status, cpu) in ends.items():
        train = "" if status == "timeout" else 0.8
        rows.append(row_of("GOSDT", study="duplication", percent=percent, status=status, cpu=cpu, train=train))
    found = speed.find_duplication(rows).found
    assert "goes from 2 s at 0 % to 4 s at 100 %, and does not always finish from 200 % on" in found


def test_trees_smaller_than_all_of_ours_are_counted() -> None:
    rows = [row_of(look.PAPERS, leaves=4), row_of("CART", leaves=4), row_of("CART", leaves=3, depth=1)]
    found = claims.find_sparsity([*rows, row_of("CART", leaves=4, train=0.9, depth=3)], "train").found
    assert "1 have fewer leaves than any of ours on their split. The other 1 are ahead by 10.00 points" in found


def test_figures_show_every_mean_and_what_a_limit_ended() -> None:
    rows = [row_of("CART", split=split, leaves=leaves, train=0.9) for split, leaves in ((0, 2), (1, 40))]
    rows += [row_of("ConTree", train=0.2, status="time_limit", leaves=1), row_of("boosting", train=0.95)]
    figure = figures.draw_trade_off(rows, "leaves", "train")
    assert figure is not None
    axis = figure.axes[0]
    low, high = axis.get_ylim()
    assert low < 0.2
    assert 0.95 < high <= 1.005
    assert 0.5 < axis.get_xlim()[0] < 1
    marks = {bars.get_label(): bars[0].get_markerfacecolor() for bars in axis.containers}
    assert marks["ConTree"] == "white" != marks["CART"]
    # No error bar says that there may be less than one leaf.
    assert all(min(path.vertices[:, 0]) >= 1 for lines in axis.collections for path in lines.get_paths())


def test_the_published_page_is_what_the_rows_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[1]
    path = root / "benchmarks" / "results" / "paper.csv"
    rows, plan = read_rows(path), read_plan("published")
    assert sorted(tuple(row[name] for name in KEY) for row in rows) == sorted(cell.key for cell in plan.cells)
    # The same rows make the same page on any machine. Its figures take long to draw; those of the quick plan are below.
    shown = sorted(picture.stem for picture in (root / "docs" / "images" / "paper").iterdir())
    monkeypatch.setattr(pages, "draw_all", lambda rows, folder: shown)
    pages.write_page(plan, rows, tmp_path / "paper.md", read_rows(path.with_name("paper-alone.csv")))
    text = (root / "docs" / "paper.md").read_text(encoding="utf-8")
    assert (tmp_path / "paper.md").read_text(encoding="utf-8") == text
    assert sorted(re.findall(r"\(images/paper/(.+)\.png\)", text)) == shown
    assert {row["status"] for row in rows if row["method"] not in look.NO_FITS} <= set(pages.STATUSES)


def test_other_pages_say_of_the_study_what_its_rows_say() -> None:
    root = Path(__file__).parents[1]
    rows, plan = read_rows(root / "benchmarks" / "results" / "paper.csv"), read_plan("published")
    readme, paper = (
        " ".join((root / name).read_text(encoding="utf-8").split()) for name in ("README.md", "docs/background.md")
    )
    findings = {title: finding for title, (_, finding) in pages.find_all(rows).items()}
    counts = Counter(finding.verdict for finding in findings.values())
    words = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    whole, part, none = (words[counts[name]] for name in ("confirmed", "confirmed in part", "not confirmed"))
    n_fits = sum(row["method"] not in look.NO_FITS and row["status"] != "unsupported" for row in rows)
    assert f"in {n_fits:,} fits. Of the paper's ten claims, {whole} hold" in readme
    assert f", {part} hold in part, and {none} do not:" in readme
    told = {
        "Time against the share of rows that are duplicated": "duplicated rows are not faster than weights here",
        "DL8.5 and its time limit": "DL8.5 mostly finishes",
    }
    assert {title for title, words in told.items() if words in readme} == {
        title for title, finding in findings.items() if finding.verdict == "not confirmed"
    }
    methods = [cell.method for cell in plan.cells if cell.method.contender in CONTENDERS]
    rivals = {method.name: CONTENDERS[method.contender] for method in methods if method.contender != "certree"}
    assert len(rivals) == 9  # here and in the lists of suites and changes: nine rivals
    assert len({rival.package for rival in rivals.values()}) == 8
    assert "beside eight other packages" in readme
    assert "beside nine other methods" in paper
    # The table of the page on the paper.
    own = look.of(rows, study="trade-off")
    train, test = (good / total for good, total in (claims.count_equalled(rows, name) for name in ("train", "test")))
    assert f"mostly: {train:.0%} of others' trees are equalled or beaten in training".replace("%", " %") in paper
    assert f"by one of ours with no more leaves, and {test:.0%} in test".replace("%", " %") in paper
    assert findings["Optimal trees"].verdict == "confirmed"
    assert "none has a lower objective than one that is proved optimal" in paper
    sample = [speed.race(own, f"sample{tests}", f"direct{tests}") for tests in speed.TESTS]
    reference = [speed.race(own, f"direct{tests}, reference", f"direct{tests}") for tests in speed.TESTS]
    assert f"less accurate; {say_times(sample)}" in paper
    assert f"{say_times(reference)}, if fitting the reference is not counted" in paper
    alone = sum(race.first_alone for race in reference), sum(race.second_alone for race in reference)
    assert "{} searches finish only with it, and {} only without it".format(*alone) in paper
    assert findings["Accuracy against the size of the sample"].verdict == "confirmed in part"
    assert "a larger sample helps on most data sets" in paper
    dl85 = [row for row in own if row["method"] in look.DL85]
    finished = sum(not look.is_ended(row) for row in dl85)
    assert f"it finishes in 30 s in {finished} of {len(dl85)} cases up to depth 5" in paper
    pairs = [pair for name in look.DL85 for pair in look.same_settings(own, name, look.GREEDY)]
    good = [claims.count_as_good(pairs, figure) for figure in ("train", "test")]
    assert f"as accurate as CART in {good[0]} of {len(pairs)} in training and in {good[1]} in test" in paper


def say_times(races: list[speed.Race]) -> str:
    long, every = (
        [f"{speed.take_ratio(pairs):.2f}" for pairs in them]
        for them in zip(*((race.long, race.done) for race in races), strict=True)
    )
    return (
        f"it takes {long[0]} times (all thresholds) and {long[1]} times (guessed ones) as long in searches of at least "
        f"0.1 s, and {every[0]} and {every[1]} times as long over all"
    )


# The whole ------------------------------------------------------------------------------------------------------------


def test_the_quick_plan_runs_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--suite", "paper", "--quick", "--results", str(tmp_path)]) == 0
    rows = read_rows(tmp_path / "paper-quick.csv")
    assert len(rows) == len(read_plan("quick").cells)
    assert f"{len(rows)} of {len(rows)} cells" in capsys.readouterr().out
    by_method = {row["method"]: row for row in rows}
    assert by_method["direct"]["status"] == "optimal"
    assert by_method["GOSDT"]["status"] in ("optimal", "missing")
    assert all(row["status"] not in ("failed", "crashed", "timeout", "memory") for row in rows)
    same = [row for row in rows if row["study"] == "duplication" and row["percent"] == "100"]
    assert len({row["objective"] for row in same}) == 1
    page = (tmp_path / "paper-quick.md").read_text(encoding="utf-8")
    for name in ("duplication", "sparsity-train", "sparsity-test", "time-train", "time-test", "sample-size", "weights"):
        assert f"{name}.png" in page
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / line.split("](")[1].rstrip(")")).stat().st_size > 1000
