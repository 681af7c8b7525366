"""Who gets a letter and who gets a call, within a budget? The best tree with its proof, and what every budget buys.

python examples/policy_budget.py [directory for the picture]
"""

import sys
from pathlib import Path

import pandas as pd

from certree import PolicyTree, certify, export_text, plot_budget_curve
from certree.datasets import make_policy
from certree.policy import budget_curve, doubly_robust

log = make_policy(1500, 4, n_actions=3, depth=2, n_values=12, noise=1.0, random_state=7)
scores = doubly_robust(log.data, log.treatment, log.outcome, random_state=0)
rewards = pd.DataFrame(scores.rewards, columns=["nothing", "letter", "call"])

# What each action takes from the budget, in a unit of its own. It is not subtracted from the rewards.
spends = {"nothing": 0.0, "letter": 1.0, "call": 4.0}
model = PolicyTree(max_depth=2, budget=1.2).fit(log.data, rewards, spends=spends)
print(export_text(model, digits=3))
print(f"status  {model.status_}")
print(f"value   {model.value_:.4f}, and no tree of depth 2 within the budget has more than {model.upper_bound_:.4f}")
print(f"spend   {model.spend_:.4f} of 1.2 per person; one more unit would add about {model.price_:.3f}")

verdict = certify.check(model.certificate_, model.tree_, log.data, rewards=rewards, spends=spends)
print(f"certificate {'holds' if verdict.holds else verdict.failures}")

curve = budget_curve(log.data, rewards, spends=spends, max_depth=2)
print("\n spend   value   best for prices from .. to")
for point in curve:
    print(f"{point.spend:6.3f}  {point.value:.4f}   {point.price_low:.4f} .. {point.price_high:.4f}")
ax = plot_budget_curve(curve, names=("mean spend per person", "mean reward"))
ax.plot(model.spend_, model.value_, "*", color="#CC6677", markersize=12, label="the best tree within 1.2")
ax.legend(frameon=False, loc="lower right")
ax.figure.savefig(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "budget.png", dpi=150)
