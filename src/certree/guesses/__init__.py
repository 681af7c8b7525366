"""Guesses that speed the search: thresholds, depth and lower bounds, from a reference model.

This room promises that a guess never passes for a proof. What each one gives up is a number that is stated beside the
answer:

    thresholds      the optimum is that of the kept tests; over all tests only `Problem.floor` is known
    depth           a tree of this depth can be as expressive as the boosted ensemble; nothing is given up on purpose
    lower bounds    Theorem 1: the objective is at most the reference's loss, plus the loss of any tree t where the
                    reference is right, plus λ·leaves(t)

The boosted model is scikit-learn's, fitted on the codes of the axes, so that its splits are tests of the problem
exactly: numeric columns by their order, missing values on either side, categories one by one.
"""

from certree.guesses.depth import DepthGuess, guess_depth, guess_tree_depth, state_depth, tree_dimension
from certree.guesses.reference import (
    ReferenceAccount,
    account_reference,
    charge_reference,
    cost_rows,
    predict_boosting,
    predict_reference,
    state_reference,
)
from certree.guesses.thresholds import ThresholdGuess, ThresholdReport, guess_thresholds, state_thresholds

__all__ = [
    "DepthGuess",
    "ReferenceAccount",
    "ThresholdGuess",
    "ThresholdReport",
    "account_reference",
    "charge_reference",
    "cost_rows",
    "guess_depth",
    "guess_thresholds",
    "guess_tree_depth",
    "predict_boosting",
    "predict_reference",
    "state_depth",
    "state_reference",
    "state_thresholds",
    "tree_dimension",
]
