"""Columns cut at the median: their number of ones is fixed, and is conditioned on."""

import numpy as np
import pytest
from oracles_margin import log_conditional

from honestbayes import SelectiveBernoulliNB
from honestbayes.likelihood.counts import GivenMargin, distinct_counts, margins_are_fixed
from honestbayes.likelihood.quadrature import theta_rule


@pytest.mark.parametrize("alpha", [0.7, 20.0, 1e4])
def test_the_likelihood_is_conditional_on_the_number_of_ones(alpha):
    ones = np.array([[1, 3, 0, 4, 2], [3, 1, 4, 0, 5]])
    observed = np.array([[4, 4, 4, 4, 5], [6, 6, 6, 6, 5]])
    counts = distinct_counts(ones, observed)
    rule = theta_rule(10, alpha, (0.0, 1.0))
    got = GivenMargin(counts, (0.0, 1.0), rule)(alpha)[0]
    for (i0, i1), (n0, n1), value in zip(counts.ones.T, counts.observed.T, got, strict=True):
        assert value == pytest.approx(log_conditional(i0, i1, n0, n1, alpha), abs=1e-10)


def test_median_cuts_are_recognised_and_others_are_not():
    rng = np.random.default_rng(0)
    half = np.stack([np.full(50, 10), np.full(50, 11)])
    assert margins_are_fixed(distinct_counts(half, np.array([[20], [21]])))
    free = rng.binomial(20, rng.random(50), (2, 50))
    assert not margins_are_fixed(distinct_counts(free, np.array([[20], [20]])))


def test_few_strong_measurements_among_idle_ones_are_not_denied():
    # Five of 2000 measurements differ by a standard deviation, 150 cases, all cut at the median.
    predicted, actual = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, new = np.arange(150) % 2, np.arange(2000) % 2
        X, X_new = rng.normal(size=(150, 2000)), rng.normal(size=(2000, 2000))
        X[:, :5] += y[:, None]
        X_new[:, :5] += new[:, None]
        p = SelectiveBernoulliNB(random_state=0).fit(X, y).predict_proba(X_new)[:, 1]
        predicted.append(np.mean(np.minimum(p, 1 - p)))
        actual.append(np.mean((p >= 0.5) != new))
    assert np.mean(predicted) == pytest.approx(np.mean(actual), abs=0.04)
