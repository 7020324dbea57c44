"""Variances of the classes' own: against quadrature, draws, simulated truths and files."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB

import honestbayes
from honestbayes import SelectiveGaussianNB
from honestbayes.models.gaussian import estimator as gaussian


def table(n=200, p=5, ratio=2.5, shift=0.0, seed=0):
    """Two columns that are wider, and shifted, in the second class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, p))
    X[:, :2] = X[:, :2] * np.where(y == 1, ratio, 1.0)[:, None] + shift * y[:, None]
    return X, y


def log_score(model, n=200, **about):
    X, y = table(n=n + 3000, **about)
    proba = model.fit(X[:n], y[:n]).predict_proba(X[n:])
    return -np.log(np.clip(proba, 1e-9, 1)[np.arange(3000), y[n:]]).mean()


def log_marginal(squares, n, d, common):
    """Log P(sum of squares | d, common variance) up to a constant, by quadrature over s2_c."""

    def joint(t):
        # t is the log of s2_c / common, whose inverse times d is chi-square.
        v = np.exp(t)
        prior = -d / 2 * t - d / (2 * v) + d / 2 * np.log(d / 2)
        likelihood = -(n - 1) / 2 * np.log(2 * v * common) - squares / (2 * v * common)
        return np.exp(prior + likelihood - shift)

    shift = max(
        -d / 2 * t - d / (2 * np.exp(t)) + d / 2 * np.log(d / 2)
        - (n - 1) / 2 * np.log(2 * np.exp(t) * common) - squares / (2 * np.exp(t) * common)
        for t in np.linspace(-4, 4, 81)
    )  # fmt: skip
    return shift + np.log(quad(joint, -8, 8, limit=400)[0])


def test_the_weights_are_in_proportion_to_marginal_likelihoods():
    from scipy.special import gammaln

    X, y = table(n=40, p=2)
    fit = SelectiveGaussianNB(class_variances=True).fit(X, y)._fit
    own, moments = fit.class_variances, fit.moments
    counts = np.bincount(y)
    common = (2 * 0.1 + moments.within) / (2 * 0.1 + counts.sum() - 2)
    for j in range(2):
        table_of = [
            sum(
                log_marginal(own.within[c, j], counts[c], d, common[j]) - gammaln(d / 2)
                for c in (0, 1)
            )
            for d in gaussian.VARIANCE_DEGREES
        ]
        plain = sum(
            -(counts[c] - 1) / 2 * np.log(2 * common[j]) - own.within[c, j] / (2 * common[j])
            for c in (0, 1)
        )
        # Both features together learned the shares: divide them out by their own ratio.
        log_ratio = np.log(own.weight[j]) - np.array([plain, *table_of])
        if j == 0:
            first = log_ratio - log_ratio[0]
    np.testing.assert_allclose(log_ratio - log_ratio[0], first, atol=1e-6)


def test_it_sees_classes_that_differ_in_spread_only():
    common, own = (SelectiveGaussianNB(class_variances=each) for each in (False, True))
    assert log_score(common) > 0.68
    assert log_score(own) < log_score(GaussianNB()) + 0.005
    assert log_score(own) < 0.48


def test_where_spreads_are_equal_next_to_nothing_is_lost():
    loss = [
        log_score(SelectiveGaussianNB(class_variances=own), ratio=1.0, shift=1.0)
        for own in (False, True)
    ]
    assert abs(loss[1] - loss[0]) < 0.003
    X, y = table(ratio=1.0, shift=1.0)
    fit = SelectiveGaussianNB(class_variances=True).fit(X, y)._fit
    assert fit.class_variances.weight[:, 0].min() > 0.5


def test_a_density_is_a_density():
    X, y = table(n=30)
    block = SelectiveGaussianNB(class_variances=True).fit(X, y)._fit.ranked
    for label in (0, 1):
        for component in (0, 1, block.ratio.size - 1):
            whole = quad(
                lambda x, a=component, c=label: np.exp(
                    block.log_density(np.array([x]), 0, c)[0, a]
                ),
                -60,
                60,
                limit=400,
                points=[-3, 0, 3],
            )[0]
            assert whole == pytest.approx(1.0, abs=2e-3)


def test_draws_of_the_evidence_average_to_the_prediction():
    X, y = table(n=40, p=2)
    part = SelectiveGaussianNB(class_variances=True, recalibrate=None).fit(X, y)._parts[0]
    values = X[:8, list(part.selection.columns)]
    evidence, log_weight = part.draw_evidence(values, 40_000, np.random.default_rng(0))
    log_prior = np.log((np.bincount(y) + 1) / 42)
    # P(c | x) is the mean of P(c | x, parameters) over their posterior given x, which is a mixture
    # over y* of what was drawn.
    likelihood = part.log_likelihood(values) + log_prior
    proba = np.exp(likelihood - np.logaddexp.reduce(likelihood, axis=1)[:, None])
    found = 0
    for label in (0, 1):
        weight = np.exp(log_weight[label] - log_weight[label].max(axis=1, keepdims=True))
        given = 1 / (1 + np.exp(-(evidence[label, ..., 0] + log_prior[1] - log_prior[0])))
        found = found + proba[:, label] * (weight * given).sum(axis=1) / weight.sum(axis=1)
    np.testing.assert_allclose(found, proba[:, 1], atol=0.02)


def test_a_file_holds_the_variances(tmp_path):
    X, y = table()
    fitted = SelectiveGaussianNB(class_variances=True, always_keep=[4]).fit(X, y)
    fitted.save(tmp_path / "model")
    again = honestbayes.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert np.array_equal(
        again.predict_proba_interval(X[:4], n_draws=200),
        fitted.predict_proba_interval(X[:4], n_draws=200),
    )


def test_missing_cells_do_not_count():
    X, y = table(n=60)
    X[:10, 0] = np.nan
    fitted = SelectiveGaussianNB(n_features_to_select=1, threshold=None, always_keep=[0])
    fitted.set_params(class_variances=True).fit(X, y)
    own = fitted._fit.class_variances
    z = fitted._fit.standard.apply(X[:, list(fitted.selection_.columns)])[:, -1]
    for c in (0, 1):
        seen = z[(y == c) & ~np.isnan(z)]
        assert own.within[c, -1] == pytest.approx(np.sum((seen - seen.mean()) ** 2))


def test_the_probability_is_that_of_normal_classes_where_there_are_very_many_cases():
    X, y = table(n=20_000, p=2)
    model = SelectiveGaussianNB(class_variances=True, recalibrate=None).fit(X, y)
    new = np.array([[0.0, 0.0], [2.0, -1.0], [4.0, 3.0]])
    odds = np.prod(norm.pdf(new, scale=2.5) / norm.pdf(new), axis=1)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], odds / (1 + odds), atol=0.02)
