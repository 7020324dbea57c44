"""The common-alpha model against two-dimensional integration and the published rule."""

import math

import numpy as np
import oracles
import pytest
from comparisons import (
    PROBLEMS,
    fitted,
    kept_patterns,
    log_odds_distance,
    prediction_distance,
    published_distance,
    small_table,
)
from grids import each_once
from scipy import integrate, stats
from sklearn.exceptions import ConvergenceWarning

from honestbayes import SelectiveBernoulliNB
from honestbayes.base.alpha_posterior import AlphaPosterior

CORRECTIONS = [None, "selection", "counts"]


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_probabilities_agree_with_two_dimensional_integration(name, correction):
    assert prediction_distance(name, correction, tol=1e-11) < 1e-9


@each_once("name, correction", list(PROBLEMS), CORRECTIONS)
def test_probabilities_at_the_default_tolerance_are_within_it(name, correction):
    assert prediction_distance(name, correction) < 1e-9


@pytest.mark.parametrize("name", ["k=1", "k=3, ties", "missing cells"])
def test_probabilities_with_unknown_ties_agree_with_two_dimensional_integration(name):
    assert prediction_distance(name, "selection", ties_known=False, tol=1e-11) < 1e-9


def test_unknown_and_known_ties_differ_where_there_are_ties():
    # The comparison above could not tell them apart otherwise.
    rows = []
    for ties_known in (True, False):
        model, X, _, _ = fitted("k=3, ties", "selection", ties_known=ties_known)
        rows.append(model.predict_proba(kept_patterns(model, X.shape[1])))
    assert np.max(np.abs(rows[0] - rows[1])) > 1e-3


def test_one_feature_agrees_with_scipys_adaptive_double_integral():
    X, y = small_table(seed=1, n=8, p=6)
    model = SelectiveBernoulliNB(
        n_features_to_select=1, feature_prior="uniform", correction=None, recalibrate=None
    ).fit(X, y)
    j = model.selection_.kept[0]
    (i0, n0), (i1, n1) = oracles.Table(X, y).counts[j]

    def joint(i0, n0, i1, n1):
        def integrand(theta, t):
            a, b, alpha = math.exp(t) * theta, math.exp(t) * (1 - theta), math.exp(t)
            value = math.exp(-0.5 * t - 5 / alpha)
            for ones, cases in ((i0, n0), (i1, n1)):
                for l in range(ones):
                    value *= (a + l) / (alpha + l)
                for l in range(cases - ones):
                    value *= (b + l) / (alpha + ones + l)
            return value

        pieces = [(-6.0, 2.0), (2.0, 8.0), (8.0, 60.0)]
        return sum(
            integrate.dblquad(integrand, *piece, 0, 1, epsabs=1e-16, epsrel=1e-12)[0]
            for piece in pieces
        )

    one = (joint(i0 + 1, n0 + 1, i1, n1), joint(i0, n0, i1 + 1, n1 + 1))
    expected = one[1] * (n1 + 1) / (one[0] * (n0 + 1) + one[1] * (n1 + 1))
    row = np.zeros((1, 6))
    row[0, j] = 1
    assert model.predict_proba(row)[0, 1] == pytest.approx(expected, abs=5e-9)


@pytest.mark.parametrize("name", ["k=2", "k=3, ties"])
def test_averaging_class_probabilities_over_alpha_is_something_else(name):
    model, X, _, oracle = fitted(name, "selection")
    rows = kept_patterns(model, X.shape[1])
    averaged = np.array([oracle.averaged_probability(row) for row in rows])
    assert np.max(np.abs(averaged - model.predict_proba(rows)[:, 1])) > 1e-3


def test_another_prevalence_is_an_offset_of_the_log_odds():
    model, X, _, _ = fitted("k=2", "selection")
    rows = kept_patterns(model, X.shape[1])
    n0, n1 = model.class_count_
    offset = math.log(0.9 / 0.1) - math.log((n1 + 1) / (n0 + 1))
    before = np.diff(model.predict_log_proba(rows), axis=1)
    after = np.diff(model.predict_log_proba(rows, class_prior=(0.1, 0.9)), axis=1)
    np.testing.assert_allclose(after - before, offset, atol=1e-12)


# ------------------------------------------------------------------------------ the published rule


@each_once(
    "size, correction",
    [(8, 7, 30, 2), (15, 12, 60, 3), (14, 8, 22, 1), (2, 9, 15, 15)],
    ["selection", None],
)
def test_the_published_rule_agrees_with_its_transcription(size, correction):
    assert published_distance(*size, correction=correction) < 1e-9


@pytest.mark.slow
def test_the_published_rule_agrees_where_few_features_are_kept_of_many_cases():
    assert published_distance(40, 60, 25, 2, n_rows=2, alpha=50.0) < 1e-9


def test_the_published_rule_survives_a_column_that_is_impossible_at_the_end_points():
    # n = 200, k = 3 as in section 4: theta = 0 and 1 are among Simpson's points.
    assert published_distance(100, 100, 20, 3, correction=None, n_rows=2, alpha=300.0) < 1e-9


def test_the_published_rule_differs_from_the_exact_one():
    X, y = small_table(seed=3, n=40, p=30)
    rows = np.random.default_rng(0).integers(0, 2, (20, 30)).astype(float)
    both = [
        SelectiveBernoulliNB(
            n_features_to_select=20,
            feature_prior="uniform",
            correction="selection",
            recalibrate=None,
            quadrature=quadrature,
        )
        .fit(X, y)
        .predict_proba(rows)
        for quadrature in ("adaptive", "paper")
    ]
    assert np.max(np.abs(both[0] - both[1])) > 1e-4


# ---------------------------------------------------------------------------- posterior of alpha


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("name", ["k=1", "k=3, ties", "threshold, theta in (0.1, 0.9)"])
def test_the_posterior_of_alpha_agrees_with_brute_force(name, correction):
    model, _, _, oracle = fitted(name, correction)
    posterior = model.posterior_
    expected = np.exp(oracle.log_posterior_density())
    t, h = oracle.log_alpha, oracle.step
    mean = h * expected @ t
    assert posterior.weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.diff(posterior.alpha) > 0)
    assert posterior.mean() == pytest.approx(mean, abs=1e-5)
    assert posterior.sd() == pytest.approx(math.sqrt(h * expected @ (t - mean) ** 2), abs=1e-4)
    np.testing.assert_allclose(posterior.density(t), expected, atol=2e-4 * expected.max())
    fine = np.linspace(t[0], t[-1], 200_001)
    assert np.trapezoid(posterior.density(fine), fine) == pytest.approx(1, abs=1e-4)
    cumulative = np.cumsum(expected) * h - expected * h / 2
    levels = np.array([0.025, 0.25, 0.5, 0.9, 0.99])
    got = np.interp(posterior.quantile(levels), t, cumulative)
    np.testing.assert_allclose(got, levels, atol=1e-3)


@pytest.mark.parametrize("name", ["k=1", "k=3, ties", "missing cells"])
def test_log_prob_selection_is_kept_beside_each_node(name):
    model, _, _, oracle = fitted(name, "selection")
    posterior = model.posterior_
    inside = (posterior.alpha > 0.05) & (posterior.alpha < 1e20)
    expected = np.interp(np.log(posterior.alpha[inside]), oracle.log_alpha, oracle.log_event)
    np.testing.assert_allclose(posterior.log_prob_selection[inside], expected, atol=5e-3)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8])
@each_once("name, correction", ["k=1", "k=2", "k=3, ties", "missing cells"], CORRECTIONS)
def test_the_estimated_error_is_honest(name, correction, tol):
    actual, predicted = log_odds_distance(name, correction, tol=tol)
    assert predicted <= tol
    assert actual <= 10 * predicted + 1e-12


def test_a_tolerance_out_of_reach_is_warned_about():
    X, y = small_table(seed=3, n=12, p=10)
    model = SelectiveBernoulliNB(
        n_features_to_select=2,
        feature_prior="uniform",
        correction="selection",
        recalibrate=None,
        tol=1e-300,
    )
    with pytest.warns(ConvergenceWarning, match=r"above the tolerance 1\.0e-300"):
        model.fit(X, y)
    assert not model.posterior_.converged
    assert model.posterior_.weights.sum() == pytest.approx(1)


def normal_posterior(sd, n_nodes):
    t = np.linspace(-8 * sd, 8 * sd, n_nodes)
    log_density = stats.norm.logpdf(t, scale=sd)
    weight = np.exp(log_density)
    return AlphaPosterior(
        alpha=np.exp(t),
        weights=weight / weight.sum(),
        log_prob_selection=np.zeros(n_nodes),
        log_density=log_density,
        error=0.0,
        tolerance=1e-8,
    )


@pytest.mark.parametrize("sd", [0.01, 1.0, 20.0])
def test_density_mean_and_quantiles_of_a_known_posterior(sd):
    posterior = normal_posterior(sd, 41)
    points = np.linspace(-3 * sd, 3 * sd, 50)
    np.testing.assert_allclose(posterior.density(points), stats.norm.pdf(points, scale=sd), 1e-9)
    assert posterior.mean() == pytest.approx(0, abs=1e-12)
    assert posterior.sd() == pytest.approx(sd)
    levels = np.array([0.01, 0.2, 0.5, 0.975])
    np.testing.assert_allclose(
        posterior.quantile(levels), stats.norm.ppf(levels, scale=sd), atol=1e-4 * sd
    )
    assert posterior.density(np.array([100 * sd]))[0] == 0
