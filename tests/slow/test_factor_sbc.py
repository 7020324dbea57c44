"""Simulation-based calibration of the factor classifier's chains, selection and all.

Talts, S., Betancourt, M., Simpson, D., Vehtari, A. and Gelman, A. (2018). Validating Bayesian
inference algorithms with simulation-based calibration.

All is as in `SelectiveFactorClassifier` with a heavy-tailed prior, but that the prior of variances
is known: the estimator learns it from the table, and ranks are uniform for what is known only.
"""

from dataclasses import astuple

import numpy as np
import oracles_factor as oracle
from scipy import stats

from honestbayes.base.numeric import select_by_r_squared
from honestbayes.correction.factor_event import class_contrasts
from honestbayes.likelihood.normal import VariancePrior, heavy_tailed, ratio_grid
from honestbayes.models.factors.model import FactorSettings, class_kernel, run_chains
from honestbayes.models.gaussian.estimator import RatioPosterior, Standard, assemble, real_source
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling
from honestbayes.selection.moments import screen_moments

CODES = np.repeat([0, 1], [9, 11])
P, K, N_NODES = 100, 4, 5
RATIO = ratio_grid(CODES.size)[::2]
WEIGHTS = np.stack([heavy_tailed(RATIO, scale) for scale in np.geomspace(1e-3, 3.0, N_NODES)])
PRIOR = VariancePrior(3.0, 2.0)
N_TABLES, N_DRAWS, THIN, N_WARMUP = 200, 19, 30, 150
NAMES = ("log_loading_ratio", "log_noise", "log_shift_ratio", "log_scale", "alignment")


def draw_all(rng):
    """A table, and the numbers that it was drawn with."""
    node = rng.integers(N_NODES)
    log_loading, log_shift = oracle.draw_log_loading(rng), oracle.draw_log_loading(rng)
    log_noise = oracle.draw_log_noise(rng)
    scores = oracle.draw_scores(rng, CODES, 1, log_shift)
    X, _, _ = oracle.draw_columns(
        rng, scores, CODES, log_loading, log_noise, WEIGHTS[node], RATIO, *astuple(PRIOR), P
    )
    along = class_contrasts(CODES).basis.T @ scores
    return X, (log_loading, log_noise, log_shift, float(node), float(np.sum(along**2)))


def draws_given(X, correction, seed):
    """Draws of one chain, far enough apart to be nearly independent, shape (draws, numbers)."""
    settings = FactorSettings(
        n_features=K,
        threshold=None,
        always_keep=np.zeros(P, dtype=bool),
        feature_prior="heavy-tailed",
        correction=correction,
    )
    moments = screen_moments(real_source(X, "test"), CODES, np.array([0, 1]))
    selection = select_by_r_squared(moments, settings.gaussian())
    kept = np.array(selection.columns)
    even = np.full(N_NODES, 1 / N_NODES)
    posterior = RatioPosterior(RATIO, even, WEIGHTS, np.zeros(N_NODES))
    as_measured = Standard(np.zeros(kept.size), np.ones(kept.size))
    fit = assemble(selection, PRIOR, moments.take(kept), as_measured, posterior, None)
    kernel, standard = class_kernel(X[:, kept], CODES, fit, settings)
    schedule = Schedule(N_WARMUP, N_DRAWS, THIN)
    sampling = Sampling(schedule, 1, np.random.SeedSequence(seed))
    draws = run_chains(kernel, standard, 1, 1, sampling).draws
    return np.column_stack([draws[name][0] for name in NAMES])


def ranks_of(correction):
    """Places of the truth among draws, one row for each table; equal ones are put in any order."""
    rng = np.random.default_rng(7)
    found = []
    for seed in range(N_TABLES):
        X, truth = draw_all(rng)
        draws = draws_given(X, correction, seed)
        below = (draws < truth).sum(axis=0)
        found.append(below + rng.integers(0, (draws == truth).sum(axis=0) + 1))
    return np.array(found)


def p_values(ranks):
    """Of ranks 0 to 19 in five equal bins."""
    counts = [np.bincount(column // 4, minlength=5) for column in ranks.T]
    return {name: stats.chisquare(n).pvalue for name, n in zip(NAMES, counts, strict=True)}


def test_ranks_of_the_truth_are_uniform():
    found = p_values(ranks_of("selection"))
    assert min(found.values()) > 1e-4, found


def test_they_are_not_if_the_selection_is_forgotten():
    found = p_values(ranks_of(None))
    assert min(found.values()) < 1e-6, found
