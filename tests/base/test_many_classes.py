"""Hundreds of classes: nothing overflows, and work grows with rows times classes, no faster."""

import time

import numpy as np
import pytest

from honestbayes import SelectiveCategoricalNB, SelectiveGaussianNB
from honestbayes.likelihood.learned_prior import distinct_tables

N_CLASSES = 700


def table(kind, n_classes, n):
    """Rows of classes in turn, of which the first columns tell something."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    if kind == "real":
        X = rng.normal(size=(n, 20))
        X[:, :3] += 3 * y[:, None] / n_classes
        return SelectiveGaussianNB(n_features_to_select=5, recalibrate=None), X, y
    X = rng.integers(0, 3, (n, 20))
    X[:, 0] = y % 3
    words = {"n_features_to_select": 5, "recalibrate": None, "random_state": 0}
    return SelectiveCategoricalNB(**words), X, y


@pytest.mark.parametrize("kind", ["real", "categorical"])
def test_probabilities_of_many_classes_are_such_and_learn(kind):
    model, X, y = table(kind, N_CLASSES, 2 * N_CLASSES)
    p = model.fit(X, y).predict_proba(X[:50])
    assert p.shape == (50, N_CLASSES)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert np.log(p[np.arange(50), y[:50]]).mean() > -np.log(N_CLASSES) + 0.3


def test_tables_of_many_classes_are_counted_once_each():
    rng = np.random.default_rng(1)
    several = rng.integers(0, 3, (5, N_CLASSES, 3))
    found, times = distinct_tables(several[[0, 1, 2, 3, 4, 1, 1, 4]])
    counted = {one.tobytes(): int(number) for one, number in zip(found, times, strict=True)}
    assert counted == {several[i].tobytes(): number for i, number in enumerate((1, 3, 1, 1, 2))}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["real", "categorical"])
def test_four_times_the_classes_take_at_most_about_four_times_as_long(kind):
    def seconds(n_classes):
        model, X, y = table(kind, n_classes, 2000)
        start = time.process_time()
        model.fit(X, y).predict_proba(X)
        return time.process_time() - start

    seconds(50)  # compiles
    assert seconds(1000) < 7 * seconds(250) + 0.5
