"""The constructor's parameters in files: how each is stored, and what is refused on reading."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, quoted, texts_as_arrays
from honestbayes.files.fields import Field, Known, Seed, plain_scalar
from honestbayes.sources.kinds import KINDS
from honestbayes.types import AnyArray

_MOST_JOBS = 2**31


@dataclass(frozen=True, slots=True)
class Parameter(Field):
    """A parameter that JSON holds as it is: a number, a text, true or false, null.

    What it may be is checked by the estimator, as it checks its constructor's parameters.
    """

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value."""
        return entries.value(name)


@dataclass(frozen=True, slots=True)
class Numbers(Parameter):
    """A number, several, or None; several come back as a tuple where the default is one."""

    as_tuple: bool = False

    def write(self, name: str, value: Any) -> Plain:
        """Return one number, or a list."""
        if value is not None and np.ndim(value):
            return {name: [plain_scalar(entry) for entry in value]}, {}
        return {name: plain_scalar(value)}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the numbers."""
        value = entries.value(name)
        several = value if isinstance(value, list) else [value]
        good = value is None or all(type(number) in (int, float) for number in several)
        entries.check(good, name, "holds something that is not a number")
        return tuple(value) if self.as_tuple and isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Pairs(Parameter):
    """A parameter that may be a mapping, which is stored as a list of pairs."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the value, or pairs."""
        if not isinstance(value, Mapping):
            return {name: plain_scalar(value)}, {}
        return {name: [[plain_scalar(key), plain_scalar(v)] for key, v in value.items()]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value, or the mapping."""
        value = entries.value(name)
        pairs = isinstance(value, list) and value and all(map(_is_pair, value))
        return dict(value) if pairs else value


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str | int)


@dataclass(frozen=True, slots=True)
class Kinds(Pairs):
    """Kinds of columns: a mapping, or one for each."""

    def write(self, name: str, value: Any) -> Plain:
        """Return pairs, or a list of kinds."""
        if value is None or isinstance(value, Mapping):
            return Pairs.write(self, name, value)
        return {name: [str(kind) for kind in value]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the mapping or the list."""
        kinds = Pairs.read(self, entries, name, known)
        entries.check(kinds is None or isinstance(kinds, dict | list), name, "are no kinds")
        named = list(kinds.values()) if isinstance(kinds, dict) else list(kinds or ())
        good = all(isinstance(kind, str) and kind in KINDS for kind in named)
        entries.check(good, name, "hold an unknown one")
        return kinds


@dataclass(frozen=True, slots=True)
class CriterionName(Parameter):
    """What features are ranked by, by name."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the name; refuse a function."""
        if not isinstance(value, str):
            msg = "criterion is a function, which a file of plain data cannot hold."
            raise ValueError(msg)
        return {name: value}, {}


@dataclass(frozen=True, slots=True)
class Cut(Parameter):
    """How values become 0/1."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return a number, a word or None."""
        value = entries.value(name)
        good = value is None or value in ("auto", "median")
        if type(value) in (int, float):
            good = abs(value) <= sys.float_info.max
        entries.check(good, name, f"is {quoted(value)}")
        return value


@dataclass(frozen=True, slots=True)
class HowToRun(Parameter):
    """A small number, true, false or None, which no result depends on."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value."""
        value = entries.value(name)
        good = value is None or (isinstance(value, int) and abs(value) < _MOST_JOBS)
        entries.check(good, name, f"is {quoted(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Forgotten(Parameter):
    """A place on the machine that fitted the model, which is nobody's business."""

    def write(self, name: str, value: Any) -> Plain:
        """Return null."""
        return {name: None}, {}

    def read(self, entries: Entries, name: str, known: Known) -> None:
        """Return None; refuse anything else."""
        entries.check(entries.value(name) is None, name, "is a place on another machine")


@dataclass(frozen=True, slots=True)
class AlwaysKeep(Field):
    """Names, numbers or a mask of columns; a mask is as long as the table."""

    def write(self, name: str, value: Any) -> Plain:
        """Return what kind of list it is, and the list in arrays."""
        if value is None:
            return {name: None}, {}
        given = np.asarray(value)
        if given.ndim == 1 and given.size == 0:
            return {name: "columns"}, {name: np.zeros(0, dtype=np.int64)}
        if given.ndim == 1 and given.dtype.kind == "b":
            return {name: "mask"}, {name: given}
        if given.ndim == 1 and given.dtype.kind in "iu":
            return {name: "columns"}, {name: given.astype(np.int64)}
        names = list(value) if given.ndim == 1 else []  # NumPy drops zeros at a text's end
        if not names or not all(isinstance(one, str) for one in names):
            msg = f"{name} cannot be saved; give a list of names or indices, or a mask."
            raise ValueError(msg)
        return {name: "names"}, texts_as_arrays(name, names)

    def read(self, entries: Entries, name: str, known: Known) -> list[Any] | None:
        """Return the list."""
        kind = entries.one_of(name, (None, "columns", "mask", "names"))
        if kind is None:
            return None
        if kind == "names":
            return list(entries.texts(name))
        array: AnyArray = (entries.mask if kind == "mask" else entries.integers)(name, (None,))
        return list(array.tolist())


_FIELDS: dict[str, Field] = {
    "always_keep": AlwaysKeep(),
    "binarize": Cut(),
    "checkpoint": Forgotten(),
    "criterion": CriterionName(),
    "kinds": Kinds(),
    "n_features_to_select": Pairs(),
    "n_jobs": HowToRun(),
    "random_state": Seed(),
    "verbose": HowToRun(),
}
_NUMBERS = {"class_pseudocounts", "class_prior", "alpha_prior", "response_prior", "theta_prior"}


def parameter_field(name: str, default: Any) -> Field:
    """Return how a constructor's parameter stands in a file, by its name and its default."""
    if name in _NUMBERS or isinstance(default, tuple):
        return Numbers(as_tuple=isinstance(default, tuple))
    return _FIELDS.get(name, Parameter())
