"""DoubleML's cross-fitted predictions as doubly robust rewards of a certified policy tree.

`predictions` of a DoubleMLIRM holds the outcome models (ml_g0, ml_g1) and the propensity (ml_m) of every row, by models
that have not seen it. Two lines turn them into scores. Needs doubleml.

    python examples/scores_from_doubleml.py
"""

import importlib.util
import sys

import numpy as np

from certree import PolicyTree, export_text
from certree.datasets import make_policy

if importlib.util.find_spec("doubleml") is None:
    print("skipped: DoubleML is not installed (pip install doubleml)")
    sys.exit()

import doubleml
from sklearn.linear_model import LinearRegression, LogisticRegression

log = make_policy(2000, 4, depth=1, n_values=10, logging="confounded", random_state=1)
data = doubleml.DoubleMLData.from_arrays(log.data, log.outcome, log.treatment)
irm = doubleml.DoubleMLIRM(data, ml_g=LinearRegression(), ml_m=LogisticRegression(max_iter=1000), n_folds=5)
irm.fit(store_predictions=True)

expected = np.column_stack([irm.predictions[name][:, 0, 0] for name in ("ml_g0", "ml_g1")])
chance = irm.predictions["ml_m"][:, 0, 0]
got = log.treatment[:, None] == np.arange(2)
rewards = expected + got * (log.outcome[:, None] - expected) / np.column_stack([1 - chance, chance])

model = PolicyTree(max_depth=2, regularization=0.01).fit(log.data, rewards)
print(export_text(model, digits=4))
print(f"{model.status_}; {np.mean(model.predict(log.data) == log.planted):.0%} of rows get the planted action")
