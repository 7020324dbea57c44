"""Geweke's joint test of the mixture: parameters and data drawn in turn follow the prior.

Geweke, J. (2004). Getting it right: joint distribution tests of posterior simulators. Journal of
the American Statistical Association 99, 799-804.
"""

import numpy as np
import pytest
from grids import slow
from mixture_problem import PRIOR, settings
from scipy import stats

from honestbayes.models.mixture.model import MixtureKernel, make_problem
from honestbayes.sampling.draws import diagnose
from honestbayes.selection import Selection

N, K = 8, 2
N_CHAINS = 3


def draw_cells(rng, state):
    """Draw the response and the features given labels, thetas and alphas; phi comes and goes."""
    alpha = np.exp(state["log_alpha"])[[0, *[1] * K]]
    mass = np.maximum(alpha * state["theta"], 1e-300)
    rest = np.maximum(alpha * (1 - state["theta"]), 1e-300)
    phi = rng.beta(mass, rest, size=(2, K + 1))
    return (rng.random((N, K + 1)) < phi[state["z"]]).astype(np.int8)


def chain(seed, n_draws):
    rng = np.random.default_rng([41, seed])
    everything = Selection("all", 0, tuple(range(K)), (), K, (4, 4), (), 0)
    state = {
        "z": rng.integers(0, 2, N),
        "log_alpha": rng.uniform(1, 4, 2),
        "theta": rng.random(K + 1),
    }
    problem = make_problem(np.zeros((N, K + 1), np.int8), everything, settings(False, None))
    record = []
    for _ in range(n_draws):
        for _ in range(2):
            cells = draw_cells(rng, state)
            state, _ = MixtureKernel(problem._replace(cells=cells)).step(rng, state)
        record.append([*state["log_alpha"], state["theta"][0], state["theta"][1], state["z"].sum()])
    return record


@pytest.mark.parametrize("n_draws", [1000, slow(2500)])
def test_parameters_and_data_drawn_in_turn_follow_the_prior(n_draws):
    draws = np.array([chain(seed, n_draws) for seed in range(N_CHAINS)])
    uniforms = {
        "log_alpha_0": PRIOR.distribution(np.exp(draws[..., 0])),
        "log_alpha": PRIOR.distribution(np.exp(draws[..., 1])),
        "theta_0": draws[..., 2],
        "theta_1": draws[..., 3],
        # With pseudocounts 1 and 1 every number of cases in a component is as probable.
        "size": (draws[..., 4] + 0.5) / (N + 1),
    }
    found = diagnose(uniforms)
    assert (found.ess_bulk > 200).all()
    z = (found.mean - 0.5) / found.mcse
    assert np.abs(z).max() < 4.2, dict(zip(found.name, z, strict=True))
    for name, values in uniforms.items():
        # The spread too, as if there were as many draws as the chains are worth.
        squares = diagnose({name: (values - 0.5) ** 2})
        exact = 1 / 12 if name != "size" else stats.uniform.var() * (1 - 1 / (N + 1) ** 2)
        assert abs(squares.mean[0] - exact) < 4.2 * squares.mcse[0], name
