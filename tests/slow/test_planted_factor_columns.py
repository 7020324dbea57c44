"""Deliberate mistakes in what is drawn given the scores, each of which a check notices.

Each check passes on the source as it is (tests/models/factors/test_plain_source.py), so what
fails is the mistake.
"""

import pytest
from factor_source import plain_modules
from planted.factor_columns import CHECKS

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "shifts of the factors without their noise",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] *= more / (1.0 + more)",
    ),
    (
        "shifts of the factors not shrunk",
        "shifts",
        "along[b, f] = more / (1.0 + more) * along[b, f] + noise",
        "along[b, f] += 0.0 * noise",
    ),
    (
        "degrees of freedom of s2: n for n - 1",
        "density",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "the same, seen in draws",
        "parameters",
        "half = 0.5 * (design.codes.size - 1)",
        "half = 0.5 * design.codes.size",
    ),
    (
        "loadings not scaled by s2",
        "parameters",
        "fitted[f] += np.sqrt(s2) * rng.standard_normal()",
        "fitted[f] += rng.standard_normal()",
    ),
    (
        "flat nu not integrated out",
        "density",
        "        constant -= 0.5 * np.log(total[a])\n",
        "",
    ),
    (
        "determinant of the scores forgotten",
        "density",
        "constant - cholesky(matrix, root[a, g])",
        "constant + 0.0 * cholesky(matrix, root[a, g])",
    ),
    (
        "class effects without their noise",
        "parameters",
        "centre[c] = nu + own * (mean[c] - nu) + noise",
        "centre[c] = nu + own * (mean[c] - nu)",
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
