"""Columns ↔ named tests.

This room turns the raw columns of a table into *axes*, the only thing the engine sees, and turns a test on an axis back
into a test on a column that people can read. It promises that the two are the same test: a row's code satisfies the
axis test exactly when the row's raw value satisfies the column test.

An axis is a column of codes 0..size-1 with its tests. Ordered: "code <= b". Categorical: "code == c".

    numeric, nothing missing   one ordered axis; a threshold halfway between neighbouring values
    numeric, some missing      two ordered axes: missing before all values, and after them
    boolean, two categories    one ordered axis of two codes
    ordered categories         as numeric, by their places in the order; a threshold is the lower of two neighbours
    categorical                one categorical axis; missing is a category of its own
    categorical, some chosen   an ordered axis of two codes for each chosen category: it, and all the others

At prediction a category that training did not see satisfies no test, and nor does a missing value where training saw
none: both go right. Only what an order declares has its place in it, seen or not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from certree.amounts import add_by_group, exact_sum, find_exponent, to_amounts
from certree.reading import ColumnReading, remark_on
from certree.table import Table, count_missing, find_positions, name_row, read_table
from certree.tree import (
    LARGEST_INDEX,
    Column,
    Test,
    UnknownCategoryError,
    Value,
    find_column,
    plain_value,
    read_test,
    write_test,
)

Array = NDArray[Any]
Binner = Callable[[Array], tuple[Array, Array]]
"""float64 values → int32 codes in value order (-1 for NaN), and the distinct values in that order."""

Cuts = Sequence[Sequence[Value | None]]
"""For each column what its tests may ask: thresholds of a numeric column, categories of another one; None is missing.
A numeric column with missing values that has any cut is also asked whether the value is missing."""

Forbidden = Sequence[str | Test]
"""Columns by their names, and tests, that no tree may ask."""

View = Literal["values", "missing first", "missing last", "equals", "one category", "asked"]


def bin_numeric(values: Array) -> tuple[Array, Array]:
    """The plain binner; the engine has a faster twin."""
    distinct, codes = np.unique(values, return_inverse=True)
    codes = codes.astype(np.int32)
    n_distinct = len(distinct)
    if n_distinct and np.isnan(distinct[-1]):
        n_distinct -= 1
        codes[codes == n_distinct] = -1
    return codes, distinct[:n_distinct]


@dataclass(frozen=True)
class ColumnTest:
    """A test as a tree stores it, and whether the engine's left side is the tree's right one."""

    column: int
    threshold: float = float("nan")
    category: int = -1
    missing_left: bool = False
    is_swapped: bool = False


LEAF = ColumnTest(-1)
"""What a tree stores where nothing is tested."""


MOST_HELD = 1 << 14
"""Distinct values of a column that are kept sorted; more of them are read off the rows where they are needed."""


@dataclass(frozen=True)
class Gaps:
    """Where the thresholds of an axis lie: each in the gap between two neighbouring values. Categories have none."""

    below: Array = field(default_factory=lambda: np.empty(0))
    """float64; for each threshold the largest value below it."""
    above: Array = field(default_factory=lambda: np.empty(0))
    """float64; for each threshold the smallest value above it."""

    def __len__(self) -> int:
        return len(self.below)

    def at(self, index: int) -> tuple[float, float]:
        """The two neighbours of one threshold."""
        return float(self.below[index]), float(self.above[index])

    def distinct(self) -> Array:
        """float64; all of the neighbours, ascending."""
        return np.concatenate((self.below, self.above[-1:]))

    def held(self) -> Gaps:
        return self

    def read_from(self, codes: Array) -> Gaps:  # noqa: ARG002
        return self


@dataclass(frozen=True)
class GapsOfRows:
    """The same between all values of a column. As many as a million rows have would take more memory than the codes of
    the axis, so they are not held: a tree asks for a handful of them."""

    values: Array
    """float64, one per row."""
    codes: Array
    """int32, one per row."""
    first: int
    """The code of the least value."""
    n_values: int

    def __len__(self) -> int:
        return self.n_values - 1

    def at(self, index: int) -> tuple[float, float]:
        """The two neighbours of one threshold."""
        return self._value(index), self._value(index + 1)

    def distinct(self) -> Array:
        """float64; all of the neighbours, ascending."""
        by_code = np.empty(self.first + self.n_values + 1)  # with room for what is missing, at either end
        by_code[self.codes] = self.values
        return by_code[self.first : self.first + self.n_values]

    def held(self) -> Gaps:
        """The same, sorted for good."""
        distinct = self.distinct()
        return Gaps(distinct[:-1], distinct[1:])

    def read_from(self, codes: Array) -> GapsOfRows:
        """From another array that holds the same codes."""
        return replace(self, codes=codes)

    def _value(self, rank: int) -> float:
        return float(self.values[np.argmax(self.codes == self.first + rank)])


@dataclass(frozen=True)
class Axis:
    """How the codes of one axis read as values of a column."""

    column: int
    view: View
    size: int
    gaps: Gaps | GapsOfRows = field(default_factory=Gaps)
    category: int = -1
    """Of the view "one category": which one."""
    kept: Array | None = None
    """int64; where tests are forbidden, for each code the test of the whole axis that it stands for."""
    asked: ColumnTest = LEAF
    """Of the view "asked", which has one test: that test."""

    @property
    def thresholds(self) -> Array:
        """float64; halfway between neighbouring values."""
        gaps = self.gaps.held()
        return np.array([separate(*pair) for pair in zip(gaps.below.tolist(), gaps.above.tolist(), strict=True)])

    @property
    def is_categorical(self) -> bool:
        return self.view == "equals"

    def test(self, code: int, column: Column) -> ColumnTest:
        """The column test that is "code <= code" on an ordered axis, "code == code" on a categorical one."""
        if self.view == "asked":
            return self.asked
        if self.kept is not None:
            code = int(self.kept[code])
        if column.kind in ("boolean", "categorical"):
            if self.view == "one category":
                code = self.category
            elif column.kind == "boolean" and not column.has_missing:
                return ColumnTest(self.column, category=1, is_swapped=code == 0)
            if code == len(column.categories):
                return ColumnTest(self.column, missing_left=True)
            return ColumnTest(self.column, category=code)
        if self.view == "missing first":
            if code == 0:
                return ColumnTest(self.column, missing_left=True)
            return ColumnTest(self.column, threshold=self._threshold(code - 1, column), missing_left=True)
        if code == len(self.gaps):
            return ColumnTest(self.column, missing_left=True, is_swapped=True)
        return ColumnTest(self.column, threshold=self._threshold(code, column))

    def _threshold(self, index: int, column: Column) -> float:
        below, above = self.gaps.at(index)
        # Of an ordered column a category that was seen, so that the test can name it.
        return below if column.kind == "ordered" else separate(below, above)


@dataclass(frozen=True)
class Features:
    """A table as columns and axes. `codes` is int32, axes × rows, read-only."""

    table: Table
    columns: tuple[Column, ...]
    axes: tuple[Axis, ...]
    codes: Array
    readings: tuple[ColumnReading, ...]
    """What each column was read as, for people."""
    categorical_features: tuple[bool, ...]
    thresholds: str | int | Cuts
    binner: Binner
    forbidden: Forbidden = ()
    idle: Forbidden = ()
    """Tests that were forbidden, but that no tree could ask: all rows give them the same answer."""

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def n_tests(self) -> int:
        """How many tests the axes offer, doubles included."""
        return sum(axis.size if axis.is_categorical else axis.size - 1 for axis in self.axes)

    def test(self, axis: int, code: int) -> ColumnTest:
        """The column test of an axis test."""
        return self.axes[axis].test(code, self.columns[self.axes[axis].column])

    def question(self, axis: int, code: int) -> Test:
        """An axis test in words and values; where the two sides are swapped, it asks the opposite."""
        test = self.test(axis, code)
        column = self.columns[test.column]
        return Test(
            column,
            threshold=None if np.isnan(test.threshold) else test.threshold,
            category=None if test.category < 0 else column.categories[test.category],
            missing_left=test.missing_left,
        )

    def take(self, rows: Array, weights: Array | None = None) -> Features:
        """The features of some rows alone, as though the others had never been there."""
        taken = make_features(
            self.table.take(rows),
            categorical_features=self.categorical_features,
            thresholds=self.thresholds,
            weights=weights,
            binner=self.binner,
            forbidden=self.forbidden,
        )
        # What parts no rows of the whole table parts none of these.
        return replace(taken, idle=tuple(dict.fromkeys((*self.idle, *taken.idle))))

    def at(self, rows: Array) -> Features:
        """The same axes and tests at some rows alone, whether or not all their values occur there."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        codes.flags.writeable = False
        return replace(self, table=self.table.take(rows), codes=codes)

    def held(self) -> Features:
        """The same with all values of every axis at hand, for whoever asks for many tests, or later."""
        gaps = [axis.gaps.held() for axis in self.axes]
        if all(own is axis.gaps for own, axis in zip(gaps, self.axes, strict=True)):
            return self
        return replace(self, axes=tuple(replace(axis, gaps=own) for own, axis in zip(gaps, self.axes, strict=True)))

    def with_asked(self, tests: Sequence[tuple[int, Test]]) -> Features:
        """One axis more for each of these tests (of the numbered columns), which have places behind all others."""
        axes, codes = [], [self.codes]
        for place, test in tests:
            holds = test.holds(test.column.read(self.table.columns[place], self.table))
            category = -1 if test.category is None else test.column.categories.index(test.category)
            threshold = math.nan if test.threshold is None else test.threshold
            axes.append(Axis(place, "asked", 2, asked=ColumnTest(place, threshold, category, test.missing_left)))
            codes.append((~holds).astype(np.int32)[None])
        matrix = np.ascontiguousarray(np.concatenate(codes))
        matrix.flags.writeable = False
        return replace(self, axes=(*self.axes, *axes), codes=matrix)


def make_features(
    X: Any,
    *,
    categorical_features: Any = "auto",
    thresholds: str | int | Cuts = "all",
    weights: Array | None = None,
    binner: Binner = bin_numeric,
    forbidden: Any = None,
) -> Features:
    """Columns and axes of a table.

    `categorical_features` is "auto" (strings, booleans and what the frame calls categorical), a mask, or a sequence of
    column numbers or names that are categorical besides, without an order even if the frame declares one.
    `thresholds` is "all", the largest number a numeric column may have (these are then quantiles by `weights`), or for
    each column the very cuts that its tests may ask. `forbidden` are columns and tests that are not offered.
    """
    table = read_table(X)
    if table.n_rows > LARGEST_INDEX or table.n_columns > LARGEST_INDEX:
        raise ValueError(
            f"X has {table.n_rows} rows and {table.n_columns} columns; an index holds at most {LARGEST_INDEX}"
        )
    thresholds = _read_thresholds(thresholds, table)
    offered = [thresholds] * table.n_columns if isinstance(thresholds, (str, int)) else thresholds
    chosen = read_chosen(categorical_features, table)
    mask = tuple(own or index in chosen for index, own in enumerate(table.is_categorical))
    columns: list[Column] = []
    readings: list[ColumnReading] = []
    axes: list[Axis] = []
    # No more than two axes come of a column, or one for each category that is given.
    codes = _CodeRows(sum(2 if isinstance(own, (str, int)) else max(2, len(own)) for own in offered), table.n_rows)
    masses = _weigh_bins(weights) if isinstance(thresholds, int) else None
    for index, values in enumerate(table.columns):
        own = offered[index]
        order = None if mask[index] else table.declared.get(table.names[index])
        if order is None and (mask[index] or values.dtype != np.float64):
            column, new_axes, new_codes = _read_categories(index, table)
            n_distinct = len(column.categories)
            if not isinstance(own, (str, int)):
                new_axes, new_codes = _choose_categories(column, new_axes, new_codes, own)
        else:
            column, numbers, distinct = _read_numbers(index, table, order, binner)
            n_distinct = len(distinct)
            new_axes, new_codes = _make_axes(index, numbers, distinct, own, masses, values, column)
            del numbers, distinct  # a million rows' worth, while the next column is read
        remark = "" if index in chosen else remark_on(index, table)
        n_missing = count_missing(values) if column.has_missing else 0
        own_order = column.categories if order is not None else ()
        readings.append(ColumnReading(column.name, column.kind, n_distinct, n_missing, own_order, remark))
        columns.append(column)
        axes += map(codes.take_in, new_axes, new_codes)
        del new_axes, new_codes
    without, unknown = read_forbidden(forbidden, columns)
    if without:
        axes, rows = _leave_out(without, table, columns, axes, codes.rows)
        codes = _CodeRows(len(rows), table.n_rows)
        axes = list(map(codes.take_in, axes, rows))
    matrix = codes.matrix()
    idle: Forbidden = (*unknown, *_find_idle(without, table, columns))
    return Features(
        table, tuple(columns), tuple(axes), matrix, tuple(readings), mask, thresholds, binner, without, idle
    )


class _CodeRows:
    """The codes of all axes, as the rows of a matrix. Those of a column are copied into it while they are in a near
    cache, and what held them is free for the next column: a million rows of new memory take long to clear."""

    def __init__(self, most: int, n_rows: int) -> None:
        # Under most systems, what is never written to takes no memory.
        self._room = np.empty((most, n_rows), dtype=np.int32)
        self.rows: list[Array] = []

    def take_in(self, axis: Axis, codes: Array) -> Axis:
        """The axis, whose codes are here from now on."""
        row = self._room[len(self.rows)]
        row[:] = codes
        self.rows.append(row)
        gaps = axis.gaps.read_from(row)
        return axis if gaps is axis.gaps else replace(axis, gaps=gaps)

    def matrix(self) -> Array:
        matrix = self._room[: len(self.rows)]
        matrix.flags.writeable = False
        return matrix


def _read_thresholds(thresholds: Any, table: Table) -> str | int | Cuts:
    if isinstance(thresholds, str) and thresholds == "all":
        return "all"
    if isinstance(thresholds, Integral) and int(thresholds) >= 1:
        return int(thresholds)
    if isinstance(thresholds, (str, Integral)):
        raise ValueError(f'thresholds must be "all" or an integer of at least 1, not {thresholds!r}')
    if len(thresholds) != table.n_columns:
        raise ValueError(f"thresholds has cuts for {len(thresholds)} columns, but X has {table.n_columns}")
    # Where only some values of a column are at hand, cuts are given; the other columns have all.
    return tuple(own if isinstance(own, str) else tuple(own) for own in thresholds)


def read_chosen(categorical_features: Any, table: Table) -> set[int]:
    """The columns that were named to be read as categories."""
    if categorical_features is None or (isinstance(categorical_features, str) and categorical_features == "auto"):
        return set()
    if isinstance(categorical_features, str):
        raise ValueError(f'categorical_features must be "auto", a mask, numbers or names, not {categorical_features!r}')
    chosen = np.asarray(categorical_features)
    if chosen.ndim != 1:
        raise ValueError("categorical_features must be one-dimensional")
    if chosen.dtype.kind == "b":
        if len(chosen) != table.n_columns:
            raise ValueError(f"categorical_features is a mask of {len(chosen)} for {table.n_columns} columns")
        numbers = np.flatnonzero(chosen).tolist()
    elif chosen.dtype.kind in "iu" or len(chosen) == 0:
        numbers = chosen.astype(np.int64).tolist()
        for number in numbers:
            if not 0 <= number < table.n_columns:
                raise ValueError(f"categorical_features names column {number}, but X has {table.n_columns} columns")
    else:
        numbers = []
        for name in map(str, chosen):
            if name not in table.names:
                raise ValueError(f"categorical_features names column {name!r}, which X does not have")
            numbers.append(table.names.index(name))
    return set(numbers)


def separate(lower: float, upper: float) -> float:
    """A threshold halfway between neighbours, such that lower <= threshold < upper holds in floating point."""
    middle = (lower + upper) / 2
    if math.isinf(middle):
        middle = lower / 2 + upper / 2
    # Between adjacent floats there is no middle: the lower one still separates them.
    return middle if lower <= middle < upper else lower


def _read_numbers(
    index: int, table: Table, order: tuple[Any, ...] | None, binner: Binner
) -> tuple[Column, Array, Array]:
    """Numbers, or ordered categories by their places in the order, as the binner gives them."""
    name, values = table.names[index], table.columns[index]
    if order is not None:
        values = read_places(index, table, order)
    codes, distinct = binner(values)
    if len(distinct) and (math.isinf(distinct[0]) or math.isinf(distinct[-1])):
        raise _infinity(index, table)
    has_missing = bool(codes.min() < 0)
    if order is None:
        column = Column(name, "numeric", (), has_missing)
    else:
        column = Column(name, "ordered", tuple(map(plain_value, order)), has_missing)
    return column, codes, distinct


def _make_axes(
    index: int,
    codes: Array,
    distinct: Array,
    thresholds: str | int | Sequence[Value | None],
    masses: Array | None,
    values: Array,
    column: Column,
) -> tuple[list[Axis], list[Array]]:
    """The axes of a column of numbers, and their codes."""
    gaps = Gaps(distinct[:-1], distinct[1:])
    cuts: Array | None = None
    if not isinstance(thresholds, (str, int)):
        if not thresholds:
            return [], []
        cuts = _given_cuts(thresholds, distinct)
    elif not isinstance(thresholds, str) and len(gaps) > thresholds:
        cuts = _quantile_cuts(codes, len(distinct), thresholds, masses)
    if cuts is not None:
        bins = np.searchsorted(cuts, np.arange(len(distinct))).astype(np.int32)
        codes = np.where(codes < 0, np.int32(-1), bins[codes])
        gaps = Gaps(distinct[cuts], distinct[cuts + 1])
    n_bins = len(gaps) + (len(distinct) > 0)

    def make(view: View, codes: Array, n_missing: int, first: int) -> Axis:
        is_held = cuts is not None or column.kind == "ordered" or n_bins <= MOST_HELD
        return Axis(index, view, n_bins + n_missing, gaps if is_held else GapsOfRows(values, codes, first, n_bins))

    if not column.has_missing:
        return _only_if_useful(make("values", codes, 0, 0), codes)
    if n_bins == 0:
        return [], []
    first_codes = codes + 1
    first = make("missing first", first_codes, 1, 1)
    if n_bins == 1:
        return [first], [first_codes]
    last_codes = np.where(codes < 0, np.int32(n_bins), codes)
    return [first, make("missing last", last_codes, 1, 0)], [first_codes, last_codes]


def read_places(index: int, table: Table, order: tuple[Any, ...]) -> Array:
    """float64; the values of an ordered column as places in its order, NaN where missing."""
    places = find_positions(table.columns[index], order)
    if np.isinf(places).any():
        row = int(np.argmax(np.isinf(places)))
        value, name = plain_value(table.columns[index][row]), table.names[index]
        categories = " < ".join(map(repr, map(plain_value, order)))
        where = f"column {name!r}, {name_row(row, table)}"
        raise ValueError(f"{where}: {value!r} is not one of its categories {categories}")
    return places


def _infinity(index: int, table: Table) -> ValueError:
    row = name_row(int(np.argmax(np.isinf(table.columns[index]))), table)
    return ValueError(f"Input X contains infinity: column {table.names[index]!r}, {row}")


def _given_cuts(thresholds: Sequence[Value | None], distinct: Array) -> Array:
    """The codes after which to cut: thresholds that no two values lie on either side of are no tests here."""
    given = np.array([threshold for threshold in thresholds if threshold is not None], dtype=np.float64)
    cuts = np.unique(np.searchsorted(distinct, given, side="right") - 1)
    return cuts[(cuts >= 0) & (cuts < len(distinct) - 1)]


def _weigh_bins(weights: Array | None) -> Array | None:
    """int64; weights as amounts, whose sums, and so the quantiles, are the same whatever the order of the rows."""
    return None if weights is None else to_amounts(weights, find_exponent(exact_sum(weights)))[0]


def _quantile_cuts(codes: Array, n_distinct: int, n_thresholds: int, masses: Array | None) -> Array:
    """The codes after which to cut, so that the bins weigh about the same."""
    present = codes >= 0
    if masses is None:
        mass = np.bincount(codes[present], minlength=n_distinct)
    else:
        mass = add_by_group(codes[present], masses[present], n_distinct)
    below = np.cumsum(mass)
    targets = quantile_targets(int(below[-1]), n_thresholds)
    return np.unique(np.searchsorted(below[:-1], targets).clip(max=n_distinct - 2))


def quantile_targets(total: int, n_thresholds: int) -> Array:
    """int64; for each quantile the least whole number that is no less than its share of the total."""
    return np.array([-(-total * place // (n_thresholds + 1)) for place in range(1, n_thresholds + 1)], dtype=np.int64)


def _read_categories(index: int, table: Table) -> tuple[Column, list[Axis], list[Array]]:
    name, values = table.names[index], table.columns[index]
    if values.dtype == np.bool_:
        column = Column(name, "boolean", (False, True), False)
        is_constant = bool(values.all() or not values.any())
        axis = Axis(index, "values", 1 if is_constant else 2)
        return column, *_only_if_useful(axis, values.astype(np.int32))
    if values.dtype == np.float64:
        if np.isinf(values).any():
            raise _infinity(index, table)
        codes, distinct = bin_numeric(values)
        # Whole numbers are named as people write them; 3 and 3.0 are equal, so the test is the same.
        categories = [int(value) if value.is_integer() else value for value in distinct.tolist()]
        has_missing = bool(codes.min() < 0)
        codes = np.where(codes < 0, np.int32(len(categories)), codes)
    else:
        seen = dict.fromkeys(values)
        has_missing = seen.pop(None, 0) is None
        order = sort_categories(seen)
        code_of = {value: code for code, value in enumerate(order)}
        if has_missing:
            code_of[None] = len(order)
        codes = np.fromiter(map(code_of.__getitem__, values), np.int32, len(values))
        categories = [plain_value(value) for value in order]
    is_boolean = values.dtype == object and all(isinstance(value, bool) for value in categories)
    column = Column(name, "boolean" if is_boolean else "categorical", tuple(categories), has_missing)
    size = len(categories) + has_missing
    # Two codes: "== first" is "<= first", and ordered axes are the cheaper ones.
    axis = Axis(index, "values" if size <= 2 else "equals", size)
    return column, *_only_if_useful(axis, codes)


def _choose_categories(
    column: Column, axes: list[Axis], codes: list[Array], chosen: Sequence[Value | None]
) -> tuple[list[Axis], list[Array]]:
    """The tests of some categories alone."""
    if not axes or not chosen:
        return [], []
    if axes[0].size == 2:
        return axes, codes  # one test, whichever of its two sides was chosen
    places: dict[Value | None, int] = {category: code for code, category in enumerate(column.categories)}
    if column.has_missing:
        places[None] = len(column.categories)
    picked = sorted({places[category] for category in chosen if category in places})
    new = [Axis(axes[0].column, "one category", 2, category=code) for code in picked]
    return new, [(codes[0] != code).astype(np.int32) for code in picked]


def read_forbidden(given: Any, columns: Sequence[Column]) -> tuple[Forbidden, tuple[str, ...]]:
    """Forbidden columns, by their names, and tests, from names, numbers, text, plain data and tests; then, in words,
    the tests of categories that no row has.

    A test that parts no rows of the table is forbidden all the same: it asks nothing that a tree could.
    """
    if given is None:
        return (), ()
    is_one = isinstance(given, (str, Integral, Test, Mapping))
    names = [column.name for column in columns]
    found: dict[str, str | Test] = {}
    unknown: dict[str, None] = {}
    for entry in (given,) if is_one else given:
        if (isinstance(entry, str) and entry in names) or isinstance(entry, Integral):
            name = names[find_column(entry, columns, "forbidden")]
            found[name] = name
        elif isinstance(entry, str) and not re.search(r"[<>=]|\bis\b", entry):
            find_column(entry, columns, "forbidden")
        else:
            try:
                test = read_test(entry, columns, "forbidden").test
            except UnknownCategoryError:
                unknown[_name_entry(entry)] = None
            else:
                found[test.text] = test
    return tuple(found.values()), tuple(unknown)


def _name_entry(entry: Any) -> str:
    """A test that was given, in words."""
    if isinstance(entry, Mapping):
        return str(entry.get("test", f"{entry.get('column')} == {entry.get('category')!r}"))
    return entry.text if isinstance(entry, Test) else str(entry)


def _find_idle(forbidden: Forbidden, table: Table, columns: Sequence[Column]) -> list[Test]:
    """The tests to which all rows give the same answer."""
    idle = []
    places = {column.name: place for place, column in enumerate(columns)}
    for entry in forbidden:
        if isinstance(entry, Test):
            place = places[entry.column.name]
            holds = entry.holds(columns[place].read(table.columns[place], table))
            if holds.all() or not holds.any():
                idle.append(entry)
    return idle


def write_forbidden(forbidden: Forbidden) -> list[str | dict[str, Any]]:
    """The same as plain data."""
    return [entry if isinstance(entry, str) else write_test(entry) for entry in forbidden]


def _leave_out(
    forbidden: Forbidden, table: Table, columns: Sequence[Column], axes: Sequence[Axis], codes: Sequence[Array]
) -> tuple[list[Axis], list[Array]]:
    """The axes with the tests that are not forbidden; where tests are left out, codes that none tells apart are one."""
    kept_axes: list[Axis] = []
    kept_codes: list[Array] = []
    for axis, own in zip(axes, codes, strict=True):
        column = columns[axis.column]
        if column.name in forbidden:
            continue
        n_tests = axis.size if axis.is_categorical else axis.size - 1
        tests = [entry for entry in forbidden if isinstance(entry, Test) and entry.column.name == column.name]
        values = column.read(table.columns[axis.column], table) if tests else None
        gone = {code for test in tests for code in _find_alike(axis, own, test.holds(values))}  # type: ignore[arg-type]
        kept = [code for code in range(n_tests) if code not in gone]
        if not gone:
            kept_axes.append(axis)
            kept_codes.append(own)
        elif axis.is_categorical:
            kept_axes += [Axis(axis.column, "one category", 2, category=code) for code in kept]
            kept_codes += [(own != code).astype(np.int32) for code in kept]
        elif kept:
            # The new codes no longer tell all values apart.
            kept_axes.append(replace(axis, size=len(kept) + 1, kept=np.array(kept), gaps=axis.gaps.held()))
            kept_codes.append(np.searchsorted(kept, own).astype(np.int32))
    return kept_axes, kept_codes


def _find_alike(axis: Axis, codes: Array, holds: Array) -> list[int]:
    """The tests of an axis that part the rows as they are parted here, or the other way round."""
    found: set[int] = set()
    for side in (holds, ~holds):
        inside, outside = codes[side], codes[~side]
        if len(inside) == 0 or len(outside) == 0:
            return []
        if axis.is_categorical:
            is_one = bool((inside == inside[0]).all()) and not bool((outside == inside[0]).any())
            found |= {int(inside[0])} if is_one else set()
        else:
            found |= set(range(int(inside.max()), int(outside.min())))
    return sorted(found)


def sort_categories(seen: dict[Any, Any]) -> list[Any]:
    """A fixed order whatever the order of the rows; strings and numbers in one column do not compare."""
    try:
        return sorted(seen)
    except TypeError:
        return sorted(seen, key=lambda value: (type(value).__name__, str(value)))


def _only_if_useful(axis: Axis, codes: Array) -> tuple[list[Axis], list[Array]]:
    """An axis of one code has no test."""
    return ([axis], [codes]) if axis.size > 1 else ([], [])
