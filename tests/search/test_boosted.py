"""Boosted selection against a plain transcription of table 2."""

import numpy as np
import oracles_search
import pytest
from search_problem import part, problem

from honestbayes import BoostedProbabilitySelector


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_that_of_table_2(seed, n_classes):
    X, y, w, n_levels = problem(seed, n_classes=n_classes)
    data = part(X, y, w, np.arange(y.size))
    rounds = oracles_search.boosted(*data, n_levels, 0.7, 6, n_classes)
    selector = BoostedProbabilitySelector(n_rounds=6, smoothing=0.7, n_jobs=2)
    path = selector.fit(X, y, sample_weight=w).path_
    assert path.feature.tolist() == [j for j, *_ in rounds]
    np.testing.assert_allclose(path.r, [one[1] for one in rounds], rtol=0, atol=1e-10)
    np.testing.assert_allclose(path.alpha, [one[2] for one in rounds], rtol=0, atol=1e-10)
    for share, (*_, weights) in zip(path.entropy, rounds, strict=True):
        entropy = -sum(one * np.log(one) for one in weights) / np.log(y.size)
        assert share == pytest.approx(entropy, abs=1e-10)


def test_scores_are_those_of_naive_bayes_with_the_features_so_far():
    X, y, w, n_levels = problem(5)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    path = BoostedProbabilitySelector(n_rounds=5, held_out=splits).fit(X, y, w).path_
    data = part(X, y, w, np.arange(y.size))
    model = oracles_search.fit(*data, n_levels, 2, 1.0)
    expected = np.zeros(6)
    for step in range(6):
        features = sorted(set(path.feature[:step].tolist()))
        value = oracles_search.loss(model, *data, features, "squared_error")
        assert path.train_score[step] == pytest.approx(value, abs=1e-10)
    for train, test in splits:
        own = part(X, y, w, train)
        rounds = oracles_search.boosted(*own, n_levels, 1.0, 5)
        model = oracles_search.fit(*own, n_levels, 2, 1.0)
        for step in range(6):
            features = sorted({j for j, *_ in rounds[:step]})
            value = oracles_search.loss(model, *part(X, y, w, test), features, "squared_error")
            expected[step] += value * w[test].sum() / w.sum()
    np.testing.assert_allclose(path.held_out_score, expected, rtol=0, atol=1e-10)


def test_a_feature_may_be_taken_again_and_is_kept_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.integers(0, 2, (400, 30))
    X[:, 7] = np.where(rng.random(400) < 0.85, y, 1 - y)
    selector = BoostedProbabilitySelector(n_rounds=4).fit(X, y)
    assert np.count_nonzero(selector.path_.feature == 7) > 1
    assert selector.path_.kept.size < 4
    assert selector.get_support().sum() == selector.path_.kept.size


def test_a_feature_that_never_fails_has_a_finite_alpha():
    y = np.arange(2000) % 2
    X = np.column_stack([y, np.arange(2000) // 2 % 2])
    path = BoostedProbabilitySelector(n_rounds=3, smoothing=1e-12).fit(X, y).path_
    assert path.feature[0] == 0
    assert np.isfinite(path.alpha).all()
    assert np.isfinite(path.entropy).all()


@pytest.mark.parametrize("rounds", [0, 2.5, "many"])
def test_rounds_must_be_a_number(rounds):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match="is not a whole number from 1 on"):
        BoostedProbabilitySelector(n_rounds=rounds).fit(X, y)
