"""
All good trees, and what they agree on
======================================

One optimal tree invites a question: what else would have been as good? `certree.good_trees` finds every tree within a
tolerance of the best one.
"""

import matplotlib.pyplot as plt

from certree import good_trees
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
rose = data.target > data.data["re75"]
trees = good_trees(data.data, rose, tolerance=0.005, max_depth=3, regularization=0.01)
print(f"{trees.count} trees are within {trees.tolerance} of the best one")

# %%
# How many good trees need a column is one question, and what it costs to do without the column is another. Nearly all
# good trees need the age, but the best tree without it is just as good.

facts = trees.columns()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
names = [fact.column for fact in facts]
left.barh(names, [100 * fact.share for fact in facts], color="#4477aa")
left.set(xlabel="good trees that need the column (%)")
left.invert_yaxis()
right.barh(names, [fact.price for fact in facts], color="#cc6677")
right.set(xlabel="price of doing without it (objective)")

# %%
# And the people: for how many does it not matter which of the good trees is used?

rows = trees.rows()
print(f"{rows.is_agreed.sum()} of {len(rows.index)} people get the same answer from all of them")
