"""scikit-learn's own checks of models with interactions, with few sweeps."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import InteractionClassifier, InteractionRegressor, SequenceClassifier

pytestmark = pytest.mark.slow

SHORT = {"n_chains": 2, "n_draws": 40, "n_warmup": 10, "n_doublings": 0, "thin": 2}


EXCEPTIONS = {
    "check_estimators_nan_inf": "missing cells are refused in training alone",
}
OF_SEQUENCES = {"check_classifiers_train": "with order 1 only the last column is looked at"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*match.* no pattern of training")
@parametrize_with_checks(
    [
        InteractionClassifier(order=1, random_state=0, **SHORT),
        InteractionRegressor(order=1, random_state=0, **SHORT),
        SequenceClassifier(order=1, random_state=0, **SHORT),
    ],
    expected_failed_checks=lambda estimator: (
        EXCEPTIONS | (OF_SEQUENCES if isinstance(estimator, SequenceClassifier) else {})
    ),
)
def test_sklearn(estimator, check):
    check(estimator)
