"""What the factor classifier claims is what happens, with the correction and not without."""

import numpy as np
import oracles_factor as oracle
import pytest

from honestbayes import SelectiveFactorClassifier
from honestbayes.likelihood.normal import heavy_tailed, ratio_grid

few_sweeps = pytest.mark.filterwarnings("ignore:the chains have not converged")


def optimism(correction, n_tables, seed=0):
    """Actual minus expected error on new cases, over tables drawn from the model's prior."""
    rng = np.random.default_rng(seed)
    n, p, n_new = 20, 600, 200
    ratio = ratio_grid(n)
    scales = np.exp(np.linspace(np.log(ratio[1]) - 9.0, 0.0, 24))
    found = []
    for r in range(n_tables):
        codes = np.arange(n + n_new) % 2
        log_loading = np.clip(oracle.draw_log_loading(rng), -4, 4)
        log_shift = np.clip(oracle.draw_log_loading(rng), -8, 2)
        scores = oracle.draw_scores(rng, codes, 1, log_shift)
        X, _, _ = oracle.draw_columns(
            rng,
            scores,
            codes,
            log_loading,
            oracle.draw_log_noise(rng),
            heavy_tailed(ratio, scales[rng.integers(24)]),
            ratio,
            3.0,
            3.0,
            p,
        )
        model = SelectiveFactorClassifier(
            n_features_to_select=5,
            n_factors=1,
            feature_prior="heavy-tailed",
            correction=correction,
            recalibrate=None,
            n_chains=1,
            n_warmup=80,
            n_draws=120,
            random_state=r,
        ).fit(X[:n], codes[:n])
        proba = model.predict_proba(X[n:])
        found.append(np.mean(proba.argmax(axis=1) != codes[n:]) - proba.min(axis=1).mean())
    return np.array(found)


@few_sweeps
def test_the_claimed_error_is_the_actual_one_with_the_correction_and_not_without():
    n_tables = 50
    corrected = optimism("selection", n_tables)
    error = corrected.std() / np.sqrt(n_tables)
    assert abs(corrected.mean()) < 3 * error + 0.01
    # On the same tables, so that what is due to a table's own luck cancels.
    more = optimism(None, n_tables) - corrected
    assert more.mean() > 0.02
    assert more.mean() > 3 * more.std() / np.sqrt(n_tables)
