"""The stated bounds of calibration with all their replicates."""

import numpy as np
import pytest
from statistical.test_calibration import (
    CORRECTED,
    UNCORRECTED,
    assert_close_to_zero,
    prior_optimism,
    section_4_differences,
)


@pytest.mark.parametrize("name", CORRECTED)
@pytest.mark.parametrize("k", [1, 10, 100, 1000])
def test_corrected_claims_come_true_over_fifty_data_sets(name, k):
    differences = section_4_differences(range(50), k, 5000, **CORRECTED[name])
    assert_close_to_zero(differences)
    if name == "counts":  # the most that the data say: no data set is far off
        assert np.abs(differences).max() < 0.06


@pytest.mark.parametrize("k", [10, 100])
def test_uncorrected_claims_fail_over_fifty_data_sets(k):
    assert section_4_differences(range(50), k, 5000, **UNCORRECTED).mean() < -0.1


@pytest.mark.parametrize(("n", "p", "k"), [(10, 2000, 5), (20, 5000, 10), (40, 5000, 10)])
@pytest.mark.parametrize("name", CORRECTED)
def test_the_interval_of_optimism_over_the_prior_is_within_a_hundredth(n, p, k, name):
    optimism = prior_optimism(1500, n, p, k, **CORRECTED[name])
    half_width = 1.96 * optimism.std(ddof=1) / np.sqrt(optimism.size)
    assert abs(optimism.mean()) + half_width < 0.01
