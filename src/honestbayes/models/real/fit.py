"""From the moments of a screening to a fitted Gaussian model."""

from __future__ import annotations

import numpy as np

from honestbayes.correction.engine import log_prob_selection
from honestbayes.correction.event import HyperNodes, event_of
from honestbayes.correction.f_statistic import log_prob_all_discarded
from honestbayes.correction.feature_models import RealFeatures
from honestbayes.likelihood.normal import (
    OWN_VARIANCE,
    heavy_tailed,
    learn_ratios,
    log_marginal,
    ratio_grid,
)
from honestbayes.models.real.blocks import GaussianFit, RatioPosterior, Standard, assemble
from honestbayes.models.real.settings import GaussianSettings
from honestbayes.models.shared.numeric import select_by_r_squared
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.selection.correlation import race_by_rank
from honestbayes.threads import one_blas_thread
from honestbayes.types import FloatArray

N_SCALES = 24
"""Nodes of the scale of the heavy-tailed prior, whose prior is even in its logarithm."""

SMALLEST_SCALE = 9.0
"""How far the scale goes below the smallest ratio, in logarithms: no features at all need be
strong."""


def fit_moments(
    moments: Moments,
    settings: GaussianSettings,
    strength: FloatArray | None = None,
    random_state: np.random.RandomState | None = None,
    posterior: RatioPosterior | None = None,
) -> GaussianFit:
    """Select, correct and fit from moments.

    Parameters
    ----------
    moments : Moments
        Of all features.
    settings : GaussianSettings
        Choices of the user.
    strength : ndarray of shape (p,), optional
        Strengths of all features by the user's criterion.
    random_state : RandomState, optional
        Breaks ties.
    posterior : RatioPosterior, optional
        How ratios are distributed over the features of the race, where that is known already.
    """
    if settings.criterion is None or strength is None:
        selection = select_by_r_squared(moments, settings, random_state)
    else:
        selection = race_by_rank(
            strength,
            settings.criterion.name,
            n_features=settings.n_features,
            always_keep=settings.always_keep,
            varies=moments.varies(),
            random_state=random_state,
        ).selection(moments.class_counts, moments.observed, moments.feature_names, n_levels=0)
    return fit_kept(moments, selection, settings, posterior)


@one_blas_thread()
def fit_kept(
    moments: Moments,
    selection: Selection,
    settings: GaussianSettings,
    posterior: RatioPosterior | None = None,
) -> GaussianFit:
    """Correct and fit what was selected; parameters are those of `fit_moments`."""
    own, centre, unit = moments.standardised()
    columns = np.array(selection.columns, dtype=np.int64)
    kept = own.take(columns)
    n_race = len(selection.kept)
    posterior = posterior or learned_from_all(moments, settings)
    if posterior is None:
        ranked = _ranked_features(moments, settings)
        posterior = _ratio_posterior(ranked, selection, settings, kept.take(np.arange(n_race)))
    by_design = None
    if selection.always_kept:
        always = kept.take(np.arange(n_race, columns.size))
        by_design = _heavy_tailed(always, posterior.ratio)
    standard = Standard(centre[columns], unit[columns])
    return assemble(selection, OWN_VARIANCE, kept, standard, posterior, by_design)


def _log_marginal(ratio: FloatArray, moments: Moments) -> FloatArray:
    return log_marginal(ratio, moments.observed, moments.mean, moments.within, OWN_VARIANCE)


@one_blas_thread()
def learned_from_all(moments: Moments, settings: GaussianSettings) -> RatioPosterior | None:
    """Learn the distribution of ratios from all features of the race, however many are kept.

    None where it depends on which are kept.
    """
    if settings.feature_prior != "learned" or settings.correction != "counts":
        return None
    ranked = _ranked_features(moments, settings)
    ratio = ratio_grid(int(ranked.observed.sum(axis=0).max(initial=2)))
    ratio, weights = learn_ratios(lambda w: _log_marginal(w, ranked), ratio)
    return RatioPosterior(ratio, np.ones(1), weights[None], np.zeros(1))


def _ranked_features(moments: Moments, settings: GaussianSettings) -> Moments:
    """Return the standardised moments of all features that are ranked: those that vary."""
    ranked = moments
    if settings.always_keep.any():
        ranked = moments.take(np.flatnonzero(~settings.always_keep))
    return ranked.varying().standardised()[0]


def _ratio_posterior(
    moments: Moments, selection: Selection, settings: GaussianSettings, kept: Moments
) -> RatioPosterior:
    """Learn the distribution of ratios, or weigh the scales of the heavy-tailed one.

    Parameters
    ----------
    moments : Moments
        Of all features that are ranked.
    selection, settings
        As in `fit_kept`.
    kept : Moments
        Of those that were kept.
    """
    ratio = ratio_grid(int(moments.observed.sum(axis=0).max(initial=2)))
    used = kept
    if settings.correction == "counts":
        used = moments
    if settings.feature_prior == "learned":
        ratio, weights = learn_ratios(lambda w: _log_marginal(w, used), ratio)
        return RatioPosterior(ratio, np.ones(1), weights[None], np.zeros(1))
    if settings.correction == "selection":
        return _heavy_tailed(used, ratio, selection, settings)
    return _heavy_tailed(used, ratio)


def _heavy_tailed(
    used: Moments,
    ratio: FloatArray,
    selection: Selection | None = None,
    settings: GaussianSettings | None = None,
) -> RatioPosterior:
    """Weigh the scales of heavy-tailed ratios by features, and by the event of their selection.

    Parameters
    ----------
    used : Moments
        Of the features that tell the scale.
    ratio : ndarray of shape (A,)
        The grid.
    selection, settings : optional
        Given where the event is conditioned on that others were discarded.
    """
    scales = np.exp(np.linspace(np.log(ratio[1]) - SMALLEST_SCALE, 0.0, N_SCALES))
    weights = np.stack([heavy_tailed(ratio, float(scale)) for scale in scales])
    table = _log_marginal(ratio, used)
    log_weight = np.log(weights @ np.exp(table - table.max(axis=0))).sum(axis=1)
    log_selection = np.zeros(N_SCALES)
    if selection is not None and settings is not None and settings.criterion is not None:
        assert selection.strength_bound is not None
        log_selection = log_prob_selection(
            RealFeatures(),
            settings.criterion,
            event_of(selection, selection.strength_bound),
            HyperNodes(ratio, weights, log_weight),
        ).log_prob
    elif selection is not None:
        gamma_squared = float(selection.gamma_squared)
        log_selection = log_prob_all_discarded(
            selection.groups, lambda _: gamma_squared, ratio, weights
        )
    log_weight = log_weight + log_selection
    scale_weights = np.exp(log_weight - log_weight.max())
    return RatioPosterior(ratio, scale_weights / scale_weights.sum(), weights, log_selection)
