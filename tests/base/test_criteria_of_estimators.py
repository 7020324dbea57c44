"""Features ranked by other criteria than the correlation: the same races, and a user's own."""

from fractions import Fraction

import numpy as np
import pytest
from oracles_categorical import all_tables

from honestbayes import SelectiveCategoricalNB, SelectiveGaussianNB
from honestbayes.likelihood.dirichlet import log_marginal
from honestbayes.models.categorical.model import DiscardedCategories
from honestbayes.selection import DiscardedGroup, Selection
from honestbayes.selection.correlation import equivalent_r_squared

EVENT = {"correction": "selection", "recalibrate": None}


def real(seed=0, n=40, p=200, n_classes=2):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return generator.normal(size=(n, p)) + 0.8 * (np.arange(p) < 4) * y[:, None], y


def levels(seed=0, n=40, p=80, n_levels=3, n_classes=2):
    generator = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = generator.integers(0, n_levels, (n, p))
    X[:, :3] = np.where(generator.random((n, 3)) < 0.5, y[:, None], X[:, :3])
    return X, y


def my_t(column, y):
    first, second = column[y == 0], column[y == 1]
    pooled = (first.var() * first.size + second.var() * second.size) / (column.size - 2)
    return abs(first.mean() - second.mean()) / np.sqrt(pooled)


def my_chi_square(column, y):
    expected = np.outer(np.bincount(y), np.bincount(column)) / y.size
    found = np.zeros_like(expected)
    np.add.at(found, (y, column), 1)
    return np.sum((found - expected) ** 2 / expected)


@pytest.mark.parametrize("criterion", ["f", "t", my_t])
def test_monotone_functions_of_the_correlation_are_the_same_race(criterion):
    X, y = real()
    first = SelectiveGaussianNB(n_features_to_select=5).fit(X, y)
    second = SelectiveGaussianNB(n_features_to_select=5, criterion=criterion).fit(X, y)
    assert first.selection_.kept == second.selection_.kept
    np.testing.assert_allclose(first.predict_log_proba(X), second.predict_log_proba(X), atol=1e-9)


def test_a_users_function_is_corrected_as_well_as_the_formula():
    X, y = real(1, p=50)
    exact = SelectiveGaussianNB(n_features_to_select=5, **EVENT).fit(X, y)
    simulated = SelectiveGaussianNB(n_features_to_select=5, criterion=my_t, **EVENT).fit(X, y)
    assert simulated.selection_.criterion == "my_t"
    weight = exact.posterior_.scale_weights > 1e-3
    difference = (simulated.posterior_.log_prob_selection - exact.posterior_.log_prob_selection)[
        weight
    ]
    assert np.ptp(difference) < 0.25  # a standard error of 0.05 is asked for
    np.testing.assert_allclose(
        simulated.predict_proba(X), exact.predict_proba(X), rtol=0, atol=0.02
    )


@pytest.mark.parametrize("criterion", ["chi2", my_chi_square])
def test_chi_square_orders_features_of_as_many_levels_alike(criterion):
    X, y = levels()
    words = {"n_features_to_select": 5, "random_state": 0}
    first = SelectiveCategoricalNB(**words).fit(X, y)
    second = SelectiveCategoricalNB(criterion=criterion, **words).fit(X, y)
    assert first.selection_.kept == second.selection_.kept
    np.testing.assert_allclose(first.predict_log_proba(X), second.predict_log_proba(X), atol=1e-9)


@pytest.mark.slow
def test_mutual_information_is_its_own_race_and_can_be_corrected():
    X, y = levels(2, n=24, p=20, n_classes=3)
    model = SelectiveCategoricalNB(
        n_features_to_select=5, criterion="mutual_information", random_state=0, **EVENT
    ).fit(X, y)
    assert model.selection_.criterion == "mutual_information"
    assert {0, 1, 2} <= set(model.selection_.kept)
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("bound", [0.3, 0.6])
def test_the_event_of_three_levels_is_that_of_all_tables(bound):
    """P(S) from the engine against the sum over every table of small classes."""
    sizes = (4, 3)
    tables, ways = all_tables(sizes, 3)
    strength = np.sqrt(equivalent_r_squared(tables))
    alpha = np.array([0.5, 3.0, 30.0, 1000.0])
    probability = np.exp(log_marginal(tables, alpha)) * ways
    beyond = probability @ (strength > bound)
    selection = Selection(
        rule="threshold",
        gamma_squared=Fraction(str(bound)) ** 2,
        kept=(0,),
        always_kept=(),
        n_features_in=51,
        class_counts=sizes,
        groups=(DiscardedGroup(sizes, 50, 0, 3),),
        n_tied_kept=0,
    )
    found = DiscardedCategories(selection, lambda t: -((t - 2) ** 2)).log_prob(np.log(alpha))
    np.testing.assert_allclose(found, 50 * np.log1p(-beyond), atol=0.1)


@pytest.mark.parametrize(
    ("estimator", "words", "error", "message"),
    [
        (SelectiveGaussianNB, {"criterion": "chi2"}, ValueError, "not for real features"),
        (SelectiveGaussianNB, {"criterion": "strange"}, ValueError, "is unknown. Use one of"),
        (SelectiveGaussianNB, {"criterion": 3}, TypeError, "a name or a function"),
        (
            SelectiveGaussianNB,
            {"criterion": lambda x, _: x.max(), **EVENT},
            ValueError,
            "origin|unit",
        ),
        (SelectiveGaussianNB, {"criterion": lambda *_: np.nan}, ValueError, "returned NaN"),
        (
            SelectiveGaussianNB,
            {"criterion": my_t, "threshold": 0.5, "n_features_to_select": None},
            ValueError,
            "threshold is a bound on the correlation",
        ),
    ],
)
def test_criteria_without_meaning_are_refused(estimator, words, error, message):
    X, y = real()
    with pytest.raises(error, match=message):
        estimator(**{"n_features_to_select": 5, **words}).fit(X, y)


def test_many_levels_are_not_simulated():
    X, y = levels(n_levels=12, n=120)
    model = SelectiveCategoricalNB(n_features_to_select=3, random_state=0, **EVENT)
    with pytest.raises(ValueError, match="would simulate features of 12 categories"):
        model.fit(X, y)
    model.set_params(correction="counts").fit(X, y)


def test_t_is_for_two_classes():
    X, y = real(n_classes=3)
    with pytest.raises(ValueError, match="two classes, and there are 3"):
        SelectiveGaussianNB(criterion="t").fit(X, y)


def test_a_function_cannot_be_saved(tmp_path):
    X, y = real()
    model = SelectiveGaussianNB(criterion=my_t, n_features_to_select=5).fit(X, y)
    with pytest.raises(ValueError, match="criterion is a function"):
        model.save(tmp_path / "model.honestbayes")
    by_name = SelectiveCategoricalNB(criterion="chi2", n_features_to_select=5)
    by_name.fit(*levels()).save(tmp_path / "model.honestbayes")
