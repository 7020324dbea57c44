"""Fitted estimators as plain data, and back.

Reading distrusts: every number is checked for what it means, because a file with valid checksums
can still come from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined, texts_as_arrays
from honestbayes.models.binary import file as bernoulli_file
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.models.binary.part import BernoulliPart
from honestbayes.models.categorical import file as categorical_file
from honestbayes.models.categorical.part import CategoricalPart
from honestbayes.models.factors import file as factor_file
from honestbayes.models.factors.part import FactorPart
from honestbayes.models.mixture import file as mixture_file
from honestbayes.models.mixture.part import MixturePart
from honestbayes.models.real import file as gaussian_file
from honestbayes.models.real.part import GaussianPart
from honestbayes.models.shared.number import NumberChoice
from honestbayes.models.shared.parameters_file import parameters_from_plain, parameters_to_plain
from honestbayes.models.shared.parts import FittedPart
from honestbayes.models.shared.shared_file import (
    MOST_CLASSES,
    SLOPES,
    classes_from_plain,
    classes_to_plain,
    number_choice_from_plain,
    number_choice_to_plain,
    selection_from_plain,
    selection_to_plain,
    write_readable,
)
from honestbayes.selection import Selection
from honestbayes.sources.kinds import KINDS
from honestbayes.types import AnyArray, FloatArray

_BINARY = "SelectiveBernoulliNB"
"""It is older than the others, so its files hold the features without a list of parts."""

_PART_KINDS: dict[str, type] = {
    "binary": BernoulliPart,
    "categorical": CategoricalPart,
    "real": GaussianPart,
    "mixture": MixturePart,
    "factors": FactorPart,
}

_PART_OF = {
    "SelectiveGaussianNB": "real",
    "SelectiveCategoricalNB": "categorical",
    "SelectiveMixture": "mixture",
    "SelectiveFactorClassifier": "factors",
}
"""The part of estimators that have one."""


@dataclass(frozen=True, slots=True)
class FittedModel:
    """All that a fitted estimator is.

    Attributes
    ----------
    kind : str
        What files call the estimator.
    parameters : mapping
        The constructor's.
    parts : tuple of FittedPart
        The fitted features of each kind.
    fitted : mapping
        Attributes of the estimator that are kept as they are.
    classes : ndarray of shape (C,)
        Class labels.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen, up to a constant.
    slope : float
        The factor on the evidence.
    number_choice : NumberChoice or None
        The numbers of features that were tried.
    kept_columns_only : bool
        Whether the model takes the kept columns alone.
    n_features_in : int
        Columns that it takes.
    feature_names : tuple of str or None
        Their names.
    """

    kind: str
    parameters: Mapping[str, Any]
    parts: tuple[FittedPart, ...]
    fitted: Mapping[str, Any]
    classes: AnyArray
    log_prior: FloatArray
    slope: float
    number_choice: NumberChoice | None
    kept_columns_only: bool
    n_features_in: int
    feature_names: tuple[str, ...] | None


def save_model(model: FittedModel, path: str | PathLike[str]) -> None:
    """Write the model to a file, unless it could not be read again."""
    read = partial(model_from_plain, model.kind)
    write_readable(path, model.kind, model_to_plain(model), read)


def model_to_plain(model: FittedModel) -> Plain:
    """Return the model as content for JSON and named arrays."""
    content: dict[str, Any] = {
        "classes": classes_to_plain(model.classes),
        "slope": float(model.slope),
        "kept_columns_only": model.kept_columns_only,
        "has_feature_names": model.feature_names is not None,
        "has_number_choice": model.number_choice is not None,
    }
    arrays: dict[str, AnyArray] = {}
    if model.feature_names is not None:
        arrays |= texts_as_arrays("feature_names", model.feature_names)
    sections = {"parameters": parameters_to_plain(model.parameters)}
    if model.number_choice is not None:
        sections["number_choice"] = number_choice_to_plain(model.number_choice)
    features = _binary_to_plain(model) if model.kind == _BINARY else _parts_to_plain(model)
    return joined((content, arrays), features, **sections)


def model_from_plain(
    kind: str, content: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> FittedModel:
    """Return the model that `model_to_plain` described; refuse anything else.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    entries = Entries(content, arrays)
    kept_only = entries.flag("kept_columns_only")
    classes, log_prior, parts, fitted = (
        _binary_from_plain(entries)
        if kind == _BINARY
        else _parts_from_plain(kind, entries, kept_only)
    )
    selections = [part.selection for part in parts]
    width = sum(selection.n_features_in for selection in selections)
    takes = sum(len(selection.columns) for selection in selections) if kept_only else width
    choice = None
    if entries.flag("has_number_choice"):
        choice = number_choice_from_plain(entries.section("number_choice"))
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    if names is not None:
        entries.check(len(names) == takes, "feature_names", "does not name every column")
        if kind == _BINARY:
            _check_names(names, selections[0], kept_only, entries)
    model = FittedModel(
        kind,
        parameters_from_plain(kind, entries.section("parameters"), classes.size, width),
        parts,
        fitted,
        classes,
        log_prior,
        entries.number("slope", *SLOPES),
        choice,
        kept_only,
        takes,
        names,
    )
    entries.finish()
    return model


_Features = tuple[AnyArray, FloatArray, tuple[FittedPart, ...], dict[str, Any]]
"""Class labels, log prior, parts, and attributes that are kept as they are."""

# ---------------------------------------------------------------------- binary features only


def _binary_to_plain(model: FittedModel) -> Plain:
    (part,) = model.parts
    assert isinstance(part, BernoulliPart)
    words = {name.removesuffix("_"): value for name, value in model.fitted.items()}
    selection = selection_to_plain(part.selection)
    return joined((words, {}), bernoulli_file.fit_to_plain(part.fit), selection=selection)


def _binary_from_plain(entries: Entries) -> _Features:
    classes = classes_from_plain(entries.section("classes"), 2)
    selection = selection_from_plain(entries.section("selection"))
    entries.check(len(selection.class_counts) == 2, "class_counts", "are not those of two classes")
    prior = entries.one_of("feature_prior", ("learned", "uniform"))
    corrections = ("counts", None) if prior == "learned" else ("counts", "selection", None)
    fitted = {
        "feature_prior_": prior,
        "correction_": entries.one_of("correction", corrections),
    }
    fit = bernoulli_file.fit_from_plain(entries, selection, learned=prior == "learned")
    return classes, fit.log_prior, (BernoulliPart(fit),), fitted


def _check_names(
    names: tuple[str, ...], selection: Selection, kept_only: bool, entries: Entries
) -> None:
    if selection.kept_names is not None:
        expected = selection.kept_names + (selection.always_kept_names or ())
        if not kept_only:
            names = tuple(names[column] for column in selection.columns)
        entries.check(names == expected, "feature_names", "differs from the selection's")


# ---------------------------------------------------------------------- features of all kinds


def _parts_to_plain(model: FittedModel) -> Plain:
    content: dict[str, Any] = {
        "n_features_in": int(model.n_features_in),
        "parts": [_kind_of(part) for part in model.parts],
    }
    arrays: dict[str, AnyArray] = {"log_prior": model.log_prior}
    for name, value in model.fitted.items():
        if name == "part_kinds_":
            content["part_kinds"] = list(value)
        elif name == "kinds_":
            arrays["kinds"] = np.array([KINDS.index(kind) for kind in value], dtype=np.int64)
        else:
            content[name] = value
    parts = {f"part{index}": _part_to_plain(part) for index, part in enumerate(model.parts)}
    return joined((content, arrays), **parts)


def _parts_from_plain(kind: str, entries: Entries, kept_only: bool) -> _Features:
    kinds = entries.value("parts")
    good = isinstance(kinds, list) and 1 <= len(kinds) <= len(KINDS)
    entries.check(good and all(k in _PART_KINDS for k in kinds), "parts", "are of unknown kinds")
    log_prior = entries.finite("log_prior", (None,), -1e6, 1e-9)
    n_classes = log_prior.size
    entries.check(2 <= n_classes <= MOST_CLASSES, "log_prior", "is not one of two or more classes")
    entries.check(abs(np.exp(log_prior).sum() - 1) <= 1e-9, "log_prior", "does not sum to 1")
    classes = classes_from_plain(entries.section("classes"), n_classes)
    parts = tuple(
        _part_from_plain(part_kind, entries.section(f"part{index}"), classes)
        for index, part_kind in enumerate(kinds)
    )
    counts = {part.selection.class_counts for part in parts}
    entries.check(len(counts) == 1, "parts", "have other numbers of cases")
    widths = [
        len(part.selection.columns) if kept_only else part.selection.n_features_in for part in parts
    ]
    takes = entries.value("n_features_in")
    entries.check(
        type(takes) is int and takes == sum(widths), "n_features_in", "does not fit the parts"
    )
    fitted = _fitted_from_plain(kind, entries, kinds, widths, n_classes)
    return classes, log_prior, parts, fitted


def _fitted_from_plain(
    kind: str, entries: Entries, part_kinds: list[str], widths: list[int], n_classes: int
) -> dict[str, Any]:
    """Return the attributes that an estimator keeps as they are, and check its parts."""
    if kind == "SelectiveMixedNB":
        codes = entries.counts("kinds", (sum(widths),), len(KINDS) - 1)
        found = tuple(KINDS[code] for code in codes.tolist())
        names = entries.value("part_kinds")
        good = isinstance(names, list) and names == [name for name in KINDS if name in names]
        entries.check(
            good and len(names) == len(widths), "part_kinds", "are not those of the parts"
        )
        for name, sort, width in zip(names, part_kinds, widths, strict=True):
            fits = sort == ("categorical" if name == "binary" and n_classes > 2 else name)
            entries.check(fits, "part_kinds", "are not those of the parts")
            entries.check(found.count(name) == width, "kinds", "differ from those of the parts")
        return {"kinds_": found, "part_kinds_": tuple(names)}
    expected = _PART_OF[kind]
    entries.check(part_kinds == [expected], "parts", f"are not those of {kind}")
    if expected == "mixture":
        return {"correction_": entries.one_of("correction_", ("selection", None))}
    fixed = "uniform" if expected == "categorical" else "heavy-tailed"
    priors = ("learned", fixed)
    return {
        "feature_prior_": entries.one_of("feature_prior_", priors),
        "correction_": entries.one_of("correction_", ("counts", "selection", None)),
    }


def _kind_of(part: FittedPart) -> str:
    return next(kind for kind, sort in _PART_KINDS.items() if isinstance(part, sort))


def _part_to_plain(part: FittedPart) -> Plain:
    if isinstance(part, BernoulliPart):
        learned = isinstance(part.fit.race, LearnedFit)
        plain = joined(({"learned": learned}, {}), bernoulli_file.fit_to_plain(part.fit))
    elif isinstance(part, CategoricalPart):
        plain = categorical_file.fit_to_plain(part.fit, part.levels)
    elif isinstance(part, MixturePart):
        plain = mixture_file.fit_to_plain(part)
    elif isinstance(part, FactorPart):
        plain = factor_file.part_to_plain(part)
    else:
        assert isinstance(part, GaussianPart)
        plain = gaussian_file.fit_to_plain(part.fit)
    return joined(plain, selection=selection_to_plain(part.selection))


def _part_from_plain(kind: str, entries: Entries, classes: AnyArray) -> FittedPart:
    selection = selection_from_plain(entries.section("selection"))
    entries.check(
        len(selection.class_counts) == classes.size, "selection", "is one of other classes"
    )
    part: FittedPart
    if kind == "binary":
        entries.check(classes.size == 2, "selection", "is not one of two classes")
        learned = entries.flag("learned")
        part = BernoulliPart(bernoulli_file.fit_from_plain(entries, selection, learned=learned))
    elif kind == "categorical":
        part = CategoricalPart(*categorical_file.fit_from_plain(entries, selection))
    elif kind == "mixture":
        entries.check(classes.size == 2, "selection", "is not one of two classes")
        part = mixture_file.fit_from_plain(entries, selection)
    elif kind == "factors":
        part = factor_file.part_from_plain(entries, selection, classes)
    else:
        part = GaussianPart(gaussian_file.fit_from_plain(entries, selection, classes))
    entries.finish()
    return part
