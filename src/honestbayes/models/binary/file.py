"""Fitted binary features as plain data, and back; what cannot be a fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.models.binary.block_file import (
    block_to_plain,
    common_alpha_from_plain,
    kept_counts,
    learned_from_plain,
)
from honestbayes.models.binary.common_alpha import CommonAlphaFit
from honestbayes.models.binary.fit import BernoulliFit
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.screening.counts import correlation
from honestbayes.selection import Selection
from honestbayes.sources import Binarization
from honestbayes.types import AnyArray

_CLOSE = 1e-9


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
        binarization_from_plain(entries, k + by_design),
        entries.finite("correlation", (k + by_design,), -1 - _CLOSE, 1 + _CLOSE),
    )
    _check_correlation(fit, entries)
    others = sum(race.block.others.tolist())
    entries.check(others <= selection.n_discarded, "race.counts.others", "are more than discarded")
    return fit


def binarization_from_plain(entries: Entries, n_columns: int) -> Binarization:
    """Return how values of so many kept columns become 0/1."""
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
