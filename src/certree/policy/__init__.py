"""Policies: scores and effects from logged decisions, exact policy trees, and an honest evaluation."""

from certree.policy.budget_set import BudgetPolicy, BudgetSet
from certree.policy.curve import BudgetCurve, BudgetPoint, budget_curve
from certree.policy.evaluation import Estimate, Evaluation, evaluate
from certree.policy.good import good_policies
from certree.policy.log import Log
from certree.policy.matching import MatchingEffects
from certree.policy.noise import NoisePolicy, NoiseSet
from certree.policy.path import regularization_path
from certree.policy.scores import Scores, direct, doubly_robust, inverse_propensity
from certree.policy.tree import PolicyTree

__all__ = [
    "BudgetCurve",
    "BudgetPoint",
    "BudgetPolicy",
    "BudgetSet",
    "Estimate",
    "Evaluation",
    "Log",
    "MatchingEffects",
    "NoisePolicy",
    "NoiseSet",
    "PolicyTree",
    "Scores",
    "budget_curve",
    "direct",
    "doubly_robust",
    "evaluate",
    "good_policies",
    "inverse_propensity",
    "regularization_path",
]
