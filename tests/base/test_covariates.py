"""Covariates set the prior of each case, and nothing else."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_softmax
from scipy.stats import norm

import honestbayes
from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveFactorClassifier,
    SelectiveGaussianNB,
    SelectiveMixedNB,
)
from honestbayes.base import covariates

# ------------------------------------------------------------------------ oracles


def posterior_by_quadrature(z, y, new, scales=(0.1, 0.3, 1.0, 3.0)):
    """P(y=1 | z) of a logistic regression on one covariate, by sums over a grid of both numbers.

    The log-odds are a + b (z - mean) / sd; a is normal around the log-odds of the smoothed class
    frequency with standard deviation 2, b around 0 with each of the scales, equally likely.
    """
    share = (y.sum() + 1) / (y.size + 2)
    middle = np.log(share / (1 - share))
    a = middle + 2 * norm.ppf((np.arange(400) + 0.5) / 400)
    t, t_new = (z - z.mean()) / z.std(), (new - z.mean()) / z.std()
    above, below = np.zeros(new.size), 0.0
    for scale in scales:
        b = scale * norm.ppf((np.arange(400) + 0.5) / 400)
        odds = a[:, None, None] + b[None, :, None] * t
        weight = np.exp(np.sum(np.where(y == 1, odds, 0.0) - np.logaddexp(0, odds), axis=2))
        proba = expit(a[:, None, None] + b[None, :, None] * t_new)
        above, below = above + np.einsum("ab,abn->n", weight, proba), below + weight.sum()
    return above / below


def evidence_without_covariates(kind, X, y, new, **parameters):
    """What the features alone add to the log class probabilities, from a model without z."""
    model = kind(recalibrate=None, **parameters).fit(X, y)
    return model.predict_log_proba(new) - np.log(
        (np.bincount(y) + 1) / (y.size + np.unique(y).size)
    )


def table(seed, n=120, n_classes=2, effect=0.8):
    rng = np.random.default_rng(seed)
    z = rng.normal(50, 10, n)
    sex = rng.choice(["f", "m"], n)
    scores = np.outer((z - 50) / 10 + (sex == "m"), np.arange(n_classes))
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    X = rng.normal(size=(n, 30))
    X[:, :3] += effect * y[:, None]
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    frame.insert(2, "age", z)
    frame["sex"] = sex
    return frame, y


Z = ["age", "sex"]
NAIVE = {
    SelectiveGaussianNB: lambda frame: frame,
    SelectiveMixedNB: lambda frame: frame,
    SelectiveBernoulliNB: lambda frame: frame.assign(**(frame.filter(like="g") > 0).astype(int)),
    SelectiveCategoricalNB: lambda frame: frame.assign(**(frame.filter(like="g") > 0).astype(int)),
}
KINDS = [*NAIVE, HonestClassifier]


# ------------------------------------------------------------------ P(class | covariates)


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("binary", [True, False])
def test_the_prior_is_the_sum_over_coefficients(n, binary):
    rng = np.random.default_rng(n)
    z = rng.integers(0, 2, n).astype(float) if binary else rng.normal(size=n)
    y = (rng.random(n) < expit(1.5 * z - 0.5)).astype(int)
    X = np.column_stack([z, rng.normal(size=n)])
    model = SelectiveGaussianNB(covariates=[0], n_features_to_select=0, recalibrate=None).fit(X, y)
    new = np.array([0.0, 1.0]) if binary else np.linspace(z.min(), z.max(), 5)
    found = model.predict_proba(np.column_stack([new, np.zeros(new.size)]))[:, 1]
    # The sum is exact to 1e-4; the points are draws.
    np.testing.assert_allclose(found, posterior_by_quadrature(z, y, new), atol=0.005)


def test_with_many_cases_the_prior_is_the_logistic_regression_of_maximum_likelihood():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 2))
    y = np.argmax(z @ [[0, 1, -1], [0, 0.5, 1]] + rng.gumbel(size=(20_000, 3)), axis=1)
    X = np.column_stack([z, rng.normal(size=20_000)])
    model = SelectiveGaussianNB(covariates=[0, 1], n_features_to_select=0, recalibrate=None)
    from sklearn.linear_model import LogisticRegression

    plain = LogisticRegression(C=np.inf).fit(z, y)
    found = model.fit(X, y).predict_proba(X[:50])
    np.testing.assert_allclose(found, plain.predict_proba(z[:50]), atol=2e-3)


def test_draws_of_the_prior_average_to_it():
    frame, y = table(0, n_classes=3)
    model = SelectiveMixedNB(covariates=Z).fit(frame, y)._covariate_model
    design = model.coding.design(frame[:20])
    drawn = model.draws(design, 20_000, np.random.default_rng(0))
    odds = np.concatenate([np.zeros((20, 20_000, 1)), drawn.log_odds], axis=2)
    mean = np.exp(log_softmax(odds, axis=2)).mean(axis=1)
    np.testing.assert_allclose(mean, np.exp(drawn.log_prior), atol=0.01)


# ---------------------------------------------------------------- features and covariates


@pytest.mark.parametrize("kind", NAIVE)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_evidence_is_added_to_the_prior_of_each_case(kind, n_classes):
    if kind is SelectiveBernoulliNB and n_classes > 2:
        pytest.skip("takes two classes")
    frame, y = table(3, n_classes=n_classes)
    frame = NAIVE[kind](frame)
    new = NAIVE[kind](table(4, n_classes=n_classes)[0])
    model = kind(covariates=Z, recalibrate=None, n_features_to_select=4).fit(frame, y)
    features = [name for name in frame if name not in Z]
    evidence = evidence_without_covariates(
        kind, frame[features], y, new[features], n_features_to_select=4
    )
    alone = kind(covariates=Z, recalibrate=None, n_features_to_select=0).fit(frame, y)
    expected = log_softmax(alone.predict_log_proba(new) + evidence, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(new), expected, atol=1e-9)


def test_one_binary_covariate_of_the_binary_model_is_a_direct_sum():
    # P(y | x, z) by Bayes' theorem: the sum over coefficients times the plain model's evidence.
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, 80)
    y = (rng.random(80) < np.where(z == 1, 0.75, 0.25)).astype(int)
    X = (rng.random((80, 40)) < 0.5 + 0.2 * np.outer(2 * y - 1, np.arange(40) < 2)).astype(int)
    both = np.column_stack([z, X])
    model = SelectiveBernoulliNB(covariates=[0], recalibrate=None, n_features_to_select=3)
    found = model.fit(both, y).predict_proba(both)[:, 1]
    evidence = evidence_without_covariates(SelectiveBernoulliNB, X, y, X, n_features_to_select=3)
    prior = posterior_by_quadrature(z, y, z)
    odds = prior / (1 - prior) * np.exp(evidence[:, 1] - evidence[:, 0])
    np.testing.assert_allclose(found, odds / (1 + odds), atol=0.005)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_with_covariates_only_gets_their_probability(kind):
    frame, y = table(6)
    frame = NAIVE.get(kind, lambda same: same)(frame)
    model = kind(covariates=Z).fit(frame, y)
    rows = frame[:10].astype({name: float for name in frame if name not in Z})
    rows[[name for name in frame if name not in Z]] = np.nan
    expected = model._covariate_model.log_prior(rows)
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, atol=1e-9)
    rows[Z] = [np.nan, None]
    shares = (np.bincount(y) + 1) / (y.size + 2)
    np.testing.assert_allclose(model.predict_proba(rows), np.tile(shares, (10, 1)), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_files_copies_and_intervals_know_covariates(kind, tmp_path):
    frame, y = table(7)
    frame = NAIVE.get(kind, lambda same: same)(frame)
    model = kind(covariates=Z).fit(frame, y)
    proba = model.predict_proba(frame)
    copy = model.on_kept_columns()
    kept = frame[list(model.get_feature_names_out())]
    assert list(kept)[-2:] == Z
    for number, (one, rows) in enumerate([(model, frame), (copy, kept)]):
        np.testing.assert_allclose(one.predict_proba(rows), proba, atol=1e-12)
        path = tmp_path / f"{number}.honestbayes"
        one.save(path)
        loaded = honestbayes.load(path)
        assert np.array_equal(loaded.predict_proba(rows), one.predict_proba(rows))
    bounds = model.predict_proba_interval(frame[:20], n_draws=400)
    assert np.all((bounds[:, 0] < proba[:20, 1]) & (proba[:20, 1] < bounds[:, 1]))
    some = model.predict_proba_interval(frame[3:5], n_draws=400)
    np.testing.assert_allclose(some, bounds[3:5], atol=1e-9)
    assert model.contributions(frame[:2]).values.shape[1] >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_covariates_are_named_or_numbered_or_flagged(kind, tmp_path):
    frame, y = table(7)
    frame = NAIVE.get(kind, lambda same: same)(frame)
    of_average = {"effort": "quick"} if kind is HonestClassifier else {}
    expected = kind(covariates=Z, **of_average).fit(frame, y).predict_proba(frame)
    for given in ([frame.columns.get_loc(name) for name in Z], frame.columns.isin(Z)):
        model = kind(covariates=given, **of_average).fit(frame, y)
        np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-12)
        kept = frame[list(model.get_feature_names_out())]
        assert list(kept)[-2:] == Z
        copy = model.on_kept_columns()
        np.testing.assert_allclose(copy.predict_proba(kept), expected, atol=1e-12)
        for one, rows in [(model, frame), (copy, kept)]:
            one.save(tmp_path / "model.honestbayes")
            loaded = honestbayes.load(tmp_path / "model.honestbayes")
            assert np.array_equal(loaded.predict_proba(rows), one.predict_proba(rows))


def test_other_prevalences_change_the_odds_by_one_factor():
    frame, y = table(8)
    for kind in (SelectiveGaussianNB, HonestClassifier):
        model = kind(covariates=Z).fit(frame, y)
        here, there = model.predict_proba(frame), model.predict_proba(frame, class_prior=[0.9, 0.1])
        share = (np.bincount(y) + 1) / (y.size + 2)
        ratio = (there[:, 1] / there[:, 0]) / (here[:, 1] / here[:, 0])
        expected = (0.1 / 0.9) / (share[1] / share[0])
        np.testing.assert_allclose(ratio, expected, rtol=1e-6)


def test_factors_know_covariates():
    frame, y = table(9, n=60)
    model = SelectiveFactorClassifier(
        covariates=Z,
        n_features_to_select=3,
        n_factors=0,
        n_chains=2,
        n_draws=50,
        n_warmup=50,
        n_doublings=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains
        model.set_params(random_state=0).fit(frame, y)
    rows = frame[:5].copy()
    rows[[name for name in frame if name not in Z]] = np.nan
    expected = model._covariate_model.log_prior(rows)
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, atol=1e-9)


# ------------------------------------------------------------------------- what can go wrong


def test_features_that_depend_on_covariates_are_named():
    frame, y = table(10)
    frame["g1"] += 3 * (frame["sex"] == "m")
    for kind in (SelectiveGaussianNB, HonestClassifier):
        with pytest.warns(UserWarning, match="1 kept feature depends on the covariates .*'g1'"):
            kind(covariates=Z).fit(frame, y)


def test_independent_features_are_seldom_named():
    named = 0
    for seed in range(60):
        frame, y = table(100 + seed)
        model = SelectiveGaussianNB(covariates=Z, recalibrate=None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(frame, y)
        named += len(caught)
    assert named <= 4  # 0.6 expected; P(more than 4) = 0.0004


@pytest.mark.parametrize("kind", KINDS)
def test_bad_covariates_are_refused(kind):
    frame, y = table(11)
    frame = NAIVE.get(kind, lambda same: same)(frame)
    with pytest.raises(ValueError, match="covariates names 'weight'"):
        kind(covariates=["weight"]).fit(frame, y)
    with pytest.raises(ValueError, match="in both covariates and always_keep"):
        kind(covariates=["age"], always_keep=["age"]).fit(frame.drop(columns="sex"), y)


def test_an_average_of_covariates_alone_predicts_by_them():
    frame, y = table(12)
    with pytest.warns(UserWarning, match="predicted by their covariates"):
        model = HonestClassifier(covariates=Z).fit(frame[Z], y)
    expected = model._covariate_model.log_prior(frame[Z])
    np.testing.assert_allclose(model.predict_log_proba(frame[Z]), expected, atol=1e-12)
    with pytest.raises(ValueError, match="all columns"):
        SelectiveMixedNB(covariates=Z).fit(frame[Z], y)


# ------------------------------------------------------------------------- planted mistakes


def slopes_on_the_prior(monkeypatch):
    """The slope multiplies the prior too."""
    from honestbayes.base.recalibration import Recalibration

    right = Recalibration.log_proba

    def wrong(self, evidence, log_prior, given=None):
        if np.ndim(log_prior) < 2:
            return right(self, evidence, log_prior, given)
        return right(self, evidence + log_prior, np.zeros_like(log_prior), given)

    monkeypatch.setattr(Recalibration, "log_proba", wrong)


def test_a_slope_on_the_prior_would_be_noticed(monkeypatch):
    frame, y = table(6)
    frame.iloc[:, 3:10] = np.tile(frame[["g0"]].to_numpy(), 7)  # copies: the slope is far from 1
    model = SelectiveGaussianNB(covariates=Z).fit(frame, y)
    rows = frame[:10].copy()
    rows[[name for name in frame if name not in Z]] = np.nan
    slopes_on_the_prior(monkeypatch)
    expected = model._covariate_model.log_prior(rows)
    assert np.abs(model.predict_log_proba(rows) - expected).max() > 0.01


def test_a_prior_that_saw_the_cases_would_be_noticed():
    # Held-out priors are those of a regression without the fold.
    frame, y = table(13)
    _, labels = SelectiveGaussianNB(covariates=Z)._prepared(frame, y, None)
    folds = [np.arange(0, 120, 2), np.arange(1, 120, 2)]
    found = labels.held_out_log_prior(folds)
    for rows, part in zip(folds, np.split(found, 2), strict=True):
        others = np.setdiff1d(np.arange(120), rows)
        regression = covariates.CovariateRegression.fit(
            labels.design[others], y[others], labels.log_prior(others)
        )
        np.testing.assert_allclose(part, regression.log_proba(labels.design[rows]), atol=1e-12)
        whole = labels.covariate_model().regression.log_proba(labels.design[rows])
        assert np.abs(part - whole).max() > 0.02
