"""From the moments of a screening to a fitted Gaussian model."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from scipy.special import gammaln, logsumexp

from honestbayes.correction.engine import log_prob_selection
from honestbayes.correction.event import HyperNodes, event_of
from honestbayes.correction.f_statistic import log_prob_all_discarded
from honestbayes.correction.feature_models import RealFeatures
from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Floats, Known, Logs, Weights
from honestbayes.files.records import Check, record_from_plain, record_to_plain
from honestbayes.likelihood.normal import (
    VariancePrior,
    fit_variance_prior,
    heavy_tailed,
    learn_ratios,
    log_marginal,
    ratio_grid,
    shrinkage,
)
from honestbayes.models.real.settings import GaussianSettings
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.selection.correlation import race, race_by_rank
from honestbayes.types import AnyArray, FloatArray

N_SCALES = 24
"""Nodes of the scale of the heavy-tailed prior, whose prior is even in its logarithm."""

SMALLEST_SCALE = 9.0
"""How far the scale goes below the smallest ratio, in logarithms: no features at all need be
strong."""

_FARTHEST = 1e150
"""Deviations beyond this are all alike; their squares would overflow."""

_NEGLIGIBLE = 1e-12
"""Ratios that no kept feature believes in, at any scale, are left out of predictions."""

_CHUNK_CELLS = 1 << 18

_LARGEST = 1e300
_ROUNDING = 1e-6
"""Moments in files: their largest size, and how far r squared may be below its bound."""


@dataclass(frozen=True, slots=True)
class RatioPosterior:
    """The distribution of the signal ratio w over features.

    Attributes
    ----------
    ratio : ndarray of shape (A,)
        The grid; 0 is an idle feature.
    scale_weights : ndarray of shape (T,)
        Posterior weights of the nodes of the scale; one node where the distribution is learned.
    weights : ndarray of shape (T, A)
        Distribution of ratios over features at each node.
    log_prob_selection : ndarray of shape (T,)
        log P(the others were discarded) at each node; 0 where it was not conditioned on.
    """

    ratio: Annotated[FloatArray, Floats("ratios", low=0.0, high=1e6)]
    scale_weights: Annotated[FloatArray, Weights("scales")]
    weights: Annotated[FloatArray, Weights("scales", "ratios")]
    log_prob_selection: Annotated[FloatArray, Logs("scales")]

    def check(self, check: Check) -> None:
        """Refuse a grid that does not increase from 0."""
        ratio = self.ratio
        good = ratio.size >= 2 and ratio[0] == 0 and np.all(np.diff(ratio) > 0)
        check(good, "ratio", "does not increase from 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianFit:
    """A fitted model.

    Attributes
    ----------
    selection : Selection
        What was kept.
    posterior : RatioPosterior
        How ratios are distributed.
    variance_prior : VariancePrior
        Of the features' variances.
    moments : Moments
        Of the kept features.
    ratio : ndarray of shape (A,)
        The ratios that matter to any kept feature.
    log_scale_weight : ndarray of shape (T,)
        Log posterior weights of the nodes.
    log_mixing : ndarray of shape (T, A, k)
        Log posterior weights of each kept feature's ratio at each node.
    location, log_spread : ndarray of shape (A, C, k)
        Predictive centre, and log of the spread, of each ratio and class.
    degrees : ndarray of shape (k,)
        Degrees of freedom of the predictive Student t.
    """

    selection: Selection
    posterior: RatioPosterior
    variance_prior: VariancePrior
    moments: Moments
    ratio: FloatArray
    log_scale_weight: FloatArray
    log_mixing: FloatArray
    location: FloatArray
    log_spread: FloatArray
    degrees: FloatArray

    def to_plain(self) -> Plain:
        """Return what was learned and the moments; what predictions need follows from these."""
        moments = {name: getattr(self.moments, name) for name in ("observed", "mean", "within")}
        parts = (record_to_plain(self.variance_prior), record_to_plain(self.posterior))
        return joined(*parts, ({}, moments))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> GaussianFit:
        """Return the fit that `to_plain` described; refuse moments that cannot be."""
        posterior = record_from_plain(RatioPosterior, entries, {})
        prior = record_from_plain(VariancePrior, entries, {})
        selection, n_classes = known["selection"], known["n_classes"]
        k = len(selection.columns)
        cases = np.array(selection.class_counts, dtype=np.int64)[:, None]
        observed = entries.counts("observed", (n_classes, None), cases)
        entries.check(observed.shape[1] in (1, k), "observed", "has another number of columns")
        moments = Moments(
            classes=known["classes"],
            class_counts=selection.class_counts,
            observed=observed,
            mean=entries.finite("mean", (n_classes, k), -_LARGEST, _LARGEST),
            within=entries.finite("within", (k,), 0.0, _LARGEST),
        )
        weakest = moments.r_squared()[: len(selection.kept)].min(initial=1.0)
        strong = weakest >= float(selection.gamma_squared) - _ROUNDING
        entries.check(strong, "mean", "is of a feature too weak for the bound of the selection")
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            fit = assemble(selection, posterior, prior, moments)
        numbers = (fit.location, fit.log_spread, fit.degrees)
        finite = all(np.isfinite(values).all() for values in numbers)
        entries.check(finite, "mean", "is out of range")
        return fit

    def ratio_weights(self) -> FloatArray:
        """Posterior weights of each kept feature's ratio, over all scales, shape (A, k)."""
        result: FloatArray = np.einsum(
            "t,tak->ak", np.exp(self.log_scale_weight), np.exp(self.log_mixing)
        )
        return result

    def log_density(self, x: FloatArray, j: int, label: int) -> FloatArray:
        """Return the log predictive density of feature j in a class at each ratio, shape (n, A)."""
        degrees = self.degrees[j]
        z = (x[:, None] - self.location[:, label, j]) * np.exp(-self.log_spread[:, label, j])
        z = np.clip(z, -_FARTHEST, _FARTHEST)
        constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(np.pi * degrees)
        tail = (degrees + 1) / 2 * np.log1p(z * z / degrees)
        return np.asarray(constant - self.log_spread[:, label, j] - tail)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), for kept columns of shape (n, k); NaN: missing."""
        n, k = values.shape
        n_nodes, n_ratios = self.log_mixing.shape[:2]
        n_classes = self.location.shape[1]
        result = np.empty((n, n_classes))
        step = max(1, _CHUNK_CELLS // max(1, n_ratios * k))
        constant = (
            gammaln((self.degrees + 1) / 2)
            - gammaln(self.degrees / 2)
            - 0.5 * np.log(np.pi * self.degrees)
        )
        mixing = np.exp(self.log_mixing)
        for start in range(0, n, step):
            x = np.asarray(values[start : start + step], dtype=float)
            missing = np.isnan(x)
            x = np.where(missing, 0.0, x)
            terms = np.empty((n_nodes, x.shape[0], n_classes))
            for label in range(n_classes):
                z = (x[:, None, :] - self.location[:, label]) * np.exp(-self.log_spread[:, label])
                z = np.clip(z, -_FARTHEST, _FARTHEST)
                log_t = constant - self.log_spread[:, label]
                log_t = log_t - (self.degrees + 1) / 2 * np.log1p(z * z / self.degrees)
                top = log_t.max(axis=1, keepdims=True, initial=-np.inf)
                density = np.exp(log_t - top)
                for node in range(n_nodes):
                    mixed = np.log(np.einsum("nak,ak->nk", density, mixing[node])) + top[:, 0]
                    terms[node, :, label] = np.where(missing, 0.0, mixed).sum(axis=1)
            terms += self.log_scale_weight[:, None, None]
            result[start : start + step] = logsumexp(terms, axis=0)
        return result


def fit_moments(
    moments: Moments,
    settings: GaussianSettings,
    strength: FloatArray | None = None,
    random_state: np.random.RandomState | None = None,
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
    """
    if settings.criterion is None or strength is None:
        selection = select_by_r_squared(moments, settings, random_state)
    else:
        selection = race_by_rank(
            strength,
            settings.criterion.name,
            n_features=settings.n_features,
            always_keep=settings.always_keep,
            random_state=random_state,
        ).selection(moments.class_counts, moments.observed, moments.feature_names, n_levels=0)
    n_classes = len(moments.class_counts)
    degrees = np.maximum(moments.observed.sum(axis=0) - n_classes, 0)
    prior = fit_variance_prior(moments.within, np.broadcast_to(degrees, moments.within.shape))
    kept = moments.take(np.array(selection.columns, dtype=np.int64))
    posterior = _ratio_posterior(moments, selection, settings, prior, kept)
    return assemble(selection, posterior, prior, kept)


def assemble(
    selection: Selection, posterior: RatioPosterior, prior: VariancePrior, kept: Moments
) -> GaussianFit:
    """Prepare predictions from what was learned and the moments of the kept features."""
    with np.errstate(divide="ignore"):
        log_mixing = np.log(posterior.weights)[:, :, None] + _log_marginal(
            posterior.ratio, kept, prior
        )
        log_scale_weight = np.log(posterior.scale_weights)
    log_mixing -= logsumexp(log_mixing, axis=1, keepdims=True)
    used = np.exp(log_mixing).max(axis=(0, 2), initial=0.0) > _NEGLIGIBLE
    used[0] |= not used.any()
    log_mixing = log_mixing[:, used]
    location, log_spread, t_degrees = _predictive(posterior.ratio[used], kept, prior)
    return GaussianFit(
        selection=selection,
        posterior=posterior,
        variance_prior=prior,
        moments=kept,
        ratio=posterior.ratio[used],
        log_scale_weight=log_scale_weight,
        log_mixing=log_mixing,
        location=location,
        log_spread=log_spread,
        degrees=t_degrees,
    )


def select_by_r_squared(
    moments: Moments,
    settings: GaussianSettings,
    random_state: np.random.RandomState | None = None,
) -> Selection:
    """Keep the features with the largest r squared."""
    strength = moments.r_squared()
    outcome = race(
        strength,
        lambda column: Fraction(float(strength[column])),
        n_features=settings.n_features,
        threshold=settings.threshold,
        always_keep=settings.always_keep,
        random_state=random_state,
    )
    return outcome.selection(
        moments.class_counts, moments.observed, moments.feature_names, n_levels=0
    )


def _log_marginal(ratio: FloatArray, moments: Moments, prior: VariancePrior) -> FloatArray:
    return log_marginal(ratio, moments.observed, moments.mean, moments.within, prior)


def _ratio_posterior(
    moments: Moments,
    selection: Selection,
    settings: GaussianSettings,
    prior: VariancePrior,
    kept: Moments,
) -> RatioPosterior:
    """Learn the distribution of ratios, or weigh the scales of the heavy-tailed one."""
    ratio = ratio_grid(int(moments.observed.sum(axis=0).max(initial=2)))
    used = kept.take(np.arange(len(selection.kept)))
    if settings.correction == "counts":
        used = moments.take(np.setdiff1d(np.arange(moments.n_features), selection.always_kept))
    if settings.feature_prior == "learned":
        ratio, weights = learn_ratios(lambda w: _log_marginal(w, used, prior), ratio)
        return RatioPosterior(ratio, np.ones(1), weights[None], np.zeros(1))
    scales = np.exp(np.linspace(np.log(ratio[1]) - SMALLEST_SCALE, 0.0, N_SCALES))
    weights = np.stack([heavy_tailed(ratio, float(scale)) for scale in scales])
    table = _log_marginal(ratio, used, prior)
    log_weight = np.log(weights @ np.exp(table - table.max(axis=0))).sum(axis=1)
    log_selection = np.zeros(N_SCALES)
    if settings.correction == "selection" and settings.criterion is not None:
        assert selection.strength_bound is not None
        log_selection = log_prob_selection(
            RealFeatures(),
            settings.criterion,
            event_of(selection, selection.strength_bound),
            HyperNodes(ratio, weights, log_weight),
        ).log_prob
    elif settings.correction == "selection":
        gamma_squared = float(selection.gamma_squared)
        log_selection = log_prob_all_discarded(
            selection.groups, lambda _: gamma_squared, ratio, weights
        )
    log_weight = log_weight + log_selection
    scale_weights = np.exp(log_weight - log_weight.max())
    return RatioPosterior(ratio, scale_weights / scale_weights.sum(), weights, log_selection)


def _predictive(
    ratio: FloatArray, kept: Moments, prior: VariancePrior
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return centre and log spread, shape (A, C, k), and degrees of freedom, shape (k,)."""
    n_classes, k = kept.mean.shape
    observed = np.broadcast_to(kept.observed, (n_classes, k))
    degrees = 2 * prior.shape + np.maximum(observed.sum(axis=0) - 1, 0)
    location = np.empty((ratio.size, n_classes, k))
    log_spread = np.empty_like(location)
    for a, w in enumerate(ratio):
        shrunk = shrinkage(float(w), observed, kept.mean)
        own = w * observed / (1 + w * observed)
        location[a] = shrunk.centre + own * (kept.mean - shrunk.centre)
        # Variance of mu_c over s2: of what is its own, and of the centre that it shares.
        variance = w / (1 + w * observed) + (1 - own) ** 2 / np.maximum(shrunk.precision, 1e-12)
        typical = (prior.scale + (kept.within + shrunk.between) / 2) / (degrees / 2)
        log_spread[a] = 0.5 * (np.log(typical) + np.log1p(variance))
    return location, log_spread, degrees
