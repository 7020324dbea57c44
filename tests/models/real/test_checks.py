"""scikit-learn's own checks, all of them."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveGaussianNB


@parametrize_with_checks([SelectiveGaussianNB(), SelectiveGaussianNB(recalibrate=None)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
