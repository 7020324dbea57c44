"""P(S) by simulation against exact results, and whether its standard errors are right."""

import warnings
from dataclasses import replace

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
    kept_weight,
    real_group,
    repeated_z,
    with_posterior,
)
from grids import each_once, few
from sklearn.exceptions import ConvergenceWarning

from honestbayes.correction import discard, simulated_selection
from honestbayes.correction.engine import log_prob_selection, selection_probability
from honestbayes.correction.event import Event, HyperNodes
from honestbayes.correction.feature_models import (
    BinaryFeatures,
    CategoricalFeatures,
    RealFeatures,
)
from honestbayes.correction.simulated_selection import (
    GroupSimulation,
    JudgedColumns,
    proposal_atoms,
)
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import as_criterion

BINARY = [
    # sizes, tied table (ones in class 0 and 1) or bound, discarded, tied discarded, kept
    ((8, 8), (1, 6), 400, 3, 4),
    ((10, 12), (1, 9), 400, 3, 4),
    ((30, 20), 0.45, 1000, 0, 10),
    ((30, 20), (3, 12), 2000, 1, 3),
    ((60, 70), 0.42, 20_000, 0, 2),
]


@pytest.mark.slow_cases("case 2-case 0", "case 3-case 1", "case 4-case 0")
@each_once("case, model", BINARY, [BinaryFeatures(), CategoricalFeatures()])
def test_simulated_binary_features_agree_with_the_formula(case, model):
    sizes, at, n_discarded, n_tied, k = case
    bound = at if isinstance(at, float) else float(discard.squared_correlation(*at, *sizes)) ** 0.5
    event = Event(bound, (DiscardedGroup(sizes, n_discarded, n_tied),))
    nodes = with_posterior(model, CORRELATION, event, ALPHA, k)
    exact, drawn = both_ways(model, CORRELATION, event, nodes, tolerance=0.1, random_state=3)
    assert_agree(exact, drawn, nodes, 0.1)


def test_simulation_with_an_interval_of_theta_agrees_with_the_formula():
    model = BinaryFeatures((0.2, 1.0))
    event = Event(0.45, (DiscardedGroup((30, 20), 1000),), "at_most")
    nodes = with_posterior(model, CORRELATION, event, ALPHA, 3)
    assert_agree(*both_ways(model, CORRELATION, event, nodes, tolerance=0.1), nodes, 0.1)


@each_once(
    "sizes, discarded",
    [(20, 30), (4, 40), (10, 20, 30), (5, 9, 30, 12)],
    [(3e-3, 1000), (1e-4, 30_000)],
)
def test_simulated_real_features_agree_with_the_formula(sizes, discarded):
    kept, n_discarded = discarded
    event = Event(f_bound(sizes, kept), (real_group(sizes, n_discarded),))
    nodes = with_posterior(RealFeatures(), F, event, RATIO, 2)
    exact, drawn = both_ways(RealFeatures(), F, event, nodes, tolerance=0.1, random_state=1)
    assert_agree(exact, drawn, nodes, 0.1)


@pytest.mark.slow_cases("criterion2-sizes2-4-0.75")
@pytest.mark.parametrize(
    ("criterion", "sizes", "levels", "bound"),
    [(INFORMATION, (12, 15), 3, 0.25), (CHI2, (8, 7, 9), 2, 8.0), (CORRELATION, (9, 9), 4, 0.75)],
)
def test_simulated_categorical_features_agree_with_all_tables(criterion, sizes, levels, bound):
    model = CategoricalFeatures()
    event = Event(bound, (DiscardedGroup(sizes, 300, n_levels=levels),))
    nodes = with_posterior(model, criterion, event, ALPHA, 3)
    exact, drawn = both_ways(model, criterion, event, nodes, tolerance=0.1, random_state=2)
    assert exact.method == "enumeration"
    assert_agree(exact, drawn, nodes, 0.1)


def test_simulated_groups_and_mixtures_agree_with_the_formula():
    groups = (real_group((20, 30), 1500), real_group((18, 0, 9), 0), real_group((17, 24), 200))
    groups = tuple(g for g in groups if len(g.observed) == 2)
    event = Event(15.0, groups)
    scale = np.geomspace(1e-4, 0.1, 12)
    mixing = np.exp(-RATIO[None] / scale[:, None])
    mixing /= mixing.sum(axis=1, keepdims=True)
    nodes = HyperNodes(RATIO, mixing)
    nodes = replace(nodes, log_weight=kept_weight(RealFeatures(), F, event, nodes, 3))
    exact, drawn = both_ways(RealFeatures(), F, event, nodes, tolerance=0.1)
    assert_agree(exact, drawn, nodes, 0.1)


def test_many_groups_cost_no_more_than_one():
    rng = np.random.default_rng(0)
    observed, times = np.unique(
        rng.binomial([[20], [30]], 0.95, (2, 2000)), axis=1, return_counts=True
    )
    groups = tuple(
        real_group(tuple(o.tolist()), int(m)) for o, m in zip(observed.T, times, strict=True)
    )
    n_draws = []
    for event in (Event(12.0, (real_group((20, 30), 2000),)), Event(12.0, groups)):
        nodes = with_posterior(RealFeatures(), F, event, RATIO, 3)
        exact, drawn = both_ways(RealFeatures(), F, event, nodes, tolerance=0.1)
        assert_agree(exact, drawn, nodes, 0.1)
        n_draws.append(drawn.n_draws)
    assert len(groups) > 30
    assert n_draws[1] < 2 * n_draws[0]


def test_bounds_that_most_features_exceed_are_seen_from_below():
    sizes = (20, 30)
    event = Event(f_bound(sizes, 0.97, ratio=1.0), (real_group(sizes, 30),))
    nodes = with_posterior(RealFeatures(), F, event, RATIO, 600)
    probability = selection_probability(
        RealFeatures(), F, event, nodes, method="simulation", tolerance=0.1
    )
    exact = log_prob_selection(RealFeatures(), F, event, nodes)
    assert probability.groups[0].side == -1
    assert_agree(exact, probability.at(nodes), nodes, 0.1)


def pooled_t(column, y):
    a, b = column[y == "no"], column[y == "yes"]
    pooled = (np.sum((a - a.mean()) ** 2) + np.sum((b - b.mean()) ** 2)) / (y.size - 2)
    return abs(a.mean() - b.mean()) / np.sqrt(pooled * (1 / a.size + 1 / b.size))


def test_a_function_of_real_columns_agrees_with_its_formula():
    sizes = (10, 14)
    t = f_bound(sizes, 3e-3) ** 0.5
    event = Event(t, (real_group(sizes, 300), real_group((10, 11), 50)))
    nodes = with_posterior(RealFeatures(), as_criterion("t"), event, RATIO, 1)
    exact = log_prob_selection(RealFeatures(), as_criterion("t"), event, nodes)
    user = as_criterion(pooled_t, classes=np.array(["no", "yes"]))
    drawn = log_prob_selection(RealFeatures(), user, event, nodes, tolerance=0.2)
    assert drawn.method == "simulation"
    assert_agree(exact, drawn, nodes, 0.2)


@pytest.mark.slow
def test_a_function_of_categorical_columns_is_simulated_where_tables_are_many():
    def chi_square(column, y):
        table = np.zeros((1, 2, 4), dtype=int)
        np.add.at(table[0], (y, column), 1)
        return float(CHI2.from_tables(table)[0])

    event = Event(14.0, (DiscardedGroup((14, 12), 100, n_levels=4),))
    nodes = HyperNodes(np.geomspace(20.0, 1e4, 5))
    options = {"method": "simulation", "tolerance": 1.0}
    by_name = log_prob_selection(CategoricalFeatures(), CHI2, event, nodes, **options)
    by_user = log_prob_selection(
        CategoricalFeatures(), as_criterion(chi_square), event, nodes, **options
    )
    np.testing.assert_allclose(by_user.log_prob, by_name.log_prob, rtol=1e-12)


# ------------------------------------------------------------------- errors that are as they say


REPEATED = {
    "most are kept, with ties": (
        BinaryFeatures(),
        CORRELATION,
        Event(0.25, (DiscardedGroup((8, 8), 30, 8),)),
        ALPHA,
        100,
    ),
    "real": (RealFeatures(), F, Event(14.0, (real_group((8, 15, 20), 2000),)), RATIO, 2),
    "binary with ties": (
        BinaryFeatures(),
        CORRELATION,
        Event(float(discard.squared_correlation(1, 6, 8, 8)) ** 0.5,
              (DiscardedGroup((8, 8), 400, 2),)),
        ALPHA,
        4,
    ),
    "two groups, ties unknown": (
        CategoricalFeatures(),
        CHI2,
        Event(7.5, (DiscardedGroup((9, 10), 300), DiscardedGroup((9, 7), 100)), "unknown", 2),
        ALPHA,
        3,
    ),
}  # fmt: skip


def calibrated(z):
    """Whether z scores look like standard normal variables, column by column."""
    limit = 4.0 / np.sqrt(len(z))
    return bool(
        np.all(np.abs(z.mean(axis=0)) < limit) and np.all(np.abs(np.log(z.std(axis=0))) < limit)
    )


@pytest.mark.slow_cases("binary with ties", "real")
@few("case", REPEATED, ["real", "binary with ties"])
def test_standard_errors_are_those_of_independent_repetitions(case):
    assert calibrated(repeated_z(*REPEATED[case]))


def planted(mistake):
    """The mixture of the balance heuristic with a deliberate mistake."""
    right = simulated_selection.logsumexp

    def wrong(a, axis, b):
        if mistake == "a proposal forgotten":
            heaviest = int(np.argmax(b))
            return right(np.delete(a, heaviest, 0), axis=axis, b=np.delete(b, heaviest, 0))
        if mistake == "shares forgotten":
            return right(a, axis=axis, b=np.full(b.shape, 1 / b.size))
        if mistake == "a mixture of half the draws":
            return right(a, axis=axis, b=b / 2)
        return right(a, axis=axis, b=b)

    return wrong


@few(
    "mistake",
    ["none", "a proposal forgotten", "shares forgotten", "a mixture of half the draws"],
    ["none"],
)
def test_a_planted_mistake_in_the_mixture_is_noticed(monkeypatch, mistake):
    monkeypatch.setattr(simulated_selection, "logsumexp", planted(mistake))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        z = repeated_z(*REPEATED["real"], repetitions=40)
    assert calibrated(z) == (mistake == "none")


SINGLE = [
    (RealFeatures(), F, real_group((8, 15, 20), 1), RATIO[[0, 20, 32]], (1.0, 8.0, 14.0)),
    (RealFeatures(), F, real_group((3, 30), 1), RATIO[[0, 20, 32]], (0.2, 9.0)),
    (BinaryFeatures(), CORRELATION, DiscardedGroup((8, 8), 1), ALPHA[[3, 15, -1]], (0.25, 0.5)),
    (CategoricalFeatures(), INFORMATION, DiscardedGroup((9, 7), 1, n_levels=3), ALPHA[[3, 15, -1]],
     (0.05, 0.3)),
]  # fmt: skip


def repeated_probabilities(source, proposals, per_unit, side, asked, repetitions=100):
    """P(beyond) and P(at the bound), and the stated variance of differences between nodes."""
    found, variance = [], []
    for seed in range(repetitions):
        one = GroupSimulation(source, proposals, per_unit, side, np.random.default_rng(seed))
        one.extend(1)
        weighed = one.weigh(asked)
        found.append(weighed.probabilities())
        ones = np.ones(asked.size)
        variance.append(weighed.variance(ones, -0.7 * ones, 1))
    return np.array(found), np.array(variance)


@pytest.mark.slow_cases("case 0-1-True", "case 2-1-False", "case 3--1-False")
@each_once("single, side, increasing", SINGLE, [1, -1], [True, False])
def test_probabilities_of_one_feature_are_unbiased_and_their_variance_is_known(
    single, side, increasing
):
    model, criterion, group, atoms, bounds = single
    proposals = proposal_atoms(model, atoms, group)
    per_unit = 100 * np.arange(1, proposals.size + 1)[:: 1 if increasing else -1]
    asked = HyperNodes(atoms)
    for bound in bounds:
        event = Event(bound, (group,))
        below, at_most = (
            log_prob_selection(model, criterion, replace(event, ties=ties), asked).log_prob
            for ties in ("known", "at_most")
        )
        beyond, tied = -np.expm1(at_most), np.exp(at_most) - np.exp(below)
        source = JudgedColumns(model, criterion, bound, group)
        found, variance = repeated_probabilities(source, proposals, per_unit, side, asked)
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - [beyond, tied]) <= 4.0 * error + 1e-12)
        apart = found[:, 0] - 0.7 * found[:, 1]
        empirical = (apart - apart[:, 1:2])[:, [0, 2]].var(axis=0, ddof=1)
        stated = variance.mean(axis=0)[[0, 2]]
        assert np.all(np.abs(np.log(stated / empirical)) < 4.0 * np.sqrt(2 / len(found)))


@pytest.mark.parametrize("heavy", [0, 3, -1])
@pytest.mark.parametrize(("model", "criterion", "group", "atoms", "bounds"), SINGLE)
def test_weights_of_all_draws_average_to_one(model, criterion, group, atoms, bounds, heavy):
    del bounds
    proposals = proposal_atoms(model, atoms, group)
    per_unit = np.full(proposals.size, 100)
    per_unit[heavy] = 1000
    source = JudgedColumns(model, criterion, -1.0, group)
    asked = HyperNodes(np.append(atoms, proposals))
    found, _ = repeated_probabilities(source, proposals, per_unit, 1, asked, repetitions=30)
    error = found[:, 0].std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(found[:, 0].mean(axis=0) - 1.0) <= 5.0 * error + 1e-12)


@pytest.mark.parametrize("side", [1, -1])
def test_contributions_of_draws_add_up_to_the_difference(side):
    source = JudgedColumns(BinaryFeatures(), CORRELATION, 0.25, DiscardedGroup((8, 8), 1))
    one = GroupSimulation(source, ALPHA[::8], np.full(5, 200), side, np.random.default_rng(0))
    one.extend(2)
    weighed = one.weigh(HyperNodes(ALPHA[[3, 15, -1]]))
    beyond, tied = weighed.probabilities()
    slopes = np.full(3, -2.0), np.full(3, 0.7)
    total = sum(part.sum(axis=1) for part in weighed.contributions(*slopes, 1)) / 2000
    expected = -2.0 * beyond + 0.7 * tied
    np.testing.assert_allclose(total, expected - expected[1], atol=1e-12)
