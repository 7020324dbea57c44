"""scikit-learn's own checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveDiscriminant


@parametrize_with_checks([SelectiveDiscriminant()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
