"""Scores made by grf in R as the rewards of a certified policy tree: one CSV file, a column per action.

In R, with grf and policytree:

    forest <- multi_arm_causal_forest(X, Y, W)
    write.csv(double_robust_scores(forest), "scores.csv", row.names = FALSE)

The columns are named by the arms, and so are the actions of the tree. Without a file the example makes one of the same
form.

    python examples/scores_from_grf.py [scores.csv, for the rows of the generated log]
"""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from certree import PolicyTree, export_text, policy
from certree.datasets import make_policy

log = make_policy(2000, 4, n_actions=3, depth=1, n_values=10, logging="confounded", random_state=1)
path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
if path.is_file():
    text = path.read_text(encoding="utf-8")
else:
    rewards = policy.doubly_robust(log.data, log.treatment, log.outcome, random_state=0).rewards
    text = pd.DataFrame(rewards, columns=["A", "B", "C"]).to_csv(index=False)

scores = pd.read_csv(io.StringIO(text))
model = PolicyTree(max_depth=2, regularization=0.01).fit(log.data, scores)
print(export_text(model, digits=4))
chosen = scores.columns.get_indexer(model.predict(log.data))
print(f"{model.status_}; {np.mean(chosen == log.planted):.0%} of rows get the planted action")
