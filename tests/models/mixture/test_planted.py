"""Deliberate mistakes in the mixture's kernels, each of which an exact check notices.

The kernels run as plain Python here, with a line changed, on a problem whose posterior is known by
enumeration.
"""

import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from mixture_problem import Y, exact_posterior, settings, small_problem, theta_given
from scipy import stats

import honestbayes.models.mixture
from honestbayes.models.mixture import fit as mixture_core
from honestbayes.models.mixture import kernels as mixture_kernels
from honestbayes.models.mixture.fit import MixtureKernel, log_joint, make_problem
from honestbayes.sampling.draws import Draws
from honestbayes.selection import Selection

SOURCE = Path(mixture_kernels.__file__).read_text(encoding="utf-8")
ONE = np.array([[0], [0], [1], [1], [1], [1]])


def plain_python(changes=()):
    """The kernels without compilation, with some of their text changed."""
    text = SOURCE.replace("@njit(cache=True, nogil=True)\n", "")
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

BUGS = {
    "labels know nothing of the selection": (
        "invariance",
        [("log_odds += there - here", "pass"), ("log_odds += here - there", "pass")],
    ),
    "the factor of the labels is turned round": (
        "invariance",
        [("log_odds += there - here", "log_odds -= there - here")],
    ),
    "alpha knows nothing of the selection": (
        "invariance",
        [("total += log_selection_of_alpha(problem.table, work, log_alpha)", "pass")],
    ),
    "the wrong class is counted in the component": (
        "invariance",
        [
            (
                "            b += cells[i, 0]\n            a += 1",
                "            a += cells[i, 0]\n            b += 1",
            )
        ],
    ),
    "a case is not counted in its new component": (
        "invariance",
        [
            (
                "                seen[new, j] += 1\n                ones[new, j] += row[j]\n",
                "                pass\n",
            )
        ],
    ),
    "pseudocounts swap components": (
        "invariance",
        [
            (
                "(pseudocounts[1] + size_1) / (pseudocounts[0] + others_0)",
                "(pseudocounts[0] + size_1) / (pseudocounts[1] + others_0)",
            )
        ],
    ),
    "theta looks at one component only": (
        "invariance",
        [("        + log_rising(mass, ones[1])\n", "")],
    ),
    "alpha forgets the normalising constant": (
        "invariance",
        [("            total -= log_rising(alpha, seen[c, j])\n", "")],
    ),
    "the prior of alpha lacks its Jacobian": (
        "prior",
        [("return -shape * log_alpha", "return -(shape + 1.0) * log_alpha")],
    ),
    "predictions are off by one case": (
        "prediction",
        [("ones[c, j]) / (alpha + seen[c, j])", "ones[c, j]) / (alpha + seen[c, j] + 1)")],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_check_passes_on_the_kernels_as_they_are(name, monkeypatch):
    monkeypatch.setattr(honestbayes.models.mixture, "kernels", plain_python())
    assert CHECKS[name]() > 1e-4


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name, monkeypatch):
    check, changes = BUGS[name]
    monkeypatch.setattr(honestbayes.models.mixture, "kernels", plain_python(changes))
    assert CHECKS[check]() < 1e-4


def test_the_core_takes_the_kernels_from_where_they_are_planted():
    text = Path(mixture_core.__file__).read_text(encoding="utf-8")
    assert "from honestbayes.models.mixture import kernels" in text
