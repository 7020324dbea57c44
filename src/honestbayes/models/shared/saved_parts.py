"""Estimators made of parts, in files: classes, parts and their selections, slope, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.errors import ModelFileError
from honestbayes.files.fields import (
    CLOSE,
    MOST_CLASSES,
    MOST_FEATURES,
    ClassLabels,
    Field,
    Flag,
    Known,
    Number,
    Texts,
    check_column_names,
)
from honestbayes.files.records import (
    MaybeSection,
    Section,
    record_from_plain,
    record_to_plain,
    values_from_plain,
    values_to_plain,
)
from honestbayes.models.shared.layer import SLOPES, Layer
from honestbayes.models.shared.number import NumberChoice
from honestbayes.models.shared.parameters import (
    check_prevalences,
    check_recalibrate,
    pseudocounts,
)
from honestbayes.models.shared.parts import FittedPart
from honestbayes.models.shared.saving import SavedEstimator, check_number
from honestbayes.selection import Selection
from honestbayes.sources.kinds import KINDS
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_HEAD: dict[str, Field] = {
    "classes": ClassLabels(),
    "slope": Number(*SLOPES),
    "layer": MaybeSection(kind=Layer),
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
    _layer: Layer
    number_choice_: NumberChoice | None
    _parts: tuple[FittedPart, ...]
    _log_prior: FloatArray
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
            "slope": self._layer.mean_slope(),
            "layer": None if self._layer.is_plugged_in else self._layer,
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
        for name in ("number_choice", "feature_names", "slope"):
            known[name] = _HEAD[name].read(entries, name, {})
        known["layer"] = None
        if _HEAD["layer"].is_in(entries, "layer"):
            known["layer"] = _HEAD["layer"].read(entries, "layer", {})
        if known["layer"] is None:  # one slope, plugged in
            known["layer"] = Layer.plugged_in(known["slope"])
        check_column_names(entries, known["feature_names"], known["n_features_in"])
        return known

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
        return joined((content, {"log_prior": self._log_prior}), **sections)

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
