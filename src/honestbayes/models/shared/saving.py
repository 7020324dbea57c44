"""Fitted estimators in files: the constructor's parameters, and what fitting found.

Reading distrusts: every number is checked for what it means, because a file with valid checksums
can still come from anybody.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from honestbayes.files.entries import Entries, Plain, joined, quoted
from honestbayes.files.fields import Field, Known
from honestbayes.files.records import values_from_plain, values_to_plain, write_readable
from honestbayes.models.shared.parameter_fields import parameter_field
from honestbayes.types import AnyArray


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

    _absent_parameters: ClassVar[Mapping[str, Any]] = {}
    """Of parameters that older files lack, the value that was in force when they were written."""

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
                field = cls._parameter_fields.get(name) or parameter_field(name, given.default)
                known = name not in cls._absent_parameters
                fields[name] = (
                    field if known else replace(field, absent=cls._absent_parameters[name])
                )
        return fields
