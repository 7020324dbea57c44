"""The same zeros and ones give the same bits, whatever type of number holds them."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from honestbayes import (
    HonestClassifier,
    SelectiveBernoulliNB,
    SelectiveDiscriminant,
    SelectiveGaussianNB,
    SelectiveLogistic,
)

FORMS = {
    "bool": lambda X: X.astype(bool),
    "uint8": lambda X: X.astype(np.uint8),
    "int64": lambda X: X.astype(np.int64),
    "float32": lambda X: X.astype(np.float32),
    "float64": lambda X: X.astype(np.float64),
    "by columns": lambda X: np.asfortranarray(X, dtype=float),
    "sparse": lambda X: sparse.csr_array(X.astype(float)),
}


def table():
    """Return a table in which many columns have the same counts, in other rows."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3 == 0
    X = np.zeros((90, 600), dtype=np.int8)
    for j in range(600):
        X[rng.choice(np.flatnonzero(y), 5, replace=False), j] = 1
        X[rng.choice(np.flatnonzero(~y), 1 + j % 3, replace=False), j] = 1
    return X, y.astype(int)


@cache
def predicted_from_bytes(model):
    """What a model learns and predicts from the table as it is, for all forms."""
    X, y = table()
    return clone(model).fit(X[:70], y[:70]).predict_proba(X[70:])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "model",
    [
        SelectiveBernoulliNB(n_features_to_select=20),
        SelectiveGaussianNB(n_features_to_select=20),
        SelectiveDiscriminant(n_features_to_select=20),
        SelectiveLogistic(n_features_to_select=20),
        HonestClassifier(effort="quick", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_zeros_and_ones_of_any_type_give_the_same_bits(model, form):
    if form == "sparse" and isinstance(model, SelectiveGaussianNB | SelectiveDiscriminant):
        pytest.skip("refused, or not made normal scores of as dense tables are")
    X, y = table()
    given = FORMS[form](X)
    found = clone(model).fit(given[:70], y[:70]).predict_proba(given[70:])
    np.testing.assert_array_equal(found, predicted_from_bytes(model))
