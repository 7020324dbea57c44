"""The mixture's kernels as plain Python, and exact checks that a mistake in them fails.

The problem is one whose posterior is known by enumeration.
"""

import types
from collections import Counter
from pathlib import Path

import numpy as np
from mixture_problem import Y, exact_posterior, settings, small_problem, theta_given
from scipy import stats

import honestbayes.models.mixture
from honestbayes.models.mixture import kernels as mixture_kernels
from honestbayes.models.mixture.model import MixtureKernel, log_joint, make_problem
from honestbayes.sampling.draws import Draws
from honestbayes.selection import Selection

SOURCE = Path(mixture_kernels.__file__).read_text(encoding="utf-8")
ONE = np.array([[0], [0], [1], [1], [1], [1]])


def plain_python(changes=()):
    """The kernels without compilation, with some of their text changed."""
    text = SOURCE.replace("@kernel()\n", "")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.mixture.kernels")
    exec(compile(text, "mixture_kernels.py", "exec"), module.__dict__)
    return module


def in_second(z):
    """Cases of each class in the second component."""
    return int(np.sum(z[:3])), int(np.sum(z[3:]))


def invariance(n_draws=1200, n_sweeps=2):
    """P value of the distribution of states after sweeps from exact draws."""
    cells = np.column_stack([Y, ONE])
    problem = small_problem(True, pseudocounts=(1.0, 3.0), cells=cells)
    states, weights = exact_posterior(True, problem, (1.0, 3.0), ONE)
    rng = np.random.default_rng(7)
    kernel = MixtureKernel(problem, n_sweeps)
    counts = Counter()
    for index in rng.choice(len(states), n_draws, p=weights):
        z, alpha, alpha_0 = states[index]
        theta = [theta_given(rng, Y, z, alpha_0), theta_given(rng, ONE[:, 0].tolist(), z, alpha)]
        state = {
            "z": np.array(z, dtype=np.int64),
            "log_alpha": np.log([alpha_0, alpha]),
            "theta": np.array(theta),
        }
        state, _ = kernel.step(rng, state)
        counts[(*in_second(state["z"]), *np.rint(100 * state["log_alpha"]))] += 1
    expected = Counter()
    for (z, alpha, alpha_0), weight in zip(states, weights, strict=True):
        logs = np.rint(100 * np.log([alpha_0, alpha]))
        expected[(*in_second(np.array(z)), *logs)] += weight * n_draws
    keys = [key for key, number in expected.items() if number >= 10]
    observed = [counts[key] for key in keys]
    wanted = [expected[key] for key in keys]
    observed[-1] += n_draws - sum(observed)  # the rest, of whatever size
    wanted[-1] += n_draws - sum(wanted)
    return stats.chisquare(observed, wanted).pvalue


def prior_of_alpha(n_draws=1500):
    """P value of log(alpha) where there are no features: it must follow its prior."""
    cells = np.column_stack([Y])
    alone = Selection("all", 0, (), (), 0, (3, 3), (), 0)
    problem = make_problem(cells, alone, settings(False, None))
    kernel, rng = MixtureKernel(problem, 3), np.random.default_rng(8)
    state = {"z": np.array(Y), "log_alpha": np.array([2.0, 2.0]), "theta": np.array([0.5])}
    draws = []
    for _ in range(n_draws):
        state, info = kernel.step(rng, state)
        draws.append(float(info["log_alpha"]))
    prior = settings(False).alpha_prior
    return stats.ks_1samp(draws[50::2], lambda x: prior.distribution(np.exp(x))).pvalue


def prediction():
    """1 where psi and phi are those of a longer table, else 0."""
    problem = small_problem(False, cells=np.column_stack([Y, ONE]))
    labels = np.array([0, 1, 0, 1, 1, 1])
    log_alpha, theta = np.log([3.0, 7.0]), np.array([0.4, 0.7])
    psi, phi = np.empty(2), np.empty((2, 2))
    honestbayes.models.mixture.kernels.predictive(labels, log_alpha, theta, problem, psi, phi)
    draws = Draws({"psi": psi[None, None], "phi": phi[None, None]}, 1)
    joint = np.exp(log_joint(draws, np.array([[1]]), None))[0]
    exact = np.zeros(2)
    for z in (0, 1):
        of_z = labels == z
        share = (1 + of_z.sum()) / 8
        ones = (7 * 0.7 + ONE[of_z, 0].sum()) / (7 + of_z.sum())
        positive = (3 * 0.4 + np.array(Y)[of_z].sum()) / (3 + of_z.sum())
        exact += share * ones * np.array([1 - positive, positive])
    return float(np.allclose(joint, exact))


CHECKS = {"invariance": invariance, "prior": prior_of_alpha, "prediction": prediction}
