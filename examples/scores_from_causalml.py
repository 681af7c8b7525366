"""causalml: its effects as rewards, and a certified tree as the policy learner of its PolicyLearner.

`fit_predict` of a meta-learner gives n × (K − 1) effects over the control. `PolicyLearner` makes doubly robust scores
of its own and asks for a classifier that takes sample_weight: SparseTreeClassifier is one, and finds the best tree
where the usual one is greedy. Needs causalml.

    python examples/scores_from_causalml.py
"""

import importlib.util
import sys

import numpy as np

from certree import PolicyTree, SparseTreeClassifier, export_text
from certree.datasets import make_policy

if importlib.util.find_spec("causalml") is None:
    print("skipped: causalml is not installed (pip install causalml)")
    sys.exit()

from causalml.inference.meta import BaseTRegressor
from causalml.optimize import PolicyLearner
from sklearn.linear_model import LinearRegression

log = make_policy(2000, 4, depth=1, n_values=10, logging="confounded", random_state=1)

learner = BaseTRegressor(LinearRegression(), control_name=0)
effects = learner.fit_predict(log.data, treatment=log.treatment, y=log.outcome)
model = PolicyTree(max_depth=2, regularization=0.01).fit(log.data, np.column_stack([np.zeros(len(effects)), effects]))
print(export_text(model, digits=4))
print(f"{model.status_}; {np.mean(model.predict(log.data) == log.planted):.0%} of rows get the planted action\n")

learner = PolicyLearner(policy_learner=SparseTreeClassifier(max_depth=1, regularization=0.001), random_state=0)
learner.fit(log.data, treatment=log.treatment, y=log.outcome)
print(export_text(learner.model_pi, digits=4))
treated = learner.predict(log.data) > 0
print(f"{learner.model_pi.status_}; {np.mean(treated == (log.planted == 1)):.0%} of rows get the planted action")
