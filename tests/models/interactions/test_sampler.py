"""Slices of interactions: exact posteriors, the prior from data drawn in turn, and splits."""

from itertools import pairwise

import numpy as np
import pytest
from grids import few, slow
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
from oracles_interactions import agreement_kernel, patterns_of
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
from honestbayes.models.interactions.prediction import split_cauchy
from honestbayes.models.interactions.sampler import SLICES, predictors
from honestbayes.sampling.draws import diagnose

MOST = 4.2
"""Standard errors that a mean may be off by: one false alarm in forty thousand."""


def run(problem, n_draws, seed, n_sweeps=1, noise=1.0):
    """Return predictors, widths and noise of one long chain."""
    rng = np.random.default_rng(seed)
    (state,) = starting_states(problem, 1, rng)
    kernel = InteractionKernel(problem, n_sweeps)
    state = {**state, "noise": np.array(noise)}
    f, log_sigma = [], []
    for draw in range(n_draws + 200):
        state, _ = kernel.step(rng, state)
        if draw >= 200:
            f.append(predictors(state["s"], problem.start, problem.cases, problem.size.size))
            log_sigma.append(state["log_sigma"])
    return np.array(f), np.array(log_sigma)


def check_means(draws, exact):
    """Compare means of draws, by name, with exact ones."""
    found = diagnose({name: np.asarray(values).reshape(4, -1) for name, values in draws.items()})
    z = (found.mean - np.array([exact[name] for name in draws])) / found.mcse
    assert np.all(found.ess_bulk > 150), dict(zip(found.name, found.ess_bulk, strict=True))
    assert np.abs(z).max() < MOST, dict(zip(found.name, z, strict=True))


@pytest.mark.parametrize(
    ("prior", "n_draws"), [("gaussian", 3000), slow("gaussian", 8000), slow("cauchy", 8000)]
)
def test_the_posterior_is_exact(prior, n_draws):
    settings = ModelSettings(order=1, coefficient_prior=prior, width_prior=WIDTH_PRIOR)
    _, groups, _ = find_groups(np.array([[0], [1]]), 1, suffixes=False)
    problem = make_problem(groups, ONES[None], SIZE, settings, SLICES)
    f, log_sigma = run(problem, n_draws, seed=1)
    exact = exact_moments(prior, INTERCEPT_WIDTHS[prior])[:3]
    draws = {"log_sigma": log_sigma[:, 1], "p_0": expit(f[:, 0, 0]), "p_1": expit(f[:, 0, 1])}
    check_means(draws, dict(zip(draws, exact, strict=True)))


OWN_WIDTHS = {0: (3.0, 0.8), 1: (2.0, 1.5)}
"""The width of the intercept is learned, and that of order 1 has a prior of its own."""


@pytest.mark.parametrize(
    ("prior", "n_draws"), [("gaussian", 6000), slow("gaussian", 20_000), slow("cauchy", 20_000)]
)
def test_the_posterior_with_own_priors_of_widths_is_exact(prior, n_draws):
    own = tuple((o, *pair) for o, pair in OWN_WIDTHS.items())
    settings = ModelSettings(order=1, coefficient_prior=prior, own_widths=own)
    _, groups, _ = find_groups(np.array([[0], [1]]), 1, suffixes=False)
    problem = make_problem(groups, ONES[None], SIZE, settings, SLICES)
    f, log_sigma = run(problem, n_draws, seed=1)
    exact = exact_moments(prior, OWN_WIDTHS[0], OWN_WIDTHS[1])
    draws = {
        "log_sigma_1": log_sigma[:, 1],
        "p_0": expit(f[:, 0, 0]),
        "p_1": expit(f[:, 0, 1]),
        "log_sigma_0": log_sigma[:, 0],
    }
    check_means(draws, dict(zip(draws, exact, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_parameters_and_data_drawn_in_turn_follow_the_prior(prior, n_classes):
    """Geweke's joint test."""
    settings, groups, k = model(prior, n_classes)
    n = len(TABLE)
    rng = np.random.default_rng([3, n_classes])
    state = draw_from_prior(rng, groups, settings, k)
    states = []
    for _ in range(24_000):
        target, _ = draw_data(rng, state, groups, n, n_classes)
        problem = make_problem(groups, target, np.full(n, 2.0), settings, SLICES)
        state, _ = InteractionKernel(problem).step(rng, state)
        states.append(state)
    uniforms = uniforms_of(states, groups, settings)
    squares = {f"{name}, squared": (values - 0.5) ** 2 for name, values in uniforms.items()}
    check_means(uniforms | squares, dict.fromkeys(uniforms, 0.5) | dict.fromkeys(squares, 1 / 12))


@pytest.mark.slow_cases(
    *(
        f"{own}-{n}-{prior}"
        for own in ("default", "own")
        for n in (0, 2, 3)
        for prior in ("cauchy", "gaussian")
        if (own, n, prior) != ("own", 2, "gaussian")
    )
)
@pytest.mark.parametrize("prior", ["cauchy", "gaussian"])
@pytest.mark.parametrize("n_classes", [2, 3, 0])
@pytest.mark.parametrize(
    "own_widths", [(), ((0, 3.0, 0.8), (1, 0.0, 0.7), (2, 2.0, 0.5))], ids=["default", "own"]
)
def test_exact_draws_stay_exact(prior, n_classes, own_widths):
    """From exact draws of parameters and data, a few sweeps lead to exact draws again."""
    settings, groups, k = model(prior, n_classes, own_widths=own_widths)
    n = len(TABLE)
    rng = np.random.default_rng([11, n_classes])
    states, change = [], []
    for _ in range(2500):
        first = draw_from_prior(rng, groups, settings, k)
        target, spread = draw_data(rng, first, groups, n, n_classes)
        own = settings if n_classes else settings.of_response(spread)
        problem = make_problem(groups, target, np.full(n, 2.0), own, SLICES)
        state, _ = InteractionKernel(problem, 3).step(rng, first)
        states.append(state)
        # How predictors go with the data, before and after.
        with_data = [
            np.mean(np.arctan(predictors(at["s"], groups.start, groups.cases, n) * (target - 1)))
            for at in (first, state)
        ]
        change.append(with_data[1] - with_data[0])
    for name, values in uniforms_of(states, groups, settings).items():
        assert stats.kstest(values, "uniform").pvalue > 1e-4, name
    assert abs(np.mean(change)) < MOST * np.std(change) / np.sqrt(len(change))


COMPRESSED = {
    "few cases": ("cauchy", 14, 5, 2, 4, 5000),
    "50 cases": ("cauchy", 50, 5, 3, 5, 32_000),
    "50 cases, normal": ("gaussian", 50, 5, 3, 5, 8000),
}
"""Prior, cases, columns, levels, order and draws."""


@pytest.mark.slow_cases("few cases")
@few("name", COMPRESSED, ["few cases"])
def test_compression_does_not_change_the_posterior(name):
    prior, n, p, n_levels, order, n_draws = COMPRESSED[name]
    rng = np.random.default_rng(8)
    cells = rng.integers(0, n_levels, (n, p))
    codes = rng.integers(0, 2, n)
    settings = ModelSettings(order=order, coefficient_prior=prior, width_prior=(2.0, 0.3))
    found = []
    for compress in (True, False):
        rows, groups, which = find_groups(cells, order, suffixes=False, compress=compress)
        target = np.bincount(which, codes, minlength=len(rows))[None]
        problem = make_problem(groups, target, np.bincount(which), settings, SLICES)
        found.append((groups, run(problem, n_draws, seed=2)))
    assert found[0][0].counts.shape[0] < found[1][0].counts.shape[0]
    moments = []
    for _, (f, log_sigma) in found:
        values = {f"p_{i}": expit(f[:, 0, i]) for i in range(f.shape[2])}
        values |= {f"p_{i}, squared": value**2 for i, value in enumerate(values.values())}
        values |= {f"log_sigma_{o}": log_sigma[:, o] for o in range(1, order + 1)}
        moments.append(diagnose({name: v.reshape(4, -1) for name, v in values.items()}))
    together, apart = moments
    assert min(together.ess_bulk.min(), apart.ess_bulk.min()) > 100
    z = (together.mean - apart.mean) / np.hypot(together.mcse, apart.mcse)
    assert np.abs(z).max() < MOST, dict(zip(together.name, z, strict=True))


def test_normal_coefficients_are_a_gaussian_process():
    """With a response, fixed widths and known noise the posterior has a closed form."""
    rng = np.random.default_rng(4)
    sigma, noise = np.array([10.0, 0.7, 0.4]), 0.3
    settings = ModelSettings(order=2, coefficient_prior="gaussian").of_response(0.0)
    rows, groups, _ = find_groups(TABLE, 2, suffixes=False)
    y = rng.standard_normal(len(rows))
    problem = make_problem(groups, y[None], np.ones(len(rows)), settings, SLICES)
    # Shapes of 0 fix the widths, and a sharp prior the noise.
    fixed = np.column_stack([np.zeros(3), sigma])
    problem = problem._replace(priors=fixed, noise=np.array([1e7, 1e7 * noise]))
    f, log_sigma = run(problem, 5000, seed=5, noise=noise)
    assert np.allclose(log_sigma, np.log(sigma))
    K = agreement_kernel(rows, rows, sigma**2, patterns_of)
    exact = K @ np.linalg.solve(K + noise * np.eye(len(rows)), y)
    variance = np.diag(K - K @ np.linalg.solve(K + noise * np.eye(len(rows)), K))
    draws = {f"f_{i}": f[:, 0, i] for i in range(len(rows))}
    check_means(draws, dict(zip(draws, exact, strict=True)))
    away = {name: (values - exact[i]) ** 2 for i, (name, values) in enumerate(draws.items())}
    check_means(away, dict(zip(away, variance, strict=True)))


SPLITS = [
    (0.0, 1.0, 1.0),
    (1e-9, 2.0, 2.0),
    (3.0, 0.5, 2.0),
    (-50.0, 1e-3, 1.0),
    (1e6, 1.0, 1e-6),
    (2.0, 1e-8, 1e8),
    (-1e5, 1e3, 1.0),
]


@pytest.mark.parametrize(("total", "first", "second"), SPLITS)
def test_splits_of_cauchy_sums_follow_their_density(total, first, second):
    """Shares of draws between points, against integrals of density 3.27."""
    keys = np.arange(40_000, dtype=np.uint64) * np.uint64(7919) + np.uint64(13)
    draws = np.array([split_cauchy(total, first, second, key) for key in keys])

    def density(x):
        return stats.cauchy.pdf(x, 0, first) * stats.cauchy.pdf(total - x, 0, second)

    whole = stats.cauchy.pdf(total, 0, first + second)  # sums of Cauchy variables are Cauchy
    centres, widths = np.array([0.0, total]), np.array([first, second])
    steps = np.array([-5.0, -2.0, -1.0, -0.3, 0.3, 1.0, 2.0, 5.0])
    points = np.unique(steps[:, None] * widths + centres)
    # Over each half decade of the distance from either centre the density is smooth.
    steps = 10.0 ** np.arange(-1, 20, 0.5)
    steps = np.concatenate([-steps, [0.0], steps])
    decades = np.unique(steps[:, None] * widths + centres)
    for low, high in pairwise(points):
        if high - low < 1e-12 * abs(high):
            continue
        inside = [low, *decades[(decades > low) & (decades < high)], high]
        parts = [integrate.quad(density, *part)[0] for part in pairwise(inside)]
        exact = sum(parts) / whole
        share = np.mean((draws > low) & (draws <= high))
        error = np.sqrt(max(exact * (1 - exact), 1e-9) / draws.size)
        assert abs(share - exact) < 4.5 * error + 1e-4, (low, high, share, exact)
