"""The discriminant against scikit-learn's, and against direct computations."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import honestbayes
from honestbayes import SelectiveDiscriminant, SelectiveGaussianNB
from honestbayes.base.numeric import ledoit_wolf

PLAIN = {"recalibrate": None, "feature_prior": "flat", "normal_scores": False}


def table(n, k, n_classes=2, seed=0):
    """Return columns that share a factor, in unit variance within classes (divisor n)."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, k)) + rng.normal(size=(n, 1)) * rng.normal(size=k)
    X[:, : max(k // 4, 1)] += 0.7 * y[:, None]
    means = np.stack([X[y == c].mean(axis=0) for c in range(n_classes)])
    return X / np.sqrt(((X - means[y]) ** 2).mean(axis=0)), y


def direct_evidence(X, y, new, shrinkage):
    """Log densities with a k x k covariance, each class against the first."""
    means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
    residual = X - means[y]
    k = X.shape[1]
    covariance = (1 - shrinkage) * residual.T @ residual / len(X) + shrinkage * np.eye(k)
    log_density = [
        np.atleast_1d(stats.multivariate_normal(m, covariance).logpdf(new)) for m in means
    ]
    return np.stack(log_density, axis=1) - log_density[0][:, None]


def evidence_of(model, X):
    log_proba = model.predict_log_proba(X) - np.log(model.class_count_ + 1)
    return log_proba - log_proba[:, :1]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7])
def test_it_is_linear_discriminant_analysis_of_scikit_learn(n_classes, shrinkage):
    X, y = table(60, 8, n_classes)
    model = SelectiveDiscriminant(n_features_to_select="all", shrinkage=shrinkage, **PLAIN).fit(
        X, y
    )
    baseline = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    log_peer = baseline.decision_function(X)
    if n_classes == 2:
        log_peer = np.stack([np.zeros(len(X)), log_peer], axis=1)
    expected = log_peer - np.log(baseline.priors_)
    np.testing.assert_allclose(
        evidence_of(model, X), expected - expected[:, :1], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("shape", [(20, 90), (30, 29), (30, 31)])
def test_with_more_columns_than_cases_it_is_the_direct_computation(shape):
    X, y = table(*shape, n_classes=3)
    model = SelectiveDiscriminant(n_features_to_select="all", shrinkage=0.3, **PLAIN).fit(X, y)
    expected = direct_evidence(X[:, model.kept_columns()], y, X[:, model.kept_columns()], 0.3)
    np.testing.assert_allclose(evidence_of(model, X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(50, 7), (20, 300), (3, 2)])
def test_the_shrinkage_is_that_of_ledoit_and_wolf(shape):
    residual = np.random.default_rng(1).normal(size=shape) @ np.diag(np.linspace(1, 2, shape[1]))
    expected = ledoit_wolf_shrinkage(residual, assume_centered=True)
    assert ledoit_wolf(residual) == pytest.approx(expected, abs=1e-12)
    X, y = table(40, 100)
    model = SelectiveDiscriminant(n_features_to_select="all", **PLAIN).fit(X, y)
    means = np.stack([X[y == c].mean(axis=0) for c in (0, 1)])
    expected = ledoit_wolf_shrinkage(X - means[y], assume_centered=True)
    assert model.shrinkage_ == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("k", [6, 60])
def test_missing_cells_leave_means_and_covariance(k):
    X, y = table(40, k, n_classes=3)
    model = SelectiveDiscriminant(n_features_to_select="all", shrinkage=0.4, **PLAIN).fit(X, y)
    new = X[:6].copy()
    new[0, 2] = new[1, :4] = new[2, 1:] = np.nan
    for row in range(3):
        seen = np.flatnonzero(~np.isnan(new[row]))
        expected = direct_evidence(X[:, seen], y, new[[row]][:, seen], 0.4)
        np.testing.assert_allclose(evidence_of(model, new[[row]]), expected, rtol=1e-8, atol=1e-8)
    new[3] = np.nan
    np.testing.assert_allclose(evidence_of(model, new[3:4]), 0.0, atol=1e-12)


def test_shrunken_means_are_those_of_naive_bayes():
    X, y = table(50, 200, n_classes=3)
    words = {"n_features_to_select": 20, "recalibrate": None}
    model = SelectiveDiscriminant(normal_scores=False, **words).fit(X, y)
    naive = SelectiveGaussianNB(**words).fit(X, y)
    np.testing.assert_array_equal(model.kept_columns(), naive.kept_columns())
    np.testing.assert_allclose(model.feature_table().centre, naive.feature_table().centre)
    np.testing.assert_allclose(model.feature_table().prob_null, naive.feature_table().prob_null)


def test_columns_of_any_unit_and_order_of_rows_and_classes_do_not_matter():
    X, y = table(60, 30)
    words = {"n_features_to_select": 12, "recalibrate": None}
    expected = SelectiveDiscriminant(**words).fit(X, y).predict_proba(X)
    scale = np.exp(np.linspace(-8, 8, 30))
    for scores in (True, False):
        words["normal_scores"] = scores
        expected = SelectiveDiscriminant(**words).fit(X, y).predict_proba(X)
        other = SelectiveDiscriminant(**words).fit(X * scale + 3, y).predict_proba(X * scale + 3)
        np.testing.assert_allclose(other, expected, atol=1e-8)
        order = np.random.default_rng(0).permutation(60)
        other = SelectiveDiscriminant(**words).fit(X[order], y[order]).predict_proba(X)
        np.testing.assert_allclose(other, expected, atol=1e-8)
        other = SelectiveDiscriminant(**words).fit(X, 1 - y).predict_proba(X)
        np.testing.assert_allclose(other[:, ::-1], expected, atol=1e-8)


def test_normal_scores_see_the_order_of_values_only():
    X, y = table(60, 30)
    # Held-out cases lie between training values, where scores are interpolated.
    words = {"n_features_to_select": 10, "recalibrate": None}
    model = SelectiveDiscriminant(**words).fit(X, y)
    other = SelectiveDiscriminant(**words).fit(np.exp(3 * X), y)
    np.testing.assert_allclose(
        other.predict_proba(np.exp(3 * X)), model.predict_proba(X), atol=1e-10
    )
    assert (other.feature_table().centre > 0).all()  # in the units of the data


def test_a_sparse_table_is_the_dense_one():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = (rng.random((80, 300)) < 0.1 + 0.2 * (y[:, None] * (np.arange(300) < 10))).astype(float)
    words = {"n_features_to_select": "all", "normal_scores": False}
    dense = SelectiveDiscriminant(**words).fit(X, y)
    for container in (sparse.csr_matrix, sparse.csc_array):
        model = SelectiveDiscriminant(**words).fit(container(X), y)
        np.testing.assert_allclose(
            model.predict_proba(container(X)), dense.predict_proba(X), atol=1e-9
        )


def test_a_column_that_is_constant_in_each_class_does_not_say_everything():
    X, y = table(40, 20)
    X[:, 3] = y
    model = SelectiveDiscriminant(n_features_to_select="all", normal_scores=False).fit(X, y)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    X[:, 4] = 7.0
    assert np.isfinite(SelectiveDiscriminant(n_features_to_select="all").fit(X, y).slope_)


def test_missing_cells_in_training_keep_the_variance():
    X, y = table(400, 3)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    model = SelectiveDiscriminant(n_features_to_select="all", **PLAIN).fit(holes, y)
    np.testing.assert_allclose(np.diag(model._parts[0].fit.covariance.factor), 1.0)


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mean_of_the_interval_is_the_probability(n_classes):
    from honestbayes.base.intervals import draw_probabilities

    X, y = table(60, 200, n_classes)
    model = SelectiveDiscriminant(n_features_to_select=30).fit(X, y)
    rows, values = model._read(X)
    draws = draw_probabilities(
        values, rows, model.class_count_ + np.ones(n_classes), None, model._recalibration, 2000
    )
    expected = model.predict_proba(X)
    expected = expected[:, 1:] if n_classes == 2 else expected
    assert abs(draws.mean() - expected).max() < 0.005
    bounds = model.predict_proba_interval(X)
    assert (bounds[..., 0] < bounds[..., 1]).all()


def test_draws_of_the_evidence_are_those_of_drawn_means():
    """Means drawn from N(m, v S) one by one, given that x is one more case of each class."""
    X, y = table(30, 4)
    model = SelectiveDiscriminant(n_features_to_select="all", shrinkage=0.3, **PLAIN).fit(X, y)
    fit, new = model._parts[0].fit, X[:3][:, model.kept_columns()]
    rng = np.random.default_rng(0)
    found, _ = model._parts[0].draw_evidence(new, 40_000, rng)
    covariance = 0.7 * fit.covariance.factor + 0.3 * np.eye(4)
    inverse, root = np.linalg.inv(covariance), np.linalg.cholesky(covariance)
    x = fit.standardised(new)
    for label in (0, 1):
        for row in range(3):
            logs = []
            for c in (0, 1):
                v, m = fit.variance_of_mean[c], fit.mean[c]
                if c == label:
                    m, v = (m + v * x[row]) / (1 + v), v / (1 + v)
                drawn = m + np.sqrt(v) * rng.normal(size=(40_000, 4)) @ root.T
                logs.append(-np.einsum("sk,kl,sl->s", x[row] - drawn, inverse, x[row] - drawn) / 2)
            expected, actual = logs[1] - logs[0], found[label, row, :, 0]
            assert abs(actual.mean() - expected.mean()) < 0.03
            assert actual.std() == pytest.approx(expected.std(), rel=0.05)


def test_a_saved_model_is_the_same_bit_for_bit(tmp_path):
    X, y = table(50, 300, n_classes=3)
    X[0, :5] = np.nan
    for words in ({}, {"n_features_to_select": "all"}, {"always_keep": [7], **PLAIN}):
        model = SelectiveDiscriminant(**words).fit(X, y)
        model.save(tmp_path / "model.honestbayes")
        loaded = honestbayes.load(tmp_path / "model.honestbayes")
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        few = loaded.on_kept_columns()
        np.testing.assert_array_equal(
            few.predict_proba(X[:, model.kept_columns()]), model.predict_proba(X)
        )


def test_a_covariate_by_design_is_not_shrunk_by_the_idle_columns():
    rng = np.random.default_rng(3)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 2001))
    X[:, 0] += 0.8 * y
    X_new, y_new = rng.normal(size=(4000, 2001)), np.arange(4000) % 2
    X_new[:, 0] += 0.8 * y_new
    model = SelectiveDiscriminant(n_features_to_select=5, always_keep=[0]).fit(X, y)
    losses = -np.log(model.predict_proba(X_new)[np.arange(4000), y_new])
    assert losses.mean() < 0.66  # the covariate alone gives 0.62; without it, 0.69


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"shrinkage": 2}, "shrinkage=2 is neither 'auto' nor a number between 0 and 1"),
        ({"shrinkage": "some"}, "shrinkage='some' is neither"),
        ({"feature_prior": "uniform"}, "feature_prior='uniform' is not one of"),
        ({"normal_scores": "yes"}, "normal_scores='yes' is not True or False"),
    ],
)
def test_wrong_parameters_are_refused(words, sentence):
    X, y = table(20, 5)
    with pytest.raises(ValueError, match=sentence):
        SelectiveDiscriminant(**words).fit(X, y)
