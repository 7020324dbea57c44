"""Deliberate mistakes in the probability of being discarded, each of which a check notices.

Each check passes on the source as it is (tests/models/factors/test_plain_source.py), so what
fails is the mistake.
"""

import pytest
from factor_source import plain_modules
from planted.factor_event import CHECKS

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "multiplicity of -gamma^2 forgotten",
        "event",
        "degrees[dimensions] = n_cases - 1.0 - dimensions",
        "degrees[dimensions] = 1.0",
    ),
    (
        "mean not counted among the dimensions",
        "event",
        "degrees[dimensions] = n_cases - 1.0 - dimensions",
        "degrees[dimensions] = n_cases - dimensions",
    ),
    (
        "scores along the contrasts counted twice",
        "event",
        "left[f] -= basis[i, b] * along[b, f]",
        "left[f] -= 0.0",
    ),
    (
        "signal added to every dimension",
        "event",
        "            if b < n_contrasts:\n",
        "            if b < 1:\n",
    ),
    (
        "one dimension too many on the line",
        "contour",
        "others = 0.5 * (n_cases - 2.0 - d)",
        "others = 0.5 * (n_cases - 1.0 - d)",
    ),
    (
        "arrow of the covariance forgotten",
        "contour",
        "start += bend * square[f] * s * s / one",
        "start += 0.0",
    ),
]


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [mistake[1:] for mistake in MISTAKES],
    ids=[mistake[0] for mistake in MISTAKES],
)
def test_the_mistake_is_noticed(check, right, wrong):
    with plain_modules([(right, wrong)]) as modules:
        assert not CHECKS[check](modules)
