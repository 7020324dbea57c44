"""SelectiveCategoricalNB: the binary model for 0/1, exact elsewhere, honest over its prior."""

from functools import cache

import numpy as np
import oracles_categorical as oracle
import pandas as pd
import polars as pl
import pytest
from grids import each_once, slow
from scipy import integrate, stats
from scipy.special import logsumexp, softmax

from honestbayes import SelectiveBernoulliNB, SelectiveCategoricalNB
from honestbayes.data.categories import Categories, CategoryTable, category_table
from honestbayes.models.categorical.model import categorical_settings, fit_categories
from honestbayes.selection.categories import count_categories

PLAIN = {"recalibrate": None}


def draw_binary(seed, n=50, p=120, missing=0.03):
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 2)
    theta = generator.random(p)
    phi = generator.beta(15 * theta, 15 * (1 - theta), (2, p))
    X = (generator.random((n, p)) < phi[y]).astype(float)
    X[generator.random((n, p)) < missing] = np.nan
    X[:, 3], X[:, 4] = 0.0, 1.0
    return X, y


@pytest.mark.slow_cases(
    "{'feature_prior': 'uniform', 'correction': 'selection'}-[2, 7]",
    "{'feature_prior': 'uniform'}-None",
    "{'n_features_to_select': 'cv'}-[2, 7]",
)
@each_once(
    "words, always_keep",
    [
        {},
        {"recalibrate": None},
        {"feature_prior": "uniform"},
        {"feature_prior": "uniform", "correction": "selection"},
        {"feature_prior": "uniform", "correction": None},
        {"correction": None},
        {"n_features_to_select": None, "threshold": 0.3},
        {"n_features_to_select": "all"},
        {"n_features_to_select": 0},
        {"n_features_to_select": "cv"},
        {"class_prior": [0.2, 0.8]},
    ],
    [None, [2, 7]],
)
def test_zeros_and_ones_are_the_binary_model(words, always_keep):
    X, y = draw_binary(len(words))
    words = {"n_features_to_select": 6, "random_state": 0, "always_keep": always_keep, **words}
    first = SelectiveBernoulliNB(**words).fit(X, y)
    second = SelectiveCategoricalNB(**words).fit(X, y)
    assert second.selection_.columns == first.selection_.columns
    assert second.slope_ == pytest.approx(first.slope_, abs=1e-8)
    np.testing.assert_allclose(
        second.predict_log_proba(X), first.predict_log_proba(X), rtol=0, atol=1e-8
    )


def test_the_columns_and_order_of_levels_do_not_matter():
    X, y = draw_three(0)
    words = np.array(["zero", "one", "two", "three"], dtype=object)[X]
    swapped = (3 - X)[:, ::-1]
    first, second, third = (
        SelectiveCategoricalNB(n_features_to_select=5, random_state=0).fit(table, y)
        for table in (X, words, swapped)
    )
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(words), atol=1e-9)
    np.testing.assert_allclose(first.predict_proba(X), third.predict_proba(swapped), atol=1e-9)


def draw_three(seed, n=60, p=80, levels=4):
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.arange(n) % 3)
    X = generator.integers(0, levels, (n, p))
    X[:, :3] = np.where(generator.random((n, 3)) < 0.6, y[:, None], X[:, :3])
    return X, y


@cache
def log_of_marginal(table, alpha):
    found = oracle.marginal(table, alpha)
    return np.log(float(found.numerator)) - np.log(float(found.denominator))


def table_of(values, classes):
    """How many cases of each class have each value."""
    return tuple(
        tuple(int(np.sum((classes == c) & (values == v))) for v in range(3)) for c in range(3)
    )


def log_ratio(column, y, value, label, alpha):
    """log P(value | label, column, alpha) by the ratio of two marginal likelihoods."""

    def log_marginal(values, classes):
        return log_of_marginal(table_of(values, classes), alpha)

    after = log_marginal(np.append(column, value), np.append(y, label))
    return after - log_marginal(column, y)


def test_predictions_are_ratios_of_marginal_likelihoods():
    y = np.array([0, 0, 1, 1, 1, 2, 2])
    X = np.array([[0, 1], [0, 2], [1, 1], [2, 0], [1, 0], [2, 2], [2, 1]])
    model = SelectiveCategoricalNB(n_features_to_select="all", feature_prior="uniform", **PLAIN)
    model.fit(X, y)
    new = np.array([[2.0, 1.0], [0.0, np.nan]])
    # By plain integration over alpha, on a fine grid of its logarithm.
    t = np.linspace(-3, 45, 120)
    alpha = np.exp(t)
    log_weight = stats.invgamma.logpdf(alpha, 0.5, scale=5.0) + t
    for column in X.T:
        log_weight += [log_of_marginal(table_of(column, y), a) for a in alpha]
    counts = np.bincount(y) + 1
    for row, found in zip(new, model.predict_log_proba(new), strict=True):
        joint = np.log(counts / counts.sum())
        for label in range(3):
            log_value = log_weight.copy()
            for j in range(2):
                if not np.isnan(row[j]):
                    log_value += [log_ratio(X[:, j], y, row[j], label, a) for a in alpha]
            top = log_value.max()
            joint[label] += top + np.log(integrate.trapezoid(np.exp(log_value - top), t))
        np.testing.assert_allclose(found, joint - logsumexp(joint), atol=1e-6)


def test_numbers_texts_and_frames_are_alike():
    X, y = draw_three(1)
    texts = X.astype(str).astype(object)
    table = pd.DataFrame(texts, columns=[f"f{j}" for j in range(X.shape[1])])
    expected = SelectiveCategoricalNB(random_state=0).fit(X, y).predict_proba(X)
    for other in (texts, table, table.astype("category"), pl.from_pandas(table), X.astype(float)):
        model = SelectiveCategoricalNB(random_state=0).fit(other, y)
        np.testing.assert_allclose(model.predict_proba(other), expected, atol=1e-12)


def test_an_unknown_level_is_missing_with_a_warning():
    X, y = draw_three(2)
    model = SelectiveCategoricalNB(n_features_to_select=3, random_state=0).fit(X, y)
    column = model.selection_.kept[0]
    new = X[:5].astype(float)
    new[0, column] = 77
    hidden = new.copy()
    hidden[0, column] = np.nan
    with pytest.warns(UserWarning, match=rf"^1 cell is .* such as 77 in column 'x{column}'"):
        found = model.predict_proba(new)
    np.testing.assert_array_equal(found, model.predict_proba(hidden))


def test_a_column_of_identifiers_does_not_win():
    X, y = draw_three(3)
    X[:, 10] = np.arange(y.size)
    model = SelectiveCategoricalNB(n_features_to_select=3, random_state=0, **PLAIN)
    with pytest.warns(UserWarning, match="column 10 has a different value in each row"):
        model.fit(X, y)
    assert set(model.selection_.kept) == {0, 1, 2}


def test_levels_are_shown():
    table = pd.DataFrame({"a": ["x", "y", "x", "y"] * 5, "b": [0, 1, 2, 2] * 5})
    model = SelectiveCategoricalNB(n_features_to_select="all").fit(table, [0, 1] * 10)
    assert model.levels_ == {"a": ["x", "y"], "b": [0, 1, 2]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "holds -1, which is negative"),
        (0.5, "holds 0.5, which is no whole number"),
        (np.inf, "holds inf, which is infinite"),
    ],
)
def test_numbers_that_are_no_categories_are_refused(value, message):
    X, y = draw_three(4)
    X = X.astype(float)
    X[7, 5] = value
    with pytest.raises(ValueError, match=f"column 5 {message}"):
        SelectiveCategoricalNB().fit(X, y)
    model = SelectiveCategoricalNB(n_features_to_select="all").fit(draw_three(4)[0], y)
    with pytest.raises(ValueError, match=f"column 'x5' {message}"):
        model.predict(X)


def test_texts_mixed_with_numbers_are_refused():
    table = pd.DataFrame({"a": ["x", 3, "x", 4] * 5})
    with pytest.raises(ValueError, match="column 'a' mixes texts and numbers"):
        SelectiveCategoricalNB().fit(table, [0, 1] * 10)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"n_features_to_select": 81}, "more than the 80 features"),
        ({"feature_prior": "heavy-tailed"}, "feature_prior='heavy-tailed' is not one of"),
        ({"correction": "some"}, "correction='some' is not one of"),
        ({"feature_prior": "learned", "correction": "selection"}, "learns from all screened"),
        ({"recalibrate": "sigmoid"}, "recalibrate='sigmoid' is not one of"),
        ({"class_prior": [0.5, 0.5]}, "3 positive prevalences"),
        ({"class_pseudocounts": 0}, "class_pseudocounts=0 must be positive"),
        ({"alpha_prior": (1, -1)}, "alpha_prior"),
        ({"tol": 0}, "tol=0 is not positive"),
        ({"always_keep": ["nobody"]}, "'nobody', which is not a column"),
    ],
)
def test_parameters_without_meaning_are_refused(words, message):
    X, y = draw_three(5)
    with pytest.raises(ValueError, match=message):
        SelectiveCategoricalNB(**words).fit(X, y)


def test_weights_are_refused_with_the_reason():
    X, y = draw_three(5)
    with pytest.raises(TypeError, match="whole counts of cases"):
        SelectiveCategoricalNB().fit(X, y, sample_weight=np.ones(y.size))


def test_declared_categories_count_even_if_unseen():
    column = pd.Categorical(["x", "y"] * 10, categories=["z", "y", "x"])
    table = pd.DataFrame({"a": column, "b": [0, 1] * 10})
    counts = count_categories(category_table(table), np.arange(20) % 2, np.arange(2))
    assert counts.n_levels().tolist() == [3, 2]
    enum = pl.DataFrame({"a": pl.Series(["x", "y"] * 10, dtype=pl.Enum(["x", "y", "z"]))})
    assert category_table(enum).levels.n_levels.tolist() == [3]


def optimism(seed, correction, sizes=(14, 14, 14), p=600, levels=3, k=8, n_test=400):
    """Actual less expected error of the top class on data from the uniform model."""
    generator = np.random.default_rng(seed)
    n_classes = len(sizes)
    alpha = 5.0 / generator.gamma(0.5)
    y = np.repeat(np.arange(n_classes), sizes)
    new = generator.integers(0, n_classes, n_test)
    theta = generator.dirichlet(np.ones(levels), p)
    phi = generator.gamma(np.maximum(alpha * theta, 1e-12), size=(n_classes, p, levels))
    phi = np.maximum(phi, 1e-300)
    phi /= phi.sum(axis=2, keepdims=True)
    below = np.cumsum(phi, axis=2)[..., :-1]
    X, Z = ((generator.random((c.size, p, 1)) > below[c]).sum(axis=2) for c in (y, new))
    known = Categories(tuple(np.arange(levels, dtype=float) for _ in range(p)))
    counts = count_categories(CategoryTable(X, known, None), y, np.arange(n_classes))
    settings = categorical_settings(
        SelectiveCategoricalNB(
            n_features_to_select=k, feature_prior="uniform", correction=correction
        ).get_params(),
        np.zeros(p, dtype=bool),
    )
    fit = fit_categories(counts, settings, np.random.RandomState(seed))
    proba = softmax(fit.log_likelihood(Z[:, list(fit.selection.columns)]), axis=1)
    return np.mean(proba.argmax(axis=1) != new) - (1 - proba.max(axis=1).mean())


SMALL = {"sizes": (9, 9), "p": 150, "k": 5}
"""Small enough for P(selection) to be exact, as a sum over all tables."""


@pytest.mark.slow_cases("counts-150-size0")
@pytest.mark.parametrize(
    ("correction", "n_data_sets", "size"),
    [
        ("counts", 150, {}),
        (None, 60, {}),
        slow("selection", 700, SMALL),
        slow(None, 60, SMALL),
    ],
)
def test_optimism_over_the_prior(correction, n_data_sets, size):
    found = [optimism(seed, correction, **size) for seed in range(n_data_sets)]
    mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(n_data_sets)
    if correction is None:
        assert mean - 2 * error > 0.05
    else:
        assert abs(mean) + 2 * error < 0.01
