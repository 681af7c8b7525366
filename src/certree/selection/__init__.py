"""What a tree is worth on rows that it has not seen, and which penalty λ to choose for it.

This room promises that held-out rows count by their weights, as they do in the fit, and that rows which belong together
(of one household, one site) are held out together and counted as one.
"""

from certree.selection.choice import SparseTreeCV
from certree.selection.held_out import LossEvaluation, evaluate

__all__ = ["LossEvaluation", "SparseTreeCV", "evaluate"]
