"""Words of `DiscreteNB` and of the selectors in files, and what they know of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import (
    MOST_CLASSES,
    MOST_FEATURES,
    ClassLabels,
    Known,
    Texts,
    Whole,
    check_column_names,
    plain_scalar,
)
from honestbayes.models.shared.parameter_fields import Numbers, Parameter
from honestbayes.models.shared.parameters import check_prevalences, whole_number
from honestbayes.models.shared.saving import SavedEstimator
from honestbayes.sources.kinds import KINDS

LARGEST = 1e100
"""Weights and smoothing beyond any data, so that sums stay finite."""

_SMALLEST = 1e-300
"""Smoothing whose logarithm is still finite after it is divided by a number of levels."""


@dataclass(frozen=True, slots=True)
class Smoothing(Parameter):
    """What levels are given more; a whole number stays one."""

    def read(self, entries: Entries, name: str, known: Known) -> float | int:
        """Return the number."""
        value: float | int = entries.value(name)
        good = type(value) in (int, float) and _SMALLEST <= value <= LARGEST
        entries.check(good, name, f"is not a number from {_SMALLEST:g} to {LARGEST:g}")
        return value


@dataclass(frozen=True, slots=True)
class WholeParameter(Parameter):
    """A whole number as the constructor takes it, from ``least`` on, or None where it may be."""

    least: int = 1
    may_be_none: bool = False

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the number."""
        value = entries.value(name)
        try:
            if not (value is None and self.may_be_none):
                whole_number({name: value}, name, self.least)
        except (ValueError, OverflowError):
            entries.refuse(name, f"is not a whole number from {self.least} on")
        return value


@dataclass(frozen=True, slots=True)
class KindsInTable(Parameter):
    """Kinds of columns that a user named: by name or number, or one for each column."""

    def write(self, name: str, value: Any) -> Plain:
        """Return pairs of a column and its kind, or one kind for each column."""
        if isinstance(value, Mapping):
            pairs = [[plain_scalar(key), str(kind)] for key, kind in value.items()]
            return {name: pairs or None}, {}
        return {name: None if value is None else [str(kind) for kind in value]}, {}

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the mapping or the list; refuse columns that are not there."""
        given, width = entries.value(name), known["n_features_in"]
        if given is None:
            return None
        entries.check(isinstance(given, list) and given, name, "are not a list")
        if all(isinstance(kind, str) for kind in given):
            good = len(given) == width and all(kind in KINDS for kind in given)
            entries.check(good, name, "are not those of the columns")
            return given
        for pair in given:
            good = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str)
            good = good and pair[1] in KINDS
            entries.check(good, name, "are not pairs of a column and its kind")
            key = pair[0]
            there = type(key) is int and 0 <= key < width
            there = there or (isinstance(key, str) and key in (known["feature_names"] or ()))
            entries.check(there, name, "name a column that is not there")
        return dict(given)


@dataclass(frozen=True, slots=True)
class Shares(Numbers):
    """Prevalences of the classes, or None."""

    def read(self, entries: Entries, name: str, known: Known) -> Any:
        """Return the shares."""
        shares = entries.value(name)
        if shares is not None:
            good = isinstance(shares, list) and all(type(share) in (int, float) for share in shares)
            entries.check(good, name, "is not a list of shares")
            try:
                check_prevalences(shares, known["n_classes"])
            except (ValueError, OverflowError):
                entries.refuse(name, "is not a list of shares that sum to 1")
        return shares


_TABLE = {
    "n_classes": Whole(2, MOST_CLASSES),
    "classes": ClassLabels(),
    "n_features_in": Whole(1, MOST_FEATURES),
    "feature_names": Texts(),
}


class KnowsTable(SavedEstimator):
    """Base of estimators that keep of a table its classes and columns, and more in `_found`."""

    def _fitted_to_plain(self) -> Plain:
        values = {
            "n_classes": self.classes_.size,
            "classes": self.classes_,
            "n_features_in": self.n_features_in_,
            "feature_names": getattr(self, "feature_names_in_", None),
        }
        table = [field.write(name, values[name]) for name, field in _TABLE.items()]
        return joined(*table, self._found_to_plain())

    def _found_to_plain(self) -> Plain:
        """Return what fitting found beside classes and columns."""
        raise NotImplementedError

    @classmethod
    def _fitted_from_plain(cls, entries: Entries) -> Known:
        known: Known = {}
        for name, field in _TABLE.items():
            known[name] = field.read(entries, name, known)
        check_column_names(entries, known["feature_names"], known["n_features_in"])
        return known

    @classmethod
    def _check_parameters(cls, parameters: Known, fitted: Known) -> None:
        """Every parameter has been checked by its field."""

    def _load_fitted(self, fitted: Known) -> Any:
        self.classes_, self.n_features_in_ = fitted["classes"], fitted["n_features_in"]
        if fitted["feature_names"] is not None:
            self.feature_names_in_ = np.array(fitted["feature_names"], dtype=object)
        return self
