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
from honestbayes.models.shared_file import (
    SLOPES,
    classes_from_plain,
    classes_to_plain,
    number_choice_from_plain,
    number_choice_to_plain,
    selection_from_plain,
    selection_to_plain,
)
from honestbayes.screening import Binarization
from honestbayes.screening.record import correlation
from honestbayes.selection import Selection
from honestbayes.storage import ModelFileError, write_archive
from honestbayes.storage.entries import Entries, Plain, joined, texts_as_arrays
from honestbayes.types import AnyArray

KIND = "SelectiveBernoulliNB"

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
    content: dict[str, Any] = {
        "classes": classes_to_plain(model.classes),
        "feature_prior": model.feature_prior,
        "correction": model.correction,
        "slope": float(model.slope),
        "kept_columns_only": model.kept_columns_only,
        "has_feature_names": model.feature_names is not None,
        "has_number_choice": model.number_choice is not None,
    }
    arrays: dict[str, AnyArray] = {}
    if model.feature_names is not None:
        arrays |= texts_as_arrays("feature_names", model.feature_names)
    sections = {
        "parameters": parameters_to_plain(model.parameters),
        "selection": selection_to_plain(model.fit.selection),
    }
    if model.number_choice is not None:
        sections["number_choice"] = number_choice_to_plain(model.number_choice)
    return joined((content, arrays), fit_to_plain(model.fit), **sections)


def fit_to_plain(fit: BernoulliFit) -> Plain:
    """Return the fitted model without its selection."""
    content: dict[str, Any] = {
        "log_prior_odds": float(fit.log_prior_odds),
        "has_by_design": fit.by_design is not None,
    }
    arrays: dict[str, AnyArray] = {
        "cut": fit.binarization.cut,
        "high": fit.binarization.high,
        "correlation": fit.correlation,
    }
    sections = {"race": block_to_plain(fit.race)}
    if fit.by_design is not None:
        sections["by_design"] = block_to_plain(fit.by_design)
    return joined((content, arrays), **sections)


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
    classes = classes_from_plain(entries.section("classes"), 2)
    selection = selection_from_plain(entries.section("selection"))
    entries.check(len(selection.class_counts) == 2, "class_counts", "are not those of two classes")
    parameters = parameters_from_plain(entries.section("parameters"), selection.n_features_in)
    feature_prior = entries.one_of("feature_prior", ("learned", "uniform"))
    fit = fit_from_plain(entries, selection, learned=feature_prior == "learned")
    corrections = ("counts", None) if feature_prior == "learned" else ("counts", "selection", None)
    names = entries.texts("feature_names") if entries.flag("has_feature_names") else None
    choice = None
    if entries.flag("has_number_choice"):
        choice = number_choice_from_plain(entries.section("number_choice"))
    model = BernoulliModel(
        parameters,
        fit,
        classes,
        feature_prior,
        entries.one_of("correction", corrections),
        entries.number("slope", *SLOPES),
        choice,
        entries.flag("kept_columns_only"),
        names,
    )
    entries.finish()
    _check_names(model, entries)
    return model


# ------------------------------------------------------------------------------------- fit


def fit_from_plain(entries: Entries, selection: Selection, *, learned: bool) -> BernoulliFit:
    """Return the fitted model that `fit_to_plain` described."""
    k, by_design = len(selection.kept), len(selection.always_kept)
    race: CommonAlphaFit | LearnedFit
    section = entries.section("race")
    if learned:
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
