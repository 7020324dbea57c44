"""A fitted model of real-valued features: what is learned of them, and what they predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import gammaln, logsumexp

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.files.fields import Floats, Known, Logs, Weights
from honestbayes.files.records import Check, record_from_plain, record_to_plain
from honestbayes.likelihood.normal import VariancePrior, log_marginal, shrinkage
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.types import AnyArray, FloatArray

_FARTHEST = 1e100
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
class GaussianBlock:
    """Features whose ratios have one distribution; all in units of their own.

    Attributes
    ----------
    posterior : RatioPosterior
        How ratios are distributed.
    variance_prior : VariancePrior
        Of the features' variances.
    moments : Moments
        Of the features.
    ratio : ndarray of shape (A,)
        The ratios that matter to any of them.
    log_scale_weight : ndarray of shape (T,)
        Log posterior weights of the nodes.
    log_mixing : ndarray of shape (T, A, k)
        Log posterior weights of each feature's ratio at each node.
    location, log_spread : ndarray of shape (A, C, k)
        Predictive centre, and log of the spread, of each ratio and class.
    degrees : ndarray of shape (k,)
        Degrees of freedom of the predictive Student t.
    """

    posterior: RatioPosterior
    variance_prior: VariancePrior
    moments: Moments
    ratio: FloatArray
    log_scale_weight: FloatArray
    log_mixing: FloatArray
    location: FloatArray
    log_spread: FloatArray
    degrees: FloatArray

    @classmethod
    def of(cls, posterior: RatioPosterior, prior: VariancePrior, moments: Moments) -> GaussianBlock:
        """Prepare predictions from what was learned and the moments of the features."""
        table = log_marginal(posterior.ratio, moments.observed, moments.mean, moments.within, prior)
        with np.errstate(divide="ignore"):
            log_mixing = np.log(posterior.weights)[:, :, None] + table
            log_scale_weight = np.log(posterior.scale_weights)
        log_mixing -= logsumexp(log_mixing, axis=1, keepdims=True)
        used = np.exp(log_mixing).max(axis=(0, 2), initial=0.0) > _NEGLIGIBLE
        used[0] |= not used.any()
        location, log_spread, degrees = _predictive(posterior.ratio[used], moments, prior)
        return cls(
            posterior=posterior,
            variance_prior=prior,
            moments=moments,
            ratio=posterior.ratio[used],
            log_scale_weight=log_scale_weight,
            log_mixing=log_mixing[:, used],
            location=location,
            log_spread=log_spread,
            degrees=degrees,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.moments.n_features

    def ratio_weights(self) -> FloatArray:
        """Posterior weights of each feature's ratio, over all scales, shape (A, k)."""
        result: FloatArray = np.einsum(
            "t,tak->ak", np.exp(self.log_scale_weight), np.exp(self.log_mixing)
        )
        return result

    def centre(self) -> FloatArray:
        """Posterior mean of each feature in each class, shape (C, k)."""
        return np.asarray(np.einsum("ak,ack->ck", self.ratio_weights(), self.location))

    def idle(self) -> FloatArray:
        """Posterior probability that a feature tells nothing at all, shape (k,)."""
        return np.asarray(self.ratio_weights()[self.ratio == 0].sum(axis=0))

    def log_density(self, x: FloatArray, j: int, label: int) -> FloatArray:
        """Return the log predictive density of feature j in a class at each ratio, shape (n, A)."""
        degrees = self.degrees[j]
        z = (x[:, None] - self.location[:, label, j]) * np.exp(-self.log_spread[:, label, j])
        z = np.clip(z, -_FARTHEST, _FARTHEST)
        constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(np.pi * degrees)
        tail = (degrees + 1) / 2 * np.log1p(z * z / degrees)
        return np.asarray(constant - self.log_spread[:, label, j] - tail)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), of columns of shape (n, k); NaN: missing."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Columns in units of their own: values are (x - centre) / unit.

    Attributes
    ----------
    centre, unit : ndarray of shape (k,)
        Mean and standard deviation of the observed cells.
    """

    centre: Annotated[FloatArray, Floats("n_columns")]
    unit: Annotated[FloatArray, Floats("n_columns", low=0.0)]

    def check(self, check: Check) -> None:
        """Refuse units that are not positive."""
        check(np.all(self.unit > 0), "unit", "is not positive")

    def apply(self, values: AnyArray) -> FloatArray:
        """Return standardised values; NaN stays."""
        with np.errstate(over="ignore"):
            x = (np.asarray(values, dtype=float) - self.centre) / self.unit
        return np.ascontiguousarray(np.clip(x, -_FARTHEST, _FARTHEST))


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianFit:
    """A fitted model: the race's block, and the block of features kept by design.

    Attributes
    ----------
    selection : Selection
        What was kept.
    variance_prior : VariancePrior
        Of the features' variances, in units of their own.
    standard : Standard
        What kept features are measured from, and in.
    race : GaussianBlock
        The winners.
    by_design : GaussianBlock or None
        Features kept by design, whose ratios have a distribution of their own. Files that were
        written before there was one have all features in one block.
    """

    selection: Selection
    variance_prior: VariancePrior
    standard: Standard
    race: GaussianBlock
    by_design: GaussianBlock | None

    @property
    def posterior(self) -> RatioPosterior:
        """How ratios are distributed over the features of the race."""
        return self.race.posterior

    @property
    def blocks(self) -> list[GaussianBlock]:
        """The blocks, in the order of ``selection.columns``."""
        return [self.race] if self.by_design is None else [self.race, self.by_design]

    @property
    def moments(self) -> Moments:
        """Of all kept features, in units of their own."""
        first, *others = (block.moments for block in self.blocks)
        return first.merge_columns(*others) if others else first

    def in_own_units(self, values: AnyArray) -> list[FloatArray]:
        """Return the kept columns of each block, standardised; NaN is missing."""
        x = self.standard.apply(values)
        ends = np.cumsum([block.n_features for block in self.blocks])[:-1]
        return list(np.split(x, ends, axis=1))

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), up to a term that all classes share.

        Blocks have ratios of their own, so their likelihoods multiply.
        """
        parts = zip(self.blocks, self.in_own_units(values), strict=True)
        return np.asarray(sum(block.log_likelihood(x) for block, x in parts))

    def to_plain(self) -> Plain:
        """Return what was learned and the moments; what predictions need follows from these."""
        own, moments = self.by_design, self.moments
        arrays = {name: getattr(moments, name) for name in ("observed", "mean", "within")}
        sections = {} if own is None else {"by_design": record_to_plain(own.posterior)}
        parts = (record_to_plain(self.variance_prior), record_to_plain(self.posterior))
        also = ({"has_by_design": own is not None}, arrays)
        return joined(*parts, record_to_plain(self.standard), also, **sections)

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
        standard, own = Standard(np.zeros(k), np.ones(k)), None
        if entries.has("has_by_design"):  # else columns are as they were measured, in one block
            standard = record_from_plain(Standard, entries, {"n_columns": k})
            if entries.flag("has_by_design"):
                own = record_from_plain(RatioPosterior, entries.section("by_design"), {})
            fits = (own is None) == (not selection.always_kept)
            entries.check(fits, "by_design", "does not fit the selection")
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            fit = assemble(selection, prior, moments, standard, posterior, own)
        numbers = (getattr(b, n) for b in fit.blocks for n in ("location", "log_spread", "degrees"))
        finite = all(np.isfinite(values).all() for values in numbers)
        entries.check(finite, "mean", "is out of range")
        return fit


def assemble(
    selection: Selection,
    prior: VariancePrior,
    moments: Moments,
    standard: Standard,
    posterior: RatioPosterior,
    by_design: RatioPosterior | None,
) -> GaussianFit:
    """Prepare predictions from what was learned and the moments of the kept features.

    Parameters
    ----------
    selection : Selection
        What was kept.
    prior : VariancePrior
        Of the features' variances.
    moments : Moments
        Of the kept features, in units of their own.
    standard : Standard
        These units.
    posterior : RatioPosterior
        Of the race, or of all features where there is no other.
    by_design : RatioPosterior or None
        Of the features kept by design.
    """
    n_race = moments.n_features if by_design is None else len(selection.kept)
    places = np.arange(moments.n_features)
    own = None
    if by_design is not None:
        own = GaussianBlock.of(by_design, prior, moments.take(places[n_race:]))
    return GaussianFit(
        selection=selection,
        variance_prior=prior,
        standard=standard,
        race=GaussianBlock.of(posterior, prior, moments.take(places[:n_race])),
        by_design=own,
    )


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
