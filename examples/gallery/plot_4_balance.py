"""
Balancing groups before a fit
=============================

`certree.weights.balance` gives weights under which groups that differ become comparable: here treated and untreated
people, whose chance of treatment depends on what is known about them.
"""

from certree import weights
from certree.datasets import make_policy

log = make_policy(2000, 4, logging="confounded", random_state=1)
balanced = weights.balance(log.treatment, log.data, method="propensity")
print(balanced.summary())

# %%
# Few rows with large weights would mean that the groups hardly overlap.

balanced.plot()
