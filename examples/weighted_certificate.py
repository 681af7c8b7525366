"""A weighted tree and the proof that it is best.

Whose earnings rose between 1975 and 1978, among the 722 men of the NSW job training experiment? A wrong prediction
costs the number of dollars by which the man's earnings changed. The fitted tree comes with a certificate, which is
checked against the raw table without the engine.

    python examples/weighted_certificate.py
"""

import numpy as np

import certree
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
change = data.target - data.data["re75"]
rose = np.where(change > 0, "rose", "did not rise")
dollars = np.abs(change)

model = certree.SparseTreeClassifier(max_depth=3, regularization=0.005)
model.fit(data.data, rose, sample_weight=dollars)

print(certree.export_text(model, digits=7))
print()
print(f"status       {model.status_}")
print(f"loss         {model.loss_:.4f} of the dollars")
print(f"objective    {model.objective_:.6f} = loss + λ · {model.n_leaves_} leaves")
print(f"lower bound  {model.lower_bound_:.6f}: no tree of depth 3 has a lower objective")

verdict = certree.certify.check(model.certificate_, model.tree_, data.data, rose, dollars)
print(f"certificate  {'holds' if verdict.holds else verdict.failures}")
