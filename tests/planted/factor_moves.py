"""Checks of the moves of the factor model's sweep.

They pass on the source as it is, and not where a mistake is planted in it.
"""

from __future__ import annotations

import numpy as np
import oracles_factor as oracle
from factor_problem import LIMIT
from factor_source import RATIO, event_of

from honestbayes.likelihood.normal import heavy_tailed


def of_prior(scores, log_loading):
    means = np.sum(scores.mean(axis=0) ** 2)
    return [*log_loading, *np.abs(log_loading), np.sum(scores**2), means]


def rescale_check(modules):
    """Scores and loading ratios keep their prior."""
    rng = np.random.default_rng(4)
    codes = np.array([0, 0, 0, 1, 1])
    event = event_of(modules, codes, 14)
    before, after = [], []
    for _ in range(2500):
        log_loading, log_shift = oracle.draw_log_loading(rng, 2), rng.normal()
        scores = oracle.draw_scores(rng, codes, 2, log_shift)
        before.append(of_prior(scores, log_loading))
        for _ in range(3):
            modules.sampler._rescale(rng, event, np.exp(log_shift), scores, log_loading)
        after.append(of_prior(scores, log_loading))
    return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT


def joint(modules, rng):
    """Draw everything in which exactly two of 16 columns win, and the records of the kernel."""
    codes = np.repeat([0, 1], [5, 5])
    n = codes.size
    weights = heavy_tailed(RATIO, 0.3)[None]
    event = event_of(modules, codes, 14)
    while True:
        log_loading = oracle.draw_log_loading(rng, 1)
        log_noise = oracle.draw_log_noise(rng)
        log_shift = oracle.draw_log_loading(rng)
        scores = oracle.draw_scores(rng, codes, 1, log_shift)
        values, _, _ = oracle.draw_columns(
            rng, scores, codes, log_loading[0], log_noise, weights[0], RATIO, 3.0, 2.0, 16
        )
        won = oracle.r_squared_of_classes(values, codes) > event.gamma_squared
        if won.sum() == 2:
            break
    design = modules.sampler.Design(
        values[:, won],
        np.zeros((n, 2), dtype=bool),
        codes,
        np.bincount(codes).astype(float),
        RATIO,
        weights[:, None],
        np.zeros(2, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.full(2, 3.0),
        np.full(2, 2.0),
    )
    return design, event, scores, log_loading, log_noise, log_shift


def move_check(move, statistics, n_replicates):
    """Return a check that one move keeps the posterior."""

    def check(modules):
        rng = np.random.default_rng(5)
        before, after = [], []
        for _ in range(n_replicates):
            design, event, scores, log_loading, log_noise, log_shift = joint(modules, rng)
            columns = modules.sampler.column_moments(design.values, design.codes, design.counts)
            state = (scores, log_loading, log_noise, log_shift)
            before.append(statistics(event, *state))
            state = (scores.copy(), log_loading.copy(), log_noise, log_shift)
            after.append(statistics(event, *move(modules, rng, design, event, columns, *state)))
        return np.max(np.abs(oracle.paired_z(before, after))) < LIMIT

    return check


def of_scores(event, scores, log_loading, log_noise, log_shift):
    centred = scores - scores.mean(axis=0)
    along = np.log(np.sum((event.basis.T @ scores) ** 2))
    size = np.log(np.sum(centred**2))
    mixed = (size * log_loading[0], along * log_shift, along * log_loading[0])
    return [along, size, log_loading[0], log_noise, log_shift, *mixed]


def move_scores(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    kernels, parameters, sweep = modules.sampler, modules.sampler, modules.sampler
    current = kernels.with_noise(design, log_noise)
    for _ in range(3):
        moments = kernels.score_moments(scores, columns, design.codes, design.counts)
        drawn = parameters.draw_columns(
            rng, current, columns, moments, np.exp(log_loading), design.weights[0]
        )
        mean, root = parameters.score_conditional(current, design.values, *drawn[1:4])
        sweep._draw_scores(rng, current, event, 0, mean, root, scores, np.exp(log_loading[0]))
    return scores, log_loading, log_noise, log_shift


def move_along(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    current = modules.sampler.with_noise(design, log_noise)
    for _ in range(2):
        along = event.basis.T @ scores
        log_shift = modules.sampler.draw_shift(rng, log_shift, event, along)
        given = (columns, scores, 0, np.exp(log_loading))
        modules.sampler._draw_along(rng, current, event, np.exp(log_shift), *given)
    return scores, log_loading, log_noise, log_shift


def move_ratios(modules, rng, design, event, columns, scores, log_loading, log_noise, log_shift):
    kernels, sweep = modules.sampler, modules.sampler
    moments = kernels.score_moments(scores, columns, design.codes, design.counts)
    current = kernels.with_noise(design, log_noise)
    sweep._draw_loading(rng, 0, current, event, columns, moments, scores, 0, log_loading)
    log_noise = sweep._draw_noise(
        rng, log_noise, design, event, columns, moments, scores, 0, np.exp(log_loading)
    )
    return scores, log_loading, log_noise, log_shift


CHECKS = {
    "rescaling": rescale_check,
    "scores": move_check(move_scores, of_scores, 1200),
    "along": move_check(move_along, of_scores, 500),
    "ratios": move_check(move_ratios, of_scores, 400),
}

LONG = ("scores", "ratios")
"""Checks of moves that need many replicates."""

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "shifts forgotten where scores are rescaled",
        "rescaling",
        "square -= more / (1.0 + more) * np.sum(along[b] ** 2)",
        "square -= 0.0",
    ),
    (
        "the class's part of the scores without the shifts' variance",
        "along",
        "        other[b] *= np.sqrt(1.0 + shift * event.signal[b])\n",
        "        other[b] *= 1.0\n",
    ),
    (
        "rescaling always accepted",
        "rescaling",
        "if inside and np.log(rng.random()) < change:",
        "if inside:",
    ),
    (
        "rescaling by a wrong power",
        "rescaling",
        "rng.standard_gamma(0.5 * n * d)",
        "rng.standard_gamma(0.5 * (n * d + 2))",
    ),
    (
        "scores accepted whatever P(S)",
        "scores",
        "if np.log(rng.random()) < value - now:",
        "if True:",
    ),
    (
        "proposals of scores with too much noise",
        "scores",
        "fresh = np.sqrt(1.0 - kept_share**2)",
        "fresh = 1.0",
    ),
    (
        "the class's part of the scores without P(S)",
        "along",
        "return likelihood + log_selection_at(event, design, node, scores, loading[0])",
        "return likelihood",
    ),
    (
        "the share of noise without its Jacobian",
        "ratios",
        "return log_noise - np.exp(log_noise)",
        "return -np.exp(log_noise)",
    ),
    (
        "the shape of the variances' prior forgotten",
        "ratios",
        "            result += design.shape[j] * x\n",
        "            result += 0.0\n",
    ),
    (
        "loading ratio without P(S)",
        "ratios",
        "    if g == 0 and result > level:\n        result += log_sel",
        "    if g == 9 and result > level:\n        result += log_sel",
    ),
]
