"""Pictures by matplotlib (the extra `plot`): trees, curves of what trees are worth, and good trees.

This room promises that boxes never overlap, whatever their words, that no word of a rule is left out, that a picture is
as large as its words need (or fits the axes it is given), and that names of any characters are drawn as they are.
"""

from certree.plot.curves import plot_budget_curve, plot_choice, plot_path
from certree.plot.sets import plot_agreement, plot_columns, plot_cuts, plot_trees
from certree.plot.trees import plot_tree

__all__ = [
    "plot_agreement",
    "plot_budget_curve",
    "plot_choice",
    "plot_columns",
    "plot_cuts",
    "plot_path",
    "plot_tree",
    "plot_trees",
]
