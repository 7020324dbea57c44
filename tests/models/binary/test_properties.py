"""What must not matter, does not: the order of cases and features, and how things are coded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestbayes import SelectiveBernoulliNB

MODELS = {
    "learned": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
every_model = pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())
examples = settings(deadline=None, derandomize=True, max_examples=8)
TOLERANCE = 1e-9


@st.composite
def problems(draw, *, missing=True):
    """Small 0/1 data, with missing cells or without, and how many features to keep."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(4, 24)), draw(st.integers(2, 12))
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    X = (rng.random((n, p)) < rng.random(p)).astype(float)
    X[:, 0] = np.where(rng.random(n) < 0.2, 1 - y, y)
    if missing and draw(st.booleans()):
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, draw(st.integers(1, p)), rng


def probability(X, y, k, how, X_new=None, **more):
    model = SelectiveBernoulliNB(
        n_features_to_select=k, recalibrate=None, random_state=0, binarize=None, **how, **more
    )
    return model.fit(X, y).predict_proba(X if X_new is None else X_new)


@every_model
@examples
@given(problem=problems())
def test_the_order_of_training_cases_does_not_matter(how, problem):
    X, y, k, rng = problem
    order = rng.permutation(len(y))
    again = probability(X[order], y[order], k, how, X)
    np.testing.assert_allclose(again, probability(X, y, k, how), atol=TOLERANCE)


@every_model
@examples
@given(problem=problems())
def test_the_order_of_features_does_not_matter_where_no_two_compete_for_a_place(how, problem):
    X, y, k, rng = problem
    model = SelectiveBernoulliNB(n_features_to_select=k, correction=None, recalibrate=None)
    if model.fit(X, y).selection_.n_tied_discarded:
        k = X.shape[1]
    order = rng.permutation(X.shape[1])
    again = probability(X[:, order], y, k, how)
    np.testing.assert_allclose(again, probability(X, y, k, how), atol=TOLERANCE)


@every_model
@examples
@given(problem=problems())
def test_swapping_the_class_labels_swaps_the_probabilities(how, problem):
    X, y, k, _ = problem
    swapped = probability(X, 1 - y, k, how)
    np.testing.assert_allclose(swapped[:, ::-1], probability(X, y, k, how), atol=TOLERANCE)


@every_model
@examples
@given(problem=problems(), all_of_them=st.booleans())
def test_flipping_the_coding_of_features_does_not_matter(how, problem, all_of_them):
    X, y, k, rng = problem
    if "feature_prior" not in how:
        all_of_them = True  # a learned density of theta belongs to the coding of all features
    flip = np.ones(X.shape[1], bool) if all_of_them else rng.random(X.shape[1]) < 0.5
    again = probability(np.where(flip, 1 - X, X), y, k, how)
    np.testing.assert_allclose(again, probability(X, y, k, how), atol=TOLERANCE)


@every_model
@examples
@given(problem=problems())
def test_a_missing_cell_at_prediction_is_the_average_over_its_values(how, problem):
    X, y, k, _ = problem
    X_new = np.nan_to_num(X[:5]).copy()
    zero, one, hidden = X_new.copy(), X_new.copy(), X_new.copy()
    zero[:, 0], one[:, 0], hidden[:, 0] = 0, 1, np.nan
    model = SelectiveBernoulliNB(n_features_to_select=k, recalibrate=None, random_state=0, **how)
    model.fit(X, y)
    by_value = [model.predict_proba(part)[:, 1] for part in (zero, one)]
    result = model.predict_proba(hidden)[:, 1]
    slack = 1e-12
    assert np.all(result >= np.minimum(*by_value) - slack)
    assert np.all(result <= np.maximum(*by_value) + slack)


@every_model
@examples
@given(problem=problems(missing=False))
def test_the_mirrored_problem_has_mirrored_intervals(how, problem):
    X, y, k, _ = problem
    model = SelectiveBernoulliNB(n_features_to_select=k, recalibrate=None, random_state=0, **how)
    bounds = model.fit(X, y).predict_proba_interval(X, n_draws=200)
    assert np.all((bounds >= 0) & (bounds <= 1))
    assert np.all(bounds[:, 0] <= bounds[:, 1])
