"""What an evaluation says, under the names that the page gives the actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from certree.policy.evaluation import Evaluation
from certree.tree import Value

T = TypeVar("T")


def rename_actions(found: Evaluation, names: Mapping[Value, Value]) -> Evaluation:
    """The same evaluation of actions that are called otherwise; one that it does not know keeps its name."""

    def name(action: Value) -> Value:
        return names.get(action, action)

    def each(facts: Mapping[Value, T]) -> dict[Value, T]:
        return {name(action): fact for action, fact in facts.items()}

    by_action: dict[str, Any] = {
        field: each(getattr(found, field)) for field in ("fixed", "gains", "rates", "fixed_spends")
    }
    return replace(
        found,
        **by_action,
        control=name(found.control),
        leaves=tuple(
            replace(leaf, action=name(leaf.action), arms=each(leaf.arms), rewards=each(leaf.rewards))
            for leaf in found.leaves
        ),
        groups=tuple(replace(group, rates=each(group.rates)) for group in found.groups),
        baselines=tuple(replace(own, action=name(own.action), base=name(own.base)) for own in found.baselines),
    )
