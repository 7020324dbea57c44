"""scikit-learn's own checks of the selectors and their naive Bayes."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import (
    AveragedNB,
    BoostedProbabilitySelector,
    DiscreteNB,
    ForwardProbabilitySelector,
    SubsetSampler,
)

CHAINS = {"n_chains": 2, "n_doublings": 0, "n_draws": 50, "n_warmup": 20, "random_state": 0}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ForwardProbabilitySelector(),
        BoostedProbabilitySelector(n_rounds=3),
        DiscreteNB(),
        AveragedNB(**CHAINS),
        SubsetSampler(n_features_to_select=1, **CHAINS),
    ]
)
def test_sklearn(estimator, check):
    check(estimator)
