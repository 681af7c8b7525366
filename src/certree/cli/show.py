"""`certree show`: a tree and its certificate, printed or drawn."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import load_certified
from certree.cli.models import print_model
from certree.cli.options import add_example, add_model
from certree.cli.outputs import add_force, save
from certree.plot import plot_tree


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("show", help="print a tree and its certificate")
    add_model(parser)
    parser.add_argument("--plot", type=Path, metavar="IMAGE", help="also draw the tree to this file (png, svg or pdf)")
    add_force(parser)
    add_example(parser, "certree show model.json --plot tree.png")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    print_model(model)
    if options.plot is not None:
        figure = plot_tree(model).get_figure(root=True)
        assert figure is not None
        picture = io.BytesIO()
        figure.savefig(picture, format=options.plot.suffix[1:] or "png", dpi=200)
        if not save(options, options.plot, picture.getvalue()):
            return FAILED
        print(f"\ndrawn to {options.plot}")
    return DONE
