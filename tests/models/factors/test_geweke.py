"""Geweke's joint test of the factor models: parameters and columns drawn in turn.

Geweke, J. (2004). Getting it right: joint distribution tests of posterior simulators. Journal of
the American Statistical Association 99, 799-804.

The event is that N features were discarded. Features that were kept add their likelihood, and that
they beat the bound is known from their cells. So the joint distribution from which a posterior
follows for whatever cells is that of the state given that N features drawn with it are all
discarded, and of columns that are drawn freely. A response is one of these, but the event depends
on it: it is drawn anew until N features drawn with it are discarded.
"""

from __future__ import annotations

import numpy as np
import oracles_factor as oracle
import pytest
from factor_problem import LIMIT, Everything, Problem, draw_columns
from factor_source import plain_modules

from honestbayes.models.factors.sampler import sweep

PROBLEMS = {
    "classes": Problem((4, 6), 8, 2, 1, 0.35, shifts=True, every=5),
    "classes, no event": Problem(
        (4, 2, 4), 2, 2, 1, 0.0, event=False, missing=0.2, shifts=True, every=5
    ),
    "response": Problem((10,), 20, 2, 1, 0.35, response=True),
    "response, no event": Problem((10,), 2, 2, 1, 0.0, event=False, response=True),
}


def all_discarded(problem, rng, state, y):
    """Whether N features that are drawn with the state lose."""
    if not problem.event:
        return True
    features = problem.draw_features(rng, state, problem.n_discarded)
    values = oracle.draw_cells(rng, state["scores"], problem.codes, features)
    return np.all(problem.strength(values, y) <= problem.gamma_squared)


def columns_given(problem, rng, state):
    """Columns drawn freely with a state, but for a response that the event depends on."""
    while True:
        drawn = draw_columns(problem, rng, state, problem.k)
        if not problem.response or all_discarded(problem, rng, state, drawn.values[:, 0]):
            return drawn


def from_prior(problem, rng):
    """Everything given that N features are discarded."""
    while True:
        state = problem.draw_state(rng)
        if problem.response:
            drawn = draw_columns(problem, rng, state, problem.k)
            if all_discarded(problem, rng, state, drawn.values[:, 0]):
                return drawn
        elif all_discarded(problem, rng, state, None):
            return draw_columns(problem, rng, state, problem.k)


def swept(problem, rng, drawn, hidden, sweep):
    """Everything after a sweep, cells as they were but for the hidden ones."""
    state = drawn.state | {name: drawn.state[name].copy() for name in ("scores", "log_loading")}
    values = drawn.values.copy()
    kernel = problem.kernel(values, hidden)
    node, log_noise, log_shift, _, columns, _, _ = sweep(
        rng,
        kernel.design,
        kernel.event,
        state["scores"],
        state["log_loading"],
        float(state["log_noise"]),
        float(state["log_shift"]),
        int(state["node"]),
        values,
    )
    state |= {"node": node, "log_noise": log_noise, "log_shift": log_shift}
    position, variance, loadings, centre, _, _ = columns
    return Everything(state, oracle.Parameters(position, variance, centre, loadings.T), values)


def numbers(problem, drawn):
    first = int(problem.response)
    strength = problem.strength(drawn.values[:, first:], drawn.values[:, 0])
    basis = problem.contrasts(drawn.values).basis
    return oracle.joint_statistics(*drawn, problem.codes, strength, basis, problem.grid()[0])


def joint_z(problem, n_draws, n_chains, n_sweeps, sweep=sweep, seed=0):
    """Chains against independent draws: z of each number, by name."""
    rng = np.random.default_rng(seed)
    draws = [numbers(problem, from_prior(problem, rng)) for _ in range(n_draws)]
    chains = []
    for _ in range(n_chains):
        drawn = from_prior(problem, rng)
        chain = []
        for _ in range(n_sweeps):
            hidden = rng.random(drawn.values.shape) < problem.missing
            drawn = swept(problem, rng, columns_given(problem, rng, drawn.state), hidden, sweep)
            chain.append(list(numbers(problem, drawn).values()))
        chains.append(chain)
    z = oracle.unpaired_z([list(draw.values()) for draw in draws], chains)
    return dict(zip(draws[0], z.tolist(), strict=True))


def largest(z):
    return max(np.abs(list(z.values())))


@pytest.mark.slow_cases("classes", "response, no event", "response")
@pytest.mark.parametrize("name", PROBLEMS)
def test_parameters_and_columns_drawn_in_turn_follow_their_joint_distribution(name):
    z = joint_z(PROBLEMS[name], 500, 40, 50)
    assert largest(z) < LIMIT, z


def test_a_forgotten_event_is_noticed():
    nothing = {"n_cases": np.zeros(0), "n_discarded": np.zeros(0)}

    def wrong(rng, design, event, *rest):
        return sweep(rng, design, event._replace(**nothing), *rest)

    assert largest(joint_z(PROBLEMS["classes"], 500, 30, 30, wrong)) > LIMIT


# Name, the problem, how many chains and sweeps, the right text, and the wrong one.
MISTAKES = [
    (
        "the share of noise without its Jacobian",
        ("response, no event", 40, 40),
        "return log_noise - np.exp(log_noise)",
        "return -np.exp(log_noise)",
    ),
    (
        "the shape of the variances' prior forgotten",
        ("response, no event", 40, 40),
        "            result += design.shape[j] * x\n",
        "            result += 0.0\n",
    ),
    (
        "shifts forgotten where scores are rescaled",
        ("classes, no event", 40, 40),
        "square -= more / (1.0 + more) * np.sum(along[b] ** 2)",
        "square -= 0.0",
    ),
    (
        "the class's part of the scores without the shifts' variance",
        ("classes, no event", 40, 120),
        "        other[b] *= np.sqrt(1.0 + shift * event.signal[b])\n",
        "        other[b] *= 1.0\n",
    ),
    (
        "hidden cells without noise",
        ("classes, no event", 40, 40),
        "values[i, j] = mean + np.sqrt(variance[j]) * rng.standard_normal()",
        "values[i, j] = mean",
    ),
    (
        "the scale's node without P(S)",
        ("classes", 40, 20),
        "value = log_selection(event, design.ratio, race, any_used, along, rest, loading[0])",
        "value = np.zeros(n_nodes)",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "right", "wrong"),
    [mistake[1:] for mistake in MISTAKES],
    ids=[mistake[0] for mistake in MISTAKES],
)
def test_the_mistake_is_noticed(size, right, wrong):
    name, *length = size
    with plain_modules([(right, wrong)]) as modules:
        z = joint_z(PROBLEMS[name], 500, *length, modules.sampler.sweep)
    assert largest(z) > LIMIT, z


@pytest.mark.slow
def test_nothing_is_noticed_in_plain_python_as_it_is():
    with plain_modules() as modules:
        z = joint_z(PROBLEMS["classes, no event"], 500, 40, 40, modules.sampler.sweep)
    assert largest(z) < LIMIT, z
