"""scikit-learn's own checks, all of them; other settings are in tests/slow."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveGaussianNB


@parametrize_with_checks([SelectiveGaussianNB()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
