"""Counts of elsewhere, and counts of chunks, make the screening of the whole table."""

import numpy as np
import pandas as pd
import pytest

from honestbayes import SelectiveBernoulliNB
from honestbayes.selection import Screening, screen


def table():
    generator = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], [30, 50])
    X = (generator.random((80, 9)) < 0.4).astype(float)
    X[generator.random(X.shape) < 0.1] = np.nan
    return X, y


def test_counts_of_elsewhere_are_the_screening():
    X, y = table()
    whole = screen(X, y)
    ones = [[np.nansum(X[y == label, j]) for j in range(9)] for label in ("no", "yes")]
    seen = [[np.sum(~np.isnan(X[y == label, j])) for j in range(9)] for label in ("no", "yes")]
    names = [f"f{j}" for j in range(9)]
    found = Screening.from_counts(
        ones, (30, 50), classes=["no", "yes"], observed=seen, feature_names=names
    )
    np.testing.assert_array_equal(found.ones, whole.ones)
    np.testing.assert_array_equal(found.observed_full(), whole.observed_full())
    model = SelectiveBernoulliNB(n_features_to_select=3, recalibrate=None, random_state=0)
    expected = model.fit(X, y).predict_log_proba(X)
    named = pd.DataFrame(X, columns=names)
    np.testing.assert_array_equal(model.fit_screening(found).predict_log_proba(named), expected)
    assert set(model.get_feature_names_out()) <= set(names)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("ones must hold whole numbers", {"ones": [[1, -1], [0, 0]]}),
        ("ones must hold whole numbers", {"ones": [[1, 0.5], [0, 0]]}),
        ("ones must hold whole numbers", {"ones": [[1, np.nan], [0, 0]]}),
        ("ones has shape", {"ones": [1, 2]}),
        (
            "ones counts 7 cases of class 1 for feature 1, where there are 5",
            {"ones": [[0, 0], [0, 7]]},
        ),
        ("observed counts 4 cases of class 0 for feature 0", {"observed": [[4, 3], [5, 5]]}),
        ("observed has shape", {"observed": [[3], [5]]}),
        ("two positive counts", {"class_counts": (0, 5)}),
        ("class_counts has shape", {"class_counts": (3, 5, 2)}),
        ("ascending order", {"classes": ("b", "a")}),
        ("2 different names", {"feature_names": ["a", "a"]}),
    ],
)
def test_counts_that_cannot_be_are_refused(words, given):
    good = {"ones": [[1, 2], [3, 4]], "class_counts": (3, 5)}
    with pytest.raises(ValueError, match=words):
        Screening.from_counts(**good | given)


def test_chunks_add_up_whatever_their_number():
    X, y = table()
    order = np.random.default_rng(1).permutation(80)
    X, y = X[order], y[order]
    found = screen(X[:7], y[:7], binarize=0.5, classes=["no", "yes"])
    for rows in np.array_split(np.arange(7, 80), 20):
        found = found.update(X[rows], y[rows])
    np.testing.assert_array_equal(found.ones, screen(X, y).ones)
    np.testing.assert_array_equal(found.observed_full(), screen(X, y).observed_full())
    with pytest.raises(ValueError, match="the classes are"):
        found.update(X[:2], ["no", "other"])
