"""What else would have been as good? All trees within half a percentage point of the best one, and what they agree on.

python examples/good_trees.py
"""

from certree import good_trees
from certree.datasets import load_lalonde

data = load_lalonde(as_frame=True)
rose = data.target > data.data["re75"]
trees = good_trees(data.data, rose, tolerance=0.005, max_depth=3, regularization=0.01)

print(f"{trees.count} trees are within {trees.tolerance:.3f} of the best one; complete: {trees.is_complete}")
for tree in trees[:3]:
    print(f"  {tree.objective:.4f}  {tree.n_leaves} leaves  {'; '.join(tree.tests)}")

print("column        needed by  without it")
for fact in trees.columns():
    proved = "every good tree needs it" if fact.is_needed else "no good tree uses it" if fact.is_unused else ""
    print(f"{fact.column:12}  {fact.share:9.1%}  {fact.objective_without:.4f}  {proved}")

rows = trees.rows()
print(f"{rows.is_agreed.sum()} of {len(rows.index)} people get the same answer from all of them")

smallest = min(trees.handful().values(), key=lambda tree: tree.n_leaves)
print(f"the smallest of a handful has {smallest.n_leaves} leaves: {smallest.objective:.4f}")
