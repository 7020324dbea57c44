"""Boosted selection against a plain transcription of table 2, and of Viola and Jones."""

import types
from pathlib import Path

import numpy as np
import oracles_search
import pytest
from model_files import changed
from search_problem import part, problem

import honestbayes
from honestbayes import BoostedProbabilitySelector
from honestbayes.experiments.kdd98 import VotingSelector
from honestbayes.files import ModelFileError
from honestbayes.search import boosted


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distinct", [False, True])
def test_the_path_is_that_of_table_2(seed, n_classes, distinct):
    X, y, w, n_levels = problem(seed, n_classes=n_classes)
    data = part(X, y, w, np.arange(y.size))
    rounds = oracles_search.boosted(*data, n_levels, 0.7, 6, n_classes, distinct)
    number = {"n_features_to_select" if distinct else "n_rounds": 6}
    selector = BoostedProbabilitySelector(**number, smoothing=0.7, n_jobs=2)
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
    with pytest.raises(ValueError, match="is not a whole number of 1 or more"):
        BoostedProbabilitySelector(n_rounds=rounds).fit(X, y)


def test_all_features_are_taken_once_and_none_where_none_is_asked_for():
    X, y, w, n_levels = problem(3)
    path = BoostedProbabilitySelector(n_features_to_select="all").fit(X, y, w).path_
    assert sorted(path.feature) == list(range(n_levels.size)) == sorted(path.kept)
    # Rounds take some of them again, so that the option makes a difference.
    rounds = BoostedProbabilitySelector(n_rounds=n_levels.size).fit(X, y, w).path_
    assert rounds.takes_again
    none = BoostedProbabilitySelector(n_features_to_select=0).fit(X, y, w)
    assert none.path_.kept.size == 0
    assert not none.get_support().any()


def test_folds_choose_distinct_features_of_their_own():
    X, y, w, n_levels = problem(5)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    selector = BoostedProbabilitySelector(n_features_to_select=4, held_out=splits)
    path = selector.fit(X, y, w).path_
    expected = np.zeros(5)
    for train, test in splits:
        own = part(X, y, w, train)
        rounds = oracles_search.boosted(*own, n_levels, 1.0, 4, distinct=True)
        model = oracles_search.fit(*own, n_levels, 2, 1.0)
        for step in range(5):
            features = [j for j, *_ in rounds[:step]]
            value = oracles_search.loss(model, *part(X, y, w, test), features, "squared_error")
            expected[step] += value * w[test].sum() / w.sum()
    np.testing.assert_allclose(path.held_out_score, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("distinct", [False, True])
def test_votes_give_the_rounds_of_viola_and_jones(seed, distinct):
    X, y, w, n_levels = problem(seed)
    w = w / np.where(y == 1, w[y == 1].sum(), w[y == 0].sum()) * 30  # half in each class
    data = part(X, y, w, np.arange(y.size))
    rounds = oracles_search.viola_jones(*data, n_levels, 1.0, 5, distinct)
    number = {"n_features_to_select" if distinct else "n_rounds": 5}
    path = VotingSelector(**number).fit(X, y, w).path_
    assert path.feature.tolist() == [j for j, *_ in rounds]
    errors = np.array([error for _, error, _ in rounds])
    np.testing.assert_allclose(path.r, 1 - 2 * errors, rtol=0, atol=1e-10)
    np.testing.assert_allclose(path.alpha, np.log((1 - errors) / errors) / 2, rtol=0, atol=1e-9)
    for share, (*_, weights) in zip(path.entropy, rounds, strict=True):
        entropy = -sum(one * np.log(one) for one in weights) / np.log(y.size)
        assert share == pytest.approx(entropy, abs=1e-10)


def test_a_vote_of_three_classes_counts_one_where_it_is_right_and_minus_a_half_elsewhere():
    X, y, w, n_levels = problem(1, n_classes=3)
    rows, labels, weights = part(X, y, w, np.arange(y.size))
    expected = []
    for j, size in enumerate(n_levels):
        cells = [[row[j]] for row in rows]
        model = oracles_search.fit(cells, labels, weights, [size], 3, 1.0)
        guesses = [np.argmax(oracles_search.proba(model, cell, [0])) for cell in cells]
        votes = np.where(np.array(guesses) == y, 1.0, -0.5)
        expected.append(np.average(votes, weights=w))
    path = VotingSelector(n_rounds=1).fit(X, y, w).path_
    assert path.r[0] == pytest.approx(max(expected), abs=1e-12)
    assert path.feature[0] == np.argmax(expected)


BUGS = {
    "a column may be taken again one round later": (
        "taken[best] = True",
        "taken[:] = False; taken[best] = True",
    ),
    "columns that were taken count as useless, and those that are worse than that are not taken": (
        "np.where(taken, -np.inf, r)",
        "np.where(taken, 0.0, r)",
    ),
    "columns are never taken again, whether or not they are to be distinct": (
        "if distinct else r",
        "if True else r",
    ),
    "weights are updated the wrong way": ("np.exp(-alpha * h)", "np.exp(alpha * h)"),
    "votes go to the less probable class": (".argmax(axis=1)", ".argmin(axis=1)"),
    "votes are 0 and 1": (
        "(n_classes * is_predicted - 1.0) / (n_classes - 1.0)",
        "1.0 * is_predicted",
    ),
}


def agrees_with_the_oracles(module):
    """Whether boosting by a module finds what the transcriptions find, on problems of all kinds."""
    for seed in range(3):
        X, y, w, n_levels = problem(seed)
        w = w / np.where(y == 1, w[y == 1].sum(), w[y == 0].sum()) * 30
        data = part(X, y, w, np.arange(y.size))
        for distinct in (False, True):
            for vote in (False, True):
                selector = module.BoostedProbabilitySelector(
                    **{"n_features_to_select" if distinct else "n_rounds": 7}
                )
                type(selector)._by_votes = vote
                if vote:
                    found = oracles_search.viola_jones(*data, n_levels, 1.0, 7, distinct)
                    r = [1 - 2 * one[1] for one in found]
                else:
                    found = oracles_search.boosted(*data, n_levels, 1.0, 7, 2, distinct)
                    r = [one[1] for one in found]
                path = selector.fit(X, y, w).path_
                if path.feature.tolist() != [one[0] for one in found]:
                    return False
                if not np.allclose(path.r, r, rtol=0, atol=1e-9):
                    return False
    return True


def changed_module(old="", new=""):
    """The module of boosting, with a part of its text changed."""
    text = Path(boosted.__file__).read_text(encoding="utf-8")
    assert old in text, old
    module = types.ModuleType(boosted.__name__)
    exec(compile(text.replace(old, new), "boosted.py", "exec"), module.__dict__)
    return module


def test_boosting_as_it_is_agrees_with_the_oracles():
    assert agrees_with_the_oracles(changed_module())


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_mistake_is_noticed(bug):
    assert not agrees_with_the_oracles(changed_module(*BUGS[bug]))


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("many", "is not a number, 'all' or None"),
        ("cv", "is not a number, 'all' or None"),
        (2.5, "is not a whole number of features"),
        (-1, "is not a whole number of features"),
        (8, "is more than the 7 features to choose from"),
    ],
)
def test_the_number_of_features_must_be_one_of_the_table(number, message):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        BoostedProbabilitySelector(n_features_to_select=number).fit(X, y)


def test_files_hold_the_number_of_features_and_older_ones_do_not(tmp_path):
    X, y, w, _ = problem(3)
    selector = BoostedProbabilitySelector(n_features_to_select=4).fit(X, y, w)
    selector.save(tmp_path / "distinct")
    loaded = honestbayes.load(tmp_path / "distinct")
    assert loaded.n_features_to_select == 4
    np.testing.assert_array_equal(loaded.fit(X, y, w).path_.feature, selector.path_.feature)
    rounds = BoostedProbabilitySelector(n_rounds=7).fit(X, y, w)
    assert rounds.path_.takes_again
    rounds.save(tmp_path / "rounds")

    def without(document, _):
        del document["content"]["parameters"]["n_features_to_select"]

    older = honestbayes.load(changed(tmp_path / "rounds", tmp_path / "older", without))
    assert older.n_features_to_select is None
    assert older.n_rounds == 7

    def contradicts(document, _):
        document["content"]["parameters"]["n_features_to_select"] = 7

    with pytest.raises(ModelFileError, match="takes a column twice"):
        honestbayes.load(changed(tmp_path / "rounds", tmp_path / "odd", contradicts))
