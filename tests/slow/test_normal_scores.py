"""Models on normal scores claim the error that happens, over data of their own kind."""

import numpy as np
import pytest

from honestbayes import SelectiveDiscriminant, SelectiveGaussianNB

SCORES = {"recalibrate": None, "normal_scores": True}


def optimism(model, p, share, ratio, n_sets, n=40, n_test=1000):
    """Actual minus claimed error of each set; features are idle or have one signal ratio."""
    found = []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        w = np.where(rng.random(p) < share, ratio, 0.0)
        mean = np.sqrt(w)[:, None] * rng.normal(size=(p, 2))
        y, new = np.arange(n) % 2, np.arange(n_test) % 2
        model.fit(rng.normal(size=(n, p)) + mean[:, y].T, y)
        proba = model.predict_proba(rng.normal(size=(n_test, p)) + mean[:, new].T)
        found.append(np.mean(proba.argmax(axis=1) != new) - (1 - proba.max(axis=1)).mean())
    return np.array(found)


@pytest.mark.parametrize("kind", [SelectiveGaussianNB, SelectiveDiscriminant])
def test_the_corrected_model_is_right_on_average(kind):
    found = optimism(kind(**SCORES), 300, 0.1, 0.5, 200)
    half = 1.96 * found.std(ddof=1) / np.sqrt(found.size)
    assert abs(found.mean()) + half < 0.01


@pytest.mark.parametrize(
    "model",
    [
        SelectiveGaussianNB(correction=None, **SCORES),
        SelectiveDiscriminant(feature_prior="flat", **SCORES),
    ],
)
def test_the_control_is_too_sure_where_signals_are_few_and_weak(model):
    found = optimism(model, 1000, 0.03, 0.25, 60)
    assert found.mean() - 1.96 * found.std(ddof=1) / np.sqrt(found.size) > 0.05
