"""Any table as named raw columns.

This room reads numpy arrays, pandas, polars and every other frame that narwhals knows, and promises one shape to the
rest of the package: a `Table` whose columns are read-only arrays of exactly three sorts,

- float64, missing values as NaN,
- bool, nothing missing,
- object, holding strings, numbers or booleans, missing values as None.

A column that the source declares to be categories keeps its values; `declared` says so, and what their order is.

It also says what a message calls a row (`name_row`): everywhere the same, and as its owner would look it up.

It knows nothing of labels, tests or trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_array

Array = NDArray[Any]

_EXACT_TYPES = (Decimal, Fraction)
_NUMBER_TYPES = (int, float, np.integer, np.floating, *_EXACT_TYPES)
_BOOLEAN_TYPES = (bool, np.bool_)
_PLAIN_TYPES = (str, *_NUMBER_TYPES, *_BOOLEAN_TYPES)
_MISSING_TYPE_NAMES = ("NoneType", "NAType", "NaTType")


@dataclass(frozen=True)
class RowNames:
    """What the source calls its rows: the lines of a file, or the labels of a frame's index."""

    word: Literal["line", "index"]
    labels: Any
    """One per row: an array of line numbers, or the index itself. None where rows have nothing but numbers."""
    numbers: Array | None = None
    """The numbers of the rows in a larger table of which these are some."""

    def take(self, rows: Array) -> RowNames:
        labels = None if self.labels is None else self.labels[rows]
        return RowNames(self.word, labels, None if self.numbers is None else self.numbers[rows])

    def name(self, row: int) -> str:
        number = row if self.numbers is None else int(self.numbers[row])
        if self.labels is None:
            return f"row {number}"
        label = self.labels[row]
        if self.word == "line":
            return f"line {label}"
        parts = label if isinstance(label, tuple) else (label,)
        text = ", ".join(repr(part) if isinstance(part, str) else str(part) for part in parts)
        return f"row {number} (index {text})"


def name_row(row: int, *sources: Any) -> str:
    """What a message calls a row: "line 18" of a file, else "row 17", counted from 0 as numpy does.

    The first of the sources (tables, frames, series) whose rows have names of their own adds them: a frame's index
    label stands behind the row unless the index is the default range.
    """
    for source in sources:
        names = source.row_names if isinstance(source, Table) else read_row_names(source)
        if names is not None:
            return names.name(int(row))
    return f"row {int(row)}"


def read_row_names(source: Any) -> RowNames | None:
    """The index of a pandas frame or series, unless it only counts the rows from 0."""
    index: Any = getattr(source, "index", None)
    if not hasattr(index, "__getitem__"):  # a list has a method of that name
        return None
    is_default = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if is_default else RowNames("index", index)


@dataclass(frozen=True)
class Table:
    """Named raw columns of equal length."""

    names: tuple[str, ...]
    """One name per column; x0, x1, ... where the source has none."""
    columns: tuple[Array, ...]
    """Read-only. Of a matrix of floats they are views, because a copy would be as large as the matrix."""
    is_categorical: tuple[bool, ...]
    """Whether the column is read as categories without an order: strings, and what the source declares as such."""
    n_rows: int
    has_names: bool
    """Whether the names come from the source."""
    row_names: RowNames | None = None
    """None where rows have no names besides their numbers."""
    declared: Mapping[str, tuple[Any, ...] | None] = field(default_factory=dict)
    """By name the columns that the source itself declares to be categories: those of an ordered column from the lowest
    to the highest, None for a column without an order."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """By name what reading has changed about a column, as the end of a sentence."""

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, where scikit-learn looks for them."""
        return self.n_rows, self.n_columns

    def take(self, rows: Array) -> Table:
        """Some rows, by mask or by number."""
        columns = tuple(values[rows] for values in self.columns)
        names = None if self.row_names is None else self.row_names.take(rows)
        return replace(self, columns=columns, n_rows=len(columns[0]), row_names=names)

    def select(self, names: Iterable[str]) -> Table:
        """The named columns, in the order of the names."""
        places = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(self.names[place] for place in places),
            columns=tuple(self.columns[place] for place in places),
            is_categorical=tuple(self.is_categorical[place] for place in places),
        )


def count_missing(values: Array) -> int:
    """How many values of a column are missing."""
    if values.dtype == np.float64:
        return int(np.count_nonzero(np.isnan(values)))
    return sum(value is None for value in values.tolist())


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of a table in whatever form it was given."""
    return X.take(rows) if isinstance(X, Table) else _safe_indexing(X, rows)


def find_positions(values: Array, order: Sequence[Any]) -> Array:
    """float64; the place of each value in an order, NaN where it is missing, infinite where the order lacks it."""
    places = {category: float(place) for place, category in enumerate(order)}
    if values.dtype == np.float64:
        distinct, codes = np.unique(values, return_inverse=True)
        own = [np.nan if value != value else places.get(value, np.inf) for value in distinct.tolist()]
        return np.array(own)[codes]
    places[None] = np.nan
    return np.fromiter((places.get(value, np.inf) for value in values.tolist()), np.float64, len(values))


def first_text(values: Iterable[Any]) -> int:
    """The first row that holds neither a number nor nothing; -1 where there is none."""
    for row, value in enumerate(values):
        try:
            float("nan" if value is None else value)
        except (TypeError, ValueError, OverflowError):
            return row
    return -1


def default_names(n_columns: int) -> tuple[str, ...]:
    """Names for the columns of a table that has none, as scikit-learn makes them."""
    return tuple(f"x{index}" for index in range(n_columns))


def read_table(source: Any, *, estimator: object = None, tell: Callable[[int], object] | None = None) -> Table:
    """Read a two-dimensional array, a list of rows or a frame; `tell` hears of each column of a frame as it is read."""
    if isinstance(source, Table):
        return source
    if type(source).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows have not been computed yet: call collect() on it first")
    if hasattr(source, "columns") or hasattr(source, "__dataframe__"):
        table = _read_frame(source, tell)
        if table is not None:
            return table
    return _read_array(source, estimator)


def _read_array(source: Any, estimator: object) -> Table:
    if isinstance(source, (list, tuple)):
        guess = np.asarray(source, dtype=object) if _has_text(source) else source
    elif isinstance(source, np.ma.MaskedArray):
        # A masked entry is missing; a plain view of the array would show the number that lies under the mask.
        kind, missing = (np.float64, np.nan) if source.dtype.kind in "fiu" else (object, None)
        guess = np.ma.filled(source.astype(kind), missing)
    else:
        guess = source
    if type(guess) is np.ndarray and guess.ndim == 2 and guess.dtype.kind in "fiu" and guess.size > 0:
        matrix = guess  # nothing that check_array could find wrong
    else:
        matrix = check_array(guess, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    names = default_names(matrix.shape[1])
    if matrix.dtype.kind in "fiu":
        columns = tuple(_frozen(np.asarray(matrix.T, dtype=np.float64)))
        remarks = remark_on_rounding(names, matrix.T, columns) if matrix.dtype.kind in "iu" else {}
        is_categorical = (False,) * len(columns)
    else:
        pairs = [_read_column(matrix[:, index], name) for index, name in enumerate(names)]
        columns = tuple(pair[0] for pair in pairs)
        is_categorical = tuple(pair[1] for pair in pairs)
        remarks = remark_on_rounding(names, matrix.T, columns)
    return Table(names, columns, is_categorical, matrix.shape[0], False, remarks=remarks)


def remark_on_rounding(names: Sequence[str], given: Iterable[Any], columns: Sequence[Array]) -> dict[str, str]:
    """By name the columns of whole numbers (given as numbers, or as the text of a file) that floats have rounded."""
    remarks = {}
    for name, source, values in zip(names, given, columns, strict=True):
        if values.dtype != np.float64 or getattr(source, "dtype", None) == np.float64:
            continue
        # Not every whole number above 2^53 is a float. Most columns are nowhere near, and one comparison shows it.
        if np.nanmax(np.abs(values), initial=0.0) < 2.0**53:
            continue
        own = source.to_pylist() if hasattr(source, "to_pylist") else list(source)
        rounded = [number for number in map(_whole_number, own) if int(float(number)) != number]
        if rounded:
            remarks[name] = (
                f"holds whole numbers beyond 2^53, such as {rounded[0]}, which are rounded to the nearest float: "
                "neighbours may become one value. If they are identifiers, make them text"
            )
    return remarks


def _whole_number(value: Any) -> int:
    """The value where it is a whole number, else 0."""
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("+-").isdecimal() else 0
    return int(value) if isinstance(value, (int, np.integer)) else 0


def _has_text(rows: Sequence[Any]) -> bool:
    """Whether a list of rows holds text, which numpy would spread over the numbers beside it."""
    return any(isinstance(value, str) for row in rows if isinstance(row, (list, tuple)) for value in row)


def _read_frame(source: Any, tell: Callable[[int], object] | None) -> Table | None:
    import narwhals.stable.v1 as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(f"X has more than one column of the same name. {error}") from error
    if not isinstance(frame, nw.DataFrame):
        return None
    n_rows, n_columns = frame.shape
    if n_rows == 0 or n_columns == 0:
        missing = "sample" if n_rows == 0 else "feature"
        raise ValueError(
            f"Found array with 0 {missing}(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
        )
    names = tuple(map(str, frame.columns))
    columns: list[Array] = []
    is_categorical: list[bool] = []
    declared: dict[str, tuple[Any, ...] | None] = {}
    raws: list[Any] = []
    for name, series in zip(names, frame.iter_columns(), strict=True):
        is_declared = series.dtype in (nw.Categorical, nw.Enum)
        if is_declared:
            raw, declared[name] = _read_declared(series.to_native())
        else:
            # As a list, because an array of fixed width loses the NUL characters at the end of a text.
            raw = _objects(series.to_list()) if series.dtype == nw.String else series.to_numpy()
        values, is_text = _read_column(raw, name)
        raws.append(series.to_list() if series.dtype.is_integer() and raw.dtype.kind == "f" else raw)
        columns.append(values)
        is_categorical.append(declared[name] is None if is_declared else is_text)
        if tell is not None:
            tell(1)
    remarks = remark_on_rounding(names, raws, columns)
    return Table(names, tuple(columns), tuple(is_categorical), n_rows, True, read_row_names(source), declared, remarks)


def _read_declared(series: Any) -> tuple[Array, tuple[Any, ...] | None]:
    """The values of a column of declared categories, and its categories in order where it has an order.

    That is where pandas or arrow say so. A polars Enum is ordered by definition; the categories of a polars
    Categorical are not, or only by their first appearance, which nobody has chosen.
    """
    if hasattr(series, "cat") and hasattr(series.cat, "codes"):  # pandas
        categories = [
            category if isinstance(category, _PLAIN_TYPES) else str(category) for category in series.cat.categories
        ]
        # By code, because a missing value makes pandas change the type of the others: (0, 1] becomes (0.0, 1.0].
        values = _objects([*categories, None])[series.cat.codes.to_numpy()]
        return values, tuple(categories) if series.cat.ordered else None
    if hasattr(series, "dtype") and not hasattr(series.dtype, "pyarrow_dtype"):  # polars
        is_enum = type(series.dtype).__name__ == "Enum"
        return series.to_numpy(), tuple(series.dtype.categories) if is_enum else None
    arrow = series if hasattr(series, "unify_dictionaries") else series.array.__arrow_array__()
    # As a list, because arrow's own arrays of numpy hold the last category where a value is missing.
    order = arrow.unify_dictionaries().chunk(0).dictionary.to_pylist() if arrow.type.ordered else None
    return _objects(arrow.to_pylist()), None if order is None else tuple(order)


def _objects(values: Sequence[Any]) -> Array:
    """An array of these very objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _read_column(values: Array, name: str) -> tuple[Array, bool]:
    """One column in one of the three sorts, and whether it must be read as categories."""
    kind = values.dtype.kind
    if values.ndim != 1:
        raise TypeError(f"column {name!r} holds several values per row; make a column of each first")
    if kind in "fiu":
        return _frozen(np.ascontiguousarray(values, dtype=np.float64)), False
    if kind == "b":
        return _frozen(np.ascontiguousarray(values)), False
    if kind in "US":
        try:
            return _frozen(values.astype(str).astype(object)), True
        except UnicodeDecodeError as error:
            raise ValueError(f"column {name!r} holds bytes that are not text; decode them first ({error})") from error
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}")
    if kind in "mM":
        raise ValueError(
            f"column {name!r} holds dates or times ({values.dtype}); turn it into numbers first, such as days: "
            f"(X[{name!r}] - X[{name!r}].min()).dt.days (in polars, .dt.total_days())"
        )
    if kind != "O":
        raise ValueError(f"column {name!r} holds {values.dtype}, which is neither numbers, booleans nor categories")
    return _read_objects(values, name)


def _read_objects(values: Array, name: str) -> tuple[Array, bool]:
    """A column of Python objects. The set of its types decides; no row is looked at one by one in Python."""
    types = set(map(type, values))
    missing_types = {kind for kind in types if kind.__name__ in _MISSING_TYPE_NAMES}
    if missing_types:
        values = _with_none(values, missing_types)
    present = types - missing_types
    if all(_is_number(kind) for kind in present):
        try:
            return _frozen(values.astype(np.float64)), False
        except OverflowError as error:
            raise ValueError(f"column {name!r} holds a number that is too large for a float") from error
    # Before values are compared, because arrays have no single answer.
    if any(issubclass(kind, (list, tuple, set, frozenset, np.ndarray)) for kind in present):
        raise TypeError(f"column {name!r} holds several values per row; make a column of each first")
    if any(issubclass(kind, (float, np.floating)) for kind in present):
        # Among strings and booleans NaN marks what is missing, and it is the only value unlike itself.
        is_nan = (values != values).astype(bool)
        if is_nan.any():
            values = values.copy()
            values[is_nan] = None
            present = set(map(type, values)) - {type(None)}
    for kind in present:
        if not issubclass(kind, _PLAIN_TYPES):
            raise TypeError(
                f"column {name!r} holds a {kind.__name__}: argument must be a string or a real number, "
                "a boolean or a missing value"
            )
    if all(issubclass(kind, _BOOLEAN_TYPES) for kind in present):
        has_missing = any(value is None for value in values)
        return _frozen(values if has_missing else values.astype(bool)), False
    return _frozen(values), True


def _is_number(kind: type) -> bool:
    return issubclass(kind, _NUMBER_TYPES) and not issubclass(kind, _BOOLEAN_TYPES)


def _with_none(values: Array, missing_types: set[type]) -> Array:
    """A copy with every missing mark as None."""
    values = values.copy()
    if missing_types - {type(None)}:
        is_missing = np.fromiter((type(value) in missing_types for value in values), bool, len(values))
        values[is_missing] = None
    return values


def _frozen(values: Array) -> Array:
    values = values.view()
    values.flags.writeable = False
    return values
