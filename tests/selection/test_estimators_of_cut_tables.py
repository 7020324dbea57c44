"""Estimators fit a table that arrives in pieces as they fit it in one."""

import math

import numpy as np
import pytest
from cut_source import grid

from honestbayes import SelectiveBernoulliNB, SelectiveGaussianNB

NAN = math.nan


def problem(n=60, p=40):
    generator = np.random.default_rng(3)
    y = np.arange(n) % 2
    values = generator.normal(size=(n, p))
    values[:, :6] += 1.2 * y[:, None]
    return values, y


FITS = {"a grid": ([10, 20, 31], [7, 30]), "rows": ([1, 59], []), "columns": ([], [3])}


@pytest.mark.slow_cases("False-None-a grid")
@pytest.mark.parametrize("cut", FITS.values(), ids=FITS)
@pytest.mark.parametrize("recalibrate", [None, "slope"])
@pytest.mark.parametrize("two_valued", [False, True])
def test_binary_features_of_a_cut_table_give_the_same_bits(cut, recalibrate, two_valued):
    values, y = problem()
    values = (values > 0.3).astype(np.int8) if two_valued else values
    fits = [
        SelectiveBernoulliNB(recalibrate=recalibrate).fit(X, y)
        for X in (values, grid(values, *cut))
    ]
    assert fits[0].selection_ == fits[1].selection_
    np.testing.assert_array_equal(*(fit.predict_proba(values) for fit in fits))


@pytest.mark.parametrize("cut", FITS.values(), ids=FITS)
@pytest.mark.parametrize(
    "options", [{}, {"recalibrate": "slope"}, {"criterion": lambda x, y: abs(x[y == 1].mean())}]
)
def test_real_features_of_a_cut_table_give_the_same_selection(cut, options):
    values, y = problem()
    values[5, 8] = NAN
    fits = [SelectiveGaussianNB(**options).fit(X, y) for X in (values, grid(values, *cut))]
    assert fits[0].selection_.columns == fits[1].selection_.columns
    np.testing.assert_allclose(*(fit.predict_proba(values) for fit in fits), atol=1e-9)
