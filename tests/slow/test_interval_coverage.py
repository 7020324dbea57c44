"""Intervals of the average hold the true probabilities as often as they say, for many classes."""

import numpy as np
import pytest
from scipy.special import softmax

from honestbayes import HonestClassifier

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
def test_90_percent_intervals_hold_85_to_95_percent_of_true_probabilities(n_classes, n, p):
    found = [coverage(n_classes, n, p, seed) for seed in range(N_TABLES)]
    error = np.std(found, ddof=1) / np.sqrt(N_TABLES)
    assert 0.85 - error <= np.mean(found) <= 0.95 + error, (np.mean(found), error)
