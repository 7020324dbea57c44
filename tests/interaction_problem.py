"""Small problems with interactions: a posterior by integration, and exact draws from the prior.

The posterior is that of one column of two levels, so that its patterns are the intercept and the
two levels. Given the intercept and the width, the two coefficients are independent, and everything
is a sum of products of one-dimensional integrals; nothing of the sampler is used.
"""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import expit, softmax

from honestbayes.models.interactions.model import ModelSettings, find_groups
from honestbayes.models.interactions.sampler import predictors, widths_of

WIDTH_PRIOR = (2.0, 0.5)
SIZE, ONES = np.array([4.0, 3.0]), np.array([3.0, 0.0])


def nodes(width, number=1200):
    """Return nodes and weights for integrals over the line, as wide as a Cauchy distribution."""
    u = (np.arange(number) + 0.5) / number
    angle = np.pi * (u - 0.5)
    return width * np.tan(angle), np.pi * width / np.cos(angle) ** 2 / number


def exact_moments(prior, intercept_width, width_prior=WIDTH_PRIOR):
    """Return posterior means of log(sigma_1), the probabilities of the two rows, and log(sigma_0).

    Where ``intercept_width`` is a pair it is shape and mode of the inverse gamma prior of sigma_0.
    """
    density = stats.cauchy.pdf if prior == "cauchy" else stats.norm.pdf
    shape, mode = width_prior

    def grid_of(shape, mode):
        log_sigma = np.linspace(-4.0, 6.0, 81)
        sigma = np.exp(log_sigma)
        return log_sigma, stats.invgamma.pdf(sigma, shape, scale=(shape + 1) * mode) * sigma

    log_sigma, hyper = grid_of(shape, mode)
    if isinstance(intercept_width, tuple):
        log_sigma_0, hyper_0 = grid_of(*intercept_width)
        hyper_0 = hyper_0 / hyper_0.sum()
        s0, step = nodes(intercept_width[1], 1001)
    else:
        log_sigma_0, hyper_0 = np.log([intercept_width]), np.ones(1)
        s0, step = nodes(intercept_width, 301)
    by_sigma_0 = hyper_0 * density(s0[:, None] / np.exp(log_sigma_0)) / np.exp(log_sigma_0)
    w0, w0_log_sigma_0 = step * by_sigma_0.sum(axis=1), step * (by_sigma_0 @ log_sigma_0)
    totals = np.zeros(5)
    for theta, weight in zip(log_sigma, hyper, strict=True):
        sigma = np.exp(theta)
        s, w = nodes(sigma)
        w = w * density(s / sigma) / sigma
        p = expit(s0[:, None] + s)
        rows = []
        for size, ones in zip(SIZE, ONES, strict=True):
            likelihood = p**ones * (1 - p) ** (size - ones) * w
            rows.append((likelihood.sum(axis=1), (likelihood * p).sum(axis=1)))
        (one, p_one), (two, p_two) = rows
        both = one * two @ w0
        totals += weight * np.array(
            [both, theta * both, p_one * two @ w0, one * p_two @ w0, one * two @ w0_log_sigma_0]
        )
    return totals[1:] / totals[0]


TABLE = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]])


SHAPE, MODE = 3.0, 0.4


def draw_from_prior(rng, groups, settings, k):
    """Draw a state from the prior; the intercept has width 1, unless its width is drawn too."""
    order = groups.order
    rate = (SHAPE + 1) * MODE / np.arange(1, order + 1)
    log_sigma = np.concatenate([[0.0], np.log(rate / rng.gamma(SHAPE, size=order))])
    for o, shape, mode in settings.own_widths:
        log_sigma[o] = np.log((shape + 1) * mode / rng.gamma(shape) if shape else mode)
    width = widths_of(groups.counts, log_sigma, settings.is_cauchy)
    unit = rng.standard_cauchy if settings.is_cauchy else rng.standard_normal
    shape, scale = settings.noise_prior if settings.noise_prior[0] else (1.0, 1.0)
    return {
        "s": width * unit((k, width.size)),
        "log_sigma": log_sigma,
        "noise": np.array(scale / rng.gamma(shape)),
    }


def draw_data(rng, state, groups, n, n_classes):
    """Draw two cases of each row: their sums by class or of the response, and their spread."""
    f = predictors(state["s"], groups.start, groups.cases, n)
    if n_classes == 0:
        y = f + np.sqrt(state["noise"]) * rng.standard_normal((2, n))
        return y.sum(axis=0)[None], float(((y - y.mean(axis=0)) ** 2).sum())
    if n_classes == 2:
        return rng.binomial(2, expit(f[0]))[None].astype(float), 0.0
    return rng.multinomial(2, softmax(f.T, axis=1)).T.astype(float), 0.0


def uniforms_of(states, groups, settings):
    """Return what is uniform under the prior, by name."""
    log_sigma = np.array([state["log_sigma"] for state in states])
    of = stats.cauchy if settings.is_cauchy else stats.norm
    chosen = [0, 1, -1]
    ratio = np.array(
        [
            state["s"][-1][chosen]
            / widths_of(groups.counts, state["log_sigma"], settings.is_cauchy)[chosen]
            for state in states
        ]
    )
    own = {1: (SHAPE, MODE), 2: (SHAPE, MODE / 2)}
    own |= {o: (shape, mode) for o, shape, mode in settings.own_widths}
    uniforms = {
        **{
            f"sigma_{o}": stats.invgamma.cdf(
                np.exp(log_sigma[:, o]), shape, scale=(shape + 1) * mode
            )
            for o, (shape, mode) in own.items()
            if shape
        },
        **{f"s_{j}": of.cdf(ratio[:, j]) for j in range(3)},
    }
    if settings.noise_prior[0]:
        a, b = settings.noise_prior
        noise = [float(state["noise"]) for state in states]
        uniforms["noise"] = stats.invgamma.cdf(noise, a, scale=b)
    return uniforms


def model(prior, n_classes, table=TABLE, own_widths=()):
    """Return settings, groups of patterns, and the number of linear predictors."""
    settings = ModelSettings(
        order=2,
        coefficient_prior=prior,
        width_prior=(SHAPE, MODE),
        own_widths=own_widths,
        n_width_updates=1,
    )
    settings = settings if n_classes else settings.of_response(0.0)
    _, groups, _ = find_groups(table, 2, suffixes=False)
    return settings, groups, {2: 1, 3: 3, 0: 1}[n_classes]
