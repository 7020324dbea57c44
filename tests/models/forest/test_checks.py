"""scikit-learn's own checks, all of them; other settings with the slow tests."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes.models.forest.estimator import ForestClassifier


@parametrize_with_checks([ForestClassifier(n_trees=20, recalibrate=None, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        ForestClassifier(n_trees=20, random_state=0),
        ForestClassifier(n_trees=20, splits="best", normal_scores=True, n_features_to_select=1),
    ]
)
def test_scikit_learn_checks_with_other_settings(estimator, check):
    check(estimator)
