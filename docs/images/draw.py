"""Draws the pictures of the README from a fit. Run it where certree[plot] is installed: python docs/images/draw.py"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from certree import SparseTreeClassifier, plot_tree
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
model = SparseTreeClassifier(max_depth=3, regularization=0.005)
model.fit(data.data, np.where(change > 0, "rose", "did not rise"), change.abs())

figure = Figure(figsize=(9, 5), layout="constrained")
plot_tree(model, ax=figure.subplots())
figure.savefig(Path(__file__).with_name("tree.png"), dpi=160)
