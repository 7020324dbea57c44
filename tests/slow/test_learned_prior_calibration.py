"""Calibration of the learned prior over many seeds."""

import math

import numpy as np
import pytest
from planted_features import draw_features, exact_optimism, fit_counts


# A spread that the data hardly show is believed too little: claims are then too careful.
@pytest.mark.parametrize(
    ("mean", "sd", "careful"), [(4.0, 1.0, 0.01), (5.0, 0.7, 0.02), (6.0, 0.8, 0.03)]
)
def test_probabilities_are_calibrated_over_a_hundred_seeds(mean, sd, careful):
    values = []
    for seed in range(100):
        phi, ones, _, _ = draw_features(
            seed,
            10_000,
            (100, 100),
            lambda r, p: r.normal(mean, sd, p),
            lambda r, p: r.beta(2, 5, p),
        )
        values.append(exact_optimism(fit_counts(ones, (100, 100), 5, "learned"), phi))
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert -careful - 2 * error < np.mean(values) < 0.01 + 2 * error
