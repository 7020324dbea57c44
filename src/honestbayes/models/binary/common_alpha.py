"""Fit the papers' model: all features share one alpha, theta is uniform.

The posterior of alpha is prior x likelihood of the kept features x what is known of the
discarded ones (equation 26 of the 2008 paper).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from honestbayes.correction.discard import Ties, group_probabilities
from honestbayes.correction.event import event_of
from honestbayes.files.entries import Entries, Plain
from honestbayes.files.fields import CLOSE, Interval, Known
from honestbayes.files.records import Check, Section
from honestbayes.likelihood.counts import CountLikelihood, DistinctCounts, distinct_counts
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
from honestbayes.models.binary.predictive import PredictiveTable, beta_binomial_table
from honestbayes.models.binary.settings import ModelSettings
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.selection import Selection
from honestbayes.types import AnyArray, FloatArray, IntArray

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
        peers = self.counts.peers
        return {}, arrays if peers is None else {**arrays, "peers": peers}

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
        peers = entries.counts("peers", (n_distinct,)) if entries.holds("peers") else None
        entries.check(peers is None or np.all(peers > 0), "peers", "holds an impossible number")
        return cls(
            DistinctCounts(
                ones=ones,
                observed=observed,
                multiplicity=others + occurs,
                inverse=kept,
                peers=peers,
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
    block: Annotated[FeatureBlock, Section(kind=FeatureBlock, stored_as="counts")]
    interval: Annotated[tuple[float, float], Interval(stored_as="theta_interval")]

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
