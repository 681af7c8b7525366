"""Effects estimated by EconML as the rewards of a certified policy tree.

`const_marginal_effect` gives n × (K − 1) effects over the control. An action's reward is its effect less what it costs;
that of the control is 0. Needs econml.

    python examples/scores_from_econml.py
"""

import importlib.util
import sys

import numpy as np

from certree import PolicyTree, export_text
from certree.datasets import make_policy

if importlib.util.find_spec("econml") is None:
    print("skipped: EconML is not installed (pip install econml)")
    sys.exit()

from econml.dr import LinearDRLearner
from sklearn.linear_model import LinearRegression, LogisticRegression

log = make_policy(2000, 4, n_actions=3, depth=1, n_values=10, logging="confounded", random_state=1)
learner = LinearDRLearner(
    model_regression=LinearRegression(), model_propensity=LogisticRegression(max_iter=1000), cv=5, random_state=0
)
learner.fit(log.outcome, log.treatment, X=log.data, W=None)

effects = np.asarray(learner.const_marginal_effect(log.data))
costs = np.array([0.0, 0.1, 0.1])
rewards = np.column_stack([np.zeros(len(effects)), effects]) - costs

model = PolicyTree(max_depth=2, regularization=0.01).fit(log.data, rewards)
print(export_text(model, digits=4))
print(f"{model.status_}; {np.mean(model.predict(log.data) == log.planted):.0%} of rows get the planted action")
