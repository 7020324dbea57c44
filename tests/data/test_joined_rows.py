"""Tables of the same columns, one below the other, are one table."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveGaussianNB,
)
from honestbayes.data import join_rows, pack_store
from honestbayes.data.source import RowsOf, dense_values

N, P, CUT = 150, 40, 70


def flags():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    return (rng.random((N, P)) < 0.3 + 0.3 * y[:, None] * (np.arange(P) < 8)).astype(np.int8), y


def numbers():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, N)
    return rng.normal(size=(N, P)) + y[:, None] * (np.arange(P) < 5), y


def as_stores(X, folder):
    return [pack_store(part, folder / name) for part, name in ((X[:CUT], "a"), (X[CUT:], "b"))]


PARTS = {
    "stores": as_stores,
    "arrays": lambda X, _: [X[:CUT], X[CUT:]],
    "arrays in other memory layouts": lambda X, _: [np.asfortranarray(X[:CUT]), X[CUT:]],
    "sparse and dense": lambda X, _: [sparse.csc_matrix(X[:CUT]), X[CUT:]],
    "a store and an array": lambda X, folder: [as_stores(X, folder)[0], X[CUT:]],
    "Dask in other chunks": lambda X, _: [
        da.from_array(X[:CUT], chunks=(30, 17)),
        da.from_array(X[CUT:], chunks=(50, 9)),
    ],
}


@pytest.mark.parametrize("parts", PARTS)
def test_binary_features_are_counted_as_in_the_whole_table(parts, tmp_path):
    X, y = flags()
    joined = join_rows(PARTS[parts](X, tmp_path))
    assert joined.shape == X.shape
    np.testing.assert_array_equal(dense_values(joined), X)
    rows, columns = np.array([CUT, 3, N - 1, CUT - 1]), np.array([7, 2])
    np.testing.assert_array_equal(RowsOf(joined, rows).take(columns), X[np.ix_(rows, columns)])
    model = SelectiveBernoulliNB(random_state=0)
    found = model.fit(joined, y).predict_proba(joined)
    np.testing.assert_allclose(found, model.fit(X, y).predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("parts", [name for name in PARTS if "store" not in name])
def test_measurements_are_those_of_the_whole_table(parts, tmp_path):
    X, y = numbers()
    joined = join_rows(PARTS[parts](X, tmp_path))
    model = SelectiveGaussianNB(random_state=0)
    found = model.fit(joined, y).predict_proba(joined)
    np.testing.assert_allclose(found, model.fit(X, y).predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("parts", ["stores", "arrays"])
def test_the_average_is_that_of_the_whole_table(parts, tmp_path):
    X, y = flags()
    joined = join_rows(PARTS[parts](X, tmp_path))
    model = HonestClassifier(effort="quick", random_state=0)
    found = model.fit(joined, y).predict_proba(X)
    one = pack_store(X, tmp_path / "one") if parts == "stores" else X
    np.testing.assert_allclose(found, model.fit(one, y).predict_proba(X), rtol=0, atol=1e-9)


def test_what_does_not_fit_is_refused():
    X, _ = flags()
    with pytest.raises(ValueError, match=r"these have \[40, 3\] columns"):
        join_rows([X, X[:, :3]])
    with pytest.raises(ValueError, match="one table or more"):
        join_rows([])
    first = pd.DataFrame(X[:, :2], columns=["x", "y"])
    second = pd.DataFrame(X[:, :2], columns=["y", "x"])
    with pytest.raises(ValueError, match="column 0 is 'x' in one table and 'y' in another"):
        join_rows([first, second])
