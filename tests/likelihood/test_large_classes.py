"""Integrals over theta in classes beyond tables: nodes near the mode, and coarser rules.

The oracle sums logarithms of the single factors of equation 18 at many more nodes.
"""

import numpy as np
import oracles_learned as oracle
import pytest
from grids import each_once
from planted_features import PRIOR, draw_features

from honestbayes import SelectiveBernoulliNB, SelectiveCategoricalNB
from honestbayes.likelihood import beta_binomial, counts, learned_prior, quadrature
from honestbayes.likelihood.counts import CountLikelihood, GivenMargin, distinct_counts
from honestbayes.likelihood.learned_prior import N_CELLS, ThetaDensity

BOUND = counts.NEGLIGIBLE_SHARE
ALPHAS = (0.6, 5.0, 80.0, 1500.0, 3e4, 1.2e8)
SIZES = ((520, 480), (600, 3), (2100, 1900), (9000, 11000))
FREE = np.random.default_rng(1).dirichlet(np.full(N_CELLS, 0.3))
CELL_WEIGHTS = {
    "uniform": None,
    "uneven": 0.98 * FREE + 0.02 / N_CELLS,
    "gaps": np.where(np.arange(N_CELLS) % 3 == 1, 1.0, 1e-6),
}


def density_on_cells(name, n):
    edges, uniform = quadrature.cell_rule(N_CELLS, n, (0.0, 1.0))
    weights = CELL_WEIGHTS[name]
    if weights is None:
        weights = uniform.weight.reshape(N_CELLS, -1).sum(axis=1)
    weights = weights / weights.sum()
    rule = learned_prior._with_cell_weights(uniform, weights)
    return ThetaDensity(edges, weights, rule, given_margin=False)


def pairs(sizes, n_random=40):
    """Pairs at the ends, with few ones, alike, far apart and at random."""
    n0, n1 = sizes
    rng = np.random.default_rng(n0)
    theta = rng.random(n_random)
    shifted = np.clip(theta + rng.normal(0, 0.1, n_random), 0, 1)
    special = [(0, 0), (n0, n1), (0, n1), (3, 1), (16, 2), (17, 3), (n0 - 5, n1), (n0 // 2, n1)]
    drawn = np.stack([rng.binomial(n0, theta), rng.binomial(n1, shifted)])
    ones = np.concatenate([np.array(special).T, drawn], axis=1)
    return distinct_counts(ones, np.array(sizes)[:, None])


def log_factors(alpha, theta, n, ones):
    """Log P(column of one class | theta, alpha) for each number of ones, shape (D, M)."""
    steps = np.arange(n)[:, None]
    # log(alpha theta + l) - log(alpha + l), without rounding where alpha is large
    rise = {True: np.log(theta) + np.log1p(steps / (alpha * theta))}
    rise[False] = np.log1p(-theta) + np.log1p(steps / (alpha * (1 - theta)))
    zero = np.zeros((1, theta.size))
    one, none = (np.concatenate([zero, np.cumsum(rise[k], axis=0)]) for k in (True, False))
    return one[ones] + none[n - ones] - np.log1p(steps / alpha).sum()


def direct(found, sizes, alpha, rule):
    """Log P(column | alpha) and E[theta] of distinct counts."""
    theta, weight = rule
    terms = sum(
        log_factors(alpha, theta, n, ones) for n, ones in zip(sizes, found.ones, strict=True)
    )
    top = terms.max(axis=1, keepdims=True)
    share = np.exp(terms - top) * weight
    return top[:, 0] + np.log(share.sum(axis=1)), (share @ theta) / share.sum(axis=1)


def fast_and_exact(monkeypatch, found, density, alpha):
    fast = learned_prior.feature_likelihood(found, density)(alpha)
    with monkeypatch.context() as patch:
        patch.setattr(counts, "NEGLIGIBLE_SHARE", 0.0)
        exact = learned_prior.feature_likelihood(found, density)(alpha)
    return np.array(fast), np.array(exact)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", CELL_WEIGHTS)
@pytest.mark.parametrize("sizes", SIZES[:3])
def test_the_integrals_are_those_of_direct_sums(sizes, name, alpha):
    found, density = pairs(sizes), density_on_cells(name, sum(sizes))
    rule = oracle.theta_rule(density.edges, density.cell_weights, n_nodes=80)
    log_likelihood, mean_theta = learned_prior.feature_likelihood(found, density)(alpha)
    expected, mean = direct(found, sizes, alpha, rule)
    # 16 + 5 sqrt(n) nodes over all cells are off by so much themselves.
    assert np.abs(log_likelihood - expected).max() < 2e-6
    assert np.abs(mean_theta - mean).max() < 1e-6


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", CELL_WEIGHTS)
@pytest.mark.parametrize("sizes", SIZES)
def test_the_difference_from_all_nodes_is_within_the_bound(monkeypatch, sizes, name, alpha):
    found, density = pairs(sizes), density_on_cells(name, sum(sizes))
    fast, exact = fast_and_exact(monkeypatch, found, density, alpha)
    assert np.abs(fast - exact).max() < 2 * BOUND
    assert np.any(fast != exact)  # two computations, not one


def wrong_cells(patch):
    """Each cell of the coarser rule has its neighbour's weight."""
    right = learned_prior._with_cell_weights
    patch.setattr(
        learned_prior, "_with_cell_weights", lambda rule, weights: right(rule, np.roll(weights, 1))
    )


def too_few_nodes(patch):
    right = learned_prior.nodes_for_error
    patch.setattr(learned_prior, "nodes_for_error", lambda *given: max(right(*given) // 2, 2))


def stops_too_early(patch):
    right = beta_binomial.log_pair_integrals_near_modes

    def wrong(*given):
        *counts_and_rule, _share, log_likelihood, mean_theta = given
        return right(*counts_and_rule, 1e-3, log_likelihood, mean_theta)

    patch.setattr(beta_binomial, "log_pair_integrals_near_modes", wrong)


@pytest.mark.parametrize("mistake", [wrong_cells, too_few_nodes, stops_too_early])
def test_a_mistake_would_be_noticed(monkeypatch, mistake):
    sizes, worst = SIZES[2], 0.0
    found, density = pairs(sizes), density_on_cells("uneven", sum(sizes))
    with monkeypatch.context() as patch:
        mistake(patch)
        for alpha in ALPHAS:
            fast, exact = fast_and_exact(monkeypatch, found, density, alpha)
            worst = max(worst, np.abs(fast - exact).max())
    assert worst > 10 * BOUND


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("sizes", [(2100, 1900), (1000, 1000), (520, 3000)])
def test_many_pairs_go_by_tables_within_the_bound(monkeypatch, sizes, alpha):
    found, density = pairs(sizes, n_random=3000), density_on_cells("uneven", sum(sizes))
    fast, exact = fast_and_exact(monkeypatch, found, density, alpha)
    assert np.abs(fast - exact).max() < 2 * BOUND
    few = found.only(np.arange(20), np.arange(20))
    by_logarithms = np.array(learned_prior.feature_likelihood(few, density)(alpha))
    assert np.abs(fast[:, :20] - by_logarithms).max() < 2 * BOUND
    assert np.any(fast[:, :20] != by_logarithms)  # few pairs have no tables


@each_once("sizes, error, alpha", SIZES[:3], [1e-2, 1e-5, 1e-8], ALPHAS)
def test_so_many_nodes_keep_the_error_in_each_cell(sizes, alpha, error):
    found = pairs(sizes)
    n_nodes = quadrature.nodes_for_error(N_CELLS, alpha, sizes, (0.0, 1.0), error)
    edges, rule = quadrature.rule_on_cells(N_CELLS, n_nodes, (0.0, 1.0))
    fine = oracle.theta_rule(edges, np.ones(N_CELLS), n_nodes=80)
    per_cell = []
    for theta, weight in ((rule.theta, rule.weight), fine):
        terms = sum(
            log_factors(alpha, theta, n, ones) for n, ones in zip(sizes, found.ones, strict=True)
        )
        by_cell = weight.reshape(N_CELLS, -1)
        per_cell.append((terms, by_cell / by_cell.sum(axis=1, keepdims=True)))
    top = per_cell[1][0].max(axis=1, keepdims=True)
    coarse, finer = (
        (np.exp(terms - top).reshape(len(top), N_CELLS, -1) * weight).sum(axis=2)
        for terms, weight in per_cell
    )
    # The bound is relative to the largest probability at a slightly larger alpha.
    assert np.abs(coarse - finer).max() < 2 * error


@pytest.mark.parametrize("sizes", SIZES[:3])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_integrals_of_cells_are_those_of_all_nodes(monkeypatch, sizes, alpha):
    found = pairs(sizes)
    _, uniform = quadrature.cell_rule(N_CELLS, sum(sizes), (0.0, 1.0))
    ones = np.ones(N_CELLS)
    within = learned_prior._with_cell_weights(uniform, ones)
    coarser = learned_prior._coarser_than(within, ones, (0.0, 1.0))

    def by_cell():
        likelihood = CountLikelihood(found, (0.0, 1.0), coarser=coarser)
        return likelihood.by_cell(alpha, within, N_CELLS)

    fast = by_cell()
    monkeypatch.setattr(counts, "NEGLIGIBLE_SHARE", 0.0)
    exact = by_cell()
    top = exact.max(axis=1, keepdims=True)
    assert np.abs(np.exp(fast - top) - np.exp(exact - top)).max() < 1e-6


def test_the_probability_of_a_margin_is_that_of_all_nodes(monkeypatch):
    sizes = (2100, 1900)
    found, density = pairs(sizes), density_on_cells("uneven", sum(sizes))
    coarser = learned_prior._coarser_than(density.rule, density.cell_weights, (0.0, 1.0))

    def log_margin(alpha):
        return GivenMargin(found, (0.0, 1.0), density.rule, coarser).log_margin(alpha)

    fast = [log_margin(alpha) for alpha in ALPHAS]
    monkeypatch.setattr(counts, "NEGLIGIBLE_SHARE", 0.0)
    exact = [log_margin(alpha) for alpha in ALPHAS]
    assert np.abs(np.array(fast) - exact).max() < 2 * BOUND


def test_features_with_cells_of_their_own_share_one_rule(monkeypatch):
    rng = np.random.default_rng(0)
    observed = rng.integers(400, 900, size=(2, 30))
    found = distinct_counts(rng.binomial(observed, 0.3), observed)
    density = density_on_cells("uneven", int(observed.sum(axis=0).max()))
    for alpha in ALPHAS:
        fast, exact = fast_and_exact(monkeypatch, found, density, alpha)
        assert np.abs(fast - exact).max() < 2 * BOUND
        small = observed.max(axis=0) <= counts.TABLES_UP_TO
        order = found.inverse[small]
        assert np.array_equal(fast[:, order], exact[:, order])


@pytest.mark.parametrize("kind", [SelectiveBernoulliNB, SelectiveCategoricalNB])
@pytest.mark.parametrize("n", [60, 200, 1000, 4000])
def test_predictions_and_evidence_are_those_of_all_nodes(monkeypatch, kind, n):
    rng = np.random.default_rng(n)
    y = (np.arange(2 * n) % 5 < 2).astype(int)
    theta, alpha = rng.uniform(0.02, 0.98, 150), np.exp(rng.normal(5, 1.5, 150))
    frequency = rng.beta(alpha * theta, alpha * (1 - theta), size=(2, 150))
    X = (rng.random((2 * n, 150)) < frequency[y]).astype(float)

    def results():
        model = kind(n_features_to_select=20, random_state=0).fit(X[:n], y[:n])
        return model.decision_function(X[n:]), model.posterior_.log_prob_selection

    fast = results()
    monkeypatch.setattr(counts, "NEGLIGIBLE_SHARE", 0.0)
    exact = results()
    if n <= 200:  # through tables, bit for bit
        assert np.array_equal(fast[0], exact[0])
        assert np.array_equal(fast[1], exact[1])
    assert np.abs(fast[0] - exact[0]).max() < 1e-7
    assert np.abs(fast[1] - exact[1]).max() < 150 * 2 * BOUND


def test_the_planted_distribution_is_found_in_large_classes(monkeypatch):
    _, ones, _, _ = draw_features(
        0, 400, (900, 1100), lambda rng, p: rng.normal(5, 1, p), lambda rng, p: rng.beta(2, 5, p)
    )
    found = distinct_counts(ones, np.array([[900], [1100]]))
    fast = learned_prior.learn_prior(found, PRIOR, (0.0, 1.0))
    monkeypatch.setattr(counts, "NEGLIGIBLE_SHARE", 0.0)
    exact = learned_prior.learn_prior(found, PRIOR, (0.0, 1.0))
    assert np.abs(fast.alpha_weights - exact.alpha_weights).max() < 1e-7
    assert np.abs(fast.cell_weights - exact.cell_weights).max() < 1e-7
