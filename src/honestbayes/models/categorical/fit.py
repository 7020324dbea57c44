"""From the counts of categorical features to a fitted model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from honestbayes.likelihood.dirichlet import TableLikelihood
from honestbayes.likelihood.learned_categories import (
    LearnedCategories,
    distinct_tables,
    is_binary,
    learn_categories,
)
from honestbayes.likelihood.quadrature import (
    LineRule,
    Nodes,
    finite_alpha,
    integrate_log_alpha,
)
from honestbayes.models.binary.common_alpha import feature_block, scan_range
from honestbayes.models.binary.learned import as_posterior, fit_learned
from honestbayes.models.categorical.blocks import (
    CategoricalBlock,
    CategoricalFit,
    node_log_likelihood,
)
from honestbayes.models.categorical.discarded import DiscardedCategories
from honestbayes.models.categorical.settings import CategoricalSettings
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.screening.categories import CategoryCounts
from honestbayes.selection import Selection
from honestbayes.selection.association import strength_of
from honestbayes.selection.correlation import Outcome, race, race_by_rank
from honestbayes.types import FloatArray, IntArray

_Kept = list[tuple[IntArray, IntArray, TableLikelihood]]
"""Positions of features with the same number of levels, their tables, and their likelihood."""

_N_PROBES = 16
_NEGLIGIBLE = 1e-10


def fit_categories(
    counts: CategoryCounts,
    settings: CategoricalSettings,
    random_state: np.random.RandomState | None,
    learned: LearnedCategories | None = None,
    strength: FloatArray | None = None,
) -> CategoricalFit:
    """Select, correct and fit from counts.

    Parameters
    ----------
    counts : CategoryCounts
        Of all features.
    settings : CategoricalSettings
        Choices of the user.
    random_state : RandomState or None
        Breaks ties.
    learned : LearnedCategories, optional
        Replaces learning the prior anew.
    strength : ndarray of shape (p,), optional
        Strengths of all features by a user's function, which counts cannot tell.
    """
    outcome = _race(counts, settings, random_state, strength)
    selection = outcome.selection(
        counts.class_counts, counts.observed(), counts.feature_names, counts.n_levels()
    )
    kept, always = outcome.kept, outcome.always_kept
    if settings.feature_prior == "learned":
        if learned is None:
            source = kept if settings.correction is None else np.flatnonzero(~settings.always_keep)
            learned = learn_categories(
                [tables for _, tables in counts.tables_of(source)] or [_no_tables(counts)],
                settings.alpha_prior,
            )
        winners = _fit_learned(counts, kept, learned)
    else:
        event = selection if settings.correction == "selection" else None
        others = outcome.discarded if settings.correction == "counts" else None
        winners = _fit_common(counts, kept, others, event, settings)
    by_design = _fit_common(counts, always, None, None, settings) if always.size else None
    return CategoricalFit(selection, winners, by_design)


def _race(
    counts: CategoryCounts,
    settings: CategoricalSettings,
    random_state: np.random.RandomState | None,
    strength: FloatArray | None,
) -> Outcome:
    words: dict[str, Any] = {
        "n_features": settings.n_features,
        "always_keep": settings.always_keep,
        "random_state": random_state,
    }
    criterion = settings.criterion
    if criterion is None:
        return race(*strength_of(counts), threshold=settings.threshold, **words)
    if strength is None:
        assert criterion.from_tables is not None
        strength = np.empty(counts.n_features)
        for group in counts.groups:
            criterion.check("categorical", *group.tables.shape[1:])
            strength[group.columns] = criterion.from_tables(group.tables)
    return race_by_rank(strength, criterion.name, **words)


def _no_tables(counts: CategoryCounts) -> IntArray:
    return np.zeros((0, counts.classes.size, 2), dtype=np.int64)


def _fit_learned(
    counts: CategoryCounts, columns: IntArray, prior: LearnedCategories
) -> CategoricalBlock:
    """Shrink each kept feature by its own posterior, given the learned prior.

    The nodes are the shapes of the distribution of alpha, as in the binary model (`fit_learned`).
    """
    log_prob: dict[int, FloatArray] = {}
    by_feature: dict[int, IntArray] = {}
    alpha, shape = prior.learned.alpha, prior.learned.shape
    kept_log_likelihood = np.zeros(alpha.size)
    for positions, tables in counts.tables_of(columns):
        if is_binary(tables) and prior.binary is not None:
            ones, observed = tables[:, :, 1].T, tables.sum(axis=2).T
            block = feature_block(ones, observed, np.arange(positions.size))
            fit = fit_learned(block, prior.binary)
            kept_log_likelihood += prior.learned.log_likelihood - fit.posterior.log_prob_selection
            predictive = np.stack([fit.table.log_zero, fit.table.log_one], axis=-1)
            found = np.moveaxis(predictive, 2, 0).transpose(0, 2, 1, 3)
        else:
            likelihood = TableLikelihood(tables, prior.base)
            log_marginal = likelihood.log_marginal(alpha)
            kept_log_likelihood += log_marginal.sum(axis=1)
            atoms = np.flatnonzero(shape.weights > _NEGLIGIBLE)
            mean = likelihood.mean_theta(alpha[atoms])
            each = np.exp(_log_predictive(alpha[atoms], mean, tables))
            by_shape = []
            for share in shape.shapes[:, atoms]:
                own = np.flatnonzero(share > _NEGLIGIBLE)
                log_weight = log_marginal[atoms[own]] + np.log(share[own])[:, None]
                weight = np.exp(log_weight - logsumexp(log_weight, axis=0))
                by_shape.append(np.log(np.einsum("ad,adcv->dcv", weight, each[own])))
            found = np.stack(by_shape, axis=1)
        for place, position in enumerate(positions.tolist()):
            log_prob[position], by_feature[position] = found[place], tables[place]
    if not shape.converged and prior.binary is None:
        warnings.warn(
            "EM for the learned prior stopped at its limit of steps; the distribution of features "
            "may be less well adapted than it could be.",
            ConvergenceWarning,
            stacklevel=3,
        )
    order = range(columns.size)
    return CategoricalBlock(
        posterior=as_posterior(alpha, shape, prior.learned.log_likelihood, kept_log_likelihood),
        tables=tuple(by_feature[position] for position in order),
        log_weight=np.log(shape.shape_weights),
        log_prob=tuple(log_prob[position] for position in order),
        prior=prior,
    )


def _log_predictive(alpha: FloatArray, mean: FloatArray, tables: IntArray) -> FloatArray:
    """Return log((alpha E[theta_v] + n_cv) / (alpha + n_c)), shape (A, D, C, V)."""
    a = alpha[:, None, None, None]
    total = tables.sum(axis=2)[:, :, None]
    return np.asarray(np.log(a * mean[:, :, None, :] + tables) - np.log(a + total))


def _fit_common(
    counts: CategoryCounts,
    columns: IntArray,
    others: IntArray | None,
    event: Selection | None,
    settings: CategoricalSettings,
) -> CategoricalBlock:
    """Fit features that share one alpha, theta uniform on the simplex.

    Parameters
    ----------
    counts : CategoryCounts
        Of all features.
    columns, others : ndarray of int
        The block's features; discarded ones whose counts are conditioned on.
    event : Selection or None
        The event that the others were discarded, to be conditioned on.
    settings : CategoricalSettings
        Priors and tolerance.
    """
    kept = [
        (positions, tables, TableLikelihood(tables))
        for positions, tables in counts.tables_of(columns)
    ]
    known = []
    if others is not None:
        for _, tables in counts.tables_of(others):
            distinct, times = distinct_tables(tables)
            known.append((TableLikelihood(distinct), times))
    probes = _probes(kept, columns.size)

    def log_kept(alpha: FloatArray) -> FloatArray:
        total = np.zeros(alpha.size)
        for _, _, likelihood in kept:
            total += likelihood.log_marginal(alpha).sum(axis=1)
        return total

    discarded = None
    if event is not None and event.n_discarded:
        discarded = DiscardedCategories(
            event,
            lambda t: settings.alpha_prior.log_density_of_log(t) + log_kept(finite_alpha(t)),
            settings.criterion,
        )

    def evaluate(log_alpha: FloatArray) -> Nodes:
        alpha = finite_alpha(log_alpha)
        log_event = np.zeros(alpha.size)
        for likelihood, times in known:
            log_event += likelihood.log_marginal(alpha) @ times
        if discarded is not None:
            log_event += discarded.log_prob(log_alpha)
        density = settings.alpha_prior.log_density_of_log(log_alpha) + log_kept(alpha) + log_event
        tilt = np.zeros((alpha.size, counts.classes.size, _N_PROBES))
        if columns.size:
            tilt = node_log_likelihood(_predictive_at(alpha, kept, columns.size)[1], probes)
        return Nodes(density, [(np.asarray(value),) for value in log_event], tilt)

    rule = integrate_log_alpha(
        evaluate, scan_range(settings.alpha_prior), tolerance=settings.tolerance
    )
    posterior = _posterior(rule, settings.tolerance)
    by_feature, log_prob = _predictive_at(posterior.alpha, kept, columns.size)
    return CategoricalBlock(
        posterior=posterior,
        tables=by_feature,
        log_weight=rule.log_weight,
        log_prob=log_prob,
        prior=None,
    )


def _posterior(rule: LineRule, tolerance: float) -> AlphaPosterior:
    """Return the posterior of alpha on the nodes of a rule; warn where these are too few."""
    if rule.error > tolerance:
        warnings.warn(
            f"the integral over alpha reached an estimated error of {rule.error:.1e}, not the "
            f"tolerance {tolerance:.1e}; probabilities may be off by that much in log-odds.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return AlphaPosterior(
        alpha=finite_alpha(rule.log_alpha),
        weights=rule.weight,
        log_prob_selection=np.array([value[0] for value in rule.values]),
        log_density=rule.log_density,
        error=rule.error,
        tolerance=tolerance,
    )


def _predictive_at(
    alpha: FloatArray, kept: _Kept, n_columns: int
) -> tuple[tuple[IntArray, ...], tuple[FloatArray, ...]]:
    """Return the tables of each feature and log P(level | class, alpha), in the columns' order."""
    log_prob: dict[int, FloatArray] = {}
    by_feature: dict[int, IntArray] = {}
    for positions, tables, likelihood in kept:
        found = _log_predictive(alpha, likelihood.mean_theta(alpha), tables)
        for place, position in enumerate(positions.tolist()):
            log_prob[position], by_feature[position] = found[:, place], tables[place]
    order = range(n_columns)
    return tuple(by_feature[j] for j in order), tuple(log_prob[j] for j in order)


def _probes(kept: _Kept, n_columns: int) -> IntArray:
    """Make up cases whose log-odds decide when quadrature is fine enough, from counts."""
    generator = np.random.default_rng(0)
    probes = np.zeros((_N_PROBES, n_columns), dtype=np.int64)
    for positions, tables, _ in kept:
        n_classes = tables.shape[1]
        share = (tables + 0.5) / (tables + 0.5).sum(axis=2, keepdims=True)
        below = np.cumsum(share, axis=2)[:, np.arange(_N_PROBES) % n_classes, :-1]
        uniform = generator.random((positions.size, _N_PROBES, 1))
        probes[:, positions] = (uniform > below).sum(axis=2).T
    return probes
