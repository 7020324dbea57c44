"""Leave-one-out from counts equals scikit-learn's by brute force, refitting each time."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from calibration import slope_of
from grids import each_once, few
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, cross_val_predict

from honestbayes import SelectiveBernoulliNB
from honestbayes.data import as_source
from honestbayes.selection import screen
from honestbayes.selection.leave_out import leave_out

NAN = np.nan


def brute_force(model, X, y, groups=None):
    """P(class 1) of each row from a model fitted without it (and without its group)."""
    return cross_val_predict(
        clone(model).set_params(recalibrate=None),
        X,
        y,
        cv=LeaveOneOut() if groups is None else LeaveOneGroupOut(),
        groups=groups,
        method="predict_proba",
    )[:, 1]


def assert_equals_brute_force(model, X, y, groups=None):
    fast = model.leave_one_out(X, y, groups=groups)
    assert np.max(np.abs(fast - brute_force(model, X, y, groups))) < 1e-12
    assert np.std(fast) > 0


def labels(n, seed=0):
    y = np.random.default_rng(seed).integers(0, 2, n)
    y[:4] = [0, 1, 0, 1]
    return y


def binary(n=14, p=12, seed=0):
    """0/1 data with signal, ties in plenty, and columns that are constant or nearly so."""
    rng = np.random.default_rng(seed)
    y = labels(n, seed)
    X = (rng.random((n, p)) < np.where(y[:, None] == 1, 0.7, 0.3)).astype(np.int8)
    X[:, 1], X[:, 2] = 0, 1
    X[:, 3] = 0
    X[4, 3] = 1
    return X, y


def continuous(n, p=10, seed=0):
    """Continuous data with signal, ties in values, and columns that are awkward at the median."""
    rng = np.random.default_rng(seed)
    y = labels(n, seed)
    X = rng.normal(size=(n, p)) + 0.8 * y[:, None] * (np.arange(p) % 2)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.round(2 * X[:, 3])
    X[:, 4] = X[:, 4] > 0  # two values
    X[:, 5] = np.where(X[:, 5] > 0.3, 2.0, 1.0)
    X[: n // 2 + 1, 6] = X[:, 6].max()  # the median is the maximum
    X[:, 7] = 3.0
    return X, y


MODELS = {
    "learned, counts": {},
    "learned, none": {"correction": None},
    "uniform, none": {"feature_prior": "uniform", "correction": None},
    "uniform, selection": {"feature_prior": "uniform", "correction": "selection"},
    "uniform, counts": {"feature_prior": "uniform", "correction": "counts"},
}
LEARNED = MODELS["learned, counts"]
EVENT = MODELS["uniform, selection"]
BOTH = {"learned": LEARNED, "selection": EVENT}


def model(how=None, **more):
    return SelectiveBernoulliNB(
        **{"n_features_to_select": 4, "random_state": 3, **(how or {}), **more}
    )


@pytest.mark.parametrize("how", MODELS.values(), ids=MODELS.keys())
def test_binary_data_with_every_prior_and_correction(how):
    assert_equals_brute_force(model(how), *binary())


@each_once("n, binarize", [5, 7, 8, 9, 14, 15], ["auto", "median"])
def test_medians_are_learnt_again_without_the_row(n, binarize):
    X, y = continuous(n)
    assert_equals_brute_force(model(binarize=binarize, n_features_to_select=6), X, y)


@each_once("how, n", {"none": MODELS["uniform, none"], "selection": EVENT}, [13, 16])
def test_medians_with_the_papers_model(how, n):
    assert_equals_brute_force(model(how, n_features_to_select=6), *continuous(n))


@each_once("dtype, n", ["float32", "int64", "int8"], [12, 13])
def test_medians_of_other_types(dtype, n):
    X, y = continuous(n)
    assert_equals_brute_force(model(), np.round(8 * X).astype(dtype), y)


@pytest.mark.parametrize("binarize", [0.2, -0.4, 0])
def test_a_fixed_cut(binarize):
    assert_equals_brute_force(model(binarize=binarize), *continuous(13))


@each_once("binarize, how", ["auto", "median", 0.3], BOTH)
def test_missing_cells(binarize, how):
    X, y = continuous(12)
    X[np.random.default_rng(1).random(X.shape) < 0.15] = NAN
    X[:, 8] = NAN
    X[1:, 9] = NAN  # observed in one row
    assert_equals_brute_force(model(how, binarize=binarize), X, y)


@pytest.mark.parametrize("how", [LEARNED, EVENT], ids=["learned", "selection"])
def test_missing_cells_of_binary_data(how):
    X, y = binary()
    X = X.astype(float)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = NAN
    assert_equals_brute_force(model(how), X, y)


@each_once("how, binary_column", BOTH, [True, False])
def test_one_column_with_missing_cells(how, binary_column):
    X, y = continuous(12)
    X = X[:, [4 if binary_column else 1]]
    X[[0, 3, 5]] = NAN
    assert_equals_brute_force(model(how, n_features_to_select=1), X, y)


@each_once(
    "make, kind",
    {make.__name__: make for make in (sparse.csr_array, sparse.csc_array, sparse.csc_matrix)},
    ["binary", "continuous"],
)
def test_sparse_data(make, kind):
    X, y = binary() if kind == "binary" else continuous(11)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.7)
    assert_equals_brute_force(model(binarize="auto" if kind == "binary" else "median"), make(X), y)


@each_once(
    "library, kind", {"pandas": pd, "polars": pl}, ["binary", "continuous", "mixed", "missing"]
)
def test_frames(library, kind):
    X, y = binary() if kind == "binary" else continuous(12)
    if kind == "missing":
        X[2, 1] = X[5, 0] = NAN
    names = [f"gene {j}" for j in range(X.shape[1])]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    if kind == "mixed":
        flag = (X[:, 0] > 0).tolist()
        column = {"flag": flag}
        frame = (
            frame.assign(**column) if library is pd else frame.with_columns(pl.Series("flag", flag))
        )
    expected = brute_force(model(), frame, y)
    np.testing.assert_allclose(model().leave_one_out(frame, y), expected, atol=1e-12)


@few("name", MODELS, ["learned, counts", "uniform, counts"])
def test_features_kept_by_design(name):
    X, y = continuous(12)
    assert_equals_brute_force(model(MODELS[name], always_keep=[0, 4, -1]), X, y)


def test_features_kept_by_design_without_any_other():
    X, y = binary()
    assert_equals_brute_force(model(always_keep=[0, 5], n_features_to_select=0), X, y)


@each_once("how, threshold", BOTH, [0.3, 0.0])
def test_the_threshold_rule(how, threshold):
    assert_equals_brute_force(model(how, n_features_to_select=None, threshold=threshold), *binary())


@each_once("kind, how", ["binary", "continuous", "sparse", "missing"], BOTH)
def test_groups_are_left_out_together(kind, how):
    X, y = binary() if kind in ("binary", "sparse") else continuous(14)
    if kind == "missing":
        X[2, 1] = X[5, 0] = NAN
    groups = np.array(list("aabcddeefgghii"))
    given = sparse.csr_array(X) if kind == "sparse" else X
    assert_equals_brute_force(model(how), given, y, groups)


def test_prevalences_and_pseudocounts():
    X, y = binary()
    assert_equals_brute_force(model(class_prior=[0.9, 0.1]), X, y)
    assert_equals_brute_force(model(class_pseudocounts=(0.5, 3.0)), X, y)


def test_all_features_and_the_published_quadrature():
    X, y = binary()
    assert_equals_brute_force(model(n_features_to_select="all"), X, y)
    assert_equals_brute_force(model(quadrature="paper"), X, y)


def test_string_labels():
    X, y = binary()
    names = np.array(["well", "ill"])[y]  # sorted the other way round
    np.testing.assert_allclose(
        model().leave_one_out(X, names), brute_force(model(), X, names), atol=1e-12
    )


def test_an_earlier_fit_does_not_matter():
    X, y = binary()
    other = model().fit(*binary(seed=5))
    np.testing.assert_array_equal(other.leave_one_out(X, y), model().leave_one_out(X, y))


@each_once("option, n", ["auto", "median", 0.1], [3, 8, 13, 16])
def test_screenings_without_a_row_are_the_screenings_of_the_other_rows(option, n):
    rng = np.random.default_rng(n)
    for trial in range(8):
        X = rng.choice(
            [0.0, 1.0, 1.0, 2.0, 0.5, NAN], size=(n, 12), p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1]
        )
        X[:, ::3] = rng.integers(0, 2, (n, 4))
        X[:, 1::3] = np.round(rng.normal(size=(n, 4)), 1 + trial % 2)
        y = rng.integers(0, 2, n)
        y[:2] = [0, 1]
        whole = screen(X, y, binarize=option)
        folds = [np.array([row]) for row in range(n)]
        for row, fast in enumerate(leave_out(as_source(X), y == 1, folds, whole, option)):
            others = np.delete(np.arange(n), row)
            slow = screen(X[others], y[others], binarize=option, classes=[0, 1])
            assert fast.class_counts == slow.class_counts
            np.testing.assert_array_equal(fast.ones, slow.ones)
            np.testing.assert_array_equal(fast.observed_full(), slow.observed_full())
            assert fast.binarization.equals(slow.binarization)


def test_a_third_value_in_one_row_neither_stops_fit_nor_leave_one_out():
    X, y = binary()
    X = X.copy()
    X[:, 0] = y
    X[5, 0] = 2  # without row 5, the column is two-valued
    assert_equals_brute_force(model(), X, y)
    assert np.all(np.isfinite(model().fit(X, y).predict_proba(X)))
    X = X.astype(float)
    X[5, 0] = 0.5
    assert np.all(np.isfinite(model().fit(X, y).predict_proba(X)))
    assert np.all(np.isfinite(model().leave_one_out(X, y)))


def test_a_class_of_one_case_is_named():
    X, _ = binary()
    y = np.zeros(14, dtype=int)
    y[6] = 1
    with pytest.raises(ValueError, match=r"no case of class .*1.* is left without row 6"):
        model().leave_one_out(X, y)


def test_groups_of_another_length_are_refused():
    X, y = binary()
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 14 rows"):
        model().leave_one_out(X, y, groups=[1, 2, 3])


def plain_slope(evidence, y, offset, share=1.0):
    """The posterior mean of log(b) by a fine sum, from its definition."""
    step = 0.001
    grid = np.arange(-8, 4, step) + step / 2
    sign = np.where(y, 1, -1)

    def log_likelihood(b):
        return -share * np.sum(np.logaddexp(0, -sign * (offset + b * evidence)))

    density = np.array([log_likelihood(np.exp(t)) - t**2 / 2 for t in grid])
    spike = log_likelihood(1.0)
    top = max(density.max(), spike)
    slab = np.exp(density - top) * step / np.sqrt(2 * np.pi)
    return np.exp(np.sum(slab * grid) / (slab.sum() + np.exp(spike - top)))


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0])
def test_the_slope_is_the_posterior_mean_on_the_log_scale(factor):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300) * 2
    y = rng.random(300) < 1 / (1 + np.exp(-(0.5 + truth)))
    found = slope_of(truth / factor, y, 0.5)
    assert found == pytest.approx(plain_slope(truth / factor, y, 0.5), rel=1e-3)
    assert found == pytest.approx(factor, rel=0.4)
