"""Awkward tables: every kind of column in every container, with labels of every sort.

A table is one column that is its subject, at any position among a few others, in one container.
Everything is seeded by the table's number, so that a table is the same in every run.
"""

import datetime as dt
import string
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

FLAGS, TWO, CODES, NUMBERS, TEXTS, REFUSED = "flags", "two", "codes", "numbers", "texts", "refused"
"""What a column holds: 0 and 1; two other numbers; whole numbers from 0; any finite numbers;
texts; what every estimator refuses. A column without any value holds flags."""


@dataclass(frozen=True)
class Column:
    """A kind of column: what it holds, and how n cells of it are made."""

    name: str
    holds: str
    make: Callable[[np.random.Generator, int], Any]
    typed: bool = False
    """Whether a type of pandas is its point, so that only frames hold it."""
    pandas_only: bool = False
    """Whether neither polars nor pyarrow can hold it."""


def two_values(low: float, high: float) -> Callable[[np.random.Generator, int], Any]:
    """Cells with two values, both of which occur."""

    def make(rng, n):
        upper = rng.random(n) < 0.4
        upper[rng.permutation(n)[:2]] = [False, True]
        return np.where(upper, high, low)

    return make


def holes(values: Any, rng: np.random.Generator, missing: Any = np.nan) -> Any:
    """About a third of the cells missing, but not the first two."""
    gone = rng.random(len(values)) < 0.35
    gone[:2] = False
    return [missing if is_gone else value for value, is_gone in zip(values, gone, strict=True)]


def replaced(values: Any, rng: np.random.Generator, *others: Any) -> Any:
    """Some cells hold other values, each at least once."""
    cells = list(values)
    for place, other in zip(rng.permutation(len(cells)), others, strict=False):
        cells[place] = other
    return cells


def picked(*values: Any) -> Callable[[np.random.Generator, int], Any]:
    """Cells drawn from values, in which all occur."""
    return lambda rng, n: [values[i % len(values)] for i in rng.permutation(n)]


def whole(low: int, high: int) -> Callable[[np.random.Generator, int], Any]:
    """Whole numbers, of which at least three are different."""
    return lambda rng, n: replaced(rng.integers(low, high, n).tolist(), rng, low, low + 1, low + 2)


def normal(rng: np.random.Generator, n: int) -> Any:
    """Ordinary measurements."""
    return rng.normal(size=n)


def nullable(dtype: str, make: Callable[[np.random.Generator, int], Any]) -> Any:
    """Cells of one of pandas's own types, some of them NA."""
    return lambda rng, n: pd.array(holes(make(rng, n), rng, None), dtype=dtype)


def in_cells(*values: Any) -> Callable[[np.random.Generator, int], Any]:
    """Objects in cells, some of which the column of an array has and numbers elsewhere."""

    def make(rng, n):
        cells = np.empty(n, dtype=object)
        for i, value in enumerate(picked(*values)(rng, n)):
            cells[i] = value
        return cells

    return make


MANY_LETTERS = tuple(string.ascii_letters[:30])
DAY = dt.date(2020, 1, 1)

COLUMNS = [
    Column("constant 1.301", NUMBERS, lambda _, n: np.full(n, 1.301)),
    Column("constant 0", FLAGS, lambda _, n: np.zeros(n)),
    Column("constant 1", FLAGS, lambda _, n: np.ones(n, dtype=int)),
    Column("constant -9", NUMBERS, lambda _, n: np.full(n, -9)),
    Column("constant 1e300", NUMBERS, lambda _, n: np.full(n, 1e300)),
    Column("constant True", FLAGS, lambda _, n: np.ones(n, dtype=bool)),
    Column("constant text", TEXTS, lambda _, n: ["same"] * n),
    Column("constant with holes", NUMBERS, lambda rng, n: holes([2.5] * n, rng)),
    Column("all missing", FLAGS, lambda _, n: np.full(n, np.nan)),
    Column("all None", FLAGS, lambda _, n: np.full(n, None, dtype=object)),
    Column("one value", NUMBERS, lambda rng, n: replaced([np.nan] * n, rng, 0.7)),
    Column("0 and 1", FLAGS, two_values(0, 1)),
    Column(
        "0.0 and 1.0 with holes", FLAGS, lambda rng, n: holes(two_values(0.0, 1.0)(rng, n), rng)
    ),
    Column("booleans", FLAGS, lambda rng, n: two_values(0, 1)(rng, n).astype(bool)),
    Column("0.5 and 1", TWO, two_values(0.5, 1.0)),
    Column("-1 and 1", TWO, two_values(-1, 1)),
    Column("1 and 2", CODES, two_values(1, 2)),
    Column("large integers", CODES, two_values(2**53 - 1, 2**53)),
    Column("tiny fractions", TWO, two_values(1e-300, 2e-300)),
    Column("neighbouring floats", TWO, two_values(1.0, float(np.nextafter(1, 2)))),
    Column("opposite giants", TWO, two_values(-1.7e308, 1.7e308)),
    Column("two denormals", TWO, two_values(5e-324, 1e-323)),
    Column("zeros and one 0.3", TWO, lambda rng, n: replaced(np.zeros(n), rng, 0.3)),
    Column("zeros and one 1", FLAGS, lambda rng, n: replaced([0] * n, rng, 1)),
    Column("minus zero and one", FLAGS, two_values(-0.0, 1.0)),
    Column("two values with holes", TWO, lambda rng, n: holes(two_values(-4, 2.5)(rng, n), rng)),
    Column("codes", CODES, whole(0, 4)),
    Column("codes from 7", CODES, whole(7, 12)),
    Column("codes with holes", CODES, lambda rng, n: holes(whole(0, 4)(rng, n), rng)),
    Column("integers", NUMBERS, whole(-50, 50)),
    Column("identifiers", CODES, lambda rng, n: 10_000 + rng.permutation(n)),
    Column("continuous", NUMBERS, normal),
    Column("continuous with holes", NUMBERS, lambda rng, n: holes(normal(rng, n), rng)),
    Column("outlier", NUMBERS, lambda rng, n: replaced(normal(rng, n), rng, 1e6)),
    Column("1e300", NUMBERS, lambda rng, n: replaced(normal(rng, n), rng, 1e300, -1e300)),
    Column("all near 1e300", NUMBERS, lambda rng, n: 1e300 * normal(rng, n)),
    Column("all near 1e-300", NUMBERS, lambda rng, n: 1e-300 * normal(rng, n)),
    Column("denormals", NUMBERS, lambda rng, n: 5e-324 * whole(1, 20)(rng, n)[0] * np.arange(n)),
    Column("far from 0", NUMBERS, lambda rng, n: 1e12 + normal(rng, n)),
    Column("very far from 0", NUMBERS, lambda rng, n: 1e17 + 64 * np.round(4 * normal(rng, n))),
    Column("heavy ties", NUMBERS, lambda rng, n: replaced(np.zeros(n), rng, 0.5, 7.5, 7.5)),
    Column("rounded", NUMBERS, lambda rng, n: np.round(normal(rng, n), 1)),
    Column("texts", TEXTS, picked("low", "high", "middle")),
    Column("two texts", TEXTS, picked("yes", "no")),
    Column("texts with holes", TEXTS, lambda rng, n: holes(picked("f", "m")(rng, n), rng, None)),
    Column("many texts", TEXTS, picked(*MANY_LETTERS)),
    Column("unique texts", TEXTS, lambda _, n: [f"case {i}" for i in range(n)]),
    Column("empty texts", TEXTS, picked("", " ", "a")),
    Column("unicode", TEXTS, picked("ä", "日本", "\N{GRINNING FACE}", "e\u0301", "é")),
    Column("number texts", TEXTS, picked("1", "2", "10")),
    Column("nearly number texts", TEXTS, picked("1.0", "1", "nan", "inf")),
    Column("Int64", CODES, nullable("Int64", whole(0, 4)), typed=True),
    Column("Float64", NUMBERS, nullable("Float64", normal), typed=True),
    Column("boolean", FLAGS, nullable("boolean", picked(True, False)), typed=True),
    Column("string", TEXTS, nullable("string", picked("a", "b", "c")), typed=True),
    Column("Int64, all NA", FLAGS, lambda _, n: pd.array([None] * n, dtype="Int64"), typed=True),
    Column("float32", NUMBERS, lambda rng, n: normal(rng, n).astype(np.float32), typed=True),
    Column("int8", NUMBERS, lambda rng, n: np.array(whole(-9, 9)(rng, n), np.int8), typed=True),
    Column(
        "uint64",
        CODES,
        lambda rng, n: np.uint64(2**60) + np.array(whole(0, 9)(rng, n), np.uint64) * 2**20,
        typed=True,
    ),
    Column(
        "categories",
        TEXTS,
        lambda rng, n: pd.Categorical(picked("a", "b", "c")(rng, n)),
        typed=True,
    ),
    Column(
        "ordered categories with holes",
        TEXTS,
        lambda rng, n: pd.Categorical(
            holes(picked("low", "high")(rng, n), rng, None), ["low", "high"], ordered=True
        ),
        typed=True,
    ),
    Column(
        "unused categories",
        TEXTS,
        lambda rng, n: pd.Categorical(picked("a", "b")(rng, n), ["z", "b", "a", "y"]),
        typed=True,
    ),
    Column(
        "no category occurs",
        TEXTS,
        lambda _, n: pd.Categorical([None] * n, ["a", "b"]),
        typed=True,
    ),
    Column(
        "numbers as categories",
        CODES,
        lambda rng, n: pd.Categorical(picked(3, 1, 20)(rng, n)),
        typed=True,
        pandas_only=True,  # pyarrow and polars hold texts as categories
    ),
    Column(
        "ordered fractions as categories",
        NUMBERS,
        lambda rng, n: pd.Categorical(picked(0.5, 1.5, 2.5)(rng, n), ordered=True),
        typed=True,
        pandas_only=True,
    ),
    Column("infinity", REFUSED, lambda rng, n: replaced(normal(rng, n), rng, np.inf)),
    Column("minus infinity", REFUSED, lambda rng, n: replaced(np.zeros(n), rng, -np.inf, 1.0)),
    Column("dates", REFUSED, lambda _, n: pd.date_range("2020", periods=n), typed=True),
    Column("durations", REFUSED, lambda _, n: pd.to_timedelta(np.arange(n), "D"), typed=True),
    Column("dates in cells", REFUSED, in_cells(DAY, dt.date(2021, 1, 1))),
    Column("complex", REFUSED, lambda rng, n: normal(rng, n) + 1j, pandas_only=True),
    Column("lists in cells", REFUSED, in_cells([1], [2, 3])),
    Column("tuples in cells", REFUSED, in_cells((1,), (2, 3)), pandas_only=True),
    Column("dictionaries in cells", REFUSED, in_cells({"a": 1}, {"a": 2})),
    Column("texts and numbers", REFUSED, in_cells("a", 1.5, "b"), pandas_only=True),
    Column("a text among numbers", REFUSED, in_cells(1.5, 2.5, "?", 3.0), pandas_only=True),
    Column("bytes", REFUSED, in_cells(b"a", b"b")),
    Column("any objects", REFUSED, in_cells(object(), object()), pandas_only=True),
]


def _objects(frame: pd.DataFrame) -> Any:
    cells = np.empty(frame.shape, dtype=object)
    for j in range(frame.shape[1]):
        cells[:, j] = pd.Series(frame.iloc[:, j].tolist(), dtype=object)
    return cells


def _memory_map(frame: pd.DataFrame) -> Any:
    values = frame.to_numpy(dtype=float)
    with tempfile.NamedTemporaryFile(delete=False) as file:
        values.tofile(file)
    try:
        return np.memmap(file.name, dtype=float, mode="r", shape=values.shape)
    finally:
        Path(file.name).unlink()


def _read_only(frame: pd.DataFrame) -> Any:
    values = frame.to_numpy(dtype=float, copy=True)
    values.flags.writeable = False
    return values


def _view(frame: pd.DataFrame) -> Any:
    """Every second row and column of a larger array, backwards."""
    n, p = frame.shape
    larger = np.full((2 * n, 2 * p), -77.0)
    larger[::-2, ::-2] = frame.to_numpy(dtype=float)
    return larger[::-2, ::-2]


ANYTHING, FRAMES, ARRAYS = "anything", "frames", "arrays"
"""What a container holds: any column, any but those that only pandas knows, or numbers."""

CONTAINERS: dict[str, tuple[str, Callable[[pd.DataFrame], Any]]] = {
    "pandas": (ANYTHING, lambda frame: frame),
    "polars": (FRAMES, pl.from_pandas),
    "pyarrow": (FRAMES, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)),
    "object array": (ANYTHING, _objects),
    "lists": (ANYTHING, lambda frame: _objects(frame).tolist()),
    "array": (ARRAYS, lambda frame: frame.to_numpy(dtype=float)),
    "Fortran order": (ARRAYS, lambda frame: np.asfortranarray(frame.to_numpy(dtype=float))),
    "memory map": (ARRAYS, _memory_map),
    "read-only": (ARRAYS, _read_only),
    "view": (ARRAYS, _view),
    "float32": (ARRAYS, lambda frame: frame.to_numpy(dtype=np.float32)),
    "int8": (ARRAYS, lambda frame: frame.to_numpy(dtype=np.int8)),
    "uint64": (ARRAYS, lambda frame: frame.to_numpy(dtype=np.uint64)),
    "CSR": (ARRAYS, lambda frame: sparse.csr_array(frame.to_numpy(dtype=float))),
    "CSC": (ARRAYS, lambda frame: sparse.csc_matrix(frame.to_numpy(dtype=float))),
}
NAMED = ("pandas", "polars", "pyarrow")
"""Containers whose columns have names."""


def fits(column: Column, container: str) -> bool:
    """Whether a container can hold a column as it is meant."""
    holds = CONTAINERS[container][0]
    if holds == ANYTHING:
        return container == "pandas" or not column.typed
    if holds == FRAMES:
        return not column.pandas_only
    cells = pd.Series(column.make(np.random.default_rng(0), 60))
    if column.typed or cells.dtype.kind not in "bif":
        return False
    values = cells.to_numpy(dtype=float)
    if container == "float32":
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        # Infinity where there was none, or values that are no longer different, are another column.
        same = np.unique(narrow).size == np.unique(values).size
        return same and np.array_equal(np.isinf(narrow), np.isinf(values))
    if container in ("int8", "uint64"):
        limits = np.iinfo(container)
        inside = (values >= limits.min) & (values < 2.0**limits.bits / (1 + (limits.min < 0)))
        return bool(np.all(inside & (values == np.rint(values))))
    return True


SIZES = (6, 9, 15, 24, 40, 60)
CLASSES = (2, 3, 5)
SHARES = ("balanced", "one case", "two cases", "one large")
LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "int": lambda codes: codes,
    "text": lambda codes: np.array(["ham", "spam", "eggs", "ä", "z z"], dtype=object)[codes],
    "bool": lambda codes: codes == 1,
    "negative": lambda codes: 1 - 2 * codes,
    "float": lambda codes: codes - 1.0,
    "large": lambda codes: 10**12 + codes,
    "pandas text": lambda codes: pd.Series(np.array(list("vwxyz"))[codes], dtype="str"),
    "pandas categories": lambda codes: pd.Series(pd.Categorical(np.array(list("ebdac"))[codes])),
}


@dataclass(frozen=True)
class AwkwardTable:
    """A table: its number, its subject and the container, from which everything follows."""

    number: int
    subject: Column
    container: str

    def __str__(self) -> str:
        return f"{self.number}: {self.subject.name}, {self.container}"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if self.labels == "bool" else CLASSES[self.number % 3]

    @property
    def labels(self) -> str:
        """What the labels are."""
        return list(LABELS)[self.number % len(LABELS)]

    @property
    def shares(self) -> str:
        """How the cases are shared among the classes."""
        return SHARES[self.number // 3 % len(SHARES)]

    @cached_property
    def columns(self) -> list[Column]:
        """All columns, of which only the subject may be one that is refused."""
        rng = np.random.default_rng([self.number, 1])
        others = [c for c in COLUMNS if c.holds != REFUSED and fits(c, self.container)]
        chosen = [others[i] for i in rng.permutation(len(others))[: rng.integers(1, 5)]]
        chosen = [c for c in chosen if c.name != self.subject.name]
        chosen.insert(int(rng.integers(len(chosen) + 1)), self.subject)
        return chosen

    @property
    def names(self) -> list[str]:
        """How messages call the columns: by name, or by index where there are no names."""
        if self.container in NAMED:
            return [repr(column.name) for column in self.columns]
        return [str(j) for j in range(len(self.columns))]

    @cached_property
    def codes(self) -> np.ndarray:
        """The class of each row."""
        rng = np.random.default_rng([self.number, 2])
        n, C = max(SIZES[self.number % len(SIZES)], 2 * self.n_classes), self.n_classes
        codes = np.arange(n) % C
        few = {"one case": 1, "two cases": 2}.get(self.shares)
        if few is not None:
            codes[codes == C - 1] = 0
            codes[:few] = C - 1
        elif self.shares == "one large":
            codes = np.where(np.arange(n) < 2 * C, codes, 0)
        return rng.permutation(codes)

    @cached_property
    def y(self) -> Any:
        """The labels of the classes."""
        return LABELS[self.labels](self.codes)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The cells, before they are in their container."""
        rng = np.random.default_rng([self.number, 3])
        n = self.codes.size
        return pd.DataFrame({column.name: column.make(rng, n) for column in self.columns})

    def rows(self, rows: Any = slice(None)) -> Any:
        """The table, or some rows of it, in its container."""
        frame = self.frame.iloc[rows].reset_index(drop=True)
        return CONTAINERS[self.container][1](frame)


def all_tables() -> list[AwkwardTable]:
    """One table for each column and each container that can hold it."""
    pairs = [
        (column, container)
        for column in COLUMNS
        for container in CONTAINERS
        if fits(column, container)
    ]
    return [AwkwardTable(number, *pair) for number, pair in enumerate(pairs)]
