"""scikit-learn's own checks, of the average with one candidate; with all of them in tests/slow."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import HonestClassifier


@parametrize_with_checks([HonestClassifier(candidates=["discriminant"])])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
