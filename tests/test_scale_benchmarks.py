"""What the benchmarks of Dask make of their figures; the figures here are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed")

from benchmarks import long_search, scale
from benchmarks.record import read
from benchmarks.report import write_study

MEMORY = {1: 4 * 10**9, 2: 2 * 10**9}


def scaled(seconds: float, /, **more: object) -> scale.Measured:
    own = scale.Measured(seconds=[seconds, seconds + 1, 99.0], busy=[(1.0, 0.5)] * 3, answer="optimal", peak=1000.0)
    own.is_certified = True
    for name, value in more.items():
        setattr(own, name, value)
    return own


def scales(**more: object) -> dict[tuple[str, int, int], scale.Measured]:
    return {
        ("certree", 100, 1): scaled(9.0),
        ("certree", 100, 2): scaled(4.0),
        ("certree", 1000, 1): scaled(59.0),
        ("certree", 1000, 2): scaled(39.0, **more),
        ("xgboost", 1000, 2): scale.Measured(answer="xgboost: exceeded the memory of a worker"),
    }


@pytest.mark.parametrize(
    ("change", "met"),
    [
        ({}, [True, True, True, None]),
        ({"is_certified": False}, [False, True, True, None]),
        ({"peak": 1908.0}, [False, True, True, None]),
        ({"peak": 0.0}, [False, True, True, None]),
        ({"seconds": [41.0] * 3}, [True, False, True, None]),
        ({"seconds": [55.1] * 3}, [True, False, False, None]),
    ],
)
def test_what_is_said_of_scale_follows_from_the_figures(change: dict[str, object], met: list[bool | None]) -> None:
    assert [verdict.is_met for verdict in scale.judge(scales(**change), MEMORY)] == met


def test_every_fit_is_written_and_what_failed_too(tmp_path: Path) -> None:
    write_study(scale.make_study(scales(), MEMORY, ["the table"]), tmp_path)
    figures = read(tmp_path / "scale.csv")["figures"]
    assert [own["seconds"] for own in figures if own["contender"] == "certree"] == [
        9.0, 10.0, 99.0, 4.0, 5.0, 99.0, 59.0, 60.0, 99.0, 39.0, 40.0, 99.0,
    ]  # fmt: skip
    assert figures[-1]["answer"] == "xgboost: exceeded the memory of a worker"
    page = (tmp_path / "scale.md").read_text()
    assert "two workers at least 1.5 times as fast as one — 1.50 times" in page
    assert "the table" in page


def searched(seconds: float, answer: str = "optimal, objective 0.3", is_killed: bool = False) -> long_search.Measured:
    return long_search.Measured([seconds], [seconds], [7], [answer], [is_killed])


@pytest.mark.parametrize(
    ("two", "killed", "met"),
    [
        (searched(80.0), searched(90.0, is_killed=True), [True, True]),
        (searched(81.0), searched(90.0, is_killed=True), [False, True]),
        (searched(80.0), searched(90.0, is_killed=False), [True, False]),
        (searched(80.0), searched(90.0, "optimal, objective 0.4", is_killed=True), [True, False]),
        (searched(80.0, "time_limit, objective 0.3"), None, [False]),
    ],
)
def test_what_is_said_of_a_long_search_follows_from_the_figures(
    two: long_search.Measured, killed: long_search.Measured | None, met: list[bool]
) -> None:
    study = long_search.make_study({1: searched(120.0), 2: two}, killed, [])
    assert [verdict.is_met for verdict in study.verdicts] == met
    too_short = long_search.make_study({1: searched(119.0), 2: searched(60.0)}, None, [])
    assert [verdict.is_met for verdict in too_short.verdicts] == [False]
