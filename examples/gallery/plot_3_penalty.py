"""
How large a tree? The front and the choice
==========================================

Every penalty λ per leaf has an optimal tree, and only a handful of trees are optimal for any λ. Held-out rows choose
among them.
"""

from certree import SparseTreeCV
from certree.datasets import make_weighted

table = make_weighted(n_rows=1000, weights="lognormal", depth=2, noise=0.15, random_state=3)
model = SparseTreeCV(max_depth=3, cv=5).fit(table.data, table.target, table.sample_weight)

# %%
# All trees that are optimal for some λ:

print(model.path_)
model.path_.plot()

# %%
# On the rows of the fit, the loss falls with every leaf. On rows that were held out it does not: the choice is the
# smallest tree within one standard error of the best.

print(model.choice_)
model.plot()
