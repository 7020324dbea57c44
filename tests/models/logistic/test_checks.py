"""scikit-learn's own checks, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveLogistic


@parametrize_with_checks(
    [
        SelectiveLogistic(random_state=0),
        SelectiveLogistic(recalibrate=None, normal_scores=True, n_features_to_select="all"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
