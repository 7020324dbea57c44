"""The pool of models: its probabilities, its weights, and what it makes of copies and of noise."""

import numpy as np
import oracles_pool as oracle
import pytest

from honestbayes.average.pool import family_shares, fit_pool, pooled

SPREAD = 8**-0.5


def said(n, n_models, n_classes, seed=0, signal=1.0):
    """Return probabilities of models that know something of the classes, and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n_models, n, n_classes))
    scores += signal * (np.arange(n_classes) == labels[:, None])
    proba = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    return proba, labels


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_written_out(n_classes):
    proba, _ = said(9, 3, n_classes)
    prior = np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    weights = np.array([0.2, 0.0, 1.3])
    np.testing.assert_allclose(
        np.exp(pooled(np.log(proba), weights, np.log(prior))),
        oracle.pooled(proba, weights, prior),
        rtol=1e-12,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_those_of_the_highest_density(n_classes):
    proba, labels = said(60, 3, n_classes)
    prior = np.full(n_classes, 1 / n_classes)
    shares = np.array([0.5, 0.25, 0.25])
    found = fit_pool(np.log(proba), labels, np.log(prior), shares, 0.4)
    expected = oracle.weights(proba, labels, prior, shares, 0.4, SPREAD)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_model_that_is_always_wrong_gets_no_weight():
    proba, labels = said(200, 2, 2)
    proba = np.concatenate([proba, proba[:1, :, ::-1]])
    found = fit_pool(np.log(proba), labels, np.log([0.5, 0.5]), family_shares(["a", "b", "c"]), 0.4)
    assert found[2] == 0
    assert (found[:2] > 0.2).all()


def test_copies_of_a_model_count_together_about_as_one():
    proba, labels = said(300, 1, 2)
    one = fit_pool(np.log(proba), labels, np.log([0.5, 0.5]), family_shares(["a"]), 0.4)
    copies = np.repeat(proba, 5, axis=0)
    five = fit_pool(np.log(copies), labels, np.log([0.5, 0.5]), family_shares(["a"] * 5), 0.4)
    assert five.sum() == pytest.approx(one.sum(), abs=0.05)


def test_where_no_case_can_tell_weights_are_the_shares():
    nothing = np.full((3, 40, 2), 0.5)
    shares = family_shares(["a", "a", "b"])
    np.testing.assert_allclose(shares, [0.25, 0.25, 0.5])
    found = fit_pool(np.log(nothing), np.arange(40) % 2, np.log([0.5, 0.5]), shares, 0.4)
    np.testing.assert_allclose(found, shares, atol=1e-6)
