"""scikit-learn's own checks of the estimator; other settings are in tests/slow."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveBernoulliNB

# Checks that cannot pass, each with its reason; at most three.
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks(
    [SelectiveBernoulliNB()], expected_failed_checks=lambda _: EXPECTED_FAILURES
)
def test_scikit_learn_s_check_passes(estimator, check):
    check(estimator)


def test_at_most_three_checks_are_excused():
    assert len(EXPECTED_FAILURES) <= 3
