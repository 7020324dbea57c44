"""Fitted estimators in model files: the constructor's parameters and the fitted state.

Reading trusts nothing: a file with valid checksums can come from anybody, so every value is checked
for what it means, and anything else is refused in one sentence (`ModelFileError`).

Schema 1 is frozen: a file of any kind that was written with it loads for ever, and a stored file of
each kind is loaded by the tests. A change of the code therefore never renames or removes a field.
A later version may add one:

1. Annotate the record's attribute (or, for a constructor's parameter, the entry of
   `SavedEstimator._parameter_fields`) with its field and ``absent=value``, for example
   ``Annotated[float, Number(absent=0.0)]``. ``value`` is what was in force when files without the
   field were written. It need not be today's default, and it never changes again.
2. Write the field in every new file.
3. Add a file of the new form to the stored ones; do not replace the old ones.

What cannot be expressed so (another meaning of an existing field) needs a new field, or a new
schema number in `files.archive`: versions of today refuse it and ask for a newer honestbayes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from honestbayes.data.kinds import KINDS
from honestbayes.files.fields import (
    Entries,
    Field,
    Known,
    Plain,
    Seed,
    joined,
    plain_scalar,
    quoted,
    texts_as_arrays,
    values_from_plain,
    values_to_plain,
    write_readable,
)
from honestbayes.types import AnyArray

# --------------------------------------------------------------------------------------------------
# Fields of the constructor's parameters
# --------------------------------------------------------------------------------------------------


_MOST_JOBS = 2**31
"""Bound of `n_jobs` and `verbose` in files."""

_MOST_FOLDS = 10**9
"""Bound of `held_out` in files."""


@dataclass(frozen=True, slots=True)
class Parameter(Field):
    """A parameter that JSON holds as it is: a number, a text, true, false or null.

    The estimator checks its value, as it checks its constructor's parameters.
    """

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value."""
        return entries.value(name)


@dataclass(frozen=True, slots=True)
class NumbersParameter(Parameter):
    """A number, several, or None; several are read as a tuple where the default is one."""

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
        entries.check(
            kinds is None or isinstance(kinds, dict | list), name, "are not kinds of columns"
        )
        named = list(kinds.values()) if isinstance(kinds, dict) else list(kinds or ())
        good = all(isinstance(kind, str) and kind in KINDS for kind in named)
        entries.check(good, name, "hold an unknown one")
        return kinds


@dataclass(frozen=True, slots=True)
class CriterionName(Parameter):
    """The name of a ranking criterion."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the name; refuse a function."""
        if not isinstance(value, str):
            msg = "criterion is a function, which cannot be saved in a file of plain data."
            raise ValueError(msg)
        return {name: value}, {}


@dataclass(frozen=True, slots=True)
class Cut(Parameter):
    """The rule by which values become 0/1."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return a number, "auto", "median" or None."""
        value = entries.value(name)
        good = value is None or value in ("auto", "median")
        if type(value) in (int, float):
            good = abs(value) <= sys.float_info.max
        entries.check(good, name, f"is {quoted(value)}")
        return value


@dataclass(frozen=True, slots=True)
class ExecutionParameter(Parameter):
    """A small integer, a boolean or None, which no result depends on."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value."""
        value = entries.value(name)
        good = value is None or (isinstance(value, int) and abs(value) < _MOST_JOBS)
        entries.check(good, name, f"is {quoted(value)}")
        return value


@dataclass(frozen=True, slots=True)
class HeldOutParameter(Parameter):
    """A share, or a number of folds; folds of the training rows themselves become None."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the number, or null."""
        value = plain_scalar(value)
        return {name: value if type(value) in (int, float) else None}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the number, or None."""
        value = entries.value(name)
        good = value is None or (type(value) is int and 2 <= value <= _MOST_FOLDS)
        good = good or (type(value) is float and 0 < value < 1)
        entries.check(good, name, "is neither a share nor a number of folds")
        return value


@dataclass(frozen=True, slots=True)
class TransientParameter(Parameter):
    """A path on the machine that fitted the model, which is not stored."""

    def write(self, name: str, value: Any) -> Plain:
        """Return null."""
        return {name: None}, {}

    def read(self, entries: Entries, name: str, known: Known) -> None:
        """Return None; refuse anything else."""
        entries.check(entries.value(name) is None, name, "is a path on another machine")


@dataclass(frozen=True, slots=True)
class AlwaysKeep(Field):
    """Names or indices of columns, or a mask of all columns."""

    def write(self, name: str, value: Any) -> Plain:
        """Return the type of the list, and the list in arrays."""
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
    "checkpoint": TransientParameter(),
    "covariates": AlwaysKeep(absent=None),
    "criterion": CriterionName(absent="correlation"),
    "kinds": Kinds(),
    "n_features_to_select": Pairs(),
    "n_jobs": ExecutionParameter(),
    "random_state": Seed(),
    "verbose": ExecutionParameter(),
}
_NUMBERS = {"class_pseudocounts", "class_prior", "alpha_prior", "response_prior", "theta_prior"}


def parameter_field(name: str, default: Any) -> Field:
    """Return the field of a constructor's parameter, by its name and its default."""
    if name in _NUMBERS or isinstance(default, tuple):
        return NumbersParameter(as_tuple=isinstance(default, tuple))
    return _FIELDS.get(name, Parameter())


# --------------------------------------------------------------------------------------------------
# Estimators that can be saved
# --------------------------------------------------------------------------------------------------


def check_number(parameters: Mapping[str, Any], most: int) -> None:
    """Refuse a number of features that a table cannot have."""
    number = parameters["n_features_to_select"]
    for value in list(number.values()) if isinstance(number, dict) else [number]:
        if type(value) not in (int, float):
            continue
        good = 0 <= value <= most and value == int(value)
        if not good or parameters.get("threshold") is not None:
            msg = f"n_features_to_select is {quoted(value)}, which is not a number of features"
            raise ValueError(msg)


class SavedEstimator(BaseEstimator):
    """Base of estimators that can be written to a file of plain data and read again.

    A subclass defines how the fitted state is written (`_fitted_to_plain`) and read
    (`_fitted_from_plain`, `_load_fitted`), and which parameters are refused (`_check_parameters`).
    """

    _kind: ClassVar[str]
    """Name of the estimator in files."""

    _parameter_fields: ClassVar[Mapping[str, Field]] = {}
    """Fields of parameters for which `parameter_field` is not right."""

    def _fitted_to_plain(self) -> Plain:
        """Return the fitted state as plain data."""
        raise NotImplementedError

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        """Return the fitted state, by name, for `_load_fitted`; refuse what it cannot be."""
        raise NotImplementedError

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        """Raise an error where the constructor's parameters do not fit the model."""
        raise NotImplementedError

    def _load_fitted(self, fitted: Known) -> Self:
        """Set the fitted state."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of plain data, atomically.

        Parameters
        ----------
        path : path-like
            Any name; ``.honestbayes`` is the usual suffix. `honestbayes.load` reads it.

        Notes
        -----
        A ``RandomState`` in ``random_state`` is stored as None; it is not needed to predict.
        """
        check_is_fitted(self)
        write_readable(path, self._kind, self._to_plain(), type(self)._from_plain)

    def _to_plain(self) -> Plain:
        """Return the model as plain data."""
        given = self.get_params(deep=False)
        fields = {
            name: field for name, field in self._fields_of_parameters().items() if name in given
        }
        parameters = values_to_plain(fields, lambda name: given[name])
        return joined(self._fitted_to_plain(), parameters=parameters)

    @classmethod
    def _from_plain(cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model that a file describes."""
        entries = Entries(content, arrays)
        fitted = cls._fitted_from_plain(entries)
        section = entries.section("parameters")
        parameters = values_from_plain(cls._fields_of_parameters(), section, dict(fitted))
        section.finish()
        try:
            cls._check_parameters(parameters, fitted)
        except (ArithmeticError, TypeError, ValueError, AttributeError, KeyError) as error:
            section.refuse("values", f"are not accepted: {str(error)[:200].rstrip('.')}")
        entries.finish()
        return cls(**parameters)._load_fitted(fitted)

    @classmethod
    def _fields_of_parameters(cls) -> dict[str, Field]:
        """Return the field of each of the constructor's parameters."""
        fields = {}
        for name, given in inspect.signature(cls.__init__).parameters.items():
            if name != "self":
                field = cls._parameter_fields.get(name)
                fields[name] = parameter_field(name, given.default) if field is None else field
        return fields
