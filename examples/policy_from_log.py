"""From a log of decisions to a certified policy and what it is worth on people it has not seen.

The log has three actions, whose chances depend on the person, and noisy outcomes. The example computes scores, fits a
tree and evaluates it.

    python examples/policy_from_log.py
"""

import pandas as pd

import certree
from certree import PolicyTree, policy
from certree.datasets import make_policy

log = make_policy(2000, 4, n_actions=3, depth=2, n_values=12, logging="confounded", random_state=1)
people = pd.DataFrame(log.data, columns=["age", "income", "visits", "tenure"])
names = pd.Series(["none", "letter", "call"])
actions = {"none": 0.0, "letter": 0.05, "call": 0.3}
treatment, outcome = names[log.treatment].to_numpy(), log.outcome

# What each action would have brought each person, minus what it costs. Ties go to the action that comes first.
settings = {"costs": actions, "actions": list(actions), "random_state": 0}
scores = policy.doubly_robust(people, treatment, outcome, **settings)
print(scores.summary(), end="\n\n")

model = PolicyTree(max_depth=2, min_samples_leaf=50).fit(people, scores)
print(certree.export_text(model, digits=4))
print(f"{model.status_}: no policy tree of depth 2 has a greater mean of these scores than {model.value_:.4f}\n")

# The tree was chosen to maximise the figure above, so it is too optimistic. Here everything is learned again without
# each fold, and judged on it.
print(policy.evaluate(model, people, treatment, outcome, **settings).summary())
