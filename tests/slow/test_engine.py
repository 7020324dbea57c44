"""P(S) by simulation at full accuracy, and its standard errors over a thousand repetitions."""

import numpy as np
import pytest
from engine_cases import (
    ALPHA,
    CHI2,
    CORRELATION,
    INFORMATION,
    RATIO,
    F,
    assert_agree,
    both_ways,
    f_bound,
    real_group,
    repeated_z,
    with_posterior,
)

from honestbayes.correction.event import Event
from honestbayes.correction.feature_models import (
    BinaryFeatures,
    CategoricalFeatures,
    RealFeatures,
)
from honestbayes.selection import DiscardedGroup

BINARY = {
    (8, 12): (0.5, 0.6, 0.7),
    (30, 20): (0.3, 0.45, 0.6),
    (100, 100): (0.15, 0.25, 0.35),
    (40, 300): (0.15, 0.25),
}
REAL = [(20, 30), (4, 40), (10, 20, 30), (1, 12, 25), (5, 9, 30, 12), (40, 40, 41, 200)]
DISCRETE = [
    (INFORMATION, (12, 15), 3, 0.25),
    (INFORMATION, (60, 80), 2, 0.06),
    (CHI2, (20, 18, 25), 2, 12.0),
    (CHI2, (4, 5, 4), 3, 9.0),
    (CORRELATION, (9, 9), 4, 0.75),
]


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize(
    ("sizes", "bound"), [(sizes, bound) for sizes, bounds in BINARY.items() for bound in bounds]
)
def test_binary_features_over_a_grid(sizes, bound, k):
    one = Event(bound, (DiscardedGroup(sizes, 1),), "at_most")
    nodes = with_posterior(BinaryFeatures(), CORRELATION, one, ALPHA, 1)
    kept = np.exp(nodes.log_weight[20])
    event = Event(bound, (DiscardedGroup(sizes, int(np.ceil(k / kept))),), "at_most")
    nodes = with_posterior(BinaryFeatures(), CORRELATION, event, ALPHA, k)
    exact, drawn = both_ways(
        BinaryFeatures(), CORRELATION, event, nodes, max_draws=1 << 23, random_state=k
    )
    assert_agree(exact, drawn, nodes, 0.05)


@pytest.mark.parametrize("sizes", REAL)
@pytest.mark.parametrize(("kept", "k"), [(1e-2, 2), (1e-4, 2), (1e-6, 2), (1e-3, 10)])
def test_real_features_over_a_grid(sizes, kept, k):
    event = Event(f_bound(sizes, kept), (real_group(sizes, int(k / kept)),))
    nodes = with_posterior(RealFeatures(), F, event, RATIO, k)
    exact, drawn = both_ways(RealFeatures(), F, event, nodes, max_draws=1 << 23, random_state=k)
    assert_agree(exact, drawn, nodes, 0.05)


@pytest.mark.parametrize(("criterion", "sizes", "levels", "bound"), DISCRETE)
def test_discrete_features_over_a_grid(criterion, sizes, levels, bound):
    model = CategoricalFeatures()
    event = Event(bound, (DiscardedGroup(sizes, 300, n_levels=levels),))
    nodes = with_posterior(model, criterion, event, ALPHA, 3)
    exact, drawn = both_ways(model, criterion, event, nodes, max_draws=1 << 23)
    assert_agree(exact, drawn, nodes, 0.05)


REPEATED = {
    "two classes": (RealFeatures(), F, Event(30.0, (real_group((20, 30), 10**5),)), RATIO, 3),
    "four classes": (RealFeatures(), F, Event(9.0, (real_group((5, 9, 30, 12), 3000),)), RATIO, 3),
    "three levels": (
        CategoricalFeatures(),
        INFORMATION,
        Event(0.25, (DiscardedGroup((12, 15), 300, n_levels=3),)),
        ALPHA,
        3,
    ),
}


@pytest.mark.parametrize("case", REPEATED)
def test_errors_over_a_thousand_repetitions(case):
    z = repeated_z(*REPEATED[case], repetitions=1000)
    limit = 4.0 / np.sqrt(len(z))
    assert np.all(np.abs(z.mean(axis=0)) < limit)
    assert np.all(np.abs(np.log(z.std(axis=0))) < limit)
