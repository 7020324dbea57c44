"""SelectiveFactorRegressor: predictions, promises, and intervals that cover."""

import numpy as np
import oracles_factor as oracle
import pytest
from grids import slow
from scipy.stats import multivariate_normal, norm

from honestbayes.models.factors import model as factor_estimator
from honestbayes.models.factors.estimator import Predictive, SelectiveFactorRegressor
from honestbayes.models.factors.prediction import response_given_columns
from honestbayes.selection.moments import screen_response

SHORT = {"n_chains": 2, "n_warmup": 40, "n_draws": 40, "n_doublings": 0, "random_state": 0}

few_sweeps = pytest.mark.filterwarnings("ignore:the chains have not converged")


def table(seed=0, n=40, p=100, missing=0.0):
    """Rows of one population, whatever the seed."""
    features = np.random.default_rng(100)
    loadings, units, origins = features.normal(size=(3, p))
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    X = (rng.normal(size=(n, p)) + z[:, None] * loadings) * np.exp(units) + 10 * origins
    y = 50.0 + 3.0 * (z + 0.5 * rng.normal(size=n))
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


# ---------------------------------------------------------------------------------- prediction


def test_the_response_given_columns_is_that_of_a_multivariate_normal():
    rng = np.random.default_rng(0)
    n_draws, K, d = 3, 5, 2
    location, spread = rng.normal(size=(n_draws, K)), rng.gamma(2, size=(n_draws, K))
    loadings = rng.normal(size=(n_draws, K, d))
    x = rng.normal(size=(4, K - 1))
    x[1, 2] = x[3, 0] = np.nan
    x[2] = np.nan
    columns = np.arange(1, K)
    mean, variance, log_weight = response_given_columns(x, location, spread, loadings, columns, 0)
    for s in range(n_draws):
        covariance = np.diag(spread[s]) + loadings[s] @ loadings[s].T
        for i in range(4):
            seen = columns[~np.isnan(x[i])]
            inner = covariance[np.ix_(seen, seen)]
            left = x[i, seen - 1] - location[s, seen]
            slope = np.linalg.solve(inner, covariance[seen, 0])
            assert mean[i, s] == pytest.approx(location[s, 0] + slope @ left)
            assert variance[i, s] == pytest.approx(covariance[0, 0] - slope @ covariance[seen, 0])
            expected = (
                multivariate_normal(np.zeros(seen.size), inner).logpdf(left) if seen.size else 0
            )
            assert log_weight[i, s] == pytest.approx(expected, abs=1e-10)


@few_sweeps
@pytest.mark.parametrize("n_factors", [0, 1, 2])
def test_columns_and_response_times_powers_of_two_give_the_same_bits(n_factors):
    X, y = table(missing=0.05 if n_factors == 2 else 0.0)
    factor = 2.0 ** np.random.default_rng(1).integers(-40, 41, X.shape[1])
    one = SelectiveFactorRegressor(n_factors=n_factors, **SHORT).fit(X, y)
    two = SelectiveFactorRegressor(n_factors=n_factors, **SHORT).fit(X * factor, y * 2.0**-20)
    for name in one.draws_.values:
        np.testing.assert_array_equal(one.draws_[name], two.draws_[name])
    np.testing.assert_array_equal(one.predict(X), two.predict(X * factor) * 2.0**20)


# Rounding leads chains apart after some dozens of sweeps: then what is left is Monte Carlo error.
FEW_SWEEPS = ({"n_warmup": 2, "n_draws": 6}, 1e-5)
MANY_SWEEPS = ({"n_warmup": 100, "n_draws": 1000}, 0.1)


@few_sweeps
@pytest.mark.parametrize(
    ("seed", "length", "most"), [(1, *FEW_SWEEPS), *(slow(s, *MANY_SWEEPS) for s in (1, 2, 3, 4))]
)
def test_other_units_and_origins_give_the_same_predictions(seed, length, most):
    X, y = table()
    rng = np.random.default_rng(seed)
    factor = 10.0 ** rng.uniform(-12, 12, X.shape[1])
    origin = rng.uniform(-1000, 1000, X.shape[1]) * X.std(axis=0)
    words = {**SHORT, "n_factors": 1, **length}
    one = SelectiveFactorRegressor(**words).fit(X, y)
    two = SelectiveFactorRegressor(**words).fit((X + origin) * factor, y)
    assert one.selection_.columns == two.selection_.columns
    mean, std = one.predict(X, return_std=True)
    other, other_std = two.predict((X + origin) * factor, return_std=True)
    assert np.abs((mean - other) / std).max() < most
    np.testing.assert_allclose(std, other_std, rtol=most)


def test_quantiles_moments_and_densities_of_a_mixture():
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=(2, 3)) * 5, rng.gamma(1, size=(2, 3))
    weight = rng.dirichlet(np.ones(3), size=2)
    mixture = Predictive(mean, variance, weight)
    for p in (0.01, 0.5, 0.9):
        q = mixture.quantile(p)
        below = np.sum(weight * norm.cdf(q[:, None], mean, np.sqrt(variance)), axis=1)
        np.testing.assert_allclose(below, p, atol=1e-10)
    draws = rng.normal(mean[0], np.sqrt(variance[0]), size=(400_000, 3))
    picked = draws[np.arange(400_000), rng.choice(3, size=400_000, p=weight[0])]
    centre, spread = mixture.moments()
    assert centre[0] == pytest.approx(picked.mean(), abs=0.05)
    assert spread[0] == pytest.approx(picked.std(), abs=0.05)
    density = np.sum(weight * norm.pdf(1.0, mean, np.sqrt(variance)), axis=1)
    np.testing.assert_allclose(mixture.log_density(np.ones(2)), np.log(density))


def test_screening_finds_the_correlations_of_observed_cells():
    X, y = table(missing=0.2)
    X[:, 5], X[:, 6] = 3.0, np.nan
    centred = (y - y.mean()) / y.std()
    from honestbayes.data import as_source

    found = screen_response(as_source(X), centred)
    for j in range(20):
        seen = ~np.isnan(X[:, j])
        expected = 0.0
        if j not in (5, 6):
            expected = np.corrcoef(X[seen, j], y[seen])[0, 1] ** 2
        assert found.r_squared()[j] == pytest.approx(expected, abs=1e-12)
        assert found.n_observed[j] == seen.sum()


@few_sweeps
def test_predictions_are_in_the_response_own_units_and_each_row_for_itself():
    X, y = table()
    new, truth = table(seed=1)
    model = SelectiveFactorRegressor(n_factors=1, **SHORT).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    assert np.corrcoef(mean, truth)[0, 1] > 0.7
    assert 0.5 < np.sqrt(np.mean((mean - truth) ** 2)) / std.mean() < 2
    np.testing.assert_array_equal(model.predict(new[::-1])[::-1], mean)
    quantiles = model.predict_quantiles(new, [0.1, 0.5, 0.9])
    assert np.all(np.diff(quantiles, axis=1) > 0)
    np.testing.assert_array_equal(model.predict_quantiles(new, 0.5), quantiles[:, 1])
    other = SelectiveFactorRegressor(n_factors=1, **SHORT).fit(X, 1e6 * y - 5)
    np.testing.assert_allclose(other.predict(new), 1e6 * mean - 5, rtol=1e-6)


@few_sweeps
def test_without_factors_features_say_nothing():
    X, y = table()
    model = SelectiveFactorRegressor(n_factors=0, **SHORT).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, mean[0])
    assert mean[0] == pytest.approx(y.mean(), abs=0.2)
    assert std[0] == pytest.approx(y.std(ddof=1), rel=0.15)


def test_numbers_whose_squares_are_beyond_all_numbers_are_refused():
    X, y = table()
    X[:, 3] *= 1e200
    with pytest.raises(ValueError, match="column 3 holds numbers too large to be squared"):
        SelectiveFactorRegressor(**SHORT).fit(X, y)


# -------------------------------------------------------------------------------------- promises


@few_sweeps
@pytest.mark.parametrize("n_factors", [2, "auto"])
def test_the_seed_decides_and_the_number_of_processes_does_not(n_factors, monkeypatch):
    monkeypatch.setattr(factor_estimator, "FOLD_WARMUP", 20)
    monkeypatch.setattr(factor_estimator, "FOLD_SAMPLES", 20)
    X, y = table(p=40)
    words = {**SHORT, "n_factors": n_factors, "n_features_to_select": 4}
    one = SelectiveFactorRegressor(**words).fit(X, y)
    two = SelectiveFactorRegressor(**words, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert (one.factor_choice_ is None) == (n_factors == 2)


@few_sweeps
def test_missing_cells_rules_and_names():
    X, y = table(missing=0.15)
    model = SelectiveFactorRegressor(n_factors=1, threshold=0.4, always_keep=[3], **SHORT)
    model.fit(X, y)
    assert model.selection_.gamma == pytest.approx(0.4)
    assert 3 in model.get_support(indices=True)
    assert len(model.selection_.columns) + model.selection_.n_discarded == 100
    assert len(model.get_feature_names_out()) == len(model.selection_.columns)
    assert np.isfinite(model.predict(X)).all()
    assert "log_response_ratio" in model.diagnostics_.name


@few_sweeps
def test_progress_is_shown_where_asked(capsys):
    X, y = table(p=20)
    words = {**SHORT, "n_factors": 1, "n_warmup": 5, "n_draws": 5}
    SelectiveFactorRegressor(**words).fit(X, y)
    assert not any(capsys.readouterr())
    SelectiveFactorRegressor(verbose=True, **words).fit(X, y)
    assert any(capsys.readouterr())


@few_sweeps
def test_a_constant_response_is_predicted_as_it_is():
    X, _ = table()
    model = SelectiveFactorRegressor(n_factors=1, **SHORT).fit(X, np.full(40, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, atol=0.5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"correction": "counts"}, "correction='counts' is not one of"),
        ({"n_factors": 0.5}, "n_factors=0.5 is not a whole number"),
        ({"n_features_to_select": "cv"}, "'cv' is not available"),
    ],
)
def test_bad_words_are_refused(words, message):
    X, y = table()
    with pytest.raises(ValueError, match=message):
        SelectiveFactorRegressor(**{"n_factors": 1, **words}).fit(X, y)


@few_sweeps
def test_quantiles_need_probabilities():
    X, y = table()
    model = SelectiveFactorRegressor(n_factors=1, **SHORT).fit(X, y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_quantiles(X, [0.5, 1.0])


# ----------------------------------------------------------------------------------- calibration


def coverage(correction, n_tables, seed=0):
    """Shares of new responses within 50, 80 and 95% intervals, with their standard errors."""
    rng = np.random.default_rng(seed)
    n, p, n_new = 20, 300, 40
    found = []
    for r in range(n_tables):
        codes = np.zeros(n + n_new, dtype=int)
        log_loading = np.clip(oracle.draw_log_loading(rng, 2), -4, 4)
        scores = rng.normal(size=(n + n_new, 1))
        rest = (np.ones(1), np.zeros(1), 3.0, 3.0)
        X, _, _ = oracle.draw_columns(
            rng, scores, codes, log_loading[0], oracle.draw_log_noise(rng), *rest, p
        )
        y = oracle.draw_columns(rng, scores, codes, log_loading[1], 0.0, *rest, 1)[0][:, 0]
        model = SelectiveFactorRegressor(
            n_features_to_select=5,
            n_factors=1,
            correction=correction,
            n_chains=1,
            n_warmup=80,
            n_draws=120,
            random_state=r,
        ).fit(X[:n], y[:n])
        q = model.predict_quantiles(X[n:], [0.025, 0.1, 0.25, 0.75, 0.9, 0.975])
        inside = [(y[n:] > q[:, a]) & (y[n:] < q[:, 5 - a]) for a in (2, 1, 0)]
        found.append([part.mean() for part in inside])
    return np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(n_tables)


@pytest.mark.slow
@few_sweeps
def test_intervals_cover_with_the_correction_and_too_little_without():
    nominal = np.array([0.5, 0.8, 0.95])
    share, error = coverage("selection", 60)
    assert np.all(np.abs(share - nominal) < 3.5 * error + 0.015), share
    share, error = coverage(None, 60)
    assert np.all(nominal - share > 0.05), share
    assert np.all(nominal - share > 4 * error), share
