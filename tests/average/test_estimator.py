"""HonestClassifier as its users meet it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import honestbayes
from honestbayes import HonestClassifier, SelectiveDiscriminant
from honestbayes.data.kinds import find_kinds, kinds_and_missing
from honestbayes.models.kernel import estimator as kernel


def measurements(n=60, p=120, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, :4] += y[:, None]
    return X, y


def mixed(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) + y,
            "colour": rng.choice(["red", "green", "blue"], n),
            "flag": (rng.random(n) < 0.3 + 0.4 * y).astype(int),
            "age": rng.normal(50, 10, n),
        }
    )
    frame.loc[3, "colour"] = None
    frame.loc[5, "size"] = np.nan
    return frame, np.where(y == 1, "ill", "well")


QUICK = {"effort": "quick", "random_state": 0}


def test_in_folds_each_number_of_features_has_a_kernel_of_its_own_length(monkeypatch):
    fits, fit = [], kernel.KernelFit.of
    monkeypatch.setattr(kernel.KernelFit, "of", lambda *g: fits.append(fit(*g)) or fits[-1])
    HonestClassifier(candidates=["kernel"], random_state=0).fit(*measurements())
    assert {each.rows.shape[1] for each in fits} == {10, 100}
    for each in fits:  # the grid is in units of the root of the number of columns
        relative = each.length / np.sqrt(each.rows.shape[1])
        assert np.abs(kernel.LENGTHS - relative).min() < 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_learns_and_says_what_it_is_made_of(n_classes):
    X, y = measurements(n_classes=n_classes)
    model = HonestClassifier(**QUICK).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(model.predict(X) == y) > 0.7
    table = model.model_table()
    assert table.name[-1] == "class frequencies"
    linear = {"gaussian", "discriminant", "raw discriminant", "logistic"}
    assert set(table.name[:-1]) == {*linear, "forest", "kernel"}
    assert table.log_score[:-1].min() < table.log_score[-1]
    assert "discriminant" in str(table)
    assert model.feature_table().name[0] in {"x0", "x1", "x2", "x3"}


def test_a_table_of_all_kinds_with_missing_cells(tmp_path):
    X, y = mixed()
    model = HonestClassifier(**QUICK).fit(X, y)
    assert model.kinds_ == ("real", "categorical", "binary", "real")
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert list(model.classes_) == ["ill", "well"]
    unknown = X.assign(colour="violet")
    with pytest.warns(UserWarning, match="categories not seen in fit") as caught:
        assert np.isfinite(model.predict_proba(unknown)).all()
    assert len({str(warning.message) for warning in caught}) == len(caught)
    model.save(tmp_path / "model.honestbayes")
    loaded = honestbayes.load(tmp_path / "model.honestbayes")
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    np.testing.assert_array_equal(
        loaded.predict_proba_interval(X[:5]), model.predict_proba_interval(X[:5])
    )
    few = loaded.on_kept_columns()
    np.testing.assert_array_equal(few.predict_proba(X[list(model.columns_needed_)]), proba)


def test_texts_alone_and_flags_alone():
    X, y = mixed()
    model = HonestClassifier(**QUICK).fit(X[["colour", "flag"]], y)
    assert "categorical" in model.model_table().name
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    flags = (rng.random((80, 300)) < 0.1 + 0.3 * (y[:, None] * (np.arange(300) < 5))).astype(int)
    dense = HonestClassifier(**QUICK).fit(flags, y)
    assert "binary" in dense.model_table().name
    thin = HonestClassifier(**QUICK).fit(sparse.csr_array(flags), y)
    assert thin.predict_proba(sparse.csr_array(flags)).shape == (80, 2)


@pytest.mark.slow
def test_intervals_hold_the_probability_in_their_middle():
    for n_classes in (2, 3):
        X, y = measurements(n_classes=n_classes)
        model = HonestClassifier(**QUICK).fit(X, y)
        proba, bounds = model.predict_proba(X[:20]), model.predict_proba_interval(X[:20])
        if n_classes == 2:
            assert bounds.shape == (20, 2)
            proba = proba[:, 1]
        assert (bounds[..., 0] <= proba + 1e-9).all()
        assert (proba <= bounds[..., 1] + 1e-9).all()
        wide = model.predict_proba_interval(X[:20], level=0.99)
        assert (wide[..., 1] - wide[..., 0] >= bounds[..., 1] - bounds[..., 0] - 1e-9).all()
        np.testing.assert_allclose(model.predict_proba_interval(X[3:4]), bounds[3:4], atol=1e-9)


def test_another_prevalence_is_bayes_rule():
    X, y = measurements()
    model = HonestClassifier(**QUICK).fit(X, y)
    plain = model.predict_proba(X)
    other = model.predict_proba(X, class_prior=[0.99, 0.01])
    expected = plain * np.array([0.99, 0.01]) / (np.array([31, 31]) / 62)
    np.testing.assert_allclose(other, expected / expected.sum(axis=1, keepdims=True))


def test_one_set_of_columns_serves_all_candidates():
    X, y = measurements()
    model = HonestClassifier(n_features_to_select=5, random_state=0).fit(X, y)
    assert len(model.columns_needed_) <= 5
    assert np.isfinite(model.restriction_cost_)
    few = model.on_kept_columns()
    np.testing.assert_allclose(
        few.predict_proba(X[:, model.kept_columns()]), model.predict_proba(X)
    )
    free = HonestClassifier(**QUICK).fit(X, y)
    assert free.restriction_cost_ is None
    with pytest.raises(ValueError, match="more than the 120 features"):
        HonestClassifier(n_features_to_select=121).fit(X, y)


def test_groups_are_held_out_together():
    """Twins that are copies: without groups held-out cases are seen in training."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 400)), 2, axis=0)
    y = np.repeat(np.arange(30) % 2, 2)
    together = HonestClassifier(**QUICK).fit(X, y, groups=np.repeat(np.arange(30), 2))
    apart = HonestClassifier(**QUICK).fit(X, y)
    assert together.held_out_log_score_ > 0.6
    assert apart.held_out_log_score_ < together.held_out_log_score_ - 0.1


def test_columns_kept_by_design_are_in_every_model():
    X, y = measurements()
    model = HonestClassifier(always_keep=[77], **QUICK).fit(X, y)
    assert model.feature_table().use[list(model.kept_columns()).index(77)] == pytest.approx(1.0)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_jobs():
    X, y = measurements()
    one = HonestClassifier(**QUICK).fit(X, y).predict_proba(X)
    two = HonestClassifier(n_jobs=2, **QUICK).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(one, two)


def test_time_to_go_is_said_after_the_first_fold(capsys):
    X, y = measurements()
    HonestClassifier(**QUICK).fit(X, y)
    assert capsys.readouterr().err == ""
    HonestClassifier(**QUICK, verbose=True).fit(X, y)
    told = capsys.readouterr().err
    assert told.startswith("trying 7 candidates: fold 1 of 10, about ")
    assert " s to go" in told
    assert told.rstrip().endswith("fold 10 of 10")


class StopsAfter(LogisticRegression):
    """A classifier during whose n-th fit the user presses Ctrl-C."""

    fits = 0
    last = 0

    def fit(self, X, y):
        StopsAfter.fits += 1
        if StopsAfter.fits == StopsAfter.last:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.mark.parametrize(("last", "learned"), [(5, False), (6, True), (14, True)])
def test_an_interrupt_leaves_a_model_of_the_folds_so_far_once_all_cases_were_held_out(
    last, learned, monkeypatch
):
    X, y = measurements(p=10)
    monkeypatch.setattr(StopsAfter, "fits", 0)
    monkeypatch.setattr(StopsAfter, "last", last)
    model = HonestClassifier(candidates=[StopsAfter()], random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert hasattr(model, "model_table_") == learned
    if learned:
        assert model.model_table().log_score[0] < np.log(2)
        assert np.isfinite(model.predict_proba(X)).all()


def test_foreign_classifiers_are_calibrated_and_averaged():
    X, y = measurements()
    given = [
        make_pipeline(StandardScaler(), LogisticRegression(C=100.0)),
        RandomForestClassifier(20, random_state=0),
        LinearSVC(),
    ]
    model = HonestClassifier(candidates=given).fit(X, y)
    assert model.model_table().name[:3] == (
        "1: LogisticRegression",
        "2: RandomForestClassifier",
        "3: LinearSVC",
    )
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict_proba_interval(X[:4]).shape == (4, 2)
    with pytest.raises(TypeError, match="cannot be saved to a model file"):
        model.save("never.honestbayes")


def test_names_choose_candidates():
    X, y = measurements()
    model = HonestClassifier(candidates=["discriminant"], random_state=0).fit(X, y)
    assert set(model.model_table().name) == {"discriminant", "class frequencies"}


def test_a_single_candidate_is_what_its_layer_says_up_to_the_weight():
    X, y = measurements()
    model = HonestClassifier(candidates=[SelectiveDiscriminant(recalibrate=None)]).fit(X, y)
    (member,) = model._members
    log_prior = np.log([0.5, 0.5])
    alone = member.recalibration.log_proba(
        member.model.predict_log_proba(X[:, member.columns]), log_prior
    )
    odds = member.weight * (alone[:, 1] - alone[:, 0])
    expected = 1 / (1 + np.exp(-odds))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-6)


def test_pseudocounts_are_in_the_class_frequencies_and_not_in_the_evidence():
    X, y = measurements(n=90, n_classes=3)
    y = np.minimum(y, 1)  # 30 and 60 cases
    few, many = (
        HonestClassifier(candidates=["discriminant"], class_pseudocounts=weight).fit(X, y)
        for weight in (1.0, 50.0)
    )
    for one, other in zip(few._members, many._members, strict=False):
        evidence = [
            np.diff(member.evidence(X, model._log_prior(), 90), axis=1)
            for member, model in ((one, few), (other, many))
        ]
        np.testing.assert_allclose(*evidence, atol=1e-9)


def test_a_class_of_a_single_case_gets_its_share():
    X, y = measurements(n=61)
    y = y.copy()
    y[60] = 7
    with pytest.warns(UserWarning, match="class 7 has only one case, so its probability"):
        model = HonestClassifier(**QUICK).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 2], 2 / 64)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.predict_proba_interval(X[:3]).shape == (3, 3, 2)


def test_a_class_of_two_cases_makes_two_folds():
    X, y = measurements(n=62)
    y = y.copy()
    y[60:] = 7
    model = HonestClassifier(**QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (62, 3)


def test_contributions_are_what_a_cell_adds():
    X, y = mixed()
    model = HonestClassifier(**QUICK).fit(X, y)
    added, columns = model.contributions(X[:6]).values, model.kept_columns()
    assert added.shape == (6, columns.size)
    np.testing.assert_array_equal(
        model.contributions(X[:6], [3]).values[:, 0], added[:, list(columns).index(3)]
    )
    with pytest.raises(ValueError, match="column 9 is not a number from 0 to 3"):
        model.contributions(X[:6], [9])
    without = X[:6].copy()
    without["age"] = np.nan
    apart = np.diff(model.predict_log_proba(X[:6]) - model.predict_log_proba(without), axis=1)
    place = list(columns).index(3)
    np.testing.assert_allclose(added[:, place], apart[:, 0])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"effort": "some"}, "effort='some' is not one of"),
        ({"candidates": ["bagging"]}, "names 'bagging', which is not one of"),
        ({"candidates": 7}, "must be 'auto', a list of names, or a list of classifiers"),
        ({"candidates": ["networks"]}, "suits this table; those that do: 'gaussian'"),
        ({"n_features_to_select": 0}, "n_features_to_select=0 is not a whole number"),
        ({"class_prior": [1.0, 1.0]}, "class_prior"),
    ],
)
def test_what_means_nothing_is_refused(words, sentence):
    X, y = measurements(20, 5)
    with pytest.raises(ValueError, match=sentence):
        HonestClassifier(**words).fit(X, y)


def test_weights_of_cases_are_refused():
    X, y = measurements(20, 5)
    with pytest.raises(TypeError, match="sample_weight is not supported"):
        HonestClassifier().fit(X, y, sample_weight=np.ones(20))


def test_kinds_found_at_once_are_those_found_column_by_column():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=20),
            np.arange(20) % 2,
            np.full(20, 3.0),
            np.where(np.arange(20) == 4, np.nan, np.arange(20) % 2 * 5.0),
            np.full(20, np.nan),
            np.arange(20) % 3,
        ]
    )
    assert kinds_and_missing(X, None) == (find_kinds(X), True)
    whole = rng.integers(0, 2, (5, 4))
    assert kinds_and_missing(whole, None) == (find_kinds(whole), False)
    assert kinds_and_missing(whole.astype(bool), None) == (find_kinds(whole.astype(bool)), False)


class Warns(LogisticRegression):
    """A classifier that warns in every fit."""

    def fit(self, X, y):
        warnings.warn("columns repeat each other", RuntimeWarning, stacklevel=2)
        return super().fit(X, y)


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_what_candidates_warn_of_in_every_fold_is_said_once(n_jobs):
    X, y = measurements(p=10)
    model = HonestClassifier(candidates=[Warns(), Warns(C=0.1)], random_state=0, n_jobs=n_jobs)
    with pytest.warns(RuntimeWarning, match="columns repeat each other") as told:
        model.fit(X, y)
    assert len(told) <= 2  # of the folds, and of the final fits
    assert all(each.filename == __file__ for each in told)
