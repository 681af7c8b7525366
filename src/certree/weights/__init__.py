"""Weights: how they become counts, what that costs, and where balancing ones come from.

This room promises that every stated bound is a pure function of the data and true. For a tree t let R(t) be its
objective under weights w, R̃(t) under counts w̃, with p = w/Σw and q = w̃/Σw̃. Then

    duplication, sampling   |R(t) − R̃(t)| <= TV = ½ Σ|p − q|   for every tree t, whatever the counts came from
    sampling, a fixed tree  |R(t) − R̃(t)| <= √(ln(2/δ) / 2S)   with probability 1 − δ over S draws
    sampling, all trees     the same with ln(2N/δ), N the number of trees of at most H leaves

The proofs are in docs/method.md, section 12, and docs/weighing.md. Counts never make a table longer: they are weights
again, and the engine merges equal rows anyway; `duplicate_rows` is for solvers that do not accept weights.
"""

from certree.weights.balancing import BalancingWeights, balance
from certree.weights.bounds import total_variation
from certree.weights.counts import WeightLossWarning, duplicate, duplicate_rows, sample

# What users are to call; the rooms above take the rest from its file.
__all__ = [
    "BalancingWeights",
    "WeightLossWarning",
    "balance",
    "duplicate",
    "duplicate_rows",
    "sample",
    "total_variation",
]
