"""Chains of the factor models agree by default: R-hat at most 1.01 for all that is reported."""

import numpy as np
import pytest

from honestbayes import SelectiveFactorClassifier, SelectiveFactorRegressor

N, P, N_SEEDS = 100, 5000, 10


def classes(seed, *, has_factor):
    """Ten features whose means differ between two classes, and a factor perhaps."""
    rng = np.random.default_rng(1000 + seed)
    X, y = rng.normal(size=(N, P)), np.arange(N) % 2
    if has_factor:
        X += 0.7 * rng.normal(size=(N, 1)) @ rng.normal(size=(1, P))
    X[:, :10] += 0.8 * y[:, None]
    return X, y


def responses(seed, *, has_factor):
    """A response that goes with five features, or with a factor."""
    rng = np.random.default_rng(1000 + seed)
    X = rng.normal(size=(N, P))
    if has_factor:
        z = rng.normal(size=(N, 1))
        X += 0.7 * z @ rng.normal(size=(1, P))
        return X, z[:, 0] + 0.7 * rng.normal(size=N)
    return X, X[:, :5].sum(axis=1) + 2.0 * rng.normal(size=N)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
@pytest.mark.parametrize("has_factor", [False, True])
@pytest.mark.parametrize(
    ("draw", "kind"),
    [(classes, SelectiveFactorClassifier), (responses, SelectiveFactorRegressor)],
)
def test_chains_agree_in_nine_of_ten_tables(draw, kind, has_factor):
    largest = [
        kind(random_state=seed).fit(*draw(seed, has_factor=has_factor)).diagnostics_.rhat.max()
        for seed in range(N_SEEDS)
    ]
    assert np.sum(np.array(largest) <= 1.01) >= 9, largest


@pytest.mark.parametrize("n_factors", [1, 2, 3])
@pytest.mark.parametrize(
    ("draw", "kind"),
    [(classes, SelectiveFactorClassifier), (responses, SelectiveFactorRegressor)],
)
def test_chains_agree_where_factors_are_asked_for_that_are_not_there(draw, kind, n_factors):
    words = {"recalibrate": None} if kind is SelectiveFactorClassifier else {}
    model = kind(n_factors=n_factors, random_state=0, **words)
    assert model.fit(*draw(0, has_factor=False)).diagnostics_.rhat.max() <= 1.01
