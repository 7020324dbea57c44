"""Greedy selection against a plain transcription of table 1, and what its users rely on."""

import pickle

import numpy as np
import oracles_search
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from search_problem import part, problem
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from honestbayes import BoostedProbabilitySelector, DiscreteNB, ForwardProbabilitySelector
from honestbayes.search import losses


@pytest.mark.slow_cases("0-squared_error-2")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["squared_error", "log_loss"])
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_that_of_table_1(seed, scoring, n_classes):
    X, y, w, n_levels = problem(seed, n_classes=n_classes)
    rows = np.arange(y.size)
    data = part(X, y, w, rows)
    chosen, scores = oracles_search.forward(data, data, n_levels, n_classes, 0.7, 5, scoring)
    selector = ForwardProbabilitySelector(
        n_features_to_select=5, scoring=scoring, smoothing=0.7, n_jobs=2
    ).fit(X, y, sample_weight=w)
    assert selector.path_.feature.tolist() == chosen
    np.testing.assert_allclose(selector.path_.train_score, scores, rtol=0, atol=1e-10)
    assert np.isnan(selector.path_.held_out_score).all()


def test_a_part_held_out_neither_trains_nor_chooses_unless_asked():
    X, y, w, n_levels = problem(5)
    for score_on in ("train", "held_out"):
        selector = ForwardProbabilitySelector(
            n_features_to_select=4, held_out=0.3, score_on=score_on, random_state=3
        ).fit(X, y, w)
        test = _held_out_rows(y, 0.3, 3)
        train = part(X, y, w, np.setdiff1d(np.arange(y.size), test))
        others = part(X, y, w, test)
        judged = others if score_on == "held_out" else train
        chosen, scores = oracles_search.forward(train, judged, n_levels, 2, 1.0, 4)
        path = selector.path_
        assert path.feature.tolist() == chosen
        by_choice = path.held_out_score if score_on == "held_out" else path.train_score
        np.testing.assert_allclose(by_choice, scores, rtol=0, atol=1e-10)
        model = oracles_search.fit(*train, n_levels, 2, 1.0)
        for step in range(5):
            value = oracles_search.loss(model, *others, chosen[:step], "squared_error")
            assert path.held_out_score[step] == pytest.approx(value, abs=1e-10)


def _held_out_rows(y, share, seed):
    from sklearn.model_selection import StratifiedShuffleSplit

    splitter = StratifiedShuffleSplit(1, test_size=share, random_state=seed)
    return next(splitter.split(np.zeros((y.size, 1)), y))[1]


def test_each_fold_has_a_path_of_its_own_that_has_not_seen_it():
    X, y, w, n_levels = problem(6)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    path = ForwardProbabilitySelector(n_features_to_select=3, held_out=splits).fit(X, y, w).path_
    everything = part(X, y, w, np.arange(y.size))
    chosen, scores = oracles_search.forward(everything, everything, n_levels, 2, 1.0, 3)
    assert path.feature.tolist() == chosen
    np.testing.assert_allclose(path.train_score, scores, rtol=0, atol=1e-10)
    expected = np.zeros(4)
    for train, test in splits:
        data, others = part(X, y, w, train), part(X, y, w, test)
        own, _ = oracles_search.forward(data, data, n_levels, 2, 1.0, 3)
        model = oracles_search.fit(*data, n_levels, 2, 1.0)
        for step in range(4):
            value = oracles_search.loss(model, *others, own[:step], "squared_error")
            expected[step] += value * w[test].sum() / w.sum()
    np.testing.assert_allclose(path.held_out_score, expected, rtol=0, atol=1e-10)


def test_folds_may_choose_together():
    X, y, w, n_levels = problem(7)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    path = (
        ForwardProbabilitySelector(n_features_to_select=3, held_out=splits, score_on="held_out")
        .fit(X, y, w)
        .path_
    )
    models = [oracles_search.fit(*part(X, y, w, train), n_levels, 2, 1.0) for train, _ in splits]
    chosen = []
    for step in range(1, 4):
        values = {}
        for j in set(range(X.shape[1])) - set(chosen):
            values[j] = (
                sum(
                    oracles_search.loss(model, *part(X, y, w, test), [*chosen, j], "squared_error")
                    * w[test].sum()
                    for model, (_, test) in zip(models, splits, strict=True)
                )
                / w.sum()
            )
        chosen.append(min(values, key=values.get))
        assert path.held_out_score[step] == pytest.approx(values[chosen[-1]], abs=1e-10)
    assert path.feature.tolist() == chosen


@pytest.mark.slow
def test_a_function_of_the_users_and_any_classifier_take_the_same_path():
    X, y, w, _ = problem(8, missing=0.0)
    X = (X != "0").astype(np.int8)
    words = {"n_features_to_select": 4, "held_out": 4}
    own = ForwardProbabilitySelector(**words).fit(X, y)

    def squared(y, proba, sample_weight=None):
        error = ((np.arange(2) == y[:, None]) - proba) ** 2
        return np.average(error.sum(axis=1), weights=sample_weight)

    for other in (
        ForwardProbabilitySelector(scoring=squared, **words),
        ForwardProbabilitySelector(BernoulliNB(), **words),
        ForwardProbabilitySelector(BernoulliNB(), scoring=squared, **words),
        ForwardProbabilitySelector(DiscreteNB(), **words),
    ):
        path = other.fit(X, y).path_
        assert path.feature.tolist() == own.path_.feature.tolist()
        np.testing.assert_allclose(path.train_score, own.path_.train_score, atol=1e-9)
        np.testing.assert_allclose(path.held_out_score, own.path_.held_out_score, atol=1e-9)
    weighted = ForwardProbabilitySelector(**words).fit(X, y, w).path_
    for other in (
        ForwardProbabilitySelector(scoring=squared, **words),
        ForwardProbabilitySelector(BernoulliNB(), **words),
    ):
        path = other.fit(X, y, w).path_
        np.testing.assert_allclose(path.held_out_score, weighted.held_out_score, atol=1e-9)


def test_equal_columns_go_in_the_order_of_columns():
    X, y, _, _ = problem(9, p=4)
    twice = np.hstack([X, X])
    for n_jobs in (1, 2):
        selector = ForwardProbabilitySelector(n_features_to_select=1, n_jobs=n_jobs)
        assert selector.fit(twice, y).path_.feature[0] < 4


def test_whole_numbers_as_weights_are_rows_repeated():
    X, y, _, _ = problem(10)
    times = np.random.default_rng(0).integers(1, 4, y.size)
    weighted = ForwardProbabilitySelector(n_features_to_select=4).fit(X, y, times).path_
    repeated = (
        ForwardProbabilitySelector(n_features_to_select=4)
        .fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        .path_
    )
    assert weighted.feature.tolist() == repeated.feature.tolist()
    np.testing.assert_allclose(weighted.train_score, repeated.train_score, atol=1e-12)


# The ordinary run has each pair of settings.
@pytest.mark.slow_cases(
    "1.0-log_loss-3", "1.0-squared_error-2", "1e-200-log_loss-2", "1e-200-squared_error-3"
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["log_loss", "squared_error"])
@pytest.mark.parametrize("smoothing", [1.0, 1e-200])
def test_evidence_beyond_all_bounds_is_counted_in_full(n_classes, scoring, smoothing):
    """Hundreds of copies of two columns, or next to no smoothing: log-odds beyond products."""
    y = np.arange(90) % n_classes
    strong = np.where(np.arange(90) % 7 == 0, 0, y == 1)
    other = np.where(np.arange(90) % 5 == 0, 1, y == n_classes - 1)
    X = np.repeat(np.column_stack([strong, other]), 200, axis=1).astype(np.int8)
    words = {"n_features_to_select": "all", "scoring": scoring, "smoothing": smoothing}
    path = ForwardProbabilitySelector(**words).fit(X, y).path_
    data = part(X, y, np.ones(90), np.arange(90))
    model = oracles_search.fit(*data, np.full(400, 2), n_classes, smoothing)
    for step in (1, 60, 150, 270, 400):
        value = oracles_search.loss(model, *data, path.feature[:step].tolist(), scoring)
        assert path.train_score[step] == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_patience_keeps_the_best_step():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.integers(0, 2, (300, 200))
    for j in (5, 9):
        X[:, j] = np.where(rng.random(300) < 0.8, y, 1 - y)
    selector = ForwardProbabilitySelector(held_out=5, patience=3).fit(X, y)
    path = selector.path_
    assert set(path.kept) == {5, 9} == set(selector.get_support(indices=True))
    assert path.feature.size == path.n_kept + 3
    assert np.all(np.diff(path.train_score) < 0)
    assert selector.transform(X).shape == (300, 2)
    assert "left out" in str(path)


@pytest.mark.parametrize("seed", range(6))
def test_patience_counts_from_the_best_step(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 150)
    X = rng.integers(0, 2, (150, 40))
    X[:, :4] = np.where(rng.random((150, 4)) < 0.35, y[:, None], X[:, :4])
    path = ForwardProbabilitySelector(held_out=4, patience=2).fit(X, y).path_
    best = int(np.argmin(path.held_out_score))
    assert path.n_kept == best
    assert path.feature.size == best + 2
    assert path.kept.tolist() == path.feature[:best].tolist()


def squared_error(model, X, y):
    error = (np.arange(2) == y[:, None]) - model.predict_proba(X)
    return (error**2).sum(axis=1)


def mixed_columns(n=120):
    """Measurements with missing cells, flags with missing cells, and a text of its own a row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "size": rng.exponential(size=n) + y,
            "flag": np.where(rng.random(n) < 0.8, y, 1 - y).astype(float),
            "rare": [f"id {i // 2}" for i in range(n)],
            "prob_null": rng.normal(size=n),
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::5, "flag"] = np.nan
    return frame, y


def test_a_part_held_out_is_judged_by_bins_and_levels_of_the_others():
    X, y = mixed_columns()
    words = {"n_features_to_select": 4, "held_out": 0.4, "random_state": 1}
    path = ForwardProbabilitySelector(**words).fit(X, y).path_
    test = _held_out_rows(y, 0.4, 1)
    train = np.setdiff1d(np.arange(y.size), test)
    for step in range(1, 5):
        columns = list(path.name[:step])
        model = DiscreteNB().fit(X.iloc[train][columns], y[train])
        for rows, scores in ((train, path.train_score), (test, path.held_out_score)):
            error = squared_error(model, X.iloc[rows][columns], y[rows]).mean()
            assert scores[step] == pytest.approx(error, abs=1e-12)


def test_levels_that_the_other_folds_have_not_seen_say_nothing():
    X, y = mixed_columns()
    X = X[["rare"]]
    fold = np.arange(y.size) % 2  # every text is once in each fold, or only in one
    X = X.assign(rare=np.where(np.arange(y.size) % 6 == 0, "only", X["rare"]))
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(2)]
    for score_on in ("train", "held_out"):
        words = {"n_features_to_select": 1, "held_out": splits, "score_on": score_on}
        path = ForwardProbabilitySelector(**words).fit(X, y).path_
        error = np.empty(y.size)
        for train, test in splits:
            model = DiscreteNB().fit(X.iloc[train], y[train])
            error[test] = squared_error(model, X.iloc[test], y[test])
        assert path.held_out_score[1] == pytest.approx(error.mean(), abs=1e-12)


def test_frames_of_all_kinds_and_names():
    rng = np.random.default_rng(1)
    y = rng.choice(["no", "yes"], 300)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=300),
            "shade": np.where(rng.random(300) < 0.7, y, rng.choice(["no", "yes", "blue"], 300)),
            "size": rng.normal(size=300) + (y == "yes"),
            "flag": rng.random(300) < 0.5,
        }
    )
    frame.loc[::9, "shade"] = None
    frame.loc[::8, "size"] = np.nan
    selector = ForwardProbabilitySelector(n_features_to_select=2).set_output(transform="pandas")
    kept = selector.fit(frame, y).transform(frame)
    assert kept.columns.tolist() == ["shade", "size"]
    assert set(selector.path_.name) == {"shade", "size"}
    same = ForwardProbabilitySelector(n_features_to_select=2).fit(pl.from_pandas(frame), y)
    assert same.path_.name == selector.path_.name
    np.testing.assert_allclose(same.path_.train_score, selector.path_.train_score)


def test_in_pipelines_and_after_clone_and_pickle():
    X, y, _, _ = problem(11, n=120)
    X = np.where(X == None, 0, X).astype(float)  # noqa: E711
    selector = ForwardProbabilitySelector(n_features_to_select=3, held_out=0.3, random_state=0)
    pipeline = make_pipeline(selector, LogisticRegression())
    assert cross_val_score(pipeline, X, y, scoring="neg_log_loss").shape == (5,)
    fitted = clone(selector).fit(X, y)
    for again in (clone(fitted).fit(X, y), pickle.loads(pickle.dumps(fitted))):
        assert again.path_.feature.tolist() == fitted.path_.feature.tolist()
        np.testing.assert_array_equal(again.path_.held_out_score, fitted.path_.held_out_score)


def test_a_splitter_with_groups():
    X, y, _, _ = problem(12)
    groups = np.arange(y.size) // 3
    words = {"n_features_to_select": 2}
    by_splitter = ForwardProbabilitySelector(held_out=GroupKFold(4), **words)
    by_splits = ForwardProbabilitySelector(
        held_out=list(GroupKFold(4).split(X, y, groups)), **words
    )
    np.testing.assert_array_equal(
        by_splitter.fit(X, y, groups=groups).path_.held_out_score,
        by_splits.fit(X, y).path_.held_out_score,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"scoring": "accuracy"}, "scoring='accuracy' is not 'squared_error', 'log_loss'"),
        ({"score_on": "test"}, "score_on='test' is not one of"),
        ({"score_on": "held_out"}, "need held-out rows"),
        ({"patience": 2}, "need held-out rows"),
        ({"patience": 0, "held_out": 3}, "patience=0 is not a whole number of 1 or more"),
        ({"held_out": 1.5}, "held_out=1.5 is not a share between 0 and 1"),
        ({"held_out": RepeatedStratifiedKFold(n_splits=3)}, "holds a row out twice"),
        ({"smoothing": 0.0}, "smoothing=0.0 is not a positive number"),
        ({"n_bins": 1}, "n_bins=1 is not a whole number of 2 or more"),
        ({"n_features_to_select": 8}, "n_features_to_select=8 is more than the 7 features"),
        ({"n_features_to_select": "cv"}, "n_features_to_select='cv' is not a number"),
        ({"kinds": {"q": "real"}}, "kinds names 'q', which is not a column"),
    ],
)
def test_words_that_mean_nothing_are_refused(words, message):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        ForwardProbabilitySelector(**words).fit(X, y)


def test_weights_must_leave_every_class_some_rows():
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match="class 1 has no row with a positive sample_weight"):
        ForwardProbabilitySelector().fit(X, y, (y == 0).astype(float))
    rows = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    with pytest.raises(ValueError, match="a class has no training rows left"):
        ForwardProbabilitySelector(held_out=[rows, rows[::-1]]).fit(X, y)


def test_rows_held_out_that_count_nothing():
    X, y, _, _ = problem(0)
    fold = np.arange(y.size) % 3
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    weight = (fold != 2).astype(float)
    for selector in (
        ForwardProbabilitySelector(n_features_to_select=2, held_out=splits),
        BoostedProbabilitySelector(n_rounds=2, held_out=splits),
    ):
        with_three = selector.fit(X, y, weight).path_.held_out_score
        with_two = clone(selector).set_params(held_out=splits[:2]).fit(X, y, weight).path_
        np.testing.assert_array_equal(with_three, with_two.held_out_score)
        with pytest.raises(ValueError, match="all held-out rows have a sample_weight of 0"):
            clone(selector).set_params(held_out=splits[2:]).fit(X, y, weight)


def test_rows_of_weight_zero_are_as_if_they_were_not_there_in_every_block():
    X, y, w, _ = problem(3, n=2 * losses.ROWS + 5)
    kept = np.arange(y.size) % 2 == 1
    half = ForwardProbabilitySelector(n_features_to_select=3).fit(X, y, np.where(kept, w, 0.0))
    alone = ForwardProbabilitySelector(n_features_to_select=3).fit(X[kept], y[kept], w[kept])
    assert half.path_.feature.tolist() == alone.path_.feature.tolist()
    np.testing.assert_allclose(half.path_.train_score, alone.path_.train_score, atol=1e-12)


def test_the_same_table_gives_the_same_path_in_every_type():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 80)
    X = (rng.random((80, 8)) < 0.06).astype(np.int8)
    X[:, 2] = 1
    words = {"n_features_to_select": 4, "held_out": 0.5, "random_state": 0}
    first = ForwardProbabilitySelector(**words).fit(X, y).path_
    for other in (X.astype(bool), X.astype(float), X.astype(np.int64), sparse.csr_array(X)):
        path = ForwardProbabilitySelector(**words).fit(other, y).path_
        np.testing.assert_array_equal(path.feature, first.feature)
        np.testing.assert_allclose(path.held_out_score, first.held_out_score, atol=1e-14)


def test_columns_that_say_nothing_are_no_improvement():
    y = np.arange(60) % 2
    X = np.full((60, 5), np.nan)
    for seed in range(20):
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        selector = ForwardProbabilitySelector(held_out=folds, score_on="held_out", patience=1)
        assert selector.fit(X, y).path_.n_kept == 0


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_frames_go_through_a_pipeline(frame_of, output):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 90)
    frame = frame_of(
        {
            "text": [None if i % 9 == 0 else "ab"[c] for i, c in enumerate(y)],
            "number": rng.normal(size=90) + y,
            "prob_null": rng.normal(size=90),
        }
    )
    if isinstance(frame, pd.DataFrame):
        frame["text"] = frame["text"].astype("string")  # missing cells are pd.NA
    selector = ForwardProbabilitySelector(n_features_to_select=2).set_output(transform=output)
    pipeline = make_pipeline(selector, DiscreteNB()).fit(frame, y)
    assert (pipeline.predict(frame) == y).mean() > 0.9
    kept = selector.transform(frame)
    assert kept.shape == (90, 2)
    if output != "default":
        assert type(kept).__module__.startswith(output)
        assert list(kept.columns) == ["text", "number"]
        # What comes from polars as a pandas frame has lost its types; all others keep them.
        loses = isinstance(frame, pl.DataFrame) and output == "pandas"
        assert loses or str(kept["number"].dtype).lower() == "float64"


@pytest.mark.parametrize(
    ("words", "fit_words", "message"),
    [
        ({"held_out": TimeSeriesSplit(3)}, {}, "leaves some rows neither in training nor held out"),
        ({"held_out": 0.3}, {"groups": True}, "groups need folds"),
        ({}, {"groups": True}, "groups need folds"),
        ({"scoring": lambda *_: np.nan}, {}, "scoring returned nan, which cannot be compared"),
        ({"estimator": LinearSVC()}, {}, "LinearSVC has no predict_proba"),
        ({"estimator": KNeighborsClassifier()}, {"weight": True}, "does not take sample_weight"),
    ],
)
def test_what_cannot_be_judged_is_refused(words, fit_words, message):
    X, y, w, _ = problem(0, missing=0.0)
    X = (X != "0").astype(float)
    groups = np.arange(y.size) // 2 if "groups" in fit_words else None
    weight = w if "weight" in fit_words else None
    with pytest.raises(ValueError, match=message):
        ForwardProbabilitySelector(**words).fit(X, y, weight, groups=groups)


def test_a_classifier_of_the_users_needs_every_class_in_training_too():
    X, y, _, _ = problem(0, missing=0.0, n_classes=3)
    X = (X != "0").astype(float)
    rows = np.flatnonzero(y < 2), np.flatnonzero(y == 2)
    selector = ForwardProbabilitySelector(BernoulliNB(), held_out=[rows, rows[::-1]])
    with pytest.raises(ValueError, match="a class has no training rows"):
        selector.fit(X, y)


def test_a_number_of_folds_keeps_groups_together():
    X, y, _, _ = problem(13)
    groups = np.arange(y.size) // 3
    splits = list(StratifiedGroupKFold(4).split(X, y, groups))
    by_number = ForwardProbabilitySelector(n_features_to_select=2, held_out=4)
    by_splits = ForwardProbabilitySelector(n_features_to_select=2, held_out=splits)
    np.testing.assert_array_equal(
        by_number.fit(X, y, groups=groups).path_.held_out_score,
        by_splits.fit(X, y).path_.held_out_score,
    )
