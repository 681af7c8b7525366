"""The libraries that are measured: one file each, and here the list of them."""

from __future__ import annotations

from benchmarks.adapters.base import CLOCKS, UNLIMITED, Contender, Outcome, UnsupportedError, objective, use_clock
from benchmarks.adapters.boosting import fit_boosting
from benchmarks.adapters.cart import fit_cart, fit_pruned_cart
from benchmarks.adapters.certree import (
    BEFORE,
    fit_certree,
    fit_certree_before,
    fit_certree_policy,
    fit_certree_sets,
    policy_objective,
)
from benchmarks.adapters.contree import fit_contree
from benchmarks.adapters.gosdt import fit_gosdt
from benchmarks.adapters.imodels import fit_imodels
from benchmarks.adapters.licketysplit import fit_licketysplit
from benchmarks.adapters.praxis import fit_praxis
from benchmarks.adapters.pydl85 import fit_pydl85
from benchmarks.adapters.pytrees import fit_pytrees
from benchmarks.adapters.streed import fit_streed, fit_streed_policy
from benchmarks.adapters.treefarms import fit_treefarms

__all__ = [
    "BEFORE", "CLOCKS", "CONTENDERS", "UNLIMITED", "Contender", "Outcome", "UnsupportedError", "fit_certree",
    "fit_certree_policy", "fit_pruned_cart", "fit_streed_policy", "objective", "policy_objective", "use_clock",
]  # fmt: skip

CONTENDERS: dict[str, Contender] = {
    "certree": Contender("certree", "certree", fit_certree, is_exact=True, knows_weights=True),
    "streed": Contender("STreeD", "pystreed", fit_streed, is_exact=True, wants_tests=True),
    "contree": Contender("ConTree", "pycontree", fit_contree, is_exact=True),
    "certree-policy": Contender("certree", "certree", fit_certree_policy, is_exact=True),
    "streed-policy": Contender("STreeD", "pystreed", fit_streed_policy, is_exact=True),
    "cart": Contender("CART", "scikit-learn", fit_cart, is_exact=False, knows_weights=True),
    "pruned-cart": Contender("CART, cut back", "scikit-learn", fit_pruned_cart, is_exact=False, knows_weights=True),
    "boosting": Contender("gradient boosting", "scikit-learn", fit_boosting, is_exact=False, knows_weights=True),
    "gosdt": Contender("GOSDT", "gosdt", fit_gosdt, is_exact=True, wants_tests=True),
    "pytrees": Contender("DL8.5 of pytrees-rs", "pytrees-rs", fit_pytrees, is_exact=True, wants_tests=True),
    "pydl85": Contender("DL8.5", "pydl8.5", fit_pydl85, is_exact=True, wants_tests=True),
    "licketysplit": Contender(
        "LicketySPLIT", "licketysplit", fit_licketysplit, is_exact=False, knows_weights=True, wants_tests=True
    ),
    "imodels": Contender("imodels", "imodels", fit_imodels, is_exact=True, wants_tests=True),
    "certree-sets": Contender("certree", "certree", fit_certree_sets, is_exact=True),
    "praxis": Contender("PRAXIS", "tree-praxis", fit_praxis, is_exact=True),
    "treefarms": Contender("TreeFARMS", "treefarms", fit_treefarms, is_exact=True),
    "before": Contender("certree before", "certree", fit_certree_before, is_exact=True, needs=BEFORE),
}
