"""Fields: how one value stands in a file, and what is refused when it is read.

A field annotates an attribute of a record, ``Annotated[FloatArray, Floats("nodes")]``. Lengths of
arrays have names: one that is not known yet is learned from the first array that has it, and the
others must agree. ``"nodes+1"`` is one more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, quoted, texts_as_arrays
from honestbayes.types import AnyArray

MOST_CASES = 10**10
MOST_FEATURES = 10**12
MOST_CLASSES = 10**4
"""Sizes beyond any data, so that no work after loading is without bound."""

LARGEST_SEED = 2**32 - 1
CLOSE = 1e-9
"""How far sums of probabilities may be from 1."""

REQUIRED: Any = object()
"""Says that every file ever written has the field."""

Known = dict[str, Any]
"""What was read so far, by name, and lengths of arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """How one value stands in a file.

    Attributes
    ----------
    stored_as : str or None
        What files call it, where that differs from the attribute's name.
    absent : object
        For a field that older files lack: the value that was in force when they were written,
        which need not be today's default.
    """

    stored_as: str | None = None
    absent: Any = REQUIRED

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file holds the field."""
        return entries.has(name)

    def write(self, name: str, value: Any) -> Plain:
        """Return a value as plain data."""
        return {name: plain_scalar(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value; refuse what it cannot be."""
        raise NotImplementedError


def plain_scalar(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


# -------------------------------------------------------------------------------------- arrays


@dataclass(frozen=True, slots=True, init=False)
class Array(Field):
    """An array, whose shape has names or numbers; of any values, unless a subclass says more."""

    shape: tuple[str | int, ...]
    low: float
    high: float

    def __init__(
        self,
        *shape: str | int,
        low: float = -inf,
        high: float = inf,
        stored_as: str | None = None,
        absent: Any = REQUIRED,
    ) -> None:
        values = {"shape": shape, "low": low, "high": high, "stored_as": stored_as}
        for name, value in {**values, "absent": absent}.items():
            object.__setattr__(self, name, value)

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file holds the array."""
        return entries.holds(name)

    def write(self, name: str, value: Any) -> Plain:
        """Return an array by name; None is one that is not there."""
        return {}, {} if value is None else {name: np.asarray(value)}

    def read(self, entries: Entries, name: str, known: Known) -> AnyArray:
        """Return the array, and learn lengths that were not known."""
        array = self._taken(entries, name, lengths(self.shape, known))
        for size, length in zip(self.shape, array.shape, strict=True):
            if isinstance(size, str):
                base, _, more = size.partition("+")
                known.setdefault(base, length - int(more or 0))
        return array

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.floats(name, shape)


def lengths(shape: tuple[str | int, ...], known: Known) -> tuple[int | None, ...]:
    """Return the lengths of axes; None where they are not known yet."""

    def length(size: str | int) -> int | None:
        if isinstance(size, int):
            return size
        base, _, more = size.partition("+")
        return known[base] + int(more or 0) if base in known else None

    return tuple(length(size) for size in shape)


class Floats(Array):
    """Finite numbers from ``low`` to ``high``."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.finite(name, shape, self.low, self.high)


class Logs(Array):
    """Logarithms: finite, or minus infinity for 0."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.logs(name, shape)


class LogWeights(Logs):
    """Logarithms of weights that sum to 1."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        array = entries.logs(name, shape)
        total = float(np.exp(np.minimum(array, 1.0)).sum())
        entries.check(abs(total - 1) <= CLOSE, name, "holds weights that do not sum to 1")
        return array


class LogProbabilities(Array):
    """Logarithms of probabilities, none of them 0."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        # From below the log of any probability that counts and an alpha can give.
        return entries.finite(name, shape, -1e6, CLOSE)


class Weights(Array):
    """Nonnegative numbers that sum to 1 along the last axis."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        array = entries.finite(name, shape, 0.0, 1.0 + CLOSE)
        even = np.all(np.abs(array.sum(axis=-1) - 1.0) <= CLOSE)
        entries.check(even, name, "does not sum to 1")
        return array


class Counts(Array):
    """Whole numbers from 0 to ``high``."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.counts(name, shape, int(min(self.high, 2**53)))


class Bits(Array):
    """Bytes that are 0 or 1."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.bits(name, shape)


class Packed(Array):
    """Bytes, each of eight truth values."""

    __slots__ = ()

    def _taken(self, entries: Entries, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        return entries.packed(name, shape)


@dataclass(frozen=True, slots=True)
class Maybe(Field):
    """An array that need not be there."""

    array: Array = field(default_factory=Array)

    def write(self, name: str, value: Any) -> Plain:
        """Return the array, or nothing."""
        return self.array.write(name, value)

    def read(self, entries: Entries, name: str, known: Known) -> AnyArray | None:
        """Return the array, or None."""
        return self.array.read(entries, name, known) if entries.holds(name) else None


# ------------------------------------------------------------------------------ single values


@dataclass(frozen=True, slots=True)
class Number(Field):
    """A finite number from ``low`` to ``high``."""

    low: float = -inf
    high: float = inf

    def write(self, name: str, value: Any) -> Plain:
        """Return a float."""
        return {name: float(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> float:
        """Return the number."""
        return entries.number(name, self.low, self.high)


@dataclass(frozen=True, slots=True)
class NumberOrNaN(Field):
    """A number that may not be known: JSON has no NaN, so that a file has null."""

    def write(self, name: str, value: Any) -> Plain:
        """Return a float, or null for NaN."""
        return {name: None if np.isnan(value) else float(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> float:
        """Return the number, or NaN."""
        number = entries.optional_number(name)
        return np.nan if number is None else number


@dataclass(frozen=True, slots=True)
class Whole(Field):
    """A whole number from ``low`` to ``high``."""

    low: int = 0
    high: int = 2**53
    what: str | None = None

    def write(self, name: str, value: Any) -> Plain:
        """Return an int."""
        return {name: int(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> int:
        """Return the number."""
        value = entries.value(name)
        good = type(value) is int and self.low <= value <= self.high
        entries.check(good, name, self.what or f"is not a number from {self.low} to {self.high}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Flag(Field):
    """True or false."""

    def write(self, name: str, value: Any) -> Plain:
        """Return a bool."""
        return {name: bool(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> bool:
        """Return the truth value."""
        return entries.flag(name)


@dataclass(frozen=True, slots=True, init=False)
class Choice(Field):
    """One of a few words, or None where that is one of them."""

    choices: tuple[str | None, ...]

    def __init__(
        self, *choices: str | None, stored_as: str | None = None, absent: Any = REQUIRED
    ) -> None:
        for name, value in {"choices": choices, "stored_as": stored_as, "absent": absent}.items():
            object.__setattr__(self, name, value)

    def read(self, entries: Entries, name: str, known: Known) -> str | None:
        """Return the word."""
        word: str | None = entries.one_of(name, self.choices)
        return word


@dataclass(frozen=True, slots=True)
class Interval(Field):
    """Two numbers in increasing order within 0 and 1."""

    def write(self, name: str, value: Any) -> Plain:
        """Return both in a list."""
        return {name: [float(bound) for bound in value]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> tuple[float, float]:
        """Return the bounds."""
        pair = entries.value(name)
        good = isinstance(pair, list) and len(pair) == 2
        good = good and all(type(bound) in (int, float) for bound in pair)
        if not good or not 0 <= pair[0] < pair[1] <= 1:
            entries.refuse(name, "is not an interval within 0 and 1")
        return float(pair[0]), float(pair[1])


@dataclass(frozen=True, slots=True)
class Texts(Field):
    """Texts of any kind, or None; ``has_*`` says which."""

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file says that there are texts or that there are none."""
        return entries.has(f"has_{name}")

    def write(self, name: str, value: Iterable[str] | None) -> Plain:
        """Return the texts as arrays of bytes."""
        arrays = {} if value is None else texts_as_arrays(name, map(str, value))
        return {f"has_{name}": value is not None}, arrays

    def read(self, entries: Entries, name: str, known: Known) -> tuple[str, ...] | None:
        """Return the texts."""
        return entries.texts(name) if entries.flag(f"has_{name}") else None


def check_column_names(entries: Entries, names: tuple[str, ...] | None, n_columns: int) -> None:
    """Refuse names of columns, where there are any, that are not one for each column."""
    if names is not None:
        good = len(names) == len(set(names)) == n_columns
        entries.check(good, "feature_names", "does not hold a different name for each column")


_LABELS: dict[str, type] = {"U": str, "O": str, "i": int, "u": int, "f": float, "b": bool}


@dataclass(frozen=True, slots=True)
class ClassLabels(Field):
    """Class labels with their type; how many there must be is known as ``n_classes``."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the labels, which stand in JSON."""
        kind, labels = value.dtype.kind, value.tolist()
        if kind not in _LABELS or not all(isinstance(label, _LABELS[kind]) for label in labels):
            msg = f"class labels of type {value.dtype} cannot be saved; use texts or numbers."
            raise ValueError(msg)
        size = None if kind in "UO" else value.itemsize
        return {name: {"kind": kind, "bytes": size, "labels": labels}}, {}

    def read(self, entries: Entries, name: str, known: Known) -> AnyArray:
        """Return the labels in an array of their type."""
        section, n_classes = entries.section(name), known["n_classes"]
        kind = section.one_of("kind", _LABELS)
        size, labels = section.value("bytes"), section.value("labels")
        section.finish()
        good = isinstance(labels, list) and len(labels) == n_classes
        if not good or not all(type(label) is _LABELS[kind] for label in labels):
            section.refuse("labels", f"is not a list of {n_classes} labels")
        classes = _typed_labels(section, kind, size, labels)
        if classes.tolist() != labels or len(set(labels)) < n_classes:
            section.refuse("labels", f"is not a list of {n_classes} different labels")
        return classes


def _typed_labels(entries: Entries, kind: str, size: Any, labels: list[Any]) -> AnyArray:
    if kind == "O":
        return np.array(labels, dtype=object)
    if kind == "U":
        return np.array(labels, dtype=np.str_)
    sizes = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "b": (1,)}[kind]
    if type(size) is not int or size not in sizes:
        entries.refuse("bytes", "is not the size of a number")
    try:
        with np.errstate(over="ignore"):
            return np.array(labels, dtype=np.dtype(f"{kind}{size}"))
    except (OverflowError, ValueError):
        entries.refuse("labels", "does not fit its type")


@dataclass(frozen=True, slots=True)
class Seed(Field):
    """The seed of a generator; a generator itself has no plain form and becomes None."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the seed, or null."""
        return {name: int(value) if isinstance(value, int | np.integer) else None}, {}

    def read(self, entries: Entries, name: str, known: Known) -> int | None:
        """Return the seed, or None."""
        seed: int | None = entries.value(name)
        good = seed is None or (type(seed) is int and 0 <= seed <= LARGEST_SEED)
        entries.check(good, name, f"is {quoted(seed)}, not a seed")
        return seed
