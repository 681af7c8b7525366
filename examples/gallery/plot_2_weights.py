"""
Weights change the tree
=======================

The same people, once counted alike and once by the dollars that a mistake costs. The two optimal trees differ, and
each is proved best for its own question.
"""

import matplotlib.pyplot as plt
import numpy as np

from certree import SparseTreeClassifier, plot_tree
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
rose = np.where(change > 0, "rose", "did not rise")

figure, axes = plt.subplots(2, 1, figsize=(9, 11), layout="constrained")
questions = {"Every man counts the same": None, "Every dollar counts the same": change.abs()}
for ax, (title, weight) in zip(axes, questions.items(), strict=True):
    model = SparseTreeClassifier(max_depth=2, regularization=0.01).fit(data.data, rose, weight)
    plot_tree(model, ax=ax)
    ax.set_title(title)
