"""Data sets: the embedded one is the published one, generated ones are what they say, named ones are checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from certree.datasets import fetch, load_lalonde, make_policy, make_weighted
from certree.datasets.files import read_csv, to_array, to_frame, to_labels
from certree.datasets.named import SOURCES

needs_data = pytest.mark.skipif(not os.environ.get("CERTREE_DATA"), reason="CERTREE_DATA names no data directory")


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class TestLalonde:
    def test_holds_what_its_card_says(self) -> None:
        frame = load_lalonde(as_frame=True).frame
        assert frame.shape == (722, 9)
        assert not frame.isna().to_numpy().any()
        assert frame["treat"].sum() == 297
        assert frame[["black", "hispanic", "married", "nodegree", "treat"]].isin([0, 1]).to_numpy().all()
        assert ((frame["education"] < 12) == frame["nodegree"].astype(bool)).all()
        means = frame.groupby("treat")["re78"].mean()
        assert means[1] == pytest.approx(5976.35, abs=0.005)
        assert means[0] == pytest.approx(5090.05, abs=0.005)
        assert frame.duplicated().sum() == 17
        assert (frame["re75"] == 0).mean() == pytest.approx(0.40, abs=0.005)

    def test_arrays_and_frames_hold_the_same(self) -> None:
        arrays, frames = load_lalonde(), load_lalonde(as_frame=True)
        assert arrays.feature_names == frames.feature_names == list(frames.data.columns)
        np.testing.assert_array_equal(arrays.data, frames.data)
        np.testing.assert_array_equal(arrays.target, frames.target)
        np.testing.assert_array_equal(arrays.treatment, frames.treatment)
        assert arrays.treatment.dtype == np.int64
        assert "Data card" in arrays.DESCR

    @needs_data
    def test_is_the_table_of_the_data_directory(self) -> None:
        columns = list(load_lalonde(as_frame=True).frame.columns)
        ours, theirs = (
            frame.sort_values(columns).reset_index(drop=True)
            for frame in (load_lalonde(as_frame=True).frame, fetch("lalonde", as_frame=True).frame)
        )
        pd.testing.assert_frame_equal(ours, theirs)


class TestMakePolicy:
    def test_same_seed_same_log(self) -> None:
        one, two, other = (make_policy(200, random_state=seed) for seed in (3, 3, 4))
        for part in ("data", "treatment", "outcome", "expected", "propensity", "planted"):
            np.testing.assert_array_equal(one[part], two[part])
        assert not np.array_equal(one.data, other.data)

    @pytest.mark.parametrize("n_actions", [2, 3, 5])
    @pytest.mark.parametrize("logging", ["randomised", "confounded"])
    def test_the_truth_is_the_truth(self, n_actions: int, logging: Any) -> None:
        log = make_policy(4000, n_actions=n_actions, effect=0.7, logging=logging, random_state=1)
        rows = np.arange(4000)
        np.testing.assert_array_equal(log.expected.argmax(axis=1), log.planted)
        others = log.expected[log.expected < log.expected.max(axis=1, keepdims=True)].reshape(4000, -1)
        np.testing.assert_allclose(log.expected.max(axis=1) - others.max(axis=1), 0.7)
        noise = log.outcome - log.expected[rows, log.treatment]
        assert noise.mean() == pytest.approx(0, abs=0.06)
        assert noise.std() == pytest.approx(1, abs=0.05)
        np.testing.assert_allclose(log.propensity.sum(axis=1), 1)
        assert log.propensity.min() > 0.02
        # Drawn as stated: the share of each action among the rows most and least likely to get it.
        for action in range(n_actions):
            likely = log.propensity[:, action] >= np.median(log.propensity[:, action])
            for part in (likely, ~likely) if logging == "confounded" else (rows,):
                got = (log.treatment[part] == action).mean()
                assert got == pytest.approx(log.propensity[part, action].mean(), abs=0.05)

    def test_confounding_misleads_plain_means_and_randomising_does_not(self) -> None:
        for logging, is_misled in (("randomised", False), ("confounded", True)):
            log = make_policy(20000, effect=0.0, logging=logging, noise=0.5, random_state=2)  # type: ignore[arg-type]
            difference = log.outcome[log.treatment == 1].mean() - log.outcome[log.treatment == 0].mean()
            assert (difference > 0.1) == is_misled

    def test_depth_and_values(self) -> None:
        assert len(np.unique(make_policy(100, depth=0).planted)) == 1
        assert set(np.unique(make_policy(100, n_values=3).data)) == {0, 1, 2}
        assert np.isfinite(make_policy(50, n_values=1, logging="confounded").outcome).all()
        clean = make_policy(50, noise=0.0)
        np.testing.assert_array_equal(clean.outcome, clean.expected[np.arange(50), clean.treatment])

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"n_rows": 0}, "n_rows"),
            ({"n_actions": 1}, "n_actions"),
            ({"depth": -1}, "depth"),
            ({"noise": -1.0}, "noise"),
            ({"effect": float("nan")}, "effect"),
            ({"n_values": 0}, "n_values"),
            ({"logging": "chosen"}, "logging"),
        ],
    )
    def test_bad_settings(self, settings: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            make_policy(**settings)


class TestMakeWeighted:
    def test_same_seed_same_table(self) -> None:
        one, two, other = (make_weighted(200, random_state=seed) for seed in (3, 3, 4))
        for part in ("data", "target", "sample_weight", "planted"):
            np.testing.assert_array_equal(one[part], two[part])
        assert not np.array_equal(one.data, other.data)

    @pytest.mark.parametrize("n_labels", [2, 3, 5])
    def test_noise_is_the_share_of_changed_labels(self, n_labels: int) -> None:
        clean = make_weighted(500, n_labels=n_labels, noise=0.0)
        np.testing.assert_array_equal(clean.target, clean.planted)
        noisy = make_weighted(5000, n_labels=n_labels, noise=0.2)
        assert (noisy.target != noisy.planted).mean() == pytest.approx(0.2, abs=0.02)
        assert set(np.unique(noisy.target)) == set(range(n_labels))

    def test_a_tree_of_the_planted_depth_finds_the_labels(self) -> None:
        from sklearn.tree import DecisionTreeClassifier

        table = make_weighted(2000, 2, depth=1, noise=0.0, n_values=20)
        assert DecisionTreeClassifier(max_depth=1).fit(table.data, table.target).score(table.data, table.target) == 1.0
        assert len(np.unique(make_weighted(100, depth=0, noise=0.0).target)) == 1

    def test_kinds_of_weights(self) -> None:
        weights = {
            kind: make_weighted(4000, weights=kind).sample_weight for kind in ("unit", "integer", "lognormal", "heavy")
        }
        assert set(weights["unit"]) == {1.0}
        assert set(weights["integer"]) == set(range(1, 11))
        assert np.median(weights["lognormal"]) == pytest.approx(1.0, abs=0.1)
        assert weights["heavy"].min() >= 1.0
        assert weights["heavy"].max() > 100 * np.median(weights["heavy"])

    def test_number_of_values(self) -> None:
        assert [len(np.unique(column)) for column in make_weighted(500, 3, n_values=2).data.T] == [2, 2, 2]
        assert len(np.unique(make_weighted(500, 1).data)) == 500

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"n_rows": 0}, "n_rows must be at least 1"),
            ({"n_labels": 1}, "n_labels must be at least 2"),
            ({"depth": -1}, "depth must be at least 0"),
            ({"noise": 1.5}, "noise must lie between 0 and 1"),
            ({"n_values": 0}, "n_values must be at least 1"),
            ({"weights": "cubic"}, "weights must be .* got 'cubic'"),
        ],
    )
    def test_bad_settings(self, setting: dict[str, object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            make_weighted(**setting)


class TestFetch:
    def test_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match=r"unknown data set 'iris'; known are broward, .*fico"):
            fetch("iris")

    def test_no_directory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CERTREE_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match=r"fico\.csv .* pass data_dir, or set .* CERTREE_DATA"):
            fetch("fico")

    def test_missing_file_says_where_the_directory_came_from(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(FileNotFoundError, match=r"fico\.csv, which does not exist \(directory from data_dir\)"):
            fetch("fico", tmp_path)
        monkeypatch.setenv("CERTREE_DATA", str(tmp_path))
        with pytest.raises(FileNotFoundError, match="directory from CERTREE_DATA"):
            fetch("fico")

    def test_wrong_table_is_refused(self, tmp_path: Path) -> None:
        write(tmp_path, "a,b\n1,2\n", "fico.csv")
        with pytest.raises(ValueError, match=r"fico\.csv has no column 'PoorRiskPerformance'"):
            fetch("fico", tmp_path)
        write(tmp_path, "a,PoorRiskPerformance\n1,2\n", "fico.csv")
        with pytest.raises(ValueError, match="has 1 rows, expected 10459"):
            fetch("fico", tmp_path)
        write(tmp_path, "age,treat,re78\n" + "30,1,2.5\n" * 722, "lalonde.csv")
        with pytest.raises(ValueError, match="has 1 feature columns, expected 7"):
            fetch("lalonde", tmp_path)

    def test_reads_a_directory(self, tmp_path: Path) -> None:
        load_lalonde(as_frame=True).frame.to_csv(tmp_path / "lalonde.csv", index=False)
        table = fetch("lalonde", tmp_path)
        np.testing.assert_array_equal(table.data, load_lalonde().data)
        np.testing.assert_array_equal(table.treatment, load_lalonde().treatment)

    @needs_data
    @pytest.mark.parametrize("name", sorted(SOURCES))
    def test_named_tables_are_as_expected(self, name: str) -> None:
        arrays, frames = fetch(name), fetch(name, as_frame=True)
        assert arrays.data.shape == frames.data.shape == (SOURCES[name].rows, SOURCES[name].features)
        np.testing.assert_array_equal(arrays.target, frames.target)
        assert ("treatment" in arrays) == (SOURCES[name].treatment is not None)
        forbidden = {SOURCES[name].target, SOURCES[name].treatment, *SOURCES[name].left_out}
        assert not forbidden & set(arrays.feature_names)


class TestReadCsv:
    def test_sorts_of_columns(self, tmp_path: Path) -> None:
        text = "\ufeffnumber,gap,flag,half flag,word\n1,,true,True,a\n-2.5e3,NA,FALSE,,?\n3,7,True,False,None\n"
        table = read_csv(write(tmp_path, text))
        number, gap, flag, half, word = table.columns
        assert table.names == ("number", "gap", "flag", "half flag", "word")
        assert number.tolist() == [1.0, -2500.0, 3.0]
        np.testing.assert_array_equal(gap, [np.nan, np.nan, 7.0])
        assert flag.dtype == bool
        assert flag.tolist() == [True, False, True]
        assert half.tolist() == [True, None, False]
        assert word.tolist() == ["a", "?", "None"]
        assert table.is_categorical == (False, False, False, False, True)
        assert not any(column.flags.writeable for column in table.columns)

    @pytest.mark.parametrize("is_plain", [True, False])
    def test_decimal_commas(self, tmp_path: Path, is_plain: bool) -> None:
        rows = "1,5;1,5;1.000,5\n NA;x;2\n-2,25e3;;3\n" + ("" if is_plain else '"\n4";1;5\n')
        table = read_csv(write(tmp_path, f"a;b;c\n{rows}"), separator=";", decimal=",")
        np.testing.assert_array_equal(table.columns[0][:3], [1.5, np.nan, -2250.0])
        # What stays text stands as it stood, and a point beside a comma is not guessed at.
        assert table.columns[1].tolist()[:3] == ["1,5", "x", None]
        assert table.columns[2].tolist()[:3] == ["1.000,5", "2", "3"]

    def test_quotes_separators_and_underscores(self, tmp_path: Path) -> None:
        table = read_csv(write(tmp_path, 'a;"b;c"\n1_000;"x\ny"\n2;z\n'), separator=";")
        assert table.names == ("a", "b;c")
        assert table.columns[0].tolist() == ["1_000", "2"]
        assert table.columns[1].tolist() == ["x\ny", "z"]

    def test_text_columns(self, tmp_path: Path) -> None:
        table = read_csv(write(tmp_path, "a,b,c\n1,true,\n2,false,\n"), text_columns=("a", "b", "c"))
        assert [column.tolist() for column in table.columns] == [["1", "2"], ["true", "false"], [None, None]]
        assert table.is_categorical == (True, True, True)

    def test_blank_lines(self, tmp_path: Path) -> None:
        assert read_csv(write(tmp_path, "a,b\n1,2\n\n3,4\n\n")).n_rows == 2
        # In a table of one column an empty line is a missing value.
        np.testing.assert_array_equal(read_csv(write(tmp_path, "a\n1\n\n3\n")).columns[0], [1, np.nan, 3])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "has no header line"),
            ("a,b\n", "has no rows"),
            ("a,\n1,2\n", "column 2 has no name"),
            ("a,b,a\n1,2,3\n", "two columns have the name 'a'"),
            ("a,b\n1,2\n1,2,3\n", "line 3: 3 values, but 2 columns"),
            ('a,b\n1,"2\n', "is not a CSV file"),
        ],
    )
    def test_what_is_not_a_table(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            read_csv(write(tmp_path, text))

    def test_not_text(self, tmp_path: Path) -> None:
        path = tmp_path / "table.csv"
        path.write_bytes(b"a,b\n\xff\xfe,2\n")
        with pytest.raises(ValueError, match="is not a CSV file in UTF-8"):
            read_csv(path)

    def test_to_array_and_to_frame(self, tmp_path: Path) -> None:
        table = read_csv(write(tmp_path, "n,flag\n1,true\n2,false\n"))
        np.testing.assert_array_equal(to_array(table), [[1.0, 1.0], [2.0, 0.0]])
        assert to_frame(table).dtypes.tolist() == [np.int64, bool]
        assert to_labels(np.array([1.0, 2.5])).dtype == np.float64
        mixed = to_array(read_csv(write(tmp_path, "n,word\n1,x\n,y\n")))
        assert mixed.dtype == object
        assert mixed[0].tolist() == [1.0, "x"]

    def test_frames_need_pandas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(ImportError, match="as_frame=True needs pandas"):
            load_lalonde(as_frame=True)
