"""Deliberate mistakes in the kernels of networks, each of which an exact check notices."""

import numpy as np
import pytest
from planted.networks import compiled, gaps, ladder_is_wrong, plain_python, wrong_steps

from honestbayes.models.networks import model

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


HASTINGS = "gain += math.log(here / there)"

STEPS = {
    "no ratio of neighbourhoods": ("uniform proposal", [(HASTINGS, "gain += 0.0")]),
    "neighbourhoods without the deletions of arcs": (
        "uniform proposal",
        [("else ADD_FEATURE, DELETE_ARC + 1):", "else ADD_FEATURE, DELETE_ARC):")],
    ),
    "the neighbourhood of the same kind alone": (
        "uniform proposal, any graph",
        [
            (
                "            number += here\n        return number, kind, -1",
                "            number = here\n        return number, kind, -1",
            )
        ],
    ),
    "the printed moves with a ratio": (
        "printed",
        [
            ("elif variant.proposal != PRINTED:", "else:"),
            (HASTINGS, "gain += math.log(here / max(there, 1))"),
        ],
    ),
    "a printed move that closes a cycle": (
        "printed",
        [("who = one << k if (below[j] >> k) & 1 == 0 else 0 * one", "who = one << k")],
    ),
    "a blanket without the other parents of children": (
        "printed",
        [("result |= parents[j] | (one << j)", "result |= one << j")],
    ),
    "the temperature is forgotten": (
        "Poisson number of features, at a temperature",
        [("                gain /= variant.temperature\n", "                gain += 0.0\n")],
    ),
    "the prior of the number of features is forgotten": (
        "number of features",
        [("if variant is not None and variant.log_prior_of_features.size:", "if False:")],
    ),
    "the features before the move are forgotten": (
        "number of features",
        [("gain -= variant.log_prior_of_features[bit_count(sets[BLANKET])]", "gain -= 0.0")],
    ),
    "a row is in the tables that score it": (
        "accuracy, leave-one-out",
        [("leaves = held_out and f >= 0", "leaves = False")],
    ),
    "rows of a fold do not come back": (
        "Brier, folds",
        [
            (
                "                    other += 1\n        if leaves:",
                "                    other += 1\n        if False:",
            )
        ],
    ),
    "rows of no fold are not scored": (
        "Brier, folds",
        [("for f in range(-1 if held_out else 0,", "for f in range(0,")],
    ),
    "the table of the class is left out": (
        "conditional likelihood",
        [("if j == last or (parents[j] >> last) & 1:", "if (parents[j] >> last) & 1:")],
    ),
    "features count that are no children": (
        "conditional likelihood",
        [("if j == last or (parents[j] >> last) & 1:", "if True:")],
    ),
    "probabilities that do not sum to 1": (
        "conditional likelihood",
        [("(whole[slot] + a * r)", "(whole[slot] + a)")],
    ),
    "BDeu with a sum for each class": (
        "Brier, folds",
        [("combinations * n_classes * r)", "combinations * r)")],
    ),
    "log-odds are remembered for any parents": (
        "conditional likelihood",
        [
            (
                "if rows.node[slot] != node or rows.parents[slot] != parents:",
                "if rows.node[slot] != node:",
            )
        ],
    ),
    "the score of the graph before is kept": (
        "accuracy",
        [("log_weight(family[0], variant))", "log_weight(0.5, variant))")],
    ),
}


def step_is_wrong(name, changes):
    """Whether steps differ from the exact matrix, or cannot be made."""
    try:
        return wrong_steps(plain_python(changes), name) > 0
    except (ZeroDivisionError, ValueError, IndexError, RuntimeWarning):
        return True


def test_the_checks_of_steps_pass_on_the_kernels_as_they_are():
    for name in {name for name, _ in STEPS.values()}:
        assert not step_is_wrong(name, [])


@pytest.mark.parametrize("name", STEPS)
def test_the_mistake_in_a_step_is_noticed(name):
    assert step_is_wrong(*STEPS[name])


def test_a_prior_that_does_not_count_graphs_is_noticed(monkeypatch):
    monkeypatch.setattr(model, "n_graphs_of_blanket", lambda k, _most: (1,) * (k + 1))
    assert step_is_wrong("number of features", [])


def test_a_ladder_without_the_temperature_is_noticed():
    assert not ladder_is_wrong(plain_python())
    assert ladder_is_wrong(plain_python([("gain /= variant.temperature  #", "gain += 0.0  #")]))
