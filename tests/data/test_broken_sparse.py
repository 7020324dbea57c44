"""Sparse matrices whose indices lead outside of them are refused before any kernel sees them."""

import numpy as np
import pytest
from scipy import sparse

from honestbayes import (
    DiscreteNB,
    ForwardProbabilitySelector,
    SelectiveBernoulliNB,
    SelectiveCategoricalNB,
    SelectiveMixture,
)
from honestbayes.selection import screen

Y = np.arange(12) % 2


def whole(kind):
    return sparse.random_array((12, 5), density=0.5, format=kind, rng=np.random.default_rng(0))


def column_too_large(X):
    X.indices[0] = 10**6


def negative(X):
    X.indices[0] = -(10**6)


def pointer_too_large(X):
    X.indptr[3] = 10**6


BROKEN = [
    (kind, change)
    for kind in ("csr", "csc")
    for change in (column_too_large, negative, pointer_too_large)
]


def broken(kind, change):
    X = whole(kind)
    X.data[:] = 1
    change(X)
    return X


USES = {
    "screen": screen,
    "binary": lambda X, y: SelectiveBernoulliNB().fit(X, y),
    "categorical": lambda X, y: SelectiveCategoricalNB().fit(X, y),
    "plain": lambda X, y: DiscreteNB().fit(X, y),
    "forward": lambda X, y: ForwardProbabilitySelector().fit(X, y),
    "mixture": lambda X, y: SelectiveMixture().fit(X, y),
    "prediction": lambda X, y: (
        SelectiveBernoulliNB().fit((whole("csr") != 0).astype(int), y).predict_proba(X)
    ),
}


@pytest.mark.parametrize(("kind", "change"), BROKEN)
@pytest.mark.parametrize("use", USES)
def test_it_is_refused_in_one_sentence(use, kind, change):
    with pytest.raises(ValueError, match=r"not a valid sparse matrix: .*rebuild it"):
        USES[use](broken(kind, change), Y)


def test_coordinates_out_of_range_are_refused_before_they_are_compressed():
    X = whole("coo")
    X.data[:] = 1
    X.coords[0][0] = 10**6
    with pytest.raises(ValueError, match="an index is not from 0 to 11"):
        SelectiveBernoulliNB().fit(X, Y)
