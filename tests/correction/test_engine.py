"""The interface of P(S): draws, limits, nodes, and what it refuses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from engine_cases import (
    ALPHA,
    CHI2,
    RATIO,
    F,
    f_bound,
    real_group,
    with_posterior,
)
from sklearn.exceptions import ConvergenceWarning

from honestbayes.correction.engine import log_prob_selection, selection_probability
from honestbayes.correction.event import Event, HyperNodes, event_of
from honestbayes.correction.feature_models import (
    BinaryFeatures,
    CategoricalFeatures,
    RealFeatures,
)
from honestbayes.selection import DiscardedGroup, Selection
from honestbayes.selection.criteria import as_criterion


def test_the_number_of_draws_does_not_grow_with_the_number_of_discarded_features():
    sizes, k, n_draws = (20, 30), 3, []
    for n_discarded in (10**3, 10**5, 10**7):
        event = Event(f_bound(sizes, k / n_discarded), (real_group(sizes, n_discarded),))
        ratio = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])
        nodes = with_posterior(RealFeatures(), F, event, ratio, k)
        found = log_prob_selection(
            RealFeatures(), F, event, nodes, method="simulation", tolerance=0.1
        )
        assert found.max_error <= 0.1
        n_draws.append(found.n_draws)
    assert max(n_draws) < 4 * min(n_draws)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    event = Event(12.0, (real_group((20, 30), 1000),))
    first, again, other = (
        log_prob_selection(
            RealFeatures(), F, event, HyperNodes(RATIO), method="simulation",
            tolerance=1.0, random_state=seed,
        ).log_prob
        for seed in (5, np.random.default_rng(5), 6)
    )  # fmt: skip
    np.testing.assert_array_equal(first, again)
    assert np.all(first[5:20] != other[5:20])


def test_the_same_draws_serve_any_nodes():
    event = Event(12.0, (real_group((20, 30), 1000),))
    probability = selection_probability(
        RealFeatures(), F, event, HyperNodes(RATIO), method="simulation", tolerance=1.0
    )
    whole = probability.at(HyperNodes(RATIO)).log_prob
    part = probability.at(HyperNodes(RATIO[10:20])).log_prob
    np.testing.assert_allclose(part, whole[10:20], rtol=1e-12)
    fine = probability.at(HyperNodes(np.geomspace(1e-3, 0.05, 200))).log_prob
    # Smooth: second differences are far smaller than first ones.
    assert np.abs(np.diff(fine, 2)).max() < 0.1 * np.abs(np.diff(fine)).max()


def test_the_limit_of_draws_is_kept_and_said():
    event = Event(12.0, (real_group((20, 30), 100_000),))
    with pytest.warns(ConvergenceWarning, match=r"selection by 'f' has a standard error of \d"):
        found = log_prob_selection(
            RealFeatures(), F, event, HyperNodes(RATIO), method="simulation",
            tolerance=1e-3, max_draws=20_000,
        )  # fmt: skip
    assert 15_000 < found.n_draws <= 20_000
    assert found.max_error > 1e-3


def test_a_limit_that_many_groups_cannot_keep_to_ends_too():
    groups = tuple(real_group((20, 30 - i % 10), 50) for i in range(60))
    with pytest.warns(ConvergenceWarning, match="not 0.001"):
        found = log_prob_selection(
            RealFeatures(), F, Event(9.0, groups), HyperNodes(RATIO), method="simulation",
            tolerance=1e-3, max_draws=1000,
        )  # fmt: skip
    assert found.n_draws < 40_000


def test_ties_too_rare_for_simulation_are_left_unknown():
    event = Event(CHI2.from_tables(np.array([[[30, 5, 2], [10, 20, 6]]]))[0],
                  (DiscardedGroup((37, 36), 500, 1, 3),))  # fmt: skip
    found = log_prob_selection(CategoricalFeatures(), CHI2, event, HyperNodes(ALPHA), tolerance=1.0)
    assert found.method == "simulation"
    assert found.ties == "unknown"
    assert np.all(np.isfinite(found.log_prob[-10:]))


def test_a_bound_that_no_draw_exceeds_leaves_nothing_to_correct():
    event = Event(1e9, (real_group((20, 30), 1000),))
    found = log_prob_selection(RealFeatures(), F, event, HyperNodes(RATIO), method="simulation")
    np.testing.assert_array_equal(found.log_prob, 0.0)


def test_a_selection_is_an_event():
    selection = Selection(
        rule="top", gamma_squared=Fraction(1, 4), kept=(3,), always_kept=(), n_features_in=10,
        class_counts=(5, 6), groups=(DiscardedGroup((5, 6), 9, 2),), n_tied_kept=1,
    )  # fmt: skip
    event = event_of(selection, selection.gamma)
    assert event == Event(0.5, selection.groups, "known", 1)
    assert event_of(replace(selection, ties_known=False), 0.5).ties == "unknown"
    assert event_of(replace(selection, rule="threshold"), 0.5).ties == "at_most"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda column, y: column[0] + y[0], "order of the cases"),
        (lambda column, y: abs(column[y == 1].mean()) / column.std(), "origin of a feature's"),
        (lambda column, y: abs(column[y == 1].mean() - column.mean()), "unit of a feature's"),
    ],
)
def test_a_function_that_depends_on_what_it_may_not_is_refused(function, words):
    event = Event(1.0, (real_group((6, 8), 10),))
    with pytest.raises(ValueError, match=words):
        log_prob_selection(RealFeatures(), as_criterion(function), event, HyperNodes(RATIO))


def welch(column, y):
    a, b = column[y == 0], column[y == 1]
    return abs(a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)


@pytest.mark.parametrize(
    ("model", "criterion", "event", "options", "words"),
    [
        (RealFeatures(), CHI2, Event(1.0, (real_group((5, 5), 9),)), {}, "not for real"),
        (
            RealFeatures(),
            F,
            Event(1.0, (real_group((5, 5), 9),)),
            {"method": "x"},
            "'x' is unknown",
        ),
        (
            RealFeatures(),
            as_criterion(welch),
            Event(1.0, (real_group((5, 5), 9),)),
            {"method": "exact"},
            "has no exact form for criterion='welch'",
        ),
        (
            BinaryFeatures(),
            CHI2,
            Event(1.0, (DiscardedGroup((90, 90), 9, n_levels=3),)),
            {},
            "binary features have two levels",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(model, criterion, event, options, words):
    with pytest.raises(ValueError, match=words):
        log_prob_selection(model, criterion, event, HyperNodes(RATIO[1:]), **options)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((np.zeros((2, 2)),), "shape"),
        ((RATIO, np.ones((3, 2))), r"mixing the shape \(T, A\)"),
        ((RATIO, np.ones((3, RATIO.size)), np.zeros(RATIO.size)), r"log_weight .* \(3,\)"),
    ],
)
def test_arrays_of_nodes_that_do_not_fit_are_refused(nodes, words):
    with pytest.raises(ValueError, match=words):
        HyperNodes(*nodes)


def test_a_bound_of_nan_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        Event(np.nan, ())


@pytest.mark.parametrize("ties", ["known", "unknown", "at_most"])
def test_slopes_are_differences_of_log_probabilities(ties):
    groups = (DiscardedGroup((9, 9), 200, 3), DiscardedGroup((9, 8), 40, 0))
    event = Event(0.5, groups, ties, 2)
    beyond, tied = np.array([[0.01, 0.02], [0.3, 0.2]]), np.array([[0.004, 0.01], [0.1, 0.02]])
    slopes = event.slopes(beyond, tied)
    step = 1e-6
    for kind in range(2):
        for g in range(2):
            moved = [np.zeros((2, 2)), np.zeros((2, 2))]
            moved[kind][:, g] = step
            up = event.log_prob(beyond + moved[0], tied + moved[1])
            down = event.log_prob(beyond - moved[0], tied - moved[1])
            np.testing.assert_allclose(slopes[kind][:, g], (up - down) / (2 * step), rtol=1e-5)
