"""Over data drawn from its prior the corrected mixture's claims come true; not without correction.

The full number of replicates runs in tests/slow.
"""

import numpy as np
import pytest
from mixture_replicates import optimism

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return optimism(range(24))


def test_corrected_claims_come_true(found):
    corrected = found["corrected"]
    error = corrected.std(ddof=1) / np.sqrt(corrected.size)
    assert abs(corrected.mean()) < 0.015 + 2 * error


def test_uncorrected_claims_do_not(found):
    uncorrected = found["uncorrected"]
    error = uncorrected.std(ddof=1) / np.sqrt(uncorrected.size)
    assert uncorrected.mean() - 2 * error > 0.05
