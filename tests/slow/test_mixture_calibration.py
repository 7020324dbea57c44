"""The corrected mixture's optimism over its prior, with an interval within +-0.015."""

import numpy as np
import pytest
from mixture_replicates import optimism


def test_the_interval_of_the_optimism_is_narrow_and_holds_zero_only_with_the_correction():
    found = optimism(range(300))
    ends = {}
    for name, values in found.items():
        error = values.std(ddof=1) / np.sqrt(values.size)
        ends[name] = (values.mean() - 1.96 * error, values.mean() + 1.96 * error)
    assert -0.015 < ends["corrected"][0] < ends["corrected"][1] < 0.015, ends
    assert ends["uncorrected"][0] > 0.05, ends


def difference(column, y):
    """Keep features that are more frequent in class 1."""
    return column[y == 1].mean() - column[y == 0].mean()


@pytest.mark.parametrize("criterion", ["mutual_information", "chi2", difference])
def test_optimism_vanishes_over_the_prior_with_other_criteria(criterion):
    (values,) = optimism(range(600), ["corrected"], criterion=criterion).values()
    half_width = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert abs(values.mean()) + half_width < 0.01, (values.mean(), half_width)
    (control,) = optimism(range(60), ["uncorrected"], criterion=criterion).values()
    assert control.mean() > 0.05
