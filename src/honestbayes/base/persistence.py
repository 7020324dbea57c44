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

from honestbayes.base.parameters import check_prevalences, check_recalibrate, pseudocounts
from honestbayes.base.part import FittedPart
from honestbayes.base.recalibration import NumberChoice, Recalibration
from honestbayes.data.kinds import KINDS
from honestbayes.files.errors import ModelFileError
from honestbayes.files.fields import (
    CLOSE,
    MOST_CLASSES,
    MOST_FEATURES,
    ClassLabels,
    Entries,
    Field,
    Flag,
    Known,
    MaybeSection,
    Plain,
    Section,
    Seed,
    Texts,
    check_column_names,
    joined,
    plain_scalar,
    quoted,
    record_from_plain,
    record_to_plain,
    texts_as_arrays,
    values_from_plain,
    values_to_plain,
    write_readable,
)
from honestbayes.selection import Selection
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# The constructor's parameters in files: how each is stored, and what is refused on reading
# --------------------------------------------------------------------------------------------------


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
class ExecutionParameter(Parameter):
    """A small number, true, false or None, which no result depends on."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the value."""
        value = entries.value(name)
        good = value is None or (isinstance(value, int) and abs(value) < _MOST_JOBS)
        entries.check(good, name, f"is {quoted(value)}")
        return value


@dataclass(frozen=True, slots=True)
class TransientParameter(Parameter):
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
    "checkpoint": TransientParameter(),
    "criterion": CriterionName(),
    "kinds": Kinds(),
    "n_features_to_select": Pairs(),
    "n_jobs": ExecutionParameter(),
    "random_state": Seed(),
    "verbose": ExecutionParameter(),
}
_NUMBERS = {"class_pseudocounts", "class_prior", "alpha_prior", "response_prior", "theta_prior"}


def parameter_field(name: str, default: Any) -> Field:
    """Return how a constructor's parameter stands in a file, by its name and its default."""
    if name in _NUMBERS or isinstance(default, tuple):
        return Numbers(as_tuple=isinstance(default, tuple))
    return _FIELDS.get(name, Parameter())


# --------------------------------------------------------------------------------------------------
# Fitted estimators in files: the constructor's parameters, and what fitting found
#
# Reading distrusts: every number is checked for what it means, because a file with valid checksums
# can still come from anybody.
# --------------------------------------------------------------------------------------------------


def check_number(parameters: Mapping[str, Any], most: int) -> None:
    """Refuse a number of features that a table cannot have, without a mask of all of them."""
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

    A subclass says what of the fitted model is written (`_fitted_to_plain`), how that is read
    (`_fitted_from_plain`, `_load_fitted`), and which parameters are refused (`_check_parameters`).
    """

    _kind: ClassVar[str]
    """What files call the estimator."""

    _parameter_fields: ClassVar[Mapping[str, Field]] = {}
    """How parameters stand in files, where `parameter_field` does not know it."""

    def _fitted_to_plain(self) -> Plain:
        """Return what fitting found as plain data."""
        raise NotImplementedError

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        """Return what fitting found, by name, for `_load_fitted`; refuse what it cannot be."""
        raise NotImplementedError

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        """Raise an error where the constructor's parameters do not fit the model."""
        raise NotImplementedError

    def _load_fitted(self, fitted: Known) -> Self:
        """Take over what fitting found."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file of plain data, whole or not at all.

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
        """Return the model as plain data, for a file that may hold more than the model."""
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
        """Return how each of the constructor's parameters stands in a file."""
        fields = {}
        for name, given in inspect.signature(cls.__init__).parameters.items():
            if name != "self":
                field = cls._parameter_fields.get(name)
                fields[name] = parameter_field(name, given.default) if field is None else field
        return fields


_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "recalibration": Section(kind=Recalibration),
    "kept_columns_only": Flag(),
    "feature_names": Texts(),
    "number_choice": MaybeSection(kind=NumberChoice),
}
"""What files of all these estimators hold."""


class SavedParts(SavedEstimator):
    """Base of estimators whose files hold parts of one kind of feature each."""

    _part_classes: ClassVar[Mapping[str, type]]
    """Classes of fitted parts, by what files call them."""

    _fitted_choices: ClassVar[Mapping[str, Field]]
    """Attributes that say what became of parameters such as "auto", and how they stand in files."""

    classes_: AnyArray
    _recalibration: Recalibration
    number_choice_: NumberChoice | None
    _parts: tuple[FittedPart, ...]
    _class_log_prior: FloatArray
    _kept_columns_only: bool

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        """Turn the constructor's parameters into settings, or say what is wrong with them."""
        raise NotImplementedError

    def _names_of_columns(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def _fitted_to_plain(self) -> Plain:
        words = values_to_plain(self._fitted_choices, lambda name: getattr(self, name))
        head: Known = {
            "classes": self.classes_,
            "recalibration": self._recalibration,
            "kept_columns_only": self._kept_columns_only,
            "feature_names": self._names_of_columns(),
            "number_choice": self.number_choice_,
        }
        return joined(values_to_plain(_HEAD, head.__getitem__), words, self._parts_to_plain())

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known: Known = {}
        known["kept_columns_only"] = entries.flag("kept_columns_only")
        known |= cls._parts_from_plain(entries, known)
        selections = [part.selection for part in known["parts"]]
        known["width"] = sum(selection.n_features_in for selection in selections)
        kept = sum(len(selection.columns) for selection in selections)
        if known["kept_columns_only"]:
            known["n_features_in"] = kept
        for name in ("number_choice", "feature_names", "recalibration"):
            known[name] = _HEAD[name].read(entries, name, {})
        check_column_names(entries, known["feature_names"], known["n_features_in"])
        cls._check_fitted(entries, known)
        return known

    @classmethod
    def _check_fitted(cls, entries: Entries, known: Known) -> None:
        """Refuse parts that do not fit the fitted choices; by default nothing."""

    @classmethod
    def _from_plain(cls, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the model that a file describes; its parts must have kept the columns they name.

        What a column is called is in the file twice: a file that moves columns from one part to
        another would give numbers to a part of texts.
        """
        model = super()._from_plain(content, arrays)
        names = model._names_of_columns()
        for part, columns in zip(model._parts, model._kept_columns(), strict=True):
            selection = part.selection
            if names is not None and selection.kept_names is not None:
                own = selection.kept_names + (selection.always_kept_names or ())
                if own != tuple(names[column] for column in columns.tolist()):
                    msg = "feature_names differs from the selection's"
                    raise ModelFileError(msg)
        return model

    def _kept_columns(self) -> list[IntArray]:
        """Return the table's columns that each part kept."""
        raise NotImplementedError

    def _parts_to_plain(self) -> Plain:
        """Return the parts, each in a section, and the prior of the classes."""
        kinds = {part_class: kind for kind, part_class in self._part_classes.items()}
        content = {
            "n_features_in": int(self.n_features_in_),
            "parts": [kinds[type(part)] for part in self._parts],
        }
        sections = {
            f"part{place}": joined(record_to_plain(part), selection=part.selection.to_plain())
            for place, part in enumerate(self._parts)
        }
        return joined((content, {"log_prior": self._class_log_prior}), **sections)

    @classmethod
    def _parts_from_plain(cls, entries: Entries, known: Known) -> Known:
        """Return parts, classes and their prior, and the fitted choices."""
        kinds = entries.value("parts")
        good = isinstance(kinds, list) and 1 <= len(kinds) <= len(KINDS)
        good = good and all(isinstance(kind, str) and kind in cls._part_classes for kind in kinds)
        entries.check(good, "parts", f"are not those of {cls._kind}")
        log_prior = entries.finite("log_prior", (None,), -1e6, CLOSE)
        n_classes = log_prior.size
        good = 2 <= n_classes <= MOST_CLASSES
        entries.check(good, "log_prior", "is not one of two or more classes")
        good = abs(np.exp(log_prior).sum() - 1) <= CLOSE
        entries.check(good, "log_prior", "does not sum to 1")
        known = {**known, "n_classes": n_classes, "log_prior": log_prior, "part_names": kinds}
        known["classes"] = ClassLabels().read(entries, "classes", known)
        known["parts"] = tuple(
            cls._part_from_plain(kind, entries.section(f"part{place}"), known)
            for place, kind in enumerate(kinds)
        )
        counts = {part.selection.class_counts for part in known["parts"]}
        entries.check(len(counts) == 1, "parts", "have other numbers of cases")
        known["part_widths"] = [
            len(part.selection.columns)
            if known["kept_columns_only"]
            else part.selection.n_features_in
            for part in known["parts"]
        ]
        takes = entries.value("n_features_in")
        good = type(takes) is int and 0 <= takes <= MOST_FEATURES
        entries.check(good, "n_features_in", "is not a possible number")
        known["n_features_in"] = takes
        known |= values_from_plain(cls._fitted_choices, entries, known)
        constant = cls._n_outside_parts(known)
        fits = takes == sum(known["part_widths"]) + constant
        entries.check(fits, "n_features_in", "does not fit the parts")
        return known

    @classmethod
    def _n_outside_parts(cls, known: Known) -> int:  # noqa: ARG003 - for subclasses
        """Return how many columns of the table belong to no part; by default none does."""
        return 0

    @classmethod
    def _part_from_plain(cls, kind: str, entries: Entries, known: Known) -> FittedPart:
        selection = Section(kind=Selection).read(entries, "selection", {})
        fits = len(selection.class_counts) == known["n_classes"]
        entries.check(fits, "selection", "is one of other classes")
        known = {**known, "selection": selection, "n_columns": len(selection.columns)}
        part: FittedPart = record_from_plain(cls._part_classes[kind], entries, known)
        entries.finish()
        return part

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        check_number(parameters, cls._most_features(fitted["width"]))
        number = parameters["n_features_to_select"]
        for value in list(number.values()) if isinstance(number, dict) else [number]:
            plain = None if type(value) in (int, float) else value
            cls._settings_of({**parameters, "n_features_to_select": plain}, np.zeros(0, dtype=bool))
        n_classes = fitted["classes"].size
        check_recalibrate(parameters["recalibrate"])
        check_prevalences(parameters["class_prior"], n_classes)
        pseudocounts(parameters["class_pseudocounts"], n_classes)

    @classmethod
    def _most_features(cls, width: int) -> int:
        """Return the largest number of features that may be asked for in a table of a width."""
        return width
