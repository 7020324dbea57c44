"""scikit-learn's own checks of the mixture, with few sweeps; other settings are in tests/slow."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from honestbayes import SelectiveMixture

SHORT = {"n_chains": 2, "n_draws": 40, "n_warmup": 10, "n_doublings": 0, "thin": 2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SelectiveMixture(random_state=0, **SHORT)])
def test_sklearn(estimator, check):
    check(estimator)
