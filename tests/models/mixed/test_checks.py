"""scikit-learn's own checks, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveMixedNB


@parametrize_with_checks(
    [SelectiveMixedNB(random_state=0), SelectiveMixedNB(recalibrate=None, random_state=0)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
