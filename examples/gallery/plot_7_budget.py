"""
What every budget buys
======================

A call costs four times as much as a letter. The curve has a point for every policy tree that is best at some price of
spending, and it is proved that no tree lies above the line.
"""

from certree import PolicyTree, policy
from certree.datasets import make_policy

made = make_policy(1500, 4, n_actions=3, depth=2, effect=0.8, random_state=2)
names = ["none", "letter", "call"]
treatment = [names[action] for action in made.treatment]
trial = policy.Log(made.data, treatment, made.outcome, actions=names)
scores = policy.doubly_robust(trial, random_state=0)
spends = {"none": 0, "letter": 1, "call": 4}
curve = policy.budget_curve(made.data, scores, spends=spends, max_depth=2)
curve.plot()

# %%
# The best tree within one budget, and what one more unit would bring:

model = PolicyTree(max_depth=2, budget=1.0).fit(made.data, scores, spends=spends)
print(model)
print(f"spends {model.spend_:.3f} per person")
print(f"one more unit would add {model.price_:.3f} to the objective")
