"""The optimism of three components and three classes over their prior, 200 data sets."""

import numpy as np
import pytest
from components_replicates import optimism


@pytest.mark.timeout(3600)
def test_the_interval_of_the_optimism_is_narrow_and_holds_zero_only_with_the_correction():
    found = optimism(range(200))
    ends = {}
    for name, values in found.items():
        error = values.std(ddof=1) / np.sqrt(values.size)
        ends[name] = (values.mean() - 1.96 * error, values.mean() + 1.96 * error)
    assert -0.02 < ends["corrected"][0] < ends["corrected"][1] < 0.02, ends
    assert ends["uncorrected"][0] > 0.04, ends
