"""A certificate in words: among which trees, what was proved, and all of it line by line.

This file promises that nothing is called optimal without the set of trees among which it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from certree.certificate.form import LIMIT_STATUSES
from certree.tree import Value

WIDTH = 110
"""Of a line of a summary, in characters."""


def make_scope(certificate: Mapping[str, Any]) -> str:
    """The trees that a certificate speaks about: all that keep the constraints, over the tests that took part."""
    constraints, budget = certificate["constraints"], certificate.get("budget")
    scope = "all policy trees" if "policy" in certificate else "all trees"
    if constraints["max_depth"] is not None:
        scope += f" of depth at most {constraints['max_depth']}"
    sizes = []
    if constraints["max_leaves"] is not None:
        sizes.append(f"at most {constraints['max_leaves']} {'leaf' if constraints['max_leaves'] == 1 else 'leaves'}")
    if constraints["min_samples_leaf"] > 1:
        sizes.append(f"at least {constraints['min_samples_leaf']:,} rows per leaf")
    if constraints["min_weight_leaf"] > 0:
        sizes.append(f"at least {constraints['min_weight_leaf']:g} of weight per leaf")
    if constraints["min_samples_arm"] > 0:
        sizes.append(f"at least {constraints['min_samples_arm']:,} rows of every arm per leaf")
    if sizes:
        scope += f" with {_join(sizes)}"
    if budget is not None and budget["largest"] is not None:
        scope += f" that spend at most {budget['largest']:g} per row"
    scope += _describe_edits(constraints, is_after=budget is not None and budget["largest"] is not None)
    tests = _describe_tests(certificate)
    return f"{scope}{',' if sizes and tests else ''}{tests}"


def _describe_edits(constraints: Mapping[str, Any], *, is_after: bool) -> str:
    """What the trees had to begin with, and what they may not ask."""
    parts = []
    start, forbidden = constraints.get("start"), constraints.get("forbidden", [])
    if start is not None:
        more = " and what follows" if any(start[side] is not None for side in ("left", "right")) else ""
        parts.append(f"begin with “{start['test']}”{more}")
    if forbidden:
        names = [entry if isinstance(entry, str) else f"“{entry['test']}”" for entry in forbidden]
        few = [*names[:3], *([f"{len(names) - 3} more"] if len(names) > 3 else [])]
        parts.append(f"do not ask {_join(few, 'or')}")
    return f"{' and' if is_after else ' that'} {_join(parts)}" if parts else ""


def _describe_tests(certificate: Mapping[str, Any]) -> str:
    """Which tests took part, where these are not all of the table."""
    thresholds = certificate["thresholds"]
    if thresholds == "all":
        return ""
    if isinstance(thresholds, int):
        return f" over at most {thresholds:,} threshold{'' if thresholds == 1 else 's'} per column"
    guess = certificate.get("guarantees", {}).get("thresholds")
    if guess is None:
        return f" over {certificate['sizes']['tests']:,} chosen tests"
    return f" over {guess['n_kept']:,} of {guess['n_tests']:,} tests"


def make_statement(certificate: Mapping[str, Any]) -> str:
    """What was proved, in one phrase with its scope."""
    status, scope = certificate["status"], make_scope(certificate)
    if status == "optimal":
        return f"proved optimal among {scope}"
    if status == "guessed":
        return f"as good as the reference model promises, among {scope}; not proved optimal"
    if status == "approximate":
        weighing = certificate.get("guarantees", {}).get("weighing")
        how = {"duplicate": "for weights rounded to counts", "sample": "for a sample of the rows"}
        found = f"the best {how[weighing['method']]}" if weighing else "the best found"
        return f"{found} among {scope}; not proved optimal, gap {_gap(certificate)}"
    ended = "interrupted" if status == "interrupted" else f"stopped by the {status.replace('_', ' ')}"
    return f"the best found among {scope}; {ended}, gap {_gap(certificate)}"


def _gap(certificate: Mapping[str, Any]) -> str:
    gap = certificate.get("policy", certificate)["gap"]
    return f"{gap:,.0f}" if gap >= 1000 else f"{gap:.3g}"


def make_summary(certificate: Mapping[str, Any], labels: Sequence[Value] | None = None) -> str:
    """A heading and a line for each entry; what does not fit in a line goes on below its beginning."""
    lines = ["certificate"]
    for name, text in make_entries(certificate, labels).items():
        lines += wrap(text, WIDTH, initial_indent=f"  {name:<11}  ", subsequent_indent=" " * 15, break_long_words=False)
    return "\n".join(lines)


def make_html(
    certificate: Mapping[str, Any], labels: Sequence[Value] | None = None, *, shows_spend: bool = True
) -> str:
    """The same as a table, on request without what is spent, from which few rows could be counted."""
    rows = "".join(
        f'<tr><th style="text-align:left;vertical-align:top">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in make_entries(certificate, labels, shows_spend=shows_spend).items()
    )
    return f"<table><tbody>{rows}</tbody></table>"


def make_entries(
    certificate: Mapping[str, Any], labels: Sequence[Value] | None = None, *, shows_spend: bool = True
) -> dict[str, str]:
    """All that people need to know of a certificate, by what it is about."""
    sizes = certificate["sizes"]
    leaves = f"{certificate['leaves']} {'leaf' if certificate['leaves'] == 1 else 'leaves'}"
    penalty = f"{certificate['regularization']:g} × {leaves}"
    rounding = f"rounding at most {certificate['rounding']:.1e}"
    status, statement = certificate["status"], make_statement(certificate)
    n_idle = sizes["rows"] - sizes["rows_weighted"]
    idle = f" ({n_idle:,} of them have weight 0)" if n_idle else ""
    tests = "test" if sizes["distinct_tests"] == 1 else "tests"
    return {
        "status": statement if status == "optimal" else f"{status.replace('_', ' ')}: {statement}",
        **(
            _describe_value(certificate, labels, penalty, rounding, shows_spend=shows_spend)
            if "policy" in certificate
            else {
                "objective": f"{certificate['objective']:.10g} = loss {certificate['loss']:.10g} + {penalty}",
                "lower bound": f"{certificate['lower_bound']:.10g}, gap {certificate['gap']:.3g}, {rounding}",
            }
        ),
        "rows": f"{sizes['rows']:,} of weight {certificate['weight']:,.10g}{idle}; "
        f"{sizes['merged_rows']:,} after merging",
        "columns": f"{sizes['columns']:,} with {sizes['distinct_tests']:,} distinct {tests}",
        **_describe_guarantees(certificate),
    }


def _describe_value(
    certificate: Mapping[str, Any],
    labels: Sequence[Value] | None,
    penalty: str,
    rounding: str,
    *,
    shows_spend: bool,
) -> dict[str, str]:
    """What a policy is worth on the rows that it was fitted on."""
    own, spent = certificate["policy"], certificate.get("budget")
    entries = {
        "objective": f"{own['objective']:.10g} = mean reward {own['value']:.10g} − {penalty}, on the rows it was "
        "fitted on",
        "upper bound": f"{own['upper_bound']:.10g}, gap {own['gap']:.3g}, {rounding}",
    }
    if spent is not None:
        largest = "any" if spent["largest"] is None else f"at most {spent['largest']:g}"
        entries["budget"] = (
            f"spends {spent['spend']:.6g} per row, {largest}; one more unit is worth {spent['price']:.6g}"
            if shows_spend
            else f"{largest} per row; what is spent is not shown"
        )
        amounts = spent.get("spends")
        names = labels if labels is not None else [f"action {place}" for place in range(len(amounts or ()))]
        entries["spends"] = (
            "depends on the row"
            if amounts is None
            else ", ".join(f"{action}: {amount:g}" for action, amount in zip(names, amounts, strict=True))
        )
    return entries


def _describe_guarantees(certificate: Mapping[str, Any]) -> dict[str, str]:
    """What the way to weigh and every guess give up."""
    stated = certificate.get("guarantees", {})
    is_finished = certificate["status"] not in LIMIT_STATUSES
    entries = {}
    if "weighing" in stated:
        entries["weighing"] = _describe_weighing(
            stated["weighing"], is_proved=is_finished and "reference" not in stated
        )
    if "reference" in stated:
        own = stated["reference"]
        smallest = "the start with nothing added" if "start" in certificate["constraints"] else "the best lone leaf"
        theorem = (
            f"Theorem 1: objective <= {own['reference_loss']:.6g} (reference's loss) + loss of t where the reference "
            f"is right + λ·leaves(t) for every tree t; for {smallest} that is {own['lone_leaf_bound']:.6g}"
        )
        ended = theorem if is_finished else "the search was stopped, so Theorem 1 says nothing about its tree"
        entries["reference"] = f"{ended}; guessed bounds are at most {own['excess']:.6g} too high"
    if "thresholds" in stated:
        own = stated["thresholds"]
        losses = f"{own['guess']['loss_before']:.4f} before, {own['guess']['loss_after']:.4f} after"
        entries["thresholds"] = (
            f"kept {own['n_kept']} of {own['n_tests']} tests (boosted model's loss {losses}); the lower bound is about "
            f"trees over these tests; over all tests, no tree is below {own['floor']:.6g}"
        )
    if "depth" in stated:
        entries["depth"] = stated["depth"]["statement"]
    return entries


def _describe_weighing(own: Mapping[str, Any], *, is_proved: bool) -> str:
    """What counts in place of weights give up."""
    if own["method"] == "duplicate":
        bound = own["paper_bound"]
        how = f"rows duplicated, the heaviest {own['factor']} times"
        more = f"the paper's bound K is {'infinite: a weight became 0' if bound is None else format(bound, '.4g')}"
    else:
        how = f"{own['draws']} rows drawn"
        more = (
            f"with probability {own['level']:g} the objective of a fixed tree moves by less than "
            f"{own['fixed_tree_bound']:.4g}, and those of all trees of at most {own['most_leaves']} leaves by less "
            f"than {own['uniform_bound']:.4g}"
        )
    variation = own["total_variation"]
    so = f", and this tree is at most {2 * variation:.4g} above the optimum" if is_proved else ""
    return f"{how}: no tree's objective moves by more than the total variation, {variation:.4g}{so}; {more}"


def _join(parts: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
