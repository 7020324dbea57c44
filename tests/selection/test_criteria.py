"""Criteria that rank features, against other implementations of the same statistics."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif
from sklearn.metrics import mutual_info_score

from honestbayes.selection.criteria import CRITERIA, Criterion, as_criterion, compare, level_tables

MISSING = {"categorical": -1, "real": np.nan}


def columns_and_classes(kind, n_classes, n_levels=2, missing=0.0, seed=0, m=40, n=30):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    columns = (
        rng.integers(n_levels, size=(m, n)) if kind == "categorical" else rng.normal(size=(m, n))
    )
    columns[m // 2 :] += y % n_levels if kind == "categorical" else 0.7 * y
    if kind == "categorical":
        columns %= n_levels
    columns[rng.random((m, n)) < missing] = MISSING[kind]
    return columns, y


def known(column):
    return column >= 0 if column.dtype.kind == "i" else ~np.isnan(column)


def chi_square(column, y):
    table = stats.contingency.crosstab(y, column)[1]
    return stats.chi2_contingency(table, correction=False).statistic


def cramer(column, y):
    return stats.contingency.association(stats.contingency.crosstab(y, column)[1], method="cramer")


def t(column, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a class may hold a single value
        return abs(stats.ttest_ind(column[y == 1], column[y == 0]).statistic)


def correlation_ratio(column, y):
    inside = sum(column[y == c].var() * np.sum(y == c) for c in np.unique(y))
    return np.sqrt(1 - inside / column.var() / y.size)


REFERENCES = [
    ("correlation", "real", 2, 2, lambda x, y: abs(np.corrcoef(x, y)[0, 1])),
    ("correlation", "real", 3, 2, correlation_ratio),
    ("correlation", "categorical", 2, 2, lambda x, y: abs(np.corrcoef(x, y)[0, 1])),
    ("correlation", "categorical", 3, 4, cramer),
    ("f", "real", 2, 2, lambda x, y: f_classif(x[:, None], y)[0][0]),
    ("f", "real", 4, 2, lambda x, y: f_classif(x[:, None], y)[0][0]),
    ("f", "categorical", 2, 2, lambda x, y: f_classif(x[:, None], y)[0][0]),
    ("f", "categorical", 3, 2, lambda x, y: f_classif(x[:, None], y)[0][0]),
    ("t", "real", 2, 2, t),
    ("t", "categorical", 2, 2, t),
    ("chi2", "categorical", 2, 2, chi_square),
    ("chi2", "categorical", 3, 4, chi_square),
    ("mutual_information", "categorical", 3, 4, mutual_info_score),
]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("name", "kind", "n_classes", "n_levels", "reference"), REFERENCES)
def test_a_criterion_is_the_statistic_of_its_name(
    name, kind, n_classes, n_levels, reference, missing
):
    columns, y = columns_and_classes(kind, n_classes, n_levels, missing)
    found = as_criterion(name).strengths(columns, y)
    expected = [reference(column[known(column)], y[known(column)]) for column in columns]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CRITERIA)
def test_tables_tell_as_much_as_columns(name):
    columns, y = columns_and_classes("categorical", 2, 2, missing=0.1)
    criterion = as_criterion(name)
    assert criterion.from_tables is not None
    np.testing.assert_array_equal(
        criterion.from_tables(level_tables(columns, y, 2, 2)), criterion.strengths(columns, y)
    )


def test_correlation_f_and_t_order_real_features_alike_in_two_classes():
    columns, y = columns_and_classes("real", 2, missing=0.0)
    orders = [
        np.argsort(as_criterion(name).strengths(columns, y)) for name in ("correlation", "f", "t")
    ]
    np.testing.assert_array_equal(orders[0], orders[1])
    np.testing.assert_array_equal(orders[0], orders[2])


@pytest.mark.parametrize("kind", ["categorical", "real"])
@pytest.mark.parametrize("name", ["correlation", "f", "t", "chi2"])
def test_a_bound_is_the_same_event_as_its_bound_on_r_squared(name, kind):
    criterion = as_criterion(name)
    if kind not in criterion.features:
        return
    columns, y = columns_and_classes(kind, 2, m=200)
    strength = criterion.strengths(columns, y)
    r_squared = np.array([np.corrcoef(column, y)[0, 1] ** 2 for column in columns])
    for bound in np.quantile(strength, [0.1, 0.5, 0.9]) * 1.0001:
        np.testing.assert_array_equal(
            strength > bound, r_squared > criterion.r_squared(bound, y.size, 2)
        )


@pytest.mark.parametrize("name", ["correlation", "f"])
def test_a_bound_is_that_on_r_squared_with_several_classes(name):
    criterion = as_criterion(name)
    columns, y = columns_and_classes("real", 4, m=200)
    strength = criterion.strengths(columns, y)
    r_squared = as_criterion("correlation").strengths(columns, y) ** 2
    for bound in np.quantile(strength, [0.1, 0.5, 0.9]) * 1.0001:
        np.testing.assert_array_equal(
            strength > bound, r_squared > criterion.r_squared(bound, y.size, 4)
        )


@pytest.mark.parametrize("bound", [-1.0, 0.0, np.inf])
@pytest.mark.parametrize("name", ["correlation", "f", "t", "chi2"])
def test_bounds_at_the_ends_keep_all_the_spread_or_nothing(name, bound):
    r_squared = as_criterion(name).r_squared(bound, 20, 2)
    assert r_squared < 0 if bound < 0 else r_squared == 0 if bound == 0 else r_squared >= 1


@pytest.mark.parametrize("name", CRITERIA)
def test_constant_empty_and_one_class_columns_have_strength_zero(name):
    criterion = as_criterion(name)
    y = np.array([0, 0, 0, 1, 1])
    for kind in criterion.features:
        hidden = MISSING[kind]
        dtype = float if kind == "real" else int
        columns = [[1, 1, 1, 1, 1], [hidden] * 5, [0, 1, 0, hidden, hidden]]
        found = criterion.strengths(np.array(columns, dtype=dtype), y)
        np.testing.assert_array_equal(found, 0.0)


def test_independence_in_the_table_is_exactly_zero():
    table = np.array([[[3, 6, 9], [7, 14, 21]]])
    for name in ("correlation", "chi2", "mutual_information"):
        assert as_criterion(name).from_tables(table)[0] == 0.0


def test_classes_apart_without_spread_have_an_infinite_f():
    column, y = np.array([[1.0, 1.0, 2.0, 2.0]]), np.array([0, 0, 1, 1])
    assert as_criterion("f").strengths(column, y).tolist() == [np.inf]


def test_origin_and_unit_of_real_values_do_not_matter():
    columns, y = columns_and_classes("real", 3)
    for name in ("correlation", "f"):
        criterion = as_criterion(name)
        np.testing.assert_allclose(
            criterion.strengths(1e6 + 1e-3 * columns, y), criterion.strengths(columns, y), rtol=1e-4
        )


def test_strengths_that_differ_by_rounding_are_equal():
    bound = 0.1 + 0.2
    strength = np.array([0.3, bound, 0.3 * (1 + 1e-8), 0.2, np.inf, -np.inf])
    np.testing.assert_array_equal(compare(strength, bound), [0, 0, 1, -1, 1, -1])
    np.testing.assert_array_equal(compare(strength, np.inf), [-1, -1, -1, -1, 0, -1])


# ------------------------------------------------------------------------------ users' functions


def spread_of_medians(column, y):
    return float(np.ptp([np.median(column[y == c]) for c in np.unique(y)]) / np.std(column))


def test_a_function_sees_one_column_without_missing_cells_and_the_labels():
    seen = []

    def spy(column, y):
        seen.append((column.tolist(), y.tolist()))
        return len(seen)

    criterion = as_criterion(spy, classes=np.array(["no", "yes"]))
    columns = np.array([[1.0, np.nan, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    found = criterion.strengths(columns, np.array([0, 1, 1, 0]))
    assert criterion.name == "spy"
    assert found.tolist() == [1.0, 2.0]
    assert seen[0] == ([1.0, 3.0, 4.0], ["no", "yes", "no"])
    assert seen[1][1] == ["no", "yes", "yes", "no"]


def test_a_function_is_not_asked_about_columns_that_cannot_be_judged():
    criterion = as_criterion(spread_of_medians)
    columns = np.array([[1.0, 2.0, np.nan, np.nan], [1.0, np.nan, 2.0, np.nan]])
    np.testing.assert_array_equal(criterion.strengths(columns, np.array([0, 0, 1, 1])), -np.inf)


def test_an_unknown_name_lists_those_known():
    with pytest.raises(ValueError, match=r"'gini' is unknown.*'correlation', 'f', 't', 'chi2', 'm"):
        as_criterion("gini")


def test_what_is_neither_a_name_nor_a_function_is_refused():
    with pytest.raises(TypeError, match="a name or a function"):
        as_criterion(3)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (np.nan, ValueError, "'bad' returned NaN"),
        (None, TypeError, "'bad' must return one number for a column, and returned NoneType"),
        (np.zeros(3), TypeError, "'bad' must return one number.*ndarray"),
        ("strong", TypeError, "'bad' must return one number.*str"),
    ],
)
def test_a_function_that_returns_no_number_is_named(value, error, words):
    def bad(*_):
        return value

    with pytest.raises(error, match=words):
        as_criterion(bad).strengths(np.arange(6.0)[None], np.array([0, 0, 0, 1, 1, 1]))


@pytest.mark.parametrize(
    ("name", "columns", "y", "words"),
    [
        ("chi2", np.zeros((1, 4)), [0, 1, 0, 1], "not for real features"),
        ("t", np.zeros((1, 4)), [0, 1, 2, 1], "two classes, and there are 3"),
        ("f", np.array([[0, 1, 2, 1]]), [0, 1, 0, 1], "two categories, and there are 3"),
    ],
)
def test_features_that_a_criterion_is_not_for_are_refused(name, columns, y, words):
    with pytest.raises(ValueError, match=words):
        as_criterion(name).strengths(columns, np.array(y))


def test_a_criterion_stays_what_it_is():
    criterion = as_criterion(spread_of_medians, features=("real",))
    assert as_criterion(criterion) is criterion
    assert isinstance(as_criterion("f"), Criterion)
    with pytest.raises(ValueError, match="not for categorical"):
        criterion.strengths(np.array([[0, 1, 1]]), np.array([0, 1, 1]))
