"""scikit-learn's own checks; other settings are in tests/slow."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveCategoricalNB

EXCEPTIONS = {
    "check_fit_non_negative": "it fits a column of one value, -1: two values or fewer are "
    "categories, whatever they are. Columns of more are refused, as another check sees.",
    "check_decision_proba_consistency": "its table has fractions, which are no categories.",
}


@parametrize_with_checks(
    [SelectiveCategoricalNB(random_state=0)], expected_failed_checks=lambda _: EXCEPTIONS
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
