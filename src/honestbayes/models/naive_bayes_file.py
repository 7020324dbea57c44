"""Fitted estimators whose features come in parts as plain data, and back.

Reading distrusts: every number is checked for what it means, because a file with valid checksums
can still come from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.models import bernoulli_file, categorical_file, gaussian_file
from honestbayes.models.bernoulli_part import BernoulliPart
from honestbayes.models.categorical_part import CategoricalPart
from honestbayes.models.gaussian_part import GaussianPart
from honestbayes.models.learned import LearnedFit
from honestbayes.models.number import NumberChoice
from honestbayes.models.parameters import categorical_settings, check_prevalences, gaussian_settings
from honestbayes.models.parameters_file import (
    always_keep_from_plain,
    always_keep_to_plain,
    plain_scalar,
    seed_from_plain,
)
from honestbayes.models.parts import FittedPart
from honestbayes.models.shared_file import (
    MOST_CLASSES,
    MOST_FEATURES,
    SLOPES,
    classes_from_plain,
    classes_to_plain,
    number_choice_from_plain,
    number_choice_to_plain,
    selection_from_plain,
    selection_to_plain,
)
from honestbayes.screening.kinds import KINDS
from honestbayes.storage import ModelFileError, write_archive
from honestbayes.storage.entries import Entries, Plain, joined, quoted, texts_as_arrays
from honestbayes.types import AnyArray, FloatArray

_PART_KINDS: dict[str, type] = {
    "binary": BernoulliPart,
    "categorical": CategoricalPart,
    "real": GaussianPart,
}
_OPTIONAL = {
    "SelectiveCategoricalNB": {
        "alpha_prior",
        "tol",
        "random_state",
        "feature_prior",
        "criterion",
    },
    "SelectiveGaussianNB": {"feature_prior", "criterion"},
    "SelectiveMixedNB": {"kinds", "random_state"},
}
_PARAMETERS = {
    "n_features_to_select",
    "threshold",
    "correction",
    "always_keep",
    "class_pseudocounts",
    "class_prior",
    "recalibrate",
}


@dataclass(frozen=True, slots=True)
class FittedModel:
    """All that a fitted estimator is.

    Attributes
    ----------
    parameters : mapping
        The constructor's.
    parts : tuple of FittedPart
        The fitted features of each kind.
    fitted : mapping
        Attributes of the estimator that are kept as they are.
    classes : ndarray of shape (C,)
        Class labels.
    log_prior : ndarray of shape (C,)
        Log class probabilities before features are seen.
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


def save_model(kind: str, model: FittedModel, path: str | PathLike[str]) -> None:
    """Write the model to a file, unless it could not be read again."""
    content, arrays = model_to_plain(model)
    try:
        model_from_plain(kind, content, arrays)
    except ModelFileError as error:
        msg = f"the model cannot be saved: {error}."
        raise ValueError(msg) from None
    write_archive(path, kind, content, arrays)


def model_to_plain(model: FittedModel) -> Plain:
    """Return the model as content for JSON and named arrays."""
    content: dict[str, Any] = {
        "classes": classes_to_plain(model.classes),
        "slope": float(model.slope),
        "kept_columns_only": model.kept_columns_only,
        "n_features_in": int(model.n_features_in),
        "has_feature_names": model.feature_names is not None,
        "has_number_choice": model.number_choice is not None,
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
    if model.feature_names is not None:
        arrays |= texts_as_arrays("feature_names", model.feature_names)
    sections = {"parameters": _parameters_to_plain(model.parameters)}
    if model.number_choice is not None:
        sections["number_choice"] = number_choice_to_plain(model.number_choice)
    for index, part in enumerate(model.parts):
        sections[f"part{index}"] = _part_to_plain(part)
    return joined((content, arrays), **sections)


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
    n_features_in = entries.value("n_features_in")
    entries.check(
        type(n_features_in) is int and 0 <= n_features_in <= MOST_FEATURES,
        "n_features_in",
        f"is {quoted(n_features_in)}",
    )
    kept_only = entries.flag("kept_columns_only")
    takes = sum(
        len(part.selection.columns) if kept_only else part.selection.n_features_in for part in parts
    )
    entries.check(takes == n_features_in, "n_features_in", "does not fit the parts")
    choice = None
    if entries.flag("has_number_choice"):
        choice = number_choice_from_plain(entries.section("number_choice"))
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    entries.check(
        names is None or len(names) == n_features_in, "feature_names", "does not name every column"
    )
    model = FittedModel(
        _parameters_from_plain(kind, entries.section("parameters"), n_classes, n_features_in),
        parts,
        _fitted_from_plain(kind, entries, kinds, parts, n_features_in, kept_only),
        classes,
        log_prior,
        entries.number("slope", *SLOPES),
        choice,
        kept_only,
        n_features_in,
        names,
    )
    entries.finish()
    return model


def _fitted_from_plain(
    kind: str,
    entries: Entries,
    part_kinds: list[str],
    parts: tuple[FittedPart, ...],
    n_features_in: int,
    kept_only: bool,
) -> dict[str, Any]:
    """Return the attributes that an estimator keeps as they are, and check its parts."""
    if kind == "SelectiveMixedNB":
        codes = entries.counts("kinds", (n_features_in,), len(KINDS) - 1)
        found = tuple(KINDS[code] for code in codes.tolist())
        names = entries.value("part_kinds")
        good = isinstance(names, list) and names == [name for name in KINDS if name in names]
        entries.check(good and len(names) == len(parts), "part_kinds", "are not those of the parts")
        for name, sort, part in zip(names, part_kinds, parts, strict=True):
            selection = part.selection
            two = len(selection.class_counts) == 2
            fits = sort == ("categorical" if name == "binary" and not two else name)
            entries.check(fits, "part_kinds", "are not those of the parts")
            number = len(selection.columns) if kept_only else selection.n_features_in
            entries.check(found.count(name) == number, "kinds", "differ from those of the parts")
        return {"kinds_": found, "part_kinds_": tuple(names)}
    expected = "real" if kind == "SelectiveGaussianNB" else "categorical"
    entries.check(part_kinds == [expected], "parts", f"are not those of {kind}")
    priors = ("learned", "heavy-tailed" if expected == "real" else "uniform")
    return {
        "feature_prior_": entries.one_of("feature_prior_", priors),
        "correction_": entries.one_of("correction_", ("counts", "selection", None)),
    }


# ------------------------------------------------------------------------------------ parts


def _kind_of(part: FittedPart) -> str:
    return next(kind for kind, sort in _PART_KINDS.items() if isinstance(part, sort))


def _part_to_plain(part: FittedPart) -> Plain:
    if isinstance(part, BernoulliPart):
        learned = isinstance(part.fit.race, LearnedFit)
        plain = joined(({"learned": learned}, {}), bernoulli_file.fit_to_plain(part.fit))
    elif isinstance(part, CategoricalPart):
        plain = categorical_file.fit_to_plain(part.fit, part.levels)
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
    else:
        part = GaussianPart(gaussian_file.fit_from_plain(entries, selection, classes))
    entries.finish()
    return part


# ------------------------------------------------------------------------------- parameters

_LISTS = ("class_pseudocounts", "class_prior", "alpha_prior")


def _parameters_to_plain(parameters: Mapping[str, Any]) -> Plain:
    """Return parameters as plain data; a random generator, which has no plain form, as None."""
    content: dict[str, Any] = {}
    arrays: dict[str, AnyArray] = {}
    for name, value in parameters.items():
        if name == "always_keep":
            content[name], arrays = always_keep_to_plain(value)
        elif name == "criterion" and not isinstance(value, str):
            msg = "criterion is a function, which a file of plain data cannot hold."
            raise ValueError(msg)
        elif name == "random_state":
            content[name] = int(value) if isinstance(value, int | np.integer) else None
        elif name in _LISTS and value is not None and np.ndim(value):
            content[name] = [plain_scalar(entry) for entry in value]
        elif isinstance(value, Mapping):
            content[name] = [
                [plain_scalar(key), plain_scalar(entry)] for key, entry in value.items()
            ]
        elif name == "kinds" and value is not None:
            content[name] = [str(kind) for kind in value]
        else:
            content[name] = plain_scalar(value)
    return content, arrays


def _parameters_from_plain(
    kind: str, entries: Entries, n_classes: int, n_features: int
) -> dict[str, Any]:
    """Return parameters that the estimator accepts."""
    names = _PARAMETERS | _OPTIONAL[kind]
    result: dict[str, Any] = {
        name: entries.value(name) for name in names - {"always_keep", "random_state"}
    }
    result["always_keep"] = always_keep_from_plain(entries)
    if "random_state" in names:
        result["random_state"] = seed_from_plain(entries)
    entries.finish()
    for name in ("n_features_to_select", "kinds"):
        value = result.get(name)
        if isinstance(value, list) and value and all(_is_pair(entry) for entry in value):
            result[name] = dict(value)
    try:
        _check_parameters(kind, result, n_classes, n_features)
    except (ArithmeticError, TypeError, ValueError, AttributeError, KeyError) as error:
        entries.refuse("values", f"are not accepted: {str(error)[:200].rstrip('.')}")
    if isinstance(result.get("alpha_prior"), list):
        result["alpha_prior"] = tuple(result["alpha_prior"])
    return result


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str | int)


def _check_parameters(kind: str, given: Mapping[str, Any], n_classes: int, n_features: int) -> None:
    """Apply the constructor's own checks; those of sizes without a mask of all features."""
    number = given["n_features_to_select"]
    numbers = list(number.values()) if isinstance(number, dict) else [number]
    # The mixed model keeps all features of a kind that has fewer.
    most = MOST_FEATURES if kind == "SelectiveMixedNB" else n_features
    for value in numbers:
        if type(value) in (int, float) and not (0 <= value <= most and value == int(value)):
            msg = f"n_features_to_select is {quoted(value)}"
            raise ValueError(msg)
    if given["recalibrate"] not in (None, "slope"):
        msg = f"recalibrate is {quoted(given['recalibrate'])}"
        raise ValueError(msg)
    words = {"feature_prior": "auto", "alpha_prior": (0.5, 5.0), "tol": 1e-9, **given}
    none = np.zeros(0, dtype=bool)
    for value in numbers:
        plain = None if type(value) in (int, float) else value
        settings = categorical_settings if kind == "SelectiveCategoricalNB" else gaussian_settings
        settings({**words, "n_features_to_select": plain}, none)
    check_prevalences(given["class_prior"], n_classes)
    weights = np.asarray(given["class_pseudocounts"], dtype=float)
    if weights.shape not in ((), (n_classes,)) or not np.all((weights > 0) & np.isfinite(weights)):
        msg = "class_pseudocounts are not positive"
        raise ValueError(msg)
    kinds: Any = given.get("kinds")
    named = list(kinds.values()) if isinstance(kinds, dict) else list(kinds or ())
    if not all(name in KINDS for name in named):
        msg = "kinds hold an unknown one"
        raise ValueError(msg)
