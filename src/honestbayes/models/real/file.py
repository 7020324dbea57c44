"""Fitted real-valued features as plain data, and back; what cannot be a fit is refused."""

from __future__ import annotations

import numpy as np

from honestbayes.files.entries import Entries, Plain
from honestbayes.likelihood.normal import VariancePrior
from honestbayes.models.real.fit import GaussianFit, RatioPosterior, assemble
from honestbayes.screening.moments import Moments
from honestbayes.selection import Selection
from honestbayes.types import AnyArray

_LARGEST = 1e300
_CLOSE = 1e-9


def fit_to_plain(fit: GaussianFit) -> Plain:
    """Return the fitted model without its selection and what it prepares for predictions."""
    content, _ = variance_prior_to_plain(fit.variance_prior)
    arrays: dict[str, AnyArray] = {
        "ratio": fit.posterior.ratio,
        "scale_weights": fit.posterior.scale_weights,
        "weights": fit.posterior.weights,
        "log_prob_selection": fit.posterior.log_prob_selection,
        "observed": fit.moments.observed,
        "mean": fit.moments.mean,
        "within": fit.moments.within,
    }
    return content, arrays


def fit_from_plain(entries: Entries, selection: Selection, classes: AnyArray) -> GaussianFit:
    """Return the fitted model that `fit_to_plain` described."""
    n_classes, k = classes.size, len(selection.columns)
    ratio = entries.finite("ratio", (None,), 0.0, 1e6)
    entries.check(
        ratio.size >= 2 and ratio[0] == 0 and np.all(np.diff(ratio) > 0),
        "ratio",
        "does not increase from 0",
    )
    scale_weights = entries.weights("scale_weights", (None,))
    weights = entries.finite("weights", (scale_weights.size, ratio.size), 0.0, 1.0)
    entries.check(np.all(np.abs(weights.sum(axis=1) - 1) <= _CLOSE), "weights", "do not sum to 1")
    log_prob = entries.logs("log_prob_selection", (scale_weights.size,))
    cases = np.array(selection.class_counts, dtype=np.int64)[:, None]
    observed = entries.counts("observed", (n_classes, None), cases)
    entries.check(observed.shape[1] in (1, k), "observed", "has another number of columns")
    moments = Moments(
        classes,
        selection.class_counts,
        observed,
        entries.finite("mean", (n_classes, k), -_LARGEST, _LARGEST),
        entries.finite("within", (k,), 0.0, _LARGEST),
    )
    prior = variance_prior_from_plain(entries)
    kept = moments.r_squared()[: len(selection.kept)]
    entries.check(
        np.all(kept >= float(selection.gamma_squared) - 1e-6),
        "mean",
        "is of a feature too weak for the bound of the selection",
    )
    posterior = RatioPosterior(ratio, scale_weights, weights, log_prob)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        fit = assemble(selection, posterior, prior, moments)
    finite = np.isfinite(fit.location).all() and np.isfinite(fit.log_spread).all()
    entries.check(finite and np.isfinite(fit.degrees).all(), "mean", "is out of range")
    return fit


def variance_prior_to_plain(prior: VariancePrior) -> Plain:
    """Return the prior of the features' variances."""
    return {"variance_shape": float(prior.shape), "variance_scale": float(prior.scale)}, {}


def variance_prior_from_plain(entries: Entries) -> VariancePrior:
    """Return the prior that `variance_prior_to_plain` described."""
    prior = VariancePrior(
        entries.number("variance_shape", 0.0, 1e9), entries.number("variance_scale", 0.0, _LARGEST)
    )
    entries.check(prior.shape > 0 and prior.scale > 0, "variance_scale", "is not positive")
    return prior
