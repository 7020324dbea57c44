"""Fit the papers' model: all features share one alpha, theta is uniform.

The posterior of alpha is prior x likelihood of the kept features x what is known of the
discarded ones (equation 26 of the 2008 paper).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
from scipy.special import expit, log_expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.base.alpha_posterior import AlphaPosterior
from honestbayes.base.explanation import KeptTable, by_design
from honestbayes.base.intervals import systematic
from honestbayes.base.parameters import (
    Correction,
    SelectionSettings,
    positive_pair,
    prior_and_correction,
    selection_rule,
    theta_interval,
    tolerance_of,
)
from honestbayes.base.part import Describe, FittedPart, FoldMemo, TrainingPart, tie_breaker
from honestbayes.correction.discard import Ties, group_probabilities
from honestbayes.correction.event import event_of
from honestbayes.data import Binarization, Source, as_source
from honestbayes.data.binarization import BinarizeOption
from honestbayes.data.kinds import Kind
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
from honestbayes.selection.counts import Screening, correlation, screen_source
from honestbayes.selection.leave_out import leave_out
from honestbayes.tabular import Tabular
from honestbayes.types import AnyArray, BoolArray, FloatArray, IntArray

# --------------------------------------------------------------------------------------------------
# What the user of the binary model chose, checked
# --------------------------------------------------------------------------------------------------


Quadrature = Literal["adaptive", "paper"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the user chose for the common-alpha model."""

    alpha_prior: AlphaPrior
    theta_interval: tuple[float, float]
    quadrature: Quadrature
    tolerance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BernoulliSettings(SelectionSettings):
    """Validated choices of the user."""

    feature_prior: Literal["learned", "uniform"]
    correction: Correction
    model: ModelSettings
    class_pseudocounts: tuple[float, float]


def bernoulli_settings(
    params: Mapping[str, Any], always_keep: BoolArray, *, only_event: bool = False
) -> BernoulliSettings:
    """Turn the constructor's parameters into settings, or say what is wrong with them.

    ``only_event`` is for features that were selected elsewhere: nothing else is known of the
    others.
    """
    quadrature = params["quadrature"]
    if quadrature not in get_args(Quadrature):
        msg = f"quadrature={quadrature!r} is not one of 'adaptive', 'paper'."
        raise ValueError(msg)
    published = only_event or quadrature == "paper"
    auto: Correction = "selection" if published else "counts"
    prior, correction = prior_and_correction(params, "uniform", auto=auto, published=published)
    if prior == "learned" and quadrature == "paper":
        msg = "quadrature='paper' goes with feature_prior='uniform'."
        raise ValueError(msg)
    if only_event and (correction == "counts" or prior == "learned"):
        msg = (
            "fit_selected knows only that the other features were discarded: use "
            "feature_prior='uniform' and correction='selection' or None."
        )
        raise ValueError(msg)
    n_features, threshold = selection_rule(params, int(np.sum(~always_keep)))
    return BernoulliSettings(
        n_features=n_features,
        threshold=threshold,
        always_keep=always_keep,
        feature_prior=prior,
        correction=correction,
        model=ModelSettings(
            AlphaPrior(*positive_pair(params, "alpha_prior")),
            theta_interval(params),
            quadrature,
            tolerance_of(params),
        ),
        class_pseudocounts=positive_pair(params, "class_pseudocounts"),
    )


# --------------------------------------------------------------------------------------------------
# Predictive probabilities of binary features, given the nodes of a posterior
#
# P(y*=c, x* | data) = psi_c * sum over alpha of w_alpha * prod_j P(x*_j | c, alpha) (equations 19
# to 22 of the 2008 paper): one matrix product and one logsumexp per class. Averaging class
# probabilities with the weights is wrong.
# --------------------------------------------------------------------------------------------------


_CHUNK_CELLS = 1 << 19
_CHUNK_ROWS = 256


@dataclass(frozen=True, slots=True)
class PredictiveTable:
    """P(x_j = 1 | class, node, data) of each feature of a block.

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
        """Refuse what are no probabilities of a one and of a zero."""
        both = np.exp(self.log_one) + np.exp(self.log_zero)
        good = np.all(np.abs(both - 1) <= CLOSE)
        check(good, "log_one", "and log_zero are not probabilities")

    @classmethod
    def of_columns(
        cls, log_weight: FloatArray, log_one: FloatArray, log_zero: FloatArray, columns: IntArray
    ) -> PredictiveTable:
        """Spread tables of distinct counts over features.

        In C order, so that sums have one order, also after the table was stored and loaded.
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
            absent = None if missing is None else missing[rows]
            terms = self._node_terms(ones[rows], absent, *flat) + self.log_weight
            top = terms.max(axis=2, keepdims=True)
            result[rows] = (top[:, :, 0] + np.log(np.exp(terms - top).sum(axis=2))).T
        return result

    def node_log_likelihood(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return log P(x | class, node), shape (2, n, A), without the nodes' weights."""
        return self._node_terms(ones, missing, *self._flat())

    def _flat(self) -> tuple[FloatArray, FloatArray]:
        """Return what a one adds to a zero, and the zeros, with classes and nodes in one axis."""
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
            observed = (~missing).astype(float)
            terms = (x * observed) @ gain.T + observed @ zero.T
        return np.asarray(terms.reshape(-1, 2, self.log_weight.size).transpose(1, 0, 2))

    def cumulative_log_odds(self, ones: AnyArray, missing: BoolArray | None) -> FloatArray:
        """Return the evidence from the first 0, 1, ..., k features, shape (n, k + 1).

        Evidence is the log of P(x_1..x_m | class 1) / P(x_1..x_m | class 0).
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
    """P(x*=1 | c, data, alpha) = (alpha E[theta] + I_c) / (alpha + N_c).

    Parameters
    ----------
    log_weight, alpha : ndarray of shape (A,)
        Posterior nodes.
    mean_theta : ndarray of shape (A, D)
        E[theta | counts, alpha] of distinct counts.
    ones, observed : ndarray of shape (2, D)
        Distinct counts.
    inverse : ndarray of shape (k,)
        Position of each feature's counts.
    """
    a = alpha[:, None]
    total = np.log(a + observed[:, None, :])
    log_one = np.log(a * mean_theta + ones[:, None, :]) - total
    log_zero = np.log(a * (1.0 - mean_theta) + (observed - ones)[:, None, :]) - total
    return PredictiveTable.of_columns(log_weight, log_one, log_zero, inverse)


_REFINEMENTS = (1.0, 2.0, 4.0)
_ROUNDING_PER_CASE = 1e-14

_THREADS_ABOVE = 20_000
"""With more cases than this the probability of selection is computed in threads."""


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Features that share an alpha: the kept ones, and the others of which counts are used.

    Attributes
    ----------
    counts : DistinctCounts
        Distinct counts of the kept features, or of all where all counts are conditioned on.
    kept : ndarray of shape (k,)
        Position of each kept feature's counts.
    others : ndarray of shape (D,)
        How many discarded features have these counts (conditioned on).
    """

    counts: DistinctCounts
    kept: IntArray
    others: IntArray

    def to_plain(self) -> Plain:
        """Return counts as plain data; how often each occurs follows from the rest."""
        arrays = {
            "ones": self.counts.ones,
            "observed": self.counts.observed,
            "position": self.kept,
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
        kept = entries.counts("position", (known["n_kept"],), n_distinct - 1)
        occurs = np.bincount(kept, minlength=n_distinct)
        entries.check(np.all(occurs > 0), "position", "leaves counts that no feature has")
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
        """Positions of the kept features' distinct counts, and each feature's among these."""
        used, place = np.unique(self.kept, return_inverse=True)
        return used, place

    def without_others(self) -> FeatureBlock:
        """Return the block with the kept features' counts alone, which are all that a model uses.

        The others may be as many as the features that were screened.
        """
        used, place = self.kept_distinct()
        if used.size == self.counts.multiplicity.size:
            return FeatureBlock(replace(self.counts, inverse=self.kept), self.kept, self.others)
        return FeatureBlock(self.counts.only(used, place), place, self.others[used])

    @property
    def kept_multiplicity(self) -> IntArray:
        """How many kept features have these counts."""
        return np.bincount(self.kept, minlength=self.counts.multiplicity.size)


def feature_block(
    ones: IntArray,
    observed: IntArray,
    kept: IntArray,
    conditioned: IntArray | None = None,
    *,
    symmetric: bool = False,
) -> FeatureBlock:
    """Build a block from counts of shape (2, p); ``conditioned`` names discarded features.

    Where the prior of theta is symmetric, a discarded feature with mostly ones has the likelihood
    of its mirror image, which makes half as many distinct counts.
    """
    single = observed.shape[1] == 1
    columns = kept if conditioned is None else np.concatenate([kept, conditioned])
    cases = observed if single else observed[:, columns]
    chosen = ones[:, columns]
    if symmetric:
        mirrored = 2 * chosen.sum(axis=0) > cases.sum(axis=0)
        mirrored[: kept.size] = False
        chosen = np.where(mirrored, cases - chosen, chosen)
    counts = distinct_counts(chosen, cases)
    others = np.bincount(counts.inverse[kept.size :], minlength=counts.multiplicity.size)
    return FeatureBlock(counts, counts.inverse[: kept.size], others)


@dataclass(frozen=True, slots=True)
class CommonAlphaFit:
    """A fitted block: the posterior of alpha and the predictive table.

    The block is without the others, which have done their work in the posterior.
    """

    posterior: AlphaPosterior
    table: PredictiveTable
    block: FeatureBlock
    interval: Annotated[tuple[float, float], Interval()]

    def check(self, check: Check) -> None:
        """Refuse a table of another posterior."""
        log_weight, weights = self.table.log_weight, self.posterior.weights
        same = log_weight.size == weights.size and np.allclose(
            np.exp(log_weight), weights, rtol=0, atol=CLOSE
        )
        check(same, "posterior.weights", "differs from the weights of the table")


def fit_common_alpha(
    block: FeatureBlock,
    selection: Selection | None,
    settings: ModelSettings,
    probes: AnyArray,
) -> CommonAlphaFit:
    """Compute the posterior of alpha of one block of features.

    Parameters
    ----------
    block : FeatureBlock
        Kept features and, where all counts are conditioned on, the others.
    selection : Selection or None
        The event to condition on; None for no event.
    settings : ModelSettings
        Priors and quadrature.
    probes : ndarray of shape (r, k)
        Training rows (0/1) whose log-odds decide when the rule is fine enough.
    """
    if settings.quadrature == "paper":
        return _fit_paper(block, selection, settings, probes)
    for refine in _REFINEMENTS:
        model = _Evaluator(block, selection, settings, probes, refine=refine)
        rule = integrate_log_alpha(
            model.evaluate, scan_range(settings.alpha_prior), tolerance=settings.tolerance
        )
        theta_error = _theta_error(block, selection, settings, probes, rule, model, refine)
        # More nodes do not help against rounding in sums over n cases.
        if theta_error <= max(settings.tolerance, _ROUNDING_PER_CASE * model.n_cases):
            theta_error = min(theta_error, settings.tolerance)
            break
    error = max(rule.error, theta_error)
    if error > settings.tolerance:
        warnings.warn(
            f"the integral over alpha and theta reached an estimated error of {error:.1e}, not "
            f"the tolerance {settings.tolerance:.1e}; probabilities may be off by that much in "
            "log-odds.",
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
    used, place = block.kept_distinct()
    ones, observed = block.counts.ones[:, used], block.counts.observed[:, used]
    return beta_binomial_table(log_weight, alpha, mean_theta, ones, observed, place)


def _fit_paper(
    block: FeatureBlock, selection: Selection | None, settings: ModelSettings, probes: AnyArray
) -> CommonAlphaFit:
    """Use the published rule: 30 prior quantiles, 21 Simpson points, "at most gamma"."""
    alpha = paper_alpha_nodes(settings.alpha_prior)
    model = _Evaluator(
        block,
        selection,
        settings,
        probes,
        rule=simpson_rule(settings.theta_interval),
        ties="at_most",
    )
    nodes = model.evaluate(np.log(alpha))
    prior = settings.alpha_prior.log_density_of_log(np.log(alpha))
    log_weight = nodes.log_density - prior  # the nodes are quantiles: the prior is in their places
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


class _Evaluator:
    """Log posterior density of log(alpha), with E[theta] and log P(S) beside it."""

    def __init__(
        self,
        block: FeatureBlock,
        selection: Selection | None,
        settings: ModelSettings,
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
        sizes = [int(np.sum(block.counts.observed, axis=0).max(initial=0))]
        if self._selection is not None:
            sizes.append(sum(self._selection.class_counts))
        self.n_cases = max(sizes)

    def evaluate(self, log_alpha: FloatArray) -> Nodes:
        alpha = finite_alpha(log_alpha)
        parts, regions = [], []
        for node in alpha.tolist():
            parts.append(self._likelihood(node))
            if self._selection is not None and self.n_cases <= _THREADS_ABOVE:
                regions.append(self._region(node))  # now, while it can use the same tables
        log_likelihood = np.stack([part[0] for part in parts])
        log_event = log_likelihood @ self._block.others
        if self._selection is not None:
            if not regions:  # kernels of a second or so, which release the GIL
                regions = Parallel(n_jobs=-1, prefer="threads")(
                    delayed(self._region)(node) for node in alpha.tolist()
                )
            beyond, tied = np.moveaxis(np.array(regions), -1, 0)
            event = event_of(self._selection, self._selection.gamma)
            event = event if self._ties is None else replace(event, ties=self._ties)
            log_event = log_event + event.log_prob(beyond, tied)
        log_density = (
            self._settings.alpha_prior.log_density_of_log(log_alpha)
            + log_likelihood @ self._kept_multiplicity
            + log_event
        )
        mean_theta = np.stack([part[1][self._used] for part in parts])
        values: list[Values] = list(zip(mean_theta, log_event, strict=True))
        table = _table(self._block, np.zeros(alpha.size), alpha, mean_theta)
        tilt = np.moveaxis(table.node_log_likelihood(self._probes, None), 2, 0)
        return Nodes(log_density, values, tilt)

    def _region(self, alpha: float) -> list[tuple[float, float]]:
        """P(beyond gamma) and P(at gamma) of a feature in each group of discarded ones."""
        selection = self._selection
        assert selection is not None
        bounds = [selection.gamma_squared] * len(selection.groups)
        return group_probabilities(alpha, selection.groups, bounds, self._theta)

    def _theta(self, n_cases: int, alpha: float) -> ThetaRule:
        if self._rule is not None:
            return self._rule
        return theta_rule(n_cases, alpha, self._settings.theta_interval, refine=self._refine)


def scan_range(prior: AlphaPrior) -> tuple[float, float]:
    """Return where the search for the mode of log(alpha) begins."""
    low, high = np.log(prior.quantiles(np.array([1e-3, 0.999])))
    return float(low), float(high)


def _theta_error(
    block: FeatureBlock,
    selection: Selection | None,
    settings: ModelSettings,
    probes: AnyArray,
    rule: LineRule,
    model: _Evaluator,
    refine: float,
) -> float:
    """Estimate the error over theta at the heaviest nodes; exact rules have none."""
    if model.n_cases <= EXACT_UP_TO:
        return 0.0
    heaviest = np.sort(np.argsort(-rule.weight)[:3])
    log_alpha = rule.log_alpha[heaviest]
    finer = _Evaluator(block, selection, settings, probes, refine=1.5 * refine)
    difference = finer.evaluate(log_alpha).log_density - model.evaluate(log_alpha).log_density
    return float(np.max(np.abs(difference - difference.mean())))


# --------------------------------------------------------------------------------------------------
# Fit features whose distribution was learned from all that were screened
# --------------------------------------------------------------------------------------------------


_NEGLIGIBLE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFit:
    """A fitted block: given the shape, each kept feature has its own posterior over atoms of alpha.

    The nodes of ``table`` are the shapes. ``log_atom_weight``, of shape (A, D), is the log weight
    of each atom before the counts are seen, averaged over shapes, less what is not to be learned
    from: its number of ones, where the cut has fixed that.
    """

    posterior: AlphaPosterior
    table: PredictiveTable
    prior: LearnedPrior
    block: FeatureBlock
    log_atom_weight: Annotated[FloatArray, Logs("atoms", "distinct")]

    def check(self, check: Check) -> None:
        """Refuse parts that are not of one model."""
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
    """Shrink each kept feature by its own posterior, given the learned prior.

    With shapes s of posterior probability W_s and atoms a with shares g_s(a),

    P(x* | class c, data) = sum_s W_s prod_j sum_a w_sj(a) P(x*_j | c, a, counts of j),

    where w_sj(a) is proportional to g_s(a) P(counts of j | a). Features are independent given the
    shape only: the product over features stands inside the sum over shapes.
    """
    counts = block.counts
    likelihood = feature_likelihood(counts, prior.rule, prior.given_margin)
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
        # A shape's own atoms, and their own largest likelihood: under "one alpha for all" a strong
        # feature may be all but impossible, and must not become 0 / 0.
        own = np.flatnonzero(shape > _NEGLIGIBLE)
        log_weight = log_likelihood[used[own]] + np.log(shape[own])[:, None]
        weight = np.exp(log_weight - log_weight.max(axis=0, initial=-np.inf))
        weight /= weight.sum(axis=0)
        log_one[:, s] = np.log((weight * one[:, own]).sum(axis=1))
        log_zero[:, s] = np.log((weight * zero[:, own]).sum(axis=1))
    # The nodes are shapes, not alphas: the product over features is inside the sum over shapes.
    table = PredictiveTable.of_columns(np.log(prior.shape_weights), log_one, log_zero, block.kept)
    if not prior.converged:
        warnings.warn(
            "EM for the learned prior stopped at its limit of steps; the distribution of features "
            "may be less well adapted than it could be.",
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
    """Present the distribution of alpha over features in the form of a posterior.

    Parameters
    ----------
    alpha : ndarray of shape (A,)
        Atoms.
    shape : LearnedDistribution
        The share of features at each.
    log_likelihood, kept_log_likelihood : ndarray of shape (A,)
        Of all features and of the kept ones, were the atom the alpha of all.
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
# From the counts of a screening to a fitted model: everything that the estimator decides
#
# The fit depends on the data only through the screening, so it serves tables of any kind, and
# leave-one-out costs no more than new counts.
# --------------------------------------------------------------------------------------------------


_N_PROBES = 16


def _n_ranked(known: Known) -> Known:
    """Return how many features were selected by their rank, for lengths of arrays in files."""
    return {"n_kept": len(known["selection"].kept)}


def _n_by_design(known: Known) -> Known:
    """Return how many features were kept by design, for lengths of arrays in files."""
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
        found = correlation(*(np.concatenate(part, axis=1) for part in zip(*counts, strict=True)))
        same = np.allclose(self.correlation, found, rtol=0, atol=CLOSE)
        check(same, "correlation", "is not that of the counts")
        weakest = np.square(found[: len(selection.kept)]).min(initial=1.0)
        strong = weakest >= float(selection.gamma_squared) - CLOSE
        check(strong, "correlation", "is weaker than the bound of the selection")
        others = sum(self.ranked.block.others.tolist())
        check(others <= selection.n_discarded, "ranked.block.others", "are more than discarded")

    @property
    def log_prior(self) -> FloatArray:
        """Log class probabilities before features are seen, less that of class 0."""
        return np.array([0.0, self.log_prior_odds])

    @property
    def blocks(self) -> list[CommonAlphaFit | LearnedFit]:
        """The fitted blocks, in the order of ``selection.columns``."""
        return [self.ranked] if self.by_design is None else [self.ranked, self.by_design]

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
    ranked: CommonAlphaFit | LearnedFit
    if settings.feature_prior == "learned":
        if learned is None:
            source = kept if settings.correction is None else _candidate_columns(selection)
            learned = learn_prior(
                distinct_counts(ones[:, source], _columns(observed, source)),
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
    """Posterior mean of the class probabilities (equation 17), as log-odds."""
    return float(np.log(counts[1] + pseudocounts[1]) - np.log(counts[0] + pseudocounts[0]))


def _candidate_columns(selection: Selection) -> IntArray:
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


# --------------------------------------------------------------------------------------------------
# Draws of the evidence of binary features, for intervals
#
# Given x*_j and y* = c, feature j has one more case in class c, so there are four kinds of
# posterior per feature; draws of all four are made once and serve every row.
# --------------------------------------------------------------------------------------------------


_FEATURES = 250


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
        # What the features share is drawn first: alpha, or the shape of its distribution. Each row
        # then weighs the draws by its own probability, because it is conditioned on too.
        node = np.zeros(n_draws, dtype=np.int64)
        if isinstance(block, CommonAlphaFit) or block.prior.shape_weights.size > 1:
            node = systematic(generator, np.exp(block.table.log_weight), n_draws)
            absent = None if missing is None else missing[:, columns]
            by_node = block.table.node_log_likelihood(ones[:, columns], absent)
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
    """Add the block's evidence, shape (2, n, S): for y* = 0 and 1, each row and draw."""
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
    """Draw alpha and theta of each feature given its counts and the nodes, each of shape (k, S)."""
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
    for position in np.unique(node):
        draws = np.flatnonzero(node == position)
        a = float(block.posterior.alpha[position])
        rule = theta_rule(n, a, block.interval)
        log_weight = _theta_log_weights(a, rule.theta, rule.weight, ones, cases)
        alpha[:, draws] = a
        theta[:, draws] = rule.theta[_inverse_cdf(log_weight, uniform[:, draws])]
    return alpha, theta


def _theta_log_weights(
    alpha: float, theta: FloatArray, weight: FloatArray, ones: IntArray, cases: IntArray
) -> FloatArray:
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
# Fast leave-one-out: select and fit again without each case, from counts
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRows:
    """The rows behind a fit, for whatever has to be fitted again without some of them.

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
        Breaks ties, anew in each fit.
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
        """Fit some of the rows, ties broken as in a fit of its own."""
        return fit_screening(screening, settings, tie_breaker(self.random_state), learned)

    def zero_one(
        self, selection: Selection, binarization: Binarization, rows: IntArray
    ) -> tuple[AnyArray, BoolArray | None]:
        """Return the kept columns of some rows as 0/1, and which cells are missing."""
        columns = np.array(selection.columns, dtype=np.int64)
        # Not checked for another scale: a fraction may be in the left-out rows only.
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
                f"without row {int(rows[0])} (and those left out with it) no case of class "
                f"{label!r} is left."
            )
            raise ValueError(msg)


# --------------------------------------------------------------------------------------------------
# Binary features as a part of an estimator
# --------------------------------------------------------------------------------------------------


ZeroOne = tuple[AnyArray, BoolArray | None]
"""Kept columns as 0/1, and which cells are missing."""


@dataclass(frozen=True, slots=True)
class BernoulliPart:
    """Fitted binary features, of a problem with two classes."""

    fit: BernoulliFit

    def to_plain(self) -> Plain:
        """Return the fit, and which of its two kinds it is, as plain data."""
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
    """Binary features of a training table."""

    settings: BernoulliSettings
    rows: TrainingRows

    def _whole(self, _memo: FoldMemo | None) -> Screening:
        return self.rows.whole

    def _without(
        self, folds: Sequence[IntArray], _memo: FoldMemo | None
    ) -> Iterator[tuple[IntArray, Screening]]:
        """Yield the rows of each fold, and the counts of the others; cuts are learned again."""
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
# What the kept features say: their table, their contributions to a case, the path over k
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
        Weight of evidence: what a one, or a zero, adds to the log-odds of class 1.
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

    kind: ClassVar[Kind] = "binary"

    def _columns(self) -> dict[str, Iterable[Any]]:
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
            "cut": self._cuts.cut,
            "high": self._cuts.high,
        }
        return {name: values.tolist() for name, values in arrays.items()}

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
    """P(x = 1 | class), or of 0, as prediction has it, per class and kept feature."""
    table = block.table
    log_probability = table.log_one if ones else table.log_zero
    result: FloatArray = np.exp(logsumexp(table.log_weight[:, None] + log_probability, axis=1))
    return result


def _sd(block: CommonAlphaFit | LearnedFit) -> FloatArray:
    """Posterior standard deviation of phi per class and kept feature."""
    return np.asarray(np.sqrt(np.maximum(_moment(block, 2) - _moment(block, 1) ** 2, 0.0)))


def _moment(block: CommonAlphaFit | LearnedFit, order: int) -> FloatArray:
    """E[phi^order | data] per class and kept feature.

    It is the probability that the next ``order`` cases of the class hold a one: a ratio of
    marginal likelihoods, averaged over alpha, or over shapes of its distribution.
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
            # Given the shape, alpha is the feature's own: its posterior counts. The shape's
            # probability given all counts is known already, and is not multiplied by a feature's.
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
    """Evidence that each feature adds after those before it, shape (n, k)."""
    parts = []
    for block, columns in zip(fit.blocks, fit.column_slices(), strict=True):
        absent = None if missing is None else missing[:, columns]
        parts.append(np.diff(block.table.cumulative_log_odds(ones[:, columns], absent), axis=1))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePath(Tabular):
    """Performance on given cases for each number of features.

    Attributes
    ----------
    n_features : ndarray of shape (k,)
        1, 2, ..., k: the strongest features of the race (those kept by design always count).
    expected_error, actual_error : ndarray of shape (k,)
        What the probabilities claim, and what happened.
    log_score, expected_log_score : ndarray of shape (k,)
        Average minus log probability of the actual class, and what the probabilities claim.
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
    """Cumulate log-odds along the ranking, so that one pass gives every number of features."""
    k = len(fit.selection.kept)
    ranked, *rest = zip(fit.blocks, fit.column_slices(), strict=True)
    prior = fit.log_prior_odds if log_prior_odds is None else log_prior_odds
    start = np.full(ones.shape[0], prior)
    for block, columns in rest:
        absent = None if missing is None else missing[:, columns]
        log_likelihood = block.table.log_likelihood(ones[:, columns], absent)
        start += log_likelihood[:, 1] - log_likelihood[:, 0]
    absent = None if missing is None else missing[:, ranked[1]]
    evidence = ranked[0].table.cumulative_log_odds(ones[:, ranked[1]], absent)[:, 1:]
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
