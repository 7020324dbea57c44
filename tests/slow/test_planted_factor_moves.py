"""Deliberate mistakes in moves of the factor model's sweep, each of which a check notices.

Each check passes on the source as it is (tests/models/factors/test_plain_source.py), so what
fails is the mistake.
"""

import pytest
from factor_source import plain_modules
from planted.factor_moves import CHECKS, LONG

# Name, the check that notices it, the right text, and the wrong one.
MISTAKES = [
    (
        "shifts forgotten where scores are rescaled",
        "rescaling",
        "square -= more / (1.0 + more) * np.sum(along[b] ** 2)",
        "square -= 0.0",
    ),
    (
        "the class's part of the scores without the shifts' variance",
        "along",
        "        other[b] *= np.sqrt(1.0 + shift * event.signal[b])\n",
        "        other[b] *= 1.0\n",
    ),
    (
        "rescaling always accepted",
        "rescaling",
        "if inside and np.log(rng.random()) < change:",
        "if inside:",
    ),
    (
        "rescaling by a wrong power",
        "rescaling",
        "rng.standard_gamma(0.5 * n * d)",
        "rng.standard_gamma(0.5 * (n * d + 2))",
    ),
    (
        "scores accepted whatever P(S)",
        "scores",
        "if np.log(rng.random()) < value - now:",
        "if True:",
    ),
    (
        "proposals of scores with too much noise",
        "scores",
        "fresh = np.sqrt(1.0 - kept_share**2)",
        "fresh = 1.0",
    ),
    (
        "the class's part of the scores without P(S)",
        "along",
        "return likelihood + _log_selection_at(event, design, node, scores, loading[0])",
        "return likelihood",
    ),
    (
        "the share of noise without its Jacobian",
        "ratios",
        "return log_noise - np.exp(log_noise)",
        "return -np.exp(log_noise)",
    ),
    (
        "the shape of the variances' prior forgotten",
        "ratios",
        "            result += design.shape[j] * x\n",
        "            result += 0.0\n",
    ),
    (
        "loading ratio without P(S)",
        "ratios",
        "    if g == 0:\n        result += _log_sel",
        "    if g == 9:\n        result += _log_sel",
    ),
]


@pytest.mark.parametrize("name", LONG)
def test_the_check_passes_on_the_source_as_it_is(name):
    with plain_modules() as modules:
        assert CHECKS[name](modules)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [mistake[1:] for mistake in MISTAKES],
    ids=[mistake[0] for mistake in MISTAKES],
)
def test_the_mistake_is_noticed(check, right, wrong):
    with plain_modules([(right, wrong)]) as modules:
        assert not CHECKS[check](modules)
