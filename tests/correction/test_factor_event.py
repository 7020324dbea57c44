"""P(discarded | factor scores) against simulated columns, the F statistic, and itself."""

import numpy as np
import oracles_factor as oracle
import pytest

from honestbayes.correction import f_statistic
from honestbayes.correction.factor_event import (
    class_contrasts,
    log_prob_discarded,
    prob_kept,
    project,
    response_contrast,
)
from honestbayes.likelihood.normal import ratio_grid


def simulated_share(rng, codes, y, scores, ratio, loading_ratio, bound, n_columns, block=100_000):
    """Share of simulated columns whose r squared is within the bound."""
    within = 0
    n, d = scores.shape
    for _ in range(n_columns // block):
        x = rng.standard_normal((n, block)) + scores @ (
            np.sqrt(loading_ratio) * rng.standard_normal((d, block))
        )
        if y is None:
            effects = np.sqrt(ratio) * rng.standard_normal((codes.max() + 1, block))
            strength = oracle.r_squared_of_classes(x + effects[codes] + 7.0, codes)
        else:
            strength = oracle.r_squared_of_response(x + 7.0, y)
        within += np.sum(strength <= bound)
    return within / n_columns


def problem(kind, d, seed):
    rng = np.random.default_rng(seed)
    sizes = (7, 7) if kind == "two classes" else (3, 9, 4)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    scores = rng.normal(size=(codes.size, d)) * 1.3 + 0.3 * codes[:, None]
    y = rng.normal(size=codes.size) + scores.sum(axis=1) if kind == "response" else None
    contrasts = class_contrasts(codes) if y is None else response_contrast(y)
    return rng, codes, y, scores, contrasts


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "response"])
@pytest.mark.parametrize("n_columns", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_the_probability_is_that_of_simulated_columns(kind, d, n_columns):
    rng, codes, y, scores, contrasts = problem(kind, d, 10 * d)
    ratio, loading_ratio, bound = 0.2, 0.7, 0.4
    (log_p,) = log_prob_discarded(contrasts, scores, np.array([ratio]), loading_ratio, bound)
    expected = np.exp(log_p)
    share = simulated_share(rng, codes, y, scores, ratio, loading_ratio, bound, n_columns)
    assert abs(share - expected) < 4.5 * np.sqrt(expected * (1 - expected) / n_columns)


@pytest.mark.parametrize("sizes", [(20, 20), (5, 30), (4, 9, 20), (3, 3, 3, 3)])
def test_without_factors_it_is_the_f_statistic(sizes):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    contrasts = class_contrasts(codes)
    ratio = ratio_grid(codes.size)
    for bound in (0.05, 0.3, 0.7):
        expected = f_statistic.log_prob_discarded(ratio, np.array(sizes), bound)
        for scores in (np.zeros((codes.size, 0)), np.zeros((codes.size, 2))):
            got = log_prob_discarded(contrasts, scores, ratio, 3.0, bound)
            np.testing.assert_allclose(got, expected, atol=1e-10)
        scores = np.random.default_rng(0).normal(size=(codes.size, 2))
        got = log_prob_discarded(contrasts, scores, ratio, 0.0, bound)
        np.testing.assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["two classes", "three classes", "response"])
def test_turned_shifted_and_rescaled_scores_are_the_same_factors(kind):
    rng, _, _, scores, contrasts = problem(kind, 3, 1)
    ratio = ratio_grid(scores.shape[0])
    expected = log_prob_discarded(contrasts, scores, ratio, 0.8, 0.35)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for changed, loading_ratio in (
        (scores @ turn, 0.8),
        (scores + np.array([5.0, -100.0, 0.3]), 0.8),
        (scores / 4.0, 0.8 * 16),
        (np.column_stack([scores, np.ones(scores.shape[0])]), 0.8),
    ):
        got = log_prob_discarded(contrasts, changed, ratio, loading_ratio, 0.35)
        np.testing.assert_allclose(got, expected, atol=1e-9)


def test_scores_of_lower_rank_are_fewer_factors():
    _, _, _, scores, contrasts = problem("two classes", 1, 2)
    ratio = ratio_grid(scores.shape[0])
    expected = log_prob_discarded(contrasts, scores, ratio, 2.0, 0.3)
    twice = np.column_stack([scores, scores]) / np.sqrt(2)
    np.testing.assert_allclose(
        log_prob_discarded(contrasts, twice, ratio, 2.0, 0.3), expected, atol=1e-10
    )


def test_more_factors_than_cases_are_possible():
    rng = np.random.default_rng(3)
    codes = np.array([0, 0, 1, 1, 1])
    contrasts = class_contrasts(codes)
    scores = rng.normal(size=(5, 6))
    (log_p,) = log_prob_discarded(contrasts, scores, np.array([0.1]), 1.0, 0.5)
    share = simulated_share(rng, codes, None, scores, 0.1, 1.0, 0.5, 400_000)
    assert share == pytest.approx(np.exp(log_p), abs=4.5 * 0.5 / np.sqrt(400_000))


def test_class_contrasts_are_an_orthonormal_basis_in_which_the_signal_is_diagonal():
    codes = np.array([2, 0, 1, 1, 2, 2, 0, 2])
    contrasts = class_contrasts(codes)
    E = np.eye(3)[codes]
    U = contrasts.basis
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(U.sum(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(U.T @ E @ E.T @ U, np.diag(contrasts.signal), atol=1e-13)
    centred = E - E.mean(axis=0)
    np.testing.assert_allclose(U @ U.T @ centred, centred, atol=1e-14)


@pytest.mark.parametrize("n", [4, 10, 60, 400])
@pytest.mark.parametrize("d", [0, 1, 3])
@pytest.mark.parametrize("loading_ratio", [1e-4, 1.0, 30.0])
def test_the_shared_contour_agrees_with_one_contour_each(n, d, loading_ratio):
    rng = np.random.default_rng(n + d)
    codes = np.append([0, 1], rng.integers(0, 2, size=n - 2))
    contrasts = class_contrasts(codes)
    scores = rng.normal(size=(n, d)) + rng.normal(size=d) * codes[:, None]
    ratio = ratio_grid(n)
    for bound in (0.02, 0.2, 0.9):
        along, rest = project(scores, contrasts.basis)
        got = prob_kept(along, rest, contrasts.signal[0], ratio, loading_ratio, bound, float(n))
        expected = -np.expm1(log_prob_discarded(contrasts, scores, ratio, loading_ratio, bound))
        np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("y", [np.array([1e200, 2e200, -5e200, 0.0]), np.array([1e-9, 0, 0, 5e-9])])
def test_the_unit_of_a_response_does_not_matter(y):
    contrast = response_contrast(y)
    assert np.linalg.norm(contrast.basis) == pytest.approx(1.0)
    assert abs(contrast.basis.sum()) < 1e-14
