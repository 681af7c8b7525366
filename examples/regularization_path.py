"""How much does simplicity cost? Every optimal tree over all penalties λ, in one call, as a table and a picture.

python examples/regularization_path.py [directory for the picture]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

from certree import regularization_path
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
rose = data.target > data.data["re75"]
path = regularization_path(data.data, rose, max_depth=3)

print("leaves    loss    optimal for λ from .. to")
for point in path:
    print(f"{point.leaves:6d}  {point.loss:.4f}    {point.regularization_low:.5f} .. {point.regularization_high:.5f}")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot([point.leaves for point in path], [point.loss for point in path], "o-", color="#4477AA", linewidth=1.5)
ax.set(xlabel="leaves", ylabel="least loss of any tree of depth 3", title="The price of simplicity")
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "path.png", dpi=150)
