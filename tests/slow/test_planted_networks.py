"""Deliberate mistakes in the kernels of networks, each of which an exact check notices."""

import numpy as np
import pytest
from planted.networks import compiled, gaps

BUGS = {
    "no ratio of neighbourhoods": [("gain += math.log(here / there)", "gain += 0.0")],
    "the ratio upside down": [("math.log(here / there)", "math.log(there / here)")],
    "reversible arcs that would make a cycle are counted": [
        (
            "good = (below[bit_count((others & -others) - 1)] >> j) & 1 == 0",
            "good = True",
        )
    ],
    "reversals of all parents are counted": [
        ("good = bit_count(parents[i]) < most", "good = True"),
        (
            "to_class, from_class, anyone = above, sets[SOLE] if room else 0 * one, under",
            "to_class, from_class, anyone = above, sets[SOLE], under & ~sets[SOLE]",
        ),
    ],
    "the arc from the class goes while the feature has other parents": [
        ("if parents[j] == of_class:", "if (parents[j] & of_class) != 0:")
    ],
    "a score is remembered for any parents": [
        (
            "if memory.node[slot] == node and memory.parents[slot] == parents:",
            "if memory.node[slot] == node:",
        )
    ],
    "K2 with one cell too many": [
        ("log_gamma[r] - log_gamma[cases + r]", "log_gamma[r + 1] - log_gamma[cases + r + 1]")
    ],
    "the prior is forgotten": [
        (
            "gain += problem.log_prior[n_arcs + more] - problem.log_prior[n_arcs]",
            "gain += 0.0",
        )
    ],
    "an exchange makes a cycle": [
        ("not general else below[j] | (one << j)", "not general else one << j")
    ],
    "features that stay in the blanket are taken for those that leave it": [
        ("if bit_count(children[i] & everyone) == 1:", "if bit_count(children[i] & everyone) >= 1:")
    ],
}


def is_wrong(found):
    """One false alarm in ten thousand."""
    return np.max(np.abs(found)) > 5.2 or np.mean(found**2) > 2.5


def test_the_check_passes_on_the_kernels_as_they_are():
    assert not is_wrong(gaps(compiled()))


@pytest.mark.parametrize("name", BUGS)
def test_the_mistake_is_noticed(name):
    assert is_wrong(gaps(compiled(BUGS[name])))


def test_a_ladder_that_changes_places_wrongly_is_noticed():
    """Places that are always changed: then the first step has the target of a mixture."""
    wrong = [
        ("math.log(1.0 - rng.random()) < gain:\n            arcs[t]", "True:\n            arcs[t]")
    ]
    heat = (1.0, 0.2)
    assert is_wrong(gaps(compiled(wrong), heat))
