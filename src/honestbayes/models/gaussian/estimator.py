"""Naive Bayes for continuous features with calibrated probabilities after selection.

Feature j is normal within class c, with mean mu_cj and variance s2_j, where mu_cj ~ N(nu_j, w_j
s2_j): the signal ratio w is the variance between classes over that within, 0 for an uninformative
feature.
nu is flat, s2 inverse gamma in units of the column's own variance, and w has a distribution over
features: learned from all ranked features, or heavy-tailed with an unknown scale. The likelihood of
a feature depends on its class means and its sum of squares within classes only (docs, "The
mathematics", real-valued features), so that everything is computed from moments.

With ``class_variances`` a feature may also differ in spread: its variance is either the same in all
classes, or s2_c in class c, scaled inverse chi-square around s2 with d degrees of freedom. Which of
the two, and d, is averaged over, with weights learned from the kept features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.special import gammaln, logsumexp

from honestbayes.base.estimator import SelectiveClassifier
from honestbayes.base.explanation import (
    KeptTable,
    TableColumn,
    TableNames,
    by_design,
    location_columns,
)
from honestbayes.base.intervals import systematic
from honestbayes.base.numeric import NumericTraining, Screened, select_by_r_squared
from honestbayes.base.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    prior_and_correction,
    selection_rule,
    true_or_false,
)
from honestbayes.base.part import Describe, FittedPart, TrainingLabels, tie_breaker
from honestbayes.base.persistence import Parameter
from honestbayes.correction.engine import log_prob_selection
from honestbayes.correction.event import HyperNodes, event_of
from honestbayes.correction.f_statistic import log_prob_all_discarded
from honestbayes.correction.feature_models import RealFeatures
from honestbayes.data import Source, as_source
from honestbayes.data.binarization import check_finite
from honestbayes.data.kinds import Kind
from honestbayes.data.normal_scores import NormalScores
from honestbayes.data.source import RowsOf, dense_values, whole_columns
from honestbayes.files.fields import (
    CLOSE,
    INLINE,
    Check,
    Choice,
    Entries,
    Field,
    Floats,
    Known,
    Logs,
    MaybeSection,
    Plain,
    Section,
    Weights,
    joined,
    record_to_plain,
)
from honestbayes.likelihood.learned_alpha import representatives
from honestbayes.likelihood.normal import (
    OWN_VARIANCE,
    VariancePrior,
    heavy_tailed,
    learn_ratios,
    log_marginal,
    ratio_grid,
    shrinkage,
)
from honestbayes.selection import Selection
from honestbayes.selection.correlation import rank_by_criterion
from honestbayes.selection.criteria import Criterion
from honestbayes.selection.moments import Moments
from honestbayes.threads import one_blas_thread
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


RatioPriorName = Literal["learned", "heavy-tailed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianSettings(SelectionSettings):
    """Validated parameters; without a criterion features are ranked by r squared."""

    feature_prior: RatioPriorName
    correction: Correction
    criterion: Criterion | None = None
    normal_scores: bool = False
    class_variances: bool = False


def gaussian_settings(
    params: Mapping[str, Any], always_keep: BoolArray, classes: AnyArray | None = None
) -> GaussianSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong."""
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    prior, correction = prior_and_correction(params, "heavy-tailed")
    return GaussianSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        criterion=criterion_of(params, "real", ("correlation", "f", "t"), classes),
        normal_scores=true_or_false(params, "normal_scores"),
        class_variances=true_or_false(params, "class_variances"),
    )


# --------------------------------------------------------------------------------------------------
# Blocks of features, and their predictive distributions
# --------------------------------------------------------------------------------------------------


_MOST_TO_LEARN = 1 << 17
"""Features up to which the distribution of ratios is learned from each; beyond, some stand for all.
Each takes a kilobyte."""

_FARTHEST = 1e100
"""Bound of standardised values; squares of larger ones would overflow."""

_NEGLIGIBLE = 1e-12
"""Posterior weight below which a ratio is left out of predictions, if no feature has more."""

_CHUNK_CELLS = 1 << 18
"""Rows are predicted in chunks of so many cells."""

_LARGEST = 1e300
"""Largest moment in a file."""

_ROUNDING = 1e-6
"""How far r squared in a file may be below the bound of the selection."""


@dataclass(frozen=True, slots=True)
class RatioPosterior:
    """The distribution of the signal ratio w over features.

    Attributes
    ----------
    ratio : ndarray of shape (A,)
        The grid; 0 is an uninformative feature.
    scale_weights : ndarray of shape (T,)
        Posterior weights of the nodes of the scale; one node where the distribution is learned.
    weights : ndarray of shape (T, A)
        Distribution of ratios over features at each node.
    log_prob_selection : ndarray of shape (T,)
        log P(the other features were discarded) at each node; 0 where not conditioned on.
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


VARIANCE_DEGREES = np.array([4.0, 16.0, 64.0, 256.0])
"""Grid of d, the degrees of freedom of a class's own variance around the common one: with d = 4 the
standard deviations of two classes typically differ by a factor of 1.8, with 256 by 1.06."""

_COMMON_VARIANCE = 0.5
"""Prior probability that a feature has the same variance in all classes; worth one feature."""

_MOST_ITERATIONS = 200
"""Bound of the iterations that learn the weights of common and own variances."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassVariances:
    """Whether classes have variances of their own.

    Attributes
    ----------
    within : ndarray of shape (C, k)
        Sum of squares of each feature around its mean in each class.
    weight : ndarray of shape (k, D + 1)
        Posterior probability that the variance of a feature is common to all classes, and of each
        of `VARIANCE_DEGREES`.
    """

    within: Annotated[FloatArray, Floats("n_classes", "n_columns", low=0.0)]
    weight: Annotated[FloatArray, Weights("n_columns", "n_variances")]

    @classmethod
    def learn(cls, values: FloatArray, codes: IntArray, moments: Moments) -> ClassVariances:
        """Learn from the kept columns of training rows, standardised, shape (n, k)."""
        apart = (values - moments.mean[codes]) ** 2
        within = np.stack([np.nansum(apart[codes == c], axis=0) for c in range(len(moments.mean))])
        degrees, common = _degrees_and_variance(moments, OWN_VARIANCE)
        # Log likelihood of the sums of squares, up to a constant of the feature. With a variance
        # of its own, that of class c is a scaled F; the common variance is plugged in, which
        # favours the common one slightly.
        table = np.empty((common.size, VARIANCE_DEGREES.size + 1))
        half = degrees / 2
        table[:, 0] = -(half * np.log(2 * common) + within / (2 * common)).sum(axis=0)
        for index, d in enumerate(VARIANCE_DEGREES):
            table[:, 1 + index] = (
                gammaln(half + d / 2)
                - gammaln(d / 2)
                + d / 2 * np.log(d * common)
                - (half + d / 2) * np.log(d * common + within)
            ).sum(axis=0)
        prior = np.full(table.shape[1], (1 - _COMMON_VARIANCE) / VARIANCE_DEGREES.size)
        prior[0] = _COMMON_VARIANCE
        share = prior
        # The most likely variance has likelihood 1, and shares stay above that of the prior's one
        # feature: no sum of a row can be 0.
        likelihood = np.exp(table - table.max(axis=1, keepdims=True))
        for _ in range(_MOST_ITERATIONS):  # expectation and maximisation over features
            weight = share * likelihood
            weight /= weight.sum(axis=1, keepdims=True)
            before, share = share, (weight.sum(axis=0) + prior) / (common.size + 1)
            if np.abs(share - before).max() < CLOSE:
                break
        return cls(within, weight)

    def take(self, columns: IntArray) -> ClassVariances:
        """Return some of the features."""
        return ClassVariances(self.within[:, columns], self.weight[columns])


def _degrees_and_variance(moments: Moments, prior: VariancePrior) -> tuple[FloatArray, FloatArray]:
    """Return degrees of freedom of each class, (C, k), and the variance within classes, (k,)."""
    observed = np.broadcast_to(moments.observed, moments.mean.shape)
    degrees = np.maximum(observed - 1, 0).astype(float)
    common = (2 * prior.scale + moments.within) / (2 * prior.shape + degrees.sum(axis=0))
    return degrees, common


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianBlock:
    """Features whose ratios have one distribution, each in units of its own.

    A component is a ratio, and with variances of the classes' own each of these for each ratio.

    Attributes
    ----------
    posterior : RatioPosterior
        Distribution of the ratios.
    variance_prior : VariancePrior
        Prior of the features' variances.
    moments : Moments
        Moments of the features.
    class_variances : ClassVariances or None
        Whether classes have variances of their own; None where all are common.
    ratio : ndarray of shape (A,)
        The ratio of each component with weight for any feature.
    log_scale_weight : ndarray of shape (T,)
        Log posterior weights of the nodes.
    log_mixing : ndarray of shape (T, A, k)
        Log posterior weights of each feature's components at each node.
    location, log_spread, degrees : ndarray of shape (A, C, k)
        Centre, log of the spread, and degrees of freedom of the predictive Student t of each
        component and class.
    """

    posterior: RatioPosterior
    variance_prior: VariancePrior
    moments: Moments
    class_variances: ClassVariances | None
    ratio: FloatArray
    log_scale_weight: FloatArray
    log_mixing: FloatArray
    location: FloatArray
    log_spread: FloatArray
    degrees: FloatArray

    @classmethod
    def of(
        cls,
        posterior: RatioPosterior,
        prior: VariancePrior,
        moments: Moments,
        class_variances: ClassVariances | None = None,
    ) -> GaussianBlock:
        """Prepare predictions from a distribution of ratios and the moments of the features."""
        table = log_marginal(posterior.ratio, moments.observed, moments.mean, moments.within, prior)
        with np.errstate(divide="ignore"):
            log_mixing = np.log(posterior.weights)[:, :, None] + table
            log_scale_weight = np.log(posterior.scale_weights)
        log_mixing -= logsumexp(log_mixing, axis=1, keepdims=True)
        used = np.exp(log_mixing).max(axis=(0, 2), initial=0.0) > _NEGLIGIBLE
        used[0] |= not used.any()
        ratio, log_mixing = posterior.ratio[used], log_mixing[:, used]
        location, log_spread, degrees = _predictive(ratio, moments, prior)
        if class_variances is not None:
            # Each ratio with each kind of variance: the two are independent given the training
            # data, as far as the common variance is known.
            with np.errstate(divide="ignore"):
                log_weight = np.log(class_variances.weight.T)
            log_mixing = log_mixing[:, :, None] + log_weight
            log_mixing = log_mixing.reshape(log_mixing.shape[0], -1, log_mixing.shape[3])
            n_variances = len(log_weight)
            ratio, location = np.repeat(ratio, n_variances), np.repeat(location, n_variances, 0)
            log_spread, degrees = _own_spreads(log_spread, degrees, moments, prior, class_variances)
        return cls(
            posterior=posterior,
            variance_prior=prior,
            moments=moments,
            class_variances=class_variances,
            ratio=ratio,
            log_scale_weight=log_scale_weight,
            log_mixing=log_mixing,
            location=location,
            log_spread=log_spread,
            degrees=degrees,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.moments.n_features

    def ratio_weights(self) -> FloatArray:
        """Return the posterior weights of each feature's ratio, over all scales, shape (A, k)."""
        result: FloatArray = np.einsum(
            "t,tak->ak", np.exp(self.log_scale_weight), np.exp(self.log_mixing)
        )
        return result

    def centre(self) -> FloatArray:
        """Return the posterior mean of each feature in each class, shape (C, k)."""
        return np.asarray(np.einsum("ak,ack->ck", self.ratio_weights(), self.location))

    def prob_null(self) -> FloatArray:
        """Return the posterior probability that a feature is uninformative, shape (k,)."""
        return np.asarray(self.ratio_weights()[self.ratio == 0].sum(axis=0))

    def log_density(self, x: FloatArray, j: int, label: int) -> FloatArray:
        """Return the log predictive density of feature j in a class at each ratio, shape (n, A)."""
        degrees = self.degrees[:, label, j]
        z = (x[:, None] - self.location[:, label, j]) * np.exp(-self.log_spread[:, label, j])
        z = np.clip(z, -_FARTHEST, _FARTHEST)
        constant = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - 0.5 * np.log(np.pi * degrees)
        tail = (degrees + 1) / 2 * np.log1p(z * z / degrees)
        return np.asarray(constant - self.log_spread[:, label, j] - tail)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C), of columns of shape (n, k); NaN is missing.

        Features are independent given the scale of their ratios. At each node of the scale each
        feature's own ratio is averaged over, then features are multiplied, then nodes averaged.
        """
        n, k = values.shape
        result = np.empty((n, self.location.shape[1]))
        step = max(1, _CHUNK_CELLS // max(1, self.log_mixing.shape[1] * k))
        for start in range(0, n, step):
            cells = self._of_cells(np.asarray(values[start : start + step], dtype=float))
            terms = cells.sum(axis=-1) + self.log_scale_weight[:, None, None]
            result[start : start + step] = logsumexp(terms, axis=0)
        return result

    def _of_cells(self, x: FloatArray) -> FloatArray:
        """Return log P(cell | class) at each node of the scale, shape (T, n, C, k)."""
        n_nodes, n_classes = len(self.log_mixing), self.location.shape[1]
        constant = (
            gammaln((self.degrees + 1) / 2)
            - gammaln(self.degrees / 2)
            - 0.5 * np.log(np.pi * self.degrees)
        )
        mixing = np.exp(self.log_mixing)
        missing = np.isnan(x)
        x = np.where(missing, 0.0, x)
        result = np.empty((n_nodes, len(x), n_classes, x.shape[1]))
        for label in range(n_classes):
            z = (x[:, None, :] - self.location[:, label]) * np.exp(-self.log_spread[:, label])
            z = np.clip(z, -_FARTHEST, _FARTHEST)
            degrees = self.degrees[:, label]
            log_t = constant[:, label] - self.log_spread[:, label]
            log_t = log_t - (degrees + 1) / 2 * np.log1p(z * z / degrees)
            # Relative to the largest density over ratios: far out in the tails all underflow.
            top = log_t.max(axis=1, keepdims=True, initial=-np.inf)
            density = np.exp(log_t - top)
            for node in range(n_nodes):
                mixed = np.log(np.einsum("nak,ak->nk", density, mixing[node])) + top[:, 0]
                result[node, :, label] = np.where(missing, 0.0, mixed)
        return result

    def cell_evidence(self, values: AnyArray) -> FloatArray | None:
        """Return log P(cell | class), shape (n, C, k), whose sum over features is that of a row.

        None where the scale of the ratios has several nodes, which features then share.
        """
        if len(self.log_mixing) > 1:
            return None
        return np.asarray(self._of_cells(np.asarray(values, dtype=float))[0])


_BY_DESIGN = MaybeSection(kind=RatioPosterior)
"""How the posterior of the features kept by design stands in files."""

_CLASS_VARIANCES = MaybeSection(kind=ClassVariances)
"""How the variances of classes stand in files, which need not have them."""


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """Units of the columns: standardised values are (x - centre) / unit.

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
    """A fitted model: a block of selected features, and one of features kept by design.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    variance_prior : VariancePrior
        Prior of the features' variances, in units of their own.
    standard : Standard
        Centre and unit of the kept features.
    ranked : GaussianBlock
        The selected features.
    by_design : GaussianBlock or None
        Features kept by design, whose ratios have a distribution of their own.
    """

    selection: Selection
    variance_prior: VariancePrior
    standard: Standard
    ranked: GaussianBlock
    by_design: GaussianBlock | None

    @property
    def class_variances(self) -> ClassVariances | None:
        """Whether the classes have variances of their own, for all kept features."""
        parts = [each.class_variances for each in self.blocks]
        if parts[0] is None:
            return None
        own = [each for each in parts if each is not None]
        return ClassVariances(
            np.concatenate([each.within for each in own], axis=1),
            np.concatenate([each.weight for each in own]),
        )

    @property
    def posterior(self) -> RatioPosterior:
        """Distribution of the ratios over the ranked features."""
        return self.ranked.posterior

    @property
    def blocks(self) -> list[GaussianBlock]:
        """The blocks, in the order of ``selection.columns``."""
        return [self.ranked] if self.by_design is None else [self.ranked, self.by_design]

    @property
    def moments(self) -> Moments:
        """Moments of all kept features, in units of their own."""
        first, *others = (block.moments for block in self.blocks)
        return first.merge_columns(*others) if others else first

    def with_class_variances(self, values: AnyArray, codes: IntArray) -> GaussianFit:
        """Learn from the kept columns of training rows whether classes differ in spread."""
        moments = self.moments
        variances = ClassVariances.learn(self.standard.apply(values), codes, moments)
        return assemble(
            self.selection,
            self.variance_prior,
            moments,
            self.standard,
            self.posterior,
            None if self.by_design is None else self.by_design.posterior,
            variances,
        )

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

    def cell_evidence(self, values: AnyArray) -> FloatArray | None:
        """Return log P(cell | class), shape (n, C, k); None where features share a scale."""
        parts = zip(self.blocks, self.in_own_units(values), strict=True)
        evidence = [block.cell_evidence(x) for block, x in parts]
        if any(one is None for one in evidence):
            return None
        return np.concatenate([one for one in evidence if one is not None], axis=2)

    def to_plain(self) -> Plain:
        """Return posteriors and moments as plain data; predictions follow from these."""
        arrays = {name: getattr(self.moments, name) for name in ("observed", "mean", "within")}
        own = None if self.by_design is None else self.by_design.posterior
        return joined(
            ({}, arrays),
            _BY_DESIGN.write("by_design", own),
            _CLASS_VARIANCES.write("class_variances", self.class_variances),
            variance_prior=record_to_plain(self.variance_prior),
            posterior=record_to_plain(self.posterior),
            standard=record_to_plain(self.standard),
        )

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> GaussianFit:
        """Return the fit that `to_plain` described; refuse moments that cannot be."""
        posterior = Section(kind=RatioPosterior).read(entries, "posterior", {})
        prior = Section(kind=VariancePrior).read(entries, "variance_prior", {})
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
        standard = Section(kind=Standard).read(entries, "standard", {"n_columns": k})
        own = _BY_DESIGN.read(entries, "by_design", {})
        fits = (own is None) == (not selection.always_kept)
        entries.check(fits, "by_design", "does not fit the selection")
        variances = None
        if _CLASS_VARIANCES.is_in(entries, "class_variances"):
            sizes = {"n_classes": n_classes, "n_columns": k}
            sizes["n_variances"] = VARIANCE_DEGREES.size + 1
            variances = _CLASS_VARIANCES.read(entries, "class_variances", sizes)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            fit = assemble(selection, prior, moments, standard, posterior, own, variances)
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
    class_variances: ClassVariances | None = None,
) -> GaussianFit:
    """Build the fit from posteriors and the moments of the kept features.

    Parameters
    ----------
    selection : Selection
        What was kept and discarded.
    prior : VariancePrior
        Prior of the features' variances.
    moments : Moments
        Moments of the kept features, in units of their own.
    standard : Standard
        These units.
    posterior : RatioPosterior
        Distribution of the ratios of the ranked features, or of all where there is no other.
    by_design : RatioPosterior or None
        Distribution of the ratios of the features kept by design.
    class_variances : ClassVariances or None
        Whether the classes have variances of their own.
    """
    n_ranked = moments.n_features if by_design is None else len(selection.kept)

    def block(ratios: RatioPosterior, columns: IntArray) -> GaussianBlock:
        variances = None if class_variances is None else class_variances.take(columns)
        return GaussianBlock.of(ratios, prior, moments.take(columns), variances)

    columns = np.arange(moments.n_features)
    return GaussianFit(
        selection=selection,
        variance_prior=prior,
        standard=standard,
        ranked=block(posterior, columns[:n_ranked]),
        by_design=None if by_design is None else block(by_design, columns[n_ranked:]),
    )


def _predictive(
    ratio: FloatArray, kept: Moments, prior: VariancePrior
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return centre, log spread and degrees of freedom, each of shape (A, C, k).

    Given w, a new case of class c is Student t: mu_c has mean m + own (mean_c - m), where m is the
    precision-weighted mean over classes and own = w n_c / (1 + w n_c). Integrating s2 out turns
    the normal into a t with 2 a + n - 1 degrees of freedom (nu, being flat, costs one).
    """
    n_classes, k = kept.mean.shape
    observed = np.broadcast_to(kept.observed, (n_classes, k))
    degrees = 2 * prior.shape + np.maximum(observed.sum(axis=0) - 1, 0)
    location = np.empty((ratio.size, n_classes, k))
    log_spread = np.empty_like(location)
    for a, w in enumerate(ratio):
        shrunk = shrinkage(float(w), observed, kept.mean)
        own = w * observed / (1 + w * observed)
        location[a] = shrunk.centre + own * (kept.mean - shrunk.centre)
        # Variance of mu_c in units of s2: given nu, w / (1 + w n_c); and that of nu, whose
        # posterior precision is `shrunk.precision`, as far as mu_c follows it (1 - own).
        variance = w / (1 + w * observed) + (1 - own) ** 2 / np.maximum(shrunk.precision, 1e-12)
        typical = (prior.scale + (kept.within + shrunk.between) / 2) / (degrees / 2)
        log_spread[a] = 0.5 * (np.log(typical) + np.log1p(variance))
    return location, log_spread, np.broadcast_to(degrees, location.shape)


def _own_spreads(
    log_spread: FloatArray,
    degrees: FloatArray,
    kept: Moments,
    prior: VariancePrior,
    own: ClassVariances,
) -> tuple[FloatArray, FloatArray]:
    """Return log spread and degrees of freedom of all components, shape (A (D + 1), C, k).

    Given d, the variance of class c is (d s2 + its sum of squares) / (d + n_c - 1) with as many
    degrees of freedom. What the mean's own uncertainty adds is the same factor as with the common
    variance.
    """
    own_degrees, common = _degrees_and_variance(kept, prior)
    spreads, all_degrees = [log_spread], [degrees]
    for d in VARIANCE_DEGREES:
        ratio = (d * common + own.within) / (d + own_degrees) / common
        spreads.append(log_spread + 0.5 * np.log(ratio))
        all_degrees.append(np.broadcast_to(d + own_degrees, log_spread.shape))
    shape = (-1, *log_spread.shape[1:])
    return np.stack(spreads, 1).reshape(shape), np.stack(all_degrees, 1).reshape(shape)


# --------------------------------------------------------------------------------------------------
# The fit, from the moments of a screening
# --------------------------------------------------------------------------------------------------


N_SCALES = 24
"""Number of nodes of the heavy-tailed prior's scale, which is log-uniform a priori."""

SMALLEST_SCALE = 9.0
"""Log distance of the smallest scale below the smallest ratio: at that scale all features are
uninformative."""


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
        Moments of all features.
    settings : GaussianSettings
        Settings.
    strength : ndarray of shape (p,), optional
        Strengths of all features by the user's criterion.
    random_state : RandomState, optional
        Breaks ties.
    posterior : RatioPosterior, optional
        Distribution of the ratios over the ranked features, where it is known already.
    """
    if settings.criterion is None or strength is None:
        selection = select_by_r_squared(moments, settings, random_state)
    else:
        selection = rank_by_criterion(
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
    """Correct and fit the selected features; parameters are those of `fit_moments`."""
    own, centre, unit = moments.standardised()
    columns = np.array(selection.columns, dtype=np.int64)
    kept = own.take(columns)
    n_ranked = len(selection.kept)
    posterior = posterior or learned_from_all(moments, settings)
    if posterior is None:
        ranked = _ranked_features(moments, settings)
        posterior = _ratio_posterior(ranked, selection, settings, kept.take(np.arange(n_ranked)))
    by_design = None
    if selection.always_kept:
        always = kept.take(np.arange(n_ranked, columns.size))
        by_design = _heavy_tailed(always, posterior.ratio)
    standard = Standard(centre[columns], unit[columns])
    return assemble(selection, OWN_VARIANCE, kept, standard, posterior, by_design)


def _log_marginal(ratio: FloatArray, moments: Moments) -> FloatArray:
    return log_marginal(ratio, moments.observed, moments.mean, moments.within, OWN_VARIANCE)


@one_blas_thread()
def learned_from_all(moments: Moments, settings: GaussianSettings) -> RatioPosterior | None:
    """Learn the distribution of ratios from all ranked features, however many are kept.

    This is the correction for selection: the moments of discarded features count as well. None
    where the distribution depends on which features are kept.
    """
    if settings.feature_prior != "learned" or settings.correction != "counts":
        return None
    ranked = _ranked_features(moments, settings)
    ratio = ratio_grid(int(ranked.observed.sum(axis=0).max(initial=2)))
    return _learned_ratios(ranked, ratio)


def _learned_ratios(moments: Moments, ratio: FloatArray) -> RatioPosterior:
    """Learn the distribution of ratios from features, or from some that stand for very many."""
    alone = np.ones(moments.n_features, dtype=np.int64)
    times = alone
    if alone.size > _MOST_TO_LEARN:
        chosen, times = representatives(moments.r_squared(), alone, _MOST_TO_LEARN)
        moments = moments.take(chosen)
    ratio, weights = learn_ratios(lambda w: _log_marginal(w, moments), ratio, times)
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
    """Learn the distribution of ratios, or weight the scales of the heavy-tailed one.

    Parameters
    ----------
    moments : Moments
        Moments of all ranked features.
    selection, settings
        As in `fit_kept`.
    kept : Moments
        Moments of the kept features.
    """
    ratio = ratio_grid(int(moments.observed.sum(axis=0).max(initial=2)))
    used = moments if settings.correction == "counts" else kept
    if settings.feature_prior == "learned":
        return _learned_ratios(used, ratio)
    if settings.correction == "selection":
        return _heavy_tailed(used, ratio, selection, settings)
    return _heavy_tailed(used, ratio)


def _heavy_tailed(
    used: Moments,
    ratio: FloatArray,
    selection: Selection | None = None,
    settings: GaussianSettings | None = None,
) -> RatioPosterior:
    """Weight the scales of heavy-tailed ratios by features, and by the event of their selection.

    Parameters
    ----------
    used : Moments
        Moments of the features from which the scale is learned.
    ratio : ndarray of shape (A,)
        The grid.
    selection, settings : optional
        Given where the event that others were discarded is conditioned on.
    """
    scales = np.exp(np.linspace(np.log(ratio[1]) - SMALLEST_SCALE, 0.0, N_SCALES))
    weights = np.stack([heavy_tailed(ratio, float(scale)) for scale in scales])
    table = _log_marginal(ratio, used)
    # Log likelihood of each scale: a sum over features of the log of a mean over ratios. What is
    # subtracted to avoid underflow is the same for all scales. Scales are equally spaced in the
    # logarithm, so that their prior weights are equal.
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


# --------------------------------------------------------------------------------------------------
# Draws of the evidence, for intervals
# --------------------------------------------------------------------------------------------------


def draw_gaussian_evidence(
    fit: GaussianFit, values: AnyArray, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw log P(x | class, parameters) given the training data, x, and each y*.

    With x as one more case of class y*, each feature has a posterior in closed form: its ratio on
    the grid, its variance inverse gamma, its centre and class means normal.

    Returns
    -------
    evidence : ndarray of shape (C, n, S, C - 1)
    log_weight : ndarray of shape (C, n, S)
    """
    n_classes = len(fit.ranked.moments.classes)
    evidence = np.zeros((n_classes, len(values), n_draws, n_classes - 1))
    log_weight = np.zeros((n_classes, len(values), n_draws))
    for block, columns in zip(fit.blocks, fit.in_own_units(values), strict=True):
        node = systematic(generator, np.exp(block.log_scale_weight), n_draws)
        for label in range(n_classes):
            for j, x in enumerate(columns.T):
                known = np.flatnonzero(~np.isnan(x))
                ratio, by_node = _draw_ratio(block, x[known], j, label, node, generator)
                log_density = _draw_log_density(block, x[known], j, label, ratio, generator)
                log_weight[label, known] += by_node[:, node]
                evidence[label, known] += log_density[..., 1:] - log_density[..., :1]
    return evidence, log_weight


def _draw_ratio(
    fit: GaussianBlock,
    x: FloatArray,
    j: int,
    label: int,
    node: IntArray,
    generator: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Draw the index of the feature's ratio, shape (n, S); also log P(x | y*, node), (n, T)."""
    log_t = fit.log_density(x, j, label)
    positions = np.empty((x.size, node.size), dtype=np.int64)
    by_node = np.empty((x.size, fit.log_scale_weight.size))
    for t in range(fit.log_scale_weight.size):
        log_joint = log_t + fit.log_mixing[t, :, j]
        top = log_joint.max(axis=1, keepdims=True)
        below = np.cumsum(np.exp(log_joint - top), axis=1)
        by_node[:, t] = np.log(below[:, -1]) + top[:, 0]
        draws = generator.permutation(np.flatnonzero(node == t))
        # Systematic sampling, with the same points for every row.
        points = (np.arange(draws.size) + generator.random()) / max(draws.size, 1)
        for row in range(x.size):
            positions[row, draws] = np.searchsorted(below[row], points * below[row, -1])
    return np.minimum(positions, fit.ratio.size - 1), by_node


def _draw_log_density(
    fit: GaussianBlock,
    x: FloatArray,
    j: int,
    label: int,
    position: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the feature's variance and means given x in class y*.

    Returns the log normal density of x in each class, shape (n, S, C), up to a term that all
    classes share.
    """
    moments = fit.moments
    n_classes = moments.mean.shape[0]
    observed = np.broadcast_to(moments.observed, moments.mean.shape)[:, j].astype(float)
    mean = np.repeat(moments.mean[:, j][None], x.size, axis=0)
    # In units of the feature and around its centre, so that squares stay in range.
    unit = np.sqrt(fit.variance_prior.scale + moments.within[j] + 1e-300)
    centre = float(observed @ moments.mean[:, j] / max(observed.sum(), 1.0))
    mean, new = (mean - centre) / unit, np.clip((x - centre) / unit, -_FARTHEST, _FARTHEST)
    scale, within = fit.variance_prior.scale / unit**2, moments.within[j] / unit**2
    # x as one more case of class y*: the updates of a mean and of a sum of squares.
    size = observed[label]
    within = within + size / (size + 1) * (new - mean[:, label]) ** 2
    mean[:, label] = (size * mean[:, label] + new) / (size + 1)
    observed[label] += 1
    w = fit.ratio[position]
    weight = observed / (1 + w[..., None] * observed)
    precision = weight.sum(axis=2)
    middle = np.einsum("nsc,nc->ns", weight, mean) / precision
    between = np.einsum("nsc,nsc->ns", weight, (mean[:, None, :] - middle[..., None]) ** 2)
    shape = fit.variance_prior.shape + (observed.sum() - 1) / 2
    n_draws = w.shape[1]
    variance = (scale + (within[:, None] + between) / 2) / generator.gamma(shape, size=n_draws)
    nu = middle + np.sqrt(variance / precision) * generator.normal(size=n_draws)
    result = np.empty((*w.shape, n_classes))
    for c in range(n_classes):
        factor = np.ones(w.shape)
        if fit.class_variances is not None:
            factor = _draw_variance_factor(fit, new, mean, unit, j, label, c, position, generator)
        own = w * observed[c] / (1 + w * observed[c])
        spread = np.sqrt(factor * variance * w / (1 + w * observed[c]))
        mu = nu + own * (mean[:, None, c] - nu) + spread * generator.normal(size=n_draws)
        result[..., c] = -((new[:, None] - mu) ** 2) / (2 * factor * variance) - np.log(factor) / 2
    return result


def _draw_variance_factor(
    fit: GaussianBlock,
    new: FloatArray,
    mean: FloatArray,
    unit: float,
    j: int,
    label: int,
    c: int,
    position: IntArray,
    generator: np.random.Generator,
) -> FloatArray:
    """Draw the variance of class c in units of the common one, shape (n, S); 1 if it is common.

    Given the common variance it is scaled inverse chi-square, as in `_own_spreads`. ``new`` and
    ``mean`` are x and the class means in units of the feature, x already being one more case of
    class ``label``.
    """
    assert fit.class_variances is not None
    degrees, common = _degrees_and_variance(fit.moments, fit.variance_prior)
    size, within = degrees[c, j], np.full(new.size, fit.class_variances.within[c, j])
    if c == label:
        # The mean that includes x is x / (n + 1) + ...: the sum of squares grows by n / (n + 1)
        # (x - old mean)^2 = (n + 1) / n (x - new mean)^2.
        size += 1
        within = within + (size + 1) / max(size, 1.0) * ((new - mean[:, c]) * unit) ** 2
    kind = position % (VARIANCE_DEGREES.size + 1)
    # Numbers for each value of d and draw, the same for every row: no row's draws may depend on
    # which others are predicted with it.
    chi2 = 2 * generator.gamma(
        (VARIANCE_DEGREES[:, None] + size) / 2, size=(VARIANCE_DEGREES.size, position.shape[1])
    )
    own = np.maximum(kind - 1, 0)
    factor = (VARIANCE_DEGREES[own] + within[:, None] / common[j]) / chi2[
        own, np.arange(position.shape[1])
    ]
    return np.where(kind == 0, 1.0, factor)


# --------------------------------------------------------------------------------------------------
# Continuous features as a part of an estimator
# --------------------------------------------------------------------------------------------------


_Statistic = tuple[Screened, FloatArray | None, RatioPosterior | None]
"""Rows and their moments; strengths by the user's criterion, if any; the distribution of ratios,
where it does not depend on the number of features that are kept."""


def _width(known: Known) -> Known:
    return {"n_columns": len(known["selection"].columns)}


SCORES = MaybeSection(kind=NormalScores, sizes=_width)
"""How the normal scores of the kept columns stand in files."""


@dataclass(frozen=True, slots=True)
class GaussianPart:
    """Fitted continuous features; ``scores`` transforms values to normal scores, if not None."""

    fit: Annotated[GaussianFit, INLINE]
    scores: Annotated[NormalScores | None, SCORES] = None

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> AnyArray:
        """Return the kept columns as numbers or scores; NaN is missing."""
        values = real_values(X, describe)
        return values if self.scores is None else self.scores.apply(values)

    def log_likelihood(self, values: AnyArray) -> FloatArray:
        """Return log P(x | class), shape (n, C)."""
        return self.fit.log_likelihood(values)

    def cell_evidence(self, values: AnyArray) -> FloatArray | None:
        """Return log P(cell | class), shape (n, C, k); None where features share a scale."""
        return self.fit.cell_evidence(values)

    def rows(self, values: AnyArray, rows: slice) -> AnyArray:
        """Return some rows of values that were read."""
        part: AnyArray = values[rows]
        return part

    def draw_evidence(
        self, values: AnyArray, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        return draw_gaussian_evidence(self.fit, values, n_draws, generator)


@dataclass(frozen=True, slots=True)
class GaussianTraining(NumericTraining):
    """Continuous features of a training table."""

    settings: GaussianSettings

    def _fitted(
        self,
        statistic: _Statistic,
        whole: FittedPart | None,  # noqa: ARG002 - all is learned again, which is quick
    ) -> GaussianPart:
        screened, strength, posterior = statistic
        ties = tie_breaker(self.random_state)
        fit = fit_moments(screened.moments, self.settings, strength, ties, posterior)
        settings = self.settings
        if not (settings.normal_scores or settings.class_variances):
            return GaussianPart(fit, None)
        values, scores = screened.kept(fit.selection)
        if settings.class_variances:
            fit = fit.with_class_variances(values, screened.codes)
        return GaussianPart(fit, scores)

    def _values(self, part: GaussianPart, rows: IntArray) -> AnyArray:
        columns = np.array(part.selection.columns, dtype=np.int64)
        values = RowsOf(self.source, rows).take(columns)
        return values if part.scores is None else part.scores.apply(values)

    def _statistic(self, screened: Screened) -> _Statistic:
        learned = learned_from_all(screened.moments, self.settings)
        return screened, self._strength(screened.source, screened.codes), learned

    def _strength(self, source: Source, codes: IntArray) -> FloatArray | None:
        """Return the strengths of all features by the user's criterion, where there is one."""
        criterion = self.settings.criterion
        if criterion is None:
            return None
        result = np.empty(source.shape[1])
        for block in whole_columns(source):
            columns = np.asarray(block.dense(), dtype=float).T
            result[block.columns] = criterion.strengths(columns, codes)
        return result


def real_source(X: Any, estimator: str) -> Source:
    """Wrap a dense table; refuse a sparse one."""
    refuse_sparse(X, estimator)
    return as_source(X)


def real_values(X: Any, describe: Describe) -> AnyArray:
    """Return a table of kept columns as numbers; NaN is missing, infinity refused."""
    values = dense_values(real_source(X, "this model"))
    if values.dtype.kind == "f":
        check_finite(values, describe)
    return values


def refuse_sparse(X: Any, estimator: str) -> None:
    """Refuse a sparse table, which does not hold continuous features."""
    if hasattr(X, "indptr") or hasattr(X, "tocsr"):
        msg = (
            f"Sparse input is not supported by {estimator}, which is for continuous features: pass "
            "a dense table, or use SelectiveBernoulliNB for words and other binary features."
        )
        raise TypeError(msg)


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept features
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementTable(KeptTable):
    """Base of tables of kept continuous features.

    Attributes
    ----------
    r : ndarray of shape (k,)
        Root of the share of the sum of squares between classes; for two classes the absolute
        correlation.
    centre : ndarray of shape (C, k)
        Posterior mean of the feature in each class, in the units of the data.
    spread : ndarray of shape (k,)
        Typical deviation within a class, in the same units.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    r: FloatArray
    centre: FloatArray
    spread: FloatArray
    by_design: BoolArray
    _correlation: FloatArray = field(repr=False)
    """The same as r, with its sign where there are two classes."""

    _share: ClassVar[str]
    """The attribute of a subclass that is a share."""
    _share_title: ClassVar[str]
    """What the page calls it."""

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        del names
        return {
            "by_design": self.by_design.tolist(),
            "correlation": self._correlation.tolist(),
            "centre": zip(*self.centre.tolist(), strict=True),
            "spread": self.spread.tolist(),
            self._share: getattr(self, self._share).tolist(),
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        return (
            *location_columns(self.classes),
            TableColumn(title=self._share_title, key=self._share, style="percent"),
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        centres = {
            f"centre_{label}": self.centre[c].tolist() for c, label in enumerate(self.classes)
        }
        return {
            "name": list(self.name),
            "r": self.r.tolist(),
            **centres,
            "spread": self.spread.tolist(),
            self._share: getattr(self, self._share).tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        rows = [["feature", "r", *self.classes, "spread", self._share]]
        shares = getattr(self, self._share)
        for j, name in enumerate(self.name):
            centres = (f"{centre:.4g}" for centre in self.centre[:, j])
            ends = (f"{self.spread[j]:.4g}", f"{shares[j]:.1%}")
            rows.append([name, f"{self.r[j]:.3f}", *centres, *ends])
        first, *sizes = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = []
        for (name, *cells), designed in zip(rows, (False, *self.by_design), strict=True):
            padded = (f"{cell:>{max(9, size)}}" for cell, size in zip(cells, sizes, strict=True))
            remark = "  by design" if designed else ""
            lines.append("  ".join((f"{name:<{first}}", *padded)) + remark)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianFeatureTable(MeasurementTable):
    """The kept features, strongest first, then those kept by design; centres are shrunk.

    Attributes
    ----------
    prob_null : ndarray of shape (k,)
        Posterior probability that the feature is uninformative (ratio 0).
    """

    prob_null: FloatArray
    _share: ClassVar[str] = "prob_null"
    _share_title: ClassVar[str] = "no signal"

    def _page_note(self) -> str:
        others = "class" if len(self.classes) == 2 else "classes"
        return (
            f"Centre: where the values of a class lie, shrunk towards the other {others} by as "
            "much as all features of this kind together suggest. Spread: a typical deviation "
            "within a class. “No signal” is the probability that the feature is uninformative."
        )


def correlation_with(moments: Moments) -> FloatArray:
    """Return the correlation of features with the class, with its sign for two classes, (k,)."""
    size = np.sqrt(moments.r_squared())
    if moments.mean.shape[0] > 2:
        return np.asarray(size)
    return np.asarray(np.sign(moments.mean[1] - moments.mean[0]) * size)


def in_users_units(
    centre: FloatArray, spread: FloatArray, scores: NormalScores | None
) -> tuple[FloatArray, FloatArray]:
    """Return centres, shape (C, k), and spreads, shape (k,), in the units of the table.

    For normal scores: the values with these scores, and half of the distance between the values
    one spread below and above the middle.
    """
    if scores is None:
        return centre, spread
    middle = centre.mean(axis=0)
    low, high = scores.invert(middle - spread), scores.invert(middle + spread)
    return scores.invert(centre), (high - low) / 2


def feature_table(
    part: GaussianPart, names: tuple[str, ...], classes: tuple[str, ...], _slope: float
) -> GaussianFeatureTable:
    """Return the table of the kept features."""
    fit = part.fit
    moments = fit.moments
    observed = np.broadcast_to(moments.observed, moments.mean.shape).sum(axis=0)
    degrees = 2 * fit.variance_prior.shape + np.maximum(observed - len(classes), 0)
    variance = (2 * fit.variance_prior.scale + moments.within) / degrees
    centre = np.concatenate([block.centre() for block in fit.blocks], axis=1)
    centre, spread = in_users_units(
        fit.standard.centre + fit.standard.unit * centre,
        fit.standard.unit * np.sqrt(variance),
        part.scores,
    )
    return GaussianFeatureTable(
        name=names,
        classes=classes,
        r=np.sqrt(moments.r_squared()),
        centre=centre,
        spread=spread,
        by_design=by_design(fit.selection),
        _correlation=correlation_with(moments),
        prob_null=np.concatenate([block.prob_null() for block in fit.blocks]),
    )


class SelectiveGaussianNB(SelectiveClassifier):
    """Naive Bayes for continuous features, selected by correlation and corrected for it.

    Selects the features whose class means differ most (by the F statistic; for two classes that is
    the absolute correlation), models features and classes jointly, and conditions on the discarded
    features. A feature in class c is normal with mean mu_c and variance s2; mu_c is normal around a
    common mean with variance w s2. Each feature has its own signal ratio w, whose distribution over
    features is learned from all screened features.

    Parameters
    ----------
    n_features_to_select : int, "all", "cv" or None, default=None
        How many features to keep. None: 10, or all when there are fewer. "cv": the smallest
        number with nearly the best log score on held-out cases, found inside `fit`.
    threshold : float, optional
        Instead, keep all features whose r (root of the share of the sum of squares between
        classes; the absolute correlation for two classes) is above this bound.
    feature_prior : {"auto", "learned", "heavy-tailed"}, default="auto"
        How signal is distributed over features. "learned": the distribution of signal ratios is
        estimated from all screened features. "heavy-tailed": w is a scale times the square of a
        half Cauchy variable, and the scale is integrated out. "auto": learned, except where only
        the selection event is conditioned on.
    correction : {"auto", "counts", "selection"} or None, default="auto"
        What the model is conditioned on. "counts": the means and sums of squares of every
        screened feature. "selection": the event that the others were discarded. None: neither.
        "auto": counts.
    always_keep : list of names or indices, or mask, optional
        Features kept by design, which are not ranked.
    covariates : list of names or indices, or mask, optional
        Columns such as age, sex or batch that are conditioned on and not modelled: they set the
        prior log-odds of each case. Features must not depend on them within the classes; `fit`
        warns where kept ones do. Numbers or categories.
    class_pseudocounts : float or array-like of shape (n_classes,), default=1.0
        Parameter of the Dirichlet prior of the class frequencies, in cases of each class.
    class_prior : array-like of shape (n_classes,), optional
        Prevalences where the model is used, in the order of ``classes_``.
    recalibrate : {"bayes", "slope"} or None, default="bayes"
        How probabilities are recalibrated on held-out cases. "bayes": they are averaged over a
        slope on the evidence and an outlier rate (of cases for which the features are
        uninformative), both learned from held-out predictions in `fit`. "slope": one factor on the
        evidence, plugged in.
    criterion : {"correlation", "f", "t"} or callable, default="correlation"
        What features are ranked by. The three names give the same ranking. A function gets a column
        without its missing cells and the classes of its cases, and returns a number, larger for
        features to keep; it must depend neither on the order of cases nor on the column's origin
        and unit. With correction="selection" its probability of discarding is simulated. A model
        with a function cannot be saved.
    normal_scores : bool, default=False
        Whether each column becomes the normal quantiles of its ranks among the training rows, so
        that neither its unit nor single outlying values matter.
    class_variances : bool, default=False
        Whether the variance of a kept feature may differ between classes. By how much is learned
        from the kept features.
    random_state : int, RandomState or None, default=None
        Breaks ties between features of equal strength.

    Attributes
    ----------
    selection_ : Selection
        What was kept and discarded.
    posterior_ : RatioPosterior
        Distribution of signal ratios over features.
    variance_prior_ : VariancePrior
        The prior of the features' variances, in units of each one's own variance.
    number_choice_ : NumberChoice or None
        The numbers of features that were tried, with n_features_to_select="cv".
    slope_ : float
        Posterior mean of the slope on the evidence; 1 without recalibration.
    outlier_rate_ : float
        Posterior mean of the outlier rate; 0 without recalibration.
    feature_prior_, correction_ : str or None
        What "auto" became.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_ : ndarray of shape (n_classes,)
        Training cases in each class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features, where X has them.

    References
    ----------
    Li, Zhang and Neal (2008), A method for avoiding bias from feature selection with application
    to naive Bayes classification models, Bayesian Analysis 3(1), 171-196, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from honestbayes import SelectiveGaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 3
    >>> X = rng.normal(size=(60, 500))
    >>> X[:, 0] += y
    >>> model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _kind: ClassVar[str] = "SelectiveGaussianNB"
    _kind_of_features: ClassVar[Kind] = "real"
    _explain_part = staticmethod(feature_table)
    _part_classes: ClassVar[Mapping[str, type]] = {"real": GaussianPart}
    _parameter_fields: ClassVar[Mapping[str, Field]] = {"class_variances": Parameter(absent=False)}
    _fitted_choices: ClassVar[Mapping[str, Field]] = {
        "feature_prior_": Choice("learned", "heavy-tailed"),
        "correction_": Choice("counts", "selection", None),
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | Literal["all", "cv"] | None = None,
        threshold: float | None = None,
        feature_prior: Literal["auto", "learned", "heavy-tailed"] = "auto",
        correction: Literal["auto", "counts", "selection"] | None = "auto",
        always_keep: Any = None,
        covariates: Any = None,
        class_pseudocounts: Any = 1.0,
        class_prior: Any = None,
        recalibrate: Literal["bayes", "slope"] | None = "bayes",
        criterion: Any = "correlation",
        normal_scores: bool = False,
        class_variances: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.threshold = threshold
        self.feature_prior = feature_prior
        self.correction = correction
        self.always_keep = always_keep
        self.covariates = covariates
        self.class_pseudocounts = class_pseudocounts
        self.class_prior = class_prior
        self.recalibrate = recalibrate
        self.criterion = criterion
        self.normal_scores = normal_scores
        self.class_variances = class_variances
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what inputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _training_parts(self, X: Any, labels: TrainingLabels) -> list[GaussianTraining]:
        source = real_source(X, type(self).__name__)
        always = self._always_kept(source.feature_names, source.shape[1])
        settings = gaussian_settings(self.get_params(deep=False), always, labels.classes)
        self.feature_prior_, self.correction_ = settings.feature_prior, settings.correction
        return [GaussianTraining(settings, source, labels, self.random_state)]

    @classmethod
    def _settings_of(cls, parameters: Mapping[str, Any], always_keep: BoolArray) -> Any:
        return gaussian_settings(parameters, always_keep)

    def _store(self, parts: Sequence[FittedPart]) -> None:
        (part,) = parts
        assert isinstance(part, GaussianPart)
        self._fit = part.fit
        self.selection_: Selection = part.fit.selection
        self.posterior_: RatioPosterior = part.fit.posterior
        self.variance_prior_: VariancePrior = part.fit.variance_prior

    # --------------------------------------------------------------- explanation

    def feature_table(self) -> GaussianFeatureTable:
        """Return the centre of each kept feature in each class, and P(it is uninformative)."""
        table: GaussianFeatureTable = super().feature_table()
        return table
