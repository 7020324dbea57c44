"""scikit-learn's own checks, all of them; other settings with the slow tests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveLogistic


@parametrize_with_checks([SelectiveLogistic(recalibrate=None, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SelectiveLogistic(random_state=0),
        SelectiveLogistic(recalibrate=None, normal_scores=True, n_features_to_select="all"),
    ]
)
def test_scikit_learn_checks_with_other_settings(estimator, check):
    check(estimator)
