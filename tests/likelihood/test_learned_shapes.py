"""Predictions of the learned prior are averages over shapes, against direct sums."""

from dataclasses import replace

import numpy as np
import oracles_learned as oracle
import pytest
from comparisons import small_table
from planted_features import PRIOR, draw_features, fit_counts, learn
from scipy import stats

from honestbayes import SelectiveBernoulliNB, SelectiveCategoricalNB
from honestbayes.likelihood import learned_alpha
from honestbayes.models.binary.model import fit_learned

VALUES = (0.0, 1.0, np.nan)
PATTERNS = np.array([[a, b] for a in VALUES for b in VALUES])


def median_cuts(seed, n, p):
    """Columns that are one in half of the cases."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p)) + 1.2 * y[:, None] * (np.arange(p) < 2)
    return (np.median(X, axis=0) < X).astype(float), y


TABLES = {
    "plain": small_table(seed=5, n=10, p=12),
    "missing cells": small_table(seed=6, n=12, p=9, missing=0.15),
    "median cuts": median_cuts(3, 12, 10),
}


def learned_model(name, kind=SelectiveBernoulliNB, **parameters):
    X, y = TABLES[name]
    words = {"n_features_to_select": 2, "recalibrate": None, "random_state": 0, **parameters}
    return kind(**words).fit(X, y), X, y


def rows_of(model, width):
    rows = np.zeros((len(PATTERNS), width))
    rows[:, model.selection_.columns] = PATTERNS
    return rows


def expected(model, X, y, **options):
    kept = X[:, list(model.selection_.columns)]
    return np.array(
        [
            oracle.joint_probabilities(kept, y, model.learned_prior_, row, **options)
            for row in PATTERNS
        ]
    )


@pytest.mark.parametrize("name", TABLES)
def test_probabilities_are_sums_over_shapes_and_atoms(name):
    model, X, y = learned_model(name)
    assert model.learned_prior_.shape_weights.size > 1
    assert model.learned_prior_.given_margin == (name == "median cuts")
    found = model.predict_proba(rows_of(model, X.shape[1]))
    np.testing.assert_allclose(found, expected(model, X, y), atol=1e-9)


def test_averaging_shapes_before_predicting_would_be_noticed():
    model, X, y = learned_model("plain")
    wrong = expected(model, X, y, average_first=True)
    found = model.predict_proba(rows_of(model, X.shape[1]))
    assert np.abs(found - wrong).max() > 0.003
    # The mistake is one of overconfidence, in the cases with all cells.
    assert np.all(np.ptp(wrong, axis=1)[[0, 4]] > np.ptp(found, axis=1)[[0, 4]])


@pytest.mark.parametrize("name", ["plain", "median cuts"])
def test_the_categorical_model_of_flags_averages_over_the_same_shapes(name):
    binary, X, _ = learned_model(name)
    categories, _, _ = learned_model(name, SelectiveCategoricalNB)
    rows = rows_of(binary, X.shape[1])
    found = categories.predict_proba(rows)
    np.testing.assert_allclose(found, binary.predict_proba(rows), atol=1e-9)


def test_shapes_of_one_alpha_have_the_odds_of_bayes_theorem(monkeypatch):
    monkeypatch.setattr(learned_alpha, "MOST_SHAPES", 1000)
    monkeypatch.setattr(learned_alpha, "_SAME_SHAPE", -1.0)
    model, X, y = learned_model("plain")
    prior = model.learned_prior_
    one_alpha = np.flatnonzero(prior.shapes.max(axis=1) == 1.0)
    atoms = prior.shapes[one_alpha].argmax(axis=1)
    assert one_alpha.size > 5
    log_alpha = np.log(prior.alpha)
    edges = np.exp((log_alpha[1:] + log_alpha[:-1]) / 2)
    below = np.concatenate([[0.0], stats.invgamma.cdf(edges, PRIOR.shape, scale=PRIOR.rate), [1.0]])
    log_odds = np.log(np.diff(below)) + oracle.log_evidence_of_one_alpha(X, y, prior)
    found = np.log(prior.shape_weights[one_alpha])
    np.testing.assert_allclose(np.diff(found), np.diff(log_odds[atoms]), atol=1e-8)


@pytest.mark.parametrize("alpha", [8.0, 60.0, 1000.0])
def test_merging_shapes_moves_probabilities_by_a_thousandth_at_most(monkeypatch, alpha):
    def probability(fit):
        x = np.random.default_rng(1).integers(0, 2, (400, 5))
        return 1 / (1 + np.exp(-fit.evidence(x, None)))

    for seed in range(3):
        _, ones, _, _ = draw_features(
            seed, 2000, (5, 5), lambda _, p: np.full(p, np.log(alpha)), lambda r, p: r.random(p)
        )
        few = fit_counts(ones, (5, 5), 5, "learned", seed=seed)
        with monkeypatch.context() as patch:
            patch.setattr(learned_alpha, "MOST_SHAPES", 1000)
            patch.setattr(learned_alpha, "NEGLIGIBLE_SHAPE", 1e-9)
            patch.setattr(learned_alpha, "_SAME_SHAPE", -1.0)
            all_of_them = fit_counts(ones, (5, 5), 5, "learned", seed=seed)
        assert few.ranked.prior.shape_weights.size <= learned_alpha.MOST_SHAPES
        n_few = few.ranked.prior.shape_weights.size
        assert all_of_them.ranked.prior.shape_weights.size > 2 * n_few
        assert np.abs(probability(few) - probability(all_of_them)).max() < 0.001


def test_rounding_does_not_decide_the_order_of_shapes(monkeypatch):
    # Draws for intervals are made shape by shape: in another order they would be other draws.
    plain = learned_model("plain")[0].learned_prior_
    merge = learned_alpha._with_fewer_shapes
    for seed in range(5):
        noise = np.random.default_rng(seed).uniform(-1e-15, 1e-15, plain.shapes.shape[1])

        def shaken(shape, table, *rest, noise=noise):
            return merge(shape, table * (1 + noise), *rest)

        monkeypatch.setattr(learned_alpha, "_with_fewer_shapes", shaken)
        other = learned_model("plain")[0].learned_prior_
        np.testing.assert_allclose(other.shape_weights, plain.shape_weights, rtol=1e-9)
        np.testing.assert_allclose(other.shapes, plain.shapes, atol=1e-9)


def test_one_shape_makes_features_independent():
    _, ones, _, _ = draw_features(
        0, 500, (10, 10), lambda r, p: r.normal(3, 1, p), lambda r, p: r.random(p)
    )
    fit = fit_counts(ones, (10, 10), 3, "learned")
    prior = fit.ranked.prior
    prior = replace(prior, shapes=prior.alpha_weights[None], shape_weights=np.ones(1))
    ranked = fit_learned(fit.ranked.block, prior)
    evidence = ranked.table.cumulative_log_odds(np.ones((1, 3)), None)[0]
    alone = ranked.table.log_one[1, 0] - ranked.table.log_one[0, 0]
    np.testing.assert_allclose(np.diff(evidence), alone, atol=1e-12)


# ---------------------------------------------------------------------------------- theta


def uniform_cells(prior):
    return np.diff(prior.edges)


@pytest.mark.parametrize("sizes", [(5, 5), (100, 100)])
def test_uniform_theta_stays_uniform(sizes):
    for seed in range(5):
        _, ones, _, _ = draw_features(
            seed, 3000, sizes, lambda _, p: np.full(p, np.log(50.0)), lambda r, p: r.random(p)
        )
        prior = learn(ones, sizes)
        np.testing.assert_allclose(prior.cell_weights, uniform_cells(prior), atol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "n_features", "theta"),
    [((5, 5), 3000, (1, 4)), ((100, 100), 3000, (2, 5)), ((100, 100), 60, (1, 30))],
    ids=["few cases", "many cases", "few features, all rare"],
)
def test_theta_is_learned_where_the_counts_ask_for_it(sizes, n_features, theta):
    for seed in range(5):
        _, ones, _, drawn = draw_features(
            seed,
            n_features,
            sizes,
            lambda _, p: np.full(p, np.log(50.0)),
            lambda r, p: r.beta(*theta, p),
        )
        mean, sd = learn(ones, sizes).theta_moments()
        assert mean == pytest.approx(drawn.mean(), abs=0.04)
        # One pseudo-feature is uniform, which shows among 60.
        assert sd == pytest.approx(drawn.std(), abs=0.04 if n_features > 60 else 0.06)
