"""P(S) by formulas and by going through all tables, among themselves and against fractions."""

from fractions import Fraction

import numpy as np
import oracles_engine as oracle
import pytest
from engine_cases import (
    ALPHA,
    CHI2,
    CORRELATION,
    INFORMATION,
    RATIO,
    F,
    real_group,
)
from scipy.special import logsumexp

from honestbayes.correction import discard, exact_selection
from honestbayes.correction.engine import log_prob_selection
from honestbayes.correction.event import Event, HyperNodes
from honestbayes.correction.f_statistic import log_prob_discarded
from honestbayes.correction.feature_models import (
    BinaryFeatures,
    CategoricalFeatures,
    RealFeatures,
)
from honestbayes.likelihood.quadrature import theta_rule
from honestbayes.selection import DiscardedGroup
from honestbayes.selection.criteria import as_criterion


@pytest.mark.parametrize("ties", ["known", "unknown", "at_most"])
def test_the_formula_of_binary_features_is_that_of_the_paper(ties):
    observed, gamma_squared = (8, 12), discard.squared_correlation(1, 7, 8, 12)
    groups = (DiscardedGroup(observed, 300, 2),)
    event = Event(float(gamma_squared) ** 0.5, groups, ties, 2)
    found = log_prob_selection(BinaryFeatures(), CORRELATION, event, HyperNodes(ALPHA))
    pairs = [
        discard.probabilities(alpha, observed, gamma_squared, theta_rule(20, alpha, (0.0, 1.0)))
        for alpha in ALPHA
    ]
    beyond, tied = np.array(pairs)[:, :, None].transpose(1, 0, 2)
    expected = discard.log_prob_selection(beyond, tied, groups, ties=ties, n_tied_kept=2)
    assert found.method == "formula"
    np.testing.assert_allclose(found.log_prob, expected, rtol=1e-13)


def test_the_formula_of_real_features_is_that_of_f_with_mixtures_and_missing_cells():
    sizes = [(20, 30, 5), (18, 30, 4), (9, 0, 5)]
    event = Event(6.0, tuple(real_group(s, 100 * (i + 1)) for i, s in enumerate(sizes)))
    mixing = np.random.default_rng(0).dirichlet(np.ones(RATIO.size), 7)
    found = log_prob_selection(RealFeatures(), F, event, HyperNodes(RATIO, mixing))
    expected = np.zeros(7)
    for i, observed in enumerate(sizes):
        present = np.array([size for size in observed if size])
        n, C = present.sum(), present.size
        r_squared = 6.0 * (C - 1) / (6.0 * (C - 1) + n - C)
        one = log_prob_discarded(RATIO, present, r_squared)
        expected += 100 * (i + 1) * logsumexp(one, axis=1, b=mixing)
    np.testing.assert_allclose(found.log_prob, expected, rtol=1e-12)


def test_columns_that_cannot_be_judged_were_discarded_for_certain():
    event = Event(6.0, (real_group((7, 0), 50), real_group((1, 1), 50)))
    found = log_prob_selection(RealFeatures(), F, event, HyperNodes(RATIO))
    np.testing.assert_array_equal(found.log_prob, 0.0)
    assert log_prob_selection(RealFeatures(), F, Event(6.0, ()), HyperNodes(RATIO)).exact


@pytest.mark.parametrize("name", ["correlation", "f", "t", "chi2"])
@pytest.mark.parametrize("model", [BinaryFeatures(), CategoricalFeatures()])
def test_all_tables_give_what_the_formula_gives(name, model):
    criterion = as_criterion(name)
    table = np.array([[[7, 1], [5, 7]]])  # a feature at the bound
    bound = float(criterion.from_tables(table)[0])
    groups = (DiscardedGroup((8, 12), 300, 4), DiscardedGroup((7, 12), 30, 0))
    event = Event(bound, groups)
    by_formula = exact_selection.formula(model, criterion, event)
    by_tables = exact_selection.enumeration(model, criterion, event)
    nodes = HyperNodes(np.append(ALPHA, 1e9))
    np.testing.assert_allclose(by_tables(nodes), by_formula(nodes), rtol=1e-9)


def test_all_tables_of_binary_features_in_three_classes_agree_between_models():
    event = Event(9.0, (DiscardedGroup((5, 0, 8), 40), DiscardedGroup((5, 4, 8), 100)))
    nodes = HyperNodes(np.append(ALPHA, 1e9))
    first, second = (
        log_prob_selection(model, CHI2, event, nodes)
        for model in (BinaryFeatures(), CategoricalFeatures())
    )
    assert first.method == "enumeration"
    np.testing.assert_allclose(first.log_prob, second.log_prob, rtol=1e-9)


@pytest.mark.parametrize(
    ("criterion", "statistic"),
    [(CHI2, oracle.chi_square), (INFORMATION, oracle.mutual_information)],
)
@pytest.mark.parametrize(("sizes", "levels"), [((3, 4), 3), ((2, 2, 3), 2), ((0, 2, 3), 3)])
def test_all_tables_equal_rational_arithmetic(criterion, statistic, sizes, levels):
    strengths, _ = oracle.strengths_and_probabilities(statistic, sizes, levels, 1)
    bound = sorted(strengths)[-len(strengths) // 8]
    group = DiscardedGroup(sizes, 20, 3, levels)
    event = Event(float(bound), (group,))
    found = log_prob_selection(
        CategoricalFeatures(), criterion, event, HyperNodes(np.array([0.5, 20.0, 1e3]))
    )
    assert found.method == "enumeration"
    for a, alpha in enumerate((Fraction(1, 2), 20, 1000)):
        expected = oracle.log_prob_known_ties(statistic, sizes, levels, alpha, bound, 20, 3)
        assert found.log_prob[a] == pytest.approx(expected, rel=1e-9)


def test_a_function_of_binary_columns_is_exact_too():
    def chi_square(column, y):
        table = np.array([[np.sum((y == c) & (column == v)) for v in (0, 1)] for c in (0, 1)])
        return float(CHI2.from_tables(table[None])[0])

    event = Event(6.0, (DiscardedGroup((15, 20), 500), DiscardedGroup((15, 17), 20)))
    found = log_prob_selection(BinaryFeatures(), as_criterion(chi_square), event, HyperNodes(ALPHA))
    expected = log_prob_selection(BinaryFeatures(), CHI2, event, HyperNodes(ALPHA))
    assert (found.method, expected.method) == ("enumeration", "formula")
    np.testing.assert_allclose(found.log_prob, expected.log_prob, rtol=1e-9)


def test_every_squared_correlation_is_recognised_from_its_float():
    for n0, n1 in ((7, 5), (30, 41)):
        for i0 in range(0, n0 + 1, 3):
            for i1 in range(n1 + 1):
                exact = discard.squared_correlation(i0, i1, n0, n1)
                assert exact_selection.attained(float(exact), n0, n1) == exact
        beside = float(discard.squared_correlation(1, n1 - 1, n0, n1)) * (1 + 1e-7)
        assert exact_selection.attained(beside, n0, n1) == Fraction(beside)
