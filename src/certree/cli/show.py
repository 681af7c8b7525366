"""`certree show`: a tree and its certificate, printed or drawn."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import load_certified
from certree.cli.options import add_example, add_hiding, add_model, read_name
from certree.cli.outputs import add_force, save
from certree.export import export_text
from certree.plot import plot_tree
from certree.plot.canvas import write_picture
from certree.tree import Tree


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("show", help="print a tree and its certificate")
    add_model(parser)
    parser.add_argument("--plot", type=Path, metavar="IMAGE", help="also draw the tree to this file (png, svg or pdf)")
    add_force(parser)
    add_hiding(parser)
    parser.add_argument(
        "--rename", nargs="+", type=read_name, default=[], metavar="NAME=TEXT",
        help='other names for columns, labels and actions: "re75=Earnings in 1975"',
    )  # fmt: skip
    parser.add_argument(
        "--unit",
        nargs="+",
        type=read_name,
        default=[],
        metavar="COLUMN=UNIT",
        help="the unit of a numeric column: re75=$",
    )
    parser.add_argument(
        "--answers", nargs="+", type=read_name, default=[], metavar="COLUMN=LOW/HIGH",
        help="words in place of a comparison, for a column with one threshold: black=no/yes",
    )  # fmt: skip
    add_example(parser, "certree show model.json --plot tree.png")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    shown = choose_names(model.tree_, options)
    text, is_saved = export_text(model, **shown), True
    if options.plot is not None:
        picture = write_picture(plot_tree(model, **shown), options.plot.suffix[1:] or "png", dpi=200)
        is_saved = save(options, options.plot, picture)
    print(text, end="\n\n")
    print(model.certificate_.summary(model.tree_.renamed(labels=shown["class_names"]).labels))
    if not is_saved:
        return FAILED
    if options.plot is not None:
        print(f"\ndrawn to {options.plot}")
    return DONE


def choose_names(tree: Tree, options: argparse.Namespace) -> dict[str, Any]:
    """How the tree is to be shown, by the parameters of texts and pictures."""
    columns = {column.name for column in tree.columns}
    labels = {str(label): label for label in tree.labels}
    chosen: dict[str, Any] = {"feature_names": {}, "class_names": {}, "hide_below": options.hide_below}
    for name, text in options.rename:
        if name not in columns and name not in labels:
            raise ValueError(f"--rename names {name!r}, which is neither a column nor a label of {options.model}")
        if name in columns:
            chosen["feature_names"][name] = {"name": text}
        if name in labels:
            chosen["class_names"][labels[name]] = text
    for flag, key, pairs in (("--unit", "unit", options.unit), ("--answers", "answers", options.answers)):
        for name, text in pairs:
            if name not in columns:
                raise ValueError(f"{flag} names {name!r}, which is not a column of {options.model}")
            words = tuple(text.split("/")) if key == "answers" else text
            chosen["feature_names"].setdefault(name, {})[key] = words
    return chosen
