"""The kernels of interactions as plain Python, and checks that a mistake in them fails."""

import types
from pathlib import Path

import numpy as np
from interaction_problem import draw_data, draw_from_prior, model, uniforms_of
from scipy import stats

from honestbayes.models import interactions
from honestbayes.models.interactions import sampler
from honestbayes.models.interactions.model import InteractionKernel, find_groups, make_problem
from honestbayes.models.interactions.sampler import (
    GROUPS,
    ROWS,
    SLICES,
    TREE,
    predictors,
    widths_of,
)
from honestbayes.sampling import polya_gamma

TABLE = np.array([[0, 0], [0, 1], [1, 1]])
OWN = ("from honestbayes.models.interactions.", "from honestbayes.sampling.polya_gamma ")
BOUND = 2.0
"""Of coefficients, in the check that has a low one."""


def plain_python(changes=()):
    """The kernels of all modules without compilation, with some of their text changed."""
    parts = []
    for module in (polya_gamma, sampler):
        text = Path(module.__file__).read_text(encoding="utf-8")
        text = text.split("from __future__ import annotations\n")[1].replace("@kernel()\n", "")
        while any(own in text for own in OWN):  # names of the others are in the same module here
            first = min(text.index(own) for own in OWN if own in text)
            line = text[first : text.index("\n", first)]
            last = text.index(")\n", first) + 2 if line.endswith("(") else first + len(line) + 1
            text = text[:first] + text[last:]
        parts.append(text)
    text = "\n".join(parts)
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.interactions.sampler")
    exec(compile(text, "interaction_kernels.py", "exec"), module.__dict__)
    return module


OWN_WIDTHS = (0, 3.0, 0.8), (1, 0.0, 0.7), (2, 2.0, 0.5)
"""The width of the intercept is learned, that of order 1 fixed, and order 2 has its own prior."""


def invariance(
    prior, n_classes, way=SLICES, n_draws=1200, n_sweeps=2, *, suffixes=False, own_widths=()
):
    """Least P value of parameters after sweeps from exact draws of parameters and data."""
    settings, groups, k = model(prior, n_classes, TABLE, own_widths)
    if suffixes:
        _, groups, _ = find_groups(TABLE, 2, suffixes=True)
    rng = np.random.default_rng([5, n_classes])
    states, change = [], []
    for _ in range(n_draws):
        first = draw_from_prior(rng, groups, settings, k)
        last, target = swept(rng, first, groups, settings, n_classes, way, n_sweeps)
        states.append(last)
        before, after = (
            np.mean(np.arctan(predictors(at["s"], groups.start, groups.cases, 3) * (target - 1)))
            for at in (first, last)
        )
        change.append(after - before)
    found = [
        stats.kstest(values, "uniform").pvalue
        for values in uniforms_of(states, groups, settings).values()
    ]
    if own_widths and any(at["log_sigma"][1] != np.log(0.7) for at in states):
        return 0.0  # a fixed width has moved
    if not settings.is_cauchy:  # all coefficients in units of their widths
        squares = [
            np.sum((at["s"] / widths_of(groups.counts, at["log_sigma"], False)) ** 2)
            for at in states
        ]
        found.append(stats.kstest(squares, stats.chi2(states[0]["s"].size).cdf).pvalue)
    return min(*found, stats.ttest_1samp(change, 0.0).pvalue)


def swept(rng, first, groups, settings, n_classes, way, n_sweeps):
    """Return a state after sweeps with data drawn given the first one, and the data."""
    n = len(TABLE)
    target, spread = draw_data(rng, first, groups, n, n_classes)
    own = settings if n_classes else settings.of_response(spread)
    problem = make_problem(groups, target, np.full(n, 2.0), own, way)
    state = first
    for _ in range(n_sweeps):
        state, _ = InteractionKernel(problem).step(rng, state)
    return state, target


def bounded(n_classes, way, n_draws=1500):
    """Least P value of a change from exact draws without coefficients beyond `BOUND`."""
    settings, groups, k = model("gaussian", n_classes, TABLE)
    rng = np.random.default_rng([6, n_classes])
    changes = []
    for _ in range(n_draws):
        first = draw_from_prior(rng, groups, settings, k)
        while np.abs(first["s"]).max() > BOUND:
            first = draw_from_prior(rng, groups, settings, k)
        last, _ = swept(rng, first, groups, settings, n_classes, way, 2)
        values = [
            [*at["log_sigma"][1:], np.abs(at["s"]).mean(), np.abs(at["s"][-1, 0])]
            for at in (first, last)
        ]
        changes.append(np.subtract(*values))
    return stats.ttest_1samp(changes, 0.0).pvalue.min()


def normal_problem(way, suffixes):
    """Return what joint draws take, and the exact mean and covariance of coefficients."""
    settings, groups, _ = model("gaussian", 2, TABLE)
    if suffixes:
        _, groups, _ = find_groups(TABLE, 2, suffixes=True)
    n, log_sigma = len(TABLE), np.array([0.5, -0.2, 0.1])
    problem = make_problem(groups, np.zeros((1, n)), np.ones(n), settings, way)
    weight, z = np.array([0.5, 2.0, 1.0]), np.array([1.0, -2.0, 0.5])
    variance = groups.counts @ np.exp(2.0 * log_sigma)
    Z = predictors(np.eye(variance.size), groups.start, groups.cases, n).T
    gram = Z.T @ (weight[:, None] * Z) if way == GROUPS else np.zeros((0, 0))
    covariance = np.linalg.inv(np.diag(1 / variance) + Z.T @ (weight[:, None] * Z))
    exact = covariance @ Z.T @ (weight * z), covariance, (Z * variance) @ Z.T, np.diag(1 / weight)
    return (weight * z, weight, log_sigma, variance, gram, problem), exact, z


WAYS = ((TREE, True), (GROUPS, False), (ROWS, False))


def densities():
    """1 if densities without coefficients are exact, else 0."""
    good = True
    for way, suffixes in WAYS:
        arguments, (_, _, prior, noise), z = normal_problem(way, suffixes)
        log_density = stats.multivariate_normal.logpdf
        exact = log_density(z, cov=prior + noise) - log_density(z, cov=noise)
        good &= bool(np.isclose(interactions.sampler.log_evidence(*arguments), exact))
    return float(good)


def density_of_widths():
    """1 if the density of widths given the coefficients of two other classes is exact, else 0."""
    (h, weight, log_sigma, variance, gram, problem), (*_, noise), z = normal_problem(GROUPS, False)
    s = np.random.default_rng(9).standard_normal((3, variance.size))
    found, exact = [], []
    for shift in (0.0, 0.7):
        own = log_sigma + shift * np.array([0.0, 1.0, -1.0])
        variance = problem.counts @ np.exp(2.0 * own)
        Z = predictors(np.eye(variance.size), problem.start, problem.cases, z.size).T
        total = stats.multivariate_normal.logpdf(z, cov=(Z * variance) @ Z.T + noise)
        total += stats.norm.logpdf(s[[0, 2]], 0, np.sqrt(variance)).sum()
        for o in (1, 2):
            shape, rate = problem.priors[o]
            total += stats.invgamma.logpdf(np.exp(own[o]), shape, scale=rate) + own[o]
        exact.append(total)
        theta = np.append(own, 0.0)
        scale = np.ones(variance.size)
        found.append(
            interactions.sampler._log_marginal(theta, s, 1, h, weight, gram, scale, problem)
        )
    return float(np.isclose(found[1] - found[0], exact[1] - exact[0]))


def joint_draws(n_draws=1500):
    """Least P value of means and squares of joint draws."""
    rng, found = np.random.default_rng(7), []
    for way, suffixes in WAYS:
        arguments, (mean, covariance, *_), _ = normal_problem(way, suffixes)
        draws = [interactions.sampler.draw_jointly(rng, *arguments) for _ in range(n_draws)]
        unit = np.linalg.solve(np.linalg.cholesky(covariance), (np.array(draws) - mean).T)
        of_means = stats.chi2(mean.size).sf(n_draws * np.sum(unit.mean(axis=1) ** 2))
        below = stats.chi2(n_draws * mean.size).cdf(np.sum(unit**2))
        found += [of_means, 2 * min(below, 1 - below)]
    return min(found)


def polya_gamma_means(n_draws=2000):
    """Least P value of means of Polya-Gamma variables."""
    rng, found = np.random.default_rng(8), []
    for f in (0.5, -3.0, 8.0):
        draws = interactions.sampler.polya_gammas(rng, np.full(n_draws, f), np.full(n_draws, 2.0))
        found.append(stats.ttest_1samp(draws, np.tanh(f / 2) / f).pvalue)
    return min(found)


CHECKS = {
    "cauchy": lambda: invariance("cauchy", 2),
    "cauchy, kept": lambda: invariance("cauchy", 2, n_draws=2000, n_sweeps=4),
    "cauchy, more sweeps": lambda: invariance("cauchy", 2, n_draws=4000, n_sweeps=8),
    "gaussian": lambda: invariance("gaussian", 2),
    "three classes": lambda: invariance("cauchy", 3),
    "response": lambda: invariance("cauchy", 0),
    "normal response": lambda: invariance("gaussian", 0),
    "together, rows": lambda: invariance("gaussian", 2, ROWS),
    "together, tree": lambda: invariance("gaussian", 2, TREE, suffixes=True),
    "together, three classes": lambda: invariance("gaussian", 3, GROUPS),
    "together, response": lambda: invariance("gaussian", 0, GROUPS),
    "together, response, rows": lambda: invariance("gaussian", 0, ROWS),
    "together, Cauchy response": lambda: invariance("cauchy", 0, ROWS),
    "own widths": lambda: invariance("cauchy", 2, own_widths=OWN_WIDTHS),
    "own widths, together": lambda: invariance("gaussian", 2, ROWS, own_widths=OWN_WIDTHS),
    "densities": densities,
    "density of widths": density_of_widths,
    "joint draws": joint_draws,
    "Polya-Gamma means": polya_gamma_means,
    "together, bounded": lambda: bounded(0, GROUPS),
}

ALWAYS = {"together, bounded": [("LARGEST = 1e8\n", f"LARGEST = {BOUND}\n")]}
"""Changes of the text that a check is made for."""
