"""scikit-learn's own checks of the selectors and their naive Bayes."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import BoostedProbabilitySelector, DiscreteNB, ForwardProbabilitySelector


@parametrize_with_checks(
    [
        ForwardProbabilitySelector(),
        BoostedProbabilitySelector(n_rounds=3),
        DiscreteNB(),
    ]
)
def test_sklearn(estimator, check):
    check(estimator)
