"""Slice sampling leaves every density as it was."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from honestbayes.sampling.slicing import DONE, LOG_F, PHASE, POINT, X, slice_start, slice_tell


@njit
def gamma_density(x, parameters):
    (shape,) = parameters
    return (shape - 1) * np.log(x) - x if x > 0 else -np.inf


@njit
def two_humps(x, parameters):
    apart, spread = parameters
    return np.logaddexp(-0.5 * ((x - apart) / spread) ** 2, -0.5 * ((x + apart) / spread) ** 2)


@njit
def flat(x, parameters):
    return 0.0 if 0.0 <= x <= parameters[0] else -np.inf


@njit
def step(rng, density, parameters, x, width, low, high):
    update = slice_start(rng, x, density(x, parameters), width, low, high)
    while update[PHASE] != DONE:
        slice_tell(rng, update, density(update[POINT], parameters))
    return update[X], update[LOG_F]


@njit
def many(rng, density, parameters, starts, width, low, high, n_steps):
    result = starts.copy()
    for i in range(result.size):
        for _ in range(n_steps):
            result[i] = step(rng, density, parameters, result[i], width, low, high)[0]
    return result


N = 20_000
CASES = {
    "gamma, narrow": (gamma_density, (0.7,), 0.2, stats.gamma(0.7).rvs, stats.gamma(0.7).cdf),
    "gamma, wide": (gamma_density, (3.0,), 50.0, stats.gamma(3.0).rvs, stats.gamma(3.0).cdf),
    "uniform": (flat, (2.0,), 0.3, stats.uniform(0, 2).rvs, stats.uniform(0, 2).cdf),
}


@pytest.mark.slow_cases("1-gamma, narrow")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_steps", [1, 3])
def test_exact_draws_stay_exact(name, n_steps):
    density, parameters, width, draw, cdf = CASES[name]
    starts = draw(size=N, random_state=np.random.default_rng(1))
    rng = np.random.default_rng(2)
    moved = many(rng, density, parameters, starts, width, -np.inf, np.inf, n_steps)
    assert stats.kstest(moved, cdf).pvalue > 1e-4
    assert np.mean(moved != starts) > 0.99


def test_two_humps_stay_as_they_were_and_are_crossed_by_wide_steps():
    generator = np.random.default_rng(3)
    starts = generator.normal(np.where(generator.random(N) < 0.5, 3.0, -3.0), 1.0)
    moved = many(generator, two_humps, (3.0, 1.0), starts, 4.0, -np.inf, np.inf, 2)

    def cdf(x):
        return 0.5 * (stats.norm(3).cdf(x) + stats.norm(-3).cdf(x))

    assert stats.kstest(moved, cdf).pvalue > 1e-4
    assert np.mean(np.sign(moved) != np.sign(starts)) > 0.1


def test_bounds_cut_the_density():
    starts = stats.truncnorm(-0.5, 1.0).rvs(size=N, random_state=np.random.default_rng(4))
    rng = np.random.default_rng(5)
    moved = many(rng, two_humps, (0.0, 1.0), starts, 2.0, -0.5, 1.0, 2)
    assert moved.min() >= -0.5
    assert moved.max() <= 1.0
    assert stats.kstest(moved, stats.truncnorm(-0.5, 1.0).cdf).pvalue > 1e-4


def test_the_density_of_the_new_value_is_returned():
    x, log_f = step(np.random.default_rng(0), gamma_density, (2.0,), 1.5, 1.0, -np.inf, np.inf)
    assert x != 1.5
    assert log_f == pytest.approx(np.log(x) - x)
