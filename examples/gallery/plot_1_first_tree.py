"""
A first tree, and what was proved about it
==========================================

Whose earnings rose between 1975 and 1978? The embedded table has 722 men from a job training experiment. A wrong
prediction costs the number of dollars by which the man's earnings changed.
"""

import numpy as np

from certree import SparseTreeClassifier, plot_tree
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
rose = np.where(change > 0, "rose", "did not rise")
model = SparseTreeClassifier(max_depth=3, regularization=0.005).fit(data.data, rose, change.abs())

# %%
# The line below the tree says what was proved. Left is where a test holds; the bar in a leaf has the shares of the
# labels, by weight, and the width of a branch says how much weight takes it.

plot_tree(model, feature_names={"re75": "Earnings in 1975 ($)"})

# %%
# The certificate says the same in numbers. It can be checked against the table without the engine.

print(model.certificate_.summary())
