"""The case study as a folder: what was printed, the tables (CSV), the models with their certificates (JSON), pictures.

study.txt                       the summary
effects.csv                     each man: columns, arm, earnings, effect, its error, label, cost, weight
trees.csv  sensitivity.csv  policy.csv  alternatives.csv
scores-cost-1000.csv            each man: columns, arm, and the reward of either action that the policy was learned from
models/direct-depth-3.json      `certree show` and `certree verify` take them
trees/direct-depth-3.svg        where matplotlib is installed, of a study that was not interrupted
tree.html  policy.html          pages for people, of a study that was not interrupted
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from certree.datasets.files import to_labels
from certree.export import export_json
from certree.plot import plot_tree
from certree.plot.canvas import write_picture
from certree.study.case import ACTIONS, LABELS, CaseStudy, PolicyRow
from certree.study.pages import PAGES, write_pages
from certree.study.summary import OPENING, summarise
from certree.writing import replace_file

WRITTEN = (
    "study.txt",
    *PAGES,
    *(f"{name}.csv" for name in ("effects", "trees", "sensitivity", "policy", "alternatives", "scores-cost-*")),
    *(f"{place}-{name}" for place in ("models/*", "trees/*") for name in ("depth-*", "cost-*")),
)
"""Patterns of all names that `write` gives to files."""


def write(case: CaseStudy, folder: Path) -> list[Path]:
    """Write everything to a folder: text, tables, models and pictures. Files of the same names are replaced.

    Parameters
    ----------
    case : CaseStudy
        What `run` found.
    folder : Path
        It is made where it does not exist.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    OSError
        If something cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from certree import study
    >>> case = study.run(depths=[2], variations=[], repeats=1)
    >>> with TemporaryDirectory() as folder:
    ...     written = study.write(case, Path(folder))
    >>> sorted({path.suffix for path in written})
    ['.csv', '.html', '.json', '.svg', '.txt']
    """
    # The summary comes first: by it `is_study` knows a folder that was written only in part, too.
    contents: dict[str, bytes] = {"study.txt": (summarise(case) + "\n").encode()}
    for name, (header, rows) in _make_tables(case).items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        contents[f"{name}.csv"] = text.getvalue().encode()
    for name, model in _name_models(case):
        contents[f"models/{name}.json"] = export_json(model).encode()
    # Who has pressed Ctrl-C does not wait for pictures.
    if has_pictures() and case.is_complete:
        contents |= {f"trees/{name}.svg": draw(name, model) for name, model in _name_models(case)}
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        replace_file(folder / name, content)
    return [*(folder / name for name in contents), *(write_pages(case, folder) if case.is_complete else [])]


def find_files(folder: Path) -> list[Path]:
    """What there is in a folder that `write` might replace.

    Parameters
    ----------
    folder : Path
        Where a study was written, or is to be.

    Returns
    -------
    list of Path

    Raises
    ------
    OSError
        If the folder cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from certree import study
    >>> study.find_files(Path("no-such-folder"))
    []
    """
    return sorted(path for pattern in WRITTEN for path in folder.glob(pattern))


def is_study(folder: Path) -> bool:
    """Whether a folder is one that `write` has written.

    Parameters
    ----------
    folder : Path
        Where a study was written, or is to be.

    Returns
    -------
    bool

    Raises
    ------
    OSError
        If the folder cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from certree import study
    >>> study.is_study(Path("no-such-folder"))
    False
    """
    summary = folder / "study.txt"
    return summary.is_file() and summary.read_bytes().startswith(OPENING.encode())


def has_pictures() -> bool:
    """Whether trees can be drawn: matplotlib is an extra.

    Returns
    -------
    bool

    Raises
    ------
    ImportError
        Never: that is what it is for.

    Examples
    --------
    >>> from certree import study
    >>> study.has_pictures()
    True
    """
    return find_spec("matplotlib") is not None


def draw(name: str, model: Any) -> bytes:
    """A picture of a tree. The same tree gives the same bytes: no date, and names that follow from the content."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": name}):
        return write_picture(plot_tree(model), "svg", metadata={"Date": None})


def _name_models(case: CaseStudy) -> Iterable[tuple[str, Any]]:
    for row in case.trees:
        if row.name not in ("CART", "constant"):
            yield f"{row.name}-depth-{row.max_depth}", row.model
    for policy in case.policies:
        yield f"policy-cost-{policy.cost:g}", policy.model


def _make_tables(case: CaseStudy) -> dict[str, tuple[Sequence[str], list[Sequence[Any]]]]:
    return {
        "effects": _list_effects(case),
        "trees": (
            ["tree", "max_depth", "leaves", "loss", "cost_loss", "objective", "lower_bound", "gap", "status",
             "fit_seconds"],
            [
                [row.name, row.max_depth, row.leaves, row.loss, row.cost_loss, row.objective, row.lower_bound, row.gap,
                 row.status, row.fit_seconds]
                for row in case.trees
            ],
        ),
        "sensitivity": (
            ["neighbors", "metric", "splits", "repeats", "seed", "include_own", "labels_0", "labels_1", "labels_2",
             "same_label", "constant_loss", "printed_loss", "optimal_loss", "optimal_leaves"],
            [
                [row.matching.n_neighbors, row.matching.metric, row.matching.n_splits, row.matching.n_repeats,
                 row.matching.random_state, row.matching.include_own, *row.counts, row.same_label, row.constant_loss,
                 row.printed_loss, row.optimal_loss, row.optimal_leaves]
                for row in case.sensitivity
            ],
        ),
        "policy": (
            ["cost", "sample", "figure", "action", "value", "error", "low", "high"],
            [cells for policy in case.policies for cells in _list_policy(policy)],
        ),
        "alternatives": (
            ["of", "tolerance", "least_count", "most_count", "men_agreed", "column", "share_needing", "price_without",
             "is_needed", "is_unused"],
            [
                [row.name, row.tolerance, *row.trees.count_bounds, row.agreed, fact.column, fact.share, fact.price,
                 fact.is_needed, fact.is_unused]
                for row in case.alternatives
                for fact in row.columns
            ],
        ),
        **{f"scores-cost-{policy.cost:g}": _list_scores(case, policy) for policy in case.policies},
    }  # fmt: skip


def _list_effects(case: CaseStudy) -> tuple[list[str], list[Sequence[Any]]]:
    rows, columns = case.rows, _list_columns(case)
    errors = [""] * case.table.n_rows if case.standard_errors is None else case.standard_errors.tolist()
    labels = [LABELS[code] for code in rows.labels.tolist()]
    header = [*case.table.names, "treat", "re78", "effect", "standard_error", "label", "cost", "weight"]
    amounts = (case.treatment, case.outcome, rows.effects)
    cells = zip(
        *columns, *(amount.tolist() for amount in amounts), errors, labels,
        rows.costs.tolist(), rows.weights.tolist(), strict=True,
    )  # fmt: skip
    return header, list(cells)


def _list_scores(case: CaseStudy, policy: PolicyRow) -> tuple[list[str], list[Sequence[Any]]]:
    arms = [ACTIONS[arm] for arm in case.treatment.tolist()]
    cells = zip(*_list_columns(case), arms, *policy.scores.rewards.T.tolist(), strict=True)
    return [*case.table.names, "arm", *ACTIONS], list(cells)


def _list_columns(case: CaseStudy) -> list[list[Any]]:
    return [to_labels(column).tolist() for column in case.table.columns]


def _list_policy(policy: PolicyRow) -> Iterable[list[Any]]:
    yield [policy.cost, "in sample", "value", "", policy.model.value_, "", "", ""]
    for action in ACTIONS:
        yield [policy.cost, "in sample", "value of fixed action", action, policy.values[action], "", "", ""]
    for row in policy.evaluation.to_rows():
        yield [policy.cost, "honest", *row.values()]
