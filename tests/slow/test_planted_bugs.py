"""Deliberate mistakes in the package, each of which the comparisons with the oracles notice.

Each comparison passes on the package as it is (tests/test_comparisons.py), so what fails is the
mistake.
"""

import types
from dataclasses import replace

import numpy as np
import pytest
from planted.binary import CHECKS
from scipy.special import expit, logit

from honestbayes.correction import discard, event
from honestbayes.likelihood import beta_binomial, counts, learned_alpha, learned_prior, quadrature
from honestbayes.likelihood.quadrature import AlphaPrior, ThetaRule
from honestbayes.models.binary import model
from honestbayes.models.binary import model as bernoulli_core
from honestbayes.models.binary import model as bernoulli_draws
from honestbayes.models.binary.model import PredictiveTable
from honestbayes.selection import DiscardedGroup


def at_most_for_ties(patch):
    right = discard.log_prob_selection

    def wrong(beyond, tied, groups, *, ties, n_tied_kept):  # noqa: ARG001 - ties is ignored
        return right(beyond, tied, groups, ties="at_most", n_tied_kept=n_tied_kept)

    patch.setattr(event, "log_prob_selection", wrong)
    patch.setattr(discard, "log_prob_selection", wrong)


def discarded_ties_ignored(patch):
    right = discard.log_prob_selection

    def wrong(beyond, tied, groups, *, ties, n_tied_kept):
        groups = [replace(group, n_tied=0) for group in groups]
        return right(beyond, tied, groups, ties=ties, n_tied_kept=n_tied_kept)

    patch.setattr(event, "log_prob_selection", wrong)
    patch.setattr(discard, "log_prob_selection", wrong)


def kept_ties_taken_for_one(patch):
    right = discard._log_prob_unknown_ties
    patch.setattr(
        discard,
        "_log_prob_unknown_ties",
        lambda beyond, tied, count, _m: right(beyond, tied, count, 1),
    )


def negative_side_forgotten(patch):
    def wrong(table0, table1, weight, n_beyond, tied0, tied1):
        beyond, tied = np.zeros(weight.size), np.zeros(weight.size)
        for i1, reach in enumerate(n_beyond):
            beyond += table1[i1] * table0[:reach].sum(axis=0)
        for i0, i1 in zip(tied0, tied1, strict=True):
            tied += table0[i0] * table1[i1]
        return beyond @ weight, tied @ weight

    patch.setattr(beta_binomial, "region_from_tables", wrong)


def positive_side_doubled(patch):
    # right for a prior that is symmetrical about 1/2, as in the paper, and for no other
    right = beta_binomial.region_from_tables

    def wrong(table0, table1, weight, n_beyond, tied0, tied1):
        _, tied = right(table0, table1, weight, n_beyond, tied0, tied1)
        beyond = np.zeros(weight.size)
        for i1, reach in enumerate(n_beyond):
            beyond += table1[i1] * table0[:reach].sum(axis=0)
        return 2 * (beyond @ weight), tied

    patch.setattr(beta_binomial, "region_from_tables", wrong)


def region_too_large(patch):
    right = discard.region

    def wrong(n0, n1, gamma_squared):
        found = right(n0, n1, gamma_squared)
        return replace(found, n_beyond=np.minimum(found.n_beyond + (found.n_beyond > 0), n0 + 1))

    patch.setattr(discard, "region", wrong)


def region_too_small(patch):
    right = discard.region

    def wrong(n0, n1, gamma_squared):
        found = right(n0, n1, gamma_squared)
        return replace(found, n_beyond=np.maximum(found.n_beyond - 1, 0))

    patch.setattr(discard, "region", wrong)


def ties_counted_as_beyond(patch):
    right = discard.region

    def wrong(n0, n1, gamma_squared):
        found = right(n0, n1, gamma_squared)
        n_beyond = found.n_beyond.copy()
        n_beyond[found.tied1] += 1
        return replace(found, n_beyond=n_beyond)

    patch.setattr(discard, "region", wrong)


def counts_swapped_between_classes(patch):
    right = model.beta_binomial_table

    def wrong(log_weight, alpha, mean_theta, ones, observed, inverse):
        return right(log_weight, alpha, mean_theta, ones[::-1], observed[::-1], inverse)

    patch.setattr(model, "beta_binomial_table", wrong)


def discarded_number_off_by_k(patch):
    right = discard.log_prob_selection

    def wrong(beyond, tied, groups, *, ties, n_tied_kept):
        groups = [replace(groups[0], n_discarded=groups[0].n_discarded + 2), *groups[1:]]
        return right(beyond, tied, groups, ties=ties, n_tied_kept=n_tied_kept)

    patch.setattr(event, "log_prob_selection", wrong)


def missing_cells_ignored_in_the_factor(patch):
    right = discard.probabilities

    def wrong(alpha, observed, gamma_squared, rule):  # noqa: ARG001 - observed is ignored
        return right(alpha, (5, 5), gamma_squared, quadrature.theta_rule(10, alpha, (0.2, 1.0)))

    patch.setattr(discard, "probabilities", wrong)


def jacobian_dropped(patch):
    wrong = types.SimpleNamespace(**{name: getattr(np, name) for name in dir(np)})
    wrong.cosh = np.ones_like
    patch.setattr(quadrature, "np", wrong)


def prior_exponent_wrong(patch):
    def wrong(self, log_alpha):
        return -(self.shape + 1) * log_alpha - self.rate * np.exp(-log_alpha)

    patch.setattr(AlphaPrior, "log_density_of_log", wrong)


def prior_rate_taken_for_scale(patch):
    def wrong(self, log_alpha):
        return -self.shape * log_alpha - np.exp(-log_alpha) / self.rate

    patch.setattr(AlphaPrior, "log_density_of_log", wrong)


def class_probabilities_averaged(patch):
    def wrong(self, ones, missing):
        nodes = self.ranked.table.node_log_likelihood(ones, missing)
        p = expit(self.log_prior_odds + nodes[1] - nodes[0]) @ np.exp(self.ranked.table.log_weight)
        return logit(p) - self.log_prior_odds

    patch.setattr(bernoulli_core.BernoulliFit, "evidence", wrong)


def theta_left_at_its_prior_mean(patch):
    right = model.beta_binomial_table

    def wrong(log_weight, alpha, mean_theta, ones, observed, inverse):
        return right(log_weight, alpha, 0 * mean_theta + 0.5, ones, observed, inverse)

    patch.setattr(model, "beta_binomial_table", wrong)


def one_theta_node_fewer(patch):
    def wrong(n, alpha, interval, *, refine=1.0):  # noqa: ARG001 - the rule is exact
        return quadrature._exact_rule((n + 3) // 2 - 1, *interval)

    patch.setattr(model, "theta_rule", wrong)
    patch.setattr(counts, "theta_rule", wrong)


def theta_rule_on_the_whole_interval(patch):
    right = quadrature.theta_rule

    def wrong(n, alpha, interval, *, refine=1.0):  # noqa: ARG001 - the interval is ignored
        return right(n, alpha, (0.0, 1.0), refine=refine)

    patch.setattr(model, "theta_rule", wrong)
    patch.setattr(counts, "theta_rule", wrong)


def discarded_columns_forgotten(patch):
    right = model.feature_block

    def wrong(ones, observed, kept, conditioned=None, **options):
        block = right(ones, observed, kept, conditioned, **options)
        return replace(block, others=0 * block.others)

    patch.setattr(bernoulli_core, "feature_block", wrong)


def kept_columns_counted_twice(patch):
    right = model.feature_block

    def wrong(ones, observed, kept, conditioned=None, **options):
        block = right(ones, observed, kept, conditioned, **options)
        return replace(block, others=block.others + block.kept_multiplicity)

    patch.setattr(bernoulli_core, "feature_block", wrong)


def kept_by_design_counted_as_discarded(patch):
    right = bernoulli_core.select

    def wrong(*args, **kwargs):
        found = right(*args, **kwargs)
        first, *rest = found.groups
        more = len(found.always_kept)
        # Selection refuses such a record, so it is changed behind its back.
        object.__setattr__(
            found,
            "groups",
            (DiscardedGroup(first.observed, first.n_discarded + more, first.n_tied), *rest),
        )
        return found

    patch.setattr(bernoulli_core, "select", wrong)


def class_pseudocounts_forgotten(patch):
    patch.setattr(
        bernoulli_core, "_log_prior_odds", lambda n, _pseudocounts: float(np.log(n[1] / n[0]))
    )


def simpson_without_end_points(patch):
    def wrong(interval, n_points=21):
        low, high = interval
        theta = low + (high - low) * (np.arange(n_points) + 0.5) / n_points
        return ThetaRule(theta, np.full(n_points, 1 / n_points))

    patch.setattr(model, "simpson_rule", wrong)


def trapezoid_for_simpson(patch):
    def wrong(interval, n_points=21):
        weight = np.ones(n_points)
        weight[[0, -1]] = 0.5
        return ThetaRule(np.linspace(*interval, n_points), weight / weight.sum())

    patch.setattr(model, "simpson_rule", wrong)


def quantiles_not_at_midpoints(patch):
    patch.setattr(model, "paper_alpha_nodes", lambda prior: prior.quantiles(np.arange(1, 31) / 31))


def prior_counted_twice_in_the_published_rule(patch):
    right = AlphaPrior.log_density_of_log
    calls = []

    def wrong(self, log_alpha):
        calls.append(1)
        return right(self, log_alpha) if len(calls) % 2 else 0 * log_alpha

    patch.setattr(AlphaPrior, "log_density_of_log", wrong)


def interval_without_the_row_itself(patch):
    right = PredictiveTable.node_log_likelihood
    patch.setattr(
        PredictiveTable,
        "node_log_likelihood",
        lambda self, ones, missing: 0 * right(self, ones, missing),
    )


def interval_with_theta_from_its_prior(patch):
    def wrong(_alpha, _theta, weight, ones, _cases):
        return np.tile(np.log(weight), (ones.shape[1], 1))

    patch.setattr(bernoulli_draws, "_theta_log_weights", wrong)


def common_alpha_given_no_weight(patch):
    patch.setattr(learned_alpha, "expit", lambda _log_odds: 1.0)


def common_alpha_given_all_weight(patch):
    def wrong(log_alpha, likelihood, multiplicity, _mass):
        values = multiplicity @ np.log(likelihood)
        return np.eye(log_alpha.size)[[np.argmax(values)]], np.ones(1), float(values.max())

    patch.setattr(learned_alpha, "_family", wrong)
    patch.setattr(learned_alpha, "expit", lambda _log_odds: 0.0)


def theta_not_learned(patch):
    def wrong(_counts, uniform, _prior, _n):
        return uniform.weight.reshape(learned_prior.N_CELLS, -1).sum(axis=1)

    patch.setattr(learned_prior, "_learn_cells", wrong)


def shapes_averaged_before_predicting(patch):
    right = bernoulli_core.fit_learned

    def wrong(block, prior):
        average = prior.alpha_weights[None]
        return right(block, replace(prior, shapes=average, shape_weights=np.ones(1)))

    patch.setattr(bernoulli_core, "fit_learned", wrong)


def shapes_given_equal_weights(patch):
    right = bernoulli_core.fit_learned

    def wrong(block, prior):
        n_shapes = prior.shape_weights.size
        return right(block, replace(prior, shape_weights=np.full(n_shapes, 1 / n_shapes)))

    patch.setattr(bernoulli_core, "fit_learned", wrong)


def multiplicity_of_counts_forgotten(patch):
    right = learned_alpha.em_weights

    def wrong(likelihood, multiplicity, pseudo_counts, start, **options):
        return right(likelihood, np.ones_like(multiplicity), pseudo_counts, start, **options)

    for module in (learned_alpha, learned_prior):
        patch.setattr(module, "em_weights", wrong)


MISTAKES = [
    (at_most_for_ties, "ties"),
    (at_most_for_ties, "enumeration"),
    (discarded_ties_ignored, "ties"),
    (discarded_ties_ignored, "enumeration"),
    (kept_ties_taken_for_one, "enumeration"),
    (kept_ties_taken_for_one, "unknown ties"),
    (negative_side_forgotten, "discard"),
    (negative_side_forgotten, "ties"),
    (positive_side_doubled, "discard"),
    (positive_side_doubled, "asymmetric"),
    (region_too_large, "discard"),
    (region_too_small, "discard"),
    (region_too_small, "published"),
    (ties_counted_as_beyond, "discard"),
    (ties_counted_as_beyond, "ties"),
    (counts_swapped_between_classes, "plain"),
    (discarded_number_off_by_k, "ties"),
    (discarded_number_off_by_k, "published"),
    (missing_cells_ignored_in_the_factor, "asymmetric"),
    (jacobian_dropped, "plain"),
    (jacobian_dropped, "ties"),
    (prior_exponent_wrong, "plain"),
    (prior_rate_taken_for_scale, "plain"),
    (class_probabilities_averaged, "plain"),
    (class_probabilities_averaged, "ties"),
    (theta_left_at_its_prior_mean, "plain"),
    (theta_left_at_its_prior_mean, "published"),
    (one_theta_node_fewer, "plain"),
    (theta_rule_on_the_whole_interval, "asymmetric"),
    (discarded_columns_forgotten, "counts"),
    (kept_columns_counted_twice, "plain"),
    (kept_columns_counted_twice, "counts"),
    (kept_by_design_counted_as_discarded, "by design"),
    (class_pseudocounts_forgotten, "ties"),
    (simpson_without_end_points, "published"),
    (trapezoid_for_simpson, "published"),
    (quantiles_not_at_midpoints, "published"),
    (prior_counted_twice_in_the_published_rule, "published"),
    (interval_without_the_row_itself, "intervals"),
    (interval_with_theta_from_its_prior, "intervals"),
    (common_alpha_given_no_weight, "one alpha for all"),
    (common_alpha_given_all_weight, "planted distribution"),
    (theta_not_learned, "planted distribution"),
    (multiplicity_of_counts_forgotten, "planted distribution"),
    (shapes_averaged_before_predicting, "shapes"),
    (shapes_given_equal_weights, "shapes"),
]


@pytest.mark.parametrize(
    ("mistake", "check"), MISTAKES, ids=[f"{bug.__name__}: {check}" for bug, check in MISTAKES]
)
def test_the_mistake_is_noticed(mistake, check, monkeypatch):
    mistake(monkeypatch)
    assert not CHECKS[check]()
