"""Fitted blocks of features as plain data, and back; what cannot be a block is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from honestbayes.files.entries import Entries, Plain, joined
from honestbayes.likelihood.counts import DistinctCounts
from honestbayes.likelihood.learned_prior import LearnedPrior
from honestbayes.likelihood.quadrature import ThetaRule
from honestbayes.models.binary.common_alpha import CommonAlphaFit, FeatureBlock
from honestbayes.models.binary.learned import LearnedFit
from honestbayes.models.binary.predictive import PredictiveTable
from honestbayes.models.shared.alpha_posterior import AlphaPosterior
from honestbayes.types import FloatArray, IntArray

_LARGEST_ALPHA = 1e131
"""Above the largest alpha of any quadrature rule, exp(300)."""

_LOWEST_LOG = -1e6
"""Below the log of any probability that counts and an alpha can give."""

_CLOSE = 1e-9


def block_to_plain(fit: CommonAlphaFit | LearnedFit) -> Plain:
    """Return a fitted block as plain data."""
    sections = {
        "posterior": posterior_to_plain(fit.posterior),
        "table": _table_to_plain(fit.table),
        "counts": _counts_to_plain(fit.block),
    }
    if isinstance(fit, LearnedFit):
        sections["prior"] = prior_to_plain(fit.prior)
        return joined(({}, {"log_atom_weight": fit.log_atom_weight}), **sections)
    return joined(({"theta_interval": list(fit.interval)}, {}), **sections)


def common_alpha_from_plain(
    entries: Entries, n_kept: int, class_counts: tuple[int, ...]
) -> CommonAlphaFit:
    """Return a block whose features share one alpha; ``n_kept`` is its number of features."""
    posterior = posterior_from_plain(entries.section("posterior"), learned=False)
    table = _table_from_plain(entries.section("table"), posterior.alpha.size, n_kept)
    entries.check(
        np.allclose(np.exp(table.log_weight), posterior.weights, rtol=0, atol=_CLOSE),
        "posterior.weights",
        "differs from the weights of the table",
    )
    block = _counts_from_plain(entries.section("counts"), n_kept, class_counts)
    interval = entries.value("theta_interval")
    good = isinstance(interval, list) and len(interval) == 2
    good = good and all(type(bound) in (int, float) for bound in interval)
    if not good or not 0 <= interval[0] < interval[1] <= 1:
        entries.refuse("theta_interval", "is not an interval within 0 and 1")
    entries.finish()
    return CommonAlphaFit(posterior, table, block, (float(interval[0]), float(interval[1])))


def learned_from_plain(entries: Entries, n_kept: int, class_counts: tuple[int, ...]) -> LearnedFit:
    """Return a block whose features' distribution was learnt."""
    posterior = posterior_from_plain(entries.section("posterior"), learned=True)
    table = _table_from_plain(entries.section("table"), 1, n_kept)
    block = _counts_from_plain(entries.section("counts"), n_kept, class_counts)
    prior = prior_from_plain(entries.section("prior"))
    entries.check(
        np.array_equal(prior.alpha, posterior.alpha), "posterior.alpha", "differs from the prior's"
    )
    shape = (prior.alpha.size, block.others.size)
    log_atom_weight = entries.logs("log_atom_weight", shape)
    entries.check(
        np.all(np.isfinite(log_atom_weight[prior.alpha_weights > 0])),
        "log_atom_weight",
        "has no weight where the prior has some",
    )
    entries.finish()
    return LearnedFit(posterior, table, prior, block, log_atom_weight)


# ---------------------------------------------------------------------- posterior of alpha


def posterior_to_plain(posterior: AlphaPosterior) -> Plain:
    """Return a posterior of alpha as plain data."""
    arrays = {
        "alpha": posterior.alpha,
        "weights": posterior.weights,
        "log_prob_selection": posterior.log_prob_selection,
        "log_density": posterior.log_density,
    }
    if posterior.edges is not None:
        arrays["edges"] = posterior.edges
    # The published rule has no estimate of its error; JSON has no NaN.
    error = None if np.isnan(posterior.error) else float(posterior.error)
    return {"error": error, "tolerance": float(posterior.tolerance)}, arrays


def posterior_from_plain(entries: Entries, *, learned: bool) -> AlphaPosterior:
    """Return the posterior that `posterior_to_plain` described."""
    alpha = increasing_alpha(entries, strictly=learned)
    n_nodes = alpha.size
    error = entries.optional_number("error")
    edges = None
    if learned:
        edges = entries.finite("edges", (n_nodes + 1,))
        entries.check(np.all(np.diff(edges) > 0), "edges", "is not increasing")
    posterior = AlphaPosterior(
        alpha,
        entries.weights("weights", (n_nodes,)),
        entries.logs("log_prob_selection", (n_nodes,)),
        entries.logs("log_density", (n_nodes,)),
        np.nan if error is None else error,
        entries.number("tolerance", 0.0),
        edges,
    )
    entries.finish()
    return posterior


def increasing_alpha(entries: Entries, *, strictly: bool) -> FloatArray:
    """Return positive nodes in increasing order; a heavy tail may have several at its end."""
    alpha = entries.finite("alpha", (None,), 0.0, _LARGEST_ALPHA)
    entries.check(alpha.size > 0 and alpha[0] > 0, "alpha", "is not positive")
    step = np.diff(alpha)
    entries.check(np.all(step > 0 if strictly else step >= 0), "alpha", "is not increasing")
    return alpha


# ------------------------------------------------------------------------ predictive table


def _table_to_plain(table: PredictiveTable) -> Plain:
    arrays = {
        "log_weight": table.log_weight,
        "log_one": table.log_one,
        "log_zero": table.log_zero,
    }
    return {}, arrays


def _table_from_plain(entries: Entries, n_nodes: int, n_kept: int) -> PredictiveTable:
    log_weight = entries.logs("log_weight", (n_nodes,))
    total = float(np.exp(np.minimum(log_weight, 1.0)).sum())
    entries.check(abs(total - 1) <= _CLOSE, "log_weight", "holds weights that do not sum to 1")
    shape = (2, n_nodes, n_kept)
    log_one = entries.finite("log_one", shape, _LOWEST_LOG, _CLOSE)
    log_zero = entries.finite("log_zero", shape, _LOWEST_LOG, _CLOSE)
    both = np.exp(log_one) + np.exp(log_zero)
    entries.check(
        np.all(np.abs(both - 1) <= _CLOSE), "log_one", "and log_zero are not probabilities"
    )
    entries.finish()
    return PredictiveTable(log_weight, log_one, log_zero)


# ---------------------------------------------------------------------------------- counts


def _counts_to_plain(block: FeatureBlock) -> Plain:
    arrays: dict[str, Any] = {
        "ones": block.counts.ones,
        "observed": block.counts.observed,
        "position": block.kept,
        "others": block.others,
    }
    if block.counts.peers is not None:
        arrays["peers"] = block.counts.peers
    return {}, arrays


def _counts_from_plain(
    entries: Entries, n_kept: int, class_counts: tuple[int, ...]
) -> FeatureBlock:
    cases = np.array(class_counts, dtype=np.int64)[:, None]
    observed = entries.counts("observed", (2, None), cases)
    n_distinct = observed.shape[1]
    ones = entries.counts("ones", (2, n_distinct), observed)
    kept = entries.counts("position", (n_kept,), n_distinct - 1)
    occurs = np.bincount(kept, minlength=n_distinct)
    entries.check(np.all(occurs > 0), "position", "leaves counts that no feature has")
    others = entries.counts("others", (n_distinct,))
    peers = None
    if entries.holds("peers"):
        peers = entries.counts("peers", (n_distinct,))
        entries.check(np.all(peers > 0), "peers", "holds an impossible number")
    entries.finish()
    return FeatureBlock(DistinctCounts(ones, observed, others + occurs, kept, peers), kept, others)


def kept_counts(block: FeatureBlock) -> tuple[IntArray, IntArray]:
    """Ones and observed cases of each kept feature, each of shape (2, k)."""
    return block.counts.ones[:, block.kept], block.counts.observed[:, block.kept]


# --------------------------------------------------------------------------- learned prior


def prior_to_plain(prior: LearnedPrior) -> Plain:
    """Return a learned distribution of features as plain data."""
    content = {
        "free": float(prior.free),
        "given_margin": bool(prior.given_margin),
        "converged": bool(prior.converged),
    }
    arrays = {
        "edges": prior.edges,
        "cell_weights": prior.cell_weights,
        "theta": prior.rule.theta,
        "theta_weights": prior.rule.weight,
        "alpha": prior.alpha,
        "alpha_weights": prior.alpha_weights,
        "family": prior.family,
        "log_likelihood": prior.log_likelihood,
        "path": prior.path,
    }
    return content, arrays


def prior_from_plain(entries: Entries) -> LearnedPrior:
    """Return the distribution that `prior_to_plain` described."""
    edges = entries.finite("edges", (None,), 0.0, 1.0)
    entries.check(edges.size >= 2 and np.all(np.diff(edges) > 0), "edges", "is not increasing")
    n_cells = edges.size - 1
    theta = entries.finite("theta", (None,), 0.0, 1.0)
    entries.check(
        theta.size > 0 and theta.size % n_cells == 0, "theta", "is not spread evenly over the cells"
    )
    alpha = increasing_alpha(entries, strictly=True)
    entries.check(alpha.size >= 2, "alpha", "has fewer than two atoms")
    prior = LearnedPrior(
        edges,
        entries.weights("cell_weights", (n_cells,)),
        ThetaRule(theta, entries.weights("theta_weights", (theta.size,))),
        alpha,
        entries.weights("alpha_weights", (alpha.size,)),
        entries.weights("family", (alpha.size,)),
        entries.number("free", 0.0, 1.0),
        entries.logs("log_likelihood", (alpha.size,)),
        entries.flag("given_margin"),
        entries.finite("path", (None,)),
        entries.flag("converged"),
    )
    entries.finish()
    return prior
