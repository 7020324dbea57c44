"""The layer: its posterior is that of direct integration, and what it predicts is calibrated."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax
from scipy.stats import norm

import honestbayes
from honestbayes import SelectiveGaussianNB
from honestbayes.base import recalibration as module
from honestbayes.base.recalibration import Recalibration, fit_recalibration


def cases(n, slope, outlier_rate, seed, n_classes=2, prior=None, spread=3.0):
    """Evidence whose true slope and rate of lapses are known, and the classes that go with it."""
    rng = np.random.default_rng(seed)
    prior = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior)
    evidence = rng.normal(0, spread, (n, n_classes))
    sound = np.exp(log_softmax(np.log(prior) + slope * evidence, axis=1))
    p = (1 - outlier_rate) * sound + outlier_rate * prior
    codes = (rng.random((n, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return evidence, codes, np.log(prior), p


def posterior_mean_by_integration(evidence, codes, log_prior, share, given=None, rates=None):
    """P(class | x) of each case, the prior taken from the docs, on a grid of 2,000 slopes."""
    rates = np.append(0.0, np.geomspace(0.003, 0.3, 7)) if rates is None else rates
    rate_prior = np.append(0.8, np.full(rates.size - 1, 0.2 / (rates.size - 1)))
    edges = np.linspace(-9, 5, 2001)
    middle = (edges[1:] + edges[:-1]) / 2
    slopes = np.append(1.0, np.exp(middle))
    slope_prior = np.append(0.5, 0.5 * np.diff(norm.cdf(edges)))
    prior = np.exp(log_prior)
    mean, total, top = 0.0, 0.0, None
    for slope, before in zip(slopes, slope_prior, strict=True):
        log_sound = log_softmax(log_prior + slope * evidence, axis=1)
        for rate, rate_before in zip(rates, rate_prior, strict=True):
            p = (1 - rate) * np.exp(log_sound) + rate * prior
            log_p = log_sound if rate == 0 else np.log(p)
            log_likelihood = share * log_p[np.arange(codes.size), codes].sum()
            top = log_likelihood if top is None else top
            weight = before * rate_before * np.exp(log_likelihood - top)
            mean, total = mean + weight * p, total + weight
    p = mean / total
    if given is not None:  # Bayes' rule with other prevalences
        p = p * given / prior
    return p / p.sum(axis=1, keepdims=True)


PROBLEMS = [
    (40, 0.4, 0.0, 2, None, 1.0),
    (40, 1.0, 0.1, 2, (0.2, 0.8), 0.1),
    (150, 0.2, 0.05, 3, (0.2, 0.3, 0.5), 0.4),
    (12, 3.0, 0.0, 4, None, 0.4),
]


def compare(problem, **words):
    """How far the layer's probabilities are from those of direct integration, in log-odds."""
    n, slope, outlier_rate, n_classes, prior, share = problem
    evidence, codes, log_prior, _ = cases(n, slope, outlier_rate, 5, n_classes, prior)
    found = fit_recalibration(evidence, codes, log_prior, share)
    given = words.get("given")
    p = np.exp(found.log_proba(evidence, log_prior, None if given is None else np.log(given)))
    expected = posterior_mean_by_integration(evidence, codes, log_prior, share, given)
    return np.abs(np.log(p) - np.log(expected)).max()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_probabilities_are_those_of_direct_integration(problem):
    assert compare(problem) < 1e-4


def test_another_prevalence_is_bayes_rule_on_the_averaged_probability():
    assert compare(PROBLEMS[1], given=np.array([0.99, 0.01])) < 1e-4
    # Strong evidence and lapses: inside the layer, another prevalence would say 0.95 (docs).
    strong = Recalibration(np.ones(1), np.array([0.05]), np.ones((1, 1)))
    p = strong.log_proba(np.array([[0.0, 50.0]]), np.log([0.5, 0.5]), np.log([0.99, 0.01]))
    assert np.exp(p[0, 1]) == pytest.approx(0.975 / 99 / (0.975 / 99 + 0.025))


def without_outliers(monkeypatch):
    monkeypatch.setattr(module, "LAPSES", module.OUTLIER_RATES[:2] * 0)


def with_a_wrong_share(monkeypatch):
    right = fit_recalibration

    def wrong(evidence, codes, log_prior, share):
        return right(evidence, codes, log_prior, 2 * share)

    monkeypatch.setitem(globals(), "fit_layer", wrong)


def with_another_spike(monkeypatch):
    monkeypatch.setattr(module, "_NO_LAPSES", 0.2)


def with_a_narrow_grid(monkeypatch):
    monkeypatch.setattr(module, "_LOG_SLOPES", (-0.5, 0.5))


@pytest.mark.slow_cases("with_a_wrong_share", "with_another_spike", "without_outliers")
@pytest.mark.parametrize(
    "mistake", [without_outliers, with_a_wrong_share, with_another_spike, with_a_narrow_grid]
)
def test_planted_mistakes_are_caught(mistake, monkeypatch):
    mistake(monkeypatch)
    assert max(compare(problem) for problem in PROBLEMS) > 1e-3


def optimism(slopes, outlier_rates, n, given=None):
    """Actual minus claimed error of new cases, with the layer and with the evidence as it is."""
    prior, found = np.array([0.6, 0.4]), []
    for seed, (slope, outlier_rate) in enumerate(zip(slopes, outlier_rates, strict=True)):
        evidence, codes, log_prior, _ = cases(n, slope, outlier_rate, seed, prior=prior)
        new, _, _, truth = cases(400, slope, outlier_rate, 10_000 + seed, prior=prior)
        if given is not None:
            truth = truth * given / prior
            truth /= truth.sum(axis=1, keepdims=True)
        row = []
        for recalibration in (
            fit_recalibration(evidence, codes, log_prior),
            Recalibration.plugged_in(1.0),
        ):
            p = np.exp(
                recalibration.log_proba(new, log_prior, None if given is None else np.log(given))
            )
            row.append(np.mean(1 - truth[np.arange(400), p.argmax(axis=1)] - p.min(axis=1)))
        found.append(row)
    return np.array(found).T


def assert_within(values, bound):
    """Assert that the 95% interval of the mean lies within +-bound."""
    error = 1.96 * np.std(values, ddof=1) / np.sqrt(values.size)
    assert abs(np.mean(values)) + error < bound


@pytest.mark.slow_cases("None", "given1")
@pytest.mark.parametrize("given", [None, (0.9, 0.1)])
def test_over_its_prior_predictions_are_calibrated_however_few_the_cases(given):
    rng = np.random.default_rng(1)
    n = 300
    slopes = np.where(rng.random(n) < 0.5, 1.0, np.exp(rng.normal(size=n)))
    rates = np.geomspace(0.003, 0.3, 7)[rng.integers(0, 7, n)]
    layered, raw = optimism(slopes, np.where(rng.random(n) < 0.8, 0.0, rates), 20, given)
    assert_within(layered, 0.01)
    with pytest.raises(AssertionError):  # the control: without the layer, it shows
        assert_within(raw, 0.01)


@pytest.mark.slow_cases("given1-0.3-0.0", "given1-1.0-0.0")
@pytest.mark.parametrize(("slope", "outlier_rate"), [(1.0, 0.0), (0.3, 0.0), (0.5, 0.08)])
@pytest.mark.parametrize("given", [None, (0.9, 0.1)])
def test_of_a_known_slope_and_lapse_rate_predictions_are_calibrated(slope, outlier_rate, given):
    layered, raw = optimism(np.full(60, slope), np.full(60, outlier_rate), 500, given)
    assert_within(layered, 0.01)
    assert slope == 1 or raw.mean() > 0.03


def test_one_wrong_case_of_many_says_that_there_are_lapses():
    evidence, codes, log_prior, _ = cases(60, 1.0, 0.0, 3, spread=8.0)
    sure = fit_recalibration(evidence, codes, log_prior)
    evidence[0] = np.where(np.arange(2) == codes[0], -40.0, 0.0)
    one_off = fit_recalibration(evidence, codes, log_prior)
    assert sure.mean_outlier_rate() < 0.005 < one_off.mean_outlier_rate()
    claim = np.exp(one_off.log_proba(np.array([[0.0, 60.0]]), log_prior))[0, 0]
    assert 0.001 < claim < 0.1


def test_many_cases_give_slope_and_lapses_back():
    evidence, codes, log_prior, _ = cases(40_000, 0.4, 0.03, 0)
    found = fit_recalibration(evidence, codes, log_prior)
    assert found.mean_slope() == pytest.approx(0.4, rel=0.05)
    assert found.mean_outlier_rate() == pytest.approx(0.03, abs=0.015)


def test_the_layer_is_kept_in_files_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 60)) + 0.8 * (np.arange(60) < 3) * y[:, None]
    model = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    model.save(tmp_path / "model.honestbayes")
    again = honestbayes.load(tmp_path / "model.honestbayes")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict_proba_interval(X), model.predict_proba_interval(X))
    assert (again.slope_, again.outlier_rate_) == (model.slope_, model.outlier_rate_)


def test_a_slope_is_plugged_in_where_that_is_asked_for():
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 60)) + 0.8 * (np.arange(60) < 3) * y[:, None]
    plugged = SelectiveGaussianNB(n_features_to_select=5, recalibrate="slope").fit(X, y)
    bare = SelectiveGaussianNB(n_features_to_select=5, recalibrate=None).fit(X, y)
    odds = np.diff(bare.predict_log_proba(X))[:, 0]
    assert plugged.outlier_rate_ == 0
    expected = expit(plugged.slope_ * odds)  # classes are even, so that the prior adds nothing
    np.testing.assert_allclose(plugged.predict_proba(X)[:, 1], expected, rtol=1e-9)
