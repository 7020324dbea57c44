"""P(sum_k lambda_k chi^2(m_k) > 0) against closed forms, simulation, and a plain integral."""

import numpy as np
import pytest
from scipy import integrate, stats

from honestbayes.correction.factor_event import log_prob_positive


def imhof(eigenvalues, degrees):
    """P(form > 0) by Imhof's integral along the imaginary axis, with a plain adaptive rule.

    Imhof (1961), Biometrika 48, 419-426, equation 3.2; good to about 1e-9, absolute.
    """
    weights, degrees = np.asarray(eigenvalues, float), np.asarray(degrees, float)

    def integrand(log_u):
        u = np.exp(log_u)
        angle = 0.5 * np.sum(degrees * np.arctan(weights * u))
        size = 0.25 * np.sum(degrees * np.log1p((weights * u) ** 2))
        return np.sin(angle) * np.exp(-size)

    scale = np.log(np.abs(weights[weights != 0]))
    ends = (-scale.max() - 40, -scale.min() + 40)
    value = integrate.quad(integrand, *ends, limit=2000, epsabs=1e-12)[0]
    return 0.5 + value / np.pi


@pytest.mark.parametrize("m1", [1, 2, 3, 10])
@pytest.mark.parametrize("m2", [1, 5, 60, 1000])
@pytest.mark.parametrize("ratio", [1e-3, 0.1, 1.0, 20.0, 1e4])
def test_two_eigenvalues_are_an_f_distribution(m1, m2, ratio):
    # a chi2(m1) > b chi2(m2)  <=>  F(m1, m2) > (b / a)(m2 / m1)
    expected = stats.f(m1, m2).logsf(ratio * m2 / m1)
    (got,) = log_prob_positive(np.array([[1.0, -ratio]]), np.array([m1, m2]))
    other = stats.f(m1, m2).logcdf(ratio * m2 / m1)
    if -600 < expected < np.log(0.5):  # beyond that SciPy's underflows
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-10)
    (less,) = log_prob_positive(np.array([[-1.0, ratio]]), np.array([m1, m2]))
    if other < np.log(0.5):
        assert less == pytest.approx(other, rel=1e-9, abs=1e-9)
    assert np.exp(got) + np.exp(less) == pytest.approx(1.0, abs=1e-11)


@pytest.mark.slow_cases("2000000")
@pytest.mark.parametrize("n_draws", [2_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_random_eigenvalues_agree_with_simulation(n_draws):
    rng = np.random.default_rng(0)
    block = 1_000_000
    degrees = np.array([1, 1, 2, 1, 12])
    eigenvalues = rng.normal(size=(3, 5)) * np.array([3.0, 1.0, 1.0, 0.3, 0.4])
    eigenvalues[:, 4] = -np.abs(eigenvalues[:, 4])
    expected = np.exp(log_prob_positive(eigenvalues, degrees))
    hits = np.zeros(3)
    for _ in range(n_draws // block):
        chi2 = 2 * rng.standard_gamma(degrees / 2, size=(block, 5))
        hits += (chi2 @ eigenvalues.T > 0).sum(axis=0)
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert np.all(np.abs(hits / n_draws - expected) < 4.5 * error)


def test_random_eigenvalues_agree_with_imhofs_integral():
    rng = np.random.default_rng(1)
    for _ in range(30):
        size = rng.integers(2, 6)
        eigenvalues = rng.normal(size=size) * np.exp(rng.normal(size=size))
        eigenvalues[:2] = np.abs(eigenvalues[:2]) * (1, -1)
        degrees = rng.integers(1, 30, size=size)
        got = np.exp(log_prob_positive(eigenvalues[None], degrees))[0]
        assert got == pytest.approx(imhof(eigenvalues, degrees), abs=1e-8)


def test_a_rare_event_keeps_its_digits():
    # One positive eigenvalue against many: the F distribution far out, near 1e-12 and beyond.
    degrees = np.array([1.0, 90.0])
    for bound in (0.42, 0.55, 0.8):
        expected = stats.f(1, 90).logsf(90 * bound / (1 - bound))
        (got,) = log_prob_positive(np.array([[1 - bound, -bound]]), degrees)
        assert expected < np.log(1e-11)
        assert got == pytest.approx(expected, abs=1e-9)


def test_neither_scale_nor_order_nor_splitting_matters():
    rng = np.random.default_rng(2)
    eigenvalues, degrees = np.array([2.0, -0.3, -0.5, 0.1]), np.array([1.0, 7.0, 2.0, 3.0])
    (expected,) = log_prob_positive(eigenvalues[None], degrees)
    for scale in (1e-200, 1e-3, 1e5, 1e200):
        (got,) = log_prob_positive(scale * eigenvalues[None], degrees)
        assert got == pytest.approx(expected, abs=1e-10)
    order = rng.permutation(4)
    (got,) = log_prob_positive(eigenvalues[order][None], degrees[order])
    assert got == pytest.approx(expected, abs=1e-10)
    split = np.array([2.0, -0.3, -0.3, -0.5, 0.1, 0.0, 5.0])
    (got,) = log_prob_positive(split[None], np.array([1.0, 3.0, 4.0, 2.0, 3.0, 9.0, 0.0]))
    assert got == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("tiny", [1e-14, 1e-8, 1e-4])
def test_tiny_and_huge_eigenvalues_do_not_disturb(tiny):
    # Beside eigenvalues of order 1 a tiny one does not count; beside tiny ones the others decide.
    degrees = np.array([1.0, 1.0, 20.0])
    (got,) = log_prob_positive(np.array([[1.0, tiny, -0.2]]), degrees)
    expected = stats.f(1, 20).logsf(0.2 * 20)
    assert got == pytest.approx(expected, abs=40 * tiny + 1e-9)
    (got,) = log_prob_positive(np.array([[1 / tiny, 1.0, -0.2 / tiny]]), degrees)
    assert got == pytest.approx(expected, abs=40 * tiny + 1e-9)


def test_complements_add_up_to_one():
    rng = np.random.default_rng(3)
    eigenvalues = rng.normal(size=(50, 4)) * np.exp(2 * rng.normal(size=(50, 4)))
    eigenvalues[:, 0], eigenvalues[:, 1] = np.abs(eigenvalues[:, 0]), -np.abs(eigenvalues[:, 1])
    degrees = np.array([1.0, 3.0, 1.0, 40.0])
    more = np.exp(log_prob_positive(eigenvalues, degrees))
    less = np.exp(log_prob_positive(-eigenvalues, degrees))
    np.testing.assert_allclose(more + less, 1.0, atol=1e-10)


def test_a_form_of_one_sign_is_certain():
    degrees = np.array([1.0, 5.0])
    assert log_prob_positive(np.array([[-1.0, -2.0]]), degrees)[0] == -np.inf
    assert log_prob_positive(np.array([[-1.0, 0.0]]), degrees)[0] == -np.inf
    assert log_prob_positive(np.array([[1.0, 2.0]]), degrees)[0] == 0.0
    # A positive eigenvalue of no degrees of freedom is none.
    assert log_prob_positive(np.array([[1.0, -2.0]]), np.array([0.0, 5.0]))[0] == -np.inf


def test_shapes_are_kept():
    eigenvalues = np.tile([1.0, -0.5], (2, 3, 1))
    assert log_prob_positive(eigenvalues, np.array([1.0, 4.0])).shape == (2, 3)
