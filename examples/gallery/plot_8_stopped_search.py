"""
A search that is stopped
========================

Deep trees of noisy tables take long to prove. A time limit leaves the best tree found so far and a lower bound that
still holds, so the gap says what the rest of the search could have brought at most.
"""

import warnings

import matplotlib.pyplot as plt

from certree import SparseTreeClassifier
from certree.datasets import make_weighted

table = make_weighted(n_rows=800, n_columns=5, depth=3, noise=0.2, random_state=0)
limits = [0.05, 0.2, 0.8, 3.2]
fits = []
for limit in limits:
    with warnings.catch_warnings():
        # A warning says that the limit was reached; the status says so as well.
        warnings.simplefilter("ignore")
        model = SparseTreeClassifier(max_depth=4, regularization=0.005, time_limit=limit)
        fits.append(model.fit(table.data, table.target, table.sample_weight))
    print(f"{limit:4} s: {fits[-1].status_}, gap {fits[-1].gap_:.4f}")

# %%
# The objective of the tree at hand is the upper line; no tree is below the lower one.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
lower, upper = [fit.lower_bound_ for fit in fits], [fit.objective_ for fit in fits]
ax.fill_between(limits, lower, upper, alpha=0.25)
ax.plot(limits, upper, marker="o", label="best tree so far")
ax.plot(limits, lower, marker="o", label="proved lower bound")
ax.set_xscale("log")
ax.set(xlabel="time limit (seconds)", ylabel="objective")
ax.legend(frameon=False)
