"""Deliberate mistakes in the chains over subsets, each of which the exact chain shows."""

import pytest
from planted.subsets import MOST, farthest, plain_python

CASES = {
    "uniform": ("uniform", 0.0, 3),
    "two_step": ("two_step", 0.0, 3),
    "swap": ("two_step", 0.4, 2),
}

BUGS = {
    "the factor 2 of moves into an end is missing, as in the printed equation 8": (
        "two_step",
        [("math.log(back * (p - size) / chance)", "math.log((p - size) / (size + 1.0))")],
    ),
    "the largest size has as many neighbours as any other": (
        "uniform",
        [
            (
                "        log_ratio = math.log((n_adding + size) / n_after)\n",
                "        log_ratio = 0.0\n",
            )
        ],
    ),
    "the prior is that of the size before": (
        "two_step",
        [
            (
                "moves.log_prior[size_after(size, enters, leaves)]\n            then",
                "moves.log_prior[size]\n            then",
            )
        ],
    ),
    "a feature that leaves keeps its value": (
        "swap",
        [("                new -= values[order[leaves]]\n", "                pass\n")],
    ),
    "the way back is forgotten": ("two_step", [("then - now + log_ratio", "then - now")]),
    "always the same feature is deleted": (
        "two_step",
        [("    return -1, int(rng.integers(0, size)), math.log", "    return -1, 0, math.log")],
    ),
    "what was accepted is not remembered": (
        "two_step",
        [
            (
                "                score, now = new, then\n        note",
                "                score = new\n        note",
            )
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_check_passes_on_the_kernels_as_they_are(case):
    assert farthest(plain_python(), *CASES[case]) < MOST


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_mistake_is_noticed(bug):
    case, changes = BUGS[bug]
    assert farthest(plain_python(changes), *CASES[case]) > MOST
