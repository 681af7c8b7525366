"""
A policy from an experiment, with an honest value
=================================================

A letter was sent to people drawn at random. Whom is it worth sending to?
"""

import numpy as np
import pandas as pd

from certree import PolicyTree, plot_tree, policy
from certree.datasets import make_policy

made = make_policy(1500, 3, n_actions=2, depth=1, effect=0.6, n_values=50, random_state=0)
people = pd.DataFrame(made.data + np.array([18, 10, 0]), columns=["age", "income", "visits"])
treatment = np.where(made.treatment == 1, "letter", "none")
chances, actions = {"none": 0.5, "letter": 0.5}, ["none", "letter"]
trial = policy.Log(people, treatment, made.outcome, propensity=chances, actions=actions)

scores = policy.doubly_robust(trial, random_state=0)
rule = PolicyTree(max_depth=2, min_samples_leaf=50).fit(trial, scores)

# %%
# The reward in the tree is that of the rows it was fitted on. `evaluate` learns everything again without each fold, and
# says what is left on rows that a policy has not seen.

found = policy.evaluate(rule, trial, folds=3, random_state=0)
print(found.summary())
plot_tree(rule, evaluation=found)
