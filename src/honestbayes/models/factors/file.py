"""Draws of factor models as plain data, and back; what cannot be draws is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.models.factors.estimator import FactorChoice
from honestbayes.models.factors.fit import FactorDraws, Standard
from honestbayes.models.factors.part import FactorPart
from honestbayes.models.real import file as gaussian_file
from honestbayes.sampling.draws import Draws
from honestbayes.selection import Selection
from honestbayes.types import AnyArray, FloatArray

_ARRAYS = ("location", "spread", "loadings", "variance", "signal_ratio")
_NUMBERS = (
    "log_noise",
    "log_shift_ratio",
    "log_loading_ratio",
    "log_scale",
    "alignment",
    "log_density",
    "accepted",
)
_OF_RESPONSE = "log_response_ratio"
"""What chains draw for a response only."""

_FARTHEST = 1e100
_VARIANCES = (1e-300, 1e300)
_MOST_FACTORS = 10**6

_MOST_SHARED = 1e14
"""Variance by factors in units of noise, of all columns. Beyond it numbers have too few digits."""


def part_to_plain(part: FactorPart) -> Plain:
    """Return fitted features without their selection."""
    return joined(
        gaussian_file.fit_to_plain(part.fit),
        draws_to_plain(part.n_factors, part.choice, part.drawn),
    )


def part_from_plain(entries: Entries, selection: Selection, classes: AnyArray) -> FactorPart:
    """Return the fitted features that `part_to_plain` described."""
    fit = gaussian_file.fit_from_plain(entries, selection, classes)
    n_factors, choice, drawn = draws_from_plain(entries, classes.size, len(selection.columns))
    return FactorPart(fit, n_factors, drawn, choice)


def draws_to_plain(n_factors: int, choice: FactorChoice | None, drawn: FactorDraws | None) -> Plain:
    """Return the number of factors, how it was chosen, and the draws, if there are any."""
    content = {"n_factors": int(n_factors), "has_factor_choice": choice is not None}
    sections: dict[str, Plain] = {}
    if choice is not None:
        tried = {"n_factors": choice.n_factors, "log_score": choice.log_score}
        sections["factor_choice"] = {"chosen": int(choice.chosen)}, tried
    if drawn is not None:
        names = [name for name in (*_ARRAYS, *_NUMBERS, _OF_RESPONSE) if name in drawn.draws.values]
        arrays = {name: np.asarray(drawn.draws[name]) for name in names}
        units = {"centre": drawn.standard.centre, "unit": drawn.standard.unit}
        sections["draws"] = {}, arrays | units
    return joined((content, {}), **sections)


def draws_from_plain(
    entries: Entries, n_classes: int, width: int, *, of_response: bool = False
) -> tuple[int, FactorChoice | None, Any]:
    """Return what `draws_to_plain` described.

    Parameters
    ----------
    entries : Entries
        Of the fitted model.
    n_classes, width : int
        Classes, and columns; without columns there are no draws.
    of_response : bool, default=False
        Whether the first column is a response.
    """
    n_factors = entries.value("n_factors")
    good = type(n_factors) is int and 0 <= n_factors <= _MOST_FACTORS
    entries.check(good, "n_factors", "is not a number of factors")
    choice = None
    if entries.flag("has_factor_choice"):
        choice = _choice_from_plain(entries.section("factor_choice"), n_factors)
    drawn = None
    if width:
        numbers = (*_NUMBERS, _OF_RESPONSE) if of_response else _NUMBERS
        drawn = _drawn_from_plain(entries.section("draws"), n_classes, width, n_factors, numbers)
    return n_factors, choice, drawn


def _choice_from_plain(entries: Entries, n_factors: int) -> FactorChoice:
    tried = entries.counts("n_factors", (None,))
    log_score = entries.finite("log_score", tried.shape)
    chosen = entries.value("chosen")
    good = type(chosen) is int and chosen == n_factors and chosen in tried.tolist()
    entries.check(good, "chosen", "is not the number of factors, or was not tried")
    entries.finish()
    return FactorChoice(tried, log_score, chosen)


def _drawn_from_plain(
    entries: Entries, n_classes: int, width: int, n_factors: int, numbers: tuple[str, ...]
) -> FactorDraws:
    each = (n_classes, width)
    location = entries.finite("location", (None, None, *each), -_FARTHEST, _FARTHEST)
    shape = location.shape[:2]
    entries.check(min(shape) >= 1, "location", "holds no draws")
    spread = entries.finite("spread", (*shape, *each), *_VARIANCES)
    loadings = entries.finite("loadings", (*shape, width, n_factors), -_FARTHEST, _FARTHEST)
    entries.check(
        _shared(loadings, spread) <= _MOST_SHARED, "loadings", "leave next to no noise in a column"
    )
    values = {
        "location": location,
        "spread": spread,
        "loadings": loadings,
        "variance": entries.finite("variance", (*shape, width), *_VARIANCES),
        "signal_ratio": entries.finite("signal_ratio", (*shape, width), 0.0, 1e6),
    }
    for name in numbers:
        values[name] = entries.finite(name, shape, -_FARTHEST, _FARTHEST)
    unit = entries.finite("unit", (width,), 0.0)
    entries.check(np.all(unit > 0), "unit", "is not positive")
    standard = Standard(entries.finite("centre", (width,)), unit)
    entries.finish()
    return FactorDraws(standard, Draws(values, shape[0]), interrupted=False)


def _shared(loadings: FloatArray, spread: FloatArray) -> float:
    """Return the largest sum over columns of squared loadings in units of the noise."""
    with np.errstate(over="ignore"):
        square = np.sum(loadings**2, axis=3)[:, :, None]
        return float(np.max(np.sum(square / spread, axis=3)))
