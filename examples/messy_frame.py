"""A data frame as it comes: text, categories, booleans, missing values; then the tree as text, JSON and a picture.

python examples/messy_frame.py [directory for the files]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import certree

rng = np.random.default_rng(0)
n = 400
frame = pd.DataFrame(
    {
        "age (years)": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
        "region": rng.choice(np.array(["north", "south", "east", None]), n, p=[0.4, 0.3, 0.2, 0.1]),
        "contract": pd.Categorical(rng.choice(["monthly", "yearly"], n)),
        "complained?": rng.random(n) < 0.3,
        "calls": rng.poisson(2, n),
    }
)
leaves = (frame["complained?"] & (frame["contract"] == "monthly")) | (frame["age (years)"] < 25) | (frame["calls"] > 5)
y = np.where(leaves ^ (rng.random(n) < 0.1), "leaves", "stays")

model = certree.SparseTreeClassifier(max_depth=4, regularization=0.01, class_weight="balanced").fit(frame, y)
print(certree.export_text(model, digits=3))

directory = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
(directory / "churn.json").write_text(certree.export_json(model), encoding="utf-8")
certree.plot_tree(model)
plt.savefig(directory / "churn.png", dpi=150)

again = certree.load(directory / "churn.json")
assert (again.predict(frame) == model.predict(frame)).all()
print(f"\n{model.status_}; written to churn.json and churn.png; read back, it predicts the same")
