"""Chains over subsets have the target that was asked for, whatever is proposed."""

from itertools import product

import numpy as np
import pytest
from grids import slow
from oracles_subsets import all_subsets, target, transition_matrix

from honestbayes.models.subsets.kernels import exchange, propose
from honestbayes.models.subsets.model import SubsetScore, log_prior_of_subsets, run_subsets
from honestbayes.models.subsets.problem import DISTANCE, LOG, SHARE, TWO_STEP, UNIFORM, Moves
from honestbayes.sampling.chains import Schedule
from honestbayes.sampling.runs import Sampling

SCHEMES = {"uniform": UNIFORM, "two_step": TWO_STEP}
PRIORS = {
    "sizes": "sizes",
    "subsets": "subsets",
    "poisson": ("poisson", 4.0),
    "function": lambda k: 1.0 / (1 + k) ** 2,
}
VALUES = np.array([0.9, -0.4, 0.1, 1.3, -1.0, 0.0, 0.5, -0.2, 0.3, -0.7])


def run(values, kind, prior, proposal, swap, most, *, n_draws=100_000, temperature=1.0, seed=0):
    p = values.size
    sampling = Sampling(Schedule(500, n_draws), 2, np.random.SeedSequence(seed))
    return run_subsets(
        SubsetScore("sum", kind, values=values),
        p,
        log_prior_of_subsets(prior, p, most),
        scheme=SCHEMES[proposal],
        swap=swap,
        temperature=temperature,
        thin=3,
        sampling=sampling,
    )


def frequencies(found, subsets):
    """Share of each subset in all draws."""
    place = {s: i for i, s in enumerate(subsets)}
    masks, count = np.unique(found.masks(), axis=0, return_counts=True)
    shares = np.zeros(len(subsets))
    shares[[place[tuple(np.flatnonzero(mask).tolist())] for mask in masks]] = count
    return shares / shares.sum()


def standard_errors(matrix, pi, n_draws):
    """Of the shares of a long run, from the fundamental matrix of the chain."""
    fundamental = np.linalg.inv(np.eye(pi.size) - matrix + pi[None])
    return np.sqrt(pi * (2 * np.diag(fundamental) - 1 - pi) / n_draws)


ORDINARY = (("sizes", "two_step"), ("poisson", "uniform"), ("function", "two_step"))


@pytest.mark.parametrize(
    ("name", "proposal"),
    [cell if cell in ORDINARY else slow(*cell) for cell in product(PRIORS, SCHEMES)],
)
def test_long_runs_visit_all_subsets_of_ten_features_as_often_as_the_target_says(name, proposal):
    most, swap = (7, 0.3) if name == "sizes" else (10, 0.0)
    found = run(VALUES, LOG, PRIORS[name], proposal, swap, most)
    subsets, pi = target(10, most, PRIORS[name], lambda s: np.exp(VALUES[list(s)].sum()))
    assert len(subsets) == (1024 if most == 10 else 968)
    matrix = transition_matrix(10, most, pi, subsets, proposal, swap)
    error = standard_errors(np.linalg.matrix_power(matrix, 3), pi, 200_000)
    gap = (frequencies(found, subsets) - pi) / error
    # One false alarm in ten thousand: normal where a subset is expected often, with Bonferroni.
    often = pi * 200_000 > 50
    assert often.sum() > 300
    assert np.max(np.abs(gap[often])) < 5.4
    assert 0.8 < np.mean(gap[often] ** 2) < 1.25


@pytest.mark.parametrize(
    ("proposal", "swap", "most"),
    [slow("uniform", 0.0, 5), ("uniform", 0.0, 3), slow("two_step", 0.0, 5), ("two_step", 0.4, 3)],
)
def test_proposals_are_those_of_the_exact_matrix(proposal, swap, most):
    p, rng = 5, np.random.default_rng(0)
    prior = log_prior_of_subsets("sizes", p, most)
    moves = Moves(prior, SCHEMES[proposal], swap, LOG, 1.0)
    subsets = all_subsets(p, most)
    weights = rng.random(len(subsets))
    matrix = transition_matrix(p, most, weights / weights.sum(), subsets, proposal, swap)
    assert np.allclose(weights @ matrix, weights)  # the oracle is reversible
    place = {s: i for i, s in enumerate(subsets)}
    n = 5000
    for s in [subsets[0], subsets[1], subsets[-1], subsets[len(subsets) // 2]]:
        order = np.array([*s, *(j for j in range(p) if j not in s)])
        count, ratio = np.zeros(len(subsets)), {}
        for _ in range(n):
            enters, leaves, log_ratio = propose(rng, len(s), p, moves)
            changed, size = order.copy(), len(s)
            if enters >= 0 or leaves >= 0:
                size = exchange(changed, len(s), enters, leaves)
            t = place[tuple(sorted(changed[:size].tolist()))]
            count[t] += 1
            ratio[t] = log_ratio
        q = _proposals(p, most, subsets, proposal, swap)
        chance = q[place[s]]
        assert np.all(np.abs(count / n - chance) < 5 * np.sqrt(chance * (1 - chance) / n) + 1e-12)
        for t, value in ratio.items():
            if t != place[s]:
                assert value == pytest.approx(np.log(q[t, place[s]] / chance[t]), abs=1e-12)


def _proposals(p, most, subsets, proposal, swap):
    """The proposals alone: a target that accepts everything has them off the diagonal."""
    place = {s: i for i, s in enumerate(subsets)}
    result = np.zeros((len(subsets), len(subsets)))
    for i in place.values():
        # With all weight elsewhere every proposal from here is accepted.
        pi = np.full(len(subsets), 1.0)
        pi[i] = 1e-9
        result[i] = transition_matrix(p, most, pi / pi.sum(), subsets, proposal, swap)[i]
    return result


@pytest.mark.parametrize("kind", [SHARE, DISTANCE])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_scores_that_are_shares_or_distances_have_the_target_of_the_paper(kind, temperature):
    values = np.array([0.08, 0.08, 0.0, 0.3, 0.01]) if kind == SHARE else np.abs(VALUES[:5])

    def weight(s):
        score = values[list(s)].sum()
        value = score if kind == SHARE else 1 - 0.5 * np.exp(-score)
        return value ** (1 / temperature) if value > 0 else 0.0

    _, pi = target(5, 5, "sizes", weight)
    found = run(values, kind, "sizes", "two_step", 0.2, 5, temperature=temperature, n_draws=40_000)
    subsets = all_subsets(5, 5)
    matrix = transition_matrix(5, 5, np.maximum(pi, 1e-300), subsets, "two_step", 0.2)
    error = standard_errors(np.linalg.matrix_power(matrix, 3), pi, 80_000)
    gap = frequencies(found, subsets) - pi
    assert np.all(np.abs(gap) < 5 * error + 1e-9)
