"""scikit-learn's own checks, all of them, with few sweeps; other settings are in tests/slow."""

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes.models.factors.estimator import SelectiveFactorClassifier, SelectiveFactorRegressor

FEW = {
    "n_factors": 1,
    "n_chains": 2,
    "n_warmup": 10,
    "n_draws": 10,
    "n_doublings": 0,
    "random_state": 0,
}

pytestmark = [
    pytest.mark.slow,
    # So few sweeps are too few, and the estimators say so.
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]


@parametrize_with_checks(
    [
        SelectiveFactorClassifier(**FEW, recalibrate=None),
        SelectiveFactorRegressor(**FEW),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
