"""The sampler of the mixture: exact conditionals, exact invariance, exact predictions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from grids import each_once, slow
from mixture_problem import (
    PRIOR,
    X,
    Y,
    exact_posterior,
    settings,
    small_problem,
    theta_given,
)
from oracles_mixture_posterior import predictive
from scipy import stats

from honestbayes import SelectiveMixture
from honestbayes.data import as_source
from honestbayes.datasets import simulate_mixture
from honestbayes.models.binary.model import TrainingRows
from honestbayes.models.mixture import kernels
from honestbayes.models.mixture.model import (
    MixtureKernel,
    MixtureTraining,
    log_class_prior,
    log_joint,
    make_problem,
    mixture_settings,
    starting_states,
)
from honestbayes.sampling.chains import Schedule, advance, start
from honestbayes.sampling.runs import Sampling
from honestbayes.selection import select
from honestbayes.selection.counts import screen


@pytest.mark.parametrize("x", [1e-3, 0.5, 3.0, 59.0, 61.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("m", [0, 1, 2, 13, 200])
def test_rising_factorials_lose_nothing(x, m):
    exact = Fraction(1)
    for step in range(m):
        exact *= Fraction(x) + step
    numerator, denominator = exact.numerator, exact.denominator
    shift = numerator.bit_length() - denominator.bit_length()
    mantissa = Fraction(numerator, denominator) / Fraction(2) ** shift
    expected = np.log(float(mantissa)) + shift * np.log(2.0)
    assert kernels.log_rising(x, m) == pytest.approx(expected, rel=1e-12, abs=1e-10)


@pytest.mark.parametrize(
    ("correct", "n_draws"), [(False, 5000), slow(False, 15_000), slow(True, 15_000)]
)
def test_one_sweep_leaves_the_exact_posterior_unchanged(correct, n_draws):
    problem = small_problem(correct)
    states, weights = exact_posterior(correct, problem)
    rng = np.random.default_rng(1)
    table = [Y, *np.transpose(X).tolist()]
    kernel = MixtureKernel(problem)
    counts = Counter()
    for index in rng.choice(len(states), n_draws, p=weights):
        z, alpha, alpha_0 = states[index]
        alphas = (alpha_0, alpha, alpha)
        theta = [theta_given(rng, c, z, a) for c, a in zip(table, alphas, strict=True)]
        state = {
            "z": np.array(z, dtype=np.int64),
            "log_alpha": np.log([alpha_0, alpha]),
            "theta": np.array(theta),
        }
        state, _ = kernel.step(rng, state)
        a_0, a = np.rint(np.exp(state["log_alpha"]) * 1e6)
        counts[(*state["z"].tolist(), a, a_0)] += 1
    keys = [(*z, np.rint(a * 1e6), np.rint(a_0 * 1e6)) for z, a, a_0 in states]
    observed = np.array([counts[key] for key in keys], dtype=float)
    assert observed.sum() == n_draws
    expected = weights * n_draws
    small = expected < 10
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.slow_cases("False-case 0", "True-case 1")
@each_once("correct, pseudocounts", [False, True], [(1.0, 1.0), (0.5, 2.0)])
def test_long_chains_predict_as_enumeration_does(correct, pseudocounts):
    problem = small_problem(correct, pseudocounts=pseudocounts)
    states, weights = exact_posterior(correct, problem, pseudocounts)
    kernel = MixtureKernel(problem, n_sweeps=2)
    rng = np.random.default_rng(2)
    run = start(starting_states(problem, 4, rng), np.random.SeedSequence(3))
    run, _ = advance(kernel, run, Schedule(100, 5000))
    draws = run.draws
    assert not draws.diagnostics(["log_alpha", "log_alpha_0", "log_posterior"]).problems()
    new = np.array([[1, 1], [0, 1], [0, 0]])
    joint = np.exp(log_joint(draws, new, None))
    found = joint[:, 1] / joint.sum(axis=1)
    exact = [predictive(x, X, Y, states, weights, pseudocounts) for x in new.tolist()]
    np.testing.assert_allclose(found, exact, atol=0.01)
    hidden = np.array([[False, True]])
    joint = np.exp(log_joint(draws, new[:1], hidden))
    sides = [[1, 0], [1, 1]]
    both = np.exp(log_joint(draws, np.array(sides), None)).sum(axis=0)
    np.testing.assert_allclose(joint[0], both, rtol=1e-10)
    nothing = np.exp(log_joint(draws, new[:1], np.array([[True, True]])))[0]
    np.testing.assert_allclose(np.log(nothing), log_class_prior(draws), atol=1e-10)


def test_chains_on_many_columns_leave_their_starts_within_sixty_sweeps():
    """From thetas anywhere, cases gather in one component and stay there for longer."""
    data = simulate_mixture(100, 0, 1000, alpha=30, random_state=0)
    params = SelectiveMixture(n_features_to_select="all", thin=1).get_params()
    part = MixtureTraining(
        mixture_settings(params, np.zeros(1000, dtype=bool)),
        TrainingRows.screened(as_source(data.X_train), ([0, 1], data.y_train == 1), "auto", 0),
        sampling=Sampling(Schedule(60, 20), 6, np.random.SeedSequence(0)),
    ).fit()
    same = np.mean(part.draws["z"] == data.z_train, axis=2)
    assert np.all(np.maximum(same, 1 - same) > 0.9)
    assert part.draws["log_alpha"].mean() == pytest.approx(np.log(30), abs=0.2)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.3, 0.6)])
def test_starts_are_possible_states_that_differ(bounds):
    cells = np.array([[0, 1, 0, 2], [1, 1, 0, 2], [1, 1, 0, 2]], dtype=np.int8)
    problem = small_problem(False, cells=cells[:, :3])._replace(
        cells=cells, blocks=np.array([0, 1, 1, 1]), theta_range=np.array(bounds)
    )
    states = starting_states(problem, 6, np.random.default_rng(0))
    for c, state in enumerate(states):
        assert np.all((bounds[0] <= state["theta"]) & (state["theta"] <= bounds[1]))
        assert np.all((state["log_alpha"] >= 1) & (state["log_alpha"] <= 6))
        assert c % 3 == 0 or state["log_alpha"][1] >= np.log(4)
    assert states[0]["z"].tolist() == [0, 1, 1]
    assert states[2]["z"].tolist() == [0, 0, 0]
    assert np.unique([state["theta"][0] for state in states]).size > 1


def test_missing_training_cells_are_as_if_they_were_not_there():
    table = X.astype(object)
    table[0, 0] = table[4, 1] = None
    cells = np.column_stack([Y, np.where(table == None, 2, X)]).astype(np.int8)  # noqa: E711
    problem = small_problem(False, cells=cells)
    states, weights = exact_posterior(False, problem, table=table)
    run = start(starting_states(problem, 4, np.random.default_rng(4)), np.random.SeedSequence(5))
    run, _ = advance(MixtureKernel(problem, 2), run, Schedule(100, 5000))
    joint = np.exp(log_joint(run.draws, np.array([[1, 1]]), None))[0]
    exact = predictive((1, 1), table, Y, states, weights)
    assert joint[1] / joint.sum() == pytest.approx(exact, abs=0.01)


def simulate(rng, n, p, prior=PRIOR):
    """Labels, parameters, classes and all features from the prior; none where a class is empty."""
    while True:
        psi = rng.random()
        z = (rng.random(n) < psi).astype(np.int64)
        alpha_0, alpha = prior.rate / rng.gamma(prior.shape, size=2)
        theta = rng.random(p + 1)
        mass = np.array([alpha_0, *[alpha] * p])
        with np.errstate(all="ignore"):
            phi = rng.beta(
                np.maximum(mass * theta, 1e-12),
                np.maximum(mass * (1 - theta), 1e-12),
                size=(2, p + 1),
            )
        cells = (rng.random((n, p + 1)) < phi[z]).astype(np.int8)
        if 0 < cells[:, 0].sum() < n and 0 < alpha < 1e8 and 0 < alpha_0 < 1e8:
            return z, np.log([alpha_0, alpha]), theta, cells


@pytest.mark.parametrize(
    ("n", "p", "k", "n_tables"), [(8, 12, 2, 100), slow(8, 12, 2, 300), slow(14, 40, 3, 300)]
)
def test_draws_from_the_joint_distribution_stay_draws_from_it(n, p, k, n_tables):
    """True parameters are draws from the posterior given what selection shows, ties and all."""
    rng = np.random.default_rng(6)
    before, after = [], []
    for _ in range(n_tables):
        z, log_alpha, theta, cells = simulate(rng, n, p)
        chosen = select(
            screen(cells[:, 1:], cells[:, 0]),
            n_features=k,
            threshold=None,
            always_keep=np.zeros(p, dtype=bool),
            random_state=np.random.RandomState(rng.integers(2**31)),
        )
        columns = [0, *(1 + np.array(chosen.kept))]
        problem = make_problem(cells[:, columns], chosen, settings(True, None))
        state = {"z": z, "log_alpha": log_alpha, "theta": theta[columns]}
        moved, _ = MixtureKernel(problem, 3).step(rng, state)
        for record, at in ((before, state), (after, moved)):
            same = np.mean(at["z"] == cells[:, 0])
            record.append([*at["log_alpha"], abs(same - 0.5), at["theta"][1], at["z"].std()])
    difference = np.array(after) - np.array(before)
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert np.abs(difference.mean(axis=0) / error).max() < 4.2, difference.mean(axis=0) / error
    ends = stats.ks_1samp(np.array(after)[:, 1], lambda x: PRIOR.distribution(np.exp(x)))
    assert ends.pvalue > 1e-4


def test_evidence_of_rows_with_missing_cells_is_a_plain_sum_of_logs():
    rng = np.random.default_rng(9)
    for alpha_value in (0.1, 30.0, 1e7):
        cells = rng.integers(0, 3, (30, 200)).astype(np.int8)
        seen = rng.integers(20, 60, (2, 200))
        ones = rng.integers(0, seen + 1)
        theta, alpha = rng.uniform(0.05, 0.95, 200), np.full(200, alpha_value)
        share = (alpha * theta + ones) / (alpha + seen)
        logs = np.where(
            cells[:, None] == 1,
            np.log(share),
            np.where(cells[:, None] == 0, np.log1p(-share), 0.0),
        ).sum(axis=2)
        found = [kernels._log_odds(row, alpha, alpha * theta, ones, seen) for row in cells]
        np.testing.assert_allclose(found, logs[:, 1] - logs[:, 0], atol=1e-8)
