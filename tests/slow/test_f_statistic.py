"""The F statistic against ten million simulated columns."""

import numpy as np
import pytest
from oracles_f_statistic import false_alarm_bound, simulated_kept

from honestbayes.correction.f_statistic import log_prob_kept

N_COLUMNS = 10_000_000


@pytest.mark.parametrize("sizes", [(3, 9), (5, 8, 30), (1, 4, 25, 3), (2, 60, 7, 11, 20)])
@pytest.mark.parametrize(("ratio", "gamma_squared"), [(0.0, 0.2), (0.1, 0.15), (1.0, 0.6)])
def test_ten_million_simulated_columns_are_kept_as_often(sizes, ratio, gamma_squared):
    rng = np.random.default_rng(11)
    p = np.exp(log_prob_kept(np.array([ratio]), np.array(sizes), gamma_squared))[0]
    frequency = simulated_kept(rng, N_COLUMNS, sizes, ratio, gamma_squared)
    assert abs(frequency - p) < false_alarm_bound(p, N_COLUMNS)
