"""The certificate itself: a frozen mapping of plain data, and how one is put together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from certree.certificate.form import FORMAT, VERSION
from certree.certificate.words import make_html, make_scope, make_statement, make_summary
from certree.features import write_forbidden
from certree.fingerprint import Array, fingerprint
from certree.problem import Problem
from certree.tree import Tree, Value


class Frozen(dict[str, Any]):
    """A mapping that cannot be changed, and neither can the mappings in it.

    It is a dict so that `json.dumps` and whoever takes a dict take it as it is.
    """

    def __init__(self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__({name: _freeze(value) for name, value in dict(entries).items()})

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a certificate cannot be changed; to_dict() gives a copy that can")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _: Any) -> Frozen:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (_thaw(self),))


class Certificate(Frozen):
    """What was proved about a tree, about which problem, as plain data.

    A frozen mapping: `certificate["status"]` and `certificate.status` are the same. `print(certificate)` and a notebook
    show it in words. `certree.certify.check` compares it with a table.

    Attributes
    ----------
    status : {"optimal", "guessed", "approximate", "time_limit", "memory_limit", "interrupted"}
        Why the search ended.
    objective, loss, lower_bound, gap : float
        The tree's objective (loss + λ · leaves) and loss, a bound that no tree is below, and the difference. Of a
        policy, they are about the reward that it falls short of the best action of every row; see `policy`.
    leaves, depth : int
        The size of the tree.
    rounding : float
        How far fixed-point numbers may have moved an objective inside the engine.
    regularization : float
        The penalty λ per leaf.
    constraints : mapping
        The limits that every tree had to keep: max_depth, max_leaves, min_samples_leaf, min_weight_leaf and
        min_samples_arm; start and forbidden where there were any.
    thresholds : "all", int or list
        Which thresholds took part: all, at most that many per column, or the cuts listed per column.
    sizes : mapping
        Rows, columns, tests and labels.
    weight : float
        The total weight of the rows.
    limits : mapping
        The time and memory limits and the number of threads.
    digests : mapping or None
        SHA-256 of the table and the problem; None in certificates of 0.1.0.
    policy : mapping or None
        Of a policy: its value, objective, upper_bound and gap, in units of the rewards.
    budget : mapping or None
        Of a policy with a budget: the largest mean spend, the policy's spend, the price and what each action spends.
    class_weights : list or None
        Of a classifier: the factor of each class.
    guarantees : mapping or None
        Of a classifier: what `method` and every guess give up, in words and numbers.
    format, version, certree : str, int, str
        The file format with its version, and the release of certree that made the certificate.

    Raises
    ------
    TypeError
        If an entry is to be changed. `to_dict` gives a copy that may be.

    Examples
    --------
    >>> from certree import SparseTreeClassifier
    >>> certificate = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"]).certificate_
    >>> certificate.status, certificate["gap"]
    ('optimal', 0.0)
    >>> certificate.scope
    'all trees of depth at most 1'
    """

    format: str
    version: int
    certree: str
    status: str
    objective: float
    loss: float
    leaves: int
    depth: int
    lower_bound: float
    gap: float
    rounding: float
    regularization: float
    constraints: Mapping[str, Any]
    sizes: Mapping[str, Any]
    thresholds: str | int | list[list[Any]]
    weight: float
    limits: Mapping[str, Any]
    digests: Mapping[str, str] | None
    policy: Mapping[str, float] | None
    budget: Mapping[str, Any] | None
    class_weights: list[float] | None
    guarantees: Mapping[str, Any] | None

    def __getattr__(self, name: str) -> Any:
        # Only names that no method has arrive here. Parts that not every certificate has are None.
        if name in Certificate.__annotations__:
            return self.get(name)
        raise AttributeError(f"a certificate has no field {name!r}; it has {', '.join(self)}")

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        self._refuse(name, value)

    def __or__(self, other: Mapping[str, Any]) -> Certificate:  # type: ignore[override]
        """A certificate that states further parts, or others."""
        return Certificate({**self, **other})

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *Certificate.__annotations__})

    @property
    def scope(self) -> str:
        """The trees that the certificate speaks about: "all trees of depth at most 3 over 29 of 134 tests"."""
        return make_scope(self)

    @property
    def statement(self) -> str:
        """What was proved, in one phrase: "proved optimal among all trees of depth at most 3"."""
        return make_statement(self)

    def to_dict(self) -> dict[str, Any]:
        """A copy of plain dicts and lists, which may be changed and written as JSON."""
        copy: dict[str, Any] = _thaw(self)
        return copy

    def summary(self, labels: Sequence[Value] | None = None) -> str:
        """The certificate in words, one line per entry.

        `labels` are the names of a policy's actions, for what each of them spends; they are those of its tree.
        """
        return make_summary(self, labels)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Certificate: {self.statement}>"

    def to_html(self, labels: Sequence[Value] | None = None) -> str:
        """The same as a table, which a notebook shows."""
        return make_html(self, labels)

    def _repr_html_(self) -> str:
        return self.to_html()


def _freeze(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)) or type(value) is Frozen:
        return value  # as most are; asking whether they are mappings would take longer
    if isinstance(value, Mapping):
        return Frozen(value)
    return [_freeze(item) for item in value] if isinstance(value, (list, tuple)) else value


def _thaw(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _thaw(item) for name, item in value.items()}
    return [_thaw(item) for item in value] if isinstance(value, list) else value


# Putting one together -----------------------------------------------------------------------------------------------


def make_certificate(
    problem: Problem,
    tree: Tree,
    loss: float,
    upper: float,
    lower: float,
    status: str,
    rounding: float,
    *,
    statistics: Mapping[str, Any],
    limits: Mapping[str, Any],
    version: str,
    spends: Array | None = None,
    largest_spend: float | None = None,
    digests: Mapping[str, str] | None = None,
    **parts: Any,
) -> Certificate:
    """What was proved, about which problem.

    `spends` (rows × labels, times the weights) and `largest_spend` are those of a policy with a budget; `parts` are
    fields that not every certificate has. `digests` are given where the rows of the problem are not at hand.
    """
    settings = list_settings(problem, largest_spend)
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "certree": version,
        "status": status,
        "objective": upper,
        "loss": loss,
        "leaves": tree.n_leaves,
        "depth": tree.depth,
        "lower_bound": lower,
        "gap": upper - lower,
        "rounding": rounding,
        "regularization": settings["regularization"],
        "constraints": settings["constraints"],
        "sizes": {
            "rows": problem.n_rows_given or problem.n_rows,
            "rows_weighted": problem.n_rows,
            "merged_rows": int(statistics.get("merged_rows", problem.n_rows)),
            "columns": len(problem.features.columns),
            "axes": len(problem.features.axes),
            "tests": problem.features.n_tests,
            "distinct_tests": int(statistics.get("tests", problem.features.n_tests)),
            "labels": len(problem.labels),
        },
        "thresholds": settings["thresholds"],
        "weight": problem.normaliser,
        "limits": dict(limits),
        "digests": fingerprint(problem, settings, spends=spends) if digests is None else digests,
    }
    return Certificate(fields | parts)


def list_settings(problem: Problem, budget: float | None = None) -> dict[str, Any]:
    """What is searched besides the table, as plain data. A budget without a limit is none."""
    thresholds, forbidden = problem.features.thresholds, problem.features.forbidden
    # Stated only where there are any, so that a problem without edits has the digest that it always had.
    edits: dict[str, Any] = {} if problem.start is None else {"start": problem.start.to_plain()}
    if forbidden:
        edits["forbidden"] = write_forbidden(forbidden)
    return {
        "regularization": float(problem.regularization),
        "constraints": {
            "max_depth": None if problem.max_depth is None else int(problem.max_depth),
            "max_leaves": None if problem.max_leaves is None else int(problem.max_leaves),
            "min_samples_leaf": int(problem.min_samples_leaf),
            "min_weight_leaf": float(problem.min_weight_leaf),
            "min_samples_arm": int(problem.min_samples_arm),
            **edits,
        },
        "thresholds": thresholds if isinstance(thresholds, (str, int)) else list(map(list, thresholds)),
        "budget": None if budget is None or math.isinf(budget) else float(budget),
    }
