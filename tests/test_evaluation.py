"""Cross-validation against plain loops and scikit-learn's own."""

import math
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import t
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from honestbayes.datasets import simulate_naive_bayes
from honestbayes.evaluation import compare, cross_validate


@pytest.fixture(scope="module")
def data():
    return simulate_naive_bayes(60, 0, 200, 50.0, theta_range=(0.3, 0.7), random_state=0)


@pytest.fixture
def model():
    return make_pipeline(SelectKBest(chi2, k=5), BernoulliNB())


def plain_out_of_fold(model, X, y, folds):
    """Fit once per fold on all other cases, one repeat at a time."""
    proba = np.empty(folds.shape)
    supports = []
    for r, row in enumerate(folds):
        for number in np.unique(row):
            test = row == number
            fitted = clone(model).fit(X[~test], y[~test])
            proba[r, test] = fitted.predict_proba(X[test])[:, 1]
            supports.append(fitted[0].get_support())
    return proba, np.mean(supports, axis=0)


def test_each_case_is_predicted_by_a_pipeline_fitted_and_selected_without_it(data, model):
    result = cross_validate(model, data.X_train, data.y_train, cv=5, n_repeats=3, random_state=0)
    proba, frequency = plain_out_of_fold(model, data.X_train, data.y_train, result.folds)
    assert result.proba.shape == (3, 60)
    assert result.proba == pytest.approx(proba)
    assert result.selected_frequency == pytest.approx(frequency)
    assert result.selected_frequency.sum() == pytest.approx(5)


def test_folds_are_stratified_and_differ_between_repeats(data, model):
    folds = cross_validate(
        model, data.X_train, data.y_train, cv=6, n_repeats=2, random_state=1
    ).folds
    for row in folds:
        for number in np.unique(row):
            assert data.y_train[row == number].sum() == 5
    assert not np.array_equal(folds[0], folds[1] - 6)


def test_leave_one_out_equals_scikit_learns(data, model):
    X, y = data.X_train[:20], data.y_train[:20]
    expected = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="predict_proba")
    result = cross_validate(model, X, y, cv="loo")
    assert result.proba[0] == pytest.approx(expected[:, 1])
    assert result.folds.tolist() == [list(range(20))]


def test_selection_outside_the_folds_would_look_better_than_selection_inside():
    noise = simulate_naive_bayes(60, 0, 3000, alpha=1e6, random_state=2)
    chosen = SelectKBest(chi2, k=10).fit(noise.X_train, noise.y_train).get_support()
    outside = cross_validate(
        BernoulliNB(), noise.X_train[:, chosen], noise.y_train, cv=10, random_state=0
    )
    inside = cross_validate(
        make_pipeline(SelectKBest(chi2, k=10), BernoulliNB()),
        noise.X_train,
        noise.y_train,
        cv=10,
        random_state=0,
    )
    assert outside.summary().actual_error.value < 0.25
    assert inside.summary().actual_error.value > 0.35


def test_groups_stay_together_with_folds_and_with_loo(data, model):
    groups = np.arange(60) // 2
    five = cross_validate(
        model, data.X_train, data.y_train, cv=5, n_repeats=2, groups=groups, random_state=0
    )
    for row in five.folds:
        assert all(np.unique(row[groups == g]).size == 1 for g in range(30))
    one = cross_validate(model, data.X_train, data.y_train, cv="loo", groups=groups)
    assert np.array_equal(one.folds[0], groups)
    assert one.proba[0] == pytest.approx(
        plain_out_of_fold(model, data.X_train, data.y_train, one.folds)[0][0]
    )


class _KnowsGroups(BernoulliNB):
    """Remembers the groups that it was given."""

    seen: ClassVar[list] = []

    def fit(self, X, y, groups=None):
        self.seen.append(groups)
        return super().fit(X, y)


def test_an_estimator_that_takes_groups_is_given_those_of_its_training_cases(data):
    X, y = data.X_train, data.y_train
    groups = np.arange(y.size) // 2
    _KnowsGroups.seen.clear()
    result = cross_validate(_KnowsGroups(), X, y, cv=3, groups=groups, random_state=0)
    for fold, seen in enumerate(_KnowsGroups.seen):
        assert np.array_equal(seen, groups[result.folds[0] != fold])


def test_progress_is_told_of_each_fold(data, model):
    X, y = data.X_train, data.y_train
    done = []
    cross_validate(model, X, y, cv=3, n_repeats=2, random_state=0, on_fold=lambda: done.append(1))
    assert len(done) == 6


def test_intervals_with_groups_are_over_groups(data, model):
    X, y = np.repeat(data.X_train[:30], 2, axis=0), np.repeat(data.y_train[:30], 2)
    groups = np.repeat(np.arange(30), 2)
    paired = cross_validate(model, X, y, cv=3, groups=groups, random_state=0)
    losses = -paired.log_proba[0, np.arange(60), y]
    error = np.std(losses[::2], ddof=1) / math.sqrt(30)
    assert paired.summary().log_score.standard_error == pytest.approx(1.5 * error)


@pytest.mark.slow
def test_result_does_not_depend_on_n_jobs_for_a_random_estimator(data):
    forest = make_pipeline(SelectKBest(k=5), RandomForestClassifier(5))
    one, two = (
        cross_validate(forest, data.X_train, data.y_train, cv=4, random_state=3, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert np.array_equal(one.proba, two.proba)
    other = cross_validate(forest, data.X_train, data.y_train, cv=4, random_state=4)
    assert not np.array_equal(one.proba, other.proba)


def test_a_seed_of_the_estimator_itself_is_respected_and_the_estimator_left_alone(data):
    forest = RandomForestClassifier(3, random_state=5)
    result = cross_validate(forest, data.X_train, data.y_train, cv=3, random_state=0)
    test = result.folds[0] == 0
    fitted = clone(forest).fit(data.X_train[~test], data.y_train[~test])
    assert result.proba[0, test] == pytest.approx(fitted.predict_proba(data.X_train[test])[:, 1])
    assert not hasattr(forest, "classes_")


def test_a_seed_sequence_gives_the_same_folds_twice(data, model):
    seeds = np.random.SeedSequence(6)
    one, two = (
        cross_validate(model, data.X_train, data.y_train, cv=3, random_state=seeds)
        for _ in range(2)
    )
    assert np.array_equal(one.folds, two.folds)


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        lambda X: pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])]),
        lambda X: pl.DataFrame(X, schema=[f"g{j}" for j in range(X.shape[1])]),
    ],
    ids=["csr", "csc", "coo", "pandas", "polars"],
)
def test_sparse_tables_and_frames_give_the_same_as_dense(data, model, convert):
    X = data.X_train.astype(np.float64)
    dense = cross_validate(model, X, data.y_train, cv=4, random_state=0)
    other = cross_validate(model, convert(X), data.y_train, cv=4, random_state=0)
    assert other.proba == pytest.approx(dense.proba)
    assert dense.feature_names is None
    assert sparse.issparse(convert(X)) or other.feature_names[3] == "g3"


def test_any_two_labels_work_and_the_second_in_order_is_class_1(data, model):
    labels = pd.Series(np.where(data.y_train == 1, "tumor", "normal"))
    named = cross_validate(model, data.X_train, labels, cv=4, random_state=0)
    plain = cross_validate(model, data.X_train, data.y_train, cv=4, random_state=0)
    assert named.classes.tolist() == ["normal", "tumor"]
    assert np.array_equal(named.y, data.y_train)
    assert named.proba == pytest.approx(plain.proba)


def test_repeated_splitters_and_lists_of_splits_are_taken(data, model):
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    one = cross_validate(model, data.X_train, data.y_train, cv=splitter)
    splits = list(splitter.split(data.X_train, data.y_train))
    two = cross_validate(model, data.X_train, data.y_train, cv=splits)
    assert one.proba.shape == (2, 60)
    assert np.array_equal(one.proba, two.proba)
    assert one.proba == pytest.approx(
        plain_out_of_fold(model, data.X_train, data.y_train, one.folds)[0]
    )


def test_estimators_without_log_probabilities_and_with_zero_probabilities_are_scored(data):
    calibrated = CalibratedClassifierCV(BernoulliNB(), cv=2)
    forest = RandomForestClassifier(2)
    for estimator in (calibrated, forest):
        result = cross_validate(estimator, data.X_train, data.y_train, cv=3, random_state=0)
        assert math.isfinite(result.summary().log_score.value)


@pytest.mark.parametrize(
    ("estimator", "n_kept"),
    [
        (make_pipeline(StandardScaler(), SelectKBest(k=7), LogisticRegression()), 7),
        (make_pipeline(SelectKBest(k=9), SelectKBest(k=4), "passthrough", BernoulliNB()), 4),
        (make_pipeline(SelectKBest(k=6), PCA(2), LogisticRegression()), 6),
        (GridSearchCV(make_pipeline(SelectKBest(k=3), BernoulliNB()), {}, cv=2), 3),
        (make_pipeline(PCA(5), SelectKBest(k=2), LogisticRegression()), None),
        (BernoulliNB(), None),
    ],
)
def test_kept_features_are_followed_through_pipelines_as_far_as_they_are_features(
    data, estimator, n_kept
):
    frequency = cross_validate(
        estimator, data.X_train, data.y_train, cv=3, random_state=0
    ).selected_frequency
    if n_kept is None:
        assert frequency is None
    else:
        assert frequency.shape == (200,)
        assert frequency.sum() == pytest.approx(n_kept)


def test_two_selectors_in_a_row_name_the_input_features():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 6))
    y = X[:, 4].copy()
    X[:, 0] = 1
    chain = make_pipeline(VarianceThreshold(), SelectKBest(chi2, k=1), BernoulliNB())
    frequency = cross_validate(chain, X, y, cv=4, random_state=0).selected_frequency
    assert frequency.tolist() == [0, 0, 0, 0, 1, 0]


def test_compare_gives_the_paired_difference_over_cases_with_the_error_of_one_repeat(data, model):
    other = make_pipeline(SelectKBest(chi2, k=20), BernoulliNB())
    few, many = (
        cross_validate(m, data.X_train, data.y_train, cv=5, n_repeats=2, random_state=0)
        for m in (model, other)
    )
    (difference,) = compare({"few": few, "many": many}, level=0.9)
    y = data.y_train

    def log_loss(p):
        return -np.where(y == 1, np.log(p), np.log1p(-p))

    expected = log_loss(few.proba) - log_loss(many.proba)
    assert (difference.first, difference.second) == ("few", "many")
    assert difference.log_score.value == pytest.approx(expected.mean())
    # The standard error of one repeat, averaged as a variance: repeats narrow nothing.
    # Other training cases would have made other models: half as much again.
    half = 1.5 * t(59).ppf(0.95) * math.sqrt(np.var(expected, axis=1, ddof=1).mean() / 60)
    assert difference.log_score.interval == pytest.approx(
        (expected.mean() - half, expected.mean() + half)
    )
    brier = ((y - few.proba) ** 2 - (y - many.proba) ** 2).mean()
    assert difference.squared_error.value == pytest.approx(brier)
    assert "few minus many" in str(difference)


def test_compare_refuses_other_folds_and_a_single_evaluation(data, model):
    one, two = (
        cross_validate(model, data.X_train, data.y_train, cv=5, random_state=seed)
        for seed in (0, 1)
    )
    with pytest.raises(ValueError, match="'two' has other cases or folds"):
        compare({"one": one, "two": two})
    with pytest.raises(ValueError, match="evaluations holds 1"):
        compare({"one": one})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(60)}, "y holds 1 different labels"),
        ({"y": np.arange(60) == 3}, "y has a class"),
        ({"cv": 1}, "cv is 1; give from 2 to 30 folds"),
        ({"cv": 31}, "cv is 31"),
        ({"cv": "ten"}, "cv is 'ten'"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "does not test every case equally often"),
        ({"cv": StratifiedKFold(3), "n_repeats": 2}, "n_repeats needs a number of folds"),
        ({"n_repeats": 0}, "n_repeats is 0"),
        ({"cv": KFold(2), "y": np.arange(60) < 30}, "training cases of fold 0 are of one class"),
        ({"groups": np.zeros(5)}, "inconsistent numbers of samples"),
        ({"cv": [(np.arange(30, 60), np.repeat(np.arange(30), 2))]}, "tests a case twice"),
    ],
)
def test_bad_arguments_are_named(data, model, arguments, message):
    given = {"y": data.y_train, **arguments}
    with pytest.raises(ValueError, match=message):
        cross_validate(model, data.X_train, **given)


# ------------------------------------------------------------- several classes


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 20, 16])
    X = rng.integers(0, 2, (66, 80))
    X[:, :6] = rng.random((66, 6)) < np.array([0.2, 0.5, 0.8])[y][:, None]
    return X, np.array(["c", "a", "b"])[y]


def test_several_classes_are_predicted_out_of_fold_with_a_column_for_each(three, model):
    X, y = three
    result = cross_validate(model, X, y, cv=4, n_repeats=2, random_state=0)
    assert result.classes.tolist() == ["a", "b", "c"]
    assert result.proba.shape == result.log_proba.shape == (2, 66, 3)
    for proba, folds in zip(result.proba, result.folds, strict=True):
        for number in np.unique(folds):
            test = folds == number
            fitted = clone(model).fit(X[~test], y[~test])
            assert proba[test] == pytest.approx(fitted.predict_proba(X[test]))
            assert np.sum(y[test] == "b") == 4
    actual = result.classes[result.proba.argmax(axis=2)] != y
    assert result.summary().actual_error.value == pytest.approx(actual.mean())
    assert result.summary().n_positive == (20, 16, 30)


def test_groups_of_several_classes_stay_together_and_widen_the_intervals(three, model):
    X, y = (np.repeat(part, 2, axis=0) for part in three)
    groups = np.repeat(np.arange(66), 2)
    result = cross_validate(model, X, y, cv=3, groups=groups, random_state=0)
    assert np.array_equal(result.folds[0, ::2], result.folds[0, 1::2])
    losses = -result.log_proba[0, np.arange(132), result.y]
    error = np.std(losses[::2], ddof=1) / math.sqrt(66)
    assert result.summary().log_score.standard_error == pytest.approx(1.5 * error)


def test_compare_gives_paired_differences_of_several_classes(three, model):
    X, y = three
    other = make_pipeline(SelectKBest(chi2, k=20), BernoulliNB())
    few, many = (cross_validate(m, X, y, cv=4, n_repeats=2, random_state=0) for m in (model, other))
    (difference,) = compare({"few": few, "many": many})
    log, squared = np.zeros((2, 2, 66)), np.zeros((2, 2, 66))
    for which, evaluation in enumerate((few, many)):
        for repeat, case in np.ndindex(2, 66):
            row, label = evaluation.proba[repeat, case], evaluation.y[case]
            log[which, repeat, case] = -math.log(row[label])
            squared[which, repeat, case] = sum((row[c] - (c == label)) ** 2 for c in range(3))
    for found, losses in ((difference.log_score, log), (difference.squared_error, squared)):
        paired = losses[0] - losses[1]
        half = 1.5 * t(65).ppf(0.975) * math.sqrt(np.var(paired, axis=1, ddof=1).mean() / 66)
        assert found.interval == pytest.approx((paired.mean() - half, paired.mean() + half))


class _Forgets(BernoulliNB):
    """Predicts one class too few."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, :2]


def test_several_classes_that_cannot_be_predicted_are_refused_in_one_sentence(three, model):
    X, y = three
    rare = y.copy()
    rare[0] = "d"
    with pytest.raises(ValueError, match="training cases of fold 0 lack class d"):
        cross_validate(model, X, rare, cv="loo")
    with pytest.raises(ValueError, match=r"shape \(17, 2\); give one .* each of the 3 classes"):
        cross_validate(_Forgets(), X, y, cv=4, random_state=0)
