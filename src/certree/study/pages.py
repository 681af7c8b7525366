"""The pages of the case study: one about a tree, one about the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from certree.page import report
from certree.study.case import DEPTH_SHOWN, LABELS, METHODS, CaseStudy

PAGES = ("tree.html", "policy.html")
SECONDS = 20.0
"""For what a page has to compute."""

NAMES = {
    "age": "Age",
    "education": "Schooling",
    "black": "Black",
    "hispanic": "Hispanic",
    "married": "Married",
    "nodegree": "No degree",
    "re75": "Earnings in 1975",
}
UNITS = {"age": "years", "education": "years", "re75": "dollars"}
LICENCE = "public, from the National Supported Work demonstration (LaLonde 1986)"

TREE_NOTES = """
This page shows how a certified tree reads. It repeats the study of a published paper on 722 men of an experiment of the
1970s: the answer says whom to train, and a man counts for more, the costlier a mistake about him would be. **It is not
advice about anyone**: the labels come from effects that were estimated by matching, with large errors, and the columns
that the tree may use include race, which a decision today must not rest on.
"""
POLICY_NOTES = """
This page shows how a certified policy reads, on 722 men of an experiment of the 1970s. The reward of a man is what he
earned in 1978, less what the programme costs if he gets it. **It is not advice about anyone**: see above whether a gain
can be shown at all. The columns that the policy may use include race, which a decision today must not rest on.
"""


def write_pages(case: CaseStudy, folder: Path) -> list[Path]:
    """Writes the pages of a complete study. Returns what was written."""
    known = {name: NAMES[name] for name in case.table.names if name in NAMES}
    shared: dict[str, Any] = {
        "names": known,
        "units": {name: unit for name, unit in UNITS.items() if name in known},
        "noun": "men",
        "licence": LICENCE,
        "time_limit": SECONDS,
    }
    depth = min(case.depths, key=lambda depth: abs(depth - DEPTH_SHOWN))
    y = np.array(LABELS)[case.rows.labels]
    model = case.pick(METHODS[0], depth).model
    tree = report(
        model, case.table, y, case.rows.weights, path=folder / PAGES[0], title="Whom to train: the tree",
        notes=TREE_NOTES, **shared,
    )  # fmt: skip
    row = case.policies[-1]
    policy = report(
        row.model, case.table, row.scores, log=row.log, path=folder / PAGES[1], evaluation=row.evaluation,
        title=f"Whom to train, where the programme costs {row.cost:,.0f} dollars per man", notes=POLICY_NOTES,
        reward_unit="dollars", **shared,
    )  # fmt: skip
    return [tree, policy]
