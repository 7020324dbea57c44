"""scikit-learn's own checks of network classifiers, with few draws."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import AveragedNetworkClassifier

pytestmark = pytest.mark.slow

SHORT = {"n_chains": 2, "n_draws": 40, "n_warmup": 10, "n_doublings": 0, "thin": 50}

EXCEPTIONS = {
    "check_estimators_nan_inf": "missing cells are refused in training alone",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*treated as missing")
@parametrize_with_checks(
    [AveragedNetworkClassifier(random_state=0, **SHORT)],
    expected_failed_checks=lambda _estimator: EXCEPTIONS,
)
def test_sklearn(estimator, check):
    check(estimator)
