"""Simulation-based calibration of the mixture, selection and all.

Talts, S., Betancourt, M., Simpson, D., Vehtari, A. and Gelman, A. (2018). Validating Bayesian
inference algorithms with simulation-based calibration.
"""

import warnings

import numpy as np
import pytest
from mixture_replicates import ALPHA_PRIOR, PSEUDOCOUNTS, RESPONSE_PRIOR, K, N, draw_all
from scipy import stats

from honestbayes import SelectiveMixture

N_RANKS = 20


@pytest.fixture(scope="module")
def ranks():
    """Ranks of the true log(alpha) and P(class 1) among thinned draws, one for each data set."""
    found = []
    for seed in range(240):
        X, y, truth = draw_all(seed)
        model = SelectiveMixture(
            n_features_to_select=K,
            class_pseudocounts=PSEUDOCOUNTS,
            alpha_prior=ALPHA_PRIOR,
            response_prior=RESPONSE_PRIOR,
            n_chains=1,
            n_draws=N_RANKS - 1,
            n_warmup=10,
            n_doublings=0,
            thin=40,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nineteen draws are few by design
            model.fit(X[:N], y[:N])
        draws = model.draws_
        shares = (draws.pooled("psi") * draws.pooled("phi")[:, :, 0]).sum(axis=1)
        found.append(
            [
                np.sum(draws.pooled("log_alpha") < np.log(truth["alpha"])),
                np.sum(draws.pooled("log_alpha_0") < np.log(truth["alpha_0"])),
                np.sum(shares < truth["class_1"]),
            ]
        )
    return np.array(found)


@pytest.mark.parametrize("column", [0, 1])
def test_ranks_of_the_truth_are_uniform(ranks, column):
    counts = np.bincount(ranks[:, column] // 4, minlength=N_RANKS // 4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_the_class_s_share_is_neither_too_high_nor_too_low(ranks):
    """Draws are of its conditional mean, which spreads less than the share itself."""
    below = ranks[:, 2] / (N_RANKS - 1)
    error = below.std(ddof=1) / np.sqrt(below.size)
    assert abs(below.mean() - 0.5) < 4.2 * error
