"""Of very many features some stand for all."""

import numpy as np
import pytest

from honestbayes.likelihood import learned_prior
from honestbayes.likelihood.dirichlet import log_marginal
from honestbayes.likelihood.learned_alpha import representatives
from honestbayes.likelihood.learned_prior import learn_categories
from honestbayes.likelihood.quadrature import AlphaPrior


@pytest.mark.parametrize(("size", "most"), [(10, 10), (11, 10), (1000, 7), (1000, 100), (5, 1)])
def test_every_feature_is_stood_for_once(size, most):
    rng = np.random.default_rng(0)
    strength, times = rng.random(size), rng.integers(1, 4, size)
    chosen, stands_for = representatives(strength, times, most)
    assert len(set(chosen.tolist())) == chosen.size == min(size, most)
    assert stands_for.sum() == times.sum()
    first = np.argsort(-strength)[: most // 2]
    if size > most:
        np.testing.assert_array_equal(chosen[: most // 2], first)
        np.testing.assert_array_equal(stands_for[: most // 2], times[first])
        assert np.all(np.diff(strength[chosen]) <= 0)


def test_features_are_shrunk_as_by_all_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    p, n = 4000, 100
    frequency = rng.uniform(0.1, 0.5, p)
    shift = np.zeros(p)
    shift[:100] = rng.normal(0, 0.25, 100)
    tables = np.zeros((p, 2, 3), dtype=int)
    for label in range(2):
        own = np.clip(frequency + shift * (label - 0.5), 0.02, 0.98)
        tables[:, label] = rng.multinomial(
            n // 2, np.stack([(1 - own) ** 2, 2 * own * (1 - own), own**2], axis=1)
        )

    def weight_of_own_counts():
        learned = learn_categories([tables], AlphaPrior(0.5, 5.0))
        alpha, weights = learned.learned.alpha, learned.learned.shape.weights
        log = log_marginal(tables[:200], alpha, learned.base).T
        posterior = np.exp(log - log.max(axis=1, keepdims=True)) * weights
        return posterior @ (n / (n + alpha)) / posterior.sum(axis=1)

    expected = weight_of_own_counts()
    monkeypatch.setattr(learned_prior, "_CASES_TO_LEARN", p * n // 4)
    np.testing.assert_allclose(weight_of_own_counts(), expected, rtol=0, atol=0.05)
