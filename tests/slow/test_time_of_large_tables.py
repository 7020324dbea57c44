"""What took minutes takes seconds: intervals of many classes, and an average of many rows."""

import time

import numpy as np

from honestbayes import HonestClassifier


def test_intervals_of_five_rows_with_50_classes_take_two_seconds():
    rng = np.random.default_rng(0)
    y = np.arange(500) % 50
    X = rng.normal(size=(500, 20))
    X[:, :10] += 1.5 * rng.normal(size=(50, 10))[y]
    model = HonestClassifier().fit(X, y)
    model.predict_proba_interval(X[:1])  # kernels are compiled
    start = time.process_time()
    found = model.predict_proba_interval(X[:5])
    assert time.process_time() - start < 2
    assert found.shape == (5, 50, 2)


def test_a_quick_average_of_200_000_rows_takes_a_minute():
    rng = np.random.default_rng(0)
    y = (rng.random(200_000) < 0.3).astype(int)
    X = rng.normal(size=(200_000, 20))
    X[:, :5] += 0.5 * y[:, None]
    HonestClassifier(effort="quick").fit(X[:500], y[:500])  # kernels are compiled
    start = time.process_time()
    model = HonestClassifier(effort="quick").fit(X, y)
    assert time.process_time() - start < 60
    assert model.held_out_log_score_ < 0.52
