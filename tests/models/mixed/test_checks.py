"""scikit-learn's own checks, all of them; other settings are in tests/slow."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveMixedNB


@parametrize_with_checks([SelectiveMixedNB(recalibrate=None, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
