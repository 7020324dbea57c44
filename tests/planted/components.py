"""The general mixture's kernels as plain Python, and exact checks that a mistake in them fails.

The problem is one whose posterior is known by enumeration.
"""

import types
from pathlib import Path

import numpy as np
from components_problem import (
    GRID,
    N_COMPONENTS,
    PRIOR,
    ExactPosterior,
    X,
    Y,
    selection_of,
    settings,
    small_problem,
    table_of,
)
from scipy import stats

import honestbayes.models.mixture
from honestbayes.correction import components_table
from honestbayes.models.mixture import general_kernels
from honestbayes.models.mixture.general import GeneralKernel, log_joint, make_problem, make_surface
from honestbayes.sampling.draws import Draws

SOURCE = Path(general_kernels.__file__).read_text(encoding="utf-8")


def plain_python(changes=()):
    """The kernels without compilation, with some of their text changed."""
    text = SOURCE.replace("@kernel()\n", "")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    module = types.ModuleType("honestbayes.models.mixture.general_kernels")
    exec(compile(text, "general_kernels.py", "exec"), module.__dict__)
    return module


def summary(state):
    """Numbers that are compared: sizes, association with the class, alphas and thetas."""
    table, (log_alpha_0, log_alpha) = np.array(table_of(state["z"])), state["log_alpha"]
    ones = np.bincount(state["z"], weights=X[:, 0], minlength=N_COMPONENTS)
    together, with_class = np.sum(table.sum(axis=1) ** 2), np.sum(table**2)
    return [
        *table.sum(axis=1)[:2],
        together,
        with_class,
        np.sum(ones**2),
        log_alpha,
        log_alpha_0,
        log_alpha * with_class,
        log_alpha_0 * with_class,
        state["theta"][0],
        (state["theta"][0] - 0.5) ** 2,
        log_alpha * (state["theta"][0] - 0.5) ** 2,
        *state["theta_class"][:2],
        np.sum(state["theta_class"] ** 2),
        state["theta_class"][0] * log_alpha_0,
    ]


def invariance(n_draws=2500, n_sweeps=2, *, exact=True):
    """P value of states after sweeps from exact draws, compared with the draws themselves.

    Where P(S) is not exact, the posterior is that with the approximation: what is checked is that
    it is kept up to date while cases move.
    """
    most = components_table._MOST_EXACT
    components_table._MOST_EXACT = most if exact else 0
    try:
        problem, surface = small_problem(correct=True)
    finally:
        components_table._MOST_EXACT = most
    assert exact == (surface.arrays.exact.shape[0] > 0)

    def log_prob(table):
        tables = np.broadcast_to(np.array(table), (GRID.size, N_COMPONENTS, 3))
        return surface.log_prob(np.ascontiguousarray(tables), np.exp(GRID))

    posterior = ExactPosterior(True, None if exact else log_prob)
    rng, kernel, gains = np.random.default_rng(7), GeneralKernel(problem, n_sweeps), []
    for _ in range(n_draws):
        before = posterior.draw(rng)
        after, _ = kernel.step(rng, before)
        gains.append(np.subtract(summary(after), summary(before)))
    gain = np.array(gains)
    error = gain.std(axis=0, ddof=1) / np.sqrt(n_draws)
    p_values = 2 * stats.norm.sf(np.abs(gain.mean(axis=0) / error))
    return min(1.0, float(p_values.min()) * p_values.size)


def kept_up_to_date():
    """`invariance` where P(S) is approximated."""
    return invariance(exact=False)


def prior_of_alphas(n_draws=1500):
    """P value of both alphas where nothing is seen: they must follow their priors."""
    chosen = selection_of(0)
    cells = np.full((6, 1), 2, dtype=np.int8)
    surface = make_surface(Y, cells, chosen, settings(False))
    # One component: the class is the same Dirichlet-multinomial in all of them, and one case of
    # each class in a component of its own says little. So only the feature's alpha is checked.
    problem = make_problem(Y, cells, chosen, settings(False), surface.arrays)
    kernel, rng = GeneralKernel(problem, 3), np.random.default_rng(8)
    state = {
        "z": np.array([0, 1, 2, 0, 1, 2]),
        "log_alpha": np.array([2.0, 2.0]),
        "theta": np.array([0.5]),
        "theta_class": np.full(3, 1 / 3),
    }
    draws = []
    for _ in range(n_draws):
        state, info = kernel.step(rng, state)
        draws.append(float(info["log_alpha"]))
    return stats.ks_1samp(draws[50::3], lambda x: PRIOR.distribution(np.exp(x))).pvalue


def prediction():
    """1 where psi, class shares and phi are those of counts by hand, else 0."""
    problem, _ = small_problem(correct=False)
    labels, log_alpha = np.array([0, 1, 0, 1, 2, 1]), np.log([3.0, 7.0])
    theta, theta_class = np.array([0.4]), np.array([0.2, 0.3, 0.5])
    psi, share, phi = np.empty(3), np.empty((3, 3)), np.empty((3, 1))
    kernels = honestbayes.models.mixture.general_kernels
    kernels.predictive(labels, log_alpha, theta, theta_class, problem, psi, share, phi)
    draws = Draws(
        {"psi": psi[None, None], "class_share": share[None, None], "phi": phi[None, None]}, 1
    )
    joint = np.exp(log_joint(draws, np.array([[1]]), None))[0]
    exact = np.zeros(3)
    for k, pseudo in enumerate((0.5, 2.0, 1.0)):
        of_k = labels == k
        ones = (7 * 0.4 + X[of_k, 0].sum()) / (7 + of_k.sum())
        classes = 3 * theta_class + np.array(table_of(labels)[k])
        exact += (pseudo + of_k.sum()) / 9.5 * ones * classes / (3 + of_k.sum())
    return float(np.allclose(joint, exact))


CHECKS = {
    "invariance": invariance,
    "kept up to date": kept_up_to_date,
    "prior": prior_of_alphas,
    "prediction": prediction,
}
