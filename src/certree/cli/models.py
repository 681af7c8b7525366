"""A tree and its certificate, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from certree.cli.exits import LIMIT_STATUSES
from certree.export import export_text
from certree.tree import Tree, Value

STATUS_WORDS = {
    "optimal": "no such tree has a lower objective",
    "approximate": "the best tree of counts in place of weights; none is below the lower bound",
    "guessed": "as good as lower-bound guesses promise; no tree is below the lower bound",
    **dict.fromkeys(LIMIT_STATUSES, "the best tree so far; none is below the lower bound"),
}
POLICY_STATUS_WORDS = {
    "optimal": "no such policy has a greater objective",
    "approximate": "the best policy found within the budget; none is above the upper bound",
    **dict.fromkeys(LIMIT_STATUSES, "the best policy so far; none is above the upper bound"),
}


def print_model(tree: Tree, certificate: Mapping[str, Any]) -> None:
    # Ten digits: thresholds lie halfway between values, and 8940.029999999999 is 8940.03 to everyone but a machine.
    print(export_text(tree, digits=10), end="\n\n")
    for line in describe_certificate(certificate, tree.labels):
        print(line)


def describe_certificate(certificate: Mapping[str, Any], labels: Sequence[Value]) -> list[str]:
    """A certificate for people; `labels` are those of its tree."""
    constraints, sizes = certificate["constraints"], certificate["sizes"]
    limits = [f"depth at most {constraints['max_depth']}"] if constraints["max_depth"] is not None else ["any depth"]
    if constraints["max_leaves"] is not None:
        limits.append(f"at most {constraints['max_leaves']} leaves")
    if constraints["min_samples_leaf"] > 1:
        limits.append(f"at least {constraints['min_samples_leaf']} rows a leaf")
    if constraints["min_weight_leaf"] > 0:
        limits.append(f"at least {constraints['min_weight_leaf']:g} of weight a leaf")
    if constraints["min_samples_arm"] > 0:
        limits.append(f"at least {constraints['min_samples_arm']} rows of every arm a leaf")
    words = POLICY_STATUS_WORDS if "policy" in certificate else STATUS_WORDS
    status = f"{certificate['status'].replace('_', ' ')}: {words[certificate['status']]}"
    leaves = f"{certificate['leaves']} {'leaf' if certificate['leaves'] == 1 else 'leaves'}"
    penalty = f"{certificate['regularization']:g} × {leaves}"
    rounding = f"gap {certificate['gap']:.3g}, rounding at most {certificate['rounding']:.1e}"
    entries = {
        "status": status,
        "trees": ", ".join(limits),
        **(
            describe_value(certificate, labels, penalty, rounding)
            if "policy" in certificate
            else {
                "objective": f"{certificate['objective']:.10g} = loss {certificate['loss']:.10g} + {penalty}",
                "lower bound": f"{certificate['lower_bound']:.10g}, {rounding}",
            }
        ),
        "rows": f"{sizes['rows']} of weight {certificate['weight']:.10g}; {sizes['merged_rows']} after merging",
        "columns": f"{sizes['columns']} with {sizes['distinct_tests']} distinct tests",
        **describe_guarantees(certificate),
    }
    return ["certificate", *(line for name, text in entries.items() for line in describe_entry(name, text))]


def describe_value(
    certificate: Mapping[str, Any], actions: Sequence[Value], penalty: str, rounding: str
) -> dict[str, str]:
    """What a policy is worth on the rows that it was fitted on, for people."""
    own, spent = certificate["policy"], certificate.get("budget")
    entries = {
        "objective": f"{own['objective']:.10g} = mean reward {own['value']:.10g} − {penalty}",
        "upper bound": f"{own['upper_bound']:.10g}, {rounding}",
    }
    if spent is not None:
        largest = "any" if spent["largest"] is None else f"at most {spent['largest']:g}"
        entries["budget"] = f"spends {spent['spend']:.6g} per row, {largest}; price {spent['price']:.6g}"
        entries["spends"] = (
            "depends on the row"
            if spent.get("spends") is None
            else ", ".join(f"{action} {amount:g}" for action, amount in zip(actions, spent["spends"], strict=True))
        )
    return entries


def describe_entry(name: str, text: str) -> list[str]:
    """One entry; what does not fit in a line goes on below its beginning."""
    return wrap(text, 110, initial_indent=f"  {name:<11}  ", subsequent_indent=" " * 15, break_long_words=False)


def describe_guarantees(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What the way to weigh and every guess give up, for people."""
    stated = certificate.get("guarantees", {})
    is_finished = certificate["status"] not in LIMIT_STATUSES
    entries = {}
    if "weighing" in stated:
        entries["weighing"] = describe_weighing(stated["weighing"], is_proved=is_finished and "reference" not in stated)
    if "reference" in stated:
        own = stated["reference"]
        theorem = (
            f"Theorem 1: objective <= {own['reference_loss']:.6g} (reference's loss) + loss of t where the reference "
            f"is right + λ·leaves(t) for every tree t; for the best lone leaf that is {own['lone_leaf_bound']:.6g}"
        )
        ended = theorem if is_finished else "the search was stopped, so that Theorem 1 says nothing about its tree"
        entries["reference"] = f"{ended}; guessed bounds are at most {own['excess']:.6g} too high"
    if "thresholds" in stated:
        own = stated["thresholds"]
        losses = f"{own['guess']['loss_before']:.4f} before, {own['guess']['loss_after']:.4f} after"
        entries["thresholds"] = (
            f"kept {own['n_kept']} of {own['n_tests']} tests (boosted model's loss {losses}); the lower bound is about "
            f"trees of these, over all tests none is below {own['floor']:.6g}"
        )
    if "depth" in stated:
        entries["depth"] = stated["depth"]["statement"]
    return entries


def describe_weighing(own: Mapping[str, Any], is_proved: bool) -> str:
    """What counts in place of weights give up, for people."""
    if own["method"] == "duplicate":
        bound = own["paper_bound"]
        how = f"rows duplicated, the heaviest {own['factor']} times"
        more = f"the paper's bound K is {'infinite: a weight became 0' if bound is None else format(bound, '.4g')}"
    else:
        how = f"{own['draws']} rows drawn"
        more = (
            f"with probability {own['level']:g} a fixed tree's moves by less than {own['fixed_tree_bound']:.4g}, "
            f"and those of all trees of at most {own['most_leaves']} leaves by less than {own['uniform_bound']:.4g}"
        )
    variation = own["total_variation"]
    so = f", and this tree is at most {2 * variation:.4g} above the optimum" if is_proved else ""
    return f"{how}: no tree's objective moves by more than the total variation, {variation:.4g}{so}; {more}"
