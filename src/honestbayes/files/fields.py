"""Fields: how values are written to a file and validated when read.

A field annotates an attribute of a record, ``Annotated[FloatArray, Floats("nodes")]``. Lengths of
arrays have names: one that is not known yet is learned from the first array that has it, and the
others must agree. ``"nodes+1"`` is one more.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from sys import float_info
from typing import Annotated, Any, NoReturn, TypeVar

import numpy as np

from honestbayes.files.archive import write_archive
from honestbayes.files.errors import ModelFileError
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Plain data, taken apart piece by piece
# --------------------------------------------------------------------------------------------------


Plain = tuple[dict[str, Any], dict[str, AnyArray]]
"""Content for JSON, and named arrays."""

_LONGEST_QUOTE = 60
_LARGEST = float_info.max


class Entries:
    """The content and the arrays of a container, or of a section of it.

    Every piece is taken once; `finish` refuses what nobody has taken. All errors are
    `ModelFileError` without the name of the file.
    """

    def __init__(
        self, content: Mapping[str, Any], arrays: Mapping[str, AnyArray], path: str = ""
    ) -> None:
        self._content = dict(content)
        self._arrays = dict(arrays)
        self._path = path

    def section(self, name: str) -> Entries:
        """Return the section of this name: an object of the content, and ``name.*`` arrays."""
        content = self.value(name)
        if not isinstance(content, dict):
            self.refuse(name, "is not an object")
        start = f"{name}."
        inside = [array for array in self._arrays if array.startswith(start)]
        arrays = {array.removeprefix(start): self._arrays.pop(array) for array in inside}
        return Entries(content, arrays, f"{self._path}{name}.")

    def plain(self) -> Plain:
        """Return what nobody has taken, to be taken apart elsewhere."""
        return self._content, self._arrays

    def finish(self) -> None:
        """Refuse what is left."""
        for name in [*self._content, *self._arrays]:
            self.refuse(name[:_LONGEST_QUOTE], "is unknown")

    def refuse(self, name: str, what: str) -> NoReturn:
        """Raise an error about a piece."""
        msg = f"{self._path}{name} {what}"
        raise ModelFileError(msg)

    def check(self, condition: Any, name: str, what: str) -> None:
        """Refuse a piece unless a condition holds."""
        if not condition:
            self.refuse(name, what)

    # --------------------------------------------------------------- content

    def value(self, name: str) -> Any:
        """Return a piece of the content as it is."""
        if name not in self._content:
            self.refuse(name, "is missing")
        return self._content.pop(name)

    def has(self, name: str) -> bool:
        """Whether the content holds a piece that need not be there."""
        return name in self._content

    def number(self, name: str, low: float = -inf, high: float = inf) -> float:
        """Return a finite number within bounds."""
        value = self.value(name)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        # A whole number in JSON may be longer than any float.
        if not good or not low <= value <= high or not -_LARGEST <= value <= _LARGEST:
            self.refuse(name, f"is {quoted(value)}, not a number from {low:g} to {high:g}")
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """Return a finite number, or None where there is none."""
        if self._content.get(name, 0) is None:
            return self._content.pop(name)  # type: ignore[no-any-return]
        return self.number(name)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.value(name)
        if not isinstance(value, bool):
            self.refuse(name, "is not true or false")
        return value

    def one_of(self, name: str, choices: Iterable[str | None]) -> Any:
        """Return one of a few words, or None where that is one of them."""
        value = self.value(name)
        known = list(choices)
        if not (value is None or isinstance(value, str)) or value not in known:
            self.refuse(name, f"is {quoted(value)}, not one of {known}")
        return value

    # ---------------------------------------------------------------- arrays

    def holds(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self._arrays

    def floats(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return an array of floats, not all of which need be finite; None is any length."""
        array: FloatArray = self._array(name, "f", shape)
        return array

    def finite(
        self,
        name: str,
        shape: tuple[int | None, ...],
        low: float = -inf,
        high: float = inf,
    ) -> FloatArray:
        """Return an array of finite floats within bounds."""
        array = self.floats(name, shape)
        self.check(np.all(np.isfinite(array)), name, "holds a number that is not finite")
        self.check(
            np.all((array >= low) & (array <= high)), name, f"is not from {low:g} to {high:g}"
        )
        return array

    def logs(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return an array of logarithms: finite, or minus infinity for 0."""
        array = self.floats(name, shape)
        self.check(np.all(array < inf), name, "holds a number that is not a logarithm")
        return array

    def weights(self, name: str, shape: tuple[int | None]) -> FloatArray:
        """Return weights: nonnegative, with sum 1."""
        array = self.finite(name, shape, 0.0, 1.0 + 1e-9)
        self.check(abs(float(array.sum()) - 1.0) <= 1e-9, name, "does not sum to 1")
        return array

    def counts(
        self, name: str, shape: tuple[int | None, ...], high: int | IntArray = 2**53
    ) -> IntArray:
        """Return whole numbers from 0 to a bound."""
        array: IntArray = self._array(name, "i", shape)
        self.check(np.all((array >= 0) & (array <= high)), name, "holds an impossible number")
        return array

    def integers(self, name: str, shape: tuple[int | None, ...]) -> IntArray:
        """Return whole numbers of either sign."""
        array: IntArray = self._array(name, "i", shape)
        return array

    def mask(self, name: str, shape: tuple[int | None, ...]) -> BoolArray:
        """Return truth values."""
        array: BoolArray = self._array(name, "b", shape)
        return array

    def bits(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return an array of the bytes 0 and 1."""
        array: AnyArray = self._array(name, "u", shape)
        self.check(array.size == 0 or array.max() <= 1, name, "holds something else than 0 and 1")
        return array

    def packed(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return an array of bytes, each of eight truth values."""
        array: AnyArray = self._array(name, "u", shape)
        return array

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts that `texts_as_arrays` stored."""
        data: AnyArray = self._array(f"{name}.text", "u", (None,))
        ends = self.counts(f"{name}.ends", (None,), data.size)
        good = np.all(ends[1:] >= ends[:-1]) and (ends[-1:].sum() == data.size)
        self.check(good, name, "is not cut into texts")
        whole = data.tobytes()
        stops = ends.tolist()
        try:
            return tuple(
                whole[start:stop].decode("utf-8", "surrogatepass")
                for start, stop in zip([0, *stops], stops, strict=False)
            )
        except UnicodeDecodeError:
            self.refuse(name, "is not text")

    def _array(self, name: str, kind: str, shape: tuple[int | None, ...]) -> Any:
        if name not in self._arrays:
            self.refuse(name, "is missing")
        array = self._arrays.pop(name)
        fits = len(array.shape) == len(shape) and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, array.shape, strict=True)
        )
        if array.dtype.kind != kind or not fits:
            self.refuse(name, f"is an array of {array.dtype} of shape {array.shape}")
        return array


def texts_as_arrays(name: str, texts: Iterable[str]) -> dict[str, AnyArray]:
    """Return texts as two arrays: their bytes in UTF-8, one after the other, and where each ends.

    Any text survives, also one that JSON or a line-based file would change.
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {
        f"{name}.text": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(part) for part in encoded], dtype=np.int64),
    }


def nested(name: str, plain: Plain) -> Plain:
    """Return plain data as the section ``name`` of something larger."""
    content, arrays = plain
    return {name: content}, {f"{name}.{array}": values for array, values in arrays.items()}


def joined(*plains: Plain, **sections: Plain) -> Plain:
    """Return several plain data as one; those given by name become its sections."""
    content: dict[str, Any] = {}
    arrays: dict[str, AnyArray] = {}
    for more_content, more_arrays in [*plains, *(nested(*item) for item in sections.items())]:
        content |= more_content
        arrays |= more_arrays
    return content, arrays


def quoted(value: Any) -> str:
    """Return a short quotation of anything, for a message."""
    text = repr(value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


MOST_CASES = 10**10
MOST_FEATURES = 10**12
MOST_CLASSES = 10**4
"""Bounds beyond any data, so that the work after loading is bounded."""

LARGEST_SEED = 2**32 - 1
CLOSE = 1e-9
"""How far sums of probabilities may be from 1."""

REQUIRED: Any = object()
"""Default of `Field.absent`: every file has the field."""

Known = dict[str, Any]
"""What was read so far, by name, and lengths of arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The form of one value in a file.

    Attributes
    ----------
    absent : object
        For a field that was added after schema 1 was frozen: the value that was in force when
        files without it were written, which need not be today's default.
    """

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
    """An array of any floats; its shape is given by names or numbers."""

    shape: tuple[str | int, ...]
    low: float
    high: float

    def __init__(
        self,
        *shape: str | int,
        low: float = -inf,
        high: float = inf,
        absent: Any = REQUIRED,
    ) -> None:
        values = {"shape": shape, "low": low, "high": high, "absent": absent}
        for name, value in values.items():
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
    """A number or NaN, which is null in JSON."""

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

    def __init__(self, *choices: str | None, absent: Any = REQUIRED) -> None:
        for name, value in {"choices": choices, "absent": absent}.items():
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


# --------------------------------------------------------------------------------------------------
# Frozen records to and from plain data, by the fields that annotate their attributes
#
# An attribute that is itself a record is a section of the file; one that may be None has ``has_*``
# beside it. A record's method ``check`` refuses values that do not fit together, ``check_against``
# those that do not fit what is known of the file. A record whose form in files is its own has
# ``to_plain`` and ``from_plain`` instead.
# --------------------------------------------------------------------------------------------------


_Record = TypeVar("_Record")

Check = Callable[[Any, str, str], None]
"""Takes a condition, the name of a field, and what to say of it where the condition fails."""


@dataclass(frozen=True, slots=True)
class Section(Field):
    """A record in a section of its own; ``sizes`` says what its lengths are, from what is known."""

    kind: Any = None
    sizes: Callable[[Known], Known] | None = None

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields under its name."""
        return nested(name, record_to_plain(value))

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record; refuse what else is in the section."""
        section = entries.section(name)
        known = known if self.sizes is None else {**known, **self.sizes(known)}
        record = record_from_plain(self.kind, section, known)
        section.finish()
        return record


@dataclass(frozen=True, slots=True)
class MaybeSection(Section):
    """A record, or None, as ``has_*`` says."""

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file says that there is such a record or that there is none."""
        return entries.has(f"has_{name}")

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields under its name, if there is one."""
        sections = {} if value is None else {name: record_to_plain(value)}
        return joined(({f"has_{name}": value is not None}, {}), **sections)

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record, or None."""
        if not entries.flag(f"has_{name}"):
            return None
        return Section.read(self, entries, name, known)


@dataclass(frozen=True, slots=True)
class Inline(Field):
    """A record whose fields stand among those of the one that holds it."""

    kind: Any = None

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether a file holds it: its own fields know."""
        return True

    def write(self, name: str, value: Any) -> Plain:
        """Return the record's fields."""
        return record_to_plain(value)

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the record."""
        return record_from_plain(self.kind, entries, known)


@dataclass(frozen=True, slots=True)
class OneOf(Section):
    """A record of one of several kinds, chosen by what is known under the name ``by``."""

    by: str = ""
    kinds: Mapping[Any, Any] | None = None

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return a record of the kind that is known."""
        assert self.kinds is not None
        kind = self.kinds[known[self.by]]
        return Section(kind=kind, sizes=self.sizes).read(entries, name, known)


@dataclass(frozen=True, slots=True)
class Given(Field):
    """Something that whoever reads the record knows already, under the attribute's name."""

    def is_in(self, entries: Entries, name: str) -> bool:
        """Whether it is there: it always is."""
        return True

    def write(self, name: str, value: Any) -> Plain:
        """Return nothing."""
        return {}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return what is known."""
        return known[name]


INLINE = Inline()
GIVEN = Given()


_FIELDS: dict[type, dict[str, Field]] = {}
"""Of kinds of records that were looked at before."""


def fields_of(kind: type) -> dict[str, Field]:
    """Return the fields of a record, from the annotations of its attributes."""
    if kind not in _FIELDS:
        hints = typing.get_type_hints(kind, include_extras=True)
        names = [field.name for field in dataclasses.fields(kind)]
        _FIELDS[kind] = {name: _field(hints[name], f"{kind.__name__}.{name}") for name in names}
    return _FIELDS[kind]


def _field(hint: Any, name: str) -> Field:
    """Return the field that an annotation asks for."""
    if typing.get_origin(hint) is Annotated:
        base, *notes = typing.get_args(hint)
        field = next(note for note in notes if isinstance(note, Field))
        return Inline(kind=base) if isinstance(field, Inline) else field
    if hint is bool:
        return Flag()
    if dataclasses.is_dataclass(hint):
        return Section(kind=hint)
    if isinstance(hint, types.UnionType):
        (kind,) = (one for one in typing.get_args(hint) if one is not types.NoneType)
        return MaybeSection(kind=kind)
    msg = f"{name} does not say how it stands in a file."
    raise TypeError(msg)


# ---------------------------------------------------------------------------- whole records


def record_to_plain(record: Any) -> Plain:
    """Return a record as plain data."""
    if hasattr(record, "to_plain"):
        plain: Plain = record.to_plain()
        return plain
    return values_to_plain(fields_of(type(record)), lambda name: getattr(record, name))


def record_from_plain(kind: type[_Record], entries: Entries, known: Known) -> _Record:
    """Return the record that `record_to_plain` described; what else is there stays."""
    own = getattr(kind, "from_plain", None)
    if own is not None:
        custom: _Record = own(entries, known)
        return custom
    record = kind(**values_from_plain(fields_of(kind), entries, dict(known)))
    if hasattr(record, "check"):
        record.check(entries.check)
    if hasattr(record, "check_against"):
        record.check_against(known, entries.check)
    return record


def stored_name(attribute: str) -> str:
    """Return what files call an attribute: its name without underscores at either end."""
    return attribute.strip("_")


def values_to_plain(fields: Mapping[str, Field], value_of: Callable[[str], Any]) -> Plain:
    """Return values, each by its field, as plain data."""
    return joined(*(kind.write(stored_name(name), value_of(name)) for name, kind in fields.items()))


def values_from_plain(fields: Mapping[str, Field], entries: Entries, known: Known) -> Known:
    """Read values, each by its field, in this order; each is known to those after it."""
    values: Known = {}
    for name, kind in fields.items():
        stored = stored_name(name)
        if kind.absent is not REQUIRED and not kind.is_in(entries, stored):
            values[name] = kind.absent
        else:
            values[name] = kind.read(entries, stored, known)
        known[name] = values[name]
    return values


def write_readable(path: Any, kind: str, plain: Plain, read: Callable[..., Any]) -> None:
    """Write a model of some kind to a file, unless ``read`` could not read it again."""
    try:
        read(*plain)
    except ModelFileError as error:
        msg = f"the model cannot be saved: {error}."
        raise ValueError(msg) from None
    write_archive(path, kind, *plain)
