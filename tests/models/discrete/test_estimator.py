"""Plain naive Bayes on levels and bins."""

import numpy as np
import oracles_search
import pandas as pd
import pytest
from search_problem import part, problem
from sklearn.naive_bayes import BernoulliNB, CategoricalNB

from honestbayes import DiscreteNB


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_transcription(n_classes):
    X, y, w, n_levels = problem(0, n_classes=n_classes)
    model = DiscreteNB(smoothing=0.6).fit(X, y, sample_weight=w)
    rows, _, _ = part(X, y, w, np.arange(y.size))
    plain = oracles_search.fit(rows, y.tolist(), w.tolist(), n_levels, n_classes, 0.6)
    expected = [oracles_search.proba(plain, row, range(len(n_levels))) for row in rows]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_it_agrees_with_scikit_learn_where_both_apply():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 80)
    w = rng.uniform(0.2, 3, 80)
    X = rng.integers(0, 2, (80, 6))
    ours = DiscreteNB().fit(X, y, w).predict_log_proba(X)
    np.testing.assert_allclose(ours, BernoulliNB().fit(X, y, w).predict_log_proba(X), atol=1e-12)
    codes = rng.integers(0, 4, (80, 5))
    ours = DiscreteNB(kinds=["categorical"] * 5).fit(codes, y, w).predict_log_proba(codes)
    theirs = CategoricalNB().fit(codes, y, w).predict_log_proba(codes)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_missing_and_unknown_cells_say_nothing():
    X = np.array([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 10, dtype=object)
    y = (X[:, 0] == "b").astype(int)
    model = DiscreteNB().fit(X, y)
    new = np.array([[None, "u"], ["z", None], [None, None]], dtype=object)
    np.testing.assert_allclose(model.predict_proba(new), 0.5)
    assert model.predict(X[:3]).tolist() == [0, 0, 1]


def test_missing_numbers_say_nothing():
    X = np.array([[0.0, 1.5], [1.0, np.nan], [1.0, 2.5], [np.nan, 3.5]] * 15)
    y = (np.arange(60) % 4 == 0).astype(int)
    model = DiscreteNB().fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[np.nan, np.nan]]), [[0.75, 0.25]])
    alone = DiscreteNB().fit(X[:, :1], y)
    np.testing.assert_allclose(
        model.predict_proba([[1.0, np.nan]]), alone.predict_proba([[1.0]]), atol=1e-14
    )


def test_categories_are_the_same_as_numbers_and_as_texts():
    codes = np.arange(60) % 3 + 1.5
    y = (codes == 2.5).astype(int)
    model = DiscreteNB().fit(pd.DataFrame({"a": pd.Categorical(codes)}), y)
    texts = pd.DataFrame({"a": [str(v) for v in codes]})
    numbers = pd.DataFrame({"a": codes})
    np.testing.assert_array_equal(model.predict_proba(texts), model.predict_proba(numbers))
    assert np.ptp(model.predict_proba(texts)) > 0.5


def test_a_column_without_cells_in_training_says_nothing_later():
    X = np.array([[None, "a"], [None, "b"]] * 20, dtype=object)
    model = DiscreteNB().fit(X, np.arange(40) % 2)
    new = np.array([["x", "a"], [None, "a"]], dtype=object)
    proba = model.predict_proba(new)
    np.testing.assert_array_equal(proba[0], proba[1])


def test_prevalence_where_the_model_is_used():
    X, y, _, _ = problem(2)
    model = DiscreteNB().fit(X, y)
    moved = model.predict_proba(X, class_prior=[0.9, 0.1])
    odds = np.log(moved[:, 1] / moved[:, 0]) - np.log(1 / 9)
    plain = model.predict_proba(X)
    before = np.log(plain[:, 1] / plain[:, 0]) - np.log(y.mean() / (1 - y.mean()))
    np.testing.assert_allclose(odds, before, atol=1e-10)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"smoothing": -1}, "smoothing=-1 is not a positive number"),
        ({"n_bins": 1.5}, "n_bins=1.5 is not a whole number of 2 or more"),
        ({"class_prior": [0.5, 0.6]}, "class_prior"),
    ],
)
def test_words_that_mean_nothing_are_refused(words, message):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        DiscreteNB(**words).fit(X, y)
