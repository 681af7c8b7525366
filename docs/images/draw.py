"""Draws the pictures of the README from a fit. Run it where certree[plot] is installed: python docs/images/draw.py"""

from pathlib import Path

import numpy as np

from certree import SparseTreeClassifier
from certree.datasets import load_lalonde
from certree.plot import plot_tree

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
model = SparseTreeClassifier(max_depth=3, regularization=0.005)
model.fit(data.data, np.where(change > 0, "rose", "did not rise"), change.abs())

plot_tree(model).figure.savefig(Path(__file__).with_name("tree.png"), dpi=160)
