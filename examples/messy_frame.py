"""A data frame as it comes, with numbers and a stray word, text, ordered categories, booleans and missing values.

It ends with the tree as text, as JSON and as a picture.

python examples/messy_frame.py [directory for the files]
"""

import sys
import warnings
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
        "plan": pd.Categorical(rng.choice(["basic", "plus", "pro"], n), ["basic", "plus", "pro"], ordered=True),
        "complained?": rng.random(n) < 0.3,
        "calls": rng.poisson(2, n),
    }
)
is_small = frame["plan"] <= "plus"
leaves = (frame["complained?"] & is_small) | (frame["age (years)"] < 25) | (frame["calls"] > 5)
y = np.where(leaves ^ (rng.random(n) < 0.1), "leaves", "stays")

# A single cell that is not a number turns the ages into categories. A warning says so, and names the cell.
age = "age (years)"
spoilt = frame.assign(**{age: frame[age].astype(object).where(frame.index != 17, "unknown")})
model = certree.SparseTreeClassifier(max_depth=4, regularization=0.01, class_weight="balanced")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(f"with a stray word: objective {model.fit(spoilt, y).objective_:.3f}")
print(f"warning: {caught[0].message}\n")

frame = spoilt.assign(**{age: pd.to_numeric(spoilt[age], errors="coerce")})
model.fit(frame, y)
print(f"with a missing value in its place: objective {model.objective_:.3f}; the columns are read as")
print(*(f"  {column}" for column in model.columns_), sep="\n", end="\n\n")
print(certree.export_text(model, digits=3))

directory = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
(directory / "churn.json").write_text(certree.export_json(model), encoding="utf-8")
certree.plot_tree(model)
plt.savefig(directory / "churn.png", dpi=150)

again = certree.load(directory / "churn.json")
assert (again.predict(frame) == model.predict(frame)).all()
print(f"\n{model.status_}; written to churn.json and churn.png; read back, it predicts the same")
