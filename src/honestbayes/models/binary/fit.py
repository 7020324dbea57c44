"""From the counts of a screening to a fitted model: everything that the estimator decides.

The fit depends on the data only through the screening, so it serves tables of any kind, and
leave-one-out costs no more than new counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from honestbayes.files.fields import CLOSE, Floats, Known, Number
from honestbayes.files.records import GIVEN, INLINE, Check, MaybeSection, OneOf
from honestbayes.likelihood.counts import distinct_counts
from honestbayes.likelihood.learned_prior import LearnedPrior, learn_prior
from honestbayes.models.binary.common_alpha import (
    CommonAlphaFit,
    feature_block,
    fit_common_alpha,
)
from honestbayes.models.binary.learned import LearnedFit, fit_learned
from honestbayes.models.binary.settings import BernoulliSettings
from honestbayes.screening import Screening
from honestbayes.screening.counts import correlation
from honestbayes.selection import Selection, select
from honestbayes.sources import Binarization
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

_N_PROBES = 16


def _of_race(known: Known) -> Known:
    """Return how many features won the race."""
    return {"n_kept": len(known["selection"].kept)}


def _by_design(known: Known) -> Known:
    """Return how many features were kept by design."""
    return {"n_kept": len(known["selection"].always_kept)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliFit:
    """A fitted model: the race's block and the block of features kept by design.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    race, by_design : CommonAlphaFit or LearnedFit, or None
        The fitted blocks; None for one without features.
    log_prior_odds : float
        Log of P(class 1) / P(class 0) before features are seen (equation 17).
    binarization : Binarization
        How values of the kept columns become 0/1.
    correlation : ndarray of shape (k,)
        Training correlation of each kept column with the class.
    """

    selection: Annotated[Selection, GIVEN]
    race: Annotated[
        CommonAlphaFit | LearnedFit,
        OneOf(
            by="learned",
            kinds={True: LearnedFit, False: CommonAlphaFit},
            sizes=_of_race,
        ),
    ]
    by_design: Annotated[
        CommonAlphaFit | None,
        MaybeSection(
            kind=CommonAlphaFit,
            sizes=_by_design,
        ),
    ]
    log_prior_odds: Annotated[float, Number(-2000.0, 2000.0)]
    binarization: Annotated[Binarization, INLINE]
    correlation: Annotated[FloatArray, Floats("n_columns", low=-1 - CLOSE, high=1 + CLOSE)]

    def check(self, check: Check) -> None:
        """Refuse blocks and correlations that do not fit the selection and the counts."""
        selection = self.selection
        fits = (self.by_design is None) == (not selection.always_kept)
        check(fits, "by_design", "does not fit the selection")
        counts = [block.block.kept_counts() for block in self.blocks]
        found = correlation(*(np.concatenate(part, axis=1) for part in zip(*counts, strict=True)))
        same = np.allclose(self.correlation, found, rtol=0, atol=CLOSE)
        check(same, "correlation", "is not that of the counts")
        weakest = np.square(found[: len(selection.kept)]).min(initial=1.0)
        strong = weakest >= float(selection.gamma_squared) - CLOSE
        check(strong, "correlation", "is weaker than the bound of the selection")
        others = sum(self.race.block.others.tolist())
        check(others <= selection.n_discarded, "race.counts.others", "are more than discarded")

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen, less that of class 0."""
        return np.array([0.0, self.log_prior_odds])

    @property
    def blocks(self) -> list[CommonAlphaFit | LearnedFit]:
        """The fitted blocks, in the order of ``selection.columns``."""
        return [self.race] if self.by_design is None else [self.race, self.by_design]

    def column_slices(self) -> list[slice]:
        """Positions of each block's columns among the kept ones."""
        k = len(self.selection.kept)
        return [slice(0, k), slice(k, k + len(self.selection.always_kept))][: len(self.blocks)]

    def evidence(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Log of P(x | class 1) / P(x | class 0) for 0/1 data of shape (n, k)."""
        total = np.zeros(ones.shape[0])
        for block, columns in zip(self.blocks, self.column_slices(), strict=True):
            part = None if missing is None else missing[:, columns]
            log_likelihood = block.table.log_likelihood(ones[:, columns], part)
            total += log_likelihood[:, 1] - log_likelihood[:, 0]
        return total


def fit_screening(
    screening: Screening,
    settings: BernoulliSettings,
    random_state: np.random.RandomState | None,
    learned: LearnedPrior | None = None,
) -> BernoulliFit:
    """Select, correct and fit from counts; ``learned`` replaces learning the prior anew."""
    selection = select(
        screening,
        n_features=settings.n_features,
        threshold=settings.threshold,
        always_keep=settings.always_keep,
        random_state=random_state,
    )
    return fit_selection(screening, selection, settings, learned)


def fit_selection(
    screening: Screening,
    selection: Selection,
    settings: BernoulliSettings,
    learned: LearnedPrior | None = None,
) -> BernoulliFit:
    """Fit the kept features given the counts of all that are known."""
    ones, observed = screening.ones, screening.observed
    kept = np.array(selection.kept, dtype=np.int64)
    always = np.array(selection.always_kept, dtype=np.int64)
    columns = np.concatenate([kept, always])
    race: CommonAlphaFit | LearnedFit
    if settings.feature_prior == "learned":
        if learned is None:
            source = kept if settings.correction is None else _racing(selection)
            learned = learn_prior(
                distinct_counts(ones[:, source], _columns(observed, source)),
                settings.model.alpha_prior,
                settings.model.theta_interval,
            )
        race = fit_learned(feature_block(ones, observed, kept), learned)
    else:
        others = None
        if settings.correction == "counts":
            others = np.setdiff1d(_racing(selection), kept, assume_unique=True)
        event = selection if settings.correction == "selection" else None
        race = fit_common_alpha(
            feature_block(
                ones,
                observed,
                kept,
                others,
                symmetric=sum(settings.model.theta_interval) == 1.0,
            ),
            event,
            settings.model,
            _probes(ones[:, kept], _columns(observed, kept)),
        )
    by_design = None
    if always.size:
        by_design = fit_common_alpha(
            feature_block(ones, observed, always),
            None,
            settings.model,
            _probes(ones[:, always], _columns(observed, always)),
        )
    return BernoulliFit(
        selection=selection,
        race=race,
        by_design=by_design,
        log_prior_odds=_log_prior_odds(selection.class_counts, settings.class_pseudocounts),
        binarization=screening.binarization.take(columns),
        correlation=screening.correlation()[columns],
    )


def _log_prior_odds(counts: tuple[int, ...], pseudocounts: tuple[float, float]) -> float:
    """Posterior mean of the class probabilities (equation 17), as log-odds."""
    return float(np.log(counts[1] + pseudocounts[1]) - np.log(counts[0] + pseudocounts[0]))


def _racing(selection: Selection) -> IntArray:
    mask = np.ones(selection.n_features_in, dtype=bool)
    mask[list(selection.always_kept)] = False
    return np.flatnonzero(mask)


def _columns(observed: IntArray, columns: IntArray) -> IntArray:
    return observed if observed.shape[1] == 1 else observed[:, columns]


def _probes(ones: IntArray, observed: IntArray) -> AnyArray:
    """Make up cases whose log-odds decide when quadrature is fine enough.

    They look like training cases, half of each class, but are made from counts of shape (2, k),
    so that the fit does not depend on the rows.
    """
    frequency = (ones + 0.5) / (observed + 1.0)
    generator = np.random.default_rng(0)
    uniform = generator.random((_N_PROBES, ones.shape[1]))
    return (uniform < frequency[np.arange(_N_PROBES) % 2]).astype(np.uint8)
