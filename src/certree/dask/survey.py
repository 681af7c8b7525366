"""What the columns of a table in parts are: kinds, categories, and where numbers are cut.

A first pass has every partition describe its columns (`survey`), and `join_columns` makes of it what reading the whole
table at once would make. A column of numbers with more values than it may have thresholds is cut at quantiles of the
whole table by weight, found by histograms that are refined where a quantile lies (`find_quantiles`): exactly the
quantiles of the table in memory, whatever the partitions, because weights are added up as whole numbers.

Everything is then told to `make_features` by *representative rows*: a small table that has every category, and of a
column of numbers the values next to its cuts. Its features are those of the whole table.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certree.amounts import exact_sum, to_amounts
from certree.dask.parts import Rows
from certree.features import Features, make_features, quantile_targets, read_chosen, read_places, sort_categories
from certree.problem import least_leaf_weight
from certree.reading import IDS
from certree.solver import bin_numeric, code_values, find_places
from certree.table import Table, count_missing, first_text, name_row

Array = NDArray[Any]

MOST_CATEGORIES = (1 << 16) - 1
"""Of one column; codes have two bytes, and one of them is for missing values."""
MOST_LABELS = 1000
MOST_POINTS = 1 << 18
"""Points of a histogram that all partitions together send at most, per column and round."""


# One partition ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sketch:
    """One column of one partition."""

    sort: str
    """"numbers", "places" of an order, "booleans", "objects", or "nothing" where all values are missing."""
    is_categorical: bool
    is_declared: bool
    order: tuple[Any, ...] | None
    n_missing: int
    distinct: tuple[Any, ...] | None
    """Sorted numbers or other values in order of appearance; None where there are too many."""
    example: str
    """A value that is no number, and its row, for a message; empty where there is none."""


@dataclass(frozen=True)
class Survey:
    """One partition."""

    n_given: int
    n_rows: int
    labels: Mapping[Any, int]
    """How many rows carry each label, those of weight zero included."""
    weight: int
    """The exact sum of the weights."""
    counted: int
    """The exact sum of what rows count towards a minimum of weight."""
    cost: int
    """Of a policy: the exact sum of every row's largest cost."""
    arms: tuple[int, ...]
    """Rows of each arm."""
    columns: tuple[Sketch, ...]
    remarks: Mapping[str, str]
    sorts: Mapping[str, str]
    """As in `Rows`."""


def survey(rows: Rows, thresholds: int, chosen: frozenset[int], min_weight_leaf: float, n_arms: int) -> Survey:
    """Describe a partition: its columns, labels and sums of weights."""
    labels: dict[Any, int] = {}
    if rows.labels is not None:
        if rows.labels.dtype == object:  # texts among numbers have no order
            labels = dict(Counter(rows.labels.tolist()))
        else:
            values, counts = np.unique(rows.labels, return_counts=True)
            labels = dict(zip(values.tolist(), counts.tolist(), strict=True))
        if len(labels) > MOST_LABELS:
            raise ValueError(f"y has more than {MOST_LABELS} different labels; is it a number to be predicted?")
    costs = rows.costs() if rows.table is not None else None
    table = rows.table
    columns: tuple[Sketch, ...] = ()
    if table is not None:
        columns = tuple(_sketch(table, index, thresholds, index in chosen) for index in range(table.n_columns))
    return Survey(
        n_given=rows.n_given,
        n_rows=rows.n_rows,
        labels=labels,
        weight=exact_sum(rows.weights),
        counted=exact_sum(np.minimum(rows.weights, least_leaf_weight(min_weight_leaf))),
        cost=0 if costs is None else exact_sum(costs.max(axis=1)),
        arms=() if rows.arms is None else tuple(np.bincount(rows.arms, minlength=n_arms).tolist()),
        columns=columns,
        remarks={} if table is None else table.remarks,
        sorts=rows.sorts,
    )


def _sketch(table: Table, index: int, thresholds: int, is_chosen: bool) -> Sketch:
    name, values = table.names[index], table.columns[index]
    order = None if is_chosen else table.declared.get(name)
    is_categorical = table.is_categorical[index] or is_chosen
    values = read_numbers(table, index, order)
    n_missing = 0 if values.dtype == np.bool_ else count_missing(values)
    distinct: tuple[Any, ...] | None
    if values.dtype == np.float64:
        if np.isinf(values).any():
            where = name_row(int(np.argmax(np.isinf(values))), table)
            raise ValueError(f"Input X contains infinity: column {name!r}, {where}")
        sort = "numbers" if order is None else "places"
        most = MOST_CATEGORIES if is_categorical else thresholds + 1
        distinct = _few_numbers(values, most)
    elif values.dtype == np.bool_:
        sort, distinct = "booleans", tuple(np.unique(values).tolist())
    else:
        distinct = tuple(value for value in dict.fromkeys(values) if value is not None)
        sort = "booleans" if all(isinstance(value, (bool, np.bool_)) for value in distinct) else "objects"
        if len(distinct) > MOST_CATEGORIES:
            distinct = None
    if distinct is None and (is_categorical or values.dtype != np.float64):
        raise ValueError(f"column {name!r} has more than {MOST_CATEGORIES} categories")
    row = first_text(values) if values.dtype == object else -1
    example = f"{values[row]!r} in {name_row(row, table)}" if row >= 0 else ""
    sort = "nothing" if n_missing == table.n_rows else sort
    return Sketch(sort, is_categorical, name in table.declared, order, n_missing, distinct, example)


def read_numbers(table: Table, index: int, order: tuple[Any, ...] | None) -> Array:
    """A column of a partition, the categories of an order as their places in it."""
    return table.columns[index] if order is None else read_places(index, table, order)


def _few_numbers(values: Array, most: int) -> tuple[float, ...] | None:
    """The distinct numbers, sorted, or None where there are more than so many."""
    for head in (values[: 16 * most], values):
        distinct = np.unique(head)  # a small part shows of most columns that they have many
        distinct = distinct[~np.isnan(distinct)]
        if len(distinct) > most:
            return None
    return tuple((distinct + 0.0).tolist())  # one zero


# All partitions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WholeColumn:
    """A column of the whole table."""

    name: str
    sort: str
    """"numbers", "places" of an order, "booleans" or "objects"."""
    is_categorical: bool
    is_declared: bool
    order: tuple[Any, ...] | None
    n_missing: int
    distinct: tuple[Any, ...] | None
    """None where a column of numbers has more than it may have thresholds."""


def join_labels(surveys: Sequence[Survey]) -> dict[Any, int]:
    """How many rows of the whole table carry each label, in the order of the labels."""
    counts: Counter[Any] = Counter()
    for own in surveys:
        counts.update(own.labels)
    firsts = [{sort: (part, example) for sort, example in own.sorts.items()} for part, own in enumerate(surveys)]
    seen = dict(ChainMap(*firsts))
    if len(seen) > 1:
        (part, text), (other, number) = seen["texts"], seen["numbers"]
        among = "" if part == other else f"in partition {other} it has "
        raise ValueError(f"partition {part}: y has {text}, but {among}{number}")
    try:
        order = sorted(counts)
    except TypeError as error:
        raise ValueError(f"y holds labels that cannot be put in order, such as {list(counts)[:3]}: {error}") from error
    return {label: counts[label] for label in order}


def join_columns(surveys: Sequence[Survey], names: Sequence[str], thresholds: int) -> list[WholeColumn]:
    """The columns of the whole table, or an error that says which partition has something else than the others."""
    described = [(part, own.columns) for part, own in enumerate(surveys) if own.columns]
    return [
        _join_column(name, [(part, columns[index]) for part, columns in described], thresholds)
        for index, name in enumerate(names)
    ]


def _join_column(name: str, sketches: Sequence[tuple[int, Sketch]], thresholds: int) -> WholeColumn:
    present = [(part, sketch) for part, sketch in sketches if sketch.sort != "nothing"]
    if not present:
        present = [
            (part, replace(sketch, sort="numbers" if sketch.order is None else "places", distinct=()))
            for part, sketch in sketches[:1]
        ]
    first_part, first = present[0]
    plain = [(part, sketch) for part, sketch in present if sketch.sort in ("numbers", "booleans")]
    for part, sketch in present:
        if sketch.sort != first.sort:
            texts = [(own, other.example) for own, other in present if other.example]
            if plain and texts:
                (own, example), (other_part, other) = texts[0], plain[0]
                raise ValueError(
                    f"partition {own}, column {name!r}: {example} is not a {other.sort[:-1]}, but partition "
                    f"{other_part} holds {other.sort} there"
                )
            raise ValueError(
                f"partition {part}, column {name!r}: it holds {sketch.sort}, but partition {first_part} holds "
                f"{first.sort} there"
            )
        if sketch.order != first.order or sketch.is_declared != first.is_declared:
            raise ValueError(
                f"partition {part}, column {name!r}: its categories are declared as {sketch.order}, but in partition "
                f"{first_part} as {first.order}"
            )
    n_missing = sum(sketch.n_missing for _, sketch in sketches)
    distinct: tuple[Any, ...] | None = None
    is_categorical = any(sketch.is_categorical for _, sketch in present)
    if all(sketch.distinct is not None for _, sketch in present):
        seen = dict.fromkeys(value for _, sketch in present for value in sketch.distinct or ())
        is_cut = first.sort in ("numbers", "places") and not is_categorical
        distinct = tuple(sort_categories(seen)) if len(seen) <= thresholds + 1 or not is_cut else None
    if distinct is not None and len(distinct) > MOST_CATEGORIES:
        raise ValueError(f"column {name!r} has more than {MOST_CATEGORIES} categories")
    return WholeColumn(name, first.sort, is_categorical, first.is_declared, first.order, n_missing, distinct)


# Quantiles ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Profile:
    """Points of the distribution of one column in one partition: values, and what weighs no more, or less, than each.

    Between two points there are other values only where something weighs more than one and less than the other. The
    ends of every bracket are points, whether or not the partition has them.
    """

    values: Array
    upto: Array
    """int64; the amounts of all values up to and including this one."""
    before: Array
    """int64; the amounts of all smaller values."""
    last: tuple[float, ...]
    """The largest two values of the partition."""


Brackets = Mapping[int, Array]
"""By column: float64, brackets × 2; in ascending order, from above the first value to the second."""


def profile(
    rows: Rows, exponent: int, brackets: Brackets, orders: Mapping[int, Any], most_points: int
) -> dict[int, Profile]:
    """For some columns of a partition, points inside brackets: all values where they are few, else some quantiles."""
    if rows.table is None:
        return {}
    amounts, _ = to_amounts(rows.weights, exponent)
    return {
        index: _profile_column(read_numbers(rows.table, index, orders.get(index)), amounts, own, most_points)
        for index, own in brackets.items()
    }


def _profile_column(values: Array, amounts: Array, brackets: Array, most_points: int) -> Profile:
    values = np.ascontiguousarray(values)
    found: list[tuple[Array, Array, Array]] = []
    share = max(most_points // len(brackets), 16)
    for number, (low, high, base, top, inside) in enumerate(_find_inside(values, amounts, brackets)):
        distinct, upto, before = _choose_points(values[inside], amounts[inside], share)
        if number == 0 or brackets[number - 1, 1] != low:
            found.append((np.array([low]), np.array([base]), np.array([base])))
        found.append((distinct + 0.0, base + upto, base + before))
        if len(distinct) == 0 or distinct[-1] != high:
            found.append((np.array([high]), np.array([top]), np.array([top])))
    points, upto, before = (np.concatenate(parts) for parts in zip(*found, strict=True))
    largest = np.fmax.reduce(values, initial=-np.inf)
    second = np.fmax.reduce(values[values < largest], initial=-np.inf)
    return Profile(points, upto, before, (float(second) + 0.0, float(largest) + 0.0))


def _find_inside(
    values: Array, amounts: Array, brackets: Array
) -> Iterator[tuple[float, float, int, int, slice | Array]]:
    """Each bracket's ends, the amounts up to them, and the rows inside: above the lower end, up to the upper one."""
    # The place of such a row among all ends is odd.
    is_all = brackets.tolist() == [[-np.inf, np.inf]]
    mass, _, rows, places = find_places(values, amounts, brackets.ravel(), not is_all)
    upto = np.cumsum(mass)
    order = np.argsort(places, kind="stable")
    rows, places = rows[order], places[order]
    for number, (low, high) in enumerate(brackets.tolist()):
        place = 2 * number + 1
        first, last = np.searchsorted(places, [place, place + 1])
        yield low, high, int(upto[place - 1]), int(upto[place]), slice(None) if is_all else rows[first:last]


def _choose_points(values: Array, amounts: Array, n_points: int) -> tuple[Array, Array, Array]:
    """Distinct values, and the amounts up to and before each: all of them where they are few, else some."""
    sample = values
    if len(values) > 8 * n_points:
        # Rows spread by number and by weight; what they weigh is then counted in all rows.
        weight = np.cumsum(amounts)
        targets = np.linspace(0.0, float(weight[-1]), 2 * n_points)
        by_weight = np.searchsorted(weight, targets).clip(max=len(values) - 1)
        sample = values[np.concatenate((np.arange(0, len(values), len(values) // (2 * n_points)), by_weight))]
    points = np.unique(sample)
    points = points[~np.isnan(points)]
    if len(points) <= n_points and sample is not values:
        points = bin_numeric(values)[1]  # they may be few
    if len(points) > n_points:
        points = points[np.linspace(0, len(points) - 1, n_points).astype(np.int64)]
    mass, equal, _, _ = find_places(values, amounts, points, False)
    upto = np.cumsum(mass[:-1])
    return points, upto, upto - equal


@dataclass(frozen=True, eq=False)
class Sought:
    """The quantiles of one column that are not decided yet."""

    targets: Array | None
    """int64; the amounts that they are the first to reach. None: whatever the whole weight says."""
    thresholds: int


@dataclass(frozen=True, eq=False)
class Decided:
    """What the points of all partitions say about one column."""

    cuts: Array
    """float64; the quantiles that are decided."""
    last: float
    """The largest value but one; the largest ends no bin but the last."""
    sought: Sought
    """The other quantiles."""
    brackets: Array
    """What these lie in."""


def decide(profiles: Sequence[Mapping[int, Profile]], sought: Mapping[int, Sought]) -> dict[int, Decided]:
    """For some columns what the profiles of all partitions say about their quantiles."""
    return {
        column: _decide_column([found[column] for found in profiles if column in found], own)
        for column, own in sought.items()
    }


def _decide_column(profiles: Sequence[Profile], sought: Sought) -> Decided:
    targets = sought.targets
    if targets is None:
        targets = quantile_targets(sum(int(one.upto[-1]) for one in profiles), sought.thresholds)
    last = np.unique([value for one in profiles for value in one.last])[-2]
    cuts, still, brackets = _refine(profiles, targets)
    return Decided(cuts, float(last), replace(sought, targets=still), brackets)


def pick(found: Mapping[int, Profile], columns: Sequence[int]) -> dict[int, Profile]:
    """The profiles of some columns of a partition."""
    return {column: found[column] for column in columns if column in found}


Ask = Callable[[Brackets, int, Mapping[int, Sought]], Mapping[int, Decided]]
"""A pass: what all partitions say, by points inside brackets and so many of them."""


def find_quantiles(columns: Sequence[int], thresholds: int, n_parts: int, ask: Ask) -> dict[int, Array]:
    """For each column the values after which it is cut: those of `_quantile_cuts` on the whole table."""
    most_points = max(64, min(4096, MOST_POINTS // max(n_parts, 1)))
    brackets: dict[int, Array] = {column: np.array([[-np.inf, np.inf]]) for column in columns}
    sought = {column: Sought(None, thresholds) for column in columns}
    cuts: dict[int, list[Array]] = {column: [] for column in columns}
    limit: dict[int, float] = {}
    while brackets:
        decided = ask(brackets, most_points, sought)
        for column, own in decided.items():
            cuts[column].append(own.cuts)
            limit[column] = own.last
        sought = {column: own.sought for column, own in decided.items() if len(own.brackets)}
        brackets = {column: decided[column].brackets for column in sought}
    return {column: np.unique(np.minimum(np.concatenate(found), limit[column])) for column, found in cuts.items()}


def _refine(profiles: Sequence[Profile], targets: Array) -> tuple[Array, Array, Array]:
    """The quantiles that are decided; the others' targets, and the brackets that they lie in."""
    values, places = np.unique(np.concatenate([one.values for one in profiles]), return_inverse=True)
    # Three step functions of the value, as what each point adds at its own value and at the next one. What is hidden
    # between two points of a partition weighs what lies between them: it counts in `most` and `before` from the first
    # value behind the lower point, and in `least` at the upper one.
    steps = np.zeros((3, len(values) + 1), dtype=np.int64)
    ends = np.cumsum([len(one.values) for one in profiles])[:-1]
    for one, place in zip(profiles, np.split(places, ends), strict=True):
        following = np.append(one.before[1:], one.upto[-1])
        np.add.at(steps[0], place, np.diff(one.upto, prepend=0))
        np.add.at(steps[1], place, one.upto - one.before)
        np.add.at(steps[1], place + 1, following - one.upto)
        np.add.at(steps[2], place + 1, following - one.before)
        steps[1:, 0] += one.before[0]
    least, most, before = np.cumsum(steps[:, :-1], axis=1)
    cuts: set[float] = set()
    still: list[int] = []
    rest: set[tuple[float, float]] = set()
    for target in targets.tolist():
        first = int(np.searchsorted(least, target))
        high = float(values[first])
        if int(before[first]) < target:
            cuts.add(high)
            continue
        low = int(np.searchsorted(most, target)) - 1
        still.append(target)
        rest.add((float(values[low]) if low >= 0 else -np.inf, high))
    brackets = np.array(_part(rest), dtype=np.float64).reshape(-1, 2)
    return np.array(sorted(cuts)), np.array(still, dtype=np.int64), brackets


def _part(brackets: set[tuple[float, float]]) -> list[tuple[float, float]]:
    """Brackets that overlap as disjoint ones, cut wherever one of them ends: a hull of many might be all there was."""
    ends = sorted({end for bracket in brackets for end in bracket})
    return [
        (low, high) for low, high in pairwise(ends) if any(first <= low and high <= last for first, last in brackets)
    ]


# Representative rows ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coding:
    """How the values of one column become codes 0, 1, ...; missing is the last where there is any."""

    edges: Array | None
    """Of numbers: float64; a value has as many edges below it as its code says."""
    places: Mapping[Any, int] | None
    """Of everything else: the code of each value."""
    size: int
    has_missing: bool
    order: tuple[Any, ...] | None = None

    def code(self, values: Array) -> Array:
        """Codes of a column of a partition, as `read_numbers` gives it."""
        missing = self.size - 1
        if self.edges is not None:
            return code_values(np.ascontiguousarray(values), self.edges, missing)
        assert self.places is not None
        if values.dtype == np.bool_:
            return np.array([self.places.get(False, 0), self.places.get(True, 0)])[values.astype(np.int8)]
        if values.dtype == np.float64:
            distinct, inverse = np.unique(values, return_inverse=True)
            own = [missing if value != value else self.places[value] for value in distinct.tolist()]
            return np.array(own)[inverse]
        return np.fromiter(
            (missing if value is None else self.places[value] for value in values), np.int64, len(values)
        )


def make_codings(columns: Sequence[WholeColumn], cuts: Mapping[int, Array]) -> list[Coding]:
    """For each column how its values are coded."""
    codings = []
    for index, column in enumerate(columns):
        has_missing = column.n_missing > 0
        if index in cuts:
            codings.append(Coding(cuts[index], None, len(cuts[index]) + 1 + has_missing, has_missing, column.order))
            continue
        assert column.distinct is not None
        size = len(column.distinct) + has_missing
        if column.sort in ("numbers", "places") and not column.is_categorical:
            edges = np.array(column.distinct[:-1], dtype=np.float64)
            codings.append(Coding(edges, None, max(size, 1), has_missing, column.order))
        else:
            places = {value: place for place, value in enumerate(column.distinct)}
            codings.append(Coding(None, places, max(size, 1), has_missing))
    return codings


def make_whole_features(
    columns: Sequence[WholeColumn],
    cuts: Mapping[int, tuple[Array, Array]],
    *,
    has_names: bool,
    categorical_features: Any,
    thresholds: int,
    forbidden: Any,
    n_rows: int,
) -> tuple[Features, list[Array]]:
    """The features of the whole table, with its number of rows, and for each column a representative row of each code.

    `cuts` has for the columns cut at quantiles the values below and above each cut.
    """
    values: list[list[Any]] = []
    rows: list[Array] = []
    own_thresholds: list[Any] = []
    for index, column in enumerate(columns):
        if index in cuts:
            below, above = cuts[index]
            # For every code its largest value, of the last code its smallest; then what else is next to a cut.
            own = [*below.tolist(), float(above[-1])]
            n_codes = len(own)
            own += above[:-1].tolist()
            own_thresholds.append((*below.tolist(), None))
        else:
            assert column.distinct is not None
            own = list(column.distinct)
            n_codes = len(own)
            own_thresholds.append("all")
        places = list(range(n_codes))
        if column.n_missing:
            places.append(len(own))
            own.append(None)
        values.append(own or [None])
        rows.append(np.array(places or [0]))
    n_representative = max(map(len, values))
    table = Table(
        names=tuple(column.name for column in columns),
        columns=tuple(
            _as_column([*own, *own[:1] * (n_representative - len(own))], column)
            for own, column in zip(values, columns, strict=True)
        ),
        is_categorical=tuple(column.is_categorical and column.order is None for column in columns),
        n_rows=n_representative,
        has_names=has_names,
        declared={column.name: column.order for column in columns if column.is_declared},
    )
    found = make_features(
        table, categorical_features=categorical_features, thresholds=own_thresholds, forbidden=forbidden
    )
    readings = tuple(
        replace(
            reading,
            n_missing=column.n_missing,
            n_distinct=None if column.distinct is None else reading.n_distinct,
            # The representative rows of a column are all different; those of the table may not be.
            remark=""
            if IDS in reading.remark and len(column.distinct or ()) + column.n_missing < n_rows
            else reading.remark,
        )
        for reading, column in zip(found.readings, columns, strict=True)
    )
    return replace(found, thresholds=thresholds, table=replace(table, n_rows=n_rows), readings=readings), rows


def _as_column(values: Sequence[Any], column: WholeColumn) -> Array:
    if column.order is not None:
        values = [None if value is None else column.order[int(value)] for value in values]
        if all(value is None or isinstance(value, (int, float)) for value in values):
            return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if column.sort == "numbers":
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if column.sort == "booleans" and not column.n_missing:
        return np.array(values, dtype=bool)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def read_categorical(categorical_features: Any, names: Sequence[str]) -> frozenset[int]:
    """The columns that were named to be read as categories."""
    empty = tuple(np.empty(0) for _ in names)
    return frozenset(read_chosen(categorical_features, Table(tuple(names), empty, (False,) * len(names), 0, True)))
