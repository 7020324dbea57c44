"""Normal coefficients all at once: covariances, densities, draws, and exact posteriors."""

import numpy as np
import pytest
from interaction_problem import (
    ONES,
    SIZE,
    TABLE,
    WIDTH_PRIOR,
    draw_data,
    draw_from_prior,
    exact_moments,
    model,
    uniforms_of,
)
from oracles_interactions import agreement_kernel, patterns_of, suffixes_of
from scipy import integrate, stats
from scipy.special import expit

from honestbayes.models.interactions.model import (
    INTERCEPT_WIDTHS,
    InteractionKernel,
    ModelSettings,
    find_groups,
    make_problem,
    starting_states,
)
from honestbayes.models.interactions.sampler import (
    GROUPS,
    ROWS,
    SLICES,
    TREE,
    draw_jointly,
    group_gram,
    log_evidence,
    predictors,
    row_covariance,
    widths_of,
)
from honestbayes.sampling.draws import diagnose
from honestbayes.sampling.polya_gamma import polya_gammas

MOST = 5.0
"""Standard errors that a mean may be off by."""

LOG_SIGMA = np.array([0.7, -0.4, -0.9, 0.2])

WAYS = {
    "tree": (TREE, True),
    "groups of sequences": (GROUPS, True),
    "groups of a table": (GROUPS, False),
    "rows of a table": (ROWS, False),
}


def few_rows(way, *, suffixes, compress=True, n=14, prior="gaussian"):
    """Return different rows, a problem of some cases of each, and an oracle's covariance."""
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 2, (n, 4 - suffixes))
    rows, groups, which = find_groups(cells, 3, suffixes=suffixes, compress=compress)
    size = np.bincount(which).astype(float)
    settings = ModelSettings(order=3, coefficient_prior=prior)
    problem = make_problem(groups, np.zeros((1, size.size)), size, settings, way)
    of = suffixes_of if suffixes else patterns_of
    return rows, problem, agreement_kernel(rows, rows, np.exp(2 * LOG_SIGMA), of)


def normal_part(problem, way, rng):
    """Return h, weights, variances and the matrix of groups, and z."""
    n = problem.size.size
    weight, z = rng.gamma(2.0, size=n), rng.standard_normal(n)
    variance = widths_of(problem.counts, LOG_SIGMA, False) ** 2
    gram = group_gram(weight, problem) if way == GROUPS else np.zeros((0, 0))
    return weight * z, weight, variance, gram, z


@pytest.mark.parametrize("compress", [True, False])
def test_the_covariance_of_rows_is_that_of_all_patterns(compress):
    _, problem, exact = few_rows(ROWS, suffixes=False, compress=compress)
    exact = np.tril(exact)
    found = row_covariance(LOG_SIGMA, np.zeros(0), problem)
    assert np.allclose(found, exact, rtol=1e-12)
    # Cauchy coefficients given scales: the sum over groups, of which the variances are any.
    variance = widths_of(problem.counts, LOG_SIGMA, False) ** 2
    found = row_covariance(LOG_SIGMA, variance, problem._replace(is_cauchy=True))
    assert np.allclose(found, exact, rtol=1e-12)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("name", WAYS)
def test_densities_are_those_of_the_process(name, compress):
    way, suffixes = WAYS[name]
    _, problem, exact = few_rows(way, suffixes=suffixes, compress=compress)
    h, weight, variance, gram, z = normal_part(problem, way, np.random.default_rng(3))
    found = log_evidence(h, weight, LOG_SIGMA, variance, gram, problem)
    log_density, noise = stats.multivariate_normal.logpdf, np.diag(1 / weight)
    expected = log_density(z, cov=exact + noise) - log_density(z, cov=noise)
    assert np.isclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", WAYS)
def test_joint_draws_have_the_exact_mean_and_covariance(name):
    way, suffixes = WAYS[name]
    _, problem, _ = few_rows(way, suffixes=suffixes)
    rng = np.random.default_rng(4)
    h, weight, variance, gram, _ = normal_part(problem, way, rng)
    n, n_groups = h.size, variance.size
    Z = predictors(np.eye(n_groups), problem.start, problem.cases, n).T
    covariance = np.linalg.inv(np.diag(1 / variance) + Z.T @ (weight[:, None] * Z))
    mean = covariance @ Z.T @ h
    arguments = (h, weight, LOG_SIGMA, variance, gram, problem)
    draws = np.array([draw_jointly(rng, *arguments) for _ in range(4000)])
    # In units in which they should be standard normal and independent.
    unit = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    assert np.abs(unit.mean(axis=1)).max() * np.sqrt(4000) < MOST
    away = (unit @ unit.T / 4000 - np.eye(n_groups)) * np.sqrt(4000)
    assert np.abs(away).max() < MOST * np.sqrt(2)


def test_overlapping_groups_are_no_tree():
    with pytest.raises(ValueError, match="not form a tree"):
        few_rows(TREE, suffixes=False)


def test_the_way_goes_by_prior_kind_and_number_of_equations():
    gaussian, cauchy = (
        ModelSettings(order=2, coefficient_prior=prior) for prior in ("gaussian", "cauchy")
    )
    rng = np.random.default_rng(9)

    def way_of(settings, cells, order=2, *, suffixes=False):
        rows, groups, which = find_groups(cells, order, suffixes=suffixes)
        target = np.zeros((1, len(rows)))
        return make_problem(groups, target, np.bincount(which), settings).way

    few, many = rng.integers(0, 3, (20, 4)), rng.integers(0, 9, (1500, 8))
    assert way_of(gaussian, few) == way_of(gaussian.of_response(0.0), few) == ROWS
    assert way_of(gaussian, few, 1) == GROUPS
    assert way_of(gaussian, many) == SLICES
    assert way_of(gaussian, many, 8, suffixes=True) == TREE
    assert way_of(cauchy, few) == SLICES
    assert way_of(cauchy, few, 4, suffixes=True) == TREE
    assert way_of(cauchy.of_response(0.0), few) == ROWS


@pytest.mark.parametrize("f", [0.0, 0.3, -2.0, 3.3, 12.0, -300.0, 1e6])
def test_polya_gamma_draws_have_their_moments(f):
    size, n = 3, 8000
    rng = np.random.default_rng(5)
    draws = polya_gammas(rng, np.full(n, f), np.full(n, float(size)))
    z = abs(f)
    mean, variance = size / 4, size / 24
    if z > 0:
        mean = size * np.tanh(z / 2) / (2 * z)
        # (sinh z - z) / cosh(z / 2)^2, without overflow
        ratio = (-np.expm1(-2 * z) - 2 * z * np.exp(-z)) * 2 / (1 + np.exp(-z)) ** 2
        variance = size * ratio / (4 * z**3)
    assert abs(draws.mean() - mean) < MOST * np.sqrt(variance / n)
    square = (draws - mean) ** 2
    assert abs(square.mean() - variance) < MOST * square.std() / np.sqrt(n)


@pytest.mark.slow_cases("2", "3")
@pytest.mark.parametrize("way", [TREE, GROUPS, ROWS])
def test_the_posterior_of_two_classes_is_exact(way):
    settings = ModelSettings(order=1, coefficient_prior="gaussian", width_prior=WIDTH_PRIOR)
    _, groups, _ = find_groups(np.array([[0], [1]]), 1, suffixes=False)
    problem = make_problem(groups, ONES[None], SIZE, settings, way)
    f, log_sigma, _ = run(problem, 8000, seed=1)
    exact = exact_moments("gaussian", INTERCEPT_WIDTHS["gaussian"])[:3]
    draws = {"log_sigma": log_sigma[:, 1], "p_0": expit(f[:, 0, 0]), "p_1": expit(f[:, 0, 1])}
    check_means(draws, dict(zip(draws, exact, strict=True)))


def run(problem, n_draws, seed, n_warmup=200):
    """Return predictors, widths and noise of one long chain."""
    rng = np.random.default_rng(seed)
    (state,) = starting_states(problem, 1, rng)
    kernel = InteractionKernel(problem)
    f, log_sigma, noise = [], [], []
    for draw in range(n_draws + n_warmup):
        state, _ = kernel.step(rng, state)
        if draw >= n_warmup:
            f.append(predictors(state["s"], problem.start, problem.cases, problem.size.size))
            log_sigma.append(state["log_sigma"])
            noise.append(float(state["noise"]))
    return np.array(f), np.array(log_sigma), np.array(noise)


def check_means(draws, exact):
    """Compare means of draws, by name, with exact ones."""
    found = diagnose({name: np.asarray(values).reshape(4, -1) for name, values in draws.items()})
    z = (found.mean - np.array([exact[name] for name in draws])) / found.mcse
    assert np.all(found.ess_bulk > 150), dict(zip(found.name, found.ess_bulk, strict=True))
    assert np.abs(z).max() < MOST, dict(zip(found.name, z, strict=True))


@pytest.mark.slow_cases("2", "3")
@pytest.mark.parametrize("way", [GROUPS, ROWS])
def test_the_posterior_of_a_response_is_exact(way):
    """One width and the noise, by integrals over both of a closed form of all else."""
    rng = np.random.default_rng(6)
    cells, size = TABLE, np.array([3.0, 1.0, 2.0, 1.0, 1.0, 2.0])
    rows, groups, which = find_groups(cells, 1, suffixes=False)
    y = np.repeat(2.0 * rows[:, 1], size.astype(int)) + 0.5 * rng.standard_normal(10)
    which = np.repeat(np.arange(6), size.astype(int))
    means = np.bincount(which, y) / size
    spread = float(((y - means[which]) ** 2).sum())
    settings = ModelSettings(
        order=1, coefficient_prior="gaussian", width_prior=(2.0, 0.5)
    ).of_response(spread)
    problem = make_problem(groups, (size * means)[None], size, settings, way)
    f, log_sigma, noise = run(problem, 4000, seed=7)

    # Every case for itself; the log of the joint density of both logarithms.
    K = [agreement_kernel(rows, rows, unit, patterns_of) for unit in np.eye(2)]
    K = [part[np.ix_(which, which)] for part in K]
    thetas, log_noises = np.linspace(-4, 6, 101), np.linspace(-5, 4, 91)
    density, f_0 = np.empty((101, 91)), np.empty((101, 91))
    for a, theta in enumerate(thetas):
        prior = 100.0 * K[0] + np.exp(2 * theta) * K[1]
        for b, log_noise in enumerate(log_noises):
            total = prior + np.exp(log_noise) * np.eye(10)
            density[a, b] = stats.multivariate_normal.logpdf(y, np.zeros(10), total)
            f_0[a, b] = prior[0] @ np.linalg.solve(total, y)
    density += (stats.invgamma.logpdf(np.exp(thetas), 2.0, scale=1.5) + thetas)[:, None]
    shape, rate = settings.noise_prior
    density += stats.invgamma.logpdf(np.exp(log_noises), shape, scale=rate) + log_noises
    density = np.exp(density - density.max())

    def mean(values):
        whole = integrate.trapezoid(integrate.trapezoid(density * values, log_noises), thetas)
        return whole / integrate.trapezoid(integrate.trapezoid(density, log_noises), thetas)

    exact = {
        "log_sigma": mean(thetas[:, None]),
        "log_noise": mean(log_noises),
        "log_noise, squared": mean(log_noises**2),
        "f_0": mean(f_0),
    }
    found = log_sigma[:, 1], np.log(noise), np.log(noise) ** 2, f[:, 0, 0]
    check_means(dict(zip(exact, found, strict=True)), exact)


EXACT = {
    "two classes, rows": ("gaussian", 2, ROWS),
    "two classes, groups": ("gaussian", 2, GROUPS),
    "three classes, rows": ("gaussian", 3, ROWS),
    "three classes, groups": ("gaussian", 3, GROUPS),
    "response, rows": ("gaussian", 0, ROWS),
    "response, groups": ("gaussian", 0, GROUPS),
    "Cauchy response, rows": ("cauchy", 0, ROWS),
    "Cauchy response, groups": ("cauchy", 0, GROUPS),
}


@pytest.mark.slow_cases(
    "Cauchy response, groups",
    "Cauchy response, rows",
    "three classes, groups",
    "three classes, rows",
)
@pytest.mark.parametrize("name", EXACT)
def test_exact_draws_stay_exact(name):
    """From exact draws of parameters and data, a few sweeps lead to exact draws again."""
    prior, n_classes, way = EXACT[name]
    stay_exact(prior, n_classes, way, TABLE, suffixes=False)


@pytest.mark.slow_cases("0-cauchy", "2-cauchy", "2-gaussian", "3-cauchy")
@pytest.mark.parametrize("prior", ["gaussian", "cauchy"])
@pytest.mark.parametrize("n_classes", [2, 3, 0])
def test_exact_draws_of_sequences_stay_exact(prior, n_classes):
    stay_exact(prior, n_classes, TREE, TABLE[:, 1:], suffixes=True)


def stay_exact(prior, n_classes, way, table, *, suffixes):
    """Compare uniform functions of parameters after sweeps with the uniform distribution."""
    settings, groups, k = model(prior, n_classes)
    rows, groups, _ = find_groups(table, 2, suffixes=suffixes)
    n = len(rows)
    rng = np.random.default_rng([13, n_classes])
    states, change = [], []
    for _ in range(2500):
        first = draw_from_prior(rng, groups, settings, k)
        target, spread = draw_data(rng, first, groups, n, n_classes)
        own = settings if n_classes else settings.of_response(spread)
        problem = make_problem(groups, target, np.full(n, 2.0), own, way)
        state = first
        for _ in range(3):
            state, _ = InteractionKernel(problem).step(rng, state)
        states.append(state)
        with_data = [
            np.mean(np.arctan(predictors(at["s"], groups.start, groups.cases, n) * (target - 1)))
            for at in (first, state)
        ]
        change.append(with_data[1] - with_data[0])
    for name, values in uniforms_of(states, groups, settings).items():
        assert stats.kstest(values, "uniform").pvalue > 1e-5, name
    assert abs(np.mean(change)) < MOST * np.std(change) / np.sqrt(len(change))
