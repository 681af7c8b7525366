"""Draws the pictures of README and docs. Run it where certree[plot] is installed: python docs/images/draw.py"""

from pathlib import Path

import numpy as np

from certree import SparseTreeClassifier, study
from certree.datasets import load_lalonde
from certree.plot import plot_tree
from certree.study.folder import draw

folder = Path(__file__).parent

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
model = SparseTreeClassifier(max_depth=3, regularization=0.005)
model.fit(data.data, np.where(change > 0, "rose", "did not rise"), change.abs())
plot_tree(model).figure.savefig(folder / "tree.png", dpi=160)

case = study.run(depths=[3], variations=[], time_limit=None)
draw(case.pick("direct", 3).model, folder / "case-study.png")
draw(case.pick("printed", 3).model, folder / "case-study-printed.png")
draw(case.policies[-1].model, folder / "case-study-policy.png")
