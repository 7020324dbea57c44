"""The model of `SelectiveBernoulliNB`: binary features of two classes, after selection.

Equation numbers are those of Li, Zhang and Neal (2008). Feature j is 1 in class c with probability
phi_cj, and phi_0j, phi_1j ~ Beta(alpha theta_j, alpha (1 - theta_j)): a large alpha makes a feature
nearly alike in both classes. Two priors:

- uniform (the paper's): one alpha for all features, theta uniform. The posterior of alpha is its
  prior x the likelihood of the kept features x the probability of what is known of the discarded
  ones (equation 26): that they were discarded, or their counts.
- learned: each feature has an alpha of its own, from a distribution that is learned from the counts
  of all screened features. That distribution is uncertain too; it is averaged over a few shapes.

Both end in a `PredictiveTable` of log P(x | class) at nodes (alphas or shapes) with weights, from
which predictions follow. All of it depends on the data only through counts, which a `Screening`
holds: tables of any kind and size are fitted alike, and leave-one-out needs new counts only.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from scipy.special import expit, log_expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.base.alpha_posterior import AlphaPosterior
from honestbayes.base.explanation import KeptTable, TableColumn, TableNames, by_design
from honestbayes.base.intervals import systematic
from honestbayes.base.parameters import (
    Correction,
    SelectionSettings,
    criterion_of,
    positive_pair,
    prior_and_correction,
    selection_rule,
    theta_interval,
    tolerance_of,
)
from honestbayes.base.part import Describe, FittedPart, FoldMemo, TrainingPart, tie_breaker
from honestbayes.correction.discard import (
    CountRegion,
    Ties,
    group_probabilities,
    region_by_criterion,
    region_probabilities,
)
from honestbayes.correction.event import event_of
from honestbayes.data import Binarization, Source, as_source
from honestbayes.data.binarization import BinarizeOption
from honestbayes.data.source import Remembered, RowsOf, dense_values
from honestbayes.files.fields import (
    CLOSE,
    GIVEN,
    Check,
    Entries,
    Floats,
    Interval,
    Known,
    LogProbabilities,
    Logs,
    LogWeights,
    MaybeSection,
    Number,
    OneOf,
    Plain,
    joined,
    record_from_plain,
    record_to_plain,
)
from honestbayes.likelihood.counts import (
    TABLES_UP_TO,
    CountLikelihood,
    DistinctCounts,
    GivenMargin,
    distinct_counts,
)
from honestbayes.likelihood.learned_alpha import ALPHA_TOLERANCE, LearnedDistribution
from honestbayes.likelihood.learned_prior import LearnedPrior, feature_likelihood, learn_prior
from honestbayes.likelihood.quadrature import (
    EXACT_UP_TO,
    AlphaPrior,
    LineRule,
    Nodes,
    ThetaRule,
    Values,
    finite_alpha,
    integrate_log_alpha,
    paper_alpha_nodes,
    simpson_rule,
    theta_rule,
)
from honestbayes.selection import Selection, select
from honestbayes.selection.correlation import rank_by_criterion
from honestbayes.selection.counts import Screening, correlation, screen_source
from honestbayes.selection.criteria import Criterion, table_strengths
from honestbayes.selection.leave_out import leave_out
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# Settings
# --------------------------------------------------------------------------------------------------


Quadrature = Literal["adaptive", "paper"]


@dataclass(frozen=True, slots=True)
class CommonAlphaSettings:
    """Priors and quadrature of the model with one alpha for all features."""

    alpha_prior: AlphaPrior
    theta_interval: tuple[float, float]
    quadrature: Quadrature
    tolerance: float
    criterion: Criterion | None = None
    """What features are ranked by, where it is not the correlation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliSettings(SelectionSettings):
    """Validated parameters of the binary model."""

    feature_prior: Literal["learned", "uniform"]
    correction: Correction
    model: CommonAlphaSettings
    class_pseudocounts: tuple[float, float]


def bernoulli_settings(
    params: Mapping[str, Any],
    always_keep: BoolArray,
    classes: AnyArray | None = None,
    *,
    only_event: bool = False,
) -> BernoulliSettings:
    """Turn the constructor's parameters into settings; raise an error where they are wrong.

    ``only_event`` is for features that were selected elsewhere: of the others it is only known
    that they were discarded. ``classes`` are the labels that a user's criterion gets.
    """
    quadrature = params["quadrature"]
    if quadrature not in get_args(Quadrature):
        msg = f"quadrature={quadrature!r} is not one of 'adaptive', 'paper'."
        raise ValueError(msg)
    published = only_event or quadrature == "paper"
    auto: Correction = "selection" if published else "counts"
    prior, correction = prior_and_correction(params, "uniform", auto=auto, published=published)
    if prior == "learned" and quadrature == "paper":
        msg = "quadrature='paper' needs feature_prior='uniform'."
        raise ValueError(msg)
    if only_event and (correction == "counts" or prior == "learned"):
        msg = (
            "fit_selected has no counts of the discarded features; use feature_prior='uniform' "
            "and correction='selection' or None."
        )
        raise ValueError(msg)
    criterion = criterion_of(params, "categorical", ("correlation",), classes)
    if criterion is not None and quadrature == "paper":
        msg = "quadrature='paper' is for criterion='correlation', as published."
        raise ValueError(msg)
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return BernoulliSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        model=CommonAlphaSettings(
            AlphaPrior(*positive_pair(params, "alpha_prior")),
            theta_interval(params),
            quadrature,
            tolerance_of(params),
            criterion,
        ),
        class_pseudocounts=positive_pair(params, "class_pseudocounts"),
    )


# --------------------------------------------------------------------------------------------------
# Prediction, given the nodes of a posterior
# --------------------------------------------------------------------------------------------------


_CHUNK_CELLS = 1 << 19
_CHUNK_ROWS = 256
"""Rows are predicted in chunks of so many cells, but at least so many rows."""


@dataclass(frozen=True, slots=True)
class PredictiveTable:
    """P(x_j = 1 | class, node, data) of each feature of a block.

    P(y* = c, x* | data) = psi_c sum_a w_a prod_j P(x*_j | c, a, data), equations 19 to 22: the
    product over features is inside the sum over nodes, because all features share the node. The
    class probabilities must not be averaged with the weights w_a instead: these are the posterior
    given the training data, and x* itself is evidence about the node.

    Attributes
    ----------
    log_weight : ndarray of shape (A,)
        Log posterior weights of the nodes.
    log_one, log_zero : ndarray of shape (2, A, k)
        Log probabilities of a one and of a zero, per class and node.
    """

    log_weight: Annotated[FloatArray, LogWeights("nodes")]
    log_one: Annotated[FloatArray, LogProbabilities(2, "nodes", "n_kept")]
    log_zero: Annotated[FloatArray, LogProbabilities(2, "nodes", "n_kept")]

    def check(self, check: Check) -> None:
        """Refuse values that are not probabilities of a one and of a zero."""
        both = np.exp(self.log_one) + np.exp(self.log_zero)
        good = np.all(np.abs(both - 1) <= CLOSE)
        check(good, "log_one", "and log_zero are not probabilities")

    @classmethod
    def of_columns(
        cls, log_weight: FloatArray, log_one: FloatArray, log_zero: FloatArray, columns: IntArray
    ) -> PredictiveTable:
        """Expand tables of distinct counts to features.

        Arrays are in C order, in which files store them, so that sums have the same order (and the
        same rounding) after loading.
        """
        return cls(
            log_weight,
            np.ascontiguousarray(log_one[..., columns]),
            np.ascontiguousarray(log_zero[..., columns]),
        )

    def log_likelihood(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class c, data), shape (n, 2), for 0/1 data of shape (n, k)."""
        n, k = ones.shape
        result = np.empty((n, 2))
        step = max(_CHUNK_ROWS, _CHUNK_CELLS // max(k, 1))
        flat = self._flat()
        for start in range(0, n, step):
            rows = slice(start, start + step)
            unobserved = None if missing is None else missing[rows]
            terms = self._node_terms(ones[rows], unobserved, *flat) + self.log_weight
            # Log-sum-exp: with thousands of features every term would underflow.
            top = terms.max(axis=2, keepdims=True)
            result[rows] = (top[:, :, 0] + np.log(np.exp(terms - top).sum(axis=2))).T
        return result

    def node_log_likelihood(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class, node), shape (2, n, A), without the nodes' weights."""
        return self._node_terms(ones, missing, *self._flat())

    def _flat(self) -> tuple[FloatArray, FloatArray]:
        """Return log P(1) - log P(0), and log P(0), with classes and nodes in one axis, (2 A, k).

        Then a row's log likelihoods are one product of its ones with a matrix, plus the sum of all
        zeros.
        """
        shape = (2 * self.log_weight.size, self.log_one.shape[2])
        zero = self.log_zero.reshape(shape)
        return self.log_one.reshape(shape) - zero, zero

    def _node_terms(
        self, ones: AnyArray, missing: BoolArray | None, gain: FloatArray, zero: FloatArray
    ) -> FloatArray:
        x = ones.astype(float)
        if missing is None:
            terms = x @ gain.T + zero.sum(axis=1)
        else:
            # A missing cell adds neither: integrated out, its factor is P(0) + P(1) = 1.
            observed = (~missing).astype(float)
            terms = (x * observed) @ gain.T + observed @ zero.T
        return np.asarray(terms.reshape(-1, 2, self.log_weight.size).transpose(1, 0, 2))

    def cumulative_log_odds(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return the evidence of the first m = 0, 1, ..., k features, shape (n, k + 1).

        Evidence is log P(x_1..x_m | class 1) - log P(x_1..x_m | class 0). The cumulative sum is
        taken at each node, before nodes are averaged: the evidence of single features does not add
        up, because they inform each other about the node.
        """
        n, k = ones.shape
        result = np.zeros((n, k + 1))
        for row in range(n):
            x = ones[row].astype(bool)
            terms = np.where(x, self.log_one, self.log_zero)
            if missing is not None:
                terms = np.where(missing[row], 0.0, terms)
            sums = np.cumsum(terms, axis=2) + self.log_weight[:, None]
            by_class = logsumexp(sums, axis=1)
            result[row, 1:] = by_class[1] - by_class[0]
        return result


def beta_binomial_table(
    log_weight: FloatArray,
    alpha: FloatArray,
    mean_theta: FloatArray,
    ones: IntArray,
    observed: IntArray,
    inverse: IntArray,
) -> PredictiveTable:
    """Tabulate P(x* = 1 | c, data, alpha) = (alpha E[theta] + I_c) / (alpha + N_c).

    Given theta, phi_c is Beta(alpha theta + I_c, alpha (1 - theta) + N_c - I_c), whose mean is
    linear in theta: only the posterior mean of theta is needed. That of a zero is computed from
    its own counts, not as 1 - P(1), which would lose digits where P(1) is near 1.

    Parameters
    ----------
    log_weight, alpha : ndarray of shape (A,)
        Posterior nodes.
    mean_theta : ndarray of shape (A, D)
        E[theta | counts, alpha] of distinct counts.
    ones, observed : ndarray of shape (2, D)
        Distinct counts.
    inverse : ndarray of shape (k,)
        Index of each feature's counts.
    """
    a = alpha[:, None]
    total = np.log(a + observed[:, None, :])
    log_one = np.log(a * mean_theta + ones[:, None, :]) - total
    log_zero = np.log(a * (1.0 - mean_theta) + (observed - ones)[:, None, :]) - total
    return PredictiveTable.of_columns(log_weight, log_one, log_zero, inverse)


# --------------------------------------------------------------------------------------------------
# Counts of the features that share an alpha
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Features that share an alpha: the kept ones, and discarded ones whose counts are used.

    Features with the same counts have the same likelihood, so that all work is done once for each
    of D distinct counts.

    Attributes
    ----------
    counts : DistinctCounts
        Distinct counts of the kept features, or of all where all counts are conditioned on.
    kept : ndarray of shape (k,)
        Index of each kept feature's counts.
    others : ndarray of shape (D,)
        Number of discarded features with these counts that are conditioned on.
    """

    counts: DistinctCounts
    kept: IntArray
    others: IntArray

    def to_plain(self) -> Plain:
        """Return counts as plain data, without what follows from the rest."""
        arrays = {
            "ones": self.counts.ones,
            "observed": self.counts.observed,
            "kept": self.kept,
            "others": self.others,
        }
        baselines = self.counts.baselines
        return {}, arrays if baselines is None else {**arrays, "baselines": baselines}

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> FeatureBlock:
        """Return the block that `to_plain` described; refuse counts that cannot be."""
        cases = np.array(known["selection"].class_counts, dtype=np.int64)[:, None]
        observed = entries.counts("observed", (2, None), cases)
        n_distinct = observed.shape[1]
        ones = entries.counts("ones", (2, n_distinct), observed)
        kept = entries.counts("kept", (known["n_kept"],), n_distinct - 1)
        occurs = np.bincount(kept, minlength=n_distinct)
        entries.check(np.all(occurs > 0), "kept", "leaves counts that no feature has")
        others = entries.counts("others", (n_distinct,))
        baselines = (
            entries.counts("baselines", (n_distinct,)) if entries.holds("baselines") else None
        )
        entries.check(
            baselines is None or np.all(baselines > 0), "baselines", "holds an impossible number"
        )
        return cls(
            DistinctCounts(
                ones=ones,
                observed=observed,
                multiplicity=others + occurs,
                inverse=kept,
                baselines=baselines,
            ),
            kept,
            others,
        )

    def kept_counts(self) -> tuple[IntArray, IntArray]:
        """Return ones and observed cases of each kept feature, each of shape (2, k)."""
        return self.counts.ones[:, self.kept], self.counts.observed[:, self.kept]

    def kept_distinct(self) -> tuple[IntArray, IntArray]:
        """Return the indices of the kept features' distinct counts, and each feature's in these."""
        used, index = np.unique(self.kept, return_inverse=True)
        return used, index

    def without_others(self) -> FeatureBlock:
        """Return the block without counts that no kept feature has.

        Prediction does not need them, and they may be as many as the screened features.
        """
        used, index = self.kept_distinct()
        if used.size == self.counts.multiplicity.size:
            return FeatureBlock(replace(self.counts, inverse=self.kept), self.kept, self.others)
        return FeatureBlock(self.counts.only(used, index), index, self.others[used])

    @property
    def kept_multiplicity(self) -> IntArray:
        """Number of kept features with each of the distinct counts, shape (D,)."""
        return np.bincount(self.kept, minlength=self.counts.multiplicity.size)


def feature_block(
    ones: IntArray,
    observed: IntArray,
    kept: IntArray,
    conditioned: IntArray | None = None,
    *,
    symmetric: bool = False,
) -> FeatureBlock:
    """Build a block from counts of shape (2, p).

    Parameters
    ----------
    ones, observed : ndarray of shape (2, p)
        Ones and observed cases by class; ``observed`` may have one column for all features.
    kept, conditioned : ndarray of int
        Kept features, and discarded ones whose counts are conditioned on.
    symmetric : bool
        Whether the prior of theta is symmetric about 1/2. Then ones and zeros can be swapped
        without changing a likelihood, and discarded features with mostly ones are, which leaves
        half as many distinct counts.
    """
    single = observed.shape[1] == 1
    columns = kept if conditioned is None else np.concatenate([kept, conditioned])
    cases = observed if single else observed[:, columns]
    chosen = ones[:, columns]
    if symmetric:
        mirrored = 2 * chosen.sum(axis=0) > cases.sum(axis=0)
        mirrored[: kept.size] = False  # predictions need these as they are
        chosen = np.where(mirrored, cases - chosen, chosen)
    counts = distinct_counts(chosen, cases)
    others = np.bincount(counts.inverse[kept.size :], minlength=counts.multiplicity.size)
    return FeatureBlock(counts, counts.inverse[: kept.size], others)


# --------------------------------------------------------------------------------------------------
# The uniform prior: one alpha for all features of a block
# --------------------------------------------------------------------------------------------------


_REFINEMENTS = (1.0, 2.0, 4.0)
"""Factors on the number of theta nodes, tried until the error over theta is small enough."""

_ROUNDING_PER_CASE = 1e-14
"""Rounding error of a log likelihood for each case, which no finer rule reduces."""

_THREADS_ABOVE = 20_000
"""Number of cases above which the probability of selection is computed in threads."""


@dataclass(frozen=True, slots=True)
class CommonAlphaFit:
    """A fitted block: the posterior of alpha and the predictive table.

    ``block`` has the kept features only; the others are accounted for in the posterior.
    """

    posterior: AlphaPosterior
    table: PredictiveTable
    block: FeatureBlock
    interval: Annotated[tuple[float, float], Interval()]

    def check(self, check: Check) -> None:
        """Refuse a table that does not belong to the posterior."""
        log_weight, weights = self.table.log_weight, self.posterior.weights
        same = log_weight.size == weights.size and np.allclose(
            np.exp(log_weight), weights, rtol=0, atol=CLOSE
        )
        check(same, "posterior.weights", "differs from the weights of the table")


def fit_common_alpha(
    block: FeatureBlock,
    selection: Selection | None,
    settings: CommonAlphaSettings,
    probes: AnyArray,
) -> CommonAlphaFit:
    """Compute the posterior of alpha of one block of features (equation 26).

    The integral over log(alpha) is adaptive (`integrate_log_alpha`). Its error is judged by the
    evidence and by the log-odds of ``probes``, not by the posterior alone: the log-odds of a case
    are a ratio of two other integrals over the same nodes, whose integrands may peak elsewhere.

    Parameters
    ----------
    block : FeatureBlock
        Kept features and, where all counts are conditioned on, the others.
    selection : Selection or None
        The event to condition on; None for no event.
    settings : CommonAlphaSettings
        Priors and quadrature.
    probes : ndarray of shape (r, k)
        Cases (0/1) like the training cases, whose log-odds decide when the rule is fine enough.
    """
    if settings.quadrature == "paper":
        return _fit_paper(block, selection, settings, probes)
    for refine in _REFINEMENTS:
        density = _AlphaDensity(block, selection, settings, probes, refine=refine)
        rule = integrate_log_alpha(
            density.evaluate, scan_range(settings.alpha_prior), tolerance=settings.tolerance
        )
        theta_error = _theta_error(block, selection, settings, probes, rule, density, refine)
        # More nodes do not reduce rounding in sums over n cases.
        if theta_error <= max(settings.tolerance, _ROUNDING_PER_CASE * density.n_cases):
            theta_error = min(theta_error, settings.tolerance)
            break
    error = max(rule.error, theta_error)
    if error > settings.tolerance:
        warnings.warn(
            f"the integral over alpha and theta has an estimated error of {error:.1e}, above the "
            f"tolerance {settings.tolerance:.1e}; log-odds may be off by that much.",
            ConvergenceWarning,
            stacklevel=3,
        )
    posterior = AlphaPosterior(
        alpha=finite_alpha(rule.log_alpha),
        weights=rule.weight,
        log_prob_selection=np.array([value[1] for value in rule.values]),
        log_density=rule.log_density,
        error=error,
        tolerance=settings.tolerance,
    )
    mean_theta = np.stack([value[0] for value in rule.values])
    table = _table(block, rule.log_weight, posterior.alpha, mean_theta)
    return CommonAlphaFit(posterior, table, block.without_others(), settings.theta_interval)


def _table(
    block: FeatureBlock, log_weight: FloatArray, alpha: FloatArray, mean_theta: FloatArray
) -> PredictiveTable:
    """Tabulate the kept features; ``mean_theta`` is that of their distinct counts."""
    used, index = block.kept_distinct()
    ones, observed = block.counts.ones[:, used], block.counts.observed[:, used]
    return beta_binomial_table(log_weight, alpha, mean_theta, ones, observed, index)


def _fit_paper(
    block: FeatureBlock,
    selection: Selection | None,
    settings: CommonAlphaSettings,
    probes: AnyArray,
) -> CommonAlphaFit:
    """Fit by the published rule: 30 prior quantiles, 21 Simpson points, "at most gamma"."""
    alpha = paper_alpha_nodes(settings.alpha_prior)
    density = _AlphaDensity(
        block,
        selection,
        settings,
        probes,
        rule=simpson_rule(settings.theta_interval),
        ties="at_most",
    )
    nodes = density.evaluate(np.log(alpha))
    prior = settings.alpha_prior.log_density_of_log(np.log(alpha))
    # The nodes are equally spaced quantiles of the prior, each of which has the same prior
    # probability: the weights are the likelihoods alone, and the prior must not count again.
    log_weight = nodes.log_density - prior
    log_weight -= logsumexp(log_weight)
    posterior = AlphaPosterior(
        alpha=alpha,
        weights=np.exp(log_weight),
        log_prob_selection=np.array([value[1] for value in nodes.values]),
        log_density=log_weight + np.log(alpha.size) + prior,
        error=np.nan,
        tolerance=settings.tolerance,
    )
    mean_theta = np.stack([value[0] for value in nodes.values])
    table = _table(block, log_weight, alpha, mean_theta)
    return CommonAlphaFit(posterior, table, block.without_others(), settings.theta_interval)


class _AlphaDensity:
    """The log posterior density of log(alpha), with E[theta] and log P(S) at each node."""

    def __init__(
        self,
        block: FeatureBlock,
        selection: Selection | None,
        settings: CommonAlphaSettings,
        probes: AnyArray,
        *,
        rule: ThetaRule | None = None,
        refine: float = 1.0,
        ties: Ties | None = None,
    ) -> None:
        self._block = block
        self._selection = selection if selection is not None and selection.n_discarded else None
        self._settings = settings
        self._probes = probes
        self._rule = rule
        self._refine = refine
        self._ties = ties
        self._kept_multiplicity = block.kept_multiplicity
        self._used, _ = block.kept_distinct()
        self._likelihood = CountLikelihood(block.counts, settings.theta_interval, rule, refine)
        self._where = _regions_by_criterion(self._selection, settings.criterion)
        sizes = [int(np.sum(block.counts.observed, axis=0).max(initial=0))]
        if self._selection is not None:
            sizes.append(sum(self._selection.class_counts))
        self.n_cases = max(sizes)

    def evaluate(self, log_alpha: FloatArray) -> Nodes:
        """Return the density at some nodes, and the log likelihoods of the probes there."""
        alpha = finite_alpha(log_alpha)
        parts, regions = [], []
        for node in alpha.tolist():
            parts.append(self._likelihood(node))
            if self._selection is not None and self.n_cases <= _THREADS_ABOVE:
                regions.append(self._region(node))  # now, while tables of this alpha are cached
        log_likelihood = np.stack([part[0] for part in parts])
        # The discarded features: their counts, where these are conditioned on (others > 0), or the
        # event that their correlations were too small, P(S | alpha) of equation 28; or neither.
        log_event = log_likelihood @ self._block.others
        if self._selection is not None:
            if not regions:  # kernels of a second or so, which release the GIL
                regions = Parallel(n_jobs=-1, prefer="threads")(
                    delayed(self._region)(node) for node in alpha.tolist()
                )
            beyond, tied = np.moveaxis(np.array(regions), -1, 0)
            bound = self._selection.strength_bound
            event = event_of(self._selection, self._selection.gamma if bound is None else bound)
            event = event if self._ties is None else replace(event, ties=self._ties)
            log_event = log_event + event.log_prob(beyond, tied)
        # Equation 26 in logs. The prior's density is that of log(alpha), the integration variable.
        log_density = (
            self._settings.alpha_prior.log_density_of_log(log_alpha)
            + log_likelihood @ self._kept_multiplicity
            + log_event
        )
        mean_theta = np.stack([part[1][self._used] for part in parts])
        values: list[Values] = list(zip(mean_theta, log_event, strict=True))
        table = _table(self._block, np.zeros(alpha.size), alpha, mean_theta)
        # P(probe | class, node): the integrals of predictions are those of density x tilt.
        tilt = np.moveaxis(table.node_log_likelihood(self._probes, None), 2, 0)
        return Nodes(log_density, values, tilt)

    def _region(self, alpha: float) -> list[tuple[float, float]]:
        """Return P(|COR| > gamma) and P(|COR| = gamma) of a feature of each discarded group.

        By another criterion, the same for its strength and its bound.
        """
        selection = self._selection
        assert selection is not None
        if self._where is not None:
            return [
                region_probabilities(alpha, where, self._theta(sum(group.observed), alpha))
                for where, group in zip(self._where, selection.groups, strict=True)
            ]
        bounds = [selection.gamma_squared] * len(selection.groups)
        return group_probabilities(alpha, selection.groups, bounds, self._theta)

    def _theta(self, n_cases: int, alpha: float) -> ThetaRule:
        if self._rule is not None:
            return self._rule
        return theta_rule(n_cases, alpha, self._settings.theta_interval, refine=self._refine)


def _regions_by_criterion(
    selection: Selection | None, criterion: Criterion | None
) -> list[CountRegion] | None:
    """Return the counts beyond the bound in each discarded group; None for the correlation."""
    if selection is None or criterion is None:
        return None
    check_all_counts(selection.class_counts, criterion, "correction='counts'")
    bound = selection.strength_bound
    assert bound is not None
    return [
        region_by_criterion(group.observed[0], group.observed[1], criterion, bound)
        for group in selection.groups
    ]


def check_all_counts(class_counts: Sequence[int], criterion: Criterion, instead: str) -> None:
    """Refuse classes of more cases than the region of a criterion is listed for."""
    if max(class_counts) > TABLES_UP_TO:
        msg = (
            f"criterion={criterion.name!r} with correction='selection' goes through all counts of "
            f"both classes, of up to {TABLES_UP_TO} cases each; use {instead}."
        )
        raise ValueError(msg)


def scan_range(prior: AlphaPrior) -> tuple[float, float]:
    """Return the range in which the search for the mode of log(alpha) begins."""
    low, high = np.log(prior.quantiles(np.array([1e-3, 0.999])))
    return float(low), float(high)


def _theta_error(
    block: FeatureBlock,
    selection: Selection | None,
    settings: CommonAlphaSettings,
    probes: AnyArray,
    rule: LineRule,
    density: _AlphaDensity,
    refine: float,
) -> float:
    """Estimate the error of the sums over theta, at the three nodes of most weight.

    Up to `EXACT_UP_TO` cases there is none: equation 18 is a polynomial in theta, for which Gauss's
    rule is exact.
    """
    if density.n_cases <= EXACT_UP_TO:
        return 0.0
    heaviest = np.sort(np.argsort(-rule.weight)[:3])
    log_alpha = rule.log_alpha[heaviest]
    finer = _AlphaDensity(block, selection, settings, probes, refine=1.5 * refine)
    difference = finer.evaluate(log_alpha).log_density - density.evaluate(log_alpha).log_density
    # An error that all nodes share cancels when the density is normalised.
    return float(np.max(np.abs(difference - difference.mean())))


# --------------------------------------------------------------------------------------------------
# The learned prior: each feature has an alpha of its own
# --------------------------------------------------------------------------------------------------


_NEGLIGIBLE = 1e-10
"""Share of an atom of alpha below which it is left out of sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFit:
    """A fitted block: given the shape, each kept feature has its own posterior over atoms of alpha.

    A shape is a distribution of alpha over features, on atoms. The nodes of ``table`` are the
    shapes. ``log_atom_weight``, of shape (A, D), is the log prior weight of each atom, averaged
    over shapes, less the log likelihood of the number of ones where a cut at the median has fixed
    that number: what the analyst has chosen is no evidence.
    """

    posterior: AlphaPosterior
    table: PredictiveTable
    prior: LearnedPrior
    block: FeatureBlock
    log_atom_weight: Annotated[FloatArray, Logs("atoms", "distinct")]

    def check(self, check: Check) -> None:
        """Refuse parts that do not fit together."""
        alpha, weights = self.prior.alpha, self.log_atom_weight
        check(self.posterior.edges is not None, "posterior.edges", "is missing")
        nodes = np.exp(self.table.log_weight)
        same = nodes.shape == self.prior.shape_weights.shape
        same = same and np.allclose(nodes, self.prior.shape_weights, rtol=0, atol=CLOSE)
        check(same, "table.log_weight", "differs from the weights of the shapes")
        same = np.array_equal(alpha, self.posterior.alpha)
        check(same, "posterior.alpha", "differs from the prior's")
        fits = weights.shape == (alpha.size, self.block.others.size)
        check(fits, "log_atom_weight", f"is an array of shape {weights.shape}")
        known = np.all(np.isfinite(weights[self.prior.alpha_weights > 0]))
        check(known, "log_atom_weight", "has no weight where the prior has some")

    def log_atom_weight_given(self, shape: int, atoms: IntArray) -> FloatArray:
        """Return the log weight of some atoms under one shape, shape (atoms, D)."""
        share = self.prior.shapes[shape, atoms] / self.prior.alpha_weights[atoms]
        with np.errstate(divide="ignore"):
            return np.asarray(self.log_atom_weight[atoms] + np.log(share)[:, None])


def fit_learned(block: FeatureBlock, prior: LearnedPrior) -> LearnedFit:
    """Fit each kept feature by its own posterior over alpha, given the learned prior.

    With shapes s of posterior probability W_s and atoms a with shares g_s(a),

    P(x* | class c, data) = sum_s W_s prod_j sum_a w_sj(a) P(x*_j | c, a, counts of j),

    where w_sj(a) is proportional to g_s(a) P(counts of j | a). Features are independent given the
    shape only, so the product over features is inside the sum over shapes. Selection needs no
    further correction: the prior was learned from the counts of all screened features, and given
    all counts it does not matter which of them were kept.
    """
    counts = block.counts
    likelihood = feature_likelihood(counts, prior)
    parts = [likelihood(float(alpha)) for alpha in prior.alpha]
    log_likelihood = np.stack([part[0] for part in parts])
    kept_log_likelihood = log_likelihood @ block.kept_multiplicity
    used = np.flatnonzero(prior.alpha_weights > _NEGLIGIBLE)
    mean_theta = np.stack([part[1] for part in parts])[used]
    a = prior.alpha[used][:, None]
    i, n = counts.ones[:, None], counts.observed[:, None]
    one = (a * mean_theta + i) / (a + n)
    zero = (a * (1 - mean_theta) + n - i) / (a + n)
    log_one = np.empty((2, prior.shape_weights.size, counts.multiplicity.size))
    log_zero = np.empty(log_one.shape)
    for s, shape in enumerate(prior.shapes[:, used]):
        # Normalised over the shape's own atoms: under a shape with one alpha for all, a strong
        # feature may be so improbable that its likelihoods underflow beside those of other atoms,
        # and its weights would be 0 / 0.
        own = np.flatnonzero(shape > _NEGLIGIBLE)
        log_weight = log_likelihood[used[own]] + np.log(shape[own])[:, None]
        weight = np.exp(log_weight - log_weight.max(axis=0, initial=-np.inf))
        weight /= weight.sum(axis=0)
        log_one[:, s] = np.log((weight * one[:, own]).sum(axis=1))
        log_zero[:, s] = np.log((weight * zero[:, own]).sum(axis=1))
    table = PredictiveTable.of_columns(np.log(prior.shape_weights), log_one, log_zero, block.kept)
    if not prior.converged:
        warnings.warn(
            "EM for the learned prior reached its limit of steps before it converged; the learned "
            "distribution of features may fit less well than it could.",
            ConvergenceWarning,
            stacklevel=3,
        )
    with np.errstate(divide="ignore"):
        log_atom_weight = np.repeat(
            np.log(prior.alpha_weights)[:, None], counts.multiplicity.size, axis=1
        )
    if isinstance(likelihood, GivenMargin):
        log_atom_weight -= np.stack([likelihood.log_margin(float(a)) for a in prior.alpha])
    shape = LearnedDistribution(
        weights=prior.alpha_weights,
        shapes=prior.shapes,
        shape_weights=prior.shape_weights,
        family=prior.family,
        free=prior.free,
        path=prior.path,
        converged=prior.converged,
    )
    posterior = as_posterior(prior.alpha, shape, prior.log_likelihood, kept_log_likelihood)
    return LearnedFit(
        posterior=posterior, table=table, prior=prior, block=block, log_atom_weight=log_atom_weight
    )


def as_posterior(
    alpha: FloatArray,
    shape: LearnedDistribution,
    log_likelihood: FloatArray,
    kept_log_likelihood: FloatArray,
) -> AlphaPosterior:
    """Return the distribution of alpha over features in the form of a posterior, for users.

    Parameters
    ----------
    alpha : ndarray of shape (A,)
        Atoms.
    shape : LearnedDistribution
        Share of the features at each atom.
    log_likelihood, kept_log_likelihood : ndarray of shape (A,)
        Log likelihood of all features, and of the kept ones, if all had the atom's alpha.
    """
    t = np.log(alpha)
    first, last = t[1] - t[0], min(t[-1] - t[-2], 1.0)
    edges = np.concatenate([[t[0] - first / 2], (t[1:] + t[:-1]) / 2, [t[-1] + last / 2]])
    weights = shape.weights / shape.weights.sum()
    gain = float(shape.path[-1] - shape.path[-2]) if shape.path.size > 1 else 0.0
    return AlphaPosterior(
        alpha=alpha,
        weights=weights,
        log_prob_selection=log_likelihood - kept_log_likelihood,
        log_density=np.log(np.maximum(weights, 1e-300) / np.diff(edges)),
        error=gain,
        tolerance=ALPHA_TOLERANCE,
        edges=edges,
    )


# --------------------------------------------------------------------------------------------------
# The whole model, from the counts of a screening
# --------------------------------------------------------------------------------------------------


_N_PROBES = 16
"""Number of made-up cases whose log-odds control the quadrature."""


def _n_ranked(known: Known) -> Known:
    """Return how many features were selected by their rank, for lengths of arrays in files."""
    return {"n_kept": len(known["selection"].kept)}


def _n_by_design(known: Known) -> Known:
    """Return how many features were kept by design, for lengths of arrays in files."""
    return {"n_kept": len(known["selection"].always_kept)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliFit:
    """A fitted model: a block of selected features, and one of features kept by design.

    Features kept by design were not ranked, so they share no alpha with the selected ones, and
    nothing about them needs a correction.

    Attributes
    ----------
    selection : Selection
        What was kept and discarded.
    ranked, by_design : CommonAlphaFit or LearnedFit, or None
        The fitted blocks; None where no feature was kept by design.
    log_prior_odds : float
        Log of P(class 1) / P(class 0) before features are seen (equation 17).
    binarization : Binarization
        How values of the kept columns become 0/1.
    correlation : ndarray of shape (k,)
        Training correlation of each kept column with the class.
    """

    selection: Annotated[Selection, GIVEN]
    ranked: Annotated[
        CommonAlphaFit | LearnedFit,
        OneOf(
            by="learned",
            kinds={True: LearnedFit, False: CommonAlphaFit},
            sizes=_n_ranked,
        ),
    ]
    by_design: Annotated[
        CommonAlphaFit | None,
        MaybeSection(
            kind=CommonAlphaFit,
            sizes=_n_by_design,
        ),
    ]
    log_prior_odds: Annotated[float, Number(-2000.0, 2000.0)]
    binarization: Binarization
    correlation: Annotated[FloatArray, Floats("n_columns", low=-1 - CLOSE, high=1 + CLOSE)]

    def check(self, check: Check) -> None:
        """Refuse blocks and correlations that do not fit the selection and the counts."""
        selection = self.selection
        fits = (self.by_design is None) == (not selection.always_kept)
        check(fits, "by_design", "does not fit the selection")
        counts = [block.block.kept_counts() for block in self.blocks]
        expected = correlation(
            *(np.concatenate(part, axis=1) for part in zip(*counts, strict=True))
        )
        same = np.allclose(self.correlation, expected, rtol=0, atol=CLOSE)
        check(same, "correlation", "is not that of the counts")
        weakest = np.square(expected[: len(selection.kept)]).min(initial=1.0)
        strong = weakest >= float(selection.gamma_squared) - CLOSE
        check(strong, "correlation", "is weaker than the bound of the selection")
        others = sum(self.ranked.block.others.tolist())
        check(others <= selection.n_discarded, "ranked.block.others", "are more than discarded")

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen, relative to class 0, shape (2,)."""
        return np.array([0.0, self.log_prior_odds])

    @property
    def blocks(self) -> list[CommonAlphaFit | LearnedFit]:
        """The fitted blocks, in the order of ``selection.columns``."""
        return [self.ranked] if self.by_design is None else [self.ranked, self.by_design]

    def column_slices(self) -> list[slice]:
        """Return the positions of each block's columns among the kept ones."""
        k = len(self.selection.kept)
        return [slice(0, k), slice(k, k + len(self.selection.always_kept))][: len(self.blocks)]

    def evidence(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class 1) - log P(x | class 0), shape (n,), for 0/1 data (n, k)."""
        total = np.zeros(ones.shape[0])
        for block, columns in zip(self.blocks, self.column_slices(), strict=True):
            unobserved = None if missing is None else missing[:, columns]
            log_likelihood = block.table.log_likelihood(ones[:, columns], unobserved)
            total += log_likelihood[:, 1] - log_likelihood[:, 0]
        return total


def fit_screening(
    screening: Screening,
    settings: BernoulliSettings,
    random_state: np.random.RandomState | None,
    learned: LearnedPrior | None = None,
) -> BernoulliFit:
    """Select, correct and fit from counts; a prior that is given is not learned again."""
    selection = select_columns(screening, settings, settings.model.criterion, random_state)
    return fit_selection(screening, selection, settings, learned)


def column_strengths(screening: Screening, criterion: Criterion) -> FloatArray:
    """Return the strength of each binary column, which depends on its counts alone, shape (p,)."""
    ones, observed = screening.ones, screening.observed_full()
    # Columns with the same counts have the same strength, a user's function is called once for all.
    counts, index = np.unique(np.concatenate([ones, observed]), axis=1, return_inverse=True)
    i, n = counts[:2], counts[2:]
    tables = np.stack([n - i, i], axis=2).swapaxes(0, 1)  # (m, class, level)
    strength = np.empty(tables.shape[0])
    sizes, group = np.unique(n, axis=1, return_inverse=True)
    for g in range(sizes.shape[1]):
        members = np.flatnonzero(group.ravel() == g)
        strength[members] = table_strengths(criterion, tables[members])
    return strength[index.ravel()]


def select_columns(
    screening: Screening,
    settings: SelectionSettings,
    criterion: Criterion | None,
    random_state: np.random.RandomState | None,
) -> Selection:
    """Select binary columns by their correlation, or by another criterion of their counts."""
    if criterion is None:
        return select(
            screening,
            n_features=settings.n_features,
            threshold=settings.threshold,
            always_keep=settings.always_keep,
            random_state=random_state,
        )
    outcome = rank_by_criterion(
        column_strengths(screening, criterion),
        criterion.name,
        n_features=settings.n_features,
        always_keep=settings.always_keep,
        random_state=random_state,
    )
    return outcome.selection(
        screening.class_counts, screening.observed, screening.feature_names, n_levels=2
    )


def fit_selection(
    screening: Screening,
    selection: Selection,
    settings: BernoulliSettings,
    learned: LearnedPrior | None = None,
) -> BernoulliFit:
    """Fit the kept features, given the counts of all features that are known."""
    ones, observed = screening.ones, screening.observed
    kept = np.array(selection.kept, dtype=np.int64)
    always = np.array(selection.always_kept, dtype=np.int64)
    columns = np.concatenate([kept, always])
    ranked: CommonAlphaFit | LearnedFit
    if settings.feature_prior == "learned":
        if learned is None:
            # Without correction, from the kept features alone: the bias that is to be shown.
            basis = kept if settings.correction is None else _candidate_columns(selection)
            learned = learn_prior(
                distinct_counts(ones[:, basis], _columns(observed, basis)),
                settings.model.alpha_prior,
                settings.model.theta_interval,
            )
        ranked = fit_learned(feature_block(ones, observed, kept), learned)
    else:
        others = None
        if settings.correction == "counts":
            others = np.setdiff1d(_candidate_columns(selection), kept, assume_unique=True)
        event = selection if settings.correction == "selection" else None
        ranked = fit_common_alpha(
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
        ranked=ranked,
        by_design=by_design,
        log_prior_odds=_log_prior_odds(selection.class_counts, settings.class_pseudocounts),
        binarization=screening.binarization.take(columns),
        correlation=screening.correlation()[columns],
    )


def _log_prior_odds(counts: tuple[int, ...], pseudocounts: tuple[float, float]) -> float:
    """Return the posterior mean of the class probabilities (equation 17), as log-odds."""
    return float(np.log(counts[1] + pseudocounts[1]) - np.log(counts[0] + pseudocounts[0]))


def _candidate_columns(selection: Selection) -> IntArray:
    """Return the columns that were ranked: all but those kept by design."""
    mask = np.ones(selection.n_features_in, dtype=bool)
    mask[list(selection.always_kept)] = False
    return np.flatnonzero(mask)


def _columns(observed: IntArray, columns: IntArray) -> IntArray:
    """Return the observed cases of some columns; without missing cells one column serves all."""
    return observed if observed.shape[1] == 1 else observed[:, columns]


def _probes(ones: IntArray, observed: IntArray) -> AnyArray:
    """Simulate cases whose log-odds decide when quadrature is fine enough.

    They are like training cases, half of each class, but are drawn from counts of shape (2, k), by
    a fixed seed: training rows themselves would make the fit depend on more than the counts.
    """
    frequency = (ones + 0.5) / (observed + 1.0)
    generator = np.random.default_rng(0)
    uniform = generator.random((_N_PROBES, ones.shape[1]))
    return (uniform < frequency[np.arange(_N_PROBES) % 2]).astype(np.uint8)


# --------------------------------------------------------------------------------------------------
# Draws of the evidence, for intervals
#
# Given x*_j and y* = c, feature j has one more case in class c, with a value of 0 or 1: four
# posteriors for each feature. Draws of all four are made once and serve every row.
# --------------------------------------------------------------------------------------------------


_FEATURES = 250
"""Features that are drawn at a time, to bound memory."""


def draw_binary_evidence(
    fit: BernoulliFit,
    ones: AnyArray,
    missing: BoolArray | None,
    n_draws: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Draw the evidence of each row given the training data, the row, and y* = 0 or 1.

    Returns
    -------
    evidence, log_weight : ndarray of shape (2, n, S)
        Log likelihood ratios of class 1 and 0 for y* = 0 and 1, and log weights of the draws.
    """
    n = ones.shape[0]
    observed = np.ones(ones.shape) if missing is None else (~missing).astype(float)
    x = ones * observed
    evidence = np.zeros((2, n, n_draws))
    log_weight = np.zeros((2, n, n_draws))
    for block, columns in zip(fit.blocks, fit.column_slices(), strict=True):
        # The node (alpha, or the shape of its distribution) is common to all features, so it is
        # drawn first, from its posterior given the training data. The row is conditioned on too:
        # it weights each draw by its own probability given the node. Without these weights the
        # mean of the draws would not be the predictive probability.
        node = np.zeros(n_draws, dtype=np.int64)
        if isinstance(block, CommonAlphaFit) or block.prior.shape_weights.size > 1:
            node = systematic(generator, np.exp(block.table.log_weight), n_draws)
            unobserved = None if missing is None else missing[:, columns]
            by_node = block.table.node_log_likelihood(ones[:, columns], unobserved)
            log_weight += by_node[:, :, node]
        _add_evidence(generator, block, node, x[:, columns], observed[:, columns], evidence)
    return evidence, log_weight


def _add_evidence(
    generator: np.random.Generator,
    block: CommonAlphaFit | LearnedFit,
    node: IntArray,
    x: FloatArray,
    observed: FloatArray,
    evidence: FloatArray,
) -> None:
    """Add the block's evidence to an array of shape (2, n, S): for each y*, row and draw."""
    ones = block.block.counts.ones[:, block.block.kept]
    cases = block.block.counts.observed[:, block.block.kept]
    for start in range(0, ones.shape[1], _FEATURES):
        part = slice(start, start + _FEATURES)
        for label in (0, 1):
            ratio = []
            for value in (0, 1):
                more = np.zeros((2, 1), dtype=np.int64)
                more[label] = 1
                i, n = ones[:, part] + value * more, cases[:, part] + more
                alpha, theta = draw_alpha_theta(generator, block, node, part, i, n)
                ratio.append(_log_ratio(generator, alpha, theta, i, n, value))
            zero, one = ratio
            # A row picks the draws that were conditioned on its own value of each feature.
            evidence[label] += x[:, part] @ (one - zero) + observed[:, part] @ zero


def _log_ratio(
    generator: np.random.Generator,
    alpha: FloatArray,
    theta: FloatArray,
    ones: IntArray,
    cases: IntArray,
    value: int,
) -> FloatArray:
    """Draw phi in both classes and return the log likelihood ratio of ``value``, shape (k, S)."""
    logs = []
    for label in (0, 1):
        i, o = ones[label][:, None], (cases[label] - ones[label])[:, None]
        phi = generator.beta(alpha * theta + i, alpha * (1 - theta) + o)
        phi = np.clip(phi, 1e-300, 1 - 1e-16)
        logs.append(np.log(phi) if value else np.log1p(-phi))
    ratio: FloatArray = logs[1] - logs[0]
    return ratio


def draw_alpha_theta(
    generator: np.random.Generator,
    block: CommonAlphaFit | LearnedFit,
    node: IntArray,
    part: slice,
    ones: IntArray,
    cases: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Draw alpha and theta of each feature given its counts and the nodes, each of shape (k, S).

    Exactly, by inversion: the posterior on the nodes of theta (and on the atoms of alpha, with the
    learned prior) is discrete.
    """
    k, n_draws = ones.shape[1], node.size
    alpha, theta = np.empty((k, n_draws)), np.empty((k, n_draws))
    uniform = generator.random((k, n_draws))
    if isinstance(block, LearnedFit):
        prior, kept = block.prior, block.block.kept[part]
        used = np.flatnonzero(prior.alpha_weights > 1e-9)
        nodes = prior.rule.theta
        by_atom = {
            atom: _theta_log_weights(
                float(prior.alpha[atom]), nodes, prior.rule.weight, ones, cases
            )
            for atom in used.tolist()
        }
        for shape in np.unique(node).tolist():
            draws = np.flatnonzero(node == shape)
            own = used[prior.shapes[shape, used] > 1e-9]
            atom_weight = block.log_atom_weight_given(shape, own)[:, kept]
            log_weight = np.concatenate(
                [
                    by_atom[atom] + log_w[:, None]
                    for atom, log_w in zip(own.tolist(), atom_weight, strict=True)
                ],
                axis=1,
            )
            chosen = _inverse_cdf(log_weight, uniform[:, draws])
            alpha[:, draws] = prior.alpha[own][chosen // nodes.size]
            theta[:, draws] = nodes[chosen % nodes.size]
        return alpha, theta
    n = int(cases.sum(axis=0).max(initial=0))
    for index in np.unique(node):
        draws = np.flatnonzero(node == index)
        a = float(block.posterior.alpha[index])
        rule = theta_rule(n, a, block.interval)
        log_weight = _theta_log_weights(a, rule.theta, rule.weight, ones, cases)
        alpha[:, draws] = a
        theta[:, draws] = rule.theta[_inverse_cdf(log_weight, uniform[:, draws])]
    return alpha, theta


def _theta_log_weights(
    alpha: float, theta: FloatArray, weight: FloatArray, ones: IntArray, cases: IntArray
) -> FloatArray:
    """Return the log posterior of the nodes of theta, unnormalised, shape (k, nodes)."""
    from honestbayes.likelihood import beta_binomial

    result = np.empty((ones.shape[1], theta.size))
    n0, n1, i0, i1 = cases[0], cases[1], ones[0], ones[1]
    beta_binomial.theta_log_weights(alpha, theta, weight, n0, n1, i0, i1, result)
    return result


def _inverse_cdf(log_weight: FloatArray, uniform: FloatArray) -> IntArray:
    """Choose a column of each row with probability proportional to exp(log_weight)."""
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    cumulative = np.cumsum(weight, axis=1)
    chosen = np.empty(uniform.shape, dtype=np.int64)
    for row in range(uniform.shape[0]):
        chosen[row] = np.searchsorted(cumulative[row], uniform[row] * cumulative[row, -1])
    return np.asarray(np.minimum(chosen, log_weight.shape[1] - 1))


# --------------------------------------------------------------------------------------------------
# Training rows: fits to all rows, and to those outside a fold
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRows:
    """A training table and its counts, to be fitted again without some of the rows.

    The counts without a fold are those of all rows less those of the fold, in integers. The fit
    depends on nothing else, so it is bit for bit the fit to the other rows (cuts at medians are
    learned again, and columns whose cut moves are counted again).

    Attributes
    ----------
    source : Source of shape (n, p)
        The table.
    is_class_1 : ndarray of bool of shape (n,)
        Classes.
    whole : Screening
        Counts of all rows.
    option : {"auto", "median"}, float or None
        How values become 0/1.
    random_state : int, RandomState or None
        Breaks ties, in each fit anew.
    """

    source: Source
    is_class_1: BoolArray
    whole: Screening
    option: BinarizeOption
    random_state: Any

    @classmethod
    def screened(
        cls,
        source: Source,
        labels: tuple[AnyArray, BoolArray],
        option: BinarizeOption,
        random_state: Any,
    ) -> Self:
        """Count all rows of a table; ``labels`` are those of `encode_classes`."""
        classes, is_class_1 = labels
        whole = screen_source(source, classes, is_class_1, option)
        return cls(
            source=source,
            is_class_1=is_class_1,
            whole=whole,
            option=option,
            random_state=random_state,
        )

    def without(self, folds: list[IntArray]) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the screening of all others."""
        screenings = leave_out(self.source, self.is_class_1, folds, self.whole, self.option)
        for rows, screening in zip(folds, screenings, strict=True):
            _check_both_classes(screening, rows)
            yield rows, screening

    def fit(
        self, screening: Screening, settings: BernoulliSettings, learned: LearnedPrior | None = None
    ) -> BernoulliFit:
        """Fit the counts of some rows; ties are broken as in a separate fit."""
        return fit_screening(screening, settings, tie_breaker(self.random_state), learned)

    def zero_one(
        self, selection: Selection, binarization: Binarization, rows: IntArray
    ) -> tuple[AnyArray, BoolArray | None]:
        """Return the kept columns of some rows as 0/1, and which cells are missing."""
        columns = np.array(selection.columns, dtype=np.int64)
        # `cut_values`, not `apply`: the latter checks that values are on the training scale, and a
        # fraction may occur in the left-out rows only.
        return binarization.cut_values(RowsOf(self.source, rows).take(columns))


def leave_out_fits(
    training: TrainingRows,
    folds: list[IntArray],
    settings: BernoulliSettings,
    learned: LearnedPrior | None = None,
) -> Iterator[tuple[IntArray, BernoulliFit, FloatArray]]:
    """Yield, for each fold, its rows, the model fitted without them, and their evidence."""
    for rows, screening in training.without(folds):
        fit = training.fit(screening, settings, learned)
        values = training.zero_one(fit.selection, fit.binarization, rows)
        yield rows, fit, fit.evidence(*values)


def _check_both_classes(screening: Screening, rows: IntArray) -> None:
    for label, count in zip(screening.classes, screening.class_counts, strict=True):
        if count == 0:
            msg = (
                f"no case of class {label!r} is left without row {int(rows[0])} and those left out "
                "with it."
            )
            raise ValueError(msg)


ZeroOne = tuple[AnyArray, BoolArray | None]
"""Kept columns as 0/1, and which cells are missing."""


@dataclass(frozen=True, slots=True)
class BernoulliPart:
    """Fitted binary features as a part of an estimator of two classes."""

    fit: BernoulliFit

    def to_plain(self) -> Plain:
        """Return the fit as plain data, and whether its prior was learned."""
        learned = isinstance(self.fit.ranked, LearnedFit)
        return joined(({"learned": learned}, {}), record_to_plain(self.fit))

    @classmethod
    def from_plain(cls, entries: Entries, known: Known) -> BernoulliPart:
        """Return the part that `to_plain` described."""
        entries.check(known["n_classes"] == 2, "selection", "is not one of two classes")
        known = {**known, "learned": entries.flag("learned")}
        return cls(record_from_plain(BernoulliFit, entries, known))

    @property
    def selection(self) -> Selection:
        """What was kept and discarded."""
        return self.fit.selection

    def read(self, X: Any, describe: Describe) -> ZeroOne:
        """Return the kept columns as 0/1."""
        return self.fit.binarization.apply(dense_values(as_source(X)), describe)

    def log_likelihood(self, values: ZeroOne) -> FloatArray:
        """Return log P(x | class) up to a constant of each row, shape (n, 2)."""
        evidence = self.fit.evidence(*values)
        return np.stack([np.zeros(evidence.size), evidence], axis=1)

    def rows(self, values: ZeroOne, rows: slice) -> ZeroOne:
        """Return some rows of values that were read."""
        ones, missing = values
        return ones[rows], None if missing is None else missing[rows]

    def draw_evidence(
        self, values: ZeroOne, n_draws: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the evidence of each row, for intervals."""
        ratio, log_weight = draw_binary_evidence(self.fit, *values, n_draws, generator)
        return ratio[..., None], log_weight


@dataclass(frozen=True, slots=True)
class BernoulliTraining(TrainingPart):
    """Binary features of a training table as a part of an estimator."""

    settings: BernoulliSettings
    rows: TrainingRows

    def _whole(self, _memo: FoldMemo | None) -> Screening:
        return self.rows.whole

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the counts of the others."""
        return self.rows.without(list(folds))

    def _fitted(self, statistic: Screening, whole: FittedPart | None) -> BernoulliPart:
        learned = None
        if isinstance(whole, BernoulliPart) and isinstance(whole.fit.ranked, LearnedFit):
            learned = whole.fit.ranked.prior
        return BernoulliPart(self.rows.fit(statistic, self.settings, learned))

    @property
    def _source(self) -> Source:
        return self.rows.source

    def _reading_from(self, source: Remembered) -> Self:
        return replace(self, rows=replace(self.rows, source=source))

    def _values(self, part: BernoulliPart, rows: IntArray) -> ZeroOne:
        return self.rows.zero_one(part.selection, part.fit.binarization, rows)


# --------------------------------------------------------------------------------------------------
# Explanation: the table of kept features, contributions, the path over the number of features
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTable(KeptTable):
    """The kept features, strongest first, then those kept by design.

    Attributes
    ----------
    correlation : ndarray of shape (k,)
        Training correlation with the class.
    probability : ndarray of shape (2, k)
        P(x = 1) in each class.
    sd : ndarray of shape (2, k)
        Posterior standard deviation of that probability.
    evidence_if_one, evidence_if_zero : ndarray of shape (k,)
        Weight of evidence: the change of the log-odds of class 1 by a one, or by a zero.
    by_design : ndarray of bool of shape (k,)
        Whether the feature was kept by design.
    """

    correlation: FloatArray
    probability: FloatArray
    sd: FloatArray
    evidence_if_one: FloatArray
    evidence_if_zero: FloatArray
    by_design: BoolArray
    _cuts: Binarization = field(repr=False)
    """How values become 0/1."""
    _additive: bool = field(default=True, repr=False)
    """Whether the evidence of features adds up, as in naive Bayes."""

    def _rows(self, names: TableNames) -> dict[str, Iterable[Any]]:
        """Return what is known of the features: of two classes the second is the positive one."""
        arrays = {
            "by_design": self.by_design,
            "correlation": self.correlation,
            "p_negative": self.probability[0],
            "p_positive": self.probability[1],
            "sd_negative": self.sd[0],
            "sd_positive": self.sd[1],
            "evidence_if_one": self.evidence_if_one,
            "evidence_if_zero": self.evidence_if_zero,
        }
        cuts = zip(self.name, self._cuts.cut.tolist(), self._cuts.high.tolist(), strict=True)
        return {
            "means_one": [names.describe_one(*cut) for cut in cuts],
            **{key: values.tolist() for key, values in arrays.items()},
        }

    def _page_columns(self) -> tuple[TableColumn, ...]:
        negative, positive = self.classes
        return (
            TableColumn(title="a one", key="means_one", style="text"),
            TableColumn(title="correlation", key="correlation", style="signed"),
            TableColumn(title=f"P(one), {negative}", key="p_negative", error="sd_negative"),
            TableColumn(title=f"P(one), {positive}", key="p_positive", error="sd_positive"),
            TableColumn(title="evidence if one", key="evidence_if_one", style="signed"),
            TableColumn(title="evidence if zero", key="evidence_if_zero", style="signed"),
        )

    def _page_note(self) -> str:
        positive = self.classes[1]
        if not self._additive:
            return (
                "Evidence is the effect of a 1 or a 0, on its own, on the log-odds of "
                f"{positive}. It does not add up over features: features of one group of cases "
                "share their evidence. “±” is the spread over draws."
            )
        return (
            f"Evidence is what a 1 or a 0 adds to the log-odds of {positive}, the slope "
            "included; “±” is a standard deviation."
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns, for a frame or JSON."""
        return {
            "name": list(self.name),
            "correlation": self.correlation.tolist(),
            "p_class_0": self.probability[0].tolist(),
            "sd_class_0": self.sd[0].tolist(),
            "p_class_1": self.probability[1].tolist(),
            "sd_class_1": self.sd[1].tolist(),
            "evidence_if_one": self.evidence_if_one.tolist(),
            "evidence_if_zero": self.evidence_if_zero.tolist(),
            "by_design": self.by_design.tolist(),
        }

    def __str__(self) -> str:
        """Return an aligned table."""
        width = max([len("feature"), *(len(name) for name in self.name)])
        head = ("r", f"P(1|{self.classes[0]})", f"P(1|{self.classes[1]})", "if 1", "if 0")
        widths = (6, 14, 14, 6, 6)
        cells = "  ".join(f"{text:>{size}}" for text, size in zip(head, widths, strict=True))
        lines = [f"{'feature':<{width}}  {cells}"]
        for j, name in enumerate(self.name):
            p, sd = self.probability[:, j], self.sd[:, j]
            lines.append(
                f"{name:<{width}}  {self.correlation[j]:+6.3f}  {p[0]:.3f} +- {sd[0]:.3f}  "
                f"{p[1]:.3f} +- {sd[1]:.3f}  {self.evidence_if_one[j]:+6.2f}  "
                f"{self.evidence_if_zero[j]:+6.2f}" + ("  by design" if self.by_design[j] else "")
            )
        return "\n".join(lines)


def feature_table(
    part: BernoulliPart, names: tuple[str, ...], classes: tuple[str, ...], slope: float
) -> FeatureTable:
    """Summarise each kept feature."""
    fit = part.fit
    mean = np.concatenate([_predictive(block, ones=True) for block in fit.blocks], axis=1)
    complement = np.concatenate([_predictive(block, ones=False) for block in fit.blocks], axis=1)
    sd = np.concatenate([_sd(block) for block in fit.blocks], axis=1)
    return FeatureTable(
        name=names,
        classes=classes,
        correlation=fit.correlation,
        probability=mean,
        sd=sd,
        evidence_if_one=slope * (np.log(mean[1]) - np.log(mean[0])),
        evidence_if_zero=slope * (np.log(complement[1]) - np.log(complement[0])),
        by_design=by_design(fit.selection),
        _cuts=fit.binarization,
    )


def _predictive(block: CommonAlphaFit | LearnedFit, *, ones: bool) -> FloatArray:
    """Return P(x = 1 | class), or P(x = 0 | class), of a single cell, shape (2, k)."""
    table = block.table
    log_probability = table.log_one if ones else table.log_zero
    result: FloatArray = np.exp(logsumexp(table.log_weight[:, None] + log_probability, axis=1))
    return result


def _sd(block: CommonAlphaFit | LearnedFit) -> FloatArray:
    """Return the posterior standard deviation of phi, shape (2, k)."""
    return np.asarray(np.sqrt(np.maximum(_moment(block, 2) - _moment(block, 1) ** 2, 0.0)))


def _moment(block: CommonAlphaFit | LearnedFit, order: int) -> FloatArray:
    """Return E[phi^order | data], shape (2, k).

    It is the probability that the next ``order`` cases of the class are all ones: a ratio of
    marginal likelihoods with and without them, averaged over alpha, or over shapes.
    """
    counts = block.block.counts
    if isinstance(block, LearnedFit):
        alpha, rule, interval = block.prior.alpha, block.prior.rule, (0.0, 1.0)
        weights = block.prior.alpha_weights
    else:
        alpha, rule, interval = block.posterior.alpha, None, block.interval
        weights = block.posterior.weights
    used = np.flatnonzero(weights > 0)
    before = CountLikelihood(counts, interval, rule)
    log_before = np.stack([before(float(a))[0] for a in alpha[used]])
    result = np.empty((2, counts.multiplicity.size))
    for label in (0, 1):
        more = np.zeros((2, 1), dtype=np.int64)
        more[label] = order
        after = CountLikelihood(
            replace(counts, ones=counts.ones + more, observed=counts.observed + more),
            interval,
            rule,
        )
        log_after = np.stack([after(float(a))[0] for a in alpha[used]])
        if isinstance(block, LearnedFit):
            # Given the shape, alpha is the feature's own, so numerator and denominator are summed
            # over atoms first. The shapes' weights are posterior already, given all counts: they
            # must not be multiplied by the feature's likelihood once more.
            by_shape = []
            for shape, log_probability in enumerate(block.table.log_weight):
                own = block.prior.shapes[shape, used] > 0
                log_weight = block.log_atom_weight_given(shape, used[own])
                log_moment = logsumexp(log_weight + log_after[own], axis=0)
                log_moment -= logsumexp(log_weight + log_before[own], axis=0)
                by_shape.append(log_probability + log_moment)
            result[label] = np.exp(logsumexp(by_shape, axis=0))
        else:
            log_weight = block.table.log_weight[:, None][used]
            result[label] = np.exp(logsumexp(log_weight + log_after - log_before, axis=0))
    return result[:, block.block.kept]


def contributions(fit: BernoulliFit, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
    """Return the evidence that each feature adds after those before it, shape (n, k)."""
    parts = []
    for block, columns in zip(fit.blocks, fit.column_slices(), strict=True):
        unobserved = None if missing is None else missing[:, columns]
        evidence = block.table.cumulative_log_odds(ones[:, columns], unobserved)
        parts.append(np.diff(evidence, axis=1))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePath(Tabular):
    """Performance on given cases for each number of features.

    Attributes
    ----------
    n_features : ndarray of shape (k,)
        1, 2, ..., k: the strongest features (those kept by design are always used).
    expected_error, actual_error : ndarray of shape (k,)
        Error rate that the probabilities predict, and the observed one.
    log_score, expected_log_score : ndarray of shape (k,)
        Average minus log probability of the observed class, and its predicted value.
    """

    n_features: AnyArray
    expected_error: FloatArray
    actual_error: FloatArray
    log_score: FloatArray
    expected_log_score: FloatArray

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain columns."""
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}


def feature_path(
    fit: BernoulliFit,
    ones: AnyArray,
    missing: BoolArray | None,
    is_class_1: BoolArray,
    log_prior_odds: float | None = None,
) -> FeaturePath:
    """Return the path; log-odds are cumulated along the ranking, in one pass for all numbers."""
    k = len(fit.selection.kept)
    ranked, *rest = zip(fit.blocks, fit.column_slices(), strict=True)
    prior = fit.log_prior_odds if log_prior_odds is None else log_prior_odds
    start = np.full(ones.shape[0], prior)
    for block, columns in rest:
        unobserved = None if missing is None else missing[:, columns]
        log_likelihood = block.table.log_likelihood(ones[:, columns], unobserved)
        start += log_likelihood[:, 1] - log_likelihood[:, 0]
    unobserved = None if missing is None else missing[:, ranked[1]]
    evidence = ranked[0].table.cumulative_log_odds(ones[:, ranked[1]], unobserved)[:, 1:]
    log_odds = start[:, None] + evidence
    p, q = expit(log_odds), expit(-log_odds)
    sign = np.where(is_class_1, 1.0, -1.0)[:, None]
    return FeaturePath(
        n_features=np.arange(1, k + 1),
        expected_error=np.minimum(p, q).mean(axis=0),
        actual_error=np.mean((log_odds >= 0) != is_class_1[:, None], axis=0),
        log_score=-log_expit(sign * log_odds).mean(axis=0),
        expected_log_score=-(p * log_expit(log_odds) + q * log_expit(-log_odds)).mean(axis=0),
    )
