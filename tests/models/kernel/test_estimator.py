"""The Gaussian kernel: closed forms against direct sums and integrals, missing cells, files."""

import numpy as np
import pytest
from model_files import changed
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

import honestbayes
from honestbayes.files import ModelFileError
from honestbayes.models.kernel import estimator as kernel
from honestbayes.models.kernel.estimator import KernelClassifier, KernelFit


def table(n=70, p=4, n_classes=2, seed=0):
    """Columns whose distance from 0 gives the class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    radius = (X[:, :2] ** 2).sum(axis=1) + 0.2 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(radius, np.arange(1, n_classes) / n_classes), radius)
    return X, y


def model(**params):
    return KernelClassifier(**{"recalibrate": None, "random_state": 0, **params})


def gram(a, b, length):
    """The kernel by loops over rows."""
    return np.array([[np.exp(-np.sum((x - t) ** 2) / (2 * length**2)) for t in b] for x in a])


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_are_those_of_the_regression_written_out(n_classes):
    X, y = table(n_classes=n_classes)
    fitted = model(n_features_to_select="all").fit(X, y)
    regression, columns = fitted.regression_, list(fitted.selection_.columns)
    Z, new = standardised(X), np.random.default_rng(1).normal(size=(20, X.shape[1]))
    own = ((new - X.mean(axis=0)) / X.std(axis=0))[:, columns]
    share = (np.bincount(y) + 1) / (len(y) + n_classes)
    K = gram(Z, Z, regression.length) + regression.noise * np.eye(len(y))
    mean = share + gram(own, Z[:, columns], regression.length) @ np.linalg.solve(
        K, np.eye(n_classes)[y] - share
    )
    bounded = np.maximum(mean, kernel.LEAST_SHARE)
    expected = bounded / bounded.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(new), expected, atol=1e-10)


def test_length_and_noise_are_those_of_the_largest_evidence():
    X, y = table(n=40)
    Z, share = standardised(X), (np.bincount(y) + 1) / 42
    Y = np.eye(2)[y] - share
    evidence = {}
    for length in kernel.LENGTHS * np.sqrt(Z.shape[1]):
        for noise in kernel.NOISES:
            K = gram(Z, Z, length) + noise * np.eye(40)
            scale = np.trace(Y.T @ np.linalg.solve(K, Y)) / 40  # maximises the evidence
            # One class of two is free: the other is its mirror image.
            normal = multivariate_normal(np.zeros(40), scale / 2 * K)
            evidence[float(length), float(noise)] = normal.logpdf(Y[:, 0])
    chosen = kernel.choose_length_and_noise(Z, Y)
    assert evidence[chosen] == pytest.approx(max(evidence.values()))


def test_a_missing_cell_is_averaged_over():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(15, 3))
    fit = KernelFit.of(rows, np.arange(15) % 2, np.array([0.5, 0.5]), (1.3, 0.1))
    x, spread = np.array([[0.3, -0.5, 1.0]]), np.array([0.0, 0.7, 0.0])
    drawn = x + np.sqrt(spread) * rng.normal(size=(200_000, 3)) * (spread > 0)
    expected = fit.kernel(drawn).mean(axis=0)
    np.testing.assert_allclose(fit.kernel(x, spread)[0], expected, atol=0.005)


def test_the_spread_of_the_function_is_that_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    rows, new = rng.normal(size=(12, 2)), rng.normal(size=(5, 2))
    fit = KernelFit.of(rows, np.arange(12) % 2, np.array([0.5, 0.5]), (0.8, 0.3))
    K = gram(rows, rows, 0.8) + 0.3 * np.eye(12)
    k = gram(new, rows, 0.8)
    variance = fit.scale**2 * (1 - np.diag(k @ np.linalg.solve(K, k.T)))
    np.testing.assert_allclose(fit.spread(fit.kernel(new)), np.sqrt(variance), atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_draws_of_the_evidence_have_the_mean_and_spread_of_the_function(n_classes, monkeypatch):
    monkeypatch.setattr(kernel, "LEAST_SHARE", 1e-12)
    X, y = table(n_classes=n_classes)
    part = model().fit(X, y)._parts[0]
    values = X[:6, list(part.selection.columns)]
    _, log_shares = part.draw_evidence(values, 4000, np.random.default_rng(0))
    inside = np.exp(log_shares).min(axis=(0, 2)) > 1e-3  # where no share was cut off
    K = part.regression.kernel(part._standardised(values))
    mean = part.regression.share + K @ part.regression.coefficients
    found = np.exp(log_shares)[:, inside]
    np.testing.assert_allclose(found.mean(axis=2).T, mean[inside], atol=0.02)
    spread = part.regression.spread(K)[inside]
    np.testing.assert_allclose(found.std(axis=2), np.tile(spread, (n_classes, 1)), rtol=0.06)


def test_it_sees_a_circle():
    X, y = table(n=300)
    assert model(n_features_to_select="all").fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.8


def test_from_many_cases_length_and_noise_are_chosen_on_some(monkeypatch):
    X, y = table(n=120)
    whole = model().fit(X, y).regression_
    monkeypatch.setattr(kernel, "_MOST_CASES", 60)
    some = model().fit(X, y).regression_
    assert some.rows.shape == whole.rows.shape
    assert 0.4 < some.length / whole.length < 2.5


def test_columns_ranked_by_scores_are_used_as_they_are():
    X, y = table()
    X[0, 1] = 50.0
    fitted = model(normal_scores="ranking", n_features_to_select=2).fit(X, y)
    scored = model(normal_scores=True, n_features_to_select=2).fit(X, y)
    assert fitted.selection_.columns == scored.selection_.columns
    raw = standardised(X)[:, list(fitted.selection_.columns)]
    np.testing.assert_allclose(fitted.regression_.rows, raw, atol=1e-12)


def test_rows_do_not_depend_on_each_other():
    X, y = table()
    fitted = model().fit(X, y)
    X[::4, 0] = np.nan
    proba, order = fitted.predict_proba(X), np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(fitted.predict_proba(X[order]), proba[order], atol=1e-13)
    np.testing.assert_allclose(fitted.predict_proba(X[:1]), proba[:1], atol=1e-13)


def test_huge_values_are_no_error():
    X, y = table()
    X[:3, 0] = 1e150
    assert np.all(np.isfinite(model().fit(X, y).predict_proba(X)))


def other_rows(arrays):
    arrays["part0.regression.rows"] = arrays["part0.regression.rows"][:, :-1].copy()


def no_shares(arrays):
    arrays["part0.regression.share"][0] = 0.9


def infinite(arrays):
    arrays["part0.regression.coefficients"][0, 0] = np.inf


@pytest.mark.parametrize("harm", [other_rows, no_shares, infinite])
def test_hostile_files_are_refused(harm, tmp_path):
    X, y = table()
    fitted = model().fit(X, y)
    fitted.save(tmp_path / "good")
    again = honestbayes.load(tmp_path / "good")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    changed(tmp_path / "good", tmp_path / "bad", lambda _, arrays: harm(arrays))
    with pytest.raises(ModelFileError, match="regression"):
        honestbayes.load(tmp_path / "bad")


@parametrize_with_checks([model()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
