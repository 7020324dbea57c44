"""Normal scores: quantiles of mid-ranks, interpolated, constant beyond the ends."""

import numpy as np
import pytest
from scipy.stats import norm

import honestbayes
from honestbayes import SelectiveGaussianNB
from honestbayes.data.normal_scores import NormalScores, NormalScoresSource, scores_of
from honestbayes.data.source import DenseSource


def slow_scores(column):
    """Mid-ranks by counting."""
    seen = column[~np.isnan(column)]
    below = [(seen < x).sum() for x in column]
    equal = [(seen == x).sum() for x in column]
    rank = np.array(below) + (np.array(equal) + 1) / 2
    return np.where(np.isnan(column), np.nan, norm.ppf((rank - 0.5) / seen.size))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_scores_are_quantiles_of_mid_ranks(missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 3.0
    X[rng.random(X.shape) < missing] = np.nan
    expected = np.stack([slow_scores(column) for column in X.T], axis=1)
    np.testing.assert_allclose(scores_of(X), expected, atol=1e-12)
    np.testing.assert_allclose(NormalScores.learn(X)[0].apply(X), expected, atol=1e-12)
    np.testing.assert_allclose(
        NormalScoresSource(DenseSource(X)).take(np.array([2, 0])), expected[:, [2, 0]]
    )


def test_new_values_are_interpolated_and_stay_beyond_the_ends():
    scores, _ = NormalScores.learn(np.array([[1.0], [2.0], [4.0]]))
    low, middle, high = norm.ppf([1 / 6, 1 / 2, 5 / 6])
    found = scores.apply(np.array([[-1e300], [1.0], [1.5], [3.0], [4.0], [1e300], [np.nan]]))
    half = [(low + middle) / 2, (middle + high) / 2]
    np.testing.assert_allclose(found[:-1, 0], [low, low, *half, high, high])
    assert np.isnan(found[-1, 0])
    np.testing.assert_allclose(scores.invert(np.array([[middle], [9.0]])), [[2.0], [4.0]])


def test_many_columns_at_once_are_the_same_bits():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(12, 30)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    new = np.round(2 * rng.normal(size=(40, 30)), 2)
    new[3, 4] = np.nan
    scores, _ = NormalScores.learn(X)
    one_by_one = [NormalScores.learn(X[:, [j]])[0].apply(new[:, [j]]) for j in range(30)]
    np.testing.assert_array_equal(scores.apply(new), np.concatenate(one_by_one, axis=1))


def test_a_column_without_any_value_is_constant():
    scores, _ = NormalScores.learn(np.full((5, 1), np.nan))
    assert np.isfinite(scores.apply(np.array([[1.0], [2.0]]))).all()


def test_many_rows_are_remembered_by_some():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    scores, _ = NormalScores.learn(X)
    assert len(scores.value) < 2000
    assert abs(scores.apply(X) - scores_of(X)).max() < 0.3
    assert abs(scores.apply(X) - scores_of(X)).mean() < 0.002


def test_the_gaussian_model_on_scores_ignores_what_keeps_the_order(tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 40))
    X[:, 0] += y
    words = {"n_features_to_select": 5, "normal_scores": True, "recalibrate": None}
    model = SelectiveGaussianNB(**words).fit(X, y)
    other = SelectiveGaussianNB(**words).fit(np.exp(2 * X), y)
    np.testing.assert_allclose(other.predict_proba(np.exp(2 * X)), model.predict_proba(X))
    plain = SelectiveGaussianNB(**{**words, "normal_scores": False}).fit(scores_of(X), y)
    np.testing.assert_allclose(plain.predict_proba(scores_of(X)), model.predict_proba(X))
    assert (other.feature_table().centre > 0).all()
    other.save(tmp_path / "model.honestbayes")
    loaded = honestbayes.load(tmp_path / "model.honestbayes")
    np.testing.assert_array_equal(
        loaded.predict_proba(np.exp(2 * X)), other.predict_proba(np.exp(2 * X))
    )


def test_columns_of_counts_are_ranked_as_by_sorting():
    """Counts in large tables, and whole numbers of any table, are not sorted."""
    generator = np.random.default_rng(0)
    tables = [
        generator.poisson(0.3, (700, 110)).astype(float),
        generator.poisson(2.0, (700, 110)).astype(np.float32),
        generator.integers(0, 300, (60, 20)),  # some columns are too large to be counted
        generator.integers(0, 2, (50, 9)).astype(np.int8),
    ]
    tables[0][3, 5], tables[0][4, 9], tables[0][:, 7] = np.nan, -1.0, 2.0
    tables[0][:, 8] += 0.5
    for values in tables:
        expected = np.stack([slow_scores(column) for column in values.T.astype(float)], axis=1)
        np.testing.assert_allclose(scores_of(values), expected, atol=1e-12)
