"""Intervals of the average hold the true probabilities as often as they say."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from honestbayes import HonestClassifier
from honestbayes.models.logistic.estimator import SCALES

STRENGTHS = (0.7, 1.0, 1.5, 2.0)
"""Standard deviations of the five shifts between classes, one data set after the other."""

N_TABLES = 20


def coverage(n_classes, n, p, seed):
    """Return the share of true class probabilities of new rows inside 90% intervals."""
    rng = np.random.default_rng(1000 * n_classes + seed)
    centre = np.zeros((n_classes, p))
    centre[:, :5] = rng.normal(scale=STRENGTHS[seed % 4], size=(n_classes, 5))
    y = rng.permutation(np.arange(n) % n_classes)
    X = rng.normal(size=(n, p)) + centre[y]
    new = rng.normal(size=(60, p)) + centre[rng.permutation(np.arange(60) % n_classes)]
    truth = softmax(new @ centre.T - 0.5 * (centre**2).sum(axis=1), axis=1)
    model = HonestClassifier(random_state=0).fit(X, y)
    low, high = np.moveaxis(model.predict_proba_interval(new, 0.9), 2, 0)
    return np.mean((low <= truth) & (truth <= high))


@pytest.mark.parametrize("p", [20, 200])
@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("n_classes", [3, 4, 6])
def test_90_percent_intervals_hold_85_to_98_percent_of_true_probabilities(n_classes, n, p):
    check_coverage([coverage(n_classes, n, p, seed) for seed in range(N_TABLES)])


def check_coverage(found):
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    # With few columns they hold 0.96 to 0.98, probably because draws of trees and the kernel vary
    # much where these have weight beside models that already describe the class.
    assert 0.85 - error <= np.mean(found) <= 0.98, (np.mean(found), error)


def coverage_of_regression(rng, n, coefficients):
    """Return the same where log-odds are linear in ten columns; the first two correlate by 0.89."""

    def draw(size):
        shared, X = rng.normal(size=size), rng.normal(size=(size, 10))
        X[:, :2] = (shared[:, None] + 0.35 * rng.normal(size=(size, 2))) / np.hypot(1, 0.35)
        return X, expit(X @ coefficients)

    X, probability = draw(n)
    y = (rng.random(n) < probability).astype(int)
    new, truth = draw(200)
    if min(y.sum(), n - y.sum()) < 2:
        return np.nan
    low, high = HonestClassifier(random_state=0).fit(X, y).predict_proba_interval(new, 0.9).T
    return np.mean((low <= truth) & (truth <= high))


def test_intervals_hold_where_a_difference_of_two_columns_decides():
    """With 60 cases not even those of the true model do: 0.59."""
    coefficients = np.zeros(10)
    coefficients[:2] = 3 * np.hypot(1, 0.35), -3 * np.hypot(1, 0.35)
    rngs = (np.random.default_rng([2, 200, seed]) for seed in range(N_TABLES))
    check_coverage([coverage_of_regression(rng, 200, coefficients) for rng in rngs])


@pytest.mark.parametrize("n", [60, 200])
def test_intervals_hold_over_the_prior_of_the_logistic_model(n):
    found = []
    for seed in range(3 * SCALES.size):
        rng = np.random.default_rng([3, n, seed])
        coefficients = rng.normal(size=10) * SCALES[seed % SCALES.size] / np.sqrt(10)
        found.append(coverage_of_regression(rng, n, coefficients))
    found = np.array(found)
    check_coverage(found[~np.isnan(found)])
