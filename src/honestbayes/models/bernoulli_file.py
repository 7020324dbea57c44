"""A fitted `SelectiveBernoulliNB` as plain data, and back.

Reading distrusts: every number is checked for what it means, because a file with valid checksums
can still come from anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from honestbayes.models.bernoulli_core import BernoulliFit
from honestbayes.models.block_file import (
    block_to_plain,
    common_alpha_from_plain,
    kept_counts,
    learned_from_plain,
)
from honestbayes.models.common_alpha import CommonAlphaFit
from honestbayes.models.learned import LearnedFit
from honestbayes.models.number import NumberChoice
from honestbayes.models.parameters_file import parameters_from_plain, parameters_to_plain
from honestbayes.screening import Binarization
from honestbayes.screening.record import correlation
from honestbayes.selection import Selection
from honestbayes.storage import ModelFileError, write_archive
from honestbayes.storage.entries import Entries, Plain, nested, texts_as_arrays
from honestbayes.types import AnyArray

KIND = "SelectiveBernoulliNB"

MOST_CASES = 10**10
MOST_FEATURES = 10**12
"""Sizes beyond any data, so that no work after loading is without bound."""

_SLOPES = (1e-6, 1e6)
"""Far beyond any slope that can be learnt (exp(-8) to exp(4))."""

_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class BernoulliModel:
    """All that a fitted `SelectiveBernoulliNB` is.

    Attributes
    ----------
    parameters : mapping
        The constructor's.
    fit : BernoulliFit
        The fitted model.
    classes : ndarray of shape (2,)
        Class labels.
    feature_prior, correction : str or None
        What "auto" became.
    slope : float
        The factor on the evidence.
    number_choice : NumberChoice or None
        The numbers of features that were tried.
    kept_columns_only : bool
        Whether the model was given the kept columns alone.
    feature_names : tuple of str or None
        Names of the columns that it takes.
    """

    parameters: Mapping[str, Any]
    fit: BernoulliFit
    classes: AnyArray
    feature_prior: str
    correction: str | None
    slope: float
    number_choice: NumberChoice | None
    kept_columns_only: bool
    feature_names: tuple[str, ...] | None

    @property
    def n_features_in(self) -> int:
        """Number of columns that the model takes."""
        selection = self.fit.selection
        return len(selection.columns) if self.kept_columns_only else selection.n_features_in


def model_to_plain(model: BernoulliModel) -> Plain:
    """Return the model as content for JSON and named arrays."""
    fit = model.fit
    content: dict[str, Any] = {
        "classes": _classes_to_plain(model.classes),
        "feature_prior": model.feature_prior,
        "correction": model.correction,
        "slope": float(model.slope),
        "log_prior_odds": float(fit.log_prior_odds),
        "kept_columns_only": model.kept_columns_only,
        "has_feature_names": model.feature_names is not None,
        "has_number_choice": model.number_choice is not None,
        "has_by_design": fit.by_design is not None,
    }
    arrays: dict[str, AnyArray] = {
        "cut": fit.binarization.cut,
        "high": fit.binarization.high,
        "correlation": fit.correlation,
    }
    if model.feature_names is not None:
        arrays |= texts_as_arrays("feature_names", model.feature_names)
    sections = {
        "parameters": parameters_to_plain(model.parameters),
        "selection": _selection_to_plain(fit.selection),
        "race": block_to_plain(fit.race),
    }
    if fit.by_design is not None:
        sections["by_design"] = block_to_plain(fit.by_design)
    if model.number_choice is not None:
        sections["number_choice"] = _number_choice_to_plain(model.number_choice)
    for name, plain in sections.items():
        section_content, section_arrays = nested(name, plain)
        content |= section_content
        arrays |= section_arrays
    return content, arrays


def save_model(model: BernoulliModel, path: str | PathLike[str]) -> None:
    """Write the model to a file, unless it could not be read again."""
    content, arrays = model_to_plain(model)
    try:
        model_from_plain(content, arrays)
    except ModelFileError as error:
        msg = f"the model cannot be saved: {error}."
        raise ValueError(msg) from None
    write_archive(path, KIND, content, arrays)


def model_from_plain(content: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> BernoulliModel:
    """Return the model that `model_to_plain` described; refuse anything else.

    Raises
    ------
    ModelFileError
        Without the name of the file.
    """
    entries = Entries(content, arrays)
    classes = _classes_from_plain(entries.section("classes"))
    selection = _selection_from_plain(entries.section("selection"))
    parameters = parameters_from_plain(entries.section("parameters"), selection.n_features_in)
    fit = _fit_from_plain(entries, selection)
    feature_prior = "learned" if isinstance(fit.race, LearnedFit) else "uniform"
    corrections = ("counts", None) if feature_prior == "learned" else ("counts", "selection", None)
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    choice = None
    if entries.flag("has_number_choice"):
        choice = _number_choice_from_plain(entries.section("number_choice"))
    model = BernoulliModel(
        parameters,
        fit,
        classes,
        feature_prior,
        entries.one_of("correction", corrections),
        entries.number("slope", *_SLOPES),
        choice,
        entries.flag("kept_columns_only"),
        names,
    )
    entries.finish()
    _check_names(model, entries)
    return model


# ------------------------------------------------------------------------------------- fit


def _fit_from_plain(entries: Entries, selection: Selection) -> BernoulliFit:
    k, by_design = len(selection.kept), len(selection.always_kept)
    race: CommonAlphaFit | LearnedFit
    section = entries.section("race")
    if entries.one_of("feature_prior", ("learned", "uniform")) == "learned":
        race = learned_from_plain(section, k, selection.class_counts)
    else:
        race = common_alpha_from_plain(section, k, selection.class_counts)
    always = None
    if entries.flag("has_by_design"):
        always = common_alpha_from_plain(
            entries.section("by_design"), by_design, selection.class_counts
        )
    entries.check((always is None) == (by_design == 0), "by_design", "does not fit the selection")
    fit = BernoulliFit(
        selection,
        race,
        always,
        entries.number("log_prior_odds", -2000.0, 2000.0),
        _binarization_from_plain(entries, k + by_design),
        entries.finite("correlation", (k + by_design,), -1 - _CLOSE, 1 + _CLOSE),
    )
    _check_correlation(fit, entries)
    others = sum(race.block.others.tolist())
    entries.check(others <= selection.n_discarded, "race.counts.others", "are more than discarded")
    return fit


def _binarization_from_plain(entries: Entries, n_columns: int) -> Binarization:
    cut = entries.finite("cut", (n_columns,))
    high = entries.floats("high", (n_columns,))
    # NaN says that the column had more than two values.
    good = np.isnan(high) | (np.isfinite(high) & (high > cut))
    entries.check(np.all(good), "high", "is not above the cut")
    return Binarization(cut, high)


def _check_correlation(fit: BernoulliFit, entries: Entries) -> None:
    """Refuse correlations that do not come from the counts, or are too weak to have been kept."""
    counts = [kept_counts(block.block) for block in fit.blocks]
    ones, observed = (np.concatenate(part, axis=1) for part in zip(*counts, strict=True))
    found = correlation(ones, observed)
    entries.check(
        np.allclose(fit.correlation, found, rtol=0, atol=_CLOSE),
        "correlation",
        "is not that of the counts",
    )
    kept = np.square(found[: len(fit.selection.kept)])
    entries.check(
        np.all(kept >= float(fit.selection.gamma_squared) - _CLOSE),
        "correlation",
        "is weaker than the bound of the selection",
    )


# ------------------------------------------------------------------------------- selection

_NAMES = ("kept_names", "always_kept_names")


def _selection_to_plain(selection: Selection) -> Plain:
    """Return `Selection.to_dict`, with what grows with the number of features in arrays."""
    content = selection.to_dict()
    for name in ("n_features_in", "n_tied_kept"):
        content[name] = int(content[name])
    for name in ("gamma_squared", "class_counts"):
        content[name] = [int(value) for value in content[name]]
    arrays: dict[str, AnyArray] = {
        "kept": np.array(content.pop("kept"), dtype=np.int64),
        "always_kept": np.array(content.pop("always_kept"), dtype=np.int64),
        "groups": np.array(content.pop("groups"), dtype=np.int64).reshape(-1, 4),
    }
    for name in _NAMES:
        names = content.pop(name)
        content[f"has_{name}"] = names is not None
        if names is not None:
            arrays |= texts_as_arrays(name, names)
    return content, arrays


def _selection_from_plain(entries: Entries) -> Selection:
    data: dict[str, Any] = {
        "kept": entries.counts("kept", (None,)).tolist(),
        "always_kept": entries.counts("always_kept", (None,)).tolist(),
        "groups": entries.counts("groups", (None, 4)).tolist(),
    }
    for name in _NAMES:
        data[name] = list(entries.texts(name)) if entries.flag(f"has_{name}") else None
    for name in ("rule", "gamma_squared", "class_counts", "n_features_in", "n_tied_kept"):
        data[name] = entries.value(name)
    data["ties_known"] = entries.flag("ties_known")
    entries.finish()
    try:
        selection = Selection.from_dict(data)
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)[:200].rstrip(".")) from None
    entries.check(sum(selection.class_counts) <= MOST_CASES, "class_counts", "is too large")
    entries.check(selection.n_features_in <= MOST_FEATURES, "n_features_in", "is too large")
    all_named = selection.kept_names is None or selection.always_kept_names is not None
    entries.check(
        all_named or not selection.always_kept, "always_kept_names", "is missing beside kept_names"
    )
    return selection


# ------------------------------------------------------------------------- names and labels


def _check_names(model: BernoulliModel, entries: Entries) -> None:
    names, selection = model.feature_names, model.fit.selection
    if names is None:
        return
    entries.check(len(names) == model.n_features_in, "feature_names", "does not name every column")
    if selection.kept_names is not None:
        expected = selection.kept_names + (selection.always_kept_names or ())
        if not model.kept_columns_only:
            names = tuple(names[column] for column in selection.columns)
        entries.check(names == expected, "feature_names", "differs from the selection's")


_LABELS: dict[str, type] = {"U": str, "O": str, "i": int, "u": int, "f": float, "b": bool}


def _classes_to_plain(classes: AnyArray) -> dict[str, Any]:
    """Return class labels with their type; the two labels stand in JSON."""
    kind = classes.dtype.kind
    labels = classes.tolist()
    if kind not in _LABELS or not all(isinstance(label, _LABELS[kind]) for label in labels):
        msg = f"class labels of type {classes.dtype} cannot be saved; use texts or numbers."
        raise ValueError(msg)
    return {"kind": kind, "bytes": None if kind in "UO" else classes.itemsize, "labels": labels}


def _classes_from_plain(entries: Entries) -> AnyArray:
    kind = entries.one_of("kind", _LABELS)
    size, labels = entries.value("bytes"), entries.value("labels")
    entries.finish()
    good = isinstance(labels, list) and len(labels) == 2
    if not good or not all(type(label) is _LABELS[kind] for label in labels):
        entries.refuse("labels", "is not a pair of labels")
    if kind == "O":
        classes: AnyArray = np.array(labels, dtype=object)
    elif kind == "U":
        classes = np.array(labels, dtype=np.str_)
    else:
        sizes = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "b": (1,)}[kind]
        if type(size) is not int or size not in sizes:
            entries.refuse("bytes", "is not the size of a number")
        try:
            with np.errstate(over="ignore"):
                classes = np.array(labels, dtype=np.dtype(f"{kind}{size}"))
        except (OverflowError, ValueError):
            entries.refuse("labels", "does not fit its type")
    if classes.tolist() != labels or classes[0] == classes[1]:
        entries.refuse("labels", "is not a pair of different labels")
    return classes


# --------------------------------------------------------------------- number of features


def _number_choice_to_plain(choice: NumberChoice) -> Plain:
    arrays = {"n_features": choice.n_features, "log_score": choice.log_score}
    return {"chosen": int(choice.chosen)}, arrays


def _number_choice_from_plain(entries: Entries) -> NumberChoice:
    tried = entries.counts("n_features", (None,))
    log_score = entries.floats("log_score", tried.shape)
    entries.check(not np.isinf(log_score).any(), "log_score", "is infinite")
    chosen = entries.value("chosen")
    if type(chosen) is not int or chosen not in tried.tolist():
        entries.refuse("chosen", "is not one of the numbers that were tried")
    entries.finish()
    return NumberChoice(tried, log_score, chosen)
