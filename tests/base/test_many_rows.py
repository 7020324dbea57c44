"""Labels and folds of very many rows are those of few, in less memory."""

import numpy as np
import pytest

from honestbayes.base import recalibration
from honestbayes.data import labels
from honestbayes.data.labels import encode_labels


@pytest.mark.parametrize("values", [[3, 7], [-1.0, 0.0, 2.0], [False, True], range(30)])
def test_labels_of_many_rows_are_coded_alike(monkeypatch, values):
    y = np.random.default_rng(0).choice(np.array(list(values)), 300)
    expected = np.unique(y, return_inverse=True)
    monkeypatch.setattr(labels, "_MANY", 10)
    monkeypatch.setattr(labels, "VERY_MANY", 20)
    classes, codes = encode_labels(y)
    np.testing.assert_array_equal(classes, expected[0])
    np.testing.assert_array_equal(codes, expected[1])


def test_folds_of_many_rows_hold_each_row_once_and_each_class_evenly(monkeypatch):
    monkeypatch.setattr(recalibration, "_MANY_CASES", 100)
    y = np.repeat([0, 1, 2], [300, 43, 8])
    folds = recalibration.held_out_folds(y, None, 2, seed=3)
    assert len(folds) == 10
    for five in (folds[:5], folds[5:]):
        np.testing.assert_array_equal(np.sort(np.concatenate(five)), np.arange(y.size))
        for label in range(3):
            counts = [np.sum(y[rows] == label) for rows in five]
            assert max(counts) - min(counts) <= 1
    again = recalibration.held_out_folds(y, None, 2, seed=3)
    other = recalibration.held_out_folds(y, None, 2, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(folds, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(folds, other, strict=True))
    assert recalibration.held_out_folds(np.repeat([0, 1], [200, 1]), None, 1) == []
