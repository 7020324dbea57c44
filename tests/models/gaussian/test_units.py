"""Units and origins of columns say nothing."""

import numpy as np
import pytest

from honestbayes import (
    SelectiveFactorClassifier,
    SelectiveFactorRegressor,
    SelectiveGaussianNB,
    SelectiveMixedNB,
)

SHORT = {"n_factors": 1, "n_chains": 1, "n_warmup": 20, "n_draws": 20, "random_state": 0}


def table(seed=0, n=40, p=60, n_new=30):
    """Measurements of very different spread, with gaps, in two classes; and new ones."""
    rng = np.random.default_rng(seed)
    y, new = np.arange(n) % 2, np.arange(n_new) % 2
    spread = np.exp(rng.normal(size=p))
    shift = np.where(np.arange(p) < 6, 1.2, 0.0)
    X, Z = (spread * (rng.normal(size=(k.size, p)) + np.outer(k, shift)) for k in (y, new))
    X[3, 1] = X[8, 2] = Z[0, 1] = np.nan
    return X, y, Z


MODELS = {
    "learned": SelectiveGaussianNB(),
    "the event": SelectiveGaussianNB(correction="selection", recalibrate=None),
    "by design": SelectiveGaussianNB(always_keep=[2, 50]),
    "mixed": SelectiveMixedNB(random_state=0),
}


def both(model, X, y, Z, change):
    """Probabilities and intervals before and after a change of the columns."""
    found = []
    for there, new in ((X, Z), (change(X), change(Z))):
        model.fit(there, y)
        found.append((model.predict_proba(new), model.predict_proba_interval(new, n_draws=200)))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_powers_of_two_change_no_bit(name):
    X, y, Z = table()
    power = np.random.default_rng(1).integers(-40, 41, X.shape[1])
    (before, bounds), (after, moved) = both(MODELS[name], X, y, Z, lambda part: part * 2.0**power)
    assert np.array_equal(before, after)
    assert np.array_equal(bounds, moved)


@pytest.mark.parametrize("name", MODELS)
def test_other_units_and_origins_change_no_more_than_rounding(name):
    X, y, Z = table()
    rng = np.random.default_rng(2)
    unit = 10.0 ** rng.uniform(-12, 12, X.shape[1])
    origin = rng.uniform(-1000, 1000, X.shape[1]) * np.nanstd(X, axis=0)
    found = both(MODELS[name], X, y, Z, lambda part: (part + origin) * unit)
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-6)


def test_one_column_in_millimetres_moves_no_probability():
    X, y, Z = table(3)
    model = SelectiveGaussianNB(n_features_to_select=5)
    first = int(model.fit(X, y).selection_.kept[0])

    def change(part):
        part = part.copy()
        part[:, first] *= 25.4
        return part

    found = both(model, X, y, Z, change)
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1e-100, 1e100, 1e152])
def test_units_at_the_ends_of_all_numbers_are_units(size):
    X, y, Z = table()
    model = SelectiveGaussianNB()
    expected = model.fit(X, y).predict_proba(Z)
    found = model.fit(X * size, y).predict_proba(Z * size)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("size", [1e-165, 1e-162, 1e-300, 1e155, 1e300])
def test_units_beyond_them_are_refused_by_name(size):
    X, y, _ = table()
    X = X.copy()
    X[:, 7] *= size
    with pytest.raises(ValueError, match=r"column 7 .* too (small|large) to be squared"):
        SelectiveGaussianNB().fit(X, y)
    with pytest.raises(ValueError, match=r"column 7 .* too (small|large) to be squared"):
        SelectiveFactorClassifier(**SHORT).fit(X, y)


@pytest.mark.filterwarnings("ignore:the chains have not converged")
def test_a_response_in_any_unit_is_predicted_or_refused():
    X, _, Z = table()
    X, Z = np.nan_to_num(X), np.nan_to_num(Z)
    model = SelectiveFactorRegressor(**SHORT)
    expected = np.array(model.fit(X, X[:, 0]).predict(Z, return_std=True))
    for size in (1e-300, 1e-100, 1e140):
        found = np.array(model.fit(X, size * X[:, 0]).predict(Z, return_std=True))
        assert found / size == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="y holds numbers too large to be squared"):
        model.fit(X, 1e200 * X[:, 0])
